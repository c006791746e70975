"""`nbtext explain`: why documents get their labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.cli import options, running
from nbtext.cli.command import command
from nbtext.documents.settings import InputSettings
from nbtext.errors import InputError
from nbtext.records import Strings, frozen
from nbtext.report.records import OUTPUT_FORMATS
from nbtext.settings import setting

if TYPE_CHECKING:
    from nbtext.model.explanation import Explanation

EXPLANATION_FORMATS = (*OUTPUT_FORMATS, "html")


@frozen(kw_only=True)
class Explain:
    """The settings of `nbtext explain`."""

    sources: Strings = options.sources()
    model: str = options.model_file()
    id: Strings = setting(
        (),
        "Explain only the document with this id, as `nbtext predict` prints it; may be repeated.",
        is_repeated=True,
        metavar="ID",
    )
    label: str | None = setting(
        None,
        "Label to explain.",
        metavar="LABEL",
        default_help="the predicted label",
    )
    against: str | None = setting(
        None,
        "Label to compare with. Log-odds are those of --label against this label.",
        metavar="LABEL",
        default_help="the most probable other label",
    )
    features: int | None = setting(
        None,
        "Number of features to show.",
        low=0,
        metavar="N",
        default_help="10 in a table, 25 on a page, else all",
    )
    result: options.ResultSettings = options.result(EXPLANATION_FORMATS)
    input: InputSettings = options.unlabeled_input(*options.NOT_WEIGHED)
    run: options.RunSettings = options.run()


@command(
    Explain,
    common="-m --id --label --against --features -o --to --input-format --text-field",
    example="nbtext explain letters/test/trash -m letters.joblib --features 3",
    notes="-o FILE.html writes a page of the first 200 documents, and needs the extra nbtext[report].\n\n"
    "Memory does not grow with the number of documents.",
)
def explain(given: Explain) -> None:
    """Explain why documents get their labels, feature by feature.

    The log-odds of the label against the other label are the sum of the contributions of the
    features and of a few terms: the prior, the absent features, and the changes by calibration and
    by the prior adjustment. A multi-label model explains each predicted label against its absence.
    On a terminal and on a page, the words of the text are colored: blue words support the label,
    and yellow and orange words support the other label.
    """
    from nbtext.artifact.model import load_model_file
    from nbtext.features.analyzer import Locator
    from nbtext.model.source_prediction import explain_source
    from nbtext.report.explanation import explanations_result

    output = given.result.output
    chosen = running.result_format(given.result, EXPLANATION_FORMATS)
    if chosen == "html":
        from nbtext.report.page.rendering import check_page

        running.refuse_compression(output)
        check_page("a page of HTML", output)
    fitted = load_model_file(given.model).fitted
    has_bar = not running.is_watched(output)
    read = replace(given.input, ids=frozenset(given.id))
    with running.open_documents(
        given.sources, read, given.run, trained_on=fitted.input, has_bar=has_bar
    ) as (source, on_batch):
        explanations = explain_source(
            fitted,
            source,
            label=given.label,
            against=given.against,
            jobs=given.run.jobs,
            on_batch=on_batch,
        )
        explanations = _check_ids(explanations, given.id)
        locate = Locator(fitted.feature_settings)
        if chosen == "html":
            from nbtext.report.explanation import render_explanation_page
            from nbtext.report.page.rendering import write_page

            page = render_explanation_page(
                explanations,
                subject=running.name_sources(given.sources),
                locate=locate,
                n_features=given.features,
            )
            write_page(output, page)
            return
        found = explanations_result(explanations, n_features=given.features, locate=locate)
        running.write_result(found, given.result, chosen)


def _check_ids(explanations: Iterator[Explanation], ids: Strings) -> Iterator[Explanation]:
    """Yield the explanations; at their end, raise InputError if there is none of an id."""
    missing = dict.fromkeys(ids)
    for each in explanations:
        missing.pop(each.id, None)
        yield each
    if missing:
        raise InputError(
            f"no document has the id {next(iter(missing))!r}",
            where="SOURCE",
            hint="see the ids with nbtext predict",
        )
