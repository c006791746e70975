"""Label texts with a model of scikit_learn_train.py.

    python scikit_learn_predict.py SOURCE MODEL > answers.tsv

Writes id, label and probability, separated by tabs, as nbtext does. SOURCE is a directory of folders of files.
"""

from __future__ import annotations

import sys

import joblib
from sklearn.datasets import load_files


def main() -> None:
    source, path = sys.argv[1:]
    model = joblib.load(path)
    read = load_files(source, shuffle=False)
    probabilities = model.predict_proba(read.data)
    for name, row in zip(read.filenames, probabilities, strict=True):
        best = row.argmax()
        sys.stdout.write(f"{name}\t{model.classes_[best]}\t{row[best]:.6f}\n")


if __name__ == "__main__":
    main()
