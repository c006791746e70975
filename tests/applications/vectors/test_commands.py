"""--vectors, as a user types it: texts whose words no training text has are predicted right."""

import pickle
import re
import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from made_files import read_rows, write_rows
from sklearn.base import clone

from nbtext import TextClassifier

TABLE = "private-table.vec"
LABELS = ("cats", "cars", "food", "rain")
N_WORDS = 60  # of each label; those before N_TRAINED are in training texts
N_TRAINED = 8
OTHERS = [f"filler{i}" for i in "abcdefghij"]
RANDOM = Random(1)
WORDS = {
    label: ["".join(RANDOM.choices("klmnop", k=7)) for _ in range(N_WORDS)] for label in LABELS
}
NEAR, FAR, SEEN = WORDS["cats"][N_TRAINED], WORDS["cats"][-1], WORDS["cats"][0]
N_FIRST = len(OTHERS) + (N_TRAINED + 2) * len(LABELS)  # words of the table, NEAR is one of them
TRAIN = ("train", "train.jsonl", "-q", "-o", "m")


def row(label: str, words: list[str]) -> dict[str, str]:
    return {"text": " ".join(words), "label": label, "title": words[0], "body": " ".join(words[1:])}


@pytest.fixture(scope="module")
def corpus(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, three training texts of each label, test texts of which no two have a
    word in common, and a model.
    """
    folder = tmp_path_factory.mktemp("corpus")
    random = np.random.default_rng(1)
    vectors = {word: random.normal(0, 0.1, 8) for word in OTHERS}
    for place in range(N_WORDS):
        for label, center in zip(LABELS, np.eye(8), strict=False):
            vectors[WORDS[label][place]] = center + random.normal(0, 0.2, 8)
    lines = (f"{word} {' '.join(map(str, vector))}\n" for word, vector in vectors.items())
    (folder / TABLE).write_text("".join(lines))
    draw = RANDOM.sample
    known = {label: words[:N_TRAINED] for label, words in WORDS.items()}
    texts = [row(label, draw(known[label], 4) + draw(OTHERS, 1)) for label in LABELS * 3]
    write_rows(folder / "train.jsonl", texts)
    starts = range(N_TRAINED, N_WORDS, 4)
    tests = [row(label, WORDS[label][i : i + 4]) for i in starts for label in LABELS]
    write_rows(folder / "test.jsonl", tests)
    nbtext(*TRAIN, "--vectors", str(folder / TABLE), "-j", "1", cwd=folder).ok()
    return folder


@pytest.fixture(autouse=True)
def copied(corpus: Path, own_folder: None) -> None:
    """Each test has the files in a folder of its own."""
    shutil.copytree(corpus, ".", dirs_exist_ok=True)


def evaluate(nbtext: Any, *options: str) -> float:
    found = nbtext("evaluate", "test.jsonl", "--to", "json", *(options or ("-m", "m")))
    return float(found.ok().json["accuracy"])


def known(nbtext: Any, *words: str) -> list[bool]:
    """Whether the model knows these words."""
    given = " ".join(words).encode()
    explained = nbtext("explain - -m m --to csv", input=given).ok().rows[1:]
    features = {feature.rpartition("=")[2] for *_, feature, _, _ in explained}
    return [word in features for word in words]


def test_texts_of_words_that_no_training_text_has(nbtext: Any, corpus: Path) -> None:
    """They are predicted right, and without the table by chance; the bytes of the model do not
    depend on the number of threads.
    """
    assert evaluate(nbtext) == 1
    nbtext(*TRAIN, "--vectors", TABLE, "-j", "2").ok()
    assert Path("m").read_bytes() == (corpus / "m").read_bytes()
    (found,) = nbtext("predict - -m m --to jsonl", input=NEAR.encode()).records
    assert (found["known"], found["outlier"]) == (1, None)
    nbtext(*TRAIN).ok()
    assert evaluate(nbtext) == 1 / len(LABELS)


def test_folds(nbtext: Any) -> None:
    """In `evaluate --folds` and `compare`, no other text has a word of a text."""
    options = ("--folds", "3", "-q")
    assert evaluate(nbtext, *options) < 0.5
    assert evaluate(nbtext, *options, "--vectors", TABLE) == 1
    assert evaluate(nbtext, *options, "--vectors", TABLE, "--model", "best", "-j", "2") == 1
    compared = nbtext(f"compare test.jsonl --vectors {TABLE} --models dirichlet --to csv -q").ok()
    accuracies = {model: float(accuracy) for _, model, accuracy, *_ in compared.rows[1:]}
    assert accuracies["stacked"] > accuracies["dirichlet"] + 0.4


@pytest.mark.parametrize(
    "command", ["train train.jsonl --vectors " + TABLE, "export m --to joblib"]
)
def test_a_limited_size(nbtext: Any, command: str) -> None:
    """Words of training texts come before those of the table alone, which are still marked."""
    texts = " ".join(each["text"] for each in read_rows(Path("train.jsonl")))
    words = sorted(set(texts.split()) - {*OTHERS})
    nbtext(*command.split(), "-q", "-o", "n", "--max-model-bytes", "4500").ok()
    assert Path("n").stat().st_size <= 4500
    Path("n").rename("m")
    assert sum(known(nbtext, *words)) > 0.9 * len(words)
    assert sum(known(nbtext, *WORDS["cats"])) < 0.8 * N_WORDS
    explained = nbtext("explain test.jsonl train.jsonl -m m --to csv").ok().rows[1:]
    untrained = {feature for *_, term, feature, _, _ in explained if term == "untrained"}
    trained = {feature for *_, term, feature, _, _ in explained if term == "feature"}
    assert untrained
    assert not untrained & {*words, *OTHERS}
    assert trained <= {*words, *OTHERS}


def test_which_words_are_added(nbtext: Any) -> None:
    """The first words of the table, and those of unlabeled texts."""
    words = (SEEN, NEAR, FAR, "zebra")
    rows = read_rows(Path("train.jsonl"))
    texts, labels = zip(*((each["text"], each["label"]) for each in rows), strict=True)

    def known_of(**parameters: Any) -> list[bool]:
        TextClassifier(vectors=TABLE, **parameters).fit(texts, labels).save("m")
        return known(nbtext, *words)

    assert known_of(vector_words=0) == [True, False, False, False]
    assert known_of(vector_words=N_FIRST) == [True, True, False, False]
    more = {"vector_words": N_FIRST, "more_words": (FAR, "zebra")}
    assert known_of(**more) == [True, True, True, False]
    assert known_of(vector_words=N_FIRST, stop_words=(NEAR,)) == [True, False, False, False]
    write_rows(Path("more.jsonl"), [{"text": f"{FAR} zebra"}])
    for model in ("auto", "best"):
        options = ("--vectors", TABLE, "--unlabeled", "more.jsonl", "--model", model)
        nbtext(*TRAIN, *options).ok()
        assert known(nbtext, *words) == [True, True, True, False]


@pytest.mark.parametrize("model", ["auto", "best"])
def test_the_table_is_only_read_in_training(nbtext: Any, model: str) -> None:
    """Nothing of it is needed to predict, and the model does not name it."""
    table = str(Path(TABLE).absolute())
    said = nbtext("train", "train.jsonl", "-o", "m", "--vectors", table, "--model", model).ok().err
    assert ("words, vectors" in said) == (model == "best")  # in the table of candidates
    before = nbtext("predict test.jsonl -m m --to jsonl").ok().out
    Path(TABLE).unlink()
    assert nbtext("predict test.jsonl -m m --to jsonl").ok().out == before
    for secret in (TABLE, str(Path.cwd())):
        assert secret.encode() not in Path("m").read_bytes()
        assert secret not in nbtext("inspect m --to json").ok().out


def test_explanations_and_inspection_mark_untrained_words(nbtext: Any) -> None:
    """In each format."""
    Path("q.txt").write_text(f"{SEEN} {NEAR}")
    found = {to: nbtext(f"explain q.txt -m m --to {to}").ok() for to in ("json", "csv", "table")}
    (record,) = found["json"].json
    marks = {each["feature"]: each.get("is_untrained") for each in record["contributions"]}
    assert marks == {SEEN: None, NEAR: True}
    terms = {feature: term for *_, term, feature, _, _ in found["csv"].rows[1:]}
    assert (terms[SEEN], terms[NEAR]) == ("feature", "untrained")
    listed = nbtext("inspect m --to table --features 70").ok().out.replace("\n", " ")
    assert f"{NEAR} (untrained)" in listed
    page = nbtext("explain q.txt -m m --to html").ok().out
    for shown in (page, found["table"].out):
        assert f"{NEAR} (untrained)" in shown
        assert f"{SEEN} (untrained)" not in shown


def test_the_same_in_python(nbtext: Any) -> None:
    """Also for a copy of scikit-learn and of pickle."""
    rows = {name: read_rows(Path(f"{name}.jsonl")) for name in ("train", "test")}
    texts, labels = ([each[key] for each in rows["train"]] for key in ("text", "label"))
    tests = [each["text"] for each in rows["test"]]
    expected = TextClassifier.load("m").predict_proba(tests)
    found = TextClassifier(vectors=Path(TABLE)).fit(texts, labels)
    for each in (found, clone(found).fit(texts, labels), pickle.loads(pickle.dumps(found))):
        assert each.get_params()["vectors"] == (TABLE,)
        np.testing.assert_array_equal(each.predict_proba(tests), expected)


def test_two_tables(nbtext: Any) -> None:
    """Each has the words of two labels; side by side, they tell all labels apart, also in folds and
    in Python.
    """
    lines = Path(TABLE).read_text().splitlines(keepends=True)
    tables = ("a.vec", "b.vec")
    for table, labels in zip(tables, (LABELS[2:], LABELS[:2]), strict=True):
        left_out = {word for label in labels for word in WORDS[label]}
        Path(table).write_text("".join(line for line in lines if line.split()[0] not in left_out))
    for table in tables:
        nbtext(*TRAIN, "--vectors", table).ok()
        assert evaluate(nbtext) < 0.8
    both = ("--vectors", tables[0], "--vectors", tables[1])
    nbtext(*TRAIN, *both).ok()
    assert evaluate(nbtext) == 1
    assert evaluate(nbtext, "--folds", "3", "-q", *both) == 1
    rows = read_rows(Path("train.jsonl"))
    texts, labels = ([each[key] for each in rows] for key in ("text", "label"))
    found = TextClassifier(vectors=[Path(tables[0]), tables[1]]).fit(texts, labels)
    tests = [each["text"] for each in read_rows(Path("test.jsonl"))]
    expected = TextClassifier.load("m").predict_proba(tests)
    np.testing.assert_array_equal(clone(found).fit(texts, labels).predict_proba(tests), expected)
    write_rows(Path("half.jsonl"), [each for each in rows if each["label"] in LABELS[:2]])
    for source, options, status, message in (
        ("train.jsonl", "--vectors a.vec --vectors none.vec", 1, "none.vec: there is no such"),
        ("half.jsonl --stop-words others", " ".join(both), 1, "b.vec: has no vector but 0"),
        ("train.jsonl", "--vectors a.vec --vectors a.vec", 2, "--vectors: a table is given twice"),
    ):
        Path("others").write_text("\n".join(OTHERS))
        nbtext(f"train {source} -q -o n {options}").refused(status, message)


REFUSED = {
    "--model nbsvm": "--vectors: does not apply: nbsvm",
    "--cluster local": "--cluster: cannot be combined with --vectors",
    **{
        options: f"{options.split()[-2]}: cannot be combined with word vectors"
        for options in (
            "--weighting :smooth",
            "--model best --weighting :smooth",
            "--hash-bits 9",
            "--vocabulary words.txt",
            "--max-features 5",
            "--select mi:5",
            "--max-df 1",
            "--min-df 3",
            "--stem english",
            "--strip-accents ascii",
        )
    },
    "--keep-sample 5": "cannot be combined with --keep-sample",
    "--analyzer char": "use --analyzer word",
    "--ngrams 2,2": "use --analyzer word",
    "--view char:1,2 --view word:2": "use --analyzer word",
    "--keywords words.toml --em 3": "--em: does not apply: word vectors compare documents with keywords at once",
    "--em 3": "--em: needs --unlabeled or --keywords",
    "--em 3 --unlabeled test.jsonl --model best": "--em: cannot be combined",
    "--em 3 --unlabeled test.jsonl --max-model-bytes 9KB": "--em: cannot be combined",
    "--C 2": "--C: does not apply",
    "--max-model-bytes 1KB": "are too few",
}


@pytest.mark.parametrize("options", REFUSED)
def test_options_that_do_not_apply(nbtext: Any, options: str) -> None:
    """Each is refused in one line that names it."""
    Path("words.txt").write_text("\n".join((SEEN, *OTHERS)))
    Path("words.toml").write_text('cats = ["cat"]\ncars = ["car"]')
    command = ("train", "train.jsonl", "-o", "n", "--vectors", TABLE, *options.split())
    nbtext(*command).refused(2, REFUSED[options])
    assert not Path("n").exists()


WRONG = [
    ("train multi.jsonl -o n --vectors TABLE", 2, "--vectors: "),
    ("train train.jsonl -o n --vectors none.vec", 1, "none.vec: there is no such table"),
    ("train train.jsonl -o n --vectors train.jsonl", 1, "train.jsonl:1: not a word and"),
    ("train foreign.jsonl -o n --vectors TABLE", 1, "TABLE: has no vector but 0 for any word"),
    ("evaluate foreign.jsonl --folds 3 --vectors TABLE", 1, "has no vector but 0 for any word"),
    ("evaluate test.jsonl -m m --vectors TABLE", 2, "--vectors: does not apply"),
    ("train train.jsonl -o TABLE --vectors TABLE", 2, "TABLE is not a model"),
    ("update train.jsonl -m m -o n", 1, "not fitted to sums of counts"),
    ("train m -o n --vectors TABLE", 1, "needs the counts"),
    ("sample m", 1, "cannot generate documents"),
    ("label test.jsonl -o n --vectors TABLE -m m", 2, "--vectors: cannot be combined with"),
]


@pytest.mark.parametrize(("command", "status", "message"), WRONG)
def test_what_is_refused(nbtext: Any, command: str, status: int, message: str) -> None:
    """In one line; the table is never written."""
    write_rows(Path("multi.jsonl"), [{"text": SEEN, "label": [*LABELS[:2]]}] * 4)
    rows = ({"text": f"mot{i}", "label": LABELS[i % 2]} for i in range(9))
    write_rows(Path("foreign.jsonl"), rows)
    table = Path(TABLE).read_bytes()
    nbtext(command.replace("TABLE", TABLE)).refused(status, message.replace("TABLE", TABLE))
    assert Path(TABLE).read_bytes() == table


@pytest.mark.parametrize(
    "options",
    """--ngrams 1,2
--view word:1 --view char:2
--view word:1,2 --view word:1:binary
--no-lowercase
--weighting binary-l2
--no-calibrate
--text-field title,body
--text-field title,body --separate-fields
--text-field title,body --separate-fields --view word:1 --view char_wb:1,2
--text-field title,body --separate-fields --model best
--optimize macro_f1
--min-recall cats=0.2
--unlabeled test.jsonl
--model stacked""".splitlines(),
)
def test_other_options(nbtext: Any, options: str) -> None:
    """Words that no training text has are known with each."""
    nbtext(*TRAIN, "--vectors", TABLE, *options.split()).ok()
    assert evaluate(nbtext) > 0.9


def test_unlabeled_texts_are_judged_with_their_words(nbtext: Any) -> None:
    """A model that is fitted to them labels the held-out texts right."""
    texts = [each["text"] for each in read_rows(Path("test.jsonl"))]
    texts = [f"{text} {OTHERS[i % 10]} {OTHERS[i % 7]}" for i, text in enumerate(texts)]
    write_rows(Path("more.jsonl"), [{"text": text} for text in texts])
    options = ("--vectors", TABLE, "--unlabeled", "more.jsonl", "--em", "1")
    said = nbtext(*TRAIN[:2], "-o", "m", *options).ok().err
    assert re.findall(r"accuracy (1\.00+) \(\S+ to 1\.0+\), log-loss", said)[1:]


def test_columns_without_names_are_refused(nbtext: Any) -> None:
    """The words of a matrix of numbers are not known, whatever the table has."""
    Path("m.svmlight").write_text("0 1:1 3:2\n1 2:1 3:1\n" * 6)
    Path("digits.vec").write_text("".join(f"{i} {i * i % 7} {i * i % 5} 1\n" for i in range(9)))
    refused = nbtext("train m.svmlight -o n -q --vectors digits.vec")
    assert (refused.status, Path("n").exists()) == (2, False)


def test_folds_without_a_word_of_the_table(nbtext: Any) -> None:
    """The table must have a word of all documents together, and a fold may have none."""
    rows = [{"text": f"mot{i % 4} mot{i % 3}", "label": LABELS[i % 2]} for i in range(9)]
    write_rows(Path("train.jsonl"), [*rows, {"text": NEAR, "label": LABELS[0]}])
    nbtext(*TRAIN, "--vectors", TABLE).ok()
    nbtext(f"evaluate train.jsonl --folds 3 --vectors {TABLE}").ok()


def test_what_gets_no_weight(nbtext: Any) -> None:
    """A line says so: words of both labels have the same vectors, and no text has seven words."""
    labels = ["ab"[n % 2] for n in range(80)]
    texts = [f"{label}{n % 3} {label}{n % 5} x{n % 7}" for n, label in enumerate(labels)]
    rows = ({"text": text, "label": label} for text, label in zip(texts, labels, strict=True))
    write_rows(Path("train.jsonl"), rows)
    lines = [f"{word}{n} {n % 4} {n * n % 7}" for n in range(7) for word in "abx"]
    Path("same.vec").write_text("\n".join(lines))
    for options, said in (
        ("--vectors same.vec", "the table of word vectors got no weight"),
        ("--vectors same.vec --unlabeled train.jsonl", "words of the unlabeled texts, got no"),
        ("--model combined --view word:1 --view word:7,7", "the view word:7 got no weight"),
    ):
        assert said in nbtext(f"train train.jsonl -o n {options}").ok().err
    assert "no weight" not in nbtext(f"train test.jsonl -o n --vectors {TABLE}").ok().err


def test_the_advice_of_characters(nbtext: Any) -> None:
    """Vectors are of words: the advice to count characters is to leave them out."""
    words = [letter * 12 for letter in "กขคงจชซดตถ"]
    Path("t.vec").write_text("".join(f"{word} {n} 1\n" for n, word in enumerate(words)))
    rows = ({"text": f"{words[n % 9]} {words[9]}", "label": "ab"[n % 2]} for n in range(36))
    write_rows(Path("t.jsonl"), rows)
    said = nbtext("train t.jsonl --vectors t.vec -o n").ok().err
    assert "; without --vectors, --analyzer char --ngrams 1,3 or" in said
