"""Weighting: term frequency, inverse document frequency and norm."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from nbtext.features.formulas import INVERSE_DOCUMENT_FREQUENCIES, NORMS, TERM_FREQUENCIES
from nbtext.features.settings import FeatureSettings, parse_weighting
from nbtext.features.weighting import Weighting

CASES = json.loads((Path(__file__).parent / "cases" / "weighting.json").read_text("utf-8"))
COUNTS = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.int32, shape, elements=st.sampled_from([0, 0, 1, 2, 7]))
)


def value_of(formula: str) -> float:
    # the arithmetic of our own case table
    return float(eval(formula, {"log": math.log, "sqrt": math.sqrt}))


def fitted(counts: np.ndarray, **options: str) -> Weighting:
    frequencies = (counts > 0).sum(axis=0)
    return Weighting.fitted(FeatureSettings(**options), None, frequencies, n_documents=len(counts))


def weighed(weighting: Weighting, counts: csr_array) -> csr_array:
    weights = weighting.weights(counts.indptr, counts.indices, counts.data)
    return csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)


def test_names() -> None:
    """A scheme, or TF:IDF:NORM, whose parts may be left out; a view is named in one way."""
    assert parse_weighting("log::l2") == parse_weighting("log-l2") == ("log", "none", "l2")
    assert parse_weighting(":smooth") == ("count", "smooth", "none")
    views = FeatureSettings(view=("word:1:log::l2", "char:1::plain"))
    assert views.view == ("char:1:count:plain:none", "word:1:log-l2")
    assert [(each.tf, each.idf) for each in views.of_views] == [("count", "plain"), ("log", "none")]
    for wrong in ("", "log:smoth", "count:none:none:l2"):
        with pytest.raises(ValueError, match="is not a scheme"):
            parse_weighting(wrong)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_weights_are_those_of_the_table(case: dict[str, Any]) -> None:
    """Each case by its arithmetic."""
    counts = np.array(case["input"], dtype=np.int32)
    weighting = fitted(counts, **case["options"])
    expected = [[value_of(formula) for formula in row] for row in case["expected"]]
    np.testing.assert_allclose(
        weighed(weighting, csr_array(counts)).toarray(), expected, rtol=1e-14, atol=1e-15
    )
    if "idf" in case:
        np.testing.assert_allclose(
            weighting.idf, [value_of(formula) for formula in case["idf"]], rtol=1e-14
        )


@given(
    counts=COUNTS,
    tf=st.sampled_from(list(TERM_FREQUENCIES)),
    idf=st.sampled_from(list(INVERSE_DOCUMENT_FREQUENCIES)),
    norm=st.sampled_from(NORMS),
)
def test_weights_are_finite_and_keep_their_places(
    counts: np.ndarray, tf: str, idf: str, norm: str
) -> None:
    """Every combination gives finite float64 weights, or whole int32 ones, where the counts
    were.
    """
    weighting = fitted(counts, tf=tf, idf=idf, norm=norm)
    matrix = csr_array(counts)
    weighted = weighed(weighting, matrix)
    assert weighted.indices.tolist() == matrix.indices.tolist()
    assert weighted.indptr.tolist() == matrix.indptr.tolist()
    assert np.isfinite(weighted.data).all()
    assert weighted.dtype == (np.int32 if weighting.is_counting else np.float64)
    assert weighting.is_counting == FeatureSettings(tf=tf, idf=idf, norm=norm).is_counting


@given(counts=COUNTS, tf=st.sampled_from(list(TERM_FREQUENCIES)), norm=st.sampled_from(NORMS))
def test_a_document_weighs_the_same_alone_and_in_a_batch(
    counts: np.ndarray, tf: str, norm: str
) -> None:
    """To the last bit."""
    weighting = fitted(counts, tf=tf, idf="smooth", norm=norm)
    together = weighed(weighting, csr_array(counts)).toarray()
    alone = [weighed(weighting, csr_array(counts[[i]])).toarray()[0] for i in range(len(counts))]
    assert together.tolist() == np.array(alone).tolist()


def test_the_counts_stay_as_they_were() -> None:
    """Weights are new numbers."""
    counts = csr_array(np.array([[2, 1], [3, 0]], dtype=np.int32))
    weighed(fitted(counts.toarray(), tf="log", idf="smooth", norm="l2"), counts)
    assert counts.data.tolist() == [2, 1, 3]


@given(counts=COUNTS)
def test_the_mean_row_sum_is_the_information_about_the_document(counts: np.ndarray) -> None:
    """For any corpus: the mean over documents of Σ_t P(t|d) (I(d) - I(d|t)), I(d) = ln N and I(d|t)
    = ln df(t).

    Source: Straka, NPFL129, lecture 8, TF-IDF as Mutual Information. A document without any term
    tells nothing.
    """
    frequencies = (counts > 0).sum(axis=0)
    totals = counts.sum(axis=1)
    information = 0.0
    for document, total in zip(counts, totals, strict=True):
        for count, frequency in zip(document, frequencies, strict=True):
            if count:
                information += (
                    count / total * (math.log(len(counts)) - math.log(frequency)) / len(counts)
                )
    weights = weighed(fitted(counts, tf="relative", idf="plain"), csr_array(counts))
    assert weights.sum(axis=1).mean() == pytest.approx(information, rel=1e-12, abs=1e-13)
