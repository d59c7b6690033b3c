"""Multinomial logit with an elastic net penalty, minimized by proximal Newton steps along a path.

`penalized.py` fits its models with `ProximalNewton`. For two classes there is one linear function of a row,
the log odds of the second class against the first. For more classes there is one function per class, and
a constant may be added to all functions of a row (the symmetric parametrization).

Notation: z (p + 1, n) has the columns of the n rows, the first one constant; beta (C, p + 1) are the
coefficients; eta = beta z (C, n) the C functions, one for two classes and otherwise K. With normalized
weights s_i, the loss is L = -sum_i s_i log P(y_i), its gradient (C, p + 1) is r z', r = s (P - Y), and its
curvature between coefficient j of function c and coefficient l of function d is
sum_i s_i (P_c [c = d] - P_c P_d)_i z_ji z_li.

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

from discrim.core.numerics.arrays import Codes, Floats, Mask, check_memory


class LikelihoodState(NamedTuple):
    """Loss and its derivatives at some coefficients.

    Attributes
    ----------
    loss : float
        Weighted mean of the negative log-likelihood, without the penalty.
    residual : (C, n) float
        Weighted residuals s (P - Y).
    probabilities : (C, n) float
        Probabilities P of the classes; for two classes only of the second class.
    """

    loss: float
    residual: Floats
    probabilities: Floats


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
        Weights of the rows, which sum to one.
    n_classes : int
        Number of classes K.
    """

    z: Floats
    codes: Codes
    weights: Floats
    n_classes: int

    @property
    def n_functions(self) -> int:
        """Number of linear functions C: one for two classes, otherwise the number of classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def class_proportions(self) -> Floats:
        """Class proportions (K,), the sums of the row weights."""
        return np.bincount(self.codes, self.weights, self.n_classes).astype(np.float64)

    def null_coef(self) -> Floats:
        """Return the coefficients (C, p + 1) without slopes; for C > 1 the intercepts sum to zero."""
        beta = np.zeros((self.n_functions, len(self.z)))
        logs = np.log(self.class_proportions)
        beta[:, 0] = logs[1] - logs[0] if self.n_functions == 1 else logs - logs.mean()
        return beta

    def linear_functions(self, beta: Floats) -> Floats:
        """Return the linear functions (C, n) of the n rows at coefficients (C, p + 1), intercepts first.

        For two classes (C = 1) they are log odds of the second class. Only columns with a nonzero coefficient
        are read if these are at most half of all.
        """
        used = np.flatnonzero(beta.any(axis=0))
        if 2 * len(used) > len(self.z):
            return np.asarray(beta @ self.z)
        return np.asarray(beta[:, used] @ self.z[used])

    def evaluate(self, eta: Floats) -> LikelihoodState:
        """Return loss, residuals and probabilities at linear functions (C, n) of the rows."""
        rows = np.arange(len(self.codes))
        if self.n_functions == 1:
            odds = eta[0]
            signed = np.where(self.codes == 1, odds, -odds)
            loss = float(self.weights @ np.logaddexp(0.0, -signed))
            # Computed without cancellation for rows that are classified with near certainty.
            residual = self.weights * expit(-signed) * np.where(self.codes == 1, -1.0, 1.0)
            return LikelihoodState(loss, residual[None], expit(odds)[None])
        shifted = eta - eta.max(axis=0)
        probabilities = np.exp(shifted)
        total = probabilities.sum(axis=0)
        probabilities /= total
        loss = float(self.weights @ (np.log(total) - shifted[self.codes, rows]))
        residual = probabilities.copy()
        residual[self.codes, rows] = 0.0
        residual[self.codes, rows] = -residual.sum(axis=0)
        residual *= self.weights
        return LikelihoodState(loss, residual, probabilities)

    def gradient(self, residual: Floats, columns: Codes | None = None) -> Floats:
        """Return the gradient (C, p + 1) of the loss, or only its columns at positions `columns`."""
        return np.asarray(residual @ (self.z if columns is None else self.z[columns]).T)

    def residual_change(self, probabilities: Floats, change: Floats) -> Floats:
        """Return the first-order change (C, n) of the weighted residuals for changes (C, n) of functions."""
        residual_change = probabilities * change
        if self.n_functions == 1:
            return np.asarray(self.weights * (residual_change * (1 - probabilities)))
        residual_change -= probabilities * residual_change.sum(axis=0)
        residual_change *= self.weights
        return residual_change

    def curvature(self, probabilities: Floats, rows: Codes, columns: Codes) -> Floats:
        """Compute the second derivatives of the loss between coefficients.

        If `rows` and `columns` are the same array, only half of the blocks are computed.

        Parameters
        ----------
        probabilities : (C, n) float
            Class probabilities of the rows.
        rows, columns : (a,), (b,) int
            Positions, in beta.ravel(), of the coefficients of the rows and columns of the result.

        Returns
        -------
        (a, b) float
            Without the penalty.
        """
        p1 = len(self.z)
        is_symmetric = rows is columns
        out = np.empty((len(rows), len(columns)))
        row_parts = np.divmod(rows, p1)
        column_parts = np.divmod(columns, p1)
        columns_of = {d: np.flatnonzero(column_parts[0] == d) for d in np.unique(column_parts[0]).tolist()}
        column_values = {
            d: self._lines(column_parts[1][block_columns]).T for d, block_columns in columns_of.items()
        }
        for c in np.unique(row_parts[0]).tolist():
            block_rows = np.flatnonzero(row_parts[0] == c)
            row_values = self._lines(row_parts[1][block_rows])
            for d, block_columns in columns_of.items():
                if is_symmetric and d < c:
                    continue
                class_weights = (
                    probabilities[c] * (1 - probabilities[c])
                    if c == d
                    else -probabilities[c] * probabilities[d]
                )
                block = (row_values * (self.weights * class_weights)) @ column_values[d]
                out[np.ix_(block_rows, block_columns)] = block
                if is_symmetric and d > c:
                    out[np.ix_(block_columns, block_rows)] = block.T
        return out

    def _lines(self, columns: Codes) -> Floats:
        """Return the columns (m, n) at positions `columns` (m,), without a copy if these are all columns."""
        return self.z if np.array_equal(columns, np.arange(len(self.z))) else self.z[columns]

    def curvature_root(self, probabilities: Floats, positions: Codes) -> Floats:
        """Return A (C n, a) with A'A the curvature of the coefficients at `positions` (a,) in beta.ravel().

        For probabilities P of a row, diag(sqrt P) - P sqrt P' is a root of diag(P) - P P'.
        """
        functions, columns = np.divmod(positions, len(self.z))
        root = np.sqrt(self.weights)
        if self.n_functions == 1:
            return np.asarray((root * np.sqrt(probabilities[0] * (1 - probabilities[0])) * self.z[columns]).T)
        half = np.sqrt(probabilities)
        roots = []
        for other in range(self.n_functions):
            factor = -probabilities[functions] * half[other]
            factor[functions == other] += half[other]
            roots.append((root * factor * self.z[columns]).T)
        return np.concatenate(roots)


N_MATRICES = 4
"""Number of matrices of its size that growing and factoring the curvature needs."""

RELATIVE_JITTER = 1e-10
"""Fraction of the mean curvature added to the diagonal; the curvature along equal intercepts is zero."""

MIN_ENTERING = 16
"""Minimum number of coefficients that may enter the active set at once."""

MAX_ACTIVE_SET_CHANGES = 500
"""Maximum number of changes of the active set in one step; reaching it is not an error."""


@dataclass(slots=True, eq=False)
class Curvature:
    """Second derivatives at fixed probabilities, computed for the coefficients that were needed so far.

    Attributes
    ----------
    model : Likelihood
        The loss.
    probabilities : (C, n) float
        Class probabilities of the rows at which the derivatives are evaluated.
    matrix_positions : (C (p + 1),) int
        Position of each coefficient in `computed` and `matrix`; -1 if its derivatives were not computed.
    computed : (m,) int
        Positions of the coefficients with derivatives, in the order of computation.
    matrix : (m, m) float
        Second derivatives between these coefficients.
    last_factor : tuple or None
        Coefficients, ridge and Cholesky factor of the last call of `factor`.
    """

    model: Likelihood
    probabilities: Floats
    matrix_positions: Codes
    computed: Codes
    matrix: Floats
    last_factor: tuple[Codes, Floats, Floats] | None = None

    @classmethod
    def empty(cls, model: Likelihood, probabilities: Floats) -> Curvature:
        """Return a curvature at probabilities (C, n), of which no elements have been computed yet."""
        n_coefs = model.n_functions * len(model.z)
        no_positions = np.zeros(0, dtype=np.intp)
        return cls(model, probabilities, np.full(n_coefs, -1), no_positions, np.zeros((0, 0)))

    def factor(self, positions: Codes, ridge: Floats) -> Floats:
        """Compute the Cholesky factor of the curvature of some coefficients plus a ridge.

        A jitter, `RELATIVE_JITTER` times the mean curvature, is added to the diagonal and increased until the
        matrix is positive definite. The last result is stored and returned if the arguments are the same.

        Parameters
        ----------
        positions : (a,) int
            Positions of the coefficients in beta.ravel().
        ridge : (a,) float
            Ridge of each coefficient.

        Returns
        -------
        (a, a) float
            Lower triangular factor; elements above the diagonal are meaningless.
        """
        if self.last_factor is not None:
            last_positions, last_ridge, root = self.last_factor
            if np.array_equal(last_positions, positions) and np.array_equal(last_ridge, ridge):
                return root
        block = self.block(positions)
        diagonal_index = np.arange(len(positions))
        diagonal = block[diagonal_index, diagonal_index]
        jitter = RELATIVE_JITTER * max(float(diagonal.mean()), np.finfo(np.float64).tiny)
        while True:
            matrix = block.copy(order="F")
            matrix[diagonal_index, diagonal_index] += ridge + jitter
            root, failed = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
            if not failed:
                self.last_factor = positions, ridge, root
                return np.asarray(root)
            jitter *= 100

    def block(self, positions: Codes) -> Floats:
        """Return the curvature (a, a) of the coefficients at `positions` (a,) in beta.ravel().

        Missing elements are computed and stored. Raises DataError if the matrix of all stored elements would
        need too much memory.
        """
        new = positions[self.matrix_positions[positions] < 0]
        if len(new):
            n_before = len(self.computed)
            n_after = len(self.computed) + len(new)
            check_memory(
                N_MATRICES * float(n_after) ** 2,
                f"The curvature of the {n_after:,} coefficients in the active set",
                "Use a larger penalty",
            )
            matrix = np.empty((n_after, n_after))
            matrix[:n_before, :n_before] = self.matrix
            matrix[n_before:, n_before:] = self.model.curvature(self.probabilities, new, new)
            if n_before:
                matrix[n_before:, :n_before] = self.model.curvature(self.probabilities, new, self.computed)
                matrix[:n_before, n_before:] = matrix[n_before:, :n_before].T
            self.matrix_positions[new] = np.arange(n_before, n_after)
            self.computed = np.concatenate([self.computed, new])
            self.matrix = matrix
        matrix_index = self.matrix_positions[positions]
        return self.matrix[np.ix_(matrix_index, matrix_index)]


class PenalizedQuadratic:
    """Quadratic approximation of the loss plus the elastic net penalty, as a function of v.

    The function is g'(v - b) + (v - b)'H(v - b)/2 + l1_weight |v|_1 + l2_weight |v|^2/2, with coefficients v
    of some columns; intercepts are not penalized.

    Parameters
    ----------
    curvature : Curvature
        The matrix H.
    gradient : (C, m) float
        The gradient g of the loss, without the penalty.
    beta : (C, m) float
        Current coefficients b.
    columns : (m,) int
        Positions of the m columns among all p + 1; the first one is the constant.
    z : (m, n) float
        The columns.
    l1_weight, l2_weight : float
        Weights lambda a and lambda (1 - a) of the L1 and L2 penalties.
    """

    def __init__(
        self,
        curvature: Curvature,
        gradient: Floats,
        beta: Floats,
        columns: Codes,
        z: Floats,
        l1_weight: float,
        l2_weight: float,
    ) -> None:
        """Start at the current coefficients; see the class for the parameters."""
        self.curvature = curvature
        self.model = curvature.model
        self.z = z
        self.l1_weight = l1_weight
        self.l2_weight = l2_weight
        self.shape = beta.shape
        self.columns = columns
        self.v = beta.ravel().copy()
        penalized = np.ones(beta.shape, dtype=bool)
        penalized[:, 0] = False
        self.penalized = penalized.ravel()
        slope = gradient + l2_weight * beta
        slope[:, 0] = gradient[:, 0]
        self.slope = slope.ravel()
        # Positions in the full coefficient vector.
        functions = beta.shape[0]
        p1 = len(self.model.z)
        self.positions = (np.arange(functions)[:, None] * p1 + columns).ravel()

    def minimize(self) -> Floats:
        """Return the minimizing coefficients (C, m).

        It changes the state of the object, and is meant to be called once.
        """
        active = (self.v != 0) | ~self.penalized
        if not self.l1_weight:
            active[:] = True
        sign = np.sign(self.v) * self.penalized
        one_by_one = False
        rounds = 0
        value = best = 0.0
        while rounds < MAX_ACTIVE_SET_CHANGES:
            value += self._minimize_active(active, sign)
            rounds += 1
            if not self.l1_weight:
                break
            excess = np.abs(self.slope) - self.l1_weight
            excess[active] = -np.inf
            entering = excess > 1e-10 * self.l1_weight
            if not entering.any():
                break
            # If the value does not decrease, coefficients enter one by one; stop if that fails too.
            is_flat = rounds > 1 and value > best - 1e-15 * abs(best)
            if is_flat and one_by_one:
                break
            one_by_one = is_flat
            best = value
            if one_by_one:
                entering = np.arange(len(entering)) == np.argmax(excess)
            elif not self.l2_weight:
                entering = self._limit_entering(entering, excess, int(active.sum()))
            sign[entering] = -np.sign(self.slope[entering])
            active |= entering
        return self.v.reshape(self.shape)

    def _limit_entering(self, entering: Mask, excess: Floats, n_active: int) -> Mask:
        """Return the coefficients with the largest violations, at most as many as the rows determine.

        Parameters
        ----------
        entering : (C m,) bool
            Coefficients that violate their condition.
        excess : (C m,) float
            Amount by which the condition of each coefficient is violated.
        n_active : int
            Number of nonzero coefficients.

        Returns
        -------
        (C m,) bool
            The coefficients that may enter.
        """
        max_entering = max(self.model.n_functions * len(self.model.codes) - n_active, MIN_ENTERING)
        if int(entering.sum()) <= max_entering:
            return entering
        largest = np.zeros_like(entering)
        largest[np.argpartition(-excess, max_entering)[:max_entering]] = True
        return largest

    def _minimize_active(self, active: Mask, sign: Floats) -> float:
        """Minimize over the active coefficients with fixed signs, and return the change of the objective.

        Coefficients that would change sign become zero. `active` and `sign`, (C m,), are updated in place, as
        are `self.v` and `self.slope`; the sign of an intercept is 0.
        """
        total = 0.0
        for _ in range(MAX_ACTIVE_SET_CHANGES):
            active_index = np.flatnonzero(active)
            step = self._solve(
                active_index, -(self.slope[active_index] + self.l1_weight * sign[active_index])
            )
            start = self.v[active_index]
            end = start + step
            crosses_zero = (
                (end * sign[active_index] < 0) & self.penalized[active_index] & (self.l1_weight > 0)
            )
            if not crosses_zero.any():
                change, self.slope = self._value_change(active_index, step)
                self.v[active_index] += step
                return total + change
            new_values = np.where(crosses_zero, 0.0, end)
            change, slope = self._value_change(active_index, new_values - start)
            if change > 0:
                # Step to the first sign change.
                step_fractions = start[crosses_zero] / (start[crosses_zero] - end[crosses_zero])
                size = float(step_fractions.min())
                new_values = start + size * step
                leaving = crosses_zero.copy()
                leaving[crosses_zero] = step_fractions <= size * (1 + 1e-12)
                new_values[leaving] = 0.0
                change, slope = self._value_change(active_index, new_values - start)
            else:
                leaving = crosses_zero
            self.v[active_index] = new_values
            self.slope = slope
            total += change
            active[active_index[leaving]] = False
            sign[active_index[leaving]] = 0.0
        return total

    def _value_change(self, index: Codes, step: Floats) -> tuple[float, Floats]:
        """Compute the effect of a step on the objective, without making the step.

        Parameters
        ----------
        index : (a,) int
            Positions of the coefficients in `v`.
        step : (a,) float
            Changes of the coefficients.

        Returns
        -------
        change : float
            Change of the objective.
        slope : (C m,) float
            Gradient of the objective without its L1 part, after the step.
        """
        full_step = np.zeros(self.shape)
        full_step.ravel()[index] = step
        used = np.flatnonzero(full_step.any(axis=0))
        residual_change = self.model.residual_change(
            self.curvature.probabilities, full_step[:, used] @ self.z[used]
        )
        slope_change = residual_change @ self.z.T
        slope_change[:, 1:] += self.l2_weight * full_step[:, 1:]
        flat_change = slope_change.ravel()
        end = self.v[index] + step
        norm_change = self.penalized[index] * (np.abs(end) - np.abs(self.v[index]))
        change = float(self.slope[index] @ step) + 0.5 * float(flat_change[index] @ step)
        return change + self.l1_weight * float(norm_change.sum()), self.slope + flat_change

    def _solve(self, index: Codes, target: Floats) -> Floats:
        """Solve (H + diag(ridge)) step = target for the coefficients at positions `index` (a,) in `v`.

        The ridge is `l2_weight`, and 0 for intercepts. A small jitter is added to the diagonal.
        """
        positions = self.positions[index]
        ridge = np.where(self.penalized[index], self.l2_weight, 0.0)
        n_equations = self.model.n_functions * len(self.model.codes)
        if self.l2_weight > 0 and len(index) > n_equations:
            return self._solve_by_rows(positions, ridge, target)
        return np.asarray(dpotrs(self.curvature.factor(positions, ridge), target, lower=1)[0])

    def _solve_by_rows(self, positions: Codes, ridge: Floats, target: Floats) -> Floats:
        """Solve (H + diag(ridge)) step = target for more coefficients than rows, by a system of their size.

        Parameters
        ----------
        positions : (a,) int
            Positions of the coefficients in beta.ravel().
        ridge : (a,) float
            Ridge of each coefficient.
        target : (a,) float
            Right-hand side.

        Returns
        -------
        (a,) float
            The step; a small jitter is added to the ridge.
        """
        root = self.model.curvature_root(self.curvature.probabilities, positions)
        jitter = RELATIVE_JITTER * float((root * root).sum()) / len(positions)
        inverse = 1 / (ridge + jitter)
        scaled = root * inverse
        inner = scaled @ root.T
        inner.ravel()[:: len(inner) + 1] += 1.0
        lower = np.linalg.cholesky(inner)
        half_solution = solve_triangular(lower, scaled @ target, lower=True, check_finite=False)
        solution = solve_triangular(lower, half_solution, lower=True, trans=1, check_finite=False)
        return np.asarray(inverse * target - scaled.T @ solution)


def violations(gradient: Floats, beta: Floats, strength: float, l1_ratio: float) -> Floats:
    """Return the violation of the optimality condition of each coefficient.

    Parameters
    ----------
    gradient : (..., C, m) float
        Gradient of the loss.
    beta : (..., C, m) float
        Coefficients, the intercepts in the first column.
    strength, l1_ratio : float
        The value of lambda and the proportion a of the L1 penalty.

    Returns
    -------
    (..., C, m) float
        Absolute values, not in units of lambda.
    """
    l1_weight = strength * l1_ratio
    l2_weight = strength * (1 - l1_ratio)
    slope = gradient + l2_weight * beta
    at_zero = np.maximum(np.abs(slope) - l1_weight, 0.0)
    at_nonzero = np.abs(slope + l1_weight * np.sign(beta))
    result = np.where(beta != 0, at_nonzero, at_zero)
    result[..., 0] = np.abs(gradient[..., 0])
    return result


def minimize_quadratics(
    curvature: Floats, gradient: Floats, beta: Floats, l1_weight: float, l2_weight: float
) -> Floats:
    """Minimize several functions of `PenalizedQuadratic` with small matrices at the same time.

    Parameters
    ----------
    curvature : (F, r, r) float
        The matrices H, without the penalty, r = C m.
    gradient, beta : (F, C, m) float
        Gradients g of the losses and current coefficients b, the intercepts in the first column.
    l1_weight, l2_weight : float
        Weights of the L1 and L2 penalties, the same for all functions.

    Returns
    -------
    (F, C, m) float
        The coefficients after at most `MAX_ACTIVE_SET_CHANGES` changes of the active sets.
    """
    shape = beta.shape
    penalized = np.broadcast_to(np.arange(shape[2]) > 0, shape).reshape(shape[0], -1)
    v = beta.reshape(penalized.shape).copy()
    slope = gradient.reshape(v.shape) + l2_weight * penalized * v
    matrix = curvature.copy()
    diagonal = np.einsum("fii->fi", matrix)
    diagonal += l2_weight * penalized + RELATIVE_JITTER * diagonal.mean(axis=1, keepdims=True)
    active = (v != 0) | ~penalized | (l1_weight == 0)
    sign = np.sign(v) * penalized
    for _ in range(MAX_ACTIVE_SET_CHANGES):
        both = active[:, :, None] & active[:, None, :]
        system = np.where(both, matrix, np.eye(v.shape[1]))
        step = np.linalg.solve(system, np.where(active, -slope - l1_weight * sign, 0.0)[..., None])[..., 0]
        crosses = ((v + step) * sign < 0) & (l1_weight > 0)
        # Coefficients stop at zero, all of them or, if that is not better, the first one.
        clipped = np.where(crosses, -v, step)
        image = np.matmul(matrix, clipped[..., None])[..., 0]
        change = (clipped * (slope + 0.5 * image)).sum(axis=1)
        change += l1_weight * (penalized * (np.abs(v + clipped) - np.abs(v))).sum(axis=1)
        fraction = np.where(crosses, v / np.where(crosses, -step, 1.0), 1.0)
        is_partial = crosses.any(axis=1) & (change > 0)
        size = np.where(is_partial, fraction.min(axis=1), 1.0)[:, None]
        leaves = crosses & (~is_partial[:, None] | (fraction <= size * (1 + 1e-12)))
        end = np.where(leaves, 0.0, v + np.where(is_partial[:, None], size * step, clipped))
        slope += np.matmul(matrix, (end - v)[..., None])[..., 0]
        v = end
        active &= ~leaves
        sign[leaves] = 0.0
        is_stationary = ~crosses.any(axis=1, keepdims=True)
        enters = ~active & is_stationary & (np.abs(slope) - l1_weight > 1e-10 * l1_weight)
        if is_stationary.all() and not enters.any():
            break
        sign = np.where(enters, -np.sign(slope), sign)
        active |= enters
    return v.reshape(shape)


MIN_ITERATIVE_COEFS = 256
"""Number of coefficients of a ridge fit above which steps use conjugate gradients."""

ITERATIVE_TOLERANCE = 1e-4
"""Norm of the slope, preconditioned and relative to its first value, at which conjugate gradients end."""

MAX_ITERATIONS = 200
"""Maximum number of iterations of conjugate gradients."""

MAX_ITERATION_RATIO = 2
"""Number of iterations, relative to the first step, above which the preconditioner is recomputed."""


class ClassBlocks:
    """Preconditioner of conjugate gradients: inverse curvature (C, p + 1, p + 1) by class, with the penalty.

    Its attribute `n_iterations` is for the caller, who stores the iterations of the first step in it.

    Parameters
    ----------
    model : Likelihood
        The loss.
    probabilities : (C, n) float
        Class probabilities of the rows.
    l2_weight : float
        Weight of the L2 penalty.
    """

    def __init__(self, model: Likelihood, probabilities: Floats, l2_weight: float) -> None:
        """Invert the curvature of each class; see the class for the parameters."""
        blocks = np.stack(
            [
                (model.z * class_weights) @ model.z.T
                for class_weights in model.weights * probabilities * (1 - probabilities)
            ]
        )
        diagonal_index = np.arange(blocks.shape[1])
        blocks[:, diagonal_index, diagonal_index] += (
            RELATIVE_JITTER * np.trace(blocks, axis1=1, axis2=2)[:, None] / len(diagonal_index)
        )
        blocks[:, diagonal_index[1:], diagonal_index[1:]] += l2_weight
        self.inverse = np.linalg.inv(blocks)
        self.n_iterations = 0

    def multiply(self, residual: Floats) -> Floats:
        """Return the product (C, p + 1) of the preconditioner with a residual (C, p + 1)."""
        return np.asarray((self.inverse @ residual[:, :, None])[:, :, 0])

    def step(
        self, model: Likelihood, probabilities: Floats, slope: Floats, l2_weight: float
    ) -> tuple[Floats, int]:
        """Compute Newton's step by conjugate gradients.

        Parameters
        ----------
        model : Likelihood
            The loss.
        probabilities : (C, n) float
            Class probabilities of the rows.
        slope : (C, p + 1) float
            Gradient of the objective, loss plus L2 penalty.
        l2_weight : float
            Weight of the L2 penalty.

        Returns
        -------
        step : (C, p + 1) float
            Newton's step, approximate; for C > 1 the changes of the intercepts sum to zero.
        n_iterations : int
            Number of iterations, at most `MAX_ITERATIONS`.
        """
        step = np.zeros_like(slope)
        residual = -slope
        preconditioned = self.multiply(residual)
        direction = preconditioned
        size = float((residual * preconditioned).sum())
        tolerance = ITERATIVE_TOLERANCE**2 * size
        n_iterations = 0
        while size > tolerance and n_iterations < MAX_ITERATIONS:
            curvature_direction = model.gradient(model.residual_change(probabilities, direction @ model.z))
            curvature_direction[:, 1:] += l2_weight * direction[:, 1:]
            step_length = size / float((direction * curvature_direction).sum())
            step += step_length * direction
            residual -= step_length * curvature_direction
            preconditioned = self.multiply(residual)
            size, previous_size = float((residual * preconditioned).sum()), size
            direction = preconditioned + size / previous_size * direction
            n_iterations += 1
        if len(step) > 1:
            # The intercepts are determined up to a common constant.
            step[:, 0] -= step[:, 0].mean()
        return step, n_iterations


MAX_VIOLATION_RATIO = 0.2
"""Ratio of successive violations above which the curvature is recomputed."""

MAX_CHEAP_PRODUCTS = 2.0**21
"""Number of multiplications up to which the curvature is recomputed in each step."""

MAX_HALVINGS = 40
"""Maximum number of points that are tried along a step, each at half of the previous length."""

MAX_FINAL_VIOLATION = 1e-6
"""Violation, in units of lambda, that counts as converged if rounding stops the search."""

RELATIVE_ROUNDING = 64 * np.finfo(np.float64).eps
"""Violation that is attributed to rounding, relative to the sum of absolute residuals."""


class PenalizedResult(NamedTuple):
    """Result of the search for one lambda.

    Attributes
    ----------
    beta : (C, p + 1) float
        Coefficients.
    loss : float
        Weighted mean of the negative log-likelihood, without the penalty.
    violation : float
        Largest violation of the optimality conditions, in units of lambda.
    steps : int
        Number of steps.
    converged : bool
        Whether the violation is at most the tolerance or `MAX_FINAL_VIOLATION`, or a rounding error.
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
        The loss.
    l1_ratio : float
        The proportion a of the L1 penalty, from 0 (ridge) to 1 (lasso).
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
        self.restart(model.null_coef())
        self.null_loss = self.state.loss

    def max_strength(self) -> float:
        """Return the smallest lambda at which all slopes stay zero.

        For a < 1e-3 it is computed with a = 1e-3, glmnet's convention for a ridge. It uses the current
        gradient and is therefore valid at the model without slopes only.
        """
        return float(np.abs(self.gradient[:, 1:]).max(initial=0.0)) / max(self.l1_ratio, 1e-3)

    def restart(self, beta: Floats) -> None:
        """Restart from coefficients (C, p + 1), without curvature or an earlier lambda."""
        self.beta = beta.copy()
        self.eta = self.model.linear_functions(self.beta)
        self.state = self.model.evaluate(self.eta)
        self.gradient = self.model.gradient(self.state.residual)
        self.curvature: Curvature | None = None
        self.preconditioner: ClassBlocks | None = None
        self.previous_strength = np.inf

    def start_from_if_better(self, beta: Floats, strength: float) -> None:
        """Continue from coefficients (C, p + 1) if their objective is smaller at this lambda.

        For a ridge only: `gradient`, which the strong rule of other penalties needs, is not updated.
        """
        eta = self.model.linear_functions(beta)
        new_state = self.model.evaluate(eta)
        current_objective = self._objective(self.state.loss, self.beta, strength)
        if self._objective(new_state.loss, beta, strength) < current_objective:
            self.beta = beta.copy()
            self.eta = eta
            self.state = new_state

    def minimize(self, strength: float, *, polish: bool = False, tol: float | None = None) -> PenalizedResult:
        """Minimize at one lambda, starting from the previous solution.

        Parameters
        ----------
        strength : float
            The value of lambda.
        polish : bool
            Whether to continue until rounding stops the search.
        tol : float, optional
            Tolerance that replaces the one of the object.

        Returns
        -------
        PenalizedResult
            `converged` is also true after `maxiter` steps, or if no step decreases the objective, provided
            that the violation is at most `tol` or `MAX_FINAL_VIOLATION`, or a rounding error.
        """
        tol = self.tol if tol is None else tol
        columns = np.arange(self.beta.shape[1])
        if self.l1_ratio:
            # Columns that the strong rule keeps, and the constant.
            previous_strength = (
                self.max_strength() if np.isinf(self.previous_strength) else self.previous_strength
            )
            bound = min(self.l1_ratio * (2 * strength - previous_strength), self.l1_ratio * strength)
            keep = np.logical_or((np.abs(self.gradient) >= bound).any(axis=0), self.beta.any(axis=0))
            columns = np.union1d([0], np.flatnonzero(keep))
        n_steps = 0
        while True:
            steps, is_stuck = self._search_columns(
                strength, columns, self.maxiter - n_steps, tol, polish=polish
            )
            n_steps += steps
            self.gradient = self.model.gradient(self.state.residual)
            by_coef = violations(self.gradient, self.beta, strength, self.l1_ratio)
            max_violation = float(by_coef.max())
            missed_columns = np.flatnonzero(
                (by_coef > self._max_accepted_violation(strength, tol)).any(axis=0)
            )
            missed_columns = np.setdiff1d(missed_columns, columns)
            if not len(missed_columns) or is_stuck or n_steps >= self.maxiter:
                break
            columns = np.union1d(columns, missed_columns)
        self.previous_strength = strength
        converged = max_violation <= self._max_accepted_violation(strength, max(tol, MAX_FINAL_VIOLATION))
        return PenalizedResult(
            self.beta.copy(), self.state.loss, max_violation / strength, n_steps, converged
        )

    # ---- conditions of a minimum

    def _max_accepted_violation(self, strength: float, tol: float) -> float:
        """Return the largest violation, not in units of lambda, that counts as zero at a lambda.

        It is `tol` times the largest slope of the penalty, or a rounding error (`RELATIVE_ROUNDING`) if that
        is larger.
        """
        # Relative to the largest slope of the penalty, which may be small for a ridge.
        largest = float(np.abs(self.beta[:, 1:]).max(initial=0.0))
        steepest = self.l1_ratio + (1 - self.l1_ratio) * min(largest, 1.0)
        return max(tol * strength * steepest, RELATIVE_ROUNDING * float(np.abs(self.state.residual).sum()))

    # ---- steps

    def _search_columns(
        self, strength: float, columns: Codes, max_steps: int, tol: float, *, polish: bool
    ) -> tuple[int, bool]:
        """Take steps over some of the columns until the conditions are met; `beta`, `eta` and `state` change.

        Parameters
        ----------
        strength : float
            The value of lambda.
        columns : (m,) int
            Sorted positions of the columns that can change, the first one the constant.
        max_steps : int
            Maximum number of steps.
        tol : float
            Largest violation of the conditions, in units of lambda.
        polish : bool
            Whether to continue until rounding stops the search.

        Returns
        -------
        steps : int
            Number of steps.
        stuck : bool
            Whether no step decreases the objective, or, with `polish`, the violation.
        """
        all_columns = len(columns) == self.beta.shape[1]
        z = self.model.z if all_columns else self.model.z[columns]
        beta = self.beta[:, columns]
        previous_violation = np.inf
        for steps in range(max_steps + 1):
            gradient = self.state.residual @ z.T
            violation = float(violations(gradient, beta, strength, self.l1_ratio).max())
            if violation <= self._max_accepted_violation(strength, 0.0 if polish else tol):
                return steps, False
            l1_weight = strength * self.l1_ratio
            l2_weight = strength * (1 - self.l1_ratio)
            iterative = not self.l1_ratio and not polish and beta.size > MIN_ITERATIVE_COEFS
            if not iterative:
                curvature, is_new = self._curvature_at(
                    beta, is_slow=violation > MAX_VIOLATION_RATIO * previous_violation
                )
                if (
                    polish
                    and is_new
                    and violation <= self._max_accepted_violation(strength, tol)
                    and violation > 0.5 * previous_violation
                ):
                    return steps, True
            previous_violation = violation
            if steps == max_steps:
                break
            if iterative:
                new_beta = beta + self._conjugate_gradient_step(gradient, beta, l2_weight)
            else:
                new_beta = PenalizedQuadratic(
                    curvature, gradient, beta, columns, z, l1_weight, l2_weight
                ).minimize()
            if not self._move_towards(beta, new_beta, z, columns, strength):
                return steps, True
            beta = self.beta[:, columns]
        return max_steps, False

    def _conjugate_gradient_step(self, gradient: Floats, beta: Floats, l2_weight: float) -> Floats:
        """Compute Newton's step of a ridge fit by conjugate gradients.

        Parameters
        ----------
        gradient, beta : (C, p + 1) float
            Gradient of the loss and coefficients, for all columns.
        l2_weight : float
            Weight of the L2 penalty.

        Returns
        -------
        (C, p + 1) float
            The step.
        """
        slope = gradient.copy()
        probabilities = self.state.probabilities
        slope[:, 1:] += l2_weight * beta[:, 1:]
        if self.preconditioner is None:
            self.preconditioner = ClassBlocks(self.model, probabilities, l2_weight)
        step, n_iterations = self.preconditioner.step(self.model, probabilities, slope, l2_weight)
        self.preconditioner.n_iterations = self.preconditioner.n_iterations or n_iterations
        if n_iterations > MAX_ITERATION_RATIO * self.preconditioner.n_iterations:
            self.preconditioner = None
        return step

    def _curvature_at(self, beta: Floats, *, is_slow: bool) -> tuple[Curvature, bool]:
        """Return the curvature for coefficients (C, m), and whether it was recomputed at the current state.

        It is recomputed if none is stored, if `is_slow` is true, or if it takes at most `MAX_CHEAP_PRODUCTS`
        multiplications. A recomputed curvature is empty: its elements are computed when they are needed.
        """
        size = np.count_nonzero(beta) + len(beta)
        cost = float(len(self.model.codes)) * size * size
        if self.curvature is None or is_slow or cost <= MAX_CHEAP_PRODUCTS:
            self.curvature = Curvature.empty(self.model, self.state.probabilities)
            return self.curvature, True
        return self.curvature, False

    def _objective(self, loss: float, beta: Floats, strength: float) -> float:
        """Return the loss plus the penalty of coefficients (C, m)."""
        b = beta[:, 1:]
        ridge = (1 - self.l1_ratio) / 2
        return loss + strength * (ridge * float((b * b).sum()) + self.l1_ratio * float(np.abs(b).sum()))

    def _move_towards(
        self, beta: Floats, new_beta: Floats, z: Floats, columns: Codes, strength: float
    ) -> bool:
        """Move to other coefficients, or part of the way, if the objective decreases.

        `beta`, `eta` and `state` of the object are updated. If the full step fails, its curvature is dropped.

        Parameters
        ----------
        beta, new_beta : (C, m) float
            Current and new coefficients of the columns.
        z : (m, n) float
            The columns.
        columns : (m,) int
            Positions of the columns.
        strength : float
            The value of lambda.

        Returns
        -------
        bool
            Whether it moved; False if `MAX_HALVINGS` points did not decrease the objective up to rounding.
        """
        step = new_beta - beta
        used = np.flatnonzero(step.any(axis=0))
        change = step[:, used] @ z[used]
        start = self._objective(self.state.loss, beta, strength)
        slack = 1e-13 * max(abs(start), 1e-3)
        # First-order decrease of the objective.
        gradient = self.state.residual @ z[used].T
        decrease = float((gradient * step[:, used]).sum()) + self._objective(0.0, new_beta, strength)
        decrease -= self._objective(0.0, beta, strength)
        size = 1.0
        for _ in range(MAX_HALVINGS):
            target = new_beta if size == 1.0 else beta + size * step
            eta = self.eta + size * change
            new_state = self.model.evaluate(eta)
            if (
                self._objective(new_state.loss, target, strength)
                <= start + 1e-4 * size * min(decrease, 0.0) + slack
            ):
                self.beta[:, columns] = target
                self.eta = eta
                self.state = new_state
                return True
            size /= 2
            self.curvature = None
        return False
