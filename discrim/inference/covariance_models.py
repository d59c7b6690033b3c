"""The ladder of covariance models, between one variance for everything and a covariance for each class.

Theory (Flury, 1988, Common Principal Components and Related Multivariate Models; Manly & Rayner, 1987,
Biometrika 74, 841-847). With S_k the maximum-likelihood covariances, each model maximizes -sum n_k
(ln|Sigma_k| + tr Sigma_k^-1 S_k)/2 over

    spherical                    Sigma_k = s2 I,
    diagonal                     Sigma_k = diag(s_1, ..., s_p),
    common                       Sigma_k = Sigma, that is LDA,
    proportional                 Sigma_k = c_k Sigma,
    common principal components  Sigma_k = B diag(l_k) B', B orthogonal,
    free                         Sigma_k, that is QDA.

Each contains the one before, so that the likelihood ratios of neighbours add up to that of any two. At
every maximum the traces sum to N p and the log-determinants say it all. Spherical covariances and common
principal components are meant in the units of the data, and change with them; the others do not.
"""

from __future__ import annotations

from warnings import warn

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from discrim.core.covariance import pooled, separate
from discrim.core.gaussian import log_likelihood
from discrim.core.moments import ClassMoments
from discrim.errors import DiscrimWarning

__all__ = ["common_components", "covariance_models", "proportional"]

Floats = NDArray[np.float64]

STARTS = 4
"""Classes whose eigenvectors are tried as starts, the largest ones."""

SPAN = 1e14
"""Ratio of variances beyond which the axes of the smaller ones drown in the rounding of the larger."""

STEPS = 1000
"""Iterations after which a fit is given up, with a warning."""


def covariance_models(moments: ClassMoments, prior: Floats, *, estimated_prior: bool) -> pd.DataFrame:
    """Fit every model of the ladder.

    Parameters
    ----------
    moments : ClassMoments
        By class, each of full rank.
    prior : (K,) float
    estimated_prior : bool
        Whether the prior counts among the parameters.

    Returns
    -------
    DataFrame
        By model: df (of means, covariances and prior), llf (of class and row jointly), AIC, BIC; LR,
        LR_df, p against the next model; LR_free, LR_free_df, p_free against the free one. Common
        principal components are missing where the columns' variances differ by more than 1e14.
    """
    k, p, counts = moments.n_classes, moments.n_columns, moments.counts
    logdets = _log_determinants(moments)
    spread = {
        "spherical": 1,
        "diagonal": p,
        "common": p * (p + 1) // 2,
        "proportional": p * (p + 1) // 2 + k - 1,
        "common principal components": p * (p - 1) // 2 + k * p,
        "free": k * p * (p + 1) // 2,
    }
    table = pd.DataFrame(index=pd.Index(list(spread), name="model"))
    table["df"] = [k * p + own + (k - 1 if estimated_prior else 0) for own in spread.values()]
    table["llf"] = [log_likelihood(moments, logdets[name], prior) for name in spread]
    table["AIC"] = 2 * table["df"] - 2 * table["llf"]
    table["BIC"] = np.log(moments.total) * table["df"] - 2 * table["llf"]
    # From the determinants, not from likelihoods, whose large parts would cancel.
    depth = np.array([float(counts @ logdets[name]) for name in spread])
    df = table["df"].to_numpy(dtype=np.float64)
    for prefix, ratio, free in (
        ("", np.append(depth[:-1] - depth[1:], np.nan), np.append(np.diff(df), np.nan)),
        ("_free", np.append(depth[:-1] - depth[-1], np.nan), np.append(df[-1] - df[:-1], np.nan)),
    ):
        table[f"LR{prefix}"], table[f"LR{prefix}_df"] = ratio, free
        # Of one column or one class in all but name, two models are the same and there is nothing to test.
        table[f"p{prefix}"] = np.where(free > 0, stats.chi2.sf(ratio, np.where(free > 0, free, 1)), np.nan)
    return table


def _log_determinants(moments: ClassMoments) -> dict[str, Floats]:
    """Log-determinants (K,) of each model's covariances, in the coordinates of the moments."""
    n, p, counts = moments.total, moments.n_columns, moments.counts
    common, own = pooled(moments, n), separate(moments, counts)
    units = 2.0 * float(np.log(moments.scale).sum())
    # One factor for all columns keeps sums of squares within range and leaves the models what they are.
    unit = common.sd / moments.scale
    size = float(np.exp(np.log(unit).mean()))
    offset = units + 2 * p * np.log(size)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        roots = np.stack([c.root / (moments.scale * size) for c in own])
        covariances = np.swapaxes(roots, 1, 2) @ roots
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    mean_variances = counts @ variances / n
    whitened = np.stack([common.whiten(c.root.T).T for c in own])
    factors, shape = proportional(np.swapaxes(whitened, 1, 2) @ whitened, counts)
    in_range = bool(np.isfinite(covariances).all())
    alike = in_range and bool(variances.max() < SPAN * variances.min())
    lengths = common_components(covariances, counts)[1] if alike else np.full(variances.shape, np.nan)
    shared = np.linalg.slogdet(shape)[1] + common.logdet
    return {
        "spherical": np.full(len(counts), p * np.log(mean_variances.mean()) + offset if in_range else np.nan),
        "diagonal": np.full(len(counts), 2.0 * np.log(common.sd).sum()),
        "common": np.full(len(counts), common.logdet),
        "proportional": p * np.log(factors) + shared,
        "common principal components": np.log(lengths).sum(axis=1) + offset,
        "free": np.array([c.logdet for c in own]),
    }


def proportional(covariances: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Maximum-likelihood fit of Sigma_k = c_k Sigma.

    Parameters
    ----------
    covariances : (K, p, p) float
        Divisor n_k, nonsingular.
    counts : (K,) float

    Returns
    -------
    factors : (K,) float
        The first is one.
    shape : (p, p) float
        Sigma.
    """
    p = covariances.shape[1]
    # Scaled to unit determinants the classes start close to one shape.
    factors = np.exp(np.linalg.slogdet(covariances)[1] / p)
    for _ in range(STEPS):
        shape = np.einsum("k,kij->ij", counts / factors, covariances) / counts.sum()
        moved = np.trace(np.linalg.solve(shape, covariances), axis1=1, axis2=2) / p
        done = bool(np.abs(np.log(moved / factors)).max() < 1e-13)
        factors = moved
        if done:
            break
    else:
        warn(
            f"The proportional model did not converge in {STEPS} steps: its likelihood is a lower bound.",
            DiscrimWarning,
            stacklevel=2,
        )
    shape = np.einsum("k,kij->ij", counts / factors, covariances) / counts.sum()
    return factors / factors[0], shape * factors[0]


def common_components(covariances: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Maximum-likelihood fit of Sigma_k = B diag(l_k) B', common principal components.

    With D_k = B'S_k B, turning B by the skew X changes sum n_k ln|diag D_k| by g X + h X^2 to second order
    where D_k is near diagonal, pair by pair: g = 2 sum n_k D_ij (1/D_jj - 1/D_ii) and h = sum n_k (D_ii -
    D_jj)^2/(D_ii D_jj). Steps -g/(2h) of all pairs at once, halved until the sum falls, converge fast; the
    best of the starts from the pooled and from each class's own eigenvectors is kept.

    Parameters
    ----------
    covariances : (K, p, p) float
        Divisor n_k, nonsingular.
    counts : (K,) float

    Returns
    -------
    components : (p, p) float
        B, by falling mean variance.
    lengths : (K, p) float
        l_k.
    """
    whole = np.einsum("k,kij->ij", counts / counts.sum(), covariances)
    largest = np.argsort(-counts)[:STARTS]
    starts = [np.linalg.eigh(matrix)[1] for matrix in (whole, *covariances[largest])]
    fits = [_turned(covariances, counts, start) for start in starts]
    components, _, converged = min(fits, key=lambda fit: fit[1])
    if not converged:
        warn(
            f"Common principal components did not converge in {STEPS} steps: their llf is a lower bound.",
            DiscrimWarning,
            stacklevel=2,
        )
    lengths = _diagonals(covariances, components)
    order = np.argsort(-(counts @ lengths))
    return components[:, order], lengths[:, order]


def _turned(covariances: Floats, counts: Floats, start: Floats) -> tuple[Floats, float, bool]:
    """A local minimum of sum n_k ln|diag B'S_k B| from a start: B, the minimum, and whether it converged."""
    turn = start
    value = _spread(covariances, counts, turn)
    for _ in range(STEPS):
        held = turn.T @ covariances @ turn
        own = np.diagonal(held, axis1=1, axis2=2)
        inverse = 1 / own
        gradient = 2 * np.einsum("k,kij->ij", counts, held * (inverse[:, None, :] - inverse[:, :, None]))
        ratio = own[:, :, None] * inverse[:, None, :]
        curvature = np.einsum("k,kij->ij", counts, ratio + np.swapaxes(ratio, 1, 2) - 2)
        # What the off-diagonals themselves bend; without them equal variances would have no curvature.
        bend = np.einsum("k,kij->ij", counts, held**2 * (inverse[:, :, None] * inverse[:, None, :]))
        step = -gradient / (2 * np.maximum(curvature, 1e-8 * counts.sum()) + 2 * bend)
        step = np.clip(step, -0.5, 0.5)
        slope = float((gradient * step).sum() / 2)
        if -slope <= 1e-13 * counts.sum():
            return turn, value, True
        size = 1.0
        while size > 1e-10:
            moved = turn @ _rotation(size * step)
            found = _spread(covariances, counts, moved)
            if found <= value + 1e-4 * size * slope:
                break
            size /= 2
        else:
            return turn, value, True
        turn, value = moved, found
    return turn, value, False


def _rotation(skew: Floats) -> Floats:
    """Cayley's rotation of a skew matrix, equal to its exponential up to third order."""
    unit = np.eye(len(skew))
    return np.asarray(np.linalg.solve(unit - skew / 2, unit + skew / 2))


def _spread(covariances: Floats, counts: Floats, turn: Floats) -> float:
    return float(counts @ np.log(_diagonals(covariances, turn)).sum(axis=1))


def _diagonals(covariances: Floats, turn: Floats) -> Floats:
    """Diagonals (K, p) of B'S_k B."""
    return np.asarray(np.einsum("ij,kij->kj", turn, covariances @ turn))
