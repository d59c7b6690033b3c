"""The numbers of a naive Bayes classifier, and the pure function that fits them.

Theory. Columns are independent within classes, so that the density of a row is the product of those of its
columns, and each is estimated by itself: normal columns here, tables of levels in `level_tables`, kernel
densities in `kernel_density`, counts in `multinomial`. A column that a row misses leaves the product.

Normal columns have a diagonal covariance in each class: naive Bayes is the diagonal quadratic rule for them.
With smoothing s every variance grows by

    e = s max_j V_j,   V_j the variance of column j over all rows, divisor N,

in the units of the data, which is scikit-learn's `var_smoothing`: it depends on the units of the columns.
Without a row x of weight w, N V_j falls by w N / (N - w) (x_j - mean_j)^2: e follows in closed form too.

Where each column is fitted to the rows that have it, sums of squares, tables and values are of these, and the
counts of classes of all rows with a class; see `available`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.canonical import weighted_centre
from discrim.core.covariance.covariance import EPS, Covariance, dependencies, divisors_by_class
from discrim.core.independent.available import available_left_out, available_llf
from discrim.core.independent.kernel_density import KernelColumns, KernelDensity
from discrim.core.independent.level_tables import LevelTables
from discrim.core.independent.multinomial import CountColumns
from discrim.core.independent.tally import ColumnPlan, Tally
from discrim.core.moments.coordinates import standard_columns
from discrim.core.moments.moments import ClassMoments
from discrim.core.normal.qda import QDAFit, fit_qda
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import SPOILT, LeftOut, diagonal_scores
from discrim.core.rules.rules import Distances, IndependentRule
from discrim.errors import NotSupportedError

__all__ = ["NaiveBayesFit", "added_variances", "fit_naive_bayes", "has_fit", "has_variances"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Other = LevelTables | KernelColumns | CountColumns


@dataclass(frozen=True, slots=True)
class NaiveBayesFit:
    """The numbers of a naive Bayes classifier.

    Attributes
    ----------
    moments : ClassMoments
        Of all columns, diagonal; counts are of all rows of the fit, means and sums of squares of those that
        have the column.
    prior : (K,) float
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    plan : ColumnPlan
        What each column is.
    normal : QDAFit or None
        The diagonal quadratic fit of the normal columns, its variances smoothed.
    tables : LevelTables or None
    kernels : KernelColumns or None
    counts : CountColumns or None
    available : (K, p) float or None
        Weight of the rows that have each column, where each is fitted to these; None of complete rows.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    plan: ColumnPlan
    normal: QDAFit | None
    tables: LevelTables | None = None
    kernels: KernelColumns | None = None
    counts: CountColumns | None = None
    available: Floats | None = None

    @property
    def is_normal(self) -> bool:
        """Whether every column is normal, so that the fit is a function of moments."""
        return not self.others

    @property
    def takes_stored(self) -> bool:
        """Whether every column is a count, so that rows are left out by what is stored of them."""
        return self.normal is None and all(getattr(each, "takes_stored", False) for each in self.others)

    @property
    def others(self) -> tuple[Other, ...]:
        """The columns that are not normal."""
        return tuple(part for part in (self.tables, self.kernels, self.counts) if part is not None)

    @property
    def method(self) -> str:
        """Divisor of the variances: "moment", n_k - 1, or "mle", n_k."""
        return self.plan.method

    @property
    def smoothing(self) -> float:
        """Share of the largest variance that was added to every variance."""
        return self.plan.smoothing

    @property
    def laplace(self) -> float:
        """What was added to every count."""
        return self.plan.laplace

    @property
    def bandwidth(self) -> str:
        """Rule for bandwidths."""
        return self.plan.rule

    @property
    def unseen(self) -> str:
        """What a level of new rows is that the fit has not seen: an error ("raise"), or "missing"."""
        return self.plan.unseen

    @property
    def covariances(self) -> tuple[Covariance, ...]:
        """Variances of each class, smoothed, in the coordinates of the moments of the normal columns."""
        return () if self.normal is None else self.normal.covariances

    @property
    def has_distances(self) -> bool:
        """Whether the covariances are full: never."""
        return False

    def distances(self) -> Distances:
        """Squared distances to the class means.

        Raises
        ------
        NotSupportedError
            No column is normal.
        """
        if self.normal is None:
            raise NotSupportedError(
                "Distances to class means need normal columns, and there is none: name numeric "
                "columns in the formula."
            )
        return self.normal.distances()

    def rule(
        self, log_prior: Floats, method: str = "plugin", convention: str | None = None
    ) -> IndependentRule:
        """The decision rule under a prior (K,); it integrates out missing columns.

        Raises
        ------
        NotSupportedError
            Any method but "plugin".
        """
        if method != "plugin":
            raise NotSupportedError(
                f'method="{method}" is defined for normal classes with full covariances: use "plugin", or '
                "fit lda() or qda()."
            )
        whole = None
        if self.normal is not None:
            whole = gaussian.separate_plugin(self.normal.moments, self.normal.covariances, log_prior)
        return IndependentRule(log_prior, whole, self.plan.normal, self.others)

    def refit(self, moments: ClassMoments, tally: Tally | None = None) -> NaiveBayesFit | None:
        """The same model of other rows, the prior held; None where a density does not exist.

        What is not a function of moments takes the tally of the rows too.
        """
        # Without a tally all columns are normal, whichever are left.
        held = tally or Tally(self.plan.columns(np.arange(moments.n_columns)), moments.n_classes)
        if not has_fit(moments, held):
            return None
        fit = fit_naive_bayes(moments, held, self.prior, estimated_prior=self.estimated_prior)
        return None if fit.without_bandwidth().any() else fit

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Scores of rows under the rule fitted without each of them, smoothing and bandwidths included."""
        normal = None if self.normal is None else self._normal_left_out(self.normal, log_prior)
        if normal is not None and self.is_normal:
            return normal

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            total = np.repeat(log_prior[:, None], len(x), axis=1)
            if normal is not None:
                total = np.array(normal(x[:, self.plan.normal], codes, weights).T)
            for part in self.others:
                total += part.left_out(x, codes, weights)
            count = self.moments.counts[codes]
            alone = np.flatnonzero(
                count - (1.0 if weights is None else np.minimum(weights, 1.0)) <= EPS * count
            )
            total[codes[alone], alone] = -np.inf
            total[:, np.isnan(total).any(axis=0)] = np.nan
            return np.asarray(total.T)

        return scores

    def _normal_left_out(self, normal: QDAFit, log_prior: Floats) -> LeftOut:
        if self.available is not None:
            short = 1.0 if self.method == "moment" else 0.0
            return available_left_out(normal.moments, self._of_normal, log_prior, short)
        if not self.smoothing:
            return normal.left_out(log_prior)
        held, moments = normal.distances(), normal.moments
        before = added_variances(moments, self.smoothing)

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            added = before, _added_without(moments, self.smoothing, x, weights)
            divisors = normal.divisors
            return diagonal_scores(x, codes, weights, held, moments.counts, divisors, log_prior, added)

        return scores

    def without_bandwidth(self) -> NDArray[np.bool_]:
        """Which kernel densities (K, q) do not exist, as their rule gives no bandwidth."""
        if self.kernels is None:
            return np.zeros((self.moments.n_classes, 0), dtype=bool)
        return np.asarray(~(self.kernels.bandwidths() > 0))

    def df_model(self) -> int:
        """Free parameters: of each density and, where estimated, of the prior.

        Raises
        ------
        NotSupportedError
            A kernel density has no count of parameters.
        """
        self._refuse_kernels("A number of free parameters")
        k = self.moments.n_classes
        parts = sum(part.df_model() for part in (self.tables, self.counts) if part is not None)
        return 2 * k * len(self.plan.normal) + parts + (k - 1 if self.estimated_prior else 0)

    def llf(self) -> float:
        """Log-likelihood of class and row; variances have the divisor n_k, all are smoothed as the fit is.

        Raises
        ------
        NotSupportedError
            A kernel density is no maximum of a likelihood.
        """
        self._refuse_kernels("A log-likelihood")
        others = sum(part.llf() for part in (self.tables, self.counts) if part is not None)
        if self.normal is None:
            with np.errstate(divide="ignore"):
                return float(self.moments.counts @ np.log(self.prior)) + others
        return self._normal_llf(self.normal) + others

    @property
    def _of_normal(self) -> Floats:
        """Weight (K, q) of the rows that have each normal column."""
        held = self.available
        return np.zeros((0, 0)) if held is None else held[:, self.plan.normal]

    def _normal_llf(self, normal: QDAFit) -> float:
        if self.available is not None:
            added = added_variances(normal.moments, self.smoothing, self._of_normal)
            with np.errstate(divide="ignore"):
                classes = float(self.moments.counts @ np.log(self.prior))
            return classes + available_llf(normal.moments, self._of_normal, added)
        if not self.smoothing:
            return normal.llf()
        moments = normal.moments
        added = added_variances(moments, self.smoothing)
        variances = moments.scatters / moments.counts[:, None] + added
        # Beyond the maximum, where a sum of squares is n_k variances: it is short of that by n_k added.
        surplus = 0.5 * float(moments.counts @ (added / variances).sum(axis=1))
        return gaussian.log_likelihood(moments, np.log(variances).sum(axis=1), self.prior) + surplus

    def _refuse_kernels(self, what: str) -> None:
        if self.kernels is not None:
            raise NotSupportedError(
                f"{what} is not defined for kernel densities, nor are AIC and BIC: compare by "
                "error_rates(['loo'])."
            )


def fit_naive_bayes(
    moments: ClassMoments, tally: Tally, prior: Floats, *, estimated_prior: bool = True
) -> NaiveBayesFit:
    """Fit from diagonal moments by class and a tally that `has_fit` accepts.

    Kernel densities may lack a bandwidth: see `NaiveBayesFit.without_bandwidth`.
    """
    plan = tally.plan
    normal = tables = counts = None
    if len(plan.normal):
        counts_of = None if tally.available is None else tally.available[:, plan.normal]
        normal = _fit_normal(_normal_moments(moments, plan), prior, plan, estimated_prior, counts_of)
    if len(plan.tables):
        tables = LevelTables(plan.tables, tuple(tally.tables), plan.laplace)
    if len(plan.counts):
        counts = CountColumns(plan.counts, tally.sums, plan.laplace)
    kernels = _kernel_columns(tally)
    held = normal, tables, kernels, counts
    return NaiveBayesFit(moments, prior, estimated_prior, plan, *held, tally.available)


def _kernel_columns(tally: Tally) -> KernelColumns | None:
    plan = tally.plan
    if not len(plan.kernels):
        return None
    given = plan.bandwidths[plan.kernels]
    densities = tuple(
        tuple(KernelDensity.of(values, weights, plan.rule, float(held)) for values, weights in by_class)
        for by_class, held in zip(tally.by_class(), given, strict=True)
    )
    return KernelColumns(plan.kernels, densities, plan.rule, given)


def _normal_moments(moments: ClassMoments, plan: ColumnPlan) -> ClassMoments:
    return moments if len(plan.normal) == moments.n_columns else moments.columns(plan.normal)


def _fit_normal(
    moments: ClassMoments, prior: Floats, plan: ColumnPlan, estimated_prior: bool, available: Floats | None
) -> QDAFit:
    if not plan.smoothing and available is None:
        return fit_qda(
            moments, prior, method=plan.method, structure="diagonal", estimated_prior=estimated_prior
        )
    covariances = tuple(Covariance.from_root(sd) for sd in np.sqrt(_smoothed(moments, plan, available)))
    divisors = divisors_by_class(moments.counts, plan.method)
    return QDAFit(moments, prior, estimated_prior, plan.method, covariances, divisors, "diagonal")


def has_fit(moments: ClassMoments, tally: Tally) -> bool:
    """Whether every class has rows, and every density but those of kernels exists."""
    plan, available = tally.plan, tally.available
    if (moments.rows < 1).any() or (available is not None and not (available > 0).all()):
        return False
    if len(plan.normal):
        own = None if available is None else available[:, plan.normal]
        if not has_variances(_normal_moments(moments, plan), plan, own):
            return False
    return not len(plan.counts) or bool((tally.sums.sum(axis=1) + plan.laplace > 0).all())


def has_variances(moments: ClassMoments, plan: ColumnPlan, available: Floats | None = None) -> bool:
    """Whether the variances of normal columns, smoothed, are all positive and finite.

    Of columns that rows miss, `available` (K, q) is the weight of the rows that have each.
    """
    if not (divisors_by_class(moments.counts if available is None else available, plan.method) > 0).all():
        return False
    if not plan.smoothing:
        return bool((moments.rows > 1).all()) and not any(
            dependencies(moments, k, diagonal=True) for k in range(moments.n_classes)
        )
    variances = _smoothed(moments, plan, available)
    return bool(((variances > 0) & np.isfinite(variances)).all())


def added_variances(moments: ClassMoments, smoothing: float, available: Floats | None = None) -> Floats:
    """A share of the largest variance of a column over all rows, divisor N, in the units of each column (p,).

    Infinite where the units of the columns are too far apart for it.
    """
    totals = moments.total if available is None else available.sum(axis=0)
    widest = (np.sqrt(_total_squares(moments, available) / totals) / moments.scale).max()
    with np.errstate(over="ignore"):
        return np.asarray(smoothing * (widest * moments.scale) ** 2)


def _added_without(moments: ClassMoments, smoothing: float, x: Floats, weights: Floats | None) -> Floats:
    """What is added to the variances (p, m) without each row; NaN where a difference lost its digits."""
    total = moments.total
    out = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
    middle = weighted_centre(moments.means, moments.counts)
    squares = _total_squares(moments)[:, None]
    lost = (standard_columns(x, moments.origin, moments.scale) - middle[:, None]) ** 2
    left = squares - out * total / (total - out) * lost
    lengths = np.sqrt(np.where(left > SPOILT * squares, left, 0.0)) / moments.scale[:, None]
    largest = lengths.max(axis=0) / np.sqrt(total - out)
    # What lost its digits may be as long as this in truth, and then nothing is known.
    spoilt = np.where(left > SPOILT * squares, 0.0, np.sqrt(SPOILT * squares)) / moments.scale[:, None]
    largest[spoilt.max(axis=0) >= lengths.max(axis=0)] = np.nan
    return np.asarray(smoothing * (largest * moments.scale[:, None]) ** 2)


def _smoothed(moments: ClassMoments, plan: ColumnPlan, available: Floats | None) -> Floats:
    """Variances (K, p) of columns over the rows that have them, smoothed."""
    counts = moments.counts[:, None] if available is None else available
    added = added_variances(moments, plan.smoothing, available) if plan.smoothing else 0.0
    return np.asarray(moments.scatters / divisors_by_class(counts, plan.method) + added)


def _total_squares(moments: ClassMoments, available: Floats | None = None) -> Floats:
    """Sum of squares (p,) of each column about its mean over all rows that have it."""
    means = moments.means
    if available is not None:
        middle = (available * means).sum(axis=0) / available.sum(axis=0)
        return np.asarray(moments.scatters.sum(axis=0) + (available * (means - middle) ** 2).sum(axis=0))
    between = moments.counts @ (means - weighted_centre(means, moments.counts)) ** 2
    return np.asarray(moments.scatters.sum(axis=0) + between)
