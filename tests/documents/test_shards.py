"""Shards: parts of a source that other processes read."""

import gzip
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.documents.blocks import Shard
from nbtext.documents.source import (
    FILE_BYTES,
    MAX_SHARD,
    MIN_SHARD,
    Source,
    begin_at_line,
    count_lines,
    number_lines,
    open_shard,
    suitable_bytes,
)
from nbtext.errors import InputError

LINES = st.lists(
    st.sampled_from(["", "one", "zwölf €", '{"text": "a"}', '{"broken', "\r", "x" * 50]),
    max_size=12,
)


def read_from(source: Source, shards: list[Shard], rows: Any) -> tuple[list[Any], list[str]]:
    """Return the documents of pickled shards, and the problems."""
    batches = [
        batch
        for shard in shards
        for batch in open_shard(pickle.loads(pickle.dumps(shard)), source.settings).batches()
    ]
    return rows(batches), [
        str(batch.problems[row]) for batch in batches for row in sorted(batch.problems)
    ]


@settings(max_examples=80)
@given(
    text=st.tuples(LINES.map("\n".join), st.sampled_from(["", "\n"])).map("".join),
    form=st.sampled_from(["jsonl", "lines", "fasttext"]),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be"]),
    size=st.integers(1, 120),
)
def test_shards_are_the_source(
    tmp_path_factory: pytest.TempPathFactory,
    opened: Any,
    rows: Any,
    text: str,
    form: str,
    codec: str,
    size: int,
) -> None:
    """Into whatever ranges two files are cut, they hold the same documents, numbered alike, and the
    same problems.
    """
    folder = tmp_path_factory.mktemp("shards")
    for name in ("a", "b"):
        (folder / name).write_bytes(text.encode(codec))
    encoding = "utf-8" if codec == "utf-16" else codec
    source = opened(folder / "a", folder / "b", input_format=form, encoding=encoding)
    whole = read_from(source, source.shards(10_000), rows)
    shards = source.shards(size)
    n_lines = [count_lines(shard, source.settings) for shard in shards]
    assert read_from(source, number_lines(shards, n_lines), rows) == whole
    assert read_from(source, [begin_at_line(shard, None) for shard in shards], rows) == whole


def test_a_directory_is_cut_into_files(opened: Any, rows: Any, tmp_path: Path) -> None:
    """Texts, mails and large line files of a directory are shared out, with the labels that their
    folders say.
    """
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        for number in range(3):
            (tmp_path / label / f"{number}.txt").write_text(f"text {number}")
            (tmp_path / label / f"{number}.eml").write_text(f"Subject: mail {number}\n\nbody")
    source = opened(tmp_path)
    shards = source.shards(FILE_BYTES)
    assert [len(shard.paths) for shard in shards] == [1] * 12
    assert read_from(source, shards, rows) == (rows(source.batches()), [])
    lines = opened(tmp_path, input_format="lines")
    assert read_from(lines, [begin_at_line(shard, None) for shard in lines.shards(4)], rows) == (
        rows(lines.batches()),
        [],
    )


def test_what_has_no_ranges_is_one_shard(opened: Any, tmp_path: Path) -> None:
    """Compressed files and tables stay whole, however large."""
    (tmp_path / "x.csv").write_text("text,label\n" + "a,b\n" * 100)
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a"}\n' * 100))
    assert [
        shard.byte_range for shard in opened(tmp_path / "x.csv", tmp_path / "x.jsonl.gz").shards(10)
    ] == [None, None]


def test_a_stream_has_no_shards(opened: Any) -> None:
    """Standard input cannot be cut into shards, and the error states it."""
    with pytest.raises(
        InputError, match="the workers of a cluster cannot read standard input or a pipe; save it"
    ):
        opened("-").shards(10)


def test_shards_suit_their_readers(opened: Any, tmp_path: Path) -> None:
    """Two for each reader, unless that makes small ones, which cost, or large ones, which need
    memory.
    """
    assert suitable_bytes(1 << 30, 4) == 1 << 27
    assert suitable_bytes(1000, 4) == MIN_SHARD
    assert suitable_bytes(1 << 40, 4) == suitable_bytes(None, 4) == MAX_SHARD
    (tmp_path / "a").mkdir()
    for number in range(3 * MIN_SHARD // FILE_BYTES):
        (tmp_path / "a" / str(number)).touch()
    assert len(opened(tmp_path).shards(n_readers=1)) == 2
    assert len(opened(tmp_path).shards(n_readers=4)) == 3
