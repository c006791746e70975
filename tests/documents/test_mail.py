"""Mails: their text and headers, in mbox files, Maildirs and single files."""

import mailbox
import os
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.documents.decoding import encoding_of
from nbtext.documents.mail import is_separator, parse_mail
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
    """The text of a mail is its subject and its body, out of encoded words and transfer encodings."""
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
    """ASCII with other bytes is in the encoding of the settings, and only what is invalid there is replaced."""
    for charset in ("us-ascii", "x-unknown"):
        head = f"Content-Type: text/plain; charset={charset}\n\n".encode()
        assert text_of(head + "naïve ".encode() + b"caf\xe9", "body") == "naïve caf\ufffd"


def test_of_alternatives_without_a_plain_one_the_first_is_read() -> None:
    kinds = "".join(f"--b\nContent-Type: text/{kind}\n\n{kind} text\n" for kind in ("enriched", "html", "richtext"))
    mail = f"Content-Type: multipart/alternative; boundary=b\n\n{kinds}--b--\n"
    assert text_of(mail, "body").strip() == "enriched text"


def test_of_alternatives_the_plain_one_is_read() -> None:
    """multipart/alternative gives the plain text if it is not empty, otherwise the HTML."""
    assert text_of(bytes(message("plain", "<p>html</p>")), "body").strip() == "plain"
    assert text_of(bytes(message("  \n", "<p>html<script>no</script></p>")), "body").strip() == "html"


def test_attachments_are_left_out() -> None:
    """Attachments are not text, also if they are text files or mails; a mail that is forwarded inline is."""
    mail = message("body")
    mail.add_attachment("attached notes", filename="notes.txt")
    mail.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="x.png")
    mail.add_attachment(message("attached mail"))
    assert text_of(bytes(mail), "body").strip() == "body"
    forwarded = "--b\n\nfirst\n--b\nContent-Type: message/rfc822\n\nSubject: x\n\ninner\n--b--"
    assert text_of(f"Content-Type: multipart/mixed; boundary=b\n\n{forwarded}", "body").split() == ["first", "inner"]


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
        (b"Content-Transfer-Encoding: x-uuencode\n\nbegin 644 x\nbroken", None),
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


@settings(max_examples=60, deadline=None)
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


@pytest.mark.parametrize("name", ["1.eml", "1.EML"])
def test_a_mail_file_is_a_document(read: Callable[..., Any], tmp_path: Path, name: str) -> None:
    """A .eml file by itself, or in a tree beside texts, is one mail with its path as id."""
    (tmp_path / "ham").mkdir()
    (tmp_path / "ham" / name).write_bytes(b"From x Thu Nov 21 03:37:00 2024\nSubject: a\n\nb\n\nFrom here on\n")
    (tmp_path / "ham" / "2.txt").write_text("Subject: a\n\nb")
    expected = (f"{tmp_path}/ham/{name}", ("a\nb\n\nFrom here on\n",), "ham")
    assert read(tmp_path) == [expected, (f"{tmp_path}/ham/2.txt", ("Subject: a\n\nb",), "ham")]
    assert read(tmp_path / "ham" / name) == [(*expected[:2], None)]


@pytest.mark.usefixtures("hang_guard")
@pytest.mark.parametrize("line", [b"@" * 1_000_000 + b" x", b"Mon " * 250_000, b"Mon 1:" * 150_000, b"a@" * 500_000])
def test_long_lines_are_compared_in_linear_time(line: bytes) -> None:
    """A line of a megabyte that begins like an mbox separator, but is not one, is recognized in linear time."""
    assert not is_separator(b"From " + line + b"\n x")


def test_an_mbox_gives_its_mails(read: Callable[..., Any], tmp_path: Path) -> None:
    """The mails that Python's mailbox module writes are read back, with quoted From lines, and numbered."""
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


def test_a_line_that_begins_with_from_is_no_separator(read: Callable[..., Any], tmp_path: Path) -> None:
    """Only a line with an address or a date, after a blank one, separates mails."""
    content = (
        "From a@b Thu Nov 21 03:37:00 2024\nSubject: 1\n\nbody\nFrom c@d Thu Nov 21 03:37:00 2024\n\n"
        "From here on, all\n\nFrom e@f\nSubject: 2\n\nFrom Monday at 10:30 in 1999 we\n"
    )
    (tmp_path / "x").write_text(content)
    assert [texts[0].split()[0] for _, texts, _ in read(tmp_path / "x", input_format="mbox")] == ["1", "2"]


def test_a_tree_of_mails(read: Callable[..., Any], tmp_path: Path) -> None:
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
    assert [(name.removeprefix(str(tmp_path)), texts[0].strip(), label) for name, texts, label in documents] == [
        ("/ham/1", "one", "ham"),
        ("/ham/2", "two", "ham"),
        ("/spam/3:1", "three", "spam"),
        ("/spam/3:2", "four", "spam"),
        ("/spam/4", "", "spam"),
    ]


def test_a_maildir_gives_its_mails(opened: Callable[..., Any], read: Callable[..., Any], tmp_path: Path) -> None:
    """cur and new of a Maildir are read, tmp is not; in a tree the label is the folder that the Maildir lies in."""
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


def test_headers_may_be_text_label_and_id(read: Callable[..., Any], opened: Any, tmp_path: Path) -> None:
    """--text-field, --label-field and --id-field may name headers; where there is no such header, the folder labels."""
    (tmp_path / "ham").mkdir()
    (tmp_path / "ham" / "1.eml").write_text("Subject: a\nFrom: ada\nX-Spam: yes\nMessage-ID: <1>\nLabel: forged\n\nb\n")
    (tmp_path / "ham" / "2.eml").write_text("Subject: c\n\nd\n")
    options = {"text_field": ("From", "body"), "label_field": "X-Spam", "id_field": "message-id"}
    assert read(tmp_path, **options) == [("<1>", ("ada\nb\n",), "yes"), (f"{tmp_path}/ham/2.eml", ("\nd\n",), "ham")]
    assert [label for _, _, label in read(tmp_path)] == ["ham", "ham"]  # nobody asked for the header Label
    source = opened(tmp_path, separate_fields=True, text_field=("subject", "body"))
    assert [batch.columns for batch in source.batches()] == [(["a", "c"], ["b\n", "d\n"])]


def test_a_mail_that_vanishes_is_a_problem_of_its_row(opened: Callable[..., Any], tmp_path: Path) -> None:
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
    problems: Callable[..., Any], tmp_path: Path, more: int, is_read: bool
) -> None:
    start = "From a@b Thu Jan  1 00:00:00 1970\n\n"
    (tmp_path / "box.mbox").write_text(start + "x" * (200 - len(start) + more - 1) + "\n")
    assert (problems(tmp_path / "box.mbox", max_document_bytes=200) == []) == is_read


def test_mails_are_bounded(problems: Callable[..., Any], tmp_path: Path) -> None:
    """A mail with more than --max-document-bytes is a problem of its own, whether its lines are long or many."""
    separator = "From a@b Thu Nov 21 03:37:00 2024\n"
    mails = ["Subject: a\n\n", "x" * 300 + "\n\n", "y\n" * 200 + "\n", "Subject: b\n\n"]
    (tmp_path / "x.mbox").write_text("".join(separator + mail for mail in mails))
    said = problems(tmp_path / "x.mbox", max_document_bytes=100)
    assert [line.split(": ")[0] for line in said] == [f"{tmp_path}/x.mbox:2", f"{tmp_path}/x.mbox:3"]


@pytest.mark.exhaustive
def test_no_mail_of_spamassassin_is_lost(corpora: Callable[[str], Path], opened: Callable[..., Any]) -> None:
    """All 6,046 raw mails are read, each with some text."""
    folders = [folder for folder in sorted(corpora("spamassassin").iterdir()) if folder.is_dir()]
    source = opened(*folders, input_format="mbox")
    batches = list(source.batches())
    assert sum(map(len, batches)) == source.size == 6046
    assert not any(batch.problems for batch in batches)
    assert all(len(text) > 5 for batch in batches for text in batch.columns[0])
