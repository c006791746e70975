"""The settings of `nbtext review`, and the kinds of findings."""

from __future__ import annotations

from nbtext.cli import options
from nbtext.documents.settings import InputSettings
from nbtext.features.settings import AFTER_COUNTING, FeatureSettings
from nbtext.records import Strings, frozen
from nbtext.settings import part, setting

# in the order in which equally certain ones are listed
FINDINGS = tuple(
    str.split("label_error conflicting_duplicates duplicate near_duplicate leak outlier not_text")
)


@frozen(kw_only=True)
class Review:
    """The settings of `nbtext review`."""

    sources: Strings = options.sources()
    against: str | None = setting(
        None,
        "Other documents, such as the test documents. Report the documents of SOURCE that are also there.",
        file="source",
    )
    only: Strings = setting(
        (),
        "Report only this kind of finding; may be repeated.",
        choices=FINDINGS,
        metavar="FINDING",
        is_repeated=True,
    )
    apply: str | None = setting(
        None,
        "File of decisions about findings, as JSON lines. Write SOURCE with the decided labels and without "
        "removed documents, instead of searching for findings. JSON, CSV, TSV, fastText, Parquet and Arrow keep their "
        "format, all other values and their types; other sources become JSON lines, and databases keep all columns.",
        file="input",
    )
    report: str | None = options.report()
    result: options.ResultSettings = options.result()
    input: InputSettings = part(InputSettings, without=options.NOT_WEIGHED)
    features: FeatureSettings = part(FeatureSettings, without=AFTER_COUNTING)  # counts are compared
    run: options.RunSettings = options.run()
