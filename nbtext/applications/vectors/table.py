"""Read the vectors of some words from a table: a text file of word2vec, GloVe or fastText, an .npz
file, or a static model with a tokenizer. Nothing in a table is executed.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from importlib.machinery import PathFinder
from itertools import filterfalse, islice
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from scipy.sparse import csr_array

from nbtext.applications.vectors.tokenizer import (
    BLANKS,
    MAX_TEXT,
    WordTokenizer,
    call_library,
    read_tokenizer,
)
from nbtext.arrays import Array, Floats32, Integers
from nbtext.documents.blocks import read_line_blocks, read_raw_blocks
from nbtext.documents.decoding import Encoding
from nbtext.documents.recognition import ARCHIVE, BINARY_FILE, HEAD_BYTES, ZIP_MAGIC, recognize
from nbtext.documents.streams import open_stream, warn
from nbtext.errors import InputError, MissingExtra, list_some, number_of
from nbtext.model.word_pieces import BLANK, name_piece
from nbtext.numerics import log

COMMON = 1e-3  # share of all words, of which a word has half the weight of a rare one
N_COMMON = 100_000  # first words of a table, whose mean is subtracted from all vectors
MAX_COUNTS_LINE_BYTES = 100  # bytes
MAX_VECTOR_LINE_BYTES = 1 << 20  # bytes
MAX_DIMENSIONS = 1 << 12  # because each word of the documents gets so many numbers
MAX_VECTOR_VALUE = 1e9  # the squares of larger ones are not exact in 32 bits, or not finite
MAX_EXPANSION = 100  # bytes of arrays for each byte of a compressed file
TINY = 1e-30  # length of a vector that is 0
KEPT_BYTES = 1 << 27  # of vectors, up to which a table is kept as a whole
WORDS_AT_ONCE = 1 << 12  # words whose pieces are in memory
TOKENIZERS = "*tokenizer*.json"
IS_A_TABLE = "name a file, a folder or an installed package; nbtext downloads no table"
IS_A_LINE = f"each line of a table is a word and 2 to {MAX_DIMENSIONS:,} numbers, of at most 1e9"
SAVE_TEXT = "save the vectors as text, for example by gensim's save_word2vec_format"
IS_OTHER_HEADER = "a first line of numbers, which are not the number of words and of dimensions"
IS_NPZ = "it needs an array of words, (n,), of strings, and one of vectors, (n, n_dimensions)"
IS_MODEL = "a static model has one .safetensors file and the tokenizer.json of its pieces"
# of the numbers of safetensors; <u2 is for bfloat16, which NumPy lacks
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1"}
INTEGER_DTYPES = {"I32": "<i4", "I64": "<i8"}
# arrays of model2vec: the row of each piece, and a factor of it
OF_PIECES = MAPPING, PIECE_WEIGHTS = "mapping", "weights"
LFS = b"version https://git-lfs"


class VectorTable(NamedTuple):
    """Vectors of words.

    rows       (n_words + n_further, n_dimensions), of the words that were asked for, 0 where there
               is none, and of further words
    norms      (n_words + n_further,), the lengths of the vectors, or of all pieces of a word
               together
    further    other words, the most frequent ones of the table first, and then pieces of words, by
               the names of their features (model/word_pieces.py)
    is_joined  whether pieces are joined by byte-pair encoding, the first of `further` first
    """

    rows: Floats32
    norms: Floats32
    further: list[str]
    is_joined: bool = False


class _Words(NamedTuple):
    """What was read of a table of whole words.

    asked    the words that were looked up; None: all of them
    n_first  how many first words of the table were read whether or not they were asked for
    places   the row of each word that was found
    ranks    (n_rows,), ascending: the places of these words in the table
    rows     (n_rows, n_dimensions), and a last one of zeros
    """

    asked: frozenset[str] | None
    n_first: int
    places: dict[str, int]
    ranks: list[int]
    rows: Floats32

    def select(self, words: Sequence[str], n_further: int) -> VectorTable | None:
        """Return the vectors of words; None if they were not read."""
        wanted = frozenset(words)
        if self.asked is not None and (
            n_further + len(wanted) > self.n_first or not wanted <= self.asked
        ):
            return None
        first = islice(self.places, bisect_left(self.ranks, n_further + len(wanted)))
        further = list(islice((word for word in first if word not in wanted), n_further))
        rows = self.rows[[self.places.get(word, -1) for word in (*words, *further)]]
        return VectorTable(rows, np.linalg.norm(rows, axis=1), further)


class _Pieces(NamedTuple):
    """A static model: the vector of a word is the sum of those of its pieces.

    names    the numbers of the words that are one piece, in their order
    pieces   the number of each piece that is part of a word, by the name of its feature
    rows     (n_rows, n_dimensions)
    mapping  (n_pieces,), the row of each piece
    factors  (n_pieces,), by which it is multiplied
    """

    tokenizer: WordTokenizer
    names: dict[str, int]
    pieces: dict[str, int]
    rows: Floats32
    mapping: Integers
    factors: Floats32

    def select(self, words: Sequence[str], n_further: int) -> VectorTable:
        """Return the sums of the vectors of the pieces of words, of words that are one piece, and
        of as many pieces.
        """
        wanted = frozenset(words)
        further = [word for word in self.names if word not in wanted][:n_further]
        further += islice(self.pieces, n_further)
        both = [*words, *further]
        known = dict.fromkeys(filter(_is_piece, words), -1) | self.names | self.pieces
        divided = _split(self.tokenizer, [word for word in both if word not in known])
        unknown = {-1, *self.tokenizer.unknown}
        columns: list[int] = []
        bounds = [0]
        for word in both:
            ids = [known[word]] if word in known else next(divided)
            columns += (each for each in ids if each not in unknown)
            bounds.append(len(columns))
        shape = len(both), len(self.rows)
        parts = csr_array((self.factors[columns], self.mapping[columns], bounds), shape=shape)
        norms = abs(parts) @ np.sqrt(np.einsum("ij,ij->i", self.rows, self.rows))
        return VectorTable(parts @ self.rows, norms, further, bool(self.tokenizer.ranks))


def _split(tokenizer: WordTokenizer, words: Sequence[str]) -> Iterator[list[int]]:
    """Yield the pieces of each word."""
    for start in range(0, len(words), WORDS_AT_ONCE):
        yield from tokenizer.split(list(words[start : start + WORDS_AT_ONCE]))


# the tables that were read last, by their files as they were: folds and candidates ask again
_lock = Lock()
_last: dict[object, _Words | _Pieces] = {}


def read_vectors(sources: Sequence[str], words: Sequence[str], n_further: int) -> VectorTable:
    """Return the vectors of some words, lower-cased, and of the most frequent words of each table.

    Of words that are equal in lower case the first one in a table counts. The vectors of several
    tables stand side by side, each table in units of its mean length. Only the first static model
    has pieces.

    sources    files, folders, or names of installed packages, which are not imported
    n_further  number of other words of each table to return, at most

    raises  InputError: there is no such file, or it is not a table of word vectors
            MissingExtra: a static model needs safetensors and tokenizers
    """
    lowered = [word.lower() for word in words]
    files = dict.fromkeys(tuple(map(_identify, _find(source))) for source in sources)
    with _lock:
        tables = [_read(files, key, lowered, n_further) for key in files]
        if len(tables) == 1:
            return tables[0]
        further = list(dict.fromkeys(word for table in tables for word in table.further))
        first = max(tables, key=lambda table: any(map(_is_piece, table.further)))
        further = [*filterfalse(_is_piece, further), *filter(_is_piece, first.further)]
        tables = [_read(files, key, lowered + further, 0) for key in files]
    for table in tables:
        unit = max(TINY, table.norms.sum()) / max(1, np.count_nonzero(table.norms))
        table.rows[:] /= unit
        table.norms[:] /= unit
    rows = np.concatenate([table.rows for table in tables], axis=1)
    norms = np.linalg.norm([table.norms for table in tables], axis=0)
    return VectorTable(rows, norms, further, first.is_joined)


def _is_piece(word: str) -> bool:
    return word.startswith(BLANK)


def _identify(path: Path) -> tuple[Path, int, int, int]:
    own = path.stat()
    return path, own.st_ino, own.st_size, own.st_mtime_ns


def _read(files: Iterable[Any], key: Any, words: list[str], n_further: int) -> VectorTable:
    """Return the vectors of one of the tables, all of which are kept."""
    known = _last.get(key)
    table = known and known.select(words, n_further)
    if table is None:
        for other in _last.keys() - files:
            del _last[other]
        paths = [path for path, *_ in key]
        for path in paths:  # it may stand for another file, or hold one
            with open(path, "rb") as file:
                head = file.read(HEAD_BYTES)
            if head.startswith(LFS):
                hint = "fetch the file, for example with git lfs pull"
                raise _refuse(path, "is a pointer of Git LFS, and not the file itself", hint)
            if head.startswith(ZIP_MAGIC) and path.suffix.lower() != ".npz":
                hint = "unzip it, and name the file in it"
                raise _refuse(path, "is a zip archive, not a table", hint)
        if len(paths) > 1:
            known = _read_pieces(*paths)
        else:  # also what was asked before, because folds and candidates alternate
            asked = frozenset(words).union(getattr(known, "asked", None) or ())
            known = _read_words(paths[0], asked, n_further + len(asked))
        _last[key] = known
        table = known.select(words, n_further)
    assert table is not None  # what was read is what was asked for
    return table


def _find(source: str) -> list[Path]:
    """Return the file of a table, or the weights and the tokenizer of a static model."""
    path = Path(source)
    if not os.path.exists(source):
        # this imports nothing; of a.b it would look for b
        spec = PathFinder.find_spec(source) if source.isidentifier() else None
        folders = getattr(spec, "submodule_search_locations", None)
        if not folders:
            raise _refuse(source, "there is no such table of word vectors", IS_A_TABLE)
        path = Path(next(iter(folders)))
    if path.is_dir():
        weights = _choose(path.rglob("*.safetensors"), path, "model.safetensors")
        return [weights, _choose(path.rglob(TOKENIZERS), path, "tokenizer.json")]
    if not path.is_file():
        raise _refuse(path, "is neither a file nor a folder", IS_A_TABLE)
    if path.suffix.lower() != ".safetensors":
        return [path]
    folder = path.absolute().parent
    # WordLlama has a folder for each kind
    configs = list(folder.glob(TOKENIZERS)) or folder.parent.glob("*/" + TOKENIZERS)
    return [path, _choose(configs, path, "tokenizer.json")]


def _choose(paths: Iterable[Path], source: Path, usual: str) -> Path:
    """Return the only file, or the only one of the usual name."""
    found = sorted(filter(Path.is_file, paths))
    found = [path for path in found if path.name == usual] or found
    if len(found) == 1:
        return found[0]
    several = list_some(map(str, found)) or "none"
    raise _refuse(source, f"needs one {usual}, and has {several}")


def _refuse(path: object, what: str, hint: str = IS_MODEL) -> InputError:
    return InputError(what, where=str(path), hint=hint)


def _read_words(path: Path, asked: frozenset[str], n_first: int) -> _Words:
    """Return the vectors of whole words: less the mean of the first ones, and of the length a / (a
    + p) for a word with the share p of a text, which follows from its rank by Zipf's law.

    Source of the lengths: Arora, Liang, Ma, A Simple but Tough-to-Beat Baseline for Sentence
    Embeddings, 2017 (smooth inverse frequency); a longer vector counts as more of the word.
    """
    read: Any = _read_npz if path.suffix.lower() == ".npz" else _read_lines
    places = dict[str, int]()
    ranks = list[int]()
    kept = bytearray()
    is_whole = True
    total: Any = 0.0
    n_read = 0
    for number, cased, numbers in read(path):
        word = cased.lower()
        is_wanted = n_read < n_first or word in asked
        is_new = word not in places
        is_whole = is_whole and (is_wanted or len(kept) < KEPT_BYTES or not is_new)
        is_kept = is_new and (is_whole or is_wanted)
        if is_kept or n_read < N_COMMON:
            with np.errstate(over="ignore"):
                try:
                    row = np.array(numbers, dtype=np.float32)
                except ValueError:
                    row = np.array([np.nan])
            if not (np.abs(row) <= MAX_VECTOR_VALUE).all():  # which NaN is not, either
                raise _refuse_line(path, number, len(numbers))
            if n_read < N_COMMON:
                total = total + row.astype(float)
        if is_kept:
            places[word] = len(ranks)
            ranks.append(n_read)
            kept += row.tobytes()
        n_read += 1
    if not n_read:
        raise _refuse(path, "has no word vectors", IS_A_LINE)
    mean = (total / min(n_read, N_COMMON)).astype(np.float32)
    kept += bytes(mean.nbytes)
    table = np.frombuffer(kept, dtype=np.float32).reshape(-1, len(mean))
    rows = table[:-1]
    rows -= mean
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", rows, rows)), TINY)
    shares = 1 / ((np.array(ranks) + 1) * log(n_read + 1))
    rows *= (COMMON / (COMMON + shares) / lengths).astype(np.float32)[:, None]
    return _Words(None if is_whole else asked, n_first, places, ranks, table)


def _refuse_line(path: Path, number: int, n_dimensions: int) -> InputError:
    what = f"not a word and {n_dimensions or 'its'} numbers"
    return _refuse(f"{path}:{number}", what, IS_A_LINE)


def _read_lines(path: Path) -> Iterator[tuple[int, str, list[bytes]]]:
    """Yield the lines of a text file: its number, the word, and its numbers, as they are
    written.
    """
    with closing(open_stream(str(path))) as stream:
        stream.decode(Encoding("utf-8"))
        head = stream.head(HEAD_BYTES)
        kind = recognize(head)
        if kind is not None or b"\0" in head:
            kind = kind or BINARY_FILE
            hint = kind.hint if kind is ARCHIVE else SAVE_TEXT
            raise kind._replace(hint=hint).refuse(str(path))
        n_dimensions = n_words = n_read = n_empty = 0
        odd = list[str]()
        is_first_numbers = False
        for block in read_line_blocks(read_raw_blocks(stream), MAX_VECTOR_LINE_BYTES):
            if block.is_too_long:
                raise _refuse_line(path, block.first_line, n_dimensions)
            for number, line in enumerate(block.data.split(b"\n"), block.first_line):
                fields = line.split()
                if not fields:
                    continue
                is_blank = line[:1].isspace()
                is_header = number == 1 and len(line) < MAX_COUNTS_LINE_BYTES and not is_blank
                if is_header and b"".join(fields).isdigit():
                    if len(fields) == 2:
                        n_words, n_dimensions = map(int, fields)
                        continue
                    is_first_numbers = True
                is_empty = is_blank and n_dimensions in {0, len(fields)}
                if is_empty and _count_numbers([b"", *fields]) == len(fields):
                    n_empty += 1
                    continue
                n_dimensions = n_dimensions or _count_numbers(fields)
                # a word may have spaces
                is_valid = len(fields) == n_dimensions + 1 or _count_numbers(fields) == n_dimensions
                if not is_valid and is_first_numbers and n_read == 1:
                    raise _refuse(f"{path}:1", IS_OTHER_HEADER, "delete it, or leave these two")
                if not is_valid or not 2 <= n_dimensions <= MAX_DIMENSIONS:
                    raise _refuse_line(path, number, n_dimensions)
                n_read += 1
                word = _decode(b" ".join(fields[:-n_dimensions]), odd)
                yield number, word, fields[-n_dimensions:]
    if n_words and n_read not in (0, n_words):
        warn(str(path), f"its first line says {n_words:,} words, and it has {n_read:,}")
    _warn_of_words(path, odd, n_empty)


def _decode(raw: bytes, odd: list[str]) -> str:
    """Return a word, which is added to the odd ones if some of its bytes are not UTF-8."""
    word = raw.decode("utf-8", "replace")
    if "\ufffd" in word and b"\xef\xbf\xbd" not in raw:
        odd.append(word)
    return word


def _warn_of_words(path: Path, odd: list[str], n_empty: int) -> None:
    """Count words that no text matches."""
    if odd:
        what = (
            f"{number_of(len(odd), 'word')} with bytes that are not UTF-8, such as {list_some(odd)}"
        )
        warn(str(path), f"{what}; convert it, for example with iconv -f latin1 -t utf-8")
    if n_empty:
        warn(str(path), f"skipped {number_of(n_empty, 'line')} without a word")


def _count_numbers(fields: Sequence[bytes]) -> int:
    """Return how many numbers stand at the end of a line, after a word."""
    number = 0
    for field in reversed(fields[1:]):
        try:
            float(field)
        except ValueError:
            break
        number += 1
    return number


def _read_npz(path: Path) -> Iterator[tuple[int, str, Array]]:
    """Yield the number, the word and the numbers of each row."""
    try:
        with ZipFile(path) as archive:
            n_bytes = sum(each.file_size for each in archive.infolist())
        if n_bytes > MAX_EXPANSION * path.stat().st_size:
            raise _refuse(path, f"has {n_bytes:,} bytes of arrays in few compressed ones", IS_NPZ)
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            found = list(map(np.asarray, arrays.values()))
        words = [each.tolist() for each in found if each.ndim == 1 and each.dtype.kind in "US"]
    except InputError:
        raise
    except Exception as error:  # NumPy, zipfile and the decompressors raise a dozen kinds
        raise _refuse(path, f"cannot be read: {error}", IS_NPZ) from None
    rows = [each for each in found if each.ndim == 2 and each.dtype.kind in "fiu" and each.size]
    if [*map(len, words)] != [*map(len, rows)] or len(rows) != 1:
        raise _refuse(path, "is not a table of word vectors", IS_NPZ)
    if not 2 <= rows[0].shape[1] <= MAX_DIMENSIONS:
        raise _refuse_line(path, 1, rows[0].shape[1])
    odd = list[str]()
    n_empty = 0
    for number, (word, row) in enumerate(zip(words[0], rows[0], strict=True), 1):
        raw = word if isinstance(word, bytes) else word.encode("utf-8", "replace")
        if raw.strip():
            yield number, _decode(raw, odd), row
        else:
            n_empty += 1
    _warn_of_words(path, odd, n_empty)


def _to_numbers(found: Any) -> Array:
    """Return an array of safetensors; KeyError: of another type."""
    numbers: Array = np.frombuffer(found["data"], dtype=(DTYPES | INTEGER_DTYPES)[found["dtype"]])
    if found["dtype"] == "BF16":  # the upper halves of float32
        numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
    return numbers.reshape(found["shape"])


def _read_pieces(weights: Path, config: Path) -> _Pieces:
    """Return a static model."""
    try:
        from safetensors import SafetensorError, deserialize

        tokenizer = read_tokenizer(config)
    except ImportError:
        raise MissingExtra(
            "a static model", library="safetensors and tokenizers", extra="vectors"
        ) from None
    try:
        arrays: Any = dict(deserialize(weights.read_bytes()))
    except (OSError, SafetensorError) as error:
        raise _refuse(weights, f"cannot be read: {error}") from None
    further = {name: arrays.pop(name) for name in OF_PIECES if name in arrays}
    kinds = [
        each["dtype"] in DTYPES
        and len(each["shape"]) == 2
        and 2 <= each["shape"][1] <= MAX_DIMENSIONS
        for each in arrays.values()
    ]
    if kinds != [True]:
        what = f"has not one array of 2 to {MAX_DIMENSIONS:,} columns, of {', '.join(DTYPES)}"
        raise _refuse(weights, what)
    rows = _to_numbers(next(iter(arrays.values()))).astype(np.float32, copy=False)
    try:  # as model2vec stores the vectors of a large vocabulary
        known = {name: _to_numbers(each) for name, each in further.items()}
        mapping = known.get(MAPPING, np.arange(len(rows)))
        factors = known.get(PIECE_WEIGHTS, np.ones(mapping.shape)).astype(np.float32)
    except KeyError:
        raise _refuse(weights, "has numbers of another type") from None
    is_whole = mapping.dtype.kind == "i" and mapping.ndim == 1 == factors.ndim
    is_of_rows = is_whole and mapping.min(initial=0) >= 0 and mapping.max(initial=-1) < len(rows)
    if not is_of_rows or len(factors) != len(mapping):
        raise _refuse(weights, "has vectors that do not fit each other")
    vocabulary = tokenizer.library.get_vocab()
    ids = sorted(vocabulary.values())
    if len(mapping) <= max(ids, default=0):
        what = f"has {len(mapping):,} vectors, and its tokenizer {len(ids):,} pieces"
        raise _refuse(weights, what)
    if not all((np.abs(each) <= MAX_VECTOR_VALUE).all() for each in (rows, factors)):
        raise _refuse(weights, "has numbers that are not finite, or above 1e9")
    pieces = call_library(config, tokenizer.library.decode_batch, [[each] for each in ids])
    names = [piece.strip(BLANKS) for piece in pieces]
    parts = zip(ids, names, _split(tokenizer, names), strict=True)
    whole = {
        name: own
        for own, name, found in parts
        if found == [own] and name == name.lower() and name[:1].isalpha()
    }
    return _Pieces(tokenizer, whole, _name_pieces(tokenizer, ids, pieces), rows, mapping, factors)


def _name_pieces(tokenizer: WordTokenizer, ids: list[int], pieces: list[str]) -> dict[str, int]:
    """Return the numbers of the pieces of lower-case words, by the names of their features: those
    first that are joined first.
    """
    found: dict[str, int] = {}
    ranks = [tokenizer.ranks.get(tokenizer.library.id_to_token(own), -1) for own in ids]
    for _, own, piece in sorted(zip(ranks, ids, pieces, strict=True)):
        if tokenizer.inner:
            text = piece.removeprefix(tokenizer.inner)
            is_start = text == piece
        else:
            text = piece.strip(BLANKS)
            is_start = piece[:1] in BLANKS
        is_part = text == text.lower() and text.replace("_", "a").isalnum()
        if is_part and len(text) <= MAX_TEXT and own not in tokenizer.unknown:
            found.setdefault(name_piece(text, is_start=is_start), own)
    has_both = {name.endswith("-") for name in found} == {True, False}
    return found if has_both else {}
