"""The sections of the summary of nearest centroids."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results.headers import (
    Sections,
    error_items,
    header,
    prior_item,
    row_items,
    size_items,
    title,
)
from discrim.report.tables import Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.normal.nearest_centroid import NearestCentroidResults

__all__ = ["nearest_centroid_brief", "nearest_centroid_sections"]

DISTANCE = "Euclidean, in columns' units"


def nearest_centroid_sections(fit: NearestCentroidResults) -> Sections:
    """Sections of nearest centroids, in their order."""
    return {
        "header": partial(_header, fit),
        "classes": partial(_classes, fit),
        "means": partial(_means, fit),
        "distances": partial(_distances, fit),
        "columns": partial(_columns, fit),
    }


def nearest_centroid_brief(fit: NearestCentroidResults) -> Summary:
    """The short form: classes and means."""
    return Summary(title(fit), {"classes": _classes(fit), "means": _means(fit)})


def _header(fit: NearestCentroidResults) -> Pairs:
    equal = not fit._fit.numbers.estimated_prior and np.ptp(fit._fit.prior) == 0
    items: list[tuple[str, Any, str]] = [
        *row_items(fit),
        ("Distance", DISTANCE, DISTANCE),
        ("Standard deviation s", fit.sd, f"{fit.sd:.5g}"),
        ("Prior", "equal", "equal") if equal else prior_item(fit),
        ("Log-likelihood", fit.llf, f"{fit.llf:.2f}"),
        *size_items(fit),
        ("AIC", fit.aic, f"{fit.aic:.2f}"),
        ("BIC", fit.bic, f"{fit.bic:.2f}"),
        *error_items(fit),
    ]
    return header(fit, items)


def _classes(fit: NearestCentroidResults) -> Section:
    numbers = fit._fit.numbers
    held = numbers.within_reach
    free = held.counts - 1
    # In units of s, so that no square is out of range.
    squares = (numbers.covariance.whiten(np.sqrt(held.squares.T)) ** 2).sum(axis=0)
    own = np.divide(squares, free * held.n_columns, out=np.full(len(free), np.nan), where=free > 0)
    table = pd.DataFrame({"prior": fit.prior, "rows": fit.counts, "sd": fit.sd * np.sqrt(own)})
    formats: dict[Any, Any] = {"prior": "share", "rows": "count", "sd": "general"}
    note = "The rule takes the one s for all of them."
    return Section("Classes, with their own standard deviations", table, formats, note=note)


def _means(fit: NearestCentroidResults) -> Section:
    return Section("Means", fit.means.rename_axis(index=None), source="fit.means")


def _distances(fit: NearestCentroidResults) -> Section:
    table = pd.DataFrame(np.sqrt(fit._fit.numbers.gaps()), index=fit.classes, columns=fit.classes)
    table = table.rename_axis(index=None, columns=None)
    return Section(
        "Distances between the means, in units of s",
        table,
        shared=True,
        triangle=True,
        source="fit.distances()",
    )


def _columns(fit: NearestCentroidResults) -> Section:
    formats: dict[Any, Any] = {"sd": "general", "within": "share", "between": "share"}
    note = "Squares add up in the columns' units: the larger a column's share, the more it decides."
    return Section(
        "Standard deviations within classes, and shares of the squares within and between classes",
        fit.column_shares(),
        formats,
        note=note,
        source="fit.column_shares()",
    )
