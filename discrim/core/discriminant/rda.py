"""Estimates of a regularized discriminant analysis, the function that fits them, and rules of many pairs.

`fit_rda` fits one pair of alpha and gamma. `path_rules` computes the rules of a grid of pairs, from which
cross-validation chooses.

*Mixtures.* The covariance of a class is a combination of its own S_k, the pooled S and the identity:

    Sigma_k = o_k S_k + c_k S + r_k I.

Hastie, Tibshirani & Friedman (2009, The Elements of Statistical Learning, eq. 4.13 and 4.14): o = alpha, c
= (1 - alpha) gamma, r = (1 - alpha)(1 - gamma) s2 with s2 = tr(S)/p, so the ridge acts on the pooled
part only. Friedman (1989, JASA 84, 165-175), with lambda = 1 - alpha and W_k, W the divisors of S_k and S,
mixes sums of squares, o_k = (1 - lambda) W_k/D_k, c_k = lambda W/D_k, D_k = (1 - lambda) W_k + lambda W,
and then replaces the share gamma of the mixture by gamma times its average variance. klaR mixes covariances,
o = 1 - lambda, c = lambda, and continues as Friedman.

*More columns than rows.* The mixture of thin roots is computed on the span of their rows; in the orthogonal
complement it is the ridge, and no p x p matrix is formed.

*Digits.* If roots of the scatters are available, the root of a mixture is the triangle of the stacked roots
and nothing is squared. Otherwise the scatters are well-conditioned or the ridge is a substantial part of
the mixture (see `needs_roots`), and the Cholesky factor of the mixture is accurate.

*Many pairs of alpha and gamma.* All pairs that share a decomposition are scored together. Friedman's and
klaR's mixture at an alpha is M_k = U L U', and (1 - gamma) M_k + gamma tr(M_k)/p I is U [(1 - gamma) L +
gamma tr(L)/p] U' for every gamma: one eigendecomposition for each class and alpha. In ESL's parametrization
gamma changes the pooled part relative to the class's own, and for 0 < alpha < 1 two values of gamma have
different eigenvectors. Values of alpha share them: with beta = 1 - alpha and T = gamma S + (1 - gamma) s2 I,

    Sigma_k = alpha S_k + beta T,   S = V E V',   T = V D V',   D = gamma E + (1 - gamma) s2,
    D^-1/2 V' S_k V D^-1/2 = Z L Z',   e = Z' D^-1/2 V'd,   D2 = sum_j e_j^2 / (alpha l_j + beta)

for the deviation d of a row. One decomposition for each class and gamma serves every alpha, and the
decomposition of S every T. At alpha = 1 there is one rule, with covariances S_k. If a class has few rows,
S_k = F'F with F (r, p) of as many rows as the class has degrees of freedom, and with A = F V D^-1/2,
A A' = Z L Z', e = Z'A D^-1/2 V'd (Woodbury's identity),

    D2 = (|D^-1/2 V'd|^2 - sum_j alpha e_j^2 / (alpha l_j + beta)) / beta,
    ln|Sigma_k| = ln|T| + (p - r) ln beta + sum_j ln(alpha l_j + beta):

decompositions are of r x r matrices. The difference loses the digits of (alpha l + beta)/beta, which is
limited here; above the limit the p x p decomposition is used. The eigenvalues of an ill-conditioned scatter
are inaccurate, which a ridge prevents. Without a ridge the rule does not depend on the units of the columns,
and these are divided by standard deviations. A pair that is still ill-conditioned is fitted from roots by
`fit_rda`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from discrim.core.covariance.covariance import (
    Covariance,
    Dependency,
    divisors_by_class,
    is_singular,
    scaled_cholesky,
)
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    no_likelihood_error,
)
from discrim.core.covariance.principal import ThinCovariance, marginal_covariance
from discrim.core.covariance.projected import SubspaceCovariance
from discrim.core.discriminant import leave_one_out_rda
from discrim.core.discriminant.leave_one_out_rda import MixingScatters, Parametrization, Regularization
from discrim.core.errors import NoEstimateError, SingularEstimateError
from discrim.core.moments.derived_moments import limit_scales, standardize_moments, standardized_leave_one_out
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import triangular_root
from discrim.core.numerics.arrays import EPS, Codes, Floats, svd
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import Rule, require_plugin_method

MAX_SINGULAR_RESIDUAL = 1e-13
"""Residual of a column on earlier ones, relative to its length, at or below which a mixture is singular."""

MIN_ACCURATE_RIDGE = 1e-2
"""Share of the ridge in a mixture at or above which scatters are as accurate as their roots."""


@dataclass(frozen=True, slots=True, eq=False)
class RDAFit:
    """Estimates of a regularized discriminant analysis.

    Attributes
    ----------
    moments : ClassMoments
        By class.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    alpha, gamma : float
        Regularization parameters, in [0, 1].
    parametrization : {"esl", "friedman", "klar"}
        Definition of the weights of the mixture in terms of alpha and gamma.
    method : {"moment", "mle"}
        Divisors n_k - 1 and N - K, or n_k and N.
    covariances : tuple of K Covariance
        In the coordinates of the moments. A singular covariance computed from thin roots is replaced by a
        zero (1, 1).
    cv : int, "loo" or None
        Number of folds, or leave-one-out, by which alpha and gamma were chosen; None if the user specified
        them.
    select : str
        Rule that chose the pair from the errors of `cv`, for example "min" for the smallest error. It has no
        meaning if `cv` is None.
    standardize : bool
        Whether the ridge refers to columns divided by their standard deviations within classes, or the
        principal axes to columns divided by their standard deviations.
    subspace_model : SubspaceCovariance, optional
        The principal axes on which classes are compared; its inner model is a `RegularizedCovariance`.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    alpha: float
    gamma: float
    parametrization: Parametrization
    method: str
    covariances: tuple[Covariance, ...]
    cv: int | str | None = None
    select: str = "min"
    standardize: bool = False
    subspace_model: SubspaceCovariance | None = None

    has_distances = False

    @property
    def chosen_components(self) -> dict[str, Any]:
        """{"n": number of axes} if cross-validation or leave-one-out chose it; else an empty dict."""
        axes = self.subspace_model
        return {"n": axes.count} if axes is not None and axes.is_chosen else {}

    @property
    def components(self) -> int | None:
        """Number of principal axes on which the rule is fitted; None if it is fitted to all columns."""
        return None if self.subspace_model is None else self.subspace_model.count

    @property
    def components_by(self) -> str | None:
        """Method "cv" or "loo" that chose the number of principal axes, else None."""
        requested = None if self.subspace_model is None else self.subspace_model.options
        return requested if isinstance(requested, str) else None

    @property
    def ridged(self) -> bool:
        """Whether the identity has positive weight in the mixture.

        This requires alpha and gamma below one for "esl", and gamma above zero for other parametrizations.
        """
        if self.parametrization == "esl":
            return self.alpha < 1 and self.gamma < 1
        return self.gamma > 0

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """Return the decision rule under a prior.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.
        method : {"plugin", "predictive"}
            "predictive" requires alpha 0 or 1 and no ridge: only then the sampling distribution of the
            covariances has a closed form.
        convention : str, optional
            Has to be None for "predictive".

        Returns
        -------
        Rule
            For "plugin", linear if alpha is zero, else quadratic.

        Raises
        ------
        CoreNotSupportedError
            The method is neither "plugin" nor "predictive", or "predictive" without its conditions.
        """
        if method == "predictive" and self.alpha in (0, 1) and not self.ridged and convention is None:
            return self.predictive(log_prior)
        require_plugin_method(
            method, "has a closed form only for covariances that are neither mixed nor shrunken"
        )
        if self.alpha == 0:
            # With one covariance the rule is linear; quadratic terms would cancel in differences of scores.
            return gaussian.linear_rule(self.moments, self.covariances[0], log_prior)
        return gaussian.class_plugin_rule(self.moments, self.covariances, log_prior)

    def predictive(self, log_prior: Floats, keep: Codes | None = None) -> Rule:
        """Return the predictive rule of the unbiased covariances: by class if alpha is one, else pooled.

        It is valid for alpha 0 or 1 without a ridge only.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.
        keep : (q,) int, optional
            Positions of the columns that the rule uses; by default all.

        Returns
        -------
        Rule
            Predictive rule of the columns `keep`, with a common covariance unless alpha is one.
        """
        counts = self.moments.counts
        moments = self.moments
        n_dropped = 0
        divisors = divisors_by_class(counts, self.method)
        nu = float((counts - 1).sum())
        df_ratios = (counts - 1) / divisors if self.alpha == 1 else [nu / divisors.sum()]
        unbiased_covariances = tuple(
            covariance.divided_by(float(f))
            for covariance, f in zip(self.covariances, df_ratios, strict=False)
        )
        if keep is not None:
            n_dropped = moments.n_columns - len(keep)
            moments = gaussian.diagonal_moments_of_columns(moments, keep)
            unbiased_covariances = tuple(
                marginal_covariance(covariance, keep) for covariance in unbiased_covariances
            )
        if self.alpha == 1:
            return gaussian.class_predictive_rule(
                moments, unbiased_covariances, log_prior, n_dropped=n_dropped
            )
        return gaussian.pooled_predictive_rule(
            moments, unbiased_covariances[0], log_prior, nu, n_dropped=n_dropped
        )

    def refit(self, moments: ClassMoments) -> RDAFit | None:
        """Fit the same model to other moments with the same prior, alpha and gamma.

        A number of axes that "cv" or "loo" chose is kept. The result is None if the weights of a class sum to
        one or less, or a covariance is singular or does not exist.
        """
        if classes_without_covariance(moments):
            return None
        try:
            fit = self.fit_to_moments(moments, self.subspace_model and self.subspace_model.for_refit())
        except NoEstimateError:
            return None
        return None if fit.find_singular_classes() else fit

    def fit_to_moments(self, moments: ClassMoments, subspace_model: SubspaceCovariance | None) -> RDAFit:
        """Fit the same model to other moments, on principal axes if `subspace_model` is not None.

        A covariance of the result may be singular. Raises NoEstimateError if there are fewer principal axes
        than requested, or covariances on them do not exist.
        """
        return fit_rda(
            moments,
            self.prior,
            alpha=self.alpha,
            gamma=self.gamma,
            parametrization=self.parametrization,
            method=self.method,
            estimated_prior=self.estimated_prior,
            standardize=self.standardize,
            subspace_model=subspace_model,
        )

    def find_singular_classes(self) -> list[int]:
        """Return the positions of the classes whose covariance is singular by `is_singular`.

        A `ThinCovariance` counts as regular.
        """
        return [
            k
            for k, covariance in enumerate(self.covariances)
            if not isinstance(covariance, ThinCovariance)
            and is_singular(covariance.root, self.moments, MAX_SINGULAR_RESIDUAL)
        ]

    def leave_one_out_scorer(self, log_prior: Floats) -> LeaveOneOutScorer:
        """Return a function of rows that scores each row by the rule, under `log_prior` (K,), without it.

        Scores are NaN for rows that require a refit. Raises CoreNotSupportedError for a fit on principal axes
        if computing the axes without each row would take too long.
        """
        if self.subspace_model is not None:
            divisors = divisors_by_class(self.moments.counts, self.method)
            return self.subspace_model.leave_one_out_scorer(
                NormalClasses(self.moments, self.covariances, divisors, log_prior)
            )
        if self.standardize:
            unstandardized = replace(self, standardize=False)
            return standardized_leave_one_out(
                self.moments,
                lambda moments: replace(unstandardized, moments=moments).leave_one_out_scorer(log_prior),
            )
        return leave_one_out_rda.rda_leave_one_out_scorer(
            self.moments, Regularization(self.alpha, self.gamma), self.parametrization, self.method, log_prior
        )

    def llf(self) -> float:
        """Return the joint log-likelihood of classes and rows at the estimates, which do not maximize it.

        The density is in the units of the data.

        Raises CoreNotSupportedError for a fit on principal axes.
        """
        if self.subspace_model is not None:
            raise no_likelihood_error(self.subspace_model.name)
        moments = self.moments
        n = self.moments.counts
        with np.errstate(divide="ignore"):
            classes = float(n @ np.log(self.prior))
        units = 2.0 * np.log(moments.scale).sum()
        total = 0.0
        for k, covariance in enumerate(self.covariances):
            if moments.roots is not None:
                squares = float((covariance.whiten(moments.roots[k].T) ** 2).sum())
            else:
                squares = float((covariance.inverse * (moments.scatters[k] @ covariance.inverse)).sum())
            size = covariance.logdet - units + moments.n_columns * np.log(2 * np.pi)
            total += float(n[k]) * size + squares
        return classes - 0.5 * total


def rda_marginal_rule(fit: RDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """Return the rule that uses only a subset of the columns of a fit, which is not refitted.

    Parameters
    ----------
    fit : RDAFit
        Fit with all columns.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    method : {"plugin", "predictive"}
        A method that the rule of all columns supports.
    keep : (q,) int
        Positions of the columns.

    Returns
    -------
    Rule
        For rows of the q columns, in the units of the data.
    """
    if method == "predictive":
        return fit.predictive(log_prior, keep)
    column_moments = gaussian.diagonal_moments_of_columns(fit.moments, keep)
    covariances = tuple(marginal_covariance(covariance, keep) for covariance in fit.covariances)
    if fit.alpha == 0:
        return gaussian.linear_rule(column_moments, covariances[0], log_prior)
    return gaussian.class_plugin_rule(column_moments, covariances, log_prior)


def classes_without_covariance(moments: ClassMoments) -> list[int]:
    """Return the positions of the classes whose weights sum to one or less, up to rounding errors.

    Such a class has no covariance.
    """
    return np.flatnonzero(moments.counts <= 1 + len(moments.counts) * EPS * moments.counts.sum()).tolist()


def needs_roots(pairs: Iterable[Regularization], parametrization: Parametrization) -> bool:
    """Return whether roots of ill-conditioned scatters are required because any pair has a small ridge.

    A ridge is small if its share, gamma or for "esl" (1 - alpha) (1 - gamma), is less than
    `MIN_ACCURATE_RIDGE`.
    """
    if parametrization == "esl":
        return any((1 - pair.alpha) * (1 - pair.gamma) < MIN_ACCURATE_RIDGE for pair in pairs)
    return any(pair.gamma < MIN_ACCURATE_RIDGE for pair in pairs)


def fit_rda(
    moments: ClassMoments,
    prior: Floats,
    *,
    alpha: float,
    gamma: float,
    parametrization: Parametrization = "esl",
    method: str = "moment",
    estimated_prior: bool = True,
    cv: int | str | None = None,
    select: str = "min",
    standardize: bool = False,
    subspace_model: SubspaceCovariance | None = None,
) -> RDAFit:
    """Fit a regularized discriminant analysis.

    Parameters
    ----------
    moments : ClassMoments
        Moments by class, for which `classes_without_covariance` is empty.
    prior : (K,) float
        Prior probabilities of the classes.
    alpha, gamma : float
        Regularization parameters.
    parametrization : {"esl", "friedman", "klar"}
        Definition of the weights of the mixture in terms of alpha and gamma.
    method : {"moment", "mle"}
        Divisors n_k - 1 and N - K, or n_k and N.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows; only stored.
    cv, select
        Folds or method of cross-validation, and rule that selected alpha and gamma; only stored.
    standardize : bool
        Whether the ridge refers to columns divided by their standard deviations within classes. With
        `subspace_model`, which has its own option, it is only stored.
    subspace_model : SubspaceCovariance, optional
        Principal axes to whose scores the model is fitted, with a `RegularizedCovariance` as inner model,
        which contains the alpha and gamma that are used.

    Returns
    -------
    RDAFit
        A covariance may be singular: `RDAFit.find_singular_classes` returns such classes.

    Raises
    ------
    NoEstimateError
        There are fewer principal axes than requested, or covariances on them do not exist.
    """
    if subspace_model is not None:
        estimates = subspace_model.estimate(moments, divisors_by_class(moments.counts, method))
        covariances = estimates.covariances * (moments.n_classes // len(estimates.covariances))
        options = alpha, gamma, parametrization, method, covariances, cv, select, standardize
        axes = estimates.covariance_model.subspace or subspace_model
        return RDAFit(estimates.moments, prior, estimated_prior, *options, subspace_model=axes)
    p = moments.n_columns
    divisors = divisors_by_class(moments.counts, method)
    # Moments in the units to which the identity refers.
    unit_moments = standardize_moments(moments) if standardize else limit_scales(moments)
    unit = unit_moments.common_unit
    squares = (unit_moments.squares * unit * unit).sum(axis=1)
    mixture = leave_one_out_rda.regularized_mixture(
        parametrization,
        Regularization(alpha, gamma),
        divisors,
        squares / divisors / p,
        squares.sum() / divisors.sum() / p,
    )
    if not standardize:
        # Without a ridge the scales of the columns do not matter, and each keeps its own.
        moments = unit_moments = unit_moments if mixture[2].any() else moments
    # Convert the weights of the covariances to coefficients of the scatters.
    coefficients = mixture[0] / divisors, mixture[1] / divisors.sum(), mixture[2]
    mix = _thin_mixed_covariances if moments.scatter_type == "thin class" else _mixed_covariances
    covariances = mix(unit_moments, *coefficients)
    choice = cv, select, standardize
    return RDAFit(
        moments, prior, estimated_prior, alpha, gamma, parametrization, method, covariances, *choice
    )


@dataclass(frozen=True, slots=True)
class RegularizedCovariance(CovarianceModel):
    """Covariance model of regularized covariances of scores on principal axes.

    Attributes
    ----------
    pair : Regularization
        Values of alpha and gamma.
    parametrization : {"esl", "friedman", "klar"}
        Definition of the mixture.
    method : {"moment", "mle"}
        Divisors n_k - 1 and N - K, or n_k and N.
    """

    pair: Regularization
    parametrization: Parametrization
    method: str

    name = "regularized"
    traits = CovarianceTraits(is_regular=True)

    def dependent_columns(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return an empty list for any moments, because `estimate` raises an error for singular mixtures."""
        return []

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the mixed covariances of the classes.

        Parameters
        ----------
        moments : ClassMoments
            Moments of the scores on principal axes, by class.
        divisors : (K,) float
            Not used: `method` determines the divisors.

        Returns
        -------
        CovarianceEstimates
            With one covariance if alpha is zero, else one for each class. The model is unchanged.

        Raises
        ------
        SingularEstimateError
            The weights of a class sum to one or less, or a covariance is singular.
        """
        if lone := classes_without_covariance(moments):
            raise _singular_scores_error(moments, lone[0])
        fit = fit_rda(
            moments,
            np.ones(moments.n_classes),
            alpha=self.pair.alpha,
            gamma=self.pair.gamma,
            parametrization=self.parametrization,
            method=self.method,
        )
        if singular := fit.find_singular_classes():
            raise _singular_scores_error(moments, singular[0])
        return CovarianceEstimates(
            self, fit.moments, fit.covariances[:1] if self.pair.alpha == 0 else fit.covariances
        )

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return the closed-form leave-one-out scorer, with alpha and gamma of the fit to all rows.

        Only moments and log prior of `fitted` are used. Scores are NaN for rows that require a refit.
        """
        options = self.pair, self.parametrization, self.method, fitted.log_prior
        return leave_one_out_rda.rda_leave_one_out_scorer(fitted.moments, *options)


def _mixed_covariances(
    moments: ClassMoments, class_coefs: Floats, pooled_coefs: Floats, ridge: Floats
) -> tuple[Covariance, ...]:
    """Compute the covariances class_coefs_k W_k + pooled_coefs_k W + ridge_k I of the classes.

    Parameters
    ----------
    moments : ClassMoments
        Moments with the scatters W_k by class; W is their sum.
    class_coefs, pooled_coefs, ridge : (K,) float
        Coefficients; the ridge is in units of the `common_unit` of the moments.

    Returns
    -------
    tuple of K Covariance
        In the coordinates of the moments. The root of a singular covariance is stored as it is, or is zero if
        the Cholesky factorization fails.
    """
    pooled_moments = moments.pool_classes()
    covariances = []
    for k in range(moments.n_classes):
        sphere = np.diag(np.sqrt(ridge[k]) / moments.common_unit) if ridge[k] else 0.0 * moments.scale[None]
        if moments.roots is not None and pooled_moments.roots is not None:
            root_blocks = [
                np.sqrt(class_coefs[k]) * moments.roots[k],
                np.sqrt(pooled_coefs[k]) * pooled_moments.roots[0],
                sphere,
            ]
            root = triangular_root(np.concatenate(root_blocks))
        else:
            matrix = (
                class_coefs[k] * moments.scatters[k]
                + pooled_coefs[k] * pooled_moments.scatters[0]
                + sphere**2
            )
            root = np.zeros_like(matrix)
            if (np.diagonal(matrix) > 0).all():
                with suppress(np.linalg.LinAlgError):
                    root = scaled_cholesky(matrix)
        # A singular root is stored as it is; `RDAFit.find_singular_classes` finds it.
        singular = is_singular(root, pooled_moments, MAX_SINGULAR_RESIDUAL)
        covariances.append(Covariance(root, None) if singular else Covariance.from_root(root))
    return tuple(covariances)


def _thin_mixed_covariances(
    moments: ClassMoments, class_coefs: Floats, pooled_coefs: Floats, ridge: Floats
) -> tuple[Covariance, ...]:
    """Compute the covariances class_coefs_k W_k + pooled_coefs_k W + ridge_k I from thin roots of W_k.

    Parameters
    ----------
    moments : ClassMoments
        Moments with thin roots by class.
    class_coefs, pooled_coefs, ridge : (K,) float
        Coefficients; the ridge is in units of the `common_unit` of the moments.

    Returns
    -------
    tuple of K Covariance
        `ThinCovariance` in the coordinates of the moments; a zero (1, 1) instead of a singular covariance.
    """
    unit = moments.common_unit
    roots = np.asarray(moments.roots) * unit
    pooled_root = np.asarray(moments.pool_classes().roots)[0] * unit
    basis, lower = np.linalg.qr(pooled_root.T)
    covariances: list[Covariance] = []
    for k, root in enumerate(roots):
        rows = np.concatenate([np.sqrt(class_coefs[k]) * root @ basis, np.sqrt(pooled_coefs[k]) * lower.T])
        _, singular_values, right_vectors = svd(rows, full_matrices=False)
        sphere = float(ridge[k])
        if not sphere > (MAX_SINGULAR_RESIDUAL * singular_values[0]) ** 2:
            covariances.append(Covariance(np.zeros((1, 1)), None))
            continue
        axes = right_vectors @ basis.T
        sd = np.sqrt(singular_values**2 + sphere)[:, None]
        covariance = ThinCovariance(
            sd * axes / unit, (axes / sd * unit).T, axes, unit, float(np.sqrt(sphere))
        )
        covariances.append(covariance)
    return tuple(covariances)


MIN_EIGENVALUE_RATIO = 1e-7
"""Ratio of smallest to largest eigenvalue above which a scatter is decomposed without roots."""

MAX_CHUNK_ELEMENTS = 2**18
"""Number of array elements up to which rows are scored, and training parts decomposed, together."""

MAX_AXES_ELEMENTS = 2**24
"""Maximum number of elements of the eigenvectors of one `PathRule`."""

MIN_COLUMNS_FOR_THIN = 32
"""Number of columns at or above which decompositions of the size of a class's rows are faster."""

MAX_RANK_FOR_THIN = 0.7
"""Maximum degrees of freedom, as a proportion of the columns, of a class that is decomposed in this way."""

MAX_CANCELLATION = 1e4
"""Maximum ratio of the first term of a distance that is computed as a difference to the distance."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassPath:
    """Squared distances from one class in F training parts, under A mixtures on each of B sets of axes.

    With y (p,) the coordinates of the deviation of a row from the class mean and e_b = rotations_b' factor
    (scale_b y) (r,), the squared distance is weights_ba'e_b^2 + unmixed_weights_ba'y^2.

    Attributes
    ----------
    scale : (F, B, p) float
        Factors of the coordinates y.
    factor : (F, r, p) float, optional
        Root of the class covariance, if it has few rows; by default the identity.
    rotations : (F, B, r, r) float
        Eigenvectors, in columns.
    weights : (F, B, A, r) float
        Weights of the squared coordinates on the eigenvectors.
    unmixed_weights : (F, B, A, p) float, optional
        Weights of the squared coordinates y; by default zero.
    logdet : (F, B, A) float
        Log-determinants of the mixtures, in the units of their scatters.
    """

    scale: Floats
    factor: Floats | None
    rotations: Floats
    weights: Floats
    unmixed_weights: Floats | None
    logdet: Floats

    def distances(self, y: Floats) -> Floats:
        """Return the squared distances (F, B A, m) of m deviations with coordinates y (F, p, m).

        Mixture a on the axes b is at position b A + a. The coordinates are `PathRule.basis` times z - m_k.
        """
        scaled = y[:, None] * self.scale[..., None]
        if self.factor is not None:
            scaled = self.factor[:, None] @ scaled
        e = np.swapaxes(self.rotations, 2, 3) @ scaled
        e *= e
        squared_distances = self.weights @ e
        if self.unmixed_weights is not None:
            squared_distances += self.unmixed_weights @ (y * y)[:, None]
        return squared_distances.reshape(len(y), -1, y.shape[2])


@dataclass(frozen=True, slots=True, eq=False)
class PathRule:
    """Rules of G pairs of alpha and gamma that share decompositions, in each of F training parts.

    Attributes
    ----------
    parts : (F,) int
        Positions of the training parts among all parts.
    pairs : (G,) int
        Positions of the pairs among all pairs.
    cells : (G,) int
        Position of the mixture of each pair among the B x A mixtures of a `ClassPath`.
    moments : tuple of F ClassMoments
        Means and scale of the rules.
    basis : (F, p, p) float, optional
        Matrix that maps deviations z - m_k to the coordinates y; by default the identity.
    classes : tuple of K ClassPath
        Distances from each class.
    constants : (F, K, G) float
        ln prior_k - ln|Sigma_k|/2; NaN if a pair has no rule in a part.
    """

    parts: Codes
    pairs: Codes
    cells: Codes
    moments: tuple[ClassMoments, ...]
    basis: Floats | None
    classes: tuple[ClassPath, ...]
    constants: Floats

    def scores(self, x: Floats) -> Iterator[Floats]:
        """Yield K arrays: the scores (F, G, m) of rows x (F, m, p) for each class in turn.

        Axes are training parts, pairs and rows. Rows are in the units of the means of `moments`, not
        multiplied by the scale. A score is the log prior plus the log density up to a constant; NaN if a pair
        has no rule in a part.
        """
        centres = np.stack([moments.centres for moments in self.moments])[..., None]
        centre_errors = np.stack([moments.rests for moments in self.moments])[..., None]
        scale = np.stack([moments.scale for moments in self.moments])[..., None]
        unscaled = bool((scale == 1).all())
        for k, path in enumerate(self.classes):
            z = np.subtract(np.swapaxes(x, 1, 2), centres[:, k], order="C")
            z = z if unscaled else np.multiply(z, scale, out=z)
            z -= centre_errors[:, k]
            scores = path.distances(z if self.basis is None else self.basis @ z)
            if not np.array_equal(self.cells, np.arange(scores.shape[1])):
                scores = scores[:, self.cells]
            scores *= -0.5
            scores += self.constants[:, k, :, None]
            yield scores


def count_misclassified(rule: PathRule, x: Floats, codes: Codes, weights: Floats | None = None) -> Floats:
    """Count the test rows of each class that each rule misclassifies.

    Parameters
    ----------
    rule : PathRule
        Rules of several pairs in several training parts.
    x : (P, m, p) float
        Test rows for each of all P training parts, in the units of the means of `rule.moments`.
    codes : (P, m) int
        True classes; rows with a negative code are not counted.
    weights : (P, m) float, optional
        Weights of the test rows; by default one.

    Returns
    -------
    (F, G, K) float
        Number of misclassified rows, or sum of their weights; NaN if a pair has no rule in a part.
    """
    n_classes = len(rule.classes)
    counts = np.zeros((len(rule.parts), len(rule.pairs), n_classes))
    chunk_size = int(np.clip(MAX_CHUNK_ELEMENTS // rule.classes[0].scale.size, 256, 8192))
    for start in range(0, x.shape[1], chunk_size):
        chunk = rule.parts, slice(start, start + chunk_size)
        chunk_codes = codes[chunk]
        by_class = rule.scores(x[chunk])
        best = next(by_class)
        labels = np.zeros(best.shape, dtype=np.intp)
        for k, scores in enumerate(by_class, 1):
            np.copyto(labels, k, where=scores > best)
            np.maximum(best, scores, out=best)
        member = np.equal(chunk_codes[..., None], np.arange(n_classes)).astype(np.float64)
        if weights is not None:
            member *= weights[chunk][..., None]
        counts += (labels != chunk_codes[:, None]) @ member
    counts[np.isnan(rule.constants[:, 0])] = np.nan
    return counts


def parts_at_once(n_classes: int, n_columns: int, pairs: Sequence[Regularization]) -> int:
    """Return the number of training parts, such as folds, that are decomposed together.

    Parameters
    ----------
    n_classes, n_columns : int
        Numbers of classes and of columns.
    pairs : sequence of Regularization
        Pairs of alpha and gamma for which rules are computed.

    Returns
    -------
    int
        One for `MIN_COLUMNS_FOR_THIN` or more columns, else as many as `MAX_CHUNK_ELEMENTS` elements of
        eigenvectors allow, at least one.
    """
    if n_columns >= MIN_COLUMNS_FOR_THIN:
        return 1
    axes = max(len(set(values)) for values in zip(*pairs, strict=True))
    return max(MAX_CHUNK_ELEMENTS // (axes * n_classes * n_columns * n_columns), 1)


@dataclass(frozen=True, slots=True, eq=False)
class _StackedScatters:
    """Scatters of F training parts, stacked along the first axis, with the options of the mixtures.

    Attributes
    ----------
    moments : tuple of F ClassMoments
        Moments of the parts.
    unit : (F, p) float
        Factors of the columns in y = z * unit, with z the coordinates of the moments.
    class_scatters : (F, K, p, p) float
        Scatters of the classes.
    pooled_scatter : (F, p, p) float
        Pooled scatters.
    divisors : (F, K) float
        Divisors of the class scatters; their sum is the divisor of the pooled scatter.
    n_data_columns : int
        Number of columns of the data, which exceeds p if the moments refer to coordinates on the span of few
        rows.
    parametrization : {"esl", "friedman", "klar"}
        Definition of the weights of the mixture in terms of alpha and gamma.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    """

    moments: tuple[ClassMoments, ...]
    unit: Floats
    class_scatters: Floats
    pooled_scatter: Floats
    divisors: Floats
    n_data_columns: int
    parametrization: Parametrization
    log_prior: Floats

    @staticmethod
    def from_scatters(
        scatters: Sequence[MixingScatters], parametrization: Parametrization, log_prior: Floats
    ) -> _StackedScatters:
        """Stack the scatters of several parts.

        Parameters
        ----------
        scatters : sequence of MixingScatters
            Scatters of each training part.
        parametrization : {"esl", "friedman", "klar"}
            Definition of the weights of the mixture in terms of alpha and gamma.
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.

        Returns
        -------
        _StackedScatters
            With the parts in the order of `scatters`.
        """
        stacked = zip(
            *((s.unit, s.class_scatters, s.pooled_scatter, s.divisors) for s in scatters), strict=True
        )
        # With many columns there is one part; do not copy it.
        unit, class_scatters, pooled_scatter, divisors = (
            np.stack(a) if len(a) > 1 else a[0][None] for a in stacked
        )
        moments = tuple(s.moments for s in scatters)
        columns = scatters[0].n_data_columns
        return _StackedScatters(
            moments, unit, class_scatters, pooled_scatter, divisors, columns, parametrization, log_prior
        )

    @property
    def complement_dim(self) -> int:
        """Number of columns of the data minus the number of coordinates p."""
        return self.n_data_columns - self.moments[0].n_columns


def path_rules(
    parts: Sequence[ClassMoments],
    pairs: Sequence[Regularization],
    parametrization: Parametrization,
    method: str,
    log_prior: Floats,
    n_columns: int | None = None,
    load_with_roots: Sequence[Callable[[], ClassMoments]] | None = None,
) -> Iterator[PathRule]:
    """Yield the rules of all pairs in each training part, in groups of pairs that share decompositions.

    Pairs whose covariances are singular in a part have no rule there.

    Parameters
    ----------
    parts : sequence of ClassMoments
        Moments of the training parts by class; at most `parts_at_once`.
    pairs : sequence of Regularization
        Pairs of alpha and gamma.
    parametrization : {"esl", "friedman", "klar"}
        Definition of the weights of the mixture in terms of alpha and gamma.
    method : {"moment", "mle"}
        Divisors n_k - 1 and N - K, or n_k and N.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    n_columns : int, optional
        Number of columns of the data, if the moments refer to fewer coordinates.
    load_with_roots : sequence of callables, optional
        Functions without arguments, one for each part, that return its moments with roots, for pairs that
        require them; by default `parts` are used.

    Yields
    ------
    PathRule
        Several rules may contain a pair, but for different parts; in the others its `constants` are NaN.
        `PathRule.parts` are positions in `parts`, and `PathRule.pairs` are positions in `pairs`.
    """
    rules = _rules_by_gamma if parametrization == "esl" else _rules_by_alpha
    alphas, gammas = np.array(pairs).T
    has_ridge = (alphas < 1) & (gammas < 1) if parametrization == "esl" else gammas > 0
    # Without a ridge a covariance has to have as many degrees of freedom as columns.
    rows = np.stack([moments.rows for moments in parts])
    p = n_columns or parts[0].n_columns
    has_enough_rows = rows.sum(axis=1, keepdims=True) - rows.shape[1] >= p
    remaining = has_ridge | np.where(alphas == 1, (rows > p).all(axis=1, keepdims=True), has_enough_rows)
    for is_unitless in (False, True):
        candidates = remaining & ~has_ridge if is_unitless else remaining.copy()
        if not candidates.any():
            continue
        scatters = [
            MixingScatters.unitless(moments, method)
            if is_unitless
            else MixingScatters.in_data_units(limit_scales(moments), method, n_columns)
            for moments in parts
        ]
        for rule in rules(
            _StackedScatters.from_scatters(scatters, parametrization, log_prior), pairs, candidates
        ):
            remaining[:, rule.pairs] &= np.isnan(rule.constants[:, 0])
            yield rule
        if scatters[0].complement_dim:
            return
    for i in np.flatnonzero(remaining.any(axis=1)).tolist():
        moments_with_roots = parts[i] if load_with_roots is None else load_with_roots[i]()
        yield from _rules_by_fits(
            moments_with_roots, i, pairs, np.flatnonzero(remaining[i]), parametrization, method, log_prior
        )


def _rules_by_fits(
    moments: ClassMoments,
    part: int,
    pairs: Sequence[Regularization],
    pair_index: Codes,
    parametrization: Parametrization,
    method: str,
    log_prior: Floats,
) -> Iterator[PathRule]:
    """Yield rules by fitting each pair on its own; with ESL's alpha = 1, one fit serves all gammas.

    Parameters
    ----------
    moments : ClassMoments
        Moments of one part, with roots.
    part : int
        Position of the part.
    pairs : sequence of Regularization
        Pairs of alpha and gamma.
    pair_index : (g,) int
        Positions of the pairs to fit.
    parametrization : {"esl", "friedman", "klar"}
        Definition of the weights of the mixture in terms of alpha and gamma.
    method : {"moment", "mle"}
        Divisors n_k - 1 and N - K, or n_k and N.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.

    Yields
    ------
    PathRule
        Of this part only. None is yielded for a pair with a singular covariance.
    """
    equivalent_pairs: dict[tuple[float, float], list[int]] = {}
    for i in pair_index.tolist():
        alpha, gamma = pairs[i]
        equivalent_pairs.setdefault(
            (alpha, 1.0 if parametrization == "esl" and alpha == 1 else gamma), []
        ).append(i)
    options: dict[str, Any] = {"parametrization": parametrization, "method": method}
    for (alpha, gamma), positions in equivalent_pairs.items():
        fit = fit_rda(moments, np.exp(log_prior), alpha=alpha, gamma=gamma, **options)
        if fit.find_singular_classes():
            continue
        ones = np.ones((1, 1, 1, moments.n_columns))
        constants = log_prior - 0.5 * np.array([covariance.logdet for covariance in fit.covariances])
        yield PathRule(
            np.array([part]),
            np.array(positions),
            np.zeros(len(positions), dtype=np.intp),
            (fit.moments,),
            None,
            tuple(
                ClassPath(ones[0], None, covariance.inverse[None, None], ones, None, ones[..., 0])
                for covariance in fit.covariances
            ),
            np.repeat(constants[None, :, None], len(positions), axis=2),
        )


def _rule_of_regular_pairs(
    stack: _StackedScatters,
    basis: Floats | None,
    paths: Sequence[ClassPath],
    positions: Codes,
    cells: Codes,
    is_regular: NDArray[np.bool_],
) -> Iterator[PathRule]:
    """Yield one rule of the pairs that are well-conditioned in at least one part, if there are any.

    Parameters
    ----------
    stack : _StackedScatters
        Scatters of the training parts.
    basis : (F, p, p) float, optional
        Matrix that maps deviations z - m_k to the coordinates of the paths; by default the identity.
    paths : sequence of K ClassPath
        Distances from each class.
    positions : (g,) int
        Positions of the pairs.
    cells : (g,) int
        Positions of their mixtures.
    is_regular : (F, g) bool
        Whether a pair is well-conditioned in a part.

    Yields
    ------
    PathRule
        Of all parts, with NaN constants for a pair in a part in which it is not well-conditioned.
    """
    is_used = is_regular.any(axis=0)
    if not is_used.any():
        return
    positions = positions[is_used]
    cells = cells[is_used]
    is_regular = is_regular[:, is_used]
    logdets = np.stack([path.logdet.reshape(len(is_regular), -1)[:, cells] for path in paths], axis=1)
    logdets -= 2.0 * np.log(stack.unit).sum(axis=1)[:, None, None]
    constants = np.where(is_regular[:, None], stack.log_prior[:, None] - 0.5 * logdets, np.nan)
    yield PathRule(
        np.arange(len(is_regular)), positions, cells, stack.moments, basis, tuple(paths), constants
    )


def _rules_by_gamma(
    stack: _StackedScatters, pairs: Sequence[Regularization], candidates: NDArray[np.bool_]
) -> Iterator[PathRule]:
    """Yield the rules of ESL's parametrization, from one decomposition for each gamma.

    Each `PathRule` has the pairs of several values of gamma, in all parts. The constants of a pair are NaN in
    a part in which it is ill-conditioned or not required. A pair without a rule in any part is omitted.

    Parameters
    ----------
    stack : _StackedScatters
        Scatters of the training parts.
    pairs : sequence of G Regularization
        Pairs of alpha and gamma.
    candidates : (F, G) bool
        Whether the rule of a pair is required in a part.

    Yields
    ------
    PathRule
        First of the pairs with alpha = 1, if any, then of increasing gamma.
    """
    alphas, gammas = np.array(pairs).T
    pair_index = np.flatnonzero(candidates.any(axis=0))
    unmixed = pair_index[alphas[pair_index] == 1]
    if unmixed.size:
        yield from _unmixed_rule(stack, unmixed, candidates[:, unmixed])
        pair_index = pair_index[alphas[pair_index] < 1]
    if not pair_index.size:
        return
    pooled = stack.pooled_scatter / stack.divisors.sum(axis=1)[:, None, None]
    sphere = np.trace(pooled, axis1=1, axis2=2)[:, None] / stack.n_data_columns
    eigenvalues, vectors = np.linalg.eigh(pooled)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    distinct_gammas = np.unique(gammas[pair_index])
    distinct_alphas = np.unique(alphas[pair_index])
    ridge = (1 - distinct_gammas) * sphere
    target = distinct_gammas[:, None] * eigenvalues[:, None] + ridge[..., None]
    is_regular = _is_regular(target) & (ridge > 0 if stack.complement_dim else True)
    is_used = is_regular.any(axis=0)
    distinct_gammas = distinct_gammas[is_used]
    ridge = ridge[:, is_used]
    is_regular = is_regular[:, is_used]
    target = np.where(is_regular[..., None], target[:, is_used], 1.0)
    # For classes with few rows, decompositions of the size of the rows are faster.
    has_few_rows = stack.moments[0].rows - 1 <= MAX_RANK_FOR_THIN * stack.unit.shape[1]
    is_thin = has_few_rows & (stack.unit.shape[1] >= MIN_COLUMNS_FOR_THIN)
    sizes = np.where(is_thin, stack.moments[0].rows - 1, pooled.shape[1]).astype(np.float64)
    step = max(int(MAX_AXES_ELEMENTS // (len(pooled) * (sizes**2).sum())), 1)
    basis = np.swapaxes(vectors, 1, 2) * stack.unit[:, None]
    for start in range(0, len(distinct_gammas), step):
        chunk = slice(start, start + step)
        paths = []
        is_regular_mixture = np.repeat(is_regular[:, chunk, None], len(distinct_alphas), axis=2)
        complement_logdet = (
            stack.complement_dim * np.log(ridge[:, chunk, None] * (1 - distinct_alphas))
            if stack.complement_dim
            else 0.0
        )
        for k in range(len(is_thin)):
            path = _thin_path(stack, k, distinct_alphas, target[:, chunk], vectors) if is_thin[k] else None
            path = path or _wide_path(
                stack, k, distinct_alphas, target[:, chunk], vectors, is_regular_mixture
            )
            path.logdet[...] += complement_logdet
            paths.append(path)
        positions, cells = _match_pairs(pair_index, gammas, alphas, distinct_gammas[chunk], distinct_alphas)
        is_regular_pair = (
            is_regular_mixture.reshape(len(is_regular_mixture), -1)[:, cells] & candidates[:, positions]
        )
        yield from _rule_of_regular_pairs(stack, basis, paths, positions, cells, is_regular_pair)


def _wide_path(
    stack: _StackedScatters,
    k: int,
    alphas: Floats,
    target: Floats,
    vectors: Floats,
    is_regular: NDArray[np.bool_],
) -> ClassPath:
    """Compute the distances from class k under ESL's mixtures by p x p decompositions.

    Parameters
    ----------
    stack : _StackedScatters
        Scatters of the training parts.
    k : int
        Position of the class.
    alphas : (A,) float
        Values of alpha.
    target : (F, B, p) float
        Eigenvalues D for each gamma.
    vectors : (F, p, p) float
        Eigenvectors V of the pooled covariances, in columns.
    is_regular : (F, B, A) bool
        Set to False, in place, for ill-conditioned mixtures.

    Returns
    -------
    ClassPath
        Without `factor` and `unmixed_weights`. Ill-conditioned mixtures have eigenvalues of one instead.
    """
    rotated = (
        np.swapaxes(vectors, 1, 2) @ (stack.class_scatters[:, k] / stack.divisors[:, k, None, None]) @ vectors
    )
    scale = 1.0 / np.sqrt(target)
    eigenvalues, axes = np.linalg.eigh(rotated[:, None] * scale[..., None] * scale[..., None, :])
    weight_of_class = alphas[:, None]
    mixed_eigenvalues = weight_of_class * np.maximum(eigenvalues, 0.0)[..., None, :] + (1 - weight_of_class)
    mixed_eigenvalues = _where_regular(mixed_eigenvalues, is_regular)
    logdet = np.log(target).sum(axis=-1)[..., None] + np.log(mixed_eigenvalues).sum(axis=-1)
    return ClassPath(scale, None, axes, 1.0 / mixed_eigenvalues, None, logdet)


def _thin_path(
    stack: _StackedScatters, k: int, alphas: Floats, target: Floats, vectors: Floats
) -> ClassPath | None:
    """Compute the distances from class k under ESL's mixtures by decompositions of the size of its rows.

    Parameters
    ----------
    stack : _StackedScatters
        Scatters of one part.
    k : int
        Position of the class.
    alphas : (A,) float
        Values of alpha.
    target : (1, B, p) float
        Eigenvalues D for each gamma.
    vectors : (1, p, p) float
        Eigenvectors V of the pooled covariance, in columns.

    Returns
    -------
    ClassPath or None
        None if a mixed eigenvalue alpha l + beta exceeds `MAX_CANCELLATION` times beta or is not finite,
        because too many digits would be lost.
    """
    ((scatter, vector, target),) = zip(stack.class_scatters[:, k], vectors, target, strict=True)
    factor = _pivoted_cholesky(scatter, int(stack.moments[0].rows[k]) - 1) @ vector
    factor /= np.sqrt(stack.divisors[0, k])
    r, p = factor.shape
    gram = np.empty((len(target), r, r))
    for out, target_eigenvalues in zip(gram, target, strict=True):
        scaled = factor / np.sqrt(target_eigenvalues)
        np.matmul(scaled, scaled.T, out=out)
    eigenvalues, axes = np.linalg.eigh(gram)
    beta = (1 - alphas)[:, None]
    mixed_eigenvalues = alphas[:, None] * np.maximum(eigenvalues, 0.0)[:, None] + beta
    if (mixed_eigenvalues > MAX_CANCELLATION * beta).any() or not np.isfinite(mixed_eigenvalues).all():
        return None
    logdet = (
        np.log(target).sum(axis=1)[:, None]
        + np.log(mixed_eigenvalues).sum(axis=2)
        + (p - r) * np.log(beta[:, 0])
    )
    unmixed_weights = 1.0 / (target[:, None] * beta)
    weights = -alphas[:, None] / (mixed_eigenvalues * beta)
    return ClassPath(
        1.0 / target[None], factor[None], axes[None], weights[None], unmixed_weights[None], logdet[None]
    )


def _pivoted_cholesky(scatter: Floats, max_rank: int) -> Floats:
    """Factorize a scatter by a pivoted Cholesky decomposition.

    Parameters
    ----------
    scatter : (p, p) float
        Positive semidefinite matrix.
    max_rank : int
        Maximum rank.

    Returns
    -------
    (r, p) float
        F with F'F the scatter up to rounding; r is its numerical rank, at most `max_rank`.
    """
    diagonal = np.diagonal(scatter)
    root, pivots, rank, _ = lapack.dpstrf(scatter, tol=EPS * float(diagonal.max()))
    rank = max(min(int(rank), max_rank), 0)
    factor = np.empty((rank, len(scatter)))
    factor[:, pivots - 1] = np.triu(root)[:rank]
    return factor


def _unmixed_rule(
    stack: _StackedScatters, pair_index: Codes, candidates: NDArray[np.bool_]
) -> Iterator[PathRule]:
    """Yield ESL's rule for alpha = 1: separate covariances, which do not depend on gamma.

    Its constants are NaN for a training part in which a class covariance is ill-conditioned. Nothing is
    yielded if this is the case in all parts, or if the moments refer to the span of few rows.

    Parameters
    ----------
    stack : _StackedScatters
        Scatters of the training parts.
    pair_index : (g,) int
        Positions of the pairs.
    candidates : (F, g) bool
        Whether the rule of a pair is required in a part.

    Yields
    ------
    PathRule
        At most one, of all these pairs.
    """
    paths = []
    is_regular = np.full((len(stack.class_scatters), 1, 1), not stack.complement_dim)
    for k in range(stack.class_scatters.shape[1]):
        eigenvalues, axes = np.linalg.eigh(stack.class_scatters[:, k] / stack.divisors[:, k, None, None])
        paths.append(_path_from_eigen(stack, axes[:, None], eigenvalues[:, None, None], is_regular))
    yield from _rule_of_regular_pairs(
        stack,
        None,
        paths,
        pair_index,
        np.zeros(len(pair_index), dtype=np.intp),
        candidates & is_regular[:, 0],
    )


def _rules_by_alpha(
    stack: _StackedScatters, pairs: Sequence[Regularization], candidates: NDArray[np.bool_]
) -> Iterator[PathRule]:
    """Yield the rules of Friedman's or klaR's parametrization, from one decomposition for each alpha.

    Each `PathRule` has the pairs of several values of alpha, in all parts. The constants of a pair are NaN in
    a part in which it is ill-conditioned or not required. A pair without a rule in any part is omitted.

    Parameters
    ----------
    stack : _StackedScatters
        Scatters of the training parts.
    pairs : sequence of G Regularization
        Pairs of alpha and gamma.
    candidates : (F, G) bool
        Whether the rule of a pair is required in a part.

    Yields
    ------
    PathRule
        Of increasing alpha.
    """
    alphas, gammas = np.array(pairs).T
    pooled = stack.pooled_scatter / stack.divisors.sum(axis=1)[:, None, None]
    pair_index = np.flatnonzero(candidates.any(axis=0))
    distinct_alphas = np.unique(alphas[pair_index])
    distinct_gammas = np.unique(gammas[pair_index])
    step = max(MAX_AXES_ELEMENTS // stack.class_scatters.size, 1)
    zeros = np.zeros(stack.class_scatters.shape[1])
    for start in range(0, len(distinct_alphas), step):
        chunk_alphas = distinct_alphas[start : start + step]
        mixtures = [
            leave_one_out_rda.regularized_mixture(
                stack.parametrization, Regularization(a, 0.0), stack.divisors, zeros, 0.0
            )[:2]
            for a in chunk_alphas
        ]
        class_coefs, pooled_coefs = np.moveaxis(np.array(mixtures), 0, 2)[..., None, None]
        class_coefs = class_coefs / stack.divisors[:, None, :, None, None]
        paths = []
        is_regular = np.ones((len(class_coefs), len(chunk_alphas), len(distinct_gammas)), dtype=bool)
        for k in range(stack.class_scatters.shape[1]):
            matrices = (
                class_coefs[:, :, k] * stack.class_scatters[:, None, k]
                + pooled_coefs[:, :, k] * pooled[:, None]
            )
            ridge = np.trace(matrices, axis1=2, axis2=3)[..., None] / stack.n_data_columns * distinct_gammas
            eigenvalues, axes = np.linalg.eigh(matrices)
            shrunk_eigenvalues = (1 - distinct_gammas)[:, None] * np.maximum(eigenvalues, 0.0)[
                ..., None, :
            ] + ridge[..., None]
            path = _path_from_eigen(stack, axes, shrunk_eigenvalues, is_regular)
            if stack.complement_dim:
                is_regular &= ridge > 0
                path.logdet[...] += stack.complement_dim * np.log(np.where(ridge > 0, ridge, 1.0))
            paths.append(path)
        positions, cells = _match_pairs(pair_index, alphas, gammas, chunk_alphas, distinct_gammas)
        is_regular_pair = is_regular.reshape(len(is_regular), -1)[:, cells] & candidates[:, positions]
        yield from _rule_of_regular_pairs(stack, None, paths, positions, cells, is_regular_pair)


def _path_from_eigen(
    stack: _StackedScatters, axes: Floats, eigenvalues: Floats, is_regular: NDArray[np.bool_]
) -> ClassPath:
    """Construct the distances from a class from eigendecompositions of its mixtures.

    Parameters
    ----------
    stack : _StackedScatters
        Scatters of the training parts.
    axes : (F, B, p, p) float
        Eigenvectors, in columns.
    eigenvalues : (F, B, A, p) float
        Eigenvalues of each of A mixtures with the same eigenvectors.
    is_regular : (F, B, A) bool
        Set to False, in place, for ill-conditioned mixtures.

    Returns
    -------
    ClassPath
        Without `factor` and `unmixed_weights`. Ill-conditioned mixtures have eigenvalues of one instead.
    """
    eigenvalues = _where_regular(eigenvalues, is_regular)
    scale = np.repeat(stack.unit[:, None], axes.shape[1], axis=1)
    return ClassPath(scale, None, axes, 1.0 / eigenvalues, None, np.log(eigenvalues).sum(axis=-1))


def _match_pairs(
    pair_index: Codes,
    first_parameters: Floats,
    second_parameters: Floats,
    first_values: Floats,
    second_values: Floats,
) -> tuple[Codes, Codes]:
    """Find the pairs among the B x A mixtures of a rule, and the position of the mixture of each.

    Parameters
    ----------
    pair_index : (g,) int
        Positions of the pairs to match.
    first_parameters, second_parameters : (G,) float
        Of all pairs the parameter that determines the decomposition, and the other parameter.
    first_values : (B,) float
        Values of the first parameter in the rule, in increasing order.
    second_values : (A,) float
        Values of the second parameter in the rule, in increasing order.

    Returns
    -------
    positions : (h,) int
        Positions of the pairs that the rule contains.
    cells : (h,) int
        Positions of their mixtures, position of the first value times A plus position of the second, in
        increasing order.
    """
    matched = pair_index[np.isin(first_parameters[pair_index], first_values)]
    cells = np.searchsorted(first_values, first_parameters[matched]) * len(second_values) + np.searchsorted(
        second_values, second_parameters[matched]
    )
    order = np.argsort(cells)
    return matched[order], cells[order]


def _where_regular(eigenvalues: Floats, is_regular: NDArray[np.bool_]) -> Floats:
    """Return a copy of the eigenvalues with ones for mixtures that are ill-conditioned by `_is_regular`.

    Parameters
    ----------
    eigenvalues : (F, B, A, p) float
        Eigenvalues of the mixtures.
    is_regular : (F, B, A) bool
        Set to False, in place, for ill-conditioned mixtures.

    Returns
    -------
    (F, B, A, p) float
        A new array.
    """
    is_regular_now = _is_regular(eigenvalues)
    is_regular &= is_regular_now
    return np.where(is_regular_now[..., None], eigenvalues, 1.0)


def _is_regular(eigenvalues: Floats) -> NDArray[np.bool_]:
    """Return a mask (...) of the matrices with eigenvalues (..., p) that are well-conditioned.

    The smallest eigenvalue exceeds `MIN_EIGENVALUE_RATIO` times the largest, and the largest is finite.
    """
    smallest = eigenvalues.min(axis=-1)
    largest = eigenvalues.max(axis=-1)
    return np.asarray((smallest > MIN_EIGENVALUE_RATIO * largest) & np.isfinite(largest))


def _singular_scores_error(moments: ClassMoments, k: int) -> NoEstimateError:
    """Return a SingularEstimateError for class k on principal axes, which are the columns of the moments."""
    df = int(moments.rows[k]) - 1
    return SingularEstimateError("singular_scores", class_positions=(k,), wanted=moments.n_columns, df=df)
