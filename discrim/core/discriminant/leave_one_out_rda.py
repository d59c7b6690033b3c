"""Leave-one-out scores of regularized discriminant analysis, from two decompositions for each class.

`rda_left_out` scores one pair of alpha and gamma, and `left_out_groups` many pairs.

Leaving a row x of class g with weight w out of the moments subtracts c d d' from the scatter W_g, with
d = x - m_g and c = w n_g/(n_g - w). With the coefficients of `regularized_mixture` at the new divisors and
variances, the covariance of a class without the row is

    a W_k + b W + r I - f c d d',   f = a + b for the row's own class, b for any other one,

which depends on the row through d and, because of the average variances, through r. With
a W_k + b W = U L U', decomposed once with k as the row's own class and once as another class,

    Sigma_k = U (L + r I - f c e e') U',   e = U'd:

the Sherman-Morrison formula gives the distances, and the matrix determinant lemma the determinant, from a
diagonal for each row. U depends only on the ratio of a to b: for Friedman's and klaR's mixtures it is the
same for every gamma, for ESL's for every alpha if gamma is 0 and for every gamma if alpha is 0. The mixtures
are defined in `discrim.core.discriminant.rda`.

A mixture without a ridge does not depend on the units of the columns, and is decomposed in units of their
pooled standard deviations; if roots are available, by the singular values of the stacked roots.

*Few rows of many columns.* The deviations of n rows from one of them span fewer than n dimensions. With an
orthonormal basis Q (r, p) of this span, means, scatters and deviations of the rows are determined by the
coordinates Q y, and any function of scatters and the identity by these and p. In the orthogonal complement
the covariance is a multiple of the identity, which affects only determinants, because no row of the fit has
a component there.

Scores of a row are missing, and left to a refit, if 1 - f c e'(L + r I)^-1 e or a trace nearly vanishes
without the row, or if one row remains in its class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from discrim.core.covariance.covariance import EPS, divisors_by_class
from discrim.core.covariance.projected import moments_of_scores
from discrim.core.moments.derived_moments import comparable
from discrim.core.moments.moments import ClassMoments, column_squares, from_class_means, standard_columns
from discrim.core.moments.row_sums import packed_triangle
from discrim.core.numerics.arrays import Codes, Floats, svd
from discrim.core.rules.leave_one_out import SPOILT, LeftOut


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """An orthonormal basis of the span of the rows of a fit, in the units of the data times a power of two.

    Attributes
    ----------
    moments : ClassMoments
        Moments of the coordinates, by class.
    origin, scale : (p,) float
        Origin and scale of z = (x - origin) * scale.
    axes : (r, p) float
        Matrix that maps z to the coordinates.
    """

    moments: ClassMoments
    origin: Floats
    scale: Floats
    axes: Floats

    @staticmethod
    def of(whole: ClassMoments) -> Span:
        """Construct the basis from moments with thin roots by class; raise ValueError for other moments."""
        whole = comparable(whole)
        if whole.roots is None or whole.spread != "thin class":
            raise ValueError(f"Moments of spread {whole.spread!r} have no thin roots by class.")
        unit = whole.common_unit
        rows = np.concatenate([*whole.roots, whole.means]) * unit
        basis, _ = np.linalg.qr(rows.T)
        axes = basis.T * unit
        return Span(moments_of_scores(whole, axes), whole.origin, whole.scale, axes)

    @property
    def columns(self) -> int:
        """Number of columns, p."""
        return len(self.scale)

    def coordinates(self, x: Floats) -> Floats:
        """Return the coordinates (m, r) of rows x (m, p) of the fit."""
        return np.asarray((self.axes @ standard_columns(x, self.origin, self.scale)).T)


Parametrization = Literal["esl", "friedman", "klar"]


class Regularization(NamedTuple):
    """Regularization parameters, each in [0, 1]."""

    alpha: float
    gamma: float


def regularized_mixture(
    parametrization: Parametrization,
    pair: Regularization,
    divisors: Floats,
    variances: Floats,
    variance: float,
) -> tuple[Floats, Floats, Floats]:
    """Compute the weights of the mixture of covariances.

    Parameters
    ----------
    parametrization : {"esl", "friedman", "klar"}
    pair : Regularization
    divisors : (..., K) float
        Divisors of the covariances of the classes; their sum is the divisor of the pooled covariance.
    variances : (K,) float
        Average variances tr(S_k)/p of the classes.
    variance : float
        Average variance tr(S)/p of the pooled covariance.

    Returns
    -------
    own, pooled, ridge : (..., K) float
        Weights of the covariance of the class, the pooled covariance, and the identity.

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
    """Scatters in units in which they are mixed.

    Attributes
    ----------
    moments : ClassMoments
        Moments by class.
    unit : (p,) float
        Factors by which z of the moments is multiplied.
    own : (K, p, p) float
        Scatters of the classes.
    whole : (p, p) float
        Their sum.
    divisors : (K,) float
        Divisors of the covariances.
    columns : int
        Number of columns of the data; at least p, because the coordinates of a span are fewer.
    """

    moments: ClassMoments
    unit: Floats
    own: Floats
    whole: Floats
    divisors: Floats
    columns: int

    @staticmethod
    def of(moments: ClassMoments, method: str, columns: int | None = None) -> Scatters:
        """Return scatters in the units of the data times a power of two, to which the identity refers.

        Parameters
        ----------
        moments : ClassMoments
            Moments by class.
        method : {"moment", "mle"}
            Divisors n_k - 1, or n_k.
        columns : int, optional
            Number of columns of the data; by default of the moments.

        Returns
        -------
        Scatters
        """
        return Scatters._in(moments.common_unit, moments, method, columns)

    @staticmethod
    def unitless(moments: ClassMoments, method: str, columns: int | None = None) -> Scatters:
        """Return scatters of columns divided by pooled standard deviations, for mixtures without a ridge.

        Parameters
        ----------
        moments : ClassMoments
            Moments by class.
        method : {"moment", "mle"}
            Divisors n_k - 1, or n_k.
        columns : int, optional
            Number of columns of the data; by default of the moments.

        Returns
        -------
        Scatters
        """
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
        """Traces (K,) of the scatters of the classes."""
        return np.asarray(np.trace(self.own, axis1=1, axis2=2))

    @property
    def beyond(self) -> int:
        """Number of columns of the data minus the number of coordinates, in which nothing varies."""
        return self.columns - self.moments.n_columns


ABOVE_ROUNDING = 1e8
"""Required ratio of 1 - f c e'(L + r I)^-1 e to rounding errors of the eigenvalues."""

LEAST_AS_DIFFERENCE = 1e-6
"""Smallest accepted value of 1 - f c e'(L + r I)^-1 e."""

REGULAR_SCATTERS = 1e-4
"""Ratio of smallest to largest eigenvalue above which scatters are as accurate as their roots."""


def rda_left_out(
    moments: ClassMoments,
    pair: Regularization,
    parametrization: Parametrization,
    method: str,
    log_prior: Floats,
) -> LeftOut:
    """Return leave-one-out scores for one pair.

    Parameters
    ----------
    moments : ClassMoments
        Moments by class; the covariances of the fit are regular.
    pair : Regularization
    parametrization : {"esl", "friedman", "klar"}
    method : {"moment", "mle"}
    log_prior : (K,) float

    Returns
    -------
    LeftOut
    """
    span = Span.of(moments) if moments.spread == "thin class" else None
    held_moments, columns = (moments, None) if span is None else (span.moments, span.columns)
    (group,) = left_out_groups(held_moments, [pair], parametrization, method, log_prior, columns)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute the scores (m, K) of rows x (m, p), each without itself.

        Parameters
        ----------
        x : (m, p) float
        codes : (m,) int
        weights : (m,) float, optional
        """
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
    """Group pairs that share decompositions.

    Parameters
    ----------
    moments : ClassMoments
        Moments by class; the covariances of the fits are regular.
    pairs : sequence of Regularization
    parametrization : {"esl", "friedman", "klar"}
    method : {"moment", "mle"}
    log_prior : (K,) float
    columns : int, optional
        Number of columns of the data, if the moments are of fewer coordinates.

    Returns
    -------
    list of LeftOutGroup
    """
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
    """Axes of the mixtures of one class, for rows of this class or of another.

    Attributes
    ----------
    axes : (p, p) float
        Matrix that maps deviations in z to projections e.
    lengths : (p,) float
        Eigenvalues of the reference a W_k + b W of the group.
    gaps : (p, K) float
        Projections of the other classes' means minus this one's.
    factors : (G,) float
        Ratio of a + b of each pair to the reference.
    f : (G,) float
        Coefficient f of the subtracted f c e e'.
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
    """Scatters that are mixed, with their roots if available.

    Attributes
    ----------
    scatters : Scatters
    means : (K, p) float
        Class means in z.
    roots : (K, p, p) float or None
        Roots of the scatters of the classes.
    root : (p, p) float or None
        Root of the pooled scatter.
    """

    scatters: Scatters
    means: Floats
    roots: Floats | None
    root: Floats | None

    @staticmethod
    def of(scatters: Scatters) -> _Source:
        """Compute means and roots from the moments of the scatters."""
        roots = None if scatters.moments.roots is None else scatters.moments.roots * scatters.unit
        root = None if roots is None else packed_triangle(roots.reshape(-1, len(scatters.unit)))
        return _Source(scatters, scatters.moments.means, roots, root)

    def axes(self, k: int, a: float, b: float, ridge: float) -> tuple[Floats, Floats]:
        """Decompose a mixture of scatters.

        Parameters
        ----------
        k : int
            Position of the class.
        a, b : float
            Coefficients of W_k and W.
        ridge : float
            Lower bound of the ridge that will be added, which determines whether roots are required.

        Returns
        -------
        eigenvalues : (p,) float
        eigenvectors : (p, p) float
        """
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
    """Mixtures of a group of pairs, and their axes.

    Attributes
    ----------
    source : _Source
    pairs : list of Regularization
    parametrization : {"esl", "friedman", "klar"}
    """

    source: _Source
    pairs: list[Regularization]
    parametrization: Parametrization

    @property
    def scatters(self) -> Scatters:
        """The scatters that are mixed."""
        return self.source.scatters

    def bases(self, out: float) -> list[tuple[_Basis | None, _Basis]]:
        """Return the bases of each class, if a weight `out` of a row is left out.

        Returns
        -------
        list of (_Basis or None, _Basis)
            For rows of the class, and for rows of other classes. The first is None if the class has no
            covariance without the row.
        """
        found = []
        for k, divisor in enumerate(self.scatters.divisors.tolist()):
            alone = divisor - out <= EPS * self.scatters.moments.counts[k]
            found.append((None if alone else self._basis(k, k, out), self._basis(k, k - 1, out)))
        return found

    def _basis(self, k: int, g: int, out: float) -> _Basis:
        """Compute the basis of a class.

        Parameters
        ----------
        k : int
            Position of the class.
        g : int
            Position of the class of the rows.
        out : float
            Weight that is left out.

        Returns
        -------
        _Basis
        """
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
            # Traces without a row are smaller, but not below SPOILT times: such rows are left to a refit.
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
    """Leave-one-out scores of pairs whose mixtures have the same axes.

    Attributes
    ----------
    positions : (G,) int
        Positions of the pairs.
    mixer : _Mixer
    log_prior : (K,) float
    bases : callable
        Returns the bases for a weight that is left out.
    """

    positions: Codes
    mixer: _Mixer
    log_prior: Floats
    bases: Callable[[float], list[tuple[_Basis | None, _Basis]]]

    def scores(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute the scores of rows of the fit, each without itself.

        Parameters
        ----------
        x : (m, p) float
        codes : (m,) int
            Class of each row.
        weights : (m,) float, optional

        Returns
        -------
        (G, K, m) float
            NaN for rows that are left to a refit.
        """
        units = np.ones(len(codes)) if weights is None else np.minimum(weights, 1.0)
        scores = np.empty((len(self.positions), len(self.log_prior), len(codes)))
        for out in np.unique(units).tolist():
            self._fill(scores, x, codes, np.flatnonzero(units == out), out)
        return scores

    def _fill(self, scores: Floats, x: Floats, codes: Codes, rows: Codes, out: float) -> None:
        """Compute the scores of rows with the same left-out weight.

        Parameters
        ----------
        scores : (G, K, m) float
            Changed in place.
        x : (m, p) float
        codes : (m,) int
            Class of each row.
        rows : (j,) int
            Positions of the rows.
        out : float
            Weight that is left out.
        """
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
    """Return the remaining traces (m,); NaN if nearly nothing remains, because digits are lost."""
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
    """Compute ln|Sigma_k| plus the squared distance from class k, without each row.

    Parameters
    ----------
    basis : _Basis
    j : int
        Position of the pair in the group.
    e : (p, m) float
        Projections of the deviations from the means of the rows' classes.
    gap : (p, m) float
        Projections of the deviations from the mean of class k.
    c : (m,) float
        Factors of d d' that are subtracted from the scatter.
    traces : pair of float or (m,) float
        Traces of W_k and W without the rows.
    beyond : int
        Number of columns outside the coordinates.

    Returns
    -------
    (m,) float
        NaN if digits are lost.
    """
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
