"""Class means and scales of multivariate t distributions, by maximum likelihood.

`discrim.core.covariance.robust.fit_t` calls `fit_student` for fixed and `fit_student_and_nu` for estimated
degrees of freedom.

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

from discrim.core.covariance.covariance import Covariance, class_covariances, is_singular, pooled_covariance
from discrim.core.moments.moments import ClassMoments, column_squares, deviations_from_class_means, gather
from discrim.core.moments.row_sums import RowBlock, RowBlocks
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress, refresh_progress
from discrim.core.numerics.special import student_log_constants

TOLERANCE = 1e-12
"""Change in a step, in units of the scale, at or below which the search has converged."""

MAX_ROUNDING_CHANGE = 1e-8
"""Change up to which a step that is not smaller than the previous step consists of rounding errors."""

MAX_STEPS = 2000
"""Maximum number of iterations."""

NU_RANGE = (1.0, 256.0)
"""Range of the estimated degrees of freedom; below its start the likelihood may have several maxima."""

MAX_PLANE_RESIDUAL = 1e-12
"""Residual of a column on earlier columns, relative to its length, at which rows lie in a hyperplane."""

MIN_SCALE_RATIO = 1e-15
"""Scale of a column, relative to its standard deviation, at or below which it counts as zero."""

WHITENED_TOLERANCE = 1e-11
"""Change in a step, in units of the scale, at or below which the search on whitened rows ends."""


@dataclass(frozen=True, slots=True)
class StudentEstimates:
    """Means and scales of multivariate t distributions, and the state of the search.

    Attributes
    ----------
    moments : ClassMoments
        Counts and rows of the data, and the estimated means. The scatters have the weights f u of the module
        docstring and do not match the counts; `scatters()` returns moments with matching scatters.
    covariances : tuple of one or K Covariance
        Scale matrices S (not covariances of the t distributions), in the coordinates of the moments.
    nu : float
        Degrees of freedom.
    steps : int
        Number of iterations.
    change : float
        Change in the last step, in units of the scale.
    converged : bool
        Whether the search converged.
    slowest : int or None
        Position of the class that changed most in the last step; None if the common scale changed most.
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
        """Return the moments with scatters that, divided by the counts, are the scale matrices.

        These are the counts of the classes or, for a common scale matrix, the count of all rows.
        """
        counts = self.moments.counts if len(self.covariances) > 1 else self.moments.counts.sum(keepdims=True)
        roots = np.stack(
            [c.root * np.sqrt(n) for c, n in zip(self.covariances, counts.tolist(), strict=True)]
        )
        return replace(self.moments, scatters=np.swapaxes(roots, 1, 2) @ roots, roots=roots)


def squared_distances_to_own_means(
    moments: ClassMoments, covariances: tuple[Covariance, ...], x: Floats, codes: Codes
) -> Floats:
    """Compute the squared distances of rows to the means of their own classes, under the scale matrices.

    Parameters
    ----------
    moments : ClassMoments
        Moments with the class means.
    covariances : tuple of one or K Covariance
        Scale matrices, in the coordinates of the moments.
    x : (m, p) float
        Rows, in the units of the data.
    codes : (m,) int
        Class of each row.

    Returns
    -------
    (m,) float
        Squared Mahalanobis distances d_i.
    """
    z = deviations_from_class_means(moments, x, codes)
    if len(covariances) == 1:
        return column_squares(covariances[0].whiten(z))
    d2 = np.empty(len(codes))
    for k, covariance in enumerate(covariances):
        members = np.flatnonzero(codes == k)
        d2[members] = column_squares(covariance.whiten(z[:, members]))
    return d2


@dataclass(frozen=True, slots=True)
class _ReweightedBlocks:
    """Blocks of rows whose weights are multiplied by the weights u of the t distributions.

    Attributes
    ----------
    blocks : iterable of blocks
        Rows with frequencies f.
    estimates : StudentEstimates
        Estimates that determine u.
    """

    blocks: RowBlocks
    estimates: StudentEstimates

    def __iter__(self) -> Iterator[RowBlock]:
        """Yield (x, codes, weights) of each block, with the weights u or, if there are frequencies, f u."""
        nu = self.estimates.nu
        p = self.estimates.moments.n_columns
        for x, codes, weights in self.blocks:
            d2 = squared_distances_to_own_means(self.estimates.moments, self.estimates.covariances, x, codes)
            u = (nu + p) / (nu + d2)
            yield x, codes, u if weights is None else u * weights


def fit_student(
    blocks: RowBlocks, start: ClassMoments, nu: float, *, initial: StudentEstimates | None = None
) -> StudentEstimates:
    """Estimate means and scales by maximum likelihood for given degrees of freedom.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of the rows. A list is copied for a faster search on whitened rows.
    start : ClassMoments
        Moments of the rows, of full rank: pooled for a common scale, or by class. They are the start of the
        search.
    nu : float
        Degrees of freedom.
    initial : StudentEstimates, optional
        Result of an earlier search from which to start instead.

    Returns
    -------
    StudentEstimates
        `converged` is False if `MAX_STEPS` was reached without convergence. If a scale became singular,
        `collapsed` is the position of its class (0 for a common scale), and the scales are not estimates.

    Examples
    --------
    >>> x = np.array([[-1.0], [0.0], [1.0], [50.0]])
    >>> rows = [(x, np.zeros(4, dtype=np.intp), None)]
    >>> fit = fit_student(rows, gather(rows, n_classes=1, n_columns=1), nu=3.0)
    >>> round(float(fit.moments.class_means[0, 0]), 2), fit.converged
    (0.58, True)
    """
    initial_state = StudentEstimates(start, _scales(start, start.counts), nu) if initial is None else initial
    current = replace(initial_state, nu=nu, steps=0, change=np.inf, converged=False)
    with Progress(0, "t distributions") as progress:
        if isinstance(blocks, list):
            current = _search_on_whitened_rows(blocks, current)
        while current.steps < MAX_STEPS and not current.converged:
            next_state = _em_step(blocks, current, start)
            progress(1)
            if next_state.collapsed is not None:
                return next_state
            change, slowest = _largest_change(current, next_state)
            has_converged = change <= TOLERANCE or MAX_ROUNDING_CHANGE >= change >= current.change
            current = replace(
                next_state, steps=current.steps + 1, change=change, converged=has_converged, slowest=slowest
            )
    return current


def _search_on_whitened_rows(blocks: list[RowBlock], current: StudentEstimates) -> StudentEstimates:
    """Search for the maximum on a copy of the rows, whitened by the first scale.

    A step is a few matrix products, without the checks of a pass for lost digits; the last steps on the rows
    themselves correct the result.

    Parameters
    ----------
    blocks : list of blocks
        Blocks (x, codes, weights) of the rows.
    current : StudentEstimates
        Start.

    Returns
    -------
    StudentEstimates
        With new means, scales and steps; `current` itself if a scale becomes singular.
    """
    x, codes = (np.concatenate([block[i] for block in blocks]) for i in (0, 1))
    frequencies = np.concatenate(
        [np.ones(len(block_codes)) if w is None else w for _, block_codes, w in blocks]
    )
    moments = current.moments
    k = current.moments.n_classes
    z = deviations_from_class_means(moments, x, codes)
    centre_errors = moments.rests.copy()
    covariances = []
    steps = 0
    groups = [np.arange(k)] if len(current.covariances) == 1 else list(np.arange(k)[:, None])
    for group, covariance in zip(groups, current.covariances, strict=True):
        rows = np.flatnonzero(np.isin(codes, group))
        indicators = (codes[rows, None] == group).astype(np.float64)
        maximum = _whitened_search(covariance.whiten(z[:, rows]), indicators, frequencies[rows], current.nu)
        if maximum is None:
            return current
        shifts, lower_root, n_steps = maximum
        centre_errors[group] += (covariance.root.T @ shifts).T
        covariances.append(Covariance.from_root(lower_root.T @ covariance.root))
        steps = max(steps, n_steps)
    return replace(
        current, moments=replace(moments, rests=centre_errors), covariances=tuple(covariances), steps=steps
    )


def _whitened_search(
    w: Floats, indicators: Floats, f: Floats, nu: float
) -> tuple[Floats, Floats, int] | None:
    """Search for the maximum on whitened rows.

    Parameters
    ----------
    w : (p, m) float
        Rows in columns, less the class means and whitened by the scale at the start of the search.
    indicators : (m, k) float
        Indicators of the classes that share the scale.
    f : (m,) float
        Frequencies.
    nu : float
        Degrees of freedom.

    Returns
    -------
    (means, lower_root, steps) or None
        Means (p, k), lower triangular root (p, p) of the scale, and number of steps; both in whitened
        coordinates. None if the scale becomes singular, which the search on the rows themselves reports.
    """
    p = len(w)
    means = np.zeros((p, indicators.shape[1]))
    lower_root = np.eye(p)
    last_change = np.inf
    deviations = w
    inverse = lower_root
    steps = 0
    while steps < MAX_STEPS - 1:
        steps += 1
        refresh_progress()
        u = f * (nu + p) / (nu + column_squares(inverse @ deviations))
        next_means = (w * u) @ indicators / (u @ indicators)
        deviations = w - next_means @ indicators.T
        try:
            lower_root = np.linalg.cholesky((deviations * u) @ deviations.T / u.sum())
        except np.linalg.LinAlgError:
            return None
        relative_root = inverse @ lower_root
        mean_changes = inverse @ (next_means - means)
        change = float(
            max(np.abs(relative_root @ relative_root.T - np.eye(p)).max(), np.abs(mean_changes).max())
        )
        means = next_means
        inverse = np.tril(np.linalg.inv(lower_root))
        if change <= WHITENED_TOLERANCE or MAX_ROUNDING_CHANGE >= change >= last_change:
            break
        last_change = change
    return means, lower_root, steps


def _em_step(blocks: RowBlocks, current: StudentEstimates, start: ClassMoments) -> StudentEstimates:
    """Compute the means and scales of the next iteration by one pass over the rows.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of the rows.
    current : StudentEstimates
        Current estimates.
    start : ClassMoments
        Moments of the rows.

    Returns
    -------
    StudentEstimates
        With new means and scales, and otherwise the fields of `current`. If a scale matrix became singular,
        `collapsed` is the position of its class (0 for a common scale), and the scales are not updated.
    """
    scatter_type = start.scatter_type
    weighted_moments = gather(
        _ReweightedBlocks(blocks, current),
        n_classes=start.n_classes,
        n_columns=start.n_columns,
        required_moments=scatter_type,
    )
    moments = replace(weighted_moments, counts=start.counts, rows=start.rows)
    is_collapsed = np.any(_column_sds(weighted_moments) <= MIN_SCALE_RATIO * _column_sds(start), axis=1)
    for k, root in enumerate(
        [None] * len(is_collapsed) if weighted_moments.roots is None else weighted_moments.roots
    ):
        # Scatters without roots are well-conditioned.
        if is_collapsed[k] or (root is not None and is_singular(root, weighted_moments, MAX_PLANE_RESIDUAL)):
            return replace(current, moments=moments, collapsed=k)
    return replace(current, moments=moments, covariances=_scales(weighted_moments, weighted_moments.counts))


def _scales(moments: ClassMoments, counts: Floats) -> tuple[Covariance, ...]:
    """Return the scale matrices: scatters divided by counts (K,), one for each class, or one pooled."""
    if moments.scatter_type == "class":
        return class_covariances(moments, counts)
    return (pooled_covariance(moments, float(counts.sum())),)


def _column_sds(moments: ClassMoments) -> Floats:
    """Return standard deviations (1 or K, p) of the columns about class means, in the units of the data."""
    counts = moments.counts if moments.scatter_type == "class" else moments.counts.sum(keepdims=True)
    return np.asarray(np.sqrt(moments.squares / counts[:, None]) / moments.scale)


def _largest_change(old: StudentEstimates, new: StudentEstimates) -> tuple[float, int | None]:
    """Return the largest change of a mean or scale, in units of the old scale, and the position of its class.

    The position is None if the common scale changed most. If the columns were rescaled, the change is
    infinite and the position None.
    """
    old_moments = old.moments
    new_moments = new.moments
    if (old_moments.scale != new_moments.scale).any():
        return np.inf, None
    mean_changes = (new_moments.centres - old_moments.centres) * old_moments.scale + (
        new_moments.rests - old_moments.rests
    )
    is_common = len(old.covariances) == 1
    relative_roots = [
        new_covariance.root @ old_covariance.inverse
        for new_covariance, old_covariance in zip(new.covariances, old.covariances, strict=True)
    ]
    scale_changes = np.array([np.abs(root.T @ root - np.eye(len(root))).max() for root in relative_roots])
    whitened_changes = np.array(
        [
            np.abs(old.covariances[0 if is_common else k].whiten(mean_change)).max()
            for k, mean_change in enumerate(mean_changes)
        ]
    )
    if is_common and scale_changes[0] >= whitened_changes.max():
        return float(scale_changes[0]), None
    largest_changes = whitened_changes if is_common else np.maximum(whitened_changes, scale_changes)
    return float(largest_changes.max()), int(np.argmax(largest_changes))


def student_log_likelihood(blocks: RowBlocks, fit: StudentEstimates) -> tuple[float, float]:
    """Compute the log-likelihood of the rows conditional on their classes, and its derivative in nu.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of the rows.
    fit : StudentEstimates
        Estimates at which the likelihood is computed.

    Returns
    -------
    llf : float
        Log-likelihood in the units of the data, with all constants.
    slope : float
        Its partial derivative with respect to the degrees of freedom nu.
    """
    nu = fit.nu
    p = fit.moments.n_columns
    units = 2.0 * np.log(fit.moments.scale).sum()
    logdets = np.array([c.logdet - units for c in fit.covariances])
    # For large nu the difference of two log-gamma functions is less than their rounding errors.
    gain = float(student_log_constants(np.array([nu + p]), p)[0])
    constant = gain + 0.5 * p * (np.log1p((p - 1) / nu) - np.log(2 * np.pi))
    rate = 0.5 * (scipy.special.digamma((nu + p) / 2) - scipy.special.digamma(nu / 2) - p / nu)
    total = 0.0
    slope = 0.0
    for x, codes, weights in blocks:
        d2 = squared_distances_to_own_means(fit.moments, fit.covariances, x, codes)
        f = np.ones(len(d2)) if weights is None else weights
        logs = np.log1p(d2 / nu)
        dets = logdets[codes] if len(logdets) > 1 else logdets[0]
        total += float(f @ (constant - 0.5 * dets - 0.5 * (nu + p) * logs))
        slope += float(f @ (rate - 0.5 * logs + 0.5 * (nu + p) / nu * d2 / (nu + d2)))
    return total, slope


def fit_student_and_nu(blocks: RowBlocks, start: ClassMoments) -> StudentEstimates:
    """Estimate means, scales and degrees of freedom by maximum likelihood.

    The degrees of freedom maximize the profile likelihood within `NU_RANGE`.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of the rows.
    start : ClassMoments
        Moments of the rows, of full rank: pooled for a common scale, or by class.

    Returns
    -------
    StudentEstimates
        The fit of the highest local maximum, with the number of steps of all fits. The degrees of freedom are
        an end of the range if the likelihood increases towards it. Without a local maximum, because a scale
        became singular, the fit with the most degrees of freedom for which this happened, with `collapsed`.
    """
    fits: dict[float, StudentEstimates] = {}

    def slope(nu: float) -> float:
        """Fit at `nu`, store the fit in `fits`, and return the slope of the profile log-likelihood.

        The slope is zero if a scale became singular. The search starts from the fit with the nearest nu.
        """
        nearest = min(fits, key=lambda other: abs(np.log(other / nu)), default=None)
        fits[nu] = fit_student(blocks, start, nu, initial=None if nearest is None else fits[nearest])
        return 0.0 if fits[nu].collapsed is not None else student_log_likelihood(blocks, fits[nu])[1]

    min_nu, max_nu = NU_RANGE
    grid = [min_nu * 2.0**i for i in range(1 + round(np.log2(max_nu / min_nu)))]
    slopes: list[float] = []
    with Progress(len(grid), "degrees of freedom") as progress:
        for nu in grid[::-1]:
            slopes.insert(0, slope(nu))
            progress(1)
    peaks = [nu for nu, uphill in ((min_nu, slopes[0] < 0), (max_nu, slopes[-1] > 0)) if uphill]
    for low_nu, high_nu, rises, falls in zip(grid[:-1], grid[1:], slopes[:-1], slopes[1:], strict=True):
        if rises > 0 > falls:
            ends = np.log([low_nu, high_nu])
            root = scipy.optimize.brentq(
                lambda log_nu: slope(float(np.exp(log_nu))), *ends, xtol=1e-13, rtol=1e-13
            )
            peaks.append(float(np.exp(root)))
            slope(peaks[-1])
    if not peaks:
        return fits[max((nu for nu, fit in fits.items() if fit.collapsed is not None), default=max_nu)]
    best = max((fits[nu] for nu in peaks), key=lambda fit: student_log_likelihood(blocks, fit)[0])
    return replace(best, steps=sum(fit.steps for fit in fits.values()))
