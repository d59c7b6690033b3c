"""Tests that allow more variables than observations.

They are called by `box_m(method=)` and `manova(method=)`, and by the verb `sphericity_test`. The statistics
are in `discrim.inference.high_dimensional`; this module reads the rows and checks that a test is applicable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.moments.derived_moments import constant_within_classes, limit_scales
from discrim.core.moments.moments import (
    MIN_EXCESS_WEIGHT,
    ClassMoments,
    column_squares,
    deviations_from_class_means,
)
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.map_reduce import map_reduce
from discrim.core.numerics.progress import Progress
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.design.rows import gather_weighted_rows, read_rows
from discrim.errors import CollinearError, NotSupportedError
from discrim.inference import high_dimensional as tests
from discrim.inference.result import TestResult
from discrim.models.base.reading import (
    Data,
    NaAction,
    check_word,
    is_wide,
    join_labels,
    raise_if_large,
    usable_rows,
    with_public_errors,
)

CovarianceMethod = Literal["schott", "li-chen", "cai-liu-xia"]
"""Tests of equal covariance matrices, for `box_m(method=)`."""

MeanMethod = Literal["srivastava", "chen-qin", "cai-liu-xia", "dempster"]
"""Tests of equal means, for `manova(method=)`."""

SphericityMethod = Literal["john", "srivastava", "chen-zhang-zhong"]
"""Tests of sphericity, for `sphericity_test(method=)`."""

MomentLevel = Literal["variances", "pooled", "class"]
"""Second moments that a test uses: variances of the columns within each class, the scatter matrix within
classes pooled over them, or a scatter matrix for each class."""


class TestRequirements(NamedTuple):
    """Requirements of a test.

    Attributes
    ----------
    moments : {"variances", "pooled", "class"}
        Second moments that the test uses: variances of the columns, a pooled scatter matrix, or one by class.
    min_class_rows : int
        Smallest sum of weights (without weights, number of rows) of each class.
    min_columns : int
        Smallest number of columns.
    divides_by_variances : bool
        Whether each column must vary within classes; otherwise it suffices if one column does.
    """

    moments: MomentLevel
    min_class_rows: int = 1
    min_columns: int = 1
    divides_by_variances: bool = False


COVARIANCE_TESTS: Mapping[CovarianceMethod, TestRequirements] = {
    "schott": TestRequirements("class", 3),
    "li-chen": TestRequirements("class", 4),
    "cai-liu-xia": TestRequirements("variances", 3, min_columns=2),
}
MEAN_TESTS: Mapping[MeanMethod, TestRequirements] = {
    "srivastava": TestRequirements("pooled", divides_by_variances=True),
    "chen-qin": TestRequirements("class", 4),
    "cai-liu-xia": TestRequirements("variances", min_columns=2, divides_by_variances=True),
    "dempster": TestRequirements("pooled"),
}

SPHERICITY_TESTS: Mapping[SphericityMethod, TestRequirements] = {
    "john": TestRequirements("pooled", min_columns=2),
    "srivastava": TestRequirements("pooled", min_columns=2),
    "chen-zhang-zhong": TestRequirements("class", 4, min_columns=2),
}

MIN_DF_WITHIN = 3
"""Smallest degrees of freedom within classes for which the reciprocal of a variance has a mean."""


def covariance_test(design_rows: DesignRows, method: CovarianceMethod, na_action: NaAction) -> TestResult:
    """Test whether the classes have a common covariance matrix.

    Parameters
    ----------
    design_rows : DesignRows
        Rows of the design matrix, with classes.
    method : {"schott", "li-chen", "cai-liu-xia"}
        "schott" compares any number of classes, the others two. "cai-liu-xia" needs all rows in memory.
    na_action : {"drop", "raise"}
        Whether incomplete rows are dropped or are a DataError.

    Returns
    -------
    TestResult
        Statistic and p-value of the method.

    Raises
    ------
    NotSupportedError
        There are more than two classes for a test of two, the weights are relative ("li-chen": or not
        integers), there are too few rows or columns, the variance estimate of the statistic is not positive
        ("li-chen"), or the rows do not fit into memory or the largest difference lacks a standard error
        ("cai-liu-xia").
    CollinearError
        No column varies within classes.
    """
    check_word("method", method, CovarianceMethod)
    design_rows, moments = _read_for_test(design_rows, method, COVARIANCE_TESTS[method], na_action)
    if method == "schott":
        return tests.schott_test(moments)
    if moments.n_classes > 2:
        raise NotSupportedError(
            f"method={method!r} compares two classes, but there are {moments.n_classes}.",
            hint='Pass method="schott", which compares any number of classes, or keep the rows of two.',
            options={"method": "schott"},
        )
    if method == "li-chen":
        return _require_positive_variance(
            tests.li_chen_test(moments, _fourth_power_sums(design_rows, moments, method)), method, "schott"
        )
    return _largest_covariance_difference_test(design_rows, moments)


def mean_test(design_rows: DesignRows, method: MeanMethod, na_action: NaAction) -> pd.DataFrame:
    """Test whether the classes have equal mean vectors.

    Parameters
    ----------
    design_rows : DesignRows
        Rows of the design matrix, with classes.
    method : {"srivastava", "chen-qin", "cai-liu-xia", "dempster"}
        Test; see `discrim.manova`.
    na_action : {"drop", "raise"}
        Whether incomplete rows are dropped or are a DataError.

    Returns
    -------
    DataFrame
        One row, named after the test: statistic, distribution (name of its null distribution: "normal",
        "Gumbel" or "F"), df1 and df2 (missing unless it is F), p, and assumes (text on the assumptions).

    Raises
    ------
    NotSupportedError
        The weights are relative ("chen-qin": or not integers), there are too few rows or columns, or the
        variance estimate of the statistic is not positive ("chen-qin").
    CollinearError
        A column does not vary within classes although the test divides by its variance, or no column does.
    """
    check_word("method", method, MeanMethod)
    design_rows, moments = _read_for_test(design_rows, method, MEAN_TESTS[method], na_action)
    if method == "chen-qin":
        result = tests.chen_qin_test(moments, _fourth_power_sums(design_rows, moments, method))
        result = _require_positive_variance(result, method, "dempster")
    else:
        compute_test: Callable[[ClassMoments], TestResult] = {
            "srivastava": tests.srivastava_mean_test,
            "cai-liu-xia": tests.cai_liu_xia_mean_test,
            "dempster": tests.dempster_test,
        }[method]
        result = compute_test(moments)
    distribution, (_, df1, df2, _) = next(iter(result.approximations.items()))
    columns = {"statistic": result.statistic, "distribution": distribution, "df1": df1, "df2": df2}
    return pd.DataFrame({**columns, "p": result.pvalue, "assumes": result.assumes}, index=[result.name])


@with_public_errors
def sphericity_test(
    formula: str,
    data: Data,
    *,
    method: SphericityMethod = "john",
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> TestResult:
    """Test whether all variables have equal variances and no correlations within classes.

    The tests allow more variables than observations.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    method : {"john", "srivastava", "chen-zhang-zhong"}
        "john" and "srivastava" assume normal classes; "chen-zhang-zhong" does not.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    TestResult
        John's chi-square statistic, with Ledoit and Wolf's normal approximation in `table`. The statistic of
        the other methods is standard normal, and large if the covariance matrix is not spherical.

    Raises
    ------
    CollinearError
        No column varies within the classes.
    NotSupportedError
        There is only one column, a class has fewer rows than the method requires, or the weights do not count
        rows. "chen-zhang-zhong" requires integer weights.

    Notes
    -----
    The tests assume that the classes have a common covariance matrix, which `box_m` tests. With S the (p, p)
    covariance matrix within K classes of N observations, on nu = N - K degrees of freedom, U = p tr S^2/(tr
    S)^2 - 1 is the variance of its eigenvalues divided by their squared mean. John's statistic nu p U/2
    (1972, Biometrika 59, 169-173) has a chi-square distribution on p (p + 1)/2 - 1 degrees of freedom, also
    for many variables (Ledoit & Wolf, 2002, Annals of Statistics 30, 1081-1102). Srivastava (2005, Journal of
    the Japan Statistical Society 35, 251-272) removes the bias of tr S^2 for normal observations, and Chen,
    Zhang & Zhong (2010, Journal of the American Statistical Association 105, 810-819) for any distribution;
    with several classes all pairs of observations within classes have equal weights. Variables in different
    units cannot be spherical.

    Examples
    --------
    >>> from discrim import sphericity_test
    >>> from discrim.datasets import load_iris
    >>> result = sphericity_test("species ~ .", load_iris())
    >>> round(result.statistic, 3), result.df
    (368.048, 9.0)
    """
    check_word("method", method, SphericityMethod)
    design_rows = read_rows(formula, data, weights=weights, levels=levels, functions=functions)
    design_rows, moments = _read_for_test(design_rows, method, SPHERICITY_TESTS[method], na_action)
    if method == "john":
        return tests.john_test(moments)
    if method == "srivastava":
        return tests.srivastava_sphere_test(moments)
    return tests.chen_zhang_zhong_test(moments, _fourth_power_sums(design_rows, moments, method))


def _read_for_test(
    design_rows: DesignRows, method: str, requirements: TestRequirements, na_action: NaAction
) -> tuple[DesignRows, ClassMoments]:
    """Read the moments of the classes, and check that the test is applicable.

    Parameters
    ----------
    design_rows : DesignRows
        Rows of the design matrix, with classes.
    method : str
        Name of the method, for messages.
    requirements : TestRequirements
        Second moments, rows and columns that the method needs.
    na_action : {"drop", "raise"}
        Whether incomplete rows are dropped or are a DataError.

    Returns
    -------
    design_rows : DesignRows
        The rows, without empty classes and constant columns (dropped with a warning).
    moments : ClassMoments
        Their moments, rescaled by `limit_scales` so that column scales differ by at most 2^200.

    Raises
    ------
    NotSupportedError
        A class has less total weight, or there are fewer columns, than `requirements` demand; the total
        weight minus the number of classes is less than `MIN_DF_WITHIN`; or the weights sum to less than the
        number of rows and therefore do not count rows.
    CollinearError
        No column varies within classes, or a column does not and the test divides by its variance.
    """
    wide = is_wide(design_rows)
    required_moments: Any = {
        "variances": "diagonal",
        "pooled": "thin" if wide else "pooled",
        "class": "thin class" if wide else "class",
    }[requirements.moments]
    design_rows, moments = usable_rows(design_rows, required_moments, na_action)
    if moments.total < (1 - MIN_EXCESS_WEIGHT) * moments.rows.sum():
        raise NotSupportedError(
            f"method={method!r} requires frequency weights, but the weights of {moments.rows.sum()} rows sum "
            f"to {moments.total:g}.",
            hint="If the weights are only relative, divide them by their mean.",
        )
    small_classes = np.flatnonzero(moments.counts < requirements.min_class_rows)
    if len(small_classes):
        raise NotSupportedError(
            f"method={method!r} requires {requirements.min_class_rows} rows in each class, but class "
            f"{format_value(design_rows.design.levels[small_classes[0]])} has "
            f"{moments.counts[small_classes[0]]:g}.",
            hint="Merge the class with another, or leave its rows out.",
            classes=(design_rows.design.levels[small_classes[0]],),
        )
    if moments.total - moments.n_classes < MIN_DF_WITHIN:
        raise NotSupportedError(
            f"method={method!r} requires {MIN_DF_WITHIN} degrees of freedom within classes, but "
            f"{moments.total:g} observations in {moments.n_classes} classes leave "
            f"{moments.total - moments.n_classes:g}.",
            hint="Use more observations.",
        )
    if moments.n_columns < requirements.min_columns:
        raise NotSupportedError(
            f"method={method!r} requires at least two columns, but the formula has one.",
            hint="Add another column to the formula.",
        )
    is_constant = constant_within_classes(moments)
    if is_constant.all() or (requirements.divides_by_variances and is_constant.any()):
        names = join_labels([design_rows.terms[j] for j in np.flatnonzero(is_constant).tolist()])
        alternative = "" if is_constant.all() else ', or pass method="chen-qin", which needs no variances'
        raise CollinearError(
            f"Constant within each class: {names}. method={method!r} requires variation within classes.",
            hint=f"Use another formula{alternative}.",
            columns=[design_rows.terms[j] for j in np.flatnonzero(is_constant).tolist()],
        )
    return design_rows, limit_scales(moments)


def _require_positive_variance(result: TestResult, method: str, alternative: str) -> TestResult:
    """Return the result of a test; raise NotSupportedError if the variance estimate is not positive.

    Parameters
    ----------
    result : TestResult
        The result; its p-value is missing if the variance estimate is not positive.
    method : str
        Method of the test, for the message.
    alternative : str
        Method that the hint recommends.

    Returns
    -------
    TestResult
        `result`, unchanged.
    """
    if np.isnan(result.pvalue):
        raise NotSupportedError(
            f"The unbiased estimate of the variance of the statistic is not positive for method={method!r}. "
            "This can happen with few observations.",
            hint=f'Pass method="{alternative}".',
        )
    return result


def _fourth_power_sums(design_rows: DesignRows, moments: ClassMoments, method: str) -> Floats:
    """Sum the fourth powers of the distances of the rows from their class means, in a second pass.

    Distances are Euclidean over all columns, multiplied by the smallest scale of `moments`.

    Parameters
    ----------
    design_rows : DesignRows
    moments : ClassMoments
        Moments of the rows, for the class means and the units of the columns.
    method : str
        Name of the method, for the message.

    Returns
    -------
    (K,) float
        Weighted sum of each class.

    Raises
    ------
    NotSupportedError
        A weight is not a whole number.
    """
    if design_rows.has_weights and not design_rows.rows.has_whole_weights():
        raise NotSupportedError(
            f"method={method!r} averages over pairs of observations and requires integer weights.",
            hint="Pass weights that are whole numbers.",
        )
    with Progress(0, "distances of the rows"):
        return map_reduce(design_rows, partial(_chunk_fourth_power_sums, moments=moments), np.add)


def _chunk_fourth_power_sums(rows: Any, moments: ClassMoments) -> Floats:
    """Sum the fourth powers of the distances of rows from their class means, by class.

    Parameters
    ----------
    rows : iterable of (x, codes, weights)
        Blocks of rows x (m, p), their class codes (m,), and weights (m,) or None.
    moments : ClassMoments
        Moments of all rows, for the class means and the units of the columns.

    Returns
    -------
    (K,) float
        Weighted sum of each class. Distances are multiplied by the smallest scale of `moments`.
    """
    total = np.zeros(moments.n_classes)
    for x, codes, weights in rows:
        z = deviations_from_class_means(moments, x, codes) * moments.common_unit[:, None]
        powers = column_squares(z) ** 2
        powers = powers if weights is None else powers * weights
        total += np.bincount(codes, powers, minlength=len(total))
    return total


def _largest_covariance_difference_test(design_rows: DesignRows, moments: ClassMoments) -> TestResult:
    """Test two covariance matrices by their largest standardized difference, with all rows in memory.

    Parameters
    ----------
    design_rows : DesignRows
        Rows of two classes.
    moments : ClassMoments
        Their moments.

    Returns
    -------
    TestResult
        The largest standardized difference, with the names of the two columns (or the column of a variance).

    Raises
    ------
    NotSupportedError
        The rows do not fit into memory, or the largest difference lacks a standard error.
    """
    raise_if_large(
        design_rows, 'method="cai-liu-xia" computes the products of all columns, and needs the rows'
    )
    x, codes, weights = gather_weighted_rows(design_rows)
    class_masks = [codes == k for k in range(2)]
    difference = tests.largest_covariance_difference(
        [deviations_from_class_means(moments, x[mask], k).T for k, mask in enumerate(class_masks)],
        [None if weights is None else weights[mask] for mask in class_masks],
    )
    first, second = (design_rows.terms[j] for j in difference.columns)
    if np.isinf(difference.statistic):
        product_name = f"squares of {first!r}" if first == second else f"products of {first!r} and {second!r}"
        raise NotSupportedError(
            f"The {product_name} of the deviations from the class means are constant within each class and "
            "differ between the classes, so the difference has no standard error.",
            hint='Leave the column out, or pass method="schott".',
            options={"method": "schott"},
        )
    pair_label = f"the variance of {first}" if first == second else f"{first} and {second}"
    return tests.cai_liu_xia_covariance_test(difference.statistic, moments.n_columns, pair_label)
