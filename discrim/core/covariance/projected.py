"""Covariances within leading principal axes of all rows, and rules of every number of them at once.

*Axes.* With T the sum of squares and products of all rows about their common mean, within classes and between
them, the axes are the eigenvectors of T in the order of their eigenvalues: directions of largest variance,
found without regard to the classes. They are those of the columns in their units, or of columns over their
standard deviations over all rows. An indicator of a level that a share m of the rows has may be over the root
of m instead: with an indicator of each level of each of Q categorical columns, the axes are those of multiple
correspondence analysis, whose eigenvalues are the variances along them over Q, and a column of numbers over
its standard deviation weighs as one of two levels would (Escofier, 1979; Pages, 2004, Revue de Statistique
Appliquee 52, 93-111). Discriminant analysis on such axes is Saporta's DISQUAL (1977).

The first q of the axes, A (q, p), make q scores y = A u z of a row z, u the units; a kind of covariance is
estimated from the moments of these scores, which are those of the columns times the axes. So no row is read
again. As a covariance C of the scores, it is A'CA of the columns: what lies beyond the axes does not count.
Discriminant analysis of principal components is the full one of these (Jombart, Devillard & Balloux, 2010,
BMC Genetics 11, 94).

*Every number at once.* The scores of q axes are the first q of those of more. With R'R = S an upper
triangular root of their covariance, the leading block of R is the root of the leading block of S, and the
whitened scores R'^-1 (y - m_k) of q axes are the first q of those of all. So the distance under q axes is the
sum of the first q squares, and the log-determinant that of the first q logarithms on the diagonal of R.

*Without a row.* In all r axes of the fit, on which nothing of the rows is lost, taking a row out takes a
matrix of rank one from the r x r scatters. The axes without it are the eigenvectors of what is then left of
T, so that leaving a row out learns them anew at the cost of one decomposition, without a pass over the rows.
Where that takes long and rows are many beside the columns, the axes stay, and the kind of covariance has its
closed form. Of more columns than rows the axes of a fit follow each of its rows so closely that errors with
held axes would be far too small.

The units of standardized columns and of indicators are computed again without the row as well. If t (p,) is
what the columns y are multiplied by for their new units, rows y = A's are mapped to (A t)'s. With the
Cholesky factor L L' = A t^2 A', the coordinates L's have the same inner products, and eigenvectors are taken
of L'TL: the products take r^2 p multiplications for each row, and nothing else depends on p.

*Digits.* A difference of scatters is known up to the rounding errors of the larger scatters. If what is left
of a column, of an axis or of a covariance is not clearly larger than these, as without a row that lies 1e8
standard deviations away, the row has no scores here, and a refit to the other rows computes them. So it does
for rows without which a column is constant, or a combination of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np
import scipy

from discrim.core.covariance.covariance import EPS, Covariance, Dependency, total_squares
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    SeparatedAxes,
    all_constant,
    each_covariance,
)
from discrim.core.covariance.principal import ThinCovariance
from discrim.core.covariance.shrinkage import Shrinkage
from discrim.core.covariance.total_axes import (
    ColumnTotals,
    Indicators,
    TotalAxes,
    principal_axes,
    standard_units,
)
from discrim.core.errors import (
    CoreNotSupportedError,
    InvalidStateError,
    NoEstimateError,
    SingularEstimateError,
    UnsuitableOptionError,
    positions,
)
from discrim.core.moments import row_sums
from discrim.core.moments.derived_moments import comparable
from discrim.core.moments.moments import ClassMoments, from_class_means, standard_columns
from discrim.core.moments.row_sums import packed_triangle
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats, svd
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeftOut, leave_lone_to_refits
from discrim.core.rules.rules import Rule
from discrim.errors import NotSupportedError

ROUNDED = 1e-12
"""How far a sum of shares may fall short of what it is."""


@dataclass(frozen=True, slots=True, eq=False)
class ProjectedCovariance(ThinCovariance):
    """A covariance within principal axes; what lies beyond does not count.

    Attributes
    ----------
    more : float
        What its log-determinant, of y, lacks of one of scores in the units of the columns.
    """

    more: float

    @property
    def logdet(self) -> float:
        """Log-determinant of the covariance of the scores, the columns having the scale of z."""
        lengths = np.sqrt(((self.root * self.unit) ** 2).sum(axis=1))
        return float(2.0 * np.log(lengths).sum()) + self.more


def on_axes(moments: ClassMoments, axes: Floats) -> ClassMoments:
    """Moments of scores, axes (q, p) times z = (x - origin) * scale; by class, or pooled.

    Examples
    --------
    >>> x, codes = np.array([[1.0, 2.0], [3.0, 6.0], [7.0, 1.0]]), np.array([0, 0, 1])
    >>> m = ClassMoments.from_block(x, codes, n_classes=2)
    >>> on_axes(m, np.array([[1.0, 1.0]])).scatters.ravel().round(12).tolist()
    [18.0]
    """
    roots = None
    if moments.roots is not None:
        roots = np.stack([packed_triangle(root @ axes.T) for root in moments.roots])
        scatters = np.swapaxes(roots, 1, 2) @ roots
    else:
        scatters = axes @ moments.scatters @ axes.T
    nothing = np.zeros((moments.n_classes, len(axes)))
    means = np.ascontiguousarray(moments.means @ axes.T)
    return ClassMoments(moments.counts, moments.rows, means, nothing, np.ones(len(axes)), scatters, roots)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of rows on q axes, as a change of coordinates.

    Attributes
    ----------
    spectrum : TotalAxes
        All axes that there are.
    axes : (q, p) float
        What z is multiplied by.
    origin, scale : (p,) float
        Those of z.
    moments : ClassMoments
        Of the scores.
    """

    spectrum: TotalAxes
    axes: Floats
    origin: Floats
    scale: Floats
    moments: ClassMoments

    @staticmethod
    def of(moments: ClassMoments, spectrum: TotalAxes, count: int) -> Scores:
        """On the first so many axes."""
        axes = spectrum.axes[:count] * spectrum.unit
        moments = spectrum.reach(moments)
        return Scores(spectrum, axes, moments.origin, moments.scale, on_axes(moments, axes))

    def of_rows(self, x: Floats) -> Floats:
        """Scores (m, q) of rows x (m, p)."""
        return np.asarray((self.axes @ standard_columns(x, self.origin, self.scale)).T)

    def lifted(self, covariance: Covariance) -> ProjectedCovariance:
        """A covariance of the scores as one of the columns, on axes of its own within these."""
        root = np.diag(covariance.root) if covariance.is_diagonal else covariance.root
        _, sd, turned = svd(root, full_matrices=False)
        unit = self.spectrum.unit
        axes = turned @ (self.axes / unit)
        sd = sd[:, None]
        return ProjectedCovariance(sd * axes / unit, (axes / sd * unit).T, axes, unit, 0.0, self.more)

    @property
    def more(self) -> float:
        """What a log-determinant of scores lacks of one in the units of the columns."""
        return 2.0 * (float(np.log(self.scale).sum()) - self.spectrum.log_factor(len(self.axes)))


@dataclass(frozen=True, slots=True, eq=False)
class LawOnAxes:
    """One normal law of the scores of all rows on some axes, which stay where a row is left out."""

    scores: Scores
    law: gaussian.WholeLaw

    @staticmethod
    def of(scores: Scores) -> LawOnAxes | None:
        """From the scores; None where their covariance has no inverse."""
        law = gaussian.whole_law(scores.moments)
        return None if law is None else LawOnAxes(scores, law)

    def squared(self, x: Floats) -> Floats:
        """Squared distances (m,) of rows x (m, p)."""
        return self.law.squared(self.scores.of_rows(x))

    def left_out(self, x: Floats, weights: Floats | None) -> Floats:
        """Those of rows of the fit, each under the law of the others."""
        return self.law.left_out(self.scores.of_rows(x), weights)


@dataclass(frozen=True, slots=True)
class SubspaceCovariance(CovarianceModel):
    """A kind of covariance of the scores on leading principal axes of all rows.

    Attributes
    ----------
    inner : CovarianceModel
        That of the scores.
    wanted : int, float or str
        A number of axes, a share of the variance that they have at least, or how the number is to be chosen:
        "cv" or "loo".
    count : int, optional
        The number, where moments or a choice have said it; `total` is the number of all axes, and `share`
        what they have of the variance of all columns.
    takes_long : bool
        Whether learning axes without each row takes more than seconds, and they cannot be held.
    indicators : tuple of bool, length p, optional
        The columns that are indicators of levels, where the axes are those of multiple correspondence.
    tie : (int, int), optional
        First and last of the axes whose eigenvalues are equal, if the number separates them.
    """

    inner: CovarianceModel
    wanted: int | float | str
    standardized: bool = False
    count: int | None = None
    share: float = field(default=0.0, metadata=NOT_STORED)
    total: int = field(default=0, metadata=NOT_STORED)
    takes_long: bool = field(default=False, metadata=NOT_STORED)
    indicators: tuple[bool, ...] | None = None
    tie: tuple[int, int] | None = field(default=None, metadata=NOT_STORED)

    name = "projected"
    traits = CovarianceTraits(is_regular=True)
    is_supervised: ClassVar[bool] = False

    # ---- what was asked for

    @property
    def subspace(self) -> SubspaceCovariance:
        """The model itself."""
        return self

    @property
    def is_chosen(self) -> bool:
        """Whether the rows choose the number."""
        return isinstance(self.wanted, str)

    def unfitted(self) -> SubspaceCovariance:
        """As it was asked for."""
        return replace(self, inner=self.inner.unfitted(), count=None, share=0.0, total=0)

    def for_refit(self) -> SubspaceCovariance:
        """With the number that was given or chosen, or the share."""
        count = self.count if self.is_chosen else None
        return replace(self, inner=self.inner.for_refit(), count=count)

    def for_columns(self, keep: Codes) -> SubspaceCovariance:
        """Return the covariance model for some of the columns, with their positions (q,)."""
        if self.indicators is None:
            return self
        return replace(self, indicators=tuple(self.indicators[j] for j in keep.tolist()))

    def with_count(self, count: int) -> SubspaceCovariance:
        """With a number that was chosen."""
        return replace(self, count=count)

    @property
    def shrinkages(self) -> tuple[Shrinkage, ...]:
        """Those of the scores."""
        return self.inner.shrinkages

    def for_class(self, k: int | None) -> SubspaceCovariance:
        """The same of one class alone."""
        return replace(self, inner=self.inner.for_class(k))

    # ---- what it takes

    def check(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """All columns where none varies."""
        return all_constant(moments, k)

    @property
    def depends_on_units(self) -> bool:
        """Unless columns are standardized."""
        return not self.standardized

    @property
    def needs_rows(self) -> bool:
        """Whether the number is still to be chosen by rows."""
        return self.is_chosen and self.count is None

    # ---- estimates

    def spectrum(self, moments: ClassMoments) -> TotalAxes:
        """All principal axes of some moments."""
        return principal_axes(moments, standardize=self.standardized, indicators=self._levels)

    @property
    def _levels(self) -> Indicators | None:
        return None if self.indicators is None else Indicators.of(self.indicators)

    def number(self, spectrum: TotalAxes) -> int:
        """How many axes are taken of those that there are; a DataError where there are fewer."""
        there = len(spectrum.lengths)
        if self.count is not None or not isinstance(self.wanted, float):
            count = self.count if self.count is not None else int(self.wanted)
            if count > there:
                raise self.too_few(count, there)
            return count
        sums = np.cumsum(spectrum.lengths)
        return min(int((sums < self.wanted - ROUNDED).sum()) + 1, there)

    def too_few(self, wanted: int, there: int) -> NoEstimateError:
        """The error that there are fewer axes than are wanted."""
        return UnsuitableOptionError("fewer_axes_than_wanted", wanted=wanted, available=there)

    def few_degrees(self, wanted: int, free: int, k: int | None) -> NoEstimateError:
        """The error that so many scores have no covariance in class k, or within all of them."""
        return SingularEstimateError("singular_scores", class_positions=positions(k), wanted=wanted, df=free)

    def scores(self, moments: ClassMoments) -> Scores:
        """The change of coordinates that these moments say."""
        spectrum = self.spectrum(moments)
        return Scores.of(moments, spectrum, self.number(spectrum))

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """The covariances of the scores, as those of the columns; a NoEstimateError where there are none."""
        scores = self.scores(moments)
        moments = scores.spectrum.reach(moments)
        found = self.within(scores.moments, divisors)
        count = len(scores.axes)
        spectrum = scores.spectrum
        share = float(spectrum.lengths[:count].sum())
        total = len(spectrum.lengths)
        is_saturated = total >= moments.rows.sum() - 1
        takes_long = is_saturated and not self._is_quick(moments, total, QUICK, QUICK_PRODUCTS)
        own = replace(
            self, inner=found.covariance_model, count=count, share=share, total=total, takes_long=takes_long
        )
        own = replace(own, tie=spectrum.tied_axes(count))
        return CovarianceEstimates(own, moments, tuple(scores.lifted(c) for c in found.covariances))

    def within(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """The covariances of scores, from their moments."""
        for k, _ in each_covariance(divisors):
            inner = self.inner.for_class(k)
            p = moments.n_columns
            free = int(moments.rows.sum()) - moments.n_classes if k is None else int(moments.rows[k]) - 1
            if (inner.requires_full_rank(p) and free < p) or inner.check(moments, k):
                raise self.few_degrees(p, free, k)
        return self.inner.estimate(moments, divisors)

    def separated_axes(self) -> list[SeparatedAxes]:
        """Return the number of axes if it separates axes of equal eigenvalues."""
        return [] if self.count is None else [SeparatedAxes(None, self.count, self.tie, None)]

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Scores of rows under axes learnt without each of them; under held axes where that takes long.

        A NotSupportedError says that it does, and that there are more columns than rows.
        """
        spectrum = self.spectrum(fitted.moments)
        if self.learns_anew(fitted.moments, len(spectrum.lengths)):
            return partial(self._scores_anew, fitted, self.without(fitted.moments, spectrum))
        if fitted.moments.roots is not None and row_sums.is_thin(fitted.moments.spread):
            raise refuse_anew("Leave-one-out", fitted.moments)
        scores = Scores.of(fitted.moments, spectrum, self.number(spectrum))
        found = self.within(scores.moments, fitted.divisors)
        own = replace(fitted, moments=found.moments, covariances=found.covariances, rows=None)
        left_out = found.covariance_model.leave_one_out(own)
        unit = 0.0
        if len(found.covariances) > 1:
            unit = 0.5 * scores.more
        return lambda x, codes, weights: left_out(scores.of_rows(x), codes, weights) - unit

    def learns_anew(self, moments: ClassMoments, rank: int) -> bool:
        """Whether axes are learnt without each row, of moments that have so many axes."""
        rows = moments.rows.sum()
        limit = MOST_WIDE if rank >= rows - 1 else QUICK
        return rows <= FEW_ROWS and self._is_quick(moments, rank, limit, MOST_PRODUCTS)

    def _is_quick(self, moments: ClassMoments, rank: int, limit: float, product_limit: float) -> bool:
        """Whether decompositions without each row, and products for new units, stay within limits."""
        rows = float(moments.rows.sum())
        products = (
            rows * rank**2 * moments.n_columns
            if self.standardized and row_sums.is_thin(moments.spread)
            else 0.0
        )
        return rows * rank**3 <= limit and products <= product_limit

    def without(self, moments: ClassMoments, spectrum: TotalAxes) -> AxesWithout:
        """The moments without each row, of moments that have these axes."""
        return AxesWithout.of(moments, spectrum, standardize=self.standardized, indicators=self._levels)

    def _scores_anew(
        self, fitted: NormalClasses, without: AxesWithout, x: Floats, codes: Codes, weights: Floats | None
    ) -> Floats:
        """Scores (m, K) of rows x (m, p), each under axes learnt without it.

        They are missing without a rule, and if the differences of scatters lack digits.
        """
        kind = self.for_refit()
        found = np.full((len(x), len(fitted.log_prior)), np.nan)
        units = float(np.log(fitted.moments.scale).sum())
        for i, row in enumerate(without.rows(x, codes, weights)):
            if row is None:
                continue
            with suppress(NoEstimateError, np.linalg.LinAlgError):
                scores = row.scores(kind.number(row.spectrum))
                divisors = row.divisors(fitted.divisors)
                within = kind.within(scores.moments, divisors)
                y = scores.of_rows(row.y)
                if not row.has_digits(len(scores.axes), within.covariances, divisors):
                    continue
                values = row.settled(rule_of(within, fitted.log_prior).scores(y)[0])
                # Densities are in the units of those of the fit; of linear scores there is a distance.
                if len(within.covariances) > 1:
                    q = len(scores.axes)
                    gained = scores.spectrum.log_factor(q) + q * np.log(without.factor) - units
                else:
                    gained = _beyond_linear(within, values, fitted.log_prior, y)
                found[i] = values + gained
        return leave_lone_to_refits(found, fitted.moments.counts[codes], weights)

    @property
    def refits_each_row(self) -> bool:
        """Where the kind of the scores does, or axes are learnt without each of many rows."""
        return self.takes_long or self.inner.refits_each_row

    # ---- files

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Raise InvalidStateError if the scores have no covariance, or the axes are not of the columns."""
        self.inner.check_restored(n_covariances, n_columns)
        if not self.inner.traits.allows_subspace or self.count is None or self.count < 1:
            raise InvalidStateError("its number of components does not go with its structure")
        if self.indicators is not None and len(self.indicators) != n_columns:
            raise InvalidStateError("its indicators of levels are not of its columns")


QUICK = 2.0**28
"""Rows times the cube of their rank up to which learning axes without each row is a matter of seconds."""

MOST_WIDE = 2.0**31
"""And up to which it is done at all, of more columns than rows, whose axes cannot be held."""

FEW_ROWS = 1000
"""Rows up to which it is done."""


QUICK_PRODUCTS = 2.0**33
MOST_PRODUCTS = 2.0**38
"""Multiplications of products for new units that take about a second, and up to which they are done."""


def refuse_anew(what: str, moments: ClassMoments) -> NotSupportedError:
    """The error that refuses what learns axes without each row, where that takes long."""
    return CoreNotSupportedError("axes_without_each_row", what=what, n_rows=moments.rows.sum())


ACCURACY = 1e-9
"""Largest ratio of rounding errors to a variance that is a difference of scatters."""


@dataclass(frozen=True, slots=True, eq=False)
class AxesWithoutRow:
    """The moments without one row, in all axes of the fit, and the axes that they have.

    Attributes
    ----------
    y : (1, r) float
        The row.
    out : float
        The weight that is left out, and `code` its class.
    alone : bool
        Whether nothing of its class is left.
    noise : float
        Size of the rounding errors of the scatters, in the coordinates of the axes.
    """

    y: Floats
    code: int
    out: float
    alone: bool
    moments: ClassMoments
    spectrum: TotalAxes
    noise: float

    @property
    def rank(self) -> int:
        """Number of leading axes whose variances are large next to rounding errors."""
        return int((self.spectrum.lengths * ACCURACY >= self.noise).sum())

    def scores(self, count: int) -> Scores:
        """The change of coordinates to the first so many axes."""
        return Scores.of(self.moments, self.spectrum, count)

    def divisors(self, divisors: Floats) -> Floats:
        """Divisors (1,) or (K,) without the row."""
        less = divisors.copy()
        less[self.code if len(less) > 1 else 0] -= self.out
        return less

    def settled(self, scores: Floats) -> Floats:
        """Scores (..., K), minus infinity for a class of which nothing is left."""
        if self.alone:
            scores[..., self.code] = -np.inf
        return scores

    def has_digits(self, count: int, covariances: Sequence[Covariance], divisors: Floats) -> bool:
        """Whether rounding errors are small next to the variances on the first `count` axes."""
        return count <= self.rank and least_variation(covariances, divisors) * ACCURACY >= self.noise


def least_variation(covariances: Sequence[Covariance], divisors: Floats) -> float:
    """Lower bound of the eigenvalues of scatters, which are covariances (1,) or (K,) times divisors."""
    # The trace of an inverse is no smaller than its largest eigenvalue.
    return min(float(d / (c.inverse**2).sum()) for c, d in zip(covariances, divisors, strict=False))


@dataclass(frozen=True, slots=True, eq=False)
class AxesWithout:
    """The rows of a fit, in all of its axes where columns are more, and their moments without each of them.

    The rows are those of columns in their own units, or over their standard deviations, times the factor.

    Attributes
    ----------
    whole : Scores
        The change of coordinates to these axes, or to the columns.
    totals : ColumnTotals
        Of the columns.
    squares : (r,) float
        Sums of squares of the coordinates about their means over all rows.
    standardized : bool
        Whether the coordinates are columns that are still to be standardized.
    units : (p,) float, optional
        What the columns were divided by before they were projected on the axes.
    rank : int
        Number of axes that are left without any row; zero if each row has a direction of its own.
    """

    whole: Scores
    totals: ColumnTotals
    squares: Floats
    standardized: bool
    factor: float
    rank: int
    indicators: Indicators | None = None
    units: Floats | None = None

    @staticmethod
    def of(
        moments: ClassMoments, spectrum: TotalAxes, *, standardize: bool, indicators: Indicators | None
    ) -> AxesWithout:
        """From moments, and all axes that they have."""
        moments = comparable(moments)
        totals = ColumnTotals.from_moments(moments)
        rank = len(spectrum.lengths)
        is_saturated = rank >= moments.rows.sum() - 1
        if row_sums.is_thin(moments.spread):
            whole = Scores.of(moments, spectrum, rank)
            units = standard_units(totals.whole, indicators) if standardize else None
            parts = spectrum.lengths, False, spectrum.factor, 0 if is_saturated else rank
            return AxesWithout(whole, totals, *parts, indicators, units)
        columns = np.diag(moments.common_unit)
        own = on_axes(moments, columns)
        if indicators is not None:
            scale = moments.common_unit * moments.scale
            indicators = Indicators(indicators.which, moments.origin, scale)
        whole = Scores(spectrum, columns, moments.origin, moments.scale, own)
        factor = 1.0 if standardize else float(moments.scale.min())
        parts = total_squares(own), standardize, factor, 0 if is_saturated else rank
        return AxesWithout(whole, totals, *parts, indicators)

    def rows(self, x: Floats, codes: Codes, weights: Floats | None) -> Iterator[AxesWithoutRow | None]:
        """The moments without each of the rows x (m, p); None for a row that a refit has to leave out."""
        mass = np.ones(len(codes)) if weights is None else weights
        coordinates = self.whole.of_rows(x)
        deviations = from_class_means(self.totals.whole, x, 0).T
        parts = zip(coordinates, deviations, codes.tolist(), mass.tolist(), strict=True)
        for y, deviation, code, own in parts:
            totals = self.totals.without(deviation, min(own, 1.0))
            row = None if totals is None else self._without(y, code, own, totals)
            yield None if row is None or len(row.spectrum.lengths) < self.rank else row

    def _without(self, y: Floats, code: int, mass: float, totals: ClassMoments) -> AxesWithoutRow:
        """Without one row of a class, or one of its `mass` times; `totals` are those of the other rows."""
        left, out, alone = self._moments_without(y, code, mass)
        squares = self.squares
        if self.units is not None:
            axes = self.whole.spectrum.axes * (self.units / standard_units(totals, self.indicators))
            turn = np.asarray(np.linalg.cholesky(axes @ axes.T), dtype=np.float64)
            y = (y - left.origin) @ turn
            left = on_axes(left, turn.T)
            squares = squares @ turn**2
        spectrum = principal_axes(left, standardize=self.standardized, indicators=self.indicators)
        noise = EPS * float(squares @ spectrum.unit**2)
        return AxesWithoutRow(y[None], code, out, alone, left, spectrum, noise)

    def _moments_without(self, y: Floats, code: int, mass: float) -> tuple[ClassMoments, float, bool]:
        """Moments of the coordinates, the weight that is left out, and whether its class has no other row."""
        moments = self.whole.moments
        out = min(mass, 1.0)
        count = float(moments.counts[code])
        alone = count - out <= EPS * count
        counts = moments.counts.copy()
        rows = moments.rows.copy()
        means = moments.centres.copy()
        gap = y - means[code]
        rows[code] -= int(mass <= 1)
        counts[code] = 0.0 if alone else count - out
        means[code] = 0.0 if alone else means[code] - out / (count - out) * gap
        scatters = moments.scatters.copy()
        if not alone:
            own = code if len(scatters) > 1 else 0
            scatters[own] -= out * count / (count - out) * np.outer(gap, gap)
        left = replace(moments, counts=counts, rows=rows, centres=means, scatters=scatters, roots=None)
        return left, out, alone


def rule_of(found: CovarianceEstimates, log_prior: Floats) -> Rule:
    """The rule of covariances, one or one for each class."""
    if len(found.covariances) == 1:
        return gaussian.linear_rule(found.moments, found.covariances[0], log_prior)
    return gaussian.separate_plugin(found.moments, found.covariances, log_prior)


def _beyond_linear(found: CovarianceEstimates, values: Floats, log_prior: Floats, y: Floats) -> float:
    """What linear scores (K,) of a row y (1, q) lack of the log prior less half its squared distances."""
    k = int(np.argmax(values))
    if not np.isfinite(values[k]):
        return 0.0
    distances = gaussian.distances(found.moments, found.covariances).squared(y)
    return float(log_prior[k] - 0.5 * distances[k, 0] - values[k])


def scores_by_number(
    kind: SubspaceCovariance,
    moments: ClassMoments,
    divisors: Floats,
    log_prior: Floats,
    y: Floats,
    numbers: Codes,
    noise: float = 0.0,
) -> Floats:
    """Scores (G, m, K) of rows by each number (G,) of axes, from their scores y (m, q) on the most of these.

    The moments are those of scores, their scatters known up to rounding errors of size `noise`. Where a
    number has no covariance that is clearly larger than these, scores are missing.
    """
    found = np.full((len(numbers), len(y), len(log_prior)), np.nan)
    if kind.inner.traits.is_full:
        return _nested(moments, divisors, log_prior, y, numbers, noise)
    for i, count in enumerate(numbers.tolist()):
        with suppress(NoEstimateError, np.linalg.LinAlgError):
            part = kind.within(moments.columns(np.arange(count)), divisors)
            if least_variation(part.covariances, divisors) * ACCURACY >= noise:
                found[i] = rule_of(part, log_prior).scores(y[:, :count])
    return found


def _nested(
    moments: ClassMoments, divisors: Floats, log_prior: Floats, y: Floats, numbers: Codes, noise: float
) -> Floats:
    """Scores (G, m, K) by full covariances, all numbers of axes by running sums."""
    found = np.full((len(numbers), len(y), len(log_prior)), np.nan)
    by_class = len(divisors) > 1
    whole = moments if by_class else moments.pooled()
    means = moments.class_means
    roots = [_leading_root(whole, k if by_class else 0, noise) for k in range(len(divisors))]
    there = numbers[numbers <= min(map(len, roots))]
    if not len(there):
        return found
    most = int(there[-1])
    whitened: Floats = np.empty(0)
    for k, log_share in enumerate(log_prior.tolist()):
        root = roots[k if by_class else 0][:most, :most] / np.sqrt(divisors[k if by_class else 0])
        if by_class or not k:
            # Once for all classes that share it.
            whitened = solved((y - means[k])[:, :most], root)
        steps = solved((means[k] - means[k if by_class else 0])[None, :most], root)
        squares = np.cumsum((whitened - steps) ** 2, axis=1)[:, there - 1]
        if by_class:
            squares += 2.0 * np.cumsum(np.log(np.abs(np.diagonal(root))))[there - 1]
        found[: len(there), :, k] = log_share - 0.5 * squares.T
    return found


def solved(rows: Floats, root: Floats) -> Floats:
    """Rows (m, q) times the inverse of an upper triangular root (q, q)."""
    return np.asarray(scipy.linalg.blas.dtrsm(1.0, root, rows, side=1))


def _leading_root(moments: ClassMoments, k: int, noise: float) -> Floats:
    """The triangular root (r, r) of the largest leading block of a scatter that has one.

    No square on its diagonal is small next to rounding errors of size `noise`.
    """
    if moments.roots is not None:
        root = moments.roots[k]
        lengths = np.sqrt((root**2).sum(axis=0))
        lost = np.abs(np.diagonal(root)) <= EPS * len(root) * lengths
        most = int(np.argmax(lost)) if lost.any() else len(root)
    else:
        sd = np.sqrt(np.diagonal(moments.scatters[k]))
        unit = np.where(sd > 0, sd, 1.0)
        root, failed = scipy.linalg.lapack.dpotrf(moments.scatters[k] / unit / unit[:, None], clean=1)
        root, most = root * unit, failed - 1 if failed > 0 else len(root)
    lost = np.diagonal(root)[:most] ** 2 * ACCURACY < noise
    most = int(np.argmax(lost)) if lost.any() else most
    return np.asarray(root[:most, :most])


def missed_by_number(scores: Floats, codes: Codes, weights: Floats | None) -> Floats:
    """Rows, or sums of weights, (G, K) of each class that scores (G, m, K) give to another one."""
    k = scores.shape[2]
    lost = np.asarray(np.isnan(scores).any(axis=2))
    wrong = np.where(lost, np.nan, np.where(lost[..., None], 0.0, scores).argmax(axis=2) != codes)
    times = wrong if weights is None else wrong * weights
    return np.stack([times[:, codes == each].sum(axis=1) for each in range(k)], axis=1)


def numbers_tried(most: int) -> Codes:
    """Numbers of axes that are tried one by one, where each takes a fit: all to 20, then a tenth more.

    Examples
    --------
    >>> numbers_tried(30).tolist()[-6:]
    [20, 22, 24, 26, 28, 30]
    """
    found = list(range(1, min(most, 20) + 1))
    while found[-1] < most:
        found.append(min(found[-1] + found[-1] // 10, most))
    return np.array(found)
