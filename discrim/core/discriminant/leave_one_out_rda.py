"""Scores of each row under the regularized rule fitted without it, from two decompositions a class.

Taking a row x of class g with weight w out of the moments, d = x - m_g and c = w n_g/(n_g - w), takes c d d'
from the scatters W_g and W and w from their divisors, and so moves the average variances. With the shares of
`regularized_mixture` at the new divisors and variances, a class's covariance without the row is

    a W_k + b W + r I - f c d d',   f = a + b for the row's own class, b for any other one,

in which the row itself enters through d and, by the average variances, through r alone. So with
a W_k + b W = U L U', once for class k as the row's own and once as another,

    Sigma_k = U (L + r I - f c e e') U',   e = U'd:

Sherman and Morrison's formula gives the distances, the determinant lemma the determinant, a diagonal a row.
Only the ratio of a to b matters for U: for Friedman's and klaR's mixtures it is the same for every
gamma, for ESL's for every alpha where gamma is 0 and for every gamma where alpha is 0. The mixtures are those
of `discrim.core.discriminant.rda`.

A mixture without a ridge does not depend on the units of the columns, and is decomposed in units of their
pooled standard deviations; with roots at hand, from the singular values of the stacked roots.

*Few rows of many columns.* Rows less one of their points span fewer dimensions than there are rows: with an
orthonormal basis Q (r, p) of that span, means, scatters and deviations of the rows are those of their
coordinates Q y, and whatever is made of scatters and the identity is known from them and from p. What it is
beyond the span, a multiple of the identity, adds to determinants alone, since no row of the fit lies there.

A row is missing here, and left to a refit, where 1 - f c e'(L + r I)^-1 e or a trace is next to
nothing without it, or where its class is left with one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from discrim.core.covariance.covariance import EPS, divisors_by_class
from discrim.core.covariance.projected import on_axes
from discrim.core.moments.derived_moments import comparable
from discrim.core.moments.moments import ClassMoments, column_squares, from_class_means, standard_columns
from discrim.core.moments.row_sums import packed_triangle
from discrim.core.numerics.arrays import Codes, Floats, svd
from discrim.core.rules.leave_one_out import SPOILT, LeftOut


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """An orthonormal basis of the rows of a fit, in the units of the data times one power of two.

    The moments are those of the coordinates, by class: the axes (r, p) times z = (x - origin) * scale.
    """

    moments: ClassMoments
    origin: Floats
    scale: Floats
    axes: Floats

    @staticmethod
    def of(whole: ClassMoments) -> Span:
        """From moments with thin roots by class; a ValueError of others."""
        whole = comparable(whole)
        if whole.roots is None or whole.spread != "thin class":
            raise ValueError(f"Moments of spread {whole.spread!r} have no thin roots by class.")
        unit = whole.common_unit
        rows = np.concatenate([*whole.roots, whole.means]) * unit
        basis, _ = np.linalg.qr(rows.T)
        axes = basis.T * unit
        return Span(on_axes(whole, axes), whole.origin, whole.scale, axes)

    @property
    def columns(self) -> int:
        """Number of columns, p."""
        return len(self.scale)

    def coordinates(self, x: Floats) -> Floats:
        """Coordinates (m, r) of rows x (m, p) of the fit."""
        return np.asarray((self.axes @ standard_columns(x, self.origin, self.scale)).T)


Parametrization = Literal["esl", "friedman", "klar"]


class Regularization(NamedTuple):
    """How much is regularized, each within [0, 1]."""

    alpha: float
    gamma: float


def regularized_mixture(
    parametrization: Parametrization,
    pair: Regularization,
    divisors: Floats,
    variances: Floats,
    variance: float,
) -> tuple[Floats, Floats, Floats]:
    """Shares (..., K) of each class's own covariance, of the pooled one, and of the identity.

    Divisors (..., K) are those of the classes' covariances, of which that of the pooled one is the sum;
    variances are tr(S_k)/p (K,) and tr(S)/p.

    Examples
    --------
    >>> divisors, variances = np.array([9.0, 19.0]), np.array([1.0, 2.0])
    >>> pair = Regularization(0.5, 0.8)
    >>> own, pooled, ridge = regularized_mixture("esl", pair, divisors, variances, 1.5)
    >>> own.tolist(), pooled.round(12).tolist(), ridge.round(12).tolist()
    ([0.5, 0.5], [0.4, 0.4], [0.15, 0.15])
    """
    alpha, gamma = pair
    ones = np.ones(divisors.shape)
    if parametrization == "esl":
        return alpha * ones, (1 - alpha) * gamma * ones, (1 - alpha) * (1 - gamma) * variance * ones
    if parametrization == "friedman":
        total = divisors.sum(axis=-1, keepdims=True)
        mixed = alpha * divisors + (1 - alpha) * total
        own = alpha * divisors / mixed
        pooled = (1 - alpha) * total / mixed
    else:
        own = alpha * ones
        pooled = (1 - alpha) * ones
    return (1 - gamma) * own, (1 - gamma) * pooled, gamma * (own * variances + pooled * variance)


@dataclass(frozen=True, slots=True, eq=False)
class Scatters:
    """Scatters in the units of the data times one power of two, in which the identity is meant, or in others.

    Attributes
    ----------
    unit : (p,) float
        What z of the moments, by class, is multiplied by.
    own : (K, p, p) float
    whole : (p, p) float
        Their sum.
    columns : int
        Columns of the data: those of the moments, and others in which nothing varies.
    """

    moments: ClassMoments
    unit: Floats
    own: Floats
    whole: Floats
    divisors: Floats
    columns: int

    @staticmethod
    def of(moments: ClassMoments, method: str, columns: int | None = None) -> Scatters:
        """From moments by class and the method of the divisors, n_k - 1 by "moment" or n_k by "mle"."""
        return Scatters._in(moments.common_unit, moments, method, columns)

    @staticmethod
    def unitless(moments: ClassMoments, method: str, columns: int | None = None) -> Scatters:
        """As `of`, in units of the standard deviations within classes, for mixtures without a ridge."""
        sd = np.sqrt(moments.squares.sum(axis=0))
        return Scatters._in(1.0 / np.where(sd > 0, sd, 1.0), moments, method, columns)

    @staticmethod
    def _in(unit: Floats, moments: ClassMoments, method: str, columns: int | None) -> Scatters:
        own = moments.scatters * unit * unit[:, None]
        divisors = divisors_by_class(moments.counts, method)
        p = moments.n_columns if columns is None else columns
        return Scatters(moments, unit, own, own.sum(axis=0), divisors, p)

    @property
    def squares(self) -> Floats:
        """Traces (K,) of the scatters."""
        return np.asarray(np.trace(self.own, axis1=1, axis2=2))

    @property
    def beyond(self) -> int:
        """Columns of the data in which nothing varies, beside those of the moments."""
        return self.columns - self.moments.n_columns


ABOVE_ROUNDING = 1e8
"""How far 1 - f c e'(L + r I)^-1 e has to be above the rounding of the eigenvalues, relative to the least."""

LEAST_AS_DIFFERENCE = 1e-6
"""And how large at least."""

REGULAR_SCATTERS = 1e-4
"""Least over greatest eigenvalue from which scatters serve as well as their roots."""


def rda_left_out(
    moments: ClassMoments,
    pair: Regularization,
    parametrization: Parametrization,
    method: str,
    log_prior: Floats,
) -> LeftOut:
    """Leave-one-out scores of one pair, whose covariances are not singular, from moments by class."""
    span = Span.of(moments) if moments.spread == "thin class" else None
    held_moments, columns = (moments, None) if span is None else (span.moments, span.columns)
    (group,) = left_out_groups(held_moments, [pair], parametrization, method, log_prior, columns)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        x = x if span is None else span.coordinates(x)
        return np.asarray(group.scores(x, codes, weights)[0].T)

    return scores


def left_out_groups(
    moments: ClassMoments,
    pairs: Sequence[Regularization],
    parametrization: Parametrization,
    method: str,
    log_prior: Floats,
    columns: int | None = None,
) -> list[LeftOutGroup]:
    """Pairs by the decompositions that they share; as `rda_left_out`, with columns as of `path_rules`."""
    apart = Scatters.of(comparable(moments), method, columns)
    unitless = Scatters.unitless(moments, method, columns)
    sources = [_Source.of(apart), _Source.of(unitless)]
    together: dict[tuple[bool, float], list[int]] = {}
    for i, pair in enumerate(pairs):
        own, pooled, ridge = regularized_mixture(
            parametrization, pair, apart.divisors, np.ones(len(apart.divisors)), 1.0
        )
        share = own[0] / (own[0] + pooled[0]) if own[0] + pooled[0] > 0 else 0.0
        together.setdefault((not ridge.any(), round(float(share), 12)), []).append(i)
    groups = []
    for (plain, _), at in together.items():
        mixer = _Mixer(sources[plain], [pairs[i] for i in at], parametrization)
        groups.append(LeftOutGroup(np.array(at), mixer, log_prior, lru_cache(maxsize=2)(mixer.bases)))
    return groups


@dataclass(frozen=True, slots=True, eq=False)
class _Basis:
    """The axes of one class's mixtures, as the rows' own class or as another.

    Attributes
    ----------
    axes : (p, p) float
        What deviations in z are projected on.
    lengths : (p,) float
        Eigenvalues of the group's reference a W_k + b W.
    gaps : (p, K) float
        Projections of the other classes' means, from this one's.
    factors : (G,) float
        a + b of each pair over that of the reference.
    f : (G,) float
        Times c: what of e e' is taken out.
    from_own, from_pooled : (G,) float
        Coefficients of tr(W_k) and tr(W), without the row, in r.
    """

    axes: Floats
    lengths: Floats
    gaps: Floats
    factors: Floats
    f: Floats
    from_own: Floats
    from_pooled: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """What is mixed: scatters, means (K, p) in z, and roots (K, p, p) and (p, p) where there are any."""

    scatters: Scatters
    means: Floats
    roots: Floats | None
    root: Floats | None

    @staticmethod
    def of(scatters: Scatters) -> _Source:
        roots = None if scatters.moments.roots is None else scatters.moments.roots * scatters.unit
        root = None if roots is None else packed_triangle(roots.reshape(-1, len(scatters.unit)))
        return _Source(scatters, scatters.moments.means, roots, root)

    def axes(self, k: int, a: float, b: float, ridge: float) -> tuple[Floats, Floats]:
        """Eigenvalues (p,) and eigenvectors (p, p) of a W_k + b W, to which a ridge or more will be added."""
        lengths, vectors = np.linalg.eigh(a * self.scatters.own[k] + b * self.scatters.whole)
        if (
            self.roots is not None
            and self.root is not None
            and not lengths[0] + ridge > REGULAR_SCATTERS * lengths[-1]
        ):
            stacked = np.concatenate([np.sqrt(a) * self.roots[k], np.sqrt(b) * self.root])
            _, singular, axes = svd(packed_triangle(stacked))
            return singular**2, axes.T
        return np.maximum(lengths, 0.0), vectors


@dataclass(frozen=True, slots=True)
class _Mixer:
    """What the pairs of a group mix, and its axes."""

    source: _Source
    pairs: list[Regularization]
    parametrization: Parametrization

    @property
    def scatters(self) -> Scatters:
        """The scatters that are mixed."""
        return self.source.scatters

    def bases(self, out: float) -> list[tuple[_Basis | None, _Basis]]:
        """For each class its basis as that of a row, of which the weight `out` is left out, and as another's.

        The first is missing where the class has no covariance without the row.
        """
        found = []
        for k, divisor in enumerate(self.scatters.divisors.tolist()):
            alone = divisor - out <= EPS * self.scatters.moments.counts[k]
            found.append((None if alone else self._basis(k, k, out), self._basis(k, k - 1, out)))
        return found

    def _basis(self, k: int, g: int, out: float) -> _Basis:
        """Of class k for rows of class g."""
        scatters = self.scatters
        divisors = scatters.divisors.copy()
        divisors[g] -= out
        total = divisors.sum()
        p = scatters.columns
        ones = np.ones(len(divisors))
        nothing = np.zeros(len(divisors))
        shares = np.empty((4, len(self.pairs)))
        for j, pair in enumerate(self.pairs):
            own, pooled, from_own = regularized_mixture(self.parametrization, pair, divisors, ones, 0.0)
            from_pooled = regularized_mixture(self.parametrization, pair, divisors, nothing, 1.0)[2]
            shares[:, j] = own[k], pooled[k], from_own[k], from_pooled[k]
        shares[[0, 2]] /= divisors[k]
        shares[[1, 3]] /= total
        shares[2:] /= p
        a, b, from_own, from_pooled = shares
        reference = int(np.argmax(a + b))
        most = a[reference] + b[reference]
        if most == 0:
            lengths = np.zeros(len(scatters.unit))
            vectors = np.eye(len(scatters.unit))
        else:
            # Without the row the traces are less, and by no more than what is left to a refit.
            mixed = a + b > 0
            ridges = (from_own * scatters.squares[k] + from_pooled * scatters.squares.sum())[mixed]
            ridges *= most / (a + b)[mixed]
            lengths, vectors = self.source.axes(k, a[reference], b[reference], SPOILT * float(ridges.min()))
        axes = vectors.T * scatters.unit
        gaps = axes @ (self.source.means - self.source.means[k]).T
        factors = (a + b) / most if most > 0 else np.zeros(len(a))
        return _Basis(
            axes, lengths, gaps, factors, a + b if k == g % len(divisors) else b, from_own, from_pooled
        )


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutGroup:
    """Pairs at some positions (G,) whose mixtures have the same axes, the bases by the weight left out."""

    positions: Codes
    mixer: _Mixer
    log_prior: Floats
    bases: Callable[[float], list[tuple[_Basis | None, _Basis]]]

    def scores(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Scores (G, K, m) of rows x (m, p) of the fit, each without itself; missing for what is refitted."""
        units = np.ones(len(codes)) if weights is None else np.minimum(weights, 1.0)
        scores = np.empty((len(self.positions), len(self.log_prior), len(codes)))
        for out in np.unique(units).tolist():
            self._fill(scores, x, codes, np.flatnonzero(units == out), out)
        return scores

    def _fill(self, scores: Floats, x: Floats, codes: Codes, rows: Codes, out: float) -> None:
        """The scores of rows of which the weight `out` is left out."""
        scatters = self.mixer.scatters
        moments = scatters.moments
        bases = self.bases(out)
        own = codes[rows]
        d = from_class_means(moments, x[rows], own)
        squares = column_squares(d * scatters.unit[:, None])
        count = moments.counts[own]
        with np.errstate(divide="ignore", invalid="ignore"):
            c = out * count / (count - out)
        for k, (as_own, as_other) in enumerate(bases):
            for basis, here in ((as_own, own == k), (as_other, own != k)):
                at = np.flatnonzero(here)
                if not at.size:
                    continue
                if basis is None:
                    scores[:, :, rows[at]] = np.nan
                    continue
                e = basis.axes @ d[:, at]
                gone = c[at] * squares[at]
                if basis is as_own:
                    gap = e * (count[at] / (count[at] - out))
                    left: Floats | float = _left_of(float(scatters.squares[k]), gone)
                else:
                    gap = e + basis.gaps[:, own[at]]
                    left = float(scatters.squares[k])
                traces = left, _left_of(float(scatters.squares.sum()), gone)
                with np.errstate(divide="ignore", invalid="ignore"):
                    for j in range(len(self.positions)):
                        doubled = _doubled(basis, j, e, gap, c[at], traces, scatters.beyond)
                        scores[j, k, rows[at]] = self.log_prior[k] - 0.5 * doubled
        lost = np.isnan(scores[:, :, rows]).any(axis=1)
        for j, row in zip(*np.nonzero(lost), strict=True):
            scores[j, :, rows[row]] = np.nan


def _left_of(whole: float, gone: Floats) -> Floats:
    """What is left (m,) of a trace; missing where next to nothing is, whose digits are lost."""
    return np.where(gone > (1.0 - SPOILT) * whole, np.nan, whole - gone)


def _doubled(
    basis: _Basis,
    j: int,
    e: Floats,
    gap: Floats,
    c: Floats,
    traces: tuple[Floats | float, Floats],
    beyond: int,
) -> Floats:
    """ln|Sigma_k| + D2_k (m,) of pair j without rows of projections e (p, m), gaps (p, m) from the mean."""
    r = np.zeros(1)
    for coefficient, trace in zip((basis.from_own[j], basis.from_pooled[j]), traces, strict=True):
        if coefficient > 0:
            r = r + coefficient * trace
    diagonal = basis.factors[j] * basis.lengths[:, None] + r
    weighted = e / diagonal
    lift = basis.f[j] * c
    left = 1.0 - lift * (weighted * e).sum(axis=0)
    shortest, longest = (basis.factors[j] * end + r for end in np.sort(basis.lengths)[[0, -1]])
    left = np.where(
        left <= np.clip(ABOVE_ROUNDING * EPS * longest / shortest, LEAST_AS_DIFFERENCE, SPOILT), np.nan, left
    )
    cross = (weighted * gap).sum(axis=0)
    np.divide(gap, diagonal, out=weighted)
    d2 = (weighted * gap).sum(axis=0) + lift * cross**2 / left
    logdet = np.log(diagonal).sum(axis=0) + np.log(left)
    return np.asarray(logdet + d2 + (beyond * np.log(r) if beyond else 0.0))
