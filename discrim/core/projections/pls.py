"""Partial least squares discriminant analysis: estimates, leave-one-out scores and permutation statistics.

`fit_pls` fits a model to class moments and returns a `PLSFit`; `left_out_pls_scores`, `q2_by_labelling` and
`r2_by_labelling` evaluate it. The verbs of the family call these functions.

Theory. Columns and class indicators are centred and, on request, divided by their standard deviations over
all rows (divisor N - 1). The indicators are then regressed on the columns by partial least squares (Barker &
Rayens, 2003, Journal of Chemometrics 17, 166-173). Three rules use the scores t of a row and its fitted
indicators: "lda" is linear discriminant analysis of the scores, with posteriors; "max" chooses the class with
the largest fitted indicator; "centroid" chooses the class with the nearest centroid in the space of the
scores. All three are linear in the row.

The components are computed by `discrim.core.projections.latent`.

*A table of K + r rows.* Scores, loadings and fitted values depend on the rows by A'A and A'B alone. With n_k
and m_k the count and mean of class k, m the mean of all rows and R a root of the scatter within classes, let
A have the rows sqrt(n_j) (m_j - m) and the rows of R, and B the rows sqrt(n_j) (delta_jk - n_k / N) and
r rows of zeros. Then A'A and A'B are the sums of products of all rows (see
`discrim.core.regression.indicator`), and both tables have the same components. R has at most as many rows as
there are columns, and at most as many as there are rows. One algorithm therefore serves a million rows of
twenty columns and a hundred rows of five thousand.

*As many components as columns.* Then the scores are a rotation of the columns, and the rule "lda" is linear
discriminant analysis. With one component, two classes and columns that are not scaled, its direction is the
difference of the means, the same as for the rule "centroid" (Brereton & Lloyd, 2014, Journal of Chemometrics
28, 213-225).

*A row left out.* With d a row less the mean of all N, w its weight and g its class, the sums of products of
the remaining rows are

    T - c d d',   c = w N / (N - w),      and      n_k' (m_k' - m') = n_k (m_k - m) + d e_k,

with e_k = n_k' w / (N - w), minus w for k = g, and n_k' the counts without the row. Both are rank-one updates
of the full-data quantities, and the components need only products with T and d: with the sums of products
S = A'B and r the rotation of a component, its loadings are T r / r'T r, and the loadings of the indicators
are S'r / r'T r. Only S is deflated (Dayal & MacGregor, 1997, Journal of Chemometrics 11, 73-85). Columns and
indicators are scaled by the standard deviations of the remaining rows. The within-class covariance of the
scores is U - c_g h h', with h the row minus its class mean in the directions of the rotations; it is inverted
by the Sherman-Morrison formula.

If a difference loses too many digits, the scores of the row are NaN and the caller refits without it.

*Many labellings* of the same rows are compared by Q2, with folds that do not depend on the labels. The
centred and scaled columns Z of the training rows are the same for all labels. If Z has more rows than
columns, Z = QR, Z'Z = R'R and Z'Y = R'(Q'Y), and each labelling is fitted to R and Q'Y, which have one row
per column of Z. Otherwise Z = R'Q' by the QR decomposition of Z'; a rotation of the columns changes no fitted
value, and each labelling is fitted to R', which has one column per row of Z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from discrim.core.covariance.covariance import constant_columns, scaled_cholesky, total_squares
from discrim.core.covariance.principal import weighted_centre
from discrim.core.errors import InvalidStateError
from discrim.core.moments.derived_moments import limit_scales
from discrim.core.moments.moments import MIN_EXCESS_WEIGHT, ClassMoments, standardize_columns
from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask, slices
from discrim.core.projections.latent import (
    MAX_WIDTH_RATIO,
    Algorithm,
    Latent,
    fit_latent,
    fit_orthogonal_latents,
    fit_sparse_latent,
    latent_from_rotations,
)
from discrim.core.rules.gaussian import Means, move_origin, nearest_mean_rule, rule_about_zero
from discrim.core.rules.leave_one_out import MIN_DETERMINANT_RATIO, LeaveOneOutScorer, refit_each_row
from discrim.core.rules.rules import LinearRule, NoLikelihood, require_plugin_method

MAX_BLOCK_VALUES = 2**18
"""Maximum number of elements of a row-by-class-by-column array that is in memory at once."""

MIN_REMAINING_SQUARES = 1e-3
"""Proportion of a column's sum of squares that has to remain without a row; otherwise the row is refitted."""

MIN_PRODUCT_SQUARES = 1e-12
"""Proportion of the sum of squares of A'B; up to it, the one of the deflated product counts as zero."""


@dataclass(frozen=True, slots=True, eq=False)
class _FullProducts:
    """Matrix products of the full data that leave-one-out updates start from; symbols as in the module.

    Columns are centred at the mean of all rows and divided by `PLSFit.column_scale`.

    Attributes
    ----------
    columns : (K + r, p) float
        The columns A of `small_tables`.
    products : (p, p) float or None
        A'A; None if A has many more columns than rows.
    squares : (p,) float
        Diagonal of A'A.
    means : (K, p) float
        Class means of the columns.
    indicators : (K, p) float
        Sums of products of the 0/1 class indicators with the columns, n_k times `means`.
    """

    columns: Floats
    products: Floats | None
    squares: Floats
    means: Floats
    indicators: Floats

    @classmethod
    def from_fit(cls, fit: PLSFit) -> _FullProducts:
        """Compute the products of all rows of a fit."""
        columns = small_tables(fit.moments, scale=fit.scale, indicator_scaling=fit.indicators).columns
        is_wide = columns.shape[1] > MAX_WIDTH_RATIO * columns.shape[0]
        means = (fit.moments.means_from(fit.origin) - fit.centre) / fit.column_scale
        products = None if is_wide else columns.T @ columns
        return cls(columns, products, (columns**2).sum(axis=0), means, fit.moments.counts[:, None] * means)

    def multiply(self, v: Floats) -> Floats:
        """Return v A'A (m, p) for rows v (m, p)."""
        if self.products is not None:
            return np.asarray(v @ self.products)
        return np.asarray(v @ self.columns.T @ self.columns)

    def multiply_within_root(self, v: Floats) -> Floats:
        """Return v R' (m, r) for rows v (m, p), with R (r, p) the root of the within-class scatter."""
        return np.asarray(v @ self.columns[len(self.means) :].T)


class _LeftOutRows(NamedTuple):
    """Rows left out one at a time, with the statistics of the remaining rows for each of them.

    See the module docstring for the symbols.

    Attributes
    ----------
    deviations : (m, p) float
        The rows d minus the mean of all rows, divided by `PLSFit.column_scale`.
    codes : (m,) int
        Class g of each row.
    left_out_weights : (m,) float
        Weight w that is left out.
    downdate_factors : (m,) float
        The factor c.
    counts : (m, K) float
        Class counts n_k' of the remaining rows.
    total : (m,) float
        Total count N - w of the remaining rows.
    mean_updates : (m, K) float
        The terms e_k.
    unit_ratios : (m, p) float
        `PLSFit.column_scale` divided by the scale of the column without the row; one if columns are not
        scaled.
    sizes : (m, K) float
        Divisors of the indicators without the row; one if indicators are not scaled.
    is_unreliable : (m,) bool
        Rows whose scores are inaccurate; the functions below update it in place.
    """

    deviations: Floats
    codes: Codes
    left_out_weights: Floats
    downdate_factors: Floats
    counts: Floats
    total: Floats
    mean_updates: Floats
    unit_ratios: Floats
    sizes: Floats
    is_unreliable: Mask


class _Component(NamedTuple):
    """One component for each left-out row.

    Attributes
    ----------
    rotation : (m, p) float
        Rotation of columns divided by `PLSFit.column_scale`, the scale of the full data.
    y_loadings : (m, K) float
        Slopes of the scaled indicators on the scores.
    """

    rotation: Floats
    y_loadings: Floats


def left_out_pls_scores(
    fit: PLSFit, x: Floats, codes: Codes, weights: Floats | None, log_prior: Floats
) -> Floats:
    """Compute leave-one-out scores with the prior and the number of components of the fit.

    Parameters
    ----------
    fit : PLSFit
        The fit to all rows, without orthogonal or sparse components.
    x : (m, p) float
        Rows of the fit, in the units of the data.
    codes : (m,) int
        Class of each row.
    weights : (m,) float or None
        Frequency weights, of which at most one unit is left out; None if all are one.
    log_prior : (K,) float
        Logarithms of the prior probabilities; used by the rule "lda" only.

    Returns
    -------
    (m, K) float
        Fitted indicators for "max", minus half the squared distance of the scores to the centroid for
        "centroid", and log prior minus half the squared Mahalanobis distance for "lda". NaN in rows for
        which the update is inaccurate and a refit is needed.
    """
    full_products = _FullProducts.from_fit(fit)
    scores = np.empty((len(x), len(log_prior)))
    for row_slice in slices(len(x), max(MAX_BLOCK_VALUES // max(full_products.means.size, 1), 1)):
        z = standardize_columns(x[row_slice], fit.origin, fit.moments.scale) - fit.centre[:, None]
        left_out_weights = np.ones(z.shape[1]) if weights is None else np.minimum(weights[row_slice], 1.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            left_out = _left_out_statistics(
                fit, full_products, (z / fit.column_scale[:, None]).T, codes[row_slice], left_out_weights
            )
            scores[row_slice] = _left_out_scores(fit, full_products, left_out, log_prior)
            scores[row_slice][left_out.is_unreliable] = np.nan
    return scores


def _left_out_statistics(
    fit: PLSFit, full_products: _FullProducts, d: Floats, codes: Codes, left_out_weights: Floats
) -> _LeftOutRows:
    """Compute the statistics of the remaining rows for each left-out row.

    Parameters
    ----------
    fit : PLSFit
        The fit to all rows.
    full_products : _FullProducts
        Products of the full data.
    d : (m, p) float
        The rows minus the mean of all rows, divided by `fit.column_scale`.
    codes : (m,) int
        Class of each row.
    left_out_weights : (m,) float
        Weight that is left out.

    Returns
    -------
    _LeftOutRows
        Unreliable are rows that are alone in their class, leave a total weight of at most K, or leave at most
        `MIN_REMAINING_SQUARES` of the sum of squares of a column, if columns are scaled.
    """
    is_member = np.equal(codes[:, None], np.arange(len(full_products.means)))
    counts = fit.moments.counts - is_member * left_out_weights[:, None]
    total = fit.moments.total - left_out_weights
    downdate_factors = left_out_weights * fit.moments.total / total
    mean_updates = counts * (left_out_weights / total)[:, None] - is_member * left_out_weights[:, None]
    unit_ratios = np.ones_like(d)
    is_unreliable = (counts[is_member] <= EPS * fit.moments.total) | (
        total <= counts.shape[1] * (1 + MIN_EXCESS_WEIGHT)
    )
    if fit.scale:
        remaining_squares = full_products.squares - downdate_factors[:, None] * d**2
        is_unreliable |= (remaining_squares <= MIN_REMAINING_SQUARES * full_products.squares).any(axis=1)
        remaining_squares[is_unreliable] = 1.0
        unit_ratios = np.sqrt(
            np.divide(
                (total - 1)[:, None], remaining_squares, out=np.zeros_like(d), where=remaining_squares > 0
            )
        )
    sizes = np.ones_like(counts)
    if fit.indicators == "scaled":
        sizes = np.sqrt(counts * (1 - counts / total[:, None]) / (total - 1)[:, None])
    return _LeftOutRows(
        d,
        codes,
        left_out_weights,
        downdate_factors,
        counts,
        total,
        mean_updates,
        unit_ratios,
        sizes,
        is_unreliable,
    )


def _left_out_components(
    fit: PLSFit, full_products: _FullProducts, left_out: _LeftOutRows
) -> list[_Component]:
    """Compute the components without each row, and mark rows for which they are inaccurate.

    Parameters
    ----------
    fit : PLSFit
        The fit to all rows.
    full_products : _FullProducts
        Products of the full data.
    left_out : _LeftOutRows
        The left-out rows; those with inaccurate results are marked as unreliable.

    Returns
    -------
    list of _Component
        One element for each component of the fit, with arrays over the left-out rows. Marked are rows without
        which A'B vanishes before the last component (`MIN_PRODUCT_SQUARES`), or at most
        `MIN_DETERMINANT_RATIO` of the sum of squares of a score remains.
    """
    product = (
        full_products.indicators[None] + left_out.mean_updates[:, :, None] * left_out.deviations[:, None, :]
    )
    product *= left_out.unit_ratios[:, None, :]
    product /= left_out.sizes[:, :, None]
    min_squares = MIN_PRODUCT_SQUARES * np.einsum("mkp,mkp->m", product, product)
    components: list[_Component] = []
    rotations: list[Floats] = []
    loadings: list[Floats] = []
    for _ in range(fit.components):
        values, vectors = np.linalg.eigh(
            _replace_nonfinite(product @ np.swapaxes(product, 1, 2), left_out.is_unreliable)
        )
        left_out.is_unreliable[values[:, -1] <= min_squares] = True
        w = np.einsum("mk,mkp->mp", vectors[:, :, -1], product)
        w /= np.sqrt((w**2).sum(axis=1))[:, None]
        r = w.copy()
        if fit.algorithm == "nipals":
            for earlier, earlier_rotation in zip(loadings, rotations, strict=True):
                r -= (earlier * w).sum(axis=1)[:, None] * earlier_rotation
        rotation = left_out.unit_ratios * r
        own_scores = (left_out.deviations * rotation).sum(axis=1)
        full_loadings = full_products.multiply(rotation)
        squares = (full_loadings * rotation).sum(axis=1)
        remaining_squares = squares - left_out.downdate_factors * own_scores**2
        left_out.is_unreliable[~(remaining_squares > MIN_DETERMINANT_RATIO * squares)] = True
        p = (
            left_out.unit_ratios
            * (full_loadings - (left_out.downdate_factors * own_scores)[:, None] * left_out.deviations)
            / remaining_squares[:, None]
        )
        indicator_products = np.einsum("mkp,mp->mk", product, r)
        components.append(_Component(rotation, indicator_products / remaining_squares[:, None]))
        rotations.append(r)
        if fit.algorithm == "nipals":
            loadings.append(p)
            product -= indicator_products[:, :, None] * p[:, None, :]
        else:
            axis = p.copy()
            for _ in range(2):
                for earlier in loadings:
                    axis -= (earlier * axis).sum(axis=1)[:, None] * earlier
            axis /= np.sqrt((axis**2).sum(axis=1))[:, None]
            loadings.append(axis)
            product -= np.einsum("mkp,mp->mk", product, axis)[:, :, None] * axis[:, None, :]
    return components


def _replace_nonfinite(products: Floats, is_unreliable: Mask) -> Floats:
    """Replace matrices (m, q, q) of unreliable rows, and nonfinite ones, by the identity, in place.

    `is_unreliable` (m,) is also updated in place: rows with nonfinite matrices are unreliable.
    """
    is_invalid = is_unreliable | ~np.isfinite(products).all(axis=(1, 2))
    is_unreliable |= is_invalid
    products[is_invalid] = np.eye(products.shape[1])
    return products


def _left_out_scores(
    fit: PLSFit, full_products: _FullProducts, left_out: _LeftOutRows, log_prior: Floats
) -> Floats:
    """Compute leave-one-out scores for a block of rows.

    Parameters
    ----------
    fit : PLSFit
        The fit to all rows.
    full_products : _FullProducts
        Products of the full data.
    left_out : _LeftOutRows
        The left-out rows; those with inaccurate results are marked as unreliable.
    log_prior : (K,) float
        Logarithms of the prior probabilities; used by the rule "lda" only.

    Returns
    -------
    (m, K) float
        Scores of the rule `fit.decides`, as in `left_out_pls_scores`, but meaningless instead of NaN in
        unreliable rows.
    """
    components = _left_out_components(fit, full_products, left_out)
    total_ratio = fit.moments.total / left_out.total
    own_scores = np.stack(
        [(left_out.deviations * component.rotation).sum(axis=1) for component in components], axis=1
    )
    t = own_scores * total_ratio[:, None]
    if fit.decides == "max":
        slopes = (
            np.stack([component.y_loadings for component in components], axis=2) * left_out.sizes[:, :, None]
        )
        return np.asarray(left_out.counts / left_out.total[:, None] + np.einsum("mka,ma->mk", slopes, t))
    sums = np.stack([component.rotation @ full_products.indicators.T for component in components], axis=2)
    centroids = (sums + left_out.mean_updates[:, :, None] * own_scores[:, None, :]) / left_out.counts[
        :, :, None
    ]
    differences = t[:, None, :] - centroids
    if fit.decides == "centroid":
        return np.asarray(-0.5 * (differences**2).sum(axis=2))
    within = np.stack(
        [full_products.multiply_within_root(component.rotation) for component in components], axis=1
    )
    within_products = _replace_nonfinite(within @ np.swapaxes(within, 1, 2), left_out.is_unreliable)
    row_index = np.arange(len(t))
    class_factors = (
        left_out.left_out_weights
        * fit.moments.counts[left_out.codes]
        / left_out.counts[row_index, left_out.codes]
    )
    h = (
        own_scores
        - np.stack([component.rotation @ full_products.means.T for component in components], axis=2)[
            row_index, left_out.codes
        ]
    )
    sizes = np.sqrt(np.einsum("maa->ma", within_products))
    unit = within_products / sizes[:, :, None] / sizes[:, None, :]
    left_out.is_unreliable[
        np.linalg.eigvalsh(_replace_nonfinite(unit, left_out.is_unreliable))[:, 0] <= EPS**0.5
    ] = True
    unit[left_out.is_unreliable] = np.eye(unit.shape[1])
    vectors = np.concatenate([differences, h[:, None, :]], axis=1) / sizes[:, None, :]
    solved = np.linalg.solve(unit, np.swapaxes(vectors, 1, 2))
    one_minus_leverage = 1.0 - class_factors * (vectors[:, -1] * solved[:, :, -1]).sum(axis=1)
    left_out.is_unreliable[~(one_minus_leverage > MIN_DETERMINANT_RATIO)] = True
    d2 = np.einsum("mka,mak->mk", vectors[:, :-1], solved[:, :, :-1])
    cross = np.einsum("ma,mak->mk", vectors[:, -1], solved[:, :, :-1])
    d2 += (class_factors / one_minus_leverage)[:, None] * cross**2
    df = left_out.total - len(log_prior)
    return np.asarray(log_prior - 0.5 * df[:, None] * d2)


@dataclass(frozen=True, slots=True, eq=False)
class EngineComponents:
    """Components computed by a function outside this package (`algorithm` "engine").

    Attributes
    ----------
    weights, loadings, rotations : (p, a) float
        Weights, loadings and rotations, as in `Latent`, for columns z divided by `PLSFit.column_scale`.
    """

    weights: Floats
    loadings: Floats
    rotations: Floats

    def fit_latent(self, a: Floats, b: Floats) -> Latent:
        """Return a `Latent` with these weights, loadings and rotations, none of them orthogonal.

        Scores and slopes of the responses follow from centred columns a (r, p) and responses b (r, q).
        """
        return latent_from_rotations(a, b, self.weights, self.loadings, self.rotations)


class PLSOptions(NamedTuple):
    """Options of the partial least squares regression of the indicators.

    Attributes
    ----------
    components : int
        Maximum number of components; not used if `orthogonal` is positive.
    algorithm : {"nipals", "simpls", "engine"}
        Algorithm that computes the components.
    scale : bool
        Whether columns are divided by their standard deviations over all rows (divisor N - 1).
    scaled_indicators : bool
        Whether indicators are divided by their standard deviations (divisor N - 1).
    orthogonal : int
        Maximum number of orthogonal components, in addition to as many predictive ones as the rank of the
        indicators.
    nonzero : tuple of int
        Number of columns that each component may use (sparse NIPALS); empty if all may be used.
    """

    components: int
    algorithm: Algorithm
    scale: bool
    scaled_indicators: bool
    orthogonal: int = 0
    nonzero: tuple[int, ...] = ()

    def fit_latent(self, a: Floats, b: Floats) -> Latent:
        """Compute the components of centred, scaled columns a (r, p) and responses b (r, q).

        The result has fewer components, possibly none, if the columns stop covarying with the responses. The
        algorithm has no effect on orthogonal and sparse components.
        """
        if self.orthogonal:
            return fit_orthogonal_latents(a, b, self.orthogonal)[-1]
        if self.nonzero:
            return fit_sparse_latent(a, b, self.nonzero[: self.components])
        return fit_latent(a, b, self.components, self.algorithm)


Decides = Literal["lda", "max", "centroid"]
"""Classification rules: LDA of the scores, largest fitted indicator, nearest centroid of the scores."""
Indicators = Literal["scaled", "centred"]
"""Whether class indicators are only centred, or also divided by their standard deviations over all rows."""


@dataclass(frozen=True, slots=True, eq=False)
class SmallTables:
    """Small tables A and B with the same sums of products as the full data, see the module docstring.

    Attributes
    ----------
    columns : (K + r, p) float
        Columns z divided by `unit`. The first K rows are the class means minus the overall mean, times the
        root of the class count; the other r are a root of the within-class scatter.
    indicators : (K + r, K) float
        Indicators divided by `sizes`; the last r rows are zero.
    unit : (p,) float
        Divisor of each column of z: with scaling its standard deviation over all rows, infinite for a
        constant column; otherwise the factor that restores the relative sizes in the units of the data.
    sizes : (K,) float
        Divisor of each indicator: its standard deviation, or one.
    """

    columns: Floats
    indicators: Floats
    unit: Floats
    sizes: Floats


@dataclass(frozen=True, slots=True, eq=False)
class PLSFit(NoLikelihood):
    """Estimates of a partial least squares discriminant analysis of K classes and p columns.

    Attributes
    ----------
    moments : ClassMoments
        Moments with a pooled scatter (p, p) or a pooled thin root (m, p), m <= p.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    components : int
        Number of components a.
    algorithm : {"nipals", "simpls", "engine"}
        Algorithm that computed the components.
    scale : bool
        Whether columns are divided by their standard deviations.
    indicators : {"scaled", "centred"}
        Whether indicators are divided by their standard deviations.
    decides : {"lda", "max", "centroid"}
        The classification rule: linear discriminant analysis of the scores ("lda"), the largest fitted
        indicator ("max"), or the nearest class centroid of the scores ("centroid").
    column_scale : (p,) float
        Divisors of the columns, in the coordinates z of the moments; infinite for a constant column if
        columns are scaled. Without scaling, they restore the relative sizes in the units of the data.
    sizes : (K,) float
        Divisors of the indicators.
    latent : Latent
        Components of z, minus the mean of all rows, divided by `column_scale`.
    within : (a, a) float
        Upper triangular R with R'R the within-class sums of products of the scores, not divided by the
        degrees of freedom; its diagonal can be negative.
    origin : (p,) float
        Overall mean of the rows in the units of the data, rounded.
    centre : (p,) float
        Overall mean minus `origin`, in units of z.
    nonzero : tuple of int
        Number of columns that each component may use; empty if all may be used.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    components: int
    algorithm: Algorithm
    scale: bool
    indicators: Indicators
    decides: Decides
    column_scale: Floats
    sizes: Floats
    latent: Latent
    within: Floats
    origin: Floats
    centre: Floats
    nonzero: tuple[int, ...] = ()

    has_distances = False
    no_likelihood = "no_likelihood_of_pls"
    no_parameters = "no_parameters_of_pls"

    @property
    def chosen_algorithm(self) -> dict[str, int]:
        """Resolved option `algorithm`: {"n": number of orthogonal components}, or {} without them."""
        return {"n": self.orthogonal} if self.orthogonal else {}

    @property
    def score_unit(self) -> float:
        """Factor by which scores are multiplied to get the units of the data; one if columns are scaled."""
        return 1.0 if self.scale else float(1.0 / self.moments.scale.min())

    @property
    def regressed(self) -> PLSOptions:
        """Options of the regression of the indicators."""
        scaled = self.indicators == "scaled"
        return PLSOptions(self.components, self.algorithm, self.scale, scaled, self.orthogonal, self.nonzero)

    @property
    def engine_components(self) -> EngineComponents | None:
        """Components computed by an engine; None for the built-in algorithms."""
        latent = self.latent
        is_by_engine = self.algorithm == "engine"
        return EngineComponents(latent.weights, latent.loadings, latent.rotations) if is_by_engine else None

    @property
    def orthogonal(self) -> int:
        """Number of components that are orthogonal to the indicators. They are the last ones."""
        return self.latent.orthogonal

    @property
    def n_predictive(self) -> int:
        """Number of components that are not orthogonal to the indicators."""
        return self.components - self.orthogonal

    @property
    def residual_df(self) -> float:
        """Residual degrees of freedom, N - K."""
        return self.moments.total - self.moments.n_classes

    @property
    def class_proportions(self) -> Floats:
        """Class proportions (K,) of the rows, which are the means of the indicators."""
        return np.asarray(self.moments.counts / self.moments.total)

    @property
    def centroids(self) -> Floats:
        """Class means (K, a) of the scores; the weighted mean of all rows is zero."""
        return (self.moments.means_from(self.origin) - self.centre) @ self._score_matrix()

    def _score_matrix(self) -> Floats:
        """Return the matrix M (p, a): Z M are the scores (m, a) of rows Z (m, p).

        Rows of Z are z = (x - origin) * scale minus `centre`, with the scale of the moments.
        """
        return np.asarray(self.latent.rotations / self.column_scale[:, None])

    def residual_error(self) -> float:
        """Return the root mean square error of the fitted indicators, in units of 0/1 indicators.

        The divisor is K (N - 1 - number of components).
        """
        indicators = self.moments.total * self.class_proportions * (1 - self.class_proportions)
        fitted = (self.latent.y_loadings**2 @ self.latent.squares) * self.sizes**2
        residual_squares = np.maximum(indicators - fitted, 0.0).sum() / len(self.class_proportions)
        return float(np.sqrt(residual_squares / (self.moments.total - 1 - self.components)))

    def covariance_with_scores(self, component: int, *, pareto: bool) -> tuple[Floats, Floats]:
        """Return the total covariance and correlation of the columns with the scores of a component.

        Parameters
        ----------
        component : int
            Position of the component, starting at zero.
        pareto : bool
            Whether columns are divided by the root of their standard deviation (Pareto scaling) in the
            covariance.

        Returns
        -------
        covariance, correlation : (p,) float
            Covariances have the divisor N - 1, with columns in the units of the data and scores times
            `score_unit`. For a constant column they are zero and NaN.
        """
        squares = self.latent.squares[component]
        loadings = self.latent.loadings[:, component]
        unit = np.where(np.isfinite(self.column_scale), self.column_scale, 0.0)
        covariance = (
            loadings * squares * unit / self.moments.scale * (self.score_unit / (self.moments.total - 1))
        )
        totals = total_squares(self.moments)
        if pareto:
            sd = np.sqrt(totals / (self.moments.total - 1)) / self.moments.scale
            covariance /= np.sqrt(np.where(sd > 0, sd, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = loadings * self.column_scale * np.sqrt(squares / totals)
        return covariance, correlation

    def whitening(self) -> Floats:
        """Return W (a, a), upper triangular: scores T W are uncorrelated with unit variance within classes.

        The within-class covariance has the divisor N - K. If it is exactly singular, numpy.linalg.LinAlgError
        is raised.
        """
        eye = np.eye(len(self.within))
        return np.asarray(solve_triangular(self.within, eye) * np.sqrt(self.residual_df))

    def n_varying_components(self) -> int:
        """Return the number of components before the first one whose scores do not vary within classes.

        The variation is the one that remains given the scores of earlier components, up to rounding.
        """
        # Rounding error of a product of the table with a rotation.
        rounding_scale = np.sqrt(self.latent.x_total * (self.latent.rotations**2).sum(axis=0))
        slack = 10 * max(len(self.column_scale), len(self.within)) * EPS * rounding_scale
        is_constant = np.abs(np.diagonal(self.within)) <= slack
        return int(np.argmax(is_constant)) if is_constant.any() else len(is_constant)

    def transform(self, x: Floats) -> Floats:
        """Return the scores (m, a) of rows (m, p) in the units of the data."""
        z = standardize_columns(x, self.origin, self.moments.scale) - self.centre[:, None]
        return np.asarray(z.T @ self._score_matrix())

    def slopes(self) -> Floats:
        """Return the slopes (p, K) of the 0/1 indicators on z = (x - origin) * scale.

        The columns of z are not divided by `column_scale`, and the indicators not by `sizes`.
        """
        return self._score_matrix() @ (self.latent.y_loadings * self.sizes[:, None]).T

    def regression(self) -> tuple[Floats, Floats]:
        """Return coefficients (p, K) and constants (K,) of the 0/1 indicators in the units of the data."""
        slopes = self.slopes()
        scale = self.moments.scale
        return slopes * scale[:, None], self.class_proportions - (self.origin * scale + self.centre) @ slopes

    def fitted_rule(self) -> LinearRule:
        """Return the linear rule whose scores are the fitted 0/1 indicators; they add up to one."""
        slopes = self.slopes()
        return LinearRule(
            self.origin, self.moments.scale, slopes, self.class_proportions - self.centre @ slopes
        )

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """Return the decision rule.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities; used by the rule "lda" only.
        method : str
            Method of the posteriors: only "plugin", which uses the estimates as if they were the parameters.
            Other methods raise CoreNotSupportedError.
        convention : str or None
            Not used.

        Returns
        -------
        LinearRule
            Scores as in `left_out_pls_scores`; for "lda" and "centroid" up to a constant of each row.
        """
        require_plugin_method(method, "is not defined for scores of PLS")
        if self.decides == "max":
            return self.fitted_rule()
        by_lda = self.decides == "lda"
        axes = self._score_matrix() @ self.whitening() if by_lda else self._score_matrix()
        moments = self.moments
        means = Means(moments.centres, moments.rests, moments.scale, lambda z: axes.T @ z, lambda y: axes @ y)
        constant = log_prior if by_lda else np.zeros(len(self.prior))
        typical_sd = np.sqrt(moments.squares.sum(axis=0) / moments.total)
        return rule_about_zero(nearest_mean_rule(means, self.origin, constant), typical_sd)

    def scores_by_component(self, x: Floats, log_prior: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield the scores of the rule and the fitted indicators with 1, 2, ... components.

        Parameters
        ----------
        x : (m, p) float
            Rows in the units of the data.
        log_prior : (K,) float
            Logarithms of the prior probabilities; used by the rule "lda" only.

        Yields
        ------
        scores, fitted : (m, K) float
            Scores up to a constant of each row, equal to the fitted indicators for the rule "max". Both
            arrays are updated in place between iterations; copy them to keep them.
        """
        t = self.transform(x)
        centroids = self.centroids
        fitted = np.repeat(self.class_proportions[None], len(x), axis=0)
        scores = np.repeat((log_prior if self.decides == "lda" else 0.0 * log_prior)[None], len(x), axis=0)
        loadings = self.latent.y_loadings * self.sizes[:, None]
        y = t
        if self.decides == "lda":
            # Each column of a triangular inverse depends on earlier columns only.
            whitening = self.whitening()
            y = t @ whitening
            centroids = centroids @ whitening
        for j in range(self.components):
            fitted += np.outer(t[:, j], loadings[:, j])
            scores += np.outer(y[:, j], centroids[:, j]) - centroids[:, j] ** 2 / 2
            yield fitted if self.decides == "max" else scores, fitted

    def refit(self, moments: ClassMoments) -> PLSFit | None:
        """Refit to other moments with the same prior and number of components.

        Returns None if a class is without rows, the total weight is at most K, or `refit_up_to` results in
        fewer components or None.
        """
        if (moments.rows < 1).any() or moments.total <= moments.n_classes:
            return None
        fit = self.refit_up_to(moments, self.components)
        return fit if fit is not None and fit.components == self.components else None

    def refit_up_to(self, moments: ClassMoments, max_components: int) -> PLSFit | None:
        """Refit to other moments with at most `max_components` components.

        Returns None if no component can be computed. For the rule "lda", the first component whose scores do
        not vary within classes and all later ones are dropped; if the fit has orthogonal components, the
        result is None instead. With orthogonal components, `max_components` has no effect: at most as many
        orthogonal components as in the fit are computed. If the fit is sparse, additional components
        use as many columns as its last component.
        """
        extra_nonzero = self.nonzero[-1:] * (max_components - len(self.nonzero))
        fit = fit_pls(
            moments, self.prior, components=max_components, algorithm=self.algorithm, scale=self.scale,
            indicators=self.indicators, decides=self.decides, estimated_prior=self.estimated_prior,
            orthogonal=self.orthogonal, nonzero=self.nonzero + extra_nonzero,
        )  # fmt: skip
        n_components = fit.components if self.decides != "lda" else fit.n_varying_components()
        if self.orthogonal and n_components < fit.components:
            return None
        return fit.with_components(n_components) if n_components else None

    def with_components(self, n_components: int) -> PLSFit:
        """Return the fit with its first `n_components` components.

        If these are fewer than all, every one counts as predictive in the result.
        """
        if n_components == self.components:
            return self
        within = self.within[:n_components, :n_components]
        nonzero = self.nonzero[:n_components]
        return replace(
            self,
            components=n_components,
            latent=self.latent.truncate(n_components),
            within=within,
            nonzero=nonzero,
        )

    def leave_one_out_scorer(self, log_prior: Floats) -> LeaveOneOutScorer:
        """Return the function that computes the scores of rows under the rule fitted without each of them.

        With orthogonal or sparse components the function marks every row for a refit; if the fit then has
        more than `leave_one_out.MAX_REFITS` rows, CoreNotSupportedError is raised. The exception are
        orthogonal components of two classes with the rules "lda" and "max", whose rule equals the one of as
        many PLS components if these can be computed.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities; used by the rule "lda" only.

        Returns
        -------
        LeaveOneOutScorer
            Maps rows of the fit, their codes and weights to scores (m, K) of the rule `decides`, as in
            `left_out_pls_scores`; all NaN in rows that require a refit.
        """
        if self.orthogonal and len(self.prior) == 2 and self.decides != "centroid":
            # PLS scores without the orthogonal rotation span the same space and result in the same rule.
            without_rotation = replace(self, latent=replace(self.latent, orthogonal=0))
            plain_fit = without_rotation.refit_up_to(self.moments, self.components)
            if plain_fit is not None and plain_fit.components == self.components:
                return plain_fit.leave_one_out_scorer(log_prior)
        if self.orthogonal or self.nonzero:
            return refit_each_row(int(self.moments.rows.sum()), len(self.prior), "requires one fit per row")
        return lambda x, codes, weights: left_out_pls_scores(self, x, codes, weights, log_prior)


def fit_pls(
    moments: ClassMoments,
    prior: Floats,
    *,
    components: int,
    algorithm: Algorithm = "nipals",
    scale: bool = True,
    indicators: Indicators = "scaled",
    decides: Decides = "lda",
    estimated_prior: bool = True,
    engine: Callable[[Floats, Floats], Latent] | None = None,
    orthogonal: int = 0,
    nonzero: Sequence[int] = (),
) -> PLSFit:
    """Fit partial least squares discriminant analysis to pooled moments.

    Parameters
    ----------
    moments : ClassMoments
        Moments with a pooled scatter (p, p) or a pooled thin root (m, p), m <= p; total weight above K.
    prior : (K,) float
        Prior probabilities of the classes.
    components : int
        Maximum number of components; not used with an `engine` or if `orthogonal` is positive.
    algorithm : {"nipals", "simpls", "engine"}
        Algorithm that computes the components; with an `engine` it is only stored. "engine" requires one.
    scale : bool
        Whether columns are divided by their standard deviations.
    indicators : {"scaled", "centred"}
        Whether indicators are divided by their standard deviations.
    decides : {"lda", "max", "centroid"}
        The classification rule: linear discriminant analysis of the scores ("lda"), the largest fitted
        indicator ("max"), or the nearest class centroid of the scores ("centroid").
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    engine : callable, optional
        Computes a `Latent` from the columns and indicators of `SmallTables`, instead of the algorithm.
    orthogonal : int
        Maximum number of orthogonal components. If positive, the number of predictive components is the
        rank of the indicators.
    nonzero : sequence of int
        Number of columns that each component may use; empty for all.

    Returns
    -------
    PLSFit
        With as many components as could be computed, possibly none.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0], [2.0, 2.0], [6.0, 1.0], [8.0, 3.0]])
    >>> moments = ClassMoments.from_block(x, np.array([0, 0, 1, 1]), n_classes=2)
    >>> fit = fit_pls(moments, np.array([0.5, 0.5]), components=1, decides="max")
    >>> fit.latent.weights.ravel().round(4).tolist()
    [0.953, 0.3029]
    >>> fit.fitted_rule().scores(x).round(2).tolist()
    [[1.05, -0.05], [0.69, 0.31], [0.38, 0.62], [-0.12, 1.12]]
    """
    if not scale:
        moments = limit_scales(moments)
    tables = small_tables(moments, scale=scale, indicator_scaling=indicators)
    if engine is None:
        options = PLSOptions(components, algorithm, scale, indicators == "scaled", orthogonal, tuple(nonzero))
        latent = options.fit_latent(tables.columns, tables.indicators)
    else:
        latent = engine(tables.columns, tables.indicators)
    origin, _ = move_origin(moments, weighted_centre(moments.means, moments.counts))
    centre = weighted_centre(moments.means_from(origin), moments.counts)
    return PLSFit(
        moments, prior, estimated_prior, latent.n_components, algorithm, scale, indicators, decides,
        tables.unit, tables.sizes, latent, _within_root(tables, latent), origin, centre,
        tuple(nonzero)[: latent.n_components],
    )  # fmt: skip


def restore_pls(
    moments: ClassMoments,
    prior: Floats,
    *,
    regressed: PLSOptions,
    decides: Decides,
    estimated_prior: bool,
    engine_components: EngineComponents | None,
) -> PLSFit:
    """Rebuild a fit from moments and options that were read from a file.

    Parameters
    ----------
    moments : ClassMoments
        Moments as for `fit_pls`.
    prior : (K,) float
        Prior probabilities of the classes.
    regressed : PLSOptions
        Options of the regression; `components` is the total number, including orthogonal components.
    decides : str
        The classification rule: "lda", "max" or "centroid".
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    engine_components : EngineComponents or None
        Components, if the algorithm is "engine"; otherwise None.

    Returns
    -------
    PLSFit
        Refitted from the moments; with fewer components than `regressed` states if they cannot be computed.

    Raises
    ------
    InvalidStateError
        The components contradict the algorithm or their number, or a number in `nonzero` is not positive.
    """
    components, algorithm, scale, is_scaled, orthogonal, nonzero = regressed
    engine = engine_components
    if (algorithm == "engine") != (engine is not None) or not 0 <= orthogonal < components:
        raise InvalidStateError("its components do not match its algorithm")
    if any(count < 1 for count in nonzero):
        raise InvalidStateError("its numbers of columns per component are not positive")
    if engine is not None:
        arrays = engine.weights, engine.loadings, engine.rotations
        if any(a.shape != (moments.n_columns, components) or not a.any(axis=0).all() for a in arrays):
            raise InvalidStateError(f"the {components} components of its engine are missing or incomplete")
    return fit_pls(
        moments, prior, components=components, algorithm=algorithm, scale=scale,
        indicators="scaled" if is_scaled else "centred", decides=decides, estimated_prior=estimated_prior,
        engine=None if engine is None else engine.fit_latent, orthogonal=orthogonal, nonzero=nonzero,
    )  # fmt: skip


def refit_orthogonal(fit: PLSFit, moments: ClassMoments, max_orthogonal: int) -> list[PLSFit]:
    """Refit to moments with 1, 2, ..., at most `max_orthogonal` orthogonal components.

    Parameters
    ----------
    fit : PLSFit
        Provides the prior and the options.
    moments : ClassMoments
        Moments of the rows of the refit.
    max_orthogonal : int
        Maximum number of orthogonal components.

    Returns
    -------
    list of PLSFit
        Entry i has i + 1 orthogonal components; shorter, possibly empty, if fewer can be computed.
    """
    comparable_moments = moments if fit.scale else limit_scales(moments)
    tables = small_tables(comparable_moments, scale=fit.scale, indicator_scaling=fit.indicators)
    latents = fit_orthogonal_latents(tables.columns, tables.indicators, max_orthogonal)
    options = {name: getattr(fit, name) for name in ("scale", "indicators", "decides", "estimated_prior")}
    predictive_fit = fit_pls(moments, fit.prior, components=0, engine=lambda a, b: latents[0], **options)
    predictive_fit = replace(predictive_fit, algorithm="nipals")
    return [
        replace(
            predictive_fit, components=latent.n_components, latent=latent, within=_within_root(tables, latent)
        )
        for latent in latents[1:]
    ]


def _within_root(tables: SmallTables, latent: Latent) -> Floats:
    """Return R (a, a), upper triangular, with R'R the within-class sums of products of the scores."""
    triangle = np.linalg.qr(tables.columns[len(tables.sizes) :] @ latent.rotations, mode="r")
    # With fewer rows than components, pad with rows of zeros.
    return np.concatenate([triangle, np.zeros((latent.n_components - len(triangle), latent.n_components))])


def small_tables(moments: ClassMoments, *, scale: bool, indicator_scaling: Indicators) -> SmallTables:
    """Compute small tables of columns and indicators with the sums of products of the full data.

    The first K rows represent the class means, the others the within-class scatter.

    Parameters
    ----------
    moments : ClassMoments
        Moments as for `fit_pls`.
    scale : bool
        Whether columns are divided by their standard deviations.
    indicator_scaling : {"scaled", "centred"}
        Whether indicators are divided by their standard deviations.

    Returns
    -------
    SmallTables
        Constant columns are zero if `scale` is true.
    """
    counts = moments.counts
    total = moments.total
    means = moments.means
    root_counts = np.sqrt(counts)[:, None]
    unit = 1.0 / moments.common_unit
    if scale:
        unit = np.sqrt(total_squares(moments) / (total - 1))
        unit[constant_columns(moments)] = np.inf
    columns = np.concatenate([root_counts * (means - weighted_centre(means, counts)), _scatter_root(moments)])
    columns /= unit
    sizes = np.ones(len(counts))
    if indicator_scaling == "scaled":
        sizes = np.sqrt(counts * (1 - counts / total) / (total - 1))
        sizes[sizes == 0] = 1.0
    responses = np.zeros((len(columns), len(counts)))
    responses[: len(counts)] = root_counts * (np.eye(len(counts)) - counts / total) / sizes
    return SmallTables(columns, responses, unit, sizes)


def _scatter_root(moments: ClassMoments) -> Floats:
    """Return R (r, p) with R'R the pooled scatter of z within classes, not divided by degrees of freedom.

    R is the thin root of the moments or, without one, upper triangular (p, p), with rows of zeros for columns
    that do not vary within classes. A singular scatter of the other columns then raises LinAlgError.
    """
    pooled_moments = moments.pool_classes()
    if pooled_moments.roots is not None:
        return np.asarray(pooled_moments.roots[0])
    scatter = pooled_moments.scatters[0]
    varies = np.flatnonzero(np.diagonal(scatter) > 0)
    root: Floats = np.zeros(scatter.shape)
    root[np.ix_(varies, varies)] = scaled_cholesky(scatter[np.ix_(varies, varies)])
    return root


class _Fold(NamedTuple):
    """Training and test rows of a cross-validation fold, in coordinates with few columns or rows.

    Attributes
    ----------
    basis : (m, r) float or None
        The matrix Q of the m training rows Z = QR; None unless there are more rows than columns.
    columns : (r, q) float
        R, or the training rows in rotated columns. Sparse components use the columns themselves.
    test_columns : (t, q) float
        The t test rows in the same columns, centred and scaled like the training rows.
    """

    basis: Floats | None
    columns: Floats
    test_columns: Floats


def _prepare_fold(x: Floats, is_training: Mask, options: PLSOptions) -> _Fold:
    """Centre, scale and reduce the rows of a fold, by means and standard deviations of the training rows.

    Parameters
    ----------
    x : (n, p) float
        Rows, unweighted and without missing values; not modified.
    is_training : (n,) bool
        The training rows; the others are test rows.
    options : PLSOptions
        Options of the regression.

    Returns
    -------
    _Fold
        `basis` is None unless there are more training rows than columns. Without it the columns are rotated,
        except for sparse components.
    """
    training = x[is_training]
    mean = training.mean(axis=0)
    training -= mean
    test_columns = x[~is_training] - mean
    if options.scale:
        sd = np.sqrt((training**2).sum(axis=0) / (len(training) - 1))
        # A column that is constant up to rounding is ignored.
        sd[sd <= 1e-14 * np.abs(mean)] = np.inf
        training /= sd
        test_columns /= sd
    if options.nonzero and len(training) <= training.shape[1]:
        # Sparse components need the columns themselves, not a rotation of them.
        return _Fold(None, training, test_columns)
    if len(training) > training.shape[1]:
        basis, columns = np.linalg.qr(training)
        return _Fold(basis, columns, test_columns)
    rotation, columns = np.linalg.qr(training.T)
    return _Fold(None, columns.T, test_columns @ rotation)


def _indicator_sds(codes: Codes, k: int, options: PLSOptions) -> Floats:
    """Return the divisors of the indicators of k classes: their standard deviations (divisor n - 1), or one.

    They are one if indicators are not scaled, and for a class without rows in `codes` (n,).
    """
    if not options.scaled_indicators:
        return np.ones(k)
    counts = np.bincount(codes, minlength=k).astype(np.float64)
    squares = counts * (1 - counts / len(codes)) / (len(codes) - 1)
    return np.sqrt(np.where(squares > 0, squares, 1.0))


def _predict_indicators(fold: _Fold, codes: Codes, k: int, options: PLSOptions) -> Floats:
    """Fit PLS to the training rows of a fold, and predict the indicators of its test rows.

    Parameters
    ----------
    fold : _Fold
        Training and test rows.
    codes : (m,) int
        Classes of the training rows.
    k : int
        Number of classes.
    options : PLSOptions
        Options of the regression.

    Returns
    -------
    (t, K) float
        Predicted 0/1 indicators, not scaled.
    """
    indicators = np.equal(codes[:, None], np.arange(k)).astype(np.float64)
    proportions = indicators.mean(axis=0)
    sizes = _indicator_sds(codes, k, options)
    responses = (indicators - proportions) / sizes
    if fold.basis is not None:
        responses = fold.basis.T @ responses
    latent = options.fit_latent(fold.columns, responses)
    return np.asarray(proportions + fold.test_columns @ latent.rotations @ latent.y_loadings.T * sizes)


def _press(fold: _Fold, codes: Codes, test_codes: Codes, sizes: Floats, options: PLSOptions) -> float:
    """Return the prediction error sum of squares of the scaled indicators of the test rows of a fold.

    Parameters
    ----------
    fold : _Fold
        Training and test rows.
    codes : (m,) int
        Classes of the training rows.
    test_codes : (t,) int
        Classes of the test rows.
    sizes : (K,) float
        Divisors of the indicators.
    options : PLSOptions
        Options of the regression.

    Returns
    -------
    float
        Sum over test rows and classes of the squared errors, each divided by the squared divisor.
    """
    residuals = -_predict_indicators(fold, codes, len(sizes), options)
    residuals[np.arange(len(residuals)), test_codes] += 1.0
    return float(((residuals / sizes) ** 2).sum())


def q2_by_labelling(
    x: Floats,
    labellings: Callable[[int], Codes],
    count: int,
    fold_ids: Codes,
    k: int,
    options: PLSOptions,
    progress: Callable[[float], object] = lambda done: None,
) -> Floats:
    """Compute the cross-validated Q2 = 1 - PRESS / SS of the indicators for each of P labellings of the rows.

    PRESS is the sum of squared prediction errors of the test rows of all folds, SS the sum of squares of the
    indicators about the proportions of all rows. Both are divided by the same squared `_indicator_sds`.

    Parameters
    ----------
    x : (n, p) float
        Rows, unweighted and without missing values.
    labellings : callable
        Maps 0, ..., P - 1 to the classes (n,) of the rows. All labellings have the same class counts.
    count : int
        The number P of labellings.
    fold_ids : (n,) int
        Fold of each row, 0, 1, ...
    k : int
        Number of classes.
    options : PLSOptions
        Options of the regression.
    progress : callable, optional
        Called with 1 after each labelling of a fold.

    Returns
    -------
    (P,) float
        At most one; negative if predictions are worse than the class proportions.
    """
    press = np.zeros(count)
    sizes = _indicator_sds(labellings(0), k, options)
    proportions = np.bincount(labellings(0), minlength=k) / len(x)
    for fold_id in range(int(fold_ids.max()) + 1):
        is_training = fold_ids != fold_id
        fold_data = _prepare_fold(x, is_training, options)
        for i in range(count):
            codes = labellings(i)
            press[i] += _press(fold_data, codes[is_training], codes[~is_training], sizes, options)
            progress(1)
    total = len(x) * (proportions * (1 - proportions) / sizes**2).sum()
    return np.asarray(1.0 - press / total)


def r2_by_labelling(
    x: Floats, labellings: Callable[[int], Codes], count: int, k: int, options: PLSOptions
) -> Floats:
    """Compute R2, the explained proportion of the sum of squares of the indicators, for each of P labellings.

    Each labelling is fitted to all rows and evaluated on the same rows. With `options.scaled_indicators`, the
    sums of squares are of the scaled indicators, so that all classes have the same weight.

    Parameters
    ----------
    x : (n, p) float
        Rows, unweighted and without missing values.
    labellings : callable
        Maps 0, ..., P - 1 to the classes (n,) of the rows. All labellings have the same class counts.
    count : int
        The number P of labellings.
    k : int
        Number of classes.
    options : PLSOptions
        Options of the regression.

    Returns
    -------
    (P,) float
        Value between zero and one for each labelling, up to rounding.
    """
    training = _prepare_fold(x, np.ones(len(x), dtype=bool), options)
    training_as_test = training._replace(
        test_columns=training.columns if training.basis is None else training.basis @ training.columns
    )
    sizes = _indicator_sds(labellings(0), k, options)
    proportions = np.bincount(labellings(0), minlength=k) / len(x)
    press = [_press(training_as_test, labellings(i), labellings(i), sizes, options) for i in range(count)]
    return np.asarray(1.0 - np.array(press) / (len(x) * (proportions * (1 - proportions) / sizes**2).sum()))
