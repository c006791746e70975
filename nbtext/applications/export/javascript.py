"""Export a model as an ECMAScript module: its numbers, followed by classify.js."""

from __future__ import annotations

import json
import sys
import unicodedata
import zlib
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import numpy as np

from nbtext.applications.export.exporter import (
    Exporter,
    check_analyzer,
    format_weight,
    list_numbers,
    named_views,
)
from nbtext.features.analyzer import LONGEST_TOKEN, has_marks
from nbtext.model.fitted_model import FittedModel

UNPACKING = b"""const bytes = Uint8Array.from(atob("PACKED"), (letter) => letter.charCodeAt(0));
const json = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
export const model = JSON.parse(await new Response(json).text());
"""


def javascript(model: FittedModel) -> Iterator[bytes]:
    """Yield the parts of an ECMAScript module whose `classify(text)` returns the labels and
    probabilities of `predict`.

    Weights are stored sparse, as in the scorer. Those of a smaller model are in 8 bits, and all is
    compressed.
    """
    settings = model.feature_settings
    # a regular expression of the characters to remove from a decomposed text
    accents = r"[^\x00-\x7f]" if settings.strip_accents == "ascii" else None
    if settings.strip_accents == "unicode":
        accents = _combining_characters()
    numbers = list_numbers(model)
    numbers["widths"] = np.diff(numbers.pop("starts"))
    data = {
        "labels": model.labels,
        "lowercase": settings.lowercase,
        "accents": accents,
        "longest_token": LONGEST_TOKEN,
        "stop_words": settings.stop_words,
        "views": [
            {
                "analyzer": view.settings.analyzer,
                "marks": has_marks(view.settings),
                "ngrams": view.settings.ngrams,
                "features": features.terms,
                "norm": view.weighting.norm,
            }
            for view, features in named_views(model)
        ],
        **numbers,
    }
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), default=np.ndarray.tolist)
    if model.scorer.scales is not None:
        yield UNPACKING.replace(b"PACKED", b64encode(zlib.compress(text.encode("ascii"), 9)))
    else:  # in an HTML page, no text of the model may end the script element
        yield f"export const model = {text};\n".replace("<", "\\u003c").encode("ascii")
    formulas = ", ".join(
        f"(count, length) => {format_weight(view.weighting, log='Math.log', maximum='Math.max')}"
        for view in model.views
    )
    yield f"const weigh = [{formulas}];\n".encode("ascii")
    yield files(__package__).joinpath("classify.js").read_bytes()


@cache
def _combining_characters() -> str:
    """Return a character class of all combining characters; JavaScript's regular expressions have
    no name for it.
    """
    points = [point for point in range(sys.maxunicode + 1) if unicodedata.combining(chr(point))]
    return "[" + "".join(f"\\u{{{point:x}}}" for point in points) + "]"


JAVASCRIPT = Exporter(
    (".js", ".mjs"),
    "A JavaScript module without dependencies: classify(text) returns labels and probabilities.",
    check_analyzer,
    javascript,
    decides=("prior_adjustment", "decision_offsets"),
)
