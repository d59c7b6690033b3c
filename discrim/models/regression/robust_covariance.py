"""A logistic regression beside another covariance of its estimates: robust, or of groups of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.memory import refuse_beyond_memory
from discrim.core.numerics.progress import watched
from discrim.core.regression.logistic import LogisticFit
from discrim.core.regression.sandwich import Sandwich, group_scores, root_of_scores, score_squares
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.categories import shown
from discrim.frame.used_rows import used_rows
from discrim.models.fits.arguments import check_word
from discrim.models.fits.fit import Fit
from discrim.models.regression.logistic_inference import rows_with_maximum

__all__ = ["COV_TYPES", "covariance_note", "with_covariance"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

COV_TYPES = ("nonrobust", "HC0", "HC1", "cluster")


def with_covariance(
    fit: Fit[LogisticFit], cov_type: str, groups: Any, convention: str | None
) -> Fit[LogisticFit]:
    """The fit with another covariance of its estimates; see `LogisticMethods.robust`."""
    check_word("cov_type", cov_type, COV_TYPES)
    check_word("convention", convention, ("statsmodels",), optional=True)
    if (cov_type == "cluster") != (groups is not None):
        raise DataError(
            f"cov_type={cov_type!r} with groups= {'missing' if groups is None else 'given'}: for "
            'cov_type="cluster" give groups=, a column of the table that says which rows belong '
            "together, or a value for each row; leave it out for others."
        )
    kept = {name: value for name, value in fit.cache.items() if name not in ("se", "covariance")}
    if cov_type == "nonrobust":
        return replace(fit, numbers=replace(fit.numbers, robust=None), cache=kept)
    blocks = rows_with_maximum(fit, "robust()")
    numbers = fit.numbers
    ended, coefficients = numbers.newton, numbers.newton.coef.size
    at, total = (numbers.frame, ended.coef, numbers.reference), float(numbers.counts.sum())
    count, name = 0, ""
    if groups is None:
        with watched(blocks, "squares of the scores") as passed:
            squares = score_squares(passed, *at)
        factor = _small_sample(total, coefficients) if cov_type == "HC1" and convention is None else 1.0
    else:
        codes, name, labels = _group_codes(groups, blocks)
        sums = _sums_by_group(fit, blocks, codes, labels)
        squares, count = sums.T @ sums, len(sums)
        factor = count / (count - 1)
        if convention == "statsmodels":
            factor *= (total - 1) / (total - coefficients)
    root, rank = root_of_scores(ended.information, squares)
    robust = Sandwich(cov_type, np.sqrt(factor) * root, factor, count, name, rank)
    return replace(fit, numbers=replace(numbers, robust=robust), cache=kept)


def _small_sample(total: float, coefficients: int) -> float:
    if total <= coefficients:
        raise NotSupportedError(
            f'cov_type="HC1" multiplies by n/(n - k), and the {total:g} rows are no more than the '
            f'{coefficients} coefficients: use "HC0", or fit fewer columns.'
        )
    return total / (total - coefficients)


def _group_codes(groups: Any, blocks: Blocks) -> tuple[Codes, str, pd.Index]:
    """Group (n,) of each row of the table, -1 where it is missing; their name; and their labels."""
    table = blocks.table
    if isinstance(groups, str):
        if blocks.source is not None:
            raise NotSupportedError(
                f"groups={groups!r} names a column of {blocks.source.table.source.what}, which is read part "
                f"by part: give a vector of {table.nrows:,} values, as a Series or an array."
            )
        values, name = table.column(groups), groups
    else:
        if isinstance(groups, pd.Series) and not groups.index.equals(table.index):
            raise DataError("The index of groups= differs from the table's: align them, or pass an array.")
        name = str(getattr(groups, "name", None) or "groups")
        try:
            values = pd.Series(groups)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"groups= of type {type(groups).__name__} is no vector ({error}): give a column's name, "
                "or one value for each row."
            ) from None
        if len(values) != table.nrows:
            raise DataError(
                f"groups= has {len(values)} values, and the table {table.nrows} rows: give one for each row."
            )
    try:
        codes, labels = pd.factorize(values)
    except TypeError as error:
        raise DataError(
            f"groups={name!r} holds values that cannot be told apart ({error}): give text or numbers."
        ) from None
    return np.asarray(codes, dtype=np.intp), name, pd.Index(labels)


def _sums_by_group(fit: Fit[LogisticFit], blocks: Blocks, codes: Codes, labels: pd.Index) -> Floats:
    """Sums (G, r) of the scores of the groups that have rows in the fit."""
    numbers = fit.numbers
    ended = numbers.newton
    refuse_beyond_memory(
        float(len(labels)) * ended.coef.size,
        f"The scores of {len(labels):,} groups and {ended.coef.size:,} coefficients",
        'Use cov_type="HC1" where groups are single rows, or fewer columns',
    )
    sums, there = np.zeros((len(labels), ended.coef.size)), np.zeros(len(labels), dtype=bool)
    with watched(blocks, "scores of the groups") as _:
        for rows, x, own, weights in used_rows(blocks):
            held = codes[rows]
            if (held < 0).any():
                place = int(np.argmax(held < 0))
                position = rows.start + place if isinstance(rows, slice) else int(rows[place])
                raise DataError(
                    f"groups= has no value at row {shown(blocks.table.label(position))}, which the fit "
                    "uses: fill it, for example with a group of its own, or drop the row and fit again."
                )
            there[held] = True
            group_scores(sums, numbers.frame, ended.coef, numbers.reference, x, own, weights, held)
    if there.sum() < 2:
        raise DataError(
            f"groups= has one group only in the rows of the fit, {shown(labels[there][0])}: a covariance "
            "of groups "
            'needs two, and many to be of use. Give other groups, or use cov_type="HC1".'
        )
    return sums[there]


def covariance_note(robust: Sandwich | None) -> str:
    """What the covariance of the estimates is, for a header."""
    if robust is None:
        return "inverse information"
    if robust.kind == "cluster":
        by = f" of {robust.grouped_by}" if robust.grouped_by else ""
        return f"{robust.groups} groups{by}"
    return f"robust, {robust.kind}"
