"""Coordinates in which EM keeps the digits of the rows, as far as the form of the covariances bears them.

Theory. Scatters square the condition number of the rows: where a column is nearly a combination of others,
they lose twice the digits that the data lack. With R the triangular root of the scatter within a class, by a
QR of its rows, the whitened rows R'^-1 z have no such columns, and the root of a covariance R'SR is that of S
times R. EEE and VEE, whose covariances are multiples of one matrix, stay what they are in the coordinates of
any one R; EVV in those of an own R for each class, all of one determinant; VVV in those of any.

EVE, VVE, EEV and VEV bear rotations, a common one or for each class its own. In principal axes a scatter has
entries of as many digits each as the rows have along these axes. Forms without an orientation have
variances only, which no other column can spoil.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance, dependencies
from discrim.core.mixtures.em import Components, Rows
from discrim.core.mixtures.forms import is_axial
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ill_conditioned, triangle

__all__ = ["Frame", "Frames", "frames_of", "in_frames", "out_of_frames", "rows_in_frames"]

Floats = NDArray[np.float64]

ROTATED = ("EVE", "VVE", "EEV", "VEV")
"""Forms that depend on lengths along axes."""

UNEVEN = 1e-2
"""Standard deviation of a column, over that of another, below which lengths along axes lose digits."""

OF_ALL = ("EEE", "VEE", "EVE", "VVE")
"""Forms that bear one frame for all classes only."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Coordinates u of rows z = M'u.

    Attributes
    ----------
    root : (p, p) float
        M, upper triangular or orthogonal.
    rotated : bool
        Whether it is orthogonal.
    """

    root: Floats
    rotated: bool

    @property
    def log_volume(self) -> float:
        """Log-determinant of M."""
        return 0.0 if self.rotated else float(np.log(np.abs(np.diagonal(self.root))).sum())

    def enter(self, z: Floats) -> Floats:
        """The coordinates u (p, n) of deviations z (p, n)."""
        return np.asarray(self.root @ z) if self.rotated else Covariance.from_root(self.root).whiten(z)

    def leave(self, means: Floats) -> Floats:
        """Deviations z (G, p) of points u (G, p)."""
        return np.asarray(means @ self.root)

    def root_inside(self, covariance: Covariance) -> Covariance:
        """The covariance of u, from that of z."""
        if self.rotated:
            return Covariance.from_root(triangle(covariance.root @ self.root.T))
        return Covariance.from_root(np.triu(self.enter(covariance.root.T).T))

    def root_outside(self, covariance: Covariance) -> Covariance:
        """The covariance of z, from that of u."""
        root = covariance.root @ self.root
        return Covariance.from_root(triangle(root) if self.rotated else root)


Frames = Sequence[Frame] | None


def frames_of(rows: Sequence[Rows], form: str, moments: ClassMoments | None = None) -> Frames:
    """The frame of each class of those that are fitted together; None where it is not needed, or not borne.

    Parameters
    ----------
    rows : sequence of Rows
    form : str
    moments : ClassMoments, optional
        Of the rows, diagonal and in their unit: then columns that others determine are looked for.

    Raises
    ------
    LinAlgError
        No covariance of the form has an inverse: a class has too few rows, or columns that others determine.
    """
    if is_axial(form):
        return None
    places = [list(range(len(rows)))] if form in OF_ALL else [[k] for k in range(len(rows))]
    scatters = [_scatter([rows[k] for k in place]) for place in places]
    if not any(_loses_digits(scatter, form) for scatter in scatters):
        return None
    roots = [_root([rows[k] for k in place]) for place in places]
    if moments is not None:
        flat = [
            _is_flat(root, moments.classes(np.array(own))) for root, own in zip(roots, places, strict=True)
        ]
        # The shape that all components have may be that of the other classes.
        if all(flat) if form in ROTATED else any(flat):
            raise np.linalg.LinAlgError
    if form in ROTATED:
        frames = [Frame(np.linalg.svd(root)[2], rotated=True) for root in roots]
    else:
        lengths = np.abs([np.diagonal(root) for root in roots])
        if not lengths.all():
            raise np.linalg.LinAlgError
        volumes = np.log(lengths).mean(axis=1)
        # Equal volumes stay equal where all frames have one.
        units = np.exp(volumes.mean() - volumes) if form == "EVV" else np.ones(len(roots))
        frames = [Frame(root * unit, rotated=False) for root, unit in zip(roots, units, strict=True)]
    return frames * len(rows) if form in OF_ALL else frames


def _scatter(rows: Sequence[Rows]) -> Floats:
    """The scatter (p, p) of rows."""
    return np.asarray(np.sum([(row.z * row.weights) @ row.z.T for row in rows], axis=0))


def _loses_digits(scatter: Floats, form: str) -> bool:
    """Whether covariances of the form lose digits in these coordinates."""
    squares = np.diagonal(scatter)
    uneven = form in ROTATED and squares.min() < UNEVEN**2 * squares.max()
    return bool(uneven) or ill_conditioned(scatter)


def _root(rows: Sequence[Rows]) -> Floats:
    """Upper triangular root (p, p) of the scatter of rows over their weight, by QR of the rows."""
    weight = sum(float(row.weights.sum()) for row in rows)
    return triangle(np.concatenate([row.z * np.sqrt(row.weights / weight) for row in rows], axis=1).T)


def _is_flat(root: Floats, moments: ClassMoments) -> bool:
    """Whether a column of a root (p, p) of moments over their weight says nothing beyond those before it."""
    whole = root * np.sqrt(moments.total)
    return bool(dependencies(replace(moments, scatters=(whole.T @ whole)[None], roots=whole[None])))


def rows_in_frames(rows: Sequence[Rows], frames: Frames) -> list[Rows]:
    """The rows of each class in the coordinates of its frame."""
    if frames is None:
        return list(rows)
    return [Rows(frame.enter(row.z), row.weights) for row, frame in zip(rows, frames, strict=True)]


def in_frames(held: Components, frames: Frames) -> Components:
    """Components in the coordinates of the frames of their classes."""
    if frames is None:
        return held
    means, covariances = held.means.copy(), []
    for at, frame in zip(held.places(), frames, strict=True):
        means[at] = frame.enter(held.means[at].T).T
        covariances += [frame.root_inside(each) for each in held.covariances[at]]
    axes = None if held.axes is None else frames[0].root @ held.axes
    return replace(held, means=means, covariances=tuple(covariances), axes=axes)


def out_of_frames(held: Components, rows: Sequence[Rows], frames: Frames) -> Components:
    """Components of rows in the coordinates that these have without frames, and the log-likelihoods there."""
    if frames is None:
        return held
    means, covariances = held.means.copy(), []
    for at, frame in zip(held.places(), frames, strict=True):
        means[at] = frame.leave(held.means[at])
        covariances += [frame.root_outside(each) for each in held.covariances[at]]
    lost = sum(float(row.weights.sum()) * frame.log_volume for row, frame in zip(rows, frames, strict=True))
    axes = None if held.axes is None else frames[0].root.T @ held.axes
    path = tuple(llf - lost for llf in held.path)
    return replace(held, means=means, covariances=tuple(covariances), axes=axes, path=path)
