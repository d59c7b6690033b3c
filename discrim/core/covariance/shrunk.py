"""Covariances shrunk towards a sphere, and their rules without each row.

A covariance S of p columns is shrunk towards the sphere of the same total variance,

    (1 - g) S + g tr(S)/p I,   0 <= g <= 1,

which keeps the eigenvectors and moves every eigenvalue towards their mean. The sphere refers to the units of
the data: shrinkage depends on the units of the columns.

*Intensity.* The shrinkage g with the smallest expected squared error depends on the true covariance; the
*oracle approximating shrinkage* (OAS) replaces it by estimates iteratively until convergence (Chen,
Wiesel, Eldar & Hero, 2010, IEEE Transactions on Signal Processing 58, 5016-5029, eq. 23):

    g = min(1, ((1 - 2/p) tr(S^2) + tr(S)^2) / ((n + 1 - 2/p) (tr(S^2) - tr(S)^2/p))).

Like scikit-learn's `OAS`, this module omits the terms 2/p, which vanish for many columns, and uses g = 0 for
one column. n is the number of rows, N or n_k, for any divisor of S: g does not depend on the divisor. Here g
is at least 1/(n + 1), therefore the shrunk covariance of two or more columns is regular unless nothing
varies: its condition number is at most p (n + 1).

*Leaving a row out.* With W = U L U' and tr(W) = 1, removing a row with deviation d from the mean of its class
leaves W - c d d', c = w n_g / (n_g - w), whose trace and distance from the sphere depend on e = U'd only:

    t = 1 - c e'e,   |W - c d d' - t/p I|^2 = |W - I/p|^2 - 2 c e'(L - I/p) e + c^2 (1 - 1/p) (e'e)^2.

Therefore each row has its own shrinkage g, and the shrunk scatter without it is U (A - b e e') U' with the
diagonal A = (1 - g) L + g t/p I and b = (1 - g) c: the Sherman-Morrison formula gives its distances, and the
matrix determinant lemma its log-determinant ln|A| + ln(1 - b e'A^-1 e). A sphere is the case g = 1. A fixed
shrinkage is kept; the one by Ledoit & Wolf follows from `shrinkage.PowerSums`. In the principal axes every
shrinkage is diagonal, so each row is projected once and scored under all candidates.

*More columns than rows.* Then e and U refer to the span of the rows; in the complement A is g t/p =: s, and
1 - b e'A^-1 e would cancel, because the row was alone in some direction. With r = s/(1 - g) it is the sum
1 - c e'L^-1 e + c r e'[L (L + r I)]^-1 e. If W has as many axes as degrees of freedom, e'L^-1 e is
1/w - 1/n_g, and the sum of the first two terms is exactly 0 for a row of weight one, and has a closed form
for larger weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance import shrinkage
from discrim.core.covariance.covariance import (
    Covariance,
    Dependency,
    dependencies,
    pooled_covariance,
    scaled_cholesky,
)
from discrim.core.covariance.model import (
    TARGET_UNITS,
    CovarianceEstimates,
    CovarianceTraits,
    NormalClasses,
    SingleShrinkageModel,
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
from discrim.core.covariance.shrinkage import MIN_RATIO_FOR_LABELS, CandidateScorer, PowerSums, Shrinkage
from discrim.core.errors import CoreCollinearError, CoreDataError
from discrim.core.moments.derived_moments import limit_scales
from discrim.core.moments.moments import ClassMoments, deviations_from_class_means
from discrim.core.moments.row_sums import RowBlocks, triangular_root
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import (
    MIN_DETERMINANT_RATIO,
    LeaveOneOutScorer,
    Removal,
    compute_removal,
    mark_refits,
)


@dataclass(frozen=True, slots=True)
class ShrunkCovariance(SingleShrinkageModel):
    """Covariance shrunk towards a sphere.

    Attributes
    ----------
    shrinkage : Shrinkage
        Amount of shrinkage g, and the rule that determines it.
    target_units : TargetUnits
        Units in which the target is a sphere.
    """

    shrinkage: Shrinkage = field(default_factory=lambda: Shrinkage("oas"))
    target_units: TargetUnits = TARGET_UNITS[0]

    name = "shrunk"
    traits = CovarianceTraits(is_regular=True, allows_subspace=True)
    shrinkage_rules = ("given", "oas", "ledoit-wolf", "loo")

    def in_data_units(self) -> ShrunkCovariance:
        """Return the model to use if the columns have already been standardized: they keep their units."""
        return replace(self, target_units=TARGET_UNITS[0])

    def requires_full_rank(self, n_columns: int) -> bool:
        """Return whether columns have to be linearly independent, because the smallest shrinkage is zero.

        Values up to `n_columns` machine epsilons count as zero. False before the shrinkage is determined.
        """
        return self.shrinkage.is_negligible(n_columns)

    def dependent_columns(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return all columns if none varies within class k (or within classes if k is None), else none.

        If the shrinkage is zero, return the linearly dependent columns instead.
        """
        # With more columns than rows, `requires_full_rank` refuses their number.
        thin = moments.scatter_type in ("thin", "thin class")
        g = None if thin else self.shrinkage.for_class(k)
        if g is not None and self.shrinkage.with_values((g,)).is_negligible(moments.n_columns):
            return dependencies(moments, k)
        return dependencies_if_all_constant(moments, k)

    @property
    def depends_on_units(self) -> bool:
        """Whether columns are not standardized, and a shrinkage is positive or not determined yet."""
        return self.target_units.in_data and (not self.shrinkage.values or any(self.shrinkage.values))

    def fit_to_rows(self, rows: RowBlocks, moments: ClassMoments, divisors: Floats) -> ShrunkCovariance:
        """Return a copy with the shrinkages by Ledoit & Wolf's rule, or the model itself for other rules.

        Parameters
        ----------
        rows : iterable of blocks
            Blocks (x, codes, weights) of the rows.
        moments : ClassMoments
            Moments of these rows.
        divisors : (1,) or (K,) float
            Only their number is used: one shrinkage, or one for each class.

        Returns
        -------
        ShrunkCovariance
            With one value of the shrinkage for each divisor.
        """
        if self.shrinkage.rule != "ledoit-wolf":
            return self
        moments = limit_scales(moments)
        fourths = shrinkage.fourth_power_sums(rows, moments, by_class=len(divisors) > 1).tolist()
        shrinkages = [
            ledoit_wolf_shrinkage(moments, f, k)
            for f, (k, _) in zip(fourths, class_divisor_pairs(divisors), strict=True)
        ]
        return self.with_shrinkages(*shrinkages)

    def rescale_moments(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments rescaled by `target_units`; unchanged if all shrinkages are known to be zero."""
        is_unshrunk = bool(self.shrinkage.values) and not any(self.shrinkage.values)
        return moments if is_unshrunk else self.target_units.rescale_moments(moments)

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariances with shrinkages that were determined before, or else by `oas_shrinkage`.

        The model of the result contains the shrinkages, one for each of the divisors (1,) or (K,).
        """
        moments = self.rescale_moments(moments)
        standardized = self.target_units.moments_in_target_units(moments)
        estimates = [
            shrunk_covariance(standardized, d, self.shrinkage.for_class(k), k)
            for k, d in class_divisor_pairs(divisors)
        ]
        fitted_model = self.with_shrinkages(*[g for _, g in estimates])
        return CovarianceEstimates(fitted_model, moments, tuple(covariance for covariance, _ in estimates))

    def candidate_scores(self, moments: ClassMoments, divisors: Floats, log_prior: Floats) -> CandidateScorer:
        """Return leave-one-out scores under each candidate of the shrinkage.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        divisors : (1,) or (K,) float
            Divisors of the scatters, one for a pooled covariance or one for each class.
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.

        Returns
        -------
        CandidateScorer
            Yields the scores for each element of `shrinkage.grid`, in this order. With covariances by class,
            all classes have the same shrinkage. Scores are NaN for rows that are too inaccurate even for a
            prediction.
        """
        grid = np.array(self.shrinkage.grid)
        moments = limit_scales(moments)
        if len(divisors) == 1:
            return common_candidate_scores(moments, float(divisors[0]), log_prior, grid)
        return separate_candidate_scores(moments, divisors, log_prior, grid)

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return the closed-form leave-one-out scorer, which uses the principal axes of the scatters.

        A shrinkage by "oas" is computed without each row, and by "ledoit-wolf" if `fitted.rows` is present;
        other shrinkages are kept.
        """
        if not self.target_units.in_data:
            return self.target_units.leave_one_out_scorer(fitted, self.in_data_units().leave_one_out_scorer)
        moments = self.rescale_moments(fitted.moments)
        divisors = fitted.divisors
        rows = fitted.rows
        axes = [principal_axes(moments, k) for k, _ in class_divisor_pairs(divisors)]
        intensities: list[IntensityFunction] = [
            self._intensity_function(k) for k, _ in class_divisor_pairs(divisors)
        ]
        if rows is not None and self.shrinkage.rule == "ledoit-wolf":
            powers = shrinkage.power_sums_on_axes(rows, moments, axes[0] if len(axes) == 1 else axes)
            intensities = [
                ledoit_wolf_without_rows(p) for p in ([powers] if isinstance(powers, PowerSums) else powers)
            ]
        return shrunk_leave_one_out_scorer(replace(fitted, moments=moments), intensities)

    def _intensity_function(self, k: int | None) -> IntensityFunction:
        """Return the function that computes the shrinkage of class k, or the pooled one, without a row.

        It is `oas_without_rows` for "oas" or before the shrinkage is determined, else a constant function.
        """
        g = self.shrinkage.for_class(k)
        if g is None or self.shrinkage.rule == "oas":
            return oas_without_rows
        return lambda spectrum, rows: np.full(rows.e.shape[1], g)


def oas_shrinkage(moments: ClassMoments, k: int | None = None) -> float:
    """Return the oracle approximating shrinkage (OAS) of the covariance of a class, or of the pooled one.

    It equals the shrinkage of scikit-learn's `OAS` fitted to the rows of the class, or to all rows minus the
    means of their classes.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    k : int, optional
        Position of the class; by default the pooled covariance.

    Returns
    -------
    float
        In [0, 1]: zero for one column, one if all columns are constant.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 4.0], [6.0, 9.0]])
    >>> round(oas_shrinkage(ClassMoments.from_block(rows, np.zeros(4, dtype=np.intp), n_classes=1)), 6)
    0.804534
    """
    group = single_scatter_moments(moments, k)
    if group.n_columns == 1:
        return 0.0
    distance = _squared_sphere_distance(group)
    return 1.0 if distance is None else float(oas_intensity(np.array(distance), group.total, group.n_columns))


def ledoit_wolf_shrinkage(moments: ClassMoments, fourth: float, k: int | None = None) -> float:
    """Return Ledoit & Wolf's shrinkage of the covariance of a class, or of the pooled covariance.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    fourth : float
        Sum of fourth powers |d|^4 of the deviations d from class means, scaled to a scatter of trace one.
    k : int, optional
        Position of the class; by default the pooled covariance.

    Returns
    -------
    float
        In [0, 1]: zero for one column, one if all columns are constant.
    """
    group = single_scatter_moments(moments, k)
    if group.n_columns == 1:
        return 0.0
    distance = _squared_sphere_distance(group)
    if distance is None:
        return 1.0
    return float(
        shrinkage.ledoit_wolf_intensity(np.array(distance), np.array(fourth), group.total, group.n_columns)
    )


def _squared_sphere_distance(moments: ClassMoments) -> float | None:
    """Return |S - I/p|^2, with S the only scatter of the moments divided by its trace.

    None if the trace is zero: all columns are constant.
    """
    if moments.scatter_type == "thin":
        return principal_axes(moments).squared_sphere_distance if moments.squares.any() else None
    ratio = moments.common_unit
    scatter = moments.scatters[0] * ratio * ratio[:, None]
    total = float(np.trace(scatter))
    if not total > 0:
        return None
    # Scaled to trace one, because squares could overflow. The squares about the sphere are summed term by
    # term: a difference of traces would lose all digits near the sphere.
    unit = scatter / total
    unit[np.diag_indices(moments.n_columns)] -= 1.0 / moments.n_columns
    return float((unit**2).sum())


def oas_intensity(distance: Floats, count: float | Floats, p: int) -> Floats:
    """Compute the oracle approximating shrinkage (OAS).

    Parameters
    ----------
    distance : (...) float
        |S - I/p|^2 (squared Frobenius norm) for a covariance S of trace one.
    count : float or (...) float
        Number of rows, or sum of weights.
    p : int
        Number of columns.

    Returns
    -------
    (...) float
        Shrinkages in [0, 1].
    """
    if p == 1:
        return np.zeros_like(distance)
    numerator = distance + 1.0 / p + 1.0
    denominator = (count + 1.0) * distance
    return np.where(
        numerator >= denominator, 1.0, numerator / np.where(numerator >= denominator, 1.0, denominator)
    )


def shrunk_covariance(
    moments: ClassMoments, divisor: float, shrinkage: float | None = None, k: int | None = None
) -> tuple[Covariance, float]:
    """Compute a covariance shrunk towards a sphere in the units of the data.

    Parameters
    ----------
    moments : ClassMoments
        Without linearly dependent columns if the shrinkage is zero.
    divisor : float
        Divisor of the scatter.
    shrinkage : float, optional
        By default the result of `oas_shrinkage`.
    k : int, optional
        Position of the class; by default the pooled covariance.

    Returns
    -------
    covariance : Covariance
        In the coordinates of the moments; a `ThinCovariance` for thin moments.
    shrinkage : float
        The shrinkage that was used.

    Raises
    ------
    CoreDataError
        The shrinkage is not between 0 and 1, or it is 0 for thin moments.
    CoreCollinearError
        All columns are constant.
    """
    group = single_scatter_moments(moments, k)
    if group.scatter_type == "thin":
        _mean_square(group)
        axes = principal_axes(group)
        g = oas_shrinkage(group) if shrinkage is None else float(shrinkage)
        if not 0 < g <= 1:
            raise CoreDataError("shrinkage_too_small", shrinkage=shrinkage)
        sphere = g / axes.n_columns / divisor
        return ThinCovariance.on_axes(axes, (1.0 - g) * axes.eigenvalues / divisor + sphere, sphere), g
    g = oas_shrinkage(group) if shrinkage is None else float(shrinkage)
    if not 0 <= g <= 1:
        raise CoreDataError("shrinkage_out_of_range", shrinkage=shrinkage)
    sphere = g * _mean_square(group)
    if g == 0:
        return pooled_covariance(group, divisor), g
    if g == 1:
        return Covariance.from_root(np.diag(spherical_covariance(group, divisor).root)), g
    unit = group.common_unit
    if group.roots is not None:
        rows = np.sqrt(1.0 - g) * group.roots[0] * unit
        root = triangular_root(np.concatenate([rows, np.sqrt(sphere) * np.eye(group.n_columns)]))
    else:
        total = (1.0 - g) * (group.scatters[0] * unit * unit[:, None])
        total[np.diag_indices(group.n_columns)] += sphere
        root = scaled_cholesky(total)
    return Covariance.from_root(root / unit / np.sqrt(divisor)), g


def spherical_covariance(moments: ClassMoments, divisor: float, k: int | None = None) -> Covariance:
    """Compute the covariance tr(S)/p I, with one variance for all columns in the units of the data.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    divisor : float
        Divisor of the scatter.
    k : int, optional
        Position of the class; by default the pooled covariance.

    Returns
    -------
    Covariance
        Diagonal, in the coordinates of the moments.

    Raises
    ------
    CoreCollinearError
        All columns are constant.
    """
    group = single_scatter_moments(moments, k)
    return Covariance.from_root(np.sqrt(_mean_square(group) / divisor) / group.common_unit)


def _mean_square(moments: ClassMoments) -> float:
    """Return tr(W)/p for moments with one scatter W, in the common unit of the columns.

    Raises CoreCollinearError if it is zero.
    """
    ratio = moments.common_unit
    squares = moments.squares[0]
    # Factor by factor: the square of a ratio may underflow.
    mean = float((squares * ratio * ratio).sum()) / moments.n_columns
    if not mean > 0:
        raise CoreCollinearError("nothing_to_shrink")
    return mean


@dataclass(frozen=True, slots=True, eq=False)
class RemovedRows:
    """m rows that are left out one at a time.

    Attributes
    ----------
    e : (r, m) float
        Deviations from the class means (with the row), on the principal axes of a scatter of trace one.
    codes : (m,) int
        Class of each row.
    removal : Removal
        Weights that are left out.
    weights : (m,) float or None
        Weights of the rows in the fit; None if all are one.
    """

    e: Floats
    codes: Codes
    removal: Removal
    weights: Floats | None

    @property
    def trace(self) -> Floats:
        """Traces (m,) of the scatter without each row, relative to the trace with it."""
        return np.asarray(1.0 - self.removal.downdate_factor * (self.e**2).sum(axis=0))

    def squared_sphere_distance(self, spectrum: PrincipalAxes) -> Floats:
        """Return |S - I/p|^2 (m,), with S the scatter without each row, divided by its trace."""
        p = spectrum.n_columns
        c = self.removal.downdate_factor
        squares = (self.e**2).sum(axis=0)
        excess = spectrum.eigenvalues - 1.0 / p
        squared_distances = (
            spectrum.squared_sphere_distance
            - 2.0 * c * (excess @ self.e**2)
            + (1.0 - 1.0 / p) * (c * squares) ** 2
        )
        return np.asarray(squared_distances / self.trace**2)


IntensityFunction = Callable[[PrincipalAxes, RemovedRows], Floats]
"""Function that returns the shrinkages (m,) of a scatter without each of m rows."""


def oas_without_rows(spectrum: PrincipalAxes, rows: RemovedRows) -> Floats:
    """Return the shrinkage (m,) by OAS without each row.

    It is one for a spectrum without axes, which is the spectrum of a spherical covariance.
    """
    if spectrum.axes is None:
        return np.ones(rows.e.shape[1])
    return oas_intensity(
        rows.squared_sphere_distance(spectrum),
        spectrum.total_weight - rows.removal.weight,
        spectrum.n_columns,
    )


def ledoit_wolf_without_rows(powers: PowerSums) -> IntensityFunction:
    """Return the function that computes Ledoit & Wolf's shrinkage without each row.

    `powers` contains sums on the same principal axes, the result of `shrinkage.power_sums_on_axes`.
    """

    def intensities(spectrum: PrincipalAxes, rows: RemovedRows) -> Floats:
        """Return the shrinkages (m,) without each row, from principal axes and rows projected on them.

        NaN for a row without which too little of the sum of fourth powers remains.
        """
        removal = rows.removal
        r = powers.thirds.shape[1]
        codes = rows.codes if len(powers.thirds) > 1 else np.zeros_like(rows.codes)
        fourth = (
            powers.fourths_without_rows(rows.e[:r], codes, removal.weight, removal.class_weight)
            / rows.trace**2
        )
        return shrinkage.ledoit_wolf_intensity(
            rows.squared_sphere_distance(spectrum),
            fourth,
            spectrum.total_weight - removal.weight,
            spectrum.n_columns,
        )

    return intensities


@dataclass(frozen=True, slots=True, eq=False)
class ScatterWithoutRows:
    """Shrunk scatter without each of m rows: diagonal - downdate_factor e e' on the principal axes.

    e is the deviation of the row from its class mean. The scatter of all rows has trace one.

    Attributes
    ----------
    diagonal : (r, m) float
        Diagonal A of the theory, the shrunk eigenvalues with the sphere without the row.
    complement_variance : (m,) float
        Value in the complement of the axes.
    downdate_factor : (m,) float
        Factor b of e e' in the theory.
    determinant_ratio : (m,) float
        1 - downdate_factor * weighted_squares; the determinant is multiplied by it.
    weighted_squares : (m,) float
        e'e weighted by the reciprocal of the diagonal.
    is_inaccurate : (m,) bool
        Rows for which too few digits remain.
    """

    diagonal: Floats
    complement_variance: Floats
    downdate_factor: Floats
    determinant_ratio: Floats
    weighted_squares: Floats
    is_inaccurate: NDArray[np.bool_]

    def log_determinant(self, complement_dim: int) -> Floats:
        """Return the log-determinants (m,) of the shrunk scatters of all p columns.

        The complement of the axes has `complement_dim` dimensions.
        """
        on_axes = np.log(self.diagonal).sum(axis=0) + np.log(self.determinant_ratio)
        return np.asarray(
            on_axes + complement_dim * np.log(self.complement_variance) if complement_dim else on_axes
        )


def scatter_without_rows(
    spectrum: PrincipalAxes, rows: RemovedRows, g: Floats, min_ratio: float = MIN_DETERMINANT_RATIO
) -> ScatterWithoutRows:
    """Compute the shrunk scatter without each row.

    Parameters
    ----------
    spectrum : PrincipalAxes
        Principal axes of the scatter.
    rows : RemovedRows
        Rows that are left out, one at a time.
    g : (m,) float
        Shrinkages without each row; a row with NaN is inaccurate.
    min_ratio : float
        Determinant or trace without a row, relative to the value for all rows, up to which it is inaccurate.

    Returns
    -------
    ScatterWithoutRows
        `is_inaccurate` also marks rows whose determinant ratio is not positive. Other fields of inaccurate
        rows are meaningless.
    """
    e = rows.e
    c = rows.removal.downdate_factor
    trace = rows.trace
    sphere = trace / spectrum.n_columns
    complement_variance = g * sphere
    diagonal = (1.0 - g) * spectrum.eigenvalues[:, None] + complement_variance
    downdate_factor = (1.0 - g) * c
    weighted_squares = (e**2 / diagonal).sum(axis=0)
    # If hardly anything varies without the row, the remaining trace and g have lost their digits.
    is_inaccurate = (trace <= min_ratio) | np.isnan(g)
    if spectrum.is_saturated:
        eigenvalues = spectrum.eigenvalues[: spectrum.df, None]
        ridge = complement_variance / np.where(g < 1.0, 1.0 - g, 1.0)
        determinant_ratio = (
            c * ridge * (e[: spectrum.df] ** 2 / (eigenvalues * (eigenvalues + ridge))).sum(axis=0)
        )
        frequencies = np.ones(len(c)) if rows.weights is None else np.maximum(rows.weights, 1.0)
        lone_ratio = 1.0 - c * (1.0 / frequencies - 1.0 / rows.removal.class_weight)
        determinant_ratio += np.where((frequencies > 1) | rows.removal.is_alone, lone_ratio, 0.0)
        determinant_ratio = np.where(g < 1.0, determinant_ratio, 1.0)
        is_inaccurate = is_inaccurate | (determinant_ratio <= 0)
    else:
        determinant_ratio = 1.0 - downdate_factor * weighted_squares
        is_inaccurate = is_inaccurate | (determinant_ratio <= min_ratio)
    return ScatterWithoutRows(
        diagonal, complement_variance, downdate_factor, determinant_ratio, weighted_squares, is_inaccurate
    )


def shrunk_leave_one_out_scorer(
    fitted: NormalClasses, intensities: Sequence[IntensityFunction]
) -> LeaveOneOutScorer:
    """Return the leave-one-out scorer for covariances shrunk towards a sphere, pooled or by class.

    Parameters
    ----------
    fitted : NormalClasses
        With diagonal moments for spherical covariances; otherwise with full or thin moments.
    intensities : sequence of IntensityFunction
        For each covariance the function that computes its shrinkage without each row.

    Returns
    -------
    LeaveOneOutScorer
        Scores are NaN for rows that require a refit.
    """
    moments = fitted.moments
    divisors = fitted.divisors
    log_prior = fitted.log_prior
    if len(divisors) == 1:
        return common_leave_one_out_scorer(moments, float(divisors[0]), log_prior, intensities[0])
    return separate_leave_one_out_scorer(fitted, intensities)


def common_leave_one_out_scorer(
    moments: ClassMoments, divisor: float, log_prior: Floats, intensity: IntensityFunction = oas_without_rows
) -> LeaveOneOutScorer:
    """Return the leave-one-out scorer for one shrunk covariance of all classes.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    divisor : float
        Divisor of the pooled scatter.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    intensity : IntensityFunction
        Computes the shrinkage without each row.

    Returns
    -------
    LeaveOneOutScorer
        Scores are NaN for rows that require a refit.
    """
    spectrum = principal_axes(moments).extend_to(moments.means.T - moments.means[:1].T)
    centres = spectrum.project(moments.means.T)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute leave-one-out scores (m, K) of rows x (m, p) of classes `codes` (m,), with weights or None.

        They are the log prior minus half the squared distance; NaN for rows that require a refit.
        """
        removals = compute_removal(
            moments.counts[codes], weights, divisor, total_weight=float(moments.counts.sum())
        )
        rows = RemovedRows(
            spectrum.project(deviations_from_class_means(moments, x, codes)), codes, removals, weights
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            scatters = scatter_without_rows(spectrum, rows, intensity(spectrum, rows))
            log_scores = common_leave_one_out_scores(centres, rows, scatters, divisor, log_prior)
        return mark_refits(log_scores, codes, removals, scatters.is_inaccurate).T

    return scores


def common_leave_one_out_scores(
    centres: Floats, rows: RemovedRows, scatters: ScatterWithoutRows, divisor: float, log_prior: Floats
) -> Floats:
    """Compute the scores of rows under one covariance for all classes, each without itself.

    Parameters
    ----------
    centres : (r, K) float
        Class means on the axes.
    rows : RemovedRows
        The m rows.
    scatters : ScatterWithoutRows
        Shrunk scatters without each row.
    divisor : float
        Divisor of the scatter of all rows.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.

    Returns
    -------
    (K, m) float
        Log prior minus half the squared distance.
    """
    e = rows.e
    codes = rows.codes
    d2 = np.empty((centres.shape[1], len(codes)))
    for k in range(len(d2)):
        mean_deviations = e + centres[:, codes] - centres[:, [k]]
        weighted = mean_deviations / scatters.diagonal
        cross = (weighted * e).sum(axis=0)
        d2[k] = (weighted * mean_deviations).sum(
            axis=0
        ) + scatters.downdate_factor * cross**2 / scatters.determinant_ratio
    d2[codes, np.arange(len(codes))] = (
        rows.removal.distance_factor * scatters.weighted_squares / scatters.determinant_ratio
    )
    return np.asarray(log_prior[:, None] - 0.5 * divisor * rows.removal.divisor_ratio * d2)


def separate_leave_one_out_scorer(
    fitted: NormalClasses, intensities: Sequence[IntensityFunction]
) -> LeaveOneOutScorer:
    """Return the leave-one-out scorer for a shrunk covariance of each class.

    Only the covariance of the row's own class changes if a row is left out.

    Parameters
    ----------
    fitted : NormalClasses
        Estimated distributions of the classes.
    intensities : sequence of K IntensityFunction
        For each class the function that computes its shrinkage without each row.

    Returns
    -------
    LeaveOneOutScorer
        Scores are NaN for rows that require a refit.
    """
    moments = fitted.moments
    divisors = fitted.divisors
    log_prior = fitted.log_prior
    rule = gaussian.class_plugin_rule(moments, fitted.covariances, log_prior)
    principals = [principal_axes(moments, k) for k in range(moments.n_classes)]

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
            Log prior plus log density up to a constant for each row; NaN for rows that require a refit.
        """
        log_scores = np.array(rule.scores(x).T)
        removals = compute_removal(moments.counts[codes], weights, divisors[codes])
        needs_refit = np.zeros(len(codes), dtype=bool)
        z = deviations_from_class_means(moments, x, codes)
        for k, spectrum in enumerate(principals):
            members = np.flatnonzero(codes == k)
            class_weights = None if weights is None else weights[members]
            class_removal = compute_removal(removals.class_weight[members], class_weights, divisors[k])
            rows = RemovedRows(spectrum.project(z[:, members]), codes[members], class_removal, class_weights)
            with np.errstate(divide="ignore", invalid="ignore"):
                scatters = scatter_without_rows(spectrum, rows, intensities[k](spectrum, rows))
                log_scores[k, members] = log_prior[k] + own_class_log_densities(
                    spectrum, rows, scatters, divisors[k]
                )
            needs_refit[members] = scatters.is_inaccurate
        return mark_refits(log_scores, codes, removals, needs_refit).T

    return scores


def own_class_log_densities(
    spectrum: PrincipalAxes, rows: RemovedRows, scatters: ScatterWithoutRows, divisor: float
) -> Floats:
    """Compute the log densities of rows of one class under its shrunk covariance without each of them.

    Parameters
    ----------
    spectrum : PrincipalAxes
        Principal axes of the scatter of the class.
    rows : RemovedRows
        The m rows, all of this class.
    scatters : ScatterWithoutRows
        Shrunk scatters without each row.
    divisor : float
        Divisor of the covariance of all rows of the class.

    Returns
    -------
    (m,) float
        Log densities of z, without the term p/2 log(2 pi) and the log prior.
    """
    divisors = divisor - rows.removal.weight
    logdet = scatters.log_determinant(spectrum.complement_dim) - 2.0 * np.log(spectrum.unit).sum()
    logdet -= spectrum.n_columns * np.log(divisors)
    return np.asarray(
        -0.5
        * (
            logdet
            + divisors * rows.removal.distance_factor * scatters.weighted_squares / scatters.determinant_ratio
        )
    )


def common_candidate_scores(
    moments: ClassMoments, divisor: float, log_prior: Floats, grid: Floats
) -> CandidateScorer:
    """Return leave-one-out scores under one covariance, for each candidate of the shrinkage.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    divisor : float
        Divisor of the scatter.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    grid : (G,) float
        Candidates.

    Returns
    -------
    CandidateScorer
        Yields scores (K, m), log prior plus log density up to a constant, for each element of `grid` in this
        order. NaN for rows that are too inaccurate even for a prediction.
    """
    spectrum = principal_axes(moments).extend_to(moments.means.T - moments.means[:1].T)
    centres = spectrum.project(moments.means.T)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        """Yield the scores (K, m) of rows x (m, p) for each candidate.

        Parameters
        ----------
        x : (m, p) float
            Rows, in the units of the data.
        codes : (m,) int
            Positions of the classes of the rows.
        weights : (m,) float, optional
            Weights of the rows; by default one.

        Yields
        ------
        (K, m) float
            Scores under one candidate, in the order of the grid; NaN for rows that are too inaccurate.
        """
        removals = compute_removal(moments.counts[codes], weights, divisor)
        rows = RemovedRows(
            spectrum.project(deviations_from_class_means(moments, x, codes)), codes, removals, weights
        )
        for g in grid.tolist():
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                scatters = scatter_without_rows(spectrum, rows, np.full(len(codes), g), MIN_RATIO_FOR_LABELS)
                log_scores = common_leave_one_out_scores(centres, rows, scatters, divisor, log_prior)
            log_scores[:, scatters.is_inaccurate] = np.nan
            yield log_scores

    return scores


def separate_candidate_scores(
    moments: ClassMoments, divisors: Floats, log_prior: Floats, grid: Floats
) -> CandidateScorer:
    """Return leave-one-out scores under a covariance for each class, for each candidate of the shrinkage.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    divisors : (K,) float
        Divisors of the scatters of the classes.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    grid : (G,) float
        Candidates; all classes have the same shrinkage.

    Returns
    -------
    CandidateScorer
        Yields scores (K, m), log prior plus log density up to a constant, for each element of `grid` in this
        order. NaN for rows that are too inaccurate even for a prediction.
    """
    axes = [principal_axes(moments, k) for k in range(moments.n_classes)]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        """Yield the scores (K, m) of rows x (m, p) for each candidate.

        Parameters
        ----------
        x : (m, p) float
            Rows, in the units of the data.
        codes : (m,) int
            Positions of the classes of the rows.
        weights : (m,) float, optional
            Weights of the rows; by default one.

        Yields
        ------
        (K, m) float
            Scores under one candidate, in the order of the grid; NaN for rows that are too inaccurate.
        """
        m = len(codes)
        k = moments.n_classes
        squares = []
        complement_squares = []
        removed = []
        for c, spectrum in enumerate(axes):
            z = deviations_from_class_means(moments, x, c)
            e = spectrum.project(z)
            squares.append(e**2)
            complement_squares.append(_complement_squares(spectrum, z, e))
            members = np.flatnonzero(codes == c)
            class_weights = None if weights is None else weights[members]
            removals = compute_removal(moments.counts[codes[members]], class_weights, divisors[c])
            removed.append(RemovedRows(e[:, members], codes[members], removals, class_weights))
        for g in grid.tolist():
            log_scores = np.empty((k, m))
            is_inaccurate = np.zeros(m, dtype=bool)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                for c, spectrum in enumerate(axes):
                    members = np.flatnonzero(codes == c)
                    log_scores[c] = _log_densities(
                        spectrum, squares[c], complement_squares[c], divisors[c], g
                    )
                    scatters = scatter_without_rows(
                        spectrum, removed[c], np.full(len(members), g), MIN_RATIO_FOR_LABELS
                    )
                    log_scores[c, members] = own_class_log_densities(
                        spectrum, removed[c], scatters, divisors[c]
                    )
                    is_inaccurate[members] = scatters.is_inaccurate
            log_scores += log_prior[:, None]
            log_scores[:, is_inaccurate] = np.nan
            yield log_scores

    return scores


def _complement_squares(spectrum: PrincipalAxes, z: Floats, e: Floats) -> Floats:
    """Compute the squared lengths of deviations in the orthogonal complement of the axes.

    Parameters
    ----------
    spectrum : PrincipalAxes
        Principal axes of the scatter.
    z : (p, m) float
        Deviations of rows from a class mean, in columns.
    e : (r, m) float
        Coordinates of z on the axes.

    Returns
    -------
    (m,) float
        In the units of y = z * unit; zeros if the axes span all columns.
    """
    if not spectrum.complement_dim or spectrum.axes is None:
        return np.zeros(z.shape[1])
    return np.asarray(((z * spectrum.unit[:, None] - spectrum.axes.T @ e) ** 2).sum(axis=0))


def _log_densities(
    spectrum: PrincipalAxes, squares: Floats, complement_squares: Floats, divisor: float, g: float
) -> Floats:
    """Compute log densities under a shrunk covariance, up to a constant.

    Parameters
    ----------
    spectrum : PrincipalAxes
        Principal axes of the scatter.
    squares : (r, m) float
        Squared coordinates, on the axes of y = z * unit, of deviations of rows from the class mean.
    complement_squares : (m,) float
        Squared lengths of the deviations in the complement of the axes, in the same units.
    divisor : float
        Divisor of the scatter.
    g : float
        Shrinkage.

    Returns
    -------
    (m,) float
        Log densities of z, without the term p/2 log(2 pi).
    """
    sphere = g / spectrum.n_columns
    variances = (1.0 - g) * spectrum.eigenvalues + sphere
    d2 = (1.0 / variances) @ squares
    logdet = (
        np.log(variances).sum() - 2.0 * np.log(spectrum.unit).sum() - spectrum.n_columns * np.log(divisor)
    )
    if spectrum.complement_dim:
        d2 = d2 + complement_squares / sphere
        logdet += spectrum.complement_dim * np.log(sphere)
    return np.asarray(-0.5 * (logdet + divisor * d2))
