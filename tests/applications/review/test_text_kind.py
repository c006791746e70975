"""Documents that are not text are recognized, and texts of any script are not mistaken for data."""

import base64
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from nbtext.applications.review.text_kind import describe_non_text

NOISE = random.Random(1).randbytes(3000)


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_empty(text: str) -> None:
    """A document without a visible character is empty."""
    assert describe_non_text(text) == "empty"


def test_encoded_data() -> None:
    """Base64, with a header before it."""
    text = "Subject: a picture\n\n" + base64.encodebytes(NOISE).decode()
    assert describe_non_text(text) == "encoded data"


def test_uuencoded_data() -> None:
    """The encoding of old newsgroups."""
    import binascii

    lines = [
        binascii.b2a_uu(NOISE[start : start + 45], backtick=True).decode()
        for start in range(0, 3000, 45)
    ]
    assert describe_non_text("begin 644 a.gif\n" + "".join(lines) + "end\n") == "encoded data"


def test_a_table_of_numbers() -> None:
    """Rows of numbers with a heading."""
    rows = "\n".join(f"{n}; {n * 1.7:.3f}; {n * n}; +{n}.5%" for n in range(100))
    assert describe_non_text("name; value\n" + rows) == "a table of numbers and symbols"


def test_binary_data() -> None:
    """Bytes that were decoded with replacement characters."""
    assert describe_non_text(NOISE.decode("utf-8", "replace")) == "binary data"


@pytest.mark.parametrize(
    "text",
    [
        "ok",
        "12:30?",
        "Call 0800 123 456 now!",
        "a letter with words, and more of them. " * 20,
        "see https://example.org/"
        + "a" * 80
        + " for the text of the message that I have sent to you last week, please.",
        "the end\n"
        + "=-" * 40
        + "\n"
        + "more words follow here, as in any letter with a signature " * 3,
    ],
)
def test_texts(text: str) -> None:
    """Short messages, numbers within words, an address and a drawn line are text."""
    assert describe_non_text(text) is None


ENCODED = "encoded data"
TABLE = "a table of numbers and symbols"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"{'x' * 39} " * 20, None),
        (f"{'x' * 40} " * 20, ENCODED),
        (f"{'x' * 9}{'1' * 31} " * 20, TABLE),
        (f"{'x' * 10}{'1' * 30} " * 20, ENCODED),
        ("x" * 200 + " word" * 40, None),
        ("x" * 201 + " word" * 40, ENCODED),
        ("111111xxxx " * 100, None),
        ("111111xxxx " * 99 + "1111111xxx", TABLE),
        ("\x01" * 10 + "x" * 90, None),
        ("\x01" * 11 + "x" * 89, "binary data"),
    ],
)
def test_where_text_ends(text: str, kind: str | None) -> None:
    """Long runs with a quarter of letters are over half of it, symbols over three fifths, controls
    over a tenth.
    """
    assert describe_non_text(text) == kind


def test_texts_of_all_scripts(corpora: Callable[[str], Path]) -> None:
    """The Universal Declaration of Human Rights in 388 languages: one file is empty, all others are
    text.
    """
    kinds = {
        path.stem: describe_non_text(path.read_text(encoding="utf-8"))
        for path in corpora("udhr2").glob("*.txt")
    }
    assert len(kinds) > 300
    assert {name for name, kind in kinds.items() if kind is not None} == {"nku"}
