"""A damaged model file is refused, or loads as the model that was saved."""

from __future__ import annotations

import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtext.artifact.storage import load, save
from nbtext.errors import ArtifactError

RECORD = {
    "format": "nbtext model",
    "version": 2,
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
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small valid model."""
    path = tmp_path_factory.mktemp("honest") / "model"
    save(RECORD, str(path))
    return path.read_bytes()


@pytest.fixture
def outcome(tmp_path: Path) -> Callable[[bytes], Any]:
    """Return the record that some bytes load as; None if they are refused with an ArtifactError."""

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
    """Return whether a record is the one that was saved."""
    return repr(record) == repr(RECORD)


def test_the_undamaged_file_loads(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """The undamaged file of the other tests loads."""
    assert is_honest(outcome(honest))


def test_cut_at_every_byte(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """A model that is cut anywhere is refused."""
    assert all(outcome(honest[:length]) is None for length in range(len(honest)))


def test_every_bit_flipped(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """With any one bit flipped, a model is refused."""
    for position in range(8 * len(honest)):
        flipped = bytearray(honest)
        flipped[position // 8] ^= 1 << position % 8
        assert outcome(bytes(flipped)) is None, position


def test_every_byte_repeated_or_left_out(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """A file with any one byte twice or missing is refused, unless its bytes are the same as before."""
    for position in range(len(honest)):
        for damaged in (honest[:position] + honest[position + 1 :], honest[: position + 1] + honest[position:]):
            assert outcome(damaged) is None or damaged == honest, position


def test_pieces_swapped(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """A file whose parts are overwritten by other parts is refused, unless its bytes are the same as before."""
    chance = random.Random(1)
    for _ in range(2000):
        damaged = bytearray(honest)
        for _ in range(chance.randint(1, 3)):
            length = chance.randint(1, 40)
            source, target = (chance.randrange(len(honest)) for _ in range(2))
            damaged[target : target + length] = honest[source : source + length]
        assert outcome(bytes(damaged)) is None or damaged == honest


def test_damage_with_a_right_checksum(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """If the checksum is computed again, the reader refuses what is not plain data, and never crashes."""
    chance = random.Random(2)
    for _ in range(2000):
        damaged = bytearray(honest[:-32])
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.choice(OPERATIONS)
        record = outcome(bytes(damaged) + sha256(damaged).digest())
        assert record is None or record["format"] == "nbtext model"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=500)
@given(
    data=st.binary(max_size=60)
    | st.lists(st.sampled_from(OPERATIONS) | st.integers(0, 255), max_size=60).map(bytes)
    | st.lists(st.sampled_from(OPERATIONS), max_size=60).map(lambda program: b"\x80\x04" + bytes(program) + b".")
)
def test_any_bytes(data: bytes, outcome: Callable[[bytes], Any]) -> None:
    """For any bytes, only ArtifactError is raised."""
    assert outcome(data) is None
