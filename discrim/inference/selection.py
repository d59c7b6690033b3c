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

from discrim.core.covariance.covariance import EPS, UpdatedRoot, qr_rounding, scaled_cholesky, slack
from discrim.core.covariance.principal import weighted_centre
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import f_sf
from discrim.core.rules.leave_one_out import squared_gaps


@dataclass(frozen=True, slots=True)
class Partial:
    """Test of a term given the other chosen terms, by partial Wilks' lambda."""

    wilks: float
    F: float
    df1: float
    df2: float
    pvalue: float


class Extreme(NamedTuple):
    """Value of a criterion, and the pair of classes that determines it if there is one."""

    value: float
    pair: tuple[int, int] | None = None


NEAREST = ("mahalanobis", "maxminf")
"""Criteria that are determined by one pair of classes."""

LEAST = ("wilks", "minresid")
"""Criteria for which smaller values are better."""


class SelectedColumns:
    """Roots of the within-class and total scatters, triangular in the chosen columns.

    Parameters
    ----------
    moments : ClassMoments
    """

    def __init__(self, moments: ClassMoments) -> None:
        means = moments.means
        within = moments.pooled()
        lengths = np.sqrt(within.squares[0])
        rounding = EPS * np.sqrt(moments.total) * moments.magnitude
        self._flat = lengths <= rounding
        unit = 1 / np.where(self._flat, 1.0, lengths)
        self._rounding, self._turned = rounding * unit, qr_rounding(moments)
        self._centred = centred = (means - weighted_centre(means, moments.counts)) * unit
        # With fewer rows than columns the remaining rows of the root are zero.
        root = (_root(within, self._flat) * unit)[: int(moments.rows.sum())]
        lifts = np.sqrt(moments.counts)[:, None] * centred
        self._within = UpdatedRoot(root)
        self._total = UpdatedRoot(np.asarray(np.linalg.qr(np.concatenate([root, lifts]), mode="r")))
        self.n_classes = moments.n_classes
        self._counts = moments.counts
        self._nu = moments.total - moments.n_classes
        self._inverses: tuple[Floats, Floats] | None = None
        self._clear: NDArray[np.bool_] | None = None

    @property
    def pivots(self) -> list[int]:
        """The chosen columns."""
        return self._within.pivots

    # ---- one term at a time

    def dependent(self, columns: Codes) -> bool:
        """Return whether a column of a term is collinear within classes with chosen or other columns of it.

        The criterion is the one of `dependencies` for the columns in this order.
        """
        if self._flat[columns].any():
            return True
        within = self._within
        m = len(self.pivots)
        below = within.residuals(columns)
        if len(below) < len(columns):
            return True
        if len(columns) == 1 and self._clearly_apart()[columns[0]]:
            return False
        corner = np.linalg.qr(below, mode="r")
        root = np.zeros((m + len(columns), m + len(columns)))
        root[:m, :m], root[:m, m:], root[m:, m:] = within.triangle(), within.above(columns), corner
        order = np.array([*self.pivots, *columns.tolist()])
        for i in range(m, len(root)):
            slopes = scipy.linalg.solve_triangular(root[:i, :i], root[:i, i]) if i else np.zeros(0)
            left = slack(slopes, self._rounding[order[i]], self._rounding[order[:i]], self._turned)
            if abs(root[i, i]) <= left:
                return True
        return False

    def _clearly_apart(self) -> NDArray[np.bool_]:
        """Mask (p,) of columns whose residual exceeds the rounding error for any coefficients."""
        if self._clear is None:
            # The norm of the inverse triangle bounds the coefficients of unit-norm columns.
            reach = float(np.linalg.norm(self._inverted()[0])) if self.pivots else 0.0
            others = reach * np.sqrt(len(self.pivots)) * self._rounding.max(initial=0.0)
            bound = self._rounding + others + self._turned * np.hypot(1, reach)
            self._clear = np.sqrt(self._within.squares()) > bound
        return self._clear

    def _inverted(self) -> tuple[Floats, Floats]:
        """Inverse triangles (m, m) of the chosen columns, within classes and in total."""
        if self._inverses is None:
            self._inverses = self._within.inverse(), self._total.inverse()
        return self._inverses

    def partials(self, terms: Sequence[Codes]) -> list[Partial]:
        """Test each term given the chosen ones; or, for chosen terms, given the other chosen ones."""
        if not terms:
            return []
        inside = terms[0][0] in self.pivots
        logs = np.minimum(self._logs(terms, inside), 0.0)
        g = np.array([len(columns) for columns in terms], dtype=np.float64)
        return self._rao(logs, g, self._nu - len(self.pivots) + (g if inside else np.zeros(len(g))))

    def overall(self) -> Partial:
        """Test of all chosen columns together."""
        log = np.array([min(self._log_wilks(), 0.0)])
        return self._rao(log, np.array([float(len(self.pivots))]), np.array([self._nu]))[0]

    def _log_wilks(self) -> float:
        within, total = (np.diagonal(root.triangle()) for root in (self._within, self._total))
        return 2.0 * float((np.log(np.abs(within)) - np.log(np.abs(total))).sum())

    def _rao(self, logs: Floats, g: Floats, v: Floats) -> list[Partial]:
        """Rao's F for partial lambdas.

        Parameters
        ----------
        logs : (t,) float
            Logarithms of the lambdas.
        g : (t,) float
            Numbers of columns.
        v : (t,) float
            Within-class degrees of freedom.

        Returns
        -------
        list of Partial
        """
        q = self.n_classes - 1
        free = g**2 + q**2 - 5
        rao = np.sqrt(np.maximum(g**2 * q**2 - 4, 0.0) / np.where(free > 0, free, 1.0))
        t = np.where((free > 0) & (g * q > 2), rao, 1.0)
        df1 = g * q
        df2 = t * (v - (g - q + 1) / 2) - (g * q - 2) / 2
        f = np.expm1(-logs / t) * df2 / df1
        columns_of = (np.exp(logs), f, df1, df2, f_sf(f, df1, df2))
        return [Partial(*row) for row in np.stack(columns_of, axis=1).tolist()]

    def _logs(self, terms: Sequence[Codes], inside: bool) -> Floats:
        """Logarithms of the partial lambdas of terms; `inside` states whether the terms are chosen."""
        single = np.array([columns[0] for columns in terms])
        if inside:
            at = {column: i for i, column in enumerate(self.pivots)}
            # Both triangles have the chosen columns in the same order.
            places = [np.array([at[c] for c in columns.tolist()]) for columns in terms]
            within, total = self._inverted()
            firsts = np.array([place[0] for place in places])
            part, whole = ((inverse[firsts] ** 2).sum(axis=1) for inverse in (total, within))
        else:
            part = self._within.squares()[single]
            whole = self._total.squares()[single]
        logs = np.log(np.where(part > 0, part / whole, 1.0))
        for i, columns in enumerate(terms):
            if len(columns) == 1:
                continue
            if inside:
                parts = total[places[i]].T, within[places[i]].T
            else:
                parts = self._within.residuals(columns), self._total.residuals(columns)
            logs[i] = _log_gram(parts[0]) - _log_gram(parts[1])
        return np.asarray(logs)

    def with_term(self, columns: Codes, criterion: str) -> Extreme:
        """Value of a criterion after adding a term."""
        if criterion == "wilks":
            return Extreme(self.value("wilks").value * self.partials([columns])[0].wilks)
        scores = self._scores(self._within)
        residual_means = self._centred[:, columns].T - self._within.above(columns).T @ scores
        corner = np.linalg.qr(self._within.residuals(columns), mode="r")
        more = scipy.linalg.solve_triangular(corner, residual_means, trans=1)
        return self._value(np.concatenate([scores, more]), criterion)

    def without_term(self, columns: Codes, criterion: str) -> Extreme:
        """Value of a criterion after removing a chosen term."""
        if criterion == "wilks":
            return Extreme(self.value("wilks").value / self.partials([columns])[0].wilks)
        left = [i for i, column in enumerate(self.pivots) if column not in columns]
        triangle = np.linalg.qr(self._within.triangle()[:, left], mode="r")
        means = self._centred[:, np.array(self.pivots)[left]].T
        return self._value(scipy.linalg.solve_triangular(triangle, means, trans=1), criterion)

    def value(self, criterion: str) -> Extreme:
        """Criterion for the chosen columns: Wilks' lambda, smallest D2 or F, residual, or Rao's V."""
        if criterion == "wilks":
            return Extreme(float(np.exp(self._log_wilks())))
        return self._value(self._scores(self._within), criterion)

    def tolerances(self) -> Floats:
        """Tolerances (m,) of the chosen columns."""
        return np.asarray(1 / (self._inverted()[0] ** 2).sum(axis=1))

    def tolerances_with(self, columns: Codes) -> tuple[float, float]:
        """Smallest tolerance of the columns of a term after adding it, and of all chosen columns then."""
        if self._flat[columns].any() or len(self._within.residuals(columns)) < len(columns):
            return 0.0, 0.0
        corner = np.linalg.qr(self._within.residuals(columns), mode="r")
        if not np.diagonal(corner).all():
            return 0.0, 0.0
        inverse = scipy.linalg.solve_triangular(corner, np.eye(len(columns)))
        own = float((1 / (inverse**2).sum(axis=1)).min())
        if not self.pivots:
            return own, own
        slopes = self._inverted()[0] @ self._within.above(columns) @ inverse
        others = 1 / (1 / self.tolerances() + (slopes**2).sum(axis=1))
        return own, min(own, float(others.min()))

    def pairs(self) -> tuple[Floats, Floats, float, float]:
        """Distances between the classes in the chosen columns.

        Returns
        -------
        d2, f : (K, K) float
            Squared distances and F statistics.
        df1, df2 : float
        """
        d2 = self._nu * squared_gaps(self._scores(self._within).T)
        p = len(self.pivots)
        return d2, self._pair_f(d2, p), float(p), self._nu - p + 1

    def move(self, columns: Codes) -> None:
        """Add a term, or remove it if it is chosen."""
        self._inverses = self._clear = None
        for root in (self._within, self._total):
            inside = columns[0] in root.pivots
            for column in columns.tolist():
                root.drop(column) if inside else root.add(column)

    # ---- all chosen ones

    @property
    def pillai(self) -> float:
        """Pillai's trace of the chosen columns; K - 1 times SAS's average squared canonical correlation."""
        return float(self._counts @ (self._scores(self._total) ** 2).sum(axis=0))

    def _scores(self, root: UpdatedRoot) -> Floats:
        """Class means (m, K) on the chosen columns, whitened by a scatter."""
        return root.solved(self._centred[:, root.pivots].T, transposed=True)

    def _value(self, scores: Floats, criterion: str) -> Extreme:
        if criterion == "rao":
            return Extreme(float(self._nu * (self._counts @ (scores**2).sum(axis=0))))
        i, j = np.triu_indices(self.n_classes, 1)
        d2 = self._nu * squared_gaps(scores.T)
        if criterion == "minresid":
            return Extreme(float((4 / (4 + d2[i, j])).sum()))
        size = (self._pair_f(d2, len(scores)) if criterion == "maxminf" else d2)[i, j]
        least = int(size.argmin())
        return Extreme(float(size[least]), (int(i[least]), int(j[least])))

    def _pair_f(self, d2: Floats, p: int) -> Floats:
        """F statistics (K, K) of squared distances in p columns."""
        n = self._counts
        return d2 * (n[:, None] * n / (n[:, None] + n)) * (self._nu - p + 1) / (self._nu * max(p, 1))


def _root(pooled: ClassMoments, flat: NDArray[np.bool_]) -> Floats:
    """Root (p, p) of the pooled scatter, with zeros for constant columns."""
    if pooled.roots is not None:
        return np.asarray(np.where(flat, 0.0, pooled.roots[0]))
    varies = np.flatnonzero(~flat)
    scatter = pooled.scatters[0][np.ix_(varies, varies)]
    root = np.zeros((pooled.n_columns, pooled.n_columns))
    root[np.ix_(varies, varies)] = scaled_cholesky(scatter)
    return root


def _log_gram(block: Floats) -> float:
    """Log-determinant of block'block."""
    return 2.0 * float(np.log(np.abs(np.diagonal(np.linalg.qr(block, mode="r")))).sum())
