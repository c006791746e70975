"""Vectorizer: texts to a sparse matrix, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.arrays import Integers32
from nbtext.errors import InputError, ModelError, number_of
from nbtext.features.counting import ClassCounter, Counter, counter
from nbtext.features.csr import find_places
from nbtext.features.document_table import DocumentTable, concatenate
from nbtext.features.selection import is_selective, select_columns
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.settings import convert_parameters

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Documents = Iterable[str] | Iterable[Sequence[str]]
TEXTS_COUNTED_AT_ONCE = 1024  # texts that are counted together


class Vectorizer:
    """Fits the features to a corpus, and transforms documents to a sparse matrix.

    Documents are texts, or tuples of texts if `fields` names their parts. A scikit-learn
    transformer; the settings' fields are its parameters.

    settings    the analyzer, the selection and the weighting; `options` replace single fields of it
    features_   Vocabulary after fit: the feature of each column; None if features are hashed
    weighting_  Weighting after fit
    n_too_long_  tokens ignored because they are too long

    >>> vectorizer = Vectorizer(min_df=2)
    >>> vectorizer.fit_transform(["call me", "call now", "me too"]).toarray()
    array([[1, 1],
           [1, 0],
           [0, 1]], dtype=int32)
    >>> list(vectorizer.get_feature_names_out())
    ['call', 'me']
    """

    features_: Vocabulary | None
    weighting_: Weighting
    n_too_long_: int

    def __init__(self, settings: FeatureSettings | None = None, **options: Any) -> None:
        self.settings = replace(
            settings or FeatureSettings(), **convert_parameters(FeatureSettings, options)
        )
        self._counter: Counter | None = None  # over the fitted features

    def fit(self, raw_documents: Documents, y: Sequence[Any] | None = None) -> Vectorizer:
        """Fit features and weighting to documents; see `fit_transform`."""
        self.fit_transform(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Documents, y: Sequence[Any] | None = None) -> csr_array:
        """Fit features and weighting to documents, and return their matrix.

        y        the labels, which only `select` uses
        returns  (n_documents, n_features), int32 for counts and ones, else float64; indices sorted
                 within a row
        raises   InputError: there is no document, one is not text, or labels are missing;
                 ModelError: there is no feature; SettingsError
        """
        self.settings.check_hash_bits()
        features = self._given_vocabulary()
        counting = counter(self.settings, features)
        rows = _count_documents(counting, raw_documents)
        self.n_too_long_ = counting.take_too_long()
        if len(rows) == 0:
            raise InputError("no documents to train on")
        classes = self._classes(y, len(rows))
        if self.settings.hash_bits is None:
            features, rows = self._select_features(rows, classes, *counting.vocabulary())
        self.weighting_ = Weighting.fitted(
            self.settings,
            features,
            np.bincount(rows.indices, minlength=self._n_columns(features)),
            n_documents=len(rows),
        )
        self.features_ = features
        self._counter = None
        return self._matrix(rows)

    def transform(self, raw_documents: Documents) -> csr_array:
        """Return the matrix of documents over the fitted features.

        Hashed features, and a given vocabulary, need no fit unless there is an idf.

        raises  ModelError: the vectorizer is not fitted; InputError: a document is not text
        """
        self._require_fit()
        if self._counter is None:
            self._counter = counter(self.settings, self.features_)
        return self._matrix(_count_documents(self._counter, raw_documents))

    @property
    def n_features(self) -> int:
        """The number of columns."""
        self._require_fit()
        return self._n_columns(self.features_)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each feature."""
        return self._named_features().columns

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features, in the order of the columns; ModelError if they are
        hashed.
        """
        return np.array(self._named_features().terms, object)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name."""
        return {field.name: getattr(self.settings, field.name) for field in fields(self.settings)}

    def set_params(self, **options: Any) -> Vectorizer:
        """Change options; the vectorizer should be fitted again."""
        self.settings = replace(self.settings, **convert_parameters(FeatureSettings, options))
        self._counter = None
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_counter": None}  # a counter cannot be pickled

    def _given_vocabulary(self) -> Vocabulary | None:
        terms = self.settings.vocabulary
        return Vocabulary.from_terms(terms) if terms is not None else None

    def _n_columns(self, features: Vocabulary | None) -> int:
        return len(features) if features is not None else 1 << (self.settings.hash_bits or 0)

    def _named_features(self) -> Vocabulary:
        self._require_fit()
        if self.features_ is None:
            raise ModelError("hashed features have no names")
        return self.features_

    def _require_fit(self) -> None:
        if hasattr(self, "weighting_"):
            return
        is_fixed = self.settings.vocabulary is not None or self.settings.hash_bits is not None
        if not is_fixed or any(each.idf != "none" for each in self.settings.of_views):
            raise ModelError("the vectorizer is not fitted", hint="call fit first")
        self.features_ = self._given_vocabulary()
        none = np.zeros(len(self.features_ or ()), np.int64)
        self.weighting_ = Weighting.fitted(self.settings, self.features_, none, n_documents=0)

    def _classes(self, y: Sequence[Any] | None, n_documents: int) -> Integers32:
        """Return the class of each document; 0 for all of them if no feature is selected by
        class.
        """
        if self.settings.select is None:
            return np.zeros(n_documents, np.int32)
        if y is None:
            raise InputError("select needs the label of each document", hint="give y")
        labels = list(y)
        if len(labels) != n_documents:
            raise InputError(
                f"{number_of(len(labels), 'label')} for {number_of(n_documents, 'document')}"
            )
        return np.unique(np.array(labels), return_inverse=True)[1].astype(np.int32)

    def _select_features(
        self,
        rows: DocumentTable,
        classes: Integers32,
        vocabulary: Vocabulary,
        rank: Integers32,
    ) -> tuple[Vocabulary, DocumentTable]:
        """Return the selected features, and the rows in their columns."""
        if len(vocabulary) and not is_selective(self.settings):
            return vocabulary, rows.arrange(rank)
        counter = ClassCounter()
        counter.add(rows, classes)
        counts = counter.class_counts(len(vocabulary), rank)
        columns = select_columns(counts, np.bincount(classes).astype(np.int64), self.settings)
        places = find_places(columns, len(vocabulary))
        return vocabulary.restrict(columns), rows.arrange(np.where(rank < 0, rank, places[rank]))

    def _matrix(self, rows: DocumentTable) -> csr_array:
        weights = self.weighting_.weights(rows.indptr, rows.indices, rows.counts)
        matrix = replace(rows, counts=weights).matrix(self.n_features)
        # sorted, and each column once, so that SciPy need not check it
        matrix.has_canonical_format = True
        return matrix


def _count_documents(counting: Counter, raw_documents: Documents) -> DocumentTable:
    """Return the rows of all documents."""
    if isinstance(raw_documents, str | bytes):
        raise InputError("expected a list of texts, found one text")
    parts: list[DocumentTable] = []
    documents = map(_texts, raw_documents)
    while texts := list(islice(documents, TEXTS_COUNTED_AT_ONCE)):
        parts.append(counting.rows([list(column) for column in zip(*texts, strict=True)]))
    return concatenate(parts)


def _texts(document: object) -> Sequence[str]:
    """Return the texts of a document, which is one text or a tuple of fields."""
    texts = (document,) if isinstance(document, str) else document
    if not isinstance(texts, tuple | list) or not all(isinstance(text, str) for text in texts):
        raise InputError(
            f"a document is {type(document).__name__}, not text", hint="decode or convert it before"
        )
    return texts
