"""What is lost where numbers of more digits than a double has become doubles.

Whole numbers beyond 2**53, as ids and times in nanoseconds are, and decimals of many digits are rounded to
the nearest double. Beside the spread of their column that may be nothing, or all that it says.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rounding", "rounding"]

EXACT = 2.0**53
"""Size up to which every whole number is a double."""

FINE = 1e-9
"""Share of a decimal column's range up to which rounding is that of decimals typed in."""


class Rounding(NamedTuple):
    """The largest rounding of a column.

    Attributes
    ----------
    position : int
        Of the value that is rounded most.
    error : float
        By how much.
    spread : float
        Range of the column.
    low : object
        Its least value, as it is.
    """

    position: int
    error: float
    spread: float
    low: Any


def rounding(values: NDArray[Any]) -> Rounding | None:
    """The largest rounding of values (n,) without missing ones, of integers or objects; None where none is.

    Examples
    --------
    >>> import numpy as np
    >>> rounding(np.array([2**53, 2**53 + 1])).error
    1.0
    >>> rounding(np.array([1, 2])) is None
    True
    """
    if not len(values):
        return None
    if values.dtype.kind in "iu":
        low, high = values.min(), values.max()
        if max(-int(low), int(high)) <= EXACT:
            return None
        errors = _integer_errors(values)
    elif values.dtype.kind == "O":
        found = _object_errors(values)
        if found is None:
            return None
        errors = found
        finite = values[np.isfinite(values.astype(np.float64))]
        low, high = (finite.min(), finite.max()) if len(finite) else (0, 0)
    else:
        return None
    position = int(np.argmax(errors))
    if not errors[position] > 0:
        return None
    low, high = (each.item() if isinstance(each, np.generic) else each for each in (low, high))
    return Rounding(position, float(errors[position]), float(Fraction(high) - Fraction(low)), low)


def _integer_errors(values: NDArray[Any]) -> NDArray[np.float64]:
    """Distances (n,) of 64-bit integers to the nearest doubles."""
    doubles = values.astype(np.float64)
    # The double nearest to the last integers of a type is beyond it.
    largest = float(np.iinfo(values.dtype).max)
    within = np.minimum(doubles, np.nextafter(largest, 0.0))
    gaps = (values - within.astype(values.dtype)).astype(np.int64)
    return np.asarray(np.abs(gaps - (doubles - within)))


def _object_errors(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Distances (n,) of integers and decimals to the nearest doubles; None where nothing is lost."""
    kinds = {type(value) for value in values}
    if not kinds <= {int, Decimal, float, bool} and not all(issubclass(k, (int, np.integer)) for k in kinds):
        return None
    doubles = values.astype(np.float64)
    finite = np.isfinite(doubles)
    if not finite.any():
        return None
    size = float(np.abs(doubles[finite]).max())
    decimals = Decimal in kinds
    if size <= EXACT and not (decimals and size * 2.0**-53 > FINE * np.ptp(doubles[finite])):
        return None
    errors = np.zeros(len(values))
    for place in np.flatnonzero(finite):
        value = values[place]
        exact = Fraction(value.item() if isinstance(value, np.generic) else value)
        errors[place] = float(abs(exact - Fraction(doubles[place].item())))
    return errors
