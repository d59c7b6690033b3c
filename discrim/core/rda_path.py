"""Regularized rules of many pairs of alpha and gamma, from one decomposition for all that share one.

Theory. *Friedman, klaR*: at an alpha the mixture is M_k = U L U', and (1 - gamma) M_k + gamma tr(M_k)/p I =
U [(1 - gamma) L + gamma tr(L)/p] U' for every gamma: one eigen-decomposition a class and alpha.

*ESL*: gamma moves the pooled part against the class's own, so that for an alpha between 0 and 1 no
eigenvectors serve two gammas. Alpha does not: with T = gamma S + (1 - gamma) s2 I,

    Sigma_k = alpha S_k + (1 - alpha) T,   S = V E V',   T = V D V',   D = gamma E + (1 - gamma) s2,
    D^-1/2 V' S_k V D^-1/2 = Z L Z',   B_k = V D^-1/2 Z,   B_k' Sigma_k B_k = alpha L + 1 - alpha,

so that one decomposition a class and gamma serves every alpha, and the one of S every T. At alpha = 1 there
is one rule, that of S_k.

Either way a row's distances under all pairs of a group are sums of squares of one projection, weighted by
reciprocal eigenvalues. The eigenvalues of a scatter lose digits where it is ill-conditioned, which the ridge
prevents; a pair without so much of it is fitted from roots, as `fit_rda` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.mixtures import Pair, Parametrization, Scatters, mixture
from discrim.core.moments import ClassMoments
from discrim.core.rda import fit_rda
from discrim.core.rda_thin_path import ThinPathRule, is_thin, thin_rule
from discrim.core.rules import standard_columns
from discrim.core.units import comparable

__all__ = ["PathRule", "path_rules", "wrong_by_class"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

REGULAR = 1e-7
"""Least over greatest eigenvalue from which a scatter is decomposed as it is."""

PIECE = 2**18
"""Numbers in a piece of rows that is scored at once."""


@dataclass(frozen=True, slots=True)
class PathRule:
    """The rules of G pairs that share their axes.

    Attributes
    ----------
    pairs : (G,) int
        Positions of the pairs.
    moments : ClassMoments
        Whose means and scale are those of the rules.
    axes : (K, p, p) float
        Rows that deviations z - m_k are projected on.
    weights : (K, G, p) float
        Of the squared projections.
    constants : (K, G) float
        ln prior_k - ln|Sigma_k|/2.
    """

    pairs: Codes
    moments: ClassMoments
    axes: Floats
    weights: Floats
    constants: Floats

    def scores(self, x: Floats) -> Iterator[Floats]:
        """Scores (G, m) of rows x (m, p), class by class."""
        held = self.moments
        for k, axes in enumerate(self.axes):
            z = standard_columns(x, held.centres[k], held.scale)
            z -= held.rests[k][:, None]
            squares = axes @ z
            squares *= squares
            scores = self.weights[k] @ squares
            scores *= -0.5
            scores += self.constants[k][:, None]
            yield scores


def wrong_by_class(
    rule: PathRule | ThinPathRule, x: Floats, codes: Codes, weights: Floats | None = None
) -> Floats:
    """Rows, or sums of weights, (G, K) of each class that the rules of a path give to another one."""
    n_classes = rule.moments.n_classes
    counts = np.zeros((len(rule.pairs), n_classes))
    piece = int(np.clip(PIECE // x.shape[1], 256, 8192))
    for start in range(0, len(x), piece):
        own = codes[start : start + piece]
        by_class = rule.scores(x[start : start + piece])
        best = next(by_class)
        labels = np.zeros(best.shape, dtype=np.intp)
        for k, scores in enumerate(by_class, 1):
            labels[scores > best] = k
            np.maximum(best, scores, out=best)
        member = np.equal(own[:, None], np.arange(n_classes)).astype(np.float64)
        if weights is not None:
            member *= weights[start : start + piece, None]
        counts += (labels != own) @ member
    return counts


def path_rules(
    moments: ClassMoments,
    pairs: Sequence[Pair],
    parametrization: Parametrization,
    method: str,
    log_prior: Floats,
    columns: int | None = None,
) -> Iterator[PathRule | ThinPathRule]:
    """Rules of all pairs, group by group; a pair whose covariances are singular is left out.

    Parameters
    ----------
    moments : ClassMoments
        By class.
    pairs : sequence of Pair
    parametrization : {"esl", "friedman", "klar"}
    method : {"moment", "mle"}
    log_prior : (K,) float
    columns : int, optional
        Columns of the data where the moments are those of coordinates of fewer.
    """
    held = Scatters.of(comparable(moments), method, columns)
    groups = (
        _esl(held, pairs, log_prior) if parametrization == "esl" else _mixed(held, pairs, parametrization)
    )
    for positions, made in groups:
        if isinstance(made, ThinPathRule):
            yield made
            continue
        if made is not None:
            axes, values, logdets = made
            yield PathRule(
                positions, held.moments, axes, 1.0 / values, log_prior[:, None] - 0.5 * np.asarray(logdets)
            )
            continue
        # With alpha one the pairs of all gammas are one rule.
        one = parametrization == "esl" and pairs[positions[0]].alpha == 1
        for i in [] if held.beyond else positions[: 1 if one else None].tolist():
            fit = fit_rda(
                moments,
                np.exp(log_prior),
                alpha=pairs[i].alpha,
                gamma=pairs[i].gamma,
                parametrization=parametrization,
                method=method,
            )
            if not fit.singular():
                axes = np.stack([covariance.inverse.T for covariance in fit.covariances])
                logdet = np.array([covariance.logdet for covariance in fit.covariances])
                at = positions if one else np.array([i])
                ones = np.ones((len(axes), len(at), axes.shape[1]))
                constants = np.repeat((log_prior - 0.5 * logdet)[:, None], len(at), axis=1)
                yield PathRule(at, fit.moments, axes, ones, constants)


_Group = tuple[Codes, tuple[Floats, Floats, Floats] | ThinPathRule | None]
"""Positions (G,) of pairs, and their axes (K, p, p), eigenvalues (K, G, p) and log-determinants (K, G), or
their rule, or None where they are to be fitted one by one."""


def _esl(held: Scatters, pairs: Sequence[Pair], log_prior: Floats) -> Iterator[_Group]:
    alphas, gammas = np.array(pairs).T
    p = held.moments.n_columns
    pooled = held.whole / held.divisors.sum()
    sphere = float(np.trace(pooled)) / held.columns
    lengths, vectors = np.linalg.eigh(pooled)
    lengths = np.maximum(lengths, 0.0)
    own = np.flatnonzero(alphas == 1)
    covariances: Floats | None = None
    # Fewer degrees of freedom than columns: the covariance of the class is singular.
    if own.size and (held.moments.rows > p).all():
        covariances = held.own / held.divisors[:, None, None]
        values, turned = np.linalg.eigh(covariances)
        repeated = np.repeat(values[:, None], len(own), axis=1)
        yield _unless_singular(held, own, turned, repeated, np.zeros(len(own)))
    groups = []
    for gamma in np.unique(gammas[alphas < 1]).tolist():
        at = np.flatnonzero((gammas == gamma) & (alphas < 1))
        ridge = (1 - gamma) * sphere
        target = gamma * lengths + ridge
        if _regular(target) and not (held.beyond and not ridge > 0):
            groups.append((at, target, ridge))
        else:
            yield at, None
    if groups and is_thin(held):
        rule = thin_rule(held, pairs, groups, vectors, log_prior)
        if rule is not None:
            yield rule.pairs, rule
            return
    if groups and covariances is None:
        covariances = held.own / held.divisors[:, None, None]
    for at, target, ridge in groups:
        base = vectors / np.sqrt(target)
        values, turned = np.linalg.eigh(base.T @ covariances @ base)
        share = alphas[at][:, None]
        mixed = share * np.maximum(values, 0.0)[:, None] + (1 - share)
        yield _unless_singular(
            held, at, base @ turned, mixed, (1 - alphas[at]) * ridge, float(np.log(target).sum())
        )


def _mixed(held: Scatters, pairs: Sequence[Pair], parametrization: Parametrization) -> Iterator[_Group]:
    alphas, gammas = np.array(pairs).T
    pooled = held.whole / held.divisors.sum()
    for alpha in np.unique(alphas).tolist():
        own, common, _ = mixture(parametrization, Pair(alpha, 0.0), held.divisors, held.squares, 0.0)
        matrices = (own / held.divisors)[:, None, None] * held.own + common[:, None, None] * pooled
        lengths, vectors = np.linalg.eigh(matrices)
        mean = (np.trace(matrices, axis1=1, axis2=2) / held.columns)[:, None]
        plain = gammas[alphas == alpha] == 0
        for at in (np.flatnonzero(alphas == alpha)[plain], np.flatnonzero(alphas == alpha)[~plain]):
            if at.size:
                ridge = gammas[at] * mean
                values = (1 - gammas[at])[:, None] * np.maximum(lengths, 0.0)[:, None] + ridge[:, :, None]
                yield _unless_singular(held, at, vectors, values, ridge)


def _unless_singular(
    held: Scatters, at: Codes, axes: Floats, values: Floats, ridge: Floats, logdet: float = 0.0
) -> _Group:
    """The group, or that its pairs are to be fitted one by one.

    The ridge, (G,) or (K, G), is the variance of the columns beyond those of the moments; the
    log-determinant is that of the axes.
    """
    if not _regular(values) or (held.beyond and not (ridge > 0).all()):
        return at, None
    logdets = np.log(values).sum(axis=2) + logdet
    if held.beyond:
        logdets = logdets + held.beyond * np.log(ridge)
    return at, (np.swapaxes(axes * held.unit[:, None], 1, 2), values, logdets)


def _regular(values: Floats) -> bool:
    least, most = values.min(axis=-1), values.max(axis=-1)
    return bool((least > REGULAR * most).all() and np.isfinite(most).all())
