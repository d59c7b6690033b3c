"""The verb `stepwise`: which terms of a formula tell the classes apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes
from discrim.core.numerics.progress import late_bar
from discrim.core.scatter.covariance import dependencies
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.rows import read
from discrim.frame.table import rows_of
from discrim.inference.resampling import drawn_seed
from discrim.inference.selection import Partial, SelectedColumns
from discrim.models.comparing.stepwise_anew import anew_by_calls, anew_by_moments
from discrim.models.comparing.stepwise_ic import check_verb_options, included, model_for
from discrim.models.fits.displayed import Shown, displayed
from discrim.models.fits.fit import Fit, Selection
from discrim.models.fits.reading import (
    NaAction,
    check_word,
    collinear_error,
    is_wide,
    listed,
    refuse_no_freedom,
    separation_sentence,
    told,
    usable_rows,
)
from discrim.models.judging.assessment import Counting, methods_or_data, table_and_method
from discrim.models.kinds import STEPS
from discrim.models.pictures.pictured import drawn
from discrim.models.regression.logistic_inference import parts_of
from discrim.models.results.judging import Judging

if TYPE_CHECKING:
    from discrim.models.comparing.cross_validation import CrossValidation
    from discrim.models.results.assessed import Assessment
    from discrim.models.results.results import ClassifierResults
    from discrim.report.grid import Pairs, Section
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Summary


Criterion = Literal["wilks", "mahalanobis", "maxminf", "rao", "cv", "aic", "bic"]
Direction = Literal["forward", "backward", "both"]
Counted = Literal["apparent", "cv", "loo", "632+"]
Walked = Callable[[ClassMoments], "tuple[_Path, list[str], pd.DataFrame]"]

FEW_VALUES = {"calls": 2**16, "moments": 2**24}
"""Values of the candidates up to which ten choices are a matter of a second or two."""

JUDGES = ("apparent", "cv", "loo", "632+")
"""Error rates of a choice; any other holds the terms, and is asked of the fit."""


def stepwise(
    formula: str,
    data: Any,
    *,
    direction: Direction = "both",
    criterion: Criterion = "wilks",
    enter: float = 0.15,
    stay: float = 0.15,
    include: Sequence[str] = (),
    verb: Callable[..., ClassifierResults] | str | None = None,
    options: Mapping[str, Any] | None = None,
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
        Response and predictors in R's language of formulas, such as `species ~ .`; the page on formulas
        describes it. The terms of the right side are the candidates, each with all its columns.
    data : table or source of tables
        A DataFrame of pandas, or any other table that narwhals knows. A source is read part by part and may
        be larger than memory: an Arrow dataset or stream, a LazyFrame of polars, a relation of DuckDB, a
        DataFrame of Dask, a path to CSV or Parquet (a file, a folder, a pattern, or a list of them), a
        function that returns an iterator of frames, or such an iterator itself, which can be read only once.
        The rows are read more than once, so that such an iterator, or a stream, is refused.
    direction : {"forward", "backward", "both"}
        "forward" adds terms. "backward" starts with all terms and removes some. "both" adds terms, and after
        each step removes those that no longer stay.
    criterion : {"wilks", "mahalanobis", "maxminf", "rao", "cv", "aic", "bic"}
        What the term that enters makes best: Wilks' lambda, that is, the largest partial F ("wilks"); the
        smallest squared distance D2 between two classes ("mahalanobis"), or the smallest F between two
        ("maxminf"); Rao's V ("rao"); the cross-validated error of `verb` ("cv"); or, as in R's `step`, the
        AIC or BIC of `discrim.logistic`. With the last two no term leaves that another one contains, such as
        `a` where there is `a:b`.
    enter, stay : float
        Levels of significance: a term enters where the p-value of its partial F is at most `enter`, and has
        to leave where it is above `stay`. "cv", "aic" and "bic" do not use them and go on as long as they
        fall.
    include : sequence of str
        Terms that are always in: names of columns, or terms as the formula writes them.
    verb : callable or str, optional
        The model of the final fit, and of "cv": any verb of the package, or its name. By default it is
        `discrim.lda`, and `discrim.logistic` for "aic" and "bic".
    options : mapping, optional
        Arguments of the verb, by name.
    folds : int
        Number of folds of criterion="cv"; all candidates are judged on the same folds.
    seed : int, optional
        Seed by which the rows are dealt to folds. Without it each call deals them differently.
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
    StepwiseResults
        The steps use the rows that are complete in all candidates; the fit uses every row that is complete in
        the chosen ones.

    Raises
    ------
    DataError
        A criterion, direction or term is unknown; a level of significance is outside 0 to 1, or `stay` is
        below `enter`; or a candidate of "aic" or "bic" separates the classes.
    NotSupportedError
        AIC or BIC is asked of a verb whose likelihood is also that of the columns, or of penalized
        coefficients.
    CollinearError
        "backward" starts from columns whose covariance within classes is singular.

    Notes
    -----
    The steps by Wilks' lambda, with F to enter and to remove, are those of Jennrich (1977, in Statistical
    Methods for Digital Computers, 76-95).

    The rows that chose the terms also judge them, so that p-values of the fit are too small, and so are its
    apparent and leave-one-out errors, which hold the terms: the summary of the fit says so. Methods of the
    result choose the terms anew, by the same criterion and options, from the rows that are left:
    `error_rates`, `confusion`, `assess` and `cross_validate`. So do "cv" and "632+" of the fit, and
    `discrim.cross_validate` of it. Choices by moments (the four criteria of the partial F, and a fit of
    pooled or class covariances) take no further pass over the rows; every other choice is a call a fold. See
    Ambroise & McLachlan (2002), Proceedings of the National Academy of Sciences 99, 6562-6566.

    Examples
    --------
    >>> from discrim import stepwise
    >>> from discrim.datasets import load_iris
    >>> stepwise("species ~ .", load_iris()).selected.tolist()
    ['petal_length', 'sepal_width', 'petal_width', 'sepal_length']

    By AIC, as R's `step`:

    >>> from discrim.datasets import load_penguins
    >>> found = stepwise("sex ~ bill_depth_mm + island + year", load_penguins(), criterion="aic")
    >>> found.steps["AIC"].round(2).tolist()
    [463.61, 416.89, 378.25]

    Of forty columns of noise some are chosen, which seem to tell the classes apart; chosen anew, they do not:

    >>> import numpy as np
    >>> import pandas as pd
    >>> noise = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 40)))
    >>> found = stepwise("y ~ .", noise.rename(columns="x{}".format).assign(y=["a", "b"] * 30))
    >>> found.error_rates(["apparent", "cv"], seed=1)[["estimate", "choice"]].round(2)
              estimate choice
    method
    apparent      0.25   held
    cv            0.53   anew
    """
    model = model_for(verb, criterion)
    arguments: dict[str, Any] = {"levels": levels, "na_action": na_action, "functions": functions}
    # Not every verb has weights.
    arguments |= {} if weights is None else {"weights": weights}
    check_verb_options(direction, criterion, enter, stay, model, options, arguments)
    if criterion == "cv":
        seed = drawn_seed(seed)
    again = _Again(
        formula,
        data,
        weights,
        {
            "direction": direction, "criterion": criterion, "enter": enter, "stay": stay, "include": include,
            "verb": verb, "options": options, "folds": folds, "seed": seed, "functions": functions,
        },
    )  # fmt: skip
    blocks = read(formula, data, weights=weights, levels=levels, functions=functions)
    # Of few rows a root with as many rows says all that a scatter does.
    blocks, moments = usable_rows(blocks, "thin" if is_wide(blocks) else "pooled", na_action)
    design = blocks.design
    texts = {part.label: part.text for part in design.parts()}
    parts = {label: np.array(columns) for label, columns in parts_of(blocks).items()}
    include = included(blocks, include)
    arguments = dict(options or {}) | arguments

    def fit(terms: Sequence[str]) -> ClassifierResults:
        shorter = f"{design.response_code} ~ {' + '.join(texts[term] for term in terms)}"
        fitted: ClassifierResults = model(shorter, data, **arguments)
        if not hasattr(fitted, "error_rates"):
            raise DataError(f"verb={told(model)} gives no fit: give a verb, such as discrim.qda.")
        return fitted

    search = _Search(criterion, direction, include, enter, stay, options or {}, folds, seed)
    found = search.steps(blocks, moments, parts, fit)
    fitted = fit(found.chosen) if found.chosen else None
    if fitted is not None:
        fitted._fit = _selected(fitted._fit, found, criterion, blocks, parts, again)
    return StepwiseResults(
        formula, criterion, found.chosen, found.steps, found.note, fitted, moments.total, found.trace
    )


def _selected(
    fit: Fit[Any],
    found: _Found,
    criterion: str,
    blocks: Blocks,
    parts: Mapping[str, Codes],
    again: _Again,
) -> Fit[Any]:
    """The fit to the chosen columns, which says that its rows chose them and how to choose anew."""
    words = f"stepwise by {criterion}, of {len(parts)} terms"
    choice, anew = f"the columns ({words})", None
    if found.walk is not None:
        anew = anew_by_moments(fit, blocks, parts, partial(_terms, found.walk), choice)
    way = "calls" if anew is None else "moments"
    few = blocks.rows.at_hand * len(blocks.terms) <= FEW_VALUES[way]
    quick = few and found.walk is not None and fit.refits.spread is not None
    if anew is None:
        anew = anew_by_calls(fit, blocks, again.of(blocks), choice)
    return replace(fit, selection=Selection(words, anew, quick))


class _Found(NamedTuple):
    """Where a choice ended.

    Attributes
    ----------
    chosen : list of str
        Terms, in the order in which they entered.
    steps : DataFrame by step
    note : str
        How the steps were made.
    trace : DataFrame, optional
        What each step looked at.
    walk : callable, optional
        The same choice by other moments, where it is one by moments.
    """

    chosen: list[str]
    steps: pd.DataFrame
    note: str
    trace: pd.DataFrame | None = None
    walk: Walked | None = None


@dataclass(frozen=True, slots=True)
class _Search:
    """How terms are chosen; as of `stepwise`, checked."""

    criterion: Criterion
    direction: Direction
    include: list[str]
    enter: float
    stay: float
    options: Mapping[str, Any]
    folds: int
    seed: int | None

    def steps(
        self,
        blocks: Blocks,
        moments: ClassMoments,
        parts: Mapping[str, Codes],
        fit: Callable[[Sequence[str]], ClassifierResults],
    ) -> _Found:
        """The choice by the rows that are complete in all candidates, whose terms have columns `parts`."""
        criterion, direction, include = self.criterion, self.direction, self.include
        if criterion in ("aic", "bic"):
            from discrim.models.comparing.stepwise_ic import by_criterion

            chosen, steps, trace = by_criterion(blocks, moments, criterion, include, direction, self.options)
            return _Found(chosen, steps, "The search stops where no step lowers the criterion.", trace)
        if criterion == "cv":
            from discrim.models.comparing.stepwise_anew import by_error

            chance = 1 - float(moments.counts.max() / moments.total)
            chosen, steps = by_error(fit, list(parts), include, direction, chance, self.folds, self.seed)
            note = f"Error by {self.folds}-fold cross-validation; without terms that of the largest class."
            return _Found(chosen, steps, note)
        if direction == "backward":
            refuse_no_freedom(moments, blocks.terms, diagonal=False)
            found = dependencies(moments)
            if found:
                raise collinear_error(found, blocks.terms, instead='pass direction="both"')
        walk = partial(_walked, parts, criterion, direction, include, self.enter, self.stay)
        path, chosen, steps = walk(moments)
        note = f"Enters at p <= {self.enter:g}, leaves at p > {self.stay:g} (partial F)."
        if blocks.constant:
            note += f" Left out, constant: {listed(blocks.constant)}."
        if path.excluded:
            note += (
                " Left out, constant within classes or there a combination of those chosen: "
                f"{listed(path.excluded)}."
            )
            still = [each for each in dependencies(moments, diagonal=True) if each.separates]
            note += f" {separation_sentence(still, blocks.terms)}" if still else ""
        return _Found(chosen, steps, note, walk=walk)


@dataclass(frozen=True, slots=True)
class _Again:
    """The same choice by some of the rows.

    Attributes
    ----------
    data : table
        As the user gave it.
    options : dict
        Arguments of `stepwise`.
    """

    formula: str
    data: Any
    weights: Any
    options: dict[str, Any]

    def of(self, blocks: Blocks) -> _Again:
        """The same of the table as a fit holds it, with the classes in their order."""
        options = self.options | {"levels": list(blocks.design.levels)}
        return replace(self, data=blocks.table.data, options=options)

    def __call__(self, rows: Codes) -> StepwiseResults:
        """The choice by rows at some positions."""
        weights = self.weights
        if weights is not None and not isinstance(weights, str):
            weights = np.asarray(weights)[rows]
        return stepwise(self.formula, rows_of(self.data, rows), weights=weights, **self.options)


def _walked(
    parts: Mapping[str, Codes],
    criterion: str,
    direction: Direction,
    include: list[str],
    enter: float,
    stay: float,
    moments: ClassMoments,
) -> tuple[_Path, list[str], pd.DataFrame]:
    """The steps by partial F of these moments: the path, the terms chosen and the table of steps."""
    path = _Path(SelectedColumns(moments), parts, criterion, enter, stay)
    return path, *path.walk(direction, include)


def _terms(walk: Walked, moments: ClassMoments) -> list[str]:
    return walk(moments)[1]


class _Path:
    """The steps of one choice by partial F."""

    def __init__(
        self, held: SelectedColumns, parts: Mapping[str, Codes], criterion: str, enter: float, stay: float
    ) -> None:
        self._held, self._parts, self._criterion = held, parts, criterion
        self._enter, self._stay = enter, stay
        self._chosen: list[str] = []
        self._rows: list[dict[str, Any]] = []
        self.excluded: list[str] = []

    def walk(self, direction: Direction, include: list[str]) -> tuple[list[str], pd.DataFrame]:
        """Terms in the order in which they entered, and the table of steps."""
        with late_bar(0, "steps") as tell:
            return self._walked(direction, include, tell)

    def _walked(
        self, direction: Direction, include: list[str], tell: Callable[[], None]
    ) -> tuple[list[str], pd.DataFrame]:
        for term in self._parts if direction == "backward" else ():
            self._move(term)
        for term in include if direction != "backward" else ():
            if self._held.dependent(self._parts[term]):
                raise CollinearError(
                    f"The term {term!r} is constant, or a combination of those before it, within classes: "
                    "leave it out of include=."
                )
            self._step("included", term)
        moved = True
        # Each pass changes the chosen set; a set that came back would go round for ever.
        seen = {frozenset(self._chosen)}
        while moved:
            tell()
            moved = direction != "forward" and self._remove(include)
            if not moved and direction != "backward":
                moved = self._add()
            state = frozenset(self._chosen)
            if moved and state in seen:
                break
            seen.add(state)
        columns = [
            "step",
            "action",
            "term",
            "terms_in",
            "partial_R2",
            "F",
            "df1",
            "df2",
            "p",
            "wilks",
            "ascc",
        ]
        columns += [] if self._criterion == "wilks" else [self._criterion]
        return self._chosen, pd.DataFrame(self._rows, columns=columns).set_index("step")

    def _remove(self, include: list[str]) -> bool:
        free = [term for term in self._chosen if term not in include]
        tests = self._tests(free)
        weak = max(tests, key=lambda term: tests[term].pvalue, default=None)
        if weak is None or tests[weak].pvalue <= self._stay:
            return False
        self._step("removed", weak)
        return True

    def _add(self) -> bool:
        chosen = {*self._chosen}
        open_terms = [term for term in self._parts if term not in chosen]
        independent = [term for term in open_terms if not self._held.dependent(self._parts[term])]
        held = {*independent}
        self.excluded = [term for term in open_terms if term not in held]
        tests = self._tests(independent)
        ready = [term for term, test in tests.items() if test.df2 > 0 and test.pvalue <= self._enter]
        if not ready:
            return False
        if self._criterion == "wilks":
            best = min(ready, key=lambda term: (tests[term].pvalue, -tests[term].F))
        else:
            best = max(ready, key=lambda term: self._held.gain(self._parts[term], self._criterion))
        self._step("entered", best)
        return True

    def _tests(self, terms: list[str]) -> dict[str, Partial]:
        return dict(zip(terms, self._held.partials([self._parts[term] for term in terms]), strict=True))

    def _step(self, action: str, term: str) -> None:
        test = self._tests([term])[term]
        self._move(term)
        self._rows.append(self._row(action, term, test))

    def _move(self, term: str) -> None:
        self._held.move(self._parts[term])
        if term in self._chosen:
            self._chosen.remove(term)
        else:
            self._chosen.append(term)

    def _row(self, action: str, term: str, test: Partial) -> dict[str, Any]:
        held = self._held
        row = {"step": len(self._rows) + 1, "action": action, "term": term, "terms_in": len(self._chosen)}
        row |= {"partial_R2": 1 - test.wilks, "F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
        row |= {"wilks": held.value("wilks"), "ascc": held.pillai / (held.n_classes - 1)}
        return row | {self._criterion: held.value(self._criterion)}


class _Anew(Judging):
    """Judges a fit whose refits choose anew."""

    def __init__(self, fit: Fit[Any]) -> None:
        self._fit, self.classes = fit, fit.classes


class StepwiseResults(Shown):
    """Terms chosen step by step, and the fit to them.

    Attributes
    ----------
    formula : str
        The formula of the candidates.
    criterion : str
    selected : Index
        The chosen terms, in the order in which they entered.
    steps : DataFrame by step
        The term that entered or was removed, its partial test, and criteria of the terms that are in after
        the step: Wilks' lambda, the average squared canonical correlation (`ascc`), and the criterion asked
        for. For AIC and BIC it has the deviance, the change of the deviance, and the degrees of freedom of
        the change.
    fit : fitted object
        The fit of the verb to the chosen terms.
    """

    def __init__(
        self,
        formula: str,
        criterion: str,
        selected: list[str],
        steps: pd.DataFrame,
        note: str,
        fit: ClassifierResults | None,
        nobs: float,
        trace: pd.DataFrame | None = None,
    ) -> None:
        self.formula, self.criterion = formula, criterion
        self.selected = pd.Index(selected, name="term", dtype=object)
        self._steps = steps
        self._note, self._nobs, self._trace = note, nobs, trace
        self._fit = fit

    @property
    @displayed()
    def steps(self) -> pd.DataFrame:
        """What was done, step by step."""
        return self._steps.copy()

    @property
    @displayed(deviance="z")
    def trace(self) -> pd.DataFrame:
        """What each step of "aic" or "bic" looked at: df, deviance and criterion, as R's `step` prints them.

        Raises
        ------
        NotSupportedError
            The criterion is another one.
        """
        if self._trace is None:
            raise NotSupportedError(
                f'A choice by {self.criterion} keeps no trace: see steps, or use criterion="aic".'
            )
        return self._trace.copy()

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
                "No term was chosen, so there is nothing to fit: raise enter=, or include= a term."
            )
        return self._fit

    # ---- judged with the terms chosen anew

    def _judge(self, method: str | None) -> Judging:
        """What leaves rows out with the terms chosen anew: of single rows the fit itself holds them."""
        return _Anew(self.fit._fit.choosing_anew()) if method == "loo" else self.fit

    @displayed(estimate="share", se="share", low="share", high="share")
    def error_rates(
        self,
        methods: Sequence[Counted] | None = None,
        data: Any = None,
        *,
        prior: Any = None,
        costs: Any = None,
        level: float = 0.95,
        folds: int = 10,
        replicates: int = 200,
        seed: int | None = None,
        by_class: bool = False,
        weights: Any = None,
        refit_prior: bool | None = None,
    ) -> pd.DataFrame:
        """Estimates of the error rate of the choice and its fit, the terms chosen anew from the rows left.

        Parameters
        ----------
        methods : sequence of str, optional
            By default "apparent" and "cv", or with `data` only the error on its rows. "apparent" is the error
            of the fit on its own rows. "cv" leaves folds out, "loo" each row, and "632+" is Efron and
            Tibshirani's bootstrap; all three choose the terms anew each time.
        data : table, optional
            New rows with their response, whose error under the fit is the row "new rows". It may come first.
        prior : optional
            Shares of the classes by which the errors within classes are weighted, in any form that a verb
            takes. By default they are a prior that was given to the verb; without one, rows count as they
            are.
        costs : DataFrame or (K, K) array, optional
            Cost of giving a row of one class (row) the label of another (column). The label of least expected
            cost is then given. The rate is then the mean cost of that rule, including what a right label
            costs.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        folds : int
            Number of folds of "cv".
        replicates : int
            Number of bootstrap samples of "632+".
        seed : int, optional
            Seed of the folds of "cv" and of the samples of "632+".
        by_class : bool
            Whether to add a column for each class with the rate within it.
        weights : column name or vector, optional
            Frequencies of the rows of `data`.
        refit_prior : bool, optional
            Whether a prior of class proportions is estimated again without the rows left out. By default
            models of the rows within classes hold it, as R's MASS does, while `logistic`, whose constants
            contain it, and `knn` estimate it again. A prior that was given is always held.

        Returns
        -------
        DataFrame
            By method, as `error_rates` of a fit; `choice` says "anew" where the terms were chosen anew, and
            "held" where the rows that are judged have chosen them.

        Raises
        ------
        DataError
            No term was chosen; a method is unknown; or the rows are too few for the folds.
        NotSupportedError
            Without some fold there is no fit, or the rows are read part by part and a choice takes a call.
        """
        usual = methods is None and data is None
        methods, data = methods_or_data(methods, data)
        named: list[Any] = [methods] if isinstance(methods, str) else list(methods)
        named = ["apparent", "cv"] if usual else named
        for method in named:
            check_word("methods", method, JUDGES)
        shared: dict[str, Any] = {"prior": prior, "costs": costs, "level": level, "folds": folds}
        shared |= {"replicates": replicates, "seed": seed, "by_class": by_class, "refit_prior": refit_prior}
        found = [self._judge(method).error_rates([method], **shared) for method in named]
        if data is not None:
            found.append(self.fit.error_rates(data=data, weights=weights, **shared))
        table = pd.concat(found)
        # Those of one table are not kept where others have none.
        notes = [each.attrs["note"] for each in found if "note" in each.attrs]
        if notes:
            table.attrs["note"] = " ".join(notes)
        return table

    @displayed(every="count")
    def confusion(
        self,
        data: Any = None,
        method: Counting | None = None,
        *,
        costs: Any = None,
        folds: int = 10,
        seed: int | None = None,
        refit_prior: bool | None = None,
    ) -> pd.DataFrame:
        """Actual classes (rows) by predicted classes (columns), the terms chosen anew from the rows left.

        Parameters
        ----------
        data : table, optional
            New rows with their response, predicted by the fit. Without it, the rows of the choice.
        method : {"cv", "loo", "apparent"}, optional
            How the rows of the choice are predicted: by choices and fits without their fold ("cv", the
            default), without each row ("loo"), or by the fit itself ("apparent"). It may come first.
        costs : DataFrame or (K, K) array, optional
            Cost of giving a row of one class (row) the label of another (column). The label of least expected
            cost is then given.
        folds : int
            Number of folds of "cv".
        seed : int, optional
            Seed by which the rows are dealt to folds. Without it each call deals them differently.
        refit_prior : bool, optional
            Whether a prior of class proportions is estimated again without the rows left out. By default
            models of the rows within classes hold it, as R's MASS does, while `logistic`, whose constants
            contain it, and `knn` estimate it again. A prior that was given is always held.

        Returns
        -------
        DataFrame
            Counts, or sums of weights. Rows without a class or a prediction are left out.
        """
        data, method = table_and_method(data, method)
        if data is not None:
            return self.fit.confusion(data, costs=costs)
        method = method or "cv"
        return self._judge(method).confusion(
            method=method, costs=costs, folds=folds, seed=seed, refit_prior=refit_prior
        )

    def assess(
        self,
        data: Any = None,
        method: Counting | None = None,
        *,
        prior: Any = None,
        level: float = 0.95,
        bins: int = 10,
        folds: int = 10,
        seed: int | None = None,
        weights: Any = None,
        refit_prior: bool | None = None,
    ) -> Assessment:
        """Accuracy, kappa, predictive values, areas, calibration, the terms chosen anew from the rows left.

        Parameters
        ----------
        data : table, optional
            New rows with their response, judged by the fit. Without it, the rows of the choice.
        method : {"cv", "loo", "apparent"}, optional
            How the rows of the choice are predicted: by choices and fits without their fold ("cv", the
            default), without each row ("loo"), or by the fit itself ("apparent"). It may come first.
        prior : optional
            Shares of the classes by which figures are weighted, in any form that a verb takes.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        bins : int
            The largest number of bins, of even counts, for the calibration and the parts of Brier's score.
        folds : int
            Number of folds of "cv".
        seed : int, optional
            Seed by which the rows are dealt to folds. Without it each call deals them differently.
        weights : column name or vector, optional
            Frequencies of the rows of `data`.
        refit_prior : bool, optional
            Whether a prior of class proportions is estimated again without the rows left out. By default
            models of the rows within classes hold it, as R's MASS does, while `logistic`, whose constants
            contain it, and `knn` estimate it again. A prior that was given is always held.

        Returns
        -------
        Assessment
        """
        data, method = table_and_method(data, method)
        if data is None and method is None:
            method = "cv"
        return self._judge(method).assess(
            data, method, prior=prior, level=level, bins=bins, folds=folds, seed=seed, weights=weights,
            refit_prior=refit_prior,
        )  # fmt: skip

    def cross_validate(
        self,
        folds: Any = 10,
        repeats: int = 1,
        groups: Any = None,
        seed: int | None = None,
        *,
        refit_prior: bool | None = None,
        permutations: int = 0,
        within: Any = None,
    ) -> CrossValidation:
        """Cross-validate the choice and its fit: both are made anew without each fold.

        Parameters
        ----------
        folds : int, or column name or vector of length n
            Number of folds, or the fold of each row as a label of any kind.
        repeats : int
            How often the rows are dealt to folds.
        groups : column name or vector of length n, optional
            Groups whose rows stay in one fold, as the rows of one patient have to.
        seed : int, optional
            Seed by which the rows are dealt to folds. Where it is not given, one is drawn and kept.
        refit_prior : bool, optional
            Whether a prior of class proportions is estimated again without the rows left out. By default
            models of the rows within classes hold it, as R's MASS does, while `logistic`, whose constants
            contain it, and `knn` estimate it again. A prior that was given is always held.
        permutations : int
            How often the labels are shuffled and all of this is done again, for a permutation test of the hit
            rate. By default there is no test.
        within : column name or vector of length n, optional
            Blocks within which the labels are shuffled.

        Returns
        -------
        CrossValidation
            As of `discrim.cross_validate`. It judges the rows that are complete in all candidates.

        Examples
        --------
        >>> from discrim import stepwise
        >>> from discrim.datasets import load_iris
        >>> found = stepwise("species ~ .", load_iris(), enter=0.01, stay=0.01)
        >>> found.cross_validate(seed=1).table()["estimate"].round(3).to_dict()
        {'error': 0.033, 'log loss': 0.055, 'Brier': 0.036}
        """
        from discrim.models.comparing.cross_validation import cross_validate

        return cross_validate(
            self.fit, folds, repeats, groups, seed, refit_prior=refit_prior, permutations=permutations,
            within=within,
        )  # fmt: skip

    # ---- shown

    def plot(
        self,
        kind: str | None = None,
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
            Axes of matplotlib to draw on; by default those of a new figure.
        colors : mapping, sequence or str, optional
            Colours by class, in the order of the classes, or the name of a colormap of matplotlib.
        title : str, optional
            Title in place of the picture's own; "" for none.

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
        from discrim.models.pictures.options import PictureOptions

        return drawn((self,), STEPS, kind, PictureOptions(ax, colors=colors, title=title))

    def summary(self) -> Summary:
        """The steps and the choice as a summary, which prints as text and is shown as tables in notebooks."""
        from discrim.report.grid import Section
        from discrim.report.tables import summarize

        formats: dict[Any, Any] = dict.fromkeys(["action", "term"], "text") | {"p": "tail", "F": "z"}
        formats |= dict.fromkeys(["partial_R2", "wilks", "ascc", "error"], "share")
        formats |= dict.fromkeys(["terms_in", "df1", "df"], "count")
        formats |= dict.fromkeys(["deviance", "change", "AIC", "BIC"], "z")
        chosen = self._fit.formula if self._fit is not None else "none: no term meets the criterion"
        note = f"{self._note} Chosen: {chosen}."
        if self._fit is not None:
            note += " error_rates() and cross_validate() of this choice make it anew from the rows left."
        if self._fit is not None and self._fit.nobs != self._nobs:
            note += (
                f" Chosen on {self._nobs:g} rows complete in all candidates; fitted to {self._fit.nobs:g}."
            )
        # Its own criterion takes the place of what can be counted or is seldom asked for.
        spare = [] if self.criterion in ("wilks", "cv", "aic", "bic") else ["terms_in", "ascc"]
        shown = self.steps.drop(columns=spare)
        parts: dict[str, Callable[[], Section | Pairs]] = {
            "steps": lambda: Section("Steps", shown, formats, note=note, source=".steps")
        }
        return summarize(f"Choice of terms by {self.criterion}: {self.formula}", parts)
