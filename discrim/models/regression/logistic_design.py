"""Designs that a logistic regression refuses, before or after a first pass over the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from discrim.core.covariance.covariance import dependencies
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlock
from discrim.core.numerics.memory import refuse_beyond_memory
from discrim.errors import CollinearError, DataError
from discrim.frame.blocks import Blocks
from discrim.models.fits.arguments import listed
from discrim.models.fits.reading import collinear_error, drop_columns

__all__ = [
    "OVER_ALL",
    "check_search",
    "held",
    "refuse_many_coefficients",
    "refuse_many_levels",
    "refuse_wide",
    "without_collinear",
]

OVER_ALL = "over all rows"

WRITTEN = 2**23
"""Numbers that a formula writes up to which they are held: to write them takes longer than their products."""

COPIES = 3
"""Times that the information is held: as it is, factorised, and inverted."""

MOST_COEFFICIENTS = 10_000
"""Coefficients whose information is formed: each step over it takes their cube, some minutes here."""

MOST_CODED = 2000
"""Coefficients of categories up to which they are fitted: their information grows by the square."""


def held(blocks: Blocks, most: int) -> Iterable[RowBlock]:
    """The rows as they are, or copied where they are few, so that no pass makes them again.

    Rows that lie apart stay there. Few are no more than some numbers, or `WRITTEN` where a formula writes the
    columns.
    """
    if blocks.apart:
        return blocks
    numbers = blocks.table.nrows * max(len(blocks.terms), 1)
    if numbers > (most if blocks.design.plain else max(most, WRITTEN)):
        return blocks
    return [
        (np.array(x, order="F"), codes.copy(), None if weights is None else weights.copy())
        for x, codes, weights in blocks
    ]


def check_search(tol: Any, maxiter: Any) -> None:
    """Raise a DataError for a tolerance or a number of steps that is none."""
    if isinstance(maxiter, bool) or not isinstance(maxiter, Integral) or maxiter < 1:
        raise DataError(f"maxiter={maxiter!r}: give a whole number of steps, 1 or more.")
    if not isinstance(tol, (int, float, np.floating)) or not 0 < tol < 1:
        raise DataError(f"tol={tol!r}: give a number between 0 and 1.")


def refuse_wide(rows: int, terms: tuple[str, ...]) -> None:
    """Raise where there are too few rows for a constant and the columns."""
    p = len(terms)
    if 0 < rows <= p:
        raise CollinearError(
            f"{rows} rows are too few for a constant and {p} columns ({listed(terms)}): name fewer "
            "columns, pass penalty='ridge', or use "
            'lda(covariance="shrunk"). With so few rows collinear="drop" leaves separated classes, '
            "which also need bias_reduction=True."
        )


def refuse_many_coefficients(count: int, columns: int, n_classes: int, instead: str) -> None:
    """Raise, before any is formed, where the matrix of second derivatives would be too large."""
    what = f"The information of {count:,} coefficients ({columns:,} columns, {n_classes:,} classes)"
    way_out = f"Merge rare classes or name fewer columns, or {instead}"
    refuse_beyond_memory(COPIES * float(count) ** 2, what, way_out)
    if count > MOST_COEFFICIENTS:
        raise DataError(
            f"{what} has {count:,} times {count:,} numbers, and logistic() forms that of "
            f"{MOST_COEFFICIENTS:,} coefficients at the most: beyond, a step takes many minutes. {way_out}."
        )


def refuse_many_levels(blocks: Blocks) -> None:
    """Raise, before a product of columns is formed, where there are too many coefficients."""
    spec, n_classes = blocks.design.spec, len(blocks.design.levels)
    found = (len(blocks.terms) + 1) * max(n_classes - 1, 1)
    refuse_many_coefficients(found, len(blocks.terms), n_classes, "use lda(), naive_bayes() or knn()")
    if spec is None:
        return
    coded = {
        ":".join(spec.factors[factor].code for factor, _ in parts): math.prod(spec.widths(parts))
        for parts in spec.products
        if any(coding >= 0 for _, coding in parts)
    }
    coefficients = sum(coded.values()) * (n_classes - 1)
    if coefficients > MOST_CODED:
        widest = max(coded, key=lambda code: coded[code])
        raise DataError(
            f"Categories have {coefficients:,} coefficients for {n_classes} classes, and {widest!r} most of "
            f"them with {coded[widest]:,} columns. logistic() takes {MOST_CODED:,}: beyond, a fit takes "
            f"minutes and gigabytes. Merge rare levels, or leave the predictor out, as in `. - {widest}`."
        )


def without_collinear(
    blocks: Blocks, moments: ClassMoments, *, drop: bool, instead: str = 'pass collinear="drop"'
) -> tuple[Blocks, ClassMoments]:
    """Blocks and moments without columns that are constant over all rows, or combinations of others.

    Raises
    ------
    CollinearError
        There are such columns, and they are not to be dropped.
    """
    found = dependencies(moments.as_one())
    if not found:
        return blocks, moments
    if not drop:
        raise collinear_error(found, blocks.terms, OVER_ALL, instead=instead)
    return drop_columns(blocks, moments, found, OVER_ALL)
