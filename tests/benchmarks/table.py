"""The results as Markdown: first the thresholds, then a table for each job."""

from collections.abc import Iterable, Mapping, Sequence

from outcome import JobResult, Row

MEGABYTE = 1_000_000
QUANTITIES = {
    "wall": "wall time",
    "memory": "peak memory",
    "model": "model file",
    "accuracy": "accuracy",
}


def document(
    results: Sequence[JobResult],
    conditions: Mapping[str, str],
    missing: Mapping[str, str],
    how: str,
) -> str:
    """The whole page."""
    absent = "; ".join(f"{name} ({reason})" for name, reason in missing.items())
    parts = [
        "# How fast nbtext is",
        f"Written by `tests/benchmarks/run.py`. {how}",
        "\n".join(f"* {name}: {value}" for name, value in conditions.items()),
        *([f"Not installable here: {absent}."] if absent else []),
        "## The thresholds",
        thresholds_table(results),
        *(part for result in results for part in (f"## {result.job.title}", job_table(result))),
    ]
    return "\n\n".join(parts) + "\n"


def thresholds_table(results: Iterable[JobResult]) -> str:
    """Each threshold with what was measured."""
    return markdown(
        ("job", "who : against whom", "quantity", "measured", "threshold", ""),
        [
            (
                result.job.title.split(":")[0],
                f"{threshold.program} : {threshold.peer}",
                QUANTITIES[threshold.quantity],
                ratio_text(ratio),
                ("≥ " if threshold.quantity == "accuracy" else "≤ ") + ratio_text(threshold.limit),
                "—" if ratio is None else "reached" if result.is_met(threshold) else "**missed**",
            )
            for result in results
            for threshold in result.job.thresholds
            for ratio in (result.ratio(threshold),)
        ],
    )


def job_table(result: JobResult) -> str:
    """What each program took. The last column is its wall time as a multiple of the first
    program's.
    """
    first = result.rows[0]
    return markdown(
        ("", "wall", "CPU", "peak memory", "model file", "accuracy", f"× {first.name}", "command"),
        [_cells(row, first) for row in result.rows],
    )


def _cells(row: Row, first: Row) -> tuple[str, ...]:
    shown = f"`{row.shown}`"
    if row.cost is None:
        return row.name, row.problem or "", "", "", "", "", "", shown
    multiple = f"{row.cost.wall / first.cost.wall:.2f}" if first.cost is not None else ""
    return (
        row.name,
        seconds(row.cost.wall),
        seconds(row.cost.cpu),
        ("< " if row.is_memory_bound else "") + megabytes(row.cost.memory),
        megabytes(row.model_size) if row.model_size is not None else "",
        f"{row.accuracy:.4f}" if row.accuracy is not None else "",
        multiple,
        shown,
    )


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown's way of writing one."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def ratio_text(ratio: float | None) -> str:
    """A ratio as one would say it: 1/12.5 or 0.83."""
    if ratio is None:
        return "—"
    return f"1/{1 / ratio:.3g}" if 0 < ratio <= 0.5 else f"{ratio:.3g}"


def seconds(number: float) -> str:
    """Milliseconds where it is less than one second."""
    return f"{number * 1000:.0f} ms" if number < 0.9995 else f"{number:.2f} s"


def megabytes(number: int) -> str:
    """Of a million bytes each."""
    return (
        f"{number / MEGABYTE:.3g} MB" if number < 100 * MEGABYTE else f"{number / MEGABYTE:,.0f} MB"
    )
