"""JSON arrays: the documents of JSON lines, item by item, however the bytes arrive."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.documents.blocks import ReadOptions
from nbtext.documents.decoding import encoding_of
from nbtext.documents.jsonl import read_json_array
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError

texts = st.text('ab"[]{}, \\\n\u00e9\U0001f600', max_size=12)
records = st.lists(
    st.fixed_dictionaries({"text": texts}, optional={"label": texts, "other": st.lists(texts)}),
    max_size=6,
)


@settings(max_examples=100)
@given(
    records, st.sampled_from([None, 2]), st.integers(1, 30), st.sampled_from(["utf-8", "utf-16-le"])
)
def test_any_array_is_read(
    stream_of: Any,
    rows: Any,
    items: list[Any],
    indent: int | None,
    size: int,
    codec: str,
) -> None:
    """An array on one line or many, in blocks of any size, gives its items."""
    content = json.dumps(items, indent=indent, ensure_ascii=False).encode(codec)
    settings = InputSettings(encoding=codec)
    stream = stream_of(content, size)
    blocks = list(
        read_json_array(stream, ReadOptions(stream.decode(encoding_of(settings)), settings))
    )
    expected = [
        (f"x:{n}", (item["text"],), item.get("label", "").strip() or None)
        for n, item in enumerate(items, 1)
    ]
    assert rows(block.batch() for block in blocks) == expected


def test_the_name_and_the_beginning_tell(read: Any, tmp_path: Path) -> None:
    """A .json file may hold an array or lines; a file of another name is an array where it begins
    like one.
    """
    array = '[{"text": "a"},\n {"text": "b", "id": 7}]\n'
    lines = '{"text": "a"}\n{"text": "b", "id": 7}\n'
    for name, content in (("x.json", array), ("y.json", lines), ("plain", array)):
        (tmp_path / name).write_text(content)
        assert [(identity[-1], text) for identity, text, _ in read(tmp_path / name)] == [
            ("1", ("a",)),
            ("7", ("b",)),
        ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"text": "a"},\n {"text": ', "x.json:2: broken JSON: Expecting value"),
        (
            '[{"text": "a"}\n {"text": "b"}]',
            "x.json:2: broken JSON: expected a comma or a closing bracket",
        ),
        ('[{"text": "a"}]\n\n[]', "x.json:3: broken JSON: there is text after the array"),
        ('[{"text": "a"}', "x.json:1: broken JSON: expected a comma or a closing bracket"),
        ("[" + '{"a":' * 100_000, "x.json:1: lists and objects are nested too deep"),
    ],
)
def test_a_broken_array_is_said(read: Any, tmp_path: Path, content: str, message: str) -> None:
    """The error names the file, the line and what is wrong."""
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError) as caught:
        read(tmp_path / "x.json")
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def test_a_wrong_item_is_a_problem(problems: Any, tmp_path: Path) -> None:
    """An item that is not an object, has no text, or is too long is a problem; the other items are
    read.
    """
    (tmp_path / "x.json").write_text('[{"text": "a"}, 12, {"txt": "b"}]')
    assert [said.partition(": ")[2][:30] for said in problems(tmp_path / "x.json")] == [
        "expected an object, found a st",
        "no key `text`, found txt; name",
    ]
    (tmp_path / "x.json").write_text('[{"text": "%s"}, {"text": "b"}]' % ("a" * 60))
    (said,) = problems(tmp_path / "x.json", max_document_bytes=50)
    assert said.startswith(f"{tmp_path}/x.json:1: the document has more than 50 bytes")
    (tmp_path / "x.json").write_text('[{"text": "%s"' % ("a" * 2_000_000))
    with pytest.raises(InputError, match="has more than 50 bytes"):
        problems(tmp_path / "x.json", max_document_bytes=50)
