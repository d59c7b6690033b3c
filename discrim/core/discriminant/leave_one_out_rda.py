"""Leave-one-out scores of regularized discriminant analysis, from two decompositions for each class.

`rda_leave_one_out_scorer` scores one pair of alpha and gamma, and `leave_one_out_groups` many pairs.

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

Scores of a row are missing, and require a refit, if 1 - f c e'(L + r I)^-1 e or a trace nearly vanishes
without the row, or if one row remains in its class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from discrim.core.covariance.covariance import divisors_by_class
from discrim.core.covariance.projected import moments_of_scores
from discrim.core.moments.derived_moments import limit_scales
from discrim.core.moments.moments import (
    ClassMoments,
    column_squares,
    deviations_from_class_means,
    standardize_columns,
)
from discrim.core.moments.row_sums import triangular_root
from discrim.core.numerics.arrays import EPS, Codes, Floats, svd
from discrim.core.rules.leave_one_out import MIN_DETERMINANT_RATIO, LeaveOneOutScorer


@dataclass(frozen=True, slots=True, eq=False)
class RowSpan:
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
    def from_moments(moments: ClassMoments) -> RowSpan:
        """Construct the basis from moments with thin roots by class; raise ValueError for other moments."""
        moments = limit_scales(moments)
        if moments.roots is None or moments.scatter_type != "thin class":
            raise ValueError(
                f"Thin roots by class are required; the second moments are {moments.scatter_type!r}."
            )
        unit = moments.common_unit
        rows = np.concatenate([*moments.roots, moments.means]) * unit
        basis, _ = np.linalg.qr(rows.T)
        axes = basis.T * unit
        return RowSpan(moments_of_scores(moments, axes), moments.origin, moments.scale, axes)

    @property
    def n_columns(self) -> int:
        """Number of columns, p."""
        return len(self.scale)

    def coordinates(self, x: Floats) -> Floats:
        """Return the coordinates (m, r) of rows x (m, p) of the fit; x is in the units of the data.

        A row that is not in the span of the rows of the fit is projected on the span.
        """
        return np.asarray((self.axes @ standardize_columns(x, self.origin, self.scale)).T)


Parametrization = Literal["esl", "friedman", "klar"]
"""Definitions of the mixture of covariances, whose weights `regularized_mixture` computes."""


class Regularization(NamedTuple):
    """Regularization parameters alpha and gamma of `regularized_mixture`, each in [0, 1].

    With alpha = 1 each class has a covariance of its own rows, with alpha = 0 all have the same. gamma is the
    share of the identity or, for "esl", one minus its share of the pooled part.
    """

    alpha: float
    gamma: float


def regularized_mixture(
    parametrization: Parametrization,
    pair: Regularization,
    divisors: Floats,
    variances: Floats,
    variance: float,
) -> tuple[Floats, Floats, Floats]:
    """Compute the weights of the mixture o S_k + c S + r I of covariances, with a ridge r.

    With s2 = tr(S)/p, "esl" has o = alpha, c = (1 - alpha) gamma and r = (1 - alpha)(1 - gamma) s2. "klar"
    has o = (1 - gamma) alpha, c = (1 - gamma)(1 - alpha), and r is gamma times the average variance of
    alpha S_k + (1 - alpha) S. "friedman" mixes scatters instead: alpha and 1 - alpha are first multiplied
    by the divisors of S_k and S, and divided by the sum of both products.

    Parameters
    ----------
    parametrization : {"esl", "friedman", "klar"}
        Definition of the weights of the mixture in terms of alpha and gamma.
    pair : Regularization
        Values of alpha and gamma.
    divisors : (..., K) float
        Divisors of the covariances S_k of the classes; their sum is the divisor of the pooled covariance S.
    variances : (K,) float
        Average variances tr(S_k)/p of the classes over p columns.
    variance : float
        Average variance tr(S)/p of the pooled covariance.

    Returns
    -------
    class_weights, pooled_weights, ridge : (..., K) float
        Weights o, c and r of the covariance of the class, the pooled covariance, and the identity.

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
        mixed_divisors = alpha * divisors + (1 - alpha) * total
        class_weights = alpha * divisors / mixed_divisors
        pooled_weights = (1 - alpha) * total / mixed_divisors
    else:
        class_weights = alpha * ones
        pooled_weights = (1 - alpha) * ones
    return (
        (1 - gamma) * class_weights,
        (1 - gamma) * pooled_weights,
        gamma * (class_weights * variances + pooled_weights * variance),
    )


@dataclass(frozen=True, slots=True, eq=False)
class MixingScatters:
    """Scatter matrices of the classes in the units in which they are mixed.

    Attributes
    ----------
    moments : ClassMoments
        Moments by class.
    unit : (p,) float
        Factors by which z of the moments is multiplied.
    class_scatters : (K, p, p) float
        Scatters W_k of the classes, of z * unit.
    pooled_scatter : (p, p) float
        Their sum W.
    divisors : (K,) float
        Divisors of the class scatters; their sum is the divisor of the pooled scatter.
    n_data_columns : int
        Number of columns of the data, which exceeds p if the moments refer to coordinates on the span of few
        rows.
    """

    moments: ClassMoments
    unit: Floats
    class_scatters: Floats
    pooled_scatter: Floats
    divisors: Floats
    n_data_columns: int

    @staticmethod
    def in_data_units(
        moments: ClassMoments, method: str, n_data_columns: int | None = None
    ) -> MixingScatters:
        """Return scatters in the units of the data times a power of two, to which the identity refers.

        Parameters
        ----------
        moments : ClassMoments
            Moments by class.
        method : {"moment", "mle"}
            Divisors n_k - 1, or n_k.
        n_data_columns : int, optional
            Number of columns of the data; by default of the moments.

        Returns
        -------
        MixingScatters
            With `unit` the common unit of the moments.
        """
        return MixingScatters._in_units(moments.common_unit, moments, method, n_data_columns)

    @staticmethod
    def unitless(moments: ClassMoments, method: str, n_data_columns: int | None = None) -> MixingScatters:
        """Return scatters of columns with a pooled sum of squares of one, for mixtures without a ridge.

        Parameters
        ----------
        moments : ClassMoments
            Moments by class.
        method : {"moment", "mle"}
            Divisors n_k - 1, or n_k.
        n_data_columns : int, optional
            Number of columns of the data; by default of the moments.

        Returns
        -------
        MixingScatters
            Columns that are constant within classes keep their unit.
        """
        sd = np.sqrt(moments.squares.sum(axis=0))
        return MixingScatters._in_units(1.0 / np.where(sd > 0, sd, 1.0), moments, method, n_data_columns)

    @staticmethod
    def _in_units(
        unit: Floats, moments: ClassMoments, method: str, n_data_columns: int | None
    ) -> MixingScatters:
        """Return the scatters of z * unit, for factors `unit` (p,).

        `method` determines the divisors; `n_data_columns` is None if the moments refer to the data columns.
        """
        class_scatters = moments.scatters * unit * unit[:, None]
        divisors = divisors_by_class(moments.counts, method)
        p = moments.n_columns if n_data_columns is None else n_data_columns
        return MixingScatters(moments, unit, class_scatters, class_scatters.sum(axis=0), divisors, p)

    @property
    def traces(self) -> Floats:
        """Traces (K,) of the scatters of the classes, of z * unit."""
        return np.asarray(np.trace(self.class_scatters, axis1=1, axis2=2))

    @property
    def complement_dim(self) -> int:
        """Number of columns of the data minus the number of coordinates, in which nothing varies."""
        return self.n_data_columns - self.moments.n_columns


MIN_ROUNDING_RATIO = 1e8
"""Smallest accepted ratio of 1 - f c e'(L + r I)^-1 e to the rounding errors of the eigenvalues."""

MIN_RATIO_AS_DIFFERENCE = 1e-6
"""Smallest accepted value of 1 - f c e'(L + r I)^-1 e."""

MIN_EIGENVALUE_RATIO = 1e-4
"""Ratio of smallest to largest eigenvalue above which scatters are as accurate as their roots."""


def rda_leave_one_out_scorer(
    moments: ClassMoments,
    pair: Regularization,
    parametrization: Parametrization,
    method: str,
    log_prior: Floats,
) -> LeaveOneOutScorer:
    """Return the leave-one-out scorer for one pair of alpha and gamma.

    Parameters
    ----------
    moments : ClassMoments
        Moments by class, or with thin roots by class; the covariances of the fit are not singular.
    pair : Regularization
        Values of alpha and gamma.
    parametrization : {"esl", "friedman", "klar"}
        Definition of the weights of the mixture in terms of alpha and gamma.
    method : {"moment", "mle"}
        Divisors n_k - 1 and N - K, or n_k and N.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.

    Returns
    -------
    LeaveOneOutScorer
        Scores are the log prior plus the log density up to a constant; NaN for rows that require a refit.
    """
    span = RowSpan.from_moments(moments) if moments.scatter_type == "thin class" else None
    fitted_moments, columns = (moments, None) if span is None else (span.moments, span.n_columns)
    (group,) = leave_one_out_groups(fitted_moments, [pair], parametrization, method, log_prior, columns)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute the scores (m, K) of rows x (m, p), each without itself.

        Parameters
        ----------
        x : (m, p) float
            Rows, in the units of the data.
        codes : (m,) int
            Positions of the classes of the rows.
        weights : (m,) float, optional
            Weights of the rows; by default one.

        Returns
        -------
        (m, K) float
            Log prior plus log density up to a constant for each row; NaN for rows that require a refit.
        """
        x = x if span is None else span.coordinates(x)
        return np.asarray(group.scores(x, codes, weights)[0].T)

    return scores


def leave_one_out_groups(
    moments: ClassMoments,
    pairs: Sequence[Regularization],
    parametrization: Parametrization,
    method: str,
    log_prior: Floats,
    n_data_columns: int | None = None,
) -> list[LeaveOneOutGroup]:
    """Group pairs of alpha and gamma that share decompositions, for their leave-one-out scores.

    Parameters
    ----------
    moments : ClassMoments
        Moments by class; the covariances of the fits are not singular.
    pairs : sequence of Regularization
        Pairs of alpha and gamma.
    parametrization : {"esl", "friedman", "klar"}
        Definition of the weights of the mixture in terms of alpha and gamma.
    method : {"moment", "mle"}
        Divisors n_k - 1 and N - K, or n_k and N.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    n_data_columns : int, optional
        Number of columns of the data, if the moments refer to fewer coordinates.

    Returns
    -------
    list of LeaveOneOutGroup
        Each pair is in one group.
    """
    scatters = MixingScatters.in_data_units(limit_scales(moments), method, n_data_columns)
    unitless = MixingScatters.unitless(moments, method, n_data_columns)
    sources = [_ScattersWithRoots.from_scatters(scatters), _ScattersWithRoots.from_scatters(unitless)]
    pairs_by_share: dict[tuple[bool, float], list[int]] = {}
    for i, pair in enumerate(pairs):
        class_weights, pooled_weights, ridge = regularized_mixture(
            parametrization, pair, scatters.divisors, np.ones(len(scatters.divisors)), 1.0
        )
        class_share = (
            class_weights[0] / (class_weights[0] + pooled_weights[0])
            if class_weights[0] + pooled_weights[0] > 0
            else 0.0
        )
        pairs_by_share.setdefault((not ridge.any(), round(float(class_share), 12)), []).append(i)
    groups = []
    for (is_unitless, _), pair_index in pairs_by_share.items():
        mixer = _MixtureGroup(sources[is_unitless], [pairs[i] for i in pair_index], parametrization)
        groups.append(
            LeaveOneOutGroup(np.array(pair_index), mixer, log_prior, lru_cache(maxsize=2)(mixer.bases))
        )
    return groups


@dataclass(frozen=True, slots=True, eq=False)
class _Basis:
    """Axes on which the mixtures of one class are diagonal, for left-out rows of this class or of others.

    The reference of the group is the mixture a W_k + b W of the pair with the largest a + b. In the others a
    and b have the same ratio.

    Attributes
    ----------
    axes : (p, p) float
        Matrix that maps deviations in z to projections e.
    eigenvalues : (p,) float
        Eigenvalues of the reference.
    mean_differences : (p, K) float
        Projections of the class means minus the mean of this class.
    eigenvalue_ratios : (G,) float
        Ratios of the eigenvalues of each pair to the eigenvalues of the reference.
    downdate_coefs : (G,) float
        Coefficient f of the matrix f c e e' that leaving out a row subtracts.
    class_trace_coefs, pooled_trace_coefs : (G,) float
        Coefficients of tr(W_k) and tr(W), both without the row, in the ridge r.
    """

    axes: Floats
    eigenvalues: Floats
    mean_differences: Floats
    eigenvalue_ratios: Floats
    downdate_coefs: Floats
    class_trace_coefs: Floats
    pooled_trace_coefs: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _ScattersWithRoots:
    """Scatters that are mixed, with their means and, if available, their roots.

    Attributes
    ----------
    scatters : MixingScatters
        Scatters in the units in which they are mixed.
    means : (K, p) float
        Class means in z.
    roots : (K, p, p) float or None
        Upper triangular roots of the scatters of the classes, of z * unit; None if the moments lack roots.
    root : (p, p) float or None
        Upper triangular root of the pooled scatter.
    """

    scatters: MixingScatters
    means: Floats
    roots: Floats | None
    root: Floats | None

    @staticmethod
    def from_scatters(scatters: MixingScatters) -> _ScattersWithRoots:
        """Construct the object, with means and roots from the moments of the scatters."""
        roots = None if scatters.moments.roots is None else scatters.moments.roots * scatters.unit
        root = None if roots is None else triangular_root(roots.reshape(-1, len(scatters.unit)))
        return _ScattersWithRoots(scatters, scatters.moments.means, roots, root)

    def decompose(self, k: int, a: float, b: float, ridge: float) -> tuple[Floats, Floats]:
        """Return eigenvalues and eigenvectors of a W_k + b W, with scatters of z * `scatters.unit`.

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
            In any order, at least zero.
        eigenvectors : (p, p) float
            In columns.
        """
        eigenvalues, vectors = np.linalg.eigh(
            a * self.scatters.class_scatters[k] + b * self.scatters.pooled_scatter
        )
        if (
            self.roots is not None
            and self.root is not None
            and not eigenvalues[0] + ridge > MIN_EIGENVALUE_RATIO * eigenvalues[-1]
        ):
            stacked = np.concatenate([np.sqrt(a) * self.roots[k], np.sqrt(b) * self.root])
            _, singular_values, axes = svd(triangular_root(stacked))
            return singular_values**2, axes.T
        return np.maximum(eigenvalues, 0.0), vectors


@dataclass(frozen=True, slots=True)
class _MixtureGroup:
    """Mixtures of a group of pairs that have the same axes.

    Attributes
    ----------
    scatters_with_roots : _ScattersWithRoots
        Scatters that are mixed.
    pairs : list of Regularization
        Pairs of alpha and gamma.
    parametrization : {"esl", "friedman", "klar"}
        Definition of the weights of the mixture in terms of alpha and gamma.
    """

    scatters_with_roots: _ScattersWithRoots
    pairs: list[Regularization]
    parametrization: Parametrization

    @property
    def scatters(self) -> MixingScatters:
        """The scatters that are mixed."""
        return self.scatters_with_roots.scatters

    def bases(self, weight: float) -> list[tuple[_Basis | None, _Basis]]:
        """Compute the bases of each class if the weight `weight` of a row is left out.

        Returns
        -------
        list of K (_Basis or None, _Basis)
            For each class, the basis for left-out rows of the class and for left-out rows of other classes.
            The first is None if the class has no covariance without the row: its divisor becomes zero.
        """
        bases = []
        for k, divisor in enumerate(self.scatters.divisors.tolist()):
            is_alone = divisor - weight <= EPS * self.scatters.moments.counts[k]
            bases.append((None if is_alone else self._basis(k, k, weight), self._basis(k, k - 1, weight)))
        return bases

    def _basis(self, k: int, g: int, weight: float) -> _Basis:
        """Compute the basis of class k for left-out rows of class g.

        Parameters
        ----------
        k : int
            Position of the class whose covariance is computed.
        g : int
            Position of the class of the left-out rows. All classes other than k give the same basis.
        weight : float
            Weight that is left out.

        Returns
        -------
        _Basis
            With one coefficient of each kind for each pair of the group.
        """
        scatters = self.scatters
        divisors = scatters.divisors.copy()
        divisors[g] -= weight
        total = divisors.sum()
        p = scatters.n_data_columns
        ones = np.ones(len(divisors))
        zeros = np.zeros(len(divisors))
        mixtures = np.empty((4, len(self.pairs)))
        for j, pair in enumerate(self.pairs):
            class_weights, pooled_weights, from_own = regularized_mixture(
                self.parametrization, pair, divisors, ones, 0.0
            )
            from_pooled = regularized_mixture(self.parametrization, pair, divisors, zeros, 1.0)[2]
            mixtures[:, j] = class_weights[k], pooled_weights[k], from_own[k], from_pooled[k]
        mixtures[[0, 2]] /= divisors[k]
        mixtures[[1, 3]] /= total
        mixtures[2:] /= p
        a, b, from_own, from_pooled = mixtures
        reference = int(np.argmax(a + b))
        reference_sum = a[reference] + b[reference]
        if reference_sum == 0:
            eigenvalues = np.zeros(len(scatters.unit))
            vectors = np.eye(len(scatters.unit))
        else:
            # Traces without a row are smaller. A row that leaves less than MIN_DETERMINANT_RATIO of a trace
            # requires a refit, therefore this is a lower bound of the ridge.
            is_positive = a + b > 0
            ridges = (from_own * scatters.traces[k] + from_pooled * scatters.traces.sum())[is_positive]
            ridges *= reference_sum / (a + b)[is_positive]
            eigenvalues, vectors = self.scatters_with_roots.decompose(
                k, a[reference], b[reference], MIN_DETERMINANT_RATIO * float(ridges.min())
            )
        axes = vectors.T * scatters.unit
        mean_differences = axes @ (self.scatters_with_roots.means - self.scatters_with_roots.means[k]).T
        factors = (a + b) / reference_sum if reference_sum > 0 else np.zeros(len(a))
        return _Basis(
            axes,
            eigenvalues,
            mean_differences,
            factors,
            a + b if k == g % len(divisors) else b,
            from_own,
            from_pooled,
        )


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOutGroup:
    """Leave-one-out scores of pairs whose mixtures have the same axes.

    Attributes
    ----------
    positions : (G,) int
        Positions of the pairs among all pairs of `leave_one_out_groups`.
    mixtures : _MixtureGroup
        Mixtures of the pairs.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    bases : callable
        `_MixtureGroup.bases` with a cache: returns the bases for a weight that is left out.
    """

    positions: Codes
    mixtures: _MixtureGroup
    log_prior: Floats
    bases: Callable[[float], list[tuple[_Basis | None, _Basis]]]

    def scores(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute the scores of rows of the fit, each without itself.

        Parameters
        ----------
        x : (m, p) float
            Rows, in the units of the moments: the data, or coordinates on the span of few rows.
        codes : (m,) int
            Class of each row.
        weights : (m,) float, optional
            Weights of the rows; by default one.

        Returns
        -------
        (G, K, m) float
            Log prior plus log density up to a constant. NaN for rows that require a refit.
        """
        left_out_weights = np.ones(len(codes)) if weights is None else np.minimum(weights, 1.0)
        scores = np.empty((len(self.positions), len(self.log_prior), len(codes)))
        for weight in np.unique(left_out_weights).tolist():
            self._fill_scores(scores, x, codes, np.flatnonzero(left_out_weights == weight), weight)
        return scores

    def _fill_scores(self, scores: Floats, x: Floats, codes: Codes, rows: Codes, weight: float) -> None:
        """Store the scores of rows that have the same left-out weight.

        Parameters
        ----------
        scores : (G, K, m) float
            Changed in place, for the selected rows.
        x : (m, p) float
            Rows, in the units of the moments.
        codes : (m,) int
            Class of each row.
        rows : (j,) int
            Positions of the rows with this weight.
        weight : float
            Weight that is left out.
        """
        scatters = self.mixtures.scatters
        moments = scatters.moments
        bases = self.bases(weight)
        row_classes = codes[rows]
        d = deviations_from_class_means(moments, x[rows], row_classes)
        squares = column_squares(d * scatters.unit[:, None])
        class_weights = moments.counts[row_classes]
        with np.errstate(divide="ignore", invalid="ignore"):
            c = weight * class_weights / (class_weights - weight)
        for k, (own_basis, other_basis) in enumerate(bases):
            for basis, is_included in ((own_basis, row_classes == k), (other_basis, row_classes != k)):
                selected = np.flatnonzero(is_included)
                if not selected.size:
                    continue
                if basis is None:
                    scores[:, :, rows[selected]] = np.nan
                    continue
                e = basis.axes @ d[:, selected]
                removed_traces = c[selected] * squares[selected]
                if basis is own_basis:
                    mean_deviations = e * (class_weights[selected] / (class_weights[selected] - weight))
                    class_trace: Floats | float = _remaining_trace(float(scatters.traces[k]), removed_traces)
                else:
                    mean_deviations = e + basis.mean_differences[:, row_classes[selected]]
                    class_trace = float(scatters.traces[k])
                traces = class_trace, _remaining_trace(float(scatters.traces.sum()), removed_traces)
                with np.errstate(divide="ignore", invalid="ignore"):
                    for j in range(len(self.positions)):
                        doubled_scores = _doubled_scores(
                            basis, j, e, mean_deviations, c[selected], traces, scatters.complement_dim
                        )
                        scores[j, k, rows[selected]] = self.log_prior[k] - 0.5 * doubled_scores
        is_missing = np.isnan(scores[:, :, rows]).any(axis=1)
        for j, row in zip(*np.nonzero(is_missing), strict=True):
            scores[j, :, rows[row]] = np.nan


def _remaining_trace(trace: float, removed_traces: Floats) -> Floats:
    """Return `trace` minus removed traces (m,).

    NaN if less than `MIN_DETERMINANT_RATIO` of the trace remains, because digits are lost.
    """
    return np.where(removed_traces > (1.0 - MIN_DETERMINANT_RATIO) * trace, np.nan, trace - removed_traces)


def _doubled_scores(
    basis: _Basis,
    j: int,
    e: Floats,
    mean_deviations: Floats,
    c: Floats,
    traces: tuple[Floats | float, Floats],
    complement_dim: int,
) -> Floats:
    """Compute ln|Sigma_k| plus the squared distance from class k, with Sigma_k without each row.

    Parameters
    ----------
    basis : _Basis
        Basis of class k.
    j : int
        Position of the pair in the group.
    e : (p, m) float
        Deviations from the means of the rows' classes, in coordinates on the axes of the basis.
    mean_deviations : (p, m) float
        Deviations from the mean of class k without the row, in the same coordinates.
    c : (m,) float
        Factors c of the matrices c d d' that are subtracted from the scatter.
    traces : pair of float or (m,) float
        Traces of W_k and W without the rows.
    complement_dim : int
        Dimension of the complement of the span of the rows.

    Returns
    -------
    (m,) float
        NaN if a trace is NaN, or if the ratio of the determinants without and with the row is so small that
        digits are lost.
    """
    r = np.zeros(1)
    for coefficient, trace in zip(
        (basis.class_trace_coefs[j], basis.pooled_trace_coefs[j]), traces, strict=True
    ):
        if coefficient > 0:
            r = r + coefficient * trace
    diagonal = basis.eigenvalue_ratios[j] * basis.eigenvalues[:, None] + r
    weighted = e / diagonal
    downdate_factors = basis.downdate_coefs[j] * c
    determinant_ratios = 1.0 - downdate_factors * (weighted * e).sum(axis=0)
    smallest, largest = (
        basis.eigenvalue_ratios[j] * eigenvalue + r for eigenvalue in np.sort(basis.eigenvalues)[[0, -1]]
    )
    determinant_ratios = np.where(
        determinant_ratios
        <= np.clip(
            MIN_ROUNDING_RATIO * EPS * largest / smallest, MIN_RATIO_AS_DIFFERENCE, MIN_DETERMINANT_RATIO
        ),
        np.nan,
        determinant_ratios,
    )
    cross = (weighted * mean_deviations).sum(axis=0)
    np.divide(mean_deviations, diagonal, out=weighted)
    d2 = (weighted * mean_deviations).sum(axis=0) + downdate_factors * cross**2 / determinant_ratios
    logdet = np.log(diagonal).sum(axis=0) + np.log(determinant_ratios)
    return np.asarray(logdet + d2 + (complement_dim * np.log(r) if complement_dim else 0.0))
