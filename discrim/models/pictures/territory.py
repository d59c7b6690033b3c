"""The territorial map: regions of the classes in the space of two discriminants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.rules.rules import best_class, posteriors
from discrim.errors import NotSupportedError
from discrim.models.pictures.rows import drawn_rows
from discrim.models.pictures.spaces import asked_axes, scores_within

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["territory"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

TITLE = "Territorial map: regions of the classes among the discriminants"


def territory(results: Any, asked: Asked) -> Axes:
    """Regions in the space of two discriminants, the others at zero, with the class means labelled.

    Within classes discriminants have unit variance and, but of sparse ones, are uncorrelated, so that a row
    belongs to the class of the nearest mean, but for its prior: the score of class k is ln prior_k -
    |z - m_k|^2 / 2, the distance in the metric of the discriminants' covariance. SPSS prints the same map in
    letters.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.lda("species ~ .", discrim.datasets.load_iris())
    >>> fit.plot("territory", axes=("LD1", "LD2")).get_ylabel()
    'LD2'
    """
    from discrim.report.plots.regions import draw_line, draw_plane

    fit = results._fit
    centroids = results._centroids()
    every = list(centroids.columns)
    if not every:
        raise NotSupportedError(
            "The class means do not differ, so there is no discriminant: choose another kind."
        )
    names = asked_axes(every, asked)
    at = [every.index(name) for name in names]
    means, log_prior = centroids.to_numpy(), fit.log_prior()

    within = scores_within(results, every)
    turn = None if within is None else np.linalg.inv(np.linalg.cholesky(within)).T

    def scores(points: Floats) -> Floats:
        gap = np.repeat(-means[None], len(points), axis=0)
        gap[:, :, at] += points[:, None, :]
        white = gap if turn is None else gap @ turn
        return np.asarray(log_prior - 0.5 * (white**2).sum(axis=2))

    rows = drawn_rows(fit, asked)
    points, codes = np.empty((0, len(at))), np.empty(0, dtype=np.intp)
    if rows is not None:
        points, codes = results.transform(rows.blocks)[names].to_numpy(), rows.codes
    limits = [_limits(points[:, j], means[:, at[j]]) for j in range(len(at))]
    held = "" if len(names) == len(every) else f"\nheld: {_told(every, names)} = 0"
    common: dict[str, Any] = {"ax": asked.ax, "signs": asked.signs(fit.classes), "title": TITLE + held}
    classes = list(fit.classes)
    if len(at) == 1:
        line = np.linspace(*limits[0], 801)
        found = scores(line[:, None])
        said = (names[0], "Posterior probability")
        return draw_line(
            line, posteriors(found), best_class(found), said, points[:, 0], codes, classes, **common
        )
    return draw_plane(
        lambda plane: best_class(scores(plane)),
        (limits[0], limits[1]),
        (names[0], names[1]),
        points,
        codes,
        classes,
        labels=means[:, at],
        weak=bool(held),
        **common,
    )


def _limits(values: Floats, means: Floats) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    low = min(float(known.min(initial=np.inf)), float(means.min()) - (0.5 if len(known) else 3.0))
    high = max(float(known.max(initial=-np.inf)), float(means.max()) + (0.5 if len(known) else 3.0))
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _told(every: list[str], names: list[str]) -> str:
    others = [name for name in every if name not in names]
    return (
        others[0]
        if len(others) == 1
        else f"{others[0]} to {others[-1]}"
        if len(others) > 3
        else " = ".join(others)
    )
