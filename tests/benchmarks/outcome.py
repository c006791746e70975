"""The results of a job: a row for each program, and the ratios that are compared with the limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contestants import Contestant
from jobs import Bar, Job
from measuring import Cost, StepFailedError, interleaved, measure, median, smallest_peak

ROUGHLY = 1.05  # peaks that are no further apart are the same

Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """One contestant's medians.

    cost             None where it could not be run
    problem          why
    is_memory_bound  the peak is too small to be told from that of the measuring program
    """

    name: str
    shown: str
    cost: Cost | None = None
    problem: str | None = None
    is_memory_bound: bool = False
    model_size: int | None = None
    accuracy: float | None = None

    def quantity(self, name: str) -> float | None:
        """Wall seconds, memory or model bytes, or accuracy; None where it was not measured."""
        measured = {"model": self.model_size, "accuracy": self.accuracy}
        if self.cost is not None:
            measured |= {"wall": self.cost.wall, "memory": self.cost.memory}
        return measured.get(name)


@dataclass(frozen=True)
class JobResult:
    """A job with what its contestants took, in the same order."""

    job: Job
    rows: tuple[Row, ...]

    def ratio(self, bar: Bar) -> float | None:
        """The quantity as a multiple of the peer's; None where one of them is missing."""
        values = {row.name: row.quantity(bar.quantity) for row in self.rows}
        own, peer = values[bar.contestant], values[bar.peer]
        return own / peer if own is not None and peer else None

    def is_reached(self, bar: Bar) -> bool:
        """Whether the ratio is on the right side of the limit."""
        ratio = self.ratio(bar)
        return ratio is not None and (ratio >= bar.limit if bar.quantity == "accuracy" else ratio <= bar.limit)


def run_job(job: Job, *, rounds: int, warm_up: bool, say: Say) -> JobResult:
    """Prepare all contestants, measure them in turns, then judge their models."""
    problems = {contestant.name: _prepared(contestant, say) for contestant in job.contestants}
    able = {contestant.name: contestant.steps for contestant in job.contestants if problems[contestant.name] is None}
    if warm_up:
        interleaved(able, rounds=1)
    costs = interleaved(able, rounds=rounds, on_cost=lambda name, cost: say(f"  {name}: {cost.wall:.3f} s"))
    rows = []
    for contestant in job.contestants:
        measured = costs.get(contestant.name)
        if isinstance(measured, StepFailedError):
            say(f"  {contestant.name} failed: {measured}")
            problems[contestant.name] = "failed"
        rows.append(_row(contestant, measured, problems[contestant.name], say=say))
    return JobResult(job, tuple(rows))


def _prepared(contestant: Contestant, say: Say) -> str | None:
    """Make a contestant ready; why it is not, where it cannot be."""
    if contestant.missing is not None:
        return f"not installable here: {contestant.missing}"
    try:
        measure(contestant.prepare)
    except StepFailedError as error:
        say(f"  {contestant.name} failed: {error}")
        return "failed"
    return None


def _row(
    contestant: Contestant,
    costs: list[Cost] | StepFailedError | None,
    problem: str | None,
    *,
    say: Say,
) -> Row:
    """A contestant's medians; its model is judged here."""
    if not costs or isinstance(costs, StepFailedError):
        return Row(contestant.name, contestant.shown, problem=problem)
    cost = median(costs)
    return Row(
        contestant.name,
        contestant.shown,
        cost,
        is_memory_bound=cost.memory <= ROUGHLY * smallest_peak(),
        model_size=contestant.model.stat().st_size if contestant.model is not None else None,
        accuracy=_judged(contestant, say),
    )


def _judged(contestant: Contestant, say: Say) -> float | None:
    """How often its model is right; None where nobody can tell."""
    if contestant.judge is None:
        return None
    try:
        measure(contestant.judge.steps)
    except StepFailedError as error:
        say(f"  {contestant.name} failed to predict: {error}")
        return None
    return contestant.judge.accuracy()
