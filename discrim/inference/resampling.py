"""Resampling tests and folds: LDA against QDA, paired comparison of rules, permuted labels, folds.

Cross-validation, comparisons of models and permutation tests use these functions.

*Likelihood ratios.* The likelihood ratio of LDA against QDA is invariant under affine maps of the rows within
classes. For normal classes with equal covariance its distribution therefore depends on n_k and p only, and
scatters W_k are drawn as Wishart matrices with n_k - 1 degrees of freedom by their triangular roots
(Bartlett, 1933, Proceedings of the Royal Society of Edinburgh 53, 260-283). This parametric bootstrap is
exact up to the number of replicates. The permutation distribution permutes deviations from the class means
over the classes; it does not require normality, and is exact except for the estimation of the means. The
p-value counts the observed ratio as one replicate: (1 + number at least as large)/(1 + replicates) (Davison &
Hinkley, 1997, Bootstrap Methods and their Application, ch. 4).

*Two rules on the same rows.* Let b be the number of rows on which only the first of two rules is wrong, and c
the number for the second rule. If the rules are equally good, b is binomial (b + c, 1/2): the exact p-value
is twice the smaller tail, and (|b - c| - 1)^2 / (b + c) is approximately chi-square with one degree of
freedom (McNemar, 1947, Psychometrika 12, 153-157; with Edwards' continuity correction, 1948, Psychometrika
13, 185-187). The test assumes independent rows and fixed rules, whereas cross-validation fits a rule for each
fold: it compares these fits rather than the methods on other samples (Dietterich, 1998, Neural Computation
10, 1895-1923).

Rows of a group are dependent, different groups are independent. If the rules are equally good, the difference
d_k = b_k - c_k of a group has the same distribution as -d_k for any dependence within the group: the exact
test uses the 2^G signs of G groups, and (|sum d_k| - 1)^2 / sum d_k^2 is approximately chi-square with one
degree of freedom (Yang, Sun & Hardin, 2010, Biometrical Journal 52, 638-652, without the correction). With
groups of one row both are McNemar's test.

Differences of error d_j in J = repeats x folds folds are based on overlapping training rows. Therefore
s/sqrt(J) underestimates the standard error of their mean, the more so the more repeats there are. Nadeau &
Bengio (2003, Machine Learning 52, 239-281) use

    variance = (1/J + n_2/n_1) s^2,    t = mean(d) / sqrt(variance) on J - 1 degrees of freedom,

with n_2 test and n_1 training rows; Bouckaert & Frank (2004, PAKDD, LNCS 3056, 3-12) recommend it for
10 x 10 folds. It is an approximation: an unbiased estimate of the variance does not exist
(Bengio & Grandvalet, 2004, Journal of Machine Learning Research 5, 1089-1105).

*Permuted labels.* If the columns are independent of the class, every labelling compatible with the design was
as likely as the observed one. With P random labellings, b of which have a statistic at least as large as the
observed one, p = (1 + b) / (1 + P) is exact: under the null hypothesis p <= alpha has probability at most
alpha (Phipson & Smyth, 2010, Statistical Applications in Genetics and Molecular Biology 9, 39). Rows of one
animal, patient or site are similar. Permuting them one by one would destroy this similarity, and the true
labels would look better than chance for this reason alone (Mundry & Sommer, 2007, Animal Behaviour 74,
965-976). There are two designs. If each group belongs to one class ("nested"), groups exchange their labels
as a whole. If groups contain rows of several classes ("crossed"), labels are permuted among the rows of each
group.

*Folds* depend only on the number of rows, their classes, their groups and a seed, not on the model. Two
models of one table are therefore evaluated on the same folds, and their errors can be compared in pairs.
Without groups, the rows of each class are shuffled and assigned to the folds in turn; the numbers of rows of
a class in any two folds differ by at most one, and so do the sizes of the folds. Groups are shuffled and then
assigned from the largest to the smallest, each to the fold with the smallest sum_k c_fk g_k / n_k, with c_fk
the rows of class k already in fold f, g_k the rows of class k in the group and n_k the total. This adds the
least to sum_fk c_fk^2 / n_k, which is minimal if each fold has the same proportion of each class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import chi2_sf, t_isf, t_sf
from discrim.errors import DataError

MAX_CHUNK_ELEMENTS = 2**20
"""Maximum number of elements of replicates in memory at once."""

TIE_TOLERANCE = 1e-12
"""Difference of statistics of order one that is attributed to rounding."""


def likelihood_ratio_statistic(logdets: Floats, total_logdet: Floats, counts: Floats, p: int) -> Floats:
    """Compute the likelihood-ratio statistic -2 ln Lambda of LDA against QDA from log-determinants.

    Parameters
    ----------
    logdets : (..., K) float
        Log-determinants of the class scatters, sums of squares and products about the class means.
    total_logdet : (...) float
        Log-determinants of the sums of the K class scatters.
    counts : (K,) float
        Number of rows of each class.
    p : int
        Number of columns.

    Returns
    -------
    (...) float
        One statistic for each element of `total_logdet`.
    """
    total = float(counts.sum())
    constant = total * p * np.log(total) - p * float(counts @ np.log(counts))
    return np.asarray(total * total_logdet - logdets @ counts - constant)


def _draw_wishart_roots(dfs: Floats, p: int, size: int, rng: np.random.Generator) -> Floats:
    """Draw lower triangular roots (size, K, p, p) of Wishart matrices with `dfs` (K,) degrees of freedom."""
    roots = np.tril(rng.standard_normal((size, len(dfs), p, p)), -1)
    diagonal = np.sqrt(rng.chisquare(dfs[:, None] - np.arange(p), (size, len(dfs), p)))
    roots[..., np.arange(p), np.arange(p)] = diagonal
    return roots


def _draw_in_chunks(draw: Callable[[int], Floats], replicates: int, n_elements: int, title: str) -> Floats:
    """Draw statistics in chunks and show the progress.

    Parameters
    ----------
    draw : callable
        Maps a number to that many statistics.
    replicates : int
        Total number of statistics.
    n_elements : int
        Number of elements in memory per replicate.
    title : str
        Label of the progress bar.

    Returns
    -------
    (replicates,) float
    """
    chunk_size = int(np.clip(MAX_CHUNK_ELEMENTS // n_elements, 1, replicates))
    chunks = []
    with Progress(replicates, title) as progress:
        for start in range(0, replicates, chunk_size):
            chunks.append(draw(min(chunk_size, replicates - start)))
            progress(len(chunks[-1]))
    return np.concatenate(chunks)


def bootstrap_likelihood_ratios(counts: Floats, p: int, replicates: int, seed: int | None) -> Floats:
    """Draw likelihood ratios of LDA against QDA for normal classes with equal covariances.

    Parameters
    ----------
    counts : (K,) float
        Number of rows of each class, more than p.
    p : int
        Number of columns.
    replicates : int
        Number of bootstrap samples.
    seed : int or None
        Seed of the random numbers; None for different numbers in each call.

    Returns
    -------
    (replicates,) float
        Statistics of `likelihood_ratio_statistic`.
    """
    rng = np.random.default_rng(seed)

    def draw(size: int) -> Floats:
        """Likelihood ratios (size,) of random scatters."""
        roots = _draw_wishart_roots(counts - 1, p, size, rng)
        logdets = 2 * np.log(np.diagonal(roots, axis1=2, axis2=3)).sum(axis=-1)
        # Stack the roots of the classes, which makes the sum over classes one product.
        side_by_side = np.swapaxes(roots, 1, 2).reshape(size, p, -1)
        total_logdets = np.linalg.slogdet(side_by_side @ np.swapaxes(side_by_side, 1, 2))[1]
        return likelihood_ratio_statistic(logdets, total_logdets, counts, p)

    return _draw_in_chunks(draw, replicates, len(counts) * p * p, "parametric bootstrap")


def permutation_likelihood_ratios(
    deviations: Floats, counts: NDArray[np.int64], replicates: int, seed: int | None
) -> Floats:
    """Draw likelihood ratios of LDA against QDA after permuting deviations over the classes.

    Parameters
    ----------
    deviations : (N, p) float
        Deviations of rows from their class means, in any order. Whitened deviations are the most accurate.
    counts : (K,) int
        Number of rows of each class, more than p.
    replicates : int
        Number of permutations.
    seed : int or None
        Seed of the random numbers; None for different numbers in each call.

    Returns
    -------
    (replicates,) float
        Statistics of `likelihood_ratio_statistic`; permuted deviations are centred again within classes.
    """
    rng = np.random.default_rng(seed)
    n, p = deviations.shape
    stops = np.cumsum(counts)

    def draw(size: int) -> Floats:
        """Likelihood ratios (size,) after random permutations."""
        # Sorting random keys permutes all replicates of a chunk at once.
        shuffled = deviations[np.argsort(rng.random((size, n)), axis=1)]
        scatters = []
        for start, stop in zip([0, *stops[:-1].tolist()], stops.tolist(), strict=True):
            rows = shuffled[:, start:stop]
            rows = rows - rows.mean(axis=1, keepdims=True)
            scatters.append(np.swapaxes(rows, 1, 2) @ rows)
        stacked = np.stack(scatters, axis=1)
        logdets = np.linalg.slogdet(stacked)[1]
        total_logdets = np.linalg.slogdet(stacked.sum(axis=1))[1]
        return likelihood_ratio_statistic(logdets, total_logdets, counts.astype(np.float64), p)

    return _draw_in_chunks(draw, replicates, n * p, "permutation")


MAX_SORTED_ELEMENTS = 2**21
"""Maximum number of elements that are sorted at once."""


class RunningInterval:
    """Equal-tailed interval of replicates that are added one by one, storing only the outermost values.

    Parameters
    ----------
    shape : tuple of int
        Shape of a replicate, of at least one dimension.
    replicates : int
        Number of replicates that will be added, at least 2.
    level : float
        Proportion of replicates between the limits, for example 0.95.

    Examples
    --------
    >>> interval = RunningInterval((1,), 5, 0.5)
    >>> for value in (3.0, 1.0, 5.0, 2.0, 4.0):
    ...     interval.add(np.array([value]))
    >>> [float(end[0]) for end in interval.limits()]
    [2.0, 4.0]
    """

    def __init__(self, shape: tuple[int, ...], replicates: int, level: float) -> None:
        """Allocate memory for the outermost values; see the class for the parameters."""
        self._position = (replicates - 1) * (1 - level) / 2
        self._size = int(self._position) + 2
        self._low, self._high = np.full((2, self._size, *shape), np.inf)
        self._high *= -1
        self._new = np.empty((self._size, *shape))
        self._missing = np.zeros(shape, dtype=bool)
        self._n_buffered = 0

    def add(self, values: Floats) -> None:
        """Add a replicate, an array of the shape given to the constructor."""
        self._new[self._n_buffered] = values
        self._missing |= np.isnan(values)
        self._n_buffered += 1
        if self._n_buffered == self._size:
            self._merge_buffer()

    def _merge_buffer(self) -> None:
        """Merge the buffered replicates into the outermost values."""
        count = self._missing.size // len(self._missing) if len(self._missing) else 1
        chunk_size = max(MAX_SORTED_ELEMENTS // (2 * self._size * count), 1)
        for start in range(0, len(self._missing), chunk_size):
            chunk = np.s_[:, start : start + chunk_size]
            for outermost, sign in ((self._low[chunk], 1.0), (self._high[chunk], -1.0)):
                candidates = np.concatenate([outermost, self._new[: self._n_buffered][chunk]])
                candidates *= sign
                candidates.partition(self._size - 1, axis=0)
                np.multiply(candidates[: self._size], sign, out=outermost)
        self._n_buffered = 0

    def limits(self) -> tuple[Floats, Floats]:
        """Return lower and upper limits, each of the shape of a replicate.

        They are quantiles with linear interpolation, and require all replicates. An element is NaN if it is
        NaN in any replicate.
        """
        if self._n_buffered:
            self._merge_buffer()
        fraction = self._position - int(self._position)
        limits = []
        for outermost, sign in ((self._low, 1.0), (self._high, -1.0)):
            nearest = np.partition(sign * outermost, [self._size - 2, self._size - 1], axis=0)[-2:]
            with np.errstate(invalid="ignore"):
                limit = sign * (nearest[0] + fraction * (nearest[1] - nearest[0]))
            limits.append(np.where(self._missing, np.nan, limit))
        return limits[0], limits[1]


class McNemar(NamedTuple):
    """Result of McNemar's test.

    Attributes
    ----------
    exact : float
        Exact two-sided p-value.
    statistic : float
        Chi-square statistic with continuity correction, on one degree of freedom.
    pvalue : float
        P-value of this chi-square.
    """

    exact: float
    statistic: float
    pvalue: float


class CorrectedT(NamedTuple):
    """Result of the corrected resampled t test.

    Attributes
    ----------
    mean, se : float
        Mean difference over the folds, and its corrected standard error.
    statistic, df, pvalue : float
        t statistic, its degrees of freedom and the two-sided p-value.
    low, high : float
        Confidence limits of the mean difference.
    """

    mean: float
    se: float
    statistic: float
    df: float
    pvalue: float
    low: float
    high: float


def mcnemar(b: float, c: float) -> McNemar:
    """Compute McNemar's test of two rules on the same rows.

    Both p-values are 1 if the counts are equal. In statsmodels' `mcnemar` the continuity correction makes the
    asymptotic p-value smaller than 1 then, and undefined if both counts are zero.

    Parameters
    ----------
    b, c : float
        Number of rows on which only the first rule is wrong, and number for the second rule; whole numbers.

    Returns
    -------
    McNemar

    Examples
    --------
    >>> [round(number, 4) for number in mcnemar(2, 11)]
    [0.0225, 4.9231, 0.0265]
    """
    total = b + c
    if not total:
        return McNemar(1.0, 0.0, 1.0)
    exact = min(1.0, 2.0 * float(scipy.stats.binom.cdf(min(b, c), total, 0.5)))
    statistic = max(abs(b - c) - 1.0, 0.0) ** 2 / total
    return McNemar(exact, statistic, float(chi2_sf(statistic, 1)))


MAX_EXACT_ADDITIONS = 10**9
"""Maximum number of additions of an exact test."""


def grouped_mcnemar(differences: Floats) -> McNemar:
    """Compute McNemar's test of two rules for rows in groups; rows of a group may be dependent.

    Parameters
    ----------
    differences : (G,) float
        Whole numbers: for each group the number of rows on which only the first rule is wrong, minus the
        number for the second rule.

    Returns
    -------
    McNemar
        Both p-values are 1 if all differences are zero. The exact p-value is NaN if it would need more than
        `MAX_EXACT_ADDITIONS` additions.

    Examples
    --------
    >>> [round(number, 4) for number in grouped_mcnemar(np.array([3.0, -1.0, 2.0, 4.0, 0.0]))]
    [0.25, 1.6333, 0.2012]
    """
    sizes = np.abs(differences[differences != 0])
    if not len(sizes):
        return McNemar(1.0, 0.0, 1.0)
    total = abs(float(differences.sum()))
    statistic = max(total - 1.0, 0.0) ** 2 / float(sizes @ sizes)
    # Largest total size of the groups with reversed sign; the other tail follows by symmetry.
    max_reversed = (float(sizes.sum()) - total) / 2
    exact = np.nan
    if (max_reversed + 1) * len(sizes) <= MAX_EXACT_ADDITIONS:
        probabilities = np.zeros(int(max_reversed) + 1)
        probabilities[0] = 1.0
        for size in sizes.astype(np.int64).tolist():
            shifted = probabilities[:-size].copy() if size <= max_reversed else probabilities[:0]
            probabilities *= 0.5
            probabilities[len(probabilities) - len(shifted) :] += 0.5 * shifted
        exact = min(1.0, 2.0 * float(probabilities.sum()))
    return McNemar(exact, statistic, float(chi2_sf(statistic, 1)))


def fold_mean_standard_errors(values: Floats, folds: int) -> tuple[float, float]:
    """Compute standard errors of the mean over folds, uncorrected and corrected for shared training rows.

    Parameters
    ----------
    values : (J,) float
        Values of all J folds of all repeats.
    folds : int
        Number of folds of a repeat; the test rows are 1/(folds - 1) of the training rows.

    Returns
    -------
    uncorrected, corrected : float
        s/sqrt(J), and Nadeau and Bengio's standard error (see the module docstring). Both are NaN if there
        are fewer than two values or any of them is not finite.
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return np.nan, np.nan
    sd = float(values.std(ddof=1))
    variance_factor = 1 / len(values)
    return float(sd * np.sqrt(variance_factor)), float(sd * np.sqrt(variance_factor + 1 / (folds - 1)))


def corrected_t(differences: Floats, folds: int, level: float = 0.95) -> CorrectedT:
    """Compute the corrected resampled t test that the mean of differences by fold is zero.

    If all differences are zero, t is 0, the p-value 1, and both limits are 0. With a single nonzero
    difference all values except the mean and df are NaN.

    Parameters
    ----------
    differences : (J,) float
        Error of the first rule minus error of the second in each of the J folds of all repeats.
    folds : int
        Number of folds of a repeat.
    level : float
        Confidence level.

    Returns
    -------
    CorrectedT

    Examples
    --------
    >>> test = corrected_t(np.array([0.02, 0.0, 0.04, -0.01, 0.05]), folds=5)
    >>> round(test.se, 4), round(test.statistic, 3), round(test.pvalue, 3)
    (0.0171, 1.169, 0.307)
    """
    mean = float(differences.mean())
    df = len(differences) - 1.0
    _, se = fold_mean_standard_errors(differences, folds)
    if not differences.any():
        return CorrectedT(mean, se, 0.0, df, 1.0, mean, mean)
    with np.errstate(divide="ignore"):
        statistic = float(np.divide(mean, se))
    half = float(t_isf((1 - level) / 2, df)) * se
    pvalue = 2 * float(t_sf(abs(statistic), df))
    return CorrectedT(mean, se, statistic, df, pvalue, mean - half, mean + half)


@dataclass(frozen=True, slots=True, eq=False)
class LabelPermutation:
    """Permutations of labels in which units of rows exchange their labels within blocks.

    Attributes
    ----------
    units : (m,) int
        Unit of each of the m rows, numbered from 0. The rows of a unit have the same label.
    labels, blocks : (U,) int
        Label (class) and block of each of the U units; blocks are numbered from 0.
    """

    units: Codes
    labels: Codes
    blocks: Codes

    @classmethod
    def from_codes(cls, codes: Codes, units: Codes | None, blocks: Codes | None) -> LabelPermutation:
        """Build the permutations from the class, unit and block of each row.

        Parameters
        ----------
        codes : (m,) int
            Class of each row, constant within units (not checked, see `find_mixed_unit`).
        units : (m,) int or None
            Unit of each row, any integers; None if each row is a unit.
        blocks : (m,) int or None
            Block of each row, any integers, constant within units; None for a single block.

        Returns
        -------
        LabelPermutation
        """
        unit_ids = np.arange(len(codes)) if units is None else np.unique(units, return_inverse=True)[1]
        block_of_rows = np.zeros(len(codes), dtype=np.intp) if blocks is None else blocks
        _, first = np.unique(unit_ids, return_index=True)
        block_ids = np.unique(block_of_rows[first], return_inverse=True)[1]
        return cls(unit_ids.astype(np.intp), codes[first], block_ids.astype(np.intp))

    def random_codes(self, rng: np.random.Generator) -> Codes:
        """Return the classes (m,) of the rows after a random permutation."""
        order = rng.permutation(len(self.labels))
        order = order[np.argsort(self.blocks[order], kind="stable")]
        shuffled = np.empty_like(self.labels)
        shuffled[np.argsort(self.blocks, kind="stable")] = self.labels[order]
        return np.asarray(shuffled[self.units])

    def iter_labellings(self) -> Iterator[Codes]:
        """Yield the classes (m,) of the rows for each distinct labelling, including the observed one.

        Check `log_n_labellings` first; the labellings within each block are stored.
        """
        members = [np.flatnonzero(self.blocks == block) for block in range(int(self.blocks.max()) + 1)]
        orders_by_block = [list(_distinct_permutations(self.labels[rows].tolist())) for rows in members]
        labels = np.empty_like(self.labels)
        for chosen in product(*orders_by_block):
            for rows, block_order in zip(members, chosen, strict=True):
                labels[rows] = block_order
            yield labels[self.units]

    def log_n_labellings(self) -> float:
        """Return the natural logarithm of the number of distinct labellings, including the observed one."""
        label_counts = np.unique(np.stack([self.blocks, self.labels]), axis=1, return_counts=True)[1]
        log_orders = scipy.special.gammaln(np.bincount(self.blocks) + 1.0).sum()
        return float(log_orders - scipy.special.gammaln(label_counts + 1.0).sum())


def _distinct_permutations(labels: list[int]) -> Iterator[list[int]]:
    """Yield the distinct permutations of labels in sorted order.

    Examples
    --------
    >>> list(_distinct_permutations([1, 0, 1]))
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    order = sorted(labels)
    while True:
        yield order.copy()
        rising = [i for i in range(len(order) - 1) if order[i] < order[i + 1]]
        if not rising:
            return
        first = rising[-1]
        last = max(j for j in range(first + 1, len(order)) if order[j] > order[first])
        order[first], order[last] = order[last], order[first]
        order[first + 1 :] = order[:first:-1]


def find_mixed_unit(codes: Codes, units: Codes) -> tuple[int, int, int] | None:
    """Find a unit whose rows have different codes; return the unit and two of its codes, or None.

    `codes` and `units` (n,) are numbered from 0. The unit is the one of the first row that differs from the
    first row of its unit.
    """
    first_codes = np.zeros(int(units.max()) + 1, dtype=np.intp)
    first_codes[units[::-1]] = codes[::-1]
    differing_rows = np.flatnonzero(first_codes[units] != codes)
    if not len(differing_rows):
        return None
    row = int(differing_rows[0])
    return int(units[row]), int(first_codes[units[row]]), int(codes[row])


def permutation_pvalue(observed: float, permuted: Floats, unit: float = 1.0) -> float:
    """Return the permutation p-value (1 + b) / (1 + P), b the number of statistics >= the observed one.

    Parameters
    ----------
    observed : float
        Statistic of the observed labels.
    permuted : (P,) float
        Statistics of the permutations, without the observed labels.
    unit : float
        Magnitude of the statistics; differences up to `TIE_TOLERANCE` times the unit count as ties.

    Returns
    -------
    float

    Examples
    --------
    >>> permutation_pvalue(0.9, np.array([0.5, 0.6, 0.9]))
    0.5
    """
    return float((1 + (permuted >= observed - TIE_TOLERANCE * unit).sum()) / (1 + len(permuted)))


def assign_folds(codes: Codes, folds: int, repeats: int, rng: np.random.Generator) -> Codes:
    """Assign rows to folds at random, stratified by class.

    The first repeat does not depend on the number of repeats, and no repeat depends on the numbering of the
    classes.

    Parameters
    ----------
    codes : (n,) int
        Classes; -1 for a row without a class.
    folds, repeats : int
        Number of folds, and number R of independent assignments.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    (R, n) int
        Fold of each row in each repeat, from 0 to folds - 1; -1 for a row without a class.
    """
    positions = np.flatnonzero(codes >= 0)
    fold_ids = np.full((repeats, len(codes)), -1, dtype=np.intp)
    classes = _codes_by_appearance(codes[positions])
    # NumPy sorts 16-bit integers by radix sort, in linear time.
    classes = classes.astype(np.int16) if len(classes) and classes.max() < 2**15 else classes
    for fold_of in fold_ids:
        order = rng.permutation(len(positions))
        order = order[np.argsort(classes[order], kind="stable")]
        fold_of[positions[order]] = np.arange(len(order)) % folds
    return fold_ids


def _codes_by_appearance(codes: Codes) -> Codes:
    """Renumber codes in the order of appearance, to be independent of the order of levels."""
    return np.asarray(pd.factorize(codes)[0], dtype=np.intp)


def assign_group_folds(
    codes: Codes, groups: Codes, folds: int, repeats: int, rng: np.random.Generator
) -> Codes:
    """Assign groups of rows to folds at random, with similar class proportions (see the module docstring).

    Parameters
    ----------
    codes : (n,) int
        Classes; -1 for a row without a class.
    groups : (n,) int
        Group of each row, numbered from 0; arbitrary for a row without a class.
    folds, repeats : int
        Number of folds, and number R of independent assignments.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    (R, n) int
        Fold of each row in each repeat, the same for all rows of a group; -1 for a row without a class. A
        fold is empty if there are fewer groups than folds.
    """
    labelled_mask = codes >= 0
    groups = groups[labelled_mask]
    classes = _codes_by_appearance(codes[labelled_mask])
    n_groups = int(groups.max()) + 1
    n_classes = int(classes.max()) + 1
    counts = np.zeros((n_groups, n_classes))
    np.add.at(counts, (groups, classes), 1.0)
    class_proportions = counts / counts.sum(axis=0)
    sizes = counts.sum(axis=1)
    fold_ids = np.full((repeats, len(codes)), -1, dtype=np.intp)
    for fold_of in fold_ids:
        order = rng.permutation(n_groups)
        order = order[np.argsort(-sizes[order], kind="stable")]
        fold_of_group = np.empty(n_groups, dtype=np.intp)
        fold_counts = np.zeros((folds, n_classes))
        rows = np.zeros(folds)
        for group in order.tolist():
            cost = fold_counts @ class_proportions[group]
            # Treat folds with equal costs up to rounding as tied.
            has_min_cost = cost <= cost.min() + 1e-9
            fold = int(np.argmin(np.where(has_min_cost, rows, np.inf)))
            fold_of_group[group] = fold
            fold_counts[fold] += counts[group]
            rows[fold] += sizes[group]
        fold_of[labelled_mask] = fold_of_group[groups]
    return fold_ids


def check_folds(folds: Any, rows: int) -> None:
    """Raise a DataError unless `folds` is an integer between 2 and the number of rows."""
    is_integer = isinstance(folds, (int, np.integer)) and not isinstance(folds, bool)
    if not (is_integer and 2 <= folds <= rows):
        raise DataError(
            f"folds={folds!r} is not valid.",
            hint=f"Pass a whole number from 2 to {rows}, the number of observations.",
        )


def seed_or_random(seed: int | None) -> int:
    """Return the seed, or a random one if it is None, which can be stored to reproduce the results."""
    return int(np.random.default_rng().integers(2**32)) if seed is None else seed


def stratified_fold_ids(codes: Codes, folds: int, seed: int | None) -> Codes:
    """Return the fold of each row in one random assignment, stratified by class.

    Parameters
    ----------
    codes : (n,) int
        Classes; -1 for unused rows.
    folds : int
        Number of folds; a DataError is raised unless it is an integer from 2 to the number of used rows.
    seed : int or None
        Seed of the assignment; None for a different assignment in each call. A DataError is raised if it is
        invalid.

    Returns
    -------
    (n,) int
        Fold of each row, from 0 to `folds` - 1; -1 for unused rows.
    """
    check_folds(folds, int((codes >= 0).sum()))
    return np.asarray(assign_folds(codes, folds, 1, random_generator(seed))[0])


def random_generator(seed: int | None) -> np.random.Generator:
    """Return NumPy's random generator for a seed, unseeded for None; raise a DataError if it is invalid."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise DataError(
            f"seed={seed!r} is not valid.", hint="Pass a nonnegative whole number, or None."
        ) from None
