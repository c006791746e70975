"""Read the vectors of some words from a table: a text file of word2vec, GloVe or fastText, an .npz
file, or a static model with a tokenizer.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nbtext.arrays import Floats32
from nbtext.documents.blocks import read_line_blocks, read_raw_blocks
from nbtext.documents.streams import open_stream
from nbtext.errors import InputError, MissingExtra

COMMON = 1e-3  # share of all words, of which a word has half the weight of a rare one
N_COMMON = 100_000  # first words of a table, whose mean is subtracted from all vectors
MAX_LINE = 1 << 20  # bytes


class Table(NamedTuple):
    """Vectors of words.

    rows          (n_words, n_dimensions), of the words that were asked for; 0 where there is none
    further       other words, the most frequent ones of the table first
    further_rows  (n_further, n_dimensions)
    """

    rows: Floats32
    further: list[str]
    further_rows: Floats32


def read_vectors(source: str, words: Sequence[str], n_further: int) -> Table:
    """Return the vectors of some words, and of the most frequent words of the table.

    source  a file, a folder, or the name of an installed package, which is not imported

    raises  InputError: there is no such file, or it is not a table of word vectors
    """
    return _read(source, tuple(words), n_further)


@lru_cache(maxsize=1)
def _read(source: str, words: tuple[str, ...], n_further: int) -> Table:
    path = _find(source)
    if path.is_dir():
        return _read_pieces(path, words, n_further)
    lines = _read_npz(path) if path.suffix == ".npz" else _read_lines(str(path))
    return _select(lines, words, n_further, str(path))


def _find(source: str) -> Path:
    path = Path(source)
    if path.exists():
        return path
    if source.isidentifier():
        spec = importlib.util.find_spec(source)  # imports nothing
        if spec is not None and spec.submodule_search_locations:
            return Path(next(iter(spec.submodule_search_locations)))
    hint = "give a file, a folder, or the name of an installed package"
    raise InputError("there is no such table of word vectors", where=source, hint=hint)


def _select(
    lines: Iterator[tuple[str, Floats32]], words: tuple[str, ...], n_further: int, path: str
) -> Table:
    """Return the vectors of whole words: less the mean of the first ones, and of the length a / (a
    + p) for a word with the share p of a text, which follows from its rank by Zipf's law.

    Source of the lengths: Arora, Liang, Ma, A Simple but Tough-to-Beat Baseline for Sentence
    Embeddings, 2017 (smooth inverse frequency); a longer vector counts as more of the word.
    """
    wanted = dict.fromkeys(words)
    found: dict[str, tuple[int, Floats32]] = {}
    total: Any = 0.0
    n_read = 0
    for rank, (cased, row) in enumerate(lines):
        n_read += 1
        word = cased.lower()
        if rank < N_COMMON:
            total = total + row
        if word not in found and (rank < n_further or word in wanted):
            found[word] = rank, row
    if not found and not n_read:
        raise InputError("has no word vectors", where=path)
    mean = total / min(n_read, N_COMMON)
    n_dimensions = len(mean)

    def lookup(names: Sequence[str]) -> Floats32:
        rows = np.zeros((len(names), n_dimensions), dtype=np.float32)
        for place, name in enumerate(names):
            if name in found:
                rank, row = found[name]
                centered = row - mean
                share = 1 / ((rank + 1) * np.log(n_read + 1))
                length = np.linalg.norm(centered) or 1.0
                rows[place] = centered * (COMMON / (COMMON + share) / length)
        return rows

    further = [word for word, (rank, _) in found.items() if rank < n_further and word not in wanted]
    return Table(lookup(words), further, lookup(further))


def _read_lines(path: str) -> Iterator[tuple[str, Floats32]]:
    """Yield the words and vectors of a text file, in the order of their lines."""
    with closing(open_stream(path)) as stream:
        n_dimensions = 0
        number = 0
        for block in read_line_blocks(read_raw_blocks(stream.unpack()), MAX_LINE):
            for line in block.data.split(b"\n"):
                number += 1
                fields = line.split()
                if not fields or (number == 1 and len(fields) == 2 and fields[1].isdigit()):
                    continue
                n_dimensions = n_dimensions or len(fields) - 1
                try:
                    row = np.array(fields[-n_dimensions:], dtype=np.float32)
                except ValueError:
                    row = np.zeros(0, np.float32)
                if len(fields) <= n_dimensions or len(row) < 2 or not np.isfinite(row).all():
                    what = f"not a word and {n_dimensions} numbers"
                    raise InputError(what, where=f"{path}:{number}", hint="correct or remove it")
                yield b" ".join(fields[:-n_dimensions]).decode("utf-8", "replace"), row


def _read_npz(path: Path) -> Iterator[tuple[str, Floats32]]:
    hint = "it needs an array of words, (n,), and one of vectors, (n, n_dimensions)"
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found = [arrays[name] for name in arrays.files]
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path), hint=hint) from None
    words = [each for each in found if each.ndim == 1 and each.dtype.kind == "U"]
    rows = [each for each in found if each.ndim == 2 and each.dtype.kind == "f"]
    if len(words) != 1 or len(rows) != 1 or len(words[0]) != len(rows[0]):
        raise InputError("is not a table of word vectors", where=str(path), hint=hint)
    yield from zip(words[0].tolist(), rows[0].astype(np.float32), strict=True)


def _read_pieces(folder: Path, words: tuple[str, ...], n_further: int) -> Table:
    """Return the vectors of words as the sums of those of their pieces."""
    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra(
            "a static model", library="safetensors and tokenizers", extra="vectors"
        ) from None
    weights = sorted(folder.rglob("*.safetensors"))
    configs = sorted(folder.rglob("*tokenizer*.json"))
    hint = "it needs one .safetensors file and the tokenizer.json of its pieces"
    if not weights or not configs:
        raise InputError("is not a static model", where=str(folder), hint=hint)
    tables = [each for each in load_file(weights[0]).values() if each.ndim == 2]
    tokenizer = Tokenizer.from_file(os.fspath(configs[0]))
    if not tables or len(tables[0]) < tokenizer.get_vocab_size():
        raise InputError("the weights do not fit the tokenizer", where=str(folder), hint=hint)
    rows = tables[0].astype(np.float32)
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def lookup(names: Sequence[str]) -> Floats32:
        found = np.zeros((len(names), rows.shape[1]), dtype=np.float32)
        for place, each in enumerate(tokenizer.encode_batch(list(names), add_special_tokens=False)):
            found[place] = rows[each.ids].sum(axis=0)
        return found

    wanted = set(words)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda pair: pair[1])
    whole = dict.fromkeys(
        piece[1:] for piece, _ in pieces if piece[:1] in "▁Ġ" and piece[1:].islower()
    )
    further = [word for word in whole if word not in wanted][:n_further]
    return Table(lookup(words), further, lookup(further))
