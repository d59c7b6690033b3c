"""What rows say of a logistic regression: residuals, leverage and influence of each, and marginal effects.

Theory. A row with columns z, weight w, class y and probabilities p of the classes but the reference adds
w z (y - p)' to the score and w z z' by W = diag(p) - p p' to the information H. With V = H^-1 and C_ab =
z'V_ab z the hat matrix of the row is the block w W C, whose trace is its leverage; over the rows leverages
sum to the number of coefficients (Lesaffre & Albert, 1989, Applied Statistics 38, 425-440). For two classes
it is the diagonal of the hat matrix of the last step of iteratively reweighted least squares (Pregibon,
1981, Annals of Statistics 9, 705-724).

*Without the row* one step of Newton's method moves the estimates by -V (u x z), u = (I - w W C)^-1 w (y - p).
Cook's distance is that step in the metric of the information, u'C u, over the number of coefficients.
Pearson's residual is standardized by what the estimates have taken of the row's variance: its square is
(y - p)'W^-1 u.

*Digits.* What a row's own class lacks, 1 - p, and the log of p come from the odds of the other classes
against it, so that neither is lost where the row is sure.

*Marginal effects* are what the probabilities of classes change by where a column of the rows does. Let z be a
row in the frame, with a leading one, dz what it changes by for one unit of a column, and s_a = dz'b_a. The
probability of class k changes by g_k = p_k (s_k - t), t = sum p_l s_l, for one unit more; and by p_k(z1) -
p_k(z0) where the column changes from one value to another. With dp_k/db_a = p_k ([k = a] - p_a) z,

    dg_k/db_a = z [p_k ([k = a] - p_a)(s_k - t) - p_k p_a (s_a - t)] + dz p_k ([k = a] - p_a),

whose mean over the rows is the Jacobian J of the mean effect, and J V J' its variance by the delta method
(Long & Freese, 2014, Regression Models for Categorical Dependent Variables Using Stata, section 4.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from discrim.core.moments.row_sums import RowBlock
from discrim.core.numerics.arrays import Codes, Floats, slices
from discrim.core.regression.logistic import LogisticFit
from discrim.core.regression.newton import Forms

PIECE = 2**20
"""Numbers worked on at once."""


class FittedRows(NamedTuple):
    """Rows beside what the model expects of them: shares (K, m), the probabilities of the classes.

    Misses (K, m) are indicators of a row's class less these, with the digits that a difference would lose,
    and the surprise (m,) is minus the log probability of the row's class.
    """

    shares: Floats
    misses: Floats
    surprise: Floats


def fitted_rows(fit: LogisticFit, z: Floats, codes: Codes) -> FittedRows:
    """Rows in the frame, z (p + 1, m), of classes (m,), beside their probabilities."""
    odds = np.insert(fit.newton.coef.T @ z, fit.reference, 0.0, axis=0)
    at = np.arange(len(codes))
    odds -= odds[codes, at]
    peak = odds.max(axis=0)
    shares = np.exp(odds - peak)
    of_class = shares[codes, at]
    shares[codes, at] = 0.0
    of_others = shares.sum(axis=0)
    total = of_others + of_class
    surprise = np.where(peak > 0, peak + np.log(total), np.log1p(of_others))
    shares /= total
    misses = -shares
    misses[codes, at] = of_others / total
    shares[codes, at] = of_class / total
    return FittedRows(shares, misses, surprise)


def row_residuals(fit: LogisticFit, x: Floats, codes: Codes, weights: Floats | None, kind: str) -> Floats:
    """Residuals of rows x (m, p).

    They are (K, m) of "response" and "pearson"; (K - 1, m) of "working", which is linear in the log odds
    against the reference; (1, m) of "deviance", the root of a row's part of the deviance: of two classes with
    the sign of what the second line of the others would have.
    """
    fitted = fitted_rows(fit, fit.frame.columns(x), codes)
    root = 1.0 if weights is None else np.sqrt(weights)
    if kind == "response":
        return fitted.misses
    if kind == "working":
        return _working(fit, fitted, codes)
    if kind == "pearson":
        with np.errstate(divide="ignore", invalid="ignore"):
            return fitted.misses / _spread(fitted) * root
    size = np.sqrt(2 * fitted.surprise) * root
    if len(fitted.shares) == 2:
        size = np.where(codes == fit.reference, -size, size)
    return size[None]


def _spread(fitted: FittedRows) -> Floats:
    """Standard deviations (K, m) of the indicators."""
    lacks = np.where(fitted.misses > 0, fitted.misses, 1 - fitted.shares)
    if len(lacks) == 2:
        # Of two classes each is what the other lacks.
        lacks = fitted.shares[::-1]
    return np.sqrt(fitted.shares * lacks)


def _working(fit: LogisticFit, fitted: FittedRows, codes: Codes) -> Floats:
    """W^-1 (y - p) (K - 1, m), which is 1/p of the own class, and -1/p of the reference where that is it."""
    out = np.zeros((len(fit.others), len(codes)))
    with np.errstate(over="ignore"):
        inverse = np.exp(fitted.surprise)
    for line, k in enumerate(fit.others):
        out[line] = np.where(codes == k, inverse, 0.0) - np.where(codes == fit.reference, inverse, 0.0)
    return out


class Influence(NamedTuple):
    """What rows do to the estimates: leverages, Cook's distances and standardized residuals (m,).

    The last is the length of Pearson's residual over its standard error, not signed. Moves (q (p + 1), m) are
    estimates less those without the row, by one step, in the frame, class by class.
    """

    leverage: Floats
    cook: Floats
    standardized: Floats
    moves: Floats | None


def row_influence(
    fit: LogisticFit, *, moves: bool
) -> Callable[[RowBlock], Iterator[tuple[slice, Influence]]]:
    """From a block of rows to their influence, piece by piece, each with its place in the block.

    How each coefficient moves is told where asked for, as it takes q (p + 1) numbers a row.
    """
    information = fit.newton.information
    inverse = np.asarray(cho_solve(cho_factor(information), np.eye(len(information))))
    p1, q = fit.newton.coef.shape
    forms = Forms(inverse, p1)
    piece = max(min(forms.piece(PIECE), PIECE // (q * q + q * p1)), 16)
    pulls = _pulls_of_two if q == 1 else _pulls

    def of_block(block: RowBlock) -> Iterator[tuple[slice, Influence]]:
        x, codes, weights = block
        for at in slices(len(x), piece):
            some = np.ones(at.stop - at.start) if weights is None else weights[at]
            z = fit.frame.columns(x[at])
            fitted = fitted_rows(fit, z, codes[at])
            pull, spread, leverage = pulls(fit, fitted, some, z, forms)
            with np.errstate(over="ignore", invalid="ignore"):
                cook = np.einsum("am,abm,bm->m", pull, spread, pull) / fit.newton.coef.size
                square = (_working(fit, fitted, codes[at]) * pull).sum(axis=0)
            moved = inverse @ (pull[:, None, :] * z).reshape(-1, len(some)) if moves else None
            yield at, Influence(leverage, cook, np.sqrt(np.maximum(square, 0.0)), moved)

    return of_block


def _pulls_of_two(
    fit: LogisticFit, fitted: FittedRows, weights: Floats, z: Floats, forms: Forms
) -> tuple[Floats, Floats, Floats]:
    """As `_pulls`, where all blocks are numbers."""
    (spread,) = forms.of(z)
    leverage = weights * fitted.shares[0] * fitted.shares[1] * spread[0]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        pull = weights * fitted.misses[fit.others] / (1 - leverage)
    return pull, spread[None], leverage


def _pulls(
    fit: LogisticFit, fitted: FittedRows, weights: Floats, z: Floats, forms: Forms
) -> tuple[Floats, Floats, Floats]:
    """(I - w W C)^-1 w (y - p), (q, m); C, (q, q, m); and leverages (m,)."""
    q = len(fit.others)
    m = z.shape[1]
    shares = fitted.shares[fit.others]
    misses = fitted.misses[fit.others]
    spread = np.empty((q, q, m))
    for k, form in enumerate(forms.of(z)):
        spread[k, k:] = spread[k:, k] = form
    # Of a class: p (1 - p), the second factor with the digits that the difference would lose.
    variance = -shares.T[:, :, None] * shares.T[:, None, :]
    variance[:, range(q), range(q)] = (shares * np.where(misses > 0, misses, 1 - shares)).T
    hat = weights[:, None, None] * (variance @ spread.transpose(2, 0, 1))
    left = (weights * misses).T
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            pull = np.linalg.solve(np.eye(q) - hat, left[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            pull = np.stack([_solved(block, right) for block, right in zip(hat, left, strict=True)])
    return np.ascontiguousarray(pull.T), spread, np.trace(hat, axis1=1, axis2=2)


def _solved(hat: Floats, left: Floats) -> Floats:
    """(I - hat)^-1 left; missing where the row alone determines a coefficient."""
    try:
        return np.asarray(np.linalg.solve(np.eye(len(hat)) - hat, left))
    except np.linalg.LinAlgError:
        return np.full(len(hat), np.nan)


class Effect(NamedTuple):
    """Sums over rows, by their weights, of the effects (K,), and of their derivatives (K, r).

    These are with respect to the coefficients in the frame, class by class.
    """

    total: Floats
    jacobian: Floats

    def plus(self, other: Effect) -> Effect:
        """Those of the rows of both."""
        return Effect(self.total + other.total, self.jacobian + other.jacobian)

    def less(self, other: Effect) -> Effect:
        """The difference of the two."""
        return Effect(self.total - other.total, self.jacobian - other.jacobian)


def probabilities(fit: LogisticFit, z: Floats, shift: Floats) -> Floats:
    """Probabilities (K, m) of rows z (p + 1, m), under a prior that moves their log odds by a shift (K,)."""
    odds = np.insert(fit.newton.coef.T @ z, fit.reference, 0.0, axis=0) + shift[:, None]
    shares = np.exp(odds - odds.max(axis=0))
    return np.asarray(shares / shares.sum(axis=0))


def level(fit: LogisticFit, z: Floats, shift: Floats, weights: Floats) -> Effect:
    """The probabilities themselves, of rows z (p + 1, m)."""
    shares = probabilities(fit, z, shift)
    return Effect(shares @ weights, _jacobian(_moves(fit, shares) * weights, z))


def difference(fit: LogisticFit, first: Floats, then: Floats, shift: Floats, weights: Floats) -> Effect:
    """Of rows (p + 1, m) that change from the first to the second."""
    return level(fit, then, shift, weights).less(level(fit, first, shift, weights))


def slope(fit: LogisticFit, z: Floats, change: Floats, shift: Floats, weights: Floats) -> Effect:
    """Of rows z (p + 1, m) that change by (p, m), or (p, 1) of all rows, for one unit of a column."""
    shares = probabilities(fit, z, shift)
    others = fit.others
    odds = np.insert(fit.newton.coef[1:].T @ change, fit.reference, 0.0, axis=0)
    gaps = odds - (shares * odds).sum(axis=0)
    effects = shares * gaps
    moves = _moves(fit, shares)
    by_odds = moves * gaps[:, None] - shares[:, None] * effects[others]
    jacobian = _jacobian(by_odds * weights, z)
    whole = np.zeros((len(change) + 1, z.shape[1]))
    whole[1:] = change
    return Effect(effects @ weights, jacobian + _jacobian(moves * weights, whole))


def _moves(fit: LogisticFit, shares: Floats) -> Floats:
    """What probabilities change by (K, q, m) for one unit of log odds."""
    out = -shares[:, None] * shares[fit.others]
    for line, k in enumerate(fit.others):
        # The rest of the probabilities has the digits that one less a share would lose.
        out[k, line] = shares[k] * np.delete(shares, k, axis=0).sum(axis=0)
    return out


def _jacobian(by_odds: Floats, z: Floats) -> Floats:
    k, q, m = by_odds.shape
    return np.asarray((by_odds.reshape(k * q, m) @ z.T).reshape(k, q * len(z)))
