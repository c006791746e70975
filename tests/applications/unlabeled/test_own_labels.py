"""With word vectors, a model learns the unlabeled documents of which it is most certain."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nbtext import TextClassifier, load_model

N_LABELED = 16
N_UNLABELED = 400
WORDS = {label: [f"{label}{j}" for j in range(40)] for label in ("cat", "dog")}
TRAIN = ["train", "labeled.jsonl", "--vectors", "t.vec", "--unlabeled", "more.jsonl"]


def write_rows(path: str, rows: list[dict[str, str]]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(autouse=True)
def corpus(own_folder: Path) -> None:
    """Two labels of 40 words each, of which half have a vector near the direction of the label;
    others stand only in the same texts.
    """
    random = Random(0)
    rows = []
    for number in range(N_LABELED + N_UNLABELED + 200):
        label = ("cat", "dog")[number % 2]
        words = [*random.sample(WORDS[label], 4), *(f"x{random.randrange(30)}" for _ in range(4))]
        rows.append({"text": " ".join(words), "label": label})
    write_rows("labeled.jsonl", rows[:N_LABELED])
    write_rows("more.jsonl", [{"text": row["text"]} for row in rows[N_LABELED:-200]])
    write_rows("test.jsonl", rows[-200:])
    lines = []
    for j in range(20):
        noise = random.random() / 2
        lines += [f"cat{j} 1 {noise} 0\n", f"dog{j} {noise} 1 0\n"]
    lines += [f"x{j} {random.random()} {random.random()} 1\n" for j in range(30)]
    Path("t.vec").write_text("".join(lines))


def accuracy(nbtext: Any) -> float:
    (found,) = nbtext("evaluate test.jsonl -m m --to jsonl").records
    return float(found["accuracy"])


def test_they_help(nbtext: Any) -> None:
    """Words that only unlabeled texts have, and no table, get weights; the probabilities are those
    of held-out documents, and nothing depends on the number of threads.
    """
    nbtext(*TRAIN, "-o", "m").ok()
    before = accuracy(nbtext)
    said = nbtext(*TRAIN, "--em", "1", "-o", "m", "-j", "1").ok().err
    assert accuracy(nbtext) > before + 0.03
    assert "with 200 unlabeled documents: accuracy" in said
    content = Path("m").read_bytes()
    nbtext(*TRAIN, "--em", "9", "-o", "m", "-j", "2").ok()
    assert Path("m").read_bytes() == content
    (found,) = nbtext("inspect m --to jsonl").records
    assert found["documents"] == N_LABELED
    assert found["unlabeled"]["documents"] == N_UNLABELED / 2
    assert "200 documents, labeled by" in nbtext("inspect m --to table").out
    nbtext("update m labeled.jsonl -o n").refused(1, "")


def test_they_do_not_help(nbtext: Any) -> None:
    """Then the model is that of the labeled documents, with the words of all."""
    write_rows("more.jsonl", [{"text": f"x{j % 7} cat{j % 5} dog{j % 9}"} for j in range(60)])
    Path("test.jsonl").rename("labeled.jsonl")
    nbtext(*TRAIN, "-o", "m").ok()
    nbtext(*TRAIN, "--em", "1", "-o", "n").ok()
    assert Path("n").read_bytes() == Path("m").read_bytes()


def test_a_label_with_one_document(nbtext: Any) -> None:
    """No document can be held out, so nothing tells whether unlabeled documents help."""
    write_rows("labeled.jsonl", [{"text": "cat1 x", "label": "a"}, {"text": "dog1", "label": "b"}])
    said = nbtext(*TRAIN, "--em", "1", "-o", "m").ok().err
    assert "no estimate" in said
    assert isinstance(load_model("m"), TextClassifier)


def test_the_library_learns_them_too(nbtext: Any) -> None:
    nbtext(*TRAIN, "--em", "1", "-o", "m").ok()
    labeled, more = (
        [json.loads(line) for line in Path(name).read_text().splitlines()]
        for name in ("labeled.jsonl", "more.jsonl")
    )
    texts = [row["text"] for row in more]
    labels = [row["label"] for row in labeled]
    classifier = TextClassifier(vectors="t.vec")
    classifier.fit([row["text"] for row in labeled], labels, unlabeled=texts, em=1)
    expected = TextClassifier.load("m").predict_proba(texts)
    assert classifier.predict_proba(texts) == pytest.approx(expected)
