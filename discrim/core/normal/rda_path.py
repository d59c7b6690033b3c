"""Regularized rules of many pairs of alpha and gamma, from one decomposition for all that share one.

Theory. *Friedman, klaR*: at an alpha the mixture is M_k = U L U', and (1 - gamma) M_k + gamma tr(M_k)/p I =
U [(1 - gamma) L + gamma tr(L)/p] U' for every gamma: one eigen-decomposition a class and alpha.

*ESL*: gamma moves the pooled part against the class's own, so that for an alpha between 0 and 1 no
eigenvectors serve two gammas. Alpha does not: with beta = 1 - alpha and T = gamma S + (1 - gamma) s2 I,

    Sigma_k = alpha S_k + beta T,   S = V E V',   T = V D V',   D = gamma E + (1 - gamma) s2,
    D^-1/2 V' S_k V D^-1/2 = Z L Z',   e = Z' D^-1/2 V'd,   D2 = sum_j e_j^2 / (alpha l_j + beta)

for a row's deviation d, so that one decomposition a class and gamma serves every alpha, and the one of S
every T. At alpha = 1 there is one rule, that of S_k.

*Few rows in a class.* With S_k = F'F, F (r, p) of as few rows as the class has degrees of freedom, and
A = F V D^-1/2, A A' = Z L Z', e = Z'A D^-1/2 V'd (Woodbury's identity),

    D2 = (|D^-1/2 V'd|^2 - sum_j alpha e_j^2 / (alpha l_j + beta)) / beta,
    ln|Sigma_k| = ln|T| + (p - r) ln beta + sum_j ln(alpha l_j + beta):

decompositions are of r x r matrices. The difference costs the digits of (alpha l + beta)/beta, which has a
limit here; beyond it the class takes the longer way.

*Digits.* The eigenvalues of a scatter lose digits where it is ill-conditioned, which a ridge prevents.
Without a ridge nothing compares the columns, and standard deviations may be their units. A pair that is
ill-conditioned there too is fitted from roots, as `fit_rda` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from discrim.core.covariance.covariance import EPS
from discrim.core.moments.coordinates import from_class_means
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.units import comparable
from discrim.core.normal.rda import fit_rda
from discrim.core.normal.regularized_scatters import Pair, Parametrization, Scatters, mixture

__all__ = ["PathRule", "path_rules", "wrong_by_class"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

REGULAR = 1e-7
"""Least over greatest eigenvalue from which a scatter is decomposed as it is."""

PIECE = 2**18
"""Numbers in a piece of rows that is scored at once."""

MOST = 2**24
"""Numbers in the axes of a rule."""

WORTH_COLUMNS = 32
"""Columns from which on decompositions of few rows are worth their trouble."""

WORTH_RANK = 0.7
"""Share of the columns that the degrees of freedom of such a class are at most."""

LOSS = 1e4
"""Most that a distance may be smaller than what it is the difference of."""


@dataclass(frozen=True, slots=True)
class ClassPath:
    """Squared distances from one class under B x A mixtures: A on each of B sets of axes.

    In the notation of this module, with y the coordinates of a row: e_b = turned_b' factor (scale_b y), and
    the distance is weights_ba'e_b^2, to which plain_ba'y^2 is added.

    Attributes
    ----------
    scale : (B, p) float
    factor : (r, p) float, optional
        The identity without it.
    turned : (B, r, r) float
    weights : (B, A, r) float
    plain : (B, A, p) float, optional
    logdet : (B, A) float
        Of the mixtures, in the unit of their scatters.
    """

    scale: Floats
    factor: Floats | None
    turned: Floats
    weights: Floats
    plain: Floats | None
    logdet: Floats

    def distances(self, y: Floats) -> Floats:
        """Squared distances (B A, m) of rows of coordinates y (p, m)."""
        scaled = y * self.scale[:, :, None]
        if self.factor is not None:
            scaled = self.factor @ scaled
        e = np.swapaxes(self.turned, 1, 2) @ scaled
        e *= e
        found = self.weights @ e
        if self.plain is not None:
            found += self.plain @ (y * y)
        return found.reshape(-1, y.shape[1])


@dataclass(frozen=True, slots=True)
class PathRule:
    """The rules of G pairs.

    Attributes
    ----------
    pairs : (G,) int
        Positions of the pairs.
    cells : (G,) int
        Which of the mixtures theirs are.
    moments : ClassMoments
        Whose means and scale are those of the rules.
    basis : (p, p) float, optional
        What deviations z - m_k are multiplied by for the coordinates y; the identity without it.
    classes : tuple of K ClassPath
    constants : (K, G) float
        ln prior_k - ln|Sigma_k|/2.
    """

    pairs: Codes
    cells: Codes
    moments: ClassMoments
    basis: Floats | None
    classes: tuple[ClassPath, ...]
    constants: Floats

    @property
    def width(self) -> int:
        """Numbers that a row becomes."""
        return len(self.classes[0].turned) * self.moments.n_columns

    def scores(self, x: Floats) -> Iterator[Floats]:
        """Scores (G, m) of rows x (m, p), class by class."""
        for k, path in enumerate(self.classes):
            z = from_class_means(self.moments, x, k)
            scores = path.distances(z if self.basis is None else self.basis @ z)
            if not np.array_equal(self.cells, np.arange(len(scores))):
                scores = scores[self.cells]
            scores *= -0.5
            scores += self.constants[k][:, None]
            yield scores


def wrong_by_class(rule: PathRule, x: Floats, codes: Codes, weights: Floats | None = None) -> Floats:
    """Rows, or sums of weights, (G, K) of each class that the rules of a path give to another one."""
    n_classes = rule.moments.n_classes
    counts = np.zeros((len(rule.pairs), n_classes))
    piece = int(np.clip(PIECE // rule.width, 256, 8192))
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
    with_roots: Callable[[], ClassMoments] | None = None,
) -> Iterator[PathRule]:
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
    with_roots : callable, optional
        Gives the same moments with roots, where a pair asks for them; those passed may then have none.
    """
    held = Scatters.of(comparable(moments), method, columns)
    found = _by_gamma if parametrization == "esl" else _by_alpha
    ridged = np.array([_has_ridge(pair, parametrization) for pair in pairs])
    left = ridged | _full_rank(held, pairs, parametrization)
    for rule in found(held, pairs, np.flatnonzero(left), parametrization, log_prior):
        left[rule.pairs] = False
        yield rule
    if held.beyond:
        return
    plain = np.flatnonzero(left & ~ridged)
    if plain.size:
        for rule in found(Scatters.unitless(moments, method), pairs, plain, parametrization, log_prior):
            left[rule.pairs] = False
            yield rule
    if left.any():
        rooted = moments if with_roots is None else with_roots()
        yield from _one_by_one(rooted, pairs, np.flatnonzero(left), parametrization, method, log_prior)


def _has_ridge(pair: Pair, parametrization: Parametrization) -> bool:
    return pair.alpha < 1 and pair.gamma < 1 if parametrization == "esl" else pair.gamma > 0


def _full_rank(held: Scatters, pairs: Sequence[Pair], parametrization: Parametrization) -> NDArray[np.bool_]:
    """Which pairs (G,) have covariances of as many degrees of freedom as columns, without a ridge."""
    rows, p = held.moments.rows, held.columns
    pooled, own = bool(rows.sum() - len(rows) >= p), bool((rows > p).all())
    return np.array([own if pair.alpha == 1 else pooled for pair in pairs])


def _one_by_one(
    moments: ClassMoments,
    pairs: Sequence[Pair],
    at: Codes,
    parametrization: Parametrization,
    method: str,
    log_prior: Floats,
) -> Iterator[PathRule]:
    """Rules of pairs (g,) by a fit of each; with ESL's alpha one, those of all gammas are one rule."""
    alike: dict[tuple[float, float], list[int]] = {}
    for i in at.tolist():
        alpha, gamma = pairs[i]
        alike.setdefault(
            (alpha, 1.0) if parametrization == "esl" and alpha == 1 else (alpha, gamma), []
        ).append(i)
    for (alpha, gamma), positions in alike.items():
        fit = fit_rda(
            moments,
            np.exp(log_prior),
            alpha=alpha,
            gamma=gamma,
            parametrization=parametrization,
            method=method,
        )
        if fit.singular():
            continue
        ones = np.ones((1, 1, moments.n_columns))
        paths = [
            ClassPath(ones[0], None, held.inverse[None], ones, None, np.array([[held.logdet]]))
            for held in fit.covariances
        ]
        yield _rule(fit.moments, ones[0, 0], None, paths, np.array(positions), None, log_prior)


def _rule(
    moments: ClassMoments,
    unit: Floats,
    basis: Floats | None,
    paths: Sequence[ClassPath],
    positions: Codes,
    cells: Codes | None,
    log_prior: Floats,
) -> PathRule:
    """The rule of pairs, all of one mixture without cells, from log-determinants in a unit (p,) of z."""
    cells = np.zeros(len(positions), dtype=np.intp) if cells is None else cells
    logdets = np.stack([path.logdet.ravel()[cells] for path in paths]) - 2.0 * np.log(unit).sum()
    return PathRule(positions, cells, moments, basis, tuple(paths), log_prior[:, None] - 0.5 * logdets)


def _by_gamma(
    held: Scatters, pairs: Sequence[Pair], at: Codes, parametrization: Parametrization, log_prior: Floats
) -> Iterator[PathRule]:
    """ESL's rules of the pairs at positions (g,), but for those that are ill-conditioned."""
    alphas, gammas = np.array(pairs).T
    own = at[alphas[at] == 1]
    if own.size:
        yield from _own_rule(held, own, log_prior)
        at = at[alphas[at] < 1]
    if not at.size:
        return
    pooled = held.whole / held.divisors.sum()
    sphere = float(np.trace(pooled)) / held.columns
    lengths, vectors = np.linalg.eigh(pooled)
    lengths = np.maximum(lengths, 0.0)
    sizes = np.where(_is_thin(held), held.moments.rows - 1, len(pooled)).astype(np.float64)
    tried = np.unique(gammas[at])
    target = tried[:, None] * lengths + ((1 - tried) * sphere)[:, None]
    able = _regular(target) & ((1 - tried) * sphere > 0 if held.beyond else True)
    tried, target = tried[able], target[able]
    along = np.unique(alphas[at])
    step = max(int(MOST // (sizes**2).sum()), 1)
    for start in range(0, len(tried), step):
        now = slice(start, start + step)
        paths, regular = [], np.ones((len(tried[now]), len(along)), dtype=bool)
        outside = held.beyond * np.log(np.outer((1 - tried[now]) * sphere, 1 - along)) if held.beyond else 0.0
        for k in range(held.moments.n_classes):
            path = _thin_path(held, k, along, target[now], vectors) if _is_thin(held)[k] else None
            path = path or _wide_path(held, k, along, target[now], vectors, regular)
            path.logdet[...] += outside
            paths.append(path)
        positions, cells = _cells(at, gammas, alphas, tried[now], along, regular)
        if positions.size:
            yield _rule(held.moments, held.unit, vectors.T * held.unit, paths, positions, cells, log_prior)


def _wide_path(
    held: Scatters, k: int, alphas: Floats, target: Floats, vectors: Floats, regular: NDArray[np.bool_]
) -> ClassPath:
    """Distances from class k for gammas of D (B, p) and alphas (A,), which `regular` (B, A) is told of."""
    turned = vectors.T @ (held.own[k] / held.divisors[k]) @ vectors
    scale = 1.0 / np.sqrt(target)
    lengths, axes = np.linalg.eigh(turned * scale[:, :, None] * scale[:, None, :])
    share = alphas[:, None]
    mixed = share * np.maximum(lengths, 0.0)[:, None] + (1 - share)
    mixed = _where_regular(mixed, regular)
    logdet = np.log(target).sum(axis=1)[:, None] + np.log(mixed).sum(axis=2)
    return ClassPath(scale, None, axes, 1.0 / mixed, None, logdet)


def _is_thin(held: Scatters) -> NDArray[np.bool_]:
    """Which classes (K,) have so few rows that decompositions of these are the shorter ones."""
    p = held.moments.n_columns
    return (held.moments.rows - 1 <= WORTH_RANK * p) & (p >= WORTH_COLUMNS)


def _thin_path(held: Scatters, k: int, alphas: Floats, target: Floats, vectors: Floats) -> ClassPath | None:
    """As `_wide_path`, from the rows of the class; None where too many digits would be lost."""
    factor = _factor(held.own[k], int(held.moments.rows[k]) - 1) @ vectors
    factor /= np.sqrt(held.divisors[k])
    r, p = factor.shape
    gram = np.empty((len(target), r, r))
    for out, ends in zip(gram, target, strict=True):
        scaled = factor / np.sqrt(ends)
        np.matmul(scaled, scaled.T, out=out)
    lengths, axes = np.linalg.eigh(gram)
    beta = (1 - alphas)[:, None]
    mixed = alphas[:, None] * np.maximum(lengths, 0.0)[:, None] + beta
    if (mixed > LOSS * beta).any() or not np.isfinite(mixed).all():
        return None
    logdet = np.log(target).sum(axis=1)[:, None] + np.log(mixed).sum(axis=2) + (p - r) * np.log(beta[:, 0])
    plain = 1.0 / (target[:, None] * beta)
    return ClassPath(1.0 / target, factor, axes, -alphas[:, None] / (mixed * beta), plain, logdet)


def _factor(scatter: Floats, most: int) -> Floats:
    """F (r, p) of a scatter F'F of rank `most` at most, from a Cholesky decomposition with pivots."""
    diagonal = np.diagonal(scatter)
    root, pivots, rank, _ = lapack.dpstrf(scatter, tol=EPS * float(diagonal.max()))
    rank = max(min(int(rank), most), 0)
    found = np.empty((rank, len(scatter)))
    found[:, pivots - 1] = np.triu(root)[:rank]
    return found


def _own_rule(held: Scatters, at: Codes, log_prior: Floats) -> Iterator[PathRule]:
    """ESL's rule of alpha one, which is that of pairs (g,), unless it is ill-conditioned."""
    paths, regular = [], np.ones((1, 1), dtype=bool)
    for k, divisor in enumerate(held.divisors.tolist()):
        lengths, axes = np.linalg.eigh(held.own[k] / divisor)
        paths.append(_path_of(held, axes[None], lengths[None, None], regular))
    if regular.all() and not held.beyond:
        yield _rule(held.moments, held.unit, None, paths, at, None, log_prior)


def _by_alpha(
    held: Scatters, pairs: Sequence[Pair], at: Codes, parametrization: Parametrization, log_prior: Floats
) -> Iterator[PathRule]:
    """As `_by_gamma`, for Friedman's and klaR's mixtures."""
    alphas, gammas = np.array(pairs).T
    pooled = held.whole / held.divisors.sum()
    every, along = np.unique(alphas[at]), np.unique(gammas[at])
    step = max(MOST // held.own.size, 1)
    for start in range(0, len(every), step):
        tried = every[start : start + step]
        shares = [mixture(parametrization, Pair(a, 0.0), held.divisors, held.squares, 0.0) for a in tried]
        paths, regular = [], np.ones((len(tried), len(along)), dtype=bool)
        for k, divisor in enumerate(held.divisors.tolist()):
            own, common = np.array([(o[k] / divisor, c[k]) for o, c, _ in shares]).T[:, :, None, None]
            matrices = own * held.own[k] + common * pooled
            ridge = np.outer(np.trace(matrices, axis1=1, axis2=2) / held.columns, along)
            lengths, axes = np.linalg.eigh(matrices)
            values = (1 - along)[:, None] * np.maximum(lengths, 0.0)[:, None] + ridge[:, :, None]
            path = _path_of(held, axes, values, regular)
            if held.beyond:
                regular &= ridge > 0
                path.logdet[...] += held.beyond * np.log(np.where(ridge > 0, ridge, 1.0))
            paths.append(path)
        positions, cells = _cells(at, alphas, gammas, tried, along, regular)
        if positions.size:
            yield _rule(held.moments, held.unit, None, paths, positions, cells, log_prior)


def _path_of(held: Scatters, axes: Floats, values: Floats, regular: NDArray[np.bool_]) -> ClassPath:
    """Distances by eigenvectors (B, p, p) and eigenvalues (B, A, p)."""
    values = _where_regular(values, regular)
    scale = np.repeat(held.unit[None], len(axes), axis=0)
    return ClassPath(scale, None, axes, 1.0 / values, None, np.log(values).sum(axis=2))


def _cells(
    at: Codes, across: Floats, along: Floats, tried: Floats, every: Floats, regular: NDArray[np.bool_]
) -> tuple[Codes, Codes]:
    """Positions of those of the pairs (g,) that a rule of B x A values holds, and where it holds them."""
    own = at[np.isin(across[at], tried)]
    cells = np.searchsorted(tried, across[own]) * len(every) + np.searchsorted(every, along[own])
    order = np.argsort(cells)
    own, cells = own[order], cells[order]
    able = regular.ravel()[cells]
    return own[able], cells[able]


def _where_regular(values: Floats, regular: NDArray[np.bool_]) -> Floats:
    """Eigenvalues (B, A, p), or ones where they are ill-conditioned, which `regular` (B, A) is told of."""
    able = _regular(values)
    regular &= able
    return np.where(able[:, :, None], values, 1.0)


def _regular(values: Floats) -> NDArray[np.bool_]:
    """Which eigenvalues (..., p) of a matrix tell that it is well-conditioned."""
    least, most = values.min(axis=-1), values.max(axis=-1)
    return np.asarray((least > REGULAR * most) & np.isfinite(most))
