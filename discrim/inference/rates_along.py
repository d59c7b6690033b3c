"""Error rates of many rules at once, from the rows that each gets wrong.

The rates and standard errors are those of `discrim.inference.error_rates.counted`, whose interval takes
longer than all of a small search.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["TIE", "as_good", "rates_along"]

Floats = NDArray[np.float64]

TIE = 1e-12
"""Difference of two error rates up to which they are one."""


def rates_along(wrong: Floats, rows: Floats, shares: Floats, *, sampled: bool) -> tuple[Floats, Floats]:
    """Error rates (G,) of G rules and their standard errors; missing where a number of wrong rows is.

    Parameters
    ----------
    wrong : (G, K) float
        Rows of each class, or sums of their weights, that a rule gives to another one.
    rows : (K,) float
        All rows.
    shares : (K,) float
        Prior probabilities; a class without rows has no part in them.
    sampled : bool
        The shares are those of the rows: the errors are binomial.

    Examples
    --------
    >>> import numpy as np
    >>> rows, shares = np.array([10.0, 30.0]), np.array([0.5, 0.5])
    >>> rates_along(np.array([[1.0, 3.0]]), rows, shares, sampled=True)[0].tolist()
    [0.1]
    """
    total = float(rows.sum())
    if sampled:
        rates = wrong.sum(axis=1) / total
        return rates, np.sqrt(rates * (1 - rates) / total)
    there = (rows > 0) & (shares > 0)
    pi, by_class = shares[there] / shares[there].sum(), wrong[:, there] / rows[there]
    variance = np.maximum(by_class * (1 - by_class), 0.0) / rows[there]
    return by_class @ pi, np.sqrt(variance @ pi**2)


def as_good(errors: Floats, slack: float = TIE) -> NDArray[np.bool_]:
    """Which errors (G,) are above the least of them by no more than a slack; a missing one is not.

    Examples
    --------
    >>> import numpy as np
    >>> as_good(np.array([np.nan, 0.1, 0.1, 0.3])).tolist()
    [False, True, True, False]
    """
    return np.asarray(errors <= np.nanmin(errors) + slack)
