"""How much is shrunk, by what rule, and the sums over rows that analytic rules take beyond a scatter.

Theory. How much a covariance S of n rows should be shrunk depends on how noisy its entries are, and the noise
of a square is a matter of fourth powers. With deviations d scaled so that W = sum d d' has trace one, Ledoit
& Wolf's (2004, Journal of Multivariate Analysis 88, 365-411) intensity towards the sphere of p columns is

    g = min(1, (n F - |W|^2) / (n |W - I/p|^2)),   F = sum |d|^4,

which is scikit-learn's `ledoit_wolf_shrinkage` in the units of the data. (Its LDA with `shrinkage="auto"`
first scales columns to a standard deviation of one.) Opgen-Rhein & Strimmer's (2007, Statistical Applications
in Genetics and Molecular Biology 6, 9) intensity of the variances v_j towards their median is

    g = min(1, sum_j Var(v_j) / sum_j (v_j - median)^2),   Var(v_j) = n / (n - 1)^3 sum_i (d_ij^2 - v_j')^2

with v_j' = sum_i d_ij^2 / n; as corpcor's `var.shrink`.

*Digits.* The sums are taken about the means themselves, in a pass of their own: about the provisional
centres of the pass that finds the means, exact sums would need third powers and a scatter of each class.

*Without a row.* Taking out weight o of a row d of a class of n_g moves the class's mean by -s d, s = o / (n_g
- o), so that with W_g, T_g = sum |d|^2 d and t_g = tr(W_g) of the class, and q = d'd,

    F -> F + 4 s^2 d'W_g d + n_g s^4 q^2 + 4 s d'T_g + 2 s^2 q t_g - o (n_g / (n_g - o))^4 q^2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from discrim.core.covariance.covariance import EPS
from discrim.core.covariance.principal import Principal
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments, from_class_means
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats

GRID = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, *(round(0.1 * i, 1) for i in range(1, 11)))
"""Shrinkages that are tried where no others are given."""

RuleOfShrinkage = Literal["given", "oas", "ledoit-wolf", "loo", "strimmer"]
"""What says a shrinkage."""

RULES: tuple[RuleOfShrinkage, ...] = ("given", "oas", "ledoit-wolf", "loo", "strimmer")

Trial = Callable[[Floats, Codes, Floats | None], Iterator[Floats]]
"""From x (m, p), codes (m,) and weights (m,) or None to scores (K, m) by shrinkage, without the row."""

BARELY = 1e-8
"""What must be left of a determinant for a label to be told: it takes fewer digits than a posterior."""


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """How much is shrunk, by what rule.

    Values are from 0 to 1, one or one for each class, and none before the rule has said them. The grid has
    those that leave-one-out chooses from, and none of a loaded fit, whose choice stays.
    """

    rule: RuleOfShrinkage
    values: tuple[float, ...] = ()
    grid: tuple[float, ...] = field(default=(), metadata=NOT_STORED)

    def validate(self) -> None:
        """Raise InvalidStateError if a value that was read from a file is not between 0 and 1."""
        if not all(0 <= g <= 1 for g in self.values):
            raise InvalidStateError("its shrinkage is not from 0 to 1")

    def of(self, k: int | None) -> float | None:
        """The shrinkage of class k, or of the pooled scatter; None where it is not known yet."""
        if not self.values:
            return None
        return self.values[k if k is not None and len(self.values) > 1 else 0]

    def known(self, values: Sequence[float]) -> Shrinkage:
        """The same with its values."""
        return replace(self, values=tuple(float(g) for g in values))

    def unfitted(self) -> Shrinkage:
        """The same before its rule says the values."""
        return self if self.rule == "given" or (self.rule == "loo" and not self.grid) else self.known(())

    def for_refit(self) -> Shrinkage:
        """The same for other moments: what these say is said again, what only rows say stays."""
        return self.known(()) if self.rule == "oas" else self

    @property
    def by_rows(self) -> bool:
        """Whether the rule takes rows."""
        return self.rule in ("ledoit-wolf", "loo", "strimmer")

    def is_none(self, n_columns: int) -> bool:
        """Whether it is known, and so small that a singular covariance stays singular."""
        return bool(self.values) and min(self.values) <= n_columns * EPS


ROUNDED_FOURTHS = 16 * EPS
"""Relative size up to which a difference of sums of fourth powers is the rounding of zero."""


def data_units(moments: ClassMoments, *, by_class: bool) -> Floats:
    """What z is multiplied by, (K, p) or (1, p), for a scatter of trace one in the units of the data."""
    ratio = moments.common_unit
    squares = moments.squares if by_class else moments.squares.sum(axis=0, keepdims=True)
    # Factor by factor: the square of a ratio may underflow.
    totals = (squares * ratio * ratio).sum(axis=1)
    return np.asarray(ratio / np.sqrt(totals)[:, None])


def row_fourths(blocks: RowBlocks, moments: ClassMoments, *, by_class: bool) -> Floats:
    """Sums (K,) or (1,) of |d|^4 over the rows of each class, or of all, of scatters of trace one."""
    k = moments.n_classes
    units = np.broadcast_to(data_units(moments, by_class=by_class), (k, moments.n_columns))
    found = np.zeros(k)
    for x, codes, weights in blocks:
        squares = ((from_class_means(moments, x, codes) * units[codes].T) ** 2).sum(axis=0)
        found += np.bincount(codes, squares**2 * (1.0 if weights is None else weights), minlength=k)
    return found if by_class else found.sum(keepdims=True)


def ledoit_wolf_intensity(distance: Floats, fourth: Floats, count: float | Floats, p: int) -> Floats:
    """Ledoit & Wolf's intensity from |W - I/p|^2 and F of a W (p, p) of trace one, and the count of its rows.

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
    whole = count * fourth
    above = whole - (distance + 1.0 / p)
    # Two rows about their mean are as noisy as nothing: a difference of equal sums.
    above = np.where(above <= ROUNDED_FOURTHS * whole, 0.0, above)
    below = count * distance
    return np.where(above >= below, 1.0, above / np.where(above >= below, 1.0, below))


def strimmer_intensity(squares: Floats, fourths: Floats, count: float | Floats) -> Floats:
    """Opgen-Rhein & Strimmer's intensity from sums of squares (p, ...) and of fourth powers in all (...)."""
    means = squares / count
    whole = fourths / count
    noise = whole - (means**2).sum(axis=0)
    noise = np.where(noise <= ROUNDED_FOURTHS * whole, 0.0, noise)
    distance = ((means - np.median(means, axis=0)) ** 2).sum(axis=0) * (count - 1.0)
    return np.where(noise >= distance, 1.0, noise / np.where(noise >= distance, 1.0, distance))


MIN_FOURTHS_LEFT = 1e-6
"""Share of a sum of fourth powers that has to be left without a row."""


@dataclass(frozen=True, slots=True, eq=False)
class Powers:
    """Sums of powers of deviations by class, for what they become without a row.

    On principal axes: scatters (K, r, r), sums of |d|^2 d (K, r) and of |d|^4 (K,). By column: sums of
    squares, of third and of fourth powers, all (K, p).
    """

    seconds: Floats
    thirds: Floats
    fourths: Floats

    def without(self, e: Floats, codes: Codes, out: Floats, counts: Floats) -> Floats:
        """The sum of fourth powers over all classes (m,) without each of rows e (r or p, m).

        Weights (m,) are taken out of classes of counts (m,). A sum is missing if so little of it is left
        that the difference has no digits.
        """
        step = out / (counts - out)
        q = (e**2).sum(axis=0)
        whole = float(self.fourths.sum())
        if self.seconds.ndim == 2:
            thirds = (self.thirds[codes].T * e).sum(axis=0)
            lengths = 6.0 * (self.seconds[codes].T * e**2).sum(axis=0)
            q2 = (e**4).sum(axis=0)
        else:
            thirds = np.zeros_like(q)
            lengths = np.zeros_like(q)
            for k in np.unique(codes).tolist():
                mine = np.flatnonzero(codes == k)
                part = e[:, mine]
                thirds[mine] = self.thirds[k] @ part
                lengths[mine] = 4.0 * (part * (self.seconds[k] @ part)).sum(axis=0)
                lengths[mine] += 2.0 * q[mine] * np.trace(self.seconds[k])
            q2 = q**2
        gone = out * (counts / (counts - out)) ** 4 - counts * step**4
        found = whole + step**2 * lengths + 4.0 * step * thirds - gone * q2
        return np.where(found > MIN_FOURTHS_LEFT * whole, found, np.nan)


def turned_powers(
    blocks: RowBlocks, moments: ClassMoments, spectra: Principal | Sequence[Principal]
) -> Powers | list[Powers]:
    """Powers on the principal axes of one scatter; or one a class, each on the axes of its own."""
    k = moments.n_classes
    axes = [spectra] * k if isinstance(spectra, Principal) else list(spectra)
    seconds = [np.zeros((len(own.lengths),) * 2) for own in axes]
    thirds = [np.zeros(len(own.lengths)) for own in axes]
    fourths = np.zeros(k)
    for x, codes, weights in blocks:
        z = from_class_means(moments, x, codes)
        for c in np.unique(codes).tolist():
            mine = np.flatnonzero(codes == c)
            e = axes[c].turned(z[:, mine])
            times = np.ones(len(mine)) if weights is None else weights[mine]
            q = (e**2).sum(axis=0)
            seconds[c] += (e * times) @ e.T
            thirds[c] += e @ (times * q)
            fourths[c] += times @ q**2
    if isinstance(spectra, Principal):
        return Powers(np.stack(seconds), np.stack(thirds), fourths)
    return [Powers(seconds[c][None], thirds[c][None], fourths[[c]]) for c in range(k)]


def column_powers(blocks: RowBlocks, moments: ClassMoments) -> Powers:
    """Powers by class and column, in the units that give the pooled scatter a trace of one."""
    unit = data_units(moments, by_class=False)[0][:, None]
    shape = (moments.n_classes, moments.n_columns)
    seconds = np.zeros(shape)
    thirds = np.zeros(shape)
    fourths = np.zeros(shape)
    for x, codes, weights in blocks:
        u = from_class_means(moments, x, codes) * unit
        for k in np.unique(codes).tolist():
            mine = np.flatnonzero(codes == k)
            part = u[:, mine]
            times = np.ones(len(mine)) if weights is None else weights[mine]
            seconds[k] += part**2 @ times
            thirds[k] += part**3 @ times
            fourths[k] += part**4 @ times
    return Powers(seconds, thirds, fourths)


def missed(trial: Trial, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
    """Whether rows are called another class without themselves, (m,) by shrinkage; missing where unknown."""
    found = []
    for scores in trial(x, codes, weights):
        wrong = (scores.argmax(axis=0) != codes).astype(np.float64)
        wrong[np.isnan(scores).any(axis=0)] = np.nan
        found.append(wrong)
    return np.stack(found)
