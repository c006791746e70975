"""`--report`: the page of an evaluation, where one is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from nbtext.cli.options import typed_options
from nbtext.errors import SettingsError

if TYPE_CHECKING:
    from nbtext.evaluation.error_log import ErrorLog
    from nbtext.evaluation.metrics import Evaluation
    from nbtext.evaluation.predictions_file import PredictionsFile
    from nbtext.evaluation.seen import Seen
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.predictor import Predictions

    Asked = TrainedModel | PredictionsFile | None

# they change nothing in the page
OF_THE_RUN = ("--jobs", "--quiet", "--no-progress", "--verbose", "--debug", "--to", "--report", "--fail-under")


def check_report(path: str | None) -> None:
    """Raise what stands in the way of a page, if one is wanted, before anything is read.

    raises  SettingsError: the page is to go where the figures go
            MissingExtra: a library that pages are made with is missing
            OutputError: it cannot be written there
    """
    if path is None:
        return
    from nbtext.output import STANDARD_OUTPUT
    from nbtext.report.page.rendering import check_page

    if path in STANDARD_OUTPUT:
        raise SettingsError("the figures go to standard output", where="--report", hint="name a file")
    check_page("--report", path)


class Reporter:
    """Looks on while documents are judged, and writes the page at the end; without a path it does neither.

    least  below this probability there is no answer
    """

    def __init__(self, path: str | None, sources: tuple[str, ...], *, least: float) -> None:
        self._path, self._sources = path, sources
        self._witness: ErrorLog | None = None
        check_report(path)
        if path is not None:
            from nbtext.evaluation.error_log import ErrorLog

            self._witness = ErrorLog(least=least)

    def watching(self, seen: Iterable[Seen]) -> Iterator[Predictions]:
        """The answers, each batch as soon as it was noted."""
        return self._witness.watching(seen) if self._witness is not None else (each.predictions for each in seen)

    def write(self, evaluation: Evaluation, asked: Asked) -> None:
        """Write the page."""
        if self._path is None or self._witness is None:
            return
        from nbtext.evaluation.diagnosis import diagnosed
        from nbtext.features.occurrences import Locator
        from nbtext.model.fitted_model import TrainedModel
        from nbtext.report.evaluation_page import evaluation_page
        from nbtext.report.page.rendering import write_page

        trained = asked if isinstance(asked, TrainedModel) else None
        has_all = asked is None or isinstance(asked, TrainedModel) or asked.has_all_probabilities
        diagnosis = diagnosed(self._witness, evaluation, trained, has_all_probabilities=has_all)
        locate = Locator(trained.fitted.feature_settings) if trained is not None else None
        subject = ", ".join(self._sources)
        page = evaluation_page(diagnosis, subject=subject, settings=self._settings(), locate=locate)
        write_page(self._path, page)

    def _settings(self) -> dict[str, str]:
        """What was asked for, as it was typed."""
        given = {name: text for name, text in typed_options().items() if name not in OF_THE_RUN}
        return {"SOURCE": ", ".join(self._sources), **given}
