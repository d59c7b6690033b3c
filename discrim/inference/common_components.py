"""Covariances that share their shape or their axes: the maxima of two likelihoods without a closed form.

Theory (Flury, 1988, Common Principal Components and Related Multivariate Models; Flury & Gautschi, 1986, SIAM
Journal on Scientific and Statistical Computing 7, 169-184). Both are minima of sum n_k ln|Sigma_k| where the
traces of Sigma_k^-1 S_k sum to N p, found by Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.singular_values import svd
from discrim.errors import warn_user

__all__ = ["common_components", "components_of_roots", "proportional"]

Floats = NDArray[np.float64]

STARTS = 4
"""Classes whose eigenvectors are tried as starts, the largest ones."""

RANDOM_STARTS = 16
"""Rotations at random that are tried as starts."""

STEPS = 300
"""Iterations after which a fit is given up, with a warning."""

INNER_STEPS = 60
"""Steps of conjugate gradients in one of Newton's."""

ROUGH, FINE = 1e-5, 1e-14
"""Gain in log-likelihood a row that a step promises: below it starts are compared, or a fit is done."""

ANGLES = np.arange(1, 8) * np.pi / 16
"""Turns of a pair of axes that are tried where a descent has ended; a right angle swaps the two."""


def proportional(covariances: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Maximum-likelihood fit of Sigma_k = c_k Sigma.

    Sigma = sum n_k S_k/c_k / N at given factors c, and what is left to minimize, N ln|Sigma| + p sum n_k ln
    c_k, is a convex function of ln c, for the determinant is a sum of exponentials of ln c with positive
    coefficients. So the maximum is the only one and Newton's method finds it. With P_k = n_k/(N c_k)
    Sigma^-1/2 S_k Sigma^-1/2 the gradient is N (p n_k/N - tr P_k), the Hessian N (diag tr P_k - tr P_k P_l).

    Parameters
    ----------
    covariances : (K, p, p) float
        Divisor n_k, nonsingular.
    counts : (K,) float

    Returns
    -------
    factors : (K,) float
        The first is one.
    shape : (p, p) float
        Sigma.

    Warns
    -----
    DiscrimWarning
        Newton's method did not converge.

    Examples
    --------
    >>> import numpy as np
    >>> factors, shape = proportional(np.array([np.diag([2.0, 1.0]), np.diag([6.0, 3.0])]), np.array([9, 5]))
    >>> factors.round(12).tolist(), shape.round(12).tolist()
    ([1.0, 3.0], [[2.0, 0.0], [0.0, 1.0]])
    """
    p, share = covariances.shape[1], counts / counts.sum()

    def shape_of(logs: Floats) -> Floats:
        return np.asarray(np.einsum("k,kij->ij", share * np.exp(-logs), covariances))

    def depth(logs: Floats) -> float:
        return float(np.linalg.slogdet(shape_of(logs))[1] + p * (share @ logs))

    # Scaled to unit determinants the classes start close to one shape.
    logs = np.linalg.slogdet(covariances)[1] / p
    logs = logs - logs[0]
    for _ in range(STEPS):
        root = np.linalg.cholesky(shape_of(logs))
        halves = np.linalg.solve(root, covariances)
        parts = np.linalg.solve(root, np.swapaxes(halves, 1, 2)) * (share * np.exp(-logs))[:, None, None]
        traces = np.trace(parts, axis1=1, axis2=2)
        gradient = p * share - traces
        flat = parts.reshape(len(share), -1)
        # Least squares leave alone the common factor, which the likelihood does not see.
        step = -np.linalg.lstsq(np.diag(traces) - flat @ flat.T, gradient, rcond=None)[0]
        step -= step[0]
        slope = float(gradient @ step)
        if -slope <= FINE:
            logs = logs + step
            break
        step = step / max(1.0, float(np.abs(step).max()) / 2)

        def moved(size: float, at: Floats = logs, by: Floats = step) -> float:
            return depth(at + size * by)

        logs = logs + _downhill(moved, depth(logs), slope) * step
    else:
        _warn("The proportional model")
    factors = np.exp(logs)
    return factors, shape_of(logs)


def common_components(covariances: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Maximum-likelihood fit of Sigma_k = B diag(l_k) B', common principal components.

    With D_k = B'S_k B and L_k its diagonal, turning B by a skew X changes sum n_k ln|L_k| at the rate -<G,
    X>, G = sum n_k (L_k^-1 D_k - D_k L_k^-1): where it is zero, Flury's equations hold. Newton's method
    solves them, the system by conjugate gradients, preconditioned by the curvature of each pair of axes
    where D_k is near diagonal, sum n_k (D_ii - D_jj)^2/(D_ii D_jj). The sum falls with every step. Where
    it has come to rest, each pair is turned on its own, for at a saddle some pair may still have far to
    go.

    There may be several maxima where the covariances are far from having common axes. The best is kept of the
    starts from the axes of the pooled covariance, of the proportional model, whose likelihood is thus always
    reached, of the largest classes, and from some at random, the same each time.

    Parameters
    ----------
    covariances : (K, p, p) float
        Divisor n_k, nonsingular.
    counts : (K,) float

    Returns
    -------
    components : (p, p) float
        B, by falling mean variance.
    lengths : (K, p) float
        l_k.

    Warns
    -----
    DiscrimWarning
        Newton's method did not converge.

    Examples
    --------
    >>> import numpy as np
    >>> turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    >>> covariances = np.stack([turn @ np.diag(line) @ turn.T for line in ([5.0, 1.0], [2.0, 3.0])])
    >>> components, lengths = common_components(covariances, np.array([20.0, 10.0]))
    >>> abs(components).round(12).tolist(), lengths.round(12).tolist()
    ([[0.8, 0.6], [0.6, 0.8]], [[5.0, 1.0], [2.0, 3.0]])
    """
    return components_of_roots(np.swapaxes(np.linalg.cholesky(covariances), 1, 2), counts)


def components_of_roots(roots: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Common principal components of S_k = R_k'R_k, from the roots (K, p, p): small variances keep digits."""
    share = counts / counts.sum()
    factors, _ = proportional(np.swapaxes(roots, 1, 2) @ roots, counts)
    starts = [_axes(roots, share), _axes(roots, share / factors)]
    starts += [_axes(roots[[k]], np.ones(1)) for k in np.argsort(-counts)[:STARTS]]
    rng = np.random.default_rng(0)
    starts += [np.linalg.qr(rng.standard_normal(starts[0].shape))[0] for _ in range(RANDOM_STARTS)]
    rough = [_descent(roots, share, start, ROUGH)[0] for start in starts]
    turn = min(rough, key=lambda start: _depth(roots, share, start))
    for _ in range(STEPS):
        turn, converged = _descent(roots, share, turn, FINE)
        leap = turn @ _pairs_turned(roots @ turn, share)
        if not converged or _depth(roots, share, leap) > _depth(roots, share, turn) - ROUGH:
            break
        turn = leap
    if not converged:
        _warn("The model of common principal components")
    lengths = _lengths(roots, turn)
    order = np.argsort(-(share @ lengths))
    return turn[:, order], lengths[:, order]


def _descent(roots: Floats, share: Floats, start: Floats, tolerance: float) -> tuple[Floats, bool]:
    """B where Newton's next step promises less than the tolerance, and whether it came so far."""
    turn = start
    for _ in range(STEPS):
        gradient, step = _newton_step(roots @ turn, share)
        slope = -float((gradient * step).sum())
        if -slope <= tolerance:
            return turn, True

        def moved(size: float, at: Floats = turn, by: Floats = step) -> Floats:
            return np.asarray(at @ _rotation(size * by))

        size = _downhill(lambda size: _depth(roots, share, moved(size)), _depth(roots, share, turn), slope)
        if not size:
            return turn, -slope <= ROUGH**2
        turn = moved(size)
    return turn, False


def _newton_step(held: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Gradient G and a skew step X with <G, X> > 0, from roots (K, p, p) in the axes reached."""
    products = np.swapaxes(held, 1, 2) @ held
    own = np.diagonal(products, axis1=1, axis2=2)
    weights = share[:, None] / own
    half = np.einsum("ki,kij->ij", weights, products)
    gradient = half - half.T
    ratio = np.einsum("ki,kj->ij", weights, own)
    bend = np.einsum("kij,ki,kj->ij", products**2, weights, 1 / own)
    # What the off-diagonals themselves bend; without them equal variances would have no curvature.
    curvature = np.maximum(ratio + ratio.T - 2, 1e-8) + bend

    def hessian(skew: Floats) -> Floats:
        turned = products @ skew
        moved = turned + np.swapaxes(turned, 1, 2)
        rates = weights * np.diagonal(moved, axis1=1, axis2=2) / own
        change = np.einsum("ki,kij->ij", rates, products) - np.einsum("ki,kij->ij", weights, moved)
        bracket = gradient @ skew
        return np.asarray(change - change.T + (bracket - bracket.T) / 2)

    step = np.zeros_like(gradient)
    residual, ahead = gradient, gradient / curvature
    promised = first = float((gradient * ahead).sum())
    for _ in range(INNER_STEPS):
        bent = hessian(ahead)
        bow = float((ahead * bent).sum())
        if bow <= 0:
            step = step if step.any() else ahead
            break
        step = step + promised / bow * ahead
        residual = residual - promised / bow * bent
        scaled = residual / curvature
        before, promised = promised, float((residual * scaled).sum())
        # The nearer the goal, the more exact the step, and the convergence quadratic.
        if promised <= min(0.1, first) * first:
            break
        ahead = scaled + promised / before * ahead
    return gradient, step / max(1.0, 2 * float(np.abs(step).max()))


def _pairs_turned(held: Floats, share: Floats) -> Floats:
    """A rotation (p, p) of disjoint pairs of axes, each turned by the angle that gains it the most."""
    products = np.swapaxes(held, 1, 2) @ held
    own = np.diagonal(products, axis1=1, axis2=2)
    middle = (own[:, :, None] + own[:, None, :]) / 2
    apart = (own[:, :, None] - own[:, None, :]) / 2
    logs = np.log(own)
    gains = np.empty((len(ANGLES), *products.shape[1:]))
    for gain, angle in zip(gains, ANGLES, strict=True):
        shift = apart * np.cos(2 * angle) + products * np.sin(2 * angle)
        inside = np.maximum((middle - shift) * (middle + shift), np.finfo(np.float64).tiny)
        gain[:] = np.einsum("k,kij->ij", share, logs[:, :, None] + logs[:, None, :] - np.log(inside))
    best = np.triu(gains.max(axis=0), 1)
    rotation, free = np.eye(len(best)), np.ones(len(best), dtype=bool)
    for i, j in zip(*np.unravel_index(np.argsort(-best, axis=None), best.shape), strict=True):
        if best[i, j] <= ROUGH:
            break
        if free[i] and free[j]:
            free[[i, j]] = False
            angle = ANGLES[int(np.argmax(gains[:, i, j]))]
            rotation[[i, j], [i, j]] = np.cos(angle)
            rotation[[i, j], [j, i]] = -np.sin(angle), np.sin(angle)
    return rotation


def _downhill(at: Callable[[float], float], value: float, slope: float) -> float:
    """The largest of 1, 1/2, 1/4, ... at which a function has fallen from a value, or zero."""
    # As far as its own rounding lets the fall be seen.
    value += 1e-15 * max(1.0, abs(value))
    for size in 0.5 ** np.arange(40):
        if at(float(size)) <= value + 1e-4 * float(size) * slope:
            return float(size)
    return 0.0


def _warn(model: str) -> None:
    warn_user(f"{model} did not converge in {STEPS} steps: its likelihood is a lower bound.")


def _axes(roots: Floats, weights: Floats) -> Floats:
    """Eigenvectors (p, p) of the weighted sum of R_k'R_k."""
    stack = roots * np.sqrt(weights)[:, None, None]
    return np.asarray(svd(stack.reshape(-1, stack.shape[2]), full_matrices=False)[2].T)


def _rotation(skew: Floats) -> Floats:
    """Cayley's rotation of a skew matrix, equal to its exponential up to third order."""
    unit = np.eye(len(skew))
    return np.asarray(np.linalg.solve(unit - skew / 2, unit + skew / 2))


def _depth(roots: Floats, share: Floats, turn: Floats) -> float:
    return float(share @ np.log(_lengths(roots, turn)).sum(axis=1))


def _lengths(roots: Floats, turn: Floats) -> Floats:
    """Diagonals (K, p) of B'S_k B."""
    return np.asarray(((roots @ turn) ** 2).sum(axis=1))
