"""Covariances of a few large variances and one for all that is beyond them: high-dimensional discriminants.

*Estimates* (Bouveyron, Girard & Schmid, 2007, Communications in Statistics, Theory and Methods 36,
2607-2623). The covariance of class k has d_k variances a_kj on orthogonal axes Q_k, its *signal*, and one
variance b_k in the p - d_k dimensions beyond them, its *noise*. With l_kj the eigenvalues of the scatter and
D_k its divisor, the likelihood is largest where Q_k are the first eigenvectors, and

    a_kj = l_kj / D_k,   b_k = sum_(j > d_k) l_kj / (D_k (p - d_k)).

A name says what is whose: *a* with the index k, of each class, and j, of each dimension; *b* and *Q* with the
index k, or common; *d* likewise. What is common is the mean of what it stands for, with weights D_k:

    a = sum_k sum_(j <= d_k) l_kj / sum_k D_k d_k,   b = sum_k sum_(j > d_k) l_kj / sum_k D_k (p - d_k).

With common axes Q all is that of the pooled scatter, of divisor sum_k D_k. At each of these maxima the
traces sum to N p, so that the log-determinants say the likelihood.

*Digits.* The noise is the mean of the small eigenvalues, and not what the large ones leave of a trace; the
distance beyond the axes is the square of a residual, and not of a difference of squares: both keep their
digits however small the noise. Eigenvalues are those of a root of the scatter, which n rows of more columns
give without a matrix of columns by columns.

*Dimensions.* The scree test (Cattell, 1966, Multivariate Behavioral Research 1, 245-276) takes the last
dimension j from which the eigenvalues fall by at least a share of the largest fall,

    l_j - l_(j+1) >= t max_i (l_i - l_(i+1)),

with all p eigenvalues, those that are zero as well: where rows are fewer than columns the fall to zero may
be the largest. *BIC* takes the dimension d whose normal law of the rows of the class, with d variances (or
one that they share) and one for what is beyond, has the least

    n [sum_(j <= d) ln a_j + (p - d) ln b] + (d (p - (d + 1)/2) + m) ln n,   m = d, or 1 where they share.

Where rows are fewer than columns their likelihood has no bound: the more dimensions, the less is left to the
noise, which counts once for each of the many columns. BIC is then of the space that the rows span, with its
dimension in the place of p. Both are tried from 1 to the largest dimension that leaves something to the
noise, one less than the rank.

*Rows left out.* Without a row of deviation d from its class's mean the scatter is W - c d d', which on the
axes U of W = U L U' is L - z z' with z = c^(1/2) U'd: no larger than the rank of W, whatever the number of
columns. Its eigenvalues choose the dimensions anew, where rows chose them, and its eigenvectors V say by
V'U'd what of the row lies on the axes of the signal and what beyond. Nothing of it lies beyond U, whose axes
are of this row too. The smaller eigenvalues of a difference are known to the rounding of the largest. Where
that says too little of the noise, and where a row leaves it nothing, the row is left to a refit.

*The largest eigenvalues.* Where few of the eigenvalues matter only these are found, which is enough for the
scree test where no later fall can reach its threshold, as the eigenvalues lie between those of L. What the
row leaves beyond them is the square of a residual, and the small eigenvalues together are those of L less
what the large ones did not lose. The eigenvalues u_1 > ... > u_r of L - z z', L of l_1 > ... > l_r, are the
zeros of

    f(u) = 1 - sum_i z_i^2 / (l_i - u),   l_(j+1) < u_j < l_j,

and the eigenvector of u_j is that of z_i / (l_i - u_j) (Golub, 1973, SIAM Review 15, 318-334; Bunch, Nielsen
& Sorensen, 1978, Numerische Mathematik 31, 31-48). Between its poles f falls from plus to minus infinity.
With the poles before u as one pole at l_j, and those behind it as one at l_(j+1), each with the value and the
slope of what it stands for, the next u is a zero of a quadratic; where that leaves the interval it is halved.
What is found is l_j - u_j, which keeps its digits where an eigenvalue hardly moves.
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
"""How dimensions were found."""

FORMS = (
    "AkjBkQkDk", "AkBkQkDk", "ABkQkDk", "AkjBQkDk", "AkBQkDk", "ABQkDk",
    "AkjBkQkD", "AkBkQkD", "ABkQkD", "AkjBQkD", "AkBQkD", "ABQkD",
    "AjBQD", "ABQD",
)  # fmt: skip
"""The forms, under the names of Bouveyron, Girard & Schmid."""

DEFAULT_FORM = "AkjBkQkDk"

THRESHOLD = 0.2
"""Share of the largest fall of the eigenvalues from which on the scree test takes a fall for signal."""


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What covariances are to be: a form of `FORMS`, and how their dimensions are found.

    Given ones (K,) are held, however they were found; the threshold is that of the scree test.
    """

    form: str
    found: Found
    given: Codes | None = None
    threshold: float = THRESHOLD

    def unfitted(self) -> Wanted:
        """The same for other rows: dimensions that rows were asked to choose are chosen anew."""
        return self if self.found == "given" else replace(self, given=None)


@dataclass(frozen=True, slots=True)
class FactorAnalyticCovariance(CovarianceModel):
    """Covariances of a few large variances, one for each class.

    Dimensions are those that were given, a number or one by class, before the classes are known; axes and
    dimensions are known once they are estimated.
    """

    wanted: Wanted
    dimensions: Any = field(default=None, metadata=NOT_STORED)
    sphere: Sphere = SPHERES[0]
    factors: Factors | None = field(default=None, metadata=NOT_STORED)

    name = "factor"
    traits = CovarianceTraits(is_regular=True, is_maximum_likelihood=True, few_rows_suffice=True)

    def bind_classes(self, levels: Sequence[Any], n_columns: int) -> FactorAnalyticCovariance:
        """With the dimensions that were given, by class; a CollinearError where there is one column.

        A DataError says that classes are unknown or missing, or that the dimensions are to be the same.
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
        """The same, whose dimensions are chosen anew where rows chose them."""
        return replace(self, wanted=self.wanted.unfitted(), factors=None)

    def for_refit(self) -> FactorAnalyticCovariance:
        """As `unfitted`: moments choose the dimensions."""
        return self.unfitted()

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """The covariance of each class."""
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
        """Scores in closed form, where the covariance of a class is that of its own rows."""
        factors = self.factors
        if factors is None or self.refits_each_row:
            form = self.wanted.form
            takes = f"of parameters that the classes of {form} share takes a refit for each row"
            return by_refits(int(fitted.moments.rows.sum()), fitted.moments.n_classes, takes)
        return self.sphere.left_out(fitted, lambda in_units: factors_left_out(in_units, factors))

    @property
    def refits_each_row(self) -> bool:
        """Where classes have something in common."""
        # Of its own rows is what no other class has, and a number of dimensions that is not of all.
        form = self.wanted.form
        given = self.wanted.found == "given"
        apart = of_each_class(form) and (given or not common_dimension(form))
        return self.factors is not None and not apart

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Axes, variances and, where the rows chose them, dimensions."""
        return 0 if self.factors is None else self.factors.free_parameters()

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Log-likelihood at the variances by the counts, which what is common weighs by."""
        most_likely = () if self.factors is None else self.factors.covariances(fitted.moments.counts)
        logdets = np.array([covariance.logdet for covariance in most_likely])
        return gaussian.log_likelihood(fitted.moments, logdets, fitted.log_prior)

    @property
    def is_common(self) -> bool:
        """Where the axes are common."""
        return common_axes(self.wanted.form)

    # ---- files

    def as_stored(self) -> FactorAnalyticCovariance:
        """Return the model with the estimated dimensions as given ones, which determine the factors."""
        dimensions = self.wanted.given if self.factors is None else self.factors.dimensions
        return replace(self, wanted=replace(self.wanted, given=dimensions), factors=None)

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Raise InvalidStateError unless each class has a dimension, as its form demands."""
        dimensions = self.wanted.given
        if self.wanted.form not in FORMS or not 0 <= self.wanted.threshold <= 1:
            raise InvalidStateError("its form, or how its dimensions were found, is not known")
        if dimensions is None or dimensions.shape != (n_covariances,) or (dimensions < 1).any():
            raise InvalidStateError("its dimensions are not those of its classes")
        if common_dimension(self.wanted.form) and len(set(dimensions.tolist())) > 1:
            raise InvalidStateError("its dimensions are to be the same")


def factor_fault(fault: Fault, form: str) -> NoEstimateError:
    """Return the error for a class that has no covariance of a form."""
    k = positions(fault.code if fault.code >= 0 else None)
    if fault.kind == "order":
        return UnsuitableOptionError("signal_below_noise", class_positions=k, form=form)
    return SingularEstimateError("no_noise", class_positions=k, dimension=fault.dimension, rank=fault.rank)


def falls(lengths: Floats, p: int) -> Floats:
    """Falls (..., r) between neighbours of eigenvalues (..., r), the largest first, of p columns."""
    if lengths.shape[-1] < p:
        lengths = np.concatenate([lengths, np.zeros((*lengths.shape[:-1], 1))], axis=-1)
    return np.asarray(lengths[..., :-1] - lengths[..., 1:])


def by_scree(lengths: Floats, most: Codes, p: int, threshold: float) -> Codes:
    """Dimensions (m,) by the scree test, at most (m,), from eigenvalues (m, r), the largest first.

    Examples
    --------
    >>> by_scree(np.array([[9.0, 5.0, 1.0, 0.9]]), np.array([3]), 4, 0.2).tolist()
    [2]
    """
    steps = falls(lengths, p)
    steep = steps >= threshold * steps.max(axis=1, keepdims=True)
    steep &= np.arange(steps.shape[1]) < most[:, None]
    last = steps.shape[1] - np.argmax(steep[:, ::-1], axis=1)
    # Where only the fall to zero is steep, one dimension.
    return np.asarray(np.where(steep.any(axis=1), last, 1), dtype=np.intp)


def by_bic(lengths: Floats, most: Codes, p: int, counts: Floats, *, shared: bool) -> Codes:
    """Dimensions (m,) by BIC, from eigenvalues (m, r) of scatters, the largest first, of counts (m,).

    They are at most (m,), one less than the rank; the signal may have one variance shared by all its
    dimensions.

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
    """BIC (m, r) of 1 to r dimensions of spaces of so many (m,), but for what these have in common.

    Of a dimension that leaves nothing to the noise it is no number. The others are as of `by_bic`.
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
"""Ratio of eigenvalues below which those of a scatter have lost half of their digits."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why there is no such covariance of a class (-1 for the pooled scatter).

    By "rank" the dimension leaves nothing to the noise; by "order" the signal has no larger variance than the
    noise.
    """

    kind: Literal["rank", "order"]
    code: int
    dimension: int
    rank: int


def common_axes(form: str) -> bool:
    """Whether the classes of a form have one covariance."""
    return "Qk" not in form


def common_dimension(form: str) -> bool:
    """Whether the classes of a form have one dimension."""
    return not form.endswith("Dk")


def of_each_class(form: str) -> bool:
    """Whether the variances and axes of a class are found from its own rows alone."""
    return form.startswith("Ak") and "BkQk" in form


def one_signal(form: str) -> bool:
    """Whether a form has one variance in all dimensions of the signal."""
    return "j" not in form


def free_parameters(form: str, dimensions: Codes, p: int) -> int:
    """Number of free parameters of covariances of K dimensions, these not counted."""
    k = len(dimensions)
    each = dimensions.tolist()
    first = int(dimensions[0])
    axes = [d * p - d * (d + 1) // 2 for d in each]
    turns = axes[0] if common_axes(form) else sum(axes)
    signal = {"Akj": sum(each), "Ak": k, "Aj": first, "A": 1}[form.split("B")[0]]
    return int(turns + signal + (k if "Bk" in form else 1))


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """Spectra of the scatters of classes, and the dimensions (K,) of their signals.

    Attributes
    ----------
    spectra : tuple of Principal
        Of each class, or one of the pooled scatter; lengths are eigenvalues of the scatter of y = z * unit,
        one unit for all classes, and axes those of the signal alone.
    ranks : (K,) or (1,) int
    counts : (K,) float
    per_unit : float
        What y is times the units of the data; of standardized columns, times standard deviations.
    """

    wanted: Wanted
    dimensions: Codes
    spectra: tuple[Principal, ...]
    ranks: Codes
    counts: Floats
    per_unit: float

    @property
    def form(self) -> str:
        """One of `FORMS`."""
        return self.wanted.form

    @property
    def unit(self) -> Floats:
        """What z is multiplied by (p,)."""
        return self.spectra[0].unit

    @property
    def n_columns(self) -> int:
        """P."""
        return len(self.unit)

    @property
    def explained(self) -> Floats:
        """Share (K,) of the total variance of each class that lies on the axes of its signal."""
        shares = [s.lengths[:d].sum() / s.lengths.sum() for s, d in self._pairs()]
        return np.array(shares * (len(self.dimensions) // len(shares)))

    def tied_axes(self) -> list[tuple[int, int, tuple[int, int]]]:
        """Return position, number of dimensions and tied axes of the spectra whose ties are separated."""
        ties = [(k, d, tied_axes(s.lengths, d)) for k, (s, d) in enumerate(self._pairs())]
        return [(k, d, tie) for k, d, tie in ties if tie is not None]

    def _pairs(self) -> list[tuple[Principal, int]]:
        return list(zip(self.spectra, self.dimensions.tolist(), strict=False))

    def variances(self, divisors: Floats) -> tuple[list[Floats], Floats]:
        """Variances of the signals, (d_k,) each, and of the noise (K,), of y, by divisors (K,)."""
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
        """Variances of y in the units of the data; what no double can hold is infinite or zero."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(variances / self.per_unit / self.per_unit)

    def covariances(self, divisors: Floats) -> tuple[ThinCovariance, ...]:
        """The covariance of each class, by divisors (K,)."""
        signals, noise = self.variances(divisors)
        made = [
            ThinCovariance.on_axes(replace(s, lengths=a), a, b)
            for s, a, b in zip(self.spectra, signals, noise.tolist(), strict=False)
        ]
        return tuple(made * (len(self.dimensions) // len(made)))

    def fault(self) -> Fault | None:
        """Why there is no covariance of some class, the first of them."""
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
        """Of the covariances; dimensions count where the rows chose them."""
        chosen = 0
        if self.wanted.found != "given":
            chosen = 1 if common_dimension(self.form) else len(self.dimensions)
        return free_parameters(self.form, self.dimensions, self.n_columns) + chosen


def factors_of(moments: ClassMoments, wanted: Wanted) -> Factors:
    """Spectra and dimensions from moments by class, with scatters or thin roots, in the units of the data.

    The result may have a `fault`, of which its covariances are no covariances.
    """
    whole = common_axes(wanted.form)
    each: list[int | None] = [None] if whole else list(range(moments.n_classes))
    ranked = [spectrum_of(moments, k) for k in each]
    ranks = np.array([rank for _, rank in ranked])
    # One unit for all of them, at which the traces sum to one.
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
    """Principal axes of the scatter of class k, or of the pooled one, and its rank; see `principal`."""
    whole = one_scatter(moments, k)
    p = moments.n_columns
    free = int((whole.rows - (whole.rows > 0)).sum())
    if not whole.squares.any():
        ratio = whole.common_unit
        return Principal(np.zeros(min(1, p)), np.eye(1, p), ratio, whole.total, free), 0
    spectrum = principal(whole)
    if whole.roots is None and spectrum.lengths[-1] <= HALF_DIGITS * spectrum.lengths[0]:
        spectrum = principal(replace(whole, roots=root_of(whole.scatters[0])[None]))
    # Lengths that the rounding of the columns alone would give say nothing of the data.
    rounding = EPS * np.sqrt(whole.total) * np.linalg.norm(whole.magnitude * spectrum.unit)
    relative = EPS * max(len(spectrum.lengths), p) * np.sqrt(spectrum.lengths[0])
    rank = int((np.sqrt(np.maximum(spectrum.lengths, 0.0)) > max(rounding, relative)).sum())
    return spectrum, min(rank, free)


def _size(own: Principal) -> float:
    """The trace that a spectrum was divided by, in the one unit of all columns; zero where nothing varies."""
    if not own.lengths.any():
        return 0.0
    return float(1.0 / own.unit.max() ** 2)


def _chosen(
    moments: ClassMoments, wanted: Wanted, spectra: list[Principal], ranks: Codes
) -> NDArray[np.intp]:
    """Dimensions (K,) that the rows choose."""
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
    """Dimensions (m,) of spectra (m, r), as `by_scree` or `by_bic` chooses them."""
    if wanted.found == "bic":
        return by_bic(lengths, most, p, counts, shared=one_signal(wanted.form))
    return by_scree(lengths, most, p, wanted.threshold)


MOST_STEPS = 100
"""Steps up to which zeros are looked for; a few are enough where halving is not needed."""


@dataclass(frozen=True, slots=True, eq=False)
class Downdated:
    """The q largest eigenvalues of each of m matrices: l_j - u_j (m, q), and l_i - u_j (m, r, q).

    The slopes (m, q) are sums of z_i^2 / (l_i - u_j)^2; found are those (m,) known to the rounding of f.
    """

    shifts: Floats
    slopes: Floats
    gaps: Floats
    found: NDArray[np.bool_]


def downdated(lengths: Floats, squares: Floats, q: int) -> Downdated:
    """The q largest eigenvalues of matrices L - z z', from L (r,) and squares z_i^2 (m, r), none zero.

    L falls, each time by more than a rounding of the first.

    Examples
    --------
    >>> held = downdated(np.array([3.0, 1.0]), np.array([[1.0, 0.5]]), 2)
    >>> largest, last = (np.array([3.0, 1.0]) - held.shifts)[0].tolist()
    >>> round(largest + last, 12), round(largest * last, 12)
    (2.5, 0.5)
    """
    m, r = squares.shape
    apart = lengths[:, None] - lengths[:q]
    # Behind the last of all there is no pole, and an eigenvalue may lie as far as the trace goes.
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
        # A positive value says that the eigenvalue is larger, and the shift smaller.
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
    """The next shifts, from the distances to the poles before and behind and what these stand for."""
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
"""Numbers of the scatters without rows that are held at once."""

KNOWN_NOISE = 1e-10
"""Relative error of the noise from which on a row is left to a refit."""

FEW_EIGENVALUES = 3
"""Share of all eigenvalues, one in so many, up to which they are found one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """What the scatter of a class without each of m rows has on the axes of the signal, and beyond.

    Eigenvalues and squares of the row on their axes are (m, q), of which those beyond the signal do not
    count; their sums beyond the signal are (m,).
    """

    dimensions: Codes
    lengths: Floats
    squares: Floats
    rest: Floats
    rest_squares: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _WithoutRows:
    """The covariance of one class without each of some of its rows, on the axes of its scatter."""

    factors: Factors
    code: int
    spectrum: Principal
    rank: int

    @property
    def threshold(self) -> float:
        return self.factors.wanted.threshold

    def enough(self) -> int:
        """Number of the largest eigenvalues that are enough, or that of all of them."""
        lengths = self.spectrum.lengths
        found = self.factors.wanted.found
        r = len(lengths)
        known = lengths[: self.rank]
        if found == "bic" or self.rank < 2 or np.diff(known).max() > -4 * EPS * known[0]:
            return r
        q = int(self.factors.dimensions[self.code])
        if found == "cattell":
            # Falls may be half of what they are in all rows, before it is worth a look at all eigenvalues.
            steep = falls(lengths, self.spectrum.n_columns).max() * self.threshold / 2
            steeper = np.flatnonzero(self.reach() >= steep)
            q = max(q, int(steeper[-1]) + 1 if len(steeper) else 0) + 1
        return q if FEW_EIGENVALUES * q <= r else r

    def reach(self) -> Floats:
        """The largest that falls (rank,) from each eigenvalue to the next may be without a row."""
        after = np.append(self.spectrum.lengths[2 : self.rank], [0.0, 0.0])
        return np.asarray(self.spectrum.lengths[: self.rank] - after[: self.rank])

    def split(self, turned: Floats, ranks: Codes, gone: Removal, q: int) -> _Split:
        """From the q largest eigenvalues, and from all of them for rows for which these are not enough."""
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
        """From the q largest eigenvalues, and of which rows these are enough."""
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
        """From all eigenvalues."""
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
        """Log densities (m,), but for a constant, of rows of a class without each, and what is spoilt."""
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
    """Leave-one-out scores where each class has its covariance, which the other classes of a row keep."""
    moments = fitted.moments
    divisors = fitted.divisors
    log_prior = fitted.log_prior
    rule = gaussian.separate_plugin(moments, fitted.covariances, log_prior)
    each_class = [
        _WithoutRows(factors, code, *spectrum_of(moments, code)) for code in range(moments.n_classes)
    ]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
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
