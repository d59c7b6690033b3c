"""Number of components of partial least squares.

`pls` and its results use this module: validation of the options on components, cross-validated choice of
their number, stability of selected columns, and the permutation test of Q2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NoReturn, Self

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.projections import pls as core
from discrim.core.projections.pls import Indicators, PLSFit
from discrim.core.rules.rules import best_class, log_of_prior
from discrim.design.design_rows import DesignRows
from discrim.design.rows import gather_weighted_rows, repeat_rows, used_codes
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.inference import resampling
from discrim.inference.result import TestResult
from discrim.models.base import reading
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import SelectRule
from discrim.models.base.refits import error_path
from discrim.models.evaluation import validation
from discrim.models.evaluation.tuning import (
    GridSearch,
    TuningFolds,
    iterate_test_rows,
    raise_if_no_test_rows,
    raise_if_single_row_classes,
    read_choice,
)
from discrim.subspace import OrthogonalPLS, PLSSpecification, SparsePLS, read_algorithm

Algorithm = Literal["nipals", "simpls"]
"""Names of the algorithms that are implemented here."""

Scaled = Literal["columns", "indicators"]
"""Values of `scale=` that scale only the columns or only the indicators."""

SCALING_BY_OPTION: dict[Any, tuple[bool, Indicators]] = {
    True: (True, "scaled"),
    "columns": (True, "centred"),
    "indicators": (False, "scaled"),
    False: (False, "centred"),
}
"""Whether columns and indicators are divided by their standard deviations, by the values of `scale=`."""


def read_scale(scale: Any) -> tuple[bool, Indicators]:
    """Validate `scale=`; return whether columns are scaled, and "scaled" or "centred" for the indicators.

    DataError is raised for a value other than True, False, "columns" and "indicators".
    """
    if not isinstance(scale, str | bool | np.bool_) or scale not in SCALING_BY_OPTION:
        raise DataError(
            f"scale={reading.format_argument(scale)} is not valid.",
            hint="Pass True, False, 'columns' or 'indicators'.",
        )
    return SCALING_BY_OPTION[scale]


@dataclass(frozen=True, slots=True, eq=False)
class ComponentPlan:
    """Validated options of `pls` on the components: how they are found, and how many.

    Attributes
    ----------
    algorithm : {"nipals", "simpls"}, PLSSpecification or regression
        How they are found.
    ncomp : int, optional
        Requested number of components; in a fit with orthogonal components, of predictive ones. None if folds
        choose it, a regression has its own number, or it is the rank of the class means.
    orthogonal : int, optional
        Requested number of orthogonal components; None if folds choose it or in a fit without them.
    columns : tuple of int
        Numbers of columns that the components may use, one for all or one for each; empty for no limit.
    is_chosen : bool
        Whether folds choose the number of components, or of orthogonal components.
    select : {"min", "1se"}
        The rule of that choice.
    """

    algorithm: Any
    ncomp: int | None
    orthogonal: int | None
    columns: tuple[int, ...]
    is_chosen: bool
    select: SelectRule

    @classmethod
    def read(cls, algorithm: Any, ncomp: Any) -> Self:
        """Validate the options `algorithm` and `ncomp` of `pls`, and return the plan.

        DataError is raised if one is not valid, if their numbers of components differ, or if `ncomp` is "1se"
        although the algorithm does not choose `ncomp`. A regression is validated by `read_n_components`.
        """
        algorithm = read_algorithm(algorithm)
        count, select = read_choice(ncomp)
        if count is not None:
            also = ', or None or "1se" to have it chosen'
            reading.check_integer("ncomp", count, 1, description="a number", also=also)
        columns: tuple[int, ...] = ()
        if isinstance(algorithm, SparsePLS):
            nonzero = algorithm.nonzero
            columns = (nonzero,) if isinstance(nonzero, int) else tuple(nonzero)
            if count is not None and len(columns) not in (1, count):
                raise DataError(
                    f"algorithm={algorithm!r} has {len(columns)} numbers of columns, but ncomp={count}.",
                    hint="Pass one number of columns for each component.",
                )
            if count is None and not isinstance(nonzero, int):
                count = len(columns)
        is_chosen = count is None and (isinstance(algorithm, str | SparsePLS))
        if select == "1se" and not is_chosen:
            name = reading.format_argument(algorithm)
            raise DataError(
                f"algorithm={name} cannot be combined with a choice of ncomp.",
                hint='Leave out ncomp="1se".',
            )
        orthogonal = None
        if isinstance(algorithm, OrthogonalPLS):
            orthogonal, select = read_choice(algorithm.n)
            is_chosen = orthogonal is None
        return cls(algorithm, count, orthogonal, columns, is_chosen, select)

    @property
    def by_engine(self) -> bool:
        """Whether a regression of the user finds the components."""
        return not isinstance(self.algorithm, str | PLSSpecification)

    @property
    def has_orthogonal(self) -> bool:
        """Whether orthogonal components are requested."""
        return isinstance(self.algorithm, OrthogonalPLS)


def raise_if_other_n_predictive(ncomp: int | None, fit: PLSFit) -> None:
    """Raise DataError if `ncomp` differs from the number of predictive components of an orthogonal fit.

    None is always accepted.
    """
    if ncomp is not None and int(ncomp) != fit.n_predictive:
        raise DataError(
            f"ncomp={reading.format_argument(ncomp)} cannot be combined with orthogonal components: the "
            f"number of predictive components is then the rank of the class means, here {fit.n_predictive}.",
            hint="Leave ncomp= out.",
        )


DEFAULT_MAX_COMPONENTS = 10
"""Largest number of components to try by default."""


def component_grid(search: GridSearch, max_components: int = DEFAULT_MAX_COMPONENTS) -> list[int]:
    """Return the candidate numbers of components, in increasing order.

    Parameters
    ----------
    search : GridSearch
        The choice; its `grid` has the user's candidates or is None.
    max_components : int
        Largest candidate if the user gave none.

    Returns
    -------
    list of int
        1, 2, ..., `max_components` if the user gave none.

    Raises
    ------
    DataError
        The grid is empty, or a candidate is not a positive whole number.
    """
    if search.grid is None:
        return list(range(1, max_components + 1))
    grid_label = "numbers of components"
    also = f", or None for 1 to {DEFAULT_MAX_COMPONENTS}"
    return reading.check_grid(
        search.grid, "number of components", 1, integers_only=True, description=grid_label, also=also
    )


def choose_components(
    design_rows: DesignRows, fit: PLSFit, search: GridSearch
) -> tuple[PLSFit, pd.DataFrame]:
    """Choose the number of components, or of orthogonal ones, by cross-validation.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    fit : PLSFit
        A fit to these rows with at least as many components as are tried. If it has orthogonal components,
        their number is chosen.
    search : GridSearch
        Candidates, folds and rule of the choice.

    Returns
    -------
    fit : PLSFit
        The fit with the smallest number of components that the rule accepts.
    path : DataFrame
        A row for each candidate that all training sets allow; see `component_path` for the columns.

    Raises
    ------
    DataError
        The fit lacks components, the path contains no candidate, a class has one row, or all test sets are
        empty.
    CollinearError
        The rule is "lda" and the scores do not vary within classes, or a training set cannot be fitted.
    """
    if fit.orthogonal:
        return _choose_orthogonal(design_rows, fit, search)
    raise_if_fewer_components(fit, 1)
    able = fit.components if fit.decides != "lda" else fit.n_varying_components()
    fit = fit.with_components(max(able, 1))
    raise_if_fewer_components(fit, 1)
    chosen_path = _select_candidates(component_path(design_rows, fit, search.folds), search, "components")
    return fit.with_components(int(search.acceptable_values(chosen_path).min())), chosen_path


def _select_candidates(path: pd.DataFrame, search: GridSearch, components: str) -> pd.DataFrame:
    """Keep the rows of a path that belong to the candidates.

    Parameters
    ----------
    path : DataFrame
        Cross-validated errors of 1, 2, ... components; the first column has the number.
    search : GridSearch
        The choice, whose `grid` has the candidates; None for all rows of the path.
    components : str
        Name of the components in the message, a plural noun.

    Returns
    -------
    DataFrame
        With a new index from 0.

    Raises
    ------
    DataError
        The path does not contain any of the candidates.
    """
    candidate_rows = path[path.iloc[:, 0].isin(component_grid(search, len(path)))].reset_index(drop=True)
    if not len(candidate_rows):
        raise DataError(
            f"grid={reading.join_labels(search.grid)} is too large: the rows outside each fold have at most "
            f"{len(path)} {components}.",
            hint="Pass smaller numbers.",
        )
    return candidate_rows


def _choose_orthogonal(
    design_rows: DesignRows, fit: PLSFit, search: GridSearch
) -> tuple[PLSFit, pd.DataFrame]:
    """Choose the number of orthogonal components by cross-validation.

    By default 1 to `DEFAULT_MAX_COMPONENTS` are tried, regardless of the number that `fit` has. The result is
    the fit to all rows with the chosen number, and the path, whose first column is "orthogonal"; parameters
    and errors are the same as in `choose_components`.
    """
    fits = _fits_by_n_orthogonal(fit, fit.moments, max(component_grid(search)))
    raise_if_fewer_components(fits[0] if fits else fit, fit.n_predictive + 1)
    path = _orthogonal_path(design_rows, fit, fits, search.folds)
    chosen_path = _select_candidates(path, search, "orthogonal components")
    return fits[int(search.acceptable_values(chosen_path).min()) - 1], chosen_path


def _fits_by_n_orthogonal(fit: PLSFit, moments: ClassMoments, max_components: int) -> list[PLSFit]:
    """Refit to moments with 1, 2, ... orthogonal components, in this order.

    Parameters
    ----------
    fit : PLSFit
        The fit whose options and prior are used.
    moments : ClassMoments
        Class moments of the rows to fit.
    max_components : int
        Largest number of orthogonal components.

    Returns
    -------
    list of PLSFit
        Only fits with as many predictive components as `fit`, and, for the rule "lda", with scores that vary
        within classes in all directions. Empty if a class lacks rows or the total weight is at most the
        number of classes.
    """
    enough = (moments.rows >= 1).all() and moments.total > moments.n_classes
    fits = core.refit_orthogonal(fit, moments, max_components) if enough else []
    return [
        orthogonal_fit
        for orthogonal_fit in fits
        if orthogonal_fit.n_predictive == fit.n_predictive
        and (
            orthogonal_fit.decides != "lda"
            or orthogonal_fit.n_varying_components() == orthogonal_fit.components
        )
    ]


def raise_if_fewer_components(fit: PLSFit, requested: int) -> None:
    """Raise an error if there are fewer components than requested, or if their scores are singular.

    Parameters
    ----------
    fit : PLSFit
        The fit.
    requested : int
        Requested number of components, including orthogonal ones.

    Raises
    ------
    DataError
        The fit has fewer components, or none.
    CollinearError
        The rule is "lda", and fewer than `requested` leading components have scores that vary within classes
        given the scores of earlier ones.
    """
    if not fit.components:
        raise DataError(
            "The class means do not differ in any column, so there are no components.",
            hint="Use columns whose means differ between classes.",
        )
    if fit.components < requested and fit.orthogonal:
        raise DataError(
            f"algorithm=OrthogonalPLS({requested - fit.n_predictive}) has too many components: these rows "
            f"have at most {fit.orthogonal} orthogonal components.",
            hint=(
                f"Use OrthogonalPLS({fit.orthogonal}), fewer, or OrthogonalPLS() to have the number chosen."
            ),
        )
    if fit.components < requested and fit.nonzero:
        raise DataError(
            f"SparsePLS() with {requested} components has too many: after {fit.components} components no "
            "column covaries with the classes.",
            hint=f"Use at most {fit.components} components, by ncomp= or the length of nonzero=.",
        )
    if fit.components < requested:
        raise DataError(
            f"ncomp={reading.format_argument(requested)} is too large: after {fit.components} components no "
            "column covaries with the classes.",
            hint=f"Pass ncomp={fit.components} or fewer, or None to choose it by cross-validation.",
        )
    able = fit.n_varying_components()
    if fit.decides != "lda" or able >= requested:
        return
    if fit.orthogonal:
        fewer = [
            smaller_fit.orthogonal for smaller_fit in _fits_by_n_orthogonal(fit, fit.moments, fit.orthogonal)
        ]
        raise CollinearError(
            f"With {fit.orthogonal} orthogonal components the within-class covariance matrix of the scores "
            "is singular, so linear discriminant analysis of the scores is not possible.",
            hint=(
                "Pass "
                + (f"algorithm=OrthogonalPLS({max(fewer)}) or fewer, or " if fewer else "")
                + 'rule="max" or "centroid".'
            ),
            options={"rule": "max"},
        )
    if not able:
        raise CollinearError(
            "The scores of the components do not vary within classes, so linear discriminant analysis of the "
            "scores is not possible.",
            hint='Pass rule="max" or "centroid".',
            options={"rule": "max"},
        )
    raise CollinearError(
        f"The within-class covariance matrix of the scores of {requested} components is singular (rank "
        f"{able}), so linear discriminant analysis of the scores is not possible.",
        hint=f'Pass rule="max" or "centroid"; rule="lda" supports at most ncomp={able} here.',
        options={"rule": "max"},
    )


def raise_if_no_orthogonal(fit: PLSFit) -> None:
    """Raise DataError if the fit lacks orthogonal components, or any components.

    CollinearError is raised if the rule is "lda" and the scores of the first component do not vary within
    classes.
    """
    raise_if_fewer_components(fit, 1)
    if not fit.orthogonal:
        raise DataError(
            "No variation of the columns is orthogonal to the classes and correlated with the predictive "
            "components, so there are no orthogonal components.",
            hint="Leave algorithm= out.",
        )


def component_path(design_rows: DesignRows, fit: PLSFit, folds: TuningFolds) -> pd.DataFrame:
    """Compute R2X, R2, Q2 and cross-validated error rates of a fit with 1, 2, ... of its components.

    The error rates equal `error_rates(["cv"])` of fits with these numbers of components and the same folds
    and seed. If the fit has orthogonal components, the number of orthogonal components varies instead.

    Parameters
    ----------
    design_rows : DesignRows
        The rows of the fit.
    fit : PLSFit
        The fit with the largest number of components.
    folds : TuningFolds
        Folds of the rows.

    Returns
    -------
    DataFrame
        Columns: "components" ("orthogonal" for orthogonal components) with the number; "error", a proportion
        in which the prior weights the classes, and "se", its standard error; the proportions "R2X" of the
        sum of squares of the columns and "R2" of the class indicators that the fit explains; and "Q2", the R2
        of the indicators of test rows. The last number is the largest that every training set allows.

    Raises
    ------
    DataError
        A class has one row, or all test sets are empty.
    CollinearError
        In a training set a class is empty, or the scores do not vary within classes.
    """
    if fit.orthogonal:
        return _orthogonal_path(
            design_rows, fit, core.refit_orthogonal(fit, fit.moments, fit.orthogonal), folds
        )
    raise_if_single_row_classes(fit.moments, design_rows.design.levels, "ncomp=")
    moments, test_counts = folds.training_moments(design_rows, fit.moments.scatter_type)
    fold_fits = [
        _refit_to_fold(fit, training_moments, folds, fold) for fold, training_moments in enumerate(moments)
    ]
    max_components = min(fold_fit.components for fold_fit in fold_fits)
    log_prior = log_of_prior(fit.prior)
    prediction_paths = [
        partial(fold_fit.with_components(max_components).scores_by_component, log_prior=log_prior)
        for fold_fit in fold_fits
    ]
    x, y = (proportions[:max_components].cumsum() for proportions in fit.latent.explained())
    return _path_table(design_rows, fit, "components", prediction_paths, test_counts, x, y)


def _orthogonal_path(
    design_rows: DesignRows, fit: PLSFit, fits: Sequence[PLSFit], folds: TuningFolds
) -> pd.DataFrame:
    """Compute R2X, R2, Q2 and cross-validated error rates with 1, 2, ... orthogonal components.

    Parameters
    ----------
    design_rows : DesignRows
        The rows of the fit.
    fit : PLSFit
        The fit whose options are used.
    fits : sequence of PLSFit
        Fits to all rows with 1, 2, ... orthogonal components.
    folds : TuningFolds
        Folds of the rows.

    Returns
    -------
    DataFrame
        Columns: orthogonal, error, se, R2X, R2, Q2, as `component_path` defines them. The last number is the
        largest that every training set allows.

    Raises
    ------
    DataError
        A class has one row, or all test sets are empty.
    CollinearError
        A training set does not allow any number of orthogonal components; see `_fits_by_n_orthogonal`.
    """
    raise_if_single_row_classes(
        fit.moments, design_rows.design.levels, "a number of orthogonal components to OrthogonalPLS()"
    )
    moments, test_counts = folds.training_moments(design_rows, fit.moments.scatter_type)
    fits_by_fold = [_fits_by_n_orthogonal(fit, training_moments, len(fits)) for training_moments in moments]
    max_components = min(map(len, fits_by_fold))
    for fold, fold_fits in enumerate(fits_by_fold):
        if not fold_fits:
            _raise_fold_error(folds, fold, "a number of orthogonal components to OrthogonalPLS()")
    prediction_paths = [
        partial(_iter_predictions, fold_fits[:max_components], log_of_prior(fit.prior))
        for fold_fits in fits_by_fold
    ]
    x, y = (
        np.array([explained.sum() for explained in pair])
        for pair in zip(*(f.latent.explained() for f in fits[:max_components]), strict=True)
    )
    return _path_table(design_rows, fit, "orthogonal", prediction_paths, test_counts, x, y)


def _iter_predictions(
    fits: Sequence[PLSFit], log_prior: Floats, x: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the scores of the rule and the fitted 0/1 indicators of each of several fits.

    Parameters
    ----------
    fits : sequence of PLSFit
        Fits with an increasing number of components.
    log_prior : (K,) float64
        Logarithms of the prior probabilities.
    x : (m, p) float64
        Rows in the units of the data.

    Yields
    ------
    scores, fitted : (m, K) float64
    """
    for fit in fits:
        yield fit.rule(log_prior).scores(x), fit.fitted_rule().scores(x)


PredictionPath = Callable[[Floats], Iterator[tuple[Floats, Floats]]]
"""Function of rows (m, p) that yields scores (m, K) and fitted indicators (m, K) of 1, 2, ... components.

The arrays may be overwritten by the next iteration.
"""


def _path_table(
    design_rows: DesignRows,
    fit: PLSFit,
    name: str,
    prediction_paths: Sequence[PredictionPath],
    test_counts: list[Floats],
    x: Floats,
    y: Floats,
) -> pd.DataFrame:
    """Return the table of cross-validated errors, R2X, R2 and Q2 by number of components.

    Parameters
    ----------
    design_rows : DesignRows
        The rows of the fit.
    fit : PLSFit
        The fit to all rows, whose prior weights the errors of the classes.
    name : {"components", "orthogonal"}
        Name of the first column.
    prediction_paths : sequence of PredictionPath
        Prediction functions of the training set of each fold.
    test_counts : list of (n,) float64
        For each fold, how often each row of the table is in its test set.
    x, y : (A,) float64
        Proportions R2X and R2 of the sums of squares of columns and indicators that 1, 2, ..., A
        components explain.

    Returns
    -------
    DataFrame
        A row for each number 1, ..., A; see `component_path` for the columns.
    """
    wrong, rows, q2 = _test_errors(design_rows, fit, prediction_paths, test_counts, len(x))
    raise_if_no_test_rows(rows, "components")
    candidates = np.arange(1, len(x) + 1)
    sampled = fit.estimated_prior
    path = error_path(name, candidates, wrong, rows, fit.prior, sampled=sampled)
    path["R2X"] = x
    path["R2"] = y
    path["Q2"] = q2
    return path


FEWER_COMPONENTS_HINT = "a smaller ncomp="
"""Option to suggest if the training set of a fold has too few components."""


def _refit_to_fold(
    fit: PLSFit, moments: ClassMoments, folds: TuningFolds, fold: int, argument: str = "ncomp="
) -> PLSFit:
    """Refit to the training set of a fold.

    Parameters
    ----------
    fit : PLSFit
        The fit whose options and number of components are used.
    moments : ClassMoments
        Class moments of the training set.
    folds : TuningFolds
        The folds, for the message.
    fold : int
        Number of the fold, for the message.
    argument : str
        Option to suggest in the message.

    Returns
    -------
    PLSFit
        It has as many components as `fit`, or fewer if the training set has fewer.

    Raises
    ------
    CollinearError
        A class is empty, the total weight is at most the number of classes, the fit lacks components, or the
        rule is "lda" and their scores do not vary within classes.
    """
    enough = (moments.rows >= 1).all() and moments.total > moments.n_classes
    fold_fit = fit.refit_up_to(moments, fit.components) if enough else None
    return _raise_fold_error(folds, fold, argument) if fold_fit is None else fold_fit


def _raise_fold_error(folds: TuningFolds, fold: int, argument: str) -> NoReturn:
    """Raise CollinearError for a fold whose training set cannot be fitted.

    The message numbers the fold or split; `argument` is what the hint suggests to pass, such as "ncomp=".
    """
    where, more = folds.describe_training_rows(fold)
    raise CollinearError(
        f"{where} a class has no rows, or the scores do not vary within classes.",
        hint=f"Pass {argument}, or {more}.",
    )


def selection_stability(
    fit: FittedModel[PLSFit], names: pd.Index, folds: int, repeats: int, seed: int | None
) -> pd.DataFrame:
    """Compute in which share of refits without a fold each column is selected; see `PLSResults.stability`.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    names : Index
        Names of the components.
    folds, repeats : int
        Number of folds, and of random assignments to folds.
    seed : int, optional
        Seed of the assignments; None for a random one.

    Returns
    -------
    DataFrame
        Terms by "any" and `names`, the most frequently selected first, without terms that no refit selects.

    Raises
    ------
    NotSupportedError
        The fit does not have its rows.
    DataError
        `folds` or `repeats` is not valid.
    CollinearError
        Without a fold a class is empty, or there are fewer components than in the fit.
    """
    design_rows = fit.require_rows("stability()")
    estimates = fit.estimates
    reading.check_integer("repeats", repeats, 1, MAX_PERMUTATIONS, description="a number of repeats")
    start = resampling.seed_or_random(seed)
    used = np.zeros((len(fit.terms), 1 + estimates.components))
    with Progress(repeats * folds, "selections") as progress:
        for repeat in range(repeats):
            tuning_folds = TuningFolds.read(folds, start + repeat, design_rows, fit.refits.groups(fit))
            moments, _ = tuning_folds.training_moments(design_rows, estimates.moments.scatter_type)
            for fold, training_moments in enumerate(moments):
                refit = _refit_to_fold(
                    estimates, training_moments, tuning_folds, fold, FEWER_COMPONENTS_HINT
                ).latent
                if refit.n_components < estimates.components:
                    _raise_fold_error(tuning_folds, fold, FEWER_COMPONENTS_HINT)
                is_selected = refit.weights != 0
                used += np.column_stack([is_selected.any(axis=1), is_selected])
                progress(1)
    proportions = pd.DataFrame(used / (repeats * folds), index=fit.terms, columns=["any", *names])
    proportions = proportions[proportions["any"] > 0]
    return proportions.sort_values("any", ascending=False, kind="stable")


def _test_errors(
    design_rows: DesignRows,
    fit: PLSFit,
    prediction_paths: Sequence[PredictionPath],
    test_counts: list[Floats],
    max_components: int,
) -> tuple[Floats, Floats, Floats]:
    """Count misclassified test rows, and compute Q2, by number of components.

    Parameters
    ----------
    design_rows : DesignRows
        The rows of the fit.
    fit : PLSFit
        The fit to all rows, which has the class proportions and the units of the indicators.
    prediction_paths : sequence of PredictionPath
        Prediction functions of the training set of each fold.
    test_counts : list of (n,) float64
        For each fold, how often each row of the table is in its test set.
    max_components : int
        Largest number of components, A.

    Returns
    -------
    wrong : (A, K) float64
        Weighted number of misclassified test rows of each class.
    rows : (K,) float64
        Weighted number of test rows of each class.
    q2 : (A,) float64
        1 - PRESS / SS. PRESS is the sum of squared differences between indicators and fitted indicators of
        test rows, and SS their sum of squares about the means of the indicators over all rows of the fit.
        Indicators are divided by their standard deviations if the fit scales them.
    """
    k = fit.moments.n_classes
    prior_proportions = fit.class_proportions
    sizes = fit.sizes
    wrong = np.zeros((max_components, k))
    rows = np.zeros(k)
    press = np.zeros(max_components)
    total = 0.0
    with Progress(design_rows.table.nrows * len(prediction_paths), "choice of components") as progress:
        for fold, x, codes, row_counts in iterate_test_rows(design_rows, test_counts, progress):
            indicators = np.equal(codes[:, None], np.arange(k))
            member = indicators * row_counts[:, None]
            rows += member.sum(axis=0)
            total += float(row_counts @ (((indicators - prior_proportions) / sizes) ** 2).sum(axis=1))
            for j, (scores, fitted) in enumerate(prediction_paths[fold](x)):
                wrong[j] += (best_class(scores) != codes) @ member
                press[j] += row_counts @ (((indicators - fitted) / sizes) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return wrong, rows, 1.0 - press / total


MAX_PERMUTATIONS = 10**6
"""Largest number of permutations or repeats; more would take too long to be useful."""


def permutation_test(fit: FittedModel[PLSFit], n: int, folds: int, seed: int | None) -> TestResult:
    """Test Q2 and R2 by permutations of the labels; see `PLSResults.permutation_test`.

    Parameters
    ----------
    fit : FittedModel
        The fitted model, with its rows.
    n : int
        Number of permutations.
    folds : int
        Number of folds.
    seed : int, optional
        Seed of the folds and permutations; None for a random one.

    Returns
    -------
    TestResult
        Its table has the rows Q2 and R2, and the columns statistic, mean and largest (of the permutations)
        and p.

    Raises
    ------
    NotSupportedError
        The weights are not whole numbers, the fit does not have its rows, or they do not fit in memory.
    DataError
        `n` or `folds` is not valid.
    """
    reading.check_integer("n", n, 1, MAX_PERMUTATIONS, description="a number of permutations")
    design_rows = fit.require_rows("permutation_test()")
    if design_rows.weights is not None and not design_rows.rows.has_whole_weights():
        raise NotSupportedError(
            "permutation_test() requires weights that are whole numbers.",
            hint="Repeat the rows, or fit without weights=.",
        )
    reading.raise_if_large(design_rows, "permutation_test() gathers all rows", n_repeated_rows=fit.nobs)
    x, codes = repeat_rows(*gather_weighted_rows(design_rows))
    resampling.check_folds(folds, len(x))
    estimates = fit.estimates
    k = len(fit.classes)
    base_seed = resampling.seed_or_random(seed)
    how = estimates.regressed
    groups = fit.refits.groups(fit)
    if groups is None:
        fold_ids = resampling.random_generator(base_seed).permutation(len(x)) % folds
    else:
        row_groups = groups[used_codes(design_rows) >= 0]
        fold_ids = validation.assign_group_folds(design_rows, groups, folds, base_seed)[
            used_codes(design_rows) >= 0
        ]
    # In units near one, the squares neither overflow nor underflow.
    z = (
        (x - estimates.origin)
        * estimates.moments.scale
        / np.where(np.isfinite(estimates.column_scale), estimates.column_scale, 1.0)
    )

    def labelling(number: int) -> Codes:
        """Return the class codes (n,) after permutation `number`; 0 returns the observed codes.

        With groups, the codes are permuted within each group.
        """
        if not number:
            return codes
        rng = np.random.default_rng([base_seed, number])
        if groups is None:
            return rng.permutation(codes)
        shuffled = np.empty_like(codes)
        shuffled[np.argsort(row_groups, kind="stable")] = codes[
            np.lexsort((rng.random(len(codes)), row_groups))
        ]
        return shuffled

    with Progress((n + 1) * folds, "permutations") as progress:
        q2 = core.q2_by_labelling(z, labelling, n + 1, fold_ids, k, how, progress)
    r2 = core.r2_by_labelling(z, labelling, n + 1, k, how)
    results_by_statistic: dict[str, tuple[float, float, float, float]] = {}
    for name, (observed, permuted) in {"Q2": (q2[0], q2[1:]), "R2": (r2[0], r2[1:])}.items():
        pvalue = resampling.permutation_pvalue(observed, permuted)
        results_by_statistic[name] = (float(observed), float(permuted.mean()), float(permuted.max()), pvalue)
    return TestResult(
        f"Permutation test of Q2, {n} permutations",
        float(q2[0]),
        (),
        results_by_statistic["Q2"][-1],
        f"The labels are permuted{'' if groups is None else ' within groups'}, and held-out rows are "
        "predicted again with the same number of components. p = (1 + b) / (1 + n), where b counts the "
        "permutations with a statistic at least as large. All permutations use the same folds, which do not "
        "depend on the classes; mean and largest refer to the permutations.",
        results_by_statistic,
        (("Q2", float(q2[0])),),
        ("statistic", "mean", "largest", "p"),
    )
