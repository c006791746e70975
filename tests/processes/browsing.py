"""What the tests of pages share: one browser, and what must hold of every page that it shows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Visit:
    """A page in a browser, and what it did there that no page should do."""

    page: Any
    complaints: list[str] = field(default_factory=list)

    def axe(self) -> list[str]:
        """What a person who cannot see it, or has no mouse, would run into: violations that are
        serious or critical.
        """
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {node['html']}"
            for each in found
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"][:3]
        ]

    def leads_nowhere(self) -> list[str]:
        """The links in the head of the page that lead to nothing in it."""
        links = self.page.locator("nav a")
        assert links.count()
        found: list[str] = links.evaluate_all(
            "all => all.map(link => link.hash).filter(hash => document.querySelector(hash) === null)"
        )
        return found

    def marks(self, chart: str) -> int:
        """How many marks a chart has drawn with data that can be seen."""
        return int(
            self.page.eval_on_selector_all(
                f'figure[data-chart="{chart}"] svg .role-mark path',
                "all => all.map(mark => mark.getBBox()).filter(box => box.width > 1 && box.height > 1).length",
            )
        )


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Visit]]:
    """visit(path, width=1280, scheme="light"): open a page from the disk, without a network, and
    draw its charts.

    At the end of the test it must not have complained, asked for anything, or shown a dialog.
    """
    with visiting(chromium) as go:
        yield go


@pytest.fixture(scope="module")
def shared_visit(chromium: Any) -> Iterator[Callable[..., Visit]]:
    """The same for several tests that look at one page."""
    with visiting(chromium) as go:
        yield go


@contextmanager
def visiting(chromium: Any) -> Iterator[Callable[..., Visit]]:
    visits: list[Visit] = []
    contexts = []

    def go(path: Path, *, width: int = 1280, scheme: str = "light") -> Visit:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        found = Visit(context.new_page())
        visits.append(found)
        address = path.as_uri()
        found.page.on(
            "console", lambda message: found.complaints.append(f"console: {message.text}")
        )
        found.page.on("pageerror", lambda error: found.complaints.append(f"error: {error}"))
        found.page.on(
            "dialog", lambda dialog: (found.complaints.append("a dialog"), dialog.dismiss())
        )
        found.page.on(
            "request",
            lambda request: (
                found.complaints.append(f"asked for {request.url}")
                if request.url != address
                else None
            ),
        )
        found.page.goto(address)
        found.page.evaluate("() => page.drawn")
        return found

    yield go
    for context in contexts:
        context.close()
    assert [complaint for each in visits for complaint in each.complaints] == []
