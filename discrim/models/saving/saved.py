"""What of a model goes into a file, and how it comes back: stated beside each model, used by all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import Spread
from discrim.models.fits.fit import Fit

__all__ = ["NOTHING", "Saved"]

Floats = NDArray[np.float64]
Shapes = Callable[[int, int], dict[str, tuple[int, ...]]]

NOTHING = type(None)
"""The kind of an option that may be None."""


@dataclass(frozen=True, slots=True)
class Saved:
    """How one model is written and read.

    Attributes
    ----------
    options : dict of str to tuple of type
        Attributes of the numbers that are written, with their kinds, and given to `numbers` again by name.
    spread : {"pooled", "class", "diagonal"}
        Of the moments.
    numbers : callable
        From moments, a prior, options and buffers to the model's numbers.
    fit : callable
        From numbers, blocks and `has_rows` to a `Fit`.
    buffers : callable
        From numbers to what is kept of them beside their moments, by name.
    shapes, optional : callable
        From K classes and p columns to the shapes of the buffers that every fit has, and of those that only
        some have; a length of -1 may be any.
    constant : bool
        Whether a column may be constant within classes.
    structure : str
        Structure of the covariance, of a model without an option of that name.
    singular : bool
        Whether columns may be collinear.
    scored_at_means : bool
        Whether every row near a class mean has to have a score, which is tried.
    """

    options: Mapping[str, tuple[type, ...]]
    spread: Spread
    numbers: Callable[..., Any]
    fit: Callable[..., Fit[Any]]
    buffers: Callable[[Any], dict[str, Floats]] = lambda numbers: {}
    shapes: Shapes = lambda k, p: {}
    optional: Shapes = lambda k, p: {}
    constant: bool = False
    structure: str = "full"
    singular: bool = False
    scored_at_means: bool = True
