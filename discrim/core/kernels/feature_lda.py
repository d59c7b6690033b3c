"""Kernel discriminant analysis by features, computed from class moments for any number of rows.

Theory. With features f(x) (D,) whose inner products approximate the kernel (`discrim.core.kernels.features`),
the ridge regression of the class indicators (`discrim.core.kernels.kernel_ridge`) minimizes

    sum_i w_i |y_i - b - C'f(x_i)|^2 + ridge |C|^2.

With N, m and m_k the total weight, the mean of all rows and the mean of class k in the features, and T the
scatter about m, C = (T + ridge I)^-1 B, where column k of B is n_k (m_k - m). Coefficients, variates and
centroids therefore follow from the class moments of the features, which can be added over the parts of a
table. With all distinct rows as landmarks the fit equals the fit with the kernel.

*The ridge* is chosen by generalized cross-validation (Golub, Heath & Wahba, 1979, Technometrics 21, 215-223),

    V = N RSS / (N - 1 - tr (T + ridge I)^-1 T)^2,     RSS = sum_i w_i |y_i|^2 - tr B'C - ridge |C|^2

with y_i about their mean. It requires only the moments; a table in memory and a streamed one therefore yield
the same choice. It is the mean squared leave-one-out error with all leverages replaced by their mean.
Candidate ridges are powers of two times the mean squared length of a row's features; the search descends in
steps of a factor of eight, then of two.

*Leave-one-out.* A row has the leverage h = 1 / N + |R'^-1 (f(x) - m)|^2, with R'R = T + ridge I, and its own
fitted values become y - (y - f) / (1 - o h), with o the part of its weight that is left out; its class
products follow as in `discrim.core.kernels.kernel_lda`. Quantities learnt from a sample of the rows stay
fixed: the landmarks or directions, the width, and the map to posteriors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from discrim.core.errors import CoreDataError, InvalidStateError
from discrim.core.kernels.features import (
    DirectionDistribution,
    FeatureMap,
    features_from_directions,
    independent_landmarks,
)
from discrim.core.kernels.kernel_lda import (
    KernelLDAFit,
    KernelState,
    ScoredIndicators,
    left_out_normal_scores,
    optimal_scoring,
    restore_expansion,
)
from discrim.core.kernels.kernel_ridge import MIN_ONE_MINUS_LEVERAGE, KernelRows
from discrim.core.kernels.kernels import Coordinates, Kernel, Standardization
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats, check_memory, slices
from discrim.core.regression.indicator import FlexibleFit
from discrim.core.rules.calibration import Calibrator
from discrim.core.rules.leave_one_out import LeaveOneOutScorer, mark_lone_rows_for_refit
from discrim.errors import DataError

FIRST_RIDGE_POWER = -2
RIDGE_POWER_STEPS = (3, 1)
"""Base-2 logarithm of the first candidate ridge, and the step sizes of the search."""

MIN_RIDGE_POWER = -18
"""Base-2 logarithm of the smallest candidate ridge."""

N_MATRICES = 6
"""Number of (D, D) matrices in memory during a fit."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSums:
    """Class counts, means and total scatter of D features, from which the regression is computed.

    Attributes
    ----------
    counts : (K,) float
        Sums of weights by class.
    mean : (D,) float
        Mean of all rows.
    means : (K, D) float
        Class means less `mean`.
    scatter : (D, D) float
        T, the scatter about the mean.
    """

    counts: Floats
    mean: Floats
    means: Floats
    scatter: Floats

    @property
    def total(self) -> float:
        """Total weight N."""
        return float(self.counts.sum())

    @property
    def mean_squared_distance(self) -> float:
        """Mean squared distance of the rows from their mean."""
        return float(np.trace(self.scatter)) / self.total

    @staticmethod
    def from_moments(moments: ClassMoments) -> FeatureSums:
        """Compute counts, means and total scatter from class moments of the features.

        The moments must not be diagonal or thin. All results are in the units of the features, not in z.
        """
        total_moments = moments.as_one_class()
        unit = 1 / total_moments.scale
        scatter = total_moments.scatters[0] * unit * unit[:, None]
        means = moments.means_from(total_moments.class_means[0]) * (1 / moments.scale)
        # Remove the rounding error of the mean; the weighted class means then sum to zero.
        means -= moments.counts @ means / moments.total
        return FeatureSums(moments.counts, total_moments.class_means[0], means, scatter)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRidge:
    """Ridge regression of K class indicators on D features.

    Attributes
    ----------
    ridge : float
        Penalty of the regression.
    coef : (D, K) float
        Coefficients C of the features.
    intercept : (K,) float
        Fitted indicators at features of zero.
    mean : (D,) float
        Mean of the features.
    root : (D, D) float
        Upper triangular R, R'R = T + ridge I.
    total : float
        Total weight N.
    loss : float
        V / N of the module docstring, the mean squared error by generalized cross-validation; infinite if no
        degrees of freedom remain.
    df : float
        Effective number of features, tr (T + ridge I)^-1 T.
    """

    ridge: float
    coef: Floats
    intercept: Floats
    mean: Floats
    root: Floats
    total: float
    loss: float
    df: float

    def leverages(self, features: Floats) -> Floats:
        """Return the leverages (m,) of rows of unit weight with features (m, D)."""
        whitened = solve_triangular(self.root, (features - self.mean).T, trans="T", check_finite=False)
        return np.asarray(1 / self.total + np.einsum("ij,ij->j", whitened, whitened))

    def fitted(self, features: Floats) -> Floats:
        """Return the fitted indicators (m, K) of rows with features (m, D)."""
        return np.asarray(features @ self.coef + self.intercept)


def fit_feature_ridge(sums: FeatureSums, ridge: float) -> FeatureRidge:
    """Fit the ridge regression of the class indicators on the features with a given ridge.

    Parameters
    ----------
    sums : FeatureSums
        Moments of the features.
    ridge : float
        Penalty of the regression.

    Returns
    -------
    FeatureRidge

    Raises
    ------
    CoreDataError
        The scatter plus the ridge is not positive definite in float64, because the ridge is too small.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [5.0]])
    >>> moments = ClassMoments.from_block(x, np.array([0, 0, 1]), n_classes=2)
    >>> fit = fit_feature_ridge(FeatureSums.from_moments(moments), 2.0)
    >>> fit.coef.round(4).tolist(), round(fit.df, 4)
    ([[-0.1875, 0.1875]], 0.875)
    """
    counts = sums.counts
    total = sums.total
    n_features = len(sums.mean)
    matrix = np.array(sums.scatter, order="F")
    matrix[np.diag_indices(n_features)] += ridge
    root, failed = lapack.dpotrf(matrix, overwrite_a=1)
    if failed:
        raise CoreDataError("ridge_rounded_away", ridge=ridge)
    products = (counts[:, None] * sums.means).T
    # Use the memory layout of a loaded fit, because rounding of products depends on it.
    coef = np.ascontiguousarray(lapack.dpotrs(root, products)[0])
    inverse = lapack.dtrtri(root)[0]
    df = n_features - ridge * float(np.einsum("ij,ij->", inverse, inverse))
    proportions = counts / total
    squares = total - float(counts @ proportions)
    residual_squares = squares - float(np.einsum("ij,ij->", products, coef)) - ridge * float((coef**2).sum())
    df_resid_ratio = 1 - (1 + df) / total
    loss = max(residual_squares, 0.0) / total / df_resid_ratio**2 if df_resid_ratio > 0 else np.inf
    return FeatureRidge(ridge, coef, proportions - sums.mean @ coef, sums.mean, root, total, loss, df)


class RidgeCandidate(NamedTuple):
    """Candidate ridge with its loss.

    Attributes
    ----------
    ridge : float
        Penalty of the regression.
    loss : float
        Mean squared error by generalized cross-validation; infinite if the regression cannot be fitted.
    df : float
        Effective number of features; NaN if the regression cannot be fitted.
    """

    ridge: float
    loss: float
    df: float


def choose_feature_ridge(
    sums: FeatureSums, progress: Callable[[float], object]
) -> tuple[FeatureRidge, list[RidgeCandidate]]:
    """Choose the ridge with the smallest generalized cross-validation loss, and fit the regression.

    Parameters
    ----------
    sums : FeatureSums
        Moments of the features.
    progress : callable
        Called with 1 after each candidate.

    Returns
    -------
    fit : FeatureRidge
        Regression with the ridge of the smallest loss that the search found.
    candidates : list of RidgeCandidate
        All candidates, in increasing order of the ridge.

    Raises
    ------
    CoreDataError
        The features of all rows are equal.
    """
    if not sums.mean_squared_distance > 0:
        raise CoreDataError("equal_features")
    max_power = int(np.ceil(np.log2(sums.total))) + 1
    candidates: dict[int, RidgeCandidate] = {}

    def loss(power: int) -> float:
        """Return the loss of the ridge `mean_squared_distance * 2**power`; infinite if it is too small."""
        if power not in candidates:
            try:
                fit = fit_feature_ridge(sums, sums.mean_squared_distance * 2.0**power)
                candidates[power] = RidgeCandidate(fit.ridge, fit.loss, fit.df)
            except DataError:
                candidates[power] = RidgeCandidate(sums.mean_squared_distance * 2.0**power, np.inf, np.nan)
            progress(1)
        return candidates[power].loss

    best_power = min(FIRST_RIDGE_POWER, max_power)
    for step in RIDGE_POWER_STEPS:
        for sign in (1, -1):
            while MIN_RIDGE_POWER <= best_power + sign * step <= max_power and loss(
                best_power + sign * step
            ) < loss(best_power):
                best_power += sign * step
    return fit_feature_ridge(sums, sums.mean_squared_distance * 2.0**best_power), [
        candidates[power] for power in sorted(candidates)
    ]


def raise_if_many_features(count: int) -> None:
    """Raise a DataError if the cross-products of `count` features would take over half of the memory.

    They are `N_MATRICES` matrices of `count` rows and columns.
    """
    check_memory(
        1.0 * N_MATRICES * count**2,
        f"The products of {count:,} features with each other",
        "Use fewer features",
    )


@dataclass(frozen=True, slots=True, eq=False)
class FeatureIndicators:
    """Fitted indicators of the classes as a function of rows.

    Attributes
    ----------
    kernel : Kernel
        Kernel with its parameters.
    features : FeatureMap
        Map from rows to features.
    regression : FeatureRidge
        Regression of the class indicators on the features.
    """

    kernel: Kernel
    features: FeatureMap
    regression: FeatureRidge

    def __call__(self, x: Floats) -> Floats:
        """Return the fitted indicators (m, K) of rows x (m, p); NaN for rows with missing values."""
        fitted = np.full((len(x), len(self.regression.intercept)), np.nan)
        complete_rows = np.flatnonzero(~np.isnan(x).any(axis=1))
        for chunk in slices(len(complete_rows), self.features.rows_per_block):
            fitted[complete_rows[chunk]] = self.regression.fitted(self.features(x[complete_rows[chunk]]))
        return fitted


@dataclass(frozen=True, slots=True, eq=False)
class FeatureLDAFit(ScoredIndicators):
    """Fitted kernel discriminant analysis by features.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal moments of the columns of the design matrix.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions.
    feature_type : {"landmarks", "random"}
        Kind of features.
    scale : str
        Kind of coordinates of numeric columns.
    indicators : FeatureIndicators
        Fitted indicators of the classes as a function of rows.
    products : (K, K) float
        Y'WF, the weighted products of indicators Y and fitted indicators F over all rows.
    sample : KernelRows
        Sample of the rows that determined coordinates, features and posteriors.
    flexible : FlexibleFit
        Optimal scoring by the fitted indicators.
    calibrator : Calibrator or None
        Maps fitted indicators to log posteriors under the class proportions; None for normal classes.
    ncomp : int or None
        Number of axes to retain; None for all.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    feature_type: str
    scale: str
    indicators: FeatureIndicators
    products: Floats
    sample: KernelRows
    flexible: FlexibleFit
    calibrator: Calibrator | None
    ncomp: int | None

    @property
    def ridge(self) -> float:
        """Penalty of the regression."""
        return self.indicators.regression.ridge

    @property
    def components(self) -> int:
        """Number of features."""
        return self.indicators.features.width

    @property
    def features(self) -> FeatureState:
        """Arrays from which the features can be restored."""
        mapping = self.indicators.features.mapping
        points: Floats = getattr(mapping, "points" if self.feature_type == "landmarks" else "directions")
        return FeatureState(self.feature_type, points, self.products)

    @property
    def state(self) -> KernelState:
        """Arrays and options from which the fit can be restored, in addition to the features."""
        regression = self.indicators.regression
        return KernelState.from_fit(self, self.sample, regression.coef, regression.intercept)

    def of_classes(self, keep: Codes) -> FeatureLDAFit:
        """Return a copy whose calibrator is restricted to the classes at positions (C,).

        All other fields are unchanged. Refits without some classes use it, because they keep the calibrator.
        """
        calibrator = None if self.calibrator is None else self.calibrator.of_classes(keep)
        return replace(self, calibrator=calibrator)

    def leave_one_out_scorer(self, log_prior: Floats) -> LeaveOneOutScorer:
        """Return a function that computes leave-one-out scores of rows, with fixed features and calibrator.

        Parameters
        ----------
        log_prior : (K,) float
            Log prior probabilities of the classes.

        Returns
        -------
        LeaveOneOutScorer
            Function of rows x (m, p) of the fit, codes (m,), and weights (m,) or None that returns scores
            (m, K): calibrated log posteriors if there is a calibrator, otherwise scores of normal classes.
            Rows that are alone in their class, or whose leverage is one up to rounding, have NaN.
        """
        shift = self.log_prior_shift(log_prior)

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            """Return the leave-one-out scores (m, K) of rows of the fit; NaN for rows to refit."""
            y, residuals, one_minus_leverages = residuals_and_leverages(self.indicators, x, codes, weights)
            counts = self.moments.counts
            if self.calibrator is not None:
                row_scores = self.calibrator.scores(y - residuals / one_minus_leverages[:, None]) + shift
            else:
                row_scores = log_prior + left_out_normal_scores(
                    self.products, counts, (y, residuals, one_minus_leverages, weights), self.ncomp
                )
            return mark_lone_rows_for_refit(row_scores, counts[codes], weights)

        return scores


@dataclass(frozen=True, slots=True, eq=False)
class FeatureState:
    """Arrays from which the features of a fit are restored, in addition to its `KernelState`.

    Attributes
    ----------
    feature_type : {"landmarks", "random"}
        Kind of features.
    points : 2-d array of float
        Coordinates (L, q) of the landmarks, or the `directions` of `RandomWaves` or `RandomHinges`.
    products : (K, K) float
        Products of indicators and fitted indicators.
    """

    feature_type: str
    points: Floats
    products: Floats


def restore_kernel_lda(
    moments: ClassMoments,
    prior: Floats,
    *,
    estimated_prior: bool,
    ncomp: int | None,
    state: KernelState,
    features: FeatureState | None,
) -> KernelLDAFit | FeatureLDAFit:
    """Restore a kernel discriminant analysis, with the kernel of all rows or by features, from its state.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions.
    ncomp : int or None
        Number of axes to retain; None for all.
    state : KernelState
        Stored arrays and options.
    features : FeatureState or None
        None for the kernel of all rows.

    Returns
    -------
    KernelLDAFit or FeatureLDAFit
        KernelLDAFit if `features` is None. A FeatureLDAFit has a regression whose `mean` and `root` are empty
        and whose `loss` and `df` are NaN, which predictions do not use.

    Raises
    ------
    InvalidStateError
        The kind of features is unknown, landmarks are linearly dependent, the coefficients do not match the
        features or the products the classes, or as in `KernelState.restore_rows` and `restore_expansion`.
    """
    if features is None:
        return restore_expansion(moments, prior, state, estimated_prior=estimated_prior, ncomp=ncomp)
    sample = state.restore_rows(moments.n_classes, moments.n_columns)
    kernel = state.kernel
    coordinate_map = CoordinateMap(sample.standard, state.restore_coordinates(), kernel.name)
    if features.feature_type == "landmarks":
        mapping = FeatureMap(coordinate_map, independent_landmarks(kernel.matrix, features.points))
    elif features.feature_type == "random":
        mapping = FeatureMap(
            coordinate_map, features_from_directions(direction_distribution(kernel.name), features.points)
        )
    else:
        raise InvalidStateError(f"its features are {features.feature_type!r}")
    products = features.products
    if len(state.coef) != mapping.width or products.shape != (moments.n_classes,) * 2:
        raise InvalidStateError(
            "its coefficients do not match its features, or its products do not match its classes"
        )
    empty = np.zeros((1, 0))
    unused_fields = empty[0], empty, moments.total, np.nan, np.nan
    regression = FeatureRidge(state.ridge, state.coef, state.intercept, *unused_fields)
    indicators = FeatureIndicators(kernel, mapping, regression)
    flexible = optimal_scoring(
        indicators, products, moments, prior, ncomp=ncomp, estimated_prior=estimated_prior
    )
    fields = (
        features.feature_type,
        state.scale,
        indicators,
        products,
        sample,
        flexible,
        state.calibrator,
        ncomp,
    )
    return FeatureLDAFit(moments, prior, estimated_prior, *fields)


@dataclass(frozen=True, slots=True, eq=False)
class CoordinateMap:
    """Map from rows to the coordinates of a kernel.

    Attributes
    ----------
    standard : Standardization
        Standardization of the columns.
    coordinates : Coordinates
        Coordinates of standardized rows.
    kernel : str
        Name of the kernel.
    """

    standard: Standardization
    coordinates: Coordinates
    kernel: str

    def __call__(self, x: Floats) -> Floats:
        """Return the coordinates (m, q) of rows x (m, p)."""
        return self.coordinates.transform(self.standard.standardize(x), self.kernel)


def residuals_and_leverages(
    indicators: FeatureIndicators, x: Floats, codes: Codes, weights: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Compute indicators, residuals and leverages of rows of the fit.

    Parameters
    ----------
    indicators : FeatureIndicators
        Fitted indicators of the classes as a function of rows.
    x : (m, p) float
        Rows of the design matrix.
    codes : (m,) int
        Classes of the rows.
    weights : (m,) float or None
        Weights of the rows; None for ones.

    Returns
    -------
    y, residuals : (m, K) float
        Indicators and residuals.
    one_minus_leverages : (m,) float
        One less the leverage of the weight that is left out; NaN if it is zero up to rounding.
    """
    regression = indicators.regression
    y = np.eye(len(regression.intercept))[codes]
    residuals = np.empty_like(y)
    one_minus_leverages = np.empty(len(x))
    left_out_weights = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
    for chunk in slices(len(x), indicators.features.rows_per_block):
        features = indicators.features(x[chunk])
        residuals[chunk] = y[chunk] - regression.fitted(features)
        one_minus_chunk = 1 - left_out_weights[chunk] * regression.leverages(features)
        one_minus_leverages[chunk] = np.where(
            one_minus_chunk > MIN_ONE_MINUS_LEVERAGE, one_minus_chunk, np.nan
        )
    return y, residuals, one_minus_leverages


def direction_distribution(kernel: str) -> DirectionDistribution:
    """Return the distribution of random directions of a kernel, by its name.

    A CoreDataError is raised for kernels that are not in `DISTRIBUTION_BY_KERNEL`.
    """
    distribution = DISTRIBUTION_BY_KERNEL.get(kernel)
    if distribution is None:
        raise CoreDataError("no_random_features", kernels=", ".join(DISTRIBUTION_BY_KERNEL), kernel=kernel)
    return distribution


DISTRIBUTION_BY_KERNEL: dict[str, DirectionDistribution] = {
    "gaussian": "gaussian",
    "laplace": "laplace",
    "arccos": "relu",
}
"""Kernels with random features, and the distributions of their directions."""


def fit_feature_lda(
    indicators: FeatureIndicators,
    sums: FeatureSums,
    moments: ClassMoments,
    prior: Floats,
    *,
    feature_type: str,
    scale: str,
    sample: KernelRows,
    ncomp: int | None = None,
    calibrator: Calibrator | None = None,
    estimated_prior: bool = True,
) -> FeatureLDAFit:
    """Fit a kernel discriminant analysis by a regression on features.

    Parameters
    ----------
    indicators : FeatureIndicators
        Fitted indicators of the classes as a function of rows.
    sums : FeatureSums
        Moments of the features.
    moments : ClassMoments
        Diagonal moments of the columns of the design matrix.
    prior : (K,) float
        Prior probabilities of the classes.
    feature_type : {"landmarks", "random"}
        Kind of features.
    scale : str
        Kind of coordinates of numeric columns.
    sample : KernelRows
        Sample of the rows that determined coordinates, features and posteriors.
    ncomp : int or None
        Number of axes to retain; None for all.
    calibrator : Calibrator or None
        Map from fitted indicators to log posteriors; None for normal classes.
    estimated_prior : bool, default True
        Whether the prior is the class proportions.

    Returns
    -------
    FeatureLDAFit
        With the regression of `indicators`, which is not fitted again, and its products and axes.
    """
    counts = sums.counts
    regression = indicators.regression
    products = counts[:, None] * (counts / sums.total + sums.means @ regression.coef)
    products = (products + products.T) / 2
    flexible = optimal_scoring(
        indicators, products, moments, prior, ncomp=ncomp, estimated_prior=estimated_prior
    )
    return FeatureLDAFit(
        moments,
        prior,
        estimated_prior,
        feature_type,
        scale,
        indicators,
        products,
        sample,
        flexible,
        calibrator,
        ncomp,
    )
