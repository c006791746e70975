"""`train --unlabeled`: documents without labels are learned from too."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from nbtext.bayes.settings import ModelSettings
from nbtext.cli.files import SOURCE
from nbtext.cli.options import Command, collected, option, settings_options
from nbtext.cli.running import is_matrix_alone, is_model_alone, jobs_or_all, reading, say
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.streams import STANDARD_INPUT
from nbtext.errors import SettingsError
from nbtext.evaluation.settings import SEARCHES
from nbtext.features.settings import FeatureSettings
from nbtext.model.settings import UnlabeledSettings

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.source_counting import OnBatch


def unlabeled_options(command: Command) -> Command:
    """Whether and how documents without labels are learned from."""
    command = settings_options(UnlabeledSettings, "Unlabeled documents")(command)
    return option(
        "--unlabeled",
        type=SOURCE,
        multiple=True,
        stage="Unlabeled documents",
        help="Learn from these documents too, whose labels (if there are any) are not looked at; may be repeated.",
    )(command)


def wants_unlabeled(options: dict[str, Any]) -> bool:
    """Whether documents without labels are to be learned from; SettingsError where only half of it was asked for."""
    how = collected(UnlabeledSettings, options).option
    if how is not None and not options["unlabeled"]:
        raise SettingsError("there are no unlabeled documents", where=how, hint="name them with --unlabeled")
    if how is None and options["unlabeled"]:
        hint = "say --em 10, for ten steps of expectation-maximization, or --marginals"
        raise SettingsError("how should they be learned from?", where="--unlabeled", hint=hint)
    return how is not None


def learned_from_both(sources: tuple[str, ...], options: dict[str, Any]) -> TrainedModel:
    """What the labelled and the unlabeled documents tell that the options name; says how it goes."""
    from nbtext.model.semi_supervised import (
        Listener,
        check_semi_supervised,
        count_unlabeled,
        train_on_source_with_unlabeled,
    )
    from nbtext.report.training import tried

    settings, quiet, jobs = collected(ReadingSettings, options), options["quiet"], jobs_or_all(options["jobs"])
    _check(sources, options, settings)
    features, modelling = collected(FeatureSettings, options), collected(ModelSettings, options)
    how = collected(UnlabeledSettings, options)
    check_semi_supervised(features, modelling, how)
    listener = Listener(
        lambda name, choice: say(tried(name, choice), quiet=quiet),
        lambda step, found: say(f"step {step}: log-likelihood {found:,.1f}", quiet=quiet),
    )
    with _documents(options["unlabeled"], options) as (source, on_batch):
        others = count_unlabeled(source, features, how, jobs=jobs, on_batch=on_batch)
    with _documents(sources, options) as (source, on_batch):
        trained = train_on_source_with_unlabeled(
            source, others, features, modelling, how, listener=listener, jobs=jobs, on_batch=on_batch
        )
    if trained.fitted.unlabeled is None:
        say("the unlabeled documents promise no gain: the labelled ones learn alone", quiet=quiet)
    return trained


def _documents(sources: tuple[str, ...], options: dict[str, Any]) -> AbstractContextManager[tuple[Source, OnBatch]]:
    settings = collected(ReadingSettings, options)
    return reading(sources, settings, quiet=options["quiet"], no_progress=options["no_progress"])


def _check(sources: tuple[str, ...], options: dict[str, Any], settings: ReadingSettings) -> None:
    """SettingsError where documents without labels cannot be learned from in this way."""
    unlabeled, where = options["unlabeled"], "--unlabeled"
    if options["model"] in SEARCHES:
        raise SettingsError("models are looked for by labelled documents", where=where, hint="name a --model")
    if options["cluster"] is not None:
        raise SettingsError("one machine looks at these documents", where=where, hint="leave out --cluster")
    if (*sources, *unlabeled).count(STANDARD_INPUT) > 1:
        raise SettingsError("standard input can be read once", where=where, hint="name files or folders")
    for path in (*sources, *unlabeled):
        if is_model_alone((path,), settings) or is_matrix_alone((path,), settings):
            raise SettingsError(f"{path} holds no texts", where=where, hint="give the texts, both times")
