"""Label texts with a model of scikit_learn_train.py.

    python scikit_learn_predict.py SOURCE MODEL > answers.tsv

Writes id, label and probability, separated by tabs, as nbtext does; the score of a model without
probabilities. SOURCE is a directory of folders of files.
"""

import sys

import joblib
import numpy as np
from sklearn.datasets import load_files


def main() -> None:
    source, path = sys.argv[1:]
    model = joblib.load(path)
    read = load_files(source, shuffle=False)
    scores = (
        model.predict_proba(read.data)
        if hasattr(model, "predict_proba")
        else model.decision_function(read.data)
    )
    if scores.ndim == 1:  # of the second of two labels
        scores = np.column_stack((-scores, scores))
    for name, row in zip(read.filenames, scores, strict=True):
        best = row.argmax()
        sys.stdout.write(f"{name}\t{model.classes_[best]}\t{row[best]:.6f}\n")


if __name__ == "__main__":
    main()
