"""Predictions as records: one for each document."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any
from urllib.parse import quote

import numpy as np

from nbtext.arrays import Floats
from nbtext.errors import SettingsError, printable
from nbtext.model.predictions import Predictions, most_probable
from nbtext.model.settings import DecisionSettings
from nbtext.model.tasks import TASKS, Form
from nbtext.report.records import (
    FASTTEXT,
    FIELD_DECIMALS,
    HEADER_FORMAT,
    field_text,
    format_json,
    format_values,
    join_escaped,
)
from nbtext.report.result import Result
from nbtext.report.settings import NAME_HINT

# labels of which a record has all probabilities: if a document has one, or several; else, how many
MAX_SCORED = 4096, 1000
FEW_SCORED = 64
# keys of a record beside its columns
FURTHER_KEYS = ("known", "outlier", "typicality", "scores", "explanation", "reason")
NO_SCORES: Mapping[str, int] = {}
FASTTEXT_PREFIX = "__label__"
# of a mail, for procmail, maildrop and sieve
HEADER_NAME = "X-Nbtext-Label"
HEADER_SAFE = " !#$&'()*+,-./:<=>?@[]^_`{|}~"  # characters of a label that are not percent-encoded
# characters of a label or a reason: a line of a mail has at most 998 (RFC 5322, section 2.1.1)
MAX_HEADER_CHARACTERS = 900


def plain_labels(form: Form, values: Sequence[Any]) -> Any:
    """Return labels, or their probabilities, as plain data."""
    return list(values) if form.is_list else values[0] if values else None


def predictions_result(
    predictions: Iterable[Predictions],
    *,
    task: str = "one",
    decisions: DecisionSettings | None = None,
    scores: Mapping[str, int] = NO_SCORES,
) -> Result[Predictions]:
    """Return predictions as a result, with one record for each document; they are also headers or
    fastText lines.

    Parameters
    ----------
    task : str
        The name of the task of the predictions.
    decisions : DecisionSettings, optional
        Prediction sets are one more column, and each of the most probable labels is two.
    scores : mapping
        The number of the label of each further column, which has its probability.

    Raises
    ------
    SettingsError
        A further column has the name of another one.
    """
    form = TASKS[task].form
    top_k = decisions.top_k if decisions is not None else None
    columns = (
        "id",
        form.label,
        form.probability,
        *((form.label_set,) if decisions is not None and decisions.coverage is not None else ()),
        *top_columns(top_k),
    )
    check_score_names(scores, (*columns, *FURTHER_KEYS, form.label_set))
    texts = {
        HEADER_FORMAT: format_headers,
        FASTTEXT: lambda batch: format_fasttext(batch, top_k),
        "table": lambda batch: _table(batch, top_k, scores),
    }
    if columns == ("id", "label", "probability") and not scores:
        texts["jsonl"] = _json_lines
    return Result(
        predictions,
        (*columns, *scores),
        lambda batch: prediction_rows(batch, top_k, scores),
        records=lambda batch: prediction_records(batch, top_k, scores),
        texts=texts,
    )


def summary_result(predictions: Iterable[Predictions], labels: Sequence[str]) -> Result[Any]:
    """Return how many documents have each label, the most frequent first, as a result; at the end,
    how many have none.
    """

    def count() -> Iterator[list[tuple[str | None, int, float]]]:
        found: Counter[str | None] = Counter(dict.fromkeys(labels, 0))
        n_documents = 0
        for batch in predictions:
            n_documents += len(batch)
            for each in batch.labels:
                found.update(each or (None,))
        n_without = found.pop(None, 0)
        pairs: list[tuple[str | None, int]] = [*found.most_common(), (None, n_without)]
        yield [(label, n, n / max(1, n_documents)) for label, n in pairs if label or n]

    return Result(count(), ("label", "documents", "share"), lambda rows: rows)


def check_score_names(scores: Mapping[str, int], names: Sequence[str]) -> None:
    """Raise SettingsError if a column of `scores` has one of these names."""
    for name in scores:
        if name in names:
            raise SettingsError(f"there is a column {name} already", where="score", hint=NAME_HINT)


def label_scores(
    batch: Predictions, scores: Mapping[str, int], decimals: int = FIELD_DECIMALS
) -> list[list[float | None]]:
    """Return the probabilities of some labels of each document; None if it could not be read."""
    found = batch.probabilities[:, list(scores.values())].round(decimals)
    return [
        row if is_known else [None] * len(scores)
        for row, is_known in zip(found.tolist(), batch.is_read.tolist(), strict=True)
    ]


def top_columns(top_k: int | None) -> list[str]:
    """Return the names of the columns of the most probable labels."""
    return [
        f"{name}_{place}"
        for place in range(1, (top_k or 0) + 1)
        for name in ("label", "probability")
    ]


def prediction_records(
    batch: Predictions, top_k: int | None = None, further: Mapping[str, int] = NO_SCORES
) -> Iterator[dict[str, Any]]:
    """Yield each prediction as a dictionary of plain data, its keys in the order of the JSON
    output.

    `scores` has one probability for each label, or for the `top_k` most probable ones, the most
    probable first. If labels exclude each other, probabilities have six decimals and one more for
    each power of ten of the number of labels, so that those of all labels sum to 1 within 1e-6. If
    the model has more than 4,096 labels, else more than 1,000, `scores` has the 64 most probable
    ones.
    """
    form = TASKS[batch.task].form
    decimals = _decimals(batch)
    if top_k is None and len(batch.classes) > MAX_SCORED[form.is_list]:
        top_k = FEW_SCORED
    columns = _first_columns(batch)
    scores = _scores(batch, top_k, decimals)
    further_scores = label_scores(batch, further, decimals)
    is_read = batch.is_read.tolist()
    for row, values in enumerate(zip(*columns.values(), strict=True)):
        record = dict(zip(columns, values, strict=True))
        record["scores"] = next(scores) if is_read[row] else None
        if batch.label_sets is not None:
            record[form.label_set] = list(batch.label_sets[row])
        if batch.explanations is not None:
            record["explanation"] = [
                {"feature": word, "log_odds": round(odds, FIELD_DECIMALS)}
                for word, odds in batch.explanations[row]
            ]
        if batch.reasons[row] is not None:
            record["reason"] = batch.reasons[row]
        record.update(zip(further, further_scores[row], strict=True))
        yield record


def _decimals(batch: Predictions) -> int:
    """Return the number of decimals of a probability; see `prediction_records`."""
    if TASKS[batch.task].form.is_list:
        return FIELD_DECIMALS
    return FIELD_DECIMALS + math.ceil(math.log10(max(1, len(batch.classes))))


def _first_columns(batch: Predictions) -> dict[str, Sequence[Any]]:
    """Return the values of the first keys of each record."""
    form = TASKS[batch.task].form
    batch.complete()
    missing = [None] * len(batch)
    shares = _label_probabilities(batch, _decimals(batch))
    columns = {
        "id": batch.ids,
        form.label: [plain_labels(form, each) for each in batch.labels],
        form.probability: [plain_labels(form, each) for each in shares],
        "known": batch.known.round(FIELD_DECIMALS).tolist(),
        "outlier": batch.outliers or missing,
    }
    if not form.is_list:
        found = () if batch.typicality is None else batch.typicality.tolist()
        columns["typicality"] = [
            None if math.isnan(each) else float(f"{each:.{FIELD_DECIMALS}g}") for each in found
        ] or missing
    return columns


def _json_lines(batch: Predictions) -> str:
    """Format the records of single labels as JSON lines, in few steps if all have the same keys."""
    is_plain = batch.is_read.all() and set(batch.reasons) == {None} and batch.explanations is None
    if not is_plain or len(batch.classes) > FEW_SCORED:
        return "".join(format_json(record) + "\n" for record in prediction_records(batch))
    columns = _first_columns(batch)
    shares = batch.probabilities.round(_decimals(batch))
    texts = map(format_values, [*columns.values(), *shares.T.tolist()])
    keys, labels = (
        ", ".join(format_json(name).replace("%", "%%") + ": %s" for name in names)
        for names in (columns, batch.classes)
    )
    line = f'{{{keys}, "scores": {{{labels}}}}}\n'
    return line * len(batch) % tuple(chain.from_iterable(zip(*texts, strict=True)))


def _scores(batch: Predictions, top_k: int | None, decimals: int) -> Iterator[dict[str, float]]:
    """Yield the probabilities of the labels of each document that was read."""
    if top_k is None:
        for probabilities in batch.probabilities[batch.is_read].round(decimals).tolist():
            yield dict(zip(batch.classes, probabilities, strict=True))
        return
    for pairs, is_read in zip(_rank(batch, top_k, decimals), batch.is_read, strict=True):
        if is_read:
            yield dict(pairs)


def _rank(batch: Predictions, top_k: int, decimals: int | None) -> list[list[tuple[str, float]]]:
    """Return the most probable labels of each document with their probabilities, rounded unless
    `decimals` is None.
    """
    best = most_probable(batch.probabilities, top_k)
    return [
        [(batch.classes[k], share) for k, share in zip(*each, strict=True)]
        for each in zip(best, _take(batch.probabilities, best, decimals), strict=True)
    ]


def prediction_rows(
    batch: Predictions, top_k: int | None = None, further: Mapping[str, int] = NO_SCORES
) -> Iterable[tuple[str, ...]]:
    """Return id, labels and probabilities as text, empty without a label.

    The prediction set, the most probable labels, and the scores of further labels follow if there
    are any.
    """
    form = TASKS[batch.task].form
    separator = batch.separator
    columns: list[Iterable[str]]
    if form.is_list:
        shares = (list(map(field_text, each)) for each in _label_probabilities(batch))
        columns = [
            (join_escaped(each, separator) for each in batch.labels),
            (join_escaped(each, separator) for each in shares),
        ]
    else:  # in few steps, because many documents have these columns
        pairs = zip(batch.best.tolist(), batch.labels, strict=True)
        columns = [
            [labels[0] if labels else "" for labels in batch.labels],
            [f"{share:.{FIELD_DECIMALS}f}" if labels else "" for share, labels in pairs],
        ]
    if batch.label_sets is not None:
        columns.append(join_escaped(labels, separator) for labels in batch.label_sets)
    rows = zip(batch.ids, *columns, strict=True)
    if top_k is None and not further:
        return rows
    tops = top_fields(batch, top_k, None)
    return (
        (*row, *map(field_text, top), *map(field_text, scores))
        for row, top, scores in zip(rows, tops, label_scores(batch, further), strict=True)
    )


def top_fields(
    batch: Predictions, top_k: int | None, decimals: int | None = FIELD_DECIMALS
) -> list[list[Any]]:
    """Return the values of the columns `top_columns` for each document; None for ranks without a
    label.
    """
    if top_k is None:
        return [[]] * len(batch)
    return [
        [*chain.from_iterable(pairs), *[None] * (2 * (top_k - len(pairs)))]
        for pairs in _rank(batch, top_k, decimals)
    ]


def _table(batch: Predictions, top_k: int | None, further: Mapping[str, int]) -> str:
    """Format lines for a terminal: the labels of a document with their probabilities, and its id.

    A single label has a column of its own. The prediction set, the most probable labels, the scores
    of further labels, and the reason for no label follow if there are any.
    """
    from rich.cells import cell_len

    form = TASKS[batch.task].form
    lines = []
    width = max(map(cell_len, map(printable, batch.classes)), default=0)
    top = _rank(batch, top_k, FIELD_DECIMALS) if top_k is not None else [[]] * len(batch)
    shares = _label_probabilities(batch, FIELD_DECIMALS)

    is_read = batch.is_read.tolist()
    further_scores: list[Any] = label_scores(batch, further)
    for row, labels in enumerate(batch.labels):
        identity = printable(batch.ids[row])
        if form.is_list:
            line = f"{identity}  {_format_shares(zip(labels, shares[row], strict=True)) or '–'}"
        else:
            name, share = (
                (printable(labels[0]), f"{shares[row][0]:7.1%}") if labels else ("", "      –")
            )
            line = f"{name}{' ' * (width - cell_len(name))}  {share}  {identity}"
        if batch.label_sets is not None:
            names = map(printable, batch.label_sets[row])
            line += f"  [{', '.join(names) if form.is_list else printable(join_escaped(batch.label_sets[row]))}]"
        if top[row]:
            line += f"  {{{_format_shares(top[row])}}}"
        if further and is_read[row]:
            line += f"  {_format_shares(zip(further, further_scores[row], strict=True))}"
        reason = batch.reasons[row]
        lines.append(f"{line}  ({printable(reason)})\n" if reason is not None else f"{line}\n")
    return "".join(lines)


def _format_shares(shares: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{printable(label)} {share:.1%}" for label, share in shares)


def _label_probabilities(batch: Predictions, decimals: int | None = None) -> list[list[float]]:
    """Return the probabilities of the predicted labels of each document, rounded unless they are to
    be formatted.

    NumPy rounds 0.2001185 to 0.200118, although its binary value is above that decimal number.
    """
    if TASKS[batch.task].form.is_list:
        return _take(batch.probabilities, batch.classes_of(batch.labels), decimals)
    best = batch.best if decimals is None else batch.best.round(decimals)
    return [
        [share] * len(labels) for share, labels in zip(best.tolist(), batch.labels, strict=True)
    ]


def _take(
    values: Floats, columns: Sequence[Sequence[int]], decimals: int | None
) -> list[list[float]]:
    """Return some columns of each row of a matrix, rounded unless `decimals` is None."""
    sizes = list(map(len, columns))
    rows = np.repeat(np.arange(len(values)), sizes)
    found = values[rows, np.fromiter(chain.from_iterable(columns), np.int64, len(rows))]
    taken = iter((found if decimals is None else found.round(decimals)).tolist())
    return [list(islice(taken, size)) for size in sizes]


def format_fasttext(batch: Predictions, top_k: int | None) -> str:
    """Format the predicted labels, as `fasttext predict` prints them; of `top_k` labels, with their
    probabilities.

    Raises
    ------
    SettingsError
        A label holds a space, which ends a label in this format.
    """
    for label in batch.classes:
        if re.search(r"\s", label) or not label:
            raise SettingsError(
                f"the label {label!r} is empty or contains a space, which the fastText format does not allow",
                where="--to fasttext",
                hint="choose --to jsonl, or rename the label",
            )
    rows: Iterable[Iterable[str]] = batch.labels
    if top_k is not None:
        rows = (
            [f"{label} {share:.{FIELD_DECIMALS}f}" for label, share in pairs]
            for pairs in _rank(batch, top_k, None)
        )
    return "".join(" ".join(f"{FASTTEXT_PREFIX}{text}" for text in row) + "\n" for row in rows)


def format_headers(batch: Predictions) -> str:
    """Format each prediction as one header line of printable ASCII: `X-Nbtext-Label: spam;
    probability=0.980000`.

    A label cannot end the line or begin a parameter: other characters than printable ASCII, `%`,
    `;`, `"` and `\\` are percent-encoded as UTF-8. Without a label, the value begins with `;`, and
    a parameter has the reason.

    Raises
    ------
    SettingsError
        The model predicts several labels for a document.
    """
    if batch.thresholds is not None:
        raise SettingsError(
            "a mail header can hold one label, and the model is a multi-label model",
            where="--to",
            hint="add --to jsonl",
        )
    lines = []
    for labels, probability, reason in zip(
        batch.labels, batch.best.tolist(), batch.reasons, strict=True
    ):
        value = quote("".join(labels), safe=HEADER_SAFE, errors="surrogatepass").strip()
        if 0 < len(value) <= MAX_HEADER_CHARACTERS:
            lines.append(f"{HEADER_NAME}: {value}; probability={probability:.{FIELD_DECIMALS}f}\n")
            continue
        why = "the label is too long for a header" if value else "the label is blank"
        # a quoted string of printable ASCII (RFC 5322, section 3.2.4)
        shown = printable(why if labels else reason or "").encode("ascii", "backslashreplace")
        text = shown.decode()[:MAX_HEADER_CHARACTERS].replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'{HEADER_NAME}: ; reason="{text}"\n')
    return "".join(lines)
