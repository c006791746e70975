"""Pages to look at: one file each that opens from the disk, asks nobody for anything, and runs its own scripts only."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.resources import files
from typing import Any

from nbtext import __version__
from nbtext.errors import MissingExtra, number_of, printable
from nbtext.output import atomic_output, check_output
from nbtext.report.page.chart import Chart

SCRIPTS = ("page.js",)  # of every page
HOME = files("nbtext.report.page")


def check_page(feature: str, path: str) -> None:
    """Raise what will keep a page from being written, before anybody works for it.

    raises  MissingExtra, which names the feature: a library is missing; OutputError: `path` cannot be written
    """
    check_extra(feature)
    check_output(path)


def check_extra(feature: str) -> None:
    """Raise MissingExtra, which names the feature, where a library is missing that pages are made with."""
    for module, library in (("jinja2", "Jinja2"), ("vl_convert", "vl-convert-python")):
        try:
            import_module(module)
        except ImportError:
            raise MissingExtra(feature, library=library, extra="report") from None


def write_page(path: str, page: bytes) -> None:
    """Write a page, whole or not at all."""
    with atomic_output(path) as file:
        file.write(page)


def rendered_page(
    template: str,
    content: dict[str, Any],
    *,
    charts: Sequence[Chart] = (),
    scripts: Sequence[str] = (),
    data: dict[str, Any] | None = None,
) -> bytes:
    """A page of a template of this folder, which extends `base.html`.

    content  what the template speaks of, by names; all text in it is escaped
    charts   those that the template draws with the macro `figure`
    scripts  files of this folder that run after `page.js`
    data     plain data that they find in `page.data`
    """
    libraries = [_chart_library()] if charts else []
    running = [*libraries, *(_text(name) for name in (*SCRIPTS, *scripts))]
    style = _text("page.css")
    given = (data or {}) | {"charts": {chart.name: chart.plain(_specification(chart.name)) for chart in charts}}
    page: str = (
        _environment()
        .get_template(template)
        .render(
            content,
            charts={chart.name: chart for chart in charts},
            policy=_policy(running, style),
            style=style,
            scripts=running,
            data=_for_script(given),
            version=__version__,
        )
    )
    return page.encode("utf-8", "backslashreplace")


def _policy(scripts: Sequence[str], style: str) -> str:
    """What a browser may do with the page: run these scripts, and nothing else; it fetches and sends nothing."""
    allowed = " ".join(map(_digest, scripts))
    return f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _for_script(data: dict[str, Any]) -> str:
    """JSON that may stand in a script element: nothing in it can end that, or begin a comment."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _text(name: str) -> str:
    return (HOME / name).read_text(encoding="utf-8")


def _specification(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_text(f"charts/{name}.json"))
    return found


@cache
def _chart_library() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, which defines `vegaEmbed`."""
    library: Any = import_module("vl_convert")  # its stubs ask for an argument that it does not need
    return str(library.javascript_bundle())


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("nbtext.report", "page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "printable": printable,
        "visible": visible,
        "count": "{:,}".format,
        "percent": percent,
        "number_of": number_of,
    }
    return environment


def visible(text: str) -> str:
    """A text of several lines, with everything spelled out as an escape that could not be seen, or turn it round."""
    return "".join(c if c in "\n\t" else printable(c) for c in text)


def percent(share: float, digits: int = 1) -> str:
    """A share for people: 12.5 %."""
    return f"{share:.{digits}%}".replace("%", "\u202f%")
