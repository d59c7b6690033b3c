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
vanishes without the row, the row is left to a refit.

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

from discrim.core.covariance.covariance import EPS
from discrim.core.covariance.model import (
    SPHERES,
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    SeparatedAxes,
    Sphere,
)
from discrim.core.covariance.principal import Principal, ThinCovariance, one_scatter, principal, tied_axes
from discrim.core.errors import (
    CoreCollinearError,
    CoreDataError,
    InvalidStateError,
    NoEstimateError,
    SingularEstimateError,
    UnsuitableOptionError,
    positions,
)
from discrim.core.moments.derived_moments import root_of
from discrim.core.moments.moments import ClassMoments, from_class_means
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeftOut, Removal, by_refits, removal, settle

Found = Literal["given", "cattell", "bic"]
"""How the dimensions are determined: by the user, the scree test or BIC."""

FORMS = (
    "AkjBkQkDk", "AkBkQkDk", "ABkQkDk", "AkjBQkDk", "AkBQkDk", "ABQkDk",
    "AkjBkQkD", "AkBkQkD", "ABkQkD", "AkjBQkD", "AkBQkD", "ABQkD",
    "AjBQD", "ABQD",
)  # fmt: skip
"""Names of the forms in Bouveyron, Girard & Schmid (2007)."""

DEFAULT_FORM = "AkjBkQkDk"

THRESHOLD = 0.2
"""Default of the smallest fall that counts as signal in the scree test, as a share of the largest fall."""


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """Options of the model: a form of `FORMS`, and how its dimensions are determined.

    Attributes
    ----------
    form : str
        One of `FORMS`.
    found : {"given", "cattell", "bic"}
        How the dimensions are determined.
    given : (K,) int, optional
        Fixed dimensions of the classes; None if the data determine them.
    threshold : float
        Threshold of the scree test, relative to the largest fall.
    """

    form: str
    found: Found
    given: Codes | None = None
    threshold: float = THRESHOLD

    def unfitted(self) -> Wanted:
        """Return a copy without dimensions that were estimated from data."""
        return self if self.found == "given" else replace(self, given=None)


@dataclass(frozen=True, slots=True)
class FactorAnalyticCovariance(CovarianceModel):
    """Covariance of each class with a few signal variances and one noise variance.

    Attributes
    ----------
    wanted : Wanted
        Form, and how the dimensions are determined.
    dimensions : int, mapping or None
        Dimensions that the user specified, one or by class label; `bind_classes` orders them by class.
    sphere : Sphere
        Units of the columns in which the noise has one variance.
    factors : Factors or None
        Estimated spectra and dimensions; None before estimation.
    """

    wanted: Wanted
    dimensions: Any = field(default=None, metadata=NOT_STORED)
    sphere: Sphere = SPHERES[0]
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
        given = self.dimensions
        form = self.wanted.form
        given = given if isinstance(given, Mapping) else dict.fromkeys(levels, given)
        unknown = [label for label in given if label not in levels]
        if unknown:
            raise CoreDataError("unknown_class_of_dimensions", classes=unknown, label=unknown[0])
        missing = [label for label in levels if label not in given]
        if missing:
            raise CoreDataError("missing_class_of_dimensions", classes=missing, label=missing[0])
        by_class = np.array([int(given[label]) for label in levels])
        if common_dimension(form) and len(set(by_class.tolist())) > 1:
            if common_axes(form):
                raise CoreDataError("one_common_dimension", form=form)
            raise CoreDataError("one_common_dimension_of_own_axes", form=form)
        return replace(self, wanted=replace(self.wanted, given=by_class))

    def unfitted(self) -> FactorAnalyticCovariance:
        """Return a copy with the user's options only."""
        return replace(self, wanted=self.wanted.unfitted(), factors=None)

    def for_refit(self) -> FactorAnalyticCovariance:
        """Return the unfitted model; the dimensions follow from moments."""
        return self.unfitted()

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariance of each class.

        Parameters
        ----------
        moments : ClassMoments
        divisors : (K,) float

        Returns
        -------
        CovarianceEstimates

        Raises
        ------
        NoEstimateError
            The variance of the noise is zero, or larger than the signal.
        """
        moments = self.rescaled(moments)
        factors = factors_of(self.sphere.in_units(moments), self.wanted)
        fault = factors.fault()
        if fault is not None:
            raise factor_fault(fault, factors.form)
        return CovarianceEstimates(replace(self, factors=factors), moments, factors.covariances(divisors))

    def separated_axes(self) -> list[SeparatedAxes]:
        """Return the numbers of dimensions that separate axes of equal eigenvalues."""
        if self.factors is None:
            return []
        most = self.factors.n_columns - 1
        ties = self.factors.tied_axes()
        return [SeparatedAxes(None if self.is_common else k, d, tie, most) for k, d, tie in ties]

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Return leave-one-out scores in closed form, or by refits if classes have common parameters."""
        factors = self.factors
        if factors is None or self.refits_each_row:
            form = self.wanted.form
            takes = f"of parameters that the classes of {form} share takes a refit for each row"
            return by_refits(int(fitted.moments.rows.sum()), fitted.moments.n_classes, takes)
        return self.sphere.left_out(fitted, lambda in_units: factors_left_out(in_units, factors))

    @property
    def refits_each_row(self) -> bool:
        """Whether classes share parameters, in which case leaving out a row requires a refit."""
        # A class is estimated from its own rows if neither parameters nor an estimated dimension are common.
        form = self.wanted.form
        given = self.wanted.found == "given"
        apart = of_each_class(form) and (given or not common_dimension(form))
        return self.factors is not None and not apart

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of parameters of axes and variances, plus dimensions that were estimated."""
        return 0 if self.factors is None else self.factors.free_parameters()

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Return the log-likelihood with variances estimated with the class counts as divisors."""
        most_likely = () if self.factors is None else self.factors.covariances(fitted.moments.counts)
        logdets = np.array([covariance.logdet for covariance in most_likely])
        return gaussian.log_likelihood(fitted.moments, logdets, fitted.log_prior)

    @property
    def is_common(self) -> bool:
        """Whether all classes have the same axes."""
        return common_axes(self.wanted.form)

    # ---- files

    def as_stored(self) -> FactorAnalyticCovariance:
        """Return the model with the estimated dimensions as fixed ones, which determine the factors."""
        dimensions = self.wanted.given if self.factors is None else self.factors.dimensions
        return replace(self, wanted=replace(self.wanted, given=dimensions), factors=None)

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Raise InvalidStateError if form, threshold or dimensions are invalid."""
        dimensions = self.wanted.given
        if self.wanted.form not in FORMS or not 0 <= self.wanted.threshold <= 1:
            raise InvalidStateError("its form, or how its dimensions were found, is not known")
        if dimensions is None or dimensions.shape != (n_covariances,) or (dimensions < 1).any():
            raise InvalidStateError("its dimensions are not those of its classes")
        if common_dimension(self.wanted.form) and len(set(dimensions.tolist())) > 1:
            raise InvalidStateError("its dimensions are to be the same")


def factor_fault(fault: Fault, form: str) -> NoEstimateError:
    """Return the error for a class whose covariance of this form does not exist."""
    k = positions(fault.code if fault.code >= 0 else None)
    if fault.kind == "order":
        return UnsuitableOptionError("signal_below_noise", class_positions=k, form=form)
    return SingularEstimateError("no_noise", class_positions=k, dimension=fault.dimension, rank=fault.rank)


def falls(lengths: Floats, p: int) -> Floats:
    """Return the differences of adjacent eigenvalues.

    Parameters
    ----------
    lengths : (..., r) float
        Eigenvalues in decreasing order.
    p : int
        Number of columns. If r < p, the fall of the last eigenvalue to zero is included.

    Returns
    -------
    (..., r - 1) or (..., r) float
    """
    if lengths.shape[-1] < p:
        lengths = np.concatenate([lengths, np.zeros((*lengths.shape[:-1], 1))], axis=-1)
    return np.asarray(lengths[..., :-1] - lengths[..., 1:])


def by_scree(lengths: Floats, most: Codes, p: int, threshold: float) -> Codes:
    """Choose dimensions by the scree test.

    Parameters
    ----------
    lengths : (m, r) float
        Eigenvalues in decreasing order.
    most : (m,) int
        Largest dimensions allowed.
    p : int
        Number of columns.
    threshold : float
        Smallest fall that counts as signal, relative to the largest fall.

    Returns
    -------
    (m,) int

    Examples
    --------
    >>> by_scree(np.array([[9.0, 5.0, 1.0, 0.9]]), np.array([3]), 4, 0.2).tolist()
    [2]
    """
    steps = falls(lengths, p)
    steep = steps >= threshold * steps.max(axis=1, keepdims=True)
    steep &= np.arange(steps.shape[1]) < most[:, None]
    last = steps.shape[1] - np.argmax(steep[:, ::-1], axis=1)
    # If only the fall to zero is steep, the dimension is one.
    return np.asarray(np.where(steep.any(axis=1), last, 1), dtype=np.intp)


def by_bic(lengths: Floats, most: Codes, p: int, counts: Floats, *, shared: bool) -> Codes:
    """Choose dimensions by BIC.

    Parameters
    ----------
    lengths : (m, r) float
        Eigenvalues of scatters in decreasing order.
    most : (m,) int
        Largest dimensions allowed, one less than the rank.
    p : int
        Number of columns.
    counts : (m,) float
        Number of observations, or sum of weights, of each scatter.
    shared : bool
        Whether all signal dimensions have the same variance.

    Returns
    -------
    (m,) int

    Examples
    --------
    >>> scatter = 50 * np.array([[9.0, 5.0, 1.0, 0.9]])
    >>> by_bic(scatter, np.array([3]), 4, np.array([50.0]), shared=False).tolist()
    [2]
    """
    spanned = np.minimum(p, most + 1)
    values = bic_by_dimension(lengths, spanned, counts, shared=shared)
    values[np.arange(values.shape[1]) >= most[:, None]] = np.inf
    return np.asarray(np.argmin(values, axis=1) + 1, dtype=np.intp)


def bic_by_dimension(lengths: Floats, spanned: Codes, counts: Floats, *, shared: bool) -> Floats:
    """Compute BIC for each number of dimensions, up to terms that do not depend on it.

    Parameters
    ----------
    lengths : (m, r) float
        Eigenvalues of scatters in decreasing order.
    spanned : (m,) int
        Dimension of the space that the rows span, at most p.
    counts : (m,) float
        Number of observations, or sum of weights, of each scatter.
    shared : bool
        Whether all signal dimensions have the same variance.

    Returns
    -------
    (m, r) float
        BIC of 1, ..., r dimensions; not finite if a dimension leaves zero noise.
    """
    d = np.arange(1, lengths.shape[1] + 1)
    n = counts[:, None]
    p = spanned[:, None]
    tails = np.cumsum(lengths[:, ::-1], axis=1)[:, ::-1]
    rest = np.concatenate([tails[:, 1:], np.zeros((len(lengths), 1))], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if shared:
            signal = d * np.log(np.cumsum(lengths, axis=1) / d / n)
        else:
            signal = np.cumsum(np.log(lengths / n), axis=1)
        noise = (p - d) * np.log(rest / (p - d) / n)
        free = d * (p - (d + 1) / 2) + (1 if shared else d)
        return np.asarray(n * (signal + noise) + free * np.log(n))


HALF_DIGITS = 1e-8
"""Ratio of smallest to largest eigenvalue below which eigenvalues of a scatter lose half their digits."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Reason why the covariance of a class does not exist.

    Attributes
    ----------
    kind : {"rank", "order"}
        "rank" if the noise is zero, "order" if a signal variance is smaller than the noise.
    code : int
        Position of the class, -1 for the pooled scatter.
    dimension, rank : int
        Dimension of the signal, and rank of the scatter.
    """

    kind: Literal["rank", "order"]
    code: int
    dimension: int
    rank: int


def common_axes(form: str) -> bool:
    """Return whether all classes have the same covariance in this form."""
    return "Qk" not in form


def common_dimension(form: str) -> bool:
    """Return whether all classes have the same dimension in this form."""
    return not form.endswith("Dk")


def of_each_class(form: str) -> bool:
    """Return whether variances and axes of a class depend on the rows of this class only."""
    return form.startswith("Ak") and "BkQk" in form


def one_signal(form: str) -> bool:
    """Return whether all signal dimensions have the same variance in this form."""
    return "j" not in form


def free_parameters(form: str, dimensions: Codes, p: int) -> int:
    """Count the free parameters of the covariances, not including the dimensions.

    Parameters
    ----------
    form : str
        One of `FORMS`.
    dimensions : (K,) int
        Dimensions of the signals.
    p : int
        Number of columns.

    Returns
    -------
    int
    """
    k = len(dimensions)
    each = dimensions.tolist()
    first = int(dimensions[0])
    axes = [d * p - d * (d + 1) // 2 for d in each]
    turns = axes[0] if common_axes(form) else sum(axes)
    signal = {"Akj": sum(each), "Ak": k, "Aj": first, "A": 1}[form.split("B")[0]]
    return int(turns + signal + (k if "Bk" in form else 1))


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """Eigenvalues and signal axes of the scatters of classes, and dimensions of the signals.

    Attributes
    ----------
    wanted : Wanted
        Options of the model.
    dimensions : (K,) int
        Dimensions of the signals.
    spectra : tuple of Principal
        One for each class, or one for the pooled scatter. They contain all eigenvalues of the scatter of
        y = z * unit, with one unit for all classes, and the axes of the signal.
    ranks : (K,) or (1,) int
        Ranks of the scatters.
    counts : (K,) float
        Number of observations, or sum of weights, of the classes.
    per_unit : float
        Ratio of y to the data, or, with standardized columns, to the data divided by standard deviations.
    """

    wanted: Wanted
    dimensions: Codes
    spectra: tuple[Principal, ...]
    ranks: Codes
    counts: Floats
    per_unit: float

    @property
    def form(self) -> str:
        """Name of the form, one of `FORMS`."""
        return self.wanted.form

    @property
    def unit(self) -> Floats:
        """Factors (p,) by which z is multiplied."""
        return self.spectra[0].unit

    @property
    def n_columns(self) -> int:
        """Number of columns, p."""
        return len(self.unit)

    @property
    def explained(self) -> Floats:
        """Share (K,) of the total variance of each class on its signal axes."""
        shares = [s.lengths[:d].sum() / s.lengths.sum() for s, d in self._pairs()]
        return np.array(shares * (len(self.dimensions) // len(shares)))

    def tied_axes(self) -> list[tuple[int, int, tuple[int, int]]]:
        """Return position, dimension and tied axes of spectra whose dimension separates equal eigenvalues."""
        ties = [(k, d, tied_axes(s.lengths, d)) for k, (s, d) in enumerate(self._pairs())]
        return [(k, d, tie) for k, d, tie in ties if tie is not None]

    def _pairs(self) -> list[tuple[Principal, int]]:
        return list(zip(self.spectra, self.dimensions.tolist(), strict=False))

    def variances(self, divisors: Floats) -> tuple[list[Floats], Floats]:
        """Compute the variances of y = z * unit.

        Parameters
        ----------
        divisors : (K,) float

        Returns
        -------
        signals : list of (d_k,) float
            Variances on the signal axes of each class.
        noise : (K,) float
            Noise variances.
        """
        k = len(self.dimensions)
        p = self.n_columns
        each = divisors if len(self.spectra) == k else divisors.sum(keepdims=True)
        signals = [s.lengths[:d] / n for (s, d), n in zip(self._pairs(), each, strict=True)]
        rests = np.array([s.lengths[d:].sum() for s, d in self._pairs()])
        d = self.dimensions[: len(each)]
        if "Bk" in self.form:
            noise = rests / (each * (p - d))
        else:
            noise = np.full(len(each), rests.sum() / (each @ (p - d)))
        if one_signal(self.form):
            sums = np.array([n * a.sum() for a, n in zip(signals, each, strict=True)])
            own = sums / (each * d) if "Ak" in self.form else np.full(len(each), sums.sum() / (each @ d))
            signals = [np.full(m, a) for a, m in zip(own, d.tolist(), strict=True)]
        if len(each) < k:
            return signals * k, np.repeat(noise, k)
        return signals, noise

    def in_data(self, variances: Floats) -> Floats:
        """Convert variances of y to the units of the data; values out of range become infinite or zero."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(variances / self.per_unit / self.per_unit)

    def covariances(self, divisors: Floats) -> tuple[ThinCovariance, ...]:
        """Return the covariance of each class for divisors (K,)."""
        signals, noise = self.variances(divisors)
        made = [
            ThinCovariance.on_axes(replace(s, lengths=a), a, b)
            for s, a, b in zip(self.spectra, signals, noise.tolist(), strict=False)
        ]
        return tuple(made * (len(self.dimensions) // len(made)))

    def fault(self) -> Fault | None:
        """Return the reason why a covariance does not exist, for the first such class, or None."""
        each = self.dimensions[: len(self.ranks)].tolist()
        for code, (d, rank) in enumerate(zip(each, self.ranks.tolist(), strict=True)):
            if d >= rank:
                return Fault("rank", -1 if common_axes(self.form) else code, d, rank)
        if of_each_class(self.form) or common_axes(self.form):
            return None
        signals, noise = self.variances(self.counts)
        for code, (a, b) in enumerate(zip(signals, noise.tolist(), strict=True)):
            if a.min() < b:
                return Fault("order", code, len(a), int(self.ranks[code]))
        return None

    def free_parameters(self) -> int:
        """Count the free parameters of the covariances, including dimensions that were estimated."""
        chosen = 0
        if self.wanted.found != "given":
            chosen = 1 if common_dimension(self.form) else len(self.dimensions)
        return free_parameters(self.form, self.dimensions, self.n_columns) + chosen


def factors_of(moments: ClassMoments, wanted: Wanted) -> Factors:
    """Compute the spectra of the scatters and choose the dimensions.

    The result may have a `fault`, in which case its covariances are invalid.

    Parameters
    ----------
    moments : ClassMoments
        With scatters or thin roots by class, in the units in which the noise has one variance.
    wanted : Wanted
        Options of the model.

    Returns
    -------
    Factors
    """
    whole = common_axes(wanted.form)
    each: list[int | None] = [None] if whole else list(range(moments.n_classes))
    ranked = [spectrum_of(moments, k) for k in each]
    ranks = np.array([rank for _, rank in ranked])
    # A common unit for all classes, in which the traces sum to one.
    sizes = np.array([_size(own) for own, _ in ranked])
    total = sizes.sum()
    unit = moments.common_unit / np.sqrt(total) if total > 0 else moments.common_unit
    spectra = [replace(own, lengths=own.lengths * (size / total if total > 0 else 0.0), unit=unit)
               for (own, _), size in zip(ranked, sizes.tolist(), strict=True)]  # fmt: skip
    dimensions = wanted.given
    if dimensions is None:
        dimensions = _chosen(moments, wanted, spectra, ranks)
    axes = [
        own if own.axes is None else replace(own, axes=np.ascontiguousarray(own.axes[:d]))
        for own, d in zip(spectra, dimensions.tolist(), strict=False)
    ]
    per_unit = float(moments.scale.min() * unit.max())
    return Factors(wanted, dimensions, tuple(axes), ranks, moments.counts, per_unit)


def spectrum_of(moments: ClassMoments, k: int | None) -> tuple[Principal, int]:
    """Compute the principal axes and the numerical rank of a scatter.

    Parameters
    ----------
    moments : ClassMoments
    k : int or None
        Position of the class; None for the pooled scatter.

    Returns
    -------
    spectrum : Principal
    rank : int
        Number of eigenvalues larger than rounding error, at most the degrees of freedom.
    """
    whole = one_scatter(moments, k)
    p = moments.n_columns
    free = int((whole.rows - (whole.rows > 0)).sum())
    if not whole.squares.any():
        ratio = whole.common_unit
        return Principal(np.zeros(min(1, p)), np.eye(1, p), ratio, whole.total, free), 0
    spectrum = principal(whole)
    if whole.roots is None and spectrum.lengths[-1] <= HALF_DIGITS * spectrum.lengths[0]:
        spectrum = principal(replace(whole, roots=root_of(whole.scatters[0])[None]))
    # Eigenvalues of the size of the rounding errors of the columns carry no information.
    rounding = EPS * np.sqrt(whole.total) * np.linalg.norm(whole.magnitude * spectrum.unit)
    relative = EPS * max(len(spectrum.lengths), p) * np.sqrt(spectrum.lengths[0])
    rank = int((np.sqrt(np.maximum(spectrum.lengths, 0.0)) > max(rounding, relative)).sum())
    return spectrum, min(rank, free)


def _size(own: Principal) -> float:
    """Return the trace by which a spectrum was divided, in the common unit of the columns, or zero."""
    if not own.lengths.any():
        return 0.0
    return float(1.0 / own.unit.max() ** 2)


def _chosen(
    moments: ClassMoments, wanted: Wanted, spectra: list[Principal], ranks: Codes
) -> NDArray[np.intp]:
    """Choose the dimensions from the eigenvalues.

    Parameters
    ----------
    moments : ClassMoments
    wanted : Wanted
        Options of the model.
    spectra : list of Principal
        Spectrum of each class, or of the pooled scatter.
    ranks : (K,) or (1,) int
        Ranks of the scatters.

    Returns
    -------
    (K,) int
    """
    k = moments.n_classes
    p = moments.n_columns
    counts = moments.counts
    lengths = [own.lengths for own in spectra]
    most = np.maximum(ranks - 1, 1)
    if common_dimension(wanted.form):
        if not common_axes(wanted.form):
            lengths = [spectrum_of(moments, None)[0].lengths]
            most = most.min(keepdims=True)
        counts = counts.sum(keepdims=True)
    side = np.zeros((len(lengths), max(len(own) for own in lengths)))
    for row, own in zip(side, lengths, strict=True):
        row[: len(own)] = np.maximum(own, 0.0)
    found = choose(wanted, side, most, p, counts)
    return np.repeat(found, k // len(found))


def choose(wanted: Wanted, lengths: Floats, most: Codes, p: int, counts: Floats) -> Codes:
    """Choose dimensions by the criterion of the options, the scree test or BIC.

    Parameters
    ----------
    wanted : Wanted
        Options of the model.
    lengths : (m, r) float
        Eigenvalues in decreasing order.
    most : (m,) int
        Largest dimensions allowed.
    p : int
        Number of columns.
    counts : (m,) float
        Number of observations, or sum of weights, of each scatter.

    Returns
    -------
    (m,) int
    """
    if wanted.found == "bic":
        return by_bic(lengths, most, p, counts, shared=one_signal(wanted.form))
    return by_scree(lengths, most, p, wanted.threshold)


MOST_STEPS = 100
"""Maximum number of iterations for the eigenvalues; a few suffice unless intervals are halved."""


@dataclass(frozen=True, slots=True, eq=False)
class Downdated:
    """The q largest eigenvalues u_j of m matrices diag(l) - z z'.

    Attributes
    ----------
    shifts : (m, q) float
        Differences l_j - u_j.
    slopes : (m, q) float
        Sums over i of z_i^2 / (l_i - u_j)^2.
    gaps : (m, r, q) float
        Differences l_i - u_j.
    found : (m,) bool
        Matrices whose eigenvalues converged to rounding error.
    """

    shifts: Floats
    slopes: Floats
    gaps: Floats
    found: NDArray[np.bool_]


def downdated(lengths: Floats, squares: Floats, q: int) -> Downdated:
    """Compute the q largest eigenvalues of the matrices diag(l) - z z'.

    Parameters
    ----------
    lengths : (r,) float
        Diagonal l, strictly decreasing by more than rounding error of the first element.
    squares : (m, r) float
        Positive squares z_i^2 of each matrix.
    q : int
        Number of eigenvalues.

    Returns
    -------
    Downdated

    Examples
    --------
    >>> held = downdated(np.array([3.0, 1.0]), np.array([[1.0, 0.5]]), 2)
    >>> largest, last = (np.array([3.0, 1.0]) - held.shifts)[0].tolist()
    >>> round(largest + last, 12), round(largest * last, 12)
    (2.5, 0.5)
    """
    m, r = squares.shape
    apart = lengths[:, None] - lengths[:q]
    # There is no pole below the last eigenvalue. The trace bounds its distance from the pole above.
    width = np.empty((m, q))
    width[:] = np.append(-np.diff(lengths), 0.0)[:q]
    if q == r:
        width[:, -1] = squares.sum(axis=1) * (1 + EPS * r)
    low, high = np.zeros((m, q)), width.copy()
    shifts = width / 2
    slopes = np.ones((m, q))
    found = np.zeros(m, dtype=bool)
    before = np.arange(r)[:, None] <= np.arange(q)
    ends = np.arange(q) == r - 1
    active = np.arange(m)
    for _ in range(MOST_STEPS):
        delta = shifts[active]
        gaps = apart + delta[:, None, :]
        part = squares[active][:, :, None] / gaps
        steep = part / gaps
        psi, psi_slope = (np.where(before, each, 0.0).sum(axis=1) for each in (part, steep))
        phi, phi_slope = (np.where(before, 0.0, each).sum(axis=1) for each in (part, steep))
        value = 1.0 - psi - phi
        slopes[active] = psi_slope + phi_slope
        close = np.abs(value) <= 4 * EPS * r * (1.0 + np.abs(psi) + np.abs(phi))
        close |= high[active] - low[active] <= 2 * EPS * delta
        done = close.all(axis=1)
        found[active[done]] = True
        if done.all():
            break
        # If f is positive, the eigenvalue is larger and the shift is smaller.
        high[active] = np.where(value > 0, delta, high[active])
        low[active] = np.where(value > 0, low[active], delta)
        step = _step(delta, delta - width[active], (psi, psi_slope), (phi, phi_slope), ends)
        inside = (step > low[active]) & (step < high[active])
        middle = 0.5 * (low[active] + high[active])
        shifts[active] = np.where(close, delta, np.where(inside, step, middle))
        active = active[~done]
    return Downdated(shifts, slopes, apart + shifts[:, None, :], found)


def _step(
    first: Floats, second: Floats, before: tuple[Floats, Floats], behind: tuple[Floats, Floats], ends: Floats
) -> Floats:
    """Compute the next iterate from a rational interpolation with two poles.

    Parameters
    ----------
    first, second : (m, q) float
        Distances of the current iterates from the upper and the lower pole.
    before, behind : pair of (m, q) float
        Values and slopes of the sums over the poles above and below.
    ends : (q,) bool
        Eigenvalues without a pole below.

    Returns
    -------
    (m, q) float
        Next differences l_j - u_j; they may lie outside the bracketing interval.
    """
    (psi, psi_slope), (phi, phi_slope) = before, behind
    s = first**2 * psi_slope
    big = second**2 * phi_slope
    level = 1.0 - (psi - first * psi_slope) - (phi - second * phi_slope)
    linear = s + big - level * (first + second)
    constant = level * first * second - s * second - big * first
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(linear**2 - 4 * level * constant, 0.0))
        half = -0.5 * (linear + np.copysign(root, linear))
        one = first - half / level
        other = first - constant / half
        width = first - second
        step = np.where((one > 0) & (one < width), one, other)
        return np.asarray(np.where(ends, s / level, step))


HELD_SCATTERS = 2**21
"""Maximum number of elements of leave-one-out scatters in memory at once."""

KNOWN_NOISE = 1e-10
"""Relative error of the noise variance at or above which a row is left to a refit."""

FEW_EIGENVALUES = 3
"""The largest eigenvalues are computed individually if at most one in so many is required."""


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """Leave-one-out scatters of a class, split into signal and noise, for m rows.

    Attributes
    ----------
    dimensions : (m,) int
        Dimensions of the signal without each row.
    lengths : (m, q) float
        Eigenvalues; only the leading `dimensions` are used.
    squares : (m, q) float
        Squared coordinates of each row on the eigenvectors.
    rest : (m,) float
        Sum of the eigenvalues of the noise.
    rest_squares : (m,) float
        Squared length of each row in the noise space.
    """

    dimensions: Codes
    lengths: Floats
    squares: Floats
    rest: Floats
    rest_squares: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _WithoutRows:
    """Computation of the covariance of one class without each of its rows, on the axes of its scatter.

    Attributes
    ----------
    factors : Factors
        Fit to all rows.
    code : int
        Position of the class.
    spectrum : Principal
        Principal axes of its scatter.
    rank : int
        Rank of its scatter.
    """

    factors: Factors
    code: int
    spectrum: Principal
    rank: int

    @property
    def threshold(self) -> float:
        return self.factors.wanted.threshold

    def enough(self) -> int:
        """Return the number of leading eigenvalues to compute; all of them if a few do not suffice."""
        lengths = self.spectrum.lengths
        found = self.factors.wanted.found
        r = len(lengths)
        known = lengths[: self.rank]
        if found == "bic" or self.rank < 2 or np.diff(known).max() > -4 * EPS * known[0]:
            return r
        q = int(self.factors.dimensions[self.code])
        if found == "cattell":
            # Leave room for the largest fall to halve without a row before all eigenvalues are required.
            steep = falls(lengths, self.spectrum.n_columns).max() * self.threshold / 2
            steeper = np.flatnonzero(self.reach() >= steep)
            q = max(q, int(steeper[-1]) + 1 if len(steeper) else 0) + 1
        return q if FEW_EIGENVALUES * q <= r else r

    def reach(self) -> Floats:
        """Return upper bounds (rank,) of the fall after each eigenvalue if a row is left out."""
        after = np.append(self.spectrum.lengths[2 : self.rank], [0.0, 0.0])
        return np.asarray(self.spectrum.lengths[: self.rank] - after[: self.rank])

    def split(self, turned: Floats, ranks: Codes, gone: Removal, q: int) -> _Split:
        """Split from the q largest eigenvalues; use all eigenvalues for rows for which these do not suffice.

        Parameters
        ----------
        turned : (r, m) float
            Deviations of the rows from the class mean, on the axes.
        ranks : (m,) int
            Rank without each row.
        gone : Removal
            Weights that are left out.
        q : int
            Number of leading eigenvalues.

        Returns
        -------
        _Split
        """
        if q >= len(turned):
            return self.by_all(turned, ranks, gone)
        split, known = self.by_largest(turned, ranks, gone, q)
        if known.all():
            return split
        at = np.flatnonzero(~known)
        some = Removal(*(getattr(gone, name)[at] for name in ("out", "count", "alone", "shrink", "left")))
        again = self.by_all(turned[:, at], ranks[at], some)
        wide = np.zeros((2, turned.shape[1], len(turned)))
        wide[0, :, :q] = split.lengths
        wide[1, :, :q] = split.squares
        wide[0, at] = again.lengths
        wide[1, at] = again.squares
        for name in ("dimensions", "rest", "rest_squares"):
            getattr(split, name)[at] = getattr(again, name)
        return replace(split, lengths=wide[0], squares=wide[1])

    def by_largest(
        self, turned: Floats, ranks: Codes, gone: Removal, q: int
    ) -> tuple[_Split, NDArray[np.bool_]]:
        """Split from the q largest eigenvalues.

        Parameters
        ----------
        turned : (r, m) float
            Deviations of the rows from the class mean, on the axes.
        ranks : (m,) int
            Rank without each row.
        gone : Removal
            Weights that are left out.
        q : int
            Number of leading eigenvalues.

        Returns
        -------
        split : _Split
        is_valid : (m,) bool
            Rows for which the q eigenvalues suffice.
        """
        rank = self.rank
        whole = self.spectrum.lengths[: self.rank]
        lift = gone.lift[:, None]
        t = turned[:rank].T
        squares = np.maximum(lift * t**2, EPS**2 * whole[0])
        moved = downdated(whole, squares, q)
        lengths = whole[:q] - moved.shifts
        known = moved.found
        if self.factors.wanted.found == "given":
            d = np.full(len(t), self.factors.dimensions[self.code])
        else:
            d = by_scree(lengths, np.minimum(ranks - 1, q - 1), q, self.threshold)
            largest = (lengths[:, :-1] - lengths[:, 1:]).max(axis=1)
            known = known & (self.reach()[q - 1 :].max() < self.threshold * largest)
        signal = np.arange(q) < d[:, None]
        lost = squares.sum(axis=1) - np.where(signal, moved.shifts, 0.0).sum(axis=1)
        rest = (np.arange(rank) >= d[:, None]) @ whole - lost
        taken = (np.where(signal, 1 / moved.slopes, 0.0)[:, None, :] / moved.gaps).sum(axis=2)
        beyond = squares / lift * (1 - taken) ** 2
        rest_squares = beyond.sum(axis=1) + (turned[rank:] ** 2).sum(axis=0)
        return _Split(d, lengths, 1 / (lift * moved.slopes), rest, rest_squares), known

    def by_all(self, turned: Floats, ranks: Codes, gone: Removal) -> _Split:
        """Split from all eigenvalues.

        Parameters
        ----------
        turned : (r, m) float
            Deviations of the rows from the class mean, on the axes.
        ranks : (m,) int
            Rank without each row.
        gone : Removal
            Weights that are left out.

        Returns
        -------
        _Split
        """
        r, m = turned.shape
        scatters = -(gone.lift[:, None] * turned.T)[:, :, None] * turned.T[:, None, :]
        scatters[:, np.arange(r), np.arange(r)] += self.spectrum.lengths
        lengths, vectors = np.linalg.eigh(scatters)
        lengths = np.maximum(lengths[:, ::-1], 0.0)
        vectors = vectors[:, :, ::-1]
        squares = np.einsum("mij,im->mj", vectors, turned) ** 2
        if self.factors.wanted.found == "given":
            d = np.full(m, self.factors.dimensions[self.code])
        else:
            most = np.maximum(ranks - 1, 1)
            counts = gone.count - gone.out
            d = choose(self.factors.wanted, lengths, most, self.spectrum.n_columns, counts)
        beyond = np.arange(r) >= d[:, None]
        rest, rest_squares = (np.where(beyond, each, 0.0).sum(axis=1) for each in (lengths, squares))
        return _Split(d, lengths, squares, rest, rest_squares)

    def scored(
        self, split: _Split, ranks: Codes, gone: Removal, divisor: float
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Compute the log densities of rows under the covariance of their class without each of them.

        Parameters
        ----------
        split : _Split
        ranks : (m,) int
            Rank without each row.
        gone : Removal
            Weights that are left out.
        divisor : float
            Divisor of the scatter of all rows of the class.

        Returns
        -------
        log_densities : (m,) float
            Up to a constant.
        needs_refit : (m,) bool
            Rows whose noise variance is inaccurate or zero.
        """
        own_axes = self.spectrum
        after = divisor - gone.out
        d = split.dimensions
        signal = np.arange(split.lengths.shape[1]) < d[:, None]
        p = own_axes.n_columns
        with np.errstate(divide="ignore", invalid="ignore"):
            noise = split.rest / ((p - d) * after)
            own = np.where(signal, split.lengths / after[:, None], 1.0)
            if one_signal(self.factors.form):
                mean = np.where(signal, own, 0.0).sum(axis=1) / d
                own = np.where(signal, mean[:, None], 1.0)
            d2 = np.where(signal, split.squares / own, 0.0).sum(axis=1) + split.rest_squares / noise
            logdet = np.log(own).sum(axis=1) + (p - d) * np.log(noise) - 2.0 * np.log(own_axes.unit).sum()
            error = EPS * len(own_axes.lengths) ** 2 * own_axes.lengths[0] / split.rest
        return -0.5 * (logdet + gone.stretch * d2), ~((error < KNOWN_NOISE) & (d < ranks))


def factors_left_out(fitted: NormalClasses, factors: Factors) -> LeftOut:
    """Return leave-one-out scores for classes that share no parameters.

    Only the covariance of the row's own class changes if a row is left out.
    """
    moments = fitted.moments
    divisors = fitted.divisors
    log_prior = fitted.log_prior
    rule = gaussian.separate_plugin(moments, fitted.covariances, log_prior)
    each_class = [
        _WithoutRows(factors, code, *spectrum_of(moments, code)) for code in range(moments.n_classes)
    ]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute the scores of rows, each without itself.

        Parameters
        ----------
        x : (m, p) float
        codes : (m,) int
            Positions of their classes.
        weights : (m,) float, optional

        Returns
        -------
        (m, K) float
            NaN for rows that are left to a refit.
        """
        out = np.array(rule.scores(x).T)
        gone = removal(moments.counts[codes], weights, divisors[codes])
        spoilt = np.zeros(len(codes), dtype=bool)
        for own in each_class:
            code = own.code
            spectrum = own.spectrum
            rank = own.rank
            mine = np.flatnonzero(codes == code)
            turned = spectrum.turned(from_class_means(moments, x[mine], code))
            q = own.enough()
            step = max(HELD_SCATTERS // max(len(turned) * min(q, len(turned)), 1), 1)
            for start in range(0, len(mine), step):
                some = mine[start : start + step]
                w = None if weights is None else weights[some]
                taken = removal(moments.counts[codes[some]], w, divisors[codes[some]])
                whole = np.ones(len(some), dtype=bool) if w is None else w <= 1
                ranks = rank - (whole & (spectrum.free <= rank))
                split = own.split(turned[:, start : start + step], ranks, taken, q)
                out[code, some], spoilt[some] = own.scored(split, ranks, taken, float(divisors[code]))
        out[codes, np.arange(len(codes))] += log_prior[codes]
        return settle(out, codes, gone, spoilt).T

    return scores
