"""`nbtext train`: train a model on labeled documents."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.bayes.settings import GROUP_FIELD, ModelSettings
from nbtext.cli.command import Deferred, Option, command, refuse
from nbtext.cli.files import INPUT, SOURCE, FileType
from nbtext.cli.options import CLUSTER_STAGE, LABELED_INPUT_STAGE, NEW_MODEL, RUN_PARTS, SOURCES, RunSettings
from nbtext.cli.running import (
    is_matrix_alone,
    is_model_alone,
    model_output,
    open_documents,
    open_workers,
    save,
    say,
    screen,
    search_documents,
)
from nbtext.cli.training_options import (
    FEATURE_STAGE,
    SEARCH_STAGE,
    SEARCHED_MODEL_STAGE,
    UNLABELED_STAGE,
    is_search,
    refuse_for_matrix,
)
from nbtext.errors import SettingsError
from nbtext.model.settings import UnlabeledSettings
from nbtext.parallel import import_meanwhile
from nbtext.records import dataclass

if TYPE_CHECKING:
    from nbtext.cluster.settings import ClusterSettings
    from nbtext.documents.settings import InputSettings
    from nbtext.evaluation.settings import SearchSettings
    from nbtext.features.settings import FeatureSettings
    from nbtext.model.fitted_model import TrainedModel


def _parse_keywords(path: str) -> dict[str, tuple[str, ...]]:
    from nbtext.model.keyword_file import read_keywords

    return read_keywords(path)


@command(
    SOURCES,
    NEW_MODEL,
    LABELED_INPUT_STAGE,
    FEATURE_STAGE,
    SEARCHED_MODEL_STAGE,
    SEARCH_STAGE,
    Option("--unlabeled", type=SOURCE, multiple=True, title="Unlabeled documents",
           help="Documents to train on without their labels; may be repeated. Needs --em, --marginals "
           "or --keywords."),
    UNLABELED_STAGE,
    Option("--group-field", metavar="NAME", title="Model",
           help="Column, JSON key or mail header of a group, such as the thread or the author. Leave-one-out leaves "
           "out whole groups, so that the estimate is for documents of new groups. Memory grows with the number of "
           "documents."),
    Option("--exclude-ids", type=INPUT, title="Input",
           help="File with the ids of documents to exclude, one per line."),
    Option("--keywords", type=FileType(parse=_parse_keywords), title="Unlabeled documents",
           help="Words and phrases of each label, instead of labeled documents: TOML such as spam = [\"free\", \"prize "
           "money\"], or CSV with a label and its words on each line. SOURCE holds the unlabeled documents. "
           "With --unlabeled, that names them, and SOURCE holds labeled documents. --em may be added."),
    CLUSTER_STAGE,
    *RUN_PARTS,
    deferred=(SEARCHED_MODEL_STAGE, FEATURE_STAGE),
    common="-o --input-format --text-field --label-field --ngrams --stop-words --weighting --model --smoothing",
    example="nbtext train letters/train -o letters.joblib",
    notes="Memory for Naive Bayes on counts depends on the number of features and labels, not on the number of "
    "documents. With TF-IDF weights or --keywords, and for categorical, gaussian and linear models, it also grows with "
    "the number of documents. --em needs 20 bytes for each distinct word of each unlabeled document.",
)  # fmt: skip
def train(
    sources: tuple[str, ...],
    output: str | None,
    unlabeled: tuple[str, ...],
    group_field: str | None,
    exclude_ids: str | None,
    input_settings: InputSettings,
    features: Deferred[FeatureSettings],
    model_settings: Deferred[ModelSettings],
    searching: SearchSettings,
    semi_supervised: UnlabeledSettings,
    keywords: dict[str, tuple[str, ...]] | None,
    cluster: ClusterSettings,
    run: RunSettings,
) -> None:
    """Train a model on labeled documents, and save it.

    SOURCE may also be a model file. Then a new model is fitted to the counts in that file, with its settings, except
    for the options of the group Model that you give. No text is read.
    """
    if exclude_ids is not None:
        input_settings = _exclude_ids(sources, input_settings, exclude_ids)
    if group_field is not None:
        is_counted = is_model_alone(sources, input_settings) or is_matrix_alone(sources, input_settings)
        if keywords is not None or unlabeled or is_counted:
            what = "only documents with labels and fields can be left out in groups"
            raise SettingsError(what, where="--group-field", hint="leave out this option")
        input_settings, model_settings = _group_by(group_field, input_settings, model_settings)
    with model_output(output) as target:
        job = _Training(sources, input_settings, features, model_settings, run)
        if not is_search(model_settings):
            refuse(SEARCH_STAGE, because="this option needs --model best")
        if keywords is not None:
            trained = job.learn_keywords(keywords, unlabeled, semi_supervised, cluster)
        elif _learns_unlabeled(semi_supervised, unlabeled):
            trained = job.learn_unlabeled(unlabeled, semi_supervised, cluster)
        elif is_model_alone(sources, input_settings):
            trained = job.refit()
        else:
            trained = job.fit(searching, cluster)
        save(trained, target, quiet=run.quiet)


def _group_by(
    field: str, input_settings: InputSettings, model_settings: Deferred[ModelSettings]
) -> tuple[InputSettings, Deferred[ModelSettings]]:
    """Return the settings with which documents are left out in groups by a field.

    raises  SettingsError: they are also left out in other groups, or the name of the field is empty
    """
    if "group" in model_settings.given:
        raise SettingsError("cannot be combined with --group-field", where="--group", hint="leave out one of them")
    if not field:
        raise SettingsError("the name of the field is empty", where="--group-field")
    grouped = replace(model_settings, given={**model_settings.given, "group": GROUP_FIELD})
    return replace(input_settings, split_field=field), grouped


def _exclude_ids(sources: tuple[str, ...], settings: InputSettings, path: str) -> InputSettings:
    """Return the settings without the documents whose ids a file lists.

    raises  SettingsError: SOURCE has no documents that have ids
    """
    from nbtext.features.stop_words import read_words

    if is_model_alone(sources, settings) or is_matrix_alone(sources, settings):
        hint = "give the documents, or use `nbtext forget`"
        raise SettingsError(
            "needs documents, but SOURCE is a model or a matrix, which holds only counts",
            where="--exclude-ids",
            hint=hint,
        )
    return replace(settings, exclude_ids=frozenset(read_words(path)))


def _learns_unlabeled(settings: UnlabeledSettings, unlabeled: tuple[str, ...]) -> bool:
    """Return whether unlabeled documents are used.

    raises  SettingsError: there are documents without a method, or a method without documents
    """
    if settings.method is not None and not unlabeled:
        raise SettingsError("needs unlabeled documents", where=settings.method, hint="give --unlabeled SOURCE")
    if settings.method is None and unlabeled:
        raise SettingsError(
            "no method is given", where="--unlabeled", hint="add --em 10, --marginals or --keywords FILE"
        )
    return settings.method is not None


@dataclass(frozen=True, slots=True)
class _Training:
    """Trains a model on the sources of a command."""

    sources: tuple[str, ...]
    input_settings: InputSettings
    features: Deferred[FeatureSettings]
    model_settings: Deferred[ModelSettings]
    run: RunSettings

    def fit(self, searching: SearchSettings, cluster: ClusterSettings) -> TrainedModel:
        """Fit a model to documents or a matrix."""
        from nbtext.model.training import train_on_source

        if is_search(self.model_settings):
            return self._search(searching)
        features, model_settings = self.features.settings(), self.model_settings.settings()
        if is_matrix_alone(self.sources, self.input_settings):
            from nbtext.documents.matrix import load_matrix
            from nbtext.model.matrices import train_on_matrix

            refuse_for_matrix()
            return train_on_matrix(load_matrix(self.sources[0]), model_settings)
        with (
            open_documents(self.sources, self.input_settings, self.run) as (source, on_batch),
            open_workers(self.sources, cluster, self.run) as workers,
        ):
            if self.run.jobs > 1:
                import_meanwhile("nbtext.model.fitting", "nbtext.report.training")
            trained = train_on_source(
                source, features, model_settings, jobs=self.run.jobs, on_batch=on_batch, executor=workers, is_saved=True
            )
        from nbtext.report.training import format_script_hint

        if hint := format_script_hint(trained):
            say(hint, quiet=self.run.quiet)
        return trained

    def refit(self) -> TrainedModel:
        """Fit another model to the counts of a model."""
        from nbtext.artifact.model import load_model
        from nbtext.model.growth import refit

        because = "SOURCE is a model, whose features are already extracted"
        refuse(FEATURE_STAGE, LABELED_INPUT_STAGE, CLUSTER_STAGE, because=because)
        if is_search(self.model_settings):
            hint = "name a model, or train on the documents"
            raise SettingsError(
                "best needs texts, but SOURCE is a model, which holds only counts", where="--model", hint=hint
            )
        return refit(load_model(self.sources[0]), self.model_settings.given)

    def learn_unlabeled(
        self, unlabeled: tuple[str, ...], settings: UnlabeledSettings, cluster: ClusterSettings
    ) -> TrainedModel:
        """Fit a model to labeled and unlabeled documents."""
        from nbtext.model.semi_supervised import (
            Listener,
            check_semi_supervised,
            count_unlabeled,
            train_on_source_with_unlabeled,
        )
        from nbtext.report.training import format_candidate

        self._check_unlabeled(unlabeled, cluster)
        quiet, jobs = self.run.quiet, self.run.jobs
        features, model_settings = self.features.settings(), self.model_settings.settings()
        check_semi_supervised(features, model_settings, settings)
        listener = Listener(
            lambda name, choice: say(format_candidate(name, choice), quiet=quiet),
            lambda step, found: say(f"step {step}: penalized log-likelihood {found:,.1f}", quiet=quiet),
        )
        with open_documents(unlabeled, self.input_settings, self.run) as (source, on_batch):
            others = count_unlabeled(source, features, settings, jobs=jobs, on_batch=on_batch)
        with open_documents(self.sources, self.input_settings, self.run) as (source, on_batch):
            trained = train_on_source_with_unlabeled(
                source, others, features, model_settings, settings, listener=listener, jobs=jobs, on_batch=on_batch
            )
        if trained.fitted.unlabeled is None:
            say("the unlabeled documents do not help: the model is trained without them", quiet=quiet)
        return trained

    def learn_keywords(
        self,
        keywords: dict[str, tuple[str, ...]],
        unlabeled: tuple[str, ...],
        settings: UnlabeledSettings,
        cluster: ClusterSettings,
    ) -> TrainedModel:
        """Fit a model to keywords and unlabeled documents, and to labeled ones if there are other unlabeled ones."""
        from nbtext.model.corpus_counts import SAMPLE_SIZE
        from nbtext.model.keywords import extend_ngrams, train_with_keywords
        from nbtext.model.semi_supervised import count_unlabeled
        from nbtext.model.source_counting import count_source
        from nbtext.report.training import format_keywords

        self._check_unlabeled(unlabeled, cluster, where="--keywords")
        if settings.marginals:
            raise SettingsError("cannot be combined with --keywords", where="--marginals", hint="leave out one of them")
        quiet, jobs = self.run.quiet, self.run.jobs
        features, labeled = extend_ngrams(keywords, self.features.settings()), None
        with open_documents(unlabeled or self.sources, self.input_settings, self.run) as (source, on_batch):
            features = extend_ngrams(keywords, replace(features, fields=source.field_names))
            counts = count_unlabeled(source, features, UnlabeledSettings(em=1), jobs=jobs, on_batch=on_batch)
            model_input = source.model_input
        if unlabeled:
            with open_documents(self.sources, self.input_settings, self.run) as (source, on_batch):
                labeled = count_source(source, features, jobs=jobs, sample_size=SAMPLE_SIZE, on_batch=on_batch)
        found = train_with_keywords(
            keywords, counts, features, self.model_settings.settings(),
            labeled=labeled, steps=settings.em or 0, jobs=jobs,
        )  # fmt: skip
        for line in format_keywords(found, len(counts.sample)):
            say(line, quiet=quiet)
        return replace(found.model, fitted=replace(found.model.fitted, input=model_input))

    def _check_unlabeled(
        self, unlabeled: tuple[str, ...], cluster: ClusterSettings, *, where: str = "--unlabeled"
    ) -> None:
        if is_search(self.model_settings):
            raise SettingsError("cannot be combined with --model best", where=where, hint="name a model")
        if cluster.cluster is not None:
            raise SettingsError("cannot be combined with --cluster", where=where, hint="leave out --cluster")
        for path in (*self.sources, *unlabeled):
            if is_model_alone((path,), self.input_settings) or is_matrix_alone((path,), self.input_settings):
                raise SettingsError(f"{path} holds no texts", where=where, hint="give texts, labeled and unlabeled")

    def _search(self, searching: SearchSettings) -> TrainedModel:
        """Return the most accurate model, and print a table of the candidates."""
        from nbtext.report.training import format_search

        refuse(CLUSTER_STAGE, because="a model search runs on this machine alone")
        trained, found = search_documents(
            self.sources, self.input_settings, self.features, self.model_settings, searching, self.run, where="--model"
        )
        if not self.run.quiet:
            sys.stderr.write(format_search(found, has_intervals=False, screen=screen()))
        return trained
