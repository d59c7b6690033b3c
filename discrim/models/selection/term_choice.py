"""Stepwise choice of terms: the search itself, and fits whose refits repeat the search.

Terms are chosen by partial F, by the cross-validated error of any verb, or by AIC or BIC. `stepwise` runs the
search. Its fit contains refits that choose terms again, and therefore cross-validation evaluates the whole
procedure and not only the chosen terms. The choice by partial F needs only the moments of the candidates. If
the final fit needs only moments too, the moments of a fold are subtracted from the moments of all rows, and
rows are not read again. In all other cases a refit calls `stepwise` with the remaining rows.

The tables of each step (terms in and not in the model, pairs of classes) are computed on request from the
moments of the candidates and the moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import dependencies
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import chi2_sf, f_sf
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import ColumnSubsetRule, Rule
from discrim.data.table import select_rows
from discrim.design.design_rows import DesignRows
from discrim.design.rows import used_codes
from discrim.errors import CollinearError, DiscrimError, DiscrimWarning, NotSupportedError, sentence
from discrim.inference.selection import MINIMIZED_CRITERIA, PAIR_CRITERIA, PartialTest, SelectedColumns
from discrim.models.base import reading
from discrim.models.base.fit import FittedModel, MissingPolicy, Refits, refit_scorer
from discrim.models.base.labels import class_code
from discrim.models.base.scores import score_chunks
from discrim.models.evaluation.calibrated import calibrated_rule
from discrim.models.regression.logistic_search import check_search, columns_of_terms, without_collinear
from discrim.models.regression.logistic_tests import TermFits

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults

Criterion = Literal["wilks", "mahalanobis", "maxminf", "minresid", "rao", "cv", "aic", "bic"]
Direction = Literal["forward", "backward", "both"]
"""Criteria and directions of the search; see `stepwise`."""

TermSearch = Callable[[ClassMoments], list[str]]
"""Function that runs a search: from the moments of all candidate columns to the chosen terms."""

Move = tuple[str, str, list[str]]
"""Action ("entered" or "removed"), the term that moves, and the terms in the model after the move."""

By = Literal["p", "F", "r2", "v"]
"""Statistics that limits refer to: p-value, F or R2 of a partial test, or the increase of Rao's V."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the partial test of a term that may enter the model, or stay in it.

    Attributes
    ----------
    enter : float
        Largest p-value, or smallest F or partial R2, of a term that enters; NaN if the direction is backward
        and no limit was passed.
    stay : float
        Largest p-value, or smallest F or partial R2, of a term that stays; NaN if the direction is forward
        and no limit was passed.
    by : {"p", "F", "r2"}
        Statistic that `enter` and `stay` refer to.
    tolerance : float, optional
        Smallest tolerance: the share of the variance of a column within classes that the other columns in the
        model do not explain. A term does not enter if one of its columns, or of the columns in the model,
        would have a smaller tolerance.
    v_enter : float, optional
        Smallest increase of Rao's V by a term that enters.
    """

    enter: float
    stay: float
    by: Literal["p", "F", "r2"] = "p"
    tolerance: float | None = None
    v_enter: float | None = None

    def strength(self, test: PartialTest) -> float:
        """Return the statistic that is larger for stronger terms: minus the p-value, F or partial R2."""
        if self.by == "p":
            return -test.pvalue
        return test.F if self.by == "F" else 1 - test.wilks

    def admits(self, test: PartialTest) -> bool:
        """Return whether a partial test meets the limit `enter`; other limits to enter are not checked."""
        return self.strength(test) >= (-self.enter if self.by == "p" else self.enter)

    def keeps(self, test: PartialTest) -> bool:
        """Return whether a partial test meets the limit `stay`, so that the term is not removed."""
        return self.strength(test) >= (-self.stay if self.by == "p" else self.stay)

    def describe(self) -> str:
        """Return sentences on the limits to enter and to stay, for the note under the table of steps."""
        name = {"p": "p", "F": "F", "r2": "partial R2"}[self.by]
        within, outside = ("<=", ">") if self.by == "p" else (">=", "<")
        text = f"Enters at {name} {within} {self.enter:g}, leaves at {name} {outside} {self.stay:g}"
        text += "." if self.by == "F" else " (partial F)."
        if self.v_enter is not None:
            text += f" Adds at least {self.v_enter:g} to Rao's V."
        return text


class Choice(NamedTuple):
    """Result of a search for terms.

    Attributes
    ----------
    terms : list of str
        Chosen terms, in the order in which they entered.
    steps : DataFrame by step
        Action, term and statistics of each step.
    note : str
        Text under the table of steps.
    trace : DataFrame by (step, move), optional
        All moves that a step compared, the best first.
    search_moments : callable, optional
        Function that runs the same search on other moments of the candidates and returns the chosen terms;
        None if the search needs rows.
    make_tables : callable, optional
        Function without arguments that computes the `StepTables`; None if the criterion lacks such tables.
    """

    terms: list[str]
    steps: pd.DataFrame
    note: str
    trace: pd.DataFrame | None = None
    search_moments: TermSearch | None = None
    make_tables: Callable[[], StepTables] | None = None


@dataclass(frozen=True, slots=True)
class StepwiseSearch:
    """Validated options of `stepwise`.

    Attributes
    ----------
    criterion, direction, folds, seed : see `stepwise`
    include : list of str
        Terms that are never removed.
    limits : Limits
        Limits of the choice by partial F.
    options : mapping
        Options of `logistic`, for the choice by AIC or BIC.
    """

    criterion: Criterion
    direction: Direction
    include: list[str]
    limits: Limits
    options: Mapping[str, Any]
    folds: int
    seed: int | None

    def choose_terms(
        self,
        design_rows: DesignRows,
        moments: ClassMoments,
        term_columns: Mapping[str, Codes],
        fit: Callable[[Sequence[str]], ClassifierResults],
    ) -> Choice:
        """Choose terms by the criterion of the search.

        Parameters
        ----------
        design_rows : DesignRows
            Rows without missing values in any candidate.
        moments : ClassMoments
            Moments of these rows.
        term_columns : mapping of str to (q,) int
            Positions of the q columns of each term.
        fit : callable
            Function that fits the verb to some of the terms, for the choice by cross-validated error.

        Returns
        -------
        Choice
            `trace` is None except for AIC and BIC; `search_moments` and `make_tables` are None for the
            criteria "cv", "aic" and "bic".

        Raises
        ------
        CollinearError
            Columns are collinear from the start, or a term of `include` is collinear or below the tolerance.
        NotSupportedError
            An option of `logistic` cannot be combined with AIC or BIC.
        """
        if self.criterion in ("aic", "bic"):
            return self._choose_by_information(design_rows, moments)
        if self.criterion == "cv":
            chance = 1 - float(moments.counts.max() / moments.total)
            return self._choose_by_error(fit, list(term_columns), chance)
        return self._choose_by_partial_f(design_rows, moments, term_columns)

    def _choose_by_partial_f(
        self, design_rows: DesignRows, moments: ClassMoments, term_columns: Mapping[str, Codes]
    ) -> Choice:
        """Choose terms by partial F tests, until no term enters or leaves (`_PartialFSearch`).

        Raises CollinearError if the direction is backward and the columns are collinear.

        Parameters
        ----------
        design_rows : DesignRows
            Rows without missing values in any candidate.
        moments : ClassMoments
            Moments of these rows.
        term_columns : mapping of str to (q,) int
            Positions of the q columns of each term.

        Returns
        -------
        Choice
            With `search_moments` and `make_tables`, without a trace. Its note lists the terms that could not
            enter.
        """
        if self.direction == "backward":
            hint = 'name fewer columns in the formula, or pass direction="both"'
            reading.raise_if_too_few_df(moments, design_rows.terms, diagonal=False, hint=hint)
            collinear = dependencies(moments)
            if collinear:
                raise reading.collinear_error(
                    collinear, design_rows.terms, alternative='pass direction="both"'
                )
        run_search = partial(
            _PartialFSearch, term_columns, self.criterion, self.direction, self.include, self.limits
        )
        search = run_search(moments)
        note = self.limits.describe()
        if design_rows.constant_terms:
            note += f" Left out, constant: {reading.join_labels(design_rows.constant_terms)}."
        if search.excluded:
            note += (
                " Left out, constant within classes or there a combination of those chosen: "
                f"{reading.join_labels(search.excluded)}."
            )
            constant = [
                dependency
                for dependency in dependencies(moments, diagonal=True)
                if dependency.separates_classes
            ]
            note += f" {reading.separation_sentence(constant, design_rows.terms)}" if constant else ""
        if search.below_tolerance:
            labels = reading.join_labels(search.below_tolerance)
            note += f" Left out, with a tolerance below {self.limits.tolerance:g}: {labels}."
        classes = pd.Index(list(design_rows.design.levels))
        start = list(term_columns) if self.direction == "backward" else []
        moves = [term for _, term in search.actions]
        make_tables = partial(step_tables, moments, term_columns, self.criterion, start, moves, classes)
        search_moments = partial(_chosen_terms, run_search)
        return Choice(
            search.entered,
            search.table(classes),
            note,
            search_moments=search_moments,
            make_tables=make_tables,
        )

    def _choose_by_error(
        self, fit: Callable[[Sequence[str]], ClassifierResults], terms: list[str], prior_error: float
    ) -> Choice:
        """Add or remove one term at a time, as long as the cross-validated error decreases.

        A term is also removed if the error stays equal.

        Parameters
        ----------
        fit : callable
            Function that fits the verb to some of the terms.
        terms : list of str
            Candidates, in the order of the formula.
        prior_error : float
            Error of the rule without terms, which always predicts the largest class.

        Returns
        -------
        Choice
            Its `steps` have action, term, terms_in, error and se (NaN without terms).
        """
        include = self.include
        direction = self.direction
        errors_by_terms: dict[frozenset[str], tuple[float, float]] = {frozenset(): (prior_error, np.nan)}

        def error(chosen: Sequence[str]) -> tuple[float, float]:
            """Return the cross-validated error of some terms in any order, and its standard error.

            Both are cached. Without terms they are `prior_error` and NaN.
            """
            key = frozenset(chosen)
            if key not in errors_by_terms:
                # In the order of the formula, because rounding errors depend on the order of columns.
                results = fit([t for t in terms if t in key])
                row = results.error_rates(["cv"], folds=self.folds, seed=self.seed).iloc[0]
                errors_by_terms[key] = float(row["estimate"]), float(row["se"])
            return errors_by_terms[key]

        chosen = list(terms) if direction == "backward" else list(include)
        rows: list[dict[str, Any]] = []

        def record_step(action: str, term: str) -> None:
            """Append a row to `rows`: the step that has led to the terms `chosen`, with error and se."""
            row = {"step": len(rows) + 1, "action": action, "term": term, "terms_in": len(chosen)}
            rows.append(row | dict(zip(("error", "se"), error(chosen), strict=True)))

        if chosen:
            record_step("start", " + ".join(chosen))
        while True:
            moves: list[Move] = []
            if direction != "backward":
                moves += [("entered", t, [*chosen, t]) for t in terms if t not in chosen]
            if direction != "forward":
                moves += [("removed", t, [c for c in chosen if c != t]) for t in chosen if t not in include]
            with Progress(len(moves), f"step {len(rows) + 1}") as progress:
                best = None
                lowest = error(chosen)[0]
                for move in moves:
                    value = error(move[2])[0]
                    # Of equal errors prefer fewer terms.
                    if value < lowest or (value == lowest and move[0] == "removed"):
                        best = move
                        lowest = value
                    progress(1)
            if best is None:
                break
            action, term, chosen = best
            record_step(action, term)
        columns = ["step", "action", "term", "terms_in", "error", "se"]
        note = f"Error by {self.folds}-fold cross-validation; without terms that of the largest class."
        return Choice(chosen, pd.DataFrame(rows, columns=columns).set_index("step"), note)

    def _choose_by_information(self, design_rows: DesignRows, moments: ClassMoments) -> Choice:
        """Add or remove one term of a logistic regression at a time, as long as AIC or BIC decreases.

        Parameters
        ----------
        design_rows : DesignRows
            Rows without missing values in any candidate.
        moments : ClassMoments
            Moments of these rows.

        Returns
        -------
        Choice
            Its `steps` have action, term, terms_in, df, deviance, change and the criterion.
        """
        options = self.options
        other = [
            name for name, value in options.items() if name not in SUPPORTED_OPTIONS and value is not None
        ]
        if other:
            raise NotSupportedError(
                f"AIC and BIC require maximum likelihood estimates and cannot be combined with the option "
                f"{reading.join_labels(other)}.",
                hint='Leave the option out, or use criterion="cv".',
                options={"criterion": "cv"},
            )
        design_rows, moments = without_collinear(
            design_rows,
            moments,
            drop=options.get("collinear") == "drop",
            alternative='pass verb=partial(logistic, collinear="drop")',
        )
        dropped = sorted(set(self.include) - set(columns_of_terms(design_rows)))
        if dropped:
            raise CollinearError(
                "Terms of include= were dropped as combinations of other terms: "
                f"{reading.join_labels(dropped)}.",
                hint="Leave them out of include=.",
            )
        steps = _InformationSearch(
            _logistic_term_fits(design_rows, moments, options),
            self.criterion,
            float(moments.counts.sum()),
            self.include,
        )
        return steps.run(self.direction)


def _chosen_terms(run_search: Callable[[ClassMoments], _PartialFSearch], moments: ClassMoments) -> list[str]:
    """Run a search by partial F on moments and return the chosen terms; a `partial` of it can be pickled."""
    return run_search(moments).entered


class _PartialFSearch:
    """Stepwise selection by partial F tests from the moments of the candidates.

    The constructor runs the search until no term enters or leaves. A backward search starts from all terms,
    which are not recorded as steps.

    Attributes
    ----------
    entered : list of str
        Chosen terms in the order in which they entered.
    excluded : list of str
        Terms that could not enter at the last step because they are constant within classes or linear
        combinations of the chosen terms.
    below_tolerance : list of str
        Terms that could not enter at the last step because a tolerance would fall below the limit.
    """

    def __init__(
        self,
        term_columns: Mapping[str, Codes],
        criterion: str,
        direction: Direction,
        include: list[str],
        limits: Limits,
        moments: ClassMoments,
    ) -> None:
        """Run the search.

        Parameters
        ----------
        term_columns : mapping of str to (q,) int
            Positions of the q columns of each candidate term.
        criterion : str
            Statistic by which the entering term is chosen, such as "wilks" or "rao".
        direction : {"forward", "backward", "both"}
        include : list of str
            Terms that are never removed.
        limits : Limits
            Limits of the partial tests to enter and to stay.
        moments : ClassMoments
            Moments of all candidate columns.
        """
        self._selected = SelectedColumns(moments)
        self._term_columns = term_columns
        self._criterion = criterion
        self._limits = limits
        self.entered: list[str] = []
        self._rows: list[dict[str, Any]] = []
        self.excluded: list[str] = []
        self.below_tolerance: list[str] = []
        self._run(direction, include)

    @property
    def actions(self) -> list[tuple[str, str]]:
        """Action ("included", "entered" or "removed") and term of each step."""
        return [(row["action"], row["term"]) for row in self._rows]

    def table(self, classes: pd.Index) -> pd.DataFrame:
        """Return the table of steps, numbered from 1.

        The columns are action, term, terms_in, partial_R2, F, df1, df2, p, wilks, ascc; the criterion unless
        it is "wilks"; for "rao" change and p_change; and for a criterion that refers to a pair of `classes`
        (labels) class and other.
        """
        columns = ["step", "action", "term", "terms_in", "partial_R2", "F", "df1", "df2", "p", "wilks"]
        columns += ["ascc"] if self._criterion == "wilks" else ["ascc", self._criterion]
        columns += ["change", "p_change"] if self._criterion == "rao" else []
        table = pd.DataFrame(self._rows, columns=[*columns, "pair"]).set_index("step")
        return with_pair_labels(table, classes, self._criterion)

    def _run(self, direction: Direction, include: list[str]) -> None:
        """Enter and remove terms until no step is left, or until a set of terms occurs again.

        Parameters
        ----------
        direction : {"forward", "backward", "both"}
        include : list of str
            Terms that are never removed; unless the direction is backward, they are entered first.
        """
        with Progress(0, "steps") as progress:
            for term in self._term_columns if direction == "backward" else ():
                self._raise_if_below_tolerance(term, 'leave it out, or use direction="both"')
                self._enter_or_remove(term)
            for term in include if direction != "backward" else ():
                if self._selected.is_dependent(self._term_columns[term]):
                    raise CollinearError(
                        f"Within classes, the term {term!r} is constant or a combination of the terms "
                        "before it.",
                        hint="Leave it out of include=.",
                    )
                self._raise_if_below_tolerance(term, "leave it out of include=")
                self._move_and_record("included", term)
            has_changed = True
            # Stop if a set of terms occurs again: the search would repeat itself without end.
            visited = {frozenset(self.entered)}
            while has_changed:
                progress()
                has_changed = direction != "forward" and self._remove_weakest(include)
                if not has_changed and direction != "backward":
                    has_changed = self._enter_best()
                state = frozenset(self.entered)
                if has_changed and state in visited:
                    break
                visited.add(state)

    def _meets_tolerance(self, term: str) -> bool:
        """Return whether no tolerance falls below the limit if the term is added."""
        min_tolerance = self._limits.tolerance
        return (
            min_tolerance is None
            or self._selected.tolerances_with(self._term_columns[term])[1] >= min_tolerance
        )

    def _raise_if_below_tolerance(self, term: str, hint: str) -> None:
        """Raise CollinearError, with the hint, if the term would make a tolerance fall below the limit."""
        if not self._meets_tolerance(term):
            tolerance = self._selected.tolerances_with(self._term_columns[term])[1]
            raise CollinearError(
                f"With the term {term!r} the smallest tolerance within classes is {tolerance:.3g}, below "
                f"tolerance={self._limits.tolerance:g}.",
                hint=sentence(hint),
            )

    def _remove_weakest(self, include: list[str]) -> bool:
        """Remove the weakest term outside `include` if it does not meet the limit `stay`.

        Returns whether a term was removed.
        """
        limits = self._limits
        tests = self._partial_tests([term for term in self.entered if term not in include])
        weakest = min(tests, key=lambda term: limits.strength(tests[term]), default=None)
        if weakest is None or limits.keeps(tests[weakest]):
            return False
        self._move_and_record("removed", weakest)
        return True

    def _enter_best(self) -> bool:
        """Enter the best admissible term and update the excluded terms; return False without such a term.

        By "wilks" the best has the smallest p-value and, if tied, the largest F; otherwise see
        `_best_candidate`.
        """
        chosen = {*self.entered}
        candidates = [term for term in self._term_columns if term not in chosen]
        dependent = {term for term in candidates if self._selected.is_dependent(self._term_columns[term])}
        self.excluded = [term for term in candidates if term in dependent]
        candidates = [term for term in candidates if term not in dependent]
        self.below_tolerance = [term for term in candidates if not self._meets_tolerance(term)]
        tests = self._partial_tests([term for term in candidates if term not in self.below_tolerance])
        ready = [term for term, test in tests.items() if test.df2 > 0 and self._limits.admits(test)]
        if self._criterion == "wilks":
            best = min(ready, key=lambda term: (tests[term].pvalue, -tests[term].F), default=None)
        else:
            best = self._best_candidate(ready)
        if best is None:
            return False
        self._move_and_record("entered", best)
        return True

    def _best_candidate(self, ready: list[str]) -> str | None:
        """Return the term of `ready` with the best criterion.

        None if `ready` is empty, or if there is a limit `v_enter` and no term increases Rao's V by it.
        """
        values = {
            term: self._selected.criterion_with_term(self._term_columns[term], self._criterion).value
            for term in ready
        }
        if self._limits.v_enter is not None:
            min_value = self._selected.criterion_value("rao").value + self._limits.v_enter
            values = {term: value for term, value in values.items() if value >= min_value}
        sign = -1 if self._criterion in MINIMIZED_CRITERIA else 1
        return max(values, key=lambda term: sign * values[term], default=None)

    def _partial_tests(self, terms: list[str]) -> dict[str, PartialTest]:
        """Return the partial test of each term by its name: to remove it if selected, else to enter it."""
        return dict(
            zip(
                terms, self._selected.partial_tests([self._term_columns[term] for term in terms]), strict=True
            )
        )

    def _move_and_record(self, action: str, term: str) -> None:
        """Enter or remove a term and record the step.

        Parameters
        ----------
        action : str
            Name of the action in the table of steps: "included", "entered" or "removed".
        term : str
        """
        test = self._partial_tests([term])[term]
        selected = self._selected
        before = selected.criterion_value(self._criterion).value
        self._enter_or_remove(term)
        row = {"step": len(self._rows) + 1, "action": action, "term": term, "terms_in": len(self.entered)}
        row |= {"partial_R2": 1 - test.wilks, "F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
        row |= {
            "wilks": selected.criterion_value("wilks").value,
            "ascc": selected.pillai / (selected.n_classes - 1),
        }
        value, pair = selected.criterion_value(self._criterion)
        row |= {self._criterion: value, "pair": pair}
        if self._criterion == "rao":
            change = value - before
            df = (selected.n_classes - 1) * len(self._term_columns[term])
            row |= {"change": change, "p_change": np.nan if change < 0 else float(chi2_sf(change, df))}
        self._rows.append(row)

    def _enter_or_remove(self, term: str) -> None:
        """Enter a term that is not selected, or remove a selected one."""
        self._selected.add_or_remove(self._term_columns[term])
        if term in self.entered:
            self.entered.remove(term)
        else:
            self.entered.append(term)


SUPPORTED_OPTIONS = ("reference", "bias_reduction", "tol", "maxiter", "prior", "separation", "collinear")
"""Options of `logistic` that the search by AIC or BIC passes on, or that do not affect the deviance."""

MIN_RELATIVE_DECREASE = 1e-7
"""Smallest relative decrease of AIC or BIC that counts; smaller ones may be rounding errors."""


def _logistic_term_fits(
    design_rows: DesignRows, moments: ClassMoments, options: Mapping[str, Any]
) -> TermFits:
    """Validate the options of `logistic`; return an object that fits its models by terms and caches them.

    Options that do not affect the deviance are ignored.

    Parameters
    ----------
    design_rows : DesignRows
        Rows without collinear columns.
    moments : ClassMoments
        Moments of these rows.
    options : mapping
        Options of `logistic` as the user passed them.

    Returns
    -------
    TermFits
        Fits with the options reference, bias_reduction, tol and maxiter, if passed.
    """
    reference = options.get("reference")
    bias_reduction = options.get("bias_reduction", False)
    reading.check_flag("bias_reduction", bias_reduction)
    limits = {name: options[name] for name in ("tol", "maxiter") if name in options}
    check_search(limits.get("tol", 0.5), limits.get("maxiter", 1))
    reference_code = (
        0 if reference is None else class_code(reference, pd.Index(list(design_rows.design.levels)))
    )
    return TermFits(
        design_rows, moments, reference=reference_code, bias_reduction=bool(bias_reduction), **limits
    )


class _InformationSearch:
    """Stepwise selection by AIC or BIC.

    Parameters
    ----------
    fits : TermFits
        Logistic regressions by term, fitted once each.
    criterion : {"aic", "bic"}
    total : float
        Number of rows or sum of weights, for BIC.
    include : list of str
        Terms that are never removed, and neither are the terms that they contain.
    """

    def __init__(self, fits: TermFits, criterion: str, total: float, include: list[str]) -> None:
        self._fits = fits
        self._name = criterion
        self._penalty_per_parameter = 2.0 if criterion == "aic" else float(np.log(total))
        self._rows: list[dict[str, Any]] = []
        self._trace: list[dict[str, Any]] = []
        terms = fits.margins.terms
        # An interaction in `include` requires the terms that it contains.
        self._include = [a for a in terms if a in include or any(terms[a] < terms[b] for b in include)]

    def _criterion_value(self, terms: list[str]) -> float:
        """Return the AIC or BIC of the model with these terms, with the deviance in place of -2 llf."""
        fit = self._fits.fit(terms)
        return fit.deviance + self._penalty_per_parameter * fit.parameters

    def run(self, direction: str) -> Choice:
        """Run the search and return the chosen terms with `steps` and `trace`.

        `direction` is "forward", "backward" or "both". A backward search starts from all terms, any other
        from the terms to include.
        """
        start = list(self._fits.margins.terms) if direction == "backward" else self._include
        chosen = list(start)
        self._record_step("start", " + ".join(chosen) or "none", chosen, None)
        while True:
            best = self._best_move(chosen, direction)
            if best is None:
                break
            action, term, then = best
            self._record_step(action, term, then, chosen)
            chosen = then
        columns = ["step", "action", "term", "terms_in", "df", "deviance", "change", self._name]
        steps = pd.DataFrame(self._rows, columns=columns).set_index("step")
        trace = pd.DataFrame(self._trace, columns=["step", "move", "df", "deviance", self._name])
        note = "The search stops when no step lowers the criterion."
        return Choice(chosen, steps, note, trace.set_index(["step", "move"]))

    def _best_move(self, chosen: list[str], direction: str) -> Move | None:
        """Return the move that decreases the criterion most, and add all moves to the trace.

        Parameters
        ----------
        chosen : list of str
            Terms in the model.
        direction : {"forward", "backward", "both"}

        Returns
        -------
        Move or None
            None if no move decreases the criterion by more than `MIN_RELATIVE_DECREASE`.
        """
        margins = self._fits.margins
        step = len(self._rows) + 1
        moves: list[Move] = []
        if direction != "forward":
            removable = margins.removable(chosen, self._include)
            moves += [("removed", term, [other for other in chosen if other != term]) for term in removable]
        if direction != "backward":
            moves += [("entered", term, [*chosen, term]) for term in margins.addable(chosen)]
        current_value = self._criterion_value(chosen)
        values = [(current_value, "<none>", chosen)]
        best = None
        with Progress(len(moves), f"step {step}") as progress:
            lowest = current_value - MIN_RELATIVE_DECREASE * max(1.0, abs(current_value))
            for action, term, next_terms in moves:
                value = self._criterion_value(next_terms)
                values.append((value, f"{'-' if action == 'removed' else '+'} {term}", next_terms))
                if value < lowest:
                    best = (action, term, next_terms)
                    lowest = value
                progress(1)
        before = self._fits.fit(chosen)
        for value, move, next_terms in sorted(values, key=lambda other: other[0]):
            fit = self._fits.fit(next_terms)
            df = abs(fit.parameters - before.parameters) if next_terms is not chosen else np.nan
            self._trace.append(
                {"step": step, "move": move, "df": df, "deviance": fit.deviance, self._name: value}
            )
        return best

    def _record_step(self, action: str, term: str, terms: list[str], before: list[str] | None) -> None:
        """Record a step, with the absolute changes of the deviance and of the number of parameters.

        Parameters
        ----------
        action : str
            "start", "entered" or "removed".
        term : str
            The term that moved, or the terms at the start.
        terms : list of str
            Terms in the model after the step.
        before : list of str or None
            Terms in the model before the step; None at the start.
        """
        fit = self._fits.fit(terms)
        row: dict[str, Any] = {"step": len(self._rows) + 1, "action": action, "term": term}
        row |= {"terms_in": len(terms), "df": np.nan, "deviance": fit.deviance, "change": np.nan}
        if before is not None:
            last = self._fits.fit(before)
            row["df"] = abs(last.parameters - fit.parameters)
            row["change"] = abs(fit.deviance - last.deviance)
        self._rows.append(row | {self._name: self._criterion_value(terms)})


@dataclass(frozen=True, slots=True, eq=False)
class PriorRule:
    """Rule of a model without columns: the scores of every row are the log prior.

    Attributes
    ----------
    log_prior : (K,) float
        Logarithms of the prior of K classes.
    """

    log_prior: Floats

    def scores(self, x: Floats) -> Floats:
        """Return the log prior as the scores (m, K) of the m rows of x, whose columns do not matter."""
        return np.tile(self.log_prior, (len(x), 1))


# ---- refits to moments


def repeat_choice_by_moments(
    fit: FittedModel[Any],
    design_rows: DesignRows,
    term_columns: Mapping[str, Codes],
    search_moments: TermSearch,
    description: str,
) -> FittedModel[Any] | None:
    """Return a model of all candidates that predicts like `fit`, and chooses terms again at each refit.

    Parameters
    ----------
    fit : FittedModel
        Fit on the chosen columns.
    design_rows : DesignRows
        Rows without missing values in any candidate.
    term_columns : mapping of str to (q,) int
        Positions of the q columns of each term in `design_rows`.
    search_moments : callable
        Function that runs the search on moments of the candidates and returns the chosen terms.
    description : str
        Description of the choice, for notes.

    Returns
    -------
    FittedModel or None
        None if a refit needs the rows and not only moments, or if the rows are few for the columns.
    """
    refits = fit.refits
    required = refits.required_moments(fit)
    # With two folds half of the rows remain; they have to exceed the number of columns.
    has_few_rows = design_rows.n_labelled - len(fit.classes) <= 2 * len(design_rows.terms)
    if (
        required not in ("pooled", "class")
        or has_few_rows
        or refits.kept_if_constant(fit)
        or refits.choice_description(fit)
    ):
        return None
    estimates: Any = fit.estimates
    if design_rows.dropped != fit.dropped:
        keep = np.flatnonzero(np.isin(design_rows.terms, fit.terms))
        moments = reading.class_moments(design_rows, required).select_columns(keep)
        estimates = fit.estimates.refit(moments) or estimates
    new_refits = RefitsByMoments(refits, search_moments, dict(term_columns), description)
    return FittedModel(fit.spec, estimates, design_rows, fit.prior, fit.options, refits_override=new_refits)


@dataclass(frozen=True, eq=False)
class RefitsByMoments(Refits[Any]):
    """Refits to moments that choose terms again.

    Parameters
    ----------
    chosen_refits : Refits
        Refits of the fit on the chosen columns.
    search_moments : callable
        Function that runs the search on moments of the candidates and returns the chosen terms.
    term_columns : mapping of str to (q,) int
        Positions of the q columns of each term.
    description : str
        Description of the choice, for notes.
    """

    chooses_columns = True

    chosen_refits: Refits[Any]
    search_moments: TermSearch
    term_columns: Mapping[str, Codes]
    description: str

    def required_moments(self, fit: FittedModel[Any]) -> ScatterType | None:
        """Return the type of second moments that the chosen model needs; refits need it of all candidates."""
        return self.chosen_refits.required_moments(fit)

    def choice_description(self, fit: FittedModel[Any]) -> str:
        """Return `description`, such as "the columns (stepwise by wilks, of 40 terms)", for any fit."""
        return self.description

    def refit_to_moments(self, fit: FittedModel[Any], moments: ClassMoments) -> Rule | None:
        """Return the rule on the terms that the moments choose, as a function of all candidate columns.

        Without a chosen term it is the `PriorRule`. Returns None if a covariance is singular, a class is
        empty, or the rows are too few for the columns.
        """
        if (moments.rows < 1).any() or moments.rows.sum() - moments.n_classes < moments.n_columns:
            return None
        try:
            chosen = self.search_moments(moments)
        except CollinearError:
            return None
        if not chosen:
            return PriorRule(fit.log_prior())
        keep = np.sort(np.concatenate([self.term_columns[term] for term in chosen]))
        rule = self.chosen_refits.refit_to_moments(
            replace(fit, refits_override=None), moments.select_columns(keep)
        )
        return None if rule is None else ColumnSubsetRule(rule, keep)

    def refit_with_fixed(self, fit: FittedModel[Any], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit to the moments of rows, which chooses terms again: nothing is fixed.

        None if a covariance is singular, a class is empty, or the rows are too few for the columns.
        """
        return self.refit_to_moments(fit, reading.class_moments(rows, self.required_moments(fit) or "pooled"))

    def leave_one_out(self, fit: FittedModel[Any]) -> LeaveOneOutScorer:
        """Return a scorer whose scores are all NaN, which makes the caller refit and choose for each row.

        Raises NotSupportedError if there are too many rows for refits.
        """
        return refit_scorer(fit, "chooses the columns again without each row")


# ---- refits by calls


FitToRows = Callable[[Codes], Any]
"""Function from positions of rows to the results of a fit or of a stepwise choice on these rows."""


def repeat_choice_by_calls(
    fit: FittedModel[Any], design_rows: DesignRows, fit_to_rows: FitToRows, description: str
) -> FittedModel[Any]:
    """Return a model of all candidates that predicts like `fit`, and calls a function at each refit.

    Parameters
    ----------
    fit : FittedModel
        Fit on the chosen columns, or of the chosen model.
    design_rows : DesignRows
        Rows without missing values in any candidate.
    fit_to_rows : callable
        Function from positions of rows to the results of a fit or of a stepwise choice on these rows.
    description : str
        Description of the choice, for notes.

    Returns
    -------
    FittedModel
        A copy of `fit` with `design_rows` and the refits `RefitsByCalls`, which use the prior of `fit`.
    """
    refits = RefitsByCalls(fit.refits, design_rows.table.data, fit_to_rows, description, uses_full_prior=True)
    return replace(fit, design_rows=design_rows, path=None, cache={}, selection=None, refits_override=refits)


@dataclass(frozen=True, eq=False)
class RefitsByCalls(Refits[Any]):
    """Refits by calls of a function with the remaining rows.

    Parameters
    ----------
    base : Refits
        Refits of the fit, which determine its groups and the cause of a failed refit.
    data : table
        All rows.
    fit_to_rows : callable
        Function from positions of rows of the table to the results of a fit or of a stepwise choice.
    description : str
        Description of the choice that each call makes; empty if a call does not choose anything.
    uses_full_prior : bool
        Whether scores use the prior of the fit to all rows instead of the prior of each call.
    """

    refits_by_function = True
    chooses_columns = True

    base: Refits[Any]
    data: Any
    fit_to_rows: FitToRows
    description: str
    uses_full_prior: bool

    def required_moments(self, fit: FittedModel[Any]) -> None:
        """Return None: a refit needs the rows."""

    def choice_description(self, fit: FittedModel[Any]) -> str:
        """Return `description`, such as "the columns (stepwise by wilks, of 40 terms)"; may be empty."""
        return self.description

    def refit(self, fit: FittedModel[Any], rows: DesignRows, *, fixed: bool = False) -> Rule | None:
        """Return None always: a call may fit other columns than the candidates; see `scores_by_call`.

        `rows` and `fixed` are ignored.
        """
        return None

    def groups(self, fit: FittedModel[Any]) -> Codes | None:
        """Return the groups (n,) of the n rows of the table, if folds leave out whole groups; else None."""
        return self.base.groups(fit)

    def refit_error(self, fit: FittedModel[Any], rows: DesignRows) -> DiscrimError | None:
        """Return the error by which a refit of `base` to these rows fails; None if the cause is unclear.

        The function of the calls is not called.
        """
        return self.base.refit_error(fit, rows)

    def scores_by_call(self, fit: FittedModel[Any], train: Codes, test: Codes) -> Floats:
        """Compute scores of held-out rows by a call with training rows.

        Parameters
        ----------
        fit : FittedModel
            Fit to all rows, for the classes and the prior.
        train : (n,) int
            Positions of the n training rows in the table.
        test : (m,) int
            Positions of the m held-out rows in the table.

        Returns
        -------
        (m, K) float
            Scores for the K classes of `fit`: minus infinity for classes without training rows, NaN for rows
            with a missing value or a new level. If the call chooses no term, they are the log prior. Warnings
            of the call are ignored.
        """
        with catch_warnings():
            # Warnings about columns that are constant or rare in one fold do not concern the whole fit.
            simplefilter("ignore", DiscrimWarning)
            results = self.fit_to_rows(train)
            fitted: FittedModel[Any] | None = results._fit
            if not isinstance(fitted, FittedModel):
                # A stepwise choice: its fit, or None if no term was chosen.
                fitted = getattr(fitted, "_fit", None)
            if fitted is None:
                return PriorRule(fit.log_prior()).scores(np.empty((len(test), 0)))
            prior = fit.prior if self.uses_full_prior else None
            method = getattr(results, "method", "plugin")
            return _scores_for_all_classes(fitted, select_rows(self.data, test), fit.classes, prior, method)

    def leave_one_out(self, fit: FittedModel[Any]) -> Floats:
        """Return scores (n, K) for K classes of the n rows that the fit uses, by calls without each row.

        Raises a NotSupportedError if there are too many rows for so many calls, or if the fit lacks rows.
        """
        refit_scorer(fit, "takes a call without each row")
        used = np.flatnonzero(used_codes(fit.require_rows("leave_one_out()")) >= 0)
        scores = []
        with Progress(len(used), "calls without a row") as progress:
            for i in range(len(used)):
                scores.append(self.scores_by_call(fit, np.delete(used, i), used[i : i + 1]))
                progress(1)
        return np.concatenate(scores)


def _scores_for_all_classes(
    fit: FittedModel[Any], data: Any, classes: pd.Index, prior: Floats | None, method: str
) -> Floats:
    """Compute scores of the rows of a table by a fit that may lack some classes.

    Parameters
    ----------
    fit : FittedModel
        Fit to the training rows.
    data : table
        The m rows to score.
    classes : Index
        All K classes.
    prior : (K,) float or None
        Prior to use instead of the prior of the fit. It is ignored if the fit lacks a class.
    method : {"plugin", "calibrated"}
        Whether to return the scores of the model itself, or of its calibrated posteriors.

    Returns
    -------
    (m, K) float
        Minus infinity for classes that the fit lacks; missing for rows with a missing value or a level that
        the fit has not seen.
    """
    design_rows = fit.new_rows(data, MissingPolicy(unseen="missing"))
    class_positions = classes.get_indexer(fit.classes)
    class_prior = (
        prior[class_positions] if prior is not None and len(class_positions) == len(classes) else None
    )
    if method == "calibrated":
        rule: Rule = calibrated_rule(fit, class_prior)
    else:
        rule = (
            fit if class_prior is None or not fit.has_posteriors else fit.with_prior(class_prior)
        ).rule_for(design_rows)
    all_scores = np.full((design_rows.table.nrows, len(classes)), -np.inf)
    for row_slice, scores in score_chunks(design_rows, rule, len(fit.classes)):
        all_scores[row_slice, class_positions] = scores
    all_scores[np.isnan(all_scores).any(axis=1)] = np.nan
    return all_scores


class StepTables(NamedTuple):
    """Tables of the tests at each step of a stepwise choice by partial F.

    The columns are described at the properties of `StepwiseResults` of the same names.

    Attributes
    ----------
    in_analysis, not_in_analysis : DataFrame by (step, term)
        Tolerance, partial F and criterion of the terms in the model, and not in it.
    overall : DataFrame by step
        Wilks' lambda of the chosen terms, with Rao's F.
    pairs : DataFrame by (step, class, other)
        Squared distances of pairs of classes, with Hotelling's F.
    """

    in_analysis: pd.DataFrame
    not_in_analysis: pd.DataFrame
    overall: pd.DataFrame
    pairs: pd.DataFrame


def step_tables(
    moments: ClassMoments,
    term_columns: Mapping[str, Codes],
    criterion: str,
    start: Sequence[str],
    moves: Sequence[str],
    classes: pd.Index,
) -> StepTables:
    """Compute the tables of a stepwise choice by repeating its moves.

    Parameters
    ----------
    moments : ClassMoments
        Moments of all candidate columns.
    term_columns : mapping of str to (q,) int
        Positions of the q columns of each term.
    criterion : str
        Statistic that the search compared, one of the criteria with partial F.
    start : sequence of str
        Terms in the model before the first step.
    moves : sequence of str
        Term that entered or left at each step.
    classes : Index
        Labels of the classes, for the pairs.

    Returns
    -------
    StepTables
        Step 0 is the model before the first move.
    """
    selected = SelectedColumns(moments)
    for term in start:
        selected.add_or_remove(term_columns[term])
    chosen = list(start)
    in_rows = []
    out_rows = []
    overall_rows = []
    pair_tables = []
    with Progress(len(moves) + 1, "steps") as progress:
        for step, move in enumerate(["", *moves]):
            if move:
                selected.add_or_remove(term_columns[move])
                chosen = [term for term in chosen if term != move] + [move] * (move not in chosen)
            in_rows += _terms_in_analysis(selected, term_columns, criterion, step, chosen)
            remaining_terms = [term for term in term_columns if term not in chosen]
            out_rows += _terms_not_in_analysis(selected, term_columns, criterion, step, remaining_terms)
            if chosen:
                test = selected.overall_test()
                row: dict[str, Any] = {"step": step, "terms_in": len(chosen), "columns": len(selected.pivots)}
                row |= {"wilks": test.wilks, "F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
                overall_rows.append(row)
                pair_tables.append(_pair_distances(selected, step, classes))
            progress(1)
    tests = ["F", "df1", "df2", "p"]
    criterion_columns = [criterion, "pair"]
    in_analysis = _indexed_frame(in_rows, ["step", "term"], ["tolerance", *tests, *criterion_columns])
    not_in_analysis = _indexed_frame(
        out_rows, ["step", "term"], ["tolerance", "min_tolerance", *tests, *criterion_columns]
    )
    overall_table = _indexed_frame(overall_rows, ["step"], ["terms_in", "columns", "wilks", *tests])
    no_pairs = pd.DataFrame(columns=["step", "class", "other", "D2", *tests])
    by_pair = (pd.concat(pair_tables) if pair_tables else no_pairs).set_index(["step", "class", "other"])
    return StepTables(
        with_pair_labels(in_analysis, classes, criterion),
        with_pair_labels(not_in_analysis, classes, criterion),
        overall_table,
        by_pair,
    )


def _indexed_frame(rows: list[dict[str, Any]], keys: list[str], columns: list[str]) -> pd.DataFrame:
    """Return a DataFrame of the rows with the index `keys` and the columns `columns`."""
    return pd.DataFrame(rows, columns=[*keys, *columns]).set_index(keys)


def _terms_in_analysis(
    selected: SelectedColumns, term_columns: Mapping[str, Codes], criterion: str, step: int, terms: list[str]
) -> list[dict[str, Any]]:
    """Compute tolerance, F to remove and criterion without the term for each term in the model.

    Parameters
    ----------
    selected : SelectedColumns
        Moments swept by the columns in the model.
    term_columns : mapping of str to (q,) int
        Positions of the q columns of each term.
    criterion : str
    step : int
    terms : list of str
        Terms in the model.

    Returns
    -------
    list of dict
        One row for each term: step, term, tolerance, F, df1, df2, p, the criterion by its name, and "pair".
        The criterion is NaN for a single term; the pair is None if the criterion does not refer to one.
    """
    tolerances = dict(zip(selected.pivots, selected.tolerances().tolist(), strict=True)) if terms else {}
    rows = []
    for term, test in zip(terms, selected.partial_tests([term_columns[term] for term in terms]), strict=True):
        row: dict[str, Any] = {"step": step, "term": term}
        row |= {"tolerance": min(tolerances[column] for column in term_columns[term].tolist())}
        row |= {"F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
        value = np.nan
        pair = None
        if len(terms) > 1:
            value, pair = selected.criterion_without_term(term_columns[term], criterion)
        rows.append(row | {criterion: value, "pair": pair})
    return rows


def _terms_not_in_analysis(
    selected: SelectedColumns, term_columns: Mapping[str, Codes], criterion: str, step: int, terms: list[str]
) -> list[dict[str, Any]]:
    """Compute tolerance, minimum tolerance, F to enter and criterion with the term for each other term.

    Parameters
    ----------
    selected : SelectedColumns
        Moments swept by the columns in the model.
    term_columns : mapping of str to (q,) int
        Positions of the q columns of each term.
    criterion : str
    step : int
    terms : list of str
        Terms not in the model.

    Returns
    -------
    list of dict
        One row for each term: step, term, tolerance, min_tolerance, F, df1, df2, p, the criterion by its
        name, and "pair". If a term depends linearly on the chosen ones, F, df1, df2, p and the criterion are
        NaN, and the key "pair" is absent.
    """
    independent_terms = [term for term in terms if not selected.is_dependent(term_columns[term])]
    tests = dict(
        zip(
            independent_terms,
            selected.partial_tests([term_columns[term] for term in independent_terms]),
            strict=True,
        )
    )
    rows = []
    for term in terms:
        tolerance, min_tolerance = selected.tolerances_with(term_columns[term])
        row: dict[str, Any] = {
            "step": step,
            "term": term,
            "tolerance": tolerance,
            "min_tolerance": min_tolerance,
        }
        row |= dict.fromkeys(["F", "df1", "df2", "p", criterion], np.nan)
        if term in tests:
            test = tests[term]
            row |= {"F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
            row[criterion], row["pair"] = selected.criterion_with_term(term_columns[term], criterion)
        rows.append(row)
    return rows


def _pair_distances(selected: SelectedColumns, step: int, classes: pd.Index) -> pd.DataFrame:
    """Return the squared distance of each pair of classes by the chosen columns, with Hotelling's F.

    Parameters
    ----------
    selected : SelectedColumns
        Moments swept by the chosen columns.
    step : int
    classes : Index

    Returns
    -------
    DataFrame
        A row for each pair: step, class, other, D2 (Mahalanobis), F, df1, df2 and p.
    """
    d2, f, df1, df2 = selected.pair_distances()
    i, j = np.triu_indices(len(classes), 1)
    columns = {"step": step, "class": classes[i], "other": classes[j], "D2": d2[i, j], "F": f[i, j]}
    return pd.DataFrame(columns | {"df1": df1, "df2": df2, "p": f_sf(f[i, j], df1, df2)})


def with_pair_labels(table: pd.DataFrame, classes: pd.Index, criterion: str) -> pd.DataFrame:
    """Replace the column `pair` by the labels of the two classes, for criteria that refer to a pair.

    Parameters
    ----------
    table : DataFrame
        With a column `pair` of tuples of two class positions, or None. It is changed in place.
    classes : Index
    criterion : str
        If it does not refer to a pair, the column is only removed.

    Returns
    -------
    DataFrame
        `table` without `pair`; for a criterion that refers to a pair, with the columns `class` and `other` at
        the end, which are None in rows without a pair.
    """
    pairs = table.pop("pair")
    if criterion in PAIR_CRITERIA:
        for position, name in enumerate(("class", "other")):
            labels = [classes[pair[position]] if isinstance(pair, tuple) else None for pair in pairs]
            table[name] = pd.Series(labels, index=table.index, dtype=object)
    return table


def merge_pair_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the labels of each pair of classes in one column or index level "between".

    A table without a column or index level "other" is returned unchanged.
    """
    if "other" in table:
        pairs = [_format_pair(*pair) for pair in zip(table["class"], table["other"], strict=True)]
        return table.drop(columns=["class", "other"]).assign(between=pairs)
    if "other" in table.index.names:
        keys = [(step, _format_pair(one, other)) for step, one, other in table.index]
        return table.set_axis(pd.MultiIndex.from_tuples(keys, names=["step", "between"]))
    return table


def _format_pair(one: Any, other: Any) -> str:
    """Format the labels of two classes as "one, other"; empty without a pair."""
    return "" if other is None else f"{one}, {other}"
