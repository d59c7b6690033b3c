"""Covariances of a few large variances and one for all that is beyond them: high-dimensional discriminants.

Theory (Bouveyron, Girard & Schmid, 2007, Communications in Statistics, Theory and Methods 36, 2607-2623).
The covariance of class k has d_k variances a_kj on orthogonal axes Q_k, its *signal*, and one variance b_k in
the p - d_k dimensions beyond them, its *noise*. With l_kj the eigenvalues of the scatter and D_k its divisor,
the likelihood is largest where Q_k are the first eigenvectors, and

    a_kj = l_kj / D_k,   b_k = sum_(j > d_k) l_kj / (D_k (p - d_k)).

A name says what is whose: *a* with the index k, of each class, and j, of each dimension; *b* and *Q* with the
index k, or common; *d* likewise. What is common is the mean of what it stands for, with weights D_k:

    a = sum_k sum_(j <= d_k) l_kj / sum_k D_k d_k,   b = sum_k sum_(j > d_k) l_kj / sum_k D_k (p - d_k).

With common axes Q all is that of the pooled scatter, of divisor sum_k D_k. At each of these maxima the
traces sum to N p, so that the log-determinants say the likelihood.

The noise is the mean of the small eigenvalues, and not what the large ones leave of a trace; the distance
beyond the axes is the square of a residual, and not of a difference of squares: both keep their digits
however small the noise. Eigenvalues are those of a root of the scatter, which n rows of more columns give
without a matrix of columns by columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.covariance.dimensions import by_bic, by_scree
from discrim.core.covariance.principal import Principal, ThinCovariance, one_scatter, principal
from discrim.core.moments.given_moments import root_of
from discrim.core.moments.moments import ClassMoments

__all__ = [
    "FORMS", "Factors", "Fault", "Found", "Wanted", "choose", "common_axes", "common_dimension", "factors_of",
    "found_by_class", "free_parameters", "of_each_class", "one_signal", "spectrum",

]  # fmt: skip

Floats = NDArray[np.float64]
Counts = NDArray[np.intp]

Found = Literal["given", "cattell", "bic"]
"""How dimensions were found."""

FORMS = (
    "AkjBkQkDk", "AkBkQkDk", "ABkQkDk", "AkjBQkDk", "AkBQkDk", "ABQkDk",
    "AkjBkQkD", "AkBkQkD", "ABkQkD", "AkjBQkD", "AkBQkD", "ABQkD",
    "AjBQD", "ABQD",
)  # fmt: skip
"""The forms, under the names of Bouveyron, Girard & Schmid."""

HALF = 1e-8
"""Ratio of eigenvalues below which those of a scatter have lost half of their digits."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What covariances are to be.

    Attributes
    ----------
    form : str
        One of `FORMS`.
    found : {"given", "cattell", "bic"}
    given : (K,) int or None
        Dimensions that are held, however they were found.
    threshold : float
        Of the scree test.
    """

    form: str
    found: Found
    given: Counts | None = None
    threshold: float = 0.2

    def anew(self) -> Wanted:
        """The same for other rows: dimensions that rows were asked to choose are chosen anew."""
        return self if self.found == "given" else replace(self, given=None)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why there is no such covariance.

    Attributes
    ----------
    kind : {"rank", "order"}
        The dimension leaves nothing to the noise; the signal has no larger variance than the noise.
    code : int
        Class, or -1 for the pooled scatter.
    dimension, rank : int
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


def found_by_class(factors: Factors) -> bool:
    """Whether the covariance of a class would be the same whatever the rows of the others."""
    chosen = factors.wanted.found != "given"
    return of_each_class(factors.form) and not (chosen and common_dimension(factors.form))


def one_signal(form: str) -> bool:
    """Whether a form has one variance in all dimensions of the signal."""
    return "j" not in form


def free_parameters(form: str, dimensions: Counts, p: int) -> int:
    """Number of free parameters of covariances of K dimensions, these not counted."""
    k, each, first = len(dimensions), dimensions.tolist(), int(dimensions[0])
    axes = [d * p - d * (d + 1) // 2 for d in each]
    turns = axes[0] if common_axes(form) else sum(axes)
    signal = {"Akj": sum(each), "Ak": k, "Aj": first, "A": 1}[form.split("B")[0]]
    return int(turns + signal + (k if "Bk" in form else 1))


@dataclass(frozen=True, slots=True)
class Factors:
    """Spectra of the scatters of classes, and the dimensions of their signals.

    Attributes
    ----------
    wanted : Wanted
    dimensions : (K,) int
    spectra : tuple of Principal
        Of each class, or one of the pooled scatter; lengths are eigenvalues of the scatter of y = z * unit,
        one unit for all classes, and axes those of the signal alone.
    ranks : (K,) or (1,) int
    counts : (K,) float
    per_unit : float
        What y is times the units of the data; of standardized columns, times standard deviations.
    """

    wanted: Wanted
    dimensions: Counts
    spectra: tuple[Principal, ...]
    ranks: Counts
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

    def _pairs(self) -> list[tuple[Principal, int]]:
        return list(zip(self.spectra, self.dimensions.tolist(), strict=False))

    def variances(self, divisors: Floats) -> tuple[list[Floats], Floats]:
        """Variances of the signals, (d_k,) each, and of the noise (K,), of y, by divisors (K,)."""
        k, p = len(self.dimensions), self.n_columns
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
    """Spectra and dimensions from moments by class, in the units of the data.

    The result may have a `fault`, of which its covariances are no covariances.

    Parameters
    ----------
    moments : ClassMoments
        By class, with scatters or thin roots.
    wanted : Wanted
    """
    whole = common_axes(wanted.form)
    each: list[int | None] = [None] if whole else list(range(moments.n_classes))
    held = [spectrum(moments, k) for k in each]
    ranks = np.array([rank for _, rank in held])
    # One unit for all of them, at which the traces sum to one.
    sizes = np.array([_size(own) for own, _ in held])
    total = sizes.sum()
    unit = moments.common_unit / np.sqrt(total) if total > 0 else moments.common_unit
    spectra = [replace(own, lengths=own.lengths * (size / total if total > 0 else 0.0), unit=unit)
               for (own, _), size in zip(held, sizes.tolist(), strict=True)]  # fmt: skip
    dimensions = wanted.given
    if dimensions is None:
        dimensions = _chosen(moments, wanted, spectra, ranks)
    axes = [_leading(own, d) for own, d in zip(spectra, dimensions.tolist(), strict=False)]
    per_unit = float(moments.scale.min() * unit.max())
    return Factors(wanted, dimensions, tuple(axes), ranks, moments.counts, per_unit)


def spectrum(moments: ClassMoments, k: int | None) -> tuple[Principal, int]:
    """Principal axes of the scatter of class k, or of the pooled one, and its rank; see `principal`."""
    whole = one_scatter(moments, k)
    p = moments.n_columns
    free = int((whole.rows - (whole.rows > 0)).sum())
    if not whole.squares.any():
        ratio = whole.common_unit
        return Principal(np.zeros(min(1, p)), np.eye(1, p), ratio, whole.total, free), 0
    held = principal(whole)
    if whole.roots is None and held.lengths[-1] <= HALF * held.lengths[0]:
        held = principal(replace(whole, roots=root_of(whole.scatters[0])[None]))
    # Lengths that the rounding of the columns alone would give say nothing of the data.
    rounding = EPS * np.sqrt(whole.total) * np.linalg.norm(whole.magnitude * held.unit)
    relative = EPS * max(len(held.lengths), p) * np.sqrt(held.lengths[0])
    rank = int((np.sqrt(np.maximum(held.lengths, 0.0)) > max(rounding, relative)).sum())
    return held, min(rank, free)


def _size(own: Principal) -> float:
    """The trace that a spectrum was divided by, in the one unit of all columns; zero where nothing varies."""
    if not own.lengths.any():
        return 0.0
    return float(1.0 / own.unit.max() ** 2)


def _leading(own: Principal, d: int) -> Principal:
    """The spectrum with the axes of its signal alone."""
    return own if own.axes is None else replace(own, axes=np.ascontiguousarray(own.axes[:d]))


def _chosen(
    moments: ClassMoments, wanted: Wanted, spectra: list[Principal], ranks: Counts
) -> NDArray[np.intp]:
    """Dimensions (K,) that the rows choose."""
    k, p, counts = moments.n_classes, moments.n_columns, moments.counts
    lengths, most = [own.lengths for own in spectra], np.maximum(ranks - 1, 1)
    if common_dimension(wanted.form):
        if not common_axes(wanted.form):
            lengths, most = [spectrum(moments, None)[0].lengths], most.min(keepdims=True)
        counts = counts.sum(keepdims=True)
    side = np.zeros((len(lengths), max(len(own) for own in lengths)))
    for row, own in zip(side, lengths, strict=True):
        row[: len(own)] = np.maximum(own, 0.0)
    found = choose(wanted, side, most, p, counts)
    return np.repeat(found, k // len(found))


def choose(wanted: Wanted, lengths: Floats, most: Counts, p: int, counts: Floats) -> Counts:
    """Dimensions (m,) of spectra (m, r), as `by_scree` or `by_bic` chooses them."""
    if wanted.found == "bic":
        return by_bic(lengths, most, p, counts, shared=one_signal(wanted.form))
    return by_scree(lengths, most, p, wanted.threshold)
