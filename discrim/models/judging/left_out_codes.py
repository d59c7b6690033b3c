"""Labels with each row left out, of fits with so many rows and classes that no table of scores is held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.progress import late_bar
from discrim.core.rules.leave_one_out import FullLeftOut
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import used_rows
from discrim.models.fits.fit import Fit
from discrim.models.fits.prediction import Decision
from discrim.models.judging.refitted_prior import left_out_shift, refits_prior
from discrim.models.judging.validation import LEFT_OUT, downdated, scores_without, warn_of_no_rule

__all__ = ["HELD", "left_out_codes"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

HELD = 2**27
"""Scores of rows by classes up to which leave-one-out keeps them all: what asks again has them."""

PIECE = 2**22
"""Scores that are held at once where they are more."""


def left_out_codes(fit: Fit[Any], decision: Decision, refit_prior: bool | None) -> Codes | None:
    """Class (n,) of each row under the rule without it, -1 where there is none; None where scores are few.

    Rows without which the rule does not exist, or that are not used, have none.
    """
    blocks, k = fit.rows("leave_one_out()"), len(fit.classes)
    anew = refits_prior(fit, refit_prior)
    if blocks.table.nrows * k <= HELD or LEFT_OUT[anew] in fit.cache:
        return None
    scores = fit.refits.left_out(fit)
    if not callable(scores):
        return None
    shifted = anew and fit.model.prior_without == "held"
    codes, spoilt = np.full(blocks.table.nrows, -1, dtype=np.intp), []
    step = max(PIECE // k, 1)
    with late_bar(blocks.table.nrows, "rows left out") as tell:
        for rows, x, own, weights in used_rows(blocks):
            positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
            for start in range(0, len(x), step):
                part = slice(start, start + step)
                w = None if weights is None else weights[part]
                found = np.array(scores(x[part], own[part], w))
                if shifted:
                    found[np.arange(len(found)), own[part]] += left_out_shift(own[part], w, fit.counts)
                codes[positions[part]] = decision.codes(found)
                spoilt.extend(positions[part][np.isnan(found[:, 0])].tolist())
                tell(len(found))
    with late_bar(len(spoilt), "rows once more") as tell:
        _settle(fit, blocks, scores, decision, codes, spoilt, tell, shifted=shifted, anew=anew)
    warn_of_no_rule(blocks, [row for row in spoilt if codes[row] < 0])
    return codes


def _settle(
    fit: Fit[Any],
    blocks: Blocks,
    scores: Any,
    decision: Decision,
    codes: Codes,
    spoilt: list[int],
    tell: Callable[[int], None],
    *,
    shifted: bool,
    anew: bool,
) -> None:
    """Write classes of rows whose scores a difference has spoilt, from one more pass or a refit."""
    step = max(PIECE // len(fit.classes), 1)
    for start in range(0, len(spoilt), step):
        some = np.array(spoilt[start : start + step], dtype=np.intp)
        refitted = some
        if isinstance(scores, FullLeftOut):
            at, values = downdated(scores, blocks, some.tolist())
            if shifted:
                w = None if blocks.weights is None else blocks.weights[at]
                values[blocks.codes[at], np.arange(len(at))] += left_out_shift(
                    blocks.codes[at], w, fit.counts
                )
            codes[at] = decision.codes(values.T)
            refitted = at[np.isnan(values).any(axis=0)]
        for row in refitted.tolist():
            codes[row] = decision.codes(scores_without(fit, blocks, row, anew=anew)[None])[0]
            tell(1)
        tell(len(some) - len(refitted))
