"""What people write today: texts in, counts, multinomial Naive Bayes, a model file out.

    python scikit_learn_train.py SOURCE MODEL [--ngrams 1,2]

SOURCE is a directory of folders of files, or a JSONL file.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
from reading import lines_of
from sklearn.datasets import load_files
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.svm import LinearSVC

FEATURES = {
    "pairs": {"token_pattern": r"\w+|[^\w\s]", "ngram_range": (1, 2)},
    "within": {"analyzer": "char_wb", "ngram_range": (2, 5)},
    "across": {"analyzer": "char", "ngram_range": (1, 5)},
}


def make_linear_svm(views: Sequence[Mapping[str, Any]]) -> Pipeline:
    """TF-IDF with logarithmic counts of each view, side by side, and a linear support vector
    machine, which LIBLINEAR fits; search.py compares it.

    The views can be pairs (words, marks and their pairs), within (character n-grams of 2 to 5
    within words) and across (those of 1 to 5, across words, too).
    """
    vectorizers = [
        TfidfVectorizer(**{"decode_error": "replace", "sublinear_tf": True, **view})
        for view in views
    ]
    return make_pipeline(make_union(*vectorizers), LinearSVC())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--ngrams", default="1,1")
    options = parser.parse_args()
    shortest, longest = map(int, options.ngrams.split(","))
    shared = {"decode_error": "replace", "ngram_range": (shortest, longest)}
    model = make_pipeline(CountVectorizer(**shared), MultinomialNB())
    if options.source.is_dir():
        read = load_files(options.source)
        model.fit(read.data, [read.target_names[number] for number in read.target])
    else:
        _, texts, labels = zip(*lines_of(options.source), strict=True)
        model.fit(texts, labels)
    joblib.dump(model, options.model)


if __name__ == "__main__":
    main()
