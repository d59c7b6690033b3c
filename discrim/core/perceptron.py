"""Rosenblatt's perceptron, its bound, and the pocket.

Theory (Rosenblatt, 1958, Psychological Review 65, 386-408). Rows z = (1, x) of the two classes carry y = 1
and -1. From b = 0, rows are visited in turn, and one on the wrong side, y z'b <= 0, moves b by step * y z.
Where some b of length one has y z'b >= m > 0 for all rows, and R is the length of the longest, there are at
most (R/m)^2 moves (Novikoff, 1962, Proc. Symposium on the Mathematical Theory of Automata 12, 615-622), for
every step and every order; the step only scales b. Where there is no such b the rule runs for ever; the
*pocket* then keeps the b that had the fewest errors when it had survived the longest run of rows (Gallant,
1990, IEEE Transactions on Neural Networks 1, 179-191, with the ratchet).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Perceptron", "perceptron"]

Floats = NDArray[np.float64]

PIECES = (32, 8192)
"""Rows looked at at once: after a move few, for the next may be near; then ever more."""


@dataclass(frozen=True, slots=True)
class Perceptron:
    """Where the rule ended.

    Attributes
    ----------
    coef : (p + 1,) float
        The intercept first: of the last pass where it converged, else of the pocket.
    converged : bool
        A pass over all rows moved nothing.
    history : (passes, 2) int
        Moves in each pass, and rows on the wrong side of the plane at its end.
    errors : int
        Rows on the wrong side of the plane kept.
    """

    coef: Floats
    converged: bool
    history: NDArray[np.int64]
    errors: int


def perceptron(
    x: Floats, positive: NDArray[np.bool_], *, step: float, passes: int, seed: int | None
) -> Perceptron:
    """Rosenblatt's rule, pass after pass until one moves nothing.

    Parameters
    ----------
    x : (n, p) float
    positive : (n,) bool
        Rows of y = 1.
    step : float
    passes : int
        After which the rule is stopped.
    seed : int or None
        Of the order of the rows, new in each pass; None for the order they have.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> found = perceptron(x, np.array([False, False, True, True]), step=1.0, passes=100, seed=None)
    >>> found.converged, found.coef.tolist(), int(found.history[:, 0].sum())
    (True, [-4.0, 2.0], 8)
    """
    signed = np.column_stack([np.ones(len(x)), x])
    signed[~positive] *= -1
    rng = None if seed is None else np.random.default_rng(seed)
    run = _Run(signed, step)
    history = []
    for _ in range(passes):
        moves = run.visit(signed if rng is None else signed[rng.permutation(len(signed))])
        history.append((moves, run.errors_of(run.coef)))
        if not moves:
            break
    converged = not history[-1][0]
    if not converged:
        run.into_pocket()
    coef, errors = (run.coef, 0) if converged else (run.pocket, run.fewest)
    return Perceptron(coef, converged, np.array(history, dtype=np.int64), errors)


class _Run:
    """Coefficients under way, and the best of them."""

    def __init__(self, signed: Floats, step: float) -> None:
        self.signed, self.step = signed, step
        self.coef = np.zeros(signed.shape[1])
        self.pocket, self.fewest = self.coef, len(signed)
        self.right, self.longest = 0, 0

    def errors_of(self, coef: Floats) -> int:
        """Rows on the wrong side; those on the plane are."""
        return int((self.signed @ coef <= 0).sum())

    def visit(self, rows: Floats) -> int:
        """One pass over rows in their order: the number of moves."""
        at, moves, piece = 0, 0, PIECES[0]
        while at < len(rows):
            wrong = rows[at : at + piece] @ self.coef <= 0
            first = int(np.argmax(wrong))
            if not wrong[first]:
                self.right += len(wrong)
                at, piece = at + piece, min(2 * piece, PIECES[1])
                continue
            self.right += first
            self.into_pocket()
            self.coef = self.coef + self.step * rows[at + first]
            at, moves, piece, self.right = at + first + 1, moves + 1, PIECES[0], 0
        return moves

    def into_pocket(self) -> None:
        """Keep the coefficients if no others have been right for so long, with so few errors."""
        if self.right > self.longest:
            self.longest = self.right
            errors = self.errors_of(self.coef)
            if errors < self.fewest:
                self.pocket, self.fewest = self.coef, errors
