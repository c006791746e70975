"""Convert HTML to its visible text, and find the encoding that it declares.

This does not use the standard library's html.parser, which takes quadratic time for some broken
HTML (12 s for 50 kB of `<a `), and broken HTML is common in mail. This scanner takes linear time.
"""

from __future__ import annotations

import re
from html import unescape

from nbtext.documents.charsets import find_codec
from nbtext.documents.decoding import Decoded, Encoding, check_text_width, decode_named, detect_bom

HIDDEN_TAGS = {"script", "style", "template"}  # their content is not shown
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
# soft hyphen, word joiner, invisible operators, byte order mark
_invisible = re.compile("[\u00ad\u2060-\u2064\ufeff]+")
# spaces and joiners of no width and marks of direction have a meaning in other scripts and in emoji
_letter = "[0-9A-Za-z\u00c0-\u052f\u1e00-\u1fff]"  # Latin, Greek, Cyrillic and their accents
_marks = "[\u034f\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
_inner = re.compile(f"{_marks}(?<={_letter}{_marks}){_marks}*+(?={_letter})")
MAX_DIGITS = 7  # of U+10FFFF, in base ten
MAX_PIECES = 10_000  # texts between tags that are joined at a time
WINDOW = 1 << 20  # characters whose references are decoded at a time
DECLARED_BYTES = 1 << 14  # at the start of a page, in which it declares its encoding

_declaration = re.compile(r"""\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"'<>]*)""")
_attribute = re.compile(r"""[\s/]([^\s=>/"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"']++))""")
_charset = re.compile(r"""(?i)(?:^|[;\s])charset\s*=\s*["']?\s*([^\s"';]+)""")


def decode_html(data: bytes, encoding: Encoding, charset: str | None = None) -> Decoded:
    """Return the visible text of the bytes of a page.

    Its encoding is that of the byte order mark, that which the user has named, that of the mail,
    that which the page declares, or that of the settings; the first of them that is known.

    Parameters
    ----------
    charset : str, optional
        The encoding that the header of a mail names.
    """
    detected, size = detect_bom(data, encoding)
    if size:
        decoded = detected.decode_rest(data[size:])
    else:
        # where the bytes are invalid in it, but valid in that of the settings, they have that
        names = [] if encoding.is_typed else [charset, declared_encoding(data)]
        known = [name for name in names if name and find_codec(name, is_web=True)]
        decoded = decode_named(data, encoding, next(filter(None, [*known, *names]), None))
    check_text_width(decoded.text)
    return decoded._replace(text=text_of_html(decoded.text))


def declared_encoding(data: bytes) -> str | None:
    """Return the encoding that a page declares in `<?xml … ?>` or a tag `<meta>` at its start; None
    if there is none.

    A declaration that could be read only in one-byte characters, and names UTF-16, means UTF-8 (as
    in the WHATWG standard).
    """
    head = data[:DECLARED_BYTES].decode("latin-1")
    found = _declaration.match(head)
    name = _find_meta(head) or (found[1] if found else None)
    return "utf-8" if name is not None and re.match(r"(?i)utf-?(?:16|32)|ucs-?[24]", name) else name


def _find_meta(head: str) -> str | None:
    """Return the encoding that a tag `<meta>` names, outside of comments and scripts; None if there
    is none.
    """
    start = head.find("<")
    while start >= 0:
        _, end = _replace_markup(head, start)
        tag = head[start:end]
        name = _tag.match(tag)
        if name and name[2].lower() == "body":
            return None
        if name and name[2].lower() == "meta":
            attributes: dict[str, str] = {}
            for key, *values in _attribute.findall(tag):
                attributes.setdefault(key.lower(), "".join(values))
            is_type = attributes.get("http-equiv", "").lower() == "content-type"
            in_content = _charset.search(attributes.get("content", "")) if is_type else None
            if named := attributes.get("charset") or (in_content and in_content[1]):
                return named
        start = head.find("<", end)
    return None


def remove_invisible(text: str) -> str:
    """Return a text without the characters that are not shown and divide words for a program only:
    soft hyphens, joiners and marks of direction within a word.
    """
    return text if text.isascii() else _inner.sub("", _invisible.sub("", text))


def text_of_html(html: str) -> str:
    """Return the text of an HTML document or fragment, without tags, comments, scripts and styles;
    entities decoded.

    Each block (paragraph, table cell, line break) is on its own line, so that words of two blocks
    are not joined.
    """
    texts: list[str] = []
    joined: list[str] = []
    position = 0
    while (start := html.find("<", position)) >= 0:
        texts.append(html[position:start])
        separator, position = _replace_markup(html, start)
        texts.append(separator)
        if len(texts) > MAX_PIECES:  # small texts take much memory
            joined.append("".join(texts))
            texts.clear()
    joined.extend((*texts, html[position:]))
    text = "".join(joined)
    if "&" in text:  # references, such as &amp; and &#38;, a part at a time in bounded memory
        parts = []
        start = 0
        while start < len(text):
            stop = start + WINDOW
            reference = text.rfind("&", start + 1, stop) if stop < len(text) else -1
            stop = reference if reference > 0 else stop  # no reference is cut
            parts.append(unescape(_reference.sub(_shorten_reference, text[start:stop])))
            start = stop
        text = "".join(parts)
    return remove_invisible(text)


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
    slash = tag[1]
    name = tag[2].lower()
    if name in HIDDEN_TAGS and not slash:
        closing = re.compile(f"</{name}(?![a-z0-9])", re.IGNORECASE).search(html, end)
        return "\n", closing.start() if closing else len(html)
    return "\n" if name in BLOCKS else "", end


def _find_end(html: str, delimiter: str, start: int) -> int:
    """Return the position behind the next delimiter, or the end of the text."""
    position = html.find(delimiter, start)
    return position + len(delimiter) if position >= 0 else len(html)


def _shorten_reference(reference: re.Match[str]) -> str:
    """Return a numeric reference without leading zeros, and with so few digits that Python converts
    it.
    """
    base, digits = ("x", reference[1]) if reference[1] is not None else ("", reference[2])
    return f"&#{base}{digits[: MAX_DIGITS + 1] or '0'}"
