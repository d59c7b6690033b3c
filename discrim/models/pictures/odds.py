"""Which log odds a forest plot shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.errors import DataError
from discrim.report.plots.style import MOST_IN_LEGEND, shown_name

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["forest", "odds_ratios"]

MOST_LINES = 40
"""Terms by classes that are drawn; of more, those of the largest z."""


def forest(results: Any, asked: Asked) -> Axes:
    """Log odds of the classes against the reference, with intervals; constants are left out."""
    return _drawn(results, asked, ratios=False)


def odds_ratios(results: Any, asked: Asked) -> Axes:
    """Factors of the odds for one unit of a column, with intervals."""
    return _drawn(results, asked, ratios=True)


def _drawn(results: Any, asked: Asked, *, ratios: bool) -> Axes:
    from discrim.report.plots.intervals import forest as draw

    level = 0.95 if asked.level is None else asked.level
    table = results.log_odds(level=level).drop("constant", level="term")
    if not len(table):
        raise DataError("The model has constants alone, and no log odds of terms: add terms to the formula.")
    labels = table.index.get_level_values(0)
    (reference,) = [label for label in results.classes if label not in set(labels)]
    every = len(table)
    shown = largest(table, MOST_LINES)
    values = shown[["coef", "low", "high"]].to_numpy(dtype=np.float64)
    with np.errstate(over="ignore"):
        values = np.exp(values) if ratios else values
    held = pd.DataFrame(values, columns=["estimate", "low", "high"])
    held.insert(0, "class", shown.index.get_level_values(0))
    held.insert(1, "term", shown.index.get_level_values(1))
    if len(results.classes) > MOST_IN_LEGEND:
        held["term"] = [f"{term}, {label}" for label, term in zip(held["class"], held["term"], strict=True)]
    what = "Odds ratio" if ratios else "Log odds"
    of = f" of {shown_name(labels[0])}" if labels.nunique() == 1 else ""
    title = f"{what}s" if ratios else what
    title += f"{of} against {shown_name(reference)}, {100 * level:g} % intervals"
    if every > len(held):
        title += f"\nthe {len(held)} of {every} with the largest |z|"
    names = (f"{what} for one unit of the column", title)
    signs = asked.signs(results.classes)
    return draw(held, list(results.classes), names, ax=asked.ax, signs=signs, ratios=ratios)


def largest(table: pd.DataFrame, most: int) -> pd.DataFrame:
    """The lines of a table of log odds, term by term; of too many those of the largest |z|, in its order."""
    labels, terms = (table.index.get_level_values(i) for i in (0, 1))
    if len(table) > most:
        z = np.nan_to_num(np.abs(table["z"].to_numpy(dtype=np.float64)), posinf=0.0)
        return table.iloc[np.argsort(-z, kind="stable")[:most]]
    first = {term: i for i, term in reversed(list(enumerate(terms)))}
    places = [first[term] for term in terms]
    return table.iloc[np.lexsort((pd.factorize(labels)[0], np.array(places)))]
