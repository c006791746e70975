"""The corpora that are written for this project."""

import itertools
import re
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
# words of a document: the fewest and the most
LENGTHS = {
    "letters/train": (40, 90),
    "letters/test": (40, 90),
    "spam": (8, 30),
    "three-words": (8, 15),
    "fruit": (5, 20),
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


@pytest.mark.parametrize("folder", COUNTS)
def test_form(folder: str) -> None:
    """Every document is clean UTF-8 text of the intended length that ends with one newline."""
    fewest, maximum = LENGTHS[folder]
    for path, text in texts(folder).items():
        assert text == text.strip() + "\n", path
        assert all(char.isprintable() or char == "\n" for char in text), path
        assert fewest <= len(text.split()) <= maximum, path


def test_no_personal_data() -> None:
    """No document holds a mail address, a web address or what could be a telephone number."""
    suspicious = re.compile(r"\S@\S|https?:|www\.|\d{3}[ .-]\d{4}|\d{7}")
    for folder in COUNTS:
        for path, text in texts(folder).items():
            assert not suspicious.search(text), path


def test_no_duplicates() -> None:
    """No two documents of a corpus are the same or share a sentence of six words, test and training
    halves included.
    """
    for folders in (("letters/train", "letters/test"), ("spam", "three-words", "fruit")):
        seen: dict[str, Path] = {}
        for path, text in itertools.chain.from_iterable(
            texts(folder).items() for folder in folders
        ):
            sentences = {
                " ".join(re.findall(r"\w+", part.lower())) for part in re.split(r"[.!?:\n]", text)
            }
            for sentence in sentences:
                if len(sentence.split()) >= 6:
                    assert sentence not in seen, f"{path} and {seen[sentence]}: {sentence}"
                    seen[sentence] = path


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
