"""What this nbtext costs beside another version of it: start-up, training, predicting, evaluating.

    python tests/benchmarks/against.py OTHER [--rounds N] [--only WORD...] [--megabytes N]

OTHER is the program `nbtext` of the other version, in the folder .venv/bin of its own checkout. The
two versions run the same whole processes in turns, after a first one that is not counted. The least
of each number is shown: processor seconds, wall-clock seconds and peak memory, and their ratios;
above 1, this version costs more. On a machine that does other work, only the seconds of the
processor and the memory mean something. Prints a Markdown table.
"""

import argparse
import compileall
import csv
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from material import Material, corpus, labeled_files
from measuring import Cost, Step, StepFailedError, measure_in_turns

OURS = Path(sys.executable).with_name("nbtext")
LETTERS = Path(__file__).resolve().parents[2] / "corpora" / "letters"
SHORT_TEXT = b"OpenGL on the GPU is fast\n"
# what each job types: words in capitals are sources, and names after -o and -m files of its version
JOBS = """
--version
train -h
train -q LETTERS/train -o letters
train -q NEWS/train -o 20news
train -q NEWS/train --ngrams 1,2 -o pairs
train -q NEWS/train --model bernoulli -o bernoulli
train -q NEWS/train --model complement --weighting log-tfidf -o complement
train -q NEWS/train --model nbsvm --weighting log-tfidf -o nbsvm
train -q NEWS/train --model svm --weighting log-tfidf --ngrams 1,2 -o svm
train -q LETTERS/train --model logistic -o logistic
train -q NEWS/train --model logistic -o logistic
train -q NEWS/train --model best -o best
train -q REUTERS/train.jsonl --label-field labels -o reuters
train -q LINES -o lines
train -q TABLE -o table
predict - -m 20news
predict NEWS/test -o out.csv -m 20news
predict LINES -o out.csv -m lines
predict TABLE -o out.csv -m table
predict REUTERS/test.jsonl -o out.jsonl -m reuters
evaluate NEWS/test -m 20news
evaluate REUTERS/test.jsonl --label-field labels -m reuters
evaluate NEWS/train --folds 10
explain NEWS/test/sci.space -m 20news
inspect -m 20news
review NEWS/train -o out.jsonl
"""
HEADER = ("job", "CPU, s", "other", "ratio", "wall, s", "other", "ratio", "MB", "other", "ratio")


def list_jobs(material: Material, megabytes: float) -> dict[str, list[str]]:
    """Return the words of each job, in order; later ones use the models of earlier ones."""
    places = {
        "LETTERS": LETTERS,
        "NEWS": corpus("20news"),
        "REUTERS": corpus("reuters-90"),
        "LINES": material.repeated(megabytes),
        "TABLE": write_csv(material),
    }
    jobs = {}
    for line in JOBS.strip().splitlines():
        parts = [word.partition("/") for word in line.split()]
        jobs[line] = [f"{places.get(head, head)}{slash}{rest}" for head, slash, rest in parts]
    return jobs


def write_csv(material: Material) -> Path:
    """Write 20 Newsgroups, the half for training, as CSV."""
    path = material.scratch / "20news.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "label"])
        writer.writerows(labeled_files(material.newsgroups("train")))
    return path


def as_step(program: Path, words: Sequence[str], scratch: Path) -> Step:
    """Return the process of a version, with a folder of its own for the models and outputs named in
    WORDS.
    """
    names = [place + 1 for place, word in enumerate(words) if word in ("-o", "-m")]
    own = [str(scratch / word) if place in names else word for place, word in enumerate(words)]
    return Step((str(program), *own, *(["--force"] if "-o" in words else [])), stdin=SHORT_TEXT)


def format_row(name: str, ours: Sequence[Cost], others: Sequence[Cost]) -> str:
    """Return the row of a job: for each number the least of each version, and their ratio."""
    cells = [name]
    for number, unit, digits in (("cpu", 1, 3), ("wall", 1, 3), ("memory", 1e6, 1)):
        least = [min(getattr(cost, number) for cost in costs) / unit for costs in (ours, others)]
        cells += [f"{value:.{digits}f}" for value in least] + [f"{least[0] / least[1]:.2f}"]
    return "| " + " | ".join(cells) + " |\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path, help="the program `nbtext` of the other version")
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds of each job (5)")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[""],
        metavar="WORD",
        help="jobs whose names contain one of these",
    )
    parser.add_argument(
        "--megabytes", type=float, default=200, help="size of the file of JSON lines (200)"
    )
    given = parser.parse_args()
    programs = {"ours": OURS, "other": given.other.absolute()}
    for program in programs.values():
        # as pip does it for what it installs
        compileall.compile_dir(program.parents[2] / "nbtext", quiet=1)
    sys.stdout.write("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|\n")
    with tempfile.TemporaryDirectory(prefix="nbtext-against-") as scratch:
        folders = {version: Path(scratch) / version for version in programs}
        for folder in folders.values():
            folder.mkdir()
        for name, words in list_jobs(Material(Path(scratch)), given.megabytes).items():
            if not any(word in name for word in given.only):
                continue
            steps = {
                version: [as_step(program, words, folders[version])]
                for version, program in programs.items()
            }
            costs = measure_in_turns(steps, rounds=given.rounds + 1)
            failed = [cost for cost in costs.values() if isinstance(cost, StepFailedError)]
            if failed:
                sys.stdout.write(f"| {name} | failed: {failed[0]} |\n")
                continue
            ours, others = (
                found[1:] for found in costs.values() if not isinstance(found, StepFailedError)
            )
            sys.stdout.write(format_row(name, ours, others))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
