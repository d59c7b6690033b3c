"""Kernel ridge regression with exact leave-one-out residuals, and the choice of the kernel and the ridge.

Used by `kernel_lda`, whose discriminants come from a regression on class indicators.

Theory (Saunders, Gammerman & Vovk, 1998, ICML 15; Schölkopf & Smola, 2002, Learning with Kernels, ch. 4).
With frequency weights w_i, a kernel K (n, n) and responses y, f(x) = b + sum_j a_j k(x, x_j) minimizes

    sum_i w_i (y_i - f(x_i))^2 + ridge a'Ka,

in which the constant b is not penalized. Let u be the unit vector of sqrt(w_i), P = I - uu', and C = P S K S
P with S = diag(sqrt(w_i)), the centred kernel. Then a = S c with (C + ridge I) c = P S y, which sums to zero,
and the residuals are y_i - f(x_i) = ridge a_i / w_i. So `ridge` is the alpha of scikit-learn's KernelRidge,
which does not fit a constant.

*Leave-one-out.* With M = (C + ridge I)^-1 the leverage of a row's full weight is
w_i h_i = 1 + w_i / N - ridge M_ii. Without an amount o = min(w_i, 1) of it, its residual r becomes exactly
r / (1 - o h_i), just as in linear regression. One factorization therefore gives all leave-one-out residuals:
a Cholesky factor and its inverse cost n^3 multiplications and additions; the eigenvectors of C cost nine
times as many and give M for all ridges.

*Landmarks* (Williams & Seeger, 2001, NIPS 13). With a subset Z of m rows the kernel is approximated by
k(x, Z) K_ZZ^-1 k(Z, x'). Then f is linear in m features, and all formulas above follow from the eigenvectors
of their (m, m) cross-product matrix, in m / n of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.linalg import LinAlgError, blas, cholesky, eigh, eigvalsh, lapack, solve_triangular

from discrim.core.errors import CoreDataError
from discrim.core.kernels.kernels import (
    ABSOLUTE_DISTANCE_KERNELS,
    KERNELS_WITHOUT_WIDTH,
    Coordinates,
    Kernel,
    Standardization,
    fit_coordinates,
    fit_standardization,
    has_few_valued_column,
    median_distance,
    raise_if_equal_rows,
)
from discrim.core.numerics.arrays import Codes, Floats, min_class_rows, sample_of_classes, slices
from discrim.core.numerics.threads import all_blas_threads

MAX_EIGEN_ROWS = 400
"""Maximum number of rows for which each candidate kernel is evaluated by the eigenvectors of all rows."""

N_LANDMARKS = 200
"""Number of landmarks in the first stage of a search over more than `MAX_EIGEN_ROWS` rows."""

MAX_SEARCH_ROWS = 1_500
N_SAMPLE_ROWS = 1_000
MAX_FINAL_PRODUCTS = 8e10
"""With more than `MAX_SEARCH_ROWS` rows, a random sample of about `N_SAMPLE_ROWS` determines kernel, scale,
width and ridge. Width and ridge are then varied on all rows, within `MAX_FINAL_PRODUCTS` multiplications and
additions and `MIN_SECOND_STAGE_CANDIDATES` candidates.
"""

MAX_SECOND_STAGE_PRODUCTS = 9e9
MIN_SECOND_STAGE_CANDIDATES = 5
"""`MAX_SECOND_STAGE_PRODUCTS` is the number of multiplications and additions of the second stage of a search,
`MIN_SECOND_STAGE_CANDIDATES` its minimum number of candidates.
"""

WIDTH_FACTORS = (0.5, 0.5**0.5, 2.0**0.5)
RIDGE_FACTORS = (4.0, 0.25, 2.0, 0.5)
"""Factors of width and ridge that the second stage of a search tries. Landmarks favour large widths, which
is why two of three factors decrease the width.
"""

MIN_ONE_MINUS_LEVERAGE = 1e-10
"""Lower bound of one less the leverage of a row; smaller values are rounding errors."""

MIN_RELATIVE_RIDGE = 1e-9
"""Smallest ridge, as a fraction of the kernel's trace. Below it rounding dominates the kernel sums."""

MAX_BLOCK_VALUES = 2**18
"""Number of residuals that are computed at a time."""

LOSS_ROUNDING = 1e-9
"""Relative difference of losses that is attributed to rounding."""

MIN_RELATIVE_GAIN = 1e-3
"""Relative decrease of the loss that a step of the search requires; less is far below its standard error."""


@dataclass(frozen=True, slots=True, eq=False)
class RidgeFit:
    """Kernel ridge regression of r responses on n rows.

    Attributes
    ----------
    coef : (n, r) float
        Coefficients of the kernels at the rows.
    intercept : (r,) float
        Constants b of the responses.
    residuals : (n, r) float
        Responses less fitted values, not weighted.
    one_minus_leverages : (n,) float
        One less the leverage of the weight that is left out of each row (the full weight, at most one unit);
        at least `MIN_ONE_MINUS_LEVERAGE`.
    """

    coef: Floats
    intercept: Floats
    residuals: Floats
    one_minus_leverages: Floats

    def left_out_residuals(self) -> Floats:
        """Return the leave-one-out residuals (n, r): residuals divided by one less the leverages."""
        return np.asarray(self.residuals / self.one_minus_leverages[:, None])


def root_weights(n: int, weights: Floats | None) -> Floats:
    """Return the square roots of the weights.

    Parameters
    ----------
    n : int
        Number of rows.
    weights : (n,) float or None
        None for weights of one.

    Returns
    -------
    (n,) float
    """
    return np.ones(n) if weights is None else np.sqrt(weights)


def center_kernel(kernel: Floats, weights: Floats | None, added: float = 0.0) -> Floats:
    """Weight a kernel matrix and centre it at the weighted mean of the rows: P S K S P + added uu'.

    Parameters
    ----------
    kernel : (n, n) float
        Kernel matrix of the rows, in C order; overwritten.
    weights : (n,) float or None
        Weights of the rows; None for ones.
    added : float
        Eigenvalue in the direction u, in which the centred kernel is zero, in units of the mean of all
        eigenvalues.

    Returns
    -------
    (n, n) float
        Lower triangle of C + added trace(C) / n uu' (see the module docstring), in Fortran order and in the
        memory of `kernel`; the upper triangle is not centred.
    """
    n = len(kernel)
    s = root_weights(n, weights)
    u = s / np.linalg.norm(s)
    if weights is not None:
        kernel *= s[:, None]
        kernel *= s
    mean = kernel @ u
    trace = float(np.trace(kernel) - u @ mean)
    mean -= u * (u @ mean + added * trace / n) / 2
    return np.asarray(blas.dsyr2(-1.0, u, mean, lower=1, a=kernel.T, overwrite_a=1))


@dataclass(frozen=True, slots=True, eq=False)
class _Factor:
    """Cholesky factor of the penalized, centred kernel.

    Attributes
    ----------
    lower : (n, n) float
        Lower triangular L with LL' = C + size uu' + ridge I, with C the centred kernel.
    s, u : (n,) float
        Square roots of the weights, and this vector divided by its length.
    size : float
        Eigenvalue that is added in the direction u, in which C is zero.
    means : (n,) float
        Weighted means of the columns of the kernel matrix, before it is centred.
    """

    lower: Floats
    s: Floats
    u: Floats
    size: float
    means: Floats


def min_ridge(kernel: Floats, weights: Floats | None) -> float:
    """Return the smallest ridge for which rounding errors do not dominate the regression on a kernel.

    It is `MIN_RELATIVE_RIDGE` times the trace of the centred kernel.

    Parameters
    ----------
    kernel : (n, n) float
        Kernel matrix of the rows.
    weights : (n,) float or None
        Weights of the rows; None for ones.

    Returns
    -------
    float
    """
    w = root_weights(len(kernel), weights) ** 2
    return MIN_RELATIVE_RIDGE * float(w @ np.diagonal(kernel) - w @ (kernel @ w) / w.sum())


def _factorize_penalized_kernel(kernel: Floats, weights: Floats | None, ridge: float) -> _Factor:
    """Compute the Cholesky factor of the penalized, centred kernel.

    Parameters
    ----------
    kernel : (n, n) float
        Kernel matrix of the rows, in C order; overwritten.
    weights : (n,) float or None
        Weights of the rows; None for ones.
    ridge : float
        Penalty of the regression.

    Returns
    -------
    _Factor

    Raises
    ------
    CoreDataError
        The ridge is below `min_ridge`, or the kernel is not positive semidefinite.
    """
    s = root_weights(len(kernel), weights)
    u = s / np.linalg.norm(s)
    means = (s**2 / (s**2).sum()) @ kernel
    smallest_ridge = min_ridge(kernel, weights)
    if ridge < smallest_ridge:
        raise CoreDataError("ridge_too_small", ridge=ridge, smallest=smallest_ridge)
    # C is singular along u. An added eigenvalue of typical size keeps the condition number small; it is
    # projected out later.
    centred = center_kernel(kernel, weights, added=1.0)
    size = smallest_ridge / MIN_RELATIVE_RIDGE / len(centred)
    centred[np.diag_indices_from(centred)] += ridge
    with all_blas_threads(_factorization_work(centred)):
        lower, failed = lapack.dpotrf(centred, lower=1, overwrite_a=1)
    if failed:
        raise CoreDataError("kernel_not_definite", ridge=ridge)
    return _Factor(lower, s, u, size, means)


def _factorization_work(matrix: Floats) -> float:
    """Return the work of a factorization of a matrix (n, n) for `all_blas_threads`.

    It is a tenth of the multiplications, because threads of a factorization wait more often than those of a
    product.
    """
    return len(matrix) ** 3 / 30


def fit_ridge(kernel: Floats, weights: Floats | None, y: Floats, ridge: float) -> RidgeFit:
    """Fit a kernel ridge regression by Cholesky factorization.

    Parameters
    ----------
    kernel : (n, n) float
        Kernel matrix of the rows, in C order; overwritten.
    weights : (n,) float or None
        Weights of the rows; None for ones.
    y : (n, r) float
        The r responses.
    ridge : float
        Penalty of the regression.

    Returns
    -------
    RidgeFit

    Raises
    ------
    CoreDataError
        The ridge is below `min_ridge`, or the kernel is not positive semidefinite.
    """
    factor = _factorize_penalized_kernel(kernel, weights, ridge)
    s = factor.s
    u = factor.u
    target = s[:, None] * y
    target = target - np.outer(u, u @ target)
    c, _ = lapack.dpotrs(factor.lower, target, lower=1)
    c -= np.outer(u, u @ c)
    # The diagonal of M only takes the inverse of the factor, two thirds of the time of the inverse of M.
    with all_blas_threads(_factorization_work(factor.lower)):
        inverse, _ = lapack.dtrtri(factor.lower, lower=1, overwrite_c=1)
    diagonal = np.einsum("ij,ij->j", inverse, inverse)
    one_minus_leverages = ridge * (diagonal - u**2 / (factor.size + ridge))
    coef = s[:, None] * c
    intercept = (s**2 / (s**2).sum()) @ y - factor.means @ coef
    return RidgeFit(
        coef,
        intercept,
        residuals_from_coef(coef, weights, ridge),
        one_minus_unit_leverages(one_minus_leverages, s),
    )


@dataclass(frozen=True, slots=True, eq=False)
class KernelInfluence:
    """Derivatives of the coefficients of a kernel ridge regression by the responses of the rows.

    With `means` and `weight_proportions`, which determine the change of the intercept, they give the
    derivatives of the fitted values.

    Attributes
    ----------
    coef_changes : (n, n) float
        Column i is the change of all coefficients per unit of the response of row i.
    means : (n,) float
        Weighted means of the columns of the kernel matrix of the rows.
    weight_proportions : (n,) float
        Weights divided by their sum.
    """

    coef_changes: Floats
    means: Floats
    weight_proportions: Floats

    def own_influence(self, kernels: Floats, rows: slice) -> Floats:
        """Return the change of the fitted value at a point per unit of the response of a row, for m rows.

        Parameters
        ----------
        kernels : (m, n) float
            Kernels of m points, one for each of the m rows, with all n rows of the fit; not modified.
        rows : slice
            Positions of the m rows among the rows of the fit.

        Returns
        -------
        (m,) float
        """
        kernel_deviations = kernels - self.means
        kernel_deviations *= self.coef_changes[rows]
        return np.asarray(kernel_deviations.sum(axis=1) + self.weight_proportions[rows])


def compute_influence(kernel: Floats, weights: Floats | None, ridge: float) -> KernelInfluence:
    """Compute how the coefficients of a kernel ridge regression with intercept depend on the responses.

    Parameters
    ----------
    kernel : (n, n) float
        Kernel matrix of the rows; overwritten.
    weights : (n,) float or None
        Weights of the rows; None for ones.
    ridge : float
        Penalty of the regression.

    Returns
    -------
    KernelInfluence

    Raises
    ------
    CoreDataError
        The ridge is below `min_ridge`, or the kernel is not positive semidefinite.
    """
    factor = _factorize_penalized_kernel(kernel, weights, ridge)
    with all_blas_threads(_factorization_work(factor.lower)):
        inverse, _ = lapack.dpotri(factor.lower, lower=1, overwrite_c=1)
    coef_changes = np.tril(inverse)
    coef_changes += np.tril(coef_changes, -1).T
    coef_changes -= np.outer(factor.u, factor.u) / (factor.size + ridge)
    coef_changes *= factor.s[:, None]
    coef_changes *= factor.s
    return KernelInfluence(coef_changes, factor.means, factor.s**2 / (factor.s**2).sum())


def residuals_from_coef(coef: Floats, weights: Floats | None, ridge: float) -> Floats:
    """Return the residuals ridge * coef / weights that the coefficients of a fit imply.

    Parameters
    ----------
    coef : (n, r) float
        Coefficients of the kernels at the rows, for r responses.
    weights : (n,) float or None
        Weights of the rows; None for ones.
    ridge : float
        Penalty of the regression.

    Returns
    -------
    (n, r) float
    """
    return ridge * coef if weights is None else ridge * coef / weights[:, None]


def one_minus_unit_leverages(full_one_minus_leverages: Floats, s: Floats) -> Floats:
    """Return one less the leverages of the left-out weights, one unit or the full weight if less.

    Parameters
    ----------
    full_one_minus_leverages : (n,) float
        One less the leverage of the full weight.
    s : (n,) float
        Square roots of the weights.

    Returns
    -------
    (n,) float
        At least `MIN_ONE_MINUS_LEVERAGE`.
    """
    weights = s**2
    left_out_ratio = np.minimum(weights, 1.0) / weights
    return np.asarray(np.maximum(1 - left_out_ratio * (1 - full_one_minus_leverages), MIN_ONE_MINUS_LEVERAGE))


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Eigendecomposition of a centred kernel, from which the regressions of r responses at all ridges follow.

    Attributes
    ----------
    basis : (n, m) float
        Orthonormal eigenvectors in columns; m is n, or at most the number of landmarks.
    values : (m,) float
        Eigenvalues of the centred, weighted kernel C, ascending; negative ones are set to zero.
    projected : (m, r) float
        `target` in the basis.
    target : (n, r) float
        Responses less their weighted means, times the square roots of the weights.
    s : (n,) float
        Square roots of the weights.
    """

    basis: Floats
    values: Floats
    projected: Floats
    target: Floats
    s: Floats

    def left_out_residuals(self, ridges: Floats) -> Iterator[Floats]:
        """Yield the leave-one-out residuals of the regressions at blocks of ridges.

        Parameters
        ----------
        ridges : (R,) float
            Penalties.

        Yields
        ------
        (b, n, r) float
            Unweighted residuals, for b ridges at a time, in turn.
        """
        n, r = self.target.shape
        shrinkage = (self.values[:, None] / (self.values[:, None] + ridges)).T
        squared_roots = self.s**2
        one_minus_leverages = one_minus_unit_leverages(
            1 - squared_roots / squared_roots.sum() - shrinkage @ (self.basis**2).T, self.s
        )
        divisors = one_minus_leverages * self.s
        for block in slices(len(ridges), max(MAX_BLOCK_VALUES // (n * r), 1)):
            coef = shrinkage[block, None, :] * self.projected.T
            fitted = (coef.reshape(-1, len(self.values)) @ self.basis.T).reshape(-1, r, n)
            yield ((self.target.T - fitted) / divisors[block, None, :]).transpose(0, 2, 1)


def kernel_spectrum(kernel: Floats, weights: Floats | None, y: Floats) -> Spectrum:
    """Compute the eigendecomposition of the centred kernel, with the responses in its basis.

    Parameters
    ----------
    kernel : (n, n) float
        Kernel matrix of the rows; overwritten.
    weights : (n,) float or None
        Weights of the rows; None for ones.
    y : (n, r) float
        The r responses.

    Returns
    -------
    Spectrum
    """
    values, vectors = eigh(center_kernel(kernel, weights), overwrite_a=True, check_finite=False, driver="evd")
    return _make_spectrum(vectors, values, weights, y)


def landmark_spectrum(
    row_kernels: Floats, landmark_kernels: Floats, weights: Floats | None, y: Floats
) -> Spectrum:
    """Compute the eigendecomposition of a kernel that is approximated by landmarks.

    Parameters
    ----------
    row_kernels : (n, m) float
        Kernels of the rows with the landmarks.
    landmark_kernels : (m, m) float
        Kernels of the landmarks.
    weights : (n,) float or None
        Weights of the rows; None for ones.
    y : (n, r) float
        The r responses.

    Returns
    -------
    Spectrum
        Without eigenvalues of at most 1e-13 times the largest one, so m can be below the number of landmarks.
    """
    jitter = 1e-10 * float(np.trace(landmark_kernels)) / len(landmark_kernels)
    root = None
    while root is None:
        try:
            root = cholesky(
                landmark_kernels + jitter * np.eye(len(landmark_kernels)), lower=True, check_finite=False
            )
        except LinAlgError:
            jitter *= 100
    features = solve_triangular(root, row_kernels.T, lower=True, check_finite=False).T
    s = root_weights(len(features), weights)
    w = s**2 / (s**2).sum()
    features = s[:, None] * (features - w @ features)
    values, vectors = eigh(features.T @ features, overwrite_a=True, check_finite=False, driver="evd")
    is_positive = values > 1e-13 * max(values[-1], 0.0)
    values = values[is_positive]
    return _make_spectrum(features @ vectors[:, is_positive] / np.sqrt(values), values, weights, y)


def _make_spectrum(basis: Floats, values: Floats, weights: Floats | None, y: Floats) -> Spectrum:
    """Create a spectrum from eigenvectors (n, m), eigenvalues (m,) and r unweighted responses y (n, r)."""
    s = root_weights(len(basis), weights)
    target = s[:, None] * (y - (s**2 / (s**2).sum()) @ y)
    return Spectrum(basis, np.maximum(values, 0.0), basis.T @ target, target, s)


SelectionLoss = Literal["squared", "log_loss", "error"]
"""Leave-one-out loss that a search minimizes."""

MAX_WIDTH_POWER = 5
"""Maximum absolute power of two of candidate widths, in units of the median distance between rows."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelCandidate:
    """Candidate kernel with its best ridge and its leave-one-out loss.

    Attributes
    ----------
    scale : str
        "sd", "ranks", "categories" or "none": kind of coordinates of numeric columns.
    kernel : Kernel
        Kernel with its parameters.
    ridge : float
        Penalty of the regression.
    loss, se : float
        Mean leave-one-out loss and its standard error, which treats the rows as independent.
    squared : float
        Mean over rows of the squared leave-one-out residuals, summed over the classes.
    source : {"rows", "landmarks", "sample"}
        Whether the loss was computed from the kernel of all rows, from an approximation by landmarks, or from
        the kernel of a sample of the rows. With a sample, landmarks approximate the kernel of the sample.
    """

    scale: str
    kernel: Kernel
    ridge: float
    loss: float
    se: float
    squared: float
    source: Literal["rows", "landmarks", "sample"]

    @property
    def sort_key(self) -> tuple[float, float]:
        """Key by which candidates are sorted: the loss, then the mean squared residual."""
        return self.loss, self.squared

    def improves_on(self, other: KernelCandidate) -> bool:
        """Return whether the loss is smaller by `MIN_RELATIVE_GAIN`, relative to the other candidate.

        It is also true if the loss is not larger and `squared` is smaller by this proportion.
        """
        if self.loss < (1 - MIN_RELATIVE_GAIN) * other.loss:
            return True
        return self.loss <= other.loss and self.squared < (1 - MIN_RELATIVE_GAIN) * other.squared


@dataclass(frozen=True, slots=True, eq=False)
class KernelRows:
    """Standardized rows of a fit with their classes.

    Attributes
    ----------
    standard : Standardization
        Standardization of the columns.
    u : (n, p) float
        Standardized rows.
    codes : (n,) int
        Classes.
    weights : (n,) float or None
        Weights of the rows; None for ones.
    y : (n, K) float
        Class indicators, the responses.
    factors : tuple of tuples of int
        Positions of the indicator columns of each factor.
    """

    standard: Standardization
    u: Floats
    codes: Codes
    weights: Floats | None
    y: Floats
    factors: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def from_rows(
        cls, x: Floats, codes: Codes, weights: Floats | None, n_classes: int, factors: Sequence[Sequence[int]]
    ) -> KernelRows:
        """Standardize the columns of rows, and compute the class indicators.

        Parameters
        ----------
        x : (n, p) float
            Rows of the design matrix.
        codes : (n,) int
            Classes of the rows.
        weights : (n,) float or None
            Weights of the rows; None for ones.
        n_classes : int
            Number of classes.
        factors : sequence of sequences of int
            Positions of the indicator columns of each factor.

        Returns
        -------
        KernelRows
        """
        groups = tuple(tuple(group) for group in factors)
        standard = fit_standardization(x, weights)
        return cls(standard, standard.standardize(x), codes, weights, np.eye(n_classes)[codes], groups)

    def subset(self, rows: Codes) -> KernelRows:
        """Return the rows at positions (m,), in the standardization of all rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, u=self.u[rows], codes=self.codes[rows], weights=weights, y=self.y[rows])

    def losses(self, select: SelectionLoss, residuals: Floats) -> Floats:
        """Return the loss of each row from its leave-one-out residuals.

        Parameters
        ----------
        select : {"squared", "log_loss", "error"}
            Sum of the squared residuals, log loss of a softmax of the fitted values times a
            common slope, or one if the class with the largest fitted value is not the row's class and
            otherwise zero.
        residuals : (n, K) float
            Leave-one-out residuals.

        Returns
        -------
        (n,) float
        """
        if select == "squared":
            return np.asarray((residuals**2).sum(axis=1))
        fitted = self.y - residuals
        if select == "error":
            return np.asarray(fitted.argmax(axis=1) != self.codes, dtype=np.float64)
        return _log_losses(fitted, self.codes, self.weights)

    def mean(self, losses: Floats) -> float:
        """Return the weighted mean of losses (n,)."""
        return float(np.average(losses, weights=self.weights))

    def evaluate(
        self, scale: str, kernel: Kernel, ridge: float, select: SelectionLoss, residuals: Floats
    ) -> KernelCandidate:
        """Compute the leave-one-out loss of a kernel with its ridge, and its standard error.

        Parameters
        ----------
        scale : str
            "sd", "ranks", "categories" or "none": kind of coordinates of numeric columns.
        kernel : Kernel
            Kernel with its parameters.
        ridge : float
            Penalty of the regression.
        select : {"squared", "log_loss", "error"}
            Kind of loss.
        residuals : (n, K) float
            Leave-one-out residuals.

        Returns
        -------
        KernelCandidate
            With the source "rows"; a caller that used landmarks or a sample has to change it.
        """
        losses = self.losses(select, residuals)
        mean = self.mean(losses)
        total = len(losses) if self.weights is None else float(self.weights.sum())
        se = np.sqrt(self.mean((losses - mean) ** 2) / total)
        return KernelCandidate(
            scale, kernel, ridge, mean, float(se), self.mean((residuals**2).sum(axis=1)), "rows"
        )


def _log_losses(fitted: Floats, codes: Codes, weights: Floats | None) -> Floats:
    """Return log losses of the softmax of the fitted values times the slope that minimizes the mean loss.

    The slope is at most `MAX_SLOPE`.

    Parameters
    ----------
    fitted : (n, K) float
        Leave-one-out fitted values.
    codes : (n,) int
        Classes of the rows.
    weights : (n,) float or None
        Weights of the rows; None for ones.

    Returns
    -------
    (n,) float
    """
    row_index = np.arange(len(codes))
    slope = 1.0
    for _ in range(MAX_SLOPE_STEPS):
        logits = slope * (fitted - fitted.max(axis=1, keepdims=True))
        p = np.exp(logits)
        p /= p.sum(axis=1, keepdims=True)
        mean = (p * fitted).sum(axis=1)
        gradient = np.average(mean - fitted[row_index, codes], weights=weights)
        curvature = np.average((p * fitted**2).sum(axis=1) - mean**2, weights=weights)
        # For separated classes the optimal slope is infinite, but large slopes gain little.
        slope = float(
            np.clip(slope - gradient / max(curvature, MIN_CURVATURE), slope / 3, min(3 * slope, MAX_SLOPE))
        )
    logits = slope * (fitted - fitted.max(axis=1, keepdims=True))
    return np.asarray(np.log(np.exp(logits).sum(axis=1)) - logits[row_index, codes])


MAX_SLOPE_STEPS = 12
MAX_SLOPE = 1e3
MIN_CURVATURE = 1e-300
"""Number of Newton steps for the slope of log losses, its maximum, and the minimum of the curvature."""


def candidate_ridges(mean_diagonal: float, n: float) -> Floats:
    """Return candidate ridges: powers of two times the mean diagonal, in decreasing order.

    The powers are from 2^-18 to the first that is not below 2n.

    Parameters
    ----------
    mean_diagonal : float
        Trace of the centred, weighted kernel over the total weight.
    n : float
        Total weight of the rows.

    Returns
    -------
    (R,) float
    """
    return np.asarray(mean_diagonal * 2.0 ** np.arange(np.ceil(np.log2(n)) + 1, -19, -1))


@dataclass(frozen=True, slots=True, eq=False)
class SearchSpace:
    """Candidates of a search, and fixed parameters.

    Attributes
    ----------
    kernels, scales : tuple of str
        Names of the candidate kernels and scales; ("callable",) for a user-defined kernel.
    width, ridge : float or None
        Fixed values, or None to search.
    select : {"squared", "log_loss", "error"}
        Loss that the search minimizes.
    degree : int
        Degree of a polynomial kernel.
    function : callable or None
        User-defined kernel.
    """

    kernels: tuple[str, ...]
    scales: tuple[str, ...]
    width: float | None
    ridge: float | None
    select: SelectionLoss = "squared"
    degree: int = 3
    function: Callable[[Floats, Floats], Floats] | None = None

    @property
    def has_choice(self) -> bool:
        """Whether there is more than one candidate."""
        widths = any(self.has_width(name) for name in self.kernels) and self.width is None
        return widths or self.ridge is None or len(self.kernels) * len(self.scales) > 1

    @staticmethod
    def has_width(name: str) -> bool:
        """Return whether a kernel has a width parameter."""
        return name not in KERNELS_WITHOUT_WIDTH

    def kernel(self, name: str, width: float | None) -> Kernel:
        """Return a kernel by name with a width; None, and kernels without a width parameter, give 1."""
        width = 1.0 if width is None else width
        return Kernel(name, width if self.has_width(name) else 1.0, self.degree, self.function)


@dataclass(frozen=True, slots=True, eq=False)
class ChosenKernel:
    """Result of a search.

    Attributes
    ----------
    scale : str
        "sd", "ranks", "categories" or "none": kind of coordinates of numeric columns.
    kernel : Kernel
        Kernel with its parameters.
    ridge : float
        Penalty of the regression.
    coordinates : Coordinates
        Transformation to the coordinates of the kernel.
    points : (n, q) float
        Coordinates of the rows.
    fit : RidgeFit
        Regression of the class indicators on the kernel.
    candidates : tuple of KernelCandidate
        All candidates that were evaluated; empty if the search had a single candidate.
    """

    scale: str
    kernel: Kernel
    ridge: float
    coordinates: Coordinates
    points: Floats
    fit: RidgeFit
    candidates: tuple[KernelCandidate, ...] = ()


def choose_kernel(
    sample: KernelRows, search: SearchSpace, progress: Callable[[float], object] | None = None
) -> ChosenKernel:
    """Return the regression with the smallest leave-one-out loss, or fit the only candidate.

    The best ridge of each combination of kernel, scale and width is found from the eigenvectors of all rows
    (up to `MAX_EIGEN_ROWS`) or from landmarks. In the second case, the best candidates are then compared on
    all rows. With more than `MAX_SEARCH_ROWS` rows this is done for a random sample of them, stratified by
    class, with a fixed seed, and only its result is then varied on all rows. All rows are searched if all
    rows of the sample are equal.

    Parameters
    ----------
    sample : KernelRows
        Standardized rows with their classes.
    search : SearchSpace
        Candidates and fixed parameters.
    progress : callable or None
        Called with 1 after each candidate.

    Returns
    -------
    ChosenKernel
        With all evaluated candidates; its `candidates` are empty if `search.has_choice` is false.

    Raises
    ------
    CoreDataError
        A fixed ridge is below `min_ridge`, all rows are equal, a kernel is constant, or a user-defined kernel
        fails, is not symmetric or is not positive semidefinite.
    """
    state = _KernelSearch(sample, search, progress or (lambda done: None))
    if search.function is not None:
        state.check_function()
    if not search.has_choice:
        scale = search.scales[0]
        name = search.kernels[0]
        kernel = search.kernel(name, search.width)
        ridge = 1.0 if search.ridge is None else search.ridge
        return replace(state.fit_exactly(scale, kernel, ridge)[1], candidates=())
    n = len(sample.u)
    if n <= MAX_SEARCH_ROWS:
        return state.run()
    # Rows that represent rare classes increase the sample by at most a tenth.
    min_rows = min_class_rows(N_SAMPLE_ROWS / 10, sample.y.shape[1])
    rows = sample_of_classes(sample.codes, N_SAMPLE_ROWS, min_rows)
    if (sample.u[rows] == sample.u[rows[0]]).all():
        return state.run()
    by_sample = _KernelSearch(sample.subset(rows), search, state.progress).run()
    sample_candidates = tuple(
        replace(candidate, source="sample") if candidate.source == "rows" else candidate
        for candidate in by_sample.candidates
    )
    max_candidates = min(int(MAX_FINAL_PRODUCTS / n**3), MIN_SECOND_STAGE_CANDIDATES)
    chosen = state.vary_exactly([by_sample], max(max_candidates, 1))
    return replace(chosen, candidates=sample_candidates + chosen.candidates)


class _KernelSearch:
    """State of one search: the evaluated candidates and the coordinates that they share.

    Parameters
    ----------
    sample : KernelRows
        Standardized rows with their classes.
    search : SearchSpace
        Candidates and fixed parameters.
    progress : callable
        Called with 1 after each candidate.
    """

    def __init__(self, sample: KernelRows, search: SearchSpace, progress: Callable[[float], object]) -> None:
        self._sample = sample
        self._search = search
        self.progress = progress
        n = len(sample.u)
        self._uses_all_rows = n <= MAX_EIGEN_ROWS
        order = np.random.default_rng(0).permutation(n)
        self._landmark_rows = np.sort(order[: MAX_EIGEN_ROWS if self._uses_all_rows else N_LANDMARKS])
        if (sample.u[self._landmark_rows] == sample.u[self._landmark_rows[0]]).all():
            # Landmarks that are all equal contain no distances. Draw distinct rows.
            distinct_rows = np.unique(sample.u, axis=0, return_index=True)[1]
            self._landmark_rows = np.sort(order[np.isin(order, distinct_rows)][:N_LANDMARKS])
        self._candidates: list[KernelCandidate] = []
        self._points: dict[tuple[str, bool], Floats] = {}
        self._coordinates: dict[str, Coordinates] = {}
        self._width_powers: dict[str, int] = {}

    def points(self, scale: str, name: str) -> Floats:
        """Return the coordinates (n, q) of the rows for a scale and the name of a kernel, from a cache."""
        key = scale, name in ABSOLUTE_DISTANCE_KERNELS
        if scale not in self._coordinates:
            sample = self._sample
            self._coordinates[scale] = fit_coordinates(
                sample.u, sample.weights, scale, sample.factors, sample.standard.unit
            )
        if key not in self._points:
            self._points[key] = self._coordinates[scale].transform(self._sample.u, name)
        return self._points[key]

    def check_function(self) -> None:
        """Raise a CoreDataError if the user-defined kernel fails or its matrix of the rows is invalid.

        The matrix is invalid if it is not finite, symmetric and positive semidefinite.
        """
        z = self.points(self._search.scales[0], self._search.kernels[0])
        check_semidefinite(self._search.kernel(self._search.kernels[0], None).matrix(z, z))

    def fit_exactly(self, scale: str, kernel: Kernel, ridge: float) -> tuple[KernelCandidate, ChosenKernel]:
        """Fit the regression with a kernel and a ridge to all rows, and compute its leave-one-out loss.

        If the ridge is searched, it is raised to the smallest supported one.

        Parameters
        ----------
        scale : str
            "sd", "ranks", "categories" or "none": kind of coordinates of numeric columns.
        kernel : Kernel
            Kernel with its parameters.
        ridge : float
            Penalty of the regression.

        Returns
        -------
        candidate : KernelCandidate
            The kernel with its loss; not recorded.
        chosen : ChosenKernel
            The fit, without candidates.
        """
        sample = self._sample
        z = self.points(scale, kernel.name)
        matrix = kernel.matrix(z, z)
        if self._search.ridge is None:
            ridge = max(ridge, min_ridge(matrix, sample.weights))
        fit = fit_ridge(matrix, sample.weights, sample.y, ridge)
        residuals = fit.left_out_residuals()
        candidate = sample.evaluate(scale, kernel, ridge, self._search.select, residuals)
        return candidate, ChosenKernel(scale, kernel, ridge, self._coordinates[scale], z, fit)

    def evaluate(self, scale: str, kernel: Kernel) -> KernelCandidate:
        """Find the best ridge of a kernel, from all rows or from landmarks, and record only this candidate.

        Raises a CoreDataError if all rows are equal or the kernel is constant.
        """
        sample = self._sample
        search = self._search
        z = self.points(scale, kernel.name)
        if self._uses_all_rows:
            spectrum = kernel_spectrum(kernel.matrix(z, z), sample.weights, sample.y)
        else:
            landmarks = z[self._landmark_rows]
            row_kernels = kernel.matrix(z, landmarks)
            landmark_kernels = kernel.matrix(landmarks, landmarks)
            spectrum = landmark_spectrum(row_kernels, landmark_kernels, sample.weights, sample.y)
        total = float((spectrum.s**2).sum())
        trace = float(spectrum.values.sum())
        if not trace > 0:
            raise_if_equal_rows(different=bool((z != z[:1]).any()))
            raise CoreDataError("constant_kernel", width=kernel.width)
        ridges = np.array([search.ridge])
        if search.ridge is None:
            ridges = candidate_ridges(trace / total, total)
            ridges = ridges[ridges >= 2 * MIN_RELATIVE_RIDGE * trace]
        best = self._choose_ridge(scale, kernel, ridges, spectrum)
        if not self._uses_all_rows:
            best = replace(best, source="landmarks")
        self._candidates.append(best)
        self.progress(1)
        return best

    def _choose_ridge(
        self, scale: str, kernel: Kernel, ridges: Floats, spectrum: Spectrum
    ) -> KernelCandidate:
        """Return the candidate with the best of some ridges.

        Parameters
        ----------
        scale : str
            Kind of coordinates.
        kernel : Kernel
            Kernel with its parameters.
        ridges : (R,) float
            Penalties, in decreasing order.
        spectrum : Spectrum
            Eigendecomposition of the kernel.

        Returns
        -------
        KernelCandidate
            The largest ridge if several have equal losses up to rounding.
        """
        sample = self._sample
        select = self._search.select
        squared: list[float] = []
        losses: list[float] = []
        for residuals in spectrum.left_out_residuals(ridges):
            squares = np.einsum("bij,bij->ib", residuals, residuals)
            squared += np.average(squares, axis=0, weights=sample.weights).tolist()
            if select != "squared":
                losses += [sample.mean(sample.losses(select, each)) for each in residuals]
        best = find_first_smallest(losses or squared, squared)
        (residuals,) = spectrum.left_out_residuals(ridges[best : best + 1])
        return sample.evaluate(scale, kernel, float(ridges[best]), select, residuals[0])

    def choose_width(self, scale: str, name: str) -> KernelCandidate:
        """Return the candidate with the best width of a kernel on a scale, each width with its best ridge.

        Widths are powers of two times the median distance. From the best power of the same kernel on the
        previous scale, or zero, the width is doubled or halved until that does not decrease the loss. If the
        width is fixed, or the kernel is without a width, only the ridge is searched.
        """
        search = self._search
        if not search.has_width(name) or search.width is not None:
            return self.evaluate(scale, search.kernel(name, search.width))
        weights = None if self._sample.weights is None else self._sample.weights[self._landmark_rows]
        unit = median_distance(self.points(scale, name)[self._landmark_rows], name, weights)
        candidates: dict[int, KernelCandidate] = {}

        def evaluate(power: int) -> None:
            """Evaluate the width of a power of two, unless it is known or beyond the limits."""
            if abs(power) <= MAX_WIDTH_POWER and power not in candidates:
                candidates[power] = self.evaluate(scale, search.kernel(name, unit * 2.0**power))

        def find_best() -> int:
            """Return the power of the best width, and the largest one if losses are equal."""
            powers = sorted(candidates, reverse=True)
            best = find_smoothest([candidates[power] for power in powers])
            return next(power for power in powers if candidates[power] is best)

        best = self._width_powers.get(name, 0)
        evaluate(best)
        previous = None
        while best != previous:
            previous = best
            evaluate(best + 1)
            if find_best() == best:
                evaluate(best - 1)
            best = find_best()
        self._width_powers[name] = best
        return candidates[best]

    def run(self) -> ChosenKernel:
        """Search over all kernels, scales, widths and ridges, and return the best fit to all rows.

        Its `candidates` are all that were evaluated, in the order of evaluation.
        """
        search = self._search
        best_by_kernel = [
            self.choose_width(scale, name) for scale in search.scales for name in search.kernels
        ]
        if self._uses_all_rows:
            best_candidate = find_smoothest(best_by_kernel)
            step = 2.0**0.5
            if search.width is None and search.has_width(best_candidate.kernel.name):
                nearby_widths = [best_candidate.kernel.width * step, best_candidate.kernel.width / step]
                neighbours = [
                    self.evaluate(best_candidate.scale, replace(best_candidate.kernel, width=width))
                    for width in nearby_widths
                ]
                best_candidate = find_smoothest([neighbours[0], best_candidate, neighbours[1]])
            _, chosen = self.fit_exactly(best_candidate.scale, best_candidate.kernel, best_candidate.ridge)
            return replace(chosen, candidates=tuple(self._candidates))
        finalists = sorted(best_by_kernel, key=lambda candidate: candidate.sort_key)[:2]
        max_candidates = int(MAX_SECOND_STAGE_PRODUCTS / len(self._sample.u) ** 3)
        return self.vary_exactly(finalists, max(max_candidates, MIN_SECOND_STAGE_CANDIDATES))

    def vary_exactly(
        self, finalists: Sequence[KernelCandidate | ChosenKernel], max_candidates: int
    ) -> ChosenKernel:
        """Return the best fit to all rows, starting from the candidates that are best by other losses.

        The finalists are compared on all rows, then the width and the ridge of the best one are varied,
        unless they are fixed.

        Parameters
        ----------
        finalists : sequence of KernelCandidate or ChosenKernel
            One or two kernels with ridges that are best by landmarks or in a sample of the rows.
        max_candidates : int
            Maximum number of widths and ridges of the best one, including its own.

        Returns
        -------
        ChosenKernel
            With all candidates that were evaluated before and here.
        """
        search = self._search
        best_candidate, best_fit = self._record_exact_fit(
            finalists[0].scale, finalists[0].kernel, finalists[0].ridge
        )
        for other in finalists[1:]:
            candidate, candidate_fit = self._record_exact_fit(other.scale, other.kernel, other.ridge)
            best_candidate, best_fit = (
                (candidate, candidate_fit)
                if candidate.sort_key < best_candidate.sort_key
                else (best_candidate, best_fit)
            )
        widths = search.width is None and search.has_width(best_candidate.kernel.name)
        steps = [(width, 1.0) for width in WIDTH_FACTORS if widths]
        # Vary the ridge after the first step of the width.
        steps[1:1] = [(1.0, ridge) for ridge in RIDGE_FACTORS[:2] if search.ridge is None]
        steps += [(1.0, ridge) for ridge in RIDGE_FACTORS[2:] if search.ridge is None]
        evaluated = {(best_candidate.kernel.width, best_candidate.ridge)}
        while len(evaluated) < max_candidates and steps:
            width, ridge = steps.pop(0)
            width_and_ridge = best_candidate.kernel.width * width, best_candidate.ridge * ridge
            if any(np.allclose(width_and_ridge, evaluated_pair) for evaluated_pair in evaluated):
                continue
            evaluated.add(width_and_ridge)
            candidate, candidate_fit = self._record_exact_fit(
                best_candidate.scale,
                replace(best_candidate.kernel, width=width_and_ridge[0]),
                width_and_ridge[1],
            )
            if candidate.improves_on(best_candidate):
                best_candidate = candidate
                best_fit = candidate_fit
                # Continue in a direction that improved the loss.
                steps.insert(0, (width, ridge))
        return replace(best_fit, candidates=tuple(self._candidates))

    def _record_exact_fit(
        self, scale: str, kernel: Kernel, ridge: float
    ) -> tuple[KernelCandidate, ChosenKernel]:
        """Call `fit_exactly`, record its candidate, report progress, and return the candidate and the fit."""
        evaluation = self.fit_exactly(scale, kernel, ridge)
        self._candidates.append(evaluation[0])
        self.progress(1)
        return evaluation


def check_semidefinite(kernel: Floats) -> None:
    """Raise a CoreDataError if a kernel matrix (n, n) is not symmetric or not positive semidefinite.

    Asymmetry and negative eigenvalues up to `SEMIDEFINITE_TOLERANCE`, relative to the largest entry or
    eigenvalue, are accepted.
    """
    size = float(np.abs(kernel).max())
    if float(np.abs(kernel - kernel.T).max()) > SEMIDEFINITE_TOLERANCE * size:
        raise CoreDataError("kernel_not_symmetric")
    values = eigvalsh(kernel, check_finite=False)
    if values[0] < -SEMIDEFINITE_TOLERANCE * max(abs(values[-1]), size):
        raise CoreDataError("kernel_not_semidefinite", smallest=values[0], largest=values[-1])


SEMIDEFINITE_TOLERANCE = 1e-8
"""Relative size of a negative eigenvalue that is attributed to rounding."""


def find_smoothest(candidates: Sequence[KernelCandidate]) -> KernelCandidate:
    """Return the candidate that `find_first_smallest` finds; callers sort from smooth to rough."""
    return candidates[
        find_first_smallest([each.loss for each in candidates], [each.squared for each in candidates])
    ]


def find_first_smallest(losses: Sequence[float], squared: Sequence[float]) -> int:
    """Return the position of the first loss that is the smallest up to rounding.

    Ties are broken by squared residuals. Callers sort from smooth to rough, which makes the result the
    smoothest.
    """
    smallest = min(losses) * (1 + LOSS_ROUNDING)
    tied = [i for i, loss in enumerate(losses) if loss <= smallest]
    smallest = min(squared[i] for i in tied) * (1 + LOSS_ROUNDING)
    return next(i for i in tied if squared[i] <= smallest)


def kernel_candidates(
    kernel: str, scale: str, u: Floats, factors: Sequence[Sequence[int]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the candidate kernels and scales of a search.

    Parameters
    ----------
    kernel, scale : str
        A name, or "auto". For the kernel this means "gaussian" and "laplace"; for the scale "sd", "ranks" if
        there are numeric columns, and "categories" if one of them has few values.
    u : (n, p) float
        Standardized rows.
    factors : sequence of sequences of int
        Positions of the indicator columns of each factor.

    Returns
    -------
    kernels, scales : tuple of str
        In the order of the search; one name each unless it is "auto".
    """
    names = ("gaussian", "laplace") if kernel == "auto" else (kernel,)
    if scale != "auto":
        return names, (scale,)
    scales = ["sd"]
    if len({j for group in factors for j in group}) < u.shape[1]:
        scales.append("ranks")
        if has_few_valued_column(u, factors):
            scales.append("categories")
    return names, tuple(scales)
