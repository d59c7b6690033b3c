"""Covariances shrunk towards a sphere, from class moments.

Theory. A covariance S of p columns is drawn towards the sphere of the same total variance,

    (1 - g) S + g tr(S)/p I,   0 <= g <= 1,

which leaves the eigenvectors alone and moves every eigenvalue towards their mean. The
shrinkage g that loses least in expected squared error depends on the true covariance; the
*oracle approximating shrinkage* (OAS) puts estimates in its place until nothing changes any more
(Chen, Wiesel, Eldar & Hero, 2010, IEEE Transactions on Signal Processing 58, 5016-5029, eq. 23):

    g = min(1, ((1 - 2/p) tr(S^2) + tr(S)^2) / ((n + 1 - 2/p) (tr(S^2) - tr(S)^2/p))).

As in scikit-learn's `OAS`, the terms 2/p are left out, which the paper has and which vanish for many
columns: g = min(1, (tr(S^2) + tr(S)^2) / ((n + 1) (tr(S^2) - tr(S)^2/p))), and g = 0 for one
column. The n is that of the rows, N or n_k, whatever divisor S has: g does not depend on it. Here g
is never below 1/(n + 1), so that the shrunk covariance of two columns or more is not singular unless
nothing varies: its condition number is at most p (n + 1).

The sphere is one in the units of the data: shrinkage depends on the units of the columns. Ledoit and Wolf's
intensity, and that of variances towards their median, are in `discrim.core.scatter.shrinkage`.

Sums of third and fourth powers about the class means: what analytic shrinkages take beyond a scatter.

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

Variances shrunk towards their median, and the scores of rows under those without each of them.

Theory. Variances v_j of p columns are drawn towards their median, (1 - g) v_j + g median(v), 0 <= g <= 1
(Opgen-Rhein & Strimmer, 2007; the analytic g is that of `shrinkage.fourth_moments`). The median is one in
the units of the data. Taking a row with deviation d out of its class lowers each sum of squares by c d_j^2,
c = w n_g / (n_g - w): variances, their median and g without the row follow column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, from_class_means
from discrim.core.moments.row_sums import RowBlocks, Spread, packed_triangle
from discrim.core.moments.units import comparable, comparable_to_median, median_column
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.leave_one_out import SPOILT, LeftOut, Removal, removal, settle
from discrim.core.scatter.covariance import (
    EPS,
    Covariance,
    Dependency,
    dependencies,
    pooled,
    scaled_cholesky,
    separate,
)
from discrim.core.scatter.principal import Principal, ThinCovariance, one_scatter, principal, pseudo
from discrim.errors import CollinearError, DataError, NotSupportedError

NOTHING = 16 * EPS
"""Relative size up to which a difference of sums of fourth powers is the rounding of zero."""


def data_units(moments: ClassMoments, *, by_class: bool) -> Floats:
    """What z is multiplied by, (K, p) or (1, p), for a scatter of trace one in the units of the data."""
    ratio = moments.common_unit
    squares = moments.squares if by_class else moments.squares.sum(axis=0, keepdims=True)
    # Factor by factor: the square of a ratio may underflow.
    totals = (squares * ratio * ratio).sum(axis=1)
    return np.asarray(ratio / np.sqrt(totals)[:, None])


def row_fourths(blocks: RowBlocks, moments: ClassMoments, *, by_class: bool) -> Floats:
    """Sums (K,) or (1,) of |d|^4 over the rows of each class, or of all, of scatters of trace one.

    Parameters
    ----------
    blocks : iterable of (x (m, p), codes (m,), weights (m,) or None)
        The rows of the moments.
    by_class : bool
        Each class's scatter is of trace one, or the pooled one.
    """
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
    >>> import numpy as np
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
    above = np.where(above <= NOTHING * whole, 0.0, above)
    below = count * distance
    return np.where(above >= below, 1.0, above / np.where(above >= below, 1.0, below))


def strimmer_intensity(squares: Floats, fourths: Floats, count: float | Floats) -> Floats:
    """Opgen-Rhein & Strimmer's intensity from sums of squares (p, ...) and of fourth powers (...) in all.

    Parameters
    ----------
    squares : (p,) or (p, m) float
        Of each column.
    fourths : () or (m,) float
        Summed over the columns.
    count : float or (m,) float
        Rows.
    """
    means = squares / count
    whole = fourths / count
    noise = whole - (means**2).sum(axis=0)
    noise = np.where(noise <= NOTHING * whole, 0.0, noise)
    distance = ((means - np.median(means, axis=0)) ** 2).sum(axis=0) * (count - 1.0)
    return np.where(noise >= distance, 1.0, noise / np.where(noise >= distance, 1.0, distance))


@dataclass(frozen=True, slots=True)
class Powers:
    """Sums of powers of deviations by class, for what they become without a row.

    Attributes
    ----------
    seconds : (K, r, r) or (K, p) float
        Scatters on principal axes, or sums of squares by column.
    thirds : (K, r) or (K, p) float
        Sums of |d|^2 d on the axes, or of third powers by column.
    fourths : (K,) or (K, p) float
        Sums of |d|^4, or of fourth powers by column.
    """

    seconds: Floats
    thirds: Floats
    fourths: Floats

    def without(self, e: Floats, codes: Codes, out: Floats, counts: Floats) -> Floats:
        """The sum of fourth powers over all classes (m,) without each of rows e (r or p, m).

        Parameters
        ----------
        e : (r, m) or (p, m) float
        codes : (m,) int
        out, counts : (m,) float
            Weight that is taken out, and the sum of weights of the row's class.
        """
        step, q = out / (counts - out), (e**2).sum(axis=0)
        whole = float(self.fourths.sum())
        if self.seconds.ndim == 2:
            thirds = (self.thirds[codes].T * e).sum(axis=0)
            lengths = 6.0 * (self.seconds[codes].T * e**2).sum(axis=0)
            q2 = (e**4).sum(axis=0)
        else:
            thirds, lengths = np.zeros_like(q), np.zeros_like(q)
            for k in np.unique(codes).tolist():
                mine = np.flatnonzero(codes == k)
                part = e[:, mine]
                thirds[mine] = self.thirds[k] @ part
                lengths[mine] = 4.0 * (part * (self.seconds[k] @ part)).sum(axis=0)
                lengths[mine] += 2.0 * q[mine] * np.trace(self.seconds[k])
            q2 = q**2
        gone = out * (counts / (counts - out)) ** 4 - counts * step**4
        return np.asarray(whole + step**2 * lengths + 4.0 * step * thirds - gone * q2)


def turned_powers(
    blocks: RowBlocks, moments: ClassMoments, held: Principal | Sequence[Principal]
) -> Powers | list[Powers]:
    """Powers on the principal axes of one scatter; or one a class, each on the axes of its own.

    Parameters
    ----------
    blocks : iterable of (x (m, p), codes (m,), weights (m,) or None)
    """
    k = moments.n_classes
    axes = [held] * k if isinstance(held, Principal) else list(held)
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
    if isinstance(held, Principal):
        return Powers(np.stack(seconds), np.stack(thirds), fourths)
    return [Powers(seconds[c][None], thirds[c][None], fourths[[c]]) for c in range(k)]


def column_powers(blocks: RowBlocks, moments: ClassMoments) -> Powers:
    """Powers by class and column, in the units that give the pooled scatter a trace of one."""
    unit = data_units(moments, by_class=False)[0][:, None]
    shape = (moments.n_classes, moments.n_columns)
    seconds, thirds, fourths = np.zeros(shape), np.zeros(shape), np.zeros(shape)
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


REACH = 450
"""Binary orders of magnitude by which a column may vary more than that of the median, if it stands for it."""


def median_shrunk(squares: Floats, scale: Floats, divisor: float, g: float) -> Covariance:
    """Covariance, in z, of variances shrunk by g towards their median.

    Parameters
    ----------
    squares : (p,) float
        Sums of squares in z = x * scale.
    scale : (p,) float
    g : float
        From 0 to 1.
    """
    if g == 0:
        return Covariance.from_root(np.sqrt(squares / divisor))
    # In the unit of the column of median variance: those far above it may overflow, which no median sees.
    unit = scale[median_column(squares, scale)] / scale
    with np.errstate(over="ignore"):
        median = np.median(squares * unit * unit) / divisor
        return Covariance.from_root(
            np.hypot(np.sqrt((1.0 - g) * squares / divisor), np.sqrt(g * median) / unit)
        )


def out_of_reach(squares: Floats, scale: Floats, g: float) -> tuple[int, int] | None:
    """A column whose squared distances would be no doubles by the median alone, and that of the median.

    Parameters
    ----------
    squares : (p,) float
        Sums of squares in z = x * scale.
    scale : (p,) float
    g : float
        A share of a column's own variance, as any below one leaves, is enough for it.
    """
    if g < 1 or not squares.any():
        return None
    middle = median_column(squares, scale)
    with np.errstate(divide="ignore"):
        sizes = 0.5 * np.log2(squares) - np.log2(scale)
    wild = int(np.argmax(sizes))
    return (wild, middle) if sizes[wild] - sizes[middle] > REACH else None


@dataclass(frozen=True, slots=True)
class WithoutRow:
    """What is left of sums of squares without each of m rows.

    Attributes
    ----------
    squares : (p, m) float
        Of the row's own class, or of all classes, without the row.
    held : (p, m) or (p, 1) float
        With the row.
    middle : (m,) float
        Median over the columns.
    codes : (m,) int
    deviations : (p, m) float
    """

    squares: Floats
    held: Floats
    middle: Floats
    codes: Codes
    gone: Removal
    deviations: Floats

    def shrunk(self, g: Floats) -> Floats:
        """Shrunken sums of squares (p, m), by g (m,)."""
        return np.asarray((1.0 - g) * self.squares + g * self.middle)

    def spoilt(self, shrunken: Floats, g: Floats, spoilt_at: float) -> NDArray[np.bool_]:
        """Rows (m,) for which too few digits are left of some column, shrunk by g (m,)."""
        # What the subtraction rounds is the share of the column's own sum of squares.
        return np.asarray(((shrunken <= spoilt_at * (1.0 - g) * self.held) | (shrunken <= 0)).any(axis=0))


DiagonalIntensity = Callable[[WithoutRow], Floats]
"""Shrinkages (m,) without each of m rows."""


def column_held_at(g: float | Floats) -> DiagonalIntensity:
    """One shrinkage, or one (K,) for each class, whatever row is left out."""
    by_class = np.atleast_1d(g)
    return lambda rows: by_class[rows.codes if len(by_class) > 1 else np.zeros_like(rows.codes)]


def strimmer_without(moments: ClassMoments, powers: Powers, *, common: bool) -> DiagonalIntensity:
    """Each row's own analytic shrinkage, of all classes' variances or its own class's."""

    def found(rows: WithoutRow) -> Floats:
        gone = rows.gone
        if common:
            fourths = powers.without(rows.deviations, rows.codes, gone.out, gone.count)
            return strimmer_intensity(rows.squares, fourths, moments.total - gone.out)
        fourths = np.empty(len(rows.codes))
        for k in np.unique(rows.codes).tolist():
            mine = np.flatnonzero(rows.codes == k)
            own = Powers(powers.seconds[[k]], powers.thirds[[k]], powers.fourths[[k]])
            nought = np.zeros(len(mine), dtype=np.intp)
            fourths[mine] = own.without(rows.deviations[:, mine], nought, gone.out[mine], gone.count[mine])
        return strimmer_intensity(rows.squares, fourths, gone.count - gone.out)

    return found


def without_row(
    moments: ClassMoments,
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    divisors: Floats,
) -> WithoutRow:
    """What is left of sums of squares without rows x (m, p), for divisors (1,) or (K,) of the covariances."""
    common = len(divisors) == 1
    unit = data_units(moments, by_class=False)[0][:, None]
    u = from_class_means(moments, x, codes) * unit
    totals = moments.squares.T * unit * unit
    held = totals.sum(axis=1, keepdims=True) if common else totals[:, codes]
    divisor = divisors[0] if common else divisors[codes]
    gone = removal(moments.counts[codes], weights, divisor)
    squares = held - gone.lift * u**2
    return WithoutRow(squares, held, np.median(squares, axis=0), codes, gone, u)


def scores_without(
    moments: ClassMoments,
    rows: WithoutRow,
    g: Floats,
    full: tuple[Covariance, ...],
    divisors: Floats,
    log_prior: Floats,
    spoilt_at: float = SPOILT,
) -> Floats:
    """Scores (K, m) of rows without each of them, shrunk by g (m,); missing where spoilt.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal.
    g : (m,) float
    full : tuple of Covariance
        Those of all rows: one, or one for each class, which the other classes of a row keep.
    divisors : (1,) or (K,) float
    log_prior : (K,) float
    """
    unit = data_units(moments, by_class=False)[0]
    common, codes, gone = len(full) == 1, rows.codes, rows.gone
    shrunken = rows.shrunk(g)
    moved = shrunken / ((divisors[0] if common else divisors[codes]) - gone.out)
    # Differences of means in z, before units: nothing large cancels.
    means = moments.means * unit
    out = np.empty((moments.n_classes, len(codes)))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(moments.n_classes):
            mine = codes == k
            gaps = rows.deviations + (means[codes] - means[k]).T
            gaps *= np.where(mine, np.sqrt(gone.stretch), 1.0)
            variance = moved
            if not common:
                variance = np.where(mine, moved, ((full[k].root * unit) ** 2)[:, None])
            out[k] = log_prior[k] - 0.5 * (gaps**2 / variance).sum(axis=0)
            if not common:
                out[k] -= 0.5 * np.log(variance).sum(axis=0)
    return settle(out, codes, gone, rows.spoilt(shrunken, g, spoilt_at))


def diagonal_left_out(
    moments: ClassMoments,
    full: tuple[Covariance, ...],
    divisors: Floats,
    log_prior: Floats,
    own: DiagonalIntensity,
) -> LeftOut:
    """Leave-one-out scores under shrunken variances, one set for all classes or one for each.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal.
    full : tuple of Covariance
        Of the full fit: one, or one for each class.
    divisors : (1,) or (K,) float
    log_prior : (K,) float
    own : DiagonalIntensity
        Shrinkage without a row.
    """

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = without_row(moments, x, codes, weights, divisors)
            return scores_without(moments, rows, own(rows), full, divisors, log_prior).T

    return scores


Structure = Literal["full", "diagonal", "shrunk", "correlation", "spherical", "factor", "pinv", "estimator"]
"""What a covariance is estimated as; by an estimator of the user's own."""

Chosen = Literal["given", "oas", "ledoit-wolf", "loo", "strimmer"]
"""How a shrinkage was chosen."""


def is_none(shrinkage: float, p: int) -> bool:
    """Whether a shrinkage of p columns is so small that a singular covariance stays singular."""
    return shrinkage <= p * EPS


def is_regular(structure: Structure) -> bool:
    """Whether the estimate exists for dependent columns, and for more columns than rows."""
    return structure in ("shrunk", "correlation", "spherical", "factor", "pinv", "estimator")


def in_one_unit(
    moments: ClassMoments, structure: Structure, shrinkage: float | Floats | None
) -> ClassMoments:
    """Moments as a structure takes them: of scales within reach of each other where it compares columns."""
    if structure in ("shrunk", "spherical", "factor", "pinv"):
        return moments if shrinkage is not None and not np.any(shrinkage) else comparable(moments)
    if structure in ("diagonal", "correlation") and np.any(shrinkage):
        return comparable_to_median(moments)
    return moments


def spread_of(structure: Structure, full: Spread, *, thin: bool = False) -> Spread:
    """What is to be held of the scatter, where a full covariance takes `full`; of fewer rows than columns."""
    if structure in ("diagonal", "spherical", "estimator"):
        return "diagonal"
    if thin and is_regular(structure):
        return "thin" if full == "pooled" else "thin class"
    return full


def obstacles(
    moments: ClassMoments, structure: Structure, k: int | None = None, shrinkage: float | None = None
) -> list[Dependency]:
    """Columns for which the covariance of class k, or the pooled one, does not exist.

    A shrunk or spherical one exists unless no column varies, variances shrunk towards their median unless
    it is zero, and shrunk correlations where all columns vary; a shrinkage of next to nothing mends nothing.
    """
    if shrinkage is not None and is_none(shrinkage, moments.n_columns):
        return dependencies(moments, k, diagonal=structure == "diagonal")
    if structure == "diagonal" and shrinkage is not None:
        constant = dependencies(moments, k, diagonal=True)
        return constant if 2 * len(constant) >= moments.n_columns else []
    if not is_regular(structure):
        return dependencies(moments, k, diagonal=structure == "diagonal")
    constant = dependencies(moments, k, diagonal=True)
    return constant if structure == "correlation" or len(constant) == moments.n_columns else []


def oas(moments: ClassMoments, k: int | None = None) -> float:
    """Oracle approximating shrinkage of the covariance of class k, or of the pooled one.

    Parameters
    ----------
    moments : ClassMoments
        Pooled or by class.
    k : int, optional
        The class, of moments by class.

    Returns
    -------
    float
        From 0 to 1: the shrinkage of scikit-learn's `OAS` fitted to the rows of the class, or to all rows
        less their class's means.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 4.0], [6.0, 9.0]])
    >>> round(oas(ClassMoments.from_block(rows, np.zeros(4, dtype=np.intp), n_classes=1)), 6)
    0.804534
    """
    held = one_scatter(moments, k)
    if held.n_columns == 1:
        return 0.0
    distance = _from_sphere(held)
    return 1.0 if distance is None else float(intensity(np.array(distance), held.total, held.n_columns))


def ledoit_wolf(moments: ClassMoments, fourth: float, k: int | None = None) -> float:
    """Ledoit & Wolf's shrinkage of the covariance of class k, or of the pooled one.

    Parameters
    ----------
    moments : ClassMoments
        Pooled or by class.
    fourth : float
        Sum of fourth powers, see `discrim.core.scatter.shrinkage.row_fourths`.
    k : int, optional
        The class, of moments by class.
    """
    held = one_scatter(moments, k)
    if held.n_columns == 1:
        return 0.0
    distance = _from_sphere(held)
    if distance is None:
        return 1.0
    return float(ledoit_wolf_intensity(np.array(distance), np.array(fourth), held.total, held.n_columns))


def strimmer(moments: ClassMoments, fourths: Floats, k: int | None = None) -> float:
    """Opgen-Rhein & Strimmer's shrinkage of the variances of class k, or of the pooled ones.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal.
    fourths : (K, p) float
        Sums of fourth powers, see `discrim.core.scatter.shrinkage.column_powers`.
    k : int, optional
        The class; by default the rows of all classes less their class's means.
    """
    held = one_scatter(moments, k)
    unit = data_units(moments, by_class=False)[0]
    own = fourths if k is None else fourths[[k]]
    return float(strimmer_intensity(held.squares[0] * unit * unit, own.sum(), held.total))


def _from_sphere(held: ClassMoments) -> float | None:
    """Squared distance |S - I/p|^2 of the one scatter, at trace one; None where nothing varies."""
    if held.spread == "thin":
        return principal(held).from_sphere if held.squares.any() else None
    ratio = held.common_unit
    scatter = held.scatters[0] * ratio * ratio[:, None]
    total = float(np.trace(scatter))
    if not total > 0:
        return None
    # Of trace one, so that no square overflows. The sum of squares about the sphere is formed from its
    # terms, not as a difference, which near the sphere would lose all digits.
    unit = scatter / total
    unit[np.diag_indices(held.n_columns)] -= 1.0 / held.n_columns
    return float((unit**2).sum())


def intensity(distance: Floats, count: float | Floats, p: int) -> Floats:
    """The formula of `oas` from |S - I/p|^2 of an S (p, p) of trace one, and the count of its rows."""
    if p == 1:
        return np.zeros_like(distance)
    above, below = distance + 1.0 / p + 1.0, (count + 1.0) * distance
    return np.where(above >= below, 1.0, above / np.where(above >= below, 1.0, below))


def shrunk(
    moments: ClassMoments, divisor: float, shrinkage: float | None = None, k: int | None = None
) -> tuple[Covariance, float]:
    """Covariance of class k, or the pooled one, shrunk towards a sphere; and the shrinkage.

    Parameters
    ----------
    moments : ClassMoments
        Pooled or by class; of full rank for a shrinkage of zero.
    divisor : float
        Of the scatter.
    shrinkage : float, optional
        From 0 to 1; by default that of `oas`.
    k : int, optional
        The class, of moments by class.

    Raises
    ------
    DataError
        The shrinkage is not from 0 to 1.
    CollinearError
        No column varies.
    """
    held = one_scatter(moments, k)
    if held.spread == "thin":
        return _shrunk_thin(held, divisor, shrinkage)
    g = oas(held) if shrinkage is None else float(shrinkage)
    if not 0 <= g <= 1:
        raise DataError(f"shrinkage={shrinkage!r}: give a number from 0 to 1.")
    sphere = g * _mean_square(held)
    if g == 0:
        return pooled(held, divisor), g
    if g == 1:
        return Covariance.from_root(np.diag(spherical(held, divisor).root)), g
    ratio = held.common_unit
    if held.roots is not None:
        rows = np.sqrt(1.0 - g) * held.roots[0] * ratio
        root = packed_triangle(np.concatenate([rows, np.sqrt(sphere) * np.eye(held.n_columns)]))
    else:
        total = (1.0 - g) * (held.scatters[0] * ratio * ratio[:, None])
        total[np.diag_indices(held.n_columns)] += sphere
        root = scaled_cholesky(total)
    return Covariance.from_root(root / ratio / np.sqrt(divisor)), g


def _shrunk_thin(held: ClassMoments, divisor: float, shrinkage: float | None) -> tuple[Covariance, float]:
    """As `shrunk`, of fewer rows than columns."""
    _mean_square(held)
    axes = principal(held)
    g = oas(held) if shrinkage is None else float(shrinkage)
    if not 0 < g <= 1:
        raise DataError(
            f"shrinkage={shrinkage!r}: for more columns than rows give a number above 0, at most 1."
        )
    sphere = g / axes.n_columns / divisor
    return ThinCovariance.on_axes(axes, (1.0 - g) * axes.lengths / divisor + sphere, sphere), g


def spherical(moments: ClassMoments, divisor: float, k: int | None = None) -> Covariance:
    """Covariance tr(S)/p I of class k, or the pooled one: one variance for all columns, in the data's units.

    Raises
    ------
    CollinearError
        No column varies.
    """
    held = one_scatter(moments, k)
    return Covariance.from_root(np.sqrt(_mean_square(held) / divisor) / held.common_unit)


def common(
    moments: ClassMoments, divisor: float, structure: Structure, shrinkage: float | None = None
) -> tuple[Covariance, float | None]:
    """The pooled covariance of a structure, and the shrinkage of a shrunk one, given or that of `oas`."""
    if structure == "shrunk":
        return shrunk(moments, divisor, shrinkage)
    if structure == "spherical":
        return spherical(moments, divisor), None
    if structure == "pinv":
        return pseudo(moments, divisor), None
    if structure == "diagonal" and shrinkage is not None:
        held = one_scatter(moments, None)
        return median_shrunk(held.squares[0], held.scale, divisor, shrinkage), shrinkage
    return pooled(moments, divisor, diagonal=structure == "diagonal"), None


def by_class(
    moments: ClassMoments, divisors: Floats, structure: Structure, shrinkage: Floats | None = None
) -> tuple[tuple[Covariance, ...], Floats | None]:
    """The covariance of each class, of a structure, and the shrinkages (K,) of shrunk ones; as `common`."""
    each = divisors.tolist()
    if structure == "shrunk":
        given = [None] * len(each) if shrinkage is None else shrinkage.tolist()
        held = [shrunk(moments, d, g, k) for k, (d, g) in enumerate(zip(each, given, strict=True))]
        return tuple(covariance for covariance, _ in held), np.array([g for _, g in held])
    if structure == "spherical":
        return tuple(spherical(moments, d, k) for k, d in enumerate(each)), None
    if structure == "diagonal" and shrinkage is not None:
        parts = zip(moments.squares, each, shrinkage.tolist(), strict=True)
        return tuple(median_shrunk(own, moments.scale, d, g) for own, d, g in parts), shrinkage
    return separate(moments, divisors, diagonal=structure == "diagonal"), None


def has_likelihood(structure: Structure, shrinkage: float | Floats | None) -> bool:
    """Whether an estimate maximizes the likelihood among those of its structure, but for its divisor."""
    return structure in ("full", "diagonal", "spherical", "factor") and shrinkage is None


def no_likelihood(what: str, structure: Structure) -> NotSupportedError:
    """The error that refuses what takes an estimate of maximum likelihood, for one that is none."""
    named = {"estimator": "of an estimator", "diagonal": "of shrunken variances"}
    return NotSupportedError(
        f"{what} needs a maximum of the likelihood, which a covariance "
        f"{named.get(structure, f'by covariance={structure!r}')} does not give: compare by "
        'error_rates(["cv"]), or fit another covariance.'
    )


def estimator_left_out(estimator: str | None) -> NotSupportedError:
    """The error that refuses to leave single rows out of a covariance that only an estimator knows."""
    return NotSupportedError(
        f"Leave-one-out of {estimator} has no closed form, and would fit it once for each row: "
        'cross-validate instead, with error_rates(["cv"]) or confusion(method="cv"), which fits it '
        "in each fold."
    )


def own_buffers(
    structure: Structure, shrinkage: float | Floats | None, covariances: tuple[Covariance, ...]
) -> dict[str, Floats]:
    """What moments do not say again: shrinkages (1,) or (K,), or the roots of an estimator's covariances."""
    found: dict[str, Floats] = {}
    if shrinkage is not None:
        found["shrinkage"] = np.atleast_1d(np.asarray(shrinkage, dtype=np.float64))
    if structure == "estimator":
        found["covariance_roots"] = np.stack([covariance.root for covariance in covariances])
    return found


def check_own(
    structure: Structure, chosen: Chosen | None, shrinkage: Floats | None, roots: Floats | None
) -> None:
    """Raise a DataError unless the buffers of a file go with its options."""
    shrinks = structure in ("shrunk", "correlation") or (structure == "diagonal" and chosen is not None)
    if shrinks != (shrinkage is not None) or shrinks != (chosen is not None):
        raise DataError("its shrinkage does not go with its structure")
    if shrinkage is not None and not ((shrinkage >= 0) & (shrinkage <= 1)).all():
        raise DataError("its shrinkage is not from 0 to 1")
    if (structure == "estimator") != (roots is not None):
        raise DataError("its covariances do not go with its structure")
    if roots is not None:
        regular = np.diagonal(roots, axis1=1, axis2=2).all()
        if np.tril(roots, -1).any() or not regular:
            raise DataError("the roots of its covariances are not triangular, or singular")


def _mean_square(held: ClassMoments) -> float:
    """tr(W)/p of the one scatter, in their common unit."""
    ratio = held.common_unit
    squares = held.squares[0]
    # Factor by factor: the square of a ratio may underflow.
    mean = float((squares * ratio * ratio).sum()) / held.n_columns
    if not mean > 0:
        raise CollinearError(
            "No column varies within classes: there is no covariance to shrink. Name other columns."
        )
    return mean
