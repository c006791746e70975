"""The encoding of text that is not UTF-8 is named in a message; no text is decoded by a guess."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.documents.recognition import BINARY, find_utf_16, guess_codec, guess_encoding

pytest.importorskip("charset_normalizer")

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
    """The encoding of a few lines of each language decodes them."""
    content = (TEXTS[codec] * 3).encode(codec)
    found = guess_codec(content)
    assert found is not None
    assert codec == "cp1252" or content.decode(found) == TEXTS[codec] * 3


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [*TEXTS.values(), "plain English text\nof two lines\n"])
def test_utf_16_without_a_mark(codec: str, text: str) -> None:
    assert guess_codec((text * 3).encode(codec), is_wide=True) == codec


@given(content=st.binary(max_size=300))
def test_any_bytes(content: bytes) -> None:
    """No bytes raise an error, and text without NUL is never recognized as UTF-16."""
    guess_codec(content)
    found = find_utf_16(content.replace(b"\0", b"a"))
    assert found is None


def test_only_files_that_are_not_utf_8_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library, nothing is named."""
    (tmp_path / "d/a").mkdir(parents=True)
    (tmp_path / "d/a/good.txt").write_text("größe", encoding="utf-8")
    assert guess_encoding([str(tmp_path / "d"), str(tmp_path / "missing"), "-"]) is None
    (tmp_path / "d/a/text.txt").write_bytes(TEXTS["gb18030"].encode("gb18030") * 5)
    guessed = guess_encoding([str(tmp_path / "d")])
    assert guessed is not None
    assert TEXTS["gb18030"].encode("gb18030").decode(guessed) == TEXTS["gb18030"]
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    assert guess_encoding([str(tmp_path / "d")]) is None
    assert find_utf_16("some text".encode("utf-16-le")) == BINARY
