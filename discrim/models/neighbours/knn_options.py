"""What nearest neighbours are asked for, checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import constant_columns, dependencies
from discrim.core.moments.moments import ClassMoments
from discrim.core.neighbours.neighbours import METRICS, ZERO_ONE, undefined
from discrim.errors import CollinearError, DataError, PriorError
from discrim.frame.categories import shown
from discrim.models.fits.arguments import check_word, is_whole, listed

if TYPE_CHECKING:
    from discrim.frame.blocks import Blocks
    from discrim.frame.used_rows import GatheredRows

__all__ = [
    "check_options",
    "checked_grid",
    "checked_k",
    "refuse_constant",
    "refuse_few_rows",
    "refuse_undefined",
    "refuse_zero",
]

Floats = NDArray[np.float64]

MOST_NEIGHBOURS = 50
"""The largest k that is tried, unless a grid says otherwise."""


def check_options(k: Any, metric: Any, scale: Any, grid: Any) -> None:
    """Raise a DataError for options that no table would make sense of."""
    check_word("metric", metric, METRICS)
    if not isinstance(scale, (bool, np.bool_)):
        raise DataError(f"scale={scale!r}: give True or False.")
    if metric == "seuclidean" and not scale:
        raise DataError("metric='seuclidean' divides by standard deviations: leave scale=True.")
    if k is not None and grid is not None:
        raise DataError("k= is given, so that there is nothing to choose: leave out grid=.")


def checked_k(k: Any, n: int) -> int:
    """A k that is given."""
    if not (is_whole(k) and 1 <= k <= n):
        raise DataError(
            f"k={k!r}: give a number of neighbours from 1 to the {n} rows of the fit, or None to have it "
            "chosen."
        )
    return int(k)


def checked_grid(grid: Sequence[int] | None, n: int) -> list[int]:
    """The k to try, in increasing order."""
    if n < 2:
        raise DataError("A k is chosen by leaving rows out, which takes two rows: give k=.")
    if grid is None:
        return list(range(1, min(MOST_NEIGHBOURS, n - 1) + 1))
    way_out = f"give numbers from 1 to {n - 1}, one less than the rows, as each is left out."
    if isinstance(grid, str) or not isinstance(grid, Iterable):
        raise DataError(f"grid={grid!r} is no sequence: {way_out}")
    values = list(grid)
    bad = [value for value in values if not (is_whole(value) and 1 <= value < n)]
    if bad or not values:
        what = f"{bad[0]!r} is no k" if bad else "there is none"
        raise DataError(
            f"grid=[{', '.join(map(repr, values[:10]))}{', ...' * (len(values) > 10)}]: {what}; {way_out}"
        )
    return sorted({int(value) for value in values})


def refuse_few_rows(moments: ClassMoments, terms: tuple[str, ...]) -> None:
    """Raise, before any product is formed, where there are too few rows for a pooled covariance."""
    if moments.total - moments.n_classes < len(terms):
        raise CollinearError(
            f"{moments.total:g} rows in {moments.n_classes} classes are too few for the covariance of "
            f'{len(terms)} columns: name fewer, or take metric="euclidean".'
        )


def refuse_constant(
    moments: ClassMoments, within: ClassMoments | None, terms: tuple[str, ...], scale: bool
) -> None:
    """Raise a CollinearError for columns by whose spread nothing can be divided."""
    if within is not None:
        found = dependencies(within)
        if found:
            raise CollinearError(
                f"The covariance within classes is singular: {listed(terms[d.column] for d in found)} is "
                "constant or depends on the columns before it. Drop it from the formula, or take "
                'metric="euclidean".'
            )
    elif scale:
        still = constant_columns(moments)
        if still:
            raise CollinearError(
                f"{listed(terms[j] for j in still)} is constant: there is no standard deviation to divide "
                "by. Drop it from the formula, or pass scale=False."
            )


def refuse_undefined(metric: str, rows: GatheredRows, points: Floats, blocks: Blocks) -> None:
    """Raise a DataError for a row, with its coordinates in points, to which a metric gives no distance."""
    if metric in ZERO_ONE:
        other = np.argwhere((rows.x != 0) & (rows.x != 1))
        if len(other):
            row, column = other[0]
            where = f"in row {blocks.table.label(int(rows.positions[row]))!r}"
            raise DataError(
                f"metric={metric!r} takes columns of zeros and ones; {blocks.terms[column]!r} is "
                f"{rows.x[row, column]:g} {where}. Take another metric, or leave out the column."
            )
    why, bad = undefined(metric, points)
    if bad.any():
        row = blocks.table.label(int(rows.positions[int(np.argmax(bad))]))
        raise DataError(
            f"metric={metric!r} gives no distance to row {row!r}: {why}. Leave such rows out, or take "
            "another metric."
        )


def refuse_zero(prior: Floats, classes: Any) -> None:
    """Raise a PriorError for a class without a prior."""
    if not (prior > 0).all():
        raise PriorError(
            f"The prior of class {shown(classes[int(np.argmin(prior))])} is 0: where all neighbours are of "
            "such classes there is no posterior. Give it some, or leave out the class."
        )
