"""The jobs that are measured, and the limits that nbtext must meet."""

from collections.abc import Callable
from dataclasses import dataclass

from material import Material
from programs import (
    NBTEXT,
    PYTHON,
    Program,
    Task,
    command,
    fasttext,
    nbtext,
    other,
    predicting,
    scikit_learn,
    vowpal_wabbit,
)

PAIRS = ("--ngrams", "1,2")
SHORT_TEXT = b"OpenGL on the GPU is fast\n"


@dataclass(frozen=True)
class Threshold:
    """A quantity of one program, as a multiple of a peer's: at most `limit`, for an accuracy at
    least.
    """

    quantity: str  # wall, memory, model or accuracy
    peer: str
    limit: float
    program: str = "nbtext"


@dataclass(frozen=True)
class Job:
    """A job that all programs do, each its own way, and what must come out of it."""

    title: str
    programs: tuple[Program, ...]
    thresholds: tuple[Threshold, ...] = ()


def newsgroups_task(material: Material, name: str, *options: str) -> Task:
    """20 Newsgroups, by date."""
    folder = material.scratch / name
    return Task(
        folder, material.newsgroups("train"), "20news/train", material.newsgroups("test"), options
    )


def train_newsgroups(material: Material) -> Job:
    task = newsgroups_task(material, "train-20news")
    each = ("find", task.training, "-type", "f", "-exec")
    return Job(
        "Train on 20 Newsgroups: 11,314 files, 20 labels, 22 MB",
        (
            nbtext(task),
            complement := nbtext(task, "--model", "complement"),
            scikit_learn(task),
            fasttext(task),
            vowpal_wabbit(task),
            other("wc -w", *each, "wc", "-w", "{}", "+"),
            other("cat", *each, "cat", "{}", "+"),
            other("import numpy", PYTHON, "-c", "import numpy"),
        ),
        (
            Threshold("wall", "scikit-learn", 1 / 12),
            Threshold("memory", "scikit-learn", 1 / 3),
            Threshold("model", "scikit-learn", 1 / 3),
            *faster_and_as_accurate("fastText"),
            *faster_and_as_accurate("Vowpal Wabbit"),
            *faster_and_as_accurate("Vowpal Wabbit", complement.name),
        ),
    )


def faster_and_as_accurate(peer: str, program: str = "nbtext") -> tuple[Threshold, ...]:
    """What a user of that peer would ask for."""
    return Threshold("wall", peer, 1.0, program), Threshold("accuracy", peer, 1.0, program)


def train_newsgroups_pairs(material: Material) -> Job:
    task = newsgroups_task(material, "train-20news-pairs", *PAIRS)
    return Job(
        "Train on 20 Newsgroups with word pairs",
        (nbtext(task), scikit_learn(task)),
        (
            Threshold("wall", "scikit-learn", 1 / 15),
            Threshold("memory", "scikit-learn", 1 / 3),
            Threshold("model", "scikit-learn", 1 / 5),
        ),
    )


def predict_newsgroups(material: Material) -> Job:
    task = newsgroups_task(material, "predict-20news")
    shown = "20news/test"
    return Job(
        "Label the 7,532 test files of 20 Newsgroups",
        (
            predicting(nbtext(task), f"nbtext predict {shown} -m model.joblib"),
            predicting(scikit_learn(task), f"scikit_learn_predict.py {shown}"),
            predicting(fasttext(task), f"convert.py {shown} && fasttext predict"),
            predicting(vowpal_wabbit(task), f"convert.py {shown} && vw -t"),
        ),
        (Threshold("wall", "scikit-learn", 1 / 12),),
    )


def train_imdb(material: Material) -> Job:
    task = Task(
        material.scratch / "imdb", material.imdb("train"), "imdb/train", material.imdb("test")
    )
    return Job(
        "Train on IMDB as files: 25,000 files, 2 labels, 33 MB",
        (nbtext(task), scikit_learn(task), fasttext(task), vowpal_wabbit(task)),
        (Threshold("wall", "fastText", 1.0), Threshold("wall", "Vowpal Wabbit", 1.0)),
    )


def train_imdb_lines(material: Material) -> Job:
    lines = material.imdb_lines("train")
    task = Task(material.scratch / "imdb-lines", lines, "imdb-train.jsonl", material.imdb("test"))
    return Job(
        "Train on IMDB as one JSONL file",
        (nbtext(task), scikit_learn(task), other("wc -w", "wc", "-w", lines)),
    )


def train_large(material: Material, megabytes: float, *options: str) -> Job:
    """On JSONL made by repetition."""
    lines = material.repeated(megabytes)
    task = Task(
        material.scratch / "-".join(("train", lines.stem, *options)),
        lines,
        lines.name,
        options=options,
    )
    peers = (other("wc -w", "wc", "-w", lines), other("cat", "cat", lines))
    with_pairs = " with word pairs" if options else ""
    limit = 3.0 if options else 0.8
    return Job(
        f"Train on {megabytes:g} MB of JSONL{with_pairs}",
        (nbtext(task), *peers),
        (Threshold("wall", "wc -w", limit),),
    )


def predict_large(material: Material, megabytes: float) -> Job:
    lines = material.repeated(megabytes)
    task = Task(material.scratch / f"predict-{lines.stem}", lines, lines.name)
    trained = nbtext(task)
    predictions = task.place("nbtext") / "predictions.tsv"
    step = command(*NBTEXT, "predict", lines, "-m", trained.model, stdout=predictions)
    shown = f"nbtext predict {lines.name} -m model.joblib"
    return Job(
        f"Label {megabytes:g} MB of JSONL",
        (Program("nbtext", shown, (step,), trained.steps), other("wc -w", "wc", "-w", lines)),
        (Threshold("wall", "wc -w", 0.8),),
    )


def predict_one(material: Material) -> Job:
    trained = nbtext(newsgroups_task(material, "predict-one"))
    step = command(*NBTEXT, "predict", "-", "-m", trained.model, stdin=SHORT_TEXT)
    shown = f"echo {SHORT_TEXT.decode().strip()} | nbtext predict - -m model.joblib"
    return Job(
        "Label one short text, with the model of 20 Newsgroups",
        (
            Program("nbtext", shown, (step,), trained.steps),
            other("import joblib", PYTHON, "-c", "import joblib"),
            other("import numpy", PYTHON, "-c", "import numpy"),
        ),
        (Threshold("wall", "import joblib", 1.3),),
    )


def show_help(material: Material) -> Job:
    return Job(
        "Show the help",
        (
            Program("nbtext", "nbtext --help", (command(*NBTEXT, "--help"),)),
            other("python -c pass", PYTHON, "-c", "pass"),
        ),
        (Threshold("wall", "python -c pass", 5.0),),
    )


def scale(material: Material, megabytes: float) -> Job:
    """One, two, four and eight times the same text."""

    def times(factor: int) -> Program:
        lines = material.repeated(megabytes * factor / 8)
        program = nbtext(Task(material.scratch / f"scale-{factor}", lines, lines.name))
        return Program(f"{factor}×", program.shown, program.steps, model=program.model)

    return Job(
        f"Train on more and more: {megabytes / 8:g} to {megabytes:g} MB of JSONL",
        tuple(times(factor) for factor in (1, 2, 4, 8)),
        (Threshold("wall", "1×", 8.5, "8×"), Threshold("memory", "1×", 2.0, "8×")),
    )


def all_jobs(megabytes: float) -> dict[str, Callable[[Material], Job]]:
    """Every job by its name; its inputs are made when it is called. `megabytes` is the size of the
    large file.
    """
    return {
        "train-20news": train_newsgroups,
        "train-20news-pairs": train_newsgroups_pairs,
        "predict-20news": predict_newsgroups,
        "train-imdb": train_imdb,
        "train-imdb-jsonl": train_imdb_lines,
        "train-large": lambda material: train_large(material, megabytes),
        "train-large-pairs": lambda material: train_large(material, megabytes, *PAIRS),
        "predict-large": lambda material: predict_large(material, megabytes),
        "predict-one": predict_one,
        "help": show_help,
        "scale": lambda material: scale(material, megabytes),
    }
