"""What people write today: texts in, counts, multinomial Naive Bayes, a model file out.

    python scikit_learn_train.py SOURCE MODEL [--ngrams 1,2] [--model linear-svm]

--model linear-svm is TF-IDF with logarithmic counts, and a linear support vector machine, which LIBLINEAR fits.
SOURCE is a directory of folders of files, or a JSONL file.
"""

import argparse
from pathlib import Path

import joblib
from reading import lines_of
from sklearn.datasets import load_files
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--ngrams", default="1,1")
    parser.add_argument("--model", dest="kind", choices=("naive-bayes", "linear-svm"), default="naive-bayes")
    options = parser.parse_args()
    shortest, longest = map(int, options.ngrams.split(","))
    shared = {"decode_error": "replace", "ngram_range": (shortest, longest)}
    if options.kind == "linear-svm":
        model = make_pipeline(TfidfVectorizer(sublinear_tf=True, **shared), LinearSVC())
    else:
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
