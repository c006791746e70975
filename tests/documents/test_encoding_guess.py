"""The encoding of text that is not UTF-8 is named in a message; no text is decoded by a guess."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.documents.encoding_guess import find_fitting, guess_encoding, utf_16_codec

TEXTS = {
    "gb18030": "我们今天去北京的图书馆看书，然后和朋友一起吃饭。\n天气很好，大家都很高兴。\n",
    "big5": "我們今天去臺北的圖書館看書，然後和朋友一起吃飯。\n天氣很好，大家都很高興。\n",
    "shift_jis": "今日は図書館へ行って本を読みました。\nその後、友達と一緒にご飯を食べました。\n",
    "euc_jp": "今日は図書館へ行って本を読みました。\nその後、友達と一緒にご飯を食べました。\n",
    "euc_kr": "우리는 오늘 도서관에 가서 책을 읽었습니다.\n그 후 친구와 함께 밥을 먹었습니다.\n",
    "cp1251": "Сегодня мы пошли в библиотеку читать книги,\nа потом обедали с друзьями.\n",
    "koi8_r": "Сегодня мы пошли в библиотеку читать книги,\nа потом обедали с друзьями.\n",
    "cp1253": "Σήμερα πήγαμε στη βιβλιοθήκη να διαβάσουμε βιβλία.\n",
    "cp1255": "היום הלכנו לספרייה לקרוא ספרים ואכלנו עם חברים\n",
    "cp1256": "ذهبنا اليوم إلى المكتبة لقراءة الكتب\n",
    "cp874": "วันนี้เราไปห้องสมุดเพื่ออ่านหนังสือ\n",
    "cp1252": "Größe und Übermut tun selten gut, sagte die Bäckerin über Brötchen.\n",
}


@pytest.mark.parametrize("codec", TEXTS)
def test_each_language_has_its_encoding(codec: str) -> None:
    """A few lines of each language give its encoding, also if the sample ends within a character."""
    content = (TEXTS[codec] * 3).encode(codec)
    assert find_fitting(content) == codec
    assert find_fitting(content[:-2]) == codec


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [*TEXTS.values(), "plain English text\nof two lines\n"])
def test_utf_16_without_a_mark(codec: str, text: str) -> None:
    assert utf_16_codec((text * 3).encode(codec)) == codec


@given(content=st.binary(max_size=300))
def test_any_bytes(content: bytes) -> None:
    """No bytes raise an error, and UTF-8 is never recognized as UTF-16."""
    find_fitting(content)
    assert utf_16_codec(content.replace(b"\0", b"a")) is None


def test_guess_by_the_library_or_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find an encoding that decodes the text; files of valid UTF-8 do not count."""
    (tmp_path / "d/a").mkdir(parents=True)
    (tmp_path / "d/a/good.txt").write_text("größe", encoding="utf-8")
    assert guess_encoding([str(tmp_path / "d"), str(tmp_path / "missing"), "-"]) is None
    (tmp_path / "d/a/text.txt").write_bytes(TEXTS["gb18030"].encode("gb18030") * 5)
    for library in ("installed", "missing"):
        if library == "missing":
            monkeypatch.setitem(sys.modules, "charset_normalizer", None)
        guessed = guess_encoding([str(tmp_path / "d")])
        assert guessed is not None
        assert TEXTS["gb18030"].encode("gb18030").decode(guessed) == TEXTS["gb18030"]
