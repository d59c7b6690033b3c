"""Discriminant analysis by partial least squares: few directions that covary with the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.projections.pls import Decides, Indicators, fit_pls
from discrim.errors import DataError
from discrim.frame.asked_rows import read
from discrim.inference.folds import drawn_seed
from discrim.models.fits.arguments import (
    check_flag,
    check_word,
    folds_or_cv,
    is_number,
    is_whole,
    prior_vector,
    told,
)
from discrim.models.fits.reading import NaAction, is_wide, usable_rows
from discrim.models.judging.splits import Splits, read_splits
from discrim.models.moments.given import given_sample, table_given
from discrim.models.moments.moments import Moments
from discrim.models.moments.once import by_moments
from discrim.models.projections.pls_choice import Search, counts_of
from discrim.models.projections.pls_engine import components_of, engine_fit
from discrim.models.projections.pls_fits import chosen, pls_fit, refuse_few, refuse_no_spread
from discrim.models.projections.pls_results import PLSResults

__all__ = ["pls"]

CHOSEN_FROM_ROWS = "Components are chosen by the rows and not by their moments: give components="

FROM_ROWS = "An engine is fitted to rows and not to their moments: leave engine= out"

Floats = NDArray[np.float64]


@by_moments("pooled")
def pls(
    formula: str | None = None,
    data: Any = None,
    *,
    moments: Moments | None = None,
    components: int | None = None,
    rule: Decides = "lda",
    scale: bool = True,
    indicators: Indicators = "scaled",
    algorithm: Literal["nipals", "simpls"] = "nipals",
    engine: Any = None,
    folds: int | Splits = 10,
    select: Literal["min", "1se"] = "min",
    grid: Sequence[int] | None = None,
    seed: int | None = None,
    prior: Any = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
    cv: Any = None,
) -> PLSResults:
    """Discriminant analysis by partial least squares (PLS-DA).

    The indicators of the classes are regressed on a few scores, each the combination of columns that covaries
    most with the classes. The columns may be collinear, and far more than the rows.

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
        and data. The fit then has no rows, and methods that need rows take them as `data=`. The number of
        components must be given with moments, because it is chosen from rows.
    components : int, optional
        Number of components. It is chosen by cross-validation where it is not given.
    rule : {"lda", "max", "centroid"}
        How a row gets its class. "lda" is the linear discriminant analysis of the scores, which has
        posteriors. "max" takes the largest fitted indicator, as mixOmics' "max.dist", and "centroid" the
        nearest centroid of the scores, as its "centroids.dist".
    scale : bool
        Whether the columns are divided by their standard deviations over all rows (divisor N - 1).
    indicators : {"scaled", "centred"}
        "scaled" divides the indicators of the classes by their standard deviations, which gives small classes
        as much weight as large ones; scikit-learn, mixOmics and mdatools do so where they scale. "centred"
        does not, as R's pls. For two classes it makes no difference.
    algorithm : {"nipals", "simpls"}
        How the columns are deflated; see the Notes of `discrim.pls`.
    engine : object, optional
        A regression that finds the components instead, such as scikit-learn's `PLSRegression()`. A copy of it
        is fitted to the columns and indicators, centred and scaled as said here, and must then have
        `x_weights_`, `x_loadings_` and `x_rotations_`. With components=None it has as many components as it
        was made with. The fit then needs the rows in memory, and each refit fits the engine once.
    folds : int, or iterable of (train, test)
        Number of folds by which the choice is made. Or splits as in scikit-learn, which are positions of rows
        of the table; methods that judge the fit by folds then choose anew on the same splits, without the
        rows of the fold.
    select : {"min", "1se"}
        "min" takes the fewest components of least error. "1se" takes the fewest whose error is within one
        standard error of it.
    grid : sequence of int, optional
        Numbers of components to try; by default 1 to 10, or to as many as there are.
    seed : int, optional
        Seed by which the rows are dealt to folds. Without it each call deals them differently.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows. Only rule="lda"
        has a prior.
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
    PLSResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row is left, or only one class is. Also more components
        than there are, an empty grid, too few rows for the folds, and a class of one row where components are
        to be chosen.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The scores do not vary within classes, so that rule="lda" has no covariance of them.

    Notes
    -----
    "nipals" is PLS2 by Wold's algorithm with X deflated, and gives the numbers of scikit-learn's
    PLSRegression and of R's pls (oscorespls, kernelpls). "simpls" is de Jong's algorithm, that of mdatools
    and R's simpls. For two classes both are the same. In each component the largest weight in absolute value
    is positive.

    Programs differ in the rule as well. mixOmics offers three and recommends "max.dist"; mdatools gives a row
    every class whose fitted indicator (of -1 and 1) is above 0; SIMCA cuts fitted indicators at 0.5. The
    largest fitted indicator masks a class that lies between others, as `discrim.indicator` does, and fitted
    indicators are no probabilities. The linear discriminant analysis of the scores does not mask, has
    posteriors, and takes a prior. With as many components as columns it is `discrim.lda`, and "max" is
    `discrim.indicator`. See Barker & Rayens (2003), Journal of Chemometrics 17, 166-173; Brereton & Lloyd
    (2014), Journal of Chemometrics 28, 213-225.

    `leave_one_out` holds the number of components. Folds and bootstrap samples, in `error_rates` and
    `discrim.cross_validate`, choose it anew where it was chosen. Everything else is computed from the rows
    that are left.

    Examples
    --------
    >>> from discrim import pls
    >>> from discrim.datasets import load_wine
    >>> fit = pls("cultivar ~ .", load_wine(), components=2)
    >>> fit.confusion().to_numpy().tolist()
    [[48, 0, 0], [0, 59, 0], [1, 2, 68]]
    >>> fit.vip().head(3).round(3).to_dict()
    {'alcohol': 1.417, 'proline': 1.361, 'color_intensity': 1.359}
    """
    folds = folds_or_cv("pls", folds, cv)
    _check_options(components, rule, scale, indicators, algorithm, select)
    if prior is not None and rule != "lda":
        raise DataError(f'prior= has no part in rule="{rule}": leave it out, or pass rule="lda".')
    if moments is None:
        asked_of = table_given("pls", formula, data)
        blocks = read(*asked_of, weights=weights, levels=levels, functions=functions)
        blocks, held = usable_rows(blocks, "thin" if is_wide(blocks) else "pooled", na_action)
    else:
        why = CHOSEN_FROM_ROWS if components is None else ""
        blocks, held = given_sample(
            moments, "pooled", why_rows=why if engine is None else FROM_ROWS,
            formula=formula, data=data, weights=weights, levels=levels, functions=functions,
        )  # fmt: skip
    refuse_no_spread(held)
    shares = prior_vector(prior, pd.Index(list(blocks.design.levels)), held.counts)
    fitted = partial(
        fit_pls, held, shares, algorithm=algorithm, scale=bool(scale), indicators=indicators, decides=rule,
        estimated_prior=prior is None,
    )  # fmt: skip
    path = search = None
    if engine is not None:
        count = components_of(engine, components)
        fit = engine_fit(
            engine, blocks, held, shares, components=count, scale=bool(scale), indicators=indicators,
            decides=rule, estimated_prior=prior is None,
        )  # fmt: skip
        refuse_few(fit, count)
    elif components is None:
        # Choices in folds are made by the same seed, so that they can be made again.
        splits = () if is_number(folds) else read_splits(folds, blocks, "a number of folds")
        parts: Any = len(splits) or folds
        search = Search(grid, parts, drawn_seed(seed), select, splits)
        fit, path = chosen(blocks, fitted(components=max(counts_of(search))), search)
    else:
        fit = fitted(components=int(components))
        refuse_few(fit, int(components))
    return PLSResults(pls_fit(fit, blocks, has_rows=moments is None, search=search, path=path, engine=engine))


def _check_options(
    components: Any, rule: Any, scale: Any, indicators: Any, algorithm: Any, select: Any
) -> None:
    """Raise a DataError for an option that is none."""
    if components is not None and not (is_whole(components) and components >= 1):
        raise DataError(f"components={told(components)}: give a number from 1 on, or None to have it chosen.")
    check_word("rule", rule, ("lda", "max", "centroid"))
    check_flag("scale", scale)
    check_word("indicators", indicators, ("scaled", "centred"))
    check_word("algorithm", algorithm, ("nipals", "simpls"))
    check_word("select", select, ("min", "1se"))
