"""Lists of words."""

import re
from pathlib import Path

import pytest

from nbtext.documents.settings import read_words
from nbtext.errors import InputError
from nbtext.features.analyzer import TOKEN_PATTERN, Analyzer
from nbtext.features.settings import FeatureSettings
from nbtext.features.stop_words import ENGLISH, read_stop_words
from nbtext.settings import list_settings


def test_the_english_list_is_sorted_lower_case_and_distinct() -> None:
    """So that a difference between versions can be seen."""
    assert list(ENGLISH) == sorted(set(ENGLISH))
    assert all(word == word.lower() for word in ENGLISH)
    assert read_stop_words("english") == ENGLISH


def test_the_english_list_holds_what_the_tokens_of_its_words_are() -> None:
    """Whatever the default token pattern makes of a listed word is listed, so that no piece of it
    is left over.
    """
    pieces = {piece for word in ENGLISH for piece in re.findall(TOKEN_PATTERN, word)}
    assert pieces <= set(ENGLISH)
    analyze = Analyzer(FeatureSettings(stop_words=ENGLISH))
    assert analyze("I don't know that we've the bill; you'd cry fire at the system") == [
        "know",
        "bill",
        "cry",
        "fire",
        "system",
    ]


def test_a_stop_word_file_has_a_word_a_line(tmp_path: Path) -> None:
    """Blank lines and white space around a word are left out, and nothing else; a byte order mark
    is not a letter.
    """
    path = tmp_path / "words.txt"
    path.write_bytes(b"\xef\xbb\xbfthe\r\n\n  und \n# the\n\t\n\xc3\xa9t\xc3\xa9\x0bx\nlast")
    assert read_stop_words(str(path)) == ("the", "und", "# the", "été\x0bx", "last")
    (found,) = (
        setting for field, setting in list_settings(FeatureSettings) if field.name == "stop_words"
    )
    assert found.parse is not None
    assert found.parse(str(path)) == ("# the", "last", "the", "und", "été\x0bx")


def test_a_vocabulary_file_keeps_its_spaces(tmp_path: Path) -> None:
    """They belong to n-grams of characters; only empty lines are left out."""
    path = tmp_path / "features.txt"
    path.write_bytes(b" th\n\nfree money\n  \nb\r\nfree\n")
    assert read_words(str(path)) == (" th", "free money", "  ", "b", "free")


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """With the line where it is not UTF-8."""
    path = tmp_path / "words.txt"
    with pytest.raises(InputError, match=r"words\.txt: cannot be read: no such file or directory"):
        read_stop_words(str(path))
    with pytest.raises(InputError, match="is a directory"):
        read_words(str(tmp_path))
    path.write_bytes(b"free\nbl\xfc\n")
    with pytest.raises(InputError, match=r"words\.txt:2: is not UTF-8"):
        read_stop_words(str(path))
    path.write_bytes(b"\n")
    with pytest.raises(InputError, match=r"words\.txt: the file contains no words"):
        read_words(str(path))
    with pytest.raises(InputError, match="embedded null byte"):
        read_stop_words("a\0b")
