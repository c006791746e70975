"""Word lists: the entries that are said to match never do, and the others do in some text."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.features.analyzer import Analyzer
from nbtext.features.settings import FeatureSettings
from nbtext.features.stop_words import ENGLISH
from nbtext.features.word_lists import describe_unmatched

WORDS = [
    "The",
    "the",
    "isn't",
    "a",
    "é",
    "cafe",
    "café",
    "red car",
    " red",
    "red  car",
    "ed c",
    "x",
    "U.S.",
    "running",
]
FEATURES: tuple[dict[str, Any], ...] = (
    {},
    {"ngrams": (1, 2)},
    {"lowercase": False},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii"},
    {"stop_words": ("the", "red")},
    {"analyzer": "char", "ngrams": (2, 4)},
    {"analyzer": "char_wb", "ngrams": (3, 4)},
    {"token_pattern": r"\w+|[^\w\s]"},
    {"token_pattern": r"\S+"},
    {"token_pattern": r"\w+'\w+"},
    {"stem": "english"},
)


def unmatched(entries: tuple[str, ...], **features: Any) -> list[str]:
    """The entries of a vocabulary that can never match: each is asked alone."""
    return [
        each
        for each in entries
        if describe_unmatched(FeatureSettings(vocabulary=(each,), **features))
    ]


@settings(max_examples=150)
@given(
    st.sampled_from(FEATURES),
    st.lists(st.sampled_from([*WORDS, "(", "ed", "c", "İ"]), max_size=4),
    st.booleans(),
)
def test_what_never_matches_is_never_a_feature(
    features: dict[str, Any], words: list[str], is_joined: bool
) -> None:
    """Whatever a text is made of, its features are not those that were said to match never."""
    text = ("" if is_joined else " ").join(words)
    own = FeatureSettings(**features)
    for feature in set(Analyzer(own)(text)):
        if own.stem and feature not in Analyzer(own)(feature):
            continue  # "thethe", of the made-up word "thethed", which the stemmer shortens again
        assert describe_unmatched(FeatureSettings(**features, vocabulary=(feature,))) == {}, feature


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({}, "The,isn't,a,é,red car, red,red  car,ed c,x,U.S."),
        ({"ngrams": (1, 2)}, "The,isn't,a,é, red,red  car,ed c,x,U.S."),
        ({"lowercase": False, "token_pattern": r"\S+"}, "red car, red,red  car,ed c"),
        (
            {"strip_accents": "unicode", "token_pattern": r"\w+"},
            "The,isn't,é,café,red car, red,red  car,ed c,U.S.",
        ),
        (
            {"stop_words": ("the", "red"), "ngrams": (1, 2)},
            "The,the,isn't,a,é,red car, red,red  car,ed c,x,U.S.",
        ),
        (
            {"analyzer": "char", "ngrams": (2, 4)},
            "The,isn't,a,é,red car,red  car,x,U.S.,running",
        ),
        (
            {"analyzer": "char_wb", "ngrams": (3, 4)},
            "The,isn't,a,é,red car,red  car,ed c,x,U.S.,running",
        ),
        (
            {"stem": "english", "token_pattern": r"\w+"},
            "The,isn't,red car, red,red  car,ed c,U.S.,running",
        ),
    ],
)
def test_entries_of_a_vocabulary(features: dict[str, Any], expected: str) -> None:
    assert ",".join(unmatched(WORDS, **features)) == expected


def test_causes() -> None:
    """Of each entry, what texts make of it."""

    def cause(entry: str, **features: Any) -> str:
        return describe_unmatched(FeatureSettings(vocabulary=(entry,), **features))["vocabulary"]

    assert "1 of 1 entry can never match: 'The' (its features are the)" in cause("The")
    assert "its features are cafe" in cause("café", strip_accents="ascii")
    assert "its features are red, car" in cause("red car")
    assert "it has no feature" in cause("the", stop_words=("the",))
    assert "its features are run" in cause("running", stem="english")
    assert "it has no feature" in cause("a", analyzer="char", ngrams=(2, 3))
    assert "a feature begins with char:2= or word:1=" in cause("red", view=("char:2", "word:1"))
    assert "a feature begins with title: or body:" in cause("red", fields=("title", "body"))
    assert (
        describe_unmatched(FeatureSettings(vocabulary=("title:red",), fields=("title", "body")))
        == {}
    )
    assert (
        describe_unmatched(FeatureSettings(vocabulary=("word:1=red",), view=("char:2", "word:1")))
        == {}
    )


def test_stop_words() -> None:
    found = describe_unmatched(
        FeatureSettings(stop_words=("The", "and", "isn't"), ngrams=(2, 2), stem="english")
    )
    assert found["stop_words"].startswith("2 of 3 entries can never match: 'The' (")
    assert "'isn't'" in found["stop_words"] or '"isn\'t"' in found["stop_words"]
    assert describe_unmatched(FeatureSettings(stop_words=ENGLISH)) == {}
    assert describe_unmatched(FeatureSettings(stop_words=("The",), lowercase=False)) == {}
    many = tuple(f"W{number}" for number in range(1200))
    assert (
        "1,200 of 1,200 entries"
        in describe_unmatched(FeatureSettings(stop_words=many))["stop_words"]
    )


def test_python_names_them() -> None:
    """Python says the same as the command line, in its terms."""
    from nbtext import TextClassifier
    from nbtext.errors import AssumptionWarning

    with pytest.warns(AssumptionWarning, match="^stop_words: 1 of 1 entry"):
        TextClassifier(stop_words=["The"]).fit(["win a prize", "lunch at noon"], ["spam", "ham"])


def test_languages_whose_words_are_cut_at_marks(corpora: Any) -> None:
    """Of the 388 languages of the declaration: the Indic ones, Maldivian, and scripts that have no
    spaces.
    """
    from nbtext.features.vocabulary import MARKED, compute_mark_share

    found = {
        path.stem
        for path in corpora("udhr2").glob("*.txt")
        if compute_mark_share(path.read_text("utf-8")[:20_000]) >= MARKED
    }
    indic = {
        "ben",
        "bho",
        "guj",
        "hin",
        "kan",
        "mag",
        "mai",
        "mal",
        "mar",
        "nep",
        "pan",
        "san",
        "taj",
        "tam",
    }
    assert found == indic | {"div", "tgl_tglg"} | {"bod", "dzo", "khm", "lao", "mya"}
