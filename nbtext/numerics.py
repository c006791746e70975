"""Logarithms, exponentials and sums of products with the same bits on each x86-64 processor.

The results are stored in models, or decide between them, so that they must not depend on the
processor. NumPy, the C library and BLAS choose between several versions of their functions by what
the processor can do, and the last bits of these differ. The functions here use only what IEEE 754
defines to the last bit, or sums whose order is fixed: sums of NumPy, and `einsum`, are such sums.
On ARM, `einsum` adds products that it has not rounded, so that the last bits differ.
"""

from __future__ import annotations

import numpy as np

from nbtext.arrays import Array, Floats
from nbtext.kernel import choose_version

LARGEST_LOG_ODDS = 700.0
NUMBERS_AT_ONCE = 1 << 13  # numbers, whose intermediate results stay in a core's cache
# 1 / ln 2, and ln 2 as a number of 32 bits, of which small multiples are exact, and the rest
PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
LN2_HIGH = float.fromhex("0x1.62e42feep-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
LARGEST_EXPONENT = 710.0  # of e; above, the exponential is infinite
SMALLEST_EXPONENT = -746.0  # below, it is 0
# r (e^r + 1) / (e^r − 1) = 2 + r² (P1 + r² (P2 + …)), by Remez's algorithm
P1, P2, P3, P4, P5 = (
    float.fromhex(each)
    for each in (
        "0x1.555555555553ep-3",
        "-0x1.6c16c16bebd93p-9",
        "0x1.1566aaf25de2cp-14",
        "-0x1.bbd41c5d26bf1p-20",
        "0x1.6376972bea4d0p-25",
    )
)
SMALLEST_NORMAL = 2.0**-1022
ROOT_BITS = np.int64(0x3FE6A09E00000000)  # of √½, below which a mantissa is doubled
TO_ROOT = np.int64(0x95F6200000000)  # from these to those of 1
MANTISSA = np.int64(0xFFFFFFFFFFFFF)
# log((1 + s) / (1 − s)) / s = 2 + s² (L1 + s² (L2 + …)), by Remez's algorithm
L1, L2, L3, L4, L5, L6, L7 = (
    float.fromhex(each)
    for each in (
        "0x1.5555555555593p-1",
        "0x1.999999997fa04p-2",
        "0x1.2492494229359p-2",
        "0x1.c71c51d8e78afp-3",
        "0x1.7466496cb03dep-3",
        "0x1.39a09d078c69fp-3",
        "0x1.2f112df3e5244p-3",
    )
)
EXACT_BITS = (
    22  # of numbers whose products, and sums of EXACT_TERMS of these, float64 holds exactly
)
EXACT_TERMS = 1 << 9
MIN_PIVOT = 1e-12  # of a positive definite matrix


def exp_into(numbers: Floats, result: Floats) -> None:
    """Write the exponential of each number, to one unit in the last place.

    e^x = 2^k e^r with |r| ≤ ln 2 / 2. Source: K. C. Ng, fdlibm, e_exp.c.
    """
    for start in range(0, len(numbers), NUMBERS_AT_ONCE):
        part = slice(start, start + NUMBERS_AT_ONCE)
        x = np.clip(numbers[part], SMALLEST_EXPONENT, LARGEST_EXPONENT)
        k = np.rint(x * PER_LN2)
        high = x - k * LN2_HIGH
        low = k * LN2_LOW
        r = high - low
        square = r * r
        even = P1 + square * (P2 + square * (P3 + square * (P4 + square * P5)))
        rest = r - square * even
        found = 1 - ((low - (r * rest) / (2 - rest)) - high)
        with np.errstate(all="ignore"):  # NaN stays NaN
            result[part] = np.ldexp(found, k.astype(np.int32))


def log_into(numbers: Floats, result: Floats) -> None:
    """Write the natural logarithm of each number, to one unit in the last place.

    Source: K. C. Ng, fdlibm, e_log.c.
    """
    for start in range(0, len(numbers), NUMBERS_AT_ONCE):
        part = slice(start, start + NUMBERS_AT_ONCE)
        x = numbers[part]
        is_tiny = x < SMALLEST_NORMAL
        bits = np.where(is_tiny, x * 2.0**54, x).view(np.int64) + TO_ROOT
        k = (bits >> 52) - np.where(is_tiny, 1077, 1023)
        f = ((bits & MANTISSA) + ROOT_BITS).view(np.float64) - 1
        s = f / (2 + f)
        z = s * s
        w = z * z
        half = 0.5 * f * f
        even = w * (L2 + w * (L4 + w * L6))
        odd = z * (L1 + w * (L3 + w * (L5 + w * L7)))
        found = k * LN2_HIGH - ((half - (s * (half + (odd + even)) + k * LN2_LOW)) - f)
        found = np.where((x > 0) & (x < np.inf), found, np.where(x > 0, x, np.nan))
        result[part] = np.where(x == 0, -np.inf, found)


def log1p_into(numbers: Floats, result: Floats) -> None:
    """Write log(1 + x) of each number x, also of a small one.

    The rounding of 1 + x is corrected by a factor: Goldberg, What Every Computer Scientist Should
    Know About Floating-Point Arithmetic, 1991, theorem 4.
    """
    total = 1 + numbers
    rest = total - 1
    is_rounded = (rest != 0) & (rest != numbers)
    log_into(total, result)
    result *= np.divide(numbers, rest, out=np.ones(len(rest)), where=is_rounded)
    result[rest == 0] = numbers[rest == 0]


def apply_function(number: int, numbers: Floats, result: Floats) -> None:
    """Write a function of each number: its exponential, its logarithm, or log(1 + x)."""
    FUNCTIONS[number](numbers, result)


FUNCTIONS = exp_into, log_into, log1p_into
apply_function = choose_version(apply_function)


def exp(numbers: Array | float) -> Floats:
    """Return e to the power of each number."""
    return _map(0, numbers)


def log(numbers: Array | float) -> Floats:
    """Return the natural logarithm of each number: −∞ of 0, NaN of negative ones."""
    return _map(1, numbers)


def log1p(numbers: Array | float) -> Floats:
    """Return log(1 + x) of each number x, also of a small one."""
    return _map(2, numbers)


def softplus(numbers: Array) -> Floats:
    """Return log(1 + e^x) of each number x, without overflow."""
    return np.maximum(numbers, 0.0) + log1p(exp(-np.abs(numbers)))


def sigmoid(log_odds: Array | float) -> Floats:
    """Return the probability 1 / (1 + e^−x) of each of some log-odds x, in nats and of any shape;
    above 0, however low they are.
    """
    return 1 / (1 + exp(-np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)))


def log_odds(probabilities: Floats) -> Floats:
    """Return log p / (1 - p); finite for 0 and 1, too."""
    bounded = np.clip(probabilities, 1e-300, 1 - 1e-16)
    return log(bounded) - log1p(-bounded)


def power(bases: Array, exponent: float) -> Floats:
    """Return the powers of numbers of at least 0, with an exponent above 0."""
    return exp(exponent * log(bases))


def _map(function: int, numbers: Array | float) -> Floats:
    given = np.asarray(numbers, np.float64, order="C")
    result = np.empty(given.shape)
    apply_function(function, given.reshape(-1), result.reshape(-1))
    return result[()]  # of a number, a number


def ratio(part: Array, whole: Array) -> Floats:
    """Return the quotients of two arrays of one shape; 0 where the divisor is not above 0."""
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


def dot(one: Array, other: Array) -> float:
    """Return the sum of products of two vectors."""
    return float(np.einsum("i,i->", one, other))


def solve_positive_definite(matrix: Floats, right: Floats) -> Floats | None:
    """Return the solution of a few linear equations, whose matrix is symmetric; None if it is not
    positive definite.
    """
    n = len(matrix)
    table = np.column_stack((matrix, right))
    for k in range(n):
        if not table[k, k] > MIN_PIVOT:
            return None
        table[k] /= table[k, k]
        factors = table[:, k].copy()
        factors[k] = 0.0
        table -= factors[:, None] * table[k]
    return table[:, n]


def round_for_products(numbers: Array) -> Floats:
    """Return numbers rounded to 22 bits of the largest one, as `multiply` needs them."""
    unit = np.ldexp(1.0, int(np.frexp(np.abs(numbers).max(initial=0.0))[1]) - EXACT_BITS)
    rounded: Floats = np.rint(numbers / unit) * unit
    return rounded


def multiply(one: Floats, other: Floats) -> Floats:
    """Return the product of two matrices of `round_for_products`.

    BLAS adds up few terms at once, so that each sum is exact, whatever its order (Ozaki, Ogita,
    Oishi and Rump, Error-free transformations of matrix multiplication, 2012).
    """
    parts = (slice(start, start + EXACT_TERMS) for start in range(0, len(other), EXACT_TERMS))
    return sum((one[:, part] @ other[part] for part in parts), np.zeros((len(one), other.shape[1])))
