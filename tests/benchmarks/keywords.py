"""The accuracy of models that keywords train, beside counting the keywords alone.

    python tests/benchmarks/keywords.py

A model is trained on the texts of a corpus with `nbtext train --keywords`, without labels, and
evaluated on its test half, or on the same texts if it has none. Counting gives a text the label
with the most keywords in it; of several such labels, and without a keyword, a random one of them.
"""

import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

from material import REPOSITORY, MissingCorpusError
from protocols import Labeled, imdb, long_reviews, mails, messages, newsgroups, short_reviews
from table import markdown

from nbtext.features.analyzer import Analyzer
from nbtext.features.settings import FeatureSettings
from nbtext.text_classifier import TextClassifier

Halves = Callable[[], tuple[Labeled, Labeled]]
# the file of keywords; documents to train on and to test on
CORPORA: dict[str, tuple[str, Halves]] = {
    "sms-spam": ("sms-spam", lambda: (messages(), messages())),
    "IMDB, test half": ("imdb", lambda: (imdb("train"), imdb("test"))),
    "20 Newsgroups by date, test half": (
        "20news",
        lambda: (newsgroups("train"), newsgroups("test")),
    ),
    "RT-2k": ("reviews", lambda: (long_reviews(), long_reviews())),
    "RT-s": ("reviews", lambda: (short_reviews(), short_reviews())),
    "spamassassin": ("spamassassin", lambda: (mails(), mails())),
}


def count_keywords(keywords: dict[str, list[str]], documents: Labeled) -> float:
    """Return the expected accuracy of counting."""
    read = Analyzer(FeatureSettings())
    wanted = {
        label: [f" {' '.join(read(word))} " for word in words] for label, words in keywords.items()
    }
    n_correct = 0.0
    for text, label in zip(documents.texts, documents.labels, strict=True):
        words = f" {' '.join(read(text))} "
        found = {each: sum(word in words for word in own) for each, own in wanted.items()}
        best = [each for each, n in found.items() if n == max(found.values())]
        n_correct += (label in best) / len(best)
    return n_correct / len(documents.texts)


def train(file: Path, documents: Labeled) -> TextClassifier:
    """Return the model of the command."""
    from nbtext import load_model

    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(documents.texts):
            (Path(folder) / "texts" / f"{number // 1000:03}").mkdir(parents=True, exist_ok=True)
            path = Path(folder) / "texts" / f"{number // 1000:03}" / f"{number:06}.txt"
            path.write_text(text, encoding="utf-8", errors="replace")
        model = str(Path(folder) / "m.joblib")
        command = ["train", str(Path(folder) / "texts"), "--keywords", str(file), "-q", "-o", model]
        subprocess.run([sys.executable, "-m", "nbtext", *command], check=True)
        classifier = load_model(model)
        # read from the file on first use, and the file is deleted with the folder
        _ = classifier.counts_
        return classifier


def main() -> None:
    """Print the table."""
    rows = []
    for name, (file, read) in CORPORA.items():
        path = REPOSITORY / "corpora" / "keywords" / f"{file}.toml"
        keywords = tomllib.loads(path.read_text(encoding="utf-8"))
        try:
            training, test = read()
        except MissingCorpusError as error:
            sys.stderr.write(f"{error}\n")
            continue
        sizes = sorted({len(words) for words in keywords.values()})
        size = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else f"{sizes[0]}"
        accuracy = train(path, training).score(test.texts, test.labels)
        rows.append(
            (name, f"{size} a label", f"{accuracy:.3f}", f"{count_keywords(keywords, test):.3f}")
        )
    sys.stdout.write(markdown(("corpus", "keywords", "accuracy", "counting"), rows) + "\n")


if __name__ == "__main__":
    main()
