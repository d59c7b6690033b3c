"""Linear rules of nearest means, whose differences keep their digits however far apart the classes lie.

Theory. About an origin o the score ln prior_k - D2_k/2 is, up to the row's own D2_o/2,

    (m_k - o)'S^-1 (x - o) - |m_k - o|^2 / 2 + ln prior_k,    |d|^2 = d'S^-1 d,

and its rounding is of the size of eps |m_k - o| |x - o|. What a perturbation of the row in its last bit does
to the difference of two scores is eps |m_k - m_l| |x| only. So an origin amid all classes, at R from the
farthest, is good for classes that differ by a fair share of R and bad for those that lie close together: the
scores of two classes at a distance of one are off by eps R^2. Classes that are *crowded*, closer than R/4 to
another, are scored again about one of them. A row takes part in that if its best class does, and its other
scores, of classes at least R/6 away from that one, keep their differences from about the common origin. The
radius falls to a quarter from one scoring to the next, so that a few of them are enough for any distances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discrim.core.rules.rules import Crowd, LinearRule, Nearest

__all__ = ["Means", "nearest_mean_rule", "uncentred"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

ROOMY = 8.0
"""Distance of the farthest mean from the origin up to which no class is crowded: eps 8^2/2 is rounding."""

CLOSE, COVERED = 0.25, 0.0625
"""Shares of the farthest mean's distance: what is close to a class, and how far it speaks for others."""

NEAR = 2.0
"""Typical deviations of the rows from the origin up to which zero is as good an origin, but for a bit."""

GAPS = 2**24
"""Distances between means that are held at once."""

MOST_NUMBERS = 2**24
"""Numbers of the coefficients that crowds hold together; those of crowds beyond are made when rows come."""


@dataclass(frozen=True, slots=True)
class Means:
    """Points that classes are judged by their distances to, in any metric.

    Attributes
    ----------
    centres : (K, p) float
        The points rounded, in the units of the data.
    rests : (K, p) float
        What that leaves of them: point k is centres[k] + rests[k] / scale.
    scale : (p,) float
    whiten : callable
        From columns (p, k) in z to columns (r, k) whose squared lengths are the squared distances.
    unwhiten : callable
        From columns (r, k) to coefficients (p, k) of z.
    """

    centres: Floats
    rests: Floats
    scale: Floats
    whiten: Callable[[Floats], Floats]
    unwhiten: Callable[[Floats], Floats]

    def about(self, origin: Floats, classes: Codes) -> Floats:
        """Points (k, p) of some classes in z = (x - origin) * scale."""
        return np.asarray((self.centres[classes] - origin) * self.scale + self.rests[classes])

    def distances(self, origin: Floats) -> Nearest:
        """Squared distances of rows to the points, about an origin (p,) amid them."""
        rule = nearest_mean_rule(self, origin, np.zeros(len(self.centres)))
        return Nearest(rule, self.centres, self.rests, self.whiten)


@dataclass(frozen=True, slots=True)
class Unheld:
    """A rule whose coefficients are made for the rows that it scores, and forgotten.

    Attributes
    ----------
    made : callable
        The rule, from the numbers that its own crowds may hold.
    """

    made: Callable[[list[int]], LinearRule]

    def scores(self, x: Floats) -> Floats:
        """Scores (m, k) of rows x (m, p)."""
        return self.made([MOST_NUMBERS]).scores(x)


def nearest_mean_rule(means: Means, origin: Floats, constant: Floats, factor: float = 1.0) -> LinearRule:
    """Scores constant_k - factor D2_k / 2, up to what the classes of a row have in common.

    Parameters
    ----------
    means : Means
    origin : (p,) float
        Amid the means.
    constant : (K,) float
        Minus infinity for a class that no row is given to.
    factor : float
    """
    every = np.arange(len(constant))
    return _about(means, origin, every, every, constant, factor, np.inf, [MOST_NUMBERS])


def uncentred(rule: LinearRule, typical: Floats) -> LinearRule:
    """The same rule about zero, which saves a pass over the rows, where zero lies amid them.

    About an origin o a score has the rounding of sum_j abs(x_j - o_j) abs(c_j), about zero that of
    sum_j abs(x_j) abs(c_j).

    Parameters
    ----------
    rule : LinearRule
    typical : (p,) float
        Typical deviations of rows from the origin.
    """
    sizes = np.abs(rule.coef)
    if not (rule.scale == 1).all() or not (np.abs(rule.origin) @ sizes <= NEAR * (typical @ sizes)).all():
        return rule
    return replace(
        rule, origin=np.zeros(len(rule.origin)), intercept=rule.intercept - rule.origin @ rule.coef
    )


def _about(
    means: Means,
    origin: Floats,
    classes: Codes,
    best: Codes,
    constant: Floats,
    factor: float,
    reach: float,
    room: list[int],
) -> LinearRule:
    """The rule of some classes, for rows whose best one is at one of the positions `best` among them.

    Their distances from the origin are to be below half of `reach`, those of the classes before; otherwise
    what separates them is the rounding of their means, and there are no crowds.
    """
    whitened = means.whiten(means.about(origin, classes).T)
    coef = means.unwhiten(whitened)
    intercept = constant[classes] - 0.5 * factor * (whitened**2).sum(axis=0)
    possible, radius = _possible(whitened, constant[classes])
    crowding = ROOMY < radius < reach / 2
    crowds = []
    for covered, members in _crowded(whitened, constant[classes], best, possible, radius) if crowding else ():
        own = classes[members]
        within = np.flatnonzero(np.isin(members, covered))
        nearby = partial(_about, means, means.centres[own[0]], own, within, constant, factor, radius)
        numbers = members.size * len(origin)
        if numbers <= room[0]:
            room[0] -= numbers
            crowds.append(Crowd(covered, members, nearby(room)))
        else:
            crowds.append(Crowd(covered, members, Unheld(nearby)))
    # Whatever the metric's layout: products with one of rows and with one of columns have the same bits then.
    coef = np.ascontiguousarray(factor * coef)
    return LinearRule(origin, means.scale, coef, intercept, tuple(crowds))


def _possible(whitened: Floats, constant: Floats) -> tuple[Codes, float]:
    """Classes that a row may be given to, and the distance of the farthest from the origin."""
    lengths = np.sqrt((whitened**2).sum(axis=0))
    possible = np.flatnonzero(np.isfinite(constant) & np.isfinite(lengths))
    return possible, float(lengths[possible].max(initial=0.0))


def _crowded(
    whitened: Floats, constant: Floats, best: Codes, possible: Codes, radius: float
) -> Iterator[tuple[Codes, Codes]]:
    """The classes among the best that each crowd speaks for, and its members, its origin the first."""
    if len(possible) < 3:
        return
    points = whitened[:, possible] / radius
    squares = (points**2).sum(axis=0)
    step = max(GAPS // len(possible), 1)

    def gaps_of(some: slice) -> Floats:
        gaps = points[:, some].T @ points
        gaps *= -2
        gaps += squares
        gaps += squares[some, None]
        return np.asarray(gaps)

    waiting = np.isin(possible, best)
    for start in range(0, len(possible), step):
        gaps = gaps_of(slice(start, start + step))
        waiting[start : start + step] &= np.count_nonzero(gaps <= CLOSE**2, axis=1) > 1
    if not waiting.any():
        return
    # Of so many classes that their gaps are not held, each that speaks for others has its own made again.
    held = gaps if step >= len(possible) else None
    for first in np.argsort(-constant[possible], kind="stable").tolist():
        if waiting[first]:
            own = gaps_of(slice(first, first + 1))[0] if held is None else held[first]
            covered = np.flatnonzero(waiting & (own <= COVERED**2))
            # Rounding may leave a class a little way from itself.
            waiting[covered] = waiting[first] = False
            others = np.flatnonzero(own <= CLOSE**2)
            members = np.append(first, others[others != first])
            yield possible[covered], possible[members]
