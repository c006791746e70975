"""Text to counts: by the compiled kernel if it supports the features, otherwise in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import permutations
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nbtext.features import plain
from nbtext.features.analyzer import ACCENTS, MARKS_PATTERN, Analyzer, has_marks, has_own_pattern
from nbtext.features.csr import SparseWeights
from nbtext.features.document_counts import ClassCounts, DocumentCounts
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.kernel import HAS_KERNEL, WHY_PLAIN, choose_version, warn_if_missing

Floats = NDArray[np.float64]

merge_sorted = choose_version(plain.merge_sorted)
score_rows = choose_version(plain.score_rows)

_logging = Lock()  # so that only one of several threads logs the message


class Counter(Protocol):
    """Counts the features of documents over a vocabulary that grows, a fixed one, or hashed columns.

    Documents are given as columns: the texts of each field, or those of all fields together. Several threads may call
    `rows` and `scores` of a fixed or hashed counter at once. A growing counter, and `count`, need one thread.
    """

    def rows(self, columns: Sequence[Sequence[str]]) -> DocumentCounts:
        """Count each document's features.

        A fixed or hashed counter returns final columns, ascending within a row; features outside the vocabulary are
        in n_tokens only. A growing one returns provisional columns, which
        `DocumentCounts.arrange` replaces.
        """

    def count(
        self,
        columns: Sequence[Sequence[str]],
        classes: NDArray[np.int32],
        keep_below: int,
        groups: NDArray[np.object_] | None = None,
    ) -> DocumentCounts:
        """Add each document's counts to its class; return the documents with a hash below a bound, with their groups.

        For a growing or hashed counter. Documents of class -1 are skipped. The hash depends
        on the document's features and counts only. `DocumentCounts.arrange` gives them their final
        columns.

        keep_below  from 0 (none) to 2**64 (all)
        """

    def vocabulary(self) -> tuple[Vocabulary, NDArray[np.int32]]:
        """Return the features so far, sorted, and the final column of each provisional one (-1 if it is removed).

        Hashed features have no names: their vocabulary is empty, and their columns are final.
        """

    def class_counts(self) -> ClassCounts:
        """Return the sums of `count`, by final column."""

    def take_too_long(self) -> int:
        """Return the number of tokens ignored since the last call because they are too long; see Analyzer."""

    def scores(
        self, columns: Sequence[Sequence[str]], weighting: Weighting, scorer: SparseWeights
    ) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
        """Weight and score each document, for a fixed or hashed counter and a compiled weighting.

        returns  scores (n_documents, n_classes); tokens of each document; known tokens of each document
        """


def counter(settings: FeatureSettings, vocabulary: Vocabulary | None = None) -> Counter:
    """Return a counter for these settings; its vocabulary grows if none is given and features are not hashed.

    raises  SettingsError, MissingExtra: see Analyzer
    """
    if not HAS_KERNEL or not is_compilable(settings):
        warn_if_missing()
        with _logging:
            _log_plain(settings)
        return plain.PlainCounter(settings, vocabulary)
    from nbtext._kernel import Counter as CompiledCounter

    normalizer = Analyzer(settings).normalizer
    compiled: Counter = CompiledCounter(
        analyzer=settings.analyzer,
        marks=has_marks(settings),
        ngrams=settings.ngrams,
        lowercase=settings.lowercase,
        fields=settings.fields,
        normalize=normalizer.normalize if normalizer is not None else None,
        strip_accents=ACCENTS[settings.strip_accents],
        hash_bits=settings.hash_bits,
        vocabulary=vocabulary,
    )
    return compiled


def is_compilable(settings: FeatureSettings) -> bool:
    """Return whether the kernel can count these features: its own tokens, and no field prefix that begins another."""
    prefixes = [f"{name}:" for name in settings.fields]
    if has_marks(settings) and (settings.stop_words or settings.stem is not None):
        return False  # a normal form may be a colon or a control character
    return not has_own_pattern(settings) and not any(one.startswith(other) for one, other in permutations(prefixes, 2))


@cache
def _log_plain(settings: FeatureSettings) -> None:
    """Log once for each settings record why plain Python counts."""
    from logging import getLogger

    if not HAS_KERNEL:
        why = f"the compiled kernel is {WHY_PLAIN}"
    elif has_own_pattern(settings):
        why = f"the kernel supports the default --token-pattern and {MARKS_PATTERN} only"
    elif has_marks(settings):
        why = f"the kernel supports --token-pattern {MARKS_PATTERN} only without stop words and stems"
    else:
        why = "the kernel needs --text-field names of which none begins another"
    getLogger("nbtext").info("counting in plain Python, which is slower: %s", why)
