"""What it costs to learn 100 documents more: processor time of `update` beside that of `predict` on
the same ones.

The ratio should be below 1.5 without a sample; with one, smoothing and calibration are chosen anew
as well.

python tests/benchmarks/growth.py CORPORA/20news [RUNS]
"""

import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

NBTEXT = [sys.executable, "-m", "nbtext"]
DOCUMENTS = 100


def cpu_seconds(*arguments: str) -> float:
    """Processor time of one command, in this and in kernel mode together."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*NBTEXT, *arguments, "-q", "-j", "1"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def some_documents(corpus: Path, folder: Path) -> Path:
    """Every n-th document of the test half, in folders named after their labels."""
    paths = sorted((corpus / "test").glob("*/*"))
    for path in paths[:: len(paths) // DOCUMENTS][:DOCUMENTS]:
        (folder / path.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / path.parent.name)
    return folder


def main(corpus: str, runs: str = "11") -> None:
    """Print the medians and their ratio for models without and with a sample."""
    with TemporaryDirectory() as folder:
        texts = str(some_documents(Path(corpus), Path(folder, "more")))
        model = f"{folder}/model"
        for options in ([], ["--keep-sample", "1000"]):
            cpu_seconds("train", f"{corpus}/train", *options, "-o", model)
            predict = []
            update = []
            for _ in range(int(runs)):
                predict.append(cpu_seconds("predict", texts, "-m", model, "-o", f"{folder}/out"))
                update.append(cpu_seconds("update", model, texts, "-o", f"{folder}/updated"))
            medians = statistics.median(predict), statistics.median(update)
            ratio = medians[1] / medians[0]
            named = " ".join(options) or "no sample"
            sys.stdout.write(
                f"{named}: predict {medians[0]:.3f} s, update {medians[1]:.3f} s, ratio {ratio:.2f}\n"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
