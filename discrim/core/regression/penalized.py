"""Penalized logistic regression (ridge, lasso, elastic net): estimates and the functions that fit them.

`logistic` with a penalty uses `penalized_path` for paths of strengths and `fit_at_strength` for a single
one. The objective is glmnet's (Friedman, Hastie & Tibshirani, 2010, Journal of Statistical Software 33(1)),

    -1/N sum_i w_i log P(y_i | x_i) + lambda ((1 - a)/2 |b|^2 + a |b|_1),

with weights w, N their sum, and b the coefficients of the standardized columns (divisor N), without the
intercepts. For two classes b refers to the log odds of the second class against the first; for more classes
each class has coefficients (the symmetric parametrization). C, 1 or K, is the number of these linear
functions of a row. For more classes the penalty determines all coefficients except a common constant of the
intercepts, which are made to sum to zero, and, for the lasso with an even number of classes, the choice in
`_center_coefs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.special import expit, softmax

from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.regression.proximal_newton import (
    RELATIVE_ROUNDING,
    Likelihood,
    PenalizedResult,
    ProximalNewton,
    minimize_quadratics,
    violations,
)
from discrim.core.rules.rules import LinearRule

PATH_TOLERANCE = 1e-5
"""Violation of the optimality conditions, in units of lambda, at which a search along a path ends."""

INTERMEDIATE_TOLERANCE = 1e-2
"""Violation, in units of lambda, at which a search at an intermediate strength ends."""

STRENGTH_RATIO = 0.4
"""Ratio of successive intermediate strengths."""

MAX_EXPLAINED = 0.999
"""Explained proportion of the deviance at which a path ends; the value of glmnet."""

MIN_GAIN = 1e-5
"""Relative increase of the explained deviance over `GAIN_WINDOW` strengths below which a path ends."""

GAIN_WINDOW = 5
"""Number of strengths over which the increase of the explained deviance is compared with `MIN_GAIN`."""

MAX_CONSTANT_SD = 1e-10
"""Standard deviation in a subset, relative to all rows, up to which a column counts as constant."""


class StandardColumns(NamedTuple):
    """Standardization of p columns, ((x - centre) scale - mean) / sd.

    Attributes
    ----------
    centre, mean : (p,) float
        Centre in the units of the data, and the mean of (x - centre) scale over all rows.
    scale : (p,) float
        Powers of two.
    sd : (p,) float
        Standard deviations over all rows after scaling, divisor N; no column may be constant.
    """

    centre: Floats
    mean: Floats
    scale: Floats
    sd: Floats

    @classmethod
    def from_moments(cls, moments: ClassMoments) -> StandardColumns:
        """Compute the standardization over all rows of moments, divisor N."""
        means = moments.means
        total = moments.total
        anchor = means[int(np.argmax(moments.counts))]
        mean = anchor + (moments.counts / total) @ (means - anchor)
        squares = moments.squares.sum(axis=0) + moments.counts @ (means - mean) ** 2
        return cls(moments.origin, mean, moments.scale, np.sqrt(squares / total))

    def standardize(self, x: Floats, out: Floats) -> None:
        """Write rows (m, p), in the units of the data, as standardized columns into `out` (p, m)."""
        out[:] = x.T
        out -= self.centre[:, None]
        out *= self.scale[:, None]
        out -= self.mean[:, None]
        out /= self.sd[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class PenalizedFit:
    """Estimates of a penalized logistic regression.

    Attributes
    ----------
    moments : ClassMoments
        Moments of the rows.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    reference : int
        Class against which coefficients are reported; the fit does not depend on it.
    penalty : {"ridge", "lasso", "elastic_net"}
        Kind of penalty.
    strength, l1_ratio : float
        The values of lambda and a.
    beta : (C, p + 1) float
        Coefficients of the standardized columns, intercepts first: C = 1, log odds of the second class
        against the first, for two classes, and otherwise C = K.
    loss : float
        Weighted mean of the negative log-likelihood, without the penalty.
    violation : float
        Largest violation of the optimality conditions, in units of lambda.
    steps : int
        Number of steps of the search at this strength.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    reference: int
    penalty: str
    strength: float
    l1_ratio: float
    beta: Floats
    loss: float
    violation: float
    steps: int

    has_distances = False

    def validate(self) -> None:
        """Raise InvalidStateError unless the parts of a loaded fit are valid.

        The penalty has to be known, the L1 ratio 0 for "ridge", 1 for "lasso" and between them for
        "elastic_net", the strength positive and the number of steps not negative.
        """
        l1_ratio = self.l1_ratio
        is_valid = {"ridge": l1_ratio == 0, "lasso": l1_ratio == 1, "elastic_net": 0 < l1_ratio < 1}
        if not is_valid.get(self.penalty, False) or not self.strength > 0 or self.steps < 0:
            raise InvalidStateError("its penalty, strength or number of steps is invalid")

    @property
    def chosen_penalty(self) -> dict[str, float]:
        """Resolved option `penalty`: {"strength": strength}."""
        return {"strength": self.strength}

    @property
    def others(self) -> list[int]:
        """Codes of the classes other than the reference class, in increasing order."""
        return [k for k in range(self.moments.n_classes) if k != self.reference]

    def of_classes(self, keep: Codes) -> PenalizedFit:
        """Return an unfitted model for the classes at positions `keep`, with `beta` of shape (C, 0).

        The first class replaces a dropped reference class. Moments and prior are still of all classes.
        """
        return replace(self, reference=int(np.argmax(keep == self.reference)), beta=self.beta[:, :0])

    @property
    def standardized_class_params(self) -> Floats:
        """Coefficients (p + 1, K) of standardized columns by class, intercepts in the first row.

        For two classes, the coefficients of the first class are zero.
        """
        if len(self.beta) == 1:
            return np.column_stack([np.zeros(self.beta.shape[1]), self.beta[0]])
        return self.beta.T

    def class_params(self) -> Floats:
        """Return coefficients (p + 1, K) by class in units of the data, intercepts first.

        For two classes the coefficients of the first class are zero; for more the intercepts sum to zero.
        """
        standard = StandardColumns.from_moments(self.moments)
        beta = self.standardized_class_params
        slopes = beta[1:] / standard.sd[:, None]
        data_slopes = slopes * standard.scale[:, None]
        constants = beta[0] - standard.mean @ slopes - standard.centre @ data_slopes
        if len(self.beta) > 1:
            # Only differences of intercepts are determined.
            constants -= constants.mean()
        return np.vstack([constants, data_slopes])

    def params(self) -> Floats:
        """Return coefficients (p + 1, K - 1) of `others` against the reference, in units of the data."""
        class_params = self.class_params()
        return np.asarray(class_params[:, self.others] - class_params[:, [self.reference]])

    def n_nonzero(self) -> int:
        """Return the number of nonzero slopes, counted in each of the C functions."""
        return int(np.count_nonzero(self.beta[:, 1:]))

    def explained_deviance(self) -> float:
        """Return the explained proportion of the deviance: one minus the ratio of `loss` to the null loss."""
        return 1 - self.loss / null_loss(self.moments.counts)

    def llnull(self) -> float:
        """Return the log-likelihood of the rows, not its mean, for the model without slopes."""
        return -null_loss(self.moments.counts) * self.moments.total

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """Return the decision rule under a prior.

        The intercepts are shifted by the log odds of the prior against the class proportions of the rows.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities.
        method, convention
            Not used.

        Returns
        -------
        LinearRule
            Its scores are log posteriors up to a constant of each row.
        """
        standard = StandardColumns.from_moments(self.moments)
        beta = self.standardized_class_params
        coef = beta[1:] / standard.sd[:, None]
        shift = log_prior - np.log(self.moments.counts / self.moments.total)
        intercept = beta[0] - standard.mean @ coef + shift
        return LinearRule(standard.centre, standard.scale, coef, intercept)

    def with_result(self, search_result: PenalizedResult, strength: float) -> PenalizedFit:
        """Return the fit with strength, coefficients, loss, violation and steps of a search at a strength.

        The coefficients are made unique by `_center_coefs`. Whether the search converged is not stored.
        """
        beta, loss, violation, steps, _ = search_result
        beta = _center_coefs(beta, self.l1_ratio)
        return replace(self, strength=strength, beta=beta, loss=loss, violation=violation, steps=steps)


def null_loss(counts: Floats) -> float:
    """Return the mean negative log-likelihood of the model without slopes, for class counts (K,)."""
    proportions = counts / counts.sum()
    return float(-(proportions @ np.log(proportions)))


def read_standardized_rows(blocks: RowBlocks, moments: ClassMoments) -> Likelihood:
    """Read rows into memory, standardized by their moments; rows of weight zero are dropped.

    The result has a row of ones and the p standardized columns of all remaining rows; its weights sum to one.
    """
    standard = StandardColumns.from_moments(moments)
    n = int(moments.rows.sum())
    z = np.empty((moments.n_columns + 1, n))
    z[0] = 1.0
    codes = np.empty(n, dtype=np.intp)
    weights = np.ones(n)
    first = 0
    for x, block_codes, block_weights in blocks:
        if block_weights is not None and not (block_weights > 0).all():
            has_weight = block_weights > 0
            x = x[has_weight]
            block_codes = block_codes[has_weight]
            block_weights = block_weights[has_weight]
        row_slice = slice(first, first + len(x))
        standard.standardize(x, z[1:, row_slice])
        codes[row_slice] = block_codes
        if block_weights is not None:
            weights[row_slice] = block_weights
        first += len(x)
    return Likelihood(z, codes, weights / weights.sum(), moments.n_classes)


class _RowSpaceModel(NamedTuple):
    """A likelihood in coordinates of the row space.

    Attributes
    ----------
    model : Likelihood
        The likelihood in r coordinates of the row space.
    basis : (p, r) float or None
        Orthonormal basis of the row space; None if the columns are unchanged, with r = p.
    """

    model: Likelihood
    basis: Floats | None

    def to_columns(self, beta: Floats) -> Floats:
        """Convert coefficients (C, r + 1) of the coordinates to coefficients (C, p + 1) of the columns."""
        return beta if self.basis is None else np.hstack([beta[:, :1], beta[:, 1:] @ self.basis.T])

    def from_columns(self, beta: Floats) -> Floats:
        """Convert coefficients (C, p + 1) of the columns to coefficients (C, r + 1) of the coordinates."""
        return beta if self.basis is None else np.hstack([beta[:, :1], beta[:, 1:] @ self.basis])


def _to_row_space(model: Likelihood, l1_ratio: float) -> _RowSpaceModel:
    """Reduce a ridge problem with more columns than rows to the row space, which contains its solution.

    For other problems the result has the model itself, and None as its basis.
    """
    if l1_ratio or len(model.z) - 1 <= len(model.codes):
        return _RowSpaceModel(model, None)
    basis, rows = qr(model.z[1:], mode="economic", check_finite=False)
    z = np.concatenate([model.z[:1], rows])
    return _RowSpaceModel(replace(model, z=z), basis)


def path_strengths(model: Likelihood, l1_ratio: float, n_strengths: int) -> Floats:
    """Return a log-spaced path of strengths that starts where all slopes become zero, following glmnet.

    If a is below 1e-3, for example for a ridge, the path starts as if a were 1e-3. It ends at 1e-4 of the
    first strength, or at 1e-2 with fewer rows than columns.

    Parameters
    ----------
    model : Likelihood
        Likelihood of standardized rows.
    l1_ratio : float
        Proportion a of the L1 penalty.
    n_strengths : int
        Number L of strengths.

    Returns
    -------
    (L,) float
        Strengths in decreasing order.
    """
    max_strength = ProximalNewton(model, l1_ratio, PATH_TOLERANCE, 0).max_strength()
    min_ratio = 1e-4 if len(model.codes) >= len(model.z) - 1 else 1e-2
    return np.asarray(max_strength * min_ratio ** np.linspace(0, 1, n_strengths))


def penalized_path(
    model: Likelihood,
    l1_ratio: float,
    strengths: Floats,
    maxiter: int,
    *,
    may_end_early: bool = False,
    similar_path: Sequence[PenalizedResult] = (),
    progress: Callable[[float], object] = lambda share: None,
) -> list[PenalizedResult]:
    """Fit a penalized logistic regression at decreasing strengths, each starting at the previous solution.

    A ridge search starts at the extrapolation of the last step of the path, or of the step of a similar path.

    Parameters
    ----------
    model : Likelihood
        Likelihood of standardized rows.
    l1_ratio : float
        Proportion a of the L1 penalty.
    strengths : (L,) float
        Strengths in decreasing order.
    maxiter : int
        Maximum number of steps for each strength.
    may_end_early : bool
        Whether the path may end before the last strength: after more than `GAIN_WINDOW` strengths, if the
        explained proportion of the deviance exceeds `MAX_EXPLAINED`, or its gain over the window is below
        `MIN_GAIN` times its value.
    similar_path : sequence of PenalizedResult
        Path for nearly the same rows and the same strengths, used for a ridge only; empty without one.
    progress : callable, optional
        Called with 1 after each strength.

    Returns
    -------
    list of PenalizedResult
        One for each strength that was reached, converged or not.
    """
    row_space = _to_row_space(model, l1_ratio)
    search = ProximalNewton(row_space.model, l1_ratio, PATH_TOLERANCE, maxiter)
    path: list[PenalizedResult] = []
    explained: list[float] = []
    for i, strength in enumerate(strengths.tolist()):
        if not l1_ratio and i and (similar_path or i > 1):
            previous, last = (similar_path[i - 1], similar_path[i]) if similar_path else path[-2:]
            search.start_from_if_better(
                search.beta + row_space.from_columns(last.beta - previous.beta), strength
            )
        result = search.minimize(strength)
        path.append(result._replace(beta=row_space.to_columns(result.beta)))
        explained.append(1 - result.loss / search.null_loss)
        progress(1)
        if may_end_early and len(path) > GAIN_WINDOW:
            gain = explained[-1] - explained[-1 - GAIN_WINDOW]
            if explained[-1] > MAX_EXPLAINED or gain < MIN_GAIN * explained[-1]:
                break
    return path


def fit_at_strength(
    model: Likelihood,
    l1_ratio: float,
    strength: float,
    *,
    tol: float,
    maxiter: int,
    start: Floats | None = None,
) -> PenalizedResult:
    """Fit a penalized logistic regression at one strength, until rounding stops the search.

    Parameters
    ----------
    model : Likelihood
        Likelihood of standardized rows.
    l1_ratio, strength : float
        Proportion a of the L1 penalty, and strength lambda of the penalty.
    tol : float
        Violation of the conditions, in units of lambda, that counts as converged.
    maxiter : int
        Maximum number of steps, at this strength and at each larger one.
    start : (C, p + 1) float, optional
        Starting coefficients; by default the model without slopes, from which the search passes through
        larger strengths unless the penalty is a ridge.

    Returns
    -------
    PenalizedResult
        The last coefficients, also if `converged` is False; `steps` counts the steps at this strength only.
    """
    row_space = _to_row_space(model, l1_ratio)
    search = ProximalNewton(row_space.model, l1_ratio, tol, maxiter)
    if start is not None:
        search.restart(row_space.from_columns(start))
    else:
        # A ridge problem is smooth and needs no path; for the lasso few coefficients should enter at a time.
        current_strength = search.max_strength() if l1_ratio else strength
        while current_strength * STRENGTH_RATIO > strength:
            current_strength *= STRENGTH_RATIO
            search.minimize(current_strength, tol=INTERMEDIATE_TOLERANCE)
    result = search.minimize(strength, polish=True)
    return result._replace(beta=row_space.to_columns(result.beta))


def refit_penalized(
    fit: PenalizedFit, moments: ClassMoments, model: Likelihood, maxiter: int
) -> PenalizedFit | None:
    """Fit a penalized regression to other rows with the penalty of an earlier fit.

    Parameters
    ----------
    fit : PenalizedFit
        Fit that provides prior, penalty and, unless it has other columns, the starting coefficients.
    moments : ClassMoments
        Moments of the other rows.
    model : Likelihood
        Likelihood of the other rows, standardized.
    maxiter : int
        Maximum number of steps.

    Returns
    -------
    PenalizedFit or None
        None if the weight of a class is zero, or the search does not converge to a violation of 1e-8.
    """
    if not (moments.counts > 0).all():
        return None
    start = fit.beta if fit.beta.shape[1] == len(model.z) else None
    result = fit_at_strength(model, fit.l1_ratio, fit.strength, tol=1e-8, maxiter=maxiter, start=start)
    return replace(fit, moments=moments).with_result(result, fit.strength) if result.converged else None


def _center_coefs(beta: Floats, l1_ratio: float) -> Floats:
    """Return coefficients (C, p + 1) that are unique if the likelihood and the penalty leave a choice.

    With more than two classes the intercepts are made to sum to zero.

    For the lasso, a constant may be added to the coefficients of a column in all classes as long as equally
    many are positive and negative. For an even number of classes, one of the two middle coefficients is set
    to zero: the one that yields the smaller sum of squares.
    """
    if len(beta) == 1:
        return beta
    beta = beta.copy()
    beta[:, 0] -= beta[:, 0].mean()
    if l1_ratio < 1 or len(beta) % 2:
        return beta
    ordered = np.sort(beta[:, 1:], axis=0)
    middle_coefs = ordered[len(beta) // 2 - 1 : len(beta) // 2 + 1]
    sums_of_squares = [((beta[:, 1:] - coef) ** 2).sum(axis=0) for coef in middle_coefs]
    shift = np.where(sums_of_squares[0] <= sums_of_squares[1], middle_coefs[0], middle_coefs[1])
    beta[:, 1:] -= shift
    return beta


def path_scores(path: Sequence[PenalizedResult], z: Floats) -> Floats:
    """Compute the linear functions of rows for each result along a path.

    Parameters
    ----------
    path : sequence of PenalizedResult
        L results, one or more.
    z : (p + 1, m) float
        A row of ones and the standardized columns of m rows.

    Returns
    -------
    (L, C, m) float
        Log odds (C = 1) or log probabilities up to a constant of each row.
    """
    scores = np.empty((len(path), len(path[0].beta), z.shape[1]))
    for i, result in enumerate(path):
        used = np.flatnonzero(result.beta.any(axis=0))
        scores[i] = result.beta[:, used] @ z[used]
    return scores


MAX_SHARED_COEFS = 256
"""Number of coefficients of a training set up to which the paths of several sets are computed together."""

MAX_SHARED_ELEMENTS = 2**23
"""Maximum number of linear functions of rows, over the training sets whose paths are computed together."""

MIN_TRAINING_SD = 1e-3
"""Standard deviation of a column in a training set, relative to all rows, below which rounding matters."""

MAX_SHARED_STEPS = 10
"""Maximum number of steps at one strength; a longer search is repeated by `ProximalNewton`."""

MAX_SHARED_RATE = 0.2
"""Ratio of successive violations above which a training set needs the curvature at its own coefficients."""


class TrainingPaths:
    """Paths of penalized fits to several training sets of the same rows, which share products over the rows.

    Coefficients refer to the columns standardized in the training set. At each strength the steps start from
    the last solution, moved by the step of the path of all rows. They minimize the penalized quadratic
    approximation whose curvature is taken at the coefficients of all rows: the sum over all rows, less the
    rows that are not in the training set. If this converges slowly, the curvature is computed at the
    coefficients of the training set. If the steps, which have no line search, diverge, `ProximalNewton`
    continues from the last solution.

    Parameters
    ----------
    model : Likelihood
        All rows, standardized.
    counts : (F, n) float
        How often each row is in each training set. Each set has rows of all classes.
    l1_ratio : float
        Proportion a of the L1 penalty.
    maxiter : int
        Maximum number of steps of `ProximalNewton` at one strength.
    """

    def __init__(self, model: Likelihood, counts: Floats, l1_ratio: float, maxiter: int) -> None:
        """Start at the models without slopes; see the class for the parameters."""
        self.model = model
        self.l1_ratio = l1_ratio
        self.maxiter = maxiter
        weights = model.weights * counts
        self.totals = weights.sum(axis=1)
        self.weights = weights / self.totals[:, None]
        standards = [_training_standard(model.z, row_weights) for row_weights in self.weights]
        self.to_rows = np.stack([to_rows for to_rows, _ in standards])
        self.failed = ~np.array([is_accurate for _, is_accurate in standards])
        self.outside = []
        for set_counts in counts:
            index = np.flatnonzero(set_counts != 1)
            row_weights = model.weights[index] * (1 - set_counts[index])
            rows = Likelihood(model.z[:, index], model.codes[index], row_weights, model.n_classes)
            self.outside.append((index, rows))
        # Each row is outside one of the sets only.
        self.is_partition = bool(((1 - counts).sum(axis=0) == 1).all() and np.isin(counts, (0, 1)).all())
        self.indicators = np.equal(model.codes, np.arange(model.n_classes)[:, None]).astype(np.float64)
        if model.n_functions == 1:
            self.indicators = self.indicators[1:]
        self.beta = np.stack([replace(model, weights=w).null_coef() for w in self.weights])
        self.eta = np.zeros((len(counts), *self.indicators.shape))

    def minimize(self, strength: float, beta: Floats, move: Floats) -> None:
        """Minimize at one strength; `beta`, `eta` and `failed` of the sets are updated.

        Parameters
        ----------
        strength : float
            The value of lambda, not larger than in the last call.
        beta, move : (C, p + 1) float
            Coefficients of all rows, and their change since the last strength.
        """
        start = self.beta
        moved = start + move
        if self.l1_ratio:
            # Slopes that are zero stay zero, and others keep their signs. Without slopes the start is exact.
            is_moved = np.asarray(start * moved > 0)
            is_moved[..., 0] = np.asarray(start[..., 1:].any(axis=(1, 2)))[:, None]
            moved = np.where(is_moved, moved, start)
        self.beta = moved
        probabilities = self.model.evaluate(self.model.linear_functions(beta)).probabilities
        curvature = self._shared_curvature(probabilities)
        active = np.flatnonzero(~self.failed)
        last_violation = np.full(len(self.beta), np.inf)
        for _ in range(MAX_SHARED_STEPS):
            gradient, rounding = self._gradient(active)
            beta = self.beta[active]
            violation = violations(gradient, beta, strength, self.l1_ratio).max(axis=(1, 2))
            largest = np.abs(beta[..., 1:]).max(axis=(1, 2), initial=0.0)
            steepest = self.l1_ratio + (1 - self.l1_ratio) * np.minimum(largest, 1.0)
            is_open = ~(violation <= np.maximum(PATH_TOLERANCE * strength * steepest, rounding))
            rate = violation / last_violation[active]
            diverges = is_open & ~(rate <= 1)
            self._repeat_searches(active[diverges], start, strength)
            for fold in active[is_open & ~diverges & (rate > MAX_SHARED_RATE)].tolist():
                curvature[fold] = self._own_curvature(fold)
            last_violation[active] = violation
            is_open &= ~diverges
            active = active[is_open]
            if not len(active):
                return
            l1_weight = strength * self.l1_ratio
            try:
                self.beta[active] = minimize_quadratics(
                    curvature[active], gradient[is_open], beta[is_open], l1_weight, strength - l1_weight
                )
            except np.linalg.LinAlgError:
                break
        self._repeat_searches(active, start, strength)

    def _repeat_searches(self, sets: Codes, start: Floats, strength: float) -> None:
        """Minimize the objectives of some sets by `ProximalNewton`, from coefficients (F, C, p + 1)."""
        for fold in sets.tolist():
            z = self.to_rows[fold].T @ self.model.z
            model = replace(self.model, z=z, weights=self.weights[fold])
            search = ProximalNewton(model, self.l1_ratio, PATH_TOLERANCE, self.maxiter)
            search.restart(start[fold])
            self.failed[fold] = not search.minimize(strength).converged
            self.beta[fold] = search.beta
            self.eta[fold] = search.eta

    def _gradient(self, active: Codes) -> tuple[Floats, Floats]:
        """Compute the gradients of some sets (a,) and update their linear functions `eta`.

        Returns
        -------
        gradient : (a, C, p + 1) float
        rounding : (a,) float
            Violation that is attributed to rounding.
        """
        to_rows = self.to_rows[active]
        functions, n = self.indicators.shape
        coefs = self.beta[active] @ to_rows.swapaxes(1, 2)
        eta = (coefs.reshape(-1, coefs.shape[2]) @ self.model.z).reshape(-1, functions, n)
        self.eta[active] = eta
        residual = expit(eta) if functions == 1 else softmax(eta, axis=1)
        residual -= self.indicators
        residual *= self.weights[active][:, None]
        gradient = (residual.reshape(-1, n) @ self.model.z.T).reshape(coefs.shape)
        rounding = RELATIVE_ROUNDING * np.abs(residual).sum(axis=(1, 2))
        return gradient @ to_rows, rounding

    def _shared_curvature(self, probabilities: Floats) -> Floats:
        """Return the curvatures (F, r, r) of the sets at probabilities (C, n), the same for all sets."""
        positions = np.arange(self.beta[0].size)
        outside = [
            rows.curvature(probabilities[:, index], positions, positions) for index, rows in self.outside
        ]
        total = (
            np.sum(outside, axis=0)
            if self.is_partition
            else self.model.curvature(probabilities, positions, positions)
        )
        return np.stack(
            [
                self._in_units_of(fold, (total - curvature) / self.totals[fold])
                for fold, curvature in enumerate(outside)
            ]
        )

    def _own_curvature(self, fold: int) -> Floats:
        """Return the curvature (r, r) of a set at its own coefficients."""
        positions = np.arange(self.beta[0].size)
        model = replace(self.model, weights=self.weights[fold])
        probabilities = model.evaluate(self.eta[fold]).probabilities
        return self._in_units_of(fold, model.curvature(probabilities, positions, positions))

    def _in_units_of(self, fold: int, curvature: Floats) -> Floats:
        """Convert a curvature (r, r) of the columns of all rows to the columns of a set."""
        functions, p1 = self.beta.shape[1:]
        to_rows = self.to_rows[fold]
        half = (curvature.reshape(-1, p1) @ to_rows).reshape(functions, p1, -1)
        return np.asarray(to_rows.T @ half).reshape(curvature.shape)


def _training_standard(z: Floats, weights: Floats) -> tuple[Floats, bool]:
    """Return the matrix that converts coefficients of the columns of a training set to columns of all rows.

    Parameters
    ----------
    z : (p + 1, n) float
        Columns of all rows, the first one constant.
    weights : (n,) float
        Weights of the rows in the training set, which sum to one.

    Returns
    -------
    to_rows : (p + 1, p + 1) float
        Coefficients of a column that is constant in the set become zero.
    is_accurate : bool
        Whether the standard deviations of the other columns are large enough.
    """
    mean = z[1:] @ weights
    sd = np.sqrt(((z[1:] - mean[:, None]) ** 2) @ weights)
    is_constant = sd <= MAX_CONSTANT_SD
    inverse = np.where(is_constant, 0.0, 1 / np.where(is_constant, 1.0, sd))
    to_rows = np.diag(np.append(1.0, inverse))
    to_rows[0, 1:] = -mean * inverse
    return to_rows, bool((sd[~is_constant] >= MIN_TRAINING_SD).all())


def training_path_scores(
    model: Likelihood,
    counts: Floats,
    test_rows: Sequence[Codes],
    l1_ratio: float,
    strengths: Floats,
    path: Sequence[PenalizedResult],
    maxiter: int,
) -> list[Floats | None]:
    """Compute the linear functions of test rows along the paths of several training sets.

    Parameters
    ----------
    model : Likelihood
        All rows, standardized.
    counts : (F, n) float
        How often each row is in each training set. Each set has rows of all classes.
    test_rows : sequence of F (m,) int
        Positions of the test rows of each set.
    l1_ratio : float
        Proportion a of the L1 penalty.
    strengths : (L,) float
        Strengths in decreasing order.
    path : sequence of L PenalizedResult
        Path of all rows at these strengths.
    maxiter : int
        Maximum number of steps for each strength.

    Returns
    -------
    list of F (L, C, m) float or None
        Log odds (C = 1) or log probabilities up to a constant of each row. None if a search did not converge,
        or if the columns of the set require more digits.
    """
    sets = TrainingPaths(model, counts, l1_ratio, maxiter)
    scores = [np.empty((len(strengths), model.n_functions, len(rows))) for rows in test_rows]
    last = model.null_coef()
    for i, strength in enumerate(strengths.tolist()):
        sets.minimize(strength, path[i].beta, path[i].beta - last)
        last = path[i].beta
        for set_scores, eta, rows in zip(scores, sets.eta, test_rows, strict=True):
            set_scores[i] = eta[:, rows]
    return [None if sets.failed[fold] else set_scores for fold, set_scores in enumerate(scores)]
