"""Conversion of HTML to text."""

import codecs
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.documents.html import text_of_html


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("<p>one</p><p>two</p>", ["one", "two"]),
        ("one<br>two<BR/>three", ["one", "two", "three"]),
        ("<td>one<td>two<li>three", ["one", "two", "three"]),
        ("f<b>r</b>e<i>e</i>", ["free"]),
        ("fr<!-- x -->ee", ["free"]),
        ("fr<!-- > -->ee", ["free"]),
        ("<style>p {color: red}</style>one", ["one"]),
        ("<SCRIPT type='a>b'>if (a < b) x()</script >one", ["one"]),
        ("<script>unclosed", []),
        ("<title>subject</title>body", ["subject", "body"]),
        ("caf&eacute; &amp; &#36;&#x33;&#51;", ["café", "&", "$33"]),
        ("&nbsp;&unknown; &amp", ["&unknown;", "&"]),
        ("&#" + "9" * 10_000 + "; &#" + "0" * 10_000 + "65;", ["\ufffd", "A"]),
        ("a < b and b > c", ["a", "<", "b", "and", "b", ">", "c"]),
        ('<a href="x>y" title=it\'s>link</a>', ["link"]),
        ("<!DOCTYPE html><?xml?><![CDATA[x]]>text", ["text"]),
        ("text <unfinished", ["text"]),
        ("text <", ["text", "<"]),
        ("</p>one</ p>two", ["onetwo"]),
    ],
)
def test_what_a_reader_sees(html: str, words: list[str]) -> None:
    """Tags, comments, scripts and styles are removed; blocks separate words; entities become
    characters.
    """
    assert text_of_html(html).split() == words


@settings(max_examples=60)
@given(st.text("<>/!-='\"&#; abscriptyle"))
def test_any_text_is_html(html: str) -> None:
    """No text raises an error."""
    assert isinstance(text_of_html(html), str)


@pytest.mark.usefixtures("hang_guard")
@pytest.mark.parametrize(
    "piece",
    ["<", "<!", "<!--", "<a ", "<a b='", '<a b="', "<script>", "&", "&#", "<a =' =\" ", "</"],
)
def test_broken_html_takes_linear_time(piece: str) -> None:
    """100,000 pieces that never end are read in a moment (html.parser takes minutes)."""
    text_of_html(piece * 100_000)


RUSSIAN = "Привет, мир"
META = '<meta charset="{}">'
LONG_META = '<meta http-equiv="Content-Type" content="text/html; charset={}">'
DECLARED = [
    META,
    "<META CHARSET={} >",
    "<html><head><title>no</title>\n<meta name=a content=b/><meta charset='{}'/>",
    LONG_META,
    "<meta content='text/html;charset={}' http-equiv=content-type>",
    '<?xml version="1.0" encoding="{}"?>',
    "<!-- <meta charset=utf-7> --><script>'<meta charset=utf-7>'</script><meta charset={}>",
    '<p title="<meta charset=utf-7>"><meta charset={}>',
    "<meta name=description content='charset=utf-7'><meta charset={}>",
    "<meta title=' charset=utf-7' charset={}>",
]


def as_bytes(markup: str, name: str, codec: str) -> bytes:
    return (markup.format(name) + f"<body>{RUSSIAN}").encode(codec)


@pytest.mark.parametrize("name", ["windows-1251", "koi8-r", "x-mac-cyrillic", "cp-866"])
@pytest.mark.parametrize("markup", DECLARED)
def test_a_page_declares_its_encoding(read: Any, tmp_path: Path, markup: str, name: str) -> None:
    """`<meta>` or `<?xml` names the encoding, in files and in parts of mails, whatever is written
    around it.
    """
    codec = {"x-mac-cyrillic": "mac_cyrillic", "cp-866": "cp866"}.get(name, name)
    page = as_bytes(markup, name, codec)
    (tmp_path / "x.html").write_bytes(page)
    (tmp_path / "y.eml").write_bytes(b"Content-Type: text/html\n\n" + page)
    for path in ("x.html", "y.eml"):
        assert read(tmp_path / path)[0][1][0].endswith(RUSSIAN)


def test_what_decides_the_encoding_of_a_page(read: Any, tmp_path: Path) -> None:
    """A byte order mark, then an encoding that was typed, then the header of the mail, then the
    page, then UTF-8.
    """

    def text(head: str, page: bytes, **settings: Any) -> str:
        name = "x.eml" if head else "x.html"
        (tmp_path / name).write_bytes(head.encode() + page)
        return str(read(tmp_path / name, **settings)[0][1][0].strip())

    head = "Content-Type: text/html; charset=koi8-r\n\n"
    for start in ("", head):
        marked = codecs.BOM_UTF8 + as_bytes(META, "cp1251", "utf-8")
        assert text(start, marked, encoding="cp866") == RUSSIAN
        assert (
            text(
                start, codecs.BOM_UTF16_BE + as_bytes(META, "cp1251", "utf-16-be"), encoding="cp866"
            )
            == RUSSIAN
        )
        assert text(start, as_bytes(META, "cp1251", "cp866"), encoding="cp866") == RUSSIAN
        assert (
            text(start, as_bytes(META, "cp1251", "cp1251"), encoding="utf-8").count("\ufffd") == 9
        )
    assert text(head, as_bytes(META, "cp1251", "koi8-r")) == RUSSIAN
    assert text(head.replace("koi8-r", "klingon"), as_bytes(META, "cp1251", "cp1251")) == RUSSIAN
    assert text("", as_bytes(META, "cp1251", "cp1251")) == RUSSIAN
    assert text("", as_bytes(META, "klingon", "utf-8")) == RUSSIAN
    assert text("", as_bytes("", "", "utf-8")) == RUSSIAN
    assert text("", as_bytes(META, "utf-16", "utf-8")) == RUSSIAN, (
        "a page that names UTF-16 in ASCII is not UTF-16"
    )
    assert text("", as_bytes("<body>" + META, "cp1251", "utf-8")) == RUSSIAN, "not in the body"


def test_a_compressed_page(read: Any, tmp_path: Path) -> None:
    """A page that is named as a source is decompressed once."""
    import gzip

    (tmp_path / "x.html.gz").write_bytes(gzip.compress(as_bytes(META, "koi8-r", "koi8-r")))
    for form in (None, "files"):
        assert read(tmp_path / "x.html.gz", input_format=form)[0][1][0].strip() == RUSSIAN


def test_long_pages_are_converted_in_parts() -> None:
    """A reference that lies where two parts meet is decoded."""
    for n in range(1 << 20, (1 << 20) - 9, -1):
        text = "a" * n + "&amp;&#228;b"
        assert text_of_html(text) == "a" * n + "&äb"
    assert text_of_html("<b>&lt;" * 50_000) == "<" * 50_000
