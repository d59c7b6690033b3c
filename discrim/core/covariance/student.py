"""Class means and scales of multivariate t distributions, by maximum likelihood.

`discrim.core.covariance.robust.fit_t` calls `fit_student` for fixed and `best_nu` for estimated degrees of
freedom.

Theory. Row i of class k has density proportional to |S|^-1/2 (1 + d_i/nu)^-(nu+p)/2, with d_i its squared
distance to m_k under the scale matrix S, which is common to the classes or one for each. At the maximum, with
frequencies f_i and weights u_i = (nu + p)/(nu + d_i),

    m_k = sum_k f u x / sum_k f u,    S = sum f u (x - m_k)(x - m_k)' / sum f u,    sum f u = sum f.

Iterating the first two equations, with u computed from the previous means and scale, is EM with an expanded
parameter: the likelihood increases at each step, as it does in EM with the divisor sum f, but fewer steps are
needed (Kent, Tyler & Vardi, 1994, Communications in Statistics B 23, 441-453; Meng & van Dyk, 1997, JRSS B
59, 511-567; EM itself: Lange, Little & Taylor, 1989, JASA 84, 881-896). For one class and nu >= 1 the maximum
is unique.

R's MASS iterates the same equations and stops when no weight changes by more than 0.01; its lda then uses
nu/(nu - 2) S, the covariance of the t distribution, and its qda S itself.

A step is a pass over the rows that gathers moments with the weights f u, and has the accuracy of these
moments. The derivative of the log-likelihood in nu at the maximum for this nu is the slope of the profile
likelihood (its other terms vanish there), and the degrees of freedom are a root of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy

from discrim.core.covariance.covariance import Covariance, is_singular, pooled, separate
from discrim.core.moments.moments import ClassMoments, column_squares, from_class_means, gather
from discrim.core.moments.row_sums import RowBlock, RowBlocks
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress, refresh_progress
from discrim.core.numerics.special import student_gain

TOLERANCE = 1e-12
"""Change in a step, in units of the scale, at or below which the search has converged."""

ROUNDED_STEP = 1e-8
"""Change below which a step that is not smaller than the previous one is rounding error."""

MOST_STEPS = 2000

NU_RANGE = (1.0, 256.0)
"""Range of the estimated degrees of freedom; below its start the likelihood may have several maxima."""

IN_A_PLANE = 1e-12
"""Residual of a column on earlier columns, relative to its length, at which rows lie in a hyperplane."""

SHRUNKEN = 1e-15
"""Scale of a column, relative to its standard deviation, at which it has collapsed to zero."""

NEAR_MAXIMUM = 1e-11
"""Change, in units of the first scale, at which the search on whitened rows ends."""


@dataclass(frozen=True, slots=True)
class Student:
    """Means and scales of multivariate t distributions, and the state of the search.

    Attributes
    ----------
    moments : ClassMoments
        Counts and rows of the data, the estimated means, and scatters with the weights f u.
    covariances : tuple of one or K Covariance
        Scale matrices S, in the coordinates of the moments.
    nu : float
        Degrees of freedom.
    steps : int
        Number of iterations.
    change : float
        Change in the last step, in units of the scale.
    converged : bool
    slowest : int or None
        Class that changed most in the last step; None if it was the common scale.
    collapsed : int or None
        Class whose scale became singular (0 for a common scale), because too many of its rows lie in a
        hyperplane.
    """

    moments: ClassMoments
    covariances: tuple[Covariance, ...]
    nu: float
    steps: int = 0
    change: float = np.inf
    converged: bool = False
    slowest: int | None = None
    collapsed: int | None = None

    def scatters(self) -> ClassMoments:
        """Return moments whose scatters, divided by the counts (by class, or of all rows), are the scales."""
        counts = self.moments.counts if len(self.covariances) > 1 else self.moments.counts.sum(keepdims=True)
        roots = np.stack(
            [c.root * np.sqrt(n) for c, n in zip(self.covariances, counts.tolist(), strict=True)]
        )
        return replace(self.moments, scatters=np.swapaxes(roots, 1, 2) @ roots, roots=roots)


def own_distances(
    moments: ClassMoments, covariances: tuple[Covariance, ...], x: Floats, codes: Codes
) -> Floats:
    """Compute squared distances of rows to the means of their own classes.

    Parameters
    ----------
    moments : ClassMoments
    covariances : tuple of one or K Covariance
    x : (m, p) float
    codes : (m,) int
        Class of each row.

    Returns
    -------
    (m,) float
    """
    z = from_class_means(moments, x, codes)
    if len(covariances) == 1:
        return column_squares(covariances[0].whiten(z))
    d2 = np.empty(len(codes))
    for k, covariance in enumerate(covariances):
        own = np.flatnonzero(codes == k)
        d2[own] = column_squares(covariance.whiten(z[:, own]))
    return d2


@dataclass(frozen=True, slots=True)
class _Weighted:
    """Blocks whose weights are multiplied by the weights u of the t distributions.

    Attributes
    ----------
    blocks : iterable of blocks
    now : Student
        Estimates that determine u.
    """

    blocks: RowBlocks
    now: Student

    def __iter__(self) -> Iterator[RowBlock]:
        nu = self.now.nu
        p = self.now.moments.n_columns
        for x, codes, weights in self.blocks:
            d2 = own_distances(self.now.moments, self.now.covariances, x, codes)
            u = (nu + p) / (nu + d2)
            yield x, codes, u if weights is None else u * weights


def fit_student(
    blocks: RowBlocks, start: ClassMoments, nu: float, *, begin: Student | None = None
) -> Student:
    """Estimate means and scales by maximum likelihood for given degrees of freedom.

    Parameters
    ----------
    blocks : iterable of blocks
        A list is copied for a faster search on whitened rows.
    start : ClassMoments
        Moments of the rows, of full rank: pooled for a common scale, or by class. They are the start of the
        search.
    nu : float
        Degrees of freedom.
    begin : Student, optional
        Result of an earlier search from which to start instead.

    Returns
    -------
    Student

    Examples
    --------
    >>> x = np.array([[-1.0], [0.0], [1.0], [50.0]])
    >>> rows = [(x, np.zeros(4, dtype=np.intp), None)]
    >>> fit = fit_student(rows, gather(rows, n_classes=1, n_columns=1), nu=3.0)
    >>> round(float(fit.moments.class_means[0, 0]), 2), fit.converged
    (0.58, True)
    """
    begun = Student(start, _scales(start, start.counts), nu) if begin is None else begin
    now = replace(begun, nu=nu, steps=0, change=np.inf, converged=False)
    with Progress(0, "t distributions") as progress:
        if isinstance(blocks, list):
            now = _approached(blocks, now)
        while now.steps < MOST_STEPS and not now.converged:
            ahead = _step(blocks, now, start)
            progress(1)
            if ahead.collapsed is not None:
                return ahead
            change, slowest = _change(now, ahead)
            settled = change <= TOLERANCE or ROUNDED_STEP >= change >= now.change
            now = replace(ahead, steps=now.steps + 1, change=change, converged=settled, slowest=slowest)
    return now


def _approached(blocks: list[RowBlock], now: Student) -> Student:
    """Search for the maximum on a copy of the rows, whitened by the first scale.

    A step is a few matrix products, without the checks of a pass for lost digits; the last steps on the rows
    themselves correct the result.

    Parameters
    ----------
    blocks : list of blocks
    now : Student
        Start.

    Returns
    -------
    Student
    """
    x, codes = (np.concatenate([block[part] for block in blocks]) for part in (0, 1))
    f = np.concatenate([np.ones(len(own)) if w is None else w for _, own, w in blocks])
    moments = now.moments
    k = now.moments.n_classes
    z = from_class_means(moments, x, codes)
    rests = moments.rests.copy()
    covariances = []
    steps = 0
    groups = [np.arange(k)] if len(now.covariances) == 1 else list(np.arange(k)[:, None])
    for group, covariance in zip(groups, now.covariances, strict=True):
        rows = np.flatnonzero(np.isin(codes, group))
        indicators = (codes[rows, None] == group).astype(np.float64)
        found = _whitened_search(covariance.whiten(z[:, rows]), indicators, f[rows], now.nu)
        if found is None:
            return now
        shifts, half, taken = found
        rests[group] += (covariance.root.T @ shifts).T
        covariances.append(Covariance.from_root(half.T @ covariance.root))
        steps = max(steps, taken)
    return replace(now, moments=replace(moments, rests=rests), covariances=tuple(covariances), steps=steps)


def _whitened_search(
    w: Floats, indicators: Floats, f: Floats, nu: float
) -> tuple[Floats, Floats, int] | None:
    """Search for the maximum on whitened rows.

    Parameters
    ----------
    w : (p, m) float
        Whitened rows.
    indicators : (m, k) float
        Indicators of the classes that share the scale.
    f : (m,) float
        Frequencies.
    nu : float
        Degrees of freedom.

    Returns
    -------
    (means, half, steps) or None
        Means (p, k), lower triangular root (p, p) of the scale, and number of steps. None if the scale
        becomes singular, which the search on the rows themselves reports.
    """
    p = len(w)
    means = np.zeros((p, indicators.shape[1]))
    half = np.eye(p)
    last = np.inf
    from_mean = w
    inverse = half
    steps = 0
    while steps < MOST_STEPS - 1:
        steps += 1
        refresh_progress()
        u = f * (nu + p) / (nu + column_squares(inverse @ from_mean))
        ahead = (w * u) @ indicators / (u @ indicators)
        from_mean = w - ahead @ indicators.T
        try:
            half = np.linalg.cholesky((from_mean * u) @ from_mean.T / u.sum())
        except np.linalg.LinAlgError:
            return None
        turned = inverse @ half
        moved = inverse @ (ahead - means)
        change = float(max(np.abs(turned @ turned.T - np.eye(p)).max(), np.abs(moved).max()))
        means = ahead
        inverse = np.tril(np.linalg.inv(half))
        if change <= NEAR_MAXIMUM or ROUNDED_STEP >= change >= last:
            break
        last = change
    return means, half, steps


def _step(blocks: RowBlocks, now: Student, start: ClassMoments) -> Student:
    """Compute one iteration.

    Parameters
    ----------
    blocks : iterable of blocks
    now : Student
        Current estimates.
    start : ClassMoments
        Moments of the rows.

    Returns
    -------
    Student
        With `collapsed` if a scale became singular.
    """
    spread = start.spread
    found = gather(
        _Weighted(blocks, now), n_classes=start.n_classes, n_columns=start.n_columns, spread=spread
    )
    moments = replace(found, counts=start.counts, rows=start.rows)
    shrunken = np.any(_lengths(found) <= SHRUNKEN * _lengths(start), axis=1)
    for k, root in enumerate([None] * len(shrunken) if found.roots is None else found.roots):
        # Scatters without roots are well-conditioned.
        if shrunken[k] or (root is not None and is_singular(root, found, IN_A_PLANE)):
            return replace(now, moments=moments, collapsed=k)
    return replace(now, moments=moments, covariances=_scales(found, found.counts))


def _scales(moments: ClassMoments, counts: Floats) -> tuple[Covariance, ...]:
    if moments.spread == "class":
        return separate(moments, counts)
    return (pooled(moments, float(counts.sum())),)


def _lengths(moments: ClassMoments) -> Floats:
    """Return standard deviations (1 or K, p) of the columns, in the units of the data."""
    counts = moments.counts if moments.spread == "class" else moments.counts.sum(keepdims=True)
    return np.asarray(np.sqrt(moments.squares / counts[:, None]) / moments.scale)


def _change(old: Student, new: Student) -> tuple[float, int | None]:
    """Return the largest change of a mean or scale, in units of the old scale, and its class."""
    before = old.moments
    after = new.moments
    if (before.scale != after.scale).any():
        return np.inf, None
    gaps = (after.centres - before.centres) * before.scale + (after.rests - before.rests)
    common = len(old.covariances) == 1
    halves = [new_.root @ was.inverse for new_, was in zip(new.covariances, old.covariances, strict=True)]
    turned = np.array([np.abs(half.T @ half - np.eye(len(half))).max() for half in halves])
    moved = np.array(
        [np.abs(old.covariances[0 if common else k].whiten(gap)).max() for k, gap in enumerate(gaps)]
    )
    if common and turned[0] >= moved.max():
        return float(turned[0]), None
    most = moved if common else np.maximum(moved, turned)
    return float(most.max()), int(np.argmax(most))


def student_log_likelihood(blocks: RowBlocks, fit: Student) -> tuple[float, float]:
    """Compute the log-likelihood of the rows conditional on their classes, and its derivative in nu.

    Parameters
    ----------
    blocks : iterable of blocks
    fit : Student

    Returns
    -------
    llf : float
    slope : float
    """
    nu = fit.nu
    p = fit.moments.n_columns
    units = 2.0 * np.log(fit.moments.scale).sum()
    logdets = np.array([c.logdet - units for c in fit.covariances])
    # For large nu the difference of two log-gamma functions is less than their rounding errors.
    gain = float(student_gain(np.array([nu + p]), p)[0])
    constant = gain + 0.5 * p * (np.log1p((p - 1) / nu) - np.log(2 * np.pi))
    rate = 0.5 * (scipy.special.digamma((nu + p) / 2) - scipy.special.digamma(nu / 2) - p / nu)
    total = 0.0
    slope = 0.0
    for x, codes, weights in blocks:
        d2 = own_distances(fit.moments, fit.covariances, x, codes)
        f = np.ones(len(d2)) if weights is None else weights
        logs = np.log1p(d2 / nu)
        dets = logdets[codes] if len(logdets) > 1 else logdets[0]
        total += float(f @ (constant - 0.5 * dets - 0.5 * (nu + p) * logs))
        slope += float(f @ (rate - 0.5 * logs + 0.5 * (nu + p) / nu * d2 / (nu + d2)))
    return total, slope


def best_nu(blocks: RowBlocks, start: ClassMoments) -> Student:
    """Estimate the degrees of freedom, within `NU_RANGE`, by the maximum of the profile likelihood.

    Parameters
    ----------
    blocks : iterable of blocks
    start : ClassMoments
        Moments of the rows; see `fit_student`.

    Returns
    -------
    Student
        With the number of steps of all fits. The degrees of freedom are an end of the range if the likelihood
        increases towards it. If a scale becomes singular instead, `collapsed` is set.
    """
    fits: dict[float, Student] = {}

    def slope(nu: float) -> float:
        nearest = min(fits, key=lambda other: abs(np.log(other / nu)), default=None)
        fits[nu] = fit_student(blocks, start, nu, begin=None if nearest is None else fits[nearest])
        return 0.0 if fits[nu].collapsed is not None else student_log_likelihood(blocks, fits[nu])[1]

    least, most = NU_RANGE
    grid = [least * 2.0**i for i in range(1 + round(np.log2(most / least)))]
    slopes: list[float] = []
    with Progress(len(grid), "degrees of freedom") as progress:
        for nu in grid[::-1]:
            slopes.insert(0, slope(nu))
            progress(1)
    peaks = [nu for nu, uphill in ((least, slopes[0] < 0), (most, slopes[-1] > 0)) if uphill]
    for left, right, rises, falls in zip(grid[:-1], grid[1:], slopes[:-1], slopes[1:], strict=True):
        if rises > 0 > falls:
            ends = np.log([left, right])
            root = scipy.optimize.brentq(lambda at: slope(float(np.exp(at))), *ends, xtol=1e-13, rtol=1e-13)
            peaks.append(float(np.exp(root)))
            slope(peaks[-1])
    if not peaks:
        return fits[max((nu for nu, fit in fits.items() if fit.collapsed is not None), default=most)]
    best = max((fits[nu] for nu in peaks), key=lambda fit: student_log_likelihood(blocks, fit)[0])
    return replace(best, steps=sum(fit.steps for fit in fits.values()))
