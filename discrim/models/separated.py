"""What to say where a hyperplane separates classes, and the estimates of a likelihood do not exist."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.logistic import LogisticFit
from discrim.core.separation import Separation, separation
from discrim.errors import DataError, SeparationError
from discrim.frame.blocks import Blocks
from discrim.frame.cells import class_cells
from discrim.models.sample import named
from discrim.models.validation import used_rows

__all__ = ["refuse_empty_cells", "refuse_separated"]

Floats = NDArray[np.float64]


def refuse_empty_cells(blocks: Blocks) -> None:
    """Raise where a category has rows, but none of some class: the indicator of the category separates.

    A pass over the labels shows it, before any product of columns is formed.

    Raises
    ------
    SeparationError
        Predictors, categories and classes are named.
    """
    classes = blocks.design.levels
    said = []
    for cells in class_cells(blocks):
        present = cells.rows.sum(axis=0) > 0
        empty = (cells.rows == 0) & present & (cells.rows.sum(axis=1) > 0)[:, None]
        found = np.argwhere(empty)
        if len(found):
            level, code = found[0]
            rows, bare = int(cells.rows[level].sum()), int(empty.any(axis=1).sum())
            verb = "misses" if bare == 2 else "miss"
            more = f" and {bare - 1:,} more of its {len(cells.levels):,} levels {verb} a class" * (bare > 1)
            said.append(
                f"none of the {rows} row{'s' * (rows > 1)} where {cells.label!r} is {cells.levels[level]!r} "
                f"is of class {classes[code]!r}{more}"
            )
    if said:
        raise SeparationError(
            f"A hyperplane separates the classes in part: {'; '.join(said[:3])}. The likelihood has no "
            "maximum, the estimates would be infinite: merge levels, leave the predictor out, pass "
            "bias_reduction=True, or use lda()."
        )


def refuse_separated(fit: LogisticFit, blocks: Blocks, maxiter: int) -> None:
    """Raise for a search that did not converge, unless classes overlap and there are steps left.

    Raises
    ------
    SeparationError
        The classes are separated, wholly or in part.
    DataError
        They overlap: more steps will find the maximum.
    """
    columns, codes, rows = [], [], []
    for place, x, own, _ in used_rows(blocks):
        columns.append(fit.frame.columns(x))
        codes.append(own)
        rows.append(np.arange(place.start, place.stop) if isinstance(place, slice) else place)
    side, known = np.concatenate(columns, axis=1), np.concatenate(codes)
    found = separation(side, known, fit.moments.n_classes)
    if found.kind == "overlap" and fit.newton.steps < maxiter:
        return
    if found.kind == "overlap":
        raise DataError(
            f"Newton's method has not converged in {maxiter} steps, though the classes overlap and a maximum "
            "exists: raise maxiter=."
        )
    raise SeparationError(_said(found, fit, blocks, side, known, np.concatenate(rows)), found)


def _said(
    found: Separation,
    fit: LogisticFit,
    blocks: Blocks,
    columns: Floats,
    codes: NDArray[np.intp],
    rows: NDArray[np.intp],
) -> str:
    levels = blocks.design.levels
    pairs = [(0, 1)] if len(levels) == 2 else _separated_pairs(found, columns, codes)
    said = " and ".join(f"{levels[a]!r} from {levels[b]!r}" for a, b in pairs[:3]) or "some of the classes"
    more = f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
    # Slopes of columns of unit variance over all rows say which columns the hyperplane uses.
    slopes = fit.frame.covariance.unwhiten(found.coef[1:]) * fit.frame.covariance.sd[:, None]
    weight = np.abs(slopes - slopes.mean(axis=1, keepdims=True)).max(axis=1)
    order = [j for j in np.argsort(-weight) if weight[j] > 1e-6 * weight.max()]
    terms = named(blocks.terms[j] for j in order)
    if found.kind == "complete":
        where = f"by {terms}: every row lies on its own side"
    else:
        labels = [blocks.table.label(int(rows[i])) for i in found.on_plane]
        plane = f" but {len(labels)} on it (the first: {named(labels, 3)})" if labels else ""
        where = f"in part, by {terms}: no row lies on the wrong side of it{plane}"
    return (
        f"A hyperplane separates {said}{more} {where}. The likelihood has no maximum, the estimates would be "
        "infinite: pass bias_reduction=True, leave out one of these terms, or use lda()."
    )


def _separated_pairs(found: Separation, columns: Floats, codes: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Pairs of classes of which each row lies on its own side, some of them off the plane."""
    eta = found.coef.T @ columns
    pairs = []
    for a in range(len(eta)):
        for b in range(a):
            gap = np.concatenate([(eta[a] - eta[b])[codes == a], (eta[b] - eta[a])[codes == b]])
            if gap.min() >= -1e-7 and (gap > 1e-7).mean() > 0.5:
                pairs.append((b, a))
    return pairs
