"""Least squares on a kernel with a ridge, each row left out in closed form, and the choice of both.

Theory (Saunders, Gammerman & Vovk, 1998, ICML 15; Schölkopf & Smola, 2002, Learning with Kernels, ch. 4).
With frequency weights w_i, a kernel K (n, n) and responses y, f(x) = b + sum_j a_j k(x, x_j) minimizes

    sum_i w_i (y_i - f(x_i))^2 + ridge a'Ka

where the constant b is not penalized. Let u be the unit vector of sqrt(w_i), P = I - uu', and C = P S K S P
with S = diag(sqrt(w_i)), the centred kernel. Then a = S c with (C + ridge I) c = P S y, which sums to zero,
and the residuals are y_i - f(x_i) = ridge a_i / w_i. So `ridge` is the alpha of scikit-learn's KernelRidge,
which has no constant.

*A row left out.* With M = (C + ridge I)^-1 the leverage of a row's whole weight is
w_i h_i = 1 + w_i / N - ridge M_ii. Without an amount o = min(w_i, 1) of it, its residual r becomes
r / (1 - o h_i), exactly, as in linear regression. So one factorization gives all rows left out: a Cholesky
factor and its inverse take n^3 multiplications and additions; the eigenvectors of C take nine times as many,
and give M for all ridges.

*Landmarks* (Williams & Seeger, 2001, NIPS 13). With some rows Z in the place of all, the kernel is
k(x, Z) K_ZZ^-1 k(Z, x'), so that f is linear in m features, and everything above follows from the
eigenvectors of their products (m, m), which takes m / n of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.linalg import LinAlgError, blas, cholesky, eigh, eigvalsh, lapack, solve_triangular

from discrim.core.errors import CoreDataError
from discrim.core.kernels.kernels import (
    ABSOLUTE,
    WITHOUT_WIDTH,
    Coordinates,
    Kernel,
    Standard,
    few_valued,
    fit_coordinates,
    fit_standard,
    median_distance,
    refuse_equal_rows,
)
from discrim.core.numerics.arrays import Codes, Floats

MOST_EIGEN = 400
"""Rows up to which the eigenvectors of all are taken for each kernel that is tried."""

LANDMARKS = 200
"""Rows that stand for all in the first part of a choice among more."""

SETTLED = 9e9
LEAST_SETTLED = 5
"""Multiplications and additions of the second part of a choice, and how many times it takes at least."""

STEPS_OF_WIDTH = (0.5, 0.5**0.5, 2.0**0.5)
STEPS_OF_RIDGE = (4.0, 0.25, 2.0, 0.5)
"""Factors by which the second part of a choice goes on; landmarks are for large widths."""

LEFT = 1e-10
"""Least share of a row's weight that its leverage leaves: below it what is left is rounding."""

LEAST_RIDGE = 1e-9
"""Share of the kernel's trace that a ridge has to be: below it sums of kernels cancel to rounding."""

SAME = 1e-9
"""Share by which losses differ that rounding may tell apart."""

ENOUGH = 1e-3
"""Share of the loss that a step has to gain: less is far below what its standard error can tell."""


@dataclass(frozen=True, slots=True, eq=False)
class RidgeFit:
    """A regression of several responses on a kernel.

    Attributes
    ----------
    coef : (n, r) float
        Of the kernels of the rows.
    intercept : (r,) float
    residuals : (n, r) float
        Of the rows.
    left : (n,) float
        One less the leverage of what is left out of each row, its weight or one unit of it.
    """

    coef: Floats
    intercept: Floats
    residuals: Floats
    left: Floats

    def left_out_residuals(self) -> Floats:
        """Residuals (n, r) of the rows, each under the fit without it."""
        return np.asarray(self.residuals / self.left[:, None])


def unit_weights(n: int, weights: Floats | None) -> Floats:
    """Square roots (n,) of the weights."""
    return np.ones(n) if weights is None else np.sqrt(weights)


def centred_kernel(kernel: Floats, weights: Floats | None) -> Floats:
    """The kernel (n, n) of weighted rows about their mean, in its place."""
    s = unit_weights(len(kernel), weights)
    u = s / np.linalg.norm(s)
    if weights is not None:
        kernel *= s[:, None]
        kernel *= s
    mean = kernel @ u
    mean -= u * (u @ mean) / 2
    kernel -= np.outer(u, mean)
    kernel -= np.outer(mean, u)
    return kernel


@dataclass(frozen=True, slots=True, eq=False)
class _Inverse:
    """What a regression on a kernel rests on.

    Attributes
    ----------
    lower : (n, n) float
        Lower triangle of (C + size uu' + ridge I)^-1, with C the centred kernel; what is above is not set.
    s, u : (n,) float
        Square roots of the weights, and their direction.
    size : float
        What is put along u, where there is nothing else.
    means : (n,) float
        Weighted means of the kernels of all rows with each.
    """

    lower: Floats
    s: Floats
    u: Floats
    size: float
    means: Floats


def least_ridge(kernel: Floats, weights: Floats | None) -> float:
    """The least ridge that a regression on a kernel (n, n) of weighted rows takes."""
    w = unit_weights(len(kernel), weights) ** 2
    return LEAST_RIDGE * float(w @ np.diagonal(kernel) - w @ (kernel @ w) / w.sum())


def _inverse(kernel: Floats, weights: Floats | None, ridge: float) -> _Inverse:
    """By a Cholesky factor of a kernel (n, n), whose memory is used."""
    s = unit_weights(len(kernel), weights)
    u = s / np.linalg.norm(s)
    means = (s**2 / (s**2).sum()) @ kernel
    least = least_ridge(kernel, weights)
    centred = centred_kernel(kernel, weights)
    size = float(np.trace(centred)) / len(centred)
    if ridge < least:
        raise CoreDataError("ridge_too_small", ridge=ridge, smallest=least)
    # A number of the size of the others keeps what is along u from mattering.
    centred += size * np.outer(u, u)
    centred[np.diag_indices_from(centred)] += ridge
    factor, wrong = lapack.dpotrf(centred.T, lower=1, overwrite_a=1, clean=0)
    if wrong:
        raise CoreDataError("kernel_not_definite", ridge=ridge)
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    return _Inverse(inverse, s, u, size, means)


def fit_ridge(kernel: Floats, weights: Floats | None, y: Floats, ridge: float) -> RidgeFit:
    """The regression of responses y (n, r) on a kernel (n, n), whose memory is used, by a Cholesky factor.

    A DataError says that the ridge is too small for the digits of doubles.
    """
    found = _inverse(kernel, weights, ridge)
    s = found.s
    u = found.u
    target = s[:, None] * y
    target = target - np.outer(u, u @ target)
    c = np.asarray(blas.dsymm(1.0, found.lower, target, lower=1))
    c -= np.outer(u, u @ c)
    left = ridge * (np.diagonal(found.lower) - u**2 / (found.size + ridge))
    coef = s[:, None] * c
    intercept = (s**2 / (s**2).sum()) @ y - found.means @ coef
    return RidgeFit(coef, intercept, residuals_of(coef, weights, ridge), left_of(left, s))


@dataclass(frozen=True, slots=True, eq=False)
class KernelInfluence:
    """What the response of each row adds to fitted values anywhere.

    Attributes
    ----------
    pull : (n, n) float
        Column i has what one unit of the response of row i adds to the coefficients of all rows.
    means : (n,) float
        Weighted means of the kernels of all rows with each.
    shares : (n,) float
        Weights over their sum.
    """

    pull: Floats
    means: Floats
    shares: Floats

    def of_rows(self, kernels: Floats, rows: slice) -> Floats:
        """What its own response adds to each of some rows (m,), at places with such kernels (m, n)."""
        gaps = kernels - self.means
        gaps *= self.pull[rows]
        return np.asarray(gaps.sum(axis=1) + self.shares[rows])


def influence(kernel: Floats, weights: Floats | None, ridge: float) -> KernelInfluence:
    """Of a kernel (n, n), whose memory is used."""
    found = _inverse(kernel, weights, ridge)
    pull = np.tril(found.lower)
    pull += np.tril(pull, -1).T
    pull -= np.outer(found.u, found.u) / (found.size + ridge)
    pull *= found.s[:, None]
    pull *= found.s
    return KernelInfluence(pull, found.means, found.s**2 / (found.s**2).sum())


def residuals_of(coef: Floats, weights: Floats | None, ridge: float) -> Floats:
    """Residuals (n, r) of the rows of a fit, from its coefficients (n, r)."""
    return ridge * coef if weights is None else ridge * coef / weights[:, None]


def left_of(whole: Floats, s: Floats) -> Floats:
    """What leaving out a unit at most of each row leaves of one, from what its whole weight s^2 leaves."""
    weights = s**2
    out = np.minimum(weights, 1.0) / weights
    return np.asarray(np.maximum(1 - out * (1 - whole), LEFT))


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """What gives the regressions at all ridges.

    Attributes
    ----------
    basis : (n, m) float
        Orthonormal, of the weighted and centred rows.
    values : (m,) float
        Squared lengths along it.
    projected : (m, r) float
        The basis' products with the weighted and centred responses.
    target : (n, r) float
        These responses.
    s : (n,) float
        Square roots of the weights.
    """

    basis: Floats
    values: Floats
    projected: Floats
    target: Floats
    s: Floats

    def left_out_residuals(self, ridges: Floats) -> Iterator[Floats]:
        """Residuals (n, r) of the rows, each left out, by ridge."""
        kept = self.values[:, None] / (self.values[:, None] + ridges)
        gone = 1 - self.s[:, None] ** 2 / (self.s**2).sum() - self.basis**2 @ kept
        for i in range(len(ridges)):
            residuals = self.target - self.basis @ (kept[:, i, None] * self.projected)
            yield residuals / self.s[:, None] / left_of(gone[:, i], self.s)[:, None]


def spectrum_of_kernel(kernel: Floats, weights: Floats | None, y: Floats) -> Spectrum:
    """Of a kernel (n, n), whose memory is used."""
    values, vectors = eigh(centred_kernel(kernel, weights), overwrite_a=True, check_finite=False)
    return _spectrum(vectors, values, weights, y)


def spectrum_of_landmarks(between: Floats, across: Floats, weights: Floats | None, y: Floats) -> Spectrum:
    """Of kernels (n, m) of the rows with landmarks, and those (m, m) of the landmarks."""
    jitter = 1e-10 * float(np.trace(across)) / len(across)
    root = None
    while root is None:
        try:
            root = cholesky(across + jitter * np.eye(len(across)), lower=True, check_finite=False)
        except LinAlgError:
            jitter *= 100
    features = solve_triangular(root, between.T, lower=True, check_finite=False).T
    s = unit_weights(len(features), weights)
    w = s**2 / (s**2).sum()
    features = s[:, None] * (features - w @ features)
    values, vectors = eigh(features.T @ features, overwrite_a=True, check_finite=False)
    kept = values > 1e-13 * max(values[-1], 0.0)
    values = values[kept]
    return _spectrum(features @ vectors[:, kept] / np.sqrt(values), values, weights, y)


def _spectrum(basis: Floats, values: Floats, weights: Floats | None, y: Floats) -> Spectrum:
    s = unit_weights(len(basis), weights)
    target = s[:, None] * (y - (s**2 / (s**2).sum()) @ y)
    return Spectrum(basis, np.maximum(values, 0.0), basis.T @ target, target, s)


Select = Literal["squared", "log_loss", "error"]
"""What is made least in rows left out."""

WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Widths that are tried first, over the median distance of rows."""

FARTHER = 3
"""Widths beyond these, each twice as far, where the best of them is at an end."""


@dataclass(frozen=True, slots=True, eq=False)
class TriedKernel:
    """A kernel that was tried, with its best ridge; `exact` says whether by all rows or by landmarks.

    The loss is the mean over rows left out, with its standard error as if they were independent.
    """

    scale: str
    kernel: Kernel
    ridge: float
    loss: float
    se: float
    squared: float
    exact: bool

    @property
    def order(self) -> tuple[float, float]:
        """Losses by which candidates are compared; equal shares of errors are told apart by squares."""
        return self.loss, self.squared

    def gains(self, other: TriedKernel) -> bool:
        """Whether the loss is smaller than another by enough for one more step of a search."""
        if self.loss < (1 - ENOUGH) * other.loss:
            return True
        return self.loss <= other.loss and self.squared < (1 - ENOUGH) * other.squared


@dataclass(frozen=True, slots=True, eq=False)
class KernelRows:
    """Rows u (n, p) in standard units: classes (n,), weights, indicators (n, K), columns that are factors."""

    standard: Standard
    u: Floats
    codes: Codes
    weights: Floats | None
    y: Floats
    factors: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(
        cls, x: Floats, codes: Codes, weights: Floats | None, n_classes: int, factors: Sequence[Sequence[int]]
    ) -> KernelRows:
        """Of rows x (n, p)."""
        groups = tuple(tuple(group) for group in factors)
        standard = fit_standard(x, weights)
        return cls(standard, standard.of(x), codes, weights, np.eye(n_classes)[codes], groups)

    def losses(self, select: Select, residuals: Floats) -> Floats:
        """Losses (n,) of rows by their residuals (n, K), each left out."""
        if select == "squared":
            return np.asarray((residuals**2).sum(axis=1))
        fitted = self.y - residuals
        if select == "error":
            return np.asarray(fitted.argmax(axis=1) != self.codes, dtype=np.float64)
        return _log_losses(fitted, self.codes, self.weights)

    def mean(self, losses: Floats) -> float:
        """The weighted mean of losses (n,)."""
        return float(np.average(losses, weights=self.weights))

    def tried(
        self, scale: str, kernel: Kernel, ridge: float, select: Select, residuals: Floats
    ) -> TriedKernel:
        """A kernel with a ridge as it does by rows left out."""
        losses = self.losses(select, residuals)
        mean = self.mean(losses)
        total = len(losses) if self.weights is None else float(self.weights.sum())
        se = np.sqrt(self.mean((losses - mean) ** 2) / total)
        return TriedKernel(scale, kernel, ridge, mean, float(se), self.mean((residuals**2).sum(axis=1)), True)


def _log_losses(fitted: Floats, codes: Codes, weights: Floats | None) -> Floats:
    """Losses -log p (n,) of the softmax of fitted values (n, K) times the slope that makes them least."""
    own = np.arange(len(codes))
    slope = 1.0
    for _ in range(STEPS):
        logits = slope * (fitted - fitted.max(axis=1, keepdims=True))
        p = np.exp(logits)
        p /= p.sum(axis=1, keepdims=True)
        mean = (p * fitted).sum(axis=1)
        gradient = np.average(mean - fitted[own, codes], weights=weights)
        curvature = np.average((p * fitted**2).sum(axis=1) - mean**2, weights=weights)
        # Of separated classes the slope has no end, and little is gained beyond some size.
        slope = float(np.clip(slope - gradient / max(curvature, TINY), slope / 3, min(3 * slope, MOST_SLOPE)))
    logits = slope * (fitted - fitted.max(axis=1, keepdims=True))
    return np.asarray(np.log(np.exp(logits).sum(axis=1)) - logits[own, codes])


STEPS = 12
MOST_SLOPE = 1e3
TINY = 1e-300


def ridges_of(size: float, n: float) -> Floats:
    """Ridges to try, from the largest, of a centred kernel with a diagonal of such a mean."""
    return np.asarray(size * 2.0 ** np.arange(np.ceil(np.log2(n)) + 1, -19, -1))


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What is chosen among, and what is given.

    Attributes
    ----------
    kernels, scales : tuple of str
    width, ridge : float or None
        As given, or None to have them chosen.
    degree, function
        Of the kernels.
    select : {"squared", "log_loss", "error"}
    """

    kernels: tuple[str, ...]
    scales: tuple[str, ...]
    width: float | None
    ridge: float | None
    select: Select = "squared"
    degree: int = 3
    function: Callable[[Floats, Floats], Floats] | None = None

    @property
    def chooses(self) -> bool:
        """Whether there is anything to choose."""
        widths = any(self.has_width(name) for name in self.kernels) and self.width is None
        return widths or self.ridge is None or len(self.kernels) * len(self.scales) > 1

    @staticmethod
    def has_width(name: str) -> bool:
        """Whether a kernel has a width."""
        return name not in WITHOUT_WIDTH

    def kernel(self, name: str, width: float | None) -> Kernel:
        """A kernel of some width, one where it has none."""
        width = 1.0 if width is None else width
        return Kernel(name, width if self.has_width(name) else 1.0, self.degree, self.function)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """What a search ends with: coordinates of the rows (n, q), the regression, and all that was tried."""

    scale: str
    kernel: Kernel
    ridge: float
    coordinates: Coordinates
    points: Floats
    fit: RidgeFit
    tried: tuple[TriedKernel, ...] = ()


def choose(sample: KernelRows, search: Search, progress: Callable[[float], object] | None = None) -> Chosen:
    """The regression whose rows left out are predicted best, or the one that is given.

    Of all kernels, scales and widths the best ridge is found, by the eigenvectors of all rows where these are
    few, and by landmarks where they are many; then the best are settled by all rows. Each end of a part of
    the search is told of.
    """
    work = _Work(sample, search, progress or (lambda done: None))
    if search.function is not None:
        work.check_function()
    if not search.chooses:
        scale = search.scales[0]
        name = search.kernels[0]
        kernel = search.kernel(name, search.width)
        ridge = 1.0 if search.ridge is None else search.ridge
        return replace(work.exactly(scale, kernel, ridge)[1], tried=())
    return work.chosen()


class _Work:
    """One search: what was tried, and coordinates that several candidates share."""

    def __init__(self, sample: KernelRows, search: Search, progress: Callable[[float], object]) -> None:
        self._sample = sample
        self._search = search
        self._progress = progress
        n = len(sample.u)
        self._few = n <= MOST_EIGEN
        order = np.random.default_rng(0).permutation(n)
        self._some = np.sort(order[: MOST_EIGEN if self._few else LANDMARKS])
        self._tried: list[TriedKernel] = []
        self._points: dict[tuple[str, bool], Floats] = {}
        self._coordinates: dict[str, Coordinates] = {}

    def points(self, scale: str, name: str) -> Floats:
        """Coordinates (n, q) of the rows for a kernel."""
        at = scale, name in ABSOLUTE
        if scale not in self._coordinates:
            sample = self._sample
            self._coordinates[scale] = fit_coordinates(
                sample.u, sample.weights, scale, sample.factors, sample.standard.unit
            )
        if at not in self._points:
            self._points[at] = self._coordinates[scale].of(self._sample.u, name)
        return self._points[at]

    def check_function(self) -> None:
        """Raise a DataError where a function of the user's is no kernel on the rows."""
        z = self.points(self._search.scales[0], self._search.kernels[0])
        check_semidefinite(self._search.kernel(self._search.kernels[0], None).matrix(z, z))

    def exactly(self, scale: str, kernel: Kernel, ridge: float) -> tuple[TriedKernel, Chosen]:
        """The regression on all rows; a ridge that is chosen is one that they take."""
        sample = self._sample
        z = self.points(scale, kernel.name)
        matrix = kernel.matrix(z, z)
        if self._search.ridge is None:
            ridge = max(ridge, least_ridge(matrix, sample.weights))
        fit = fit_ridge(matrix, sample.weights, sample.y, ridge)
        residuals = fit.left_out_residuals()
        tried = sample.tried(scale, kernel, ridge, self._search.select, residuals)
        return tried, Chosen(scale, kernel, ridge, self._coordinates[scale], z, fit)

    def look(self, scale: str, kernel: Kernel) -> TriedKernel:
        """A kernel with its best ridge, by all rows where they are few and by landmarks else."""
        sample = self._sample
        search = self._search
        z = self.points(scale, kernel.name)
        if self._few:
            spectrum = spectrum_of_kernel(kernel.matrix(z, z), sample.weights, sample.y)
        else:
            some = z[self._some]
            between = kernel.matrix(z, some)
            across = kernel.matrix(some, some)
            spectrum = spectrum_of_landmarks(between, across, sample.weights, sample.y)
        total = float((spectrum.s**2).sum())
        trace = float(spectrum.values.sum())
        if not trace > 0:
            refuse_equal_rows(different=bool((z != z[:1]).any()))
            raise CoreDataError("constant_kernel", width=kernel.width)
        ridges = np.array([search.ridge])
        if search.ridge is None:
            ridges = ridges_of(trace / total, total)
            ridges = ridges[ridges >= 2 * LEAST_RIDGE * trace]
        found = [
            replace(sample.tried(scale, kernel, float(ridge), search.select, residuals), exact=self._few)
            for ridge, residuals in zip(ridges, spectrum.left_out_residuals(ridges), strict=True)
        ]
        best = smoothest(found)
        self._tried.append(best)
        self._progress(1)
        return best

    def widths(self, scale: str, name: str) -> TriedKernel:
        """The best width of a kernel on a scale."""
        search = self._search
        if not search.has_width(name) or search.width is not None:
            return self.look(scale, search.kernel(name, search.width))
        weights = None if self._sample.weights is None else self._sample.weights[self._some]
        unit = median_distance(self.points(scale, name)[self._some], name, weights)
        factors = list(WIDTHS)
        found = [self.look(scale, search.kernel(name, unit * factor)) for factor in factors[::-1]][::-1]
        for _ in range(FARTHER):
            at = found.index(smoothest(found[::-1]))
            if 0 < at < len(found) - 1:
                break
            low = at == 0
            factors.insert(0 if low else len(factors), factors[0] / 2 if low else factors[-1] * 2)
            new = self.look(scale, search.kernel(name, unit * factors[0 if low else -1]))
            found.insert(0 if low else len(found), new)
        return smoothest(found[::-1])

    def chosen(self) -> Chosen:
        """The best of all."""
        search = self._search
        best = [self.widths(scale, name) for scale in search.scales for name in search.kernels]
        if self._few:
            first = smoothest(best)
            step = 2.0**0.5
            if search.width is None and search.has_width(first.kernel.name):
                near = [first.kernel.width * step, first.kernel.width / step]
                found = [self.look(first.scale, replace(first.kernel, width=width)) for width in near]
                first = smoothest([found[0], first, found[1]])
            _, chosen = self.exactly(first.scale, first.kernel, first.ridge)
            return replace(chosen, tried=tuple(self._tried))
        return self._settled(sorted(best, key=lambda each: each.order)[:2])

    def _settled(self, finalists: list[TriedKernel]) -> Chosen:
        """The best by all rows, of finalists and what is near the better one."""
        search = self._search
        n = len(self._sample.u)
        most = max(int(SETTLED / n**3), LEAST_SETTLED)
        first, chosen = self._settle(finalists[0].scale, finalists[0].kernel, finalists[0].ridge)
        for other in finalists[1:]:
            tried, kept = self._settle(other.scale, other.kernel, other.ridge)
            first, chosen = (tried, kept) if tried.order < first.order else (first, chosen)
        widths = search.width is None and search.has_width(first.kernel.name)
        steps = [(width, 1.0) for width in STEPS_OF_WIDTH if widths]
        # The ridge is looked at after the first step of the width.
        steps[1:1] = [(1.0, ridge) for ridge in STEPS_OF_RIDGE[:2] if search.ridge is None]
        steps += [(1.0, ridge) for ridge in STEPS_OF_RIDGE[2:] if search.ridge is None]
        seen = {(first.kernel.width, first.ridge)}
        while len(seen) < most and steps:
            width, ridge = steps.pop(0)
            at = first.kernel.width * width, first.ridge * ridge
            if any(np.allclose(at, each) for each in seen):
                continue
            seen.add(at)
            tried, kept = self._settle(first.scale, replace(first.kernel, width=at[0]), at[1])
            if tried.gains(first):
                first = tried
                chosen = kept
                # As it was better there, it may be better still beyond.
                steps.insert(0, (width, ridge))
        return replace(chosen, tried=tuple(self._tried))

    def _settle(self, scale: str, kernel: Kernel, ridge: float) -> tuple[TriedKernel, Chosen]:
        found = self.exactly(scale, kernel, ridge)
        self._tried.append(found[0])
        self._progress(1)
        return found


def check_semidefinite(kernel: Floats) -> None:
    """Raise a DataError of a kernel (n, n) that is not symmetric, or not positive semidefinite."""
    size = float(np.abs(kernel).max())
    if float(np.abs(kernel - kernel.T).max()) > SEMIDEFINITE * size:
        raise CoreDataError("kernel_not_symmetric")
    values = eigvalsh(kernel, check_finite=False)
    if values[0] < -SEMIDEFINITE * max(abs(values[-1]), size):
        raise CoreDataError("kernel_not_semidefinite", smallest=values[0], largest=values[-1])


SEMIDEFINITE = 1e-8
"""Share of the largest eigenvalue up to which a negative one is rounding."""


def smoothest(found: Sequence[TriedKernel]) -> TriedKernel:
    """The first, and so the smoothest of those given, whose losses are the least but for rounding."""
    least = min(each.loss for each in found)
    as_good = [each for each in found if each.loss <= least * (1 + SAME)]
    least = min(each.squared for each in as_good)
    return next(each for each in as_good if each.squared <= least * (1 + SAME))


def kernel_candidates(
    kernel: str, scale: str, u: Floats, factors: Sequence[Sequence[int]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Kernels and scales to choose from, where "auto" is asked for."""
    names = ("gaussian", "laplace") if kernel == "auto" else (kernel,)
    if scale != "auto":
        return names, (scale,)
    found = ["sd"]
    if len({j for group in factors for j in group}) < u.shape[1]:
        found.append("ranks")
        if few_valued(u, factors):
            found.append("categories")
    return names, tuple(found)
