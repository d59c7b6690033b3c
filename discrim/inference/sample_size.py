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
"""Rule with a pooled covariance, with pooled variances only, or with a covariance for each class."""

RULES: tuple[SampledRule, ...] = get_args(SampledRule)
"""Rules whose expected error can be simulated."""

MAX_NUMBERS_PER_CHUNK = 2**22
"""Maximum number of random numbers that are drawn at once."""

CANDIDATE_EXPONENTS: Floats = np.geomspace(0.05, 4.0, 121)
"""Candidate exponents c of a learning curve a + b n^-c."""

MAX_ROWS = 10**7
"""Maximum number of rows of a class, and of test rows."""


SEARCH_TOLERANCE = 0.01
"""Relative difference between a sufficient and an insufficient number of rows at which the search ends."""


class Setting(NamedTuple):
    """Simulation settings: equidistant normal classes with equal covariances.

    Attributes
    ----------
    distance : float
        Mahalanobis distance between any two means.
    p, classes : int
        Numbers of columns and of classes K; p is at least K - 1.
    draws : int
        Number of simulated training samples, each with one new row of the first class.
    seed : int
        Seed of the random numbers.
    """

    distance: float
    p: int
    classes: int
    draws: int
    seed: int


def bayes_error(setting: Setting) -> float:
    """Return the error rate of the Bayes rule, which knows the parameters, for equal class proportions.

    It depends on the distance and the number of classes only.

    Examples
    --------
    >>> round(bayes_error(Setting(2.0, 5, 2, 0, 0)), 4)
    0.1587
    """
    k = setting.classes
    if k == 2:
        return float(scipy.special.ndtr(-setting.distance / 2))
    # Means D / sqrt(2) along K axes: a row is classified correctly if its own coordinate is the largest.
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    correct_probabilities = scipy.special.ndtr(nodes + setting.distance / np.sqrt(2)) ** (k - 1)
    return float(1.0 - weights @ correct_probabilities / weights.sum())


def min_rows_per_class(rule: SampledRule, setting: Setting) -> int:
    """Return the minimum number of rows of each class for which the covariances of a rule are nonsingular.

    `rule` is one of `RULES`. For "diagonal" the variances have to be positive.
    """
    if rule == "qda":
        return setting.p + 1
    # nu = K (n - 1) has to be at least p, or 1 for the diagonal rule.
    return 1 + -(-(setting.p if rule == "lda" else 1) // setting.classes)


def simplex_means(classes: int) -> Floats:
    """Return the vertices (K, K - 1) of a centred regular simplex with edges of length one."""
    points = (np.eye(classes) - 1 / classes) / np.sqrt(2)
    left_vectors, singular_values, _ = np.linalg.svd(points)
    return np.asarray((left_vectors * singular_values)[:, : classes - 1])


def expected_error(rule: SampledRule, n: int, setting: Setting) -> tuple[float, float]:
    """Simulate the expected error of a rule that is estimated from n rows of each class.

    Parameters
    ----------
    rule : {"lda", "diagonal", "qda"}
        The rule.
    n : int
        Number of rows of each class, at least `min_rows_per_class`.
    setting : Setting
        Distribution of the classes and size of the simulation.

    Returns
    -------
    error, se : float
        The expected error, an estimate that may be slightly below the Bayes error, and its Monte Carlo
        standard error. Every call starts from `setting.seed`.
    """
    rng = np.random.default_rng(setting.seed)
    k = setting.classes
    p = setting.p
    n_random_numbers = {"lda": k * k, "diagonal": p * k, "qda": k * (p + k)}[rule]
    draws_per_chunk = max(MAX_NUMBERS_PER_CHUNK // n_random_numbers, 1)
    excess = 0.0
    squares = 0.0
    for start in range(0, setting.draws, draws_per_chunk):
        n_draws = min(draws_per_chunk, setting.draws - start)
        indicators = _EXCESS_SIMULATIONS[rule](rng, n, setting, n_draws)
        excess += indicators.sum()
        squares += (indicators**2).sum()
    mean = excess / setting.draws
    variance = max(squares / setting.draws - mean**2, 0.0)
    return bayes_error(setting) + float(mean), float(np.sqrt(variance / setting.draws))


def _class_means(setting: Setting) -> Floats:
    """Return class means (K, K - 1) in the space that they span, minus the mean of the first class.

    All distances between two means are `setting.distance`.
    """
    points = setting.distance * simplex_means(setting.classes)
    return np.asarray(points - points[0])


def _excess_error_indicators(bayes_distances: Floats, estimated_distances: Floats) -> Floats:
    """Return the error indicators (0 or 1) of the estimated rule minus the indicators of the Bayes rule.

    Parameters
    ----------
    bayes_distances, estimated_distances : (m, K) float
        Discriminant values of m rows, the smallest of which determines the predicted class; the true class is
        the first.

    Returns
    -------
    (m,) float
        -1, 0 or 1 for each draw.
    """
    is_estimated_wrong = estimated_distances.argmin(axis=1) != 0
    is_bayes_wrong = bayes_distances.argmin(axis=1) != 0
    return np.asarray(is_estimated_wrong.astype(np.float64) - is_bayes_wrong)


def _draw_product_roots(rng: np.random.Generator, n: int, setting: Setting, m: int) -> tuple[Floats, Floats]:
    """Draw roots of the products U'U of the module docstring, and distances of the Bayes rule.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    n : int
        Number of rows of each class.
    setting : Setting
        Distribution of the classes.
    m : int
        Number of draws.

    Returns
    -------
    root : (m, q, K) float
        R with R'R = U'U; q = min(p, K).
    bayes_distances : (m, K) float
        Squared distances of the new rows from the true class means, up to a constant for each row.
    """
    k = setting.classes
    means = _class_means(setting)
    first = rng.standard_normal((m, k - 1))
    noise = rng.standard_normal((m, k - 1, k)) / np.sqrt(n)
    bayes_distances = ((first[:, None, :] - means) ** 2).sum(axis=2)
    mean_columns = first[:, :, None] - means.T - noise
    n_other_columns = setting.p - (k - 1)
    root = np.linalg.cholesky(np.ones((k, k)) + np.eye(k) / n).T
    others = (
        rng.standard_normal((m, n_other_columns, k))
        if n_other_columns < k
        else _draw_wishart_roots(rng, m, k, n_other_columns)
    )
    rows = np.concatenate([mean_columns, others @ root], axis=1)
    return (rows if rows.shape[1] <= k else np.asarray(np.linalg.qr(rows, mode="r"))), np.asarray(
        bayes_distances
    )


def _draw_wishart_roots(rng: np.random.Generator, m: int, k: int, df: int) -> Floats:
    """Draw upper triangular roots R (m, k, k) of Wishart matrices R'R with identity scale, `df` > k - 1."""
    root = np.triu(rng.standard_normal((m, k, k)), 1)
    diagonal = np.arange(k)
    root[:, diagonal, diagonal] = np.sqrt(rng.chisquare(df - diagonal, (m, k)))
    return root


def _draw_lda_excess(rng: np.random.Generator, n: int, setting: Setting, m: int) -> Floats:
    """Draw the error indicator of LDA minus the error indicator of the Bayes rule.

    Each draw has a new training sample and one new row of the first class.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    n : int
        Number of training rows of each class, at least `min_rows_per_class`.
    setting : Setting
        Distance and numbers of columns and classes; `draws` and `seed` are not used.
    m : int
        Number of draws.

    Returns
    -------
    (m,) float
        -1, 0 or 1 for each draw.
    """
    products, bayes_distances = _draw_product_roots(rng, n, setting, m)
    q = products.shape[1]
    df = setting.classes * (n - 1) - setting.p + q
    root = _draw_wishart_roots(rng, m, q, df)
    whitened = np.linalg.solve(root.swapaxes(1, 2), products)
    return _excess_error_indicators(bayes_distances, (whitened**2).sum(axis=1))


def _draw_qda_excess(rng: np.random.Generator, n: int, setting: Setting, m: int) -> Floats:
    """Draw the error indicator of QDA minus the error indicator of the Bayes rule.

    Each draw has a new training sample and one new row of the first class.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    n : int
        Number of training rows of each class, at least `min_rows_per_class`.
    setting : Setting
        Distance and numbers of columns and classes; `draws` and `seed` are not used.
    m : int
        Number of draws.

    Returns
    -------
    (m,) float
        -1, 0 or 1 for each draw.
    """
    products, bayes_distances = _draw_product_roots(rng, n, setting, m)
    k = setting.classes
    nu = n - 1
    p = setting.p
    chi_squares = rng.chisquare(nu - p + 1, (m, k))
    log_determinants = np.log(chi_squares)
    # The root of a product of chi-squares with f and f - 1 df is half a chi-square with 2 f - 2 df.
    dfs = np.arange(nu, nu - p + 1, -1)
    pairs = dfs[: 2 * (len(dfs) // 2) : 2]
    for f in pairs.tolist():
        log_determinants += 2 * np.log(rng.chisquare(2 * f - 2, (m, k)) / 2)
    if len(dfs) % 2:
        log_determinants += np.log(rng.chisquare(dfs[-1], (m, k)))
    return _excess_error_indicators(
        bayes_distances, nu * (products**2).sum(axis=1) / chi_squares + log_determinants
    )


def _draw_diagonal_excess(rng: np.random.Generator, n: int, setting: Setting, m: int) -> Floats:
    """Draw the error indicator of the diagonal rule minus the error indicator of the Bayes rule.

    The rule is LDA with pooled variances and no covariances. Each draw has a new training sample and one new
    row of the first class.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    n : int
        Number of training rows of each class, at least `min_rows_per_class`.
    setting : Setting
        Distance and numbers of columns and classes; `draws` and `seed` are not used.
    m : int
        Number of draws.

    Returns
    -------
    (m,) float
        -1, 0 or 1 for each draw.
    """
    k = setting.classes
    p = setting.p
    points = _spread_means(setting)
    row = rng.standard_normal((m, 1, p))
    squares = (row - points - rng.standard_normal((m, k, p)) / np.sqrt(n)) ** 2
    variances = rng.chisquare(k * (n - 1), (m, 1, p)) / (k * (n - 1))
    return _excess_error_indicators(((row - points) ** 2).sum(axis=2), (squares / variances).sum(axis=2))


def _spread_means(setting: Setting) -> Floats:
    """Return class means (K, p) minus the mean of the first class, with each axis spread over the columns.

    Column j belongs to axis j mod (K - 1) of `_class_means`; distances between the means are unchanged.
    """
    means = _class_means(setting)
    k = setting.classes
    column = np.arange(setting.p) % (k - 1)
    columns_per_axis = np.bincount(column, minlength=k - 1)
    return np.asarray((means / np.sqrt(columns_per_axis))[:, column])


_EXCESS_SIMULATIONS: dict[SampledRule, Callable[[np.random.Generator, int, Setting, int], Floats]] = {
    "lda": _draw_lda_excess,
    "diagonal": _draw_diagonal_excess,
    "qda": _draw_qda_excess,
}
"""Functions that draw differences of error indicators, by rule; see `_draw_lda_excess`."""


def required_training_rows(rule: SampledRule, error: float, setting: Setting) -> int | None:
    """Find the smallest number of training rows of each class for an expected error of at most `error`.

    Expected errors are simulated. The result suffices, and exceeds a number of rows that does not suffice by
    at most one row or 1% of the rows; it is at least 2 and `min_rows_per_class`.

    Parameters
    ----------
    rule : {"lda", "diagonal", "qda"}
        The rule.
    error : float
        Required expected error.
    setting : Setting
        Distribution of the classes and size of the simulation.

    Returns
    -------
    int or None
        None if more than `MAX_ROWS` are needed, or if the difference between `error` and the Bayes error is
        less than twice the Monte Carlo standard error.
    """
    max_excess = error - bayes_error(setting)
    min_rows = max(min_rows_per_class(rule, setting), 2)
    low, high = min_rows - 1, min_rows
    while (excess := expected_error(rule, high, setting)[0] - bayes_error(setting)) > max_excess:
        # For few rows the excess decreases faster than 1/n.
        low, high = high, max(high + 1, int(np.ceil(high * min(excess / max(max_excess, 1e-300), 2.0))))
        if high > MAX_ROWS:
            return None
    while high - low > max(1, SEARCH_TOLERANCE * low):
        midpoint = (low + high) // 2
        enough = expected_error(rule, midpoint, setting)[0] <= error
        low, high = (low, midpoint) if enough else (midpoint, high)
    return high if 2 * expected_error(rule, high, setting)[1] <= max_excess else None


def required_test_rows(error: float, width: float, level: float) -> int | None:
    """Find the minimum number of test rows for a given width of the exact interval of the error rate.

    The interval is the Clopper-Pearson interval at the expected rate (Beleites et al., 2013, Analytica
    Chimica Acta 760, 25-33).

    Parameters
    ----------
    error : float
        Expected error rate, from 0 to 1.
    width : float
        Maximum width of the interval, high minus low.
    level : float
        Confidence level, which is not checked.

    Returns
    -------
    int or None
        None if more than `MAX_ROWS` are needed.

    Examples
    --------
    >>> required_test_rows(0.1, 0.1, 0.95)
    158
    """

    def is_narrow(rows: int) -> bool:
        """Return whether the interval for this number of test rows has at most the required width."""
        low, high = exact_interval(error * rows, rows, level)
        return high - low <= width

    return _smallest_integer(is_narrow, 1)


def _smallest_integer(condition: Callable[[int], bool], minimum: int) -> int | None:
    """Find the smallest integer >= `minimum` that satisfies a condition which, once true, remains true.

    Candidates are doubled, then bisected. The result is None if all doubled candidates up to `MAX_ROWS` fail.
    """
    low, high = minimum - 1, minimum
    while not condition(high):
        low, high = high, 2 * high
        if high > MAX_ROWS:
            return None
    while high - low > 1:
        midpoint = (low + high) // 2
        low, high = (low, midpoint) if condition(midpoint) else (midpoint, high)
    return high


class PowerLaw(NamedTuple):
    """Power laws a + b n^-c of B learning curves.

    Attributes
    ----------
    a, b, c : (B,) float
        Parameters of the curves.
    """

    a: Floats
    b: Floats
    c: Floats

    def evaluate(self, n: Floats) -> Floats:
        """Return the values (B, N) of the curves at numbers of rows (N,)."""
        return self.a[:, None] + self.b[:, None] * n[None, :] ** -self.c[:, None]


def fit_power_law(n: Floats, errors: Floats, weights: Floats) -> PowerLaw:
    """Fit power laws a + b n^-c by weighted least squares, with nonnegative a and b.

    c is the best of the `CANDIDATE_EXPONENTS`. A curve with missing errors has a = b = c = 0.

    Parameters
    ----------
    n : (S,) float
        Numbers of training rows, positive and not all equal.
    errors : (B, S) float
        Error rates of B learning curves at these numbers of rows; a power law is fitted to each curve.
    weights : (S,) float
        Weights of the squared residuals, for all curves.

    Returns
    -------
    PowerLaw

    Examples
    --------
    >>> n = np.array([10.0, 20.0, 40.0, 80.0, 160.0])
    >>> curve = fit_power_law(n, (0.1 + 2.0 / n)[None], np.ones(5))
    >>> curve.evaluate(np.array([1000.0])).round(3).tolist()
    [[0.102]]
    """
    curve = PowerLaw(*(np.zeros(len(errors)) for _ in range(3)))
    min_loss = np.full(len(errors), np.inf)
    relative_n = n / n.min()
    mean_errors = weights @ errors.T / weights.sum()
    for c in CANDIDATE_EXPONENTS.tolist():
        x = relative_n**-c
        mean = weights @ x / weights.sum()
        slope = ((errors - mean_errors[:, None]) @ (weights * (x - mean))) / (weights @ (x - mean) ** 2)
        slope_without_intercept = errors @ (weights * x) / (weights @ x**2)
        b = np.maximum(slope, 0.0)
        a = mean_errors - b * mean
        b = np.where(a < 0, slope_without_intercept, b)
        a = np.maximum(a, 0.0)
        loss = ((errors - a[:, None] - b[:, None] * x) ** 2) @ weights
        better = loss < min_loss
        min_loss[better] = loss[better]
        for parameter, candidate in zip(curve, (a, b * n.min() ** c, np.full(len(a), c)), strict=True):
            parameter[better] = candidate[better]
    return curve


def bootstrap_error_rates(
    n_errors: Floats, n_predictions: Floats, draw: Callable[[], Floats], draws: int
) -> Floats:
    """Compute error rates of bootstrap samples of rows, for each training size.

    Parameters
    ----------
    n_errors, n_predictions : (S, n) float
        How often each of n rows was misclassified, and how often it was predicted, for each of S training
        sizes.
    draw : callable
        Returns weights (n,) of the rows in a new sample, see `bootstrap_weights`.
    draws : int
        Number of samples B.

    Returns
    -------
    (B, S) float
        NaN if no row of the sample was predicted.
    """
    error_rates = np.empty((draws, len(n_errors)))
    for i in range(draws):
        weights = draw()
        with np.errstate(invalid="ignore"):
            error_rates[i] = (n_errors @ weights) / (n_predictions @ weights)
    return error_rates


def bootstrap_weights(
    rng: np.random.Generator, weights: Floats, groups: Codes | None = None
) -> Callable[[], Floats]:
    """Return a function that draws bootstrap weights of rows or groups of rows.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    weights : (n,) float
        Row weights, multiplied by the number of times that a row is drawn.
    groups : (n,) int, optional
        Group of each row, numbered from 0; groups are drawn as a whole. By default each row is a group.

    Returns
    -------
    callable
        Returns the weights (n,) of a new bootstrap sample in each call.
    """
    members = np.arange(len(weights)) if groups is None else groups
    n = int(members.max()) + 1
    return lambda: rng.multinomial(n, np.full(n, 1 / n))[members] * weights
