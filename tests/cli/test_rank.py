"""`predict --rank uncertainty`: the most uncertain documents first."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    "extra", [(), ("--min-probability", "0.9"), ("--coverage", "0.9"), ("--explain", "2")], ids=str
)
def test_rank(nbtext: Any, letters: Path, model: str, extra: tuple[str, ...]) -> None:
    """The same records, by falling entropy of the probabilities."""
    ask = ("predict", str(letters / "test"), "-m", model, "--to", "jsonl", *extra)
    plain, ranked = (nbtext(*ask, *rank).out.splitlines() for rank in ((), ("--rank", "uncertainty", "-j", "2")))
    assert sorted(plain) == sorted(ranked)
    assert plain != ranked
    found = [entropy(json.loads(line)["scores"]) for line in ranked]
    assert all(one >= other - 1e-4 for one, other in pairwise(found))


def entropy(scores: dict[str, float]) -> float:
    """In nats, of probabilities that were rounded."""
    return -sum(p * math.log(p) for p in scores.values() if p > 0)


def test_documents_without_known_words_come_last(nbtext: Any, model: str, tmp_path: Path) -> None:
    """Documents without a known word, and those that cannot be read, come last, in their order."""
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n{"text": \n{"text": "xyzzy"}\n{"text": "the bins, the noise"}\n')
    result = nbtext("predict", "a.jsonl", "-m", model, "--rank", "uncertainty", "--to", "jsonl", cwd=tmp_path)
    records = [json.loads(line) for line in result.out.splitlines()]
    assert records[0]["known"] > 0
    assert len(records) == 4
    assert all(record["known"] == 0 for record in records[1:])


def test_rank_of_nothing(nbtext: Any, model: str) -> None:
    """No document, no record."""
    assert nbtext("predict", "-", "-m", model, "--rank", "uncertainty", "--to", "jsonl").out == ""
