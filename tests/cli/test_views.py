"""Models of several views of a document, as a user types them: what one command writes, the others
read.
"""

from pathlib import Path
from typing import Any

import pytest
from made_files import read_header

from nbtext.artifact.model import load_model_file, save_model_file

VIEWS = ("--view", "word:1,2", "--view", "char_wb:2,4")
WEIGHTED = ("--view", "word:1:log-tfidf", "--view", "char_wb:3:binary-tfidf")
PARAMETERS: dict[tuple[str, ...], dict[str, Any]] = {
    (*VIEWS, "--model", "multinomial"): {
        "view": ("word:1,2", "char_wb:2,4"),
        "model": "multinomial",
    },
    (*WEIGHTED, "--model", "svm"): {
        "view": ("word:1:log-tfidf", "char_wb:3:binary-tfidf"),
        "model": "svm",
    },
}


@pytest.mark.parametrize(
    "options", [*PARAMETERS, VIEWS, (*VIEWS, "--model", "bernoulli")], ids=" ".join
)
def test_training_to_prediction(nbtext: Any, letters: Path, options: tuple[str, ...]) -> None:
    """The bytes of the model do not depend on the threads; what is saved predicts as before, in all
    commands alike.
    """
    train = str(letters / "train")
    test = str(letters / "test")
    for jobs in ("1", "3"):
        nbtext("train", train, *options, "-j", jobs, "-o", f"{jobs}.joblib").ok()
    assert Path("1.joblib").read_bytes() == Path("3.joblib").read_bytes()
    model = load_model_file("1.joblib")
    save_model_file(model, "again.joblib")
    assert Path("again.joblib").read_bytes() == Path("1.joblib").read_bytes()
    predicted = nbtext(f"predict {test} -m 1.joblib --to jsonl").ok().records
    right = sum(Path(each["id"]).parent.name == each["label"] for each in predicted) / len(
        predicted
    )
    assert right > 0.8
    assert nbtext(f"evaluate {test} -m 1.joblib --to json").ok().json["accuracy"] == right
    explained = nbtext(f"explain {test} -m 1.joblib --to jsonl").ok().records
    names = {
        each["feature"].partition("=")[0] for one in explained for each in one["contributions"]
    }
    assert names == set(model.fitted.feature_settings.view)
    assert [each["label"] for each in explained] == [each["label"] for each in predicted]


def test_models_of_other_views_are_not_merged(nbtext: Any, letters: Path) -> None:
    for name, views in (("a", VIEWS), ("b", VIEWS[:2])):
        nbtext("train", str(letters / "train"), *views, "-o", f"{name}.joblib").ok()
    nbtext("merge a.joblib b.joblib -o x").refused(1, "different settings: view is")


def test_other_commands_read_a_model_of_views(nbtext: Any, letters: Path) -> None:
    """Inspecting, comparing, reviewing and exporting; what is not possible is refused in one
    line.
    """
    train = f"{letters}/train"
    views = " ".join(VIEWS)
    nbtext(f"train {train} {views} --model multinomial -o m.joblib").ok()
    nbtext("train", train, *WEIGHTED, "--model", "svm", "-o", "w.joblib").ok()
    shown = nbtext("inspect m.joblib --to csv").ok().rows
    column = shown[0].index("feature")
    assert {row[column].partition("=")[0] for row in shown[1:]} == {"word:1,2", "char_wb:2,4"}
    for word, name in (("street", "word:1,2=street"), ("char_wb:2,4=str", "char_wb:2,4=str")):
        assert name in nbtext(f"inspect m.joblib --word {word}").ok().out
    nbtext(f"review {train} {views} --to jsonl").ok()
    nbtext(f"compare {letters}/test -m m.joblib -m w.joblib --to json").ok()
    nbtext(f"evaluate {train} {views} --folds 3 --to json").ok()
    nbtext("export w.joblib --to csv -o w.csv").ok()
    n_features = load_model_file("w.joblib").fitted.scorer.n_features
    assert Path("w.csv").read_text(encoding="utf-8").count("\nweight,") == n_features
    nbtext("sample m.joblib").refused(1, "model cannot generate documents")
    nbtext(f"train {train} --view word -o x").refused(2, "'word' is not ANALYZER:N,N:WEIGHTING")
    nbtext(f"train {train} --view word:1 --ngrams 1,2 -o x").refused(
        2, "--view: cannot be combined with --ngrams"
    )


def test_the_file_holds_each_view(nbtext: Any, letters: Path) -> None:
    """A view's vocabulary is stored without its name, and once, although the counts have it,
    too.
    """
    nbtext(f"train {letters}/train --view word:1 --view word:2 -o m.joblib").ok()
    header = read_header("m.joblib")
    assert [view["settings"]["view"] for view in header["views"]] == 2 * [["word:1", "word:2"]]
    assert [view["vocabulary"] for view in header["views"]] == header["counts"]["vocabulary"]
    names = load_model_file("m.joblib").fitted.vocabulary
    assert names is not None
    sizes = [view["vocabulary"]["blob"]["shape"][0] for view in header["views"]]
    assert sum(sizes) == len(names.blob) - len("word:1=") * len(names)
