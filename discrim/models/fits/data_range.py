"""The range of data that models accept: checked once in a fit, and derived from a fit for new observations.

Two limits apply. A column varies by 1e-303 to 1e304, so that its coefficients are within double precision.
No value lies more than 1e100 within-class standard deviations from the class means, so that squared distances
are within double precision and no model has to consider overflow.

In a fit a distant value inflates the standard deviation that it is compared with. Class means far apart show
in the moments. Single distant values show as a standard deviation far from one, in which case the rows are
read again and compared with the median absolute deviation from the median.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.scatter.covariance import total_squares
from discrim.errors import DataError, OutOfRangeError
from discrim.frame.blocks import Blocks
from discrim.frame.column_range import MAX_DEVIATIONS, ColumnRange, refuse_far
from discrim.frame.rows import used_rows

MIN_LOG_SIZE, MAX_LOG_SIZE = -303.0, 304.0
"""Decimal logarithms between which the variation of a column has to lie, for its inverse to be a float64."""

SUSPECT_SD = 1e50
"""Standard deviation above which, or below whose inverse, the rows are searched for distant values."""

SAMPLE_ROWS = 10_000
"""Rows from which the median of a column is taken."""


def column_range(moments: ClassMoments) -> ColumnRange:
    """Return the range of values, in the units of the data, that a fit accepts in new observations."""
    means = moments.class_means[moments.rows > 0]
    with np.errstate(over="ignore"):
        reach = MAX_DEVIATIONS * (_within_sd(moments) / moments.scale)
        return ColumnRange(means.min(axis=0) - reach, means.max(axis=0) + reach)


def check_data_range(moments: ClassMoments, blocks: Blocks) -> None:
    """Raise a DataError if a column, or single rows of it, are out of the range of double precision.

    Parameters
    ----------
    moments : ClassMoments
        Moments of the columns of the blocks.
    blocks : Blocks
        The rows, if there are any, to name the row at fault.
    """
    sd, means = _within_sd(moments), moments.means[moments.rows > 0]
    gaps = means.max(axis=0) - means.min(axis=0)
    _check_sizes(np.log10(np.maximum(sd, gaps)) - np.log10(moments.scale), blocks.terms)
    distant = np.flatnonzero(gaps / MAX_DEVIATIONS > sd)
    if len(distant):
        _refuse_distant_means(moments, sd, int(distant[0]), blocks)
    suspect = np.flatnonzero(np.abs(np.log10(sd) - np.log10(moments.scale)) > np.log10(SUSPECT_SD))
    if len(suspect) and blocks.table.nrows:
        _check_rows(blocks, suspect)


def _within_sd(moments: ClassMoments) -> Floats:
    """Standard deviations (p,) in z within classes; over all rows if these are zero, and one if both are."""
    within = np.sqrt(moments.squares.sum(axis=0) / moments.total)
    with np.errstate(over="ignore"):
        overall = np.sqrt(total_squares(moments) / moments.total)
    return np.asarray(np.where(within > 0, within, np.where(overall > 0, overall, 1.0)))


def _check_sizes(log_sizes: Floats, terms: tuple[str, ...]) -> None:
    """Raise a DataError for a column whose variation, a decimal logarithm (p,), is too small or too large."""
    wild = np.flatnonzero((log_sizes < MIN_LOG_SIZE) | (log_sizes > MAX_LOG_SIZE))
    if len(wild):
        name, size = terms[wild[0]], float(log_sizes[wild[0]])
        more = f" (and {len(wild) - 1} more)" if len(wild) > 1 else ""
        raise DataError(
            f"Column {name!r} varies by about 1e{size:.0f}{more}, and its coefficients would be out of the "
            f"range of double precision: give it in other units, as in data[{name!r}] * "
            f"1e{-np.sign(size) * 290:.0f}."
        )


def _refuse_distant_means(moments: ClassMoments, sd: Floats, column: int, blocks: Blocks) -> NoReturn:
    """Raise the OutOfRangeError of class means that are too far apart."""
    largest = int(np.argmax(moments.counts))
    centre, unit = moments.class_means[largest], sd / moments.scale
    if blocks.table.nrows:
        _refuse_far_rows(blocks, np.array([column]), centre[[column]], unit[[column]])
    distances = np.abs(moments.class_means[:, column] - centre[column])
    label = blocks.design.levels[int(np.argmax(np.where(moments.rows > 0, distances, 0.0)))]
    name = blocks.terms[column]
    raise OutOfRangeError(
        f"The mean of column {name!r} in class {label!r} is more than {MAX_DEVIATIONS:g} within-class "
        "standard deviations from the mean of another class. Correct the values, or leave the column out.",
        columns=(name,),
    )


def _check_rows(blocks: Blocks, columns: Codes) -> None:
    """Raise an OutOfRangeError for the first row that is far from most rows in some columns (c,)."""
    sample, n_sampled = [], 0
    for _, x, _, _ in used_rows(blocks):
        sample.append(x[: SAMPLE_ROWS - n_sampled, columns])
        n_sampled += len(sample[-1])
        if n_sampled == SAMPLE_ROWS:
            break
    values = np.concatenate(sample)
    centre = np.nanmedian(values, axis=0)
    with np.errstate(over="ignore"):
        deviations = np.abs(values - centre)
    unit = np.ones(len(columns))
    for j, column in enumerate(deviations.T):
        # Most rows of a column may have the same value.
        unit[j] = np.median(column[column > 0]) if (column > 0).any() else np.inf
    _refuse_far_rows(blocks, columns, centre, unit)


def _refuse_far_rows(blocks: Blocks, columns: Codes, centre: Floats, unit: Floats) -> None:
    """Raise an OutOfRangeError for the first row more than 1e100 units (c,) from a centre (c,)."""
    for place, x, _, _ in used_rows(blocks):
        with np.errstate(over="ignore", invalid="ignore"):
            far = np.abs(x[:, columns] - centre) / MAX_DEVIATIONS > unit
        if far.any():
            row, j = np.argwhere(far)[0].tolist()
            position = place.start + row if isinstance(place, slice) else int(place[row])
            label = blocks.table.label(position)
            refuse_far(blocks.terms[columns[j]], float(x[row, columns[j]]), label)
