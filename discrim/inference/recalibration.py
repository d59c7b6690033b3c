"""Are probabilities too bold, or too shy? The slope by which log probabilities would have to be multiplied.

Theory. With p_k what a rule says, the model of the recalibrated probabilities is log odds a_k + b ln p_k,
up to a number that the classes of a row share: b is one where the rule says how sure it may be, below one
where it is too sure of itself, as after overfitting. Of two classes this is Cox's logistic regression of
the outcome on the log odds (1958, Biometrika 45, 562-565); its intercept, of the second class, is zero
where the rule is calibrated. Standard errors are those of the maximum likelihood, found by Newton's method;
a frequency weight is so many rows.

*Digits.* Log probabilities are divided by their largest difference R within a row, so that no lead of a
row's own class over another exceeds sqrt(3) times the length of a direction in the parameters. Were there a
direction that no row contradicts, and so no maximum, the squared Newton decrement d^2 would be no less than
a third of the least eigenvalue of the information (as `discrim.core.regression.newton` has it): the search
ends where d^2 is small and that is ruled out, and finds nothing otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Recalibration", "recalibrated"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

STEPS = 60
"""Most steps of Newton's method; where there is a maximum, about ten are enough."""

NEAR = 1e-14
"""Squared distance to the maximum, in standard errors, from which the information one step on is kept."""

ROUNDED = 1e-12
"""Share of the log-likelihood by which it may seem to fall because its sum is rounded."""

FLAT = 1e-13
"""Least eigenvalue of the information of a row below which the classes are taken as separated."""


class Recalibration(NamedTuple):
    """What recalibrates probabilities.

    Attributes
    ----------
    slope : (float, float)
        With its standard error; both missing where the classes are separated, or a probability is zero.
    intercept : (float, float) or None
        The same, of two classes whose rows are a sample of the mixture.
    """

    slope: tuple[float, float]
    intercept: tuple[float, float] | None


def recalibrated(
    log_odds: Floats, codes: Codes, weights: Floats | None = None, *, sampled: bool = True
) -> Recalibration:
    """Slope, and of two classes intercept, of a recalibration.

    Parameters
    ----------
    log_odds : (m, K) float
        Of each class against the rest.
    codes : (m,) int
    weights : (m,) float, optional
        Frequencies.
    sampled : bool
        Whether rows have the classes in the proportions that are meant; else there is no intercept.

    Examples
    --------
    >>> import numpy as np
    >>> odds = np.repeat([-2.0, -1.0, 1.0, 2.0], 10)
    >>> came_true = np.concatenate([np.arange(10) < hits for hits in (3, 4, 6, 7)]).astype(int)
    >>> round(recalibrated(np.column_stack([-odds, odds]), came_true).slope[0], 4)
    0.4196
    """
    held = np.ones(len(codes)) if weights is None else weights
    there, own = np.unique(codes, return_inverse=True)
    logs = -np.logaddexp(0.0, -log_odds[:, there])
    two = log_odds.shape[1] == 2 and sampled
    none = np.nan, np.nan
    nothing = Recalibration(none, none if two else None)
    if len(there) < 2 or not np.isfinite(logs).all():
        return nothing
    logs -= logs[np.arange(len(own)), own][:, None]
    unit = float(np.abs(logs).max())
    found = _maximum(logs / unit, own, held) if unit > 0 else None
    if found is None:
        return nothing
    estimate, covariance = found
    slope = float(estimate[-1]) / unit, float(np.sqrt(covariance[-1, -1])) / unit
    return Recalibration(slope, (float(estimate[0]), float(np.sqrt(covariance[0, 0]))) if two else None)


def _maximum(logs: Floats, own: Codes, weights: Floats) -> tuple[Floats, Floats] | None:
    """Estimates (K,), K - 1 constants and the slope, with their covariance; None where there are none."""
    total = float(weights.sum())
    at: Floats = np.zeros(logs.shape[1])
    step: Floats = np.zeros(len(at))
    value, near = -np.inf, False
    for _ in range(STEPS):
        # Half the step for as long as it goes down.
        for _ in range(STEPS):
            likelihood, shares = _shares(logs, own, weights, at + step)
            if likelihood >= value - ROUNDED * abs(value) or not step.any():
                break
            step = step / 2
        at, value = at + step, likelihood
        score, information = _slopes(logs, own, weights, shares)
        least = float(np.linalg.eigvalsh(information)[0])
        if not least > FLAT * total:
            return None
        step = np.asarray(np.linalg.solve(information, score), dtype=np.float64)
        decrement = float(score @ step)
        if near:
            return at + step, np.asarray(np.linalg.inv(information), dtype=np.float64)
        near = decrement < NEAR and least > 3 * decrement
    return None


def _shares(logs: Floats, own: Codes, weights: Floats, at: Floats) -> tuple[float, Floats]:
    """Log-likelihood, and probabilities (m, K)."""
    odds = at[-1] * logs
    odds[:, 1:] += at[:-1]
    odds -= odds.max(axis=1, keepdims=True)
    shares = np.exp(odds)
    sums = shares.sum(axis=1)
    likelihood = float(weights @ (odds[np.arange(len(own)), own] - np.log(sums)))
    shares /= sums[:, None]
    return likelihood, shares


def _slopes(logs: Floats, own: Codes, weights: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Score (K,) and information (K, K)."""
    k = logs.shape[1]
    weighted = weights[:, None] * shares
    expected = (shares * logs).sum(axis=1)
    counts = np.bincount(own, weights, k)
    # The logs of the own class are zero.
    score = np.append((counts - weighted.sum(axis=0))[1:], -float(weights @ expected))
    information = np.empty((k, k))
    information[:-1, :-1] = np.diag(weighted.sum(axis=0)[1:]) - (weighted.T @ shares)[1:, 1:]
    cross = (weighted * (logs - expected[:, None])).sum(axis=0)[1:]
    information[-1, :-1] = information[:-1, -1] = cross
    information[-1, -1] = float((weighted * (logs - expected[:, None]) ** 2).sum())
    return score, information
