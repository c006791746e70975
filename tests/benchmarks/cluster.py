"""NB-SVM of documents that are not in the memory of the command: by one process, and by workers of
a cluster.

The corpus is that of scale.py, of so many megabytes; one process keeps it in temporary files,
however small it is. The columns are processor time of all processes, wall time, the peak memory of
the largest process, exchanges of the weights, and how far the weights are from those of one
process.

python tests/benchmarks/cluster.py SCRATCH 100 2 4     one process; 2 and 4 workers; 2 workers, of
which one is killed
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from measuring import Step, measure
from scale import MEBIBYTE, MODELS, analyzed, lines, say

from nbtext import load_model
from nbtext.cli.main import cli
from nbtext.features import stored_documents

MEGABYTE = 1_000_000
KILLED_AT = 15  # the exchange before which a worker is killed


def train(workers: int, source: str, model: str, killed_at: int) -> None:
    """Train by so many workers, or none; print the number of exchanges. Runs in a process of its
    own.
    """
    options = MODELS["NB-SVM, words"]
    n_runs = 0
    stored_documents.MAX_ENTRIES = 0
    if workers:
        from nbtext.cluster.executor import WorkerDocuments

        run = WorkerDocuments.run

        def count(self: WorkerDocuments, *given: Any) -> Any:
            nonlocal n_runs
            n_runs += 1
            if n_runs == killed_at:
                os.kill(next(iter(self._workers.client.run(os.getpid).values())), signal.SIGKILL)
            return run(self, *given)

        mock.patch.object(WorkerDocuments, "run", count).start()  # for the rest of this process
        options = (*options, "--cluster", "local", "-j", str(workers))
    cli(["train", source, "-o", model, "-q", *options], standalone_mode=False)
    say(str(n_runs))


def main(folder: str, megabytes: str, *workers: str) -> None:
    """Print a line for one process, each number of workers, and two workers of which one is
    killed.
    """
    scratch = Path(folder) / "nbtext-cluster"
    scratch.mkdir(parents=True)
    try:
        source = scratch / "documents.jsonl"
        made = lines(analyzed())
        with source.open("wb") as file:
            while file.tell() < int(megabytes) * MEGABYTE:
                file.write(next(made))
        say("  workers    CPU s   wall s  peak MiB  exchanges  difference of the weights")
        expected: Any = None
        for n, killed_at in [(0, 0), *((int(n), 0) for n in workers), (2, KILLED_AT)]:
            model = scratch / "model"
            output = scratch / "output"
            given = (
                sys.executable,
                __file__,
                "--train",
                str(n),
                str(source),
                str(model),
                str(killed_at),
            )
            cost = measure([Step(given, stdout=output)])
            weights = load_model(str(model)).fitted_.scorer.weights()
            expected = weights if expected is None else expected
            difference = np.linalg.norm(weights - expected) / np.linalg.norm(expected)
            say(
                f"{f'{n}, 1 killed' if killed_at else n:>9} {cost.cpu:8.1f} {cost.wall:8.1f} "
                f"{cost.memory / MEBIBYTE:9.0f} {output.read_text().strip():>10} {difference:10.4f}"
            )
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    if sys.argv[1] == "--train":
        train(int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]))
    else:
        main(*sys.argv[1:])
