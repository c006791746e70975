"""Predictions and explanations for all documents of a source, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from nbtext.documents.batch import Batch, Block, ReadCount, number_rows
from nbtext.documents.source import Source
from nbtext.features.analyzer import has_own_pattern
from nbtext.model.fitted_model import FittedModel
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import MOST_PROBABLE, Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import OnBatch, check_fields, label_numbered, peek_blocks
from nbtext.parallel import parallel_map

if TYPE_CHECKING:
    from nbtext.model.explanation import Explanation

Result = TypeVar("Result")
MANY_LABELS = 256  # models with more labels predict smaller batches
MAX_BATCH_PROBABILITIES = 1 << 20  # documents times labels of a batch: 8 MiB


def predict_source(
    model: FittedModel,
    source: Source,
    *,
    jobs: int,
    decisions: DecisionSettings = MOST_PROBABLE,
    on_batch: OnBatch | None = None,
) -> Iterator[Predictions]:
    """Yield the predictions for all documents of a source, in order, a batch at a time.

    Text from a pipe is predicted as it arrives, in this thread; otherwise `jobs` threads read a few
    batches ahead.
    """
    yield from map_batches(
        batch_predictor(model, decisions), model, source, jobs=jobs, on_batch=on_batch
    )


def batch_predictor(
    model: FittedModel, decisions: DecisionSettings
) -> Callable[[Batch], Predictions]:
    """Return the function that predicts a batch, with explanations if the decisions ask for
    them.
    """
    model.kind.check_decisions(decisions, model.labels)
    if decisions.explain is None:
        return partial(Predictor(model, is_brief=True).predict_batch, decisions=decisions)
    from nbtext.model.explanation import Explainer

    return partial(Explainer(model).predict_batch, decisions=decisions)


def explain_source(
    model: FittedModel,
    source: Source,
    *,
    label: str | None,
    against: str | None,
    jobs: int,
    on_batch: OnBatch | None,
) -> Iterator[Explanation]:
    """Return the explanations of all documents of a source, in order; see
    `Explainer.explain_batch`.
    """
    from nbtext.model.explanation import Explainer

    explainer = Explainer(model)
    explainer.check(label, against)  # raises before anything is read
    explain = partial(explainer.explain_batch, label=label, against=against)
    return chain.from_iterable(map_batches(explain, model, source, jobs=jobs, on_batch=on_batch))


def map_batches(
    function: Callable[[Batch], Result],
    model: FittedModel,
    source: Source,
    *,
    jobs: int,
    on_batch: OnBatch | None,
) -> Iterator[Result]:
    """Yield what a function returns for each batch of a source, in order; see `predict_source`.

    raises  InputError: no document can be read
    """

    def read_and_call(numbered: tuple[int, Block]) -> tuple[Block, Batch, Result]:
        number, block = numbered
        batch = number_rows(block.batch(), number)
        if model.input.matrix_columns is None:
            batch = label_numbered(batch, model.labels)
        return block, batch, function(batch)

    read = ReadCount()
    check_fields(model.feature_settings.fields, source.field_names)
    blocks = _limit_blocks(source.blocks(), len(model.labels))
    if source.is_live or has_own_pattern(model.feature_settings):
        jobs = 1
    if jobs > 1:
        blocks, is_single = peek_blocks(blocks)
        if is_single:
            jobs = 1
    for block, batch, result in parallel_map(
        read_and_call, enumerate(blocks), jobs=jobs, is_large=lambda numbered: numbered[1].is_large
    ):
        if on_batch is not None:
            on_batch(block, batch)
        read.add(batch)
        del batch  # its texts, before the next block is read
        yield result
    read.check(source.skipped)


def _limit_blocks(blocks: Iterator[Block], n_labels: int) -> Iterator[Block]:
    """Return the blocks, cut into smaller ones if there are many labels, so that memory is
    bounded.
    """
    if n_labels <= MANY_LABELS:
        return blocks
    size = max(1, MAX_BATCH_PROBABILITIES // n_labels)
    return (
        part.block(0 if number else block.size, block.n_bytes)
        for block in blocks
        for number, part in enumerate(block.batch().split(size))
    )
