"""Model choice by held-out losses, and the bias-corrected loss of the chosen model.

The mean loss of each candidate is compared with the smallest mean loss, in pairs of rows. The standard error
of a mean difference treats the rules as fixed and rows or groups as independent. It is smaller than the
standard errors of the two means, because rows that are hard for one model are hard for others. The
*one-standard-error rule* (Breiman, Friedman, Olshen & Stone, 1984, Classification and Regression Trees,
3.4.3) chooses the simplest candidate whose mean is within one standard error (here of the difference) of the
smallest. Candidates with a larger loss than the class proportions alone are excluded unless all are worse.

The smallest of many means is an optimistic estimate of the loss of its model. Tsamardinos, Greasidou &
Borboudakis (2018, Machine Learning 107, 1895-1922) correct it without refitting: rows are drawn with
replacement, a model is chosen by the losses of the drawn rows, and evaluated on the other rows. The mean over
many draws is the corrected loss. Both steps use the existing fits: each loss is the loss of a model on a row
outside its training folds.

The quantiles of the draws are not a valid interval if few rows, or none, are wrong, because draws of rows
without an error have none. The lower limit of a corrected loss is therefore the smaller one of the quantile
of the draws and the lower limit of the chosen model's losses (`loss_rate`: exact for an error rate); the
upper limit is the larger one of the quantile and the upper limit plus the correction. `python -m
tests.benchmarks.rare_errors` simulates its coverage.
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
"""Relative increase of a mean loss that is attributed to rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedLosses:
    """Mean losses of C candidates, in the order of their simplicity, and the chosen candidate.

    Attributes
    ----------
    means, errors : (C,) float
        Mean losses and their standard errors.
    differences, difference_errors : (C,) float
        Mean losses minus the smallest one, and the standard errors of these differences.
    best, chosen : int
        The candidate with the smallest mean (the first one if tied), and the chosen candidate.
    in_vain : bool
        Whether every candidate has a larger loss than the class proportions alone.
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
    """Compare the losses of candidates and choose one.

    Parameters
    ----------
    losses : (C, m) float
        Losses of the candidates on m rows, the simplest candidate first.
    judged : JudgedRows
    select : {"1se", "min"}
    nothing : (m,) float, optional
        Losses of the class proportions alone.

    Returns
    -------
    ComparedLosses
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
    """Weighted means of losses and their standard errors.

    Parameters
    ----------
    losses : (C, m) float
    judged : JudgedRows
        A prior makes the mean a stratified one.

    Returns
    -------
    means, errors : (C,) float
        The standard error of an infinite mean is NaN.
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
    """Losses of the chosen models on rows that were not used for the choice.

    Attributes
    ----------
    draws : (B, L) float
        L mean losses of the model chosen in each draw, on the rows outside the draw.
    chosen : (C,) int
        Number of draws in which each candidate was chosen.
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
            Confidence level.
        rates : L tuples (mean, standard error, low, high)
            Results of `loss_rate` for the chosen model.

        Returns
        -------
        (2, L) float
        """
        ends = [(1 - level) / 2, (1 + level) / 2]
        # No interpolation between draws, because they may be infinite.
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
    """Bias-corrected losses of a choice, by the bootstrap.

    Candidates with an infinite loss are not chosen unless all have one.

    Parameters
    ----------
    losses : (L, C, m) float
        L kinds of losses of C candidates on m rows.
    by : int
        The kind of loss that determines the choice.
    judged : JudgedRows
        Its groups, if any, are drawn as a whole.
    select : {"1se", "min"}
    replicates : int
    seed : int
    nothing : (m,) float, optional
        See `compared`.

    Returns
    -------
    CorrectedLosses
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
