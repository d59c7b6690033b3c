"""Moments as they are read from a file, each number of the range that moments have.

What is checked is what `moments.moments` promises of moments that it gathers, so that nothing computed
of those of a file meets a number that a fit would not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import Spread
from discrim.core.numerics.arrays import Floats
from discrim.models.saving.tensor_file import damaged

MOST_ROWS = 2.0**52
"""Rows of a class: whole numbers beyond twice of it are not all doubles."""

LARGEST = 1e300
"""Sums of weights, and means in units of z."""

FARTHEST = 1e150
"""Standard deviations, in units of z, at the most, and by its inverse at the least: squares are doubles."""

SUNK = 1e-140
"""Lengths of a root's columns below which products of them have lost digits, or are zero."""

ROUNDED = 1e-3
"""Most that the rounding of a mean may have left, as a share of what the mean is made of."""

CLOSE = 1e-6
"""Relative difference of a scatter from the square of its root."""


def moment_buffers(moments: ClassMoments) -> dict[str, Floats]:
    """Moments as named buffers."""
    names = ("counts", "rows", "centres", "rests", "scale", "scatters")
    tensors = {key: getattr(moments, key) for key in names}
    if moments.roots is not None:
        tensors["roots"] = moments.roots
    return {key: np.ascontiguousarray(value, dtype=np.float64) for key, value in tensors.items()}


def checked_moments(
    path: Any,
    tensors: Mapping[str, Floats],
    k: int,
    p: int,
    spread: Spread,
    *,
    singular: bool,
    constant: bool,
    weighted: bool,
    part: bool = False,
) -> ClassMoments:
    """Moments from buffers, each of the shape and range that moments have.

    Parameters
    ----------
    path : path-like
        What to call the file in a message.
    k, p : int
        Classes and columns.
    singular : bool
        There may be a scatter without an inverse.
    constant : bool
        There may be columns that do not vary.
    weighted : bool
        The counts are sums of weights.
    part : bool
        They are of a part of a table, which may have one class, or classes without rows; there is no prior.

    Raises
    ------
    DataError
        The buffers are no moments.
    """
    _check_shapes(path, tensors, k, p, spread, part=part)
    counts, rows, scale, scatters = (tensors[key] for key in ("counts", "rows", "scale", "scatters"))
    roots = tensors.get("roots")
    with np.errstate(all="ignore"):
        _check_counts(path, counts, rows, weighted=weighted, part=part)
        if part:
            _check_empty(path, tensors, by_class=spread != "pooled")
        _check_sizes(path, tensors)
        _check_spread(path, tensors, singular=singular, constant=constant)
        if roots is not None:
            full = singular or np.diagonal(roots, axis1=1, axis2=2).all()
            if np.tril(roots, -1).any() or not full:
                raise damaged(path, "its roots are not triangular, or singular")
            # Where columns are compared, the squares of those of far smaller units sink to zero.
            sunk = SUNK if singular and not part else 0.0
            if not all(_is_square(each, root, sunk) for each, root in zip(scatters, roots, strict=True)):
                raise damaged(path, "its scatters are not the squares of its roots")
        elif spread != "diagonal":
            for matrix in scatters:
                _check_definite(path, matrix, singular=singular)
    return ClassMoments(
        counts, rows.astype(np.int64), tensors["centres"], tensors["rests"], scale, scatters, roots
    )


def _check_shapes(
    path: Any, tensors: Mapping[str, Floats], k: int, p: int, spread: Spread, *, part: bool
) -> None:
    scatter: tuple[int, ...] = {
        "diagonal": (k, p),
        "pooled": (1, p, p),
        "class": (k, p, p),
        "thin": (1, p),
        "thin class": (k, p),
    }[spread]
    shapes: dict[str, tuple[int, ...]] = {
        "counts": (k,), "rows": (k,), "centres": (k, p), "rests": (k, p), "scale": (p,), "scatters": scatter,
    }  # fmt: skip
    if not part:
        shapes["prior"] = (k,)
    if "roots" in tensors and spread != "diagonal":
        found = tensors["roots"].shape
        thin = (scatter[0], found[1] if len(found) == 3 else 0, p)
        shapes["roots"] = scatter if len(scatter) == 3 else thin
    if set(tensors) != set(shapes):
        raise damaged(path, f"its buffers are {sorted(tensors)}, where {sorted(shapes)} are read")
    for key, shape in shapes.items():
        if tensors[key].shape != shape:
            raise damaged(path, f"{key!r} has shape {tensors[key].shape}, where {shape} is read")
    if k < (0 if part else 2) or not p:
        raise damaged(path, f"it has {k} classes and {p} columns")


def _check_counts(path: Any, counts: Floats, rows: Floats, *, weighted: bool, part: bool) -> None:
    if not ((rows >= (0 if part else 1)) & (rows == np.round(rows)) & (rows <= MOST_ROWS)).all():
        raise damaged(path, "its rows by class are no numbers of rows")
    if not (((counts > 0) | (part & (rows == 0) & (counts == 0))).all() and counts.sum() <= LARGEST):
        raise damaged(path, "its class counts are not positive, or have no sum")
    if not weighted and (np.minimum(counts, MOST_ROWS) != rows).any():
        raise damaged(path, "its class counts are not its rows by class")


def _check_empty(path: Any, tensors: Mapping[str, Floats], *, by_class: bool) -> None:
    """Raise where there is something of a class without rows."""
    empty = tensors["rows"] == 0
    names = ("counts", "centres", "rests", *(("scatters", "roots") if by_class else ()))
    if any(tensors[key][empty].any() for key in names if key in tensors):
        raise damaged(path, "a class without rows has moments")
    if empty.all() and tensors["scatters"].any():
        raise damaged(path, "it has moments, and no rows")


def _check_sizes(path: Any, tensors: Mapping[str, Floats]) -> None:
    """Raise unless means are in range, and what their rounding left is small beside them."""
    centres, rests, scale, scatters = (tensors[key] for key in ("centres", "rests", "scale", "scatters"))
    if not ((scale > 0) & (np.frexp(scale)[0] == 0.5)).all():
        raise damaged(path, "its scales are not powers of two")
    squares = scatters if scatters.ndim == 2 else np.diagonal(scatters, axis1=1, axis2=2)
    if not (squares >= 0).all():
        raise damaged(path, "a sum of squares is negative")
    total = float(tensors["counts"].sum())
    # Class by class: the sum of what is in range may be out of it. Without rows there is nothing to divide.
    typical = np.sqrt((squares / (total or 1.0)).sum(axis=0))
    size = np.abs(centres).max(axis=0, initial=0.0) * scale
    held = (typical == 0) | ((typical >= 1 / FARTHEST) & (typical <= FARTHEST))
    if not (held & (size <= LARGEST)).all():
        raise damaged(path, "its class means, or what varies about them, are out of range")
    if not (np.abs(rests) <= ROUNDED * (size + typical)).all():
        raise damaged(path, "what the rounding of its class means left is larger than any rounding")


def _check_spread(path: Any, tensors: Mapping[str, Floats], *, singular: bool, constant: bool) -> None:
    scatters = tensors["scatters"]
    squares = scatters if scatters.ndim == 2 else np.diagonal(scatters, axis1=1, axis2=2)
    if constant:
        return
    varies = squares.sum(axis=0) + np.ptp(tensors["centres"], axis=0) > 0
    if not (squares.any() if singular else varies.all()):
        raise damaged(path, "a column of it does not vary")


def _is_square(scatter: Floats, root: Floats, sunk: float) -> bool:
    """Whether a scatter (p, p), or its diagonal (p,), is R'R of a root (m, p), but for columns that sank."""
    largest = np.abs(root).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    lengths = largest * np.sqrt(((root / unit) ** 2).sum(axis=0))
    deviations = np.sqrt(scatter if scatter.ndim == 1 else np.diagonal(scatter))
    if not (np.abs(deviations - lengths) <= CLOSE * lengths + sunk).all():
        return False
    if scatter.ndim == 1:
        return True
    size = np.where(lengths > 0, lengths, 1.0)
    gap = np.abs(scatter / size / size[:, None] - (root / size).T @ (root / size))
    return bool((gap[np.minimum.outer(lengths, lengths) > sunk] <= CLOSE).all())


def _check_definite(path: Any, matrix: Floats, *, singular: bool) -> None:
    sd = np.sqrt(np.diagonal(matrix))
    unit = 1 / np.where(sd > 0, sd, 1.0)
    correlation = matrix * unit * unit[:, None]
    least = -1e-10 if singular else 0.0
    right = np.isfinite(correlation).all() and not (matrix != matrix.T).any()
    if not right or not (_has_root(correlation) or np.linalg.eigvalsh(correlation)[0] > least):
        raise damaged(path, "a scatter of it is not positive definite")


def _has_root(matrix: Floats) -> bool:
    """Whether a matrix is positive definite, as is seen sooner than by eigenvalues."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
