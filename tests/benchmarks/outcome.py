"""The results of a job: a row for each program, and the ratios that are compared with the
limits.
"""

from collections.abc import Callable
from dataclasses import dataclass

from jobs import Job, Threshold
from measuring import Cost, StepFailedError, measure, measure_in_turns, median, smallest_peak
from programs import Program

ROUGHLY = 1.05  # peaks that are no further apart are the same

Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """One program's medians.

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
    """A job with what each program took, in the same order."""

    job: Job
    rows: tuple[Row, ...]

    def ratio(self, threshold: Threshold) -> float | None:
        """The quantity as a multiple of the peer's; None where one of them is missing."""
        values = {row.name: row.quantity(threshold.quantity) for row in self.rows}
        own = values[threshold.program]
        peer = values[threshold.peer]
        return own / peer if own is not None and peer else None

    def is_met(self, threshold: Threshold) -> bool:
        """Whether the ratio is on the right side of the limit."""
        ratio = self.ratio(threshold)
        return ratio is not None and (
            ratio >= threshold.limit
            if threshold.quantity == "accuracy"
            else ratio <= threshold.limit
        )


def run_job(job: Job, *, rounds: int, warm_up: bool, say: Say) -> JobResult:
    """Prepare all programs, measure them in turns, then score their models.

    warm_up  whether each program runs once before; otherwise only the first one does, so that files
             are in the cache
    """
    problems = {program.name: _prepare(program, say) for program in job.programs}
    able = {
        program.name: program.steps for program in job.programs if problems[program.name] is None
    }
    measure_in_turns(able if warm_up else dict(list(able.items())[:1]), rounds=1)
    costs = measure_in_turns(
        able, rounds=rounds, on_cost=lambda name, cost: say(f"  {name}: {cost.wall:.3f} s")
    )
    rows = []
    for program in job.programs:
        measured = costs.get(program.name)
        if isinstance(measured, StepFailedError):
            say(f"  {program.name} failed: {measured}")
            problems[program.name] = "failed"
        rows.append(_row(program, measured, problems[program.name], say=say))
    return JobResult(job, tuple(rows))


def _prepare(program: Program, say: Say) -> str | None:
    """Make a program ready; why it is not, where it cannot be."""
    if program.missing is not None:
        return f"not installable here: {program.missing}"
    try:
        measure(program.prepare)
    except StepFailedError as error:
        say(f"  {program.name} failed: {error}")
        return "failed"
    return None


def _row(
    program: Program, costs: list[Cost] | StepFailedError | None, problem: str | None, *, say: Say
) -> Row:
    """A program's medians; its model is evaluated here."""
    if not costs or isinstance(costs, StepFailedError):
        return Row(program.name, program.shown, problem=problem)
    cost = median(costs)
    return Row(
        program.name,
        program.shown,
        cost,
        is_memory_bound=cost.memory <= ROUGHLY * smallest_peak(),
        model_size=program.model.stat().st_size
        if program.model is not None and program.model.exists()
        else None,
        accuracy=_measure_accuracy(program, say),
    )


def _measure_accuracy(program: Program, say: Say) -> float | None:
    """How often its model is right; None where nobody can tell."""
    if program.scoring is None:
        return None
    try:
        measure(program.scoring.steps)
    except StepFailedError as error:
        say(f"  {program.name} failed to predict: {error}")
        return None
    return program.scoring.accuracy()
