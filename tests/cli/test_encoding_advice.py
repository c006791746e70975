"""What commands say about bytes that are not UTF-8."""

from pathlib import Path
from typing import Any

import pytest

RUSSIAN = "Сегодня мы пошли в библиотеку читать книги,\nа потом обедали с друзьями.\n"


def test_the_message_of_a_command(nbtext: Any, tmp_path: Path) -> None:
    """It names the encoding if over 1 % is invalid, and the advice works."""
    lines = [
        f"__label__{'a' if n % 2 else 'b'} {line}"
        for n, line in enumerate(RUSSIAN.splitlines() * 9)
    ]
    (tmp_path / "t.txt").write_bytes("\n".join(lines).encode("cp1251"))
    ran = nbtext("train t.txt -o m")
    assert ", which seems to be cp1251 or " in ran.err and "; try --encoding cp1251 or" in ran.err
    assert "% of the text" in ran.err
    assert "replaced" not in nbtext("train t.txt --encoding cp1251 -o m").err
    (tmp_path / "few.txt").write_bytes(
        b"__label__a " + b"word " * 500 + b"\xff\n__label__b other\n"
    )
    ran = nbtext("train few.txt -o m")
    assert "replaced 1 invalid byte in 1 document; give the right --encoding" in ran.err
    ran = nbtext("train - -o m", input=(tmp_path / "t.txt").read_bytes())
    assert "give the right --encoding, such as gb18030" in ran.err


def test_an_unknown_encoding_of_a_mail_is_named(nbtext: Any, model: str, tmp_path: Path) -> None:
    """Mails and pages that name an encoding that does not exist are read, and the message names
    it.
    """
    mail = "Content-Type: text/html; charset=klingon\n\n<meta charset=vulcan>the bins étaient full"
    for number in (1, 2):
        (tmp_path / "d").mkdir(exist_ok=True)
        (tmp_path / f"d/{number}.eml").write_text(mail)
    (tmp_path / "d/3.html").write_text("<meta charset=vulcan>the bins étaient full")
    (tmp_path / "d/4.eml").write_text(
        "Content-Type: text/plain; charset=romulan\n\nthe bins étaient full"
    )
    for options in ([], ["-j", "1"]):
        ran = nbtext("predict", "d", "-m", model, *options)
        assert ran.err.splitlines() == [
            "unknown encoding 'klingon' in 2 documents, read as utf-8; name the right one with --encoding",
            "unknown encoding 'vulcan' in 1 document, read as utf-8; name the right one with --encoding",
            "unknown encoding 'romulan' in 1 document, read as utf-8; name the right one with --encoding",
        ]
    assert ran.out.count("trash") == 4
    assert nbtext(f"predict d -m {model} --encoding cp437").err == ""
    nbtext(f"predict d -m {model} --encoding klingon").refused(2, "unknown encoding 'klingon'")


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.jsonl", "d/a/x.txt"])
def test_utf_16_is_named_whatever_the_file_is_called(
    nbtext: Any, model: str, tmp_path: Path, name: str
) -> None:
    """NULs are valid UTF-8: without this test every word would be cut into letters, and the labels
    would be chance.
    """
    text = (
        '{"text": "the bins are full"}\n' if name.endswith("jsonl") else "text\nthe bins are full\n"
    )
    (tmp_path / "d/a").mkdir(parents=True)
    (tmp_path / name).write_bytes(text.encode("utf-16-le"))
    for source in (name, name.partition("/")[0]):
        ran = nbtext(f"predict {source} -m {model}")
        assert "trash" not in ran.out
        assert "UTF-16 without a byte order mark; try --encoding utf-16-le" in ran.err
    assert "trash" in nbtext(f"predict {name} -m {model} --encoding utf-16-le").out
