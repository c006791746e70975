"""The commands on real text: news, reviews, short messages and raw mail."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Corpora = Callable[[str], Path]


@pytest.mark.exhaustive
def test_newsgroups(nbtext: Any, corpora: Corpora, tmp_path: Path) -> None:
    """20 Newsgroups by date: multinomial is calibrated to 0.04, beats Laplace's smoothing, and
    repairs broken bytes; its page is below 3 MB, and says what is confused most.
    """
    folder = corpora("20news")
    trained = nbtext(f"train {folder}/train --model multinomial -o m.joblib").ok()
    assert "invalid bytes in" in trained.err
    record = nbtext(f"evaluate {folder}/test -m m.joblib --to json --report p.html").json
    assert record["documents"] == 7532
    assert record["accuracy"] > 0.80
    assert record["expected_calibration_error"] < 0.04
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 3_000_000
    assert (
        "confused most often are <b>comp.os.ms-windows.misc</b> and <b>comp.sys.ibm.pc.hardware</b>"
        in page
    )
    assert re.search(r"At a threshold of 0\.\d+, 95&nbsp;% of the predictions are correct", page)


def test_newsgroups_by_default(nbtext: Any, corpora: Corpora) -> None:
    """20 Newsgroups by date: pairs of words are selected; of words alone it is complement, which
    finds the group that multinomial almost never predicts. The file has less than 12 MB.
    """
    folder = corpora("20news")
    trained = nbtext(f"train {folder}/train -o m.joblib")
    assert "selected words, pairs of words: +0.0" in trained.err
    assert Path("m.joblib").stat().st_size < 12_000_000
    assert nbtext(f"evaluate {folder}/test -m m.joblib --to json").json["accuracy"] >= 0.855
    trained = nbtext(f"train {folder}/train --max-df 0.999 -o words.joblib")
    assert "complement with binary counts: 11,314 documents" in trained.err
    record = nbtext(f"evaluate {folder}/test -m words.joblib --to json").json
    assert record["accuracy"] >= 0.820
    (group,) = (each for each in record["per_label"] if each["label"] == "comp.os.ms-windows.misc")
    assert group["recall"] >= 0.5


@pytest.mark.exhaustive(plain=0)
def test_movie_reviews_by_default(nbtext: Any, corpora: Corpora) -> None:
    """IMDB: binary counts of words and pairs of words are selected; the file is small."""
    folder = corpora("imdb")
    trained = nbtext(f"train {folder}/train -o m.joblib")
    assert "selected words, pairs of words: +0.0" in trained.err
    assert "combined with binary counts: 25,000 documents" in trained.err
    assert Path("m.joblib").stat().st_size < 12_000_000
    assert nbtext(f"evaluate {folder}/test -m m.joblib --to json").json["accuracy"] >= 0.868


@pytest.mark.exhaustive
def test_movie_reviews(nbtext: Any, corpora: Corpora) -> None:
    """IMDB: 25,000 reviews learned and 25,000 judged."""
    folder = corpora("imdb")
    nbtext(f"train {folder}/train --ngrams 1,2 -q -o m.joblib").ok()
    record = nbtext(f"evaluate {folder}/test -m m.joblib --to json").json
    assert record["documents"] == 25_000
    assert record["accuracy"] > 0.84


def test_short_questions_combined(nbtext: Any, corpora: Corpora) -> None:
    """Banking77: words, pairs of words and characters together are three points better, as the
    estimate says.
    """
    folder = corpora("banking77")
    columns = ["--text-field", "text", "--label-field", "category"]
    nbtext(
        "train", str(folder / "train.csv"), *columns, "--model", "combined", "-o", "m.joblib"
    ).ok()
    record = nbtext(
        "evaluate", str(folder / "test.csv"), *columns, "-m", "m.joblib", "--to", "json"
    ).json
    assert record["accuracy"] >= 0.900
    inspected = nbtext("inspect m.joblib --to json").json
    assert {part["view"] for part in inspected["parts"]} == {"char_wb:2,5", "word:1", "word:2"}
    assert inspected["expected"]["accuracy"] == pytest.approx(record["accuracy"], abs=0.01)
    assert inspected["expected"]["log_loss"] == pytest.approx(record["log_loss"], abs=0.03)


@pytest.mark.exhaustive(plain=0)
@pytest.mark.parametrize(("name", "least"), [("20news", 0.860), ("imdb", 0.890)])
def test_long_texts_combined(nbtext: Any, corpora: Corpora, name: str, least: float) -> None:
    """20 Newsgroups by date, and IMDB: words and pairs of words."""
    folder = corpora(name)
    trained = nbtext(f"train {folder}/train --model combined -o m.joblib")
    assert " × complement of word:2" in trained.err
    assert nbtext(f"evaluate {folder}/test -m m.joblib --to json").json["accuracy"] >= least


@pytest.mark.exhaustive(plain=0)
@pytest.mark.parametrize(
    ("options", "least"),
    [
        ("", {"micro_f1": 0.815, "precision_at_1": 0.895}),
        ("--optimize macro_f1", {"micro_f1": 0.81, "macro_f1": 0.47}),
        ("--model svm --optimize macro_f1", {"micro_f1": 0.88, "macro_f1": 0.57}),
        ("--model nbsvm", {"micro_f1": 0.88, "macro_f1": 0.50}),
        ("--model nbsvm --optimize macro_f1", {"micro_f1": 0.87, "macro_f1": 0.57}),
    ],
)
def test_several_labels(
    nbtext: Any, corpora: Corpora, tmp_path: Path, options: str, least: dict[str, float]
) -> None:
    """Reuters-90: the figures of the test half, and a file of at most 10 MB of linear models."""
    folder = corpora("reuters-90")
    if "--model" in options:
        options += " --weighting log-tfidf"
    nbtext(f"train {folder}/train.jsonl --label-field labels {options} -o m.joblib").ok()
    record = nbtext(f"evaluate {folder}/test.jsonl -m m.joblib --to json").json
    assert all(record[name] >= figure for name, figure in least.items())
    assert record["classwise_calibration_error"] <= 0.003
    assert "--model" not in options or (tmp_path / "m.joblib").stat().st_size < 10_000_000


def test_short_messages(nbtext: Any, corpora: Corpora, tmp_path: Path) -> None:
    """SMS spam, a TSV without header and quoting: 5,574 messages, the first 30 % learned, 98 % of
    the rest right.
    """
    path = corpora("sms-spam") / "SMSSpamCollection"
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 5574
    (tmp_path / "train.tsv").write_bytes(b"".join(lines[:1672]))
    (tmp_path / "test.tsv").write_bytes(b"".join(lines[1672:]))
    columns = ["--label-field", "1", "--text-field", "2"]
    nbtext("train", "train.tsv", *columns, "-o", "m.joblib").ok()
    record = nbtext("evaluate", "test.tsv", *columns, "-m", "m.joblib", "--to", "json").json
    assert record["documents"] == 5574 - 1672
    assert record["accuracy"] > 0.975


@pytest.mark.exhaustive
def test_raw_mail(nbtext: Any, corpora: Corpora, tmp_path: Path) -> None:
    """SpamAssassin's raw mails: none is lost, and five folders are told apart by three folds."""
    for folder in corpora("spamassassin").resolve().iterdir():
        if folder.is_dir():  # beside them lies a note, which has no label
            (tmp_path / folder.name).symlink_to(folder)
    result = nbtext(f"evaluate {tmp_path} --input-format mbox --folds 3 --to json")
    record = result.json
    assert record["documents"] == 6046
    assert record["accuracy"] > 0.8
    assert "Traceback" not in result.err


def test_binary_counts_of_japanese_by_characters(nbtext: Any, corpora: Corpora) -> None:
    """Two models are equally good in 10 folds. A log-loss that is lower by 2.2 standard deviations,
    by chance, does not outweigh the higher accuracy.
    """
    source = corpora("ja-chabsa") / "posneg.tsv"
    options = ["--label-field", "1", "--text-field", "2", "--analyzer", "char", "--ngrams", "1,3"]
    trained = nbtext("train", str(source), *options, "-o", "m.joblib")
    assert "multinomial with binary counts: 2,330 documents" in trained.err
