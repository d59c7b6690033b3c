"""Bias-reduced logistic regression: Firth's penalty, which keeps the estimates finite.

Theory. The multinomial logit is a full exponential family, and there the score that removes the bias of
first order (Firth, 1993, Biometrika 80, 27-38) is the gradient of the penalized likelihood l(b) +
ln|I(b)|/2, Jeffreys' prior. Its maximum exists whether classes are separated or not (Heinze & Schemper,
2002, Statistics in Medicine 21, 2409-2419; Kosmidis & Firth, 2021, Biometrika 108, 71-82). With C_ab =
z'[I^-1]_ab z for a row z and the probabilities p of its classes, the row adds to the score of class s

    z p_s { [C_ss - sum_a p_a C_aa]/2 - [sum_b p_b C_sb - sum_ab p_a p_b C_ab] },

half the derivative of its part of ln|I|.

*Steps* are those of Fisher scoring, I^-1 times the adjusted score, halved until the penalized likelihood
rises. But I is not the curvature of the penalized likelihood: in small samples the penalty's own can exceed
it, and then such steps circle about the maximum for ever. So from the first step that does not halve the
adjusted score the curvature is learnt from how that score falls (Broyden, Fletcher, Goldfarb, Shanno).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular

from discrim.core.newton import HALVINGS, Frame, Newton, class_shares, sweep
from discrim.core.passes import Rows

__all__ = ["learnt", "maximize_penalized", "penalized_sweep"]

Floats = NDArray[np.float64]


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
    coef = start
    llf, score, information, _ = sweep(blocks, frame, coef, reference)
    curvature, learning, decrement = information, False, np.inf
    before = step = np.zeros(coef.size)
    for steps in range(maxiter + 1):
        try:
            factor = cho_factor(information)
        except LinAlgError:
            return Newton(coef, information, llf, np.inf, steps, False)
        adjusted = (score + _adjustment(blocks, frame, coef, reference, information)).T.ravel()
        last, decrement = decrement, float(np.sqrt(max(adjusted @ cho_solve(factor, adjusted), 0.0)))
        if decrement <= tol or steps == maxiter:
            return Newton(coef, information, llf, decrement, steps, decrement <= tol)
        learning = learning or decrement > 0.5 * last
        curvature = learnt(curvature, step, before - adjusted) if learning else information
        try:
            step = cho_solve(cho_factor(curvature), adjusted)
        except LinAlgError:
            curvature, step = information, cho_solve(factor, adjusted)
        goal = llf + 0.5 * _logdet(information)
        for _ in range(HALVINGS):
            moved = coef + step.reshape(score.T.shape).T
            found = sweep(blocks, frame, moved, reference)
            # Beside the maximum the goal is flat to rounding: there the step is right as it is.
            if found.llf + 0.5 * _logdet(found.information) >= goal or decrement <= 1e-4:
                break
            step = step / 2
        coef, before = moved, adjusted
        llf, score, information, _ = found
    return Newton(coef, information, llf, decrement, maxiter, False)


def learnt(curvature: Floats, step: Floats, fall: Floats) -> Floats:
    """A curvature (m, m), corrected by how far the gradient (m,) fell over a step.

    It stays positive definite. The update is that of Broyden, Fletcher, Goldfarb and Shanno (Nocedal &
    Wright, 2006, Numerical Optimization, equation 6.19); where the gradient did not fall along the step
    there is nothing to learn.
    """
    if fall @ step <= 0:
        return curvature
    known = curvature @ step
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
    try:
        adjustment = _adjustment(blocks, frame, coef, reference, information)
    except LinAlgError:
        return -np.inf, score, information
    return llf + 0.5 * _logdet(information), score + adjustment, information


def _logdet(information: Floats) -> float:
    sign, value = np.linalg.slogdet(information)
    return float(value) if sign > 0 else -np.inf


def _adjustment(
    blocks: Iterable[Rows], frame: Frame, coef: Floats, reference: int, information: Floats
) -> Floats:
    """Gradient (p + 1, q) of ln|I|/2."""
    p1, q = coef.shape
    half = solve_triangular(cholesky(information, lower=True), np.eye(q * p1), lower=True)
    inverse = (half.T @ half).reshape(q, p1, q, p1)
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
