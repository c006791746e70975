"""What people write today: files in, counts, multinomial Naive Bayes, a model file out.

    python scikit_learn.py train SOURCE MODEL [PAIRS]
    python scikit_learn.py predict SOURCE MODEL > answers.tsv

SOURCE is a directory of folders of files; PAIRS, any word, adds word pairs. `predict` writes id,
label and probability, separated by tabs, as nbtext does.
"""

import sys

import joblib
from sklearn.datasets import load_files
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline


def main() -> None:
    task, source, path, *pairs = sys.argv[1:]
    read = load_files(source, shuffle=False)
    if task == "train":
        ngrams = (1, 2) if pairs else (1, 1)
        vectorizer = CountVectorizer(decode_error="replace", ngram_range=ngrams)
        model = make_pipeline(vectorizer, MultinomialNB())
        model.fit(read.data, [read.target_names[number] for number in read.target])
        joblib.dump(model, path)
        return
    model = joblib.load(path)
    for name, row in zip(read.filenames, model.predict_proba(read.data), strict=True):
        best = row.argmax()
        sys.stdout.write(f"{name}\t{model.classes_[best]}\t{row[best]:.6f}\n")


if __name__ == "__main__":
    main()
