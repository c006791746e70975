"""A session: each answer is in the file and in the model at once, and undo and resumption lose
nothing.
"""

from pathlib import Path

import numpy as np
import pytest
from made_files import read_rows

from nbtext.applications.label.pool import (
    AnswerFile,
    Pool,
    PoolDocument,
    batch_of,
    read_pool,
)
from nbtext.applications.label.session import Learner, Session
from nbtext.bayes.settings import ModelSettings
from nbtext.documents.batch import Batch
from nbtext.errors import InputError, OutputError
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.explanation import Explainer
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.growth import update_with_counts
from nbtext.model.training import train_on_counts

FEATURES = FeatureSettings()
TEXTS = {
    "g1": "goal match team",
    "g2": "match league player",
    "b1": "flour oven butter",
    "b2": "oven sugar recipe",
    "s1": "planet orbit star",
    "s2": "orbit comet moon",
    "x": "",
}
ANSWER = b'{"id": "1", "text": "x", "label": "a"}\n'
LABELS = {"g": "sport", "b": "baking", "s": "space", "x": "empty"}


def pool_of(texts: dict[str, str], size: int = 100) -> Pool:
    batch = Batch(list(texts), (list(texts.values()),), [None] * len(texts))
    return read_pool([batch], FEATURES, size, "")


def start(
    path: Path,
    trained: TrainedModel | None = None,
    *,
    has_lists: bool = False,
    texts: dict[str, str] = TEXTS,
) -> Session:
    file = AnswerFile(str(path), ("text",), has_lists=has_lists)
    return Session(
        pool_of(texts), file, Learner(FEATURES, trained, has_lists=file.has_lists), ("sport",)
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of the answers."""
    return tmp_path / "labels.jsonl"


@pytest.fixture
def session(path: Path) -> Session:
    return start(path)


def label_of(session: Session) -> tuple[str, ...]:
    assert session.current is not None
    return (LABELS[session.current.id[0]],)


def count(texts: dict[str, str]) -> CorpusCounts:
    counter = CorpusCounter(FEATURES, sample_size=0)
    batch = Batch(list(texts), (list(texts.values()),), [LABELS[name[0]] for name in texts])
    counter.add(batch)
    return counter.finish()


def test_a_session(session: Session, path: Path) -> None:
    """All documents are shown once, and each answer is in the file before the next one; it trains a
    model.
    """
    shown = []
    assert session.learner.explain(session.pool.documents[0]) == []
    while session.current is not None:
        shown.append(session.current.id)
        session.answer(label_of(session))
        assert [line["id"] for line in read_rows(path)] == shown
    assert sorted(shown) == sorted(TEXTS)
    assert session.n_left == 0
    fitted = session.learner.fit()
    assert fitted is not None and fitted.model_settings.model == "complement"
    assert read_rows(path)[0] == {
        "id": shown[0],
        "text": TEXTS[shown[0]],
        "label": LABELS[shown[0][0]],
    }


def test_the_model_is_that_of_training(session: Session) -> None:
    """After each answer the counts are those of training on the answers, and undo restores them
    exactly.
    """
    labeled: dict[str, str] = {}
    while session.current is not None:
        labeled[session.current.id] = TEXTS[session.current.id]
        session.answer(label_of(session))
        expected = count(labeled)
        found = session.learner.counts
        assert found is not None
        assert found.labels == expected.labels
        assert found.vocabulary == expected.vocabulary or not len(expected.vocabulary or ())
        for mine, theirs in zip(found.statistics.entries, expected.statistics.entries, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    while labeled:
        session.undo()
        labeled.popitem()
        found = session.learner.counts
        if labeled and found is not None:
            np.testing.assert_array_equal(
                found.statistics.occurrences, count(labeled).statistics.occurrences
            )
    assert session.learner.counts is None


def test_an_existing_model_learns_as_update_does(path: Path) -> None:
    """Its probabilities after the answers are those of `nbtext update`."""
    counts = count({"g0": "goal team referee", "b0": "flour bake sugar"})
    settings = ModelSettings(model="multinomial", smoothing=0.5)
    trained = train_on_counts(counts, FEATURES, settings)
    session = start(path, trained)
    assert session.labels == ["sport", "baking"]
    assert session.current is not None and session.learner.explain(session.current) != []
    labeled: dict[str, str] = {}
    for _ in range(4):
        assert session.current is not None
        labeled[session.current.id] = TEXTS[session.current.id]
        session.answer(label_of(session))
    document = session.pool.documents[0]
    expected = Explainer(update_with_counts(trained, count(labeled)).fitted)
    assert session.learner.explain(document) == expected.explain_batch(batch_of([document]))


def test_resume_and_undo_of_an_earlier_session(session: Session, path: Path) -> None:
    for _ in range(3):
        session.answer(label_of(session))
    expected = session.current
    before = path.read_bytes()
    session.file.close()
    again = start(path)
    assert path.read_bytes() == before
    assert again.current == expected
    assert again.labels[0] == "sport"
    last = again.file.answers[-1].document
    again.undo()
    assert again.current == last
    assert len(read_rows(path)) == 2
    again.answer(("other",))
    assert read_rows(path)[-1]["label"] == "other"
    assert "other" in again.labels or again.learner.labels.count("other") == 1


def test_an_answer_whose_document_disappeared(path: Path) -> None:
    """Its answer stays, trains the model, and can be undone and given again."""
    path.write_text('{"id": "gone", "text": "lost text", "label": "old"}\n')
    session = start(path)
    assert session.labels == ["old", "sport"]  # the file keeps the order of the keys
    assert session.n_left == len(TEXTS)
    session.undo()
    assert session.current == PoolDocument("gone", ("lost text",))
    assert path.read_bytes() == b""
    session.answer(("new",))
    assert [line["label"] for line in read_rows(path)] == ["new"]


def test_skipped_documents_come_last(session: Session, path: Path) -> None:
    """They are in no file, and come again when no other document is left, and in the next
    session.
    """
    skipped = session.current
    assert skipped is not None
    session.skip()
    for _ in range(len(TEXTS) - 1):
        assert session.current != skipped
        session.answer(label_of(session))
    assert (session.current, session.n_left) == (skipped, 1)
    session.skip()
    assert session.current == skipped
    assert skipped.id not in {line["id"] for line in read_rows(path)}
    session.file.close()
    session = start(path)
    assert session.current == skipped
    session.answer(label_of(session))
    assert (session.current, session.n_left) == (None, 0)


def test_undo_of_a_skip(session: Session, path: Path) -> None:
    """It shows the skipped documents again, the last one first, before it removes an answer."""
    answered = session.current
    session.answer(label_of(session))
    first = session.current
    session.skip()
    second = session.current
    session.skip()
    for expected in (second, first):
        session.undo()
        assert (session.current, len(read_rows(path))) == (expected, 1)
    session.undo()
    assert (session.current, read_rows(path), session.n_left) == (answered, [], len(TEXTS))
    session.undo()  # nothing is left: no effect
    session.skip()
    session.answer(label_of(session))
    session.undo()
    assert read_rows(path) == []


def test_search(session: Session) -> None:
    assert session.search("zebra") == 0
    assert session.n_left == len(TEXTS)
    assert session.search("OVEN") == 2
    for left in (2, 1):
        assert session.n_left == left
        assert session.current is not None and session.current.id.startswith("b")
        session.answer(("baking",))
    assert session.n_left == 5  # all of them are answered: the search ends
    assert session.search("moon") == 1
    assert session.search("") == 5


def test_several_labels(path: Path) -> None:
    """A document has any number of labels, also none; each answer is a list."""
    session = start(path, has_lists=True)
    given = [("sport", "space"), (), ("space",), ("baking",)]
    for labels in given:
        session.answer(labels)
    assert [tuple(line["label"]) for line in read_rows(path)] == given
    assert session.learner.fit() is not None
    assert session.current is not None
    found = session.learner.explain(session.current)
    assert {each.label for each in found} <= {"sport", "space", "baking", None}
    for _ in given:
        session.undo()
    assert session.learner.counts is None
    session.file.close()
    path.write_text('{"id": "g1", "text": "goal match team", "label": ["sport", "space"]}\n')
    assert AnswerFile(str(path), ("text",)).has_lists


def test_copies_are_answered_together(tmp_path: Path) -> None:
    """Documents of equal id and text are one document."""
    batch = Batch(["a", "a", "b"], (["one two", "one two", "three"],), [None] * 3)
    pool = read_pool([batch], FEATURES, 10, "")
    session = Session(
        pool, AnswerFile(str(tmp_path / "f"), ("text",)), Learner(FEATURES, None, has_lists=False)
    )
    for _ in range(2):
        session.answer(("x",))
    assert (session.current, session.n_left) == (None, 0)
    session.undo()
    session.undo()
    assert session.n_left == 3


def test_a_pool_is_a_sample_of_many_documents() -> None:
    """It does not depend on the order of the documents, and keeps it."""
    texts = {f"d{number}": f"text {number}" for number in range(500)}
    pool = pool_of(texts, 50)
    assert (len(pool.documents), pool.n_left_out, len(pool.counts.sample)) == (50, 450, 50)
    numbers = [int(document.id[1:]) for document in pool.documents]
    assert numbers == sorted(numbers)
    reverse = pool_of(dict(reversed(texts.items())), 50)
    assert reverse.documents == pool.documents[::-1]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"not json\n", 1),
        (ANSWER + b"[1]\n", 2),
        (b'{"text": "x", "label": "a"}\n', 1),
        (b'{"id": "1", "text": "x"}\n', 1),
        (b'{"id": "1", "text": "x", "label": [1]}\n', 1),
        (ANSWER.replace(b"a", b"x" * 1001), 1),
        (b"\xff\xfe\n", 1),
        (b"precious, no newline", 1),
        (b'{"id": "1", "text": "x", "la', 1),
        (ANSWER + b"a note", 2),
        (ANSWER + b'{"b\n{"b', 2),
    ],
)
def test_a_file_of_something_else(path: Path, content: bytes, line: int) -> None:
    """It is refused, with the line, and not changed."""
    path.write_bytes(content)
    with pytest.raises(InputError, match=f":{line}: is not an answer|1,001 characters"):
        AnswerFile(str(path), ("text",))
    assert path.read_bytes() == content


@pytest.mark.parametrize("note", ["a note", '{"id": "x", "text": "", "label": "empty"}\n'])
def test_a_line_of_another_program_stays(session: Session, path: Path, note: str) -> None:
    """Undo would remove the end of what that program wrote; an answer would be joined to it."""
    session.answer(label_of(session))
    with path.open("a") as file:
        file.write(note)
    before = path.read_text()
    shown = session.current
    with pytest.raises(OutputError, match="was changed, moved or deleted by another program"):
        session.undo()
    assert (path.read_text(), session.current) == (before, shown)
    assert len(session.file.answers) == 1
    if note == "a note":
        with pytest.raises(InputError, match="2: is not an answer"):
            session.answer(("sport",))
        assert path.read_text() == before
    else:
        session.answer(("sport",))
        assert path.read_text().startswith(before)
        session.undo()
        assert path.read_text() == before


def test_strange_texts_survive(path: Path) -> None:
    texts = {
        "a": "\x1b[31m red",
        "b\u202e": "lone \ud800 surrogate",
        "c": "a\nb\r\n\0",
        "d": "שלום 日本語 e\u0301",
    }
    session = start(path, texts=texts)
    while session.current is not None:
        session.answer(("x",))
    session.file.close()
    assert {line["id"]: line["text"] for line in read_rows(path)} == texts
    assert AnswerFile(str(path), ("text",)).answers[0].labels == ("x",)
