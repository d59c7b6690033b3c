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
    categories or truth values, and C(x) of any, have a table of P(level | class).

    Parameters
    ----------
    formula, data, moments, prior, weights, levels, na_action, functions
        As for `discrim.lda`; moments hold no rows for kernel densities. A category is a term of its own, not
        multiplied with another column.
    kernel : bool or list of str
        Columns whose density is a sum of normal kernels about the rows of the class, exact to rounding (not
        on a grid, as R's density() and klaR's NaiveBayes do); True for every numeric column.
    bandwidth : {"nrd0", "nrd"}, float, or dict of column to float
        Standard deviation of the kernels: Silverman's rule of thumb as R's bw.nrd0, Scott's as bw.nrd, both
        by class and column; or given, for all columns or for those named (the others follow "nrd0").
    counts : bool or list of str
        Columns of counts, such as words of a text: one multinomial a class over all of them, given their sum;
        True for every numeric column.
    laplace : float
        Added to each count of a table and of the multinomial: (n_kl + laplace) / (n_k + laplace L), L the
        levels that the rows of the fit have, or the columns of counts. None by default, so that what a class
        never had is impossible in it.
    smoothing : float
        This share of the largest variance of a normal column (over all rows, divisor N) is added to each
        variance of each class: scikit-learn's `var_smoothing`, 1e-9 there. It depends on the units of the
        columns. None by default.
    method : {"moment", "mle"}
        Divisor of the variances within a class: n_k - 1, as R's e1071; or n_k, as scikit-learn.
    unseen : {"raise", "missing"}
        A level, in new rows, that the fit has not seen: an error, or as if it were missing (of a column, or
        of C() of one that no other term is made of).
    missing : {"drop", "available"}, optional
        Rows with a missing value are left out of the fit, and counted, by default; or each column is fitted
        to the rows that have it, as R's e1071 and klaR do, and rows without a class alone are left out.
        Classes have the proportions of all rows then.

    Returns
    -------
    NaiveBayesResults

    Raises
    ------
    FormulaError, DataError, PriorError
        As for `discrim.lda`; an option that names no fitting column, or is no number; a negative count.
    CollinearError
        A normal column is constant within a class, without smoothing; a class has no bandwidth; its counts
        are all zero, without laplace. The message names class and column.
    NotSupportedError
        A category is multiplied with another column.

    Notes
    -----
    Hand & Yu (2001, International Statistical Review 69, 385-398) say why it does well; counts are those
    of McCallum & Nigam (1998, AAAI-98 Workshop on Learning for Text Categorization, 41-48), kernels of
    John & Langley (1995, Uncertainty in Artificial Intelligence, 338-345).

    Rows with a missing value are predicted from what they have: the factor of a missing column is left out,
    counts are judged given the sum of those that are there, and a row with nothing has the prior. The fit
    itself, its leave-one-out and its error rates are of the complete rows, or of all rows with a class under
    `missing="available"`, where the likelihood is that of the values that are there. It takes a pass for each
    group of columns that the same rows miss.

    Leave-one-out is a refit's without each row: bandwidths by a rule and the smoothing are computed anew; the
    prior and the levels of each column are held.

    Columns of a Sparse dtype, as of `pandas.DataFrame.sparse.from_spmatrix`, are never written out at once:
    fit, prediction and leave-one-out of counts take time and memory by what is stored.

    A row that is impossible in every class (only without `laplace`) has no posterior: 0/0. Its label and
    posteriors are missing, with a warning, and error rates leave it out; R's e1071 puts 0.001 for each zero.

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

    Penguins of unknown sex tell of bills all the same:

    >>> some = load_penguins()[["species", "sex", "bill_depth_mm"]]
    >>> whole = naive_bayes("species ~ .", some, missing="available")
    >>> whole.nobs, len(some.dropna()), int(whole.available.loc["Adelie", "sex"])
    (344, 333, 146)

    Counts of words, of which most are zero and none of these is stored:

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
            'counts= are one multinomial given their sum, which missing="available" has no sum for: leave '
            "counts= out, fill the counts, or fit the complete rows."
        )
    return usable_available(blocks, plan)
