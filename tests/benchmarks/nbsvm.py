"""What NB-SVM costs beside scikit-learn's TfidfVectorizer and LinearSVC: whole processes, in turn,
and their ratio.

    python tests/benchmarks/nbsvm.py [ROUNDS]

Both train on the same folder, with logarithmic TF-IDF of words or of words and pairs. The least of
all rounds counts. nbtext also fits the folds of its calibration. The columns are CPU and wall-clock
seconds, and peak memory.
"""

import compileall
import sys
import tempfile
from pathlib import Path

from material import corpus
from measuring import Cost, Step, measure

import nbtext

PEER = Path(__file__).with_name("peers") / "scikit_learn_train.py"
# and the highest ratio wanted
JOBS = (("20news", "1,1", 1 / 6), ("20news", "1,2", 1 / 4), ("imdb", "1,2", 1 / 3))


def commands(name: str, ngrams: str, scratch: Path) -> tuple[Step, Step]:
    """How nbtext and scikit-learn train on a corpus."""
    source = str(corpus(name) / "train")
    options = ("--ngrams", ngrams)
    recipe = ("--model", "nbsvm", "--tf", "log", "--weighting", "tfidf")
    ours = (
        sys.executable,
        "-m",
        "nbtext",
        "train",
        "-q",
        source,
        "-o",
        str(scratch / "ours.joblib"),
        *recipe,
        *options,
    )
    theirs = (
        sys.executable,
        str(PEER),
        source,
        str(scratch / "theirs.joblib"),
        "--model",
        "linear-svm",
        *options,
    )
    return Step(ours), Step(theirs)


def minimum(costs: list[Cost]) -> Cost:
    """The least of each number."""
    return Cost(min(c.wall for c in costs), min(c.cpu for c in costs), min(c.memory for c in costs))


def main() -> None:
    # as pip does it for what it installs
    compileall.compile_dir(Path(nbtext.__file__).parent, quiet=1)
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    sys.stdout.write(
        "corpus\tn-grams\tnbtext CPU\twall\tMB\tpeer CPU\twall\tMB\tCPU ratio\twall ratio\tbar\n"
    )
    with tempfile.TemporaryDirectory() as scratch:
        for name, ngrams, bar in JOBS:
            steps = commands(name, ngrams, Path(scratch))
            rounds = [[measure([step]) for step in steps] for _ in range(n_rounds)]
            ours, theirs = (minimum(list(costs)) for costs in zip(*rounds, strict=True))
            numbers = [f"{n:.2f}" for c in (ours, theirs) for n in (c.cpu, c.wall, c.memory / 1e6)]
            ratios = [
                f"{ours.cpu / theirs.cpu:.3f}",
                f"{ours.wall / theirs.wall:.3f}",
                f"{bar:.3f}",
            ]
            sys.stdout.write("\t".join((name, ngrams, *numbers, *ratios)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
