"""Models of scikit-learn pipelines, saved and used by the commands as they are typed."""

import csv
import io
import json
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

    def run(*arguments: str) -> str:
        result = nbtext(*arguments)
        assert (result.status, result.err) == (0, ""), arguments
        return str(result.out)

    records = [
        json.loads(line)
        for line in run("predict", "t.jsonl", "-m", "m.joblib", "--to", "jsonl").splitlines()
    ]
    expected = pipeline.predict_proba(QUESTIONS)
    found = [[record["scores"][label] for label in pipeline.classes_] for record in records]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    answers = pipeline.predict(QUESTIONS).tolist()
    assert [record["label"] for record in records] == answers
    report = json.loads(run("evaluate", "t.jsonl", "-m", "m.joblib", "--to", "json", "-q"))
    assert (report["accuracy"], report["unanswered"]) == (1, 0)
    assert len(run("explain", "t.jsonl", "-m", "m.joblib", "--to", "jsonl").splitlines()) == len(
        QUESTIONS
    )
    inspected = json.loads(run("inspect", "m.joblib", "--to", "json"))
    assert inspected["documents"] == len(TEXTS)
    run("diff", "m.joblib", "m.joblib")
    run("compare", "m.joblib", "m.joblib", "--test", "t.jsonl", "-q")
    for form in ("js", "csv", *(() if name == "characters" else ("c",))):
        run("export", "m.joblib", "--to", form, "-o", f"out.{form}")
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
    name, pipeline = saved
    for command in (
        ("update", "m.joblib", "t.jsonl", "-o", "updated"),
        ("merge", "m.joblib", "m.joblib", "-o", "merged"),
        ("calibrate", "m.joblib", "t.jsonl", "-o", "calibrated"),
        ("train", "m.joblib", "--model", "bernoulli", "-o", "refitted"),
    ):
        result = nbtext(*command)
        if name in ARE_COUNTED:
            assert result.status == 0, result.err
            assert (tmp_path / command[-1]).exists()
        else:
            assert (result.status, result.err.count("\n")) == (1, 1)
            is_refit = command[0] == "train"
            assert (
                "lacks the document frequencies"
                if is_refit
                else "how many documents contain a word"
            ) in result.err
            assert not (tmp_path / command[-1]).exists()
    if name not in ARE_COUNTED:
        return
    # the sums of counts are those of fitting to all documents
    again = make_pipeline(*PIPELINES[name])
    again.set_params(
        **{f"{again.steps[0][0]}__vocabulary": pipeline[0].get_feature_names_out().tolist()}
    )
    again.fit([*TEXTS, *QUESTIONS], [*LABELS, *pipeline.predict(QUESTIONS).tolist()])
    updated = nbtext("predict t.jsonl -m updated --to jsonl").out.splitlines()
    found = [[json.loads(line)["scores"][label] for label in pipeline.classes_] for line in updated]
    np.testing.assert_allclose(found, again.predict_proba(QUESTIONS), atol=1e-6)
