"""The verb `stepwise`: which terms of a formula tell the classes apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.covariance import dependencies
from discrim.core.numerics.progress import late_bar
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.asked_rows import read
from discrim.inference.selection import Choice, Partial
from discrim.models.comparing.stepwise_options import check_options, included, model_for
from discrim.models.fits.arguments import listed, told
from discrim.models.fits.displayed import displayed
from discrim.models.fits.reading import NaAction, collinear_error, is_wide, refuse_no_freedom, usable_rows
from discrim.models.fits.shown import Shown
from discrim.models.kinds import STEPS
from discrim.models.pictures.pictured import drawn
from discrim.models.regression.logistic_inference import parts_of

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Pairs, Section, Summary

__all__ = ["StepwiseResults", "stepwise"]

Criterion = Literal["wilks", "mahalanobis", "maxminf", "rao", "cv", "aic", "bic"]
Direction = Literal["forward", "backward", "both"]
Positions = NDArray[np.intp]


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

    The rows that chose the terms also judge them, so that p-values are too small, and error rates of the fit
    too: its cross-validation keeps the terms. An honest error needs a new choice without each fold, which is
    a call of `stepwise` with the other rows, and a prediction of its `fit` for those of the fold.

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
    """
    model = model_for(verb, criterion)
    arguments: dict[str, Any] = {"levels": levels, "na_action": na_action, "functions": functions}
    # Not every verb has weights.
    arguments |= {} if weights is None else {"weights": weights}
    check_options(direction, criterion, enter, stay, model, options, arguments)
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

    trace = None
    if criterion in ("aic", "bic"):
        from discrim.models.comparing.stepwise_ic import by_criterion

        chosen, steps, trace = by_criterion(blocks, moments, criterion, include, direction, options or {})
        note = "The search stops where no step lowers the criterion."
    elif criterion == "cv":
        from discrim.models.comparing.stepwise_cv import by_error

        chance = 1 - float(moments.counts.max() / moments.total)
        chosen, steps = by_error(fit, list(parts), include, direction, chance, folds, seed)
        note = f"Error by {folds}-fold cross-validation; without terms that of the largest class."
    else:
        if direction == "backward":
            refuse_no_freedom(moments, blocks.terms, diagonal=False)
            found = dependencies(moments)
            if found:
                raise collinear_error(found, blocks.terms, instead='pass direction="both"')
        path = _Path(Choice(moments), parts, criterion, enter, stay)
        chosen, steps = path.walk(direction, include)
        note = f"Enters at p <= {enter:g}, leaves at p > {stay:g} (partial F)."
        if blocks.constant:
            note += f" Left out, constant: {listed(blocks.constant)}."
        if path.excluded:
            note += f" Left out, a combination of those chosen: {listed(path.excluded)}."
    return StepwiseResults(formula, criterion, chosen, steps, note, fit, moments.total, trace)


class _Path:
    """The steps of one choice by partial F."""

    def __init__(
        self, held: Choice, parts: Mapping[str, Positions], criterion: str, enter: float, stay: float
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
        fit: Callable[[Sequence[str]], ClassifierResults],
        nobs: float,
        trace: pd.DataFrame | None = None,
    ) -> None:
        self.formula, self.criterion = formula, criterion
        self.selected = pd.Index(selected, name="term", dtype=object)
        self._steps = steps
        self._note, self._nobs, self._trace = note, nobs, trace
        self._fit = fit(selected) if selected else None

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
        from discrim.models.pictures.asked import Asked

        return drawn(self, STEPS, kind, Asked(ax, colors=colors, title=title))

    def summary(self) -> Summary:
        """The steps and the choice as a summary, which prints as text and is shown as tables in notebooks."""
        from discrim.report.tables import Section, summarize

        formats: dict[Any, Any] = dict.fromkeys(["action", "term"], "text") | {"p": "tail", "F": "z"}
        formats |= dict.fromkeys(["partial_R2", "wilks", "ascc", "error"], "share")
        formats |= dict.fromkeys(["terms_in", "df1", "df"], "count")
        formats |= dict.fromkeys(["deviance", "change", "AIC", "BIC"], "z")
        chosen = self._fit.formula if self._fit is not None else "none: no term meets the criterion"
        note = f"{self._note} Chosen: {chosen}."
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
