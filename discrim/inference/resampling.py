"""Resampling: likelihood ratios of LDA against QDA, two rules on the same rows, shuffled labels, folds.

*Likelihood ratios.* The ratio of LDA against QDA does not change under affine maps of the rows within
classes, so that under one normal covariance its distribution depends on n_k and p alone: scatters W_k are
drawn as Wishart matrices with n_k - 1 degrees of freedom by their triangular roots (Bartlett, 1933,
Proceedings of the Royal Society of Edinburgh 53, 260-283). This is the parametric bootstrap, and exact up to
the number of replicates. The permutation distribution shuffles the rows' deviations from their class means
over the classes: it needs no normality, and is exact but for the means' being estimated. The p-value counts
the observed ratio as one replicate: (1 + number as large)/(1 + replicates) (Davison & Hinkley, 1997,
Bootstrap Methods and their Application, ch. 4).

*Two rules on the same rows.* Of the rows on which just one of two rules is wrong, b are the first one's and c
the second one's. If the rules are equally good, b is binomial (b + c, 1/2): the exact test doubles the
smaller tail, and (|b - c| - 1)^2 / (b + c) is about chi-square on one degree of freedom (McNemar, 1947,
Psychometrika 12, 153-157; with Edwards' continuity correction, 1948, Psychometrika 13, 185-187). It takes
rows as independent and each rule as one rule, whereas cross-validation judges every fold by rules of its own:
it is about these fits more than about the method on other samples (Dietterich, 1998, Neural Computation 10,
1895-1923).

Rows of a group depend on one another, and groups do not. If the rules are equally good, the difference d_k =
b_k - c_k of a group is as likely to be -d_k, whatever hangs together within it: the exact test is that of the
2^G signs of G groups, and (|sum d_k| - 1)^2 / sum d_k^2 is about chi-square on one degree of freedom (Yang,
Sun & Hardin, 2010, Biometrical Journal 52, 638-652, but for the correction). With groups of one row both are
McNemar's.

Differences of error d_j in J = repeats x folds folds share most of the rows they are trained on, so that
s/sqrt(J) is too small a standard error of their mean, and the smaller the more repeats. Nadeau & Bengio
(2003, Machine Learning 52, 239-281) put

    variance = (1/J + n_2/n_1) s^2,    t = mean(d) / sqrt(variance) on J - 1 degrees of freedom,

n_2 and n_1 the rows that test and train; Bouckaert & Frank (2004, PAKDD, LNCS 3056, 3-12) found it the
test of choice for 10 x 10 folds. It is an approximation: no unbiased estimate of that variance exists
(Bengio & Grandvalet, 2004, Journal of Machine Learning Research 5, 1089-1105).

*Shuffled labels.* If the columns say nothing of the class, every labelling that keeps what the design fixed
was as likely as the one that was seen. With P of them drawn, of which b give a statistic as large as the one
seen or larger, p = (1 + b) / (1 + P) is exact: no more than a share alpha of tables without a relation have
p <= alpha (Phipson & Smyth, 2010, Statistical Applications in Genetics and Molecular Biology 9, 39). Rows of
one animal, patient or site are alike. Shuffled one by one they would lose that likeness, and their true
labels would look better than chance for no other reason (Mundry & Sommer, 2007, Animal Behaviour 74,
965-976). There are two designs. Where each group is of one class ("nested"), groups are what was labelled,
and they exchange labels as wholes. Where groups have rows of several classes ("crossed"), labels are shuffled
among the rows of each group.

*Folds* are a function of what is known of the rows before any model is: how many there are, their classes,
their groups, and a seed. Two models of one table are then judged on the same folds, whatever columns they
use, and their errors can be compared pair by pair. Without groups, the rows of each class are shuffled and
dealt in turn, so that a class has in any two folds the same number of rows up to one, as have the folds. With
groups, these are shuffled and then placed from the largest to the smallest, each where sum_k c_fk g_k / n_k
is least, c_fk being the rows of class k that fold f has already, g_k those of the group and n_k all: the
place that adds least to sum_fk c_fk^2 / n_k, which is smallest where each fold has the same share of each
class.
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

CHUNK = 2**20
"""Numbers that replicates have at a time."""

TIE = 1e-12
"""Difference of statistics of about one that is no more than rounding."""


def ratio(logdets: Floats, whole: Floats, counts: Floats, p: int) -> Floats:
    """-2 ln Lambda from log-determinants of scatters (..., K) and of their sums (...)."""
    total = float(counts.sum())
    constant = total * p * np.log(total) - p * float(counts @ np.log(counts))
    return np.asarray(total * whole - logdets @ counts - constant)


def _roots(free: Floats, p: int, size: int, rng: np.random.Generator) -> Floats:
    """Lower roots A (size, K, p, p) of Wishart matrices A A' of unit scale, of free (K,) degrees."""
    roots = np.tril(rng.standard_normal((size, len(free), p, p)), -1)
    diagonal = np.sqrt(rng.chisquare(free[:, None] - np.arange(p), (size, len(free), p)))
    roots[..., np.arange(p), np.arange(p)] = diagonal
    return roots


def _by_chunks(draw: Callable[[int], Floats], replicates: int, numbers: int, title: str) -> Floats:
    """Statistics (replicates,), drawn as many at a time as the numbers of a replicate allow."""
    size = int(np.clip(CHUNK // numbers, 1, replicates))
    parts = []
    with Progress(replicates, title) as progress:
        for start in range(0, replicates, size):
            parts.append(draw(min(size, replicates - start)))
            progress(len(parts[-1]))
    return np.concatenate(parts)


def bootstrap_ratios(counts: Floats, p: int, replicates: int, seed: int | None) -> Floats:
    """Ratios (replicates,) under one normal covariance, for class counts (K,)."""
    rng = np.random.default_rng(seed)

    def draw(size: int) -> Floats:
        roots = _roots(counts - 1, p, size, rng)
        logdets = 2 * np.log(np.diagonal(roots, axis1=2, axis2=3)).sum(axis=-1)
        # The sum over the classes is one product of the roots side by side.
        side_by_side = np.swapaxes(roots, 1, 2).reshape(size, p, -1)
        whole = np.linalg.slogdet(side_by_side @ np.swapaxes(side_by_side, 1, 2))[1]
        return ratio(logdets, whole, counts, p)

    return _by_chunks(draw, replicates, len(counts) * p * p, "parametric bootstrap")


def permutation_ratios(
    deviations: Floats, counts: NDArray[np.int64], replicates: int, seed: int | None
) -> Floats:
    """Ratios (replicates,) of deviations (N, p) shuffled over the classes, which have counts (K,) of rows.

    The deviations are those of rows from their class means, whitened so that digits are kept.
    """
    rng = np.random.default_rng(seed)
    n, p = deviations.shape
    stops = np.cumsum(counts)

    def draw(size: int) -> Floats:
        # Keys rather than shuffles: one sort for all replicates of a chunk.
        shuffled = deviations[np.argsort(rng.random((size, n)), axis=1)]
        scatters = []
        for start, stop in zip([0, *stops[:-1].tolist()], stops.tolist(), strict=True):
            rows = shuffled[:, start:stop]
            rows = rows - rows.mean(axis=1, keepdims=True)
            scatters.append(np.swapaxes(rows, 1, 2) @ rows)
        stacked = np.stack(scatters, axis=1)
        logdets = np.linalg.slogdet(stacked)[1]
        whole = np.linalg.slogdet(stacked.sum(axis=1))[1]
        return ratio(logdets, whole, counts.astype(np.float64), p)

    return _by_chunks(draw, replicates, n * p, "permutation")


SORTED = 2**21
"""Numbers that are sorted at a time."""


class RunningInterval:
    """The two equal-tailed quantiles of arrays of one shape, of which only the outermost are kept.

    How many replicates will be added, 2 or more, is known at the start; the level is that between the
    quantiles.

    Examples
    --------
    >>> interval = RunningInterval((1,), 5, 0.5)
    >>> for value in (3.0, 1.0, 5.0, 2.0, 4.0):
    ...     interval.add(np.array([value]))
    >>> [float(end[0]) for end in interval.ends()]
    [2.0, 4.0]
    """

    def __init__(self, shape: tuple[int, ...], replicates: int, level: float) -> None:
        self._position = (replicates - 1) * (1 - level) / 2
        self._size = int(self._position) + 2
        self._low, self._high = np.full((2, self._size, *shape), np.inf)
        self._high *= -1
        self._new = np.empty((self._size, *shape))
        self._missing = np.zeros(shape, dtype=bool)
        self._waiting = 0

    def add(self, values: Floats) -> None:
        """Enter a replicate."""
        self._new[self._waiting] = values
        self._missing |= np.isnan(values)
        self._waiting += 1
        if self._waiting == self._size:
            self._settle()

    def _settle(self) -> None:
        count = self._missing.size // len(self._missing) if len(self._missing) else 1
        step = max(SORTED // (2 * self._size * count), 1)
        for start in range(0, len(self._missing), step):
            part = np.s_[:, start : start + step]
            for outermost, sign in ((self._low[part], 1.0), (self._high[part], -1.0)):
                both = np.concatenate([outermost, self._new[: self._waiting][part]])
                both *= sign
                both.partition(self._size - 1, axis=0)
                np.multiply(both[: self._size], sign, out=outermost)
        self._waiting = 0

    def ends(self) -> tuple[Floats, Floats]:
        """Lower and upper quantiles, linear between the two nearest as NumPy's; missing where a value is."""
        if self._waiting:
            self._settle()
        share = self._position - int(self._position)
        limits = []
        for outermost, sign in ((self._low, 1.0), (self._high, -1.0)):
            nearest = np.partition(sign * outermost, [self._size - 2, self._size - 1], axis=0)[-2:]
            with np.errstate(invalid="ignore"):
                end = sign * (nearest[0] + share * (nearest[1] - nearest[0]))
            limits.append(np.where(self._missing, np.nan, end))
        return limits[0], limits[1]


class McNemar(NamedTuple):
    """McNemar's test: the two-sided p-value of the binomial distribution, and of a chi-square on one degree.

    The statistic of the latter has a continuity correction.
    """

    exact: float
    statistic: float
    pvalue: float


class CorrectedT(NamedTuple):
    """The corrected resampled t test: the mean of the differences, and its interval."""

    mean: float
    se: float
    statistic: float
    df: float
    pvalue: float
    low: float
    high: float


def mcnemar(b: float, c: float) -> McNemar:
    """McNemar's test of two counts of rows on which just one of two rules is wrong.

    Both p-values are 1 if the counts are equal. The continuity correction of statsmodels' `mcnemar` makes the
    asymptotic one smaller than 1 then, and undefined if both counts are zero.

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


MOST_STEPS = 10**9
"""Additions that an exact test may take."""


def grouped_mcnemar(differences: Floats) -> McNemar:
    """McNemar's test of rows in groups; missing is an exact p-value of more than `MOST_STEPS`.

    Each group has a difference, a whole number: rows on which the first rule alone is wrong, less those on
    which the second is.

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
    # Groups whose sign is turned: their sizes add up to this at most, or by symmetry to all less this.
    most = (float(sizes.sum()) - total) / 2
    exact = np.nan
    if (most + 1) * len(sizes) <= MOST_STEPS:
        chances = np.zeros(int(most) + 1)
        chances[0] = 1.0
        for size in sizes.astype(np.int64).tolist():
            turned = chances[:-size].copy() if size <= most else chances[:0]
            chances *= 0.5
            chances[len(chances) - len(turned) :] += 0.5 * turned
        exact = min(1.0, 2.0 * float(chances.sum()))
    return McNemar(exact, statistic, float(chi2_sf(statistic, 1)))


def fold_errors(values: Floats, folds: int) -> tuple[float, float]:
    """Standard errors of the mean of values (J,) by fold: s/sqrt(J), and that corrected for shared training.

    The values are of all folds of all repeats, and each repeat has `folds`: n_2/n_1 = 1/(folds - 1). They are
    missing where there are fewer than two values, or one is infinite.
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return np.nan, np.nan
    spread = float(values.std(ddof=1))
    share = 1 / len(values)
    return float(spread * np.sqrt(share)), float(spread * np.sqrt(share + 1 / (folds - 1)))


def corrected_t(differences: Floats, folds: int, level: float = 0.95) -> CorrectedT:
    """The corrected resampled t test that differences (J,) by fold have the mean zero, with its interval.

    Where no fold differs, t is 0 and the p-value 1.

    Examples
    --------
    >>> test = corrected_t(np.array([0.02, 0.0, 0.04, -0.01, 0.05]), folds=5)
    >>> round(test.se, 4), round(test.statistic, 3), round(test.pvalue, 3)
    (0.0171, 1.169, 0.307)
    """
    mean = float(differences.mean())
    df = len(differences) - 1.0
    _, error = fold_errors(differences, folds)
    if not differences.any():
        return CorrectedT(mean, error, 0.0, df, 1.0, mean, mean)
    with np.errstate(divide="ignore"):
        statistic = float(np.divide(mean, error))
    half = float(t_isf((1 - level) / 2, df)) * error
    pvalue = 2 * float(t_sf(abs(statistic), df))
    return CorrectedT(mean, error, statistic, df, pvalue, mean - half, mean + half)


@dataclass(frozen=True, slots=True, eq=False)
class Shuffle:
    """How labels are shuffled: units exchange them within blocks.

    Each row (m,) is of a unit, numbered from 0, whose rows have one label. Each unit (U,) has a class, its
    label, and a block, numbered from 0.
    """

    units: Codes
    labels: Codes
    blocks: Codes

    @classmethod
    def of(cls, codes: Codes, units: Codes | None, blocks: Codes | None) -> Shuffle:
        """Of the classes (m,) of rows, their units (each its own without them) and blocks (one without)."""
        numbers = np.arange(len(codes)) if units is None else np.unique(units, return_inverse=True)[1]
        within = np.zeros(len(codes), dtype=np.intp) if blocks is None else blocks
        _, first = np.unique(numbers, return_index=True)
        numbered = np.unique(within[first], return_inverse=True)[1]
        return cls(numbers.astype(np.intp), codes[first], numbered.astype(np.intp))

    def codes(self, rng: np.random.Generator) -> Codes:
        """Classes (m,) of the rows after a shuffle."""
        order = rng.permutation(len(self.labels))
        order = order[np.argsort(self.blocks[order], kind="stable")]
        shuffled = np.empty_like(self.labels)
        shuffled[np.argsort(self.blocks, kind="stable")] = self.labels[order]
        return np.asarray(shuffled[self.units])

    def every(self) -> Iterator[Codes]:
        """Classes (m,) of the rows by each of the different labellings."""
        members = [np.flatnonzero(self.blocks == block) for block in range(int(self.blocks.max()) + 1)]
        each = [list(_arrangements(self.labels[rows].tolist())) for rows in members]
        labels = np.empty_like(self.labels)
        for chosen in product(*each):
            for rows, arranged in zip(members, chosen, strict=True):
                labels[rows] = arranged
            yield labels[self.units]

    def log_labellings(self) -> float:
        """Logarithm of the number of different labellings."""
        alike = np.unique(np.stack([self.blocks, self.labels]), axis=1, return_counts=True)[1]
        log_orders = scipy.special.gammaln(np.bincount(self.blocks) + 1.0).sum()
        return float(log_orders - scipy.special.gammaln(alike + 1.0).sum())


def _arrangements(labels: list[int]) -> Iterator[list[int]]:
    """The different orders of labels, sorted.

    Examples
    --------
    >>> list(_arrangements([1, 0, 1]))
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


def mixed_unit(codes: Codes, units: Codes) -> tuple[int, int, int] | None:
    """A unit with rows of two values, and these; None where each has one."""
    first = np.zeros(int(units.max()) + 1, dtype=np.intp)
    first[units[::-1]] = codes[::-1]
    other = np.flatnonzero(first[units] != codes)
    if not len(other):
        return None
    at = int(other[0])
    return int(units[at]), int(first[units[at]]), int(codes[at])


def permutation_pvalue(observed: float, drawn: Floats, unit: float = 1.0) -> float:
    """(1 + b) / (1 + P) of P statistics drawn, b of which are as large as the observed one or larger.

    Differences that rounding may make, relative to the unit of the statistics, make none larger.

    Examples
    --------
    >>> permutation_pvalue(0.9, np.array([0.5, 0.6, 0.9]))
    0.5
    """
    return float((1 + (drawn >= observed - TIE * unit).sum()) / (1 + len(drawn)))


def deal(codes: Codes, folds: int, repeats: int, rng: np.random.Generator) -> Codes:
    """Fold (R, n) of each row in each repeat, from codes (n,) of classes; -1 for a row without a class.

    The first repeat does not depend on how many there are, nor any on how the classes are numbered.
    """
    positions = np.flatnonzero(codes >= 0)
    dealt = np.full((repeats, len(codes)), -1, dtype=np.intp)
    classes = _as_they_appear(codes[positions])
    # Short codes sort by radix, in linear time.
    classes = classes.astype(np.int16) if len(classes) and classes.max() < 2**15 else classes
    for fold_of in dealt:
        order = rng.permutation(len(positions))
        order = order[np.argsort(classes[order], kind="stable")]
        fold_of[positions[order]] = np.arange(len(order)) % folds
    return dealt


def _as_they_appear(codes: Codes) -> Codes:
    """Codes numbered as they first appear: what the levels' order is does not matter then."""
    return np.asarray(pd.factorize(codes)[0], dtype=np.intp)


def deal_groups(codes: Codes, groups: Codes, folds: int, repeats: int, rng: np.random.Generator) -> Codes:
    """Fold (R, n) of each row in each repeat, all rows of a group in one; as `deal`.

    A row without a class may have no group.
    """
    used = codes >= 0
    groups = groups[used]
    classes = _as_they_appear(codes[used])
    n_groups = int(groups.max()) + 1
    n_classes = int(classes.max()) + 1
    counts = np.zeros((n_groups, n_classes))
    np.add.at(counts, (groups, classes), 1.0)
    shares = counts / counts.sum(axis=0)
    sizes = counts.sum(axis=1)
    dealt = np.full((repeats, len(codes)), -1, dtype=np.intp)
    for fold_of in dealt:
        order = rng.permutation(n_groups)
        order = order[np.argsort(-sizes[order], kind="stable")]
        place = np.empty(n_groups, dtype=np.intp)
        fold_counts = np.zeros((folds, n_classes))
        rows = np.zeros(folds)
        for group in order.tolist():
            cost = fold_counts @ shares[group]
            # Rounding shall not decide between folds that are alike.
            near = cost <= cost.min() + 1e-9
            fold = int(np.argmin(np.where(near, rows, np.inf)))
            place[group] = fold
            fold_counts[fold] += counts[group]
            rows[fold] += sizes[group]
        fold_of[used] = place[groups]
    return dealt


def check_folds(folds: Any, rows: int) -> None:
    """Raise a DataError for a number of folds that is none."""
    whole = isinstance(folds, (int, np.integer)) and not isinstance(folds, bool)
    if not (whole and 2 <= folds <= rows):
        raise DataError(
            f"folds={folds!r} is not valid.", hint=f"Give a number from 2 to the {rows} rows of the fit."
        )


def drawn_seed(seed: int | None) -> int:
    """The seed, or one that is drawn, so that what is random can be done again."""
    return int(np.random.default_rng().integers(2**32)) if seed is None else seed


def dealt_codes(codes: Codes, folds: int, seed: int | None) -> Codes:
    """Fold (n,) of each row of a class, from codes (n,) that are -1 for rows not used."""
    check_folds(folds, int((codes >= 0).sum()))
    return np.asarray(deal(codes, folds, 1, generator(seed))[0])


def generator(seed: int | None) -> np.random.Generator:
    """A generator of random numbers, or a DataError that says what a seed is."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise DataError(
            f"seed={seed!r} is not valid.", hint="Give a whole number, 0 or more, or None."
        ) from None
