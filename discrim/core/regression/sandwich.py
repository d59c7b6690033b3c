"""Covariances of the estimates that hold where the model's variance, or independence of the rows, does not.

Theory. At the estimates the rows' scores s_i = (y_i - p_i) x z_i have the sum of squares M = sum w s s', and
of groups of rows that are not independent M = sum_g (sum_i in g w s)(...)'. The covariance is H^-1 M H^-1
(Huber, 1967; White, 1982, Econometrica 50, 1-25; of groups Liang & Zeger, 1986, Biometrika 73, 13-22), times
a factor for small samples. A weight counts equal rows, whose scores add up one by one.

With H = L L', what is held is a root of L^-1 M L^-T: close to the identity where the model holds, so that its
eigenvalues keep their digits, and with as many rows as there are coefficients however few groups there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.file_numbers import are_whole
from discrim.core.numerics.parts import reduced
from discrim.core.regression.newton import Frame, class_shares
from discrim.errors import DataError

__all__ = ["Sandwich", "group_scores", "root_of_scores", "score_squares"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

KINDS = ("HC0", "HC1", "cluster")

PIECE = 2**18
"""Numbers of scores worked on at once."""


@dataclass(frozen=True, slots=True)
class Sandwich:
    """A covariance of the estimates beside that of the model.

    Attributes
    ----------
    kind : {"HC0", "HC1", "cluster"}
    root : (r, r) float
        In the frame: root'root is the covariance of the coefficients, class by class.
    factor : float
        What the sum of squares was multiplied by for small samples.
    groups : int
        Groups of rows; of no groups 0.
    grouped_by : str
        What the groups are called; empty of a fit that was loaded.
    rank : int
        Of the covariance: with few groups less than the number of coefficients.
    """

    kind: str
    root: Floats
    factor: float
    groups: int
    grouped_by: str
    rank: int

    def to_buffers(self) -> dict[str, Floats]:
        """What is kept in a file; what the groups are called is not."""
        course = np.array([KINDS.index(self.kind), self.factor, self.groups, self.rank], dtype=np.float64)
        return {"sandwich": self.root, "sandwich_course": course}

    @classmethod
    def from_buffers(cls, root: Floats | None, course: Floats | None) -> Sandwich | None:
        """What `to_buffers` gave; None of a file that has nothing of it.

        Raises
        ------
        DataError
            A part is missing, or is none.
        """
        if root is None and course is None:
            return None
        if root is None or course is None:
            raise DataError("its robust covariance is there in part")
        kind, factor, groups, rank = course.tolist()
        whole = are_whole(kind) and are_whole(groups) and are_whole(rank)
        if not (whole and kind < len(KINDS) and factor > 0 and rank <= len(root)):
            raise DataError("its robust covariance is not described")
        return cls(KINDS[int(kind)], root, factor, int(groups), "", int(rank))


def scores_of(frame: Frame, coef: Floats, reference: int, x: Floats, codes: Codes) -> Floats:
    """Scores (q (p + 1), m) of rows x (m, p) of weight one, class by class."""
    z = frame.columns(x)
    misses = -class_shares(coef.T @ z, reference)[1]
    modelled = np.flatnonzero(codes != reference)
    line = codes[modelled]
    misses[line - (line > reference), modelled] += 1.0
    return np.asarray((misses[:, None, :] * z).reshape(-1, len(x)))


def score_squares(blocks: RowBlocks, frame: Frame, coef: Floats, reference: int) -> Floats:
    """The sum over rows of weight times score by score, (r, r)."""
    task = partial(_squares, frame=frame, coef=coef, reference=reference)
    return reduced(blocks, task, np.add)


def _squares(blocks: RowBlocks, frame: Frame, coef: Floats, reference: int) -> Floats:
    total = np.zeros((coef.size, coef.size))
    piece = max(PIECE // coef.size, 16)
    for x, codes, weights in blocks:
        for start in range(0, len(x), piece):
            at = slice(start, start + piece)
            scores = scores_of(frame, coef, reference, x[at], codes[at])
            if weights is not None:
                scores *= np.sqrt(weights[at])
            total += scores @ scores.T
    return total


def group_scores(
    sums: Floats, frame: Frame, coef: Floats, reference: int, x: Floats, codes: Codes, weights: Floats | None,
    groups: Codes,
) -> None:  # fmt: skip
    """Add the scores of a block of rows to the sums (G, r) of their groups (m,)."""
    piece = max(PIECE // coef.size, 16)
    for start in range(0, len(x), piece):
        at = slice(start, start + piece)
        scores = scores_of(frame, coef, reference, x[at], codes[at])
        if weights is not None:
            scores *= weights[at]
        order = np.argsort(groups[at], kind="stable")
        held = groups[at][order]
        first = np.flatnonzero(np.append(True, held[1:] != held[:-1]))
        sums[held[first]] += np.add.reduceat(scores[:, order], first, axis=1).T


def root_of_scores(information: Floats, squares: Floats) -> tuple[Floats, int]:
    """A root (r, r) of H^-1 M H^-1, and its rank."""
    lower = cholesky(information, lower=True)
    inner = solve_triangular(lower, solve_triangular(lower, squares, lower=True).T, lower=True)
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    least = len(values) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    values = np.where(values > least, values, 0.0)
    inverse = solve_triangular(lower, np.eye(len(lower)), lower=True)
    return np.asarray(np.sqrt(values)[:, None] * (vectors.T @ inverse)), int((values > 0).sum())
