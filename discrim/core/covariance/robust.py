"""Robust means and covariances: multivariate t distributions, and the minimum covariance determinant (MCD).

`fit_t` and `fit_mcd` compute them for LDA and QDA; `discrim.core.covariance.student` has the theory of the t
distributions.

A robust fit stores moments with the counts of all rows, the robust means, and scatters that divided by the
counts are the robust covariances. Rules, functions and axes are computed from these moments in the usual way.

*Minimum covariance determinant.* Means and covariances are computed from the most concentrated rows: of all
subsets of h rows, n/2 < h <= n, the one whose covariance has the smallest determinant (Rousseeuw,
1984, JASA 79, 871-880). A *concentration step* replaces a subset by the h rows that are nearest in its
covariance; the determinant decreases until nothing changes (Rousseeuw & Van Driessen, 1999, Technometrics 41,
212-223). Of the results of several starts the one with the smallest determinant is chosen. For one column
there is an exact algorithm.

The raw covariance is made consistent at the normal model by the factor a / P(chi2_{p+2} <= q_a), a = h/n and
q_a the a-quantile of chi2_p. The estimate is the mean and covariance of the rows within its .975 quantile,
multiplied by the same factor at their proportion, without a small-sample correction.

For several classes with one covariance (method "mcd" of rrcov's Linda; Hubert & Van Driessen, 2004, CSDA 45,
301-320), each class is centred at its own estimate, all rows are pooled, and the estimate of
these gives the covariance and a last shift of the centres.

*Starts.* A concentration step converges to a minimum near its start, therefore several starts are needed.
Random subsets of p + 1 rows are free of outliers often with few columns and practically never with many.
Correlations that single rows cannot move far give deterministic starts (Hubert, Rousseeuw & Verdonck, 2012,
JCGS 21, 618-637): of the hyperbolic tangents, ranks, normal scores and spatial signs of the rows, of the rows
nearest the median, and for each pair of columns from the scales of sums and differences. Their eigenvectors
are kept, variances along these are estimated robustly, and the nearest half of the rows is a start. A second
start uses the inverse, in which axes with large variance count most, because many similar outliers lie along
these. The random draw depends on the rows only through their order in size, therefore the same rows give the
same subsets.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy

from discrim.core.covariance import student
from discrim.core.covariance.model import (
    CovarianceTraits,
    FullCovariance,
    NormalClasses,
    no_likelihood_error,
)
from discrim.core.covariance.student import MAX_PLANE_RESIDUAL, NU_RANGE, StudentEstimates
from discrim.core.errors import CoreNotSupportedError, InvalidStateError
from discrim.core.moments.moments import ClassMoments, column_squares, gather
from discrim.core.moments.row_sums import RowBlocks, triangular_root
from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask, slices
from discrim.core.numerics.progress import Progress, refresh_progress
from discrim.core.numerics.special import chi2_cdf, chi2_isf
from discrim.core.rules.leave_one_out import MAX_REFITS, LeaveOneOutScorer, refit_each_row

MAX_SEARCHED_ROWS = 1000
"""Approximate number of rows that are searched for starts; fewer than twice as many are all searched."""

RIDGE_RATIO = 1e-8
"""Ridge added to the covariance of few rows, relative to its largest variance or to one if it is smaller."""

MAX_PAIRWISE_VALUE = 1e30
"""Limit of the values, in robust units, for the pairwise scales in single precision."""

MAX_ELEMENTAL_WORK = 1e7
"""Number of multiplications (sets x rows x columns^2) that limits the random subsets of p + 1 rows."""

MAX_START_ELEMENTS = 2**20
"""Maximum number of elements (sets x rows x columns) in memory at once."""

MAX_COLUMNS_TO_INVERT = 16
"""Number of columns up to which distances for several starts are computed by one product."""

N_FIRST_STEPS = 2
"""Number of concentration steps from each start."""

N_NEXT_STEPS = 8
"""Number of further concentration steps from the best starts."""

N_IMPROVED = 30
"""Number of random subsets that are improved by further steps."""

N_REFINED = 4
"""Number of results on the searched rows from which concentration on all rows starts."""

MAX_SAME_START_DIFFERENCE = 1e-6
"""Difference of half the log-determinants up to which two starts count as the same result."""


NEAREST_PROPORTIONS = (0.05, 0.25, 0.5, 0.85)
"""Proportions of the rows nearest the median whose covariances are starts."""


def starting_subsets(z: Floats, h: int) -> list[Mask]:
    """Choose subsets of h < n rows from which concentration starts, the most promising first.

    The search uses an evenly spaced part of many rows, in the order of their size.

    Parameters
    ----------
    z : (n, p) float
        Rows minus the median of each column, divided by a robust scale of each column.
    h : int
        Size of the subsets.

    Returns
    -------
    list of (n,) bool
        At most `N_REFINED` masks in increasing order of the determinant, and last the h rows nearest the
        medians.
    """
    size = (z**2).sum(axis=1)
    sample = z[np.argsort(size, kind="stable")[:: max(len(z) // MAX_SEARCHED_ROWS, 1)]]
    sample_h = min(max(-(-h * len(sample) // len(z)), sample.shape[1] + 1), len(sample) - 1)
    n, p = sample.shape
    rng = np.random.default_rng(0)
    n_sets = int(np.clip(MAX_ELEMENTAL_WORK / (n * p * p), 10, 500))
    elemental = np.array([rng.choice(n, p + 1, replace=False) for _ in range(n_sets)])
    subsets, logdets = _concentrate_starts(sample, elemental, sample_h, N_FIRST_STEPS)
    best_subsets = [subsets[np.argsort(logdets, kind="stable")[:N_IMPROVED]]]
    best_subsets.append(
        _concentrate_starts(sample, _robust_start_subsets(sample), sample_h, N_FIRST_STEPS)[0]
    )
    subsets, logdets = _concentrate_starts(sample, np.concatenate(best_subsets), sample_h, N_NEXT_STEPS)
    starts = [nearest_mask(size, h)]
    last = -np.inf
    for s in np.argsort(logdets, kind="stable"):
        if logdets[s] > last + MAX_SAME_START_DIFFERENCE and len(starts) <= N_REFINED:
            last = logdets[s]
            mean, lower_root = _subset_moments(sample[subsets[[s]]])
            starts.append(nearest_mask(_start_distances(z, mean, lower_root)[0], h))
    return [*starts[1:], starts[0]]


def nearest_mask(d2: Floats, h: int) -> Mask:
    """Return a mask (n,) of the h smallest squared distances d2 (n,); of ties the first are chosen."""
    last = np.partition(d2, h - 1)[h - 1]
    subset = np.asarray(d2 < last)
    subset[np.flatnonzero(d2 == last)[: h - int(subset.sum())]] = True
    return subset


def median_deviation(x: Floats, h: int) -> Floats:
    """Return the h-th smallest absolute deviation (p,) of x (n, p) from the column medians.

    It is zero if h rows have the same value.
    """
    # A C-ordered transpose makes each column contiguous for the partition.
    return _median_deviations(np.array(x.T, order="C"), h)


def _median_deviations(columns: Floats, h: int) -> Floats:
    """Return the h-th smallest absolute deviation (p,) from the median of each row of `columns` (p, n).

    `columns` is overwritten.
    """
    n = columns.shape[1]
    # Partitioning at one position is many times faster in NumPy than at two.
    columns.partition(n // 2, axis=1)
    high = columns[:, n // 2]
    columns -= (high if n % 2 else (high + columns[:, : n // 2].max(axis=1)) / 2)[:, None]
    np.abs(columns, out=columns)
    columns.partition(h - 1, axis=1)
    return columns[:, h - 1].astype(np.float64)


def _robust_start_subsets(z: Floats) -> Codes:
    """Return starting subsets (s, n // 2 + 1): the rows nearest the median under several robust covariances.

    The subsets contain positions of rows. Rows z (n, p) are in order of size. The covariances
    are cross-products of hyperbolic tangents, ranks, normal scores and spatial signs of the rows, covariances
    of the rows nearest the median, and pairwise covariances. Starts with a zero scale are omitted, possibly
    all.
    """
    n, p = z.shape
    norms = np.sqrt((z**2).sum(axis=1, keepdims=True))
    ranks = scipy.stats.rankdata(z, axis=0)
    scores = scipy.special.ndtri((ranks - 1 / 3) / (n + 1 / 3))
    shapes = [np.tanh(z), ranks - ranks.mean(axis=0), scores, z / np.where(norms > 0, norms, 1.0)]
    shapes += [
        nearest_rows - nearest_rows.mean(axis=0)
        for nearest_rows in (z[: max(int(proportion * n), p + 1)] for proportion in NEAREST_PROPORTIONS)
    ]
    half = n // 2 + 1
    subsets = []
    for shape in (*(shape_rows.T @ shape_rows for shape_rows in shapes), _pairwise_covariances(z, half)):
        deviations = np.sqrt(np.diagonal(shape))
        if not deviations.all():
            continue
        _, axes = np.linalg.eigh(shape / deviations / deviations[:, None])
        coordinates_on_axes = z @ axes
        scales = median_deviation(coordinates_on_axes, half)
        # Many ties make a scale zero; then only the other starts are used.
        if (scales > 0).all():
            standardized = coordinates_on_axes / scales
            median = np.median(standardized @ axes.T, axis=0) @ axes
            for coordinates in (standardized - median, coordinates_on_axes * scales):
                subset = nearest_mask((coordinates**2).sum(axis=1), half)
                subsets.append(np.flatnonzero(subset))
    return np.array(subsets, dtype=np.intp).reshape(-1, half)


def _pairwise_covariances(z: Floats, half: int) -> Floats:
    """Compute robust covariances of pairs of columns from the scales of their sums and differences.

    See Gnanadesikan & Kettenring (1972, Biometrics 28, 81-124).

    Parameters
    ----------
    z : (n, p) float
        Rows minus the median of each column, divided by a robust scale of each column.
    half : int
        Argument h of `median_deviation`, which computes the scales.

    Returns
    -------
    (p, p) float
        Symmetric, with ones on the diagonal; not necessarily positive definite.
    """
    covariances = np.eye(z.shape[1])
    # Single precision suffices for the directions of a start.
    columns = np.clip(z.T, -MAX_PAIRWISE_VALUE, MAX_PAIRWISE_VALUE).astype(np.float32, order="C")
    for j in range(1, z.shape[1]):
        refresh_progress()
        column = columns[j]
        earlier_columns = columns[:j]
        squares = (
            _median_deviations(column + earlier_columns, half) ** 2
            - _median_deviations(column - earlier_columns, half) ** 2
        )
        covariances[j, :j] = covariances[:j, j] = squares / 4
    return covariances


def _concentrate_starts(z: Floats, starts: Codes, h: int, steps: int) -> tuple[Codes, Floats]:
    """Apply concentration steps to several subsets until they do not change or a number of steps is reached.

    Parameters
    ----------
    z : (n, p) float
        Rows minus the median of each column, divided by a robust scale of each column.
    starts : (s, m) int
        Positions of the rows of each start.
    h : int
        Size of the resulting subsets.
    steps : int
        Maximum number of concentration steps.

    Returns
    -------
    subsets : (s, h) int
        Positions of the rows, in increasing order.
    logdets : (s,) float
        Half the log-determinants of their covariances.
    """
    all_subsets = np.empty((len(starts), h), dtype=np.intp)
    logdets = np.empty(len(starts))
    for chunk in slices(len(starts), max(MAX_START_ELEMENTS // z.size, 1)):
        subsets = all_subsets[chunk]
        active = np.arange(len(starts[chunk]))
        before = starts[chunk]
        for _ in range(steps):
            refresh_progress()
            means, lower_roots = _subset_moments(z[before])
            new_subsets = np.argpartition(_start_distances(z, means, lower_roots), h - 1, axis=1)[:, :h]
            subsets[active] = new_subsets = np.sort(new_subsets, axis=1)
            active = (
                active[(new_subsets != before).any(axis=1)] if before.shape == new_subsets.shape else active
            )
            before = subsets[active]
            if not len(active):
                break
        _, lower_roots = _subset_moments(z[subsets])
        logdets[chunk] = np.log(np.diagonal(lower_roots, axis1=1, axis2=2)).sum(axis=1)
    return all_subsets, logdets


def _subset_moments(rows: Floats) -> tuple[Floats, Floats]:
    """Compute means and lower triangular roots of the covariances of sets of rows.

    Parameters
    ----------
    rows : (s, m, p) float
        Rows of s subsets.

    Returns
    -------
    means : (s, 1, p) float
    lower_roots : (s, p, p) float
        Roots of the covariances with divisor m and a small ridge (`RIDGE_RATIO`).
    """
    means = rows.mean(axis=1, keepdims=True)
    rows = rows - means
    covariances = np.swapaxes(rows, 1, 2) @ rows
    covariances /= rows.shape[1]
    ridges = RIDGE_RATIO * np.maximum(np.diagonal(covariances, axis1=1, axis2=2).max(axis=1), 1.0)
    covariances += ridges[:, None, None] * np.eye(rows.shape[2])
    return means, np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)


def _start_distances(z: Floats, means: Floats, lower_roots: Floats) -> Floats:
    """Compute squared distances of rows, with the accuracy that the choice of starts requires.

    Parameters
    ----------
    z : (n, p) float
        Rows minus the median of each column, divided by a robust scale of each column.
    means : (s, 1, p) float
        Means of the subsets.
    lower_roots : (s, p, p) float
        Lower triangular roots of covariances.

    Returns
    -------
    (s, n) float
        Squared distances of all rows from the mean of each subset.
    """
    if z.shape[1] <= MAX_COLUMNS_TO_INVERT:
        inverses = np.linalg.inv(lower_roots)
        whitened = inverses @ z.T - inverses @ np.swapaxes(means, 1, 2)
        return np.asarray(np.einsum("spn,spn->sn", whitened, whitened))
    return np.array(
        [_squared_distances(z, mean, lower_root) for mean, lower_root in zip(means, lower_roots, strict=True)]
    )


REWEIGHTING_QUANTILE = 0.975
"""Probability whose chi-square quantile limits the squared distances of the rows that are kept."""

SEARCH_TITLE = "minimum determinant"
"""Title of the progress bar of a search for the minimum covariance determinant."""

MAX_TIED_DIFFERENCE = 1e-9
"""Difference of log-determinants up to which the earlier start is preferred."""


@dataclass(frozen=True, slots=True, eq=False)
class ExactFit:
    """Result of a search in which the smallest determinant is zero: a subset of h rows lies in a hyperplane.

    Attributes
    ----------
    columns : tuple of int
        Positions of columns that are constant (the first such column only) or linear combinations of earlier
        columns on these rows.
    rows : (n,) bool
        Rows in the hyperplane.
    is_constant : bool
        Whether a column is constant on these rows.
    k : int or None
        Position of the class of the rows; None for the pooled rows.
    """

    columns: tuple[int, ...]
    rows: Mask
    is_constant: bool = False
    k: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MCDRows:
    """Rows that determine the raw and the reweighted MCD estimate.

    Attributes
    ----------
    subset : (n,) bool
        The h rows with the smallest determinant, which determine the raw estimate.
    is_kept : (n,) bool
        Rows within the quantile `REWEIGHTING_QUANTILE` of the raw estimate, which determine the reweighted
        estimate.
    factor : float
        Consistency factor of the reweighted covariance: it multiplies the covariance of the kept rows, whose
        divisor is their number less one.
    """

    subset: Mask
    is_kept: Mask
    factor: float


class _ConcentratedSubset(NamedTuple):
    """Result of concentration steps.

    Attributes
    ----------
    subset : (n,) bool
        Mask of the rows of the subset.
    d2 : (n,) float
        Squared distances of all rows from the mean of the subset under its covariance, with divisor h - 1
        and without a consistency factor.
    logdet : float
        Log-determinant of this covariance of z.
    """

    subset: Mask
    d2: Floats
    logdet: float


def subset_size(n: int, p: int, support_fraction: float) -> int:
    """Return the number h of rows of the MCD subset.

    It increases linearly from (n + p + 1)/2 at a fraction of 0.5 to n at a fraction of 1.

    Parameters
    ----------
    n, p : int
        Numbers of rows and columns.
    support_fraction : float
        Proportion of the rows that determines the size of the subset, from 0.5 to 1.
    """
    half = (n + p + 1) // 2
    return int(2 * half - n + 2 * (n - half) * support_fraction)


def find_mcd_rows(x: Floats, support_fraction: float = 0.5) -> MCDRows | ExactFit:
    """Find the rows that determine the minimum covariance determinant estimate.

    Parameters
    ----------
    x : (n, p) float
        Rows, in the units of the data; more rows than columns.
    support_fraction : float
        From 0.5 to 1: the size of the subset increases linearly from (n + p + 1)/2 to n rows.

    Returns
    -------
    MCDRows or ExactFit
        An `ExactFit` if h rows have the same value in a column, or the rows of a subset lie in a hyperplane.
        Its `k` is None.

    Examples
    --------
    >>> import numpy as np
    >>> found = find_mcd_rows(np.array([[1.0], [1.1], [1.3], [0.9], [50.0]]))
    >>> found.subset.tolist(), found.is_kept.tolist()
    ([True, True, False, True, False], [True, True, True, True, False])
    """
    n, p = x.shape
    h = subset_size(n, p, support_fraction)
    median = np.median(x, axis=0)
    z = x - median
    scales = median_deviation(x, h)
    constant_columns = np.flatnonzero(scales <= 4 * EPS * np.abs(median))
    if len(constant_columns):
        j = int(constant_columns[0])
        return ExactFit((j,), np.abs(z[:, j]) <= 4 * EPS * abs(median[j]), is_constant=True)
    z /= scales
    if h == n:
        starts: Iterable[Mask] = [np.ones(n, dtype=bool)]
    elif p == 1:
        starts = [_exact_subset_of_column(z[:, 0], h)]
    else:
        starts = starting_subsets(z, h)
    cores: list[_ConcentratedSubset] = []
    visited: set[bytes] = set()
    for subset in starts:
        concentrated = _concentrate(z, subset, h, visited)
        if isinstance(concentrated, ExactFit):
            return concentrated
        if concentrated is not None:
            cores.append(concentrated)
    min_logdet = min(core.logdet for core in cores)
    return _reweight(z, next(core for core in cores if core.logdet <= min_logdet + MAX_TIED_DIFFERENCE), h)


def _exact_subset_of_column(z: Floats, h: int) -> Mask:
    """Find the h values with the smallest variance: the exact MCD subset of a single column.

    They are adjacent in sorted order and contain the middle value, because h exceeds n/2. Squares are summed
    from there to both sides, therefore an outlier affects only the sums that contain it. They are computed
    about the median first, and again about the mean of the values found, which avoids cancellation.

    Parameters
    ----------
    z : (n,) float
        Values, in any order.
    h : int
        Size of the subset.

    Returns
    -------
    (n,) bool
        Mask of the subset.
    """
    n = len(z)
    order = np.argsort(z, kind="stable")
    centre = float(z[order[n // 2]])
    for _ in range(2):
        start = int(np.argmin(_window_squares(z[order] - centre, h)))
        centre = float(z[order[start : start + h]].mean())
    subset = np.zeros(n, dtype=bool)
    subset[order[start : start + h]] = True
    return subset


def _window_squares(sorted_values: Floats, h: int) -> Floats:
    """Return the sum of squares about its mean of each window of h > n/2 adjacent sorted values (n,).

    The result has the shape (n - h + 1,).
    """
    middle_index = len(sorted_values) // 2
    sums, squares = (
        np.concatenate([np.cumsum(powers[middle_index - 1 :: -1])[::-1], [0.0]])[: len(sorted_values) - h + 1]
        + np.cumsum(powers[middle_index:])[h - middle_index - 1 :]
        for powers in (sorted_values, sorted_values**2)
    )
    return np.asarray(squares - sums**2 / h)


def _squared_distances(z: Floats, mean: Floats, lower_root: Floats) -> Floats:
    """Compute squared Mahalanobis distances of rows from a mean.

    Parameters
    ----------
    z : (n, p) float
        Rows minus the median of each column, divided by a robust scale of each column.
    mean : (p,) or (1, p) float
        Mean that is subtracted.
    lower_root : (p, p) float
        Lower triangular root of the covariance.

    Returns
    -------
    (n,) float
        Squared distances under this covariance.
    """
    # The transpose has the column-major order of BLAS, and nothing is copied.
    return column_squares(scipy.linalg.blas.dtrsm(1.0, lower_root.T, (z - mean).T, trans_a=1, overwrite_b=1))


def _concentrate(
    z: Floats, subset: Mask, h: int, visited: set[bytes]
) -> _ConcentratedSubset | ExactFit | None:
    """Iterate concentration steps until the subset does not change.

    Parameters
    ----------
    z : (n, p) float
        Rows minus the median of each column, divided by a robust scale of each column.
    subset : (n,) bool
        Start.
    h : int
        Size of the subsets.
    visited : set of bytes
        Packed masks of the subsets that earlier searches met; extended in place.

    Returns
    -------
    _ConcentratedSubset, ExactFit or None
        An `ExactFit` if a subset lies in a hyperplane. None if the search reaches a subset of an earlier
        search, because both would continue in the same way.
    """
    min_logdet = np.inf
    while True:
        refresh_progress()
        subset_key = np.packbits(subset).tobytes()
        if subset_key in visited:
            return None
        visited.add(subset_key)
        subset_rows = z[subset]
        mean = subset_rows.mean(axis=0)
        root = triangular_root(subset_rows - mean) / np.sqrt(h - 1)
        norms = np.sqrt((root**2).sum(axis=0))
        is_dependent = np.abs(np.diagonal(root)) <= MAX_PLANE_RESIDUAL * np.maximum(norms, 1.0)
        if is_dependent.any():
            columns = np.flatnonzero(is_dependent)
            return ExactFit(tuple(columns.tolist()), _rows_on_hyperplane(z, mean, root, int(columns[0])))
        d2 = _squared_distances(z, mean, root.T)
        logdet = 2 * float(np.log(np.abs(np.diagonal(root))).sum())
        next_subset = nearest_mask(d2, h)
        if (next_subset == subset).all() or logdet >= min_logdet:
            return _ConcentratedSubset(subset, d2, logdet)
        subset = next_subset
        min_logdet = logdet


def _reweight(z: Floats, core: _ConcentratedSubset, h: int) -> MCDRows:
    """Select the rows within the quantile `REWEIGHTING_QUANTILE` of the raw estimate.

    Parameters
    ----------
    z : (n, p) float
        Rows minus the median of each column, divided by a robust scale of each column.
    core : _ConcentratedSubset
        Subset with the smallest determinant.
    h : int
        Size of the subset.

    Returns
    -------
    MCDRows
        With the consistency factor at the proportion of rows that are kept.
    """
    n, p = z.shape
    is_kept = core.d2 <= _consistency_factor(h / n, p) * chi2_isf(1 - REWEIGHTING_QUANTILE, p)
    return MCDRows(core.subset, is_kept, _consistency_factor(float(is_kept.mean()), p))


def _rows_on_hyperplane(z: Floats, mean: Floats, root: Floats, j: int) -> Mask:
    """Find the rows in the hyperplane in which column j is a linear combination of earlier columns.

    Parameters
    ----------
    z : (n, p) float
        Rows minus the median of each column, divided by a robust scale of each column.
    mean : (p,) float
        Mean of the subset.
    root : (p, p) float
        Upper triangular root of the covariance of the subset.
    j : int
        Position of the column.

    Returns
    -------
    (n,) bool
        Rows with a residual of at most 1e-8 in z.
    """
    slopes = np.linalg.lstsq(root[:, :j], root[:, j], rcond=None)[0]
    residual = (z - mean)[:, j] - (z - mean)[:, :j] @ slopes
    return np.asarray(np.abs(residual) <= 1e-8)


def _consistency_factor(proportion: float, p: int) -> float:
    """Return the factor that makes the covariance of the central `proportion` of normal rows consistent.

    p is the number of columns.
    """
    return 1.0 if proportion >= 1 else float(proportion / chi2_cdf(chi2_isf(1 - proportion, p), p + 2))


def class_mcd(
    x: Floats, codes: Codes, full_moments: ClassMoments, support_fraction: float
) -> ClassMoments | ExactFit:
    """Compute the reweighted MCD estimates of the mean and the covariance of each class.

    Parameters
    ----------
    x : (n, p) float
        Rows, in the units of the data.
    codes : (n,) int
        Class of each row.
    full_moments : ClassMoments
        Moments of all rows; only the counts and the numbers of rows, classes and columns are used.
    support_fraction : float
        From 0.5 to 1: the size of the subset increases linearly from (n + p + 1)/2 to n rows.

    Returns
    -------
    ClassMoments or ExactFit
        Moments by class whose means, and scatters over the counts of all rows, are the estimates. An
        `ExactFit` for the first class in which the rows of a subset lie in a hyperplane.
    """
    is_kept = np.zeros(len(x))
    factors = np.empty(full_moments.n_classes)
    with Progress(len(x), SEARCH_TITLE) as progress:
        for k in range(full_moments.n_classes):
            members = np.flatnonzero(codes == k)
            estimate = find_mcd_rows(x[members], support_fraction)
            if isinstance(estimate, ExactFit):
                return replace(estimate, k=k)
            is_kept[members] = estimate.is_kept
            factors[k] = estimate.factor
            progress(len(members))
    moments = gather(
        [(x, codes, is_kept)],
        n_classes=full_moments.n_classes,
        n_columns=full_moments.n_columns,
        required_moments="class",
    )
    return _with_full_counts(moments, factors / (moments.counts - 1) * full_moments.counts, full_moments)


def common_mcd(
    x: Floats, codes: Codes, full_moments: ClassMoments, support_fraction: float
) -> ClassMoments | ExactFit:
    """Compute reweighted MCD estimates of the class means and of one covariance for all classes.

    Parameters
    ----------
    x : (n, p) float
        Rows, in the units of the data.
    codes : (n,) int
        Class of each row.
    full_moments : ClassMoments
        Moments of all rows; only the counts and the numbers of rows, classes and columns are used.
    support_fraction : float
        From 0.5 to 1: the size of the subset increases linearly from (n + p + 1)/2 to n rows.

    Returns
    -------
    ClassMoments or ExactFit
        Pooled moments whose means, and scatter over the count of all rows, are the estimates. An `ExactFit`
        if pooled rows of a subset lie in a hyperplane; a class in a hyperplane alone does not matter.
    """
    # Store a centre as a row plus an offset: for data far from zero, the sum would round the offset.
    anchor, offset = np.empty((2, full_moments.n_classes, full_moments.n_columns))
    with Progress(2 * len(x), SEARCH_TITLE) as progress:
        for k in range(full_moments.n_classes):
            class_rows = x[codes == k]
            estimate = find_mcd_rows(class_rows, support_fraction)
            # For a class in a hyperplane, the centre is the mean of the rows there.
            kept_rows = class_rows[estimate.rows if isinstance(estimate, ExactFit) else estimate.is_kept]
            anchor[k], offset[k] = kept_rows[0], (kept_rows - kept_rows[0]).mean(axis=0)
            progress(len(class_rows))
        residuals = x - anchor[codes] - offset[codes]
        estimate = find_mcd_rows(residuals, support_fraction)
        progress(len(x))
    if isinstance(estimate, ExactFit):
        return estimate
    zero_codes = np.zeros(len(x), dtype=np.intp)
    moments = gather(
        [(residuals, zero_codes, estimate.is_kept.astype(np.float64))],
        n_classes=1,
        n_columns=full_moments.n_columns,
        required_moments="pooled",
    )
    offset_of_means = offset + moments.centres[0] + moments.rests[0] / moments.scale
    centres = anchor + offset_of_means
    centre_errors = (offset_of_means - (centres - anchor)) * moments.scale
    pooled_moments = replace(moments, centres=centres, rests=centre_errors)
    return _with_full_counts(
        pooled_moments, np.array([estimate.factor / (moments.total - 1) * full_moments.total]), full_moments
    )


def _with_full_counts(moments: ClassMoments, factors: Floats, full_moments: ClassMoments) -> ClassMoments:
    """Return moments with the counts of all rows, and with scatters multiplied by factors.

    Parameters
    ----------
    moments : ClassMoments
        Moments of the rows that the estimate keeps, by class or pooled.
    factors : (K,) or (1,) float
        Factors that multiply the scatters.
    full_moments : ClassMoments
        Moments of all rows, from which the counts are copied.

    Returns
    -------
    ClassMoments
        With the means of `moments`; roots, if any, match the multiplied scatters.
    """
    size = factors[:, None, None]
    roots = None if moments.roots is None else moments.roots * np.sqrt(size)
    scatters = moments.scatters * size if roots is None else np.swapaxes(roots, 1, 2) @ roots
    return replace(
        moments, counts=full_moments.counts, rows=full_moments.rows, scatters=scatters, roots=roots
    )


ROBUST_METHODS = ("t", "mcd")
"""Estimation methods whose means and covariances are not moments of the rows."""


@dataclass(frozen=True, slots=True)
class RobustCovariance(FullCovariance):
    """Full covariance of robust estimates: base class of the models of each estimator.

    Attributes
    ----------
    method : {"t", "mcd"}
        Identifier of the estimator of means and covariances.
    """

    method: ClassVar[str]
    traits = CovarianceTraits(
        is_full=True,
        is_moment_estimate=False,
        is_maximum_likelihood=True,
        is_robust=True,
        needs_rows=True,
        has_own_divisor=True,
    )

    def for_refit(self) -> FullCovariance:
        """Return a `FullCovariance`: nothing is searched, because the moments contain the estimates."""
        return FullCovariance()

    @property
    def refits_each_row(self) -> bool:
        """Whether leaving out a row requires a refit, which is always the case."""
        return True

    @abstractmethod
    def breakdown(self, moments: ClassMoments) -> float:
        """Return the proportion of outliers in a class that the estimates tolerate."""


@dataclass(frozen=True, slots=True)
class StudentTCovariance(RobustCovariance):
    """Covariances of multivariate t distributions, estimated by maximum likelihood.

    Attributes
    ----------
    nu : float
        Degrees of freedom; zero before they are estimated.
    estimated_nu : bool
        Whether the degrees of freedom are estimated instead of specified by the user.
    inflated : bool
        Whether the covariances are nu / (nu - 2) times the scale matrices, or the scale matrices.
    steps : int
        Number of iterations.
    row_llf : float
        Log-likelihood of the rows conditional on their classes, in the units of the data.
    """

    nu: float = 0.0
    estimated_nu: bool = False
    inflated: bool = True
    steps: int = 0
    row_llf: float = 0.0

    method = "t"

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Raise InvalidStateError if the degrees of freedom are below one, or at most two if inflated.

        The numbers of covariances and columns are not used.
        """
        if not (self.nu >= NU_RANGE[0] and (self.nu > 2 or not self.inflated)):
            raise InvalidStateError(f"its t distribution has {self.nu:g} degrees of freedom")

    @property
    def requested_nu(self) -> float | None:
        """Degrees of freedom that the user specified; None if they are to be estimated."""
        return None if self.estimated_nu else self.nu

    def chosen_parameters(self) -> dict[str, Any]:
        """Return {"nu": degrees of freedom} if they are estimated, {} if the user specified them."""
        return {"nu": self.nu} if self.estimated_nu else {}

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of parameters, including the degrees of freedom if they are estimated."""
        return FullCovariance.n_parameters(self, n_columns, n_covariances) + int(self.estimated_nu)

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Return the joint log-likelihood of classes and rows under t distributions, at its maximum.

        It is `row_llf` plus the log prior; only the counts and the log prior of `fitted` are used.
        """
        return float(fitted.moments.counts @ fitted.log_prior) + self.row_llf

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return a scorer that returns NaN for each row, because leaving out a row requires a refit.

        Raises CoreNotSupportedError if there are more than `MAX_REFITS` rows.
        """
        moments = fitted.moments
        self.check_leave_one_out(moments)
        return refit_each_row(int(moments.rows.sum()), moments.n_classes, "requires a search for each row")

    def check_leave_one_out(self, moments: ClassMoments) -> None:
        """Raise CoreNotSupportedError if there are more than `MAX_REFITS` rows, which are all refitted."""
        if moments.rows.sum() > MAX_REFITS:
            raise _too_many_searches(moments)

    def breakdown(self, moments: ClassMoments) -> float:
        """Return the proportion of outliers in a class that the estimates tolerate: 1/(nu + p).

        See Dumbgen & Tyler (2005, Scandinavian Journal of Statistics 32, 247-264).
        """
        return 1 / (self.nu + moments.n_columns)


@dataclass(frozen=True, slots=True)
class MCDCovariance(RobustCovariance):
    """Covariances of the minimum covariance determinant.

    Attributes
    ----------
    support_fraction : float
        Proportion of the rows that determines the size of the subset.
    """

    support_fraction: float = 0.5

    method = "mcd"
    traits = replace(RobustCovariance.traits, is_maximum_likelihood=False)

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Raise InvalidStateError if the support fraction is not between 0.5 and 1."""
        if not 0.5 <= self.support_fraction <= 1:
            fraction = self.support_fraction
            raise InvalidStateError(f"its support fraction is {fraction:g}, not between 0.5 and 1")

    def subset_sizes(self, moments: ClassMoments) -> Floats:
        """Return the sizes h of the subsets by class (K,).

        For a common covariance (pooled moments) the size of the subset of all rows follows: (K + 1,).
        """
        rows = moments.counts if moments.scatter_type == "class" else np.append(moments.counts, moments.total)
        return np.array([subset_size(int(n), moments.n_columns, self.support_fraction) for n in rows])

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Raise CoreNotSupportedError, because the estimate does not maximize a likelihood."""
        raise no_likelihood_error(self.method)

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Raise CoreNotSupportedError, because the estimate does not maximize a likelihood."""
        raise no_likelihood_error(self.method)

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Raise CoreNotSupportedError for any number of rows, because each would require a search."""
        raise _too_many_searches(fitted.moments)

    def check_leave_one_out(self, moments: ClassMoments) -> None:
        """Raise CoreNotSupportedError for any number of rows, because each would require a search."""
        raise _too_many_searches(moments)

    def breakdown(self, moments: ClassMoments) -> float:
        """Return the proportion of outliers in a class that the estimates tolerate.

        It is the smallest (n - h)/n of the classes.
        """
        h = self.subset_sizes(moments)[: moments.n_classes]
        return float(((moments.counts - h) / moments.counts).min())


def _too_many_searches(moments: ClassMoments) -> CoreNotSupportedError:
    """Return a CoreNotSupportedError for leave-one-out of a fit that requires a search for each row."""
    return CoreNotSupportedError("search_for_each_row", n_rows=int(moments.rows.sum()))


def fit_t(
    blocks: RowBlocks,
    start: ClassMoments,
    nu: float | None,
    *,
    inflated: bool,
    initial: StudentEstimates | None = None,
) -> tuple[ClassMoments, StudentTCovariance, StudentEstimates]:
    """Estimate means and covariances of multivariate t distributions.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of the rows.
    start : ClassMoments
        Moments of the rows, of full rank, at which the search starts: pooled for a common covariance, or by
        class.
    nu : float or None
        Degrees of freedom; None to estimate them by maximum likelihood.
    inflated : bool
        Whether the result has the covariances of the t distributions, which requires nu > 2, instead of the
        scale matrices.
    initial : StudentEstimates, optional
        Result of an earlier search from which to start; used with a specified nu.

    Returns
    -------
    moments : ClassMoments
        With the estimated means, and scatters that divided by the counts are the covariances or scale
        matrices. Covariances are NaN if nu is at most 2.
    covariance_model : StudentTCovariance
        With the degrees of freedom, the number of iterations and the log-likelihood.
    search : StudentEstimates
        `search.converged` is False if the maximum number of iterations was reached. If a scale matrix became
        singular, `search.collapsed` is the class (0 for a common scale), and the other two results do not
        contain estimates.
    """
    search = (
        student.fit_student_and_nu(blocks, start)
        if nu is None
        else student.fit_student(blocks, start, nu, initial=initial)
    )
    if search.collapsed is not None:
        return search.moments, StudentTCovariance(search.nu), search
    moments = search.scatters()
    if inflated:
        factor = search.nu / (search.nu - 2) if search.nu > 2 else np.nan
        roots = None if moments.roots is None else moments.roots * np.sqrt(factor)
        moments = replace(moments, scatters=moments.scatters * factor, roots=roots)
    llf, _ = student.student_log_likelihood(blocks, search)
    return (
        moments,
        StudentTCovariance(search.nu, nu is None, inflated, search.steps, llf),
        search,
    )


def fit_mcd(
    x: Floats, codes: Codes, start: ClassMoments, support_fraction: float
) -> tuple[ClassMoments, MCDCovariance] | ExactFit:
    """Estimate means and covariances by the minimum covariance determinant.

    Parameters
    ----------
    x : (n, p) float
        Rows, in the units of the data; more rows than columns in each class.
    codes : (n,) int
        Class of each row.
    start : ClassMoments
        Moments of the rows, by class or pooled; the estimates have the same structure.
    support_fraction : float
        From 0.5 to 1: the size of the subset increases linearly from (n + p + 1)/2 to n rows.

    Returns
    -------
    (ClassMoments, MCDCovariance) or ExactFit
        Moments whose means, and scatters over the counts of all rows, are the estimates, and the model. An
        `ExactFit` if a subset of the rows of a class or, for pooled moments, of all rows about their centres
        lies in a hyperplane.
    """
    fit = class_mcd if start.scatter_type == "class" else common_mcd
    estimate = fit(x, codes, start, support_fraction)
    if isinstance(estimate, ExactFit):
        return estimate
    return estimate, MCDCovariance(support_fraction)
