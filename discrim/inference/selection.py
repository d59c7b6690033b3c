"""Criteria of variable selection, computed from updated triangular roots of the scatters.

Stepwise selection adds and removes terms of a `SelectedColumns`.

Theory. A root of the within-class scatter that is triangular in the chosen columns s contains, for every
other column j, its residuals given s, with sum of squares W_jj.s; likewise for the total scatter T. For a
term of g columns, partial Wilks' lambda is |W_gg.s|/|T_gg.s| with Rao's F, for one column the exact (1 -
lambda)/lambda (N - K - |s|)/(K - 1). (R's klaR has one degree of freedom too few there.) For a chosen term,
the ratio is computed from the rows of the inverse triangles. Adding a term increases the squared distance
between two classes by d'W_gg.s^-1 d with d the difference of the means given the chosen columns, and Rao's V,
the Hotelling-Lawley trace times N - K, accordingly (Rao, 1952, Advanced Statistical Methods in Biometric
Research). The unexplained variation of two classes, one minus the squared correlation of their discriminant
with the label for equal proportions, is 4/(4 + D2); "minresid" sums it over the pairs.

The tolerance of a chosen column is the proportion of its within-class variance not explained by the other
chosen columns: 1/(W_jj w) with w the squared length of its row in the inverse triangle.

Scatter matrices are not formed or swept. Columns that pass `dependencies` are therefore never rejected here,
and results have the accuracy of a fit to the same columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import (
    UpdatedRoot,
    qr_rounding,
    residual_tolerance,
    scaled_cholesky,
)
from discrim.core.covariance.principal import weighted_centre
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import EPS, Codes, Floats
from discrim.core.numerics.special import f_sf
from discrim.core.rules.leave_one_out import squared_distances_between_means


@dataclass(frozen=True, slots=True)
class PartialTest:
    """Test of a term given the other chosen terms, by partial Wilks' lambda.

    Attributes
    ----------
    wilks : float
        Partial Wilks' lambda, from 0 to 1.
    F, df1, df2, pvalue : float
        Rao's F, its degrees of freedom and p-value. They are not valid unless `df2` is positive.
    """

    wilks: float
    F: float
    df1: float
    df2: float
    pvalue: float


class CriterionValue(NamedTuple):
    """Value of a selection criterion.

    Attributes
    ----------
    value : float
        The value.
    pair : (int, int) or None
        Codes, the smaller one first, of the two classes that determine the value of the `PAIR_CRITERIA`; None
        for other criteria.
    """

    value: float
    pair: tuple[int, int] | None = None


PAIR_CRITERIA = ("mahalanobis", "maxminf")
"""Criteria whose value is computed from one pair of classes, the closest one."""

MINIMIZED_CRITERIA = ("wilks", "minresid")
"""Criteria for which smaller values are better."""


class SelectedColumns:
    """Columns chosen in a stepwise selection, with the statistics of adding or removing terms.

    Roots of the within-class and total scatters are kept triangular in the chosen columns. A term is an array
    of the positions of its columns. The object changes with `add_or_remove` only. In the docstrings of the
    methods m is the number of chosen columns, K the number of classes, and N the number of rows.

    Parameters
    ----------
    moments : ClassMoments
        Moments of all p candidate columns, with scatters or their roots.

    Attributes
    ----------
    n_classes : int
        Number of classes K.
    """

    def __init__(self, moments: ClassMoments) -> None:
        """Compute the roots of the scatters; no column is chosen yet."""
        means = moments.means
        within = moments.pool_classes()
        column_norms = np.sqrt(within.squares[0])
        rounding = EPS * np.sqrt(moments.total) * moments.magnitude
        self._is_constant = column_norms <= rounding
        unit = 1 / np.where(self._is_constant, 1.0, column_norms)
        self._rounding, self._qr_rounding = rounding * unit, qr_rounding(moments)
        self._centred = centred = (means - weighted_centre(means, moments.counts)) * unit
        # With fewer rows than columns the remaining rows of the root are zero.
        root = (_pooled_root(within, self._is_constant) * unit)[: int(moments.rows.sum())]
        weighted_means = np.sqrt(moments.counts)[:, None] * centred
        self._within = UpdatedRoot(root)
        self._total = UpdatedRoot(np.asarray(np.linalg.qr(np.concatenate([root, weighted_means]), mode="r")))
        self.n_classes = moments.n_classes
        self._counts = moments.counts
        self._nu = moments.total - moments.n_classes
        self._inverses: tuple[Floats, Floats] | None = None
        self._clearly_independent: NDArray[np.bool_] | None = None

    @property
    def pivots(self) -> list[int]:
        """Positions of the chosen columns, in the order in which they were added."""
        return self._within.pivots

    # ---- one term at a time

    def is_dependent(self, columns: Codes) -> bool:
        """Return whether the columns of a term are collinear, within classes, given the chosen columns.

        A column is collinear if it is a linear combination of the chosen columns and the earlier columns of
        the term. The criterion agrees with `dependencies` for this order of the columns.

        Parameters
        ----------
        columns : (g,) int
            Positions of the columns of the term, none of them chosen.

        Returns
        -------
        bool
            True also if a column is constant within classes.
        """
        if self._is_constant[columns].any():
            return True
        within = self._within
        n_chosen = len(self.pivots)
        residuals = within.residuals(columns)
        if len(residuals) < len(columns):
            return True
        if len(columns) == 1 and self._clearly_independent_mask()[columns[0]]:
            return False
        residual_root = np.linalg.qr(residuals, mode="r")
        root = np.zeros((n_chosen + len(columns), n_chosen + len(columns)))
        root[:n_chosen, :n_chosen], root[:n_chosen, n_chosen:], root[n_chosen:, n_chosen:] = (
            within.triangle(),
            within.leading_rows(columns),
            residual_root,
        )
        order = np.array([*self.pivots, *columns.tolist()])
        for i in range(n_chosen, len(root)):
            slopes = scipy.linalg.solve_triangular(root[:i, :i], root[:i, i]) if i else np.zeros(0)
            residual_bound = residual_tolerance(
                slopes, self._rounding[order[i]], self._rounding[order[:i]], self._qr_rounding
            )
            if abs(root[i, i]) <= residual_bound:
                return True
        return False

    def _clearly_independent_mask(self) -> NDArray[np.bool_]:
        """Return a mask (p,) of columns whose residual exceeds rounding errors for any coefficients.

        A column outside the mask has to be examined by itself. The mask is cached until columns are added or
        removed.
        """
        if self._clearly_independent is None:
            # The norm of the inverse triangle bounds the coefficients of unit-norm columns.
            inverse_norm = float(np.linalg.norm(self._inverse_triangles()[0])) if self.pivots else 0.0
            other_rounding = inverse_norm * np.sqrt(len(self.pivots)) * self._rounding.max(initial=0.0)
            bound = self._rounding + other_rounding + self._qr_rounding * np.hypot(1, inverse_norm)
            self._clearly_independent = np.sqrt(self._within.squares()) > bound
        return self._clearly_independent

    def _inverse_triangles(self) -> tuple[Floats, Floats]:
        """Return the inverses of the triangular roots of the scatters of the m chosen columns, cached.

        Returns
        -------
        within, total : (m, m) float
            Upper triangular inverse R^-1 of the root R of the within-class and of the total scatter, R'R. The
            columns of R, and therefore the rows of R^-1, are in the order of `pivots`.
        """
        if self._inverses is None:
            self._inverses = self._within.inverse(), self._total.inverse()
        return self._inverses

    def partial_tests(self, terms: Sequence[Codes]) -> list[PartialTest]:
        """Test terms given the chosen columns; or, if the terms are chosen, given the other chosen columns.

        Parameters
        ----------
        terms : sequence of (g,) int
            Positions of the columns of each term; either all terms are chosen or none is.

        Returns
        -------
        list of PartialTest
            In the order of the terms.
        """
        if not terms:
            return []
        is_chosen = terms[0][0] in self.pivots
        log_lambdas = np.minimum(self._log_lambdas(terms, is_chosen), 0.0)
        g = np.array([len(columns) for columns in terms], dtype=np.float64)
        return self._rao_f_tests(
            log_lambdas, g, self._nu - len(self.pivots) + (g if is_chosen else np.zeros(len(g)))
        )

    def overall_test(self) -> PartialTest:
        """Test all chosen columns together, by Wilks' lambda of equal class means in these columns."""
        log = np.array([min(self._log_wilks(), 0.0)])
        return self._rao_f_tests(log, np.array([float(len(self.pivots))]), np.array([self._nu]))[0]

    def _log_wilks(self) -> float:
        """Return the logarithm of Wilks' lambda of the chosen columns."""
        within, total = (np.diagonal(root.triangle()) for root in (self._within, self._total))
        return 2.0 * float((np.log(np.abs(within)) - np.log(np.abs(total))).sum())

    def _rao_f_tests(self, log_lambdas: Floats, g: Floats, v: Floats) -> list[PartialTest]:
        """Compute Rao's F tests of partial lambdas.

        Parameters
        ----------
        log_lambdas : (t,) float
            Logarithms of the lambdas.
        g : (t,) float
            Number of columns of each term.
        v : (t,) float
            Within-class degrees of freedom, N - K minus the number of columns for which the term is adjusted.

        Returns
        -------
        list of PartialTest
        """
        q = self.n_classes - 1
        denominator = g**2 + q**2 - 5
        rao = np.sqrt(np.maximum(g**2 * q**2 - 4, 0.0) / np.where(denominator > 0, denominator, 1.0))
        t = np.where((denominator > 0) & (g * q > 2), rao, 1.0)
        df1 = g * q
        df2 = t * (v - (g - q + 1) / 2) - (g * q - 2) / 2
        f = np.expm1(-log_lambdas / t) * df2 / df1
        columns_of = (np.exp(log_lambdas), f, df1, df2, f_sf(f, df1, df2))
        return [PartialTest(*row) for row in np.stack(columns_of, axis=1).tolist()]

    def _log_lambdas(self, terms: Sequence[Codes], are_chosen: bool) -> Floats:
        """Return the logarithms of partial Wilks' lambda of terms.

        Parameters
        ----------
        terms : sequence of (g,) int
            Positions of the columns of each of t terms.
        are_chosen : bool
            Whether all terms are chosen; otherwise none is.

        Returns
        -------
        (t,) float
            Given all chosen columns, or, for chosen terms, all other chosen columns. May exceed zero by
            rounding.
        """
        single = np.array([columns[0] for columns in terms])
        if are_chosen:
            pivot_positions = {column: i for i, column in enumerate(self.pivots)}
            # Both triangles have the chosen columns in the same order.
            positions = [np.array([pivot_positions[c] for c in columns.tolist()]) for columns in terms]
            within, total = self._inverse_triangles()
            firsts = np.array([term_positions[0] for term_positions in positions])
            within_squares, total_squares = (
                (inverse[firsts] ** 2).sum(axis=1) for inverse in (total, within)
            )
        else:
            within_squares = self._within.squares()[single]
            total_squares = self._total.squares()[single]
        log_lambdas = np.log(np.where(within_squares > 0, within_squares / total_squares, 1.0))
        for i, columns in enumerate(terms):
            if len(columns) == 1:
                continue
            if are_chosen:
                blocks = total[positions[i]].T, within[positions[i]].T
            else:
                blocks = self._within.residuals(columns), self._total.residuals(columns)
            log_lambdas[i] = _gram_logdet(blocks[0]) - _gram_logdet(blocks[1])
        return np.asarray(log_lambdas)

    def criterion_with_term(self, columns: Codes, criterion: str) -> CriterionValue:
        """Return the value that a criterion would have after adding a term, without adding it.

        Parameters
        ----------
        columns : (g,) int
            Positions of the columns of the term, none of them chosen and none dependent (`is_dependent`).
        criterion : str
            Name of the criterion, see `criterion_value`.

        Returns
        -------
        CriterionValue
        """
        if criterion == "wilks":
            return CriterionValue(
                self.criterion_value("wilks").value * self.partial_tests([columns])[0].wilks
            )
        scores = self._whitened_means(self._within)
        residual_means = self._centred[:, columns].T - self._within.leading_rows(columns).T @ scores
        residual_root = np.linalg.qr(self._within.residuals(columns), mode="r")
        added_scores = scipy.linalg.solve_triangular(residual_root, residual_means, trans=1)
        return self._criterion_value(np.concatenate([scores, added_scores]), criterion)

    def criterion_without_term(self, columns: Codes, criterion: str) -> CriterionValue:
        """Return the value that a criterion would have after removing a chosen term, without removing it.

        Parameters
        ----------
        columns : (g,) int
            Positions of the columns of the term, all of them chosen.
        criterion : str
            Name of the criterion, see `criterion_value`.

        Returns
        -------
        CriterionValue
        """
        if criterion == "wilks":
            return CriterionValue(
                self.criterion_value("wilks").value / self.partial_tests([columns])[0].wilks
            )
        remaining = [i for i, column in enumerate(self.pivots) if column not in columns]
        triangle = np.linalg.qr(self._within.triangle()[:, remaining], mode="r")
        means = self._centred[:, np.array(self.pivots)[remaining]].T
        return self._criterion_value(scipy.linalg.solve_triangular(triangle, means, trans=1), criterion)

    def criterion_value(self, criterion: str) -> CriterionValue:
        """Return the value of a criterion for the chosen columns.

        Parameters
        ----------
        criterion : {"wilks", "mahalanobis", "maxminf", "minresid", "rao"}
            Wilks' lambda; smallest squared Mahalanobis distance, or smallest F, of two classes; unexplained
            variation, summed over the pairs of classes; or Rao's V. Covariances have the divisor N - K.

        Returns
        -------
        CriterionValue
        """
        if criterion == "wilks":
            return CriterionValue(float(np.exp(self._log_wilks())))
        return self._criterion_value(self._whitened_means(self._within), criterion)

    def tolerances(self) -> Floats:
        """Return the tolerances (m,) of the chosen columns.

        The tolerance of a column is the proportion of its within-class variance that the other chosen columns
        do not explain. The order is the same as in `pivots`.
        """
        return np.asarray(1 / (self._inverse_triangles()[0] ** 2).sum(axis=1))

    def tolerances_with(self, columns: Codes) -> tuple[float, float]:
        """Return the smallest tolerances that columns would have after adding a term, without adding it.

        Parameters
        ----------
        columns : (g,) int
            Positions of the columns of the term, none of them chosen.

        Returns
        -------
        term_tolerance, min_tolerance : float
            Smallest tolerance of the columns of the term, and of all chosen columns including them; zero if a
            column is constant or collinear.
        """
        if self._is_constant[columns].any() or len(self._within.residuals(columns)) < len(columns):
            return 0.0, 0.0
        residual_root = np.linalg.qr(self._within.residuals(columns), mode="r")
        if not np.diagonal(residual_root).all():
            return 0.0, 0.0
        inverse = scipy.linalg.solve_triangular(residual_root, np.eye(len(columns)))
        term_tolerance = float((1 / (inverse**2).sum(axis=1)).min())
        if not self.pivots:
            return term_tolerance, term_tolerance
        slopes = self._inverse_triangles()[0] @ self._within.leading_rows(columns) @ inverse
        chosen_tolerances = 1 / (1 / self.tolerances() + (slopes**2).sum(axis=1))
        return term_tolerance, min(term_tolerance, float(chosen_tolerances.min()))

    def pair_distances(self) -> tuple[Floats, Floats, float, float]:
        """Compute the distances between the classes in the chosen columns.

        Returns
        -------
        d2, f : (K, K) float
            Squared Mahalanobis distances under the pooled covariance with divisor N - K, and Hotelling's F
            statistics of equal means.
        df1, df2 : float
            Degrees of freedom of the F statistics, m and N - K - m + 1.
        """
        d2 = self._nu * squared_distances_between_means(self._whitened_means(self._within).T)
        p = len(self.pivots)
        return d2, self._pair_f(d2, p), float(p), self._nu - p + 1

    def add_or_remove(self, columns: Codes) -> None:
        """Add a term to the chosen columns, or remove it if it is chosen.

        Parameters
        ----------
        columns : (g,) int
            Positions of the columns of the term; either all are chosen or none is.
        """
        self._inverses = self._clearly_independent = None
        for root in (self._within, self._total):
            is_chosen = columns[0] in root.pivots
            for column in columns.tolist():
                root.drop(column) if is_chosen else root.add(column)

    # ---- all chosen columns

    @property
    def pillai(self) -> float:
        """Pillai's trace of equal means in the chosen columns.

        It is (K - 1) times SAS's average squared canonical correlation.
        """
        return float(self._counts @ (self._whitened_means(self._total) ** 2).sum(axis=0))

    def _whitened_means(self, root: UpdatedRoot) -> Floats:
        """Return class means (m, K) in the chosen columns, minus the overall mean, whitened by root'root.

        `root` is the root of the within-class or of the total scatter, not of a covariance.
        """
        return root.solve(self._centred[:, root.pivots].T, transposed=True)

    def _criterion_value(self, scores: Floats, criterion: str) -> CriterionValue:
        """Return the value of a criterion from whitened class means.

        Parameters
        ----------
        scores : (m, K) float
            Class means whitened by the within-class scatter (not the covariance).
        criterion : {"mahalanobis", "maxminf", "minresid", "rao"}
            Name of the criterion, see `criterion_value`; "wilks" cannot be computed from the means.

        Returns
        -------
        CriterionValue
        """
        if criterion == "rao":
            return CriterionValue(float(self._nu * (self._counts @ (scores**2).sum(axis=0))))
        i, j = np.triu_indices(self.n_classes, 1)
        d2 = self._nu * squared_distances_between_means(scores.T)
        if criterion == "minresid":
            return CriterionValue(float((4 / (4 + d2[i, j])).sum()))
        criterion_values = (self._pair_f(d2, len(scores)) if criterion == "maxminf" else d2)[i, j]
        closest_pair = int(criterion_values.argmin())
        return CriterionValue(
            float(criterion_values[closest_pair]), (int(i[closest_pair]), int(j[closest_pair]))
        )

    def _pair_f(self, d2: Floats, p: int) -> Floats:
        """Return Hotelling's F (K, K) for squared Mahalanobis distances (K, K) of classes in p columns."""
        n = self._counts
        return d2 * (n[:, None] * n / (n[:, None] + n)) * (self._nu - p + 1) / (self._nu * max(p, 1))


def _pooled_root(pooled: ClassMoments, is_constant: NDArray[np.bool_]) -> Floats:
    """Return an upper triangular root (p, p) of the pooled scatter, R'R.

    Columns that are constant within classes (mask `is_constant` (p,)) are zero. Thin roots are returned with
    fewer rows than columns.
    """
    if pooled.roots is not None:
        return np.asarray(np.where(is_constant, 0.0, pooled.roots[0]))
    varies = np.flatnonzero(~is_constant)
    scatter = pooled.scatters[0][np.ix_(varies, varies)]
    root = np.zeros((pooled.n_columns, pooled.n_columns))
    root[np.ix_(varies, varies)] = scaled_cholesky(scatter)
    return root


def _gram_logdet(block: Floats) -> float:
    """Return the log-determinant of block'block (g, g) for a block (n, g) of full column rank, n >= g.

    The rank is not checked; a block of zeros yields -inf.
    """
    return 2.0 * float(np.log(np.abs(np.diagonal(np.linalg.qr(block, mode="r")))).sum())
