"""Tables of a known law: what its rule decides, and bounds on the errors of pairs of classes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.law import bayes_bounds
from discrim.core.law.bayes_law import DensityLaw, MassLaw, Regions, line_regions
from discrim.core.rules.rules import posteriors
from discrim.errors import NotSupportedError
from discrim.models.fits.labels import distinct, labelled

if TYPE_CHECKING:
    from discrim.models.law.bayes_input import Known

__all__ = ["decision_table", "pair_bounds"]

Floats = NDArray[np.float64]

ROUNDINGS = 16
"""Units in the last place of a log density by which two posteriors may differ and still be equal."""


def decision_table(fit: Any) -> pd.DataFrame:
    """Decisions value by value, or interval by interval of a line; see `BayesResults.decision`."""
    law, classes = fit._known.law, fit.classes
    if isinstance(law, DensityLaw) and law.on_line:
        prior = fit._prior_values(None)
        regions = line_regions(law, lambda x: fit._codes(fit._scores(x[:, None], prior)))
        regions = _settled(regions, lambda x: fit._scores(x[:, None], prior), fit._costs())
        index = pd.RangeIndex(len(regions.codes))
        labels = labelled(regions.codes, classes, index).rename("decision")
        return pd.DataFrame({"low": regions.edges[:-1], "high": regions.edges[1:], "decision": labels})
    listed = law if isinstance(law, MassLaw) else law.enumerated()
    if listed is None:
        raise NotSupportedError("Only values of a table and of one variable are listed: see predict().")
    data = None if isinstance(law, MassLaw) else pd.DataFrame(listed.points, columns=fit.columns)
    frame = fit.predict_proba(data)
    if data is not None:
        values = listed.points[:, 0]
        whole = (values == np.floor(values)).all() and np.abs(values).max() < 2**53
        frame.index = pd.Index(values.astype(np.int64) if whole else values, name=fit.columns[0])
    width = frame.shape[1]
    chance = fit.prior.to_numpy() @ listed.mass
    frame.insert(width, distinct("probability", classes), chance)
    decided = fit.predict(data).to_numpy(dtype=object)
    frame.insert(width + 1, distinct("decision", classes), decided)
    named: pd.DataFrame = frame.rename_axis(columns=None)
    return named


def pair_bounds(known: Known, prior: Floats, draws: int, seed: int | None) -> pd.DataFrame:
    """Bounds on the errors of pairs of classes, and on the whole; see `BayesResults.bounds`."""
    classes = known.classes
    pairs = list(combinations(range(len(classes)), 2))
    found = []
    for i, j in pairs:
        affinity, least = bayes_bounds.log_affinity(known.law, i, j, draws, seed)
        found.append(bayes_bounds.pair_bound(affinity, prior[i], prior[j], least))
    table = pd.DataFrame(found, columns=list(bayes_bounds.PairBound._fields))
    whole = {
        "exponent": np.nan,
        "chernoff": table["chernoff"].sum(),
        "bhattacharyya": table["bhattacharyya"].sum(),
        "lower": table["lower"].max(),
        "distance": np.nan,
    }
    names = [(classes[i], classes[j]) for i, j in pairs] + [("all", "")]
    table = pd.concat([table, pd.DataFrame([whole])], ignore_index=True)
    table.index = pd.MultiIndex.from_tuples(names, names=["a", "b"])
    return table


def _settled(regions: Regions, scores: Callable[[Floats], Floats], costs: Floats) -> Regions:
    """Regions without those far out that only the rounding of the densities tells from their neighbour.

    There two posteriors approach each other as 1/x, and their logarithms have no digit for it. From the
    region of the greatest density outwards, each takes the class of the one before where that costs as much.
    """
    edges, codes = regions.edges, regions.codes.copy()
    finite = edges[np.isfinite(edges)]
    if len(codes) < 3 or not len(finite):
        return regions
    # Near either edge at every scale.
    steps = 2.0 ** np.arange(-70, 0)
    far = (finite[-1] - finite[0]) * np.append(steps, 2.0 ** np.arange(5))
    held, scale, top = [], [], []
    for low, high in pairwise(edges):
        if np.isinf(low) or np.isinf(high):
            x = finite[0] - far if np.isinf(low) else finite[-1] + far
        else:
            x = np.concatenate([low + (high - low) * steps, high - (high - low) * steps])
        found = scores(x)
        held.append(posteriors(found) @ costs)
        scale.append(np.abs(np.where(np.isfinite(found), found, 0.0)).max(axis=1))
        top.append(found.max())
    middle = int(np.argmax(top))
    for side in (range(middle + 1, len(codes)), range(middle - 1, -1, -1)):
        for place in side:
            before = codes[place - 1 if place > middle else place + 1]
            if codes[place] < 0 or before < 0:
                continue
            lost = held[place][:, before] - held[place][:, codes[place]]
            if (lost <= ROUNDINGS * np.finfo(float).eps * np.maximum(scale[place], 1.0)).all():
                codes[place] = before
    kept = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    return Regions(np.append(edges[kept], edges[-1]), codes[kept])
