"""Compare the speed and memory use of nbtext with those of other programs.

    python tests/benchmarks/run.py [--rounds N] [--only NAME...] [--quick] [--output DIR]      (make
    bench)

Whole processes, training and predicting: wall time, CPU time (user + system) and peak memory, size
of the model file, and the accuracy on the test half where there is one. The programs of a job take
turns (A B C, A B C, ...), after one round that is not counted; what is shown and compared are the
medians. All of them may use two cores.

The jobs and their thresholds are in jobs.py, the programs in programs.py and peers/, the texts in
material.py; install the other programs with peers/install.sh. Writes results/speed.md, if it
was a whole run; a part of it (--only) or a quick one goes to standard output, or to the folder that
--output names.
"""

import argparse
import compileall
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from jobs import all_jobs
from machine import conditions
from material import Material
from outcome import run_job
from programs import read_missing_peers
from table import document

import nbtext

RESULTS = Path(__file__).parent / "results"
# megabytes
LARGE = 500.0
QUICK_LARGE = 50.0


def main() -> None:
    options = arguments(sys.argv[1:])
    cores = sorted(os.sched_getaffinity(0))[: options.cores]
    os.sched_setaffinity(0, cores)  # every process inherits it

    jobs = all_jobs(QUICK_LARGE if options.quick else LARGE)
    unknown = [name for name in options.only if name not in jobs]
    if unknown:
        sys.exit(f"there is no job {', '.join(unknown)}; there are {', '.join(jobs)}")
    rounds = 1 if options.quick else options.rounds
    # as pip does it for what it installs
    compileall.compile_dir(Path(nbtext.__file__).parent, quiet=1)
    results = []
    with tempfile.TemporaryDirectory(prefix="nbtext-benchmarks-") as scratch:
        for name in options.only or jobs:
            say(f"{name}: getting ready")
            job = jobs[name](Material(Path(scratch)))
            results.append(run_job(job, rounds=rounds, warm_up=not options.quick, say=say))
    how = f"Whole processes on {len(cores)} cores, in turns; medians of {rounds} rounds."
    page = document(results, conditions(), read_missing_peers(), how)
    output = options.output or (None if options.quick or options.only else RESULTS)
    if output is None:
        sys.stdout.write(page)
        return
    output.mkdir(parents=True, exist_ok=True)
    (output / "speed.md").write_text(page, encoding="utf-8")


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds of each job (5)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these jobs alone")
    parser.add_argument(
        "--quick", action="store_true", help="one round, no warm-up, 50 MB for the large file"
    )
    parser.add_argument("--output", type=Path, help="the folder for speed.md")
    parser.add_argument("--cores", type=int, default=2, help="cores that everything may use (2)")
    return parser.parse_args(words)


def say(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    main()
