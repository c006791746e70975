"""`nbtext labels`: the labels of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli.command import command
from nbtext.cli.options import ResultSettings, RunSettings, model_argument, result, verbose_only
from nbtext.cli.running import result_format, write_result
from nbtext.records import frozen
from nbtext.report.result import Result

if TYPE_CHECKING:
    from nbtext.model.fitted_model import TrainedModel

COLUMNS = ("label", "documents")


@frozen(kw_only=True)
class Labels:
    """The settings of `nbtext labels`."""

    model: str = model_argument()
    result: ResultSettings = result()
    run: RunSettings = verbose_only()


@command(
    Labels,
    common="-m -o --to",
    example="nbtext labels letters.joblib",
    notes="Memory holds the model.",
)
def labels(given: Labels) -> None:
    """Show the labels of a model, and the number of training documents of each."""
    from nbtext.artifact.model import load_model_file

    chosen = result_format(given.result)
    write_result(labels_result(load_model_file(given.model)), given.result, chosen)


def labels_result(model: TrainedModel) -> Result[tuple[str, int]]:
    """Return each label with its number of training documents, as the items of a result."""
    numbers = model.counts.statistics.class_documents.tolist()
    return Result(zip(model.fitted.labels, numbers, strict=True), COLUMNS, rows=lambda item: [item])
