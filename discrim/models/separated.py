"""What to say where a hyperplane separates classes, and the estimates of a likelihood do not exist."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from discrim.core.logistic import LogisticFit
from discrim.core.separation import Separation, separation
from discrim.errors import DataError, SeparationError
from discrim.frame.blocks import Blocks
from discrim.models.sample import named
from discrim.models.validation import used_rows

__all__ = ["refuse_separated"]

Floats = NDArray[np.float64]


def refuse_separated(fit: LogisticFit, blocks: Blocks, maxiter: int) -> NoReturn:
    """Raise for a search that did not converge: by the certificate, or for want of steps.

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
    pairs = _separated_pairs(found, columns, codes)
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
