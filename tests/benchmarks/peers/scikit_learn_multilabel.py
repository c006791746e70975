"""One against the rest with scikit-learn, on JSON lines with lists of labels: train, predict, and
write both results.

`complement-search` selects the smoothing of ComplementNB by micro-F1, in five folds.

python scikit_learn_multilabel.py complement|complement-search|svc TRAIN TEST OUTPUT
"""

import json
import sys

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

kind, train, test, output = sys.argv[1:]


def read(path):
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [record["text"] for record in records], [record["labels"] for record in records]


texts, labels = read(train)
if kind == "svc":
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    classifier = OneVsRestClassifier(LinearSVC())
else:
    vectorizer = CountVectorizer()
    classifier = OneVsRestClassifier(ComplementNB())
if kind == "complement-search":
    smoothings = {"estimator__alpha": [0.001, 0.01, 0.1, 1.0, 10.0]}
    classifier = GridSearchCV(classifier, smoothings, scoring="f1_micro", cv=5)
binarizer = MultiLabelBinarizer()
classifier.fit(vectorizer.fit_transform(texts), binarizer.fit_transform(labels))
rows = vectorizer.transform(read(test)[0])
predicted = binarizer.inverse_transform(classifier.predict(rows))
scores = classifier.decision_function(rows) if kind == "svc" else classifier.predict_proba(rows)
best = binarizer.classes_[np.argmax(scores, axis=1)]
with open(output, "w", encoding="utf-8") as file:
    for names, first in zip(predicted, best, strict=True):
        file.write(json.dumps({"labels": names, "first": first}) + "\n")
