"""Compare the speed and memory use of nbtext with those of other programs.

    python tests/benchmarks/run.py [--rounds N] [--only WORD...] [--megabytes N]      (make bench)

Whole processes: wall time, CPU time (user + system) and peak memory, the size of the model file,
and the accuracy of predictions. The programs of a job take turns (A B C, A B C, ...), after one
round that is not counted; the medians are shown. All of them may use two cores; the megabytes a
second are of input, for each second of a processor. A program that is not installed fails;
peers/install.sh installs the others. Prints tables in Markdown.
"""

import compileall
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from material import corpus, write_repeated
from measuring import (
    MEGABYTE,
    CommandFailedError,
    measure,
    measure_in_turns,
    median,
    parser_with,
    say,
    say_head,
    say_row,
)

import nbtext

PEERS = Path(__file__).resolve().parent / "peers"
LARGE = 500.0  # megabytes
# the tutorial's settings; by its defaults (5 epochs at a rate of 0.1) it learns next to nothing
FASTTEXT = "fasttext supervised -lr 1.0 -epoch 25 -thread 2 -input lines.txt -output fasttext"
# one pass, one label against all others, by its default loss
VOWPAL_WABBIT = "$PEERS/.venv/bin/python -m vowpalwabbit --quiet"

TRAIN = {
    "nbtext": "nbtext train -q $CORPUS/train --force -o model",
    "nbtext, words alone": "nbtext train -q $CORPUS/train --view word:1 --force -o model",
    "scikit-learn": "python $PEERS/scikit_learn.py train $CORPUS/train model",
    "fastText": "python $PEERS/convert.py $CORPUS/train lines.txt fasttext && "
    f"{FASTTEXT} && mv fasttext.bin model",
    "Vowpal Wabbit": "python $PEERS/convert.py $CORPUS/train lines.txt vw && "
    f"{VOWPAL_WABBIT} --oaa $(ls $CORPUS/train | wc -l) -b 20 -d lines.txt -f model",
}
PREDICT = {
    "nbtext": "nbtext predict -q $CORPUS/test -m model > answers.tsv",
    "scikit-learn": "python $PEERS/scikit_learn.py predict $CORPUS/test model > answers.tsv",
    "fastText": "python $PEERS/convert.py $CORPUS/test test.txt fasttext && "
    "fasttext predict model test.txt > answers.txt",
    "Vowpal Wabbit": "python $PEERS/convert.py $CORPUS/test test.txt vw && "
    f"{VOWPAL_WABBIT} -t -i model -d test.txt -p answers.txt",
}
TRAIN_PAIRS = {
    "nbtext": "nbtext train -q $CORPUS/train --ngrams 1,2 --force -o model",
    "scikit-learn": "python $PEERS/scikit_learn.py train $CORPUS/train model PAIRS",
}
TRAIN_LINES = {
    "nbtext": "nbtext train -q $LINES --force -o model",
    "nbtext, an eighth of the lines": "nbtext train -q $EIGHTH --force -o model",
    "nbtext, with word pairs": "nbtext train -q $LINES --ngrams 1,2 --force -o model",
    "wc -w": "wc -w $LINES",
}
PREDICT_LINES = {
    "nbtext": "nbtext predict -q $LINES -m model > answers.tsv",
    "wc -w": "wc -w $LINES",
}
PREDICT_ONE = {
    "nbtext": "echo OpenGL on the GPU is fast | nbtext predict - -m model",
    "import joblib": "python -c 'import joblib'",
    "import numpy": "python -c 'import numpy'",
}
COUNT_WORDS = {"wc -w": "find $CORPUS/train -type f -exec wc -w {} +"}
SHOW_HELP = {"nbtext": "nbtext --help", "python -c pass": "python -c pass"}
# title, corpus, folder, commands; later jobs use the models that earlier ones leave in a folder
JOBS = [
    ("Train on 20 Newsgroups: 11,314 files, 20 labels, 22 MB", "20news", "news", TRAIN),
    ("Count the words of 20 Newsgroups", "20news", "news", COUNT_WORDS),
    ("Label the 7,532 test files of 20 Newsgroups", "20news", "news", PREDICT),
    ("Label one short text, with the model of 20 Newsgroups", "20news", "news", PREDICT_ONE),
    ("Train on 20 Newsgroups with word pairs", "20news", "pairs", TRAIN_PAIRS),
    ("Train on IMDB as files: 25,000 files, 2 labels, 33 MB", "imdb", "imdb", TRAIN),
    ("Label the 25,000 test files of IMDB", "imdb", "imdb", PREDICT),
    ("Train on JSON lines", "imdb", "lines", TRAIN_LINES),
    ("Label JSON lines", "imdb", "lines", PREDICT_LINES),
    ("Show the help", "imdb", "help", SHOW_HELP),
]


def measure_accuracy(folder: Path) -> float:
    """The share of right answers. A table has paths, whose folders are the labels; the lines of
    fastText and Vowpal Wabbit stand beside those of the test file, which begin with the label.
    """
    if (folder / "answers.tsv").exists():
        rows = [line.split("\t") for line in (folder / "answers.tsv").read_text().splitlines()]
        is_right = [Path(path).parent.name == label for path, label, *_ in rows]
    else:
        answers, lines = (
            [line.split()[0] for line in (folder / name).read_text().splitlines()]
            for name in ("answers.txt", "test.txt")
        )
        is_right = [answer == line for answer, line in zip(answers, lines, strict=True)]
    return sum(is_right) / len(is_right)


def measure_input(command: str, places: Mapping[str, Path]) -> int:
    """The bytes of the corpus that a command reads."""
    inputs = {f"${name}": path for name, path in places.items() if path.is_file()}
    inputs |= {f"$CORPUS/{half}": places["CORPUS"] / half for half in ("train", "test")}
    (path,) = [path for name, path in inputs.items() if name in command] or [Path(os.devnull)]
    files = [path] if path.is_file() else path.rglob("*")
    return sum(each.stat().st_size for each in files if each.is_file())


def say_job(commands: Mapping[str, str], folder: Path, rounds: int, **variables: Path) -> None:
    """Measure the programs of a job, each in a folder of its own, and print a table."""
    folders = {}
    programs = {}
    for program, command in commands.items():
        folders[program] = folder / program
        folders[program].mkdir(parents=True, exist_ok=True)
        programs[program] = partial(measure, command, folders[program], **variables)
    head = "wall, s", "CPU, s", "MB/s a core", "peak, MB", "model, MB", "accuracy", "ratio"
    say_head("", *head, "command")
    first = None
    for program, costs in measure_in_turns(programs, rounds + 1).items():
        command = f"`{commands[program]}`"
        if isinstance(costs, CommandFailedError):
            sys.stderr.write(f"{costs}\n")
            say_row([program, "failed", *[""] * (len(head) - 1), command])
            continue
        cost = median(costs[1:])
        first = first or cost
        model = folders[program] / "model"
        size = f"{model.stat().st_size / MEGABYTE:.3g}" if model.exists() else ""
        accuracy = f"{measure_accuracy(folders[program]):.4f}" if commands is PREDICT else ""
        n_bytes = measure_input(commands[program], variables)
        speed = f"{n_bytes / MEGABYTE / cost.cpu:.3g}" if n_bytes else ""
        figures = f"{cost.wall:.3f}", f"{cost.cpu:.3f}", speed, f"{cost.memory / MEGABYTE:.3g}"
        say_row([program, *figures, size, accuracy, f"{cost.wall / first.wall:.2f}", command])


def main() -> None:
    parser = parser_with(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds of each job (5)")
    parser.add_argument("--only", nargs="+", default=[""], help="jobs whose titles have a word")
    parser.add_argument("--megabytes", type=float, default=LARGE, help="of JSON lines (500)")
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # every process inherits it
    # as pip does it for what it installs
    compileall.compile_dir(Path(nbtext.__file__).parent, quiet=1)
    say(f"nbtext {nbtext.__version__}, Python {platform.python_version()}, {platform.platform()}")
    with tempfile.TemporaryDirectory(prefix="nbtext-benchmarks-") as created:
        scratch = Path(created)
        lines = {
            "LINES": write_repeated(scratch / "lines.jsonl", given.megabytes),
            "EIGHTH": write_repeated(scratch / "eighth.jsonl", given.megabytes / 8),
        }
        for title, name, place, commands in JOBS:
            if any(word in title for word in given.only):
                say(f"\n## {title}\n")
                folder = scratch / place
                say_job(commands, folder, given.rounds, CORPUS=corpus(name), PEERS=PEERS, **lines)


if __name__ == "__main__":
    main()
