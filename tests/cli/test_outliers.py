"""Documents unlike the corpus: a flag and a score in `predict`, and `evaluate --foreign`, as
typed.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ENGLISH = {"eng.txt", "pcm.txt", "sco.txt"}  # English, and two that are near to it


def test_strange_text_is_less_typical(nbtext: Any, model: str) -> None:
    """Letters are typical, another language is an outlier, and the less typical of two has the
    lower score.
    """
    lines = "the bins in our street were not emptied again this week\nder Hund bellt\nxq zzv qqj wwkx\n\n"
    out = nbtext("predict", "-", "-m", model, "--to", "jsonl", input=lines.encode()).out
    letter, german, noise, nothing = (json.loads(line) for line in out.splitlines())
    assert letter["typicality"] > 0.1
    assert letter["outlier"] is False
    assert letter["typicality"] > german["typicality"] > 0
    assert noise["typicality"] > 0
    assert noise["outlier"] is True
    assert nothing["typicality"] is None


def test_evaluate_against_foreign_text(
    nbtext: Any, letters: Path, model: str, tmp_path: Path
) -> None:
    """Shuffled letters of the same texts are told from them, and a text is not told from itself."""
    shuffle = random.Random(1)
    (tmp_path / "foreign").mkdir()
    for path in letters.glob("test/*/*.txt"):
        characters = list(path.read_text())
        shuffle.shuffle(characters)
        (tmp_path / "foreign" / f"{path.parent.name}-{path.name}").write_text("".join(characters))
    source = str(letters / "test")
    found = nbtext(
        "evaluate", source, "-m", model, "--foreign", str(tmp_path / "foreign"), "--to", "json"
    ).json
    assert found["outlier_auroc"] > 0.99
    assert found["foreign_documents"] == 84
    same = nbtext(
        "evaluate",
        source,
        "-m",
        model,
        "--foreign",
        source,
        "--to",
        "table",
        "--fail-under",
        "outlier_auroc=0.5",
    ).ok()
    assert "84 documents; 84 foreign documents" in same.out
    assert "outlier AUROC 0.5000" in same.out


def test_labels_of_foreign_texts_are_ignored(
    nbtext: Any, letters: Path, model: str, tmp_path: Path
) -> None:
    """A foreign document may have a label, several or none."""
    (tmp_path / "foreign.jsonl").write_text(
        '{"text": "xq zw", "label": ["a", "b"]}\n{"text": "vv", "label": "x"}\n{"text": "uu"}\n'
    )
    found = nbtext(
        "evaluate", str(letters / "test"), "-m", model, "--foreign", "foreign.jsonl", "--to", "json"
    ).ok()
    assert found.json["foreign_documents"] == 3


@pytest.mark.exhaustive
def test_other_languages_are_foreign_to_news(
    nbtext: Any, corpora: Callable[[str], Path], tmp_path: Path
) -> None:
    """A news post is likelier than a text in another language, 999 times of a thousand."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    for path in corpora("udhr2").glob("*.txt"):
        if path.name not in ENGLISH:
            (foreign / path.name).symlink_to(path)
    model = str(tmp_path / "news.joblib")
    news = corpora("20news")
    nbtext("train", str(news / "train"), "--model", "multinomial", "-q", "-o", model).ok()
    options = ("-m", model, "--foreign", str(foreign), "-q", "--to", "json")
    assert nbtext("evaluate", str(news / "test"), *options).json["outlier_auroc"] > 0.999
