"""The bytes of a model do not depend on the processor: what BLAS, NumPy and the C library choose
by its name is set in the environment.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

MODELS = (
    *("multinomial", "bernoulli", "complement", "dirichlet", "categorical", "gaussian"),
    *("logistic", "nbsvm", "svm", "auto", "combined", "stacked"),
)
KINDS = {
    **{name: f"one.tsv --model {name}" for name in MODELS},
    "best": "two.tsv --model best",
    "weights of counts": "one.tsv --weighting log-tfidf --select mi:200",
    "views": "one.tsv --model combined --view word:1,2:log-l2 --view char_wb:2,4:binary-l2",
    "targets": "one.tsv --min-recall c0=0.5",
    "optimized": "one.tsv --optimize log_loss",
    "macro F1": "one.tsv --optimize macro_f1",
    "several labels": "several.tsv --label-separator ,",
    "several labels, svm": "several.tsv --label-separator , --model svm",
    "vectors": "one.tsv --vectors table.txt",
    "unlabeled": "one.tsv --unlabeled plain.txt --em 5",
}
TRAIN = """
import json, sys, warnings
from hashlib import sha256
from pathlib import Path
from nbtext.cli.main import run_command

found = {}
for name, command in json.loads(sys.argv[1]).items():
    assert run_command(["train", *command.split(), "-q", "-o", "model"]) == 0, command
    found[name] = sha256(Path("model").read_bytes()).hexdigest()
print(json.dumps(found))
"""
GLIBC = ",".join(f"-{name}{end}" for name in ("AVX2", "FMA") for end in ("", "_Usable"))
# NumPy before 2.4 names each instruction set by itself
NAMES = "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX"
PROCESSORS = {
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge", "NPY_DISABLE_CPU_FEATURES": NAMES},
    "before Haswell": {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4",
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={GLIBC}",
    },
}


def write_corpora(folder: Path) -> None:
    """Texts of made-up words, of which some are more frequent in a label, and vectors of these."""
    draw = random.Random(5)
    words = [f"{a}{b}" for a in "bcdfghklmn" for b in ("ade", "igo", "una", "elo", "ora", "ist")]

    def make_text(labels: list[int]) -> str:
        favorites = [word for label in labels for word in words[9 * label : 9 * label + 14]]
        return " ".join(draw.choices(words, k=draw.randint(2, 30)) + draw.choices(favorites, k=3))

    for name, n_documents, n_labels in (("one", 220, 4), ("two", 60, 2), ("several", 220, 4)):
        rows = ["text\tlabel"]
        for _ in range(n_documents):
            labels = draw.sample(range(n_labels), 1 if name != "several" else draw.randint(1, 2))
            rows.append(f"{make_text(labels)}\t{','.join(f'c{label}' for label in labels)}")
        Path(folder, f"{name}.tsv").write_text("\n".join(rows) + "\n")
    plain = [make_text([draw.randrange(4)]) for _ in range(200)]
    Path(folder, "plain.txt").write_text("\n".join(plain) + "\n")
    rows = [f"{word} {' '.join(f'{draw.gauss(0, 1):.4f}' for _ in range(20))}" for word in words]
    Path(folder, "table.txt").write_text("\n".join(rows) + "\n")


def train(folder: Path, environment: dict[str, str]) -> dict[str, str]:
    folder.mkdir()
    write_corpora(folder)
    command = [sys.executable, "-W", "ignore", "-c", TRAIN, json.dumps(KINDS)]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return train(tmp_path_factory.mktemp("here") / "corpora", {})


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_same_bytes_on_each_processor(
    tmp_path: Path, here: dict[str, str], processor: str
) -> None:
    found = train(tmp_path / "corpora", PROCESSORS[processor])
    assert [name for name in KINDS if found[name] != here[name]] == []
