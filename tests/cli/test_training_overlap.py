"""A test on documents that a model was trained on is named as such."""

import random
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

from nbtext import TextClassifier

WORDS = {"a": "sun sea sand wave beach boat", "b": "cup tea milk sugar pot sip"}


def make_rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Documents of which no two are equal, in this set and in others."""
    chance = random.Random(seed)
    texts = {label: words.split() for label, words in WORDS.items()}
    return [
        {"text": f"{' '.join(chance.choices(texts[label], k=4))} w{seed}x{k}", "label": label}
        for k in range(n)
        for label in ["ab"[k % 2]]
    ]


@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize(
    "options",
    [
        "",
        "--model svm",
        "--model combined",
        "--keep-sample 1000",
        "--hash-bits 12 --model bernoulli",
        "--weighting tfidf --min-df 2 --stop-words english",
        "--label-separator ;",
    ],
)
def test_evaluate_counts_the_documents_of_training(
    nbtext: Any, tmp_path: Path, options: str
) -> None:
    """Of texts and of a matrix of them, with any features; a refitted model knows it, too."""
    own = make_rows(120, 1)
    write_rows(tmp_path / "own.jsonl", own)
    write_rows(tmp_path / "half.jsonl", own[:30] + make_rows(30, 2))
    write_rows(tmp_path / "new.jsonl", make_rows(40, 3))
    nbtext(f"train own.jsonl -q -o m.joblib {options}").ok()
    models = ["m.joblib"]
    if not options:
        nbtext("train m.joblib -q --model bernoulli -o b.joblib").ok()
        models.append("b.joblib")
    for model in models:
        for source, n_shared, n in (("own", 120, 120), ("half", 30, 60), ("new", None, 40)):
            ran = nbtext(f"evaluate {source}.jsonl -m {model} --to json").ok()
            assert (ran.json.get("trained_on"), ran.json["documents"]) == (n_shared, n)
            said = f"the model was trained on {n_shared} of {n} documents, so that the figures are"
            assert (said in ran.err) is (n_shared is not None)
    if not options:
        nbtext("vectorize half.jsonl -q -o half.npz").ok()
        assert nbtext("evaluate half.npz -m m.joblib --to json").ok().json["trained_on"] == 30


def test_of_many_documents_some_hashes_tell(nbtext: Any, tmp_path: Path) -> None:
    """The share is an estimate, and is said to be one."""
    own = make_rows(6000, 1)
    write_rows(tmp_path / "own.jsonl", own)
    write_rows(tmp_path / "half.jsonl", own[::4] + make_rows(1500, 2))
    nbtext("train own.jsonl -q -o m.joblib").ok()
    ran = nbtext("evaluate half.jsonl -m m.joblib --to json").ok()
    assert ran.json["trained_on"] == pytest.approx(1500, rel=0.1)
    assert "the model was trained on about " in ran.err
    assert "whose hashes it could hold)" in ran.err


def test_where_texts_repeat(nbtext: Any, tmp_path: Path) -> None:
    """Only some of the few texts are among the retained documents; the others are not held to be
    new. Python and the command say the same.
    """
    own = make_rows(100, 1) * 200
    write_rows(tmp_path / "own.jsonl", own)
    write_rows(tmp_path / "half.jsonl", own[:100] + make_rows(100, 2))
    nbtext("train own.jsonl -q -o c.joblib").ok()
    texts, labels = zip(*(row.values() for row in own), strict=True)
    TextClassifier().fit(texts, labels).save(tmp_path / "p.joblib")
    ran = [nbtext(f"evaluate half.jsonl -m {each}.joblib --to json").ok() for each in "cp"]
    assert ran[0].err == ran[1].err
    assert ran[0].json["trained_on"] == pytest.approx(100, rel=0.2)  # by about 25 hashes


@pytest.mark.parametrize(("n_shared", "is_claimed"), [(45, False), (3, True), (0, True)])
def test_no_significance_on_training_data(
    nbtext: Any, tmp_path: Path, n_shared: int, is_claimed: bool
) -> None:
    """Models that were trained on the documents, or one of them, are not compared by a test."""
    own = make_rows(80, 1)
    new = [row | {"label": "ab"[k % 3 == 0]} for k, row in enumerate(make_rows(90, 2))]
    write_rows(tmp_path / "own.jsonl", own)
    write_rows(tmp_path / "x.jsonl", own[:n_shared] + new[n_shared:])
    write_rows(tmp_path / "other.jsonl", make_rows(20, 3) + [{"text": "sun", "label": "a"}] * 60)
    nbtext("train own.jsonl -q -o a.joblib").ok()
    nbtext("train other.jsonl -q -o b.joblib").ok()
    found = nbtext("compare x.jsonl -m b.joblib -m a.joblib --to json").ok().json
    (pair,) = found["pairs"]
    assert (pair["p_value"] is not None) is is_claimed
    assert [model["trained_on"] for model in found["models"]] == [0, n_shared]
    table = nbtext("compare x.jsonl -m b.joblib -m a.joblib --to table").ok().out
    shown = " ".join(table.split())
    assert ("McNemar's test, p = " in shown) is is_claimed
    assert ("tells nothing of new documents" in shown) is not is_claimed
    assert (f"a.joblib was trained on {n_shared} of 90 documents." in shown) is bool(n_shared)
