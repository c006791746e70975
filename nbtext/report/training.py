"""Summaries of training, and of a model search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nbtext.bayes.diagnostics import Interval, LeaveOneOutEstimate, Part, Unlabeled, ViewChoice
from nbtext.bayes.settings import AUTO, VECTORS
from nbtext.errors import number_of
from nbtext.evaluation.settings import GIVEN, SHOWN
from nbtext.model.fitted_model import TrainedModel, list_targets
from nbtext.report.terminal import new_table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nbtext.artifact.reduction import Reduction
    from nbtext.evaluation.search import Candidate, Search


NO_COUNTS = (
    "the file holds no counts, because the selected features have many: to update or merge it, or to "
    "forget documents, train with --keep-sample N"
)
# of the views that training selects
VIEW_TITLES = {
    "word:1": "words",
    "word:2": "pairs of words",
    "char_wb:1,4": "characters",
    "char_wb:2,5": "characters",
}


def format_training_summary(model: TrainedModel) -> str:
    """Format the sizes of a model, its smoothing, and its estimated accuracy and log-loss for new
    documents.
    """
    statistics = model.statistics
    fitted = model.fitted
    settings = fitted.model_settings
    chosen = fitted.hyperparameters
    expected = fitted.estimate
    n_labels = len(fitted.labels)
    is_single = fitted.kind.has_one_label
    labels = number_of(n_labels, "label")
    if not is_single:
        n_given = float(statistics.class_documents.sum())
        labels += f" ({n_given / max(1, statistics.n_documents):.2f} per document)"
    name = settings.model + " with binary counts" * fitted.is_binary_selected
    names = [name] * (settings.model != AUTO) + [fitted.kind.title] * (not is_single)
    counted = (
        number_of(statistics.n_documents, "document"),
        labels,
        number_of(fitted.scorer.n_features, "feature"),
    )
    found = f"{', '.join(names)}: {', '.join(counted)}"
    if chosen.parts:
        found += f"; {format_parts(chosen.parts, chosen.n_corrected)}"
    elif chosen.C is not None:
        found += f"; C {chosen.C:.4g}"
    elif is_single:
        found += f"; smoothing {chosen.smoothing:.4g}"
    if fitted.view_choice is not None:
        views = dict.fromkeys(part.view for part in chosen.parts if part.weight > 0)
        found += f"; selected {format_views(fitted.view_choice, views)}"
    if n_labels == 1 and is_single:
        return f"{found}; there is only one label, which is predicted for every document"
    if expected is None:
        is_fitted = chosen.C is None or settings.calibrate or fitted.full_features is not None
        return (
            found
            if is_fitted
            else f"{found}; no estimate without calibration (nbtext evaluate --folds gives one)"
        )
    judge = fitted.estimated_by
    is_left_out = fitted.is_left_out
    if expected.held_out:  # nothing was left out for these
        judge = f"{number_of(expected.documents, 'document')}, {expected.held_out:,} of them not in the training set"
    elif expected.documents < statistics.n_documents:
        judge += (
            f"{' of' if is_left_out else ', scores of'} {number_of(expected.documents, 'document')}"
        )
    if expected.duplicates:
        judge += f", {number_of(expected.duplicates, 'duplicate')} left out together"
    found += f"; estimated {format_estimate(expected)} ({judge})"
    if expected.other is not None:  # each document left out without its duplicates
        metric = next(iter(expected.HEADLINE))
        digits = count_digits(expected.interval)
        found += f"; {metric} {expected.metric:.{digits}f} for new texts"
        found += f", {expected.other:.{digits}f} if texts repeat as they do here"
    return found


def format_estimate(estimate: Any) -> str:
    """Format the main figures of an estimate."""
    figures = {title: getattr(estimate, name) for title, name in estimate.HEADLINE.items()}
    return format_figures(figures, estimate.interval)


def format_figures(figures: Mapping[str, float], interval: Interval) -> str:
    """Format figures by their titles, all with the digits of the first one, which has an
    interval.
    """
    digits = count_digits(interval)
    (title, first), *others = figures.items()
    texts = [f"{name} {value:.{digits}f}" for name, value in others]
    return ", ".join([f"{title} {format_share(first, interval)}", *texts])


def format_share(share: float, interval: Interval, *notes: str) -> str:
    """Format a share with its 95 % interval, and with notes in the same parentheses, such as `0.70
    (0.40 to 0.89, leave-one-out)`.
    """
    digits = count_digits(interval)
    if interval is not None:
        notes = (" to ".join(f"{bound:.{digits}f}" for bound in interval), *notes)
    return f"{share:.{digits}f}" + f" ({', '.join(notes)})" * bool(notes)


def count_digits(interval: Interval) -> int:
    """Return the number of decimals of a share: the last one is at most a tenth of its interval."""
    if interval is None:
        return SHOWN
    return math.ceil(1 - math.log10(interval[1] - interval[0]))


def format_reduction(reduction: Reduction) -> str:
    """Format what a smaller model has lost."""
    fitted = reduction.model.fitted
    if fitted.full_features is None:
        return f"the model in full is small enough: {reduction.n_bytes:,} bytes"
    found = f"kept {fitted.scorer.n_features:,} of {number_of(fitted.full_features, 'feature')}"
    if reduction.accuracy is None:
        return f"{found}; calibrated as the model in full, and not estimated again, because no documents were held out"
    small, full = reduction.accuracy
    interval = fitted.estimate.interval
    in_full = f"{full:.{count_digits(interval)}f} in full"
    return f"{found}; estimated accuracy {format_share(small, interval)}, {in_full}"


def format_views(choice: ViewChoice, views: Iterable[str]) -> str:
    """Format the views that training selected, and what they bring, such as `words, characters:
    +0.031 of 0.812`.
    """
    names = ", ".join(VIEW_TITLES.get(view, view) for view in views)
    return f"{names}: +{choice.gain:.3f} of {choice.accuracy:.3f}"


def format_parts(parts: Sequence[Part], n_corrected: int | None = None) -> str:
    """Format a combination as the sum that it is, such as `0.8 × complement of word:1 + 0.2 × svm
    with idf of word:2`.

    Parts of weight 0 are left out.

    n_corrected  number of features whose weights are corrected; None: of none
    """
    terms = []
    for part in parts:
        if part.weight > 0:
            term = f"{part.weight:.3g} × {part.model}"
            if part.idf != "none":
                term += " with idf"
            if part.is_of_words:
                term += " of single words"
            if part.view:
                term += f" of {part.view}"
            terms.append(term)
    if n_corrected is not None:
        terms.append(f"corrections of {number_of(n_corrected, 'feature')}")
    return " + ".join(terms)


def format_decisions(model: TrainedModel) -> list[str]:
    """Format what the decision offsets reach on left-out documents: a line for `optimize`, and one
    for each target.
    """
    settings = model.fitted.model_settings
    estimate = model.fitted.estimate
    lines: list[str] = []
    if not isinstance(estimate, LeaveOneOutEstimate):
        return lines
    if estimate.optimized is not None:
        before, after = estimate.optimized
        from nbtext.evaluation.metrics import METRICS

        name = METRICS[settings.optimize or ""].title
        change = f"{before:.4f} without offsets, {after:.4f} with them"
        if before == after:
            change = f"nothing changed, because no offsets improve it ({before:.4f})"
        lines.append(f"optimized {name}: {change}")
    for each in list_targets(model.fitted):
        if (found := each.found) is None:
            continue
        line = f"{each.metric} of {each.label}: {found.value:.4f} ({found.correct:,} of {found.documents:,}), "
        line += f"at least {each.low:.4f} with {settings.confidence:.4g} confidence; target {each.target:g}"
        if each.offset is not None:
            line += f", by the offset {each.offset:+.4g} of its log-probability"
        elif each.min_probability is None:
            line += ", met by the most probable label"
        else:
            line += f", predicted from probability {each.min_probability:.4g}"
            line += ", and no label below it" * (each.metric == "precision")
        lines.append(line)
    return lines


def format_unlabeled(unlabeled: Unlabeled) -> str:
    """Format how a model was trained on unlabeled documents."""
    found = unlabeled.log_likelihoods
    documents = number_of(unlabeled.documents, "document")
    if not found:
        return f"{documents}, labeled by a model of the labeled documents"
    return (
        f"{documents} by {number_of(len(found) - 1, 'step')} of EM, weighted {unlabeled.weight:g}; "
        f"log-likelihood from {found[0]:,.1f} to {found[-1]:,.1f}"
    )


def format_unused(model: TrainedModel) -> list[str]:
    """Format what a combination was offered by options, and has no weight in it: a line for word
    vectors, and for each view.
    """
    fitted = model.fitted
    settings = fitted.model_settings
    used = [part for part in fitted.hyperparameters.parts if part.weight > 0]
    if not used or fitted.view_choice is not None:
        return []
    views = {part.view for part in used}
    names = [f"the view {view}" for view in fitted.feature_settings.view if view not in views]
    if settings.vectors and not any(part.model == VECTORS for part in used):
        words = ", and the words of the unlabeled texts," * bool(settings.more_words)
        tables = "tables" if len(settings.vectors) > 1 else "table"
        names.append(f"the {tables} of word vectors{words}")
    return [f"{name} got no weight: beside the others it adds little, or nothing" for name in names]


def format_approximation(model: TrainedModel) -> str | None:
    """Format which parts of a model were fitted to other documents than its training documents;
    None: no part.
    """
    fitted = model.fitted
    there = [name for name in fitted.approximate if fitted.task.parts.get(name) is not None]
    if not there:
        return None
    advice = "train with --keep-sample N to retain the documents that they are fitted to"
    if fitted.kind.has_one_label and model.load_counts is not None:
        advice = f"refit them with nbtext calibrate or {advice}"
    if model.statistics.is_fractional:
        advice = "refit them with nbtext calibrate on documents that the model was not trained on"
    whose = "not fitted to all documents"
    if fitted.estimate is not None and fitted.kind.has_one_label:
        seen = number_of(fitted.estimate.documents, "document")
        whose = f"fitted on {seen} of the retained sample"
    return f"approximate ({whose}): {', '.join(there).replace('_', ' ')}; {advice}"


def format_script_hint(model: TrainedModel, text: str) -> str | None:
    """Format the advice to count characters if words of the default pattern are runs of a script
    without spaces.

    text  of some documents: if it has many vowel signs, at which the pattern cuts words, another
          pattern is advised
    """
    from nbtext.features.vocabulary import (
        MARKED,
        UNSPACED,
        compute_mark_share,
        compute_unspaced_share,
        make_pattern_of_marks,
    )

    features = model.fitted.feature_settings
    vocabulary = model.counts.vocabulary
    statistics = model.counts.statistics
    if (
        features.analyzer != "word"
        or features.view
        or features.token_pattern
        or features.vocabulary is not None
    ):
        return None
    given = [
        f"--{name.replace('_', '-')}" for name in ("stop_words", "stem") if getattr(features, name)
    ]
    if model.fitted.model_settings.vectors:
        given.append("--vectors")
    without = f"without {' and '.join(given)}, " if given else ""
    share = 0.0
    if features.ngrams == (1, 1) and vocabulary is not None:
        share = compute_unspaced_share(vocabulary, statistics.feature_occurrences, features.fields)
    if share >= UNSPACED:
        what = (
            f"{share:.0%} of the words are runs of a script without spaces, such as Chinese or Thai"
        )
        characters = "--analyzer char --ngrams 1,3 or --model best"
    else:
        share = compute_mark_share(text)
        if share < MARKED:
            return None
        what = f"{share:.0%} of the letters are marks, such as vowel signs of Arabic, Hebrew or Hindi, at which words are cut"
        characters = "--analyzer char_wb --ngrams 2,4 or --model best"
        if pattern := make_pattern_of_marks(text):
            what += f": --token-pattern '{pattern}' keeps them whole"
    return f"{what}; {without}{characters} may be more accurate"


def format_choice(search: Search) -> str:
    """Format the chosen model and its estimate on one line."""
    best = search.best.candidate
    name = f"{best.model_settings.model} {best.weighting}, {best.feature_set}"
    found = format_share(search.best.accuracy, search.best.interval, search.best.estimate)
    return f"trained {name}: estimated accuracy {found}"


def _search_names(candidate: Candidate) -> dict[str, Any]:
    settings = candidate.model_settings
    shortest, longest = candidate.features.ngrams
    features = candidate.feature_set
    if features == GIVEN:
        features = (
            " + ".join(candidate.features.view)
            or f"{candidate.features.analyzer} {shortest},{longest}"
        )
    if settings.vectors:
        features += ", vectors"
    return {"model": settings.model, "weighting": candidate.weighting, "features": features}


def search_parts(search: Search) -> Iterator[RenderableType]:
    """Yield the parts of a table of the candidates."""
    models = number_of(len(search.results), "model")
    documents = number_of(search.n_documents, "document")
    yield f"tried {models} on {documents}"
    if search.untried:
        left_out = [
            "{model} {weighting} of {features}".format_map(_search_names(each))
            for each in search.untried
        ]
        yield f"left out, because the documents and labels are too many: {'; '.join(left_out)}"
    table = new_table(
        "model",
        "features",
        search.best.metric.replace("_f1", " F1"),
        "estimate",
        texts=(0, 1),
    )
    table.columns[3].justify = "left"
    for result in search.results:
        names = _search_names(result.candidate)
        estimate = result.estimate
        if 0 < result.n_documents < search.n_documents:
            estimate += f" of only {result.n_documents:,}"
        table.add_row(
            f"{names['model']} {names['weighting']}",
            names["features"],
            format_share(result.accuracy, result.interval) if result.n_scored else "–",
            f"{estimate} {'◂' if result is search.best else ''}".rstrip(),
        )
    yield table
    if search.best.parts:
        yield f"stacked: {format_parts(search.best.parts)}"
