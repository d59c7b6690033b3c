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

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Floats, slices
from discrim.core.regression import newton
from discrim.core.regression.newton import BlockLikelihood, Forms, Newton, NewtonFrame
from discrim.core.scatter.covariance import EPS

LONGEST = 8.0
"""Log odds that a step moves a row by at most."""

PIECE = 2**20
"""Numbers worked on at once."""

LEAST_ROOT = 1e-140
"""Least number on the diagonal of a root of the information whose inverse is sure to be finite."""

ROUNDED_SCORE, OF_HEAVY_ROWS = 1e-5, 1e-3
"""Adjusted score, in standard errors, that may be rounding where no step leads up; and of heavy rows."""

IN_VAIN = 20
"""Steps that neither rise nor come closer after which a search has ended."""


def maximize_penalized(likelihood: BlockLikelihood, start: Floats, *, tol: float, maxiter: int) -> Newton:
    """The maximum of l(b) + ln|I(b)|/2, as by `discrim.core.regression.newton.maximize`.

    The search ends at an adjusted score of `tol` standard errors. The `llf` is that without the penalty.
    """
    at = _Point.of(likelihood, start)
    beyond, progress = np.zeros_like(at.information), _Progress()
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
            beyond[:], step = 0.0, scoring
        near, slope = decrement <= 1e-4, float(at.adjusted @ step)
        moved = _ahead(likelihood, at, step, slope, near=near)
        if moved is None and beyond.any():
            beyond[:], step = 0.0, scoring
            moved = _ahead(likelihood, at, step, decrement**2, near=near)
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
        self._goal, self._closest, self._in_vain = -np.inf, np.inf, 0

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


def _ahead(
    likelihood: BlockLikelihood, at: _Point, step: Floats, slope: float, *, near: bool
) -> tuple[float, _Point] | None:
    """The first point along halved steps that is no lower, and the share of the step; None without one.

    No row's log odds move far at once, where its information would be all but lost, and the step after
    would lead anywhere; nor is a point taken where the goal falls more steeply than it rose before.
    """
    size = min(1.0, LONGEST / (_reach(likelihood, at, step) or 1.0))
    for _ in range(newton.HALVINGS):
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


def _reach(likelihood: BlockLikelihood, at: _Point, step: Floats) -> float:
    """The most that a step moves the log odds of a row, or a bound of it that is no matter."""
    # By the inequality of Cauchy and Schwarz in the metric of the information.
    bound = float(np.sqrt(max(float(step @ at.information @ step), 0.0) * at.farthest))
    if bound <= LONGEST:
        return bound
    return likelihood.reduced(_longest, max, lines=step.reshape(at.coef.T.shape))


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
    forgotten, taught = np.outer(known, known) / (step @ known), np.outer(fall, fall) / (fall @ step)
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
    return likelihood.reduced(_adjusting, lambda a, b: (a[0] + b[0], max(a[1], b[1])), **options)


def _adjusting(
    blocks: RowBlocks, frame: NewtonFrame, coef: Floats, reference: int, inverse: Floats
) -> tuple[Floats, float]:
    p1, q = coef.shape
    forms = Forms(inverse, p1)
    gradient, farthest, piece = np.zeros((p1, q)), 0.0, forms.piece(PIECE)
    for x, _, weights in blocks:
        for at in slices(len(x), piece):
            z = frame.columns(x[at])
            shares = newton.log_probabilities(coef.T @ z, reference)[1]
            variances, across = np.empty(shares.shape), np.zeros(shares.shape)
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
