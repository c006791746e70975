"""Looking into models: by hand, and on the corpora of the textbooks."""

from collections import Counter
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.documents.batch import join_batches
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import SettingsError
from nbtext.features.selection import chi_squared, mutual_information
from nbtext.features.settings import FeatureSettings
from nbtext.model.inspection import Inspection, Inspector, inspect_matrix, inspect_model
from nbtext.model.matrices import vectorize_source
from nbtext.model.settings import CRITERIA
from nbtext.text_classifier import TextClassifier

LECTURE = ("alt.atheism", "comp.graphics", "sci.med", "soc.religion.christian")
CHINA = (
    ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"],
    ["china", "china", "china", "japan"],
)


def inspect(classifier: TextClassifier, **options: Any) -> Inspection:
    return inspect_model(classifier.model_, **options)


@pytest.fixture(scope="module")
def lecture(corpora: Callable[[str], Path]) -> TextClassifier:
    """Bernoulli over the four groups of the lecture."""
    folders = [str(corpora("20news").resolve() / "train" / group) for group in LECTURE]
    texts = []
    labels = []
    for folder in folders:
        settings = InputSettings(encoding="latin-1", input_format="files")
        batch = join_batches(list(open_source([folder], settings).batches()))
        texts += batch.columns[0]
        labels += [Path(folder).name] * len(batch)
    return TextClassifier(model="bernoulli", smoothing=1.0).fit(texts, labels)


def test_the_textbook() -> None:
    """Manning, Raghavan, Schütze 2008, example 13.1: P(Chinese | china) = 6/14, and 2/9 in the
    other class.
    """
    found = inspect(
        TextClassifier(smoothing=1.0).fit(*CHINA), by="log-odds", words=["CHINESE", "unheard"]
    )
    assert (found.documents, found.n_labels, found.n_features, found.occurrences) == (4, 2, 6, 11)
    chinese, unheard = found.words
    assert (chinese.feature, unheard.feature) == ("chinese", None)
    (label, china), (_, japan) = chinese.classes
    assert (label, china.occurrences, china.documents, japan.occurrences) == ("china", 5, 3, 1)
    assert china.log_odds == pytest.approx(log(6 / 14) - log(2 / 9))
    assert [view.prior for view in found.labels] == pytest.approx([3 / 4, 1 / 4])
    assert found.chosen_by == "given"


@pytest.mark.parametrize("model", EVENT_MODELS)
@pytest.mark.parametrize("by", CRITERIA)
def test_every_model_by_every_criterion(model: str, by: str) -> None:
    """The features of a label come in falling order of the criterion."""
    texts = [
        f"{word} {word} and some {other}"
        for word in ("red", "green", "blue")
        for other in ("sea", "sun")
    ] * 2
    view = ("word:1",) if model == "combined" else ()
    classifier = TextClassifier(model=model, view=view).fit(
        texts, [text.split()[0] for text in texts]
    )
    field = {"mi": "mutual_information", "chi2": "chi_squared", "frequency": "occurrences"}.get(
        by, by.replace("-", "_")
    )
    for label in inspect(classifier, by=by).labels:
        values = [getattr(feature, field) for feature in label.features]
        assert values == sorted(values, reverse=True)
        assert label.features
        if by != "frequency":
            assert label.features[0].feature.removeprefix("word:1=") == label.label


def test_selected_features_and_a_given_vocabulary() -> None:
    """Counts stand beside the features that are left, whatever was left out."""
    texts, labels = CHINA
    whole = {
        f.feature: f.occurrences
        for f in inspect(TextClassifier().fit(texts, labels), by="frequency").labels[0].features
    }
    selected = inspect(TextClassifier(min_df=2).fit(texts, labels), by="frequency")
    given = inspect(
        TextClassifier(vocabulary=("chinese", "macao", "never")).fit(texts, labels), by="frequency"
    )
    assert [(f.feature, f.occurrences) for f in selected.labels[0].features] == [
        ("chinese", whole["chinese"])
    ]
    assert [f.feature for f in given.labels[0].features] == ["chinese", "macao"]
    assert given.n_features == 3


def test_hashed_features() -> None:
    """They have numbers for names; a word is looked up by its column."""
    found = inspect(
        TextClassifier(hash_bits=10, smoothing=1.0).fit(*CHINA), by="frequency", words=["Chinese"]
    )
    (word,) = found.words
    assert word.feature == found.labels[0].features[0].feature
    assert word.feature is not None
    assert word.feature.startswith("#")
    assert word.classes[0][1].occurrences == 5


def test_a_label_that_is_unknown() -> None:
    """The error names the one that was meant."""
    with pytest.raises(SettingsError, match="did you mean china"):
        inspect(TextClassifier().fit(*CHINA), labels=["chian"])


@pytest.mark.parametrize(
    "model", ["multinomial", "dirichlet", "bernoulli", "complement", "categorical"]
)
def test_confused_labels_are_those_of_refits(model: str) -> None:
    """Each document asked of a model of all documents with other words, under the prior of all: the
    pairs are those that go wrong, no more.
    """
    words = np.array(["red", "round", "long", "sweet", "sour", "green"])
    generator = np.random.default_rng(7)
    texts = [" ".join(generator.choice(words, size=4)) for _ in range(40)]
    labels = [str(label) for label in generator.choice(["apple", "banana", "cherry"], size=40)]
    settings: dict[str, Any] = {
        "model": model,
        "smoothing": 0.5,
        "vocabulary": tuple(sorted(words)),
    }
    counted: Counter[tuple[str, str]] = Counter()
    numbers = Counter(labels)
    prior = tuple(numbers[label] / len(labels) for label in sorted(numbers))
    of_all = {} if model == "complement" else {"prior": prior}
    for i in range(len(texts)):
        kept = [
            n for n, text in enumerate(texts) if Counter(text.split()) != Counter(texts[i].split())
        ]
        others = TextClassifier(**settings, **of_all)
        others.fit([texts[n] for n in kept], [labels[n] for n in kept])
        counted[labels[i], str(others.predict([texts[i]])[0])] += 1
    found = inspect(TextClassifier(**settings).fit(texts, labels)).confused
    assert len(found) == 3
    for pair in found:
        assert pair.first_as_second == counted[pair.first, pair.second]
        assert pair.second_as_first == counted[pair.second, pair.first]
    totals = [pair.first_as_second + pair.second_as_first for pair in found]
    assert totals == sorted(totals, reverse=True)


def test_the_confused_pairs_of_a_label(lecture: TextClassifier) -> None:
    """Of four labels all pairs are there, and make up all that goes wrong; a label's own pairs are
    asked for.
    """
    whole = inspect(lecture)
    assert whole.expected is not None
    wrong = sum(pair.first_as_second + pair.second_as_first for pair in whole.confused)
    assert wrong == round((1 - whole.expected["accuracy"]) * 2257)
    of_medicine = inspect(lecture, labels=["sci.med"]).confused
    assert of_medicine == tuple(
        pair for pair in whole.confused if "sci.med" in (pair.first, pair.second)
    )
    assert 0 < len(of_medicine) < len(whole.confused)


def test_information_is_that_of_the_selection(lecture: TextClassifier) -> None:
    """Mutual information and chi-squared are what --select goes by."""
    inspector = Inspector(lecture.model_)
    statistics = lecture.counts_.statistics
    by_information = inspect(lecture, by="mi", n_features=1)
    expected = mutual_information(statistics.entries, statistics.class_documents)
    best = max(
        feature.mutual_information for label in by_information.labels for feature in label.features
    )
    assert best == expected.max()
    np.testing.assert_array_equal(inspector.mutual_information, expected)
    np.testing.assert_array_equal(
        inspector.chi_squared,
        chi_squared(statistics.entries, statistics.occurrences, statistics.class_documents),
    )


def test_a_matrix(tmp_path: Path) -> None:
    """Its shape, what its entries are, its labels and what was not as usual when it was made."""
    (tmp_path / "texts.csv").write_text("text,label\nred sun,warm\nblue sea,cold\nblue blue,cold\n")
    matrix = vectorize_source(
        open_source([str(tmp_path / "texts.csv")], InputSettings()), FeatureSettings(ngrams=(1, 2))
    )
    found = inspect_matrix(matrix)
    assert (found.documents, found.features, found.entries, found.kind) == (3, 7, 8, "counts")
    assert found.labels == (("cold", 2), ("warm", 1))
    assert list(found.settings) == ["ngrams"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model": "dirichlet"},
        {"model": "bernoulli"},
        {"model": "complement"},
        {"model": "complement", "normalize_weights": True},
        {"model": "categorical"},
        {"model": "nbsvm"},
    ],
    ids=str,
)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_best_features_are_those_of_a_full_ranking(options: dict[str, Any], seed: int) -> None:
    """By log-odds, features that a class does not hold are ranked too: in a small class, some are
    likelier than elsewhere.
    """
    random = np.random.default_rng(seed)
    words = np.array([f"w{j}" for j in range(40)])
    texts = []
    labels = []
    for k in range(8):
        for _ in range(3):
            texts.append(" ".join(random.choice(words[: 5 * (k + 1)], size=1 + 3 * k)))
            labels.append(f"k{k}")
    model = TextClassifier(**options).fit(texts, labels)
    inspector = Inspector(model.model_)
    statistics = model.counts_.statistics
    dense = model.fitted_.scorer.derivation is None
    for k in range(8):
        every = np.arange(statistics.n_features)
        views = list(inspector.views(k, every))
        assert [view.log_odds for view in views] == inspector.log_odds(k).tolist()
        if dense:
            weights = model.fitted_.scorer.weights()
            others = np.delete(weights, k, axis=0).mean(axis=0)
            np.testing.assert_allclose(inspector.log_odds(k), weights[k] - others, atol=1e-9)
        for by, values in (
            ("z", [view.z if view.occurrences else 0.0 for view in views]),
            ("log-odds", [view.log_odds for view in views]),
            ("frequency", [view.occurrences for view in views]),
        ):
            scores = np.array(values)
            for n in (1, 3, 40):
                order = np.argsort(-scores, kind="stable")[:n]
                found = inspector.best(k, by, n)
                np.testing.assert_allclose(
                    scores[found], scores[order[scores[order] > 0]], atol=1e-12
                )
