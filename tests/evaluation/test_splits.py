"""Groups are never split, and nothing is judged by what came after it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.errors import SettingsError
from nbtext.evaluation.cross_validation import (
    grouped_folds,
    time_series_folds,
)

GROUPS = st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=40).filter(
    lambda groups: len(set(groups)) > 1
)


@given(groups=GROUPS, data=st.data())
def test_groups_stay_whole(groups: list[str], data: st.DataObject) -> None:
    """Each group is in one fold, every fold has one, and no fold is larger than the largest group
    beyond its share.
    """
    n_folds = data.draw(st.integers(2, len(set(groups))))
    folds = grouped_folds(np.array(groups, dtype=object), n_folds, seed=1)
    for group in set(groups):
        assert (
            len({fold for fold, name in zip(folds.tolist(), groups, strict=True) if name == group})
            == 1
        )
    sizes = np.bincount(folds, minlength=n_folds)
    assert sizes.min() > 0
    assert sizes.max() - sizes.min() <= max(map(groups.count, groups))
    assert len(np.unique(grouped_folds(np.array(groups, dtype=object), None, seed=1))) == len(
        set(groups)
    )


@given(
    times=st.lists(st.integers(-5, 30), min_size=2, max_size=40).filter(lambda t: len(set(t)) > 1),
    n=st.integers(2, 9),
)
def test_steps_are_in_order(times: list[int], n: int) -> None:
    """What is later is in no earlier step, and equal times are in the same."""
    steps = time_series_folds(np.array([str(time) for time in times], dtype=object), n)
    by_time = sorted(zip(times, steps.tolist(), strict=True))
    assert [step for _, step in by_time] == sorted(step for _, step in by_time)
    assert len(set(by_time)) == len(set(times))
    assert sorted(set(steps.tolist())) == list(range(steps.max() + 1))
    assert 1 <= steps.max() <= n


def test_ten_steps_of_a_hundred_days() -> None:
    """Of 110 days, eleven parts of ten days: the first is learned from, the ten others are
    judged.
    """
    days = np.array(
        [f"2024-{1 + day // 28:02}-{1 + day % 28:02}" for day in range(110)], dtype=object
    )
    assert np.bincount(time_series_folds(days, 10)).tolist() == [10] * 11


def test_one_group_and_one_time() -> None:
    """That makes no sense, and the error names the option."""
    same = np.array(["7"] * 9, dtype=object)
    for deal in (lambda: grouped_folds(same, 2, seed=1), lambda: time_series_folds(same, 5)):
        with pytest.raises(SettingsError, match="all documents have the same"):
            deal()
    with pytest.raises(SettingsError, match="3 folds need 3 groups; found 2"):
        grouped_folds(np.array(["x", "y"], dtype=object), 3, seed=1)
