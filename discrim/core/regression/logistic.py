"""The numbers of a logistic regression, and the pure function that fits them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from discrim.core.covariance.covariance import Covariance, pooled
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.file_numbers import are_whole
from discrim.core.numerics.singular_values import svd
from discrim.core.regression.bias_reduction import maximize_penalized
from discrim.core.regression.logistic_start import class_odds, start_of
from discrim.core.regression.newton import NOTHING, Frame, Newton, Swept, maximize, sweep
from discrim.core.regression.sandwich import Sandwich
from discrim.core.rules.rules import LinearRule
from discrim.errors import DataError, NotSupportedError

__all__ = ["PENALIZED_STEPS", "Even", "LogisticFit", "fit_from_search", "fit_logistic", "frame_of"]

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
"""Distance to the maximum, in standard errors, after which one step more is the last."""

MOST_STEPS = 50
"""Steps of Newton's method, unless it is told otherwise."""

PENALIZED_STEPS = 20
"""Steps of a penalized search in units of those of another, which are faster."""

PENALIZED_TOLERANCE = 1e-4
"""Share of the tolerance to which a penalized search goes, since its last step does not square the rest."""

NEAR_SUPREMUM = 1e-3
"""That of separated classes, whose slopes would else grow until rounding has all of the information."""

SINGULAR = 1e-7
"""Share of the information at the class proportions below which Newton's method hints at a separation."""

TABLE, PIECE = 40, (2**14, 2**18)
"""Part of a large table that is worked on at once, and fewest and most numbers: what the cache holds."""

FEWEST = 256
"""Rows worked on at once where there are more: a product of fewer costs what writing its result does."""

WORTH = 2.0**24
"""Products in the information beyond which passes without it are worth their while."""

WEAK = 30.0
"""Condition number of the correlations up to which columns need not be orthogonalised to keep digits."""


class Even(NamedTuple):
    """The rows of a fit as if each had the weight one, and how many each class has, (K,)."""

    rows: RowBlocks
    counts: Floats


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """The numbers of a logistic regression.

    Attributes
    ----------
    moments : ClassMoments
        Pooled: means of the classes, and the scatter that orthogonalised the columns.
    counts : (K,) float
        Of the rows of the fit.
    prior : (K,) float
    estimated_prior : bool
    reference : int
    frame : Frame
    newton : Newton
        Where the search ended.
    bias_reduction : bool
        Whether the likelihood was penalized.
    robust : Sandwich, optional
        A covariance of the estimates in the place of the inverse information.
    """

    moments: ClassMoments
    counts: Floats
    prior: Floats
    estimated_prior: bool
    reference: int
    frame: Frame
    newton: Newton
    bias_reduction: bool = False
    robust: Sandwich | None = None

    has_distances = False

    @property
    def others(self) -> list[int]:
        """The classes that have coefficients."""
        return [k for k in range(self.moments.n_classes) if k != self.reference]

    def params(self) -> Floats:
        """Coefficients (p + 1, K - 1) in the units of the data, the constants first."""
        return np.asarray(self.frame.to_data() @ self.newton.coef)

    def root(self) -> Floats:
        """A root H (r, r) of the covariance H'H of the coefficients of the data, r = q (p + 1)."""
        p1, q = self.newton.coef.shape
        half = self.root_in_frame()
        # Class by class, as the same matrix takes each one's coefficients to those of the data.
        return np.asarray((half.reshape(q * p1 * q, p1) @ self.frame.to_data().T).reshape(q * p1, q * p1))

    def root_in_frame(self) -> Floats:
        """That of the coefficients in the frame; missing where the information has no inverse."""
        if self.robust is not None:
            return self.robust.root.copy()
        try:
            factor = cholesky(self.newton.information, lower=True)
        except LinAlgError:
            # Where classes are separated the search may end with an information that rounding has singular.
            return np.full_like(self.newton.information, np.nan)
        return np.asarray(solve_triangular(factor, np.eye(len(factor)), lower=True, overwrite_b=True))

    def standard_errors(self) -> Floats:
        """Standard errors (p + 1, K - 1) in the units of the data, whose squares may be no doubles."""
        half = self.root()
        largest = np.abs(half).max(axis=0)
        half /= largest
        lengths = largest * np.sqrt(np.einsum("ij,ij->j", half, half))
        return np.asarray(lengths.reshape(self.newton.coef.shape[::-1]).T)

    def cov_params(self, unit: Floats | None = None) -> Floats:
        """Inverse information of the coefficients, class by class, for columns over a unit (p,), if given."""
        half = self.root()
        if unit is not None:
            half *= np.tile(np.insert(unit, 0, 1.0), len(self.others))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return np.asarray(half.T @ half)

    def score_covariances(self) -> Callable[[Floats], tuple[Floats, Callable[[Floats], Floats]]]:
        """From rows x (m, p) to variances (m, K) of their scores, and products (m, K) of their covariances.

        The score of the reference is zero. What is held of m rows is m K (p + 1) numbers: with z a row in the
        frame and C_ab the covariance of the coefficients of two classes, the covariances times v are z'u_a, u
        that of all coefficients times v and z multiplied out.

        Under a given prior the scores move by its log odds against the rows' own, whose chance is then no
        part of them: the constants have less variance than the information says by that of the log shares,
        1/n_0 + [a = b]/n_a (Prentice & Pyke, 1979, Biometrika 66, 403-411).
        """
        p1, q = self.newton.coef.shape
        half = self.root_in_frame()
        inverse = half.T @ half
        blocks = inverse.reshape(q, p1, q, p1)
        if np.isfinite(half).all():
            blocks[:, 0, :, 0] += self.constants_known()
        others, k = self.others, self.moments.n_classes

        def of_rows(x: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
            columns = self.frame.columns(x)
            own = np.zeros((len(x), k))
            for a, place in enumerate(others):
                own[:, place] = ((blocks[a, :, a] @ columns) * columns).sum(axis=0)

            def times(v: Floats) -> Floats:
                spread = (v[:, others].T[:, None, :] * columns).reshape(q * p1, len(x))
                out = np.zeros((len(x), k))
                out[:, others] = ((inverse @ spread).reshape(q, p1, len(x)) * columns).sum(axis=1).T
                return out

            return own, times

        return of_rows

    def constants_known(self) -> Floats:
        """What the covariance (q, q) of the constants changes by where the prior is given; else nothing."""
        p1, q = self.newton.coef.shape
        # Of a robust covariance it is not known what sampling by class takes away.
        if self.estimated_prior or self.robust is not None:
            return np.zeros((q, q))
        constants = self.newton.information.reshape(q, p1, q, p1)[:, 0, :, 0]
        own = np.linalg.inv(constants)
        counts = self.counts[self.others]
        left = own - np.diag(1 / counts) - 1 / self.counts[self.reference]
        # No less than nothing is left at the maximum of the likelihood; a penalty may ask for a little less.
        values, vectors = np.linalg.eigh(left)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T - own)

    def against(self, reference: int) -> LogisticFit:
        """The same fit with its coefficients against another class."""
        if reference == self.reference:
            return self
        p1, k = len(self.newton.coef), self.moments.n_classes
        whole = np.insert(self.newton.coef, self.reference, 0.0, axis=1)
        # Rows of the identity less that of the new reference: what each coefficient was in the old ones.
        turn = np.delete(np.eye(k) - np.eye(k)[reference], reference, axis=0)
        back = np.linalg.inv(np.delete(turn, self.reference, axis=1))
        held = self.newton.information.reshape(k - 1, p1, k - 1, p1)
        information = np.einsum("ka,kilj,lb->aibj", back, held, back).reshape(self.newton.information.shape)
        coef = np.delete(whole - whole[:, [reference]], reference, axis=1)
        newton = replace(self.newton, coef=coef, information=information)
        robust = self.robust
        if robust is not None:
            root = robust.root.reshape(-1, k - 1, p1)
            root = np.einsum("iap,ba->ibp", root, np.linalg.inv(back)).reshape(robust.root.shape)
            robust = replace(robust, root=root)
        return replace(self, reference=reference, newton=newton, robust=robust)

    def llf(self) -> float:
        """Log-likelihood of the classes given the rows."""
        return self.newton.llf

    def llnull(self) -> float:
        """Log-likelihood of the class proportions alone."""
        return float(self.counts @ np.log(self.counts / self.counts.sum()))

    def df_model(self) -> int:
        """Free parameters: a constant and a slope a column, for each class but the reference."""
        return int(self.newton.coef.size)

    def refit(self, blocks: RowBlocks, counts: Floats, singular: float = SINGULAR) -> LogisticFit | None:
        """The same model of other weights, from where this one ended; None where it has no maximum.

        A penalized likelihood may have several maxima, and the search begins where that of a new fit does, so
        that it ends at the same one. The frame stays that of all rows, whose columns are close to orthonormal
        over part of them too.
        """
        if not (counts > 0).all():
            return None
        begun = self
        if self.bias_reduction:
            start = class_odds(counts, self.reference, len(self.newton.coef))
            begun = replace(self, newton=replace(self.newton, coef=start))
        found = begun._from_here(blocks, counts, MOST_STEPS, TOLERANCE, singular)
        return replace(self, counts=counts, newton=found, robust=None) if found.converged else None

    def of_columns(self, moments: ClassMoments) -> LogisticFit:
        """The fit of other columns before its first step, at the class proportions."""
        start = class_odds(moments.counts, self.reference, moments.n_columns + 1)
        newton = replace(self.newton, coef=start, steps=0, converged=False)
        return replace(self, moments=moments, counts=moments.counts, frame=frame_of(moments), newton=newton)

    def resume(
        self, blocks: RowBlocks, tol: float, maxiter: int, *, overlap: bool, even: Even | None = None
    ) -> LogisticFit:
        """The search goes on from where it ended, whatever the information.

        Where classes do not overlap it ends near the supremum, and counts as not converged. Where rounding
        loses its way it goes on from the maximum of even weights, if these are given.
        """
        tol = tol if overlap else max(tol, NEAR_SUPREMUM)
        found = self._from_here(blocks, self.counts, maxiter - self.newton.steps, tol, 0.0)
        if not found.converged and even is not None:
            begun = self._begun_evenly(blocks, even, maxiter, replace(self, newton=found))
            found = begun._from_here(blocks, self.counts, maxiter, tol, 0.0)
        steps = found.steps + self.newton.steps
        return replace(self, newton=replace(found, steps=steps, converged=found.converged and overlap))

    def _begun_evenly(self, blocks: RowBlocks, even: Even, maxiter: int, other: LogisticFit) -> LogisticFit:
        """The fit of even weights where it is likelier than another.

        Beside heavy rows light ones drown in rounding, and what separates rows does so by any weights.
        """
        start = class_odds(even.counts, self.reference, len(self.newton.coef))
        begun = replace(self, newton=replace(self.newton, coef=start))
        newton = begun._from_here(even.rows, even.counts, maxiter, NEAR_SUPREMUM, 0.0)
        likelier = sweep(blocks, self.frame, newton.coef, self.reference).llf > other.newton.llf
        return replace(self, newton=newton) if likelier else other

    def _from_here(
        self, blocks: RowBlocks, counts: Floats, maxiter: int, tol: float, singular: float
    ) -> Newton:
        held = self.frame, self.newton.coef, self.reference, counts, tol, maxiter
        rows, penalized = int(self.moments.rows.sum()), self.bias_reduction
        return _search(blocks, *held, rows=rows, penalized=penalized, singular=singular)

    def search(self) -> dict[str, Floats]:
        """Where the search ended: coefficients, information, and (llf, decrement, steps)."""
        ended = self.newton
        if not ended.converged:
            raise NotSupportedError("A fit of separated classes has no estimates that could be saved.")
        course = np.array([ended.llf, ended.decrement, ended.steps], dtype=np.float64)
        robust = {} if self.robust is None else self.robust.to_buffers()
        return {"coef": ended.coef, "information": ended.information, "course": course} | robust

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """The decision rule under a prior (K,): the constants move by its log odds against the rows' own."""
        k = self.moments.n_classes
        coef, intercept = np.zeros((len(self.frame.scale), k)), np.zeros(k)
        slopes = self.frame.covariance.unwhiten(self.newton.coef[1:])
        coef[:, self.others] = slopes
        intercept[self.others] = self.newton.coef[0] - self.frame.rest @ slopes
        shift = log_prior - np.log(self.counts / self.counts.sum())
        return LinearRule(self.frame.centre, self.frame.scale, coef, intercept + shift)


def frame_of(moments: ClassMoments) -> Frame:
    """Coordinates in which the columns have unit variance over all rows and are close to orthogonal."""
    whole = moments.as_one()
    covariance = pooled(whole, whole.total)
    spread = svd(covariance.root / covariance.sd, compute_uv=False)
    if spread[0] <= np.sqrt(WEAK) * spread[-1]:
        covariance = Covariance.from_root(covariance.sd)
    rows, p1, q = int(whole.rows[0]), moments.n_columns + 1, moments.n_classes - 1
    # What a sweep holds of a row: its columns and some of their pairs, numbers of classes and of their pairs.
    width = 2 * p1 if q == 1 else 3 * p1 + min(q * (q + 1) // 2, q * p1) + 5 * q
    piece = max(int(np.clip(rows * p1 // TABLE, *PIECE)) // width, min(rows, FEWEST), 1)
    # No row's square exceeds the sum of all, whose eigenvalues are those of the correlations.
    longest = WEAK * float(whole.counts[0])
    return Frame(whole.centres[0], whole.rests[0], whole.scale, covariance, piece, longest)


def fit_logistic(
    blocks: RowBlocks,
    moments: ClassMoments,
    prior: Floats,
    *,
    reference: int,
    estimated_prior: bool,
    tol: float,
    maxiter: int,
    bias_reduction: bool = False,
) -> LogisticFit:
    """Maximum likelihood, penalized where asked for.

    Where the search begins says `discrim.core.regression.logistic_start`.

    Parameters
    ----------
    blocks : re-iterable of (x (m, p), codes (m,), weights (m,) or None)
    moments : ClassMoments
        Of the same rows, pooled, no column constant or collinear.
    prior : (K,) float
    reference : int
        Class without coefficients.
    estimated_prior : bool
    tol : float
        Distance to the maximum, in standard errors, after which one step more is the last.
    maxiter : int
    bias_reduction : bool
    """
    frame, counts = frame_of(moments), moments.counts
    start, first = class_odds(counts, reference, moments.n_columns + 1), None
    if not bias_reduction:
        start, first = start_of(blocks, moments, frame, reference, _floor(counts, reference, SINGULAR))
    held, rows = (frame, start, reference, counts, tol, maxiter), int(moments.rows.sum())
    found = _search(blocks, *held, rows=rows, penalized=bias_reduction, first=first)
    return LogisticFit(moments, counts, prior, estimated_prior, reference, frame, found, bias_reduction)


def _search(
    blocks: RowBlocks,
    frame: Frame,
    start: Floats,
    reference: int,
    counts: Floats,
    tol: float,
    maxiter: int,
    *,
    rows: int,
    penalized: bool,
    singular: float = SINGULAR,
    first: Swept | None = None,
) -> Newton:
    # The rounding of a score of weight W is eps W, in standard errors eps sqrt(W): no search gets closer.
    least = max(NOTHING, 8 * np.finfo(np.float64).eps * float(np.sqrt(counts.sum())))
    if penalized:
        # The last step does not square what is left, and there are more of them.
        tol = max(tol * PENALIZED_TOLERANCE, least)
        return maximize_penalized(blocks, frame, start, reference, tol=tol, maxiter=PENALIZED_STEPS * maxiter)
    tol = max(tol, least)
    floor = _floor(counts, reference, singular)
    short = _short_passes(start.size, rows) if singular else 0.0
    return maximize(
        blocks, frame, start, reference, tol=tol, maxiter=maxiter, floor=floor, first=first, short=short
    )


def _short_passes(coefficients: int, rows: int) -> float:
    """Passes without the information that cost what one with it does; zero where that saves too little."""
    # Of few rows what is done once a pass costs more than its products.
    return 1 + coefficients / 20 if rows * coefficients**2 >= WORTH else 0.0


def _floor(counts: Floats, reference: int, singular: float) -> Floats:
    """A share of what a column of unit variance tells (K - 1, K - 1) of the classes where it has no slope."""
    others = np.delete(counts, reference)
    return np.asarray(singular * (np.diag(others) - np.outer(others, others) / counts.sum()))


def fit_from_search(
    moments: ClassMoments,
    prior: Floats,
    *,
    reference: int,
    estimated_prior: bool,
    bias_reduction: bool,
    coef: Floats,
    information: Floats,
    course: Floats,
    sandwich: Floats | None = None,
    sandwich_course: Floats | None = None,
) -> LogisticFit:
    """A fit from where its search ended, as `LogisticFit.search` gives it.

    Raises
    ------
    DataError
        The information has no inverse, or the course of the search or of a robust covariance is none.
    """
    llf, decrement, steps = course.tolist()
    if not are_whole(steps):
        raise DataError("its search has no number of steps")
    diagonal = np.diagonal(information)
    if not (diagonal > 0).all():
        raise DataError("its information is not positive definite")
    unit = np.sqrt(diagonal)
    correlation = information / unit / unit[:, None]
    alike = (np.abs(correlation - correlation.T) <= 1e-6).all()
    if not (alike and np.linalg.eigvalsh(correlation)[0] > 0):
        raise DataError("its information is not positive definite")
    ended = Newton(coef, information, llf, decrement, int(steps), True)
    frame = frame_of(moments)
    robust = Sandwich.from_buffers(sandwich, sandwich_course)
    return LogisticFit(
        moments, moments.counts, prior, estimated_prior, reference, frame, ended, bias_reduction, robust
    )
