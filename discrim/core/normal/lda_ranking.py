"""Correlation-adjusted t-scores of columns by class, and what the columns are ranked by.

Theory. With class means m_k, weights f_k that sum to one, the mean m = sum_k f_k m_k and a covariance S =
D^(1/2) R D^(1/2) of variances D and correlations R, the cat scores of class k are (Zuber & Strimmer, 2009,
Bioinformatics 25, 2700-2707; Ahdesmaeki & Strimmer, 2010, Annals of Applied Statistics 4, 503-519)

    cat_k = sqrt(n f_k / (1 - f_k)) R^(-1/2) D^(-1/2) (m_k - m).

Where R is the identity they are t-scores: f_k = n_k/n gives the standard error sqrt(1/n_k - 1/n) of m_k - m.
A column is ranked by sum_k (1 - f_k) cat_kj^2, what it adds to the entropy between class and row, or by the
mean or the largest of its squares. For two classes the cat scores are cat_1 = -cat_2, and with f_k = n_k/n
the sum of their squares over all columns is Hotelling's T^2, which they decompose.

*Tail.* For f_k = n_k/n, variances that are not shrunk and no correlation, the first of these scores over
K - 1 is the F of the analysis of variance of the column, of K - 1 and n - K degrees of freedom where the
means are equal and the rows normal. For all others that is an approximation, and a bad one where few rows
say the correlations of many columns: whitening takes out more of the spread within classes than of that of
the means.
Where most columns do not differ, their scores are as that F times a number, which the ratio of the medians
estimates (the genomic control of Devlin & Roeder, 1999, Biometrics 55, 997-1004).

*Square root.* With S = T'T the columns of T over their lengths are a root of R, and with its singular value
decomposition P L Q' the inverse square root is Q L^-1 Q': no correlation is formed, and its condition not
squared. Where few rows say R = U V U' + v (I - U U'), it is U V^(-1/2) U' + v^(-1/2) (I - U U').
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.canonical import weighted_centre
from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.principal import ThinCovariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.singular_values import svd
from discrim.errors import NotSupportedError

__all__ = [
    "By",
    "benjamini_hochberg",
    "cat_scores",
    "column_scores",
    "higher_criticism",
    "score_tails",
    "without_correlation",
]

Floats = NDArray[np.float64]

By = Literal["entropy", "average", "maximum"]

ONE_UNIT = 1e-8
"""Relative difference up to which standard deviations are the same number."""


def without_correlation(covariance: Covariance, columns: Floats) -> Floats:
    """R^(-1/2) times columns (p, m), for the correlation R of a covariance.

    Raises
    ------
    NotSupportedError
        Of more columns than rows, R is no sphere beyond the rows, or has no inverse.

    Examples
    --------
    >>> import numpy as np
    >>> r = np.array([[1.0, 0.6], [0.6, 1.0]])
    >>> root = Covariance.from_root(np.linalg.cholesky(r).T)
    >>> half = without_correlation(root, np.eye(2))
    >>> half.round(4).tolist(), np.allclose(half @ r @ half, np.eye(2))
    ([[1.1859, -0.3953], [-0.3953, 1.1859]], True)
    """
    if covariance.is_diagonal:
        return columns
    if not isinstance(covariance, ThinCovariance):
        _, lengths, turned = svd(covariance.root / covariance.sd, full_matrices=False)
        return np.asarray(turned.T @ ((turned @ columns) / lengths[:, None]))
    sd = covariance.sd * covariance.unit
    if not covariance.sphere or np.ptp(sd) > ONE_UNIT * sd.max():
        raise NotSupportedError(
            "CAT scores of more columns than rows need a covariance whose correlations are shrunk: "
            'fit with covariance="correlation", or "diagonal" for t-scores.'
        )
    common = float(np.median(sd))
    lengths = np.sqrt(((covariance.root * covariance.unit) ** 2).sum(axis=1)) / common
    along = covariance.axes @ columns
    beyond = columns - covariance.axes.T @ along
    return np.asarray(covariance.axes.T @ (along / lengths[:, None]) + beyond * (common / covariance.sphere))


def cat_scores(moments: ClassMoments, covariance: Covariance, shares: Floats) -> Floats:
    """Cat scores (p, K) of columns by class.

    Parameters
    ----------
    moments : ClassMoments
    covariance : Covariance
        Within classes, in the coordinates of the moments.
    shares : (K,) float
        Weights of the classes, each below one, that sum to one.
    """
    gaps = (moments.means - weighted_centre(moments.means, shares)).T / covariance.sd[:, None]
    unit = np.sqrt(moments.total * shares / (1.0 - shares))
    return without_correlation(covariance, gaps) * unit


def column_scores(scores: Floats, shares: Floats, by: By) -> Floats:
    """What columns (p,) are ranked by, from scores (p, K) and weights (K,) of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> cat, shares = np.array([[3.0, -1.0, -2.0]]), np.array([0.5, 0.25, 0.25])
    >>> [column_scores(cat, shares, by).item() for by in ("entropy", "average", "maximum")]
    [8.25, 4.666666666666667, 9.0]
    """
    squares = scores**2
    if by == "entropy":
        return np.asarray(squares @ (1.0 - shares))
    return np.asarray(squares.mean(axis=1) if by == "average" else squares.max(axis=1))


def score_tails(entropy: Floats, n_classes: int, residual_df: float, *, empirical: bool) -> Floats:
    """Probabilities (p,) of larger scores by entropy, of columns whose means are equal.

    Parameters
    ----------
    entropy : (p,) float
    n_classes : int
    residual_df : float
    empirical : bool
        Scores are over what brings their median to that of the F distribution.
    """
    df, over = (n_classes - 1, residual_df), float(n_classes - 1)
    if empirical:
        over = float(np.median(entropy) / scipy.special.fdtri(*df, 0.5))
    return np.asarray(scipy.special.fdtrc(*df, entropy / over) if over > 0 else np.full(len(entropy), np.nan))


def benjamini_hochberg(p: Floats) -> Floats:
    """The least false discovery rates (m,) at which hypotheses of p-values (m,) are rejected.

    Benjamini & Hochberg (1995, Journal of the Royal Statistical Society B 57, 289-300).

    Examples
    --------
    >>> import numpy as np
    >>> benjamini_hochberg(np.array([0.01, 0.5, 0.02, 0.9])).round(4).tolist()
    [0.04, 0.6667, 0.04, 0.9]
    """
    order = np.argsort(-p, kind="stable")
    ranks = np.arange(len(p), 0, -1)
    found = np.empty(len(p))
    found[order] = np.minimum.accumulate(p[order] * len(p) / ranks)
    return found


def higher_criticism(p: Floats) -> Floats:
    """Higher criticism (m,) of p-values (m,): how far their distribution is from a uniform one.

    With F the share of p-values that are no larger, |F - p| over its standard error sqrt(F (1 - F) / m), as
    Donoho & Jin (2008, Proceedings of the National Academy of Sciences 105, 14790-14795) choose columns by
    and R's fdrtool has it; for the largest p-value, where F is one, the error is the least of the others.

    Examples
    --------
    >>> import numpy as np
    >>> higher_criticism(np.array([0.01, 0.5, 0.02, 0.9])).round(4).tolist()
    [1.1085, 1.1547, 1.92, 0.4619]
    """
    m = len(p)
    share = np.searchsorted(np.sort(p), p, side="right") / m
    variance = share * (1.0 - share) / m
    some = variance > 0
    if not some.any():
        return np.full(m, np.nan)
    variance[~some] = variance[some].min()
    return np.asarray(np.abs(share - p) / np.sqrt(variance))
