"""Sparse discriminant analysis: discriminants of few of many columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.covariance import dependencies
from discrim.core.moments.moments import ClassMoments
from discrim.core.projections.sparse_lda import By, SparseFit, fit_sparse, sparse_from_file
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import CollinearError, DataError, warn_user
from discrim.frame.asked_rows import read
from discrim.frame.blocks import Blocks
from discrim.inference.folds import drawn_seed
from discrim.models.fits.arguments import (
    check_word,
    folds_or_cv,
    is_number,
    is_whole,
    listed,
    prior_vector,
    told,
)
from discrim.models.fits.fit import Fit, Model
from discrim.models.fits.reading import (
    NaAction,
    class_moments,
    collinear_error,
    is_wide,
    lean,
    usable_rows,
)
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.judging.splits import Splits, read_splits
from discrim.models.moments.given import given_sample, table_given
from discrim.models.moments.moments import Moments
from discrim.models.moments.once import by_moments
from discrim.models.projections.sparse_choice import Choice, Search, checked_grid, choose_penalty
from discrim.models.projections.sparse_results import SparseLDAResults
from discrim.models.saving.saved import NOTHING, Saved

__all__ = ["SAVED", "SparseLDAResults", "sparse_lda"]

CHOSEN_FROM_ROWS = "A penalty is chosen by the rows and not by their moments: give penalty= or nonzero="

Floats = NDArray[np.float64]
Numbers = float | Sequence[float]


class Asked(NamedTuple):
    """What the directions are asked for by; `values` is None where the penalty is to be chosen."""

    by: By
    values: tuple[float, ...] | None


@by_moments("pooled")
def sparse_lda(
    formula: str | None = None,
    data: Any = None,
    *,
    moments: Moments | None = None,
    nonzero: int | Sequence[int] | None = None,
    penalty: Numbers | None = None,
    ridge: float = 0.0,
    ncomp: int | None = None,
    folds: int | Splits = 10,
    select: Literal["min", "1se"] = "min",
    grid: Sequence[float] | None = None,
    n_penalties: int = 50,
    seed: int | None = None,
    prior: Any = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
    cv: Any = None,
) -> SparseLDAResults:
    """Sparse discriminant analysis: discriminants of few of many columns, by sparse optimal scoring.

    Parameters
    ----------
    formula, data, moments, prior, weights, levels, na_action, functions
        As for `discrim.lda`. Of moments the penalty, or nonzero, is to be given, as the choice needs rows.
    nonzero : int or sequence of int, optional
        Columns that each direction may have; of a sequence, one number for each direction. The penalty is
        the least that leaves as many, as by `stop=-nonzero` of R's sparseLDA.
    penalty : float or sequence of float, optional
        What the sum of the absolute coefficients of standardized columns is multiplied by; zero for none.
        From 1 on no column is left, and in general from `path.penalty[0]` on. Chosen by folds where neither
        it nor nonzero is given.
    ridge : float
        What half the sum of their squares is multiplied by; R's sparseLDA has 1e-6.
    ncomp : int, optional
        Directions at the most.
    folds : int, or iterable of (train, test)
        Folds, for the choice; or splits, as in scikit-learn: positions of rows of the table; what judges the
        fit by folds chooses anew on the same splits, without the rows of the fold.
    select : {"min", "1se"}
        The penalty of least error, ties to the larger one; or the largest whose error is within one standard
        error of the least.
    grid : sequence of float, optional
        Penalties to try.
    n_penalties : int
        Without a grid, so many with evenly spaced logarithms, from where no column is left to a thousandth
        of that, a hundredth where there are fewer rows than columns.
    seed : int, optional
        Deals the rows to folds.
    cv : optional
        Another name of `folds`, taken with a warning.

    Returns
    -------
    SparseLDAResults

    Raises
    ------
    FormulaError, DataError, PriorError
        As for `discrim.lda`; an option out of range, a class of one row where the penalty is to be chosen.
    CollinearError
        Columns are constant within classes, or a direction is; columns are collinear, or more than the rows
        leave, and there is neither penalty nor ridge. The message names them.

    Notes
    -----
    With z the columns over their standard deviations over all rows (divisor N), each direction is the
    minimum over coefficients b and scores theta of the classes, mean zero and mean square one, of

        1/(2N) sum_i (theta_(class of i) - z_i'b)^2 + penalty |b|_1 + ridge/2 |b|^2,

    the scores uncorrelated with those of earlier directions (Clemmensen, Hastie, Witten & Ersboll, 2011,
    Technometrics 53, 406-413). Rows are then classified by the linear discriminant analysis of their scores
    z'b, with divisor N - K. Of two classes the direction is the lasso of codes of the classes, that of Mai,
    Zou & Yuan (2012, Biometrika 99, 29-42; R's TULIP::dsda), whose penalty is that of glmnet with codes of
    variance one. Without penalty and ridge the fit is that of `discrim.lda`.

    R's sparseLDA does not divide by the standard deviation, and its penalty is 2 sqrt(N) times this one for
    columns of sum of squares one, as its `normalize` makes them. More than two classes may have several
    minima: the search goes several ways down from the largest penalty and keeps the least, R's goes one way
    from scores drawn by chance.

    `leave_one_out` holds the penalty, or the number of columns where that was given, and takes a fit a row;
    folds and bootstrap samples, of `error_rates` and `discrim.cross_validate`, choose it anew where it was
    chosen.

    Examples
    --------
    >>> from discrim import sparse_lda
    >>> from discrim.datasets import load_wine
    >>> fit = sparse_lda("cultivar ~ .", load_wine(), nonzero=3)
    >>> fit.selected.to_list()
    ['flavanoids', 'alcohol', 'od280_od315', 'proline', 'color_intensity', 'hue']
    >>> fit.confusion().to_numpy().tolist()
    [[48, 0, 0], [0, 57, 2], [6, 3, 62]]
    """
    folds = folds_or_cv("sparse_lda", folds, cv)
    check_word("select", select, ("min", "1se"))
    tried = checked_grid(grid, n_penalties)
    if not (is_number(ridge) and 0 <= ridge < np.inf):
        raise DataError(f"ridge={told(ridge)}: give a number from 0 on.")
    chosen = _checked(nonzero, penalty)
    if moments is None:
        asked_of = table_given("sparse_lda", formula, data)
        blocks = lean(read(*asked_of, weights=weights, levels=levels, functions=functions))
        blocks, held = usable_rows(blocks, "thin" if is_wide(blocks) else "pooled", na_action)
    else:
        blocks, held = given_sample(
            moments, "pooled", why_rows=CHOSEN_FROM_ROWS if chosen else "",
            formula=formula, data=data, weights=weights, levels=levels, functions=functions,
        )  # fmt: skip
    _refuse_no_spread(held, blocks)
    most = _directions(ncomp, held)
    asked = _asked(nonzero, penalty, most, held)
    shares = prior_vector(prior, pd.Index(list(blocks.design.levels)), held.counts)
    options: dict[str, Any] = {
        "ridge": float(ridge),
        "ncomp": None if ncomp is None else int(ncomp),
        "estimated_prior": prior is None,
    }
    search = choice = None
    if asked.values is None:
        # Choices in folds are made by the same seed, so that they can be made again.
        splits = () if is_number(folds) else read_splits(folds, blocks, "a number of folds")
        count: Any = len(splits) or folds
        search = Search(tried, int(n_penalties), count, drawn_seed(seed), select, splits)
        choice = _chosen(blocks, held, shares, search, **options)
        asked = Asked("penalty", (choice.penalty,) * most)
    fit = _fitted(held, blocks, shares, asked, **options)
    if not fit.coef.shape[1]:
        warn_user(
            f"At penalty {asked.values[0] if asked.values else 0:g} no column is left: every row has the prior "
            "probabilities, and the class of the largest. Give a smaller penalty=, or nonzero=."
        )
    has_rows = moments is None
    return SparseLDAResults(sparse_lda_fit(fit, blocks, has_rows=has_rows, search=search, choice=choice))


# ---- options


def _checked(nonzero: Any, penalty: Any) -> bool:
    """Whether the penalty is to be chosen; raises a DataError for one, or a number of columns, that is none."""
    if nonzero is not None and penalty is not None:
        raise DataError("nonzero= and penalty= ask for the same in two ways: leave one of them out.")
    for value in _listed(nonzero):
        if not (is_whole(value) and value >= 1):
            raise DataError(
                f"nonzero={told(value)}: give a number of columns from 1 on, or one for each direction."
            )
    for value in _listed(penalty):
        if not (is_number(value) and 0 <= value < np.inf):
            raise DataError(
                f"penalty={told(value)}: give a number from 0 on, one for each direction, or None to have it "
                "chosen by folds."
            )
    return nonzero is None and penalty is None


def _listed(given: Any) -> list[Any]:
    """What is given once, or once for each direction, as a list."""
    if given is None:
        return []
    if isinstance(given, Iterable) and not isinstance(given, str | Mapping):
        # An empty one has no direction.
        return list(given) or [given]
    return [given]


def _directions(ncomp: Any, held: ClassMoments) -> int:
    most = min(held.n_columns, held.n_classes - 1)
    if ncomp is None:
        return most
    if not (is_whole(ncomp) and 1 <= ncomp <= most):
        raise DataError(
            f"ncomp={told(ncomp)}: {held.n_columns} columns and {held.n_classes} classes have {most} "
            f"directions; give a number from 1 to {most}, or None for all."
        )
    return int(ncomp)


def _asked(nonzero: Any, penalty: Any, most: int, held: ClassMoments) -> Asked:
    name: By = "penalty" if nonzero is None else "nonzero"
    values = _listed(penalty if nonzero is None else nonzero)
    if not values:
        return Asked(name, None)
    if len(values) not in (1, most):
        raise DataError(
            f"{name}={values}: {held.n_classes} classes have {most} direction{'s' if most > 1 else ''}; give "
            "one number for all of them, or one for each."
        )
    return Asked(name, tuple(float(value) for value in values) * (most if len(values) == 1 else 1))


# ---- refusals


def _refuse_no_spread(held: ClassMoments, blocks: Blocks) -> None:
    """Raise where nothing, or some column not, varies within classes."""
    if held.total <= held.n_classes:
        raise CollinearError(
            f"{held.total:g} rows in {held.n_classes} classes leave nothing to tell the spread "
            "within classes by: a class has to have two rows, and weights have to count rows."
        )
    still = dependencies(held, diagonal=True)
    if still:
        names = listed(blocks.terms[each.column] for each in still)
        raise CollinearError(
            f"{names} {'does' if len(still) == 1 else 'do'} not vary within classes: such a column tells them "
            "apart by itself, and has no part in a covariance. Leave it out of the formula."
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
            f"{held.rows.sum()} rows in {held.n_classes} classes cannot tell the coefficients of all {p} columns "
            "apart: give penalty= above 0, nonzero= a smaller number, or ridge= above 0."
        )
    found = dependencies(held)
    if found:
        raise collinear_error(found, blocks.terms, instead="pass penalty= or ridge= above 0")


def _fitted(
    held: ClassMoments, blocks: Blocks, shares: Floats, asked: Asked, **options: Any
) -> SparseFit:
    _refuse_dependent(held, blocks, asked, options["ridge"])
    fit = fit_sparse(held, shares, by=asked.by, asked=asked.values or (), **options)
    if fit.is_singular():
        used = [blocks.terms[j] for j in np.flatnonzero(fit.selected().any(axis=1))]
        raise CollinearError(
            f"A direction of {listed(used)} does not vary within classes: these columns tell the classes apart "
            "without error. Give a larger penalty= or a smaller nonzero=, or ridge= above 0."
        )
    return fit


# ---- as a value

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


def _chosen(
    blocks: Blocks,
    held: ClassMoments,
    shares: Floats,
    search: Search,
    *,
    ridge: float,
    ncomp: int | None,
    estimated_prior: bool,
) -> Choice:
    return choose_penalty(blocks, held, shares, search, ridge=ridge, ncomp=ncomp, sampled=estimated_prior)


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
        choice = _chosen(blocks, held, numbers.prior, search, **options)
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
    lambda k, p: {"asked": (-1,), "class_scores": (k, -1), "coef": (p, -1), "penalties": (-1,)},
    # As of a shrunk covariance: columns may be more than rows, or collinear.
    structure="shrunk",
)
