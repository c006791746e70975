"""`nbtext prevalence`: the share of each label among unlabeled documents."""

from __future__ import annotations

from nbtext.applications.prevalence.settings import PrevalenceSettings
from nbtext.cli import running
from nbtext.cli.command import command


@command(
    PrevalenceSettings,
    common="-m --group-field -o --to --input-format --text-field -j",
    example="nbtext prevalence letters/test -m letters.joblib --to table",
    notes="The estimate assumes that only the shares of the labels differ from those of the training documents. If the "
    "words of the documents have changed, too, such as by a new topic or a new source, shares are those of the "
    "predictions, intervals become wider, and a message says so; if they have changed too much, any share is possible. The same is "
    "said if predictions are less or more certain than any shares explain. "
    "What does not show in the words or in this certainty is not found.\n\nMemory holds the model with its counts and, for each group, "
    "8 kB for each label and 60 bytes for each "
    "feature; it does not grow with the number of documents. A single-label model can have at most 512 labels, because "
    "each pair of labels needs a number. A multi-label model can have any number.",
)
def prevalence(given: PrevalenceSettings) -> None:
    """Estimate the share of each label among unlabeled documents.

    The number of predictions of each label is biased towards the shares in training. This command
    corrects it by the leave-one-out errors of the model on its training documents (probabilistic
    adjusted classify and count, PACC), and prints a 95 % interval. The labels of SOURCE are
    ignored. If documents have several labels, each has its own share.
    """
    from nbtext.applications.prevalence.estimation import estimate_prevalence
    from nbtext.applications.prevalence.result import describe_doubts, prevalence_result
    from nbtext.artifact.model import load_model_file

    chosen = running.result_format(given.result)
    input_settings = given.input.group_by(given.group_field)
    trained = load_model_file(given.model)
    trained_on = trained.fitted.input
    with running.open_documents(
        given.sources, input_settings, given.run, trained_on=trained_on
    ) as (source, on_batch):
        found = estimate_prevalence(trained, source, jobs=given.run.jobs, on_batch=on_batch)
    given.run.say(*describe_doubts(found, trained.fitted.kind))
    result = prevalence_result(found, is_grouped=given.group_field is not None)
    running.write_result(result, given.result, chosen)
