"""The minimum of a likelihood with an elastic net penalty, by proximal Newton steps along a path.

Minimized is L(beta) + lambda ((1 - a) / 2 |b|^2 + a |b|_1), b all coefficients but the constants. A step
minimizes the quadratic approximation of L, with the penalty as it is. Which coefficients are zero there is
found by active sets (the feature-sign search of Lee, Battle, Raina & Ng, 2006, Advances in Neural Information
Processing Systems 19): given which are not, and their signs, it is a linear system. A step is as exact as
that system, so that the conditions of Karush, Kuhn and Tucker hold to rounding at the end, which no descent
by single coordinates reaches.

Along a path of falling lambda, each fit begins where the last one ended, with the columns that the strong
rule leaves (Tibshirani, Bien, Friedman, Hastie, Simon, Taylor & Tibshirani, 2012, JRSS B 74, 245-266); that
the others have no part is checked at the end. The curvature is that of an earlier place as long as steps by
it lead on fast: to make it costs more than what is done with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.regression.penalized_likelihood import Likelihood
from discrim.core.regression.penalized_quadratic import Curvature, Quadratic

__all__ = ["Ended", "ProximalNewton"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

SLOW = 0.2
"""Share of the violation that a step may leave before the curvature is made anew."""

CHEAP = 2.0**21
"""Products up to which the curvature is made anew for each step."""

HALVINGS = 40
"""Most halvings of a step."""

LEAST = 1e-6
"""Violation, in units of lambda, that is taken for the end of a search that rounding stops."""

ROUNDING = 64 * np.finfo(np.float64).eps
"""What conditions may be violated by beside the size of residuals."""


class Ended(NamedTuple):
    """Where the search for one lambda ended.

    Attributes
    ----------
    beta : (C, p + 1) float
    loss : float
    violation : float
        The largest violation of the conditions of a minimum, in units of lambda.
    steps : int
    converged : bool
    """

    beta: Floats
    loss: float
    violation: float
    steps: int
    converged: bool


class ProximalNewton:
    """Searches for the minima of one likelihood at several strengths of a penalty.

    Parameters
    ----------
    model : Likelihood
    l1_ratio : float
        a.
    tol : float
        Violation of the conditions, in units of lambda, at which a search ends.
    maxiter : int
        Most steps for each lambda.
    """

    def __init__(self, model: Likelihood, l1_ratio: float, tol: float, maxiter: int) -> None:
        self.model, self.l1_ratio, self.tol, self.maxiter = model, l1_ratio, tol, maxiter
        self.beta = model.null()
        self.eta = model.eta(self.beta)
        self.place = model.at(self.eta)
        self.null_loss = self.place.loss
        self.gradient = model.gradient(self.place.residual)
        self.curvature: Curvature | None = None
        self.before = np.inf

    def largest(self) -> float:
        """The strength at and above which no coefficient of the null fit leaves zero, as glmnet counts it."""
        return float(np.abs(self.gradient[:, 1:]).max(initial=0.0)) / max(self.l1_ratio, 1e-3)

    def begin(self, beta: Floats) -> None:
        """Go on from other coefficients (C, p + 1)."""
        self.beta = beta.copy()
        self._look()
        self.gradient = self.model.gradient(self.place.residual)
        self.curvature, self.before = None, np.inf

    def minimize(self, strength: float, *, polish: bool = False, tol: float | None = None) -> Ended:
        """The minimum at one strength, from where the last search ended.

        Parameters
        ----------
        strength : float
            lambda.
        polish : bool
            Go on until rounding stops it.
        tol : float, optional
            In the place of the search's own.
        """
        tol = self.tol if tol is None else tol
        columns = self._strong(strength)
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
        good = worst <= self._bound(strength, max(tol, LEAST))
        return Ended(self.beta.copy(), self.place.loss, worst / strength, taken, good)

    # ---- conditions of a minimum

    def _bound(self, strength: float, tol: float) -> float:
        """The violation that counts as none."""
        # The slope of the penalty where it is steepest, as a ridge's may be small all over.
        largest = float(np.abs(self.beta[:, 1:]).max(initial=0.0))
        steepest = self.l1_ratio + (1 - self.l1_ratio) * min(largest, 1.0)
        return max(tol * strength * steepest, ROUNDING * float(np.abs(self.place.residual).sum()))

    def _violations(self, gradient: Floats, beta: Floats, strength: float) -> Floats:
        """By how much each coefficient (C, m) violates its condition; the first column has the constants."""
        first, second = strength * self.l1_ratio, strength * (1 - self.l1_ratio)
        slope = gradient + second * beta
        slope[:, 0] = gradient[:, 0]
        at_zero = np.maximum(np.abs(slope) - first, 0.0)
        off = np.abs(slope + first * np.sign(beta))
        found = np.where(beta != 0, off, at_zero)
        found[:, 0] = np.abs(gradient[:, 0])
        return found

    def _strong(self, strength: float) -> Codes:
        """Columns, with that of ones, that may have a part in the fit."""
        if not self.l1_ratio:
            return np.arange(self.beta.shape[1])
        before = self.largest_seen() if np.isinf(self.before) else self.before
        bound = min(self.l1_ratio * (2 * strength - before), self.l1_ratio * strength)
        keep = np.logical_or((np.abs(self.gradient) >= bound).any(axis=0), self.beta.any(axis=0))
        return np.union1d([0], np.flatnonzero(keep))

    def largest_seen(self) -> float:
        """The strength of which the present gradient of the coefficients that are zero is the bound."""
        return float(np.abs(self.gradient[:, 1:]).max(initial=0.0)) / max(self.l1_ratio, 1e-3)

    # ---- steps

    def _look(self) -> None:
        self.eta = self.model.eta(self.beta)
        self.place = self.model.at(self.eta)

    def _search(
        self, strength: float, columns: Codes, most: int, tol: float, *, polish: bool
    ) -> tuple[int, bool]:
        """Steps over some of the columns; how many, and whether none leads on."""
        every = len(columns) == self.beta.shape[1]
        z = self.model.z if every else self.model.z[columns]
        beta = self.beta[:, columns]
        worst = np.inf
        for steps in range(most + 1):
            gradient = self.place.residual @ z.T
            now = float(self._violations(gradient, beta, strength).max())
            if now <= self._bound(strength, 0.0 if polish else tol):
                return steps, False
            curvature, fresh = self._renew(beta, slow=now > SLOW * worst)
            if polish and fresh and now <= self._bound(strength, tol) and now > 0.5 * worst:
                return steps, True
            worst = now
            if steps == most:
                break
            first, second = strength * self.l1_ratio, strength * (1 - self.l1_ratio)
            moved = Quadratic(curvature, gradient, beta, columns, z, first, second).minimum()
            if not self._move(beta, moved, z, columns, strength):
                return steps, True
            beta = self.beta[:, columns]
        return most, False

    def _renew(self, beta: Floats, *, slow: bool) -> tuple[Curvature, bool]:
        """The curvature, made anew where that pays, and whether it is that of this place."""
        size = np.count_nonzero(beta) + len(beta)
        cost = float(len(self.model.codes)) * size * size
        if self.curvature is None or slow or cost <= CHEAP:
            self.curvature = Curvature.at(self.model, self.place.shares)
            return self.curvature, True
        return self.curvature, False

    def _objective(self, loss: float, beta: Floats, strength: float) -> float:
        b = beta[:, 1:]
        return loss + strength * (
            (1 - self.l1_ratio) / 2 * float((b * b).sum()) + self.l1_ratio * float(np.abs(b).sum())
        )

    def _move(self, beta: Floats, moved: Floats, z: Floats, columns: Codes, strength: float) -> bool:
        """Go to other coefficients, or part of the way; whether that led down."""
        step = moved - beta
        used = np.flatnonzero(step.any(axis=0))
        change = step[:, used] @ z[used]
        start = self._objective(self.place.loss, beta, strength)
        slack = 1e-13 * max(abs(start), 1e-3)
        # The least that a convex function falls by to first order.
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
                self.eta, self.place = eta, place
                return True
            size /= 2
            self.curvature = None
        return False
