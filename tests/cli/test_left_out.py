"""Documents that are left out: each is named, has a record, or is left out because an option says
so.
"""

import zipfile
from pathlib import Path
from typing import Any

import pytest

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
TABLE = "text,label\nwin cash,spam\nno idea,\nlunch,ham\nnoon lunch,ham\nprize,spam\n"


@pytest.fixture
def tree(nbtext: Any, tmp_path: Path) -> Path:
    """A folder of texts with files of other kinds, and a model of it."""
    for name, text in {
        "a/1.txt": "red apple",
        "a/3.txt": "sweet apple",
        "b/1.txt": "a banana",
        "b/2.txt": "banana",
    }.items():
        (tmp_path / "td" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "td" / name).write_text(text)
    nbtext("train td -q -o m").ok()
    (tmp_path / "td/a/2.png").write_bytes(PNG)
    (tmp_path / "td/b/.hidden").write_text("x")
    (tmp_path / "td/README.md").write_text("about")
    (tmp_path / "td/b/model").write_bytes((tmp_path / "m").read_bytes())
    return tmp_path


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_a_file_that_is_not_text_has_a_record_in_its_place(
    nbtext: Any, tree: Path, jobs: str
) -> None:
    """Outputs of nbtext and files about the folder are not documents; they are counted."""
    ran = nbtext(f"predict td -m m --to jsonl -j {jobs}", cwd=tree)
    records = ran.records
    assert [record["id"] for record in records] == [
        f"td/{name}" for name in ("a/1.txt", "a/2.png", "a/3.txt", "b/1.txt", "b/2.txt")
    ]
    assert (records[1]["label"], records[1]["reason"]) == (
        None,
        "td/a/2.png: is an image, not text",
    )
    assert "1 document could not be read; the first is td/a/2.png: is an image, not text" in ran.err
    assert "skipped 1: nbtext model" in ran.err and "skipped 1: file about the directory" in ran.err
    lines = nbtext("predict td -m m --input-format lines", cwd=tree).out.splitlines()
    unread = [line.split("\t")[0] for line in lines if not line.split("\t")[1]]
    assert unread == ["td/a/2.png"]


def test_each_skipped_file_is_named_with_v(nbtext: Any, tree: Path) -> None:
    for extra in ((), ("--input-format", "lines", "--label", "x")):
        said = nbtext("train", "td", "-v", "-o", "n", "--force", *extra, cwd=tree).err
        for line in (
            "td/a/2.png: image",
            "td/b/.hidden: hidden file or folder",
            "td/b/model: nbtext model",
        ):
            assert f"nbtext: skipped {line}\n" in said
    said = nbtext("train td -v -o n --exclude 1.*", cwd=tree).err
    assert (
        "nbtext: skipped td/README.md: file about the directory, such as README or LICENSE\n"
        in said
    )
    assert "nbtext: skipped td/a/1.txt: excluded by --exclude\n" in said
    assert "1.txt" not in nbtext("train td -o n --exclude 1.*", cwd=tree).err


@pytest.mark.parametrize("command", ["train -o m", "predict -m MODEL", "inspect"])
def test_an_office_document_is_not_a_matrix(
    nbtext: Any, model: str, tmp_path: Path, command: str
) -> None:
    """Whether it is whole or cut, the message says what it is and what to do."""
    with zipfile.ZipFile(tmp_path / "table.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<a/>" * 100)
    (tmp_path / "cut.docx").write_bytes((tmp_path / "table.xlsx").read_bytes()[:60])
    for name in ("table.xlsx", "cut.docx"):
        said = nbtext(*command.replace("MODEL", model).split(), name).refused(1, f"{name}: ").err
        assert "matrix" not in said.replace("a matrix file", "")
        assert any(hint in said for hint in ("save it", "write it again", "nbtext train")), said
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04" + bytes(40))
    nbtext("train broken.npz -o m").refused(1, "is not a valid matrix file")


def test_rows_without_a_label_are_left_out_on_request(nbtext: Any, tmp_path: Path) -> None:
    """The model is that of the other rows; without the option, the error names it."""
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "labeled.csv").write_text(TABLE.replace("no idea,\n", ""))
    plain = ("--model", "multinomial")
    for options in (plain, ()):
        ran = nbtext("train", "t.csv", *options, "--skip-unlabeled", "-o", "m")
        assert ran.status == 0 and "skipped 1: without a label (--skip-unlabeled)\n" in ran.err
        nbtext("train", "labeled.csv", *options, "-o", "n").ok()
        assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    for command in (
        ("train", "t.csv", "-o", "x"),
        ("evaluate", "t.csv", "-m", "m"),
        ("evaluate", "t.csv", "--folds", "2", *plain),
        ("compare", "t.csv", "-m", "m", "-m", "n"),
        ("update", "m", "t.csv", "-o", "x"),
        ("forget", "m", "t.csv", "-o", "x"),
        ("calibrate", "m", "t.csv", "-o", "x"),
    ):
        ran = nbtext(*command)
        assert ran.status == 1 and "t.csv:3" in ran.err and "--skip-unlabeled" in ran.err, (
            command,
            ran.err,
        )
        ran = nbtext(*command, "--skip-unlabeled")
        assert "t.csv:3" not in ran.err, ran.err
        assert "skipped 1: without a label" in ran.err or command[0] == "forget", ran.err
    nbtext("predict t.csv -m m --skip-unlabeled").refused(2)
