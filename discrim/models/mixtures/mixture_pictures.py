"""Pictures of mixtures: components in the plane of two columns, and the choice by BIC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from discrim.errors import DataError
from discrim.models.fits.arguments import told
from discrim.models.pictures.covariances import asked_terms
from discrim.models.pictures.rows import drawn_rows
from discrim.models.pictures.spaces import asked_level
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["components", "path"]

LEVEL = 0.68
"""Share of a component in its outline."""


def components(results: Any, asked: Asked) -> Axes:
    """Outlines of the components in the plane of two columns."""
    from discrim.report.plots.components import components as draw

    fit, names = results._fit, asked_terms(results, asked, 2)
    if len(names) > 2:
        raise DataError(f"columns={told(asked.columns)}: kind='components' draws a plane: name two columns.")
    rows = drawn_rows(fit, asked)
    level = asked_level(asked, LEVEL)
    axes = draw(
        results.component_means[names],
        results.shares,
        {key: cov.loc[names, names] for key, cov in results.covs.items()},
        float(np.sqrt(scipy.special.chdtri(2, 1 - level))),
        points=None if rows is None else rows.terms(names),
        labels=None if rows is None else rows.labels,
        ax=asked.ax,
        signs=asked.signs(fit.classes),
    )
    set_title(axes, f"Components of the classes; outlines hold {100 * level:.6g} % of each")
    return axes


def path(results: Any, asked: Asked) -> Axes:
    """BIC by number of components, or by form where there is one number only."""
    from discrim.report.plots.components import criterion

    table = results.path.dropna(subset=["BIC"])
    if "class" not in table:
        table = table.assign(**{"class": "all classes"})
    across = "components" if table["components"].nunique() > 1 else "covariance"
    least = table.groupby(["class", across], sort=False, observed=True)["BIC"].min().reset_index()
    axes = criterion(least, across, ax=asked.ax, signs=asked.signs(results._fit.classes))
    best = "the best form of each number of components" if across == "components" else "each form"
    set_title(axes, f"BIC of {best}")
    return axes
