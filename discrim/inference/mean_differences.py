"""Which columns tell the classes apart, and which classes are how far apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.canonical import Canonical, weighted_centre
from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.weights import LIGHT
from discrim.core.numerics.tails import f_sf
from discrim.core.rules.leave_one_out import squared_gaps

__all__ = ["anova_table", "between_squares", "distance_table", "generalized_distances", "partial_table"]

Floats = NDArray[np.float64]


def between_squares(moments: ClassMoments) -> Floats:
    """Sum of squares (p,) of each column between classes, in the coordinates of the moments."""
    means = moments.means
    return np.asarray(moments.counts @ (means - weighted_centre(means, moments.counts)) ** 2)


def anova_table(moments: ClassMoments, terms: pd.Index) -> pd.DataFrame:
    """One-way analysis of variance of each column.

    Parameters
    ----------
    moments : ClassMoments
    terms : Index of length p

    Returns
    -------
    DataFrame
        By term: sd_total (divisor N - 1), sd_within (N - K), sd_between (N (K - 1)/K, as SAS), R2, F, df1,
        df2, p. A column that is constant within classes has an infinite F.
    """
    within, between = moments.squares.sum(axis=0), between_squares(moments)
    total, k = moments.total, moments.n_classes
    df1, df2 = float(k - 1), total - k
    # Weights that sum to no more than what is taken off leave a divisor missing.
    all_rows, free = (d if d > LIGHT * total else np.nan for d in (total - 1, df2))
    with np.errstate(divide="ignore", invalid="ignore"):
        f = between / df1 / (within / free)
        r2 = between / (between + within)
    table = pd.DataFrame(index=terms)
    table["sd_total"] = np.sqrt((between + within) / all_rows) / moments.scale
    table["sd_within"] = np.sqrt(within / free) / moments.scale
    table["sd_between"] = np.sqrt(between * k / (total * (k - 1))) / moments.scale
    table["R2"], table["F"], table["df1"], table["df2"] = r2, f, df1, df2
    table["p"] = f_sf(f, df1, df2)
    return table


def distance_table(
    moments: ClassMoments, covariance: Covariance, nu: float, classes: pd.Index
) -> pd.DataFrame:
    """Squared Mahalanobis distance of each pair of classes, with Hotelling's F that their means are equal.

    Parameters
    ----------
    moments : ClassMoments
    covariance : Covariance
        Pooled, unbiased.
    nu : float
        Its degrees of freedom, N - K.
    classes : Index of length K

    Returns
    -------
    DataFrame
        By (class, other): D2, F = (nu - p + 1) n_i n_j D2/(nu p (n_i + n_j)), df1 = p, df2 = nu - p + 1, p.
    """
    gaps = squared_gaps(covariance.whiten(moments.means.T).T)
    n, p = moments.counts, moments.n_columns
    pairs = list(combinations(range(len(classes)), 2))
    i, j = np.array(pairs).T
    df2 = nu - p + 1
    d2 = gaps[i, j]
    f = df2 * n[i] * n[j] / (nu * p * (n[i] + n[j])) * d2
    index = pd.MultiIndex.from_arrays([classes[i], classes[j]], names=["class", "other"])
    columns = {"D2": d2, "F": f, "df1": float(p), "df2": df2, "p": f_sf(f, p, df2)}
    return pd.DataFrame(columns, index=index)


def generalized_distances(
    moments: ClassMoments, covariances: tuple[Covariance, ...], log_prior: Floats, classes: pd.Index
) -> pd.DataFrame:
    """Generalized squared distance from the mean of one class to another class.

    Parameters
    ----------
    moments : ClassMoments
    covariances : tuple of Covariance
        One for all classes, or one for each.
    log_prior : (K,) float
    classes : Index of length K

    Returns
    -------
    DataFrame, from (rows) by to (columns)
        (m_i - m_j)' S_j^-1 (m_i - m_j) + ln|S_j| where classes have covariances of their own, - 2 ln prior_j
        where the priors differ: SAS's definition.
    """
    means, rows = moments.means, []
    units = 2.0 * np.log(moments.scale).sum()
    separate = len(covariances) > 1
    for j in range(len(means)):
        covariance = covariances[j if separate else 0]
        d2 = (covariance.whiten((means - means[j]).T) ** 2).sum(axis=0)
        rows.append(d2 + (covariance.logdet - units if separate else 0.0))
    extra = 0.0 if np.ptp(log_prior) == 0 else -2.0 * log_prior
    return pd.DataFrame(
        np.stack(rows, axis=1) + extra, index=classes.rename("from"), columns=classes.rename("to")
    )


def partial_table(
    axes: Canonical, covariance: Covariance, n_classes: int, nu: float, terms: pd.Index
) -> pd.DataFrame:
    """What each column adds to all others: Wilks' lambda with it over that without it.

    Theory. Partial lambda_j is (T^-1)_jj/(W^-1)_jj. On canonical axes a_r of unit variance within classes,
    nu (W^-1)_jj - nu (T^-1)_jj = sum_r a_jr^2 lambda_r/(1 + lambda_r), so that nothing is subtracted; the
    F has K - 1 and N - K - p + 1 degrees of freedom (Rao, 1973, Linear Statistical Inference, sec. 8c).
    For two classes its signed root is the t of the column in the regression of the class indicator,
    exactly.

    Parameters
    ----------
    axes : Canonical
        With the roots of W^-1 B as squared singular values.
    covariance : Covariance
        Pooled, unbiased.
    n_classes : int
    nu : float
        N - K.
    terms : Index of length p

    Returns
    -------
    DataFrame
        By term: partial_wilks, partial_R2, F, df1, df2, p, tolerance (1 - R2 of the column on the others
        within classes), and for two classes t.
    """
    precision = (covariance.inverse**2).sum(axis=1)
    roots = axes.singular**2
    between = axes.axes**2 @ (roots / (1 + roots))
    # What T^-1 keeps of the precision, a sum of positive terms as well: along the axes, and across them.
    basis = np.linalg.qr(covariance.root @ axes.axes, mode="complete")[0]
    across = covariance.unwhiten(basis[:, len(roots) :])
    left = (across**2).sum(axis=1) + axes.axes**2 @ (1 / (1 + roots))
    df1, df2 = float(n_classes - 1), nu - len(terms) + 1
    f = between / left * df2 / df1
    table = pd.DataFrame(index=terms)
    table["partial_wilks"], table["partial_R2"] = left / precision, between / precision
    table["F"], table["df1"], table["df2"] = f, df1, df2
    table["p"] = f_sf(f, df1, df2)
    table["tolerance"] = 1 / (precision * covariance.sd**2)
    if n_classes == 2:
        # The sign of the second class's log odds against the first.
        direction = axes.axes @ (axes.scores[1] - axes.scores[0])
        table["t"] = np.sign(direction) * np.sqrt(f)
    return table
