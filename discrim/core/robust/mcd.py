"""Minimum covariance determinant: means and covariances of the rows that lie closest together.

Theory. Of the subsets of h rows, n/2 < h <= n, the one whose covariance has the least determinant is found
(Rousseeuw, 1984, JASA 79, 871-880). From any start a *concentration step* takes the h rows nearest by the
covariance of the last h, and the determinant falls until nothing changes (Rousseeuw & Van Driessen, 1999,
Technometrics 41, 212-223). Of the ends of several starts (`core.mcd_starts`) the one of least determinant is
taken. One column has an exact answer.

The raw covariance is made consistent at the normal model by a / P(chi2_{p+2} <= q_a), a = h/n and q_a the
a-quantile of chi2_p. Rows within the .975 quantile of it are kept, and the mean and covariance of these,
with the same factor at their share, are the estimate. There is no factor for small samples.

Of several classes with one covariance (method "mcd" of rrcov's Linda; Hubert & Van Driessen, 2004, CSDA 45,
301-320): each class is centred at its own estimate, the rows of all are put together, and the estimate of
these gives the covariance and a last shift of the centres.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.moments.coordinates import column_squares
from discrim.core.moments.moments import ClassMoments, gather
from discrim.core.moments.row_sums import triangle
from discrim.core.numerics.progress import late_bar, tick
from discrim.core.numerics.tails import chi2_cdf, chi2_isf
from discrim.core.robust.mcd_starts import first_subsets, nearest, spread

__all__ = ["ExactFit", "common_mcd", "mcd", "separate_mcd", "subset_size"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]

KEPT = 0.975
"""Quantile of chi-square up to which rows are kept."""

SINGULAR = 1e-12
"""Size of a column's residual on those before it, relative to the column, at which rows lie in a plane."""

SEARCH = "minimum determinant"

SAME = 1e-9
"""Difference of log-determinants below which the earlier start is as good."""


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
    return _kept(z, next(core for core in cores if core.logdet <= least + SAME), h)


def _closest(z: Floats, h: int) -> Mask:
    """The h neighbours on a line with the least variance.

    With h above n/2 they always contain the middle row. Squares are added up from there to both
    sides, so that a row far off spoils none but its own; about the median first, and again about the mean of
    the neighbours found, where the sum of squares itself is the variance.
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
    """Sum of squares (n - h + 1,) about its mean of each run of h neighbours in ascending numbers (n,)."""
    middle = len(line) // 2
    # What overflows lies too far for the least variance.
    with np.errstate(over="ignore", invalid="ignore"):
        sums, squares = (
            np.concatenate([np.cumsum(powers[middle - 1 :: -1])[::-1], [0.0]])[: len(line) - h + 1]
            + np.cumsum(powers[middle:])[h - middle - 1 :]
            for powers in (line, line**2)
        )
        found = squares - sums**2 / h
    return np.where(np.isnan(found), np.inf, found)


def _squares(z: Floats, mean: Floats, half: Floats) -> Floats:
    return column_squares(scipy.linalg.solve_triangular(half, (z - mean).T, lower=True))


def _concentrated(z: Floats, subset: Mask, h: int, passed: set[bytes]) -> _Core | ExactFit | None:
    """Concentration steps until the subset stays; none where they come to one that was passed before."""
    least = np.inf
    while True:
        tick()
        known = np.packbits(subset).tobytes()
        if known in passed:
            return None
        passed.add(known)
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
        ahead = nearest(d2, h)
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
    with late_bar(len(x), SEARCH) as tell:
        for k in range(start.n_classes):
            own = np.flatnonzero(codes == k)
            found = mcd(x[own], support_fraction)
            if isinstance(found, ExactFit):
                return replace(found, k=k)
            kept[own] = found.kept
            factors[k] = found.factor
            tell(len(own))
    held = gather([(x, codes, kept)], n_classes=start.n_classes, n_columns=start.n_columns, spread="class")
    return _restored(held, factors / (held.counts - 1) * start.counts, start)


def common_mcd(
    x: Floats, codes: Codes, start: ClassMoments, support_fraction: float
) -> ClassMoments | ExactFit:
    """Pooled moments whose means, and scatter over the rows, are the estimates; as `separate_mcd`."""
    # A centre is a row and how far it lies from that: far from zero the row has no digits for both.
    row, off = np.empty((2, start.n_classes, start.n_columns))
    with late_bar(2 * len(x), SEARCH) as tell:
        for k in range(start.n_classes):
            own = x[codes == k]
            found = mcd(own, support_fraction)
            # A class in a plane still has a centre, that of its rows there.
            kept = own[found.rows if isinstance(found, ExactFit) else found.kept]
            row[k], off[k] = kept[0], (kept - kept[0]).mean(axis=0)
            tell(len(own))
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
