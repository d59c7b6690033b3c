"""What the probabilities of classes change by where a column of the rows does, and how sure that is.

Theory. Let z be a row in the frame, with a leading one, dz what it changes by for one unit of a column, and
s_a = dz'b_a. The probability of class k changes by g_k = p_k (s_k - t), t = sum p_l s_l, for one unit more;
and by p_k(z1) - p_k(z0) where the column changes from one value to another. With dp_k/db_a = p_k ([k = a] -
p_a) z,

    dg_k/db_a = z [p_k ([k = a] - p_a)(s_k - t) - p_k p_a (s_a - t)] + dz p_k ([k = a] - p_a),

whose mean over the rows is the Jacobian J of the mean effect, and J V J' its variance by the delta method
(Long & Freese, 2014, Regression Models for Categorical Dependent Variables Using Stata, section 4.5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.regression.logistic import LogisticFit

__all__ = ["PIECE", "Effect", "difference", "probabilities", "slope"]

Floats = NDArray[np.float64]

PIECE = 2**19
"""Numbers worked on at once."""


class Effect(NamedTuple):
    """Sums over rows, by their weights.

    Attributes
    ----------
    total : (K,) float
        Of the effects.
    jacobian : (K, r) float
        Of their derivatives with respect to the coefficients in the frame, class by class.
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
    return Effect(shares @ weights, _jacobian(fit, _moves(fit, shares) * weights, z))


def difference(fit: LogisticFit, first: Floats, then: Floats, shift: Floats, weights: Floats) -> Effect:
    """Of rows (p + 1, m) that change from the first to the second."""
    return level(fit, then, shift, weights).less(level(fit, first, shift, weights))


def slope(fit: LogisticFit, z: Floats, change: Floats, shift: Floats, weights: Floats) -> Effect:
    """Of rows z (p + 1, m) that change by (p, m), or (p, 1) of all rows, for one unit of a column."""
    shares, others = probabilities(fit, z, shift), fit.others
    own = np.insert(fit.newton.coef[1:].T @ change, fit.reference, 0.0, axis=0)
    gaps = own - (shares * own).sum(axis=0)
    effects = shares * gaps
    moves = _moves(fit, shares)
    by_odds = moves * gaps[:, None] - shares[:, None] * effects[others]
    jacobian = _jacobian(fit, by_odds * weights, z)
    whole = np.zeros((len(change) + 1, z.shape[1]))
    whole[1:] = change
    return Effect(effects @ weights, jacobian + _jacobian(fit, moves * weights, whole))


def _moves(fit: LogisticFit, shares: Floats) -> Floats:
    """What probabilities change by (K, q, m) for one unit of log odds."""
    out = -shares[:, None] * shares[fit.others]
    for line, k in enumerate(fit.others):
        # The rest of the probabilities has the digits that one less a share would lose.
        out[k, line] = shares[k] * np.delete(shares, k, axis=0).sum(axis=0)
    return out


def _jacobian(fit: LogisticFit, by_odds: Floats, z: Floats) -> Floats:
    k, q, m = by_odds.shape
    return np.asarray((by_odds.reshape(k * q, m) @ z.T).reshape(k, q * len(z)))
