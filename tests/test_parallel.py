"""The same items for two functions, of which each may end early or fail at any place."""

from collections.abc import Callable, Iterator
from itertools import product

import pytest

from nbtext.parallel import use_twice

N_ITEMS = 5


class AnError(Exception):
    """An error that a function raises."""


def user(used: list[int], n_used: int, *, fails: bool) -> Callable[[Iterator[int]], None]:
    """A function that uses some items, closes what it read them from, and ends or fails; one item
    more than there are means the end, too.
    """

    def read(items: Iterator[int]) -> Iterator[int]:
        yield from items

    def use(items: Iterator[int]) -> None:
        reading = read(items)
        for _ in range(n_used):
            used.extend([item] if (item := next(reading, None)) is not None else [])
        reading.close()
        if fails:
            raise AnError

    return use


@pytest.mark.parametrize("ends", list(product(range(N_ITEMS + 2), repeat=2)))
@pytest.mark.parametrize("fails", list(product([False, True], repeat=2)))
def test_two_functions_use_the_same_items(ends: tuple[int, int], fails: tuple[bool, bool]) -> None:
    """None waits for the other for ever, and an error is raised."""
    used: list[list[int]] = [[], []]
    first, second = (
        user(own, end, fails=is_failing)
        for own, end, is_failing in zip(used, ends, fails, strict=True)
    )
    if any(fails):
        with pytest.raises(AnError):
            use_twice(iter(range(N_ITEMS)), first, second)
    else:
        use_twice(iter(range(N_ITEMS)), first, second)
        assert used == [list(range(min(end, N_ITEMS))) for end in ends]


def test_an_error_of_the_items_reaches_both() -> None:
    """Each output is left as it was, because its function fails."""
    failed = []

    def items() -> Iterator[int]:
        yield 1
        raise AnError

    def use(each: Iterator[int]) -> None:
        try:
            list(each)
        except AnError:
            failed.append(1)
            raise

    with pytest.raises(AnError):
        use_twice(items(), use, use)
    assert len(failed) == 2
