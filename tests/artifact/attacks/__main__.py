"""Build hostile model files, load each in a process of its own, and print the results.

    python attacks build FOLDER [KIND...]    writes the attacks to FOLDER, and the names of the live
                                             ones to FOLDER/live
    python attacks judge FOLDER              loads each in a process of its own and prints a line of
                                             JSON about it

`calls` are pickles, and no pickle is read: their first bytes differ from those of a model, or the
bytes between its two entries do. `headers` and `crowds` are in the form of a model. A live attack
makes a file, its canary, wherever joblib loads it. The others ask for time or memory, or lie about
what they hold.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import calls
import headers
from spelling import Attack

KINDS = ("calls", "headers", "crowds")


def attacks(folder: Path, kinds: Collection[str] = KINDS) -> Iterator[Attack]:
    """Return the attacks of these kinds. An attack that runs code creates its marker file (canary)
    in `folder`.
    """

    def command(label: str) -> str:
        return f"touch '{folder}/canary-{label}'"

    if "calls" in kinds:
        yield from calls.attacks(command)
    if "headers" in kinds:
        yield from headers.attacks()
    if "crowds" in kinds:
        yield from headers.crowds()


def judged(path: Path) -> dict[str, Any]:
    """Load a file in a process of its own; return the result, the time, and the memory above an
    empty process.
    """
    reading, writing = os.pipe()
    empty = (
        int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        * resource.getpagesize()
    )
    if (process := os.fork()) == 0:
        os.write(writing, json.dumps(_outcome(str(path))).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as report:
        outcome = json.loads(report.read() or '{"outcome": "died", "message": "", "seconds": 0}')
    _, _, usage = os.wait4(process, 0)
    return {"name": path.stem, **outcome, "megabytes": max(usage.ru_maxrss * 1024 - empty, 0) / 1e6}


def _outcome(path: str) -> dict[str, Any]:
    from nbtext.artifact.model import load_model_file
    from nbtext.errors import ArtifactError

    start = time.process_time()  # loading waits for nothing, and other programs may keep it waiting
    try:
        load_model_file(path).counts  # noqa: B018 - they are read when they are used
        outcome = "loaded"
        message = ""
    except ArtifactError as error:
        outcome = "refused"
        message = str(error)
    except BaseException as error:
        outcome = "crashed"
        message = repr(error)[:300]
    return {"outcome": outcome, "message": message, "seconds": time.process_time() - start}


def build(folder: Path, *kinds: str) -> None:
    """Write the attacks of these kinds, or all."""
    live = []
    for attack in attacks(folder, kinds or KINDS):
        (folder / f"{attack.name}.joblib").write_bytes(attack.data)
        live += [attack.name] * attack.is_live
    (folder / "live").write_text("\n".join(live), encoding="ascii")


def judge(folder: Path) -> None:
    """Load them all."""
    import nbtext.artifact.model  # so that each process starts with them
    import nbtext.model.several_labels
    import nbtext.model.training  # noqa: F401

    for path in sorted(folder.glob("*.joblib")):
        print(json.dumps(judged(path)), flush=True)  # noqa: T201


if __name__ == "__main__":
    {"build": build, "judge": judge}[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
