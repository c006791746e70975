"""The registry of weightings: formulas for term frequency and inverse document frequency, and
norms.

A formula is an expression with + - * / and the functions `log` and `max`. NumPy evaluates it here,
and each exporter translates it to its language, by `evaluate`. To add a weighting, add its formulas
here, and a field to FeatureSettings for each new parameter. This file does not import NumPy,
because the command line reads its names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from nbtext.records import dataclass

if TYPE_CHECKING:
    import ast

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class TermFrequency:
    """The weight of a count within its document.

    Attributes
    ----------
    formula : str
        An expression of `count`, the occurrences of the feature in the document, > 0; `length`, the
        occurrences of all known features in the document; `mean_length`, the mean of it over the
        training documents; and `parameters`.
    parameters : tuple of str
        Fields of FeatureSettings that the formula uses.
    is_linear : bool
        Whether the weights of documents add up as their counts do, or as their binary counts do.
    is_compiled : bool
        Whether the counting kernel has the formula too. Otherwise documents are scored as a matrix,
        which is slower.
    """

    formula: str
    parameters: tuple[str, ...] = ()
    is_linear: bool = False
    is_compiled: bool = False

    @property
    def needs_mean_length(self) -> bool:
        """Whether the formula uses the mean length of the training documents."""
        return "mean_length" in self.formula


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

WEIGHTINGS = {  # name: tf, idf, norm
    "counts": ("count", "none", "none"),
    "binary": ("binary", "none", "none"),
    "tfidf": ("count", "smooth", "l2"),
    "log-tfidf": ("log", "smooth", "l2"),
    "binary-tfidf": ("binary", "smooth", "l2"),
    "binary-l2": ("binary", "none", "l2"),
    "log-l2": ("log", "none", "l2"),
}


def evaluate(
    formula: str,
    variables: Mapping[str, Value],
    operations: Mapping[str, Callable[..., Value]],
    constant: Callable[[float], Value],
) -> Value:
    """Return the value of a formula; values can be numbers, arrays, source code, or nodes of a
    graph.

    Parameters
    ----------
    formula : str
        One of this registry.
    variables : mapping of str
        The value of each name in the formula.
    operations : mapping of str
        The functions for `Add`, `Sub`, `Mult`, `Div`, `max` (two values) and `log` (one value).
    constant : callable
        Converts a number to a value.
    """
    return _evaluate_node(_parse(formula), variables, operations, constant)


def _evaluate_node(
    node: ast.expr,
    variables: Mapping[str, Value],
    operations: Mapping[str, Callable[..., Value]],
    constant: Callable[[float], Value],
) -> Value:
    """Return the value of a node. A closure that calls itself would keep large arrays alive, so
    this is a function.
    """
    import ast

    def values(nodes: Iterable[ast.expr]) -> list[Value]:
        return [_evaluate_node(each, variables, operations, constant) for each in nodes]

    match node:
        case ast.BinOp(left=left, op=operator, right=right):
            return operations[type(operator).__name__](*values((left, right)))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return operations[name](*values(arguments))
        case ast.Name(id=name):
            return variables[name]
        case ast.Constant(value=int(number) | float(number)):
            return constant(float(number))
    raise ValueError(f"a formula cannot contain {ast.unparse(node)}")


def format_formula(formula: str, variables: Mapping[str, str], *, log: str, maximum: str) -> str:
    """Return the formula as source code of a language with the operators and calls of C.

    Parameters
    ----------
    variables : mapping of str to str
        The source code of each name in the formula.
    log, maximum : str
        The names of the functions.
    """
    signs = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/"}
    operations: dict[str, Callable[..., str]] = {
        name: lambda a, b, sign=sign: f"({a} {sign} {b})" for name, sign in signs.items()
    }
    operations["log"] = lambda a: f"{log}({a})"
    operations["max"] = lambda a, b: f"{maximum}({a}, {b})"
    return evaluate(formula, variables, operations, repr)


@cache
def _parse(formula: str) -> ast.expr:
    import ast

    return ast.parse(formula, mode="eval").body
