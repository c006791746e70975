"""The programs that are measured, each with the commands by which it trains and predicts.

Every program gets a folder of its own in the scratch folder, for its model and whatever else it
writes.
"""

import os
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from measuring import Step
from scoring import Scoring, accuracy_of_lines, accuracy_of_table

PEERS = Path(__file__).resolve().parent / "peers"
PEERS_PYTHON = PEERS / ".venv" / "bin" / "python"
PYTHON = sys.executable
SCRIPT = Path(PYTHON).with_name("nbtext")
NBTEXT = (str(SCRIPT),) if SCRIPT.exists() else (PYTHON, "-m", "nbtext")


@dataclass(frozen=True)
class Program:
    """One row of a job's table.

    name     as the thresholds and the table call it
    shown    its command, as people would type it
    steps    the processes of one round, measured together
    prepare  what runs once before the first round
    model    the file whose size is reported after the last round
    scoring    says how accurate the model is, after the last round
    missing  why the program cannot be run here; None: it can
    """

    name: str
    shown: str
    steps: tuple[Step, ...]
    prepare: tuple[Step, ...] = ()
    model: Path | None = None
    scoring: Scoring | None = None
    missing: str | None = None


@dataclass(frozen=True)
class Task:
    """What to train on and, where there is one, what to evaluate on.

    folder   for the programs' files
    training, test  a directory of labels or a JSONL file
    shown    the name of `training`, without the way there
    options  of nbtext and of the scikit-learn script, which have the same: --ngrams 1,2
    """

    folder: Path
    training: Path
    shown: str
    test: Path | None = None
    options: tuple[str, ...] = ()

    def place(self, name: str) -> Path:
        """A program's own folder."""
        path = self.folder / name
        path.mkdir(parents=True, exist_ok=True)
        return path


def command(
    *words: object, stdin: bytes | None = None, stdout: Path | None = None, counts: bool = True
) -> Step:
    """A step of a command whose words may be paths."""
    return Step(tuple(map(str, words)), stdin, stdout, counts)


def reason_missing(program: str) -> str | None:
    """Why a peer cannot be run here; None where it can."""
    if shutil.which(program) or list(PEERS.glob(f".venv/lib/python*/site-packages/{program}")):
        return None
    return read_missing_peers().get(program, "run tests/benchmarks/peers/install.sh")


def read_missing_peers() -> dict[str, str]:
    """What peers/install.sh could not install, and why."""
    notes = PEERS / ".venv" / "missing.tsv"
    lines = notes.read_text().splitlines() if notes.exists() else []
    return dict(tuple(line.split("\t", 1)) for line in lines)


def other(name: str, *words: object) -> Program:
    """A command to compare with, which leaves nothing behind."""
    return Program(name, name, (command(*words),))


def nbtext(task: Task, *more: str) -> Program:
    """nbtext, as it is installed beside this Python, with more options than the task has."""
    name = " ".join(("nbtext", *more))
    options = (*task.options, *more)
    place = task.place(name)
    model = place / "model.joblib"
    predictions = place / "predictions.tsv"
    return Program(
        name,
        " ".join(("nbtext train", task.shown, "-o model.joblib", *options)),
        (command(*NBTEXT, "train", task.training, "-o", model, *options),),
        model=model,
        scoring=_scoring_of_table(
            task.test,
            predictions,
            command(*NBTEXT, "predict", task.test, "-m", model, stdout=predictions),
        ),
    )


def scikit_learn(task: Task) -> Program:
    """The script of load_files, a vectorizer, a model and joblib.dump."""
    place = task.place("scikit-learn")
    model = place / "model.joblib"
    predictions = place / "predictions.tsv"
    predict = command(
        PYTHON, PEERS / "scikit_learn_predict.py", task.test, model, stdout=predictions
    )
    return Program(
        "scikit-learn",
        " ".join(("scikit_learn_train.py", task.shown, *task.options)),
        (command(PYTHON, PEERS / "scikit_learn_train.py", task.training, model, *task.options),),
        model=model,
        scoring=_scoring_of_table(task.test, predictions, predict),
    )


def _scoring_of_table(test: Path | None, predictions: Path, predict: Step) -> Scoring | None:
    return (
        Scoring((predict,), lambda: accuracy_of_table(predictions, test))
        if test is not None
        else None
    )


def fasttext(task: Task) -> Program:
    """fastText with its tutorial's settings; by its defaults (5 epochs at a rate of 0.1) it learns
    next to nothing.
    """
    place = task.place("fastText")
    lines = place / "training.txt"
    predictions = place / "predictions.txt"
    test_lines = place / "test.txt"
    settings = ("-lr", "1.0", "-epoch", "25", "-thread", str(len(os.sched_getaffinity(0))))
    train = ("fasttext", "supervised", "-input", lines, "-output", place / "model", *settings)
    predict = command("fasttext", "predict", place / "model.bin", test_lines, stdout=predictions)
    return Program(
        "fastText",
        f"convert.py {task.shown} && fasttext supervised {' '.join(settings)}",
        (_convert(task.training, lines, place, "fasttext", "--training"), command(*train)),
        model=place / "model.bin",
        scoring=_scoring_of_lines(task.test, predictions, test_lines, place, "fasttext", predict),
        missing=reason_missing("fasttext"),
    )


def vowpal_wabbit(task: Task) -> Program:
    """Vowpal Wabbit in one pass, one label against all others, by its default loss."""
    place = task.place("vw")
    lines, predictions, test_lines, model = (
        place / name for name in ("training.txt", "predictions.txt", "test.txt", "model.vw")
    )
    settings = ("--oaa", len(os.listdir(task.training)), "-b", 20, "--quiet")
    train = (PEERS_PYTHON, "-m", "vowpalwabbit", "-d", lines, "-f", model, *settings)
    predict = (
        PEERS_PYTHON,
        "-m",
        "vowpalwabbit",
        "-t",
        "-i",
        model,
        "-d",
        test_lines,
        "-p",
        predictions,
        "--quiet",
    )
    return Program(
        "Vowpal Wabbit",
        f"convert.py {task.shown} && vw {' '.join(map(str, settings))}",
        (_convert(task.training, lines, place, "vw", "--training"), command(*train)),
        model=model,
        scoring=_scoring_of_lines(
            task.test, predictions, test_lines, place, "vw", command(*predict)
        ),
        missing=reason_missing("vowpalwabbit"),
    )


def _convert(source: Path, lines: Path, place: Path, form: str, *flags: str) -> Step:
    return command(
        PYTHON, PEERS / "convert.py", source, lines, place / "labels.txt", "--to", form, *flags
    )


def _scoring_of_lines(
    test: Path | None, predictions: Path, test_lines: Path, place: Path, form: str, predict: Step
) -> Scoring | None:
    if test is None:
        return None
    return Scoring(
        (_convert(test, test_lines, place, form), predict),
        lambda: accuracy_of_lines(predictions, test_lines),
    )


def predicting(program: Program, shown: str) -> Program:
    """The same program measured at answering the test half, with a model trained beforehand."""
    scoring = program.scoring
    if scoring is None:
        raise ValueError(f"{program.name} has nothing to predict")
    return replace(
        program,
        shown=shown,
        steps=scoring.steps,
        prepare=program.steps,
        model=None,
        scoring=Scoring((), scoring.accuracy),
    )
