"""The corpora that are written for this project."""

from collections import Counter
from pathlib import Path

import pytest

CORPORA = Path(__file__).parents[2] / "corpora"
DEPARTMENTS = ("noise", "parking", "permits", "streets", "taxes", "trash")
COUNTS = {
    "letters/train": dict.fromkeys(DEPARTMENTS, 56),
    "letters/test": dict.fromkeys(DEPARTMENTS, 14),
    "spam": {"ham": 10, "spam": 10},
    "three-words": {"ham": 3, "spam": 4},
    "fruit": {"apple": 5, "banana": 5},
}


def texts(folder: str) -> dict[Path, str]:
    return {
        path: path.read_bytes().decode("utf-8")
        for path in sorted((CORPORA / folder).glob("*/*.txt"))
    }


@pytest.mark.parametrize("folder", COUNTS)
def test_counts(folder: str) -> None:
    """Each label has as many documents as its README says, numbered from 1, and no other file lies
    about.
    """
    found = Counter(path.parent.name for path in texts(folder))
    assert found == COUNTS[folder]
    width = 3 if folder.startswith("letters") else 2
    for label, count in COUNTS[folder].items():
        names = sorted(path.name for path in (CORPORA / folder / label).iterdir())
        assert names == [f"{number:0{width}}.txt" for number in range(1, count + 1)]


def test_letters_are_worth_a_demo() -> None:
    """A plain multinomial model gets between 85 and 97 % of the test letters right: neither trivial
    nor hopeless.
    """
    text = pytest.importorskip("sklearn.feature_extraction.text")
    naive_bayes = pytest.importorskip("sklearn.naive_bayes")
    train = texts("letters/train")
    test = texts("letters/test")
    vectorizer = text.CountVectorizer()
    model = naive_bayes.MultinomialNB().fit(
        vectorizer.fit_transform(train.values()), [p.parent.name for p in train]
    )
    accuracy = model.score(vectorizer.transform(test.values()), [p.parent.name for p in test])
    assert 0.85 <= accuracy <= 0.97
    assert f"{accuracy:.3f}" in (CORPORA / "README.md").read_text(encoding="utf-8")
