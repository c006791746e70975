"""Decoding of bytes: byte order marks, encodings, and invalid bytes."""

import codecs
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.documents.decoding import Encoding, decode_lines, encoding_of, to_utf8
from nbtext.documents.settings import InputSettings
from nbtext.errors import SettingsError

UTF8 = encoding_of(InputSettings())
ENCODINGS = ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "latin-1", "cp037", "shift_jis"]
TEXT = "label,text\nspam,“free” Ω ß ✓\nham,noon\n"


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
@pytest.mark.filterwarnings("ignore::nbtext.errors.AssumptionWarning")  # the tree has tables
@pytest.mark.parametrize("name", ["x.csv", "tree"])
def test_a_byte_order_mark_wins(
    read: Any, tmp_path: Path, mark: bytes, codec: str, name: str
) -> None:
    """A file with a byte order mark is read as it says, whatever --encoding says, and the mark is
    not text.
    """
    content = mark + TEXT.encode(codec)
    if name == "tree":
        (tmp_path / name).mkdir()
        (tmp_path / name / "1").write_bytes(content)
        assert [texts for _, texts, _ in read(tmp_path / name, encoding="latin-1")] == [(TEXT,)]
    else:
        (tmp_path / name).write_bytes(content)
        documents = [
            (texts, label) for _, texts, label in read(tmp_path / name, encoding="latin-1")
        ]
        assert documents == [(("“free” Ω ß ✓",), "spam"), (("noon",), "ham")]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.txt", "x.jsonl"])
@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-32", "utf-32-be", "latin-1", "cp037", "utf-8-sig"]
)
def test_any_encoding_may_be_named(read: Any, tmp_path: Path, name: str, encoding: str) -> None:
    """Every format is read in the encoding that is named."""
    lines = {
        "x.csv": "text,label\nß é,a\nü,b\n",
        "x.tsv": "text\tlabel\r\nß é\ta\r\nü\tb\r\n",
        "x.txt": "__label__a ß é\n__label__b ü",
        "x.jsonl": '{"text": "ß é", "label": "a"}\n{"text": "ü", "label": "b"}',
    }
    (tmp_path / name).write_bytes(lines[name].encode(encoding))
    assert [(texts, label) for _, texts, label in read(tmp_path / name, encoding=encoding)] == [
        (("ß é",), "a"),
        (("ü",), "b"),
    ]


@pytest.mark.parametrize(
    "name", ["klingon", "hex", "rot13", "idna", "undefined", "utf-8\0", "", "unicode_escape"]
)
def test_an_unknown_encoding_is_refused(opened: Any, tmp_path: Path, name: str) -> None:
    """What is not an encoding of text is wrong usage, said before anything is read."""
    (tmp_path / "x.txt").write_text("a")
    with pytest.raises(SettingsError) as caught:
        opened(tmp_path / "x.txt", encoding=name)
    assert caught.value.where == "encoding"


def test_invalid_bytes_are_replaced_and_counted(opened: Any, tmp_path: Path) -> None:
    """Invalid bytes become U+FFFD; how many, and in how many documents, is counted; a genuine
    U+FFFD is not.
    """
    (tmp_path / "a").write_bytes(b"caf\xe9 \xff\xfe \xef\xbf\xbd")
    (tmp_path / "b").write_bytes("genuine \ufffd".encode())
    (tmp_path / "c").write_bytes(b"plain")
    (batch,) = opened(tmp_path).batches()
    assert batch.columns[0] == ["caf\ufffd \ufffd\ufffd \ufffd", "genuine \ufffd", "plain"]
    assert (batch.repaired_documents, batch.repaired_bytes) == (1, 3)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.jsonl", b'{"text": "ok"}\n\n{"text": "caf\xe9"}\n'),
        ("x.csv", b"text,label\nok,a\ncaf\xe9,b\n"),
        ("x.tsv", b"text\tlabel\nok\ta\ncaf\xe9\tb\n"),
        ("x.txt", b"ok\ncaf\xe9\nok\n"),
        ("y.txt", b"__label__a ok\n__label__b caf\xe9\n"),
        ("tree/label/1", b"caf\xe9"),
        ("x.eml", b"Subject: hello\n\ncaf\xe9\n"),
    ],
)
def test_invalid_bytes_are_counted_in_every_format(
    opened: Any, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    (batch,) = opened(tmp_path if name.startswith("tree") else path).batches()
    assert (batch.repaired_documents, batch.repaired_bytes, batch.problems) == (1, 1, {})


@settings(max_examples=60)
@given(st.binary())
def test_replacing_is_what_python_replaces(data: bytes) -> None:
    """Any bytes are decoded as Python decodes them."""
    unmarked = data.removeprefix(codecs.BOM_UTF8)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return
    decoded = UTF8.decode(data)
    assert decoded.text == unmarked.decode("utf-8", "replace")
    is_valid = unmarked.decode("utf-8", "ignore").encode() == unmarked
    assert (decoded.repaired == 0) == is_valid


def converted(data: bytes, codec: str, size: int) -> bytes:
    """Return bytes that arrive in parts of a size, in UTF-8."""
    blocks = (data[start : start + size] for start in range(0, len(data), size))
    return b"".join(to_utf8(blocks, Encoding(codec)))


@settings(max_examples=60)
@given(
    st.lists(st.text("ab\u0a00\u000a00\u0a0a\U0001f60a", max_size=5)),
    st.sampled_from(ENCODINGS[:4]),
    st.booleans(),
    st.integers(1, 9),
)
def test_lines_are_those_of_the_text(
    lines: list[str], codec: str, has_last_feed: bool, size: int
) -> None:
    """Lines are those of the text, in encodings of wide characters too."""
    text = "\n".join(lines) + "\n" * has_last_feed
    expected = text.split("\n")[:-1] if text.endswith("\n") or not text else text.split("\n")
    data = converted(text.encode(codec), codec, size)
    assert data == text.encode()
    assert decode_lines(data, Encoding(codec)).texts == expected


@settings(max_examples=200)
@given(
    st.binary(),
    st.sampled_from(["utf-16-le", "utf-16-be", "cp1252", "cp1253", "ascii", "latin-1"]),
    st.integers(1, 9),
)
def test_invalid_bytes_of_any_encoding(data: bytes, codec: str, size: int) -> None:
    """They are replaced as Python replaces them, each sequence is counted once, and written as they
    were.
    """
    data = data[: len(data) // 2 * 2].replace(b"\n", b"\r")
    encoding = Encoding(codec)
    if "\n" in data.decode(codec, "replace"):
        return
    found = decode_lines(converted(data, codec, size), encoding)
    expected = data.decode(codec, "replace")
    assert "".join(found.texts) == expected
    assert sum(found.repaired.values()) == expected.count("\ufffd") - data.decode(
        codec, "ignore"
    ).count("\ufffd")
    assert encoding.encode(encoding.decode_exactly(converted(data, codec, size))) == data


def test_an_invalid_line_leaves_the_others_alone() -> None:
    """Only the invalid lines of a block are repaired."""
    data = b"one\ntw\xff\xffo\nthree\n"
    assert decode_lines(data, UTF8).repaired == {1: 2}


def test_the_newsgroups_hold_73_broken_documents(corpora: Any, opened: Any) -> None:
    """All 18,846 documents of 20 Newsgroups are read; 73 of them are not valid UTF-8, and none is
    in Latin-1.
    """
    folder = corpora("20news")
    halves = [list(opened(folder / half).batches()) for half in ("train", "test")]
    assert [sum(map(len, half)) for half in halves] == [11_314, 7_532]
    assert sum(batch.repaired_documents for half in halves for batch in half) == 73
    assert not any(batch.problems for half in halves for batch in half)
    assert len({label for batch in halves[0] for label in batch.labels}) == 20
    assert not any(
        batch.repaired_bytes for batch in opened(folder / "test", encoding="latin-1").batches()
    )
