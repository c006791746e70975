"""scikit-learn's logistic regression on the mean vector of a text's words, of length 1.

    python mean_vectors.py TABLE > figures.json

Learns the texts of drawn.jsonl, with the C of the lowest log-loss in five folds, and is tested on
test.jsonl. TABLE is an .npz file of `words` and `vectors`, or the package `wordllama`.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import normalize


def embed(texts: list[str], table: str) -> np.ndarray:
    if table == "wordllama":
        import wordllama

        folder = Path(wordllama.__file__).parent  # it would download a file that it has
        model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        return np.asarray(model.embed(texts, norm=True))
    arrays = np.load(table)
    places: dict[str, int] = {}
    for place, word in enumerate(arrays["words"].tolist()):
        places.setdefault(word.lower(), place)
    counter = CountVectorizer()
    counts = counter.fit_transform(texts)
    own = [places.get(word, -1) for word in counter.get_feature_names_out()]
    vectors = np.vstack([arrays["vectors"], np.zeros_like(arrays["vectors"][:1])])[own]
    return normalize(counts @ vectors.astype(np.float32))


def main() -> None:
    read = [
        [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]
        for name in ("drawn.jsonl", "test.jsonl")
    ]
    n_drawn = len(read[0])
    vectors = embed([record["text"] for record in read[0] + read[1]], sys.argv[1])
    drawn, tested = ([record["label"] for record in records] for records in read)
    choices = {"C": [1, 10, 100, 1000]}
    model = GridSearchCV(LogisticRegression(max_iter=1000), choices, scoring="neg_log_loss")
    shares = model.fit(vectors[:n_drawn], drawn).predict_proba(vectors[n_drawn:])
    figures = {
        "accuracy": accuracy_score(tested, model.classes_[shares.argmax(axis=1)]),
        "log_loss": log_loss(tested, shares, labels=model.classes_),
    }
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    main()
