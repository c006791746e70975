"""Convert HTML to its visible text.

This does not use the standard library's html.parser, which takes quadratic time for some broken HTML (12 s for 50 kB
of `<a `), and broken HTML is common in mail. This scanner takes linear time.
"""

from __future__ import annotations

import re
from html import unescape

HIDDEN = {"script", "style", "template"}  # their content is not shown
BLOCK_NAMES = """
address article aside base blockquote body br button caption center col colgroup dd details dialog dir div dl dt embed
fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input
isindex legend li link main map menu meta nav noframes noscript object ol optgroup option p param pre section select
summary table tbody td textarea tfoot th thead title tr ul video
"""
BLOCKS = frozenset(BLOCK_NAMES.split())  # these separate words

_tag = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)")
# to the end of a tag; a > within a quoted value does not end it
_rest_of_tag = re.compile(r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+>""")
_reference = re.compile(r"&#(?:[xX]0*+([0-9a-fA-F]*+)|0*+([0-9]*+))")
MAX_DIGITS = 7  # of U+10FFFF, in base ten


def text_of_html(html: str) -> str:
    """Return the text of an HTML document or fragment, without tags, comments, scripts and styles; entities decoded.

    Each block (paragraph, table cell, line break) is on its own line, so that words of two blocks are not joined.
    """
    texts: list[str] = []
    position = 0
    while (start := html.find("<", position)) >= 0:
        texts.append(html[position:start])
        separator, position = _replace_markup(html, start)
        texts.append(separator)
    texts.append(html[position:])
    return unescape(_reference.sub(_shorten_reference, "".join(texts)))


def _replace_markup(html: str, start: int) -> tuple[str, int]:
    """Return the replacement of the markup that begins at a `<`, and the position of its end."""
    tag = _tag.match(html, start)
    if tag is None:
        if html.startswith("<!--", start):
            return "", _find_end(html, "-->", start + 4)
        if html.startswith(("<!", "<?", "</"), start):
            return "", _find_end(html, ">", start + 2)
        return "<", start + 1
    rest = _rest_of_tag.match(html, tag.end())
    end = rest.end() if rest else len(html)
    slash, name = tag[1], tag[2].lower()
    if name in HIDDEN and not slash:
        closing = re.compile(f"</{name}(?![a-z0-9])", re.IGNORECASE).search(html, end)
        return "\n", closing.start() if closing else len(html)
    return "\n" if name in BLOCKS else "", end


def _find_end(html: str, delimiter: str, start: int) -> int:
    """Return the position behind the next delimiter, or the end of the text."""
    position = html.find(delimiter, start)
    return position + len(delimiter) if position >= 0 else len(html)


def _shorten_reference(reference: re.Match[str]) -> str:
    """Return a numeric reference without leading zeros, and with so few digits that Python converts it."""
    base, digits = ("x", reference[1]) if reference[1] is not None else ("", reference[2])
    return f"&#{base}{digits[: MAX_DIGITS + 1] or '0'}"
