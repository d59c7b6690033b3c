"""Rosenblatt's rule for a table without each of its rows, all of these runs side by side.

A run without row i visits the others in the order of a table that never had it: what stands at position q
of that order is row q for i > q and row q + 1 for the others. So at each step of a pass all runs look at one
of two rows, whether the order is that of the table or is drawn anew for n - 1 rows in each pass. Moves,
records and pockets are those that `discrim.core.planes.perceptron` has without the row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["left_out_planes"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def left_out_planes(
    signed: Floats,
    begin: Floats,
    *,
    passes: int,
    seed: int | None,
    every: bool,
    seen: Callable[[], object] | None = None,
) -> Floats:
    """Coefficients (n, p + 1) of the plane without each row: of the last pass, or of the pocket.

    Parameters
    ----------
    signed : (n, p + 1) float
        Rows y (1, x), of a size whose products are doubles.
    begin : (p + 1,) float
        Coefficients of every run at its beginning.
    passes : int
        After which a run is stopped.
    seed : int or None
        Of the order of the rows, new in each pass; None for the order they have.
    every : bool
        Whether the pocket counts the errors of every plane on the way; else those that the ratchet lets by.
    seen : callable, optional
        Called after each pass.

    Examples
    --------
    >>> import numpy as np
    >>> signed = np.array([[-1.0, 0.0], [-1.0, -1.0], [1.0, 3.0], [1.0, 4.0]])
    >>> left_out_planes(signed, np.zeros(2), passes=100, seed=None, every=True).tolist()
    [[-4.0, 2.0], [-1.0, 3.0], [-3.0, 2.0], [-4.0, 2.0]]
    """
    rng = None if seed is None else np.random.default_rng(seed)
    runs, found = _Runs(signed, begin, every), np.zeros(signed.shape)
    for _ in range(passes):
        order = np.arange(len(signed) - 1) if rng is None else rng.permutation(len(signed) - 1)
        at_rest = runs.visit(order)
        found[runs.without[at_rest]] = runs.coef[at_rest]
        runs.keep_only(~at_rest)
        if seen is not None:
            seen()
        if not len(runs.without):
            return found
    found[runs.without] = runs.pocket
    return found


class _Runs:
    """Coefficients under way of m runs, the rows (m,) that they are without, and the best of each."""

    def __init__(self, signed: Floats, begin: Floats, every: bool) -> None:
        n = len(signed)
        self.signed, self.step, self.every = signed, 0, every
        self.without = np.arange(n)
        # A row on the plane is called by the name of the first class: right only if it is of this one.
        order = np.argsort(signed[:, 0] < 0, kind="stable")
        self.sorted, self.second = signed[order], int((signed[:, 0] > 0).sum())
        self.place = np.argsort(order)
        self.coef, self.pocket = np.tile(begin, (n, 1)), np.zeros(signed.shape)
        self.fewest, self.longest = np.full(n, n - 1), np.zeros(n, dtype=np.intp)
        self.since = np.zeros(n, dtype=np.intp)
        """The step after the last move."""

    def visit(self, order: Codes) -> NDArray[np.bool_]:
        """One pass; which of the runs (m,) moved nothing in it."""
        signed, at_rest, values = self.signed, np.ones(len(self.coef), dtype=bool), np.empty(len(self.coef))
        splits = np.searchsorted(self.without, order, side="right")
        for q, split in zip(order.tolist(), splits.tolist(), strict=True):
            np.dot(self.coef[:split], signed[q + 1], out=values[:split])
            np.dot(self.coef[split:], signed[q], out=values[split:])
            wrong = np.flatnonzero(values <= 0)
            if wrong.size:
                self._move(wrong, q, int(np.searchsorted(wrong, split)))
                at_rest[wrong] = False
            self.step += 1
        self._keep(np.arange(len(self.coef)))
        return at_rest

    def keep_only(self, which: NDArray[np.bool_]) -> None:
        """Go on with some of the runs (m,)."""
        for name in ("without", "coef", "pocket", "fewest", "longest", "since"):
            setattr(self, name, getattr(self, name)[which])

    def _move(self, wrong: Codes, q: int, split: int) -> None:
        """Move runs that row q + 1, or from a split on row q, is on the wrong side of."""
        right = self.step - self.since[wrong]
        # Runs of no row have no record to beat, and yet any coefficients are better than none.
        record = (right > self.longest[wrong]) | (self.fewest[wrong] == len(self.signed) - 1) | self.every
        if record.any():
            self._keep(wrong[record])
        self.coef[wrong[:split]] += self.signed[q + 1]
        self.coef[wrong[split:]] += self.signed[q]
        self.since[wrong] = self.step + 1

    def _keep(self, at: Codes) -> None:
        """Put coefficients of runs into their pockets where none have had so few errors."""
        coef = self.coef[at]
        values = coef @ self.sorted.T
        rows, own = np.arange(len(at)), self.place[self.without[at]]
        errors = np.count_nonzero(values[:, : self.second] <= 0, axis=1)
        errors += np.count_nonzero(values[:, self.second :] < 0, axis=1)
        errors -= np.where(own < self.second, values[rows, own] <= 0, values[rows, own] < 0)
        better = (errors < self.fewest[at]) & coef.any(axis=1)
        self.pocket[at[better]], self.fewest[at[better]] = coef[better], errors[better]
        self.longest[at[better]] = self.step - self.since[at[better]]
