"""Moments from published statistics: means, covariances and counts of rows that are not available."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.moments.derived_moments import given_moments
from discrim.core.moments.level_counts import LevelCounts
from discrim.core.numerics.arrays import Floats
from discrim.data.values import shown
from discrim.errors import DataError
from discrim.formula.design import Design
from discrim.formula.grammar import quote
from discrim.models.base import reading
from discrim.models.base.reading import Divisor, check_word, listed
from discrim.models.moments.moments import Moments

SYMMETRY = 1e-8
"""How far a correlation may be from its transpose, and an eigenvalue of correlations below zero."""


@reading.with_keyword_hints
def from_stats(
    means: Any,
    covs: Any,
    counts: Any,
    *,
    method: Divisor = "moment",
) -> Moments:
    """Moments from published statistics, for a discriminant analysis of a table that is no longer there.

    Parameters
    ----------
    means : DataFrame, classes by columns
        Class means. The name of the index is the name of the response, by default "class".
    covs : DataFrame or (p, p) array; or dict by class, or sequence in the order of the classes, of these
        The covariance within classes, or the covariance of each class, which `qda` needs. The covariances of
        all classes may also be one DataFrame by class and column, as `groupby(...).cov()` of pandas returns.
        For a class of one row the covariance is zero or missing.
    counts : Series or dict by class, or sequence in the order of the classes
        Number of rows of each class.
    method : {"moment", "mle"}
        Divisor of the covariances: "moment" is N - K (n_k - 1 by class), and "mle" is N (n_k).

    Returns
    -------
    Moments
        They are passed as `moments=` to `lda`, `qda`, `rda`, `indicator`, `naive_bayes`, `shrunken_centroids`
        and `nearest_centroid`; the last three, `qda` and `rda` need a covariance for each class. They can be
        added to others of the same columns.

    Raises
    ------
    DataError
        Labels do not match; a value is missing or infinite; a covariance is not symmetric or has a negative
        variance; or a class has less than one row.

    Notes
    -----
    For normal classes, counts, means and covariances are sufficient: the rows contain no more information
    (Anderson, 2003, An Introduction to Multivariate Statistical Analysis, sec. 3.3).

    Examples
    --------
    >>> import discrim
    >>> iris = discrim.datasets.load_iris()
    >>> groups = iris.groupby("species", observed=True)
    >>> covs = {label: rows.drop(columns="species").cov() for label, rows in groups}
    >>> given = discrim.from_stats(groups.mean(), covs, groups.size())
    >>> discrim.lda(moments=given).predict(iris.iloc[[0, 70]]).tolist()
    ['setosa', 'virginica']
    """
    check_word("method", method, Divisor)
    if not isinstance(means, pd.DataFrame):
        raise DataError(
            "means is not a DataFrame.", hint="Give class means with classes as rows and columns by name."
        )
    for axis, what in ((means.index, "classes"), (means.columns, "columns")):
        if isinstance(axis, pd.MultiIndex):
            raise DataError(
                f"The {what} of means have {axis.nlevels} names each, as {axis[0]!r}.",
                hint="Join them into one.",
            )
        if axis.has_duplicates or axis.hasnans:
            raise DataError(
                f"The {what} of means, {listed(axis)}, are not all different.", hint="Name each once."
            )
    terms = tuple(str(name) for name in means.columns)
    if len(means) < 2 or not terms:
        raise DataError(
            f"means has {len(means)} rows and {len(terms)} columns.", hint="Give two classes and a column."
        )
    sizes = _class_counts(counts, means.index)
    centres = _finite(means, "means", (len(means), len(terms)))
    by_class, matrices = _covariances(covs, means, sizes)
    divisors = sizes - (method == "moment")
    if not by_class:
        divisors = np.array([sizes.sum() - (len(sizes) if method == "moment" else 0)])
        if not divisors > 0:
            raise DataError(
                f"{sizes.sum():g} rows of {len(sizes)} classes leave N - K = 0 degrees of freedom.",
                hint="Give more rows.",
            )
    response = means.index.name if isinstance(means.index.name, str) and means.index.name else "class"
    while response in terms:
        response += "_"
    formula = f"{quote(response)} ~ {' + '.join(map(quote, terms))}"
    levels = tuple(means.index.tolist())
    design = Design(formula, response, (response,), terms, terms, levels, True, None, ())
    sums = given_moments(centres, matrices, sizes, divisors)
    # Without rows, columns cannot be checked for negative values.
    counts = LevelCounts((), np.zeros(len(terms), dtype=bool))
    weighted = bool((sizes != np.round(sizes)).any())
    return Moments(design, sums, counts, "class" if by_class else "pooled", False, 0, weighted)


def _class_counts(counts: Any, classes: pd.Index) -> Floats:
    if isinstance(counts, pd.Series | Mapping):
        given = dict(counts)
        missing = [c for c in classes if c not in given]
        unknown = [c for c in given if c not in set(classes)]
        if missing or unknown:
            raise DataError(
                f"counts and means differ in class {(missing or unknown)[0]!r}.",
                hint="Give the same classes.",
                classes=((missing or unknown)[0],),
            )
        counts = [given[c] for c in classes]
    sizes = _finite(counts, "counts", (len(classes),))
    if (sizes < 1).any():
        raise DataError(
            f"Class {shown(classes[int(np.argmax(sizes < 1))])} has {sizes.min():g} rows.",
            hint="Leave it out.",
            classes=(classes[int(np.argmax(sizes < 1))],),
        )
    return sizes


def _covariances(covs: Any, means: pd.DataFrame, sizes: Floats) -> tuple[bool, Floats]:
    """Return whether there is a covariance for each class, and the matrices (1 or K, p, p).

    Parameters
    ----------
    covs : object
        Argument of `from_stats`.
    means : DataFrame
        Class means, classes by columns.
    sizes : (K,) float
        Rows of each class.
    """
    classes = means.index
    columns = means.columns
    if isinstance(covs, pd.DataFrame) and covs.index.nlevels == 2:
        covs = {label: covs.xs(label) for label in covs.index.unique(level=0)}
    is_matrix = isinstance(covs, list | tuple | np.ndarray) and len(covs) > 0 and np.ndim(covs[0]) == 1
    if isinstance(covs, pd.DataFrame) or is_matrix:
        return False, _covariance(covs, columns, "covs")[None]
    if isinstance(covs, Mapping | pd.Series):
        given = dict(covs)
        if set(given) != set(classes):
            raise DataError(
                f"covs is of the classes {listed(given)}, means of {listed(classes)}.",
                hint="Give the same.",
                classes=given,
            )
        covs = [given[c] for c in classes]
    if not isinstance(covs, list | tuple | np.ndarray) or len(covs) != len(classes):
        raise DataError(
            f"covs is not a matrix for each of the classes {listed(classes)}, nor one within all of them.",
            hint="Give either.",
            classes=classes,
        )
    each = [
        _no_covariance(one, columns, c)
        if size == 1
        else _covariance(one, columns, f"The covariance of {c!r}")
        for c, one, size in zip(classes, covs, sizes, strict=True)
    ]
    return True, np.stack(each)


def _no_covariance(matrix: Any, columns: pd.Index, label: Any) -> Floats:
    """Return the covariance (p, p) of a class of one row, which has to be zero or missing."""
    given = np.asarray(matrix, dtype=object)
    filled = np.where(pd.isna(given), 0.0, given)
    values = _finite(filled, f"The covariance of {label!r}", (len(columns), len(columns)))
    if values.any():
        raise DataError(
            f"Class {label!r} has one row and so no covariance.",
            hint="Give zeros, or all of its rows.",
            classes=(label,),
        )
    return values


def _covariance(matrix: Any, columns: pd.Index, what: str) -> Floats:
    """Return a covariance (p, p) of the user as an array; raise DataError if it is not valid."""
    if isinstance(matrix, pd.DataFrame):
        if set(matrix.index) != set(columns) or set(matrix.columns) != set(columns):
            raise DataError(
                f"{what} is of the columns {listed(matrix.columns)}, means of {listed(columns)}.",
                hint="Give the same.",
                columns=matrix.columns,
            )
        matrix = matrix.loc[columns, columns]
    values = _finite(matrix, what, (len(columns), len(columns)))
    variances = np.diagonal(values)
    if (variances < 0).any():
        j = int(np.argmax(variances < 0))
        raise DataError(f"{what} has variance {variances[j]:g} of {columns[j]!r}.", hint="Give 0 or more.")
    unit = np.sqrt(np.where(variances > 0, variances, 1.0))
    off = np.abs(values - values.T) / (unit[:, None] * unit)
    if off.max() > SYMMETRY:
        i, j = np.argwhere(off == off.max())[0].tolist()
        raise DataError(
            f"{what} is not symmetric: {float(values[i, j])!r} and {float(values[j, i])!r} for "
            f"{columns[i]!r} and {columns[j]!r}.",
            hint="Give the same above and below the diagonal.",
        )
    values = (values + values.T) / 2
    least = float(np.linalg.eigvalsh(values / (unit[:, None] * unit))[0])
    if least < -SYMMETRY * len(columns):
        raise DataError(
            f"{what} is no covariance: a combination of the columns has a negative variance, {least:.2g} "
            "where each column has 1.",
            hint="Give more digits, or leave out a column that others nearly determine.",
        )
    return np.asarray(values)


def _finite(values: Any, what: str, shape: tuple[int, ...]) -> Floats:
    """Return values as a float array of a shape; raise DataError if they are not finite numbers."""
    try:
        # Before 3.0 a frame of pandas gives its own memory to who asks for a copy.
        array = np.asarray(values, dtype=np.float64).copy()
    except (TypeError, ValueError):
        raise DataError(f"{what} is not made of numbers.", hint="Give numbers.") from None
    if array.shape != shape:
        raise DataError(
            f"{what} has shape {array.shape}, where means asks for {shape}.",
            hint="Give as many rows and columns.",
        )
    if not np.isfinite(array).all():
        raise DataError(f"{what} has a value that is missing or infinite.", hint="Give all of them.")
    return array
