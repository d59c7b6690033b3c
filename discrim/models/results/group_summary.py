"""Rows, means and standard deviations of the columns by class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from discrim.core.covariance.canonical import weighted_centre
from discrim.inference.mean_differences import between_squares
from discrim.models.fits.fit import Fit
from discrim.models.fits.labels import by_class_and_term, distinct
from discrim.models.fits.reading import class_moments

__all__ = ["group_summary"]


def group_summary(fit: Fit[Any]) -> pd.DataFrame:
    """Rows, means and standard deviations by class and over all rows; reads the rows once more.

    Returns
    -------
    DataFrame
        By (class, term), classes first and then "total": rows, mean, sd (divisors n_k - 1 and N - 1).
    """
    moments = class_moments(fit.rows("group_summary()"), "diagonal")
    counts, total = moments.counts, moments.total
    overall = moments.origin + weighted_centre(moments.means, counts) / moments.scale
    squares = np.vstack([moments.scatters, moments.scatters.sum(axis=0) + between_squares(moments)])
    rows = np.append(counts, total)
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = np.sqrt(squares / (rows - 1)[:, None]) / moments.scale
    index = by_class_and_term([*fit.classes, distinct("total", fit.classes)], fit.terms)
    whole = rows.astype(np.int64) if (rows == np.round(rows)).all() else rows
    table = pd.DataFrame({"rows": np.repeat(whole, len(fit.terms))}, index=index)
    table["mean"], table["sd"] = np.vstack([moments.class_means, overall]).ravel(), sd.ravel()
    return table
