"""Maximum likelihood and Firth-penalized estimation of the multinomial logit, block by block over the rows.

`logistic.py` fits its models with `maximize` and `maximize_penalized`; `profile_likelihood.py` uses the
sweeps over the rows. The functions work in the coordinates of a `NewtonFrame`, not in units of the data.

Theory. With classes 1, ..., q against a reference, log odds eta_k = z'b_k (z with a leading one) and
probabilities p_k, the log-likelihood is sum w (eta_y - ln sum exp eta), concave in b. Its score is sum w z
(e_y - p)' and its information has blocks sum w p_k ([k = l] - p_l) z z'. For two classes Newton's method is
iteratively reweighted least squares.

*Accuracy.* The columns are shifted to their means and orthogonalized by the root of their total scatter. The
information is then close to a multiple of the identity, for any units, offsets and correlations of the data.

*Convergence* is judged by the Newton decrement sqrt(s'H^-1 s), the distance to the maximum in standard
errors. Once it is below a threshold, one more step squares the remaining distance. The pass over the rows at
the new coefficients computes the information and a last step, which does not require another pass.

*Existence of the maximum.* A small score does not prove that a maximum exists: if the classes are separated,
the score tends to zero although a maximum does not exist. Let v be a direction of separation, g >= 0 the
differences in log odds between a row's own class and the others along v, and G the largest of them. Then s'v
= sum w p g and v'Hv <= sum w p g^2 <= G s'v, hence s'H^-1 s >= (s'v)^2 / v'Hv >= v'Hv / G^2. With G <=
sqrt(2) max|z| |v|, a decrement d for which H - 2 d^2 max|z|^2 I is positive definite proves that such a v
does not exist. The iterations continue until this condition is met, even if the decrement is small.

*Cost.* The information is symmetric, and so is each of its blocks: among its (q p)^2 elements at most q(q +
1)/2 times p(p + 1)/2 differ. They are one product of the pairs of columns, (p(p + 1)/2, m), and the weights
of the pairs of classes, (q(q + 1)/2, m), which is a quarter of the work. The quadratic forms z'M_kl z of a
symmetric matrix M are a product with the same pairs. If the information still costs much more than the score,
steps use the information at earlier coefficients, corrected by the changes of the score since then (Nocedal,
1980, Mathematics of Computation 35, 773-782).

*Firth's penalty* keeps the estimates finite. The multinomial logit is a full exponential family, and there
the score that removes the first-order bias (Firth, 1993, Biometrika 80, 27-38) is the gradient of the
penalized likelihood l(b) + ln|I(b)|/2, with Jeffreys' prior and I the information. Its maximum exists even if
classes are separated (Heinze & Schemper, 2002, Statistics in Medicine 21, 2409-2419; Kosmidis & Firth, 2021,
Biometrika 108, 71-82). With C_ab = z'[I^-1]_ab z for a row z and the probabilities p of its classes, the row
adds to the score of class s

    z p_s { [C_ss - sum_a p_a C_aa]/2 - [sum_b p_b C_sb - sum_ab p_a p_b C_ab] },

half the derivative of its part of ln|I|.

*Its steps* are Fisher scoring steps, I^-1 times the adjusted score, halved until the penalized likelihood
rises. But I is not the curvature of the penalized likelihood: in small samples, and for separated classes,
the curvature of the penalty is as large, and Fisher scoring oscillates or converges slowly. The difference
between the curvature and I is therefore estimated from the changes of the adjusted score (Broyden, Fletcher,
Goldfarb, Shanno) and added to the current I (a structured update: Dennis, Gay & Welsch, 1981, ACM
Transactions on Mathematical Software 7, 348-368). This needs a quarter of the steps of a full BFGS update.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotri

from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.row_sums import RowBlock, RowBlocks
from discrim.core.numerics.arrays import EPS, Codes, Floats, slices
from discrim.core.numerics.map_reduce import map_reduce
from discrim.core.numerics.progress import refresh_progress

T = TypeVar("T")

MAX_STORED_STEPS = 12
"""Number of steps that the limited-memory update stores."""


class LimitedMemory:
    """Limited-memory BFGS approximation of an inverse curvature, applied to a gradient (m,).

    Parameters
    ----------
    metric : callable
        Product of the initial inverse curvature with a gradient (m,).
    """

    def __init__(self, metric: Callable[[Floats], Floats]) -> None:
        """Start without stored steps."""
        self._metric = metric
        self._pairs = deque[tuple[Floats, Floats]](maxlen=MAX_STORED_STEPS)

    def learn(self, step: Floats, decrease: Floats) -> None:
        """Store a step (m,) and the decrease (m,) of the gradient, unless the curvature is not positive."""
        if decrease @ step > 0:
            self._pairs.append((step, decrease))

    def __call__(self, gradient: Floats) -> Floats:
        """Return the ascent step (m,) for a gradient (m,) by the two-loop recursion.

        See Nocedal & Wright, 2006, Numerical Optimization, section 7.2 (algorithm 7.4).
        """
        gradient_rest = gradient.copy()
        ratios = []
        for step, fall in reversed(self._pairs):
            ratios.append(float(step @ gradient_rest) / float(step @ fall))
            gradient_rest -= ratios[-1] * fall
        step_sum = self._metric(gradient_rest)
        for (step, fall), ratio in zip(self._pairs, reversed(ratios), strict=True):
            step_sum += (ratio - float(fall @ step_sum) / float(step @ fall)) * step
        return step_sum


MAX_CLASSES_BY_BLOCK = 2
"""Largest number q of modelled classes for which the blocks are computed one by one."""

PAIRS_PER_COLUMN = 2
"""Pairs of columns per chunk, in multiples of the number of columns."""


class _LinePairs(NamedTuple):
    """Pairs of lines (i, j), i <= j, for a range of first lines i, stored one after the other.

    Attributes
    ----------
    first_lines : range
        The first lines i.
    n_pairs : int
        Number of pairs.
    """

    first_lines: range
    n_pairs: int


def _split_pairs(n_lines: int, max_pairs: int) -> list[_LinePairs]:
    """Split all pairs (i, j), i <= j, of `n_lines` lines into chunks of at most `max_pairs` pairs.

    All pairs with the same first line i are in one chunk, which can therefore be larger.
    """
    chunks = []
    start = 0
    size = 0
    for i in range(n_lines):
        if size and size + n_lines - i > max_pairs:
            chunks.append(_LinePairs(range(start, i), size))
            start = i
            size = 0
        size += n_lines - i
    return [*chunks, _LinePairs(range(start, n_lines), size)]


def _pair_products(pairs: _LinePairs, first_lines: Floats, second_lines: Floats, buffer: Floats) -> Floats:
    """Compute the elementwise products of pairs of lines, for example of columns.

    Parameters
    ----------
    pairs : _LinePairs
        Positions of the lines of the pairs.
    first_lines, second_lines : (..., n, m) float
        Lines; the first line of each pair is from `first_lines`, the second from `second_lines`.
    buffer : (size,) float
        Memory for the result.

    Returns
    -------
    (..., pairs.n_pairs, m) float
        A view of the buffer.
    """
    *points, n, m = first_lines.shape
    products = buffer[: math.prod(points) * pairs.n_pairs * m].reshape(*points, pairs.n_pairs, m)
    end = 0
    for i in pairs.first_lines:
        start = end
        end = end + n - i
        np.multiply(first_lines[..., i : i + 1, :], second_lines[..., i:, :], out=products[..., start:end, :])
    return products


class Information:
    """Accumulator of the information of a multinomial logit at one or more coefficients.

    It is the sum over rows of the Kronecker product of the weight matrix (q, q) of a row and zz', with z the
    columns of the row. In terms of the arguments of `add`, the weight matrix has the given `diagonal` and,
    elsewhere, the elements of -weighted probabilities'.

    Parameters
    ----------
    p1 : int
        Number of columns including the intercept, p + 1.
    q : int
        Number of classes without the reference.
    max_rows : int
        Maximum number of rows of one `add`.
    points : tuple of int
        Shape of the leading axes if the information is computed at several coefficients; () for one.
    """

    def __init__(self, p1: int, q: int, max_rows: int, points: tuple[int, ...] = ()) -> None:
        """Allocate the sums; see the class for the parameters."""
        self.p1 = p1
        self.q = q
        self._points = points
        # The pairs of columns are the same for all points.
        self._by_blocks = q <= MAX_CLASSES_BY_BLOCK and math.prod(points) == 1
        if self._by_blocks:
            self._blocks = np.zeros((q * (q + 1) // 2 * p1, p1))
            return
        count = math.prod(points)
        self._column_pairs, self._class_pairs = (
            _split_pairs(p1, PAIRS_PER_COLUMN * p1),
            _split_pairs(q, q * p1),
        )
        self._sums = [
            [
                np.zeros((count * classes.n_pairs, columns.n_pairs), order="F")
                for columns in self._column_pairs
            ]
            for classes in self._class_pairs
        ]
        pairs, weights = (
            max(chunk.n_pairs for chunk in chunks) for chunks in (self._column_pairs, self._class_pairs)
        )
        self._pair_buffer, self._weight_buffer = (
            np.empty(pairs * max_rows),
            np.empty(count * weights * max_rows),
        )

    def add(self, z: Floats, diagonal: Floats, weighted: Floats, probabilities: Floats) -> None:
        """Add the contribution of at most `max_rows` rows, in place.

        Parameters
        ----------
        z : (p + 1, m) float
            Columns of the rows.
        diagonal : (..., q, m) float
            Diagonal of the weight matrix of each row.
        weighted, probabilities : (..., q, m) float
            Factors of the other elements of the weight matrix: probabilities with and without row weights.
        """
        m = z.shape[1]
        if self._by_blocks:
            diagonal, weighted, probabilities = (
                array.reshape(self.q, m) for array in (diagonal, weighted, probabilities)
            )
            weights = np.vstack([diagonal, -weighted[:1] * probabilities[1:]])
            self._blocks += (weights[:, None] * z).reshape(-1, m) @ z.T
            return
        negative_weighted = -weighted
        pairs = None
        for j, class_pairs in enumerate(self._class_pairs):
            weights = _pair_products(class_pairs, negative_weighted, probabilities, self._weight_buffer)
            line = 0
            for k in class_pairs.first_lines:
                weights[..., line, :] = diagonal[..., k, :]
                line += self.q - k
            weights = weights.reshape(-1, m)
            for i, column_pairs in enumerate(self._column_pairs):
                if pairs is None or len(self._column_pairs) > 1:
                    pairs = _pair_products(column_pairs, z, z, self._pair_buffer)
                sums = self._sums[j][i]
                self._sums[j][i] = dgemm(1.0, weights.T, pairs.T, beta=1.0, c=sums, trans_a=1, overwrite_c=1)

    def as_matrix(self) -> Floats:
        """Return the information matrices (..., q (p + 1), q (p + 1)), ordered by class."""
        p1 = self.p1
        q = self.q
        if self._by_blocks:
            first_block, second_block, cross_block = np.resize(self._blocks, (3, p1, p1))
            matrix = (
                first_block
                if q == 1
                else np.vstack(
                    [np.hstack([first_block, cross_block]), np.hstack([cross_block, second_block])]
                )
            )
            return matrix.reshape(*self._points, q * p1, q * p1)
        points = max(math.prod(self._points), 1)
        sums = np.block(
            [
                [sums_chunk.reshape(points, -1, sums_chunk.shape[1]) for sums_chunk in row]
                for row in self._sums
            ]
        )
        column_positions = _pair_positions(p1)
        blocks = np.empty((points, q, p1, q, p1))
        for k, class_positions in enumerate(_pair_positions(q)):
            blocks[:, k] = sums[:, class_positions][..., column_positions].swapaxes(1, 2)
        return blocks.reshape(*self._points, q * p1, q * p1)


def _pair_positions(n_lines: int) -> Codes:
    """Return the position (n, n) of each pair of lines in the list of pairs (i, j), i <= j.

    The matrix is symmetric: a pair has one position in either order.
    """
    positions = np.empty((n_lines, n_lines), dtype=np.intp)
    upper = np.triu_indices(n_lines)
    positions[upper] = positions[upper[1], upper[0]] = np.arange(len(upper[0]))
    return positions


class QuadraticForms:
    """Quadratic forms z'M_kl z of the blocks of a symmetric matrix, computed once for each pair of classes.

    Parameters
    ----------
    matrix : (q (p + 1), q (p + 1)) float
        The symmetric matrix M, ordered by class.
    p1 : int
        Size p + 1 of a block.
    """

    def __init__(self, matrix: Floats, p1: int) -> None:
        """Arrange the blocks of the matrix; see the class for the parameters."""
        self.q = len(matrix) // p1
        self._matrix, self._packed = matrix.reshape(self.q, p1, self.q, p1), list[Floats]()
        if self.q <= MAX_CLASSES_BY_BLOCK:
            return
        ((_, self.n_pairs),) = self._columns = _split_pairs(p1, p1 * p1)
        first, second = np.triu_indices(p1)
        halves = np.where(first == second, 0.5, 1.0)
        for k in range(self.q):
            blocks = np.swapaxes(self._matrix[k, :, k:], 0, 1)
            self._packed.append((blocks[:, first, second] + blocks[:, second, first]) * halves)

    def chunk_rows(self, max_elements: int) -> int:
        """Return the number of rows, at least 16, whose pairs of columns fit `max_elements` elements."""
        return max(max_elements // (self.n_pairs if self._packed else self._matrix.shape[1]), 16)

    def iterate(self, z: Floats) -> Iterator[Floats]:
        """Yield the quadratic forms of pairs of classes, for one class after the other.

        Parameters
        ----------
        z : (p + 1, m) float
            Columns of the rows.

        Yields
        ------
        (q - k, m) float
            Forms z'M_kj z for k = 0, 1, ..., q - 1 and j = k, ..., q - 1.
        """
        if not self._packed:
            for k in range(self.q):
                yield np.stack([((self._matrix[k, :, j] @ z) * z).sum(axis=0) for j in range(k, self.q)])
            return
        pairs = _pair_products(self._columns[0], z, z, np.empty(self.n_pairs * z.shape[1]))
        for packed in self._packed:
            yield packed @ pairs


MIN_DECREMENT = 1e-12
"""Distance to the maximum, in standard errors, below which the information does not change."""

MAX_HALVINGS = 30
"""Maximum number of points that the line search tries, each at half of the previous step."""

MAX_RELATIVE_ROUNDING = 1e-8
"""Decrease of the log-likelihood L near the maximum, relative to max(1, |L|), attributed to rounding."""

ELEMENTS_PER_CLASS = 5
"""Number of elements per row and class in memory in addition to the columns."""

TOLERANCE_FACTOR = 0.1
"""Factor of the tolerance at which the information equals the information at the maximum. Steps that use an
approximate information have to promise a decrement smaller by the same factor.
"""

MAX_CONVERGENCE_RATIO = 0.7
"""Ratio of successive distances to the maximum above which steps without the information stop."""

MAX_CHEAP_PASSES = 2.0
"""Maximum number of passes without the information in a row, in multiples of the number that costs as much as
one pass with it.
"""

N_FOLLOWING_PASSES = 3
"""Number of passes that are expected after the information has been recomputed."""

ROUNDING_DECREASE = 8 * EPS
"""Decrease of the log-likelihood attributed to rounding, relative to `NewtonFrame.max_squared_norm`."""


@dataclass(frozen=True, slots=True, eq=False)
class NewtonFrame:
    """Coordinates in which the columns have unit variance and are orthogonal, at least approximately.

    Attributes
    ----------
    centre, mean : (p,) float
        Mean of all rows, rounded, in units of the data, and the remaining difference in units of z = (x -
        centre) * scale.
    scale : (p,) float
        Powers of two.
    covariance : Covariance
        Covariance of all rows about their mean, divisor N, in units of z; only its diagonal if correlations
        are weak. Columns of the frame are whitened by its root.
    chunk_rows : int
        Number of rows that are processed at once.
    max_squared_norm : float
        Upper bound of the weight of a row times its squared length, including the intercept.
    """

    centre: Floats
    mean: Floats
    scale: Floats
    covariance: Covariance
    chunk_rows: int
    max_squared_norm: float

    def transform(self, x: Floats, out: Floats | None = None) -> Floats:
        """Transform rows to the coordinates of the frame.

        Parameters
        ----------
        x : (m, p) float
            Rows in the units of the data.
        out : (p + 1, >= m) float, optional
            Buffer of the result, which is then a view of it.

        Returns
        -------
        (p + 1, m) float
            A row of ones and the transformed columns.
        """
        out = self.deviations(x, out)
        z = out[1:]
        if self.covariance.is_diagonal:
            z *= (self.scale * self.covariance.inverse)[:, None]
            z -= (self.mean * self.covariance.inverse)[:, None]
            return out
        z *= self.scale[:, None]
        z -= self.mean[:, None]
        out[1:] = self.covariance.whiten(z)
        return out

    def deviations(self, x: Floats, out: Floats | None = None) -> Floats:
        """Subtract the centre from rows, without scaling.

        Parameters
        ----------
        x : (m, p) float
            Rows in the units of the data.
        out : (p + 1, >= m) float, optional
            Buffer of the result, which is then a view of it.

        Returns
        -------
        (p + 1, m) float
            A row of ones and the deviations.
        """
        out = np.empty((x.shape[1] + 1, len(x))) if out is None else out[:, : len(x)]
        out[0] = 1.0
        np.subtract(x.T, self.centre[:, None], out=out[1:])
        return out

    def from_deviations(self) -> Floats | None:
        """Return the matrix M (p + 1, p + 1) that maps deviations to coordinates in the frame, or None.

        `transform(x)` is the product of M and `deviations(x)`, (p + 1, m). With the matrix, sums over rows of
        deviations can be transformed afterwards, which saves most of the work per row. This is accurate only
        if the frame neither rotates the columns nor rescales them by powers of two; otherwise the result is
        None.
        """
        if not self.covariance.is_diagonal or (self.scale != 1).any():
            return None
        matrix = np.diag(np.append(1.0, self.covariance.inverse))
        matrix[1:, 0] = -self.mean * self.covariance.inverse
        return matrix

    def to_data(self) -> Floats:
        """Return M (p + 1, p + 1): M b are coefficients in units of the data for coefficients b in the frame.

        Intercepts are the first elements of both.
        """
        slopes = self.covariance.unwhiten(np.eye(len(self.scale))) * self.scale[:, None]
        mean = self.centre + self.mean / self.scale
        matrix = np.zeros((len(slopes) + 1, len(slopes) + 1))
        matrix[0, 0] = 1.0
        matrix[1:, 1:] = slopes
        matrix[0, 1:] = -mean @ slopes
        return matrix


@dataclass(frozen=True, slots=True, eq=False)
class Newton:
    """Result of Newton's method, for p columns and the q = K - 1 classes other than the reference.

    After `maximize`, information and log-likelihood are at the coefficients before the last step, which is
    too short to matter.

    Attributes
    ----------
    coef : (p + 1, q) float
        Coefficients in the frame, intercepts first.
    information : (q (p + 1), q (p + 1)) float
        Information at the coefficients, ordered by class, without the curvature of a penalty.
    llf : float
        Log-likelihood, without a penalty.
    decrement : float
        Distance from the maximum in standard errors before the last step; infinite if it is unknown.
    steps : int
        Number of steps.
    converged : bool
        Whether the coefficients are at a maximum up to the tolerance.
    """

    coef: Floats
    information: Floats
    llf: float
    decrement: float
    steps: int
    converged: bool


class LikelihoodSums(NamedTuple):
    """Log-likelihood and its derivatives at coefficients (p + 1, q), computed in one pass over the rows.

    Attributes
    ----------
    llf : float
        Log-likelihood.
    score : (p + 1, q) float
        Gradient of the log-likelihood.
    information : (q (p + 1), q (p + 1)) float
        Minus the Hessian of the log-likelihood, ordered by class.
    min_weight : float
        Smallest positive row weight; infinite without rows.
    """

    llf: float
    score: Floats
    information: Floats
    min_weight: float

    def merge(self, other: LikelihoodSums) -> LikelihoodSums:
        """Return the sums over the union of two disjoint sets of rows."""
        llf, score, information, lightest = other
        return LikelihoodSums(
            self.llf + llf, self.score + score, self.information + information, min(self.min_weight, lightest)
        )


@dataclass(frozen=True, slots=True)
class BlockLikelihood:
    """Multinomial log-likelihood as a function of coefficients (p + 1, q) in a frame.

    Attributes
    ----------
    blocks : RowBlocks
        Rows in blocks.
    frame : NewtonFrame
        Coordinates of the coefficients.
    reference : int
        Code of the reference class.
    """

    blocks: RowBlocks
    frame: NewtonFrame
    reference: int

    def sweep(self, coef: Floats) -> LikelihoodSums:
        """Compute log-likelihood, score and information at coefficients (p + 1, q) in one pass."""
        return self.sweeps([coef])[0]

    def sweeps(self, coefs: Sequence[Floats]) -> list[LikelihoodSums]:
        """Compute log-likelihood, score and information at several coefficients (p + 1, q) in one pass.

        The result has one element for each of `coefs`, in their order.
        """
        merge: Callable[..., list[LikelihoodSums]] = _merge_lists(LikelihoodSums.merge)
        return self.map_reduce(_likelihood_sums, merge, coefs=np.stack(coefs), reference=self.reference)

    def gradient(self, coef: Floats) -> tuple[float, Floats]:
        """Compute log-likelihood and score (p + 1, q) in one pass, without the information."""
        return self.gradients([coef])[0]

    def gradients(self, coefs: Sequence[Floats]) -> list[tuple[float, Floats]]:
        """Compute log-likelihood and score (p + 1, q) at several coefficients (p + 1, q) in one pass.

        The result has one pair for each of `coefs`, in their order.
        """
        merge = _merge_lists(lambda a, b: (a[0] + b[0], a[1] + b[1]))
        return self.map_reduce(
            _likelihoods_and_scores, merge, coefs=np.stack(coefs), reference=self.reference
        )

    def map_reduce(self, task: Callable[..., T], merge: Callable[[T, T], T], **options: Any) -> T:
        """Apply a task to parts of the rows, possibly on workers, and merge the results.

        Parameters
        ----------
        task : callable
            Called with blocks of rows, the keyword `frame` and the keywords in `options`.
        merge : callable
            Combines the results of two parts.
        **options
            Keywords that are passed to `task`, for example coefficients and the reference class.

        Returns
        -------
        T
            The result of `task`, merged over all parts.
        """
        return map_reduce(self.blocks, partial(task, frame=self.frame, **options), merge)


def _merge_lists(merge: Callable[[T, T], T]) -> Callable[[list[T], list[T]], list[T]]:
    """Return a function that merges two lists elementwise by `merge`."""
    return lambda one, other: [merge(a, b) for a, b in zip(one, other, strict=True)]


def _likelihood_sums(
    blocks: RowBlocks, frame: NewtonFrame, coefs: Floats, reference: int
) -> list[LikelihoodSums]:
    """Compute log-likelihood, score and information of some rows at several coefficients, in the frame.

    Parameters
    ----------
    blocks : RowBlocks
        Rows in blocks.
    frame : NewtonFrame
        Coordinates of the coefficients.
    coefs : (points, p + 1, q) float
        Coefficients in the frame, for each point.
    reference : int
        Code of the reference class.

    Returns
    -------
    list of LikelihoodSums
        One for each point.
    """
    points, p1, q = coefs.shape
    llf = np.zeros(points)
    score = np.zeros((p1, points * q))
    min_weight = np.inf
    information = Information(p1, q, frame.chunk_rows, (points,))
    transform = frame.from_deviations()
    odds = _coef_rows(coefs, transform)
    for z, codes, weights in _row_chunks(
        blocks, frame, frame.chunk_rows, untransformed=transform is not None
    ):
        min_weight = min(
            min_weight, 1.0 if weights is None else weights.min(initial=np.inf, where=weights > 0)
        )
        point_odds = (odds @ z).reshape(points, q, -1)
        log_likelihoods, weighted, probabilities, residual = _likelihood_terms(
            point_odds, codes, weights, reference
        )
        llf += log_likelihoods
        score += z @ residual.reshape(points * q, -1).T
        information.add(z, weighted * (1 - probabilities), weighted, probabilities)
    information_matrices = information.as_matrix()
    if transform is not None:
        # The same transformation applies to the block of each class.
        information_matrices = (information_matrices.reshape(-1, p1) @ transform.T).reshape(
            points, q, p1, q * p1
        )
        information_matrices = np.matmul(transform, information_matrices).reshape(points, q * p1, q * p1)
        score = transform @ score
    return [
        LikelihoodSums(
            float(llf[i]), score[:, i * q : (i + 1) * q].copy(), information_matrices[i], min_weight
        )
        for i in range(points)
    ]


def _likelihoods_and_scores(
    blocks: RowBlocks, frame: NewtonFrame, coefs: Floats, reference: int
) -> list[tuple[float, Floats]]:
    """Compute log-likelihood and score of some rows at several coefficients.

    Parameters
    ----------
    blocks : RowBlocks
        Rows in blocks.
    frame : NewtonFrame
        Coordinates of the coefficients.
    coefs : (points, p + 1, q) float
        Coefficients in the frame, for each point.
    reference : int
        Code of the reference class.

    Returns
    -------
    list of (float, (p + 1, q) float)
        Log-likelihood and score at each point.
    """
    points, p1, q = coefs.shape
    llf = np.zeros(points)
    score = np.zeros((p1, points * q))
    # Without the information a row needs less memory, and more rows fit into the cache.
    chunk_rows = max(frame.chunk_rows, frame.chunk_rows * (q + 1) * p1 // (p1 + ELEMENTS_PER_CLASS * q))
    transform = frame.from_deviations()
    odds = _coef_rows(coefs, transform)
    for z, codes, weights in _row_chunks(blocks, frame, chunk_rows, untransformed=transform is not None):
        log_likelihoods, _, _, residual = _likelihood_terms(
            (odds @ z).reshape(points, q, -1), codes, weights, reference
        )
        llf += log_likelihoods
        score += z @ residual.reshape(points * q, -1).T
    score = score if transform is None else transform @ score
    return [(float(llf[i]), score[:, i * q : (i + 1) * q].copy()) for i in range(points)]


def _coef_rows(coefs: Floats, transform: Floats | None) -> Floats:
    """Reshape coefficients (points, p + 1, q) to rows (points q, p + 1), ordered by point and then class.

    The rows are multiplied by `transform` (p + 1, p + 1) unless it is None: then they apply to deviations.
    """
    coef_rows = coefs.swapaxes(1, 2).reshape(-1, coefs.shape[1])
    return coef_rows if transform is None else coef_rows @ transform


def _row_chunks(
    blocks: RowBlocks, frame: NewtonFrame, chunk_rows: int, *, untransformed: bool
) -> Iterator[RowBlock]:
    """Yield columns, class codes and weights of chunks of rows.

    The columns are overwritten in the next iteration. The progress display is refreshed after each chunk.

    Parameters
    ----------
    blocks : RowBlocks
        Rows in blocks.
    frame : NewtonFrame
        Coordinates of the coefficients.
    chunk_rows : int
        Maximum number of rows of a chunk.
    untransformed : bool
        Whether to yield deviations from the centre instead of the columns of the frame.

    Yields
    ------
    z : (p + 1, m) float
        A row of ones and the columns.
    codes : (m,) int
        Class of each row.
    weights : (m,) float or None
        Frequency weights.
    """
    buffer = np.empty((len(frame.scale) + 1, chunk_rows))
    columns = frame.deviations if untransformed else frame.transform
    for x, codes, weights in blocks:
        for row_slice in slices(len(x), chunk_rows):
            yield (
                columns(x[row_slice], buffer),
                codes[row_slice],
                None if weights is None else weights[row_slice],
            )
            refresh_progress()


def _likelihood_terms(
    odds: Floats, codes: Codes, weights: Floats | None, reference: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Compute log-likelihood, probabilities and residuals of rows at several coefficients.

    Parameters
    ----------
    odds : (points, q, m) float
        Log odds against the reference class.
    codes : (m,) int
        Class of each row.
    weights : (m,) float or None
        Frequency weights; None if all are one.
    reference : int
        Code of the reference class.

    Returns
    -------
    llf : (points,) float
        Log-likelihood at each point.
    weighted, probabilities : (points, q, m) float
        Probabilities with and without row weights.
    residual : (points, q, m) float
        Weighted indicators minus weighted probabilities.
    """
    probabilities, log_sums = softmax(odds)
    # The reference class is not among the q modelled classes.
    modelled = np.flatnonzero(codes != reference)
    modelled_codes = codes[modelled]
    modelled_codes -= modelled_codes > reference
    # Indexing the flattened array is faster than indexing by class and row.
    flat_index = modelled_codes * odds.shape[2] + modelled
    log_likelihoods = -log_sums
    weighted = probabilities if weights is None else probabilities * weights
    residual = -weighted
    for i, row_terms in enumerate(log_likelihoods):
        row_terms[modelled] += odds[i].ravel()[flat_index]
        residual[i].ravel()[flat_index] += 1.0 if weights is None else weights[modelled]
    llf = np.array(
        [row_terms.sum() if weights is None else row_terms @ weights for row_terms in log_likelihoods]
    )
    return llf, weighted, probabilities, residual


def softmax(odds: Floats) -> tuple[Floats, Floats]:
    """Return probabilities (..., q, m) for log odds (..., q, m), and ln(1 + sum exp(odds)) (..., m)."""
    peak = np.maximum(odds.max(axis=-2), 0.0)
    probabilities = np.exp(odds - peak[..., None, :])
    total = probabilities.sum(axis=-2)
    total += np.exp(-peak)
    probabilities /= total[..., None, :]
    return probabilities, peak + np.log(total)


def log_probabilities(odds: Floats, reference: int) -> tuple[Floats, Floats]:
    """Compute class probabilities from log odds against the reference class.

    Parameters
    ----------
    odds : (K - 1, m) float
        Log odds of the classes other than the reference.
    reference : int
        Code of the reference class.

    Returns
    -------
    log_probabilities : (K, m) float
        Log probabilities of all classes.
    probabilities : (K - 1, m) float
        Probabilities of the classes other than the reference.
    """
    probabilities, log_sums = softmax(odds)
    return np.insert(odds, reference, 0.0, axis=0) - log_sums, probabilities


def maximize(
    likelihood: BlockLikelihood,
    start: Floats,
    *,
    tol: float,
    maxiter: int,
    floor: Floats,
    start_sums: LikelihoodSums | None = None,
    passes_per_information: float = 0.0,
) -> Newton:
    """Maximize the log-likelihood by Newton's method with a line search.

    After a decrement below `tol`, and a proof that a maximum exists (*Existence of the maximum* in the module
    docstring), the next step is the last. The proof is omitted if `floor` is zero.

    Parameters
    ----------
    likelihood : BlockLikelihood
        The log-likelihood.
    start : (p + 1, q) float
        Coefficients in the frame.
    tol : float
        Tolerance of the decrement, in standard errors.
    maxiter : int
        Maximum number of steps to points at which the information is computed.
    floor : (q, q) float
        Lower bound of the information between the classes for each column of the frame. If the
        information falls to it, the estimates diverge; the last coefficients above it are returned as not
        converged. Zero if a maximum certainly exists; then a small decrement needs no proof of existence.
    start_sums : LikelihoodSums, optional
        The sweep at `start` if it was computed before.
    passes_per_information : float
        Number of passes without the information that cost as much as one with it; zero to compute the
        information in each pass.

    Returns
    -------
    Newton
        `steps` counts the accepted points, except `start`, at which the information was computed. Not
        converged after `maxiter` steps, if no step increases the likelihood, or if the information falls to
        the floor; in the last case the decrement is infinite.
    """
    llf, score, information, min_weight = start_sums or likelihood.sweep(start)
    search = _Search(likelihood, tol, passes_per_information)
    bound = 2 * likelihood.frame.max_squared_norm / min_weight
    maximum_exists = not floor.any()
    current = last = Newton(start, information, llf, np.inf, 0, False)
    for steps in range(maxiter + 1):
        try:
            require_above_floor(current.information, floor)
            factor = cho_factor(current.information)
        except LinAlgError:
            return replace(last, decrement=np.inf, steps=steps)
        step = _newton_step(factor, score)
        decrement = float(np.sqrt(max((score * step).sum(), 0.0)))
        last = replace(current, decrement=decrement, steps=steps)
        # If the information exceeds the bound in every direction, the classes overlap and a maximum exists.
        min_information = bound * decrement**2
        is_near = decrement <= tol and (
            maximum_exists or exceeds_floor(current.information, min_information * np.eye(len(floor)))
        )
        if is_near and decrement <= max(MIN_DECREMENT, TOLERANCE_FACTOR * tol * bool(passes_per_information)):
            return replace(last, coef=current.coef + step, converged=True)
        if steps == maxiter:
            break
        state = _SearchState(current.coef, current.llf, score, step, decrement)
        if passes_per_information and not is_near:
            state = search.step_without_information(state, factor)
        size = 1.0
        for _ in range(MAX_HALVINGS):
            new_coef = state.coef + size * state.step
            sums = likelihood.sweep(new_coef)
            if search.increases_sufficiently(sums.llf, state, size):
                break
            size /= 2
        else:
            # If classes are separated, the information vanishes and no step increases the likelihood.
            return last
        current = Newton(new_coef, sums.information, sums.llf, state.decrement, steps + 1, is_near)
        score = sums.score
        if current.converged:
            # One more step, for which the last pass has computed score and information.
            with suppress(LinAlgError):
                return replace(
                    current, coef=current.coef + _newton_step(cho_factor(current.information), score)
                )
            return current
    return last


class _SearchState(NamedTuple):
    """State of a search for the maximum.

    Attributes
    ----------
    coef : (p + 1, q) float
        Current coefficients.
    llf : float
        Log-likelihood at the coefficients.
    score : (p + 1, q) float
        Gradient at the coefficients.
    step : (p + 1, q) float
        Next step, not taken yet.
    decrement : float
        Newton decrement of the step.
    """

    coef: Floats
    llf: float
    score: Floats
    step: Floats
    decrement: float


class _Search:
    """Line search and approximate steps of `maximize`.

    Parameters
    ----------
    likelihood : BlockLikelihood
        The log-likelihood.
    tol : float
        Tolerance of the decrement, in standard errors.
    passes_per_information : float
        Number of passes without the information that cost as much as one with it.
    """

    def __init__(self, likelihood: BlockLikelihood, tol: float, passes_per_information: float) -> None:
        """Store the arguments; see the class for the parameters."""
        self.likelihood = likelihood
        self.tol = tol
        self.passes_per_information = passes_per_information
        self.rounding = ROUNDING_DECREASE * likelihood.frame.max_squared_norm

    def increases_sufficiently(self, llf: float, state: _SearchState, size: float) -> bool:
        """Return whether a step increases the log-likelihood sufficiently.

        Parameters
        ----------
        llf : float
            Log-likelihood after the step.
        state : _SearchState
            State before the step.
        size : float
            Proportion of the step that was taken.

        Returns
        -------
        bool
            True if the increase is at least 1e-4 `size` decrement^2, minus a tolerance for rounding that is
            larger if the decrement is at most 1e-4.
        """
        # Near the maximum the likelihood is flat up to rounding, and the full step is accepted.
        flatness = MAX_RELATIVE_ROUNDING * max(1.0, abs(state.llf)) if state.decrement <= 1e-4 else 0.0
        return llf >= state.llf + 1e-4 * size * state.decrement**2 - max(self.rounding, flatness)

    def step_without_information(self, state: _SearchState, factor: tuple[Floats, bool]) -> _SearchState:
        """Take quasi-Newton steps with the factored information of earlier coefficients.

        The steps end if the log-likelihood does not increase sufficiently, if the ratio of successive
        decrements is at least `MAX_CONVERGENCE_RATIO`, if the next step is expected to reach the tolerance,
        or if more than `passes_per_information` + `N_FOLLOWING_PASSES` steps are expected to be needed. Their
        number is at most `MAX_CHEAP_PASSES` times `passes_per_information`.

        Parameters
        ----------
        state : _SearchState
            Current state.
        factor : tuple
            Result of `cho_factor` for the information at its coefficients.

        Returns
        -------
        _SearchState
            State after the last step, with the next step; the given state if the first step fails.
        """
        memory = LimitedMemory(lambda gradient: np.asarray(cho_solve(factor, gradient)))
        for _ in range(int(MAX_CHEAP_PASSES * self.passes_per_information)):
            new_coef = state.coef + state.step
            llf, score = self.likelihood.gradient(new_coef)
            if not self.increases_sufficiently(llf, state, 1.0):
                break
            ascent = score.T.ravel()
            memory.learn(state.step.T.ravel(), state.score.T.ravel() - ascent)
            step = memory(ascent)
            decrement = float(np.sqrt(max(float(ascent @ step), 0.0)))
            ratio = decrement / state.decrement
            state = _SearchState(new_coef, llf, score, step.reshape(score.T.shape).T, decrement)
            target = TOLERANCE_FACTOR**2 * self.tol
            if decrement * ratio <= target or ratio >= MAX_CONVERGENCE_RATIO:
                break
            if np.log(target / decrement) / np.log(ratio) > self.passes_per_information + N_FOLLOWING_PASSES:
                break
        return state


def _newton_step(factor: tuple[Floats, bool], score: Floats) -> Floats:
    """Return Newton's step (p + 1, q) for a factored information and a score (p + 1, q)."""
    return np.asarray(cho_solve(factor, score.T.ravel()).reshape(score.T.shape).T)


def exceeds_floor(information: Floats, floor: Floats) -> bool:
    """Return whether the information minus the floor is positive definite.

    The floor is subtracted from the information between the classes of each column with itself.

    Parameters
    ----------
    information : (q (p + 1), q (p + 1)) float
        Information, ordered by class.
    floor : (q, q) float
        Lower bound for each column of the frame.

    Returns
    -------
    bool
        True if `require_above_floor` does not raise LinAlgError.
    """
    try:
        require_above_floor(information, floor)
    except LinAlgError:
        return False
    return True


def require_above_floor(information: Floats, floor: Floats) -> None:
    """Raise LinAlgError unless the information minus the floor is positive definite.

    The floor is subtracted from the information between the classes of each column with itself.

    Parameters
    ----------
    information : (q (p + 1), q (p + 1)) float
        Information, ordered by class.
    floor : (q, q) float
        Lower bound for each column of the frame.
    """
    q = len(floor)
    excess = information.copy()
    column = np.arange(len(excess) // q)
    excess.reshape(q, len(column), q, len(column))[:, column, :, column] -= floor
    cholesky(excess, overwrite_a=True)


MAX_LOG_ODDS_CHANGE = 8.0
"""Maximum change of the log odds of a row in one step of a penalized search."""

MAX_CHUNK_ELEMENTS = 2**20
"""Maximum number of elements that are processed at once."""

MIN_ROOT_DIAGONAL = 1e-140
"""Smallest diagonal element of a root of the information for which the inverse is certain to be finite."""

MAX_ROUNDING_SCORE = 1e-5
"""Norm of the adjusted score, in standard errors, that is rounding if no step increases the objective."""

MAX_HEAVY_ROUNDING_SCORE = 1e-3
"""Upper limit of this norm for rows of large weight."""

MAX_STALLED_STEPS = 20
"""Number of steps without progress after which the search ends."""


def maximize_penalized(likelihood: BlockLikelihood, start: Floats, *, tol: float, maxiter: int) -> Newton:
    """Maximize the penalized log-likelihood l(b) + ln|I(b)|/2 from one start; the maximum may be a local one.

    Parameters
    ----------
    likelihood : BlockLikelihood
        The log-likelihood without the penalty.
    start : (p + 1, q) float
        Coefficients in the frame.
    tol : float
        Norm of the adjusted score, in standard errors, at which the search ends.
    maxiter : int
        Maximum number of steps.

    Returns
    -------
    Newton
        `llf` excludes the penalty. Converged if the tolerance was reached, or if the search stalls (no step
        increases the objective, or `MAX_STALLED_STEPS` without progress) at a norm that is a rounding error.
        Not converged after `maxiter` steps or, with an infinite `decrement`, if the information at `start` is
        singular.
    """
    point = _PenalizedPoint.evaluate(likelihood, start)
    curvature_excess = np.zeros_like(point.information)
    history = _SearchHistory()
    for steps in range(maxiter + 1):
        if point.adjusted_score is None:
            return Newton(point.coef, point.information, point.llf, np.inf, steps, False)
        scoring = cho_solve(point.factor, point.adjusted_score)
        decrement = float(np.sqrt(max(point.adjusted_score @ scoring, 0.0)))
        if decrement <= tol or steps == maxiter:
            return Newton(point.coef, point.information, point.llf, decrement, steps, decrement <= tol)
        if history.has_stalled(point, decrement):
            break
        try:
            step = cho_solve(cho_factor(point.information + curvature_excess), point.adjusted_score)
        except LinAlgError:
            curvature_excess[:] = 0.0
            step = scoring
        is_near = decrement <= 1e-4
        slope = float(point.adjusted_score @ step)
        accepted = _line_search(likelihood, point, step, slope, is_near=is_near)
        if accepted is None and curvature_excess.any():
            curvature_excess[:] = 0.0
            step = scoring
            accepted = _line_search(likelihood, point, step, decrement**2, is_near=is_near)
        if accepted is None:
            break
        size, new_point = accepted
        if new_point.adjusted_score is not None:
            curvature = bfgs_update(
                new_point.information + curvature_excess,
                size * step,
                point.adjusted_score - new_point.adjusted_score,
            )
            curvature_excess = curvature - new_point.information
        point = new_point
    # No step increases the objective. The search has converged if the adjusted score is zero up to rounding.
    best, decrement = history.best
    rounding = max(MAX_ROUNDING_SCORE, best.score_rounding(likelihood.frame.max_squared_norm))
    is_rounding = decrement <= min(rounding, MAX_HEAVY_ROUNDING_SCORE)
    return Newton(best.coef, best.information, best.llf, decrement, steps, is_rounding)


class _SearchHistory:
    """Best point of a search, and a count of steps without progress.

    Attributes
    ----------
    best : (_PenalizedPoint, float)
        Point with the smallest decrement so far, and this decrement.
    """

    def __init__(self) -> None:
        """Start before the first step."""
        self.best: tuple[_PenalizedPoint, float]
        self._max_objective = -np.inf
        self._min_decrement = np.inf
        self._n_stalled_steps = 0

    def has_stalled(self, point: _PenalizedPoint, decrement: float) -> bool:
        """Record a point; return whether the last `MAX_STALLED_STEPS` steps made no progress.

        Progress is an objective above all earlier ones by more than rounding, or a decrement of at most half
        the smallest earlier one.
        """
        if decrement < self._min_decrement:
            self.best = point, decrement
        rises = point.objective > self._max_objective + point.objective_rounding
        self._n_stalled_steps = (
            0 if rises or decrement <= 0.5 * self._min_decrement else self._n_stalled_steps + 1
        )
        self._max_objective, self._min_decrement = (
            max(self._max_objective, point.objective),
            min(self._min_decrement, decrement),
        )
        return self._n_stalled_steps >= MAX_STALLED_STEPS


class _PenalizedPoint(NamedTuple):
    """Penalized likelihood and its derivatives at coefficients (p + 1, q).

    Attributes
    ----------
    coef : (p + 1, q) float
        Coefficients in the frame, intercepts first.
    llf : float
        Log-likelihood without the penalty.
    objective : float
        Penalized log-likelihood; minus infinity if the information is singular to rounding or `llf` is not
        finite.
    adjusted_score : (q (p + 1),) float or None
        Adjusted score, ordered by class; None if the information is singular to rounding or `llf` is not
        finite.
    information : (q (p + 1), q (p + 1)) float
        Information, ordered by class.
    factor : tuple
        Lower Cholesky factor of the information as of `cho_factor`; meaningless if `adjusted_score` is None.
    max_variance : float
        Largest variance of the log odds of a row, under the inverse information; infinite without a factor.
    """

    coef: Floats
    llf: float
    objective: float
    adjusted_score: Floats | None
    information: Floats
    factor: tuple[Floats, bool]
    max_variance: float

    @property
    def objective_rounding(self) -> float:
        """Difference of the penalized log-likelihood that is attributed to rounding."""
        return 64 * EPS * max(1.0, abs(self.llf), abs(self.objective))

    def score_rounding(self, weight: float) -> float:
        """Return the norm of the adjusted score, in standard errors, that is rounding for this row weight."""
        lower = dpotri(self.factor[0], lower=1)[0]
        return float(EPS * weight * np.sqrt(np.trace(lower)))

    @classmethod
    def evaluate(cls, likelihood: BlockLikelihood, coef: Floats) -> _PenalizedPoint:
        """Evaluate the penalized likelihood at coefficients (p + 1, q).

        If it is not finite, `adjusted_score` is None, `objective` minus infinity and `max_variance` infinite.
        """
        llf, score, information, _ = likelihood.sweep(coef)
        factor = _cholesky_factor(information)
        if factor is None or not np.isfinite(llf):
            return cls(coef, llf, -np.inf, None, information, (information, True), np.inf)
        adjustment, max_variance = _score_adjustment(likelihood, coef, factor)
        adjusted_score = (score + adjustment).T.ravel()
        return cls(coef, llf, llf + _half_logdet(factor), adjusted_score, information, factor, max_variance)


def _line_search(
    likelihood: BlockLikelihood, point: _PenalizedPoint, step: Floats, slope: float, *, is_near: bool
) -> tuple[float, _PenalizedPoint] | None:
    """Find the first point along halved steps that does not decrease the penalized likelihood.

    The first step is shortened if the log odds of a row would change by more than `MAX_LOG_ODDS_CHANGE`,
    because the information of the row would nearly vanish. Points at which the objective falls more steeply
    than it rose are rejected.

    Parameters
    ----------
    likelihood : BlockLikelihood
        The log-likelihood without the penalty.
    point : _PenalizedPoint
        Current point.
    step : (q (p + 1),) float
        Full step, ordered by class.
    slope : float
        Product of adjusted score and step.
    is_near : bool
        Whether the objective is not compared, because the point is close to the maximum (decrement of at most
        1e-4).

    Returns
    -------
    (float, _PenalizedPoint) or None
        Proportion of the step, and the point; None if each of the `MAX_HALVINGS` points that are tried
        decreases the objective or is rejected.
    """
    # Largest change of the log odds of a row, by the Cauchy-Schwarz inequality in the metric of the
    # information; computed exactly only if the bound is too large.
    max_change = float(np.sqrt(max(float(step @ point.information @ step), 0.0) * point.max_variance))
    if max_change > MAX_LOG_ODDS_CHANGE:
        max_change = likelihood.map_reduce(_max_log_odds_change, max, steps=step.reshape(point.coef.T.shape))
    size = min(1.0, MAX_LOG_ODDS_CHANGE / (max_change or 1.0))
    for _ in range(MAX_HALVINGS):
        new_coef = point.coef + size * step.reshape(point.coef.T.shape).T
        new_point = _PenalizedPoint.evaluate(likelihood, new_coef)
        # Near the maximum the objective is flat up to rounding, and the step is accepted.
        if new_point.adjusted_score is not None and (
            is_near
            or (
                new_point.objective >= point.objective + 1e-4 * size * slope - point.objective_rounding
                and new_point.adjusted_score @ step >= -slope
            )
        ):
            return size, new_point
        size /= 2
    return None


def _max_log_odds_change(blocks: RowBlocks, frame: NewtonFrame, steps: Floats) -> float:
    """Return the largest change of the log odds of a row for changes `steps` (q, p + 1) of coefficients."""
    return max(
        (float(np.abs(steps @ frame.transform(x)).max(initial=0.0)) for x, _, _ in blocks), default=0.0
    )


def bfgs_update(curvature: Floats, step: Floats, decrease: Floats) -> Floats:
    """Return the BFGS update of a curvature matrix.

    See Nocedal & Wright, 2006, Numerical Optimization, equation 6.19.

    Parameters
    ----------
    curvature : (m, m) float
        Positive definite curvature.
    step : (m,) float
        Change of the coefficients.
    decrease : (m,) float
        Decrease of the gradient over the step.

    Returns
    -------
    (m, m) float
        Positive definite curvature; unchanged if the gradient did not decrease along the step.
    """
    curvature_step = curvature @ step
    if decrease @ step <= 0 or step @ curvature_step <= 0:
        return curvature
    removed_term = np.outer(curvature_step, curvature_step) / (step @ curvature_step)
    added_term = np.outer(decrease, decrease) / (decrease @ step)
    return np.asarray(curvature - removed_term + added_term)


def penalized_sweep(likelihood: BlockLikelihood, coef: Floats) -> tuple[float, Floats, Floats]:
    """Compute the penalized log-likelihood, its score and the information.

    Parameters
    ----------
    likelihood : BlockLikelihood
        The log-likelihood without the penalty.
    coef : (p + 1, q) float
        Coefficients in the frame, intercepts first.

    Returns
    -------
    value : float
        Penalized log-likelihood; minus infinity if the information is singular in floating point.
    score : (p + 1, q) float
        Gradient of `value`; of the unpenalized likelihood if the information is singular.
    information : (q (p + 1), q (p + 1)) float
        Information of the unpenalized likelihood, ordered by class.
    """
    llf, score, information, _ = likelihood.sweep(coef)
    factor = _cholesky_factor(information)
    if factor is None:
        return -np.inf, score, information
    adjustment, _ = _score_adjustment(likelihood, coef, factor)
    return llf + _half_logdet(factor), score + adjustment, information


def _cholesky_factor(information: Floats) -> tuple[Floats, bool] | None:
    """Return the lower `cho_factor` of the information, or None.

    None if the information is not finite or not positive definite, or a diagonal element of its root is at
    most `MIN_ROOT_DIAGONAL`.
    """
    try:
        root, lower = cho_factor(information, lower=True)
    except (LinAlgError, ValueError):
        return None
    # The inverse has to be finite as well.
    return (root, lower) if np.diagonal(root).min(initial=1.0) > MIN_ROOT_DIAGONAL else None


def _half_logdet(factor: tuple[Floats, bool]) -> float:
    """Return ln|I|/2 from the Cholesky factor of I."""
    # The determinant of a matrix that is singular to rounding may have the wrong sign.
    return float(np.log(np.diagonal(factor[0])).sum())


def _score_adjustment(
    likelihood: BlockLikelihood, coef: Floats, factor: tuple[Floats, bool]
) -> tuple[Floats, float]:
    """Compute the gradient of ln|I|/2, in one pass over the rows.

    Parameters
    ----------
    likelihood : BlockLikelihood
        The log-likelihood without the penalty.
    coef : (p + 1, q) float
        Coefficients in the frame, intercepts first.
    factor : tuple
        Lower Cholesky factor of the information I at `coef`.

    Returns
    -------
    gradient : (p + 1, q) float
        Gradient with respect to the coefficients.
    max_variance : float
        Largest variance of the log odds of a row, under the inverse information.
    """
    lower = np.tril(dpotri(factor[0], lower=1)[0])
    inverse = lower + np.tril(lower, -1).T
    options = {"coef": coef, "reference": likelihood.reference, "inverse": inverse}
    return likelihood.map_reduce(
        _block_score_adjustment, lambda a, b: (a[0] + b[0], max(a[1], b[1])), **options
    )


def _block_score_adjustment(
    blocks: RowBlocks, frame: NewtonFrame, coef: Floats, reference: int, inverse: Floats
) -> tuple[Floats, float]:
    """Compute the gradient of ln|I|/2 and the largest variance of the log odds for some of the rows.

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
    inverse : (q (p + 1), q (p + 1)) float
        Inverse of the information.

    Returns
    -------
    gradient : (p + 1, q) float
        Contribution of the rows to the gradient.
    max_variance : float
        Largest variance of the log odds of a row.
    """
    p1, q = coef.shape
    forms = QuadraticForms(inverse, p1)
    gradient = np.zeros((p1, q))
    max_variance = 0.0
    chunk_rows = forms.chunk_rows(MAX_CHUNK_ELEMENTS)
    for x, _, weights in blocks:
        for row_slice in slices(len(x), chunk_rows):
            z = frame.transform(x[row_slice])
            probabilities = log_probabilities(coef.T @ z, reference)[1]
            variances = np.empty(probabilities.shape)
            covariances = np.zeros(probabilities.shape)
            for k, form in enumerate(forms.iterate(z)):
                variances[k] = form[0]
                covariances[k] += np.einsum("bm,bm->m", probabilities[k:], form)
                covariances[k + 1 :] += probabilities[k] * form[1:]
            contribution = 0.5 * (variances - (probabilities * variances).sum(axis=0))
            contribution -= covariances - (probabilities * covariances).sum(axis=0)
            contribution *= probabilities
            gradient += z @ (contribution if weights is None else contribution * weights[row_slice]).T
            max_variance = max(max_variance, float(variances.max(initial=0.0)))
    return gradient, max_variance
