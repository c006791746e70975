"""Word lists that cannot match, causes of an empty vocabulary, and scripts whose words the default
pattern cuts.
"""

import json
import re
import shlex
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from nbtext import TextClassifier

ROWS = "text,label\nthe red car,a\na blue bike,b\nthe red bus,a\na blue train,b\n"
HINDI = {
    "a": ["मुझे बिजली का बिल नहीं मिला है", "पानी की आपूर्ति बंद है", "कृपया मेरी शिकायत दर्ज करें"],
    "b": ["यह फिल्म बहुत अच्छी थी", "अभिनेता ने अच्छा काम किया", "संगीत मुझे पसंद आया"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(ROWS)
    (tmp_path / "stop").write_text("The\nthe\nisn't\n")
    (tmp_path / "features").write_text("Red\n red\nblue\n")
    (tmp_path / "keywords.csv").write_text("a,red,x\nb,blue\n")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        case.split(" | ")
        for case in """
train | t.csv | -o | m
train | t.csv | -o | m | --model | logistic
evaluate | t.csv | --folds | 2
vectorize | t.csv | -o | x.npz
review | t.csv
compare | t.csv
""".strip().splitlines()
    ],
)
def test_every_command_names_entries_that_never_match(
    nbtext: Any, folder: Path, command: tuple[str, ...]
) -> None:
    stop = nbtext(*command, "--stop-words", "stop")
    assert (
        "--stop-words: 2 of 3 entries can never match: 'The' (its features are the), \"isn't\" (its features are isn)"
        in stop.err
    )
    if command[0] in ("train", "vectorize"):
        features = nbtext(*command, "--vocabulary", "features")
        assert (
            "--vocabulary: 2 of 3 entries can never match: ' red' (its features are red), 'Red'"
            in features.err
        )
    assert "can never match" not in nbtext(*command, "--stop-words", "english").err
    assert "can never match" not in nbtext(*command, "--stop-words", "stop", "-q").err


def test_keywords_that_hold_no_token(nbtext: Any, folder: Path) -> None:
    ran = nbtext("train t.csv --keywords keywords.csv -o m").ok()
    assert "--keywords: 1 of 3 entries can never match: 'x' (it has no feature)" in ran.err


def test_separate_fields_begin_features(nbtext: Any, folder: Path) -> None:
    (folder / "f.csv").write_text("title,body,label\nred,car,a\nblue,bike,b\n")
    (folder / "features").write_text("title:red\nbody:car\nblue\n")
    fields = "--text-field title,body --separate-fields --vocabulary features"
    assert "1 of 3 entries can never match: 'blue' (a feature begins with title: or body:)" in (
        nbtext(f"train f.csv {fields} -o m").ok().err
    )


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ((), "by default a token has at least two characters; see --token-pattern"),
        (("--stop-words", "list"), "change --stop-words, or"),
        (("--token-pattern", "Q"), "change --token-pattern, or"),
        (("--analyzer", "char", "--ngrams", "9"), "change --analyzer or --ngrams, or"),
        (("--view", "char:9", "--view", "char:8,10"), "change --view, or"),
    ],
)
@pytest.mark.parametrize("command", ["train", "vectorize"])
def test_the_cause_of_no_feature(
    nbtext: Any, folder: Path, command: str, options: tuple[str, ...], cause: str
) -> None:
    """The message names the option that removes everything."""
    text = "x y" if not options else "and the"
    (folder / "n.csv").write_text(f"text,label\n{text},a\n{text},b\n")
    (folder / "list").write_text("and\nthe\n")
    ran = nbtext(command, "n.csv", *options, "-o", "m" if command == "train" else "m.npz")
    ran.refused(1, f"no document contains a token that is a feature; {cause}")


def test_one_document_holds_no_token(nbtext: Any, folder: Path) -> None:
    (folder / "n.csv").write_text(ROWS + "x,a\n")
    assert "1 of 5 documents holds no token: the label is that of an empty document" in (
        nbtext("train n.csv -o m").ok().err
    )
    (folder / "n.csv").write_text(ROWS + "x,a\ny,b\n")
    assert "2 of 6 documents hold no token: " in nbtext("train n.csv -o m").ok().err


def write(path: Path, texts: dict[str, list[str]]) -> None:
    rows = [
        {"text": text, "label": label} for label, of_label in texts.items() for text in of_label
    ]
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )


def test_words_that_are_cut_at_vowel_signs(nbtext: Any, folder: Path) -> None:
    """They are said to be cut, unless the pattern or another way to count keeps them whole."""
    write(folder / "h.jsonl", HINDI)
    said = nbtext("train h.jsonl -o m").ok().err
    assert (
        "of the letters are marks, such as vowel signs of Arabic, Hebrew or Hindi, at which words are cut"
        in said
    )
    advice = shlex.split(said.partition("cut: ")[2].partition(" keeps")[0])
    for options in (
        advice,
        ["--analyzer", "char_wb", "--ngrams", "2,4"],
        ["--view", "char:1,3"],
        ["--model", "best"],
        ["-q"],
    ):
        assert "marks" not in nbtext("train", "h.jsonl", "-o", "m", *options).ok().err


MARKED = {
    "Arabic": "يُولَدُ جَمِيعُ النَّاسِ أَحْرَارًا مُتَسَاوِينَ فِي الْكَرَامَةِ وَالْحُقُوقِ، وَقَدْ وُهِبُوا عَقْلًا وَضَمِيرًا",
    "Hebrew": "כָּל בְּנֵי הָאָדָם נוֹלְדוּ בְּנֵי חוֹרִין, וְשָׁוִים בְּעֶרְכָּם־וּבִזְכֻיּוֹתֵיהֶם",
    "Syriac": "ܟܽܠ ܒܰܪܢܳܫܳܐ ܒܪܺܝܠܶܗ ܚܺܐܪܳܐܝܺܬ݂ ܘܰܒ݂ܫܰܘܝܽܘܬ݂ܳܐ",
}


UNSPACED = ["tha", "lao", "khm", "mya", "bod"]
SPACED = ["hin", "ben", "guj", "pan", "tam", "kan", "mal", "san", "div", "tgl_tglg"]


@pytest.mark.parametrize("language", [*MARKED, *SPACED, *UNSPACED])
def test_the_advice_improves_each_language(
    nbtext: Any, corpora: Any, folder: Path, language: str
) -> None:
    """The typed pattern keeps every word of the language whole; languages without spaces get
    characters, and no pattern that would match whole sentences.
    """
    text = MARKED.get(language) or (corpora("udhr2") / f"{language}.txt").read_text("utf-8")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    write(folder / "t.jsonl", {"a": lines, "b": lines})
    ran = nbtext("train t.jsonl -o m --stop-words english").ok()
    (characters,) = re.findall(r"[:;] ([^:;]*--analyzer char[^:;]*) or --model best may", ran.err)
    advice = characters.removeprefix("without --stop-words, ")
    assert advice != characters
    assert ("keeps them whole" in ran.err) == (language not in UNSPACED)
    if language in UNSPACED:
        nbtext(f"train t.jsonl -o m {advice}").ok()
        return
    pattern = ran.err.partition("cut: ")[2].partition(" keeps")[0]
    nbtext("train", "t.jsonl", "-o", "m", *shlex.split(pattern)).ok()
    kept = "".join(
        each if unicodedata.category(each)[0] in "LMNC" else " " for each in text.lower()
    )
    vocabulary = TextClassifier.load(folder / "m").fitted_.vocabulary
    assert {word for word in kept.split() if len(word) > 1} == set(vocabulary)


@pytest.mark.parametrize(
    "text",
    [
        unicodedata.normalize(
            "NFD", "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền"
        ),
        unicodedata.normalize(
            "NFD", "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv"
        ),
        "Ọmọ ènìyàn ni a bí ní òmìnira; iyì àti ẹ̀tọ́ kọ̀ọ̀kan sì dọ́gba",
        "كل البشر يولدون أحرارًا ومتساوين في الكرامة والحقوق",
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren",
    ],
)
def test_accents_are_no_vowel_signs(nbtext: Any, folder: Path, text: str) -> None:
    write(folder / "v.jsonl", {"a": [text], "b": [text[::2]]})
    assert "marks" not in nbtext("train v.jsonl -o m").ok().err
