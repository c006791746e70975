"""Measure the estimated shares of labels: error, and coverage of the intervals.

    python tests/benchmarks/prevalence.py [CORPUS...]
    python tests/benchmarks/prevalence.py --groups [CORPUS...]
    python tests/benchmarks/prevalence.py --several

The artificial prevalence protocol of QuaPy: shares are drawn uniformly (Dirichlet), and 500 test
documents are drawn with exactly these shares, 200 times. Each corpus is shuffled and halved, as
often as CORPORA says: a model is trained on one half, and the samples are drawn from the other. The
figures are means over all samples of all splits.

With --groups, the words of the documents differ, too: messages of 20 Newsgroups (bodies only) by
the domain of the sender, of whom the training documents have none; and 20 groups of 400 documents,
to half of which each of five words of the training documents is added, or from which so many of the
most frequent words that tell a random label from the others are removed; and documents of another
source.

With --several, each of several labels has a share, on Reuters-90: all documents are shuffled and
halved, five times, and 80 samples of 500 documents are drawn from the second halves. `unchanged`
samples are drawn as they are; in a sample of `one label`, the share of a random label with 100
documents is drawn uniformly, and only this label counts; others are as they are, but so many of the
most frequent words that tell such a label from the others are removed, and only this label counts.
Figures are means over the labels with ten training documents. No document is twice in a sample, so
some samples are smaller: copies vary less than documents do.

    error      mean absolute error of the shares
    naive      the same of counted predictions
    coverage   how many of the 95 % intervals cover the share in the sample
    width      of the intervals
"""

import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from material import (
    Labeled,
    corpus,
    imdb,
    join_halves,
    long_reviews,
    mails,
    messages,
    newsgroups,
    short_reviews,
    thai_messages,
)
from measuring import parser_with, say_head, say_row

from nbtext.text_classifier import TextClassifier

SAMPLES = 200
SIZE = 500
FIGURES = ("error", "naive", "coverage", "width")
Groups = tuple[Labeled, list[Labeled]]
# documents, and the number of splits
CORPORA: dict[str, tuple[Callable[[], Labeled], int]] = {
    "sms-spam": (messages, 5),
    "spamassassin": (mails, 5),
    "20 Newsgroups": (lambda: join_halves(newsgroups), 1),
    "IMDB": (lambda: join_halves(imdb), 1),
    "RT-s": (short_reviews, 5),
    "RT-2k": (long_reviews, 5),
    "Wisesight": (lambda: join_halves(thai_messages).join(thai_messages("valid")), 1),
}


def judge(classifier: TextClassifier, texts: Sequence[str], shares: np.ndarray) -> np.ndarray:
    """The figures of each label, of a sample in which the labels have these shares."""
    prevalence = classifier.prevalence(texts)
    estimate = prevalence.estimate
    covers = (estimate.low <= shares + 1e-12) & (shares <= estimate.high + 1e-12)
    errors = (np.abs(each - shares) for each in (estimate.shares, prevalence.naive_shares))
    return np.array([*errors, covers, estimate.high - estimate.low])


def judge_groups(training: Labeled, groups: Sequence[Labeled]) -> list[np.ndarray]:
    """The figures of each group of documents."""
    classifier = TextClassifier().fit(*training)
    labels = classifier.fitted_.labels
    found = []
    for each in groups:
        shares = np.array([each.labels.count(label) for label in labels]) / len(each.labels)
        found.append(judge(classifier, each.texts, shares))
    return found


def draw_samples(
    test: Labeled, n: int, size: int, seed: int, *, replace: bool
) -> Iterator[Labeled]:
    """Samples whose shares are drawn uniformly; documents are drawn again if there are too few, or
    if `replace`.
    """
    draw = np.random.default_rng(seed)
    labels = np.array(test.labels)
    pools = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    for _ in range(n):
        counts = draw.multinomial(size, draw.dirichlet(np.ones(len(pools))))
        drawn = [
            draw.choice(pool, n_drawn, replace=replace or n_drawn > len(pool))
            for pool, n_drawn in zip(pools, counts, strict=True)
        ]
        yield test.take(np.concatenate(drawn).tolist())


def measure_corpus(read: Callable[[], Labeled], n_splits: int) -> list[np.ndarray]:
    """The figures of the samples of all splits."""
    documents = read()
    found = []
    for seed in range(n_splits):
        training, test = documents.shuffle(random.Random(seed)).cut(0.5)
        samples = draw_samples(test, SAMPLES, SIZE, seed, replace=False)
        found += judge_groups(training, list(samples))
    return found


def split_by_domain(minimum: int, chosen: tuple[str, ...] = ()) -> Groups:
    """The messages of senders in small domains, and those of each domain with a minimum of
    messages.
    """
    documents = join_halves(newsgroups)
    domains = dict[str, list[int]]()
    for row, (text, label) in enumerate(zip(*documents, strict=True)):
        sender = re.search(r"^From:.*@([\w.-]+)", text, re.MULTILINE)
        if label in chosen or not chosen:
            domain = ".".join(sender[1].lower().split(".")[-2:]) if sender else ""
            domains.setdefault(domain, []).append(row)
    bodies = Labeled([text.partition("\n\n")[2] for text in documents.texts], documents.labels)
    large = [rows for name, rows in sorted(domains.items()) if name and len(rows) >= minimum]
    rest = [row for rows in domains.values() if rows not in large for row in rows]
    return bodies.take(rest), [bodies.take(rows) for rows in large]


MIN_RATIO = 3.0  # of the shares of documents of a label, and of others, that have a telling word


def count_documents(texts: Sequence[str]) -> Counter[str]:
    """In how many documents each word is."""
    return Counter(word for text in texts for word in set(re.findall(r"\w\w+", text.lower())))


def tell_label(texts: Sequence[str], has_label: Sequence[bool]) -> list[str]:
    """The words that tell documents of a label from others, the most frequent ones first."""
    own = [text for text, value in zip(texts, has_label, strict=True) if value]
    everywhere = count_documents(texts)
    counted = count_documents(own)
    ratio = MIN_RATIO * len(own) / (len(texts) - len(own))
    telling = [word for word, n in counted.items() if n >= ratio * (everywhere[word] - n)]
    return sorted(telling, key=lambda word: (-counted[word], word))


def remove_words(text: str, words: Sequence[str]) -> str:
    return re.sub(rf"\b(?:{'|'.join(map(re.escape, words))})\b", " ", text, flags=re.IGNORECASE)


def change_words(documents: Labeled, n_removed: int = 0) -> Groups:
    """Half of the documents, and groups of the others with other shares, from which words that tell
    a label are removed, or to which words are added.
    """
    chance = random.Random(0)
    training, test = documents.shuffle(chance).cut(0.5)
    counted = count_documents(training.texts)
    words = [word for word, n in sorted(counted.items()) if n >= 0.005 * len(training.texts)]
    labels = sorted(set(test.labels))
    groups = []
    for number, group in enumerate(draw_samples(test, 20, 400, 0, replace=True)):
        label = labels[number % len(labels)]
        telling = tell_label(training.texts, [each == label for each in training.labels])
        own = chance.sample(words, 5)
        texts = [
            remove_words(text, telling[:n_removed])
            if n_removed
            else " ".join([text, *(word for word in own if chance.random() < 0.5)])
            for text in group.texts
        ]
        groups.append(Labeled(texts, group.labels))
    return training, groups


RELIGION = ("alt.atheism", "soc.religion.christian", "talk.religion.misc")
GROUPED: dict[str, Callable[[], Groups]] = {
    "20 Newsgroups, domains": lambda: split_by_domain(100),
    "religion in 20 Newsgroups, domains": lambda: split_by_domain(20, RELIGION),
    "sms-spam, words added": lambda: change_words(messages()),
    "RT-s, words added": lambda: change_words(short_reviews()),
    "spamassassin, words added": lambda: change_words(mails()),
    "sms-spam, words removed": lambda: change_words(messages(), 6),
    "RT-s, words removed": lambda: change_words(short_reviews(), 6),
    "spamassassin, words removed": lambda: change_words(mails(), 6),
    "religion in 20 Newsgroups, words removed": lambda: change_words(
        split_by_domain(10**6, RELIGION)[0], 6
    ),
    "RT-s, then RT-2k and IMDB": lambda: (short_reviews(), [long_reviews(), imdb("test")]),
    "IMDB, then RT-s and RT-2k": lambda: (imdb("train"), [short_reviews(), long_reviews()]),
}

SPLITS_OF_SEVERAL = 5
SAMPLES_OF_SEVERAL = 80
MIN_DOCUMENTS = 10  # of a label that counts
MIN_POOL = 100  # a smaller pool has only small samples
REMOVED = (3, 6, 20)  # words


def measure_several(seed: int, results: dict[str, list[np.ndarray]]) -> None:
    """Add the figures of one split, of each kind of samples."""
    folder = corpus("reuters-90")
    records = [
        json.loads(line) for name in ("train", "test") for line in (folder / f"{name}.jsonl").open()
    ]
    random.Random(seed).shuffle(records)
    half = len(records) // 2
    texts = [record["text"] for record in records]
    classifier = TextClassifier().fit(texts[:half], [record["labels"] for record in records[:half]])
    labels = classifier.fitted_.labels
    is_given = np.array([[label in record["labels"] for label in labels] for record in records])
    has_label = is_given[half:]
    is_counted = is_given[:half].sum(axis=0) >= MIN_DOCUMENTS
    pools = np.flatnonzero(has_label.sum(axis=0) >= MIN_POOL)
    draw = np.random.default_rng(seed)

    def add(name: str, test: Sequence[str], rows: np.ndarray, counted: np.ndarray | int) -> None:
        sample = [test[row] for row in rows.tolist()]
        figures = judge(classifier, sample, has_label[rows].mean(axis=0))
        results.setdefault(name, []).append(figures[:, counted].reshape(len(FIGURES), -1))

    test = texts[half:]
    for _ in range(SAMPLES_OF_SEVERAL):
        add("unchanged", test, draw.choice(len(test), SIZE, replace=False), is_counted)
        k = int(draw.choice(pools))
        share = draw.random()
        without, with_label = (np.flatnonzero(has_label[:, k] == value) for value in (False, True))
        size = int(min(SIZE, len(with_label) / share))
        n = min(len(with_label), draw.binomial(size, share))
        parts = [
            draw.choice(pool, n_drawn, replace=False)
            for pool, n_drawn in ((without, size - n), (with_label, n))
        ]
        add("one label", test, np.concatenate(parts), k)
    for k in pools.tolist():
        telling = tell_label(texts[:half], is_given[:half, k].tolist())
        for n_removed in REMOVED:
            shorter = [remove_words(text, telling[:n_removed]) for text in test]
            for _ in range(SAMPLES_OF_SEVERAL // len(pools)):
                drawn = draw.choice(len(test), SIZE, replace=False)
                add(f"without {n_removed} words of a label", shorter, drawn, k)


def say_figures(name: str, found: Sequence[np.ndarray]) -> None:
    means = np.concatenate(found, axis=1).mean(axis=1)
    say_row([name, len(found), *(f"{figure:.4f}" for figure in means)])


def main() -> None:
    """Print a row for each corpus, or for each kind of samples."""
    parser = parser_with(__doc__)
    parser.add_argument("corpora", nargs="*")
    parser.add_argument("--groups", action="store_true")
    parser.add_argument("--several", action="store_true")
    given = parser.parse_args()
    say_head("corpus", "samples", *FIGURES)
    if given.several:
        results: dict[str, list[np.ndarray]] = {}
        for seed in range(SPLITS_OF_SEVERAL):
            measure_several(seed, results)
        for name, found in results.items():
            say_figures(name, found)
    elif given.groups:
        for name in given.corpora or GROUPED:
            say_figures(name, judge_groups(*GROUPED[name]()))
    else:
        for name in given.corpora or CORPORA:
            say_figures(name, measure_corpus(*CORPORA[name]))


if __name__ == "__main__":
    main()
