"""Naive Bayes: columns independent within classes, normal, categorical, counts, or of any density."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.core.independent.naive_bayes import fit_naive_bayes
from discrim.core.independent.tally import ColumnPlan, Tally
from discrim.core.moments.moments import ClassMoments
from discrim.errors import DataError, NotSupportedError
from discrim.frame.asked_rows import read
from discrim.frame.blocks import Blocks
from discrim.frame.level_codes import level_design
from discrim.models.fits.arguments import check_word, prior_vector
from discrim.models.fits.reading import NaAction, class_moments, usable_rows
from discrim.models.independent.available_rows import usable_available
from discrim.models.independent.naive_bayes_moments import given_tally
from discrim.models.independent.naive_bayes_plan import (
    Options,
    plan_of,
    refuse_no_bandwidth,
    refuse_no_density,
)
from discrim.models.independent.naive_bayes_results import NaiveBayesResults, naive_bayes_fit
from discrim.models.moments.given import table_given
from discrim.models.moments.moments import Moments
from discrim.models.moments.once import by_moments

__all__ = ["naive_bayes"]


@by_moments("diagonal")
def naive_bayes(
    formula: str | None = None,
    data: Any = None,
    *,
    moments: Moments | None = None,
    kernel: bool | Sequence[str] = False,
    bandwidth: Literal["nrd0", "nrd"] | float | Mapping[str, float] = "nrd0",
    counts: bool | Sequence[str] = False,
    laplace: float = 0.0,
    smoothing: float = 0.0,
    method: Literal["moment", "mle"] = "moment",
    unseen: Literal["raise", "missing"] = "raise",
    missing: Literal["drop", "available"] | None = None,
    prior: Any = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> NaiveBayesResults:
    """Naive Bayes: columns independent within classes.

    Numeric columns are normal within classes unless they are named in `kernel` or `counts`. Columns of text,
    categories or truth values, and any column x written as C(x), have a table of P(level | class).

    Parameters
    ----------
    formula : str
        Response and predictors in R's language of formulas, such as `species ~ .`; the page on formulas
        describes it. A category is a term of its own here and is not multiplied with another column.
    data : table or source of tables
        A DataFrame of pandas, or any other table that narwhals knows. A source is read part by part and may
        be larger than memory: an Arrow dataset or stream, a LazyFrame of polars, a relation of DuckDB, a
        DataFrame of Dask, a path to CSV or Parquet (a file, a folder, a pattern, or a list of them), a
        function that returns an iterator of frames, or such an iterator itself, which can be read only once.
    moments : Moments, optional
        What `discrim.moments` or `discrim.from_stats` returned, or a sum of such moments, in place of formula
        and data. The fit then has no rows, and methods that need rows take them as `data=`. Moments hold no
        rows for kernel densities.
    kernel : bool or list of str
        Columns whose density within a class is the mean of normal kernels about the rows of the class; True
        stands for every numeric column. The sum is exact to rounding, and not taken on a grid as in R's
        density() and klaR's NaiveBayes.
    bandwidth : {"nrd0", "nrd"}, float, or dict of column to float
        Standard deviation of the kernels. "nrd0" is Silverman's rule of thumb, as R's bw.nrd0, and "nrd" is
        Scott's, as R's bw.nrd; both are applied by class and column. A number is used for all columns. A dict
        gives numbers for the columns that it names, and the others follow "nrd0".
    counts : bool or list of str
        Columns of counts, such as the words of a text; True stands for every numeric column. Given their sum,
        all of them together follow one multinomial distribution in each class.
    laplace : float
        Number that is added to each count of a table and of the multinomial: (n_kl + laplace) / (n_k +
        laplace L), where L is the number of levels in the rows of the fit, or of columns of counts. It is
        zero by default, so that a class gives probability zero to what it never had.
    smoothing : float
        This share of the largest variance of a normal column (over all rows, divisor N) is added to each
        variance of each class, as scikit-learn's `var_smoothing` does, where it is 1e-9. It depends on the
        units of the columns. It is zero by default.
    method : {"moment", "mle"}
        Divisor of the variances within a class: n_k - 1 for "moment", as in R's e1071, or n_k for "mle", as
        in scikit-learn.
    unseen : {"raise", "missing"}
        What to do with new rows that have a level which the fit has not seen: raise an error, or treat the
        value as missing. "missing" is possible for a column, or for C() of a column that no other term is
        made of.
    missing : {"drop", "available"}, optional
        "drop" (the default) leaves rows with a missing value out of the fit and counts them. "available" fits
        each column to the rows that have it, as R's e1071 and klaR do, and leaves out only rows without a
        class; the classes then have the proportions of all rows.
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

    Returns
    -------
    NaiveBayesResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row is left, or only one class is. Also an option that
        names no column of its kind or is no number, and a negative count.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        A normal column is constant within a class and there is no smoothing; a class has no bandwidth; or its
        counts are all zero and laplace is zero. The message names the class and the column.
    NotSupportedError
        A category is multiplied with another column.

    Notes
    -----
    Hand & Yu (2001, International Statistical Review 69, 385-398) explain why the method does well. Counts
    are those of McCallum & Nigam (1998, AAAI-98 Workshop on Learning for Text Categorization, 41-48), and
    kernels those of John & Langley (1995, Uncertainty in Artificial Intelligence, 338-345).

    A row with a missing value is predicted from what it has: the factor of a missing column is left out,
    counts are judged given the sum of those that are there, and a row without any value has the prior. The
    fit, its leave-one-out and its error rates use the complete rows. Under `missing="available"` they use all
    rows with a class, the likelihood is that of the values that are there, and the fit takes a pass for each
    group of columns that the same rows miss.

    Leave-one-out gives what a refit without each row would give: bandwidths that follow a rule and the
    smoothing are computed anew, while the prior and the levels of each column are held.

    Columns of a Sparse dtype, such as those of `pandas.DataFrame.sparse.from_spmatrix`, are never written out
    at once. The time and memory of fit, prediction and leave-one-out of counts grow with the number of stored
    values.

    A row that has probability zero in every class, which can happen only without `laplace`, has no posterior:
    it would be 0/0. Its label and posteriors are missing, with a warning, and error rates leave it out. R's
    e1071 puts 0.001 for each zero.

    Examples
    --------
    >>> from discrim import naive_bayes
    >>> from discrim.datasets import load_iris, load_penguins
    >>> fit = naive_bayes("species ~ .", data=load_iris())
    >>> fit.confusion().to_numpy().tolist()
    [[50, 0, 0], [0, 47, 3], [0, 3, 47]]
    >>> mixed = naive_bayes("species ~ bill_length_mm + island + sex", load_penguins(), laplace=1)
    >>> mixed.tables["sex"].round(3).loc["Adelie"].tolist()
    [0.5, 0.5]

    Penguins of unknown sex still have bills, which their column is fitted to:

    >>> some = load_penguins()[["species", "sex", "bill_depth_mm"]]
    >>> whole = naive_bayes("species ~ .", some, missing="available")
    >>> whole.nobs, len(some.dropna()), int(whole.available.loc["Adelie", "sex"])
    (344, 333, 146)

    Counts of words, most of which are zero and not stored:

    >>> import pandas as pd
    >>> from scipy.sparse import csr_array
    >>> counts = csr_array([[2, 0, 0], [1, 1, 0], [0, 0, 3], [0, 1, 1]])
    >>> texts = pd.DataFrame.sparse.from_spmatrix(counts, columns=["ham", "egg", "spam"])
    >>> texts["kind"] = ["food", "food", "mail", "mail"]
    >>> naive_bayes("kind ~ .", texts, counts=True, laplace=1).multinomial.round(3).loc["food"].tolist()
    [0.571, 0.286, 0.143]
    """
    check_word("missing", missing, ("drop", "available"), optional=True)
    whole = None if missing == "drop" else missing
    options = Options(kernel, bandwidth, counts, laplace, smoothing, method, unseen, whole)
    if moments is None:
        asked_of = table_given("naive_bayes", formula, data)
        why = "A kernel density is made of all rows, and" if kernel else None
        blocks = read(*asked_of, weights=weights, levels=levels, functions=functions, in_memory=why)
        blocks, held, tally = _tallied(blocks, options, na_action)
    else:
        blocks, held, tally = given_tally(
            moments, options, formula=formula, data=data, weights=weights, levels=levels, functions=functions
        )
    refuse_no_density(held, tally, blocks)
    shares = prior_vector(prior, pd.Index(list(blocks.design.levels)), held.counts)
    fit = fit_naive_bayes(held, tally, shares, estimated_prior=prior is None)
    refuse_no_bandwidth(fit, blocks)
    return NaiveBayesResults(naive_bayes_fit(fit, blocks, has_rows=moments is None))


def _tallied(blocks: Blocks, options: Options, na_action: NaAction) -> tuple[Blocks, ClassMoments, Tally]:
    """Blocks of the rows that can be used, with columns of levels, their moments and their tally."""
    blocks = replace(blocks, design=level_design(blocks.design))
    plan = plan_of(blocks, options)
    if options.missing is not None:
        return _of_available(blocks, plan, na_action)
    if blocks.source is not None:
        blocks = replace(blocks, counts=tuple(blocks.terms[j] for j in plan.counts))
    tally = Tally(plan, len(blocks.design.levels))
    classes, terms = blocks.design.levels, blocks.terms
    # Beside others a constant count has its share of their sum.
    blocks, held = usable_rows(blocks, "diagonal", na_action, tally.watch, held=plan.counts.tolist())
    if blocks.constant:
        constant = set(blocks.constant)
        kept = [j for j, term in enumerate(terms) if term not in constant]
        tally = Tally(plan.columns(np.array(kept)), len(blocks.design.levels))
        held = class_moments(blocks, "diagonal", tally.watch)
    elif len(blocks.design.levels) < len(classes):
        tally = tally.classes(np.array([classes.index(level) for level in blocks.design.levels]))
    return blocks, held, tally


def _of_available(
    blocks: Blocks, plan: ColumnPlan, na_action: NaAction
) -> tuple[Blocks, ClassMoments, Tally]:
    """The same of rows that miss values."""
    check_word("na_action", na_action, ("drop", "raise"))
    if na_action == "raise":
        raise DataError(
            'na_action="raise" refuses the missing values that missing="available" is for: leave one out.'
        )
    if len(plan.counts):
        raise NotSupportedError(
            'counts= follow a multinomial given their sum, and with missing="available" a row may '
            "have no sum: leave counts= out, fill the counts, or fit the complete rows."
        )
    return usable_available(blocks, plan)
