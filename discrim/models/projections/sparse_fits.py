"""Sparse discriminant analyses as values: how they are fitted, again too, and what goes into a file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import dependencies
from discrim.core.moments.moments import ClassMoments
from discrim.core.projections.sparse_lda import SparseFit, along, fit_sparse, sparse_from_file
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import CollinearError, DataError
from discrim.frame.blocks import Blocks
from discrim.models.fits.arguments import listed
from discrim.models.fits.fit import Fit, Model
from discrim.models.fits.reading import class_moments, collinear_error, said_of_separation, warn_of_near
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.projections.sparse_choice import Choice, Search, choose_penalty, penalties_of
from discrim.models.projections.sparse_options import Asked
from discrim.models.saving.saved import NOTHING, Saved

__all__ = ["MODEL", "SAVED", "chosen", "fitted", "refuse_no_spread", "sparse_lda_fit"]

Floats = NDArray[np.float64]


def refuse_no_spread(held: ClassMoments) -> None:
    """Raise where nothing is left to vary within classes."""
    if held.total <= held.n_classes:
        raise CollinearError(
            f"{held.total:g} rows in {held.n_classes} classes leave nothing from which to estimate "
            "the spread within classes: some class has to have two rows, and weights have to count "
            "rows."
        )


def _refuse_singular(fit: SparseFit, blocks: Blocks) -> None:
    """Raise where a direction does not vary within classes, and name the columns that make it so."""
    if not fit.is_singular():
        return
    used = np.any(fit.coef != 0, axis=1)
    names = [blocks.terms[j] for j in np.flatnonzero(used).tolist()]
    still = [each.column for each in dependencies(fit.moments, diagonal=True)]
    still = [j for j in still if bool(used[j])]
    if still:
        does, it = ("does", "it") if len(still) == 1 else ("do", "them")
        tells = said_of_separation(fit.moments, blocks.terms)
        way_out = (
            'Use lda(covariance="shrunk", shrinkage=1e-6)' if tells else f"Leave {it} out of the formula"
        )
        raise CollinearError(
            f"{listed(blocks.terms[j] for j in still)} {does} not vary within classes, where distances "
            f"have their unit.{tells} {way_out}."
        )
    raise CollinearError(
        f"A direction of {listed(names)} does not vary within classes: these columns tell the classes apart "
        "without error. Give a larger penalty= or a smaller nonzero=, or ridge= above 0."
    )


def _refuse_dependent(held: ClassMoments, blocks: Blocks, asked: Asked, ridge: float) -> None:
    """Raise where columns that are all to have a part do not leave one minimum."""
    values = asked.values or ()
    p = held.n_columns
    all_in = any(value == 0 if asked.by == "penalty" else value >= p for value in values)
    if ridge > 0 or not all_in:
        return
    if held.spread == "thin" or held.rows.sum() - held.n_classes < p:
        raise CollinearError(
            f"{held.rows.sum()} rows in {held.n_classes} classes cannot tell the coefficients of all {p} "
            "columns apart: give penalty= above 0, nonzero= a smaller number, or ridge= above 0."
        )
    found = dependencies(held)
    if found:
        raise collinear_error(found, blocks.terms, instead="pass penalty= or ridge= above 0")
    warn_of_near(held, blocks.terms)


def fitted(held: ClassMoments, blocks: Blocks, shares: Floats, asked: Asked, **options: Any) -> SparseFit:
    """The numbers of what was asked for.

    Raises
    ------
    CollinearError
        Columns that are all to have a part are collinear, or a direction does not vary within classes.
    """
    _refuse_dependent(held, blocks, asked, options["ridge"])
    fit = fit_sparse(held, shares, by=asked.by, asked=asked.values or (), **options)
    _refuse_singular(fit, blocks)
    return fit


MODEL = Model(
    "sparse_lda",
    "Sparse discriminant analysis",
    no_fit=(
        "a direction does not vary within classes, or the penalty is chosen and a class has one row",
        "a penalty= or nonzero= that is given",
    ),
)


def sparse_lda_fit(
    numbers: SparseFit,
    blocks: Blocks,
    *,
    has_rows: bool = True,
    search: Search | None = None,
    choice: Choice | None = None,
) -> Fit[SparseFit]:
    """A sparse discriminant analysis as one value; `search` and `choice` are of a penalty chosen."""
    refits = replace(moment_refits(numbers.moments.spread), left_out=_left_out)
    if search is not None:
        rule = partial(_chosen_rule, search)
        refits = replace(refits, spread=None, of_rows=rule, chosen="the penalty", asked=search)
    cache: dict[str, Any] = {} if choice is None else {"path": choice.path, "along": choice.fits}
    return Fit(MODEL, numbers, blocks, numbers.prior, refits, has_rows, cache)


def _left_out(fit: Fit[SparseFit]) -> LeftOut:
    return left_out_by_refits(fit, "takes a fit a row")


def chosen(
    blocks: Blocks,
    held: ClassMoments,
    shares: Floats,
    search: Search,
    *,
    ridge: float,
    ncomp: int | None,
    estimated_prior: bool,
) -> Choice:
    """The choice of a penalty by folds or splits; as of `choose_penalty`.

    Raises
    ------
    CollinearError
        A direction does not vary within classes, of all rows or without a fold.
    """
    whole = along(
        held,
        shares,
        penalties_of(held, search.n_penalties) if search.grid is None else search.grid,
        ridge=ridge,
        ncomp=ncomp,
        estimated_prior=estimated_prior,
    )
    for fit in whole:
        _refuse_singular(fit, blocks)
    return choose_penalty(blocks, whole, search)


def _chosen_rule(search: Search, fit: Fit[SparseFit], blocks: Blocks) -> Rule | None:
    """The rule of other rows, which choose the penalty anew."""
    numbers = fit.numbers
    held = class_moments(blocks, numbers.moments.spread)
    if (held.rows < 1).any() or held.total <= held.n_classes:
        return None
    ncomp = None if numbers.ncomp is None else min(numbers.ncomp, held.n_columns)
    options: dict[str, Any] = {
        "ridge": numbers.ridge, "ncomp": ncomp, "estimated_prior": numbers.estimated_prior
    }  # fmt: skip
    try:
        choice = chosen(blocks, held, numbers.prior, search, **options)
    except (CollinearError, DataError):
        return None
    most = min(held.n_classes - 1, held.n_columns)
    asked = (choice.penalty,) * (most if ncomp is None else ncomp)
    found = fit_sparse(held, numbers.prior, by="penalty", asked=asked, **options)
    return None if found.is_singular() else found.rule(fit.log_prior())


SAVED = Saved(
    {"by": (str,), "ridge": (float,), "ncomp": (int, NOTHING), "estimated_prior": (bool,)},
    "pooled",
    sparse_from_file,
    sparse_lda_fit,
    SparseFit.buffers,
    lambda k, p: {
        "asked": (-1,),
        "class_scores": (k, -1),
        "coef": (p, -1),
        "sd": (p,),
        "penalties": (-1,),
    },
    # As of a shrunk covariance: columns may be more than rows, or collinear.
    structure="shrunk",
)
