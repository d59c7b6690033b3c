"""Rosenblatt's perceptron, the bound on its number of updates, and the pocket algorithm.

The verb `perceptron` calls `fit_perceptron`, and its plots call `first_updates`.

Theory (Rosenblatt, 1958, Psychological Review 65, 386-408). Rows z = (1, x) of the two classes carry y = 1
and -1. Starting at b = b0, rows are visited in turn, and a row on the wrong side, y z'b <= 0, changes b by
step * y z. If some unit vector u has y z'u >= m > 0 for all rows, and R is the length of the longest row,
there are at most (R/m)^2 + 2 |b0| / (step m) updates for any order: after t updates u'b is at least t m step
- |b0|, and |b|^2 at most |b0|^2 + t R^2 step^2 (Novikoff, 1962, Proc. Symposium on the Mathematical Theory of
Automata 12, 615-622, with b0 = 0, for which the step only scales b). Without such a u, the rule does not
terminate.

The *pocket* then stores the b with the fewest errors (Gallant, 1990, IEEE Transactions on Neural Networks 1,
179-191). For up to `MAX_COUNTED_ROWS` rows the errors of each b are counted. For more rows this would cost
far more than the rule itself, and the pocket uses Gallant's ratchet: the errors of b are counted if its run
of correctly classified rows is longer than the run of the stored b, and at the ends of passes.

*Leave-one-out.* The rule is run without each of the rows, all runs in parallel. A run without row i visits
the other rows in the order of a table without it: position q of this order is row q for i > q and row q + 1
otherwise. At each step of a pass all runs therefore visit one of two rows, for the order of the table as well
as for a random order of n - 1 rows in each pass. Updates, runs and pockets are the same as for a table
without the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.errors import InvalidStateError
from discrim.core.hyperplanes.hyperplane import largest_margin, plane_rule, positive_row_masks
from discrim.core.hyperplanes.separation import decide_separation, standardize_rows
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats, Mask, are_flags, are_integers
from discrim.core.numerics.progress import Progress, refresh_progress
from discrim.core.rules.rules import LinearRule


def left_out_planes(
    signed: Floats,
    start: Floats,
    *,
    passes: int,
    seed: int | None,
    counts_all_errors: bool,
    progress: Callable[[], object] = lambda: None,
) -> Floats:
    """Run the perceptron rule without each row, with a step of one.

    Parameters
    ----------
    signed : (n, p + 1) float
        Rows y (1, x) for classes y = 1 and -1, scaled to prevent overflow of products.
    start : (p + 1,) float
        Coefficients at the start of every run, intercept first.
    passes : int
        Maximum number of passes.
    seed : int or None
        Seed of the order of the rows in each pass; None for the order of the table.
    counts_all_errors : bool
        Whether the pocket counts the errors of all coefficients; otherwise it uses the ratchet.
    progress : callable, optional
        Called after each pass.

    Returns
    -------
    (n, p + 1) float
        Coefficients without each row, in units of the step and of `signed`: the current coefficients if the
        last pass was without an update, otherwise the pocket (zeros if it is empty). Intercept first.

    Examples
    --------
    >>> signed = np.array([[-1.0, 0.0], [-1.0, -1.0], [1.0, 3.0], [1.0, 4.0]])
    >>> left_out_planes(signed, np.zeros(2), passes=100, seed=None, counts_all_errors=True).tolist()
    [[-4.0, 2.0], [-1.0, 3.0], [-3.0, 2.0], [-4.0, 2.0]]
    """
    rng = None if seed is None else np.random.default_rng(seed)
    runs = _LeftOutRuns(signed, start, counts_all_errors)
    coef = np.zeros(signed.shape)
    for _ in range(passes):
        order = np.arange(len(signed) - 1) if rng is None else rng.permutation(len(signed) - 1)
        had_no_update = runs.visit(order)
        coef[runs.left_out_rows[had_no_update]] = runs.coef[had_no_update]
        runs.keep_runs(~had_no_update)
        progress()
        if not len(runs.left_out_rows):
            return coef
    coef[runs.left_out_rows] = runs.pocket
    return coef


class _LeftOutRuns:
    """State of m runs that each leave out one row; the runs that have ended are removed.

    Parameters
    ----------
    signed : (n, p + 1) float
        Rows y (1, x).
    start : (p + 1,) float
        Coefficients at the start.
    counts_all_errors : bool
        Whether the pocket counts the errors of all coefficients.

    Attributes
    ----------
    step : int
        Number of rows that each run has visited.
    left_out_rows : (m,) int
        Position of the row that each run leaves out, ascending.
    coef, pocket : (m, p + 1) float
        Current coefficients, and the coefficients with the fewest errors so far; zeros in an empty pocket.
    min_errors, longest_run : (m,) int
        Number of errors of the pocket (n - 1 if it is empty), and length of its run of correct rows.
    """

    def __init__(self, signed: Floats, start: Floats, counts_all_errors: bool) -> None:
        """Start one run for each row, with coefficients `start` and an empty pocket."""
        n = len(signed)
        self.signed = signed
        self.step = 0
        self.counts_all_errors = counts_all_errors
        self.left_out_rows = np.arange(n)
        self.error_limits = _error_limits(signed)
        self.coef, self.pocket = np.tile(start, (n, 1)), np.zeros(signed.shape)
        self.min_errors, self.longest_run = np.full(n, n - 1), np.zeros(n, dtype=np.intp)
        self.run_start = np.zeros(n, dtype=np.intp)
        """Number of the step after the last update of each run."""

    def visit(self, order: Codes) -> Mask:
        """Make one pass of all runs over positions `order` (n - 1,); return which runs (m,) had no update."""
        signed = self.signed
        had_no_update = np.ones(len(self.coef), dtype=bool)
        values = np.empty(len(self.coef))
        splits = np.searchsorted(self.left_out_rows, order, side="right")
        for q, split in zip(order.tolist(), splits.tolist(), strict=True):
            np.dot(self.coef[:split], signed[q + 1], out=values[:split])
            np.dot(self.coef[split:], signed[q], out=values[split:])
            misclassified = np.flatnonzero(values <= 0)
            if misclassified.size:
                self._update(misclassified, q, int(np.searchsorted(misclassified, split)))
                had_no_update[misclassified] = False
            self.step += 1
        self._store_better(np.arange(len(self.coef)))
        return had_no_update

    def keep_runs(self, which: Mask) -> None:
        """Keep the runs at which the mask `which` (m,) is true, and remove the others."""
        for name in ("left_out_rows", "coef", "pocket", "min_errors", "longest_run", "run_start"):
            setattr(self, name, getattr(self, name)[which])

    def _update(self, misclassified: Codes, q: int, split: int) -> None:
        """Update the coefficients and pockets of runs that misclassify the row that they visit.

        Parameters
        ----------
        misclassified : (r,) int
            Positions of these runs.
        q : int
            Position in the order without the left-out row.
        split : int
            The first `split` of the runs visit row q + 1, the others row q.
        """
        stored = misclassified
        if not self.counts_all_errors:
            correct_runs = self.step - self.run_start[misclassified]
            # If the pocket is empty, any coefficients enter, even after a run of length zero.
            is_empty = self.min_errors[misclassified] == len(self.signed) - 1
            stored = misclassified[is_empty | (correct_runs > self.longest_run[misclassified])]
        if stored.size:
            self._store_better(stored)
        self.coef[misclassified[:split]] += self.signed[q + 1]
        self.coef[misclassified[split:]] += self.signed[q]
        self.run_start[misclassified] = self.step + 1

    def _store_better(self, run_index: Codes) -> None:
        """Store the current coefficients of runs in their pockets if they make fewer errors than these.

        Coefficients of zero are never stored.

        Parameters
        ----------
        run_index : (r,) int
            Positions of the runs. The errors of a run are counted over all rows except its left-out row.
        """
        is_error = self.coef[run_index] @ self.signed.T < self.error_limits
        errors = np.add.reduce(is_error, axis=1, dtype=np.intp)
        errors -= is_error[np.arange(len(run_index)), self.left_out_rows[run_index]]
        better = np.flatnonzero(errors < self.min_errors[run_index])
        better = better[self.coef[run_index[better]].any(axis=1)]
        runs = run_index[better]
        self.pocket[runs] = self.coef[runs]
        self.min_errors[runs] = errors[better]
        self.longest_run[runs] = self.step - self.run_start[runs]


def _error_limits(signed: Floats) -> Floats:
    """Return the limit (n,) below which the value y (1, x)'b of a row of `signed` (n, p + 1) is an error.

    A row on the plane is assigned to the first class. This is an error for the other class only, whose limit
    is therefore the smallest positive number; the limit of the first class is zero.
    """
    return np.where(signed[:, 0] > 0, np.nextafter(0.0, 1.0), 0.0)


DEFAULT_MAX_PASSES = {True: 1000, False: 100}
"""Default maximum number of passes for separable and for non-separable classes."""

MAX_COUNTED_ROWS = 500
"""Number of rows up to which the errors of all coefficients are counted."""

CHUNK_ROW_LIMITS = (32, 8192)
"""Numbers of rows that are processed at once: few after an update, then increasingly more."""


@dataclass(frozen=True, slots=True, eq=False)
class PerceptronResult:
    """Result of the perceptron rule for one plane.

    Attributes
    ----------
    coef : (p + 1,) float
        Intercept first. From the last pass if the rule converged, otherwise from the pocket.
    converged : bool
        Whether a pass had no update.
    history : (passes, 2) int
        Number of updates in each pass, and errors at its end; a row on the plane is assigned to the first
        class.
    losses : (passes,) float
        Sum of -y z'b over the rows on the wrong side at the end of each pass.
    errors : int
        Number of errors of the stored plane, the one of `coef`.
    margin : float
        Smallest signed distance of a row from the stored plane, in the units of the data; negative if a row
        is on the wrong side, zero if all slopes are zero.
    best_pass : int
        The pass, numbered from 1, in which the stored plane was found.
    """

    coef: Floats
    converged: bool
    history: NDArray[np.int64]
    losses: Floats
    errors: int
    margin: float
    best_pass: int


def run_perceptron(
    x: Floats,
    positive: Mask,
    *,
    step: float,
    passes: int,
    seed: int | None,
    start: Floats | None = None,
    progress: Callable[[], object] = lambda: None,
) -> PerceptronResult:
    """Run the perceptron rule until a pass has no update.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.
    positive : (n,) bool
        Rows of the positive class.
    step : float
        Factor of the updates.
    passes : int
        Maximum number of passes.
    seed : int or None
        Seed of the order of the rows in each pass; None for the order of the table.
    start : (p + 1,) float, optional
        Starting coefficients, intercept first; by default zeros.
    progress : callable, optional
        Called after each pass.

    Returns
    -------
    PerceptronResult
        Not converged if each of `passes` passes had an update.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> found = run_perceptron(x, np.array([False, False, True, True]), step=1.0, passes=100, seed=None)
    >>> found.converged, found.coef.tolist(), int(found.history[:, 0].sum())
    (True, [-4.0, 2.0], 8)
    """
    signed, unit = _signed_rows(x, positive)
    rng = None if seed is None else np.random.default_rng(seed)
    run = _PerceptronRun(signed, _scaled_start(start, step, unit, signed.shape[1]))
    history = []
    losses = []
    for pass_number in range(1, passes + 1):
        run.pass_number = pass_number
        n_updates = run.visit(signed if rng is None else signed[rng.permutation(len(signed))])
        history.append((n_updates, run.store_if_better()))
        losses.append(run.loss())
        progress()
        if not n_updates:
            break
    converged = not history[-1][0]
    coef, errors = (run.coef, 0) if converged else (run.pocket, run.min_errors)
    norm = float(np.linalg.norm(coef[1:]))
    margin = unit * float((signed @ coef).min()) / norm if norm > 0 else 0.0
    # The last pass of a converged rule has no update; its plane was found in the previous pass.
    best_pass = max(len(history) - 1, 1) if converged else run.best_pass
    with np.errstate(over="ignore"):
        loss = step * unit * (unit * np.array(losses))
    return PerceptronResult(
        step * (unit * coef), converged, np.array(history, dtype=np.int64), loss, errors, margin, best_pass
    )


def first_updates(
    x: Floats,
    positive: Mask,
    *,
    step: float,
    seed: int | None,
    max_updates: int,
    start: Floats | None = None,
) -> tuple[Codes, Floats]:
    """Return the rows and coefficients of the first updates of the perceptron rule.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.
    positive : (n,) bool
        Rows of the positive class.
    step : float
        Factor of the updates.
    seed : int or None
        Seed of the order of the rows in each pass; None for the order of the table.
    max_updates : int
        Maximum number of updates.
    start : (p + 1,) float, optional
        Starting coefficients, intercept first; by default zeros.

    Returns
    -------
    rows : (u,) int
        Row of each update; fewer than `max_updates` if the rule converges.
    coef : (u, p + 1) float
        Coefficients after each update, intercept first.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> positive = np.array([False, False, True, True])
    >>> rows, coef = first_updates(x, positive, step=1.0, seed=None, max_updates=8)
    >>> rows[:3].tolist(), coef[-1].tolist()
    ([0, 2, 0], [-4.0, 2.0])
    """
    signed, unit = _signed_rows(x, positive)
    rng = None if seed is None else np.random.default_rng(seed)
    coef = _scaled_start(start, step, unit, signed.shape[1])
    updated_rows: list[int] = []
    coefs: list[Floats] = []
    position = 0
    order = np.arange(0)
    had_no_update = False
    while len(updated_rows) < max_updates:
        if position == len(order):
            if had_no_update:
                break
            order = np.arange(len(signed)) if rng is None else rng.permutation(len(signed))
            position = 0
            had_no_update = True
        is_misclassified = signed[order[position:]] @ coef <= 0
        if not is_misclassified.any():
            position = len(order)
            continue
        row = int(order[position + int(np.argmax(is_misclassified))])
        position = position + int(np.argmax(is_misclassified)) + 1
        had_no_update = False
        coef = coef + signed[row]
        updated_rows.append(row)
        coefs.append(step * (unit * coef))
    return np.array(updated_rows, dtype=np.intp), np.array(coefs).reshape(-1, signed.shape[1])


def _signed_rows(x: Floats, positive: Mask) -> tuple[Floats, float]:
    """Return rows y (1, x) divided by a power of two, and this unit.

    Coefficients are counted in steps and in this unit: updates do not depend on the rounding of the step, and
    squares of rows do not overflow.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.
    positive : (n,) bool
        Rows of the positive class.

    Returns
    -------
    signed : (n, p + 1) float
        With y = 1 for the positive rows and -1 for the others.
    unit : float
        The largest power of two up to the largest absolute element of (1, x).
    """
    signed = np.column_stack([np.ones(len(x)), x])
    signed[~positive] *= -1
    unit = float(2.0 ** np.floor(np.log2(np.abs(signed).max())))
    signed /= unit
    return signed, unit


def _scaled_start(start: Floats | None, step: float, unit: float, size: int) -> Floats:
    """Return starting coefficients (size,), in units of the step and of the scaled rows; zeros for None."""
    return np.zeros(size) if start is None else start / step / unit


class _PerceptronRun:
    """State of a run, and the best coefficients so far.

    Parameters
    ----------
    signed : (n, p + 1) float
        Scaled rows y (1, x).
    start : (p + 1,) float
        Coefficients at the start, in units of the step.

    Attributes
    ----------
    coef, pocket : (p + 1,) float
        Current coefficients, and the coefficients with the fewest errors so far, in units of the step.
    min_errors : int
        Number of errors of the pocket; n if nothing has been stored.
    correct_run, longest_run : int
        Number of rows classified correctly since the last update, and this number when the pocket was stored.
    pass_number, best_pass : int
        Number of the current pass, from 1, and of the pass in which the pocket was stored.
    """

    def __init__(self, signed: Floats, start: Floats) -> None:
        self.signed = signed
        self.error_limits = _error_limits(signed)
        self.coef = start
        self.pocket, self.min_errors = self.coef, len(signed)
        self.correct_run = 0
        self.longest_run = 0
        self.pass_number = self.best_pass = 1

    def visit(self, rows: Floats) -> int:
        """Make one pass over rows y (1, x), in their order, with updates; return the number of updates."""
        position = 0
        n_updates = 0
        chunk_rows = CHUNK_ROW_LIMITS[0]
        coef = self.coef
        n = len(rows)
        while position < n:
            is_misclassified = rows[position : position + chunk_rows].dot(coef) <= 0.0
            first = int(is_misclassified.argmax())
            if not is_misclassified[first]:
                self.correct_run += len(is_misclassified)
                position = position + chunk_rows
                chunk_rows = min(2 * chunk_rows, CHUNK_ROW_LIMITS[1])
                continue
            self.correct_run += first
            # If the pocket is empty, any coefficients enter, even after a run of length zero.
            if n <= MAX_COUNTED_ROWS or self.correct_run > self.longest_run or self.min_errors == n:
                self.store_if_better()
            self.coef = coef = coef + rows[position + first]
            position = position + first + 1
            n_updates = n_updates + 1
            chunk_rows = CHUNK_ROW_LIMITS[0]
            self.correct_run = 0
        return n_updates

    def store_if_better(self) -> int:
        """Store the coefficients in the pocket if they make fewer errors; return their number of errors.

        Coefficients of zero are never stored.
        """
        errors = int(np.count_nonzero(self.signed @ self.coef < self.error_limits))
        if errors < self.min_errors and self.coef.any():
            self.pocket = self.coef
            self.min_errors = errors
            self.best_pass = self.pass_number
            self.longest_run = self.correct_run
        return errors

    def loss(self) -> float:
        """Return the perceptron criterion: the sum of -y (1, x)'b over the rows on the wrong side.

        Rows y (1, x) are scaled as in `signed`, and b is `coef`, the current coefficients.
        """
        return float(np.maximum(-(self.signed @ self.coef), 0.0).sum())


@dataclass(frozen=True, slots=True, eq=False)
class PerceptronFit:
    """Perceptron for two classes, or one plane for each of several classes against the rest.

    There are P planes: one for two classes, with the second class positive, or K for K > 2 classes. The rule
    does not use the prior (K,), the class proportions.

    Attributes
    ----------
    moments : ClassMoments
        Moments of the rows, of which only the number of classes is used.
    prior : (K,) float
        Class proportions.
    step : float
        Factor of the updates.
    passes : tuple of int
        Maximum number of passes of each plane.
    seed : int or None
        Seed of the order of the rows in each pass; None for the order of the table.
    coef : (p + 1, P) float
        Coefficients of each plane, intercepts first.
    planes : (P, 7) float
        For each plane: whether the classes are separable, whether the rule converged, passes, updates,
        errors, margin, and the bound on the number of updates to the power of -1/2 (m/R if starting at
        zero, with m the largest margin and R the longest row (1, x)), zero if the margin is zero.
    history : (h, 4) float
        For each pass of each plane: plane (from 0), pass (from 1), updates, and errors at its end.
    losses : (h,) float
        Perceptron criterion at the end of each of these passes.
    start : (p + 1, P) float or None
        Starting coefficients; None for zeros.
    best_passes : tuple of int
        Pass in which each stored plane was found; empty for a fit that was read from a file.
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
    best_passes: tuple[int, ...] = field(default=(), metadata=NOT_STORED)

    has_distances = False
    estimated_prior = True

    def validate(self) -> None:
        """Raise InvalidStateError if the attributes, read from a file, contradict each other.

        Flags have to be 0 or 1, and numbers of passes, updates and errors integers; each plane has a limit of
        at least one pass and a bound that is not negative; `history` has the number of passes of each plane,
        and `losses` as many values, none negative; `start` is finite in units of the step.
        """
        planes = self.planes
        history = self.history
        are_counts = are_flags(planes[:, :2]) and are_integers(planes[:, 2:5]) and are_integers(history)
        have_limits = len(self.passes) == len(planes) and min(self.passes) >= 1
        if not (are_counts and have_limits and (planes[:, 6] >= 0).all()):
            raise InvalidStateError("its numbers of passes, updates or errors are invalid")
        passes = [int((history[:, 0] == number).sum()) for number in range(len(planes))]
        if passes != planes[:, 2].tolist() or len(history) != sum(passes):
            raise InvalidStateError("its history does not match its passes")
        if len(self.losses) != len(history) or not (self.losses >= 0).all():
            raise InvalidStateError("its losses do not match its passes")
        if self.start is not None and not np.isfinite(self.start / self.step).all():
            raise InvalidStateError("its starting coefficients are not finite in units of its step")

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """Return the rule that assigns rows by the side of the plane, or to the class of the largest value.

        Prior, method and convention are ignored.
        """
        return plane_rule(np.zeros(len(self.coef) - 1), self.coef[1:], self.coef[0])

    def of_classes(self, keep: Codes) -> PerceptronFit:
        """Return a copy with the passes and starts of the planes of classes at positions (C,), for a refit.

        Two classes have one plane. The other fields still are of all classes.
        """
        passes = self.passes
        start = self.start
        if len(passes) > 1:
            passes = tuple(passes[k] for k in keep.tolist())[: 1 if len(keep) == 2 else None]
            start = None if start is None else start[:, keep][:, -len(passes) :]
        return replace(self, passes=passes, start=start)

    def refit(self, x: Floats, codes: Codes) -> PerceptronFit:
        """Return the fit with the coefficients of the rule on other rows x (n, p) of classes codes (n,).

        Only `coef` is updated.
        """
        runs = _run_planes(x, codes, self.moments.n_classes, self.step, self.passes, self.seed, self.start)
        return replace(self, coef=np.column_stack([run.coef for run in runs]))

    def leave_one_out_scores(
        self, x: Floats, codes: Codes, progress: Callable[[], object] = lambda: None
    ) -> Floats:
        """Return scores of the rows of the fit, each from the rule without the row.

        Parameters
        ----------
        x : (n, p) float
            Rows of the design matrix.
        codes : (n,) int
            Class of each row.
        progress : callable, optional
            Called after each pass.

        Returns
        -------
        (n, K) float
            Value of the plane of each class; for two classes zero and the value of the plane.
        """
        scores = np.zeros((len(x), self.moments.n_classes))
        starts = _plane_starts(self.start, len(self.passes))
        planes = zip(positive_row_masks(codes, self.moments.n_classes), self.passes, starts, strict=True)
        for column, (positive, max_passes, start) in enumerate(
            planes, self.moments.n_classes - len(self.passes)
        ):
            signed, unit = _signed_rows(x, positive)
            scaled_start = _scaled_start(start, self.step, unit, signed.shape[1])
            counts_all_errors = len(x) - 1 <= MAX_COUNTED_ROWS
            coef = left_out_planes(
                signed,
                scaled_start,
                passes=max_passes,
                seed=self.seed,
                counts_all_errors=counts_all_errors,
                progress=progress,
            )
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
    """Fit a perceptron for two classes, or one plane for each of several classes against the rest.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.
    codes : (n,) int
        Class of each row.
    moments : ClassMoments
        Moments of the rows, stored; they show the number of classes.
    prior : (K,) float
        Class proportions; stored, not used.
    step : float
        Factor of the updates.
    passes : int or None
        Maximum number of passes of every plane; None for `DEFAULT_MAX_PASSES` of each plane, by whether its
        two sides are completely separable.
    seed : int or None
        Seed of the order of the rows; None for the order of the table.
    start : (p + 1, P) float, optional
        Starting coefficients of each of the P planes, intercepts first; zeros by default.

    Returns
    -------
    PerceptronFit
        Also if a plane did not converge; column 1 of its `planes` is then 0.
    """
    columns = standardize_rows(x).columns
    k = moments.n_classes
    planes = positive_row_masks(codes, k)
    separable = []
    with Progress(len(planes), "separation of the classes") as progress:
        for positive in planes:
            separable.append(
                decide_separation(
                    columns, positive.astype(np.intp), 2, progress=refresh_progress
                ).separation_type
                == "complete"
            )
            progress(1)
    max_passes = tuple(passes or DEFAULT_MAX_PASSES[is_separable] for is_separable in separable)
    runs = _run_planes(x, codes, k, step, max_passes, seed, start)
    table = []
    history = []
    plane_runs = zip(runs, separable, planes, _plane_starts(start, len(planes)), strict=True)
    for plane, (run, is_separable, positive, plane_start) in enumerate(plane_runs):
        n_updates = run.history[:, 0]
        update_bound = (
            _inverse_root_update_bound(x, positive, None if plane_start is None else plane_start / step)
            if is_separable
            else 0.0
        )
        table.append(
            [
                is_separable,
                run.converged,
                len(n_updates),
                n_updates.sum(),
                run.errors,
                run.margin,
                update_bound,
            ]
        )
        pass_numbers = np.arange(1, len(n_updates) + 1)
        history.append(np.column_stack([np.full(len(n_updates), plane), pass_numbers, run.history]))
    coef = np.column_stack([run.coef for run in runs])
    tables = np.array(table, dtype=np.float64), np.concatenate(history).astype(np.float64)
    best_passes = tuple(run.best_pass for run in runs)
    losses = np.concatenate([run.losses for run in runs])
    return PerceptronFit(moments, prior, step, max_passes, seed, coef, *tables, losses, start, best_passes)


def _run_planes(
    x: Floats,
    codes: Codes,
    n_classes: int,
    step: float,
    passes: tuple[int, ...],
    seed: int | None,
    start: Floats | None,
) -> list[PerceptronResult]:
    """Run the perceptron rule for each plane.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.
    codes : (n,) int
        Classes of the rows.
    n_classes : int
        Number of classes.
    step : float
        Factor of the updates.
    passes : tuple of int
        Maximum number of passes of each plane.
    seed : int or None
        Seed of the order of the rows in each pass, the same for all planes; None for the order of the table.
    start : (p + 1, P) float or None
        Starting coefficients of each plane; None for zeros.

    Returns
    -------
    list of PerceptronResult
        One for each plane: for two classes one, with the second class positive; for K > 2 classes K, each
        with one class positive.
    """
    runs = []
    planes = zip(positive_row_masks(codes, n_classes), passes, _plane_starts(start, len(passes)), strict=True)
    with Progress(sum(passes), "passes over the rows, at most") as progress:
        for positive, max_passes, plane_start in planes:
            run = run_perceptron(
                x,
                positive,
                step=step,
                passes=max_passes,
                seed=seed,
                start=plane_start,
                progress=lambda: progress(1),
            )
            runs.append(run)
            progress(max_passes - len(run.history))
    return runs


def _plane_starts(start: Floats | None, planes: int) -> list[Floats | None]:
    """Return starting coefficients (p + 1, P) as a list by plane; a list of `planes` times None for None."""
    return [None] * planes if start is None else list(start.T)


def _inverse_root_update_bound(x: Floats, positive: Mask, start: Floats | None) -> float:
    """Return the bound on the number of updates of the rule, to the power of -1/2; zero without a margin.

    Parameters
    ----------
    x : (n, p) float
        Rows of the design matrix.
    positive : (n,) bool
        Rows of the positive class.
    start : (p + 1,) float or None
        Starting coefficients in steps; None for zeros.

    Returns
    -------
    float
        From 0 to 1; zero if `largest_margin` is zero.
    """
    signed = np.column_stack([np.ones(len(x)), x])
    unit = float(np.abs(signed).max())
    signed /= unit
    max_norm = float(np.sqrt((signed**2).sum(axis=1).max()))
    signed[~positive] *= -1
    margin_ratio = largest_margin(signed) / max_norm
    start_distance = 0.0 if start is None else float(np.linalg.norm(start / unit)) / max_norm
    # (e^-2 + 2 far / e)^(-1/2), which is e if the start is zero.
    return margin_ratio / float(np.sqrt(1.0 + 2.0 * start_distance * margin_ratio))
