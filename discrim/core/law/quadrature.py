"""Integrals over a line, adaptively, all panels of a pass at once.

A panel's integral by ten Gauss-Legendre nodes is compared with that of its two halves; halves of panels that
differ by too much are cut again. The bound on the error adds up the last differences, each times what its
fall from level to level leaves to come, and no less than a share of the difference before: two sums may agree
by chance on the two sides of a jump. It is far above the true error where the integrand is smooth.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["integrate", "masses"]

Floats = NDArray[np.float64]

NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)

PANELS = 256
"""Panels whose points are looked at together."""

MOST_LEVELS = 200
"""How often a panel is cut in two: a jump is enclosed to the last bit, a pole at zero to the 60th decimal."""

SLOWEST = 0.98
"""Ratio of successive changes of a panel beyond which they are taken for this one."""

DOUBT = 0.25
"""Share of a panel's change before last that its error is taken to be at least."""

MOST_PANELS = 20_000
"""Panels of one level; more are left as they are, and the bound says so."""


def integrate(
    f: Callable[[Floats], Floats], breaks: Floats, rtol: float | Floats = 1e-11
) -> tuple[Floats, Floats]:
    """Integrals of functions over a line, with a bound on the error of each.

    Parameters
    ----------
    f : callable
        From points (m,) to values (m, q).
    breaks : (b,) float
        Ascending; the first and the last are the ends of the line, and may be infinite. One between them
        at least is finite. Kinks, jumps and the heights of the mass belong here: what no panel sees is not
        found.
    rtol : float or (q,) float
        Wanted error of a panel over the integral.

    Returns
    -------
    value, bound : (q,) float

    Examples
    --------
    >>> import numpy as np
    >>> value, bound = integrate(lambda x: np.exp(-np.abs(x))[:, None], np.array([-np.inf, 0.0, np.inf]))
    >>> abs(float(value[0]) - 2) < 1e-13, bool(bound[0] < 1e-9)
    (True, True)
    """
    scale = _tail_scale(breaks)
    finite = breaks[np.isfinite(breaks)]
    kind = np.zeros(len(breaks) - 1, dtype=np.intp)
    low, high = breaks[:-1].copy(), breaks[1:].copy()
    # A tail is the image of [0, 1) under anchor +- scale t/(1-t).
    for end, sign in ((0, -1), (-1, 1)):
        if np.isinf(breaks[end]):
            kind[end], low[end], high[end] = sign, 0.0, 1.0

    def panel(kind: NDArray[np.intp], low: Floats, high: Floats) -> Floats:
        # In parts, as many functions at the points of many panels fill the memory.
        starts = range(0, len(kind), PANELS)
        parts = [some(kind[i : i + PANELS], low[i : i + PANELS], high[i : i + PANELS]) for i in starts]
        return np.concatenate(parts)

    def some(kind: NDArray[np.intp], low: Floats, high: Floats) -> Floats:
        half = 0.5 * (high - low)
        t = low[:, None] + half[:, None] * (1 + NODES)
        tail = (kind != 0)[:, None]
        anchor = np.where(kind < 0, finite[0], finite[-1])[:, None]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            x = np.where(tail, anchor + kind[:, None] * scale * t / (1 - t), t)
            slope = half[:, None] * np.where(tail, scale / (1 - t) ** 2, 1.0)
            values = f(x.ravel()).reshape(*x.shape, -1)
        # Beyond 1e308 there is no mass that could be seen.
        values = np.where(np.isfinite(x)[..., None], values, 0.0)
        return np.asarray(np.einsum("ijq,ij,j->iq", values, slope, WEIGHTS))

    return _refined(panel, kind, low, high, rtol)


def _refined(
    panel: Callable[[NDArray[np.intp], Floats, Floats], Floats],
    kind: NDArray[np.intp],
    low: Floats,
    high: Floats,
    rtol: float | Floats,
) -> tuple[Floats, Floats]:
    coarse = panel(kind, low, high)
    before = np.full(coarse.shape, np.inf)
    value, bound = np.zeros(coarse.shape[1]), np.zeros(coarse.shape[1])
    for level in range(MOST_LEVELS):
        middle = 0.5 * (low + high)
        left, right = panel(kind, low, middle), panel(kind, middle, high)
        change = np.abs(left + right - coarse)
        # The first panels have no change before.
        doubt = DOUBT * before if level else change
        error = np.maximum(change * _remainder(change, before), doubt)
        # Between neighbouring numbers nothing is known of the integrand.
        point = (middle == low) | (middle == high)
        error[point] = np.maximum(error[point], np.abs(left + right)[point])
        total = np.abs(value + (left + right).sum(axis=0))
        last = level == MOST_LEVELS - 1 or 2 * len(low) > MOST_PANELS
        done = ((error <= rtol * total) & (level > 0) | last).all(axis=1) | point
        value += (left + right)[done].sum(axis=0)
        bound += error[done].sum(axis=0)
        again = ~done
        if not again.any():
            break
        coarse = np.concatenate([left[again], right[again]])
        before = np.tile(change[again], (2, 1))
        kind = np.tile(kind[again], 2)
        low, high = (
            np.concatenate([low[again], middle[again]]),
            np.concatenate([middle[again], high[again]]),
        )
    # Rounding of sums of positive numbers.
    return value, bound + 64 * np.finfo(float).eps * np.abs(value)


def _remainder(change: Floats, before: Floats) -> Floats:
    """What is left of an error over its last change, one at least.

    At a pole, changes fall by a constant ratio r only, and all that follow add up to r/(1 - r) of the last;
    a tenth is added.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(change > 0, np.minimum(change / before, SLOWEST), 0.0)
    return np.asarray(np.maximum(1.1 * ratio / (1 - ratio), 1.0))


def _tail_scale(breaks: Floats) -> float:
    """A length for the tails: that between the finite breaks, or one."""
    finite = breaks[np.isfinite(breaks)]
    return float(finite[-1] - finite[0]) or 1.0


def masses(f: Callable[[Floats], Floats], breaks: Floats, most: float) -> tuple[Floats, Floats]:
    """Points of a line, and the integral of a function from the first of them to each.

    Parameters
    ----------
    f : callable
        From points (m,) to values (m,).
    breaks : (b,) float
        Finite, ascending. Panels between them are halved until each has an integral of `most` or less.
    most : float

    Returns
    -------
    at, cumulative : (c,) float
    """
    low, high = breaks[:-1], breaks[1:]
    done: list[tuple[Floats, Floats]] = []
    for level in range(MOST_LEVELS):
        half = 0.5 * (high - low)
        values = f((low[:, None] + half[:, None] * (1 + NODES)).ravel()).reshape(len(low), -1)
        held = half * (values @ WEIGHTS)
        middle = low + half
        again = (held > most) & (middle > low) & (middle < high) & (level < MOST_LEVELS - 1)
        done.append((low[~again], held[~again]))
        if not again.any():
            break
        low, high = np.concatenate([low[again], middle[again]]), np.concatenate([middle[again], high[again]])
    starts, held = (np.concatenate(parts) for parts in zip(*done, strict=True))
    order = np.argsort(starts)
    at = np.append(starts[order], breaks[-1])
    return at, np.concatenate([[0.0], np.cumsum(held[order])])
