"""Newton's method for the multinomial log-likelihood, block by block.

Theory. With classes 1, ..., q against a reference, log odds eta_k = z'b_k (z with a leading one) and
probabilities p_k, the log-likelihood is sum w (eta_y - ln sum exp eta), concave in b. Its score is sum w z
(e_y - p)' and its information has blocks sum w p_k ([k = l] - p_l) z z'. For two classes the step is that
of iteratively reweighted least squares.

*Digits.* The columns are shifted to their means and orthogonalised by the root of their total scatter, so
that the information is close to a multiple of the identity whatever the units, the offsets and the
correlations of the data.

*Convergence* is judged by the score in its own metric: the Newton decrement sqrt(s'H^-1 s) is the distance
to the maximum in standard errors. Once it is below a threshold one more step squares what is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import logsumexp

from discrim.core.covariance import Covariance
from discrim.core.passes import Rows

__all__ = ["HALVINGS", "Frame", "Newton", "class_shares", "maximize", "sweep"]

Floats = NDArray[np.float64]

HALVINGS = 30
"""Halvings of a step before the line search gives up."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Coordinates in which the columns are orthonormal over the rows.

    Attributes
    ----------
    centre, rest : (p,) float
        Grand mean, in units of the data, and what is left of it in units of z.
    scale : (p,) float
        Powers of two.
    covariance : Covariance
        Of all rows, divisor N, in units of z.
    """

    centre: Floats
    rest: Floats
    scale: Floats
    covariance: Covariance

    def columns(self, x: Floats) -> Floats:
        """A row of ones over the orthonormal columns, (p + 1, m), of rows x (m, p)."""
        out = np.ones((x.shape[1] + 1, len(x)))
        z = (x.T - self.centre[:, None]) * self.scale[:, None] - self.rest[:, None]
        out[1:] = self.covariance.whiten(z)
        return out

    def to_data(self) -> Floats:
        """Matrix (p + 1, p + 1) that takes coefficients in the frame to those of the data."""
        slopes = self.covariance.unwhiten(np.eye(len(self.scale))) * self.scale[:, None]
        middle = self.centre + self.rest / self.scale
        matrix = np.zeros((len(slopes) + 1, len(slopes) + 1))
        matrix[0, 0] = 1.0
        matrix[1:, 1:] = slopes
        matrix[0, 1:] = -middle @ slopes
        return matrix


@dataclass(frozen=True, slots=True)
class Newton:
    """Where Newton's method ended.

    Attributes
    ----------
    coef : (p + 1, q) float
        In the frame, the intercepts first.
    information : (q (p + 1), q (p + 1)) float
        At the coefficients, class by class.
    llf : float
    decrement : float
        Distance from the maximum in standard errors, before the last step.
    steps : int
    converged : bool
    """

    coef: Floats
    information: Floats
    llf: float
    decrement: float
    steps: int
    converged: bool


def sweep(blocks: Iterable[Rows], frame: Frame, coef: Floats, reference: int) -> tuple[float, Floats, Floats]:
    """Log-likelihood, score (p + 1, q) and information at coefficients (p + 1, q), in one pass."""
    p1, q = coef.shape
    llf, score = 0.0, np.zeros((p1, q))
    information = np.zeros((q, p1, q, p1))
    others = [k for k in range(q + 1) if k != reference]
    for x, codes, weights in blocks:
        z = frame.columns(x)
        logs, shares = class_shares(coef.T @ z, reference)
        own = logs[codes, np.arange(len(codes))]
        llf += float(own.sum() if weights is None else own @ weights)
        residual = np.equal(codes, np.array(others)[:, None]) - shares
        if weights is not None:
            residual = residual * weights
            shares_w = shares * weights
        else:
            shares_w = shares
        score += z @ residual.T
        for k in range(q):
            # On the diagonal a product with itself, of positive weights.
            part = z * np.sqrt(shares_w[k] * (1 - shares[k]))
            information[k, :, k] += part @ part.T
            for m in range(k):
                block = (z * (shares_w[k] * shares[m])) @ z.T
                information[k, :, m] -= block
                information[m, :, k] -= block.T
    return llf, score, information.reshape(q * p1, q * p1)


def class_shares(odds: Floats, reference: int) -> tuple[Floats, Floats]:
    """Log probabilities (K, m) of all classes, and probabilities (K - 1, m) of those but the reference."""
    logs = np.insert(odds, reference, 0.0, axis=0)
    logs -= logsumexp(logs, axis=0)
    return logs, np.exp(np.delete(logs, reference, axis=0))


def maximize(
    blocks: Iterable[Rows],
    frame: Frame,
    start: Floats,
    reference: int,
    *,
    tol: float,
    maxiter: int,
    singular: float,
) -> Newton:
    """Newton's method with a line search.

    Parameters
    ----------
    blocks : re-iterable of (x (m, p), codes (m,), weights (m,) or None)
    frame : Frame
    start : (p + 1, q) float
        Coefficients in the frame.
    reference : int
    tol : float
        Decrement after which the next step is the last.
    maxiter : int
    singular : float
        Smallest eigenvalue of the information, as a share of its largest at the start, that still counts as
        positive: below it the estimates run away and the search ends, not converged.
    """
    coef = start
    llf, score, information = sweep(blocks, frame, coef, reference)
    floor = 0.0
    for steps in range(maxiter + 1):
        values = np.linalg.eigvalsh(information)
        floor = floor or singular * float(values[-1])
        if not np.isfinite(values).all() or values[0] <= floor:
            return Newton(coef, information, llf, np.inf, steps, False)
        try:
            step = cho_solve(cho_factor(information), score.T.ravel()).reshape(score.T.shape).T
        except LinAlgError:
            return Newton(coef, information, llf, np.inf, steps, False)
        decrement = float(np.sqrt(max((score * step).sum(), 0.0)))
        if steps == maxiter:
            return Newton(coef, information, llf, decrement, steps, False)
        size = 1.0
        for _ in range(HALVINGS):
            moved = coef + size * step
            found = sweep(blocks, frame, moved, reference)
            # Beside the maximum the likelihood is flat to rounding: there the step is right as it is.
            if found[0] >= llf + 1e-4 * size * decrement**2 or decrement <= 1e-4:
                break
            size /= 2
        coef = moved
        llf, score, information = found
        if decrement <= tol:
            return Newton(coef, information, llf, decrement, steps + 1, True)
    return Newton(coef, information, llf, np.inf, maxiter, False)
