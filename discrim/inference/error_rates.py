"""How often is the rule wrong? Confusion tables and error rates from labels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

__all__ = ["confusion_table", "error_table"]

Codes = NDArray[np.intp]


def confusion_table(
    actual: Codes, predicted: Codes, classes: pd.Index, weights: NDArray[np.float64] | None = None
) -> pd.DataFrame:
    """Counts of actual classes (rows) by predicted classes (columns).

    Parameters
    ----------
    actual, predicted : (n,) int
        Codes into classes; a row with a negative code is left out.
    classes : Index of length K
    weights : (n,) float, optional
        Frequency weights; without them the counts are integers.
    """
    k = len(classes)
    known = (actual >= 0) & (predicted >= 0)
    cells = actual[known] * k + predicted[known]
    counts = np.bincount(cells, None if weights is None else weights[known], k * k)
    return pd.DataFrame(
        counts.reshape(k, k), index=classes.rename("actual"), columns=classes.rename("predicted")
    )


def error_table(confusions: Mapping[str, pd.DataFrame], level: float = 0.95) -> pd.DataFrame:
    """Error rate of each confusion table.

    Returns
    -------
    DataFrame
        A row for each method: estimate, std_err (binomial), low and high (Clopper and Pearson's exact
        interval, 1934, Biometrika 26, 404-413), wrong and total (sums of weights).
    """
    rows = {}
    for method, table in confusions.items():
        counts = table.to_numpy(dtype=np.float64)
        total = float(counts.sum())
        wrong = total - float(np.trace(counts))
        share = wrong / total if total else np.nan
        tail = (1 - level) / 2
        low = float(stats.beta.ppf(tail, wrong, total - wrong + 1)) if wrong > 0 else 0.0
        high = float(stats.beta.ppf(1 - tail, wrong + 1, total - wrong)) if wrong < total else 1.0
        rows[method] = (
            share,
            np.sqrt(share * (1 - share) / total) if total else np.nan,
            low,
            high,
            wrong,
            total,
        )
    columns = ["estimate", "std_err", "low", "high", "wrong", "total"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("method")
