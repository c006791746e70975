"""Label noise: flipped labels are ranked first, and their share is estimated."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from corpora_by_hand import sample_of
from numpy.typing import NDArray

from nbtext.applications.review import label_noise
from nbtext.applications.review.label_noise import LabelNoise, estimate_label_noise
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.features.document_table import DocumentTable
from nbtext.features.settings import FeatureSettings
from nbtext.model.source_counting import count_source

Flipped = tuple[NDArray[np.int32], NDArray[np.bool_]]


class Corpus(NamedTuple):
    """Documents, and their true labels."""

    documents: DocumentTable
    classes: NDArray[Any]
    n_features: int

    def judge(self, given: NDArray[Any]) -> LabelNoise:
        """The noise of the given labels."""
        documents = replace(self.documents, classes=given.astype(np.int32))
        n_classes = int(max(given.max(), self.classes.max())) + 1
        return estimate_label_noise(documents, self.n_features, n_classes)[0]


def made_corpus(n_classes: int, n_documents: int, seed: int = 0) -> Corpus:
    """Documents of 3 to 60 words; each class prefers words of its own."""
    random = np.random.default_rng(seed)
    n_features = 40 * n_classes
    classes = random.integers(0, n_classes, n_documents)
    weights = np.ones((n_classes, n_features))
    for k in range(n_classes):
        weights[k, 40 * k : 40 * (k + 1)] = 6
    weights /= weights.sum(axis=1, keepdims=True)
    counts = np.stack([random.multinomial(random.integers(3, 60), weights[k]) for k in classes])
    return Corpus(sample_of(counts, classes), classes, n_features)


def flip(classes: NDArray[Any], share: float, n_classes: int, *, seed: int = 0) -> Flipped:
    """Other labels for a share of the documents."""
    random = np.random.default_rng(seed)
    is_flipped = np.zeros(len(classes), dtype=bool)
    is_flipped[random.choice(len(classes), round(share * len(classes)), replace=False)] = True
    given = classes.astype(np.int32).copy()
    given[is_flipped] = (
        given[is_flipped] + random.integers(1, n_classes, is_flipped.sum())
    ) % n_classes
    return given, is_flipped


def average_precision(
    noise: LabelNoise, given: NDArray[np.int32], is_flipped: NDArray[np.bool_]
) -> float:
    """The average precision of ranking documents by the probability that their label is wrong."""
    from sklearn.metrics import average_precision_score

    wrong = np.zeros(len(given))
    wrong[noise.rows] = noise.wrong
    return float(average_precision_score(is_flipped, wrong))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
def test_flipped_labels_are_found(n_classes: int, share: float) -> None:
    """The share of wrong labels is estimated to 0.02, and the flipped ones are ranked first."""
    corpus = made_corpus(n_classes, 1500)
    given, is_flipped = flip(corpus.classes, share, n_classes)
    noise = corpus.judge(given)
    assert noise.n_wrong == pytest.approx(share * 1500, abs=30)
    assert ((noise.wrong >= 0) & (noise.wrong <= 1)).all()
    if share:
        assert average_precision(noise, given, is_flipped) > 0.95


def test_duplicates_do_not_hide_an_error() -> None:
    """All copies of a wrongly labeled document are left out together, so they do not confirm each
    other.
    """
    documents, classes, n_features = made_corpus(2, 600)
    copies = documents.take(np.array([*range(600), 0, 0, 0, 0], dtype=np.int64))
    given = np.append(classes, [classes[0]] * 4).astype(np.int32)
    given[[0, 600, 601, 602, 603]] = 1 - classes[0]
    noise = Corpus(copies, classes, n_features).judge(given)
    own = noise.wrong[np.isin(noise.rows, [0, 600, 601, 602, 603])]
    assert len(own) == 5
    assert (own > 0.5).all()


def test_a_document_that_is_alone_with_its_label_is_not_judged() -> None:
    """The only document of a label cannot be left out; if no document can, nothing is judged."""
    corpus = made_corpus(2, 40)
    given = corpus.classes.copy()
    given[7] = 2
    noise = corpus.judge(given)
    assert sorted(noise.rows.tolist()) == [row for row in range(40) if row != 7]
    few = corpus._replace(documents=corpus.documents.take(np.arange(2)))
    none = few.judge(np.array([0, 1]))
    assert (len(none.rows), none.n_judged) == (0, 0)


def test_a_document_keeps_its_most_probable_labels_and_its_own() -> None:
    """64 of 100 labels and the given one, so that memory is bounded; a given label that is kept
    twice counts once.
    """
    posterior = np.random.default_rng(0).dirichlet(np.ones(100), 20)
    order = np.argsort(posterior)
    given = np.append(order[:10, 0], order[10:, -1]).astype(np.int32)
    labels, values = label_noise.keep_best(posterior, given)
    assert (labels[:, :-1] == np.sort(order[:, -64:])).all()
    assert (labels[:, -1] == given).all()
    kept = np.take_along_axis(posterior, labels, axis=1)
    kept[10:, -1] = 0
    np.testing.assert_array_equal(values, kept)


def test_flipped_labels_of_short_messages(corpora: Any) -> None:
    """SMS: 10 % flipped labels are ranked with an average precision of 0.98."""
    path = str(corpora("sms-spam") / "SMSSpamCollection")
    settings = InputSettings(input_format="tsv", text_field=("2",), label_field="1")
    counts = count_source(
        open_source([path], settings), FeatureSettings(), jobs=1, sample_size=None
    )
    classes = counts.sample.classes
    corpus = Corpus(counts.sample, classes, counts.statistics.n_features)
    assert corpus.judge(classes).n_wrong <= 0.01 * len(classes)
    for share in (0.05, 0.1, 0.2):
        given, is_flipped = flip(classes, share, 2)
        noise = corpus.judge(given)
        assert noise.n_wrong / len(classes) == pytest.approx(share, abs=0.01)
        assert share != 0.1 or average_precision(noise, given, is_flipped) >= 0.98


def test_the_noise_is_that_of_dawid_and_skene() -> None:
    """The estimate equals a dense one, in loops: pseudo-counts, start and number of iterations
    included.
    """
    random = np.random.default_rng(5)
    n = 40
    k = 3
    posterior = random.dirichlet([0.3] * k, n)
    given = random.integers(0, k, n).astype(np.int32)
    labels = np.broadcast_to(np.arange(k, dtype=np.int32), posterior.shape)
    likely, wrongs, rate = label_noise.estimate_noise(posterior, labels, given, k)
    noise = [[0.95 * (t == g) + 0.05 / k for g in range(k)] for t in range(k)]
    for _ in range(30):
        joint = [[posterior[i][t] * noise[t][given[i]] for t in range(k)] for i in range(n)]
        responsibility = [[each / sum(row) for each in row] for row in joint]
        table = [
            [sum(responsibility[i][t] for i in range(n) if given[i] == g) for g in range(k)]
            for t in range(k)
        ]
        wrong = 1 - sum(table[t][t] for t in range(k)) / n
        prior = [
            [5 * k * (1 - wrong if t == g else wrong / (k - 1)) for g in range(k)] for t in range(k)
        ]
        noise = [
            [(table[t][g] + prior[t][g]) / (sum(table[t]) + 5 * k) for g in range(k)]
            for t in range(k)
        ]
    expected = [1 - row[g] for row, g in zip(responsibility, given, strict=True)]
    assert wrongs == pytest.approx(expected, rel=1e-9)
    assert likely.tolist() == [row.index(max(row)) for row in responsibility]
    assert rate == pytest.approx(1 - sum(table[t][t] for t in range(k)) / n, rel=1e-9)


def test_of_equally_probable_labels_the_given_one_is_likely() -> None:
    """A person can do nothing with an error that is a coin toss; labels are treated alike, whatever
    their order.
    """
    posterior = np.full((2, 2), 0.5)
    labels = np.array([[0, 1], [0, 1]], dtype=np.int32)
    likely, wrong, _ = label_noise.estimate_noise(
        posterior, labels, np.array([0, 1], dtype=np.int32), 2
    )
    assert likely.tolist() == [0, 1]
    assert (wrong <= 0.5).all()
