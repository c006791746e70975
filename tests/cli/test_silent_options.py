"""Each option of a command is used, or refused, in modes of the command: none is ignored without a word."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from test_conflicts import commands, option_of

from nbtext.cli.command import Command, Option

FRUIT = ["apple", "pear", "plum", "cherry", "ripe", "sweet"]
TOOL = ["hammer", "saw", "drill", "steel", "iron", "bolt"]
COLUMNS = ("id", "text", "label", "title", "kind", "author", "year", "Größe")

# of each command, the modes: what is typed beside the option that is tried
MODES = """
inspect: one | linear | several | d.npz
export: one --to csv -o x | one --to js -o x
diff: one two
sample: one
"""
VALUES = {  # that have an effect on these documents
    "text_field": "title", "label_field": "kind", "label_fields": "label,kind", "label": "fruit", "encoding": "utf-16",
    "label_separator": "r", "group_field": "author", "order_field": "year", "input_format": "lines",
    "token_pattern": "[a-z]{4,}",
    "max_features": "5", "min_df": "9", "max_df": "0.3", "select": "mi:3", "stop_words": "stop.txt", "ngrams": "1,2",
    "vocabulary": "stop.txt", "sublinear": "", "analyzer": "char", "id_field": "author", "exclude_ids": "ids.txt",
    "max_document_bytes": "5", "query": "SELECT 1", "top_k": "1", "explain": "1", "columns": "known", "features": "1",
    "keep_sample": "10", "hash_bits": "8", "id": "d3", "seed": "7", "documents": "d.csv", "sizes": "20", "seeds": "2",
    "coverage": "0.6", "threshold": "fruit=0.999", "min_probability": "0.999", "foreign": "other.csv",
    "test": "other.csv",
    "unlabeled": "other.csv", "against": "other.csv", "exclude": "*", "include": "*.csv", "only": "outlier",
    "view": "char:2",
    "max_model_bytes": "2KB", "em": "3", "holdout": "0.3", "models": "bernoulli", "predictions": "one.jsonl",
    "class_weight": "balanced", "prior": "fruit=0.9,tool=0.1", "min_recall": "fruit=0.5", "min_precision": "fruit=0.5",
    "fail_under": "accuracy=0.1", "table": "t",
    "delimiter": "|", "stem": "english", "word": "apple",
    "exit_status": "fruit", "rank": "uncertainty", "held_out": "held.csv",
}  # fmt: skip
# with which a result may be the same, because documents or models have nothing of what they concern
CONDITIONAL = {
    "encoding_errors", "exclude", "escape", "skip_unlabeled", "skip_empty", "single_label", "cluster", "id_field",
    "separate_fields", "spreadsheet_safe",
}  # fmt: skip


def write_documents(folder: Path) -> None:
    """Write documents in several formats, and the files that options name."""
    rows = []
    for number in range(40):
        words = (TOOL if number % 10 == 0 else (FRUIT, TOOL)[number % 2])[number % 4 :]
        text = " ".join(("The old", *words, f"n{number % 7}", "x"))
        rows.append((f"d{number}", text, ("fruit", "tool")[number % 2], text[9:], ("a", "b")[number % 3 == 0],
                     f"a{number % 4}", str(2000 + number), "é"))  # fmt: skip
    for name, written in (("d.csv", rows), ("other.csv", rows[:10])):
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *written])
    with (folder / "several.csv").open("w", newline="") as file:
        several = [(*row[:2], f"{row[2]};odd" if place % 3 else row[2], *row[3:]) for place, row in enumerate(rows)]
        csv.writer(file).writerows([COLUMNS, *several])
    lines = (json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in rows)
    (folder / "d.jsonl").write_text("".join(line + "\n" for line in lines))
    for row in rows:
        (folder / "folder" / row[2]).mkdir(parents=True, exist_ok=True)
        (folder / "folder" / row[2] / f"{row[0]}.txt").write_text(row[1])
    (folder / "stop.txt").write_text("apple\nold\nsaw\n")
    (folder / "ids.txt").write_text("d3\n")
    (folder / "costs.csv").write_text("fruit,tool,100\ntool,fruit,0.001\n")
    (folder / "words.toml").write_text('fruit = ["apple"]\ntool = ["saw"]\n')
    (folder / "decisions.jsonl").write_text('{"id": "d3", "decision": "remove"}\n')


@pytest.fixture(scope="module")
def folder(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("silent")
    write_documents(path)
    made = (
        "train d.csv --model multinomial --keep-sample 100 -q -o one",
        "train other.csv --model multinomial --keep-sample 100 -q -o two",
        "train several.csv --label-separator ; -q -o several",
        "train d.csv --model svm -q -o linear", "train folder --model multinomial -q -o folder_model",
        "vectorize d.csv -q -o d.npz", "predict d.csv -m one -q -o one.jsonl",
        "predict several.csv -m several -q -o several.jsonl",
    )  # fmt: skip
    for command in made:
        nbtext(*command.split(), cwd=path).ok()
    return path


def modes() -> Iterator[Any]:
    known = {command.name: command for command in commands()}
    for line in MODES.strip().splitlines():
        name, _, typed = line.partition(": ")
        for mode in typed.split(" | "):
            yield pytest.param(known[name], mode.split(), id=f"{name} {mode}")


def tried_options(command: Command, typed: list[str]) -> Iterator[list[str]]:
    """Yield each option that is not typed, with a value."""
    for each in command.params:
        if (
            not isinstance(each, Option)
            or each.title == "Running"
            or each.name in CONDITIONAL
            or {*each.opts, *each.secondary_opts} & {*typed, "--help"}
        ):
            continue
        if each.is_flag:
            yield [each.secondary_opts[0] if each.secondary_opts else each.flag]
        elif each.name in VALUES:
            yield [each.flag, VALUES[each.name]]
        elif isinstance(each.type, click.Choice):
            default = each.default_help.partition(" ")[0]
            yield [each.flag, next(choice for choice in reversed(each.type.choices) if choice not in (default, "best"))]
        else:
            yield option_of(command, each.name or "")


@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize(("command", "typed"), list(modes()))
def test_no_option_is_ignored(nbtext: Any, folder: Path, command: Command, typed: list[str]) -> None:
    """Each option changes the outputs, the messages or the files, or is refused."""

    def run(options: list[str]) -> tuple[Any, dict[str, bytes]]:
        before = set(folder.iterdir())
        result = nbtext(command.name, *typed, *options, cwd=folder)
        written = {}
        for path in set(folder.iterdir()) - before:
            written[path.name] = path.read_bytes() if path.is_file() else b""
            path.unlink() if path.is_file() else path.rmdir()
        return (result.status, result.out, result.err), written

    plain = run([])
    assert plain[0][0] == 0, plain
    silent = [" ".join(option) for option in tried_options(command, typed) if run(option) == plain]
    assert silent == [], "\n".join(silent)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("evaluate d.csv --folds 2 --model best --budget 0s --at-least-one", "--at-least-one: cannot be used with"),
        ("evaluate d.csv --folds 2 --model best --budget 0s --threshold 0.5", "--threshold: cannot be used with"),
        ("review d.csv --apply decisions.jsonl --min-df 9", "--min-df: does not apply: --apply searches no findings"),
        ("review d.csv --apply decisions.jsonl --spreadsheet-safe -o x.csv", "--spreadsheet-safe: does not apply"),
        ("train folder --text-field title -o x", "--text-field: does not apply: SOURCE has texts without fields"),
        ("evaluate d.csv --predictions one.jsonl --at-least-one", "cannot be combined with --predictions"),
        ("evaluate several.csv --label-separator ; --predictions several.jsonl --cost costs.csv", "--cost: cannot be"),
        (
            "evaluate several.csv --label-separator ; --predictions several.jsonl --min-probability 0.9",
            "--min-probability: cannot be used with",
        ),
    ],
)
def test_an_option_without_meaning_for_the_labels(nbtext: Any, folder: Path, command: str, message: str) -> None:
    nbtext(*command.split(), "-q", cwd=folder).refused(2, message)


def test_costs_of_labels_that_no_document_has(nbtext: Any, folder: Path) -> None:
    (folder / "wrong.csv").write_text("froot,tool,100\n")
    costs = ["--cost", "wrong.csv", "-q"]
    nbtext("evaluate", "d.csv", "--predictions", "one.jsonl", *costs, cwd=folder).refused(1, "no label 'froot'")
