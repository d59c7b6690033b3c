"""Reference implementations of the formulas of the package in eighty-digit arithmetic.

All functions take float64 values and treat them as exact. They are written plainly, neither fast nor stable
in double precision: leave-one-out, for example, refits without the row. Arrays are NumPy arrays of
``decimal.Decimal``, which is many times faster than ``mpmath.mpf``; mpmath computes the functions that it
lacks. ``to_float`` rounds results at the very end.

``inherent_loss`` computes how far a result moves if every input moves by its last bit. No program can avoid
this error, and the tests judge digits by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Decimal, getcontext

import mpmath
import numpy as np

DIGITS = 80
mpmath.mp.dps = DIGITS
context = getcontext()
context.prec, context.Emax, context.Emin = DIGITS, MAX_EMAX, MIN_EMIN

Exact = np.ndarray  # of Decimal
log, exp = (np.frompyfunc(f, 1, 1) for f in (Decimal.ln, Decimal.exp))


def evaluate_mpmath(function: Callable[[mpmath.mpf], mpmath.mpf], *values: Decimal) -> Decimal:
    """Evaluate a function of mpmath for exact numbers."""
    return Decimal(mpmath.nstr(function(*(mpmath.mpf(str(v)) for v in values)), DIGITS))


LOG_TWO_PI = (2 * evaluate_mpmath(lambda: mpmath.pi)).ln()


def exact(values: object) -> Exact:
    """Convert float64 values to exact numbers."""
    doubles = np.asarray(values, dtype=np.float64)
    return np.frompyfunc(Decimal, 1, 1)(doubles.astype(object))


def to_float(values: Exact) -> np.ndarray:
    return np.asarray(values, dtype=object).astype(np.float64)


# ------------------------------------------------------------------ linear algebra


def cholesky(matrix: Exact) -> Exact:
    """Lower triangular L with L L' = matrix."""
    p = len(matrix)
    lower = np.full((p, p), Decimal(0), dtype=object)
    for i in range(p):
        for j in range(i + 1):
            rest = matrix[i, j] - sum(lower[i, k] * lower[j, k] for k in range(j))
            lower[i, j] = rest.sqrt() if i == j else rest / lower[j, j]
    return lower


def _solve_lower(lower: Exact, right: Exact) -> Exact:
    """X with L X = right, for a lower triangular matrix L."""
    x = right.copy()
    for i in range(len(lower)):
        x[i] = (x[i] - sum(x[k] * lower[i, k] for k in range(i))) / lower[i, i]
    return x


def solve(matrix: Exact, right: Exact) -> Exact:
    """X with matrix X = right, for a symmetric positive definite matrix; right is (p, r)."""
    lower, p = cholesky(matrix), len(matrix)
    x = _solve_lower(lower, right)
    for i in reversed(range(p)):
        x[i] = (x[i] - sum(x[k] * lower[k, i] for k in range(i + 1, p))) / lower[i, i]
    return x


def logdet(matrix: Exact) -> Decimal:
    return 2 * sum(d.ln() for d in np.diag(cholesky(matrix)))


def squared_distances(rows: Exact, mean: Exact, cov: Exact) -> Exact:
    """(n,) squared Mahalanobis distances of `rows` to `mean`."""
    deviations = (rows - mean).T
    return (deviations * solve(cov, deviations)).sum(axis=0)


def log_posteriors(scores: Exact) -> Exact:
    """Return log posteriors from log(prior x density), row by row."""
    top = scores.max(axis=1, keepdims=True)
    return scores - top - log(exp(scores - top).sum(axis=1, keepdims=True))


# ------------------------------------------------------------------ moments


@dataclass(frozen=True)
class Moments:
    """Counts (K,), means (K, p) and centred sums of squares and products (K, p, p) of the classes."""

    counts: list[int]
    means: Exact
    scatters: Exact

    @classmethod
    def from_rows(cls, x: Exact, codes: np.ndarray) -> Moments:
        """Compute the moments of rows x (n, p) with class codes (n,)."""
        parts = [x[codes == k] for k in range(int(codes.max()) + 1)]
        means = [part.sum(axis=0) / len(part) for part in parts]
        scatters = [(part - mean).T.dot(part - mean) for part, mean in zip(parts, means, strict=True)]
        return cls([len(part) for part in parts], np.array(means), np.array(scatters))

    @property
    def nobs(self) -> int:
        return sum(self.counts)

    def proportions(self) -> Exact:
        return np.array([Decimal(n) / self.nobs for n in self.counts], dtype=object)

    def pooled_covariance(self, method: str) -> Exact:
        return self.scatters.sum(axis=0) / (self.nobs - (len(self.counts) if method == "moment" else 0))

    def class_covariances(self, method: str) -> list[Exact]:
        less = 1 if method == "moment" else 0
        return [scatter / (n - less) for scatter, n in zip(self.scatters, self.counts, strict=True)]


# ------------------------------------------------------------------ linear rule


def linear_scores(rows: Exact, moments: Moments, cov: Exact, prior: Exact, rule: str = "plugin") -> Exact:
    """(n, K) log (prior x density) up to a constant of the row; REFERENCE formulas "Posteriors"."""
    p, nu = rows.shape[1], Decimal(moments.nobs - len(moments.counts))
    columns = []
    for n, mean, weight in zip(moments.counts, moments.means, prior, strict=True):
        d2 = squared_distances(rows, mean, cov)
        if rule == "plugin":
            value = -d2 / 2
        elif rule == "debiased":
            value = -(d2 * ((nu - p - 1) / nu) - Decimal(p) / n) / 2
        else:
            spread = Decimal(n) / (n + 1)
            value = -log(1 + d2 * (spread / nu)) * ((nu + 1) / 2) + spread.ln() * p / 2
        columns.append(value + weight.ln())
    return np.array(columns).T


def lda(x: Exact, codes: np.ndarray, prior: Exact | None = None, method: str = "moment",
        rows: Exact | None = None) -> dict[str, Exact]:  # fmt: skip
    """Every number of a linear discriminant analysis that the digits are counted on.

    `contrast` (p, K-1) are the slopes of the log odds against the first class, `se` their standard errors
    by the delta method, (1/n_0 + 1/n_k) S^-1 + (D2 S^-1 + b b')/nu. `llf` is the likelihood of class and row
    jointly: a prior that is given is part of the model, not estimated. `log_proba` is of `rows` (default: x).
    """
    moments = Moments.from_rows(x, codes)
    prior = moments.proportions() if prior is None else prior
    rows = x if rows is None else rows
    cov = moments.pooled_covariance(method)
    coef = solve(cov, moments.means.T)
    intercept = log(prior) - (coef.T * moments.means).sum(axis=1) / 2
    differences = (moments.means[1:] - moments.means[0]).T
    contrast = solve(cov, differences)
    return {
        "means": moments.means,
        "cov": cov,
        "coef": coef,
        "intercept": intercept,
        "contrast": contrast,
        "se": _standard_errors(moments, cov, differences, contrast),
        "llf": np.array([_linear_llf(moments, prior)]),
        "log_proba": log_posteriors(linear_scores(rows, moments, cov, prior)),
        "wilks": np.array([wilks(moments)]),
    }


def _standard_errors(moments: Moments, cov: Exact, differences: Exact, contrast: Exact) -> Exact:
    nu, counts = moments.nobs - len(moments.counts), moments.counts
    identity = exact(np.eye(len(cov)))
    diagonal = np.diag(solve(cov, identity))
    columns = []
    for n, d, b in zip(counts[1:], differences.T, contrast.T, strict=True):
        sampling = Decimal(1) / counts[0] + Decimal(1) / n
        variance = sampling * diagonal + (d.dot(b) * diagonal + b * b) / nu
        columns.append([v.sqrt() for v in variance])
    return np.array(columns, dtype=object).T


def _normal_llf(n: int, cov_ml: Exact) -> Decimal:
    p = len(cov_ml)
    return -Decimal(n) / 2 * (p * LOG_TWO_PI + logdet(cov_ml) + p)


def _class_llf(moments: Moments, prior: Exact) -> Decimal:
    return sum(n * q.ln() for n, q in zip(moments.counts, prior, strict=True))


def _linear_llf(moments: Moments, prior: Exact) -> Decimal:
    return _class_llf(moments, prior) + _normal_llf(moments.nobs, moments.pooled_covariance("mle"))


def between_scatter(moments: Moments) -> Exact:
    """Return the between-class sums of squares and products, about the mean of all rows."""
    grand = moments.proportions().dot(moments.means)
    deviations = moments.means - grand
    return (deviations.T * np.array(moments.counts, dtype=object)).dot(deviations)


def wilks(moments: Moments) -> Decimal:
    within = moments.scatters.sum(axis=0)
    return (logdet(within) - logdet(within + between_scatter(moments))).exp()


def canonical_eigenvalues(moments: Moments) -> list[mpmath.mpf]:
    """Return the min(p, K-1) largest eigenvalues of W^-1 B in descending order."""
    within = moments.scatters.sum(axis=0)
    lower = cholesky(within)
    whitened = _solve_lower(lower, _solve_lower(lower, between_scatter(moments)).T)
    values = mpmath.eigsy(mpmath.matrix(whitened.astype(str).tolist()), eigvals_only=True)
    return sorted(values, reverse=True)[: min(len(within), len(moments.counts) - 1)]


def rao_f(lam: Decimal, p: int, q: int, v: int) -> tuple[Decimal, Decimal, Decimal]:
    """Return Rao's F of Wilks' lambda and its degrees of freedom, where q = K - 1 and v = N - K."""
    below = p * p + q * q - 5
    t = (Decimal(p * p * q * q - 4) / below).sqrt() if below > 0 else Decimal(1)
    df1, df2 = Decimal(p * q), t * (v - Decimal(p - q + 1) / 2) - Decimal(p * q - 2) / 2
    root = lam ** (1 / t)
    return (1 - root) / root * df2 / df1, df1, df2


# ------------------------------------------------------------------ quadratic rule


def quadratic_scores(
    rows: Exact, moments: Moments, covs: list[Exact], prior: Exact, rule: str = "plugin"
) -> Exact:
    """(n, K) log (prior x density) up to a constant of the row; REFERENCE formulas "Posteriors"."""
    p, columns = rows.shape[1], []
    for n, mean, cov, weight in zip(moments.counts, moments.means, covs, prior, strict=True):
        d2, det = squared_distances(rows, mean, cov), logdet(cov)
        count = Decimal(n)
        if rule == "plugin":
            value = -d2 / 2 - det / 2
        elif rule == "debiased":
            nu = count - 1
            bias = p * (nu / 2).ln() - sum(
                evaluate_mpmath(mpmath.digamma, (count - j) / 2) for j in range(1, p + 1)
            )
            value = -((nu - p - 1) / nu * d2 - p / count) / 2 - (det + bias) / 2
        else:
            gammas = evaluate_mpmath(mpmath.loggamma, count / 2) - evaluate_mpmath(
                mpmath.loggamma, (count - p) / 2
            )
            determinant = det + p * (count - 1).ln()
            spread = (count / (count + 1)).ln() * p / 2
            value = gammas - determinant / 2 + spread - count / 2 * log(1 + count * d2 / (count**2 - 1))
        columns.append(value + weight.ln())
    return np.array(columns).T


def qda(x: Exact, codes: np.ndarray, prior: Exact | None = None, method: str = "moment",
        rows: Exact | None = None) -> dict[str, Exact]:  # fmt: skip
    """Every number of a quadratic discriminant analysis that the digits are counted on."""
    moments = Moments.from_rows(x, codes)
    prior = moments.proportions() if prior is None else prior
    covs = moments.class_covariances(method)
    llf = _class_llf(moments, prior) + sum(map(_normal_llf, moments.counts, moments.class_covariances("mle")))
    return {
        "means": moments.means,
        "covs": np.array(covs),
        "logdet": np.array([logdet(cov) for cov in covs], dtype=object),
        "llf": np.array([llf]),
        "log_proba": log_posteriors(quadratic_scores(x if rows is None else rows, moments, covs, prior)),
    }


# ------------------------------------------------------------------ leave-one-out


def leave_one_out(
    x: Exact,
    codes: np.ndarray,
    quadratic: bool,
    method: str = "moment",
    positions: Sequence[int] | None = None,
) -> Exact:
    """Return log posteriors (n, K) from refits without each row; the priors stay fixed.

    `positions` are the rows to leave out (default: all).
    """
    prior = Moments.from_rows(x, codes).proportions()
    left_out = range(len(x)) if positions is None else positions
    return np.vstack(
        [log_posteriors(_scores_without_row(x, codes, i, prior, quadratic, method)) for i in left_out]
    )


def _scores_without_row(
    x: Exact, codes: np.ndarray, i: int, prior: Exact, quadratic: bool, method: str
) -> Exact:
    keep = np.arange(len(x)) != i
    moments = Moments.from_rows(x[keep], codes[keep])
    row = x[i : i + 1]
    if quadratic:
        return quadratic_scores(row, moments, moments.class_covariances(method), prior)
    return linear_scores(row, moments, moments.pooled_covariance(method), prior)


# ------------------------------------------------------------------ digits


def nudge(values: np.ndarray, rng: np.random.Generator, by_column: bool = False) -> np.ndarray:
    """Move every value to one of its two neighbouring floats at random.

    With `by_column` every entry moves by the last bit of the largest entry of its column, which is also the
    last bit of results computed from the whole column, such as a class mean.
    """
    sign = rng.choice([-1.0, 1.0], size=values.shape)
    if by_column:
        return values + sign * np.spacing(np.abs(values).max(axis=0))
    return np.nextafter(values, sign * np.inf)


def relative_change(change: Exact, value: Exact, floor: float = 0.0) -> np.ndarray:
    """Return |change| / max(floor, |value|), and 0 if both are 0."""
    size = np.maximum(np.abs(value), Decimal(floor))
    return to_float(np.abs(change) / np.where(size == 0, Decimal(1), size))


def inherent_loss(
    function: Callable[..., Mapping[str, Exact]],
    *inputs: np.ndarray,
    draws: int = 16,
    by_column: bool = False,
    floors: Mapping[str, float] | None = None,
) -> tuple[dict[str, Exact], dict[str, np.ndarray]]:
    """The exact results of `function` and how far each moves when its inputs move by their last bit.

    Parameters
    ----------
    function
        From exact inputs to a dict of exact arrays.
    *inputs
        Arrays of doubles.
    draws
        Number of random nudges of all inputs at once; the largest change counts.
    by_column
        Move every entry by the last bit of its column, see `nudged`.
    floors
        Changes of the named results are taken relative to max(floor, \\|value\\|).
    """
    floors = {} if floors is None else floors
    rng = np.random.default_rng(20261120)
    value = dict(function(*map(exact, inputs)))
    loss = {name: np.zeros(np.shape(v)) for name, v in value.items()}
    for _ in range(draws):
        moved = function(*(exact(nudge(x, rng, by_column)) for x in inputs))
        for name, v in value.items():
            change = relative_change(moved[name] - v, v, floors.get(name, 0.0))
            loss[name] = np.maximum(loss[name], change)
    return value, loss
