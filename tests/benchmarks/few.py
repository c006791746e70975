"""The default model with few documents of each label, with and without the choice that it makes
only there.

    python tests/benchmarks/few.py [--sizes 5,10,20,30,50,100] [--draws N] [--models NAME,...]
    [CORPUS...]

Each draw has as many random documents of each label of the training documents; its models are
tested on the test documents of the corpus, the same for all draws. Prints a Markdown table: the
mean accuracy of the default model without Dirichlet smoothing among its candidates, that of the
default model, the mean of their paired differences with its standard error, how often the default
model is one with Dirichlet smoothing, and the mean accuracies of the models that are named. Of 20
Newsgroups and IMDB, 5,000 random test documents are used. results/few.md has a run.
"""

import argparse
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from protocols import (
    SMS_TRAINING_SHARE,
    Labeled,
    Split,
    first_share,
    halves,
    imdb,
    messages,
    newsgroups,
    questions,
    random_splits,
    short_reviews,
)
from search import measure_accuracy, print_head, print_row

from nbtext.bayes import few_documents
from nbtext.bayes.settings import AUTO, FEW_DOCUMENTS_MODEL, ModelSettings
from nbtext.documents.batch import Batch
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.training import train_on_counts

N_TEST = 5000
COLUMNS = ("corpus", "a label", "without", "default", "difference", "standard error", "Dirichlet")


SPLITS: Mapping[str, Callable[[], Split]] = {
    "banking77": lambda: halves(questions)[0],
    "20news": lambda: halves(newsgroups)[0],
    "imdb": lambda: halves(imdb)[0],
    "sms-spam": lambda: first_share(messages(), SMS_TRAINING_SHARE)[0],
    "rt-s": lambda: random_splits(short_reviews())[0],
}


def draw(documents: Labeled, size: int, seed: int) -> Labeled:
    """Return as many random documents of each label; all of a label that has fewer."""
    rows = random.Random(seed).sample(range(len(documents.labels)), len(documents.labels))
    counted = {}
    chosen = []
    for row in rows:
        counted[documents.labels[row]] = counted.get(documents.labels[row], 0) + 1
        if counted[documents.labels[row]] <= size:
            chosen.append(row)
    return documents.taken(chosen)


def train(training: Labeled, model: str = AUTO) -> TrainedModel:
    features = FeatureSettings()
    counter = CorpusCounter(features, sample_size=None)
    counter.add(Batch([""] * len(training.texts), (training.texts,), list(training.labels)))
    return train_on_counts(counter.finish(), features, ModelSettings(model=model))


@contextmanager
def without_choice() -> Iterator[None]:
    """No number of documents is few."""
    maximum = few_documents.MAX_DOCUMENTS
    few_documents.MAX_DOCUMENTS = 0
    try:
        yield
    finally:
        few_documents.MAX_DOCUMENTS = maximum


def compare(name: str, sizes: Sequence[int], n_draws: int, models: Sequence[str]) -> None:
    training, test = SPLITS[name]()
    tested = test.taken(
        random.Random(0).sample(range(len(test.texts)), min(N_TEST, len(test.texts)))
    )
    for size in sizes:
        figures = []
        for seed in range(n_draws):
            documents = draw(training, size, seed)
            with without_choice():
                before = measure_accuracy(train(documents), tested)
            default = train(documents)
            others = [measure_accuracy(train(documents, model), tested) for model in models]
            is_dirichlet = default.fitted.model_settings.model == FEW_DOCUMENTS_MODEL
            figures.append((before, measure_accuracy(default, tested), is_dirichlet, *others))
        without, own, chosen, *others = map(statistics.fmean, zip(*figures, strict=True))
        differences = [after - before for before, after, *_ in figures]
        error = statistics.stdev(differences) / n_draws**0.5 if n_draws > 1 else float("nan")
        shown = (
            f"{without:.4f}",
            f"{own:.4f}",
            f"{own - without:+.4f}",
            f"{error:.4f}",
            f"{chosen * n_draws:.0f}",
        )
        print_row((name, str(size), *shown, *(f"{each:.4f}" for each in others)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="*", default=list(SPLITS))
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(size) for size in text.split(",")],
        default=[5, 10, 20, 30, 50, 100],
    )
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--models", type=lambda text: text.split(","), default=[])
    arguments = parser.parse_args()
    print_head((*COLUMNS, *arguments.models))
    for name in arguments.corpora:
        compare(name, arguments.sizes, arguments.draws, arguments.models)


if __name__ == "__main__":
    main()
