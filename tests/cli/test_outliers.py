"""Documents unlike the corpus: a flag and a score in `predict`, as typed."""

from typing import Any


def test_strange_text_is_less_typical(nbtext: Any, model: str) -> None:
    """Letters are typical, another language is an outlier, and the less typical of two has the
    lower score.
    """
    lines = "the bins in our street were not emptied again this week\nder Hund bellt\nxq zzv qqj wwkx\n\n"
    found = nbtext(f"predict - -m {model} --to jsonl", input=lines.encode()).records
    letter, german, noise, nothing = found
    assert letter["typicality"] > 0.1
    assert letter["outlier"] is False
    assert letter["typicality"] > german["typicality"] > 0
    assert noise["typicality"] > 0
    assert noise["outlier"] is True
    assert nothing["typicality"] is None
