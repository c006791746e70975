"""The tests of pages open them in a browser."""

from browsing import shared_visit, visit  # noqa: F401  fixtures
