"""PDF and Word files: read where the libraries are installed, skipped or refused where not, whatever they hold."""

import io
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pypdf = pytest.importorskip("pypdf")
docx = pytest.importorskip("docx")

TOP = Path(__file__).parents[2]
TRASH = "the bins were not emptied and the trash truck did not come"
STREETS = "there is a hole in our road and the street light is broken"


def pdf(*texts: str, content: bytes | None = None, n_objects: int = 0) -> bytes:
    """Return a PDF file with a page for each text."""
    pages = [content if content is not None else f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() for text in texts]
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {n_objects or len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, page in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        packed = zlib.compress(page, 9)
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed))
    out, places = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))


def encrypted(password: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(TRASH)))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def word(*paragraphs: str, cells: tuple[str, ...] = ()) -> bytes:
    document = docx.Document()
    for each in paragraphs:
        document.add_paragraph(each)
    if cells:
        for cell, text in zip(document.add_table(1, len(cells)).rows[0].cells, cells, strict=True):
            cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def replace_member(content: bytes, name: str, data: bytes) -> bytes:
    """Return a Word file with another content of one of its parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            new.writestr(member.filename, data if member.filename == name else old.read(member))
    return out.getvalue()


def without_libraries(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which the libraries cannot be imported."""
    (tmp_path / "lacking").mkdir()
    (tmp_path / "lacking/sitecustomize.py").write_text("import sys\nsys.modules.update(pypdf=None, docx=None)\n")
    return {"PYTHONPATH": f"{tmp_path / 'lacking'}{os.pathsep}{TOP}"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder of letters in both formats, beside plain text."""
    for label, text in (("trash", TRASH), ("streets", STREETS)):
        folder = tmp_path / "td" / label
        folder.mkdir(parents=True)
        (folder / "1.pdf").write_bytes(pdf(text, f"second{label}"))
        (folder / "2.docx").write_bytes(word(*text.split(" and "), cells=("cell", f"last{label}")))
        (folder / "3.txt").write_text(text)
    return tmp_path


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_files_are_read_as_text(nbtext: Any, tree: Path, jobs: str) -> None:
    """Every page, paragraph and cell is counted, for any number of threads; the file is the document."""
    ran = nbtext("train", "td", "-o", "m", "-j", jobs, "--model", "multinomial", cwd=tree)
    assert "6 documents, 2 labels" in ran.err
    assert "skipped" not in ran.err
    features = nbtext("inspect", "m", "--features", "100", cwd=tree).out
    for feature in ("secondtrash", "secondstreets", "laststreets", "hole", "emptied"):
        assert f"\t{feature}\t" in features
    assert "endobj" not in features
    out = nbtext("predict", "td", "-m", "m", "-j", jobs, cwd=tree).out
    assert [line.split("\t")[:2] for line in out.splitlines()] == [
        [f"td/{label}/{name}", label] for label in ("streets", "trash") for name in ("1.pdf", "2.docx", "3.txt")
    ]
    alone = [nbtext("predict", line.split("\t")[0], "-m", "m", cwd=tree).out for line in out.splitlines()]
    assert "".join(alone) == out
    piped = nbtext("predict", "-", "-m", "m", input=(tree / "td/trash/1.pdf").read_bytes(), cwd=tree).out
    assert piped.split("\t")[1] == "trash"


def test_models_and_bytes_for_any_number_of_threads(nbtext: Any, tree: Path) -> None:
    for jobs in ("1", "3"):
        nbtext("train", "td", "-q", "-o", f"m{jobs}", "-j", jobs, cwd=tree).ok()
    assert (tree / "m1").read_bytes() == (tree / "m3").read_bytes()


def test_without_the_libraries(nbtext: Any, tree: Path) -> None:
    """They are skipped with a count and a hint, or refused where they are named."""
    lacking = without_libraries(tree)
    ran = nbtext("train", "td", "-o", "m", cwd=tree, **lacking).ok()
    assert "2 documents" in ran.err
    assert (
        "skipped 2: PDF file (install nbtext[office], or extract its text first, for example with pdftotext)" in ran.err
    )
    assert (
        "skipped 2: office document (save it as plain text, or a table as CSV; nbtext[office] reads Word files)"
        in ran.err
    )
    ran = nbtext("predict", "td/trash/1.pdf", "-m", "m", cwd=tree, **lacking).refused(1)
    assert ran.err == (
        "nbtext: td/trash/1.pdf: is a PDF file, not text; install nbtext[office], or extract its text first, "
        "for example with pdftotext\n"
    )


def bomb() -> bytes:
    """A Word file of a megabyte that has a gigabyte of text."""
    out = io.BytesIO(replace_member(word("x"), "word/document.xml", b""))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("word/more.xml", "w") as member:
        for _ in range(1 << 10):
            member.write(b" " * (1 << 20))
    return out.getvalue()


def laughs() -> bytes:
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    xml = (
        f'<!DOCTYPE d [<!ENTITY l0 "lol">{entities}]><w:document xmlns:w="http://schemas.openxmlformats.org/'
        'wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&l11;</w:t></w:r></w:p></w:body></w:document>'
    )
    return replace_member(word("x"), "word/document.xml", xml.encode())


def looped_pages() -> bytes:
    return pdf("x").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]")


def inflated() -> bytes:
    """A PDF file with a page of a quarter of a gigabyte."""
    packer, blank = zlib.compressobj(9), b" " * (1 << 20)
    packed = b"".join([packer.compress(b"("), *(packer.compress(blank) for _ in range(256)), packer.flush()])
    old = pdf("x", content=b"x" * 1000)
    start, end = old.index(b"stream\n") + 7, old.index(b"\nendstream")
    length = b"/Length %d " % (end - start)
    return old[:start].replace(length, b"/Length %d " % len(packed)) + packed + old[end:]


def deep() -> bytes:
    return pdf("x", content=b"[" * 200_000)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "locked.pdf": (lambda: encrypted("secret"), "encrypted PDF file (save it without a password)"),
    "scan.pdf": (lambda: pdf("", ""), "empty or scanned PDF file"),
    "cut.pdf": (lambda: pdf(TRASH)[:60], "broken PDF file"),
    "noise.pdf": (lambda: b"%PDF-1.7\n" + bytes(range(256)) * 50, "broken PDF file"),
    "loop.pdf": (looped_pages, "PDF file"),
    "many.pdf": (lambda: pdf("x", n_objects=10**9).replace(TRASH.encode(), b""), ""),
    "deep.pdf": (deep, "PDF file"),
    "inflated.pdf": (inflated, "PDF file"),
    "cut.docx": (lambda: word(TRASH)[:-100], "broken Word file"),
    "empty.docx": (word, "empty or scanned Word file"),
    "broken.docx": (lambda: replace_member(word("x"), "word/document.xml", b"<w:p"), "broken Word file"),
    "bomb.docx": (bomb, "too complex Word file"),
    "laughs.docx": (laughs, "Word file"),
    "table.xlsx": (lambda: replace_member(word("x"), "x", b"").replace(b"word/document.xml", b"xl/workbook12.xml"), ""),
}


@pytest.mark.exhaustive(every=5)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(nbtext_alone: Any, model: str, tmp_path: Path, name: str) -> None:
    """In a directory they have a record, and are read or named; alone, one clear line. Memory and time are bounded."""
    make, kind = HOSTILE[name]
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / name).write_bytes(make())
    (tmp_path / "d/plain.txt").write_text(TRASH)
    ran = nbtext_alone("predict", "d", "-m", model).ok()
    assert "d/plain.txt\ttrash" in ran.out
    assert ran.out.count("\n") == 2
    is_skipped = "could not be read" in ran.err
    if kind:
        assert (kind.partition(" (")[0] in ran.err) == is_skipped
        assert is_skipped or name in ("loop.pdf", "deep.pdf", "laughs.docx")
    assert ran.err.count("\n") == is_skipped
    named = nbtext_alone("predict", f"d/{name}", "-m", model)
    assert named.err.count("\n") <= 1
    assert "Traceback" not in named.err
    if is_skipped:
        assert named.out.split("\t")[:2] == [f"d/{name}", ""] or "not text" in named.err
    assert ran.seconds + named.seconds < 150
    assert max(ran.peak, named.peak) < 2 << 30


def test_a_password_for_changes_only_is_no_obstacle(nbtext: Any, model: str, tmp_path: Path) -> None:
    (tmp_path / "x.pdf").write_bytes(encrypted(""))
    assert nbtext("predict", "x.pdf", "-m", model).out.split("\t")[1] == "trash"


def test_a_text_above_the_limit(nbtext: Any, model: str, tmp_path: Path) -> None:
    (tmp_path / "x.docx").write_bytes(word(*[TRASH] * 5000))
    ran = nbtext("predict", "x.docx", "-m", model, "--max-document-bytes", "100000", "--to", "jsonl")
    assert "the document has more than 100,000 bytes" in ran.out
    assert nbtext("predict", "x.docx", "-m", model).out.split("\t")[1] == "trash"


def test_text_is_data(nbtext: Any, model: str, tmp_path: Path) -> None:
    """Modules of the folder in which the command runs are not imported by the process that reads."""
    for name in ("pypdf", "docx", "nbtext", "zipfile"):
        (tmp_path / f"{name}.py").write_text(f"open('ran-{name}', 'w')")
    (tmp_path / "x.pdf").write_bytes(pdf(TRASH))
    (tmp_path / "x.docx").write_bytes(word(TRASH))
    for name in ("x.pdf", "x.docx"):
        assert nbtext("predict", name, "-m", model).out.split("\t")[1] == "trash"
    assert not list(tmp_path.glob("ran-*"))
