"""Reference distributions by resampling: the likelihood ratio of LDA against QDA.

Theory. The ratio does not change under affine maps of the rows within classes, so that under one normal
covariance its distribution depends on n_k and p alone: scatters W_k are drawn as Wishart matrices with n_k
- 1 degrees of freedom by their triangular roots (Bartlett, 1933, Proceedings of the Royal Society of
Edinburgh 53, 260-283). This is the parametric bootstrap, and exact up to the number of replicates. The
permutation distribution shuffles the rows' deviations from their class means over the classes: it needs no
normality, and is exact but for the means' being estimated. The p-value counts the observed ratio as one
replicate: (1 + number as large)/(1 + replicates) (Davison & Hinkley, 1997, Bootstrap Methods and their
Application, ch. 4).

Is one rule better than another on the same rows? McNemar's test and the corrected resampled t test.

Theory. Of the rows on which just one of two rules is wrong, b are the first one's and c the second one's.
If the rules are equally good, b is binomial (b + c, 1/2): the exact test doubles the smaller tail, and
(|b - c| - 1)^2 / (b + c) is about chi-square on one degree of freedom (McNemar, 1947, Psychometrika 12,
153-157; with Edwards' continuity correction, 1948, Psychometrika 13, 185-187). It takes rows as
independent and each rule as one rule, whereas cross-validation judges every fold by rules of its own: it
is about these fits more than about the method on other samples (Dietterich, 1998, Neural Computation 10,
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

Labels shuffled as chance may have dealt them, and how often they do as well as the true ones.

Theory. If the columns say nothing of the class, every labelling that keeps what the design fixed was as
likely as the one that was seen. With P of them drawn, of which b give a statistic as large as the one seen or
larger, p = (1 + b) / (1 + P) is exact: no more than a share alpha of tables without a relation have p <=
alpha (Phipson & Smyth, 2010, Statistical Applications in Genetics and Molecular Biology 9, 39).

Rows of one animal, patient or site are alike. Shuffled one by one they would lose that likeness, and their
true labels would look better than chance for no other reason (Mundry & Sommer, 2007, Animal Behaviour 74,
965-976). There are two designs. Where each group is of one class ("nested"), groups are what was labelled,
and they exchange labels as wholes. Where groups have rows of several classes ("crossed"), labels are shuffled
among the rows of each group.

Rows dealt to folds: classes in proportion, groups together, the same for every model.

Theory. Folds are a function of what is known of the rows before any model is: how many there are, their
classes, their groups, and a seed. Two models of one table are then judged on the same folds, whatever
columns they use, and their errors can be compared pair by pair.

Without groups, the rows of each class are shuffled and dealt in turn, so that a class has in any two folds
the same number of rows up to one, as have the folds. With groups, these are shuffled and then placed from
the largest to the smallest, each where sum_k c_fk g_k / n_k is least, c_fk being the rows of class k that
fold f holds already, g_k those of the group and n_k all: the place that adds least to sum_fk c_fk^2 / n_k,
which is smallest where each fold has the same share of each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray
from scipy.special import gammaln

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import late_bar
from discrim.core.numerics.special import chi2_sf, t_isf, t_sf
from discrim.errors import DataError

CHUNK = 2**20
"""Numbers held at a time."""


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


def bootstrap_ratios(counts: Floats, p: int, replicates: int, seed: int | None) -> Floats:
    """Ratios (replicates,) under one normal covariance, for class counts (K,)."""
    rng = np.random.default_rng(seed)
    size = int(np.clip(CHUNK // (len(counts) * p * p), 1, replicates))
    found: list[Floats] = []
    with late_bar(replicates, "parametric bootstrap") as tell:
        while (left := replicates - sum(len(part) for part in found)) > 0:
            roots = _roots(counts - 1, p, min(size, left), rng)
            logdets = 2 * np.log(np.diagonal(roots, axis1=2, axis2=3)).sum(axis=-1)
            # The sum over the classes is one product of the roots side by side.
            side = np.swapaxes(roots, 1, 2).reshape(len(roots), p, -1)
            whole = np.linalg.slogdet(side @ np.swapaxes(side, 1, 2))[1]
            found.append(ratio(logdets, whole, counts, p))
            tell(len(roots))
    return np.concatenate(found)


def permutation_ratios(
    deviations: Floats, counts: NDArray[np.int64], replicates: int, seed: int | None
) -> Floats:
    """Ratios (replicates,) of deviations shuffled over the classes.

    Parameters
    ----------
    deviations : (N, p) float
        Of the rows from their class means, whitened so that digits are kept.
    counts : (K,) int
        Rows of the classes.
    """
    rng = np.random.default_rng(seed)
    n, p = deviations.shape
    stops = np.cumsum(counts)
    size = int(np.clip(CHUNK // (n * p), 1, replicates))
    found: list[Floats] = []
    with late_bar(replicates, "permutation") as tell:
        while (left := replicates - sum(len(part) for part in found)) > 0:
            # Keys rather than shuffles: one sort for all replicates of a chunk.
            order = np.argsort(rng.random((min(size, left), n)), axis=1)
            shuffled = deviations[order]
            scatters = []
            for start, stop in zip([0, *stops[:-1].tolist()], stops.tolist(), strict=True):
                rows = shuffled[:, start:stop]
                rows = rows - rows.mean(axis=1, keepdims=True)
                scatters.append(np.swapaxes(rows, 1, 2) @ rows)
            held = np.stack(scatters, axis=1)
            logdets, whole = np.linalg.slogdet(held)[1], np.linalg.slogdet(held.sum(axis=1))[1]
            found.append(ratio(logdets, whole, counts.astype(np.float64), p))
            tell(len(order))
    return np.concatenate(found)


def exceedance(observed: float, replicates: Floats) -> float:
    """Monte Carlo p-value, (1 + number as large as the observed) / (1 + replicates)."""
    # A replicate that is the observed arrangement again differs by rounding only.
    return float((1 + (replicates >= observed * (1 - 1e-12)).sum()) / (1 + len(replicates)))


class McNemar(NamedTuple):
    """McNemar's test.

    Attributes
    ----------
    exact : float
        Two-sided p-value by the binomial distribution.
    statistic, pvalue : float
        With continuity correction, and by chi-square on one degree of freedom.
    """

    exact: float
    statistic: float
    pvalue: float


class CorrectedT(NamedTuple):
    """The corrected resampled t test.

    Attributes
    ----------
    mean, se : float
        Of the differences.
    low, high : float
        Interval of the mean.
    """

    mean: float
    se: float
    statistic: float
    df: float
    pvalue: float
    low: float
    high: float


def mcnemar(b: float, c: float) -> McNemar:
    """McNemar's test of two counts of rows on which just one of two rules is wrong.

    Rules that are never wrong alone do not differ: both p-values are 1 then.

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

    Parameters
    ----------
    differences : (G,) float
        Of each group: rows on which the first rule alone is wrong, less those on which the second is; whole
        numbers.

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

    Missing where there are fewer than two values, or one is infinite.

    Parameters
    ----------
    values : (J,) float
        Of all folds of all repeats.
    folds : int
        Of one repeat: n_2/n_1 = 1/(folds - 1).
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return np.nan, np.nan
    spread, share = float(values.std(ddof=1)), 1 / len(values)
    return float(spread * np.sqrt(share)), float(spread * np.sqrt(share + 1 / (folds - 1)))


def corrected_t(differences: Floats, folds: int, level: float = 0.95) -> CorrectedT:
    """The corrected resampled t test that differences (J,) by fold have the mean zero.

    Where no fold differs, t is 0 and the p-value 1.

    Parameters
    ----------
    differences : (J,) float
    folds : int
        Of one repeat.
    level : float
        Of the interval.

    Examples
    --------
    >>> found = corrected_t(np.array([0.02, 0.0, 0.04, -0.01, 0.05]), folds=5)
    >>> round(found.se, 4), round(found.statistic, 3), round(found.pvalue, 3)
    (0.0171, 1.169, 0.307)
    """
    mean, df = float(differences.mean()), len(differences) - 1.0
    _, error = fold_errors(differences, folds)
    if not differences.any():
        return CorrectedT(mean, error, 0.0, df, 1.0, mean, mean)
    with np.errstate(divide="ignore"):
        statistic = float(np.divide(mean, error))
    half = float(t_isf((1 - level) / 2, df)) * error
    pvalue = 2 * float(t_sf(abs(statistic), df))
    return CorrectedT(mean, error, statistic, df, pvalue, mean - half, mean + half)


TIE = 1e-12
"""Rates that differ by rounding are equal."""


@dataclass(frozen=True, slots=True)
class Shuffle:
    """How labels are shuffled: units exchange them within blocks.

    Attributes
    ----------
    units : (m,) int
        Unit of each row, numbered from 0; its rows have one label.
    labels : (U,) int
        Class of each unit.
    blocks : (U,) int
        Block of each unit, numbered from 0.
    """

    units: Codes
    labels: Codes
    blocks: Codes

    @classmethod
    def of(cls, codes: Codes, units: Codes | None, blocks: Codes | None) -> Shuffle:
        """Of the classes (m,) of rows, their units (each its own without them) and blocks (one without)."""
        own = np.arange(len(codes)) if units is None else np.unique(units, return_inverse=True)[1]
        within = np.zeros(len(codes), dtype=np.intp) if blocks is None else blocks
        _, first = np.unique(own, return_index=True)
        numbered = np.unique(within[first], return_inverse=True)[1]
        return cls(own.astype(np.intp), codes[first], numbered.astype(np.intp))

    def codes(self, rng: np.random.Generator) -> Codes:
        """Classes (m,) of the rows after a shuffle."""
        order = rng.permutation(len(self.labels))
        order = order[np.argsort(self.blocks[order], kind="stable")]
        shuffled = np.empty_like(self.labels)
        shuffled[np.argsort(self.blocks, kind="stable")] = self.labels[order]
        return np.asarray(shuffled[self.units])

    def log_labellings(self) -> float:
        """Logarithm of the number of different labellings."""
        counts = np.zeros((int(self.blocks.max()) + 1, int(self.labels.max()) + 1))
        np.add.at(counts, (self.blocks, self.labels), 1.0)
        return float((gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)).sum())


def mixed_unit(codes: Codes, units: Codes) -> tuple[int, int, int] | None:
    """A unit with rows of two values, and these; None where each has one."""
    first = np.zeros(int(units.max()) + 1, dtype=np.intp)
    first[units[::-1]] = codes[::-1]
    other = np.flatnonzero(first[units] != codes)
    if not len(other):
        return None
    at = int(other[0])
    return int(units[at]), int(first[units[at]]), int(codes[at])


def permutation_pvalue(seen: float, drawn: Floats) -> float:
    """(1 + b) / (1 + P) of P statistics drawn, b of which are as large as the one seen or larger.

    Examples
    --------
    >>> import numpy as np
    >>> permutation_pvalue(0.9, np.array([0.5, 0.6, 0.9]))
    0.5
    """
    return float((1 + (drawn >= seen - TIE).sum()) / (1 + len(drawn)))


def deal(codes: Codes, folds: int, repeats: int, rng: np.random.Generator) -> Codes:
    """Fold (R, n) of each row in each repeat, -1 for a row without a class.

    Parameters
    ----------
    codes : (n,) int
        Class of each row, -1 where it has none.
    rng : Generator
        The first repeat does not depend on how many there are.

    Notes
    -----
    How the classes are numbered does not matter.
    """
    positions = np.flatnonzero(codes >= 0)
    dealt = np.full((repeats, len(codes)), -1, dtype=np.intp)
    seen = _as_seen(codes[positions])
    # Short codes sort by radix, in linear time.
    seen = seen.astype(np.int16) if len(seen) and seen.max() < 2**15 else seen
    for own in dealt:
        order = rng.permutation(len(positions))
        order = order[np.argsort(seen[order], kind="stable")]
        own[positions[order]] = np.arange(len(order)) % folds
    return dealt


def _as_seen(codes: Codes) -> Codes:
    """Codes numbered as they first appear: what the levels' order is does not matter then."""
    return np.asarray(pd.factorize(codes)[0], dtype=np.intp)


def deal_groups(codes: Codes, groups: Codes, folds: int, repeats: int, rng: np.random.Generator) -> Codes:
    """Fold (R, n) of each row in each repeat, all rows of a group in one; as `deal`.

    Parameters
    ----------
    groups : (n,) int
        Group of each row; a row without a class may have none.
    """
    used = codes >= 0
    groups = groups[used]
    kinds = _as_seen(codes[used])
    n_groups, n_classes = int(groups.max()) + 1, int(kinds.max()) + 1
    counts = np.zeros((n_groups, n_classes))
    np.add.at(counts, (groups, kinds), 1.0)
    shares = counts / counts.sum(axis=0)
    sizes = counts.sum(axis=1)
    dealt = np.full((repeats, len(codes)), -1, dtype=np.intp)
    for own in dealt:
        order = rng.permutation(n_groups)
        order = order[np.argsort(-sizes[order], kind="stable")]
        place = np.empty(n_groups, dtype=np.intp)
        held = np.zeros((folds, n_classes))
        rows = np.zeros(folds)
        for group in order.tolist():
            cost = held @ shares[group]
            # Rounding shall not decide between folds that are alike.
            near = cost <= cost.min() + 1e-9
            fold = int(np.argmin(np.where(near, rows, np.inf)))
            place[group] = fold
            held[fold] += counts[group]
            rows[fold] += sizes[group]
        own[used] = place[groups]
    return dealt


def check_folds(folds: Any, rows: int) -> None:
    """Raise a DataError for a number of folds that is none."""
    whole = isinstance(folds, (int, np.integer)) and not isinstance(folds, bool)
    if not (whole and 2 <= folds <= rows):
        raise DataError(f"folds={folds!r}: give a number from 2 to the {rows} rows of the fit.")


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
        raise DataError(f"seed={seed!r}: give a whole number, 0 or more, or None.") from None
