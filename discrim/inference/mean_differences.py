"""Univariate and partial tests of columns, distances between classes, and distances of rows from their class.

The results of LDA and QDA use these functions for tables and Q-Q plots of distances.

*Distances of rows.* For n rows of a class, included in the estimate of the covariance with v degrees of
freedom, the squared distance d2 to the class mean has B = n/(n - 1) d2/v ~ Beta(p/2, (v - p)/2) (Gnanadesikan
& Kettenring, 1972, Biometrics 28, 81-124, for v = n - 1). For a row not included in mean and covariance,
m/(m + 1) (v - p + 1)/(p v) d2 ~ F(p, v - p + 1), with m rows of the class in the fit.

*Pointwise limits of ordered distances.* The distances of the rows of a fit are dependent: in a class with a
separate covariance they sum to (n - 1) p. The number of distances up to a quantile t at u = F(t)
has the mean n u and, to first order in the correlation rho of two distances, the variance

    n u (1 - u) r,    r = 1 + (n - 1) rho A(t)^2 / (u (1 - u)),    A(t) = E[(B - E B)/sd(B); B <= t],

because the part of P(B_i <= t, B_j <= t) - u^2 that is linear in rho is rho A(t)^2. Of a beta distribution
with parameters a and b, A(t) = -t (1 - t) f(t) / ((a + b) sd). The i-th smallest distance lies between the
quantiles of Beta((i - 1/2)/r + 1/2, (n - i + 1/2)/r + 1/2) of its distribution; for independent distances,
with r = 1, this is Beta(i, n + 1 - i). The correlation is exact: the distances are diagonal elements of v G,
G the projection on p random directions of a space of v dimensions, so that

    E G_ab G_cd = alpha 1(a=b, c=d) + beta (1(a=c, b=d) + 1(a=d, b=c)),

where tr G = p and tr G^2 = p determine alpha and beta. If v = n - 1, rho = -1/(n - 1).

The distances of new rows depend on one another through the fit, the more so the fewer rows it has. For fixed
n, m, v and p their joint distribution does not depend on the mean and the covariance. The limits are
therefore quantiles of simulated distances, with a fixed seed. Large samples (more than 1,000 rows for four
columns) use the limits of smaller ones, which are somewhat too wide. `python -m
tests.benchmarks.distance_limits` simulates the coverage of both.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy

from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.principal import CanonicalAxes, weighted_centre
from discrim.core.moments.moments import MIN_EXCESS_WEIGHT, ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.special import f_sf
from discrim.core.rules.leave_one_out import squared_distances_between_means
from discrim.inference.effect_sizes import explained_variance_columns, f_noncentrality_limits


def between_squares(moments: ClassMoments) -> Floats:
    """Return the between-class sum of squares (p,) of each column, in the coordinates of the moments.

    It is the sum over classes of n_k (m_k - m)^2, with m the mean of all rows.
    """
    means = moments.means
    return np.asarray(moments.counts @ (means - weighted_centre(means, moments.counts)) ** 2)


def anova_table(moments: ClassMoments, terms: pd.Index, level: float | None = None) -> pd.DataFrame:
    """Return a table with the one-way analysis of variance of each column.

    A column that is constant within classes has an infinite F, or NaN if it is constant over all rows.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    terms : pandas.Index
        Labels of the p columns.
    level : float, optional
        Confidence level of intervals for the explained proportion; by default they are not computed.

    Returns
    -------
    pandas.DataFrame
        One row per term: sd_total, sd_within and sd_between in the units of the data, R2 (between over total
        sum of squares), F, df1, df2, p, and with a level omega2, and limits low and high of partial eta
        squared. The divisors follow SAS: N - 1 for sd_total, N - K for sd_within, and N (K - 1)/K for
        sd_between. sd_within and F are NaN without residual degrees of freedom.
    """
    within = moments.squares.sum(axis=0)
    between = between_squares(moments)
    total = moments.total
    k = moments.n_classes
    df1 = float(k - 1)
    df2 = total - k
    # The divisor is NaN if the sum of the weights does not exceed the number that is subtracted.
    df_total, df_within = (d if d > MIN_EXCESS_WEIGHT * total else np.nan for d in (total - 1, df2))
    with np.errstate(divide="ignore", invalid="ignore"):
        f = between / df1 / (within / df_within)
        r2 = between / (between + within)
    table = pd.DataFrame(index=terms)
    table["sd_total"] = np.sqrt((between + within) / df_total) / moments.scale
    table["sd_within"] = np.sqrt(within / df_within) / moments.scale
    table["sd_between"] = np.sqrt(between * k / (total * (k - 1))) / moments.scale
    table["R2"] = r2
    table["F"] = f
    table["df1"] = df1
    table["df2"] = df2
    table["p"] = f_sf(f, df1, df2)
    return table if level is None else table.assign(**explained_variance_columns(f, df1, df2, total, level))


def distance_table(
    moments: ClassMoments,
    covariance: Covariance,
    nu: float,
    classes: pd.Index,
    adjusted: tuple[int, Floats | None] = (0, None),
    level: float | None = None,
) -> pd.DataFrame:
    """Return squared Mahalanobis distances of pairs of classes, with Hotelling's F test of equal means.

    F = (nu - p + 1) D2/(nu p (1/n_i + 1/n_j)) has p and nu - p + 1 degrees of freedom, with p the number of
    columns without the q covariates.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes in all columns, the q covariates first.
    covariance : Covariance
        Pooled, unbiased within-class covariance in the coordinates of the moments; with covariates a
        `ConditionalCovariance`, of the other columns given the covariates, which yields the distances of
        adjusted means.
    nu : float
        Degrees of freedom of the covariance: N - K, or N - K - q for means adjusted for q covariates.
    classes : pandas.Index
        Labels of the K classes.
    adjusted : (int, (K, K) float or None)
        Number q of covariates, and for q > 0 the squared distances between the class means of the covariates,
        under their within-class scatter matrix; they are added to 1/n_i + 1/n_j.
    level : float, optional
        Confidence level of intervals for the distance D; by default they are not computed.

    Returns
    -------
    pandas.DataFrame
        One row for each pair, indexed by (class, other): D2, F, df1, df2, p (the p-value), and with a level
        also D (not squared) and its limits low and high.
    """
    squared_distances = squared_distances_between_means(covariance.whiten(moments.means.T).T)
    q, covariate_distances = adjusted
    n = moments.counts
    p = moments.n_columns - q
    pairs = list(combinations(range(len(classes)), 2))
    i, j = np.array(pairs).T
    df2 = nu - p + 1
    d2 = squared_distances[i, j]
    effective_sizes = n[i] * n[j] / (n[i] + n[j])
    if covariate_distances is not None:
        effective_sizes = effective_sizes / (1 + effective_sizes * covariate_distances[i, j])
    f = df2 * effective_sizes / (nu * p) * d2
    index = pd.MultiIndex.from_arrays([classes[i], classes[j]], names=["class", "other"])
    columns = {"D2": d2, "F": f, "df1": float(p), "df2": df2, "p": f_sf(f, p, df2)}
    if level is not None:
        low, high = f_noncentrality_limits(f, float(p), df2, level)
        columns |= {
            "D": np.sqrt(d2),
            "low": np.sqrt(low / effective_sizes),
            "high": np.sqrt(high / effective_sizes),
        }
    return pd.DataFrame(columns, index=index)


def generalized_distances(
    moments: ClassMoments, covariances: tuple[Covariance, ...], log_prior: Floats, classes: pd.Index
) -> pd.DataFrame:
    """Return the table of generalized squared distances between classes, as defined by SAS.

    The distance from class i to class j is (m_i - m_j)' S_j^-1 (m_i - m_j), plus ln|S_j| for separate
    covariances, minus 2 ln prior_j for unequal priors.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    covariances : tuple of Covariance
        One common covariance, or one for each class, in the coordinates of the moments.
    log_prior : (K,) float
        Logarithms of the prior probabilities.
    classes : pandas.Index
        Labels of the K classes.

    Returns
    -------
    pandas.DataFrame
        (K, K), from the mean of class i in the rows (index name "from") to class j in the columns ("to"),
        with determinants in the units of the data; not symmetric in general. Infinite for a prior of zero.
    """
    means = moments.means
    distances_to_classes = []
    log_scale = 2.0 * np.log(moments.scale).sum()
    separate = len(covariances) > 1
    for j in range(len(means)):
        covariance = covariances[j if separate else 0]
        d2 = (covariance.whiten((means - means[j]).T) ** 2).sum(axis=0)
        distances_to_classes.append(d2 + (covariance.logdet - log_scale if separate else 0.0))
    prior_term = 0.0 if np.ptp(log_prior) == 0 else -2.0 * log_prior
    return pd.DataFrame(
        np.stack(distances_to_classes, axis=1) + prior_term,
        index=classes.rename("from"),
        columns=classes.rename("to"),
    )


def partial_table(
    axes: CanonicalAxes, covariance: Covariance, n_classes: int, nu: float, terms: pd.Index
) -> pd.DataFrame:
    """Return partial Wilks' lambda of each column given all other columns, with its F test.

    Partial lambda_j is (T^-1)_jj/(W^-1)_jj. On canonical axes a_r of unit variance within classes, nu
    (W^-1)_jj - nu (T^-1)_jj = sum_r a_jr^2 lambda_r/(1 + lambda_r), which avoids subtraction; the F has
    K - 1 and N - K - p + 1 degrees of freedom (Rao, 1973, Linear Statistical Inference, sec. 8c). For two
    classes its signed root is exactly the t of the column in the regression of the class indicator.

    Parameters
    ----------
    axes : CanonicalAxes
        Canonical axes, whose squared singular values are the roots of W^-1 B.
    covariance : Covariance
        Pooled, unbiased within-class covariance, in the coordinates of the axes.
    n_classes : int
        Number of classes K.
    nu : float
        Degrees of freedom of the covariance, N - K.
    terms : pandas.Index
        Labels of the p columns.

    Returns
    -------
    pandas.DataFrame
        One row per term: partial_wilks, partial_R2 (1 - partial_wilks), F, df1, df2, p, tolerance, and for
        two classes t, positive for a column that favours the second class. The tolerance is 1 - R2 of the
        column on the others within classes.
    """
    precision = (covariance.inverse**2).sum(axis=1)
    roots = axes.singular_values**2
    between = axes.axes**2 @ (roots / (1 + roots))
    # The diagonal of T^-1 as a sum of positive terms: along the axes and orthogonal to them.
    basis = np.linalg.qr(covariance.root @ axes.axes, mode="complete")[0]
    orthogonal_axes = covariance.unwhiten(basis[:, len(roots) :])
    inverse_total = (orthogonal_axes**2).sum(axis=1) + axes.axes**2 @ (1 / (1 + roots))
    df1 = float(n_classes - 1)
    df2 = nu - len(terms) + 1
    f = between / inverse_total * df2 / df1
    table = pd.DataFrame(index=terms)
    table["partial_wilks"] = inverse_total / precision
    table["partial_R2"] = between / precision
    table["F"] = f
    table["df1"] = df1
    table["df2"] = df2
    table["p"] = f_sf(f, df1, df2)
    table["tolerance"] = 1 / (precision * covariance.sd**2)
    if n_classes == 2:
        # The sign of the second class's log odds against the first.
        direction = axes.axes @ (axes.scores[1] - axes.scores[0])
        table["t"] = np.sign(direction) * np.sqrt(f)
    return table


MAX_QUANTILES = 4000
"""Maximum number of ranks of a class that have quantiles and limits."""

MAX_SIMULATED_NUMBERS = 4_000_000
"""Maximum number of random numbers that are drawn for the limits of new rows of a class."""


def distance_quantiles(
    squared: Floats,
    n_columns: int,
    df: float | None,
    *,
    n_fitted: float | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Sort the squared distances of a class and add their quantiles and pointwise limits under normality.

    Parameters
    ----------
    squared : (n,) float
        Squared distances to the mean of the class, none missing.
    n_columns : int
        Number of columns, p.
    df : float, optional
        Degrees of freedom v of the covariance, whose divisor is v. None stands for the chi-square
        distribution of distances under a known mean and covariance.
    n_fitted : float, optional
        For rows that are not in the fit: number m of rows of the class in the fit; ignored if `df` is None.
        By default the rows are all n rows of the class in the fit.
    level : float
        Probability that one ordered distance lies within its limits. The limits are pointwise: all distances
        together lie within them with a smaller probability.

    Returns
    -------
    DataFrame
        In ascending order of the squared distances: position (of the row in `squared`), quantile (of the
        distribution of a squared distance, at (rank - 1/2)/n), squared, low and high (limits of the squared
        distance of this rank). It is empty if no degrees of freedom are left. Of more than 4,000 rows it has
        the 2,000 largest and 2,000 of the others at even steps of their rank.

    Examples
    --------
    >>> distance_quantiles(np.array([3.0, 1.0]), 1, None)[["position", "squared"]].to_numpy().tolist()
    [[1.0, 1.0], [0.0, 3.0]]
    """
    n = len(squared)
    distribution = _distance_distribution(n, n_columns, df, n_fitted)
    columns = ["position", "quantile", "squared", "low", "high"]
    if distribution is None or not n:
        return pd.DataFrame(columns=columns, dtype=float)
    order = np.argsort(squared, kind="stable")
    rank = np.arange(1, n + 1)
    if n > MAX_QUANTILES:
        n_largest = MAX_QUANTILES // 2
        spaced_index = np.linspace(0, n - n_largest - 1, n_largest).round().astype(np.intp)
        rank_index = np.concatenate([spaced_index, np.arange(n - n_largest, n)])
        order = order[rank_index]
        rank = rank[rank_index]
    probabilities = (rank - 0.5) / n
    quantile = distribution.ppf(probabilities)
    if df is not None and n_fitted is not None:
        low, high = quantile * _new_row_limits(distribution, n, n_columns, df, n_fitted, level, probabilities)
    else:
        ratio = 1.0 if df is None else _variance_inflation(distribution, n, n_columns, df, probabilities)
        a = (rank - 0.5) / ratio + 0.5
        b = (n - rank + 0.5) / ratio + 0.5
        low, high = (
            distribution.ppf(scipy.stats.beta.ppf(probability, a, b))
            for probability in ((1 - level) / 2, (1 + level) / 2)
        )
    return pd.DataFrame(dict(zip(columns, [order, quantile, squared[order], low, high], strict=True)))


def _distance_distribution(n: int, p: int, df: float | None, n_fitted: float | None) -> Any:
    """Return the distribution of the squared distance of one row from its class mean.

    Parameters
    ----------
    n, p : int
        Number of rows of the class whose distances are compared, and number of columns.
    df : float or None
        Degrees of freedom of the covariance; None for a known mean and covariance (chi-square).
    n_fitted : float or None
        Number of rows of the class in the fit, if the compared rows are not in the fit; otherwise None.

    Returns
    -------
    frozen distribution of scipy, or None
        A scaled beta distribution for rows of the fit, a scaled F for other rows (see the module docstring).
        None if no degrees of freedom are left.
    """
    if df is None:
        return scipy.stats.chi2(p)
    if n_fitted is not None:
        df2 = df - p + 1
        if df2 <= 0 or n_fitted <= 0:
            return None
        return scipy.stats.f(p, df2, scale=(n_fitted + 1) / n_fitted * p * df / df2)
    if n < 2 or df <= p:
        return None
    return scipy.stats.beta(p / 2, (df - p) / 2, scale=df * (n - 1) / n)


def _variance_inflation(distribution: Any, n: int, p: int, v: float, probabilities: Floats) -> Floats:
    """Return the variance inflation of the number of squared distances below each quantile.

    The distances of rows of a class depend on each other through the estimated mean and covariance. The
    inflation is the variance of the number of squared distances up to a quantile, divided by the binomial
    variance that independent distances would have.

    Parameters
    ----------
    distribution : frozen beta distribution of scipy
        Distribution of the squared distance of one row from its class mean.
    n, p : int
        Numbers of rows of the class and of columns.
    v : float
        Degrees of freedom of the covariance.
    probabilities : (r,) float
        Probabilities of the quantiles.

    Returns
    -------
    (r,) float
        The ratios, r in the module docstring.
    """
    alpha = p * (p * (v + 1) - 2) / (v * (v - 1) * (v + 2))
    beta = (p - alpha * v) / (v * (v + 1))
    # Residuals of a row, and of two rows, have the cross products 1 - 1/n and -1/n.
    variance = (1 - 1 / n) ** 2 * (alpha + 2 * beta - (p / v) ** 2)
    covariance = (1 - 1 / n) ** 2 * (alpha - (p / v) ** 2) + 2 * beta / n**2
    scale = v * (n - 1) / n
    quantiles = distribution.ppf(probabilities) / scale
    density = distribution.pdf(quantiles * scale) * scale
    sd = distribution.std() / scale
    partial_mean = -quantiles * (1 - quantiles) * density / (v / 2 * sd)
    return np.asarray(
        1 + (n - 1) * covariance / variance * partial_mean**2 / (probabilities * (1 - probabilities))
    )


def _new_row_limits(
    distribution: Any, n: int, p: int, v: float, n_fitted: float, level: float, probabilities: Floats
) -> Floats:
    """Simulate the pointwise limits of the ordered squared distances of new rows, which are not in the fit.

    Parameters
    ----------
    distribution : frozen F distribution of scipy
        Distribution of the squared distance of one row from its class mean.
    n, p : int
        Numbers of new rows of the class and of columns.
    v : float
        Degrees of freedom of the covariance.
    n_fitted : float
        Number of rows of the class in the fit.
    level : float
        Probability that one ordered squared distance lies within its limits.
    probabilities : (r,) float
        Ranks of the ordered squared distances as probabilities, (rank - 1/2)/n.

    Returns
    -------
    (2, r) float
        Lower and upper limits, each divided by the quantile of `distribution` at its probability.
    """
    rng = np.random.default_rng(0)
    replicates = min(max(30_000 // p, 200), 1000)
    rows = min(n, max(MAX_SIMULATED_NUMBERS // (replicates * p), 50))
    # Bartlett's triangular root of a Wishart matrix. Of the covariance only the eigenvalues matter.
    root = np.tril(rng.standard_normal((replicates, p, p)), -1)
    root[:, np.arange(p), np.arange(p)] = np.sqrt(rng.chisquare(v - np.arange(p), (replicates, p)))
    inverse_eigenvalues = v / np.linalg.svd(root, compute_uv=False) ** 2
    deviations = rng.standard_normal((replicates, rows, p))
    deviations -= rng.standard_normal((replicates, 1, p)) / np.sqrt(n_fitted)
    ordered = np.sort((deviations**2 @ inverse_eigenvalues[:, :, None])[:, :, 0], axis=1)
    limits = np.quantile(ordered, [(1 - level) / 2, (1 + level) / 2], axis=0)
    simulated_probabilities = (np.arange(rows) + 0.5) / rows
    relative_limits = limits / distribution.ppf(simulated_probabilities)
    return np.stack([np.interp(probabilities, simulated_probabilities, limit) for limit in relative_limits])
