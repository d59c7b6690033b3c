"""Means and covariances of normal classes by maximum likelihood, of rows that miss some of their values.

A fit to such rows holds moments whose counts are those of the rows, whose means are those of largest
likelihood, and whose scatters over the counts are the covariances: rules, functions and axes follow from them
as they do from others. What rests on the sampling law of moments does not, and is refused.

*EM.* Rows of known class are normal with mean m_k and a covariance S that the classes share; of each only
some columns are observed. EM climbs the product of the normal densities of what is observed (Dempster, Laird
& Rubin, 1977, JRSS B 39, 1-38; Little & Rubin, 2020, Statistical Analysis with Missing Data, 3rd ed., sec.
11.2). A sweep completes each row by the regression of its missing columns on the observed ones, takes means
and products of the completed rows, and adds to the products of missing columns what that regression leaves.
It is right where it does not depend on the missing values that they are missing.

*By pattern.* Rows that miss the same columns enter by their count and mean in each class and by the root of
their scatter, so that a sweep costs as much as there are patterns, however many rows they are of.

*Digits.* The covariance is held as a root, R'R = S. The triangle of the columns of R, the observed ones
first, holds the root of their covariance, the slopes and the root of what these leave, and the root of the
next S is the triangle of all completed rows: nothing is squared.

*Acceleration.* Pairs of sweeps are extrapolated (SQUAREM: Varadhan & Roland, 2008, Scandinavian Journal of
Statistics 35, 335-353), in the means and in the root with the logarithms of its diagonal, whose every value
is a covariance; a step that lowers the likelihood is taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import LEAST_PART
from discrim.core.covariance.model import (
    CovarianceTraits,
    FullCovariance,
    NormalClasses,
)
from discrim.core.errors import CoreDataError, CoreNotSupportedError
from discrim.core.moments.moments import ClassMoments, split_mean
from discrim.core.moments.row_sums import column_scale, packed_triangle
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.gaussian import patterns
from discrim.core.rules.leave_one_out import LeftOut

TOLERANCE = 1e-8
"""Distance to the maximum, as the rate of the steps tells it, in standard errors of complete rows."""

LIKELIHOOD = 1e-10
"""Gain in log-likelihood that is still ahead at most, relative to its size."""

MOST_SWEEPS = 5000

LARGEST_CHANGE = 3.0
"""Change of the logarithm of a standard deviation that no extrapolation goes beyond."""

COLLAPSED = 1e-9
"""Part of a column that the others leave, at which a covariance counts as singular."""


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Patterns of B kinds with q observed columns each.

    The order (B, p) has the observed columns of each, then the missing ones; counts are (B, K), means (B, K,
    q) those of the observed columns about the centres, and roots (B, q, q) those of the scatters about these,
    over all classes.
    """

    order: Codes
    counts: Floats
    means: Floats
    roots: Floats

    @property
    def n_observed(self) -> int:
        """Observed columns, q."""
        return int(self.means.shape[2])


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """What rows with missing values tell of classes that share a covariance.

    Counts (K,) are sums of weights, and centres (K, p) means of the values there are. Rows are z = (x -
    centre of their class) * unit, the unit (p,) being powers of two that bring the columns near one.
    """

    groups: tuple[_Group, ...]
    counts: Floats
    centres: Floats
    unit: Floats


@dataclass(frozen=True, slots=True, eq=False)
class EMMaximum:
    """Means (K, p) and a root (p, p) of the covariance in z, and how many sweeps they took.

    The log-likelihood is that of what is observed, given the classes, in the units of the data. `collapsed`
    is a column that others determine once the covariance has become singular.
    """

    means: Floats
    root: Floats
    llf: float
    steps: int
    converged: bool
    collapsed: int | None = None

    def moments(self, observed: Observed, rows: NDArray[np.int64]) -> ClassMoments:
        """Moments whose scatter over the counts is the covariance; rows (K,) are those of positive weight."""
        sd = np.sqrt((self.root**2).sum(axis=0))
        scale = column_scale(sd / observed.unit)
        ratio = scale / observed.unit
        centres, rests = split_mean(observed.centres, self.means * ratio, scale)
        root = self.root * ratio * np.sqrt(observed.counts.sum())
        return ClassMoments(observed.counts, rows, centres, rests, scale, (root.T @ root)[None], root[None])


def observed_moments(x: Floats, codes: Codes, weights: Floats | None, k: int) -> ClassMoments:
    """Counts of rows, and means and sums of squares of the values there are, by class and column."""
    w = np.ones(len(x)) if weights is None else weights
    means, squares = np.zeros((2, k, x.shape[1]))
    scale = _scale(x - _first_values(x))
    for c in range(k):
        own = x[codes == c]
        weight = w[codes == c, None]
        if not len(own):
            continue
        there = ~np.isnan(own) * weight
        n = np.maximum(there.sum(axis=0), np.finfo(np.float64).tiny)
        first = np.nan_to_num(_first_values(own))
        means[c] = first + np.nansum((own - first) * there, axis=0) / n
        squares[c] = np.nansum(((own - means[c]) * scale) ** 2 * there, axis=0)
    counts = np.bincount(codes, w, k).astype(np.float64)
    rows = np.bincount(codes, minlength=k)
    return ClassMoments(counts, rows, means, np.zeros_like(means), scale, squares)


def _first_values(x: Floats) -> Floats:
    """The first value (p,) of each column of rows (n, p); NaN for a column without values."""
    return np.asarray(x[np.argmax(~np.isnan(x), axis=0), np.arange(x.shape[1])])


def _scale(deviations: Floats) -> Floats:
    """Powers of two (p,) by which deviations (n, p) are multiplied so that their squares are in range."""
    return column_scale(np.fmax.reduce(np.abs(deviations), axis=0))


def observed_rows(x: Floats, codes: Codes, weights: Floats | None, n_classes: int) -> Observed:
    """What rows x (n, p) with missing values (NaN) tell, each class having some value of each column."""
    w = np.ones(len(x)) if weights is None else weights
    centres = np.empty((n_classes, x.shape[1]))
    z = np.empty_like(x)
    for k in range(n_classes):
        members = codes == k
        rows = x[members]
        # About a first value: a sum of large numbers would lose digits of their mean.
        first = _first_values(rows)
        gaps = rows - first
        there = ~np.isnan(gaps) * w[members, None]
        centres[k] = first + np.nansum(gaps * there, axis=0) / there.sum(axis=0)
        z[members] = rows - centres[k]
    scale = _scale(z)
    sizes = np.sqrt(np.nanmean((z * scale) ** 2, axis=0)) / scale
    unit = np.exp2(-np.round(np.log2(np.where(sizes > 0, sizes, 1.0))))
    z *= unit
    kinds = patterns(np.isnan(x))
    groups = []
    for q in sorted({len(columns) for columns, _ in kinds}):
        same = [(columns, rows) for columns, rows in kinds if len(columns) == q]
        groups.append(_group(same, z, codes, w, n_classes))
    counts = np.bincount(codes, w, n_classes).astype(np.float64)
    return Observed(tuple(groups), counts, centres, unit)


def _group(kinds: list[tuple[Codes, Codes]], z: Floats, codes: Codes, w: Floats, k: int) -> _Group:
    p = z.shape[1]
    q = len(kinds[0][0])
    order = np.array([np.concatenate([c, np.setdiff1d(np.arange(p), c)]) for c, _ in kinds])
    counts, means, roots = (np.zeros((len(kinds), *shape)) for shape in ((k,), (k, q), (q, q)))
    for i, (columns, rows) in enumerate(kinds):
        part = z[rows][:, columns]
        classes = codes[rows]
        weight = w[rows]
        counts[i] = np.bincount(classes, weight, k)
        for c in np.flatnonzero(counts[i]).tolist():
            mine = classes == c
            means[i, c] = weight[mine] @ part[mine] / counts[i, c]
        roots[i] = packed_triangle(np.sqrt(weight)[:, None] * (part - means[i, classes]))
    return _Group(order, counts, means, roots)


def fit_observed(observed: Observed, progress: Callable[[int], None] = lambda steps: None) -> EMMaximum:
    """Means and a common covariance of largest likelihood; each sweep is told of."""
    now = _start(observed)
    steps = 0
    fallback = now
    before = -np.inf
    ahead = np.inf
    while steps < MOST_SWEEPS:
        first, llf = _sweep(observed, now)
        steps += 1
        progress(1)
        if not np.isfinite(llf) and steps == 1:
            raise CoreDataError("no_likelihood_of_rows")
        if not np.isfinite(llf) or llf < before - LIKELIHOOD * (1 + abs(before)):
            # Extrapolated too far.
            now = fallback
            before = -np.inf
            continue
        last = ahead
        ahead = _distance(observed, now, first)
        size = np.sqrt((first[1] ** 2).sum(axis=0))
        if (np.abs(np.diagonal(first[1])) / size).min() <= COLLAPSED:
            at_fault = _at_fault(observed, first[1])
            return EMMaximum(*first, llf + _units(observed), steps, False, at_fault)
        second, middle = _sweep(observed, first)
        steps += 1
        progress(1)
        moved = _distance(observed, first, second)
        rate = min(moved / ahead, 1.0) if ahead > 0 else 0.0
        left = moved * rate / (1.0 - rate) if rate < 1 else np.inf
        gain = (middle - llf) * rate**2 / (1.0 - rate**2) if rate < 1 else np.inf
        settled = left <= TOLERANCE and gain <= LIKELIHOOD * (1 + abs(middle))
        if settled or (moved <= TOLERANCE and moved >= ahead and ahead >= last):
            final = _sweep(observed, second)[1]
            return EMMaximum(*second, final + _units(observed), steps + 1, True)
        fallback = second
        before = middle
        now = _extrapolated(now, first, second)
    return EMMaximum(*second, middle + _units(observed), steps, False)


_State = tuple[Floats, Floats]


def _start(observed: Observed) -> _State:
    """Means and standard deviations of the values there are, without correlations."""
    p = len(observed.unit)
    squares = np.zeros(p)
    counts = np.zeros(p)
    for group in observed.groups:
        q = group.n_observed
        sums = (group.roots**2).sum(axis=1) + np.einsum("bk,bkq->bq", group.counts, group.means**2)
        np.add.at(squares, group.order[:, :q], sums)
        np.add.at(counts, group.order[:, :q], group.counts.sum(axis=1)[:, None])
    return np.zeros_like(observed.centres), np.diag(np.sqrt(squares / counts))


def _sweep(observed: Observed, now: _State) -> tuple[_State, float]:
    """Means and root after one step of EM, and the log-likelihood (in z) before it."""
    means, root = now
    p = len(root)
    llf = 0.0
    completed = []
    moved = np.zeros_like(means)
    for group in observed.groups:
        q = group.n_observed
        order = group.order
        turned: Floats = np.asarray(np.linalg.qr(np.moveaxis(root[:, order], 1, 0), mode="r"))
        observed_root = turned[:, :q, :q]
        slopes = np.zeros((len(order), q, p))
        slopes[:, :, :q] = np.eye(q)
        slopes[:, :, q:] = np.linalg.solve(observed_root, turned[:, :q, q:])
        gaps = group.means - np.moveaxis(means[:, order[:, :q]], 0, 1)
        n = group.counts.sum(axis=1)
        transposed = np.swapaxes(observed_root, 1, 2)
        squares = (np.linalg.solve(transposed, np.swapaxes(group.roots, 1, 2)) ** 2).sum()
        squares += (
            (np.linalg.solve(transposed, np.swapaxes(gaps, 1, 2)) ** 2).sum(axis=1) * group.counts
        ).sum()
        logs = np.log(np.abs(np.diagonal(observed_root, axis1=1, axis2=2))).sum(axis=1)
        llf -= 0.5 * (squares + n @ (2 * logs + q * np.log(2 * np.pi)))
        whole = _in_place(gaps @ slopes, order)
        moved += np.einsum("bk,bkp->kp", group.counts, whole)
        left = np.zeros((len(order), p - q, p))
        left[:, :, q:] = np.sqrt(n)[:, None, None] * turned[:, q:, q:]
        completed.append((whole, _in_place(group.roots @ slopes, order), _in_place(left, order)))
    moved /= observed.counts[:, None]
    rows = []
    for group, (whole, products, left) in zip(observed.groups, completed, strict=True):
        between = np.sqrt(group.counts)[:, :, None] * (whole - moved)
        rows += [part.reshape(-1, p) for part in (between, products, left)]
    return (means + moved, packed_triangle(np.concatenate(rows)) / np.sqrt(observed.counts.sum())), float(llf)


def _in_place(values: Floats, order: Codes) -> Floats:
    """Columns (B, m, p) in the order of each pattern, put where they are in the table."""
    out = np.empty_like(values)
    np.put_along_axis(out, np.broadcast_to(order[:, None, :], values.shape), values, axis=2)
    return out


def _distance(observed: Observed, old: _State, new: _State) -> float:
    """Largest change of a mean or of the covariance, whitened, in standard errors of complete rows."""
    turned = np.linalg.solve(old[1].T, new[1].T)
    change = np.abs(turned @ turned.T - np.eye(len(turned))).max() * np.sqrt(observed.counts.sum())
    gaps = np.linalg.solve(old[1].T, (new[0] - old[0]).T) * np.sqrt(observed.counts)
    return float(max(change, np.abs(gaps).max()))


def _at_fault(observed: Observed, root: Floats) -> int:
    """Of the columns of a combination without variance the one that fewest rows have, the last of such."""
    parts = np.abs(np.linalg.svd(root / np.sqrt((root**2).sum(axis=0)))[2][-1])
    counts = np.zeros(len(root))
    for group in observed.groups:
        np.add.at(counts, group.order[:, : group.n_observed], group.counts.sum(axis=1)[:, None])
    there = np.where(parts > LEAST_PART * parts.max(), counts, np.inf)
    return int(np.flatnonzero(there == there.min())[-1])


def _units(observed: Observed) -> float:
    """What the log-likelihood in the units of the data has above that in z."""
    return float(
        sum(
            group.counts.sum(axis=1) @ np.log(observed.unit)[group.order[:, : group.n_observed]].sum(axis=1)
            for group in observed.groups
        )
    )


def _packed(state: _State) -> Floats:
    root = state[1] * np.sign(np.diagonal(state[1]))[:, None]
    above = root[np.triu_indices(len(root), 1)]
    return np.concatenate([state[0].ravel(), above, np.log(np.diagonal(root))])


def _extrapolated(now: _State, first: _State, second: _State) -> _State:
    """The second of two steps, carried on along the first and the change between them."""
    a = _packed(now)
    b = _packed(first)
    c = _packed(second)
    step = b - a
    bend = (c - b) - (b - a)
    size = float(np.linalg.norm(bend))
    if not size > 0:
        return second
    factor = max(float(np.linalg.norm(step)) / size, 1.0)
    ahead = a + 2 * factor * step + factor**2 * bend
    (k, p), means = now[0].shape, ahead[: now[0].size]
    if not np.abs(ahead[-p:] - c[-p:]).max() < LARGEST_CHANGE:
        return second
    root = np.diag(np.exp(ahead[-p:]))
    root[np.triu_indices(p, 1)] = ahead[now[0].size : -p]
    return means.reshape(k, p), root


@dataclass(frozen=True, slots=True)
class EMCovariance(FullCovariance):
    """The full covariance of rows with missing values, and how it and the means were found.

    The steps are sweeps of EM over the patterns, of all classes together where each has its own covariance;
    `row_llf` is the log-likelihood of the observed values, given the classes; patterns are different sets of
    columns that rows have, and incomplete rows miss a value and were completed.
    """

    steps: int
    converged: bool
    row_llf: float
    patterns: int
    incomplete: int

    traits = replace(FullCovariance.traits, is_plain_full=False, uses_incomplete_rows=True)

    def for_refit(self) -> FullCovariance:
        """The covariance of moments that are found already."""
        return FullCovariance()


@dataclass(frozen=True, slots=True)
class IncompleteEMCovariance(EMCovariance):
    """The full covariance of rows of which some miss values: it is not a function of their moments."""

    traits = CovarianceTraits(
        is_full=True, is_moment_estimate=False, is_maximum_likelihood=True, uses_incomplete_rows=True
    )

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Return the log-likelihood of class and observed values."""
        return float(fitted.moments.counts @ fitted.log_prior) + self.row_llf

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Raise NotSupportedError: each row would take a search."""
        raise CoreNotSupportedError("search_for_each_row", n_rows=int(fitted.moments.rows.sum()))

    def check_leave_one_out(self, moments: ClassMoments) -> None:
        """Raise NotSupportedError: each row would take a search."""
        raise CoreNotSupportedError("search_for_each_row", n_rows=int(moments.rows.sum()))

    @property
    def refits_each_row(self) -> bool:
        """Whether leaving rows out takes a search for each of them."""
        return True


def em_covariance(
    steps: int, converged: bool, row_llf: float, patterns: int, incomplete: int
) -> EMCovariance:
    """Return the covariance model of a search; the arguments are the attributes of `EMCovariance`."""
    model = IncompleteEMCovariance if incomplete else EMCovariance
    return model(steps, converged, row_llf, patterns, incomplete)


@dataclass(frozen=True, slots=True)
class Collapsed:
    """A covariance, of class k or the common one, that became singular: others determine the column."""

    k: int | None
    column: int


def fit_em(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    n_classes: int,
    *,
    common: bool,
    progress: Callable[[int], None] = lambda steps: None,
) -> tuple[ClassMoments, EMCovariance] | Collapsed:
    """Moments of largest likelihood, with one scatter or one a class, and how they were found."""
    incomplete = int(np.isnan(x).any(axis=1).sum())
    kinds = len(patterns(np.isnan(x)))
    parts = []
    searches = []
    for k in [None] if common else range(n_classes):
        members = np.ones(len(x), dtype=bool) if k is None else codes == k
        w = None if weights is None else weights[members]
        labels = codes if k is None else np.zeros(int(np.count_nonzero(members)), dtype=np.intp)
        observed = observed_rows(x[members], labels, w, n_classes if k is None else 1)
        maximum = fit_observed(observed, progress)
        if maximum.collapsed is not None:
            return Collapsed(k, maximum.collapsed)
        rows = np.bincount(labels, minlength=len(observed.counts))
        parts.append(maximum.moments(observed, rows))
        searches.append(maximum)
    steps = sum(each.steps for each in searches)
    llf = sum(each.llf for each in searches)
    made = em_covariance(steps, all(each.converged for each in searches), llf, kinds, incomplete)
    return (parts[0] if common else _joined(parts)), made


def _joined(parts: list[ClassMoments]) -> ClassMoments:
    """The moments of classes, each of which has its own, on one scale."""
    scale = parts[0].scale
    rescaled = [part.rescaled(scale) for part in parts]
    names = ("counts", "rows", "centres", "rests", "scatters", "roots")
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in rescaled]) for name in names
    }
    return ClassMoments(scale=scale, **joined)
