"""Export a model as an ECMAScript module: its numbers, followed by classify.js."""

from __future__ import annotations

import json
import sys
import unicodedata
import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise, takewhile
from typing import Any

import numpy as np

from nbtext.applications.export.exporter import (
    Exporter,
    check_analyzer,
    format_weight,
    list_numbers,
    named_views,
    probability_parameters,
    several_labels_parameters,
)
from nbtext.features.analyzer import LONGEST_TOKEN, has_marks
from nbtext.model.fitted_model import FittedModel

UNPACKING = b"""const bytes = Uint8Array.from(atob("PACKED"), (letter) => letter.charCodeAt(0));
const json = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
export const model = JSON.parse(await new Response(json).text());
model.starts = [0];
for (const width of model.widths) model.starts.push(model.starts.at(-1) + width);
model.deltas = model.codes.map((code, entry) => code * model.scales[model.classes[entry]]);
let last = [];
const restore = ([length, ...rest]) => (last = [...last.slice(0, length.codePointAt(0) - SHARED), ...rest]).join("");
for (const view of model.views) view.features = view.features.map(restore);
"""
# the first character of a shortened feature, if it shares nothing with the one before
SHARED = ord("A")
MAX_SHARED = 1 << 10  # characters


def javascript(model: FittedModel) -> Iterator[bytes]:
    """Yield the parts of an ECMAScript module whose `classify(text)` returns the labels and
    probabilities of `predict`.

    Weights are stored sparse, as in the scorer. Those of a smaller model are in 8 bits, and all is
    compressed; each feature is stored without the characters that it shares with the one before.
    """
    scorer = model.scorer
    settings = model.feature_settings
    is_small = model.scorer.scales is not None
    # a regular expression of the characters to remove from a decomposed text
    accents = r"[^\x00-\x7f]" if settings.strip_accents == "ascii" else None
    if settings.strip_accents == "unicode":
        accents = _combining_characters()
    views = [
        {
            "analyzer": view.settings.analyzer,
            "marks": has_marks(view.settings),
            "ngrams": view.settings.ngrams,
            "features": [*_shorten(features.terms)] if is_small else features.terms,
            "idf": list_numbers(view.weighting.idf),
            "norm": view.weighting.norm,
        }
        for view, features in named_views(model)
    ]
    data: dict[str, Any] = {
        "labels": model.labels,
        "lowercase": settings.lowercase,
        "accents": accents,
        "longest_token": LONGEST_TOKEN,
        "stop_words": settings.stop_words,
        "views": views,
        "bias": list_numbers(scorer.bias),
        "default": list_numbers(scorer.list_defaults(len(views))),
        "base": list_numbers(scorer.base),
        "base_scale": list_numbers(scorer.base_scale),
        "rows": list_numbers(scorer.rows),
        "starts": list_numbers(scorer.indptr),
        "classes": list_numbers(scorer.classes),
        "deltas": list_numbers(scorer.deltas),
        **probability_parameters(model),
    }
    if several := several_labels_parameters(model):
        data["several"] = several
    if is_small:
        data |= {"starts": None, "widths": list_numbers(np.diff(scorer.indptr))}
        data |= {
            "deltas": None,
            "codes": list_numbers(scorer.codes),
            "scales": list_numbers(scorer.scales),
        }
        packed = b64encode(
            zlib.compress(
                json.dumps(data, allow_nan=False, separators=(",", ":")).encode("ascii"), 9
            )
        )
        yield UNPACKING.replace(b"SHARED", str(SHARED).encode("ascii")).replace(b"PACKED", packed)
    else:  # in an HTML page, no text of the model may end the script element
        yield f"export const model = {json.dumps(data, allow_nan=False)};\n".replace(
            "<", "\\u003c"
        ).encode("ascii")
    formulas = ", ".join(
        f"(count, length) => {format_weight(view.weighting, log='Math.log', maximum='Math.max')}"
        for view in model.views
    )
    yield f"const weigh = [{formulas}];\n".encode("ascii")
    yield files(__package__).joinpath("classify.js").read_bytes()


def _shorten(features: Sequence[str]) -> Iterator[str]:
    """Yield each feature without the characters that it shares with the one before, and their
    number before it.
    """
    for last, own in pairwise(["", *features]):
        n = len(
            [*takewhile(lambda pair: pair[0] == pair[1], zip(last[:MAX_SHARED], own, strict=False))]
        )
        yield chr(SHARED + n) + own[n:]


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
    has_several_labels=True,
)
