"""Where regions of a plane meet: cells of a grid by class, and the lines between them.

The grid is coarse. A side of a cell whose ends differ is crossed by a border, and the place is found by
bisection of the rule itself: lines are as smooth as the rule is, and steps are seen only where it has some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Regions", "find_regions"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Classify = Callable[[Floats], Codes]
"""From points (m, 2) to their classes (m,), -1 where there is none."""

HALVINGS = 16
"""Of the side of a cell, until the place of a border is told."""

FINE = 4
"""Points a side of a cell that borders cross, where its colours are told."""


@dataclass(frozen=True, slots=True)
class Regions:
    """Regions of classes in a rectangle.

    Attributes
    ----------
    across, up : (g,) and (h,) float
        Of the grid.
    codes : (h, g) int
        Class at the points of the grid, -1 where there is none.
    colours : (FINE (h - 1), FINE (g - 1)) int
        Class of small rectangles that fill the whole.
    segments : (s, 2, 2) float
        Ends of pieces of the borders.
    """

    across: Floats
    up: Floats
    codes: Codes
    colours: Codes
    segments: Floats


def find_regions(classify: Classify, across: Floats, up: Floats) -> Regions:
    """Classes at the points of a grid, and the borders between them.

    Parameters
    ----------
    classify : callable
    across, up : (g,) and (h,) float
        Rising, at even steps.
    """
    g, h = len(across), len(up)
    points = np.stack(np.meshgrid(across, up), axis=-1)
    codes = np.asarray(classify(points.reshape(-1, 2))).reshape(h, g)
    places = np.full((4, h - 1, g - 1, 2), np.nan)
    level = _crossed(classify, points[:, :-1], points[:, 1:], codes[:, :-1], codes[:, 1:])
    upright = _crossed(classify, points[:-1], points[1:], codes[:-1], codes[1:])
    places[0], places[2] = level[:-1], level[1:]
    places[1], places[3] = upright[:, 1:], upright[:, :-1]
    return Regions(across, up, codes, _coloured(classify, across, up, codes), _joined(places))


def _crossed(classify: Classify, start: Floats, stop: Floats, own: Codes, other: Codes) -> Floats:
    """Where the class changes between points and their neighbours, missing where it does not."""
    found = np.full(start.shape, np.nan)
    here = own != other
    near, far, held = start[here], stop[here], own[here]
    for _ in range(HALVINGS if len(held) else 0):
        middle = (near + far) / 2
        same = (np.asarray(classify(middle)) == held)[:, None]
        near, far = np.where(same, middle, near), np.where(same, far, middle)
    found[here] = (near + far) / 2
    return found


def _joined(places: Floats) -> Floats:
    """Pieces of borders from the places where they cross the sides of the cells, (4, h, g, 2)."""
    corners = places.reshape(4, -1, 2)
    crossed = ~np.isnan(corners[..., 0])
    count = crossed.sum(axis=0)
    pieces = [np.empty((0, 2, 2))]
    two = np.flatnonzero(count == 2)
    if len(two):
        order = np.argsort(~crossed[:, two], axis=0, kind="stable")[:2]
        pieces.append(np.stack([corners[order[0], two], corners[order[1], two]], axis=1))
    # Where three regions meet, their borders are drawn to the middle of where they enter the cell.
    for cell in np.flatnonzero(count > 2).tolist():
        ends = corners[crossed[:, cell], cell]
        pieces.append(np.stack([ends, np.broadcast_to(ends.mean(axis=0), ends.shape)], axis=1))
    return np.concatenate(pieces)


def _coloured(classify: Classify, across: Floats, up: Floats, codes: Codes) -> Codes:
    """Classes of small rectangles; only cells whose corners differ are looked into."""
    low = codes[:-1, :-1]
    mixed = (low != codes[:-1, 1:]) | (low != codes[1:, :-1]) | (low != codes[1:, 1:])
    out = np.repeat(np.repeat(low, FINE, axis=0), FINE, axis=1)
    i, j = np.nonzero(mixed)
    if not len(i):
        return out
    within = (np.arange(FINE) + 0.5) / FINE
    x = across[j][:, None] + within * (across[j + 1] - across[j])[:, None]
    y = up[i][:, None] + within * (up[i + 1] - up[i])[:, None]
    shape = (len(i), FINE, FINE)
    inside: Any = np.stack(
        [np.broadcast_to(x[:, None, :], shape), np.broadcast_to(y[:, :, None], shape)], axis=-1
    )
    found = np.asarray(classify(inside.reshape(-1, 2))).reshape(shape)
    rows = FINE * i[:, None, None] + np.arange(FINE)[None, :, None]
    columns = FINE * j[:, None, None] + np.arange(FINE)[None, None, :]
    out[rows, columns] = found
    return out
