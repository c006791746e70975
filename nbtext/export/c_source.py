"""A model as one C file that needs only the standard library: its numbers, and the code of classify.c."""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from nbtext.errors import ModelError
from nbtext.export.exporter import Exporter, check_analyzer, named_features, probability_parameters
from nbtext.features.analyzer import LONGEST_TOKEN
from nbtext.features.formulas import format_formula
from nbtext.features.weighting import Weighting
from nbtext.model.fitted_model import FittedModel

HEAD = """\
/* A text model, written by nbtext. As a filter:  cc -std=c99 -O2 FILE -lm -o classify && ./classify < texts
   In a program: compile it with -DNBTEXT_NO_MAIN, and call nbtext_classify. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { uint32_t first, last; } Range;  /* of code points, both within */
"""
A_LINE = 12  # values
NORMS = {"none": 0, "l1": 1, "l2": 2}
PLAIN = frozenset(string.ascii_letters + string.digits + " _")
SIGMA, DOTTED_I = "Σ", "İ"  # what becomes of them takes more than a table
FINAL = "ς"


def check_c(model: FittedModel) -> None:
    """Raise ModelError if a C file cannot hold the model."""
    check_analyzer(model)
    settings = model.feature_settings
    if settings.analyzer != "word":
        raise ModelError("character n-grams cannot be exported to C", hint="use --to js")
    if settings.strip_accents is not None:
        raise ModelError("--strip-accents cannot be exported to C", hint="use --to js")
    if any("\0" in name for name in (*named_features(model).terms, *model.labels)):
        raise ModelError("a word or label with a NUL character cannot be exported to C", hint="use --to js")


def c_source(model: FittedModel) -> Iterator[bytes]:
    """C99 whose `nbtext_classify` gives the labels and probabilities of `predict`, and whose `main` filters lines.

    Weights are stored sparse, as in the scorer. Tables hold the word characters and lower case of this Python.
    """
    names = named_features(model).terms
    settings, calibration = model.feature_settings, model.calibration
    scorer, weighting = model.scorer, model.weighting
    found = probability_parameters(model)
    constants = {
        "LOWERCASE": int(settings.lowercase), "SHORTEST": settings.ngrams[0], "LONGEST": settings.ngrams[1],
        "WEIGH(count, length)": _formula(weighting),
        "NORM": f"'{NORMS[weighting.norm]}'", "LONGEST_TOKEN": LONGEST_TOKEN,
        "A": found["a"], "B": found["b"], "NOISE": found["noise"],
    }  # fmt: skip
    yield HEAD.encode("ascii")
    yield "".join(f"#define {name} {value}\n" for name, value in constants.items()).encode("ascii")
    for name, texts in (
        ("labels", model.labels),
        ("features", names),
        ("stop_words", sorted(word for word in settings.stop_words if "\0" not in word)),  # no token has a NUL
    ):
        yield _table("char *const ", f"{name}[]", map(_quoted, texts))
    for name, numbers in (
        ("bias", scorer.bias), ("by_default", scorer.default), ("base", scorer.base), ("base_scale", scorer.base_scale),
        ("deltas", scorer.deltas), ("idf", weighting.idf),
        ("prior_adjustment", calibration.prior_adjustment), ("shift", calibration.decision_offsets),
    ):  # fmt: skip
        yield _table("double ", f"{name}[]", map(repr, () if numbers is None else numbers.tolist()))
    for name, places in (("starts", scorer.indptr), ("classes", scorer.classes)):
        yield _table("int32_t ", f"{name}[]", map(str, places.tolist()))
    yield _unicode()
    yield files("nbtext.export").joinpath("classify.c").read_bytes()


def _formula(weighting: Weighting) -> str:
    """The term frequency, as an expression of C."""
    variables = {"count": "(count)", "length": "(length)"} | {k: repr(v) for k, v in weighting.parameters.items()}
    return format_formula(weighting.term_frequency.formula, variables, log="log", maximum="fmax")


def _table(kind: str, name: str, values: Iterable[str]) -> bytes:
    """A constant array, and how long it is; C has none that is empty."""
    listed = list(values)
    padded = listed or ["0"]
    lines = ",\n".join(", ".join(padded[start : start + A_LINE]) for start in range(0, len(padded), A_LINE))
    table = f"#define N_{name.partition('[')[0].upper()} {len(listed)}\nstatic const {kind}{name} = {{\n{lines}\n}};\n"
    return table.encode("ascii")


def _quoted(text: str) -> str:
    """A string of C: whatever is no letter, digit or space is spelled by its bytes."""
    spelled = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(byte) if chr(byte) in PLAIN else f"\\{byte:03o}" for byte in spelled) + '"'


@cache
def _unicode() -> bytes:
    """Word characters, lower case, and what decides whether a sigma ends a word: as this Python has them.

    A sigma ends a word where a cased character is before it, others that are ignorable between: so Python is asked.
    """
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    pairs = [f"{{{ord(c)}, {ord(c.lower())}}}" for c in characters if c.lower() != c and c not in (SIGMA, DOTTED_I)]
    same_length = characters.replace(DOTTED_I, "I")
    cased = "".join(f" {c}{SIGMA}" for c in same_length).lower()[2::3]
    passed = "".join(f" a{c}{SIGMA}" for c in same_length).lower()[3::4]
    ignorable = "".join(FINAL if at == FINAL != by_itself else " " for at, by_itself in zip(passed, cased, strict=True))
    ranges = {"word_characters": (r"\w", characters), "cased": (FINAL, cased), "case_ignorable": (FINAL, ignorable)}
    tables = [_table("uint32_t ", "lower_case[][2]", pairs)]
    for name, (wanted, text) in ranges.items():
        runs = (f"{{{run.start()}, {run.end() - 1}}}" for run in re.finditer(f"(?:{wanted})+", text))
        tables.append(_table("Range ", f"{name}[]", runs))
    return b"".join(tables)


C_SOURCE = Exporter(
    "c", (".c",), "A C99 file without dependencies: a filter of lines, or nbtext_classify in a program of yours.",
    check_c, c_source,
)  # fmt: skip
