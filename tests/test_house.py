"""The house stands as its page says: who may import whom, and where each library lives."""

from __future__ import annotations

import ast
from pathlib import Path

HOUSE = Path(__file__).parents[1] / "nbtext"
ROOMS = (
    "__init__", "errors", "output", "documents", "features", "bayes", "linear", "classifier", "estimators",
    "interchange", "artifact",
    "evaluation", "report", "cluster", "cli", "__main__",
)  # fmt: skip
HOMES = {
    "click": {"cli"},
    "rich": {"cli", "report"},
    "joblib": {"artifact", "classifier", "linear"},
    "jinja2": {"report"},
    "vl_convert": {"report"},
    "distributed": {"cluster"},
    "dask": {"cluster"},
    "onnx": {"interchange"},
    "sklearn": set(),
    "pandas": set(),
    "polars": set(),
    "numpy": set(ROOMS) - {"cli"},
}


def imports(path: Path) -> list[str]:
    """Every module that a file imports, at its top or in a function."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(node.module or "")
    return found


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def test_rooms_import_only_from_above() -> None:
    """A file imports only from its own room, or from rooms above it."""
    culprits = []
    for path in sorted(HOUSE.rglob("*.py*")):
        if path.suffix not in (".py", ".pyi"):
            continue
        room = path.relative_to(HOUSE).parts[0].removesuffix(".py")
        culprits += [
            f"{path.relative_to(HOUSE)} imports {module}"
            for module in imports(path)
            if module.partition(".")[0] == "nbtext" and ROOMS.index(room_of(module)) > ROOMS.index(room)
        ]
    assert culprits == []


def test_libraries_stay_in_their_homes() -> None:
    """click lives in cli, rich in report and cli, joblib where models are saved and threads are run."""
    culprits = [
        f"{path.relative_to(HOUSE)} imports {module}"
        for path in sorted(HOUSE.rglob("*.py"))
        for module in imports(path)
        if (library := module.partition(".")[0]) in HOMES
        and path.relative_to(HOUSE).parts[0].removesuffix(".py") not in HOMES[library]
    ]
    assert culprits == []
