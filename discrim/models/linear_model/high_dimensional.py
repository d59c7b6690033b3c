"""Tests for more columns than rows: `box_m(method=)`, `manova(method=)`, and the verb `sphericity_test`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.moments.derived_moments import comparable, constant_within
from discrim.core.moments.moments import LIGHT, ClassMoments, column_squares, from_class_means
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.map_reduce import map_reduce
from discrim.core.numerics.progress import Progress
from discrim.data.values import shown
from discrim.design.blocks import Blocks
from discrim.design.rows import read_rows, weighted_rows
from discrim.errors import CollinearError, NotSupportedError
from discrim.inference import high_dimensional as tests
from discrim.inference.result import TestResult
from discrim.models.base.reading import (
    Data,
    NaAction,
    check_word,
    is_wide,
    listed,
    refuse_large,
    usable_rows,
    with_keyword_hints,
)

CovarianceMethod = Literal["schott", "li-chen", "cai-liu-xia"]
MeanMethod = Literal["srivastava", "chen-qin", "cai-liu-xia", "dempster"]

SphereMethod = Literal["john", "srivastava", "chen-zhang-zhong"]

Sums = Literal["variances", "pooled", "class"]


class Need(NamedTuple):
    """What a test is made of: sums, the fewest rows and columns, and whether it divides by variances."""

    sums: Sums
    rows: int = 1
    columns: int = 1
    divides: bool = False


COVARIANCES: Mapping[CovarianceMethod, Need] = {
    "schott": Need("class", 3),
    "li-chen": Need("class", 4),
    "cai-liu-xia": Need("variances", 3, columns=2),
}
MEANS: Mapping[MeanMethod, Need] = {
    "srivastava": Need("pooled", divides=True),
    "chen-qin": Need("class", 4),
    "cai-liu-xia": Need("variances", columns=2, divides=True),
    "dempster": Need("pooled"),
}

SPHERES: Mapping[SphereMethod, Need] = {
    "john": Need("pooled", columns=2),
    "srivastava": Need("pooled", columns=2),
    "chen-zhang-zhong": Need("class", 4, columns=2),
}

FEWEST = 3
"""Degrees of freedom within classes that the mean of a reciprocal of their variance takes."""


def covariance_test(blocks: Blocks, method: CovarianceMethod, na_action: NaAction) -> TestResult:
    """A test that the classes have one covariance, of the rows of a formula."""
    check_word("method", method, CovarianceMethod)
    blocks, moments = _read(blocks, method, COVARIANCES[method], na_action)
    if method == "schott":
        return tests.schott_test(moments)
    if moments.n_classes > 2:
        raise NotSupportedError(
            f"method={method!r} compares two classes, and there are {moments.n_classes}.",
            hint='Pass method="schott", which takes any number, or keep the rows of two.',
            options={"method": "schott"},
        )
    if method == "li-chen":
        return _known(tests.li_chen_test(moments, _fourth_powers(blocks, moments, method)), method, "schott")
    return _largest(blocks, moments)


def mean_test(blocks: Blocks, method: MeanMethod, na_action: NaAction) -> pd.DataFrame:
    """The table of a test that the classes have one mean, of the rows of a formula."""
    check_word("method", method, MeanMethod)
    blocks, moments = _read(blocks, method, MEANS[method], na_action)
    if method == "chen-qin":
        result = tests.chen_qin_test(moments, _fourth_powers(blocks, moments, method))
        result = _known(result, method, "dempster")
    else:
        made: Callable[[ClassMoments], TestResult] = {
            "srivastava": tests.srivastava_test,
            "cai-liu-xia": tests.largest_mean_test,
            "dempster": tests.dempster_test,
        }[method]
        result = made(moments)
    law, (_, df1, df2, _) = next(iter(result.approximations.items()))
    columns = {"statistic": result.statistic, "law": law, "df1": df1, "df2": df2, "p": result.pvalue}
    return pd.DataFrame({**columns, "assumes": result.assumes}, index=[result.name])


@with_keyword_hints
def sphericity_test(
    formula: str,
    data: Data,
    *,
    method: SphereMethod = "john",
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> TestResult:
    """Tests that within classes all columns have one variance and no correlation; columns may be many.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    method : {"john", "srivastava", "chen-zhang-zhong"}
        "john" and "srivastava" are for normal classes, "chen-zhang-zhong" for any law.
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
        John's chi-square, and in `table` Ledoit and Wolf's normal number as well; of the other methods a
        standard normal number, large where the covariance is no sphere.

    Raises
    ------
    CollinearError
        No column varies within the classes.
    NotSupportedError
        There is one column only, or a class has fewer rows than a method takes.

    Notes
    -----
    The classes are taken to have one covariance, which `box_m` tests. With S the covariance within classes,
    on nu = N - K degrees of freedom, U = p tr S^2/(tr S)^2 - 1 is the variance of its eigenvalues over
    their squared mean. John's nu p U/2 (1972, Biometrika 59, 169-173) has a chi-square distribution on p (p
    + 1)/2 - 1 degrees of freedom, for many columns too (Ledoit & Wolf, 2002, Annals of Statistics 30,
    1081-1102). Srivastava (2005, Journal of the Japan Statistical Society 35, 251-272) takes out the bias
    of tr S^2 for normal rows, Chen, Zhang & Zhong (2010, Journal of the American Statistical Association
    105, 810-819) for any law, here with all pairs of rows counted alike where there are several classes.
    Columns in unlike units are no sphere.

    Examples
    --------
    >>> from discrim import sphericity_test
    >>> from discrim.datasets import load_iris
    >>> result = sphericity_test("species ~ .", load_iris())
    >>> round(result.statistic, 3), result.df
    (368.048, 9.0)
    """
    check_word("method", method, SphereMethod)
    blocks = read_rows(formula, data, weights=weights, levels=levels, functions=functions)
    blocks, moments = _read(blocks, method, SPHERES[method], na_action)
    if method == "john":
        return tests.john_test(moments)
    if method == "srivastava":
        return tests.unbiased_sphere_test(moments)
    return tests.any_law_sphere_test(moments, _fourth_powers(blocks, moments, method))


def _read(blocks: Blocks, method: str, need: Need, na_action: NaAction) -> tuple[Blocks, ClassMoments]:
    """The blocks with the classes that are there, and their moments, or why the test cannot be made."""
    wide = is_wide(blocks)
    spread: Any = {
        "variances": "diagonal",
        "pooled": "thin" if wide else "pooled",
        "class": "thin class" if wide else "class",
    }[need.sums]
    blocks, moments = usable_rows(blocks, spread, na_action)
    if moments.total < (1 - LIGHT) * moments.rows.sum():
        raise NotSupportedError(
            f"method={method!r} takes weights that count rows, and those of {moments.rows.sum()} rows "
            f"sum to {moments.total:g}.",
            hint="Divide them by their mean if they are only relative.",
        )
    few = np.flatnonzero(moments.counts < need.rows)
    if len(few):
        raise NotSupportedError(
            f"method={method!r} takes {need.rows} rows of each class, and class "
            f"{shown(blocks.design.levels[few[0]])} has {moments.counts[few[0]]:g}.",
            hint="Merge it with another, or leave its rows out.",
            classes=(blocks.design.levels[few[0]],),
        )
    if moments.total - moments.n_classes < FEWEST:
        raise NotSupportedError(
            f"method={method!r} takes {FEWEST} degrees of freedom within classes, and {moments.total:g} "
            f"rows in {moments.n_classes} classes leave {moments.total - moments.n_classes:g}.",
            hint="Give more rows.",
        )
    if moments.n_columns < need.columns:
        raise NotSupportedError(
            f"method={method!r} compares columns, and there is one.", hint="Name another in the formula."
        )
    still = constant_within(moments)
    if still.all() or (need.divides and still.any()):
        names = listed([blocks.terms[j] for j in np.flatnonzero(still).tolist()])
        other = "" if still.all() else ', or pass method="chen-qin", which divides by no variance'
        raise CollinearError(
            f"Within each class {names} {'has' if still.sum() == 1 else 'have'} one value, and "
            f"method={method!r} compares with what varies there.",
            hint=f"Use another formula{other}.",
        )
    return blocks, comparable(moments)


def _known(result: TestResult, method: str, other: str) -> TestResult:
    """A result, refused where its variance was estimated as no positive number."""
    if np.isnan(result.pvalue):
        raise NotSupportedError(
            f"The variance of the statistic of method={method!r} is estimated without bias, and came out "
            "negative here, as it may with few rows.",
            hint=f'Pass method="{other}".',
        )
    return result


def _fourth_powers(blocks: Blocks, moments: ClassMoments, method: str) -> Floats:
    """Sums (K,) of the fourth powers of the rows' distances from their class means, by one more pass."""
    if blocks.weighted and not blocks.rows.has_whole_weights():
        raise NotSupportedError(
            f"method={method!r} averages over pairs of rows, of which parts of one row are none.",
            hint="Give weights that are whole numbers.",
        )
    with Progress(0, "distances of the rows"):
        return map_reduce(blocks, partial(_powers_of_part, moments=moments), np.add)


def _powers_of_part(rows: Any, moments: ClassMoments) -> Floats:
    total = np.zeros(moments.n_classes)
    for x, codes, weights in rows:
        z = from_class_means(moments, x, codes) * moments.common_unit[:, None]
        powers = column_squares(z) ** 2
        powers = powers if weights is None else powers * weights
        total += np.bincount(codes, powers, minlength=len(total))
    return total


def _largest(blocks: Blocks, moments: ClassMoments) -> TestResult:
    """The test by the largest difference of two covariances, for which the rows are held in memory."""
    refuse_large(blocks, 'method="cai-liu-xia" has the products of all columns, and holds the rows')
    x, codes, weights = weighted_rows(blocks)
    parts = [codes == k for k in range(2)]
    found = tests.largest_gap(
        [from_class_means(moments, x[own], k).T for k, own in enumerate(parts)],
        [None if weights is None else weights[own] for own in parts],
    )
    first, second = (blocks.terms[j] for j in found.columns)
    if np.isinf(found.statistic):
        whose = f"squares of {first!r}" if first == second else f"products of {first!r} and {second!r}"
        raise NotSupportedError(
            f"Deviations from the class means: the {whose} have one value in each class, and not the "
            "same, so that there is no variance to compare with.",
            hint='Leave the column out, or pass method="schott".',
            options={"method": "schott"},
        )
    pair = f"the variance of {first}" if first == second else f"{first} and {second}"
    return tests.cai_liu_xia_test(found.statistic, moments.n_columns, pair)
