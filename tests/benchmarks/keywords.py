"""The accuracy of models that keywords train, beside counting the keywords alone.

    python tests/benchmarks/keywords.py

A model is trained on the texts of a corpus with `nbtext train --keywords`, without labels, and
evaluated on its test half, or on the same texts if it has none. Counting gives a text the label
with the most keywords in it; of several such labels, and without a keyword, a random one of them.
"""

import json
import tempfile
import tomllib
from pathlib import Path

from material import (
    REPOSITORY,
    Labeled,
    Split,
    halves,
    imdb,
    long_reviews,
    mails,
    messages,
    newsgroups,
    short_reviews,
)
from measuring import measure, say_head, say_row

from nbtext.features.analyzer import Analyzer
from nbtext.features.settings import FeatureSettings

# the file of keywords; documents to train on and to test on
CORPORA = {
    "sms-spam": ("sms-spam", lambda: Split(messages(), messages())),
    "IMDB, test half": ("imdb", lambda: halves(imdb)),
    "20 Newsgroups by date, test half": ("20news", lambda: halves(newsgroups)),
    "RT-2k": ("reviews", lambda: Split(long_reviews(), long_reviews())),
    "RT-s": ("reviews", lambda: Split(short_reviews(), short_reviews())),
    "spamassassin": ("spamassassin", lambda: Split(mails(), mails())),
}


def count_keywords(keywords: dict[str, list[str]], documents: Labeled) -> float:
    """Return the expected accuracy of counting."""
    read = Analyzer(FeatureSettings())
    wanted = {
        label: [f" {' '.join(read(word))} " for word in words] for label, words in keywords.items()
    }
    n_correct = 0.0
    for text, label in zip(*documents, strict=True):
        words = f" {' '.join(read(text))} "
        found = {each: sum(word in words for word in own) for each, own in wanted.items()}
        best = [each for each, n in found.items() if n == max(found.values())]
        n_correct += (label in best) / len(best)
    return n_correct / len(documents.texts)


def main() -> None:
    say_head("corpus", "accuracy", "counting")
    for name, (file, read) in CORPORA.items():
        path = REPOSITORY / "corpora" / "keywords" / f"{file}.toml"
        keywords = tomllib.loads(path.read_text(encoding="utf-8"))
        training, test = read()
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            training.write(folder / "texts.jsonl")
            test.write(folder / "test.jsonl")
            measure(f"nbtext train texts.jsonl --keywords {path} -q -o model", folder)
            measure("nbtext evaluate test.jsonl -m model --to json > evaluated.json", folder)
            evaluated = json.loads((folder / "evaluated.json").read_text())
        say_row([name, f"{evaluated['accuracy']:.3f}", f"{count_keywords(keywords, test):.3f}"])


if __name__ == "__main__":
    main()
