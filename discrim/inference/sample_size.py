"""Sample size of a rule: expected error by the number of rows, and power laws of learning curves.

The planning functions and learning curves of `models/selection` use these functions.

Theory. K normal classes have equal covariances and the same Mahalanobis distance D between any two means. The
parameters of a rule are estimated from n rows of each class, and its expected error is the probability that a
new row is misclassified, averaged over rows and samples. The result does not depend on the covariance, which
is set to the identity (for the diagonal rule, columns are independent).

Let u_k = x - xbar_k be the deviations of a new row x from the K sample means. They are normal, with the
covariance 11' + I/n in each column; their products U'U have a Wishart distribution, except for K - 1 columns
that contain the means. Given U, only a few more random numbers are needed, for any number of columns:

- LDA uses u_k'S^-1 u_k, the squared norms of the columns of A^-1/2 R, with R'R = U'U and A Wishart of order K
  with nu - p + K degrees of freedom, nu = K(n - 1) (Muirhead, 1982, Aspects of Multivariate Statistical
  Theory, theorem 3.2.10).
- QDA uses u_k'S_k^-1 u_k + ln|S_k|: with a_k chi-square with n - p degrees of freedom, the first term is
  (n - 1) |u_k|^2 / a_k, and |S_k| is a_k times a product of independent chi-squares with n - 1, ..., n - p +
  1 degrees of freedom.
- The diagonal rule uses sums over columns of u_kj^2 / s_j^2, which are all drawn; the differences of the
  means are spread evenly over the columns.

Samples can therefore be drawn without tables of rows. The error of the Bayes rule on the same rows is
subtracted as a control variate, which reduces the standard error. For large n the results agree with Okamoto
(1963, Annals of Mathematical Statistics 34, 1286-1301), for p growing with n with Raudys (Raudys & Young,
2004, Journal of Multivariate Analysis 89, 1-35): the error of LDA for two classes is approximately

    Phi(-D/2 / sqrt((1 + 2p/(D^2 n)) 2n/(2n - p))).

*Learning curves* are approximately a + b n^-c (Mukherjee et al., 2003, Journal of Computational Biology 10,
119-142; Figueroa et al., 2012, BMC Medical Informatics and Decision Making 12, 8). For fixed c, a and b are
estimated by least squares; c is selected from a grid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np
import scipy

from discrim.core.numerics.arrays import Codes, Floats
from discrim.inference.error_rates import exact_interval

SampledRule = Literal["lda", "diagonal", "qda"]
RULES: tuple[SampledRule, ...] = get_args(SampledRule)

AT_ONCE = 2**22
"""Maximum number of random numbers that are drawn at once."""

POWERS: Floats = np.geomspace(0.05, 4.0, 121)
"""Candidate exponents of a learning curve."""

MOST_ROWS = 10**7
"""Maximum number of rows of a class, and of test rows."""


CLOSE = 0.01
"""Relative difference between a sufficient and an insufficient number of rows at which the search ends."""


class Setting(NamedTuple):
    """Simulation settings: equidistant normal classes with equal covariances.

    Attributes
    ----------
    distance : float
        Mahalanobis distance between any two means.
    p, classes : int
        Numbers of columns and classes.
    draws : int
        Number of simulated samples.
    seed : int
    """

    distance: float
    p: int
    classes: int
    draws: int
    seed: int


def least_error(setting: Setting) -> float:
    """Bayes error of the setting.

    Examples
    --------
    >>> round(least_error(Setting(2.0, 5, 2, 0, 0)), 4)
    0.1587
    """
    k = setting.classes
    if k == 2:
        return float(scipy.special.ndtr(-setting.distance / 2))
    # Means D / sqrt(2) along K axes: a row is classified correctly if its own coordinate is the largest.
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    kept = scipy.special.ndtr(nodes + setting.distance / np.sqrt(2)) ** (k - 1)
    return float(1.0 - weights @ kept / weights.sum())


def fewest_rows(rule: SampledRule, setting: Setting) -> int:
    """Minimum number of rows of each class for nonsingular covariances."""
    if rule == "qda":
        return setting.p + 1
    # nu = K (n - 1) has to be at least p, or 1 for the diagonal rule.
    return 1 + -(-(setting.p if rule == "lda" else 1) // setting.classes)


def simplex_means(classes: int) -> Floats:
    """Points (K, K - 1) at distance one from each other."""
    points = (np.eye(classes) - 1 / classes) / np.sqrt(2)
    left, lengths, _ = np.linalg.svd(points)
    return np.asarray((left * lengths)[:, : classes - 1])


def expected_error(rule: SampledRule, n: int, setting: Setting) -> tuple[float, float]:
    """Expected error of a rule estimated from n rows of each class.

    Parameters
    ----------
    rule : {"lda", "diagonal", "qda"}
    n : int
        Number of rows of each class.
    setting : Setting

    Returns
    -------
    error, se : float
        The expected error and its Monte Carlo standard error.
    """
    rng = np.random.default_rng(setting.seed)
    k = setting.classes
    p = setting.p
    each = {"lda": k * k, "diagonal": p * k, "qda": k * (p + k)}[rule]
    piece = max(AT_ONCE // each, 1)
    excess = 0.0
    squares = 0.0
    for start in range(0, setting.draws, piece):
        m = min(piece, setting.draws - start)
        more = _DRAWN[rule](rng, n, setting, m)
        excess += more.sum()
        squares += (more**2).sum()
    mean = excess / setting.draws
    variance = max(squares / setting.draws - mean**2, 0.0)
    return least_error(setting) + float(mean), float(np.sqrt(variance / setting.draws))


def _means(setting: Setting) -> Floats:
    """Class means (K, K - 1) minus the mean of the first class, in the columns that contain them."""
    points = setting.distance * simplex_means(setting.classes)
    return np.asarray(points - points[0])


def _more(best: Floats, own: Floats) -> Floats:
    """Error indicators (m,) of the estimated rule minus those of the Bayes rule.

    Parameters
    ----------
    best, own : (m, K) float
        Distances of the Bayes rule and of the estimated rule; the true class is the first.

    Returns
    -------
    (m,) float
    """
    wrong = own.argmin(axis=1) != 0
    wrong_best = best.argmin(axis=1) != 0
    return np.asarray(wrong.astype(np.float64) - wrong_best)


def _products(rng: np.random.Generator, n: int, setting: Setting, m: int) -> tuple[Floats, Floats]:
    """Draw roots of U'U and the distances of the Bayes rule.

    Parameters
    ----------
    rng : numpy.random.Generator
    n : int
        Number of rows of each class.
    setting : Setting
    m : int
        Number of draws.

    Returns
    -------
    root : (m, q, K) float
        R with R'R = U'U; q is at most K.
    best : (m, K) float
        Squared distances of the Bayes rule.
    """
    k = setting.classes
    means = _means(setting)
    first = rng.standard_normal((m, k - 1))
    noise = rng.standard_normal((m, k - 1, k)) / np.sqrt(n)
    best = ((first[:, None, :] - means) ** 2).sum(axis=2)
    shown = first[:, :, None] - means.T - noise
    rest = setting.p - (k - 1)
    root = np.linalg.cholesky(np.ones((k, k)) + np.eye(k) / n).T
    others = rng.standard_normal((m, rest, k)) if rest < k else _wishart_root(rng, m, k, rest)
    rows = np.concatenate([shown, others @ root], axis=1)
    return (rows if rows.shape[1] <= k else np.asarray(np.linalg.qr(rows, mode="r"))), np.asarray(best)


def _wishart_root(rng: np.random.Generator, m: int, k: int, df: int) -> Floats:
    """Upper triangular roots (m, k, k) of Wishart matrices with `df` degrees of freedom (Bartlett, 1933)."""
    root = np.triu(rng.standard_normal((m, k, k)), 1)
    places = np.arange(k)
    root[:, places, places] = np.sqrt(rng.chisquare(df - places, (m, k)))
    return root


def _linear(rng: np.random.Generator, n: int, setting: Setting, m: int) -> Floats:
    """Excess error indicators (m,) of LDA in m draws."""
    products, best = _products(rng, n, setting, m)
    q = products.shape[1]
    free = setting.classes * (n - 1) - setting.p + q
    root = _wishart_root(rng, m, q, free)
    white = np.linalg.solve(root.swapaxes(1, 2), products)
    return _more(best, (white**2).sum(axis=1))


def _quadratic(rng: np.random.Generator, n: int, setting: Setting, m: int) -> Floats:
    """Excess error indicators (m,) of QDA in m draws.

    Parameters
    ----------
    rng : numpy.random.Generator
    n : int
        Number of rows of each class.
    setting : Setting
    m : int

    Returns
    -------
    (m,) float
    """
    products, best = _products(rng, n, setting, m)
    k = setting.classes
    nu = n - 1
    p = setting.p
    own = rng.chisquare(nu - p + 1, (m, k))
    logs = np.log(own)
    # The root of a product of chi-squares with f and f - 1 df is half a chi-square with 2 f - 2 df.
    free = np.arange(nu, nu - p + 1, -1)
    pairs = free[: 2 * (len(free) // 2) : 2]
    for f in pairs.tolist():
        logs += 2 * np.log(rng.chisquare(2 * f - 2, (m, k)) / 2)
    if len(free) % 2:
        logs += np.log(rng.chisquare(free[-1], (m, k)))
    return _more(best, nu * (products**2).sum(axis=1) / own + logs)


def _diagonal(rng: np.random.Generator, n: int, setting: Setting, m: int) -> Floats:
    """Excess error indicators (m,) of the diagonal rule in m draws."""
    k = setting.classes
    p = setting.p
    points = _spread(setting)
    row = rng.standard_normal((m, 1, p))
    squares = (row - points - rng.standard_normal((m, k, p)) / np.sqrt(n)) ** 2
    variances = rng.chisquare(k * (n - 1), (m, 1, p)) / (k * (n - 1))
    return _more(((row - points) ** 2).sum(axis=2), (squares / variances).sum(axis=2))


def _spread(setting: Setting) -> Floats:
    """Class means (K, p) minus the mean of the first class, with differences spread over the columns."""
    means = _means(setting)
    k = setting.classes
    column = np.arange(setting.p) % (k - 1)
    times = np.bincount(column, minlength=k - 1)
    return np.asarray((means / np.sqrt(times))[:, column])


_DRAWN: dict[SampledRule, Callable[[np.random.Generator, int, Setting, int], Floats]] = {
    "lda": _linear,
    "diagonal": _diagonal,
    "qda": _quadratic,
}


def rows_for(rule: SampledRule, error: float, setting: Setting) -> int | None:
    """Number of rows of each class for which the expected error is at most `error`, within one percent.

    Parameters
    ----------
    rule : {"lda", "diagonal", "qda"}
    error : float
        Required expected error.
    setting : Setting

    Returns
    -------
    int or None
        None if more than `MOST_ROWS` are needed, or if the difference between `error` and the Bayes error is
        less than twice the Monte Carlo standard error.
    """
    wanted = error - least_error(setting)
    least = max(fewest_rows(rule, setting), 2)
    low, high = least - 1, least
    while (more := expected_error(rule, high, setting)[0] - least_error(setting)) > wanted:
        # For few rows the excess decreases faster than 1/n.
        low, high = high, max(high + 1, int(np.ceil(high * min(more / max(wanted, 1e-300), 2.0))))
        if high > MOST_ROWS:
            return None
    while high - low > max(1, CLOSE * low):
        middle = (low + high) // 2
        enough = expected_error(rule, middle, setting)[0] <= error
        low, high = (low, middle) if enough else (middle, high)
    return high if 2 * expected_error(rule, high, setting)[1] <= wanted else None


def rows_judged(error: float, width: float, level: float) -> int | None:
    """Minimum number of test rows for a given width of the exact interval of the error rate.

    The interval is the Clopper-Pearson interval at the expected rate (Beleites et al., 2013, Analytica
    Chimica Acta 760, 25-33).

    Parameters
    ----------
    error : float
        Expected error rate.
    width : float
        Maximum width of the interval.
    level : float
        Confidence level.

    Returns
    -------
    int or None
        None if more than `MOST_ROWS` are needed.

    Examples
    --------
    >>> rows_judged(0.1, 0.1, 0.95)
    158
    """

    def narrow(rows: int) -> bool:
        low, high = exact_interval(error * rows, rows, level)
        return high - low <= width

    return _fewest(narrow, 1)


def _fewest(holds: Callable[[int], bool], least: int) -> int | None:
    """Smallest number, at least `least`, for which a monotone condition is true; None if it is too large."""
    low, high = least - 1, least
    while not holds(high):
        low, high = high, 2 * high
        if high > MOST_ROWS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


class PowerLaw(NamedTuple):
    """Power laws a + b n^-c with parameters (B,)."""

    a: Floats
    b: Floats
    c: Floats

    def at(self, n: Floats) -> Floats:
        """Values (B, N) at numbers of rows (N,)."""
        return self.a[:, None] + self.b[:, None] * n[None, :] ** -self.c[:, None]


def power_law(n: Floats, errors: Floats, weights: Floats) -> PowerLaw:
    """Fit power laws by weighted least squares, with nonnegative a and b.

    Parameters
    ----------
    n : (S,) float
        Numbers of rows.
    errors : (B, S) float
        Error rates.
    weights : (S,) float

    Returns
    -------
    PowerLaw

    Examples
    --------
    >>> n = np.array([10.0, 20.0, 40.0, 80.0, 160.0])
    >>> law = power_law(n, (0.1 + 2.0 / n)[None], np.ones(5))
    >>> law.at(np.array([1000.0])).round(3).tolist()
    [[0.102]]
    """
    found = PowerLaw(*(np.zeros(len(errors)) for _ in range(3)))
    least = np.full(len(errors), np.inf)
    unit = n / n.min()
    middle = weights @ errors.T / weights.sum()
    for c in POWERS.tolist():
        x = unit**-c
        mean = weights @ x / weights.sum()
        slope = ((errors - middle[:, None]) @ (weights * (x - mean))) / (weights @ (x - mean) ** 2)
        through = errors @ (weights * x) / (weights @ x**2)
        b = np.maximum(slope, 0.0)
        a = middle - b * mean
        b = np.where(a < 0, through, b)
        a = np.maximum(a, 0.0)
        loss = ((errors - a[:, None] - b[:, None] * x) ** 2) @ weights
        better = loss < least
        least[better] = loss[better]
        for held, now in zip(found, (a, b * n.min() ** c, np.full(len(a), c)), strict=True):
            held[better] = now[better]
    return found


def curve_limits(wrong: Floats, judged: Floats, draw: Callable[[], Floats], draws: int) -> Floats:
    """Error rates of bootstrap samples of rows.

    Parameters
    ----------
    wrong, judged : (S, n) float
        How often each row was misclassified, and how often it was predicted, for each training size.
    draw : callable
        Returns weights (n,) of the rows in a sample.
    draws : int
        Number of samples B.

    Returns
    -------
    (B, S) float
    """
    found = np.empty((draws, len(wrong)))
    for i in range(draws):
        weights = draw()
        with np.errstate(invalid="ignore"):
            found[i] = (wrong @ weights) / (judged @ weights)
    return found


def resampled_rows(
    rng: np.random.Generator, weights: Floats, groups: Codes | None = None
) -> Callable[[], Floats]:
    """Return a function that draws bootstrap weights of rows or groups of rows.

    Parameters
    ----------
    rng : numpy.random.Generator
    weights : (n,) float
        Row weights, multiplied by the number of times that a row is drawn.
    groups : (n,) int, optional
        Group of each row, numbered from 0.

    Returns
    -------
    callable
        Returns weights (n,).
    """
    members = np.arange(len(weights)) if groups is None else groups
    n = int(members.max()) + 1
    return lambda: rng.multinomial(n, np.full(n, 1 / n))[members] * weights
