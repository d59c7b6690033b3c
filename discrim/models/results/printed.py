"""How far numbers may be rounded for print, so that who computes by the printed ones decides as the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.models.fits.fit import Fit
from discrim.report.numbers import DIGITS

__all__ = [
    "LOG_ODDS",
    "SCORES",
    "coefficient_errors",
    "difference_sizes",
    "holds_note",
    "mean_errors",
    "score_sizes",
    "score_spread",
]

Floats = NDArray[np.float64]

FAR = 6.0
"""Standard deviations within classes, from the class means, up to which what is printed holds."""

SCORES = 0.001
"""How far a score by printed coefficients may be off, where scores are on the scale of log odds."""

LOG_ODDS = 0.025
"""The same of log odds whose coefficients have standard errors beside them."""


def score_sizes(moments: ClassMoments) -> Floats:
    """The largest values (1 + p,) of a constant and the columns, but for rows far from all class means."""
    means = moments.class_means[moments.counts > 0]
    return np.concatenate([[1.0], np.abs(means).max(axis=0, initial=0.0) + FAR * _sd(moments)])


def difference_sizes(moments: ClassMoments) -> Floats:
    """The largest differences (p,) of two rows in the columns, but for rows far from all class means."""
    means = moments.class_means[moments.counts > 0]
    return np.asarray(np.ptp(means, axis=0) + 2 * FAR * _sd(moments))


def coefficient_errors(sizes: Floats, within: float) -> Floats:
    """How far coefficients may be rounded so that no sum of products with values is off by more.

    Parameters
    ----------
    sizes : (m,) float
        The largest values that the coefficients are multiplied by.
    within : float
        How far the sum may be off.

    Returns
    -------
    (m,) float
    """
    with np.errstate(divide="ignore"):
        return np.asarray(within / len(sizes) / sizes)


def score_spread(moments: ClassMoments, coef: Floats) -> float:
    """The least standard deviation of scores x'coef within classes, (p, K), were the columns uncorrelated."""
    spread = np.sqrt(((coef * _sd(moments)[:, None]) ** 2).sum(axis=0))
    return float(spread[spread > 0].min(initial=np.inf))


def mean_errors(fit: Fit[Any]) -> dict[Any, float]:
    """How far class means may be rounded, by term: a 200th of the standard deviation within classes."""
    return dict(zip(fit.terms, _sd(fit.numbers.moments) / 200, strict=True))


def holds_note(what: str, table: pd.DataFrame, sizes: Floats, within: float) -> str:
    """What is said of sums that are computed from printed coefficients.

    Parameters
    ----------
    what : str
        What the sums are, in the plural.
    table : DataFrame, m coefficients by classes
    sizes, within
        As of `coefficient_errors`.
    """
    values = np.abs(table.to_numpy(dtype=np.float64))
    largest = np.where(np.isfinite(values), values, 0.0).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        shown = 0.5 * 10.0 ** (np.floor(np.log10(largest)) - DIGITS + 1)
        missed = float(np.nansum(shown * sizes))
    if missed > within:
        held = f"give {what} within {missed:.0g} only" if missed < 1 else f"do not give {what}"
        return (
            f"Fifteen digits of numbers so far from zero {held}: use predict(), or subtract from each column "
            "a number near its mean."
        )
    far = f"{FAR:g} standard deviations from a class mean"
    return f"The numbers shown give {what} within {within:g}, up to {far}."


def _sd(moments: ClassMoments) -> Floats:
    """Standard deviations (p,) within classes, divisor N-K."""
    free = max(moments.total - np.count_nonzero(moments.counts), 1.0)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.sqrt(moments.squares.sum(axis=0) / free) / moments.scale)
