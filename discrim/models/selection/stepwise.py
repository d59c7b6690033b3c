"""The verb `stepwise`, which chooses the terms of a formula that discriminate between the classes.

It validates the arguments, runs the search of `discrim.models.selection.term_choice`, and fits the chosen
terms. The results contain the fit and the tables of the steps.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes
from discrim.data.table import select_rows
from discrim.design.design_rows import DesignRows
from discrim.design.rows import read_rows
from discrim.errors import DataError, NotSupportedError
from discrim.inference.resampling import seed_or_random
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import format_count, with_display_formats
from discrim.models.base.fit import FittedModel, Selection
from discrim.models.base.reading import (
    Data,
    NaAction,
    check_number,
    check_word,
    format_argument,
    is_wide,
    join_labels,
    usable_rows,
)
from discrim.models.discriminant.lda import lda
from discrim.models.plots.plottable import PlotOptions, draw_plot, plot
from discrim.models.regression.logistic import logistic
from discrim.models.regression.logistic_search import columns_of_terms
from discrim.models.selection import term_choice
from discrim.models.selection.comparable import resolve_verb
from discrim.models.selection.repeated_choice import RepeatedChoice
from discrim.models.selection.term_choice import (
    By,
    Choice,
    Criterion,
    Direction,
    Limits,
    StepTables,
    merge_pair_columns,
)
from discrim.report.grid import SHARED_HEADINGS, Section
from discrim.report.plots.evaluation import draw_steps
from discrim.report.tables import SectionFunctions, summarize

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults
    from discrim.report.grid import Pairs
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Summary

MAX_VALUES_QUICK = {"calls": 2**16, "moments": 2**24}
"""Largest number of values (rows times candidate columns) for which ten searches need a second or two.

The keys are the ways to repeat the search: by a call with some rows, or by subtracting moments.
"""


@reading.with_public_errors
def stepwise(
    formula: str,
    data: Data,
    *,
    direction: Direction = "both",
    criterion: Criterion = "wilks",
    enter: float | None = None,
    stay: float | None = None,
    by: By = "p",
    tolerance: float | None = None,
    include: Sequence[str] = (),
    verb: Callable[..., ClassifierResults] | str | None = None,
    folds: int = 10,
    seed: int | None = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> StepwiseResults:
    """Choose terms of a formula step by step.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas. The terms of the right side
        are the candidates, each with all its columns.
    data : table or source of tables
        Table, or source of tables that can be read more than once; see the page on shared arguments.
    direction : {"forward", "backward", "both"}
        "forward" adds terms. "backward" starts with all terms and removes some. "both" adds terms, and after
        each step removes those that no longer stay.
    criterion : {"wilks", "mahalanobis", "maxminf", "minresid", "rao", "cv", "aic", "bic"}
        Statistic that the entering term optimizes: Wilks' lambda, that is, the largest partial F ("wilks");
        the smallest squared distance D2 between two classes ("mahalanobis"), or the smallest F between two
        ("maxminf"); the unexplained variation 4/(4 + D2), summed over the pairs of classes ("minresid");
        Rao's V ("rao"); the cross-validated error of `verb` ("cv"); or the AIC or BIC of `discrim.logistic`,
        like R's `step`. With AIC and BIC a term that another one contains does not leave, such as `a` while
        `a:b` is in.
    enter, stay : float, optional
        Limits of the statistic that `by` names: a term enters if it is as good as `enter`, and has to leave
        if it is worse than `stay`. Levels of significance are 0.15 by default. "cv", "aic" and "bic" do not
        use them and go on as long as they fall.
    by : {"p", "F", "r2", "v"}
        Statistic of the limits. "p" is the p-value of the partial F, at most `enter`. "F" is the partial F
        itself, at least `enter`; SPSS has enter=3.84 and stay=2.71. "r2" is the partial R2, one minus the
        partial Wilks' lambda, like SAS's PR2ENTRY= and PR2STAY=. "v", with criterion="rao", is the increase
        of Rao's V by the term, like SPSS's VIN; `stay` is then a level of significance, which a term has to
        meet to enter as well.
    tolerance : float, optional
        The smallest tolerance that is allowed. The tolerance of a column is the share of its variance within
        classes that the other chosen columns do not explain. A term does not enter if one of its columns, or
        one that is already in, would fall below it. SPSS has 0.001 by default. Without it a term is kept out
        only if it is a combination of those chosen, within rounding.
    include : sequence of str
        Terms that are always in: names of columns, or terms as the formula writes them.
    verb : callable or str, optional
        The model of the final fit, and of "cv": any verb of the package, its name, or a `functools.partial`
        with options of the verb, such as ``partial(discrim.qda, prior="equal")``. By default it is
        `discrim.lda`, and `discrim.logistic` for "aic" and "bic".
    folds : int
        Number of folds of criterion="cv"; all candidates use the same folds.
    seed : int, optional
        Seed of the random assignment of rows to folds.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    StepwiseResults
        The steps use the rows that are complete in all candidates; the fit uses every row that is complete in
        the chosen ones.

    Raises
    ------
    DataError
        A criterion, direction or term is unknown; a limit is out of its range, missing, easier to enter by
        than to stay by, or not used by the criterion; or a candidate of "aic" or "bic" separates the classes.
    NotSupportedError
        AIC or BIC is combined with a verb whose likelihood includes the columns or is penalized.
    CollinearError
        "backward" starts from columns whose covariance within classes is singular, or a term that is always
        in has too small a tolerance.

    Notes
    -----
    The steps by Wilks' lambda, with F to enter and to remove, follow Jennrich (1977, in Statistical Methods
    for Digital Computers, 76-95). The other criteria that need only moments are the criteria of SPSS's
    DISCRIMINANT, by the names of its METHOD. With every criterion the limits apply to the partial F, and if
    several terms have to leave, the weakest leaves first. SAS's STEPDISC prints tolerances of the total
    scatter; here, like in SPSS, they refer to the scatter within classes.

    The F or Rao's V of the best of many terms does not have the distribution of one that was named
    beforehand: the p-values of the steps put the terms in an order and are not tests.

    The terms are chosen and evaluated on the same rows. P-values of the fit are therefore too small, and so
    are its apparent and leave-one-out errors, which do not repeat the choice: the summary of the fit has a
    note. Methods of the result choose the terms again, by the same criterion and options, from the remaining
    rows: `error_rates`, `confusion`, `assess` and `cross_validate`. So do "cv" and "632+" of the fit, and
    `discrim.cross_validate` of it. Choices by moments (all criteria except "cv", "aic" and "bic", and a fit
    of pooled or class covariances) do not read the rows again; every other choice needs a call for each fold.
    See Ambroise & McLachlan (2002), Proceedings of the National Academy of Sciences 99, 6562-6566.

    Examples
    --------
    >>> from discrim import stepwise
    >>> from discrim.datasets import load_iris
    >>> stepwise("species ~ .", load_iris()).selected.tolist()
    ['petal_length', 'sepal_width', 'petal_width', 'sepal_length']

    With the limits of SPSS, and the terms that its second step compared:

    >>> found = stepwise("species ~ .", load_iris(), by="F", enter=3.84, stay=2.71, tolerance=0.001)
    >>> found.not_in_analysis.loc[1].round(3)[["tolerance", "min_tolerance", "F", "wilks"]]
                  tolerance  min_tolerance       F  wilks
    term
    sepal_length      0.428          0.428  34.323  0.040
    sepal_width       0.857          0.857  43.035  0.037
    petal_width       0.765          0.765  24.766  0.044

    By AIC, like R's `step`:

    >>> from discrim.datasets import load_penguins
    >>> found = stepwise("sex ~ bill_depth_mm + island + year", load_penguins(), criterion="aic")
    >>> found.steps["aic"].round(2).tolist()
    [463.61, 416.89, 378.25]

    Some of forty columns of noise are chosen and seem to separate the classes. With a new choice in each
    fold they do not:

    >>> import numpy as np
    >>> import pandas as pd
    >>> noise = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 40)))
    >>> found = stepwise("y ~ .", noise.rename(columns="x{}".format).assign(y=["a", "b"] * 30))
    >>> found.error_rates(["apparent", "cv"], seed=1)[["estimate", "choice"]].round(2)
              estimate    choice
    method
    apparent      0.25     fixed
    cv            0.53  repeated
    """
    model, options = read_verb(verb, criterion)
    arguments: dict[str, Any] = {"levels": levels, "na_action": na_action, "functions": functions}
    # Not every verb has weights.
    arguments |= {} if weights is None else {"weights": weights}
    check_verb_options(direction, criterion, model, options, arguments)
    limits = read_limits(direction, criterion, enter, stay, by, tolerance)
    if criterion == "cv":
        seed = seed_or_random(seed)
    stepwise_on_rows = partial(
        _stepwise_on_rows,
        formula,
        weights,
        {
            "direction": direction, "criterion": criterion, "enter": enter, "stay": stay, "by": by,
            "tolerance": tolerance, "include": include, "verb": verb, "folds": folds, "seed": seed,
            "functions": functions,
        },
    )  # fmt: skip
    design_rows = read_rows(formula, data, weights=weights, levels=levels, functions=functions)
    # With few rows a square root of the scatter matrix with as many rows contains the same information.
    design_rows, moments = usable_rows(design_rows, "thin" if is_wide(design_rows) else "pooled", na_action)
    design = design_rows.design
    texts = {term_spec.label: term_spec.text for term_spec in design.design_terms()}
    term_columns = {label: np.array(columns) for label, columns in columns_of_terms(design_rows).items()}
    include = read_include(design_rows, include)
    arguments = options | arguments

    def fit(terms: Sequence[str]) -> ClassifierResults:
        """Fit the verb to terms, given by their labels; raise DataError if it does not return a fit."""
        chosen_formula = f"{design.response_code} ~ {' + '.join(texts[term] for term in terms)}"
        fitted: ClassifierResults = model(chosen_formula, data, **arguments)
        if not hasattr(fitted, "error_rates"):
            raise DataError(
                f"verb={format_argument(model)} does not return a fit.",
                hint="Pass a verb, such as discrim.qda.",
            )
        return fitted

    search = term_choice.StepwiseSearch(criterion, direction, include, limits, options, folds, seed)
    choice = search.choose_terms(design_rows, moments, term_columns, fit)
    fitted = fit(choice.terms) if choice.terms else None
    if fitted is not None:
        fitted._fit = _with_selection(
            fitted._fit, choice, criterion, design_rows, term_columns, stepwise_on_rows
        )
    return StepwiseResults(formula, criterion, choice, fitted, moments.total)


RESERVED_ARGUMENTS = ("formula", "data", "moments", "weights", "levels", "na_action", "functions")
"""Arguments of a verb that `stepwise` passes itself, and that `verb=` therefore cannot set."""


def read_verb(verb: Any, criterion: Any) -> tuple[Any, dict[str, Any]]:
    """Return the verb that fits the chosen terms, and the options that it is called with.

    Parameters
    ----------
    verb : callable, str or None
        A verb, its name, a `functools.partial` of a verb with options, or None for the default.
    criterion : str
        The criterion. AIC and BIC require a likelihood of the classes conditional on the row.

    Returns
    -------
    verb : callable
        By default `lda`, and `logistic` for AIC and BIC. A value that is neither a text nor a partial is
        returned unchecked.
    options : dict
        Keyword arguments of the partial; empty without one.

    Raises
    ------
    DataError
        The name is unknown, or a partial has positional arguments.
    NotSupportedError
        The criterion is AIC or BIC and the verb is not `logistic`.
    """
    options = {}
    if isinstance(verb, partial):
        if verb.args:
            raise DataError(
                f"verb= is a partial with a positional argument: {format_argument(verb.args[0])}.",
                hint="Pass the options of the verb by name.",
            )
        verb, options = verb.func, dict(verb.keywords)
    verb = resolve_verb(verb)
    if not isinstance(criterion, str) or criterion not in ("aic", "bic"):
        return lda if verb is None else verb, options
    if verb is not None and verb is not logistic:
        raise NotSupportedError(
            f"criterion={criterion!r} requires likelihoods of the classes conditional on the predictors, "
            "which only logistic() has.",
            hint='Leave verb= out, or use criterion="cv", which supports any verb.',
            options={"criterion": "cv"},
        )
    return logistic, options


PARTIAL_F_CRITERIA = ("wilks", "mahalanobis", "maxminf", "minresid", "rao")
"""Criteria whose steps use the partial F."""

DEFAULT_LEVEL = 0.15
"""Default level of significance of a term to enter and to stay."""


def read_limits(
    direction: Direction, criterion: Criterion, enter: Any, stay: Any, by: Any, tolerance: Any
) -> Limits:
    """Return the validated limits of the steps.

    Parameters
    ----------
    direction, criterion, enter, stay, by, tolerance : see `stepwise`

    Returns
    -------
    Limits
        With by="v" the limits to enter and to stay are the p-value `stay`, and `v_enter` is `enter`. A limit
        that the direction does not need is NaN if it was not passed.

    Raises
    ------
    DataError
        An argument is invalid, missing or not used by the criterion, or a term could enter and leave
        endlessly.
    """
    check_word("by", by, By)
    if criterion not in PARTIAL_F_CRITERIA and (by != "p" or tolerance is not None):
        argument = "tolerance=" if by == "p" else f'by="{by}"'
        raise DataError(
            f"{argument} applies to steps by the partial F, which criterion={criterion!r} does not use.",
            hint=f"Leave it out, or use one of {join_labels(PARTIAL_F_CRITERIA)}.",
        )
    if tolerance is not None:
        check_number("tolerance", tolerance, 0, 1, ends="[)", description="a share of variance")
    if by == "v":
        if criterion != "rao":
            raise DataError(
                f'by="v" cannot be combined with criterion={criterion!r}.',
                hint='Pass criterion="rao" with it.',
                options={"criterion": "rao"},
            )
        level = _level("stay", stay)
        min_increase = _limit("enter", enter, by, np.inf, is_required=direction != "backward")
        return Limits(level, level, "p", tolerance, min_increase)
    if by == "p":
        enter_limit, stay_limit = _level("enter", enter), _level("stay", stay)
    else:
        high = np.inf if by == "F" else 1.0
        enter_limit = _limit("enter", enter, by, high, is_required=direction != "backward")
        stay_limit = _limit("stay", stay, by, high, is_required=direction != "forward")
    if direction == "both" and (stay_limit < enter_limit if by == "p" else stay_limit > enter_limit):
        side = "below" if by == "p" else "above"
        raise DataError(
            f"stay={stay_limit!r} is {side} enter={enter_limit!r}: a term could enter and leave endlessly.",
            hint=f"Pass a value of stay= that is not {side} enter=.",
        )
    return Limits(enter_limit, stay_limit, by, tolerance)


def _level(name: str, value: Any) -> float:
    """Return a validated level of significance (0 < value <= 1), or `DEFAULT_LEVEL` for None."""
    return check_number(
        name,
        DEFAULT_LEVEL if value is None else value,
        0,
        1,
        ends="(]",
        description="a level of significance",
    )


def _limit(name: str, value: Any, by: str, high: float, *, is_required: bool) -> float:
    """Return a validated limit of a statistic; raise a DataError if it is invalid.

    Parameters
    ----------
    name : {"enter", "stay"}
        Name of the argument.
    value : object
        The limit, or None if it was not passed.
    by : {"F", "r2", "v"}
        The statistic.
    high : float
        Largest valid limit; the smallest is 0.
    is_required : bool
        Whether None is an error.

    Returns
    -------
    float
        NaN for None.
    """
    if value is None and is_required:
        example = " (SPSS has enter=3.84, stay=2.71)" if by == "F" else ""
        raise DataError(
            f'{name}= is missing: by="{by}" has no default limits.', hint=f"Pass a limit{example}."
        )
    return np.nan if value is None else check_number(name, value, 0, high)


def check_verb_options(
    direction: Any, criterion: Any, verb: Any, options: Mapping[str, Any], passed_arguments: Mapping[str, Any]
) -> None:
    """Raise a DataError if a criterion, direction or option of the verb is invalid.

    Parameters
    ----------
    direction, criterion : see `stepwise`
    verb : callable
    options : mapping
        Options of the verb from the user.
    passed_arguments : mapping
        Arguments that `stepwise` passes to the verb.
    """
    check_word("direction", direction, Direction)
    check_word("criterion", criterion, Criterion)
    if not callable(verb):
        raise DataError(
            f"verb={format_argument(verb)} is not valid.",
            hint="Pass a verb, such as discrim.qda, or None for lda.",
        )
    try:
        signature = inspect.signature(verb)
    except (TypeError, ValueError):
        return
    _raise_if_unknown_option(verb, signature.parameters, options)
    try:
        signature.bind("formula", "data", **dict.fromkeys(passed_arguments))
    except TypeError as error:
        raise DataError(
            f"verb={format_argument(verb)} cannot be called with a formula, a table and "
            f"{join_labels(passed_arguments)} ({error}).",
            hint="Pass a verb, such as discrim.qda.",
        ) from None


def _raise_if_unknown_option(
    verb: Any, parameters: Mapping[str, inspect.Parameter], options: Mapping[Any, Any]
) -> None:
    """Raise a DataError if an option is not a parameter of the verb, or is set by `stepwise` itself.

    Parameters
    ----------
    verb : callable
    parameters : mapping of str to Parameter
        Parameters of the verb.
    options : mapping
        Options from the user.
    """
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    name = getattr(verb, "__name__", "the verb")
    unknown = [option for option in options if option not in parameters or option in RESERVED_ARGUMENTS]
    if unknown:
        available = [option for option in parameters if option not in RESERVED_ARGUMENTS]
        raise DataError(
            f"Options in verb= that {name}() does not support here: {join_labels(unknown)}.",
            hint=f"The options are {join_labels(available, max_labels=20)}.",
        )


def read_include(design_rows: DesignRows, include: str | Sequence[str]) -> list[str]:
    """Return the labels of the terms of `include=`, without constant terms.

    Parameters
    ----------
    design_rows : DesignRows
    include : str or sequence of str
        Terms as the formula writes them, or their labels.

    Returns
    -------
    list of str
        In the order of `include`.

    Raises
    ------
    DataError
        A term does not occur in the formula.
    """
    labels = {term_spec.text: term_spec.label for term_spec in design_rows.design.design_terms()}
    if not isinstance(include, Iterable) or not all(isinstance(term, str) for term in include):
        raise DataError(
            f"include={format_argument(include)} is not valid.",
            hint="Pass a list of terms as the formula writes them.",
        )
    requested = [labels.get(term, term) for term in ([include] if isinstance(include, str) else include)]
    existing_names = (*labels.values(), *design_rows.constant_terms)
    unknown = [term for term in requested if term not in existing_names]
    if unknown:
        raise DataError(
            f"Unknown terms in include=: {join_labels(unknown)}.",
            hint=f"The terms are {join_labels(existing_names)}.",
        )
    constant = set(design_rows.constant_terms)
    return [term for term in requested if term not in constant]


def _with_selection(
    fit: FittedModel[Any],
    choice: Choice,
    criterion: str,
    design_rows: DesignRows,
    term_columns: Mapping[str, Codes],
    stepwise_on_rows: Callable[..., StepwiseResults],
) -> FittedModel[Any]:
    """Return the fit on the chosen columns with a description of the choice, and refits that repeat it.

    Parameters
    ----------
    fit : FittedModel
        Fit on the chosen columns.
    choice : Choice
    criterion : str
    design_rows : DesignRows
        Rows without missing values in any candidate.
    term_columns : mapping of str to (q,) int
        Positions of the q columns of each term.
    stepwise_on_rows : callable
        Function of the list of classes, the table and positions of rows that runs `stepwise`, for refits that
        need rows.

    Returns
    -------
    FittedModel
        A copy whose `selection` contains a model that repeats the search at each refit.
    """
    description = f"stepwise by {criterion}, of {len(term_columns)} terms"
    noun = f"the columns ({description})"
    repeated_choice = None
    if choice.search_moments is not None:
        repeated_choice = term_choice.repeat_choice_by_moments(
            fit, design_rows, term_columns, choice.search_moments, noun
        )
    method = "calls" if repeated_choice is None else "moments"
    is_small = design_rows.rows.rows_in_memory * len(design_rows.terms) <= MAX_VALUES_QUICK[method]
    is_quick = is_small and choice.search_moments is not None and fit.refits.required_moments(fit) is not None
    if repeated_choice is None:
        stepwise_on_rows = partial(stepwise_on_rows, list(design_rows.design.levels), design_rows.table.data)
        repeated_choice = term_choice.repeat_choice_by_calls(fit, design_rows, stepwise_on_rows, noun)
    return replace(fit, selection=Selection("columns", description, repeated_choice, is_quick))


def _stepwise_on_rows(
    formula: str, weights: Any, options: dict[str, Any], levels: list[Any], data: Any, rows: Codes
) -> StepwiseResults:
    """Run `stepwise` with the same arguments on some rows of a table.

    Parameters
    ----------
    formula : str
    weights : column name, (n,) array or None
    options : dict
        Other arguments of `stepwise`.
    levels : list
        Classes in the order of the fit.
    data : table
    rows : (m,) int
        Positions of these m rows among the n of the table.

    Returns
    -------
    StepwiseResults
        Its `fit` raises DataError if no term was chosen.
    """
    if weights is not None and not isinstance(weights, str):
        weights = np.asarray(weights)[rows]
    return stepwise(formula, select_rows(data, rows), weights=weights, levels=levels, **options)


class StepwiseResults(RepeatedChoice):
    """Terms chosen step by step, and the fit to them.

    Attributes
    ----------
    formula : str
        The formula of the candidates.
    criterion : str
    selected : Index
        The chosen terms, in the order in which they entered.
    steps : DataFrame by step
        `action` ("start", "included", "entered" or "removed"), `term` and `terms_in`, the number of terms
        after the step. By partial F also the partial test (partial_R2, F, df1, df2, p), and criteria of the
        terms that are in after the step: `wilks`, the average squared canonical correlation (`ascc`), and the
        criterion of the search, with the two classes (`class`, `other`) if it refers to a pair. For Rao's V
        `change` and `p_change`, its p-value by the chi-squared distribution, which is valid for many rows
        (missing if V decreases). For "cv" the `error` and its standard error `se`. For AIC and BIC the
        criterion, the `deviance`, the absolute `change` of the deviance, and its degrees of freedom `df`.
    fit : fitted object
        The fit of the verb to the chosen terms.
    """

    def __init__(
        self, formula: str, criterion: str, choice: Choice, fit: ClassifierResults | None, nobs: float
    ) -> None:
        """Store the result of a search.

        Parameters
        ----------
        formula : str
            Formula of the candidates.
        criterion : str
        choice : Choice
        fit : ClassifierResults or None
            Fit on the chosen terms; None if no term was chosen.
        nobs : float
            Number, or sum of weights, of the rows without missing values in any candidate.
        """
        self.formula = formula
        self.criterion = criterion
        self.selected = pd.Index(choice.terms, name="term", dtype=object)
        self._steps = choice.steps
        self._note = choice.note
        self._trace = choice.trace
        self._nobs = nobs
        self._fit = fit
        self._make_tables = choice.make_tables
        self._tables: StepTables | None = None

    @property
    @with_display_formats()
    def steps(self) -> pd.DataFrame:
        """Copy of the table of steps, numbered from 1: action, term, terms_in, and statistics.

        The statistics depend on the criterion; see the attributes of the class.
        """
        return self._steps.copy()

    @property
    @available_if()
    @with_display_formats(deviance="z")
    def trace(self) -> pd.DataFrame:
        """Moves that each step of "aic" or "bic" compared, by (step, move): df, deviance and criterion.

        Like in R's `step`, a move is "+ term", "- term" or "<none>", and the best of a step is first. Values
        are those after the move; df is the absolute change of the number of parameters.

        Raises
        ------
        NotSupportedError
            The criterion is another one.
        """
        if self._trace is None:
            raise NotSupportedError(
                f"A choice by {self.criterion} has no trace.", hint='See steps, or use criterion="aic".'
            )
        return self._trace.copy()

    def _step_tables(self) -> StepTables:
        """Return the tables of the tests at each step, which are computed once.

        Raises NotSupportedError for the criteria "cv", "aic" and "bic", which do not use such tests.
        """
        if self._make_tables is None:
            raise NotSupportedError(
                f"A choice by {self.criterion} does not have tests of the terms at each step.",
                hint=f"See steps, or use one of the criteria {join_labels(PARTIAL_F_CRITERIA)}.",
            )
        if self._tables is None:
            self._tables = self._make_tables()
        return self._tables

    @property
    @available_if()
    @with_display_formats(minresid="share")
    def in_analysis(self) -> pd.DataFrame:
        """By step and term that is in: tolerance, F to remove (F, df1, df2, p), and the criterion without it.

        The tolerance of a term of several columns is their smallest tolerance. Step 0 is the start. The
        criterion has its own name, and the columns `class` and `other` if it refers to a pair of classes. It
        is missing for a single term.

        Raises
        ------
        NotSupportedError
            The criterion is "cv", "aic" or "bic".
        """
        return self._step_tables().in_analysis.copy()

    @property
    @available_if()
    @with_display_formats(min_tolerance="share", minresid="share")
    def not_in_analysis(self) -> pd.DataFrame:
        """By step and term that is not in: tolerance, F to enter (F, df1, df2, p), and the criterion with it.

        The columns are the same as in `in_analysis`, and `min_tolerance`, which is the smallest tolerance of
        all columns once the term has entered. F and the criterion are missing for a term that is a linear
        combination, within classes, of the terms in.

        Raises
        ------
        NotSupportedError
            The criterion is "cv", "aic" or "bic".
        """
        return self._step_tables().not_in_analysis.copy()

    @property
    @available_if()
    @with_display_formats()
    def overall(self) -> pd.DataFrame:
        """By step: Wilks' lambda of the terms in, with Rao's F, which is exact for two or three classes.

        The columns are `terms_in`, the number of terms; `columns`, the number of their columns; and wilks, F,
        df1, df2 and p. Steps without terms are left out.

        Raises
        ------
        NotSupportedError
            The criterion is "cv", "aic" or "bic".
        """
        return self._step_tables().overall.copy()

    @property
    @available_if()
    @with_display_formats()
    def pairs(self) -> pd.DataFrame:
        """By step and pair of classes: squared Mahalanobis distance by the terms that are in, F and p.

        The index is (step, class, other), and the columns are D2, F, df1, df2 and p, by Hotelling's F.

        Raises
        ------
        NotSupportedError
            The criterion is "cv", "aic" or "bic".
        """
        return self._step_tables().pairs.copy()

    @property
    def fit(self) -> ClassifierResults:
        """The fit to the chosen terms.

        Raises
        ------
        DataError
            No term was chosen.
        """
        if self._fit is None:
            raise DataError(
                "No term was chosen, so there is nothing to fit.",
                hint="Pass a less strict enter=, or name a term in include=.",
            )
        return self._fit

    # ---- shown

    def plot(
        self,
        kind: Literal["path"] | None = None,
        ax: Axes | None = None,
        *,
        colors: Any = None,
        title: str | None = None,
    ) -> Axes:
        """Draw the criterion after each step, with the term that entered or left, its F and p.

        Parameters
        ----------
        kind : {"path"}, optional
            The criterion along the steps is the only kind.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        colors : mapping, sequence, str or Colormap, optional
            Colours by class, in the order of the classes, or a colormap of matplotlib or its name.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes

        Examples
        --------
        >>> from discrim import stepwise
        >>> from discrim.datasets import load_iris
        >>> stepwise("species ~ .", load_iris()).plot().get_xlabel()
        "Wilks' lambda"
        """
        return draw_plot((self,), STEPWISE_PLOTS, kind, PlotOptions(ax, colors=colors, title=title))

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The steps and the choice as a summary, which prints as text and is shown as tables in notebooks.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order: "steps", which is all of it by default, and, of steps by
            the partial F, "overall", "in_analysis", "not_in_analysis" and "pairs", as SPSS prints them; or
            "all".

        Returns
        -------
        Summary
            Only "steps" by default; DataError for an unknown key, or for a table that the criterion lacks.
        """
        section_builders: dict[str, Callable[[], Section | Pairs]] = {"steps": self._steps_section}
        if self._make_tables is not None:
            section_builders |= {name: partial(self._table_section, name) for name in STEP_TABLES}
        title = f"Choice of terms by {self.criterion}: {self.formula}"
        return summarize(
            title,
            SectionFunctions(
                section_builders, shown_only_by_name=STEP_TABLES if len(section_builders) > 1 else ()
            ),
            pick=sections,
        )

    def _steps_section(self) -> Section:
        """Return the section of the table of steps, with notes on the limits and the chosen terms."""
        chosen = self._fit.formula if self._fit is not None else "none: no term meets the criterion"
        note = f"{self._note} Chosen: {chosen}."
        if self._make_tables is not None:
            note += " Because terms were selected, p ranks them and is not a valid test."
        if self._fit is not None:
            note += " error_rates() and cross_validate() repeat the search in each fold."
        if self._fit is not None and self._fit.nobs != self._nobs:
            rows = format_count(self._nobs)
            fitted = format_count(self._fit.nobs)
            note += f" Chosen with the {rows} rows that are complete in all candidates; fitted to {fitted}."
        # The column of another criterion replaces columns that are redundant or seldom needed.
        hidden_columns = [] if self.criterion in ("wilks", "cv", "aic", "bic") else ["terms_in", "ascc"]
        table = merge_pair_columns(self.steps.drop(columns=hidden_columns))
        return Section("Steps", table, STEP_FORMATS, headings=SHARED_HEADINGS, note=note, source=".steps")

    def _table_section(self, name: str) -> Section:
        """Return the section of the table of the steps with this name, a key of `STEP_TABLES`."""
        title, note = STEP_TABLES[name]
        table = merge_pair_columns(getattr(self._step_tables(), name))
        return Section(title, table, STEP_FORMATS, note=note, source=f".{name}")


STEP_FORMATS: dict[Any, Any] = {
    **dict.fromkeys(["action", "term", "between"], "text"),
    **dict.fromkeys(["p", "p_change"], "tail"),
    **dict.fromkeys(["partial_R2", "wilks", "ascc", "error", "minresid"], "share"),
    **dict.fromkeys(["tolerance", "min_tolerance"], "share"),
    **dict.fromkeys(["terms_in", "columns", "df1", "df"], "count"),
    **dict.fromkeys(["F", "D2", "deviance", "change", "aic", "bic"], "z"),
}
"""Formats of the columns of all tables in the summary."""

STEP_TABLES = {
    "overall": ("Wilks' lambda", "Rao's F, exact for two or three classes."),
    "in_analysis": ("Terms in the analysis", "F to remove; the criterion is its value without the term."),
    "not_in_analysis": ("Terms not in the analysis", "F to enter; the criterion is its value with the term."),
    "pairs": ("Pairs of classes", "Hotelling's F of the squared Mahalanobis distance D2."),
}
"""Titles and notes of the sections of the tables of each step, by name of the table."""

CRITERION_NAMES = {
    "wilks": "Wilks' lambda",
    "mahalanobis": "Smallest D2 between two classes",
    "maxminf": "Smallest F between two classes",
    "minresid": "Unexplained variation, summed over pairs of classes",
    "rao": "Rao's V",
    "cv": "Cross-validated error, ± one standard error",
    "aic": "AIC",
    "bic": "BIC",
}
"""Labels of the axis of the plot by criterion."""

ACTION_SIGNS = {"entered": "+ ", "removed": "\u2212 ", "included": "", "start": ""}
"""Signs in front of the terms in the plot by action."""


@plot("path", "the criterion after each step", data=False)
def steps_plot(results: Any, options: PlotOptions) -> Axes:
    """Draw the criterion after each step of a choice of terms, with a standard error for "cv"."""
    table = results.steps
    by_error = results.criterion == "cv"
    column = {"cv": "error"}.get(results.criterion, results.criterion)
    value = table[column].to_numpy(dtype=np.float64)
    standard_errors = table["se"].to_numpy(dtype=np.float64) if by_error else np.full(len(table), np.nan)
    texts = [f"{n_terms} in" for n_terms in table["terms_in"]]
    if "F" in table:
        tails = [f"{p:.2g}" if p >= 1e-15 else "< 1e-15" for p in table["p"]]
        texts = [f"F {f:.3g}, p {tail}" for f, tail in zip(table["F"], tails, strict=True)]
    lines = pd.DataFrame(
        {"value": value, "low": value - standard_errors, "high": value + standard_errors, "text": texts}
    )
    lines["name"] = [ACTION_SIGNS[row.action] + row.term for row in table.itertuples()]
    n_terms = len(results.selected)
    title = f"Steps of the choice of terms: {n_terms} chosen"
    if not len(lines):
        title = "No term was chosen"
    signs = options.signs([results.criterion])
    return draw_steps(lines, (CRITERION_NAMES[results.criterion], title), ax=options.ax, signs=signs)


STEPWISE_PLOTS = (steps_plot,)
