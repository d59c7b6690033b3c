"""The casewise table: each row with the two classes that it is most probably of, as SPSS prints it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from discrim.core.discriminant.lda import LDAFit
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import chi2_sf
from discrim.core.rules.rules import best_class, posteriors
from discrim.design.blocks import Blocks
from discrim.design.matrix import response_codes
from discrim.errors import NotSupportedError
from discrim.models.base.fit import FittedModel, Gaps
from discrim.models.base.reading import check_word
from discrim.models.base.scores import scored
from discrim.models.evaluation.assessment import JudgingPlan, judged_scores
from discrim.models.evaluation.single_rows import has_law, typical_rows
from discrim.models.evaluation.validation import refuse_many_scores


def check_distances(fit: FittedModel[Any]) -> None:
    """Raise NotSupportedError if the distances to the classes have no known distribution."""
    if not has_law(fit, "chi2"):
        raise NotSupportedError(
            "casewise() has the distances of rows to normal classes with full covariances, which "
            f"{fit.title_in_sentence} as it was fitted does not have.",
            hint="Use augment(), or fit lda() or qda() with full ones.",
        )


def casewise(results: Any, data: Any, method: Any, gaps: Gaps, refit_prior: bool | None) -> pd.DataFrame:
    """Rows of a table, or of the fit; see `NewRows.casewise`."""
    fit: FittedModel[Any] = results._fit
    check_word("method", method, ("apparent", "loo"))
    left_out = method == "loo"
    if left_out and not fit.estimates.has_distances:
        raise NotSupportedError(
            'method="loo" has no distances without each row of a robust covariance.',
            hint='Use leave_one_out(), which has the posteriors, or method="apparent".',
        )
    if data is None:
        blocks = fit.rows("casewise()", "pass data=")
        actual, scores = judged_scores(fit, None, method, JudgingPlan(refit_prior=refit_prior))[:2]
    elif left_out:
        raise NotSupportedError(
            'method="loo" leaves out rows of the fit: it does not go with data=.', hint="Leave one out."
        )
    else:
        blocks = fit.new_rows(data, gaps)
        actual, scores = _new_rows(fit, blocks)
    axes = results.transform(blocks) if isinstance(fit.estimates, LDAFit) and not left_out else None
    return _table(fit, blocks, actual, scores, axes, left_out=left_out)


def _new_rows(fit: FittedModel[Any], blocks: Blocks) -> tuple[Codes, Floats]:
    """Actual classes (n,) of new rows, where they have the response, and their scores (n, K)."""
    n = blocks.table.nrows
    k = len(fit.classes)
    refuse_many_scores(n, k, "A casewise table")
    actual = np.full(n, -1)
    scores = np.full((n, k), np.nan)
    if set(blocks.design.response_columns) <= set(blocks.table.names):
        actual = response_codes(blocks.design, blocks.table, blocks.functions)
    for place, values in scored(blocks, fit.rule_of(blocks), k):
        scores[place] = values
    return actual, scores


def _distances(fit: FittedModel[Any], blocks: Blocks, axes: pd.DataFrame | None, *, left_out: bool) -> Floats:
    """Squared distances (n, K) to the centroids: by canonical variates where there are any."""
    d2 = np.full((blocks.table.nrows, len(fit.classes)), np.nan)
    numbers = fit.estimates
    if axes is None:
        for place, values in typical_rows(fit, blocks, lambda d2, *_: d2, seen=left_out):
            d2[place] = values.T
        return d2
    # The axes have unit variance by the divisor of the fit, and distances are by N - K.
    unit = numbers.residual_df / numbers.divisor if numbers.has_distances else 1.0
    for k, centroid in enumerate(numbers.axes().scores[:, : axes.shape[1]]):
        d2[:, k] = unit * ((axes.to_numpy() - centroid) ** 2).sum(axis=1)
    return d2


def _table(
    fit: FittedModel[Any],
    blocks: Blocks,
    actual: Codes,
    scores: Floats,
    axes: pd.DataFrame | None,
    *,
    left_out: bool,
) -> pd.DataFrame:
    d2 = _distances(fit, blocks, axes, left_out=left_out)
    p = posteriors(scores)
    df = len(fit.terms) if axes is None else axes.shape[1]
    index = blocks.table.index
    at = np.arange(len(scores))
    best = best_class(scores)
    second = np.where(best < 0, -1, np.argsort(-scores, axis=1, kind="stable")[:, 1])

    def of(codes: Codes, values: Floats) -> Floats:
        return np.where(codes < 0, np.nan, values[at, codes])

    columns = {
        "actual": fit.labelled(actual, index),
        "predicted": fit.labelled(best, index),
        "misclassified": pd.arrays.BooleanArray(actual != best, np.asarray((actual < 0) | (best < 0))),
        "p": chi2_sf(of(best, d2), df),
        "df": df,
        "posterior": of(best, p),
        "D2": of(best, d2),
        "second": fit.labelled(second, index),
        "second_p": chi2_sf(of(second, d2), df),
        "second_posterior": of(second, p),
        "second_D2": of(second, d2),
    }
    frame = pd.DataFrame(columns, index=index)
    return frame if axes is None else frame.join(axes)
