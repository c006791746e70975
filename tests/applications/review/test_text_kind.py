"""Documents that are not text are recognized, and texts of any script are not mistaken for data."""

import base64
import binascii
import random
from typing import Any

import pytest

from nbtext.applications.review.text_kind import describe_non_text

NOISE = random.Random(1).randbytes(3000)


ENCODED = "encoded data"
TABLE = "a table of numbers and symbols"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("Subject: a picture\n\n" + base64.encodebytes(NOISE).decode(), ENCODED),
        (
            "begin 644 a.gif\n"
            + "".join(
                binascii.b2a_uu(NOISE[start : start + 45], backtick=True).decode()
                for start in range(0, 3000, 45)
            )
            + "end\n",
            ENCODED,
        ),
        ("name; value\n" + "".join(f"{n}; {n * 1.7:.3f}; +{n}.5%\n" for n in range(100)), TABLE),
        (NOISE.decode("utf-8", "replace"), "binary data"),
    ],
    ids=["nothing", "white space", "base64", "uuencode", "numbers", "bytes"],
)
def test_what_is_no_text(text: str, kind: str) -> None:
    assert describe_non_text(text) == kind


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


def test_texts_of_all_scripts(corpora: Any) -> None:
    """The Universal Declaration of Human Rights in 388 languages: one file is empty, all others are
    text.
    """
    kinds = {
        path.stem: describe_non_text(path.read_text(encoding="utf-8"))
        for path in corpora("udhr2").glob("*.txt")
    }
    assert len(kinds) > 300
    assert {name for name, kind in kinds.items() if kind is not None} == {"nku"}
