"""Densities and draws that are code of the user's: asked, and what they give checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.errors import DataError, DiscrimError

__all__ = ["asked", "refuse_negative", "short"]

Floats = NDArray[np.float64]


def refuse_negative(found: Floats, x: Floats) -> None:
    """Raise a DataError that names the first point (m,) where a density (m,) is negative or not known."""
    bad = ~(found >= 0) & np.isfinite(x)
    if bad.any():
        raise DataError(f"The density is {found[bad][0]:g} at {x[bad][0]:g}: give one that is 0 or more.")


def asked(
    whose: Any, function: Callable[..., Any], *arguments: Any, points: int, dim: int = 0, **options: Any
) -> Floats:
    """Numbers (points,), or (points, dim), that a function of the user's gives; a single one is that of all.

    Raises
    ------
    DataError
        It raised an error, or gave something else.
    """
    try:
        given = function(*arguments, **options)
    except DiscrimError:
        raise
    except Exception as error:
        raise DataError(
            f"{short(whose)} raised {type(error).__name__} when it was asked for {points} points: {error}. "
            "Correct it, or give a frozen distribution of scipy.stats."
        ) from error
    shape = (points, dim) if dim else (points,)
    try:
        raw = np.asarray(given)
        if raw.dtype.kind not in "biufO":
            raise TypeError
        found = np.asarray(raw, dtype=np.float64)
        return found.reshape(shape) if found.size == np.prod(shape) else np.broadcast_to(found, shape).copy()
    except (TypeError, ValueError):
        raise DataError(
            f"{short(whose)} gave {short(given)} for {points} points: it has to give a number for each."
        ) from None


def short(given: Any) -> str:
    """What stands for an object in a message."""
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:77]}..."
