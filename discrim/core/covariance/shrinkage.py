"""Shrinkage intensities, the rules that determine them, and sums over rows that analytic rules require.

The shrunk, diagonal and correlation models use this module.

Theory. How much a covariance S of n rows should be shrunk depends on the sampling variance of its entries,
which depends on fourth powers. With deviations d scaled to tr(W) = 1 for W = sum d d', Ledoit & Wolf's (2004,
Journal of Multivariate Analysis 88, 365-411) intensity towards the sphere of p columns is

    g = min(1, (n F - |W|^2) / (n |W - I/p|^2)),   F = sum |d|^4,

which is scikit-learn's `ledoit_wolf_shrinkage` in the units of the data. (Its LDA with `shrinkage="auto"`
first scales columns to a standard deviation of one.) Opgen-Rhein & Strimmer's (2007, Statistical Applications
in Genetics and Molecular Biology 6, 9) intensity of the variances v_j towards their median is

    g = min(1, sum_j Var(v_j) / sum_j (v_j - median)^2),   Var(v_j) = n / (n - 1)^3 sum_i (d_ij^2 - v_j')^2

with v_j' = sum_i d_ij^2 / n, like corpcor's `var.shrink`.

*Digits.* The sums are computed about the class means in a pass of their own: about the provisional centres of
the pass that computes the means, third powers and a scatter of each class would be required.

*Leaving a row out.* Removing weight o of a row d of a class with n_g rows moves the mean of the class by
-s d, s = o / (n_g - o). With W_g, T_g = sum |d|^2 d and t_g = tr(W_g) of the class, and q = d'd,

    F -> F + 4 s^2 d'W_g d + n_g s^4 q^2 + 4 s d'T_g + 2 s^2 q t_g - o (n_g / (n_g - o))^4 q^2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from discrim.core.covariance.principal import PrincipalAxes
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments, deviations_from_class_means
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import EPS, NOT_STORED, Codes, Floats

DEFAULT_GRID = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, *(round(0.1 * i, 1) for i in range(1, 11)))
"""Default candidates of the shrinkage for the rule "loo", from zero to one."""

ShrinkageRule = Literal["given", "oas", "ledoit-wolf", "loo", "strimmer"]
"""Rules that determine a shrinkage, the values of `Shrinkage.rule`."""

SHRINKAGE_RULES: tuple[ShrinkageRule, ...] = ("given", "oas", "ledoit-wolf", "loo", "strimmer")
"""All values of `ShrinkageRule`."""

CandidateScorer = Callable[[Floats, Codes, Floats | None], Iterator[Floats]]
"""Function of x (m, p), codes (m,) and weights (m,) or None that yields leave-one-out scores (K, m) for each
candidate of the shrinkage.
"""

MIN_RATIO_FOR_LABELS = 1e-8
"""Smallest accepted remainder of a determinant for a prediction, which needs less accuracy than scores."""


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """Amount of shrinkage, and the rule that determines it.

    Attributes
    ----------
    rule : {"given", "oas", "ledoit-wolf", "loo", "strimmer"}
        "given" by the user; "oas", "ledoit-wolf" (towards a sphere) and "strimmer" (variances towards their
        median, correlations towards zero) by an analytic rule; "loo" for the candidate of smallest
        leave-one-out error.
    values : tuple of float
        Values in [0, 1], one or one for each class; empty if they are not determined yet.
    grid : tuple of float
        Candidates for "loo"; empty in a loaded fit, whose choice is kept.
    """

    rule: ShrinkageRule
    values: tuple[float, ...] = ()
    grid: tuple[float, ...] = field(default=(), metadata=NOT_STORED)

    def validate(self) -> None:
        """Raise InvalidStateError if a value that was read from a file is not between 0 and 1."""
        if not all(0 <= g <= 1 for g in self.values):
            raise InvalidStateError("its shrinkage is not between 0 and 1")

    def for_class(self, k: int | None) -> float | None:
        """Return the value of class k, or the only value; None if it is not determined yet."""
        if not self.values:
            return None
        return self.values[k if k is not None and len(self.values) > 1 else 0]

    def with_values(self, values: Sequence[float]) -> Shrinkage:
        """Return a copy with these values, one or one for each class, and the same rule and grid."""
        return replace(self, values=tuple(float(g) for g in values))

    def unfitted(self) -> Shrinkage:
        """Return a copy without values that the rule determined.

        Values of rule "given" are kept, and values of "loo" without a grid (a loaded fit).
        """
        return (
            self if self.rule == "given" or (self.rule == "loo" and not self.grid) else self.with_values(())
        )

    def for_refit(self) -> Shrinkage:
        """Return a copy for a refit to other moments: without values for "oas", which follow from moments.

        Values of all other rules are kept.
        """
        return self.with_values(()) if self.rule == "oas" else self

    @property
    def requires_rows(self) -> bool:
        """Whether the rule requires rows in addition to moments."""
        return self.rule in ("ledoit-wolf", "loo", "strimmer")

    def is_negligible(self, n_columns: int) -> bool:
        """Return whether the smallest value is so close to zero that a singular covariance stays singular.

        This is a value of at most `n_columns` machine epsilons. False if no value is determined yet.
        """
        return bool(self.values) and min(self.values) <= n_columns * EPS


FOURTHS_ROUNDING = 16 * EPS
"""Relative size up to which a difference of sums of fourth powers is rounding error."""


def unit_trace_factors(moments: ClassMoments, *, by_class: bool) -> Floats:
    """Return the factors by which coordinates z are multiplied for scatters of trace one.

    The scaled columns have the units of the data up to one factor for all columns.

    Parameters
    ----------
    moments : ClassMoments
        Moments of the rows, which define their coordinates z; not all columns are constant within classes
        or, if `by_class`, within a class.
    by_class : bool
        Whether the scatter of each class has trace one; otherwise the pooled scatter has.

    Returns
    -------
    (K, p) or (1, p) float
        Factors of the columns for each class, or for all classes.
    """
    ratio = moments.common_unit
    squares = moments.squares if by_class else moments.squares.sum(axis=0, keepdims=True)
    # Factor by factor: the square of a ratio may underflow.
    totals = (squares * ratio * ratio).sum(axis=1)
    return np.asarray(ratio / np.sqrt(totals)[:, None])


def fourth_power_sums(blocks: RowBlocks, moments: ClassMoments, *, by_class: bool) -> Floats:
    """Compute sums F of |d|^4 over the rows, with deviations d scaled so that scatters have trace one.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of the rows.
    moments : ClassMoments
        Moments of the rows.
    by_class : bool
        Whether each class has its own sum and scale.

    Returns
    -------
    (K,) or (1,) float
        One sum for each class, or the sum over all classes.
    """
    k = moments.n_classes
    units = np.broadcast_to(unit_trace_factors(moments, by_class=by_class), (k, moments.n_columns))
    fourths = np.zeros(k)
    for x, codes, weights in blocks:
        squares = ((deviations_from_class_means(moments, x, codes) * units[codes].T) ** 2).sum(axis=0)
        fourths += np.bincount(codes, squares**2 * (1.0 if weights is None else weights), minlength=k)
    return fourths if by_class else fourths.sum(keepdims=True)


def ledoit_wolf_intensity(distance: Floats, fourth: Floats, count: float | Floats, p: int) -> Floats:
    """Compute the shrinkage towards a sphere by Ledoit & Wolf's rule.

    Parameters
    ----------
    distance : (...) float
        |W - I/p|^2 (squared Frobenius norm) for a W of trace one.
    fourth : (...) float
        Sum F of fourth powers |d|^4 in the same units.
    count : float or (...) float
        Number of rows, or sum of weights.
    p : int
        Number of columns.

    Returns
    -------
    (...) float
        Values in [0, 1]; zero for one column.

    Examples
    --------
    >>> d = np.array([[4.0, 5.0, -4.0, -5.0], [1.0, -1.0, -1.0, 1.0]]) / np.sqrt(86)
    >>> w = d @ d.T
    >>> fourth = ((d**2).sum(axis=0) ** 2).sum()
    >>> ledoit_wolf_intensity(((w - np.eye(2) / 2) ** 2).sum(), fourth, 4, 2).round(6).tolist()
    0.079672
    """
    if p == 1:
        return np.zeros_like(distance)
    scaled_fourths = count * fourth
    numerator = scaled_fourths - (distance + 1.0 / p)
    # For two rows about their mean, both sums are equal and the difference is zero.
    numerator = np.where(numerator <= FOURTHS_ROUNDING * scaled_fourths, 0.0, numerator)
    denominator = count * distance
    return np.where(
        numerator >= denominator, 1.0, numerator / np.where(numerator >= denominator, 1.0, denominator)
    )


def strimmer_intensity(squares: Floats, fourths: Floats, count: float | Floats) -> Floats:
    """Compute the shrinkage of variances towards their median by Opgen-Rhein & Strimmer's rule.

    Parameters
    ----------
    squares : (p, ...) float
        Sums of squares of the columns about the class means.
    fourths : (...) float
        Sums of fourth powers over all columns, in the same units.
    count : float or (...) float
        Number of rows, or sum of weights.

    Returns
    -------
    (...) float
        Values in [0, 1]; one if all variances are equal. NaN in `fourths` leads to NaN.
    """
    means = squares / count
    fourths_per_row = fourths / count
    noise = fourths_per_row - (means**2).sum(axis=0)
    noise = np.where(noise <= FOURTHS_ROUNDING * fourths_per_row, 0.0, noise)
    distance = ((means - np.median(means, axis=0)) ** 2).sum(axis=0) * (count - 1.0)
    return np.where(noise >= distance, 1.0, noise / np.where(noise >= distance, 1.0, distance))


MIN_REMAINING_FOURTHS = 1e-6
"""Smallest proportion of a sum of fourth powers that has to remain without a row."""


@dataclass(frozen=True, slots=True, eq=False)
class PowerSums:
    """Weighted sums of powers of deviations d by class, from which the sums without a row follow.

    They refer to deviations from the class means on r principal axes, or in p columns.

    Attributes
    ----------
    seconds : (K, r, r) or (K, p) float
        Scatters on principal axes, or sums of squares by column.
    thirds : (K, r) or (K, p) float
        Sums of |d|^2 d, or of third powers by column.
    fourths : (K,) or (K, p) float
        Sums of |d|^4, or of fourth powers by column.
    """

    seconds: Floats
    thirds: Floats
    fourths: Floats

    def fourths_without_rows(self, e: Floats, codes: Codes, weight: Floats, counts: Floats) -> Floats:
        """Compute the sum of fourth powers over all classes without each row.

        Parameters
        ----------
        e : (r, m) or (p, m) float
            Deviations of the rows from the means of their classes, in the same coordinates as the sums.
        codes : (m,) int
            Class of each row.
        weight : (m,) float
            Weights that are left out.
        counts : (m,) float
            Total weights of their classes, with the row.

        Returns
        -------
        (m,) float
            NaN if too little of the sum remains for an accurate difference.
        """
        mean_shift = weight / (counts - weight)
        q = (e**2).sum(axis=0)
        total = float(self.fourths.sum())
        if self.seconds.ndim == 2:
            thirds = (self.thirds[codes].T * e).sum(axis=0)
            square_terms = 6.0 * (self.seconds[codes].T * e**2).sum(axis=0)
            q2 = (e**4).sum(axis=0)
        else:
            thirds = np.zeros_like(q)
            square_terms = np.zeros_like(q)
            for k in np.unique(codes).tolist():
                members = np.flatnonzero(codes == k)
                member_deviations = e[:, members]
                thirds[members] = self.thirds[k] @ member_deviations
                square_terms[members] = 4.0 * (member_deviations * (self.seconds[k] @ member_deviations)).sum(
                    axis=0
                )
                square_terms[members] += 2.0 * q[members] * np.trace(self.seconds[k])
            q2 = q**2
        fourth_factor = weight * (counts / (counts - weight)) ** 4 - counts * mean_shift**4
        fourths = total + mean_shift**2 * square_terms + 4.0 * mean_shift * thirds - fourth_factor * q2
        return np.where(fourths > MIN_REMAINING_FOURTHS * total, fourths, np.nan)


def power_sums_on_axes(
    blocks: RowBlocks, moments: ClassMoments, spectra: PrincipalAxes | Sequence[PrincipalAxes]
) -> PowerSums | list[PowerSums]:
    """Compute sums of powers of the deviations on principal axes in one pass over rows.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of the rows.
    moments : ClassMoments
        Moments of the rows.
    spectra : PrincipalAxes or sequence of K PrincipalAxes
        Axes of the pooled scatter, or of each class.

    Returns
    -------
    PowerSums or list of K PowerSums
        The elements of a list have one class each.
    """
    k = moments.n_classes
    axes = [spectra] * k if isinstance(spectra, PrincipalAxes) else list(spectra)
    seconds = [np.zeros((len(class_axes.eigenvalues),) * 2) for class_axes in axes]
    thirds = [np.zeros(len(class_axes.eigenvalues)) for class_axes in axes]
    fourths = np.zeros(k)
    for x, codes, weights in blocks:
        z = deviations_from_class_means(moments, x, codes)
        for c in np.unique(codes).tolist():
            members = np.flatnonzero(codes == c)
            e = axes[c].project(z[:, members])
            frequencies = np.ones(len(members)) if weights is None else weights[members]
            q = (e**2).sum(axis=0)
            seconds[c] += (e * frequencies) @ e.T
            thirds[c] += e @ (frequencies * q)
            fourths[c] += frequencies @ q**2
    if isinstance(spectra, PrincipalAxes):
        return PowerSums(np.stack(seconds), np.stack(thirds), fourths)
    return [PowerSums(seconds[c][None], thirds[c][None], fourths[[c]]) for c in range(k)]


def column_power_sums(blocks: RowBlocks, moments: ClassMoments) -> PowerSums:
    """Compute sums of powers of the deviations by class and column in one pass over rows.

    Columns are scaled so that the pooled scatter has trace one.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of the rows.
    moments : ClassMoments
        Moments of these rows.

    Returns
    -------
    PowerSums
        Arrays by class and column, (K, p).
    """
    unit = unit_trace_factors(moments, by_class=False)[0][:, None]
    shape = (moments.n_classes, moments.n_columns)
    seconds = np.zeros(shape)
    thirds = np.zeros(shape)
    fourths = np.zeros(shape)
    for x, codes, weights in blocks:
        u = deviations_from_class_means(moments, x, codes) * unit
        for k in np.unique(codes).tolist():
            members = np.flatnonzero(codes == k)
            member_deviations = u[:, members]
            frequencies = np.ones(len(members)) if weights is None else weights[members]
            seconds[k] += member_deviations**2 @ frequencies
            thirds[k] += member_deviations**3 @ frequencies
            fourths[k] += member_deviations**4 @ frequencies
    return PowerSums(seconds, thirds, fourths)


def find_errors_by_candidate(
    scorer: CandidateScorer, x: Floats, codes: Codes, weights: Floats | None
) -> Floats:
    """Find rows that are misclassified by the rule fitted without them, for each of G candidate shrinkages.

    Parameters
    ----------
    scorer : CandidateScorer
        Yields the leave-one-out scores for each candidate.
    x : (m, p) float
        Rows, in the units of the data.
    codes : (m,) int
        True classes.
    weights : (m,) float, optional
        Weights of the rows; by default one.

    Returns
    -------
    (G, m) float
        1 if the row is misclassified, else 0; NaN if scores are missing.
    """
    errors = []
    for scores in scorer(x, codes, weights):
        is_wrong = (scores.argmax(axis=0) != codes).astype(np.float64)
        is_wrong[np.isnan(scores).any(axis=0)] = np.nan
        errors.append(is_wrong)
    return np.stack(errors)
