"""Files that are not models are refused in one line that says what they are."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from stored import assemble, change, put

from nbtext import TextClassifier, load_model
from nbtext.artifact.storage import load, save
from nbtext.errors import ArtifactError

HEADER = {"format": "nbtext model", "version": 2}  # of an earlier format

FOREIGN = {
    "nothing": (b"", "is empty"),
    "text": (b"hello world\n", "looks like text"),
    "text in UTF-8, cut in a character": (("é" * 40).encode()[:-1] + b"x", "looks like text"),
    "JSON": (b'{"text": "a"}\n', "looks like text"),
    "matrix file": (b"PK\x03\x04" + bytes(100), "is not a model"),
    "gzip": (b"\x1f\x8b" + bytes(20), "is not a model"),
    "array file": (b"\x93NUMPY\x01\x00", "is not a model"),
    "program": (b"\x7fELF\x02\x01\x01" + bytes(20), "is not a model"),
    "PDF": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "not a model"),
    "zeros": (bytes(1000), "is not a model"),
    "random bytes that begin a text in a pickle": (b"X\xf0\x9c\x83\x01\x02", "is not a model"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_something_else_is_named(name: str, tmp_path: Path) -> None:
    """A file that is not a model is refused in a line that names what it looks like."""
    data, message = FOREIGN[name]
    path = tmp_path / "model.joblib"
    path.write_bytes(data)
    with pytest.raises(ArtifactError) as caught:
        load(str(path))
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize("header", ["{}", '{"a": 1}', "[1, 2]", '{"format": [1], "version": 3}'])
def test_other_plain_data_is_named(header: str, tmp_path: Path) -> None:
    """Plain data of another program in the same form is not a model."""
    (tmp_path / "other").write_bytes(assemble(header))
    with pytest.raises(ArtifactError, match=r"no nbtext model|not JSON"):
        load(str(tmp_path / "other"))


@pytest.mark.parametrize("content", [{}, {"task": {"name": "tree"}}, {"a": None}, {"views": []}])
def test_a_newer_version_says_so(content: dict[str, Any], tmp_path: Path) -> None:
    """A newer version is refused with a sentence that says so, whatever it holds."""
    (tmp_path / "model").write_bytes(assemble({"format": "nbtext model", "version": 7, **content}))
    with pytest.raises(
        ArtifactError, match=r"newer nbtext: it has version 7 .* reads version 3; update nbtext"
    ):
        load(str(tmp_path / "model"))


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_version_says_so(version: int, tmp_path: Path) -> None:
    """A model of an earlier edition is refused with the way out."""
    joblib.dump(
        {**HEADER, "version": version, "checksum": "0" * 64}, tmp_path / "model", protocol=4
    )
    message = r"was written by an older nbtext; this one reads version 3 .*; train the model again: nbtext train"
    with pytest.raises(ArtifactError, match=message):
        load(str(tmp_path / "model"))


@pytest.mark.parametrize("version", [0, True, "1", 3.0, None, "missing"])
def test_no_version(version: Any, tmp_path: Path) -> None:
    """What is not a version number is not taken for one."""
    header = {"format": "nbtext model"} | ({} if version == "missing" else {"version": version})
    (tmp_path / "model").write_bytes(assemble(header))
    with pytest.raises(ArtifactError, match="does not state the version"):
        load(str(tmp_path / "model"))


def test_wrong_checksums(tmp_path: Path) -> None:
    """A header or an array whose checksum is another one is damaged."""
    save({"a": np.arange(3)}, str(tmp_path / "model"))
    content = (tmp_path / "model").read_bytes()
    (tmp_path / "model").write_bytes(content.replace(b'"shape":[3]', b'"shape":[2]'))
    with pytest.raises(
        ArtifactError, match="is damaged: the checksum of its header does not match"
    ):
        load(str(tmp_path / "model"))
    (tmp_path / "model").write_bytes(content[:-10] + b"x" + content[-9:])
    stored = load(str(tmp_path / "model"))["a"]
    with pytest.raises(ArtifactError, match="is damaged: the checksum of an array does not match"):
        stored.read()


def test_unreadable_paths(tmp_path: Path) -> None:
    """A missing file, a directory and a device are refused in a line that names them."""
    for path, message in (
        (tmp_path / "no", "does not exist"),
        (tmp_path, "is a directory"),
        (Path("/dev/zero"), "is not a model"),
    ):
        with pytest.raises(ArtifactError, match=message) as caught:
            load(str(path))
        assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_forbidden_file(tmp_path: Path) -> None:
    """A file that may not be read is named."""
    (tmp_path / "model").touch(mode=0o000)
    with pytest.raises(ArtifactError, match="permission denied"):
        load(str(tmp_path / "model"))


def test_closed_standard_input() -> None:
    """Without a standard input, - is an error, not a crash."""
    code = "from nbtext.artifact.storage import load\ntry:\n    load('-')\nexcept Exception as error:\n    print(error)"
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -c "$0" <&-', code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("standard input: ")


def test_a_setting_that_was_removed(tmp_path: Path) -> None:
    """A file with the only value that is left is read; one with another value is refused."""
    path = tmp_path / "model"
    TextClassifier().fit(["red", "blue"], ["a", "b"]).save(path)
    change(path, put("model_settings.duplicates", "together"))
    assert load_model(path).predict(["red"]).tolist() == ["a"]
    change(path, put("model_settings.duplicates", "separate"))
    with pytest.raises(ArtifactError) as caught:
        load_model(path)
    what = (
        "the model was made with duplicates 'separate', which nbtext no longer has; train it again"
    )
    assert str(caught.value) == f"{path}: {what}"
