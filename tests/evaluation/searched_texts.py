"""Small corpora for model searches, and functions that count them."""

from collections.abc import Callable, Sequence
from random import Random

from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.evaluation.search import Candidate, Search, list_candidates, search_model
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts

MARKS = r"\w+|[^\w\s]"
TEXTS = [
    f"{'red' if i % 2 else 'blue'} {'apple pie' if i % 3 else 'berry jam'} number{i % 7}"
    for i in range(40)
]
LABELS = ["red" if i % 2 else "blue" for i in range(40)]
COUNT = Callable[[FeatureSettings], CorpusCounts]


def counting(
    texts: list[str],
    labels: Sequence[str | tuple[str, ...]],
    readings: list[FeatureSettings] | None = None,
) -> COUNT:
    """A function that counts these documents; it lists what it was asked to count."""

    def count(features: FeatureSettings) -> CorpusCounts:
        if readings is not None:
            readings.append(features)
        counter = CorpusCounter(features, sample_size=None)
        counter.add(Batch(list(map(str, range(len(texts)))), (texts,), list(labels)))
        return counter.finish()

    return count


def usual(
    *given: str, features: FeatureSettings | None = None, model: ModelSettings | None = None
) -> list[Candidate]:
    return list_candidates(features or FeatureSettings(), model or ModelSettings(), given)


def raced(
    *given: str, features: FeatureSettings | None = None, model: ModelSettings | None = None
) -> list[Candidate]:
    """The usual candidates without stacks, so that the others are compared."""
    return [each for each in usual(*given, features=features, model=model) if not each.is_stacked]


def found(
    texts: list[str],
    labels: Sequence[str | tuple[str, ...]],
    *,
    jobs: int = 1,
    candidates: list[Candidate] | None = None,
) -> Search:
    candidates = usual() if candidates is None else candidates
    return search_model(candidates, counting(texts, labels), jobs=jobs)


def made_corpus(n: int, n_words: int, seed: int = 1) -> tuple[list[str], list[str]]:
    """Documents of words whose frequencies depend on the label."""
    random = Random(seed)
    labels = [f"class {i % 3}" for i in range(n)]
    vocabulary = [f"word{k}" for k in range(300)]
    weights = {label: [random.random() ** 4 for _ in vocabulary] for label in set(labels)}
    return [
        " ".join(random.choices(vocabulary, weights[label], k=n_words)) for label in labels
    ], labels
