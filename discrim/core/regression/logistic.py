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

from discrim.core.covariance.covariance import Covariance, pooled_covariance
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlock, RowBlocks
from discrim.core.numerics.arrays import EPS, NOT_STORED, Codes, Floats, slices, svd
from discrim.core.numerics.map_reduce import is_local
from discrim.core.regression import newton
from discrim.core.regression.newton import BlockLikelihood, LikelihoodSums, Newton, NewtonFrame
from discrim.core.rules.rules import LinearRule

SUBSAMPLE_STRIDE = 16
"""Number of successive rows of which one is in the subsample."""

SUBSAMPLE_BLOCK_ROWS = 128
"""Minimum number of rows in a block of the subsample, except the last."""

MIN_ROWS_PER_COEFFICIENT = 10
"""Minimum number of rows of the subsample per coefficient, for a maximum close to the maximum of all rows."""

MAX_WEIGHT_RATIO = 2.0
"""Largest ratio of the weight of a class in the subsample to its expected weight, or inverse."""

MAX_SUBSAMPLE_STEPS = 8
"""Maximum number of steps on the subsample. It starts close enough to need three or four."""


def intercept_only_coef(counts: Floats, reference: int, p1: int) -> Floats:
    """Return the coefficients of the model without slopes, whose probabilities are the class proportions.

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
        Log odds of the other classes against the reference class in the first row, zeros below.
    """
    odds = np.zeros((p1, len(counts) - 1))
    odds[0] = np.log(np.delete(counts, reference) / counts[reference])
    return odds


def choose_start(
    likelihood: BlockLikelihood, moments: ClassMoments, floor: Floats
) -> tuple[Floats, LikelihoodSums | None]:
    """Choose starting coefficients.

    Candidates are a fit to a subsample and linear discriminant analysis, in this order. The first one that is
    more likely than the class proportions and whose information exceeds the floor is chosen, and otherwise
    the coefficients of the class proportions. Candidates are not computed if the covariance within classes is
    singular.

    Parameters
    ----------
    likelihood : BlockLikelihood
        Likelihood of the rows in the frame.
    moments : ClassMoments
        Pooled moments of the rows.
    floor : (K - 1, K - 1) float
        Lower bound of the information between the classes for each column of the frame.

    Returns
    -------
    coef : (p + 1, K - 1) float
        Starting coefficients in the frame.
    sums : LikelihoodSums or None
        Log-likelihood and derivatives at `coef`; None for the class proportions.
    """
    counts = moments.counts
    reference = likelihood.reference
    lda_coef = _lda_coef(moments, likelihood.frame, reference)
    if np.isfinite(lda_coef).all():
        null_llf = float(counts @ np.log(counts / counts.sum()))
        start = _start_from_subsample(likelihood, moments, lda_coef, null_llf)
        for coef in (lda_coef,) if start is None else (start, lda_coef):
            sums = likelihood.sweep(coef)
            if sums.llf > null_llf and newton.exceeds_floor(sums.information, floor):
                return coef, sums
    return intercept_only_coef(counts, reference, moments.n_columns + 1), None


def _lda_coef(moments: ClassMoments, frame: NewtonFrame, reference: int) -> Floats:
    """Return the log odds of linear discriminant analysis as coefficients in the frame.

    Parameters
    ----------
    moments : ClassMoments
        Pooled moments of the rows.
    frame : NewtonFrame
        Coordinates of the coefficients.
    reference : int
        Code of the reference class.

    Returns
    -------
    (p + 1, K - 1) float
        NaN if the pooled covariance is singular.
    """
    try:
        within = pooled_covariance(moments, moments.total)
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


def _start_from_subsample(
    likelihood: BlockLikelihood, moments: ClassMoments, lda_coef: Floats, min_llf: float
) -> Floats | None:
    """Fit a subsample, and take one step from its maximum with the score of all rows.

    Parameters
    ----------
    likelihood : BlockLikelihood
        Likelihood of the rows in the frame.
    moments : ClassMoments
        Pooled moments of the rows.
    lda_coef : (p + 1, K - 1) float
        Starting coefficients for the subsample.
    min_llf : float
        Log-likelihood that the coefficients have to exceed.

    Returns
    -------
    (p + 1, K - 1) float or None
        None if there are fewer than `SUBSAMPLE_STRIDE` `MIN_ROWS_PER_COEFFICIENT` rows per coefficient, the
        rows are on workers, the weight of a class in the subsample is off by more than `MAX_WEIGHT_RATIO`,
        or the maximum of the subsample is not found or has a log-likelihood of at most `min_llf`.
    """
    n_rows = int(moments.rows.sum())
    # Reading a subsample of rows on workers takes as long as reading all of them.
    if (
        not is_local(likelihood.blocks)
        or n_rows < SUBSAMPLE_STRIDE * MIN_ROWS_PER_COEFFICIENT * lda_coef.size
    ):
        return None
    subsample = _Subsample(likelihood.blocks, n_rows)
    counts = np.zeros(moments.n_classes)
    for _, codes, weights in subsample:
        counts += np.bincount(codes, weights, len(counts))
    weight_ratios = SUBSAMPLE_STRIDE * counts / moments.counts
    if not ((weight_ratios >= 1 / MAX_WEIGHT_RATIO) & (weight_ratios <= MAX_WEIGHT_RATIO)).all():
        return None
    no_floor = np.zeros((lda_coef.shape[1], lda_coef.shape[1]))
    # The maximum for the subsample is about as far from the full maximum; more precision is useless.
    tolerance = np.sqrt(lda_coef.size) / 2
    subsample_likelihood = replace(likelihood, blocks=subsample)
    subsample_result = newton.maximize(
        subsample_likelihood, lda_coef, tol=tolerance, maxiter=MAX_SUBSAMPLE_STEPS, floor=no_floor
    )
    if not subsample_result.converged:
        return None
    llf, score = likelihood.gradient(subsample_result.coef)
    if not llf > min_llf:
        return None
    try:
        step = cho_solve(cho_factor(subsample_result.information), score.T.ravel())
    except LinAlgError:
        return None
    step *= counts.sum() / moments.counts.sum()
    return np.asarray(subsample_result.coef + step.reshape(score.T.shape).T)


class _Subsample(RowBlocks):
    """Subsample of one row of each `SUBSAMPLE_STRIDE` successive rows.

    The row is drawn at random, because the order of the rows may be periodic.

    Parameters
    ----------
    blocks : RowBlocks
        Blocks of all rows.
    n_rows : int
        Number of all rows.
    """

    def __init__(self, blocks: RowBlocks, n_rows: int) -> None:
        """Draw the positions of the rows; see the class for the parameters."""
        size = n_rows // SUBSAMPLE_STRIDE
        self._blocks = blocks
        self._sampled_rows = np.arange(size) * SUBSAMPLE_STRIDE + np.random.default_rng(0).integers(
            0, SUBSAMPLE_STRIDE, size
        )

    def __iter__(self) -> Iterator[RowBlock]:
        """Yield blocks of at least `SUBSAMPLE_BLOCK_ROWS` rows of the subsample; the last may be smaller."""
        first = 0
        stored = list[RowBlock]()
        for x, codes, weights in self._blocks:
            low, high = np.searchsorted(self._sampled_rows, (first, first + len(x)))
            positions = self._sampled_rows[low:high] - first
            stored.append((x[positions], codes[positions], None if weights is None else weights[positions]))
            first += len(x)
            if sum(len(block_codes) for _, block_codes, _ in stored) >= SUBSAMPLE_BLOCK_ROWS:
                together = _concatenate_blocks(stored)
                stored.clear()
                yield together
        if stored:
            yield _concatenate_blocks(stored)


def _concatenate_blocks(blocks: list[RowBlock]) -> RowBlock:
    """Concatenate blocks of rows, either all with or all without weights."""
    weights = [block_weights for _, _, block_weights in blocks if block_weights is not None]
    x, codes = (np.concatenate([block[i] for block in blocks]) for i in range(2))
    return x, codes, np.concatenate(weights) if weights else None


COVARIANCE_TYPES = ("HC0", "HC1", "cluster")
"""Robust covariances: HC0 without and HC1 with a small-sample factor, and for groups of dependent rows."""

MAX_SCORE_ELEMENTS = 2**18
"""Maximum number of elements of the scores that are processed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Sandwich:
    """A robust covariance of the r estimated coefficients.

    Attributes
    ----------
    covariance_type : {"HC0", "HC1", "cluster"}
        Kind of the covariance: without ("HC0") and with a small-sample factor ("HC1"), or for groups of
        dependent rows ("cluster").
    root : (r, r) float
        Root in the coordinates of the frame, not triangular: root'root is the covariance, including the
        factor, of the coefficients ordered by class.
    factor : float
        Small-sample factor by which the sum of squares was multiplied.
    groups, grouped_by : int, str
        Number of groups of rows, 0 without groups, and the name of the grouping; the name is empty without
        groups and for a loaded fit.
    rank : int
        Rank of the covariance. With few groups it is less than the number of coefficients.
    """

    covariance_type: str
    root: Floats
    factor: float
    groups: int
    rank: int
    grouped_by: str = field(default="", metadata=NOT_STORED)

    def validate(self) -> None:
        """Raise InvalidStateError if a field of a loaded fit is out of range."""
        is_valid = self.covariance_type in COVARIANCE_TYPES and self.factor > 0 and self.groups >= 0
        if not (is_valid and 0 <= self.rank <= len(self.root)):
            raise InvalidStateError("the description of its robust covariance is invalid")


def row_scores(frame: NewtonFrame, coef: Floats, reference: int, x: Floats, codes: Codes) -> Floats:
    """Compute the scores (gradients of the log-likelihood) of rows of weight one.

    Parameters
    ----------
    frame : NewtonFrame
        Coordinates of the coefficients.
    coef : (p + 1, q) float
        Coefficients in the frame of the q = K - 1 classes but the reference, intercepts first.
    reference : int
        Code of the reference class.
    x : (m, p) float
        Rows in the units of the data.
    codes : (m,) int
        Class of each row.

    Returns
    -------
    (q (p + 1), m) float
        Gradients with respect to the coefficients in the frame, ordered by class.
    """
    z = frame.transform(x)
    residuals = -newton.log_probabilities(coef.T @ z, reference)[1]
    modelled = np.flatnonzero(codes != reference)
    modelled_codes = codes[modelled]
    residuals[modelled_codes - (modelled_codes > reference), modelled] += 1.0
    return np.asarray((residuals[:, None, :] * z).reshape(-1, len(x)))


def score_squares(blocks: RowBlocks, frame: NewtonFrame, coef: Floats, reference: int) -> Floats:
    """Compute the sum over rows of weight times the outer product of the score, the matrix M without groups.

    Parameters
    ----------
    blocks : RowBlocks
        Rows in blocks.
    frame : NewtonFrame
        Coordinates of the coefficients.
    coef : (p + 1, q) float
        Coefficients in the frame, intercepts first.
    reference : int
        Code of the reference class.

    Returns
    -------
    (r, r) float
        With r = q (p + 1), ordered by class.
    """
    likelihood = BlockLikelihood(blocks, frame, reference)
    return likelihood.map_reduce(_block_score_squares, np.add, coef=coef, reference=reference)


def _block_score_squares(blocks: RowBlocks, frame: NewtonFrame, coef: Floats, reference: int) -> Floats:
    """Compute `score_squares`, (r, r) for r = q (p + 1) coefficients, for some of the rows.

    Parameters
    ----------
    blocks : RowBlocks
        Rows in blocks.
    frame : NewtonFrame
        Coordinates of the coefficients.
    coef : (p + 1, q) float
        Coefficients in the frame, intercepts first.
    reference : int
        Code of the reference class.

    Returns
    -------
    (r, r) float
        Sum over these rows of weight times the outer product of the score, ordered by class.
    """
    total = np.zeros((coef.size, coef.size))
    chunk_rows = max(MAX_SCORE_ELEMENTS // coef.size, 16)
    for x, codes, weights in blocks:
        for row_slice in slices(len(x), chunk_rows):
            scores = row_scores(frame, coef, reference, x[row_slice], codes[row_slice])
            if weights is not None:
                scores *= np.sqrt(weights[row_slice])
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
        Weighted sums of scores by group, r = q (p + 1), ordered by class; updated.
    frame : NewtonFrame
        Coordinates of the coefficients.
    coef : (p + 1, q) float
        Coefficients in the frame, intercepts first.
    reference : int
        Code of the reference class.
    x : (m, p) float
        Rows in the units of the data.
    codes : (m,) int
        Class of each row.
    weights : (m,) float or None
        Frequency weights; None if all are one.
    groups : (m,) int
        Group of each row.
    """
    chunk_rows = max(MAX_SCORE_ELEMENTS // coef.size, 16)
    for row_slice in slices(len(x), chunk_rows):
        scores = row_scores(frame, coef, reference, x[row_slice], codes[row_slice])
        if weights is not None:
            scores *= weights[row_slice]
        order = np.argsort(groups[row_slice], kind="stable")
        group = groups[row_slice][order]
        first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
        sums[group[first]] += np.add.reduceat(scores[:, order], first, axis=1).T


def sandwich_root(information: Floats, squares: Floats) -> tuple[Floats, int]:
    """Compute a root of the sandwich covariance H^-1 M H^-1.

    Parameters
    ----------
    information : (r, r) float
        The matrix H.
    squares : (r, r) float
        The matrix M, sums of products of scores.

    Returns
    -------
    root : (r, r) float
        root'root is the covariance; the root is not triangular.
    rank : int
        Rank of the covariance.

    Raises
    ------
    scipy.linalg.LinAlgError
        The information is not positive definite.
    """
    lower = cholesky(information, lower=True)
    inner = solve_triangular(lower, solve_triangular(lower, squares, lower=True).T, lower=True)
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    tolerance = len(values) * EPS * max(float(values[-1]), 0.0)
    values = np.where(values > tolerance, values, 0.0)
    inverse = solve_triangular(lower, np.eye(len(lower)), lower=True)
    return np.asarray(np.sqrt(values)[:, None] * (vectors.T @ inverse)), int((values > 0).sum())


TOLERANCE = 1e-6
"""Default distance to the maximum, in standard errors, below which one more step is the last."""

MAX_STEPS = 50
"""Default maximum number of Newton steps, also for refits."""

PENALIZED_STEP_FACTOR = 20
"""Maximum number of steps of a penalized search, in multiples of `maxiter`; its steps are faster."""

PENALIZED_TOLERANCE_FACTOR = 1e-4
"""Factor of the tolerance for a penalized search, whose last step does not square the distance."""

SEPARATED_TOLERANCE = 1e-3
"""Tolerance in standard errors for separated classes, whose slopes grow until the information vanishes."""

SEPARATION_RATIO = 1e-7
"""Ratio of the information to the information at the class proportions that indicates a separation."""

CHUNKS_PER_TABLE = 40
"""Number of chunks into which a table is split, within the `CHUNK_ELEMENT_LIMITS`."""

CHUNK_ELEMENT_LIMITS = (2**14, 2**18)
"""Minimum and maximum number of elements of a chunk, chosen for the size of the cache."""

MIN_CHUNK_ROWS = 256
"""Minimum number of rows of a chunk; for fewer rows writing the result costs as much as the product."""

MIN_COSTLY_PRODUCTS = 2.0**24
"""Number of multiplications for the information above which passes without it pay off."""

MAX_CONDITION_NUMBER = 30.0
"""Condition number of the correlations up to which columns need not be orthogonalized for accuracy."""


class UnitWeightRows(NamedTuple):
    """The rows of a fit with unit weights.

    Attributes
    ----------
    rows : RowBlocks
        Blocks of the rows, all with a weight of one.
    counts : (K,) float
        Number of rows of each class.
    """

    rows: RowBlocks
    counts: Floats


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """Estimates of a multinomial logistic regression of K classes on p columns.

    There are r = q (p + 1) coefficients, for the q = K - 1 classes other than the reference class.

    Attributes
    ----------
    moments : ClassMoments
        Pooled: means of the classes, and the scatter that orthogonalized the columns. In a refit they are
        moments of the rows of the first fit.
    counts : (K,) float
        Weights of the classes in the rows of the fit.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    reference : int
        Code of the reference class, whose coefficients are zero and not stored.
    frame : NewtonFrame
        Coordinates of the coefficients.
    newton : Newton
        Result of the search: coefficients in the frame, and their information.
    bias_reduction : bool
        Whether the likelihood was penalized by Firth's penalty.
    robust : Sandwich or None
        Robust covariance of the estimates, which replaces the inverse information; None for the inverse
        information.
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
        """Codes of the q classes that have coefficients, all but the reference, in increasing order."""
        return [k for k in range(self.moments.n_classes) if k != self.reference]

    def params(self) -> Floats:
        """Return the coefficients (p + 1, K - 1) in units of the data, intercepts first."""
        return np.asarray(self.frame.to_data() @ self.newton.coef)

    def root(self) -> Floats:
        """Return a root H (r, r) of the covariance H'H of the coefficients in units of the data.

        Columns are ordered by class, intercepts first. The covariance is `robust` or, if that is None, the
        inverse information; all elements are then NaN if the information is singular.
        """
        p1, q = self.newton.coef.shape
        frame_root = self.root_in_frame()
        # The same transformation applies to the coefficients of each class.
        return np.asarray(
            (frame_root.reshape(q * p1 * q, p1) @ self.frame.to_data().T).reshape(q * p1, q * p1)
        )

    def root_in_frame(self) -> Floats:
        """Return a root H (r, r) of the covariance H'H of the coefficients in the frame.

        Columns are ordered by class, intercepts first. The covariance is `robust` or, if that is None, the
        inverse information; all elements are then NaN if the information is singular.
        """
        if self.robust is not None:
            return self.robust.root.copy()
        try:
            factor = cholesky(self.newton.information, lower=True)
        except LinAlgError:
            # If classes are separated, the search may end with an information that is singular to rounding.
            return np.full_like(self.newton.information, np.nan)
        return np.asarray(solve_triangular(factor, np.eye(len(factor)), lower=True, overwrite_b=True))

    def standard_errors(self) -> Floats:
        """Return the standard errors (p + 1, K - 1) in units of the data, without overflow of squares.

        All are NaN if the information is singular and `robust` is None.
        """
        root = self.root()
        largest = np.abs(root).max(axis=0)
        root /= largest
        norms = largest * np.sqrt(np.einsum("ij,ij->j", root, root))
        return np.asarray(norms.reshape(self.newton.coef.shape[::-1]).T)

    def cov_params(self, unit: Floats | None = None) -> Floats:
        """Return the covariance (r, r) of the coefficients, ordered by class, in the units of the data.

        With `unit` (p,) it is the covariance for columns divided by these units. Entries outside the range of
        float64 are infinite or zero. All are NaN if the information is singular and `robust` is None.
        """
        root = self.root()
        if unit is not None:
            root *= np.tile(np.insert(unit, 0, 1.0), len(self.others))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return np.asarray(root.T @ root)

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
            Maps rows x (m, p), in the units of the data, to the variances (m, K) of their scores and to a
            function that multiplies the score covariances of each row by v (m, K). NaN if the information is
            singular.
        """
        p1, q = self.newton.coef.shape
        root = self.root_in_frame()
        inverse = root.T @ root
        blocks = inverse.reshape(q, p1, q, p1)
        if np.isfinite(root).all():
            blocks[:, 0, :, 0] += self.intercept_reduction()
        others = self.others
        k = self.moments.n_classes

        def score_covariances_of_rows(x: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
            """Return the score variances (m, K) of rows (m, p), and the function `multiply` for these rows.

            Both are zero for the reference class, and NaN for the others if the information is singular.
            """
            columns = self.frame.transform(x)
            variances = np.zeros((len(x), k))
            for a, code in enumerate(others):
                variances[:, code] = ((blocks[a, :, a] @ columns) * columns).sum(axis=0)

            def multiply(v: Floats) -> Floats:
                """Return the product (m, K) of the score covariance (K, K) of each row with its v (m, K)."""
                products = (v[:, others].T[:, None, :] * columns).reshape(q * p1, len(x))
                covariance_products = np.zeros((len(x), k))
                covariance_products[:, others] = (
                    ((inverse @ products).reshape(q, p1, len(x)) * columns).sum(axis=1).T
                )
                return covariance_products

            return variances, multiply

        return score_covariances_of_rows

    def intercept_reduction(self) -> Floats:
        """Return the change (q, q) of the covariance of the intercepts in the frame for a fixed prior.

        It is added to the covariance. It is negative semidefinite, and zero for an estimated prior or a
        robust covariance.
        """
        p1, q = self.newton.coef.shape
        # The reduction by sampling within classes is not available for a robust covariance.
        if self.estimated_prior or self.robust is not None:
            return np.zeros((q, q))
        constants = self.newton.information.reshape(q, p1, q, p1)[:, 0, :, 0]
        inverse = np.linalg.inv(constants)
        counts = self.counts[self.others]
        remaining = inverse - np.diag(1 / counts) - 1 / self.counts[self.reference]
        # The remaining covariance is nonnegative at the maximum of the likelihood; at the maximum of the
        # penalized likelihood it may be slightly negative.
        values, vectors = np.linalg.eigh(remaining)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T - inverse)

    def of_classes(self, keep: Codes) -> LogisticFit:
        """Return an unfitted model for the classes at positions `keep`, starting at their proportions.

        The first class replaces a dropped reference class. The prior is still of all classes.
        """
        # argmax is zero if the reference class is dropped.
        fit = replace(self, reference=int(np.argmax(keep == self.reference)), robust=None)
        return fit.unfitted_for_columns(self.moments.select_classes(keep))

    def with_reference(self, reference: int) -> LogisticFit:
        """Return the same fit with coefficients relative to the reference class with code `reference`.

        Coefficients, information and robust covariance are converted; likelihood and posteriors are the same.
        """
        if reference == self.reference:
            return self
        p1 = len(self.newton.coef)
        k = self.moments.n_classes
        all_coefs = np.insert(self.newton.coef, self.reference, 0.0, axis=1)
        # Contrasts of the new coefficients in terms of the old ones.
        contrasts = np.delete(np.eye(k) - np.eye(k)[reference], reference, axis=0)
        inverse_contrasts = np.linalg.inv(np.delete(contrasts, self.reference, axis=1))
        blocks = self.newton.information.reshape(k - 1, p1, k - 1, p1)
        information = np.einsum("ka,kilj,lb->aibj", inverse_contrasts, blocks, inverse_contrasts).reshape(
            self.newton.information.shape
        )
        coef = np.delete(all_coefs - all_coefs[:, [reference]], reference, axis=1)
        newton_result = replace(self.newton, coef=coef, information=information)
        robust = self.robust
        if robust is not None:
            root = robust.root.reshape(-1, k - 1, p1)
            root = np.einsum("iap,ba->ibp", root, np.linalg.inv(inverse_contrasts)).reshape(robust.root.shape)
            robust = replace(robust, root=root)
        return replace(self, reference=reference, newton=newton_result, robust=robust)

    def llf(self) -> float:
        """Return the log-likelihood of the classes conditional on the rows, without a penalty."""
        return self.newton.llf

    def llnull(self) -> float:
        """Return the log-likelihood of the model without slopes."""
        return float(self.counts @ np.log(self.counts / self.counts.sum()))

    def df_model(self) -> int:
        """Return the number of coefficients, p + 1 for each class except the reference."""
        return int(self.newton.coef.size)

    def refit(
        self, blocks: RowBlocks, counts: Floats, min_information_ratio: float = SEPARATION_RATIO
    ) -> LogisticFit | None:
        """Refit to other rows or other row weights, starting from the estimates.

        A penalized likelihood may have several maxima. Its search starts at the same point as a new fit and
        therefore finds the same maximum. The frame is not changed; its columns are nearly orthonormal for
        subsets of the rows, too.

        Parameters
        ----------
        blocks : RowBlocks
            Rows in blocks.
        counts : (K,) float
            Weights of the classes in these rows.
        min_information_ratio : float
            Ratio of the information to the information at the class proportions at which the search ends as
            not converged, because the classes may be separated.

        Returns
        -------
        LogisticFit or None
            Prior and moments are taken from this fit, and `robust` is None. None if the weight of a class is
            zero or the search did not converge, for example because the likelihood does not have a maximum.
        """
        if not (counts > 0).all():
            return None
        fit = self._at_class_odds(counts) if self.bias_reduction else self
        search_result = fit._continue_search(blocks, counts, MAX_STEPS, TOLERANCE, min_information_ratio)
        return (
            replace(self, counts=counts, newton=search_result, robust=None)
            if search_result.converged
            else None
        )

    def _at_class_odds(self, counts: Floats) -> LogisticFit:
        """Return the fit with zero slopes and the log odds of class counts (K,), as a start of a search."""
        start = intercept_only_coef(counts, self.reference, len(self.newton.coef))
        return replace(self, newton=replace(self.newton, coef=start))

    def unfitted_for_columns(self, moments: ClassMoments) -> LogisticFit:
        """Return an unfitted model for other columns, starting at the class proportions.

        `moments` are pooled moments of the other columns. The information and log-likelihood of the result
        are meaningless until a search.
        """
        start = intercept_only_coef(moments.counts, self.reference, moments.n_columns + 1)
        newton_start = replace(self.newton, coef=start, steps=0, converged=False)
        frame = newton_frame(moments)
        counts = moments.counts
        return replace(self, moments=moments, counts=counts, frame=frame, newton=newton_start)

    def resume(
        self,
        blocks: RowBlocks,
        tol: float,
        maxiter: int,
        *,
        overlap: bool,
        unit_weight_rows: UnitWeightRows | None = None,
    ) -> LogisticFit:
        """Continue the search for the maximum from its last coefficients after it did not converge.

        The search of a new fit ends as not converged if the information becomes so small that the classes may
        be separated (`SEPARATION_RATIO`). Here it continues regardless of that bound, because the caller has
        determined whether the classes overlap.

        Parameters
        ----------
        blocks : RowBlocks
            Rows in blocks.
        tol : float
            Tolerance in standard errors; at least `SEPARATED_TOLERANCE` if the classes do not overlap.
        maxiter : int
            Maximum number of steps, including earlier ones. A search from the maximum of `unit_weight_rows`
            has as many again.
        overlap : bool
            Whether the classes overlap. Otherwise the search ends near the supremum, and `converged` is false
            in the result.
        unit_weight_rows : UnitWeightRows, optional
            The rows with unit weights. If rounding stops the search, it continues from their maximum.

        Returns
        -------
        LogisticFit
            The fit at the new coefficients. `newton.steps` includes earlier steps, and `newton.converged` is
            False without overlap.
        """
        tol = tol if overlap else max(tol, SEPARATED_TOLERANCE)
        search_result = self._continue_search(blocks, self.counts, maxiter - self.newton.steps, tol, 0.0)
        if not search_result.converged and unit_weight_rows is not None:
            # Next to heavy rows light ones vanish in rounding. Separation does not depend on the weights.
            unit_start = self._at_class_odds(unit_weight_rows.counts)
            unit_result = unit_start._continue_search(
                unit_weight_rows.rows, unit_weight_rows.counts, maxiter, SEPARATED_TOLERANCE, 0.0
            )
            is_likelier = self.likelihood(blocks).sweep(unit_result.coef).llf > search_result.llf
            restarted = replace(self, newton=unit_result if is_likelier else search_result)
            search_result = restarted._continue_search(blocks, self.counts, maxiter, tol, 0.0)
        steps = search_result.steps + self.newton.steps
        return replace(
            self, newton=replace(search_result, steps=steps, converged=search_result.converged and overlap)
        )

    def _continue_search(
        self, blocks: RowBlocks, counts: Floats, maxiter: int, tol: float, min_information_ratio: float
    ) -> Newton:
        """Continue the search for the maximum from the current coefficients.

        Parameters
        ----------
        blocks : RowBlocks
            Rows in blocks.
        counts : (K,) float
            Counts of the classes.
        maxiter : int
            Maximum number of steps.
        tol : float
            Tolerance in standard errors.
        min_information_ratio : float
            Ratio of the information to the information at the class proportions at which the search ends as
            not converged, because the classes may be separated.

        Returns
        -------
        Newton
            Result of this search alone, converged or not; `steps` excludes earlier steps.
        """
        n_rows = int(self.moments.rows.sum())
        return _maximize_objective(
            self.likelihood(blocks), self.newton.coef, counts, tol, maxiter,
            n_rows=n_rows, penalized=self.bias_reduction, min_information_ratio=min_information_ratio,
        )  # fmt: skip

    def likelihood(self, blocks: RowBlocks) -> BlockLikelihood:
        """Return the likelihood of rows in the frame of the fit."""
        return BlockLikelihood(blocks, self.frame, self.reference)

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """Return the decision rule under a prior.

        The intercepts are shifted by the log odds of the prior against the class proportions of the rows.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities.
        method : str
            Not used.
        convention : str or None
            Not used.

        Returns
        -------
        LinearRule
            Its scores are log posteriors up to a constant of each row; without the shift, the score of the
            reference class is zero.
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
    """Compute coordinates in which the columns have unit variance over all rows and are nearly orthogonal.

    `moments` are pooled moments, whose columns must not be collinear. Columns are only standardized, not
    orthogonalized, if the condition number of their correlations is at most `MAX_CONDITION_NUMBER`.
    """
    total_moments = moments.as_one_class()
    covariance = pooled_covariance(total_moments, total_moments.total)
    singular_values = svd(covariance.root / covariance.sd, compute_uv=False)
    if singular_values[0] <= np.sqrt(MAX_CONDITION_NUMBER) * singular_values[-1]:
        covariance = Covariance.from_root(covariance.sd)
    n_rows = int(total_moments.rows[0])
    p1 = moments.n_columns + 1
    q = moments.n_classes - 1
    # Elements per row in a sweep: columns, some pairs of columns, class values and pairs of classes.
    width = 2 * p1 if q == 1 else 3 * p1 + min(q * (q + 1) // 2, q * p1) + 5 * q
    chunk_rows = max(
        int(np.clip(n_rows * p1 // CHUNKS_PER_TABLE, *CHUNK_ELEMENT_LIMITS)) // width,
        min(n_rows, MIN_CHUNK_ROWS),
        1,
    )
    # The square of a row is at most the sum over rows, which the eigenvalues of the correlations bound.
    max_squared_norm = MAX_CONDITION_NUMBER * float(total_moments.counts[0])
    return NewtonFrame(
        total_moments.centres[0],
        total_moments.rests[0],
        total_moments.scale,
        covariance,
        chunk_rows,
        max_squared_norm,
    )


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
    """Fit a multinomial logistic regression by maximum likelihood or maximum penalized likelihood.

    Parameters
    ----------
    blocks : RowBlocks
        The rows, which are read several times.
    moments : ClassMoments
        Pooled moments of the rows; no column is constant or collinear.
    prior : (K,) float
        Prior probabilities of the classes.
    reference : int
        Code of the reference class.
    estimated_prior : bool
        Whether the prior was estimated from the rows.
    tol : float
        Distance to the maximum, in standard errors, below which one more step is the last.
    maxiter : int
        Maximum number of steps; `PENALIZED_STEP_FACTOR` times as many with a penalty.
    bias_reduction : bool
        Whether to use Firth's penalty.

    Returns
    -------
    LogisticFit
        Also if the search failed; its `newton.converged` is then False.
    """
    frame = newton_frame(moments)
    counts = moments.counts
    likelihood = BlockLikelihood(blocks, frame, reference)
    start = intercept_only_coef(counts, reference, moments.n_columns + 1)
    start_sums = None
    if not bias_reduction:
        start, start_sums = choose_start(
            likelihood, moments, _information_floor(counts, reference, SEPARATION_RATIO)
        )
    n_rows = int(moments.rows.sum())
    search_result = _maximize_objective(
        likelihood,
        start,
        counts,
        tol,
        maxiter,
        n_rows=n_rows,
        penalized=bias_reduction,
        start_sums=start_sums,
    )
    return LogisticFit(
        moments, counts, prior, estimated_prior, reference, frame, search_result, bias_reduction
    )


def _maximize_objective(
    likelihood: BlockLikelihood,
    start: Floats,
    counts: Floats,
    tol: float,
    maxiter: int,
    *,
    n_rows: int,
    penalized: bool,
    min_information_ratio: float = SEPARATION_RATIO,
    start_sums: LikelihoodSums | None = None,
) -> Newton:
    """Maximize the likelihood or the penalized likelihood, with a tolerance that is not below rounding.

    Parameters
    ----------
    likelihood : BlockLikelihood
        Likelihood of the rows in the frame.
    start : (p + 1, K - 1) float
        Coefficients in the frame.
    counts : (K,) float
        Counts of the classes.
    tol : float
        Tolerance in standard errors.
    maxiter : int
        Maximum number of steps; `PENALIZED_STEP_FACTOR` times as many with a penalty.
    n_rows : int
        Number of rows; with few, each pass computes the information.
    penalized : bool
        Whether to use Firth's penalty.
    min_information_ratio : float
        Ratio of the information to its value at the class proportions at which the search ends because the
        classes are separated; 0 to search without a lower bound of the information. Not used with a penalty.
    start_sums : LikelihoodSums, optional
        The sweep at `start` if it was computed before. Not used with a penalty.

    Returns
    -------
    Newton
        The last coefficients that were reached, also if `converged` is False.
    """
    # The rounding error of a score of weight W is eps W, or eps sqrt(W) in standard errors.
    min_tolerance = max(newton.MIN_DECREMENT, 8 * EPS * float(np.sqrt(counts.sum())))
    if penalized:
        # The last step does not square the remaining distance, and more steps are needed.
        tol = max(tol * PENALIZED_TOLERANCE_FACTOR, min_tolerance)
        return newton.maximize_penalized(likelihood, start, tol=tol, maxiter=PENALIZED_STEP_FACTOR * maxiter)
    tol = max(tol, min_tolerance)
    floor = _information_floor(counts, likelihood.reference, min_information_ratio)
    # For few rows the overhead of a pass exceeds the cost of its products.
    is_costly = min_information_ratio and n_rows * start.size**2 >= MIN_COSTLY_PRODUCTS
    passes_per_information = 1 + start.size / 20 if is_costly else 0.0
    return newton.maximize(
        likelihood,
        start,
        tol=tol,
        maxiter=maxiter,
        floor=floor,
        start_sums=start_sums,
        passes_per_information=passes_per_information,
    )


def _information_floor(counts: Floats, reference: int, min_information_ratio: float) -> Floats:
    """Return the lower bound of the information of a column, for `newton.maximize`.

    It is a fraction of the information of a column of unit variance at the class proportions.

    Parameters
    ----------
    counts : (K,) float
        Counts of the classes.
    reference : int
        Code of the reference class.
    min_information_ratio : float
        The fraction.

    Returns
    -------
    (K - 1, K - 1) float
        In the order of the classes without the reference.
    """
    others = np.delete(counts, reference)
    return np.asarray(min_information_ratio * (np.diag(others) - np.outer(others, others) / counts.sum()))


def logistic_from_search(
    moments: ClassMoments,
    prior: Floats,
    *,
    reference: int,
    estimated_prior: bool,
    bias_reduction: bool,
    newton: Newton,
    robust: Sandwich | None = None,
) -> LogisticFit:
    """Rebuild a fit from its moments and the stored result of a search.

    Parameters
    ----------
    moments : ClassMoments
        Pooled moments of the rows.
    prior : (K,) float
        Prior probabilities of the classes.
    reference : int
        Code of the class without coefficients.
    estimated_prior, bias_reduction : bool
        Whether the prior is the class proportions of the rows, and whether the likelihood was penalized.
    newton : Newton
        Result of the search.
    robust : Sandwich, optional
        Robust covariance of the estimates.

    Returns
    -------
    LogisticFit
        Its frame and counts are computed from the moments.

    Raises
    ------
    InvalidStateError
        The information is not positive definite, or the search has not converged.
    """
    diagonal = np.diagonal(newton.information)
    if not (diagonal > 0).all() or not newton.converged or newton.steps < 0:
        raise InvalidStateError("its information is not positive definite, or its search did not converge")
    unit = np.sqrt(diagonal)
    correlation = newton.information / unit / unit[:, None]
    is_symmetric = (np.abs(correlation - correlation.T) <= 1e-6).all()
    if not (is_symmetric and np.linalg.eigvalsh(correlation)[0] > 0):
        raise InvalidStateError("its information is not positive definite")
    frame = newton_frame(moments)
    return LogisticFit(
        moments, moments.counts, prior, estimated_prior, reference, frame, newton, bias_reduction, robust
    )
