"""Rosenblatt's perceptron, its bound, and the pocket.

Theory (Rosenblatt, 1958, Psychological Review 65, 386-408). Rows z = (1, x) of the two classes carry y = 1
and -1. From b = b0, rows are visited in turn, and one on the wrong side, y z'b <= 0, moves b by step * y z.
Where some b of length one has y z'b >= m > 0 for all rows, and R is the length of the longest, there are at
most (R/m)^2 + 2 |b0| / (step m) moves, for every order: t moves make u'b at least t m step - |b0|, and |b|^2
at most |b0|^2 + t R^2 step^2 (Novikoff, 1962, Proc. Symposium on the Mathematical Theory of Automata 12,
615-622, with b0 = 0, where the step only scales b). Where there is no such b the rule runs for ever.

The *pocket* then keeps the b of fewest errors (Gallant, 1990, IEEE Transactions on Neural Networks 1,
179-191). Up to `COUNTED` rows the errors of each b on the way are counted. Of more rows that would cost far
more than the rule itself, and the pocket works with Gallant's ratchet: a b whose run of right rows is longer
than the run of the one kept is counted, and takes its place if it has fewer errors. So are those at the ends
of passes.

*Rows left out.* The rule runs over the table without each of its rows, all of these runs side by side. A run
without row i visits the others in the order of a table that never had it: what stands at position q
of that order is row q for i > q and row q + 1 for the others. So at each step of a pass all runs look at one
of two rows, whether the order is that of the table or is drawn anew for n - 1 rows in each pass. Moves,
records and pockets are those of the rule without the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.errors import InvalidStateError
from discrim.core.hyperplanes.hyperplane import largest_margin, plane_rule, positive_rows
from discrim.core.hyperplanes.separation import separation, standard
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats, Mask, are_flags, are_whole
from discrim.core.numerics.progress import Progress, refresh_progress
from discrim.core.rules.rules import LinearRule


def left_out_planes(
    signed: Floats,
    begin: Floats,
    *,
    passes: int,
    seed: int | None,
    every: bool,
    seen: Callable[[], object] = lambda: None,
) -> Floats:
    """Coefficients (n, p + 1) of the plane without each row: of the last pass, or of the pocket.

    Rows y (1, x) are of a size whose products are doubles, and every run begins at the same coefficients (p +
    1,). The pocket counts the errors of every plane on the way, or else those that the ratchet lets by.

    Examples
    --------
    >>> signed = np.array([[-1.0, 0.0], [-1.0, -1.0], [1.0, 3.0], [1.0, 4.0]])
    >>> left_out_planes(signed, np.zeros(2), passes=100, seed=None, every=True).tolist()
    [[-4.0, 2.0], [-1.0, 3.0], [-3.0, 2.0], [-4.0, 2.0]]
    """
    rng = None if seed is None else np.random.default_rng(seed)
    runs = _Runs(signed, begin, every)
    coef = np.zeros(signed.shape)
    for _ in range(passes):
        order = np.arange(len(signed) - 1) if rng is None else rng.permutation(len(signed) - 1)
        at_rest = runs.visit(order)
        coef[runs.without[at_rest]] = runs.coef[at_rest]
        runs.keep_only(~at_rest)
        seen()
        if not len(runs.without):
            return coef
    coef[runs.without] = runs.pocket
    return coef


class _Runs:
    """Coefficients under way of m runs, the rows (m,) that they are without, and the best of each."""

    def __init__(self, signed: Floats, begin: Floats, every: bool) -> None:
        n = len(signed)
        self.signed = signed
        self.step = 0
        self.every = every
        self.without = np.arange(n)
        # A row on the plane is of the first class by the rule, which is right only if it is of this one.
        order = np.argsort(signed[:, 0] < 0, kind="stable")
        self.sorted, self.second = signed[order], int((signed[:, 0] > 0).sum())
        self.place = np.argsort(order)
        self.coef, self.pocket = np.tile(begin, (n, 1)), np.zeros(signed.shape)
        self.fewest, self.longest = np.full(n, n - 1), np.zeros(n, dtype=np.intp)
        self.since = np.zeros(n, dtype=np.intp)
        """The step after the last move."""

    def visit(self, order: Codes) -> Mask:
        """One pass; which of the runs (m,) moved nothing in it."""
        signed = self.signed
        at_rest = np.ones(len(self.coef), dtype=bool)
        values = np.empty(len(self.coef))
        splits = np.searchsorted(self.without, order, side="right")
        for q, split in zip(order.tolist(), splits.tolist(), strict=True):
            np.dot(self.coef[:split], signed[q + 1], out=values[:split])
            np.dot(self.coef[split:], signed[q], out=values[split:])
            wrong = np.flatnonzero(values <= 0)
            if wrong.size:
                self._move(wrong, q, int(np.searchsorted(wrong, split)))
                at_rest[wrong] = False
            self.step += 1
        self._keep(np.arange(len(self.coef)))
        return at_rest

    def keep_only(self, which: Mask) -> None:
        """Go on with some of the runs (m,)."""
        for name in ("without", "coef", "pocket", "fewest", "longest", "since"):
            setattr(self, name, getattr(self, name)[which])

    def _move(self, wrong: Codes, q: int, split: int) -> None:
        """Move runs that row q + 1, or from a split on row q, is on the wrong side of."""
        right = self.step - self.since[wrong]
        # Runs of no row have no record to beat, and yet any coefficients are better than none.
        record = (right > self.longest[wrong]) | (self.fewest[wrong] == len(self.signed) - 1) | self.every
        if record.any():
            self._keep(wrong[record])
        self.coef[wrong[:split]] += self.signed[q + 1]
        self.coef[wrong[split:]] += self.signed[q]
        self.since[wrong] = self.step + 1

    def _keep(self, at: Codes) -> None:
        """Put coefficients of runs into their pockets where none have had so few errors."""
        coef = self.coef[at]
        values = coef @ self.sorted.T
        rows = np.arange(len(at))
        left_out = self.place[self.without[at]]
        errors = np.count_nonzero(values[:, : self.second] <= 0, axis=1)
        errors += np.count_nonzero(values[:, self.second :] < 0, axis=1)
        value = values[rows, left_out]
        errors -= np.where(left_out < self.second, value <= 0, value < 0)
        better = (errors < self.fewest[at]) & coef.any(axis=1)
        self.pocket[at[better]], self.fewest[at[better]] = coef[better], errors[better]
        self.longest[at[better]] = self.step - self.since[at[better]]


PASSES = {True: 1000, False: 100}
"""Passes, unless it is told otherwise, where the classes can be separated, and where they cannot."""

COUNTED = 500
"""Rows up to which the errors of every plane on the way are counted."""

PIECES = (32, 8192)
"""Rows looked at at once: after a move few, for the next may be near; then ever more."""


@dataclass(frozen=True, slots=True, eq=False)
class Perceptron:
    """Where the rule ended.

    Attributes
    ----------
    coef : (p + 1,) float
        The intercept first: of the last pass where it converged, else of the pocket.
    history : (passes, 2) int
        Moves in each pass, and rows that the plane at its end calls wrong; one on it is of the first class.
    losses : (passes,) float
        Sums of -y z'b over the rows on the wrong side at the end of each pass.
    errors, margin : int, float
        Of the plane kept: rows that it calls wrong, and its least distance from a row, negative where one is
        on the wrong side; zero without a plane, where no column has a coefficient.
    kept : int
        The pass, from 1, that found the plane that is kept.
    """

    coef: Floats
    converged: bool
    history: NDArray[np.int64]
    losses: Floats
    errors: int
    margin: float
    kept: int


def perceptron(
    x: Floats,
    positive: Mask,
    *,
    step: float,
    passes: int,
    seed: int | None,
    start: Floats | None = None,
    seen: Callable[[], object] = lambda: None,
) -> Perceptron:
    """Rosenblatt's rule for rows x (n, p), some positive (n,), pass after pass until one moves nothing.

    Parameters
    ----------
    passes : int
        After which the rule is stopped; `seen` is called after each.
    seed : int or None
        Of the order of the rows, new in each pass; None for the order they have.
    start : (p + 1,) float, optional
        Coefficients to begin with, the intercept first; by default zeros.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> found = perceptron(x, np.array([False, False, True, True]), step=1.0, passes=100, seed=None)
    >>> found.converged, found.coef.tolist(), int(found.history[:, 0].sum())
    (True, [-4.0, 2.0], 8)
    """
    signed, unit = _signed(x, positive)
    rng = None if seed is None else np.random.default_rng(seed)
    run = _Run(signed, _begin(start, step, unit, signed.shape[1]))
    history = []
    losses = []
    for number in range(1, passes + 1):
        run.number = number
        moves = run.visit(signed if rng is None else signed[rng.permutation(len(signed))])
        history.append((moves, run.keep()))
        losses.append(run.loss())
        seen()
        if not moves:
            break
    converged = not history[-1][0]
    coef, errors = (run.coef, 0) if converged else (run.pocket, run.fewest)
    length = float(np.linalg.norm(coef[1:]))
    margin = unit * float((signed @ coef).min()) / length if length > 0 else 0.0
    # The last pass of a rule that has converged moves nothing: it finds the plane of the pass before.
    kept = max(len(history) - 1, 1) if converged else run.kept
    with np.errstate(over="ignore"):
        loss = step * unit * (unit * np.array(losses))
    return Perceptron(
        step * (unit * coef), converged, np.array(history, dtype=np.int64), loss, errors, margin, kept
    )


def first_moves(
    x: Floats,
    positive: Mask,
    *,
    step: float,
    seed: int | None,
    most: int,
    start: Floats | None = None,
) -> tuple[Codes, Floats]:
    """The first moves of the rule, as of `perceptron`: rows (u,) and coefficients (u, p + 1) after each.

    There are `most` moves, or fewer where the rule comes to rest.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> rows, coef = first_moves(x, np.array([False, False, True, True]), step=1.0, seed=None, most=8)
    >>> rows[:3].tolist(), coef[-1].tolist()
    ([0, 2, 0], [-4.0, 2.0])
    """
    signed, unit = _signed(x, positive)
    rng = None if seed is None else np.random.default_rng(seed)
    coef = _begin(start, step, unit, signed.shape[1])
    moved: list[int] = []
    after: list[Floats] = []
    at = 0
    order = np.arange(0)
    quiet = False
    while len(moved) < most:
        if at == len(order):
            if quiet:
                break
            order = np.arange(len(signed)) if rng is None else rng.permutation(len(signed))
            at = 0
            quiet = True
        wrong = signed[order[at:]] @ coef <= 0
        if not wrong.any():
            at = len(order)
            continue
        row = int(order[at + int(np.argmax(wrong))])
        at = at + int(np.argmax(wrong)) + 1
        quiet = False
        coef = coef + signed[row]
        moved.append(row)
        after.append(step * (unit * coef))
    return np.array(moved, dtype=np.intp), np.array(after).reshape(-1, signed.shape[1])


def _signed(x: Floats, positive: Mask) -> tuple[Floats, float]:
    """Rows y (1, x) over a unit, and this unit.

    Coefficients are counted in steps and in a power of two as the unit of rows: moves do not depend on how a
    step rounds, and squares of rows do not overflow.
    """
    signed = np.column_stack([np.ones(len(x)), x])
    signed[~positive] *= -1
    unit = float(2.0 ** np.floor(np.log2(np.abs(signed).max())))
    signed /= unit
    return signed, unit


def _begin(start: Floats | None, step: float, unit: float, size: int) -> Floats:
    """The first coefficients (size,), in steps and in the unit of rows."""
    return np.zeros(size) if start is None else start / step / unit


class _Run:
    """Coefficients under way, and the best of them."""

    def __init__(self, signed: Floats, begin: Floats) -> None:
        self.signed = signed
        self.coef = begin
        self.pocket, self.fewest = self.coef, len(signed)
        self.right = 0
        self.longest = 0
        self.number = self.kept = 1

    def visit(self, rows: Floats) -> int:
        """One pass over rows in their order: the number of moves."""
        at = 0
        moves = 0
        piece = PIECES[0]
        coef = self.coef
        n = len(rows)
        while at < n:
            wrong = rows[at : at + piece].dot(coef) <= 0.0
            first = int(wrong.argmax())
            if not wrong[first]:
                self.right += len(wrong)
                at = at + piece
                piece = min(2 * piece, PIECES[1])
                continue
            self.right += first
            # Runs of no row have no record to beat, and yet any coefficients are better than none.
            if n <= COUNTED or self.right > self.longest or self.fewest == n:
                self.keep()
            self.coef = coef = coef + rows[at + first]
            at = at + first + 1
            moves = moves + 1
            piece = PIECES[0]
            self.right = 0
        return moves

    def keep(self) -> int:
        """Errors of the coefficients, which go into the pocket if they are some and none have had so few."""
        values = self.signed @ self.coef
        # A row on the plane moves it, though the rule calls it of the first class and is right if it is.
        errors = int((values < 0).sum()) + int((values[self.signed[:, 0] > 0] == 0).sum())
        if errors < self.fewest and self.coef.any():
            self.pocket = self.coef
            self.fewest = errors
            self.kept = self.number
            self.longest = self.right
        return errors

    def loss(self) -> float:
        """Rosenblatt's criterion: what the values of rows on the wrong side lack to zero, summed."""
        return float(np.maximum(-(self.signed @ self.coef), 0.0).sum())


@dataclass(frozen=True, slots=True, eq=False)
class PerceptronFit:
    """A perceptron for two classes, or one for each of more against the rest.

    The rule makes no use of the prior (K,), the class proportions.

    Attributes
    ----------
    passes : tuple of int, by plane
        After which each would have been stopped.
    coef : (p + 1, P) float
        By plane, the intercepts first.
    planes : (P, 7) float
        By plane: whether the classes can be separated, whether the rule converged, passes, moves, errors,
        margin, and the bound on the moves to the power of -1/2 (from zero the largest margin of all relative
        to the longest row, m/R), zero where there is none.
    history, losses : (., 4) float, (.,) float
        Plane, pass, moves, errors; and Rosenblatt's criterion at the end of each pass.
    start : (p + 1, P) float or None
        Coefficients at the beginning; None for zeros.
    kept : tuple of int, by plane
        The pass that found the plane kept; empty of a fit from a file, which does not say.
    """

    moments: ClassMoments
    prior: Floats
    step: float
    passes: tuple[int, ...]
    seed: int | None
    coef: Floats
    planes: Floats
    history: Floats
    losses: Floats
    start: Floats | None = None
    kept: tuple[int, ...] = field(default=(), metadata=NOT_STORED)

    has_distances = False
    estimated_prior = True

    def validate(self) -> None:
        """Raise InvalidStateError if parts of a file contradict each other."""
        planes = self.planes
        history = self.history
        are_counts = are_flags(planes[:, :2]) and are_whole(planes[:, 2:5]) and are_whole(history)
        have_limits = len(self.passes) == len(planes) and min(self.passes) >= 1
        if not (are_counts and have_limits and (planes[:, 6] >= 0).all()):
            raise InvalidStateError("its passes and errors by plane are no numbers of these")
        passes = [int((history[:, 0] == number).sum()) for number in range(len(planes))]
        if passes != planes[:, 2].tolist() or len(history) != sum(passes):
            raise InvalidStateError("its history is not that of its passes")
        if len(self.losses) != len(history) or not (self.losses >= 0).all():
            raise InvalidStateError("its losses are not those of its passes")
        if self.start is not None and not np.isfinite(self.start / self.step).all():
            raise InvalidStateError("its start is out of reach of its steps")

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """The side of the plane, or the class whose plane is farthest below the row."""
        return plane_rule(np.zeros(len(self.coef) - 1), self.coef[1:], self.coef[0])

    def of_classes(self, keep: Codes) -> PerceptronFit:
        """The options of some classes (C,), two or more; of two there is one plane."""
        passes = self.passes
        start = self.start
        if len(passes) > 1:
            passes = tuple(passes[k] for k in keep.tolist())[: 1 if len(keep) == 2 else None]
            start = None if start is None else start[:, keep][:, -len(passes) :]
        return replace(self, passes=passes, start=start)

    def refit(self, x: Floats, codes: Codes) -> PerceptronFit:
        """The same rule run over other rows, without a certificate."""
        runs = _runs(x, codes, self.moments.n_classes, self.step, self.passes, self.seed, self.start)
        return replace(self, coef=np.column_stack([run.coef for run in runs]))

    def left_out(self, x: Floats, codes: Codes, seen: Callable[[], object] = lambda: None) -> Floats:
        """Scores (n, K) of the rows of the fit, each under the same rule run over the others."""
        scores = np.zeros((len(x), self.moments.n_classes))
        starts = _starts(self.start, len(self.passes))
        planes = zip(positive_rows(codes, self.moments.n_classes), self.passes, starts, strict=True)
        for column, (positive, most, start) in enumerate(planes, self.moments.n_classes - len(self.passes)):
            signed, unit = _signed(x, positive)
            begin = _begin(start, self.step, unit, signed.shape[1])
            every = len(x) - 1 <= COUNTED
            coef = left_out_planes(signed, begin, passes=most, seed=self.seed, every=every, seen=seen)
            coef *= self.step * unit
            scores[:, column] = coef[:, 0] + np.einsum("ij,ij->i", coef[:, 1:], x)
        return scores


def fit_perceptron(
    x: Floats,
    codes: Codes,
    moments: ClassMoments,
    prior: Floats,
    *,
    step: float,
    passes: int | None,
    seed: int | None,
    start: Floats | None = None,
) -> PerceptronFit:
    """Rosenblatt's rule for two classes, or for each of more against the rest.

    Options are those of `perceptron`, with `PASSES` where passes are None, and a start (p + 1, P) for the
    planes.
    """
    columns = standard(x).columns
    k = moments.n_classes
    planes = positive_rows(codes, k)
    separable = []
    with Progress(len(planes), "separation of the classes") as progress:
        for positive in planes:
            separable.append(
                separation(columns, positive.astype(np.intp), 2, progress=refresh_progress).kind == "complete"
            )
            progress(1)
    stop = tuple(passes or PASSES[yes] for yes in separable)
    runs = _runs(x, codes, k, step, stop, seed, start)
    table = []
    history = []
    every = zip(runs, separable, planes, _starts(start, len(planes)), strict=True)
    for number, (run, yes, positive, begin) in enumerate(every):
        moves = run.history[:, 0]
        ease = _ease(x, positive, None if begin is None else begin / step) if yes else 0.0
        table.append([yes, run.converged, len(moves), moves.sum(), run.errors, run.margin, ease])
        counted = np.arange(1, len(moves) + 1)
        history.append(np.column_stack([np.full(len(moves), number), counted, run.history]))
    coef = np.column_stack([run.coef for run in runs])
    tables = np.array(table, dtype=np.float64), np.concatenate(history).astype(np.float64)
    kept = tuple(run.kept for run in runs)
    losses = np.concatenate([run.losses for run in runs])
    return PerceptronFit(moments, prior, step, stop, seed, coef, *tables, losses, start, kept)


def _runs(
    x: Floats,
    codes: Codes,
    n_classes: int,
    step: float,
    passes: tuple[int, ...],
    seed: int | None,
    start: Floats | None,
) -> list[Perceptron]:
    runs = []
    planes = zip(positive_rows(codes, n_classes), passes, _starts(start, len(passes)), strict=True)
    with Progress(sum(passes), "passes over the rows, at most") as progress:
        for positive, most, begin in planes:
            run = perceptron(
                x, positive, step=step, passes=most, seed=seed, start=begin, seen=lambda: progress(1)
            )
            runs.append(run)
            progress(most - len(run.history))
    return runs


def _starts(start: Floats | None, planes: int) -> list[Floats | None]:
    """By plane."""
    return [None] * planes if start is None else list(start.T)


def _ease(x: Floats, positive: Mask, begin: Floats | None) -> float:
    """The bound on the moves from coefficients (p + 1,) in steps, by default zeros, to the power of -1/2."""
    signed = np.column_stack([np.ones(len(x)), x])
    unit = float(np.abs(signed).max())
    signed /= unit
    longest = float(np.sqrt((signed**2).sum(axis=1).max()))
    signed[~positive] *= -1
    ease = largest_margin(signed) / longest
    far = 0.0 if begin is None else float(np.linalg.norm(begin / unit)) / longest
    # (e^-2 + 2 far / e)^(-1/2), which is e where the start is zero.
    return ease / float(np.sqrt(1.0 + 2.0 * far * ease))
