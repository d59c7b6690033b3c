"""The numbers of a regularized discriminant analysis, the function that fits them, and rules of many pairs.

*Mixtures.* The covariance of a class lies between its own S_k, the pooled S and a multiple of the identity:

    Sigma_k = o_k S_k + c_k S + r_k I.

Hastie, Tibshirani & Friedman (2009, The Elements of Statistical Learning, eq. 4.13 and 4.14): o = alpha, c
= (1 - alpha) gamma, r = (1 - alpha)(1 - gamma) s2 with s2 = tr(S)/p, so that the ridge acts on the pooled
part only. Friedman (1989, JASA 84, 165-175), with lambda = 1 - alpha and W_k, W the divisors of S_k and S:
sums of squares are mixed, o_k = (1 - lambda) W_k/D_k, c_k = lambda W/D_k, D_k = (1 - lambda) W_k + lambda W,
and then gamma of the average variance of the mixture is put in place of gamma of the mixture. klaR mixes
covariances, o = 1 - lambda, c = lambda, and goes on as Friedman.

*More columns than rows.* The mixture of thin roots is known on the span of their rows, and beyond it is the
ridge alone; no p x p matrix is formed.

*Digits.* Where roots of the scatters are held, the root of a mixture is the triangle of the stacked roots
and nothing is squared. Where they are not, the scatters are well-conditioned or the ridge is no small part
of the mixture, see `needs_roots`, and Cholesky's factor of the mixture has all digits.

*Many pairs of alpha and gamma.* All that share a decomposition are scored by one. Friedman's and klaR's
mixture at an alpha is M_k = U L U', and (1 - gamma) M_k + gamma tr(M_k)/p I is U [(1 - gamma) L + gamma
tr(L)/p] U' for every gamma: one eigen-decomposition a class and alpha. ESL's gamma moves the pooled part
against the class's own, so that for an alpha between 0 and 1 no eigenvectors serve two gammas. Alpha does
not: with beta = 1 - alpha and T = gamma S + (1 - gamma) s2 I,

    Sigma_k = alpha S_k + beta T,   S = V E V',   T = V D V',   D = gamma E + (1 - gamma) s2,
    D^-1/2 V' S_k V D^-1/2 = Z L Z',   e = Z' D^-1/2 V'd,   D2 = sum_j e_j^2 / (alpha l_j + beta)

for a row's deviation d, so that one decomposition a class and gamma serves every alpha, and the one of S
every T. At alpha = 1 there is one rule, that of S_k. Where a class has few rows, S_k = F'F with F (r, p) of
as few rows as the class has degrees of freedom, and with A = F V D^-1/2, A A' = Z L Z', e = Z'A D^-1/2 V'd
(Woodbury's identity),

    D2 = (|D^-1/2 V'd|^2 - sum_j alpha e_j^2 / (alpha l_j + beta)) / beta,
    ln|Sigma_k| = ln|T| + (p - r) ln beta + sum_j ln(alpha l_j + beta):

decompositions are of r x r matrices. The difference costs the digits of (alpha l + beta)/beta, which has a
limit here; beyond it the class takes the longer way. The eigenvalues of a scatter lose digits where it is
ill-conditioned, which a ridge prevents. Without a ridge nothing compares the columns, and standard deviations
may be their units. A pair that is ill-conditioned there too is fitted from roots, as `fit_rda` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from discrim.core.moments.derived_moments import comparable, in_deviations, standardized_left_out
from discrim.core.moments.moments import ClassMoments, from_class_means
from discrim.core.moments.row_sums import packed_triangle
from discrim.core.normal import leave_one_out_rda
from discrim.core.normal.leave_one_out_rda import Parametrization, Regularization, Scatters
from discrim.core.numerics.arrays import Codes, Floats, svd
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.core.scatter.covariance import EPS, Covariance, divisors_by_class, is_singular, scaled_cholesky
from discrim.core.scatter.principal import ThinCovariance, of_columns
from discrim.errors import NotSupportedError

SINGULAR_MIXTURE = 1e-13
"""Size of a column's residual on the others, relative to the column, at which a covariance has no inverse."""

SAFE_RIDGE = 1e-2
"""Share of the ridge from which scatters serve as well as their roots."""


@dataclass(frozen=True, slots=True)
class RDAFit:
    """The numbers of a regularized discriminant analysis.

    Attributes
    ----------
    moments : ClassMoments
        By class.
    method : {"moment", "mle"}
        Divisors n_k - 1 and N - K, or n_k and N.
    covariances : tuple of K Covariance
        In the coordinates of the moments; a singular one of thin roots is a zero (1, 1).
    cv : int, "loo" or None
        The folds by which alpha and gamma were chosen, and `select` the rule; None where they were given.
    standardize : bool
        Whether the ridge is one of columns over their standard deviations within classes.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    alpha: float
    gamma: float
    parametrization: Parametrization
    method: str
    covariances: tuple[Covariance, ...]
    cv: int | str | None = None
    select: str = "min"
    standardize: bool = False

    has_distances = False

    @property
    def ridged(self) -> bool:
        """Whether the identity has a part in the mixture."""
        if self.parametrization == "esl":
            return self.alpha < 1 and self.gamma < 1
        return self.gamma > 0

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """The decision rule under a prior (K,); a NotSupportedError of another method than "plugin"."""
        if method != "plugin":
            raise NotSupportedError(
                f'method="{method}" is not defined for regularized covariances: use "plugin".'
            )
        if self.alpha == 0:
            # One covariance, whose quadratic form would cancel in differences of scores.
            return gaussian.linear_rule(self.moments, self.covariances[0], log_prior)
        return gaussian.separate_plugin(self.moments, self.covariances, log_prior)

    def refit(self, moments: ClassMoments) -> RDAFit | None:
        """The same model of other rows, the prior held; None where a covariance is singular."""
        if too_few(moments):
            return None
        found = fit_rda(
            moments,
            self.prior,
            alpha=self.alpha,
            gamma=self.gamma,
            parametrization=self.parametrization,
            method=self.method,
            estimated_prior=self.estimated_prior,
            standardize=self.standardize,
        )
        return None if found.singular() else found

    def singular(self) -> list[int]:
        """Classes whose covariance has no inverse."""
        return [
            k
            for k, covariance in enumerate(self.covariances)
            if not isinstance(covariance, ThinCovariance)
            and is_singular(covariance.root, self.moments, SINGULAR_MIXTURE)
        ]

    def left_out(self, log_prior: Floats) -> LeftOut:
        """Scores of rows under the rule fitted without each of them."""
        if self.standardize:
            apart = replace(self, standardize=False)
            return standardized_left_out(
                self.moments, lambda moments: replace(apart, moments=moments).left_out(log_prior)
            )
        return leave_one_out_rda.rda_left_out(
            self.moments, Regularization(self.alpha, self.gamma), self.parametrization, self.method, log_prior
        )

    def llf(self) -> float:
        """Log-likelihood of class and row at the means, the covariances and the prior of the fit."""
        moments, n = self.moments, self.moments.counts
        with np.errstate(divide="ignore"):
            classes = float(n @ np.log(self.prior))
        units = 2.0 * np.log(moments.scale).sum()
        total = 0.0
        for k, covariance in enumerate(self.covariances):
            if moments.roots is not None:
                squares = float((covariance.whiten(moments.roots[k].T) ** 2).sum())
            else:
                squares = float((covariance.inverse * (moments.scatters[k] @ covariance.inverse)).sum())
            size = covariance.logdet - units + moments.n_columns * np.log(2 * np.pi)
            total += float(n[k]) * size + squares
        return classes - 0.5 * total


def regularized_marginal(fit: RDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """The rule of some columns (q,), for which there is one method."""
    part = gaussian.means_of_columns(fit.moments, keep)
    covariances = tuple(of_columns(covariance, keep) for covariance in fit.covariances)
    if fit.alpha == 0:
        return gaussian.linear_rule(part, covariances[0], log_prior)
    return gaussian.separate_plugin(part, covariances, log_prior)


def too_few(moments: ClassMoments) -> list[int]:
    """Classes that have no covariance, for want of more than one row or unit of weight."""
    return np.flatnonzero(moments.counts <= 1 + len(moments.counts) * EPS * moments.counts.sum()).tolist()


def needs_roots(pairs: Iterable[Regularization], parametrization: Parametrization) -> bool:
    """Whether some pair has so little ridge that ill-conditioned scatters would lose digits."""
    if parametrization == "esl":
        return any((1 - pair.alpha) * (1 - pair.gamma) < SAFE_RIDGE for pair in pairs)
    return any(pair.gamma < SAFE_RIDGE for pair in pairs)


def fit_rda(
    moments: ClassMoments,
    prior: Floats,
    *,
    alpha: float,
    gamma: float,
    parametrization: Parametrization = "esl",
    method: str = "moment",
    estimated_prior: bool = True,
    cv: int | str | None = None,
    select: str = "min",
    standardize: bool = False,
) -> RDAFit:
    """Fit from moments by class, none of them `too_few`, with options as of `RDAFit`."""
    p = moments.n_columns
    divisors = divisors_by_class(moments.counts, method)
    # In the units that the identity is meant in.
    in_unit = in_deviations(moments) if standardize else comparable(moments)
    unit = in_unit.common_unit
    squares = (in_unit.squares * unit * unit).sum(axis=1)
    shares = leave_one_out_rda.regularized_mixture(
        parametrization,
        Regularization(alpha, gamma),
        divisors,
        squares / divisors / p,
        squares.sum() / divisors.sum() / p,
    )
    if not standardize:
        # Without a ridge nothing compares the columns, and each keeps a scale of its own.
        moments = in_unit = in_unit if shares[2].any() else moments
    # As multiples of the scatters.
    multiples = shares[0] / divisors, shares[1] / divisors.sum(), shares[2]
    mixed = _thin if moments.spread == "thin class" else _full
    covariances = mixed(in_unit, *multiples)
    own = cv, select, standardize
    return RDAFit(moments, prior, estimated_prior, alpha, gamma, parametrization, method, covariances, *own)


def _full(moments: ClassMoments, own: Floats, common: Floats, ridge: Floats) -> tuple[Covariance, ...]:
    """Covariances own_k W_k + common_k W + ridge_k I, the last in the data's `common_unit`."""
    whole, covariances = moments.pooled(), []
    for k in range(moments.n_classes):
        sphere = np.diag(np.sqrt(ridge[k]) / moments.common_unit) if ridge[k] else 0.0 * moments.scale[None]
        if moments.roots is not None and whole.roots is not None:
            parts = [np.sqrt(own[k]) * moments.roots[k], np.sqrt(common[k]) * whole.roots[0], sphere]
            root = packed_triangle(np.concatenate(parts))
        else:
            root = _cholesky(own[k] * moments.scatters[k] + common[k] * whole.scatters[0] + sphere**2)
        # A root without an inverse is held as it is, for `singular` to find.
        singular = is_singular(root, whole, SINGULAR_MIXTURE)
        covariances.append(Covariance(root, None) if singular else Covariance.from_root(root))
    return tuple(covariances)


def _thin(moments: ClassMoments, own: Floats, common: Floats, ridge: Floats) -> tuple[Covariance, ...]:
    """As `_full`, from thin roots: on the span of the rows, and the ridge beyond it."""
    unit = moments.common_unit
    roots, whole = np.asarray(moments.roots) * unit, np.asarray(moments.pooled().roots)[0] * unit
    basis, lower = np.linalg.qr(whole.T)
    covariances: list[Covariance] = []
    for k, root in enumerate(roots):
        rows = np.concatenate([np.sqrt(own[k]) * root @ basis, np.sqrt(common[k]) * lower.T])
        _, singular, turned = svd(rows, full_matrices=False)
        sphere = float(ridge[k])
        if not sphere > (SINGULAR_MIXTURE * singular[0]) ** 2:
            covariances.append(Covariance(np.zeros((1, 1)), None))
            continue
        axes, sd = turned @ basis.T, np.sqrt(singular**2 + sphere)[:, None]
        covariance = ThinCovariance(
            sd * axes / unit, (axes / sd * unit).T, axes, unit, float(np.sqrt(sphere))
        )
        covariances.append(covariance)
    return tuple(covariances)


def _cholesky(matrix: Floats) -> Floats:
    """Upper triangular root of a symmetric matrix; one with zeros on its diagonal where it has none."""
    if (np.diagonal(matrix) > 0).all():
        with suppress(np.linalg.LinAlgError):
            return scaled_cholesky(matrix)
    return np.zeros_like(matrix)


REGULAR_EIGENVALUES = 1e-7
"""Least over greatest eigenvalue from which a scatter is decomposed as it is."""

NUMBERS_IN_PIECE = 2**18
"""Numbers in a piece of rows that is scored at once."""

MOST_IN_AXES = 2**24
"""Numbers in the axes of a rule."""

WORTH_COLUMNS = 32
"""Columns from which on decompositions of few rows are worth their trouble."""

WORTH_RANK = 0.7
"""Share of the columns that the degrees of freedom of such a class are at most."""

MOST_LOSS = 1e4
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
    piece = int(np.clip(NUMBERS_IN_PIECE // rule.width, 256, 8192))
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
    pairs: Sequence[Regularization],
    parametrization: Parametrization,
    method: str,
    log_prior: Floats,
    columns: int | None = None,
    with_roots: Callable[[], ClassMoments] | None = None,
) -> Iterator[PathRule]:
    """Rules of all pairs, group by group; a pair whose covariances are singular is left out.

    Moments are by class: where they are those of coordinates of fewer columns, `columns` is the number of
    those of the data; where a pair asks for roots, `with_roots` gives the same moments with them.
    """
    scatters = Scatters.of(comparable(moments), method, columns)
    found = _by_gamma if parametrization == "esl" else _by_alpha
    ridged = np.array([_has_ridge(pair, parametrization) for pair in pairs])
    left = ridged | _full_rank(scatters, pairs)
    for rule in found(scatters, pairs, np.flatnonzero(left), parametrization, log_prior):
        left[rule.pairs] = False
        yield rule
    if scatters.beyond:
        return
    plain = np.flatnonzero(left & ~ridged)
    if plain.size:
        for rule in found(Scatters.unitless(moments, method), pairs, plain, parametrization, log_prior):
            left[rule.pairs] = False
            yield rule
    if left.any():
        rooted = moments if with_roots is None else with_roots()
        yield from _one_by_one(rooted, pairs, np.flatnonzero(left), parametrization, method, log_prior)


def _has_ridge(pair: Regularization, parametrization: Parametrization) -> bool:
    return pair.alpha < 1 and pair.gamma < 1 if parametrization == "esl" else pair.gamma > 0


def _full_rank(scatters: Scatters, pairs: Sequence[Regularization]) -> NDArray[np.bool_]:
    """Which pairs (G,) have covariances of as many degrees of freedom as columns, without a ridge."""
    rows, p = scatters.moments.rows, scatters.columns
    pooled, own = bool(rows.sum() - len(rows) >= p), bool((rows > p).all())
    return np.array([own if pair.alpha == 1 else pooled for pair in pairs])


def _one_by_one(
    moments: ClassMoments,
    pairs: Sequence[Regularization],
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
            ClassPath(ones[0], None, covariance.inverse[None], ones, None, np.array([[covariance.logdet]]))
            for covariance in fit.covariances
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
    scatters: Scatters,
    pairs: Sequence[Regularization],
    at: Codes,
    parametrization: Parametrization,
    log_prior: Floats,
) -> Iterator[PathRule]:
    """ESL's rules of the pairs at positions (g,), but for those that are ill-conditioned."""
    alphas, gammas = np.array(pairs).T
    own = at[alphas[at] == 1]
    if own.size:
        yield from _own_rule(scatters, own, log_prior)
        at = at[alphas[at] < 1]
    if not at.size:
        return
    pooled = scatters.whole / scatters.divisors.sum()
    sphere = float(np.trace(pooled)) / scatters.columns
    lengths, vectors = np.linalg.eigh(pooled)
    lengths = np.maximum(lengths, 0.0)
    sizes = np.where(_is_thin(scatters), scatters.moments.rows - 1, len(pooled)).astype(np.float64)
    tried = np.unique(gammas[at])
    target = tried[:, None] * lengths + ((1 - tried) * sphere)[:, None]
    able = _regular(target) & ((1 - tried) * sphere > 0 if scatters.beyond else True)
    tried, target = tried[able], target[able]
    along = np.unique(alphas[at])
    step = max(int(MOST_IN_AXES // (sizes**2).sum()), 1)
    for start in range(0, len(tried), step):
        now = slice(start, start + step)
        paths, regular = [], np.ones((len(tried[now]), len(along)), dtype=bool)
        outside = (
            scatters.beyond * np.log(np.outer((1 - tried[now]) * sphere, 1 - along))
            if scatters.beyond
            else 0.0
        )
        for k in range(scatters.moments.n_classes):
            path = _thin_path(scatters, k, along, target[now], vectors) if _is_thin(scatters)[k] else None
            path = path or _wide_path(scatters, k, along, target[now], vectors, regular)
            path.logdet[...] += outside
            paths.append(path)
        positions, cells = _cells(at, gammas, alphas, tried[now], along, regular)
        if positions.size:
            yield _rule(
                scatters.moments, scatters.unit, vectors.T * scatters.unit, paths, positions, cells, log_prior
            )


def _wide_path(
    scatters: Scatters, k: int, alphas: Floats, target: Floats, vectors: Floats, regular: NDArray[np.bool_]
) -> ClassPath:
    """Distances from class k for gammas of D (B, p) and alphas (A,), which `regular` (B, A) is told of."""
    turned = vectors.T @ (scatters.own[k] / scatters.divisors[k]) @ vectors
    scale = 1.0 / np.sqrt(target)
    lengths, axes = np.linalg.eigh(turned * scale[:, :, None] * scale[:, None, :])
    share = alphas[:, None]
    mixed = share * np.maximum(lengths, 0.0)[:, None] + (1 - share)
    mixed = _where_regular(mixed, regular)
    logdet = np.log(target).sum(axis=1)[:, None] + np.log(mixed).sum(axis=2)
    return ClassPath(scale, None, axes, 1.0 / mixed, None, logdet)


def _is_thin(scatters: Scatters) -> NDArray[np.bool_]:
    """Which classes (K,) have so few rows that decompositions of these are the shorter ones."""
    p = scatters.moments.n_columns
    return (scatters.moments.rows - 1 <= WORTH_RANK * p) & (p >= WORTH_COLUMNS)


def _thin_path(
    scatters: Scatters, k: int, alphas: Floats, target: Floats, vectors: Floats
) -> ClassPath | None:
    """As `_wide_path`, from the rows of the class; None where too many digits would be lost."""
    factor = _factor(scatters.own[k], int(scatters.moments.rows[k]) - 1) @ vectors
    factor /= np.sqrt(scatters.divisors[k])
    r, p = factor.shape
    gram = np.empty((len(target), r, r))
    for out, ends in zip(gram, target, strict=True):
        scaled = factor / np.sqrt(ends)
        np.matmul(scaled, scaled.T, out=out)
    lengths, axes = np.linalg.eigh(gram)
    beta = (1 - alphas)[:, None]
    mixed = alphas[:, None] * np.maximum(lengths, 0.0)[:, None] + beta
    if (mixed > MOST_LOSS * beta).any() or not np.isfinite(mixed).all():
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


def _own_rule(scatters: Scatters, at: Codes, log_prior: Floats) -> Iterator[PathRule]:
    """ESL's rule of alpha one, which is that of pairs (g,), unless it is ill-conditioned."""
    paths, regular = [], np.ones((1, 1), dtype=bool)
    for k, divisor in enumerate(scatters.divisors.tolist()):
        lengths, axes = np.linalg.eigh(scatters.own[k] / divisor)
        paths.append(_path_of(scatters, axes[None], lengths[None, None], regular))
    if regular.all() and not scatters.beyond:
        yield _rule(scatters.moments, scatters.unit, None, paths, at, None, log_prior)


def _by_alpha(
    scatters: Scatters,
    pairs: Sequence[Regularization],
    at: Codes,
    parametrization: Parametrization,
    log_prior: Floats,
) -> Iterator[PathRule]:
    """As `_by_gamma`, for Friedman's and klaR's mixtures."""
    alphas, gammas = np.array(pairs).T
    pooled = scatters.whole / scatters.divisors.sum()
    every, along = np.unique(alphas[at]), np.unique(gammas[at])
    step = max(MOST_IN_AXES // scatters.own.size, 1)
    for start in range(0, len(every), step):
        tried = every[start : start + step]
        shares = [
            leave_one_out_rda.regularized_mixture(
                parametrization, Regularization(a, 0.0), scatters.divisors, scatters.squares, 0.0
            )
            for a in tried
        ]
        paths, regular = [], np.ones((len(tried), len(along)), dtype=bool)
        for k, divisor in enumerate(scatters.divisors.tolist()):
            own, common = np.array([(o[k] / divisor, c[k]) for o, c, _ in shares]).T[:, :, None, None]
            matrices = own * scatters.own[k] + common * pooled
            ridge = np.outer(np.trace(matrices, axis1=1, axis2=2) / scatters.columns, along)
            lengths, axes = np.linalg.eigh(matrices)
            values = (1 - along)[:, None] * np.maximum(lengths, 0.0)[:, None] + ridge[:, :, None]
            path = _path_of(scatters, axes, values, regular)
            if scatters.beyond:
                regular &= ridge > 0
                path.logdet[...] += scatters.beyond * np.log(np.where(ridge > 0, ridge, 1.0))
            paths.append(path)
        positions, cells = _cells(at, alphas, gammas, tried, along, regular)
        if positions.size:
            yield _rule(scatters.moments, scatters.unit, None, paths, positions, cells, log_prior)


def _path_of(scatters: Scatters, axes: Floats, values: Floats, regular: NDArray[np.bool_]) -> ClassPath:
    """Distances by eigenvectors (B, p, p) and eigenvalues (B, A, p)."""
    values = _where_regular(values, regular)
    scale = np.repeat(scatters.unit[None], len(axes), axis=0)
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
    return np.asarray((least > REGULAR_EIGENVALUES * most) & np.isfinite(most))
