"""Class means and scales of multivariate t distributions, by maximum likelihood.

Theory. Row i of class k has density proportional to |S|^-1/2 (1 + d_i/nu)^-(nu+p)/2, with d_i its squared
distance to m_k under the scale S, which is common to the classes or one for each. At the maximum, with
frequencies f_i and weights u_i = (nu + p)/(nu + d_i),

    m_k = sum_k f u x / sum_k f u,    S = sum f u (x - m_k)(x - m_k)' / sum f u,    sum f u = sum f.

Iterating the first two, with u taken at the last means and scale, is EM with an expanded parameter: the
likelihood rises at each step as it does under EM, whose divisor is sum f, but the steps are fewer (Kent,
Tyler & Vardi, 1994, Communications in Statistics B 23, 441-453; Meng & van Dyk, 1997, JRSS B 59, 511-567;
EM itself: Lange, Little & Taylor, 1989, JASA 84, 881-896). For one class and nu >= 1 there is one maximum.

R's MASS iterates the same equations and stops when no weight moves by more than 0.01; its lda then takes
nu/(nu - 2) S, the covariance of the t distribution, its qda S itself.

A step is a pass over the rows that gathers moments under the weights f u, so that it has their digits. The
score of nu at the maximum for that nu is the slope of the profile likelihood (its other parts vanish there),
and the degrees of freedom are the root of it.
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
"""Largest change of a step, in units of the scale, at which the search has converged."""

ROUNDED_STEP = 1e-8
"""Change below which a step that is no smaller than the one before it is rounding."""

MOST_STEPS = 2000

NU_RANGE = (1.0, 256.0)
"""Degrees of freedom that are looked for; below the first the likelihood may have several maxima."""

IN_A_PLANE = 1e-12
"""Size of a column's residual on those before it, relative to the column, at which rows lie in a plane."""

SHRUNKEN = 1e-15
"""Size of a column's scale, relative to its standard deviation, at which it has collapsed."""

NEAR_MAXIMUM = 1e-11
"""Largest change, in units of the first scale, at which whitened rows have told what they can."""


@dataclass(frozen=True, slots=True)
class Student:
    """Means and scales of multivariate t distributions.

    Attributes
    ----------
    moments : ClassMoments
        Counts and rows are those of the rows, the means those of the fit; the scatters are gathered
        under the weights f u, and `covariances` are those over the sums of these weights.
    covariances : tuple of one or K Covariance
        Scales S, in the coordinates of the moments.
    change : float
        Of the last step, in units of the scale.
    slowest : int or None
        Class that the last step moved most; None where that was the common scale.
    collapsed : int or None
        Class whose scale became singular (0 for a common one): more of its rows lie in a plane of fewer
        dimensions than the likelihood bears.
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
        """Moments whose scatters over the counts (by class, or of all rows) are the scales."""
        counts = self.moments.counts if len(self.covariances) > 1 else self.moments.counts.sum(keepdims=True)
        roots = np.stack(
            [c.root * np.sqrt(n) for c, n in zip(self.covariances, counts.tolist(), strict=True)]
        )
        return replace(self.moments, scatters=np.swapaxes(roots, 1, 2) @ roots, roots=roots)


def own_distances(
    moments: ClassMoments, covariances: tuple[Covariance, ...], x: Floats, codes: Codes
) -> Floats:
    """Squared distances (m,) of rows x (m, p) to the means of their own classes."""
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
    """Blocks whose weights are the frequencies times those of the t distribution."""

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
    """Maximum-likelihood means and scales for given degrees of freedom.

    Moments of the start are pooled, for a common scale, or by class, of full rank; the search begins at their
    estimates, or where another ended. Blocks in a list are taken to be few enough to be copied.

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
    """Most of the way to the maximum, on a copy of the rows that the first scale has whitened.

    A step there is a few products without the care of a pass for digits, which the last steps take.
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
    """Means (p, k) and lower root (p, p) of the common scale of rows w (p, m), and the steps to them.

    None where the scale becomes singular, which the steps on the rows themselves are to find.
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
    spread = start.spread
    found = gather(
        _Weighted(blocks, now), n_classes=start.n_classes, n_columns=start.n_columns, spread=spread
    )
    moments = replace(found, counts=start.counts, rows=start.rows)
    shrunken = np.any(_lengths(found) <= SHRUNKEN * _lengths(start), axis=1)
    for k, root in enumerate([None] * len(shrunken) if found.roots is None else found.roots):
        # Without roots the scatter was found well-conditioned.
        if shrunken[k] or (root is not None and is_singular(root, found, IN_A_PLANE)):
            return replace(now, moments=moments, collapsed=k)
    return replace(now, moments=moments, covariances=_scales(found, found.counts))


def _scales(moments: ClassMoments, counts: Floats) -> tuple[Covariance, ...]:
    if moments.spread == "class":
        return separate(moments, counts)
    return (pooled(moments, float(counts.sum())),)


def _lengths(moments: ClassMoments) -> Floats:
    """Standard deviations (1 or K, p) of the columns, in the units of the data."""
    counts = moments.counts if moments.spread == "class" else moments.counts.sum(keepdims=True)
    return np.asarray(np.sqrt(moments.squares / counts[:, None]) / moments.scale)


def _change(old: Student, new: Student) -> tuple[float, int | None]:
    """Largest change of a mean or of a scale, in units of the old scale, and the class it is of."""
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
    """Log-likelihood of the rows given their classes, and its slope in nu."""
    nu = fit.nu
    p = fit.moments.n_columns
    units = 2.0 * np.log(fit.moments.scale).sum()
    logdets = np.array([c.logdet - units for c in fit.covariances])
    # Two gamma functions of large nu differ by less than their own rounding.
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
    """The fit whose degrees of freedom, within `NU_RANGE`, have the largest profile likelihood.

    It is at an end of the range where the likelihood rises to it; its steps are those of all fits tried. One
    has collapsed where the likelihood has no maximum, as it rises to where the scale is singular.
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
