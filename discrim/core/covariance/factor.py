"""Covariances with a few signal variances and one noise variance: high-dimensional discriminant analysis.

`FactorAnalyticCovariance` is the covariance model; `Factors` contains its estimates.

*Estimates* (Bouveyron, Girard & Schmid, 2007, Communications in Statistics, Theory and Methods 36,
2607-2623). The covariance of class k has d_k variances a_kj on orthogonal axes Q_k, its *signal*, and one
variance b_k in the remaining p - d_k dimensions, its *noise*. With l_kj the eigenvalues of the scatter and
D_k its divisor, the likelihood is largest if Q_k are the first eigenvectors, and

    a_kj = l_kj / D_k,   b_k = sum_(j > d_k) l_kj / (D_k (p - d_k)).

The name of a form lists which parameters differ: *a* with the index k by class and with j by dimension; *b*,
*Q* and *d* with the index k by class. A common parameter is the mean of the individual ones, with weights
D_k:

    a = sum_k sum_(j <= d_k) l_kj / sum_k D_k d_k,   b = sum_k sum_(j > d_k) l_kj / sum_k D_k (p - d_k).

With common axes Q all parameters are estimated from the pooled scatter with divisor sum_k D_k. At each of
these maxima the traces sum to N p, therefore the log-determinants determine the likelihood.

*Digits.* The noise is computed as the mean of the small eigenvalues instead of the trace minus the large
ones, and the distance in the noise space as the square of a residual instead of a difference of squares.
Both are accurate for any size of the noise. Eigenvalues are computed from a root of the scatter, which for
n < p rows does not require a p x p matrix.

*Dimensions.* The scree test (Cattell, 1966, Multivariate Behavioral Research 1, 245-276) selects the last
dimension j after which the eigenvalues fall by at least a share t of the largest fall,

    l_j - l_(j+1) >= t max_i (l_i - l_(i+1)),

with all p eigenvalues, including zeros: with fewer rows than columns the fall to zero may be the largest.
*BIC* selects the dimension d that minimizes, for the normal distribution of the rows of the class with d
signal variances (or one common to all signal dimensions) and one noise variance,

    n [sum_(j <= d) ln a_j + (p - d) ln b] + (d (p - (d + 1)/2) + m) ln n,   m = d, or 1 if common.

With fewer rows than columns this likelihood is unbounded: the more dimensions, the smaller the noise, which
counts once for each of the many columns. BIC then refers to the space that the rows span, and p is the
dimension of this space. Both criteria compare the dimensions from 1 to the rank minus one, the largest
dimension with positive noise.

*Leaving rows out.* Without a row with deviation d from the mean of its class the scatter is W - c d d'. On
the axes U of W = U L U' it is L - z z' with z = c^(1/2) U'd, a matrix whose size is the rank of W for any
number of columns. If rows determine the dimensions, the eigenvalues of this matrix determine them again.
With its eigenvectors V, the coordinates of the row on the signal axes and in the noise space are V'U'd.
The row lies in the span of U, because it contributed to W. The smaller eigenvalues of a difference have an
error relative to the largest eigenvalue. If this error is large relative to the noise, or if the noise
vanishes without the row, the row requires a refit.

*Largest eigenvalues.* If a few eigenvalues suffice, only these are computed. For the scree test they suffice
if no later fall can reach its threshold, because the eigenvalues interlace with L. The squared distance in
the noise space is the square of a residual, and the sum of the small eigenvalues is the sum in L minus the
part of the reduction that does not fall on the large ones. The eigenvalues u_1 > ... > u_r of L - z z', with
L = diag(l_1 > ... > l_r), are the zeros of

    f(u) = 1 - sum_i z_i^2 / (l_i - u),   l_(j+1) < u_j < l_j,

and the eigenvector of u_j has the elements z_i / (l_i - u_j) (Golub, 1973, SIAM Review 15, 318-334; Bunch,
Nielsen & Sorensen, 1978, Numerische Mathematik 31, 31-48). Between its poles f falls from plus to minus
infinity. The poles above u are replaced by one pole at l_j and the poles below by one at l_(j+1), each with
the value and slope of the sum that it replaces; the next u is a zero of the resulting quadratic. If it lies
outside the interval, the interval is halved. The unknown is l_j - u_j, which remains accurate if an
eigenvalue hardly moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.model import (
    TARGET_UNITS,
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    RetainedAxes,
    TargetUnits,
)
from discrim.core.covariance.principal import (
    PrincipalAxes,
    ThinCovariance,
    principal_axes,
    single_scatter_moments,
    tied_axes,
)
from discrim.core.errors import (
    CoreCollinearError,
    CoreDataError,
    InvalidStateError,
    NoEstimateError,
    SingularEstimateError,
    UnsuitableOptionError,
    positions_at_fault,
)
from discrim.core.moments.derived_moments import root_of_scatter
from discrim.core.moments.moments import ClassMoments, deviations_from_class_means
from discrim.core.numerics.arrays import EPS, NOT_STORED, Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import (
    LeaveOneOutScorer,
    Removal,
    compute_removal,
    mark_refits,
    refit_each_row,
)

DimensionMethod = Literal["given", "cattell", "bic"]
"""How the dimensions are determined: by the user, the scree test or BIC."""

FORMS = (
    "AkjBkQkDk", "AkBkQkDk", "ABkQkDk", "AkjBQkDk", "AkBQkDk", "ABQkDk",
    "AkjBkQkD", "AkBkQkD", "ABkQkD", "AkjBQkD", "AkBQkD", "ABQkD",
    "AjBQD", "ABQD",
)  # fmt: skip
"""Names of the forms in Bouveyron, Girard & Schmid (2007), which list the parameters that differ."""

DEFAULT_FORM = "AkjBkQkDk"
"""Default form, without common parameters."""

DEFAULT_THRESHOLD = 0.2
"""Default of the smallest fall that counts as signal in the scree test, as a share of the largest fall."""


@dataclass(frozen=True, slots=True, eq=False)
class FactorOptions:
    """Options of the model: a form of `FORMS`, and how its dimensions are determined.

    Attributes
    ----------
    form : str
        One of `FORMS`.
    method : {"given", "cattell", "bic"}
        How the dimensions are determined: by the user, by the scree test or by BIC.
    dimensions : (K,) int, optional
        Numbers of signal dimensions of the classes; None until the data determine them.
    threshold : float
        Smallest fall of the eigenvalues that counts as signal in the scree test, relative to the largest
        fall, from 0 to 1. Other methods do not use it.
    """

    form: str
    method: DimensionMethod
    dimensions: Codes | None = None
    threshold: float = DEFAULT_THRESHOLD

    def unfitted(self) -> FactorOptions:
        """Return a copy without dimensions that were estimated from data."""
        return self if self.method == "given" else replace(self, dimensions=None)


@dataclass(frozen=True, slots=True)
class FactorAnalyticCovariance(CovarianceModel):
    """Covariance of each class with a few signal variances and one noise variance.

    Attributes
    ----------
    options : FactorOptions
        Form, and how the dimensions are determined.
    dimensions : int, mapping or None
        Dimensions that the user specified, one or by class label; `bind_classes` orders them by class.
    target_units : TargetUnits
        Units of the columns in which the noise has one variance.
    factors : Factors or None
        Estimated spectra and dimensions; None before estimation.
    """

    options: FactorOptions
    dimensions: Any = field(default=None, metadata=NOT_STORED)
    target_units: TargetUnits = TARGET_UNITS[0]
    factors: Factors | None = field(default=None, metadata=NOT_STORED)

    name = "factor"
    traits = CovarianceTraits(is_regular=True, is_maximum_likelihood=True, few_rows_suffice=True)

    def bind_classes(self, levels: Sequence[Any], n_columns: int) -> FactorAnalyticCovariance:
        """Return the model with the user's dimensions in the order of the classes.

        Parameters
        ----------
        levels : sequence
            Labels of the classes.
        n_columns : int
            Number of columns.

        Raises
        ------
        CoreCollinearError
            There is only one column.
        CoreDataError
            Classes are unknown or missing, or a form with a common dimension has several.
        """
        if n_columns < 2:
            raise CoreCollinearError("one_column_for_factors")
        if self.dimensions is None:
            return self
        dimensions = self.dimensions
        form = self.options.form
        dimensions = dimensions if isinstance(dimensions, Mapping) else dict.fromkeys(levels, dimensions)
        unknown = [label for label in dimensions if label not in levels]
        if unknown:
            raise CoreDataError("unknown_class_of_dimensions", classes=unknown, label=unknown[0])
        missing = [label for label in levels if label not in dimensions]
        if missing:
            raise CoreDataError("missing_class_of_dimensions", classes=missing, label=missing[0])
        by_class = np.array([int(dimensions[label]) for label in levels])
        if has_common_dimension(form) and len(set(by_class.tolist())) > 1:
            if has_common_axes(form):
                raise CoreDataError("one_common_dimension", form=form)
            raise CoreDataError("one_common_dimension_of_own_axes", form=form)
        return replace(self, options=replace(self.options, dimensions=by_class))

    def unfitted(self) -> FactorAnalyticCovariance:
        """Return a copy with the user's options only: without factors, and dimensions that were estimated."""
        return replace(self, options=self.options.unfitted(), factors=None)

    def for_refit(self) -> FactorAnalyticCovariance:
        """Return the model with the user's options; dimensions that the data determined are chosen again."""
        return self.unfitted()

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariance of each class.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        divisors : (K,) float
            Divisors of the scatters of the classes.

        Returns
        -------
        CovarianceEstimates
            With `factors` in the model, and a `ThinCovariance` for each class, equal with common axes.

        Raises
        ------
        SingularEstimateError
            The variance of the noise is zero, because the signal has all dimensions of a scatter.
        UnsuitableOptionError
            The variance of the noise is larger than a signal variance of the same class.
        """
        moments = self.rescale_moments(moments)
        factors = estimate_factors(self.target_units.moments_in_target_units(moments), self.options)
        fault = factors.fault()
        if fault is not None:
            raise factor_fault_error(fault, factors.form)
        return CovarianceEstimates(replace(self, factors=factors), moments, factors.covariances(divisors))

    def retained_axes(self) -> list[RetainedAxes]:
        """Return the classes whose number of dimensions separates axes of equal eigenvalues.

        The result is empty before estimation; the class position is None for common axes.
        """
        if self.factors is None:
            return []
        max_count = self.factors.n_columns - 1
        ties = self.factors.tied_axes()
        return [RetainedAxes(None if self.is_common else k, d, tie, max_count) for k, d, tie in ties]

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return the closed-form leave-one-out scorer, or NaN for every row if classes share parameters.

        Each row then requires a refit, and CoreNotSupportedError is raised for more than `MAX_REFITS` rows.
        """
        factors = self.factors
        if factors is None or self.refits_each_row:
            form = self.options.form
            work = f"of the form {form}, whose classes share parameters, requires a refit for each row"
            return refit_each_row(int(fitted.moments.rows.sum()), fitted.moments.n_classes, work)
        return self.target_units.leave_one_out_scorer(
            fitted, lambda standardized: factor_leave_one_out_scorer(standardized, factors)
        )

    @property
    def refits_each_row(self) -> bool:
        """Whether classes share parameters, in which case leaving out a row requires a refit.

        False before estimation.
        """
        # A class is estimated from its own rows if neither parameters nor an estimated dimension are common.
        form = self.options.form
        has_fixed_dimensions = self.options.method == "given"
        is_separate = is_separable_by_class(form) and (has_fixed_dimensions or not has_common_dimension(form))
        return self.factors is not None and not is_separate

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of parameters of axes and variances, plus dimensions that were estimated.

        The arguments are not used. It is zero before estimation.
        """
        return 0 if self.factors is None else self.factors.count_free_parameters()

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Return the joint log-likelihood of classes and rows, with the class counts as divisors.

        The covariances are computed again from `factors`; the covariances of `fitted` are not used.
        """
        ml_covariances = () if self.factors is None else self.factors.covariances(fitted.moments.counts)
        logdets = np.array([covariance.logdet for covariance in ml_covariances])
        return gaussian.log_likelihood(fitted.moments, logdets, fitted.log_prior)

    @property
    def is_common(self) -> bool:
        """Whether all classes have the same axes."""
        return has_common_axes(self.options.form)

    # ---- files

    def as_stored(self) -> FactorAnalyticCovariance:
        """Return the model with the estimated dimensions as fixed dimensions.

        With the moments they determine the factors.
        """
        dimensions = self.options.dimensions if self.factors is None else self.factors.dimensions
        return replace(self, options=replace(self.options, dimensions=dimensions), factors=None)

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Raise InvalidStateError if form, threshold or dimensions are invalid.

        The threshold has to be in [0, 1], and there has to be a dimension of at least one for each of
        `n_covariances` covariances, the same for all if the form has a common dimension. `n_columns` is not
        used.
        """
        dimensions = self.options.dimensions
        if self.options.form not in FORMS or not 0 <= self.options.threshold <= 1:
            raise InvalidStateError("its form is unknown, or its threshold is not between 0 and 1")
        if dimensions is None or dimensions.shape != (n_covariances,) or (dimensions < 1).any():
            raise InvalidStateError("its dimensions do not match its classes")
        if has_common_dimension(self.options.form) and len(set(dimensions.tolist())) > 1:
            raise InvalidStateError("its dimensions differ, but its form has a common dimension")


def factor_fault_error(fault: FactorFault, form: str) -> NoEstimateError:
    """Return the error that describes a fault: a class whose covariance of this form does not exist.

    It is an UnsuitableOptionError for the reason "order", and a SingularEstimateError for "rank".
    """
    k = positions_at_fault(fault.class_position if fault.class_position >= 0 else None)
    if fault.reason == "order":
        return UnsuitableOptionError("signal_below_noise", class_positions=k, form=form)
    return SingularEstimateError("no_noise", class_positions=k, dimension=fault.dimension, rank=fault.rank)


def eigenvalue_falls(eigenvalues: Floats, p: int) -> Floats:
    """Return the differences of adjacent eigenvalues, including the fall from the last to zero if r < p.

    Parameters
    ----------
    eigenvalues : (..., r) float
        Eigenvalues in decreasing order.
    p : int
        Number of columns.

    Returns
    -------
    (..., r - 1) or (..., r) float
        Differences l_j - l_(j+1).
    """
    if eigenvalues.shape[-1] < p:
        eigenvalues = np.concatenate([eigenvalues, np.zeros((*eigenvalues.shape[:-1], 1))], axis=-1)
    return np.asarray(eigenvalues[..., :-1] - eigenvalues[..., 1:])


def dimensions_by_scree(eigenvalues: Floats, max_dimensions: Codes, p: int, threshold: float) -> Codes:
    """Choose the number of signal dimensions of m scatters by the scree test.

    Parameters
    ----------
    eigenvalues : (m, r) float
        Eigenvalues in decreasing order.
    max_dimensions : (m,) int
        Largest number of dimensions of each scatter.
    p : int
        Number of columns.
    threshold : float
        Smallest fall that counts as signal, relative to the largest fall.

    Returns
    -------
    (m,) int
        One if no fall up to the largest number of dimensions counts.

    Examples
    --------
    >>> dimensions_by_scree(np.array([[9.0, 5.0, 1.0, 0.9]]), np.array([3]), 4, 0.2).tolist()
    [2]
    """
    differences = eigenvalue_falls(eigenvalues, p)
    is_steep = differences >= threshold * differences.max(axis=1, keepdims=True)
    is_steep &= np.arange(differences.shape[1]) < max_dimensions[:, None]
    last = differences.shape[1] - np.argmax(is_steep[:, ::-1], axis=1)
    # If only the fall to zero is steep, the dimension is one.
    return np.asarray(np.where(is_steep.any(axis=1), last, 1), dtype=np.intp)


def dimensions_by_bic(
    eigenvalues: Floats, max_dimensions: Codes, p: int, counts: Floats, *, shared: bool
) -> Codes:
    """Choose the number of signal dimensions of m scatters by BIC.

    Parameters
    ----------
    eigenvalues : (m, r) float
        Eigenvalues of scatters in decreasing order.
    max_dimensions : (m,) int
        Largest number of dimensions of each scatter, one less than its rank.
    p : int
        Number of columns.
    counts : (m,) float
        Number of observations, or sum of weights, of each scatter.
    shared : bool
        Whether all signal dimensions have the same variance.

    Returns
    -------
    (m,) int
        Numbers of smallest BIC from 1 to `max_dimensions`, the smallest of ties.

    Examples
    --------
    >>> scatter = 50 * np.array([[9.0, 5.0, 1.0, 0.9]])
    >>> dimensions_by_bic(scatter, np.array([3]), 4, np.array([50.0]), shared=False).tolist()
    [2]
    """
    span_dimensions = np.minimum(p, max_dimensions + 1)
    bic = bic_by_dimension(eigenvalues, span_dimensions, counts, shared=shared)
    bic[np.arange(bic.shape[1]) >= max_dimensions[:, None]] = np.inf
    return np.asarray(np.argmin(bic, axis=1) + 1, dtype=np.intp)


def bic_by_dimension(eigenvalues: Floats, span_dimensions: Codes, counts: Floats, *, shared: bool) -> Floats:
    """Compute BIC for each number of signal dimensions, up to terms that do not depend on this number.

    Parameters
    ----------
    eigenvalues : (m, r) float
        Eigenvalues of scatters in decreasing order.
    span_dimensions : (m,) int
        Dimension of the space that the rows span, at most p.
    counts : (m,) float
        Number of observations, or sum of weights, of each scatter.
    shared : bool
        Whether all signal dimensions have the same variance.

    Returns
    -------
    (m, r) float
        BIC of 1, ..., r dimensions; not finite if the noise is zero.
    """
    d = np.arange(1, eigenvalues.shape[1] + 1)
    n = counts[:, None]
    p = span_dimensions[:, None]
    tail_sums = np.cumsum(eigenvalues[:, ::-1], axis=1)[:, ::-1]
    noise_sums = np.concatenate([tail_sums[:, 1:], np.zeros((len(eigenvalues), 1))], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if shared:
            signal = d * np.log(np.cumsum(eigenvalues, axis=1) / d / n)
        else:
            signal = np.cumsum(np.log(eigenvalues / n), axis=1)
        noise = (p - d) * np.log(noise_sums / (p - d) / n)
        n_free = d * (p - (d + 1) / 2) + (1 if shared else d)
        return np.asarray(n * (signal + noise) + n_free * np.log(n))


MIN_EIGENVALUE_RATIO = 1e-8
"""Ratio of smallest to largest eigenvalue below which eigenvalues of a scatter lose half their digits."""


@dataclass(frozen=True, slots=True)
class FactorFault:
    """Reason why the covariance of a class does not exist.

    Attributes
    ----------
    reason : {"rank", "order"}
        "rank" if the noise is zero because the signal has all dimensions of the scatter, "order" if a signal
        variance is smaller than the noise.
    class_position : int
        Position of the class, -1 for the pooled scatter.
    dimension, rank : int
        Dimension of the signal, and rank of the scatter.
    """

    reason: Literal["rank", "order"]
    class_position: int
    dimension: int
    rank: int


def has_common_axes(form: str) -> bool:
    """Return whether all classes have the same signal axes in a form of `FORMS`, and so one covariance."""
    return "Qk" not in form


def has_common_dimension(form: str) -> bool:
    """Return whether all classes have the same number of signal dimensions in a form of `FORMS`."""
    return not form.endswith("Dk")


def is_separable_by_class(form: str) -> bool:
    """Return whether, in a form of `FORMS`, variances and axes of a class depend on its own rows only."""
    return form.startswith("Ak") and "BkQk" in form


def has_one_signal_variance(form: str) -> bool:
    """Return whether all signal dimensions of a class have the same variance in a form of `FORMS`."""
    return "j" not in form


def count_free_parameters(form: str, dimensions: Codes, p: int) -> int:
    """Count the free parameters of the covariances, not including the dimensions.

    Parameters
    ----------
    form : str
        One of `FORMS`.
    dimensions : (K,) int
        Numbers of signal dimensions.
    p : int
        Number of columns.

    Returns
    -------
    int
        Parameters of the axes, the signal variances and the noise variances.
    """
    k = len(dimensions)
    dimension_list = dimensions.tolist()
    first_dimension = int(dimensions[0])
    axis_parameters = [d * p - d * (d + 1) // 2 for d in dimension_list]
    n_axis_parameters = axis_parameters[0] if has_common_axes(form) else sum(axis_parameters)
    n_signal_parameters = {"Akj": sum(dimension_list), "Ak": k, "Aj": first_dimension, "A": 1}[
        form.split("B")[0]
    ]
    return int(n_axis_parameters + n_signal_parameters + (k if "Bk" in form else 1))


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """Eigenvalues and signal axes of the scatters of classes, and dimensions of the signals.

    Attributes
    ----------
    options : FactorOptions
        Options of the model.
    dimensions : (K,) int
        Numbers of signal dimensions.
    spectra : tuple of PrincipalAxes
        One for each class, or one for the pooled scatter. They contain all eigenvalues of the scatter of
        y = z * unit, with z the coordinates of the moments and one unit for all classes, and the axes of the
        signal.
    ranks : (K,) or (1,) int
        Ranks of the scatters.
    counts : (K,) float
        Number of observations, or sum of weights, of the classes.
    unit_ratio : float
        Ratio of y to the (centred) data, or, with standardized columns, to the data divided by standard
        deviations.
    """

    options: FactorOptions
    dimensions: Codes
    spectra: tuple[PrincipalAxes, ...]
    ranks: Codes
    counts: Floats
    unit_ratio: float

    @property
    def form(self) -> str:
        """Name of the form, one of `FORMS`."""
        return self.options.form

    @property
    def unit(self) -> Floats:
        """Factors (p,) of the columns in y = z * unit, with z the coordinates of the moments."""
        return self.spectra[0].unit

    @property
    def n_columns(self) -> int:
        """Number of columns, p."""
        return len(self.unit)

    @property
    def explained(self) -> Floats:
        """Share (K,) of the total variance of each class on its signal axes; equal for common axes."""
        proportions = [
            s.eigenvalues[:d].sum() / s.eigenvalues.sum() for s, d in self._spectra_with_dimensions()
        ]
        return np.array(proportions * (len(self.dimensions) // len(proportions)))

    def tied_axes(self) -> list[tuple[int, int, tuple[int, int]]]:
        """Return the spectra whose number of dimensions separates axes of equal eigenvalues.

        Returns
        -------
        list of (int, int, (int, int))
            Position of the spectrum, number of dimensions, and numbers from one of the first and the last
            axis of equal eigenvalues.
        """
        ties = [
            (k, d, tied_axes(s.eigenvalues, d)) for k, (s, d) in enumerate(self._spectra_with_dimensions())
        ]
        return [(k, d, tie) for k, d, tie in ties if tie is not None]

    def _spectra_with_dimensions(self) -> list[tuple[PrincipalAxes, int]]:
        """Return the spectrum of each class (or the pooled one) with its number of signal dimensions."""
        return list(zip(self.spectra, self.dimensions.tolist(), strict=False))

    def variances(self, divisors: Floats) -> tuple[list[Floats], Floats]:
        """Compute the signal and noise variances of y = z * unit.

        Parameters
        ----------
        divisors : (K,) float
            Divisors of the scatters of the classes.

        Returns
        -------
        signals : list of K arrays (d_k,) float
            Variances on the signal axes of each class.
        noise : (K,) float
            Noise variances.
        """
        k = len(self.dimensions)
        p = self.n_columns
        scatter_divisors = divisors if len(self.spectra) == k else divisors.sum(keepdims=True)
        signals = [
            s.eigenvalues[:d] / n
            for (s, d), n in zip(self._spectra_with_dimensions(), scatter_divisors, strict=True)
        ]
        noise_sums = np.array([s.eigenvalues[d:].sum() for s, d in self._spectra_with_dimensions()])
        d = self.dimensions[: len(scatter_divisors)]
        if "Bk" in self.form:
            noise = noise_sums / (scatter_divisors * (p - d))
        else:
            noise = np.full(len(scatter_divisors), noise_sums.sum() / (scatter_divisors @ (p - d)))
        if has_one_signal_variance(self.form):
            sums = np.array([n * a.sum() for a, n in zip(signals, scatter_divisors, strict=True)])
            signal_means = (
                sums / (scatter_divisors * d)
                if "Ak" in self.form
                else np.full(len(scatter_divisors), sums.sum() / (scatter_divisors @ d))
            )
            signals = [np.full(m, a) for a, m in zip(signal_means, d.tolist(), strict=True)]
        if len(scatter_divisors) < k:
            return signals * k, np.repeat(noise, k)
        return signals, noise

    def variances_in_data_units(self, variances: Floats) -> Floats:
        """Convert variances of y to the units of the (possibly standardized) data.

        Values out of the range of float64 become infinite or zero.
        """
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(variances / self.unit_ratio / self.unit_ratio)

    def covariances(self, divisors: Floats) -> tuple[ThinCovariance, ...]:
        """Return the covariance of each class in z, with divisors (K,) of the scatters of the classes.

        With common axes all K elements are the same object.
        """
        signals, noise = self.variances(divisors)
        covariances = [
            ThinCovariance.on_axes(replace(s, eigenvalues=a), a, b)
            for s, a, b in zip(self.spectra, signals, noise.tolist(), strict=False)
        ]
        return tuple(covariances * (len(self.dimensions) // len(covariances)))

    def fault(self) -> FactorFault | None:
        """Return the reason why a covariance does not exist, for the first such class; None if all exist.

        "rank" if the dimension of the signal is not less than the rank of a scatter. "order" if a signal
        variance is less than the noise, both with the class counts as divisors; this can only happen if
        classes with axes of their own share variances.
        """
        dimensions = self.dimensions[: len(self.ranks)].tolist()
        for code, (d, rank) in enumerate(zip(dimensions, self.ranks.tolist(), strict=True)):
            if d >= rank:
                return FactorFault("rank", -1 if has_common_axes(self.form) else code, d, rank)
        if is_separable_by_class(self.form) or has_common_axes(self.form):
            return None
        signals, noise = self.variances(self.counts)
        for code, (a, b) in enumerate(zip(signals, noise.tolist(), strict=True)):
            if a.min() < b:
                return FactorFault("order", code, len(a), int(self.ranks[code]))
        return None

    def count_free_parameters(self) -> int:
        """Count the free parameters of the covariances, including dimensions that were estimated."""
        n_estimated = 0
        if self.options.method != "given":
            n_estimated = 1 if has_common_dimension(self.form) else len(self.dimensions)
        return count_free_parameters(self.form, self.dimensions, self.n_columns) + n_estimated


def estimate_factors(moments: ClassMoments, options: FactorOptions) -> Factors:
    """Compute the spectra of the scatters and choose the numbers of signal dimensions.

    If `fault` of the result is not None, its covariances do not exist.

    Parameters
    ----------
    moments : ClassMoments
        With scatters or thin roots by class, in the units in which the noise has one variance.
    options : FactorOptions
        Options of the model.

    Returns
    -------
    Factors
        With the dimensions of `options`, or with dimensions chosen from the eigenvalues if these are None.
    """
    is_common = has_common_axes(options.form)
    class_positions: list[int | None] = [None] if is_common else list(range(moments.n_classes))
    spectra_and_ranks = [spectrum_and_rank(moments, k) for k in class_positions]
    ranks = np.array([rank for _, rank in spectra_and_ranks])
    # A common unit for all classes, in which the traces sum to one.
    traces = np.array([_trace_of_spectrum(spectrum) for spectrum, _ in spectra_and_ranks])
    total = traces.sum()
    unit = moments.common_unit / np.sqrt(total) if total > 0 else moments.common_unit
    spectra = [
        replace(spectrum, eigenvalues=spectrum.eigenvalues * (size / total if total > 0 else 0.0), unit=unit)
        for (spectrum, _), size in zip(spectra_and_ranks, traces.tolist(), strict=True)
    ]
    dimensions = options.dimensions
    if dimensions is None:
        dimensions = _choose_dimensions(moments, options, spectra, ranks)
    axes = [
        spectrum if spectrum.axes is None else replace(spectrum, axes=np.ascontiguousarray(spectrum.axes[:d]))
        for spectrum, d in zip(spectra, dimensions.tolist(), strict=False)
    ]
    per_unit = float(moments.scale.min() * unit.max())
    return Factors(options, dimensions, tuple(axes), ranks, moments.counts, per_unit)


def spectrum_and_rank(moments: ClassMoments, k: int | None) -> tuple[PrincipalAxes, int]:
    """Compute the principal axes and the numerical rank of a scatter.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    k : int or None
        Position of the class; None for the pooled scatter.

    Returns
    -------
    spectrum : PrincipalAxes
        Of the scatter scaled to trace one; a single eigenvalue of zero if no column varies.
    rank : int
        Number of eigenvalues larger than rounding error, at most the degrees of freedom.
    """
    group = single_scatter_moments(moments, k)
    p = moments.n_columns
    df = int((group.rows - (group.rows > 0)).sum())
    if not group.squares.any():
        unit = group.common_unit
        return PrincipalAxes(np.zeros(min(1, p)), np.eye(1, p), unit, group.total, df), 0
    spectrum = principal_axes(group)
    if group.roots is None and spectrum.eigenvalues[-1] <= MIN_EIGENVALUE_RATIO * spectrum.eigenvalues[0]:
        spectrum = principal_axes(replace(group, roots=root_of_scatter(group.scatters[0])[None]))
    # Eigenvalues of the size of the rounding errors of the columns carry no information.
    rounding = EPS * np.sqrt(group.total) * np.linalg.norm(group.magnitude * spectrum.unit)
    relative = EPS * max(len(spectrum.eigenvalues), p) * np.sqrt(spectrum.eigenvalues[0])
    rank = int((np.sqrt(np.maximum(spectrum.eigenvalues, 0.0)) > max(rounding, relative)).sum())
    return spectrum, min(rank, df)


def _trace_of_spectrum(spectrum: PrincipalAxes) -> float:
    """Return the trace by which a spectrum was divided, in the common unit of the columns.

    Returns zero if all eigenvalues are zero.
    """
    if not spectrum.eigenvalues.any():
        return 0.0
    return float(1.0 / spectrum.unit.max() ** 2)


def _choose_dimensions(
    moments: ClassMoments, options: FactorOptions, spectra: list[PrincipalAxes], ranks: Codes
) -> NDArray[np.intp]:
    """Choose the number of signal dimensions of each class from the eigenvalues of the scatters.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    options : FactorOptions
        Options of the model.
    spectra : list of PrincipalAxes
        Spectrum of each class, or of the pooled scatter.
    ranks : (K,) or (1,) int
        Ranks of the scatters.

    Returns
    -------
    (K,) int
        From 1 to the rank minus one (1 for a rank of zero or one); equal for all classes if the form has a
        common dimension.
    """
    k = moments.n_classes
    p = moments.n_columns
    counts = moments.counts
    eigenvalues = [spectrum.eigenvalues for spectrum in spectra]
    max_dimensions = np.maximum(ranks - 1, 1)
    if has_common_dimension(options.form):
        if not has_common_axes(options.form):
            eigenvalues = [spectrum_and_rank(moments, None)[0].eigenvalues]
            max_dimensions = max_dimensions.min(keepdims=True)
        counts = counts.sum(keepdims=True)
    padded = np.zeros((len(eigenvalues), max(len(spectrum) for spectrum in eigenvalues)))
    for row, spectrum in zip(padded, eigenvalues, strict=True):
        row[: len(spectrum)] = np.maximum(spectrum, 0.0)
    dimensions = choose_dimensions(options, padded, max_dimensions, p, counts)
    return np.repeat(dimensions, k // len(dimensions))


def choose_dimensions(
    options: FactorOptions, eigenvalues: Floats, max_dimensions: Codes, p: int, counts: Floats
) -> Codes:
    """Choose the number of signal dimensions of m scatters by the scree test or BIC, according to options.

    Parameters
    ----------
    options : FactorOptions
        BIC is used if the method is "bic", else the scree test with the threshold.
    eigenvalues : (m, r) float
        Eigenvalues of scatters in decreasing order.
    max_dimensions : (m,) int
        Largest number of dimensions of each scatter.
    p : int
        Number of columns.
    counts : (m,) float
        Number of observations, or sum of weights, of each scatter.

    Returns
    -------
    (m,) int
        From 1 to `max_dimensions`.
    """
    if options.method == "bic":
        return dimensions_by_bic(
            eigenvalues, max_dimensions, p, counts, shared=has_one_signal_variance(options.form)
        )
    return dimensions_by_scree(eigenvalues, max_dimensions, p, options.threshold)


MAX_EIGENVALUE_ITERATIONS = 100
"""Maximum number of iterations for the eigenvalues; a few suffice unless intervals are halved."""


@dataclass(frozen=True, slots=True, eq=False)
class DowndatedEigenvalues:
    """The q largest eigenvalues u_j of m matrices diag(l) - z z', as differences from l (r,).

    Attributes
    ----------
    shifts : (m, q) float
        Differences l_j - u_j.
    slopes : (m, q) float
        Sums over i of z_i^2 / (l_i - u_j)^2.
    differences : (m, r, q) float
        Differences l_i - u_j.
    has_converged : (m,) bool
        Matrices whose eigenvalues converged to rounding error.
    """

    shifts: Floats
    slopes: Floats
    differences: Floats
    has_converged: NDArray[np.bool_]


def downdate_eigenvalues(eigenvalues: Floats, squares: Floats, q: int) -> DowndatedEigenvalues:
    """Compute the q largest eigenvalues of m matrices diag(l) - z z' by rational interpolation.

    Parameters
    ----------
    eigenvalues : (r,) float
        Diagonal l, strictly decreasing by more than rounding error of the first element.
    squares : (m, r) float
        Positive squares z_i^2 of each matrix.
    q : int
        Number of eigenvalues.

    Returns
    -------
    DowndatedEigenvalues
        `has_converged` is False for matrices that need more than `MAX_EIGENVALUE_ITERATIONS` iterations.

    Examples
    --------
    >>> downdated = downdate_eigenvalues(np.array([3.0, 1.0]), np.array([[1.0, 0.5]]), 2)
    >>> largest, last = (np.array([3.0, 1.0]) - downdated.shifts)[0].tolist()
    >>> round(largest + last, 12), round(largest * last, 12)
    (2.5, 0.5)
    """
    m, r = squares.shape
    pole_differences = eigenvalues[:, None] - eigenvalues[:q]
    # There is no pole below the last eigenvalue. The trace bounds its distance from the pole above.
    width = np.empty((m, q))
    width[:] = np.append(-np.diff(eigenvalues), 0.0)[:q]
    if q == r:
        width[:, -1] = squares.sum(axis=1) * (1 + EPS * r)
    low, high = np.zeros((m, q)), width.copy()
    shifts = width / 2
    slopes = np.ones((m, q))
    has_converged = np.zeros(m, dtype=bool)
    is_above = np.arange(r)[:, None] <= np.arange(q)
    is_last = np.arange(q) == r - 1
    active = np.arange(m)
    for _ in range(MAX_EIGENVALUE_ITERATIONS):
        delta = shifts[active]
        differences = pole_differences + delta[:, None, :]
        terms = squares[active][:, :, None] / differences
        slope_terms = terms / differences
        psi, psi_slope = (np.where(is_above, values, 0.0).sum(axis=1) for values in (terms, slope_terms))
        phi, phi_slope = (np.where(is_above, 0.0, values).sum(axis=1) for values in (terms, slope_terms))
        value = 1.0 - psi - phi
        slopes[active] = psi_slope + phi_slope
        is_close = np.abs(value) <= 4 * EPS * r * (1.0 + np.abs(psi) + np.abs(phi))
        is_close |= high[active] - low[active] <= 2 * EPS * delta
        is_done = is_close.all(axis=1)
        has_converged[active[is_done]] = True
        if is_done.all():
            break
        # If f is positive, the eigenvalue is larger and the shift is smaller.
        high[active] = np.where(value > 0, delta, high[active])
        low[active] = np.where(value > 0, low[active], delta)
        step = _next_iterate(delta, delta - width[active], (psi, psi_slope), (phi, phi_slope), is_last)
        is_inside = (step > low[active]) & (step < high[active])
        midpoint = 0.5 * (low[active] + high[active])
        shifts[active] = np.where(is_close, delta, np.where(is_inside, step, midpoint))
        active = active[~is_done]
    return DowndatedEigenvalues(shifts, slopes, pole_differences + shifts[:, None, :], has_converged)


def _next_iterate(
    first: Floats, second: Floats, above: tuple[Floats, Floats], below: tuple[Floats, Floats], is_last: Floats
) -> Floats:
    """Compute the next differences l_j - u_j by a rational interpolation with two poles.

    Parameters
    ----------
    first, second : (m, q) float
        Differences of the upper and the lower pole from the current iterates; the second are negative.
    above, below : pair of (m, q) float
        Values and slopes of the sums over the poles above and below.
    is_last : (q,) bool
        Eigenvalues without a pole below.

    Returns
    -------
    (m, q) float
        Next differences l_j - u_j; they may lie outside the bracketing interval.
    """
    (psi, psi_slope), (phi, phi_slope) = above, below
    s = first**2 * psi_slope
    scaled_slope = second**2 * phi_slope
    level = 1.0 - (psi - first * psi_slope) - (phi - second * phi_slope)
    linear = s + scaled_slope - level * (first + second)
    constant = level * first * second - s * second - scaled_slope * first
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(linear**2 - 4 * level * constant, 0.0))
        half_sum = -0.5 * (linear + np.copysign(root, linear))
        first_root = first - half_sum / level
        second_root = first - constant / half_sum
        width = first - second
        step = np.where((first_root > 0) & (first_root < width), first_root, second_root)
        return np.asarray(np.where(is_last, s / level, step))


MAX_SCATTER_ELEMENTS = 2**21
"""Maximum number of elements of leave-one-out scatters in memory at once."""

MAX_NOISE_ERROR = 1e-10
"""Relative error of the noise variance at or above which a row requires a refit."""

MIN_ROWS_PER_EIGENVALUE = 3
"""Smallest ratio of all to required eigenvalues for which only the required ones are computed."""


@dataclass(frozen=True, slots=True, eq=False)
class _SignalNoiseSplit:
    """Leave-one-out scatters of a class, split into signal and noise, for m rows.

    Everything is in y = z * unit, in which the scatter of the class has trace one.

    Attributes
    ----------
    dimensions : (m,) int
        Dimensions of the signal without each row.
    eigenvalues : (m, q) float
        Eigenvalues; only the leading `dimensions` are used.
    squares : (m, q) float
        Squared coordinates of the deviation of each row on the eigenvectors.
    noise_sums : (m,) float
        Sum of the eigenvalues of the noise.
    noise_squares : (m,) float
        Squared length of the deviation of each row from the class mean (with the row) in the noise space.
    """

    dimensions: Codes
    eigenvalues: Floats
    squares: Floats
    noise_sums: Floats
    noise_squares: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _LeaveOneOutFactors:
    """Computation of the covariance of one class without each of its rows, on the axes of its scatter.

    Attributes
    ----------
    factors : Factors
        Fit to all rows.
    class_position : int
        Position of the class.
    spectrum : PrincipalAxes
        All r principal axes of its scatter, which is scaled to trace one.
    rank : int
        Rank of its scatter.
    """

    factors: Factors
    class_position: int
    spectrum: PrincipalAxes
    rank: int

    @property
    def threshold(self) -> float:
        """Smallest fall that counts as signal in the scree test, relative to the largest fall."""
        return self.factors.options.threshold

    def n_leading_eigenvalues(self) -> int:
        """Return how many of the largest eigenvalues have to be computed without a row.

        It is the number of all r axes for BIC, if eigenvalues are tied, or if a few are not faster.
        """
        eigenvalues = self.spectrum.eigenvalues
        method = self.factors.options.method
        r = len(eigenvalues)
        positive = eigenvalues[: self.rank]
        if method == "bic" or self.rank < 2 or np.diff(positive).max() > -4 * EPS * positive[0]:
            return r
        q = int(self.factors.dimensions[self.class_position])
        if method == "cattell":
            # Leave room for the largest fall to halve without a row before all eigenvalues are required.
            min_fall = eigenvalue_falls(eigenvalues, self.spectrum.n_columns).max() * self.threshold / 2
            large_falls = np.flatnonzero(self.max_falls() >= min_fall)
            q = max(q, int(large_falls[-1]) + 1 if len(large_falls) else 0) + 1
        return q if MIN_ROWS_PER_EIGENVALUE * q <= r else r

    def max_falls(self) -> Floats:
        """Return upper bounds (rank,) of the difference of adjacent eigenvalues if a row is left out."""
        lower = np.append(self.spectrum.eigenvalues[2 : self.rank], [0.0, 0.0])
        return np.asarray(self.spectrum.eigenvalues[: self.rank] - lower[: self.rank])

    def split(self, coordinates: Floats, ranks: Codes, removal: Removal, q: int) -> _SignalNoiseSplit:
        """Split the scatters without each row into signal and noise from their q largest eigenvalues.

        All eigenvalues are computed for rows for which these do not suffice.

        Parameters
        ----------
        coordinates : (r, m) float
            Deviations of the rows from the class mean, on the axes.
        ranks : (m,) int
            Rank without each row.
        removal : Removal
            Weights that are left out.
        q : int
            Number of leading eigenvalues.

        Returns
        -------
        _SignalNoiseSplit
            With q eigenvalues for each row or, if any row needed all, with r, padded by zeros.
        """
        if q >= len(coordinates):
            return self.split_all(coordinates, ranks, removal)
        split, is_valid = self.split_leading(coordinates, ranks, removal, q)
        if is_valid.all():
            return split
        invalid = np.flatnonzero(~is_valid)
        remaining = Removal(
            *(
                getattr(removal, name)[invalid]
                for name in ("weight", "class_weight", "is_alone", "divisor_ratio", "determinant_ratio")
            )
        )
        full_split = self.split_all(coordinates[:, invalid], ranks[invalid], remaining)
        padded = np.zeros((2, coordinates.shape[1], len(coordinates)))
        padded[0, :, :q] = split.eigenvalues
        padded[1, :, :q] = split.squares
        padded[0, invalid] = full_split.eigenvalues
        padded[1, invalid] = full_split.squares
        for name in ("dimensions", "noise_sums", "noise_squares"):
            getattr(split, name)[invalid] = getattr(full_split, name)
        return replace(split, eigenvalues=padded[0], squares=padded[1])

    def split_leading(
        self, coordinates: Floats, ranks: Codes, removal: Removal, q: int
    ) -> tuple[_SignalNoiseSplit, NDArray[np.bool_]]:
        """Split the scatters without each row into signal and noise from their q largest eigenvalues.

        Parameters
        ----------
        coordinates : (r, m) float
            Deviations of the rows from the class mean, on the axes.
        ranks : (m,) int
            Rank without each row.
        removal : Removal
            Weights that are left out.
        q : int
            Number of leading eigenvalues.

        Returns
        -------
        split : _SignalNoiseSplit
            Without meaning for rows that are not valid.
        is_valid : (m,) bool
            Whether the q eigenvalues suffice for a row: they converged and, if the dimension is estimated, no
            later fall can reach the threshold of the scree test.
        """
        rank = self.rank
        eigenvalues = self.spectrum.eigenvalues[: self.rank]
        downdate_factors = removal.downdate_factor[:, None]
        t = coordinates[:rank].T
        squares = np.maximum(downdate_factors * t**2, EPS**2 * eigenvalues[0])
        downdate = downdate_eigenvalues(eigenvalues, squares, q)
        downdated_eigenvalues = eigenvalues[:q] - downdate.shifts
        is_valid = downdate.has_converged
        if self.factors.options.method == "given":
            d = np.full(len(t), self.factors.dimensions[self.class_position])
        else:
            d = dimensions_by_scree(downdated_eigenvalues, np.minimum(ranks - 1, q - 1), q, self.threshold)
            largest = (downdated_eigenvalues[:, :-1] - downdated_eigenvalues[:, 1:]).max(axis=1)
            is_valid = is_valid & (self.max_falls()[q - 1 :].max() < self.threshold * largest)
        signal = np.arange(q) < d[:, None]
        removed_sums = squares.sum(axis=1) - np.where(signal, downdate.shifts, 0.0).sum(axis=1)
        noise_sums = (np.arange(rank) >= d[:, None]) @ eigenvalues - removed_sums
        signal_shares = (np.where(signal, 1 / downdate.slopes, 0.0)[:, None, :] / downdate.differences).sum(
            axis=2
        )
        noise_squares = squares / downdate_factors * (1 - signal_shares) ** 2
        rest_squares = noise_squares.sum(axis=1) + (coordinates[rank:] ** 2).sum(axis=0)
        return _SignalNoiseSplit(
            d, downdated_eigenvalues, 1 / (downdate_factors * downdate.slopes), noise_sums, rest_squares
        ), is_valid

    def split_all(self, coordinates: Floats, ranks: Codes, removal: Removal) -> _SignalNoiseSplit:
        """Split the scatters without each row into signal and noise from all their eigenvalues.

        Parameters
        ----------
        coordinates : (r, m) float
            Deviations of the rows from the class mean, on the axes.
        ranks : (m,) int
            Rank without each row.
        removal : Removal
            Weights that are left out.

        Returns
        -------
        _SignalNoiseSplit
            With all r eigenvalues of each row.
        """
        r, m = coordinates.shape
        scatters = -(removal.downdate_factor[:, None] * coordinates.T)[:, :, None] * coordinates.T[:, None, :]
        scatters[:, np.arange(r), np.arange(r)] += self.spectrum.eigenvalues
        eigenvalues, vectors = np.linalg.eigh(scatters)
        eigenvalues = np.maximum(eigenvalues[:, ::-1], 0.0)
        vectors = vectors[:, :, ::-1]
        squares = np.einsum("mij,im->mj", vectors, coordinates) ** 2
        if self.factors.options.method == "given":
            d = np.full(m, self.factors.dimensions[self.class_position])
        else:
            max_dimensions = np.maximum(ranks - 1, 1)
            counts = removal.class_weight - removal.weight
            d = choose_dimensions(
                self.factors.options, eigenvalues, max_dimensions, self.spectrum.n_columns, counts
            )
        is_noise = np.arange(r) >= d[:, None]
        noise_sums, rest_squares = (
            np.where(is_noise, values, 0.0).sum(axis=1) for values in (eigenvalues, squares)
        )
        return _SignalNoiseSplit(d, eigenvalues, squares, noise_sums, rest_squares)

    def log_densities(
        self, split: _SignalNoiseSplit, ranks: Codes, removal: Removal, divisor: float
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Compute the log densities of rows under the covariance of their class without each of them.

        Parameters
        ----------
        split : _SignalNoiseSplit
            Signal and noise of the scatters without each row.
        ranks : (m,) int
            Rank without each row.
        removal : Removal
            Weights that are left out.
        divisor : float
            Divisor of the scatter of all rows of the class.

        Returns
        -------
        log_densities : (m,) float
            In z, without the term p/2 log(2 pi).
        needs_refit : (m,) bool
            Rows whose noise variance has a relative error of at least `MAX_NOISE_ERROR`, or whose signal has
            as many dimensions as the scatter without them.
        """
        spectrum = self.spectrum
        divisors = divisor - removal.weight
        d = split.dimensions
        signal = np.arange(split.eigenvalues.shape[1]) < d[:, None]
        p = spectrum.n_columns
        with np.errstate(divide="ignore", invalid="ignore"):
            noise = split.noise_sums / ((p - d) * divisors)
            variances = np.where(signal, split.eigenvalues / divisors[:, None], 1.0)
            if has_one_signal_variance(self.factors.form):
                mean = np.where(signal, variances, 0.0).sum(axis=1) / d
                variances = np.where(signal, mean[:, None], 1.0)
            d2 = np.where(signal, split.squares / variances, 0.0).sum(axis=1) + split.noise_squares / noise
            logdet = (
                np.log(variances).sum(axis=1) + (p - d) * np.log(noise) - 2.0 * np.log(spectrum.unit).sum()
            )
            error = EPS * len(spectrum.eigenvalues) ** 2 * spectrum.eigenvalues[0] / split.noise_sums
        return -0.5 * (logdet + removal.distance_factor * d2), ~((error < MAX_NOISE_ERROR) & (d < ranks))


def factor_leave_one_out_scorer(fitted: NormalClasses, factors: Factors) -> LeaveOneOutScorer:
    """Return the leave-one-out scorer for classes that do not share parameters.

    Only the covariance of the row's own class changes if a row is left out.

    Parameters
    ----------
    fitted : NormalClasses
        Estimated distributions of the classes.
    factors : Factors
        Fit to all rows.

    Returns
    -------
    LeaveOneOutScorer
        Scores are NaN for rows that require a refit.
    """
    moments = fitted.moments
    divisors = fitted.divisors
    log_prior = fitted.log_prior
    rule = gaussian.class_plugin_rule(moments, fitted.covariances, log_prior)
    factors_by_class = [
        _LeaveOneOutFactors(factors, code, *spectrum_and_rank(moments, code))
        for code in range(moments.n_classes)
    ]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute the scores of rows, each without itself.

        Parameters
        ----------
        x : (m, p) float
            Rows, in the units of the data.
        codes : (m,) int
            Positions of their classes.
        weights : (m,) float, optional
            Weights of the rows; by default one.

        Returns
        -------
        (m, K) float
            Log prior plus log density up to a constant for each row; NaN for rows that require a refit, and
            minus infinity for the class of a row that is alone in it.
        """
        log_scores = np.array(rule.scores(x).T)
        removals = compute_removal(moments.counts[codes], weights, divisors[codes])
        needs_refit = np.zeros(len(codes), dtype=bool)
        for class_factors in factors_by_class:
            code = class_factors.class_position
            spectrum = class_factors.spectrum
            rank = class_factors.rank
            members = np.flatnonzero(codes == code)
            coordinates = spectrum.project(deviations_from_class_means(moments, x[members], code))
            q = class_factors.n_leading_eigenvalues()
            step = max(MAX_SCATTER_ELEMENTS // max(len(coordinates) * min(q, len(coordinates)), 1), 1)
            for start in range(0, len(members), step):
                chunk = members[start : start + step]
                w = None if weights is None else weights[chunk]
                chunk_removals = compute_removal(moments.counts[codes[chunk]], w, divisors[codes[chunk]])
                is_whole = np.ones(len(chunk), dtype=bool) if w is None else w <= 1
                ranks = rank - (is_whole & (spectrum.df <= rank))
                split = class_factors.split(coordinates[:, start : start + step], ranks, chunk_removals, q)
                log_scores[code, chunk], needs_refit[chunk] = class_factors.log_densities(
                    split, ranks, chunk_removals, float(divisors[code])
                )
        log_scores[codes, np.arange(len(codes))] += log_prior[codes]
        return mark_refits(log_scores, codes, removals, needs_refit).T

    return scores
