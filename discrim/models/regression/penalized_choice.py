"""The path of a penalized logistic regression, and the choice of a strength from it by folds."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.memory import refuse_beyond_memory
from discrim.core.numerics.progress import late_bar
from discrim.core.regression.penalized import path_of, scores_along, strengths_of
from discrim.core.regression.penalized_likelihood import Likelihood
from discrim.core.regression.proximal_newton import Ended
from discrim.core.rules.rules import best_class, log_posteriors, logs_of_prior
from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import used_codes
from discrim.inference.folds import dealt_codes
from discrim.inference.rates_along import rates_along
from discrim.models.fits.arguments import listed
from discrim.models.judging.splits import used_splits
from discrim.models.regression.penalized_options import Search

__all__ = ["Path", "choose_strength", "coefficient_path"]

Floats = NDArray[np.float64]

CONSTANT = 1e-10
"""Share of its standard deviation over all rows below which a column is constant over some of them."""


class Path(NamedTuple):
    """Fits along strengths.

    Attributes
    ----------
    table : DataFrame
        strength, df, explained; of a choice deviance, se and error too.
    ends : list of Ended
        A fit a strength.
    """

    table: pd.DataFrame
    ends: list[Ended]


def coefficient_path(model: Likelihood, search: Search, *, within: float | None = None) -> Path:
    """Fits along the strengths that were asked for, or evenly spaced ones.

    Parameters
    ----------
    within : float, optional
        A strength down to which the path goes at least.
    """
    strengths = search.grid
    if strengths is None:
        strengths = strengths_of(model, search.l1_ratio, search.n_strengths)
    _refuse_large(model, len(strengths))
    own = search.grid is None and not (within is not None and within < strengths[-1])
    with late_bar(len(strengths), "path of the strength") as tell:
        ends = path_of(model, search.l1_ratio, strengths, search.maxiter, ends=own, tell=tell)
    _refuse_unfinished(ends, strengths, search)
    null = model.at(model.eta(model.null())).loss
    table = pd.DataFrame({"strength": strengths[: len(ends)]})
    table["df"] = [int(np.count_nonzero(ended.beta[:, 1:])) for ended in ends]
    table["explained"] = [1 - ended.loss / null for ended in ends]
    return Path(table, ends)


def _refuse_large(model: Likelihood, count: int) -> None:
    numbers = float(count) * model.functions * len(model.z)
    refuse_beyond_memory(
        numbers, f"The coefficients of {count:,} strengths", "Give a shorter grid=, or one strength="
    )


def _refuse_unfinished(ends: list[Ended], strengths: Floats, search: Search) -> None:
    for ended, strength in zip(ends, strengths.tolist(), strict=False):
        if not ended.converged:
            raise DataError(
                f"At strength {strength:.4g} the search has not converged in {ended.steps} steps: raise "
                f"maxiter={search.maxiter}, or give larger strengths as grid=."
            )


def choose_strength(
    blocks: Blocks, model: Likelihood, search: Search, prior: Floats, *, sampled: bool
) -> tuple[int, Path]:
    """The position of the strength that is chosen, and the path.

    Each fold is judged by the path of the other rows, on the strengths of all rows. The deviance is that of a
    row, -2 log P, with weights; its standard error is that of the means of the folds, as cv.glmnet's. The
    error counts rows by the labels under the prior, which may be sampled, the class proportions.

    Raises
    ------
    DataError
        A class has no row outside a fold.
    """
    path = coefficient_path(model, search)
    strengths = path.table["strength"].to_numpy()
    deviances, sizes = np.empty((0, len(strengths))), np.empty(0)
    k = model.n_classes
    wrong, judged = np.zeros((len(strengths), k)), np.zeros(k)
    shift = logs_of_prior(prior) - np.log(model.class_shares)
    parts = _parts(blocks, search)
    with late_bar(len(parts), "choice of the strength") as tell:
        for fold, (train, test) in enumerate(parts):
            part = _without(model, train)
            if part is None:
                _refuse_part(search, fold, blocks, model.codes[train > 0])
            at = np.flatnonzero(test)
            tell(1)
            if not len(at):
                continue
            less, mean, sd = part
            ends = path_of(less, search.l1_ratio, strengths, search.maxiter)
            _refuse_unfinished(ends, strengths, search)
            z = model.z[:, at].copy()
            z[1:] -= mean[:, None]
            z[1:] /= sd[:, None]
            scores = _by_class(scores_along(ends, z))
            times, own = model.weights[at] * test[at], model.codes[at]
            logs = np.stack([log_posteriors(each)[np.arange(len(at)), own] for each in scores])
            deviances = np.vstack([deviances, -2 * (logs @ times)[None] / times.sum()])
            sizes = np.append(sizes, times.sum())
            member = np.equal(own[:, None], np.arange(k)) * times[:, None]
            judged += member.sum(axis=0)
            wrong += np.stack([best_class(each + shift) != own for each in scores]) @ member
    if not len(sizes):
        raise DataError("No row is left to judge strengths by: give splits that judge more of them.")
    share = sizes / sizes.sum()
    table = path.table
    table["deviance"] = share @ deviances
    spread = share @ (deviances - table["deviance"].to_numpy()) ** 2
    table["se"] = np.sqrt(spread / max(len(sizes) - 1, 1))
    table["error"] = rates_along(wrong, judged, prior, sampled=sampled)[0]
    return _chosen(table, search), path


def _chosen(table: pd.DataFrame, search: Search) -> int:
    """The least deviance, or the largest strength within a standard error of it."""
    deviance = table["deviance"].to_numpy()
    least = int(np.argmin(deviance))
    if search.select == "min":
        return least
    return int(np.argmax(deviance <= deviance[least] + table["se"].to_numpy()[least]))


def _by_class(scores: Floats) -> Floats:
    """Scores (L, m, K) of functions (L, C, m)."""
    if scores.shape[1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    return np.swapaxes(scores, 1, 2)


def _parts(blocks: Blocks, search: Search) -> list[tuple[Floats, Floats]]:
    """For each fold or split how often each row (n,) that is used is learnt from, and judged."""
    if search.splits:
        return [(split.train, split.test) for split in used_splits(search.splits, blocks)]
    codes = used_codes(blocks)
    dealt = dealt_codes(codes, search.folds, search.seed)[codes >= 0]
    return [
        ((dealt != fold).astype(np.float64), (dealt == fold).astype(np.float64))
        for fold in range(search.folds)
    ]


def _without(model: Likelihood, times: Floats) -> tuple[Likelihood, Floats, Floats] | None:
    """Some of the rows as often as is said, standardized by themselves, and their means and deviations.

    None where a class has no row. A column that is constant over them has no part.
    """
    at = np.flatnonzero(times)
    weights = model.weights[at] * times[at]
    if not len(at) or not (np.bincount(model.codes[at], weights, model.n_classes) > 0).all():
        return None
    weights /= weights.sum()
    z = model.z[:, at].copy()
    mean = z[1:] @ weights
    z[1:] -= mean[:, None]
    sd = np.sqrt((z[1:] ** 2) @ weights)
    still = sd <= CONSTANT
    z[1:][still] = 0.0
    sd[still] = 1.0
    z[1:] /= sd[:, None]
    return Likelihood(z, model.codes[at], weights, model.n_classes), mean, sd


def _refuse_part(search: Search, fold: int, blocks: Blocks, codes: NDArray[np.intp]) -> NoReturn:
    levels = blocks.design.levels
    gone = [levels[k] for k in np.setdiff1d(np.arange(len(levels)), codes)]
    what, instead = (
        (f"Among the rows that split {fold + 1} of folds learns from", "splits with more of them")
        if search.splits
        else (f"Without fold {fold + 1} of {search.folds}", "more folds")
    )
    raise DataError(
        f"{what} class {listed(gone)} has no row: give strength=, or {instead}, or merge the class with "
        "another."
    )
