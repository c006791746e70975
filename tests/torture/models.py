"""Untrusted models: valid files, with a right checksum, whose numbers are extreme.

Each number of a valid model is set to each extreme value, and pairs of numbers at random. A model
that is accepted is given to every command that reads one. No command may print NaN or infinity, end
with a traceback, warn, take more than `MAX_SECONDS` or more than `MAX_MEGABYTES`.
"""

import json
import os
import random
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from kills import TOP

from nbtext.applications.export.command import EXPORTERS
from nbtext.artifact import storage

sys.path.insert(0, str(TOP / "tests" / "artifact"))
import stored

MAX_SECONDS = 10  # of the processor, and at most a minute and a half in all
MAX_MEGABYTES = 1000
WORDS = [a + b for a in ("ab", "ec", "id", "of", "ug") for b in ("le", "mi", "no", "pu")]
FLOATS = [
    np.nan,
    np.inf,
    -np.inf,
    1.7e308,
    -1.7e308,
    1e100,
    -1e100,
    1e30,
    -1e30,
    1e3,
    -1e3,
    30,
    -30,
    5e-324,
    0,
    -1,
    0.5,
]
INTEGERS = [0, 1, -1, 2, 255, 2**31 - 1, 2**31, 2**53, 2**62, 2**63 - 1, 2**64 - 1]
NOT_FINITE = re.compile(rb"(?<![\w.])[-+]?(nan|inf|infinity)(?!\w)|nan%|inf%", re.IGNORECASE)
BROKEN = re.compile(rb"internal error|Traceback|Warning")

# each kind of model: the options of `nbtext train`
KINDS = {
    "multinomial": "",
    "multinomial-binary": "--weighting binary --smoothing 0",
    "multinomial-kept": "--keep-sample 20 --min-df 2 --prior 1,2,3",
    "bernoulli": "--model bernoulli",
    "dirichlet": "--model dirichlet",
    "complement": "--model complement --weighting tfidf",
    "categorical": "--model categorical",
    "gaussian": "--model gaussian --weighting tfidf",
    "logistic": "--model logistic --weighting tfidf",
    "nbsvm": "--model nbsvm --weighting binary",
    "hashed": "--hash-bits 5",
    "offsets": "--optimize macro_f1 --ngrams 1,2",
    "relative": "--weighting relative::l1 --no-calibrate",
    "semi-supervised": "--unlabeled test.csv --em 3",
    "small": "--model nbsvm --ngrams 1,2 --weighting :smooth --max-model-bytes 5KB",
    "several-svm": "--model svm --label-separator | --weighting tfidf",
}

# each command that reads a model; files that they write are the last words, and begin with `out`
COMMANDS = [
    "predict test.csv -m MODEL --to jsonl",
    "predict test.csv -m MODEL --coverage 0.9 --explain 2 --to csv",
    "predict test.csv -m MODEL --cost cost.csv",
    "explain test.csv -m MODEL --to jsonl",
    "explain test.csv -m MODEL -o out.html",
    "inspect MODEL --to json",
    "inspect MODEL --word red",
    "evaluate test.csv -m MODEL --to json",
    "evaluate test.csv -m MODEL --report out.html",
    "compare test.csv -m MODEL -m honest.joblib",
    "update MODEL test.csv -o out.joblib",
    "forget MODEL one.csv -o out.joblib",
    "merge MODEL MODEL -o out.joblib",
    "calibrate MODEL test.csv -o out.joblib",
    "diff MODEL honest.joblib --to json",
    "sample -m MODEL -n 5",
    "export MODEL --max-model-bytes 4200 -o out.joblib",
    *(f"export MODEL --to {form} -o out" for form in EXPORTERS),
]


class Change(NamedTuple):
    """A number, or numbers of an array, and what they become."""

    path: tuple[str | int, ...]
    value: Any
    place: Any = None  # of an array: an index, a slice, or a name of ARRAY_CHANGES


ARRAY_CHANGES: dict[str, Callable[[Any], Any]] = {
    "shorter": lambda array: array[:-1],
    "longer": lambda array: np.append(array, array[-1:]),
    "reversed": lambda array: array[::-1].copy(),
}


class Model(NamedTuple):
    """A hostile model: what was changed, and its record."""

    name: str
    record: Any


def prepare(folder: Path) -> None:
    """Write the texts and the honest models into a folder, and make it the working directory."""
    os.chdir(folder)
    chance = random.Random(1)
    rows = []
    for number in range(72):
        label = number % 3
        words = chance.choices(
            WORDS[label * 5 : label * 5 + 9] + WORDS[15:], k=chance.randint(1, 12)
        )
        rows.append(f'"{" ".join(words)}",{"abc"[label]}\n')
    Path("train.csv").write_text("text,label\n" + "".join(rows[:60]), encoding="ascii")
    Path("test.csv").write_text(
        'text,label\n"",a\n"unheard of",b\n' + "".join(rows[60:]), encoding="ascii"
    )
    Path("one.csv").write_text("text,label\n" + rows[0], encoding="ascii")
    Path("cost.csv").write_text("true,predicted,cost\na,b,5\nb,,1\n", encoding="ascii")
    commands = [f"train train.csv -q -o {kind}.joblib {options}" for kind, options in KINDS.items()]
    if problems := _try_commands([*commands, "merge multinomial.joblib -o honest.joblib"], set()):
        raise AssertionError(problems)


def list_models(n_pairs: int, seed: int = 1) -> Iterator[Model]:
    """Yield every single change of every kind of model, then `n_pairs` random pairs of changes."""
    pairs = random.Random(seed)
    records = {kind: stored.load(f"{kind}.joblib") for kind in KINDS}
    changes = {kind: list(_list_changes(record)) for kind, record in records.items()}
    for kind, record in records.items():
        for change in changes[kind]:
            yield Model(f"{kind} {change}", _replace(record, change.path, change))
    for _ in range(n_pairs):
        kind = pairs.choice(list(records))
        first, second = pairs.choices(changes[kind], k=2)
        record = _replace(_replace(records[kind], first.path, first), second.path, second)
        yield Model(f"{kind} {first} {second}", record)


def _list_changes(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[Change]:
    """Yield the changes of each number and each array of numbers in a record."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in ("version", "blob"):
                yield from _list_changes(item, (*path, key))
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value[:3]):
            yield from _list_changes(item, (*path, place))
    elif isinstance(value, np.ndarray):
        for place in (slice(None), 0, -1, len(value) // 2):
            yield from (
                Change(path, extreme, place)
                for extreme in (FLOATS if value.dtype.kind == "f" else INTEGERS)
            )
        yield from (Change(path, extreme, 0) for extreme in (np.nan, 1.7e308, 1e-300, 0.5, -0.5))
        yield from (Change(path, None, place) for place in ARRAY_CHANGES)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from (
            Change(path, extreme) for extreme in (INTEGERS if isinstance(value, int) else FLOATS)
        )


def _replace(value: Any, path: tuple[str | int, ...], change: Change) -> Any:
    """Return the value with a change below this path."""
    if isinstance(value, dict) and path:
        return {**value, path[0]: _replace(value[path[0]], path[1:], change)}
    if isinstance(value, list | tuple) and path:
        items = list(value)
        items[int(path[0])] = _replace(value[int(path[0])], path[1:], change)
        return type(value)(items)
    if not isinstance(value, np.ndarray):
        return change.value
    if isinstance(change.place, str):
        return ARRAY_CHANGES[change.place](value)
    if value.dtype.kind == "f" or isinstance(change.value, float):
        value = value.astype(np.float64)
    elif value.dtype != np.int8 or not -128 <= change.value < 128:
        value = value.astype(np.uint64 if change.value > 2**63 - 1 else np.int64)
    if len(value):
        value[change.place] = change.value
    return value


def write_model(model: Model, path: str) -> None:
    """Write a model file with right checksums."""
    storage.save(model.record, path)


def _try_commands(commands: list[str], baseline: set[bytes]) -> list[dict[str, str]]:
    """Run commands, one after the other, in a process of their own; return what is wrong with each
    that misbehaves.

    baseline  what the commands print of honest models and looks like NaN: words of the scripts in a
              page
    """
    Path("problems").write_bytes(b"")
    if (process := os.fork()) == 0:
        _run_commands(commands, baseline)
    _, status, usage = os.wait4(process, 0)
    problems = [json.loads(line) for line in Path("problems").read_bytes().splitlines()]
    if status:
        is_slow = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGPROF)
        problem = f"more than {MAX_SECONDS} s" if is_slow else f"died, status {status}"
        problems.append(
            {"command": Path("command").read_text(encoding="utf-8"), "problem": problem}
        )
    if usage.ru_maxrss / 1000 > MAX_MEGABYTES:
        problems.append({"command": "one of them", "problem": f"{usage.ru_maxrss / 1000:.0f} MB"})
    return problems


def _run_commands(commands: list[str], baseline: set[bytes]) -> None:
    status = 1
    try:
        with open("problems", "a", encoding="utf-8") as file:
            for command in commands:
                Path("command").write_text(command, encoding="utf-8")
                problem, words = _run_command(command)
                if problem or (words := words - baseline):
                    problem = problem or f"prints {sorted(words)[:3]}"
                    file.write(json.dumps({"command": command, "problem": problem}) + "\n")
                    file.flush()
        status = 0
    finally:
        os._exit(status)


def _run_command(command: str) -> tuple[str, set[bytes]]:
    """Run a command; return what is wrong with it, and each word for NaN or infinity that it
    prints, with neighbors.
    """
    from nbtext.cli.main import run_command

    for number, name in ((0, os.devnull), (1, "stdout"), (2, "stderr")):
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, number)
        os.close(descriptor)
    for path in Path().glob("out*"):
        path.unlink()
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    signal.alarm(9 * MAX_SECONDS)
    try:
        run_command(command.split())
    except BaseException as error:  # what Python would show as a traceback
        return f"Traceback: {error!r}", set()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    errors = Path("stderr").read_bytes()
    if BROKEN.search(errors):
        return errors.decode("utf-8", "replace").strip()[-300:], set()
    results = Path("stdout").read_bytes()
    for path in Path().glob("out*"):
        if path.suffix != ".joblib":
            results += path.read_bytes()
    places = [found.span() for found in NOT_FINITE.finditer(results)]
    return "", {results[max(start - 12, 0) : stop + 12] for start, stop in places}


def _list_commands(path: str) -> list[str]:
    return [command.replace("MODEL", path) for command in COMMANDS]


def _measure_baseline() -> set[bytes]:
    """Run every command on every honest model, in this process, which imports what they need; check
    that all work.
    """
    baseline: set[bytes] = set()
    saved = [os.dup(number) for number in range(3)]
    try:
        for kind in KINDS:
            for command in _list_commands(f"{kind}.joblib"):
                problem, words = _run_command(command)
                if problem or (words and not command.endswith((".html", "out"))):
                    raise AssertionError(f"{command}: {problem or words}")
                baseline |= words
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, descriptor in enumerate(saved):
            os.dup2(descriptor, number)
            os.close(descriptor)
    return baseline


def attack(folder: Path, every: int = 1, n_pairs: int = 3000) -> dict[str, Any]:
    """Try models; return how many were tried, accepted, how many commands were run, and what went
    wrong.

    Parameters
    ----------
    every
        Try only every so manieth model, the first one by chance.
    """
    sys.path.insert(0, str(TOP))
    os.fsync = lambda _: None
    from nbtext.evaluation import bootstrap

    bootstrap.N_RESAMPLES = 100  # of 1,000, which take half of the time
    prepare(folder)
    baseline = _measure_baseline()
    figures: dict[str, Any] = {"tried": 0, "accepted": 0, "commands": 0, "wrong": []}
    for number, model in enumerate(list_models(n_pairs)):
        if number % every != 7 % every:
            continue
        write_model(model, "model.joblib")
        problems = _try_commands(["inspect model.joblib --to json"], baseline)
        figures["tried"] += 1
        if problems or b"nbtext: model.joblib:" not in Path("stderr").read_bytes():
            figures["accepted"] += 1
            figures["commands"] += len(COMMANDS)
            problems = _try_commands(_list_commands("model.joblib"), baseline)
        figures["wrong"] += [{"model": model.name, **problem} for problem in problems]
    return figures
