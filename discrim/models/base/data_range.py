"""The range of data that models accept: checked once in a fit, and derived from a fit for new observations.

Two limits apply. A column varies by 1e-303 to 1e304: its coefficients are then within double precision.
No value lies more than 1e100 within-class standard deviations from the class means: squared distances
are then within double precision, and models do not have to consider overflow.

In a fit a distant value inflates the standard deviation of its class. Class means far apart, and standard
deviations of classes that differ by as much, show in the moments. Of one standard deviation for all classes
only the size shows: if it is far from one, the rows are read again and compared with the median absolute
deviation from the median. A column of which all values but one are below 1e-50 is not detected.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from discrim.core.covariance.covariance import total_squares
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.rules import LinearRule
from discrim.data.column_range import MAX_DEVIATIONS, WITHIN_CLASSES, ColumnRange, raise_out_of_range
from discrim.design.design_rows import DesignRows
from discrim.design.rows import used_rows
from discrim.errors import DataError, OutOfRangeError

MIN_LOG_SIZE = -303.0
MAX_LOG_SIZE = 304.0
"""Smallest and largest decimal logarithm of the variation of a column: its inverse is then a float64."""

SUSPECT_SD = 1e50
"""Standard deviation above which, or below whose inverse, the rows are searched for distant values."""

MIN_SCORE_LIMIT = 1e50
"""Smallest useful limit of scores, far above the scores of rows within the range of a fit."""

SAMPLE_ROWS = 10_000
"""Rows from which the median of a column is taken."""


def column_range(moments: ClassMoments) -> ColumnRange:
    """Return the range of each column, in the units of the data, outside which new rows are rejected.

    Its `low` and `high` (p,) extend from the smallest to the largest class mean, plus `MAX_DEVIATIONS`
    standard deviations within classes (see `_within_sd`) on either side.
    """
    means = moments.class_means[moments.rows > 0]
    with np.errstate(over="ignore"):
        max_deviations = MAX_DEVIATIONS * (_within_sd(moments, _variances(moments)) / moments.scale)
        return ColumnRange(means.min(axis=0) - max_deviations, means.max(axis=0) + max_deviations)


def score_limit(rule: LinearRule, accepted: ColumnRange | None) -> float:
    """Return the absolute value of linear scores up to which all values of a row are within their range.

    A check of the scores then replaces a check of the rows: a single value outside its range changes some
    score by more than twice the limit.

    Parameters
    ----------
    rule : LinearRule
    accepted : ColumnRange or None
        Range of the columns in the units of the data, from `column_range`.

    Returns
    -------
    float
        Zero if some column has little effect on the scores, so that scores do not show its values; infinite
        without a range.
    """
    if accepted is None:
        return np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        half_range = (accepted.high - accepted.low) / 2 * rule.scale
        limit = float((np.abs(rule.coef).max(axis=1) * half_range).min()) / 2
    return limit if limit > MIN_SCORE_LIMIT else 0.0


def check_data_range(moments: ClassMoments, design_rows: DesignRows) -> None:
    """Raise DataError if a column varies too much or too little, or has a value too far from the class means.

    A column has to vary by 1e-303 to 1e304, in its standard deviation within classes or its class means. A
    value more than `MAX_DEVIATIONS` standard deviations of a class from its mean raises OutOfRangeError, a
    subclass. The rows are read only if the moments are suspicious.

    Parameters
    ----------
    moments : ClassMoments
        Moments of the columns of the rows.
    design_rows : DesignRows
        The rows, from which the message names the row of a distant value. Without rows, for example for
        published moments, only the moments are checked.
    """
    variances = _variances(moments)
    means = moments.means[moments.rows > 0]
    sd = _within_sd(moments, variances)
    largest_sd = np.sqrt(variances.max(axis=0))
    extent = np.maximum(largest_sd, means.max(axis=0) - means.min(axis=0))
    sizes = np.concatenate([sd, extent])
    if (moments.scale == 1).all() and sd.min() > 1 / SUSPECT_SD and sizes.max() < SUSPECT_SD:
        return
    _check_column_variation(np.log10(np.maximum(sd, extent)) - np.log10(moments.scale), design_rows.terms)
    distant = np.flatnonzero(extent / MAX_DEVIATIONS > sd)
    if len(distant):
        _raise_distant_classes(moments, int(distant[0]), design_rows)
    log_sd = np.log10(sd) - np.log10(moments.scale)
    suspect = np.flatnonzero(np.abs(log_sd) > np.log10(SUSPECT_SD))
    if len(suspect) and design_rows.table.nrows:
        _raise_if_distant_rows(design_rows, suspect)


def _variances(moments: ClassMoments) -> Floats:
    """Return the variances within classes of the scaled columns: (K, p), or (1, p) for pooled moments.

    The divisor is the weight of the class, or the total weight. The variance of a class without rows is zero.
    """
    squares = moments.squares
    if len(squares) < moments.n_classes:
        return np.asarray(squares / moments.total)
    return np.asarray(squares / np.maximum(moments.counts, np.finfo(np.float64).tiny)[:, None])


def _within_sd(moments: ClassMoments, variances: Floats) -> Floats:
    """Return the smallest positive standard deviation (p,) within a class, for each scaled column.

    For pooled moments it is the standard deviation within all classes. If a column does not vary within
    classes, the standard deviation over all rows is returned, or one if this is zero, too. `variances` are
    from `_variances`.
    """
    if variances.min() > 0:
        return np.asarray(np.sqrt(variances.min(axis=0)))
    within = np.where(variances > 0, variances, np.inf).min(axis=0)
    with np.errstate(over="ignore"):
        overall = total_squares(moments) / moments.total
    return np.sqrt(np.where(np.isfinite(within), within, np.where(overall > 0, overall, 1.0)))


def _check_column_variation(log_sizes: Floats, terms: tuple[str, ...]) -> None:
    """Raise DataError for a column whose variation is too small or too large.

    `log_sizes` (p,) are decimal logarithms of the variation in the units of the data.
    """
    # Sizes of columns whose values differ by more than the largest float64 are not finite.
    log_sizes = np.where(np.isfinite(log_sizes), log_sizes, np.log10(np.finfo(np.float64).max))
    out_of_range = np.flatnonzero((log_sizes < MIN_LOG_SIZE) | (log_sizes > MAX_LOG_SIZE))
    if len(out_of_range):
        name = terms[out_of_range[0]]
        size = float(log_sizes[out_of_range[0]])
        more = f" (and {len(out_of_range) - 1} more)" if len(out_of_range) > 1 else ""
        raise DataError(
            f"Column {name!r} varies by about 1e{size:.0f}{more}. Its coefficients would be out of the "
            "range of double precision.",
            hint=f"Use other units, such as data[{name!r}] * 1e{-np.sign(size) * 290:.0f}.",
            columns=(name,),
        )


def _raise_distant_classes(moments: ClassMoments, column: int, design_rows: DesignRows) -> NoReturn:
    """Raise OutOfRangeError because the classes are too far apart in a column for their variation.

    If there are rows, the message names one that is far from the mean of the class with the smallest positive
    variance, or for pooled moments of the largest class.

    Parameters
    ----------
    moments : ClassMoments
    column : int
        Position of the column.
    design_rows : DesignRows
    """
    if design_rows.table.nrows:
        variances = _variances(moments)[:, column]
        by_class = len(variances) == moments.n_classes
        k = np.argmin(np.where(variances > 0, variances, np.inf)) if by_class else np.argmax(moments.counts)
        unit = _within_sd(moments, _variances(moments))[[column]] / moments.scale[column]
        _raise_if_far_rows(design_rows, np.array([column]), moments.class_means[k, [column]], unit)
    name = design_rows.terms[column]
    raise OutOfRangeError(
        f"Values of column {name!r} lie more than {MAX_DEVIATIONS:g} standard deviations of a class from "
        "the mean of that class.",
        hint="Correct the values, or drop the column from the formula.",
        columns=(name,),
    )


def _raise_if_distant_rows(design_rows: DesignRows, columns: Codes) -> None:
    """Raise OutOfRangeError for the first row with a value far from the median of one of the columns.

    Far is more than `MAX_DEVIATIONS` units. The unit is the median of the non-zero absolute deviations from
    the median, in the first `SAMPLE_ROWS` rows that the fit uses. A column that is constant in them is not
    checked. `columns` (c,) are positions.
    """
    sample = []
    n_sampled = 0
    for _, x, _, _ in used_rows(design_rows):
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
    _raise_if_far_rows(design_rows, columns, centre, unit, "median deviations from the median of the column")


def _raise_if_far_rows(
    design_rows: DesignRows, columns: Codes, centre: Floats, unit: Floats, measure: str = WITHIN_CLASSES
) -> None:
    """Raise an OutOfRangeError for the first used row that is more than `MAX_DEVIATIONS` units from a centre.

    Parameters
    ----------
    design_rows : DesignRows
    columns : (c,) int
        Positions of the columns that are checked.
    centre, unit : (c,) float
        Centre of each column, and the unit in which distances from it are measured, in units of the data.
    measure : str
        Description of the unit in the message.
    """
    for block_rows, x, _, _ in used_rows(design_rows):
        with np.errstate(over="ignore", invalid="ignore"):
            is_far = np.abs(x[:, columns] - centre) / MAX_DEVIATIONS > unit
        if is_far.any():
            row, j = np.argwhere(is_far)[0].tolist()
            position = block_rows.start + row if isinstance(block_rows, slice) else int(block_rows[row])
            label = design_rows.table.label(position)
            raise_out_of_range(design_rows.terms[columns[j]], float(x[row, columns[j]]), label, measure)
