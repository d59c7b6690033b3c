"""Covariances shrunk towards a sphere, from class moments.

Theory. A covariance S of p columns is drawn towards the sphere of the same total variance,

    (1 - g) S + g tr(S)/p I,   0 <= g <= 1,

which leaves the eigenvectors alone and moves every eigenvalue towards their mean. The
shrinkage g that loses least in expected squared error depends on the true covariance; the
*oracle approximating shrinkage* (OAS) puts estimates in its place until nothing changes any more
(Chen, Wiesel, Eldar & Hero, 2010, IEEE Transactions on Signal Processing 58, 5016-5029, eq. 23):

    g = min(1, ((1 - 2/p) tr(S^2) + tr(S)^2) / ((n + 1 - 2/p) (tr(S^2) - tr(S)^2/p))).

As in scikit-learn's `OAS`, the terms 2/p are left out, which the paper has and which vanish for many
columns: g = min(1, (tr(S^2) + tr(S)^2) / ((n + 1) (tr(S^2) - tr(S)^2/p))), and g = 0 for one
column. The n is that of the rows, N or n_k, whatever divisor S has: g does not depend on it. Here g
is never below 1/(n + 1), so that the shrunk covariance of two columns or more is not singular unless
nothing varies: its condition number is at most p (n + 1).

The sphere is one in the units of the data: shrinkage depends on the units of the columns.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky

from discrim.core.covariance import Covariance, Dependency, dependencies, pooled, separate
from discrim.core.moments import ClassMoments, Spread
from discrim.core.passes import triangle
from discrim.core.principal import Principal, ThinCovariance, one_scatter, principal, pseudo
from discrim.errors import CollinearError, DataError, NotSupportedError

__all__ = [
    "Structure",
    "by_class",
    "common",
    "intensity",
    "is_regular",
    "no_likelihood",
    "oas",
    "obstacles",
    "shrunk",
    "spherical",
    "spread_of",
]

Floats = NDArray[np.float64]

Structure = Literal["full", "diagonal", "shrunk", "spherical", "pinv"]
"""What a covariance is estimated as."""


def is_regular(structure: Structure) -> bool:
    """Whether the estimate exists for dependent columns, and for more columns than rows."""
    return structure in ("shrunk", "spherical", "pinv")


def spread_of(structure: Structure, full: Spread, *, thin: bool = False) -> Spread:
    """What is to be held of the scatter, where a full covariance takes `full`; of fewer rows than columns."""
    if structure in ("diagonal", "spherical"):
        return "diagonal"
    if thin and is_regular(structure):
        return "thin" if full == "pooled" else "thin class"
    return full


def obstacles(moments: ClassMoments, structure: Structure, k: int | None = None) -> list[Dependency]:
    """Columns for which the covariance of class k, or the pooled one, does not exist.

    A shrunk or spherical one exists unless no column varies.
    """
    if not is_regular(structure):
        return dependencies(moments, k, diagonal=structure == "diagonal")
    constant = dependencies(moments, k, diagonal=True)
    return constant if len(constant) == moments.n_columns else []


def oas(moments: ClassMoments, k: int | None = None) -> float:
    """Oracle approximating shrinkage of the covariance of class k, or of the pooled one.

    Parameters
    ----------
    moments : ClassMoments
        Pooled or by class.
    k : int, optional
        The class, of moments by class.

    Returns
    -------
    float
        From 0 to 1: the shrinkage of scikit-learn's `OAS` fitted to the rows of the class, or to all rows
        less their class's means.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 4.0], [6.0, 9.0]])
    >>> round(oas(ClassMoments.from_block(rows, np.zeros(4, dtype=np.intp), n_classes=1)), 6)
    0.804534
    """
    held = one_scatter(moments, k)
    p = held.n_columns
    if p == 1:
        return 0.0
    if held.spread == "thin":
        return _thin_intensity(principal(held)) if held.squares.any() else 1.0
    scatter, _ = _in_units_of_data(held)
    total = float(np.trace(scatter))
    if not total > 0:
        return 1.0
    # Of trace one, so that no square overflows. The sum of squares about the sphere is formed from its
    # terms, not as a difference, which near the sphere would lose all digits.
    unit = scatter / total
    unit[np.diag_indices(p)] -= 1.0 / p
    apart = float((unit**2).sum())
    return float(intensity(np.array(apart), held.total, p))


def _thin_intensity(held: Principal) -> float:
    return float(intensity(np.array(held.apart), held.count, held.n_columns))


def intensity(apart: Floats, count: float | Floats, p: int) -> Floats:
    """The formula of `oas` from |S - I/p|^2 of an S (p, p) of trace one, and the count of its rows."""
    if p == 1:
        return np.zeros_like(apart)
    above, below = apart + 1.0 / p + 1.0, (count + 1.0) * apart
    return np.where(above >= below, 1.0, above / np.where(above >= below, 1.0, below))


def shrunk(
    moments: ClassMoments, divisor: float, shrinkage: float | None = None, k: int | None = None
) -> tuple[Covariance, float]:
    """Covariance of class k, or the pooled one, shrunk towards a sphere; and the shrinkage.

    Parameters
    ----------
    moments : ClassMoments
        Pooled or by class; of full rank for a shrinkage of zero.
    divisor : float
        Of the scatter.
    shrinkage : float, optional
        From 0 to 1; by default that of `oas`.
    k : int, optional
        The class, of moments by class.

    Raises
    ------
    DataError
        The shrinkage is not from 0 to 1.
    CollinearError
        No column varies.
    """
    held = one_scatter(moments, k)
    if held.spread == "thin":
        return _shrunk_thin(held, divisor, shrinkage)
    g = oas(held) if shrinkage is None else float(shrinkage)
    if not 0 <= g <= 1:
        raise DataError(f"shrinkage={shrinkage!r}: give a number from 0 to 1.")
    sphere = g * _mean_square(held)
    if g == 0:
        return pooled(held, divisor), g
    if g == 1:
        return Covariance.from_root(np.diag(spherical(held, divisor).root)), g
    scatter, ratio = _in_units_of_data(held)
    if held.roots is not None:
        rows = np.sqrt(1.0 - g) * held.roots[0] * ratio
        root = triangle(np.concatenate([rows, np.sqrt(sphere) * np.eye(held.n_columns)]))
    else:
        total = (1.0 - g) * scatter
        total[np.diag_indices(held.n_columns)] += sphere
        sd = np.sqrt(np.diagonal(total))
        root = cholesky(total / sd / sd[:, None], check_finite=False) * sd
    return Covariance.from_root(root / ratio / np.sqrt(divisor)), g


def _shrunk_thin(held: ClassMoments, divisor: float, shrinkage: float | None) -> tuple[Covariance, float]:
    """As `shrunk`, of fewer rows than columns."""
    _mean_square(held)
    axes = principal(held)
    g = _thin_intensity(axes) if shrinkage is None else float(shrinkage)
    if not 0 < g <= 1:
        raise DataError(
            f"shrinkage={shrinkage!r}: for more columns than rows give a number above 0, at most 1."
        )
    sphere = g / axes.n_columns / divisor
    return ThinCovariance.on_axes(axes, (1.0 - g) * axes.lengths / divisor + sphere, sphere), g


def spherical(moments: ClassMoments, divisor: float, k: int | None = None) -> Covariance:
    """Covariance tr(S)/p I of class k, or the pooled one: one variance for all columns, in the data's units.

    Raises
    ------
    CollinearError
        No column varies.
    """
    held = one_scatter(moments, k)
    ratio = held.scale.min() / held.scale
    return Covariance.from_root(np.sqrt(_mean_square(held) / divisor) / ratio)


def common(moments: ClassMoments, divisor: float, structure: Structure) -> tuple[Covariance, float | None]:
    """The pooled covariance of a structure, and the shrinkage of a shrunk one."""
    if structure == "shrunk":
        return shrunk(moments, divisor)
    if structure == "spherical":
        return spherical(moments, divisor), None
    if structure == "pinv":
        return pseudo(moments, divisor), None
    return pooled(moments, divisor, diagonal=structure == "diagonal"), None


def by_class(
    moments: ClassMoments, divisors: Floats, structure: Structure
) -> tuple[tuple[Covariance, ...], Floats | None]:
    """The covariance of each class, of a structure, and the shrinkages (K,) of shrunk ones."""
    if structure == "shrunk":
        held = [shrunk(moments, d, k=k) for k, d in enumerate(divisors.tolist())]
        return tuple(covariance for covariance, _ in held), np.array([g for _, g in held])
    if structure == "spherical":
        return tuple(spherical(moments, d, k) for k, d in enumerate(divisors.tolist())), None
    return separate(moments, divisors, diagonal=structure == "diagonal"), None


def no_likelihood(what: str, structure: Structure) -> NotSupportedError:
    """The error that refuses what takes an estimate of maximum likelihood, for a structure that is none."""
    return NotSupportedError(
        f'{what} is that of a maximum of the likelihood, which covariance="{structure}" does not give: '
        'compare by error_rates(["cv"]), or fit another covariance.'
    )


def _in_units_of_data(held: ClassMoments) -> tuple[Floats, Floats]:
    """Scatter (p, p) of x times one power of two, the same for all columns, and its ratio (p,) to z."""
    ratio = held.scale.min() / held.scale
    return held.scatters[0] * ratio * ratio[:, None], ratio


def _mean_square(held: ClassMoments) -> float:
    """tr(W)/p of the one scatter, in the units of `_in_units_of_data`."""
    ratio = held.scale.min() / held.scale
    squares = held.squares[0]
    # Factor by factor: the square of a ratio may underflow.
    mean = float((squares * ratio * ratio).sum()) / held.n_columns
    if not mean > 0:
        raise CollinearError("No column varies within classes: there is no covariance to shrink.")
    return mean
