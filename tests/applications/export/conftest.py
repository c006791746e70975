"""Models of all kinds that can be exported, and texts to predict."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from nbtext.text_classifier import TextClassifier

# for this folder's own module: tests are not a package
sys.path.insert(0, str(Path(__file__).parent))
from demo_models import KINDS, ODD_TEXTS, documents


def program(name: str) -> str:
    """Return the path of an optional program; the test is skipped if it is missing, but never in
    CI.
    """
    found = shutil.which(name)
    if found is None:
        assert "CI" not in os.environ, f"CI has {name}"
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(scope="session")
def node() -> str:
    """Return the path of Node.js, which runs JavaScript without a browser."""
    return program("node")


@pytest.fixture(scope="session")
def cc() -> str:
    """Return the path of a C compiler."""
    return program("cc")


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Return texts like the training documents, and texts that are unusual in one way each."""
    return documents("test")[0][:40] + ODD_TEXTS


@pytest.fixture(scope="session", params=KINDS, ids=str)
def classifier(request: pytest.FixtureRequest) -> TextClassifier:
    """Return a model of each kind, of four labels."""
    return TextClassifier(**KINDS[request.param]).fit(*documents("train"))
