"""Export a model as one C99 file without dependencies: tables of its numbers, followed by
classify.c.
"""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from nbtext.applications.export import exporter
from nbtext.errors import ModelError
from nbtext.features.analyzer import LONGEST_TOKEN, has_marks
from nbtext.model.fitted_model import FittedModel

HEAD = """\
/* A text model, written by nbtext. As a filter:  cc -std=c99 -O2 FILE -lm -o classify && ./classify < texts
   In a program: compile it with -DNBTEXT_NO_MAIN, and call nbtext_classify. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { uint32_t first, last; } Range;  /* of code points, both within; or a letter and its lower case */
enum { WORD, CHAR, CHAR_WB };
enum { NONE, L1, L2 };
typedef struct { int analyzer, has_marks, shortest, longest, norm, first, n_features; } View;
"""
VALUES_PER_LINE = 12
PLAIN_CHARACTERS = frozenset(string.ascii_letters + string.digits + " _")
# classify.c has code for their lower case, which a table cannot express
SIGMA = "Σ"
DOTTED_I = "İ"
FINAL_SIGMA = "ς"


def check_c(model: FittedModel) -> None:
    """Raise ModelError if a C file cannot hold the model."""
    exporter.check_analyzer(model)
    settings = model.feature_settings
    if settings.strip_accents is not None:
        raise ModelError("--strip-accents cannot be exported to C", hint="export it as js")
    if any("\0" in name for name in (*exporter.named_features(model).terms, *model.labels)):
        raise ModelError(
            "a word or label with a NUL character cannot be exported to C", hint="export it as js"
        )


def c_source(model: FittedModel) -> Iterator[bytes]:
    """Yield the parts of a C99 file.

    `nbtext_classify` returns the labels and probabilities of `predict`; `main` classifies each line
    of its input. Weights are stored sparse, as in the scorer; those of a smaller model are in 8
    bits. The tables of word characters and lower case are those of this Python.
    """
    settings = model.feature_settings
    views = list(exporter.named_views(model))
    # a nested conditional: the weight of view 0, of view 1, and so on
    weigh = "0"
    for place, (view, _) in reversed(list(enumerate(views))):
        weight = exporter.format_weight(view.weighting, log="log", maximum="fmax")
        weigh = f"(view) == {place} ? {weight} : {weigh}"
    constants = {
        "LOWERCASE": int(settings.lowercase),
        "LONGEST_TOKEN": LONGEST_TOKEN,
        "WEIGH(view, count, length)": f"({weigh})",
    }
    texts = {
        "labels": model.labels,
        "features": (term for _, features in views for term in features.terms),
        # no token has a NUL
        "stop_words": sorted(word for word in settings.stop_words if "\0" not in word),
    }
    kinds = {
        "rows": "int32_t",
        "starts": "int32_t",
        "codes": "int8_t",
        "classes": "uint8_t" if len(model.scorer.bias) <= 1 << 8 else "int32_t",
    }
    numbers = exporter.list_numbers(model)
    constants |= {name.upper(): each for name, each in numbers.items() if isinstance(each, float)}
    yield HEAD.encode("ascii")
    yield "".join(f"#define {name} {value}\n" for name, value in constants.items()).encode("ascii")
    for name, each in texts.items():
        yield _format_table("char *const", name, map(_quote, each))
    for name, each in numbers.items():
        if not isinstance(each, float):
            values = [] if each is None else each.tolist()
            yield _format_table(kinds.get(name, "double"), name, map(repr, values))
    fields = []
    first = 0
    for view, features in views:
        norm = view.weighting.norm.upper()
        kind = view.settings.analyzer.upper()
        shortest, longest = view.settings.ngrams
        marks = int(has_marks(view.settings))
        fields.append(
            f"{{{kind}, {marks}, {shortest}, {longest}, {norm}, {first}, {len(features)}}}"
        )
        first += len(features)
    yield _format_table("View", "views", fields)
    yield _unicode_tables()
    yield files(__package__).joinpath("classify.c").read_bytes()


def _format_table(kind: str, name: str, values: Iterable[str]) -> bytes:
    """Format a constant array and its length; an empty array gets one unused item, because C has no
    empty arrays.
    """
    items = list(values)
    padded = items or ["0"]
    starts = range(0, len(padded), VALUES_PER_LINE)
    lines = ",\n".join(", ".join(padded[start : start + VALUES_PER_LINE]) for start in starts)
    table = (
        f"#define N_{name.upper()} {len(items)}\nstatic const {kind} {name}[] = {{\n{lines}\n}};\n"
    )
    return table.encode("ascii")


def _quote(text: str) -> str:
    """Format a C string; all bytes but letters, digits and spaces are octal escapes."""
    encoded = text.encode("utf-8", "surrogatepass")
    return (
        '"'
        + "".join(
            chr(byte) if chr(byte) in PLAIN_CHARACTERS else f"\\{byte:03o}" for byte in encoded
        )
        + '"'
    )


@cache
def _unicode_tables() -> bytes:
    """Format tables of this Python's word characters, lower case, and cased and case-ignorable
    characters.

    The lower case of a sigma is final after a cased character and any case-ignorable characters.
    Python has no function for these two properties, so they are derived from the lower case of
    strings with a sigma.
    """
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    pairs = [
        f"{{{ord(c)}, {ord(c.lower())}}}"
        for c in characters
        if c.lower() != c and c not in (SIGMA, DOTTED_I)
    ]
    same_length = characters.replace(DOTTED_I, "I")
    cased = "".join(f" {c}{SIGMA}" for c in same_length).lower()[2::3]
    after_letter = "".join(f" a{c}{SIGMA}" for c in same_length).lower()[3::4]
    pairs_of_sigmas = zip(after_letter, cased, strict=True)
    ignorable = "".join(
        FINAL_SIGMA if after == FINAL_SIGMA != alone else " " for after, alone in pairs_of_sigmas
    )
    ranges = {
        "word_characters": (r"\w", characters),
        "white_space": (r"\s", characters),
        "cased": (FINAL_SIGMA, cased),
        "case_ignorable": (FINAL_SIGMA, ignorable),
    }
    tables = [_format_table("Range", "lower_case", pairs)]
    for name, (pattern, text) in ranges.items():
        runs = (
            f"{{{run.start()}, {run.end() - 1}}}" for run in re.finditer(f"(?:{pattern})+", text)
        )
        tables.append(_format_table("Range", name, runs))
    return b"".join(tables)


C_SOURCE = exporter.Exporter(
    (".c",),
    "A C99 file without dependencies. As a program, it classifies each line "
    "of its input; in your own program, it provides the function nbtext_classify.",
    check_c,
    c_source,
    decides=("prior_adjustment", "decision_offsets"),
)
