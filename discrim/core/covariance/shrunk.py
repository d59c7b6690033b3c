"""Covariances shrunk towards a sphere, and their rules without each row.

A covariance S of p columns is drawn towards the sphere of the same total variance,

    (1 - g) S + g tr(S)/p I,   0 <= g <= 1,

which leaves the eigenvectors alone and moves every eigenvalue towards their mean. The sphere is one in the
units of the data: shrinkage depends on the units of the columns.

*How much.* The shrinkage g that loses least in expected squared error depends on the true covariance; the
*oracle approximating shrinkage* (OAS) puts estimates in its place until nothing changes any more (Chen,
Wiesel, Eldar & Hero, 2010, IEEE Transactions on Signal Processing 58, 5016-5029, eq. 23):

    g = min(1, ((1 - 2/p) tr(S^2) + tr(S)^2) / ((n + 1 - 2/p) (tr(S^2) - tr(S)^2/p))).

As in scikit-learn's `OAS`, the terms 2/p are left out, which vanish for many columns, and g = 0 for one
column. The n is that of the rows, N or n_k, whatever divisor S has: g does not depend on it. Here g is never
below 1/(n + 1), so that the shrunk covariance of two columns or more is not singular unless nothing varies:
its condition number is at most p (n + 1).

*Without a row.* With W = U L U' and tr(W) = 1, taking out a row with deviation d from its class's mean leaves
W - c d d', c = w n_g / (n_g - w), whose trace and distance from the sphere follow from e = U'd alone:

    t = 1 - c e'e,   |W - c d d' - t/p I|^2 = |W - I/p|^2 - 2 c e'(L - I/p) e + c^2 (1 - 1/p) (e'e)^2.

So each row has its own shrinkage g, and the shrunk scatter without it is U (A - b e e') U' with the diagonal
A = (1 - g) L + g t/p I and b = (1 - g) c: Sherman and Morrison's formula gives its distances, the determinant
lemma its determinant ln|A| + ln(1 - b e'A^-1 e). A sphere is the case g = 1. A shrinkage that is given stays;
that of Ledoit & Wolf follows from `shrinkage.Powers`. In the principal axes every shrinkage is diagonal, so
that a row is turned once and scored under each of a grid.

*More columns than rows.* There e and U are those of the rows; beyond them A is g t/p =: s, and
1 - b e'A^-1 e would cancel, since the row was alone in some direction. With r = s/(1 - g) it is the sum
1 - c e'L^-1 e + c r e'[L (L + r I)]^-1 e. Where W has as many axes as degrees of freedom, e'L^-1 e is
1/w - 1/n_g, and the first two terms are together 0 for a whole row, and known for one of several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance import shrinkage
from discrim.core.covariance.covariance import Covariance, Dependency, dependencies, pooled, scaled_cholesky
from discrim.core.covariance.model import (
    SPHERES,
    CovarianceEstimates,
    CovarianceTraits,
    NormalClasses,
    SingleShrinkageModel,
    Sphere,
    all_constant,
    each_covariance,
)
from discrim.core.covariance.principal import Principal, ThinCovariance, one_scatter, principal
from discrim.core.covariance.shrinkage import BARELY, Powers, Shrinkage, Trial
from discrim.core.errors import CoreCollinearError, CoreDataError
from discrim.core.moments.derived_moments import comparable
from discrim.core.moments.moments import ClassMoments, from_class_means
from discrim.core.moments.row_sums import RowBlocks, packed_triangle
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import SPOILT, LeftOut, Removal, removal, settle


@dataclass(frozen=True, slots=True)
class ShrunkCovariance(SingleShrinkageModel):
    """A covariance shrunk towards a sphere."""

    shrinkage: Shrinkage = field(default_factory=lambda: Shrinkage("oas"))
    sphere: Sphere = SPHERES[0]

    name = "shrunk"
    traits = CovarianceTraits(is_regular=True, allows_subspace=True)
    shrinkage_rules = ("given", "oas", "ledoit-wolf", "loo")

    def in_data_units(self) -> ShrunkCovariance:
        """The same in the units of the data."""
        return replace(self, sphere=SPHERES[0])

    def requires_full_rank(self, n_columns: int) -> bool:
        """Where nothing is shrunk."""
        return self.shrinkage.is_none(n_columns)

    def check(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """All columns where none varies; where nothing is shrunk those that others determine."""
        # Of more columns than rows it is their number that is refused.
        thin = moments.spread in ("thin", "thin class")
        g = None if thin else self.shrinkage.of(k)
        if g is not None and self.shrinkage.known((g,)).is_none(moments.n_columns):
            return dependencies(moments, k)
        return all_constant(moments, k)

    @property
    def depends_on_units(self) -> bool:
        """Where something is shrunk, unless columns are standardized."""
        return self.sphere.in_data and (not self.shrinkage.values or any(self.shrinkage.values))

    def fit_to_rows(self, rows: RowBlocks, moments: ClassMoments, divisors: Floats) -> ShrunkCovariance:
        """With the shrinkages of Ledoit & Wolf."""
        if self.shrinkage.rule != "ledoit-wolf":
            return self
        moments = comparable(moments)
        fourths = shrinkage.row_fourths(rows, moments, by_class=len(divisors) > 1).tolist()
        found = [
            ledoit_wolf(moments, f, k) for f, (k, _) in zip(fourths, each_covariance(divisors), strict=True)
        ]
        return self.with_shrinkages(*found)

    def rescaled(self, moments: ClassMoments) -> ClassMoments:
        """On scales within reach of one sphere, where there is something of it."""
        nothing = bool(self.shrinkage.values) and not any(self.shrinkage.values)
        return moments if nothing else self.sphere.scaled(moments)

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Covariances by the shrinkage that is known, or by that of `oas`."""
        moments = self.rescaled(moments)
        in_units = self.sphere.in_units(moments)
        found = [shrunk(in_units, d, self.shrinkage.of(k), k) for k, d in each_covariance(divisors)]
        own = self.with_shrinkages(*[g for _, g in found])
        return CovarianceEstimates(own, moments, tuple(covariance for covariance, _ in found))

    def candidate_scores(self, moments: ClassMoments, divisors: Floats, log_prior: Floats) -> Trial:
        """Scores of rows without themselves under each shrinkage of the grid."""
        grid = np.array(self.shrinkage.grid)
        moments = comparable(moments)
        if len(divisors) == 1:
            return common_trial(moments, float(divisors[0]), log_prior, grid)
        return separate_trial(moments, divisors, log_prior, grid)

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Scores in closed form, on the principal axes of the scatters."""
        if not self.sphere.in_data:
            return self.sphere.left_out(fitted, self.in_data_units().leave_one_out)
        moments = self.rescaled(fitted.moments)
        divisors = fitted.divisors
        rows = fitted.rows
        axes = [principal(moments, k) for k, _ in each_covariance(divisors)]
        own: list[Intensity] = [self._without(k) for k, _ in each_covariance(divisors)]
        if rows is not None and self.shrinkage.rule == "ledoit-wolf":
            powers = shrinkage.turned_powers(rows, moments, axes[0] if len(axes) == 1 else axes)
            own = [ledoit_wolf_without(p) for p in ([powers] if isinstance(powers, Powers) else powers)]
        return sphere_left_out(replace(fitted, moments=moments), own)

    def _without(self, k: int | None) -> Intensity:
        """The shrinkage of class k, or the pooled one, without a row."""
        g = self.shrinkage.of(k)
        if g is None or self.shrinkage.rule == "oas":
            return oas_without
        return lambda spectrum, rows: np.full(rows.e.shape[1], g)


def oas(moments: ClassMoments, k: int | None = None) -> float:
    """Oracle approximating shrinkage of the covariance of class k, or of the pooled one.

    It is that of scikit-learn's `OAS` fitted to the rows of the class, or to all rows less their class's
    means.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 4.0], [6.0, 9.0]])
    >>> round(oas(ClassMoments.from_block(rows, np.zeros(4, dtype=np.intp), n_classes=1)), 6)
    0.804534
    """
    one = one_scatter(moments, k)
    if one.n_columns == 1:
        return 0.0
    distance = _from_sphere(one)
    return 1.0 if distance is None else float(intensity(np.array(distance), one.total, one.n_columns))


def ledoit_wolf(moments: ClassMoments, fourth: float, k: int | None = None) -> float:
    """Ledoit & Wolf's shrinkage of the same, from the sum of fourth powers of `shrinkage.row_fourths`."""
    one = one_scatter(moments, k)
    if one.n_columns == 1:
        return 0.0
    distance = _from_sphere(one)
    if distance is None:
        return 1.0
    return float(
        shrinkage.ledoit_wolf_intensity(np.array(distance), np.array(fourth), one.total, one.n_columns)
    )


def _from_sphere(moments: ClassMoments) -> float | None:
    """Squared distance |S - I/p|^2 of the one scatter, at trace one; None where nothing varies."""
    if moments.spread == "thin":
        return principal(moments).from_sphere if moments.squares.any() else None
    ratio = moments.common_unit
    scatter = moments.scatters[0] * ratio * ratio[:, None]
    total = float(np.trace(scatter))
    if not total > 0:
        return None
    # Of trace one, so that no square overflows. The sum of squares about the sphere is formed from its
    # terms, not as a difference, which near the sphere would lose all digits.
    unit = scatter / total
    unit[np.diag_indices(moments.n_columns)] -= 1.0 / moments.n_columns
    return float((unit**2).sum())


def intensity(distance: Floats, count: float | Floats, p: int) -> Floats:
    """The formula of `oas` from |S - I/p|^2 of an S (p, p) of trace one, and the count of its rows."""
    if p == 1:
        return np.zeros_like(distance)
    above = distance + 1.0 / p + 1.0
    below = (count + 1.0) * distance
    return np.where(above >= below, 1.0, above / np.where(above >= below, 1.0, below))


def shrunk(
    moments: ClassMoments, divisor: float, shrinkage: float | None = None, k: int | None = None
) -> tuple[Covariance, float]:
    """Covariance of class k, or the pooled one, shrunk to a sphere, and the shrinkage, by default of `oas`.

    Moments are of full rank for a shrinkage of zero. A DataError says that it is not from 0 to 1, and a
    CollinearError that no column varies.
    """
    one = one_scatter(moments, k)
    if one.spread == "thin":
        _mean_square(one)
        axes = principal(one)
        g = oas(one) if shrinkage is None else float(shrinkage)
        if not 0 < g <= 1:
            raise CoreDataError("shrinkage_too_small", shrinkage=shrinkage)
        sphere = g / axes.n_columns / divisor
        return ThinCovariance.on_axes(axes, (1.0 - g) * axes.lengths / divisor + sphere, sphere), g
    g = oas(one) if shrinkage is None else float(shrinkage)
    if not 0 <= g <= 1:
        raise CoreDataError("shrinkage_out_of_range", shrinkage=shrinkage)
    sphere = g * _mean_square(one)
    if g == 0:
        return pooled(one, divisor), g
    if g == 1:
        return Covariance.from_root(np.diag(spherical(one, divisor).root)), g
    ratio = one.common_unit
    if one.roots is not None:
        rows = np.sqrt(1.0 - g) * one.roots[0] * ratio
        root = packed_triangle(np.concatenate([rows, np.sqrt(sphere) * np.eye(one.n_columns)]))
    else:
        total = (1.0 - g) * (one.scatters[0] * ratio * ratio[:, None])
        total[np.diag_indices(one.n_columns)] += sphere
        root = scaled_cholesky(total)
    return Covariance.from_root(root / ratio / np.sqrt(divisor)), g


def spherical(moments: ClassMoments, divisor: float, k: int | None = None) -> Covariance:
    """Covariance tr(S)/p I of class k, or the pooled one: one variance for all columns, in the data's units.

    A CollinearError says that no column varies.
    """
    one = one_scatter(moments, k)
    return Covariance.from_root(np.sqrt(_mean_square(one) / divisor) / one.common_unit)


def _mean_square(moments: ClassMoments) -> float:
    """tr(W)/p of the one scatter, in their common unit."""
    ratio = moments.common_unit
    squares = moments.squares[0]
    # Factor by factor: the square of a ratio may underflow.
    mean = float((squares * ratio * ratio).sum()) / moments.n_columns
    if not mean > 0:
        raise CoreCollinearError("nothing_to_shrink")
    return mean


@dataclass(frozen=True, slots=True, eq=False)
class Removed:
    """Rows that are taken out one at a time, with their deviations e (r, m) from class means on the axes."""

    e: Floats
    codes: Codes
    gone: Removal
    weights: Floats | None

    @property
    def trace(self) -> Floats:
        """Traces (m,) of the scatter without the row."""
        return np.asarray(1.0 - self.gone.lift * (self.e**2).sum(axis=0))

    def from_sphere(self, spectrum: Principal) -> Floats:
        """Squared distances (m,) of the scatter without the row, at trace one, from the sphere."""
        p = spectrum.n_columns
        c = self.gone.lift
        squares = (self.e**2).sum(axis=0)
        beyond = spectrum.lengths - 1.0 / p
        found = spectrum.from_sphere - 2.0 * c * (beyond @ self.e**2) + (1.0 - 1.0 / p) * (c * squares) ** 2
        return np.asarray(found / self.trace**2)


Intensity = Callable[[Principal, Removed], Floats]
"""Shrinkages (m,) of a scatter without each of m rows."""


def oas_without(spectrum: Principal, rows: Removed) -> Floats:
    """Each row's own shrinkage by `oas`; of a sphere one."""
    if spectrum.axes is None:
        return np.ones(rows.e.shape[1])
    return intensity(rows.from_sphere(spectrum), spectrum.count - rows.gone.out, spectrum.n_columns)


def ledoit_wolf_without(powers: Powers) -> Intensity:
    """Each row's own shrinkage of Ledoit & Wolf, from powers on the same axes."""

    def found(spectrum: Principal, rows: Removed) -> Floats:
        gone = rows.gone
        r = powers.thirds.shape[1]
        codes = rows.codes if len(powers.thirds) > 1 else np.zeros_like(rows.codes)
        fourth = powers.without(rows.e[:r], codes, gone.out, gone.count) / rows.trace**2
        return shrinkage.ledoit_wolf_intensity(
            rows.from_sphere(spectrum), fourth, spectrum.count - gone.out, spectrum.n_columns
        )

    return found


@dataclass(frozen=True, slots=True, eq=False)
class Without:
    """The shrunk scatter without each of m rows, diagonal - lift e e' in the principal axes.

    The diagonal is (r, m), beyond the axes it is `rest` (m,); `own` is e'e over the diagonal, `left` 1 - lift
    own. Of spoilt rows too few digits are left.
    """

    diagonal: Floats
    rest: Floats
    lift: Floats
    left: Floats
    own: Floats
    spoilt: NDArray[np.bool_]

    def log_determinant(self, beyond: int) -> Floats:
        """Log-determinants, with a number of dimensions beyond the axes."""
        on_axes = np.log(self.diagonal).sum(axis=0) + np.log(self.left)
        return np.asarray(on_axes + beyond * np.log(self.rest) if beyond else on_axes)


def without(spectrum: Principal, rows: Removed, g: Floats, spoilt_at: float = SPOILT) -> Without:
    """The scatter shrunk by g (m,) without each row; up to `spoilt_at`, what is left is too little."""
    e = rows.e
    c = rows.gone.lift
    trace = rows.trace
    sphere = trace / spectrum.n_columns
    rest = g * sphere
    diagonal = (1.0 - g) * spectrum.lengths[:, None] + rest
    lift = (1.0 - g) * c
    own = (e**2 / diagonal).sum(axis=0)
    # Without the row next to nothing varies: what is left of the trace, or of g, has lost its digits.
    spoilt = (trace <= spoilt_at) | np.isnan(g)
    if spectrum.is_saturated:
        long = spectrum.lengths[: spectrum.free, None]
        ridge = rest / np.where(g < 1.0, 1.0 - g, 1.0)
        left = c * ridge * (e[: spectrum.free] ** 2 / (long * (long + ridge))).sum(axis=0)
        times = np.ones(len(c)) if rows.weights is None else np.maximum(rows.weights, 1.0)
        base = 1.0 - c * (1.0 / times - 1.0 / rows.gone.count)
        left += np.where((times > 1) | rows.gone.alone, base, 0.0)
        left = np.where(g < 1.0, left, 1.0)
        spoilt = spoilt | (left <= 0)
    else:
        left = 1.0 - lift * own
        spoilt = spoilt | (left <= spoilt_at)
    return Without(diagonal, rest, lift, left, own, spoilt)


def sphere_left_out(fitted: NormalClasses, own: Sequence[Intensity]) -> LeftOut:
    """Leave-one-out scores under covariances shrunk to a sphere, one or one for each class.

    Each has its shrinkage without a row; moments are diagonal for spherical covariances.
    """
    moments = fitted.moments
    divisors = fitted.divisors
    log_prior = fitted.log_prior
    if len(divisors) == 1:
        return common_left_out(moments, float(divisors[0]), log_prior, own[0])
    return separate_left_out(fitted, own)


def common_left_out(
    moments: ClassMoments, divisor: float, log_prior: Floats, own: Intensity = oas_without
) -> LeftOut:
    """Leave-one-out scores where the classes share one covariance, shrunk or spherical."""
    spectrum = principal(moments).spanning(moments.means.T - moments.means[:1].T)
    centres = spectrum.turned(moments.means.T)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        gone = removal(moments.counts[codes], weights, divisor, total=float(moments.counts.sum()))
        rows = Removed(spectrum.turned(from_class_means(moments, x, codes)), codes, gone, weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = without(spectrum, rows, own(spectrum, rows))
            out = common_scores(centres, rows, part, divisor, log_prior)
        return settle(out, codes, gone, part.spoilt).T

    return scores


def common_scores(centres: Floats, rows: Removed, part: Without, divisor: float, log_prior: Floats) -> Floats:
    """Scores (K, m) of rows under the rule without each of them, from class means (r, K) on the axes."""
    e = rows.e
    codes = rows.codes
    d2 = np.empty((centres.shape[1], len(codes)))
    for k in range(len(d2)):
        gap = e + centres[:, codes] - centres[:, [k]]
        weighted = gap / part.diagonal
        cross = (weighted * e).sum(axis=0)
        d2[k] = (weighted * gap).sum(axis=0) + part.lift * cross**2 / part.left
    d2[codes, np.arange(len(codes))] = rows.gone.stretch * part.own / part.left
    return np.asarray(log_prior[:, None] - 0.5 * divisor * rows.gone.shrink * d2)


def separate_left_out(fitted: NormalClasses, own: Sequence[Intensity]) -> LeftOut:
    """As `common_left_out`, where each class has its covariance; the other classes of a row keep theirs."""
    moments = fitted.moments
    divisors = fitted.divisors
    log_prior = fitted.log_prior
    rule = gaussian.separate_plugin(moments, fitted.covariances, log_prior)
    principals = [principal(moments, k) for k in range(moments.n_classes)]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        out = np.array(rule.scores(x).T)
        gone = removal(moments.counts[codes], weights, divisors[codes])
        spoilt = np.zeros(len(codes), dtype=bool)
        z = from_class_means(moments, x, codes)
        for k, spectrum in enumerate(principals):
            mine = np.flatnonzero(codes == k)
            given = None if weights is None else weights[mine]
            taken = removal(gone.count[mine], given, divisors[k])
            rows = Removed(spectrum.turned(z[:, mine]), codes[mine], taken, given)
            with np.errstate(divide="ignore", invalid="ignore"):
                part = without(spectrum, rows, own[k](spectrum, rows))
                out[k, mine] = log_prior[k] + own_scores(spectrum, rows, part, divisors[k])
            spoilt[mine] = part.spoilt
        return settle(out, codes, gone, spoilt).T

    return scores


def own_scores(spectrum: Principal, rows: Removed, part: Without, divisor: float) -> Floats:
    """Log density (m,), but for a constant, of rows of a class under its covariance without each of them."""
    after = divisor - rows.gone.out
    logdet = part.log_determinant(spectrum.beyond) - 2.0 * np.log(spectrum.unit).sum()
    logdet -= spectrum.n_columns * np.log(after)
    return np.asarray(-0.5 * (logdet + after * rows.gone.stretch * part.own / part.left))


def common_trial(moments: ClassMoments, divisor: float, log_prior: Floats, grid: Floats) -> Trial:
    """Scores under one covariance for all classes, shrunk towards a sphere by each shrinkage of a grid."""
    spectrum = principal(moments).spanning(moments.means.T - moments.means[:1].T)
    centres = spectrum.turned(moments.means.T)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        gone = removal(moments.counts[codes], weights, divisor)
        rows = Removed(spectrum.turned(from_class_means(moments, x, codes)), codes, gone, weights)
        for g in grid.tolist():
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                part = without(spectrum, rows, np.full(len(codes), g), BARELY)
                out = common_scores(centres, rows, part, divisor, log_prior)
            out[:, part.spoilt] = np.nan
            yield out

    return scores


def separate_trial(moments: ClassMoments, divisors: Floats, log_prior: Floats, grid: Floats) -> Trial:
    """As `common_trial`, under a covariance for each class, all shrunk alike."""
    axes = [principal(moments, k) for k in range(moments.n_classes)]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        m = len(codes)
        k = moments.n_classes
        squares = []
        beyond = []
        taken = []
        for c, spectrum in enumerate(axes):
            z = from_class_means(moments, x, c)
            e = spectrum.turned(z)
            squares.append(e**2)
            beyond.append(_beyond(spectrum, z, e))
            mine = np.flatnonzero(codes == c)
            given = None if weights is None else weights[mine]
            gone = removal(moments.counts[codes[mine]], given, divisors[c])
            taken.append(Removed(e[:, mine], codes[mine], gone, given))
        for g in grid.tolist():
            out = np.empty((k, m))
            spoilt = np.zeros(m, dtype=bool)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                for c, spectrum in enumerate(axes):
                    mine = np.flatnonzero(codes == c)
                    out[c] = _density(spectrum, squares[c], beyond[c], divisors[c], g)
                    part = without(spectrum, taken[c], np.full(len(mine), g), BARELY)
                    out[c, mine] = own_scores(spectrum, taken[c], part, divisors[c])
                    spoilt[mine] = part.spoilt
            out += log_prior[:, None]
            out[:, spoilt] = np.nan
            yield out

    return scores


def _beyond(spectrum: Principal, z: Floats, e: Floats) -> Floats:
    """Squared length (m,) of z beyond the axes on which it is e."""
    if not spectrum.beyond or spectrum.axes is None:
        return np.zeros(z.shape[1])
    return np.asarray(((z * spectrum.unit[:, None] - spectrum.axes.T @ e) ** 2).sum(axis=0))


def _density(spectrum: Principal, squares: Floats, beyond: Floats, divisor: float, g: float) -> Floats:
    """Log density (m,) but for a constant, from squares (r, m) on the axes and (m,) beyond them."""
    sphere = g / spectrum.n_columns
    variances = (1.0 - g) * spectrum.lengths + sphere
    d2 = (1.0 / variances) @ squares
    logdet = (
        np.log(variances).sum() - 2.0 * np.log(spectrum.unit).sum() - spectrum.n_columns * np.log(divisor)
    )
    if spectrum.beyond:
        d2 = d2 + beyond / sphere
        logdet += spectrum.beyond * np.log(sphere)
    return np.asarray(-0.5 * (logdet + divisor * d2))
