"""Mixtures of normals within classes, by the EM algorithm.

Theory. A row of class k has the density sum_g t_kg N(x; m_kg, S_kg). Given the components of the moment, the
E step weighs each row by the posteriors of the components of its class; the M step takes shares and means by
these weights, and covariances as their form has them, within the class or over the components of several
classes (Dempster, Laird & Rubin, 1977, Journal of the Royal Statistical Society B 39, 1-38; Hastie &
Tibshirani, 1996, Journal of the Royal Statistical Society B 58, 155-176; Fraley & Raftery, 2002, Journal of
the American Statistical Association 97, 611-631). The log-likelihood never falls. It has no upper bound: a
component that closes in on a few rows becomes singular, and such a run is no fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance, scaled_cholesky
from discrim.core.mixtures.forms import TURNS, Axes, covariances, is_axial
from discrim.core.moments.coordinates import column_squares

__all__ = ["Components", "Degenerate", "Rows", "component_scores", "maximized", "of_weights"]

Floats = NDArray[np.float64]

LEAST = 1e-6
"""Standard deviation, over that of the rows of the class, below which a component is singular."""

FEW_ROWS = 2
"""Rows, over one more than the columns, up to which a component may be near a plane by chance."""

NARROW = 1e-2
"""Standard deviation along some direction, over that of another component of the class, of a narrow one.

A likelihood has many maxima at components of a few rows that happen to lie near a plane, and mean nothing. A
bound on such ratios leaves them out (Hathaway, 1985, Annals of Statistics 13, 795-800).
"""

FEWEST = 1e-3
"""Rows, of mean weight, below which a component is empty."""

FEW_TURNS = 3
"""Turns of the search for common axes within a step of EM."""


class Rows(NamedTuple):
    """Rows of one class: deviations z (p, n) from its mean in a common unit, and weights (n,)."""

    z: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class Components:
    """The components of some classes, those of the first class first.

    Attributes
    ----------
    sizes : tuple of int
        How many each class has.
    shares : (T,) float
        Of the rows of their class.
    means : (T, p) float
        From the mean of their class, in the common unit.
    covariances : tuple of T Covariance
    axes : (p, p) float or None
        Of a form with common axes.
    path : tuple of float
        Log-likelihood of the rows given their classes, in the common unit, after each step.
    converged : bool
    """

    sizes: tuple[int, ...]
    shares: Floats
    means: Floats
    covariances: tuple[Covariance, ...]
    axes: Axes = None
    path: tuple[float, ...] = ()
    converged: bool = True

    @property
    def llf(self) -> float:
        """The log-likelihood at the end."""
        return self.path[-1]

    def places(self) -> list[slice]:
        """Where the components of each class are."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]


class Degenerate(NamedTuple):
    """A run that ended without a maximum: the class, the component, what became of it, and its rows.

    It became "empty", "singular" or "narrow".
    """

    k: int
    component: int
    what: str
    weight: float


def component_scores(held: Components, at: slice, z: Floats) -> Floats:
    """Log shares and densities (G, n) of the components of one class at deviations z (p, n)."""
    scores = np.empty((at.stop - at.start, z.shape[1]))
    constant = 0.5 * len(z) * np.log(2 * np.pi)
    for i, g in enumerate(range(at.start, at.stop)):
        covariance = held.covariances[g]
        whitened = covariance.whiten(z - held.means[g][:, None])
        np.multiply(column_squares(whitened), -0.5, out=scores[i])
        scores[i] += np.log(held.shares[g]) - 0.5 * covariance.logdet - constant
    return scores


def _expected(held: Components, rows: Sequence[Rows]) -> tuple[list[Floats], float]:
    """Posteriors (G, n) of the components for each class, times weights, and the log-likelihood."""
    found, llf = [], 0.0
    for at, (z, weights) in zip(held.places(), rows, strict=True):
        scores = component_scores(held, at, z)
        top = scores.max(axis=0)
        scores -= top
        np.exp(scores, out=scores)
        sums = scores.sum(axis=0)
        llf += float(weights @ (top + np.log(sums)))
        scores *= weights / sums
        found.append(scores)
    return found, llf


def of_weights(
    rows: Sequence[Rows], parts: Sequence[Floats], form: str, axes: Axes = None, turns: int = TURNS
) -> Components | Degenerate:
    """The most likely components, given weights (G, n) of the rows of each class in its components.

    Common axes are sought from some, for so many turns at most.
    """
    p, axial = len(rows[0].z), is_axial(form)
    counts = np.concatenate([part.sum(axis=1) for part in parts])
    sizes = tuple(len(part) for part in parts)
    means = np.empty((len(counts), p))
    scatters = np.empty((len(counts), p) if axial else (len(counts), p, p))
    g = 0
    for k, ((z, weights), part) in enumerate(zip(rows, parts, strict=True)):
        unit = weights.sum() / len(weights)
        for i, own in enumerate(part):
            if not counts[g] > FEWEST * unit:
                return Degenerate(k, i, "empty", float(counts[g]))
            means[g] = z @ own / counts[g]
            gaps = z - means[g][:, None]
            if axial:
                scatters[g] = np.einsum("ij,ij,j->i", gaps, gaps, own)
            else:
                gaps *= np.sqrt(own)
                scatters[g] = gaps @ gaps.T
            g += 1
    totals = np.repeat([row.weights.sum() for row in rows], sizes)
    matrices, axes = _covariances(form, scatters, counts, axes, turns)
    bare = Components(sizes, counts / totals, means, (), axes)
    return _factored(bare, rows, matrices, counts)


def _factored(
    held: Components, rows: Sequence[Rows], matrices: Floats, counts: Floats
) -> Components | Degenerate:
    """The components with their covariances, unless one of them is singular."""
    factored = []
    for k, at in enumerate(held.places()):
        z, weights = rows[k]
        least = LEAST * np.sqrt(np.einsum("ij,ij,j->i", z, z, weights) / weights.sum())
        for g in range(at.start, at.stop):
            covariance = _rooted(matrices[g], least)
            if covariance is None:
                return Degenerate(k, g - at.start, "singular", float(counts[g]))
            factored.append(covariance)
    return replace(held, covariances=tuple(factored))


def _covariances(form: str, scatters: Floats, counts: Floats, axes: Axes, turns: int) -> tuple[Floats, Axes]:
    try:
        return covariances(form, scatters, counts, axes, turns)
    except np.linalg.LinAlgError:
        return np.full(scatters.shape, np.nan), None


def _rooted(matrix: Floats, least: Floats) -> Covariance | None:
    """A covariance (p, p), or variances (p,), with its root; None where it is singular."""
    variances = matrix if matrix.ndim == 1 else np.diagonal(matrix)
    if not (variances > least**2).all() or not np.isfinite(matrix).all():
        return None
    if matrix.ndim == 1:
        return Covariance.from_root(np.sqrt(matrix))
    try:
        root = scaled_cholesky(matrix)
    except (np.linalg.LinAlgError, ValueError):
        return None
    if not (np.diagonal(root) > LEAST * np.sqrt(variances)).all():
        return None
    return Covariance.from_root(root)


def maximized(
    held: Components,
    rows: Sequence[Rows],
    form: str,
    *,
    tol: float,
    maxiter: int,
    tell: Callable[[float], None] = lambda more: None,
) -> Components | Degenerate:
    """Steps of EM from components until a step gains less than `tol` times the weight of the rows.

    Parameters
    ----------
    held : Components
        From where they begin.
    rows : sequence of Rows
        Of the classes that are fitted together.
    form : str
    tol : float
    maxiter : int
    tell : callable
        Called after each step.
    """
    if max(held.sizes) == 1:
        # The weights of the rows are known, and the first step is the last.
        found = of_weights(rows, [row.weights[None] for row in rows], form, held.axes)
        if isinstance(found, Degenerate):
            return found
        return replace(found, path=(_expected(found, rows)[1],))
    total = sum(float(row.weights.sum()) for row in rows)
    parts, llf = _expected(held, rows)
    path, converged = [llf], False
    for _ in range(maxiter):
        # Axes that are not yet the best do: the next step goes on from them, and the likelihood never falls.
        found = of_weights(rows, parts, form, held.axes, FEW_TURNS)
        if isinstance(found, Degenerate):
            return found
        held = found
        parts, llf = _expected(held, rows)
        path.append(llf)
        tell(1)
        if path[-1] - path[-2] <= tol * total:
            converged = True
            break
    found = replace(held, path=tuple(path), converged=converged)
    return found if form in ("EII", "EEI", "EEE") else _unless_narrow(found, parts)


def _unless_narrow(held: Components, parts: Sequence[Floats]) -> Components | Degenerate:
    """The components, unless one of few rows is narrow beside another one of the class."""
    for k, (at, weights) in enumerate(zip(held.places(), parts, strict=True)):
        own, counts = held.covariances[at], weights.sum(axis=1)
        few = counts <= FEW_ROWS * (held.means.shape[1] + 1)
        for i, j in permutations(range(len(own)), 2):
            if few[i] and _least_ratio(own[i], own[j]) < NARROW:
                return Degenerate(k, i, "narrow", float(counts[i]))
    return held


def _least_ratio(own: Covariance, other: Covariance) -> float:
    """The least standard deviation along some direction, over that of another covariance."""
    if own.is_diagonal:
        return float((own.root / other.root).min())
    return float(np.linalg.svd(other.whiten(own.root.T), compute_uv=False)[-1])
