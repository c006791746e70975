"""A model that was damaged on its way is never taken for another one."""

from __future__ import annotations

import gzip
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtext.artifact.record import checksum
from nbtext.artifact.storage import load
from nbtext.errors import ArtifactError

RECORD = {
    "format": "nbtext model",
    "version": 1,
    "labels": ["ham", "spam"],
    "settings": {"ngrams": (1, 2), "smoothing": 0.5, "lowercase": True, "stem": None, "minimum": -1, "large": 1 << 40},
    "blob": np.frombuffer(b"freemoney", dtype=np.uint8),
    "offsets": np.array([0, 4, 9]),
    "seen": np.array([True, False]),
}
OPERATIONS = list(
    b"N\x88\x89)]}KMJ\x8a\x8bG\x8cX\x8dCB\x8eILFV(\x85\x86\x87tldaesu\x94qrphjg\x80\x95c\x93\x81Rbio.PQ\x82\x83\x84"
)


@pytest.fixture(scope="module")
def honest() -> bytes:
    """A small model, as it is written."""
    import io

    file = io.BytesIO()
    joblib.dump({**RECORD, "checksum": checksum(RECORD)}, file, protocol=4)
    return file.getvalue()


@pytest.fixture
def outcome(tmp_path: Path) -> Callable[[bytes], Any]:
    """What loading some bytes gives: the record, or None where they are refused as they should be."""

    path = tmp_path / "model"
    path.touch()

    def loaded(data: bytes) -> Any:
        with path.open("r+b") as file:  # in place: to empty it first takes longer than all the rest
            file.write(data)
            file.truncate()
        try:
            return load(str(path))
        except ArtifactError as error:
            assert str(error).startswith(f"{path}: ")
            assert str(error).isprintable()
            return None

    return loaded


def is_honest(record: Any) -> bool:
    """Whether the record is the one that was saved."""
    return checksum(record) == checksum(RECORD) and repr(record) == repr(RECORD)


def test_the_honest_one_loads(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """What the other tests damage is whole to begin with."""
    assert is_honest(outcome(honest))


def test_cut_at_every_byte(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """A model that is cut anywhere is refused, compressed or not."""
    packed = gzip.compress(honest)
    assert all(outcome(honest[:length]) is None for length in range(len(honest)))
    assert all(outcome(packed[:length]) is None for length in range(len(packed)))


def test_every_bit_flipped(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """With any one bit flipped, a model is refused, or loads as the very same record."""
    n_harmless = 0
    for position in range(8 * len(honest)):
        flipped = bytearray(honest)
        flipped[position // 8] ^= 1 << position % 8
        record = outcome(bytes(flipped))
        assert record is None or is_honest(record), position
        n_harmless += record is not None
    assert n_harmless < 8 * len(honest) / 4  # paddings, frame lengths and unused places of the memo


def test_every_byte_repeated_or_left_out(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """With any byte twice or missing, too."""
    for position in range(len(honest)):
        for damaged in (honest[:position] + honest[position + 1 :], honest[: position + 1] + honest[position:]):
            record = outcome(damaged)
            assert record is None or is_honest(record), position


def test_pieces_swapped(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """With pieces overwritten by other pieces of itself, too."""
    chance = random.Random(1)
    for _ in range(2000):
        damaged = bytearray(honest)
        for _ in range(chance.randint(1, 3)):
            length = chance.randint(1, 40)
            source, target = (chance.randrange(len(honest)) for _ in range(2))
            damaged[target : target + length] = honest[source : source + length]
        record = outcome(bytes(damaged))
        assert record is None or is_honest(record)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=500)
@given(
    data=st.binary(max_size=60)
    | st.lists(st.sampled_from(OPERATIONS) | st.integers(0, 255), max_size=60).map(bytes)
    | st.lists(st.sampled_from(OPERATIONS), max_size=60).map(lambda program: b"\x80\x04" + bytes(program) + b".")
)
def test_any_bytes(data: bytes, outcome: Callable[[bytes], Any]) -> None:
    """Whatever the bytes are, no error but ArtifactError is raised."""
    assert outcome(data) is None


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("pickler", [pickle._Pickler, pickle.Pickler])  # type: ignore[attr-defined]
def test_other_picklers(protocol: int, pickler: Any, outcome: Callable[[bytes], Any]) -> None:
    """What Python's two picklers write of the same data, framed in other ways and with long texts, reads the same."""
    import io

    record = {
        "format": "nbtext model",
        "version": 1,
        "long": ["x" * n for n in (255, 256, 65_535, 65_536, 200_000)],
        "bytes": [b"x" * n for n in (0, 255, 256, 200_000)],
        "numbers": [
            0,
            255,
            256,
            65_535,
            65_536,
            2**31 - 1,
            2**31,
            -1,
            -(2**31),
            -(2**31) - 1,
            2**254,
            -(2**255) + 1,
            1e300,
            -0.0,
        ],
        "many": {str(i): [i, (i,), (i, i), (i, i, i), (i, i, i, i)] for i in range(2500)},
    }
    file = io.BytesIO()
    pickler(file, protocol).dump({**record, "checksum": checksum(record)})
    loaded = outcome(file.getvalue())
    assert loaded == record and repr(loaded) == repr(record)
