"""Log odds of LDA: standard errors, Wald tests, and Hausman's test against the logistic model.

The results of LDA and of logistic regression use these functions.

*Log odds.* For classes 0 and 1 the rule's log odds are alpha + x'b with b = S^-1 (m_1 - m_0) and alpha =
ln(pi_1/pi_0) - b'(m_0 + m_1)/2. For normal classes with a common covariance matrix, means, covariance
and class proportions are independent; by the delta method on all three, with a = 1/n_0 + 1/n_1, D2 = b'S b
and c = (m_0 + m_1)/2,

    var(b)     = a S^-1 + (D2 S^-1 + b b')/nu
    var(alpha) = c' var(b) c + a D2/4 + (1/n_1 - 1/n_0) c'b  (+ a if the prior is estimated).

A diagonal covariance has independent columns, with var(b_j) = a/s_j + 2 b_j^2/nu. (Efron, 1975, JASA 70,
892-898, for the setting; the formulas are derived in the vignettes.)

*Wald test.* Under R b = c the statistic (R b - c)'(R V R')^-1 (R b - c) is chi-square with degrees of freedom
equal to the rank of R. With V = H'H and the triangular factor T of H R' it is the squared length of T'^-1
(R b - c): V and R V R' are not formed, because their squares would lose half of the digits, and overflow for
columns in extreme units.

*Hausman's test.* LDA and the logistic model both estimate the slopes of the log odds. Under normal classes
with one covariance LDA's are efficient; the logistic model's are consistent without it. By Hausman (1978,
Econometrica 46, 1251-1271) the variance of their difference is then the difference of their variances, and

    H = (b - B)' [V_B - V_b]^+ (b - B)  ~  chi-square on the rank of V_B - V_b

tests the model (Lo, 1986, Journal of Econometrics 31, 151-178, for LDA). LDA's covariance, stacked over the
classes against the reference 0, follows from the delta method with b_k = S^-1 d_k:

    cov(b_k, b_l) = ([k = l]/n_k + 1/n_0) S^-1 + [(d_k'S^-1 d_l) S^-1 + b_l b_k']/nu.

In finite samples V_B - V_b need not be positive definite. Directions in which it is not are left out, which
reduces the degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.special import normal_isf, normal_sf
from discrim.errors import NotSupportedError
from discrim.inference.error_rates import check_level
from discrim.inference.result import TestResult, chi_square_test


@dataclass(frozen=True, slots=True, eq=False)
class LogOdds:
    """Coefficients of q classes against the reference class, in units of the data.

    Attributes
    ----------
    prior_odds, prior_variances : (q,) float
        Log odds of the priors, which are one term of the intercepts, and their sampling variances. The log
        odds of a prior of zero are infinite; the variances are zero unless the prior is estimated.
    cutoffs, cutoff_variances : (q,) float
        The other term of the intercepts, -b'c with b the slopes and c the midpoint of the means of the class
        and the reference class, and its variances.
    slopes, slopes_se : (q, p) float
        Slopes of the p columns and their standard errors.
    """

    prior_odds: Floats
    prior_variances: Floats
    cutoffs: Floats
    cutoff_variances: Floats
    slopes: Floats
    slopes_se: Floats


def log_odds(
    moments: ClassMoments,
    covariance: Covariance,
    divisor: float,
    prior: Floats,
    others: NDArray[np.intp],
    reference: int,
    *,
    estimated_prior: bool,
) -> LogOdds:
    """Compute the log odds of classes against the reference class, with standard errors.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    covariance : Covariance
        Within-class covariance in the coordinates of the moments, full or diagonal.
    divisor : float
        Divisor of the covariance, used as nu in the variances.
    prior : (K,) float
        Prior probabilities of the classes.
    others : (q,) int
        Codes of the classes that are compared with the reference class, in the order of the results.
    reference : int
        Code of the reference class.
    estimated_prior : bool
        Whether the prior is the class proportions, whose sampling variance is then included.

    Returns
    -------
    LogOdds
    """
    n0 = moments.counts[reference]
    n1 = moments.counts[others]
    inverse_counts = 1 / n0 + 1 / n1
    means = moments.means_from(moments.centres[reference])
    mean_differences = covariance.whiten((means[others] - means[reference]).T)
    anchor = moments.centres[reference] * moments.scale
    midpoints = covariance.whiten((anchor + (means[others] + means[reference]) / 2).T)
    d2 = (mean_differences**2).sum(axis=0)
    midpoint_projections = (midpoints * mean_differences).sum(axis=0)
    slopes = covariance.unwhiten(mean_differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        prior_odds = np.log(prior[others]) - np.log(prior[reference])
    if covariance.is_diagonal:
        # Whitened columns have unit variance: var(d_j) = 1/n0 + 1/n1 + 2 d_j^2 / nu for mean differences.
        variances = inverse_counts + 2 * mean_differences**2 / divisor
        slopes_var = covariance.inverse[:, None] ** 2 * variances
        midpoint_var = (midpoints**2 * variances).sum(axis=0)
    else:
        difference_variance = inverse_counts + d2 / divisor
        slopes_var = difference_variance * (covariance.inverse**2).sum(axis=1)[:, None] + slopes**2 / divisor
        midpoint_var = difference_variance * (midpoints**2).sum(axis=0) + midpoint_projections**2 / divisor
    cutoff_var = midpoint_var + inverse_counts * d2 / 4 + (1 / n1 - 1 / n0) * midpoint_projections
    return LogOdds(
        prior_odds,
        inverse_counts if estimated_prior else np.zeros_like(inverse_counts),
        -midpoint_projections,
        cutoff_var,
        slopes.T * moments.scale,
        np.sqrt(slopes_var).T * moments.scale,
    )


def log_odds_covariance(
    moments: ClassMoments, covariance: Covariance, divisor: float, reference: int, *, estimated_prior: bool
) -> Floats:
    """Compute the covariance matrix of the intercepts and slopes of all classes, in units of the data.

    It is the matrix V for which (1, x) V_kl (1, y)' is the covariance of log odds k at x and l at y. For rows
    (1, x) let M_k = x - m_k and C_k = x - (m_0 + m_k)/2 in whitened columns and d_k = m_k - m_0. The
    covariance of log odds k and l is [k = l] M_k'M_k/n_k + M_0'M_0/n_0 + (d_k'd_l C_k'C_l + C_k'd_l
    d_k'C_l)/nu; for a diagonal covariance the last term is 2 C_k' diag(d_k d_l) C_l/nu. An estimated prior
    adds [k = l]/n_k + 1/n_0 to the covariances of the intercepts.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    covariance : Covariance
        Within-class covariance in the coordinates of the moments, full or diagonal.
    divisor : float
        Divisor of the covariance, used as nu.
    reference : int
        Code of the reference class.
    estimated_prior : bool
        Whether the prior is the class proportions, whose sampling variance is then included.

    Returns
    -------
    (q (p + 1), q (p + 1)) float
        Ordered by class, then intercept and slopes, for the q = K - 1 classes other than the reference, in
        ascending order of their codes.
    """
    counts = moments.counts
    k0 = reference
    others = [k for k in range(moments.n_classes) if k != k0]
    means = moments.means_from(moments.centres[k0])
    whitened_means = covariance.whiten((moments.centres[k0] * moments.scale + means).T).T
    whitening = covariance.whiten(np.diag(moments.scale))
    from_means = [np.column_stack([-whitened_mean, whitening]) for whitened_mean in whitened_means]
    from_midpoints = [
        np.column_stack([-(whitened_mean + whitened_means[k0]) / 2, whitening])
        for whitened_mean in whitened_means
    ]
    mean_differences = covariance.whiten((means - means[k0]).T).T
    shared = from_means[k0].T @ from_means[k0] / counts[k0]
    shared[0, 0] += estimated_prior / counts[k0]
    p1 = len(shared)
    blocks = []
    for k in others:
        for m in others:
            a = from_midpoints[k]
            b = from_midpoints[m]
            if covariance.is_diagonal:
                block = shared + 2 * (a.T * (mean_differences[k] * mean_differences[m])) @ b / divisor
            else:
                crossed = np.outer(a.T @ mean_differences[m], mean_differences[k] @ b)
                block = shared + ((mean_differences[k] @ mean_differences[m]) * (a.T @ b) + crossed) / divisor
            if k == m:
                block = block + from_means[k].T @ from_means[k] / counts[k]
                block[0, 0] += estimated_prior / counts[k]
            blocks.append(block)
    q = len(others)
    return np.array(blocks).reshape(q, q, p1, p1).transpose(0, 2, 1, 3).reshape(q * p1, q * p1)


def wald_columns(odds: LogOdds, shrinkage_factor: float, level: float) -> dict[str, Floats]:
    """Compute the columns of a table of log-odds coefficients with z tests and intervals.

    Parameters
    ----------
    odds : LogOdds
        Coefficients and their standard errors.
    shrinkage_factor : float
        Factor by which slopes and `cutoffs`, and their standard errors, are multiplied; the prior odds are
        not.
    level : float
        Confidence level; a DataError is raised if it is not between 0 and 1.

    Returns
    -------
    dict of (q (p + 1),) float
        Keys coef, se, z, p (two-sided), low, high; elements are ordered by class, then intercept and slopes.
        For an infinite or missing intercept se, z and p are NaN, and both limits equal the coefficient.
    """
    check_level(level)
    coef = np.column_stack(
        [odds.prior_odds + shrinkage_factor * odds.cutoffs, shrinkage_factor * odds.slopes]
    ).ravel()
    # Class counts and class means are independent, so the variances of the two parts of an intercept add.
    constant_se = np.sqrt(odds.prior_variances + shrinkage_factor**2 * odds.cutoff_variances)
    se = np.column_stack([constant_se, shrinkage_factor * odds.slopes_se]).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        z = coef / se
    # Infinite odds due to a prior of zero are not estimates and lack a standard error.
    se, z = (np.where(np.isfinite(coef), column, np.nan) for column in (se, z))
    half = np.where(np.isfinite(coef), normal_isf((1 - level) / 2) * se, 0.0)
    columns = {"coef": coef, "se": se, "z": z, "p": 2 * normal_sf(np.abs(z))}
    return columns | {"low": coef - half, "high": coef + half}


DEPENDENCE_TOLERANCE = 1e-10
"""Relative residual norm of a row, given earlier rows, that counts as zero."""


def column_norms(columns: Floats) -> Floats:
    """Return the Euclidean norms (r,) of the columns of (m, r) without overflow or underflow of squares."""
    max_abs = np.abs(columns).max(axis=0, initial=0.0)
    scale = np.where((max_abs > 0) & np.isfinite(max_abs), max_abs, 1.0)
    return np.asarray(scale * np.sqrt(((columns / scale) ** 2).sum(axis=0)))


def find_dependent_row(rows: Floats) -> int | None:
    """Return the position of a row of (r, k) that depends linearly on earlier rows, or None.

    It is the first row of zeros if there is one, otherwise the first dependent row, up to
    `DEPENDENCE_TOLERANCE`.
    """
    norms = column_norms(rows.T)
    if not (norms > 0).all():
        return int(np.argmin(norms > 0))
    normalized = (rows / norms[:, None]).T
    if normalized.shape[0] < normalized.shape[1]:
        normalized = np.vstack(
            [normalized, np.zeros((normalized.shape[1] - normalized.shape[0], normalized.shape[1]))]
        )
    residual_norms = np.abs(np.diagonal(np.linalg.qr(normalized, mode="r")))
    return (
        int(np.argmax(residual_norms <= DEPENDENCE_TOLERANCE))
        if (residual_norms <= DEPENDENCE_TOLERANCE).any()
        else None
    )


def wald_statistic(
    root: Floats, estimates: Floats, contrasts: Floats, values: Floats, restrictions: Floats | None = None
) -> float:
    """Compute the Wald statistic of linear hypotheses about estimates.

    Parameters
    ----------
    root : (m, k) float
        Root of the covariance root'root of the estimates, not necessarily triangular.
    estimates : (k,) float
        Estimated parameters.
    contrasts : (r, k) float
        Coefficients of the r linear combinations of the parameters that are tested.
    values : (r,) float
        Values of the contrasts under the hypothesis.
    restrictions : (s, k) float, optional
        Contrasts that are zero whether or not the hypothesis is true. The statistic is the joint statistic
        minus the statistic of the restrictions alone.

    Returns
    -------
    float
        Chi-square with r degrees of freedom under the hypothesis. NaN if a value is not finite or the
        covariance of the contrasts and restrictions is singular.
    """
    n_restrictions = 0 if restrictions is None else len(restrictions)
    if restrictions is not None:
        contrasts = np.vstack([restrictions, contrasts])
        values = np.concatenate([np.zeros(n_restrictions), values])
    transformed = root @ contrasts.T
    norms = column_norms(transformed)
    with np.errstate(invalid="ignore", divide="ignore"):
        transformed = transformed / norms
        standardized_differences = (contrasts @ estimates - values) / norms
    if not (np.isfinite(transformed).all() and np.isfinite(standardized_differences).all()):
        return np.nan
    # Restrictions come first; the statistic is then not computed as a difference.
    order = np.arange(len(values))
    if n_restrictions:
        factor = scipy.linalg.qr(transformed, mode="r")[0]
    else:
        factor, order = scipy.linalg.qr(transformed, mode="r", pivoting=True)
    factor = factor[: len(order)]
    if len(factor) < len(order) or np.abs(np.diagonal(factor)).min() <= DEPENDENCE_TOLERANCE:
        return np.nan
    solution = scipy.linalg.solve_triangular(factor, standardized_differences[order], trans="T")[
        n_restrictions:
    ]
    return float(solution @ solution)


def slope_covariance(
    moments: ClassMoments, covariance: Covariance, nu: float, reference: int
) -> tuple[Floats, Floats]:
    """Compute the slopes of LDA's log odds and their covariance, in the coordinates of the moments.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    covariance : Covariance
        Full within-class covariance in the coordinates of the moments.
    nu : float
        Degrees of freedom of the covariance.
    reference : int
        Code of the reference class.

    Returns
    -------
    slopes : (K - 1, p) float
        Slopes of each other class against the reference class, in ascending order of the codes.
    covariance_of_slopes : ((K - 1) p, (K - 1) p) float
        Ordered by class, then column.
    """
    others = [k for k in range(moments.n_classes) if k != reference]
    means = moments.means
    mean_differences = covariance.whiten((means[others] - means[reference]).T)
    slopes = covariance.unwhiten(mean_differences).T
    precision = covariance.precision()
    inner = mean_differences.T @ mean_differences
    shared = 1 / moments.counts[reference] + np.diag(1 / moments.counts[others]) + inner / nu
    q, p = slopes.shape
    covariance_of_slopes = (
        np.einsum("kl,ij->kilj", shared, precision) + np.einsum("li,kj->kilj", slopes, slopes) / nu
    )
    return slopes, covariance_of_slopes.reshape(q * p, q * p)


def hausman_test(efficient: Floats, efficient_cov: Floats, robust: Floats, robust_cov: Floats) -> TestResult:
    """Compute Hausman's test of LDA against the logistic model, from estimates of the same slopes.

    Parameters
    ----------
    efficient, robust : (m,) float
        Estimates: LDA is efficient under the hypothesis, the logistic model is consistent in
        general.
    efficient_cov, robust_cov : (m, m) float
        Covariance matrices of the estimates.

    Returns
    -------
    TestResult
        Chi-square with degrees of freedom equal to the number of directions in which `robust_cov` exceeds
        `efficient_cov`; other directions are left out, which the assumptions state.

    Raises
    ------
    NotSupportedError
        Such directions do not exist.
    """
    # Scale by the standard errors of the robust estimates, to be independent of units.
    robust_se = np.sqrt(np.diagonal(robust_cov))
    differences = (efficient - robust) / robust_se
    eigenvalues, vectors = np.linalg.eigh((robust_cov - efficient_cov) / robust_se / robust_se[:, None])
    positive_mask = eigenvalues > 1e-10 * max(eigenvalues[-1], 0.0)
    if not positive_mask.any() or eigenvalues[-1] <= 0:
        raise NotSupportedError(
            "Hausman's test cannot be computed, because the logistic model's standard errors are not larger "
            "than LDA's in any direction. In large samples of normal classes they are larger.",
            hint="Test the equality of the covariance matrices with box_m().",
        )
    statistic = float(((vectors[:, positive_mask].T @ differences) ** 2 / eigenvalues[positive_mask]).sum())
    n_left_out = len(differences) - int(positive_mask.sum())
    assumes = "Normal classes with a common covariance matrix under the hypothesis; asymptotic."
    if n_left_out:
        assumes += (
            f" {n_left_out} of {len(differences)} directions are left out, because LDA is not more precise "
            "there."
        )
    return chi_square_test("Hausman", statistic, float(positive_mask.sum()), assumes)
