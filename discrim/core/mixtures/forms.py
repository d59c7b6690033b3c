"""The covariances of the components of a mixture: fourteen forms, and the most likely one of each form.

Theory. A covariance is volume x shape x orientation, S_g = l_g D_g A_g D_g', with |A_g| = 1 and D_g
orthogonal (Banfield & Raftery, 1993, Biometrics 49, 803-821; Celeux & Govaert, 1995, Pattern Recognition 28,
781-793). A form has three letters, for the volume, the shape and the orientation: E, equal for all
components, V, variable, or I, that of a sphere or of the axes. Given scatters W_g about the means, with
weights n_g, the likelihood is largest where sum_g n_g ln|S_g| + tr(S_g^-1 W_g) is least, which has a
closed form for nine of them. For VEI, VEE and VEV volumes and what is common are found in turn; for EVE and
VVE the common axes by rotations in one plane after another, each of which is an eigenvector of two rows and
columns. No step makes the sum larger.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import scaled_cholesky

__all__ = ["FORMS", "TURNS", "Axes", "covariances", "form_of", "free_parameters", "is_axial", "keeps_units"]

Floats = NDArray[np.float64]
Axes = NDArray[np.float64] | None
"""Axes (p, p) that all components have, from where those of EVE and VVE are sought."""

FORMS = (
    "EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV",
)  # fmt: skip
"""The forms, those of fewer parameters first."""

OF_ONE = {"EII": "XII", "VII": "XII"} | dict.fromkeys(("EEI", "VEI", "EVI", "VVI"), "XXI")
"""What forms without an orientation are called of a single component."""

TURNS = 1000
"""Most rounds in which parts of a covariance are found in turn."""

SETTLED = 1e-14
"""Relative change of the parts, or of the criterion, at which they are found.

The criterion is flat at its least value: parts of which it knows all digits have half of theirs.
"""

NEARLY = 1e-7
"""Relative change of the parts at which a step of EM takes them, as its criterion then has all its digits."""

SHORT = 1e-4
"""Length of a scatter, over the longest, from which on it is found to its own digits."""

STILL = 1e-15
"""Angle at which axes no longer turn."""


def form_of(form: str, components: int) -> str:
    """The name of a form of so many components; of a single one those that are the same have one name."""
    return form if components > 1 else OF_ONE.get(form, 3 * "X")


def is_axial(form: str) -> bool:
    """Whether covariances of the form are diagonal."""
    return form[2] == "I"


def keeps_units(form: str) -> bool:
    """Whether the form stays what it is where columns are measured in other units each."""
    return form not in ("EII", "VII", "EVE", "VVE", "EEV", "VEV")


def free_parameters(form: str, components: int, p: int) -> int:
    """Number of free parameters of the covariances of so many components of p columns."""
    volume, shape, orientation = form[0], form[1], form[2]
    count = components if volume == "V" else 1
    if shape != "I":
        count += (p - 1) * (components if shape == "V" else 1)
    if orientation != "I":
        count += p * (p - 1) // 2 * (components if orientation == "V" else 1)
    return count


def covariances(
    form: str, scatters: Floats, counts: Floats, axes: Axes = None, turns: int = TURNS
) -> tuple[Floats, Axes]:
    """The most likely covariances of a form.

    Parameters
    ----------
    form : str
        One of `FORMS`.
    scatters : (G, p, p) or (G, p) float
        Sums of squares and products about the means; of forms without an orientation, of squares alone.
    counts : (G,) float
        Sums of weights.
    axes : (p, p) float, optional
        Where the search for common axes begins.
    turns : int
        Most rounds of that search; with fewer than `TURNS`, volumes and shapes that are found in turn have
        half of their digits.

    Returns
    -------
    covariances : (G, p, p) or (G, p) float
        Not positive definite where the likelihood has no maximum; variances of forms without an orientation.
    axes : (p, p) float or None
        The common axes, of EVE and VVE.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if form in ("EVE", "VVE"):
            return _common_axes(scatters, counts, axes, turns, equal_volume=form == "EVE")
        if form in _IN_TURN:
            return _IN_TURN[form](scatters, counts, SETTLED if turns == TURNS else NEARLY), None
        return _OF_FORM[form](scatters, counts), None


def _repeat(matrix: Floats, components: int) -> Floats:
    return np.repeat(matrix[None], components, axis=0)


def _diagonals(matrices: Floats) -> Floats:
    """Diagonals (G, p)."""
    return np.asarray(np.diagonal(matrices, axis1=1, axis2=2))


def _eii(squares: Floats, counts: Floats) -> Floats:
    return np.full(squares.shape, squares.sum() / (counts.sum() * squares.shape[1]))


def _vii(squares: Floats, counts: Floats) -> Floats:
    p = squares.shape[1]
    return np.repeat((squares.sum(axis=1) / (counts * p))[:, None], p, axis=1)


def _eei(squares: Floats, counts: Floats) -> Floats:
    return _repeat(squares.sum(axis=0) / counts.sum(), len(squares))


def _equal_volumes(squares: Floats, counts: Floats) -> Floats:
    """Variances (G, p) of equal volume, each with the shape of its sums of squares (G, p)."""
    volumes = np.exp(np.log(squares).mean(axis=1))
    return np.asarray(squares * (volumes.sum() / (counts.sum() * volumes))[:, None])


def _common_shape(squares: Floats, counts: Floats, settled: float) -> Floats:
    """Variances (G, p) that are a volume each times a shape of all, from sums of squares (G, p)."""
    p, before = squares.shape[1], np.ones(len(counts))
    shape = squares.sum(axis=0) / counts.sum()
    for _ in range(TURNS):
        volumes = (squares / shape).sum(axis=1) / (p * counts)
        shape = (squares / volumes[:, None]).sum(axis=0) / counts.sum()
        if not np.abs(volumes / before - 1).max() > settled:
            break
        before = volumes
    return np.asarray(volumes[:, None] * shape)


def _own(scatters: Floats, counts: Floats) -> Floats:
    return np.asarray(scatters / counts.reshape(-1, *[1] * (scatters.ndim - 1)))


def _eee(scatters: Floats, counts: Floats) -> Floats:
    return _repeat(scatters.sum(axis=0) / counts.sum(), len(scatters))


def _vee(scatters: Floats, counts: Floats, settled: float) -> Floats:
    p = scatters.shape[1]
    common, before = scatters.sum(axis=0) / counts.sum(), np.ones(len(counts))
    for _ in range(TURNS):
        inverse = np.linalg.inv(common)
        volumes = np.einsum("gij,ji->g", scatters, inverse) / (p * counts)
        common = (scatters / volumes[:, None, None]).sum(axis=0) / counts.sum()
        if not np.abs(volumes / before - 1).max() > settled:
            break
        before = volumes
    return np.asarray(volumes[:, None, None] * common)


def _principal(scatters: Floats) -> tuple[Floats, Floats]:
    """Lengths (G, p) and axes (G, p, p) of scatters, the shortest first, each length to its own digits.

    The usual method has an error of a rounding of the longest one. Where that shows, and the scatter is that
    of rows in axes near its own, rotations of its root keep the digits of each (Demmel & Veselic, 1992, SIAM
    Journal on Matrix Analysis and Applications 13, 1204-1245).
    """
    lengths, axes = np.linalg.eigh(scatters)
    for g in np.flatnonzero(lengths[:, 0] < SHORT * lengths[:, -1]):
        try:
            root = scaled_cholesky(scatters[g])
        except np.linalg.LinAlgError:
            continue
        found, _, right, work, _, failed = scipy.linalg.lapack.dgejsv(root, joba=0, jobu=3)
        if not failed:
            lengths[g], axes[g] = (found[::-1] * work[0] / work[1]) ** 2, right[:, ::-1]
    return lengths, axes


def _eev(scatters: Floats, counts: Floats) -> Floats:
    lengths, axes = _principal(scatters)
    shape = lengths.sum(axis=0) / counts.sum()
    return np.asarray((axes * shape) @ axes.transpose(0, 2, 1))


def _vev(scatters: Floats, counts: Floats, settled: float) -> Floats:
    lengths, axes = _principal(scatters)
    held = _common_shape(lengths, counts, settled)
    return np.asarray((axes * held[:, None, :]) @ axes.transpose(0, 2, 1))


def _evv(scatters: Floats, counts: Floats) -> Floats:
    p = scatters.shape[1]
    volumes = np.exp(np.linalg.slogdet(scatters)[1] / p)
    return np.asarray(scatters * (volumes.sum() / (counts.sum() * volumes))[:, None, None])


_OF_FORM: dict[str, Callable[[Floats, Floats], Floats]] = {
    "EII": _eii,
    "VII": _vii,
    "EEI": _eei,
    "EVI": _equal_volumes,
    "VVI": _own,
    "EEE": _eee,
    "EEV": _eev,
    "EVV": _evv,
    "VVV": _own,
}
_IN_TURN: dict[str, Callable[[Floats, Floats, float], Floats]] = {
    "VEI": _common_shape,
    "VEE": _vee,
    "VEV": _vev,
}


def _common_axes(
    scatters: Floats, counts: Floats, axes: Axes, turns: int, *, equal_volume: bool
) -> tuple[Floats, Floats]:
    """Covariances (G, p, p) with common axes (p, p), and volumes that are equal or not."""
    p = scatters.shape[1]
    held = np.linalg.eigh(scatters.sum(axis=0))[1] if axes is None else axes.copy()
    turned, before, least = held.T @ scatters @ held, np.inf, np.inf
    for _ in range(turns):
        squares = _diagonals(turned)
        own = _equal_volumes(squares, counts) if equal_volume else squares / counts[:, None]
        value = counts @ np.log(own).sum(axis=1)
        angles = [
            _rotate(turned, held, 1 / own[:, i] - 1 / own[:, j], i, j) for i, j in combinations(range(p), 2)
        ]
        largest = max(angles, default=0.0)
        # Where the criterion no longer tells, axes go on as long as they come to rest.
        is_flat = not before - value > SETTLED * (1 + abs(value))
        if largest <= STILL or (is_flat and largest >= least):
            break
        before, least = value, min(least, largest)
    squares = _diagonals(turned)
    own = _equal_volumes(squares, counts) if equal_volume else squares / counts[:, None]
    return np.asarray((held * own[:, None, :]) @ held.T), held


def _rotate(turned: Floats, axes: Floats, gaps: Floats, i: int, j: int) -> float:
    """Turn two axes, in place, to where the trace of scatters over variances is least; by which angle.

    In the plane of the two the trace is a'Ma but for a constant, a the first of them and M the sum of the
    scatters (G, p, p) of the plane times gaps (G,) of the reciprocal variances.
    """
    first, last = gaps @ turned[:, i, i], gaps @ turned[:, j, j]
    between = gaps @ turned[:, i, j]
    if between == 0 and first <= last:
        return 0.0
    # The angle of the eigenvector of the smaller eigenvalue.
    angle = 0.5 * np.arctan2(-2 * between, last - first)
    cos, sin = np.cos(angle), np.sin(angle)
    turn = np.array([[cos, -sin], [sin, cos]])
    pair = [i, j]
    axes[:, pair] = axes[:, pair] @ turn
    turned[:, :, pair] = turned[:, :, pair] @ turn
    turned[:, pair, :] = turn.T @ turned[:, pair, :]
    return float(abs(angle))
