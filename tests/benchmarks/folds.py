"""What ten folds cost, beside one training: processor seconds of both, and their ratio.

    python tests/benchmarks/folds.py [FOLDER...]

FOLDER is a tree of texts in folders named after their labels; by default the training halves of 20
Newsgroups and IMDB. Both commands run as they are typed, the best of three counts.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

from material import corpus

RUNS = 3


def seconds(*arguments: str) -> tuple[float, float]:
    """Processor and wall-clock seconds of the quickest of some runs."""
    found = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "nbtext", *arguments], check=True, stdout=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        stop = time.perf_counter()
        found.append(
            (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, stop - start)
        )
    processor, wall = zip(*found, strict=True)
    return min(processor), min(wall)


def main() -> None:
    folders = sys.argv[1:] or [str(corpus(name) / "train") for name in ("20news", "imdb")]
    sys.stdout.write(
        "folder\ttrain, CPU s\tten folds, CPU s\tratio\ttrain, s\tten folds, s\tratio\n"
    )
    with tempfile.TemporaryDirectory() as scratch:
        model = os.path.join(scratch, "model.joblib")
        for folder in folders:
            train = seconds("train", folder, "-q", "-o", model)
            folds = seconds("evaluate", folder, "-q", "--folds", "10")
            columns = [
                f"{number:.2f}"
                for t, f in zip(train, folds, strict=True)
                for number in (t, f, f / t)
            ]
            sys.stdout.write("\t".join([folder, *columns]) + "\n")


if __name__ == "__main__":
    main()
