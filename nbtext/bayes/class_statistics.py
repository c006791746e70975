"""Class statistics: the additive counts to which event models are fitted; of documents with one
label, or several.

If documents have several labels, the sum over labels is not the total, because a document counts
for each of its labels, and a document without a label only for the totals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from nbtext.arrays import COUNTS, Array, Floats, Integers, Integers32, Mask
from nbtext.bayes import plain
from nbtext.documents.blocks import cut
from nbtext.documents.fields import WEIGHT_UNIT
from nbtext.errors import ModelError, SettingsError, list_some
from nbtext.features.csr import entries_of, entry_rows, row_sums, run_starts, running_sums
from nbtext.features.document_table import ClassCounts, DocumentTable
from nbtext.features.hashing import mix64
from nbtext.kernel import choose_version
from nbtext.numerics import log
from nbtext.records import Strings, frozen, frozen_object

combine_entries = choose_version(plain.combine_entries)
sum_classes = choose_version(plain.sum_classes)

MAX_COUNTED = 2**62  # occurrences of a corpus, so that no sum of int64 overflows
NEVER_LEARNED = (
    "the model was not trained on some of these documents: their counts exceed those of the model"
)
LEARNED_HINT = "give only documents that the model was trained on, with the same labels"
# of class weights: their ratios and sums are finite
SMALLEST_PRIOR = 1e-100
LARGEST_PRIOR = 1e100
ENTRIES_EXPANDED_AT_ONCE = 1 << 22  # entries that are expanded at once


@frozen
class WeightedPrior:
    """A prior that is proportional to the weighted documents of each class.

    weights  (n_classes,), above 0, how much each document of a class counts
    """

    weights: tuple[float, ...]


Prior = str | tuple[float, ...] | WeightedPrior


@frozen_object
class Totals:
    """The counts of all documents of a corpus, each counted once.

    n_documents  n; if documents weigh less than one, the sum of their weights, a float
    documents    (V,) int64 or float64, documents that have feature j, d_j
    occurrences  (V,) int64 or float64, occurrences of feature j, t_j
    """

    n_documents: Annotated[int | float, COUNTS]
    documents: Annotated[Array, COUNTS]
    occurrences: Annotated[Array, COUNTS]

    def change(self, function: Callable[[Array], Array]) -> Totals:
        """Return the totals with another array in place of both."""
        return Totals(self.n_documents, function(self.documents), function(self.occurrences))


@frozen_object
class ClassStatistics:
    """The counts of a corpus of K classes and V features. They can be added and subtracted.

    They are sparse, sorted by feature: feature j has the entries indptr[j]:indptr[j + 1], one for
    each class that has it, in ascending order of the class. Sums of whole counts are int64 and
    exact; sums of weights (TF-IDF) are float64 and rounded.

    class_documents  (K,) int64, documents of each class, n_k; float64 if documents weigh less than
                     one
    indptr           (V + 1,) int64
    classes          (n_entries,) int32
    documents        (n_entries,) int64 or float64, documents of class k that have feature j, d_kj
    occurrences      (n_entries,) int64 or float64, occurrences (or weights) of feature j in class
                     k, t_kj
    totals           the totals over all documents, if a document can have several classes or none;
                     None: each has one class, and the totals are the sums over the classes
    """

    # the columns on which the weight of the absence of a feature depends
    ABSENCE: ClassVar[Strings] = ("documents",)

    class_documents: Annotated[Array, COUNTS]
    indptr: Integers
    classes: Integers32
    documents: Annotated[Array, COUNTS]
    occurrences: Annotated[Array, COUNTS]
    totals: Totals | None = field(default=None, kw_only=True)

    @property
    def entries(self) -> ClassCounts:
        """The arrays indptr, classes, documents and occurrences."""
        return ClassCounts(self.indptr, self.classes, self.documents, self.occurrences)

    @property
    def n_classes(self) -> int:
        return len(self.class_documents)

    @property
    def n_features(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_documents(self) -> int:
        """The number of documents, n; if documents weigh less than one, the sum of their
        weights.
        """
        number: int = np.sum(
            self.class_documents if self.totals is None else self.totals.n_documents
        ).item()
        return number

    @property
    def n_occurrences(self) -> int:
        """The number of tokens of all documents; of weights, the whole part of their sum."""
        return int((self.occurrences if self.totals is None else self.totals.occurrences).sum())

    @property
    def is_fractional(self) -> bool:
        """Whether counts are sums of probabilities of labels, as those of documents that keywords
        label. Sums of weights of documents are exact.
        """
        return not (are_exact(self.documents) and are_exact(self.class_documents))

    @property
    def entry_features(self) -> Integers:
        """The feature of each entry."""
        return entry_rows(self.indptr)

    def class_sums(self, values: Array) -> Array:
        """Return the sum of the entries' values for each class, shape (K,); it is exact for whole
        numbers.
        """
        if values.dtype.kind == "f":
            return np.bincount(self.classes, values, self.n_classes)
        sums = np.zeros(self.n_classes, values.dtype)
        np.add.at(sums, self.classes, values)
        return sums

    def feature_sums(self, values: Array) -> Array:
        """Return the sum of the entries' values over the classes for each feature, shape (V,)."""
        # differences of cumulative float sums would have rounding errors
        if values.dtype.kind == "f":
            return row_sums(self.indptr, values)
        return np.diff(running_sums(values)[self.indptr])

    @cached_property
    def different_entries(self) -> tuple[Integers, Integers]:
        """One of the entries with equal columns ABSENCE in a class, and how many there are."""
        keys = self.classes.astype(np.uint64)
        for name in self.ABSENCE:
            keys = mix64(keys) ^ getattr(self, name).astype(np.float64).view(np.uint64)
        _, first, numbers = np.unique(mix64(keys), return_index=True, return_counts=True)
        return first, numbers

    @cached_property
    def class_occurrences(self) -> Array:
        """Tokens of each class, T_k: shape (K,)."""
        return self.class_sums(self.occurrences)

    @cached_property
    def knows_documents(self) -> bool:
        """Whether documents were counted; scikit-learn's models count only occurrences."""
        return bool(self.documents.any() or not self.occurrences.any())

    @cached_property
    def document_frequencies(self) -> Integers:
        """The number of documents that have each feature, d_j: shape (V,)."""
        return self.feature_sums(self.documents) if self.totals is None else self.totals.documents

    @cached_property
    def feature_occurrences(self) -> Array:
        """The occurrences of each feature in all documents, t_j: shape (V,)."""
        if self.occurrences is self.documents:
            return self.document_frequencies
        return (
            self.feature_sums(self.occurrences) if self.totals is None else self.totals.occurrences
        )

    @property
    def used_features(self) -> Integers:
        """The features that a document has, ascending."""
        return np.flatnonzero(
            np.diff(self.indptr) if self.totals is None else self.totals.documents
        )

    @property
    def is_within_totals(self) -> bool:
        """Whether no class has more of a feature, or more documents, than all documents
        together.
        """
        lengths = np.diff(self.indptr)
        pairs = (
            (self.documents, self.document_frequencies),
            (self.occurrences, self.feature_occurrences),
        )
        is_within = all(bool((values <= np.repeat(sums, lengths)).all()) for values, sums in pairs)
        return is_within and bool((self.class_documents <= self.n_documents).all())

    def with_totals(self) -> ClassStatistics:
        """Return the same statistics as those of documents that can have several classes."""
        if self.totals is not None:
            return self
        return replace(
            self,
            totals=Totals(self.n_documents, self.document_frequencies, self.feature_occurrences),
        )

    def without_classes(self) -> ClassStatistics:
        """Return the statistics without the counts of each class; those of all documents together
        stay, as totals.
        """
        return replace(
            self,
            indptr=np.zeros(self.n_features + 1, np.int64),
            classes=self.classes[:0],
            documents=self.documents[:0],
            occurrences=self.occurrences[:0],
            totals=self.with_totals().totals,
        )

    @property
    def pooled(self) -> ClassStatistics:
        """The statistics of all documents, as those of one class."""
        used = self.used_features
        indptr = np.searchsorted(used, np.arange(self.n_features + 1))
        documents = self.document_frequencies[used]
        occurrences = self.feature_occurrences[used]
        classes = np.zeros(len(used), np.int32)
        return ClassStatistics(
            np.array([self.n_documents]), indptr, classes, documents, occurrences
        )

    def binarize(self) -> ClassStatistics:
        """Return the statistics of binary counts: each document counts each of its features
        once.
        """
        totals = self.totals and replace(self.totals, occurrences=self.totals.documents)
        return replace(self, occurrences=self.documents, totals=totals)

    def scale(self, factors: Floats) -> ClassStatistics:
        """Return the statistics with occurrences multiplied by a factor for each feature, shape
        (V,).
        """
        totals = self.totals and replace(self.totals, occurrences=self.totals.occurrences * factors)
        return replace(
            self,
            occurrences=self.occurrences * np.repeat(factors, np.diff(self.indptr)),
            totals=totals,
        )

    def restrict(self, columns: Integers) -> ClassStatistics:
        """Return the statistics of these features only; `columns` is ascending."""
        return self._select(columns, *entries_of(self.indptr, columns))

    def _select(self, columns: Any, indptr: Integers, entries: Any) -> ClassStatistics:
        """Return the statistics of the features and entries that `columns` and `entries` (numbers
        or slices) select.
        """
        documents = self.documents[entries]
        return ClassStatistics(
            self.class_documents,
            indptr,
            self.classes[entries],
            documents,
            documents if self.occurrences is self.documents else self.occurrences[entries],
            totals=self.totals and self.totals.change(lambda counts: counts[columns]),
        )

    def slice(self, start: int, stop: int | None) -> ClassStatistics:
        """Return the statistics of the features from `start` up to `stop` (None: all further ones),
        without a copy.

        They are made once, so that their sums over the classes, which are cached, are computed
        once.
        """
        if (start, stop) == (0, None):
            return self
        if (start, stop) not in self._slices:
            indptr = self.indptr[start : None if stop is None else stop + 1]
            entries = slice(indptr[0], indptr[-1])
            found = self._select(slice(start, stop), indptr - indptr[0], entries)
            self._slices[start, stop] = found
        return self._slices[start, stop]

    @cached_property
    def _slices(self) -> dict[tuple[int, int | None], ClassStatistics]:
        return {}

    def align(
        self,
        columns: Array,
        n_features: int,
        *,
        classes: Array | None = None,
        n_classes: int | None = None,
    ) -> ClassStatistics:
        """Return the same counts over more features and classes.

        columns  (V,), the new column of each feature, ascending
        classes  (K,), the new number of each class, ascending; None: the classes stay, and so does
                 their number
        """
        n_classes = n_classes or self.n_classes
        classes = np.arange(n_classes) if classes is None else classes
        lengths = np.zeros(n_features, np.int64)
        lengths[columns] = np.diff(self.indptr)
        class_documents = np.zeros(n_classes, self.class_documents.dtype)
        class_documents[classes] = self.class_documents

        def spread(counts: Array) -> Array:
            found = np.zeros(n_features, counts.dtype)
            found[columns] = counts
            return found

        return ClassStatistics(
            class_documents,
            running_sums(lengths),
            self.classes if len(classes) == n_classes else classes.astype(np.int32)[self.classes],
            self.documents,
            self.occurrences,
            totals=self.totals and self.totals.change(spread),
        )

    def locate(self, documents: DocumentTable) -> Integers:
        """Return, for each entry of documents of this corpus, the entry of its feature and class in
        the statistics.
        """
        return documents.locate(self.indptr, self.classes)

    def may_hold(self, documents: DocumentTable) -> Mask:
        """Return whether each document, together with its copies, may be in this corpus,
        (n_documents,).
        """
        own = np.stack((documents.hashes.view(np.int64), documents.classes))
        _, groups = np.unique(own, axis=1, return_inverse=True)
        groups = groups.reshape(-1)
        copies = np.bincount(groups, documents.multiplicities)[groups]
        of_entries = copies[documents.entry_documents]
        keys = (
            documents.indices.astype(np.int64) * self.n_classes
            + documents.classes[documents.entry_documents]
        )
        known = np.append(self.entry_features * self.n_classes + self.classes, -1)
        places = np.searchsorted(known[:-1], keys)
        is_held = known[places] == keys
        occurrences = (documents.counts * of_entries)[is_held]
        is_held[is_held] = self.occurrences[places[is_held]] >= occurrences
        n_missing = np.bincount(documents.entry_documents[~is_held], minlength=len(documents))
        return np.asarray((n_missing == 0) & (self.class_documents[documents.classes] >= copies))

    def __add__(self, other: ClassStatistics) -> ClassStatistics:
        """Return the statistics of both corpora, which have the same features and classes."""
        return _combine(self, other, sign=1)

    def __sub__(self, other: ClassStatistics) -> ClassStatistics:
        """Return the statistics without a part of the corpus; ModelError if the part was never
        counted.
        """
        return _combine(self, other, sign=-1)


def count_classes(documents: DocumentTable, n_features: int, n_classes: int) -> ClassStatistics:
    """Count documents by class."""
    counts = documents.counts.astype(np.int32 if documents.is_counted else np.float64, copy=False)

    def sum_entries(values: Array) -> Any:
        return sum_classes(
            documents.indptr, documents.indices, values, documents.classes, n_features, n_classes
        )

    class_documents = documents.count_by_class(n_classes)
    if documents.weights is None:
        return ClassStatistics(class_documents, *sum_entries(counts))
    # sums of float64 are exact: each is a whole number of 1 / WEIGHT_UNIT
    weights = (documents.weights / WEIGHT_UNIT)[documents.entry_documents]
    indptr, classes, _, frequencies = sum_entries(weights)
    *_, occurrences = sum_entries(counts.astype(np.float64) * weights)
    return settle(ClassStatistics(class_documents, indptr, classes, frequencies, occurrences))


def weigh_classes(
    counts: ClassStatistics, weights: Integers, classes: Integers32, n_classes: int
) -> ClassStatistics:
    """Return the statistics of fewer classes from those of documents of equal weight and class.

    weights  (K,), how often each document of a class of `counts` counts, in units of
             1 / WEIGHT_UNIT
    classes  (K,), the new number of each class, ascending
    """
    own = weights[counts.classes]
    weighed = replace(
        counts,
        class_documents=counts.class_documents * weights,
        documents=counts.documents * own,
        occurrences=counts.occurrences * own,
    )
    together = sum_over_sets(weighed, LabelSets(np.arange(len(weights) + 1), classes), n_classes)
    return settle(
        replace(
            together,
            class_documents=together.class_documents / WEIGHT_UNIT,
            documents=together.documents / WEIGHT_UNIT,
            occurrences=together.occurrences / WEIGHT_UNIT,
            totals=None,
        )
    )


def are_exact(counts: Array) -> bool:
    """Return whether counts are whole numbers of 1 / WEIGHT_UNIT, so that sums are exact."""
    if counts.dtype.kind == "i":
        return True
    units = counts * WEIGHT_UNIT
    return bool((units == np.rint(units)).all())


def settle(statistics: ClassStatistics) -> ClassStatistics:
    """Return statistics of float64 as int64 if all of them are whole numbers."""
    totals = statistics.totals
    parts = [statistics.class_documents, statistics.documents, statistics.occurrences]
    if totals is not None:
        parts += [np.asarray(totals.n_documents), totals.documents, totals.occurrences]
    is_weighed = any(part.dtype.kind == "f" for part in (*parts[:2], *parts[3:4]))
    if not is_weighed or any((part != np.rint(part)).any() for part in parts):
        return statistics
    whole = [part.astype(np.int64) for part in parts]
    if totals is not None:
        totals = Totals(whole[3].item(), whole[4], whole[5])
    return ClassStatistics(
        whole[0], statistics.indptr, statistics.classes, whole[1], whole[2], totals=totals
    )


@frozen_object
class LabelSets:
    """Sets of labels in compressed sparse rows.

    indptr   (n_sets + 1,) int64
    classes  (n_entries,) int32, the classes of each set, ascending
    """

    indptr: Integers
    classes: Integers32

    @classmethod
    def of(cls, sets: Sequence[Sequence[str]], labels: Sequence[str]) -> LabelSets:
        """Return sets of labels as sets of their positions in `labels`.

        sets    each with its labels in sorted order
        labels  sorted
        """
        places = {label: k for k, label in enumerate(labels)}
        indptr = running_sums(np.array([len(each) for each in sets], np.int64))
        return cls(indptr, np.array([places[label] for each in sets for label in each], np.int32))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def take(self, numbers: Array) -> LabelSets:
        """Return the sets with these numbers, in this order."""
        indptr, entries = entries_of(self.indptr, numbers)
        return LabelSets(indptr, self.classes[entries])

    @property
    def entry_sets(self) -> Integers:
        """The set of each entry."""
        return entry_rows(self.indptr)


def count_label_sets(
    documents: DocumentTable, sets: LabelSets, *, n_features: int, n_labels: int
) -> ClassStatistics:
    """Count documents by label; the class of a document is the number of its set."""
    return sum_over_sets(count_classes(documents, n_features, len(sets)), sets, n_labels)


def sum_over_sets(counts: ClassStatistics, sets: LabelSets, n_labels: int) -> ClassStatistics:
    """Return the statistics by label, with totals, from statistics whose classes are sets of
    labels.
    """
    class_documents = np.zeros(n_labels, counts.class_documents.dtype)
    np.add.at(class_documents, sets.classes, counts.class_documents[sets.entry_sets])
    widths = running_sums(np.diff(sets.indptr)[counts.classes])[counts.indptr[1:]]
    bounds = cut(widths, counts.n_features, ENTRIES_EXPANDED_AT_ONCE)
    parts = [_sum_features(counts, sets, n_labels, *each) for each in (*bounds, (0, 0))]
    lengths, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return ClassStatistics(
        class_documents, running_sums(lengths), *columns, totals=counts.with_totals().totals
    )


def _sum_features(
    counts: ClassStatistics, sets: LabelSets, n_labels: int, start: int, stop: int
) -> tuple[Integers, Integers32, Array, Array]:
    """Return, for the features from `start` up to `stop`, the number of entries, and the columns of
    the entries.
    """
    entries = slice(counts.indptr[start], counts.indptr[stop])
    features = entry_rows(counts.indptr[start : stop + 1])
    bounds, members = entries_of(sets.indptr, counts.classes[entries])
    sizes = np.diff(bounds)
    keys = np.repeat(features * n_labels, sizes) + sets.classes[members]
    order = np.argsort(keys)  # sums of whole numbers do not depend on the order
    keys = keys[order]
    starts = run_starts(keys)
    owners = np.repeat(np.arange(len(sizes)), sizes)[order]
    columns = [
        np.add.reduceat(values[entries][owners], starts) if len(starts) else values[:0]
        for values in (counts.documents, counts.occurrences)
    ]
    places, classes = np.divmod(keys[starts], max(1, n_labels))
    return (
        np.bincount(places, minlength=stop - start),
        classes.astype(np.int32),
        columns[0],
        columns[1],
    )


def _combine(a: ClassStatistics, b: ClassStatistics, *, sign: int) -> ClassStatistics:
    """Return a + sign × b, entry by entry, without entries that become 0."""
    if (a.n_features, a.n_classes) != (b.n_features, b.n_classes):
        raise ValueError("the statistics have different features or classes; call align first")
    if sign > 0 and _total(a) + _total(b) > MAX_COUNTED:
        raise ModelError(
            f"the sum of the counts is above {MAX_COUNTED:,}, the largest that is supported"
        )
    class_documents = a.class_documents + sign * b.class_documents
    totals = _combine_totals(a, b, sign=sign)
    # the kernel supports whole numbers only
    is_whole = all(each.dtype.kind == "i" for each in (*a.entries, *b.entries))
    combine = combine_entries if is_whole else plain.combine_entries
    entries = combine(a.entries, b.entries, sign)
    if entries is None or class_documents.min(initial=0) < 0:
        raise ModelError(NEVER_LEARNED, hint=LEARNED_HINT)
    combined = settle(ClassStatistics(class_documents, *entries, totals=totals))
    if sign < 0 and not _is_difference(combined, a, b):
        raise ModelError(NEVER_LEARNED, hint=LEARNED_HINT)
    return combined


def _combine_totals(a: ClassStatistics, b: ClassStatistics, *, sign: int) -> Totals | None:
    """Return the totals of a + sign × b; None: they are the sums over the classes."""
    if a.totals is None and b.totals is None:
        return None
    mine = a.with_totals().totals
    theirs = b.with_totals().totals
    assert mine is not None and theirs is not None
    documents = mine.documents + sign * theirs.documents
    occurrences = mine.occurrences + sign * theirs.occurrences
    if sign < 0 and min(documents.min(initial=0), occurrences.min(initial=0)) < 0:
        raise ModelError(NEVER_LEARNED, hint=LEARNED_HINT)
    return Totals(mine.n_documents + sign * theirs.n_documents, documents, occurrences)


def _is_difference(rest: ClassStatistics, a: ClassStatistics, b: ClassStatistics) -> bool:
    """Return whether the difference `rest` of a and b can be the counts of a set of documents.

    It can be if three conditions hold: every occurrence in `b` was found in `a`; no feature has
    more documents than occurrences; no feature has more documents of a class than the class has.
    """
    if not are_exact(rest.occurrences):  # sums of weights are rounded, so it cannot be decided
        return True
    if (totals := rest.totals) is not None:
        # documents have each feature at least once, or not at all
        is_possible = (
            (totals.documents <= totals.occurrences)
            & (totals.documents <= totals.n_documents)
            & ((totals.documents > 0) | (totals.occurrences == 0))
        )
        if not (rest.is_within_totals and is_possible.all()):
            return False
    return (
        rest.occurrences.sum() == a.occurrences.sum() - b.occurrences.sum()
        and bool((rest.documents <= rest.occurrences).all())
        and bool((rest.documents <= rest.class_documents[rest.classes]).all())
    )


def _total(statistics: ClassStatistics) -> int:
    """Return the largest of three sums: of all occurrences, of document frequencies, and of
    documents.
    """
    exact = int(statistics.occurrences.sum()) if statistics.occurrences.dtype.kind == "i" else 0
    sums = exact, int(statistics.documents.sum()), int(statistics.class_documents.sum())
    return max(*sums, int(statistics.n_documents), statistics.n_occurrences if exact else 0)


def _weigh_prior(class_documents: Array, prior: Prior) -> Floats:
    """Return numbers in proportion to the prior probability of each class, (..., n_classes)."""
    if isinstance(prior, WeightedPrior):
        return np.asarray(class_documents * np.array(prior.weights), np.float64)
    if prior == "empirical":
        return class_documents.astype(np.float64)
    n_classes = class_documents.shape[-1]
    weights = np.ones(n_classes) if prior == "uniform" else np.array(prior, np.float64)
    is_sound = (weights >= SMALLEST_PRIOR) & (weights <= LARGEST_PRIOR)
    if len(weights) != n_classes or not is_sound.all():
        raise SettingsError(
            f"{n_classes} numbers from {SMALLEST_PRIOR:g} to {LARGEST_PRIOR:g} are needed, one for each "
            f"label in sorted order; found {list_some(f'{weight:g}' for weight in weights)}",
            where="prior",
        )
    return np.broadcast_to(weights, class_documents.shape)


def log_priors(class_documents: Array, prior: Prior) -> Floats:
    """Return the log priors of several corpora with the same classes, (n_corpora, n_classes).

    class_documents  (n_corpora, n_classes); of a class without documents, the prior may be −∞
    prior            see `log_prior`
    """
    weights = _weigh_prior(class_documents, prior)
    sums = weights.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return log(weights) - log(np.maximum(sums, SMALLEST_PRIOR))


def log_prior(class_documents: Array, prior: Prior) -> Floats:
    """Return the logarithm of each class's prior probability, shape (n_classes,).

    class_documents  (n_classes,), documents of each class
    prior            `empirical` (the share of the documents), `uniform`, a weight for each class,
                     or WeightedPrior
    raises           SettingsError: the weights do not fit the classes; ModelError: a class has no
                     document
    """
    (found,) = log_priors(class_documents[None], prior)
    if np.isneginf(found).any():
        raise ModelError(
            "a class has no document",
            hint="add a document to it, remove the class, or use ‹prior=uniform›",
        )
    return np.asarray(found)
