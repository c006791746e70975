"""`evaluate --group-field` and `--order-field` as typed."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows


@pytest.fixture(scope="module")
def threads(letters: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The letters, each three times with another last word, as a thread; as JSON lines, as a table
    and as mails.
    """
    folder = tmp_path_factory.mktemp("threads")
    rows = [
        {
            "label": path.parent.name,
            "text": f"{path.read_text()} copy{number}x{copy}",
            "thread": f"{number:03}",
            "day": number % 40 + copy / 4,
        }
        for number, path in enumerate(sorted(letters.glob("test/*/*.txt")))
        for copy in range(3)
    ]
    (folder / "letters.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    # a nested value sends the lines the careful way
    (folder / "careful.jsonl").write_text(
        "\n".join(json.dumps({**row, "more": {"x": [1]}}) for row in rows) + "\n"
    )
    with (folder / "letters.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    mails = [
        "From x@example.org Mon Jan  1 00:00:00 2024\n"
        f"X-Label: {row['label']}\nThread: {row['thread']}\nDay: {row['day']}\n\n{row['text']}\n\n"
        for row in rows
    ]
    (folder / "letters.mbox").write_text("".join(mails))
    return folder


def test_near_copies_stay_in_one_fold(nbtext: Any, threads: Path) -> None:
    """Random folds test on letters whose near copies they train on; folds of whole threads do
    not.
    """
    command = "evaluate letters.jsonl --folds 6 --to json --smoothing 0.1"
    by_chance = nbtext(command, cwd=threads).ok().json
    grouped = nbtext(f"{command} --group-field thread", cwd=threads).ok().json
    assert by_chance["documents"] == grouped["documents"] == 252
    assert by_chance["accuracy"] > 0.95
    assert grouped["accuracy"] < by_chance["accuracy"] - 0.1


@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize(
    "options", [["--group-field", "thread", "--folds", "5"], ["--order-field", "day"]]
)
def test_every_format_and_number_of_threads(nbtext: Any, threads: Path, options: list[str]) -> None:
    """JSON lines, tables and mails give the same figures, read in any number of threads."""
    found = []
    for source, more in (
        ("letters.jsonl", ["-j", "1"]),
        ("letters.jsonl", ["-j", "3"]),
        ("careful.jsonl", []),
        ("letters.csv", []),
    ):
        found.append(nbtext("evaluate", source, *options, *more, "--to", "json", cwd=threads).out)
    assert len(set(found)) == 1
    asked = ["evaluate", "letters.mbox", "--label-field", "X-Label", *options, "--to", "json"]
    mails = nbtext(*asked, cwd=threads).ok().json
    assert mails["documents"] == json.loads(found[0])["documents"]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_time_split_does_not_train_on_the_future(nbtext: Any, tmp_path: Path, name: str) -> None:
    """Months of one digit are in order, groups are months, and another value is an error with its
    place, in every format.
    """
    rows = [
        {"text": f"word{n % 3}", "label": "ab"[n % 2], "day": f"2024-{1 + n // 4}-1"}
        for n in range(48)
    ]
    for row in rows[::2]:
        row["day"] = row["day"].replace("-", "/")
    write_rows(tmp_path / name, rows)
    for options, first in (("--order-field day --folds 11", 1), ("--group-field day:month", 0)):
        nbtext(f"evaluate {name} {options} --held-out h.csv --force").ok()
        lines = (tmp_path / "h.csv").read_text().splitlines()[1:]
        folds = [int(line.split(",")[-2]) for line in lines]
        assert folds == [1 - first + n // 4 for n in range(4 * first, 48)]
    rows[20]["day"] = "1/6/2024"
    write_rows(tmp_path / name, rows)
    place = f"{name}:{22 if name == 't.csv' else 21}: `day` is '1/6/2024'"
    for option in ("--order-field day", "--group-field day:month"):
        nbtext(f"evaluate {name} {option}").refused(1, place, "write dates as 2024-12-31")
