"""`nbtext review`: label errors, duplicates, leaks, outliers, and documents that are not text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from nbtext.applications.review.settings import Review
from nbtext.cli import running
from nbtext.cli.command import command, refuse_settings
from nbtext.documents.streams import STANDARD_INPUT
from nbtext.errors import InputError, SettingsError
from nbtext.features.settings import FeatureSettings
from nbtext.settings import Excludes, refuse


@command(
    Review,
    common="--against --only --report --apply -o --to --input-format --text-field --label-field --ngrams",
    example="nbtext review letters/train --against letters/test",
    notes="Memory holds the counts, the id, the place and the first 40 characters of each document. --report reads SOURCE twice, and shows the "
    "first 500 findings.",
    rules=[
        *(
            Excludes(name, "apply")
            for name in str.split("against only report label missing_labels")
        ),
        Excludes(
            "to",
            "apply",
            because="the documents keep their format; -o FILE.jsonl writes JSON lines",
        ),
        Excludes("spreadsheet_safe", "apply", because="the documents keep their cells"),
        Excludes("separate_fields", "apply", because="the documents keep their fields"),
        Excludes("where", "apply", because="all documents are written"),
    ],
)
def review(given: Review) -> None:
    """Find probable label errors, duplicates and outliers in documents, without changing them.

    There is one record for each finding, most certain first: label_error (another label is more
    probable, given all other documents), conflicting_duplicates (same words, different labels),
    duplicate (same words, same label), near_duplicate (sets of words with a Jaccard similarity of
    0.8 or more), leak (also in --against), outlier (less probable than 99 % of the documents), and
    not_text (empty, unreadable, encoded data such as base64, or a table of numbers). If documents
    have several labels, a label_error is a label to remove (label) or to add (likely_label).

    A few new documents cannot judge each other. Review them together with documents whose labels
    are known.

    --apply FILE writes a corrected copy of SOURCE. Each line of FILE is a JSON object with the id
    of a document (also its place, if ids are not unique) and a decision: keep, remove, or
    relabel with the new label or all labels.
    """
    from nbtext.applications.review.findings import (
        ReviewReader,
        find_texts,
        review_corpus,
        weigh_words,
    )
    from nbtext.applications.review.result import review_result, summarize_review
    from nbtext.features.analyzer import Locator

    if given.apply is not None:
        _apply(given, given.apply)
        return
    running.check_report(given.report)
    chosen = running.result_format(given.result)
    inputs = (given.sources,) if given.against is None else (given.sources, (given.against,))
    if given.report is not None and any(STANDARD_INPUT in paths for paths in inputs):
        what = "reads SOURCE twice, so SOURCE cannot be standard input"
        raise SettingsError(what, where="--report", hint="name a file instead of -")
    reader = ReviewReader(given.features, given.run.jobs)
    for paths in inputs:
        with running.open_documents(paths, given.input, given.run) as (source, on_batch):
            if given.report is not None and source.first_matrix() is not None:
                raise refuse("report", "it shows the texts, and SOURCE is a matrix")
            reader.read(source, on_batch)
    corpus = reader.finish()
    if all(document.is_other for document in corpus.documents):
        raise InputError("SOURCE has no documents to review")
    found = review_corpus(corpus, jobs=given.run.jobs)
    if given.only:
        kept = tuple(each for each in found.findings if each.finding in given.only)
        found = replace(found, findings=kept)
    given.run.say(*summarize_review(found))
    if given.report is not None:  # the texts are read again
        from nbtext.applications.review.review_page import render_review_page, shown_findings
        from nbtext.report.page.rendering import write_page

        findings = shown_findings(found)
        wanted = {document.number for each in findings for document in each.documents}
        texts: dict[int, str] = {}
        run = replace(given.run, quiet=True)
        for number, paths in enumerate(inputs):
            with running.open_documents(paths, given.input, run) as (source, _):
                texts.update(find_texts(source, number, wanted))
        weights = list(weigh_words(corpus, findings))
        locate = Locator(reader.features)
        names = running.name_sources(given.sources)
        page = render_review_page(found, subject=names, texts=texts, weights=weights, locate=locate)
        write_page(given.report, page)
    running.write_result(review_result(found), given.result, chosen)


def _apply(given: Review, decisions: str) -> None:
    """Write the documents of some sources after the decisions of a review, in the format of the
    sources if it can be.

    raises  SettingsError: the output is to have another format
    """

    from nbtext.applications.review.decisions import apply_decisions, list_records, read_decisions
    from nbtext.documents.formats import FORMATS, check_suffix, content_suffix
    from nbtext.documents.rows import ChangedRows, OutputTarget
    from nbtext.documents.settings import FOR_LABELS
    from nbtext.report.records import format_json, write_and_flush

    refuse_settings(FeatureSettings, because="--apply searches no findings")
    output = given.result.output
    found = read_decisions(decisions)
    input_settings = replace(given.input, rows_for=FOR_LABELS)
    with running.open_documents(given.sources, input_settings, given.run) as (source, on_batch):
        decided = apply_decisions(source, found, on_batch)
        first = [*islice(decided, 1)]
        decided = chain(first, decided)
        rows = first[0][0].rows if first else None
        lines = FORMATS["jsonl"]
        written = lines if rows is None else FORMATS[rows.format]
        asks_lines = content_suffix(output) in {*lines.suffixes}.difference(written.suffixes)
        if asks_lines or not written.writes("labels"):
            written = lines
        check_suffix(output, written.suffixes, f"the documents are written as {written.name}")
        if rows is not None and written.name == rows.format:

            def change_rows() -> Iterator[ChangedRows]:
                for batch, labels in decided:
                    if batch.rows is None or batch.rows.format != rows.format:
                        what = f"its format is not {rows.format}, the format of the first SOURCE"
                        where = batch.place(0) if len(batch) else ""
                        raise InputError(what, where=where, hint="write JSON lines: -o FILE.jsonl")
                    yield ChangedRows(batch.rows, labels=labels)

            target = OutputTarget(output, lambda: running.result_file(given.result, "jsonl"))
            written.load("writer")(change_rows(), target, input_settings)
            return
        with running.result_file(given.result, "jsonl") as file:
            for batch, labels in decided:
                records = list_records(batch, labels, input_settings)
                write_and_flush((format_json(record) + "\n" for record in records), file)
