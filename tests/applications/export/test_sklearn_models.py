"""Models of scikit-learn pipelines, saved and used by the commands as they are typed."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_files import write_rows
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

from nbtext import save_model
from nbtext.applications.export.sklearn_pipeline import from_sklearn

TEXTS = [
    "the bins were not emptied",
    "a permit for the car",
    "no bins again, bins",
    "parking permit",
    "noise at night",
    "loud noise again, noise",
] * 3
LABELS = ["trash", "parking", "trash", "parking", "noise", "noise"] * 3
QUESTIONS = ["bins emptied", "a permit, a car", "noise again and again", "new words"]
PIPELINES: dict[str, tuple[Any, ...]] = {
    "multinomial": (CountVectorizer(), MultinomialNB()),
    "complement": (CountVectorizer(ngram_range=(1, 2)), ComplementNB()),
    "bernoulli": (CountVectorizer(), BernoulliNB()),
    "binary": (CountVectorizer(binary=True), MultinomialNB(fit_prior=False)),
    "binary complement": (CountVectorizer(binary=True), ComplementNB(norm=True)),
    "tf-idf": (TfidfVectorizer(), MultinomialNB()),
    "tf-idf, bernoulli": (TfidfVectorizer(), BernoulliNB()),
    "transformer": (CountVectorizer(), TfidfTransformer(sublinear_tf=True), ComplementNB()),
    "characters": (CountVectorizer(analyzer="char_wb", ngram_range=(1, 3)), MultinomialNB()),
}
# documents of each word
ARE_COUNTED = ("bernoulli", "binary", "binary complement", "tf-idf, bernoulli")


@pytest.fixture(params=PIPELINES)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Pipeline]:
    """The name of a pipeline, and the pipeline; its model is in the folder, beside labeled
    documents.
    """
    pipeline = make_pipeline(*PIPELINES[request.param]).fit(TEXTS, LABELS)
    save_model(from_sklearn(pipeline), str(tmp_path / "m.joblib"))
    labels = pipeline.predict(QUESTIONS).tolist()
    rows = [{"text": text, "label": label} for text, label in zip(QUESTIONS, labels, strict=True)]
    write_rows(tmp_path / "t.jsonl", rows)
    return request.param, pipeline


@pytest.mark.exhaustive(every=3)
def test_commands_give_the_answers_of_the_pipeline(
    saved: tuple[str, Pipeline], nbtext: Any, tmp_path: Path
) -> None:
    """`predict`, `evaluate`, `explain`, `inspect`, `diff`, `compare` and every export accept the
    file.
    """
    name, pipeline = saved

    def run(command: str) -> Any:
        result = nbtext(command).ok()
        assert result.err == "", command
        return result

    records = run("predict t.jsonl -m m.joblib --to jsonl").records
    expected = pipeline.predict_proba(QUESTIONS)
    found = [[record["scores"][label] for label in pipeline.classes_] for record in records]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert [record["label"] for record in records] == pipeline.predict(QUESTIONS).tolist()
    report = run("evaluate t.jsonl -m m.joblib --to json -q").json
    assert (report["accuracy"], report["unanswered"]) == (1, 0)
    explained = run("explain t.jsonl -m m.joblib --to jsonl").records
    assert len(explained) == len(QUESTIONS)
    assert run("inspect m.joblib --to json").json["documents"] == len(TEXTS)
    run("diff m.joblib m.joblib")
    run("compare t.jsonl -m m.joblib -m m.joblib -q")
    for form in ("js", "csv", *(() if name == "characters" else ("c",))):
        run(f"export m.joblib --to {form} -o out.{form}")
    rows = list(csv.reader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert {row[1] for row in rows if row[0] == "weight"} == set(
        pipeline[0].get_feature_names_out()
    )


@pytest.mark.exhaustive(every=3)
def test_what_changes_counts_needs_documents_of_each_word(
    saved: tuple[str, Pipeline], nbtext: Any, tmp_path: Path
) -> None:
    """Models of binary counts are updated, merged and calibrated; the others are refused in one
    line.
    """
    name, _ = saved
    lacks_words = "how many documents contain a word"
    for command, output, message in (
        ("update m.joblib t.jsonl", "updated", lacks_words),
        ("merge m.joblib m.joblib", "merged", lacks_words),
        ("calibrate m.joblib t.jsonl", "calibrated", lacks_words),
        ("train m.joblib --model bernoulli", "refitted", "lacks the document frequencies"),
    ):
        result = nbtext(f"{command} -o {output}")
        if name in ARE_COUNTED:
            result.ok()
        else:
            result.refused(1, message)
        assert (tmp_path / output).exists() == (name in ARE_COUNTED)
