"""What commands do around the work of a cluster: they find it, and say what it can be asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbtext.cli.options import collected
from nbtext.cli.running import jobs_or_all, reading
from nbtext.cluster.settings import ClusterSettings
from nbtext.documents.settings import ReadingSettings
from nbtext.errors import SettingsError
from nbtext.model.settings import DecisionSettings

if TYPE_CHECKING:
    from nbtext.cluster.executor import Workers


@contextmanager
def workers_if_wanted(paths: tuple[str, ...], options: dict[str, Any]) -> Iterator[Workers | None]:
    """The workers of the cluster that the options name, which need these paths; None where they name none."""
    settings = collected(ClusterSettings, options)
    if settings.cluster is None:
        yield None
        return
    from nbtext.cluster.connection import check_paths, workers

    check_paths(paths, settings)
    with workers(settings, jobs=jobs_or_all(options["jobs"])) as found:
        yield found


def answer_by_workers(sources: tuple[str, ...], model: str, output: str, options: dict[str, Any]) -> None:
    """Have a cluster write a record for each document: to a file, or to a file a shard in a folder."""
    from nbtext.cluster.executor import prediction_task

    form, decisions = options["form"] or "tsv", collected(DecisionSettings, options)
    if form not in ("jsonl", "tsv"):
        raise SettingsError("only jsonl and tsv are written in parts", where="--to", hint="give --to jsonl")
    for name in ("resume", "rank"):
        if options[name]:
            raise SettingsError("a cluster cannot do it", where=f"--{name}", hint="leave --cluster out")
    settings, task = collected(ReadingSettings, options), prediction_task(model, decisions, form)
    paths = (*sources, model, output) if output != "-" else (*sources, model)
    with (
        reading(sources, settings, quiet=options["quiet"], no_progress=options["no_progress"]) as (source, on_batch),
        workers_if_wanted(paths, options) as workers,
    ):
        if workers is not None:
            workers.predict(source, task, output, on_batch)
