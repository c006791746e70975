"""The programs that are measured, each with the commands by which it trains and predicts.

Every contestant gets a folder of its own in the scratch folder, for its model and whatever else it writes.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from judging import Judge, of_bogofilter, of_lines, of_table
from measuring import Step

PEERS = Path(__file__).resolve().parent / "peers"
PEERS_PYTHON = PEERS / ".venv" / "bin" / "python"
PYTHON = sys.executable
SCRIPT = Path(PYTHON).with_name("nbtext")
NBTEXT = (str(SCRIPT),) if SCRIPT.exists() else (PYTHON, "-m", "nbtext")


@dataclass(frozen=True)
class Contestant:
    """One row of a job's table.

    name     as the bars and the table call it
    shown    its command, as people would type it
    steps    the processes of one round, measured together
    prepare  what runs once before the first round
    model    the file whose size is reported after the last round
    judge    says how accurate the model is, after the last round
    missing  why the program cannot be run here; None: it can
    """

    name: str
    shown: str
    steps: tuple[Step, ...]
    prepare: tuple[Step, ...] = ()
    model: Path | None = None
    judge: Judge | None = None
    missing: str | None = None


@dataclass(frozen=True)
class Task:
    """What to train on and, where there is one, what to be judged by.

    folder   for the contestants' files
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
        """A contestant's own folder."""
        path = self.folder / name
        path.mkdir(parents=True, exist_ok=True)
        return path


def command(*words: object, stdin: bytes | None = None, stdout: Path | None = None, counts: bool = True) -> Step:
    """A step of a command whose words may be paths."""
    return Step(tuple(map(str, words)), stdin, stdout, counts)


def missing(program: str) -> str | None:
    """Why a peer cannot be run here; None where it can."""
    if shutil.which(program) or list(PEERS.glob(f".venv/lib/python*/site-packages/{program}")):
        return None
    return missing_peers().get(program, "run tests/benchmarks/peers/install.sh")


def missing_peers() -> dict[str, str]:
    """What peers/install.sh could not install, and why."""
    notes = PEERS / ".venv" / "missing.tsv"
    lines = notes.read_text().splitlines() if notes.exists() else []
    return dict(tuple(line.split("\t", 1)) for line in lines)


def other(name: str, *words: object) -> Contestant:
    """A command to compare with, which leaves nothing behind."""
    return Contestant(name, name, (command(*words),))


def nbtext(task: Task, *more: str) -> Contestant:
    """nbtext, as it is installed beside this Python, with more options than the task has."""
    name = " ".join(("nbtext", *more))
    options = (*task.options, *more)
    place = task.place(name)
    model, answers = place / "model.joblib", place / "answers.tsv"
    return Contestant(
        name,
        " ".join(("nbtext train", task.shown, "-o model.joblib", *options)),
        (command(*NBTEXT, "train", task.training, "-o", model, *options),),
        model=model,
        judge=_tabular(task.test, answers, command(*NBTEXT, "predict", task.test, "-m", model, stdout=answers)),
    )


def scikit_learn(task: Task) -> Contestant:
    """The script of load_files, CountVectorizer, MultinomialNB and joblib.dump."""
    place = task.place("scikit-learn")
    model, answers = place / "model.joblib", place / "answers.tsv"
    predict = command(PYTHON, PEERS / "scikit_learn_predict.py", task.test, model, stdout=answers)
    return Contestant(
        "scikit-learn",
        " ".join(("scikit_learn_train.py", task.shown, *task.options)),
        (command(PYTHON, PEERS / "scikit_learn_train.py", task.training, model, *task.options),),
        model=model,
        judge=_tabular(task.test, answers, predict),
    )


def _tabular(test: Path | None, answers: Path, predict: Step) -> Judge | None:
    return Judge((predict,), lambda: of_table(answers, test)) if test is not None else None


def fasttext(task: Task) -> Contestant:
    """fastText with its tutorial's settings; by its defaults (5 epochs at a rate of 0.1) it learns next to nothing."""
    place = task.place("fasttext")
    lines, answers, asked = place / "training.txt", place / "answers.txt", place / "test.txt"
    settings = ("-lr", "1.0", "-epoch", "25", "-thread", str(len(os.sched_getaffinity(0))))
    train = ("fasttext", "supervised", "-input", lines, "-output", place / "model", *settings)
    predict = command("fasttext", "predict", place / "model.bin", asked, stdout=answers)
    return Contestant(
        "fastText",
        f"convert.py {task.shown} && fasttext supervised {' '.join(settings)}",
        (_converted(task.training, lines, place, "fasttext", "--training"), command(*train)),
        model=place / "model.bin",
        judge=_linewise(task.test, answers, asked, place, "fasttext", predict),
        missing=missing("fasttext"),
    )


def vowpal_wabbit(task: Task) -> Contestant:
    """Vowpal Wabbit in one pass, one label against all others, by its default loss."""
    place = task.place("vw")
    lines, answers, asked, model = (place / name for name in ("training.txt", "answers.txt", "test.txt", "model.vw"))
    settings = ("--oaa", len(os.listdir(task.training)), "-b", 20, "--quiet")
    train = (PEERS_PYTHON, "-m", "vowpalwabbit", "-d", lines, "-f", model, *settings)
    predict = (PEERS_PYTHON, "-m", "vowpalwabbit", "-t", "-i", model, "-d", asked, "-p", answers, "--quiet")
    return Contestant(
        "Vowpal Wabbit",
        f"convert.py {task.shown} && vw {' '.join(map(str, settings))}",
        (_converted(task.training, lines, place, "vw", "--training"), command(*train)),
        model=model,
        judge=_linewise(task.test, answers, asked, place, "vw", command(*predict)),
        missing=missing("vowpalwabbit"),
    )


def _converted(source: Path, lines: Path, place: Path, form: str, *flags: str) -> Step:
    return command(PYTHON, PEERS / "convert.py", source, lines, place / "labels.txt", "--to", form, *flags)


def _linewise(test: Path | None, answers: Path, asked: Path, place: Path, form: str, predict: Step) -> Judge | None:
    if test is None:
        return None
    return Judge((_converted(test, asked, place, form), predict), lambda: of_lines(answers, asked))


def bogofilter(task: Task, *, spam: str) -> Contestant:
    """bogofilter, for which one label is spam and every other ham."""
    place = task.place("bogofilter")
    words, answers = place / "words", place / "answers.txt"
    groups = {label: sorted((task.training / label).iterdir()) for label in os.listdir(task.training)}
    learn = [
        command("bogofilter", "-d", words, "-s" if label == spam else "-n", "-B", *folders)
        for label, folders in sorted(groups.items())
    ]
    asked = sorted(task.test.glob("*/*")) if task.test is not None else []
    predict = command("bogofilter", "-d", words, "-e", "-v", "-B", *asked, stdout=answers)
    clean = command("sh", "-c", 'rm -rf "$0" && mkdir "$0"', words, counts=False)
    return Contestant(
        "bogofilter",
        f"bogofilter -s -B {task.shown}/{spam} && bogofilter -n -B ...",
        (clean, *learn),
        model=words / "wordlist.db",
        judge=Judge((predict,), lambda: of_bogofilter(answers, task.test, spam)) if task.test is not None else None,
        missing=missing("bogofilter"),
    )


def predicting(contestant: Contestant, shown: str) -> Contestant:
    """The same program measured at answering the test half, with a model trained beforehand."""
    judge = contestant.judge
    if judge is None:
        raise ValueError(f"{contestant.name} has nothing to predict")
    return replace(
        contestant,
        shown=shown,
        steps=judge.steps,
        prepare=contestant.steps,
        model=None,
        judge=Judge((), judge.accuracy),
    )
