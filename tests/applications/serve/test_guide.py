"""The systemd unit and the container of the guide start the service as they say."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

Start = Any  # see conftest.py
GUIDE = (Path(__file__).parents[3] / "nbtext" / "guides" / "serve.md").read_text()
(UNIT,) = re.findall(r"```ini\n(.*?)```", GUIDE, re.DOTALL)
CONTAINER = (Path(__file__).parents[3] / ".github" / "Dockerfile").read_text()


@pytest.fixture
def places(model: Path, tmp_path: Path) -> dict[str, str]:
    """The places of the guide, and those of this test."""
    (tmp_path / "tokens").write_text("correct-horse\n")
    (tmp_path / "letters.joblib").write_bytes(model.read_bytes())
    (tmp_path / "model.joblib").write_bytes(model.read_bytes())
    return {
        "/var/lib/nbtext/": f"{tmp_path}/",
        "/models/": f"{tmp_path}/",
        "/run/secrets/": f"{tmp_path}/",
        "${CREDENTIALS_DIRECTORY}": str(tmp_path),
    }


def moved(arguments: list[str], places: dict[str, str]) -> list[str]:
    for old, new in places.items():
        arguments = [each.replace(old, new) for each in arguments]
    return arguments


def check(service: Any) -> None:
    assert service.get("/readyz").status == 200
    assert service.post("/v1/predict", {"text": "bins"}).status == 401
    answer = service.post("/v1/predict", {"text": "bins"}, authorization="Bearer correct-horse")
    assert answer.value["label"] == "trash"


def test_the_unit(start: Start, places: dict[str, str]) -> None:
    """Its command runs."""
    (command,) = re.findall("^ExecStart=(.*)$", UNIT, re.MULTILINE)
    program, name, *arguments = shlex.split(command)
    assert (program, name) == ("/opt/nbtext/bin/nbtext", "serve")
    service = start(*moved(arguments, places))
    check(service)
    feedback = {"text": "x", "label": "noise"}
    stored = service.post(
        "/v1/models/letters/feedback", feedback, authorization="Bearer correct-horse"
    )
    assert stored.value == {"stored": 1}
    assert service.end() == 0


def test_the_container(start: Start, places: dict[str, str]) -> None:
    """Its command runs, and its health check succeeds while the service runs, and fails when it has
    ended.
    """
    words = {
        name: json.loads(value)
        for name, value in re.findall(r"^(\w+(?: CMD)?) (\[.*\])$", CONTAINER, re.MULTILINE)
    }
    *program, name = (*words["ENTRYPOINT"], words["CMD"][0])
    arguments = words["CMD"][1:]
    assert (program, name) == (["python", "-m", "nbtext"], "serve")
    service = start(*moved(arguments, places))
    check(service)
    probe = [
        sys.executable,
        *words["HEALTHCHECK CMD"][1:-1],
        words["HEALTHCHECK CMD"][-1].replace("8000", str(service.port)),
    ]
    assert subprocess.run(probe, capture_output=True, check=False).returncode == 0
    assert service.end() == 0
    assert subprocess.run(probe, capture_output=True, check=False).returncode == 1
    assert re.search(r'pip install .* "/source\[serve\]"', CONTAINER)
