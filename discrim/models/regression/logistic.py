"""Logistic regression: the verb `logistic`.

It validates the options and fits by maximum likelihood (`logistic_search`) or with a penalty (`penalized`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.regression.logistic import MAX_STEPS, TOLERANCE
from discrim.design.design_rows import DesignRows
from discrim.design.rows import read_rows
from discrim.models.base import reading
from discrim.models.base.labels import class_code
from discrim.models.base.reading import Collinear, Data, NaAction, Prior, Separation, verb_options
from discrim.models.regression import logistic_search, penalized
from discrim.models.regression.logistic_results import LogisticResults, LogisticSpec
from discrim.penalty import PenaltySpecification, read_penalty

PenaltyWord = Literal["ridge", "lasso", "elastic_net"]
"""Penalties whose strength is chosen by cross-validation; see `discrim.penalty`."""


@overload
def logistic(
    formula: str,
    data: Data,
    *,
    reference: Any = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    bias_reduction: bool = False,
    separation: Separation = "raise",
    collinear: Collinear = "raise",
    tol: float = TOLERANCE,
    maxiter: int = MAX_STEPS,
    penalty: None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> LogisticResults: ...


@overload
def logistic(
    formula: str,
    data: Data,
    *,
    reference: Any = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    tol: float = TOLERANCE,
    maxiter: int = MAX_STEPS,
    penalty: PenaltyWord | PenaltySpecification,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> penalized.PenalizedLogisticResults: ...


@reading.with_public_errors
def logistic(
    formula: str,
    data: Data,
    *,
    reference: Any = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    bias_reduction: bool = False,
    separation: Separation = "raise",
    collinear: Collinear = "raise",
    tol: float = TOLERANCE,
    maxiter: int = MAX_STEPS,
    penalty: PenaltyWord | PenaltySpecification | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> LogisticResults:
    """Multinomial logistic regression: by maximum likelihood, with Firth's bias reduction, or penalized.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that can be read more than once; see the page on shared arguments.
    reference : label, optional
        Class in the denominator of the odds. By default it is the first class; of two classes the second is
        then the event.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions. Another prior shifts the log
        odds of predictions by its own log odds relative to the class proportions.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    bias_reduction : bool
        Whether to use Firth's (1993) bias reduction: the log-likelihood plus half the log determinant of
        the information matrix (Jeffreys' prior) is maximized. This removes the first-order bias, and the
        estimates are finite even if a hyperplane separates classes.
    separation : {"raise", "warn"}
        Action if a hyperplane separates classes, completely or with some rows on it (quasi-completely; Albert
        & Anderson, 1984, Biometrika 71, 1-10), and the likelihood has no maximum: raise an error, or issue a
        warning and return the point at which the search stopped. The `separation` of that fit contains the
        certified direction.
    collinear : {"raise", "drop"}
        Whether columns that are linear combinations of others are an error, or the later ones are dropped
        with a warning, like R's glm. With at least as many columns as rows, the remaining columns separate
        the classes.
    tol : float
        Distance to the maximum, in standard errors, at which the search ends, after one more step of Newton's
        method; a value below rounding error stands for rounding error. Separation is determined to 1e-7
        standard deviations of a column for any `tol`. With a penalty, `tol` is the largest violation of the
        conditions of a minimum, relative to the strength, that is accepted if rounding stops the search
        before its end.
    maxiter : int
        The largest number of steps. Steps in between that reuse the information matrix are not counted. Bias
        reduction, whose steps are slower, may use 20 times as many.
    penalty : {"ridge", "lasso", "elastic_net"} or specification of `discrim.penalty`, optional
        Penalty on the coefficients, such as `discrim.penalty.Lasso(0.05)`; a word stands for the
        specification whose strength is chosen by cross-validation. Separated classes, collinear columns and
        more columns than rows are then allowed. For two classes the log odds are penalized; for more, each
        class has its own coefficients (the symmetric parametrization, glmnet's "ungrouped").
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    LogisticResults
        With a penalty, PenalizedLogisticResults, without standard errors.

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also more than 2,000
        coefficients of categorical predictors.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        A column is a combination of others; the message names them.
    SeparationError
        A hyperplane separates classes, and the likelihood has no maximum. The attributes `classes`, `columns`
        and `rows` contain the separated classes, the terms of the hyperplane, and rows on it. With
        `bias_reduction=True` or a penalty a maximum exists.

    Examples
    --------
    >>> from discrim import logistic
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> two = iris[iris["species"] != "setosa"].astype({"species": str})
    >>> logistic("species ~ petal_width + petal_length", two).params.round(3)["virginica"].tolist()
    [-45.272, 10.447, 5.755]
    >>> from discrim.penalty import Lasso
    >>> logistic("species ~ .", iris, penalty=Lasso(0.05)).selected.tolist()
    ['petal_width', 'petal_length', 'sepal_width']
    """
    penalty = read_penalty(penalty)
    options = verb_options(locals())
    is_estimated = reading.is_proportional(prior)
    logistic_search.check_search(tol, maxiter)
    reading.check_flag("bias_reduction", bias_reduction)
    reading.check_word("na_action", na_action, NaAction)
    if penalty is not None:
        penalized.raise_if_not_penalizable(
            bias_reduction=bias_reduction, separation=separation, collinear=collinear
        )
        blocks = read_rows(formula, data, weights=weights, levels=levels, functions=functions)
        blocks, moments = reading.usable_rows(blocks, "diagonal", na_action)
        search = penalized.StrengthSearch.for_rows(penalty, tol, maxiter, blocks)
        prior_proportions, reference_code = _prior_and_reference(prior, reference, blocks, moments)
        fitted = penalized.fit_penalized(
            blocks,
            moments,
            prior_proportions,
            options,
            estimated_prior=is_estimated,
            reference=reference_code,
            search=search,
        )
        return penalized.PenalizedLogisticResults(fitted)
    blocks = reading.drop_constant_columns_if_wide(
        read_rows(formula, data, weights=weights, levels=levels, functions=functions)
    )
    reading.check_word("collinear", collinear, Collinear)
    if collinear == "raise":
        logistic_search.raise_if_too_few_rows(blocks.n_labelled, blocks.terms, bias_reduction=bias_reduction)
    logistic_search.raise_if_many_levels(blocks)
    if na_action == "raise":
        blocks.raise_if_missing()
    reading.check_word("separation", separation, Separation)
    if not bias_reduction and separation == "raise":
        logistic_search.raise_if_empty_cells(blocks)
    blocks, moments = reading.usable_rows(blocks, "pooled", na_action)
    if collinear == "raise":
        logistic_search.raise_if_too_few_rows(
            int(moments.rows.sum()), blocks.terms, bias_reduction=bias_reduction
        )
    blocks, moments = logistic_search.without_collinear(blocks, moments, drop=collinear == "drop")
    reading.warn_of_near_dependencies(moments.as_one_class(), blocks.terms, logistic_search.OVER_ALL_ROWS)
    prior_proportions, reference_code = _prior_and_reference(prior, reference, blocks, moments)
    fit, certificate = logistic_search.maximize_or_certify(
        blocks, moments, prior_proportions, reference=reference_code, estimated_prior=is_estimated,
        tol=tol, maxiter=maxiter, bias_reduction=bias_reduction, warn=separation == "warn",
    )  # fmt: skip
    cache = {} if certificate is None else {"separation": certificate}
    return LogisticResults(LogisticSpec().fit(fit, blocks, options, cache=cache))


def _prior_and_reference(
    prior: Any, reference: Any, design_rows: DesignRows, moments: ClassMoments
) -> tuple[Floats, int]:
    """Validate the prior and the reference class.

    Parameters
    ----------
    prior : object
        The option of `logistic`; None for the class proportions.
    reference : label or None
        Class in the denominator of the odds; None for the first class.
    design_rows : DesignRows
        The rows, for the classes.
    moments : ClassMoments
        Class moments with the counts.

    Returns
    -------
    prior : (K,) float64
        Prior probabilities of the classes.
    reference : int
        Code of the reference class.

    Raises
    ------
    PriorError
        The prior is not a distribution over the classes.
    DataError
        The reference is not a class.
    """
    classes = pd.Index(list(design_rows.design.levels))
    prior_proportions = reading.prior_vector(prior, classes, moments.counts)
    return prior_proportions, 0 if reference is None else class_code(reference, classes)
