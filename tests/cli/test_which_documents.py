"""Which documents are read (`--where`), and which labels are none (`--missing-labels`), in every
format and command.
"""

from pathlib import Path
from typing import Any

import pytest
from made_files import write_rows

from nbtext import TextClassifier

WORDS = {"good": "fine great", "bad": "awful poor", "unsup": "some thing"}
FORMATS = ["jsonl", "json", "csv", "tsv", "db", "parquet", "arrow"]
WHERE = "--where answer=accept"


def rows_of(*, is_nested: bool = False) -> list[dict[str, Any]]:
    """Thirty documents, of which every fifth one is rejected and has a wrong label."""
    rows = []
    for n in range(30):
        label = list(WORDS)[n % 3]
        answer = "reject" if n % 5 == 0 else None if n % 5 == 1 else "accept"
        row = {"text": f"{WORDS[label]} w{n % 7}", "label": label if n % 5 else "wrong"}
        row |= {"meta": {"answer": answer, "n": n % 2}} if is_nested else {"answer": answer}
        rows.append({"id": f"d{n}", **row})
    return rows


def labels_of(model: str) -> list[str]:
    return sorted(TextClassifier.load(model).fitted_.labels)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format(nbtext: Any, tmp_path: Path, suffix: str) -> None:
    """The same documents are read of every format, and the number of the others is said."""
    rows = rows_of()
    name = f"t.{suffix}"
    write_rows(tmp_path / name, rows)
    wanted = [row for row in rows if row["answer"] == "accept" and row["label"] != "unsup"]
    write_rows(tmp_path / "wanted.jsonl", wanted)
    nbtext("train wanted.jsonl -o wanted.joblib").ok()
    done = nbtext(f"train {name} {WHERE} --missing-labels unsup --skip-unlabeled -o m.joblib").ok()
    assert "skipped 12: left out by --where answer=accept" in done.err
    n_missing = 18 - len(wanted)
    assert f"skipped {n_missing}: without a label (--skip-unlabeled)" in done.err
    assert (tmp_path / "m.joblib").read_bytes() == (tmp_path / "wanted.joblib").read_bytes()
    found = nbtext(f"predict {name} -m m.joblib --where answer!=accept --to jsonl").ok().records
    assert [row["id"] for row in found] == [f"d{n}" for n in range(30) if n % 5 < 2]
    empty = nbtext(f"predict {name} -m m.joblib --where answer= --where id!=d1 --to jsonl")
    assert len(empty.ok().records) == 5
    nbtext(f"train {name} {WHERE} --missing-labels bad -o x.joblib").refused(
        1,
        "the document has no label, or one of --missing-labels; change --missing-labels, or leave out",
        "--skip-unlabeled",
    )


@pytest.mark.parametrize("suffix", FORMATS)
def test_headers_again(nbtext: Any, tmp_path: Path, suffix: str) -> None:
    """A row that repeats the header is skipped and counted, and not written again."""
    row = {"id": "d1", "text": "fine", "label": "good"}
    header = {name: name for name in row}
    name = f"t.{suffix}"
    write_rows(tmp_path / name, [header, row, header])
    write_rows(tmp_path / "m.jsonl", rows_of())
    nbtext("train m.jsonl -o m.joblib").ok()
    again = "skipped 2: rows that repeat the header\n"
    for command in ("predict {} -m m.joblib", "evaluate {} --predicted-field label"):
        assert nbtext(command.format(name)).ok().err == again
    add = f"predict {name} -m m.joblib --add-columns --column-prefix p_"
    keep = "--keep good>=0 --rejected r.json"
    for options in ("", keep) if suffix != "db" else ("",):
        done = nbtext(f"{add} {options} -o out.{suffix}").ok()
        assert done.err.startswith(f"{again}{'kept 1 of 1' if options else '1'} document")
        (found,) = nbtext(f"predict out.{suffix} -m m.joblib --to jsonl").ok().records
        assert found["id"] == "d1"
    (tmp_path / "d.jsonl").write_text('{"id": "d1", "decision": "relabel", "label": "bad"}')
    nbtext(f"review {name} --apply d.jsonl -o new.jsonl").ok()
    text = (tmp_path / "new.jsonl").read_text()
    assert text.count("\n") == 1 and "bad" in text


@pytest.mark.parametrize(
    ("name", "condition", "n_left"),
    [
        ("t.jsonl", "meta.answer=accept", 18),
        ("t.parquet", "meta.n!=0", 15),
        ("t.json", "meta.n=1.0", 15),
        ("t.jsonl", "tags=red", 10),
        ("t.parquet", "tags!=red", 20),
        ("t.jsonl", "ok=TRUE", 15),
        ("t.csv", "ok=true", 15),
        ("t.csv", "tags= red ", 0),
    ],
)
def test_conditions(nbtext: Any, tmp_path: Path, name: str, condition: str, n_left: int) -> None:
    """Nested keys, numbers and booleans by their value, and lists that have an item."""
    rows = rows_of(is_nested=True)
    for n, row in enumerate(rows):
        row |= {"tags": ["red", "x"] if n % 3 == 0 else [], "ok": n % 2 == 0}
        if name == "t.csv":
            row["meta"] = "x"
    write_rows(tmp_path / name, rows)
    done = nbtext("train", name, "--where", condition, "-o", "m.joblib")
    if n_left == 0:
        done.refused(1, "no documents to train on; skipped 30: left out by --where tags=red")
        return
    assert f"skipped {30 - n_left}: left out by" in done.ok().err
    assert f": {n_left} documents" in done.err


@pytest.mark.parametrize(
    "command",
    """evaluate t.jsonl -m m.joblib
evaluate t.jsonl --folds 3
evaluate t.jsonl --folds 3 --group-field id
predict t.jsonl -m m.joblib
evaluate t.jsonl --predicted-field label
vectorize t.jsonl -o x.npz
review t.jsonl
compare t.jsonl --models multinomial,bernoulli
prevalence t.jsonl -m m.joblib
update m.joblib t.jsonl -o n.joblib
explain t.jsonl -m m.joblib""".splitlines(),
)
def test_every_command(nbtext: Any, tmp_path: Path, command: str) -> None:
    """Each command that reads documents leaves the same ones out; it fails if none is left."""
    write_rows(tmp_path / "t.jsonl", rows_of())
    nbtext("train t.jsonl -o m.joblib").ok()
    assert "skipped 12: left out by --where answer=accept" in nbtext(f"{command} {WHERE}").ok().err
    done = nbtext(f"{command} --where answer=none")
    assert done.status == 1
    assert "skipped 30: left out by --where answer=none" in done.err


def test_mails_and_folders(nbtext: Any, tmp_path: Path) -> None:
    """A condition may be on a header; a folder, and a label of fastText, may be a missing label."""
    mails = [
        f"From a Mon Jan  1 00:00:00 2024\nX-Label: {label}\n{extra}\nsome {label} words\n\n"
        for label, extra in (("ham", "X-Seen: yes\n"), ("spam", "X-Seen: no\n"), ("eggs", ""))
    ]
    (tmp_path / "t.mbox").write_text("".join(mails))
    nbtext("train t.mbox --label-field X-Label --where X-Seen!=no -o m.joblib").ok()
    assert labels_of("m.joblib") == ["eggs", "ham"]
    lines = []
    for label, words in WORDS.items():
        (tmp_path / "d" / label).mkdir(parents=True)
        (tmp_path / "d" / label / "1.txt").write_text(words)
        lines.append(f"__label__{label} {words}\n")
    (tmp_path / "t.txt").write_text("".join(lines))
    nbtext("vectorize d -o d.npz").ok()
    for source in ("d", "t.txt", "d.npz"):
        missing = "--missing-labels unsup,other"
        nbtext(f"train {source} {missing} --skip-unlabeled -o m.joblib --force").ok()
        assert labels_of("m.joblib") == ["bad", "good"]
        nbtext(f"train {source} {WHERE} -o x.joblib").refused(2, "--where: ")


def test_a_mistyped_condition(nbtext: Any, tmp_path: Path) -> None:
    """A column that is not there is an error, and a key that no document has is a warning."""
    for name in ("t.csv", "t.jsonl"):
        write_rows(tmp_path / name, rows_of())
    nbtext("train t.csv --where anser!=reject -o m.joblib").refused(
        1, "no column `anser`", "--where"
    )
    done = nbtext("train t.jsonl --where anser!=reject -o m.joblib").ok()
    assert "none of the first 30 documents has the key `anser`" in done.err
    for option in ("--add-columns", "--columns label"):
        done = nbtext(f"predict t.jsonl -m m.joblib --add-columns {WHERE} {option}")
        done.refused(2, "--where: cannot be combined with --add-columns")
    nbtext("train t.jsonl --where answer -o m.joblib").refused(2, "'answer' is not NAME=VALUE")


def test_labels_that_were_not_judged(nbtext: Any, tmp_path: Path) -> None:
    """A document with a column of --label-fields that was not judged has no labels that are
    known; otherwise the value is refused.
    """
    rows = [{"text": f"w{n} x{n % 2}", "a": n % 2, "b": 1 - n % 2} for n in range(8)]
    rows += [{"text": "w1", "a": -1, "b": -1}, {"text": "w2", "a": 1, "b": -1}]
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        write_rows(tmp_path / name, rows)
        train = f"train {name} --label-fields a,b -o m.joblib --force"
        hint = "--missing-labels"
        nbtext(train).refused(1, "`a` is '-1', expected 0 or 1", hint)
        done = nbtext(f"{train} --missing-labels -1.0 --skip-unlabeled").ok()
        assert "skipped 2: without a label" in done.err
        assert ": 8 documents, 2 labels" in done.err
