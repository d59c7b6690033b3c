"""Tests of equal covariances, and the hierarchy of covariance models from spherical to unrestricted.

The results of `lda` and `qda` use these functions for tests, for the table of covariance models and for
intervals of log-determinants.

*One covariance.* With W_k the scatter of class k on n_k - 1 degrees of freedom, W = sum W_k on N - K, and
maximum-likelihood covariances W_k / n_k and W / N, twice the gain in log-likelihood of QDA over LDA is

    -2 ln Lambda = N ln|W/N| - sum n_k ln|W_k/n_k|,    df = p (p + 1)(K - 1)/2.

Box's M is the same with degrees of freedom instead of counts; its chi-square and F approximations match the
first two moments of its null distribution (Box, 1949, Biometrika 36, 317-346). Both are not robust against
long tails.

*The hierarchy* (Flury, 1988, Common Principal Components and Related Multivariate Models; Manly & Rayner,
1987, Biometrika 74, 841-847). With S_k the maximum-likelihood covariances, each model maximizes -sum n_k
(ln|Sigma_k| + tr Sigma_k^-1 S_k)/2 over

    spherical                    Sigma_k = s2 I,
    diagonal                     Sigma_k = diag(s_1, ..., s_p),
    common                       Sigma_k = Sigma, that is LDA,
    proportional                 Sigma_k = c_k Sigma,
    common principal components  Sigma_k = B diag(l_k) B', B orthogonal,
    free                         Sigma_k, that is QDA.

Each model contains the previous one; likelihood ratios of neighbours therefore add up. At every maximum the
traces sum to N p, and the likelihood is a function of the log-determinants. Spherical covariances and common
principal components depend on the units of the data; the other models do not. Two maxima lack a closed form
and are computed by Newton's method (Flury & Gautschi, 1986, SIAM Journal on Scientific and Statistical
Computing 7, 169-184).

Factor models with a few large variances and a common remaining one (`discrim.core.covariance.factor`) lie
between the spherical and the free model, but are not nested with the other models of the hierarchy.

*Log-determinants.* For a normal sample the determinant of nu S is |Sigma| times a product of independent
chi-squares with nu, nu - 1, ..., nu - p + 1 degrees of freedom (Anderson, 2003, An Introduction to
Multivariate Statistical Analysis, sec. 7.5). Hence ln|S| - ln|Sigma| has the cumulant function

    k(t) = sum_j [ln Gamma(a_j + t) - ln Gamma(a_j)] + t p ln(2/nu),    a_j = (nu - j + 1)/2,

which is free of parameters: k'(0) is the bias of ln|S|, k''(0) its variance, and the tails are integrals over
a vertical line in the complex plane,

    P(X > x) = 1/(2 pi i) int exp(k(t) - t x) / t dt,    Re t = c > 0,

and minus that, with c < 0, for P(X < x) (Daniels, 1987, International Statistical Review 55, 37-48). The
trapezium rule computes them to ten digits or more, even if nu is only slightly above p.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance, class_covariances, pooled_covariance
from discrim.core.covariance.factor import Factors
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats, svd
from discrim.core.numerics.special import chi2_sf, f_sf
from discrim.core.rules.gaussian import log_likelihood
from discrim.core.rules.rules import log_of_prior
from discrim.errors import ConvergenceWarning, NotSupportedError, warn_user
from discrim.inference.error_rates import check_level
from discrim.inference.result import TestResult, chi_square_test

# Assumptions that the tests state.
ASSUMPTIONS = "Normal classes; equal covariance matrices under the hypothesis. Sensitive to long tails."

POINTS_PER_CHUNK = 64
"""Number of points of the trapezium rule that are added at a time."""

MIN_SERIES_HALF_DF = 1e7
"""Half the degrees of freedom above which the cumulant function is computed by a series."""

MIN_POSITIVE = 1e-300
"""Smallest tail probability of which a logarithm is taken; it replaces smaller ones."""


def likelihood_ratio_test(llf_common: float, llf_separate: float, df: float) -> TestResult:
    """Test equal covariances by the likelihood ratio of LDA against QDA.

    Parameters
    ----------
    llf_common, llf_separate : float
        Maximized log-likelihoods of LDA (one covariance) and of QDA (a covariance for each class).
    df : float
        Difference of the numbers of parameters.

    Returns
    -------
    TestResult
        The statistic is 2 (llf_separate - llf_common), a chi-square.
    """
    assumes = ASSUMPTIONS + " The chi-square is asymptotic and rejects too often in small samples."
    return chi_square_test("Likelihood ratio", 2 * (llf_separate - llf_common), float(df), assumes)


def box_m_test(covariances: Floats, counts: Floats) -> TestResult:
    """Test equal covariances of the classes by Box's M.

    M = nu ln|S| - sum nu_k ln|S_k| (Box, 1949), with nu_k = n_k - 1, nu their sum, S the pooled covariance. M
    is affinely invariant; covariances in whitened coordinates are the most accurate.

    Parameters
    ----------
    covariances : (K, p, p) float
        Nonsingular covariances of the classes with divisors n_k - 1, in common coordinates.
    counts : (K,) float
        Number of rows of each class.

    Returns
    -------
    TestResult
        The statistic, df and p-value are computed by the chi-square approximation, (1 - c1) M. The table has
        M, the chi-square and the F approximation, which is infinite if M is outside its range.

    Raises
    ------
    NotSupportedError
        If there is only one class.
    """
    if len(counts) < 2:
        raise NotSupportedError(
            "Box's M compares the covariance matrices of at least two classes, but there is only one.",
            hint="Include rows of more classes.",
        )
    dfs = counts - 1
    p = covariances.shape[1]
    k = len(counts)
    nu = dfs.sum()
    pooled = np.tensordot(dfs / nu, covariances, axes=1)
    m = float(nu * np.linalg.slogdet(pooled)[1] - dfs @ np.linalg.slogdet(covariances)[1])
    c1 = ((1 / dfs).sum() - 1 / nu) * (2 * p * p + 3 * p - 1) / (6 * (p + 1) * (k - 1))
    c2 = ((1 / dfs**2).sum() - 1 / nu**2) * (p - 1) * (p + 2) / (6 * (k - 1))
    df1 = p * (p + 1) * (k - 1) / 2
    df2 = (df1 + 2) / abs(c2 - c1**2)
    if c2 > c1**2:
        f = m * (1 - c1 - df1 / df2) / df1
    else:
        # Box's denominator is 1 - b2 M, which simulation confirms; statsmodels (0.15) uses 1 + b2 M.
        b2 = (1 - c1 + 2 / df2) / df2
        f = df2 * b2 * m / (df1 * (1 - b2 * m)) if b2 * m < 1 else np.inf
    chi2 = (1 - c1) * m
    p_chi2 = float(chi2_sf(chi2, df1))
    p_f = float(f_sf(f, df1, df2))
    return TestResult(
        "Box's M",
        float(chi2),
        (float(df1),),
        p_chi2,
        ASSUMPTIONS,
        {
            "Box's M": (m, np.nan, np.nan, np.nan),
            "Box's M, chi-square": (float(chi2), float(df1), np.nan, p_chi2),
            "Box's M, F": (float(f), float(df1), float(df2), p_f),
        },
        (("", m), ("chi-square", float(chi2))),
    )


def log_determinant_table(
    logdets: Floats, dfs: Floats, p: int, level: float, index: pd.Index
) -> pd.DataFrame:
    """Return a table of log-determinants of covariances with exact intervals for normal rows.

    Parameters
    ----------
    logdets : (m,) float
        Log-determinants ln|S| of m unbiased covariances.
    dfs : (m,) float
        Their degrees of freedom nu, at least p.
    p : int
        Number of columns.
    level : float
        Confidence level; a DataError is raised if it is not between 0 and 1.
    index : pandas.Index
        Labels of the m rows of the table.

    Returns
    -------
    pandas.DataFrame
        Columns logdet (ln|S|), debiased (ln|S| minus its bias), se (standard deviation of ln|S|), low and
        high (limits of ln|Sigma|), and df.
    """
    check_level(level)
    rows = []
    for value, nu in zip(logdets.tolist(), dfs.tolist(), strict=True):
        half = (nu - np.arange(p)) / 2
        bias = float(scipy.special.psi(half).sum() + p * np.log(2 / nu))
        se = float(np.sqrt(scipy.special.polygamma(1, half).sum()))
        low, high = (
            value - log_determinant_quantile(tail, nu, p) for tail in ((1 + level) / 2, (1 - level) / 2)
        )
        rows.append((value, value - bias, se, low, high, nu))
    columns = ["logdet", "debiased", "se", "low", "high", "df"]
    return pd.DataFrame(rows, index=index, columns=columns)


def log_determinant_quantile(probability: float, nu: float, p: int) -> float:
    """Return a quantile of ln|S| - ln|Sigma| for a covariance S estimated from normal rows.

    Parameters
    ----------
    probability : float
        Probability of a smaller value.
    nu : float
        Degrees of freedom of S, at least p; S has the divisor nu.
    p : int
        Number of columns.

    Returns
    -------
    float

    Examples
    --------
    >>> from scipy import stats
    >>> expected = float(np.log(stats.chi2.ppf(0.975, 9) / 9))
    >>> round(log_determinant_quantile(0.975, 9, 1), 6) == round(expected, 6)
    True
    """
    if p == 1:
        return float(np.log(scipy.stats.chi2.ppf(probability, nu) / nu))
    half_dfs = (nu - np.arange(p)) / 2
    mean = float(scipy.special.psi(half_dfs).sum() + p * np.log(2 / nu))
    sd = float(np.sqrt(scipy.special.polygamma(1, half_dfs).sum()))
    # Compute the smaller tail, which avoids cancellation in one minus the larger tail.
    sign, tail = (1.0, 1 - probability) if probability > 0.5 else (-1.0, probability)
    saddle_distance = max(-float(scipy.special.ndtri(tail)), 1.0) / sd
    abscissa = saddle_distance if sign > 0 else -min(saddle_distance, half_dfs[-1] / 2)
    pole_distance = abscissa if sign > 0 else min(-abscissa, half_dfs[-1] + abscissa)
    # The error of the trapezium rule is exp(-2 pi distance / step) for the distance of the nearest pole; the
    # step also has to be small compared to the width of the nearly normal integrand.
    step = min(2 * np.pi * pole_distance / 40, 0.4 / sd)
    points = np.array([abscissa], dtype=np.complex128)
    cumulants = _cumulant_function(points, half_dfs)
    while cumulants[-1].real > cumulants[0].real - 40:
        new_points = np.array(abscissa + 1j * step * np.arange(len(points), len(points) + POINTS_PER_CHUNK))
        points = np.concatenate([points, new_points])
        cumulants = np.concatenate([cumulants, _cumulant_function(new_points, half_dfs)])
    weights = np.where(np.arange(len(points)) == 0, 0.5, 1.0) * step / np.pi

    def excess(deviation: float) -> float:
        """Log of the computed over the requested tail probability, at a deviation in units of `sd`."""
        terms = weights * np.exp(cumulants - points * deviation * sd) / points
        return float(np.log(max(sign * terms.real.sum(), MIN_POSITIVE) / tail))

    low, high = -1.0, 1.0
    while sign * excess(low) < 0:
        low *= 2
    while sign * excess(high) > 0:
        high *= 2
    return mean + sd * float(scipy.optimize.brentq(excess, low, high, xtol=1e-13))


def _cumulant_function(s: NDArray[np.complex128], half_dfs: Floats) -> NDArray[np.complex128]:
    """Cumulant function of ln|S| - ln|Sigma| minus its mean, at complex arguments.

    Parameters
    ----------
    s : (m,) complex
        Arguments, with real parts above minus the smallest a_j.
    half_dfs : (p,) float
        Half the degrees of freedom of the p chi-squares, a_j in the module docstring.

    Returns
    -------
    (m,) complex
    """
    total = np.zeros(len(s), dtype=np.complex128)
    for a in half_dfs.tolist():
        if a > MIN_SERIES_HALF_DF:
            # For large arguments differences of log gamma functions would cancel.
            total += sum(
                scipy.special.polygamma(n - 1, a) * s**n / scipy.special.factorial(n) for n in range(2, 7)
            )
        else:
            total += scipy.special.loggamma(a + s) - scipy.special.gammaln(a) - s * scipy.special.psi(a)
    return total


N_CLASS_STARTS = 4
"""Number of classes, the largest ones, whose eigenvectors are used as starting values."""

N_RANDOM_STARTS = 16
"""Number of random rotations that are used as starting values."""

MAX_STEPS = 300
"""Maximum number of Newton steps of a fit; then a warning is issued."""

MAX_INNER_STEPS = 60
"""Maximum number of conjugate gradient iterations for one Newton step."""

ROUGH_GAIN = 1e-5
"""Decrease of the objective, twice the gain in log-likelihood per row, that counts in rough searches.

Searches from different starts are compared if the next step is expected to gain less, and a pair of axes is
rotated only if it gains more.
"""

FINE_GAIN = 1e-14
"""Expected decrease of the objective, twice the gain in log-likelihood per row, at which a fit ends."""

CANDIDATE_ANGLES = np.arange(1, 8) * np.pi / 16
"""Rotations of a pair of axes, in radians, that are tried after convergence; pi/2 exchanges the two."""


def fit_proportional(covariances: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Fit proportional covariances Sigma_k = c_k Sigma by maximum likelihood.

    Sigma = sum n_k S_k/c_k / N for fixed factors c, and the remaining objective, N ln|Sigma| + p sum n_k ln
    c_k, is a convex function of ln c, because the determinant is a sum of exponentials of ln c with positive
    coefficients. The maximum is therefore unique and Newton's method finds it. With P_k = n_k/(N c_k)
    Sigma^-1/2 S_k Sigma^-1/2 the gradient is N (p n_k/N - tr P_k), the Hessian N (diag tr P_k - tr P_k P_l).

    Parameters
    ----------
    covariances : (K, p, p) float
        Nonsingular covariances S_k with divisors n_k.
    counts : (K,) float
        Number of rows of each class.

    Returns
    -------
    factors : (K,) float
        The factors c_k; the first is one.
    shape : (p, p) float
        The common matrix Sigma, which is the covariance of the first class.

    Warns
    -----
    ConvergenceWarning
        If Newton's method does not converge in `MAX_STEPS` steps; the last estimates are returned.

    Examples
    --------
    >>> covariances = np.array([np.diag([2.0, 1.0]), np.diag([6.0, 3.0])])
    >>> factors, shape = fit_proportional(covariances, np.array([9, 5]))
    >>> factors.round(12).tolist(), shape.round(12).tolist()
    ([1.0, 3.0], [[2.0, 0.0], [0.0, 1.0]])
    """
    p = covariances.shape[1]
    proportions = counts / counts.sum()

    def shape_of(log_factors: Floats) -> Floats:
        """Return the maximum likelihood estimate of Sigma (p, p) for fixed ln c_k (K,)."""
        return np.asarray(np.einsum("k,kij->ij", proportions * np.exp(-log_factors), covariances))

    def objective(log_factors: Floats) -> float:
        """Return the objective divided by N, as a function of ln c_k (K,)."""
        return float(np.linalg.slogdet(shape_of(log_factors))[1] + p * (proportions @ log_factors))

    # Start at factors that make the determinants equal.
    log_factors = np.linalg.slogdet(covariances)[1] / p
    log_factors = log_factors - log_factors[0]
    for _ in range(MAX_STEPS):
        root = np.linalg.cholesky(shape_of(log_factors))
        halves = np.linalg.solve(root, covariances)
        whitened = (
            np.linalg.solve(root, np.swapaxes(halves, 1, 2))
            * (proportions * np.exp(-log_factors))[:, None, None]
        )
        traces = np.trace(whitened, axis1=1, axis2=2)
        gradient = p * proportions - traces
        flattened = whitened.reshape(len(proportions), -1)
        # Least squares, because the likelihood does not determine a common factor.
        step = -np.linalg.lstsq(np.diag(traces) - flattened @ flattened.T, gradient, rcond=None)[0]
        step -= step[0]
        slope = float(gradient @ step)
        if -slope <= FINE_GAIN:
            log_factors = log_factors + step
            break
        step = step / max(1.0, float(np.abs(step).max()) / 2)

        def objective_along_step(size: float, start: Floats = log_factors, direction: Floats = step) -> float:
            """Return the objective after a fraction of the step."""
            return objective(start + size * direction)

        log_factors = log_factors + _line_search(objective_along_step, objective(log_factors), slope) * step
    else:
        _warn_not_converged("The proportional model")
    factors = np.exp(log_factors)
    return factors, shape_of(log_factors)


def fit_common_components(roots: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Fit common principal components, Sigma_k = B diag(l_k) B', by maximum likelihood.

    With D_k = B'S_k B and L_k its diagonal, rotating B by a skew X changes sum n_k ln|L_k| at the rate -<G,
    X>, G = sum n_k (L_k^-1 D_k - D_k L_k^-1): if G is zero, Flury's equations are satisfied. Newton's method
    solves them, with conjugate gradients preconditioned by the curvature of each pair of axes for nearly
    diagonal D_k, sum n_k (D_ii - D_jj)^2/(D_ii D_jj). The objective decreases in every step. After
    convergence each pair of axes is rotated separately, because at a saddle point a large rotation of some
    pair may still reduce it.

    There may be several maxima if the covariances are far from having common axes. The best result is
    returned of starts at the axes of the pooled covariance, of the proportional model (whose likelihood is
    therefore always reached), of the largest classes, and at random rotations with a fixed seed.

    Parameters
    ----------
    roots : (K, p, p) float
        Roots R_k of nonsingular covariances S_k = R_k'R_k with divisors n_k; roots keep small variances
        accurate.
    counts : (K,) float
        Number of rows of each class.

    Returns
    -------
    components : (p, p) float
        The orthogonal matrix B with the axes in columns, in decreasing order of their variance averaged over
        the classes with weights n_k. Signs are arbitrary.
    variances : (K, p) float
        The variances l_k of each class along these axes.

    Warns
    -----
    ConvergenceWarning
        If the search does not converge in `MAX_STEPS` steps; the last estimates are returned.

    Examples
    --------
    >>> turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    >>> roots = np.stack([np.diag(np.sqrt(line)) @ turn.T for line in ([5.0, 1.0], [2.0, 3.0])])
    >>> components, variances = fit_common_components(roots, np.array([20.0, 10.0]))
    >>> abs(components).round(12).tolist(), variances.round(12).tolist()
    ([[0.8, 0.6], [0.6, 0.8]], [[5.0, 1.0], [2.0, 3.0]])
    """
    proportions = counts / counts.sum()
    factors, _ = fit_proportional(np.swapaxes(roots, 1, 2) @ roots, counts)
    starts = [
        _weighted_eigenvectors(roots, proportions),
        _weighted_eigenvectors(roots, proportions / factors),
    ]
    starts += [_weighted_eigenvectors(roots[[k]], np.ones(1)) for k in np.argsort(-counts)[:N_CLASS_STARTS]]
    rng = np.random.default_rng(0)
    starts += [np.linalg.qr(rng.standard_normal(starts[0].shape))[0] for _ in range(N_RANDOM_STARTS)]
    rough_rotations = [_minimize_rotation(roots, proportions, start, ROUGH_GAIN)[0] for start in starts]
    rotation = min(rough_rotations, key=lambda start: _component_objective(roots, proportions, start))
    for _ in range(MAX_STEPS):
        rotation, converged = _minimize_rotation(roots, proportions, rotation, FINE_GAIN)
        rotated = rotation @ _pair_rotation(roots @ rotation, proportions)
        if (
            not converged
            or _component_objective(roots, proportions, rotated)
            > _component_objective(roots, proportions, rotation) - ROUGH_GAIN
        ):
            break
        rotation = rotated
    if not converged:
        _warn_not_converged("The model of common principal components")
    variances = _component_variances(roots, rotation)
    order = np.argsort(-(proportions @ variances))
    return rotation[:, order], variances[:, order]


def _minimize_rotation(
    roots: Floats, proportions: Floats, start: Floats, tolerance: float
) -> tuple[Floats, bool]:
    """Find the axes B that minimize the objective of common components, by Newton's method with line search.

    The objective is sum_k pi_k ln|diag(B'S_k B)| for orthogonal B, see `_component_objective`.

    Parameters
    ----------
    roots : (K, p, p) float
        Roots R_k of the class covariances S_k = R_k'R_k.
    proportions : (K,) float
        Class proportions pi_k = n_k/N.
    start : (p, p) float
        Orthogonal matrix at which the search starts.
    tolerance : float
        The search ends if the decrease of the objective expected from the next step is at most this value.

    Returns
    -------
    rotation : (p, p) float
        Columns are the common axes B.
    converged : bool
        Whether the expected decrease of a further step is at most the tolerance or, if no step decreases the
        objective, at most `ROUGH_GAIN` squared.
    """
    rotation = start
    for _ in range(MAX_STEPS):
        gradient, step = _newton_step(roots @ rotation, proportions)
        slope = -float((gradient * step).sum())
        if -slope <= tolerance:
            return rotation, True

        def rotate(size: float, rotation_start: Floats = rotation, direction: Floats = step) -> Floats:
            """Return the rotation (p, p) after a fraction of the step, a skew matrix."""
            # Cayley's rotation of a skew matrix, equal to its exponential up to third order.
            skew = size * direction
            unit = np.eye(len(skew))
            return np.asarray(rotation_start @ np.linalg.solve(unit - skew / 2, unit + skew / 2))

        size = _line_search(
            lambda size: _component_objective(roots, proportions, rotate(size)),
            _component_objective(roots, proportions, rotation),
            slope,
        )
        if not size:
            return rotation, -slope <= ROUGH_GAIN**2
        rotation = rotate(size)
    return rotation, False


def _newton_step(roots: Floats, proportions: Floats) -> tuple[Floats, Floats]:
    """Compute the gradient of the objective of common components and Newton's step, as skew matrices.

    Newton's equations are solved by preconditioned conjugate gradients, which stop early at a direction of
    negative curvature.

    Parameters
    ----------
    roots : (K, p, p) float
        Roots R_k B of the class covariances in the current axes B, with the class covariances R_k'R_k.
    proportions : (K,) float
        Class proportions.

    Returns
    -------
    gradient, step : (p, p) float
        G of `fit_common_components` with n_k/N instead of n_k, so that rotating B by a skew matrix X changes
        the objective at the rate -<G, X>; and a step X with <G, X> > 0 and elements of at most 1/2.
    """
    products = np.swapaxes(roots, 1, 2) @ roots
    variances = np.diagonal(products, axis1=1, axis2=2)
    weights = proportions[:, None] / variances
    half = np.einsum("ki,kij->ij", weights, products)
    gradient = half - half.T
    ratio = np.einsum("ki,kj->ij", weights, variances)
    off_diagonal = np.einsum("kij,ki,kj->ij", products**2, weights, 1 / variances)
    # The off-diagonal elements contribute curvature even if the variances are equal.
    curvature = np.maximum(ratio + ratio.T - 2, 1e-8) + off_diagonal

    def hessian_product(skew: Floats) -> Floats:
        """Product of the Hessian with a direction, a skew matrix (p, p)."""
        skewed = products @ skew
        changed_covariances = skewed + np.swapaxes(skewed, 1, 2)
        rates = weights * np.diagonal(changed_covariances, axis1=1, axis2=2) / variances
        change = np.einsum("ki,kij->ij", rates, products) - np.einsum(
            "ki,kij->ij", weights, changed_covariances
        )
        bracket = gradient @ skew
        return np.asarray(change - change.T + (bracket - bracket.T) / 2)

    step = np.zeros_like(gradient)
    residual = gradient
    direction = gradient / curvature
    residual_norm = first_norm = float((gradient * direction).sum())
    for _ in range(MAX_INNER_STEPS):
        curved_direction = hessian_product(direction)
        curvature_along = float((direction * curved_direction).sum())
        if curvature_along <= 0:
            step = step if step.any() else direction
            break
        step = step + residual_norm / curvature_along * direction
        residual = residual - residual_norm / curvature_along * curved_direction
        scaled = residual / curvature
        previous_norm = residual_norm
        residual_norm = float((residual * scaled).sum())
        # Solve more accurately close to the optimum for quadratic convergence.
        if residual_norm <= min(0.1, first_norm) * first_norm:
            break
        direction = scaled + residual_norm / previous_norm * direction
    return gradient, step / max(1.0, 2 * float(np.abs(step).max()))


def _pair_rotation(roots: Floats, proportions: Floats) -> Floats:
    """Return the rotation (p, p) that turns disjoint pairs of axes by the angle with the largest gain.

    The angles are `CANDIDATE_ANGLES`. Pairs are chosen in decreasing order of their gain, the decrease of the
    objective; a pair is rotated only if it exceeds `ROUGH_GAIN`. The rotation multiplies B from the right.

    Parameters
    ----------
    roots : (K, p, p) float
        Roots R_k B of the class covariances in the current axes B, with the class covariances R_k'R_k.
    proportions : (K,) float
        Class proportions.

    Returns
    -------
    (p, p) float
    """
    products = np.swapaxes(roots, 1, 2) @ roots
    variances = np.diagonal(products, axis1=1, axis2=2)
    mean_variances = (variances[:, :, None] + variances[:, None, :]) / 2
    half_differences = (variances[:, :, None] - variances[:, None, :]) / 2
    log_variances = np.log(variances)
    gains = np.empty((len(CANDIDATE_ANGLES), *products.shape[1:]))
    for gain, angle in zip(gains, CANDIDATE_ANGLES, strict=True):
        shift = half_differences * np.cos(2 * angle) + products * np.sin(2 * angle)
        variance_products = np.maximum(
            (mean_variances - shift) * (mean_variances + shift), np.finfo(np.float64).tiny
        )
        gain[:] = np.einsum(
            "k,kij->ij",
            proportions,
            log_variances[:, :, None] + log_variances[:, None, :] - np.log(variance_products),
        )
    best = np.triu(gains.max(axis=0), 1)
    rotation = np.eye(len(best))
    is_unused = np.ones(len(best), dtype=bool)
    for i, j in zip(*np.unravel_index(np.argsort(-best, axis=None), best.shape), strict=True):
        if best[i, j] <= ROUGH_GAIN:
            break
        if is_unused[i] and is_unused[j]:
            is_unused[[i, j]] = False
            angle = CANDIDATE_ANGLES[int(np.argmax(gains[:, i, j]))]
            rotation[[i, j], [i, j]] = np.cos(angle)
            rotation[[i, j], [j, i]] = -np.sin(angle), np.sin(angle)
    return rotation


def _line_search(objective: Callable[[float], float], value: float, slope: float) -> float:
    """Find the largest step size of 1, 1/2, 1/4, ... that decreases a function sufficiently, or 0.

    The decrease has to be at least 1e-4 times the step size times the slope (Armijo's condition).

    Parameters
    ----------
    objective : callable
        The function of the step size.
    value : float
        Its value at zero.
    slope : float
        Its derivative at zero, which is negative.

    Returns
    -------
    float
    """
    # Allow for rounding of the function values.
    value += 1e-15 * max(1.0, abs(value))
    for step_size in 0.5 ** np.arange(40):
        if objective(float(step_size)) <= value + 1e-4 * float(step_size) * slope:
            return float(step_size)
    return 0.0


def _warn_not_converged(model: str) -> None:
    """Issue a ConvergenceWarning that the fit of `model` (its name, with an article) did not converge."""
    warn_user(
        f"{model} did not converge in {MAX_STEPS} steps. Its likelihood is a lower bound.", ConvergenceWarning
    )


def _weighted_eigenvectors(roots: Floats, weights: Floats) -> Floats:
    """Return the eigenvectors of a weighted sum of class covariances.

    Parameters
    ----------
    roots : (K, p, p) float
        Roots R_k of the class covariances R_k'R_k.
    weights : (K,) float
        Weights of the covariances.

    Returns
    -------
    (p, p) float
        Eigenvectors in columns, in descending order of the eigenvalues.
    """
    stack = roots * np.sqrt(weights)[:, None, None]
    return np.asarray(svd(stack.reshape(-1, stack.shape[2]), full_matrices=False)[2].T)


def _component_objective(roots: Floats, proportions: Floats, rotation: Floats) -> float:
    """Return the objective that common principal components minimize, a weighted sum of log variances.

    It is sum_k pi_k sum_j ln l_kj, with l_kj the variance of class k along axis j.

    Parameters
    ----------
    roots : (K, p, p) float
        Roots R_k of the class covariances R_k'R_k.
    proportions : (K,) float
        Class proportions, the weights.
    rotation : (p, p) float
        Columns are the common axes.

    Returns
    -------
    float
    """
    return float(proportions @ np.log(_component_variances(roots, rotation)).sum(axis=1))


def _component_variances(roots: Floats, rotation: Floats) -> Floats:
    """Return the variances (K, p) of each class along the common axes, the columns of `rotation` (p, p)."""
    return np.asarray(((roots @ rotation) ** 2).sum(axis=1))


MAX_VARIANCE_RATIO = 1e14
"""Ratio of variances above which the axes of small variances are lost in rounding."""


def covariance_hierarchy(
    moments: ClassMoments, prior: Floats, *, estimated_prior: bool, factors: Sequence[Factors] = ()
) -> pd.DataFrame:
    """Fit all models of the hierarchy and return a table of their likelihoods and tests.

    Each model has df (number of parameters of means, covariances, and the prior if it is estimated), llf (of
    class and row jointly), aic and bic; LR, LR_df and p (statistic, degrees of freedom and p-value of the
    likelihood-ratio test) against the next model; LR_free, LR_free_df and p_free against the free model. The
    likelihood and tests of common principal components are NaN if the variances of the columns differ by a
    factor of more than 1e14.

    Parameters
    ----------
    moments : ClassMoments
        Moments by class; each class scatter has full rank.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior was estimated and counts as K - 1 parameters.
    factors : sequence of Factors
        Factor models, which are listed below the hierarchy, without a next model. A column `dimensions` has
        their numbers of factors by class as text, and is empty for the other models. They are tested against
        the free model only if the dimensions were specified, because the statistic of dimensions selected
        from the rows is not chi-square. The likelihood is NaN if a signal has less variance than the noise.

    Returns
    -------
    pandas.DataFrame
        One row for each model, indexed by its name ("factor" and the form for a factor model; index name
        "model"). Tests are NaN if two models coincide.

    Warns
    -----
    ConvergenceWarning
        If the proportional model or common principal components do not converge.

    Examples
    --------
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> codes, x = np.repeat([0, 1, 2], 50), iris.iloc[:, :4].to_numpy()
    >>> moments = ClassMoments.from_block(x, codes, n_classes=3, required_moments="class")
    >>> table = covariance_hierarchy(moments, np.full(3, 1 / 3), estimated_prior=True)
    >>> table[["df", "llf", "LR", "LR_df"]].round(2)
                                 df     llf      LR  LR_df
    model
    spherical                    15 -444.67  121.16    3.0
    diagonal                     18 -384.09  241.77    6.0
    common                       24 -263.20   35.04    2.0
    proportional                 26 -245.68   49.40    6.0
    common principal components  32 -220.98   65.21   12.0
    free                         44 -188.38     NaN    NaN
    """
    k = moments.n_classes
    p = moments.n_columns
    counts = moments.counts
    logdets = _log_determinants(moments)
    n_parameters = {
        "spherical": 1,
        "diagonal": p,
        "common": p * (p + 1) // 2,
        "proportional": p * (p + 1) // 2 + k - 1,
        "common principal components": p * (p - 1) // 2 + k * p,
        "free": k * p * (p + 1) // 2,
    }
    table = pd.DataFrame(index=pd.Index(list(n_parameters), name="model"))
    n_other_parameters = k * p + (k - 1 if estimated_prior else 0)
    table["df"] = [n_other_parameters + number for number in n_parameters.values()]
    table["llf"] = [log_likelihood(moments, logdets[name], log_of_prior(prior)) for name in n_parameters]
    table["aic"] = 2 * table["df"] - 2 * table["llf"]
    table["bic"] = np.log(moments.total) * table["df"] - 2 * table["llf"]
    # Use the determinants; differences of likelihoods would cancel.
    weighted_logdets = np.array([float(counts @ logdets[name]) for name in n_parameters])
    df = table["df"].to_numpy(dtype=np.float64)
    for prefix, ratio, ratio_df in (
        ("", np.append(weighted_logdets[:-1] - weighted_logdets[1:], np.nan), np.append(np.diff(df), np.nan)),
        (
            "_free",
            np.append(weighted_logdets[:-1] - weighted_logdets[-1], np.nan),
            np.append(df[-1] - df[:-1], np.nan),
        ),
    ):
        table[f"LR{prefix}"] = ratio
        table[f"LR{prefix}_df"] = ratio_df
        # For one column or one class some models coincide and cannot be tested.
        table[f"p{prefix}"] = np.where(
            ratio_df > 0, chi2_sf(ratio, np.where(ratio_df > 0, ratio_df, 1)), np.nan
        )
    if not factors:
        return table
    rows = [
        _factor_model_row(moments, prior, factor_model, n_other_parameters, int(df[-1]), weighted_logdets[-1])
        for factor_model in factors
    ]
    factor_rows = pd.DataFrame(rows, index=[f"factor {factor_model.form}" for factor_model in factors])
    table["dimensions"] = ""
    return pd.concat([table, factor_rows]).rename_axis("model").astype({"df": int})


def _factor_model_row(
    moments: ClassMoments,
    prior: Floats,
    model: Factors,
    n_other_parameters: int,
    n_free_parameters: int,
    free_logdets: float,
) -> dict[str, Any]:
    """Return the row of the table of `covariance_hierarchy` for one factor model.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    prior : (K,) float
        Prior probabilities of the classes.
    model : Factors
        The fitted factor model.
    n_other_parameters : int
        Number of parameters of means and prior.
    n_free_parameters : int
        Number of parameters of the free model.
    free_logdets : float
        Sum over classes of n_k times the log-determinant of the free model, in coordinates of the moments.

    Returns
    -------
    dict
        Values by column of the table; columns of likelihoods or tests that are not defined are omitted.
    """
    counts = moments.counts
    df = n_other_parameters + model.count_free_parameters()
    row: dict[str, Any] = {"df": df, "dimensions": ", ".join(str(d) for d in model.dimensions.tolist())}
    if model.fault() is not None:
        return row
    logdets = np.array([c.logdet for c in model.covariances(counts)])
    llf = log_likelihood(moments, logdets, log_of_prior(prior))
    row |= {"llf": llf, "aic": 2 * df - 2 * llf, "bic": np.log(moments.total) * df - 2 * llf}
    df_difference = n_free_parameters - df
    if model.options.method != "given" or not df_difference:
        return row
    ratio = float(counts @ logdets - free_logdets)
    pvalue = float(chi2_sf(np.array([ratio]), np.array([df_difference]))[0])
    return row | {"LR_free": ratio, "LR_free_df": df_difference, "p_free": pvalue}


def _log_determinants(moments: ClassMoments) -> dict[str, Floats]:
    """Fit the models of the hierarchy, and return the log-determinants (K,) of the class covariances of each.

    Keys are the names of the models. The determinants are of the maximum-likelihood covariances in the
    coordinates of the moments (data times `moments.scale`), also for the spherical model and common principal
    components, which are fitted in units of the data.
    """
    p = moments.n_columns
    counts = moments.counts
    common = pooled_covariance(moments, moments.total)
    by_class = class_covariances(moments, counts)
    log_scale = np.log(moments.scale)
    scale_term = 2.0 * float(log_scale.sum())
    log_variances = 2.0 * (np.log(common.sd) - log_scale)
    whitened = np.stack([common.whiten(c.root.T).T for c in by_class])
    factors, shape = fit_proportional(np.swapaxes(whitened, 1, 2) @ whitened, counts)
    shape_logdet = np.linalg.slogdet(shape)[1] + common.logdet
    return {
        "spherical": np.full(
            len(counts), p * (scipy.special.logsumexp(log_variances) - np.log(p)) + scale_term
        ),
        "diagonal": np.full(len(counts), 2.0 * np.log(common.sd).sum()),
        "common": np.full(len(counts), common.logdet),
        "proportional": p * np.log(factors) + shape_logdet,
        "common principal components": _component_logdets(by_class, counts, log_scale) + scale_term,
        "free": np.array([c.logdet for c in by_class]),
    }


def _component_logdets(covariances: tuple[Covariance, ...], counts: Floats, log_scale: Floats) -> Floats:
    """Fit common principal components, and return the log-determinants of the classes, in units of the data.

    Parameters
    ----------
    covariances : tuple of Covariance
        Maximum-likelihood covariances of the K classes, in coordinates of the moments.
    counts : (K,) float
        Number of rows of each class.
    log_scale : (p,) float
        Logarithms of the factors from units of the data to coordinates of the moments.

    Returns
    -------
    (K,) float
        NaN if two variances, of any column and class, differ by a factor above `MAX_VARIANCE_RATIO`.
    """
    log_sd = np.log([c.sd for c in covariances]) - log_scale
    if 2 * (log_sd.max() - log_sd.min()) > np.log(MAX_VARIANCE_RATIO):
        return np.full(len(counts), np.nan)
    # A common factor for all columns prevents overflow and does not change the model.
    common_log_sd = log_sd.mean()
    roots = np.stack([c.root for c in covariances]) * np.exp(-log_scale - common_log_sd)
    variances = fit_common_components(roots, counts)[1]
    return np.asarray(np.log(variances).sum(axis=1) + 2 * len(log_scale) * common_log_sd)
