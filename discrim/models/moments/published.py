"""Moments from published statistics: means, covariances and counts of rows that are not available."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.moments.derived_moments import moments_of_covariances
from discrim.core.moments.level_counts import LevelCounts
from discrim.core.numerics.arrays import Floats
from discrim.data.values import format_value
from discrim.errors import DataError
from discrim.formula.design import Design
from discrim.formula.grammar import quote
from discrim.models.base import reading
from discrim.models.base.reading import Divisor, check_word, join_labels
from discrim.models.moments.moments import Moments

SYMMETRY_TOLERANCE = 1e-8
"""Largest asymmetry of correlations, and largest absolute value of a negative eigenvalue per column."""


@reading.with_public_errors
def from_stats(
    means: Any,
    covs: Any,
    counts: Any,
    *,
    method: Divisor = "moment",
) -> Moments:
    """Moments from published statistics, for a discriminant analysis of a table that is not available.

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
        Labels do not match; a value is missing or infinite; a covariance is not symmetric or not positive
        semidefinite; a class has less than one row, or N - K is zero.

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
            "means is not a DataFrame.", hint="Pass class means, a DataFrame of classes by columns."
        )
    for axis, axis_name in ((means.index, "classes"), (means.columns, "columns")):
        if isinstance(axis, pd.MultiIndex):
            raise DataError(
                f"The {axis_name} of means have a MultiIndex with {axis.nlevels} levels, such as "
                f"{axis[0]!r}.",
                hint="Join the levels into one name.",
            )
        if axis.has_duplicates or axis.hasnans:
            raise DataError(
                f"The {axis_name} of means, {join_labels(axis)}, are not unique.", hint="Use unique names."
            )
    terms = tuple(str(name) for name in means.columns)
    if len(means) < 2 or not terms:
        raise DataError(
            f"means has {len(means)} rows and {len(terms)} columns.",
            hint="Pass two or more classes and one or more columns.",
        )
    sizes = _read_class_counts(counts, means.index)
    centres = _finite_array(means, "means", (len(means), len(terms)))
    by_class, matrices = _read_covariances(covs, means, sizes)
    divisors = sizes - (method == "moment")
    if not by_class:
        divisors = np.array([sizes.sum() - (len(sizes) if method == "moment" else 0)])
        if not divisors > 0:
            raise DataError(
                f"{sizes.sum():g} observations in {len(sizes)} classes leave N - K = 0 degrees of freedom.",
                hint="Pass statistics of more observations.",
            )
    response = means.index.name if isinstance(means.index.name, str) and means.index.name else "class"
    while response in terms:
        response += "_"
    formula = f"{quote(response)} ~ {' + '.join(map(quote, terms))}"
    levels = tuple(means.index.tolist())
    design = Design(
        formula, response, response_columns=(response,), columns=terms, terms=terms, levels=levels,
        is_plain=True, spec=None, functions=(),
    )  # fmt: skip
    sums = moments_of_covariances(centres, matrices, sizes, divisors)
    # Without rows, columns cannot be checked for negative values.
    counts = LevelCounts((), np.zeros(len(terms), dtype=bool))
    weighted = bool((sizes != np.round(sizes)).any())
    return Moments(design, sums, counts, "class" if by_class else "pooled", False, 0, weighted)


def _read_class_counts(counts: Any, classes: pd.Index) -> Floats:
    """Return the counts (K,) of a user in the order of the classes, which need not be integers.

    Raises DataError if they have other classes, are not finite numbers, or are less than one.
    """
    if isinstance(counts, pd.Series | Mapping):
        class_counts = dict(counts)
        missing = [c for c in classes if c not in class_counts]
        unknown = [c for c in class_counts if c not in set(classes)]
        if missing or unknown:
            raise DataError(
                f"counts and means have different classes: class {(missing or unknown)[0]!r} is only in "
                "one of them.",
                hint="Pass counts and means of the same classes.",
                classes=((missing or unknown)[0],),
            )
        counts = [class_counts[c] for c in classes]
    sizes = _finite_array(counts, "counts", (len(classes),))
    if (sizes < 1).any():
        raise DataError(
            f"Class {format_value(classes[int(np.argmax(sizes < 1))])} has {sizes.min():g} observations.",
            hint="Drop the class.",
            classes=(classes[int(np.argmax(sizes < 1))],),
        )
    return sizes


def _read_covariances(covs: Any, means: pd.DataFrame, sizes: Floats) -> tuple[bool, Floats]:
    """Validate the covariances of a user; raise DataError if they are not valid.

    Parameters
    ----------
    covs : object
        Argument of `from_stats`.
    means : DataFrame
        Class means, classes by columns.
    sizes : (K,) float
        Rows of each class.

    Returns
    -------
    by_class : bool
        Whether there is a covariance for each class.
    matrices : (1, p, p) or (K, p, p) float
        Common covariance, or covariance of each class, in the order of `means`; zeros for a class of one row.
    """
    classes = means.index
    columns = means.columns
    if isinstance(covs, pd.DataFrame) and covs.index.nlevels == 2:
        covs = {label: covs.xs(label) for label in covs.index.unique(level=0)}
    is_matrix = isinstance(covs, list | tuple | np.ndarray) and len(covs) > 0 and np.ndim(covs[0]) == 1
    if isinstance(covs, pd.DataFrame) or is_matrix:
        return False, _validated_covariance(covs, columns, "covs")[None]
    if isinstance(covs, Mapping | pd.Series):
        class_covariances = dict(covs)
        if set(class_covariances) != set(classes):
            raise DataError(
                f"covs has the classes {join_labels(class_covariances)}, and means has "
                f"{join_labels(classes)}.",
                hint="Pass covs and means of the same classes.",
                classes=class_covariances,
            )
        covs = [class_covariances[c] for c in classes]
    if not isinstance(covs, list | tuple | np.ndarray) or len(covs) != len(classes):
        raise DataError(
            "covs is neither one common covariance matrix nor one for each of the classes "
            f"{join_labels(classes)}.",
            hint="Pass one matrix, or one for each class.",
            classes=classes,
        )
    matrices = [
        _validated_zero_covariance(one, columns, c)
        if size == 1
        else _validated_covariance(one, columns, f"The covariance of {c!r}")
        for c, one, size in zip(classes, covs, sizes, strict=True)
    ]
    return True, np.stack(matrices)


def _validated_zero_covariance(matrix: Any, columns: pd.Index, label: Any) -> Floats:
    """Check that the covariance of a class of one row is zero or missing, and return zeros.

    Parameters
    ----------
    matrix : (p, p) array-like
    columns : Index of length p
    label : object
        Label of the class, for error messages.

    Returns
    -------
    (p, p) float
        Zeros. Other values raise DataError.
    """
    elements = np.asarray(matrix, dtype=object)
    filled = np.where(pd.isna(elements), 0.0, elements)
    values = _finite_array(filled, f"The covariance of {label!r}", (len(columns), len(columns)))
    if values.any():
        raise DataError(
            f"Class {label!r} has one observation and therefore no covariance.",
            hint="Pass zeros, or the statistics of all its observations.",
            classes=(label,),
        )
    return values


def _validated_covariance(matrix: Any, columns: pd.Index, matrix_name: str) -> Floats:
    """Return a covariance of the user as an exactly symmetric array, in the order of the columns.

    Raises DataError if it has other columns, or is not symmetric and positive semidefinite up to rounding.

    Parameters
    ----------
    matrix : DataFrame or (p, p) array-like
    columns : Index of length p
        Columns of the means, which determine the order of the result.
    matrix_name : str
        Name of the matrix in error messages.

    Returns
    -------
    (p, p) float
        Mean of the matrix and its transpose, which may be singular.
    """
    if isinstance(matrix, pd.DataFrame):
        if set(matrix.index) != set(columns) or set(matrix.columns) != set(columns):
            raise DataError(
                f"{matrix_name} has the columns {join_labels(matrix.columns)}, and means has "
                f"{join_labels(columns)}.",
                hint="Use the same columns.",
                columns=matrix.columns,
            )
        matrix = matrix.loc[columns, columns]
    values = _finite_array(matrix, matrix_name, (len(columns), len(columns)))
    variances = np.diagonal(values)
    if (variances < 0).any():
        j = int(np.argmax(variances < 0))
        raise DataError(
            f"{matrix_name} has the variance {variances[j]:g} of {columns[j]!r}.",
            hint="Pass non-negative variances.",
            columns=(columns[j],),
        )
    unit = np.sqrt(np.where(variances > 0, variances, 1.0))
    asymmetry = np.abs(values - values.T) / (unit[:, None] * unit)
    if asymmetry.max() > SYMMETRY_TOLERANCE:
        i, j = np.argwhere(asymmetry == asymmetry.max())[0].tolist()
        raise DataError(
            f"{matrix_name} is not symmetric: {float(values[i, j])!r} and {float(values[j, i])!r} for "
            f"{columns[i]!r} and {columns[j]!r}.",
            hint="Pass the same values above and below the diagonal.",
            columns=(columns[i], columns[j]),
        )
    values = (values + values.T) / 2
    min_eigenvalue = float(np.linalg.eigvalsh(values / (unit[:, None] * unit))[0])
    if min_eigenvalue < -SYMMETRY_TOLERANCE * len(columns):
        raise DataError(
            f"{matrix_name} is not positive semidefinite: the smallest eigenvalue of its correlations is "
            f"{min_eigenvalue:.2g}.",
            hint="Pass more digits, or drop a column that is nearly a linear combination of others.",
        )
    return np.asarray(values)


def _finite_array(values: Any, array_name: str, shape: tuple[int, ...]) -> Floats:
    """Return a copy of values as a float array; raise DataError if they are not finite numbers of the shape.

    Parameters
    ----------
    values : array-like
    array_name : str
        Name of the array in error messages.
    shape : tuple of int
    """
    try:
        # Before pandas 3.0 np.array(frame, copy=True) may return a view of the frame.
        array = np.asarray(values, dtype=np.float64).copy()
    except (TypeError, ValueError):
        raise DataError(f"{array_name} is not numeric.", hint="Pass numbers.") from None
    if array.shape != shape:
        raise DataError(
            f"{array_name} has shape {array.shape} instead of {shape}.",
            hint="Use the numbers of classes and columns of means.",
        )
    if not np.isfinite(array).all():
        raise DataError(f"{array_name} has a missing or infinite value.", hint="Pass finite values.")
    return array
