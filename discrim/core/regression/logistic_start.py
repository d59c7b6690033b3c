"""Where the search for a logistic regression begins.

Linear discriminant analysis gives the log odds where classes are normal, and is close where they nearly are.
Of many rows a part is enough to come closer: its own maximum lies about as many standard errors of the part
from that of all rows as the root of the number of coefficients. One step by the score of all rows, and by the
information of the part, takes out most of that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from discrim.core.covariance.covariance import pooled
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlock, RowBlocks
from discrim.core.numerics.parts import is_apart
from discrim.core.regression.newton import Frame, Swept, gradient, informs, maximize, sweep

__all__ = ["class_odds", "start_of"]

Floats = NDArray[np.float64]

PART = 16
"""Rows of which one is in the part."""

TOGETHER = 128
"""Rows of the part that are worked on at once."""

ROWS_A_COEFFICIENT = 10
"""Rows of the part, for each coefficient, below which its maximum is too far from that of all."""

UNEVEN = 2.0
"""Times that the weight of a class in the part may be more, or less, than its share."""

PART_STEPS = 8
"""Steps of the search over the part, which begins close enough to need three or four."""


def class_odds(counts: Floats, reference: int, p1: int) -> Floats:
    """Coefficients (p + 1, K - 1) of the class proportions alone."""
    odds = np.zeros((p1, len(counts) - 1))
    odds[0] = np.log(np.delete(counts, reference) / counts[reference])
    return odds


def start_of(
    blocks: RowBlocks, moments: ClassMoments, frame: Frame, reference: int, floor: Floats
) -> tuple[Floats, Swept | None]:
    """Coefficients (p + 1, K - 1) to begin with, and the sweep there if it was made.

    They are those of a part of the rows, of discriminant analysis, or of the class proportions: the first
    that are likelier than the proportions and whose information exceeds the floor.
    """
    counts = moments.counts
    guess, even = (
        _discriminant(moments, frame, reference),
        class_odds(counts, reference, len(frame.scale) + 1),
    )
    if not np.isfinite(guess).all():
        return even, None
    least = float(counts @ np.log(counts / counts.sum()))
    start = _of_part(blocks, moments, frame, guess, reference, least)
    for begun in (guess,) if start is None else (start, guess):
        swept = sweep(blocks, frame, begun, reference)
        if swept.llf > least and informs(swept.information, floor):
            return begun, swept
    return even, None


def _discriminant(moments: ClassMoments, frame: Frame, reference: int) -> Floats:
    """Log odds (p + 1, K - 1) of linear discriminant analysis, in the frame; not finite where it has none."""
    try:
        within = pooled(moments, moments.total)
    except LinAlgError:
        return np.full((moments.n_columns + 1, moments.n_classes - 1), np.nan)
    means = (moments.means_from(frame.centre) - frame.rest).T
    whitened = within.whiten(means)
    slopes = within.unwhiten(whitened)
    root = frame.covariance.root
    scores = np.empty((moments.n_columns + 1, moments.n_classes))
    scores[0] = np.log(moments.counts) - 0.5 * (whitened**2).sum(axis=0)
    scores[1:] = root[:, None] * slopes if frame.covariance.is_diagonal else root @ slopes
    return np.delete(scores - scores[:, [reference]], reference, axis=1)


def _of_part(
    blocks: RowBlocks, moments: ClassMoments, frame: Frame, guess: Floats, reference: int, least: float
) -> Floats | None:
    """A step by the score of all rows from the maximum of a part of them.

    None where the rows are few or lie apart, the part holds too much or too little of a class, or its maximum
    is not found or no likelier than a log-likelihood.
    """
    rows = int(moments.rows.sum())
    # A part of rows that lie apart is no cheaper to reach than all of them.
    if is_apart(blocks) or rows < PART * ROWS_A_COEFFICIENT * guess.size:
        return None
    part, held = _Part(blocks, rows), np.zeros(moments.n_classes)
    for _, codes, weights in part:
        held += np.bincount(codes, weights, len(held))
    share = PART * held / moments.counts
    if not ((share >= 1 / UNEVEN) & (share <= UNEVEN)).all():
        return None
    known = np.zeros((guess.shape[1], guess.shape[1]))
    # The distance of its maximum from that of all rows is as large: closer makes no difference.
    near = np.sqrt(guess.size) / 2
    found = maximize(part, frame, guess, reference, tol=near, maxiter=PART_STEPS, floor=known)
    if not found.converged:
        return None
    llf, score = gradient(blocks, frame, found.coef, reference)
    if not llf > least:
        return None
    try:
        step = cho_solve(cho_factor(found.information), score.T.ravel()) * (held.sum() / moments.counts.sum())
    except LinAlgError:
        return None
    return np.asarray(found.coef + step.reshape(score.T.shape).T)


class _Part(RowBlocks):
    """One row of each `PART` in their order, drawn so that no period of it matters."""

    def __init__(self, blocks: RowBlocks, rows: int) -> None:
        size = rows // PART
        self._blocks = blocks
        self._drawn = np.arange(size) * PART + np.random.default_rng(0).integers(0, PART, size)

    def __iter__(self) -> Iterator[RowBlock]:
        first, held = 0, list[RowBlock]()
        for x, codes, weights in self._blocks:
            low, high = np.searchsorted(self._drawn, (first, first + len(x)))
            some = self._drawn[low:high] - first
            held.append((x[some], codes[some], None if weights is None else weights[some]))
            first += len(x)
            if sum(len(rows) for _, rows, _ in held) >= TOGETHER:
                together = _joined(held)
                held.clear()
                yield together
        if held:
            yield _joined(held)


def _joined(held: list[RowBlock]) -> RowBlock:
    """One block of several."""
    weights = [own for _, _, own in held if own is not None]
    x, codes = (np.concatenate([rows[i] for rows in held]) for i in range(2))
    return x, codes, np.concatenate(weights) if weights else None
