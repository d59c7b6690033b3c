"""EM for mixtures fitted to rows with missing values.

Theory. A row of class k in which the columns o are observed has the density sum_g t_kg N(x_o; m_kg,o,
S_kg,oo). The E step computes the posterior probabilities of the components given the observed values. For
each component it completes the row by the regression of its missing columns on the observed ones, and adds
the residual covariance of that regression to the products of missing columns. The M step equals the one for
complete rows, for every form of the covariances (Ghahramani & Jordan, 1994, Advances in Neural Information
Processing Systems 6, 120-127; for one component Little & Rubin, 2020, Statistical Analysis with Missing Data,
3rd ed., sec. 11.2). The log-likelihood of the observed values never decreases. The estimates are valid if
missingness does not depend on the missing values (missing at random).

*Patterns.* Rows with the same missing columns share the triangular factor T of a component, T'T = S with the
observed columns first. With u the whitened observed values, T_1'u is the completed row less the mean, T_1
being the first rows of T, and the other rows T_2 contribute the residual covariance T_2'T_2. Rows are
arranged in batches of equal size, each of one pattern and padded with rows of weight zero; a step processes
many batches in one array operation.

*Starts.* The rows are completed once by draws from a normal distribution fitted to their class. EM is run on
the completed rows from each start, and continues from the results with the incomplete rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from discrim.core.covariance.covariance import Covariance
from discrim.core.mixtures import em, starts
from discrim.core.mixtures.em import (
    CACHED,
    ClassRows,
    Components,
    ComponentSums,
    Degenerate,
    EMPlan,
    Expected,
)
from discrim.core.mixtures.starts import Hierarchies
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices
from discrim.core.rules.gaussian import patterns

ALONE = 1e-6
"""Factor of EM's tolerance for a single component, which is fitted more accurately."""

FEW_STEPS = 50
"""Maximum number of steps for the normal distribution from which missing values are drawn."""

SMALL_GAIN = 1e-4
"""Gain of log-likelihood per row at which these steps end."""

RUNS = 3
"""Maximum number of different maxima on completed rows from which EM continues with the incomplete rows."""


class CompletedRows(NamedTuple):
    """Summary of missing values in the rows of a fit.

    Attributes
    ----------
    incomplete : int
        Number of rows with a missing value.
    patterns : int
        Number of different sets of observed columns.
    """

    incomplete: int
    patterns: int

    @classmethod
    def of(cls, x: Floats) -> CompletedRows:
        """Summarize rows x (n, p)."""
        gaps = np.isnan(x)
        return cls(int(gaps.any(axis=1).sum()), len(patterns(gaps)))


def has_gaps(rows: Sequence[ClassRows]) -> bool:
    """Whether any row has a missing value."""
    return any(np.isnan(row.z).any() for row in rows)


class _Sheets(NamedTuple):
    """Rows of a class in B batches of m rows, each with one pattern of missing values.

    Attributes
    ----------
    order : (B, p) int
        Columns, with observed ones first.
    there : (B, p) bool
        Which columns of `order` are observed.
    values : (B, p, m) float
        Values in this order; 0 if missing.
    weights : (B, m) float
        0 for padding.
    positions : (B, m) int
        Positions of the rows in their class; -1 for padding.
    """

    order: Codes
    there: Mask
    values: Floats
    weights: Floats
    positions: Codes


def _sheets(row: ClassRows) -> _Sheets:
    """Arrange the rows of a class in batches by pattern of missing values."""
    kinds = patterns(np.isnan(row.z.T))
    m = -(-row.z.shape[1] // len(kinds))
    p = len(row.z)
    places = []
    for columns, rows in kinds:
        order = np.concatenate([columns, np.setdiff1d(np.arange(p), columns)])
        places += [(order, len(columns), rows[part]) for part in slices(len(rows), m)]
    b = len(places)
    order = np.stack([each for each, _, _ in places])
    there = np.arange(p) < np.array([q for _, q, _ in places])[:, None]
    values = np.zeros((b, p, m))
    weights = np.zeros((b, m))
    positions = np.full((b, m), -1, dtype=np.intp)
    for i, (own, q, rows) in enumerate(places):
        values[i, :q, : len(rows)] = row.z[np.ix_(own[:q], rows)]
        weights[i, : len(rows)] = row.weights[rows]
        positions[i, : len(rows)] = rows
    return _Sheets(order, there, values, weights, positions)


def _some(sheets: _Sheets, components: int) -> Iterator[_Sheets]:
    """Yield groups of batches whose intermediate results fit the cache."""
    b, p, m = sheets.values.shape
    for part in slices(b, max(CACHED // (components * p * (p + m)), 1)):
        yield _Sheets(
            sheets.order[part],
            sheets.there[part],
            sheets.values[part],
            sheets.weights[part],
            sheets.positions[part],
        )


def _full_roots(covariances: Sequence[Covariance]) -> Floats:
    """Roots (G, p, p) of covariances; roots of diagonal ones are expanded to matrices."""
    return np.stack([np.diag(each.root) if each.is_diagonal else each.root for each in covariances])


class _Turned(NamedTuple):
    """Whitened rows of batches and the factors that complete them, for each component.

    Attributes
    ----------
    white : (B, G, p, m) float
        Whitened observed values, followed by zeros.
    logdets : (B, G) float
        Log-determinants of the covariance of the observed columns.
    known, left : (B, G, p, p) float
        The factors T_1 and T_2 of the module docstring, padded with rows of zeros; columns are in the
        original order.
    """

    white: Floats
    logdets: Floats
    known: Floats
    left: Floats


def _turned(roots: Floats, means: Floats, sheets: _Sheets) -> _Turned:
    """Whiten the rows of batches.

    Parameters
    ----------
    roots : (G, p, p) float
        Roots of the covariances of the components.
    means : (G, p) float
    sheets : _Sheets

    Returns
    -------
    _Turned
    """
    order = sheets.order
    there = sheets.there[:, None, :, None]
    triangles: Floats = np.asarray(np.linalg.qr(np.moveaxis(roots[:, :, order], 2, 0), mode="r"))
    both = there & there.swapaxes(2, 3)
    inner = np.where(both, triangles, np.eye(len(order[0])))
    gaps = (sheets.values[:, None] - np.moveaxis(means[:, order], 1, 0)[..., None]) * there
    white = np.asarray(np.linalg.solve(inner.swapaxes(2, 3), gaps))
    logdets = 2.0 * np.log(np.abs(np.diagonal(inner, axis1=2, axis2=3))).sum(axis=2)
    places = np.broadcast_to(np.argsort(order, axis=1)[:, None, None, :], triangles.shape)
    in_place: Floats = np.take_along_axis(triangles, places, axis=3)
    return _Turned(white, logdets, in_place * there, in_place * ~there)


def _class_sums(
    components: Components, at: slice, sheets: _Sheets, *, axial: bool
) -> tuple[ComponentSums, float]:
    """E step for one class: sufficient statistics of the completed rows.

    Parameters
    ----------
    components : Components
    at : slice
        The components of the class.
    sheets : _Sheets
        Rows of the class.
    axial : bool
        Whether to return only sums of squares.

    Returns
    -------
    sums : ComponentSums
    llf : float
        Log-likelihood of the observed values.
    """
    means = components.means[at]
    roots = _full_roots(components.covariances[at])
    g, p = means.shape
    counts = np.zeros(g)
    steps = np.zeros((g, p))
    llf = 0.0
    scatters = np.zeros((g, p, p))
    for some in _some(sheets, g):
        white, logdets, known, left = _turned(roots, means, some)
        constants = logdets + some.there.sum(axis=1)[:, None] * np.log(2 * np.pi)
        scores = (np.log(components.shares[at]) - 0.5 * constants)[..., None] - 0.5 * (white**2).sum(axis=2)
        scores = np.moveaxis(scores, 1, 0)
        top, sums = em.normalized(scores, some.weights)
        llf += float((some.weights * (top + np.log(sums))).sum())
        posteriors = np.moveaxis(scores, 0, 1)
        completed = known.swapaxes(2, 3) @ white
        weight = posteriors.sum(axis=2)
        weighted = completed * posteriors[:, :, None, :]
        counts += weight.sum(axis=0)
        steps += weighted.sum(axis=(0, 3))
        scatters += (weighted @ completed.swapaxes(2, 3)).sum(axis=0)
        left *= np.sqrt(weight)[..., None, None]
        scatters += (left.swapaxes(2, 3) @ left).sum(axis=0)
    # Sums are about the means before the step. The correction is then small relative to the scatter.
    with np.errstate(divide="ignore", invalid="ignore"):
        steps /= counts[:, None]
        scatters -= counts[:, None, None] * steps[:, :, None] * steps[:, None, :]
    held = np.diagonal(scatters, axis1=1, axis2=2).copy() if axial else scatters
    return ComponentSums(counts, means + steps, held), llf


def maximized_with_gaps(
    components: Components,
    rows: Sequence[ClassRows],
    form: str,
    *,
    tol: float,
    maxiter: int,
    progress: Callable[[float], None] = lambda more: None,
) -> Components | Degenerate:
    """Run EM for rows with missing values (NaN), like `em.maximized` for complete rows.

    Parameters
    ----------
    components : Components
        Initial components.
    rows : sequence of ClassRows
    form : str
    tol : float
        EM ends when a step gains less log-likelihood per row.
    maxiter : int
    progress : callable
        Called with 1 after each step.

    Returns
    -------
    Components or Degenerate
    """
    sizes = components.sizes
    axial = em.is_axial(form)
    # Variances (K, p) below which a component of a class is singular, from observed values.
    least = np.empty((len(rows), len(rows[0].z)))
    for k, (z, weights) in enumerate(rows):
        squares = np.nansum(z**2 * weights, axis=1)
        counts = (~np.isnan(z) * weights).sum(axis=1)
        least[k] = em.SINGULAR_SD**2 * squares / np.where(counts > 0, counts, 1.0)
    sheets = [_sheets(row) for row in rows]

    def expected(now: Components) -> Expected:
        """E step for rows with missing values."""
        pairs = zip(now.places(), sheets, strict=True)
        found = [_class_sums(now, at, own, axial=axial) for at, own in pairs]
        sums = ComponentSums(
            *(np.concatenate(parts) for parts in zip(*(each for each, _ in found), strict=True))
        )

        def best(axes: em.Axes) -> Components | Degenerate:
            """M step from the sufficient statistics."""
            empty = em.emptied(rows, sizes, sums.counts)
            if empty is not None:
                return empty
            return em.of_sums(sums, rows, sizes, form, axes, em.FEW_TURNS, least)

        return Expected(sums.counts, sum(llf for _, llf in found), best)

    weight = sum(float(row.weights.sum()) for row in rows)
    gain = tol * weight * (ALONE if max(sizes) == 1 else 1.0)
    return em.climbed(components, expected, form, tol=gain, maxiter=maxiter, progress=progress)


def completed(rows: Sequence[ClassRows], seed: int) -> list[ClassRows]:
    """Replace missing values by draws from a normal distribution of the class, given the observed values.

    The covariance is full, or diagonal if the full one becomes singular.

    Parameters
    ----------
    rows : sequence of ClassRows
    seed : int

    Returns
    -------
    list of ClassRows
        Complete rows are unchanged.
    """
    # A stream that is independent of the one for random partitions.
    rng = np.random.default_rng([seed, 1])
    return [_completed(row, rng) if np.isnan(row.z).any() else row for row in rows]


def _completed(row: ClassRows, rng: np.random.Generator) -> ClassRows:
    """Replace the missing values of one class by draws."""
    law = _normal_law(row)
    gaps = np.isnan(row.z)
    # Equal rows get the same draw, just as one row with their total weight.
    keys = np.concatenate([np.where(gaps, 0.0, row.z), gaps]).T
    different, which = np.unique(keys, axis=0, return_inverse=True)
    noise = rng.standard_normal((len(different), len(gaps)))[which.ravel()]
    z = np.empty_like(row.z)
    for some in _some(_sheets(row), 1):
        white, _, known, left = _turned(_full_roots(law.covariances), law.means, some)
        drawn = known[:, 0].swapaxes(1, 2) @ white[:, 0]
        drawn += left[:, 0].swapaxes(1, 2) @ noise[some.positions].swapaxes(1, 2)
        sheet, at = np.nonzero(some.positions >= 0)
        z[:, some.positions[sheet, at]] = (drawn + law.means[0][:, None])[sheet, :, at].T
    return ClassRows(np.where(gaps, z, row.z), row.weights)


def _normal_law(row: ClassRows) -> Components:
    """Fit a normal distribution to the rows of a class by some steps of EM."""
    there = ~np.isnan(row.z) * row.weights
    counts = np.maximum(there.sum(axis=1), np.finfo(np.float64).tiny)
    means = np.nansum(row.z * row.weights, axis=1) / counts
    squares = np.nansum((row.z - means[:, None]) ** 2 * row.weights, axis=1) / counts
    # A constant column gets the smallest positive variance, which ends EM as singular.
    sd = np.sqrt(np.where(squares > 0, squares, np.finfo(np.float64).tiny))
    start = Components((1,), np.ones(1), means[None], (Covariance.from_root(sd),))
    law = maximized_with_gaps(start, [row], "VVV", tol=SMALL_GAIN / ALONE, maxiter=FEW_STEPS)
    return start if isinstance(law, Degenerate) else law


def from_starts(
    rows: Sequence[ClassRows],
    sizes: Sequence[int],
    form: str,
    plan: EMPlan,
    hierarchies: Sequence[Hierarchies],
    progress: Callable[[float], None],
) -> tuple[Components | Degenerate, tuple[int, int]]:
    """Fit classes together from several starts.

    Parameters
    ----------
    rows : sequence of ClassRows
    sizes : sequence of int
        Number of components of each class.
    form : str
    plan : EMPlan
    hierarchies : sequence of Hierarchies
        Hierarchies of the completed rows.
    progress : callable
        Called with 1 after each step of the last stage.

    Returns
    -------
    components : Components or Degenerate
        The best result.
    runs : tuple of int
        Number of runs, and number of runs that reached the maximum.
    """
    whole = completed(rows, plan.seed)

    def run(start: Components | Degenerate) -> Components | Degenerate:
        """Run EM on the incomplete rows; return a degenerate start unchanged."""
        if isinstance(start, Degenerate):
            return start
        return maximized_with_gaps(start, rows, form, tol=plan.tol, maxiter=plan.maxiter, progress=progress)

    if max(sizes) == 1:
        return run(em.of_weights(whole, [row.weights[None] for row in whole], form)), (1, 1)
    trials = starts.tried(whole, whole, sizes, form, plan, hierarchies).best_first
    near = starts.alike(rows, plan)
    runs: list[Components | Degenerate] = []
    last = np.inf
    for trial in trials:
        if isinstance(trial, Degenerate) or last - trial.llf <= near:
            continue
        last = trial.llf
        runs.append(run(trial))
        if sum(isinstance(each, Components) for each in runs) == RUNS:
            break
    runs = sorted(runs or trials[:1], key=starts.rank)
    reached = sum(starts.rank(each) <= starts.rank(runs[0]) + near for each in runs)
    return runs[0], (len(runs), reached)
