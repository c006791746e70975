"""HTML pages: one file each, which fetches nothing and runs only its own scripts."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.resources import files
from typing import Any

from nbtext import __version__
from nbtext.errors import MissingExtra, OutputError, find_memory_limit, number_of, printable
from nbtext.output import atomic_output, check_output
from nbtext.records import Strings, frozen

# bytes of address space, not of memory; V8 ends the process if it gets less
CHART_ADDRESS_SPACE = 68 << 30
MAX_TABLE_ROWS = 40  # of the table; of more rows, so many are shown, evenly spaced


_unsafe_in_data = re.compile("[<\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

HOME = "nbtext.report"  # the package whose folder `page` has the files of every page


@frozen
class Chart:
    """A chart.

    name           Name of its figure on the page.
    summary        What the chart shows, in words.
    columns        Fields of the rows in the specification.
    headings       Headings of the same columns in the table.
    rows           Numbers, texts and None.
    specification  File in `charts/` of the page's folder, without its suffix; "": `name`.
    metric         Title of a metric, which replaces METRIC in the specification.
    """

    name: str
    title: str
    summary: str
    columns: Strings
    headings: Strings
    rows: Sequence[Sequence[Any]]
    specification: str = ""
    metric: str = ""

    def plain(self, package: str) -> dict[str, Any]:
        """Return what the page's script draws the chart from; numbers have six digits."""
        text = _text(package, f"charts/{self.specification or self.name}.json")
        specification = json.loads(text.replace("METRIC", self.metric))
        rows = [
            [(float(f"{value:.6g}") if isinstance(value, float) else value) for value in row]
            for row in self.rows
        ]
        return {"specification": specification, "columns": self.columns, "rows": rows}

    def table(self) -> list[list[str]]:
        """Return the rows as text, at most 40 of them."""
        rows = list(self.rows)
        if len(rows) > MAX_TABLE_ROWS:
            rows = [
                rows[round(place * (len(rows) - 1) / (MAX_TABLE_ROWS - 1))]
                for place in range(MAX_TABLE_ROWS)
            ]
        return [[_show(value) for value in row] for row in rows]


def _show(value: Any) -> str:
    if value is None:
        return "–"
    return (
        f"{value:.4g}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def check_page(feature: str, path: str) -> None:
    """Check that a page can be made and written, before any work for it.

    Raises
    ------
    MissingExtra
        A library is missing; the message names the feature.
    OutputError
        `path` cannot be written, or the library of charts would end the process, because its memory
        is limited.
    """
    for module, library in (("jinja2", "Jinja2"), ("vl_convert", "vl-convert-python")):
        try:
            import_module(module)
        except ImportError:
            raise MissingExtra(feature, library=library, extra="report") from None
    limit = find_memory_limit()
    if limit is not None and limit < CHART_ADDRESS_SPACE:
        needed = f"the library of charts reserves {CHART_ADDRESS_SPACE >> 30} GiB of addresses"
        raise OutputError(
            f"{needed}, and this process may have {limit / (1 << 30):.1f} GiB (ulimit -v)",
            where=feature,
            hint="raise the limit, or leave out the page",
        )
    check_output(path)


def write_page(path: str, page: bytes) -> None:
    """Write a page, completely or not at all."""
    with atomic_output(path) as file:
        file.write(page)


def render_page(
    template: str,
    content: dict[str, Any],
    *,
    charts: Sequence[Chart] = (),
    scripts: Sequence[str] = (),
    data: dict[str, Any] | None = None,
    package: str = HOME,
) -> bytes:
    """Render a template, which may extend `base.html` of this folder.

    Parameters
    ----------
    content : dict[str, Any]
        Values for the template, by name; their text is escaped.
    charts : Sequence[Chart]
        Drawn by the macro `figure` of the template.
    scripts : Sequence[str]
        Files that run after `page.js`.
    data : dict[str, Any], optional
        Plain data that the scripts find in `page.data`.
    package : str
        Its folder `page` has the template, the scripts, and `charts` with the specifications.
    """
    libraries = [_chart_library()] if charts else []
    own = [_text(package, name) for name in scripts]
    running = [*libraries, _text(HOME, "page.js"), *own]
    style = _text(HOME, "page.css")
    given = (data or {}) | {"charts": {chart.name: chart.plain(package) for chart in charts}}
    encoded = json.dumps(given, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    allowed = " ".join(map(_digest, running))
    policy = f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}"
    policy += "; base-uri 'none'; form-action 'none'"
    page: str = (
        _environment()
        .from_string(_text(package, template))
        .render(
            content,
            charts={chart.name: chart for chart in charts},
            policy=policy,
            style=style,
            scripts=running,
            # it cannot end the script element or begin a comment
            data=_unsafe_in_data.sub(lambda found: f"\\u{ord(found[0]):04x}", encoded),
            version=__version__,
        )
    )
    return page.encode("utf-8", "backslashreplace")


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _text(package: str, name: str) -> str:
    return (files(package) / "page" / name).read_text(encoding="utf-8")


@cache
def _chart_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, which defines `vegaEmbed`."""
    # its type stubs require an argument that is optional
    return str(import_module("vl_convert").javascript_bundle())


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(HOME, "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "printable": printable,
        "visible": visible,
        "count": "{:,}".format,
        "percent": percent,
        "number_of": number_of,
    }
    return environment


def visible(text: str) -> str:
    """Escape the characters of a text that are invisible or change its direction; keep its
    lines.
    """
    return "".join(c if c in "\n\t" else printable(c) for c in text)


def percent(share: float, digits: int = 1) -> str:
    """Format a share for people: 12.5 %."""
    return f"{share:.{digits}%}".replace("%", "\u202f%")
