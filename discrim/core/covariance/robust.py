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
from discrim.core.covariance.covariance import EPS
from discrim.core.covariance.model import (
    CovarianceTraits,
    FullCovariance,
    NormalClasses,
    no_likelihood,
)
from discrim.core.covariance.student import IN_A_PLANE, NU_RANGE, Student
from discrim.core.errors import CoreNotSupportedError, InvalidStateError
from discrim.core.moments.moments import ClassMoments, column_squares, gather
from discrim.core.moments.row_sums import RowBlocks, packed_triangle
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices
from discrim.core.numerics.progress import Progress, refresh_progress
from discrim.core.numerics.special import chi2_cdf, chi2_isf
from discrim.core.rules.leave_one_out import MOST_REFITS, LeftOut, by_refits

MOST_SEARCHED = 1000
"""Rows in the search; up to twice as many are searched completely."""

RIDGE = 1e-8
"""Ridge added to the covariance of few rows, relative to its largest variance if this exceeds one."""

FARTHEST_PAIR = 1e30
"""Limit of the values, in robust units, for the pairwise scales in single precision."""

ELEMENTAL_WORK = 1e7
"""Multiplications (sets x rows x columns^2) for random subsets of p + 1 rows."""

HELD_NUMBERS = 2**20
"""Maximum number of elements (sets x rows x columns) in memory at once."""

FEW_COLUMNS = 16
"""Number of columns up to which distances for several starts are computed by one product."""

FIRST_STEPS = 2
NEXT_STEPS = 8
"""Numbers of concentration steps from all starts, and from the best of them."""

BEST = 30
FOLLOWED = 4
"""Numbers of random subsets that are improved further, and of results that are refined on all rows."""

SAME_START = 1e-6
"""Difference of log-determinants below which two starts count as the same result."""


NEAREST_SHARES = (0.05, 0.25, 0.5, 0.85)
"""Proportions of the rows nearest the median whose covariances are starts."""


def first_subsets(z: Floats, h: int) -> list[Mask]:
    """Choose subsets of h < n rows from which concentration starts, the most promising first.

    The search uses an evenly spaced part of many rows, in the order of their size.

    Parameters
    ----------
    z : (n, p) float
        Rows about their median, in robust units.
    h : int
        Size of the subsets.

    Returns
    -------
    list of (n,) bool
    """
    size = (z**2).sum(axis=1)
    part = z[np.argsort(size, kind="stable")[:: max(len(z) // MOST_SEARCHED, 1)]]
    own = min(max(-(-h * len(part) // len(z)), part.shape[1] + 1), len(part) - 1)
    n, p = part.shape
    rng = np.random.default_rng(0)
    n_sets = int(np.clip(ELEMENTAL_WORK / (n * p * p), 10, 500))
    elemental = np.array([rng.choice(n, p + 1, replace=False) for _ in range(n_sets)])
    subsets, logdets = _concentrated_starts(part, elemental, own, FIRST_STEPS)
    best = [subsets[np.argsort(logdets, kind="stable")[:BEST]]]
    best.append(_concentrated_starts(part, _robust(part), own, FIRST_STEPS)[0])
    subsets, logdets = _concentrated_starts(part, np.concatenate(best), own, NEXT_STEPS)
    starts = [nearest(size, h)]
    last = -np.inf
    for s in np.argsort(logdets, kind="stable"):
        if logdets[s] > last + SAME_START and len(starts) <= FOLLOWED:
            last = logdets[s]
            mean, half = _moments(part[subsets[[s]]])
            starts.append(nearest(_start_squares(z, mean, half)[0], h))
    return [*starts[1:], starts[0]]


def nearest(d2: Floats, h: int) -> Mask:
    """Return a mask (n,) of the h smallest of the squared distances (n,); the first of ties at the limit."""
    last = np.partition(d2, h - 1)[h - 1]
    subset = np.asarray(d2 < last)
    subset[np.flatnonzero(d2 == last)[: h - int(subset.sum())]] = True
    return subset


def spread(x: Floats, h: int) -> Floats:
    """Return the h-th smallest absolute deviation (p,) from the median; zero if h rows have one value."""
    # A C-ordered transpose makes each column contiguous for the partition.
    return _spreads(np.array(x.T, order="C"), h)


def _spreads(columns: Floats, h: int) -> Floats:
    """Return the h-th smallest absolute deviation from the median of each column (p, n), overwriting them."""
    n = columns.shape[1]
    # Partitioning at one position is many times faster in NumPy than at two.
    columns.partition(n // 2, axis=1)
    high = columns[:, n // 2]
    columns -= (high if n % 2 else (high + columns[:, : n // 2].max(axis=1)) / 2)[:, None]
    np.abs(columns, out=columns)
    columns.partition(h - 1, axis=1)
    return columns[:, h - 1].astype(np.float64)


def _robust(z: Floats) -> Codes:
    """Return the halves of the rows (s, n/2) that are nearest by each of the robust correlations.

    Rows z (n, p) are in order of size.
    """
    n, p = z.shape
    length = np.sqrt((z**2).sum(axis=1, keepdims=True))
    ranks = scipy.stats.rankdata(z, axis=0)
    scores = scipy.special.ndtri((ranks - 1 / 3) / (n + 1 / 3))
    shapes = [np.tanh(z), ranks - ranks.mean(axis=0), scores, z / np.where(length > 0, length, 1.0)]
    shapes += [
        near - near.mean(axis=0) for near in (z[: max(int(share * n), p + 1)] for share in NEAREST_SHARES)
    ]
    half = n // 2 + 1
    found = []
    for shape in (*(own.T @ own for own in shapes), _pairwise(z, half)):
        deviations = np.sqrt(np.diagonal(shape))
        if not deviations.all():
            continue
        _, axes = np.linalg.eigh(shape / deviations / deviations[:, None])
        along = z @ axes
        unit = spread(along, half)
        # Many ties make a scale zero; then only the other starts are used.
        if (unit > 0).all():
            turned = along / unit
            middle = np.median(turned @ axes.T, axis=0) @ axes
            for coordinates in (turned - middle, along * unit):
                subset = nearest((coordinates**2).sum(axis=1), half)
                found.append(np.flatnonzero(subset))
    return np.array(found, dtype=np.intp).reshape(-1, half)


def _pairwise(z: Floats, half: int) -> Floats:
    """Return covariances (p, p) from the scales of sums and differences (Gnanadesikan & Kettenring, 1972)."""
    found = np.eye(z.shape[1])
    # Single precision suffices for the directions of a start.
    columns = np.clip(z.T, -FARTHEST_PAIR, FARTHEST_PAIR).astype(np.float32, order="C")
    for j in range(1, z.shape[1]):
        refresh_progress()
        own = columns[j]
        others = columns[:j]
        squares = _spreads(own + others, half) ** 2 - _spreads(own - others, half) ** 2
        found[j, :j] = found[:j, j] = squares / 4
    return found


def _concentrated_starts(z: Floats, sets: Codes, h: int, steps: int) -> tuple[Codes, Floats]:
    """Apply concentration steps to several subsets; a subset that does not change is not continued.

    Parameters
    ----------
    z : (n, p) float
    sets : (s, m) int
        Positions of the rows of each start.
    h : int
        Size of the resulting subsets.
    steps : int
        Number of concentration steps.

    Returns
    -------
    subsets : (s, h) int
    logdets : (s,) float
        Half the log-determinants of their covariances.
    """
    found = np.empty((len(sets), h), dtype=np.intp)
    logdets = np.empty(len(sets))
    for piece in slices(len(sets), max(HELD_NUMBERS // z.size, 1)):
        subsets = found[piece]
        going = np.arange(len(sets[piece]))
        before = sets[piece]
        for _ in range(steps):
            refresh_progress()
            means, halves = _moments(z[before])
            moved = np.argpartition(_start_squares(z, means, halves), h - 1, axis=1)[:, :h]
            subsets[going] = moved = np.sort(moved, axis=1)
            going = going[(moved != before).any(axis=1)] if before.shape == moved.shape else going
            before = subsets[going]
            if not len(going):
                break
        _, halves = _moments(z[subsets])
        logdets[piece] = np.log(np.diagonal(halves, axis1=1, axis2=2)).sum(axis=1)
    return found, logdets


def _moments(rows: Floats) -> tuple[Floats, Floats]:
    """Compute means and lower triangular roots of the covariances of sets of rows.

    Parameters
    ----------
    rows : (s, m, p) float

    Returns
    -------
    means : (s, 1, p) float
    halves : (s, p, p) float
    """
    means = rows.mean(axis=1, keepdims=True)
    rows = rows - means
    covariances = np.swapaxes(rows, 1, 2) @ rows
    covariances /= rows.shape[1]
    ridges = RIDGE * np.maximum(np.diagonal(covariances, axis1=1, axis2=2).max(axis=1), 1.0)
    covariances += ridges[:, None, None] * np.eye(rows.shape[2])
    return means, np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)


def _start_squares(z: Floats, means: Floats, halves: Floats) -> Floats:
    """Compute squared distances of rows, with the accuracy that the choice of starts requires.

    Parameters
    ----------
    z : (n, p) float
    means : (s, 1, p) float
    halves : (s, p, p) float
        Lower triangular roots of covariances.

    Returns
    -------
    (s, n) float
    """
    if z.shape[1] <= FEW_COLUMNS:
        inverses = np.linalg.inv(halves)
        white = inverses @ z.T - inverses @ np.swapaxes(means, 1, 2)
        return np.asarray(np.einsum("spn,spn->sn", white, white))
    return np.array([_squares(z, mean, half) for mean, half in zip(means, halves, strict=True)])


KEPT_QUANTILE = 0.975
"""Quantile of the chi-square distribution up to which rows are kept."""

SEARCH = "minimum determinant"

SAME_DETERMINANT = 1e-9
"""Difference of log-determinants up to which the earlier start is preferred."""


@dataclass(frozen=True, slots=True, eq=False)
class ExactFit:
    """At least half of the rows lie in a hyperplane, therefore the smallest determinant is zero.

    Attributes
    ----------
    columns : tuple of int
        Positions of columns that are constant or linearly dependent on these rows.
    rows : (n,) bool
        Rows in the hyperplane.
    constant : bool
        Whether a column is constant on these rows.
    k : int or None
        Position of the class of the rows; None for the pooled rows.
    """

    columns: tuple[int, ...]
    rows: Mask
    constant: bool = False
    k: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Mcd:
    """Rows that determine the MCD estimate.

    Attributes
    ----------
    subset : (n,) bool
        The h rows with the smallest determinant.
    kept : (n,) bool
        Rows within the quantile of the raw estimate.
    factor : float
        Consistency factor of the covariance of the kept rows, whose divisor is their number less one.
    """

    subset: Mask
    kept: Mask
    factor: float


class _Core(NamedTuple):
    """Result of concentration steps.

    Attributes
    ----------
    subset : (n,) bool
    d2 : (n,) float
        Squared distances of all rows under the covariance of the subset.
    logdet : float
        Log-determinant of this covariance.
    """

    subset: Mask
    d2: Floats
    logdet: float


def subset_size(n: int, p: int, support_fraction: float) -> int:
    """Return the number h of rows of the subset: (n+p+1)/2 at a fraction of 0.5, n at a fraction of 1.

    Parameters
    ----------
    n, p : int
        Numbers of rows and columns.
    support_fraction : float
    """
    half = (n + p + 1) // 2
    return int(2 * half - n + 2 * (n - half) * support_fraction)


def mcd(x: Floats, support_fraction: float = 0.5) -> Mcd | ExactFit:
    """Find the rows that determine the minimum covariance determinant estimate.

    Parameters
    ----------
    x : (n, p) float
        More rows than columns.
    support_fraction : float
        See `subset_size`.

    Returns
    -------
    Mcd or ExactFit

    Examples
    --------
    >>> import numpy as np
    >>> found = mcd(np.array([[1.0], [1.1], [1.3], [0.9], [50.0]]))
    >>> found.subset.tolist(), found.kept.tolist()
    ([True, True, False, True, False], [True, True, True, True, False])
    """
    n, p = x.shape
    h = subset_size(n, p, support_fraction)
    middle = np.median(x, axis=0)
    z = x - middle
    unit = spread(x, h)
    still = np.flatnonzero(unit <= 4 * EPS * np.abs(middle))
    if len(still):
        j = int(still[0])
        return ExactFit((j,), np.abs(z[:, j]) <= 4 * EPS * abs(middle[j]), constant=True)
    z /= unit
    if h == n:
        starts: Iterable[Mask] = [np.ones(n, dtype=bool)]
    elif p == 1:
        starts = [_closest(z[:, 0], h)]
    else:
        starts = first_subsets(z, h)
    cores: list[_Core] = []
    passed: set[bytes] = set()
    for subset in starts:
        found = _concentrated(z, subset, h, passed)
        if isinstance(found, ExactFit):
            return found
        if found is not None:
            cores.append(found)
    least = min(core.logdet for core in cores)
    return _kept(z, next(core for core in cores if core.logdet <= least + SAME_DETERMINANT), h)


def _closest(z: Floats, h: int) -> Mask:
    """Find the h neighbours on a line with the smallest variance.

    With h above n/2 they always contain the middle row. Squares are summed from there to both sides,
    therefore an outlier affects only the sums that contain it. They are computed about the median first, and
    again about the mean of the neighbours found, for which the sum of squares is the variance without
    correction.

    Parameters
    ----------
    z : (n,) float
    h : int

    Returns
    -------
    (n,) bool
    """
    n = len(z)
    order = np.argsort(z, kind="stable")
    about = float(z[order[n // 2]])
    for _ in range(2):
        start = int(np.argmin(_window_squares(z[order] - about, h)))
        about = float(z[order[start : start + h]].mean())
    subset = np.zeros(n, dtype=bool)
    subset[order[start : start + h]] = True
    return subset


def _window_squares(line: Floats, h: int) -> Floats:
    """Return sums of squares (n - h + 1,) about their mean of all runs of h neighbours in sorted (n,)."""
    middle = len(line) // 2
    sums, squares = (
        np.concatenate([np.cumsum(powers[middle - 1 :: -1])[::-1], [0.0]])[: len(line) - h + 1]
        + np.cumsum(powers[middle:])[h - middle - 1 :]
        for powers in (line, line**2)
    )
    return np.asarray(squares - sums**2 / h)


def _squares(z: Floats, mean: Floats, half: Floats) -> Floats:
    # The transpose has the column-major order of BLAS, and nothing is copied.
    """Compute squared distances of rows.

    Parameters
    ----------
    z : (n, p) float
    mean : (p,) or (1, p) float
    half : (p, p) float
        Lower triangular root of the covariance.

    Returns
    -------
    (n,) float
    """
    return column_squares(scipy.linalg.blas.dtrsm(1.0, half.T, (z - mean).T, trans_a=1, overwrite_b=1))


def _concentrated(z: Floats, subset: Mask, h: int, passed: set[bytes]) -> _Core | ExactFit | None:
    """Iterate concentration steps until the subset does not change.

    Parameters
    ----------
    z : (n, p) float
    subset : (n,) bool
        Start.
    h : int
        Size of the subsets.
    passed : set of bytes
        Subsets of earlier searches; extended in place.

    Returns
    -------
    _Core, ExactFit or None
        None if the search meets a subset of an earlier one.
    """
    least = np.inf
    while True:
        refresh_progress()
        known = np.packbits(subset).tobytes()
        if known in passed:
            return None
        passed.add(known)
        own = z[subset]
        mean = own.mean(axis=0)
        root = packed_triangle(own - mean) / np.sqrt(h - 1)
        lengths = np.sqrt((root**2).sum(axis=0))
        flat = np.abs(np.diagonal(root)) <= IN_A_PLANE * np.maximum(lengths, 1.0)
        if flat.any():
            columns = np.flatnonzero(flat)
            return ExactFit(tuple(columns.tolist()), _on_plane(z, mean, root, int(columns[0])))
        d2 = _squares(z, mean, root.T)
        logdet = 2 * float(np.log(np.abs(np.diagonal(root))).sum())
        ahead = nearest(d2, h)
        if (ahead == subset).all() or logdet >= least:
            return _Core(subset, d2, logdet)
        subset = ahead
        least = logdet


def _kept(z: Floats, core: _Core, h: int) -> Mcd:
    """Select the rows within the quantile of the raw estimate.

    Parameters
    ----------
    z : (n, p) float
    core : _Core
    h : int

    Returns
    -------
    Mcd
    """
    n, p = z.shape
    kept = core.d2 <= _consistency(h / n, p) * chi2_isf(1 - KEPT_QUANTILE, p)
    return Mcd(core.subset, kept, _consistency(float(kept.mean()), p))


def _on_plane(z: Floats, mean: Floats, root: Floats, j: int) -> Mask:
    """Find the rows in the hyperplane on which column j is a combination of earlier columns.

    Parameters
    ----------
    z : (n, p) float
    mean : (p,) float
    root : (p, p) float
        Triangular root of the covariance of the subset.
    j : int
        Position of the column.

    Returns
    -------
    (n,) bool
    """
    slopes = np.linalg.lstsq(root[:, :j], root[:, j], rcond=None)[0]
    residual = (z - mean)[:, j] - (z - mean)[:, :j] @ slopes
    return np.asarray(np.abs(residual) <= 1e-8)


def _consistency(share: float, p: int) -> float:
    """Return the ratio of the full normal covariance to the covariance of the central proportion of rows."""
    return 1.0 if share >= 1 else float(share / chi2_cdf(chi2_isf(1 - share, p), p + 2))


def separate_mcd(
    x: Floats, codes: Codes, start: ClassMoments, support_fraction: float
) -> ClassMoments | ExactFit:
    """Compute the MCD estimate of each class.

    Parameters
    ----------
    x : (n, p) float
    codes : (n,) int
        Class of each row.
    start : ClassMoments
        Moments of all rows, for the counts.
    support_fraction : float
        See `subset_size`.

    Returns
    -------
    ClassMoments or ExactFit
        Moments by class whose means, and scatters over the counts, are the estimates.
    """
    kept = np.zeros(len(x))
    factors = np.empty(start.n_classes)
    with Progress(len(x), SEARCH) as progress:
        for k in range(start.n_classes):
            own = np.flatnonzero(codes == k)
            found = mcd(x[own], support_fraction)
            if isinstance(found, ExactFit):
                return replace(found, k=k)
            kept[own] = found.kept
            factors[k] = found.factor
            progress(len(own))
    moments = gather([(x, codes, kept)], n_classes=start.n_classes, n_columns=start.n_columns, spread="class")
    return _restored(moments, factors / (moments.counts - 1) * start.counts, start)


def common_mcd(
    x: Floats, codes: Codes, start: ClassMoments, support_fraction: float
) -> ClassMoments | ExactFit:
    """Compute MCD estimates of the class means and of one covariance for all classes.

    Parameters
    ----------
    x : (n, p) float
    codes : (n,) int
        Class of each row.
    start : ClassMoments
        Moments of all rows, for the counts.
    support_fraction : float
        See `subset_size`.

    Returns
    -------
    ClassMoments or ExactFit
        Pooled moments whose means, and scatter over the number of rows, are the estimates.
    """
    # Store a centre as a row plus an offset: for data far from zero, the sum would round the offset.
    row, off = np.empty((2, start.n_classes, start.n_columns))
    with Progress(2 * len(x), SEARCH) as progress:
        for k in range(start.n_classes):
            own = x[codes == k]
            found = mcd(own, support_fraction)
            # For a class in a hyperplane, the centre is the mean of the rows there.
            kept = own[found.rows if isinstance(found, ExactFit) else found.kept]
            row[k], off[k] = kept[0], (kept - kept[0]).mean(axis=0)
            progress(len(own))
        rest = x - row[codes] - off[codes]
        found = mcd(rest, support_fraction)
        progress(len(x))
    if isinstance(found, ExactFit):
        return found
    one = np.zeros(len(x), dtype=np.intp)
    moments = gather(
        [(rest, one, found.kept.astype(np.float64))], n_classes=1, n_columns=start.n_columns, spread="pooled"
    )
    shift = off + moments.centres[0] + moments.rests[0] / moments.scale
    centres = row + shift
    rests = (shift - (centres - row)) * moments.scale
    whole = replace(moments, centres=centres, rests=rests)
    return _restored(whole, np.array([found.factor / (moments.total - 1) * start.total]), start)


def _restored(moments: ClassMoments, factors: Floats, start: ClassMoments) -> ClassMoments:
    """Return moments with the counts of all rows, and with scatters multiplied by factors.

    Parameters
    ----------
    moments : ClassMoments
    factors : (K,) or (1,) float
    start : ClassMoments
        Moments of all rows.

    Returns
    -------
    ClassMoments
    """
    size = factors[:, None, None]
    roots = None if moments.roots is None else moments.roots * np.sqrt(size)
    scatters = moments.scatters * size if roots is None else np.swapaxes(roots, 1, 2) @ roots
    return replace(moments, counts=start.counts, rows=start.rows, scatters=scatters, roots=roots)


ROBUST = ("t", "mcd")
"""Estimation methods whose means and covariances are not moments of the rows."""


@dataclass(frozen=True, slots=True)
class RobustCovariance(FullCovariance):
    """Full covariance of robust estimates: base class of the models of each estimator.

    Attributes
    ----------
    method : str
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
        """Return the full covariance, because the moments contain the robust estimates."""
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
        Degrees of freedom.
    estimated_nu : bool
        Whether the degrees of freedom are estimated.
    inflated : bool
        Whether the covariances are nu / (nu - 2) times the scale matrices, or the scale matrices.
    steps : int
        Number of iterations.
    row_llf : float
        Log-likelihood of the rows conditional on their classes.
    """

    nu: float = 0.0
    estimated_nu: bool = False
    inflated: bool = True
    steps: int = 0
    row_llf: float = 0.0

    method = "t"

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Raise InvalidStateError if the degrees of freedom are out of range."""
        if not (self.nu >= NU_RANGE[0] and (self.nu > 2 or not self.inflated)):
            raise InvalidStateError(f"its t distribution has {self.nu:g} degrees of freedom")

    @property
    def asked_nu(self) -> float | None:
        """Degrees of freedom that the user specified; None if they are to be estimated."""
        return None if self.estimated_nu else self.nu

    def chosen_parameters(self) -> dict[str, Any]:
        """Return the degrees of freedom if they are estimated."""
        return {"nu": self.nu} if self.estimated_nu else {}

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of parameters, including the degrees of freedom if they are estimated."""
        return FullCovariance.n_parameters(self, n_columns, n_covariances) + int(self.estimated_nu)

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Return the log-likelihood of class and row under t distributions, at its maximum."""
        return float(fitted.moments.counts @ fitted.log_prior) + self.row_llf

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Return missing scores, because leaving out a row requires a new fit."""
        moments = fitted.moments
        self.check_leave_one_out(moments)
        return by_refits(int(moments.rows.sum()), moments.n_classes, "takes a search for each row")

    def check_leave_one_out(self, moments: ClassMoments) -> None:
        """Raise NotSupportedError if there would be too many refits."""
        if moments.rows.sum() > MOST_REFITS:
            raise _takes_searches(moments)

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
        """Raise InvalidStateError if the subset is not at least half of the rows."""
        if not 0.5 <= self.support_fraction <= 1:
            raise InvalidStateError(f"its subset is {self.support_fraction:g} of the rows")

    def subset_sizes(self, moments: ClassMoments) -> Floats:
        """Return the sizes h of the subsets, by class and, for a common covariance, of all rows."""
        rows = moments.counts if moments.spread == "class" else np.append(moments.counts, moments.total)
        return np.array([subset_size(int(n), moments.n_columns, self.support_fraction) for n in rows])

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Raise NotSupportedError, because the estimate does not maximize a likelihood."""
        raise no_likelihood(self.method)

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Raise NotSupportedError, because the estimate does not maximize a likelihood."""
        raise no_likelihood(self.method)

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Raise NotSupportedError, because a search for each row would be too slow."""
        raise _takes_searches(fitted.moments)

    def check_leave_one_out(self, moments: ClassMoments) -> None:
        """Raise NotSupportedError, because a search for each row would be too slow."""
        raise _takes_searches(moments)

    def breakdown(self, moments: ClassMoments) -> float:
        """Return the proportion of outliers in a class that the estimates tolerate.

        It is the smallest (n - h)/n of the classes.
        """
        h = self.subset_sizes(moments)[: moments.n_classes]
        return float(((moments.counts - h) / moments.counts).min())


def _takes_searches(moments: ClassMoments) -> CoreNotSupportedError:
    """Return the error for leave-one-out that would require too many searches."""
    return CoreNotSupportedError("search_for_each_row", n_rows=int(moments.rows.sum()))


def fit_t(
    blocks: RowBlocks,
    start: ClassMoments,
    nu: float | None,
    *,
    inflated: bool,
    begin: Student | None = None,
) -> tuple[ClassMoments, StudentTCovariance, Student]:
    """Estimate means and covariances of multivariate t distributions.

    Parameters
    ----------
    blocks : iterable of blocks
    start : ClassMoments
        Pooled or by class, of full rank.
    nu : float or None
        Degrees of freedom; None to estimate them by maximum likelihood.
    inflated : bool
        Whether covariances are the ones of the t distributions, which requires nu > 2, or the scale matrices.
    begin : Student, optional
        Result of an earlier search from which to start; used with a specified nu.

    Returns
    -------
    moments : ClassMoments
    covariance_model : StudentTCovariance
    search : Student
        If a scale matrix became singular, `search.collapsed` is the class.
    """
    found = (
        student.best_nu(blocks, start) if nu is None else student.fit_student(blocks, start, nu, begin=begin)
    )
    if found.collapsed is not None:
        return found.moments, StudentTCovariance(found.nu), found
    moments = found.scatters()
    if inflated:
        factor = found.nu / (found.nu - 2) if found.nu > 2 else np.nan
        roots = None if moments.roots is None else moments.roots * np.sqrt(factor)
        moments = replace(moments, scatters=moments.scatters * factor, roots=roots)
    llf, _ = student.student_log_likelihood(blocks, found)
    return (
        moments,
        StudentTCovariance(found.nu, nu is None, inflated, found.steps, llf),
        found,
    )


def fit_mcd(
    x: Floats, codes: Codes, start: ClassMoments, support_fraction: float
) -> tuple[ClassMoments, MCDCovariance] | ExactFit:
    """Estimate means and covariances by the minimum covariance determinant.

    Parameters
    ----------
    x : (n, p) float
        More rows than columns in each class.
    codes : (n,) int
        Class of each row.
    start : ClassMoments
        Moments of the rows, by class or pooled; the estimates have the same structure.
    support_fraction : float
        See `subset_size`.

    Returns
    -------
    (ClassMoments, MCDCovariance) or ExactFit
    """
    fit = separate_mcd if start.spread == "class" else common_mcd
    found = fit(x, codes, start, support_fraction)
    if isinstance(found, ExactFit):
        return found
    return found, MCDCovariance(support_fraction)
