"""Measure the estimated shares of labels: error, and coverage of the intervals.

    python tests/benchmarks/prevalence.py [CORPUS...]
    python tests/benchmarks/prevalence.py --groups
    python tests/benchmarks/prevalence.py --several

The artificial prevalence protocol of QuaPy: shares are drawn uniformly (Dirichlet), and 500 test
documents are drawn with exactly these shares, 200 times. Each corpus is shuffled and halved, as
often as SPLITS says: a model is trained on one half, and the samples are drawn from the other. The
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
"""

import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from material import MissingCorpusError, corpus
from numpy.typing import NDArray
from protocols import (
    Labeled,
    imdb,
    joined,
    long_reviews,
    mails,
    messages,
    newsgroups,
    short_reviews,
    thai_messages,
)
from table import markdown

from nbtext.applications.prevalence.shares import MIN_LEFT_OUT_DOCUMENTS, PosteriorSums
from nbtext.text_classifier import TextClassifier

SAMPLES = 200
SIZE = 500
# documents, number of splits, largest error
CORPORA: dict[str, tuple[Callable[[], Labeled], int, float | None]] = {
    "sms-spam": (messages, 5, 0.012),
    "spamassassin": (mails, 5, 0.007),
    "20 Newsgroups": (lambda: joined(newsgroups), 1, 0.005),
    "IMDB": (lambda: joined(imdb), 1, 0.02),
    "RT-s": (short_reviews, 5, None),
    "RT-2k": (long_reviews, 5, None),
    "Wisesight": (thai_messages, 1, None),
}


def measure(documents: Labeled, seed: int) -> list[tuple[float, ...]]:
    """Return error, naive error and coverage of each sample of one split."""
    rows = list(range(len(documents.texts)))
    random.Random(seed).shuffle(rows)
    training = documents.taken(rows[: len(rows) // 2])
    test = documents.taken(rows[len(rows) // 2 :])
    classifier = TextClassifier().fit(training.texts, training.labels)
    labels = classifier.fitted_.labels
    classes = np.array([labels.index(label) for label in test.labels])
    pools = [np.flatnonzero(classes == k) for k in range(len(labels))]
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(SAMPLES):
        counts = rng.multinomial(SIZE, rng.dirichlet(np.ones(len(labels))))
        drawn = np.concatenate(
            [
                rng.choice(pool, n, replace=n > len(pool))
                for pool, n in zip(pools, counts, strict=True)
            ]
        )
        shares = np.bincount(classes[drawn], minlength=len(labels)) / SIZE
        prevalence = classifier.prevalence([test.texts[row] for row in drawn.tolist()])
        estimate = prevalence.estimate
        naive = prevalence.predicted / SIZE
        found.append(
            (
                np.abs(estimate.shares - shares).mean(),
                np.abs(naive - shares).mean(),
                ((estimate.low <= shares) & (shares <= estimate.high)).mean(),
            )
        )
    return found


def by_domain(minimum: int, chosen: tuple[str, ...] = ()) -> tuple[Labeled, list[Labeled]]:
    """The messages of senders in small domains, and those of each domain with a minimum of
    messages.
    """
    documents = joined(newsgroups)
    domains = dict[str, list[int]]()
    for row, (text, label) in enumerate(zip(documents.texts, documents.labels, strict=True)):
        sender = re.search(r"^From:.*@([\w.-]+)", text, re.MULTILINE)
        if label in chosen or not chosen:
            domains.setdefault(
                ".".join(sender[1].lower().split(".")[-2:]) if sender else "", []
            ).append(row)
    bodies = Labeled([text.partition("\n\n")[2] for text in documents.texts], documents.labels)
    large = [rows for name, rows in sorted(domains.items()) if name and len(rows) >= minimum]
    rest = [row for rows in domains.values() if rows not in large for row in rows]
    return bodies.taken(rest), [bodies.taken(rows) for rows in large]


MIN_RATIO = 3.0  # of the shares of documents of a label, and of others, that have a telling word


def tell_label(texts: Sequence[str], has_label: Sequence[bool]) -> list[str]:
    """The words that tell documents of a label from others, the most frequent ones first."""
    counted: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for text, value in zip(texts, has_label, strict=True):
        counted[value].update(set(re.findall(r"\w\w+", text.lower())))
    n_with = sum(has_label)
    n_without = len(has_label) - n_with
    telling = [
        word
        for word, n in counted[True].items()
        if n / n_with >= MIN_RATIO * counted[False][word] / n_without
    ]
    return sorted(telling, key=lambda word: (-counted[True][word], word))


def remove_words(text: str, words: Sequence[str]) -> str:
    return re.sub(rf"\b(?:{'|'.join(map(re.escape, words))})\b", " ", text, flags=re.IGNORECASE)


def change_words(documents: Labeled, n_removed: int = 0) -> tuple[Labeled, list[Labeled]]:
    """Half of the documents, and groups of the others with other shares, from which words that tell
    a label are removed, or to which words are added.
    """
    rows = list(range(len(documents.texts)))
    chance = random.Random(0)
    draw = np.random.default_rng(0)
    chance.shuffle(rows)
    training = documents.taken(rows[: len(rows) // 2])
    test = documents.taken(rows[len(rows) // 2 :])
    counted = Counter(
        word for text in training.texts for word in set(re.findall(r"\w\w+", text.lower()))
    )
    words = [word for word, n in sorted(counted.items()) if n >= 0.005 * len(training.texts)]
    labels = sorted(set(test.labels))
    pools = [[row for row, each in enumerate(test.labels) if each == label] for label in labels]
    groups = []
    for number in range(20):
        own = chance.sample(words, 5)
        label = labels[number % len(labels)]
        telling = tell_label(training.texts, [each == label for each in training.labels])
        counts = draw.multinomial(400, draw.dirichlet(np.ones(len(pools))))
        drawn = [
            row
            for pool, n in zip(pools, counts, strict=True)
            for row in draw.choice(pool, n).tolist()
        ]
        texts = [
            remove_words(test.texts[row], telling[:n_removed])
            if n_removed
            else " ".join([test.texts[row], *(word for word in own if chance.random() < 0.5)])
            for row in drawn
        ]
        groups.append(Labeled(texts, [test.labels[row] for row in drawn]))
    return training, groups


SPLITS_OF_SEVERAL = 5
SAMPLES_OF_SEVERAL = 80
MIN_POOL = 100  # a smaller pool has only small samples
REMOVED = (3, 6, 20)  # words


def measure_several(seed: int) -> dict[str, list[tuple[float, ...]]]:
    """Error, naive error and coverage, for each label of each sample."""
    folder = corpus("reuters-90")
    rows = [
        json.loads(line) for name in ("train", "test") for line in (folder / f"{name}.jsonl").open()
    ]
    random.Random(seed).shuffle(rows)
    training = rows[: len(rows) // 2]
    test = rows[len(rows) // 2 :]
    classifier = TextClassifier().fit(
        [row["text"] for row in training], [row["labels"] for row in training]
    )
    fit = classifier.fitted_.task.fit
    labels = classifier.fitted_.labels
    assert fit is not None
    assert fit.posteriors is not None
    texts = [row["text"] for row in test]
    original = classifier.predict_proba(texts)
    has_label = np.array([[label in row["labels"] for label in labels] for row in test])
    known = fit.posteriors
    rng = np.random.default_rng(seed)
    is_counted = known.documents[:, 1] >= MIN_LEFT_OUT_DOCUMENTS
    pools = np.flatnonzero(has_label.sum(axis=0) >= MIN_POOL)

    def judge(
        drawn: NDArray[np.int64], chosen: NDArray[np.int64], probabilities: NDArray[np.float64]
    ) -> list[tuple[float, ...]]:
        sums = PosteriorSums(len(labels))
        sums.add(probabilities[drawn])
        is_predicted = probabilities[drawn] >= fit.thresholds
        found = sums.estimate_labels(known)
        true = has_label[drawn].mean(axis=0)
        is_covered = (found.low <= true + 1e-12) & (true <= found.high + 1e-12)
        columns = (
            np.abs(found.shares - true),
            np.abs(is_predicted.mean(axis=0) - true),
            is_covered,
        )
        return [tuple(float(column[k]) for column in columns) for k in chosen.tolist()]

    results: dict[str, list[tuple[float, ...]]] = {"unchanged": [], "one label": []}
    for _ in range(SAMPLES_OF_SEVERAL):
        drawn = rng.choice(len(test), SIZE, replace=False)
        results["unchanged"] += judge(drawn, np.flatnonzero(is_counted), original)
        k = rng.choice(pools)
        share = rng.random()
        without, with_label = (np.flatnonzero(has_label[:, k] == value) for value in (False, True))
        size = int(min(SIZE, len(with_label) / share))
        n = min(len(with_label), rng.binomial(size, share))
        parts = [
            rng.choice(pool, n_drawn, replace=False)
            for pool, n_drawn in ((without, size - n), (with_label, n))
        ]
        results["one label"] += judge(np.concatenate(parts), np.array([k]), original)
    for k in pools.tolist():
        telling = tell_label(
            [row["text"] for row in training], [labels[k] in row["labels"] for row in training]
        )
        for n_removed in REMOVED:
            shorter = [remove_words(text, telling[:n_removed]) for text in texts]
            changed = [row for row, text in enumerate(shorter) if text != texts[row]]
            probabilities = original.copy()
            probabilities[changed] = classifier.predict_proba([shorter[row] for row in changed])
            found = results.setdefault(f"without {n_removed} words of a label", [])
            for _ in range(SAMPLES_OF_SEVERAL // len(pools)):
                drawn = rng.choice(len(test), SIZE, replace=False)
                found += judge(drawn, np.array([k]), probabilities)
    return results


def print_several() -> None:
    """Print a row for each kind of samples."""
    splits = [measure_several(seed) for seed in range(SPLITS_OF_SEVERAL)]
    rows = []
    for name in splits[0]:
        error, naive, coverage = np.mean([each for split in splits for each in split[name]], axis=0)
        rows.append((name, f"{error:.4f}", f"{naive:.4f}", f"{coverage:.1%}"))
    sys.stdout.write(markdown(("shares", "error", "naive", "coverage"), rows) + "\n")


RELIGION = ("alt.atheism", "soc.religion.christian", "talk.religion.misc")
GROUPED: dict[str, Callable[[], tuple[Labeled, list[Labeled]]]] = {
    "20 Newsgroups, domains": lambda: by_domain(100),
    "religion in 20 Newsgroups, domains": lambda: by_domain(20, RELIGION),
    "sms-spam, words added": lambda: change_words(messages()),
    "RT-s, words added": lambda: change_words(short_reviews()),
    "spamassassin, words added": lambda: change_words(mails()),
    "sms-spam, words removed": lambda: change_words(messages(), 6),
    "RT-s, words removed": lambda: change_words(short_reviews(), 6),
    "spamassassin, words removed": lambda: change_words(mails(), 6),
    "religion in 20 Newsgroups, words removed": lambda: change_words(
        by_domain(10**6, RELIGION)[0], 6
    ),
    "RT-s, then RT-2k and IMDB": lambda: (short_reviews(), [long_reviews(), imdb("test")]),
    "IMDB, then RT-s and RT-2k": lambda: (imdb("train"), [short_reviews(), long_reviews()]),
}


def print_groups() -> None:
    """Print a row for each set of groups: errors, and how many intervals cover the share and how
    wide they are.
    """
    rows = []
    for name, read in GROUPED.items():
        training, groups = read()
        classifier = TextClassifier().fit(training.texts, training.labels)
        found = []
        labels = classifier.fitted_.labels
        for each in groups:
            shares = np.array([each.labels.count(label) for label in labels]) / len(each.labels)
            prevalence = classifier.prevalence(each.texts)
            estimate = prevalence.estimate
            covers = (estimate.low <= shares) & (shares <= estimate.high)
            errors = (
                np.abs(value - shares).mean()
                for value in (estimate.shares, prevalence.naive_shares)
            )
            found.append((*errors, covers.mean(), (estimate.high - estimate.low).mean()))
        rows.append(
            [name, str(len(groups)), *(f"{figure:.4f}" for figure in np.mean(found, axis=0))]
        )
    sys.stdout.write(
        markdown(["corpus", "groups", "error", "naive", "coverage", "width"], rows) + "\n"
    )


def main(*names: str) -> None:
    """Print a row for each corpus."""
    for option, print_table in (("--groups", print_groups), ("--several", print_several)):
        if option in names:
            print_table()
            return
    headers = ["corpus", "error", "at most", "naive", "coverage"]
    rows = []
    for name in names or CORPORA:
        read, n_splits, maximum = CORPORA[name]
        try:
            documents = read()
        except MissingCorpusError as error:
            sys.stderr.write(f"{error}\n")
            continue
        found = np.array([each for seed in range(n_splits) for each in measure(documents, seed)])
        error, naive, coverage = (f"{figure:.4f}" for figure in found.mean(axis=0))
        rows.append([name, error, f"{maximum:g}" if maximum else "", naive, coverage])
    sys.stdout.write(markdown(headers, rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
