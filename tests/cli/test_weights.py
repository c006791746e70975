"""`--weight-field`, and soft labels, as typed."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

WORDS = {"fruit": "apple pear plum fig", "tool": "bolt nut screw nail"}

# commands in which a document counts once
ELSEWHERE = {
    "vectorize": ("vectorize", "-", "--input-format", "jsonl", "--to", "svmlight"),
    "review": ("review", "-", "--input-format", "jsonl"),
    "compare": (
        "compare",
        "-",
        "--input-format",
        "jsonl",
        "--models",
        "bernoulli",
        "--sizes",
        "20",
    ),
}


def documents() -> list[dict[str, Any]]:
    """Texts that can be mistaken for those of the other label."""
    found: list[dict[str, Any]] = []
    for row in range(60):
        label = ("fruit", "tool")[row % 2]
        source = WORDS["tool" if row % 7 == 0 else label].split()
        text = f"the {source[row % 4]} and {source[row * 3 % 4]} of {row % 5}"
        found.append({"text": text, "label": label, "times": 1 + row % 3, "part": row % 4})
    return found


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def figures(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each number of JSON with its place."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in pairs:
            yield from figures(each, f"{path}.{key}")
    else:
        yield path, value


@pytest.mark.parametrize(
    "options",
    [
        ("-m", "model.joblib", "--coverage", "0.9", "--min-probability", "0.6"),
        ("--group-field", "part", "--model", "multinomial"),
    ],
    ids=["model", "folds"],
)
def test_a_weight_is_as_many_documents(
    nbtext: Any, tmp_path: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = documents()
    once = write(tmp_path / "once.jsonl", rows)
    often = write(tmp_path / "often.jsonl", [row for row in rows for _ in range(row["times"])])
    nbtext("train", once, "-o", "model.joblib")
    weighed = nbtext("evaluate", once, *options, "--weight-field", "times", "--to", "json").json
    repeated = nbtext("evaluate", often, *options, "--to", "json").json
    # the interval is that of the texts
    (wide, narrow) = (found.pop("accuracy_interval") for found in (weighed, repeated))
    assert wide[0] < narrow[0]
    expected = dict(figures(repeated))
    assert dict(figures(weighed)) == pytest.approx(expected, abs=1e-12)
    assert expected[".documents"] == 120


@pytest.mark.parametrize(
    "options", [("-m", "model.joblib"), ("--folds", "3"), ("--folds", "3", "--model", "best")]
)
def test_soft_labels(
    nbtext: Any, tmp_path: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = documents()
    for row in rows[::2]:
        row["label"] = {row["label"]: 0.75, "tool" if row["label"] == "fruit" else "fruit": 0.25}
    source = write(tmp_path / "soft.jsonl", rows)
    nbtext("train", source, "-o", "model.joblib")
    found = json.loads(nbtext("evaluate", source, *options, "--to", "json").out)
    assert found["documents"] == 60
    assert found["highest_possible_accuracy"] == (30 + 30 * 0.75) / 60
    assert found["expected_accuracy"] == found["accuracy"]
    assert found["accuracy"] <= found["highest_possible_accuracy"]
    if options[0] == "-m":
        nbtext("predict", source, "-m", "model.joblib", "-o", "found.jsonl")
        read = json.loads(
            nbtext("evaluate", source, "--predictions", "found.jsonl", "--to", "json").out
        )
        assert read["expected_accuracy"] == found["expected_accuracy"]
        assert read["log_loss"] == pytest.approx(found["log_loss"], abs=1e-4)
        wrong = nbtext("evaluate", source, *options, "--target-accuracy", "0.8")
        assert wrong.status == 2
        assert "several labels, each with a share" in wrong.err


def test_shares_of_any_format(nbtext: Any, tmp_path: Path) -> None:
    """Structs, in which a label without a share is null, and maps say the same as objects."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = documents()
    for row in rows:
        row["label"] = {"fruit": 0.75, "tool": 0.25} if row["label"] == "fruit" else {"tool": 1.0}
    source = write(tmp_path / "soft.jsonl", rows)
    texts = [row["text"] for row in rows]
    shares = [row["label"] for row in rows]
    kinds = {
        "struct": arrow.struct([("fruit", arrow.float32()), ("tool", arrow.float32())]),
        "map": arrow.map_(arrow.string(), arrow.float64()),
    }
    expected = nbtext("evaluate", str(source), "--folds", "3").out
    assert "expected_accuracy" in expected
    for name, kind in kinds.items():
        column = [list(each.items()) for each in shares] if name == "map" else shares
        table = arrow.table({"text": texts, "label": arrow.array(column, kind)})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
        read = nbtext("evaluate", str(tmp_path / f"{name}.parquet"), "--folds", "3")
        assert read.out == expected


@pytest.mark.parametrize("command", ["vectorize", "review", "compare"])
def test_the_largest_share_elsewhere(nbtext: Any, tmp_path: Path, command: str) -> None:
    rows = documents()
    plain = write(tmp_path / "plain.jsonl", rows)
    expected = nbtext(*ELSEWHERE[command], cwd=tmp_path, input=plain.read_bytes())
    for row in rows:
        other = "tool" if row["label"] == "fruit" else "fruit"
        row["label"] = {row["label"]: 0.75, other: 0.25}
    soft = write(tmp_path / "soft.jsonl", rows)
    found = nbtext(*ELSEWHERE[command], cwd=tmp_path, input=soft.read_bytes())
    assert found == expected
    assert found.status == 0
