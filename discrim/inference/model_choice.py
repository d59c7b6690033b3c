"""Which of several models is chosen by the losses of rows that they did not see, and what that choice loses.

The mean loss of each candidate is compared with the least one row by row. The standard error of a mean
difference is that of independent rows, or groups, under rules that are taken as they are; it is smaller than
those of the two means, because rows that are hard for one model are hard for others. The *one-standard-error
rule* (Breiman, Friedman, Olshen & Stone, 1984, Classification and Regression Trees, 3.4.3) takes the simplest
candidate whose mean is within one standard error of the least, here that of the difference. One that loses
more than the class shares alone is passed over where another loses no more.

The least of many means is too small an estimate of what its model loses, as it is least by chance too.
Tsamardinos, Greasidou & Borboudakis (2018, Machine Learning 107, 1895-1922) correct it without another fit:
rows are drawn with replacement, the losses of those drawn choose, and those of the others judge what is
chosen. The mean over many draws is the corrected loss. Both are of the fits as they are: each loss is that of
a model on rows outside its fold.

The quantiles of the draws do not form an interval if few rows, or none, are wrong: draws of rows without an
error have none. The interval of a corrected loss therefore reaches from the smaller of the lower limits of
the draws and of the chosen model's losses (`loss_rate`: exact for an error rate) to the larger of the upper
ones, the latter raised by the correction. `python -m tests.benchmarks.rare_errors` simulates its coverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discrim.core.numerics.arrays import Codes, Floats
from discrim.inference.calibration import JudgedRows
from discrim.inference.resampling import generator

Select = Literal["1se", "min"]

ROUNDED = 1e-12
"""Share of a mean loss that rounding may add."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedLosses:
    """Mean losses of C candidates, in the order of their simplicity, and the choice among them.

    Attributes
    ----------
    means, errors : (C,) float
        Mean losses, and their standard errors.
    differences, difference_errors : (C,) float
        Mean losses less the least one, and the standard errors of these differences.
    best, chosen : int
        The candidate of least mean, the first of equals, and the one that is chosen.
    in_vain : bool
        Whether every candidate loses more than what knows nothing but the class shares.
    """

    means: Floats
    errors: Floats
    differences: Floats
    difference_errors: Floats
    best: int
    chosen: int
    in_vain: bool


def compared(
    losses: Floats, judged: JudgedRows, select: Select, nothing: Floats | None = None
) -> ComparedLosses:
    """Compare the losses (C, m) of candidates on rows, the simplest candidate first.

    Of what knows nothing but the class shares the losses are `nothing` (m,).
    """
    means, errors = _means(losses, judged)
    best = int(np.argmin(np.where(np.isnan(means), np.inf, means)))
    with np.errstate(invalid="ignore"):
        differences, difference_errors = _means(losses - losses[best], judged)
    differences[best] = difference_errors[best] = 0.0
    limit = difference_errors if select == "1se" else np.zeros(len(means))
    good = differences <= np.nan_to_num(limit)
    good[best] = True
    worth = np.ones(len(means), dtype=bool)
    if nothing is not None:
        worth = means <= _means(nothing[None], judged)[0] * (1 + ROUNDED)
    if worth.any():
        good &= worth
    chosen = int(np.argmax(good))
    return ComparedLosses(
        means, errors, differences, difference_errors, best, chosen, in_vain=not worth.any()
    )


def _means(losses: Floats, judged: JudgedRows) -> tuple[Floats, Floats]:
    """Weighted means (C,) of losses (C, m), and their standard errors; infinite means have none.

    A prior makes the mean one over classes of given shares, of which each has a variance of its own.
    """
    shares = judged.shares()
    counted = shares > 0
    losses = losses[:, counted]
    shares = shares[counted]
    whole = float(shares.sum())
    with np.errstate(invalid="ignore", over="ignore"):
        means = losses @ shares / whole
        if judged.clusters is not None:
            _, groups = np.unique(judged.clusters[counted], return_inverse=True)
            of_group = (losses - means[:, None]) * shares
            sums = np.stack([np.bincount(groups, each) for each in of_group])
            count = sums.shape[1]
            squares = (sums**2).sum(axis=1) * (count / (count - 1) if count > 1 else np.nan)
        elif judged.prior is None:
            squares = (losses - means[:, None]) ** 2 @ shares
        else:
            codes = judged.codes[counted]
            weights = judged.weights[counted]
            rows = np.bincount(codes, weights, judged.n_classes)
            unit = np.eye(judged.n_classes)[codes] * weights[:, None]
            each = np.divide(losses @ unit, rows, out=np.zeros((len(losses), len(rows))), where=rows > 0)
            squares = (losses - each[:, codes]) ** 2 @ (shares**2 / weights)
        return means, np.sqrt(squares) / whole


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedLosses:
    """What a choice loses on rows that did not make it.

    Attributes
    ----------
    draws : (B, L) float
        L mean losses of what each draw chooses, on the rows that it left out.
    chosen : (C,) int
        How often each candidate was chosen.
    """

    draws: Floats
    chosen: Codes

    def means(self) -> Floats:
        """The corrected losses (L,)."""
        return np.asarray(self.draws.mean(axis=0))

    def interval(self, level: float, rates: Sequence[tuple[float, float, float, float]]) -> Floats:
        """Return the intervals of the corrected losses.

        Parameters
        ----------
        level : float
        rates : L tuples (mean, standard error, low, high)
            Those of the chosen model, as of `loss_rate`.

        Returns
        -------
        (2, L) float
        """
        ends = [(1 - level) / 2, (1 + level) / 2]
        # Each quantile is a draw, because draws may be infinite.
        low, high = np.quantile(self.draws, ends, axis=0, method="inverted_cdf")
        mean, _, rate_low, rate_high = np.array(rates).T
        with np.errstate(invalid="ignore"):
            correction = np.nan_to_num(np.maximum(self.means() - mean, 0.0))
        return np.stack([np.fmin(low, rate_low), np.fmax(high, rate_high + correction)])


def corrected(
    losses: Floats,
    by: int,
    judged: JudgedRows,
    select: Select,
    replicates: int,
    seed: int,
    nothing: Floats | None = None,
) -> CorrectedLosses:
    """What is chosen by one of losses (L, C, m), judged by rows or groups that a draw has left out.

    A candidate of infinite mean loss is chosen by no draw, unless all are; `nothing` is as in `compared`.
    """
    rng = generator(seed)
    able = np.flatnonzero(np.isfinite(losses[by]).all(axis=1))
    if not len(able):
        able = np.arange(losses.shape[1])
    units = judged.clusters if judged.clusters is not None else np.arange(len(judged.codes))
    _, units = np.unique(units, return_inverse=True)
    count = int(units.max()) + 1
    draws: list[Floats] = []
    chosen = np.zeros(losses.shape[1], dtype=np.intp)
    while len(draws) < replicates:
        times = np.bincount(rng.integers(count, size=count), minlength=count)[units]
        drawn = replace(judged, weights=judged.weights * times)
        out = times == 0
        if not out.any():
            continue
        pick = able[compared(losses[by][able], drawn, select, nothing).chosen]
        left = replace(judged, weights=judged.weights * out)
        shares = left.shares()
        draws.append(losses[:, pick, out] @ shares[out] / shares.sum())
        chosen[pick] += 1
    return CorrectedLosses(np.array(draws), chosen)
