"""Logarithms, exponentials and products: right, and the same bits with the kernel and without."""

from typing import Any

import numpy as np
import pytest

from nbtext.kernel import PLAIN_VERSIONS
from nbtext.numerics import exp, log, log1p, multiply, power, round_for_products, softplus

RANDOM = np.random.default_rng(0)
NUMBERS = RANDOM.normal(size=50_000) * np.exp(RANDOM.normal(size=50_000) * 4)
FUNCTIONS = [exp, log, log1p]
SPECIAL = np.array([0, -0.0, 1, np.inf, -np.inf, np.nan, 709.7, -708.5, -740, 5e-324, 1e-310])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_are_right_to_the_last_digits(function: Any) -> None:
    """NumPy computes with more digits; the plain version has the same bits."""
    numbers = np.concatenate((NUMBERS, np.abs(NUMBERS), 1 + NUMBERS * 1e-6, SPECIAL))
    with np.errstate(all="ignore"):
        found = function(numbers)
        exact = getattr(np, function.__name__)(numbers.astype(np.longdouble))
        plain = np.empty_like(numbers)
        PLAIN_VERSIONS["apply_function"](FUNCTIONS.index(function), numbers, plain)
        is_normal = np.isfinite(found) & (np.abs(exact) > 1e-307)
        errors = np.abs(found - exact)[is_normal] / np.spacing(np.abs(found[is_normal]))
        others = getattr(np, function.__name__)(numbers[~is_normal])
    assert errors.max() < (2.5 if function is log1p else 1)
    np.testing.assert_array_equal(found[~is_normal], others)
    assert found.tobytes() == plain.tobytes()
    assert function(numbers[::2].reshape(-1, 1)).shape == (len(numbers) // 2 + len(numbers) % 2, 1)
    assert float(function(0.5)) == function(np.array([0.5]))[0]


def test_derived_functions() -> None:
    lengths = np.arange(300)
    np.testing.assert_allclose(power(lengths, 0.7), lengths**0.7, rtol=1e-14)
    np.testing.assert_allclose(softplus(NUMBERS), np.logaddexp(0, NUMBERS), rtol=1e-14)


def test_products_do_not_depend_on_the_order_of_their_terms() -> None:
    one = round_for_products(RANDOM.normal(size=(40, 1500)))
    other = round_for_products(RANDOM.normal(size=(1500, 7)))
    order = np.concatenate([RANDOM.permutation(500) + 500 * part for part in range(3)])
    found = multiply(one[:, :500], other[:500])
    assert found.tobytes() == multiply(one[:, order[:500]], other[order[:500]]).tobytes()
    np.testing.assert_allclose(multiply(one, other), one @ other, atol=1e-9)
    assert np.abs(one - round_for_products(one)).max() == 0
