"""The encoding of text that is not UTF-8 is named in a message; no text is decoded by a guess."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.documents.recognition import (
    find_utf_16,
    guess_codecs,
    guess_encodings,
)

pytest.importorskip("charset_normalizer")

TEXTS = {
    "gb18030": "我们今天去北京的图书馆看书，然后和朋友一起吃饭。\n天气很好，大家都很高兴。\n",
    "euc_kr": "우리는 오늘 도서관에 가서 책을 읽었습니다.\n그 후 친구와 함께 밥을 먹었습니다.\n",
    "cp1251": "Сегодня мы пошли в библиотеку читать книги,\nа потом обедали с друзьями.\n",
    "cp1252": "Größe und Übermut tun selten gut, sagte die Bäckerin über Brötchen.\n",
}


# of the Universal Declaration of Human Rights, with encodings in which their texts still occur
LANGUAGES = {
    "fra": ["cp1252"],
    "deu_1901": ["cp1252"],
    "spa": ["cp1252"],
    "por_PT": ["cp1252"],
    "ita": ["cp1252"],
    "swe": ["cp1252"],
    "dan": ["cp1252"],
    "fin": ["cp1252"],
    "isl": ["cp1252"],
    "pol": ["iso8859-2", "cp1250"],
    "ces": ["iso8859-2", "cp1250"],
    "hun": ["iso8859-2", "cp1250"],
    "ron": ["iso8859-2", "cp1250"],
    "slk": ["iso8859-2", "cp1250"],
    "hrv": ["iso8859-2", "cp1250"],
    "slv": ["iso8859-2", "cp1250"],
    "rus": ["cp1251", "koi8-r"],
    "ukr": ["cp1251", "koi8-u"],
    "bul": ["cp1251"],
    "ell_monotonic": ["cp1253", "iso8859-7"],
    "tur": ["cp1254", "iso8859-9"],
    "heb": ["cp1255", "iso8859-8"],
    "arb": ["cp1256"],
    "tha": ["cp874"],
    "jpn": ["shift_jis", "euc_jp"],
    "cmn_hans": ["gb18030", "gbk"],
    "cmn_hant": ["big5"],
    "kor": ["euc_kr", "cp949"],
}
RARE = {
    "cp1257",
    "cp1258",
    "iso8859-10",
    "iso8859-13",
    "iso8859-14",
    "mac-latin2",
    "cp852",
    "kz1048",
    "shift-jis-2004",
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("size", [300, 6000])
def test_the_encoding_is_among_those_that_are_named(corpora: Any, language: str, size: int) -> None:
    """Of two encodings in wide use, one gives the text."""
    text = (corpora("udhr2") / f"{language}.txt").read_text("utf-8")[800 : 800 + size]
    for codec in LANGUAGES[language]:
        content = text.encode(codec, "ignore")
        lines = [line for line in content.split(b"\n") if not line.isascii()]
        found = guess_codecs(b"\n".join(lines))
        assert len(found) <= 2 and RARE.isdisjoint(found)
        assert not lines or any(is_decoded(content, codec, each) for each in found), (codec, found)


def is_decoded(content: bytes, codec: str, guess: str) -> bool:
    """Whether an encoding gives the same text; of Greek, two encodings differ in one accented
    letter.
    """
    return content.decode(guess, "replace").replace("’", "Ά") == content.decode(codec).replace(
        "’", "Ά"
    )


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [*TEXTS.values(), "plain English text\nof two lines\n"])
def test_utf_16_without_a_mark(codec: str, text: str) -> None:
    kind = find_utf_16((text * 3).encode(codec)[:-1])
    assert kind is not None and kind.hint.endswith(f"try --encoding {codec}")


@given(content=st.binary(max_size=300))
def test_any_bytes(content: bytes) -> None:
    """No bytes raise an error, and text without NUL is never recognized as UTF-16."""
    guess_codecs(content)
    found = find_utf_16(content.replace(b"\0", b"a"))
    assert found is None


def test_only_files_that_are_not_utf_8_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the library, nothing is named."""
    (tmp_path / "d/a").mkdir(parents=True)
    (tmp_path / "d/a/good.txt").write_text("größe", encoding="utf-8")
    assert guess_encodings([str(tmp_path / "d"), str(tmp_path / "missing"), "-"]) == []
    (tmp_path / "d/a/text.txt").write_bytes(TEXTS["gb18030"].encode("gb18030") * 5)
    guessed = guess_encodings([str(tmp_path / "d")])
    assert TEXTS["gb18030"].encode("gb18030").decode(guessed[0]) == TEXTS["gb18030"]
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    assert guess_encodings([str(tmp_path / "d")]) == []
