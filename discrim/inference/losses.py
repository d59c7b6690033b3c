"""Mean losses of rows that were judged, with standard errors that know of priors, weights and groups.

Theory. As in `discrim.inference.error_rates`: rows drawn from the mixture have the variance of a mean,
rows of classes whose shares are given that of a stratified one, sum pi_k^2 var_k / n_k, and an error the
limits that follow from those of the classes. Rows of a group depend on one another: the variance is then
that of the groups' sums of deviations, with the factor G/(G - 1) of G groups, and the exact interval of an
error that of the effective number of rows, r (1 - r) / variance (Korn & Graubard, 1998, Survey Methodology
24, 193-201).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.inference.error_rates import exact_interval, log_interval, mixed_interval

__all__ = ["Judged", "fold_means", "loss_rate"]

HUGE = 1e100
"""Losses beyond which sums of squares are taken of their shares of the largest."""

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Judged:
    """Rows that were judged.

    Attributes
    ----------
    codes : (m,) int
        Their classes.
    weights : (m,) float
        Frequency weights.
    n_classes : int
    prior : (K,) float or None
        Shares of the classes, where they are not those of the rows.
    clusters : (m,) int or None
        Their groups.
    """

    codes: Codes
    weights: Floats
    n_classes: int
    prior: Floats | None
    clusters: Codes | None

    @property
    def rows(self) -> Floats:
        """Sum of weights (K,) of each class."""
        return np.bincount(self.codes, self.weights, self.n_classes).astype(np.float64)

    def shares(self) -> Floats:
        """Weight (m,) of each row in a mean."""
        if self.prior is None:
            return self.weights
        rows = self.rows
        factor = np.divide(self.prior * rows.sum(), rows, out=np.zeros(self.n_classes), where=rows > 0)
        return np.asarray(self.weights * factor[self.codes])


def loss_rate(
    losses: Floats, judged: Judged, level: float, *, counts: bool
) -> tuple[float, float, float, float]:
    """Mean of losses (m,), its standard error, and an interval; these are missing for rows of one group.

    Parameters
    ----------
    losses : (m,) float
    judged : Judged
    level : float
    counts : bool
        The losses are errors, of 0 and 1 or means of such: the interval is exact, else log-normal.
    """
    shares = judged.shares()
    whole = float(shares.sum())
    # A row without a part in the mean may lose an infinite amount.
    losses = np.where(shares > 0, losses, 0.0)
    largest = float(np.abs(losses).max(initial=0.0))
    if HUGE < largest < np.inf:
        mean, error, low, high = loss_rate(losses / largest, judged, level, counts=counts)
        return mean * largest, error * largest, low * largest, high * largest
    mean = float(shares @ losses) / whole if whole else np.nan
    if not np.isfinite(mean):
        return mean, np.nan, np.nan, np.nan
    groups = judged.clusters
    if groups is None:
        variance, total = _of_rows(losses, judged, mean), float(judged.weights.sum())
    else:
        sums = np.bincount(groups, shares * (losses - mean))
        total = float(len(np.unique(groups)))
        if total < 2:
            return mean, np.nan, np.nan, np.nan
        variance = float(sums @ sums) / whole**2 * total / (total - 1)
    error = float(np.sqrt(variance))
    if not counts:
        return mean, error, *log_interval(mean, variance, level)
    if groups is None and judged.prior is not None:
        rows = judged.rows
        there = (rows > 0) & (judged.prior > 0)
        each = np.bincount(judged.codes, judged.weights * losses, judged.n_classes)[there] / rows[there]
        pi = judged.prior[there] / judged.prior[there].sum()
        return mean, error, *mixed_interval(pi, each, rows[there], level)
    total = mean * (1 - mean) / variance if variance > 0 else total
    return mean, error, *exact_interval(mean * total, total, level)


def _of_rows(losses: Floats, judged: Judged, mean: float) -> float:
    """Variance of the mean of independent rows."""
    k, codes, weights, rows = judged.n_classes, judged.codes, judged.weights, judged.rows
    pi = rows if judged.prior is None else np.where(rows > 0, judged.prior, 0.0)
    pi = pi / pi.sum()
    each = np.divide(np.bincount(codes, weights * losses, k), rows, out=np.zeros(k), where=rows > 0)
    spread = np.bincount(codes, weights * (losses - each[codes]) ** 2, k)
    variance = float(pi**2 @ np.divide(spread, rows**2, out=np.zeros(k), where=rows > 0))
    return variance + (float(pi @ (each - mean) ** 2) / rows.sum() if judged.prior is None else 0.0)


def fold_means(values: Floats, shares: Floats, folds: Codes, n_folds: int) -> Floats:
    """Weighted mean of values (m,) in each fold (F,), missing where it has no rows."""
    whole = np.bincount(folds, shares, n_folds)
    sums = np.bincount(folds, shares * values, n_folds)
    return np.asarray(np.divide(sums, whole, out=np.full(n_folds, np.nan), where=whole > 0))
