"""Leave-one-out scores in closed form, and the protocol of models that are functions of class moments.

Removing a row x of class g with weight w from the moments shifts one mean and subtracts a rank-one matrix
from one scatter matrix:

    m_g -> m_g - w / (n_g - w) (x - m_g),   W -> W - w n_g / (n_g - w) (x - m_g)(x - m_g)'.

By the Sherman-Morrison formula every distance under the new rule follows from distances under the old one.
Write n_k, m_k and W_k for the weight, mean and scatter of class k, N for the sum of all weights, S for the
covariance, D2_k for the squared distance to m_k and T_k = (x - m_k)' S^-1 (x - m_g), all of the full fit.
With divisor N - h (h = 0 for maximum likelihood, the number of classes if unbiased), c = w n_g / ((n_g - w)
(N - h)) and s = (N - w - h)/(N - h), a common covariance gives

    D2_k -> s (D2_k + c T_k^2 / (1 - c D2_g)),   D2_g -> s (n_g/(n_g - w))^2 D2_g / (1 - c D2_g),

and with a covariance for each class only the row's own class changes. Priors stay fixed. (Lachenbruch &
Mickey, 1968, Technometrics 10, 1-11; the matrix determinant lemma gives the second case.)

If a row is alone in its class, the class loses its mean, and the score of the class is minus infinity. If
1 - c D2_g is small, the subtraction has lost digits; it is zero if the covariance without the row is
singular. This affects outliers and fits with few degrees of freedom. With u_j the rows of an orthonormal
basis of the space that the fit spans, 1 - c D2_g is the squared distance of the row's unit vector from that
space divided by 1 - w / n_g. One more pass therefore computes it as a sum of squares, sum_j (delta_ij -
u_i'u_j)^2 (`FullLeaveOneOut.exact_determinant_ratios`). Rows for which even this is close to zero are
refitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from discrim.core.errors import CoreNotSupportedError
from discrim.core.moments.moments import ClassMoments, column_squares, standardize_columns
from discrim.core.numerics.arrays import EPS, Codes, Floats, check_memory, slices
from discrim.core.rules.rules import Distances, Rule

LeaveOneOutScorer = Callable[[Floats, Codes, Floats | None], Floats]
"""Function of x (m, p), codes (m,) and weights (m,) or None that returns leave-one-out scores (m, K).

Its arguments are rows of the fit, their classes and frequency weights; the scores are log posteriors up to a
constant of each row under the fit without one unit of the row. A row of NaN means that the row requires a
refit.
"""

MIN_DETERMINANT_RATIO = 0.05
"""Value of 1 - c D2_g below which it is inaccurate when computed as a difference."""

MIN_RELATIVE_DISTANCE = 0.125
"""Squared distance of two class means, relative to the sum of their squares, below which it is computed from
their difference."""

MEANS_PER_BLOCK = 64
"""Number of class means whose distances to all others are computed at once."""

MIN_DETERMINANT_RATIO_AS_SUM = 1e-8
"""Value of 1 - c D2_g below which a row is refitted even if it was computed as a sum of squares."""


class WhitenedMeans(NamedTuple):
    """Class means in coordinates in which their common covariance is the identity.

    Attributes
    ----------
    means : (K, p) float
    squared_distances : (K, K) float
        Squared distances between the means.
    """

    means: Floats
    squared_distances: Floats

    @classmethod
    def of_distances(cls, distances: Distances) -> Self:
        """Return the means to which squared distances under a common covariance refer."""
        means = distances.covariances[0].whiten(distances.means.T).T
        return cls(means, squared_distances_between_means(means))


def leave_one_out_distances(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    distances: Distances,
    counts: Floats,
    divisor: float,
    determinant_ratios: Floats | None = None,
    whitened_means: WhitenedMeans | None = None,
) -> tuple[Floats, Removal]:
    """Return the leave-one-out squared distances to the class means under a common covariance.

    The module docstring has the formulas and the definitions of g, h and c.

    Parameters
    ----------
    x : (m, p) float
        Rows of the fit, in the units of the data, that are left out in turn.
    codes : (m,) int
        Classes of the rows.
    weights : (m,) float or None
        Frequency weights; at most one unit of a row is left out.
    distances : Distances
        Squared distances to the class means under the covariances of the full fit.
    counts : (K,) float
        Sums of weights by class.
    divisor : float
        Divisor N - h of the covariance in the full fit.
    determinant_ratios : (m,) float or None
        Accurate values of 1 - c D2_g, computed as sums of squares; None to compute the difference here.
    whitened_means : WhitenedMeans or None
        Means of `distances`; None to compute them here.

    Returns
    -------
    d2 : (K, m) float
        Zero in the own class of a row that is alone in it; not valid if `removal.determinant_ratio` is not
        positive.
    removal : Removal
        Effect of leaving out each of the m rows on its class.
    """
    (covariance,) = distances.covariances
    whitened_means = whitened_means or WhitenedMeans.of_distances(distances)
    means = whitened_means.means
    own_deviations = (
        covariance.whiten(standardize_columns(x, distances.origin, distances.scale)) - means[codes].T
    )
    d2_own = column_squares(own_deviations)
    rows = np.arange(len(codes))
    # Compute D2_k and T_k from the row's deviation from its own mean to avoid cancellation.
    lead = own_deviations.T @ means.T
    np.subtract(lead[rows, codes][:, None], lead, out=lead)
    cross = d2_own[:, None] + lead
    d2 = np.add(cross, lead, out=lead)
    # The matrix is symmetric; indexing its rows is faster because they are contiguous.
    d2 += whitened_means.squared_distances[codes]
    removals = compute_removal(
        counts[codes], weights, divisor, d2_own, determinant_ratios, float(counts.sum())
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        downdate = (
            removals.weight
            * removals.class_weight
            / ((removals.class_weight - removals.weight) * divisor)
            / removals.determinant_ratio
        )
        np.square(cross, out=cross)
        cross *= downdate[:, None]
        d2 += cross
        d2 *= removals.divisor_ratio[:, None]
        d2[rows, codes] = (
            removals.divisor_ratio * removals.distance_factor * d2_own / removals.determinant_ratio
        )
    return d2.T, removals


def leave_one_out_class_distances(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    distances: Distances,
    counts: Floats,
    divisors: Floats,
    determinant_ratios: Floats | None = None,
) -> tuple[Floats, Removal]:
    """Return the leave-one-out squared distances to the class means under a covariance for each class.

    Only the distance to the row's own class differs from the full fit; see the module docstring.

    Parameters
    ----------
    x : (m, p) float
        Rows of the fit, in the units of the data, that are left out in turn.
    codes : (m,) int
        Classes of the rows.
    weights : (m,) float or None
        Frequency weights; at most one unit of a row is left out.
    distances : Distances
        Squared distances to the class means under the covariances of the full fit.
    counts : (K,) float
        Sums of weights by class.
    divisors : (K,) float
        Divisors n_k - h of the covariances in the full fit.
    determinant_ratios : (m,) float or None
        Accurate values of 1 - c D2_g, computed as sums of squares; None to compute the difference here.

    Returns
    -------
    d2 : (K, m) float
        Not valid in the own class of a row whose `removal.determinant_ratio` is not positive.
    removal : Removal
        Effect of leaving out each of the m rows on its class.
    """
    d2 = distances.squared(x)
    rows = np.arange(len(codes))
    removals = compute_removal(counts[codes], weights, divisors[codes], d2[codes, rows], determinant_ratios)
    with np.errstate(divide="ignore", invalid="ignore"):
        d2[codes, rows] *= removals.distance_factor * removals.divisor_ratio / removals.determinant_ratio
    return d2, removals


def leave_one_out_diagonal_scores(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    distances: Distances,
    counts: Floats,
    divisors: Floats,
    log_prior: Floats,
    added_variances: tuple[Floats, Floats] | None = None,
) -> Floats:
    """Return the leave-one-out scores under diagonal covariances, one for all classes or one for each class.

    With several covariances the score includes -ln|S_k|/2.

    Parameters
    ----------
    x : (m, p) float
        Rows of the fit, in the units of the data, that are left out in turn.
    codes : (m,) int
        Classes of the rows.
    weights : (m,) float or None
        Frequency weights; at most one unit of a row is left out.
    distances : Distances
        Squared distances to the class means under the covariances of the full fit.
    counts : (K,) float
        Sums of weights by class.
    divisors : (1,) or (K,) float
        Divisors of the variances in the full fit.
    log_prior : (K,) float
        Log prior probabilities of the classes.
    added_variances : tuple of (p,) float and (p, m) float, or None
        Variances of z added by smoothing: in the full fit, and without each row. Rows for which the second
        is NaN are refitted.

    Returns
    -------
    (m, K) float
        Minus infinity in the class of a row that is alone in it. NaN for rows that require a refit: a
        variance without the row (including the added variance, with the divisor of all rows) is at most
        `MIN_DETERMINANT_RATIO` times the variance of all rows or NaN, or the divisor without the row is not
        positive.
    """
    common = len(distances.covariances) == 1
    before, after = (0.0, np.zeros((1, 1))) if added_variances is None else added_variances
    variances = np.stack([covariance.root**2 for covariance in distances.covariances]) - before
    origins = np.broadcast_to(distances.origin, distances.means.shape)
    own_deviations = standardize_columns(x, origins[codes].T, distances.scale) - distances.means[codes].T
    covariance_index = np.zeros_like(codes) if common else codes
    full_variances = variances[covariance_index].T
    divisor = divisors[covariance_index]
    count = counts[codes]
    removals = compute_removal(count, weights, divisor, total_weight=float(counts.sum()) if common else None)
    remaining_variances = full_variances - removals.downdate_factor / divisor * own_deviations**2
    scores = np.empty((len(counts), len(codes)))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        variances_without_row = remaining_variances / removals.divisor_ratio
        for k in range(len(counts)):
            is_member = codes == k
            deviations = (
                standardize_columns(x, origins[k][:, None], distances.scale) - distances.means[k][:, None]
            )
            deviations *= np.where(is_member, np.sqrt(removals.distance_factor), 1.0)
            variance = (
                variances_without_row
                if common
                else np.where(is_member, variances_without_row, variances[k][:, None])
            )
            variance = variance + after
            scores[k] = log_prior[k] - 0.5 * (deviations**2 / variance).sum(axis=0)
            if not common:
                scores[k] -= 0.5 * np.log(variance).sum(axis=0)
    remaining_shares = ((remaining_variances + after) / (full_variances + after)).min(axis=0)
    return mark_refits(
        scores,
        codes,
        removals,
        ~(
            (removals.divisor_ratio > 0)
            & np.isfinite(remaining_shares)
            & (remaining_shares > MIN_DETERMINANT_RATIO)
        ),
    ).T


@dataclass(frozen=True, slots=True, eq=False)
class Removal:
    """Effect of leaving out rows on their own classes.

    Attributes
    ----------
    weight : (m,) float
        Weight that is left out; zero for a row alone in its class.
    class_weight : (m,) float
        Weight n_g of the class in the full fit.
    is_alone : (m,) bool
        Whether the row is alone in its class: at most `EPS` times the weight of the class remains without it.
    divisor_ratio : (m,) float
        Divisor of the covariance without the row, divided by the divisor of the full fit.
    determinant_ratio : (m,) float
        1 - c D2_g (see the module docstring), the ratio of the determinants of the scatters without and with
        the row; the distance to the own class is divided by it. One for a row alone in its class.
    """

    weight: Floats
    class_weight: Floats
    is_alone: NDArray[np.bool_]
    divisor_ratio: Floats
    determinant_ratio: Floats

    @property
    def downdate_factor(self) -> Floats:
        """Coefficient w n_g / (n_g - w) (m,) of the rank-one matrix that is subtracted from the scatter."""
        return np.asarray(
            self.weight * self.class_weight / np.where(self.is_alone, 1.0, self.class_weight - self.weight)
        )

    @property
    def distance_factor(self) -> Floats:
        """Factor (n_g / (n_g - w))^2 (m,) by which the squared distance to the own class mean grows."""
        return np.asarray((self.class_weight / (self.class_weight - self.weight)) ** 2)


def compute_removal(
    class_weights: Floats,
    weights: Floats | None,
    divisor: float | Floats,
    d2_own: Floats | float = 0.0,
    determinant_ratio: Floats | None = None,
    total_weight: float | None = None,
) -> Removal:
    """Compute the effect of leaving out each of m rows on the weight and covariance of its class.

    Parameters
    ----------
    class_weights : (m,) float
        Sum of weights of the class of each row.
    weights : (m,) float or None
        Frequency weights; at most one unit of a row is left out.
    divisor : float or (m,) float
        Divisor of the covariance in the full fit.
    d2_own : (m,) float, default 0
        Squared distance from the class mean, from which `Removal.determinant_ratio` is computed.
    determinant_ratio : (m,) float or None
        Accurate values of `Removal.determinant_ratio`, if they have been computed; `d2_own` is not used then.
    total_weight : float or None
        Sum of all weights, for a common covariance. If a row is alone in its class, the maximum-likelihood
        divisor N decreases by its weight, and N - K by its weight less one, because the class is lost as
        well.

    Returns
    -------
    Removal
        With m values of each attribute.
    """
    weight = np.ones(len(class_weights)) if weights is None else np.minimum(weights, 1.0)
    is_alone = class_weights - weight <= EPS * class_weights
    divisor_loss = np.where(is_alone & (np.asarray(divisor) != total_weight), weight - 1.0, weight)
    weight = np.where(is_alone, 0.0, weight)
    if determinant_ratio is None:
        determinant_ratio = 1.0 - weight * class_weights / ((class_weights - weight) * divisor) * d2_own
    return Removal(weight, class_weights, is_alone, (divisor - divisor_loss) / divisor, determinant_ratio)


def mark_lone_rows_for_refit(scores: Floats, class_weights: Floats, weights: Floats | None) -> Floats:
    """Set the scores of rows that are alone in their class to NaN, which marks them for a refit.

    Parameters
    ----------
    scores : (m, K) float
        Scores of the rows; modified in place.
    class_weights : (m,) float
        Sum of weights of the class of each row.
    weights : (m,) float or None
        Weights of the rows; None for ones.

    Returns
    -------
    (m, K) float
        The same array.
    """
    scores[compute_removal(class_weights, weights, 1.0).is_alone] = np.nan
    return scores


def mark_refits(scores: Floats, codes: Codes, removal: Removal, needs_refit: NDArray[np.bool_]) -> Floats:
    """Mark rows that are alone in their class, by minus infinity in its score, and rows to refit, by NaN.

    Parameters
    ----------
    scores : (K, m) float
        Scores of the rows; modified in place.
    codes : (m,) int
        Classes of the rows.
    removal : Removal
        Effect of leaving out the rows on their classes.
    needs_refit : (m,) bool
        Rows that require a refit; NaN replaces minus infinity for rows of both kinds.

    Returns
    -------
    (K, m) float
        The same array.
    """
    lone_rows = np.flatnonzero(removal.is_alone)
    scores[codes[lone_rows], lone_rows] = -np.inf
    scores[:, needs_refit] = np.nan
    return scores


@dataclass(frozen=True, slots=True, eq=False)
class FullLeaveOneOut:
    """Leave-one-out scores under full covariances.

    The first pass computes 1 - c D2_g as a difference; for rows for which that loses digits, a further pass
    over all rows computes it with `exact_determinant_ratios`.

    Attributes
    ----------
    distances : Distances
        Distances of the full fit, with one covariance or one for each class.
    counts : (K,) float
        Sums of weights by class.
    row_counts : (K,) int
        Numbers of rows by class.
    divisors : (1,) or (K,) float
        Divisors of the covariances in the full fit.
    constants : (K,) float
        ln prior_k, less ln|S_k| / 2 if each class has a covariance.
    whitened_means : WhitenedMeans or None
        Means of `distances` under a common covariance.
    """

    distances: Distances
    counts: Floats
    row_counts: NDArray[np.int64]
    divisors: Floats
    constants: Floats
    whitened_means: WhitenedMeans | None = None

    def __call__(
        self, x: Floats, codes: Codes, weights: Floats | None, determinant_ratios: Floats | None = None
    ) -> Floats:
        """Compute the leave-one-out scores of rows of the fit.

        Parameters
        ----------
        x : (m, p) float
            Rows of the design matrix.
        codes : (m,) int
            Classes of the rows.
        weights : (m,) float or None
            Weights of the rows; None for ones.
        determinant_ratios : (m,) float or None
            Accurate values of 1 - c D2_g, returned by `exact_determinant_ratios`.

        Returns
        -------
        (m, K) float
            NaN for rows for which 1 - c D2_g is too small for its accuracy (below `MIN_DETERMINANT_RATIO`, or
            `MIN_DETERMINANT_RATIO_AS_SUM` for accurate values); minus infinity in the class of a row that is
            alone in it.
        """
        rows = x, codes, weights, self.distances, self.counts
        if self._is_common:
            scores, removal = leave_one_out_distances(
                *rows, float(self.divisors[0]), determinant_ratios, self.whitened_means
            )
        else:
            scores, removal = leave_one_out_class_distances(*rows, self.divisors, determinant_ratios)
        scores *= -0.5
        scores += self.constants[:, None]
        if not self._is_common:
            with np.errstate(divide="ignore", invalid="ignore"):
                logdet_change = np.log(removal.determinant_ratio) - x.shape[1] * np.log(removal.divisor_ratio)
                scores[codes, np.arange(len(codes))] -= 0.5 * logdet_change
        return mark_refits(
            scores,
            codes,
            removal,
            removal.determinant_ratio
            <= (MIN_DETERMINANT_RATIO if determinant_ratios is None else MIN_DETERMINANT_RATIO_AS_SUM),
        ).T

    @property
    def _is_common(self) -> bool:
        """Whether the classes share one covariance."""
        return len(self.distances.covariances) == 1

    def is_singular(self, codes: Codes, weights: Floats | None) -> NDArray[np.bool_]:
        """Return whether the covariance without each of some rows is singular because too few rows remain.

        The degrees of freedom without the row are the number of other rows less the number of classes for a
        common covariance, and the number of other rows of the class less one otherwise.

        Parameters
        ----------
        codes : (m,) int
            Classes of the rows.
        weights : (m,) float or None
            Weights of the rows; None for ones.

        Returns
        -------
        (m,) bool
            Whether these degrees of freedom are fewer than the number of columns; false for a row with a
            weight above one, which remains in part.
        """
        p = self.distances.means.shape[1]
        weight = np.ones(len(codes)) if weights is None else weights
        df = self.row_counts[codes] - 2
        if self._is_common:
            df = np.full(len(codes), self.row_counts.sum() - len(self.row_counts) - 1)
        return np.asarray((weight <= 1) & (df < p))

    def exact_determinant_ratios(
        self,
        blocks: Iterable[tuple[Codes, Floats, Codes, Floats | None]],
        selected: Codes,
        x: Floats,
        codes: Codes,
        weights: Floats | None,
    ) -> Floats:
        """Compute 1 - c D2_g (see the module docstring) of selected rows, without cancellation.

        Each value is a sum of squares over all rows of the fit.

        Parameters
        ----------
        blocks : iterable of (positions, x, codes, weights)
            Blocks of all rows of the fit, with the positions of their rows.
        selected : (s,) int
            Positions of the selected rows among all rows.
        x : (s, p) float
            Selected rows of the design matrix.
        codes : (s,) int
            Classes of the selected rows.
        weights : (s,) float or None
            Weights of the selected rows; None for ones.

        Returns
        -------
        (s,) float
            Not negative; zero up to rounding if the covariance without the row is singular.
        """
        reciprocal_counts = 1 / self.counts
        selected_weights = np.ones(len(selected)) if weights is None else weights
        removed_weights = np.minimum(selected_weights, 1.0)
        groups = [np.arange(len(selected))]
        if not self._is_common:
            groups = [np.flatnonzero(codes == k) for k in range(len(self.counts))]
        group_coordinates = [self._whitened_coordinates(x[group], codes[group]) for group in groups]
        total = np.zeros(len(selected))
        for positions, block_x, block_codes, block_weights in blocks:
            for k, (group, coordinates) in enumerate(zip(groups, group_coordinates, strict=True)):
                block_index = slice(None) if self._is_common else np.flatnonzero(block_codes == k)
                if not len(group) or not len(block_codes[block_index]):
                    continue
                inner_products = coordinates.T @ self._whitened_coordinates(
                    block_x[block_index], block_codes[block_index]
                )
                inner_products += np.where(
                    codes[group][:, None] == block_codes[block_index],
                    reciprocal_counts[codes[group]][:, None],
                    0.0,
                )
                squares = (
                    inner_products**2
                    if block_weights is None
                    else inner_products**2 * block_weights[block_index]
                )
                group_index, block_positions = np.nonzero(selected[group][:, None] == positions[block_index])
                own_products = inner_products[group_index, block_positions]
                own_weights = selected_weights[group[group_index]]
                own_removed = removed_weights[group[group_index]]
                squares[group_index, block_positions] = (
                    1 - own_removed * own_products
                ) ** 2 / own_removed + (own_weights - own_removed) * own_products**2
                total[group] += squares.sum(axis=1)
        # With removed weights of one, this is the formula in the module docstring.
        n = self.counts[codes]
        return np.asarray(
            removed_weights * total * n / np.where(n > removed_weights, n - removed_weights, 1.0)
        )

    def _whitened_coordinates(self, x: Floats, codes: Codes) -> Floats:
        """Return coordinates of rows in an orthonormal basis of the deviations from class means.

        They are the whitened deviations divided by the root of the divisor, so that the inner products of the
        coordinates of two rows are u_i'u_j of the module docstring without the part of the class means.

        Parameters
        ----------
        x : (m, p) float
            Rows of the design matrix.
        codes : (m,) int
            Classes of the rows; a single class unless the covariance is common.

        Returns
        -------
        (p, m) float
            One column for each row.
        """
        distances = self.distances
        if self._is_common:
            (covariance,), origin, divisor = distances.covariances, distances.origin, self.divisors[0]
        else:
            k = int(codes[0]) if len(codes) else 0
            covariance = distances.covariances[k]
            origin = distances.origin[k]
            divisor = self.divisors[k]
        z = standardize_columns(x, origin, distances.scale) - distances.means[codes].T
        return np.asarray(covariance.whiten(z) / np.sqrt(divisor))


def squared_distances_between_means(means: Floats) -> Floats:
    """Return the squared distances between all pairs of whitened means.

    Parameters
    ----------
    means : (K, p) float
        Whitened class means.

    Returns
    -------
    (K, K) float
        Symmetric, with zeros on the diagonal.

    Raises
    ------
    DataError
        The matrix would take over half of the memory.
    """
    k = len(means)
    check_memory(
        float(k) ** 2,
        f"A table of {k:,} by {k:,} classes, of squared distances between their means,",
        "Merge rare classes, or pass a table with fewer classes",
    )
    squared_distances = np.empty((k, k))
    centred_means = means - means.mean(axis=0)
    squares = (centred_means**2).sum(axis=1)
    for rows in slices(k, MEANS_PER_BLOCK):
        block = centred_means[rows] @ (-2 * centred_means[rows.start :].T)
        sums = squares[rows, None] + squares[rows.start :]
        block += sums
        # If the subtraction of the products loses digits, and for few means, sum the squared differences.
        sums *= MIN_RELATIVE_DISTANCE
        is_close = ~(block >= sums)
        np.fill_diagonal(is_close, k <= MEANS_PER_BLOCK)
        for i in np.flatnonzero(is_close.any(axis=1)).tolist():
            block[i] = ((means[rows.start :] - means[rows.start + i]) ** 2).sum(axis=1)
        own_columns = block[:, : len(block)]
        own_columns[:] = (own_columns + own_columns.T) / 2  # Symmetric in the last digit, too.
        np.fill_diagonal(own_columns, 0.0)
        squared_distances[rows, rows.start :] = block
        squared_distances[rows.start :, rows] = block.T
    return squared_distances


class MomentsFit(Protocol):
    """Protocol of a fit that is a function of class moments."""

    @property
    def moments(self) -> ClassMoments:
        """Moments of the rows of the fit, of K classes and p columns."""

    @property
    def prior(self) -> Floats:
        """Prior probabilities (K,)."""

    @property
    def estimated_prior(self) -> bool:
        """Whether the prior was estimated as the class proportions of the rows, and not given by the user."""

    @property
    def has_distances(self) -> bool:
        """Whether the model is normal with full covariances.

        Only then `distances`, `unbiased_distances` and `left_out_distances` are defined.
        """

    def llf(self) -> float:
        """Return the joint log-likelihood of classes and rows at maximum-likelihood estimates."""

    def df_model(self) -> int:
        """Return the number of free parameters."""

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """Return the decision rule under a prior.

        Parameters
        ----------
        log_prior : (K,) float
            Log prior probabilities of the classes.
        method : {"plugin", "predictive", "debiased"}
            Treatment of the estimated parameters in the posteriors: inserted as if they were known,
            integrated out, or inserted in unbiased estimates of the log densities.
        convention : {"MASS"}, optional
            "MASS" computes the version of R's MASS, None the version of the literature.

        Returns
        -------
        Rule
        """

    def refit(self, moments: ClassMoments) -> Self | None:
        """Fit the same model to other moments of K classes, with the same prior.

        Return None if the model cannot be fitted to them, for example because a covariance is singular.
        """

    def leave_one_out_scorer(self, log_prior: Floats) -> LeaveOneOutScorer:
        """Return the function that computes leave-one-out scores of rows under a log prior (K,)."""

    def distances(self) -> Distances:
        """Return the squared distances of rows to the class means under the covariances of the fit.

        Must not be called unless `has_distances`.
        """

    def unbiased_distances(self) -> tuple[Distances, Floats]:
        """Return the squared distances under unbiased covariances, and their degrees of freedom (K,).

        Must not be called unless `has_distances`.
        """

    def left_out_distances(
        self, x: Floats, codes: Codes, weights: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """Return leave-one-out squared distances under unbiased covariances for rows of the fit.

        Must not be called unless `has_distances`.

        Parameters
        ----------
        x : (m, p) float
            Rows of the design matrix.
        codes : (m,) int
            Classes of the rows.
        weights : (m,) float or None
            Weights of the rows; None for ones.

        Returns
        -------
        distances, counts, degrees of freedom : (K, m) float
            Squared distance to each class mean without the row, weight of the class, and degrees of freedom
            of the covariance.
        """


MAX_REFITS = 2000
"""Maximum number of rows for which leave-one-out refits the model without each row."""


@dataclass(frozen=True, slots=True)
class RefitEachRow:
    """Leave-one-out function that returns only NaN, which marks every row for a refit."""

    n_classes: int

    def __call__(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Return scores (m, K) of NaN."""
        return np.full((len(x), self.n_classes), np.nan)


def refit_each_row(n_rows: int, n_classes: int, work: str) -> LeaveOneOutScorer:
    """Return a leave-one-out function that marks every row for a refit.

    Parameters
    ----------
    n_rows : int
        Number of rows of the fit.
    n_classes : int
        Number of classes.
    work : str
        Description of the work for each row that the error carries for its message.

    Returns
    -------
    RefitEachRow
        Returns scores (m, `n_classes`) of NaN for m rows.

    Raises
    ------
    CoreNotSupportedError
        `n_rows` is above `MAX_REFITS`.
    """
    if n_rows > MAX_REFITS:
        raise CoreNotSupportedError("many_refits", takes=work, n_rows=n_rows, limit=MAX_REFITS)
    return RefitEachRow(n_classes)
