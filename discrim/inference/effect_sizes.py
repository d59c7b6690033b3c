"""Sizes of effects with intervals, and differences of class means with simultaneous ones.

*Intervals* invert a test: the limits of a noncentrality are those under which the statistic that was seen is
the quantile (1 + level)/2 and (1 - level)/2 of its law. They hold for normal rows with one covariance, and
lie at zero where the statistic is below that quantile of no effect.

    partial eta squared     lambda/(lambda + N), lambda the noncentrality of F on df1 and df2 (Steiger, 2004,
                            Psychological Methods 9, 164-182); R's effectsize has df2 in the place of N. Omega
                            squared, df1 (F - 1)/(df1 (F - 1) + N), estimates the same share with less bias.
    Cohen's d               delta/sqrt(h), delta that of t = d sqrt(h) on v, h = n_i n_j/(n_i + n_j), d the
                            difference over the standard deviation within all classes on v = N - K.
    Mahalanobis distance    sqrt(lambda/h), lambda that of Hotelling's F on p and v - p + 1 (Reiser, 2001,
                            Communications in Statistics, Simulation and Computation 30, 37-45).

*Simultaneous intervals* of differences of means are difference +- c se, and all of a family hold together
with the level: of one column's contrasts between classes for Scheffe, c^2 = (K - 1) F; of the contrasts of
all combinations of the columns for Roy, c^2 = v lambda, where lambda is exceeded by the greatest root of
E^-1 H with probability 1 - level (Roy & Bose, 1953, Annals of Mathematical Statistics 24, 513-536); of the m
differences of the table for Bonferroni and Sidak, c the quantile of t at (1 - level)/m or the like.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy

from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.greatest_root import gauss_rule, greatest_root_isf, greatest_root_sf
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import f_sf, t_isf, t_sf
from discrim.inference.error_rates import check_level

Simultaneous = Literal["scheffe", "roy", "bonferroni", "sidak"]


FAR = 1e5
"""Noncentrality from which scipy's noncentral laws lose digits and take long."""


def f_noncentrality(f: Any, df1: Any, df2: Any, level: float) -> tuple[Floats, Floats]:
    """Limits of the noncentrality of each F; missing where F or its degrees of freedom are.

    Examples
    --------
    >>> [limit.round(6).tolist() for limit in f_noncentrality(10.0, 2.0, 30.0, 0.95)]
    [4.010038, 43.790765]
    """
    check_level(level)

    def limit(share: float, f: float, df1: float, df2: float) -> float:
        if not (np.isfinite([f, df1, df2]).all() and df1 > 0 and df2 > 0):
            return f if f == np.inf else np.nan
        if scipy.special.fdtr(df1, df2, f) <= share:
            return 0.0
        return _root(lambda nc: _below_f(f, df1, df2, nc) - share, 0.0, df1 * f + 1)

    return _limits(limit, level, f, df1, df2)


def t_noncentrality(t: Any, df: float, level: float) -> tuple[Floats, Floats]:
    """Limits of the noncentrality of each t, as of `f_noncentrality`."""
    check_level(level)

    def limit(share: float, t: float) -> float:
        if not (np.isfinite(t) and df > 0):
            return t if np.isinf(t) else np.nan
        if t < 0:
            return -limit(1 - share, -t)
        return _root(lambda nc: _below_t(t, df, nc) - share, -np.inf, t)

    return _limits(limit, level, t)


def _limits(limit: Callable[..., float], level: float, *given: Any) -> tuple[Floats, Floats]:
    """The limits by the shares of the law that lie below what was seen, number by number."""
    arrays = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in given))
    cases = list(zip(*(each.ravel().tolist() for each in arrays), strict=True))
    tails = (1 + level) / 2, (1 - level) / 2
    found = np.empty((2, len(cases)))
    with Progress(len(cases), "limits of effects") as progress:
        for place, case in enumerate(cases):
            found[:, place] = [limit(share, *case) for share in tails]
            progress(1)
    low, high = found.reshape(2, *arrays[0].shape)
    return low, high


def _root(falling: Callable[[float], float], least: float, near: float) -> float:
    """Where a falling function is zero, from the least number on."""
    step = 1.0 + abs(near) / 8
    low, high = max(near - step, least), near + step
    while low > least and falling(low) < 0:
        step *= 2
        low = max(low - step, least)
    while falling(high) > 0:
        step *= 2
        high += step
    return float(scipy.optimize.brentq(falling, low, high, xtol=1e-12, rtol=1e-13))


def _below_t(t: float, df: float, nc: float) -> float:
    """P(T <= t) for a t from zero on."""
    if abs(nc) < np.sqrt(FAR):
        return float(scipy.special.nctdtr(df, nc, t))
    # The other tail is beyond doubles.
    return _below_f(t * t, 1.0, df, nc * nc) if nc > 0 else 1.0


def _below_f(f: float, df1: float, df2: float, nc: float) -> float:
    """P(F <= f) for the noncentral F.

    Far from zero it is the mean of P(chi2 >= df2 ((z + sqrt(nc))^2 + w)/(df1 f)), chi2 on df2, z normal and w
    chi-square on df1 - 1, by the rules of Gauss.
    """
    if nc < FAR:
        return float(scipy.special.ncfdtr(df1, df2, nc, f))
    z, weights = gauss_rule(200)
    weights = weights * np.exp(-((9 * z) ** 2) / 2)
    w = np.zeros(1)
    shares = np.ones(1)
    if df1 > 1:
        k = np.arange(8)
        diagonal = 2 * k + (df1 - 1) / 2
        beside = np.sqrt(k[1:] * (k[1:] + (df1 - 3) / 2))
        values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside)
        w = 2 * values
        shares = vectors[0] ** 2
    squares = (9 * z[:, None] + np.sqrt(nc)) ** 2 + w
    tails = scipy.special.chdtrc(df2, df2 * squares / (df1 * f))
    return float(weights @ tails @ shares / weights.sum())


def shares_explained(f: Any, df1: Any, df2: Any, total: float, level: float) -> dict[str, Floats]:
    """Omega squared of F tests, and the interval of the share that they explain, N being the total."""
    low, high = f_noncentrality(f, df1, df2, level)
    gained = np.asarray(df1) * (np.asarray(f) - 1)
    with np.errstate(invalid="ignore"):
        omega, low, high = (np.where(np.isinf(x), 1.0, x / (x + total)) for x in (gained, low, high))
    return {"omega2": omega, "low": low, "high": high}


def difference_table(
    means: pd.DataFrame,
    sd: Floats,
    counts: Floats,
    adjust: Simultaneous | None,
    level: float,
    n_combined: int,
) -> pd.DataFrame:
    """Differences of class means (K, c) by (class, other, term): the first less the other.

    The standard deviations (c,) within the classes have the divisor N - K. Roy's family is that of all
    combinations of `n_combined` columns. Columns of the table are difference, se, t, df, p, p_adjusted where
    it is asked for, low, high, and Cohen's d with its limits.
    """
    check_level(level)
    (k, c), v, classes = means.shape, float(counts.sum()) - len(means), means.index
    i, j = np.array(list(combinations(range(k), 2))).T
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = counts[i] * counts[j] / (counts[i] + counts[j])
        gaps = means.to_numpy()[i] - means.to_numpy()[j]
        se = sd / np.sqrt(sizes)[:, None]
        t = (gaps / se).ravel()
    columns = {"difference": gaps.ravel(), "se": se.ravel(), "t": t, "df": v}
    columns["p"] = 2 * t_sf(np.abs(t), v)
    if adjust is not None:
        columns["p_adjusted"] = _simultaneous_p(t, columns["p"], adjust, k, n_combined, v)
    half = _multiplier(adjust, level, len(t), k, n_combined, v) * columns["se"]
    low, high = (limit / np.sqrt(sizes).repeat(c) for limit in t_noncentrality(t, v, level))
    columns |= {"low": columns["difference"] - half, "high": columns["difference"] + half}
    columns |= {"d": t / np.sqrt(sizes).repeat(c), "d_low": low, "d_high": high}
    pairs = pd.MultiIndex.from_arrays(
        [classes[i].repeat(c), classes[j].repeat(c), np.tile(means.columns, len(i))]
    )
    return pd.DataFrame(columns, index=pairs.set_names(["class", "other", "term"]))


def _multiplier(adjust: Simultaneous | None, level: float, m: int, k: int, p: int, v: float) -> float:
    """Half the width of an interval in standard errors, with m differences in the table."""
    match adjust:
        case "scheffe":
            return float(np.sqrt((k - 1) * scipy.special.fdtri(k - 1, v, level)))
        case "roy":
            return float(np.sqrt(v * greatest_root_isf(1 - level, p, k - 1, v)))
        case "bonferroni":
            return float(t_isf((1 - level) / (2 * m), v))
        case "sidak":
            return float(t_isf(-np.expm1(np.log(level) / m) / 2, v))
        case None:
            return float(t_isf((1 - level) / 2, v))


def _simultaneous_p(t: Floats, p_alone: Floats, adjust: Simultaneous, k: int, p: int, v: float) -> Floats:
    m = len(t)
    match adjust:
        case "scheffe":
            return np.asarray(f_sf(t**2 / (k - 1), k - 1, v))
        case "roy":
            return roy_p(t**2 / v, p, k, v)
        case "bonferroni":
            return np.minimum(m * p_alone, 1.0)
        case "sidak":
            return np.asarray(-np.expm1(m * np.log1p(-p_alone)))


def roy_p(roots: Floats, p: int, k: int, v: float) -> Floats:
    """Probability that the greatest root of E^-1 H of K classes exceeds each value."""
    found = np.where(np.isnan(roots), np.nan, 1.0)
    with Progress(len(roots), "p-values") as progress:
        # A value takes milliseconds; below one that is exceeded for certain all are.
        for place in np.argsort(-np.nan_to_num(roots, nan=-1.0)).tolist():
            found[place] = greatest_root_sf(float(roots[place]), p, k - 1, v)
            if found[place] == 1.0:
                break
            progress(1)
    return found
