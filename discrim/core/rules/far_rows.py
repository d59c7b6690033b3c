"""Rows so far away that a score is larger than any double.

Theory. What a posterior needs of a row are differences of its scores. With z = 2^e u and |u| below one, a
square is 4^e |u|^2: differences are taken of the |u|^2 and multiplied afterwards. They may become minus
infinity, which is what the log posterior then is in doubles, but never infinity less infinity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FARTHEST",
    "beyond_range",
    "coordinates_within_range",
    "exponents",
    "scaled_columns",
    "stretched",
]

Floats = NDArray[np.float64]
Exponents = NDArray[np.int64]

FARTHEST = 400
"""Binary order of magnitude of coordinates up to which rows are measured where they are."""

LARGEST = 1024
"""That of the largest double."""


def beyond_range(x: Floats, scores: Floats) -> NDArray[np.intp]:
    """Rows of x (m, p) without a missing value whose scores (m, K) have no finite largest one."""
    if np.isfinite(scores.sum()):
        return np.zeros(0, dtype=np.intp)
    rows = np.flatnonzero(~np.isfinite(scores.max(axis=1)))
    return rows[np.isfinite(x[rows]).all(axis=1)]


def coordinates_within_range(
    coordinates: Callable[[Floats, Floats], Floats], x: Floats, origin: Floats
) -> Floats:
    """Coordinates of rows x (m, p) whose squares are doubles.

    A row farther away is taken nearer to the origin in its own direction, from where all rows of a fit are
    equally far to rounding, as they are from the row itself.

    Parameters
    ----------
    coordinates : callable
        Those (m, p) of rows (m, p) from an origin (p,) or (m, p): linear in the difference of the two.
    x : (m, p) float
    origin : (p,) float
    """
    over = np.zeros((len(x), 1), dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        z = coordinates(x, origin)
        far = np.flatnonzero(~_within_range(z) & np.isfinite(x).all(axis=1))
        while len(far):
            # How far beyond the largest double a row is is not known: it comes nearer until its place is.
            size = np.abs(z[far]).max(axis=1, keepdims=True)
            over[far] += np.where(np.isfinite(size), np.frexp(size)[1], LARGEST) - FARTHEST
            z[far] = coordinates(np.ldexp(x[far], -over[far]), np.ldexp(origin, -over[far]))
            far = far[~_within_range(z[far])]
    return z


def _within_range(z: Floats) -> NDArray[np.bool_]:
    return np.asarray((np.abs(z) <= 2.0**FARTHEST).all(axis=1))


def exponents(x: Floats, origin: Floats, scale: Floats) -> Exponents:
    """Exponents (m,) of two, above x * scale of each of the rows x (m, p) and of origins (p,) or (K, p)."""
    unit = np.frexp(scale)[1].astype(np.int64)
    powers = (np.frexp(x)[1] + unit).max(axis=1, initial=0)
    return np.asarray(np.maximum(powers, (np.frexp(origin)[1] + unit).max(initial=0)))


def scaled_columns(x: Floats, origin: Floats, scale: Floats, exponent: Exponents) -> Floats:
    """The coordinates z (p, m) = (x - origin) * scale of rows x (m, p), over 2^exponent."""
    mantissa, power = np.frexp(scale[:, None])
    shift = power - exponent
    return np.asarray((np.ldexp(x.T, shift) - np.ldexp(origin[:, None], shift)) * mantissa)


def stretched(scores: Floats, constant: Floats, exponent: Exponents) -> Floats:
    """Scores (m, K) times 2^exponent (m,) plus constants (K,), up to a number of the row."""
    possible = np.where(np.isneginf(constant), -np.inf, scores)
    with np.errstate(over="ignore"):
        return np.asarray(
            np.ldexp(possible - possible.max(axis=1, keepdims=True), exponent[:, None]) + constant
        )
