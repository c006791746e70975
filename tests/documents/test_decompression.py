"""Compressed sources contain the same documents, and damaged ones give an error."""

import bz2
import gzip
import json
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.documents.decompression import compression_of, unpack, unpack_blocks
from nbtext.errors import InputError, MissingExtra

zstandard = pytest.importorskip("zstandard")

COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: bytes(zstandard.ZstdCompressor().compress(data)),
}
NAMES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
TEXTS = [("spam", "free money, “now”"), ("ham", "see you at noon")]
MAIL = "From a@b Thu Nov 21 03:37:00 2024\nSubject: {}\n\n{}\n\n"
FILES = {  # the same documents in every format that is one file
    "x.jsonl": "".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in TEXTS),
    "x.csv": "label,text\n" + "".join(f'{label},"{text}"\n' for label, text in TEXTS),
    "x.tsv": "label\ttext\n" + "".join(f"{label}\t{text}\n" for label, text in TEXTS),
    "x.txt": "".join(f"__label__{label} {text}\n" for label, text in TEXTS),
    "x.mbox": "".join(MAIL.format(label, text) for label, text in TEXTS),
    "y.txt": "".join(f"{text}\n" for _, text in TEXTS),
    "y.eml": "Subject: hello\n\nworld\n",
}
suffixes = pytest.mark.parametrize("suffix", COMPRESSORS)


@suffixes
@pytest.mark.parametrize("name", FILES)
def test_every_format_reads_the_same_when_compressed(
    read: Any, tmp_path: Path, name: str, suffix: str
) -> None:
    """Compression changes nothing of a file's documents but their ids; nor does a name without the
    suffix.
    """
    plain = tmp_path / name
    packed = tmp_path / f"{name}{suffix}"
    misnamed_error = tmp_path / f"z{name}"
    plain.write_text(FILES[name], encoding="utf-8")
    packed.write_bytes(COMPRESSORS[suffix](plain.read_bytes()))
    misnamed_error.write_bytes(packed.read_bytes())
    expected = [(identity.replace(str(plain), ""), *rest) for identity, *rest in read(plain)]
    assert len(expected) == (1 if name == "y.eml" else 2)
    for path in (packed, misnamed_error):
        assert [
            (identity.replace(str(path), ""), *rest) for identity, *rest in read(path)
        ] == expected


def test_zstd_frames_that_are_skipped(read: Any, tmp_path: Path) -> None:
    """pzstd compresses parts of a file in parallel, and writes the size of each before it, in a
    frame to skip.
    """
    data = FILES["x.jsonl"].encode()
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0size"
    parts = (COMPRESSORS[".zst"](part) for part in (data[:50], data[50:]))
    (tmp_path / "x.jsonl.zst").write_bytes(b"".join(skipped + part for part in parts))
    assert [texts for _, texts, _ in read(tmp_path / "x.jsonl.zst")] == [
        (text,) for _, text in TEXTS
    ]


@suffixes
def test_files_in_trees_are_unpacked(read: Any, tmp_path: Path, suffix: str) -> None:
    """A compressed file in a directory tree is the document that it unpacks to, whatever its
    name.
    """
    (tmp_path / "spam").mkdir()
    packed = COMPRESSORS[suffix]("free “money”".encode())
    (tmp_path / "spam" / f"1.txt{suffix}").write_bytes(packed)
    (tmp_path / "spam" / "2").write_bytes(packed)
    (tmp_path / "spam" / f"3.eml{suffix}").write_bytes(
        COMPRESSORS[suffix](b"Subject: free\n\nmoney")
    )
    assert [(texts, label) for _, texts, label in read(tmp_path)] == [
        (("free “money”",), "spam"),
        (("free “money”",), "spam"),
        (("free\nmoney",), "spam"),
    ]


@suffixes
def test_a_truncated_file_is_an_error(read: Any, tmp_path: Path, suffix: str) -> None:
    """A compressed file that ends early is never taken for a whole one, wherever it ends."""
    packed = COMPRESSORS[suffix](FILES["y.txt"].encode())
    path = tmp_path / f"y.txt{suffix}"
    for size in range(len(packed)):
        path.write_bytes(packed[:size])
        with pytest.raises(InputError) as caught:
            read(path)
        assert caught.value.where == str(path)


@suffixes
def test_a_damaged_file_in_a_tree_is_a_problem_of_its_document(
    problems: Any, tmp_path: Path, suffix: str
) -> None:
    """The other documents of a tree are read."""
    (tmp_path / f"a{suffix}").write_bytes(COMPRESSORS[suffix](b"text" * 100)[:-5])
    (tmp_path / "b").write_text("fine")
    assert problems(tmp_path) == [
        f"{tmp_path}/a{suffix}: the {NAMES[suffix]} data is truncated; copy or download the file again"
    ]


def test_a_wrong_suffix_is_said(read: Any, problems: Any, tmp_path: Path) -> None:
    """A file that is not compressed as its name says is refused, an empty one too."""
    for content in (b"plain text", b""):
        (tmp_path / "x.txt.gz").write_bytes(content)
        with pytest.raises(
            InputError, match=r"x\.txt\.gz: the suffix is that of gzip, but the content is not gzip"
        ):
            read(tmp_path / "x.txt.gz")
        assert len(problems(tmp_path)) == 1


@suffixes
def test_streams_may_follow_one_another(suffix: str) -> None:
    """Files that were compressed by parts unpack to all of them; zeros at the end are padding,
    other bytes are not.
    """
    compress = COMPRESSORS[suffix]
    name = NAMES[suffix]
    joined = compress(b"one ") + compress(b"") + compress(b"two")
    assert unpack(joined, name, limit=100) == b"one two"
    assert unpack(joined + bytes(512), name, limit=100) == b"one two"
    with pytest.raises(InputError):
        unpack(joined + b"garbage", name, limit=100)


@pytest.mark.usefixtures("hang_guard")
@suffixes
def test_many_short_streams_take_linear_time(read: Any, tmp_path: Path, suffix: str) -> None:
    """A file of half a megabyte whose streams have two bytes each."""
    member = COMPRESSORS[suffix](b"a\n")
    n_members = 500_000 // len(member)
    (tmp_path / f"x.txt{suffix}").write_bytes(member * n_members)
    assert len(read(tmp_path / f"x.txt{suffix}", input_format="lines")) == n_members


@settings(max_examples=60)
@given(st.binary(max_size=3000), st.sampled_from(sorted(COMPRESSORS)), st.integers(1, 4000))
def test_blocks_of_any_size_unpack_the_same(data: bytes, suffix: str, size: int) -> None:
    """However the compressed bytes arrive, the result is the same."""
    packed = COMPRESSORS[suffix](data) + COMPRESSORS[suffix](data[::-1])
    blocks = (packed[start : start + size] for start in range(0, len(packed), size))
    assert b"".join(unpack_blocks(blocks, NAMES[suffix], where="")) == data + data[::-1]


@pytest.mark.exhaustive(every=4)
@suffixes
def test_a_bomb_unpacks_in_bounded_memory(tmp_path: Path, suffix: str) -> None:
    """160 MB of zeros, a few kB when compressed, are refused as a document without unpacking them
    all.
    """
    bomb = COMPRESSORS[suffix](bytes(16_000_000)) * 10
    (tmp_path / f"bomb{suffix}").write_bytes(bomb)
    code = (
        "import sys, resource\n"
        "from nbtext.documents.source import open_source\n"
        "from nbtext.documents.settings import InputSettings\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for path, form in ((sys.argv[1], None), (sys.argv[2], 'lines')):\n"
        "    source = open_source([path], InputSettings(max_document_bytes=1_000_000, input_format=form))\n"
        "    print([str(problem) for batch in source.batches() for problem in batch.problems.values()])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path), str(tmp_path / f"bomb{suffix}")]
    in_tree, as_lines, memory = subprocess.run(
        arguments, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert "the document has more than 1,000,000 bytes" in in_tree
    assert "the document has more than 1,000,000 bytes" in as_lines
    assert int(memory) < 80_000  # kB


def test_no_text_begins_like_a_compressed_file() -> None:
    """A text that begins with BZh, the magic of bzip2, stays a text."""
    assert compression_of(b"BZh9 is a flight number") is None
    assert compression_of(bz2.compress(b"")) == "bzip2"


def test_zstd_needs_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a library for zstd the error says how to install it."""
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtra, match=r"pip install 'nbtext\[zstd\]'"):
        unpack(COMPRESSORS[".zst"](b"text"), "zstd", limit=100)
