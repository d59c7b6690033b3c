"""Q2 of partial least squares under many labellings of the same rows, by folds that do not depend on labels.

Theory. Centred and scaled columns Z of the rows outside a fold stay the same whatever the labels are. With
Z = QR of more rows than columns, Z'Z = R'R and Z'Y = R'(Q'Y): each labelling is fitted to R and Q'Y, which
have as many rows as there are columns. Of fewer rows than columns, Z = R'Q' by the QR of Z', and a rotation
of the columns changes no fitted value: each labelling is fitted to R', which has as many columns as there are
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.projections.latent import Algorithm, latent

__all__ = ["Regressed", "q2_of_labellings", "r2_of"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class Regressed(NamedTuple):
    """How indicators are regressed.

    Attributes
    ----------
    components : int
    algorithm : {"nipals", "simpls"}
    scale, scaled_indicators : bool
    """

    components: int
    algorithm: Algorithm
    scale: bool
    scaled_indicators: bool


class _Part(NamedTuple):
    """The rows outside a fold, reduced, and those within it.

    Attributes
    ----------
    basis : (m, r) float or None
        Q of more rows than columns.
    columns : (r, q) float
    tested : (t, q) float
        The rows of the fold, in the same columns.
    """

    basis: Floats | None
    columns: Floats
    tested: Floats


def _part(x: Floats, inside: NDArray[np.bool_], how: Regressed) -> _Part:
    learnt = x[inside]
    mean = learnt.mean(axis=0)
    learnt -= mean
    tested = x[~inside] - mean
    if how.scale:
        sd = np.sqrt((learnt**2).sum(axis=0) / (len(learnt) - 1))
        # A column that is constant but for rounding tells nothing.
        sd[sd <= 1e-14 * np.abs(mean)] = np.inf
        learnt /= sd
        tested /= sd
    if len(learnt) > learnt.shape[1]:
        basis, columns = np.linalg.qr(learnt)
        return _Part(basis, columns, tested)
    turn, columns = np.linalg.qr(learnt.T)
    return _Part(None, columns.T, tested @ turn)


def _sizes(codes: Codes, k: int, how: Regressed) -> Floats:
    """What indicators (K,) are divided by; one for a class without rows."""
    if not how.scaled_indicators:
        return np.ones(k)
    counts = np.bincount(codes, minlength=k).astype(np.float64)
    squares = counts * (1 - counts / len(codes)) / (len(codes) - 1)
    return np.sqrt(np.where(squares > 0, squares, 1.0))


def _fitted(part: _Part, codes: Codes, k: int, how: Regressed) -> Floats:
    """Indicators (t, K) that are predicted of the rows of a fold, from the classes (m,) of the others."""
    seen = np.equal(codes[:, None], np.arange(k)).astype(np.float64)
    shares, sizes = seen.mean(axis=0), _sizes(codes, k, how)
    responses = (seen - shares) / sizes
    if part.basis is not None:
        responses = part.basis.T @ responses
    found = latent(part.columns, responses, how.components, how.algorithm)
    return np.asarray(shares + part.tested @ found.rotations @ found.y_loadings.T * sizes)


def q2_of_labellings(
    x: Floats,
    labellings: Callable[[int], Codes],
    count: int,
    dealt: Codes,
    k: int,
    how: Regressed,
    tell: Callable[[float], object] = lambda done: None,
) -> Floats:
    """Q2 (P,) of the indicators under each labelling of the rows, 1 - PRESS / SS.

    Parameters
    ----------
    x : (n, p) float
    labellings : callable
        From the number of a labelling, 0 to P - 1, to the classes (n,) of the rows; all have the same counts.
    count : int
        P.
    dealt : (n,) int
        Fold of each row.
    k : int
        Number of classes.
    how : Regressed
    tell : callable, optional
        What is told of labellings of a fold that are done.
    """
    press = np.zeros(count)
    sizes = _sizes(labellings(0), k, how)
    shares = np.bincount(labellings(0), minlength=k) / len(x)
    for fold in range(int(dealt.max()) + 1):
        inside = dealt != fold
        part = _part(x, inside, how)
        for i in range(count):
            codes = labellings(i)
            rest = -_fitted(part, codes[inside], k, how)
            rest[np.arange(len(rest)), codes[~inside]] += 1.0
            press[i] += ((rest / sizes) ** 2).sum()
            tell(1)
    total = len(x) * (shares * (1 - shares) / sizes**2).sum()
    return np.asarray(1.0 - press / total)


def r2_of(x: Floats, labellings: Callable[[int], Codes], count: int, k: int, how: Regressed) -> Floats:
    """Share (P,) of the squares of the indicators that is explained under each labelling."""
    part = _part(x, np.ones(len(x), dtype=bool), how)
    whole = part._replace(tested=part.columns if part.basis is None else part.basis @ part.columns)
    sizes = _sizes(labellings(0), k, how)
    shares = np.bincount(labellings(0), minlength=k) / len(x)
    left = np.zeros(count)
    for i in range(count):
        codes = labellings(i)
        rest = -_fitted(whole, codes, k, how)
        rest[np.arange(len(rest)), codes] += 1.0
        left[i] = ((rest / sizes) ** 2).sum()
    return np.asarray(1.0 - left / (len(x) * (shares * (1 - shares) / sizes**2).sum()))
