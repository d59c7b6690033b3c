"""Covariances of scores on leading principal axes of all rows, and rules for every number of axes at once.

`SubspaceCovariance` is the covariance model; the functions at the end score rows for many numbers of axes,
from which cross-validation and leave-one-out choose.

*Axes.* With T the sum of squares and products of all rows about their common mean, within and between
classes, the axes are the eigenvectors of T in decreasing order of their eigenvalues: directions of largest
variance, determined without the classes. Columns are in their own units or divided by their standard
deviations over all rows. An indicator of a level with proportion m may be divided by the square root of m
instead. With an indicator for each level of each of Q categorical columns, the axes are then the axes of
multiple correspondence analysis, whose eigenvalues are the variances along them divided by Q, and a numeric
column divided by its standard deviation has the weight of a variable with two levels (Escofier, 1979; Pages,
2004, Revue de Statistique Appliquee 52, 93-111). Discriminant analysis on such axes is Saporta's DISQUAL
(1977).

The first q axes A (q, p) map a row z to q scores y = A u z, with u the units. A covariance model is estimated
from the moments of the scores, which are linear and quadratic functions of the moments of the columns, and no
row is read again. In terms of the columns, a covariance C of the scores is A'CA: directions orthogonal to the
axes are ignored. With the full covariance this is discriminant analysis of principal components (Jombart,
Devillard & Balloux, 2010, BMC Genetics 11, 94).

*All numbers of axes at once.* The scores on q axes are the first q scores on more axes. With R'R = S an upper
triangular root of their covariance, the leading block of R is the root of the leading block of S, and the
whitened scores R'^-1 (y - m_k) on q axes are the first q of all whitened scores. Therefore the squared
distance on q axes is the sum of the first q squares, and the log-determinant is twice the sum of the first q
logarithms of the diagonal of R.

*Leaving a row out.* In the coordinates of all r axes of the fit, which lose nothing of the rows, leaving a
row out subtracts a matrix of rank one from the r x r scatters. The axes without the row are the eigenvectors
of the remaining T, and learning them costs one decomposition and no pass over the rows. If that takes too
long and there are many more rows than columns, the axes of the fit are kept and the covariance model has its
closed form. With more columns than rows the axes of a fit follow each row so closely that error rates with
fixed axes would be far too small.

The units of standardized columns and of indicators are also computed without the row. If t (p,) are the
factors of the columns y for their new units, rows y = A's become (A t)'s. With the Cholesky factor L L' = A
t^2 A', the coordinates L's have the same inner products, and eigenvectors of L'TL are computed. The products
take r^2 p multiplications for each row, and nothing else depends on p.

*Digits.* A difference of scatters has the rounding errors of the larger scatters. If the remaining variance
of a column, an axis or a covariance is not clearly larger than these errors, for example without a row that
lies 1e8 standard deviations away, the scores of the row are missing and computed by a refit to the other
rows. The same applies to rows without which a column is constant or a linear combination of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np
import scipy

from discrim.core.covariance.covariance import Covariance, Dependency, total_squares
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    RetainedAxes,
    class_divisor_pairs,
    dependencies_if_all_constant,
)
from discrim.core.covariance.principal import ThinCovariance
from discrim.core.covariance.shrinkage import Shrinkage
from discrim.core.covariance.total_axes import (
    ColumnTotals,
    Indicators,
    TotalAxes,
    standard_units,
    total_principal_axes,
)
from discrim.core.errors import (
    CoreNotSupportedError,
    InvalidStateError,
    NoEstimateError,
    SingularEstimateError,
    UnsuitableOptionError,
    positions_at_fault,
)
from discrim.core.moments import row_sums
from discrim.core.moments.derived_moments import limit_scales
from discrim.core.moments.moments import ClassMoments, deviations_from_class_means, standardize_columns
from discrim.core.moments.row_sums import triangular_root
from discrim.core.numerics.arrays import EPS, NOT_STORED, Codes, Floats, svd
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeaveOneOutScorer, mark_lone_rows_for_refit
from discrim.core.rules.rules import Rule
from discrim.errors import NotSupportedError

SHARE_ROUNDING = 1e-12
"""Rounding error allowed in a sum of proportions."""


@dataclass(frozen=True, slots=True, eq=False)
class ProjectedCovariance(ThinCovariance):
    """Covariance on principal axes that ignores the orthogonal complement of the axes.

    The complement of the axes has no variance; y = z * unit. The other attributes are inherited.

    Attributes
    ----------
    logdet_constant : float
        Constant that `logdet` adds to the log-determinant of the covariance of y on the axes, for the units
        of z; the result of `AxisScores.logdet_constant`.
    """

    logdet_constant: float

    @property
    def logdet(self) -> float:
        """Log-determinant of the covariance on the axes plus `logdet_constant`, in the scale of z.

        Less 2 sum(log(scale)), as for other covariances of z, it refers to the units of the data.
        """
        sds = np.sqrt(((self.root * self.unit) ** 2).sum(axis=1))
        return float(2.0 * np.log(sds).sum()) + self.logdet_constant


def moments_of_scores(moments: ClassMoments, axes: Floats) -> ClassMoments:
    """Compute the moments of scores axes @ z.

    Parameters
    ----------
    moments : ClassMoments
        With scatters by class or pooled, in coordinates z = (x - origin) * scale.
    axes : (q, p) float
        Matrix that maps z to the scores.

    Returns
    -------
    ClassMoments
        Moments of the q scores, with a scale of one and, if the moments have roots, triangular roots.

    Examples
    --------
    >>> x, codes = np.array([[1.0, 2.0], [3.0, 6.0], [7.0, 1.0]]), np.array([0, 0, 1])
    >>> m = ClassMoments.from_block(x, codes, n_classes=2)
    >>> moments_of_scores(m, np.array([[1.0, 1.0]])).scatters.ravel().round(12).tolist()
    [18.0]
    """
    roots = None
    if moments.roots is not None:
        roots = np.stack([triangular_root(root @ axes.T) for root in moments.roots])
        scatters = np.swapaxes(roots, 1, 2) @ roots
    else:
        scatters = axes @ moments.scatters @ axes.T
    zeros = np.zeros((moments.n_classes, len(axes)))
    means = np.ascontiguousarray(moments.means @ axes.T)
    return ClassMoments(moments.counts, moments.rows, means, zeros, np.ones(len(axes)), scatters, roots)


@dataclass(frozen=True, slots=True, eq=False)
class AxisScores:
    """Change of coordinates to the scores on q axes, and the moments of the scores.

    Attributes
    ----------
    spectrum : TotalAxes
        All principal axes.
    axes : (q, p) float
        Matrix that maps z to the scores: axes in rows, times the units of the spectrum.
    origin, scale : (p,) float
        Origin and scale of z = (x - origin) * scale.
    moments : ClassMoments
        Moments of the scores.
    """

    spectrum: TotalAxes
    axes: Floats
    origin: Floats
    scale: Floats
    moments: ClassMoments

    @staticmethod
    def from_spectrum(moments: ClassMoments, spectrum: TotalAxes, count: int) -> AxisScores:
        """Construct the scores on the leading axes.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        spectrum : TotalAxes
            All principal axes of these moments.
        count : int
            Number of leading axes.

        Returns
        -------
        AxisScores
            With the moments of the first `count` scores.
        """
        axes = spectrum.axes[:count] * spectrum.unit
        moments = spectrum.comparable_moments(moments)
        return AxisScores(spectrum, axes, moments.origin, moments.scale, moments_of_scores(moments, axes))

    def transform(self, x: Floats) -> Floats:
        """Return the scores (m, q), `axes` times z, of rows x (m, p) in the units of the data."""
        return np.asarray((self.axes @ standardize_columns(x, self.origin, self.scale)).T)

    def covariance_of_columns(self, covariance: Covariance) -> ProjectedCovariance:
        """Return the covariance of the p columns, in z, for a covariance (q, q) of the scores.

        It ignores the complement of the axes; `logdet` refers to the units of the data times `scale`.
        """
        root = np.diag(covariance.root) if covariance.is_diagonal else covariance.root
        _, sd, right_vectors = svd(root, full_matrices=False)
        unit = self.spectrum.unit
        axes = right_vectors @ (self.axes / unit)
        sd = sd[:, None]
        return ProjectedCovariance(
            sd * axes / unit, (axes / sd * unit).T, axes, unit, 0.0, self.logdet_constant
        )

    @property
    def logdet_constant(self) -> float:
        """Constant that is added to the log-determinant of a covariance of the scores.

        It converts scores to the units of the data and adds 2 sum(log(scale)), which is subtracted from the
        log-determinants of all covariances of z.
        """
        return 2.0 * (float(np.log(self.scale).sum()) - self.spectrum.log_factor(len(self.axes)))


@dataclass(frozen=True, slots=True, eq=False)
class DistributionOnAxes:
    """Normal distribution of the scores of all rows on fixed axes, which do not change if a row is left out.

    Attributes
    ----------
    scores : AxisScores
        Transformation to the scores, with their moments.
    distribution : PooledNormal
        The distribution of the scores.
    """

    scores: AxisScores
    distribution: gaussian.PooledNormal

    @staticmethod
    def from_scores(scores: AxisScores) -> DistributionOnAxes | None:
        """Return the distribution of the scores; None if their covariance is singular."""
        distribution = gaussian.pooled_normal(scores.moments)
        return None if distribution is None else DistributionOnAxes(scores, distribution)

    def squared(self, x: Floats) -> Floats:
        """Return the squared Mahalanobis distances (m,) of rows x (m, p), in data units, from the mean."""
        return self.distribution.squared(self.scores.transform(x))

    def leave_one_out_squared(self, x: Floats, weights: Floats | None) -> Floats:
        """Compute the leave-one-out squared distances of rows of the fit.

        Parameters
        ----------
        x : (m, p) float
            Rows, in the units of the data.
        weights : (m,) float, optional
            Weights of the rows; by default one.

        Returns
        -------
        (m,) float
            Squared distance of each row from the distribution of the other rows; infinite if their covariance
            is singular.
        """
        return self.distribution.leave_one_out_squared(self.scores.transform(x), weights)


@dataclass(frozen=True, slots=True)
class SubspaceCovariance(CovarianceModel):
    """Covariance model for the scores on the leading principal axes of all rows.

    Attributes
    ----------
    inner : CovarianceModel
        Covariance model of the scores.
    options : int, float or str
        The user's choice of the number of axes: the number (int), the smallest proportion of the total
        variance on the axes (float), or "cv" or "loo" to choose it by cross-validation or leave-one-out.
    standardized : bool
        Whether columns are divided by their standard deviations over all rows.
    count : int, optional
        Number of axes, once it is determined.
    variance_share : float
        Proportion of the total variance on the axes; zero before estimation.
    total : int
        Number of axes of positive variance, from which the leading axes are taken.
    is_slow : bool
        Whether the axes have to be computed without each row, because there are at least as many as rows less
        one, and the work exceeds `MAX_QUICK_WORK` or `MAX_QUICK_PRODUCTS`.
    indicators : tuple of bool, length p, optional
        Whether each column is the indicator of a level, for the axes of multiple correspondence analysis.
    tie : (int, int), optional
        First and last, from one, of the axes of equal eigenvalues, if the number of axes separates them.
    """

    inner: CovarianceModel
    options: int | float | str
    standardized: bool = False
    count: int | None = None
    variance_share: float = field(default=0.0, metadata=NOT_STORED)
    total: int = field(default=0, metadata=NOT_STORED)
    is_slow: bool = field(default=False, metadata=NOT_STORED)
    indicators: tuple[bool, ...] | None = None
    tie: tuple[int, int] | None = field(default=None, metadata=NOT_STORED)

    name = "projected"
    traits = CovarianceTraits(is_regular=True)
    is_supervised: ClassVar[bool] = False

    # ---- options

    @property
    def subspace(self) -> SubspaceCovariance:
        """The model itself."""
        return self

    @property
    def is_chosen(self) -> bool:
        """Whether the data determine the number of axes by "cv" or "loo"."""
        return isinstance(self.options, str)

    def unfitted(self) -> SubspaceCovariance:
        """Return a copy with the user's options only, without a number of axes that was determined."""
        return replace(self, inner=self.inner.unfitted(), count=None, variance_share=0.0, total=0)

    def for_refit(self) -> SubspaceCovariance:
        """Return the model for a refit, with the number of axes if "cv" or "loo" chose it.

        A share of the variance is converted to a number again.
        """
        count = self.count if self.is_chosen else None
        return replace(self, inner=self.inner.for_refit(), count=count)

    def for_columns(self, keep: Codes) -> SubspaceCovariance:
        """Return the model for the columns at positions `keep` (q,), which selects their `indicators`."""
        if self.indicators is None:
            return self
        return replace(self, indicators=tuple(self.indicators[j] for j in keep.tolist()))

    def with_count(self, count: int) -> SubspaceCovariance:
        """Return a copy with this number of axes, which takes precedence over `options`."""
        return replace(self, count=count)

    @property
    def shrinkages(self) -> tuple[Shrinkage, ...]:
        """Shrinkages of the covariance model of the scores."""
        return self.inner.shrinkages

    def for_class(self, k: int | None) -> SubspaceCovariance:
        """Return the model whose inner model has the parameters of class k only, or is pooled for None."""
        return replace(self, inner=self.inner.for_class(k))

    # ---- requirements

    def dependent_columns(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return all columns as dependencies if every column is constant, else an empty list.

        Columns are compared within class k, or within classes if k is None.
        """
        return dependencies_if_all_constant(moments, k)

    @property
    def depends_on_units(self) -> bool:
        """Whether the axes depend on the units of the columns, which are not standardized."""
        return not self.standardized

    @property
    def needs_rows(self) -> bool:
        """Whether rows are required to choose the number of axes."""
        return self.is_chosen and self.count is None

    # ---- estimates

    def spectrum(self, moments: ClassMoments) -> TotalAxes:
        """Return all principal axes of all rows whose variance exceeds rounding errors."""
        return total_principal_axes(moments, standardize=self.standardized, indicators=self._level_indicators)

    @property
    def _level_indicators(self) -> Indicators | None:
        """`indicators` as the argument of `total_principal_axes`; None without indicators."""
        return None if self.indicators is None else Indicators.from_mask(self.indicators)

    def n_axes(self, spectrum: TotalAxes) -> int:
        """Return how many of the axes of a spectrum are kept.

        It is `count`, else the number in `options`, else the smallest number with this share of the variance.
        With "cv" and "loo" in `options`, `count` is required. Raises the error of `too_few_axes` if the
        spectrum has fewer axes than the number.
        """
        n_available = len(spectrum.eigenvalues)
        if self.count is not None or not isinstance(self.options, float):
            count = self.count if self.count is not None else int(self.options)
            if count > n_available:
                raise self.too_few_axes(count, n_available)
            return count
        sums = np.cumsum(spectrum.eigenvalues)
        return min(int((sums < self.options - SHARE_ROUNDING).sum()) + 1, n_available)

    def too_few_axes(self, n_requested: int, n_available: int) -> NoEstimateError:
        """Return an UnsuitableOptionError for fewer axes (`n_available`) than requested (`n_requested`)."""
        return UnsuitableOptionError("fewer_axes_than_wanted", wanted=n_requested, available=n_available)

    def too_few_df(self, n_requested: int, df: int, k: int | None) -> NoEstimateError:
        """Return the error for scores with a singular covariance.

        Parameters
        ----------
        n_requested : int
            Number of scores.
        df : int
            Degrees of freedom.
        k : int or None
            Position of the class; None for the pooled covariance.

        Returns
        -------
        SingularEstimateError
            With both numbers and the position of the class.
        """
        return SingularEstimateError(
            "singular_scores", class_positions=positions_at_fault(k), wanted=n_requested, df=df
        )

    def axis_scores(self, moments: ClassMoments) -> AxisScores:
        """Return the scores on the leading axes of the moments, whose number is `n_axes`.

        Raises NoEstimateError if there are fewer axes.
        """
        spectrum = self.spectrum(moments)
        return AxisScores.from_spectrum(moments, spectrum, self.n_axes(spectrum))

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariances of the scores, and convert them to covariances of the columns.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        divisors : (1,) or (K,) float
            Divisors of the scatters, one for a pooled covariance or one for each class.

        Returns
        -------
        CovarianceEstimates
            With a `ProjectedCovariance` for each covariance of the inner model. The model has the number of
            axes, their share of the variance, and the tie that the number separates.

        Raises
        ------
        NoEstimateError
            There are fewer axes than requested, or the covariance of the scores is singular.
        """
        scores = self.axis_scores(moments)
        moments = scores.spectrum.comparable_moments(moments)
        estimates = self.estimate_inner(scores.moments, divisors)
        count = len(scores.axes)
        spectrum = scores.spectrum
        variance_share = float(spectrum.eigenvalues[:count].sum())
        total = len(spectrum.eigenvalues)
        is_saturated = total >= moments.rows.sum() - 1
        takes_long = is_saturated and not self._is_quick(moments, total, MAX_QUICK_WORK, MAX_QUICK_PRODUCTS)
        fitted_model = replace(
            self,
            inner=estimates.covariance_model,
            count=count,
            variance_share=variance_share,
            total=total,
            is_slow=takes_long,
        )
        fitted_model = replace(fitted_model, tie=spectrum.tied_axes(count))
        return CovarianceEstimates(
            fitted_model, moments, tuple(scores.covariance_of_columns(c) for c in estimates.covariances)
        )

    def estimate_inner(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariances of the scores by the inner covariance model.

        Parameters
        ----------
        moments : ClassMoments
            Moments of the scores.
        divisors : (1,) or (K,) float
            Divisors of the scatters, one for a pooled covariance or one for each class.

        Returns
        -------
        CovarianceEstimates
            Of the inner model: its parameters, the moments of the scores and the covariances (q, q).

        Raises
        ------
        NoEstimateError
            A covariance is singular, or the inner estimate does not exist.
        """
        for k, _ in class_divisor_pairs(divisors):
            inner = self.inner.for_class(k)
            p = moments.n_columns
            df = int(moments.rows.sum()) - moments.n_classes if k is None else int(moments.rows[k]) - 1
            if (inner.requires_full_rank(p) and df < p) or inner.dependent_columns(moments, k):
                raise self.too_few_df(p, df, k)
        return self.inner.estimate(moments, divisors)

    def retained_axes(self) -> list[RetainedAxes]:
        """Return the number of axes with the tie that it separates, if any; empty before estimation."""
        return [] if self.count is None else [RetainedAxes(None, self.count, self.tie, None)]

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return the leave-one-out scorer, with axes computed without each row, or fixed if that takes long.

        Fixed axes are the axes of all rows; `relearns_axes` decides. Raises CoreNotSupportedError if it takes
        long and the moments are thin (more columns than rows), because fixed axes would bias error rates.
        """
        spectrum = self.spectrum(fitted.moments)
        if self.relearns_axes(fitted.moments, len(spectrum.eigenvalues)):
            return partial(
                self._scores_with_relearned_axes, fitted, self.leave_one_out_axes(fitted.moments, spectrum)
            )
        if fitted.moments.roots is not None and row_sums.is_thin(fitted.moments.scatter_type):
            raise relearning_too_slow("Leave-one-out", fitted.moments)
        scores = AxisScores.from_spectrum(fitted.moments, spectrum, self.n_axes(spectrum))
        estimates = self.estimate_inner(scores.moments, fitted.divisors)
        fitted_scores = replace(
            fitted, moments=estimates.moments, covariances=estimates.covariances, rows=None
        )
        inner_scorer = estimates.covariance_model.leave_one_out_scorer(fitted_scores)
        log_unit = 0.0
        if len(estimates.covariances) > 1:
            log_unit = 0.5 * scores.logdet_constant
        return lambda x, codes, weights: inner_scorer(scores.transform(x), codes, weights) - log_unit

    def relearns_axes(self, moments: ClassMoments, rank: int) -> bool:
        """Return whether axes are computed again without each row, for moments with `rank` axes.

        This is the case for at most `MAX_RELEARNED_ROWS` rows, if rows times rank cubed is at most
        `MAX_WIDE_WORK` (with at least as many axes as rows less one) or `MAX_QUICK_WORK`, and new units take
        at most `MAX_PRODUCTS` multiplications.
        """
        rows = moments.rows.sum()
        limit = MAX_WIDE_WORK if rank >= rows - 1 else MAX_QUICK_WORK
        return rows <= MAX_RELEARNED_ROWS and self._is_quick(moments, rank, limit, MAX_PRODUCTS)

    def _is_quick(self, moments: ClassMoments, rank: int, limit: float, product_limit: float) -> bool:
        """Return whether the work of computing the axes without each row is within limits.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        rank : int
            Number of axes.
        limit : float
            Maximum of rows times rank cubed, the work of the decompositions.
        product_limit : float
            Maximum number of multiplications for the new units of standardized columns.

        Returns
        -------
        bool
            True if neither limit is exceeded. The multiplications, rows times rank squared times columns, are
            only required for standardized columns of thin moments.
        """
        rows = float(moments.rows.sum())
        products = (
            rows * rank**2 * moments.n_columns
            if self.standardized and row_sums.is_thin(moments.scatter_type)
            else 0.0
        )
        return rows * rank**3 <= limit and products <= product_limit

    def leave_one_out_axes(self, moments: ClassMoments, spectrum: TotalAxes) -> LeaveOneOutAxes:
        """Return the object that computes moments and axes without each row.

        `spectrum` contains all axes of the `moments` of a fit.
        """
        return LeaveOneOutAxes.from_spectrum(
            moments, spectrum, standardize=self.standardized, indicators=self._level_indicators
        )

    def _scores_with_relearned_axes(
        self,
        fitted: NormalClasses,
        leave_one_out_axes: LeaveOneOutAxes,
        x: Floats,
        codes: Codes,
        weights: Floats | None,
    ) -> Floats:
        """Compute leave-one-out scores with axes computed without each row.

        Parameters
        ----------
        fitted : NormalClasses
            Estimated distributions of the classes.
        leave_one_out_axes : LeaveOneOutAxes
            Computes moments and axes without each row.
        x : (m, p) float
            Rows, in the units of the data.
        codes : (m,) int
            Positions of the classes.
        weights : (m,) float, optional
            Weights of the rows; by default one.

        Returns
        -------
        (m, K) float
            Log prior plus log density, up to a constant, in the units of z. NaN for rows without which the
            covariances cannot be estimated, or rounding errors are too large.
        """
        model = self.for_refit()
        scores_of_rows = np.full((len(x), len(fitted.log_prior)), np.nan)
        units = float(np.log(fitted.moments.scale).sum())
        for i, row in enumerate(leave_one_out_axes.leave_out_rows(x, codes, weights)):
            if row is None:
                continue
            with suppress(NoEstimateError, np.linalg.LinAlgError):
                scores = row.axis_scores(model.n_axes(row.spectrum))
                divisors = row.divisors_without_row(fitted.divisors)
                estimates = model.estimate_inner(scores.moments, divisors)
                y = scores.transform(row.y)
                if not row.is_accurate(len(scores.axes), estimates.covariances, divisors):
                    continue
                values = row.mark_lone_class(rule_from_estimates(estimates, fitted.log_prior).scores(y)[0])
                # Densities are converted to the units of the fit, and linear scores to log densities.
                if len(estimates.covariances) > 1:
                    q = len(scores.axes)
                    constant = scores.spectrum.log_factor(q) + q * np.log(leave_one_out_axes.factor) - units
                else:
                    constant = _linear_score_constant(estimates, values, fitted.log_prior, y)
                scores_of_rows[i] = values + constant
        return mark_lone_rows_for_refit(scores_of_rows, fitted.moments.counts[codes], weights)

    @property
    def refits_each_row(self) -> bool:
        """Whether the inner model refits each row, or computing the axes without each row `is_slow`."""
        return self.is_slow or self.inner.refits_each_row

    # ---- files

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Raise InvalidStateError if the parameters of a loaded model contradict each other.

        The inner model has to pass its own check and to allow scores on axes, `count` has to be at least one,
        and there has to be an indicator for each of `n_columns` columns if there are any.
        """
        self.inner.check_restored(n_covariances, n_columns)
        if not self.inner.traits.allows_subspace or self.count is None or self.count < 1:
            raise InvalidStateError("its number of components does not match its covariance")
        if self.indicators is not None and len(self.indicators) != n_columns:
            raise InvalidStateError("its indicators of levels do not match its columns")


MAX_QUICK_WORK = 2.0**28
"""Rows times rank cubed up to which computing the axes without each row takes seconds at most."""

MAX_WIDE_WORK = 2.0**31
"""Maximum of rows times rank cubed with more columns than rows, for which axes cannot be fixed."""

MAX_RELEARNED_ROWS = 1000
"""Number of rows up to which the axes are computed again without each row."""

MAX_QUICK_PRODUCTS = 2.0**33
"""Number of multiplications for new units that take about a second."""

MAX_PRODUCTS = 2.0**38
"""Maximum number of multiplications for new units."""


def relearning_too_slow(feature: str, moments: ClassMoments) -> NotSupportedError:
    """Return a CoreNotSupportedError for a feature that would compute the axes without each row.

    `feature` is the name of the feature in the message; the number of rows is the sum of `moments.rows`.
    """
    return CoreNotSupportedError("axes_without_each_row", what=feature, n_rows=moments.rows.sum())


MAX_RELATIVE_ERROR = 1e-9
"""Largest accepted ratio of rounding errors to a variance from a difference of scatters."""


@dataclass(frozen=True, slots=True, eq=False)
class AxesWithoutRow:
    """Moments without one row, in the coordinates of all axes of the fit, and their principal axes.

    Attributes
    ----------
    y : (1, r) float
        Coordinates of the row.
    class_position : int
        Position of the class of the row.
    weight : float
        Weight that is left out.
    is_alone : bool
        Whether the row is the only one of its class.
    moments : ClassMoments
        Moments of the other rows.
    spectrum : TotalAxes
        Principal axes of these moments.
    rounding_error : float
        Size of the rounding errors of the squares in the scatters, in the coordinates of the axes.
    """

    y: Floats
    class_position: int
    weight: float
    is_alone: bool
    moments: ClassMoments
    spectrum: TotalAxes
    rounding_error: float

    @property
    def rank(self) -> int:
        """Number of axes with an eigenvalue of at least `rounding_error / MAX_RELATIVE_ERROR`."""
        return int((self.spectrum.eigenvalues * MAX_RELATIVE_ERROR >= self.rounding_error).sum())

    def axis_scores(self, count: int) -> AxisScores:
        """Return the scores on the first `count` axes."""
        return AxisScores.from_spectrum(self.moments, self.spectrum, count)

    def divisors_without_row(self, divisors: Floats) -> Floats:
        """Return divisors without the row, from divisors (1,) or (K,) of the scatters of all rows."""
        divisors_without_row = divisors.copy()
        divisors_without_row[self.class_position if len(divisors_without_row) > 1 else 0] -= self.weight
        return divisors_without_row

    def mark_lone_class(self, scores: Floats) -> Floats:
        """Set the score of the row's class to minus infinity if no other row is in it.

        `scores` (..., K) are changed in place and returned.
        """
        if self.is_alone:
            scores[..., self.class_position] = -np.inf
        return scores

    def is_accurate(self, count: int, covariances: Sequence[Covariance], divisors: Floats) -> bool:
        """Return whether the variances on the first axes are large relative to rounding errors.

        Parameters
        ----------
        count : int
            Number of axes.
        covariances : sequence of Covariance
            One, or one for each class.
        divisors : (1,) or (K,) float
            Divisors of the scatters, one for a pooled covariance or one for each class.

        Returns
        -------
        bool
            True if `count` is at most `rank`, and no eigenvalue of a scatter is less than
            `rounding_error / MAX_RELATIVE_ERROR`.
        """
        return (
            count <= self.rank
            and min_scatter_eigenvalue(covariances, divisors) * MAX_RELATIVE_ERROR >= self.rounding_error
        )


def min_scatter_eigenvalue(covariances: Sequence[Covariance], divisors: Floats) -> float:
    """Return a lower bound of the eigenvalues of all scatters, which are covariances times divisors."""
    # The trace of an inverse is at least its largest eigenvalue.
    return min(float(d / (c.inverse**2).sum()) for c, d in zip(covariances, divisors, strict=False))


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOutAxes:
    """Computation of the moments and principal axes of a fit without each row.

    The r coordinates are the scores on all axes of the fit if there are more columns than rows (thin
    moments), else the columns.

    Attributes
    ----------
    coordinates : AxisScores
        Transformation of the rows to these coordinates, with their moments.
    totals : ColumnTotals
        Totals of the columns over all rows.
    squares : (r,) float
        Sums of squares of the coordinates about their means over all rows.
    standardized : bool
        Whether the coordinates are columns that still have to be standardized.
    factor : float
        Ratio of the coordinates to the columns in their own units or in standard deviations.
    rank : int
        Number of axes that remain without any row; zero if each row adds a dimension.
    indicators : Indicators, optional
        Indicators of levels.
    units : (p,) float, optional
        Divisors of standardized columns before the projection; None unless the coordinates are scores on
        axes of standardized columns.
    """

    coordinates: AxisScores
    totals: ColumnTotals
    squares: Floats
    standardized: bool
    factor: float
    rank: int
    indicators: Indicators | None = None
    units: Floats | None = None

    @staticmethod
    def from_spectrum(
        moments: ClassMoments, spectrum: TotalAxes, *, standardize: bool, indicators: Indicators | None
    ) -> LeaveOneOutAxes:
        """Construct the computation for a fit.

        Parameters
        ----------
        moments : ClassMoments
            Moments of all rows.
        spectrum : TotalAxes
            All principal axes of the moments.
        standardize : bool
            Whether columns are standardized.
        indicators : Indicators, optional
            Indicators of levels.

        Returns
        -------
        LeaveOneOutAxes
            With scores on all axes as coordinates if the moments are thin, else with the columns.
        """
        moments = limit_scales(moments)
        totals = ColumnTotals.from_moments(moments)
        rank = len(spectrum.eigenvalues)
        is_saturated = rank >= moments.rows.sum() - 1
        if row_sums.is_thin(moments.scatter_type):
            all_scores = AxisScores.from_spectrum(moments, spectrum, rank)
            units = standard_units(totals.total, indicators) if standardize else None
            remaining_fields = spectrum.eigenvalues, False, spectrum.factor, 0 if is_saturated else rank
            return LeaveOneOutAxes(all_scores, totals, *remaining_fields, indicators, units)
        columns = np.diag(moments.common_unit)
        moments_in_unit = moments_of_scores(moments, columns)
        if indicators is not None:
            scale = moments.common_unit * moments.scale
            indicators = Indicators(indicators.is_indicator, moments.origin, scale)
        all_scores = AxisScores(spectrum, columns, moments.origin, moments.scale, moments_in_unit)
        factor = 1.0 if standardize else float(moments.scale.min())
        remaining_fields = total_squares(moments_in_unit), standardize, factor, 0 if is_saturated else rank
        return LeaveOneOutAxes(all_scores, totals, *remaining_fields, indicators)

    def leave_out_rows(
        self, x: Floats, codes: Codes, weights: Floats | None
    ) -> Iterator[AxesWithoutRow | None]:
        """Compute the moments and axes without each of m rows of the fit, one row at a time.

        Parameters
        ----------
        x : (m, p) float
            Rows, in the units of the data.
        codes : (m,) int
            Positions of the classes.
        weights : (m,) float, optional
            Weights of the rows; by default one. Of a larger weight, one unit is left out.

        Yields
        ------
        AxesWithoutRow or None
            None for a row that requires a refit: a column hardly varies without it, or fewer than `rank` axes
            remain.
        """
        row_weights = np.ones(len(codes)) if weights is None else weights
        coordinates = self.coordinates.transform(x)
        deviations = deviations_from_class_means(self.totals.total, x, 0).T
        row_values = zip(coordinates, deviations, codes.tolist(), row_weights.tolist(), strict=True)
        for y, deviation, code, row_weight in row_values:
            totals = self.totals.leave_out(deviation, min(row_weight, 1.0))
            row = None if totals is None else self._leave_out(y, code, row_weight, totals)
            yield None if row is None or len(row.spectrum.eigenvalues) < self.rank else row

    def _leave_out(self, y: Floats, code: int, row_weight: float, totals: ClassMoments) -> AxesWithoutRow:
        """Compute the moments and axes without one row, or one unit of its weight.

        Parameters
        ----------
        y : (r,) float
            Coordinates of the row.
        code : int
            Position of its class.
        row_weight : float
            Its weight.
        totals : ClassMoments
            Column totals of the other rows.

        Returns
        -------
        AxesWithoutRow
            In new coordinates if the units of the columns are computed without the row.
        """
        remaining, removed_weight, is_alone = self._moments_without_row(y, code, row_weight)
        squares = self.squares
        if self.units is not None:
            axes = self.coordinates.spectrum.axes * (self.units / standard_units(totals, self.indicators))
            rotation = np.asarray(np.linalg.cholesky(axes @ axes.T), dtype=np.float64)
            y = (y - remaining.origin) @ rotation
            remaining = moments_of_scores(remaining, rotation.T)
            squares = squares @ rotation**2
        spectrum = total_principal_axes(remaining, standardize=self.standardized, indicators=self.indicators)
        noise = EPS * float(squares @ spectrum.unit**2)
        return AxesWithoutRow(y[None], code, removed_weight, is_alone, remaining, spectrum, noise)

    def _moments_without_row(
        self, y: Floats, code: int, row_weight: float
    ) -> tuple[ClassMoments, float, bool]:
        """Compute the moments of the coordinates on all axes without one row, or one unit of its weight.

        Parameters
        ----------
        y : (r,) float
            Coordinates of the row.
        code : int
            Position of its class.
        row_weight : float
            Its weight.

        Returns
        -------
        moments : ClassMoments
            Moments of the coordinates without the row.
        removed_weight : float
            Weight that is left out: one, or the weight of the row if it is less.
        is_alone : bool
            Whether the row is the only one of its class.
        """
        moments = self.coordinates.moments
        removed_weight = min(row_weight, 1.0)
        count = float(moments.counts[code])
        is_alone = count - removed_weight <= EPS * count
        counts = moments.counts.copy()
        rows = moments.rows.copy()
        means = moments.centres.copy()
        deviation = y - means[code]
        rows[code] -= int(row_weight <= 1)
        counts[code] = 0.0 if is_alone else count - removed_weight
        means[code] = 0.0 if is_alone else means[code] - removed_weight / (count - removed_weight) * deviation
        scatters = moments.scatters.copy()
        if not is_alone:
            scatter_index = code if len(scatters) > 1 else 0
            scatters[scatter_index] -= (
                removed_weight * count / (count - removed_weight) * np.outer(deviation, deviation)
            )
        remaining = replace(moments, counts=counts, rows=rows, centres=means, scatters=scatters, roots=None)
        return remaining, removed_weight, is_alone


def rule_from_estimates(estimates: CovarianceEstimates, log_prior: Floats) -> Rule:
    """Return the linear rule of one covariance, or the quadratic rule of one covariance for each class.

    `log_prior` (K,) contains logarithms of the prior probabilities.
    """
    if len(estimates.covariances) == 1:
        return gaussian.linear_rule(estimates.moments, estimates.covariances[0], log_prior)
    return gaussian.class_plugin_rule(estimates.moments, estimates.covariances, log_prior)


def _linear_score_constant(
    estimates: CovarianceEstimates, linear_scores: Floats, log_prior: Floats, y: Floats
) -> float:
    """Return the constant that linear scores omit relative to log densities.

    Parameters
    ----------
    estimates : CovarianceEstimates
        Estimated covariances, with the moments in whose coordinates they are.
    linear_scores : (K,) float
        Linear scores of the row.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    y : (1, q) float
        The row.

    Returns
    -------
    float
        Log prior minus half the squared distance, minus the linear score.
    """
    k = int(np.argmax(linear_scores))
    if not np.isfinite(linear_scores[k]):
        return 0.0
    distances = gaussian.distances_to_means(estimates.moments, estimates.covariances).squared(y)
    return float(log_prior[k] - 0.5 * distances[k, 0] - linear_scores[k])


def scores_by_axis_count(
    model: SubspaceCovariance,
    moments: ClassMoments,
    divisors: Floats,
    log_prior: Floats,
    y: Floats,
    axis_counts: Codes,
    rounding_error: float = 0.0,
) -> Floats:
    """Compute the class scores of rows under the rule on each of several numbers of axes.

    The scores of a row are comparable between classes only: terms without influence on the class may be
    omitted.

    Parameters
    ----------
    model : SubspaceCovariance
        Its inner model estimates the covariances on the axes.
    moments : ClassMoments
        Moments of the coordinates on all q axes.
    divisors : (1,) or (K,) float
        Divisors of the scatters, one for a pooled covariance or one for each class.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    y : (m, q) float
        Coordinates of the rows on the largest number of axes.
    axis_counts : (G,) int
        Numbers of leading axes in increasing order, at most q.
    rounding_error : float
        Absolute rounding error of the scatters. A scatter counts as singular if an eigenvalue, or for full
        covariances a squared diagonal element of its root, is below `rounding_error / MAX_RELATIVE_ERROR`.

    Returns
    -------
    (G, m, K) float
        Class scores. NaN for a number of axes whose covariance is singular or not clearly larger than
        rounding errors.
    """
    scores = np.full((len(axis_counts), len(y), len(log_prior)), np.nan)
    if model.inner.traits.is_full:
        return _scores_of_nested_axes(moments, divisors, log_prior, y, axis_counts, rounding_error)
    for i, count in enumerate(axis_counts.tolist()):
        with suppress(NoEstimateError, np.linalg.LinAlgError):
            estimates = model.estimate_inner(moments.select_columns(np.arange(count)), divisors)
            if min_scatter_eigenvalue(estimates.covariances, divisors) * MAX_RELATIVE_ERROR >= rounding_error:
                scores[i] = rule_from_estimates(estimates, log_prior).scores(y[:, :count])
    return scores


def _scores_of_nested_axes(
    moments: ClassMoments,
    divisors: Floats,
    log_prior: Floats,
    y: Floats,
    axis_counts: Codes,
    rounding_error: float,
) -> Floats:
    """Compute the scores of `scores_by_axis_count` for full covariances, by cumulative sums over the axes.

    Parameters
    ----------
    moments : ClassMoments
        Moments of the coordinates on all q axes.
    divisors : (1,) or (K,) float
        Divisors of the scatters, one for a pooled covariance or one for each class.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    y : (m, q) float
        Coordinates of the rows on the axes.
    axis_counts : (G,) int
        Numbers of leading axes in increasing order, at most q.
    rounding_error : float
        Absolute rounding error of the scatters. Axes from the first one whose squared diagonal element of the
        root is below `rounding_error / MAX_RELATIVE_ERROR` are not used.

    Returns
    -------
    (G, m, K) float
        Log prior minus half the squared distance, and minus half the log-determinant if each class has its
        own covariance. NaN as in `scores_by_axis_count`.
    """
    scores = np.full((len(axis_counts), len(y), len(log_prior)), np.nan)
    by_class = len(divisors) > 1
    group_moments = moments if by_class else moments.pool_classes()
    means = moments.class_means
    roots = [_leading_root(group_moments, k if by_class else 0, rounding_error) for k in range(len(divisors))]
    feasible_counts = axis_counts[axis_counts <= min(map(len, roots))]
    if not len(feasible_counts):
        return scores
    max_count = int(feasible_counts[-1])
    whitened: Floats = np.empty(0)
    for k, log_share in enumerate(log_prior.tolist()):
        root = roots[k if by_class else 0][:max_count, :max_count] / np.sqrt(divisors[k if by_class else 0])
        if by_class or not k:
            # All classes share a pooled root.
            whitened = solve_triangular((y - means[k])[:, :max_count], root)
        whitened_differences = solve_triangular(
            (means[k] - means[k if by_class else 0])[None, :max_count], root
        )
        squares = np.cumsum((whitened - whitened_differences) ** 2, axis=1)[:, feasible_counts - 1]
        if by_class:
            squares += 2.0 * np.cumsum(np.log(np.abs(np.diagonal(root))))[feasible_counts - 1]
        scores[: len(feasible_counts), :, k] = log_share - 0.5 * squares.T
    return scores


def solve_triangular(rows: Floats, root: Floats) -> Floats:
    """Return rows (m, q) times the inverse of an upper triangular matrix (q, q)."""
    return np.asarray(scipy.linalg.blas.dtrsm(1.0, root, rows, side=1))


def _leading_root(moments: ClassMoments, k: int, rounding_error: float) -> Floats:
    """Factorize the largest leading block of a scatter that is not singular.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    k : int
        Position of the scatter.
    rounding_error : float
        Absolute rounding error of the scatter. The block ends before the first axis whose squared diagonal
        element of the root is below `rounding_error / MAX_RELATIVE_ERROR`.

    Returns
    -------
    (r, r) float
        Upper triangular root of the block; r is zero if the first axis has no variance.
    """
    if moments.roots is not None:
        root = moments.roots[k]
        norms = np.sqrt((root**2).sum(axis=0))
        is_singular = np.abs(np.diagonal(root)) <= EPS * len(root) * norms
        n_regular = int(np.argmax(is_singular)) if is_singular.any() else len(root)
    else:
        sd = np.sqrt(np.diagonal(moments.scatters[k]))
        unit = np.where(sd > 0, sd, 1.0)
        root, failed = scipy.linalg.lapack.dpotrf(moments.scatters[k] / unit / unit[:, None], clean=1)
        root, n_regular = root * unit, failed - 1 if failed > 0 else len(root)
    is_singular = np.diagonal(root)[:n_regular] ** 2 * MAX_RELATIVE_ERROR < rounding_error
    n_regular = int(np.argmax(is_singular)) if is_singular.any() else n_regular
    return np.asarray(root[:n_regular, :n_regular])


def count_errors_by_axis_count(scores: Floats, codes: Codes, weights: Floats | None) -> Floats:
    """Count the misclassified rows of each class for G numbers of axes.

    Parameters
    ----------
    scores : (G, m, K) float
        Scores for each number of axes.
    codes : (m,) int
        True classes.
    weights : (m,) float, optional
        Weights of the rows; by default one.

    Returns
    -------
    (G, K) float
        Number of misclassified rows, or sum of their weights; NaN if scores of a row of the class are NaN.
    """
    k = scores.shape[2]
    is_missing = np.asarray(np.isnan(scores).any(axis=2))
    is_wrong = np.where(
        is_missing, np.nan, np.where(is_missing[..., None], 0.0, scores).argmax(axis=2) != codes
    )
    weighted_errors = is_wrong if weights is None else is_wrong * weights
    return np.stack([weighted_errors[:, codes == code].sum(axis=1) for code in range(k)], axis=1)


def candidate_axis_counts(max_count: int) -> Codes:
    """Return the numbers of axes to compare if each requires a fit, up to and with `max_count` >= 1.

    They are 1 to 20, followed by steps of ten percent.

    Examples
    --------
    >>> candidate_axis_counts(30).tolist()[-6:]
    [20, 22, 24, 26, 28, 30]
    """
    counts = list(range(1, min(max_count, 20) + 1))
    while counts[-1] < max_count:
        counts.append(min(counts[-1] + counts[-1] // 10, max_count))
    return np.array(counts)
