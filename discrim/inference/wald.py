"""Wald's test of linear hypotheses, and standard errors by the delta method, from a root of a covariance.

Theory. Under R b = c the distance (R b - c)'(R V R')^-1 (R b - c) has the chi-square law with as many
degrees of freedom as R has rows that are independent. With V = H'H and the triangular factor T of H R' the
statistic is the squared length of T'^-1 (R b - c): neither V nor R V R' is formed, whose squares would lose
half of the digits, and of columns in extreme units the range.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

__all__ = ["dependent_row", "standard_errors", "wald_statistic"]

Floats = NDArray[np.float64]

ALIKE = 1e-10
"""Share of a row's length beyond the rows before it that is no more than rounding."""


def standard_errors(root: Floats, contrasts: Floats) -> Floats:
    """Standard errors (r,) of contrasts (r, k) of estimates, by a root (m, k) of their covariance."""
    return lengths(root @ contrasts.T)


def lengths(columns: Floats) -> Floats:
    """Lengths (r,) of columns (m, r), whose squares may be no doubles."""
    largest = np.abs(columns).max(axis=0, initial=0.0)
    unit = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    return np.asarray(unit * np.sqrt(((columns / unit) ** 2).sum(axis=0)))


def dependent_row(rows: Floats) -> int | None:
    """The first row (of r, k) that is a combination of those before it, or zero; None without one."""
    size = lengths(rows.T)
    if not (size > 0).all():
        return int(np.argmin(size > 0))
    unit = (rows / size[:, None]).T
    if unit.shape[0] < unit.shape[1]:
        unit = np.vstack([unit, np.zeros((unit.shape[1] - unit.shape[0], unit.shape[1]))])
    left = np.abs(np.diagonal(np.linalg.qr(unit, mode="r")))
    return int(np.argmax(left <= ALIKE)) if (left <= ALIKE).any() else None


def wald_statistic(
    root: Floats, estimates: Floats, contrasts: Floats, values: Floats, given: Floats | None = None
) -> float:
    """The statistic of contrasts (r, k) of estimates (k,) against values (r,).

    It is missing where the covariance of the contrasts is singular.

    Parameters
    ----------
    root : (m, k) float
        root'root is the covariance of the estimates.
    given : (s, k) float, optional
        Contrasts that are zero whether or not the hypothesis holds: the statistic is that of both together
        less that of these alone.
    """
    before = 0 if given is None else len(given)
    if given is not None:
        contrasts, values = np.vstack([given, contrasts]), np.concatenate([np.zeros(before), values])
    turned = root @ contrasts.T
    size = lengths(turned)
    with np.errstate(invalid="ignore", divide="ignore"):
        turned, gaps = turned / size, (contrasts @ estimates - values) / size
    if not (np.isfinite(turned).all() and np.isfinite(gaps).all()):
        return np.nan
    # What is given comes first, so that no square is a difference of others.
    order = np.arange(len(values))
    if before:
        factor = qr(turned, mode="r")[0]
    else:
        factor, order = qr(turned, mode="r", pivoting=True)
    factor = factor[: len(order)]
    if len(factor) < len(order) or np.abs(np.diagonal(factor)).min() <= ALIKE:
        return np.nan
    along = solve_triangular(factor, gaps[order], trans="T")[before:]
    return float(along @ along)
