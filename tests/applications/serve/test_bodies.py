"""The bodies of requests: any bytes are documents, or refused with one line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from nbtext.applications.serve.requests import JSONL, parse_documents
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError


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
        batch, _ = parse_documents(body, "application/json", InputSettings())
    except InputError:
        pass
    except HTTPException as error:
        assert error.status_code in (400, 413)
    else:
        assert all(isinstance(text, str) for text in batch.columns[0])
        assert all(isinstance(identity, str) for identity in batch.ids)
        assert all(isinstance(label, str | tuple | None) for label in batch.labels)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'[{"body": "a"}, {"body": "b"}]', "application/json"),
        (b'{"body": "a"}\n{"body": "b"}\n', JSONL),
    ],
)
def test_a_request_of_which_nothing_can_be_read_is_refused(body: bytes, kind: str) -> None:
    """One of several is a problem of its row, all of them are an error."""
    with pytest.raises(
        InputError, match="none of 2 documents can be read; the first: no key `text`"
    ):
        parse_documents(body, kind, InputSettings())
    batch, _ = parse_documents(body.replace(b"body", b"text", 1), kind, InputSettings())
    assert list(batch.problems) == [1]
