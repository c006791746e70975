"""Saving and loading return equal data, the same bytes each time, and one line for each error."""

import gc
import io
import json
import os
import pickle
import pickletools
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as arrays
import joblib
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored import entries_alone, load, open_entries

from nbtext import load_model
from nbtext.artifact import storage
from nbtext.artifact.storage import MAX_HEADER_VALUES, save
from nbtext.errors import ArtifactError

HEADER = ("checksum", "format", "version")
ITEM_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64")

numeric_arrays = st.sampled_from(ITEM_TYPES).flatmap(
    lambda dtype: arrays.arrays(
        dtype, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    )
)
any_text = st.text(st.characters(), max_size=12)  # lone surrogates included
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | any_text
    | st.sampled_from(["C", "<", "numpy", "joblib.numpy_pickle", "shape", "i4", '"', "\\"])
)
any_key = any_text.filter(lambda key: key not in {"format", "version", "checksum", "dtype"})
plain_values = st.recursive(
    scalars | numeric_arrays,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_key, inner, max_size=4),
    max_leaves=20,
)
records = st.dictionaries(any_key, plain_values)
in_one_folder = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40
)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of small files need not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def same(a: Any, b: Any) -> bool:
    """Equal in every type, value, bit and byte, and in the order of the keys."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return a.hex() == b.hex() if isinstance(a, float) else bool(a == b)


def apart(value: Any) -> Any:
    """Return a copy in which equal texts and arrays are different objects, as far as Python allows
    it.
    """
    if isinstance(value, str):
        return ("x" + value)[1:]
    if isinstance(value, dict):
        return {apart(key): apart(item) for key, item in value.items()}
    if isinstance(value, list):
        return [apart(item) for item in value]
    return value.copy() if isinstance(value, np.ndarray) else value


def together(value: Any, known: dict[Any, Any]) -> Any:
    """Return a copy in which equal texts, arrays, lists and dictionaries are one object each."""
    if isinstance(value, dict):
        value = {together(key, known): together(item, known) for key, item in value.items()}
    elif isinstance(value, list):
        value = [together(item, known) for item in value]
    return known.setdefault(pickle.dumps(value), value)


@in_one_folder
@given(record=records)
def test_load_returns_what_was_saved(record: dict[str, Any], tmp_path: Path) -> None:
    """A record comes back equal in every type, value, bit and byte, and in the order of its
    keys.
    """
    save(record, str(tmp_path / "model"))
    assert same(load(tmp_path / "model"), record)


@in_one_folder
@given(record=records)
def test_bytes_are_those_of_joblib(record: dict[str, Any], tmp_path: Path) -> None:
    """But for the function that it names, a file is what joblib.dump writes of what joblib.load
    reads: a text, and an array of bytes; and it is read without the function, too.
    """
    save(record, str(tmp_path / "model"))
    opened = open_entries(tmp_path / "model")
    assert list(opened) == ["header", "data"]
    assert type(opened["header"]) is str and opened["data"].dtype == np.uint8
    file = io.BytesIO()
    joblib.dump(opened, file, compress=0, protocol=3)
    assert entries_alone((tmp_path / "model").read_bytes()) == file.getvalue()
    (tmp_path / "old").write_bytes(file.getvalue())
    assert same(load(tmp_path / "old"), load(tmp_path / "model"))


@in_one_folder
@given(record=st.dictionaries(any_key, numeric_arrays, max_size=5))
def test_arrays_can_be_read_without_nbtext(record: dict[str, Any], tmp_path: Path) -> None:
    """The header says where each array is in the data, in words of NumPy; equal arrays are stored
    once.
    """
    save(record, str(tmp_path / "model"))
    opened = open_entries(tmp_path / "model")
    header = json.loads(opened["header"])
    for name, expected in record.items():
        place = header[name]
        assert same(
            np.ndarray(place["shape"], place["dtype"], opened["data"], place["offset"]).copy(),
            expected,
        )
    n_bytes = len(opened["data"])
    save({**record, "again": apart(record)}, str(tmp_path / "model"))
    assert len(open_entries(tmp_path / "model")["data"]) == n_bytes


@pytest.mark.parametrize("n_bytes", [0, 240, 256, 65520, 65536, 1 << 20])
@pytest.mark.parametrize("n_characters", [0, 300, 1 << 16, 1 << 20])
def test_lengths_of_every_form(n_bytes: int, n_characters: int, tmp_path: Path) -> None:
    """joblib writes lengths in several forms; a model of every length has its form."""
    content = {"bytes": (np.arange(n_bytes) % 7).astype(np.uint8)} if n_bytes else {}
    save({"text": "x" * n_characters, **content}, str(tmp_path / "model"))
    file = io.BytesIO()
    joblib.dump(open_entries(tmp_path / "model"), file, protocol=3)
    assert entries_alone((tmp_path / "model").read_bytes()) == file.getvalue()
    assert len(load(tmp_path / "model")["text"]) == n_characters


def test_a_file_names_one_function_of_nbtext(tmp_path: Path) -> None:
    """Whatever stands in its header, a scanner of pickles finds this function, and what joblib
    needs for an array.
    """
    save({"labels": ["cos\nsystem\n"], "counts": np.arange(3)}, str(tmp_path / "model"))
    content = (tmp_path / "model").read_bytes()
    before = content.index(storage.AFTER_LENGTH) + len(storage.AFTER_LENGTH) - 2
    program = content[:before] + storage.END  # without the bytes of arrays, which joblib reads
    found = [value for opcode, value, _ in pickletools.genops(program) if opcode.name == "GLOBAL"]
    assert found == [
        "nbtext.text_classifier restore",
        "joblib.numpy_pickle NumpyArrayWrapper",
        "numpy ndarray",
        "numpy dtype",
    ]


def test_joblib_gets_the_same_checks(tmp_path: Path) -> None:
    """What `load_model` refuses, joblib.load refuses with the same words."""
    save({"labels": ["ham", "spam"], "counts": np.arange(3)}, str(tmp_path / "model"))
    messages = []
    for load_file in (joblib.load, load_model):
        with pytest.raises(ArtifactError) as caught:
            load_file(tmp_path / "model")
        messages.append(caught.value.what)
    assert messages[0] == messages[1] != ""


@in_one_folder
@given(record=records)
def test_equal_records_are_equal_bytes(record: dict[str, Any], tmp_path: Path) -> None:
    """The bytes do not depend on which equal parts of a record are one object."""
    for name, variant in (("a", record), ("b", apart(record)), ("c", together(record, {}))):
        save(variant, str(tmp_path / name))
    assert (
        (tmp_path / "a").read_bytes()
        == (tmp_path / "b").read_bytes()
        == (tmp_path / "c").read_bytes()
    )


@in_one_folder
@given(record=records)
def test_saving_what_was_loaded_gives_the_same_bytes(
    record: dict[str, Any], tmp_path: Path
) -> None:
    """Saving a loaded record gives the bytes of the file."""
    save(record, str(tmp_path / "a"))
    save(storage_record(tmp_path / "a"), str(tmp_path / "b"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def storage_record(path: Path) -> dict[str, Any]:
    """Return the record of a file as the program reads it, whose arrays are still in the file."""
    return {name: value for name, value in storage.load(str(path)).items() if name not in HEADER}


def test_one_form_for_arrays_and_scalars(tmp_path: Path) -> None:
    """The bytes do not depend on byte order, memory order, strides, NumPy's aliases of a dtype, or
    NumPy scalars.
    """
    numbers = np.arange(6, dtype=np.int64).reshape(2, 3)
    longs = np.arange(3, dtype=np.longlong)
    variants = [
        {"a": numbers, "b": longs.astype(np.int64), "c": 1, "d": 0.5, "e": True, "f": "C"},
        {
            "a": np.asfortranarray(numbers),
            "b": longs,
            "c": np.int64(1),
            "d": np.float64(0.5),
            "e": np.True_,
            "f": np.str_("C"),
        },
        {
            "a": numbers.astype(">i8"),
            "b": np.arange(6)[:6:2] // 2,
            "c": np.uint8(1),
            "d": 0.5,
            "e": True,
            "f": "C",
        },
    ]
    for name, variant in enumerate(variants):
        save(variant, str(tmp_path / str(name)))
    assert len({(tmp_path / str(name)).read_bytes() for name in range(3)}) == 1


def test_arrays_are_read_only_and_aligned(tmp_path: Path) -> None:
    """A loaded array is read-only, and aligned for vector instructions."""
    save(
        {"text": "abc", "a": np.arange(3, dtype=np.uint8), "b": np.arange(5.0)},
        str(tmp_path / "model"),
    )
    loaded = storage.load(str(tmp_path / "model"))
    a = loaded["a"].read()
    b = loaded["b"].read()
    assert not a.flags.writeable and not b.flags.writeable
    assert b.flags.aligned and b.ctypes.data % 16 == 0
    assert loaded["b"].offset % 16 == 0 and (loaded["b"].content.data_start) % 16 == 0


def test_what_is_loaded_does_not_change_with_the_file(tmp_path: Path) -> None:
    """Truncating or overwriting the file in place changes nothing in what was read, and the rest is
    refused.
    """
    path = tmp_path / "model"
    save({"a": np.arange(100_000), "b": np.arange(50_000)}, str(path))
    loaded = storage.load(str(path))
    a = loaded["a"].read()
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    with pytest.raises(ArtifactError, match="is damaged: it ends early, before byte"):
        loaded["b"].read()
    path.write_bytes(whole[:-1000] + bytes(1000))
    with pytest.raises(ArtifactError, match="is damaged: the checksum of an array does not match"):
        loaded["b"].read()
    assert a.sum() == 99_999 * 100_000 // 2


def test_a_file_that_is_replaced_is_still_read(tmp_path: Path) -> None:
    """What is not read yet comes from the file that was opened, also after another one has its
    name.
    """
    path = tmp_path / "model"
    save({"a": np.arange(3)}, str(path))
    loaded = storage.load(str(path))
    save({"a": np.arange(4)}, str(path))
    path.unlink()
    assert loaded["a"].read().tolist() == [0, 1, 2]


def test_no_file_stays_open(tmp_path: Path) -> None:
    """A file is closed with the last record or array of it."""
    save({"a": np.arange(3)}, str(tmp_path / "model"))
    gc.collect()  # Python 3.13 has cycles of a traceback and its frames
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        assert storage.load(str(tmp_path / "model"))["a"].read().sum() == 3
    with pytest.raises(ArtifactError):
        storage.load(str(tmp_path))
    gc.collect()
    assert os.listdir("/proc/self/fd") == before


def test_pipes(tmp_path: Path) -> None:
    """A model goes through standard output and standard input byte for byte, in whatever pieces,
    and a named pipe.
    """
    record = {"a": np.arange(100_000), "labels": ["x"] * 1000}
    save(record, str(tmp_path / "model"))
    code = (
        "from nbtext.artifact.storage import load, save; record = load('-');"
        "save({name: record[name] for name in ('a', 'labels')}, '-')"
    )
    data = (tmp_path / "model").read_bytes()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as through:
        assert through.stdin and through.stdout
        for piece in (data[:1], data[1:3], data[3:100], data[100:]):
            through.stdin.write(piece)
            through.stdin.flush()
        through.stdin.close()
        assert through.stdout.read() == data
    assert through.returncode == 0

    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
    writer.start()
    assert same(load(tmp_path / "pipe"), record)
    writer.join()


def test_what_is_no_plain_data_is_not_saved(tmp_path: Path) -> None:
    """save takes plain data only, and arrays of types that load accepts."""
    for value in (
        object(),
        {1},
        np.array(["a"]),
        np.array([None]),
        np.zeros(1, dtype=[("a", "i4")]),
        1j,
        b"x",
        np.zeros(1, dtype=np.float16),
        np.zeros(1, dtype=bool),
    ):
        with pytest.raises(TypeError):
            save({"a": value}, str(tmp_path / "model"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    [[0] * MAX_HEADER_VALUES, "x" * (1 << 26), [{}] * MAX_HEADER_VALUES, "," * MAX_HEADER_VALUES],
)
def test_what_load_would_refuse_is_not_saved(content: Any, tmp_path: Path) -> None:
    """A record beyond the reader's bounds is refused when it is saved, not when it is loaded."""
    with pytest.raises(
        ArtifactError, match=r"cannot be written: a model file never .*; give fewer stop words"
    ):
        save({"a": content}, str(tmp_path / "model"))
    assert not list(tmp_path.iterdir())
