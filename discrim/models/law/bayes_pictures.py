"""Which numbers of a known law a picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.law.bayes_law import DensityLaw, MassLaw
from discrim.errors import NotSupportedError
from discrim.models.law.bayes_input import ruled

Floats = NDArray[np.float64]

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.pictures.style import Axes

__all__ = ["densities", "regions"]

SAMPLE = 400
"""Rows of the sample that lies over the regions of two columns."""


def densities(fit: Any, asked: Asked) -> Axes:
    """Prior times density over one variable, or over the values of a table."""
    from discrim.models.law import bayes_plots as law_plots

    law, prior = fit._known.law, fit._prior_values(None)
    if isinstance(law, DensityLaw) and law.on_line:
        at = _span(law, prior)
        joint = pd.DataFrame(np.exp(fit.decision_function(at).to_numpy()), columns=fit.classes)
        joint.index = pd.Index(at, name=fit.columns[0])
        return law_plots.draw_joint_densities(
            joint, fit.decision, ax=asked.ax, signs=asked.signs(fit.classes)
        )
    listed = law if isinstance(law, MassLaw) else law.enumerated()
    if listed is None:
        raise NotSupportedError(
            f"kind='densities' draws one variable or a table; x has {len(fit.columns)} columns: use "
            "kind='regions'."
        )
    joint = pd.DataFrame((listed.mass * prior[:, None]).T, index=fit.decision.index, columns=fit.classes)
    seen = joint.sum(axis=1).to_numpy() > 1e-6
    called = ruled(fit._known, fit)(listed.points[seen])
    return law_plots.draw_joint_masses(joint[seen], called, ax=asked.ax, signs=asked.signs(fit.classes))


def regions(fit: Any, asked: Asked) -> Axes:
    """Regions of two columns, with the rows of a sample."""
    from discrim.report.pictures.regions import regions as draw

    law = fit._known.law
    if isinstance(law, MassLaw) or law.dim != 2:
        raise NotSupportedError(
            f"kind='regions' draws two columns with densities; this law has {len(fit.columns)}: use "
            "kind='densities'."
        )
    rows = fit.sample(SAMPLE, seed=0)
    labels = rows.iloc[:, 0].astype(object)
    return draw(fit.predict, rows[fit.columns.tolist()], labels, ax=asked.ax, signs=asked.signs(fit.classes))


def _span(law: DensityLaw, prior: Floats) -> Floats:
    """Points of the line where something is to be seen."""
    marks = [held.landmarks for held in law.densities if hasattr(held, "landmarks")]
    grid = np.unique(np.concatenate([np.linspace(m[:-1], m[1:], 40).ravel() for m in marks]))
    joint = np.exp(law.log_densities(grid[:, None])) * prior
    joint[~np.isfinite(joint)] = 0.0
    seen = grid[(joint > 2e-3 * joint.max(axis=0)).any(axis=1)]
    return np.unique(
        np.concatenate([grid[(grid >= seen[0]) & (grid <= seen[-1])], np.linspace(seen[0], seen[-1], 600)])
    )
