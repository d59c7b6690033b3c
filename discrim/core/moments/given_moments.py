"""Moments that are given and not gathered; and moments of less of the scatter, or among more classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import Spread, column_scale

__all__ = ["among_classes", "given_moments", "merged", "reduced", "root_of"]

Floats = NDArray[np.float64]

BARREN = 1e-12
"""Share of a column's variance, beyond the columns before it, that is the rounding of a given covariance."""


def given_moments(means: Floats, covariances: Floats, counts: Floats, divisors: Floats) -> ClassMoments:
    """Moments of rows of which only means and covariances are known.

    Parameters
    ----------
    means : (K, p) float
    covariances : (K, p, p) or (1, p, p) float
        By class, or one within all of them.
    counts : (K,) float
        Rows of each class.
    divisors : (K,) or (1,) float
        What the sums of squares and products were divided by.

    Returns
    -------
    ClassMoments

    Examples
    --------
    >>> import numpy as np
    >>> means, sizes = np.array([[0.0], [3.0]]), np.array([5.0, 6.0])
    >>> m = given_moments(means, np.array([[[4.0]]]), sizes, np.array([9.0]))
    >>> float(m.scatters[0, 0, 0] / m.scale[0] ** 2), m.total
    (36.0, 11.0)
    """
    variances = np.diagonal(covariances, axis1=1, axis2=2).max(axis=0)
    sd = np.sqrt(np.where(variances > 0, variances, 1.0))
    scale = np.ldexp(1.0, -np.round(np.log2(sd)).astype(int))
    scatters = covariances * (scale[:, None] * scale) * divisors[:, None, None]
    roots = np.stack([root_of(scatter) for scatter in scatters])
    rows = np.minimum(counts, 2.0**52).astype(np.int64)
    return ClassMoments(counts, rows, means, np.zeros_like(means), scale, scatters, roots)


def root_of(scatter: Floats, barren: float | Floats = BARREN) -> Floats:
    """Upper triangular root (p, p); the row of a column that those before it determine is zero.

    Barren is the share of a column's sum of squares, one for all or (p,), that is rounding.
    """
    least = np.broadcast_to(barren, len(scatter))
    sd = np.sqrt(np.diagonal(scatter))
    unit = np.where(sd > 0, sd, 1.0)
    rest = scatter / unit / unit[:, None]
    root, failed = scipy.linalg.lapack.dpotrf(rest)
    if failed or not (np.diagonal(root) ** 2 > least).all():
        root = np.zeros_like(rest)
        for j in range(len(rest)):
            if rest[j, j] > least[j]:
                root[j, j:] = rest[j, j:] / np.sqrt(rest[j, j])
                rest[j:, j:] -= root[j, j:, None] * root[j, j:]
    return np.asarray(np.triu(root) * unit)


def reduced(moments: ClassMoments, spread: Spread) -> ClassMoments:
    """Moments by class with what a model needs of the scatter and no more: "class", "pooled", "diagonal"."""
    if spread == "pooled":
        return moments.pooled()
    if spread == "diagonal" and moments.scatters.ndim == 3:
        squares = np.diagonal(moments.scatters, axis1=1, axis2=2).copy()
        return replace(moments, scatters=squares, roots=None)
    return moments


def merged(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    """The moments of both sets of rows, though the rows of either show no scale, as one row does not."""
    shared = ((a.counts > 0) & (b.counts > 0))[:, None]
    gaps = np.abs(np.where(shared, a.centres - b.centres, 0.0)).max(axis=0)
    spreads = [np.sqrt(each.squares.max(axis=0)) / each.scale for each in (a, b)]
    wanted = column_scale(np.max([gaps, *spreads], axis=0))
    return a.rescaled(np.where(wanted == 1, a.scale, wanted)).merge(b)


def among_classes(
    moments: ClassMoments, position: NDArray[np.intp], n_classes: int, *, by_class: bool
) -> ClassMoments:
    """The same moments where there are more classes: class k is class position[k] of them.

    `by_class` is whether the scatters are, which one class alone does not show; a pooled one stays.
    """

    def placed(values: NDArray[Any]) -> NDArray[Any]:
        out = np.zeros((n_classes, *values.shape[1:]), dtype=values.dtype)
        out[position] = values
        return out

    return replace(
        moments,
        counts=placed(moments.counts),
        rows=placed(moments.rows),
        centres=placed(moments.centres),
        rests=placed(moments.rests),
        scatters=placed(moments.scatters) if by_class else moments.scatters,
        roots=placed(moments.roots) if by_class and moments.roots is not None else moments.roots,
    )
