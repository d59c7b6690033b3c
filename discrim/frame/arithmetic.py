"""Arithmetic of formulas, row by row: on numbers, columns and the matrices that splines and powers make."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from discrim.errors import FormulaError

__all__ = ["combined"]

_Array = NDArray[np.float64]

_OPERATORS: Mapping[str, np.ufunc] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": np.power,
}


def combined(symbol: str, left: _Array, right: _Array) -> _Array:
    """What an operator makes of two operands, each a number, a column (m,) or a matrix (m, k).

    A column goes with each column of a matrix.

    Raises
    ------
    FormulaError
        Two matrices of several columns, not as many in one as in the other.

    Examples
    --------
    >>> combined("*", np.array([1.0, 2.0]), np.array([[1.0, 3.0], [1.0, 3.0]])).tolist()
    [[1.0, 3.0], [2.0, 6.0]]
    """
    if left.ndim == right.ndim == 2 and 1 != left.shape[1] != right.shape[1] != 1:
        raise FormulaError(
            f"{symbol} stands between a matrix of {left.shape[1]} columns and one of {right.shape[1]}: give "
            "matrices of as many columns, or write an interaction, as in a:b."
        )
    if left.ndim == 1 and right.ndim == 2:
        left = left[:, None]
    elif left.ndim == 2 and right.ndim == 1:
        right = right[:, None]
    return np.asarray(_OPERATORS[symbol](left, right))
