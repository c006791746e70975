"""Directories: which files are documents, in which order, with which labels, and which files are
skipped.
"""

import errno
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.documents.files import list_tree, read_files
from nbtext.errors import InputError
from nbtext.kernel import PLAIN_VERSIONS

read_files_plainly: Any = PLAIN_VERSIONS["read_files"]


def plant(root: Path, *paths: str) -> Path:
    """Write files whose content is their own path."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    return root


def test_the_first_folder_is_the_label(read: Any, tmp_path: Path) -> None:
    """DIR/LABEL/**/FILE: the first folder labels all below it; a file in DIR itself has no
    label.
    """
    plant(tmp_path, "b/1", "b/deep/er/2", "a/3", "4")
    assert read(tmp_path) == [
        (f"{tmp_path}/4", ("4",), None),
        (f"{tmp_path}/a/3", ("a/3",), "a"),
        (f"{tmp_path}/b/1", ("b/1",), "b"),
        (f"{tmp_path}/b/deep/er/2", ("b/deep/er/2",), "b"),
    ]


def test_the_format_files_has_no_labels(read: Any, tmp_path: Path) -> None:
    """--input-format files reads the same documents without labels, and a single file as one
    document.
    """
    plant(tmp_path, "b/1", "a/2")
    assert [label for _, _, label in read(tmp_path, input_format="files")] == [None, None]
    assert read(tmp_path / "b" / "1", input_format="files") == [(f"{tmp_path}/b/1", ("b/1",), None)]


def test_ids_are_paths_as_typed(read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id is SOURCE as typed, joined with the relative path of the file."""
    plant(tmp_path, "d/l/1")
    monkeypatch.chdir(tmp_path)
    for typed, expected in (("d", "d/l/1"), ("d/", "d/l/1"), ("./d", "./d/l/1"), (".", "./d/l/1")):
        assert [identity for identity, _, _ in read(typed)] == [expected]


names = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=3
).filter(lambda name: name[0] not in ".~#," and name[-1] != "~")


@settings(max_examples=60)
@given(st.sets(st.lists(names, min_size=1, max_size=3).map(tuple), max_size=8))
def test_the_order_is_that_of_the_names(
    tmp_path_factory: pytest.TempPathFactory, paths: set[tuple[str, ...]]
) -> None:
    """Paths are sorted by the code points of their components, however the file system lists
    them.
    """
    root = tmp_path_factory.mktemp("tree")
    planted = set()
    for path in sorted(paths):
        try:
            plant(root, "/".join(path))
        except (NotADirectoryError, IsADirectoryError, FileExistsError):
            continue
        planted.add(path)
    if planted:
        paths = [file.path for file in list_tree(str(root)).files]
        assert paths == [os.path.join(root, *path) for path in sorted(planted)]


def test_what_is_passed_over_is_counted(opened: Any, tmp_path: Path) -> None:
    """Hidden files and folders, sockets, pipes, and links to nowhere are not documents; each kind
    is counted.
    """
    plant(tmp_path, "a/1", "a/.hidden", ".git/config", "a/.cache/x")
    os.mkfifo(tmp_path / "a" / "fifo")
    (tmp_path / "a" / "broken").symlink_to("nowhere")
    (tmp_path / "a" / "self").symlink_to("self")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "a" / "socket"))
        source = opened(tmp_path)
    assert source.size == 1
    assert source.skipped == {
        "hidden file or folder": 3,
        "not a regular file": 2,
        "broken symbolic link": 1,
        "symbolic link loop": 1,
    }


JUNK = "Thumbs.db desktop.ini x.txt~ Inbox.msf a.lock ~$letter.docx #x# __MACOSX/x.txt a/thumbs.DB _SUCCESS"


def test_what_other_programs_leave_is_skipped(opened: Any, tmp_path: Path) -> None:
    """Files of a system, an editor or a mail program are skipped and counted."""
    plant(tmp_path, *JUNK.split(), "a/1.txt", "a/._1.txt", "a/.DS_Store", "a/.1.txt.swp")
    source = opened(tmp_path)
    assert source.size == 1
    assert sorted(source.skipped.values()) == [3, 10]


@pytest.mark.parametrize(("level", "labels"), [(1, ["p", "q", None]), (2, ["ham", None, None])])
def test_the_label_is_a_folder_of_any_level(
    read: Any, tmp_path: Path, level: int, labels: list[str | None]
) -> None:
    """--label-level 2 is DIR/*/LABEL/**/FILE; a file above it has no label."""
    plant(tmp_path, "p/ham/x/1", "q/2", "3")
    found = {texts[0]: label for _, texts, label in read(tmp_path, label_level=level)}
    assert [found[name] for name in ("p/ham/x/1", "q/2", "3")] == labels


def test_links_are_followed_but_not_around(opened: Any, read: Any, tmp_path: Path) -> None:
    """A link to a folder or file is read like it; one that leads back up is counted and not
    entered.
    """
    plant(tmp_path, "real/1", "tree/a/2")
    (tmp_path / "tree" / "b").symlink_to(tmp_path / "real")
    (tmp_path / "tree" / "a" / "3").symlink_to(tmp_path / "real" / "1")
    (tmp_path / "tree" / "a" / "up").symlink_to(tmp_path / "tree")
    (tmp_path / "tree" / "a" / "here").symlink_to(".")
    assert [(texts[0], label) for _, texts, label in read(tmp_path / "tree")] == [
        ("tree/a/2", "a"),
        ("real/1", "a"),
        ("real/1", "b"),
    ]
    assert opened(tmp_path / "tree").skipped == {"symbolic link loop": 2}


@pytest.mark.parametrize("hidden", [False, True])
def test_a_tree_without_files_is_an_error(opened: Any, tmp_path: Path, hidden: bool) -> None:
    """An empty directory, or one of hidden files alone, is refused by name."""
    (tmp_path / "empty").mkdir()
    if hidden:
        plant(tmp_path, ".x")
    with pytest.raises(InputError, match="contains no file that nbtext reads") as caught:
        opened(tmp_path)
    assert caught.value.where == str(tmp_path)
    assert ("hidden file or folder: 1" in str(caught.value)) is hidden


def test_a_missing_path_is_an_error(opened: Any, tmp_path: Path) -> None:
    """A path that is not there is said at once, with what would help."""
    with pytest.raises(
        InputError, match="cannot be read: no such file or directory; check the path"
    ):
        opened(tmp_path / "missing")
    with pytest.raises(InputError, match="a path cannot contain a NUL character"):
        opened("a\0b")


def test_a_file_that_vanishes_is_a_problem_of_its_row(opened: Any, tmp_path: Path) -> None:
    """A file that is gone when it is read keeps its place, with an empty text and the reason."""
    plant(tmp_path, "a/1", "a/2", "a/3")
    source = opened(tmp_path)
    (tmp_path / "a" / "2").unlink()
    (batch,) = source.batches()
    assert batch.columns == (["a/1", "", "a/3"],)
    assert batch.labels == ["a", None, "a"]
    assert {row: str(problem) for row, problem in batch.problems.items()} == {
        1: f"{tmp_path}/a/2: cannot be read: no such file or directory; check the path"
    }


def test_files_are_bounded(problems: Any, read: Any, tmp_path: Path) -> None:
    """A file with more than max_document_bytes is a problem; one with exactly as many is a
    document.
    """
    plant(tmp_path, "a/12", "a/123")
    assert problems(tmp_path, max_document_bytes=4) == [
        f"{tmp_path}/a/123: the document has more than 4 bytes; divide it"
    ]


def test_names_that_are_no_text_are_kept(read: Any, tmp_path: Path) -> None:
    """A file or label whose name is not valid UTF-8 is read, and its name can be given back to the
    system.
    """
    folder = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    os.mkdir(folder)
    with open(os.path.join(folder, b"\xff"), "w") as file:
        file.write("text")
    ((identity, texts, label),) = read(tmp_path)
    assert os.fsencode(identity) == os.path.join(folder, b"\xff")
    assert (texts, os.fsencode(label)) == (("text",), b"caf\xe9")


def test_files_of_several_folders_are_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are opened relative to their folder: whatever the paths are, the content is that of the
    plain version.
    """
    monkeypatch.chdir(tmp_path)
    long = "d" * 250
    for folder in ("a", "a/b", "ab", "c", "/".join([long] * 20)):
        for name in folder.split("/"):  # a path of more than 4,096 bytes is made step by step
            Path(name).mkdir(exist_ok=True)
            os.chdir(name)
        Path("1").write_text(folder[:50])
        Path("2").write_text("2" + folder[:50])
        os.chdir(tmp_path)
    (tmp_path / "file").write_text("f")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "loop").symlink_to("loop")
    names = "a/1 a/2 a/b/1 a/1 ab/1 ab/2 file a/ a/missing missing/1 missing/2 file/1 link/1 link/2 loop/1 a//1 ./c/1"
    paths = [name.encode() for name in names.split()]
    paths += [
        bytes(tmp_path / "c/1"),
        bytes(tmp_path / "c/2"),
        b"/etc",
        b"/",
        b"",
        b"c/1\0",
        "/".join([long] * 20 + ["1"]).encode(),
    ]
    found = read_files(paths, 100)
    assert found[paths.index(b"c/1\0")] == errno.EINVAL
    assert found == read_files_plainly(paths, 100)
    assert found[:7] == [b"a", b"2a", b"a/b", b"a", b"ab", b"2ab", b"f"]
    descriptors = Path("/proc/self/fd")
    if descriptors.exists():
        n_open = len(list(descriptors.iterdir()))
        read_files(paths * 20, 100)
        assert len(list(descriptors.iterdir())) == n_open


@pytest.mark.parametrize("read_files", [read_files, read_files_plainly], ids=["installed", "plain"])
def test_reading_files_gives_content_or_the_error(read_files: Any, tmp_path: Path) -> None:
    """The one function that reads files, and its plain version: bytes, or an error number; a pipe
    blocks neither.
    """
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "fifo")
    paths = [os.fsencode(tmp_path / name) for name in ("file", "empty", "fifo", "missing", ".")]
    assert read_files(paths, 5) == [b"12345", b"", errno.EINVAL, errno.ENOENT, errno.EINVAL]
    assert read_files(paths[:1], 4) == [errno.EFBIG]
    # its size is said to be 0
    assert isinstance(read_files([b"/proc/self/status"], 100_000)[0], bytes)


def test_a_deep_tree_is_no_recursion(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More folders within one another than Python's recursion goes deep are walked all the same."""
    monkeypatch.chdir(tmp_path)
    depth = 1100
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    Path("file").touch()
    try:
        assert opened(tmp_path).size == 1
    finally:  # shutil.rmtree, which clears up after the tests, would recurse
        Path("file").unlink()
        for _ in range(depth):
            os.chdir("..")
            os.rmdir("d")


def test_many_files_come_in_order_by_hundreds(opened: Any, tmp_path: Path) -> None:
    """A directory is listed at once, and read a few hundred files at a time."""
    for number in range(1000):
        (tmp_path / f"{number:04}").touch()
    blocks = list(opened(tmp_path).blocks())
    assert [block.size for block in blocks] == [256, 256, 256, 232]
    assert [path[-4:] for block in blocks for path in block.batch().ids] == [
        f"{number:04}" for number in range(1000)
    ]


def test_large_files_come_one_by_one(opened: Any, tmp_path: Path) -> None:
    """Memory holds some megabytes of documents at a time: fewer files make a block where they are
    large.
    """
    for number in range(40):
        (tmp_path / f"{number:02}").touch()
        os.truncate(tmp_path / f"{number:02}", 4_000_000)
    assert [block.size for block in opened(tmp_path).blocks()] == [2] * 20
