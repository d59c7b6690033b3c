"""Choice of variables by sweeping one matrix: what each adds to those chosen, or takes from them.

Theory. Sweeping the scatter within classes on the chosen columns s leaves, for every other column j, its
scatter given them, W_jj.s, and in the borders its class means given them (Goodnight, 1979, The American
Statistician 33, 149-158); a step costs p^2. For a term of g columns, partial Wilks' lambda is
|W_gg.s|/|T_gg.s| with T the total scatter, and Rao's F, for one column the exact (1 - lambda)/lambda (N -
K - |s|)/(K - 1). (R's klaR has one degree of freedom too few there.) Of a chosen term, the same ratio is
that of the swept inverses. The distance between two classes grows by d'W_gg.s^-1 d with d the difference
of the adjusted means, and Rao's V, the Hotelling-Lawley trace times N - K, likewise (Rao, 1952, Advanced
Statistical Methods in Biometric Research).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.canonical import weighted_centre
from discrim.core.covariance import EPS
from discrim.core.moments import ClassMoments
from discrim.core.tails import f_sf

__all__ = ["CRITERIA", "Partial", "Sweep"]

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]

CRITERIA = ("wilks", "mahalanobis", "maxminf", "rao")

TOLERANCE = 1e-8
"""Share of a column's scatter, given those chosen, below which it is taken for their combination."""


@dataclass(frozen=True, slots=True)
class Partial:
    """Test of one term given the chosen ones.

    Attributes
    ----------
    wilks : float
        Partial lambda.
    F, df1, df2, pvalue : float
    """

    wilks: float
    F: float
    df1: float
    df2: float
    pvalue: float


class Sweep:
    """Scatters within classes and in total, swept on the chosen columns.

    Attributes
    ----------
    chosen : list of int
        Columns swept.
    log_wilks : float
        ln of Wilks' lambda of the chosen columns.
    """

    def __init__(self, moments: ClassMoments) -> None:
        means = moments.means
        centred = means - weighted_centre(means, moments.counts)
        scatter = moments.pooled().scatters[0]
        lengths = np.sqrt(np.diagonal(scatter))
        self._flat = lengths <= EPS * np.sqrt(moments.total) * moments.magnitude
        unit = 1 / np.where(self._flat, 1.0, lengths)
        self._centred = centred = centred * unit
        within = scatter * unit[:, None] * unit
        self.n_columns, self.n_classes = moments.n_columns, moments.n_classes
        self._counts, self._nu = moments.counts, moments.total - moments.n_classes
        self._total = within + (centred.T * moments.counts) @ centred
        # Class means border the scatter within: sweeping leaves the means given the chosen columns.
        self._within = np.block([[within, centred.T], [centred, np.zeros((self.n_classes, self.n_classes))]])
        self.chosen: list[int] = []
        self.log_wilks = 0.0

    # ---- one term at a time

    def dependent(self, columns: Positions) -> bool:
        """Whether a term holds a column that the chosen ones, or its others, determine within classes."""
        if self._flat[columns].any():
            return True
        if len(columns) == 1:
            return bool(self._within[columns[0], columns[0]] < TOLERANCE)
        return bool(np.linalg.eigvalsh(self._within[np.ix_(columns, columns)])[0] < TOLERANCE)

    def partials(self, terms: Sequence[Positions]) -> list[Partial]:
        """What each term adds to the chosen ones, or, chosen themselves, each to the others of them."""
        if not terms:
            return []
        inside = terms[0][0] in self.chosen
        within, total = self._both
        single = np.array([columns[0] for columns in terms])
        ratio = within[single, single] / total[single, single]
        logs = np.log(np.where(ratio > 0, ratio, 1.0))
        for i, columns in enumerate(terms):
            if len(columns) > 1:
                blocks = (m[np.ix_(columns, columns)] * (-1 if inside else 1) for m in (within, total))
                own, whole = (float(np.linalg.slogdet(block)[1]) for block in blocks)
                logs[i] = own - whole
        # Swept corners are minus the inverses, whose ratio is the reciprocal.
        logs = np.minimum(-logs if inside else logs, 0.0)
        g, q = np.array([len(columns) for columns in terms], dtype=np.float64), self.n_classes - 1
        v = self._nu - len(self.chosen) + (g if inside else 0.0)
        free = g**2 + q**2 - 5
        rao = np.sqrt(np.maximum(g**2 * q**2 - 4, 0.0) / np.where(free > 0, free, 1.0))
        t = np.where((free > 0) & (g * q > 2), rao, 1.0)
        df1, df2 = g * q, t * (v - (g - q + 1) / 2) - (g * q - 2) / 2
        f = np.expm1(-logs / t) * df2 / df1
        columns_of = (np.exp(logs), f, df1, df2, f_sf(f, df1, df2))
        return [Partial(*row) for row in np.stack(columns_of, axis=1).tolist()]

    def gain(self, columns: Positions, criterion: str) -> float:
        """The criterion's value once a term is chosen: what a step maximizes among admissible terms."""
        if criterion == "wilks":
            return -self.partials([columns])[0].wilks
        block = self._within[np.ix_(columns, columns)]
        means = self._within[self.n_columns :, columns]
        return self._value(
            self._products() + means @ np.linalg.solve(block, means.T), len(columns), criterion
        )

    def value(self, criterion: str) -> float:
        """Wilks' lambda, the smallest D2 or F between two classes, or Rao's V, of the chosen columns."""
        if criterion == "wilks":
            return float(np.exp(self.log_wilks))
        return self._value(self._products(), 0, criterion)

    def sweep(self, columns: Positions) -> None:
        """Choose a term, or take a chosen one back."""
        inside = columns[0] in self.chosen
        step = np.log(self.partials([columns])[0].wilks)
        self.log_wilks += -step if inside else step
        for column in columns.tolist():
            _sweep(self._within, column, back=inside)
            _sweep(self._total, column, back=inside)
            if inside:
                self.chosen.remove(column)
            else:
                self.chosen.append(column)

    # ---- all chosen ones

    @property
    def pillai(self) -> float:
        """Pillai's trace of the chosen; over K - 1 it is SAS's average squared canonical correlation."""
        if not self.chosen:
            return 0.0
        means = self._centred[:, self.chosen]
        inverse = -self._total[np.ix_(self.chosen, self.chosen)]
        return float(self._counts @ ((means @ inverse) * means).sum(axis=1))

    @property
    def _both(self) -> tuple[Floats, Floats]:
        return self._within[: self.n_columns, : self.n_columns], self._total

    def _products(self) -> Floats:
        """M W_s^-1 M' (K, K) of the class means on the chosen columns."""
        return -self._within[self.n_columns :, self.n_columns :]

    def _value(self, products: Floats, more: int, criterion: str) -> float:
        if criterion == "rao":
            return float(self._nu * (self._counts @ np.diagonal(products)))
        own = np.diagonal(products)
        d2 = self._nu * (own[:, None] + own - 2 * products)
        if criterion == "maxminf":
            n, p = self._counts, len(self.chosen) + more
            d2 = d2 * (n[:, None] * n / (n[:, None] + n)) * (self._nu - p + 1) / (self._nu * max(p, 1))
        return float(d2[np.triu_indices(self.n_classes, 1)].min())


def _sweep(matrix: Floats, k: int, *, back: bool) -> None:
    """Sweep a symmetric matrix on column k, in place; the swept corner is minus the inverse."""
    pivot = matrix[k, k]
    line = matrix[k] / pivot
    matrix -= np.outer(matrix[:, k], line)
    matrix[k] = matrix[:, k] = -line if back else line
    matrix[k, k] = -1 / pivot
