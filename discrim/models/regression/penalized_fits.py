"""Penalized logistic regressions as values: how they are fitted, again too, and what goes into a file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.memory import refuse_beyond_memory
from discrim.core.numerics.progress import watched
from discrim.core.regression.penalized import PenalizedFit, fit_at, fit_from_end, refitted, rows_of
from discrim.core.regression.penalized_likelihood import Likelihood
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.models.fits.fit import Fit, Model
from discrim.models.fits.reading import class_moments
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.regression.logistic_design import refuse_many_coefficients
from discrim.models.regression.logistic_fits import against_reference
from discrim.models.regression.penalized_choice import Path, choose_strength, coefficient_path
from discrim.models.regression.penalized_options import Search
from discrim.models.saving.saved import Saved

__all__ = ["MODEL", "SAVED", "along", "penalized", "penalized_fit"]

Floats = NDArray[np.float64]

COPIES = 3
"""Times that the rows are held: as they are, those of a fold, and those of the columns that are searched."""

FUNCTIONS = 8
"""Times that a number of each row, and of each column, by class is held in a search."""

PASSES = "penalized logistic regression, passes over the rows"

MODEL = Model(
    "penalized_logistic",
    "Penalized logistic regression",
    likelihood_of="class given row",
    prior_without="refitted",
    decision=against_reference,
    no_fit=("a class has no row", "a strength= that is given"),
)


def gathered(blocks: Blocks, moments: ClassMoments) -> Likelihood:
    """The rows that moments are of, in memory.

    Raises
    ------
    DataError
        They are more than the memory.
    """
    rows, p = int(moments.rows.sum()), moments.n_columns
    refuse_beyond_memory(
        COPIES * float(rows) * (p + 1),
        f"A penalized logistic regression of {rows:,} rows by {p:,} columns, which are held in memory,",
        "Fit a part of the rows, or without penalty=, which reads them part by part",
    )
    functions = 1 if moments.n_classes == 2 else moments.n_classes
    refuse_beyond_memory(
        FUNCTIONS * float(functions) * (rows + p + 1),
        f"The probabilities of {rows:,} rows in {moments.n_classes:,} classes, and slopes of {p:,} columns,",
        "Merge rare classes, or use lda(), naive_bayes() or knn()",
    )
    with watched(blocks, PASSES) as passed:
        return rows_of(passed, moments)


def penalized(
    blocks: Blocks,
    moments: ClassMoments,
    prior: Floats,
    *,
    estimated_prior: bool,
    reference: int,
    search: Search,
) -> Fit[PenalizedFit]:
    """The fit of a table.

    Raises
    ------
    DataError
        The rows are more than the memory, a class has no row outside a fold, the search has not converged.
    """
    begun = PenalizedFit(
        moments, prior, estimated_prior, reference, search.penalty, 1.0, search.l1_ratio, np.zeros((1, 1)),
        0.0, 0.0, 0,
    )  # fmt: skip
    if not search.l1_ratio:
        # A ridge has all coefficients at once, in the space of the rows where these are fewer.
        spanned = min(moments.n_columns, int(moments.rows.sum()))
        found = (1 if moments.n_classes == 2 else moments.n_classes) * (spanned + 1)
        instead = "use penalty='lasso', lda(), naive_bayes() or knn()"
        refuse_many_coefficients(found, spanned, moments.n_classes, instead)
    numbers, path = _searched(begun, blocks, gathered(blocks, moments), search, prior)
    return penalized_fit(numbers, blocks, search=search, path=path)


def _searched(
    fit: PenalizedFit, blocks: Blocks, model: Likelihood, search: Search, prior: Floats
) -> tuple[PenalizedFit, Path | None]:
    """The numbers at the strength that is given, or chosen with its path."""
    strength, path, start = search.strength, None, None
    if strength is None:
        at, path = choose_strength(blocks, model, search, prior, sampled=fit.estimated_prior)
        strength, start = float(path.table["strength"].iloc[at]), path.ends[at].beta
    ended = fit_at(model, search.l1_ratio, strength, tol=search.tol, maxiter=search.maxiter, start=start)
    if not ended.converged:
        lost = ended.steps < search.maxiter
        instead = "" if lost else f", or raise maxiter={search.maxiter}"
        raise DataError(
            f"At strength {strength:.4g} the search has not converged in {ended.steps} "
            f"steps{', because of rounding' if lost else ''}: give a larger strength={instead}."
        )
    return fit.at(ended, strength), path


def penalized_fit(
    numbers: PenalizedFit,
    blocks: Blocks,
    *,
    has_rows: bool = True,
    search: Search | None = None,
    path: Path | None = None,
) -> Fit[PenalizedFit]:
    """A penalized logistic regression as one value; `path` is that of a choice of the strength."""
    refits = replace(
        moment_refits(None), of_rows=_held_rule, held=_held_rule, left_out=_left_out, asked=search
    )
    if search is not None and search.strength is None:
        refits = replace(refits, of_rows=partial(_chosen_rule, search), chosen="the strength")
    cache: dict[str, Any] = {} if path is None else {"path": path.table, "along": path}
    return Fit(MODEL, numbers, blocks, numbers.prior, refits, has_rows, cache)


def _held_rule(fit: Fit[PenalizedFit], blocks: Blocks) -> Rule | None:
    moments = class_moments(blocks, "diagonal")
    if not (moments.counts > 0).all():
        return None
    search = fit.refits.asked
    refit = refitted(
        fit.numbers, moments, gathered(blocks, moments), 50 if search is None else search.maxiter
    )
    return None if refit is None else refit.rule(fit.log_prior())


def _chosen_rule(search: Search, fit: Fit[PenalizedFit], blocks: Blocks) -> Rule | None:
    moments = class_moments(blocks, "diagonal")
    if not (moments.counts > 0).all():
        return None
    numbers = replace(fit.numbers, moments=moments)
    try:
        found, _ = _searched(numbers, blocks, gathered(blocks, moments), search, fit.prior)
    except DataError:
        return None
    return found.rule(fit.log_prior())


def _left_out(fit: Fit[PenalizedFit]) -> LeftOut:
    return left_out_by_refits(fit, "of a penalized logistic regression takes a refit a row")


def _shapes(k: int, p: int) -> dict[str, tuple[int, ...]]:
    return {"beta": (1 if k == 2 else k, p + 1), "course": (3,)}


SAVED = Saved(
    {
        "estimated_prior": (bool,),
        "reference": (int,),
        "penalty": (str,),
        "strength": (float,),
        "l1_ratio": (float,),
    },
    "diagonal",
    fit_from_end,
    penalized_fit,
    PenalizedFit.end,
    _shapes,
    constant=True,
)


def along(fit: Fit[PenalizedFit]) -> Path:
    """The path of a fit, made where it was not.

    Raises
    ------
    NotSupportedError
        The fit was loaded.
    """
    if "along" not in fit.cache:
        blocks = fit.rows("path")
        search = fit.refits.asked
        model = gathered(blocks, fit.numbers.moments)
        fit.cache["along"] = coefficient_path(model, search, within=fit.numbers.strength)
    found: Path = fit.cache["along"]
    return found
