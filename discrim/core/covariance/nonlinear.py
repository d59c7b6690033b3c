"""Analytical nonlinear shrinkage of the eigenvalues of a covariance (Ledoit & Wolf, 2020).

Source: Annals of Statistics 48, 3043-3065. Equation numbers refer to the paper and its supplement (C).

A sample covariance S = U diag(l) U' of p columns and n degrees of freedom keeps its eigenvectors, and each
eigenvalue is replaced by an estimate of u'Sigma u, the variance that the true covariance has along the
eigenvector u. If p / n tends to a constant, the limit of u'Sigma u depends on the distribution of the sample
eigenvalues alone: on its density f and on the Hilbert transform H of f. Both are estimated by a kernel
(4.7-4.9) whose bandwidth h_j = l_j n^(-1/3) is proportional to the eigenvalue. With c = p / n (4.3)

    d_i = l_i / ((pi c l_i f(l_i))^2 + (1 - c - pi c l_i H(l_i))^2).

*More columns than degrees of freedom.* Only n eigenvalues are positive, and f and H refer to the positive
ones. For these and for the p - n eigenvalues of zero (C.4, C.5, C.8)

    d_i = l_i / ((pi l_i f(l_i))^2 + (pi l_i H(l_i))^2),    d_0 = n / (pi (p - n) H(0)).

*The kernel* is the Epanechnikov kernel with variance one. With v = (l_i - l_j) / (sqrt(5) h_j) its density is
proportional to (1 - v^2)+, and its Hilbert transform to -g(v) with

    g(v) = v + (1 - v^2) ln|(1 + v) / (1 - v)| / 2.

For large v the two terms cancel. There g is computed from its series 2 sum_k v^-(2k+1) / ((2k+1) (2k+3)).

The d_i do not depend on the units: if S is multiplied by a number, they are multiplied by the same number.
They are not rescaled to the trace of S, and their sum differs from it by sampling error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discrim.core.covariance.covariance import Covariance, Dependency, dependencies, qr_rounding
from discrim.core.covariance.model import (
    TARGET_UNITS,
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    TargetUnits,
    class_divisor_pairs,
    dependencies_if_all_constant,
)
from discrim.core.covariance.principal import (
    PrincipalAxes,
    ThinCovariance,
    principal_axes,
    single_scatter_moments,
)
from discrim.core.errors import SingularEstimateError, positions_at_fault
from discrim.core.moments.moments import ClassMoments, deviations_from_class_means
from discrim.core.moments.row_sums import triangular_root
from discrim.core.numerics.arrays import EPS, Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import (
    MIN_DETERMINANT_RATIO,
    LeaveOneOutScorer,
    compute_removal,
    mark_refits,
)

MIN_DF = 12
"""Fewest degrees of freedom for which the kernels, of half-width sqrt(5) h_j, exclude zero."""

MIN_SERIES_ARGUMENT = 4.0
"""Value of |v| from which g(v) is computed from its series, to 1e-17 relative to its size."""

SERIES_COEFFICIENTS = [2.0 / ((2 * k + 1) * (2 * k + 3)) for k in range(13)]
"""Coefficients of the series of g(v) in odd powers of 1/v."""

MAX_CHUNK_PAIRS = 2**18
"""Maximum number of pairs of eigenvalues that are evaluated together."""


@dataclass(frozen=True, slots=True)
class NonlinearCovariance(CovarianceModel):
    """Covariance with eigenvalues shrunk by analytical nonlinear shrinkage.

    Linearly dependent columns are not allowed, unless there are more columns than degrees of freedom.

    Attributes
    ----------
    target_units : TargetUnits
        Units of the columns in which eigenvalues are computed.
    """

    target_units: TargetUnits = TARGET_UNITS[0]

    name = "nonlinear"
    traits = CovarianceTraits(is_regular=True)

    def dependent_columns(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return linearly dependent columns of class k, or within classes if k is None.

        With more columns than degrees of freedom, return all columns if every column is constant, else none.
        """
        is_wide = degrees_of_freedom(moments, k) < moments.n_columns
        return dependencies_if_all_constant(moments, k) if is_wide else dependencies(moments, k)

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariances, pooled or by class, with divisors (1,) or (K,) of the scatters.

        Raises SingularEstimateError with fewer than `MIN_DF` degrees of freedom.
        """
        moments = self.rescale_moments(moments)
        standardized = self.target_units.moments_in_target_units(moments)
        return CovarianceEstimates(
            self,
            moments,
            tuple(nonlinear_covariance(standardized, d, k) for k, d in class_divisor_pairs(divisors)),
        )

    def eigenvalues(self, moments: ClassMoments, divisors: Floats) -> list[tuple[Floats, Floats]]:
        """Compute the eigenvalues of each covariance before and after shrinkage.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        divisors : (1,) or (K,) float
            Divisors of the scatters, one for a pooled covariance or one for each class.

        Returns
        -------
        list of (sample, shrunk)
            For each covariance, both (p,), in decreasing order of the sample eigenvalues, which are zero
            after the rank; in the units of the data or of standardized columns.

        Raises
        ------
        SingularEstimateError
            There are fewer than `MIN_DF` degrees of freedom.
        """
        standardized = self.target_units.moments_in_target_units(self.rescale_moments(moments))
        pairs = []
        for k, divisor in class_divisor_pairs(divisors):
            axes, shrunk = shrunk_axes(standardized, k)
            sample = np.pad(axes.eigenvalues, (0, len(shrunk) - len(axes.eigenvalues)))
            # The axes refer to columns in the units of the data times a constant.
            square = divisor * (standardized.scale[0] * axes.unit[0]) ** 2
            pairs.append((sample / square, shrunk / square))
        return pairs

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return the leave-one-out scorer, which shrinks the eigenvalues again without each row.

        Standardized columns keep the standard deviations of all rows. Scores are NaN for rows that require a
        refit.
        """
        return self.target_units.leave_one_out_scorer(fitted, nonlinear_leave_one_out_scorer)


def degrees_of_freedom(moments: ClassMoments, k: int | None) -> float:
    """Return the degrees of freedom n_k - 1 of class k, or N - K of all classes if k is None."""
    return moments.total - moments.n_classes if k is None else float(moments.counts[k]) - 1.0


def nonlinear_covariance(moments: ClassMoments, divisor: float, k: int | None) -> Covariance:
    """Estimate the covariance of a class, or the pooled one.

    Parameters
    ----------
    moments : ClassMoments
        Moments without linearly dependent columns, unless there are more columns than degrees of freedom.
    divisor : float
        Divisor of the scatter.
    k : int or None
        Position of the class; None for the pooled covariance.

    Returns
    -------
    Covariance
        A `ThinCovariance` if there are fewer axes than columns.

    Raises
    ------
    SingularEstimateError
        There are fewer than `MIN_DF` degrees of freedom.
    """
    axes, shrunk = shrunk_axes(moments, k)
    variances = shrunk / divisor
    r, p = len(axes.eigenvalues), axes.n_columns
    if r < p:
        return ThinCovariance.on_axes(axes, variances[:r], float(variances[-1]))
    return Covariance.from_root(triangular_root(np.sqrt(variances)[:, None] * axes.axes / axes.unit))


def shrunk_axes(moments: ClassMoments, k: int | None) -> tuple[PrincipalAxes, Floats]:
    """Compute the principal axes of a scatter and the shrunk eigenvalues.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    k : int or None
        Position of the class; None for the pooled scatter.

    Returns
    -------
    axes : PrincipalAxes
        The r axes of positive eigenvalues.
    shrunk : (p,) float
        Shrunk eigenvalues of the scatter of trace one. Those after the first r are equal.

    Raises
    ------
    SingularEstimateError
        There are fewer than `MIN_DF` degrees of freedom.
    """
    axes = positive_axes(moments, k)
    r, p = len(axes.eigenvalues), axes.n_columns
    df = degrees_of_freedom(moments, k) if r == p else r
    if df < MIN_DF:
        raise SingularEstimateError(
            "few_degrees_of_freedom", class_positions=positions_at_fault(k), df=df, least=MIN_DF
        )
    return axes, shrink_eigenvalues(axes.eigenvalues, p, df)


def positive_axes(moments: ClassMoments, k: int | None) -> PrincipalAxes:
    """Compute the principal axes of positive eigenvalues of a scatter.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    k : int or None
        Position of the class; None for the pooled scatter.

    Returns
    -------
    PrincipalAxes
        All p axes with at least p degrees of freedom; otherwise at most as many axes as degrees of freedom,
        and fewer if rows are repeated.
    """
    group = single_scatter_moments(moments, k)
    axes = principal_axes(group)
    if axes.axes is None or axes.df >= axes.n_columns:
        return axes
    rounding = axes.n_columns * EPS if group.roots is None else qr_rounding(group) ** 2
    eigenvalues = axes.eigenvalues[: axes.df]
    r = int((eigenvalues > rounding * eigenvalues[0]).sum())
    return replace(axes, eigenvalues=eigenvalues[:r], axes=axes.axes[:r])


def shrink_without_row(
    axes: PrincipalAxes, deviation: Floats, downdate_factor: float, df: float
) -> tuple[Floats, Floats] | None:
    """Shrink the eigenvalues of a scatter from which a row is removed.

    With D the roots of the eigenvalues and f = D^-1 e, the scatter D^2 - c e e' without the row has the root
    D - a f e', a = (1 - sqrt(1 - c f'f)) / f'f, whose singular value decomposition keeps the digits of
    small eigenvalues.

    Parameters
    ----------
    axes : PrincipalAxes
        Principal axes of the scatter with their r positive eigenvalues.
    deviation : (r,) float
        Deviation e of the row from the mean of its class, on the axes.
    downdate_factor : float
        Factor c of e e'. Infinity marks a row without which the scatter has one dimension less.
    df : float
        Degrees of freedom without the row.

    Returns
    -------
    shrunk : (p,) float
        Shrunk eigenvalues of the scatter without the row, in the units of the axes.
    rotation : (r, r) float
        Its eigenvectors in rows, on the axes; without a dimension the last has an eigenvalue of zero.
    The result is None if too few digits or degrees of freedom remain.
    """
    r, p = len(axes.eigenvalues), axes.n_columns
    sd = np.sqrt(axes.eigenvalues)
    f = deviation / sd
    squared_norm = float(f @ f)
    determinant_ratio = 0.0 if np.isinf(downdate_factor) else 1.0 - downdate_factor * squared_norm
    rank = r - 1 if np.isinf(downdate_factor) else r
    if (determinant_ratio <= MIN_DETERMINANT_RATIO and rank == r) or (df if rank == p else rank) < MIN_DF:
        return None
    factor = (1.0 - np.sqrt(determinant_ratio)) / squared_norm if squared_norm else 0.0
    _, singular_values, rotation = np.linalg.svd(np.diag(sd) - np.outer(factor * f, deviation))
    return shrink_eigenvalues(singular_values[:rank] ** 2, p, df), rotation


def nonlinear_leave_one_out_scorer(fitted: NormalClasses) -> LeaveOneOutScorer:
    """Return the leave-one-out scorer for covariances by nonlinear shrinkage, pooled or by class.

    The eigenvalues are shrunk again without each row. Scores are NaN for rows that require a refit.
    """
    moments, divisors = fitted.moments, fitted.divisors
    common = len(divisors) == 1
    all_axes = [positive_axes(moments, k) for k, _ in class_divisor_pairs(divisors)]
    dfs = [degrees_of_freedom(moments, k) for k, _ in class_divisor_pairs(divisors)]
    extended_axes = [
        axes.extend_to(moments.means.T - moments.means[:1].T) if common else axes for axes in all_axes
    ]
    centres = extended_axes[0].project(moments.means.T)
    rule = None if common else gaussian.class_plugin_rule(moments, fitted.covariances, fitted.log_prior)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute leave-one-out scores (m, K) of rows x (m, p).

        Parameters
        ----------
        x : (m, p) float
            Rows, in the units of the data.
        codes : (m,) int
            Positions of the classes of the rows.
        weights : (m,) float, optional
            Weights of the rows; by default one.

        Returns
        -------
        (m, K) float
            Log prior plus log density up to a constant for each row; NaN for rows that require a refit, and
            minus infinity for the class of a row that is alone in it.
        """
        covariance_index = np.zeros_like(codes) if common else codes
        removals = compute_removal(
            moments.counts[codes],
            weights,
            divisors[covariance_index],
            total_weight=moments.total if common else None,
        )
        is_whole = ~removals.is_alone if weights is None else ~removals.is_alone & (weights <= 1)
        log_scores = np.empty((moments.n_classes, len(codes))) if rule is None else np.array(rule.scores(x).T)
        z = deviations_from_class_means(moments, x, codes)
        for i, (code, k) in enumerate(zip(codes.tolist(), covariance_index.tolist(), strict=True)):
            axes = all_axes[k]
            r = len(axes.eigenvalues)
            e = extended_axes[k].project(z[:, [i]])
            downdate_factor = (
                np.inf if axes.is_saturated and is_whole[i] else float(removals.downdate_factor[i])
            )
            downdate = shrink_without_row(axes, e[:r, 0], downdate_factor, dfs[k] - removals.weight[i])
            if downdate is None:
                log_scores[:, i] = np.nan
                continue
            shrunk, rotation = downdate
            mean_deviations = e + centres[:, [code]] - centres if common else np.zeros((r, moments.n_classes))
            mean_deviations[:, [code]] = e * np.sqrt(removals.distance_factor[i])
            rotated = np.concatenate([rotation @ mean_deviations[:r], mean_deviations[r:]])
            divisor = divisors[k] * removals.divisor_ratio[i]
            d2 = divisor * (rotated**2 / shrunk[: len(rotated), None]).sum(axis=0)
            if common:
                log_scores[:, i] = fitted.log_prior - 0.5 * d2
            else:
                logdet = np.log(shrunk / divisor).sum() - 2.0 * np.log(axes.unit).sum()
                log_scores[code, i] = fitted.log_prior[code] - 0.5 * (logdet + d2[code])
        return mark_refits(log_scores, codes, removals, np.asarray(np.isnan(log_scores).any(axis=0))).T

    return scores


def shrink_eigenvalues(eigenvalues: Floats, n_columns: int, df: float) -> Floats:
    """Compute the shrunk eigenvalues of a covariance.

    Parameters
    ----------
    eigenvalues : (r,) float
        The positive eigenvalues, in any order.
    n_columns : int
        Number of columns, p, at least r.
    df : float
        Degrees of freedom of the covariance, n; p is used if n is smaller, which small weights can cause.
        Not used if r < p, because the number of positive eigenvalues is then the degrees of freedom.

    Returns
    -------
    (p,) float
        Shrunk eigenvalues in the same order, followed by p - r times the value for eigenvalues of zero.

    Examples
    --------
    >>> shrink_eigenvalues(np.array([4.0, 1.0, 0.5]), 3, 20).round(4).tolist()
    [4.1191, 1.0958, 0.7535]
    """
    r = len(eigenvalues)
    n = max(df, n_columns) if r == n_columns else r
    bandwidth = float(n) ** (-1 / 3)
    density, hilbert = spectral_density(eigenvalues, bandwidth)
    if r == n_columns:
        ratio = n_columns / n
        return np.asarray(eigenvalues / ((ratio * density) ** 2 + (1.0 - ratio - ratio * hilbert) ** 2))
    smallest = eigenvalues.min()
    harmonic_mean = smallest / (smallest / eigenvalues).mean()
    at_zero = _kernel_factor(bandwidth) * float(_hilbert_kernel(np.array(1.0 / (np.sqrt(5.0) * bandwidth))))
    null = n * harmonic_mean / ((n_columns - n) * at_zero)
    return np.concatenate([eigenvalues / (density**2 + hilbert**2), np.full(n_columns - r, null)])


def spectral_density(eigenvalues: Floats, bandwidth: float) -> tuple[Floats, Floats]:
    """Estimate the density of positive eigenvalues and its Hilbert transform, at the eigenvalues.

    Parameters
    ----------
    eigenvalues : (r,) float
        Positive eigenvalues.
    bandwidth : float
        Bandwidth of the kernel of each eigenvalue, relative to the eigenvalue.

    Returns
    -------
    density, hilbert : (r,) float
        Both times pi and times the eigenvalue, which makes them independent of the units.
    """
    r = len(eigenvalues)
    density, hilbert = np.empty(r), np.empty(r)
    step = max(1, MAX_CHUNK_PAIRS // r)
    for start in range(0, r, step):
        chunk = slice(start, start + step)
        chunk_eigenvalues = eigenvalues[chunk, None]
        v = (chunk_eigenvalues - eigenvalues) / (np.sqrt(5.0) * bandwidth * eigenvalues)
        weight = chunk_eigenvalues / eigenvalues
        density[chunk] = (weight * np.maximum((1.0 - v) * (1.0 + v), 0.0)).mean(axis=1)
        hilbert[chunk] = (weight * _hilbert_kernel(v)).mean(axis=1)
    factor = _kernel_factor(bandwidth)
    return factor * np.pi / 2 * density, -factor * hilbert


def _kernel_factor(bandwidth: float) -> float:
    """Return 3 / (2 sqrt(5) h), the constant of the Hilbert transform of the kernel with bandwidth h.

    The Hilbert transform times pi is this constant times -g(v), the negative of `_hilbert_kernel`.
    """
    return 1.5 / (float(np.sqrt(5.0)) * bandwidth)


def _hilbert_kernel(v: Floats) -> Floats:
    """Return g(v) = v + (1 - v^2) ln|(1 + v) / (1 - v)| / 2 of an array v of any shape; v for abs(v) = 1."""
    is_far = np.abs(v) > MIN_SERIES_ARGUMENT
    result = np.array(v, dtype=np.float64)
    inner = v[~is_far]
    with np.errstate(divide="ignore", invalid="ignore"):
        second = 0.5 * (1.0 - inner) * (1.0 + inner) * np.log(np.abs((1.0 + inner) / (1.0 - inner)))
    result[~is_far] += np.where(np.abs(inner) == 1.0, 0.0, second)
    inverse = 1.0 / v[is_far]
    square, series = inverse**2, np.full_like(inverse, SERIES_COEFFICIENTS[-1])
    for coefficient in SERIES_COEFFICIENTS[-2::-1]:
        series *= square
        series += coefficient
    result[is_far] = inverse * series
    return result
