"""Lines of text and fastText's lines: the same documents in blocks of any size."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbtext.documents.blocks import MAX_BLOCK_LINES, ByteRange, ReadOptions, read_line_blocks
from nbtext.documents.decoding import encoding_of
from nbtext.documents.jsonl import parse_jsonl
from nbtext.documents.lines import parse_fasttext, parse_lines, read_line_documents
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError

PARSERS = {"lines": parse_lines, "fasttext": parse_fasttext, "jsonl": parse_jsonl}
LINES = {
    "lines": st.text("ab \r\té😊", max_size=12),
    "fasttext": st.text("ab \té", max_size=8).map(lambda text: f"__label__{text}"),
    "jsonl": st.one_of(
        st.just(""),
        st.just('{"broken'),
        st.text("ab é😊\n", max_size=8).map(
            lambda text: json.dumps({"text": text}, ensure_ascii=False)
        ),
    ),
}


def contents(form: str) -> st.SearchStrategy[str]:
    return st.tuples(st.lists(LINES[form], max_size=12), st.booleans()).map(
        lambda drawn: "\n".join(drawn[0]) + "\n" * drawn[1]
    )


form_and_content = st.sampled_from(sorted(PARSERS)).flatmap(
    lambda form: st.tuples(st.just(form), contents(form))
)


@settings(max_examples=60)
@given(
    form_and_content,
    st.sampled_from(["utf-8", "utf-16-le", "latin-1"]),
    st.integers(1, 40),
    st.integers(1, 60),
)
@example(("lines", "a\n\n"), "utf-8", 1, 60)
def test_blocks_of_any_size_give_the_same_documents(
    rows: Any,
    stream_of: Any,
    form: tuple[str, str],
    codec: str,
    size: int,
    limit: int,
) -> None:
    """However the bytes arrive, the documents, their ids and their problems are the same; too long
    lines included.
    """
    settings = InputSettings(encoding=codec, max_document_bytes=limit)
    data = form[1].encode(codec, "replace")

    def documents(size: int) -> Any:
        stream = stream_of(data, size)
        options = ReadOptions(stream.decode(encoding_of(settings)), settings)
        blocks = list(read_line_documents(stream, options, PARSERS[form[0]]))
        batches = [block.batch() for block in blocks]
        problems = [str(batch.problems.get(row)) for batch in batches for row in range(len(batch))]
        return rows(batches), problems

    assert documents(size) == documents(10_000)


@settings(max_examples=60)
@given(
    form_and_content,
    st.sampled_from(["utf-8", "utf-8-sig", "gb18030"]),
    st.lists(st.integers(0, 300)),
)
def test_spans_share_out_the_documents(
    tmp_path_factory: pytest.TempPathFactory,
    opened: Any,
    rows: Any,
    form: tuple[str, str],
    codec: str,
    cuts: list[int],
) -> None:
    """Byte ranges with any borders contain each document of a file once, with its id."""
    path = tmp_path_factory.mktemp("spans") / "x"
    path.write_bytes(form[1].encode(codec))
    settings = {"input_format": form[0], "encoding": codec}
    whole = rows(opened(path, **settings).batches())
    bounds = [0, *sorted(cuts), max([path.stat().st_size, *cuts])]
    parts = [
        row
        for start, stop in pairwise(bounds)
        for row in rows(opened(path, byte_range=ByteRange(start, stop), **settings).batches())
    ]
    assert parts == whole


def test_only_lines_can_be_read_in_parts(opened: Any, tmp_path: Path) -> None:
    """A byte range of a table is refused, because rows may contain line feeds; in UTF-16, so may
    characters.
    """
    (tmp_path / "x.csv").write_text("text\na\n")
    with pytest.raises(InputError, match="a file of the format csv can be read only as a whole"):
        list(opened(tmp_path / "x.csv", byte_range=ByteRange(0, 3)).blocks())
    (tmp_path / "x.txt").write_text("one\ntwo\n", encoding="utf-16")
    with pytest.raises(InputError, match="a file of the format lines can be read only as a whole"):
        list(opened(tmp_path / "x.txt", byte_range=ByteRange(0, 3)).blocks())
    assert [shard.byte_range for shard in opened(tmp_path / "x.txt").shards(4)] == [None]


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_every_line_is_a_document(read: Any, tmp_path: Path, ending: str) -> None:
    """Empty lines too, so that answers and lines correspond; a last line without line feed too; \\r
    is not text.
    """
    (tmp_path / "x.txt").write_text(f"one\r\n\n  three{ending}", newline="")
    assert [(texts[0], identity) for identity, texts, _ in read(tmp_path / "x.txt")] == [
        ("one", f"{tmp_path}/x.txt:1"),
        ("", f"{tmp_path}/x.txt:2"),
        ("  three", f"{tmp_path}/x.txt:3"),
    ]


def test_an_empty_file_has_no_lines(read: Any, tmp_path: Path) -> None:
    """A file of no bytes has no documents; one of a single line feed has one."""
    (tmp_path / "x.txt").write_text("")
    assert read(tmp_path / "x.txt") == []
    (tmp_path / "x.txt").write_text("\n")
    assert len(read(tmp_path / "x.txt")) == 1


@pytest.mark.parametrize(
    ("line", "label", "text"),
    [
        ("__label__spam free money", "spam", "free money"),
        ("__label__spam\tfree", "spam", "free"),
        ("__label__a __label__a twice", "a", "twice"),
        ("trailing label __label__c", "c", "trailing label "),
        ("no label at all", None, "no label at all"),
        ("__label__", None, ""),
        ("__label__only", "only", ""),
        ("x__label__y is a word", None, "x__label__y is a word"),
        ("__label__a__label__b one", "a__label__b", "one"),
    ],
)
def test_fasttext_lines(read: Any, tmp_path: Path, line: str, label: str | None, text: str) -> None:
    """Words that begin with __label__ are labels and no text."""
    (tmp_path / "x").write_text(line + "\n")
    ((_, texts, found),) = read(tmp_path / "x", input_format="fasttext")
    assert (found, texts) == (label, (text,))


def test_several_labels(opened: Any, tmp_path: Path) -> None:
    """A .txt file whose first line begins with __label__ is fastText's; a line may have several
    labels.
    """
    (tmp_path / "x.txt").write_text(
        "__label__a one\n__label__b __label__a __label__b two\nthree __label__c\nnone\n"
    )
    source = opened(tmp_path / "x.txt")
    (batch,) = source.batches()
    assert batch.labels == ["a", ("b", "a"), "c", None]
    assert batch.columns == (["one", "two", "three ", "none"],)
    assert not source.skipped


def test_a_tree_of_line_files_takes_labels_from_folders(read: Any, tmp_path: Path) -> None:
    """--input-format lines on a directory: each line of each file is a document with the label of
    its folder.
    """
    (tmp_path / "spam").mkdir()
    (tmp_path / "spam" / "1").write_text("one\ntwo\n")
    assert [(texts, label) for _, texts, label in read(tmp_path, input_format="lines")] == [
        (("one",), "spam"),
        (("two",), "spam"),
    ]


@pytest.mark.parametrize("last", ["", "\n"])
def test_a_line_that_is_too_long_is_a_problem(problems: Any, tmp_path: Path, last: str) -> None:
    """A line above max_document_bytes is named with its number, and the lines around it are
    read.
    """
    (tmp_path / "x.jsonl").write_text(
        '{"text": "a"}\n{"text": "' + "b" * 100 + '"}\n{"text": "c"}' + last
    )
    said = f"{tmp_path}/x.jsonl:2: the document has more than 50 bytes; divide it"
    assert problems(tmp_path / "x.jsonl", max_document_bytes=50) == [said]


def test_a_huge_line_is_passed_over_in_bounded_memory() -> None:
    """Memory holds at most the limit of a line, however long the line is."""

    def blocks() -> Any:
        yield b"first\n"
        for _ in range(2000):
            yield bytes(1 << 16)
        yield b"end\nlast"

    found = read_line_blocks(blocks(), 1 << 20)
    assert [(block.data, block.first_line, block.is_too_long) for block in found] == [
        (b"first\n", 1, False),
        (b"", 2, True),
        (b"last", 3, False),
    ]


def test_short_lines_make_several_blocks(opened: Any, tmp_path: Path) -> None:
    """Millions of empty lines come in batches of some thousands, with the right numbers."""
    (tmp_path / "x.txt").write_text("\n" * (3 * MAX_BLOCK_LINES))
    batches = list(opened(tmp_path / "x.txt").batches())
    assert max(map(len, batches)) <= MAX_BLOCK_LINES
    assert batches[-1].ids[-1] == f"{tmp_path}/x.txt:{3 * MAX_BLOCK_LINES}"


def test_sizes_add_up(opened: Any, tmp_path: Path) -> None:
    """The sizes of the blocks add up to the size of the source, for progress."""
    (tmp_path / "x.txt").write_text("some line\n" * 300_000)
    source = opened(tmp_path / "x.txt")
    assert (source.unit, source.size, source.is_live) == ("bytes", 3_000_000, False)
    assert sum(block.size for block in source.blocks()) == 3_000_000


def test_naughty_strings_are_all_there(corpora: Any, read: Any) -> None:
    """The big list of naughty strings: as many documents as lines, each as it is."""
    path = corpora("blns") / "blns.txt"
    lines = path.read_bytes().decode().removesuffix("\n").split("\n")
    assert [texts[0] for _, texts, _ in read(path)] == [line.removesuffix("\r") for line in lines]


@pytest.mark.parametrize(
    ("suffix", "first", "says"),
    [
        (
            "ris",
            "TY  - JOUR",
            "a RIS file of references, whose lines are not documents; convert it",
        ),
        ("enw", "%0 Journal Article", "an EndNote file of references, .* with Zotero"),
        ("bib", "@article{ada1843,", "a BibTeX file of references"),
        ("warc", "WARC/1.0", "a WARC file of web pages, .* warcio"),
        ("arff", "@RELATION iris", "an ARFF file, .* Weka; --input-format lines reads each"),
        ("conllu", "# sent_id = 1", "a CoNLL-U file"),
        ("xml", '<?xml version="1.0"?>', "an XML file"),
        ("yaml", "%YAML 1.2", "a YAML file"),
        ("wet", "WARC/1.1\r", "a WARC file of web pages"),
    ],
)
def test_lines_that_are_not_documents(
    read: Any, tmp_path: Path, suffix: str, first: str, says: str
) -> None:
    """A container is named by its suffix, or by its first line in a file of another name."""
    for name, text in ((f"x.{suffix}", "some text"), ("x", f"\n{first}"), ("x.txt", first)):
        (tmp_path / name).write_text(f"{text}\nmore\n")
        with pytest.raises(InputError, match=f"/{name}: is {says}"):
            read(tmp_path / name)
        assert len(read(tmp_path / name, input_format="lines")) >= 2
        # a model of files reads it whole
        assert len(read(tmp_path / name, input_unit="file")) == 1
    (tmp_path / "x").write_text(f"{first[1:]}\n{first}\n")
    assert len(read(tmp_path / "x")) == 2
