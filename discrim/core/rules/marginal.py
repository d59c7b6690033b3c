"""Rows of which some columns are missing, by the law of the others.

Theory. A row x = (o, m), of which m is missing, has within class k the density of o, the integral of that of
x over m. Of a normal class it is normal again, with the mean and the covariance of the columns o alone. A
class is then as probable as prior_k times that density, and as its prior where nothing is observed. This is
right where that a value is missing does not depend on the missing values themselves (Little & Rubin, 2020,
Statistical Analysis with Missing Data, 3rd ed., sec. 1.3 and ch. 11).

The rule of the columns o is one more rule of the same kind, so that it has the digits of the rule of complete
rows. Rows that miss the same columns share it: one factorization a pattern and class, none a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.rules import Rule

__all__ = ["MarginalRule", "means_of_columns", "patterns"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

HELD = 2**23
"""Numbers that rules of patterns may hold, at p^2 for each class, before they are made anew."""


def patterns(holes: NDArray[np.bool_]) -> list[tuple[Codes, Codes]]:
    """The columns that are there, and the rows that have these and no others, pattern by pattern.

    Parameters
    ----------
    holes : (m, p) bool
        True where a value is missing.

    Examples
    --------
    >>> import numpy as np
    >>> holes = np.array([[True, False], [False, False], [True, False]])
    >>> [(columns.tolist(), rows.tolist()) for columns, rows in patterns(holes)]
    [([0, 1], [1]), ([1], [0, 2])]
    """
    if not len(holes):
        return []
    packed = np.packbits(holes, axis=1)
    _, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    rows = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    return [(np.flatnonzero(~holes[i]), own) for i, own in zip(first.tolist(), rows, strict=True)]


@dataclass(frozen=True, slots=True)
class MarginalRule:
    """A rule of complete rows, and of rows without some columns those of the others.

    Attributes
    ----------
    rule : Rule
    log_prior : (K,) float
        The scores of a row of which nothing is known.
    of_columns : callable
        From positions (q,) of some columns to the rule of these.
    """

    rule: Rule
    log_prior: Floats
    of_columns: Callable[[Codes], Rule]
    _made: dict[bytes, Rule] = field(default_factory=dict, repr=False, compare=False)

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p), of which missing values (NaN) are integrated out."""
        scores = np.asarray(self.rule.scores(x))
        holes = np.isnan(x)
        rows = np.flatnonzero(holes.any(axis=1))
        for columns, at in patterns(holes[rows]):
            own = rows[at]
            if len(columns):
                scores[own] = self._rule_of(columns).scores(np.take(x[own].T, columns, axis=0).T)
            else:
                scores[own] = self.log_prior
        return scores

    def _rule_of(self, columns: Codes) -> Rule:
        key = columns.tobytes()
        if key not in self._made:
            if len(self._made) * len(self.log_prior) * len(columns) ** 2 > HELD:
                self._made.clear()
            self._made[key] = self.of_columns(columns)
        return self._made[key]


def means_of_columns(moments: ClassMoments, keep: Codes) -> ClassMoments:
    """Counts, means and sums of squares of some columns, without products of columns."""
    return replace(
        moments,
        centres=moments.centres[:, keep],
        rests=moments.rests[:, keep],
        scale=moments.scale[keep],
        scatters=moments.squares[:, keep],
        roots=None,
    )
