"""train --unlabeled --em, as a user types it."""

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from made_files import read_rows, write_rows

FEW = 4  # labeled documents of each label


@pytest.fixture(scope="module")
def corpus(letters: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with few labeled letters, and the others in two files, their labels wrong or
    wanting.
    """
    folder = tmp_path_factory.mktemp("corpus")
    rows: list[list[dict[str, str]]] = [[], []]
    for folder_of_label in sorted((letters / "train").iterdir()):
        texts = [path.read_text(encoding="utf-8") for path in sorted(folder_of_label.iterdir())]
        rows[0] += [{"text": text, "label": folder_of_label.name} for text in texts[:FEW]]
        rows[1] += [{"text": text, "label": "noise"} for text in texts[FEW:]]
    labeled, others = rows
    write_rows(folder / "few.jsonl", labeled)
    write_rows(folder / "a.jsonl", others[::2])
    (folder / "b").mkdir()
    for number, row in enumerate(others[1::2]):
        (folder / "b" / f"{number:03}.txt").write_text(row["text"], encoding="utf-8")
    return folder


BOTH = ("train", "few.jsonl", "--unlabeled", "a.jsonl", "--unlabeled", "b", "--em", "10")


def accuracy(nbtext: Any, letters: Path, model: Path) -> float:
    return float(nbtext(f"evaluate {letters / 'test'} -m {model} --to json").json["accuracy"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("model", ["auto", "multinomial", "dirichlet", "bernoulli"])
def test_unlabeled_documents_help(nbtext: Any, letters: Path, corpus: Path, model: str) -> None:
    """It says what it tries, beside the model that `train` gives, and how the likelihood rises; the
    result is better, and inspect says how it was made.
    """
    trained = nbtext(f"train few.jsonl --model {model} -o alone.joblib", cwd=corpus).ok()
    said = nbtext(*BOTH, "--model", model, "-o", "both.joblib", cwd=corpus).ok().err
    assert f"labeled documents alone: {trained.err.splitlines()[0]}\n" in said
    assert said.count("\nunlabeled documents weighted ") >= 3
    assert "(5 folds)" in said
    steps = re.findall(r"\nstep \d+: penalized log-likelihood (-[\d,.]+)(?=\n)", said)
    found = [float(value.replace(",", "")) for value in steps]
    assert len(found) > 3
    assert found == sorted(found)
    alone, both = (
        accuracy(nbtext, letters, corpus / name) for name in ("alone.joblib", "both.joblib")
    )
    assert both > alone + 0.04
    shown = nbtext("inspect both.joblib --to json", cwd=corpus).json
    priors = [view["prior"] for view in shown["labels"]]
    assert sum(priors) == pytest.approx(1)
    assert len(set(priors)) > 1  # those of the labeled documents are equal
    unlabeled = shown["unlabeled"]
    assert (unlabeled["method"], unlabeled["documents"]) == ("em", 312)
    assert unlabeled["log_likelihoods"][-1] == pytest.approx(found[-1], abs=0.06)


def test_the_same_bytes(nbtext: Any, corpus: Path, tmp_path: Path) -> None:
    """The number of jobs, the order of the documents and what labels they have change nothing."""
    rows = read_rows(corpus / "a.jsonl")
    backwards = tmp_path / "backwards.jsonl"
    write_rows(backwards, ({"text": row["text"]} for row in reversed(rows)))
    models = []
    for sources, jobs in (
        ("--unlabeled a.jsonl --unlabeled b", "1"),
        (f"--unlabeled b --unlabeled {backwards}", "3"),
    ):
        nbtext(
            f"train few.jsonl {sources} --em 3 -q -j {jobs} -o {tmp_path / jobs}", cwd=corpus
        ).ok()
        models.append((tmp_path / jobs).read_bytes())
    assert models[0] == models[1]


def test_growing_is_refused(nbtext: Any, corpus: Path, tmp_path: Path) -> None:
    """What unlabeled documents told cannot be added to; read again, the model is that of the
    labeled ones.
    """
    nbtext(*BOTH, "-q", "-o", str(tmp_path / "both.joblib"), cwd=corpus).ok()
    before = (tmp_path / "both.joblib").read_bytes()
    for command in ("update", "forget", "calibrate"):
        nbtext(f"{command} {tmp_path}/both.joblib few.jsonl", cwd=corpus).refused(
            1, "unlabeled documents", "nbtext train MODEL"
        )
    nbtext("merge both.joblib both.joblib -o merged.joblib").refused(1)
    assert (tmp_path / "both.joblib").read_bytes() == before
    options = "--smoothing 0.5 --no-calibrate"
    nbtext(f"train both.joblib {options} -o again.joblib").ok()
    alone = f"--model dirichlet --weighting binary {options} -o {tmp_path / 'alone.joblib'}"
    nbtext(f"train few.jsonl {alone}", cwd=corpus).ok()
    again, alone = (
        nbtext(f"predict {corpus / 'b'} -m {name}.joblib").out for name in ("again", "alone")
    )
    assert again == alone != ""
    nbtext(f"update again.joblib {corpus / 'few.jsonl'}").ok()


@pytest.mark.parametrize(
    "options", ["", "--model multinomial", "--no-calibrate", "--smoothing 0.2"]
)
def test_unlabeled_documents_that_do_not_help(nbtext: Any, tmp_path: Path, options: str) -> None:
    """If unlabeled documents do not improve the estimate, they are not used: the model is the one
    that `train` gives with the same options.
    """
    (tmp_path / "few.csv").write_text("text,label\n" + "red round,apple\nyellow long,banana\n" * 8)
    (tmp_path / "noise.txt").write_text("red yellow\nround long\nred long yellow round\n" * 30)
    result = nbtext(f"train few.csv --unlabeled noise.txt --em 10 {options} -o both.joblib")
    assert (result.status, "do not help" in result.err) == (0, True)
    nbtext(f"train few.csv {options} -o alone.joblib").ok()
    assert (tmp_path / "both.joblib").read_bytes() == (tmp_path / "alone.joblib").read_bytes()


def test_never_worse_by_its_own_estimate(nbtext: Any, tmp_path: Path) -> None:
    """With more labeled documents and unlabeled ones of other subjects, neither the estimated
    accuracy nor the log-loss is worse than that of the model that `train` gives.
    """
    random = Random(0)
    for n_labeled in (6, 12, 40):
        rows = []
        for number in range(n_labeled):
            label = "abc"[number % 3]
            words = [random.choice(label + "abc") + str(random.randrange(20)) for _ in range(12)]
            rows.append({"text": " ".join(words), "label": label})
        write_rows(tmp_path / "few.jsonl", rows)
        others = [
            {"text": " ".join(random.choices([*"xyz", "a1", "b2", "c3"], k=9))} for _ in rows * 5
        ]
        write_rows(tmp_path / "more.jsonl", others)
        found = []
        for options in ("", "--unlabeled more.jsonl --em 10"):
            nbtext(f"train few.jsonl {options} -o m").ok()
            found.append(nbtext("inspect m --to json").json["expected"])
        alone, both = found
        assert both["accuracy"] >= alone["accuracy"]
        assert both["log_loss"] <= alone["log_loss"]


def test_no_document_can_be_held_out(nbtext: Any, tmp_path: Path) -> None:
    """If no document can be held out, only the labeled documents are used, and a line states
    why.
    """
    (tmp_path / "few.csv").write_text("text,label\nred round,apple\nyellow long,banana\n")
    result = nbtext(
        "train few.csv --unlabeled - --em 10 -o m",
        input=b"red sweet\nyellow sour\n",
    ).ok()
    assert "no label has two documents" in result.err


@pytest.mark.parametrize(
    "options",
    [
        ["--min-df", "2", "--max-features", "500"],
        ["--select", "chi2:1000"],
        ["--hash-bits", "14", "--keep-sample", "100"],
        ["--weighting", "binary", "--no-calibrate", "--prior", "uniform"],
        ["--optimize", "macro_f1", "--smoothing", "0.1"],
    ],
    ids=" ".join,
)
def test_options_of_features_and_models(
    nbtext: Any, corpus: Path, tmp_path: Path, options: list[str]
) -> None:
    """The choice of features, hashing, priors and the like go with it; the model can be asked and
    looked into.
    """
    path = str(tmp_path / "m")
    nbtext(*BOTH[:-1], "3", *options, "-o", path, cwd=corpus).ok()
    assert nbtext(f"predict b -m {path}", cwd=corpus).out.count("\n") == 156
    assert nbtext(f"inspect {path} --to json").json["unlabeled"]["documents"] == 312
    nbtext(f"explain few.jsonl -m {path}", cwd=corpus).ok()
