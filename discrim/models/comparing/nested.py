"""The likelihood ratio of two logistic regressions, one nested in the other."""

from __future__ import annotations

import numpy as np

from discrim.core.numerics.tails import chi2_sf
from discrim.errors import DataError, NotSupportedError
from discrim.inference.result import TestResult, approximations
from discrim.models.comparing.comparable import refuse_other_rows
from discrim.models.comparing.fitted import need_rows
from discrim.models.regression.logistic_results import LogisticResults
from discrim.models.regression.penalized_results import refuse_penalized
from discrim.models.regression.term_fits import likelihood_ratio_on

__all__ = ["nested_ratio"]


def nested_ratio(small: LogisticResults, large: LogisticResults) -> TestResult:
    """Whether the columns that the large fit has more tell anything; see `discrim.lr_test`.

    Raises
    ------
    DataError
        The fits are not of the same rows, classes and weights, or are not nested, the smaller first.
    NotSupportedError
        One was loaded, has no maximum, or has a penalty; one has reduced bias and the other has not.
    """
    need_rows((small, large), "lr_test()")
    refuse_penalized((small, large), "lr_test()")
    refuse_other_rows((small, large), "lr_test()")
    kinds = [fit._fit.numbers.bias_reduction for fit in (small, large)]
    if kinds[0] != kinds[1]:
        raise NotSupportedError(
            "lr_test() compares likelihoods of one kind, and one of the fits has bias_reduction=True: "
            "fit both with it, or both without it."
        )
    statistic, df = likelihood_ratio_on(small._fit, large._fit)
    if df <= 0:
        raise DataError(
            "The second fit of lr_test() has no columns beyond those of the first, so that there is "
            "nothing to test: give the smaller fit first, and one with more terms as the second."
        )
    if np.isnan(statistic):
        raise DataError(
            "No maximum of the penalized likelihood was found under the smaller model: use wald_test() "
            "of the larger fit."
        )
    pvalue = float(chi2_sf(statistic, df))
    penalized = "Penalized likelihoods. " if kinds[0] else ""
    return TestResult(
        "Likelihood ratio",
        statistic,
        (df,),
        pvalue,
        f"{penalized}Large samples; under the hypothesis the further columns tell nothing of the classes.",
        approximations({"Likelihood ratio": (statistic, df, np.nan, pvalue)}),
    )
