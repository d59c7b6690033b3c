"""Sparse discriminant analysis: discriminants of few of many columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.errors import DataError, warn_user
from discrim.frame.asked_rows import read
from discrim.inference.folds import drawn_seed
from discrim.models.fits.arguments import check_word, folds_or_cv, is_number, prior_vector, told
from discrim.models.fits.reading import NaAction, is_wide, lean, usable_rows
from discrim.models.judging.splits import Splits, read_splits
from discrim.models.moments.given import given_sample, table_given
from discrim.models.moments.moments import Moments
from discrim.models.moments.once import by_moments
from discrim.models.projections.sparse_choice import Search, checked_grid
from discrim.models.projections.sparse_fits import chosen, fitted, refuse_no_spread, sparse_lda_fit
from discrim.models.projections.sparse_options import Asked, asked_of, directions_of, to_be_chosen
from discrim.models.projections.sparse_results import SparseLDAResults

__all__ = ["sparse_lda"]

CHOSEN_FROM_ROWS = "A penalty is chosen by the rows and not by their moments: give penalty= or nonzero="


@by_moments("pooled")
def sparse_lda(
    formula: str | None = None,
    data: Any = None,
    *,
    moments: Moments | None = None,
    nonzero: int | Sequence[int] | None = None,
    penalty: float | Sequence[float] | None = None,
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
        A direction does not vary within classes; columns are collinear, or more than the rows leave, and
        there is neither penalty nor ridge. The message names them.

    Notes
    -----
    With z the columns over their standard deviations over all rows (divisor N), each direction is the
    minimum over coefficients b and scores theta of the classes, mean zero and mean square one, of

        ``1/(2N) sum_i (theta_(class of i) - z_i'b)^2 + penalty |b|_1 + ridge/2 |b|^2``,

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
    by_folds = to_be_chosen(nonzero, penalty)
    if moments is None:
        given = table_given("sparse_lda", formula, data)
        blocks = lean(read(*given, weights=weights, levels=levels, functions=functions))
        blocks, held = usable_rows(blocks, "thin" if is_wide(blocks) else "pooled", na_action)
    else:
        blocks, held = given_sample(
            moments, "pooled", why_rows=CHOSEN_FROM_ROWS if by_folds else "",
            formula=formula, data=data, weights=weights, levels=levels, functions=functions,
        )  # fmt: skip
    refuse_no_spread(held)
    most = directions_of(ncomp, held)
    asked = asked_of(nonzero, penalty, most, held)
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
        choice = chosen(blocks, held, shares, search, **options)
        asked = Asked("penalty", (choice.penalty,) * most)
    fit = fitted(held, blocks, shares, asked, **options)
    if not fit.coef.shape[1]:
        warn_user(
            f"At penalty {fit.asked[0]:g} no column is left: every row has the prior probabilities, and the "
            "class of the largest. Give a smaller penalty=, or nonzero=."
        )
    has_rows = moments is None
    return SparseLDAResults(sparse_lda_fit(fit, blocks, has_rows=has_rows, search=search, choice=choice))
