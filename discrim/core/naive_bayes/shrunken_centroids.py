"""Nearest shrunken centroids: the fitted model, the function that fits it, and leave-one-out scores.

Theory (Tibshirani, Hastie, Narasimhan & Chu, 2002, PNAS 99, 6567-6572; 2003, Statistical Science 18,
104-117). With m_kj the mean of column j in class k, m_j the mean over all rows, s_j the standard deviation
within classes (divisor N - K) and s_0 an offset that keeps columns of small variance from dominating,

    d_kj = (m_kj - m_j) / (M_k (s_j + s_0)),   M_k = sqrt(1/n_k - 1/N),

is a t statistic of class k against all rows. Shrinking it, d'_kj = sign(d_kj) max(|d_kj| - threshold, 0),
and undoing the standardization yields the centroids m'_kj = m_j + M_k (s_j + s_0) d'_kj. A column whose
d'_kj are all zero does not affect the rule, which minimizes the standardized distance, with scores

    ln prior_k - sum_j ((x_j - m'_kj) / (s_j + s_0))^2 / 2.

The variance of m_kj - m_j is s^2 (1/n_k - 1/N), because m_j includes class k: hence the minus sign, as in the
second paper, in R's pamr and in scikit-learn. The first paper prints a plus.

The sum over the removed columns and the square of a row are equal for all classes; the remaining score is
linear in the row. A row's leave-one-out scores follow from moments without that row, in K p operations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discrim.core.covariance.covariance import Dependency, dependencies
from discrim.core.moments.moments import ClassMoments, deviations_from_class_means, standardize_columns
from discrim.core.moments.row_sums import stable_order
from discrim.core.numerics.arrays import EPS, Codes, Floats, slices
from discrim.core.rules.gaussian import Means, nearest_mean_rule
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import LinearRule, NoLikelihood, best_class, require_plugin_method

Offset = float | Literal["median"]
"""The offset s_0, or "median" for the median of the standard deviations within classes."""

MAX_BLOCK_VALUES = 2**18
"""Number of values of a column-by-row array per block in leave-one-out."""

MAX_THRESHOLD_BLOCK_VALUES = 2**16
"""Number of values of a column-by-class or row-by-class array for several thresholds per block."""

MIN_REMAINING_SQUARES = 1e-3
"""Fraction of a column's within-class sum of squares that has to remain without a row.

If less remains, the difference is inaccurate and the row requires a refit.
"""


@dataclass(frozen=True, slots=True, eq=False)
class ShrunkenFit(NoLikelihood):
    """Fitted nearest shrunken centroids of K classes and p columns; symbols as in the module docstring.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal moments by class.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    threshold : float
        Amount by which the standardized differences d_kj are shrunk towards zero.
    offset : float or "median"
        The option that determines s_0: its value, or "median" for the median of s_j.
    centre : (p,) float
        Mean of all rows, in coordinates z = (x - origin) * scale of the moments.
    sd : (p,) float
        Standard deviations within classes s_j, in the units of the data.
    added : float
        Value of s_0, in the units of the data.
    differences : (K, p) float
        Standardized differences d_kj, not shrunk; zero if s_j + s_0 is zero.
    errors : (K,) float
        Standard errors M_k of the class means minus the mean of all rows, relative to the standard deviation.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    threshold: float
    offset: Offset
    centre: Floats
    sd: Floats
    added: float
    differences: Floats
    errors: Floats

    has_distances = False
    no_likelihood = "no_likelihood_of_shrunken_centroids"
    no_parameters = "no_parameters_of_shrunken_centroids"

    @property
    def column_scale(self) -> Floats:
        """Divisors (s_j + s_0) * scale (p,) of the columns of z; infinite on overflow, possibly zero."""
        return _column_scale(self.sd, self.added, self.moments.scale)

    def shrunken_differences(self, threshold: float | None = None) -> Floats:
        """Return the differences d'_kj (K, p), shrunk by `threshold`; None for the threshold of the fit."""
        return _soft_threshold(self.differences, self.threshold if threshold is None else threshold)

    def removal_thresholds(self) -> Floats:
        """Return, for each column (p,), the threshold at or above which it is removed: its largest |d_kj|."""
        return np.asarray(np.abs(self.differences).max(axis=0))

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """Return the decision rule under a prior.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities.
        method : str
            Method of the posteriors: only "plugin", which uses the estimates as if they were the parameters.
            Other methods raise CoreNotSupportedError.
        convention : str or None
            Not used.

        Returns
        -------
        LinearRule
            Scores as in the module docstring, up to a constant of each row.
        """
        require_plugin_method(method, "is not defined for shrunken centroids")
        origin = self.moments.origin + self.centre / self.moments.scale
        return nearest_mean_rule(self._centroids(origin), origin, log_prior)

    def rule_for_columns(self, log_prior: Floats, keep: Codes) -> LinearRule:
        """Return the decision rule that uses only some columns; the sum omits the others.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities.
        keep : (q,) int
            Positions of the columns that are used, which are the columns of the rows to score.

        Returns
        -------
        LinearRule
            Scores of rows (m, q) as in the module docstring, up to a constant of each row.
        """
        origin = self.moments.origin + self.centre / self.moments.scale
        means = self._centroids(origin)
        weights = self._column_weights()[keep, None]
        centres = means.centres[:, keep]
        centre_remainders = means.rests[:, keep]
        column_means = Means(
            centres, centre_remainders, means.scale[keep], lambda z: z * weights, lambda y: y * weights
        )
        return nearest_mean_rule(column_means, origin[keep], log_prior)

    def _column_weights(self) -> Floats:
        """Return the factors 1 / `column_scale` (p,) of the columns of z in the distance; zero if removed."""
        is_removed = np.abs(self.differences) <= self.threshold
        unit = self.column_scale
        return np.divide(1.0, unit, out=np.zeros_like(unit), where=~is_removed.all(axis=0))

    def _centroids(self, origin: Floats) -> Means:
        """Return the shrunken centroids m'_kj, with the metric of the distance.

        `origin` (p,) is the mean of all rows in the units of the data, the centroid of all classes in a
        removed column.
        """
        moments = self.moments
        unit = self.column_scale
        # The class mean less the threshold is more accurate than the mean plus the shrunken difference.
        is_removed = np.abs(self.differences) <= self.threshold
        with np.errstate(invalid="ignore"):
            # If the unit is infinite, the differences are zero and the column is removed.
            shrunken = (
                moments.rests - np.sign(self.differences) * self.threshold * self.errors[:, None] * unit
            )
        weights = self._column_weights()[:, None]
        shrunken = np.where(is_removed, self.centre - (origin - moments.origin) * moments.scale, shrunken)
        origins = np.where(is_removed, origin, moments.centres)
        centres = origins + shrunken / moments.scale
        centre_remainders = shrunken - (centres - origins) * moments.scale
        return Means(centres, centre_remainders, moments.scale, lambda z: z * weights, lambda y: y * weights)

    def columns_without_scale(self) -> list[Dependency]:
        """Return the columns that do not vary within classes, if s_0 is zero; otherwise an empty list."""
        return [] if self.added > 0 else dependencies(self.moments, diagonal=True)

    def refit(self, moments: ClassMoments) -> ShrunkenFit | None:
        """Fit the same model to other diagonal moments, with the same prior, threshold and offset option.

        Returns
        -------
        ShrunkenFit or None
            None if a class is without rows, the total weight is at most the number of classes, or s_0 is zero
            and a column does not vary within classes.
        """
        if (moments.rows < 1).any() or moments.total <= moments.n_classes:
            return None
        threshold = self.threshold
        offset = self.offset
        estimated = self.estimated_prior
        fit = fit_shrunken(moments, self.prior, threshold=threshold, offset=offset, estimated_prior=estimated)
        return None if fit.columns_without_scale() else fit

    def leave_one_out_scorer(self, log_prior: Floats) -> LeaveOneOutScorer:
        """Return a function that maps rows of the fit, codes and weights to leave-one-out scores (m, K).

        Scores are up to a constant of each row, minus infinity for the class of a row that is alone in it,
        and all NaN for a row that requires a refit (conditions in `left_out_centroid_scores`). `log_prior`
        (K,) does not change without a row.
        """
        return lambda x, codes, weights: left_out_centroid_scores(self, x, codes, weights, log_prior)


def _column_scale(sd: Floats, added: float, scale: Floats) -> Floats:
    """Return the divisors (sd + added) * scale (p,) of columns of z = (x - origin) * scale.

    `sd` (p,) and `added` are in the units of the data. Infinite on overflow.
    """
    with np.errstate(over="ignore"):
        return np.asarray((sd + added) * scale)


def fit_shrunken(
    moments: ClassMoments,
    prior: Floats,
    *,
    threshold: float,
    offset: Offset = "median",
    estimated_prior: bool = True,
) -> ShrunkenFit:
    """Fit nearest shrunken centroids to moments.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments with a total weight above the number of classes, and rows in every class.
    prior : (K,) float
        Prior probabilities of the classes.
    threshold : float
        Amount by which differences are shrunk, not negative.
    offset : float or "median"
        s_0 in the units of the data, not negative, or the median of s_j.
    estimated_prior : bool, default True
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    ShrunkenFit
        Columns with s_j + s_0 = 0 have differences of zero; `columns_without_scale` lists them.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0], [2.0, 1.0], [6.0, 1.0], [8.0, 1.0]])
    >>> codes = np.array([0, 0, 1, 1])
    >>> moments = ClassMoments.from_block(x, codes, n_classes=2, required_moments="diagonal")
    >>> fit = fit_shrunken(moments, np.array([0.5, 0.5]), threshold=1.0, offset=1.0)
    >>> fit.sd.round(4).tolist(), fit.differences.round(4).tolist()
    ([1.4142, 0.0], [[-2.4853, 0.0], [2.4853, 0.0]])
    >>> fit.shrunken_differences().round(4).tolist()
    [[-1.4853, 0.0], [1.4853, 0.0]]
    """
    means = moments.means
    anchor = means[int(np.argmax(moments.counts))]
    centre = anchor + moments.counts / moments.total @ (means - anchor)
    deviations = means - centre
    sd = np.sqrt(moments.scatters.sum(axis=0) / (moments.total - moments.n_classes)) / moments.scale
    added = float(np.median(sd)) if offset == "median" else float(offset)
    unit = _column_scale(sd, added, moments.scale)
    errors = np.sqrt(1.0 / moments.counts - 1.0 / moments.total)
    size = errors[:, None] * unit
    differences = np.divide(deviations, size, out=np.zeros_like(deviations), where=size > 0)
    return ShrunkenFit(
        moments, prior, estimated_prior, float(threshold), offset, centre, sd, added, differences, errors
    )


def predict_along_path(fit: ShrunkenFit, x: Floats, thresholds: Floats, log_prior: Floats) -> Codes:
    """Predict the classes of rows at several thresholds.

    Columns are sorted by the number of thresholds at which they remain, and each block of thresholds uses
    only the remaining columns.

    Parameters
    ----------
    fit : ShrunkenFit
        A fit; its own threshold is not used.
    x : (m, p) float
        Rows in the units of the data.
    thresholds : (T,) float
        Thresholds in increasing order.
    log_prior : (K,) float
        Logarithms of the prior probabilities.

    Returns
    -------
    (T, m) int
        Predicted class codes. If all columns are removed, they follow from the prior alone.
    """
    k = fit.moments.n_classes
    # Two classes are not grouped.
    if k > 2 and replace(fit, threshold=0.0).rule(log_prior).close_groups:
        rules = (replace(fit, threshold=threshold).rule(log_prior) for threshold in thresholds.tolist())
        return np.stack([best_class(rule.scores(x)) for rule in rules])
    # Number of thresholds at which each column remains, and of columns that remain at each threshold.
    n_survived = np.searchsorted(thresholds, fit.removal_thresholds())
    order = stable_order(len(thresholds) - n_survived, len(thresholds) + 1)
    n_remaining = len(order) - np.bincount(n_survived, minlength=len(thresholds) + 1)[:-1].cumsum()
    order = order[: int(n_remaining.max(initial=0))]
    if not len(order):
        # All columns are removed at every threshold; only the prior determines the class.
        return np.full((len(thresholds), len(x)), best_class(log_prior[None])[0])
    scale = fit.moments.scale
    origin = fit.moments.origin + fit.centre / scale
    differences = np.take(fit.differences, order, axis=1) * fit.errors[:, None]
    columns = standardize_columns(np.take(x.T, order, axis=0).T, origin[order], scale[order])
    columns /= fit.column_scale[order, None]
    labels = np.empty((len(thresholds), len(x)), dtype=np.intp)
    start = 0
    while start < len(thresholds):
        # Blocks grow as columns are removed.
        n_columns = int(n_remaining[start])
        block_size = max(MAX_THRESHOLD_BLOCK_VALUES // (k * max(len(x), n_columns)), 1)
        threshold_slice = slice(start, start + block_size)
        start += block_size
        shrunken_differences = _soft_threshold(
            differences[:, :n_columns], thresholds[threshold_slice, None, None] * fit.errors[:, None]
        )
        scores = (
            shrunken_differences.reshape(len(shrunken_differences) * k, n_columns) @ columns[:n_columns]
        ).reshape(len(shrunken_differences), k, len(x))
        squares = np.vecdot(shrunken_differences, shrunken_differences)
        scores += (log_prior - 0.5 * squares)[:, :, None]
        by_row = np.swapaxes(scores, 1, 2).reshape(-1, k)
        labels[threshold_slice] = best_class(by_row).reshape(len(shrunken_differences), len(x))
    return labels


def left_out_centroid_scores(
    fit: ShrunkenFit, x: Floats, codes: Codes, weights: Floats | None, log_prior: Floats
) -> Floats:
    """Compute leave-one-out scores with the given prior and the threshold of the fit.

    All other parameters are recomputed without the row: means, standard deviations, their median and M_k.

    Parameters
    ----------
    fit : ShrunkenFit
        The fit to all rows.
    x : (m, p) float
        Rows of the fit, in the units of the data.
    codes : (m,) int
        Class of each row.
    weights : (m,) float or None
        Frequency weights; at most one unit of a row is left out.
    log_prior : (K,) float
        Logarithms of the prior probabilities.

    Returns
    -------
    (m, K) float
        Up to a constant of each row. Minus infinity for the class of a row that is alone in it. All NaN if,
        without the row, the total weight is at most the number of remaining classes, a column has
        s_j + s_0 = 0, or at most `MIN_REMAINING_SQUARES` of the within-class sum of squares of a column
        remain.
    """
    scores = np.empty((len(fit.prior), len(codes)))
    is_crowded = bool(replace(fit, threshold=0.0).rule(log_prior).close_groups)
    for rows in slices(len(codes), max(MAX_BLOCK_VALUES // max(x.shape[1], 1), 1)):
        block_weights = None if weights is None else weights[rows]
        scores[:, rows] = _left_out_scores_of_block(
            fit, x[rows], codes[rows], block_weights, log_prior, is_crowded
        )
    return scores.T


def _left_out_scores_of_block(
    fit: ShrunkenFit, x: Floats, codes: Codes, weights: Floats | None, log_prior: Floats, is_crowded: bool
) -> Floats:
    """Compute leave-one-out scores for a block of rows.

    Parameters
    ----------
    fit : ShrunkenFit
        The fit to all rows.
    x : (m, p) float
        Rows of the fit.
    codes : (m,) int
        Class of each row.
    weights : (m,) float or None
        Frequency weights; at most one unit of a row is left out.
    log_prior : (K,) float
        Logarithms of the prior probabilities.
    is_crowded : bool
        If classes are close together, scores are computed from differences to the best class of each row,
        which preserves their digits.

    Returns
    -------
    (K, m) float
        The transposed scores of `left_out_centroid_scores`, with the same NaN and infinite values.
    """
    moments = fit.moments
    counts = moments.counts
    n_classes = moments.n_classes
    left_out_weights = np.ones(len(codes)) if weights is None else np.minimum(weights, 1.0)
    count = counts[codes]
    remaining = count - left_out_weights
    is_alone = remaining <= EPS * count
    total = moments.total - np.where(is_alone, count, left_out_weights)
    means = moments.means - fit.centre
    # Deviations from the mean of the own class and from the mean of all rows, in z; accurate even if the
    # data lie far from zero.
    from_class_mean = deviations_from_class_means(moments, x, codes)
    from_total_mean = from_class_mean + means[codes].T
    removed_factors = np.where(is_alone, 0.0, left_out_weights * count / np.where(is_alone, 1.0, remaining))
    df_within = total - n_classes + is_alone
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # If the row accounts for nearly all of the variation, rounding can make the difference negative.
        squares = np.maximum(
            moments.scatters.sum(axis=0)[:, None] - removed_factors * from_class_mean**2, 0.0
        )
        sd = np.sqrt(squares / df_within) / moments.scale[:, None]
        added = np.median(sd, axis=0) if fit.offset == "median" else np.full(len(codes), fit.added)
        unit = (sd + added) * moments.scale[:, None]
        # Mean of the other rows relative to the mean of all rows.
        mean_shift = -(moments.total - total) / total * from_total_mean
        rows = (from_total_mean - mean_shift) / unit
        scores = np.empty((n_classes, len(codes)))
        shift = np.where(is_alone, 0.0, -left_out_weights / np.where(is_alone, 1.0, remaining))

        def differences_of(k: int | Codes) -> tuple[Floats, Floats]:
            """Return M_k d_kj of class k without each row (p, m), and threshold times M_k (m,).

            k is one class, or a class (m,) for each row.
            """
            is_own = codes == k
            class_weights = np.where(is_own, remaining, counts[k])
            error = np.sqrt(np.maximum(1.0 / class_weights - 1.0 / total, 0.0))
            mean_deviations = means[k].reshape(-1, x.shape[1]).T
            return (
                mean_deviations + np.where(is_own, shift, 0.0) * from_class_mean - mean_shift
            ) / unit, fit.threshold * error

        for k in range(n_classes):
            shrunken_differences = _soft_threshold(*differences_of(k))
            scores[k] = log_prior[k] + np.einsum(
                "ij,ij->j", shrunken_differences, rows - 0.5 * shrunken_differences
            )
        if is_crowded:
            best = np.nan_to_num(scores, nan=-np.inf).argmax(axis=0)
            best_clipped = _clip_to_threshold(*differences_of(best))
            relative_rows = from_class_mean * (1.0 - np.where(codes == best, shift, 0.0))
            relative_rows = (relative_rows + _mean_differences(moments, codes, best)) / unit + best_clipped
            for k in range(n_classes):
                shift_difference = np.where(codes == k, shift, 0.0) - np.where(codes == best, shift, 0.0)
                shrunken_differences = (
                    _mean_differences(moments, k, best) + shift_difference * from_class_mean
                ) / unit - (_clip_to_threshold(*differences_of(k)) - best_clipped)
                scores[k] = log_prior[k] + np.einsum(
                    "ij,ij->j", shrunken_differences, relative_rows - 0.5 * shrunken_differences
                )
    scores[codes[is_alone], np.flatnonzero(is_alone)] = -np.inf
    # Rows without which a scale is zero, or has lost its digits to subtraction, require a refit.
    within_squares = moments.scatters.sum(axis=0)[:, None]
    is_unreliable = ((squares <= MIN_REMAINING_SQUARES * within_squares) & (within_squares > 0)) | ~(unit > 0)
    scores[:, is_unreliable.any(axis=0) | ~(df_within > 0)] = np.nan
    return scores


def _mean_differences(moments: ClassMoments, k: int | Codes, best: Codes) -> Floats:
    """Return means of class k minus means of classes `best` (m,), as columns (p, m), in coordinates z.

    k can be one class or a class for each column.
    """
    mean_differences = (moments.centres[k] - moments.centres[best]) * moments.scale
    return np.asarray((mean_differences + (moments.rests[k] - moments.rests[best])).T)


def _clip_to_threshold(values: Floats, threshold: float | Floats) -> Floats:
    """Clip values to [-threshold, threshold]: the amounts by which `_soft_threshold` shrinks them."""
    return np.asarray(np.clip(values, -threshold, threshold))


def _soft_threshold(values: Floats, threshold: float | Floats) -> Floats:
    """Move values towards zero by `threshold`, at most to zero."""
    return np.asarray(values - _clip_to_threshold(values, threshold))
