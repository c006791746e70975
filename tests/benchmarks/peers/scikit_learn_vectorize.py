"""Turn a directory of texts into a sparse matrix file with scikit-learn and SciPy.

python scikit_learn_vectorize.py DIRECTORY MATRIX
"""

import sys

import scipy.sparse
from sklearn.datasets import load_files
from sklearn.feature_extraction.text import CountVectorizer


def main() -> None:
    source, path = sys.argv[1:]
    counts = CountVectorizer(decode_error="replace").fit_transform(load_files(source).data)
    scipy.sparse.save_npz(path, counts, compressed=False)


if __name__ == "__main__":
    main()
