"""The wall times as an SVG chart, written by hand: a panel for each job, a bar for each program."""

from collections.abc import Mapping, Sequence
from html import escape

from outcome import JobResult, Row
from table import megabytes, seconds

# pixels: the whole, left of the bars, right of them
WIDTH = 760
NAMES = 190
VALUES = 150
BAR = 16
GAP = 6
TITLE = 24
PANEL_GAP = 14
MARGIN = 16
OWN = "#2563eb"
OTHER = "#94a3b8"
INK = "#1e293b"
FAINT = "#64748b"


def chart(results: Sequence[JobResult], conditions: Mapping[str, str]) -> str:
    """The whole picture. Bars of one panel are to scale; panels are not."""
    parts = []
    y = MARGIN
    for result in results:
        panel, height = _panel(result, y)
        parts += panel
        y += height + PANEL_GAP
    caption = f"Wall time and peak memory of whole processes, medians. {conditions['date']}, {conditions['machine']}"
    parts.append(_text(MARGIN, y + BAR, caption, size=11, fill=FAINT))
    height = y + BAR + MARGIN
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            'font-family="system-ui, sans-serif" role="img" aria-label="Wall times of nbtext and other programs">',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        )
    )


def _panel(result: JobResult, top: int) -> tuple[list[str], int]:
    """The elements of one job, and their height."""
    measured = [row for row in result.rows if row.cost is not None]
    longest = max((row.cost.wall for row in measured if row.cost is not None), default=1.0)
    parts = [_text(MARGIN, top + 14, result.job.title, weight="bold")]
    for number, row in enumerate(measured):
        parts += _bar(row, top + TITLE + number * (BAR + GAP), longest)
    return parts, TITLE + len(measured) * (BAR + GAP)


def _bar(row: Row, top: int, longest: float) -> list[str]:
    if row.cost is None:
        return []
    room = WIDTH - NAMES - VALUES - 2 * MARGIN
    length = max(1.0, room * row.cost.wall / longest)
    left = MARGIN + NAMES
    baseline = top + 12
    is_own = row.name.startswith("nbtext") or row.name.endswith("×")
    value = f"{seconds(row.cost.wall)}, {'< ' if row.is_memory_bound else ''}{megabytes(row.cost.memory)}"
    return [
        _text(left - 8, baseline, row.name, anchor="end"),
        f'<rect x="{left}" y="{top}" width="{length:.1f}" height="{BAR}" rx="2" fill="{OWN if is_own else OTHER}"/>',
        _text(left + length + 6, baseline, value, size=11, fill=FAINT),
    ]


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 12,
    fill: str = INK,
    anchor: str = "start",
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(text)}</text>"
    )
