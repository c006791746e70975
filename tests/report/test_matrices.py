"""Matrices in the forms of other programs are read back by them."""

import io

import numpy as np
import pytest
from scipy.io import mmread
from sklearn.datasets import load_svmlight_file

from nbtext.features.document_table import DocumentTable
from nbtext.features.matrix import Columns, Matrix, write_matrix
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting

DENSE = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]])


def matrix_of(dtype: type) -> Matrix:
    names = Vocabulary.from_terms(["a", "b", "c"])
    values = DENSE[DENSE > 0].astype(dtype) * (1 if dtype is np.int32 else dtype(1 / 3))
    indptr = np.array([0, 2, 2, 3])
    indices = np.array([0, 2, 1], dtype=np.int32)
    columns = Columns(FeatureSettings(), names, Weighting())
    labels = ["spam", None, "ham"]
    rows = DocumentTable.from_texts(indptr, indices, values, np.zeros(3, dtype=np.int64))
    return Matrix(rows, names, 3, ["x", "y", "z"], labels, columns)


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_read_by_others(dtype: type) -> None:
    """scikit-learn reads the same numbers to the last bit; labels are places in sorted order, -1 is
    none. SciPy reads the same numbers.
    """
    matrix = matrix_of(dtype)
    expected = matrix.csr().toarray()
    svmlight = io.BytesIO()
    market = io.BytesIO()
    write_matrix(matrix, svmlight, output_format="svmlight")
    write_matrix(matrix, market, output_format="mtx")
    svmlight.seek(0)
    market.seek(0)
    found, labels = load_svmlight_file(svmlight, n_features=3)
    np.testing.assert_array_equal(found.toarray(), expected)
    assert labels.tolist() == [1, -1, 0]
    np.testing.assert_allclose(mmread(market, spmatrix=False).toarray(), expected, rtol=1e-15)
