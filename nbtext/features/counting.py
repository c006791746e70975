"""Text to counts: by the compiled kernel where it can count the features, else in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import permutations
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nbtext.features import plain
from nbtext.features.analyzer import ACCENTS, Analyzer, has_own_pattern
from nbtext.features.kernel import HAS_KERNEL, choose_version
from nbtext.features.rows import ClassCounts, Kept, Rows
from nbtext.features.settings import FeatureSettings
from nbtext.features.sparse_weights import SparseWeights
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting

Floats = NDArray[np.float64]

arrange = choose_version(plain.arrange, "nbtext.features._rows")
merge_sorted = choose_version(plain.merge_sorted, "nbtext.features._rows")
score_rows = choose_version(plain.score_rows, "nbtext.features._rows")

_logging = Lock()  # so that only one of several threads logs the message


class Counter(Protocol):
    """Counts the features of documents over a vocabulary that grows, is fixed, or is hashed away.

    Documents come as columns: the texts of a field each, or of all fields together. A fixed or hashed counter may
    be asked for rows and scores by several threads at once; a growing one, and every tally, belongs to one thread.
    """

    def rows(self, columns: Sequence[list[str]]) -> Rows:
        """Count each document's features.

        A fixed or hashed counter gives final columns, ascending within a row; features outside the vocabulary are
        in n_tokens only. A growing one gives provisional columns, for `arrange` to sort out.
        """

    def tally(self, columns: Sequence[list[str]], classes: NDArray[np.int32], keep_below: int) -> Kept:
        """Add each document's counts to its class; give back the rows of those whose hash is below a bound.

        For a growing or hashed counter. A document of class -1 is passed over, its words with it. The hash depends
        on the document's features and counts and on nothing else. The kept rows are for `arrange`, as above.

        keep_below  from 0, which keeps none, to 2**64, which keeps all
        """

    def vocabulary(self) -> tuple[Vocabulary, NDArray[np.int32]]:
        """The features so far, sorted, and the final column of each provisional one (-1 where it is no feature).

        Hashed features have no names: there the vocabulary is empty, and each column final already.
        """

    def class_counts(self) -> ClassCounts:
        """What `tally` added up, by final column."""

    def take_too_long(self) -> int:
        """How many tokens were left out since the last time because they were too long; see the Analyzer."""

    def scores(
        self, columns: Sequence[list[str]], weighting: Weighting, scorer: SparseWeights
    ) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
        """Weigh and score each document at once, for a fixed or hashed counter.

        returns  scores (n_documents, n_classes); tokens of each document; those that the vocabulary holds
        """


def counter(settings: FeatureSettings, vocabulary: Vocabulary | None = None) -> Counter:
    """A counter for these settings; its vocabulary grows where none is given and features are not hashed.

    raises  SettingsError, MissingExtra: as for the Analyzer
    """
    if not HAS_KERNEL or not is_compilable(settings):
        with _logging:
            _log_plain(settings)
        return plain.PlainCounter(settings, vocabulary)
    from nbtext.features._counting import Counter as CompiledCounter

    normalizer = Analyzer(settings).normalizer
    return CompiledCounter(
        analyzer=settings.analyzer,
        ngrams=settings.ngrams,
        lowercase=settings.lowercase,
        fields=settings.fields,
        normalize=normalizer.decide if normalizer is not None else None,
        strip_accents=ACCENTS[settings.strip_accents],
        hash_bits=settings.hash_bits,
        vocabulary=vocabulary,
    )


def is_compilable(settings: FeatureSettings) -> bool:
    """Whether the kernel can count these features: default tokens, fields that are easy to tell apart."""
    prefixes = [f"{name}:" for name in settings.fields]
    return not has_own_pattern(settings) and not any(one.startswith(other) for one, other in permutations(prefixes, 2))


@cache
def _log_plain(settings: FeatureSettings) -> None:
    """Say, to whoever listens, that and why the slow way is taken; once."""
    from logging import getLogger

    if not HAS_KERNEL:
        why = "the kernel is not compiled, or switched off by NBTEXT_KERNEL"
    elif has_own_pattern(settings):
        why = "the kernel knows the default --token-pattern only"
    else:
        why = "the kernel cannot tell these --text-field apart"
    getLogger("nbtext").info("counting in plain Python, which is slower: %s", why)
