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

The sphere is one in the units of the data: shrinkage depends on the units of the columns. Ledoit and Wolf's
intensity, and that of variances towards their median, are in `discrim.core.shrinkage.fourth_moments`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import (
    EPS,
    Covariance,
    Dependency,
    dependencies,
    pooled,
    scaled_cholesky,
    separate,
)
from discrim.core.covariance.principal import ThinCovariance, one_scatter, principal, pseudo
from discrim.core.moments.moments import ClassMoments, Spread
from discrim.core.moments.row_sums import triangle
from discrim.core.moments.units import comparable, comparable_to_median
from discrim.core.shrinkage.fourth_moments import data_units, ledoit_wolf_intensity, strimmer_intensity
from discrim.core.shrinkage.median_shrinkage import median_shrunk
from discrim.errors import CollinearError, DataError, NotSupportedError

__all__ = [
    "Chosen",
    "Structure",
    "by_class",
    "check_own",
    "common",
    "estimator_left_out",
    "has_likelihood",
    "in_one_unit",
    "intensity",
    "is_none",
    "is_regular",
    "ledoit_wolf",
    "no_likelihood",
    "oas",
    "obstacles",
    "own_buffers",
    "shrunk",
    "spherical",
    "spread_of",
    "strimmer",
]

Floats = NDArray[np.float64]

Structure = Literal["full", "diagonal", "shrunk", "correlation", "spherical", "factor", "pinv", "estimator"]
"""What a covariance is estimated as; by an estimator of the user's own."""

Chosen = Literal["given", "oas", "ledoit-wolf", "loo", "strimmer"]
"""How a shrinkage was chosen."""


def is_none(shrinkage: float, p: int) -> bool:
    """Whether a shrinkage of p columns is so small that a singular covariance stays singular."""
    return shrinkage <= p * EPS


def is_regular(structure: Structure) -> bool:
    """Whether the estimate exists for dependent columns, and for more columns than rows."""
    return structure in ("shrunk", "correlation", "spherical", "factor", "pinv", "estimator")


def in_one_unit(
    moments: ClassMoments, structure: Structure, shrinkage: float | Floats | None
) -> ClassMoments:
    """Moments as a structure takes them: of scales within reach of each other where it compares columns."""
    if structure in ("shrunk", "spherical", "factor", "pinv"):
        return moments if shrinkage is not None and not np.any(shrinkage) else comparable(moments)
    if structure in ("diagonal", "correlation") and np.any(shrinkage):
        return comparable_to_median(moments)
    return moments


def spread_of(structure: Structure, full: Spread, *, thin: bool = False) -> Spread:
    """What is to be held of the scatter, where a full covariance takes `full`; of fewer rows than columns."""
    if structure in ("diagonal", "spherical", "estimator"):
        return "diagonal"
    if thin and is_regular(structure):
        return "thin" if full == "pooled" else "thin class"
    return full


def obstacles(
    moments: ClassMoments, structure: Structure, k: int | None = None, shrinkage: float | None = None
) -> list[Dependency]:
    """Columns for which the covariance of class k, or the pooled one, does not exist.

    A shrunk or spherical one exists unless no column varies, variances shrunk towards their median unless
    it is zero, and shrunk correlations where all columns vary; a shrinkage of next to nothing mends nothing.
    """
    if shrinkage is not None and is_none(shrinkage, moments.n_columns):
        return dependencies(moments, k, diagonal=structure == "diagonal")
    if structure == "diagonal" and shrinkage is not None:
        constant = dependencies(moments, k, diagonal=True)
        return constant if 2 * len(constant) >= moments.n_columns else []
    if not is_regular(structure):
        return dependencies(moments, k, diagonal=structure == "diagonal")
    constant = dependencies(moments, k, diagonal=True)
    return constant if structure == "correlation" or len(constant) == moments.n_columns else []


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
    if held.n_columns == 1:
        return 0.0
    apart = _apart(held)
    return 1.0 if apart is None else float(intensity(np.array(apart), held.total, held.n_columns))


def ledoit_wolf(moments: ClassMoments, fourth: float, k: int | None = None) -> float:
    """Ledoit & Wolf's shrinkage of the covariance of class k, or of the pooled one.

    Parameters
    ----------
    moments : ClassMoments
        Pooled or by class.
    fourth : float
        Sum of fourth powers, see `discrim.core.shrinkage.fourth_moments.row_fourths`.
    k : int, optional
        The class, of moments by class.
    """
    held = one_scatter(moments, k)
    if held.n_columns == 1:
        return 0.0
    apart = _apart(held)
    if apart is None:
        return 1.0
    return float(ledoit_wolf_intensity(np.array(apart), np.array(fourth), held.total, held.n_columns))


def strimmer(moments: ClassMoments, fourths: Floats, k: int | None = None) -> float:
    """Opgen-Rhein & Strimmer's shrinkage of the variances of class k, or of the pooled ones.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal.
    fourths : (K, p) float
        Sums of fourth powers, see `discrim.core.shrinkage.fourth_moments.column_powers`.
    k : int, optional
        The class; by default the rows of all classes less their class's means.
    """
    held = one_scatter(moments, k)
    unit = data_units(moments, by_class=False)[0]
    own = fourths if k is None else fourths[[k]]
    return float(strimmer_intensity(held.squares[0] * unit * unit, own.sum(), held.total))


def _apart(held: ClassMoments) -> float | None:
    """Squared distance |S - I/p|^2 of the one scatter, at trace one; None where nothing varies."""
    if held.spread == "thin":
        return principal(held).apart if held.squares.any() else None
    ratio = held.common_unit
    scatter = held.scatters[0] * ratio * ratio[:, None]
    total = float(np.trace(scatter))
    if not total > 0:
        return None
    # Of trace one, so that no square overflows. The sum of squares about the sphere is formed from its
    # terms, not as a difference, which near the sphere would lose all digits.
    unit = scatter / total
    unit[np.diag_indices(held.n_columns)] -= 1.0 / held.n_columns
    return float((unit**2).sum())


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
    ratio = held.common_unit
    if held.roots is not None:
        rows = np.sqrt(1.0 - g) * held.roots[0] * ratio
        root = triangle(np.concatenate([rows, np.sqrt(sphere) * np.eye(held.n_columns)]))
    else:
        total = (1.0 - g) * (held.scatters[0] * ratio * ratio[:, None])
        total[np.diag_indices(held.n_columns)] += sphere
        root = scaled_cholesky(total)
    return Covariance.from_root(root / ratio / np.sqrt(divisor)), g


def _shrunk_thin(held: ClassMoments, divisor: float, shrinkage: float | None) -> tuple[Covariance, float]:
    """As `shrunk`, of fewer rows than columns."""
    _mean_square(held)
    axes = principal(held)
    g = oas(held) if shrinkage is None else float(shrinkage)
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
    return Covariance.from_root(np.sqrt(_mean_square(held) / divisor) / held.common_unit)


def common(
    moments: ClassMoments, divisor: float, structure: Structure, shrinkage: float | None = None
) -> tuple[Covariance, float | None]:
    """The pooled covariance of a structure, and the shrinkage of a shrunk one, given or that of `oas`."""
    if structure == "shrunk":
        return shrunk(moments, divisor, shrinkage)
    if structure == "spherical":
        return spherical(moments, divisor), None
    if structure == "pinv":
        return pseudo(moments, divisor), None
    if structure == "diagonal" and shrinkage is not None:
        held = one_scatter(moments, None)
        return median_shrunk(held.squares[0], held.scale, divisor, shrinkage), shrinkage
    return pooled(moments, divisor, diagonal=structure == "diagonal"), None


def by_class(
    moments: ClassMoments, divisors: Floats, structure: Structure, shrinkage: Floats | None = None
) -> tuple[tuple[Covariance, ...], Floats | None]:
    """The covariance of each class, of a structure, and the shrinkages (K,) of shrunk ones; as `common`."""
    each = divisors.tolist()
    if structure == "shrunk":
        given = [None] * len(each) if shrinkage is None else shrinkage.tolist()
        held = [shrunk(moments, d, g, k) for k, (d, g) in enumerate(zip(each, given, strict=True))]
        return tuple(covariance for covariance, _ in held), np.array([g for _, g in held])
    if structure == "spherical":
        return tuple(spherical(moments, d, k) for k, d in enumerate(each)), None
    if structure == "diagonal" and shrinkage is not None:
        parts = zip(moments.squares, each, shrinkage.tolist(), strict=True)
        return tuple(median_shrunk(own, moments.scale, d, g) for own, d, g in parts), shrinkage
    return separate(moments, divisors, diagonal=structure == "diagonal"), None


def has_likelihood(structure: Structure, shrinkage: float | Floats | None) -> bool:
    """Whether an estimate maximizes the likelihood among those of its structure, but for its divisor."""
    return structure in ("full", "diagonal", "spherical", "factor") and shrinkage is None


def no_likelihood(what: str, structure: Structure) -> NotSupportedError:
    """The error that refuses what takes an estimate of maximum likelihood, for one that is none."""
    named = {"estimator": "of an estimator", "diagonal": "of shrunken variances"}
    return NotSupportedError(
        f"{what} needs a maximum of the likelihood, which a covariance "
        f"{named.get(structure, f'by covariance={structure!r}')} does not give: compare by "
        'error_rates(["cv"]), or fit another covariance.'
    )


def estimator_left_out(estimator: str | None) -> NotSupportedError:
    """The error that refuses to leave single rows out of a covariance that only an estimator knows."""
    return NotSupportedError(
        f"Leave-one-out of {estimator} has no closed form, and would fit it once for each row: "
        'cross-validate instead, with error_rates(["cv"]) or confusion(method="cv"), which fits it '
        "in each fold."
    )


def own_buffers(
    structure: Structure, shrinkage: float | Floats | None, covariances: tuple[Covariance, ...]
) -> dict[str, Floats]:
    """What moments do not say again: shrinkages (1,) or (K,), or the roots of an estimator's covariances."""
    found: dict[str, Floats] = {}
    if shrinkage is not None:
        found["shrinkage"] = np.atleast_1d(np.asarray(shrinkage, dtype=np.float64))
    if structure == "estimator":
        found["covariance_roots"] = np.stack([covariance.root for covariance in covariances])
    return found


def check_own(
    structure: Structure, chosen: Chosen | None, shrinkage: Floats | None, roots: Floats | None
) -> None:
    """Raise a DataError unless the buffers of a file go with its options."""
    shrinks = structure in ("shrunk", "correlation") or (structure == "diagonal" and chosen is not None)
    if shrinks != (shrinkage is not None) or shrinks != (chosen is not None):
        raise DataError("its shrinkage does not go with its structure")
    if shrinkage is not None and not ((shrinkage >= 0) & (shrinkage <= 1)).all():
        raise DataError("its shrinkage is not from 0 to 1")
    if (structure == "estimator") != (roots is not None):
        raise DataError("its covariances do not go with its structure")
    if roots is not None:
        regular = np.diagonal(roots, axis1=1, axis2=2).all()
        if np.tril(roots, -1).any() or not regular:
            raise DataError("the roots of its covariances are not triangular, or singular")


def _mean_square(held: ClassMoments) -> float:
    """tr(W)/p of the one scatter, in their common unit."""
    ratio = held.common_unit
    squares = held.squares[0]
    # Factor by factor: the square of a ratio may underflow.
    mean = float((squares * ratio * ratio).sum()) / held.n_columns
    if not mean > 0:
        raise CollinearError(
            "No column varies within classes: there is no covariance to shrink. Name other columns."
        )
    return mean
