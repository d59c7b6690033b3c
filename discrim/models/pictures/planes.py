"""Pictures in the plane of two columns."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.rules.rules import posteriors
from discrim.models.fits.prediction import posterior_frame
from discrim.models.pictures.plane_columns import Ground, ground_of, told_held

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["draw_ground", "regions"]

Floats = NDArray[np.float64]

MOST_COLUMNS = 6
"""Of a matrix of planes."""

TITLE = "Regions of the predicted classes"


def regions(results: Any, asked: Asked) -> Axes:
    """Regions of the classes in the plane of two columns, or of each pair of more, others held.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.qda("species ~ .", discrim.datasets.load_iris())
    >>> at = {"sepal_length": 6.0, "sepal_width": 3.0}
    >>> fit.plot("regions", columns=("petal_length", "petal_width"), at=at).get_xlabel()
    'petal_length'
    """
    ground = ground_of(results, asked, "regions", MOST_COLUMNS)
    if len(ground.columns) == 1:
        return _line(ground, asked)
    return draw_ground(ground, asked) if len(ground.columns) == 2 else _matrix(ground, asked)


def draw_ground(ground: Ground, asked: Asked, title: str = TITLE) -> Axes:
    """The plane of two columns."""
    from discrim.report.plots.regions import draw_plane

    fit, names = ground.fit, (ground.columns[0], ground.columns[1])
    points, codes = ground.points(names)
    held = told_held(ground, names)
    across, up = ground.limits(names)
    return draw_plane(
        ground.classify(names),
        (across, up),
        names,
        points,
        codes,
        list(fit.classes),
        ax=asked.ax,
        signs=asked.signs(list(fit.classes)),
        title=f"{title}\n{held}" if held else title,
        weak=bool(held),
    )


def _matrix(ground: Ground, asked: Asked) -> Axes:
    """The planes of all pairs, below the diagonal of a matrix."""
    from discrim.report.plots.regions import draw_plane
    from discrim.report.plots.triangle import finish, triangle

    fit, columns = ground.fit, ground.columns
    signs = asked.signs(list(fit.classes))
    rest = told_held(ground, columns)
    title = f"{TITLE}, in each panel with the other columns held" + (f"\n{rest}" if rest else "")
    outer, place = triangle(asked.ax, columns, list(fit.classes), signs)
    for i, j in combinations(range(len(columns)), 2):
        names = (columns[i], columns[j])
        points, codes = ground.points(names)
        across, up = ground.limits(names)
        draw_plane(
            ground.classify(names),
            (across, up),
            names,
            points,
            codes,
            list(fit.classes),
            ax=place[i, j],
            signs=signs,
            title="",
            weak=True,
            panel=True,
        )
    return finish(outer, place, title)


def _line(ground: Ground, asked: Asked) -> Axes:
    """The posteriors, or values, of the classes along the only column of numbers."""
    from discrim.report.plots.regions import draw_line

    fit, name = ground.fit, ground.columns[0]
    ((low, high),) = ground.limits([name])
    at = np.linspace(low, high, 801)
    sure = not fit.model.instead

    def values(table: pd.DataFrame) -> Floats:
        blocks = fit.new_rows(table)
        finish = posteriors if sure else np.asarray
        found = posterior_frame(blocks, fit.rule(), fit.classes, finish)
        return found.to_numpy()

    points, codes = ground.points([name])
    held = told_held(ground, [name])
    title = f"Regions of the predicted classes, and {'posteriors' if sure else 'values of the rule'}"
    return draw_line(
        at,
        ground.values([name], values)(at[:, None]),
        ground.classify([name])(at[:, None]),
        (name, "Posterior probability" if sure else "Value by which the rule decides"),
        points[:, 0],
        codes,
        list(fit.classes),
        ax=asked.ax,
        signs=asked.signs(list(fit.classes)),
        title=f"{title}\n{held}" if held else title,
    )
