"""Bias-reduced logistic regression: Firth's penalty, which keeps the estimates finite.

Theory. The multinomial logit is a full exponential family, and there the score that removes the bias of
first order (Firth, 1993, Biometrika 80, 27-38) is the gradient of the penalized likelihood l(b) +
ln|I(b)|/2, Jeffreys' prior. Its maximum exists whether classes are separated or not (Heinze & Schemper,
2002, Statistics in Medicine 21, 2409-2419; Kosmidis & Firth, 2021, Biometrika 108, 71-82). With C_ab =
z'[I^-1]_ab z for a row z and the probabilities p of its classes, the row adds to the score of class s

    z p_s { [C_ss - sum_a p_a C_aa]/2 - [sum_b p_b C_sb - sum_ab p_a p_b C_ab] },

half the derivative of its part of ln|I|.

*Steps* are those of Fisher scoring, I^-1 times the adjusted score, halved until the penalized likelihood
rises. But I is not the curvature of the penalized likelihood: in small samples, and where classes are
separated, the penalty's own is as large, and then such steps circle about the maximum or creep. So what the
curvature has beyond I is learnt from how the adjusted score falls (Broyden, Fletcher, Goldfarb, Shanno),
and added to the I of the place (a structured update: Dennis, Gay & Welsch, 1981, ACM Transactions on
Mathematical Software 7, 348-368), which takes a quarter of the steps that learning all of it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular

from discrim.core.newton import HALVINGS, Frame, Newton, class_shares, sweep
from discrim.core.passes import Rows

__all__ = ["learnt", "maximize_penalized", "penalized_sweep"]

Floats = NDArray[np.float64]

LONGEST = 8.0
"""Log odds that a step moves a row by at most."""

ROUNDED = 1e-5
"""Adjusted score, in standard errors, that may be rounding where no step leads up."""


def maximize_penalized(
    blocks: Iterable[Rows], frame: Frame, start: Floats, reference: int, *, tol: float, maxiter: int
) -> Newton:
    """The maximum of l(b) + ln|I(b)|/2.

    Parameters
    ----------
    blocks, frame, start, reference, maxiter
        As for `discrim.core.newton.maximize`.
    tol : float
        Adjusted score, in standard errors, at which the search ends.

    Returns
    -------
    Newton
        Its `llf` is the likelihood without the penalty.
    """
    at = _Point.of(blocks, frame, start, reference)
    beyond, decrement = np.zeros_like(at.information), np.inf
    for steps in range(maxiter + 1):
        if at.adjusted is None:
            return Newton(at.coef, at.information, at.llf, np.inf, steps, False)
        scoring = cho_solve(cho_factor(at.information), at.adjusted)
        decrement = float(np.sqrt(max(at.adjusted @ scoring, 0.0)))
        if decrement <= tol or steps == maxiter:
            break
        try:
            step = cho_solve(cho_factor(at.information + beyond), at.adjusted)
        except LinAlgError:
            beyond[:], step = 0.0, scoring
        near, slope = decrement <= 1e-4, float(at.adjusted @ step)
        moved = _ahead(blocks, frame, at, step, reference, slope, near=near)
        if moved is None and beyond.any():
            beyond[:], step = 0.0, scoring
            moved = _ahead(blocks, frame, at, step, reference, decrement**2, near=near)
        if moved is None:
            # No step leads up: what is left of the adjusted score is rounding.
            return Newton(at.coef, at.information, at.llf, decrement, steps, decrement <= ROUNDED)
        size, there = moved
        if there.adjusted is not None:
            curvature = learnt(there.information + beyond, size * step, at.adjusted - there.adjusted)
            beyond = curvature - there.information
        at = there
    return Newton(at.coef, at.information, at.llf, decrement, steps, decrement <= tol)


class _Point(NamedTuple):
    """The penalized likelihood at coefficients (p + 1, q); minus infinity and no score where it is lost."""

    coef: Floats
    llf: float
    goal: float
    adjusted: Floats | None
    information: Floats

    @classmethod
    def of(cls, blocks: Iterable[Rows], frame: Frame, coef: Floats, reference: int) -> _Point:
        llf, score, information, _ = sweep(blocks, frame, coef, reference)
        goal = llf + 0.5 * _logdet(information)
        adjustment = _adjustment(blocks, frame, coef, reference, information) if np.isfinite(goal) else None
        if adjustment is None:
            return cls(coef, llf, -np.inf, None, information)
        return cls(coef, llf, goal, (score + adjustment).T.ravel(), information)


def _ahead(
    blocks: Iterable[Rows],
    frame: Frame,
    at: _Point,
    step: Floats,
    reference: int,
    slope: float,
    *,
    near: bool,
) -> tuple[float, _Point] | None:
    """The first point along halved steps that is no lower, and the share of the step; None without one.

    No row's log odds move far at once, where its information would be all but lost, and the step after
    would lead anywhere; nor is a point taken where the goal falls more steeply than it rose before.
    """
    size = min(1.0, LONGEST / (_reach(blocks, frame, step.reshape(at.coef.T.shape).T) or 1.0))
    rounding = 64 * np.finfo(np.float64).eps * max(1.0, abs(at.llf), abs(at.goal))
    for _ in range(HALVINGS):
        moved = at.coef + size * step.reshape(at.coef.T.shape).T
        there = _Point.of(blocks, frame, moved, reference)
        # Beside the maximum the goal is flat to rounding: there the step is right as it is.
        if there.adjusted is not None and (
            near
            or (there.goal >= at.goal + 1e-4 * size * slope - rounding and there.adjusted @ step >= -slope)
        ):
            return size, there
        size /= 2
    return None


def _reach(blocks: Iterable[Rows], frame: Frame, step: Floats) -> float:
    """The most that a step (p + 1, q) moves the log odds of a row."""
    return max(float(np.abs(step.T @ frame.columns(x)).max(initial=0.0)) for x, _, _ in blocks)


def learnt(curvature: Floats, step: Floats, fall: Floats) -> Floats:
    """A curvature (m, m), corrected by how far the gradient (m,) fell over a step.

    It stays positive definite. The update is that of Broyden, Fletcher, Goldfarb and Shanno (Nocedal &
    Wright, 2006, Numerical Optimization, equation 6.19); where the gradient did not fall along the step
    there is nothing to learn.
    """
    known = curvature @ step
    if fall @ step <= 0 or step @ known <= 0:
        return curvature
    return np.asarray(
        curvature - np.outer(known, known) / (step @ known) + np.outer(fall, fall) / (fall @ step)
    )


def penalized_sweep(
    blocks: Iterable[Rows], frame: Frame, coef: Floats, reference: int
) -> tuple[float, Floats, Floats]:
    """Penalized log-likelihood, its score (p + 1, q) and the information; as `discrim.core.newton.sweep`.

    Where the information is singular in floating point the penalized likelihood is minus infinity.
    """
    llf, score, information, _ = sweep(blocks, frame, coef, reference)
    adjustment = _adjustment(blocks, frame, coef, reference, information)
    if adjustment is None:
        return -np.inf, score, information
    return llf + 0.5 * _logdet(information), score + adjustment, information


def _logdet(information: Floats) -> float:
    # By the root: of a matrix that is singular to rounding the sign of the determinant says nothing.
    try:
        root = cholesky(information)
    except (LinAlgError, ValueError):
        return -np.inf
    return 2 * float(np.log(np.diagonal(root)).sum())


def _adjustment(
    blocks: Iterable[Rows], frame: Frame, coef: Floats, reference: int, information: Floats
) -> Floats | None:
    """Gradient (p + 1, q) of ln|I|/2; None where the information, or its inverse, is lost to rounding."""
    p1, q = coef.shape
    try:
        half = solve_triangular(cholesky(information, lower=True), np.eye(q * p1), lower=True)
    except (LinAlgError, ValueError):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        inverse = (half.T @ half).reshape(q, p1, q, p1)
    if not np.isfinite(inverse).all():
        return None
    gradient = np.zeros((p1, q))
    for x, _, weights in blocks:
        z = frame.columns(x)
        shares = class_shares(coef.T @ z, reference)[1]
        spread = np.stack(
            [np.stack([((inverse[a, :, b] @ z) * z).sum(axis=0) for b in range(q)]) for a in range(q)]
        )
        own = np.diagonal(spread, axis1=0, axis2=1).T
        across = np.einsum("bm,abm->am", shares, spread)
        part = 0.5 * (own - (shares * own).sum(axis=0)) - (across - (shares * across).sum(axis=0))
        part *= shares
        gradient += z @ (part if weights is None else part * weights).T
    return gradient
