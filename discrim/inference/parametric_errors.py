"""Error rates of the linear rule computed from the normal model, not from the rows.

Theory. Between two normal classes with one covariance, at squared distance D2, the rule that cuts the log
odds at t errs with probability Phi(t/D - D/2) in the first class and Phi(-t/D - D/2) in the second.
Lachenbruch & Mickey (1968, Technometrics 10, 1-11) name the estimates:

    D   the estimated distance in the place of the true one: the rule at its best, too hopeful;
    DS  the distance shrunk by (nu - p - 1)/nu, which undoes its overshoot;
    O   the expected error of a rule with estimated parameters, to terms of first order in 1/n_1, 1/n_2, 1/nu
        (Okamoto, 1963, Annals of Mathematical Statistics 34, 1286-1301), at the estimated distance;
    OS  the same at the shrunk distance.

Okamoto's cut is t = 0. For any t, expanding the conditional error h = (t - (mu_1 - c)'b)/sqrt(b'S b) of the
estimated b and c about the truth, with a = 1/n_1 + 1/n_2 and g = 1/n_1 - 1/n_2, gives

    E h - h_0 = (t/D)(a/D2 - (p-1)/nu) + (D/2 - t/D)(p-1)(a + D2/nu)/(2 D2) + (p-1) g/(2 D),
    var h     = (t/D)^2 (a/D2 + 2/nu) + a/4 - t g/D2,
    E Phi(h)  = Phi(h_0) + phi(h_0) (E h - h_0 - h_0 var h/2),

which for t = 0 is Okamoto's. For more classes the rates D and DS are integrals over the canonical axes,
taken by quasi-Monte Carlo; their standard errors come from draws of the parameters' sampling distribution.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.errors import NotSupportedError
from discrim.inference.error_rates import Rates, logit_interval
from discrim.inference.resampling import wishart_roots

__all__ = ["error_by_class", "many_classes", "two_classes"]

Floats = NDArray[np.float64]

POINTS = 2.0**24
"""Multiplications that an integral may take; it has 64 to 8,192 points."""

DRAWS = 100
"""Draws of the parameters behind a standard error."""


def error_by_class(
    d2: float, counts: Floats, nu: float, p: int, cut: float, *, shrunk: bool, expected: bool
) -> Floats:
    """Probabilities (2,) that a row of the first and of the second class is called the other.

    Parameters
    ----------
    d2 : float
        Squared distance of the means under the unbiased covariance.
    counts : (2,) float
    nu : float
        N - K.
    p : int
    cut : float
        Log odds of the first class against the second, above which a row is called the first.
    shrunk : bool
        DS, OS: shrink the distance.
    expected : bool
        O, OS: the expected error of the estimated rule.

    Raises
    ------
    NotSupportedError
        The distance is zero, or nu is p + 1 or less and there is nothing left of the shrunk one.

    Examples
    --------
    >>> error_by_class(4.0, np.array([50.0, 50.0]), 98, 4, 0.0, shrunk=False, expected=False).round(4)
    array([0.1587, 0.1587])
    """
    if shrunk:
        if nu <= p + 1:
            raise NotSupportedError(
                f"DS and OS need N - K > p + 1; here N - K is {nu:g} and p is {p}: use 'D', 'loo' or 'cv'."
            )
        d2 = d2 * (nu - p - 1) / nu
    if not d2 > 0:
        raise NotSupportedError("The class means do not differ: the model has no error rate but chance.")
    a = float((1 / counts).sum())
    rates = np.empty(2)
    for k, t in enumerate((cut, -cut)):
        d = np.sqrt(d2)
        start = t / d - d / 2
        rates[k] = scipy.stats.norm.cdf(start)
        if expected:
            g = 1 / counts[k] - 1 / counts[1 - k]
            drift = (t / d) * (a / d2 - (p - 1) / nu) + (p - 1) * g / (2 * d)
            drift += (d / 2 - t / d) * (p - 1) * (a + d2 / nu) / (2 * d2)
            variance = (t / d) ** 2 * (a / d2 + 2 / nu) + a / 4 - t * g / d2
            rates[k] += scipy.stats.norm.pdf(start) * (drift - start * variance / 2)
    return rates


def two_classes(
    d2: float,
    counts: Floats,
    nu: float,
    p: int,
    cut: float,
    weight: Floats,
    level: float,
    *,
    shrunk: bool,
    expected: bool,
) -> Rates:
    """D, DS, O or OS of two classes, with the standard error that comes from the distance's own.

    Parameters
    ----------
    d2, counts, nu, p, cut, shrunk, expected
        As for `error_by_class`.
    weight : (2,) float
        Prior times cost of an error in the class.
    level : float
    """
    rates = error_by_class(d2, counts, nu, p, cut, shrunk=shrunk, expected=expected)
    estimate = float(weight @ rates)
    factor = (nu - p - 1) / nu if shrunk else 1.0
    d = np.sqrt(d2 * factor)
    slopes = np.array([-0.5 - t / d**2 for t in (cut, -cut)])
    heights = scipy.stats.norm.pdf([t / d - d / 2 for t in (cut, -cut)])
    spread = factor * ((1 / counts).sum() + d2 / (2 * nu))
    error = float(abs(weight @ (slopes * heights)) * np.sqrt(spread))
    return Rates(rates, estimate, error, *logit_interval(estimate, error, level))


def many_classes(
    means: Floats,
    counts: Floats,
    nu: float,
    log_prior: Floats,
    costs: Floats | None,
    level: float,
    *,
    shrunk: bool,
    stretch: float,
    seed: int | None,
) -> Rates:
    """D or DS of any number of classes.

    Parameters
    ----------
    means : (K, p) float
        Class means, whitened by the unbiased covariance.
    counts : (K,) float
    nu : float
        N - K.
    log_prior : (K,) float
    costs : (K, K) float or None
    level : float
    shrunk : bool
    stretch : float
        Factor of the rule's log densities: N / (N - K) where its covariance has divisor N, else 1.
    seed : int or None
    """
    p = means.shape[1]
    factor = (nu - p - 1) / nu if shrunk else 1.0
    if factor <= 0:
        raise NotSupportedError(
            f"DS needs N - K > p + 1; here N - K is {nu:g} and p is {p}: use 'D' or 'cv'."
        )
    rng = np.random.default_rng(seed)
    rates = _integral(means * np.sqrt(factor), log_prior, costs, stretch, rng, 8192)
    prior = np.exp(log_prior)
    estimate = float(prior @ rates)
    drawn = []
    for root in wishart_roots(np.array([nu]), p, DRAWS, rng):
        moved = means + rng.standard_normal(means.shape) / np.sqrt(counts)[:, None]
        whitened = np.linalg.solve(root[0] / np.sqrt(nu), moved.T).T
        drawn.append(prior @ _integral(whitened * np.sqrt(factor), log_prior, costs, stretch, rng, 1024))
    error = float(np.std(drawn, ddof=1))
    return Rates(rates, estimate, error, *logit_interval(estimate, error, level))


def _integral(
    means: Floats,
    log_prior: Floats,
    costs: Floats | None,
    stretch: float,
    rng: np.random.Generator,
    most: int,
) -> Floats:
    """Mean costs (K,) of rows of unit covariance about the means (K, p), under the rule of these means."""
    scores = _within_span(means)
    k, r = scores.shape
    points = int(np.clip(2.0 ** np.floor(np.log2(POINTS / (k * k * max(r, 1)))), 64, most))
    noise = scipy.stats.norm.ppf(scipy.stats.qmc.Sobol(r, seed=rng).random(points))
    constant = log_prior - 0.5 * stretch * (scores**2).sum(axis=1)
    rates = np.empty(k)
    for own, score in enumerate(scores):
        values = stretch * (noise + score) @ scores.T + constant
        if costs is None:
            rates[own] = np.mean(np.argmax(values, axis=1) != own)
        else:
            weights = np.exp(values - values.max(axis=1, keepdims=True))
            rates[own] = costs[own, np.argmin(weights @ costs, axis=1)].mean()
    return rates


def _within_span(means: Floats) -> Floats:
    """Coordinates (K, r) of the means in the space they span about their centre."""
    centred = means - means.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    rank = max(int((singular > 1e-12 * singular[0]).sum()), 1)
    return np.asarray(left[:, :rank] * singular[:rank])
