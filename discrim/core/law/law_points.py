"""Means of a function of x over random points of the classes, with a bound on their error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.law.densities import Density, RowDensity
from discrim.errors import NotSupportedError

__all__ = ["REPLICATES", "Amount", "mean_over_points"]

Floats = NDArray[np.float64]

REPLICATES = 16
"""Independent randomizations of a quasi-random sequence, whose spread tells the error."""

AT_ONCE = 2**14
"""Points at which the function is asked for its values together."""

CONFIDENCE = 0.99
"""Of the interval whose half width is the bound on the error of a mean over random points."""

FEW = 30
"""Points that a mean may rest on, below which its spread says too little of its error."""


class Amount(NamedTuple):
    """A number with a bound on its error, and how it was computed."""

    value: float
    bound: float
    method: str


def mean_over_points(
    densities: Sequence[Density],
    prior: Floats,
    of: Callable[[Floats], Floats],
    most: float,
    draws: int,
    seed: int | None,
    tell: Callable[[int], None] = lambda more: None,
) -> Amount:
    """The mean of a function of x, with half of its 99 % interval.

    Parameters
    ----------
    densities : sequence of Density
    prior : (K,) float
    of : callable
        From x (m, p) to values (m,) from 0 to `most`.
    most : float
    draws, seed : int
        Points in each class.
    tell : callable
        Is told of each class that was drawn from, `REPLICATES` times each.

    Notes
    -----
    Where the sum rests on a few of the points, their spread cannot be trusted. What happens with probability
    q escapes n points with probability (1 - q)^n, at least 1 - 0.99 for q up to ln(100)/n: the bound is
    then `most` times this at least.
    """
    from scipy.special import stdtrit

    rng = np.random.default_rng(seed)
    size = max(draws // REPLICATES, 2)
    means = np.zeros(REPLICATES)
    first = second = 0.0
    quasi = all(quasi_normal(held) for held in densities)
    runs = [(replicate, k) for replicate in range(REPLICATES) for k in np.flatnonzero(prior > 0).tolist()]
    together = max(AT_ONCE // size, 1)
    for start in range(0, len(runs), together):
        part = runs[start : start + together]
        drawn = [
            _quasi_points(densities[k], size, rng) if quasi else densities[k].draw(size, rng) for _, k in part
        ]
        x = np.concatenate(drawn)
        classes = np.repeat([k for _, k in part], [len(points) for points in drawn])
        share = prior[classes] * of(x)
        if not np.isfinite(share).all():
            at = int(np.argmax(~np.isfinite(share)))
            raise NotSupportedError(
                f"At x = {x[at].tolist()}, a random point of class number {classes[at] + 1}, the densities "
                "are zero, infinite or not known, so that it has no posterior: change the unit of x, or the "
                "law."
            )
        for (replicate, _), values in zip(part, np.split(share, len(part)), strict=True):
            means[replicate] += values.mean()
            tell(1)
        first, second = first + float(share.sum()), second + float(share @ share)
    error = float(means.std(ddof=1)) / np.sqrt(REPLICATES)
    half = float(stdtrit(REPLICATES - 1, 0.5 + CONFIDENCE / 2)) * error
    # The number of equal values that would have this sum and this sum of squares.
    if not first**2 > FEW * second:
        half = max(half, most * float(-np.log1p(-CONFIDENCE)) / (REPLICATES * size))
    return Amount(float(means.mean()), half, "quasi-Monte Carlo" if quasi else "Monte Carlo")


def quasi_normal(held: Density) -> bool:
    """Whether points that fill a cube evenly can be bent into a sample of a density."""
    return held.normal is not None or (isinstance(held, RowDensity) and held.student is not None)


def _quasi_points(held: Density, size: int, rng: np.random.Generator) -> Floats:
    """Points (size, p) of a normal or t distribution, from a scrambled Sobol sequence."""
    from scipy.special import chdtri, ndtri
    from scipy.stats import qmc

    student = held.student if isinstance(held, RowDensity) else None
    normal, df = student if student is not None else (held.normal, np.inf)
    if normal is None:
        raise NotSupportedError("Points are bent to normal and t distributions only.")
    p = len(normal.mean)
    sobol = qmc.Sobol(p + 1, scramble=True, seed=rng)
    cube = sobol.random_base2(max(int(np.ceil(np.log2(size))), 1))
    # A scrambled point may be zero.
    cube = np.clip(cube, 2.0**-53, 1 - 2.0**-53)
    values, vectors = np.linalg.eigh(normal.cov)
    # The first coordinates of a Sobol sequence are the most even: they go to the longest axes.
    root = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]
    z = ndtri(cube[:, :p]) @ root.T
    if np.isfinite(df):
        with np.errstate(divide="ignore", over="ignore"):
            z /= np.sqrt(chdtri(df, 1 - cube[:, p]) / df)[:, None]
    return np.asarray(normal.mean + z)
