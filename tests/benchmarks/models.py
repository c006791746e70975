"""Compare all models of nbtext with other programs: training time, peak memory and accuracy on the
test half.

    python tests/benchmarks/models.py [--rounds N] [--only WORD...] [--output DIR]      (part of
    make bench)

Whole processes, as in run.py, on 20 Newsgroups by date and on IMDB. Below each table stands its
frontier: the programs that no other one beats in both training time and accuracy. LIBLINEAR is
scikit-learn's LinearSVC. Writes results/models.md; with --only, the table goes to standard output.
"""

import argparse
import compileall
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from jobs import Job
from machine import conditions
from material import Material
from outcome import JobResult, Row, run_job
from programs import Program, Task, fasttext, nbtext, scikit_learn, vowpal_wabbit
from run import say
from table import job_table

import nbtext as package

RESULTS = Path(__file__).parent / "results"
LOG_TFIDF = ("--tf", "log", "--idf", "smooth", "--norm", "l2")
PAIRS = ("--ngrams", "1,2")
MODELS = (
    (),
    ("--model", "multinomial"),
    ("--model", "bernoulli"),
    ("--model", "complement"),
    ("--model", "categorical"),
    ("--model", "gaussian"),
    ("--model", "complement", *LOG_TFIDF, *PAIRS),
    ("--model", "logistic", *LOG_TFIDF),
    ("--model", "svm", *LOG_TFIDF),
    ("--model", "nbsvm", *LOG_TFIDF),
    ("--model", "nbsvm", *LOG_TFIDF, *PAIRS),
    ("--model", "combined"),
    ("--model", "best"),
)
PEER_FEATURES = (("pairs",), ("pairs", "within"), ("across",))  # of the peers of --model best

AUTOTUNE_SECONDS = 20  # about what --model best takes


def model_programs(task: Task) -> tuple[Program, ...]:
    """All models of nbtext, then the other programs."""
    return (
        *(nbtext(task, *options) for options in MODELS),
        scikit_learn(task),
        scikit_learn(task, "--model", "linear-svm", name="LIBLINEAR"),
        *(
            scikit_learn(
                task,
                "--model",
                "linear-svm",
                "--features",
                *each,
                name=f"LIBLINEAR, {' + '.join(each)}",
            )
            for each in PEER_FEATURES
        ),
        fasttext(task),
        fasttext(task, seconds=AUTOTUNE_SECONDS),
        vowpal_wabbit(task),
    )


def newsgroups_job(material: Material) -> Job:
    """20 Newsgroups by date."""
    task = Task(
        material.scratch / "models-20news",
        material.newsgroups("train"),
        "20news/train",
        material.newsgroups("test"),
    )
    return Job("20 Newsgroups by date: 11,314 files, 20 labels", model_programs(task))


def imdb_job(material: Material) -> Job:
    """IMDB, its own split."""
    task = Task(
        material.scratch / "models-imdb",
        material.imdb("train"),
        "imdb/train",
        material.imdb("test"),
    )
    return Job("IMDB: 25,000 files, 2 labels", model_programs(task))


JOBS: tuple[Callable[[Material], Job], ...] = (newsgroups_job, imdb_job)


def select_frontier(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that no other row beats in training time and accuracy, by increasing time."""
    measured = [row for row in rows if row.cost is not None and row.accuracy is not None]
    found: list[Row] = []
    for row in sorted(measured, key=lambda row: (row.cost.wall, -row.accuracy)):  # type: ignore[union-attr, operator]
        if not found or row.accuracy > found[-1].accuracy:  # type: ignore[operator]
            found.append(row)
    return found


def format_page(results: Sequence[JobResult], facts: Mapping[str, str], how: str) -> str:
    """Format the tables, with the frontier of each corpus."""
    parts = [
        "# All models: time, memory, accuracy",
        f"Written by `tests/benchmarks/models.py`. {how}",
    ]
    parts.append("\n".join(f"* {k}: {v}" for k, v in facts.items()))
    for result in results:
        names = ", ".join(row.name for row in select_frontier(result.rows))
        parts += [
            f"## {result.job.title}",
            job_table(result),
            f"Frontier, from fast to accurate: {names}.",
        ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="measured rounds (1); the medians are shown"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", help="programs whose name contains one of these words"
    )
    parser.add_argument("--output", type=Path, help="folder for models.md")
    parser.add_argument("--cores", type=int, default=2, help="number of CPU cores (2)")
    options = parser.parse_args()
    # every process inherits it
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    # as pip does it for what it installs
    compileall.compile_dir(Path(package.__file__).parent, quiet=1)
    results = []
    with tempfile.TemporaryDirectory(prefix="nbtext-benchmarks-") as scratch:
        for make_job in JOBS:
            job = make_job(Material(Path(scratch)))
            if options.only:
                chosen = tuple(
                    each for each in job.programs if any(word in each.name for word in options.only)
                )
                job = Job(job.title, chosen)
            say(job.title)
            results.append(run_job(job, rounds=options.rounds, warm_up=False, say=say))
    facts = conditions()
    page = format_page(
        results,
        facts,
        f"Whole processes on {options.cores} cores, in turns; {options.rounds} round(s).",
    )
    output = options.output or (None if options.only else RESULTS)
    if output is None:
        sys.stdout.write(page)
        return
    output.mkdir(parents=True, exist_ok=True)
    (output / "models.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
