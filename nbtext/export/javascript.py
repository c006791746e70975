"""Export a model as one JavaScript module without dependencies: its numbers, followed by classify.js."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from nbtext.export.exporter import (
    Exporter,
    check_analyzer,
    named_features,
    probability_parameters,
    several_labels_parameters,
)
from nbtext.features.analyzer import LONGEST_TOKEN, has_marks
from nbtext.features.formulas import format_formula
from nbtext.model.fitted_model import FittedModel

NOT_ASCII = r"[^\x00-\x7f]"


def javascript(model: FittedModel) -> Iterator[bytes]:
    """Yield the parts of an ECMAScript module whose `classify(text)` returns the labels and probabilities of `predict`.

    Weights are stored sparse, as in the scorer.
    """
    features = named_features(model)
    scorer, settings = model.scorer, model.feature_settings
    weighting = model.weighting
    data: dict[str, Any] = {
        "labels": model.labels,
        "analyzer": settings.analyzer,
        "marks": has_marks(settings),
        "ngrams": settings.ngrams,
        "lowercase": settings.lowercase,
        "accents": _accents(settings.strip_accents),
        "longest_token": LONGEST_TOKEN,
        "stop_words": settings.stop_words,
        "features": features.terms,
        "idf": _numbers(weighting.idf),
        "norm": weighting.norm,
        "bias": _numbers(scorer.bias),
        "default": _numbers(scorer.default),
        "base": _numbers(scorer.base),
        "base_scale": _numbers(scorer.base_scale),
        "starts": _numbers(scorer.indptr),
        "classes": _numbers(scorer.classes),
        "deltas": _numbers(scorer.deltas),
        **probability_parameters(model),
    }
    if several := several_labels_parameters(model):
        data["several"] = several
    # in an HTML page, no text of the model may end the script element
    yield f"export const model = {json.dumps(data, allow_nan=False)};\n".replace("<", "\\u003c").encode("ascii")
    variables = {"count": "count", "length": "length"} | {k: repr(v) for k, v in weighting.parameters.items()}
    formula = format_formula(weighting.term_frequency.formula, variables, log="Math.log", maximum="Math.max")
    yield f"const weigh = (count, length) => {formula};\n".encode("ascii")
    yield files("nbtext.export").joinpath("classify.js").read_bytes()


def _numbers(values: Any) -> list[float] | None:
    return None if values is None else values.tolist()


def _accents(strip_accents: str | None) -> str | None:
    """Return a regular expression of the characters to remove from a decomposed text."""
    if strip_accents is None:
        return None
    return NOT_ASCII if strip_accents == "ascii" else _combining_characters()


@cache
def _combining_characters() -> str:
    """Return a character class of all combining characters; JavaScript's regular expressions have no name for it."""
    points = [point for point in range(sys.maxunicode + 1) if unicodedata.combining(chr(point))]
    return "[" + "".join(f"\\u{{{point:x}}}" for point in points) + "]"


JAVASCRIPT = Exporter(
    "js", (".js", ".mjs"), "A JavaScript module without dependencies: classify(text) returns labels and probabilities.",
    check_analyzer, javascript, has_several_labels=True,
)  # fmt: skip
