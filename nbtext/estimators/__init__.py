"""Estimators over matrices with the interface of scikit-learn, which is not imported.

>>> import numpy as np
>>> from nbtext.estimators import ComplementNB
>>> X, y = np.array([[2, 0, 1], [0, 3, 1], [1, 0, 0], [0, 1, 2]]), ["round", "long", "round", "long"]
>>> ComplementNB(smoothing=1).fit(X, y).predict([[1, 0, 0]]).tolist()
['round']
"""

from nbtext.estimators.models import (
    NBSVM,
    SVM,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    LogisticRegression,
    MultinomialNB,
    make_estimator,
)

__all__ = [
    "NBSVM",
    "SVM",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "LogisticRegression",
    "MultinomialNB",
    "make_estimator",
]
