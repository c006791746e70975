"""Features with their places: the same features, and the text that they were made of."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtext.features.analyzer import Analyzer, Locator
from nbtext.features.settings import FeatureSettings

OPTIONS = [
    {},
    {"ngrams": (1, 3)},
    {"ngrams": (2, 2), "stop_words": ("the", "ab")},
    {"stem": "english"},
    {"strip_accents": "unicode", "ngrams": (1, 2)},
    {"strip_accents": "ascii", "lowercase": False},
    {"token_pattern": r"\S+"},
    {"token_pattern": r"a(b)?"},
    {"analyzer": "char", "ngrams": (1, 3)},
    {"analyzer": "char", "ngrams": (2, 2), "strip_accents": "unicode"},
    {"analyzer": "char_wb", "ngrams": (2, 4)},
    {"analyzer": "char_wb", "ngrams": (1, 1), "strip_accents": "ascii"},
]
TEXTS = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from("abß İΣσς \t\n\u0301éÅ가\u3000the")),
    max_size=40,
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@given(text=TEXTS)
@example("ΛΌΓΟΣ İstanbul the THE\u0301  Straße")
@example("a  b")
def test_the_same_features_as_the_analyzer(options: dict[str, object], text: str) -> None:
    """In the same order, for every text; and each place is within the text."""
    settings = FeatureSettings(**options)  # type: ignore[arg-type]
    found = Locator(settings)(text)
    assert [occurrence.feature for occurrence in found] == Analyzer(settings)(text)
    assert all(
        0 <= start <= end <= len(text) for occurrence in found for start, end in occurrence.spans
    )


def test_a_token_that_is_too_long_has_no_place() -> None:
    """What the analyzer leaves out is not a neighbor of others either."""
    settings = FeatureSettings(ngrams=(1, 2))
    text = f"red {'a' * 70_000} round"
    assert [occurrence.feature for occurrence in Locator(settings)(text)] == Analyzer(settings)(
        text
    )


@given(text=TEXTS)
def test_a_word_stands_where_it_is_found(text: str) -> None:
    """What stands there makes the word again."""
    for word, ((start, end),) in Locator(FeatureSettings())(text):
        assert word.replace("ς", "σ") in text[start:end].lower().replace("ς", "σ")


def test_places_by_hand() -> None:
    """Words, pairs of words, and characters of padded words; a lower-case i with a dot is two
    characters.
    """
    assert Locator(FeatureSettings(ngrams=(1, 2)))("Call me NOW!") == [
        ("call", ((0, 4),)),
        ("me", ((5, 7),)),
        ("now", ((8, 11),)),
        ("call me", ((0, 4), (5, 7))),
        ("me now", ((5, 7), (8, 11))),
    ]
    assert Locator(FeatureSettings(analyzer="char_wb", ngrams=(3, 3)))("ab") == [
        (" ab", ((0, 2),)),
        ("ab ", ((0, 2),)),
    ]
    assert Locator(FeatureSettings())("İstanbul x ΛΌΓΟΣ") == [
        ("stanbul", ((1, 8),)),
        ("λόγος", ((11, 16),)),
    ]
