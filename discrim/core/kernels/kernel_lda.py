"""Kernel discriminant analysis: optimal scoring by a ridge regression on a kernel.

Theory (Mika et al., 1999, Neural Networks for Signal Processing 9, 41-48; Baudat & Anouar, 2000, Neural
Computation 12, 2385-2404; Roth & Steinhage, 2000, NIPS 12). Fisher's discriminant analysis in the feature
space of a kernel, with a ridge, is optimal scoring (Hastie, Tibshirani & Buja, 1994, JASA 89, 1255-1270) by
the least squares of the class indicators on the kernel: `discrim.core.kernels.kernel_ridge` fits the
regression, and `discrim.core.regression.indicator` computes the variates of its fitted values.

*Posteriors* are computed for normal classes with unit covariance in the space of the variates, or
from the fitted values by a map that is learnt from leave-one-out fitted values: the vector scaling of
`discrim.core.rules.calibration`, with a slope and a constant for each class. For two classes it is Platt's.

*Leave-one-out.* Let F = (f_i) be the fitted indicators of the rows, r_i = y_i - f_i, h_i the leverage and o
the weight that is left out. The row's own fitted value becomes y_i - r_i / (1 - o h_i), and the products B =
Y'WF of indicators and fitted values, by the Sherman-Morrison formula,

    B - o (y_i y_i' - r_i r_i' / (1 - o h_i)).

Variates and centroids follow from B and the class counts: a K x K eigenproblem for each row. Kernel, width,
ridge, coordinates and the map to posteriors stay fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np

from discrim.core.errors import CoreDataError, InvalidStateError
from discrim.core.kernels.kernel_ridge import ChosenKernel, KernelRows, compute_influence, residuals_from_coef
from discrim.core.kernels.kernels import (
    KERNEL_NAMES,
    Coordinates,
    Kernel,
    ScaleName,
    Standardization,
    fit_coordinates,
)
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import EPS, Codes, Floats, slices
from discrim.core.regression.indicator import FlexibleFit, fit_flexible, starting_scores
from discrim.core.rules.calibration import Calibrator, fit_calibrator
from discrim.core.rules.leave_one_out import mark_lone_rows_for_refit
from discrim.core.rules.rules import CalibratedRule, NoLikelihood, Rule, log_of_prior, require_plugin_method

MAX_SQUARED_CORRELATION = 1.0 - 1e-12
"""Upper limit of squared canonical correlations; with a ridge they are below one."""

MAX_BLOCK_VALUES = 2**18
"""Number of kernels, or of entries of class matrices, per block."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelExpansion:
    """Function of rows: a linear combination of kernels at the rows of the fit.

    Attributes
    ----------
    standard : Standardization
        Standardization of the columns.
    kernel : Kernel
        Kernel with its parameters.
    coordinates : Coordinates
        Coordinates of standardized rows.
    points : (n, q) float
        Rows of the fit in the coordinates of the kernel.
    coef : (n, r) float
        Coefficients of the kernels.
    intercept : (r,) float
        Constants of the r functions.
    """

    standard: Standardization
    kernel: Kernel
    coordinates: Coordinates
    points: Floats
    coef: Floats
    intercept: Floats

    def __call__(self, x: Floats) -> Floats:
        """Return the values (m, r) for rows x (m, p) in the units of the data; NaN if a value is missing."""
        values = np.full((len(x), len(self.intercept)), np.nan)
        complete_rows = np.flatnonzero(~np.isnan(x).any(axis=1))
        z = self.coordinates.transform(self.standard.standardize(x[complete_rows]), self.kernel.name)
        values[complete_rows] = self.kernel.products(z, self.points, self.coef) + self.intercept
        return values


@dataclass(frozen=True, slots=True, eq=False)
class FittedIndicators:
    """Decision rule whose scores (m, K) are the fitted indicators of the classes."""

    scores: Callable[[Floats], Floats]


class ScoredIndicators(NoLikelihood):
    """Base class of kernel discriminant analyses: optimal scoring by fitted indicators.

    There are K classes and r retained axes.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal moments of the columns of the design matrix.
    indicators : callable
        Returns the fitted indicators (m, K) of rows (m, p); has an attribute `kernel`.
    flexible : FlexibleFit
        Optimal scoring by the fitted indicators.
    calibrator : Calibrator or None
        Maps fitted indicators to log posteriors under the class proportions; None for normal classes.
    """

    __slots__ = ()

    moments: ClassMoments
    indicators: Any
    flexible: FlexibleFit
    calibrator: Calibrator | None

    has_distances = False
    no_likelihood = "no_likelihood_of_kernel_lda"
    no_parameters = "no_parameters_of_kernel_lda"

    @property
    def kernel(self) -> Kernel:
        """Kernel of the fit."""
        kernel: Kernel = self.indicators.kernel
        return kernel

    @property
    def kernel_name(self) -> str:
        """Name of the kernel."""
        return self.kernel.name

    @property
    def width(self) -> float:
        """Width of the kernel."""
        return self.kernel.width

    @property
    def degree(self) -> int:
        """Degree of a polynomial kernel."""
        return self.kernel.degree

    @property
    def values(self) -> Floats:
        """Squared canonical correlations (r,) of the retained axes."""
        return self.flexible.values

    @property
    def all_values(self) -> Floats:
        """Squared canonical correlations (K - 1,) of all axes."""
        return self.flexible.all_values

    @property
    def scores(self) -> Floats:
        """Optimal scores (K, r) of the classes."""
        return self.flexible.scores

    @property
    def centroids(self) -> Floats:
        """Class means (K, r) of the variates, whose variance within classes is one."""
        return self.flexible.centroids

    def variates(self, x: Floats) -> Floats:
        """Return the variates (m, r) of rows (m, p) in the units of the data; NaN if a value is missing."""
        return self.flexible.variates(x)

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """Return the rule under a log prior (K,).

        Any `method` except "plugin" raises a NotSupportedError; `convention` is ignored.
        """
        require_plugin_method(method, "is defined for normal classes")
        if self.calibrator is None:
            return self.flexible.rule(log_prior)
        return CalibratedRule(
            FittedIndicators(self.indicators), self.calibrator, self.log_prior_shift(log_prior)
        )

    def log_prior_shift(self, log_prior: Floats) -> Floats:
        """Return the log prior (K,) less the log class proportions, which calibrated posteriors refer to."""
        return np.asarray(log_prior - log_of_prior(self.moments.counts / self.moments.total))


@dataclass(frozen=True, slots=True, eq=False)
class KernelLDAFit(ScoredIndicators):
    """Fitted kernel discriminant analysis with the kernel of all rows.

    The fit is without features: its class variable `feature_type` is "", and `components` and `features` are
    None.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal moments of the columns of the design matrix.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions.
    rows : KernelRows
        Standardized rows (mean zero, variance one) of the fit with their classes and weights.
    scale : str
        Kind of coordinates of numeric columns.
    ridge : float
        Penalty of the regression.
    indicators : KernelExpansion
        Fitted indicators (m, K) of the classes.
    flexible : FlexibleFit
        Optimal scoring by the fitted indicators.
    one_minus_leverages : (n,) float or None
        One less the leverage of the weight that is left out of each row; None for a loaded fit.
    calibrator : Calibrator or None
        Maps fitted indicators to log posteriors under the class proportions; None for normal classes.
    ncomp : int or None
        Number of axes to retain; None for all.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    rows: KernelRows
    scale: str
    ridge: float
    indicators: KernelExpansion
    flexible: FlexibleFit
    one_minus_leverages: Floats | None
    calibrator: Calibrator | None
    ncomp: int | None

    feature_type: ClassVar[str] = ""
    components: ClassVar[None] = None
    features: ClassVar[None] = None

    @property
    def state(self) -> KernelState:
        """Arrays and options from which the fit can be restored."""
        return KernelState.from_fit(self, self.rows, self.indicators.coef, self.indicators.intercept)

    def leave_one_out_scores(self, log_prior: Floats) -> Floats:
        """Return the leave-one-out scores (n, K) of the rows of the fit under a log prior (K,).

        Rows that are alone in their class have NaN, which marks them for a refit. Raises a CoreDataError for
        a fit that was loaded from a file.
        """
        residuals = residuals_from_coef(self.indicators.coef, self.rows.weights, self.ridge)
        fitted = self.rows.y - residuals / self._require_leverages()[:, None]
        if self.calibrator is not None:
            scores = self.calibrator.scores(fitted) + self.log_prior_shift(log_prior)
        else:
            scores = self._left_out_normal(log_prior, fitted)
        # Without the only row of a class, the fit has one class less.
        return mark_lone_rows_for_refit(scores, self.rows.y @ self.moments.counts, self.rows.weights)

    def modified_row_scorer(self, log_prior: Floats) -> Callable[[Floats], Floats]:
        """Return a function that scores modified rows by leave-one-out fits.

        The modified row i has any values, and is scored by the fit without the original row i. It is not
        marked for a refit if the original row is alone in its class. Its fitted value at u is f(u) less the
        influence of the row's own response, scaled by the leave-one-out residual.

        Parameters
        ----------
        log_prior : (K,) float
            Log prior probabilities of the classes.

        Returns
        -------
        callable
            From n modified rows u (n, p), in standardized columns and the order of the fit, to scores (n, K).

        Raises
        ------
        CoreDataError
            The fit was loaded from a file.
        """
        sample = self.rows
        expansion = self.indicators
        points = expansion.points
        kernel = expansion.kernel
        influence_of_rows = compute_influence(kernel.matrix(points, points), sample.weights, self.ridge)
        residuals = residuals_from_coef(expansion.coef, sample.weights, self.ridge)
        left_out_ratio = 1.0 if sample.weights is None else np.minimum(1.0, 1.0 / sample.weights)[:, None]
        scaled_residuals = left_out_ratio * residuals / self._require_leverages()[:, None]

        def scores(u: Floats) -> Floats:
            """Return the scores (n, K) of modified rows u (n, p)."""
            z = expansion.coordinates.transform(u, kernel.name)
            fitted = np.empty_like(scaled_residuals)
            for chunk in slices(len(u), max(MAX_BLOCK_VALUES // len(points), 1)):
                kernels = kernel.matrix(z[chunk], points)
                fitted[chunk] = kernels @ expansion.coef + expansion.intercept
                fitted[chunk] -= (
                    influence_of_rows.own_influence(kernels, chunk)[:, None] * scaled_residuals[chunk]
                )
            if self.calibrator is not None:
                return self.calibrator.scores(fitted) + self.log_prior_shift(log_prior)
            return self._left_out_normal(log_prior, fitted)

        return scores

    def predicted_fractions(self) -> Floats:
        """Return the fractions (r,) of the variance of the class scores that leave-one-out fits explain.

        For each retained axis, it is one less the mean squared leave-one-out residual, and can be negative.
        The scores of the classes, of variance one, are not refitted without each row. Raises a CoreDataError
        for a fit that was loaded from a file.
        """
        left_out_residuals = (
            residuals_from_coef(self.indicators.coef, self.rows.weights, self.ridge)
            / self._require_leverages()[:, None]
        )
        squares = (left_out_residuals @ self.scores) ** 2
        return np.asarray(1 - np.average(squares, axis=0, weights=self.rows.weights))

    def _left_out_normal(self, log_prior: Floats, fitted: Floats) -> Floats:
        """Return leave-one-out scores under normal classes in the space of the variates.

        Parameters
        ----------
        log_prior : (K,) float
            Log prior probabilities of the classes.
        fitted : (n, K) float
            Leave-one-out fitted indicators of the rows, or of modified rows in their place.

        Returns
        -------
        (n, K) float
            Log prior minus half the squared distances to the class centroids; minus infinity in the class of
            a row that is alone in it.
        """
        residuals = residuals_from_coef(self.indicators.coef, self.rows.weights, self.ridge)
        products = class_products(self.rows, residuals)
        row_terms = self.rows.y, residuals, self._require_leverages(), self.rows.weights
        return (
            left_out_normal_scores(products, self.moments.counts, row_terms, self.ncomp, fitted) + log_prior
        )

    def _require_leverages(self) -> Floats:
        """Return `one_minus_leverages`; raise a CoreDataError if the fit was loaded from a file."""
        if self.one_minus_leverages is None:
            raise CoreDataError("no_rows_of_file")
        return self.one_minus_leverages


def class_products(sample: KernelRows, residuals: Floats) -> Floats:
    """Return the cross-products Y'WF (K, K) of indicators and their fitted values, from residuals (n, K).

    They are weighted sums over the rows, and made exactly symmetric.
    """
    weighted = sample.y if sample.weights is None else sample.weights[:, None] * sample.y
    products = weighted.T @ (sample.y - residuals)
    return np.asarray((products + products.T) / 2)


def left_out_normal_scores(
    total_products: Floats,
    counts: Floats,
    row_terms: tuple[Floats, Floats, Floats, Floats | None],
    ncomp: int | None,
    fitted: Floats | None = None,
) -> Floats:
    """Return leave-one-out scores under normal classes in the space of the variates, without the prior.

    They are minus half the squared distances to the class centroids, and minus infinity for a class without
    remaining rows.

    Parameters
    ----------
    total_products : (K, K) float
        Weighted cross-products Y'WF of the indicators Y and their fitted values F over all rows; symmetric.
    counts : (K,) float
        Class counts of all rows.
    row_terms : tuple
        Indicators (n, K), residuals (n, K), one less the leverages (n,) of the left-out weights, and weights
        (n,) or None, of the rows that are left out.
    ncomp : int or None
        Number of axes to retain; None for all.
    fitted : (n, K) float or None
        Leave-one-out fitted indicators of other rows, to score instead of the rows that are left out.

    Returns
    -------
    (n, K) float
        Row i is scored by the fit without row i.
    """
    indicators, residuals, one_minus_leverages, weights = row_terms
    n, k = residuals.shape
    left_out_weights = np.ones(n) if weights is None else np.minimum(weights, 1.0)
    scores = np.empty((n, k))
    for chunk in slices(n, max(MAX_BLOCK_VALUES // k**2, 1)):
        y = indicators[chunk]
        r = residuals[chunk]
        o = left_out_weights[chunk, None, None]
        h = one_minus_leverages[chunk, None, None]
        products = total_products - o * (y[:, :, None] * y[:, None, :] - r[:, :, None] * r[:, None, :] / h)
        remaining_counts = counts - o[:, :, 0] * y
        remaining_counts[remaining_counts <= EPS * counts] = 0.0
        row_fitted = y - r / h[:, :, 0] if fitted is None else fitted[chunk]
        scores[chunk] = _normal_scores(products, remaining_counts, row_fitted, ncomp)
    return scores


def _normal_scores(products: Floats, counts: Floats, fitted: Floats, ncomp: int | None) -> Floats:
    """Return scores under normal classes, without the prior, from a separate eigenproblem for each row.

    Parameters
    ----------
    products : (m, K, K) float
        Products of indicators and fitted indicators.
    counts : (m, K) float
        Class counts.
    fitted : (m, K) float
        Fitted indicators.
    ncomp : int or None
        Number of axes to retain; None for all.

    Returns
    -------
    (m, K) float
        Minus half the squared distances to the centroids; minus infinity for classes without rows.
    """
    k = counts.shape[1]
    is_present = counts > 0
    roots = np.sqrt(np.where(is_present, counts, np.inf))
    total = counts.sum(axis=1)
    root_proportions = np.where(is_present, roots, 0.0) / np.sqrt(total)[:, None]
    matrix = (
        products / roots[:, :, None] / roots[:, None, :]
        - root_proportions[:, :, None] * root_proportions[:, None, :]
    )
    values, vectors = np.linalg.eigh(matrix)
    is_retained = values > 10 * (k - 1) * EPS
    if ncomp is not None:
        is_retained[:, : max(k - ncomp, 0)] = False
    clipped_values = np.clip(values, EPS, MAX_SQUARED_CORRELATION)
    axis_factors = np.where(
        is_retained, np.sqrt(total)[:, None] / np.sqrt(clipped_values * (1 - clipped_values)), 0.0
    )
    rotation = vectors / roots[:, :, None] * axis_factors[:, None, :]
    variates = np.matmul(fitted[:, None, :], rotation)
    with np.errstate(divide="ignore", invalid="ignore"):
        centroids = np.matmul(products, rotation) / counts[:, :, None]
    scores = -0.5 * ((variates - centroids) ** 2).sum(axis=2)
    return np.where(is_present, scores, -np.inf)


def fit_kernel_lda(
    chosen: ChosenKernel,
    sample: KernelRows,
    moments: ClassMoments,
    prior: Floats,
    *,
    ncomp: int | None = None,
    calibrate: bool = True,
    estimated_prior: bool = True,
) -> KernelLDAFit:
    """Create a kernel discriminant analysis from the kernel ridge regression that a search chose.

    Parameters
    ----------
    chosen : ChosenKernel
        Kernel and regression that the search chose.
    sample : KernelRows
        Rows of the fit.
    moments : ClassMoments
        Diagonal moments of the columns of the design matrix.
    prior : (K,) float
        Prior probabilities of the classes.
    ncomp : int or None
        Number of axes to retain; None for all.
    calibrate : bool
        Whether posteriors come from the "vector" calibration of leave-one-out fitted values. Otherwise they
        are posteriors of normal classes, and the `calibrator` of the fit is None.
    estimated_prior : bool, default True
        Whether the prior is the class proportions.

    Returns
    -------
    KernelLDAFit
    """
    fit = chosen.fit
    expansion_fields = chosen.kernel, chosen.coordinates, chosen.points, fit.coef, fit.intercept
    indicators = KernelExpansion(sample.standard, *expansion_fields)
    flexible = optimal_scoring(
        indicators, class_products(sample, fit.residuals), moments, prior,
        ncomp=ncomp, estimated_prior=estimated_prior,
    )  # fmt: skip
    calibrator = None
    if calibrate:
        fitted = sample.y - fit.left_out_residuals()
        calibrator = fit_calibrator(fitted, sample.codes, sample.weights, "vector")
    return KernelLDAFit(
        moments, prior, estimated_prior, sample, chosen.scale, chosen.ridge, indicators, flexible,
        fit.one_minus_leverages, calibrator, ncomp,
    )  # fmt: skip


def optimal_scoring(
    indicators: Callable[[Floats], Floats],
    products: Floats,
    moments: ClassMoments,
    prior: Floats,
    *,
    ncomp: int | None,
    estimated_prior: bool,
) -> FlexibleFit:
    """Compute discriminant axes by optimal scoring from a regression on class indicators.

    Parameters
    ----------
    indicators : callable
        Maps rows (m, p) to the fitted values (m, K) of the class indicators.
    products : (K, K) float
        Weighted cross-products Y'WF of the indicators Y and their fitted values F; symmetric.
    moments : ClassMoments
        Moments of the rows, for the class counts.
    prior : (K,) float
        Prior probabilities of the classes.
    ncomp : int or None
        Number of axes to retain; None for all.
    estimated_prior : bool
        Whether the prior is the class proportions.

    Returns
    -------
    FlexibleFit
        Variates, class centroids and canonical correlations of the retained axes.
    """
    start = starting_scores(moments.counts)
    return fit_flexible(
        moments, prior, RotatedFunction(indicators, start), products @ start,
        ncomp=ncomp, estimated_prior=estimated_prior,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class RotatedFunction:
    """Function of rows: values (m, K) of another function times a matrix.

    Attributes
    ----------
    function : callable
        Function that returns values (m, K) of rows.
    rotation : (K, r) float
        Matrix that multiplies the values.
    """

    function: Callable[[Floats], Floats]
    rotation: Floats

    def __call__(self, x: Floats) -> Floats:
        """Return the values (m, r) for rows x (m, p)."""
        return np.asarray(self.function(x) @ self.rotation)


@dataclass(frozen=True, slots=True, eq=False)
class KernelState:
    """Arrays and options from which a kernel fit is restored, in addition to its moments and number of axes.

    Attributes
    ----------
    kernel : Kernel
        Kernel with its parameters.
    scale : str
        Kind of coordinates of numeric columns.
    ridge : float
        Penalty of the regression.
    standard : Standardization
        Standardization of the columns.
    u : (n, p) float
        Standardized rows.
    codes : (n,) int
        Classes of the rows.
    weights : (n,) float or None
        Weights of the rows; None for ones.
    factors : tuple of tuple of int
        Positions of the indicator columns of each factor.
    coef : (m, K) float
        Coefficients of the fitted indicators, for the rows (m = n) or for the features.
    intercept : (K,) float
        Constants of the fitted indicators.
    calibrator : Calibrator or None
        Maps fitted indicators to log posteriors; None for normal classes.
    """

    kernel: Kernel
    scale: str
    ridge: float
    standard: Standardization
    u: Floats
    codes: Codes
    weights: Floats | None
    factors: tuple[tuple[int, ...], ...]
    coef: Floats
    intercept: Floats
    calibrator: Calibrator | None

    @classmethod
    def from_fit(cls, fit: Any, sample: KernelRows, coef: Floats, intercept: Floats) -> KernelState:
        """Create the state of a fit, from which it can be restored.

        Parameters
        ----------
        fit : KernelLDAFit or FeatureLDAFit
            Fit to save.
        sample : KernelRows
            Standardized rows with their classes.
        coef : (m, K) float
            Coefficients of the fitted indicators, for rows or features.
        intercept : (K,) float
            Constants of the fitted indicators.

        Returns
        -------
        KernelState
            With the kernel, scale, ridge and calibrator of the fit, and the given rows and coefficients.
        """
        rows = sample.standard, sample.u, sample.codes, sample.weights, sample.factors
        return cls(fit.kernel, fit.scale, fit.ridge, *rows, coef, intercept, fit.calibrator)

    def restore_rows(self, n_classes: int, n_columns: int) -> KernelRows:
        """Return the stored rows with the indicators of their classes, after checking the stored values.

        Parameters
        ----------
        n_classes, n_columns : int
            Numbers of classes, and of columns of the design matrix.

        Returns
        -------
        KernelRows

        Raises
        ------
        InvalidStateError
            The kernel or the scale is unknown; the width, the ridge, a weight or the ceiling of the
            calibrator is not positive, or its slope is negative; the degree is not from 1 to `MAX_DEGREE`; a
            code is not a class; a factor refers to an unknown column; or an array has a wrong shape.
        """
        kernel = self.kernel
        if kernel.name not in KERNEL_NAMES or self.scale not in get_args(ScaleName):
            raise InvalidStateError(f"its kernel is {kernel.name!r} on the scale {self.scale!r}")
        if not (kernel.width > 0 and self.ridge > 0 and 1 <= kernel.degree <= MAX_DEGREE):
            raise InvalidStateError("its width, ridge or degree is not positive")
        n = len(self.codes)
        if not ((self.codes >= 0) & (self.codes < n_classes)).all() or self.u.shape != (n, n_columns):
            raise InvalidStateError("the classes of its rows are invalid")
        shapes = self.standard.centre.shape, self.standard.unit.shape
        if shapes != ((n_columns,),) * 2 or self.intercept.shape != (n_classes,) or self.coef.ndim != 2:
            raise InvalidStateError("its coefficients do not match its columns and classes")
        if any(not 0 <= j < n_columns for group in self.factors for j in group):
            raise InvalidStateError("its factors refer to unknown columns")
        weights = self.weights
        if weights is not None and (weights.shape != (n,) or not (weights > 0).all()):
            raise InvalidStateError("its weights are not positive")
        calibrator = self.calibrator
        if calibrator is not None and not (calibrator.slope >= 0 and calibrator.ceiling > 0):
            raise InvalidStateError("the slope or the ceiling of its map to posteriors is invalid")
        if calibrator is not None and (
            calibrator.intercepts.shape != (n_classes,) or calibrator.mixing.shape != (n_classes, n_classes)
        ):
            raise InvalidStateError("its map to posteriors does not match its classes")
        y = np.eye(n_classes)[self.codes]
        return KernelRows(self.standard, self.u, self.codes, weights, y, self.factors)

    def restore_coordinates(self) -> Coordinates:
        """Return the coordinates of the kernel, fitted to the stored rows again."""
        return fit_coordinates(self.u, self.weights, self.scale, self.factors, self.standard.unit)


def restore_expansion(
    moments: ClassMoments, prior: Floats, state: KernelState, *, estimated_prior: bool, ncomp: int | None
) -> KernelLDAFit:
    """Restore a kernel discriminant analysis with the kernel of all rows from its stored state.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the columns of the design matrix.
    prior : (K,) float
        Prior probabilities of the classes.
    state : KernelState
        Stored arrays and options.
    estimated_prior : bool
        Whether the prior is the class proportions.
    ncomp : int or None
        Number of axes to retain; None for all.

    Returns
    -------
    KernelLDAFit

    Raises
    ------
    InvalidStateError
        The number of coefficients is not the number of rows, the rows do not have the class counts of
        `moments`, the coefficients do not solve the regression on the rows, or `KernelState.restore_rows`
        raises the error.
    """
    sample = state.restore_rows(moments.n_classes, moments.n_columns)
    if len(state.coef) != len(sample.u):
        raise InvalidStateError("its number of coefficients differs from its number of rows")
    counts = np.bincount(sample.codes, sample.weights, moments.n_classes)
    if not np.allclose(counts, moments.counts, rtol=1e-12):
        raise InvalidStateError("its rows do not match its class counts")
    coordinates = state.restore_coordinates()
    points = coordinates.transform(sample.u, state.kernel.name)
    indicators = KernelExpansion(
        sample.standard, state.kernel, coordinates, points, state.coef, state.intercept
    )
    residuals = residuals_from_coef(state.coef, sample.weights, state.ridge)
    _check_fitted_values(indicators, sample, residuals)
    flexible = optimal_scoring(
        indicators, class_products(sample, residuals), moments, prior,
        ncomp=ncomp, estimated_prior=estimated_prior,
    )  # fmt: skip
    return KernelLDAFit(
        moments, prior, estimated_prior, sample, state.scale, state.ridge, indicators, flexible, None,
        state.calibrator, ncomp,
    )  # fmt: skip


def _check_fitted_values(indicators: KernelExpansion, sample: KernelRows, residuals: Floats) -> None:
    """Raise InvalidStateError unless stored coefficients solve the regression on the stored rows.

    The mean squared length of the residuals that the coefficients imply must not exceed one, the value for
    the indicators; and indicators less residuals must agree with the fitted values of about `N_CHECKED_ROWS`
    rows. Both are checked up to `MAX_FITTED_DIFFERENCE`.

    Parameters
    ----------
    indicators : KernelExpansion
        Fitted indicators of the classes.
    sample : KernelRows
        Standardized rows with their classes.
    residuals : (n, K) float
        Residuals implied by the coefficients.
    """
    checked = slice(None, None, -(-len(sample.u) // N_CHECKED_ROWS))
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.average((residuals**2).sum(axis=1), weights=sample.weights)
        z = indicators.points[checked]
        fitted = indicators.kernel.matrix(z, indicators.points) @ indicators.coef + indicators.intercept
        max_difference = np.abs(sample.y[checked] - residuals[checked] - fitted).max()
    if not (squares <= 1 + MAX_FITTED_DIFFERENCE and max_difference <= MAX_FITTED_DIFFERENCE):
        raise InvalidStateError("its coefficients do not solve the regression on its rows")


N_CHECKED_ROWS = 64
MAX_FITTED_DIFFERENCE = 1e-5
"""`N_CHECKED_ROWS` is the number of stored rows whose fitted values are checked, `MAX_FITTED_DIFFERENCE` the
largest accepted difference.
"""


MAX_DEGREE = 10
"""Largest degree of a polynomial kernel."""
