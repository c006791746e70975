"""The house stands as its page says: who imports whom, where each library lives, and how large things may get.

`python tests/test_house.py` draws the imports anew in nbtext/README.md.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

TOP = Path(__file__).parents[1]
HOUSE = TOP / "nbtext"
PAGE = HOUSE / "README.md"
PICTURE = re.compile(r"(?<=<!-- drawn by tests/test_house.py -->\n\n).*?(?=\n\n<!-- -->)", re.DOTALL)
ROOMS = (
    "__init__", "errors", "output", "parallel", "documents", "features", "bayes", "linear", "model", "export",
    "estimators", "artifact", "text_classifier", "evaluation", "report", "cluster", "cli", "__main__",
)  # fmt: skip
HOMES = {
    "click": {"cli"},
    "rich": {"cli", "report"},
    "joblib": {"artifact"},
    "jinja2": {"report"},
    "vl_convert": {"report"},
    "distributed": {"cluster"},
    "dask": {"cluster"},
    "onnx": {"export"},
    "sklearn": set(),
    "pandas": set(),
    "polars": set(),
    "numpy": set(ROOMS) - {"cli"},
}
LONGEST_FILE, LONGEST_FUNCTION = 400, 60  # lines


def imports(path: Path) -> list[str]:
    """Every module that a file imports: at its top, in a function, or for the type checker alone."""
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(node.module or "")
    return found


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def test_rooms_import_only_from_above() -> None:
    """A file imports only from its own room, or from rooms above it; the door of the house names what is in any."""
    culprits = []
    for path in sorted(HOUSE.rglob("*.py*")):
        if path.suffix not in (".py", ".pyi") or path == HOUSE / "__init__.py":
            continue
        room = path.relative_to(HOUSE).parts[0].removesuffix(".py")
        culprits += [
            f"{path.relative_to(HOUSE)} imports {module}"
            for module in imports(path)
            if module.partition(".")[0] == "nbtext" and ROOMS.index(room_of(module)) > ROOMS.index(room)
        ]
    assert culprits == []


def test_libraries_stay_in_their_homes() -> None:
    """click lives in cli, rich in report and cli, joblib where models are saved."""
    culprits = [
        f"{path.relative_to(HOUSE)} imports {module}"
        for path in sorted(HOUSE.rglob("*.py"))
        for module in imports(path)
        if (library := module.partition(".")[0]) in HOMES
        and path.relative_to(HOUSE).parts[0].removesuffix(".py") not in HOMES[library]
    ]
    assert culprits == []


def code(*suffixes: str) -> list[Path]:
    """The files of code, compiled or not, that are ours: not what the benchmarks install for others."""
    rooms = (HOUSE, TOP / "tests", TOP / "corpora")
    found = (path for room in rooms for suffix in suffixes for path in room.rglob(f"*{suffix}"))
    return sorted(path for path in found if ".venv" not in path.parts)


def test_files_fit_in_the_head() -> None:
    """None is longer than 400 lines."""
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in code(".py", ".pyi", ".pyx", ".pxd")}
    assert {str(path.relative_to(TOP)): n for path, n in lengths.items() if n > LONGEST_FILE} == {}


def test_functions_fit_on_a_screen() -> None:
    """None is longer than 60 lines, its docstring included."""
    long = [
        f"{path.relative_to(TOP)}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for path in code(".py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
        if node.end_lineno - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


def test_there_are_no_import_cycles() -> None:
    """Imports within functions and imports for the type checker alone count too.

    The door of the house, nbtext/__init__.py, is left out: it names what others import from it.
    """
    door = HOUSE / "__init__.py"
    paths = [path for path in HOUSE.rglob("*.py") if path != door]
    files = {".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    left = {name: {module for module in imported_by(path) if module in files} - {name} for name, path in files.items()}
    while free := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in free:
            del left[name]
    assert sorted(left) == [], "these import each other"


def imported_by(path: Path) -> set[str]:
    """The modules that a file imports; of `from room import file` the file as well."""
    nodes = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ImportFrom)]
    return {*imports(path), *(f"{node.module}.{alias.name}" for node in nodes for alias in node.names)}


def drawn() -> str:
    """Which room imports which: a row for each, a column for each above it."""
    rooms = [room for room in ROOMS if not room.startswith("__")]
    width = max(map(len, rooms)) + 7
    lines = [" " * width + "".join(f"{number:>3}" for number in range(1, len(rooms)))]
    for number, room in enumerate(rooms, 1):
        paths = [path for path in HOUSE.rglob("*.py") if path.relative_to(HOUSE).parts[0].removesuffix(".py") == room]
        met = {room_of(module) for path in paths for module in imports(path) if module.startswith("nbtext.")}
        row = "".join("  ●" if other in met else "  ·" for other in rooms[: number - 1])
        lines.append(f"    {number:>2} {room:<{width - 7}}{row}".rstrip())
    return "\n".join(lines)


def test_the_page_shows_the_imports_as_they_are() -> None:
    """Its table has the rooms in their order, and its picture is drawn from the code."""
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)/?` \|", page, re.MULTILINE) == [room for room in ROOMS if room[0] != "_"]
    assert PICTURE.findall(page) == [drawn()], "python tests/test_house.py draws it anew"


if __name__ == "__main__":
    PAGE.write_text(PICTURE.sub(lambda _: drawn(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
