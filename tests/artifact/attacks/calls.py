"""Attacks that execute code, or try to."""

import codecs
import importlib
import io
import os
import pickle
import runpy
import subprocess
import timeit
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import joblib
import numpy as np
from spelling import DTYPE_END, Attack, Evil, array, dumped, honest, long_text, model, name, text
from stored import CHECKSUM_LENGTH, N_START, take_apart

from nbtext.artifact import storage

COMPRESSIONS = ("gzip", "zlib", "bz2", "xz", "lzma")


def attacks(command: Callable[[str], str], folder: Path) -> Iterator[Attack]:
    """Return all attacks of this module; `command` creates the canary of an attack in `folder`."""
    yield from _calls(command)
    yield from _calls_of_python(command)
    yield from _programs(command)
    yield from _objects(folder)
    yield from _objects_in_arrays(command)
    yield from _calls_in_models(command)


def _calls_in_models(command: Callable[[str], str]) -> Iterator[Attack]:
    """Call os.system at each place of a valid model, and in each of its two entries."""
    header, data = take_apart(honest())
    n_header = len(header) + CHECKSUM_LENGTH - 1
    behind = N_START + n_header
    length = honest().index(storage.BEFORE_LENGTH) + len(storage.BEFORE_LENGTH)
    behind_length = honest().index(storage.AFTER_LENGTH)
    places = {
        "before-the-header": (3, 3, b"0"),
        "behind-the-header": (behind, behind, b"0"),
        "behind-the-name": (behind + 13, behind + 13, b"0"),
        "as-length": (length, behind_length, b""),
        "behind-the-length": (behind_length, behind_length, b"0"),
        "in-the-padding": (len(honest()) - len(data) - 4, len(honest()) - len(data) - 4, b"0"),
        "behind-the-array": (len(honest()) - 2, len(honest()) - 2, b"0"),
        "behind-the-entries": (len(honest()) - 1, len(honest()) - 1, b"0"),
    }
    for label, (start, stop, after) in places.items():
        attack = f"model-{label}"
        program = b"cos\nsystem\n(" + long_text(command(attack)) + b"tR" + after
        content = honest()[:start] + program + honest()[stop:]
        yield Attack(attack, content, is_live=label not in ("before-the-header", "in-the-padding"))
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
    for label, (old, new) in {
        "wrapper": (b"NumpyArrayWrapper", b"ZNDArrayWrapper\x20\x20"),
        "module": (b"joblib.numpy_pickle", b"joblib.numpy_pickl3"),
        "dtype": (b"u1q", b"i1q"),
        "order": (b"Cq", b"Fq"),
        "subclass": (b"ndarray\n", b"memmap1\n"),
        "mmap": (b"\x88X\x1b", b"\x89X\x1b"),
        "alignment": (b"K\x10ub", b"K\x08ub"),
        "protocol": (b"\x80\x03}", b"\x80\x02}"),
        "end": (b"u.", b"s."),
    }.items():
        before, found, after = honest().rpartition(old)
        assert found
        yield Attack(f"model-of-other-{label}", before + new + after)


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
    yield Attack("system-in-newer-version", model(name("os", "system")).replace(b"K\x02", b"K\x09"))


def _calls_of_python(command: Callable[[str], str]) -> Iterator[Attack]:
    """Call other functions of Python's standard library that execute code."""

    def run(label: str) -> str:
        return f"import os; os.system({command(label)!r})"

    def file(label: str) -> str:
        return command(label).split("'")[1]

    functions: dict[str, Callable[[str], Evil]] = {
        "eval": lambda label: Evil(eval, f"__import__('os').system({command(label)!r})"),
        "exec": lambda label: Evil(exec, run(label)),
        "popen": lambda label: Evil(os.popen, command(label)),
        "subprocess": lambda label: Evil(subprocess.call, ["sh", "-c", command(label)]),
        "spawn": lambda label: Evil(os.spawnlp, os.P_WAIT, "sh", "sh", "-c", command(label)),
        "timeit": lambda label: Evil(timeit.timeit, run(label), "pass", timeit.default_timer, 1),
        "runpy": lambda label: Evil(runpy._run_code, run(label), {}),  # type: ignore[attr-defined]
        "open": lambda label: Evil(open, file(label), "w"),
        "memmap": lambda label: Evil(np.memmap, file(label), "uint8", "w+", 0, (1,)),
        "savetxt": lambda label: Evil(np.savetxt, file(label), [1]),
    }
    for label, evil in functions.items():
        yield Attack(label, dumped(evil(label)), is_live=True)
    yield Attack("map", dumped(Evil(map, partial(os.system), [command("map")])))
    yield Attack("import", dumped(Evil(importlib.import_module, "antigravity")))
    yield Attack("getattr", model(name("builtins", "getattr")))
    yield Attack("codec", dumped(Evil(codecs.decode, b"x", "unicode_escape")))


def _programs(command: Callable[[str], str]) -> Iterator[Attack]:
    """Call os.system by each pickle operation that can look up, create, call or complete an object;
    SHELL is the command.
    """
    wrapper = name("joblib.numpy_pickle", "NumpyArrayWrapper")
    live = {
        "global": b"cos\nsystem\nSHELL\x85R",
        "global-posix": b"cposix\nsystem\nSHELL\x85R",
        "stack-global": text("os") + text("system") + b"\x93SHELL\x85R",
        "stack-global-memo": b"]("
        + text("os")
        + b"\x94"
        + text("system")
        + b"\x94h\x00h\x01\x93SHELL\x85Re",
        "dotted": text("joblib") + text("os.system") + b"\x93SHELL\x85R",
        "inst": b"(SHELLios\nsystem\n",
        "obj": b"(cos\nsystem\nSHELLo",
    }
    dead = {
        "dotted-in-numpy": text("numpy") + text("_core.os.system") + b"\x93SHELL\x85R",
        "newobj": b"csubprocess\nPopen\n)\x81",
        "newobj-ex": b"csubprocess\nPopen\n)}\x92",
        "newobj-ex-of-known-name": wrapper + b")}\x92",
        "newobj-of-function": b"cos\nsystem\nSHELL\x85\x81",
        "newobj-of-text": text("os.system") + b"SHELL\x85\x81",
        "obj-of-known-name": b"(cnumpy\nndarray\no",
        "call-of-known-name": name("numpy", "ndarray") + b"K\x01\x85\x85R",
        "call-of-text": text("os.system") + b"SHELL\x85R",
        "newobj-of-known-name": name("numpy", "ndarray") + b"K\x01\x85\x85\x81",
        "newobj-with-arguments": wrapper + b"N\x85\x81",
        "reconstructor-of-object": b"ccopy_reg\n_reconstructor\n(c__builtin__\nobject\nc__builtin__\nobject\nNtR",
        "old-wrapper": name("joblib.numpy_pickle_compat", "NDArrayWrapper") + b")\x81}b",
        "build-on-function": b"cos\nsystem\n}" + text("a") + b"Nsb",
        "build-on-known-name": name("numpy", "ndarray") + b"}" + text("__init__") + b"Nsb",
        "build-on-dictionary": b"}}" + text("a") + b"Nsb",
        "build-with-slots": wrapper + b")\x81N}" + text("read") + b"Ns\x86b",
        "append-to-known-name": name("numpy", "ndarray") + b"Na",
        "set-item-of-known-name": name("numpy", "ndarray") + text("a") + b"Ns",
        "known-name-as-value": name("numpy", "ndarray"),
        "dtype-as-value": name("numpy", "dtype") + text("i4") + DTYPE_END + b"R",
        "record-as-value": wrapper + b")\x81",
        "record-behind-the-array": array().replace(b")\x81", b")\x81\x94") + text("y") + b"h\x00",
        "persid": b"Pos.system\n",
        "binpersid": text("os.system") + b"Q",
        "ext1": b"\x82\x01SHELL\x85R",
        "ext2": b"\x83\x01\x00SHELL\x85R",
        "ext4": b"\x84\x01\x00\x00\x00SHELL\x85R",
        "next-buffer": b"\x97",
        "name-of-bytes": b"C\x02osC\x06system\x93",
        "name-of-escapes": b"cos\n\x1b[31msystem\x07\n",
        "name-of-10-MB": b"c" + b"o" * 10_000_000 + b"\nsystem\n",
        "name-of-1-MB": b"c" + b"o" * 1_000_000 + b"\nsystem\n",
        "name-without-end": b"c" + b"o" * 1000,
    }
    for label, program in (live | dead).items():
        yield Attack(
            label, model(program.replace(b"SHELL", text(command(label)))), is_live=label in live
        )


def _objects(folder: Path) -> Iterator[Attack]:
    """Objects that execute code when they are created, and harmless objects that are not plain
    data.
    """
    opened = text(f"{folder}/canary-file-handler")
    yield Attack(
        "file-handler", model(name("logging", "FileHandler") + opened + b"\x85R"), is_live=True
    )
    touched = b"(cpathlib\nPath\n(" + text(f"{folder}/canary-path-touch") + b"tRtR"
    yield Attack("path-touch", model(name("pathlib", "Path.touch") + touched), is_live=True)
    yield Attack("set", model(b"\x8f(K\x01\x90"))
    yield Attack("frozen-set", model(b"(K\x01\x91"))
    yield Attack("bytearray", model(b"\x96\x01" + bytes(7) + b"a"))
    for value in (range(3), 1j, np.float64(1), bytearray(b"a"), slice(1), ...):
        yield Attack(f"object-{type(value).__name__}", dumped(value))


def _objects_in_arrays(command: Callable[[str], str]) -> Iterator[Attack]:
    """Code inside object arrays, which joblib pickles separately."""
    objects = np.array([Evil(os.system, command("object-array"))], dtype=object)
    yield Attack("object-array", dumped(objects), is_live=True)
    fields = np.zeros(1, dtype=[("a", object)])
    fields["a"][0] = Evil(os.system, command("object-field"))
    yield Attack("object-field", dumped(fields), is_live=True)
    yield Attack("object-array-of-nothing", dumped(np.zeros(0, dtype=object)))
    yield Attack("masked-array", dumped(np.ma.array([1, 2], mask=[0, 1])))
    yield Attack("record-array", dumped(np.rec.array([(1, 2)], dtype="i4,i4")))
