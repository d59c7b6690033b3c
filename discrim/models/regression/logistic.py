"""Logistic regression: log odds that are linear in the row, and nothing said of the row itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from discrim.core.regression.logistic import MOST_STEPS, TOLERANCE
from discrim.frame.asked_rows import read
from discrim.frame.blocks import Blocks
from discrim.models.fits.arguments import check_flag, check_word, prior_vector
from discrim.models.fits.labels import class_code
from discrim.models.fits.reading import NaAction, lean, usable_rows
from discrim.models.judging.splits import Splits
from discrim.models.regression import infinite_estimates
from discrim.models.regression.logistic_design import (
    check_search,
    refuse_many_levels,
    refuse_wide,
    without_collinear,
)
from discrim.models.regression.logistic_fits import logistic_fit
from discrim.models.regression.logistic_results import LogisticResults
from discrim.models.regression.penalized_fits import penalized
from discrim.models.regression.penalized_options import (
    FOLDS,
    STRENGTHS,
    PenaltyName,
    Search,
    asked_search,
    check_alone,
)
from discrim.models.regression.penalized_results import PenalizedLogisticResults

__all__ = ["logistic"]


def logistic(
    formula: str,
    data: Any,
    *,
    reference: Any = None,
    prior: Any = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    bias_reduction: bool = False,
    separation: Literal["raise", "warn"] = "raise",
    collinear: Literal["raise", "drop"] = "raise",
    tol: float = TOLERANCE,
    maxiter: int = MOST_STEPS,
    penalty: PenaltyName | None = None,
    strength: float | None = None,
    l1_ratio: float | None = None,
    grid: Sequence[float] | None = None,
    n_strengths: int = STRENGTHS,
    folds: int | Splits = FOLDS,
    select: Literal["min", "1se"] = "min",
    seed: int | None = None,
    cv: Any = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> LogisticResults:
    """Multinomial logistic regression: by maximum likelihood, with Firth's bias reduction, or penalized.

    Parameters
    ----------
    formula, data, weights, levels, na_action, functions
        As for `discrim.lda`.
    reference : label, optional
        Class against which the log odds are; the first by default, so that of two classes the second is
        the event.
    prior : optional
        In any form that `discrim.lda` takes; predictions move by its log odds against the class proportions.
    bias_reduction : bool
        Maximize the likelihood with Jeffreys' penalty (Firth, 1993): the bias of first order is gone, and the
        estimates are finite where a hyperplane separates classes.
    separation : {"raise", "warn"}
        What to do where a hyperplane separates classes, so that there is no maximum. With "warn" the fit is
        where the search stopped, and its `separation` has the certified direction.
    collinear : {"raise", "drop"}
        Refuse columns that others determine over all rows, or drop the later ones with a warning, as R's
        glm does. Of no fewer columns than rows those that are left separate the classes.
    tol : float
        Distance to the maximum, in standard errors, after which one step of Newton's method more is the last;
        below rounding it is that of rounding. However large, it lets no separation through, which is judged
        to 1e-7 standard deviations of a column. With `penalty=`, how far the conditions of a minimum may be
        violated, as a share of the strength, where rounding does not let the search go on to the end.
    maxiter : int
        Most steps, without those between them that do without the information; with bias reduction, whose
        steps are slower, 20 times as many.
    penalty : {"ridge", "lasso", "elastic_net"}, optional
        Minimize the mean negative log-likelihood plus
        ``strength * ((1 - l1_ratio) / 2 |b|^2 + l1_ratio |b|_1)``,
        b the coefficients of columns over their standard deviations (divisor N), without the constants, as
        glmnet does. Neither separated classes, nor collinear columns, nor more columns than rows are an
        obstacle then. Of two classes b are the log odds; of more each class has its own (the symmetric
        parametrization, glmnet's "ungrouped").
    strength : float, optional
        Of the penalty, glmnet's lambda; that of scikit-learn's C is 1 / (N C). Chosen by folds where it is
        not given.
    l1_ratio : float, optional
        Share of the lasso in the elastic net, glmnet's alpha; one half by default.
    grid : sequence of float, optional
        Strengths of the path, to choose from.
    n_strengths : int
        Without a grid, so many evenly spaced ones in logarithms, as glmnet takes them.
    folds : int, or iterable of (train, test)
        Folds, for the choice; or splits, as in scikit-learn: positions of rows of the table; what judges the
        fit by folds chooses anew on the same splits, without the rows of the fold.
    select : {"min", "1se"}
        The strength of least deviance of rows left out; or the largest whose deviance is within one standard
        error of the least.
    seed : int, optional
        Deals the rows to folds.
    cv : optional
        Another name of `folds`, taken with a warning.

    Returns
    -------
    LogisticResults
        With a penalty, PenalizedLogisticResults, which have no standard errors.

    Raises
    ------
    FormulaError, DataError, PriorError
        As for `discrim.lda`; also more than 2,000 coefficients of categorical predictors.
    CollinearError
        A column is a combination of others; the message names them.
    SeparationError
        A hyperplane separates classes, so that there is no maximum; classes, terms and rows are named. With
        `bias_reduction=True` there is one, and with a penalty.

    Examples
    --------
    >>> from discrim import logistic
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> two = iris[iris["species"] != "setosa"].astype({"species": str})
    >>> logistic("species ~ petal_width + petal_length", two).params.round(3)["virginica"].tolist()
    [-45.272, 10.447, 5.755]
    >>> logistic("species ~ .", iris, penalty="lasso", strength=0.05).selected.tolist()
    ['petal_width', 'petal_length', 'sepal_width']
    """
    check_search(tol, maxiter)
    check_flag("bias_reduction", bias_reduction)
    check_word("na_action", na_action, ("drop", "raise"))
    search = asked_search(
        penalty, strength=strength, l1_ratio=l1_ratio, grid=grid, n_strengths=n_strengths, folds=folds,
        seed=seed, select=select, cv=cv, tol=tol, maxiter=maxiter,
    )  # fmt: skip
    if search is not None:
        check_alone(bias_reduction=bias_reduction, separation=separation, collinear=collinear)
        blocks = read(formula, data, weights=weights, levels=levels, functions=functions)
        return _penalized(blocks, na_action, prior, reference, search, folds if cv is None else cv)
    blocks = lean(read(formula, data, weights=weights, levels=levels, functions=functions))
    check_word("collinear", collinear, ("raise", "drop"))
    if collinear == "raise":
        refuse_wide(blocks.known, blocks.terms)
    refuse_many_levels(blocks)
    if na_action == "raise":
        blocks.refuse_missing()
    check_word("separation", separation, ("raise", "warn"))
    if not bias_reduction and separation == "raise":
        infinite_estimates.refuse_empty_cells(blocks)
    blocks, moments = usable_rows(blocks, "pooled", na_action)
    if collinear == "raise":
        refuse_wide(int(moments.rows.sum()), blocks.terms)
    blocks, moments = without_collinear(blocks, moments, drop=collinear == "drop")
    classes = pd.Index(list(blocks.design.levels))
    shares = prior_vector(prior, classes, moments.counts)
    base = 0 if reference is None else class_code(reference, classes)
    fit, certificate = infinite_estimates.searched(
        blocks,
        moments,
        shares,
        reference=base,
        estimated_prior=prior is None,
        tol=tol,
        maxiter=maxiter,
        bias_reduction=bias_reduction,
        warn=separation == "warn",
    )
    return LogisticResults(logistic_fit(fit, blocks, drops=collinear == "drop", certificate=certificate))


def _penalized(
    blocks: Blocks, na_action: NaAction, prior: Any, reference: Any, search: Search, folds: Any
) -> PenalizedLogisticResults:
    """The fit with a penalty, which any rows have."""
    blocks, moments = usable_rows(blocks, "diagonal", na_action)
    classes = pd.Index(list(blocks.design.levels))
    shares = prior_vector(prior, classes, moments.counts)
    base = 0 if reference is None else class_code(reference, classes)
    fit = penalized(
        blocks,
        moments,
        shares,
        estimated_prior=prior is None,
        reference=base,
        search=search.with_splits(folds, blocks),
    )
    return PenalizedLogisticResults(fit)
