"""`nbtext prevalence`: the share of each label among unlabeled documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli.command import command
from nbtext.cli.options import MODEL_FILE, RUN_PARTS, SOURCES, UNLABELED_INPUT_STAGE, RunSettings, result_options
from nbtext.cli.running import open_documents, result_format, say, screen, write_result
from nbtext.report.records import OUTPUT_FORMATS

if TYPE_CHECKING:
    from nbtext.documents.settings import InputSettings


@command(
    SOURCES,
    MODEL_FILE,
    *result_options(OUTPUT_FORMATS),
    UNLABELED_INPUT_STAGE,
    *RUN_PARTS,
    common="-m -o --to --input-format --text-field -j",
    example="nbtext prevalence letters/test -m letters.joblib --to table",
    notes="The estimate assumes that only the shares of the labels differ from those of the training documents. If the "
    "documents of a label have changed, too, such as by a new topic or a new source, it is wrong, and so is its "
    "interval.\n\nMemory holds the model and 8 kB for each label; it does not grow with the number of documents. A "
    "single-label model can have at most 512 labels, because each pair of labels needs a number. A multi-label model "
    "can have any number.",
)  # fmt: skip
def prevalence(
    sources: tuple[str, ...],
    model: str,
    output: str,
    output_format: str | None,
    input_settings: InputSettings,
    run: RunSettings,
) -> None:
    """Estimate the share of each label among unlabeled documents.

    The number of predictions of each label is biased towards the shares in training. This command corrects it by the
    leave-one-out errors of the model on its training documents (probabilistic adjusted classify and count, PACC), and
    prints a 95 % interval. The labels of SOURCE are ignored. If documents have several labels, each has its own share.
    """
    from nbtext.artifact.model import load_model
    from nbtext.model.prevalence import check_prevalence, estimate_prevalence
    from nbtext.report.prevalence import format_prevalence

    chosen = result_format(output_format, output, OUTPUT_FORMATS)
    fitted = load_model(model).fitted
    check_prevalence(fitted)
    with open_documents(sources, input_settings, run, trained_on=fitted.input) as (source, on_batch):
        found = estimate_prevalence(fitted, source, jobs=run.jobs, on_batch=on_batch)
    if found.unmeasured:
        names = ", ".join(found.unmeasured[:5]) + (" and others" if len(found.unmeasured) > 5 else "")
        what = "the errors of these labels are not known, and assumed to be 0"
        if found.is_multilabel:
            what = "these labels have too few training documents, and any share is possible"
        say(f"{what}: {names}", quiet=run.quiet)
    write_result(format_prevalence(found, output_format=chosen, screen=screen(output)), output, chosen)
