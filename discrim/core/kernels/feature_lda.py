"""Kernel discriminant analysis by features: a function of their moments, for any number of rows.

Theory. With features f(x) (D,) whose products are the kernel, nearly (`discrim.core.kernels.features`), the
regression of the class indicators with a ridge (`discrim.core.kernels.kernel_ridge`) minimizes

    sum_i w_i |y_i - b - C'f(x_i)|^2 + ridge |C|^2.

With N, m and m_k the sum of all weights, the mean of all rows and of class k in the features, and T the sum
of squares and products about m, C = (T + ridge I)^-1 B, where column k of B is n_k (m_k - m). So
coefficients, and with them variates and centroids, follow from the moments of the features by class, and
these add up over the parts of a table. With all different rows as landmarks the fit is that of the kernel.

*The ridge* is chosen by generalized cross-validation (Golub, Heath & Wahba, 1979, Technometrics 21, 215-223),

    V = N RSS / (N - 1 - tr (T + ridge I)^-1 T)^2,     RSS = sum_i w_i |y_i|^2 - tr B'C - ridge |C|^2

with y_i about their mean. It needs the moments alone, so that a table in memory and one that is read part by
part choose alike, and is the mean squared error of rows left out with all leverages at their mean. Of ridges
that are powers of two times the mean of a row's squared features, the search walks down the hill in steps of
eight, then of two.

*A row left out* has the leverage h = 1 / N + |R'^-1 (f(x) - m)|^2, where R'R = T + ridge I, and its own
fitted values become y - (y - f) / (1 - o h), with o the part of its weight that is left out; its class
products follow as in `discrim.core.kernels.kernel_lda`. What is learnt from a sample of the rows is held: the
landmarks or directions, the width, the map to posteriors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from discrim.core.errors import CoreDataError, InvalidStateError
from discrim.core.kernels.features import (
    FeatureMap,
    Law,
    features_along,
    landmarks_in_order,
)
from discrim.core.kernels.kernel_lda import (
    KernelLDAFit,
    KernelState,
    ScoredIndicators,
    expansion_of_state,
    normal_left_out,
    optimal_scoring,
)
from discrim.core.kernels.kernel_ridge import LEFT, KernelRows
from discrim.core.kernels.kernels import Coordinates, Kernel, Standard
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats, refuse_beyond_memory, slices
from discrim.core.regression.indicator import FlexibleFit
from discrim.core.rules.calibration import Calibrator
from discrim.core.rules.leave_one_out import LeftOut, leave_lone_to_refits
from discrim.errors import DataError

FIRST = -2
STEPS = (3, 1)
"""Logarithm to base two of the ridge that is tried first, and the steps from there."""

SMALLEST = -18
"""The same of the smallest ridge that is tried."""

COPIES = 6
"""Matrices of features by features that a fit takes."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSums:
    """Moments of features in the form in which a regression takes them.

    Attributes
    ----------
    counts : (K,) float
    mean : (D,) float
    means : (K, D) float
        Of the classes, about the mean.
    scatter : (D, D) float
        T, about the mean.
    """

    counts: Floats
    mean: Floats
    means: Floats
    scatter: Floats

    @property
    def total(self) -> float:
        """N."""
        return float(self.counts.sum())

    @property
    def size(self) -> float:
        """Mean squared length of the rows about their mean."""
        return float(np.trace(self.scatter)) / self.total

    @staticmethod
    def of(moments: ClassMoments) -> FeatureSums:
        """Of pooled moments of the features."""
        whole = moments.as_one()
        unit = 1 / whole.scale
        scatter = whole.scatters[0] * unit * unit[:, None]
        means = moments.means_from(whole.class_means[0]) * (1 / moments.scale)
        # What the rounding of the mean leaves is taken out, so that the weighted means sum to zero.
        means -= moments.counts @ means / moments.total
        return FeatureSums(moments.counts, whole.class_means[0], means, scatter)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRidge:
    """A regression of the class indicators on features.

    Attributes
    ----------
    ridge : float
    coef : (D, K) float
    intercept : (K,) float
    mean : (D,) float
        Of the features.
    root : (D, D) float
        Upper triangular R, R'R = T + ridge I.
    total : float
        N.
    loss : float
        V over N: the mean squared error by generalized cross-validation.
    df : float
        tr (T + ridge I)^-1 T, the number of features that the ridge leaves.
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
        """Leverage (m,) of a unit of weight of rows with such features (m, D)."""
        turned = solve_triangular(self.root, (features - self.mean).T, trans="T", check_finite=False)
        return np.asarray(1 / self.total + np.einsum("ij,ij->j", turned, turned))

    def fitted(self, features: Floats) -> Floats:
        """Fitted indicators (m, K)."""
        return np.asarray(features @ self.coef + self.intercept)


def fit_feature_ridge(sums: FeatureSums, ridge: float) -> FeatureRidge:
    """The regression with a ridge that is given.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [5.0]])
    >>> moments = ClassMoments.from_block(x, np.array([0, 0, 1]), n_classes=2)
    >>> fit = fit_feature_ridge(FeatureSums.of(moments), 2.0)
    >>> fit.coef.round(4).tolist(), round(fit.df, 4)
    ([[-0.1875, 0.1875]], 0.875)
    """
    counts = sums.counts
    total = sums.total
    width = len(sums.mean)
    matrix = np.array(sums.scatter, order="F")
    matrix[np.diag_indices(width)] += ridge
    root, failed = lapack.dpotrf(matrix, overwrite_a=1)
    if failed:
        raise CoreDataError("ridge_rounded_away", ridge=ridge)
    products = (counts[:, None] * sums.means).T
    # In the layout of a file, by which products round.
    coef = np.ascontiguousarray(lapack.dpotrs(root, products)[0])
    inverse = lapack.dtrtri(root)[0]
    df = width - ridge * float(np.einsum("ij,ij->", inverse, inverse))
    shares = counts / total
    squares = total - float(counts @ shares)
    rest = squares - float(np.einsum("ij,ij->", products, coef)) - ridge * float((coef**2).sum())
    free = 1 - (1 + df) / total
    loss = max(rest, 0.0) / total / free**2 if free > 0 else np.inf
    return FeatureRidge(ridge, coef, shares - sums.mean @ coef, sums.mean, root, total, loss, df)


class RidgeTried(NamedTuple):
    """A ridge, with the loss by generalized cross-validation and the features that it leaves."""

    ridge: float
    loss: float
    df: float


def choose_feature_ridge(
    sums: FeatureSums, progress: Callable[[float], object]
) -> tuple[FeatureRidge, list[RidgeTried]]:
    """The regression of the ridge with the least loss, and all that were tried, the smallest first."""
    if not sums.size > 0:
        raise CoreDataError("equal_features")
    largest = int(np.ceil(np.log2(sums.total))) + 1
    tried: dict[int, RidgeTried] = {}

    def loss(power: int) -> float:
        if power not in tried:
            try:
                fit = fit_feature_ridge(sums, sums.size * 2.0**power)
                tried[power] = RidgeTried(fit.ridge, fit.loss, fit.df)
            except DataError:
                tried[power] = RidgeTried(sums.size * 2.0**power, np.inf, np.nan)
            progress(1)
        return tried[power].loss

    best = min(FIRST, largest)
    for step in STEPS:
        for sign in (1, -1):
            while SMALLEST <= best + sign * step <= largest and loss(best + sign * step) < loss(best):
                best += sign * step
    return fit_feature_ridge(sums, sums.size * 2.0**best), [tried[power] for power in sorted(tried)]


def refuse_many_features(count: int) -> None:
    """Raise a DataError where the products of so many features with each other are more than memory has."""
    refuse_beyond_memory(
        1.0 * COPIES * count**2,
        f"The products of {count:,} features with each other",
        "Use fewer features",
    )


@dataclass(frozen=True, slots=True, eq=False)
class FeatureIndicators:
    """Fitted indicators of the classes as a function of rows."""

    kernel: Kernel
    features: FeatureMap
    regression: FeatureRidge

    def __call__(self, x: Floats) -> Floats:
        """Values (m, K) of rows x (m, p); of a row with a missing value, missing."""
        out = np.full((len(x), len(self.regression.intercept)), np.nan)
        known = np.flatnonzero(~np.isnan(x).any(axis=1))
        for some in slices(len(known), self.features.step):
            out[known[some]] = self.regression.fitted(self.features(x[known[some]]))
        return out


@dataclass(frozen=True, slots=True, eq=False)
class FeatureLDAFit(ScoredIndicators):
    """The numbers of a kernel discriminant analysis by features.

    Attributes
    ----------
    kind : {"landmarks", "random"}
        What the features are of.
    scale : str
        What the coordinates of columns of numbers are.
    products : (K, K) float
        Y'WF, the products of indicators and fitted indicators.
    sample : KernelRows
        Rows by which coordinates, features and posteriors were found.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    kind: str
    scale: str
    indicators: FeatureIndicators
    products: Floats
    sample: KernelRows
    flexible: FlexibleFit
    calibrator: Calibrator | None
    ncomp: int | None

    @property
    def ridge(self) -> float:
        """The penalty on the fitted function."""
        return self.indicators.regression.ridge

    @property
    def components(self) -> int:
        """How many features there are."""
        return self.indicators.features.width

    @property
    def features(self) -> FeatureState:
        """The features."""
        mapping = self.indicators.features.mapping
        places: Floats = getattr(mapping, "points" if self.kind == "landmarks" else "directions")
        return FeatureState(self.kind, places, self.products)

    @property
    def state(self) -> KernelState:
        """What determines the fit, in addition to the features."""
        regression = self.indicators.regression
        return KernelState.of(self, self.sample, regression.coef, regression.intercept)

    def of_classes(self, keep: Codes) -> FeatureLDAFit:
        """The map to posteriors for some classes (C,), with which refits hold it."""
        calibrator = None if self.calibrator is None else self.calibrator.of_classes(keep)
        return replace(self, calibrator=calibrator)

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Scores of rows under the fit without each of them, the features held; see `left_out_parts`."""
        shift = self.shift(log_prior)

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            y, residuals, left = left_out_parts(self.indicators, x, codes, weights)
            counts = self.moments.counts
            if self.calibrator is not None:
                found = self.calibrator.scores(y - residuals / left[:, None]) + shift
            else:
                found = log_prior + normal_left_out(
                    self.products, counts, (y, residuals, left, weights), self.ncomp
                )
            return leave_lone_to_refits(found, counts[codes], weights)

        return scores


@dataclass(frozen=True, slots=True, eq=False)
class FeatureState:
    """What determines a fit by features, in addition to its `KernelState`.

    Attributes
    ----------
    kind : {"landmarks", "random"}
        What the features are of.
    places : (m, q) float
        Landmarks, or random directions.
    products : (K, K) float
        Products of indicators and fitted indicators.
    """

    kind: str
    places: Floats
    products: Floats


def kernel_lda_of_state(
    moments: ClassMoments,
    prior: Floats,
    *,
    estimated_prior: bool,
    ncomp: int | None,
    state: KernelState,
    features: FeatureState | None,
) -> KernelLDAFit | FeatureLDAFit:
    """Return the fit with the kernel of all rows, or by features.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    prior : (K,) float
    estimated_prior : bool
    ncomp : int or None
        Axes kept.
    state : KernelState
    features : FeatureState or None
        None for the kernel of all rows.

    Returns
    -------
    KernelLDAFit or FeatureLDAFit

    Raises
    ------
    InvalidStateError
        They contradict each other.
    """
    if features is None:
        return expansion_of_state(moments, prior, state, estimated_prior=estimated_prior, ncomp=ncomp)
    sample = state.sample(moments.n_classes, moments.n_columns)
    kernel = state.kernel
    located = Located(sample.standard, state.coordinates(), kernel.name)
    if features.kind == "landmarks":
        mapping = FeatureMap(located, landmarks_in_order(kernel.matrix, features.places))
    elif features.kind == "random":
        mapping = FeatureMap(located, features_along(law_of(kernel.name), features.places))
    else:
        raise InvalidStateError(f"its features are {features.kind!r}")
    products = features.products
    if len(state.coef) != mapping.width or products.shape != (moments.n_classes,) * 2:
        raise InvalidStateError("its coefficients do not match its features, or its products its classes")
    none = np.zeros((1, 0))
    parts = none[0], none, moments.total, np.nan, np.nan
    regression = FeatureRidge(state.ridge, state.coef, state.intercept, *parts)
    indicators = FeatureIndicators(kernel, mapping, regression)
    flexible = optimal_scoring(
        indicators, products, moments, prior, ncomp=ncomp, estimated_prior=estimated_prior
    )
    own = features.kind, state.scale, indicators, products, sample, flexible, state.calibrator, ncomp
    return FeatureLDAFit(moments, prior, estimated_prior, *own)


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """From rows to the coordinates of a kernel."""

    standard: Standard
    coordinates: Coordinates
    kernel: str

    def __call__(self, x: Floats) -> Floats:
        """Coordinates (m, q) of rows x (m, p)."""
        return self.coordinates.of(self.standard.of(x), self.kernel)


def left_out_parts(
    indicators: FeatureIndicators, x: Floats, codes: Codes, weights: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Indicators and residuals (m, K) of rows of the fit, and one less the leverage (m,) of what is left out.

    Where that is rounding, it is missing.
    """
    regression = indicators.regression
    y = np.eye(len(regression.intercept))[codes]
    residuals = np.empty_like(y)
    left = np.empty(len(x))
    out = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
    for some in slices(len(x), indicators.features.step):
        features = indicators.features(x[some])
        residuals[some] = y[some] - regression.fitted(features)
        rest = 1 - out[some] * regression.leverages(features)
        left[some] = np.where(rest > LEFT, rest, np.nan)
    return y, residuals, left


def law_of(kernel: str) -> Law:
    """What random directions are of, for a kernel; a DataError of one that has none."""
    law = LAWS.get(kernel)
    if law is None:
        raise CoreDataError("no_random_features", kernels=", ".join(LAWS), kernel=kernel)
    return law


LAWS: dict[str, Law] = {"gaussian": "gaussian", "laplace": "laplace", "arccos": "relu"}
"""Kernels that have random features."""


def feature_lda(
    indicators: FeatureIndicators,
    sums: FeatureSums,
    moments: ClassMoments,
    prior: Floats,
    *,
    kind: str,
    scale: str,
    sample: KernelRows,
    ncomp: int | None = None,
    calibrator: Calibrator | None = None,
    estimated_prior: bool = True,
) -> FeatureLDAFit:
    """The fit of a regression on features with such sums; `moments` are those of the columns."""
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
        kind,
        scale,
        indicators,
        products,
        sample,
        flexible,
        calibrator,
        ncomp,
    )
