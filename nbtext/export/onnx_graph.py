"""Export a model as an ONNX graph of standard operators, from the features of documents to labels and probabilities."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import MissingExtra, ModelError
from nbtext.export.exporter import Exporter, check_dense, named_features, probability_parameters
from nbtext.features.formulas import evaluate
from nbtext.features.weighting import Weighting
from nbtext.model.fitted_model import FittedModel

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

OPSET = 13  # of the operators; every ONNX runtime since 2020 has them
IR_VERSION = 8
MAX_BYTES = 2**31 - 2**20  # bytes; less than the maximum size of a protocol buffer
OPERATORS = {"Add": "Add", "Sub": "Sub", "Mult": "Mul", "Div": "Div", "log": "Log", "max": "Max"}  # of formulas
DOCUMENTATION = """\
features  strings, documents x longest document: the features of each document in any order, one item for each
occurrence. Words of an n-gram are joined by a space. Shorter documents are padded with empty strings. The words are
re.findall(r"(?u)\\b\\w\\w+\\b", text.lower()) in Python, without words of more than 65,535 bytes in UTF-8. Features
that the model does not know are ignored; a document without a known feature gets an empty label and the prior
probabilities. The input must have at least one document.
label          strings, (documents,): the predicted label.
probabilities  float64, documents x labels, in the order of the metadata's `labels`, calibrated if the model is.
"""


class Graph:
    """Builds the nodes and constants of a graph; each value is referred to by its name."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, values: Any, name: str) -> str:
        """Add a constant array of numbers or list of strings, and return its name."""
        from onnx import TensorProto, helper, numpy_helper

        if isinstance(values, list):
            encoded = [value.encode("utf-8") for value in values]
            self.constants.append(helper.make_tensor(name, TensorProto.STRING, [len(values)], encoded))
        else:
            self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operator: str, *inputs: str, name: str, **attributes: Any) -> str:
        """Add a node, and return the name of its output."""
        from onnx import helper

        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def with_constant(self, operator: str, values: str, constant: Any, *, name: str) -> str:
        """Add a node with a value and a constant as inputs, and return the name of its output."""
        array = np.asarray(constant, dtype=np.float64)
        return self.add(operator, values, self.constant(array, f"{name}_constant"), name=name)


def onnx_graph(model: FittedModel) -> Iterator[bytes]:
    """Yield an ONNX model, which computes in double precision. Its documentation describes the input and output.

    The input is the features of documents, because no ONNX operator splits text into the tokens of nbtext: lower case
    and white space of the operators depend on the machine.

    Raises
    ------
    MissingExtra
        onnx is not installed.
    """
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise MissingExtra("--to onnx", library="onnx", extra="onnx") from None
    terms = named_features(model).terms
    graph = Graph()
    counts, known = _add_counts(graph, terms)
    weighting = model.weighting
    weights = _term_frequencies(graph, weighting, counts, known)
    if weighting.idf is not None:
        weights = graph.with_constant("Mul", weights, weighting.idf, name="tfidf")
    if weighting.norm != "none":
        factors = (weights,) if weighting.norm == "l1" else (weights, weights)
        powers = graph.add("Abs" if weighting.norm == "l1" else "Mul", *factors, name="sizes")
        length = _add_sum(graph, powers, name="lengths")
        length = length if weighting.norm == "l1" else graph.add("Sqrt", length, name="euclidean")
        length = graph.with_constant("Max", length, np.finfo(np.float64).tiny, name="nonzero")
        weights = graph.add("Div", weights, length, name="normalized")
    scorer = model.scorer
    matrix: NDArray[np.float64] = np.ascontiguousarray(scorer.weights().T)
    products = graph.with_constant("MatMul", weights, matrix, name="evidence")
    label, probabilities = _add_predictions(
        graph, model, graph.with_constant("Add", products, scorer.bias[None, :], name="scores"), known
    )
    onnx_graph = helper.make_graph(
        graph.nodes,
        "nbtext",
        [helper.make_tensor_value_info("features", TensorProto.STRING, ["documents", "longest"])],
        [
            helper.make_tensor_value_info(label, TensorProto.STRING, ["documents"]),
            helper.make_tensor_value_info(probabilities, TensorProto.DOUBLE, ["documents", len(model.labels)]),
        ],
        graph.constants,
    )
    onnx_model = helper.make_model(
        onnx_graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="nbtext"
    )
    onnx_model.doc_string = DOCUMENTATION
    helper.set_model_props(onnx_model, {"labels": json.dumps(model.labels)})
    yield onnx_model.SerializeToString(deterministic=True)


def check_onnx(model: FittedModel) -> None:
    """Raise ModelError if an ONNX file cannot hold the model."""
    features = named_features(model)
    check_dense(model)
    n_bytes = len(features) * (len(model.labels) + 3) * 8 + len(features.blob)
    if n_bytes > MAX_BYTES:
        raise ModelError(f"the model needs {n_bytes:,} bytes, more than an ONNX file can hold", hint="export it as js")
    if "" in features.terms[:1]:  # terms are sorted, so "" comes first
        hint = "train with another --token-pattern, or use --to csv"
        raise ModelError(
            "the vocabulary has an empty word, which ONNX cannot distinguish from the end of a document", hint=hint
        )
    for text in (*features.terms, *model.labels):
        if not text.isascii() and text.encode("utf-8", "replace").decode() != text:
            raise ModelError("ONNX cannot hold a feature or label that is not valid Unicode", hint="export it as js")


def _add_counts(graph: Graph, terms: list[str]) -> tuple[str, str]:
    """Add the counts of the known features, shape (documents, n_features), and their sums, shape (documents, 1)."""
    graph.add(
        "TfIdfVectorizer",
        "features",
        name="float_counts",
        mode="TF",
        min_gram_length=1,
        max_gram_length=1,
        max_skip_count=0,
        ngram_counts=[0],
        ngram_indexes=list(range(len(terms))),
        pool_strings=terms,
    )
    counts = graph.add("Cast", "float_counts", name="counts", to=11)  # double
    return counts, _add_sum(graph, counts, name="known")


def _add_sum(graph: Graph, values: str, *, name: str) -> str:
    axis = graph.constant(np.array([1], dtype=np.int64), f"{name}_axis")
    return graph.add("ReduceSum", values, axis, name=name, keepdims=1)


def _term_frequencies(graph: Graph, weighting: Weighting, counts: str, known: str) -> str:
    """Return the term frequency of each count: the formula of max(count, 1), times the binary count."""
    if weighting.tf == "count":
        return counts
    numbers = itertools.count(1)
    operations: dict[str, Callable[..., str]] = {
        name: lambda *values, operator=operator: graph.add(operator, *values, name=f"tf_{next(numbers)}")
        for name, operator in OPERATORS.items()
    }
    variables = {
        "count": graph.with_constant("Max", counts, 1.0, name="count_or_one"),
        "length": graph.with_constant("Max", known, 1.0, name="known_or_one"),
    }
    for name, value in weighting.parameters.items():
        variables[name] = graph.constant(np.float64(value), name)
    weights = evaluate(
        weighting.term_frequency.formula,
        variables,
        operations,
        lambda number: graph.constant(np.float64(number), f"tf_{next(numbers)}"),
    )
    return graph.add("Mul", weights, graph.with_constant("Min", counts, 1.0, name="binary"), name="frequencies")


def _add_predictions(graph: Graph, model: FittedModel, scores: str, known: str) -> tuple[str, str]:
    """Add the predicted labels, shape (documents,), and the probabilities, shape (documents, n_labels)."""
    parameters = probability_parameters(model)
    length = graph.with_constant("Max", known, 1.0, name="length")
    power = graph.with_constant("Pow", length, parameters["b"], name="power")
    temperature = graph.with_constant("Mul", power, parameters["a"], name="temperature")
    scaled = graph.add("Div", scores, temperature, name="scaled_scores")
    logs = graph.add("LogSoftmax", scaled, name="log_softmax", axis=1)
    if (noise := parameters["noise"]) > 0:
        softmax = graph.add("Exp", logs, name="softmax")
        signal = graph.with_constant("Mul", softmax, 1 - noise, name="without_noise")
        mixture = graph.with_constant("Add", signal, noise / len(model.labels), name="mixture")
        logs = graph.add("Log", mixture, name="log_mixture")
    if parameters["prior_adjustment"] is not None:
        adjusted = graph.with_constant("Add", logs, parameters["prior_adjustment"], name="adjusted")
        logs = graph.add("LogSoftmax", adjusted, name="log_adjusted", axis=1)
    is_known = graph.with_constant("Greater", known, 0.0, name="is_known")
    prior = graph.constant(np.array([parameters["prior"]]), "prior")
    calibrated = graph.add("Exp", logs, name="calibrated")
    probabilities = graph.add("Where", is_known, calibrated, prior, name="probabilities")
    decision_scores = logs
    if parameters["shift"] is not None:
        decision_scores = graph.with_constant("Add", logs, parameters["shift"], name="decision_scores")
    best = graph.add("ArgMax", decision_scores, name="best", axis=1, keepdims=0)
    chosen = graph.add("Gather", graph.constant(list(model.labels), "labels"), best, name="chosen")
    is_answered = graph.add("Reshape", is_known, graph.constant(np.array([-1]), "rows"), name="is_answered")
    return graph.add("Where", is_answered, chosen, graph.constant([""], "none"), name="label"), probabilities


ONNX = Exporter(
    "onnx", (".onnx",), "A graph whose input is the features of a document as strings, and whose outputs are label and "
    "probabilities. It does not extract features from text; its doc_string describes them. Needs the extra "
    "nbtext[onnx].", check_onnx, onnx_graph,
)  # fmt: skip
