"""Minimum covariance determinant: means and covariances of the rows that lie closest together.

Theory. Of the subsets of h rows, n/2 < h <= n, the one whose covariance has the least determinant is found
(Rousseeuw, 1984, JASA 79, 871-880). From any start a *concentration step* takes the h rows nearest by the
covariance of the last h, and the determinant falls until nothing changes (Rousseeuw & Van Driessen, 1999,
Technometrics 41, 212-223). The starts are those of the deterministic algorithm (Hubert, Rousseeuw &
Verdonck, 2012, JCGS 21, 618-637), by statsmodels' `CovDetMCD`, which is given the rows in robust units,
since the tolerance of its steps is absolute; the h rows nearest the median; and sets of p + 1 rows from a
fixed stream of random numbers that knows the rows by their order in size only, so that the same rows give
the same estimate. The last steps are taken here, until the subset stays, and the subset of least
determinant is taken. One column has an exact answer.

The raw covariance is made consistent at the normal model by a / P(chi2_{p+2} <= q_a), a = h/n and q_a the
a-quantile of chi2_p. Rows within the .975 quantile of it are kept, and the mean and covariance of these,
with the same factor at their share, are the estimate. There is no factor for small samples.

Of several classes with one covariance (method "mcd" of rrcov's Linda; Hubert & Van Driessen, 2004, CSDA 45,
301-320): each class is centred at its own estimate, the rows of all are put together, and the estimate of
these gives the covariance and a last shift of the centres.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from discrim.core.moments import ClassMoments, gather
from discrim.core.passes import triangle
from discrim.core.rules import column_squares
from discrim.core.tails import chi2_cdf, chi2_isf
from discrim.errors import NotSupportedError

__all__ = ["ExactFit", "common_mcd", "mcd", "separate_mcd", "subset_size"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]

KEPT = 0.975
"""Quantile of chi-square up to which rows are kept."""

SINGULAR = 1e-12
"""Size of a column's residual on those before it, relative to the column, at which rows lie in a plane."""

SAME = 1e-9
"""Difference of log-determinants below which the earlier start is as good."""

OFF_MEDIAN = 1e-7
"""How far from the median, in robust units, the directions of rows are taken from."""

MOST_SEARCHED = 1000
"""Rows, and not quite twice as many, that the search for a start sees."""

RIDGE = 1e-8
"""What is added to the covariance of p + 1 rows, in robust units or in its own where it is larger, in case it
is singular."""

FAR = 1e100
"""Robust units from the median beyond which a row is no farther to a search for a start."""

ELEMENTAL_WORK = 1e6
"""Multiplications (sets x rows x columns^2) that go into sets of p + 1 rows."""

ELEMENTAL_NUMBERS = 2**20
"""Numbers (sets x rows x columns) that are held at once for it."""

BEST_ELEMENTAL = 10
"""Of these sets, those that are followed to their end."""

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class ExactFit:
    """Half of the rows or more in a plane, so that the least determinant is zero.

    Attributes
    ----------
    columns : tuple of int
        Those that do not vary on it, or that others determine.
    rows : (n,) bool
        The rows on it.
    constant : bool
        Whether it is that of one value of the only column.
    k : int or None
        Class, where it is the rows of one.
    """

    columns: tuple[int, ...]
    rows: Mask
    constant: bool = False
    k: int | None = None


@dataclass(frozen=True, slots=True)
class Mcd:
    """Which rows make the estimate.

    Attributes
    ----------
    subset : (n,) bool
        The h rows of least determinant.
    kept : (n,) bool
        The rows within the quantile of the raw estimate.
    factor : float
        That makes the covariance of the kept rows, divisor their number less one, consistent.
    """

    subset: Mask
    kept: Mask
    factor: float


class _Core(NamedTuple):
    """A subset (n,), the distances (n,) from it, and the log-determinant of its covariance."""

    subset: Mask
    d2: Floats
    logdet: float


def subset_size(n: int, p: int, support_fraction: float) -> int:
    """Rows h of the subset: from (n+p+1)/2 at a fraction of 0.5, the most robust, to n at 1."""
    half = (n + p + 1) // 2
    return int(2 * half - n + 2 * (n - half) * support_fraction)


def mcd(x: Floats, support_fraction: float = 0.5) -> Mcd | ExactFit:
    """Rows of the minimum covariance determinant.

    Parameters
    ----------
    x : (n, p) float
        More rows than columns.
    support_fraction : float
        From 0.5 to 1.

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
    unit = _spread(x, h)
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
        starts = _first_subsets(z, h)
    cores = []
    for subset in starts:
        found = _concentrated(z, subset, h)
        if isinstance(found, ExactFit):
            return found
        cores.append(found)
    least = min(core.logdet for core in cores)
    return _kept(z, next(core for core in cores if core.logdet <= least + SAME), h)


def _closest(z: Floats, h: int) -> Mask:
    """The h neighbours on a line with the least variance."""
    order = np.argsort(z, kind="stable")
    first, second = (np.concatenate([[0.0], np.cumsum(z[order] ** power)]) for power in (1, 2))
    sums, squares = first[h:] - first[:-h], second[h:] - second[:-h]
    start = int(np.argmin(squares - sums**2 / h))
    subset = np.zeros(len(z), dtype=bool)
    subset[order[start : start + h]] = True
    return subset


def _first_subsets(z: Floats, h: int) -> Iterator[Mask]:
    """The h rows nearest the median; the best of elemental sets; that of statsmodels' search.

    Of many rows the search sees a part, evenly chosen in the order of size.
    """
    z = np.clip(z, -FAR, FAR)
    squares = (z**2).sum(axis=1)
    yield _nearest(squares, h)
    order = np.argsort(squares, kind="stable")
    part = z[order[:: max(len(z) // MOST_SEARCHED, 1)]]
    own = min(max(-(-h * len(part) // len(z)), part.shape[1] + 1), len(part) - 1)
    for mean, half in (*_elemental(part, own), *_deterministic(part, own)):
        yield _nearest(_squares(z, mean, half), h)


def _deterministic(z: Floats, h: int) -> Iterator[tuple[Floats, Floats]]:
    """Mean (p,) and lower root (p, p) that statsmodels ends with, where ties or few rows do not stop it."""
    try:
        from statsmodels.robust.covariance import CovDetMCD
    except ImportError:
        raise NotSupportedError(
            'method="mcd" needs statsmodels 0.15 or later: upgrade it, or fit with method="t".'
        ) from None

    # One of its starts is of the 2 (p + 2) rows nearest the median; sets of p + 1 do for fewer rows.
    if len(z) < 2 * (z.shape[1] + 2):
        return
    options = {"loc_func": _off_median, "scale_func": partial(_spread, h=h)}
    try:
        # Many ties make a scale or a direction zero; the other starts then have to do.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = CovDetMCD(z).fit(h, h_start=h, reweight=False, options_start=options)
        yield found.mean, np.linalg.cholesky(found.cov)
    except (np.linalg.LinAlgError, ZeroDivisionError):
        return


def _elemental(z: Floats, h: int) -> list[tuple[Floats, Floats]]:
    """Means and lower roots two steps from sets of p + 1 rows, those of least determinant.

    The rows are in the order of their size, which is all that the draw knows of them.
    """
    n, p = z.shape
    rng = np.random.default_rng(0)
    sets = int(np.clip(ELEMENTAL_WORK / (n * p * p), 10, 300))
    drawn = np.array([rng.choice(n, p + 1, replace=False) for _ in range(sets)])
    parts = np.array_split(drawn, -(-sets * n * p // ELEMENTAL_NUMBERS))
    found = [_two_steps(z, subsets, h) for subsets in parts]
    means, halves = (np.concatenate(part) for part in zip(*found, strict=True))
    logdets = np.log(np.diagonal(halves, axis1=1, axis2=2)).sum(axis=1)
    return [(means[s], halves[s]) for s in np.argsort(logdets, kind="stable")[:BEST_ELEMENTAL]]


def _two_steps(z: Floats, subsets: Codes, h: int) -> tuple[Floats, Floats]:
    """Means (s, p) and lower roots (s, p, p) two steps on from each of some sets (s, p + 1) of rows."""
    for step in range(3):
        own = z[subsets]
        means = own.mean(axis=1)
        own -= means[:, None]
        ridges = RIDGE * np.maximum((own**2).mean(axis=1).max(axis=1), 1.0)
        ridges = ridges[:, None, None] * np.eye(z.shape[1])
        halves = np.linalg.cholesky(np.swapaxes(own, 1, 2) @ own / own.shape[1] + ridges)
        if step < 2:
            white = np.linalg.solve(halves, np.swapaxes(z - means[:, None], 1, 2))
            subsets = np.argpartition((white**2).sum(axis=1), h - 1, axis=1)[:, :h]
    return means, halves


def _squares(z: Floats, mean: Floats, half: Floats) -> Floats:
    return column_squares(solve_triangular(half, (z - mean).T, lower=True))


def _spread(x: Floats, h: int) -> Floats:
    """The h-th smallest absolute deviation (p,) from the median: zero where h rows have one value."""
    return np.asarray(np.partition(np.abs(x - np.median(x, axis=0)), h - 1, axis=0)[h - 1])


def _off_median(x: Floats) -> Floats:
    # A row at the median itself has no direction, of which `CovDetMCD` would make 0/0.
    return np.asarray(np.median(x, axis=0) + OFF_MEDIAN)


def _nearest(d2: Floats, h: int) -> Mask:
    subset = np.zeros(len(d2), dtype=bool)
    subset[np.argsort(d2, kind="stable")[:h]] = True
    return subset


def _concentrated(z: Floats, subset: Mask, h: int) -> _Core | ExactFit:
    """Concentration steps until the subset stays."""
    least = np.inf
    while True:
        own = z[subset]
        mean = own.mean(axis=0)
        root = triangle(own - mean) / np.sqrt(h - 1)
        lengths = np.sqrt((root**2).sum(axis=0))
        flat = np.abs(np.diagonal(root)) <= SINGULAR * np.maximum(lengths, 1.0)
        if flat.any():
            columns = np.flatnonzero(flat)
            return ExactFit(tuple(columns.tolist()), _on_plane(z, mean, root, int(columns[0])))
        d2 = _squares(z, mean, root.T)
        logdet = 2 * float(np.log(np.abs(np.diagonal(root))).sum())
        ahead = _nearest(d2, h)
        if (ahead == subset).all() or logdet >= least:
            return _Core(subset, d2, logdet)
        subset, least = ahead, logdet


def _kept(z: Floats, core: _Core, h: int) -> Mcd:
    n, p = z.shape
    kept = core.d2 <= _consistency(h / n, p) * chi2_isf(1 - KEPT, p)
    return Mcd(core.subset, kept, _consistency(float(kept.mean()), p))


def _on_plane(z: Floats, mean: Floats, root: Floats, j: int) -> Mask:
    """Rows on the plane on which column j is determined by those before it."""
    slopes = np.linalg.lstsq(root[:, :j], root[:, j], rcond=None)[0]
    residual = (z - mean)[:, j] - (z - mean)[:, :j] @ slopes
    return np.asarray(np.abs(residual) <= 1e-8)


def _consistency(share: float, p: int) -> float:
    """Of the covariance of that share of normal rows that lies closest, to that of all of them."""
    return 1.0 if share >= 1 else float(share / chi2_cdf(chi2_isf(1 - share, p), p + 2))


def separate_mcd(
    x: Floats, codes: Codes, start: ClassMoments, support_fraction: float
) -> ClassMoments | ExactFit:
    """Moments by class whose means and scatters, over the counts, are the estimates of each class.

    Parameters
    ----------
    x : (n, p) float
    codes : (n,) int
    start : ClassMoments
        Of the rows, for their counts.
    support_fraction : float
        From 0.5 to 1.
    """
    kept = np.zeros(len(x))
    factors = np.empty(start.n_classes)
    for k in range(start.n_classes):
        own = np.flatnonzero(codes == k)
        found = mcd(x[own], support_fraction)
        if isinstance(found, ExactFit):
            return replace(found, k=k)
        kept[own] = found.kept
        factors[k] = found.factor
    held = gather([(x, codes, kept)], n_classes=start.n_classes, n_columns=start.n_columns, spread="class")
    return _restored(held, factors / (held.counts - 1) * start.counts, start)


def common_mcd(
    x: Floats, codes: Codes, start: ClassMoments, support_fraction: float
) -> ClassMoments | ExactFit:
    """Pooled moments whose means, and scatter over the rows, are the estimates; as `separate_mcd`."""
    # A centre is a row and how far it lies from that: far from zero the row has no digits for both.
    row, off = np.empty((2, start.n_classes, start.n_columns))
    for k in range(start.n_classes):
        own = x[codes == k]
        found = mcd(own, support_fraction)
        # A class in a plane still has a centre, that of its rows there.
        kept = own[found.rows if isinstance(found, ExactFit) else found.kept]
        row[k], off[k] = kept[0], (kept - kept[0]).mean(axis=0)
    rest = x - row[codes] - off[codes]
    found = mcd(rest, support_fraction)
    if isinstance(found, ExactFit):
        return found
    one = np.zeros(len(x), dtype=np.intp)
    held = gather(
        [(rest, one, found.kept.astype(np.float64))], n_classes=1, n_columns=start.n_columns, spread="pooled"
    )
    shift = off + held.centres[0] + held.rests[0] / held.scale
    centres = row + shift
    rests = (shift - (centres - row)) * held.scale
    whole = replace(held, centres=centres, rests=rests)
    return _restored(whole, np.array([found.factor / (held.total - 1) * start.total]), start)


def _restored(held: ClassMoments, factors: Floats, start: ClassMoments) -> ClassMoments:
    """Moments with the counts of all rows and scatters multiplied by factors."""
    size = factors[:, None, None]
    roots = None if held.roots is None else held.roots * np.sqrt(size)
    scatters = held.scatters * size if roots is None else np.swapaxes(roots, 1, 2) @ roots
    return replace(held, counts=start.counts, rows=start.rows, scatters=scatters, roots=roots)
