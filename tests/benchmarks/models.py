"""Compare all models of nbtext with other programs: training time, peak memory and accuracy on the
test half.

    python tests/benchmarks/models.py [--rounds N] [--only WORD...] [--output DIR]      (part of
    make bench)

Whole processes, as in run.py, on 20 Newsgroups by date and on IMDB. The chart shows the accuracy
against the training time: its line is the frontier, the programs that no other one beats in both.
LIBLINEAR is scikit-learn's LinearSVC. Writes results/models.md and results/models.svg; with --only,
the table goes to standard output.
"""

import argparse
import compileall
import math
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path

from jobs import Job
from machine import conditions
from material import Material
from outcome import JobResult, Row, run_job
from programs import Program, Task, fasttext, nbtext, scikit_learn, vowpal_wabbit
from table import job_table, seconds

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

# pixels of a panel and its margins
WIDTH = 760
HEIGHT = 420
LEFT = 60
RIGHT = 190
TOP = 34
BOTTOM = 44
OWN = "#2563eb"
OTHER = "#94a3b8"
INK = "#1e293b"
FAINT = "#64748b"
LABEL_HEIGHT = 13  # pixels between the names of two points


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
    parts += [
        "![Accuracy against training time](models.svg)",
        "\n".join(f"* {k}: {v}" for k, v in facts.items()),
    ]
    for result in results:
        names = ", ".join(row.name for row in select_frontier(result.rows))
        parts += [
            f"## {result.job.title}",
            job_table(result),
            f"Frontier, from fast to accurate: {names}.",
        ]
    return "\n\n".join(parts) + "\n"


def format_chart(results: Sequence[JobResult], facts: Mapping[str, str]) -> str:
    """Draw a panel for each corpus: a point for each program, its training time on a logarithmic
    axis.
    """
    height = HEIGHT * len(results) + 24
    caption = f"Training time of whole processes. {facts['date']}, {facts['machine']}"
    panels = [
        part
        for number, result in enumerate(results)
        for part in _draw_panel(result, HEIGHT * number)
    ]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            'font-family="system-ui, sans-serif" role="img" aria-label="Accuracy against training time">',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            *panels,
            _text(LEFT, height - 8, caption, fill=FAINT),
            "</svg>\n",
        )
    )


def _draw_panel(result: JobResult, top: int) -> list[str]:
    points = [
        (row, row.cost.wall, row.accuracy)
        for row in result.rows
        if row.cost and row.accuracy is not None
    ]
    if not points:
        return []
    times = [time for _, time, _ in points]
    accuracies = [accuracy for *_, accuracy in points]
    first = math.floor(math.log10(min(times)) * 2) / 2
    last = math.ceil(math.log10(max(times)) * 2) / 2
    low = math.floor(min(accuracies) * 50) / 50
    high = math.ceil(max(accuracies) * 50) / 50
    last = max(last, first + 0.5)
    high = max(high, low + 0.02)

    def x(time: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(time) - first) / (last - first)

    def y(accuracy: float) -> float:
        return top + HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (accuracy - low) / (high - low)

    parts = [_text(LEFT, top + 18, result.job.title, weight="bold")]
    for step in range(round((high - low) * 50) + 1):
        level = low + step / 50
        parts.append(_line(LEFT, y(level), WIDTH - RIGHT, y(level), "#e2e8f0"))
        parts.append(_text(LEFT - 6, y(level) + 4, f"{level:.2f}", anchor="end", fill=FAINT))
    for step in range(round((last - first) * 2) + 1):
        time = 10 ** (first + step / 2)
        parts.append(
            _text(x(time), top + HEIGHT - BOTTOM + 16, seconds(time), anchor="middle", fill=FAINT)
        )
    frontier = select_frontier(result.rows)
    corners: list[tuple[float, float]] = []
    for row in frontier:
        if row.cost is not None and row.accuracy is not None:
            if corners:
                corners.append((x(row.cost.wall), corners[-1][1]))
            corners.append((x(row.cost.wall), y(row.accuracy)))
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{FAINT}" stroke-dasharray="4 3"/>')
    height = -math.inf
    for row, time, accuracy in sorted(points, key=lambda point: -point[2]):
        color = OWN if row.name.startswith("nbtext") else OTHER
        parts.append(f'<circle cx="{x(time):.1f}" cy="{y(accuracy):.1f}" r="4" fill="{color}"/>')
        # names are moved down until none covers another
        height = max(height + LABEL_HEIGHT, y(accuracy) + 4)
        parts.append(_line(x(time) + 4, y(accuracy), WIDTH - RIGHT + 4, height - 4, "#f1f5f9"))
        parts.append(
            _text(WIDTH - RIGHT + 8, height, f"{accuracy:.3f} {_short_name(row.name)}", fill=INK)
        )
    return parts


def _short_name(name: str) -> str:
    """Return the name of a row without what all have."""
    short = (
        name.replace(" ".join(LOG_TFIDF), "log TF-IDF")
        .replace("--ngrams 1,2", "pairs")
        .replace("--model ", "")
    )
    return short if short != "nbtext" else "nbtext (default)"


def _line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>'


def _text(
    x: float, y: float, text: str, *, fill: str = INK, anchor: str = "start", weight: str = "normal"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(text)}</text>"
    )


def say(line: str) -> None:
    """Print the progress."""
    sys.stderr.write(line + "\n")


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
    parser.add_argument("--output", type=Path, help="folder for models.md and models.svg")
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
    (output / "models.svg").write_text(format_chart(results, facts), encoding="utf-8")


if __name__ == "__main__":
    main()
