"""Conversion of HTML to text."""

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
    """Tags, comments, scripts and styles are removed; blocks separate words; entities become characters."""
    assert text_of_html(html).split() == words


@settings(max_examples=60, deadline=None)
@given(st.text("<>/!-='\"&#; abscriptyle"))
def test_any_text_is_html(html: str) -> None:
    """No text raises an error."""
    assert isinstance(text_of_html(html), str)


@pytest.mark.usefixtures("hang_guard")
@pytest.mark.parametrize(
    "piece", ["<", "<!", "<!--", "<a ", "<a b='", '<a b="', "<script>", "&", "&#", "<a =' =\" ", "</"]
)
def test_broken_html_takes_linear_time(piece: str) -> None:
    """100,000 pieces that never end are read in a moment (html.parser takes minutes)."""
    text_of_html(piece * 100_000)
