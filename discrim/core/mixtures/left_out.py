"""Rows left out of mixtures: EM begun at the components of the fit, of the class of the row alone if it may.

The steps begin where those of the fit ended, so that few are left. A class that is fitted for itself does not
know of rows of others, and its components are all that change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.mixtures.em import Components, Degenerate, Rows, maximized
from discrim.core.mixtures.frames import Frames, frames_of, in_frames, out_of_frames, rows_in_frames
from discrim.core.mixtures.mixture import MixtureFit, of_class, rows_by_class
from discrim.core.rules.leave_one_out import LeftOut

__all__ = ["left_out"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class _Group(NamedTuple):
    """Classes that are fitted together: their rows and components in the frames of all rows."""

    rows: list[Rows]
    held: Components
    frames: Frames


def left_out(fit: MixtureFit, log_prior: Floats, x: Floats, codes: Codes, weights: Floats | None) -> LeftOut:
    """Scores of rows of the fit under the rule without each of them.

    Parameters
    ----------
    fit : MixtureFit
    log_prior : (K,) float
    x : (n, p) float
        All rows of the fit, with their classes `codes` (n,) and `weights` (n,), if any.
    """
    every = rows_by_class(x, codes, weights, fit.moments.centres, fit.scale)
    rows_of = [x[codes == k] for k in range(len(log_prior))]
    if fit.together:
        groups = [_group(every, fit.components, fit.forms[0])] * len(every)
    else:
        groups = [_group([row], of_class(fit.components, k), fit.forms[k]) for k, row in enumerate(every)]

    def scores(rows: Floats, own: Codes, times: Floats | None) -> Floats:
        found = np.empty((len(rows), len(log_prior)))
        for i, (row, k) in enumerate(zip(rows, own.tolist(), strict=True)):
            at = int(np.argmax((rows_of[k] == row).all(axis=1)))
            found[i] = _without(fit, log_prior, groups[k], k, at, row)
        return found

    return scores


def _group(plain: list[Rows], held: Components, form: str) -> _Group:
    frames = frames_of(plain, form)
    return _Group(rows_in_frames(plain, frames), in_frames(held, frames), frames)


def _without(fit: MixtureFit, log_prior: Floats, group: _Group, k: int, at: int, row: Floats) -> Floats:
    """Scores (K,) of one row; missing where a component is lost without it."""
    rows, held, frames = group
    own = k if fit.together else 0
    less = rows[own].weights.copy()
    less[at] -= min(1.0, less[at])
    if not less.any():
        return np.full(len(log_prior), np.nan)
    rows = [*rows[:own], Rows(rows[own].z, less), *rows[own + 1 :]]
    found = maximized(held, rows, fit.forms[k], tol=fit.how.tol, maxiter=fit.how.maxiter)
    if isinstance(found, Degenerate):
        return np.full(len(log_prior), np.nan)
    found = out_of_frames(found, rows, frames)
    held = found if fit.together else _with_class(fit.components, k, found)
    return np.asarray(replace(fit, components=held).rule(log_prior).scores(row[None])[0])


def _with_class(held: Components, k: int, found: Components) -> Components:
    """The components with others in the place of those of a class."""
    at = held.places()[k]
    shares, means = held.shares.copy(), held.means.copy()
    shares[at], means[at] = found.shares, found.means
    covariances = (*held.covariances[: at.start], *found.covariances, *held.covariances[at.stop :])
    return replace(held, shares=shares, means=means, covariances=covariances)
