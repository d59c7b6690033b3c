"""Sparse discriminant analysis: discriminants of few of many columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

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

MOST_RIDGE = 1e100
"""Beyond, coefficients are so small that their squares are no doubles."""

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
    """Sparse discriminant analysis: discriminants that use few of many columns, by sparse optimal scoring.

    Parameters
    ----------
    formula : str
        Response and predictors in R's language of formulas, such as `species ~ .`; the page on formulas
        describes it.
    data : table or source of tables
        A DataFrame of pandas, or any other table that narwhals knows. A source is read part by part and may
        be larger than memory: an Arrow dataset or stream, a LazyFrame of polars, a relation of DuckDB, a
        DataFrame of Dask, a path to CSV or Parquet (a file, a folder, a pattern, or a list of them), a
        function that returns an iterator of frames, or such an iterator itself, which can be read only once.
    moments : Moments, optional
        What `discrim.moments` or `discrim.from_stats` returned, or a sum of such moments, in place of formula
        and data. The fit then has no rows, and methods that need rows take them as `data=`. Either penalty or
        nonzero must be given with moments, because a penalty is chosen from rows.
    nonzero : int or sequence of int, optional
        How many columns each direction may use; a sequence has a number for each direction. The penalty is
        then the smallest that leaves so many, as with `stop=-nonzero` of R's sparseLDA.
    penalty : float or sequence of float, optional
        Factor of the sum of the absolute coefficients of standardized columns; zero stands for no penalty.
        From 1 on no column is left, and in general from `path.penalty[0]` on. It is chosen by folds where
        neither penalty nor nonzero is given.
    ridge : float
        Factor of half the sum of the squares of these coefficients, up to 1e100; R's sparseLDA has 1e-6.
    ncomp : int, optional
        The largest number of directions.
    folds : int, or iterable of (train, test)
        Number of folds by which the choice is made. Or splits as in scikit-learn, which are positions of rows
        of the table; methods that judge the fit by folds then choose anew on the same splits, without the
        rows of the fold.
    select : {"min", "1se"}
        "min" takes the penalty of least error and, of equal errors, the larger one. "1se" takes the largest
        penalty whose error is within one standard error of the least.
    grid : sequence of float, optional
        Penalties to try.
    n_penalties : int
        Number of penalties to try where there is no grid. Their logarithms are evenly spaced, from the
        penalty that leaves no column down to a thousandth of it, or to a hundredth where there are fewer rows
        than columns.
    seed : int, optional
        Seed by which the rows are dealt to folds. Without it each call deals them differently.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three equal rows. A column that is named here is not part
        of ``.`` in the formula.
    levels : sequence, optional
        The classes in order. By default they have the order of the categories, and are sorted where the
        response has none.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped, and counted, or refused.
    functions : dict of str to callable, optional
        Functions of your own that the formula may call, by name. Each is called once with whole columns, as
        Series, and returns for every row a number, a truth value, a text or category, or a row of a matrix; a
        Series or DataFrame is aligned by its index. It has to treat each row alone: a function whose value
        for a row changes with the other rows, such as `x - x.mean()` or ranks, is refused. The formula's own
        `center`, `scale`, `poly` and `bs` remember what they learnt. A row without a category counts as
        missing.
    cv : optional
        Another name of `folds`; it is accepted with a warning.

    Returns
    -------
    SparseLDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row is left, or only one class is. Also an option out of
        its range, and a class of one row where the penalty is to be chosen.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        A direction does not vary within classes. Or columns are collinear, or more than the rows allow, and
        there is neither a penalty nor a ridge. The message names them.

    Notes
    -----
    Let z be the columns divided by their standard deviations over all rows (divisor N). Each direction
    minimizes, over coefficients b and over scores theta of the classes with mean zero and mean square one,

        ``1/(2N) sum_i (theta_(class of i) - z_i'b)^2 + penalty |b|_1 + ridge/2 |b|^2``,

    with scores that are uncorrelated with those of earlier directions (Clemmensen, Hastie, Witten & Ersboll,
    2011, Technometrics 53, 406-413). Rows are then classified by the linear discriminant analysis of their
    scores z'b, with divisor N - K. For two classes the direction is the lasso of codes of the classes, which
    is that of Mai, Zou & Yuan (2012, Biometrika 99, 29-42; R's TULIP::dsda); its penalty is that of glmnet
    with codes of variance one. Without penalty and ridge the fit is that of `discrim.lda`.

    R's sparseLDA does not divide by the standard deviation. For columns whose sum of squares is one, as its
    `normalize` makes them, its penalty is 2 sqrt(N) times this one. More than two classes may have several
    minima: the search here descends from the largest penalty in several ways and keeps the least minimum,
    while R's descends once from scores drawn at random.

    `leave_one_out` holds the penalty, or the number of columns where that was given, and takes one fit for
    each row. Folds and bootstrap samples, in `error_rates` and `discrim.cross_validate`, choose the penalty
    anew where it was chosen.

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
    if not (is_number(ridge) and 0 <= ridge <= MOST_RIDGE):
        raise DataError(f"ridge={told(ridge)}: give a number from 0 to {MOST_RIDGE:g}.")
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
        no_penalty = asked.by == "penalty" and not any(fit.asked)
        why = (
            "The classes have equal means in all columns, so that there is no direction"
            if no_penalty
            else f"At penalty {fit.asked[0]:g} no column is left"
        )
        way_out = "Name other columns" if no_penalty else "Give a smaller penalty=, or nonzero="
        warn_user(
            f"{why}: every row gets the prior probabilities, and the class with the largest of them. "
            f"{way_out}."
        )
    has_rows = moments is None
    return SparseLDAResults(sparse_lda_fit(fit, blocks, has_rows=has_rows, search=search, choice=choice))
