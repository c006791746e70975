"""nbtext prevalence: shares of labels."""

import random
from pathlib import Path
from typing import Any

import pytest
from made_files import read_rows, write_rows

from nbtext import load_model
from nbtext.errors import InputError

LABELS = ["noise", "parking", "permits", "streets", "taxes", "trash"]


@pytest.fixture(scope="module")
def spam(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of spam and ham, and new documents of which a tenth are spam."""
    folder = tmp_path_factory.mktemp("spam")
    top = Path(__file__).parents[3]
    nbtext(f"train {top / 'corpora' / 'spam'} -q -o demo.joblib", cwd=folder)
    drawn = nbtext("sample demo.joblib -n 3000 --length 30 --seed 1 --to jsonl", cwd=folder)
    documents = drawn.records
    write_rows(folder / "train.jsonl", documents[:1000])
    new = [each for each in documents[1000:] if each["label"] == "ham"][:900]
    new += [each for each in documents[1000:] if each["label"] == "spam"][:100]
    write_rows(folder / "new.jsonl", new)
    nbtext("train train.jsonl -q -o m", cwd=folder)
    return folder


def test_the_shares_of_all_labels(nbtext: Any, letters: Path, model: str) -> None:
    """One record for each label, in order; the shares add up to 1, and each is in its interval."""
    records = nbtext(f"prevalence {letters / 'test'} -m {model} --to jsonl").records
    assert [record["label"] for record in records] == LABELS
    assert sum(record["share"] for record in records) == pytest.approx(1)
    assert all(record["low"] <= record["share"] <= record["high"] for record in records)
    assert all(record["predicted_share"] == record["predicted"] / 84 for record in records)


@pytest.mark.parametrize("kept", [1.0, 0.35])
def test_documents_of_labels_that_have_changed(
    nbtext: Any, spam: Path, tmp_path: Path, kept: float
) -> None:
    """If most words are left out of the documents, which no mixture of labels shows, predictions
    are less certain: the interval covers the share, and a line says why it is wider.
    """
    rows = read_rows(spam / "new.jsonl")
    chance = random.Random(1)
    for name, rest in (("a", rows[600:]), ("b", rows[700:950])):  # 1 of 4, and 1 of 5 is spam
        texts = (row["text"].split() for row in rest)
        left = (" ".join(word for word in text if chance.random() < kept) for text in texts)
        write_rows(tmp_path / "rest.jsonl", [{"text": text, "group": name} for text in left])
        result = nbtext(f"prevalence rest.jsonl -m {spam / 'm'} --group-field group --to json")
        (found,) = result.json["groups"]
        (spam_share,) = (each for each in found["labels"] if each["label"] == "spam")
        true = sum(row["label"] == "spam" for row in rest) / len(rest)
        assert spam_share["low"] <= true <= spam_share["high"]
        said = f"group {name}: the predictions are less certain than in training"
        assert (said in result.err) == (found["shift"] < -2) == (kept < 1)


def test_formats(nbtext: Any, letters: Path, model: str) -> None:
    """csv and tsv have a row for each label; the table and markdown say how many documents there
    are.
    """
    run = f"prevalence {letters / 'test'} -m {model}"
    assert [row[0] for row in nbtext(f"{run} --to csv").rows] == ["label", *LABELS]
    assert nbtext(run).out.count("\n") == 6
    table = nbtext(f"{run} --to table").out
    assert table.startswith("84 documents") and "…" in table
    nbtext(f"{run} -o shares.md")
    assert "\n| label | share |" in Path("shares.md").read_text()


def test_documents_that_cannot_be_read(nbtext: Any, model: str, tmp_path: Path) -> None:
    """They do not count; without any document there is nothing to estimate."""
    (tmp_path / "a.jsonl").write_text('{"text": "the bins"}\n{"text": \n{"text": ""}\n')
    result = nbtext(f"prevalence a.jsonl -m {model} --to json")
    assert sum(each["predicted"] for each in result.json["labels"]) == 2
    assert "a.jsonl:2" in result.err
    (tmp_path / "empty.jsonl").write_text("")
    nbtext(f"prevalence empty.jsonl -m {model}").refused(1, "no document")


@pytest.mark.exhaustive
def test_models_that_cannot_estimate(nbtext: Any, tmp_path: Path) -> None:
    """One label, more than 512 labels, or no left-out document: one line says what to do."""
    (tmp_path / "one.tsv").write_text("a\tred round\na\tgreen round\n")
    (tmp_path / "single.tsv").write_text("a\tred round\nb\tyellow long\n")
    (tmp_path / "many.tsv").write_text(
        "".join(f"l{n}\tred word{n}\nl{n}\tgreen word{n}\n" for n in range(513))
    )
    for name, message in (
        ("one", "for 2 to 512 labels, and the model has 1"),
        ("many", "for 2 to 512 labels, and the model has 513"),
        ("single", "of left-out documents, which the model does not store"),
    ):
        nbtext(f"train {name}.tsv -q -o {name} --text-field 2 --label-field 1")
        nbtext(f"prevalence one.tsv -m {name}").refused(1, message)


@pytest.fixture(scope="module")
def topics(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a multi-label model, and new documents half of which have a label that a sixth
    had before.
    """
    folder = tmp_path_factory.mktemp("topics")
    words = {
        "fruit": "apple pear plum cherry",
        "sea": "wave boat tide reef",
        "tools": "saw nail drill bolt",
    }
    for name, share, seed in (("train", 1 / 6, 1), ("new", 0.5, 2)):
        chance = random.Random(seed)
        rows = []
        for _ in range(1000):
            labels = [
                label
                for label, p in (("fruit", 0.4), ("sea", share), ("tools", 0.4))
                if chance.random() < p
            ]
            own = [word for label in labels for word in chance.choices(words[label].split(), k=2)]
            common = chance.choices(
                ["wave", "boat", "apple", "pear", "nail", "drill", "the", "old", "good"], k=6
            )
            rows.append({"text": " ".join(own + common), "label": labels})
        if name == "train":
            rows += [{"text": f"stone rock x{n} the old", "label": ["rare"]} for n in range(5)]
        write_rows(folder / f"{name}.jsonl", rows)
    nbtext("train train.jsonl -q -o m", cwd=folder).ok()
    return folder


def test_several_labels(nbtext: Any, topics: Path) -> None:
    """Each label has its own share of the documents; the count of predictions misses the one that
    has changed.
    """
    result = nbtext("prevalence new.jsonl -m m --to jsonl", cwd=topics)
    records = {each["label"]: each for each in result.records}
    true = [row["label"] for row in read_rows(topics / "new.jsonl")]
    for label in ("fruit", "sea", "tools"):
        share = sum(label in labels for labels in true) / len(true)
        # other labels shift it a little
        assert records[label]["low"] - 0.05 <= share <= records[label]["high"] + 0.05
        assert records[label]["high"] - records[label]["low"] < 0.3
    assert records["sea"]["low"] <= 0.5 <= records["sea"]["high"]
    assert abs(records["sea"]["share"] - 0.5) < 0.5 * abs(records["sea"]["predicted_share"] - 0.5)
    assert (records["rare"]["low"], records["rare"]["high"]) == (0, 1)
    assert "too few training documents, and any share is possible: rare" in result.err


def test_a_label_without_left_out_documents(nbtext: Any, tmp_path: Path) -> None:
    """A label with one document is named, because its errors are not known."""
    (tmp_path / "t.tsv").write_text(
        "a\tred round\na\tred long\nb\tyellow long\nb\tyellow curved\nc\tstone\n"
    )
    nbtext("train t.tsv -q -o m --text-field 2 --label-field 1")
    assert "assumed to be 0: c" in nbtext("prevalence - -m m", input=b"red\n").ok().err


@pytest.mark.parametrize(
    "name", str.split("multinomial dirichlet complement bernoulli nbsvm logistic")
)
def test_all_models(nbtext: Any, spam: Path, name: str) -> None:
    """Every model whose left-out documents are scored can estimate shares: the interval covers the
    true one, which the count of predictions misses by far.
    """
    # linear models have no counts without it
    keep = ("--keep-sample", "1") if name in ("nbsvm", "logistic") else ()
    nbtext("train", "train.jsonl", "-q", "-o", name, "--model", name, *keep, cwd=spam)
    found = nbtext(f"prevalence new.jsonl -m {name} --to json", cwd=spam).json
    share = {each["label"]: each for each in found["labels"]}["spam"]
    assert share["low"] <= 0.1 <= share["high"]
    assert abs(share["share"] - 0.1) < 0.5 * abs(share["predicted_share"] - 0.1)


@pytest.mark.parametrize(
    ("corpus", "known", "remedy"),
    [("spam", "spam", "nbtext calibrate"), ("topics", "fruit", "train it again")],
)
def test_an_update_keeps_the_estimate(
    nbtext: Any, request: pytest.FixtureRequest, corpus: str, known: str, remedy: str
) -> None:
    """With a new label, there is none, and the error says what to do; of several labels, this is
    not to calibrate.
    """
    folder = request.getfixturevalue(corpus)
    for label in (known, "other"):
        row = {"text": "free prize apple", "label": [label] if corpus == "topics" else label}
        write_rows(folder / "more.jsonl", [row])
        nbtext("update m more.jsonl -q --force -o grown", cwd=folder).ok()
        result = nbtext("prevalence new.jsonl -m grown", cwd=folder)
        _ = result.ok() if label == known else result.refused(1, remedy)


@pytest.mark.parametrize("name", ["spam", "topics"])
def test_python_and_the_command_agree(
    nbtext: Any, request: pytest.FixtureRequest, name: str
) -> None:
    """Also on empty texts, which are predicted like others, and with several labels."""
    model = request.getfixturevalue(name) / "m"
    texts = ["", "free prize boat", "qqqq", "meeting apple", "", "free tide"] * 20
    write_rows(Path("some.jsonl"), ({"text": each} for each in texts))
    found = load_model(model).prevalence(texts)
    printed = nbtext(f"prevalence some.jsonl -m {model} --to json").json
    assert printed["documents"] == found.n_documents == 120
    labels = printed["labels"]
    assert [each["label"] for each in labels] == list(found.labels)
    assert [each["predicted"] for each in labels] == list(found.predicted)
    shares = [each["share"] for each in labels]
    assert shares == pytest.approx(list(found.estimate.shares), abs=1e-6)
    with pytest.raises(InputError, match="no documents to estimate shares from"):
        load_model(model).prevalence([])


@pytest.fixture(scope="module")
def words_by_group(nbtext: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, and documents of fifteen groups, each of which adds some words to both
    labels alike.

    Three more groups have only other shares of the labels, and one has words as no label has them.
    """
    folder = tmp_path_factory.mktemp("groups")
    chance = random.Random(1)
    words = [f"w{n:03}" for n in range(300)]
    weights = {label: [chance.random() ** 2 + 0.3 for _ in words] for label in ("bad", "good")}

    def document(share: float) -> tuple[str, list[str]]:
        label = "bad" if chance.random() < share else "good"
        return label, chance.choices(words, weights[label], k=20)

    rows = []
    for _ in range(2500):
        label, own = document(0.5)
        rows.append({"label": label, "text": " ".join(own)})
    write_rows(folder / "train.jsonl", rows)
    rows = []
    for number in range(19):
        added = chance.sample(words, 3)
        share = chance.random()
        kind = "strange" if number == 18 else "only shares" if number > 14 else "words"
        for _ in range(400):
            label, own = document(share)
            if kind == "words":
                own += [word for word in added if chance.random() < 0.5]
            if kind == "strange":
                own = [*own[:3], *added]
            rows.append({"group": f"{kind} {number:02}", "label": label, "text": " ".join(own)})
    write_rows(folder / "new.jsonl", rows)
    nbtext("train train.jsonl -q -o m", cwd=folder)
    return folder


def test_groups_whose_words_differ(nbtext: Any, words_by_group: Path) -> None:
    """Where words differ, predictions are counted, and nine of ten intervals contain the share; a
    line says so.
    """
    ran = nbtext("prevalence new.jsonl -m m --group-field group --to jsonl", cwd=words_by_group)
    rows = read_rows(words_by_group / "new.jsonl")
    true: dict[str, list[bool]] = {}
    for row in rows:
        true.setdefault(row["group"], []).append(row["label"] == "bad")
    found = {each["group"]: each for each in ran.records if each["label"] == "bad"}
    assert found.keys() == true.keys()
    shares = {name: sum(each) / len(each) for name, each in true.items()}
    is_covered = {name: each["low"] <= shares[name] <= each["high"] for name, each in found.items()}
    by_words = [name for name in found if name.startswith("words")]
    assert all(found[name]["high"] - found[name]["low"] < 1 for name in by_words)
    assert sum(is_covered[name] for name in by_words) >= 0.9 * len(by_words)
    assert all(found[name]["share"] == found[name]["predicted_share"] for name in by_words)
    for name, each in found.items():
        width = each["high"] - each["low"]
        assert (f"group {name}: " in ran.err) is not name.startswith("only")
        if name.startswith("only"):
            assert is_covered[name]
            assert each["share"] != each["predicted_share"]
            assert width < 0.2
        if name.startswith("strange"):
            assert width == 1
    assert "any share is possible" in ran.err
    assert "so the shares are those of the predictions, not corrected" in ran.err
    assert (
        "allow for as many errors as the probabilities say, and for the effect of these words, not"
        in ran.err
    )


def test_a_group_is_estimated_as_alone(nbtext: Any, words_by_group: Path, tmp_path: Path) -> None:
    """In every format; in JSON with its number of documents, and how far its words differ."""
    folder = words_by_group
    texts = read_rows(folder / "new.jsonl")
    asked = "prevalence new.jsonl -m m --group-field group --to"
    nested = nbtext(f"{asked} json", cwd=folder).json["groups"]
    rows = nbtext(f"{asked} csv -j 3", cwd=folder).rows[1:]
    assert [row[0] for row in rows] == [each["group"] for each in nested for _ in range(2)]
    for name in ("words 03", "only shares 15"):
        write_rows(tmp_path / "one.jsonl", (each for each in texts if each["group"] == name))
        alone = nbtext(f"prevalence one.jsonl -m {folder / 'm'} --to json").json
        (own,) = (each for each in nested if each["group"] == name)
        assert own["documents"] == alone["documents"] == 400
        assert own["drift"] == pytest.approx(alone["drift"])
        for one, other in zip(own["labels"], alone["labels"], strict=True):
            assert one == pytest.approx(other, abs=1e-5)
    table = nbtext(f"{asked} table", cwd=folder).out
    assert " words 03 " in table
    assert " only shares 15 " in table


def test_group_fields_that_cannot_be_used(
    nbtext: Any, words_by_group: Path, tmp_path: Path
) -> None:
    """A field that no document has, and too many groups, are one line that says what to do."""
    write_rows(tmp_path / "many.jsonl", ({"text": "w001", "g": str(n)} for n in range(1001)))
    asked = ("prevalence", "many.jsonl", "-m", str(words_by_group / "m"), "--group-field")
    nbtext(*asked, "").refused(1, "--group-field")
    nbtext(*asked, "g").refused(
        2, "--group-field: the field has more than 1,000 values; name a field with fewer groups"
    )


def test_weights_threads_and_labels(nbtext: Any, spam: Path, topics: Path) -> None:
    """A whole weight is as many documents, but for the chance in intervals. Labels are ignored, and
    the bytes are the same for any number of threads.
    """
    for folder in (spam, topics):
        rows = [{**row, "n": n % 3 + 1} for n, row in enumerate(read_rows(folder / "new.jsonl"))]
        write_rows(Path("texts.jsonl"), ({"text": row["text"], "n": row["n"]} for row in rows))
        write_rows(Path("repeated.jsonl"), (row for row in rows for _ in range(row["n"])))
        run = f"prevalence -m {folder / 'm'} --to json"
        weighed = nbtext(f"{run} texts.jsonl --weight-field n").json
        assert weighed == nbtext(f"{run} texts.jsonl --weight-field n -j 3").json
        repeated = nbtext(f"{run} repeated.jsonl").json
        for one, other in zip(weighed["labels"], repeated["labels"], strict=True):
            assert one == pytest.approx(other, abs=0.02)
            assert one["share"] == pytest.approx(other["share"])
