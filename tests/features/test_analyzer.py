"""The analyzer: what a token is, and what a feature is."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from nbtext.errors import MissingExtra, SettingsError
from nbtext.features import analyzer as room
from nbtext.features.analyzer import TOKEN_PATTERN, Analyzer, compile_token_pattern
from nbtext.features.settings import FeatureSettings

CASES = [
    pytest.param(case, id=f"{table}: {case['label']}")
    for table in ("tokens", "ngrams")
    for case in json.loads((Path(__file__).parent / "cases" / f"{table}.json").read_text("utf-8"))
]
TEXTS = st.text() | st.text(alphabet="ab AB\t\n.é\u0301İßΣς1_ﬁ\ud800😀", max_size=30)


def settings_of(options: dict[str, Any]) -> FeatureSettings:
    return FeatureSettings(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in options.items()
        }
    )


@pytest.mark.parametrize("case", CASES)
def test_analyzer_gives_each_case_its_features(case: dict[str, Any]) -> None:
    """The analyzer gives the features of the table, in order."""
    texts = case["input"] if isinstance(case["input"], list) else [case["input"]]
    assert Analyzer(settings_of(case["options"])).document(texts) == case["expected"], case[
        "comment"
    ]


@given(TEXTS)
def test_the_shorter_pattern_finds_the_same_tokens(text: str) -> None:
    """The pattern that is searched finds, in every text, the tokens of the pattern that is
    documented.
    """
    assert compile_token_pattern(FeatureSettings()).findall(text) == re.findall(TOKEN_PATTERN, text)


def test_every_character_is_a_word_character_for_both_patterns_or_for_neither() -> None:
    """Over all of Unicode, character by character, both patterns agree."""
    text = " ".join(chr(c) + "a" + chr(c) for c in range(sys.maxunicode + 1))
    assert compile_token_pattern(FeatureSettings()).findall(text) == re.findall(TOKEN_PATTERN, text)


@given(
    text=TEXTS,
    analyzer=st.sampled_from(["word", "char", "char_wb"]),
    ngrams=st.tuples(st.integers(1, 4), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair))),
    lowercase=st.booleans(),
    strip_accents=st.sampled_from([None, "unicode", "ascii"]),
)
def test_features_are_those_of_scikit_learn(
    text: str, analyzer: str, ngrams: tuple[int, int], lowercase: bool, strip_accents: str | None
) -> None:
    """For every text, and every option that both have, the features are scikit-learn's, in its
    order.
    """
    ours = Analyzer(
        FeatureSettings(
            analyzer=analyzer, ngrams=ngrams, lowercase=lowercase, strip_accents=strip_accents
        )
    )
    theirs = CountVectorizer(
        analyzer=analyzer, ngram_range=ngrams, lowercase=lowercase, strip_accents=strip_accents
    ).build_analyzer()
    assert ours(text) == theirs(text)


@given(
    text=TEXTS,
    stop_words=st.lists(st.text(alphabet="abAB1_é", min_size=2, max_size=3)),
    pattern=st.sampled_from(
        [TOKEN_PATTERN, r"\w+", r"(\w)\w", r"[a-z]+|[!?.]", r"\b", r"(?i)A(?:b|c)"]
    ),
)
def test_stop_words_and_patterns_are_those_of_scikit_learn(
    text: str, stop_words: list[str], pattern: str
) -> None:
    """For every text, stop words and token patterns do what they do in scikit-learn."""
    ours = Analyzer(
        FeatureSettings(stop_words=tuple(stop_words), token_pattern=pattern, ngrams=(1, 2))
    )
    tokens = re.compile(pattern).findall(text.lower())
    theirs = CountVectorizer(token_pattern=pattern, ngram_range=(1, 2))
    kept = [token for token in tokens if token not in stop_words]
    assert ours(text) == theirs._word_ngrams(kept)


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "(?P<a>x)(?P<a>y)", "a{4294967296}"])
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    """A token pattern that is not a regular expression is an error that names the option."""
    with pytest.raises(SettingsError, match="token_pattern: invalid regular expression"):
        Analyzer(FeatureSettings(token_pattern=pattern))


def test_a_pattern_with_two_groups_is_refused() -> None:
    """More than one capturing group leaves open which is the token."""
    with pytest.raises(SettingsError, match="token_pattern: 2 capturing groups"):
        Analyzer(FeatureSettings(token_pattern=r"(\w)(\w)"))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"token_pattern": "a"}, "token_pattern"),
        ({"stop_words": ("a",)}, "stop_words"),
        ({"stem": "english"}, "stem"),
    ],
)
@pytest.mark.parametrize("analyzer", ["char", "char_wb"])
def test_options_for_words_are_refused_for_characters(
    options: dict[str, Any], name: str, analyzer: str
) -> None:
    """An option that would do nothing is an error."""
    with pytest.raises(SettingsError, match=f"{name}: needs features of words"):
        Analyzer(FeatureSettings(analyzer=analyzer, **options))


def test_a_language_without_a_stemmer_is_refused() -> None:
    """The error lists the languages that there are."""
    with pytest.raises(
        SettingsError, match=r"stem: no stemmer for klingon; choose one of .*english"
    ):
        Analyzer(FeatureSettings(stem="klingon"))


def test_stemming_without_its_library_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A missing library is an error with the command that mends it."""
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    with pytest.raises(
        MissingExtra,
        match=r"stemming needs snowballstemmer; install it with: pip install 'nbtext\[stem\]'",
    ):
        Analyzer(FeatureSettings(stem="english"))


def test_each_distinct_word_is_stemmed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that occurs again is not worked out again, until too many are remembered."""
    monkeypatch.setattr(room, "MAX_CACHED", 2)
    analyze = Analyzer(FeatureSettings(stem="english"))
    normalizer = analyze.normalizer
    assert normalizer is not None
    worked_out: list[str] = []
    decide = normalizer.normalize
    monkeypatch.setattr(
        normalizer, "normalize", lambda word: worked_out.append(word) or decide(word)
    )
    assert analyze("dogs dogs cats dogs") == ["dog", "dog", "cat", "dog"]
    assert worked_out == ["dogs", "cats"]
    assert analyze("cows dogs") == ["cow", "dog"]
    assert worked_out == ["dogs", "cats", "cows", "dogs"]
    assert len(normalizer) == 2
