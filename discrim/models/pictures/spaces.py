"""Pictures in the space of the discriminants, and of what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError, NotSupportedError
from discrim.models.fits.arguments import is_share, listed, told
from discrim.models.pictures.rows import drawn_rows, no_labels, refuse_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = [
    "asked_axes",
    "asked_level",
    "biplot",
    "biplot_of",
    "scores",
    "scores_within",
    "scree",
    "structure",
]

Floats = NDArray[np.float64]

NO_DISCRIMINANT = (
    "The class means do not differ, so that there is no discriminant: use another kind of picture."
)

MOST_BARS = 30
"""Columns whose structure correlations are drawn."""


def asked_axes(names: Sequence[str], asked: Asked, most: int = 2) -> list[str]:
    """The discriminants asked for, or the first that there are.

    Raises
    ------
    DataError
        One of them is not there, is named twice, or they are too many.
    """
    if asked.axes is None:
        return list(names[:most])
    known = listed(list(names))
    given = [asked.axes] if isinstance(asked.axes, str) else list(asked.axes)
    if not 1 <= len(given) <= most or len(set(given)) < len(given):
        raise DataError(f"axes={told(asked.axes)}: name one to {most} different discriminants of {known}.")
    for name in given:
        if name not in names:
            raise DataError(
                f"axes={told(asked.axes)}: {told(name)} is no discriminant: name some of {known}."
            )
    return given


def asked_level(asked: Asked, default: float) -> float:
    """The level asked for.

    Raises
    ------
    DataError
        It is not between 0 and 1.
    """
    if asked.level is None:
        return default
    if not is_share(asked.level):
        raise DataError(f"level={told(asked.level)}: give a share between 0 and 1, as level=0.5.")
    return float(asked.level)


def scores(results: Any, asked: Asked) -> Axes:
    """Scores of the rows on the discriminants, by class, with outlines of the classes."""
    from discrim.report.plots import scores as pictures

    fit = results._fit
    centroids: pd.DataFrame = results._centroids()
    names = asked_axes(list(centroids.columns), asked)
    rows = drawn_rows(fit, asked)
    found = (
        pd.DataFrame(columns=names, dtype=float) if rows is None else results.transform(rows.blocks)[names]
    )
    return pictures.scores(
        found,
        no_labels() if rows is None else rows.labels,
        centroids[names],
        ax=asked.ax,
        signs=asked.signs(fit.classes),
        shares=getattr(results, "explained", None),
        counts=fit.rows_by_class,
        level=asked_level(asked, 0.5),
        within=scores_within(results, names),
    )


def scores_within(results: Any, names: Sequence[str]) -> Floats | None:
    """Covariance within classes of some discriminants, of models where it is not the identity."""
    if not hasattr(results, "_scores_within"):
        return None
    within: pd.DataFrame = results._scores_within()
    return within.loc[list(names), list(names)].to_numpy(dtype=np.float64)


def biplot(results: Any, asked: Asked) -> Axes:
    """Canonical scores, and the columns as arrows of their structure correlations."""
    return biplot_of(results.canonical(), asked)


def biplot_of(canonical: Any, asked: Asked) -> Axes:
    """The same of canonical axes, in any convention."""
    from discrim.report.plots.biplot import biplot as draw

    fit = canonical._fit
    names = asked_axes(list(canonical.centroids.columns), asked)
    rows = drawn_rows(fit, asked)
    none = pd.DataFrame(columns=names, dtype=float)
    found = none if rows is None else canonical.scores(rows.blocks)[names]
    return draw(
        found,
        no_labels() if rows is None else rows.labels,
        canonical.centroids[names],
        canonical.structure(asked.structure or "within")[names],
        fit.rows_by_class,
        ax=asked.ax,
        signs=asked.signs(fit.classes),
        shares=canonical.proportion,
    )


def structure(results: Any, asked: Asked) -> Axes:
    """Structure correlations of the columns, a panel of bars for each discriminant."""
    from discrim.report.plots.bars import structure as draw

    refuse_rows(asked, "structure")
    canonical = results.canonical()
    names = asked_axes(list(canonical.centroids.columns), asked, most=3)
    if not names:
        raise NotSupportedError(NO_DISCRIMINANT)
    table = canonical.structure(asked.structure or "within")[names]
    longest = np.argsort(-np.abs(table.to_numpy()).max(axis=1), kind="stable")[:MOST_BARS]
    return draw(table.iloc[np.sort(longest)], len(table), canonical.proportion, ax=asked.ax)


def scree(results: Any, asked: Asked) -> Axes:
    """Shares of the discriminants in the variance between classes, with the tests of the dimensions."""
    from discrim.report.plots.bars import scree as draw

    refuse_rows(asked, "scree")
    canonical = results.canonical()
    if not len(canonical.proportion):
        raise NotSupportedError(NO_DISCRIMINANT)
    return draw(canonical.proportion, canonical.eigenvalues, canonical.dimension_tests["p"], ax=asked.ax)
