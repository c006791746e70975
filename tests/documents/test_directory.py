"""Directories: which files are documents, in which order, with which labels, and which files are
skipped.
"""

import errno
import gc
import gzip
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.documents import files
from nbtext.documents.files import Contents, ReadAhead, list_tree, read_files, read_files_plainly
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError

needs_contents = pytest.mark.skipif(Contents is None, reason="files are read ahead by the kernel")


def plant(root: Path, *paths: str) -> Path:
    """Write files whose content is their own path."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    return root


def test_the_first_folder_is_the_label(read: Callable[..., Any], tmp_path: Path) -> None:
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


def test_the_format_files_has_no_labels(read: Callable[..., Any], tmp_path: Path) -> None:
    """--input-format files reads the same documents without labels, and a single file as one
    document.
    """
    plant(tmp_path, "b/1", "a/2")
    assert [label for _, _, label in read(tmp_path, input_format="files")] == [None, None]
    assert read(tmp_path / "b" / "1", input_format="files") == [(f"{tmp_path}/b/1", ("b/1",), None)]


def test_ids_are_paths_as_typed(
    read: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An id is SOURCE as typed, joined with the relative path of the file."""
    plant(tmp_path, "d/l/1")
    monkeypatch.chdir(tmp_path)
    for typed, expected in (("d", "d/l/1"), ("d/", "d/l/1"), ("./d", "./d/l/1"), (".", "./d/l/1")):
        assert [identity for identity, _, _ in read(typed)] == [expected]


names = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=3
).filter(lambda name: not name.startswith("."))


@settings(max_examples=60, deadline=None)
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
        assert list_tree(str(root)).paths == [os.path.join(root, *path) for path in sorted(planted)]


def test_what_is_passed_over_is_counted(opened: Callable[..., Any], tmp_path: Path) -> None:
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


def test_links_are_followed_but_not_around(
    opened: Callable[..., Any], read: Callable[..., Any], tmp_path: Path
) -> None:
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
def test_a_tree_without_files_is_an_error(
    opened: Callable[..., Any], tmp_path: Path, hidden: bool
) -> None:
    """An empty directory, or one of hidden files alone, is refused by name."""
    (tmp_path / "empty").mkdir()
    if hidden:
        plant(tmp_path, ".x")
    with pytest.raises(InputError, match="contains no file that nbtext reads") as caught:
        opened(tmp_path)
    assert caught.value.where == str(tmp_path)
    assert ("hidden file or folder: 1" in str(caught.value)) is hidden


def test_a_missing_path_is_an_error(opened: Callable[..., Any], tmp_path: Path) -> None:
    """A path that is not there is said at once, with what would help."""
    with pytest.raises(
        InputError, match="cannot be read: no such file or directory; check the path"
    ):
        opened(tmp_path / "missing")
    with pytest.raises(InputError, match="a path cannot contain a NUL character"):
        opened("a\0b")


def test_a_file_that_vanishes_is_a_problem_of_its_row(
    opened: Callable[..., Any], tmp_path: Path
) -> None:
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_is_forbidden_is_said(
    opened: Callable[..., Any], problems: Callable[..., Any], tmp_path: Path
) -> None:
    """A forbidden file is a problem of its document; a forbidden folder is counted."""
    plant(tmp_path, "a/1", "a/2", "b/3")
    (tmp_path / "a" / "1").chmod(0)
    (tmp_path / "b").chmod(0)
    try:
        assert "permission denied" in problems(tmp_path)[0]
        assert opened(tmp_path).skipped == {"unreadable folder": 1}
    finally:
        (tmp_path / "b").chmod(0o700)


def test_files_are_bounded(
    problems: Callable[..., Any], read: Callable[..., Any], tmp_path: Path
) -> None:
    """A file with more than --max-document-bytes is a problem; one with exactly as many is a
    document.
    """
    plant(tmp_path, "a/12", "a/123")
    assert problems(tmp_path, max_document_bytes=4) == [
        f"{tmp_path}/a/123: the document has more than 4 bytes; raise the limit with --max-document-bytes"
    ]


def test_names_that_are_no_text_are_kept(read: Callable[..., Any], tmp_path: Path) -> None:
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
def test_reading_files_gives_content_or_the_error(
    read_files: Callable[..., Any], tmp_path: Path
) -> None:
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
    opened: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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


def test_many_files_come_in_order_by_hundreds(opened: Callable[..., Any], tmp_path: Path) -> None:
    """A directory is listed at once, and read a few hundred files at a time."""
    for number in range(1000):
        (tmp_path / f"{number:04}").touch()
    blocks = list(opened(tmp_path).blocks())
    assert [block.size for block in blocks] == [256, 256, 256, 232]
    assert [path[-4:] for block in blocks for path in block.batch().ids] == [
        f"{number:04}" for number in range(1000)
    ]


def test_large_files_come_one_by_one(opened: Callable[..., Any], tmp_path: Path) -> None:
    """Memory holds some megabytes of documents at a time: fewer files make a block where they are
    large.
    """
    for number in range(40):
        (tmp_path / f"{number:02}").touch()
        os.truncate(tmp_path / f"{number:02}", 4_000_000)
    assert [block.size for block in opened(tmp_path).blocks()] == [2] * 20


@needs_contents
def test_contents_are_read_until_they_have_enough_bytes(tmp_path: Path) -> None:
    """Reading ahead ends after the file that makes the bytes enough, or at once if it is
    stopped.
    """
    for name in "abc":
        (tmp_path / name).write_text(name * 4)
    paths = [os.fsencode(tmp_path / name) for name in ("a", "missing", "b", "c")]
    contents = Contents(paths, 100)
    assert (len(contents), contents.take(0, 4)) == (0, [])
    contents.read(8)
    assert len(contents) == 3
    assert contents.take(0, 4) == [b"aaaa", errno.ENOENT, b"bbbb"]
    assert contents.take(1, 2) == [errno.ENOENT]
    many = Contents(paths * 200, 100)
    many.read(1 << 30)
    assert many.take(0, 300) + many.take(300, 511) + many.take(511, 900) == read_files_plainly(
        paths * 200, 100
    )
    stopped = Contents(paths, 100)
    stopped.stop()
    stopped.read(100)
    assert len(stopped) == 0


TAKEN = """
import gc, sys, threading
from nbtext.documents.files import Contents
contents = Contents([sys.argv[1].encode()] * 20_000, 1 << 20)
thread = threading.Thread(target=contents.read, args=(1 << 40,))
thread.start()
refused = 0
while thread.is_alive():
    for call in (lambda: contents.take(0, 10), lambda: contents.take(300, 900), lambda: contents.read(1)):
        try:
            call()
        except RuntimeError:
            refused += 1
thread.join()
assert contents.take(300, 301) == [b"x" * 5000]
print(refused > 0, len(contents))
"""


@needs_contents
def test_contents_that_are_being_read_cannot_be_taken(tmp_path: Path) -> None:
    """An error, and not a segmentation fault, which would end this process."""
    (tmp_path / "x").write_bytes(b"x" * 5000)
    command = [sys.executable, "-c", TAKEN, str(tmp_path / "x")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "True 20000\n"), done.stderr


@needs_contents
def test_contents_that_were_freed_cannot_be_taken(tmp_path: Path) -> None:
    """Neither those before the ones that were taken, nor those before the first; behind the last
    there are none.
    """
    (tmp_path / "x").write_bytes(b"x")
    contents = Contents([os.fsencode(tmp_path / "x")] * 1000, 100)
    contents.read(1 << 20)
    with pytest.raises(RuntimeError, match="read once"):
        contents.read(1)
    assert contents.take(600, 602) == [b"x", b"x"]
    for start in (0, 511, -1):
        with pytest.raises(IndexError):
            contents.take(start, 900)
    assert contents.take(512, 513) == [b"x"]
    assert contents.take(1 << 40, 1 << 41) == []


@needs_contents
def test_contents_in_a_cycle_are_freed(tmp_path: Path) -> None:
    """The collector takes away their list of paths before it frees them."""
    contents = Contents([os.fsencode(tmp_path)] * 1000, 100)
    contents.read(1)
    held = [each for each in gc.get_referents(contents) if isinstance(each, list)]
    paths = next((each for each in held if len(each) == 1000), [])
    paths.append(contents)
    del contents, paths
    gc.collect()  # what goes wrong meanwhile is a warning, and so an error


@pytest.mark.parametrize("n_bytes", [0, 3_000, 1 << 24])
def test_reading_ahead_changes_nothing(
    opened: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_bytes: int
) -> None:
    """Documents, labels, problems and skipped files are the same, wherever the thread that reads
    ahead has stopped.
    """
    monkeypatch.setattr(files, "AHEAD_BYTES", n_bytes)
    plant(
        tmp_path / "a",
        *(f"{label}/{number:03}" for label in "xyz" for number in range(300)),
        "README",
        ".hidden",
    )
    (tmp_path / "a/x/007").write_bytes(b"caf\xe9")
    (tmp_path / "a/x/008").write_bytes(b"\x7fELF\0")
    (tmp_path / "a/y/large").write_text("y" * 1000)
    (tmp_path / "a/z/100.gz").write_bytes(gzip.compress(b"unpacked"))
    (tmp_path / "a/z/200.html").write_text("<p>of html")
    (tmp_path / "a/z/300.eml").write_text("Subject: mail\n\nbody")
    plant(tmp_path / "b", "x/1")
    settings = InputSettings(max_document_bytes=999, exclude=("12*",))
    paths = [str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "a")]
    outputs = ("-", str(tmp_path / "a/x/006"))
    ahead = ReadAhead(paths, settings, outputs)
    found, expected = (
        open_source(paths, settings, outputs=outputs, ahead=each) for each in (ahead, None)
    )
    # it can be read again
    assert all(describe(source) == describe(expected) for source in (found, found))
    assert found.skipped == expected.skipped
    assert found.size == expected.size


def describe(source: Any) -> list[tuple[Any, ...]]:
    """Each document, its texts, and what is wrong with it."""
    return [
        (identity, label, [column[row] for column in batch.columns], str(batch.problems.get(row)))
        for batch in source.batches()
        for row, (identity, label) in enumerate(zip(batch.ids, batch.labels, strict=True))
    ]


def test_what_cannot_be_read_ahead_is_read_later(tmp_path: Path) -> None:
    """Another list of files, or an error, makes no difference: the directory is listed when it is
    opened.
    """
    plant(tmp_path, "x/1", "x/2")
    (tmp_path / "empty").mkdir()
    paths = [str(tmp_path / "x"), str(tmp_path / "missing"), str(tmp_path / "empty"), "a\0b", "-"]
    ahead = ReadAhead(paths, InputSettings(), ())
    source = open_source(paths[:1], InputSettings(exclude=("1",)), ahead=ahead)
    assert [row[0] for row in describe(source)] == [str(tmp_path / "x" / "2")]
    for path in paths[1:4]:
        with pytest.raises(InputError) as direct:
            open_source([path], InputSettings())
        with pytest.raises(InputError) as later:
            open_source([path], InputSettings(), ahead=ahead)
        assert str(later.value) == str(direct.value)


@needs_contents
def test_large_files_read_ahead_make_small_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of files that have been read have the size of others, and all bytes together are
    limited.
    """
    monkeypatch.setattr(files, "AHEAD_BYTES", 16_000_000)
    for number in range(40):
        (tmp_path / f"{number:02}").touch()
        os.truncate(tmp_path / f"{number:02}", 3_000_000)
    ahead = ReadAhead([str(tmp_path)], InputSettings(), ())
    ahead._thread.join()
    assert len(ahead._contents) == 6
    sizes = [
        block.size for block in open_source([str(tmp_path)], InputSettings(), ahead=ahead).blocks()
    ]
    assert sizes == [3, 3, *[2] * 17]


@pytest.mark.exhaustive
def test_movie_reviews_are_all_there(
    corpora: Callable[[str], Path], opened: Callable[..., Any]
) -> None:
    """IMDB: 25,000 documents of two labels in either half."""
    folder = corpora("imdb")
    for half in ("train", "test"):
        labels = [label for batch in opened(folder / half).batches() for label in batch.labels]
        assert (labels.count("neg"), labels.count("pos"), len(labels)) == (12_500, 12_500, 25_000)
