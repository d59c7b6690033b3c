"""What a logistic regression says beyond its estimates: profile intervals, statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.tails import chi2_isf
from discrim.core.regression.logistic import LogisticFit
from discrim.core.regression.profile_likelihood import profile_bounds
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import gathered_rows
from discrim.inference.error_rates import check_level
from discrim.models.fits.arguments import listed
from discrim.models.fits.fit import Fit
from discrim.models.regression.logistic_design import held

__all__ = [
    "parts_of",
    "profile_intervals",
    "refuse_no_maximum",
    "rows_with_maximum",
    "to_statsmodels",
]

Floats = NDArray[np.float64]

HELD = 2**20
"""Numbers of a table up to which its rows are held for the many passes of several searches."""


def parts_of(blocks: Blocks) -> dict[str, tuple[int, ...]]:
    """The formula's terms, each with the positions of its columns in the rows."""
    kept = range(len(blocks.design.terms)) if blocks.keep is None else blocks.keep
    position = {column: j for j, column in enumerate(kept)}
    parts = {
        part.label: tuple(position[j] for j in part.columns if j in position)
        for part in blocks.design.parts()
    }
    return {label: columns for label, columns in parts.items() if columns}


def profile_intervals(fit: Fit[LogisticFit], level: float, index: pd.Index) -> pd.DataFrame:
    """Intervals by the profile of each coefficient; see `LogisticResults.conf_int`.

    The index is that of its rows, (class, term).
    """
    check_level(level)
    blocks = rows_with_maximum(fit, 'method="profile"')
    bounds = profile_bounds(fit.numbers, held(blocks, HELD), float(chi2_isf(1 - level, 1)))
    table = pd.DataFrame({side: bounds[i].T.ravel() for i, side in enumerate(("low", "high"))}, index=index)
    if table.isna().any(axis=None):
        lost = table.index[table.isna().any(axis=1)]
        raise DataError(
            f"The profile of {listed(lost)} could not be followed to its bound: use "
            'method="wald", or scale the columns of the formula.'
        )
    return table


def refuse_no_maximum(fit: Fit[LogisticFit], what: str) -> None:
    """Raise where the search did not end at a maximum."""
    if not fit.numbers.newton.converged:
        raise NotSupportedError(
            f"{what} needs finite estimates, and there are none where a hyperplane separates classes: "
            "fit with bias_reduction=True."
        )


def rows_with_maximum(fit: Fit[LogisticFit], what: str) -> Blocks:
    """The rows of a fit whose search ended at a maximum."""
    refuse_no_maximum(fit, what)
    return fit.rows(what)


def to_statsmodels(fit: Fit[LogisticFit]) -> Any:
    """Results of statsmodels at the estimates; see `LogisticResults.to_statsmodels`."""
    if fit.numbers.bias_reduction:
        raise NotSupportedError(
            "statsmodels has no logistic regression with Firth's penalty: fit with bias_reduction=False."
        )
    blocks = rows_with_maximum(fit, "to_statsmodels()")
    if blocks.weights is not None:
        raise NotSupportedError(
            "statsmodels' Logit and MNLogit have no frequency weights: repeat the rows, as in "
            "data.loc[data.index.repeat(weights)], and fit without weights=."
        )
    from statsmodels.base.model import LikelihoodModelResults
    from statsmodels.discrete import discrete_model

    numbers = fit.numbers
    exog, codes = _design(fit, blocks)
    response = str(fit.classes.name)
    if len(fit.classes) == 2:
        event = numbers.others[0]
        endog = pd.Series((codes == event).astype(np.float64), index=exog.index)
        model = discrete_model.Logit(endog.rename(f"{response}={fit.classes[event]}"), exog, check_rank=False)
        results, wrapper = discrete_model.LogitResults, discrete_model.BinaryResultsWrapper
        params = numbers.params()[:, 0]
    else:
        order = [numbers.reference, *numbers.others]
        categories: Any = fit.classes[order]
        labels = pd.Categorical.from_codes(np.argsort(order)[codes], categories)
        endog = pd.Series(labels, index=exog.index, name=response)
        model = discrete_model.MNLogit(endog, exog, check_rank=False)
        results, wrapper = discrete_model.MultinomialResults, discrete_model.MultinomialResultsWrapper
        params = numbers.params()
    # Its own search would begin again from raw columns, whose offsets and units cost digits.
    kind = "nonrobust" if numbers.robust is None else numbers.robust.kind
    ended = LikelihoodModelResults(model, params, numbers.cov_params(), scale=1.0)
    ended.cov_type = kind
    ended.mle_retvals = {"converged": True, "iterations": numbers.newton.steps}
    ended.mle_settings = {"optimizer": "newton", "start_params": params}
    return wrapper(results(model, ended))


def _design(fit: Fit[LogisticFit], blocks: Blocks) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    """The design of the rows of a fit, the constant first, and their classes."""
    rows = gathered_rows(blocks)
    values = np.column_stack([np.ones(len(rows.x)), rows.x])
    index = blocks.table.index[rows.positions]
    return pd.DataFrame(values, index=index, columns=["constant", *fit.terms]), rows.codes
