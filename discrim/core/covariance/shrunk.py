"""Covariances shrunk towards a sphere, and their rules without each row.

A covariance S of p columns is shrunk towards the sphere of the same total variance,

    (1 - g) S + g tr(S)/p I,   0 <= g <= 1,

which keeps the eigenvectors and moves every eigenvalue towards their mean. The sphere refers to the units of
the data: shrinkage depends on the units of the columns.

*Intensity.* The shrinkage g with the smallest expected squared error depends on the true covariance; the
*oracle approximating shrinkage* (OAS) replaces it by estimates iteratively until convergence (Chen,
Wiesel, Eldar & Hero, 2010, IEEE Transactions on Signal Processing 58, 5016-5029, eq. 23):

    g = min(1, ((1 - 2/p) tr(S^2) + tr(S)^2) / ((n + 1 - 2/p) (tr(S^2) - tr(S)^2/p))).

Like scikit-learn's `OAS`, this module omits the terms 2/p, which vanish for many columns, and uses g = 0 for
one column. n is the number of rows, N or n_k, for any divisor of S: g does not depend on the divisor. Here g
is at least 1/(n + 1), therefore the shrunk covariance of two or more columns is regular unless nothing
varies: its condition number is at most p (n + 1).

*Leaving a row out.* With W = U L U' and tr(W) = 1, removing a row with deviation d from the mean of its class
leaves W - c d d', c = w n_g / (n_g - w), whose trace and distance from the sphere depend on e = U'd only:

    t = 1 - c e'e,   |W - c d d' - t/p I|^2 = |W - I/p|^2 - 2 c e'(L - I/p) e + c^2 (1 - 1/p) (e'e)^2.

Therefore each row has its own shrinkage g, and the shrunk scatter without it is U (A - b e e') U' with the
diagonal A = (1 - g) L + g t/p I and b = (1 - g) c: the Sherman-Morrison formula gives its distances, and the
matrix determinant lemma its log-determinant ln|A| + ln(1 - b e'A^-1 e). A sphere is the case g = 1. A fixed
shrinkage is kept; the one by Ledoit & Wolf follows from `shrinkage.Powers`. In the principal axes every
shrinkage is diagonal, so each row is projected once and scored under all candidates.

*More columns than rows.* Then e and U refer to the span of the rows; in the complement A is g t/p =: s, and
1 - b e'A^-1 e would cancel, because the row was alone in some direction. With r = s/(1 - g) it is the sum
1 - c e'L^-1 e + c r e'[L (L + r I)]^-1 e. If W has as many axes as degrees of freedom, e'L^-1 e is
1/w - 1/n_g, and the sum of the first two terms is exactly 0 for a row of weight one, and has a closed form
for larger weights.
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
    """Covariance shrunk towards a sphere.

    Attributes
    ----------
    shrinkage : Shrinkage
    sphere : Sphere
        Units in which the target is a sphere.
    """

    shrinkage: Shrinkage = field(default_factory=lambda: Shrinkage("oas"))
    sphere: Sphere = SPHERES[0]

    name = "shrunk"
    traits = CovarianceTraits(is_regular=True, allows_subspace=True)
    shrinkage_rules = ("given", "oas", "ledoit-wolf", "loo")

    def in_data_units(self) -> ShrunkCovariance:
        """Return the model with the sphere in the units of the data."""
        return replace(self, sphere=SPHERES[0])

    def requires_full_rank(self, n_columns: int) -> bool:
        """Return whether the shrinkage is zero."""
        return self.shrinkage.is_none(n_columns)

    def check(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return all columns if none varies, or, if the shrinkage is zero, linearly dependent columns."""
        # With more columns than rows, `requires_full_rank` refuses their number.
        thin = moments.spread in ("thin", "thin class")
        g = None if thin else self.shrinkage.of(k)
        if g is not None and self.shrinkage.known((g,)).is_none(moments.n_columns):
            return dependencies(moments, k)
        return all_constant(moments, k)

    @property
    def depends_on_units(self) -> bool:
        """Whether the shrinkage may be positive and columns are not standardized."""
        return self.sphere.in_data and (not self.shrinkage.values or any(self.shrinkage.values))

    def fit_to_rows(self, rows: RowBlocks, moments: ClassMoments, divisors: Floats) -> ShrunkCovariance:
        """Return a copy with Ledoit & Wolf's shrinkages, if this is the rule.

        Parameters
        ----------
        rows : iterable of blocks
        moments : ClassMoments
        divisors : (1,) or (K,) float
        """
        if self.shrinkage.rule != "ledoit-wolf":
            return self
        moments = comparable(moments)
        fourths = shrinkage.row_fourths(rows, moments, by_class=len(divisors) > 1).tolist()
        found = [
            ledoit_wolf(moments, f, k) for f, (k, _) in zip(fourths, each_covariance(divisors), strict=True)
        ]
        return self.with_shrinkages(*found)

    def rescaled(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments on scales in the range of the sphere, unless the shrinkage is zero."""
        nothing = bool(self.shrinkage.values) and not any(self.shrinkage.values)
        return moments if nothing else self.sphere.scaled(moments)

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariances with shrinkages that were determined before, or by `oas`."""
        moments = self.rescaled(moments)
        in_units = self.sphere.in_units(moments)
        found = [shrunk(in_units, d, self.shrinkage.of(k), k) for k, d in each_covariance(divisors)]
        own = self.with_shrinkages(*[g for _, g in found])
        return CovarianceEstimates(own, moments, tuple(covariance for covariance, _ in found))

    def candidate_scores(self, moments: ClassMoments, divisors: Floats, log_prior: Floats) -> Trial:
        """Return leave-one-out scores under each candidate of the shrinkage.

        Parameters
        ----------
        moments : ClassMoments
        divisors : (1,) or (K,) float
        log_prior : (K,) float

        Returns
        -------
        Trial
        """
        grid = np.array(self.shrinkage.grid)
        moments = comparable(moments)
        if len(divisors) == 1:
            return common_trial(moments, float(divisors[0]), log_prior, grid)
        return separate_trial(moments, divisors, log_prior, grid)

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Return leave-one-out scores in closed form, on the principal axes of the scatters."""
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
        """Return the function that computes the shrinkage of class k, or the pooled one, without a row."""
        g = self.shrinkage.of(k)
        if g is None or self.shrinkage.rule == "oas":
            return oas_without
        return lambda spectrum, rows: np.full(rows.e.shape[1], g)


def oas(moments: ClassMoments, k: int | None = None) -> float:
    """Return the oracle approximating shrinkage of the covariance of class k, or of the pooled one.

    It equals the shrinkage of scikit-learn's `OAS` fitted to the rows of the class, or to all rows minus the
    means of their classes.

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
    """Return Ledoit & Wolf's shrinkage.

    Parameters
    ----------
    moments : ClassMoments
    fourth : float
        Sum of fourth powers; see `shrinkage.row_fourths`.
    k : int, optional
        Position of the class; by default the pooled covariance.

    Returns
    -------
    float
    """
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
    """Return the squared distance |S - I/p|^2 of the one scatter, at trace one; None if nothing varies."""
    if moments.spread == "thin":
        return principal(moments).from_sphere if moments.squares.any() else None
    ratio = moments.common_unit
    scatter = moments.scatters[0] * ratio * ratio[:, None]
    total = float(np.trace(scatter))
    if not total > 0:
        return None
    # Scaled to trace one, because squares could overflow. The squares about the sphere are summed term by
    # term: a difference of traces would lose all digits near the sphere.
    unit = scatter / total
    unit[np.diag_indices(moments.n_columns)] -= 1.0 / moments.n_columns
    return float((unit**2).sum())


def intensity(distance: Floats, count: float | Floats, p: int) -> Floats:
    """Compute the OAS shrinkage.

    Parameters
    ----------
    distance : (...) float
        |S - I/p|^2 for an S of trace one.
    count : float or (...) float
        Number of rows.
    p : int
        Number of columns.

    Returns
    -------
    (...) float
    """
    if p == 1:
        return np.zeros_like(distance)
    above = distance + 1.0 / p + 1.0
    below = (count + 1.0) * distance
    return np.where(above >= below, 1.0, above / np.where(above >= below, 1.0, below))


def shrunk(
    moments: ClassMoments, divisor: float, shrinkage: float | None = None, k: int | None = None
) -> tuple[Covariance, float]:
    """Compute a covariance shrunk towards a sphere.

    Parameters
    ----------
    moments : ClassMoments
        Of full rank if the shrinkage is zero.
    divisor : float
    shrinkage : float, optional
        By default `oas`.
    k : int, optional
        Position of the class; by default the pooled covariance.

    Returns
    -------
    covariance : Covariance
    shrinkage : float

    Raises
    ------
    CoreDataError
        The shrinkage is not between 0 and 1.
    CoreCollinearError
        All columns are constant.
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
    """Compute the covariance tr(S)/p I, with one variance for all columns in the units of the data.

    Parameters
    ----------
    moments : ClassMoments
    divisor : float
    k : int, optional
        Position of the class; by default the pooled covariance.

    Returns
    -------
    Covariance

    Raises
    ------
    CoreCollinearError
        All columns are constant.
    """
    one = one_scatter(moments, k)
    return Covariance.from_root(np.sqrt(_mean_square(one) / divisor) / one.common_unit)


def _mean_square(moments: ClassMoments) -> float:
    """Return tr(W)/p of the one scatter, in the common unit of the columns."""
    ratio = moments.common_unit
    squares = moments.squares[0]
    # Factor by factor: the square of a ratio may underflow.
    mean = float((squares * ratio * ratio).sum()) / moments.n_columns
    if not mean > 0:
        raise CoreCollinearError("nothing_to_shrink")
    return mean


@dataclass(frozen=True, slots=True, eq=False)
class Removed:
    """Rows that are left out one at a time.

    Attributes
    ----------
    e : (r, m) float
        Deviations from the class means, on the principal axes.
    codes : (m,) int
        Class of each row.
    gone : Removal
        Weights that are left out.
    weights : (m,) float or None
    """

    e: Floats
    codes: Codes
    gone: Removal
    weights: Floats | None

    @property
    def trace(self) -> Floats:
        """Traces (m,) of the scatter without each row."""
        return np.asarray(1.0 - self.gone.lift * (self.e**2).sum(axis=0))

    def from_sphere(self, spectrum: Principal) -> Floats:
        """Return the squared distances (m,) from the sphere of the scatter without each row, at trace one."""
        p = spectrum.n_columns
        c = self.gone.lift
        squares = (self.e**2).sum(axis=0)
        beyond = spectrum.lengths - 1.0 / p
        found = spectrum.from_sphere - 2.0 * c * (beyond @ self.e**2) + (1.0 - 1.0 / p) * (c * squares) ** 2
        return np.asarray(found / self.trace**2)


Intensity = Callable[[Principal, Removed], Floats]
"""Function that returns the shrinkages (m,) of a scatter without each of m rows."""


def oas_without(spectrum: Principal, rows: Removed) -> Floats:
    """Return the shrinkage by `oas` without each row; one if the covariance is spherical."""
    if spectrum.axes is None:
        return np.ones(rows.e.shape[1])
    return intensity(rows.from_sphere(spectrum), spectrum.count - rows.gone.out, spectrum.n_columns)


def ledoit_wolf_without(powers: Powers) -> Intensity:
    """Return the function that computes Ledoit & Wolf's shrinkage without each row, from sums of powers."""

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
    """Shrunk scatter without each of m rows: diagonal - lift e e' on the principal axes.

    Attributes
    ----------
    diagonal : (r, m) float
    rest : (m,) float
        Variance in the complement of the axes.
    lift : (m,) float
    left : (m,) float
        1 - lift * own.
    own : (m,) float
        e'e weighted by the reciprocal of the diagonal.
    spoilt : (m,) bool
        Rows for which too few digits remain.
    """

    diagonal: Floats
    rest: Floats
    lift: Floats
    left: Floats
    own: Floats
    spoilt: NDArray[np.bool_]

    def log_determinant(self, beyond: int) -> Floats:
        """Return the log-determinants (m,), with `beyond` dimensions in the complement of the axes."""
        on_axes = np.log(self.diagonal).sum(axis=0) + np.log(self.left)
        return np.asarray(on_axes + beyond * np.log(self.rest) if beyond else on_axes)


def without(spectrum: Principal, rows: Removed, g: Floats, spoilt_at: float = SPOILT) -> Without:
    """Compute the shrunk scatter without each row.

    Parameters
    ----------
    spectrum : Principal
    rows : Removed
    g : (m,) float
        Shrinkages.
    spoilt_at : float
        Remaining determinant or trace, relative to the whole, up to which a row is spoilt.

    Returns
    -------
    Without
    """
    e = rows.e
    c = rows.gone.lift
    trace = rows.trace
    sphere = trace / spectrum.n_columns
    rest = g * sphere
    diagonal = (1.0 - g) * spectrum.lengths[:, None] + rest
    lift = (1.0 - g) * c
    own = (e**2 / diagonal).sum(axis=0)
    # If hardly anything varies without the row, the remaining trace and g have lost their digits.
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
    """Return leave-one-out scores under one or several covariances shrunk towards a sphere.

    Parameters
    ----------
    fitted : NormalClasses
        With diagonal moments for spherical covariances.
    own : sequence of callables
        Shrinkage of each covariance without a row.

    Returns
    -------
    LeftOut
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
    """Return leave-one-out scores under one covariance for all classes.

    Parameters
    ----------
    moments : ClassMoments
    divisor : float
    log_prior : (K,) float
    own : callable
        Shrinkage without a row.

    Returns
    -------
    LeftOut
    """
    spectrum = principal(moments).spanning(moments.means.T - moments.means[:1].T)
    centres = spectrum.turned(moments.means.T)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute leave-one-out scores (m, K) of rows x (m, p)."""
        gone = removal(moments.counts[codes], weights, divisor, total=float(moments.counts.sum()))
        rows = Removed(spectrum.turned(from_class_means(moments, x, codes)), codes, gone, weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = without(spectrum, rows, own(spectrum, rows))
            out = common_scores(centres, rows, part, divisor, log_prior)
        return settle(out, codes, gone, part.spoilt).T

    return scores


def common_scores(centres: Floats, rows: Removed, part: Without, divisor: float, log_prior: Floats) -> Floats:
    """Compute scores of rows under the rule without each of them.

    Parameters
    ----------
    centres : (r, K) float
        Class means on the axes.
    rows : Removed
    part : Without
    divisor : float
    log_prior : (K,) float

    Returns
    -------
    (K, m) float
    """
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
    """Return leave-one-out scores under a covariance for each class.

    Only the covariance of the row's own class changes if a row is left out.

    Parameters
    ----------
    fitted : NormalClasses
    own : sequence of K callables
        Shrinkage of each class without a row.

    Returns
    -------
    LeftOut
    """
    moments = fitted.moments
    divisors = fitted.divisors
    log_prior = fitted.log_prior
    rule = gaussian.separate_plugin(moments, fitted.covariances, log_prior)
    principals = [principal(moments, k) for k in range(moments.n_classes)]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute leave-one-out scores (m, K) of rows x (m, p).

        Parameters
        ----------
        x : (m, p) float
        codes : (m,) int
        weights : (m,) float, optional
        """
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
    """Compute log densities of rows of a class under its covariance without each of them.

    Parameters
    ----------
    spectrum : Principal
    rows : Removed
    part : Without
    divisor : float

    Returns
    -------
    (m,) float
        Up to a constant.
    """
    after = divisor - rows.gone.out
    logdet = part.log_determinant(spectrum.beyond) - 2.0 * np.log(spectrum.unit).sum()
    logdet -= spectrum.n_columns * np.log(after)
    return np.asarray(-0.5 * (logdet + after * rows.gone.stretch * part.own / part.left))


def common_trial(moments: ClassMoments, divisor: float, log_prior: Floats, grid: Floats) -> Trial:
    """Return leave-one-out scores under one covariance, for each candidate of the shrinkage.

    Parameters
    ----------
    moments : ClassMoments
    divisor : float
    log_prior : (K,) float
    grid : (G,) float
        Candidates.

    Returns
    -------
    Trial
    """
    spectrum = principal(moments).spanning(moments.means.T - moments.means[:1].T)
    centres = spectrum.turned(moments.means.T)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        """Yield the scores (K, m) of rows x (m, p) for each candidate.

        Parameters
        ----------
        x : (m, p) float
        codes : (m,) int
        weights : (m,) float, optional
        """
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
    """Return leave-one-out scores under a covariance for each class, for each candidate of the shrinkage.

    Parameters
    ----------
    moments : ClassMoments
    divisors : (K,) float
    log_prior : (K,) float
    grid : (G,) float
        Candidates; all classes have the same shrinkage.

    Returns
    -------
    Trial
    """
    axes = [principal(moments, k) for k in range(moments.n_classes)]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        """Yield the scores (K, m) of rows x (m, p) for each candidate.

        Parameters
        ----------
        x : (m, p) float
        codes : (m,) int
        weights : (m,) float, optional
        """
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
    """Compute the squared length of rows in the complement of the axes.

    Parameters
    ----------
    spectrum : Principal
    z : (p, m) float
    e : (r, m) float
        Coordinates of z on the axes.

    Returns
    -------
    (m,) float
    """
    if not spectrum.beyond or spectrum.axes is None:
        return np.zeros(z.shape[1])
    return np.asarray(((z * spectrum.unit[:, None] - spectrum.axes.T @ e) ** 2).sum(axis=0))


def _density(spectrum: Principal, squares: Floats, beyond: Floats, divisor: float, g: float) -> Floats:
    """Compute log densities under a shrunk covariance, up to a constant.

    Parameters
    ----------
    spectrum : Principal
    squares : (r, m) float
        Squared coordinates on the axes.
    beyond : (m,) float
        Squared lengths in the complement of the axes.
    divisor : float
    g : float
        Shrinkage.

    Returns
    -------
    (m,) float
    """
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
