"""The numbers of a logistic regression, and the pure function that fits them.

The coefficients are those of greatest likelihood, or of greatest likelihood with Firth's penalty, whose
maximum always exists (`regression.newton`).

*The search begins* at the log odds of linear discriminant analysis, which are right where classes are normal,
and close where they nearly are. Of many rows a part is enough to come closer: its own maximum lies about as
many standard errors of the part from that of all rows as the root of the number of coefficients. One step by
the score of all rows, and by the information of the part, takes out most of that.

*Robust covariances* of the estimates hold where the model's variance, or independence of the rows, does not.
At the estimates the rows' scores s_i = (y_i - p_i) x z_i have the sum of squares M = sum w s s', and of
groups of rows that are not independent M = sum_g (sum_i in g w s)(...)'. The covariance is H^-1 M H^-1
(Huber, 1967; White, 1982, Econometrica 50, 1-25; of groups Liang & Zeger, 1986, Biometrika 73, 13-22), times
a factor for small samples. A weight counts equal rows, whose scores add up one by one. With H = L L', a root
of L^-1 M L^-T is kept: close to the identity where the model holds, so that its eigenvalues keep their
digits, and with as many rows as there are coefficients however few groups there are.
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
"""Rows of which one is in the part."""

TOGETHER = 128
"""Rows of the part that are worked on at once."""

ROWS_A_COEFFICIENT = 10
"""Rows of the part, for each coefficient, below which its maximum is too far from that of all."""

UNEVEN = 2.0
"""Times that the weight of a class in the part may be more, or less, than its share."""

PART_STEPS = 8
"""Steps of the search over the part, which begins close enough to need three or four."""


def class_odds(counts: Floats, reference: int, p1: int) -> Floats:
    """Coefficients (p + 1, K - 1) of the class proportions alone."""
    odds = np.zeros((p1, len(counts) - 1))
    odds[0] = np.log(np.delete(counts, reference) / counts[reference])
    return odds


def start_of(
    likelihood: BlockLikelihood, moments: ClassMoments, floor: Floats
) -> tuple[Floats, Swept | None]:
    """Coefficients (p + 1, K - 1) to begin with, and the sweep there if it was made.

    They are those of a part of the rows, of discriminant analysis, or of the class proportions: the first
    that are likelier than the proportions and whose information exceeds the floor.
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
    """Log odds (p + 1, K - 1) of linear discriminant analysis, in the frame; not finite where it has none."""
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
    """A step by the score of all rows from the maximum of a part of them.

    None where the rows are few or lie on workers, the part holds too much or too little of a class, or its
    maximum is not found or no likelier than a log-likelihood.
    """
    rows = int(moments.rows.sum())
    # A part of rows on workers is no sooner read than all of them.
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
    # The distance of its maximum from that of all rows is as large: closer makes no difference.
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
    """One row of each `PART` in their order, drawn so that no period of it matters."""

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
    weights = [some for _, _, some in blocks if some is not None]
    x, codes = (np.concatenate([block[i] for block in blocks]) for i in range(2))
    return x, codes, np.concatenate(weights) if weights else None


KINDS = ("HC0", "HC1", "cluster")

SANDWICH_PIECE = 2**18
"""Numbers of scores worked on at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Sandwich:
    """A covariance of the estimates beside that of the model.

    Attributes
    ----------
    kind : {"HC0", "HC1", "cluster"}
    root : (r, r) float
        In the frame: root'root is the covariance of the coefficients, class by class.
    factor : float
        What the sum of squares was multiplied by for small samples.
    groups, grouped_by : int, str
        Groups of rows, 0 without any, and what they are called; empty of a fit that was loaded.
    rank : int
        Of the covariance: with few groups less than the number of coefficients.
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
    """Scores (q (p + 1), m) of rows x (m, p) of weight one, class by class."""
    z = frame.columns(x)
    misses = -newton.log_probabilities(coef.T @ z, reference)[1]
    modelled = np.flatnonzero(codes != reference)
    line = codes[modelled]
    misses[line - (line > reference), modelled] += 1.0
    return np.asarray((misses[:, None, :] * z).reshape(-1, len(x)))


def score_squares(blocks: RowBlocks, frame: NewtonFrame, coef: Floats, reference: int) -> Floats:
    """The sum over rows of weight times score by score, (r, r)."""
    likelihood = BlockLikelihood(blocks, frame, reference)
    return likelihood.map_reduce(_squares, np.add, coef=coef, reference=reference)


def _squares(blocks: RowBlocks, frame: NewtonFrame, coef: Floats, reference: int) -> Floats:
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
    """Add the scores of a block of rows to the sums (G, r) of their groups (m,)."""
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
    """A root (r, r) of H^-1 M H^-1, and its rank."""
    lower = cholesky(information, lower=True)
    inner = solve_triangular(lower, solve_triangular(lower, squares, lower=True).T, lower=True)
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    least = len(values) * EPS * max(float(values[-1]), 0.0)
    values = np.where(values > least, values, 0.0)
    inverse = solve_triangular(lower, np.eye(len(lower)), lower=True)
    return np.asarray(np.sqrt(values)[:, None] * (vectors.T @ inverse)), int((values > 0).sum())


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

RUN_AWAY = 1e-7
"""Share of the information at the class proportions below which Newton's method hints at a separation."""

TABLE = 40
PIECE = (2**14, 2**18)
"""Part of a large table that is worked on at once, and fewest and most numbers: what the cache holds."""

FEWEST_ROWS = 256
"""Rows worked on at once where there are more: a product of fewer costs what writing its result does."""

MANY_PRODUCTS = 2.0**24
"""Products in the information beyond which passes without it are worth their while."""

WEAK = 30.0
"""Condition number of the correlations up to which columns need not be orthogonalised to keep digits."""


class Even(NamedTuple):
    """The rows of a fit as if each had the weight one, and how many each class has, (K,)."""

    rows: RowBlocks
    counts: Floats


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """The numbers of a logistic regression, with counts (K,) of the rows of the fit.

    Moments are pooled: means of the classes, and the scatter that orthogonalised the columns. Newton's search
    ended at a likelihood that was penalized where biases are reduced. A robust covariance of the estimates
    stands in the place of the inverse information.
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

        The score of the reference is zero. Of m rows m K (p + 1) numbers are in memory: with z a row in the
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
        """What the covariance (q, q) of the constants changes by where the prior is given; else nothing."""
        p1, q = self.newton.coef.shape
        # Of a robust covariance it is not known what sampling by class takes away.
        if self.estimated_prior or self.robust is not None:
            return np.zeros((q, q))
        constants = self.newton.information.reshape(q, p1, q, p1)[:, 0, :, 0]
        inverse = np.linalg.inv(constants)
        counts = self.counts[self.others]
        left = inverse - np.diag(1 / counts) - 1 / self.counts[self.reference]
        # No less than nothing is left at the maximum of the likelihood; a penalty may ask for a little less.
        values, vectors = np.linalg.eigh(left)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T - inverse)

    def of_classes(self, keep: Codes) -> LogisticFit:
        """The options of some classes (C,); without the reference the first is that."""
        return replace(self, reference=int(np.argmax(keep == self.reference)))

    def against(self, reference: int) -> LogisticFit:
        """The same fit with its coefficients against another class."""
        if reference == self.reference:
            return self
        p1 = len(self.newton.coef)
        k = self.moments.n_classes
        whole = np.insert(self.newton.coef, self.reference, 0.0, axis=1)
        # Rows of the identity less that of the new reference: what each coefficient was in the old ones.
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
        """Log-likelihood of the classes given the rows."""
        return self.newton.llf

    def llnull(self) -> float:
        """Log-likelihood of the class proportions alone."""
        return float(self.counts @ np.log(self.counts / self.counts.sum()))

    def df_model(self) -> int:
        """Free parameters: a constant and a slope a column, for each class but the reference."""
        return int(self.newton.coef.size)

    def refit(self, blocks: RowBlocks, counts: Floats, singular: float = RUN_AWAY) -> LogisticFit | None:
        """The same model of other weights, from where this one ended; None where it has no maximum.

        A penalized likelihood may have several maxima, and the search begins where that of a new fit does, so
        that it ends at the same one. The frame stays that of all rows, whose columns are close to orthonormal
        over part of them too.
        """
        if not (counts > 0).all():
            return None
        fit = self._at_odds(counts) if self.bias_reduction else self
        ended = fit._from_here(blocks, counts, MOST_STEPS, TOLERANCE, singular)
        return replace(self, counts=counts, newton=ended, robust=None) if ended.converged else None

    def _at_odds(self, counts: Floats) -> LogisticFit:
        """The fit at the class proportions alone."""
        start = class_odds(counts, self.reference, len(self.newton.coef))
        return replace(self, newton=replace(self.newton, coef=start))

    def of_columns(self, moments: ClassMoments) -> LogisticFit:
        """The fit of other columns before its first step, at the class proportions."""
        start = class_odds(moments.counts, self.reference, moments.n_columns + 1)
        begun = replace(self.newton, coef=start, steps=0, converged=False)
        frame = newton_frame(moments)
        counts = moments.counts
        return replace(self, moments=moments, counts=counts, frame=frame, newton=begun)

    def resume(
        self, blocks: RowBlocks, tol: float, maxiter: int, *, overlap: bool, even: Even | None = None
    ) -> LogisticFit:
        """The search goes on from where it ended, whatever the information.

        Where classes do not overlap it ends near the supremum, and counts as not converged. Where rounding
        loses its way it goes on from the maximum of even weights, if these are given.
        """
        tol = tol if overlap else max(tol, NEAR_SUPREMUM)
        ended = self._from_here(blocks, self.counts, maxiter - self.newton.steps, tol, 0.0)
        if not ended.converged and even is not None:
            # Beside heavy rows light ones drown in rounding, and what separates rows does so by any weights.
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
        rows = int(self.moments.rows.sum())
        return _search(
            self.likelihood(blocks), self.newton.coef, counts, tol, maxiter,
            rows=rows, penalized=self.bias_reduction, singular=singular,
        )  # fmt: skip

    def likelihood(self, blocks: RowBlocks) -> BlockLikelihood:
        """That of rows, in the frame."""
        return BlockLikelihood(blocks, self.frame, self.reference)

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """The decision rule under a prior (K,): the constants move by its log odds against the rows' own."""
        k = self.moments.n_classes
        coef = np.zeros((len(self.frame.scale), k))
        intercept = np.zeros(k)
        slopes = self.frame.covariance.unwhiten(self.newton.coef[1:])
        coef[:, self.others] = slopes
        intercept[self.others] = self.newton.coef[0] - self.frame.mean @ slopes
        shift = log_prior - np.log(self.counts / self.counts.sum())
        return LinearRule(self.frame.centre, self.frame.scale, coef, intercept + shift)


def newton_frame(moments: ClassMoments) -> NewtonFrame:
    """Coordinates in which the columns have unit variance over all rows and are close to orthogonal."""
    whole = moments.as_one()
    covariance = pooled(whole, whole.total)
    spread = svd(covariance.root / covariance.sd, compute_uv=False)
    if spread[0] <= np.sqrt(WEAK) * spread[-1]:
        covariance = Covariance.from_root(covariance.sd)
    rows = int(whole.rows[0])
    p1 = moments.n_columns + 1
    q = moments.n_classes - 1
    # A sweep has of a row: its columns and some of their pairs, numbers of classes and of their pairs.
    width = 2 * p1 if q == 1 else 3 * p1 + min(q * (q + 1) // 2, q * p1) + 5 * q
    piece = max(int(np.clip(rows * p1 // TABLE, *PIECE)) // width, min(rows, FEWEST_ROWS), 1)
    # No row's square exceeds the sum of all, whose eigenvalues are those of the correlations.
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
    """Maximum likelihood, penalized where biases are to be reduced, with a class of reference.

    The blocks of rows are read again and again; their moments are pooled, and no column is constant or
    collinear. One step more than to a distance of `tol` standard errors from the maximum is the last.
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
    # The rounding of a score of weight W is eps W, in standard errors eps sqrt(W): no search gets closer.
    least = max(newton.ARRIVED, 8 * EPS * float(np.sqrt(counts.sum())))
    if penalized:
        # The last step does not square what is left, and there are more of them.
        tol = max(tol * PENALIZED_TOLERANCE, least)
        return newton.maximize_penalized(likelihood, start, tol=tol, maxiter=PENALIZED_STEPS * maxiter)
    tol = max(tol, least)
    floor = _floor(counts, likelihood.reference, singular)
    # Of few rows what is done once a pass costs more than its products.
    saves = singular and rows * start.size**2 >= MANY_PRODUCTS
    short = 1 + start.size / 20 if saves else 0.0
    return newton.maximize(likelihood, start, tol=tol, maxiter=maxiter, floor=floor, first=first, short=short)


def _floor(counts: Floats, reference: int, singular: float) -> Floats:
    """A share of what a column of unit variance tells (K - 1, K - 1) of the classes where it has no slope."""
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
    """Return the fit whose search has ended.

    Parameters
    ----------
    moments : ClassMoments
        Pooled moments of the rows.
    prior : (K,) float
    reference : int
        Position of the class without coefficients.
    estimated_prior, bias_reduction : bool
    newton : Newton
        Where the search ended.
    robust : Sandwich, optional

    Returns
    -------
    LogisticFit

    Raises
    ------
    InvalidStateError
        The information is not positive definite.
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
