"""The numbers of a naive Bayes classifier, and the pure function that fits them.

Theory. Columns are independent within classes, so that the density of a row is the product of those of its
columns, and each is estimated by itself: as normal, by a table, by kernels (in a file of their own) or as a
count. A column that a row misses leaves the product.

*Normal columns* have a diagonal covariance in each class: naive Bayes is the diagonal quadratic rule for
them. With smoothing s every variance grows by

    e = s max_j V_j,   V_j the variance of column j over all rows, divisor N,

in the units of the data, which is scikit-learn's `var_smoothing`: it depends on the units of the columns.
Without a row x of weight w, N V_j falls by w N / (N - w) (x_j - mean_j)^2: e follows in closed form too.

Where rows miss values, each column may be fitted to the rows that have it, n_kj of class k: sums of squares,
tables and values are of these, and the counts of classes of all rows with a class. The likelihood of what is
there is a product over columns, so that the mean and the variance of a column (divisor n_kj - 1 or n_kj) are
those of these rows (Little & Rubin, 2020, Statistical Analysis with Missing Data, sec. 3.4). Without a row x
of weight w, which has the column,

    m' = m - w (x - m) / (n_kj - w),   SS' = SS - w n_kj / (n_kj - w) (x - m)^2,

and nothing of the column changes without a row that misses it.

*Columns of categories* have a table P(level | class) each. Of n_k rows of class k, n_kl have level l of a
column with L levels. With Laplace's correction a,

    P(l | k) = (n_kl + a) / (n_k + a L),

the mean of the posterior under a Dirichlet prior of a pseudo-rows for each level (Agresti, 2013, Categorical
Data Analysis, sec. 1.6). Without a row of weight w of class k and level l, n_kl and n_k fall by w.

*Columns of counts*, such as those of words in texts, have one multinomial a class over all of them. Given
their sum, the J counts x_j of a row of class k are multinomial with

    theta_kj = (s_kj + a) / (s_k + a J),   s_kj the sum of column j over the rows of class k, s_k = sum_j
    s_kj,

a being Laplace's correction (McCallum & Nigam, 1998, AAAI workshop on learning for text categorization,
41-48). The multinomial coefficient is the same for every class and left out, of the likelihood too. Given the
sum of those counts that are not missing, these are multinomial with theta_kj over the sum of their thetas:
that is what a row with missing counts is predicted from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from discrim.core.covariance.covariance import EPS, Covariance, dependencies, divisors_by_class
from discrim.core.covariance.diagonal import DiagonalCovariance
from discrim.core.covariance.principal import weighted_centre
from discrim.core.discriminant.qda import QDAFit, fit_qda
from discrim.core.errors import CoreNotSupportedError, InvalidStateError
from discrim.core.moments.moments import ClassMoments, standard_columns
from discrim.core.moments.sparse_rows import SparseRows
from discrim.core.naive_bayes.kernel_density import FACTORS, KernelColumns, KernelDensity
from discrim.core.naive_bayes.tally import ColumnPlan, Piece, Tally
from discrim.core.numerics.arrays import Codes, Floats, Mask, are_whole, slices
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import SPOILT, LeftOut, diagonal_scores, removal, settle
from discrim.core.rules.rules import Distances, IndependentRule, logs_of_prior


def available_left_out(moments: ClassMoments, counts: Floats, log_prior: Floats, short: float) -> LeftOut:
    """Scores of rows under normal columns fitted without each of them, of what each row has.

    The divisor is the weight of the rows less `short`, 1 or 0. Scores are missing where there is no variance
    without the row, or it has lost its digits.
    """
    means = moments.means
    squares = moments.scatters
    variances = squares / (counts - short)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        z = standard_columns(x, moments.origin, moments.scale).T
        there = ~np.isnan(z)
        n = counts[codes]
        of_class = squares[codes]
        left = n - (np.ones(len(x)) if weights is None else np.minimum(weights, 1.0))[:, None]
        gap = z - means[codes]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            without = of_class - (n - left) * n / left * gap**2
            spoilt = there & ~((left - short > EPS * n) & (without > SPOILT * of_class))
            distances = (gap * n / left) ** 2 * (left - short) / without
            refit = -0.5 * (distances + np.log(without / (left - short)))
        total = np.repeat(log_prior[:, None], len(x), axis=1)
        for k, variance in enumerate(variances):
            others = -0.5 * ((z - means[k]) ** 2 / variance + np.log(variance))
            terms = np.where((codes == k)[:, None], refit, others)
            total[k] += np.where(there & ~spoilt, terms, 0.0).sum(axis=1)
        total[:, spoilt.any(axis=1)] = np.nan
        return np.asarray(total.T)

    return scores


@dataclass(frozen=True, slots=True, eq=False)
class LevelTables:
    """Tables of the columns that hold positions of levels.

    Of each column, by its position (q,) in the rows: the rows, or weights, by class and level (K, L_j).
    """

    positions: Codes
    counts: tuple[Floats, ...]
    laplace: float

    def probabilities(self) -> tuple[Floats, ...]:
        """P(level | class), a (K, L_j) for each column."""
        return tuple(_shares(n, n.sum(axis=1, keepdims=True), n.shape[1], self.laplace) for n in self.counts)

    def log_densities(self, x: Floats) -> Floats:
        """Log probabilities (K, m) of rows x (m, p), summed over the columns that are not missing."""
        total = np.zeros((len(self.counts[0]), len(x)))
        for position, shares in zip(self.positions.tolist(), self.probabilities(), strict=True):
            values = x[:, position]
            levels = shares.shape[1]
            with np.errstate(divide="ignore"):
                logs = np.column_stack([np.log(shares), np.zeros(len(shares))])
            # A missing value takes the column of zeros: its factor is left out.
            total += logs[:, np.where(np.isnan(values), levels, values).astype(np.intp)]
        return total

    def left_out(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """The same of rows of the fit, each without itself."""
        total = self.log_densities(x)
        rows = np.arange(len(x))
        out = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
        refit = np.zeros(len(x))
        for position, n in zip(self.positions.tolist(), self.counts, strict=True):
            values = x[:, position]
            there = ~np.isnan(values)
            count = n[codes, np.where(there, values, 0).astype(np.intp)]
            size = n.sum(axis=1)[codes]
            left = np.where(count - out <= EPS * count, 0.0, count - out)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(_shares(left, size - out, n.shape[1], self.laplace))
            refit += np.where(there, logs, 0.0)
        total[codes, rows] = refit
        return total

    def llf(self) -> float:
        """Log-likelihood of the columns, given the class, at the probabilities of the fit."""
        pairs = zip(self.counts, self.probabilities(), strict=True)
        return float(sum(scipy.special.xlogy(n, p).sum() for n, p in pairs))

    def df_model(self) -> int:
        """Free probabilities."""
        return sum(n.shape[0] * (n.shape[1] - 1) for n in self.counts)


def _shares(counts: Floats, sizes: Floats, levels: int, laplace: float) -> Floats:
    return np.asarray((counts + laplace) / (sizes + laplace * levels))


WRITTEN = 2**21
"""Numbers of sparse rows that are written out at once."""


@dataclass(frozen=True, slots=True, eq=False)
class CountColumns:
    """Multinomials over the columns of counts, at positions (J,) in the rows, with weighted sums (K, J)."""

    positions: Codes
    sums: Floats
    laplace: float

    takes_stored: ClassVar[bool] = True

    def probabilities(self) -> Floats:
        """Probabilities theta (K, J)."""
        sizes = self.sums.sum(axis=1, keepdims=True) + self.laplace * len(self.positions)
        return np.asarray((self.sums + self.laplace) / sizes)

    def log_densities(self, x: Floats | SparseRows) -> Floats:
        """Log probabilities (K, m) of rows x (m, p), given the sum of the counts that are not missing."""
        if isinstance(x, SparseRows):
            stored = x.columns(self.positions)
            theta = self.probabilities().T
            logs = np.log(np.where(theta > 0, theta, 1.0))
            scores = stored.products(stored.base @ logs, logs)
            if (theta == 0).any():
                never = (theta == 0).astype(np.float64)
                scores[stored.products(stored.base @ never, never) > 0] = -np.inf
            return np.asarray(scores.T)
        counts = x.T[self.positions]
        theta = self.probabilities()
        known = ~np.isnan(counts)
        whole = bool(known.all())
        counts = counts if whole else np.where(known, counts, 0.0)
        logs = np.log(np.where(theta > 0, theta, 1.0)) @ counts
        rows = np.flatnonzero(~known.all(axis=0)) if not whole else self.positions[:0]
        logs[:, rows] -= scipy.special.xlogy(counts[:, rows].sum(axis=0), theta @ known[:, rows])
        # A count of zero has probability one whatever its theta, so that 0 times -inf never arises.
        if (theta == 0).any():
            logs[((theta == 0).astype(np.float64) @ counts) > 0] = -np.inf
        return np.asarray(logs)

    def left_out(self, x: Floats | SparseRows, codes: Codes, weights: Floats | None) -> Floats:
        """The same of complete rows of the fit, each without itself."""
        if isinstance(x, SparseRows):
            return self._left_out_of_sparse(x, codes, weights)
        logs = self.log_densities(x)
        counts = x.T[self.positions]
        sums = self.sums.T[:, codes]
        left = sums - (counts if weights is None else np.minimum(weights, 1.0) * counts)
        left[left <= EPS * sums] = 0.0
        sizes = left.sum(axis=0) + self.laplace * len(self.positions)
        theta = np.divide(left + self.laplace, sizes, out=np.zeros_like(left), where=sizes > 0)
        logs[codes, np.arange(len(x))] = scipy.special.xlogy(counts, theta).sum(axis=0)
        return logs

    def _left_out_of_sparse(self, x: SparseRows, codes: Codes, weights: Floats | None) -> Floats:
        logs = self.log_densities(x)
        counts = x.columns(self.positions)
        if counts.base.any():
            # Columns that are seldom zero are written out, a few rows at a time.
            parts = slices(len(x), max(WRITTEN // max(x.shape[1], 1), 1))
            some = ((x.rows(at).dense(), codes[at], None if weights is None else weights[at]) for at in parts)
            return np.concatenate([self.left_out(*each) for each in some], axis=1)
        row = counts.row_of_stored()
        column = counts.steps.indices
        values = counts.steps.data
        out = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
        sums = self.sums[codes[row], column]
        left = sums - out[row] * values
        left[left <= EPS * sums] = 0.0
        # Columns that a row does not store stay as they are.
        whole = self.sums.sum(axis=1)[codes]
        sizes = whole + np.bincount(row, left - sums, len(x))
        sizes[sizes <= EPS * whole] = 0.0
        sizes += self.laplace * len(self.positions)
        sizes = sizes[row]
        theta = np.divide(left + self.laplace, sizes, out=np.zeros_like(left), where=sizes > 0)
        logs[codes, np.arange(len(x))] = np.bincount(row, scipy.special.xlogy(values, theta), len(x))
        return logs

    def llf(self) -> float:
        """Log-likelihood of the columns, given class and sum, at the probabilities of the fit."""
        return float(scipy.special.xlogy(self.sums, self.probabilities()).sum())

    def df_model(self) -> int:
        """Free probabilities."""
        return int(self.sums.shape[0] * (self.sums.shape[1] - 1))


Other = LevelTables | KernelColumns | CountColumns


@dataclass(frozen=True, slots=True, eq=False)
class NaiveBayesFit:
    """The numbers of a naive Bayes classifier.

    Moments are of all columns, diagonal; counts are of all rows of the fit, means and sums of squares of
    those that have the column. Where each is fitted to these, `available` (K, p) is their weight. The normal
    columns have a diagonal quadratic fit, its variances smoothed.
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

    has_distances = False

    @property
    def is_normal(self) -> bool:
        """Whether every column is normal, so that the fit is a function of moments."""
        return not self.others

    @property
    def takes_stored(self) -> bool:
        """Whether every column is a count, so that rows are left out by what is stored of them."""
        return self.normal is None and all(getattr(each, "takes_stored", False) for each in self.others)

    @property
    def level_counts(self) -> tuple[Floats, ...]:
        """Weight (K, L_j) by class and level of each column of levels."""
        return () if self.tables is None else tuple(self.tables.counts)

    @property
    def sums(self) -> Floats:
        """Sums (K, J) of the columns of counts."""
        return np.zeros((len(self.prior), 0)) if self.counts is None else self.counts.sums

    @property
    def points(self) -> Floats:
        """Column, class, value and weight (n, 4) of the values of kernel densities."""
        densities = () if self.kernels is None else self.kernels.densities
        parts = [
            np.column_stack([np.full(len(d.points), j), np.full(len(d.points), c), d.points, d.weights])
            for j, column in enumerate(densities)
            for c, d in enumerate(column)
        ]
        return np.concatenate([np.zeros((0, 4)), *parts])

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

    def distances(self) -> Distances:
        """Squared distances to the class means; a NotSupportedError where no column is normal."""
        if self.normal is None:
            raise CoreNotSupportedError("no_normal_columns")
        return self.normal.distances()

    def rule(
        self, log_prior: Floats, method: str = "plugin", convention: str | None = None
    ) -> IndependentRule:
        """The decision rule under a prior (K,), by "plugin" alone; it integrates out missing columns."""
        if method != "plugin":
            raise CoreNotSupportedError("plugin_of_naive_bayes", method=method)
        whole = None
        if self.normal is not None:
            whole = gaussian.separate_plugin(self.normal.moments, self.normal.covariances, log_prior)
        return IndependentRule(log_prior, whole, self.plan.normal, self.others)

    def refit(self, moments: ClassMoments, tally: Tally | None = None) -> NaiveBayesFit | None:
        """The same model of other rows, with the same prior; None where a density does not exist.

        What is not a function of moments takes the tally of the rows too.
        """
        # Without a tally all columns are normal, whichever are left.
        tally = tally or Tally(self.plan.columns(np.arange(moments.n_columns)), moments.n_classes)
        if not has_fit(moments, tally):
            return None
        fit = fit_naive_bayes(moments, tally, self.prior, estimated_prior=self.estimated_prior)
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
            gone = removal(self.moments.counts[codes], weights, self.moments.total)
            return settle(total, codes, gone, np.asarray(np.isnan(total).any(axis=0))).T

        return scores

    def _normal_left_out(self, normal: QDAFit, log_prior: Floats) -> LeftOut:
        if self.available is not None:
            short = 1.0 if self.method == "moment" else 0.0
            return available_left_out(normal.moments, self._of_normal, log_prior, short)
        if not self.smoothing:
            return normal.left_out(log_prior)
        distances = normal.distances()
        moments = normal.moments
        divisors = normal.divisors
        added = added_variances(moments, self.smoothing)

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            both = added, _added_without(moments, self.smoothing, x, weights)
            return diagonal_scores(x, codes, weights, distances, moments.counts, divisors, log_prior, both)

        return scores

    def without_bandwidth(self) -> Mask:
        """Which kernel densities (K, q) do not exist, as their rule gives no bandwidth."""
        if self.kernels is None:
            return np.zeros((self.moments.n_classes, 0), dtype=bool)
        return np.asarray(~(self.kernels.bandwidths() > 0))

    def df_model(self) -> int:
        """Free parameters: of each density and, where estimated, of the prior.

        A NotSupportedError where there are kernels, which have no count of parameters.
        """
        self._refuse_kernels("A number of free parameters")
        k = self.moments.n_classes
        parts = sum(part.df_model() for part in (self.tables, self.counts) if part is not None)
        return 2 * k * len(self.plan.normal) + parts + (k - 1 if self.estimated_prior else 0)

    def llf(self) -> float:
        """Log-likelihood of class and row; variances have the divisor n_k, all are smoothed as the fit is.

        A NotSupportedError where there are kernels, which do not maximise a likelihood.
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
        return np.zeros((0, 0)) if self.available is None else self.available[:, self.plan.normal]

    def _normal_llf(self, normal: QDAFit) -> float:
        moments = normal.moments
        if self.available is not None:
            # Sums of squares are of the rows that have the column.
            variances = moments.scatters / self._of_normal
            variances += added_variances(moments, self.smoothing, self._of_normal)
            logs = np.log(2 * np.pi * variances) - 2.0 * np.log(moments.scale)
            with np.errstate(divide="ignore"):
                classes = float(self.moments.counts @ np.log(self.prior))
            return classes - 0.5 * float((self._of_normal * logs + moments.scatters / variances).sum())
        if not self.smoothing:
            return normal.llf()
        added = added_variances(moments, self.smoothing)
        variances = moments.scatters / moments.counts[:, None] + added
        # Beyond the maximum, where a sum of squares is n_k variances: it is short of that by n_k added.
        surplus = 0.5 * float(moments.counts @ (added / variances).sum(axis=1))
        log_prior = logs_of_prior(self.prior)
        return gaussian.log_likelihood(moments, np.log(variances).sum(axis=1), log_prior) + surplus

    def _refuse_kernels(self, what: str) -> None:
        if self.kernels is not None:
            raise CoreNotSupportedError("kernel_densities", what=what)


def fit_naive_bayes(
    moments: ClassMoments, tally: Tally, prior: Floats, *, estimated_prior: bool = True
) -> NaiveBayesFit:
    """Fit from diagonal moments by class and a tally that `has_fit` accepts.

    Kernel densities may lack a bandwidth: see `NaiveBayesFit.without_bandwidth`.
    """
    plan = tally.plan
    available = tally.available
    normal = tables = kernels = counts = None
    if len(plan.normal):
        stats = _normal_moments(moments, plan)
        model = DiagonalCovariance()
        if plan.smoothing or available is not None:
            of_normal = None if available is None else available[:, plan.normal]
            sds = np.sqrt(_smoothed(stats, plan, of_normal))
            covariances = tuple(Covariance.from_root(sd) for sd in sds)
            divisors = divisors_by_class(stats.counts, plan.method)
            normal = QDAFit(stats, prior, estimated_prior, plan.method, covariances, divisors, model)
        else:
            normal = fit_qda(stats, prior, model, method=plan.method, estimated_prior=estimated_prior)
    if len(plan.tables):
        tables = LevelTables(plan.tables, tuple(tally.tables), plan.laplace)
    if len(plan.kernels):
        given = plan.bandwidths[plan.kernels]
        densities = tuple(
            tuple(KernelDensity.of(values, weights, plan.rule, float(width)) for values, weights in by_class)
            for by_class, width in zip(tally.by_class(), given, strict=True)
        )
        kernels = KernelColumns(plan.kernels, densities, plan.rule, given)
    if len(plan.counts):
        counts = CountColumns(plan.counts, tally.sums, plan.laplace)
    parts = normal, tables, kernels, counts
    return NaiveBayesFit(moments, prior, estimated_prior, plan, *parts, available)


def _normal_moments(moments: ClassMoments, plan: ColumnPlan) -> ClassMoments:
    return moments if len(plan.normal) == moments.n_columns else moments.columns(plan.normal)


def has_fit(moments: ClassMoments, tally: Tally) -> bool:
    """Whether every class has rows, and every density but those of kernels exists."""
    plan = tally.plan
    available = tally.available
    if (moments.rows < 1).any() or (available is not None and not (available > 0).all()):
        return False
    if len(plan.normal):
        of_normal = None if available is None else available[:, plan.normal]
        if not has_variances(_normal_moments(moments, plan), plan, of_normal):
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
    gaps = (standard_columns(x, moments.origin, moments.scale) - middle[:, None]) ** 2
    left = squares - out * total / (total - out) * gaps
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


def naive_bayes_of_tables(
    moments: ClassMoments,
    prior: Floats,
    *,
    estimated_prior: bool,
    plan: ColumnPlan,
    level_counts: tuple[Floats, ...],
    sums: Floats,
    points: Floats,
    available: Floats | None,
) -> NaiveBayesFit:
    """Return the fit of moments, tables of levels, sums of counts and values of kernel densities.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of all columns.
    prior : (K,) float
    estimated_prior : bool
    plan : ColumnPlan
    level_counts : tuple of (K, L_j) float
        Weight by class and level of each column of levels.
    sums : (K, J) float
        Sums of the columns of counts.
    points : (n, 4) float
        Column, class, value and weight of the values of kernel densities.
    available : (K, p) float or None
        Weight of the rows that have each column, if it is not that of all rows.

    Returns
    -------
    NaiveBayesFit

    Raises
    ------
    InvalidStateError
        They contradict each other, or a density does not exist.
    """
    k, p = moments.centres.shape
    shapes = plan.families.shape, plan.sizes.shape, plan.bandwidths.shape
    _check(shapes == ((p,),) * 3, "its plan is not of its columns")
    families = ((plan.families >= 0) & (plan.families <= 3)).all() and (plan.bandwidths >= 0).all()
    _check(bool(families), "its columns are of no kind that is known")
    words = plan.rule in FACTORS and plan.unseen in ("raise", "missing") and plan.method in ("moment", "mle")
    _check(words, "its options are not those of naive Bayes")
    _check(min(plan.laplace, plan.smoothing) >= 0, "its smoothing, or its laplace, is negative")
    # Tables take memory for each level: there are as many in all as the file has.
    sizes = tuple((k, size) for size in plan.sizes[plan.tables].tolist())
    _check(tuple(n.shape for n in level_counts) == sizes, "its tables do not fit its columns")
    _check(sums.shape == (k, len(plan.counts)), "its sums do not fit its columns")
    _check(points.shape[1:] == (4,), "its values of kernel densities have no place")
    tally = Tally(plan, k, available)
    tally.tables = list(level_counts)
    counts = moments.counts[:, None] if available is None else available
    there = (counts > 0).all() and (counts <= moments.counts[:, None] * (1 + 1e-9)).all()
    _check(bool(there), "it has no rows")
    counts = np.broadcast_to(counts, (k, p))
    pairs = zip(tally.tables, counts[:, plan.tables].T, strict=True)
    near = [np.allclose(n.sum(axis=1), rows, rtol=1e-9) and (n >= 0).all() for n, rows in pairs]
    _check(all(near) and bool((sums >= 0).all()), "a table is no table of counts")
    tally.sums = sums
    tally.values = _values(points, counts[:, plan.kernels])
    _check(has_fit(moments, tally), "a density of it does not exist, as a variance is zero or not finite")
    fit = fit_naive_bayes(moments, tally, prior, estimated_prior=estimated_prior)
    _check(not fit.without_bandwidth().any(), "a kernel density of it has no bandwidth")
    return fit


def _values(points: Floats, counts: Floats) -> list[list[Piece]]:
    """Values of the columns with kernel densities, as a tally has them; `counts` (K, q) are their rows."""
    k, q = counts.shape
    placed = are_whole(points[:, 0], 0, q - 1) and are_whole(points[:, 1], 0, k - 1)
    _check(bool(placed and (points[:, 3] > 0).all()), "a value of a kernel density has no place")
    values: list[list[Piece]] = []
    for j in range(q):
        _, classes, column, weights = points[points[:, 0] == j].T
        codes = classes.astype(np.intp)
        sums = np.bincount(codes, weights, k)
        _check(np.allclose(sums, counts[:, j], rtol=1e-9), "a kernel density misses rows")
        values.append([(column, codes, weights)])
    return values


def _check(right: bool, what: str) -> None:
    if not right:
        raise InvalidStateError(what)
