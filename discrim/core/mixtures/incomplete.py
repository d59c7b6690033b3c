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
    MAX_BLOCK_VALUES,
    ClassRows,
    Components,
    Degenerate,
    EMPlan,
    EStep,
    MStep,
)
from discrim.core.mixtures.starts import Hierarchies
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices
from discrim.core.rules.gaussian import missingness_patterns

SINGLE_COMPONENT_TOLERANCE = 1e-6
"""Factor by which EM's tolerance is multiplied if every class has a single component."""

MAX_IMPUTATION_STEPS = 50
"""Maximum number of steps for the normal distribution from which missing values are drawn."""

IMPUTATION_TOLERANCE = 1e-4
"""Gain of log-likelihood per unit of weight at which these steps end."""

MAX_CONTINUED_RUNS = 3
"""Maximum number of different maxima on completed rows from which EM continues with the incomplete rows."""


class MissingnessSummary(NamedTuple):
    """Summary of missing values in the rows of a fit.

    Attributes
    ----------
    incomplete : int
        Number of rows with a missing value.
    patterns : int
        Number of different sets of observed columns, including the set of all columns if a row is complete.
    """

    incomplete: int
    patterns: int

    @classmethod
    def from_rows(cls, x: Floats) -> MissingnessSummary:
        """Count the incomplete rows and the missingness patterns of rows x (n, p), NaN if missing."""
        missing = np.isnan(x)
        return cls(int(missing.any(axis=1).sum()), len(missingness_patterns(missing)))


def has_missing(rows: Sequence[ClassRows]) -> bool:
    """Return whether any row has a missing value (NaN)."""
    return any(np.isnan(row.z).any() for row in rows)


class _Batches(NamedTuple):
    """Rows of a class in B batches of m rows, each with one pattern of missing values.

    Attributes
    ----------
    order : (B, p) int
        Positions of the p columns in each batch, observed ones first.
    observed_mask : (B, p) bool
        Whether each column of `order` is observed in the batch.
    values : (B, p, m) float
        Deviations z of the rows from the class mean, with columns in this order; 0 if missing, and for
        padding.
    weights : (B, m) float
        Weights of the rows; 0 for padding.
    positions : (B, m) int
        Positions of the rows in their class; -1 for padding.
    """

    order: Codes
    observed_mask: Mask
    values: Floats
    weights: Floats
    positions: Codes


def _batch_rows(row: ClassRows) -> _Batches:
    """Arrange the rows of a class in batches by pattern of missing values.

    The batch size m is the mean number of rows per pattern, rounded up.
    """
    missing_patterns = missingness_patterns(np.isnan(row.z.T))
    m = -(-row.z.shape[1] // len(missing_patterns))
    p = len(row.z)
    batches = []
    for columns, rows in missing_patterns:
        order = np.concatenate([columns, np.setdiff1d(np.arange(p), columns)])
        batches += [(order, len(columns), rows[row_slice]) for row_slice in slices(len(rows), m)]
    n_batches = len(batches)
    order = np.stack([batch_order for batch_order, _, _ in batches])
    observed_mask = np.arange(p) < np.array([q for _, q, _ in batches])[:, None]
    values = np.zeros((n_batches, p, m))
    weights = np.zeros((n_batches, m))
    positions = np.full((n_batches, m), -1, dtype=np.intp)
    for i, (batch_columns, q, rows) in enumerate(batches):
        values[i, :q, : len(rows)] = row.z[np.ix_(batch_columns[:q], rows)]
        weights[i, : len(rows)] = row.weights[rows]
        positions[i, : len(rows)] = rows
    return _Batches(order, observed_mask, values, weights, positions)


def _cached_groups(batches: _Batches, components: int) -> Iterator[_Batches]:
    """Yield groups of successive batches whose intermediate results fit the cache.

    For `components` components these have at most `MAX_BLOCK_VALUES` values, or the group is one batch.
    """
    n_batches, p, m = batches.values.shape
    for batch_slice in slices(n_batches, max(MAX_BLOCK_VALUES // (components * p * (p + m)), 1)):
        yield _Batches(
            batches.order[batch_slice],
            batches.observed_mask[batch_slice],
            batches.values[batch_slice],
            batches.weights[batch_slice],
            batches.positions[batch_slice],
        )


def _full_roots(covariances: Sequence[Covariance]) -> Floats:
    """Return upper triangular roots R (G, p, p) with R'R the covariances, also for diagonal ones."""
    return np.stack(
        [
            np.diag(covariance.root) if covariance.is_diagonal else covariance.root
            for covariance in covariances
        ]
    )


class _WhitenedBatches(NamedTuple):
    """Whitened observed values of B batches and factors that impute the missing ones, by G components.

    Attributes
    ----------
    whitened : (B, G, p, m) float
        Whitened observed values u in the first rows, one for each observed column, followed by zeros. Values
        of padding are meaningless.
    logdets : (B, G) float
        Log-determinants of the covariance of the observed columns.
    completion_factors, residual_factors : (B, G, p, p) float
        The factors T_1 (T_1'u is the completed row less the mean) and T_2 (T_2'T_2 is the residual
        covariance) of the module docstring. Each keeps its rows of T, and the other rows are zero; columns
        are in the original order.
    """

    whitened: Floats
    logdets: Floats
    completion_factors: Floats
    residual_factors: Floats


def _whiten_batches(roots: Floats, means: Floats, batches: _Batches) -> _WhitenedBatches:
    """Whiten the observed values by each component, and compute the factors that impute the missing ones.

    Parameters
    ----------
    roots : (G, p, p) float
        Upper triangular R with R'R the covariance of each component, columns in the original order.
    means : (G, p) float
        Means of the components, in the original order.
    batches : _Batches
        Rows of one class.

    Returns
    -------
    _WhitenedBatches
    """
    order = batches.order
    observed = batches.observed_mask[:, None, :, None]
    triangles: Floats = np.asarray(np.linalg.qr(np.moveaxis(roots[:, :, order], 2, 0), mode="r"))
    both_observed = observed & observed.swapaxes(2, 3)
    inner = np.where(both_observed, triangles, np.eye(len(order[0])))
    deviations = (batches.values[:, None] - np.moveaxis(means[:, order], 1, 0)[..., None]) * observed
    whitened = np.asarray(np.linalg.solve(inner.swapaxes(2, 3), deviations))
    logdets = 2.0 * np.log(np.abs(np.diagonal(inner, axis1=2, axis2=3))).sum(axis=2)
    inverse_order = np.broadcast_to(np.argsort(order, axis=1)[:, None, None, :], triangles.shape)
    factors: Floats = np.take_along_axis(triangles, inverse_order, axis=3)
    return _WhitenedBatches(whitened, logdets, factors * observed, factors * ~observed)


def _class_e_step(components: Components, component_slice: slice, batches: _Batches, *, axial: bool) -> EStep:
    """Perform the E step for one class: compute sufficient statistics of the completed rows.

    Parameters
    ----------
    components : Components
        Current components of all classes.
    component_slice : slice
        The components of the class.
    batches : _Batches
        Rows of the class.
    axial : bool
        Whether to return only sums of squares instead of scatter matrices.

    Returns
    -------
    EStep
        For the components of the class; scatters include the residual covariances of the missing values.
    """
    means = components.means[component_slice]
    roots = _full_roots(components.covariances[component_slice])
    g, p = means.shape
    counts = np.zeros(g)
    mean_changes = np.zeros((g, p))
    llf = 0.0
    scatters = np.zeros((g, p, p))
    for group in _cached_groups(batches, g):
        whitened, logdets, completion_factors, residual_factors = _whiten_batches(roots, means, group)
        constants = logdets + group.observed_mask.sum(axis=1)[:, None] * np.log(2 * np.pi)
        scores = (np.log(components.mixing_proportions[component_slice]) - 0.5 * constants)[
            ..., None
        ] - 0.5 * (whitened**2).sum(axis=2)
        scores = np.moveaxis(scores, 1, 0)
        max_scores, sums = em.normalize_scores(scores, group.weights)
        llf += float((group.weights * (max_scores + np.log(sums))).sum())
        posteriors = np.moveaxis(scores, 0, 1)
        completed = completion_factors.swapaxes(2, 3) @ whitened
        component_weights = posteriors.sum(axis=2)
        weighted = completed * posteriors[:, :, None, :]
        counts += component_weights.sum(axis=0)
        mean_changes += weighted.sum(axis=(0, 3))
        scatters += (weighted @ completed.swapaxes(2, 3)).sum(axis=0)
        residual_factors *= np.sqrt(component_weights)[..., None, None]
        scatters += (residual_factors.swapaxes(2, 3) @ residual_factors).sum(axis=0)
    sums_of_class = em.sums_about_new_means(means, counts, mean_changes, scatters)
    if axial:
        sums_of_class = sums_of_class._replace(
            scatters=np.diagonal(sums_of_class.scatters, axis1=1, axis2=2).copy()
        )
    return EStep(sums_of_class, llf)


def run_em_incomplete(
    components: Components,
    rows: Sequence[ClassRows],
    form: str,
    *,
    tol: float,
    maxiter: int,
    progress: Callable[[float], None] = lambda more: None,
) -> Components | Degenerate:
    """Run EM for rows with missing values (NaN).

    Unlike `em.run_em`, it iterates also if each class has a single component.

    Parameters
    ----------
    components : Components
        Initial components.
    rows : sequence of ClassRows
        Rows of the classes that are fitted together.
    form : str
        Covariance form, one of `em.FORMS`.
    tol : float
        Gain of log-likelihood per unit of weight at which EM ends; multiplied by `SINGLE_COMPONENT_TOLERANCE`
        if each class has a single component.
    maxiter : int
        Maximum number of steps.
    progress : callable
        Called with 1 after each step.

    Returns
    -------
    Components or Degenerate
        The last components, with `path` (log-likelihoods of the observed values) and `converged`; Degenerate
        if a component becomes empty or singular, the likelihood falls, or a component ends narrow.
    """
    sizes = components.sizes
    axial = em.is_axial(form)
    # Variances (K, p) below which a component of a class is singular, from observed values.
    min_variances = np.empty((len(rows), len(rows[0].z)))
    for k, (z, weights) in enumerate(rows):
        squares = np.nansum(z**2 * weights, axis=1)
        counts = (~np.isnan(z) * weights).sum(axis=1)
        min_variances[k] = em.SINGULAR_SD**2 * squares / np.where(counts > 0, counts, 1.0)
    batches = [_batch_rows(row) for row in rows]

    def e_step(runs: Sequence[Components]) -> list[EStep]:
        """Perform the E step of each run for all classes."""
        return [
            em.join_classes(
                [
                    _class_e_step(current, component_slice, class_batches, axial=axial)
                    for component_slice, class_batches in zip(current.class_slices(), batches, strict=True)
                ]
            )
            for current in runs
        ]

    step = MStep.of_rows(rows, sizes, form, min_variances)
    total_weight = sum(float(row.weights.sum()) for row in rows)
    tolerance = tol * total_weight * (SINGLE_COMPONENT_TOLERANCE if max(sizes) == 1 else 1.0)
    return em.iterate_em([components], e_step, step, tol=tolerance, maxiter=maxiter, progress=progress)[0]


def impute_rows(rows: Sequence[ClassRows], seed: int) -> list[ClassRows]:
    """Replace missing values by draws from a normal distribution of the class, given the observed values.

    The covariance is full, or diagonal if the full one becomes singular. Equal rows of a class get the same
    draw.

    Parameters
    ----------
    rows : sequence of ClassRows
        Rows of each class, with NaN for missing values.
    seed : int
        Seed of the draws.

    Returns
    -------
    list of ClassRows
        Rows without missing values, with the same weights. Observed values are unchanged.
    """
    # A stream that is independent of the one for random partitions.
    rng = np.random.default_rng([seed, 1])
    return [_impute_class(row, rng) if np.isnan(row.z).any() else row for row in rows]


def _impute_class(row: ClassRows, rng: np.random.Generator) -> ClassRows:
    """Draw the missing values of one class from their normal distribution given the observed values.

    Parameters
    ----------
    row : ClassRows
        Rows of the class, with NaN for missing values.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    ClassRows
        Rows without missing values, with the same weights.
    """
    distribution = _fit_normal(row)
    missing = np.isnan(row.z)
    # Equal rows get the same draw, just as one row with their total weight.
    keys = np.concatenate([np.where(missing, 0.0, row.z), missing]).T
    distinct_keys, key_index = np.unique(keys, axis=0, return_inverse=True)
    noise = rng.standard_normal((len(distinct_keys), len(missing)))[key_index.ravel()]
    z = np.empty_like(row.z)
    for group in _cached_groups(_batch_rows(row), 1):
        whitened, _, completion_factors, residual_factors = _whiten_batches(
            _full_roots(distribution.covariances), distribution.means, group
        )
        imputed = completion_factors[:, 0].swapaxes(1, 2) @ whitened[:, 0]
        imputed += residual_factors[:, 0].swapaxes(1, 2) @ noise[group.positions].swapaxes(1, 2)
        batch_index, row_positions = np.nonzero(group.positions >= 0)
        z[:, group.positions[batch_index, row_positions]] = (imputed + distribution.means[0][:, None])[
            batch_index, :, row_positions
        ].T
    return ClassRows(np.where(missing, z, row.z), row.weights)


def _fit_normal(row: ClassRows) -> Components:
    """Fit a normal distribution to the incomplete rows of a class by at most `MAX_IMPUTATION_STEPS` of EM.

    The result has one component. Its covariance is full; if EM degenerates, it is diagonal, with the
    variances of the observed values of each column.
    """
    observed_weights = ~np.isnan(row.z) * row.weights
    counts = np.maximum(observed_weights.sum(axis=1), np.finfo(np.float64).tiny)
    means = np.nansum(row.z * row.weights, axis=1) / counts
    squares = np.nansum((row.z - means[:, None]) ** 2 * row.weights, axis=1) / counts
    # A constant column gets the smallest positive variance, which ends EM as singular.
    sd = np.sqrt(np.where(squares > 0, squares, np.finfo(np.float64).tiny))
    start = Components((1,), np.ones(1), means[None], (Covariance.from_root(sd),))
    distribution = run_em_incomplete(
        start,
        [row],
        "VVV",
        tol=IMPUTATION_TOLERANCE / SINGLE_COMPONENT_TOLERANCE,
        maxiter=MAX_IMPUTATION_STEPS,
    )
    return start if isinstance(distribution, Degenerate) else distribution


def fit_from_starts(
    rows: Sequence[ClassRows],
    sizes: Sequence[int],
    form: str,
    plan: EMPlan,
    hierarchies: Sequence[Hierarchies],
    progress: Callable[[float], None],
) -> tuple[Components | Degenerate, tuple[int, int]]:
    """Fit a mixture to incomplete rows of classes that are fitted together, from several starts.

    Parameters
    ----------
    rows : sequence of ClassRows
        Rows of each class, with NaN for missing values.
    sizes : sequence of int
        Number of components of each class.
    form : str
        Covariance form, one of `em.FORMS`.
    plan : EMPlan
        Options of EM.
    hierarchies : sequence of Hierarchies
        Hierarchies of the completed rows of each class; not used if each class has one component.
    progress : callable
        Called with 1 after each step on the incomplete rows; steps on completed rows are not reported.

    Returns
    -------
    components : Components or Degenerate
        The result with the largest likelihood of the observed values; Degenerate if every run degenerated.
    runs : (int, int)
        Number of runs on the incomplete rows, including degenerate ones, and number of them that reached the
        maximum. Both are 1 if each class has one component or every start degenerated.
    """
    imputed_rows = impute_rows(rows, plan.seed)

    def run(start: Components | Degenerate) -> Components | Degenerate:
        """Run EM on the incomplete rows; return a degenerate start unchanged."""
        if isinstance(start, Degenerate):
            return start
        return run_em_incomplete(start, rows, form, tol=plan.tol, maxiter=plan.maxiter, progress=progress)

    if max(sizes) == 1:
        return run(em.m_step(imputed_rows, [row.weights[None] for row in imputed_rows], form)), (1, 1)
    trials = starts.run_starts(imputed_rows, imputed_rows, sizes, form, plan, hierarchies).results
    max_difference = starts.same_maximum_tolerance(rows, plan)
    runs: list[Components | Degenerate] = []
    last_llf = np.inf
    for trial in trials:
        if isinstance(trial, Degenerate) or last_llf - trial.llf <= max_difference:
            continue
        last_llf = trial.llf
        runs.append(run(trial))
        if sum(isinstance(run_result, Components) for run_result in runs) == MAX_CONTINUED_RUNS:
            break
    runs = sorted(runs or trials[:1], key=starts.likelihood_sort_key)
    n_reached = sum(
        starts.likelihood_sort_key(run_result) <= starts.likelihood_sort_key(runs[0]) + max_difference
        for run_result in runs
    )
    return runs[0], (len(runs), n_reached)
