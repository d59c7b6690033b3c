"""How many rows a rule needs: expected errors by the number of rows, and the law of a learning curve.

Theory. K normal classes have one covariance and the same Mahalanobis distance D between each two means. With
n rows of each class the parameters of a rule are estimated, and its expected error is the probability that a
new row of a class is called another one, over rows and samples together. Nothing depends on the covariance
(but for the diagonal rule, for which columns are independent), so that it is the identity.

Let u_k = x - xbar_k be the deviations of a new row x from the K sample means. They have a normal law, with
the covariance 11' + I/n in each column, so that their products U'U have a Wishart law but for K - 1 columns,
in which the means lie. Given U, a sample covariance adds a few numbers, however many columns there are:

- LDA decides by u_k'S^-1 u_k, which are the squares of the columns of A^-1/2 R, where R'R = U'U and A has a
  Wishart law of order K on nu - p + K degrees of freedom, nu = K(n - 1) (Muirhead, 1982, Aspects of
  Multivariate Statistical Theory, theorem 3.2.10).
- QDA decides by u_k'S_k^-1 u_k + ln|S_k|: with a chi-square a_k on n - p degrees of freedom, the first is
  (n - 1) |u_k|^2 / a_k, and |S_k| is a_k times a product of independent chi-squares on n - 1, ..., n - p + 1.
- The diagonal rule decides by sums over columns of u_kj^2 / s_j^2, of which all are drawn; the means differ
  by the same in each column.

So samples are drawn that need no table, and the error of the best rule, which is known, is taken off on the
same rows: of what is left the standard error is small. As n grows these numbers are those of Okamoto (1963,
Annals of Mathematical Statistics 34, 1286-1301), and as p grows with n those of Raudys (Raudys & Young, 2004,
Journal of Multivariate Analysis 89, 1-35): the error of LDA of two classes is near

    Phi(-D/2 / sqrt((1 + 2p/(D^2 n)) 2n/(2n - p))).

*Learning curves* are near a + b n^-c (Mukherjee et al., 2003, Journal of Computational Biology 10, 119-142;
Figueroa et al., 2012, BMC Medical Informatics and Decision Making 12, 8). Given c, a and b are those of least
squares; c is sought on a grid.
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
"""Numbers that are drawn at a time."""

POWERS: Floats = np.geomspace(0.05, 4.0, 121)
"""Powers of a learning curve that are tried."""

MOST_ROWS = 10**7
"""Rows of a class that are looked at, and rows to be judged."""


CLOSE = 0.01
"""Two numbers of rows, one of which is too small, are so close to each other when the other is found."""


class Setting(NamedTuple):
    """Normal classes of one covariance, at one distance from each other; how much is drawn."""

    distance: float
    p: int
    classes: int
    draws: int
    seed: int


def least_error(setting: Setting) -> float:
    """Error of the best rule.

    Examples
    --------
    >>> round(least_error(Setting(2.0, 5, 2, 0, 0)), 4)
    0.1587
    """
    k = setting.classes
    if k == 2:
        return float(scipy.special.ndtr(-setting.distance / 2))
    # Means D / sqrt(2) along K axes: a row is kept where its own coordinate is the largest.
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    kept = scipy.special.ndtr(nodes + setting.distance / np.sqrt(2)) ** (k - 1)
    return float(1.0 - weights @ kept / weights.sum())


def fewest_rows(rule: SampledRule, setting: Setting) -> int:
    """Rows of each class that the rule needs at least for its covariances to have inverses."""
    if rule == "qda":
        return setting.p + 1
    # nu = K (n - 1) is to be p, or 1.
    return 1 + -(-(setting.p if rule == "lda" else 1) // setting.classes)


def simplex_means(classes: int) -> Floats:
    """Points (K, K - 1) at distance one from each other."""
    points = (np.eye(classes) - 1 / classes) / np.sqrt(2)
    left, lengths, _ = np.linalg.svd(points)
    return np.asarray((left * lengths)[:, : classes - 1])


def expected_error(rule: SampledRule, n: int, setting: Setting) -> tuple[float, float]:
    """Expected error of a rule that is estimated from n rows of each class, and its standard error."""
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
    """Means (K, K - 1) of the classes less that of the first, in the columns in which they lie."""
    points = setting.distance * simplex_means(setting.classes)
    return np.asarray(points - points[0])


def _more(best: Floats, own: Floats) -> Floats:
    """Whether the smallest of distances (m, K) is not the first, less the same of those of the best rule."""
    wrong = own.argmin(axis=1) != 0
    wrong_best = best.argmin(axis=1) != 0
    return np.asarray(wrong.astype(np.float64) - wrong_best)


def _products(rng: np.random.Generator, n: int, setting: Setting, m: int) -> tuple[Floats, Floats]:
    """Columns R (m, q, K) with R'R = U'U, q at most K, and squared distances (m, K) of the best rule."""
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
    """Upper triangular roots (m, k, k) of matrices with a Wishart law (Bartlett, 1933)."""
    root = np.triu(rng.standard_normal((m, k, k)), 1)
    places = np.arange(k)
    root[:, places, places] = np.sqrt(rng.chisquare(df - places, (m, k)))
    return root


def _linear(rng: np.random.Generator, n: int, setting: Setting, m: int) -> Floats:
    products, best = _products(rng, n, setting, m)
    q = products.shape[1]
    free = setting.classes * (n - 1) - setting.p + q
    root = _wishart_root(rng, m, q, free)
    white = np.linalg.solve(root.swapaxes(1, 2), products)
    return _more(best, (white**2).sum(axis=1))


def _quadratic(rng: np.random.Generator, n: int, setting: Setting, m: int) -> Floats:
    products, best = _products(rng, n, setting, m)
    k = setting.classes
    nu = n - 1
    p = setting.p
    own = rng.chisquare(nu - p + 1, (m, k))
    logs = np.log(own)
    # The root of a product of chi-squares on f and f - 1 degrees of freedom is half of one on 2 f - 2.
    free = np.arange(nu, nu - p + 1, -1)
    pairs = free[: 2 * (len(free) // 2) : 2]
    for f in pairs.tolist():
        logs += 2 * np.log(rng.chisquare(2 * f - 2, (m, k)) / 2)
    if len(free) % 2:
        logs += np.log(rng.chisquare(free[-1], (m, k)))
    return _more(best, nu * (products**2).sum(axis=1) / own + logs)


def _diagonal(rng: np.random.Generator, n: int, setting: Setting, m: int) -> Floats:
    k = setting.classes
    p = setting.p
    points = _spread(setting)
    row = rng.standard_normal((m, 1, p))
    squares = (row - points - rng.standard_normal((m, k, p)) / np.sqrt(n)) ** 2
    variances = rng.chisquare(k * (n - 1), (m, 1, p)) / (k * (n - 1))
    return _more(((row - points) ** 2).sum(axis=2), (squares / variances).sum(axis=2))


def _spread(setting: Setting) -> Floats:
    """Means (K, p) of the classes less that of the first, the differences spread over the columns."""
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
    """The rows of each class, within a hundredth, from which on the expected error is at most `error`.

    None where more than `MOST_ROWS` would be needed, or where what the error has above the least one is less
    than twice the standard error of the draws. That is about as 1/n, so that a few looks are enough.
    """
    wanted = error - least_error(setting)
    least = max(fewest_rows(rule, setting), 2)
    low, high = least - 1, least
    while (more := expected_error(rule, high, setting)[0] - least_error(setting)) > wanted:
        # Of few rows it falls faster than 1/n.
        low, high = high, max(high + 1, int(np.ceil(high * min(more / max(wanted, 1e-300), 2.0))))
        if high > MOST_ROWS:
            return None
    while high - low > max(1, CLOSE * low):
        middle = (low + high) // 2
        enough = expected_error(rule, middle, setting)[0] <= error
        low, high = (low, middle) if enough else (middle, high)
    return high if 2 * expected_error(rule, high, setting)[1] <= wanted else None


def rows_judged(error: float, width: float, level: float) -> int | None:
    """The fewest rows to be judged whose exact interval of an error rate is at most so wide.

    The rate is the one that is expected; the interval is that of Clopper and Pearson at this share of the
    rows (Beleites et al., 2013, Analytica Chimica Acta 760, 25-33).

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
    """The least number from which on something holds, where it holds of all larger ones."""
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
    """Laws a + b n^-c, as many as there are of each number (B,)."""

    a: Floats
    b: Floats
    c: Floats

    def at(self, n: Floats) -> Floats:
        """The values (B, N) at numbers (N,)."""
        return self.a[:, None] + self.b[:, None] * n[None, :] ** -self.c[:, None]


def power_law(n: Floats, errors: Floats, weights: Floats) -> PowerLaw:
    """The laws of least squares of errors (B, S) at numbers (S,) with weights (S,); a and b are not negative.

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
    """Errors (B, S) of samples of rows, from how often each row was wrong and was judged, (S, n) each.

    `draw` gives weights (n,) of the rows of a sample.
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
    """What draws as many rows, or groups of rows (n,), as there are, with replacement, times weights (n,)."""
    members = np.arange(len(weights)) if groups is None else groups
    n = int(members.max()) + 1
    return lambda: rng.multinomial(n, np.full(n, 1 / n))[members] * weights
