"""`predict --to header`: a header line that no label and no text of a mail can break out of."""

import re
from email import message_from_string, policy
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.model.predictions import Predictions
from nbtext.report.predictions import format_headers


def predictions(label: str | None, reason: str | None = None) -> Predictions:
    labels: list[tuple[str, ...]] = [() if label is None else (label,)]
    return Predictions(
        "one", ("a", "b"), ["1"], labels, np.array([[0.25, 0.75]]), np.ones(1), [reason], [None]
    )


@given(label=st.text(min_size=1, max_size=40), reason=st.text(max_size=2000))
def test_one_line_of_printable_ascii(label: str, reason: str) -> None:
    """Whatever the label is, the header is one line, and gives the label back."""
    for line in (format_headers(predictions(label)), format_headers(predictions(None, reason))):
        assert re.fullmatch(r"X-Nbtext-Label: [ -~]*\n", line)
        assert len(line) < 2000
        message = message_from_string(f"Subject: x\n{line}\nbody\n", policy=policy.compat32)
        assert message.keys() == ["Subject", "X-Nbtext-Label"]
        assert message.get_payload() == "body\n"
    value, *parameters = (
        format_headers(predictions(label)).removeprefix("X-Nbtext-Label:").strip().split(";")
    )
    if label.strip(" "):
        assert unquote(value, errors="surrogatepass") == label.strip(" ")
        assert parameters == [" probability=0.750000"]


def test_header_as_typed(nbtext: Any, tmp_path: Path) -> None:
    """A mail on standard input gives one line; a mail without a label a line with the reason."""
    (tmp_path / "a.csv").write_text(
        "label,text\nham,lunch meeting\nspam,win prize\nham,lunch\nspam,prize\n"
    )
    nbtext("train a.csv -o m").ok()
    mail = b"From: a@example.org\nSubject: win\nX-Nbtext-Label: ham\n\na prize\n"
    out = nbtext("predict - -m m --to header", input=mail).out
    assert re.fullmatch(r"X-Nbtext-Label: spam; probability=0\.\d{6}\n", out)
    empty = b"From: a@example.org\nTo: b\n\n\n"
    known = "--min-known 0.5"
    out = nbtext(f"predict - -m m --to header {known}", input=empty).out
    assert re.fullmatch(r'X-Nbtext-Label: ; reason="[^"\n]*known[^"\n]*"\n', out)
    for option in (("--coverage", "0.9"), ("--top-k", "2")):
        nbtext("predict", "-", "-m", "m", "--to", "header", *option, input=mail).refused(
            2, f"{option[0]}: cannot be combined with --to header, which holds one label"
        )
