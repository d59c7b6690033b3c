"""Which numbers of a known law a picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.law.bayes_law import DensityLaw, MassLaw
from discrim.errors import DataError, NotSupportedError
from discrim.models.law.bayes_input import ruled
from discrim.models.pictures.plane_columns import chosen, given_values
from discrim.report.plots.regions import span
from discrim.report.plots.style import label_codes

Floats = NDArray[np.float64]

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

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
    """Regions of two columns, with the rows of a sample; other columns are held."""
    from discrim.report.plots.regions import draw_plane

    law, every = fit._known.law, fit.columns.tolist()
    if isinstance(law, MassLaw) or law.dim < 2:
        raise NotSupportedError(
            f"kind='regions' draws two columns with densities; this law has {len(every)}: use "
            "kind='densities'."
        )
    rows = fit.sample(SAMPLE, seed=0) if asked.data is None else pd.DataFrame(asked.data)
    names = chosen(every, asked, "regions", 2)
    if len(names) < 2:
        raise DataError(f"columns={names}: kind='regions' of a law draws two columns: name two.")
    held = {name: float(rows[name].mean()) for name in every if name not in names}
    held |= given_values(asked, every, names, every)
    rule = ruled(fit._known, fit)

    def classify(plane: Floats) -> NDArray[np.intp]:
        x = np.column_stack(
            [
                plane[:, names.index(name)] if name in names else np.full(len(plane), held[name])
                for name in every
            ]
        )
        return rule(x)

    points = rows[names].to_numpy(dtype=np.float64)
    response = fit.classes.name if fit.classes.name in rows else rows.columns[0]
    codes = label_codes(rows[response].astype(object), fit.classes.tolist())
    across, up = (span(float(np.nanmin(v)), float(np.nanmax(v))) for v in points.T)
    said = ", ".join(f"{name} = {value:.4g}" for name, value in held.items())
    return draw_plane(
        classify,
        (across, up),
        (names[0], names[1]),
        points,
        codes,
        fit.classes.tolist(),
        ax=asked.ax,
        signs=asked.signs(fit.classes),
        title="Regions of the best rule of the law" + (f"\nheld: {said}" if said else ""),
        weak=bool(said),
    )


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
