"""Predictions as mail headers, for procmail, maildrop and sieve: `X-Nbtext-Label: spam; probability=0.980000`."""

from __future__ import annotations

from urllib.parse import quote

from nbtext.errors import SettingsError, printable
from nbtext.model.predictions import Predictions

NAME = "X-Nbtext-Label"
DIGITS = 6  # decimals of a probability
SAFE = " !#$&'()*+,-./:<=>?@[]^_`{|}~"  # characters of a label that are not percent-encoded
MAX_CHARACTERS = 900  # of a label or a reason: a line of a mail has at most 998 (RFC 5322, section 2.1.1)


def format_headers(batch: Predictions) -> str:
    """Format each prediction as one header line of printable ASCII.

    A label cannot end the line or begin a parameter: other characters than printable ASCII, `%`, `;`, `"` and `\\` are
    percent-encoded as UTF-8. Without a label, the value begins with `;`, and a parameter has the reason.

    Raises
    ------
    SettingsError
        The model predicts several labels for a document.
    """
    if batch.thresholds is not None:
        what = "a mail header can hold one label, and the model is a multi-label model"
        raise SettingsError(what, where="--to", hint="add --to jsonl")
    lines = []
    for labels, probability, reason in zip(batch.labels, batch.best.tolist(), batch.reasons, strict=True):
        value = quote("".join(labels), safe=SAFE, errors="surrogatepass").strip()
        if 0 < len(value) <= MAX_CHARACTERS:
            lines.append(f"{NAME}: {value}; probability={probability:.{DIGITS}f}\n")
            continue
        why = "the label is too long for a header" if value else "the label is blank"
        lines.append(f"{NAME}: ; reason={_quote(why if labels else reason or '')}\n")
    return "".join(lines)


def _quote(text: str) -> str:
    """Return a quoted string of printable ASCII (RFC 5322, section 3.2.4)."""
    shown = printable(text).encode("ascii", "backslashreplace").decode()[:MAX_CHARACTERS]
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'
