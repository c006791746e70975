"""Fuzz a part of nbtext, guided by the lines that an input reaches.

    python tests/fuzz TARGET [RUNS]   in a process of its own; a crash ends it, and leaves the input
                                      in the folder
    python tests/fuzz all [RUNS]      every target, one after the other; the status is the number of
                                      those that crashed
    python tests/fuzz replay [N]      what the corpus holds, and N mutations of it a target, without
                                      a fuzzer

The fuzzer begins with the honest inputs in `corpus/TARGET`. To add one, put a small file there,
such as the model of `nbtext train` with a new setting; the functions in `targets.py` say which
bytes precede a text. What reaches something new is kept in .fuzz/TARGET. A crash is any exception
but an NbtextError, two answers that differ, an input that takes over a minute, or 2 GB.
"""

import json
import random
import subprocess
import sys
from itertools import chain
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
FOUND = HERE.parents[1] / ".fuzz"
RUNS = 1_000_000
LIMITS = [
    "-timeout=60",
    "-rss_limit_mb=2048",
    "-max_len=8192",
    "-print_final_stats=1",
    "-verbosity=1",
]


def fuzz(target: str, runs: int) -> None:
    """Run one fuzzer in this process, which it ends."""
    import atheris

    with atheris.instrument_imports(include=["nbtext"]):
        import targets

    found = FOUND / target
    found.mkdir(parents=True, exist_ok=True)
    folders = [str(found), str(CORPUS / target)]
    options = [*LIMITS, f"-runs={runs}", f"-artifact_prefix={FOUND}/crash-{target}-"]
    atheris.Setup([sys.argv[0], *options, *folders], lambda data: targets.run(target, data))
    atheris.Fuzz()


def fuzz_all(runs: int) -> int:
    """Run each fuzzer in a process of its own; return how many crashed."""
    import targets

    return sum(
        subprocess.run([sys.executable, HERE, target, str(runs)], check=False).returncode != 0
        for target in targets.TARGETS
    )


def replay(n_mutations: int) -> int:
    """Run each target on its corpus, and on pieces of it put together by chance; the same each
    time.
    """
    import targets

    for name in targets.TARGETS:
        corpus = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
        chance = random.Random(name)
        for data in chain(corpus, (mutated(corpus, chance) for _ in range(n_mutations))):
            try:
                targets.run(name, data)
            except BaseException:
                print(f"{name}: {data!r}", file=sys.stderr)  # noqa: T201
                raise
        print(json.dumps({"target": name, "inputs": len(corpus) + n_mutations}), flush=True)  # noqa: T201
    return 0


def mutated(corpus: list[bytes], chance: random.Random) -> bytes:
    """An input with a piece of another one in it, and a byte or two changed."""
    data = bytearray(chance.choice(corpus))
    other = chance.choice(corpus)
    start, stop = sorted(chance.choices(range(len(other) + 1), k=2))
    place = chance.randrange(len(data) + 1)
    data[place : place + chance.choice((0, stop - start))] = other[
        start : min(stop, start + chance.choice((1, 8, 99)))
    ]
    for _ in range(chance.randrange(3)):
        if data:
            data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def main(what: str, runs: str = str(RUNS)) -> int:
    """Do what is asked."""
    if what == "replay":
        return replay(int(runs))
    if what == "all":
        return fuzz_all(int(runs))
    fuzz(what, int(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
