"""The figures of the textbooks and of scikit-learn on 20 Newsgroups, to five decimals."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nbtext.bayes.settings import ModelSettings
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.evaluation.evaluator import Evaluator
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.source_counting import count_source
from nbtext.model.source_prediction import predict_source
from nbtext.model.training import train_on_counts
from nbtext.text_classifier import TextClassifier

LATIN_1 = InputSettings(encoding="latin-1")
SMOOTHINGS = (1.0, 0.1, 0.01, 0.001)
# scikit-learn 1.9.1, by-date split, headers kept, default tokens; one for each smoothing. 0.80815
# is 6,087 of 7,532 documents, as scikit-learn has it too (noted elsewhere as 0.80819, which is not
# a whole number of documents).
FIGURES = {
    ("multinomial", "count"): (0.77284, 0.80616, 0.80390, 0.80072),
    ("complement", "count"): (0.82674, 0.81824, 0.80005, 0.78266),
    ("bernoulli", "count"): (0.63078, 0.72809, 0.75212, 0.76447),
    ("multinomial", "binary"): (0.77629, 0.81240, 0.80815, 0.80443),
}
LECTURE = ("alt.atheism", "comp.graphics", "sci.med", "soc.religion.christian")


@pytest.fixture(scope="module")
def corpus(corpora: Callable[[str], Path]) -> CorpusCounts:
    """The training half, counted once for all models."""
    source = open_source([str(corpora("20news") / "train")], LATIN_1)
    return count_source(source, FeatureSettings(), jobs=2, sample_size=100)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("model", "tf"), FIGURES, ids=str)
def test_accuracy_of_each_event_model(
    corpus: CorpusCounts, corpora: Callable[[str], Path], model: str, tf: str
) -> None:
    """Test accuracy over all twenty groups is scikit-learn's, at four smoothings."""
    found = []
    for smoothing in SMOOTHINGS:
        features = FeatureSettings(tf=tf)
        settings = ModelSettings(model=model, smoothing=smoothing, calibrate=False)
        trained = train_on_counts(corpus, features, settings)
        evaluator = Evaluator()
        source = open_source([str(corpora("20news") / "test")], LATIN_1)
        for predictions in predict_source(trained.fitted, source, jobs=2):
            evaluator.add(predictions)
        found.append(round(evaluator.evaluation().metrics["accuracy"], 5))
    assert tuple(found) == FIGURES[model, tf]
    assert len(corpus.vocabulary or ()) == 130_107


@pytest.fixture(scope="module")
def lecture(corpora: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The four groups of the lecture, as a tree of their own."""
    folder = tmp_path_factory.mktemp("lecture")
    for group in LECTURE:
        (folder / group).symlink_to(corpora("20news").resolve() / "train" / group)
    return folder


def test_lecture_bernoulli(lecture: Path) -> None:
    """Bernoulli by maximum likelihood on the 1,000 most frequent words: 0.869 on its own training
    half, and OpenGL.
    """
    options = {
        "model": "bernoulli",
        "tf": "binary",
        "smoothing": 0.0,
        "max_features": 1000,
        "calibrate": False,
    }
    classifier = TextClassifier(**options).fit_source(open_source([str(lecture)], LATIN_1))
    evaluator = Evaluator()
    for predictions in predict_source(
        classifier.fitted_, open_source([str(lecture)], LATIN_1), jobs=1
    ):
        evaluator.add(predictions)
    # 0.8693 as printed in the lecture, 0.8684 with today's scikit-learn: the cut at 1,000 words has
    # ties
    assert evaluator.evaluation().metrics["accuracy"] == pytest.approx(0.869, abs=0.0015)
    assert classifier.predict(["OpenGL on the GPU is fast"]).tolist() == ["comp.graphics"]
