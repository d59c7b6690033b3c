"""Maxima of the multinomial log-likelihood, and of that with Firth's penalty, block by block.

Theory. With classes 1, ..., q against a reference, log odds eta_k = z'b_k (z with a leading one) and
probabilities p_k, the log-likelihood is sum w (eta_y - ln sum exp eta), concave in b. Its score is sum w z
(e_y - p)' and its information has blocks sum w p_k ([k = l] - p_l) z z'. For two classes the step of Newton's
method is that of iteratively reweighted least squares.

*Digits.* The columns are shifted to their means and orthogonalised by the root of their total scatter, so
that the information is close to a multiple of the identity whatever the units, the offsets and the
correlations of the data.

*Convergence* is judged by the score in its own metric: the Newton decrement sqrt(s'H^-1 s) is the distance
to the maximum in standard errors. Once it is below a threshold one more step squares what is left, and the
pass that follows it gives the information there and, with its score, a last step that needs no pass.

*A maximum* is not there because the score is small: where classes are separated it falls for ever, and soon
where rows weigh little or few are off the plane. Let v be a direction in which no row contradicts the
classes, g >= 0 the leads that it gives a row's own class over the others, and G the largest. Then s'v =
sum w p g and v'Hv <= sum w p g^2 <= G s'v, so that s'H^-1 s >= (s'v)^2 / v'Hv >= v'Hv / G^2. With G <=
sqrt(2) max|z| |v|, a decrement d for which H - 2 d^2 max|z|^2 I is positive definite is thus the proof that
there is no such v. Until that holds the search goes on, be the decrement ever so small.

*Work.* The information is symmetric, and each of its blocks is too: of the (q p)^2 numbers no more than q(q +
1)/2 times p(p + 1)/2 differ. They are one product of the columns' pairs, (p(p + 1)/2, m), with the weights of
the classes' pairs, (q(q + 1)/2, m), a quarter of the work of the whole. The quadratic forms z'M_kl z of a
symmetric matrix M are a product with the same pairs. Where even so the information costs much more than the
score, steps are taken by that of an earlier place, corrected by how far the score has fallen over the steps
since (Nocedal, 1980, Mathematics of Computation 35, 773-782).

*Firth's penalty* keeps the estimates finite. The multinomial logit is a full exponential family, and there
the score that removes the bias of first order (Firth, 1993, Biometrika 80, 27-38) is the gradient of the
penalized likelihood l(b) + ln|I(b)|/2, Jeffreys' prior, I the information. Its maximum exists whether classes
are separated or not (Heinze & Schemper, 2002, Statistics in Medicine 21, 2409-2419; Kosmidis & Firth, 2021,
Biometrika 108, 71-82). With C_ab = z'[I^-1]_ab z for a row z and the probabilities p of its classes, the row
adds to the score of class s

    z p_s { [C_ss - sum_a p_a C_aa]/2 - [sum_b p_b C_sb - sum_ab p_a p_b C_ab] },

half the derivative of its part of ln|I|.

*Its steps* are those of Fisher scoring, I^-1 times the adjusted score, halved until the penalized likelihood
rises. But I is not the curvature of the penalized likelihood: in small samples, and where classes are
separated, the penalty's own is as large, and then such steps circle about the maximum or creep. So what the
curvature has beyond I is learnt from how the adjusted score falls (Broyden, Fletcher, Goldfarb, Shanno),
and added to the I of the place (a structured update: Dennis, Gay & Welsch, 1981, ACM Transactions on
Mathematical Software 7, 348-368), which takes a quarter of the steps that learning all of it does.
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

from discrim.core.covariance.covariance import EPS, Covariance
from discrim.core.moments.row_sums import RowBlock, RowBlocks
from discrim.core.numerics.arrays import Codes, Floats, slices
from discrim.core.numerics.map_reduce import map_reduce
from discrim.core.numerics.progress import refresh_progress

T = TypeVar("T")

REMEMBERED = 12
"""Steps that are learnt from."""


class LimitedMemory:
    """The inverse of a curvature, as a product with a gradient (m,), that learns from steps.

    The metric is that product of an earlier place.
    """

    def __init__(self, metric: Callable[[Floats], Floats]) -> None:
        self._metric = metric
        self._pairs = deque[tuple[Floats, Floats]](maxlen=REMEMBERED)

    def learn(self, step: Floats, fall: Floats) -> None:
        """Take in how far the gradient fell over a step; of one along which it did not, nothing is learnt."""
        if fall @ step > 0:
            self._pairs.append((step, fall))

    def __call__(self, gradient: Floats) -> Floats:
        """The step of a gradient: the two loops of Nocedal & Wright (2006, Numerical Optimization, 7.4)."""
        left = gradient.copy()
        shares = []
        for step, fall in reversed(self._pairs):
            shares.append(float(step @ left) / float(step @ fall))
            left -= shares[-1] * fall
        moved = self._metric(left)
        for (step, fall), share in zip(self._pairs, reversed(shares), strict=True):
            moved += (share - float(fall @ moved) / float(step @ fall)) * step
        return moved


FEW_CLASSES = 2
"""Classes, one of which or two have too few pairs for a product with them."""

FEWEST_LINES = 2
"""Pairs of columns of a part, in units of the columns."""


class _Pairs(NamedTuple):
    """Pairs (i, j), i <= j, of some first lines i, one after the other."""

    firsts: range
    size: int


def _parts(lines: int, most: int) -> list[_Pairs]:
    """All pairs of lines, in parts of no more than some number of pairs, or those of a single line."""
    parts = []
    start = 0
    size = 0
    for i in range(lines):
        if size and size + lines - i > most:
            parts.append(_Pairs(range(start, i), size))
            start = i
            size = 0
        size += lines - i
    return [*parts, _Pairs(range(start, lines), size)]


def _products(pairs: _Pairs, left: Floats, right: Floats, buffer: Floats) -> Floats:
    """Products (..., size, m) of pairs of lines (..., n, m), the first of each from the left, in a buffer."""
    *points, n, m = left.shape
    products = buffer[: math.prod(points) * pairs.size * m].reshape(*points, pairs.size, m)
    end = 0
    for i in pairs.firsts:
        start = end
        end = end + n - i
        np.multiply(left[..., i : i + 1, :], right[..., i:, :], out=products[..., start:end, :])
    return products


class Information:
    """Sum over rows of diag(diagonal) - weighted shares', (q, q), times zz', (p + 1, p + 1).

    Columns are p1, a leading one among them, and classes q; no more rows are added at once than a piece has.
    Of some points at once, the numbers of rows, and the information, have a leading axis of these.
    """

    def __init__(self, p1: int, q: int, piece: int, points: tuple[int, ...] = ()) -> None:
        self.p1 = p1
        self.q = q
        self._points = points
        # The pairs of columns are the same for all points.
        self._few = q <= FEW_CLASSES and math.prod(points) == 1
        if self._few:
            self._blocks = np.zeros((q * (q + 1) // 2 * p1, p1))
            return
        count = math.prod(points)
        self._columns, self._classes = _parts(p1, FEWEST_LINES * p1), _parts(q, q * p1)
        self._sums = [
            [np.zeros((count * classes.size, columns.size), order="F") for columns in self._columns]
            for classes in self._classes
        ]
        pairs, weights = (max(part.size for part in parts) for parts in (self._columns, self._classes))
        self._pairs, self._weights = np.empty(pairs * piece), np.empty(count * weights * piece)

    def add(self, z: Floats, diagonal: Floats, weighted: Floats, shares: Floats) -> None:
        """Add rows of columns z (p + 1, m) by their numbers diagonal, weighted, shares (..., q, m)."""
        m = z.shape[1]
        if self._few:
            diagonal, weighted, shares = (each.reshape(self.q, m) for each in (diagonal, weighted, shares))
            weights = np.vstack([diagonal, -weighted[:1] * shares[1:]])
            self._blocks += (weights[:, None] * z).reshape(-1, m) @ z.T
            return
        less = -weighted
        pairs = None
        for j, classes in enumerate(self._classes):
            weights = _products(classes, less, shares, self._weights)
            at = 0
            for k in classes.firsts:
                weights[..., at, :] = diagonal[..., k, :]
                at += self.q - k
            weights = weights.reshape(-1, m)
            for i, columns in enumerate(self._columns):
                if pairs is None or len(self._columns) > 1:
                    pairs = _products(columns, z, z, self._pairs)
                sums = self._sums[j][i]
                self._sums[j][i] = dgemm(1.0, weights.T, pairs.T, beta=1.0, c=sums, trans_a=1, overwrite_c=1)

    def whole(self) -> Floats:
        """The matrix (..., q (p + 1), q (p + 1)), class by class."""
        p1 = self.p1
        q = self.q
        if self._few:
            one, two, both = np.resize(self._blocks, (3, p1, p1))
            whole = one if q == 1 else np.vstack([np.hstack([one, both]), np.hstack([both, two])])
            return whole.reshape(*self._points, q * p1, q * p1)
        points = max(math.prod(self._points), 1)
        sums = np.block([[part.reshape(points, -1, part.shape[1]) for part in row] for row in self._sums])
        columns = _places(p1)
        out = np.empty((points, q, p1, q, p1))
        for k, classes in enumerate(_places(q)):
            out[:, k] = sums[:, classes][..., columns].swapaxes(1, 2)
        return out.reshape(*self._points, q * p1, q * p1)


def _places(lines: int) -> Codes:
    """The place (n, n) of each pair of lines among those of which the first is no later."""
    places = np.empty((lines, lines), dtype=np.intp)
    upper = np.triu_indices(lines)
    places[upper] = places[upper[1], upper[0]] = np.arange(len(upper[0]))
    return places


class Forms:
    """The quadratic forms z'M_kl z of the blocks of a symmetric matrix, for each pair of classes once."""

    def __init__(self, matrix: Floats, p1: int) -> None:
        self.q = len(matrix) // p1
        self._matrix, self._packed = matrix.reshape(self.q, p1, self.q, p1), list[Floats]()
        if self.q <= FEW_CLASSES:
            return
        ((_, self.pairs),) = self._columns = _parts(p1, p1 * p1)
        first, second = np.triu_indices(p1)
        halves = np.where(first == second, 0.5, 1.0)
        for k in range(self.q):
            blocks = np.swapaxes(self._matrix[k, :, k:], 0, 1)
            self._packed.append((blocks[:, first, second] + blocks[:, second, first]) * halves)

    def piece(self, numbers: int) -> int:
        """Rows at once that hold no more than some numbers, or a few."""
        return max(numbers // (self.pairs if self._packed else self._matrix.shape[1]), 16)

    def of(self, z: Floats) -> Iterator[Floats]:
        """For each class k the forms (q - k, m) of the classes from k on, of columns z (p + 1, m)."""
        if not self._packed:
            for k in range(self.q):
                yield np.stack([((self._matrix[k, :, j] @ z) * z).sum(axis=0) for j in range(k, self.q)])
            return
        pairs = _products(self._columns[0], z, z, np.empty(self.pairs * z.shape[1]))
        for packed in self._packed:
            yield packed @ pairs


ARRIVED = 1e-12
"""Distance to the maximum, in standard errors, over which the information does not change."""

HALVINGS = 30
"""Halvings of a step before the line search gives up."""

FLAT = 1e-8
"""Share of the log-likelihood that a step beside the maximum may lose by rounding."""

NUMBERS_A_CLASS = 5
"""Numbers of a row that are in memory for each class beside its columns."""

NEARLY_THERE = 0.1
"""Share of the tolerance at which the information is that of the maximum; a step that goes there is to go as
much farther, since what it will do is guessed."""

SLOW = 0.7
MOST_SHORT = 2.0
AFTER = 3
"""What is left of the distance after a step that is too slow; the passes without the information that are
made in a row at most, in units of those that cost what one with it does; and those that follow it."""

MAY_FALL = 8 * EPS
"""Share of `NewtonFrame.longest`, the weight of all rows by that of their odds, that any step may lose."""


@dataclass(frozen=True, slots=True, eq=False)
class NewtonFrame:
    """Coordinates in which the columns have unit variance over the rows and are orthogonal, or close to it.

    Attributes
    ----------
    centre, mean : (p,) float
        Grand mean, in units of the data, and what its rounding leaves in units of z.
    scale : (p,) float
        Powers of two.
    covariance : Covariance
        Of all rows, divisor N, in units of z; only its diagonal where correlations are weak.
    piece : int
        Rows of a block that are worked on at once.
    longest : float
        What the weight of a row times its squared length, a leading one included, does not exceed.
    """

    centre: Floats
    mean: Floats
    scale: Floats
    covariance: Covariance
    piece: int
    longest: float

    def columns(self, x: Floats, out: Floats | None = None) -> Floats:
        """A row of ones over the columns of the frame, (p + 1, m), of rows x (m, p); in a buffer if given."""
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
        """A row of ones over deviations (p, m) of rows x (m, p) from the centre; in a buffer if given."""
        out = np.empty((x.shape[1] + 1, len(x))) if out is None else out[:, : len(x)]
        out[0] = 1.0
        np.subtract(x.T, self.centre[:, None], out=out[1:])
        return out

    def from_deviations(self) -> Floats | None:
        """Matrix (p + 1, p + 1) that takes deviations to columns, where sums over the rows may wait for it.

        That saves most of what a row costs, and loses no digits but where columns are rotated, or in units
        that the squares of numbers do not take.
        """
        if not self.covariance.is_diagonal or (self.scale != 1).any():
            return None
        matrix = np.diag(np.append(1.0, self.covariance.inverse))
        matrix[1:, 0] = -self.mean * self.covariance.inverse
        return matrix

    def to_data(self) -> Floats:
        """Matrix (p + 1, p + 1) that takes coefficients in the frame to those of the data."""
        slopes = self.covariance.unwhiten(np.eye(len(self.scale))) * self.scale[:, None]
        middle = self.centre + self.mean / self.scale
        matrix = np.zeros((len(slopes) + 1, len(slopes) + 1))
        matrix[0, 0] = 1.0
        matrix[1:, 1:] = slopes
        matrix[0, 1:] = -middle @ slopes
        return matrix


@dataclass(frozen=True, slots=True, eq=False)
class Newton:
    """Where Newton's method ended: coefficients (p + 1, q) in the frame, the intercepts first.

    The information (q (p + 1), q (p + 1)) is that at the coefficients, class by class; the decrement is the
    distance from the maximum in standard errors, before the last step.
    """

    coef: Floats
    information: Floats
    llf: float
    decrement: float
    steps: int
    converged: bool


class Swept(NamedTuple):
    """What a pass over the rows gives at coefficients (p + 1, q), and the least weight that is not zero."""

    llf: float
    score: Floats
    information: Floats
    lightest: float

    def merge(self, other: Swept) -> Swept:
        """What a pass over the rows of both gives."""
        llf, score, information, lightest = other
        return Swept(
            self.llf + llf, self.score + score, self.information + information, min(self.lightest, lightest)
        )


@dataclass(frozen=True, slots=True)
class BlockLikelihood:
    """The likelihood of coefficients (p + 1, q) in a frame, of classes against a reference."""

    blocks: RowBlocks
    frame: NewtonFrame
    reference: int

    def sweep(self, coef: Floats) -> Swept:
        """Log-likelihood, score and information, in one pass."""
        return self.sweeps([coef])[0]

    def sweeps(self, coefs: Sequence[Floats]) -> list[Swept]:
        """The same at each of some coefficients, in one pass for all."""
        merge: Callable[..., list[Swept]] = _merged(Swept.merge)
        return self.map_reduce(_sweep, merge, coefs=np.stack(coefs), reference=self.reference)

    def gradient(self, coef: Floats) -> tuple[float, Floats]:
        """Log-likelihood and score, in one pass that is short of the information."""
        return self.gradients([coef])[0]

    def gradients(self, coefs: Sequence[Floats]) -> list[tuple[float, Floats]]:
        """The same at each of some coefficients, in one pass for all."""
        merge = _merged(lambda a, b: (a[0] + b[0], a[1] + b[1]))
        return self.map_reduce(_gradient, merge, coefs=np.stack(coefs), reference=self.reference)

    def map_reduce(self, task: Callable[..., T], merge: Callable[[T, T], T], **options: Any) -> T:
        """What a task makes of blocks, frame and options, merged over the parts of the rows."""
        return map_reduce(self.blocks, partial(task, frame=self.frame, **options), merge)


def _merged(merge: Callable[[T, T], T]) -> Callable[[list[T], list[T]], list[T]]:
    return lambda one, other: [merge(a, b) for a, b in zip(one, other, strict=True)]


def _sweep(blocks: RowBlocks, frame: NewtonFrame, coefs: Floats, reference: int) -> list[Swept]:
    points, p1, q = coefs.shape
    llf = np.zeros(points)
    score = np.zeros((p1, points * q))
    lightest = np.inf
    information = Information(p1, q, frame.piece, (points,))
    turn = frame.from_deviations()
    odds = _lines(coefs, turn)
    for z, codes, weights in _pieces(blocks, frame, frame.piece, plain=turn is not None):
        lightest = min(lightest, 1.0 if weights is None else weights.min(initial=np.inf, where=weights > 0))
        of_points = (odds @ z).reshape(points, q, -1)
        logs, weighted, shares, residual = _residual(of_points, codes, weights, reference)
        llf += logs
        score += z @ residual.reshape(points * q, -1).T
        information.add(z, weighted * (1 - shares), weighted, shares)
    whole = information.whole()
    if turn is not None:
        # Block by block, as the same matrix takes each class's columns from deviations.
        whole = (whole.reshape(-1, p1) @ turn.T).reshape(points, q, p1, q * p1)
        whole = np.matmul(turn, whole).reshape(points, q * p1, q * p1)
        score = turn @ score
    return [
        Swept(float(llf[i]), score[:, i * q : (i + 1) * q].copy(), whole[i], lightest) for i in range(points)
    ]


def _gradient(
    blocks: RowBlocks, frame: NewtonFrame, coefs: Floats, reference: int
) -> list[tuple[float, Floats]]:
    points, p1, q = coefs.shape
    llf = np.zeros(points)
    score = np.zeros((p1, points * q))
    # A row takes so much less memory that more of them stay in the cache.
    piece = max(frame.piece, frame.piece * (q + 1) * p1 // (p1 + NUMBERS_A_CLASS * q))
    turn = frame.from_deviations()
    odds = _lines(coefs, turn)
    for z, codes, weights in _pieces(blocks, frame, piece, plain=turn is not None):
        logs, _, _, residual = _residual((odds @ z).reshape(points, q, -1), codes, weights, reference)
        llf += logs
        score += z @ residual.reshape(points * q, -1).T
    score = score if turn is None else turn @ score
    return [(float(llf[i]), score[:, i * q : (i + 1) * q].copy()) for i in range(points)]


def _lines(coefs: Floats, turn: Floats | None) -> Floats:
    """Coefficients (points, p + 1, q) as lines (points q, p + 1) that a product with columns takes."""
    lines = coefs.swapaxes(1, 2).reshape(-1, coefs.shape[1])
    return lines if turn is None else lines @ turn


def _pieces(blocks: RowBlocks, frame: NewtonFrame, piece: int, *, plain: bool) -> Iterator[RowBlock]:
    """Columns (p + 1, m) or deviations, codes and weights of some rows, good until the next are made."""
    buffer = np.empty((len(frame.scale) + 1, piece))
    columns = frame.deviations if plain else frame.columns
    for x, codes, weights in blocks:
        for at in slices(len(x), piece):
            yield columns(x[at], buffer), codes[at], None if weights is None else weights[at]
            refresh_progress()


def _residual(
    odds: Floats, codes: Codes, weights: Floats | None, reference: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Log-likelihood (points,) of rows, probabilities with weights and without, and residuals with weights.

    These are (points, q, m), as the log odds at some points are.
    """
    shares, logs = _softmax(odds)
    # The reference has no line of its own.
    modelled = np.flatnonzero(codes != reference)
    line = codes[modelled]
    line -= line > reference
    # Places in all lines one after the other, which are found faster than those of a line and a row.
    places = line * odds.shape[2] + modelled
    log_shares = -logs
    weighted = shares if weights is None else shares * weights
    residual = -weighted
    for i, own in enumerate(log_shares):
        own[modelled] += odds[i].ravel()[places]
        residual[i].ravel()[places] += 1.0 if weights is None else weights[modelled]
    llf = np.array([own.sum() if weights is None else own @ weights for own in log_shares])
    return llf, weighted, shares, residual


def _softmax(odds: Floats) -> tuple[Floats, Floats]:
    """Probabilities (..., K - 1, m) of log odds, and the log (..., m) of their sum with the reference's."""
    peak = np.maximum(odds.max(axis=-2), 0.0)
    shares = np.exp(odds - peak[..., None, :])
    total = shares.sum(axis=-2)
    total += np.exp(-peak)
    shares /= total[..., None, :]
    return shares, peak + np.log(total)


def log_probabilities(odds: Floats, reference: int) -> tuple[Floats, Floats]:
    """Log probabilities (K, m) of all classes, and probabilities (K - 1, m) of those but the reference."""
    shares, logs = _softmax(odds)
    return np.insert(odds, reference, 0.0, axis=0) - logs, shares


def maximize(
    likelihood: BlockLikelihood,
    start: Floats,
    *,
    tol: float,
    maxiter: int,
    floor: Floats,
    first: Swept | None = None,
    short: float = 0.0,
) -> Newton:
    """Newton's method with a line search, from coefficients (p + 1, q) in the frame.

    After a decrement below `tol`, `ARRIVED` or more, the next step is the last. The floor (q, q) is
    information between the classes, of each column of the frame, that no direction's may fall to: the
    estimates run away there, and the search ends at the last that did not, not converged. Where it is zero, a
    maximum is known to exist, and a small decrement needs no proof that there is one. `first` is the sweep at
    the start, where it was made already; so many passes without the information as `short` says cost what one
    with it does, and zero asks for none. The steps of the answer are those from passes with the information.
    """
    llf, score, information, lightest = first or likelihood.sweep(start)
    search = _Search(likelihood, tol, short)
    bound = 2 * likelihood.frame.longest / lightest
    known = not floor.any()
    place = last = Newton(start, information, llf, np.inf, 0, False)
    for steps in range(maxiter + 1):
        try:
            above(place.information, floor)
            factor = cho_factor(place.information)
        except LinAlgError:
            return replace(last, decrement=np.inf, steps=steps)
        step = _solved(factor, score)
        decrement = float(np.sqrt(max((score * step).sum(), 0.0)))
        last = replace(place, decrement=decrement, steps=steps)
        # Whether the information exceeds the bound in every direction, so that the classes overlap.
        least = bound * decrement**2
        near = decrement <= tol and (known or informs(place.information, least * np.eye(len(floor))))
        if near and decrement <= max(ARRIVED, NEARLY_THERE * tol * bool(short)):
            return replace(last, coef=place.coef + step, converged=True)
        if steps == maxiter:
            break
        ahead = _Ahead(place.coef, place.llf, score, step, decrement)
        if short and not near:
            ahead = search.without_information(ahead, factor)
        size = 1.0
        for _ in range(HALVINGS):
            moved = ahead.coef + size * ahead.step
            swept = likelihood.sweep(moved)
            if search.rises(swept.llf, ahead, size):
                break
            size /= 2
        else:
            # No step leads up where the information is lost in rounding, far out where classes are separated.
            return last
        place = Newton(moved, swept.information, swept.llf, ahead.decrement, steps + 1, near)
        score = swept.score
        if place.converged:
            # One step more, for which the last pass has all that is needed.
            with suppress(LinAlgError):
                return replace(place, coef=place.coef + _solved(cho_factor(place.information), score))
            return place
    return last


class _Ahead(NamedTuple):
    """A place of a search, and the step that it goes on by."""

    coef: Floats
    llf: float
    score: Floats
    step: Floats
    decrement: float


class _Search:
    """What is the same in all of a search's steps."""

    def __init__(self, likelihood: BlockLikelihood, tol: float, short: float) -> None:
        self.likelihood = likelihood
        self.tol = tol
        self.short = short
        self.rounding = MAY_FALL * likelihood.frame.longest

    def rises(self, llf: float, ahead: _Ahead, size: float) -> bool:
        """Whether a share of the step led up."""
        # Beside the maximum the likelihood is flat to rounding: there the step is right as it is.
        near = FLAT * max(1.0, abs(ahead.llf)) if ahead.decrement <= 1e-4 else 0.0
        return llf >= ahead.llf + 1e-4 * size * ahead.decrement**2 - max(self.rounding, near)

    def without_information(self, ahead: _Ahead, factor: tuple[Floats, bool]) -> _Ahead:
        """Where steps lead whose information is that of an earlier place, as long as they lead on fast.

        The place is left where as many more would be needed as cost more than a pass with the information and
        those that follow it, or where the next step takes the search to its end.
        """
        memory = LimitedMemory(lambda gradient: np.asarray(cho_solve(factor, gradient)))
        for _ in range(int(MOST_SHORT * self.short)):
            moved = ahead.coef + ahead.step
            llf, score = self.likelihood.gradient(moved)
            if not self.rises(llf, ahead, 1.0):
                break
            ascent = score.T.ravel()
            memory.learn(ahead.step.T.ravel(), ahead.score.T.ravel() - ascent)
            step = memory(ascent)
            decrement = float(np.sqrt(max(float(ascent @ step), 0.0)))
            fell = decrement / ahead.decrement
            ahead = _Ahead(moved, llf, score, step.reshape(score.T.shape).T, decrement)
            goal = NEARLY_THERE**2 * self.tol
            if decrement * fell <= goal or fell >= SLOW:
                break
            if np.log(goal / decrement) / np.log(fell) > self.short + AFTER:
                break
        return ahead


def _solved(factor: tuple[Floats, bool], score: Floats) -> Floats:
    """Newton's step (p + 1, q), by the factor of the information."""
    return np.asarray(cho_solve(factor, score.T.ravel()).reshape(score.T.shape).T)


def informs(information: Floats, floor: Floats) -> bool:
    """Whether the information exceeds the floor in every direction."""
    try:
        above(information, floor)
    except LinAlgError:
        return False
    return True


def above(information: Floats, floor: Floats) -> None:
    """Raise LinAlgError unless the information exceeds the floor in every direction."""
    q = len(floor)
    excess = information.copy()
    column = np.arange(len(excess) // q)
    excess.reshape(q, len(column), q, len(column))[:, column, :, column] -= floor
    cholesky(excess, overwrite_a=True)


LONGEST = 8.0
"""Log odds that a step moves a row by at most."""

PIECE = 2**20
"""Numbers worked on at once."""

LEAST_ROOT = 1e-140
"""Least number on the diagonal of a root of the information whose inverse is sure to be finite."""

ROUNDED_SCORE = 1e-5
OF_HEAVY_ROWS = 1e-3
"""Adjusted score, in standard errors, that may be rounding where no step leads up; and of heavy rows."""

IN_VAIN = 20
"""Steps that neither rise nor come closer after which a search has ended."""


def maximize_penalized(likelihood: BlockLikelihood, start: Floats, *, tol: float, maxiter: int) -> Newton:
    """The maximum of l(b) + ln|I(b)|/2, as by `maximize`.

    The search ends at an adjusted score of `tol` standard errors. The `llf` is that without the penalty.
    """
    at = _Point.of(likelihood, start)
    beyond = np.zeros_like(at.information)
    progress = _Progress()
    for steps in range(maxiter + 1):
        if at.adjusted is None:
            return Newton(at.coef, at.information, at.llf, np.inf, steps, False)
        scoring = cho_solve(at.factor, at.adjusted)
        decrement = float(np.sqrt(max(at.adjusted @ scoring, 0.0)))
        if decrement <= tol or steps == maxiter:
            return Newton(at.coef, at.information, at.llf, decrement, steps, decrement <= tol)
        if progress.has_ended(at, decrement):
            break
        try:
            step = cho_solve(cho_factor(at.information + beyond), at.adjusted)
        except LinAlgError:
            beyond[:] = 0.0
            step = scoring
        near = decrement <= 1e-4
        slope = float(at.adjusted @ step)
        moved = _risen(likelihood, at, step, slope, near=near)
        if moved is None and beyond.any():
            beyond[:] = 0.0
            step = scoring
            moved = _risen(likelihood, at, step, decrement**2, near=near)
        if moved is None:
            break
        size, there = moved
        if there.adjusted is not None:
            curvature = learnt(there.information + beyond, size * step, at.adjusted - there.adjusted)
            beyond = curvature - there.information
        at = there
    # No step leads up: what is left of the adjusted score is rounding, if it is no more than that could be.
    best, decrement = progress.best
    rounding = max(ROUNDED_SCORE, best.rounding(likelihood.frame.longest))
    rounded = decrement <= min(rounding, OF_HEAVY_ROWS)
    return Newton(best.coef, best.information, best.llf, decrement, steps, rounded)


class _Progress:
    """Whether a search still rises, or comes closer."""

    def __init__(self) -> None:
        self.best: tuple[_Point, float]
        self._goal = -np.inf
        self._closest = np.inf
        self._in_vain = 0

    def has_ended(self, at: _Point, decrement: float) -> bool:
        """Whether many steps have done neither, with that to a point."""
        if decrement < self._closest:
            self.best = at, decrement
        rises = at.goal > self._goal + at.flat
        self._in_vain = 0 if rises or decrement <= 0.5 * self._closest else self._in_vain + 1
        self._goal, self._closest = max(self._goal, at.goal), min(self._closest, decrement)
        return self._in_vain >= IN_VAIN


class _Point(NamedTuple):
    """The penalized likelihood at coefficients (p + 1, q); minus infinity and no score where it is lost.

    The farthest row is that whose log odds have the largest variance, which is given.
    """

    coef: Floats
    llf: float
    goal: float
    adjusted: Floats | None
    information: Floats
    factor: tuple[Floats, bool]
    farthest: float

    @property
    def flat(self) -> float:
        """What the goal may differ by from rounding."""
        return 64 * EPS * max(1.0, abs(self.llf), abs(self.goal))

    def rounding(self, weight: float) -> float:
        """Adjusted score, in standard errors, that rounding may leave of rows of a weight in all."""
        lower = dpotri(self.factor[0], lower=1)[0]
        return float(EPS * weight * np.sqrt(np.trace(lower)))

    @classmethod
    def of(cls, likelihood: BlockLikelihood, coef: Floats) -> _Point:
        llf, score, information, _ = likelihood.sweep(coef)
        factor = _factored(information)
        if factor is None or not np.isfinite(llf):
            return cls(coef, llf, -np.inf, None, information, (information, True), np.inf)
        adjustment, farthest = _adjustment(likelihood, coef, factor)
        adjusted = (score + adjustment).T.ravel()
        return cls(coef, llf, llf + _half_logdet(factor), adjusted, information, factor, farthest)


def _risen(
    likelihood: BlockLikelihood, at: _Point, step: Floats, slope: float, *, near: bool
) -> tuple[float, _Point] | None:
    """The first point along halved steps that is no lower, and the share of the step; None without one.

    No row's log odds move far at once, where its information would be all but lost, and the step after
    would lead anywhere; nor is a point taken where the goal falls more steeply than it rose before.
    """
    # Largest change of the log odds of a row, by the Cauchy-Schwarz inequality in the metric of the
    # information; computed exactly only if the bound is too large.
    largest = float(np.sqrt(max(float(step @ at.information @ step), 0.0) * at.farthest))
    if largest > LONGEST:
        largest = likelihood.map_reduce(_longest, max, lines=step.reshape(at.coef.T.shape))
    size = min(1.0, LONGEST / (largest or 1.0))
    for _ in range(HALVINGS):
        moved = at.coef + size * step.reshape(at.coef.T.shape).T
        there = _Point.of(likelihood, moved)
        # Beside the maximum the goal is flat to rounding: there the step is right as it is.
        if there.adjusted is not None and (
            near
            or (there.goal >= at.goal + 1e-4 * size * slope - at.flat and there.adjusted @ step >= -slope)
        ):
            return size, there
        size /= 2
    return None


def _longest(blocks: RowBlocks, frame: NewtonFrame, lines: Floats) -> float:
    return max((float(np.abs(lines @ frame.columns(x)).max(initial=0.0)) for x, _, _ in blocks), default=0.0)


def learnt(curvature: Floats, step: Floats, fall: Floats) -> Floats:
    """A curvature (m, m), corrected by how far the gradient (m,) fell over a step.

    It stays positive definite. The update is that of Broyden, Fletcher, Goldfarb and Shanno (Nocedal &
    Wright, 2006, Numerical Optimization, equation 6.19); where the gradient did not fall along the step
    there is nothing to learn.
    """
    known = curvature @ step
    if fall @ step <= 0 or step @ known <= 0:
        return curvature
    forgotten = np.outer(known, known) / (step @ known)
    taught = np.outer(fall, fall) / (fall @ step)
    return np.asarray(curvature - forgotten + taught)


def penalized_sweep(likelihood: BlockLikelihood, coef: Floats) -> tuple[float, Floats, Floats]:
    """Penalized log-likelihood, its score (p + 1, q) and the information.

    Where the information is singular in floating point the penalized likelihood is minus infinity.
    """
    llf, score, information, _ = likelihood.sweep(coef)
    factor = _factored(information)
    if factor is None:
        return -np.inf, score, information
    adjustment, _ = _adjustment(likelihood, coef, factor)
    return llf + _half_logdet(factor), score + adjustment, information


def _factored(information: Floats) -> tuple[Floats, bool] | None:
    """Its lower triangular root; None where it is singular to rounding, or not finite."""
    try:
        root, lower = cho_factor(information, lower=True)
    except (LinAlgError, ValueError):
        return None
    # The inverse has to be finite as well.
    return (root, lower) if np.diagonal(root).min(initial=1.0) > LEAST_ROOT else None


def _half_logdet(factor: tuple[Floats, bool]) -> float:
    # By the root: of a matrix that is singular to rounding the sign of the determinant says nothing.
    return float(np.log(np.diagonal(factor[0])).sum())


def _adjustment(
    likelihood: BlockLikelihood, coef: Floats, factor: tuple[Floats, bool]
) -> tuple[Floats, float]:
    """Gradient (p + 1, q) of ln|I|/2, and the largest variance of the log odds of a row."""
    lower = np.tril(dpotri(factor[0], lower=1)[0])
    inverse = lower + np.tril(lower, -1).T
    options = {"coef": coef, "reference": likelihood.reference, "inverse": inverse}
    return likelihood.map_reduce(_adjusting, lambda a, b: (a[0] + b[0], max(a[1], b[1])), **options)


def _adjusting(
    blocks: RowBlocks, frame: NewtonFrame, coef: Floats, reference: int, inverse: Floats
) -> tuple[Floats, float]:
    p1, q = coef.shape
    forms = Forms(inverse, p1)
    gradient = np.zeros((p1, q))
    farthest = 0.0
    piece = forms.piece(PIECE)
    for x, _, weights in blocks:
        for at in slices(len(x), piece):
            z = frame.columns(x[at])
            shares = log_probabilities(coef.T @ z, reference)[1]
            variances = np.empty(shares.shape)
            across = np.zeros(shares.shape)
            for k, form in enumerate(forms.of(z)):
                variances[k] = form[0]
                across[k] += np.einsum("bm,bm->m", shares[k:], form)
                across[k + 1 :] += shares[k] * form[1:]
            part = 0.5 * (variances - (shares * variances).sum(axis=0))
            part -= across - (shares * across).sum(axis=0)
            part *= shares
            gradient += z @ (part if weights is None else part * weights[at]).T
            farthest = max(farthest, float(variances.max(initial=0.0)))
    return gradient, farthest
