"""The picture of a ranking of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.report.plots.dots import dot_strips

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["ranking"]

MOST_DOTS = 30
"""Columns that are drawn."""


def ranking(results: Any, asked: Asked) -> Axes:
    """The first columns of the ranking, with their scores by class."""
    table = results.ranking(top=min(MOST_DOTS, len(results.terms)))
    scores = table.iloc[:, -len(results.classes) :]
    kind = "t-scores" if results._fit.numbers.covariance.is_diagonal else "Cat scores"
    of = f" ({len(table)} of {len(results.terms)})" if len(table) < len(results.terms) else ""
    title = f"{kind} of the classes against the common mean{of}"
    return dot_strips(scores, list(results.classes), title, ax=asked.ax, signs=asked.signs(results.classes))
