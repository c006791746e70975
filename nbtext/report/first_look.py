"""A first look at labeled documents: what somebody should know of them before they trust a
figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nbtext.bayes.diagnostics import Interval
from nbtext.errors import list_some, number_of, printable
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.tasks import TASKS
from nbtext.records import frozen
from nbtext.registry import has_application, load_method, offer
from nbtext.report.label_mistakes import find_mistakes
from nbtext.report.training import format_share

REPEATED = 0.1  # share of documents that repeat another one, or nearly so, from which it is said
# documents among which near duplicates are searched, which takes 1 % of the time of training
SEARCHED = 5120
PRIOR_ONLY = "the label is that of an empty document"
COMPARED = 20  # documents, from which shares and accuracies say something
DOMINANT_SHARE = 0.6  # share of the largest label, from which accuracy alone says little


@frozen
class FirstLook:
    """Counts of labeled documents.

    documents      number of documents
    labels         number of documents with each label
    empty          number of documents without a token, or, of a model, without a known word
    repeated       number of documents that repeat another one, and number of documents among which
                   they were counted
    near           about which share of the texts are near duplicates of another one
    has_one_label  whether each document has exactly one label
    is_training    whether a model is trained on them, so that a label with one document matters
    """

    documents: int
    labels: Mapping[str, int]
    empty: int = 0
    repeated: tuple[int, int] = (0, 0)
    near: float = 0.0
    has_one_label: bool = True
    is_training: bool = True


def look_at(counts: CorpusCounts, views: Sequence[str] = ()) -> FirstLook:
    """Return the counts of a corpus; repeated documents are counted in its sample.

    views  the names of its views
    """
    statistics = counts.statistics
    empty = counts.empty_documents or {}
    hashes = counts.sample.hashes[counts.sample.indptr[1:] > counts.sample.indptr[:-1]]
    n_repeated = int((hashes[1:] == hashes[:-1]).sum())  # the hashes of a sample ascend
    if counts.sample.weights is not None:  # a soft label is several documents of one text
        n_repeated = 0
    return FirstLook(
        int(statistics.n_documents),
        dict(zip(counts.labels, statistics.class_documents.tolist(), strict=True)),
        int(sum(empty.values())),
        (n_repeated, len(hashes)),
        _estimate_near(counts, views),
        TASKS[counts.task].has_one_label,
    )


def _estimate_near(counts: CorpusCounts, views: Sequence[str]) -> float:
    """Return about which share of the texts are near duplicates, by the features of the first
    view; 0 without the application that finds them.
    """
    from nbtext.features.vocabulary import find_views

    if not has_application("review"):
        return 0.0
    sample = counts.sample.first(SEARCHED)
    sample = sample.filter(sample.indptr[1:] > sample.indptr[:-1])
    if len(sample) < COMPARED:
        return 0.0
    if views and counts.vocabulary is not None:
        sample = sample.filter_entries(sample.indices < find_views(counts.vocabulary, views)[1])
    n_documents = counts.statistics.n_documents - sum((counts.empty_documents or {}).values())
    estimate: float = load_method("estimate_near_duplicates")(
        sample, counts.statistics.n_features, min(1.0, len(sample) / n_documents)
    )
    return estimate


def format_first_look(
    look: FirstLook,
    accuracy: tuple[float, Interval] | None = None,
    *,
    name: str = "accuracy",
    recalls: Mapping[str, float] | None = None,
) -> list[str]:
    """Format what there is to say about labeled documents; nothing if there is nothing to say.

    accuracy  that of a model on such documents, and its interval; None: not known, or not what the
              model was trained for
    name      of the accuracy
    recalls   of the labels that the documents have; None: not known
    """
    lines = []
    if look.empty:
        hold = "holds" if look.empty == 1 else "hold"
        what = "token" if look.is_training else "known word"
        lines.append(
            f"{look.empty:,} of {number_of(look.documents, 'document')} {hold} no {what}: {PRIOR_ONLY}"
        )
    single = sorted(label for label, n in look.labels.items() if n == 1)
    if single and len(look.labels) > 1 and look.is_training:
        names = list_some(map(printable, single))
        lines.append(f"{number_of(len(single), 'label')} with only one document: {names}")
    if look.is_training:
        lines += find_mistakes(look.labels, has_one_label=look.has_one_label)
    n_repeated, n_compared = look.repeated
    if n_compared >= COMPARED and n_repeated >= REPEATED * n_compared:
        repeated = f"{n_repeated / n_compared:.0%} of the documents"
        where = offer("review", "; nbtext review lists them, and near duplicates")
        lines.append(f"{repeated} repeat the words of another one{where}")
    if look.near >= REPEATED:
        lines.append(
            f"about {look.near:.0%} of the texts are nearly equal to another one, so an accuracy that is estimated on "
            "them is too high for new texts; nbtext review lists them, and evaluate --group-field keeps documents of "
            "one origin together"
        )
    if not look.has_one_label or len(look.labels) < 2 or look.documents < COMPARED:
        return lines
    largest = min(look.labels, key=lambda label: (-look.labels[label], label))
    share = look.labels[largest] / max(1, look.documents)
    always = f"always naming the largest label, {printable(largest)}"
    value, interval = accuracy or (1.0, None)
    if interval is not None and interval[0] <= share:
        chance = 1 / len(look.labels)  # the mean recall of one label always, or of any guess
        recall = 0.0  # the mean of the labels, less two standard errors at most
        if recalls:
            variance = sum(1 / (4 * look.labels[label]) for label in recalls)
            recall = (sum(recalls.values()) - 2 * variance**0.5) / len(recalls)
        rank = "significantly above" if value > share else "above"
        but = f", but the mean recall of the labels is above that of any guess, {chance:.4f}"
        lines.append(
            f"the {name} {format_share(value, interval)} is not {rank} {share:.4f}, that of {always}"
            f"{but if recall > chance else ''}"
        )
    elif share >= DOMINANT_SHARE:
        lines.append(f"{always}, has the accuracy {share:.4f}")
    return lines
