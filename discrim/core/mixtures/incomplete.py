"""Mixtures of rows that miss some of their values: EM over components and missing values at once.

Theory. A row of class k of which the columns o are observed has the density sum_g t_kg N(x_o; m_kg,o,
S_kg,oo). The E step weighs each row by the posteriors of the components given what is observed, and completes
it once for each component, by the regression of its missing columns on the observed ones; to the products of
missing columns it adds what that regression leaves. The M step is that of complete rows, whatever the form of
the covariances (Ghahramani & Jordan, 1994, Advances in Neural Information Processing Systems 6, 120-127; for
one component Little & Rubin, 2020, Statistical Analysis with Missing Data, 3rd ed., sec. 11.2). The
log-likelihood is that of what is observed, and never falls. It is right where it does not depend on the
missing values that they are missing.

*By pattern.* Rows that miss the same columns share the triangle T of a component, T'T = S with the observed
columns first: with u the whitened observed values, T_1'u is the completed row less the mean, T_1 being the
first rows of T, and the other rows T_2 leave T_2'T_2. Rows of one pattern are laid on sheets of so many rows
each, the last of which may have rows of no weight, and a step works on all sheets at once.

*Starts.* The rows are completed once by draws from one normal law of their class, and from the components to
which EM comes for these, from each start, it goes on with the rows as they are.
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
"""Share of the gain at which EM ends that is left to a single component, which is fitted to more digits."""

FEW_STEPS = 50
"""Steps towards the normal law by which rows are completed once, before EM begins."""

SMALL_GAIN = 1e-4
"""Gain of log-likelihood a row at which these end before."""

RUNS = 3
"""Different maxima of completed rows from which EM goes on with the rows as they are."""


class CompletedRows(NamedTuple):
    """How many rows missed a value and were completed, and how many different sets of columns rows have."""

    incomplete: int
    patterns: int

    @classmethod
    def of(cls, x: Floats) -> CompletedRows:
        """Of rows x (n, p)."""
        gaps = np.isnan(x)
        return cls(int(gaps.any(axis=1).sum()), len(patterns(gaps)))


def has_gaps(rows: Sequence[ClassRows]) -> bool:
    """Whether a row misses a value."""
    return any(np.isnan(row.z).any() for row in rows)


class _Sheets(NamedTuple):
    """Rows of a class on B sheets of m each, whose rows miss the same columns.

    The order (B, p) has the observed columns first, and `there` (B, p) says which of these are. Values (B, p,
    m) in this order are 0 where they are missing, and weights (B, m) where there is no row. Positions (B, m)
    are those of rows in their class, and -1 there.
    """

    order: Codes
    there: Mask
    values: Floats
    weights: Floats
    positions: Codes


def _sheets(row: ClassRows) -> _Sheets:
    """The rows of a class by what they miss."""
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
    """The sheets, so many at a time as go into the cache together."""
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
    """Roots (G, p, p) of covariances, also of diagonal ones."""
    return np.stack([np.diag(each.root) if each.is_diagonal else each.root for each in covariances])


class _Turned(NamedTuple):
    """Components on sheets: what whitened values are made of, and what is made of them.

    White (B, G, p, m) are whitened observed values, 0 beyond them, and logdets (B, G) of their covariance. A
    row of `known` (B, G, p, p), its columns in their places, is zero beyond the observed ones, a row of
    `left` before.
    """

    white: Floats
    logdets: Floats
    known: Floats
    left: Floats


def _turned(roots: Floats, means: Floats, sheets: _Sheets) -> _Turned:
    """Components of means (G, p) and roots (G, p, p) on sheets."""
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
    """Sums of the completed rows of a class by the posteriors of its components, and the log-likelihood."""
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
    # About the means before the step, so that what is subtracted is small beside the scatter.
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
    """As `em.maximized`, of rows of which some miss values (NaN)."""
    sizes = components.sizes
    axial = em.is_axial(form)
    # Variances (K, p) of observed values at which a component of a class is singular.
    least = np.empty((len(rows), len(rows[0].z)))
    for k, (z, weights) in enumerate(rows):
        squares = np.nansum(z**2 * weights, axis=1)
        counts = (~np.isnan(z) * weights).sum(axis=1)
        least[k] = em.SINGULAR_SD**2 * squares / np.where(counts > 0, counts, 1.0)
    sheets = [_sheets(row) for row in rows]

    def expected(now: Components) -> Expected:
        pairs = zip(now.places(), sheets, strict=True)
        found = [_class_sums(now, at, own, axial=axial) for at, own in pairs]
        sums = ComponentSums(
            *(np.concatenate(parts) for parts in zip(*(each for each, _ in found), strict=True))
        )

        def best(axes: em.Axes) -> Components | Degenerate:
            empty = em.emptied(rows, sizes, sums.counts)
            if empty is not None:
                return empty
            return em.of_sums(sums, rows, sizes, form, axes, em.FEW_TURNS, least)

        return Expected(sums.counts, sum(llf for _, llf in found), best)

    weight = sum(float(row.weights.sum()) for row in rows)
    gain = tol * weight * (ALONE if max(sizes) == 1 else 1.0)
    return em.climbed(components, expected, form, tol=gain, maxiter=maxiter, progress=progress)


def completed(rows: Sequence[ClassRows], seed: int) -> list[ClassRows]:
    """The rows with values drawn, by a seed, for missing ones, from a normal law of the class given the rest.

    The covariance is full or, where that becomes singular, diagonal. Rows that miss nothing are as they are.
    """
    # Not the numbers that partitions are drawn by.
    rng = np.random.default_rng([seed, 1])
    return [_completed(row, rng) if np.isnan(row.z).any() else row for row in rows]


def _completed(row: ClassRows, rng: np.random.Generator) -> ClassRows:
    law = _normal_law(row)
    gaps = np.isnan(row.z)
    # Equal rows are one row of a larger weight, and have one draw.
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
    """A normal law of the rows of a class, after some steps of EM."""
    there = ~np.isnan(row.z) * row.weights
    counts = np.maximum(there.sum(axis=1), np.finfo(np.float64).tiny)
    means = np.nansum(row.z * row.weights, axis=1) / counts
    squares = np.nansum((row.z - means[:, None]) ** 2 * row.weights, axis=1) / counts
    # A column of one value is one of the least deviation there is, which EM then leaves.
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
    """The best that EM comes to for classes that are fitted together; runs, and those that came to it.

    Hierarchies are of the completed rows.
    """
    whole = completed(rows, plan.seed)

    def run(start: Components | Degenerate) -> Components | Degenerate:
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
