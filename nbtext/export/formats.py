"""The registry of export formats, with those of a few lines: JavaScript and CSV."""

from __future__ import annotations

import csv
import io
import json
import sys
import unicodedata
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise, takewhile
from typing import Any

import numpy as np

from nbtext.errors import ModelError
from nbtext.export.c_source import C_SOURCE
from nbtext.export.exporter import (
    Exporter,
    check_analyzer,
    check_dense,
    format_weight,
    named_features,
    named_views,
    probability_parameters,
    several_labels_parameters,
)
from nbtext.features.analyzer import LONGEST_TOKEN, has_marks
from nbtext.model.fitted_model import FittedModel
from nbtext.output import atomic_output

CSV_ROWS = 4096  # written at once
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
            "idf": _numbers(view.weighting.idf),
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
        "bias": _numbers(scorer.bias),
        "default": _numbers(scorer.list_defaults(len(views))),
        "base": _numbers(scorer.base),
        "base_scale": _numbers(scorer.base_scale),
        "rows": _numbers(scorer.rows),
        "starts": _numbers(scorer.indptr),
        "classes": _numbers(scorer.classes),
        "deltas": _numbers(scorer.deltas),
        **probability_parameters(model),
    }
    if several := several_labels_parameters(model):
        data["several"] = several
    if is_small:
        data |= {"starts": None, "widths": _numbers(np.diff(scorer.indptr))}
        data |= {"deltas": None, "codes": _numbers(scorer.codes), "scales": _numbers(scorer.scales)}
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
    yield files("nbtext.export").joinpath("classify.js").read_bytes()


def _shorten(features: Sequence[str]) -> Iterator[str]:
    """Yield each feature without the characters that it shares with the one before, and their
    number before it.
    """
    for last, own in pairwise(["", *features]):
        n = len(
            [*takewhile(lambda pair: pair[0] == pair[1], zip(last[:MAX_SHARED], own, strict=False))]
        )
        yield chr(SHARED + n) + own[n:]


def _numbers(values: Any) -> list[float] | None:
    return None if values is None else values.tolist()


@cache
def _combining_characters() -> str:
    """Return a character class of all combining characters; JavaScript's regular expressions have
    no name for it.
    """
    points = [point for point in range(sys.maxunicode + 1) if unicodedata.combining(chr(point))]
    return "[" + "".join(f"\\u{{{point:x}}}" for point in points) + "]"


JAVASCRIPT = Exporter(
    "js",
    (".js", ".mjs"),
    "A JavaScript module without dependencies: classify(text) returns labels and probabilities.",
    check_analyzer,
    javascript,
    has_several_labels=True,
)


def table(model: FittedModel) -> Iterator[bytes]:
    """Yield CSV with the columns `kind`, `feature`, `idf`, and one for each label.

    The row of kind `bias` has the score of an empty document, prior included. The row of kind
    `log_prior`, of Naive Bayes models only, has the prior alone. Each row of kind `weight` has the
    name of a feature, its idf (1 without idf), and its weights. The score of a document is the bias
    plus the weights times its counts, weighted by the model's tf, idf and norm. Numbers have all
    digits.
    """
    features = named_features(model)
    scorer = model.scorer
    idf = model.weighting.list_idf(len(features))
    yield _lines(
        [["kind", "feature", "idf", *model.labels], ["bias", "", 1.0, *scorer.bias.tolist()]]
    )
    if not model.model_settings.is_linear:
        yield _lines([["log_prior", "", 1.0, *model.log_prior.tolist()]])
    terms = features.terms
    weights = scorer.weights().T
    for start in range(0, len(terms), CSV_ROWS):
        block = slice(start, start + CSV_ROWS)
        rows = zip(terms[block], idf[block].tolist(), weights[block].tolist(), strict=True)
        yield _lines([["weight", term, factor, *own] for term, factor, own in rows])


def _lines(rows: list[list[str | float]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


CSV = Exporter(
    "csv", (".csv",), "A row for each feature with its weight for each label.", check_dense, table
)

EXPORTERS = {exporter.name: exporter for exporter in (C_SOURCE, CSV, JAVASCRIPT)}


def format_of(path: str) -> str | None:
    """Return the name of the format with the suffix of a path; None if no format has it."""
    return next(
        (
            exporter.name
            for exporter in EXPORTERS.values()
            if path.lower().endswith(exporter.suffixes)
        ),
        None,
    )


def export(
    model: FittedModel, name: str, path: str, *, escape: Callable[[bytes], bytes] | None = None
) -> None:
    """Write a trained model in the format of this name, completely or not at all.

    Parameters
    ----------
    name : str
        A key of EXPORTERS.
    path : str
        The path of the file; "-" is standard output.
    escape : Callable[[bytes], bytes], optional
        Applied to each part of the file.

    Raises
    ------
    ModelError
        The format cannot hold the model.
    OutputError
        The file cannot be written.
    """
    exporter = EXPORTERS[name]
    if not model.task.is_exclusive:
        if model.model_settings.is_linear:
            what = "linear models of several labels cannot be exported"
            raise ModelError(what, hint="train a Naive Bayes model, such as --model auto")
        able = [each.name for each in EXPORTERS.values() if each.has_several_labels]
        if name not in able:
            what = f"a multi-label model cannot be exported as {name}"
            raise ModelError(what, hint=f"export it as {', '.join(able)}")
    exporter.check(model)
    with atomic_output(path) as file:
        for part in exporter.write(model):
            file.write(escape(part) if escape is not None else part)
