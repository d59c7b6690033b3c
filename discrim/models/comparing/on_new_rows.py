"""Fits, saved ones too, compared by their errors on the rows of another table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError
from discrim.inference.error_rates import counted_labels
from discrim.inference.paired_tests import mcnemar
from discrim.models.comparing.fitted import need_fits
from discrim.models.judging.assessment import Plan, judged_codes

__all__ = ["compared_on"]

Codes = NDArray[np.intp]


def compared_on(
    fits: Sequence[Any], names: Sequence[str], tables: Iterable[Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Errors of fits on the rows of a table, and McNemar's test of each pair.

    Parameters
    ----------
    fits : sequence of fitted objects
    names : sequence of str
        What they are called.
    tables : iterable of tables
        The parts of the table, with the response.

    Returns
    -------
    by_fit : DataFrame
        formula; rows, wrong, error with its standard error and its exact interval of 95 %.
    by_pair : DataFrame by (a, b)
        rows that both label; those on which one alone is wrong; McNemar's exact p-value.

    Raises
    ------
    DataError
        The responses of the fits are not the same; or as of `predict`.

    Examples
    --------
    >>> from discrim import lda, qda
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> fits = lda("species ~ .", iris[::2]), qda("species ~ .", iris[::2])
    >>> compared_on(fits, ["lda", "qda"], [iris[1::2]])[0]["wrong"].to_dict()
    {'lda': 3, 'qda': 3}
    """
    need_fits(fits, "compare()")
    responses = [fit._fit.blocks.design.response_code for fit in fits]
    for name, response in zip(names, responses, strict=True):
        if response != responses[0]:
            raise DataError(
                f"{name} tells the classes of {response!r}, and {names[0]} those of {responses[0]!r}: "
                "compare fits of one response."
            )
    parts = [[judged_codes(fit._fit, table, "apparent", Plan())[:2] for fit in fits] for table in tables]
    judged = [
        (np.concatenate([actual for actual, _ in codes]), np.concatenate([called for _, called in codes]))
        for codes in zip(*parts, strict=True)
    ]
    rates = {name: _rate(fit, *codes) for name, fit, codes in zip(names, fits, judged, strict=True)}
    pairs = {(names[i], names[j]): _pair(judged[i], judged[j]) for i, j in combinations(range(len(fits)), 2)}
    by_pair = pd.DataFrame.from_dict(pairs, orient="index")
    by_pair.index = pd.MultiIndex.from_tuples(list(pairs), names=["a", "b"])
    return pd.DataFrame.from_dict(rates, orient="index"), by_pair


def _rate(fit: Any, actual: Codes, predicted: Codes) -> dict[str, Any]:
    k = len(fit.classes)
    rate = counted_labels(actual, predicted, np.full(k, 1 / k), None, 0.95, sampled=True)
    counts = {"formula": fit.formula, "rows": int(rate.total), "wrong": int(rate.wrong)}
    return counts | {"error": rate.estimate, "se": rate.se, "low": rate.low, "high": rate.high}


def _pair(one: tuple[Codes, Codes], other: tuple[Codes, Codes]) -> dict[str, Any]:
    both = np.logical_and.reduce([codes >= 0 for codes in (*one, *other)])
    a, b = (actual != predicted for actual, predicted in (one, other))
    alone = int((both & a & ~b).sum()), int((both & b & ~a).sum())
    counts = {"rows": int(both.sum()), "only_a_wrong": alone[0], "only_b_wrong": alone[1]}
    return counts | {"p_exact": mcnemar(*alone)[0]}
