"""`--model auto` and `--model best`: the most accurate model is looked for before it is trained."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtext.bayes.settings import ModelSettings
from nbtext.cli.options import collected
from nbtext.cli.running import is_matrix_alone, reading, screen
from nbtext.documents.settings import ReadingSettings
from nbtext.documents.streams import STANDARD_INPUT
from nbtext.errors import SettingsError
from nbtext.evaluation.settings import SearchSettings
from nbtext.features.settings import FeatureSettings

if TYPE_CHECKING:
    from nbtext.model.corpus_counts import CorpusCounts


def looked_for(sources: tuple[str, ...], jobs: int, options: dict[str, Any]) -> tuple[FeatureSettings, ModelSettings]:
    """The settings of the most accurate model, and a table of what was tried."""
    from time import monotonic

    from nbtext.evaluation.search import list_candidates, search_settings
    from nbtext.model.corpus_counts import SAMPLE_SIZE
    from nbtext.model.source_counting import count_source
    from nbtext.report.search import format_search

    settings, searching = collected(ReadingSettings, options), collected(SearchSettings, options)
    if STANDARD_INPUT in sources or is_matrix_alone(sources, settings):
        hint = "give files or folders, or name a model"
        raise SettingsError("the texts are read several times, which this cannot be", where="--model", hint=hint)

    def tally_of(features: FeatureSettings) -> CorpusCounts:
        with reading(sources, settings, quiet=True, no_progress=True) as (source, on_batch):
            features = replace(features, fields=source.field_names)
            return count_source(source, features, jobs=jobs, sample_size=SAMPLE_SIZE, on_batch=on_batch)

    given = {name for name, value in options.items() if value is not None}
    modelling = collected(ModelSettings, options, model=ModelSettings().model)
    listed = list_candidates(
        collected(FeatureSettings, options), modelling, given=given, with_linear=options["model"] == "best"
    )
    stop = monotonic() + searching.budget
    found = search_settings(listed, tally_of, has_time=lambda: monotonic() < stop, jobs=jobs)
    if not options["quiet"]:
        sys.stderr.write(format_search(found, screen=screen()))
    chosen = found.best.candidate
    return chosen.features, chosen.modelling
