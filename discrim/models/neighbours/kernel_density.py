"""Discriminant analysis by kernel densities: a row is of the class whose rows lie most densely about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.neighbours.kernel_density import Metric, fit_kernel_density, spread_of
from discrim.core.neighbours.kernel_rules import KERNELS, Kernel
from discrim.errors import DataError
from discrim.frame.asked_rows import read
from discrim.frame.used_rows import weighted_rows
from discrim.models.fits.arguments import check_word, is_number, listed, prior_vector, told
from discrim.models.fits.reading import NaAction, class_moments, refuse_large, usable_rows
from discrim.models.neighbours.kernel_fits import (
    MODEL,
    SAVED,
    Search,
    chosen,
    kernel_density_fit,
    refuse_fine,
    refuse_lone_rows,
    refuse_singular,
)
from discrim.models.neighbours.kernel_results import KernelDensityResults

__all__ = ["MODEL", "SAVED", "KernelDensityResults", "kernel_density"]

Floats = NDArray[np.float64]


def kernel_density(
    formula: str,
    data: Any,
    *,
    bandwidth: Any = None,
    kernel: Kernel = "normal",
    metric: Metric = "mahalanobis",
    covariance: Literal["pooled", "class"] = "pooled",
    select: Literal["likelihood", "error"] = "likelihood",
    grid: Sequence[float] | None = None,
    prior: Any = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> KernelDensityResults:
    """Discriminant analysis by kernel densities of all columns together.

    The density of a class is the mean of kernels about its rows, so that it may have any shape. With more
    than a handful of columns the rows are too far apart for the method.

    Parameters
    ----------
    formula : str
        Response and predictors in R's language of formulas, such as `species ~ .`; the page on formulas
        describes it.
    data : table
        A DataFrame of pandas, or any other table in memory that narwhals knows, such as one of polars or
        Arrow. The method goes back to single rows, so that a source that is read part by part, such as a file
        or a DataFrame of Dask, is refused: pass a sample of its rows as a DataFrame.
    bandwidth : float, dict, or "normal", optional
        Radius r of the kernels in the metric, R= of SAS's DISCRIM: one number, or a dict by class. "normal"
        is the best radius for normal classes. Where it is not given, it is chosen by leaving rows out.
    kernel : {"normal", "epanechnikov", "biweight", "triweight", "uniform"}
        Shape of the kernels, a function of the squared distance over the squared radius. All but "normal" end
        at the radius. "uniform" counts the rows within it.
    metric : {"mahalanobis", "diagonal", "euclidean"}
        Distances are measured by the covariance, by its variances alone, or in the units of the columns:
        METRIC=FULL, DIAGONAL and IDENTITY in SAS.
    covariance : {"pooled", "class"}
        "pooled" is one covariance for all classes, divisor N - K, and "class" one for each, divisor n_k - 1:
        POOL=YES and NO in SAS.
    select : {"likelihood", "error"}
        What chooses a bandwidth: the largest likelihood of the rows given their classes, or the least error,
        where of equal errors the larger bandwidth is taken. Both are of rows left out, and rows that are
        equal in all columns are left out together.
    grid : sequence of float, optional
        Bandwidths to choose from; by default 30 about the one of "normal", which the metric "euclidean"
        multiplies by the root mean square of the columns' standard deviations within classes.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three equal rows. A column that is named here is not part
        of ``.`` in the formula.
    levels : sequence, optional
        The classes in order. By default they have the order of the categories, and are sorted where the
        response has none.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped, and counted, or refused.
    functions : dict of str to callable, optional
        Functions of your own that the formula may call, by name. Each is called once with whole columns, as
        Series, and returns for every row a number, a truth value, a text or category, or a row of a matrix; a
        Series or DataFrame is aligned by its index. It has to treat each row alone: a function whose value
        for a row changes with the other rows, such as `x - x.mean()` or ranks, is refused. The formula's own
        `center`, `scale`, `poly` and `bs` remember what they learnt. A row without a category counts as
        missing.

    Returns
    -------
    KernelDensityResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row is left, or only one class is. Also a bandwidth that
        is not above zero, or that is below the rounding of distances; both a bandwidth and a grid; a grid
        without a bandwidth at which each row has another one of its class within reach that differs from it;
        and a class of one row, or of equal ones, where the likelihood chooses.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The covariance of the metric is singular; the message names the columns.
    NotSupportedError
        The rows do not fit in memory.

    Notes
    -----
    The density of class k is the sum over its rows

        ``f_k(x) = sum_j w_j K((x - x_j)'V_k^-1 (x - x_j) / r_k^2) / (n_k r_k^p |V_k|^(1/2))``,

    and the posteriors follow by Bayes' theorem (Parzen, 1962, Annals of Mathematical Statistics 33,
    1065-1076; Silverman, 1986, Density Estimation for Statistics and Data Analysis, ch. 4; SAS/STAT User's
    Guide, The DISCRIM Procedure). A row that no kernel reaches has no class and no posterior, SAS's "Other":
    its prediction is missing. The normal kernel reaches every row, as far as doubles do.

    "normal" is the bandwidth of least asymptotic mean integrated squared error for normal classes, computed
    for each class from its rows. For one column it is that of SAS's documentation; for several columns SAS
    has another constant.

    Values that are rounded or repeated give rows that are equal. If a row were judged with its copies still
    there, a kernel of no radius about them would have the largest likelihood of all, and the bandwidth would
    be the smallest that is tried. So a choice of the bandwidth leaves out the kernels of all rows at the
    row's place, of any class, and a frequency weight as a whole. `error_rates(["loo"])` leaves out one row.

    Leave-one-out is in closed form. It removes the row's own kernel, and the row from the covariance of the
    metric; it holds the bandwidth, given or chosen, and the prior. Folds and bootstrap samples are fitted
    anew, and choose anew what was chosen.

    Examples
    --------
    >>> from discrim import kernel_density
    >>> from discrim.datasets import load_iris
    >>> fit = kernel_density("species ~ petal_length + petal_width", load_iris(), bandwidth=0.5)
    >>> fit.error_rates(["loo"])["wrong"].tolist()
    [5.0]
    """
    check_word("kernel", kernel, ("normal", *KERNELS))
    check_word("metric", metric, ("mahalanobis", "diagonal", "euclidean"))
    check_word("covariance", covariance, ("pooled", "class"))
    check_word("select", select, ("likelihood", "error"))
    tried = _checked_grid(bandwidth, grid)
    common = covariance == "pooled"
    blocks = read(
        formula,
        data,
        weights=weights,
        levels=levels,
        functions=functions,
        in_memory="kernel_density() compares rows with all others, and",
    )
    refuse_large(blocks, "kernel_density() keeps its rows")
    blocks, moments = usable_rows(blocks, "diagonal", na_action)
    spread = spread_of(metric, common)
    within = moments if spread == "diagonal" else class_moments(blocks, spread)
    refuse_singular(within, blocks, metric, common)
    labels = pd.Index(list(blocks.design.levels))
    shares = prior_vector(prior, labels, moments.counts)
    x, codes, w = weighted_rows(blocks)
    fit = fit_kernel_density(
        moments, within, x, codes, w, shares, kernel=kernel, metric=metric, common=common,
        estimated_prior=prior is None,
    )  # fmt: skip
    if bandwidth is None:
        search = Search(tried, select)
        refuse_lone_rows(moments, blocks, search)
        if tried is not None:
            refuse_fine(fit, blocks, np.tile(tried, (len(labels), 1)))
        fit, path = chosen(fit, (x, codes, w), search)
        return KernelDensityResults(kernel_density_fit(fit, blocks, search=search, path=path))
    if not (isinstance(bandwidth, str) and bandwidth == "normal"):
        fit = fit.with_radii(_radii(bandwidth, labels), "given")
        refuse_fine(fit, blocks, fit.radii[:, None])
    return KernelDensityResults(kernel_density_fit(fit, blocks))


def _is_radius(value: Any) -> bool:
    return is_number(value) and 0 < value < np.inf


def _radii(bandwidth: Any, labels: pd.Index) -> Floats:
    """A bandwidth (K,) for each class."""
    way_out = 'give a number above 0, a dict of them by class, "normal", or None to have it chosen.'
    if isinstance(bandwidth, pd.Series):
        bandwidth = bandwidth.to_dict()
    if not isinstance(bandwidth, Mapping):
        if not _is_radius(bandwidth):
            raise DataError(f"bandwidth={told(bandwidth)}: {way_out}")
        return np.full(len(labels), float(bandwidth))
    missing = [label for label in labels if label not in bandwidth]
    if missing:
        raise DataError(f"bandwidth= gives nothing for class {told(missing[0])}: give each class a number.")
    unknown = [label for label in bandwidth if label not in labels]
    if unknown:
        raise DataError(f"bandwidth= names {told(unknown[0])}, which is no class: name {listed(labels)}.")
    values = [bandwidth[label] for label in labels]
    wrong = [value for value in values if not _is_radius(value)]
    if wrong:
        raise DataError(f"bandwidth= holds {told(wrong[0])}: {way_out}")
    return np.array(values, dtype=np.float64)


def _checked_grid(bandwidth: Any, grid: Any) -> tuple[float, ...] | None:
    """The bandwidths to try, in increasing order; None for those about the normal one."""
    if grid is None:
        return None
    if bandwidth is not None:
        raise DataError("bandwidth= is given, so that there is nothing to choose: leave out grid=.")
    if isinstance(grid, str) or not isinstance(grid, Iterable):
        raise DataError(f"grid={told(grid)}: give a list of numbers above 0.")
    values = list(grid)
    wrong = [value for value in values if not _is_radius(value)]
    if wrong or not values:
        what = f"holds {told(wrong[0])}" if wrong else "is empty"
        raise DataError(f"grid {what}: give numbers above 0.")
    return tuple(sorted({float(value) for value in values}))
