"""Multinomial logistic regression: estimates, robust covariances and the function that fits them.

`fit_logistic` maximizes the likelihood, or the likelihood with Firth's penalty, whose maximum always exists
(`regression.newton`), and returns a `LogisticFit`. The verb `logistic` and its results use it.

*Starting values* are the log odds of linear discriminant analysis, which are correct for normal classes and
close for nearly normal ones. If there are many rows, a subsample improves them: the distance between its
maximum and the maximum of all rows is about the root of the number of coefficients, in standard errors of the
subsample. One step with the score of all rows and the information of the subsample removes most of it.

*Robust covariances* of the estimates are valid even if the variance of the model or the independence of the
rows is not. At the estimates the scores s_i = (y_i - p_i) x z_i of the rows have the sum of squares M = sum w
s s', or, for groups of dependent rows, M = sum_g (sum_i in g w s)(...)'. The covariance is H^-1 M H^-1
(Huber, 1967; White, 1982, Econometrica 50, 1-25; for groups Liang & Zeger, 1986, Biometrika 73, 13-22), times
a factor for small samples. A weight counts equal rows, and their scores are added one by one. With H = L L',
a root of L^-1 M L^-T is stored: it is close to the identity if the model is correct, which preserves the
accuracy of its eigenvalues, and it has as many rows as there are coefficients even for few groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular

from discrim.core.covariance.covariance import EPS, Covariance, pooled
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlock, RowBlocks
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats, slices, svd
from discrim.core.numerics.map_reduce import is_local
from discrim.core.regression import newton
from discrim.core.regression.newton import BlockLikelihood, Newton, NewtonFrame, Swept
from discrim.core.rules.rules import LinearRule

PART = 16
"""One of `PART` rows is in the subsample."""

TOGETHER = 128
"""Number of rows of the subsample that are processed at once."""

ROWS_A_COEFFICIENT = 10
"""Minimum number of rows of the subsample per coefficient; with fewer its maximum is too far from the full
one.
"""

UNEVEN = 2.0
"""Largest ratio of the weight of a class in the subsample to its expected weight, or inverse."""

PART_STEPS = 8
"""Maximum number of steps on the subsample. It starts close enough to need three or four."""


def class_odds(counts: Floats, reference: int, p1: int) -> Floats:
    """Coefficients of the model without slopes, whose probabilities are the class proportions.

    Parameters
    ----------
    counts : (K,) float
        Counts of the classes.
    reference : int
        Code of the reference class.
    p1 : int
        Number of columns including the intercept, p + 1.

    Returns
    -------
    (p + 1, K - 1) float
    """
    odds = np.zeros((p1, len(counts) - 1))
    odds[0] = np.log(np.delete(counts, reference) / counts[reference])
    return odds


def start_of(
    likelihood: BlockLikelihood, moments: ClassMoments, floor: Floats
) -> tuple[Floats, Swept | None]:
    """Choose starting coefficients.

    The first of these that is more likely than the class proportions and whose information exceeds the floor:
    a fit to a subsample, linear discriminant analysis. Otherwise the class proportions.

    Parameters
    ----------
    likelihood : BlockLikelihood
    moments : ClassMoments
    floor : (K - 1, K - 1) float
        See `newton.maximize`.

    Returns
    -------
    coef : (p + 1, K - 1) float
    swept : Swept or None
        The sweep at `coef` if it was computed.
    """
    counts = moments.counts
    reference = likelihood.reference
    guess = _discriminant(moments, likelihood.frame, reference)
    if np.isfinite(guess).all():
        least = float(counts @ np.log(counts / counts.sum()))
        start = _of_part(likelihood, moments, guess, least)
        for coef in (guess,) if start is None else (start, guess):
            swept = likelihood.sweep(coef)
            if swept.llf > least and newton.informs(swept.information, floor):
                return coef, swept
    return class_odds(counts, reference, moments.n_columns + 1), None


def _discriminant(moments: ClassMoments, frame: NewtonFrame, reference: int) -> Floats:
    """Log odds of linear discriminant analysis in the frame.

    Parameters
    ----------
    moments : ClassMoments
    frame : NewtonFrame
    reference : int
        Code of the reference class.

    Returns
    -------
    (p + 1, K - 1) float
        NaN if the pooled covariance is singular.
    """
    try:
        within = pooled(moments, moments.total)
    except LinAlgError:
        return np.full((moments.n_columns + 1, moments.n_classes - 1), np.nan)
    means = (moments.means_from(frame.centre) - frame.mean).T
    whitened = within.whiten(means)
    slopes = within.unwhiten(whitened)
    root = frame.covariance.root
    scores = np.empty((moments.n_columns + 1, moments.n_classes))
    scores[0] = np.log(moments.counts) - 0.5 * (whitened**2).sum(axis=0)
    scores[1:] = root[:, None] * slopes if frame.covariance.is_diagonal else root @ slopes
    return np.delete(scores - scores[:, [reference]], reference, axis=1)


def _of_part(
    likelihood: BlockLikelihood, moments: ClassMoments, guess: Floats, least: float
) -> Floats | None:
    """Take a step with the score of all rows from the maximum for a subsample.

    Parameters
    ----------
    likelihood : BlockLikelihood
    moments : ClassMoments
    guess : (p + 1, K - 1) float
        Starting coefficients for the subsample.
    least : float
        Log-likelihood that the coefficients have to exceed.

    Returns
    -------
    (p + 1, K - 1) float or None
        None if there are too few rows, the rows are on workers, a class is over- or underrepresented in the
        subsample, or its maximum is not found or not likely enough.
    """
    rows = int(moments.rows.sum())
    # Reading a subsample of rows on workers takes as long as reading all of them.
    if not is_local(likelihood.blocks) or rows < PART * ROWS_A_COEFFICIENT * guess.size:
        return None
    part = _Part(likelihood.blocks, rows)
    counts = np.zeros(moments.n_classes)
    for _, codes, weights in part:
        counts += np.bincount(codes, weights, len(counts))
    share = PART * counts / moments.counts
    if not ((share >= 1 / UNEVEN) & (share <= UNEVEN)).all():
        return None
    known = np.zeros((guess.shape[1], guess.shape[1]))
    # The maximum for the subsample is about as far from the full maximum; more precision is useless.
    near = np.sqrt(guess.size) / 2
    likelihood_of_part = replace(likelihood, blocks=part)
    of_part = newton.maximize(likelihood_of_part, guess, tol=near, maxiter=PART_STEPS, floor=known)
    if not of_part.converged:
        return None
    llf, score = likelihood.gradient(of_part.coef)
    if not llf > least:
        return None
    try:
        step = cho_solve(cho_factor(of_part.information), score.T.ravel())
    except LinAlgError:
        return None
    step *= counts.sum() / moments.counts.sum()
    return np.asarray(of_part.coef + step.reshape(score.T.shape).T)


class _Part(RowBlocks):
    """Subsample of one row of each `PART` successive rows, drawn at random to be robust to periodic order.

    Parameters
    ----------
    blocks : RowBlocks
    rows : int
        Number of all rows.
    """

    def __init__(self, blocks: RowBlocks, rows: int) -> None:
        size = rows // PART
        self._blocks = blocks
        self._drawn = np.arange(size) * PART + np.random.default_rng(0).integers(0, PART, size)

    def __iter__(self) -> Iterator[RowBlock]:
        first = 0
        waiting = list[RowBlock]()
        for x, codes, weights in self._blocks:
            low, high = np.searchsorted(self._drawn, (first, first + len(x)))
            some = self._drawn[low:high] - first
            waiting.append((x[some], codes[some], None if weights is None else weights[some]))
            first += len(x)
            if sum(len(rows) for _, rows, _ in waiting) >= TOGETHER:
                together = _one_block(waiting)
                waiting.clear()
                yield together
        if waiting:
            yield _one_block(waiting)


def _one_block(blocks: list[RowBlock]) -> RowBlock:
    """Concatenate blocks of rows."""
    weights = [some for _, _, some in blocks if some is not None]
    x, codes = (np.concatenate([block[i] for block in blocks]) for i in range(2))
    return x, codes, np.concatenate(weights) if weights else None


KINDS = ("HC0", "HC1", "cluster")

SANDWICH_PIECE = 2**18
"""Maximum number of elements of the scores that are processed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Sandwich:
    """A robust covariance of the estimates.

    Attributes
    ----------
    kind : {"HC0", "HC1", "cluster"}
    root : (r, r) float
        Root in the coordinates of the frame: root'root is the covariance of the coefficients by class.
    factor : float
        Small-sample factor by which the sum of squares was multiplied.
    groups, grouped_by : int, str
        Number of groups of rows, 0 if there are none, and the name of the grouping; the name is empty for a
        loaded fit.
    rank : int
        Rank of the covariance. With few groups it is less than the number of coefficients.
    """

    kind: str
    root: Floats
    factor: float
    groups: int
    rank: int
    grouped_by: str = field(default="", metadata=NOT_STORED)

    def validate(self) -> None:
        """Raise InvalidStateError if parts of a file contradict each other."""
        known = self.kind in KINDS and self.factor > 0 and self.groups >= 0
        if not (known and 0 <= self.rank <= len(self.root)):
            raise InvalidStateError("its robust covariance is not described")


def scores_of(frame: NewtonFrame, coef: Floats, reference: int, x: Floats, codes: Codes) -> Floats:
    """Scores of rows of weight one.

    Parameters
    ----------
    frame : NewtonFrame
    coef : (p + 1, q) float
    reference : int
        Code of the reference class.
    x : (m, p) float
    codes : (m,) int

    Returns
    -------
    (q (p + 1), m) float
        Ordered by class.
    """
    z = frame.columns(x)
    misses = -newton.log_probabilities(coef.T @ z, reference)[1]
    modelled = np.flatnonzero(codes != reference)
    line = codes[modelled]
    misses[line - (line > reference), modelled] += 1.0
    return np.asarray((misses[:, None, :] * z).reshape(-1, len(x)))


def score_squares(blocks: RowBlocks, frame: NewtonFrame, coef: Floats, reference: int) -> Floats:
    """Sum over rows of weight times the outer product of the score.

    Parameters
    ----------
    blocks : RowBlocks
    frame : NewtonFrame
    coef : (p + 1, q) float
    reference : int
        Code of the reference class.

    Returns
    -------
    (r, r) float
        With r = q (p + 1), ordered by class.
    """
    likelihood = BlockLikelihood(blocks, frame, reference)
    return likelihood.map_reduce(_squares, np.add, coef=coef, reference=reference)


def _squares(blocks: RowBlocks, frame: NewtonFrame, coef: Floats, reference: int) -> Floats:
    """Sum (r, r) of weighted outer products of the scores for some rows; parameters as in `score_squares`.

    Parameters
    ----------
    blocks : RowBlocks
    frame : NewtonFrame
    coef : (p + 1, q) float
    reference : int
    """
    total = np.zeros((coef.size, coef.size))
    piece = max(SANDWICH_PIECE // coef.size, 16)
    for x, codes, weights in blocks:
        for at in slices(len(x), piece):
            scores = scores_of(frame, coef, reference, x[at], codes[at])
            if weights is not None:
                scores *= np.sqrt(weights[at])
            total += scores @ scores.T
    return total


def group_scores(
    sums: Floats,
    frame: NewtonFrame,
    coef: Floats,
    reference: int,
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    groups: Codes,
) -> None:
    """Add the scores of a block of rows to the sums of their groups, in place.

    Parameters
    ----------
    sums : (G, r) float
        Sums of scores by group; updated.
    frame : NewtonFrame
    coef : (p + 1, q) float
    reference : int
        Code of the reference class.
    x : (m, p) float
    codes : (m,) int
    weights : (m,) float or None
    groups : (m,) int
        Group of each row.
    """
    piece = max(SANDWICH_PIECE // coef.size, 16)
    for at in slices(len(x), piece):
        scores = scores_of(frame, coef, reference, x[at], codes[at])
        if weights is not None:
            scores *= weights[at]
        order = np.argsort(groups[at], kind="stable")
        group = groups[at][order]
        first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
        sums[group[first]] += np.add.reduceat(scores[:, order], first, axis=1).T


def root_of_scores(information: Floats, squares: Floats) -> tuple[Floats, int]:
    """Root (r, r) of the sandwich covariance H^-1 M H^-1, and its rank."""
    lower = cholesky(information, lower=True)
    inner = solve_triangular(lower, solve_triangular(lower, squares, lower=True).T, lower=True)
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    least = len(values) * EPS * max(float(values[-1]), 0.0)
    values = np.where(values > least, values, 0.0)
    inverse = solve_triangular(lower, np.eye(len(lower)), lower=True)
    return np.asarray(np.sqrt(values)[:, None] * (vectors.T @ inverse)), int((values > 0).sum())


TOLERANCE = 1e-6
"""Distance to the maximum, in standard errors, below which one more step is the last."""

MOST_STEPS = 50
"""Default maximum number of Newton steps."""

PENALIZED_STEPS = 20
"""Maximum number of steps of a penalized search, in multiples of `maxiter`; its steps are faster."""

PENALIZED_TOLERANCE = 1e-4
"""Factor of the tolerance for a penalized search, whose last step does not square the distance."""

NEAR_SUPREMUM = 1e-3
"""Tolerance for separated classes, whose slopes would otherwise grow until the information vanishes."""

RUN_AWAY = 1e-7
"""Ratio of the information to the information at the class proportions that indicates a separation."""

TABLE = 40
PIECE = (2**14, 2**18)
"""TABLE is the number of chunks of a large table. PIECE has the minimum and maximum number of elements of a
chunk, chosen for the size of the cache.
"""

FEWEST_ROWS = 256
"""Minimum number of rows of a chunk; for fewer rows writing the result costs as much as the product."""

MANY_PRODUCTS = 2.0**24
"""Number of multiplications for the information above which passes without it pay off."""

WEAK = 30.0
"""Condition number of the correlations up to which columns need not be orthogonalized for accuracy."""


class Even(NamedTuple):
    """The rows of a fit with unit weights, and their number in each class (K,)."""

    rows: RowBlocks
    counts: Floats


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """Estimates of a multinomial logistic regression.

    Attributes
    ----------
    moments : ClassMoments
        Pooled: means of the classes, and the scatter that orthogonalized the columns.
    counts : (K,) float
        Counts of the classes in the rows of the fit.
    prior : (K,) float
    estimated_prior : bool
        Whether the prior was estimated from the rows.
    reference : int
        Code of the reference class, which has no coefficients.
    frame : NewtonFrame
        Coordinates of the coefficients.
    newton : Newton
        Result of the search.
    bias_reduction : bool
        Whether the likelihood was penalized.
    robust : Sandwich or None
        Covariance of the estimates that replaces the inverse information.
    """

    moments: ClassMoments
    counts: Floats
    prior: Floats
    estimated_prior: bool
    reference: int
    frame: NewtonFrame
    newton: Newton
    bias_reduction: bool = False
    robust: Sandwich | None = None

    has_distances = False

    @property
    def others(self) -> list[int]:
        """Codes of the classes that have coefficients."""
        return [k for k in range(self.moments.n_classes) if k != self.reference]

    def params(self) -> Floats:
        """Coefficients (p + 1, K - 1) in units of the data, intercepts first."""
        return np.asarray(self.frame.to_data() @ self.newton.coef)

    def root(self) -> Floats:
        """Root H (r, r) of the covariance H'H of the coefficients in units of the data, r = q (p + 1)."""
        p1, q = self.newton.coef.shape
        half = self.root_in_frame()
        # The same transformation applies to the coefficients of each class.
        return np.asarray((half.reshape(q * p1 * q, p1) @ self.frame.to_data().T).reshape(q * p1, q * p1))

    def root_in_frame(self) -> Floats:
        """Root (r, r) of the covariance of the coefficients in the frame; NaN if it does not exist."""
        if self.robust is not None:
            return self.robust.root.copy()
        try:
            factor = cholesky(self.newton.information, lower=True)
        except LinAlgError:
            # If classes are separated, the search may end with an information that is singular to rounding.
            return np.full_like(self.newton.information, np.nan)
        return np.asarray(solve_triangular(factor, np.eye(len(factor)), lower=True, overwrite_b=True))

    def standard_errors(self) -> Floats:
        """Standard errors (p + 1, K - 1) in units of the data, computed without overflow of their squares."""
        half = self.root()
        largest = np.abs(half).max(axis=0)
        half /= largest
        lengths = largest * np.sqrt(np.einsum("ij,ij->j", half, half))
        return np.asarray(lengths.reshape(self.newton.coef.shape[::-1]).T)

    def cov_params(self, unit: Floats | None = None) -> Floats:
        """Covariance (r, r) of the coefficients by class, for columns divided by `unit` (p,), if any."""
        half = self.root()
        if unit is not None:
            half *= np.tile(np.insert(unit, 0, 1.0), len(self.others))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return np.asarray(half.T @ half)

    def score_covariances(self) -> Callable[[Floats], tuple[Floats, Callable[[Floats], Floats]]]:
        """Return a function that computes the sampling covariances of the scores of rows.

        The score of the reference class is zero. With z a row in the frame and C_ab the covariance of the
        coefficients of two classes, the score covariances times v are z'u_a, with u the covariance of all
        coefficients times the products of v and z. For m rows m K (p + 1) elements are in memory.

        For a fixed prior the scores are shifted by its log odds against the class proportions of the rows,
        whose sampling variation then drops out: the variance of the intercepts is reduced by the variance of
        the log proportions, 1/n_0 + [a = b]/n_a (Prentice & Pyke, 1979, Biometrika 66, 403-411).

        Returns
        -------
        callable
            Maps rows x (m, p) to the variances (m, K) of their scores and to a function that multiplies the
            score covariances of each row by v (m, K).
        """
        p1, q = self.newton.coef.shape
        half = self.root_in_frame()
        inverse = half.T @ half
        blocks = inverse.reshape(q, p1, q, p1)
        if np.isfinite(half).all():
            blocks[:, 0, :, 0] += self.constants_known()
        others = self.others
        k = self.moments.n_classes

        def of_rows(x: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
            columns = self.frame.columns(x)
            variances = np.zeros((len(x), k))
            for a, place in enumerate(others):
                variances[:, place] = ((blocks[a, :, a] @ columns) * columns).sum(axis=0)

            def times(v: Floats) -> Floats:
                spread = (v[:, others].T[:, None, :] * columns).reshape(q * p1, len(x))
                out = np.zeros((len(x), k))
                out[:, others] = ((inverse @ spread).reshape(q, p1, len(x)) * columns).sum(axis=1).T
                return out

            return variances, times

        return of_rows

    def constants_known(self) -> Floats:
        """Change (q, q) of the covariance of the intercepts for a fixed prior; zero for an estimated one."""
        p1, q = self.newton.coef.shape
        # The reduction by sampling within classes is not available for a robust covariance.
        if self.estimated_prior or self.robust is not None:
            return np.zeros((q, q))
        constants = self.newton.information.reshape(q, p1, q, p1)[:, 0, :, 0]
        inverse = np.linalg.inv(constants)
        counts = self.counts[self.others]
        left = inverse - np.diag(1 / counts) - 1 / self.counts[self.reference]
        # The remaining covariance is nonnegative at the maximum of the likelihood; at the maximum of the
        # penalized likelihood it may be slightly negative.
        values, vectors = np.linalg.eigh(left)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T - inverse)

    def of_classes(self, keep: Codes) -> LogisticFit:
        """Options for the classes `keep` (C,); if the reference is dropped, the first class replaces it."""
        return replace(self, reference=int(np.argmax(keep == self.reference)))

    def against(self, reference: int) -> LogisticFit:
        """Return the fit with coefficients relative to another reference class."""
        if reference == self.reference:
            return self
        p1 = len(self.newton.coef)
        k = self.moments.n_classes
        whole = np.insert(self.newton.coef, self.reference, 0.0, axis=1)
        # Contrasts of the new coefficients in terms of the old ones.
        turn = np.delete(np.eye(k) - np.eye(k)[reference], reference, axis=0)
        back = np.linalg.inv(np.delete(turn, self.reference, axis=1))
        blocks = self.newton.information.reshape(k - 1, p1, k - 1, p1)
        information = np.einsum("ka,kilj,lb->aibj", back, blocks, back).reshape(self.newton.information.shape)
        coef = np.delete(whole - whole[:, [reference]], reference, axis=1)
        turned = replace(self.newton, coef=coef, information=information)
        robust = self.robust
        if robust is not None:
            root = robust.root.reshape(-1, k - 1, p1)
            root = np.einsum("iap,ba->ibp", root, np.linalg.inv(back)).reshape(robust.root.shape)
            robust = replace(robust, root=root)
        return replace(self, reference=reference, newton=turned, robust=robust)

    def llf(self) -> float:
        """Log-likelihood of the classes conditional on the rows."""
        return self.newton.llf

    def llnull(self) -> float:
        """Log-likelihood of the model without slopes."""
        return float(self.counts @ np.log(self.counts / self.counts.sum()))

    def df_model(self) -> int:
        """Number of parameters: an intercept and a slope per column for each class except the reference."""
        return int(self.newton.coef.size)

    def refit(self, blocks: RowBlocks, counts: Floats, singular: float = RUN_AWAY) -> LogisticFit | None:
        """Refit with other row weights, starting from the estimates.

        A penalized likelihood may have several maxima. Its search starts at the same point as a new fit and
        therefore finds the same maximum. The frame is not changed; its columns are nearly orthonormal for
        subsets of the rows, too.

        Parameters
        ----------
        blocks : RowBlocks
        counts : (K,) float
            Counts of the classes.
        singular : float
            Ratio of the information that indicates a separation, see `RUN_AWAY`.

        Returns
        -------
        LogisticFit or None
            None if a class is empty or the likelihood has no maximum.
        """
        if not (counts > 0).all():
            return None
        fit = self._at_odds(counts) if self.bias_reduction else self
        ended = fit._from_here(blocks, counts, MOST_STEPS, TOLERANCE, singular)
        return replace(self, counts=counts, newton=ended, robust=None) if ended.converged else None

    def _at_odds(self, counts: Floats) -> LogisticFit:
        """Return the fit with the coefficients of the class proportions (K,)."""
        start = class_odds(counts, self.reference, len(self.newton.coef))
        return replace(self, newton=replace(self.newton, coef=start))

    def of_columns(self, moments: ClassMoments) -> LogisticFit:
        """Return an unfitted model for other columns, starting at the class proportions."""
        start = class_odds(moments.counts, self.reference, moments.n_columns + 1)
        begun = replace(self.newton, coef=start, steps=0, converged=False)
        frame = newton_frame(moments)
        counts = moments.counts
        return replace(self, moments=moments, counts=counts, frame=frame, newton=begun)

    def resume(
        self, blocks: RowBlocks, tol: float, maxiter: int, *, overlap: bool, even: Even | None = None
    ) -> LogisticFit:
        """Continue the search from its last coefficients, without a lower bound of the information.

        Parameters
        ----------
        blocks : RowBlocks
        tol : float
            Tolerance in standard errors.
        maxiter : int
            Maximum number of steps, including earlier ones.
        overlap : bool
            Whether the classes overlap. Otherwise the search ends near the supremum and has not converged.
        even : Even, optional
            The rows with unit weights. If rounding stops the search, it continues from their maximum.

        Returns
        -------
        LogisticFit
        """
        tol = tol if overlap else max(tol, NEAR_SUPREMUM)
        ended = self._from_here(blocks, self.counts, maxiter - self.newton.steps, tol, 0.0)
        if not ended.converged and even is not None:
            # Next to heavy rows light ones vanish in rounding. Separation does not depend on the weights.
            odds = self._at_odds(even.counts)
            by_even = odds._from_here(even.rows, even.counts, maxiter, NEAR_SUPREMUM, 0.0)
            likelier = self.likelihood(blocks).sweep(by_even.coef).llf > ended.llf
            begun = replace(self, newton=by_even if likelier else ended)
            ended = begun._from_here(blocks, self.counts, maxiter, tol, 0.0)
        steps = ended.steps + self.newton.steps
        return replace(self, newton=replace(ended, steps=steps, converged=ended.converged and overlap))

    def _from_here(
        self, blocks: RowBlocks, counts: Floats, maxiter: int, tol: float, singular: float
    ) -> Newton:
        """Search from the current coefficients.

        Parameters
        ----------
        blocks : RowBlocks
        counts : (K,) float
            Counts of the classes.
        maxiter : int
        tol : float
        singular : float
            See `RUN_AWAY`.

        Returns
        -------
        Newton
        """
        rows = int(self.moments.rows.sum())
        return _search(
            self.likelihood(blocks), self.newton.coef, counts, tol, maxiter,
            rows=rows, penalized=self.bias_reduction, singular=singular,
        )  # fmt: skip

    def likelihood(self, blocks: RowBlocks) -> BlockLikelihood:
        """Likelihood of rows in the frame."""
        return BlockLikelihood(blocks, self.frame, self.reference)

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """Return the decision rule under a prior.

        The intercepts are shifted by the log odds of the prior against the class proportions of the rows.

        Parameters
        ----------
        log_prior : (K,) float
        method : str
            Not used.
        convention : str or None
            Not used.

        Returns
        -------
        LinearRule
        """
        k = self.moments.n_classes
        coef = np.zeros((len(self.frame.scale), k))
        intercept = np.zeros(k)
        slopes = self.frame.covariance.unwhiten(self.newton.coef[1:])
        coef[:, self.others] = slopes
        intercept[self.others] = self.newton.coef[0] - self.frame.mean @ slopes
        shift = log_prior - np.log(self.counts / self.counts.sum())
        return LinearRule(self.frame.centre, self.frame.scale, coef, intercept + shift)


def newton_frame(moments: ClassMoments) -> NewtonFrame:
    """Compute coordinates in which the columns have unit variance over all rows and are nearly orthogonal."""
    whole = moments.as_one()
    covariance = pooled(whole, whole.total)
    spread = svd(covariance.root / covariance.sd, compute_uv=False)
    if spread[0] <= np.sqrt(WEAK) * spread[-1]:
        covariance = Covariance.from_root(covariance.sd)
    rows = int(whole.rows[0])
    p1 = moments.n_columns + 1
    q = moments.n_classes - 1
    # Elements per row in a sweep: columns, some pairs of columns, class values and pairs of classes.
    width = 2 * p1 if q == 1 else 3 * p1 + min(q * (q + 1) // 2, q * p1) + 5 * q
    piece = max(int(np.clip(rows * p1 // TABLE, *PIECE)) // width, min(rows, FEWEST_ROWS), 1)
    # The square of a row is at most the sum over rows, which the eigenvalues of the correlations bound.
    longest = WEAK * float(whole.counts[0])
    return NewtonFrame(whole.centres[0], whole.rests[0], whole.scale, covariance, piece, longest)


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
    """Fit by maximum likelihood or by maximum penalized likelihood.

    Parameters
    ----------
    blocks : RowBlocks
        The rows, which are read several times.
    moments : ClassMoments
        Pooled moments of the rows; no column is constant or collinear.
    prior : (K,) float
    reference : int
        Code of the reference class.
    estimated_prior : bool
        Whether the prior was estimated from the rows.
    tol : float
        Distance to the maximum, in standard errors, below which one more step is the last.
    maxiter : int
        Maximum number of steps.
    bias_reduction : bool
        Whether to use Firth's penalty.

    Returns
    -------
    LogisticFit
    """
    frame = newton_frame(moments)
    counts = moments.counts
    likelihood = BlockLikelihood(blocks, frame, reference)
    start = class_odds(counts, reference, moments.n_columns + 1)
    first = None
    if not bias_reduction:
        start, first = start_of(likelihood, moments, _floor(counts, reference, RUN_AWAY))
    rows = int(moments.rows.sum())
    ended = _search(likelihood, start, counts, tol, maxiter, rows=rows, penalized=bias_reduction, first=first)
    return LogisticFit(moments, counts, prior, estimated_prior, reference, frame, ended, bias_reduction)


def _search(
    likelihood: BlockLikelihood,
    start: Floats,
    counts: Floats,
    tol: float,
    maxiter: int,
    *,
    rows: int,
    penalized: bool,
    singular: float = RUN_AWAY,
    first: Swept | None = None,
) -> Newton:
    """Maximize the likelihood or the penalized likelihood, with tolerances adapted to rounding.

    Parameters
    ----------
    likelihood : BlockLikelihood
    start : (p + 1, K - 1) float
        Coefficients in the frame.
    counts : (K,) float
        Counts of the classes.
    tol : float
        Tolerance in standard errors.
    maxiter : int
        Maximum number of steps.
    rows : int
        Number of rows.
    penalized : bool
        Whether to use Firth's penalty.
    singular : float
        See `RUN_AWAY`; 0 if the information has no lower bound.
    first : Swept, optional
        The sweep at `start` if it was computed before.

    Returns
    -------
    Newton
    """
    # The rounding error of a score of weight W is eps W, or eps sqrt(W) in standard errors.
    least = max(newton.ARRIVED, 8 * EPS * float(np.sqrt(counts.sum())))
    if penalized:
        # The last step does not square the remaining distance, and more steps are needed.
        tol = max(tol * PENALIZED_TOLERANCE, least)
        return newton.maximize_penalized(likelihood, start, tol=tol, maxiter=PENALIZED_STEPS * maxiter)
    tol = max(tol, least)
    floor = _floor(counts, likelihood.reference, singular)
    # For few rows the overhead of a pass exceeds the cost of its products.
    saves = singular and rows * start.size**2 >= MANY_PRODUCTS
    short = 1 + start.size / 20 if saves else 0.0
    return newton.maximize(likelihood, start, tol=tol, maxiter=maxiter, floor=floor, first=first, short=short)


def _floor(counts: Floats, reference: int, singular: float) -> Floats:
    """Fraction `singular` of the information (K - 1, K - 1) of a unit-variance column at zero slopes."""
    others = np.delete(counts, reference)
    return np.asarray(singular * (np.diag(others) - np.outer(others, others) / counts.sum()))


def logistic_of_search(
    moments: ClassMoments,
    prior: Floats,
    *,
    reference: int,
    estimated_prior: bool,
    bias_reduction: bool,
    newton: Newton,
    robust: Sandwich | None = None,
) -> LogisticFit:
    """Return the fit for the result of a search.

    Parameters
    ----------
    moments : ClassMoments
        Pooled moments of the rows.
    prior : (K,) float
    reference : int
        Position of the class without coefficients.
    estimated_prior, bias_reduction : bool
    newton : Newton
        Result of the search.
    robust : Sandwich, optional

    Returns
    -------
    LogisticFit

    Raises
    ------
    InvalidStateError
        If the information is not positive definite or the search has not converged.
    """
    diagonal = np.diagonal(newton.information)
    if not (diagonal > 0).all() or not newton.converged or newton.steps < 0:
        raise InvalidStateError("its information is not positive definite, or its search has not ended")
    unit = np.sqrt(diagonal)
    correlation = newton.information / unit / unit[:, None]
    is_symmetric = (np.abs(correlation - correlation.T) <= 1e-6).all()
    if not (is_symmetric and np.linalg.eigvalsh(correlation)[0] > 0):
        raise InvalidStateError("its information is not positive definite")
    frame = newton_frame(moments)
    return LogisticFit(
        moments, moments.counts, prior, estimated_prior, reference, frame, newton, bias_reduction, robust
    )
