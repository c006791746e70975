"""How probable the labels of reviewed documents are: judged by the other documents of the review, or by a model.

A model is used as it is. A document that it was trained on is first subtracted from its counts, together with its
copies. Which documents these are is known of those that the model retains (`--keep-sample`). Of others, the counts tell
whether a document may be among them: one with a word that no document of its label has cannot be. A document that may
be is subtracted with the label that it has in the review.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.label_noise import MAX_LABELS, LabelNoise, estimate_label_noise, estimate_noise, judge_none, keep_best
from nbtext.bayes.label_sets import LabelSets
from nbtext.bayes.outliers import log_likelihood_per_token, with_unknown_tokens
from nbtext.bayes.pair_noise import MIN_DOCUMENTS, PairNoise, find_wrong_pairs
from nbtext.bayes.prediction_sets import Quantiles
from nbtext.bayes.relevance_leave_one_out import RelevanceLeaveOneOut
from nbtext.bayes.scorer import Floats
from nbtext.bayes.smoothing import BLOCK_SCORES
from nbtext.errors import ModelError
from nbtext.features.document_counts import DocumentCounts, concatenate, number_contents
from nbtext.model.corpus_counts import CorpusCounts, LabelSet, align_documents
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.fitting import align_to_vocabulary, count_unseen, select_features
from nbtext.model.growth import check_growth, check_undecayed
from nbtext.model.left_out import make_left_out
from nbtext.model.multilabel import leave_out_labels
from nbtext.model.reservoir import ALL_HASHES
from nbtext.model.review_reading import ReviewedCorpus
from nbtext.model.task import OneLabel
from nbtext.model.training import needs_all_documents


@dataclass(frozen=True, eq=False)
class Judgment:
    """How probable the labels of documents are, if each has one label.

    labels        that `noise` numbers
    noise         the label noise; its rows are those of the corpus
    likelihoods   (n_documents,), log p(x) per token in nats; NaN if it is not known
    distribution  of log p(x) per token of left-out documents; None if it is not known
    """

    labels: Sequence[str]
    noise: LabelNoise
    likelihoods: Floats
    distribution: Quantiles | None


def judge_by_others(corpus: ReviewedCorpus, given: Sequence[str | None], *, jobs: int = 1) -> Judgment:
    """Judge each document with a label by all others; without any label, only the likelihoods are computed.

    given  (n_documents,), the label of each document; None: it has none that can be judged
    """
    labels = sorted({label for label in given if label is not None})
    classes = _number(given, labels)
    rows = np.flatnonzero(classes >= 0) if labels else np.arange(len(classes))
    counts = replace(corpus.counts.take(rows), classes=np.maximum(classes[rows], 0))
    noise = estimate_label_noise(
        counts, corpus.n_features, max(1, len(labels)), is_vocabulary=corpus.vocabulary is not None, jobs=jobs
    )
    likelihoods = np.full(len(classes), np.nan)
    likelihoods[rows[noise.rows]] = noise.log_likelihoods
    distribution = Quantiles.of(likelihoods[np.isfinite(likelihoods)])
    return Judgment(labels, replace(noise, rows=rows[noise.rows]), likelihoods, distribution)


def _number(given: Sequence[str | None], labels: Sequence[str]) -> NDArray[np.int32]:
    """Return the number of each label; -1 for None, and for a label that is not among `labels`."""
    numbers = {label: number for number, label in enumerate(labels)}
    return np.array([-1 if label is None else numbers.get(label, -1) for label in given], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class ModelJudge:
    """Judges the documents of a review by a model; see the module.

    model   a single-label or multi-label model of Naive Bayes
    jobs    number of threads
    """

    model: TrainedModel
    jobs: int = 1

    def __post_init__(self) -> None:
        """Raise ModelError if documents cannot be left out of the model."""
        settings = self.model.fitted.model_settings
        if settings.is_linear:
            what = f"a document cannot be left out of {settings.model} models"
            raise ModelError(what, where="-m", hint="give a Naive Bayes model, or leave out -m")
        check_growth(self.model)
        check_undecayed(self.model)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the model, sorted."""
        return self.model.fitted.labels

    @property
    def is_multilabel(self) -> bool:
        return not isinstance(self.model.fitted.task, OneLabel)

    def judge(self, corpus: ReviewedCorpus, given: Sequence[str | None]) -> Judgment:
        """Judge the documents of a review by a single-label model.

        given  (n_documents,), the label of each document; None: it has none that can be judged
        """
        fitted, n_classes = self.model.fitted, len(self.labels)
        documents, classes = self._align(corpus), _number(given, self.labels)
        trained = self._find_trained(corpus, [None if label is None else (label,) for label in given])
        left_out = make_left_out(fitted, trained, jobs=self.jobs)
        left_out = left_out.take(np.flatnonzero(np.isin(left_out.documents.hashes, documents.hashes)))
        is_trained, left_out = np.isin(documents.hashes, left_out.documents.hashes), left_out.drop_single_documents()
        is_judged = ~is_trained | np.isin(documents.hashes, left_out.documents.hashes)
        temperature, smoothing = fitted.calibration.temperature, fitted.hyperparameters.smoothing
        if temperature is not None:
            temperature = replace(temperature, noise=0.0)
        calibration = replace(fitted.calibration, temperature=temperature)
        likelihoods, kept, rows = np.full(len(documents), np.nan), [], []
        for part in _split(len(documents), n_classes):
            new = documents.take(part)
            scores, n_known, n_tokens = self._score(new), new.lengths.copy(), corpus.counts.totals[part]
            complete = scores.copy()
            if calibration.likelihoods is not None:
                complete = with_unknown_tokens(scores, fitted.scorer.default, n_tokens - n_known)
            places, old = _match(new.hashes, left_out.documents.hashes)
            if len(places):
                own = left_out.take(old)
                (own_scores,) = own.scores(smoothing)
                owners = np.searchsorted(own.documents.hashes, new.hashes[places])
                complete[places], scores[places] = own_scores[owners], own.ignore_hapaxes(own_scores, smoothing)[owners]
                n_known[places], n_tokens[places] = own.n_known[owners], own.documents.lengths[owners]
            if calibration.likelihoods is not None:
                likelihoods[part] = log_likelihood_per_token(complete, n_tokens)
            is_labeled = is_judged[part] & (classes[part] >= 0)
            rows.append(part[is_labeled])
            posterior = np.exp(calibration.log_posterior(scores[is_labeled], n_known[is_labeled]))
            kept.append(keep_best(posterior, classes[rows[-1]]))
        likelihoods[~is_judged] = np.nan
        judged, noise = np.concatenate(rows), judge_none(n_classes)
        if len(judged) and n_classes > 1:
            labels, posteriors = (np.concatenate(each) for each in zip(*kept, strict=True))
            found = estimate_noise(posteriors, labels, classes[judged], n_classes)
            noise = LabelNoise(judged, *found, n_classes, likelihoods[judged])
        return Judgment(self.labels, noise, likelihoods, calibration.likelihoods)

    def judge_pairs(self, corpus: ReviewedCorpus, given: Sequence[tuple[str, ...] | None]) -> PairNoise:
        """Judge each label of the documents of a review by a multi-label model; labels are those of the model.

        given  (n_documents,), the labels of each document; None: they are not known
        """
        fitted, n_labels = self.model.fitted, len(self.labels)
        task = fitted.several_labels
        smoothing, combination = task.fit.naive_bayes
        documents, left_out = self._align(corpus), self._leave_out_pairs(self._find_trained(corpus, given))
        numbers = {label: k for k, label in enumerate(self.labels)}
        n_documents, found = left_out.counts.statistics.class_documents, []
        for part in _split(len(documents), n_labels):
            new = documents.take(part)
            scores = task.split(self._score(new))
            probabilities = combination.probabilities(scores, new.lengths)
            others, is_given = np.tile(n_documents, (len(part), 1)), np.zeros((len(part), n_labels), dtype=bool)
            n_known, is_labeled = new.lengths.copy(), np.zeros(len(part), dtype=bool)
            places, old = _match(new.hashes, left_out.documents.hashes)
            if len(places):
                own = left_out.take(old)
                score = own.scores_of(smoothing)
                of_blocks = [
                    (combination.probabilities(score(each), own.lengths[each.start : each.stop]), each.positives)
                    for each in own.blocks
                ]
                own_probabilities, positives = (np.concatenate(each) for each in zip(*of_blocks, strict=True))
                contents = own.contents[np.searchsorted(own.documents.hashes, new.hashes[places])]
                probabilities[places] = own_probabilities[contents]
                others[places] -= positives.astype(np.int64)[contents]
                n_known[places] = own.lengths[contents]
            for place, row in enumerate(part.tolist()):
                is_labeled[place] = given[row] is not None
                is_given[place, [numbers[label] for label in given[row] or () if label in numbers]] = True
            least = np.partition(probabilities, -min(MAX_LABELS, n_labels), axis=1)[:, -min(MAX_LABELS, n_labels)]
            rows, labels = np.nonzero((probabilities >= least[:, None]) | is_given)
            is_judged = is_labeled[rows] & (n_known[rows] > 0) & (others[rows, labels] >= MIN_DOCUMENTS)
            rows, labels = rows[is_judged], labels[is_judged]
            found.append((part[rows], labels, is_given[rows, labels], probabilities[rows, labels]))
        rows, labels, of_given, of_pairs = (np.concatenate(each) for each in zip(*found, strict=True))
        return find_wrong_pairs(rows, labels, of_given, of_pairs)

    def _leave_out_pairs(self, counts: CorpusCounts) -> RelevanceLeaveOneOut:
        """Return the retained documents of counts, to be left out of the multi-label model."""
        features = self.model.fitted.feature_settings
        counts, _ = select_features(align_to_vocabulary(counts, features), features)
        return leave_out_labels(counts, self.model.fitted.weighting, count_unseen(counts, features)[0])

    def _align(self, corpus: ReviewedCorpus) -> DocumentCounts:
        """Return the documents over the features of the model; no documents have labels."""
        return align_documents(corpus.counts, corpus.vocabulary, self.model.fitted.vocabulary)

    def _score(self, documents: DocumentCounts) -> Floats:
        """Return the scores of documents by the model as it is, (n_documents, n_classes)."""
        weighting, scorer = self.model.fitted.weighting, self.model.fitted.scorer
        weights = weighting.weights(documents.indptr, documents.indices, documents.counts)
        return scorer.scores(documents.indptr, documents.indices, weights)

    def _find_trained(self, corpus: ReviewedCorpus, given: Sequence[LabelSet | None]) -> CorpusCounts:
        """Return the counts of the model; retained are the training documents among those of the review.

        If the model needs the counts of all documents, all are retained.
        """
        fitted, counts = self.model.fitted, self.model.counts
        if needs_all_documents(fitted.feature_settings, fitted.model_settings):
            return counts
        bound = ALL_HASHES if counts.has_all_documents else min(counts.below, int(counts.sample.hashes.max(initial=0)))
        settled = counts.sample.below(bound)  # all documents of the model with these hashes are known
        settled = settled.filter(np.isin(settled.hashes, corpus.counts.hashes))
        documents = align_documents(corpus.counts, corpus.vocabulary, counts.vocabulary)
        is_possible = np.diff(documents.indptr) == np.diff(corpus.counts.indptr)  # all features are known
        is_possible &= ~(documents.hashes < np.uint64(min(bound, ALL_HASHES - 1))) & (bound < ALL_HASHES)
        names = frozenset(self.labels)
        is_possible &= np.array([labels is not None and names.issuperset(labels) for labels in given], dtype=bool)
        earlier = counts.sets
        rows = np.flatnonzero(is_possible)
        own = [tuple(sorted(set(given[row] or ()))) for row in rows.tolist()]
        sets = sorted({*earlier, *own})
        numbers = {each: number for number, each in enumerate(sets)}
        classes = np.array([numbers[each] for each in earlier], dtype=np.int32)
        settled = replace(settled, classes=classes[settled.classes])
        others = replace(documents.take(rows), classes=np.array([numbers[each] for each in own], dtype=np.int32))
        others = _keep_possible(others, LabelSets.of(sets, counts.labels), counts)
        sample = concatenate((settled, others))
        sample = sample.take(sample.order(sample.classes))
        return replace(counts, sample=sample, label_sets=None if counts.label_sets is None else tuple(sets))


def _keep_possible(documents: DocumentCounts, sets: LabelSets, counts: CorpusCounts) -> DocumentCounts:
    """Return the documents without copies that the counts cannot contain; their classes number `sets`."""
    everything = LabelSets(np.arange(len(sets) + 1), np.zeros(len(sets), dtype=np.int32))  # one label that all have
    for statistics, labels in ((counts.statistics, sets), (counts.statistics.pooled, everything)):
        own = labels.take(documents.classes)
        rows, classes = own.entry_sets, own.classes
        possible = statistics.count_possible(replace(documents.take(rows), classes=classes))
        keys = number_contents(documents)[rows] * statistics.n_classes + classes
        order = np.argsort(keys, kind="stable")
        ranks = np.empty(len(keys), dtype=np.int64)
        ranks[order] = np.arange(len(keys)) - np.searchsorted(keys[order], keys[order])
        documents = documents.filter(np.bincount(rows, weights=ranks >= possible, minlength=len(documents)) == 0)
    return documents


def _split(n_documents: int, n_classes: int) -> list[NDArray[np.int64]]:
    """Return the numbers of documents in parts whose scores fit into memory; at least one part."""
    size = max(1, BLOCK_SCORES // max(1, n_classes))
    return np.split(np.arange(n_documents), range(size, n_documents, size))


def _match(hashes: NDArray[np.uint64], trained: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which documents are training documents, and which training documents are among them, by their hashes."""
    return np.flatnonzero(np.isin(hashes, trained)), np.flatnonzero(np.isin(trained, hashes))
