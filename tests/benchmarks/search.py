"""What scikit-learn achieves beside `--model best`, which draws.py measures, on each corpus.

    python tests/benchmarks/search.py [CORPUS...]

Prints a Markdown table, which results/search.md has: test accuracies of three pipelines with
LinearSVC, after training on all documents.
"""

import sys

from material import SPLITS
from measuring import say_head, say_row
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC

PAIRS = {"token_pattern": r"\w+|[^\w\s]", "ngram_range": (1, 2)}
WITHIN = {"analyzer": "char_wb", "ngram_range": (2, 5)}
ACROSS = {"analyzer": "char", "ngram_range": (1, 5)}
PIPELINES = {"pairs": [PAIRS], "pairs, within": [PAIRS, WITHIN], "across": [ACROSS]}


def main(*names: str) -> None:
    say_head("corpus", *PIPELINES)
    for name in names or SPLITS:
        training, test = SPLITS[name]()
        accuracies = []
        for views in PIPELINES.values():
            vectorizers = [TfidfVectorizer(sublinear_tf=True, **view) for view in views]
            model = make_pipeline(make_union(*vectorizers), LinearSVC())
            accuracy = model.fit(*training).score(*test)
            accuracies.append(f"{accuracy:.4f}")
        say_row([name, *accuracies])


if __name__ == "__main__":
    main(*sys.argv[1:])
