"""Attacks that execute code, or try to."""

import io
import os
import pickle
from collections.abc import Callable, Iterator

import joblib
import numpy as np
from spelling import Attack, Evil, dumped, honest, long_text
from stored import CHECKSUM_LENGTH, N_START, take_apart

from nbtext.artifact import storage

COMPRESSIONS = ("gzip", "zlib", "bz2", "xz", "lzma")


def attacks(command: Callable[[str], str]) -> Iterator[Attack]:
    """Return all attacks of this module; `command` creates the canary of an attack."""
    yield from _calls(command)
    yield from _calls_in_models(command)


def _calls_in_models(command: Callable[[str], str]) -> Iterator[Attack]:
    """Call os.system at each place of a valid model, and in each of its two entries."""
    header, data = take_apart(honest())
    n_header = len(header) + CHECKSUM_LENGTH - 1
    behind = N_START + n_header
    length = honest().index(storage.BEFORE_LENGTH) + len(storage.BEFORE_LENGTH)
    behind_length = honest().index(storage.AFTER_LENGTH)
    places = {
        "before-the-function": (2, 2, b"0"),
        "behind-the-header": (behind, behind, b"0"),
        "behind-the-name": (behind + 13, behind + 13, b"0"),
        "as-length": (length, behind_length, b""),
        "behind-the-length": (behind_length, behind_length, b"0"),
        "in-the-padding": (len(honest()) - len(data) - 4, len(honest()) - len(data) - 4, b"0"),
        "behind-the-array": (len(honest()) - 4, len(honest()) - 4, b"0"),
        "behind-the-entries": (len(honest()) - 1, len(honest()) - 1, b"0"),
    }
    for label, (start, stop, after) in places.items():
        attack = f"model-{label}"
        program = b"cos\nsystem\n(" + long_text(command(attack)) + b"tR" + after
        content = honest()[:start] + program + honest()[stop:]
        yield Attack(attack, content, is_live=label != "in-the-padding")
    call = b"cos\nsystem\n" + long_text(command("model-of-another-function")) + b"\x85R."
    yield Attack("model-of-another-function", storage.PROTOCOL + call + honest()[2:], is_live=True)
    yield Attack(
        "model-behind-the-end",
        honest() + b"cos\nsystem\n(" + long_text(command("model-behind-the-end")) + b"tR.",
    )
    entries = {"header": header, "data": np.frombuffer(data, dtype=np.uint8)}
    for label in ("header", "data", "more"):
        file = io.BytesIO()
        evil = Evil(os.system, command(f"model-with-evil-{label}"))
        joblib.dump(entries | {label: evil}, file, protocol=3)
        yield Attack(f"model-with-evil-{label}", file.getvalue(), is_live=True)
    objects = pickle.dumps(Evil(os.system, command("model-of-objects")), protocol=3)
    content = honest()[:behind_length].replace(b"u1", b"O8") + storage.AFTER_LENGTH.replace(
        b"u1", b"O8"
    ).replace(b"K\x00t", b"K\x3ft")
    yield Attack("model-of-objects", content[:-2] + objects + data, is_live=True)


def _calls(command: Callable[[str], str]) -> Iterator[Attack]:
    """Call os.system, in each pickle protocol, behind each compression, and at each place of a
    record.
    """
    for protocol in range(6):
        label = f"system-protocol-{protocol}"
        yield Attack(
            label, dumped(Evil(os.system, command(label)), protocol=protocol), is_live=True
        )
    for compression in COMPRESSIONS:
        label = f"system-behind-{compression}"
        yield Attack(
            label, dumped(Evil(os.system, command(label)), compress=(compression, 3)), is_live=True
        )
    yield Attack(
        "system-in-depth",
        dumped([1, {"a": (Evil(os.system, command("system-in-depth")),)}]),
        is_live=True,
    )
    yield Attack(
        "system-as-key", dumped({Evil(os.system, command("system-as-key")): 1}), is_live=True
    )
    yield Attack(
        "system-alone", pickle.dumps(Evil(os.system, command("system-alone"))), is_live=True
    )
