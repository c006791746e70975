"""A table of 50 numbers for each word of the training texts of a corpus, from these texts without
their labels, by latent semantic analysis.

    python tests/benchmarks/latent_table.py CORPUS TABLE.npz
"""

import sys

import numpy as np
from material import SPLITS
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer


def main() -> None:
    corpus, path = sys.argv[1:]
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    weights = vectorizer.fit_transform(SPLITS[corpus]().training.texts)
    found = TruncatedSVD(50, random_state=0).fit(weights)
    vectors = found.components_.T * found.singular_values_
    frequent = np.argsort(-weights.getnnz(axis=0), kind="stable")  # the most frequent words first
    words = vectorizer.get_feature_names_out()[frequent].astype(str)
    np.savez(path, words=words, vectors=vectors[frequent].astype("f4"))


if __name__ == "__main__":
    main()
