"""JSON lines: the same documents with the compiled scanner and without, and errors that name the
line.
"""

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.documents import jsonl
from nbtext.documents.batch import text_lengths
from nbtext.errors import InputError
from nbtext.features.counting import Counter as PlainCounter
from nbtext.features.counting import counter
from nbtext.features.settings import FeatureSettings

DEEP = 400
HOSTILE = [
    '{"text": "a", "label": NaN}',
    '{"text": "a", "label": Infinity, "x": -Infinity}',
    '{"text": NaN}',
    '{"text": "a", "label": 1e400}',
    '{"text": "a", "label": 18446744073709551616}',
    '{"text": "a", "label": 18446744073709551615}',
    '{"text": "a", "label": -9223372036854775809}',
    '{"text": "a", "label": 1.50, "id": 1E5}',
    '{"text": "a", "label": -0, "id": -0.0}',
    '{"text": "a", "label": 0.1000000000000000055511151231257827}',
    '{"text": "a", "label": ' + "7" * 5000 + "}",
    '{"text": "a", "x": ' + "7" * 5000 + "}",
    '{"text": "lone \\ud800 surrogate"}',
    '{"text": "swapped \\udc00\\ud800"}',
    '{"text": "a pair \\ud83d\\ude00"}',
    '{"text": "\\u0000"}',
    '{"text": "a", "text": "b", "label": "x", "label": "y"}',
    '{"text": "tab\tinside"}',
    '{"text": "del\x7finside", "label": "\u2028"}',
    '\ufeff{"text": "a"}',
    '{"text": "a",}',
    "{'text': 'a'}",
    '{"text": "a"} // comment',
    '{"text": "a"}{"text": "b"}',
    '{"text": "a"},{"text": "b"}',
    '{"text": "a", "x": 01}',
    '{"text": "a", "x": 1.}',
    '{"text": "a", "x": .5}',
    '{"text": "a", "x": +1}',
    '{"text": "a", "x": 0x10}',
    '{"text": "a", "x": tru}',
    '{"text": "\\x41"}',
    '{"text": "a"',
    "[",
    "{",
    '["a"]',
    '"a"',
    "17",
    "null",
    "true",
    "{}",
    '{"text": null}',
    '{"text": 17}',
    '{"text": true}',
    '{"text": ["a"]}',
    '{"text": {"a": 1}}',
    '{"text": "a", "label": ["b"]}',
    '{"text": "a", "label": []}',
    '{"text": "a", "label": [ "b" , "b", "c\\u00e9", "\\"", 17, -0, 1.50, 1e400, true ]}',
    '{"text": "a", "label": ["b", null]}',
    '{"text": "a", "label": [""]}',
    '{"text": "a", "label": ["b", NaN]}',
    '{"text": "a", "label": ["b",]}',
    '{"text": "a", "label": ["b" "c"]}',
    '{"text": "a", "label": ["b"',
    '{"text": "a", "label": [["b"]]}',
    '{"text": "a", "label": [{"b": 1}]}',
    '{"text": "a", "label": ["\\ud800"]}',
    '{"text": "a", "label": "b", "x": [" ", []]}',
    '{"text": "a", "label": "b", "x": [" ", 1]}',
    '{"text": "a", "label": {}}',
    '{"text": "a", "label": true, "id": false}',
    '{"text": "a", "label": null, "id": null}',
    '{"text": "a", "label": "", "id": ""}',
    '{"text": "a", "id": [1]}',
    ' \t{"text" : "a" } \r',
    "   ",
    "\u00a0",
    "\x0c",
    '{"text": "a", "x": ' + "[" * DEEP + "]" * DEEP + "}",
    '{"text": "a", "x": ' + "[" * 200_000 + "]" * 200_000 + "}",
    '{"text": "a", "x": ' + "[" * 1020 + "]" * 1020 + "}",
    '{"text": "a", "x": ' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}",
    '{"text": "' + "[" * 3000 + '"}',
    '{"text": "' + "[" * 3000 + '", "x": {"[": "\\"[[["}}',
]


def outcome(opened: Any, path: Path, **settings: Any) -> list[Any]:
    """Return everything that is known of each document."""
    return [
        (identity, texts, label, str(batch.problems.get(row)))
        for batch in opened(path, input_format="jsonl", **settings).batches()
        for row, (identity, texts, label) in enumerate(
            zip(batch.ids, zip(*batch.columns, strict=True), batch.list_labels(), strict=True)
        )
    ]


def every_way(opened: Any, path: Path, **settings: Any) -> list[list[Any]]:
    """Return the results of the compiled scanner and of the standard library for a file."""
    with pytest.MonkeyPatch.context() as patch:
        found = [outcome(opened, path, **settings)]
        patch.setattr(jsonl, "scan", lambda *_: None)
        return [*found, outcome(opened, path, **settings)]


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:40])
def test_no_accelerator_changes_anything(opened: Any, tmp_path: Path, line: str) -> None:
    """Each line gives the same document with and without the fast parsers, alone and among
    others.
    """
    path = tmp_path / "x"
    for content in (line, f'{{"text": "before"}}\n{line}\n{{"text": "after", "label": "b"}}\n'):
        path.write_text(content, encoding="utf-8", newline="")
        fast, slow = every_way(opened, path)
        assert slow == fast
        if "before" in content:
            assert (fast[0][1], fast[-1][1]) == (("before",), ("after",))


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@settings(max_examples=60)
@given(
    st.lists(
        st.fixed_dictionaries(
            {}, optional={"text": values, "label": values, "id": values, "x": values}
        )
    ),
    st.booleans(),
)
def test_any_json_means_the_same_in_every_way(
    tmp_path_factory: pytest.TempPathFactory,
    opened: Any,
    records: list[dict[str, Any]],
    is_ascii: bool,
) -> None:
    """Records of any values give the same documents, labels, ids and problems."""
    path = tmp_path_factory.mktemp("jsonl") / "x"
    lines = (json.dumps(record, ensure_ascii=is_ascii) + "\n" for record in records)
    path.write_text("".join(lines), encoding="utf-8", errors="surrogatepass", newline="")
    fast, slow = every_way(opened, path)
    assert len(fast) == len(records)
    assert slow == fast


FLAT = (
    '{"id": 17, "text": "plain words of more than sixteen bytes", "label": "ham"}\n'
    '{"text":"quoted \\"words\\", a tab\\t, \\u00e9t\\u00E9 and \\ud83d\\ude00","label":true,"x":-1.5e+3}\n'
    '{"text":"several", "label":["plain", "naïve", "a\\"b", 3], "x":["ein Café", 1]}\n'
    '{ "label" : "été" , "größe" : "naïve text that nobody wants" , "text" : "ein Café an der Ecke" , "id" : null }\n'
).encode()


@settings(max_examples=400)
@given(
    place=st.integers(4, len(FLAT) - 1),
    inserted=st.binary(max_size=3)
    | st.sampled_from([b'"', b"\\", b"\n", b",", b"{", b"}", b"\xed\xa0\x80", b"\x00"]),
    removed=st.integers(0, 4),
)
def test_any_damage_is_seen_in_every_way(
    tmp_path_factory: pytest.TempPathFactory,
    opened: Any,
    place: int,
    inserted: bytes,
    removed: int,
) -> None:
    """All parsers read, repair or refuse a damaged file in the same way."""
    path = tmp_path_factory.mktemp("jsonl") / "x"
    path.write_bytes(FLAT[:place] + inserted + FLAT[place + removed :])
    fast, slow = every_way(opened, path)
    assert slow == fast


def test_flat_objects_are_scanned() -> None:
    """The compiled scanner parses flat objects, and lists of texts in them, and rejects others."""
    scanner = pytest.importorskip("nbtext._kernel", reason="the kernel is not compiled")
    texts, (labels, ids) = scanner.scan(FLAT, ("text",), ("label", "id"))
    assert texts[0][1] == 'quoted "words", a tab\t, été and \U0001f600'
    assert labels == ["ham", "True", '["plain", "naïve", "a\\"b", 3]'.encode(), "été"]
    assert ids == ["17", None, None, None]

    def scan(line: bytes) -> Any:
        return scanner.scan(line, ("text",), ())

    assert scan(b'{"text": "a", "x": []}\n') == ([["a"]], [])
    assert scan(b'{"text": "a", "x": [[]]}\n') is None
    assert scan(b'{"text": "a", "x": {}}\n') is None


def test_a_column_is_a_sequence_of_texts() -> None:
    """Texts that are still bytes can be used as a list: one by one, in slices, again and again, and
    after the block.
    """
    scanner = pytest.importorskip("nbtext._kernel", reason="the kernel is not compiled")
    (texts,), (ids,) = scanner.scan(FLAT, ("text",), ("id",))
    found = [json.loads(line)["text"] for line in FLAT.decode().splitlines()]
    assert (len(texts), texts[-1], texts[1:3], texts[::-1]) == (
        4,
        found[-1],
        found[1:3],
        found[::-1],
    )
    assert list(texts) == list(texts) == found == texts
    assert (texts == found[1:], texts == ids, texts == None) == (False, False, False)  # noqa: E711
    assert (found[-1] in texts, found[-1][::-1] in texts) == (True, False)
    assert text_lengths(texts) == list(map(len, found))
    assert repr(texts) == repr(found)
    assert isinstance(texts, Sequence)
    assert pickle.loads(pickle.dumps(texts)) == found
    with pytest.raises(IndexError):
        texts[4]
    assert (len(scanner.Column()), list(scanner.Column())) == (0, [])


@settings(max_examples=100)
@given(
    texts=st.lists(
        st.text() | st.text('aB é\u03a3\u0130\u4e2d_.\n"\\', max_size=90), min_size=1, max_size=6
    ),
    is_escaped=st.booleans(),
    features=st.builds(
        FeatureSettings,
        analyzer=st.sampled_from(["word", "word", "char", "char_wb"]),
        ngrams=st.sampled_from([(1, 1), (1, 2)]),
        lowercase=st.booleans(),
        strip_accents=st.sampled_from([None, "unicode"]),
        hash_bits=st.sampled_from([None, 9]),
    ),
)
def test_texts_are_counted_where_they_are(
    texts: list[str], is_escaped: bool, features: FeatureSettings
) -> None:
    """The compiled counter counts the texts in the block of bytes, and plain Python counts the
    same.
    """
    scanner = pytest.importorskip("nbtext._kernel", reason="the kernel is not compiled")
    data = "".join(
        json.dumps({"text": text}, ensure_ascii=is_escaped) + "\n" for text in texts
    ).encode()
    (column,), _ = scanner.scan(data, ("text",), ())
    del data
    classes = np.arange(len(texts), dtype=np.int32) % 2
    found = []
    for counting, columns in ((counter(features), [column]), (PlainCounter(features), [texts])):
        rows = counting.count(columns, classes, 1 << 64)
        vocabulary, places = counting.vocabulary()
        rows = rows.arrange(places)
        found.append(
            [vocabulary.terms, rows.indptr.tolist(), rows.indices.tolist(), rows.counts.tolist()]
        )
    assert found[0] == found[1]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.text(), st.text(min_size=1), st.text(min_size=1)), max_size=5),
    st.booleans(),
    st.booleans(),
)
def test_what_json_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    read: Any,
    documents: list[tuple[str, str, str]],
    is_ascii: bool,
    has_wide_encoding: bool,
) -> None:
    """Texts of any characters are read back as they were written, in UTF-8 and UTF-16; labels and
    ids without white space at their ends, and without one where nothing else is in them.
    """
    path = tmp_path_factory.mktemp("jsonl") / "x.jsonl"
    lines = "\n".join(
        json.dumps({"text": text, "label": label, "id": identity}, ensure_ascii=is_ascii)
        for text, label, identity in documents
    )
    path.write_text(
        lines,
        encoding="utf-16" if has_wide_encoding else "utf-8",
        errors="surrogatepass",
        newline="",
    )
    expected = [
        (identity.strip() or f"{path}:{number}", (text,), label.strip() or None)
        for number, (text, label, identity) in enumerate(documents, 1)
    ]
    assert read(path) == expected


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            '{"body": "a", "label": "b"}',
            "no key `text`, found body, label; name the column or key of the text with --text-field",
        ),
        ("{}", "no key `text`, found none; name the column or key of the text with --text-field"),
        ('{"text": null}', "`text` is null; name the column or key of the text with --text-field"),
        ('{"text": ["a"]}', "`text` is a list, expected a string"),
        (
            '{"text": "a", "label": {"b": 1, "c": 1}}',
            "`label` is an object, expected a text, a number or a list; name the keys of all labels, as in --label-fields label.b,label.c",
        ),
        (
            '{"text": "a", "label": {"b": 0.5, "c": 0.1}}',
            "the shares of `label` should be at least 0 and sum to 1, not 0.6; divide numbers of votes by their sum, which --weight-field can name",
        ),
        ("17", "expected an object, found a string or a number"),
        ('{"text": "broken"', "broken JSON: Expecting ',' delimiter at column 18"),
        (
            '[{"text": "a"}]',
            "expected an object, found a list; jq -c '.[]' writes the items of a list as lines",
        ),
        (
            '{"text": "a", "x": ' + "[" * 200_000 + "]" * 200_000 + "}",
            "lists and objects are nested too deep",
        ),
    ],
)
def test_what_is_wrong_is_said(problems: Any, tmp_path: Path, line: str, says: str) -> None:
    """A line that is not a document is named by file and line, counting blank lines, with what
    would help.
    """
    (tmp_path / "x.jsonl").write_text('{"text": "fine"}\n\n' + line + "\n")
    (said,) = problems(tmp_path / "x.jsonl")
    assert said.startswith(f"{tmp_path}/x.jsonl:3: {says}")


def test_a_pretty_printed_file_gets_a_hint(problems: Any, tmp_path: Path) -> None:
    """An object that is spread over lines is told how to become one line."""
    (tmp_path / "x.json").write_text('{\n  "text": "a"\n}\n')
    assert "jq -c" in problems(tmp_path / "x.json")[0]


def test_numbers_and_truth_values_are_labels(read: Any, tmp_path: Path) -> None:
    """Labels and ids that are not texts are spelled as Python spells them."""
    (tmp_path / "x.jsonl").write_text(
        '{"text": "a", "label": 1, "id": 7}\n{"text": "b", "label": true, "id": 1.50}\n{"text": "c", "label": false}\n'
    )
    assert read(tmp_path / "x.jsonl") == [
        ("7", ("a",), "1"),
        ("1.5", ("b",), "True"),
        (f"{tmp_path}/x.jsonl:3", ("c",), "False"),
    ]


def test_several_fields_are_joined_or_kept_apart(read: Any, opened: Any, tmp_path: Path) -> None:
    """Text fields are joined by a line feed, or come in a column each; null is empty beside another
    text.
    """
    (tmp_path / "x.jsonl").write_text(
        '{"title": "hello", "body": "world", "class": "a"}\n{"title": null, "body": "only"}\n'
    )
    options = {"text_field": ("title", "body"), "label_field": "class"}
    assert [(texts, label) for _, texts, label in read(tmp_path / "x.jsonl", **options)] == [
        (("hello\nworld",), "a"),
        (("\nonly",), None),
    ]
    separate = opened(tmp_path / "x.jsonl", separate_fields=True, **options)
    assert separate.field_names == ("title", "body")
    assert [batch.columns for batch in separate.batches()] == [(["hello", ""], ["world", "only"])]


@pytest.mark.parametrize("unit", ["[],", "{},", "0,", '"a":[],'])
@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
def test_json_of_very_many_values_is_refused(
    problems: Any, tmp_path: Path, name: str, unit: str
) -> None:
    """Each value of a document takes some hundred bytes, so their number is bounded; commas in a
    text do not count.
    """
    start, end = (
        ('{"text": "a", "x": [', "[]]}")
        if unit[0] != '"'
        else ('{"text": "a", "x": {', '"b": []}}')
    )
    values = start + unit * 2_100_000 + end
    text = '{"text": "' + ",[{" * 3_000_000 + '"}'
    content = f"{values}\n{text}\n" if name == "x.jsonl" else f"[{text}]"
    (tmp_path / name).write_text(content)
    said = problems(tmp_path / name)
    assert [line.partition(": ")[2].partition(";")[0] for line in said] == [
        "the JSON has more than 2,000,000 values"
    ] * (name == "x.jsonl")
    if name == "x.json":
        (tmp_path / name).write_text(f"[{values}]")
        with pytest.raises(InputError, match=r"x\.json:1: the JSON has more than 2,000,000 values"):
            problems(tmp_path / name)
