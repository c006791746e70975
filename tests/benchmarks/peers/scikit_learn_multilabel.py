"""One against the rest with scikit-learn, on JSON lines with lists of labels: train, predict, and write both results.

python scikit_learn_multilabel.py complement|svc TRAIN TEST OUTPUT
"""

import json
import sys

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
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
if kind == "complement":
    vectorizer, model = CountVectorizer(), ComplementNB()
else:
    vectorizer, model = TfidfVectorizer(sublinear_tf=True), LinearSVC()
binarizer = MultiLabelBinarizer()
classifier = OneVsRestClassifier(model).fit(vectorizer.fit_transform(texts), binarizer.fit_transform(labels))
rows = vectorizer.transform(read(test)[0])
predicted = binarizer.inverse_transform(classifier.predict(rows))
scores = classifier.predict_proba(rows) if kind == "complement" else classifier.decision_function(rows)
best = binarizer.classes_[np.argmax(scores, axis=1)]
with open(output, "w", encoding="utf-8") as file:
    for names, first in zip(predicted, best, strict=True):
        file.write(json.dumps({"labels": names, "first": first}) + "\n")
