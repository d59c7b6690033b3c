"""Estimates of a probabilistic linear discriminant analysis, and the functions that fit and use them.

Theory. The classes themselves are random, which allows comparing classes that were not in the training data:
row i of class k is x = m + y_k + e with y_k ~ N(0, B) drawn once for the class and e ~ N(0, W) for each row
(Ioffe, 2006, ECCV, 531-542; Prince & Elder, 2007, ICCV; the two-covariance model of Brümmer & de Villiers,
2010, Odyssey, and of Kaldi). B may have a rank r below p: the classes then differ in r dimensions.

*Sufficient statistics.* Rotated within its class, n rows are sqrt(n) times their mean, with covariance W +
nB, and n - 1 contrasts with covariance W. Therefore counts, means and the pooled scatter S are sufficient:

    -2 log L = N p log 2 pi + (N - K) log|W| + tr(W^-1 S)
               + sum_k (log|W + n_k B| + n_k d_k'(W + n_k B)^-1 d_k),    d_k = mean_k - m.

In axes T with T'WT = I and T'BT = diag(b), all terms are sums over columns.

*Balanced classes.* With n rows in each class, S/(N - K) and n sum_k d_k d_k'/K, with m the mean of the means,
are diagonalized simultaneously to I and diag(f). On the r axes with the largest f_j > 1, W is 1 and B is
(f_j - 1)/n; on all other axes W is the mean square of both and B is zero (Anderson, Anderson & Olkin, 1986,
Annals of Statistics 14, 405-417).

*Unbalanced classes* require EM over y_k = V h_k, VV' = B, starting from the solution for a typical n. In the
axes of the previous step, in which W = I and V = diag(sqrt(b)), the posterior of h_kj has the variance
c = 1/(1 + n_k b_j) and the mean c n_k sqrt(b_j) d_kj. V is then the regression of the means on h, W the mean
square of the residuals, and h is rescaled to its estimated covariance, which EM with expanded parameters
moves into V (Liu, Rubin & Wu, 1998, Biometrika 85, 755-770; "minimum divergence" in speaker recognition). The
mean m maximizes the likelihood for fixed B and W, with weights n_k/(1 + n_k b_j). No step lowers the
likelihood. EM ends when the remaining gain, by Aitken's extrapolation of the last gains, is below a tolerance
per row.

*Classes of the training data.* Given its n rows, the mean m + y_k of a class has in these axes the mean m + a
d_k and the variance b c, with c = 1/(1 + n b) and a = n b c; a new row varies about it with variance 1 + b c.

*Verification.* Two sets of n_1 and n_2 rows with means u_1 and u_2, less m, belong to one class or to two.
With t = b + 1/n_2 and v = b c_1 + 1/n_2 the log likelihood ratio of one class against two is

    sum_j [log(t/v) + u_2^2/t - (u_2 - a_1 u_1)^2/v] / 2.

It is symmetric in the sets, although the formula does not show this, because the terms that depend on more
than the means cancel.

*Length normalization.* Embeddings of neural networks have heavier tails than the normal distribution. After
subtracting their mean, whitening by their covariance over all rows and dividing by their length, they are
nearly normal (Garcia-Romero & Espy-Wilson, 2011, Interspeech, 249-252). Here the length is sqrt(p), and
columns keep a variance of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy

from discrim.core.covariance.covariance import Covariance, dependencies, pooled_covariance
from discrim.core.covariance.principal import positive_signs, tied_axes
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments, standardize_columns
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats
from discrim.core.rules.rules import (
    Distances,
    GaussianRule,
    Rule,
    log_of_prior,
    require_plugin_method,
)

TOL = 1e-9
"""Default of the remaining gain of the log-likelihood per row at which EM ends."""

MAXITER = 1000
"""Default maximum number of steps of EM."""

MIN_START_VARIANCE = 0.1
"""Smallest variance between classes at the start of EM, relative to W/n, the variance of a class mean."""

MIN_VARIANCE_RATIO = 1e-6
"""Variance between classes, relative to W/n, below which EM converges to zero; it is then set to zero."""


@dataclass(frozen=True, slots=True, eq=False)
class LengthNormalization:
    """Transformation of rows to the same length: centred, whitened, and scaled.

    Attributes
    ----------
    origin, scale : (p,) float
        Origin and scale of z = (x - origin) * scale.
    centre : (p,) float
        Centre, in z.
    root : (p, p) float
        Upper triangular root of the covariance of all rows, in z, with a positive diagonal.
    """

    origin: Floats
    scale: Floats
    centre: Floats
    root: Floats

    @staticmethod
    def from_moments(moments: ClassMoments) -> LengthNormalization:
        """Return the transformation by the mean and the total covariance (divisor N) of all rows."""
        moments_of_all = moments.as_one_class()
        centre = moments_of_all.means_from(moments.origin)[0]
        root = pooled_covariance(moments_of_all, moments_of_all.total).root
        # Fix the signs of the root, because the coordinates on the sphere depend on them.
        return LengthNormalization(
            moments.origin, moments.scale, centre, root * np.sign(np.diagonal(root))[:, None]
        )

    def normalize(self, x: Floats) -> Floats:
        """Return rows (m, p) on the sphere of radius sqrt(p) for rows x (m, p) in the units of the data.

        Rows are centred, whitened by the covariance of all rows, and scaled to a length of sqrt(p). A row at
        the centre becomes zero.
        """
        z = standardize_columns(x, self.origin, self.scale) - self.centre[:, None]
        z = Covariance.from_root(self.root).whiten(z).T
        norms = np.sqrt((z**2).mean(axis=1, keepdims=True))
        return np.asarray(z / np.where(norms > 0, norms, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class PLDAFit:
    """Estimates of a probabilistic linear discriminant analysis.

    Attributes
    ----------
    moments : ClassMoments
        Pooled moments of the columns before length normalization.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    components : int or None
        Maximum rank of B; None for no restriction.
    tol : float
        EM ends when the remaining gain of the log-likelihood per row is smaller.
    maxiter : int
        Maximum number of steps of EM.
    origin, scale : (p,) float
        Origin and scale of the coordinates z = (x - origin) * scale of the following attributes, with x a row
        after length normalization, if any.
    mean : (p,) float
        Overall mean m, in z.
    axes : (p, p) float
        T, in z: T'WT = I and T'BT = diag(between). The largest coefficient of each axis, for columns of
        unit variance within classes, is positive.
    between : (p,) float
        Variances b between classes on the axes, in decreasing order; zero after the rank of B.
    class_places : (K, p) float
        Coordinates of the observed class means, less m, on the axes.
    log_marginal : float
        Log-likelihood of the (normalized) rows conditional on their classes, with the class means y_k
        integrated out.
    steps : int
        Number of steps of EM; zero for balanced classes, which have a closed form.
    converged : bool
        Whether the iterations converged.
    sphere : LengthNormalization or None
        Length normalization of the rows, if any.
    tie : (int, int) or None
        First and last, from one, of the axes of equal eigenvalues that `components` separates, if any.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    components: int | None
    tol: float
    maxiter: int
    origin: Floats
    scale: Floats
    mean: Floats
    axes: Floats
    between: Floats
    class_places: Floats
    log_marginal: float
    steps: int
    converged: bool
    sphere: LengthNormalization | None = None
    tie: tuple[int, int] | None = field(default=None, metadata=NOT_STORED)

    has_distances = False

    def validate(self) -> None:
        """Raise InvalidStateError if values that were read from a file contradict each other.

        Steps have to be in [0, `maxiter`] and `tol` in [0, 1); the variances between classes nonnegative and
        in decreasing order, with at most `max_rank` of them positive; scales positive; axes linearly
        independent; and the root of a length normalization triangular with a positive diagonal.
        """
        max_components = max_rank(self.moments.n_classes, self.moments.n_columns, self.components)
        if not 0 <= self.steps <= self.maxiter:
            raise InvalidStateError("its number of EM steps is negative or above its maximum")
        if not 0 <= self.tol < 1 or self.maxiter < 1 or not np.isfinite(self.log_marginal):
            raise InvalidStateError("its likelihood, tolerance or maximum number of steps is out of range")
        if (self.between < 0).any() or (np.diff(self.between) > 0).any() or self.rank > max_components:
            raise InvalidStateError("its variances between classes are negative or not in decreasing order")
        if not (self.scale > 0).all() or not np.isfinite(np.linalg.slogdet(self.axes)[1]):
            raise InvalidStateError("its scale is not positive, or its axes are linearly dependent")
        root = None if self.sphere is None else self.sphere.root
        if root is not None and (np.tril(root, -1).any() or not (np.diagonal(root) > 0).all()):
            raise InvalidStateError("its whitening root is not triangular with a positive diagonal")

    @property
    def rank(self) -> int:
        """Rank of B, the covariance between classes."""
        return int(np.count_nonzero(self.between))

    @property
    def n_axes(self) -> int:
        """Number r of axes on which classes differ: the rank of B, at least one."""
        return max(self.rank, 1)

    @property
    def normalize(self) -> bool:
        """Whether rows are normalized to the same length."""
        return self.sphere is not None

    def covariances(self) -> tuple[Floats, Floats]:
        """Return B and W (p, p), in the units of the columns or, with length normalization, of the sphere.

        Values out of the range of float64 become infinite or zero.
        """
        (between, within), unit = self._scaled_covariances(), 1 / self.scale
        with np.errstate(over="ignore", under="ignore"):
            return between * unit[:, None] * unit, within * unit[:, None] * unit

    def between_shares(self) -> Floats:
        """Return the share B_jj / (B_jj + W_jj) of the variance between classes for each column j, (p,)."""
        between, within = (np.diagonal(covariance) for covariance in self._scaled_covariances())
        return np.asarray(between / (between + within))

    def _scaled_covariances(self) -> tuple[Floats, Floats]:
        """Return B and W (p, p) of z = (x - origin) * scale, whose squares do not overflow."""
        inverse_axes = np.linalg.inv(self.axes)
        return (inverse_axes.T * self.between) @ inverse_axes, inverse_axes.T @ inverse_axes

    def coordinates(self, x: Floats) -> Floats:
        """Return the coordinates (m, r) of rows x (m, p) on the r = `n_axes` axes on which classes differ.

        Rows, in the units of the data, are normalized if the fit is, and the overall mean is subtracted.
        Coordinates have unit variance within classes.
        """
        x = x if self.sphere is None else self.sphere.normalize(x)
        z = standardize_columns(x, self.origin, self.scale) - self.mean[:, None]
        return np.asarray(z.T @ self.axes[:, : self.n_axes])

    def class_distributions(self) -> tuple[Floats, Floats]:
        """Return the means and variances (K, r) of y_k on the r = `n_axes` axes, given the training rows.

        Units are the units of `coordinates`: the overall mean is zero and the variance within classes one.
        """
        b = self.between[: self.n_axes]
        n = self.moments.counts[:, None]
        c = 1 / (1 + n * b)
        return n * b * c * self.class_places[:, : self.n_axes], b * c

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """Return the rule of the predictive densities of the classes.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.
        method : {"plugin"}
            Only "plugin" is supported.
        convention : str, optional
            Not used.

        Returns
        -------
        PLDARule
            Rule for rows in the units of the data, which it normalizes if the fit is normalized.

        Raises
        ------
        CoreNotSupportedError
            The method is not "plugin".
        """
        require_plugin_method(method, "is not defined for PLDA, whose one rule is predictive")
        means, variances = self.class_distributions()
        sd = np.sqrt(1 + variances)
        covariances = tuple(Covariance(sd_of_class, None) for sd_of_class in sd)
        distances = Distances(np.zeros_like(means), np.ones(self.n_axes), means, covariances)
        constant = log_prior - np.log(sd).sum(axis=1)
        return PLDARule(self.coordinates, GaussianRule(distances, constant, np.ones(len(sd))))

    def refit(self, moments: ClassMoments) -> PLDAFit | None:
        """Fit the same model, without length normalization, to other moments with the same prior.

        The result is None if a class has no rows, W is singular, or the weights do not exceed the classes.
        """
        if (moments.rows < 1).any() or not is_within_regular(moments):
            return None
        return fit_plda(moments, self.prior, **self.options())

    def options(self) -> dict[str, Any]:
        """Return the arguments `components`, `tol`, `maxiter` and `estimated_prior` of `fit_plda` by name."""
        names = ("components", "tol", "maxiter", "estimated_prior")
        return {name: getattr(self, name) for name in names}

    def llf(self) -> float:
        """Return the joint log-likelihood of classes and (normalized) rows, `log_marginal` plus log prior."""
        counts = self.moments.counts
        logs = log_of_prior(self.prior)
        return self.log_marginal + float(counts[counts > 0] @ logs[counts > 0])

    def df_model(self) -> int:
        """Return the number of free parameters of m, W, B of maximum rank and, if estimated, the prior."""
        k = self.moments.n_classes
        p = self.moments.n_columns
        r = max_rank(k, p, self.components)
        return p + p * (p + 1) // 2 + p * r - r * (r - 1) // 2 + (k - 1 if self.estimated_prior else 0)


@dataclass(frozen=True, slots=True)
class PLDARule:
    """Rule for rows, by the rule for their coordinates on the axes on which classes differ.

    Attributes
    ----------
    project : callable
        Maps rows (m, p) to coordinates (m, r).
    coordinate_rule : GaussianRule
        Rule for the coordinates.
    """

    project: Callable[[Floats], Floats]
    coordinate_rule: GaussianRule

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K), log prior plus log density up to a constant, of rows x (m, p) of data."""
        return self.coordinate_rule.scores(self.project(x))


def is_within_regular(moments: ClassMoments) -> bool:
    """Return whether the covariance within classes, of pooled moments, exists and is not singular.

    It exists if the weights sum to more than the number of classes.
    """
    return moments.total - moments.n_classes > 0 and not dependencies(moments)


def max_rank(n_classes: int, n_columns: int, requested: int | None = None) -> int:
    """Return the maximum rank of B, limited by the columns, the classes minus one, and the user's option.

    Parameters
    ----------
    n_classes, n_columns : int
        Numbers of classes and of columns.
    requested : int, optional
        Rank that the user specified.

    Returns
    -------
    int
        The smallest of `n_columns`, `n_classes - 1` and `requested`, if any.
    """
    return min(n_columns, n_classes - 1, n_columns if requested is None else requested)


class _SufficientStatistics(NamedTuple):
    """Sufficient statistics of the rows, in z.

    Attributes
    ----------
    counts : (K,) float
        Sums of the weights of the classes.
    means : (K, p) float
        Class means.
    within : Covariance
        Pooled scatter over N - K.
    total : float
        Number of rows, or sum of weights, N.
    """

    counts: Floats
    means: Floats
    within: Covariance
    total: float

    @classmethod
    def from_moments(cls, moments: ClassMoments) -> _SufficientStatistics:
        """Construct the statistics from pooled moments."""
        within = pooled_covariance(moments, moments.total - moments.n_classes)
        return cls(moments.counts, moments.means, within, moments.total)


class _PLDAEstimates(NamedTuple):
    """Estimates of m, T and b, in z = (x - origin) * scale.

    Attributes
    ----------
    mean : (p,) float
        Overall mean m.
    axes : (p, p) float
        T, whose columns are the axes: T'WT = I and T'BT = diag(between).
    between : (p,) float
        Variances b between classes on the axes, on which the variance within classes is one.
    """

    mean: Floats
    axes: Floats
    between: Floats


def _log_likelihood(statistics: _SufficientStatistics, estimates: _PLDAEstimates) -> float:
    """Return the log-likelihood of the rows, in z, conditional on their classes."""
    mean, axes, between = estimates
    n = statistics.counts[:, None]
    df = statistics.total - len(statistics.counts)
    d = (statistics.means - mean) @ axes
    relative_variances = 1 + n * between
    # log|det T| is -log|W| / 2.
    logs = -2 * statistics.total * np.linalg.slogdet(axes)[1] + np.log(relative_variances).sum()
    squares = df * ((statistics.within.root @ axes) ** 2).sum() + (n * d**2 / relative_variances).sum()
    return -0.5 * float(statistics.total * len(mean) * np.log(2 * np.pi) + logs + squares)


def fit_plda(
    moments: ClassMoments,
    prior: Floats,
    *,
    components: int | None = None,
    tol: float = TOL,
    maxiter: int = MAXITER,
    estimated_prior: bool = True,
    progress: Callable[[int], None] | None = None,
    normalization: tuple[LengthNormalization, ClassMoments] | None = None,
) -> PLDAFit:
    """Estimate a probabilistic linear discriminant analysis by maximum likelihood.

    Parameters
    ----------
    moments : ClassMoments
        Pooled, with a nonsingular covariance within classes.
    prior : (K,) float
        Prior probabilities of the classes.
    components : int, optional
        Maximum rank of B; by default the smaller of the columns and the classes minus one.
    tol : float
        EM ends when the remaining gain of the log-likelihood per row is smaller.
    maxiter : int
        Maximum number of steps of EM.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    progress : callable, optional
        Called with 1 after each step of EM.
    normalization : (LengthNormalization, ClassMoments), optional
        Length normalization, and moments of the normalized rows, to which the model is fitted.

    Returns
    -------
    PLDAFit
        `steps` is zero and `converged` True for classes of equal weight. `converged` is False if EM ended
        after `maxiter` steps.

    Examples
    --------
    >>> x = np.array([[0.0], [2.0], [6.0], [8.0], [1.0], [3.0]])
    >>> moments = ClassMoments.from_block(x, np.array([0, 0, 1, 1, 2, 2]), n_classes=3)
    >>> fit = fit_plda(moments, np.full(3, 1 / 3))
    >>> [covariance.round(9).tolist() for covariance in fit.covariances()]
    [[[5.888888889]], [[2.0]]]
    """
    sphere, fitted_moments = (None, moments) if normalization is None else normalization
    statistics = _SufficientStatistics.from_moments(fitted_moments)
    r = max_rank(fitted_moments.n_classes, fitted_moments.n_columns, components)
    is_balanced = bool((statistics.counts == statistics.counts[0]).all())
    estimates, singular_values = _estimates_of_balanced_classes(statistics, r, balanced=is_balanced)
    tie = tied_axes(singular_values**2, r) if estimates.between[r - 1] > 0 else None
    steps = 0
    converged = True
    if not is_balanced:
        estimates, steps, converged = _iterate_em(statistics, estimates, tol, maxiter, progress)
        is_negligible = estimates.between * statistics.counts.max() < MIN_VARIANCE_RATIO
        estimates = estimates._replace(between=np.where(is_negligible, 0.0, estimates.between))
    sd = np.sqrt((statistics.within.root**2).sum(axis=0))
    estimates = estimates._replace(axes=estimates.axes * positive_signs(estimates.axes * sd[:, None]))
    likelihood = _log_likelihood(statistics, estimates) + float(
        fitted_moments.total * np.log(fitted_moments.scale).sum()
    )
    return PLDAFit(
        moments, prior, estimated_prior, components, tol, maxiter,
        fitted_moments.origin, fitted_moments.scale, *estimates,
        (statistics.means - estimates.mean) @ estimates.axes, likelihood, steps, converged, sphere, tie,
    )  # fmt: skip


def _estimates_of_balanced_classes(
    statistics: _SufficientStatistics, r: int, *, balanced: bool
) -> tuple[_PLDAEstimates, Floats]:
    """Compute the estimates for classes of equal size; for other classes, the start of EM at a typical size.

    For the start of EM the first r variances between classes are positive, because EM keeps zeros.

    Parameters
    ----------
    statistics : _SufficientStatistics
        Sufficient statistics of the rows.
    r : int
        Maximum rank of B.
    balanced : bool
        Whether the classes have equal sizes.

    Returns
    -------
    estimates : _PLDAEstimates
        With at most r positive variances between classes; exactly r if the classes are not balanced.
    singular_values : (min(p, K),) float
        Singular values of the class means about their mean, whitened by the covariance within classes.
    """
    n = statistics.counts
    k = len(statistics.counts)
    total = statistics.total
    typical_count = (total - float((n**2).sum()) / total) / (k - 1)
    mean = statistics.means.mean(axis=0)
    whitened = statistics.within.whiten((statistics.means - mean).T)
    left_vectors, singular_values, _ = np.linalg.svd(whitened, full_matrices=len(whitened) > k)
    variance_ratios = np.zeros(len(whitened))
    variance_ratios[: len(singular_values)] = typical_count * singular_values**2 / k
    is_positive = (np.arange(len(variance_ratios)) < r) & ((variance_ratios > 1) | (not balanced))
    within = np.where(is_positive, 1.0, ((total - k) + k * variance_ratios) / total)
    min_ratio = 1.0 if balanced else 1.0 + MIN_START_VARIANCE
    between = np.where(is_positive, (np.maximum(variance_ratios, min_ratio) - 1) / typical_count, 0.0)
    return _PLDAEstimates(
        mean, statistics.within.unwhiten(left_vectors) / np.sqrt(within), between
    ), singular_values


def _iterate_em(
    statistics: _SufficientStatistics,
    estimates: _PLDAEstimates,
    tol: float,
    maxiter: int,
    progress: Callable[[int], None] | None,
) -> tuple[_PLDAEstimates, int, bool]:
    """Iterate EM to convergence.

    Parameters
    ----------
    statistics : _SufficientStatistics
        Sufficient statistics of the rows.
    estimates : _PLDAEstimates
        Start.
    tol : float
        Remaining gain of the log-likelihood per row at which iterations end.
    maxiter : int
        Maximum number of steps.
    progress : callable, optional
        Called with 1 after each step.

    Returns
    -------
    estimates : _PLDAEstimates
        After the last step.
    steps : int
        Number of steps.
    converged : bool
        False if EM ended after `maxiter` steps.
    """
    likelihood = _log_likelihood(statistics, estimates)
    previous_gain = np.inf
    for step in range(1, maxiter + 1):
        estimates = _em_step(statistics, estimates)
        gain = _log_likelihood(statistics, estimates) - likelihood
        likelihood += gain
        rate = gain / previous_gain if 0 < gain < previous_gain else 0.0
        previous_gain = gain
        if progress is not None:
            progress(1)
        if gain / (1 - rate) < tol * statistics.total:
            return estimates, step, True
    return estimates, maxiter, False


def _em_step(statistics: _SufficientStatistics, estimates: _PLDAEstimates) -> _PLDAEstimates:
    """Compute one step of EM from current estimates, and diagonalize the new covariances.

    Parameters
    ----------
    statistics : _SufficientStatistics
        Sufficient statistics of the rows.
    estimates : _PLDAEstimates
        Current estimates.

    Returns
    -------
    _PLDAEstimates
        Variances between classes of zero stay zero.
    """
    n = statistics.counts[:, None]
    df = statistics.total - len(statistics.counts)
    r = int(np.count_nonzero(estimates.between))
    axes = estimates.axes
    between = estimates.between
    means = statistics.means @ axes
    relative_variances = 1 + n * between
    weights = n / relative_variances
    centre = (weights * means).sum(axis=0) / weights.sum(axis=0)
    d = means - centre
    h = weights[:, :r] * np.sqrt(between[:r]) * d[:, :r]
    # Expected sums over classes of n hh' and of hh'.
    by_rows = (h.T * statistics.counts) @ h + np.diag(weights[:, :r].sum(axis=0))
    by_classes = h.T @ h + np.diag((1 / relative_variances[:, :r]).sum(axis=0))
    products = (n * d).T @ h
    v = np.linalg.solve(by_rows, products.T).T
    root = statistics.within.root @ axes
    within = (df * root.T @ root + (n * d).T @ d - v @ products.T) / statistics.total
    lower_root = np.linalg.cholesky((within + within.T) / 2)
    v = v @ np.linalg.cholesky(by_classes / len(statistics.counts))
    left_vectors, singular_values, _ = np.linalg.svd(scipy.linalg.solve_triangular(lower_root, v, lower=True))
    variances = np.zeros_like(between)
    variances[:r] = singular_values**2
    return _PLDAEstimates(
        np.linalg.solve(axes.T, centre),
        axes @ scipy.linalg.solve_triangular(lower_root.T, left_vectors),
        variances,
    )


class RowSets(NamedTuple):
    """Sets of rows that are compared in pairs, to decide whether a pair belongs to the same class.

    Attributes
    ----------
    sizes : (G,) float
        Numbers of rows of the sets.
    means : (G, r) float
        Means of the coordinates of each set on the axes on which classes differ. On each axis the overall
        mean is zero and the variance within classes is one.
    """

    sizes: Floats
    means: Floats


def compute_row_sets(coordinates: Floats, codes: Codes, n_sets: int) -> RowSets:
    """Compute the sizes and means of sets of rows.

    Parameters
    ----------
    coordinates : (m, r) float
        Coordinates of the rows on the axes, with an overall mean of zero and variance one within classes.
    codes : (m,) int
        Set of each row.
    n_sets : int
        Number of sets.

    Returns
    -------
    RowSets
        A set without rows has a mean of zero.
    """
    sizes = np.bincount(codes, minlength=n_sets).astype(np.float64)
    sums = np.zeros((n_sets, coordinates.shape[1]))
    np.add.at(sums, codes, coordinates)
    return RowSets(sizes, sums / np.where(sizes > 0, sizes, 1.0)[:, None])


def paired_log_ratios(between: Floats, first: RowSets, second: RowSets) -> Floats:
    """Compute (natural) log-likelihood ratios of one class against two, for each of G pairs of sets.

    Parameters
    ----------
    between : (r,) float
        Variances between classes on the axes, relative to the variance within classes.
    first, second : RowSets
        G sets each; sets at the same position are compared.

    Returns
    -------
    (G,) float
        Positive if the sets of a pair rather belong to the same class.

    Examples
    --------
    >>> one = RowSets(np.ones(2), np.array([[2.0], [2.0]]))
    >>> other = RowSets(np.ones(2), np.array([[2.0], [-2.0]]))
    >>> paired_log_ratios(np.array([3.0]), one, other).round(4).tolist()
    [0.8419, -2.5867]
    """
    a, t, v = _conditional_distributions(between, first.sizes[:, None], second.sizes[:, None])
    residuals = second.means - a * first.means
    return np.asarray(0.5 * (np.log(t / v) + second.means**2 / t - residuals**2 / v).sum(axis=1))


def all_log_ratios_matrix(between: Floats, first: RowSets, second: RowSets) -> Floats:
    """Compute (natural) log-likelihood ratios of one class against two, for every pair of two lists of sets.

    Parameters
    ----------
    between : (r,) float
        Variances between classes on the axes, relative to the variance within classes.
    first : RowSets
        G sets.
    second : RowSets
        H sets.

    Returns
    -------
    (G, H) float
        Positive if the sets rather belong to the same class.
    """
    all_log_ratios = np.empty((len(first.sizes), len(second.sizes)))
    for n in np.unique(first.sizes):
        for m in np.unique(second.sizes):
            rows = first.sizes == n
            columns = second.sizes == m
            x = first.means[rows]
            y = second.means[columns]
            a, t, v = _conditional_distributions(between, n, m)
            ratios: Floats = (x * (a / v)) @ y.T
            ratios -= 0.5 * (x**2 @ (a**2 / v))[:, None]
            ratios += 0.5 * (np.log(t / v).sum() + y**2 @ (1 / t - 1 / v))
            if rows.all() and columns.all():
                return ratios
            all_log_ratios[np.ix_(rows, columns)] = ratios
    return all_log_ratios


def _conditional_distributions(
    between: Floats, n: Floats | float, m: Floats | float
) -> tuple[Floats, Floats, Floats]:
    """Return the conditional distribution of the mean of m rows given the mean of n rows, on each axis.

    Parameters
    ----------
    between : (r,) float
        Variances between classes on the axes, relative to the variance within classes.
    n, m : float or (G, 1) float
        Numbers of rows.

    Returns
    -------
    slope : (r,) or (G, r) float
        Slope on the mean of the n rows, if both sets are of the same class.
    variance_two_classes, variance_one_class : (r,) or (G, r) float
        Conditional variances if the sets are of two classes, and if they are of one class.
    """
    c = 1 / (1 + n * between)
    return n * between * c, between + 1 / m, between * c + 1 / m
