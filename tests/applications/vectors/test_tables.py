"""Tables of word vectors in every format: what is read, what is refused, and that a table that was
replaced is read again.
"""

import gzip
import io
import json
import os
import sys
import zipfile
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from nbtext.applications.vectors.table import read_vectors
from nbtext.errors import AssumptionWarning, InputError, MissingExtra

pytest.importorskip("safetensors")
tokenizers = pytest.importorskip("tokenizers")
Tokenizer, models, decoders = tokenizers.Tokenizer, tokenizers.models, tokenizers.decoders
normalizers, pre_tokenizers = tokenizers.normalizers, tokenizers.pre_tokenizers

LINES = ["the 1 2 -3", "The 9 9 9", "cat -1 0.5 2", "New York 3 -1e1 0", "dog -1 0.25 2"]
WORDS = ["the", "The", "cat", "new york", "dog"]
ROWS = np.array([[1, 2, -3], [9, 9, 9], [-1, 0.5, 2], [3, -10, 0], [-1, 0.25, 2]])


def lines(*given: str) -> bytes:
    return "".join(f"{line}\n" for line in given or LINES).encode()


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def expected(word: str) -> NDArray[Any]:
    """The formula of smooth inverse frequency, by rank; the first of equal words counts."""
    rank = [each.lower() for each in WORDS].index(word)
    centered = ROWS[rank] - ROWS.mean(axis=0)
    share = 1 / ((rank + 1) * np.log(len(ROWS) + 1))
    return np.asarray(centered / np.linalg.norm(centered) * 1e-3 / (1e-3 + share))


READABLE: dict[str, bytes] = {
    "glove.txt": lines(),
    "word2vec.txt": lines("5 3", *LINES),
    "trailing.vec": lines(*(line + " " for line in LINES)),
    "tabs.vec": lines("5\t3", *(line.replace(" ", "\t").replace("w\tY", "w Y") for line in LINES)),
    "windows.txt": lines().replace(b"\n", b"\r\n"),
    "mark.txt": b"\xef\xbb\xbf" + lines("5 3", *LINES),
    "wide.txt": lines().decode().encode("utf-16"),
    "a.vec.gz": gzip.compress(lines()),
    "a.npz": npz(words=np.array(WORDS), rows=ROWS),
    "b.npz": npz(rows=ROWS.astype(np.float16), words=np.array([word.encode() for word in WORDS])),
    "c.npz": npz(rows=np.asfortranarray(ROWS.astype(np.float32)), words=np.array(WORDS)),
}


@pytest.mark.parametrize("name", READABLE)
def test_tables_of_words(tmp_path: Path, name: str) -> None:
    """Every format gives the same vectors, words with spaces included."""
    path = tmp_path / name
    path.write_bytes(READABLE[name])
    table = read_vectors([str(path)], ["Dog", "zebra", "the"], 4)
    assert table.further == ["cat", "new york"]
    zero = np.zeros(3)
    wanted = [expected("dog"), zero, expected("the"), expected("cat"), expected("new york")]
    np.testing.assert_allclose(table.rows, wanted, rtol=1e-3)


@pytest.mark.parametrize("name", ["odd.txt", "odd.npz"])
def test_words_that_no_text_has(tmp_path: Path, name: str) -> None:
    """Words with invalid bytes are counted, and become one character each; rows without a word are
    skipped and counted; no other word changes.
    """
    words = [b"", b"caf\xe9", b"", b"\xc2\xa0x\x85", b"\xef\xbf\xbd", b"end"]
    rows = np.arange(12.0).reshape(-1, 2)
    lines = (b"%s %g %g\n" % (word, *row) for word, row in zip(words, rows.tolist(), strict=True))
    path = tmp_path / name
    path.write_bytes(npz(a=np.array(words), b=rows) if ".npz" in name else b"".join(lines))
    with pytest.warns(AssumptionWarning) as found:
        table = read_vectors([str(path)], [], 9)
    assert table.further == ["caf\ufffd", "\xa0x\ufffd", "\ufffd", "end"]
    odd, empty = (str(each.message) for each in found)
    assert "2 words with bytes that are not UTF-8, such as caf\ufffd" in odd
    assert "skipped 2 lines without a word" in empty


def test_the_mean_of_a_long_table(tmp_path: Path) -> None:
    """It is that of the first 100,000 words."""
    path = tmp_path / "long.txt"
    given = [f"w{n} {(-1) ** n} 0" for n in range(99_999)]
    path.write_bytes(lines(*given, "last 0 1e5", "further 0 1e5"))
    (row,) = read_vectors([str(path)], ["w0"], 0).rows
    assert row[1] / row[0] == pytest.approx(-1, rel=1e-3)


def huge() -> bytes:
    """An array whose header claims terabytes."""
    head = io.BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 300)}
    np.lib.format.write_array_header_1_0(head, about)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("rows.npy", head.getvalue())
    return file.getvalue()


def bomb() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, words=np.array(["a"]), rows=np.zeros((1, 1 << 20)))
    return file.getvalue()


LINE = "not a word and 3 numbers; each line"
ARRAYS = "is not a table of word vectors; it needs an array of words"
TEXT = "not text; save the vectors as text"
WRONG: dict[str, tuple[bytes, str]] = {
    "many.txt": (lines("3 3", "a 1 2 3", "b 1 2 3 4"), f":3: {LINE}"),
    "letters.txt": (lines("a 1 2 3", "b 1 x 3"), f":2: {LINE}"),
    "nan.txt": (lines("a 1 2 3", "", "b 1 nan 3"), f":3: {LINE}"),
    "pointer.txt": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "of Git LFS"),
    "glove.zip": (READABLE["a.npz"], "is a zip archive, not a table; unzip it"),
    "wide.npz": (
        npz(words=np.array(["a"]), rows=np.ones((1, 5000))),
        "not a word and 5000 numbers",
    ),
    "bomb.npz": (bomb(), "bytes of arrays in few compressed ones"),
    "long.txt": (lines("a 1 2 3", "b" * (1 << 21)), f":2: {LINE}"),
    "documents.csv": (lines("text,label", "a dog,1"), ":1: not a word and its numbers"),
    "empty.txt": (b"", "has no word vectors"),
    "binary.bin": (b"2 3\nthe " + ROWS[:2].astype("<f4").tobytes(), f"a binary file, {TEXT}"),
    "array.npy": (b"\x93NUMPY\x01\x00", f"a NumPy array, {TEXT}"),
    "cut.txt.gz": (gzip.compress(lines())[:-9], "is truncated"),
    "objects.npz": (npz(a=np.array(WORDS, dtype=object), b=ROWS), "Object arrays cannot be loaded"),
    "rows.npz": (npz(rows=ROWS), ARRAYS),
    "twice.npz": (npz(a=np.array(WORDS), b=ROWS, c=ROWS), ARRAYS),
    "nan.npz": (npz(words=np.array(WORDS), rows=ROWS / [1, 1, np.nan]), f"npz:1: {LINE}"),
    "huge.npz": (huge(), "cannot be read: Unable to allocate"),
}


def refuse(source: Path | str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_vectors([str(source)], ["a", "b"], 1)
    assert message in str(error.value)
    assert str(error.value).startswith(str(source))
    assert error.value.hint


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tables(tmp_path: Path, name: str) -> None:
    content, message = WRONG[name]
    (tmp_path / name).write_bytes(content)
    refuse(tmp_path / name, message)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "no.txt",
            "there is no such table of word vectors; name a file, a folder or an installed",
        ),
        ("", "there is no such table of word vectors"),
        ("x\0y", "there is no such table of word vectors"),
        ("x" * 300, "there is no such table of word vectors"),
        ("https://example.com/a.vec", "there is no such table of word vectors"),
        ("__main__", "there is no such table of word vectors"),
        (os.devnull, "is neither a file nor a folder"),
    ],
)
def test_wrong_sources(source: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_vectors([source], [], 0)


def test_a_table_is_read_again_if_it_has_changed(tmp_path: Path) -> None:
    """Folds ask for the same words, which are read once; what was asked before changes nothing."""
    path = tmp_path / "a.txt"
    path.write_bytes(lines())
    calls: list[tuple[list[str], int]] = [(["dog"], 0), (["cat", "dog"], 2), ([], 9)]

    def read(call: tuple[list[str], int]) -> tuple[Any, ...]:
        table = read_vectors([str(path)], *call)
        return table.rows.tolist(), table.further

    found = [read(call) for call in calls]
    for order in permutations(range(len(calls))):
        assert [read(calls[n]) for n in order] == [found[n] for n in order]
    before = path.stat()
    path.write_bytes(lines().replace(b"dog -1", b"dog -2"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [read(call) for call in calls] == found
    os.utime(path, ns=(0, 0))
    assert read(calls[1]) != found[1]


WHOLE = ("the", "cat", "Cat", "caf\xe9", "s")


def word_piece() -> Any:
    """Truncation and padding are for texts, not for words."""
    names = ["[UNK]", "##s", *WHOLE, "."]
    vocabulary = {name: place for place, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.enable_truncation(1)
    tokenizer.enable_padding(length=9)
    return tokenizer


def unigram() -> Any:
    names = ["<unk>", "s", *("\u2581" + name for name in WHOLE), "."]
    tokenizer = Tokenizer(models.Unigram([(name, -1.0) for name in names], unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def pair_encoding(mark: str, words: Sequence[str]) -> Any:
    """Byte pair encoding, with merges that make words letter by letter."""
    names = ["<unk>", "s", *(mark + word for word in words)]
    merges = dict.fromkeys((each[:end], each[end]) for each in names for end in range(1, len(each)))
    parts = {part for pair in merges for part in (*pair, "".join(pair))}
    vocabulary = {name: n for n, name in enumerate([*names, *sorted(parts - set(names))])}
    return Tokenizer(models.BPE(vocabulary, list(merges), unk_token="<unk>"))


def byte_level() -> Any:
    """The pieces of a first word differ."""
    tokenizer = pair_encoding("\u0120", [word.replace("\xe9", "\xc3\xa9") for word in WHOLE])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def sentence_piece() -> Any:
    """As that of WordLlama."""
    tokenizer = pair_encoding("\u2581", WHOLE)
    steps = [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    tokenizer.normalizer = normalizers.Sequence(steps)
    return tokenizer


VECTORS = np.random.default_rng(0).integers(-8, 8, (40, 4)).astype(np.float32)


def weights(*tensors: tuple[str, NDArray[Any]], names: Sequence[str] = "abc") -> bytes:
    """The bytes of a .safetensors file, of types and numbers."""
    head: dict[str, Any] = {}
    data = b""
    for name, (dtype, rows) in zip(names, tensors, strict=False):
        bounds = len(data), len(data) + rows.nbytes
        head[name] = {"dtype": dtype, "shape": rows.shape, "data_offsets": bounds}
        data += rows.tobytes()
    about = json.dumps(head).encode()
    return len(about).to_bytes(8, "little") + about + data


def write_model(
    folder: Path, *tensors: tuple[str, NDArray[Any]], tokenizer: Any = None, name: str = "model"
) -> Path:
    """Write a static model as model2vec does."""
    folder.mkdir(exist_ok=True, parents=True)
    (tokenizer or word_piece()).save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / f"{name}.safetensors").write_bytes(weights(*tensors or [("F32", VECTORS)]))
    return folder


def test_two_tables_side_by_side(tmp_path: Path) -> None:
    """Both are kept. Further words are those of both, and pieces those of the first static
    model.
    """
    path = tmp_path / "a.txt"
    path.write_bytes(lines())
    model = str(write_model(tmp_path / "model", tokenizer=sentence_piece()))
    other = str(write_model(tmp_path / "other", tokenizer=word_piece()))
    asked = ["dog", "cats"]
    table = read_vectors([str(path), model], asked, 9)
    assert table.further[:5] == ["the", "cat", "new york", "caf\xe9", "s"]
    pieces = read_vectors([model], asked, 9).further[4:]
    assert table.further[5:] == pieces
    alone = [read_vectors([each], asked + table.further, 0).rows for each in (str(path), model)]
    for columns, own in zip((slice(3), slice(3, None)), alone, strict=True):
        ratios = table.rows[:, columns][own != 0] / own[own != 0]
        assert ratios == pytest.approx(ratios[0], rel=1e-5)
        assert not table.rows[:, columns][own == 0].any()
    assert table.rows[-len(pieces) :, 3:].any()
    lengths = np.linalg.norm(table.rows[:, :3], axis=1)
    assert lengths[lengths > 0].mean() == pytest.approx(1, rel=1e-5)
    for first, second, is_joined in ((model, other, True), (other, model, False)):
        assert read_vectors([first, second], [], 9).is_joined == is_joined
    expected = read_vectors([model, str(path)], asked, 9)
    before = path.stat()
    path.write_bytes(lines().replace(b"dog -1", b"dog -2"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    found = read_vectors([model, str(path)], asked, 9)
    np.testing.assert_array_equal(found.rows, expected.rows)


@pytest.mark.parametrize("make", [word_piece, unigram, byte_level, sentence_piece])
def test_static_models(tmp_path: Path, make: Callable[[], Any]) -> None:
    """The vector of a word is the sum of those of its pieces; further words are one piece."""
    folder = write_model(tmp_path / "model", tokenizer=make())
    table = read_vectors([str(folder)], ["cats", "Cat", "."], 3)
    assert table.further[:3] == ["the", "caf\xe9", "s"]
    assert all(name.startswith(" ") for name in table.further[3:])
    np.testing.assert_array_equal(table.rows[:2], [VECTORS[3] + VECTORS[1], VECTORS[3]])
    np.testing.assert_array_equal(table.rows[3:6], VECTORS[[2, 5, 6]])
    further = read_vectors([str(folder)], [], 2).further
    assert [name.startswith(" ") for name in further] in ([False] * 2, [False] * 2 + [True] * 2)


@pytest.mark.parametrize(
    "given",
    [
        ("F64", VECTORS.astype(np.float64)),
        ("F16", VECTORS.astype(np.float16)),
        ("I8", VECTORS.astype(np.int8)),
        ("BF16", (VECTORS.view("<u4") >> 16).astype("<u2")),
    ],
)
def test_numbers_of_static_models(
    tmp_path: Path, given: tuple[str, NDArray[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are of several types. A package is not imported, and has folders of its own; a piece
    for unknown characters has no vector.
    """
    package = tmp_path / "a_static_model"
    folder = write_model(package / "weights", given, name="small")
    (package / "tokenizers").mkdir()
    (folder / "tokenizer.json").rename(package / "tokenizers" / "a_tokenizer_config.json")
    (folder / "tokenizer_config.json").unlink()
    (package / "__init__.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(tmp_path)
    for source in ("a_static_model", str(folder / "small.safetensors")):
        table = read_vectors([source], ["cat", "\u2603"], 0)
        np.testing.assert_array_equal(table.rows, [VECTORS[3], np.zeros(4)])


WRONG_MODELS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no-weights": (
        lambda at: (at / "model.safetensors").unlink(),
        "needs one model.safetensors, and has none",
    ),
    "several": (lambda at: write_model(at / "b"), "b/model.safetensors"),
    "cut": (lambda at: os.truncate(at / "model.safetensors", 99), "cannot be read: Error while"),
    "no-unknown": (
        lambda at: write_model(at, tokenizer=Tokenizer(models.WordPiece({"a": 0}, unk_token="b"))),
        "tokenizer.json: has no piece b for unknown characters",
    ),
    "few": (
        lambda at: write_model(at, ("F32", VECTORS[:7])),
        "has 7 vectors, and its tokenizer 8 pieces",
    ),
    "two": (lambda at: write_model(at, ("F32", VECTORS), ("F32", VECTORS)), "not one array"),
    "pointer": (
        lambda at: (at / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/"),
        "is a pointer of Git LFS",
    ),
    "wide": (
        lambda at: write_model(at, ("F64", np.ones((9, 5000)))),
        "one array of 2 to 4,096 columns",
    ),
    "infinite": (lambda at: write_model(at, ("F32", VECTORS / 0)), "numbers that are not finite"),
}


@pytest.mark.parametrize("name", WRONG_MODELS)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_wrong_static_models(tmp_path: Path, name: str) -> None:
    damage, message = WRONG_MODELS[name]
    damage(write_model(tmp_path))
    refuse(tmp_path, message)


def test_a_static_model_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(tmp_path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"pip install 'nbtext\[vectors\]'"):
        read_vectors([str(tmp_path)], [], 0)


def test_a_vocabulary_in_groups(tmp_path: Path) -> None:
    """A piece has the row that `mapping` says, times its weight; newer models of model2vec do."""
    folder = write_model(tmp_path / "model")
    path = folder / "model.safetensors"
    groups = np.arange(len(VECTORS)) // 2
    factors = np.linspace(1, 2, len(VECTORS))
    own = ("F32", VECTORS)
    names = ("embeddings", "mapping", "weights")
    path.write_bytes(weights(own, ("I64", groups), ("F64", factors), names=names))
    expected = VECTORS[groups[3]] * np.float32(factors[3])
    np.testing.assert_array_equal(read_vectors([str(folder)], ["cat"], 0).rows, [expected])
    for name, wrong in (
        ("mapping", ("I64", groups + 99)),
        ("mapping", ("I64", np.zeros((40, 40), dtype=np.int64))),
        ("weights", ("F64", factors[:9])),
    ):
        path.write_bytes(weights(own, wrong, names=("a", name)))
        refuse(folder, "has vectors that do not fit each other")
    # one row that stands for many is not copied
    wide = ("F32", np.ones((1, 4096), dtype=np.float32))
    path.write_bytes(weights(wide, ("I64", np.zeros(1 << 20, np.int64)), names=("a", "mapping")))
    assert read_vectors([str(folder)], ["cat"], 0).rows.shape == (1, 4096)


def step(kind: str, **given: Any) -> dict[str, Any]:
    return {"type": kind, **given}


def replaced(pattern: str, content: str, form: str = "String") -> dict[str, Any]:
    return step("Replace", pattern={form: pattern}, content=content)


HOSTILE: dict[str, tuple[str, Any, str]] = {
    "precompiled": (
        "pre_tokenizer",
        step("Precompiled", precompiled_charsmap="AA=="),
        "Precompiled",
    ),
    "fixed-length": ("pre_tokenizer", step("FixedLength", length=0), "pre_tokenizer FixedLength"),
    "prepend": ("normalizer", step("Prepend", prepend="a" * (1 << 20)), "more than 32 characters"),
    "expansion": ("normalizer", replaced("a", "a" * 30), "Replace of {'String': 'a'}"),
    "regex": ("normalizer", replaced("(a+)+$", "", "Regex"), "Replace of {'Regex': '(a+)+$'}"),
    "bytes-twice": (
        "pre_tokenizer",
        step(
            "Sequence",
            pretokenizers=[step("ByteLevel", add_prefix_space=True, trim_offsets=True)] * 9,
        ),
        "one of them twice",
    ),
    "number": ("normalizer", 5, "cannot be read: TypeError"),
    "no-vocabulary": ("model", step("BPE"), "cannot be read: KeyError"),
    "negative": ("model", step("BPE", vocab={"a": -1}, merges=[]), "cannot be read"),
    "affix": (
        "model",
        step("BPE", vocab={"a": 0}, merges=[], continuing_subword_prefix="#" * 99),
        "more than 32 characters in BPE",
    ),
    "huge-id": ("model", step("BPE", vocab={"a": 4294967295}, merges=[]), "has 40 vectors"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_tokenizers(tmp_path: Path, name: str) -> None:
    """What could take memory or time is refused by name, and never runs."""
    part, given, message = HOSTILE[name]
    folder = write_model(tmp_path / "model")
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text()) | {part: given}
    path.write_text(json.dumps(content))
    with pytest.raises(InputError) as error:
        read_vectors([str(folder)], ["a", "b"], 1)
    assert message in str(error.value)
    path.write_text("[" * 100_000)
    refuse(path.parent, "tokenizer.json: cannot be read")


def test_plain_steps_of_tokenizers(tmp_path: Path) -> None:
    """Those of model2vec and of multilingual models are read; tokens that are added are not."""
    folder = write_model(tmp_path / "model", tokenizer=unigram())
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    spaced = [replaced(each, f" {each} ") for each in "!-."]
    blanks = replaced(r"\s+", " ", "Regex")
    right = step("Strip", strip_left=False, strip_right=True)
    first = step("Precompiled", precompiled_charsmap="never read")
    content["normalizer"] = step("Sequence", normalizers=[first, *spaced, blanks, right])
    content["added_tokens"] = [{"id": 1 << 30, "content": "cat", "special": True}]
    path.write_text(json.dumps(content))
    table = read_vectors([str(folder)], ["ｃａｔ", "cats", "x" * (1 << 20)], 0)  # full width
    np.testing.assert_array_equal(table.rows[:2], [VECTORS[3], VECTORS[3] + VECTORS[1]])
    assert not table.rows[2].any()


@settings(max_examples=300)
@given(st.data())
def test_damaged_static_models(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever a byte or a value is, the model is read, or an error of one line says why not."""
    folder = tmp_path_factory.mktemp("damaged")
    write_model(folder, tokenizer=data.draw(st.sampled_from([word_piece, unigram, byte_level]))())
    name = data.draw(st.sampled_from(["tokenizer.json", "model.safetensors"]))
    path = folder / name
    content = bytearray(path.read_bytes())
    odd = st.sampled_from([*b'09-[]{}",:\\', 0, 255])
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, min(len(content), 2000) - 1))] = data.draw(odd)
    path.write_bytes(content)
    try:
        read_vectors([str(folder)], ["cats", "\u2603", ""], 5)
    except InputError as error:
        assert "\n" not in str(error)
