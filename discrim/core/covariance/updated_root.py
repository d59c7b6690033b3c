"""A root of a scatter that is triangular in some of its columns, which enter and leave.

Theory. With R'R = W and Q orthogonal, U = QR is a root of W as well. Where the first m rows of U are
triangular in m chosen columns, and the rows below are zero there, the rows below hold for every other column
its residual on the chosen ones: its sum of squares given them is one of squares, of which nothing is
subtracted. A column enters by a Householder reflection of the rows below and leaves by Givens rotations
(Golub & Van Loan, 2013, Matrix Computations, sec. 6.5). Each step is orthogonal, so that after any number of
them U is the root of a scatter whose columns are off by their last digits. (Sweeping W itself loses twice the
digits that the condition of R costs.)
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["UpdatedRoot"]

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]


class UpdatedRoot:
    """A root U (r, p), triangular in the chosen columns.

    Parameters
    ----------
    root : (r, p) float
        Any root of the scatter.

    Attributes
    ----------
    chosen : list of int
        In the order of the triangle.

    Examples
    --------
    >>> import numpy as np
    >>> root = UpdatedRoot(np.array([[1.0, 1.0], [0.0, 2.0]]))
    >>> root.add(1)
    >>> round(float(root.residuals([0])[:, 0] @ root.residuals([0])[:, 0]), 12)
    0.8
    """

    def __init__(self, root: Floats) -> None:
        self._held = np.array(root, order="F")
        self.chosen: list[int] = []

    def residuals(self, columns: Positions | list[int]) -> Floats:
        """Residuals (r - m, c) of columns on the chosen ones, up to a rotation."""
        return self._held[len(self.chosen) :, columns]

    def squares(self) -> Floats:
        """Sums of squares (p,) of the residuals of all columns."""
        below = self._held[len(self.chosen) :]
        return np.asarray(np.einsum("ij,ij->j", below, below))

    def above(self, columns: Positions | list[int]) -> Floats:
        """What the chosen columns say of columns: the first rows (m, c)."""
        return self._held[: len(self.chosen), columns]

    def triangle(self) -> Floats:
        """Triangular root (m, m) of the scatter of the chosen columns, in their order."""
        return np.asfortranarray(self._held[: len(self.chosen), self.chosen])

    def solved(self, columns: Floats, *, transposed: bool = False) -> Floats:
        """The solution (m, c) of the triangle, or its transpose, times it equal to columns (m, c)."""
        if not self.chosen:
            return np.zeros_like(columns)
        solved = scipy.linalg.solve_triangular(self.triangle(), columns, trans=1 if transposed else 0)
        return np.asarray(solved)

    def inverse(self) -> Floats:
        """The inverse (m, m) of the triangle; the squared length of a row is 1 over the column's residual."""
        return np.asarray(scipy.linalg.lapack.dtrtri(self.triangle(), overwrite_c=1)[0])

    def add(self, column: int) -> None:
        """Choose a column."""
        m = len(self.chosen)
        below = self._held[m:]
        mirror = below[:, column].copy()
        length = float(np.linalg.norm(mirror))
        if length:
            mirror[0] += np.copysign(length, mirror[0])
            mirror /= np.linalg.norm(mirror)
            below -= np.outer(2.0 * mirror, mirror @ below)
        self._held[m + 1 :, column] = 0.0
        # The chosen ones have nothing below; rounding must not give it to them.
        self._held[m:, self.chosen] = 0.0
        self.chosen.append(column)

    def drop(self, column: int) -> None:
        """Take a chosen column back."""
        first = self.chosen.index(column)
        del self.chosen[first]
        for i, other in enumerate(self.chosen[first:], first):
            a, b = self._held[i : i + 2, other]
            length = float(np.hypot(a, b))
            if length:
                turn = np.array([[a, b], [-b, a]]) / length
                self._held[i : i + 2] = turn @ self._held[i : i + 2]
            self._held[i + 1, other] = 0.0
