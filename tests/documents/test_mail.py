"""Mails: their text and headers, in mbox files, Maildirs and single files."""

import gzip
import mailbox
import os
import subprocess
import sys
from binascii import b2a_base64
from contextlib import suppress
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.documents.blocks import ReadOptions
from nbtext.documents.decoding import encoding_of
from nbtext.documents.mail import parse_mail, read_mbox
from nbtext.documents.settings import InputSettings

UTF8 = encoding_of(InputSettings())


def text_of(content: bytes | str, name: str = "text") -> str:
    content = content if isinstance(content, bytes) else content.encode()
    return parse_mail(content, {"subject", "from", "x-spam"}, UTF8).text(name)


def message(text: str = "plain text", html: str | None = None) -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = "Grüße, ‘free’"
    mail["From"] = "Ada <ada@example.org>"
    mail.set_content(text)
    if html is not None:
        mail.add_alternative(html, subtype="html")
    return mail


def test_subject_and_text_are_decoded() -> None:
    """The text of a mail is its subject and its body, out of encoded words and transfer
    encodings.
    """
    assert text_of(bytes(message("schöner “Text”\n"))) == "Grüße, ‘free’\nschöner “Text”\n"


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-15", "koi8-r", "utf-7", "iso-2022-jp"])
@pytest.mark.parametrize("transfer", ["base64", "quoted-printable"])
def test_charsets_are_honoured(charset: str, transfer: str) -> None:
    """A part is decoded as its charset and transfer encoding say."""
    text = {"koi8-r": "привет", "iso-2022-jp": "こんにちは"}.get(charset, "naïve café")
    mail = EmailMessage()
    mail.set_content(text, charset=charset, cte=transfer)
    assert text_of(bytes(mail), "body").strip() == text


@pytest.mark.parametrize(
    ("charset", "wider", "text"),
    [("gb2312", "gb18030", "朱镕基"), ("euc-kr", "cp949", "똠"), ("shift_jis", "cp932", "①")],
)
def test_charsets_that_stand_for_wider_ones(charset: str, wider: str, text: str) -> None:
    """Mailers name the smaller set of characters, and use the larger one."""
    head = f"Content-Type: text/plain; charset={charset}\n\n".encode()
    assert text_of(head + text.encode(wider), "body") == text


def test_bytes_that_their_charset_does_not_have() -> None:
    """ASCII with other bytes is in the encoding of the settings, or else in cp1252, as the WHATWG
    standard says.
    """
    head = b"Content-Type: text/plain; charset="
    assert text_of(head + b"x-unknown\n\nna\xc3\xafve caf\xe9", "body") == "naïve caf\ufffd"
    assert text_of(head + b"us-ascii\n\nna\xc3\xafve", "body") == "naïve"
    assert text_of(head + b"us-ascii\n\ncaf\xe9", "body") == "café"


STANDARD = """
unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8 | utf-8
866 cp866 csibm866 ibm866 | cp866
csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2 | iso8859-2
csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3 | iso8859-3
csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4 | iso8859-4
csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988 | iso8859-5
arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i iso-ir-127 |+
iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987 | iso8859-6
csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 |+
sun_eu_greek | iso8859-7
csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 |+
iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical | iso8859-8
csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6 | iso8859-10
iso-8859-13 iso8859-13 iso885913 | iso8859-13
iso-8859-14 iso8859-14 iso885914 | iso8859-14
csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9 | iso8859-15
iso-8859-16 | iso8859-16
cskoi8r koi koi8 koi8-r koi8_r | koi8-r
koi8-ru koi8-u | koi8-u
csmacintosh mac macintosh x-mac-roman | mac-roman
dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874 | cp874
cp1250 windows-1250 x-cp1250 | cp1250
cp1251 windows-1251 x-cp1251 | cp1251
ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 |+
iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 | cp1252
cp1253 windows-1253 x-cp1253 | cp1253
cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 windows-1254 |+
x-cp1254 | cp1254
cp1255 windows-1255 x-cp1255 | cp1255
cp1256 windows-1256 x-cp1256 | cp1256
cp1257 windows-1257 x-cp1257 | cp1257
cp1258 windows-1258 x-cp1258 | cp1258
x-mac-cyrillic x-mac-ukrainian | mac-cyrillic
chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030 | gb18030
big5 big5-hkscs cn-big5 csbig5 x-x-big5 | big5hkscs
cseucpkdfmtjapanese euc-jp x-euc-jp | euc_jp
csiso2022jp iso-2022-jp | iso2022_jp
csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis | cp932
cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949 | cp949
unicodefffe utf-16be | utf-16-be
csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le | utf-16-le
iso-2022-kr csiso2022kr | iso2022_kr
hz-gb-2312 | hz
"""
OTHERS = """
cp-850 ibm850 ibm-850 dos-850 ms850 x-cp850 cp00850 ccsid850 | cp850
x-cp-1251 cp-1251 ms1251 ms-1251 win-1251 windows1251 cswindows1251 | cp1251
x-windows-874 cp-874 | cp874
x-big5 x-windows-950 | big5
x-euc-kr x-windows-949 ms949 cp-949 uhc | cp949
x-iso-8859-2 csiso88592 | iso8859-2
x-utf-8 csutf8 cp65001 UTF_8 | utf-8
x-koi8-r | koi8-r
csiso885915 | iso8859-15
x-iso-2022-jp | iso2022_jp
x-eucjp | euc_jp
gb2312.80 cp936 ms936 windows-936 x-mswin-936 | gbk
ibm00858 cp00858 | cp858
"""
TEXTS = (
    "中文",
    "naïve café",
    "zażółć gęślą",
    "привет, мир",
    "γειά σου",
    "שלום עולם",
    "مرحبا",
    "สวัสดี",
    "tiếng Viet",
    "žluťoučký",
    "şehir değil",
    "你好世界",
    "漢字",
    "こんにちは 日本",
    "안녕하세요",
    "ŵyr",
    "saħħa",
    "č š ž",
    "þæð",
)


def named_encodings(table: str) -> list[tuple[str, str]]:
    """Each name of a table, with Python's name of an encoding that it means."""
    rows = (line.split(" | ") for line in table.replace("|+\n", "").splitlines() if line)
    return [(name, codec) for names, codec in rows for name in names.split()]


def sample(codec: str) -> str:
    """A text that is not ASCII, which the encoding has."""
    for text in TEXTS:
        with suppress(UnicodeEncodeError):
            if text.encode(codec).decode(codec) == text and not text.isascii():
                return text
    raise AssertionError(codec)


@pytest.mark.parametrize(("name", "codec"), named_encodings(STANDARD + OTHERS))
def test_names_of_encodings(read: Any, tmp_path: Path, name: str, codec: str) -> None:
    """All labels of the WHATWG standard, and other names that are met, in bodies, encoded words and
    --encoding.
    """
    text = sample(codec)
    data = text.encode(codec)
    head = f"Subject: =?{name}?b?{b2a_base64(data, newline=False).decode()}?=\n".encode()
    for spelling in (name, name.upper(), f'"{name}"'):
        kind = f"Content-Type: text/plain; charset={spelling}\n\n".encode()
        mail = parse_mail(head + kind + data, {"subject"}, UTF8)
        assert (mail.text("subject"), mail.body, mail.repaired, mail.unknown) == (text, text, 0, "")
    if "ascii" not in name and "ansi" not in name:
        (tmp_path / "x.txt").write_bytes(data)
        assert read(tmp_path / "x.txt", encoding=name, input_format="files")[0][1] == (text,)


def test_python_and_the_standard_differ(read: Any, tmp_path: Path) -> None:
    """ISO-8859-1 in a mail is cp1252, as in browsers; typed with --encoding it is what Python
    says.
    """
    mail = b"Content-Type: text/plain; charset=iso-8859-1\n\n\x93a\x94"
    assert text_of(mail, "body") == "“a”"
    (tmp_path / "x.txt").write_bytes(b"\x93a\x94")
    assert read(tmp_path / "x.txt", encoding="iso-8859-1")[0][1] == ("\x93a\x94",)


def test_the_language_of_an_encoded_word() -> None:
    """RFC 2231: the name of an encoding may be followed by a language."""
    assert text_of(b"Subject: =?windows-874*th?b?4Liq?= =?x-sjis*ja?q?=82=a0?=\n\n") == "เธชあ\n"


def test_a_continued_name_of_an_encoding() -> None:
    """RFC 2231: a parameter may be continued, and may be encoded itself."""
    assert (
        text_of(b"Content-Type: text/plain; charset*0=windows; charset*1=-1251\n\n\xcf\xf0", "body")
        == "Пр"
    )
    assert (
        text_of(b"Content-Type: text/plain; charset*=us-ascii'en'x-sjis\n\n\x82\xa0", "body")
        == "あ"
    )


@pytest.mark.parametrize("name", ["x-unknown", "iso-2022-cn", "klingon", "x" * 300, "a\xe9"])
def test_an_unknown_encoding_is_named(name: str) -> None:
    """A text that names an encoding that does not exist is in that of the settings, and its name is
    kept.
    """
    mail = parse_mail(
        f"Content-Type: text/plain; charset={name}\n\n\x1b caf\xe9".encode(), set(), UTF8
    )
    assert mail.body == "\x1b café"
    assert mail.unknown[:9] == name[:9] or not name.isascii()
    plain = parse_mail(f"Content-Type: text/plain; charset={name}\n\ncafe".encode(), set(), UTF8)
    assert (plain.body, plain.unknown) == ("cafe", ""), "ASCII is the same in all of them"


def test_of_alternatives_without_a_plain_one_the_first_is_read() -> None:
    kinds = "".join(
        f"--b\nContent-Type: text/{kind}\n\n{kind} text\n"
        for kind in ("enriched", "html", "richtext")
    )
    mail = f"Content-Type: multipart/alternative; boundary=b\n\n{kinds}--b--\n"
    assert text_of(mail, "body").strip() == "enriched text"


def test_of_alternatives_the_plain_one_is_read() -> None:
    """multipart/alternative gives the plain text if it is not empty, otherwise the HTML."""
    assert text_of(bytes(message("plain", "<p>html</p>")), "body").strip() == "plain"
    assert (
        text_of(bytes(message("  \n", "<p>html<script>no</script></p>")), "body").strip() == "html"
    )


def test_attachments_are_left_out() -> None:
    """Attachments are not text, also if they are text files; a mail is, forwarded inline or
    attached.
    """
    mail = message("body")
    mail.add_attachment("attached notes", filename="notes.txt")
    mail.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="x.png")
    assert text_of(bytes(mail), "body").strip() == "body"
    mail.add_attachment(message("attached mail"))
    assert text_of(bytes(mail), "body").split() == ["body", "attached", "mail"]
    forwarded = "--b\n\nfirst\n--b\nContent-Type: message/rfc822\n\nSubject: x\n\ninner\n--b--"
    assert text_of(f"Content-Type: multipart/mixed; boundary=b\n\n{forwarded}", "body").split() == [
        "first",
        "inner",
    ]


INNER = "Subject: inner\nContent-Type: text/html\n\n<p>inner <b>text</b>\n"


@pytest.mark.parametrize(
    "part",
    [
        f"Content-Type: message/rfc822\nContent-Disposition: attachment; filename=x.eml\n\n{INNER}",
        "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
        + b2a_base64(INNER.encode()).decode(),
        f"Content-Type: multipart/digest; boundary=c\n\n--c\n\n{INNER}--c--\n",
    ],
)
def test_an_attached_mail_is_text(part: str) -> None:
    """As spam is reported: also in a transfer encoding, and in a digest; not its headers."""
    report = "--b\n\nspam\n--b\nContent-Type: text/rfc822-headers\n\nX-Spam: no\n--b\n"
    mail = f"Content-Type: multipart/report; boundary=b\n\n{report}{part}--b--\n"
    assert text_of(mail, "body").split() == ["spam", "inner", "text"]


HIDDEN = [
    (b"f&shy;r\xc2\xade\xe2\x81\xa0e vi\xe2\x80\x8bag&zwnj;ra&#xFEFF;s", "free viagras"),
    ("Ну\u200bжно е\u0301\u200dе".encode(), "Нужно е\u0301е"),
    # joiners have a meaning here
    (
        "می\u200cخواهم क्\u200dष 👩\u200d🚀 ไทย\u200bไทย".encode(),
        "می\u200cخواهم क्\u200dष 👩\u200d🚀 ไทย\u200bไทย",
    ),
]


@pytest.mark.parametrize(("raw", "text"), HIDDEN)
def test_characters_that_are_not_shown_divide_no_words(
    read: Any, tmp_path: Path, raw: bytes, text: str
) -> None:
    """In HTML, in the text of mails, and in a subject; a plain text stays as it is."""
    html = b"Content-Type: text/html; charset=utf-8\n\n" + raw
    assert text_of(html, "body") == text
    plain = raw.replace(b"&shy;", b"").replace(b"&zwnj;", b"").replace(b"&#xFEFF;", b"")
    assert text_of(b"Subject: " + plain + b"\n\n" + plain) == f"{text}\n{text}"
    (tmp_path / "x.html").write_bytes(b'<meta charset="utf-8">' + raw)
    (tmp_path / "x.txt").write_bytes(plain)
    assert read(tmp_path / "x.html")[0][1] == (f"\n{text}",)
    assert read(tmp_path / "x.txt")[0][1] == (plain.decode(),)


def test_deleted_mails_of_an_mbox_are_skipped(opened: Any, tmp_path: Path) -> None:
    """Mail programs mark them, and remove them later; the others keep their numbers."""
    marks = [
        "X-Mozilla-Status: 0001",
        "X-Mozilla-Status: 0009",
        "X-Status: D",
        "X-Status: Delivered",
        "Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA",
        "X-Mozilla-Status: what",
    ]
    separator = "From - Thu Nov 21 03:37:00 2024\n"
    (tmp_path / "x.mbox").write_text("".join(f"{separator}{mark}\n\ntext\n" for mark in marks))
    source = opened(tmp_path / "x.mbox")
    ids = [identity for batch in source.batches() for identity in batch.ids]
    assert ids == [f"{tmp_path}/x.mbox:{number}" for number in (1, 4, 6)]
    assert source.skipped == {"deleted mail": 2, "data of a mail program": 1}


def test_a_file_of_apple_mail_is_one_mail(read: Any, tmp_path: Path) -> None:
    """Neither its first line, nor the properties at its end, are text; beside texts, too."""
    mail = b"From: a@b\nSubject: hello\n\nbody\n"
    properties = b'<?xml version="1.0"?>\n<plist><dict><key>flags</key></dict></plist>\n'
    (tmp_path / "1.emlx").write_bytes(b"%-10d\n" % len(mail) + mail + properties)
    (tmp_path / "2.txt").write_text("text")
    expected = (f"{tmp_path}/1.emlx", ("hello\nbody\n",), None)
    assert read(tmp_path) == [expected, (f"{tmp_path}/2.txt", ("text",), None)]
    assert read(tmp_path / "1.emlx") == [expected]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", []),
        (b"\n\n", []),
        (b"no header, only text", ["no", "header,", "only", "text"]),
        (b"Subject: only a header", ["only", "a", "header"]),
        (b"From ada Thu Nov 21 03:37:00 2024\nSubject: a\n\nb", ["a", "b"]),
        (b"Subject: a\n\tb\n\nc", ["a", "b", "c"]),
        (b"Subject: caf\xe9\n\ncaf\xe9", ["caf\ufffd", "caf\ufffd"]),
        ("Subject: café\n\ncafé".encode(), ["café", "café"]),
        (b"Subject: =?klingon?q?caf=C3=A9?=\n\n", ["café"]),
        (b"Subject: =?utf-8?b?a?=\n\n", ["=?utf-8?b?a?="]),
        (b"Content-Type: text/plain; charset=klingon\n\ncaf\xc3\xa9", ["café"]),
        (b"Content-Type: text/plain; charset=us-ascii\n\ncaf\xc3\xa9", ["café"]),
        (b"Content-Type: text/plain; charset=utf-16\n\ncaf\xc3\xa9", ["café"]),
        (b"Content-Type: text/plain; charset=punycode\n\nabc", ["abc"]),
        (b"Content-Type: text/plain; charset*=bogus'x'%ff%fe\n\nabc", ["abc"]),
        (b"Content-Type: multipart/mixed\n\nno boundary", ["no", "boundary"]),
        (b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nunclosed", ["unclosed"]),
        (b"Content-Type: multipart/mixed; boundary=b\n\nnever begun", ["never", "begun"]),
        (b"Content-Type: text/html\n\n<p>a<p>b", ["a", "b"]),
        (b"Content-Type: ///;;;=\n\nabc", ["abc"]),
        (b"Content-Type: image/png\n\nabc", []),
        (b"Content-Transfer-Encoding: base64\n\n!!!not base64", None),
        (b"\xef\xbb\xbfSubject: marked\n\nb", ["marked", "b"]),
        ("Subject: wide\n\nb".encode("utf-16"), ["wide", "b"]),
    ],
)
def test_broken_mails_are_read(raw: bytes, words: list[str] | None) -> None:
    """A malformed mail gives the text that can be read."""
    text = text_of(raw)
    assert words is None or text.split() == words


PIECES = [
    b"\n",
    b"\n\n",
    b"Subject: ",
    b"Content-Type: multipart/mixed; boundary=",
    b"b",
    b"--b",
    b"--b--",
    b"Content-Type: ",
    b"text/html; charset=",
    b"Content-Transfer-Encoding: base64",
    b"quoted-printable",
    b"=?utf-8?b?",
    b"?=",
    b"\xff\xfe",
    b"\0",
    b"Content-Disposition: attachment",
    b"message/rfc822",
    b"multipart/alternative",
    b";",
    b'"',
    b"*0*=",
    b"'",
    b"=",
    b"\r",
]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=4)).map(b"".join))
def test_no_mail_is_an_error(raw: bytes) -> None:
    """Any bytes can be read as a mail."""
    assert isinstance(text_of(raw), str)


def nested(depth: int, kind: str = "multipart/mixed") -> str:
    opening = "".join(f"Content-Type: {kind}; boundary=b{n}\n\n--b{n}\n" for n in range(depth))
    return f"Subject: deep\n{opening}Content-Type: text/plain\n\nbottom\n"


@pytest.mark.usefixtures("hang_guard")
@pytest.mark.parametrize("depth", [50, 99, 101, 400, 1000, 5000])
@pytest.mark.parametrize("kind", ["multipart/mixed", "multipart/alternative"])
def test_deep_mails_are_read(depth: int, kind: str) -> None:
    """The text of a thousand nested parts is read quickly, without a recursion error."""
    words = text_of(nested(depth, kind)).split()
    assert (words[0], words[-1]) == ("deep", "bottom")
    assert (len(words) == 2) == (depth <= 100), "deeper ones are read as they are"


@pytest.mark.usefixtures("hang_guard")
@pytest.mark.parametrize(
    "raw",
    [
        b"Content-Type: text/plain" + b';"' * 500_000 + b"\n\nx",
        b"Content-Type: text/plain" + b"; a=b" * 200_000 + b"\n\nx",
        b"Subject: " + b"=?a?q?x" * 200_000 + b"\n\nx",
        b"Subject: " + b"=?a?q?x?= " * 100_000 + b"\n\nx",
        nested(3000).encode() + b"a\n" * 100_000,
        b"Content-Type: text/html\n\n" + b"<a " * 300_000,
        b"Content-Transfer-Encoding: base64\n\n" + b"=" * 1_000_000,
        b"a" * 3_000_000,
        b"X: y\n" * 200_000,
    ],
    ids=range(9),
)
def test_hostile_mails_cost_no_quadratic_time(raw: bytes) -> None:
    """A megabyte that takes the library quadratic time is read quickly."""
    text_of(raw)


MIXED = b"Content-Type: multipart/mixed; boundary=b\n\n"


@pytest.mark.parametrize(
    ("name", "start", "unit"),
    [
        ("x.eml", b"", b":\n"),
        ("x.mbox", b"", b"From a\n"),
        ("x.eml", MIXED, b"--b\n\n\n"),
        ("x.eml", b"Content-Type: text/html\n\n", b"<p>ab"),
        ("x.eml", b"Content-Transfer-Encoding: base64\n\n", b"YQ==\n"),
    ],
)
def test_hostile_mails_take_little_memory(
    tmp_path: Path, name: str, start: bytes, unit: bytes
) -> None:
    """A compressed mail of some kilobytes, whose many small parts would be objects, is read in
    bounded memory.
    """
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(start + unit * (5_000_000 // len(unit))))
    code = (
        "import sys, resource\n"
        "from nbtext.documents.source import open_source\n"
        "from nbtext.documents.settings import InputSettings\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert sum(map(len, open_source(sys.argv[1:], InputSettings()).batches())) == 1\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / f"{name}.gz")]
    memory = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    assert int(memory) < 80_000  # kB


@pytest.mark.parametrize("name", ["1.eml", "1.EML"])
def test_a_mail_file_is_a_document(read: Any, tmp_path: Path, name: str) -> None:
    """A .eml file by itself, or in a tree beside texts, is one mail with its path as id."""
    (tmp_path / "ham").mkdir()
    (tmp_path / "ham" / name).write_bytes(
        b"From x Thu Nov 21 03:37:00 2024\nSubject: a\n\nb\n\nFrom here on\n"
    )
    (tmp_path / "ham" / "2.txt").write_text("Subject: a\n\nb")
    expected = (f"{tmp_path}/ham/{name}", ("a\nb\n\nFrom here on\n",), "ham")
    assert read(tmp_path) == [expected, (f"{tmp_path}/ham/2.txt", ("Subject: a\n\nb",), "ham")]
    assert read(tmp_path / "ham" / name) == [(*expected[:2], None)]


@pytest.mark.usefixtures("hang_guard")
@pytest.mark.parametrize(
    "line", [b"@" * 1_000_000 + b" x", b"Mon " * 250_000, b"Mon 1:" * 150_000, b"a@" * 500_000]
)
def test_long_lines_are_compared_in_linear_time(read: Any, tmp_path: Path, line: bytes) -> None:
    """A line of a megabyte that begins like an mbox separator, but is not one, is recognized in
    linear time.
    """
    (tmp_path / "x.mbox").write_bytes(b"From a@b\nSubject: a\n\nFrom " + line + b"\n x\n")
    assert len(read(tmp_path / "x.mbox")) == 1


def test_an_mbox_gives_its_mails(read: Any, tmp_path: Path) -> None:
    """The mails that Python's mailbox module writes are read back, with quoted From lines, and
    numbered.
    """
    box = mailbox.mbox(tmp_path / "x.mbox")
    for number in range(1, 4):
        mail = EmailMessage()
        mail["Subject"] = f"number {number}"
        mail.set_content("text\n\nFrom what I hear\n>From quoted\n")
        box.add(mail)
    box.close()
    words = ["text", "From", "what", "I", "hear", "From", "quoted"]
    assert [(identity, texts[0].split()) for identity, texts, _ in read(tmp_path / "x.mbox")] == [
        (f"{tmp_path}/x.mbox:{number}", ["number", str(number), *words]) for number in range(1, 4)
    ]


FORMS = [
    "From ",
    "From ada",
    "From ada@example.org",
    "From ada 2024-11-21 03:37",
    "From - Thu Nov 21 03:37:00 2024",
    "From ada Thu Nov 21 03:37:00 +0100 2024",
    "From ada@example.org 21 Nov 2024",
    'From "ada lovelace"@example.org  Thu Nov  1 3:37 2024 remote from example',
]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_separators_of_any_form(
    read: Any, tmp_path: Path, form: str, between: str, end: str
) -> None:
    """A line `From …` before a header begins a mail, with a blank line before it or without."""
    box = between + between.join(f"{form}\nSubject: {number}\n\nbody\n" for number in "123")
    (tmp_path / "x.mbox").write_bytes(box.replace("\n", end).encode())
    found = read(tmp_path / "x.mbox")
    assert [texts[0].split() for _, texts, _ in found] == [[number, "body"] for number in "123"]
    assert [identity.rpartition(":")[2] for identity, _, _ in found] == ["1", "2", "3"]


@pytest.mark.parametrize(
    "line",
    [
        "From now on",
        "From now on:\nNote: this",
        "From here\n>From there",
        "From\nSubject: no",
        "From a@b\n\nText: x",
    ],
)
@pytest.mark.parametrize("before", ["", "\n"])
def test_a_text_may_say_from(read: Any, tmp_path: Path, line: str, before: str) -> None:
    """A line that begins with From and is followed by no header belongs to the text."""
    (tmp_path / "x.mbox").write_text(f"From a@b\nSubject: 1\n\nbody\n{before}{line}\nend\n")
    ((_, (text,), _),) = read(tmp_path / "x.mbox")
    assert text.split()[-1] == "end"


def test_quoted_lines_of_an_mbox(read: Any, tmp_path: Path) -> None:
    """One > is taken away before From in an mbox (mboxrd); a single mail has no such quotes."""
    body = "Subject: a\n\n>From one\n>>From two\n> From three\n"
    (tmp_path / "x.mbox").write_text(f"From a@b\n{body}")
    (tmp_path / "y.eml").write_text(body)
    assert read(tmp_path / "x.mbox")[0][1] == ("a\nFrom one\n>From two\n> From three\n",)
    assert read(tmp_path / "y.eml")[0][1] == ("a\n>From one\n>>From two\n> From three\n",)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_an_mbox_that_arrives_in_pieces(stream_of: Any, size: int) -> None:
    """The mails do not depend on where the blocks end."""
    box = "".join(
        f"From \nSubject: {number}\n\nFrom now\n>From x\n" for number in range(30)
    ).encode()
    options = ReadOptions(UTF8, InputSettings())
    batches = [block.batch() for block in read_mbox(stream_of(box, size), options)]
    texts = [text for batch in batches for text in batch.columns[0]]
    assert texts == [f"{number}\nFrom now\nFrom x\n" for number in range(30)]


@pytest.mark.parametrize("first", ["From ada", "From ", "\n\nFrom ada@example.org"])
def test_an_mbox_is_recognized(read: Any, tmp_path: Path, first: str) -> None:
    """A file without a suffix that begins with a line `From …` and a usual header is an mbox."""
    (tmp_path / "box").write_text(f"{first}\nSubject: a\n\nb\n{first}\nSubject: c\n\nd\n")
    assert [texts[0].split() for _, texts, _ in read(tmp_path / "box")] == [["a", "b"], ["c", "d"]]


def test_a_transfer_encoding_with_something_appended() -> None:
    """Base64 after which a mailing list has written its own lines is decoded."""
    text = b2a_base64(b"hello world and so on").decode()
    assert text_of(f"Content-Transfer-Encoding: base64\n\n{text}\n--\nlisted\n", "body").startswith(
        "hello world and"
    )


@pytest.mark.usefixtures("hang_guard")
def test_many_parts_are_read(read: Any) -> None:
    """Nothing of a mail with very many parts is lost."""
    parts = "".join(f"--b\n\nw{number}\n" for number in range(30_000))
    text = text_of(f"Content-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n", "body")
    assert "w1\n" in text
    assert "w29999" in text


def test_a_tree_of_mails(read: Any, tmp_path: Path) -> None:
    """--input-format mbox on a tree: each file is a mail, or an mbox; labels are the folders."""
    separator = "From a@b Thu Nov 21 03:37:00 2024\n"
    for name, content in (
        ("ham/1", "Subject: one\n\n"),
        ("ham/2", f"{separator}Subject: two\n\n"),
        ("spam/3", f"{separator}Subject: three\n\n{separator}Subject: four\n\n"),
        ("spam/4", ""),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    documents = read(tmp_path, input_format="mbox")
    assert [
        (name.removeprefix(str(tmp_path)), texts[0].strip(), label)
        for name, texts, label in documents
    ] == [
        ("/ham/1", "one", "ham"),
        ("/ham/2", "two", "ham"),
        ("/spam/3:1", "three", "spam"),
        ("/spam/3:2", "four", "spam"),
        ("/spam/4", "", "spam"),
    ]


def test_a_maildir_gives_its_mails(opened: Any, read: Any, tmp_path: Path) -> None:
    """cur and new of a Maildir are read, tmp is not; in a tree the label is the folder that the
    Maildir lies in.
    """
    for name in ("ham", "spam"):
        box = mailbox.Maildir(tmp_path / name)
        box.add(b"Subject: one\n\nin new")
        box.add(mailbox.MaildirMessage(b"Subject: two\n\nin new"))
        (tmp_path / name / "tmp" / "half").write_text("Subject: half\n")
        (tmp_path / name / "dovecot-uidlist").write_text("3 V1")
    labels = [label for _, _, label in read(tmp_path)]
    assert labels == ["ham", "ham", "spam", "spam"]
    assert [label for _, _, label in read(tmp_path / "ham")] == [None, None]
    assert {texts[0].split()[0] for _, texts, _ in read(tmp_path / "ham")} == {"one", "two"}
    assert opened(tmp_path).skipped == {"beside the mails of a Maildir": 2}


@pytest.mark.parametrize("is_root", [True, False])
def test_folders_of_a_maildir_are_labels(
    opened: Any, read: Any, tmp_path: Path, is_root: bool
) -> None:
    """The hidden folders of a Maildir++ are labels, where it is the directory itself; deleted mails
    are counted.
    """
    box = mailbox.Maildir(tmp_path / "ham")
    box.add(b"Subject: one\n\n")
    spam = box.add_folder("Spam")
    spam.add(b"Subject: two\n\n")
    deleted = mailbox.MaildirMessage(b"Subject: three\n\n")
    deleted.set_flags("ST")
    spam.add(deleted)
    source = tmp_path / "ham" if is_root else tmp_path
    labels = [label for _, _, label in read(source)]
    assert labels == (["Spam", "INBOX"] if is_root else ["ham"])
    skipped = opened(source).skipped
    assert skipped["deleted mail"] == is_root
    assert skipped["hidden file or folder"] == (not is_root)


def test_headers_may_be_text_label_and_id(read: Any, opened: Any, tmp_path: Path) -> None:
    """--text-field, --label-field and --id-field may name headers; where there is no such header,
    the folder labels.
    """
    (tmp_path / "ham").mkdir()
    (tmp_path / "ham" / "1.eml").write_text(
        "Subject: a\nFrom: ada\nX-Spam: yes\nMessage-ID: <1>\nLabel: forged\n\nb\n"
    )
    (tmp_path / "ham" / "2.eml").write_text("Subject: c\n\nd\n")
    options = {"text_field": ("From", "body"), "label_field": "X-Spam", "id_field": "message-id"}
    assert read(tmp_path, **options) == [
        ("<1>", ("ada\nb\n",), "yes"),
        (f"{tmp_path}/ham/2.eml", ("\nd\n",), "ham"),
    ]
    # nobody asked for the header Label
    assert [label for _, _, label in read(tmp_path)] == ["ham", "ham"]
    source = opened(tmp_path, separate_fields=True, text_field=("subject", "body"))
    assert [batch.columns for batch in source.batches()] == [(["a", "c"], ["b\n", "d\n"])]


def test_a_mail_that_vanishes_is_a_problem_of_its_row(opened: Any, tmp_path: Path) -> None:
    """A mail that cannot be read is a problem of its row."""
    for number in range(3):
        (tmp_path / f"{number}.eml").write_text(f"Subject: {number}\n\n")
    source = opened(tmp_path)
    os.unlink(tmp_path / "1.eml")
    (batch,) = source.batches()
    assert [text.strip() for text in batch.columns[0]] == ["0", "", "2"]
    assert list(batch.problems) == [1]


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
def test_a_mail_has_at_most_as_many_bytes_as_a_document(
    problems: Any, tmp_path: Path, more: int, is_read: bool
) -> None:
    start = "From a@b Thu Jan  1 00:00:00 1970\n\n"
    (tmp_path / "box.mbox").write_text(start + "x" * (200 - len(start) + more - 1) + "\n")
    assert (problems(tmp_path / "box.mbox", max_document_bytes=200) == []) == is_read


def test_mails_are_bounded(problems: Any, tmp_path: Path) -> None:
    """A mail with more than max_document_bytes is a problem of its own, whether its lines are
    long or many.
    """
    separator = "From a@b Thu Nov 21 03:37:00 2024\n"
    mails = [
        "Subject: a\n\n",
        "x" * 300 + "\n\n",
        "A: b\n\n" + "y\n" * 200 + "\n",
        "Subject: b\n\n",
    ]
    (tmp_path / "x.mbox").write_text("".join(separator + mail for mail in mails))
    said = problems(tmp_path / "x.mbox", max_document_bytes=100)
    assert [line.split(": ")[0] for line in said] == [
        f"{tmp_path}/x.mbox:2",
        f"{tmp_path}/x.mbox:3",
    ]


@pytest.mark.exhaustive
def test_no_mail_of_spamassassin_is_lost(corpora: Any, opened: Any) -> None:
    """All 6,046 raw mails are read, each with some text."""
    folders = [folder for folder in sorted(corpora("spamassassin").iterdir()) if folder.is_dir()]
    source = opened(*folders, input_format="mbox")
    batches = list(source.batches())
    assert sum(map(len, batches)) == source.size == 6046
    assert not any(batch.problems for batch in batches)
    assert all(len(text) > 5 for batch in batches for text in batch.columns[0])
