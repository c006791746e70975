"""The bodies of requests: any bytes are documents, or refused with one line; lines are split as
they are.
"""

import json
import tracemalloc
from itertools import chain, pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from nbtext.applications.serve.guard import dumps
from nbtext.applications.serve.requests import parse_documents
from nbtext.documents.blocks import LineSplitter
from nbtext.documents.settings import InputSettings


@given(
    lines=st.lists(st.one_of(st.binary(max_size=12), st.just(b"x" * 40)), max_size=12),
    cuts=st.lists(st.integers(0, 200), max_size=8),
    limit=st.integers(5, 30),
)
def test_lines_are_split_as_they_are(lines: list[bytes], cuts: list[int], limit: int) -> None:
    """For any lines, cut anywhere: blocks hold the same lines, numbered, but those above the
    limit.
    """
    data = b"\n".join(line.replace(b"\n", b"") for line in lines)
    places = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    parts = [data[start:end] for start, end in pairwise(places)] or [b""]
    splitter = LineSplitter(limit)
    found = {}
    for block in chain(*(splitter.feed(part) for part in parts), splitter.finish()):
        assert len(block.data.removesuffix(b"\n")) <= limit
        whole = [None] if block.is_too_long else block.data.removesuffix(b"\n").split(b"\n")
        found |= dict(enumerate(whole, block.first_line))
    expected = {
        number: line if len(line) <= limit else None
        for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1)
    }
    assert found == (expected if data else {})


def test_a_line_in_many_parts() -> None:
    """What is allocated grows with the bytes of a line, not with the square of the number of parts
    it arrives in.
    """
    splitter = LineSplitter(1_000_000)
    n_allocated = 0
    tracemalloc.start()
    try:
        for _ in range(20_000):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            assert list(splitter.feed(b"x")) == []
            n_allocated += tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    [block] = splitter.feed(b"\n")
    assert len(block.data) == 20_001
    assert n_allocated < 20_000 * 2000


@settings(deadline=None)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.just("\ud800"),
        lambda each: (
            st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_any_value_is_json(value: Any) -> None:
    """NaN and infinity are null, and all is UTF-8."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(dumps(value).decode("utf-8"), parse_constant=refuse)


@settings(deadline=None)
@given(
    body=st.one_of(
        st.binary(max_size=40),
        st.builds(
            lambda value: json.dumps(value).encode(),
            st.recursive(
                st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
                lambda each: (
                    st.lists(each, max_size=3)
                    | st.dictionaries(
                        st.sampled_from(["text", "id", "label", "x"]), each, max_size=4
                    )
                ),
                max_leaves=8,
            ),
        ),
    )
)
def test_any_body_is_documents_or_refused(body: bytes) -> None:
    """No body raises another error, and each row that has no problem has a text."""
    try:
        batch, _ = parse_documents(body, "application/json", InputSettings(), 100)
    except HTTPException as error:
        assert error.status_code in (400, 413)
    else:
        assert all(isinstance(text, str) for text in batch.columns[0])
        assert all(isinstance(identity, str) for identity in batch.ids)
        assert all(label is None or isinstance(label, str) for label in batch.labels)
