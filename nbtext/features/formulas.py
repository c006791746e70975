"""The registry of weightings: formulas for term frequency and inverse document frequency, and
norms.

A formula is an expression with + - * / and the functions `log` and `max`, in the syntax that Python
shares with C and JavaScript. `weighting` evaluates it with arrays, and each exporter replaces its
names. To add a weighting, add its formulas here. This file does not import NumPy, because the
command line reads its names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nbtext.records import frozen


@frozen(kw_only=True)
class TermFrequency:
    """The weight of a count within its document.

    Attributes
    ----------
    formula : str
        An expression of `count`, the occurrences of the feature in the document, > 0; `length`, the
        occurrences of all known features in the document.
    is_linear : bool
        Whether the weights of documents add up as their counts do, or as their binary counts do.
    is_compiled : bool
        Whether the counting kernel has the formula too. Otherwise documents are scored as a matrix,
        which is slower.
    """

    formula: str
    is_linear: bool = False
    is_compiled: bool = False


TERM_FREQUENCIES = {
    "count": TermFrequency(formula="count", is_linear=True, is_compiled=True),
    "binary": TermFrequency(formula="1", is_linear=True, is_compiled=True),
    "relative": TermFrequency(formula="count / length", is_compiled=True),
    "log": TermFrequency(formula="1 + log(count)", is_compiled=True),
}

# expressions of `n`, the number of documents, and `df`, the number of those that have the feature
# sources: plain: Spärck Jones, A Statistical Interpretation of Term Specificity, 1972; smooth:
# scikit-learn 1.9
INVERSE_DOCUMENT_FREQUENCIES = {
    "none": "1",
    # df is 1 for a feature of a given vocabulary that no document has
    "plain": "log(n / max(df, 1))",
    "plus-one": "log(n / (df + 1))",
    "smooth": "log((1 + n) / (1 + df)) + 1",
}

NORMS = ("none", "l1", "l2")

WEIGHTING_TABLE = """
counts        count   none    none
binary        binary  none    none
tfidf         count   smooth  l2
log-tfidf     log     smooth  l2
binary-tfidf  binary  smooth  l2
binary-l2     binary  none    l2
log-l2        log     none    l2
"""
WEIGHTINGS = {  # name: tf, idf, norm
    name: (tf, idf, norm)
    for name, tf, idf, norm in map(str.split, WEIGHTING_TABLE.strip().splitlines())
}


def format_formula(formula: str, variables: Mapping[str, str], *, log: str, maximum: str) -> str:
    """Return the formula as source code of a language with the operators and calls of C.

    Parameters
    ----------
    variables : mapping of str to str
        The source code of each name in the formula.
    log, maximum : str
        The names of the functions.
    """
    names = {**variables, "log": log, "max": maximum}
    return re.sub(r"[a-z_]\w*", lambda found: names[found[0]], formula)
