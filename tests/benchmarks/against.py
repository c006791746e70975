"""What this nbtext costs beside another version of it: start-up, training, predicting, evaluating.

    python tests/benchmarks/against.py OTHER [--rounds N] [--only WORD...] [--megabytes N]

OTHER is the program `nbtext` of the other version, in the folder .venv/bin of its own checkout. The
two versions run the same whole processes in turns, after a first one that is not counted. The least
of each number is shown: processor seconds, wall-clock seconds and peak memory, and their ratios;
above 1, this version costs more. On a machine that does other work, only the seconds of the
processor and the memory mean something. Prints a Markdown table.
"""

import compileall
import sys
import tempfile
from functools import partial
from pathlib import Path

import pandas
from material import REPOSITORY, corpus, write_repeated
from measuring import (
    MEGABYTE,
    CommandFailedError,
    measure,
    measure_in_turns,
    parser_with,
    say_head,
    say_row,
)

OURS = Path(sys.executable).with_name("nbtext")
# each version has a folder of its own; later jobs use the models of earlier ones
JOBS = [
    "nbtext --version",
    "nbtext train -h",
    "nbtext train -q $LETTERS/train --force -o letters",
    # words alone, which every version counts; then what this one selects
    "nbtext train -q $NEWS/train --view word:1 --force -o 20news",
    "nbtext train -q $NEWS/train --force -o selected",
    "nbtext train -q $NEWS/train --ngrams 1,2 --force -o pairs",
    "nbtext train -q $NEWS/train --model bernoulli --force -o bernoulli",
    "nbtext train -q $NEWS/train --model complement --weighting log-tfidf --force -o complement",
    "nbtext train -q $NEWS/train --model nbsvm --weighting log-tfidf --force -o nbsvm",
    "nbtext train -q $NEWS/train --model svm --weighting log-tfidf --ngrams 1,2 --force -o svm",
    "nbtext train -q $LETTERS/train --model logistic --force -o logistic",
    "nbtext train -q $NEWS/train --model logistic --force -o logistic",
    "nbtext train -q $NEWS/train --model best --force -o best",
    "nbtext train -q $REUTERS/train.jsonl --label-field labels --force -o reuters",
    "nbtext train -q $LINES --force -o lines",
    "nbtext train -q -j 1 $LINES --force -o lines",
    "nbtext train -q -j 1 $TABLE --force -o table",
    "nbtext train -q $THAI --view word:1 --force -o thai",
    "nbtext train -q $JAPANESE --view word:1 --force -o japanese",
    "echo OpenGL on the GPU is fast | nbtext predict - -m 20news",
    "nbtext predict $NEWS/test --force -o out.csv -m 20news",
    "nbtext predict $LINES --force -o out.csv -m lines",
    "nbtext predict -j 1 $LINES --force -o out.csv -m lines",
    "nbtext predict -j 1 $TABLE --force -o out.csv -m table",
    "nbtext predict $REUTERS/test.jsonl --force -o out.jsonl -m reuters",
    "nbtext evaluate $NEWS/test -m 20news",
    "nbtext evaluate $REUTERS/test.jsonl --label-field labels -m reuters",
    "nbtext evaluate $NEWS/train --folds 10",
    "nbtext explain $NEWS/test/sci.space -m 20news",
    "nbtext inspect -m 20news",
    "nbtext review $NEWS/train --force -o out.jsonl",
]


def main() -> None:
    parser = parser_with(__doc__)
    parser.add_argument("other", type=Path, help="the program `nbtext` of the other version")
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds of each job (5)")
    parser.add_argument("--only", nargs="+", default=[""], help="jobs that contain one of these")
    parser.add_argument("--megabytes", type=float, default=200, help="of JSON lines (200)")
    given = parser.parse_args()
    programs = {"ours": OURS, "other": given.other.absolute()}
    for program in programs.values():
        # as pip does it for what it installs
        compileall.compile_dir(program.parents[2] / "nbtext", quiet=1)
    head = "CPU, s", "other", "ratio", "wall, s", "other", "ratio", "MB", "other", "ratio"
    say_head("job", *head)
    with tempfile.TemporaryDirectory(prefix="nbtext-against-") as created:
        scratch = Path(created)
        for version in programs:
            (scratch / version).mkdir()
        lines = write_repeated(scratch / "lines.jsonl", given.megabytes)
        pandas.read_json(lines, lines=True).to_csv(scratch / "table.csv", index=False)
        places = {
            "LETTERS": REPOSITORY / "corpora" / "letters",
            "NEWS": corpus("20news"),
            "REUTERS": corpus("reuters-90"),
            "LINES": lines,
            "TABLE": scratch / "table.csv",
            "THAI": corpus("wisesight-th") / "train.jsonl",
            "JAPANESE": f"{corpus('ja-chabsa') / 'posneg.tsv'} --no-header --label-field 1 --text-field 2",
        }
        for job in JOBS:
            if not any(word in job for word in given.only):
                continue
            runs = {
                version: partial(measure, job, scratch / version, program.parent, **places)
                for version, program in programs.items()
            }
            found = measure_in_turns(runs, given.rounds + 1).values()
            failed = [costs for costs in found if isinstance(costs, CommandFailedError)]
            if failed:
                sys.stderr.write(f"{failed[0]}\n")
                continue
            least = [[min(numbers) for numbers in zip(*costs[1:], strict=True)] for costs in found]
            cells = []
            for number, unit in ((1, 1), (0, 1), (2, MEGABYTE)):
                ours, other = (each[number] / unit for each in least)
                cells += [f"{ours:.3f}", f"{other:.3f}", f"{ours / other:.2f}"]
            say_row([job.removeprefix("nbtext "), *cells])


if __name__ == "__main__":
    main()
