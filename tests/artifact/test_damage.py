"""A damaged model file is refused, or loads as the model that was saved."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored import assemble, load, reseal

from nbtext.artifact import storage
from nbtext.artifact.storage import save
from nbtext.errors import ArtifactError

RECORD = {
    "labels": ["ham", "spam"],
    "settings": {
        "ngrams": [1, 2],
        "smoothing": 0.5,
        "lowercase": True,
        "stem": None,
        "minimum": -1,
        "large": 1 << 40,
    },
    "blob": np.frombuffer(b"freemoney", dtype=np.uint8),
    "offsets": np.array([0, 4, 9]),
    "weights": {"deltas": np.array([0.5, -1.5])},
}
PIECES = list(b'{}[]",:0123456789.-+eE\\tfnN\x00\xff<|iu')


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
            return load(path)
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
    """A file with any one byte twice or missing is refused, unless its bytes are the same as
    before.
    """
    for position in range(len(honest)):
        for damaged in (
            honest[:position] + honest[position + 1 :],
            honest[: position + 1] + honest[position:],
        ):
            assert outcome(damaged) is None or damaged == honest, position


def test_damage_with_a_right_checksum(honest: bytes, outcome: Callable[[bytes], Any]) -> None:
    """If the checksums are computed again, the reader refuses what is not plain data, and never
    crashes.
    """
    chance = random.Random(2)
    n_header = honest.index(storage.BEFORE_LENGTH)
    n_loaded = 0
    for number in range(4000):
        damaged = bytearray(honest)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(n_header if number % 2 else len(damaged))] = chance.choice(
                PIECES
            )
        record = outcome(reseal(bytes(damaged)))
        n_loaded += record is not None
    assert 100 < n_loaded < 3900


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=500)
@given(
    data=st.binary(max_size=60)
    | st.lists(st.sampled_from(PIECES) | st.integers(0, 255), max_size=60).map(bytes)
    | st.binary(max_size=60).map(lambda data: storage.START + data)
    | st.text('{}[]",:0123456789.-e', max_size=60).map(lambda text: assemble("{" + text))
)
def test_any_bytes(data: bytes, outcome: Callable[[bytes], Any]) -> None:
    """For any bytes, only ArtifactError is raised."""
    assert outcome(data) is None
