"""Covariances with correlations shrunk towards zero and variances shrunk towards their median.

`ShrunkCorrelationCovariance` is the covariance model; the rest of the module computes its analytic shrinkage
and its leave-one-out scores.

A covariance is D^(1/2) R* D^(1/2) with correlations R* = (1 - g) R + g I and variances
D = (1 - h) V + h median(V), 0 <= g, h <= 1 (Schaefer & Strimmer, 2005, Statistical Applications in Genetics
and Molecular Biology 4, 32; Ahdesmaeki & Strimmer, 2010, Annals of Applied Statistics 4, 503-519). R* is the
correlation matrix of columns within classes, shrunk towards the identity.

*Intensity.* The intensity h is due to Opgen-Rhein & Strimmer. With deviations u from the class means, each
column of length one, r_jk = sum_i u_ij u_ik, and the g with the smallest expected squared error is estimated
by

    g = min(1, (n A - B) / ((n - 1) B)),   A = sum_{j /= k} sum_i u_ij^2 u_ik^2,   B = sum_{j /= k} r_jk^2,

with n the rows of all classes. B is |R - I|^2. With more columns than rows, R = V'V with a V of r rows, it is
|VV' - I|^2 + p - r and no p x p matrix is formed. n A - B is a sum of squares, n sum_i
(u_ij u_ik - r_jk / n)^2 over all pairs.

*Leaving a row out.* Let h be the u of a row of class g with weight o, and c = o n_g / (n_g - o). Without it a
column has the squared length q_j = 1 - c h_j^2, and with e_j = 1/q_j the correlations are

    sqrt(e_j e_k) (r_jk - c h_j h_k),

which are shrunk and whitened again for each row, by a factorization of size p or, with more columns than
rows, of size r. Then R = V'V and h = V'a, therefore R - c h h' is V' H^2 V with H^2 = I - c a a'; with T = H
V diag(sqrt(e)) and k = g/(1 - g) the squared distance of a difference y in standard deviations is

    y'((1 - g) T'T + g I)^-1 y = (|y - T'b|^2 + k |b|^2) / g,   b = (T T' + k I)^-1 T y,

without cancellation. With at most as many columns as rows, the matrix without a row, times sqrt(q_j q_k), is
the matrix of all rows, which one decomposition inverts for any g, minus (1 - g) c h h' and minus g c
diag(h^2). The first term is a rank-one update, which leads to P. The second is small, at most c h_j^2 of the
whole, and each iteration x -> P^-1 (y + g c diag(h^2) x) reduces the error by this factor. A row that
contributes more than `SMALL_PART` of a column has its own factorization.

*Intensity without a row.* The other rows of the class move by s h, s = o / (n_g - o), and the sum A becomes

    sum_i (u_ij + s h_j)^2 (u_ik + s h_k)^2 = sum_i u_ij^2 u_ik^2 + 2 s (h_k t_jk + h_j t_kj)
        + s^2 (h_k^2 w_jj + h_j^2 w_kk + 4 h_j h_k w_jk) + n_g s^4 h_j^2 h_k^2,

with w_jk = sum_i u_ij u_ik and t_jk = sum_i u_ij^2 u_ik over the class, less o (1 + s)^4 h_j^2 h_k^2. The
rows themselves are stored if they have fewer elements than these sums.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from discrim.core.covariance import shrinkage
from discrim.core.covariance.covariance import EPS, Covariance, Dependency, dependencies
from discrim.core.covariance.diagonal import column_held_at, median_shrunk, strimmer_without, without_row
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
)
from discrim.core.covariance.principal import ThinCovariance, one_scatter
from discrim.core.covariance.shrinkage import ROUNDED_FOURTHS, Powers, Shrinkage, data_units
from discrim.core.covariance.shrunk import shrunk
from discrim.core.moments.derived_moments import comparable_to_median, in_units
from discrim.core.moments.moments import ClassMoments, from_class_means
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats, svd
from discrim.core.rules.leave_one_out import SPOILT, LeftOut, Removal, settle


@dataclass(frozen=True, slots=True)
class ShrunkCorrelationCovariance(CovarianceModel):
    """One covariance for all classes with shrunk correlations and shrunk variances.

    Attributes
    ----------
    shrinkage : Shrinkage
        Shrinkage of the correlations towards zero.
    variances : Shrinkage
        Shrinkage of the variances towards their median.
    """

    shrinkage: Shrinkage = field(default_factory=lambda: Shrinkage("strimmer"))
    variances: Shrinkage = field(default_factory=lambda: Shrinkage("strimmer"))

    name = "correlation"
    traits = CovarianceTraits(is_regular=True, allows_subspace=True)
    shrinkage_rules = ("given", "strimmer")

    @property
    def shrinkages(self) -> tuple[Shrinkage, ...]:
        """Shrinkages of the correlations and of the variances."""
        return self.shrinkage, self.variances

    def unfitted(self) -> ShrunkCorrelationCovariance:
        """Return a copy with the user's options only."""
        return ShrunkCorrelationCovariance(self.shrinkage.unfitted(), self.variances.unfitted())

    def requires_full_rank(self, n_columns: int) -> bool:
        """Return whether correlations are not shrunk."""
        return self.shrinkage.is_none(n_columns)

    def check(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return the constant columns and, if correlations are not shrunk, linearly dependent columns."""
        # With more columns than rows, `requires_full_rank` refuses their number.
        bare = moments.spread != "thin" and self.requires_full_rank(moments.n_columns)
        return dependencies(moments, k, diagonal=not bare)

    def rescaled(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments on scales comparable to the median, if variances are shrunk."""
        return comparable_to_median(moments) if self.variances.of(None) != 0 else moments

    def fit_to_rows(
        self, rows: RowBlocks, moments: ClassMoments, divisors: Floats
    ) -> ShrunkCorrelationCovariance:
        """Return a copy with both analytic shrinkages, computed in one pass over the rows.

        Parameters
        ----------
        rows : iterable of blocks
        moments : ClassMoments
        divisors : (1,) float
        """
        if not self.needs_rows:
            return self
        noise = row_noise(rows, moments)
        found = self
        if self.variances.by_rows:
            found = replace(found, variances=self.variances.known([noise.variances(moments)]))
        if self.shrinkage.by_rows:
            found = replace(found, shrinkage=self.shrinkage.known([noise.correlations(moments)]))
        return found

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the covariance with shrinkages that were determined before."""
        g = self.shrinkage.values[0]
        h = self.variances.values[0]
        near = self.rescaled(moments)
        return CovarianceEstimates(self, near, (correlation_shrunk(moments, near, float(divisors[0]), g, h),))

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Return leave-one-out scores in closed form; analytic shrinkages are estimated without each row."""
        rows = fitted.rows
        moments = fitted.moments
        powers = None if rows is None or not self.needs_rows else correlation_powers(rows, moments)
        return correlation_left_out(fitted, (self.shrinkage, self.variances), powers)


@dataclass(frozen=True, slots=True, eq=False)
class RowNoise:
    """Sums over rows for the analytic shrinkages, of columns of length one about their class means.

    Attributes
    ----------
    crossed : float
        Sum over rows and pairs of different columns of u_ij^2 u_ik^2.
    fourths : (p,) float
        Sums over rows of u_ij^4.
    """

    crossed: float
    fourths: Floats

    def correlations(self, moments: ClassMoments) -> float:
        """Return Schaefer & Strimmer's shrinkage of the correlations."""
        one = one_scatter(moments, None)
        lengths = np.sqrt(one.squares[0])
        if one.roots is not None and one.spread == "thin":
            root = one.roots[0] / lengths
            r, p = root.shape
            pairs = ((root @ root.T - np.eye(r)) ** 2).sum() + p - r
        else:
            correlation = one.scatters[0] / lengths / lengths[:, None]
            np.fill_diagonal(correlation, 0.0)
            pairs = (correlation**2).sum()
        return float(correlation_intensity(pairs, np.array(self.crossed), moments.total))

    def variances(self, moments: ClassMoments) -> float:
        """Return Opgen-Rhein & Strimmer's shrinkage of the variances."""
        one = one_scatter(moments, None)
        unit = data_units(one, by_class=False)[0]
        squares = one.squares[0] * unit * unit
        return float(shrinkage.strimmer_intensity(squares, np.array(squares**2 @ self.fourths), one.total))


def row_noise(blocks: RowBlocks, moments: ClassMoments) -> RowNoise:
    """Compute the sums over rows in one pass; no column may be constant within classes."""
    lengths = np.sqrt(moments.squares.sum(axis=0))[:, None]
    crossed = 0.0
    fourths = np.zeros(moments.n_columns)
    for x, codes, weights in blocks:
        squares = (from_class_means(moments, x, codes) / lengths) ** 2
        times = np.ones(len(codes)) if weights is None else weights
        # Sum the products of pairs: the square of a sum minus the squares would cancel.
        crossed += 2.0 * float((squares[1:] * squares.cumsum(axis=0)[:-1]).sum(axis=0) @ times)
        fourths += squares**2 @ times
    return RowNoise(crossed, fourths)


def correlation_intensity(pairs: Floats, crossed: Floats, count: float | Floats) -> Floats:
    """Compute Schaefer & Strimmer's shrinkage.

    Parameters
    ----------
    pairs : (...) float
        B of the theory.
    crossed : (...) float
        A of the theory.
    count : float or (...) float
        Number of rows n.

    Returns
    -------
    (...) float
        Values in [0, 1].

    Examples
    --------
    >>> u = np.array([[3.0, -1.0, -2.0], [2.0, 0.0, -2.0]])
    >>> u /= np.sqrt((u**2).sum(axis=1, keepdims=True))
    >>> pairs, crossed = 2 * (u[0] @ u[1]) ** 2, 2 * (u[0] ** 2 @ u[1] ** 2)
    >>> correlation_intensity(pairs, crossed, 3).round(6).tolist()
    0.28
    """
    whole = count * crossed
    above = whole - pairs
    above = np.where(above <= ROUNDED_FOURTHS * whole, 0.0, above)
    below = (count - 1.0) * pairs
    return np.where(above >= below, 1.0, above / np.where(above >= below, 1.0, below))


def correlation_shrunk(
    moments: ClassMoments, near: ClassMoments, divisor: float, g: float, h: float
) -> Covariance:
    """Compute the covariance, in z of `near`, with shrunk correlations and variances.

    Parameters
    ----------
    moments : ClassMoments
        Pooled or thin, without columns that are constant within classes; of full rank if g is zero.
    near : ClassMoments
        The same moments on scales comparable to the median of the variances.
    divisor : float
    g, h : float
        Shrinkages of the correlations and of the variances.

    Returns
    -------
    Covariance
    """
    sd = median_shrunk(one_scatter(near, None).squares[0], near.scale, divisor, h).root
    # Column by column, because a column with a negligible variance still has correlations.
    unit = sd / np.sqrt(one_scatter(moments, None).squares[0] / divisor)
    lengths = np.sqrt(moments.squares.sum(axis=0)) / moments.scale
    correlation, _ = shrunk(in_units(moments, lengths), divisor, g)
    if isinstance(correlation, ThinCovariance):
        root = correlation.root * unit
        factor = correlation.inverse / unit[:, None]
        return replace(correlation, root=root, factor=factor, unit=correlation.unit / unit)
    return Covariance.from_root(correlation.root * unit)


LEAST_SHRINKAGE = 1e-6
"""Shrinkage up to which a correlation matrix may be nearly singular, and the row is left to a refit."""

NO_DIRECTION = 1e-12
"""Singular value, relative to the largest, up to which a direction is ignored."""

SMALL_PART = 0.1
"""Maximum share of a row in the squared length of a column for the iterative solution."""

MOST_ITERATIONS = 20
"""Number of iterations; each reduces the error by the factor SMALL_PART."""

NUMBERS_AT_ONCE = 2**22
"""Maximum number of elements of matrices, or of differences to all class means, in memory at once."""


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationPowers:
    """Sums of powers of deviations, with columns of length one, for the intensity without a row.

    Attributes
    ----------
    own : Powers
        Sums by class and column.
    fourths : (p, p) float
        Sums of u_ij^2 u_ik^2 over all rows; (0, p) if the rows are stored instead.
    thirds, seconds : (K, p, p) float
        Sums of u_ij^2 u_ik and of u_ij u_ik by class; (K, 0, p) if the rows are stored instead.
    rows : (p, n) float
        The rows u, if they have fewer elements than the sums; else (p, 0).
    codes, weights : (n,)
        Classes and weights of the stored rows.
    """

    own: Powers
    fourths: Floats
    thirds: Floats
    seconds: Floats
    rows: Floats
    codes: Codes
    weights: Floats


def _lengths(moments: ClassMoments) -> Floats:
    """Return the lengths (p,) of the columns about the class means, in z."""
    return np.asarray(np.sqrt(one_scatter(moments, None).squares[0]))


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """Rows that are left out one at a time.

    Attributes
    ----------
    h : (p, m) float
        Deviations from the class means, with columns of length one.
    e : (p, m) float
        Reciprocals of the squared lengths of the columns without the row.
    codes : (m,) int
        Class of each row.
    out : (m,) float
        Weights that are left out.
    count : (m,) float
        Weights of their classes.
    lift : (m,) float
        Factors c of h h'.
    """

    h: Floats
    e: Floats
    codes: Codes
    out: Floats
    count: Floats
    lift: Floats

    @staticmethod
    def of(h: Floats, codes: Codes, gone: Removal) -> Taken:
        """Construct the left-out rows.

        Parameters
        ----------
        h : (p, m) float
            Deviations from the class means, with columns of length one.
        codes : (m,) int
            Class of each row.
        gone : Removal
            Weights that are left out.

        Returns
        -------
        Taken
        """
        return Taken(h, 1.0 / (1.0 - gone.lift * h**2), codes, gone.out, gone.count, gone.lift)


def correlation_powers(blocks: RowBlocks, moments: ClassMoments) -> CorrelationPowers:
    """Compute the sums of powers, or store the rows, in one pass."""
    lengths = _lengths(moments)[:, None]
    k = moments.n_classes
    p = moments.n_columns
    by_rows = moments.spread == "thin" or moments.rows.sum() <= (2 * k + 1) * p
    q = 0 if by_rows else p
    fourths = np.zeros((q, p))
    thirds = np.zeros((k, q, p))
    seconds = np.zeros((k, q, p))
    own = Powers(np.zeros((k, p)), np.zeros((k, p)), np.zeros((k, p)))
    kept: list[tuple[Floats, Codes, Floats]] = []
    for x, codes, weights in blocks:
        u = from_class_means(moments, x, codes) / lengths
        times = np.ones(len(codes)) if weights is None else weights
        if by_rows:
            kept.append((u, codes, times))
        else:
            fourths += (u**2 * times) @ (u**2).T
        for c in np.unique(codes).tolist():
            part = u[:, codes == c]
            mass = times[codes == c]
            squares = part**2
            own.seconds[c] += squares @ mass
            own.thirds[c] += (squares * part) @ mass
            own.fourths[c] += squares**2 @ mass
            if not by_rows:
                thirds[c] += (squares * mass) @ part.T
                seconds[c] += (part * mass) @ part.T
    rows = np.concatenate([u for u, _, _ in kept], axis=1) if kept else np.zeros((p, 0))
    each = np.concatenate([codes for _, codes, _ in kept]) if kept else np.zeros(0, dtype=np.intp)
    every = np.concatenate([times for _, _, times in kept]) if kept else np.zeros(0)
    return CorrelationPowers(own, fourths, thirds, seconds, rows, each, every)


def crossed_without(powers: CorrelationPowers, taken: Taken) -> Floats:
    """Compute the sum A (m,) of the theory without each row."""
    e = taken.e
    h = taken.h
    codes = taken.codes
    step = taken.out / (taken.count - taken.out)
    b = e * h**2
    gone = taken.count * step**4 - taken.out * (1.0 + step) ** 4
    if len(powers.codes):
        squares = (powers.rows**2).T @ e
        along = 2.0 * step * (powers.rows.T @ (e * h)) + step**2 * b.sum(axis=0)
        squares += np.where(powers.codes[:, None] == codes, along, 0.0)
        whole = powers.weights @ squares**2 - taken.out * ((1.0 + step) ** 2 * b.sum(axis=0)) ** 2
        sums = powers.own.fourths.sum(axis=0)[:, None] + 4.0 * step * h * powers.own.thirds[codes].T
        sums += 6.0 * (step * h) ** 2 * powers.own.seconds[codes].T + gone * h**4
        return np.asarray(whole - (e**2 * sums).sum(axis=0))
    found = _pairs(powers.fourths, e) + gone * (b.sum(axis=0) ** 2 - (b**2).sum(axis=0))
    for c in np.unique(codes).tolist():
        mine = np.flatnonzero(codes == c)
        mine_e = e[:, mine]
        mine_b = b[:, mine]
        a = (e * h)[:, mine]
        s = step[mine]
        third = powers.thirds[c]
        second = powers.seconds[c]
        own = np.diagonal(second)[:, None]
        across = (third @ a) * mine_e - np.diagonal(third)[:, None] * mine_e * a
        found[mine] += 4.0 * s * across.sum(axis=0) + 4.0 * s**2 * _pairs(second, a)
        apart = (mine_e * own).sum(axis=0) * mine_b.sum(axis=0) - (mine_e * mine_b * own).sum(axis=0)
        found[mine] += 2.0 * s**2 * apart
    return np.asarray(found)


def _pairs(matrix: Floats, columns: Floats) -> Floats:
    """Return the sums (m,) of matrix_jk a_j a_k over pairs j /= k, for columns a of (p, m)."""
    across = ((matrix @ columns) * columns).sum(axis=0)
    return np.asarray(across - np.diagonal(matrix) @ columns**2)


def correlation_left_out(
    fitted: NormalClasses, shrinkages: tuple[Shrinkage, Shrinkage], powers: CorrelationPowers | None = None
) -> LeftOut:
    """Return leave-one-out scores under shrunk correlations and variances.

    Parameters
    ----------
    fitted : NormalClasses
        With pooled or thin moments.
    shrinkages : (Shrinkage, Shrinkage)
        Shrinkages of the correlations and of the variances.
    powers : CorrelationPowers, optional
        If present, analytic shrinkages are estimated without each row; else they are kept.

    Returns
    -------
    LeftOut
    """
    moments = fitted.moments
    divisor = float(fitted.divisors[0])
    log_prior = fitted.log_prior
    correlations, variances = shrinkages
    g = correlations.values[0]
    by_column = column_held_at(variances.values[0])
    noise = None
    lengths = _lengths(moments)
    if powers is not None:
        noise = powers if correlations.by_rows else None
        if variances.by_rows:
            # Columns of a pooled scatter of trace one in the units of the data.
            size = lengths * data_units(moments, by_class=False)[0]
            each = powers.own
            by_size = Powers(each.seconds * size**2, each.thirds * size**3, each.fourths * size**4)
            by_column = strimmer_without(moments, by_size, common=True)
    factored: Few | Many
    if moments.spread == "thin":
        factored = Few.of(one_scatter(moments, None), lengths)
    else:
        factored = Many.of(moments.scatters[0] / lengths / lengths[:, None])
    means = moments.means.T
    unit = data_units(moments, by_class=False)[0]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute leave-one-out scores (m, K) of rows x (m, p).

        Parameters
        ----------
        x : (m, p) float
        codes : (m,) int
        weights : (m,) float, optional
        """
        most = max(1, NUMBERS_AT_ONCE // moments.means.size)
        if len(x) > most:
            ends = [slice(first, first + most) for first in range(0, len(x), most)]
            given = [None if weights is None else weights[part] for part in ends]
            parts = [scores(x[part], codes[part], w) for part, w in zip(ends, given, strict=True)]
            return np.concatenate(parts)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rows = without_row(moments, x, codes, weights, np.array([divisor]))
            # In z, in which squares of small columns do not underflow.
            z = from_class_means(moments, x, codes)
            taken = Taken.of(z / lengths[:, None], codes, rows.gone)
            spoilt = (taken.e >= 1.0 / SPOILT).any(axis=0) | (taken.e <= 0).any(axis=0)
            by = by_column(rows)
            target = np.where(by > 0, np.sqrt(by * rows.middle) / unit[:, None], 0.0)
            sd = np.hypot(np.sqrt((1.0 - by) / taken.e) * lengths[:, None], target)
            sd /= np.sqrt(divisor - rows.gone.out)
            gaps = z + (means[:, codes][None] - means.T[:, :, None])
            gaps[codes, :, np.arange(len(codes))] *= np.sqrt(rows.gone.stretch)[:, None]
            crossed = None if noise is None else crossed_without(noise, taken)
            d2, at = factored.distances(gaps / sd, taken, g, crossed, moments.total - taken.out)
        out = log_prior[:, None] - 0.5 * d2
        return settle(
            out, codes, rows.gone, spoilt | (at <= LEAST_SHRINKAGE) | ~np.isfinite(d2).all(axis=0)
        ).T

    return scores


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """Correlations of at most as many columns as rows, and their eigendecomposition.

    Attributes
    ----------
    matrix : (p, p) float
    lengths : (p,) float
        Eigenvalues.
    axes : (p, p) float
        Eigenvectors, in columns.
    """

    matrix: Floats
    lengths: Floats
    axes: Floats

    @staticmethod
    def of(matrix: Floats) -> Many:
        """Decompose correlations (p, p)."""
        lengths, axes = np.linalg.eigh(matrix)
        return Many(matrix, np.maximum(lengths, 0.0), axes)

    def distances(
        self, gaps: Floats, taken: Taken, g: float, crossed: Floats | None, count: Floats
    ) -> tuple[Floats, Floats]:
        """Compute squared distances to all class means without each row.

        Parameters
        ----------
        gaps : (K, p, m) float
            Differences from the class means, in standard deviations.
        taken : Taken
        g : float
            Shrinkage of the correlations.
        crossed : (m,) float, optional
            Sums A without each row, if the shrinkage is estimated without each row.
        count : (m,) float
            Numbers of rows without each row.

        Returns
        -------
        squared_distances : (K, m) float
        shrinkages : (m,) float
        """
        h = taken.h
        e = taken.e
        lift = taken.lift
        b = (e * h**2).sum(axis=0) ** 2 - ((e * h**2) ** 2).sum(axis=0)
        at = np.full(len(lift), g)
        if crossed is not None:
            pairs = _pairs(self.matrix**2, e) - 2.0 * lift * _pairs(self.matrix, e * h) + lift**2 * b
            at = correlation_intensity(pairs, crossed, count)
        d2 = np.full((len(gaps), len(lift)), np.nan)
        sound = (e > 0).all(axis=0) & (at > LEAST_SHRINKAGE)
        small = np.flatnonzero(sound & (lift * (h**2).max(axis=0) <= SMALL_PART))
        d2[:, small] = self._iterated(gaps[:, :, small], h[:, small], e[:, small], lift[small], at[small])
        rest = np.flatnonzero(sound & np.isnan(d2).any(axis=0))
        step = max(1, NUMBERS_AT_ONCE // self.matrix.size)
        for first in range(0, len(rest), step):
            part = rest[first : first + step]
            f = np.sqrt(e[:, part]).T
            own = h[:, part].T
            matrices = self.matrix - lift[part, None, None] * own[:, :, None] * own[:, None, :]
            matrices *= (1.0 - at[part])[:, None, None] * f[:, :, None] * f[:, None, :]
            matrices[:, range(len(h)), range(len(h))] = 1.0
            y = gaps[:, :, part].transpose(2, 1, 0)
            d2[:, part] = (y * np.linalg.solve(matrices, y)).sum(axis=1).T
        return d2, at

    def _iterated(self, gaps: Floats, h: Floats, e: Floats, lift: Floats, at: Floats) -> Floats:
        """Compute squared distances by iterations from the decomposition of all rows.

        Parameters
        ----------
        gaps : (K, p, m) float
            Differences from the class means, in standard deviations.
        h, e : (p, m) float
            See `Taken`.
        lift : (m,) float
            Factors c.
        at : (m,) float
            Shrinkages.

        Returns
        -------
        (K, m) float
            NaN for rows without convergence.
        """
        axes = self.axes
        variances = (1.0 - at) * self.lengths[:, None] + at
        along = (axes.T @ h) / variances
        b = (1.0 - at) * lift
        left = 1.0 - b * (variances * along**2).sum(axis=0)
        y = (gaps / np.sqrt(e)).transpose(1, 0, 2)
        shape = y.shape
        delta = (at * lift * h**2)[:, None, :]
        turned = (axes.T @ y.reshape(len(h), -1)).reshape(shape)

        def solved(columns: Floats) -> Floats:
            lifted = (along[:, None, :] * columns).sum(axis=0) * (b / left)
            return np.asarray(columns / variances[:, None, :] + along[:, None, :] * lifted)

        found = solved(turned)
        for _ in range(MOST_ITERATIONS):
            back = delta * (axes @ found.reshape(len(h), -1)).reshape(shape)
            before = found
            found = solved(turned + (axes.T @ back.reshape(len(h), -1)).reshape(shape))
            moved = np.abs(found - before).max(axis=(0, 1)) <= 4 * EPS * np.abs(found).max(axis=(0, 1))
            if moved.all():
                break
        d2 = (turned * found).sum(axis=0)
        d2[:, ~moved | (left <= SPOILT)] = np.nan
        return np.asarray(d2)


@dataclass(frozen=True, slots=True, eq=False)
class Few:
    """Correlations of more columns than rows, V'V.

    Attributes
    ----------
    root : (r, p) float
        V, with orthogonal rows.
    lengths : (r,) float
        Squared lengths of the rows of V.
    """

    root: Floats
    lengths: Floats

    @staticmethod
    def of(moments: ClassMoments, lengths: Floats) -> Few:
        """Decompose the correlations of moments with a thin root, for columns of lengths (p,)."""
        if moments.roots is None:
            raise TypeError("Moments without roots are not thin.")
        _, singular, axes = svd(moments.roots[0] / lengths, full_matrices=False)
        kept = singular > NO_DIRECTION * singular.max(initial=0.0)
        return Few(singular[kept, None] * axes[kept], singular[kept] ** 2)

    def distances(
        self, gaps: Floats, taken: Taken, g: float, crossed: Floats | None, count: Floats
    ) -> tuple[Floats, Floats]:
        """Compute squared distances to all class means without each row.

        Parameters
        ----------
        gaps : (K, p, m) float
            Differences from the class means, in standard deviations.
        taken : Taken
        g : float
            Shrinkage of the correlations.
        crossed : (m,) float, optional
            Sums A without each row, if the shrinkage is estimated without each row.
        count : (m,) float
            Numbers of rows without each row.

        Returns
        -------
        squared_distances : (K, m) float
        shrinkages : (m,) float
        """
        (r, p), m = self.root.shape, len(count)
        at = np.full(m, g)
        d2 = np.full((len(gaps), m), np.nan)
        a = (self.root @ taken.h) / self.lengths[:, None]
        for i in range(m):
            t = self.root * np.sqrt(taken.e[:, i])
            if own := float(a[:, i] @ a[:, i]):
                # If the row is the only one in its direction, the direction vanishes.
                less = 1.0 - np.sqrt(max(1.0 - taken.lift[i] * own, 0.0))
                t -= np.outer(less / own * a[:, i], a[:, i] @ t)
            if not np.isfinite(t).all():
                continue
            gram = t @ t.T
            if crossed is not None:
                # Eigenvalues sum to p. Deviations from their mean p / r avoid cancellation.
                spread = gram.copy()
                spread[np.diag_indices(r)] -= p / r
                pairs = (spread**2).sum() + p * (p - r) / r
                at[i] = float(correlation_intensity(np.array(pairs), crossed[i], count[i]))
            y = gaps[:, :, i].T
            if at[i] == 1.0:
                d2[:, i] = (y**2).sum(axis=0)
                continue
            ridge = at[i] / (1.0 - at[i])
            gram[np.diag_indices(r)] += ridge
            b = np.linalg.solve(gram, t @ y)
            rest = y - t.T @ b
            d2[:, i] = ((rest**2).sum(axis=0) + ridge * (b**2).sum(axis=0)) / at[i]
        return d2, at
