"""`train --model best`, as a user types it."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from made_files import write_rows

from nbtext import TextClassifier


@pytest.fixture(scope="module")
def few(letters: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every second of the letters to three departments: with more, the same is
    tried.
    """
    folder = tmp_path_factory.mktemp("few")
    for half in ("train", "test"):
        for label in ("noise", "parking", "taxes"):
            (folder / half / label).mkdir(parents=True)
            for path in sorted((letters / half / label).iterdir())[::2]:
                (folder / half / label / path.name).symlink_to(path)
    return folder


def test_the_model_that_was_found_is_trained(nbtext: Any, few: Path, tmp_path: Path) -> None:
    """The table goes to standard error; the model is the one it marks, and the same for any number
    of threads.
    """
    for file, jobs in (("a", "1"), ("b", "2")):
        trained = nbtext(f"train {few}/train -o {file} --model best -j {jobs}").ok()
        assert trained.out == ""
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert re.search(r"tried \d models on \d+ documents\n", trained.err)
    rows = [
        re.split(r"\s{2,}", line.strip()) for line in trained.err.splitlines() if line[:1] == " "
    ][2:]
    marked = [row for row in rows if row[-1].endswith("◂")]
    assert len(marked) == 1
    # leave-one-out may be above folds
    best, chosen = (max(float(row[2].split()[0]) for row in found) for found in (rows, marked))
    assert best - chosen < 0.02
    assert nbtext(f"evaluate {few}/test -m a --to json").json["accuracy"] > 0.9


@pytest.mark.parametrize("target", ["", " --min-recall noise=0.5"])
def test_with_few_documents_the_estimate_is_that_of_nested_cross_validation(
    nbtext: Any, few: Path, target: str
) -> None:
    """So are the recalls of targets: the search has not seen the documents."""
    trained = nbtext(f"train {few}/train -o m --model best{target}").ok()
    assert "(5 folds)" in trained.err.splitlines()[-1 - bool(target)]
    expected = nbtext("inspect m --to json").json["expected"]
    nested = nbtext(f"evaluate {few}/train --folds 5 --model best --to json").json
    assert expected["log_loss"] == pytest.approx(nested["log_loss"], abs=1e-6)
    if not target:
        assert expected["accuracy"] == pytest.approx(nested["accuracy"], abs=1e-6)
    n_documents = nested["documents"]
    model = TextClassifier.load("m").fitted_
    assert model.calibration.nonconformity.numbers == expected["documents"] == n_documents


def test_a_stack_shows_its_parts_and_their_weights(nbtext: Any, tmp_path: Path) -> None:
    """Words are not separated, so the default model knows none of another document."""
    random = Random(1)
    keys = ("กขคง", "จฉชซ", "ญฎฏฐ")
    texts = ["".join(random.choices("".join(keys) + keys[k % 3], k=30)) for k in range(240)]
    lines = [json.dumps({"text": text, "label": f"label {k % 3}"}) for k, text in enumerate(texts)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines))
    for file, jobs in (("a", "1"), ("b", "2")):
        trained = nbtext(f"train texts.jsonl -o {file} --model best -j {jobs}").ok()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert re.search(r"^ stacked .*◂$", trained.err, re.MULTILINE)
    assert re.search(r"^stacked: 0\.\d+ × \w+ .*of char_wb:1,5", trained.err, re.MULTILINE)


@pytest.mark.exhaustive
def test_nested_cross_validation(nbtext: Any, tmp_path: Path) -> None:
    """Each fold is predicted by a model that knows nothing of it.

    Each group has a random word for each label. Who saw a document of the group can predict it;
    nobody else can.
    """
    random = Random(3)
    secrets = {
        (group, label): "".join(random.choices("klmnop", k=12))
        for group in range(12)
        for label in "ab"
    }
    rows = [
        {
            "text": f"{secrets[group, label]} {'filler ' * 5}n{i}",
            "label": label,
            "group": str(group),
        }
        for group in range(12)
        for i, label in enumerate("ab" * 4 if group % 2 else "ba" * 4)
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["evaluate", str(path), "--model", "best", "--to", "json"]
    grouped = nbtext(*arguments, "--folds", "4", "--group-field", "group").ok()
    assert grouped.err.count("estimated accuracy") == 4
    assert grouped.json["accuracy"] < 0.7
    seen = nbtext(*arguments, "--folds", "4", "-j", "1")
    assert seen.json["accuracy"] == 1.0
    assert nbtext(*arguments, "--folds", "4", "-j", "2").out == seen.out


@pytest.mark.parametrize(
    ("texts", "is_advised"),
    [
        (["这个酒店的服务非常好，房间也很干净", "书的质量太差了，根本没有办法看"], True),
        (["ร้านนี้อร่อยมาก", "บริการแย่มากไม่ไปอีกแล้ว"], True),
        (["この映画はとても面白かったです", "サービスが悪くて残念でした"], True),
        (
            ["这个 酒店 的 服务 非常 好", "书 的 质量 太 差 了 根本 没有 办法 看"],
            False,
        ),  # segmented already
        (
            ["이 호텔은 서비스가 아주 좋습니다", "책의 품질이 너무 나빠요"],
            False,
        ),  # Korean has spaces
        (["the room was very clean", "the book is of poor quality"], False),
    ],
    ids=["Chinese", "Thai", "Japanese", "segmented", "Korean", "English"],
)
def test_texts_without_spaces_get_advice(
    nbtext: Any, tmp_path: Path, texts: list[str], is_advised: bool
) -> None:
    """Whoever trains a model of words on them learns of character n-grams, unless they are asked
    for; the default model counts them.
    """
    rows = [{"text": texts[0], "label": "good"}, {"text": texts[1], "label": "bad"}]
    write_rows(tmp_path / "texts.jsonl", rows * 3)
    trained = nbtext("train texts.jsonl --smoothing 1 -o m").ok()
    assert ("% of the words are runs of a script without spaces" in trained.err) == is_advised
    assert ("--analyzer char --ngrams 1,3 or --model best" in trained.err) == is_advised
    counted = nbtext("train texts.jsonl -o m --force").ok()
    assert ("char_wb:1,4" in counted.err) == is_advised
    for options in ("", "--ngrams 1,2", "--model best", "-q"):
        assert "script without spaces" not in nbtext(f"train texts.jsonl -o m {options}").err
