"""nbtext train --keywords: a model from unlabeled documents and a few words of each label."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.feature_extraction.text import CountVectorizer

from nbtext import TextClassifier, load_model
from nbtext.applications.keywords.keyword_file import read_keywords

TOP = Path(__file__).parents[3]
TEXTS = [
    "the goal of the match",
    "a goal and a save",
    "the market fell, the bank said",
    "bank and market rates",
    "goal market",
    "nothing of either",
    "save the rates",
]
KEYWORDS = {"money": ["bank", "market"], "sport": ["goal"]}


def write_toml(folder: Path, keywords: dict[str, list[str]] = KEYWORDS) -> str:
    path = folder / "keywords.toml"
    path.write_text(
        "".join(f'"{label}" = {json.dumps(words)}\n' for label, words in keywords.items())
    )
    return str(path)


def expected_weights(
    texts: list[str],
    keywords: dict[str, list[str]],
    *,
    is_binary: bool,
    steps: int = 0,
    n_characters: int = 0,
) -> Any:
    """Return log P(feature | label) as the definition says, written independently.

    n_characters  of the longest n-grams of characters; 0 is words
    """
    options = {"analyzer": "char", "ngram_range": (1, n_characters)} if n_characters else {}
    vectorizer = CountVectorizer(**options)
    counts = vectorizer.fit_transform(texts).toarray()
    n = len(texts)
    labels = sorted(keywords)
    scores = np.zeros((n, len(labels)))
    is_keyword = np.zeros((len(labels), counts.shape[1]))
    for k, label in enumerate(labels):
        for word in keywords[label]:
            size = min(n_characters, len(word)) or len(word)
            for start in range(len(word) - size + 1):
                is_keyword[k, vectorizer.vocabulary_[word[start : start + size]]] = 1
            contains = np.array([word in text for text in texts])
            scores[:, k] += contains * math.log(n / contains.sum())
    q = softmax(scores, axis=1)
    q[scores.max(axis=1) == 0] = 0
    values = (counts > 0) if is_binary else counts
    for _ in range(steps + 1):
        totals = q.T @ values + is_keyword * n / (5 * len(labels)) + 0.1
        weights = np.log(totals / totals.sum(axis=1, keepdims=True))
        q = softmax(values @ weights.T, axis=1)
    return labels, vectorizer, weights


@pytest.mark.parametrize("options", [(), ("--model", "multinomial"), ("--em", "2")], ids=str)
def test_the_definition(nbtext: Any, tmp_path: Path, options: tuple[str, ...]) -> None:
    """Probabilities equal those of the definition, computed with scikit-learn's counts."""
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    command = ("train", "texts.txt", "--keywords", write_toml(tmp_path), "-o", "m", *options)
    assert "keywords: 5 of 7 documents contain one (71%)" in nbtext(*command).ok().err
    is_binary = "--model" not in options
    labels, vectorizer, weights = expected_weights(
        TEXTS, KEYWORDS, is_binary=is_binary, steps=2 * ("--em" in options)
    )
    questions = ["goal goal market", "the rates", "unknown", ""]
    counts = vectorizer.transform(questions).toarray()
    scores = ((counts > 0) if is_binary else counts) @ weights.T
    expected = softmax(scores, axis=1)
    model = load_model(str(tmp_path / "m"))
    assert model.classes_.tolist() == labels
    np.testing.assert_allclose(model.predict_proba(questions), expected, rtol=1e-9)
    found = TextClassifier(model="auto" if is_binary else "multinomial")
    found.fit(TEXTS, keywords=KEYWORDS, em=2 if "--em" in options else None)
    np.testing.assert_array_equal(found.predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_an_ordinary_model(nbtext: Any, tmp_path: Path) -> None:
    """It predicts, is inspected, evaluated, updated with labels, calibrated, and is the same for
    all threads.
    """
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS * 20) + "\n")
    keywords = write_toml(tmp_path)
    for jobs in ("1", "3"):
        nbtext(f"train texts.txt --keywords {keywords} -q -j {jobs} -o m{jobs}")
    assert (tmp_path / "m1").read_bytes() == (tmp_path / "m3").read_bytes()
    (tmp_path / "l.tsv").write_text(
        "label\ttext\nsport\tsave the goal\nmoney\trates\nmoney\tbank rates\nsport\tsave\n"
    )
    for command in (
        ("predict", "texts.txt", "-m", "m1"),
        ("inspect", "m1", "--to", "table"),
        ("explain", "texts.txt", "-m", "m1"),
        ("evaluate", "l.tsv", "-m", "m1"),
        ("update", "m1", "l.tsv", "-o", "m2"),
        ("calibrate", "m1", "l.tsv", "-o", "m4"),
        ("predict", "texts.txt", "-m", "m2"),
    ):
        nbtext(*command).ok()
    nbtext("forget m1 l.tsv").refused(1, "--keywords")


def test_csv_and_phrases(nbtext: Any, tmp_path: Path) -> None:
    """A CSV file says the same as TOML; a phrase is an n-gram, read as the documents are."""
    (tmp_path / "texts.txt").write_text("Free Prize money\nfree love\nprize of love\n" * 5)
    (tmp_path / "k.csv").write_text('label,words\nspam,Free prize\nham,love,"love,"\n')
    write_toml(tmp_path, {"spam": ["Free prize"], "ham": ["love", "love,"]})
    for name in ("k.csv", "keywords.toml"):
        assert (
            "15 of 15 documents"
            in nbtext("train", "texts.txt", "--keywords", name, "-o", name + ".m").ok().err
        )
    assert (tmp_path / "k.csv.m").read_bytes() == (tmp_path / "keywords.toml.m").read_bytes()
    result = nbtext("predict - -m k.csv.m", input=b"free prize\nfree love\n")
    assert [line.split("\t")[1] for line in result.out.splitlines()] == ["spam", "ham"]


@pytest.mark.parametrize("character", list("\u2028\u2029\x85\x0b\x0c\x1c"), ids=ascii)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_characters_that_end_a_line_elsewhere(tmp_path: Path, character: str, end: str) -> None:
    """A label and a phrase may contain them."""
    label = f"sp{character}am"
    phrase = f"prize{character}money"
    lines = [f"{label},free,{phrase}", "ham,lunch", ""]
    (tmp_path / "k.csv").write_bytes(end.join(lines).encode())
    assert read_keywords(str(tmp_path / "k.csv")) == {"ham": ("lunch",), label: ("free", phrase)}


def test_labeled_documents_join(nbtext: Any, tmp_path: Path) -> None:
    """With --unlabeled, SOURCE is labeled: its counts are added, and its documents calibrate the
    model.
    """
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS * 20) + "\n")
    rows = [
        "sport\tsave the goal",
        "money\trates of the bank",
        "sport\ta save and a match",
        "money\tthe market",
    ] * 3
    (tmp_path / "l.tsv").write_text("label\ttext\n" + "\n".join(rows) + "\n")
    keywords = write_toml(tmp_path)
    ask = f"train l.tsv --unlabeled texts.txt --keywords {keywords} -o m"
    nbtext(ask).ok()
    nbtext(f"train texts.txt --keywords {keywords} -o alone").ok()
    both, one = (load_model(str(tmp_path / name)) for name in ("m", "alone"))
    assert both.fitted_.calibration.temperature is not None
    assert one.fitted_.calibration.temperature is None
    total = both.counts_.statistics.n_documents - one.counts_.statistics.n_documents
    assert total == pytest.approx(12)
    (tmp_path / "l.tsv").write_text("label\ttext\nweather\tsave the goal\n")
    nbtext(ask).refused(1, "'weather' has no keywords")


def test_a_warning_where_em_harms(nbtext: Any, tmp_path: Path) -> None:
    """Two topics that the keywords do not mean are larger than those that they mean: EM finds the
    topics. The agreement with hidden keywords tells, without labeled texts.
    """
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(600):
        topic = rng.integers(2)
        label = rng.integers(2)
        words = [f"topic{topic}x{rng.integers(5)}" for _ in range(30)]
        words += [f"sign{label}x{rng.integers(4)}" for _ in range(2)]
        lines.append(" ".join(words))
    (tmp_path / "texts.txt").write_text("\n".join(lines) + "\n")
    keywords = write_toml(tmp_path, {f"l{k}": [f"sign{k}x{n}" for n in range(2)] for k in range(2)})
    said = nbtext(f"train texts.txt --keywords {keywords} --em 10 -o m").ok().err
    assert "agreement with hidden keywords: " in said
    assert "warning: EM may make the model worse" in said


def test_agreement_with_hidden_keywords(nbtext: Any, tmp_path: Path) -> None:
    """Of the six documents with the second keyword of a label, one has the word of the other
    label.
    """
    texts = ["apple red", "pear red", "drill steel"] * 3 + ["saw steel", "saw steel", "saw red"]
    lines = "".join(f"{text} w{number}\n" for number, text in enumerate(texts))
    (tmp_path / "texts.txt").write_text(lines)
    keywords = write_toml(tmp_path, {"fruit": ["apple", "pear"], "tool": ["drill", "saw"]})
    said = nbtext(f"train texts.txt --keywords {keywords} --em 1 -o m").ok().err
    assert "agreement with hidden keywords: 0.8333 before EM, 0.8333 after it" in said


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("k.toml", "a = [\n", "not valid TOML"),
        ("k.toml", 'a = "word"\nb = ["x"]\n', "'a' should be a list of words"),
        ("k.toml", 'a = ["word", 1]\nb = ["x"]\n', "'a' should be a list of words"),
        ("k.toml", "a = []\nb = ['x']\n", "'a' should be a list of words"),
        ("k.toml", "a = ['x']\n", "two labels or more"),
        (
            "k.toml",
            "a = ['goal']\nb = ['Goal']\n",
            "'goal' of 'a' and 'Goal' of 'b' are read as the same",
        ),
        ("k.toml", "a = ['goal']\nb = ['unheard']\n", "no keyword of 'b' occurs"),
        ("k.csv", "a,goal\nb\n", "k.csv:2: expected a label and its words"),
        ("k.csv", ',goal\n"b",bank\n', "k.csv:1: expected a label"),
        ("k.csv", 'a,"goal\n', "not valid CSV"),
        ("k.csv", "a,\udcff\n", "not UTF-8"),
        ("k.csv", "", "two labels or more"),
    ],
)
def test_wrong_files(nbtext: Any, tmp_path: Path, name: str, content: str, message: str) -> None:
    """One line names the file, what is wrong, and how to write it; no model is written."""
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    nbtext(f"train texts.txt --keywords {name} -o m").refused(1, message)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("one", "other", "options"),
    [
        ("free", "free", ()),
        ("free", "FREE", ()),
        ("mail", "e-mail", ()),
        ("free", "the free", ("--stop-words", "english")),
        ("goals", "goal", ("--stem", "english")),
        ("café", "cafe", ("--strip-accents", "unicode")),
        ("aaaaa", "aaaaaa", ("--analyzer", "char")),
    ],
)
def test_keywords_of_two_labels_that_become_one_feature(
    nbtext: Any, tmp_path: Path, one: str, other: str, options: tuple[str, ...]
) -> None:
    """The error names both labels and both words, whether or not they occur; no label wins
    silently.
    """
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    keywords = write_toml(tmp_path, {"spam": [one, "bank"], "ham": [other, "goal and"]})
    nbtext("train", "texts.txt", "--keywords", keywords, *options, "-o", "m").refused(
        1, f"'{other}' of 'ham' and '{one}' of 'spam' are read as the same feature"
    )
    assert {path.name for path in tmp_path.iterdir()} == {"texts.txt", "keywords.toml"}


def test_keywords_that_the_features_tell_apart(nbtext: Any, tmp_path: Path) -> None:
    """`US` and `us` are two features where case counts; two stop words do not collide."""
    (tmp_path / "texts.txt").write_text("US bank\nus two\nthe goal\n" * 3)
    for words, options in (
        ({"a": ["US"], "b": ["us"]}, ("--no-lowercase",)),
        ({"a": ["the", "bank"], "b": ["and", "goal"]}, ("--stop-words", "english")),
        ({"a": ["bank", "bank!", "Bank"], "b": ["goal"]}, ()),
    ):
        ask = ("train", "texts.txt", "--keywords", write_toml(tmp_path, words), *options, "-o", "m")
        nbtext(*ask).ok()


def test_a_keyword_that_does_not_occur(nbtext: Any, tmp_path: Path) -> None:
    """It is named, without control characters."""
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    keywords = write_toml(tmp_path, {"money": ["bank", "un\u001bheard"], "sport": ["goal"]})
    result = nbtext(f"train texts.txt --keywords {keywords} -o m")
    assert "occur in no document: un\\x1bheard" in result.err
    assert "\x1b" not in result.err


def test_keywords_of_characters(nbtext: Any, tmp_path: Path) -> None:
    """With --analyzer char, a text contains a keyword if it has its characters in a row, as without
    spaces.
    """
    texts = ["อาหารอร่อยมาก", "ร้านนี้อร่อยและถูก", "รสชาติแย่มาก", "บริการแย่", "อาหารไม่อร่อย", "เปิดวันนี้"]
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n")
    words = {"neg": ["แย่", "ไม่อร่อย"], "pos": ["อร่อย"]}
    keywords = write_toml(tmp_path, words)
    said = nbtext(f"train texts.txt --keywords {keywords} --analyzer char -o m").ok().err
    assert "5 of 6 documents contain one" in said and "only a part" not in said
    _, vectorizer, weights = expected_weights(texts, words, is_binary=True, n_characters=4)
    scores = (vectorizer.transform(texts).toarray() > 0) @ weights.T
    found = load_model(tmp_path / "m").predict_proba(texts)
    np.testing.assert_allclose(found, softmax(scores, axis=1), rtol=1e-9)


def test_keywords_of_which_a_part_is_read(nbtext: Any, tmp_path: Path) -> None:
    """Single characters are not words by default, so "e-mail" is "mail": the message says so."""
    (tmp_path / "texts.txt").write_text("an e-mail of the bank\nthe mail\nred goal\n")
    keywords = write_toml(tmp_path, {"mail": ["e-mail", "bank"], "sport": ["goal"]})
    ask = f"train texts.txt --keywords {keywords} -o m"
    assert (
        "only a part is read: e-mail as mail; to read every character, give --analyzer char"
        in nbtext(ask).err
    )
    result = nbtext(f"{ask} --analyzer char_wb")
    assert (result.status, "a part" in result.err, "3 of 3 documents" in result.err) == (
        0,
        False,
        False,
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "minimum"), [("imdb", 0.79), ("20news", 0.69)])
def test_real_corpora(
    nbtext: Any, corpora: Callable[[str], Path], name: str, minimum: float
) -> None:
    """The keyword files in corpora/keywords reach the accuracy that the guide names."""
    keywords = TOP / "corpora" / "keywords" / f"{name}.toml"
    nbtext(f"train {corpora(name)}/train --keywords {keywords} -q -o m").ok()
    found = nbtext(f"evaluate {corpora(name)}/test -m m -q --to json").ok().json
    assert found["accuracy"] >= minimum
