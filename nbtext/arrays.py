"""Names of the types of arrays, and the bounds of stored numbers.

A field of a record that models store says its bounds in its type, such as
`Annotated[Floats, Limits(0, 1)]`. Without any, a number is finite, and an integer is not negative.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # of one of several dtypes, which the documentation of a function names
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Integers = NDArray[np.int64]
Integers32 = NDArray[np.int32]  # features, classes and counts
Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]

# largest absolute value: products with counts, and sums of them, stay finite
MAX_STORED_NUMBER = 1e100
MAX_INTEGER = (1 << 64) - 1  # of a single one
MAX_COUNT = 2**62  # of an array
MAX_EXACT_INTEGER = 2**53  # the largest whole number up to which float64 has all
N_LABELS = -1  # in a shape: the number of labels


class Limits(NamedTuple):
    """The bounds of a number, or of each number in an array or a tuple.

    shape     of an array; None: any length
    integers  the type of an array of whole numbers, if the field can have weights, too
    """

    low: float | None = None
    high: float | None = None
    shape: tuple[int | None, ...] = (None,)
    integers: Any = np.int64


FROM_0_TO_1 = Limits(0, 1)
AT_LEAST_0 = Limits(0)
FOR_EACH_LABEL = Limits(shape=(N_LABELS,))
LOG_PRIOR = Limits(-MAX_STORED_NUMBER, 0, (N_LABELS,))
COUNTS = Limits(0, MAX_COUNT)
EXACT_COUNTS = Limits(0, MAX_EXACT_INTEGER)
Hashes = Annotated[NDArray[np.uint64], Limits(0, MAX_INTEGER)]
