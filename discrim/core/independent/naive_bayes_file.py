"""A naive Bayes classifier as named buffers of a file, and back, every one checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.independent.kernel_density import FACTORS
from discrim.core.independent.naive_bayes import NaiveBayesFit, fit_naive_bayes, has_fit
from discrim.core.independent.tally import ColumnPlan, Piece, Tally
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.file_numbers import are_whole
from discrim.errors import DataError

__all__ = ["naive_bayes_buffers", "naive_bayes_from_file"]

Floats = NDArray[np.float64]


def naive_bayes_buffers(fit: NaiveBayesFit) -> dict[str, Floats]:
    """What is written beside the moments: what each column is, and tables, sums and values by class.

    Returns
    -------
    dict
        `columns` (3, p): family, levels, bandwidth given; `tables` (K, all levels); `sums` (K, J);
        `points` (n, 4): column, class, value, weight, of kernel densities; `available` (K, p), where each
        column is fitted to the rows that have it.
    """
    plan, k = fit.plan, fit.moments.n_classes
    points = [
        np.column_stack([np.full(len(d.points), j), np.full(len(d.points), c), d.points, d.weights])
        for j, column in enumerate(fit.kernels.densities if fit.kernels is not None else ())
        for c, d in enumerate(column)
    ]
    held = {} if fit.available is None else {"available": fit.available}
    return held | {
        "columns": np.stack([plan.families, plan.sizes, plan.bandwidths]).astype(np.float64),
        "tables": np.concatenate([np.zeros((k, 0)), *(fit.tables.counts if fit.tables else ())], axis=1),
        "sums": np.zeros((k, 0)) if fit.counts is None else fit.counts.sums,
        "points": np.concatenate([np.zeros((0, 4)), *points]),
    }


def naive_bayes_from_file(
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str,
    smoothing: float,
    laplace: float,
    bandwidth: str,
    unseen: str,
    estimated_prior: bool,
    columns: Floats,
    tables: Floats,
    sums: Floats,
    points: Floats,
    available: Floats | None = None,
) -> NaiveBayesFit:
    """Fit from moments and `naive_bayes_buffers` that were read from a file.

    Raises
    ------
    DataError
        They do not fit together, or a density does not exist.
    """
    families, sizes, bandwidths = columns
    # Tables take room for each level: there are as many in all as the file holds.
    known = are_whole(families, 0, 3) and are_whole(sizes, 0, tables.shape[1]) and (bandwidths >= 0).all()
    _check(
        bool(known) and bandwidth in FACTORS and unseen in ("raise", "missing"),
        "its columns are of no kind that is known",
    )
    options = bandwidth, laplace, smoothing, method, unseen
    plan = ColumnPlan(families.astype(np.intp), sizes.astype(np.intp), bandwidths, *options)
    tally = Tally(plan, moments.n_classes)
    ends = np.cumsum(plan.sizes[plan.tables])
    _check(tables.shape[1] == (ends[-1] if len(ends) else 0), "its tables do not fit its columns")
    _check(sums.shape[1] == len(plan.counts), "its sums do not fit its columns")
    tally.tables = (
        [np.ascontiguousarray(part) for part in np.split(tables, ends[:-1], axis=1)] if len(ends) else []
    )
    tally.available = available
    counts = moments.counts[:, None] if available is None else available
    _check(
        bool((counts > 0).all() and (counts <= moments.counts[:, None] * (1 + 1e-9)).all()), "it has no rows"
    )
    own = np.broadcast_to(counts, (moments.n_classes, moments.n_columns))
    pairs = zip(tally.tables, own[:, plan.tables].T, strict=True)
    near = [np.allclose(n.sum(axis=1), rows, rtol=1e-9) for n, rows in pairs]
    _check(all(near) and bool((tables >= 0).all() and (sums >= 0).all()), "a table is no table of counts")
    tally.sums = sums
    tally.values = _values(points, own[:, plan.kernels])
    _check(has_fit(moments, tally), "a density of it does not exist, as a variance is zero or not finite")
    fit = fit_naive_bayes(moments, tally, prior, estimated_prior=estimated_prior)
    _check(not fit.without_bandwidth().any(), "a kernel density of it has no bandwidth")
    return fit


def _values(points: Floats, counts: Floats) -> list[list[Piece]]:
    """Values of the columns with kernel densities, as a tally holds them; `counts` (K, q) are their rows."""
    k, q = counts.shape
    placed = are_whole(points[:, 0], 0, q - 1) and are_whole(points[:, 1], 0, k - 1)
    _check(bool(placed and (points[:, 3] > 0).all()), "a value of a kernel density has no place")
    found: list[list[Piece]] = []
    for j in range(q):
        own = points[points[:, 0] == j]
        codes = own[:, 1].astype(np.intp)
        sums = np.bincount(codes, own[:, 3], k)
        _check(np.allclose(sums, counts[:, j], rtol=1e-9), "a kernel density misses rows")
        found.append([(own[:, 2], codes, own[:, 3])])
    return found


def _check(right: bool, what: str) -> None:
    if not right:
        raise DataError(f"A saved fit of naive Bayes is damaged: {what}.")
