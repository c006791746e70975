"""`nbtext label`: label documents in the terminal."""

from __future__ import annotations

import sys
from dataclasses import replace

from nbtext.bayes.settings import parse_meanings
from nbtext.cli import options, running
from nbtext.cli.command import command
from nbtext.documents.formats import FORMATS, check_suffix
from nbtext.documents.settings import InputSettings
from nbtext.errors import SettingsError, number_of
from nbtext.output import STANDARD_OUTPUT_PATHS
from nbtext.records import Strings, frozen
from nbtext.registry import load_method
from nbtext.settings import Excludes, Needs, parse_names, setting

ANSWER_TEXT = "text"  # the key of the text of an answer


# a table with another way of quotes, or a folder with files of another kind, is converted first
LEFT_OUT = str.split("escape label_field exclude separate_fields weight_field")


@frozen(kw_only=True)
class Label:
    """The settings of `nbtext label`."""

    sources: Strings = options.sources()
    model: str | None = setting(
        None,
        "Model file that predicts the labels at the start. It is not changed.",
        flags=("-m", "--model-file"),
        file="model",
    )
    output: str = setting(
        "",
        "File of answers, as JSON lines. Answers in an existing file are kept, and their documents are not shown.",
        flags=("-o", "--output"),
        file="output",
        is_required=True,
    )
    labels: Strings = setting(
        (),
        "Labels to choose from at the start. More can be added while labeling.",
        parse=parse_names,
        metavar="LABEL,LABEL…",
    )
    vectors: Strings = setting(
        (),
        "Table of word vectors, by which the model also knows words that no labeled document has; see `nbtext train --vectors`.",
        file="input",
        metavar="FILE|PACKAGE",
        is_repeated=True,
        applications=("vectors",),
    )
    names: tuple[tuple[str, str], ...] = setting(
        (),
        "File that describes the labels, with --vectors, so that the model predicts before any answer; see `nbtext train --names`.",
        file="input",
        parse=parse_meanings,
        applications=("vectors",),
    )
    multi_label: bool = setting(
        False, "Give a document any number of labels. The key of a label turns it on or off."
    )
    pool: int = setting(
        20_000,
        "Largest number of documents to choose from. If SOURCE has more, a random sample is taken.",
        low=1,
        metavar="N",
        default_help="20,000",
    )
    input: InputSettings = options.unlabeled_input(*LEFT_OUT)
    run: options.RunSettings = options.run()


@command(
    Label,
    common="-m -o --labels --multi-label --pool --input-format --text-field --id-field",
    example="nbtext label letters/test -m letters.joblib -o labels.jsonl",
    notes="Memory holds the texts and the counts of --pool documents, and 400 bytes for each of them.",
    rules=[
        Needs("names", "vectors"),
        *(Excludes("vectors", name) for name in ("model", "multi_label")),
    ],
)
def label(given: Label) -> None:
    """Label documents in the terminal, starting with those from which the model learns most.

    The screen shows a document with its most important words marked, the prediction of the model,
    and a key for each label. Enter accepts the prediction, s skips, u undoes, / searches, n adds a
    label, q quits. The model learns each answer before it chooses the next
    document: one that is uncertain, resembles many others, and is unlike those that have an answer.

    Each answer is on the disk before the next document is shown. Run the same command again to
    continue. `nbtext train` reads the file of answers as it is; skipped documents are not in it.
    """
    from nbtext.applications.label.pool import AnswerFile, count_pool, read_pool
    from nbtext.applications.label.screen import LabelingScreen
    from nbtext.applications.label.session import Learner, Session
    from nbtext.artifact.model import load_model_file
    from nbtext.bayes.settings import ModelSettings
    from nbtext.features.analyzer import Locator
    from nbtext.features.settings import FeatureSettings
    from nbtext.model.growth import check_growth, locate_error
    from nbtext.model.source_counting import read_batches
    from nbtext.model.view_selection import UNSPACED_VIEWS, is_unspaced
    from nbtext.model.word_vectors import check_table

    output = given.output
    check_suffix(output, FORMATS["jsonl"].suffixes, "answers are JSON lines")
    if output in STANDARD_OUTPUT_PATHS:
        what = "answers cannot be written to standard output, because they are read again"
        raise SettingsError(what, where="-o", hint="name a file")
    for name, stream in (("standard input", sys.stdin), ("standard output", sys.stdout)):
        if stream is None or not stream.isatty():
            raise SettingsError(
                f"label needs a terminal, and {name} is not one", hint="run it in a terminal, alone"
            )
    trained = None
    trained_on = None
    features = FeatureSettings()
    if given.model is not None:
        trained = load_model_file(given.model)
        with locate_error(given.model):
            check_growth(trained)
        trained_on = trained.fitted.input
        features = trained.fitted.feature_settings
    with running.open_documents(given.sources, given.input, given.run, trained_on=trained_on) as (
        source,
        on_batch,
    ):
        batches = read_batches(source, on_batch)
        pool = read_pool(batches, features, given.pool, given.sources[0])
    words = pool.counts.vocabulary
    if words and not (trained or given.vectors) and is_unspaced(words, pool.counts.statistics):
        features = FeatureSettings(view=UNSPACED_VIEWS)
        pool = replace(pool, counts=count_pool(pool.documents, features))
    if pool.n_left_out:
        n_chosen = len(pool.documents)
        found = number_of(n_chosen + pool.n_left_out, "document")
        given.run.say(f"chosen at random: {n_chosen:,} of {found}; for more, give a larger --pool")
    of_vectors = by_names = None
    if given.vectors:
        assert words is not None  # they are not hashed
        known = tuple(words.terms)
        of_vectors = ModelSettings(vectors=given.vectors, vector_words=0, more_words=known)
        check_table(pool.counts, features, of_vectors)  # an error is said before the session
        of_vectors = replace(of_vectors, names=given.names)
        if given.names:
            by_names = load_method("fit_names")(pool.counts, features, of_vectors)
    names = source.field_names or (ANSWER_TEXT,)
    has_one_label = trained is not None and trained.fitted.kind.has_one_label
    file = AnswerFile(
        output, names, has_lists=given.multi_label or (trained is not None and not has_one_label)
    )
    try:
        if has_one_label and file.has_lists:
            what = "the model gives each document one label, and answers can have several"
            hint = "start without this model, or with one of several labels"
            raise SettingsError(what, where=output, hint=hint)
        learner = Learner(
            features,
            trained,
            has_lists=file.has_lists,
            of_vectors=of_vectors,
            by_names=by_names,
        )
        labels = (*given.labels, *dict(given.names))
        LabelingScreen(
            Session(pool, file, learner, labels), Locator(features), running.screen()
        ).run()
    finally:
        file.close()
        given.run.say(f"{output}: {number_of(len(file.answers), 'answer')}")
