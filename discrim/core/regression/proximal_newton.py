"""Multinomial logit with an elastic net penalty, minimized by proximal Newton steps along a path.

`penalized.py` fits its models with `ProximalNewton`. For two classes there is one linear function of a row,
the log odds of the second class against the first. For more classes there is one function per class, and
a constant may be added to all functions of a row (the symmetric parametrization).

Notation: z (p + 1, n) has the columns of the rows, the first one constant; beta (C, p + 1) are the
coefficients; eta = beta z (C, n) the functions. With normalized weights s_i, the loss is L = -sum_i s_i log
P(y_i), its gradient (C, p + 1) is r z', r = s (P - Y), and its curvature between coefficient j of function c
and coefficient l of function d is sum_i s_i (P_c [c = d] - P_c P_d)_i z_ji z_li.

The objective is L(beta) + lambda ((1 - a) / 2 |b|^2 + a |b|_1), with b all coefficients except the
intercepts. A step minimizes the quadratic approximation of L plus the exact penalty by active sets (the
feature-sign search of Lee, Battle, Raina & Ng, 2006, Advances in Neural Information Processing Systems 19):
for fixed nonzero coefficients and signs it is a linear system. Because this system is solved directly, the
Karush-Kuhn-Tucker conditions are satisfied up to rounding at the end, which coordinate descent does not
achieve.

Along a path of decreasing lambda, each fit starts at the previous solution, with the columns that the strong
rule keeps (Tibshirani, Bien, Friedman, Hastie, Simon, Taylor & Tibshirani, 2012, JRSS B 74, 245-266); the
conditions of the other columns are checked at the end. The curvature of earlier coefficients is reused as
long as its steps converge fast, because computing it is the most expensive operation. A ridge penalty with
many coefficients does not use it: steps are computed by conjugate gradients, preconditioned by the blocks of
the classes (Nocedal & Wright, 2006, Numerical Optimization, 7.1), except when a solution is polished.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.special import expit

from discrim.core.numerics.arrays import Codes, Floats, Mask, refuse_beyond_memory


class Place(NamedTuple):
    """Loss, residuals s (P - Y) and probabilities P, (C, n), at some coefficients."""

    loss: float
    residual: Floats
    shares: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Multinomial logit loss of rows.

    Attributes
    ----------
    z : (p + 1, n) float
        Columns of the rows, the first one constant.
    codes : (n,) int
        Class of each row.
    weights : (n,) float
        They sum to one.
    n_classes : int
    """

    z: Floats
    codes: Codes
    weights: Floats
    n_classes: int

    @property
    def functions(self) -> int:
        """Number of linear functions C: one for two classes, otherwise the number of classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def class_shares(self) -> Floats:
        """Class proportions (K,)."""
        return np.bincount(self.codes, self.weights, self.n_classes).astype(np.float64)

    def null(self) -> Floats:
        """Coefficients (C, p + 1) of the model without slopes."""
        beta = np.zeros((self.functions, len(self.z)))
        logs = np.log(self.class_shares)
        beta[:, 0] = logs[1] - logs[0] if self.functions == 1 else logs - logs.mean()
        return beta

    def eta(self, beta: Floats) -> Floats:
        """Linear functions (C, n) at coefficients (C, p + 1); fast for sparse coefficients."""
        used = np.flatnonzero(beta.any(axis=0))
        if 2 * len(used) > len(self.z):
            return np.asarray(beta @ self.z)
        return np.asarray(beta[:, used] @ self.z[used])

    def at(self, eta: Floats) -> Place:
        """Loss, residuals and probabilities at linear functions (C, n)."""
        rows = np.arange(len(self.codes))
        if self.functions == 1:
            odds = eta[0]
            signed = np.where(self.codes == 1, odds, -odds)
            loss = float(self.weights @ np.logaddexp(0.0, -signed))
            # Computed without cancellation for rows that are classified with near certainty.
            residual = self.weights * expit(-signed) * np.where(self.codes == 1, -1.0, 1.0)
            return Place(loss, residual[None], expit(odds)[None])
        shifted = eta - eta.max(axis=0)
        shares = np.exp(shifted)
        total = shares.sum(axis=0)
        shares /= total
        loss = float(self.weights @ (np.log(total) - shifted[self.codes, rows]))
        residual = shares.copy()
        residual[self.codes, rows] = 0.0
        residual[self.codes, rows] = -residual.sum(axis=0)
        residual *= self.weights
        return Place(loss, residual, shares)

    def gradient(self, residual: Floats, columns: Codes | None = None) -> Floats:
        """Gradient (C, p + 1) of the loss, or its columns `columns`."""
        return np.asarray(residual @ (self.z if columns is None else self.z[columns]).T)

    def turned(self, shares: Floats, change: Floats) -> Floats:
        """First-order change (C, n) of the residuals for a change (C, n) of the functions."""
        moved = shares * change
        if self.functions == 1:
            return np.asarray(self.weights * (moved * (1 - shares)))
        moved -= shares * moved.sum(axis=0)
        moved *= self.weights
        return moved

    def curvature(self, shares: Floats, rows: Codes, columns: Codes) -> Floats:
        """Second derivatives of the loss between coefficients.

        If `rows` and `columns` are the same array, only half of the blocks are computed.

        Parameters
        ----------
        shares : (C, n) float
            Probabilities.
        rows, columns : (a,), (b,) int
            Positions of the coefficients in beta.ravel().

        Returns
        -------
        (a, b) float
        """
        p1 = len(self.z)
        alike = rows is columns
        out = np.empty((len(rows), len(columns)))
        this = np.divmod(rows, p1)
        other = np.divmod(columns, p1)
        columns_of = {d: np.flatnonzero(other[0] == d) for d in np.unique(other[0]).tolist()}
        right = {d: self.z[other[1][theirs]].T for d, theirs in columns_of.items()}
        for c in np.unique(this[0]).tolist():
            mine = np.flatnonzero(this[0] == c)
            left = self.z[this[1][mine]]
            for d, theirs in columns_of.items():
                if alike and d < c:
                    continue
                same = shares[c] * (1 - shares[c]) if c == d else -shares[c] * shares[d]
                block = (left * (self.weights * same)) @ right[d]
                out[np.ix_(mine, theirs)] = block
                if alike and d > c:
                    out[np.ix_(theirs, mine)] = block.T
        return out

    def roots(self, shares: Floats, places: Codes) -> Floats:
        """Root A (C n, a) of the curvature A'A of coefficients at positions `places` in beta.ravel().

        For probabilities P of a row, (diag(sqrt P) - P sqrt P')(.)' = diag(P) - P P'.
        """
        functions, columns = np.divmod(places, len(self.z))
        root = np.sqrt(self.weights)
        if self.functions == 1:
            return np.asarray((root * np.sqrt(shares[0] * (1 - shares[0])) * self.z[columns]).T)
        half = np.sqrt(shares)
        parts = []
        for other in range(self.functions):
            factor = -shares[functions] * half[other]
            factor[functions == other] += half[other]
            parts.append((root * factor * self.z[columns]).T)
        return np.concatenate(parts)


MATRICES = 4
"""Number of matrices of its size that growing and factoring the curvature needs."""

TRACE = 1e-10
"""Fraction of the mean curvature that is added to the diagonal, because intercepts have no curvature in the
direction of a common constant.
"""

AT_ONCE = 16
"""Minimum number of coefficients that may enter the active set at once."""

ROUNDS = 500
"""Maximum number of changes of the active set in one step."""


@dataclass(slots=True, eq=False)
class Curvature:
    """Second derivatives at fixed probabilities, computed for the coefficients that were needed so far.

    Attributes
    ----------
    model : Likelihood
    shares : (C, n) float
        Probabilities.
    place : (C (p + 1),) int
        Position of each coefficient in `known`; -1 if its derivatives were not computed.
    known : (m,) int
        Coefficients with derivatives, in the order of computation.
    matrix : (m, m) float
    solved : tuple or None
        Coefficients, ridge and Cholesky factor of the last call of `factor`.
    """

    model: Likelihood
    shares: Floats
    place: Codes
    known: Codes
    matrix: Floats
    solved: tuple[Codes, Floats, Floats] | None = None

    @classmethod
    def at(cls, model: Likelihood, shares: Floats) -> Curvature:
        """Return an empty curvature at probabilities (C, n)."""
        size = model.functions * len(model.z)
        none = np.zeros(0, dtype=np.intp)
        return cls(model, shares, np.full(size, -1), none, np.zeros((0, 0)))

    def factor(self, places: Codes, ridge: Floats) -> Floats:
        """Lower Cholesky factor (a, a) of the curvature of coefficients (a,) plus a ridge (a,)."""
        if self.solved is not None:
            before, added, root = self.solved
            if np.array_equal(before, places) and np.array_equal(added, ridge):
                return root
        some = self.of(places)
        at = np.arange(len(places))
        diagonal = some[at, at]
        tiny = TRACE * max(float(diagonal.mean()), np.finfo(np.float64).tiny)
        while True:
            matrix = some.copy(order="F")
            matrix[at, at] += ridge + tiny
            root, failed = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
            if not failed:
                self.solved = places, ridge, root
                return np.asarray(root)
            tiny *= 100

    def of(self, places: Codes) -> Floats:
        """Curvature (a, a) of the coefficients at positions (a,); missing derivatives are computed."""
        new = places[self.place[places] < 0]
        if len(new):
            before = len(self.known)
            after = len(self.known) + len(new)
            refuse_beyond_memory(
                MATRICES * float(after) ** 2,
                f"The curvature of the {after:,} coefficients that the search has come to",
                "Use a larger penalty",
            )
            grown = np.empty((after, after))
            grown[:before, :before] = self.matrix
            grown[before:, before:] = self.model.curvature(self.shares, new, new)
            if before:
                grown[before:, :before] = self.model.curvature(self.shares, new, self.known)
                grown[:before, before:] = grown[before:, :before].T
            self.place[new] = np.arange(before, after)
            self.known = np.concatenate([self.known, new])
            self.matrix = grown
        at = self.place[places]
        return self.matrix[np.ix_(at, at)]


class PenalizedQuadratic:
    """Quadratic approximation of the loss plus the elastic net penalty, as a function of v.

    g'(v - b) + (v - b)'H(v - b)/2 + first |v|_1 + second |v|^2/2; intercepts are not penalized.

    Parameters
    ----------
    curvature : Curvature
        The matrix H.
    gradient : (C, m) float
        The gradient g.
    beta : (C, m) float
        Current coefficients b.
    columns : (m,) int
        Positions of the columns, the first one constant.
    z : (m, n) float
        The columns.
    first, second : float
        Weights of the L1 and L2 penalties.
    """

    def __init__(
        self,
        curvature: Curvature,
        gradient: Floats,
        beta: Floats,
        columns: Codes,
        z: Floats,
        first: float,
        second: float,
    ) -> None:
        """Start at the current coefficients; see the class for the parameters."""
        self.curvature = curvature
        self.model = curvature.model
        self.z = z
        self.first = first
        self.second = second
        self.shape = beta.shape
        self.columns = columns
        self.v = beta.ravel().copy()
        penalized = np.ones(beta.shape, dtype=bool)
        penalized[:, 0] = False
        self.penalized = penalized.ravel()
        slope = gradient + second * beta
        slope[:, 0] = gradient[:, 0]
        self.slope = slope.ravel()
        # Positions in the full coefficient vector.
        functions = beta.shape[0]
        p1 = len(self.model.z)
        self.places = (np.arange(functions)[:, None] * p1 + columns).ravel()

    def minimum(self) -> Floats:
        """Return the minimizing coefficients (C, m)."""
        free = (self.v != 0) | ~self.penalized
        if not self.first:
            free[:] = True
        sign = np.sign(self.v) * self.penalized
        single = False
        rounds = 0
        value = best = 0.0
        while rounds < ROUNDS:
            value += self._settle(free, sign)
            rounds += 1
            if not self.first:
                break
            excess = np.abs(self.slope) - self.first
            excess[free] = -np.inf
            over = excess > 1e-10 * self.first
            if not over.any():
                break
            # If the value does not decrease, coefficients enter one by one; stop if that fails too.
            flat = rounds > 1 and value > best - 1e-15 * abs(best)
            if flat and single:
                break
            single = flat
            best = value
            if single:
                over = np.arange(len(over)) == np.argmax(excess)
            elif not self.second:
                over = self._first(over, excess, int(free.sum()))
            sign[over] = -np.sign(self.slope[over])
            free |= over
        return self.v.reshape(self.shape)

    def _first(self, over: Mask, excess: Floats, free: int) -> Mask:
        """Mask of the coefficients with the largest violations, limited to as many as the rows determine.

        Parameters
        ----------
        over : (C m,) bool
            Coefficients that violate their condition.
        excess : (C m,) float
            Violations.
        free : int
            Number of nonzero coefficients.

        Returns
        -------
        (C m,) bool
        """
        most = max(self.model.functions * len(self.model.codes) - free, AT_ONCE)
        if int(over.sum()) <= most:
            return over
        first = np.zeros_like(over)
        first[np.argpartition(-excess, most)[:most]] = True
        return first

    def _settle(self, free: Mask, sign: Floats) -> float:
        """Minimize over the free coefficients with fixed signs; return the change of the value."""
        total = 0.0
        for _ in range(ROUNDS):
            at = np.flatnonzero(free)
            step = self._solved(at, -(self.slope[at] + self.first * sign[at]))
            start = self.v[at]
            end = start + step
            wrong = (end * sign[at] < 0) & self.penalized[at] & (self.first > 0)
            if not wrong.any():
                change, self.slope = self._value(at, step)
                self.v[at] += step
                return total + change
            kept = np.where(wrong, 0.0, end)
            change, slope = self._value(at, kept - start)
            if change > 0:
                # Step to the first sign change.
                part = start[wrong] / (start[wrong] - end[wrong])
                size = float(part.min())
                kept = start + size * step
                gone = wrong.copy()
                gone[wrong] = part <= size * (1 + 1e-12)
                kept[gone] = 0.0
                change, slope = self._value(at, kept - start)
            else:
                gone = wrong
            self.v[at] = kept
            self.slope = slope
            total += change
            free[at[gone]] = False
            sign[at[gone]] = 0.0
        return total

    def _value(self, at: Codes, step: Floats) -> tuple[float, Floats]:
        """Change of the value for a step of the coefficients `at`, and the slope (C m,) after it."""
        moved = np.zeros(self.shape)
        moved.ravel()[at] = step
        used = np.flatnonzero(moved.any(axis=0))
        turned = self.model.turned(self.curvature.shares, moved[:, used] @ self.z[used])
        bent = turned @ self.z.T
        bent[:, 1:] += self.second * moved[:, 1:]
        flat = bent.ravel()
        end = self.v[at] + step
        length = self.penalized[at] * (np.abs(end) - np.abs(self.v[at]))
        change = float(self.slope[at] @ step) + 0.5 * float(flat[at] @ step)
        return change + self.first * float(length.sum()), self.slope + flat

    def _solved(self, at: Codes, right: Floats) -> Floats:
        """Solve (H + second) step = right for the coefficients `at`."""
        places = self.places[at]
        ridge = np.where(self.penalized[at], self.second, 0.0)
        rows = self.model.functions * len(self.model.codes)
        if self.second > 0 and len(at) > rows:
            return self._solved_by_rows(places, ridge, right)
        return np.asarray(dpotrs(self.curvature.factor(places, ridge), right, lower=1)[0])

    def _solved_by_rows(self, places: Codes, ridge: Floats, right: Floats) -> Floats:
        """Solve for more coefficients than rows by a system of the size of the rows.

        Parameters
        ----------
        places : (a,) int
            Positions of the coefficients.
        ridge : (a,) float
        right : (a,) float
            Right-hand side.

        Returns
        -------
        (a,) float
        """
        root = self.model.roots(self.curvature.shares, places)
        tiny = TRACE * float((root * root).sum()) / len(places)
        inverse = 1 / (ridge + tiny)
        scaled = root * inverse
        inner = scaled @ root.T
        inner.ravel()[:: len(inner) + 1] += 1.0
        lower = np.linalg.cholesky(inner)
        forth = solve_triangular(lower, scaled @ right, lower=True, check_finite=False)
        back = solve_triangular(lower, forth, lower=True, trans=1, check_finite=False)
        return np.asarray(inverse * right - scaled.T @ back)


MANY = 256
"""Number of coefficients of a ridge fit above which steps use conjugate gradients."""

INEXACT = 1e-4
MOST_ROUNDS = 200
WORN = 2
"""Constants of conjugate gradients: INEXACT is the relative tolerance of the slope, MOST_ROUNDS the maximum
number of iterations, and WORN the increase of iterations after which the preconditioner is recomputed.
"""


class ClassBlocks:
    """Preconditioner: inverse curvature (C, p + 1, p + 1) of the coefficients of each class.

    Parameters
    ----------
    model : Likelihood
    shares : (C, n) float
        Probabilities.
    second : float
        Weight of the L2 penalty.
    """

    def __init__(self, model: Likelihood, shares: Floats, second: float) -> None:
        own = np.stack([(model.z * each) @ model.z.T for each in model.weights * shares * (1 - shares)])
        at = np.arange(own.shape[1])
        own[:, at, at] += TRACE * np.trace(own, axis1=1, axis2=2)[:, None] / len(at)
        own[:, at[1:], at[1:]] += second
        self.inverse = np.linalg.inv(own)
        self.rounds = 0

    def times(self, residual: Floats) -> Floats:
        """Multiply by a residual (C, p + 1)."""
        return np.asarray((self.inverse @ residual[:, :, None])[:, :, 0])

    def step(self, model: Likelihood, shares: Floats, slope: Floats, second: float) -> tuple[Floats, int]:
        """Compute Newton's step by conjugate gradients.

        Parameters
        ----------
        model : Likelihood
        shares : (C, n) float
            Probabilities.
        slope : (C, p + 1) float
            Gradient of the objective.
        second : float
            Weight of the L2 penalty.

        Returns
        -------
        step : (C, p + 1) float
        rounds : int
            Number of iterations.
        """
        step = np.zeros_like(slope)
        residual = -slope
        moved = self.times(residual)
        direction = moved
        size = float((residual * moved).sum())
        least = INEXACT**2 * size
        rounds = 0
        while size > least and rounds < MOST_ROUNDS:
            bent = model.gradient(model.turned(shares, direction @ model.z))
            bent[:, 1:] += second * direction[:, 1:]
            length = size / float((direction * bent).sum())
            step += length * direction
            residual -= length * bent
            moved = self.times(residual)
            size, before = float((residual * moved).sum()), size
            direction = moved + size / before * direction
            rounds += 1
        if len(step) > 1:
            # The intercepts are determined up to a common constant.
            step[:, 0] -= step[:, 0].mean()
        return step, rounds


SLOW = 0.2
"""Ratio of successive violations above which the curvature is recomputed."""

CHEAP = 2.0**21
"""Number of multiplications up to which the curvature is recomputed in each step."""

HALVINGS = 40
"""Maximum number of step halvings."""

GOOD_END = 1e-6
"""Violation, in units of lambda, that counts as converged if rounding stops the search."""

ROUNDED_SLOPE = 64 * np.finfo(np.float64).eps
"""Violation that is attributed to rounding, relative to the sum of absolute residuals."""


class Ended(NamedTuple):
    """Result of the search for one lambda.

    Attributes
    ----------
    beta : (C, p + 1) float
        Coefficients.
    loss : float
    violation : float
        Largest violation of the optimality conditions, in units of lambda.
    steps : int
    converged : bool
    """

    beta: Floats
    loss: float
    violation: float
    steps: int
    converged: bool


class ProximalNewton:
    """Minimizer of the penalized loss at successive values of lambda, with warm starts.

    Parameters
    ----------
    model : Likelihood
    l1_ratio : float
        The weight a of the L1 penalty.
    tol : float
        Largest violation of the optimality conditions, in units of lambda.
    maxiter : int
        Maximum number of steps for each lambda.
    """

    def __init__(self, model: Likelihood, l1_ratio: float, tol: float, maxiter: int) -> None:
        """Start at the model without slopes; see the class for the parameters."""
        self.model = model
        self.l1_ratio = l1_ratio
        self.tol = tol
        self.maxiter = maxiter
        self.begin(model.null())
        self.null_loss = self.place.loss

    def largest(self) -> float:
        """Smallest lambda at which all slopes stay zero, with glmnet's convention for a ridge penalty."""
        return float(np.abs(self.gradient[:, 1:]).max(initial=0.0)) / max(self.l1_ratio, 1e-3)

    def begin(self, beta: Floats) -> None:
        """Restart from coefficients (C, p + 1)."""
        self.beta = beta.copy()
        self.eta = self.model.eta(self.beta)
        self.place = self.model.at(self.eta)
        self.gradient = self.model.gradient(self.place.residual)
        self.curvature: Curvature | None = None
        self.blocks: ClassBlocks | None = None
        self.before = np.inf

    def try_from(self, beta: Floats, strength: float) -> None:
        """Continue from coefficients (C, p + 1) if their objective is smaller at this lambda."""
        eta = self.model.eta(beta)
        place = self.model.at(eta)
        now = self._objective(self.place.loss, self.beta, strength)
        if self._objective(place.loss, beta, strength) < now:
            self.beta = beta.copy()
            self.eta = eta
            self.place = place

    def minimize(self, strength: float, *, polish: bool = False, tol: float | None = None) -> Ended:
        """Minimize at one lambda, starting from the previous solution.

        Parameters
        ----------
        strength : float
            The value of lambda.
        polish : bool
            Whether to continue until rounding stops the search.
        tol : float, optional
            Tolerance that replaces the default one.

        Returns
        -------
        Ended
        """
        tol = self.tol if tol is None else tol
        columns = np.arange(self.beta.shape[1])
        if self.l1_ratio:
            # Columns that the strong rule keeps, and the constant.
            before = self.largest() if np.isinf(self.before) else self.before
            bound = min(self.l1_ratio * (2 * strength - before), self.l1_ratio * strength)
            keep = np.logical_or((np.abs(self.gradient) >= bound).any(axis=0), self.beta.any(axis=0))
            columns = np.union1d([0], np.flatnonzero(keep))
        taken = 0
        while True:
            steps, stuck = self._search(strength, columns, self.maxiter - taken, tol, polish=polish)
            taken += steps
            self.gradient = self.model.gradient(self.place.residual)
            violated = self._violations(self.gradient, self.beta, strength)
            worst = float(violated.max())
            missed = np.flatnonzero((violated > self._bound(strength, tol)).any(axis=0))
            missed = np.setdiff1d(missed, columns)
            if not len(missed) or stuck or taken >= self.maxiter:
                break
            columns = np.union1d(columns, missed)
        self.before = strength
        good = worst <= self._bound(strength, max(tol, GOOD_END))
        return Ended(self.beta.copy(), self.place.loss, worst / strength, taken, good)

    # ---- conditions of a minimum

    def _bound(self, strength: float, tol: float) -> float:
        """Largest violation that counts as zero."""
        # Relative to the largest slope of the penalty, which may be small for a ridge.
        largest = float(np.abs(self.beta[:, 1:]).max(initial=0.0))
        steepest = self.l1_ratio + (1 - self.l1_ratio) * min(largest, 1.0)
        return max(tol * strength * steepest, ROUNDED_SLOPE * float(np.abs(self.place.residual).sum()))

    def _violations(self, gradient: Floats, beta: Floats, strength: float) -> Floats:
        """Violation of the optimality condition of each coefficient.

        Parameters
        ----------
        gradient : (C, m) float
            Gradient of the loss.
        beta : (C, m) float
            Coefficients, the intercepts in the first column.
        strength : float

        Returns
        -------
        (C, m) float
        """
        first = strength * self.l1_ratio
        second = strength * (1 - self.l1_ratio)
        slope = gradient + second * beta
        slope[:, 0] = gradient[:, 0]
        at_zero = np.maximum(np.abs(slope) - first, 0.0)
        off = np.abs(slope + first * np.sign(beta))
        violations = np.where(beta != 0, off, at_zero)
        violations[:, 0] = np.abs(gradient[:, 0])
        return violations

    # ---- steps

    def _search(
        self, strength: float, columns: Codes, most: int, tol: float, *, polish: bool
    ) -> tuple[int, bool]:
        """Take steps over some of the columns until the conditions are met.

        Parameters
        ----------
        strength : float
        columns : (m,) int
            Positions of the columns, the first one constant.
        most : int
            Maximum number of steps.
        tol : float
        polish : bool
            Whether to continue until rounding stops the search.

        Returns
        -------
        steps : int
        stuck : bool
            Whether no step decreases the objective.
        """
        every = len(columns) == self.beta.shape[1]
        z = self.model.z if every else self.model.z[columns]
        beta = self.beta[:, columns]
        worst = np.inf
        for steps in range(most + 1):
            gradient = self.place.residual @ z.T
            now = float(self._violations(gradient, beta, strength).max())
            if now <= self._bound(strength, 0.0 if polish else tol):
                return steps, False
            first = strength * self.l1_ratio
            second = strength * (1 - self.l1_ratio)
            by_rounds = not self.l1_ratio and not polish and beta.size > MANY
            if not by_rounds:
                curvature, fresh = self._curvature_at(beta, slow=now > SLOW * worst)
                if polish and fresh and now <= self._bound(strength, tol) and now > 0.5 * worst:
                    return steps, True
            worst = now
            if steps == most:
                break
            if by_rounds:
                moved = beta + self._step_by_rounds(gradient, beta, second)
            else:
                moved = PenalizedQuadratic(curvature, gradient, beta, columns, z, first, second).minimum()
            if not self._move(beta, moved, z, columns, strength):
                return steps, True
            beta = self.beta[:, columns]
        return most, False

    def _step_by_rounds(self, gradient: Floats, beta: Floats, second: float) -> Floats:
        """Newton's step (C, m) of a ridge fit by conjugate gradients.

        Parameters
        ----------
        gradient, beta : (C, m) float
            Gradient of the loss and coefficients, for all columns.
        second : float
            Weight of the L2 penalty.

        Returns
        -------
        (C, m) float
        """
        slope = gradient.copy()
        shares = self.place.shares
        slope[:, 1:] += second * beta[:, 1:]
        if self.blocks is None:
            self.blocks = ClassBlocks(self.model, shares, second)
        step, rounds = self.blocks.step(self.model, shares, slope, second)
        self.blocks.rounds = self.blocks.rounds or rounds
        if rounds > WORN * self.blocks.rounds:
            self.blocks = None
        return step

    def _curvature_at(self, beta: Floats, *, slow: bool) -> tuple[Curvature, bool]:
        """Return the curvature, recomputed if that pays off, and whether it was recomputed."""
        size = np.count_nonzero(beta) + len(beta)
        cost = float(len(self.model.codes)) * size * size
        if self.curvature is None or slow or cost <= CHEAP:
            self.curvature = Curvature.at(self.model, self.place.shares)
            return self.curvature, True
        return self.curvature, False

    def _objective(self, loss: float, beta: Floats, strength: float) -> float:
        """Loss plus penalty of coefficients (C, m)."""
        b = beta[:, 1:]
        ridge = (1 - self.l1_ratio) / 2
        return loss + strength * (ridge * float((b * b).sum()) + self.l1_ratio * float(np.abs(b).sum()))

    def _move(self, beta: Floats, moved: Floats, z: Floats, columns: Codes, strength: float) -> bool:
        """Move to other coefficients, or part of the way; return whether the objective decreased.

        Parameters
        ----------
        beta, moved : (C, m) float
            Current and new coefficients.
        z : (m, n) float
            The columns.
        columns : (m,) int
            Positions of the columns.
        strength : float

        Returns
        -------
        bool
        """
        step = moved - beta
        used = np.flatnonzero(step.any(axis=0))
        change = step[:, used] @ z[used]
        start = self._objective(self.place.loss, beta, strength)
        slack = 1e-13 * max(abs(start), 1e-3)
        # First-order decrease of the objective.
        gradient = self.place.residual @ z[used].T
        fall = float((gradient * step[:, used]).sum()) + self._objective(0.0, moved, strength)
        fall -= self._objective(0.0, beta, strength)
        size = 1.0
        for _ in range(HALVINGS):
            target = moved if size == 1.0 else beta + size * step
            eta = self.eta + size * change
            place = self.model.at(eta)
            if self._objective(place.loss, target, strength) <= start + 1e-4 * size * min(fall, 0.0) + slack:
                self.beta[:, columns] = target
                self.eta = eta
                self.place = place
                return True
            size /= 2
            self.curvature = None
        return False
