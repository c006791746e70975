"""`nbtext export`: a model for other programs, or a smaller one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from nbtext.applications.export.exporter import load_exporters
from nbtext.cli import options, running
from nbtext.cli.command import MODEL_FORMAT as MODEL
from nbtext.cli.command import command, refuse_settings
from nbtext.documents.settings import InputSettings
from nbtext.errors import SettingsError
from nbtext.model.word_pieces import leave_out_pieces
from nbtext.output import atomic_output, escape_formulas
from nbtext.records import Strings, frozen
from nbtext.registry import check_kind
from nbtext.settings import Needs, part, setting

EXPORTERS = load_exporters()
EXPORT_SUFFIXES = {name: each.suffixes for name, each in EXPORTERS.items()} | {
    MODEL: (f".{MODEL}",)
}


@frozen(kw_only=True)
class Export:
    """The settings of `nbtext export`."""

    model: str = options.model_argument()
    to: str | None = setting(
        None,
        f"Format. The suffix of -o implies it: {', '.join(chain.from_iterable(EXPORT_SUFFIXES.values()))}.",
        choices=tuple(EXPORT_SUFFIXES),
        metavar="FORMAT",
    )
    max_model_bytes: int | None = options.max_model_bytes()
    documents: Strings = setting(
        (),
        "Labeled documents that the model was not trained on; may be repeated. A smaller model is calibrated and "
        "estimated on them. Without them, and without --keep-sample in training, it keeps the calibration.",
        file="source",
        is_repeated=True,
        title="Model",
    )
    result: options.ResultSettings = part(options.ResultSettings, without=("output", "to"))
    output: str | None = options.new_model("File to write.", file="exported model")
    input: InputSettings = part(InputSettings, without=options.NOT_WEIGHED)
    run: options.RunSettings = options.run()


@command(
    Export,
    common="-m --to -o --max-model-bytes",
    example="nbtext export letters.joblib -o letters.mjs",
    notes="".join(f"{name}: {each.summary}\n\n" for name, each in EXPORTERS.items())
    + f"{MODEL}: A model for nbtext, which --max-model-bytes makes smaller.\n\n"
    + "Memory holds the model and the weights of all features for all labels (js and c: only weights that differ from "
    "the default weight of the label).",
    rules=[Needs("documents", "max_model_bytes")],
)
def export(given: Export) -> None:
    """Export a model for other programs: C, JavaScript, spreadsheets. Or make it smaller.

    The exported model predicts the same labels and calibrated probabilities, unless it is made
    smaller. Models with --hash-bits, gaussian models, categorical models and linear models of
    several labels cannot be exported. Naive Bayes models of several labels can be exported as c and
    js. Models with --stem, --separate-fields or their own --token-pattern cannot be exported as c
    and js.

    For scikit-learn, TextClassifier.to_sklearn() returns a fitted pipeline in Python.
    """
    from nbtext.artifact.model import load_model_file, save_model_file

    output = given.output or "-"
    implied = (name for name, own in EXPORT_SUFFIXES.items() if output.lower().endswith(own))
    chosen = given.to or next(implied, None)
    if chosen is None:
        what = "is needed, because the suffix of -o does not name a format"
        raise SettingsError(what, where="--to", hint=f"choose one of {', '.join(EXPORT_SUFFIXES)}")
    running.check_safety(given.result, chosen)
    if not given.documents:
        refuse_settings(InputSettings, because="there are no --documents to read")
    target = running.binary_output(given.output)
    trained = load_model_file(given.model)
    if given.max_model_bytes is not None:
        from nbtext.artifact.reduction import limit_size
        from nbtext.model.growth import count_documents
        from nbtext.report.training import format_reduction

        counts = None
        if given.documents:
            with running.open_documents(
                given.documents, given.input, given.run, trained_on=trained.fitted.input
            ) as (source, on_batch):
                counts = count_documents(
                    trained,
                    source,
                    jobs=given.run.jobs,
                    sample_size=None,
                    on_batch=on_batch,
                    name="--documents",
                )
        reduction = limit_size(
            trained, given.max_model_bytes, documents=counts, jobs=given.run.jobs
        )
        trained = reduction.model
        given.run.say(format_reduction(reduction))
    if chosen == MODEL:
        save_model_file(trained, target)
        return
    model = leave_out_pieces(trained.fitted)
    exporter = EXPORTERS[chosen]
    exporter.check_model(model)
    where = f"{exporter.write.__module__}.{exporter.write.__name__}()"
    pieces = exporter.write(model)
    check_kind(pieces, Iterable, where)
    with atomic_output(target) as file:
        for piece in pieces:
            check_kind(piece, bytes, where)
            is_safe = given.result.spreadsheet_safe
            file.write(escape_formulas(piece.decode()).encode() if is_safe else piece)
