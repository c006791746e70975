"""Models of a limited size: fewer features, weights in 8 bits, and a calibration that is fitted to
what is left.

A weight matters by |w| · √df: its magnitude times the root of the number of documents that have the
feature. The features that are kept are those whose largest weight matters most, and all weights are
rounded to what that of the last of them matters: most become 0, or equal to others, so that the
file holds few, and compresses well. This looks at the scorer alone, whatever model was compiled to
it. Only kept features are known: a smaller model's document lengths, norms and coverage count no
others.

The accuracy and the calibration come from documents that a model has not seen. Without others, some
training documents are held out: a model of the rest is trained, made smaller in the same way, and
scores them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nbtext.arrays import Floats, Integers
from nbtext.artifact.model import measure_model
from nbtext.bayes.calibration import Calibration, fit_scaled_temperature
from nbtext.bayes.decision_offsets import find_goals
from nbtext.bayes.diagnostics import LeaveOneOutEstimate
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.scorer import round_to_float32
from nbtext.bayes.settings import CONFIDENCE, DECISION_METRICS, STACKED
from nbtext.bayes.smoothing import Selection, judge
from nbtext.errors import ModelError, SettingsError
from nbtext.features.counting import align_documents
from nbtext.features.csr import running_sums
from nbtext.features.document_table import DocumentTable
from nbtext.features.folds import NEVER_HELD_OUT, stratified_folds
from nbtext.features.weighting import inverse_document_frequencies
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import DocumentNumbers, FittedModel, TrainedModel, make_trained_model
from nbtext.model.fitting import fit_model
from nbtext.model.growth import align_sample
from nbtext.model.inspection import used_statistics
from nbtext.model.training import needs_all_documents
from nbtext.model.word_pieces import drop_pieces
from nbtext.records import frozen

REDUCTION_SAMPLE_SIZE = 2048  # training documents that are held out, at least, if there are so many
MAX_TRIALS = 12  # numbers of features whose file is measured
FIRST_FEATURE_BYTES = 8  # of a feature, for the first trial
UNTRAINED = 1e-4  # the document frequency of a word that no training document has
# The search also ends where the number of features is known to one in so many, as where the size
# of the file jumps.
SMALL_STEP = 50
MIN_FILL = 0.98  # share of the allowed bytes with which the search for the number of features ends
# times as many features as there are: weights are rounded no more than 8 bits need
UNROUNDED_RATIO = 10**9
POSTERIOR_UNITS = 1 << 12  # in which mean posteriors are rounded: they are less exact than that


@frozen
class Reduction:
    """A model of a limited size: a smaller one, without counts, or the one in full if that is small
    enough.

    n_bytes   of its file
    accuracy  the estimated accuracy of the smaller model, and of the one in full; None: no
              documents were held out
    """

    model: TrainedModel
    n_bytes: int
    accuracy: tuple[float, float] | None = None


class Original(NamedTuple):
    """A model to make smaller, and the number of documents that have each of its features.

    known  documents over these, whose mean scores stay; None: there are none, or scores grow with
           the length, as those of Naive Bayes
    """

    model: FittedModel
    document_frequencies: Floats
    known: DocumentTable | None


def limit_size(
    model: TrainedModel, max_bytes: int, *, documents: CorpusCounts | None = None, jobs: int = 1
) -> Reduction:
    """Return a model whose file has at most so many bytes.

    Parameters
    ----------
    documents : CorpusCounts, optional
        Labeled documents that the model was not trained on. None: some of its training documents
        are held out, if it retains them.
    jobs : int
        Number of threads.

    Raises
    ------
    ModelError
        The model cannot be made smaller in this way.
    SettingsError
        No model is so small; or a target of recall or precision is not met.
    """
    full = model.fitted
    if (n_bytes := measure_model(model)) <= max_bytes:
        return Reduction(model, n_bytes)
    if full.full_features is not None:
        raise ModelError("the model was made smaller before", hint="use the model in full")
    if full.vocabulary is None or full.scorer.derivation is not None:
        kind = (
            "hashed features" if full.vocabulary is None else f"a {full.model_settings.model} model"
        )
        other = "use another model, such as multinomial"
        hint = "train without ‹hash_bits›" if full.vocabulary is None else other
        raise ModelError(
            f"{kind} cannot be made smaller: features are chosen by their weights", hint=hint
        )
    n_full = full.scorer.n_features
    settings = full.model_settings
    n_words = max_bytes // (FIRST_FEATURE_BYTES + len(full.labels))
    n_further = settings.vector_words + len(settings.more_words)
    if settings.vectors and n_words < n_further and model.load_counts:
        # the first words of a table, and of texts, are the most frequent ones; weights do not tell
        more = settings.more_words[:n_words]
        n_left = min(settings.vector_words, n_words - len(more))
        fewer = replace(settings, vector_words=n_left, more_words=more)
        full = fit_model(model.counts, full.feature_settings, fewer, jobs=jobs)
        full = replace(full, input=model.fitted.input)
        model = make_trained_model(full, model.counts)
    full = drop_pieces(full)  # without some of them, words would be divided into others
    model = TrainedModel(full, model.load_counts)
    numbers = DocumentNumbers.of(model.statistics)
    frequencies = _document_frequencies(model, documents)
    counts = model.counts if documents is None and model.load_counts is not None else documents
    original = Original(full, frequencies, _take_known(counts, full))
    order = rank_features(full, frequencies)
    n_features = _find_number(original, order, numbers, max_bytes)
    held_out: Iterator[tuple[Original, DocumentTable]] = iter(())
    if not full.kind.has_one_label or full.unlabeled is not None:
        pass  # nothing calibrates several labels again, or models of unlabeled documents
    elif documents is not None:
        aligned = align_sample(documents, full.labels, full.vocabulary, "leave out its documents")
        held_out = iter([(original, aligned)])
    else:
        held_out = _hold_out(model, jobs)
    selection, accuracies = _judge(full, held_out, n_features, numbers)
    task = full.task.with_selection(selection)
    judged = original._replace(model=replace(full, task=task))  # whose file has other bytes
    n_features = min(n_features, _find_number(judged, order, numbers, max_bytes))
    shrunk = replace(_shrink(judged, order, n_features, numbers), full_features=n_full)
    small = make_trained_model(shrunk, None)
    return Reduction(small, measure_model(small), accuracies)


def rank_features(model: FittedModel, document_frequencies: Floats) -> Integers:
    """Return the features with a weight, the most important first; ties by column."""
    scorer = model.scorer
    largest = np.zeros(len(scorer.indptr) - 1)
    is_filled = np.diff(scorer.indptr) > 0
    largest[is_filled] = np.maximum.reduceat(np.abs(scorer.deltas), scorer.indptr[:-1][is_filled])
    importance = largest[scorer.rows_of(np.arange(scorer.n_columns))] * np.sqrt(
        document_frequencies
    )
    order = np.argsort(-importance, kind="stable")
    return order[importance[order] > 0]


def keep_features(
    model: FittedModel,
    features: Integers,
    numbers: DocumentNumbers,
    steps: Floats | float = 0.0,
    known: DocumentTable | None = None,
) -> FittedModel:
    """Return a model of these features only, with weights in 8 bits; those whose weights become 0
    go, too.

    numbers  of the training documents
    steps    (n_kept,), to which the weights of each feature are rounded, in the order of the
             columns
    known    documents over the features of the model, whose mean scores stay; None: none
    """
    columns = np.sort(features)
    scorer = model.scorer.restrict(columns).quantize(steps)
    is_used = np.diff(scorer.indptr) > 0
    columns = columns[is_used]
    scorer = scorer.restrict(np.flatnonzero(is_used))
    if scorer.base is not None and scorer.base_scale is not None:
        # what all classes have in common changes no probability
        is_common = model.kind.compares and np.ptp(scorer.base_scale) == 0
        base = None if is_common else round_to_float32(scorer.base)
        scorer = replace(scorer, base=base, base_scale=None if is_common else scorer.base_scale)
    weighting = model.weighting.restrict(columns)
    vocabulary = model.vocabulary
    if weighting.idf is not None:
        weighting = replace(weighting, idf=round_to_float32(weighting.idf))
    small = replace(
        model,
        task=model.task.change_calibration(_round),
        scorer=scorer,
        weighting=weighting,
        columns=None,
        documents=numbers,
        vocabulary=vocabulary and vocabulary.restrict(columns),
        feature_settings=replace(model.feature_settings, vocabulary=None),
        model_settings=replace(model.model_settings, keep_sample=None),
        full_features=model.scorer.n_features,
        trained=None,
        untrained=None if model.untrained is None else np.packbits(model.are_untrained(columns)),
    )
    if known is None:
        return small
    own = known.restrict(columns, model.scorer.n_features)
    change = model.evidence(known)[0].mean(axis=0) - small.evidence(own)[0].mean(axis=0)
    return replace(small, scorer=replace(scorer, bias=scorer.bias + change))


def _round(calibration: Calibration) -> Calibration:
    """Return a calibration without likelihoods, which need all features, and with large tables of
    fewer digits.
    """
    quantiles = calibration.nonconformity
    posteriors = calibration.mean_posteriors
    if quantiles is not None:
        quantiles = replace(quantiles, points=round_to_float32(quantiles.points))
    if posteriors is not None:
        # sums are rounded, so that each row still adds up to 1
        sums = np.rint(np.cumsum(posteriors.means, axis=1) * POSTERIOR_UNITS) / POSTERIOR_UNITS
        posteriors = replace(posteriors, means=np.diff(sums, axis=1, prepend=0))
    found = replace(calibration, nonconformity=quantiles, mean_posteriors=posteriors)
    return replace(found, likelihoods=None, outlier_threshold=None)


def _shrink(
    original: Original, order: Integers, n_features: int, numbers: DocumentNumbers
) -> FittedModel:
    """Return a model of the first features of a ranking, whose weights are rounded to what that of
    the last matters.

    If there are fewer features, weights are rounded to the share of it that these are.
    """
    model, frequencies, known = original
    columns = np.sort(order[:n_features])
    last = order[:n_features][-1:]
    least = np.abs(model.scorer.restrict(last).deltas).max(initial=0.0) * np.sqrt(
        frequencies[last].sum()
    )
    steps = least * min(1, len(order) / n_features) / np.sqrt(frequencies[columns])
    return keep_features(model, columns, numbers, steps, known)


def _find_number(
    original: Original, order: Integers, numbers: DocumentNumbers, max_bytes: int
) -> int:
    """Return a number of features with which the file has at most so many bytes, and little less;
    see `_shrink`.

    raises  SettingsError: no model is so small
    """

    def measure(n_features: int) -> int:
        return measure_model(
            make_trained_model(_shrink(original, order, n_features, numbers), None)
        )

    exact = UNROUNDED_RATIO * max(1, len(order))
    # of which one fits, and one perhaps not, and the sizes of their files
    low = 1
    high = exact
    smallest = low_size = measure(low)
    high_size = 0  # not known
    if smallest > max_bytes:
        raise SettingsError(
            f"{max_bytes:,} bytes are too few: the smallest possible model has {smallest:,}",
            where="max_model_bytes",
            hint=f"give {smallest} or more",
        )
    wanted = (MIN_FILL + 1) / 2 * max_bytes
    trial = max_bytes // FIRST_FEATURE_BYTES
    for _ in range(MAX_TRIALS):
        size = measure(trial)
        if size > max_bytes:
            high = trial
            high_size = size
        else:
            low = trial
            low_size = size
        if low + max(1, low // SMALL_STEP) >= high or MIN_FILL * max_bytes <= size <= max_bytes:
            break
        if high_size and low > 1:  # the size is about a power of the number
            slope = math.log(high / low) / math.log(max(high_size, low_size + 1) / low_size)
            n_next = low * (wanted / low_size) ** slope
        else:
            n_next = (wanted - smallest) * trial / max(1, size - smallest)
            if size > max_bytes:  # which would creep where sizes hardly fall
                n_next = min(n_next, trial / 2)
        has_all = low >= len(order) and high == exact
        trial = exact if has_all else min(high - 1, max(low + 1, int(n_next)))
    return low


def _invert(idf: Floats, n_documents: int, name: str) -> Floats:
    """Return the document frequencies with the nearest inverse document frequencies.

    They fall with the frequency, so the interval of each frequency is halved until it is known: the
    number of documents is that of a file, and no array is as long.
    """
    low = np.ones(len(idf), np.int64)
    high = np.full(len(idf), n_documents)
    while (low < high).any():
        middle = (low + high) // 2
        values = [
            inverse_document_frequencies(each, n_documents=n_documents, idf=name)
            for each in (middle, middle + 1)
        ]
        is_above = (idf <= np.mean(values, axis=0)) & (low < high)
        low = np.where(is_above, middle + 1, low)
        high = np.where(is_above, high, middle)
    return low.astype(np.float64)


def _document_frequencies(model: TrainedModel, documents: CorpusCounts | None) -> Floats:
    """Return the number of documents that have each feature of a model: by its counts, its idf, or
    other documents.

    If none of them tells, it is 1 for each.
    """
    fitted = model.fitted
    n_features = model.fitted.scorer.n_features
    if model.load_counts is not None:
        found = used_statistics(model).document_frequencies.astype(np.float64)
    elif fitted.weighting.idf is not None:
        n_documents = int(model.statistics.n_documents)
        found = _invert(fitted.weighting.idf, n_documents, fitted.feature_settings.idf)
    else:
        found = np.ones(n_features)
        if documents is not None:
            aligned = documents.sample_over(fitted.vocabulary)
            found += np.bincount(aligned.indices, minlength=n_features)
    # words that only a table of vectors has come after those of the documents
    found[fitted.are_untrained(np.arange(n_features))] = UNTRAINED
    return found


def _take_known(counts: CorpusCounts | None, fitted: FittedModel) -> DocumentTable | None:
    """Return some documents of counts over the features of a linear model; None of others."""
    if counts is None or not len(counts.sample) or not fitted.model_settings.is_linear:
        return None
    return align_documents(
        counts.sample.first(REDUCTION_SAMPLE_SIZE), counts.vocabulary, fitted.vocabulary
    )


def _hold_out(model: TrainedModel, jobs: int) -> Iterator[tuple[Original, DocumentTable]]:
    """Yield models of most of the training documents, and the other ones: none, if the model
    retains too few.
    """
    if model.load_counts is None:
        return
    fitted = model.fitted
    counts = model.counts
    settings = fitted.model_settings
    sample = counts.sample
    n_folds = settings.folds
    needs_all = needs_all_documents(fitted.feature_settings, settings)
    is_lacking = needs_all and not counts.has_all_documents  # as where they did not fit into memory
    if (
        len(counts.labels) < 2
        or len(sample) < n_folds
        or counts.statistics.is_fractional
        or is_lacking
    ):
        return
    folds = stratified_folds(
        sample.classes,
        n_folds,
        seed=settings.seed,
        contents=sample.hashes,
        class_documents=counts.statistics.class_documents,
    )
    sizes = np.bincount(folds[folds != NEVER_HELD_OUT], minlength=n_folds)
    n_folds = min(n_folds, int(np.searchsorted(running_sums(sizes), REDUCTION_SAMPLE_SIZE)))
    C = fitted.hyperparameters.C
    # corrections are fitted to documents, so that those of all would know the held-out ones
    is_known = C is None and fitted.hyperparameters.corrections is None
    plain = replace(  # the weights of a stack are fitted to the folds that calibrate it
        settings,
        calibrate=settings.model == STACKED,
        optimize=None,
        min_recall=(),
        min_precision=(),
        confidence=CONFIDENCE,
        C=settings.C if C is None else C,
        smoothing=fitted.hyperparameters.smoothing if C is None else None,
    )
    for fold in range(n_folds):
        is_held_out = folds == fold
        rest = counts.without(is_held_out).drop_unused_features()
        selection = Selection(fitted.hyperparameters) if is_known else None
        part = fit_model(rest, fitted.feature_settings, plain, jobs=jobs, selection=selection)
        frequencies = _document_frequencies(make_trained_model(part, rest), None)
        documents = align_documents(sample.filter(is_held_out), counts.vocabulary, part.vocabulary)
        yield Original(part, frequencies, _take_known(rest, part)), documents


def _judge(
    full: FittedModel,
    held_out: Iterator[tuple[Original, DocumentTable]],
    n_features: int,
    numbers: DocumentNumbers,
) -> tuple[Selection | None, tuple[float, float] | None]:
    """Calibrate a smaller model with documents that models of the same size have not seen.

    Returns
    -------
    What was fitted to their scores, and the accuracy on them of the smaller model and of the one in
    full; None if no documents were held out.
    """
    found: list[JudgedDocuments] = []  # the documents of each part
    n_right = 0
    for original, documents in held_out:
        part = original.model
        share = part.scorer.n_features / full.scorer.n_features
        order = rank_features(part, original.document_frequencies)
        small = _shrink(original, order, max(1, round(n_features * share)), numbers)
        aligned = align_documents(documents, part.vocabulary, small.vocabulary)
        found.append(JudgedDocuments(*small.evidence(aligned), documents.classes))
        posterior = full.calibration.log_posterior(*part.evidence(documents))
        n_right += int((full.calibration.decide(posterior) == documents.classes).sum())
    if not sum(map(len, found)):
        return None, None
    judged = JudgedDocuments.join(found)
    settings = full.model_settings
    calibration = full.calibration
    goals = find_goals(settings, full.labels)
    has_adjustment = calibration.prior_adjustment is not None and goals.optimize in (
        None,
        *DECISION_METRICS,
    )
    selection = judge(
        full.hyperparameters,
        judged,
        fit_scaled_temperature(judged) if settings.calibrate else None,
        goals=replace(
            goals,
            adjusts_prior=has_adjustment,
            has_scales=calibration.label_scales is not None,
        ),
    )
    if isinstance(full.estimate, LeaveOneOutEstimate) and selection.estimate is not None:
        selection = selection._replace(
            estimate=replace(selection.estimate, duplicates=full.estimate.duplicates)
        )
    accuracy = selection.estimate.accuracy if selection.estimate is not None else 0.0
    return selection, (accuracy, n_right / len(judged))
