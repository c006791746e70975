"""Texts that several rooms learn from: without a known word, and texts that repeat."""

from collections.abc import Iterable
from random import Random

import numpy as np

from nbtext.documents.batch import Batch
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts

WORDS = {"fruit": ["apple", "pear", "plum", "cherry"], "tool": ["hammer", "saw", "drill", "pliers"]}


def make_texts(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return texts of two labels, two of three of them fruit: a word, or none, or one that no other
    text has.
    """
    random = Random(seed)
    rows = []
    for i in range(n):
        label = "tool" if i % 3 == 2 else "fruit"
        text = (
            " ".join(random.choices(WORDS[label], k=3))
            if i % 4 < 2
            else ("", f"unheard{i}")[i % 4 - 2]
        )
        rows.append((text, label))
    return rows


THREE = {
    "refund of my card payment": (0.7, 0.2, 0.1),
    "card payment declined": (0.15, 0.7, 0.15),
    "where is my new card": (0.2, 0.3, 0.5),
}


def three_texts(seed: int, n: int = 1500) -> tuple[list[str], list[str]]:
    """Three texts, each with labels of its own shares."""
    random = np.random.default_rng(seed)
    texts = random.choice(list(THREE), n).tolist()
    return texts, [
        str(random.choice(["refund", "declined", "delivery"], p=THREE[text])) for text in texts
    ]


def count_texts(
    documents: Iterable[tuple[str, str]],
    features: FeatureSettings | None = None,
    *,
    sample_size: int | None = None,
) -> CorpusCounts:
    """Return the counts of texts and their labels, added one by one."""
    counter = CorpusCounter(features or FeatureSettings(), sample_size=sample_size)
    for text, label in documents:
        counter.add(Batch(["id"], ([text],), [label]))
    return counter.finish()
