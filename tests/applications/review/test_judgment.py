"""How labels and words are judged: without the document that has them."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext.applications.review.findings import (
    LABEL_ERROR,
    Finding,
    ReviewedCorpus,
    ReviewReader,
    judge_pairs,
    weigh_words,
)
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import Source, open_source
from nbtext.features.settings import FeatureSettings

WORDS = ("apple", "pear", "plum", "saw", "nail", "drill", "wave", "boat")
OWN = {"fruit": WORDS[:3], "tools": WORDS[3:6], "sea": WORDS[6:]}
Rows = list[dict[str, Any]]


def make_rows(n: int, seed: int = 1, *, several: bool = False) -> Rows:
    """Documents of few words, so that every word is in many of them, and some documents are
    equal.
    """
    chance = np.random.default_rng(seed)
    rows = Rows()
    for number in range(n):
        labels = (
            [name for name in OWN if chance.random() < 0.4]
            if several
            else [str(chance.choice(list(OWN)))]
        )
        words = [str(word) for label in labels for word in chance.choice(OWN[label], 3)]
        words += [str(word) for word in chance.choice(WORDS, chance.integers(1, 4))]
        rows.append(
            {"id": str(number), "text": " ".join(words), "label": labels if several else labels[0]}
        )
    return rows


def open_rows(folder: Path, rows: Rows, name: str = "x") -> Source:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_source([str(path)], InputSettings())


def read(folder: Path, rows: Rows, features: FeatureSettings, name: str = "y") -> ReviewedCorpus:
    reader = ReviewReader(features)
    reader.read(open_rows(folder, rows, name))
    return reader.finish()


@pytest.mark.parametrize("several", [False, True])
def test_words_of_a_label_error_are_weighed_without_its_document(
    tmp_path: Path, several: bool
) -> None:
    """The log-odds of a word is a ratio of shares of documents with it, with half a document added
    to each count.
    """
    rows = make_rows(60, several=several)
    corpus = read(tmp_path, rows, FeatureSettings())
    sets = [set(row["label"]) if several else {row["label"]} for row in rows]
    words = [set(row["text"].split()) for row in rows]

    def share(word: str, own: int, *, of: str, with_label: bool = True) -> float:
        others = [n for n in range(len(rows)) if n != own and (of in sets[n]) == with_label]
        return (sum(word in words[n] for n in others) + 0.5) / (len(others) + 1)

    document = next(each for each in corpus.documents if each.labels == ("fruit",))
    own = int(document.id)
    errors = [("fruit", None), (None, "sea")] if several else [("fruit", "sea")]
    findings = [Finding(LABEL_ERROR, 0.9, (document,), label, likely) for label, likely in errors]
    for finding, weights in zip(findings, weigh_words(corpus, findings), strict=True):
        assert weights is not None
        assert weights.keys() == words[own]
        for word, weight in weights.items():
            given = finding.label
            likely = finding.likely_label
            against = (
                share(word, own, of=given)
                if given
                else share(word, own, of=likely or "", with_label=False)
            )
            speaks = (
                share(word, own, of=likely)
                if likely
                else share(word, own, of=given or "", with_label=False)
            )
            assert weight == pytest.approx(math.log(speaks / against), rel=1e-9)


@pytest.mark.parametrize(("n_rare", "is_judged"), [(2, False), (3, True)])
def test_a_label_of_one_other_document_is_not_judged(
    tmp_path: Path, n_rare: int, is_judged: bool
) -> None:
    """Without its own document, a label of two has one left, which says nothing about the absence
    of the label.
    """
    rows = make_rows(60, several=True)
    for n in range(n_rare):
        rows[n] = {
            "id": str(n),
            "text": f"apple pear saw {WORDS[n + 4]} boat wave wave",
            "label": ["fruit", "rare"],
        }
    _, noise = judge_pairs(read(tmp_path, rows, FeatureSettings()))
    n_given = sum(len(row["label"]) for row in rows)
    assert noise.n_judged == (n_given if is_judged else n_given - n_rare)
