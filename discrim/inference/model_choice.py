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
without an error lack errors, too. The lower limit of a corrected loss is therefore the smaller one of the
quantile of the draws and the lower limit of the chosen model's losses (`mean_loss_interval`: exact for an
error rate); the upper limit is the larger one of the quantile and the upper limit plus the correction.
`python -m tests.benchmarks.rare_errors` simulates its coverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discrim.core.numerics.arrays import Codes, Floats
from discrim.inference.calibration import EvaluatedRows
from discrim.inference.resampling import random_generator

Select = Literal["1se", "min"]
"""Rules of the choice: one standard error, or smallest mean loss."""

ROUNDING_TOLERANCE = 1e-12
"""Relative increase of a mean loss that is attributed to rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedLosses:
    """Mean losses of C candidates, in the order of their simplicity, and the chosen candidate.

    Attributes
    ----------
    means, errors : (C,) float
        Mean losses and their standard errors.
    differences, difference_errors : (C,) float
        Mean losses minus the smallest one, and the standard errors of these differences, computed from the
        differences of each row.
    best, chosen : int
        Positions of the candidate with the smallest mean (the first one if tied), and of the chosen
        candidate.
    worse_than_prior : bool
        Whether every candidate has a larger loss than the class proportions alone; false if their losses are
        not known.
    """

    means: Floats
    errors: Floats
    differences: Floats
    difference_errors: Floats
    best: int
    chosen: int
    worse_than_prior: bool


def compare_losses(
    losses: Floats, test_rows: EvaluatedRows, select: Select, null_losses: Floats | None = None
) -> ComparedLosses:
    """Compare the losses of candidates and choose one.

    Candidates with a larger mean loss than the mean of `null_losses` are excluded, unless all are worse.

    Parameters
    ----------
    losses : (C, m) float
        Losses of the candidates on m rows, the simplest candidate first.
    test_rows : EvaluatedRows
        Classes, weights, prior and groups of the m rows.
    select : {"1se", "min"}
        "min" chooses the smallest mean loss (the simplest one if tied), "1se" the simplest candidate whose
        difference from it is at most one standard error of the difference.
    null_losses : (m,) float, optional
        Losses of the class proportions alone; by default no candidate is excluded.

    Returns
    -------
    ComparedLosses
    """
    means, errors = _weighted_mean_losses(losses, test_rows)
    best = int(np.argmin(np.where(np.isnan(means), np.inf, means)))
    with np.errstate(invalid="ignore"):
        differences, difference_errors = _weighted_mean_losses(losses - losses[best], test_rows)
    differences[best] = difference_errors[best] = 0.0
    limit = difference_errors if select == "1se" else np.zeros(len(means))
    is_eligible = differences <= np.nan_to_num(limit)
    is_eligible[best] = True
    beats_null = np.ones(len(means), dtype=bool)
    if null_losses is not None:
        beats_null = means <= _weighted_mean_losses(null_losses[None], test_rows)[0] * (
            1 + ROUNDING_TOLERANCE
        )
    if beats_null.any():
        is_eligible &= beats_null
    chosen = int(np.argmax(is_eligible))
    return ComparedLosses(
        means, errors, differences, difference_errors, best, chosen, worse_than_prior=not beats_null.any()
    )


def _weighted_mean_losses(losses: Floats, test_rows: EvaluatedRows) -> tuple[Floats, Floats]:
    """Compute the weighted mean losses of candidates, and their standard errors.

    Parameters
    ----------
    losses : (C, m) float
        Losses of the candidates on m rows.
    test_rows : EvaluatedRows
        Classes, weights and groups of the m rows. With a prior, classes are weighted to it.

    Returns
    -------
    means, errors : (C,) float
        Rows without weight are ignored. Standard errors assume independent rows of a mixture,
        independent rows within classes (with a prior), or groups; NaN for an infinite mean or one group.
    """
    row_weights = test_rows.row_weights()
    positive_mask = row_weights > 0
    losses = losses[:, positive_mask]
    row_weights = row_weights[positive_mask]
    total_weight = float(row_weights.sum())
    with np.errstate(invalid="ignore", over="ignore"):
        means = losses @ row_weights / total_weight
        if test_rows.clusters is not None:
            _, groups = np.unique(test_rows.clusters[positive_mask], return_inverse=True)
            weighted_deviations = (losses - means[:, None]) * row_weights
            group_sums = np.stack([np.bincount(groups, deviations) for deviations in weighted_deviations])
            n_groups = group_sums.shape[1]
            squares = (group_sums**2).sum(axis=1) * (n_groups / (n_groups - 1) if n_groups > 1 else np.nan)
        elif test_rows.prior is None:
            squares = (losses - means[:, None]) ** 2 @ row_weights
        else:
            codes = test_rows.codes[positive_mask]
            weights = test_rows.weights[positive_mask]
            rows = np.bincount(codes, weights, test_rows.n_classes)
            class_weights = np.eye(test_rows.n_classes)[codes] * weights[:, None]
            class_means = np.divide(
                losses @ class_weights, rows, out=np.zeros((len(losses), len(rows))), where=rows > 0
            )
            squares = (losses - class_means[:, codes]) ** 2 @ (row_weights**2 / weights)
        return means, np.sqrt(squares) / total_weight


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedLosses:
    """Bootstrap losses of the chosen model on rows that were not used for the choice.

    Attributes
    ----------
    draws : (B, L) float
        L kinds of mean losses, of the model chosen in each of B draws, on the rows outside the draw.
    chosen : (C,) int
        Number of draws in which each candidate was chosen.
    """

    draws: Floats
    chosen: Codes

    def means(self) -> Floats:
        """Return the bias-corrected losses (L,), the means over the draws."""
        return np.asarray(self.draws.mean(axis=0))

    def interval(self, level: float, rates: Sequence[tuple[float, float, float, float]]) -> Floats:
        """Return the intervals of the corrected losses, described in the module docstring.

        Parameters
        ----------
        level : float
            Confidence level, which is not checked.
        rates : L tuples (mean, standard error, low, high)
            Results of `mean_loss_interval` at the same level for each loss of the chosen model.

        Returns
        -------
        (2, L) float
            Lower and upper limits.
        """
        probabilities = [(1 - level) / 2, (1 + level) / 2]
        # No interpolation between draws, because they may be infinite.
        low, high = np.quantile(self.draws, probabilities, axis=0, method="inverted_cdf")
        mean, _, rate_low, rate_high = np.array(rates).T
        with np.errstate(invalid="ignore"):
            correction = np.nan_to_num(np.maximum(self.means() - mean, 0.0))
        return np.stack([np.fmin(low, rate_low), np.fmax(high, rate_high + correction)])


def bias_corrected_losses(
    losses: Floats,
    choice_loss: int,
    test_rows: EvaluatedRows,
    select: Select,
    replicates: int,
    seed: int,
    null_losses: Floats | None = None,
) -> CorrectedLosses:
    """Estimate the losses of a model chosen by its losses, corrected for the bias of the choice.

    In each bootstrap draw a model is chosen by the losses of the drawn rows and evaluated on the other rows.

    Candidates with an infinite loss are not chosen unless all have one.

    Parameters
    ----------
    losses : (L, C, m) float
        L kinds of losses of C candidates on m rows.
    choice_loss : int
        Position among the L kinds of the loss that determines the choice.
    test_rows : EvaluatedRows
        Classes, weights and groups of the m rows. Groups, if any, are drawn as a whole.
    select : {"1se", "min"}
        Rule of the choice, see `compare_losses`.
    replicates : int
        Number of draws B. A draw that contains all rows is repeated.
    seed : int
        Seed of the random draws; a DataError is raised if it is invalid.
    null_losses : (m,) float, optional
        See `compare_losses`.

    Returns
    -------
    CorrectedLosses
    """
    rng = random_generator(seed)
    candidates = np.flatnonzero(np.isfinite(losses[choice_loss]).all(axis=1))
    if not len(candidates):
        candidates = np.arange(losses.shape[1])
    units = test_rows.clusters if test_rows.clusters is not None else np.arange(len(test_rows.codes))
    _, units = np.unique(units, return_inverse=True)
    n_units = int(units.max()) + 1
    draws: list[Floats] = []
    chosen = np.zeros(losses.shape[1], dtype=np.intp)
    while len(draws) < replicates:
        draw_counts = np.bincount(rng.integers(n_units, size=n_units), minlength=n_units)[units]
        sampled_rows = replace(test_rows, weights=test_rows.weights * draw_counts)
        held_out_mask = draw_counts == 0
        if not held_out_mask.any():
            continue
        chosen_candidate = candidates[
            compare_losses(losses[choice_loss][candidates], sampled_rows, select, null_losses).chosen
        ]
        held_out_rows = replace(test_rows, weights=test_rows.weights * held_out_mask)
        held_out_weights = held_out_rows.row_weights()
        draws.append(
            losses[:, chosen_candidate, held_out_mask]
            @ held_out_weights[held_out_mask]
            / held_out_weights.sum()
        )
        chosen[chosen_candidate] += 1
    return CorrectedLosses(np.array(draws), chosen)
