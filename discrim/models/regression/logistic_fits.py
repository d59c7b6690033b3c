"""Logistic regressions as values: the model, how it is fitted again, and what of it goes into a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.regression.logistic import LogisticFit, fit_from_search
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule, log_odds_against
from discrim.frame.blocks import Blocks
from discrim.models.fits.fit import Fit, Model
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.planes.separation_certificate import Certificate
from discrim.models.regression import infinite_estimates
from discrim.models.saving.saved import Saved

__all__ = ["MODEL", "SAVED", "against_reference", "logistic_fit"]

Floats = NDArray[np.float64]


def against_reference(fit: Fit[LogisticFit], scores: Floats) -> Floats:
    """Log odds against the reference, or the first class that has a prior; of two classes the scores."""
    prior, at = fit.prior_values(), fit.numbers.reference
    at = at if prior[at] > 0 else int(np.argmax(prior > 0))
    return scores if scores.shape[1] == 2 else log_odds_against(scores, at)


MODEL = Model(
    "logistic",
    "Logistic regression",
    likelihood_of="class given row",
    prior_without="refitted",
    decision=against_reference,
)


def logistic_fit(
    numbers: LogisticFit,
    blocks: Blocks,
    *,
    has_rows: bool = True,
    drops: bool = False,
    certificate: Certificate | None = None,
) -> Fit[LogisticFit]:
    """A logistic regression as one value, with the certificate of separation where there is one."""
    refits = replace(moment_refits(None), of_rows=_refitted_rule, left_out=_left_out, drops=drops)
    cache = {} if certificate is None else {"separation": certificate}
    return Fit(MODEL, numbers, blocks, numbers.prior, refits, has_rows, cache)


def _refitted_rule(fit: Fit[LogisticFit], blocks: Blocks) -> Rule | None:
    refit = infinite_estimates.refitted(fit.numbers, tuple(fit.terms), blocks)
    return None if refit is None else refit.rule(fit.log_prior())


def _left_out(fit: Fit[LogisticFit]) -> LeftOut:
    return left_out_by_refits(fit, "of a logistic regression takes a refit a row")


SAVED = Saved(
    {"reference": (int,), "estimated_prior": (bool,), "bias_reduction": (bool,)},
    "pooled",
    fit_from_search,
    logistic_fit,
    LogisticFit.search,
    lambda k, p: {"coef": (p + 1, k - 1), "information": ((k - 1) * (p + 1),) * 2, "course": (3,)},
    optional=lambda k, p: {"sandwich": ((k - 1) * (p + 1),) * 2, "sandwich_course": (4,)},
)
