"""Fits, saved ones too, compared by their errors on the rows of another table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from discrim.errors import DataError
from discrim.inference.error_rates import counted_labels
from discrim.inference.paired_tests import mcnemar
from discrim.models.comparing.fitted import need_fits
from discrim.models.judging.assessment import Plan, judged_codes

__all__ = ["compared_on"]


def compared_on(fits: Sequence[Any], names: Sequence[str], data: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Errors of fits on the rows of a table, and McNemar's test of each pair.

    Parameters
    ----------
    fits : sequence of fitted objects
    names : sequence of str
        What they are called.
    data : table
        With the response.

    Returns
    -------
    by_fit : DataFrame
        rows, wrong, error with its standard error and its exact interval of 95 %.
    by_pair : DataFrame by (a, b)
        rows that both label; those on which one alone is wrong; McNemar's exact p-value.

    Raises
    ------
    DataError
        The responses of the fits are not the same; or as of `predict`.
    """
    need_fits(fits, "compare()")
    responses = [fit._fit.blocks.design.response_code for fit in fits]
    for name, response in zip(names, responses, strict=True):
        if response != responses[0]:
            raise DataError(
                f"{name} tells the classes of {response!r}, and {names[0]} those of {responses[0]!r}: "
                "compare fits of one response."
            )
    judged, rows = [], {}
    for name, fit in zip(names, fits, strict=True):
        actual, predicted, _ = judged_codes(fit._fit, data, "apparent", Plan())
        k = len(fit.classes)
        known = (actual >= 0) & (predicted >= 0)
        judged.append((known, actual != predicted))
        rate = counted_labels(actual, predicted, np.full(k, 1 / k), None, 0.95, sampled=True)
        rows[name] = {
            "formula": fit.formula,
            "rows": int(rate.total),
            "wrong": int(rate.wrong),
            "error": rate.estimate,
            "se": rate.se,
            "low": rate.low,
            "high": rate.high,
        }
    pairs = {}
    for i, j in combinations(range(len(fits)), 2):
        both = judged[i][0] & judged[j][0]
        a, b = judged[i][1] & both, judged[j][1] & both
        alone = int((a & ~b).sum()), int((b & ~a).sum())
        test = mcnemar(*alone)
        pairs[names[i], names[j]] = {
            "rows": int(both.sum()),
            "only_a_wrong": alone[0],
            "only_b_wrong": alone[1],
            "p_exact": test[0],
        }
    by_pair = pd.DataFrame.from_dict(pairs, orient="index")
    by_pair.index = pd.MultiIndex.from_tuples(list(pairs) or [], names=["a", "b"])
    return pd.DataFrame.from_dict(rows, orient="index"), by_pair
