"""What an error advises can be typed, and improves the input that caused it."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

SKIP = "--skip-"  # options that leave out what was not found
OBJECTS = '[{"text": "good fine", "label": "a"},\n {"text": "bad poor", "label": "b"}]'


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("t.jsonl", '{"body": "good", "label": "a"}\n{"body": "bad", "label": "b"}\n', ""),
        ("t.jsonl", '{"text": "good", "tag": "a"}\n{"text": "bad", "tag": "b"}\n', ""),
        ("t.json", '[{"text": "good", "tag": "a"}]', "--label-field lable"),
        ("t.csv", "text,tag\ngood,a\nbad,b\n", ""),
        ("t.txt", "good\nbad\n", ""),
        ("t.mbox", "From a Mon Jan  1 00:00:00 2024\nX-A: b\n\ngood\n", "--label-field X-Label"),
        ("d/1", "good", ""),
        ("t.csv", "text,tag\ngood,a\nbad,b\n", "--label-field tag --missing-labels a,b"),
    ],
)
@pytest.mark.parametrize("command", ["train", "evaluate --folds 2", "review"])
def test_nothing_is_skipped_that_was_not_found(
    nbtext: Any, tmp_path: Path, command: str, name: str, content: str, options: str
) -> None:
    """If no document has the text or the label, leaving out those without it leaves none."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    if command == "review" and "tag" in content:
        return  # it needs no labels
    output = "-o m" if command == "train" else ""
    done = nbtext(f"{command} {name.removesuffix('/1')} {options} {output}")
    if command != "review":
        assert done.status == 1 and SKIP not in done.err, done.err
    assert SKIP not in done.err


@pytest.mark.parametrize("option", ["--skip-unlabeled", "--skip-empty"])
@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.txt", "d"])
def test_what_others_have_can_be_skipped(
    nbtext: Any, tmp_path: Path, name: str, option: str
) -> None:
    """Where other documents have it, the hint names the option, which works."""
    lines = {
        "t.jsonl": ['{"text": "good fine", "label": "a"}', '{"text": "bad", "label": "b"}'],
        "t.csv": ["text,label", "good fine,a", "bad,b"],
        "t.txt": ["__label__a good fine", "__label__b bad"],
    }
    if name == "d":
        for place in ("a/1.txt", "b/2.txt", "3.txt"):
            (tmp_path / "d" / place).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "d" / place).write_text("good fine")
    elif option == "--skip-empty":
        if name != "t.jsonl":
            return  # a blank text is a document
        (tmp_path / name).write_text("\n".join([*lines[name], '{"label": "a"}']))
    else:
        last = {"t.jsonl": '{"text": "x y"}', "t.csv": "x y,", "t.txt": "x y"}[name]
        (tmp_path / name).write_text("\n".join([*lines[name], last]))
    if option == "--skip-unlabeled" or name == "t.jsonl":
        nbtext(f"train {name} -o m").refused(1, f"such documents with {option}")
        assert "skipped 1: without a" in nbtext(f"train {name} -o m {option}").ok().err


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("t.json", f'{{"data": {OBJECTS.replace(chr(10), "")}}}', ""),
        ("t.json", f'{{"data": {OBJECTS}}}\n', ""),
        ("t.json", f'{{"meta": {{"n": 2}},\n "results": {{"the items": {OBJECTS}}}}}\n', ""),
        ("t.json", '{"x": {"text": "good", "label": "a"}, "y": {"text": "bad", "label": "b"}}', ""),
        ("t.jsonl", OBJECTS.replace("\n", "") + "\n", ""),
        ("t.json", '[["good fine", "a"],\n ["bad, poor", "b"]]', "--text-field 1 --label-field 2"),
        ("t.jsonl", '["good fine", "a"]\n["bad poor", "b"]\n', "--text-field 1 --label-field 2"),
        (
            "t.json",
            '{\n "text": "good",\n "label": "a"\n}\n{\n "text": "x",\n "label": "b"\n}\n',
            "",
        ),
        ("t.txt", "class__a good fine\nclass__b bad poor\n", ""),
        ("t.txt", "__lab__a good fine\n__lab__b bad poor\n", ""),
    ],
)
def test_programs_that_are_advised(
    nbtext: Any, tmp_path: Path, name: str, content: str, options: str
) -> None:
    """What jq or sed makes of the file, in one or two steps, is trained on."""
    path = tmp_path / name
    path.write_text(content)
    for _ in range(2):
        done = nbtext(f"train {path} -o m")
        assert done.status == 1 and SKIP not in done.err
        advised = re.search(r"(jq -[cr] (?:'[^']+'|\.)|sed '[^']+')", done.err)
        assert advised is not None, done.err
        if shutil.which(advised[1][:3].strip()) is None:
            pytest.skip("the program is not installed")
        new = subprocess.run(
            f"{advised[1]} {path}", shell=True, capture_output=True, text=True, check=True
        ).stdout
        path = tmp_path / (
            "new.csv" if "@csv" in advised[1] else "new.txt" if "sed" in advised[1] else "new.jsonl"
        )
        path.write_text(new)
        done = nbtext(f"train {path} -o m --force {options}")
        if done.status == 0:
            break
    assert ": 2 documents, 2 labels" in done.ok().err


def test_labels_at_the_end_of_a_line(nbtext: Any, tmp_path: Path) -> None:
    """It says that labels come first, and the option that it names reads them."""
    for mark in (" ", "\t"):
        lines = [f"{text}{mark}__label__{label}\n" for text, label in (("good", "a"), ("bad", "b"))]
        (tmp_path / "t.txt").write_text("".join(lines))
        done = nbtext("train t.txt -o m --force")
        done.refused(1, "labels come first in a line; --input-format fasttext reads")
        done = nbtext("train t.txt -o m --force --input-format fasttext").ok()
        assert "2 documents, 2 labels" in done.err
        (tmp_path / "new.txt").write_text("__label__a good\n__label__b bad\n")
