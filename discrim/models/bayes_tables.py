"""Tables of a known law: what its rule decides, and bounds on the errors of pairs of classes."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core import bayes_bounds
from discrim.core.bayes_law import DensityLaw, MassLaw, line_regions
from discrim.errors import NotSupportedError
from discrim.models.labels import labelled

if TYPE_CHECKING:
    from discrim.models.bayes import BayesResults
    from discrim.models.bayes_input import Known

__all__ = ["decision_table", "pair_bounds"]


def decision_table(fit: BayesResults) -> pd.DataFrame:
    """Decisions value by value, or interval by interval of a line; see `BayesResults.decision`."""
    law, classes = fit._known.law, fit.classes
    if isinstance(law, DensityLaw) and law.on_line:
        prior = fit._prior_values(None)
        regions = line_regions(law, lambda x: fit._codes(fit._scores(x[:, None], prior)))
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
    frame.insert(width, "probability", chance, allow_duplicates=True)
    decided = fit.predict(data).to_numpy(dtype=object)
    frame.insert(width + 1, "decision", decided, allow_duplicates=True)
    return frame.rename_axis(columns=None)


def pair_bounds(known: Known, prior: NDArray[np.float64], draws: int, seed: int | None) -> pd.DataFrame:
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
