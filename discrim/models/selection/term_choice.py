"""A choice of terms: its steps, and the fit whose refits choose anew.

Terms are chosen by partial F, by the cross-validated error of any verb, or by AIC or BIC. Refits that choose
anew judge the choice, and not its outcome alone. The choice by partial F is a function of moments: where the
final fit is one too, folds are taken away from moments, and no row is read twice. Everything else calls
`stepwise` again with the rows that are left.

The tables of each step, of the terms in and not in and of pairs of classes, are computed on request from the
moments of the candidates and the steps.
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
from discrim.core.moments.row_sums import Spread
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import chi2_sf, f_sf
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import PartRule, Rule
from discrim.data.table import rows_of
from discrim.design.blocks import Blocks
from discrim.design.rows import used_codes
from discrim.errors import CollinearError, DiscrimError, DiscrimWarning, NotSupportedError, sentence
from discrim.inference.selection import LEAST, NEAREST, Partial, SelectedColumns
from discrim.models.base import reading
from discrim.models.base.fit import FittedModel, Gaps, Refits, scores_by_refits
from discrim.models.base.labels import class_code
from discrim.models.base.scores import scored
from discrim.models.evaluation.calibrated import calibrated_rule
from discrim.models.regression.logistic_search import check_search, parts_of, without_collinear
from discrim.models.regression.logistic_tests import TermFits

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults

Criterion = Literal["wilks", "mahalanobis", "maxminf", "minresid", "rao", "cv", "aic", "bic"]
Direction = Literal["forward", "backward", "both"]
Walk = Callable[[ClassMoments], list[str]]
"""From moments of the candidates to the terms chosen."""

Move = tuple[str, str, list[str]]
"""What is done with which term ("entered" or "removed"), and the terms that are then in."""


By = Literal["p", "F", "r2", "v"]
"""Statistics that limits refer to: of a partial test, or the increase of Rao's V."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a term has to have to enter and to stay: a p-value at most so large, or so large an F or R2.

    A term whose columns, or columns that are in, would have a smaller tolerance than the one given does not
    enter, nor one that adds less than so much to Rao's V.
    """

    enter: float
    stay: float
    by: Literal["p", "F", "r2"] = "p"
    tolerance: float | None = None
    v_enter: float | None = None

    def strength(self, test: Partial) -> float:
        """What of the test is larger for a term that says more."""
        if self.by == "p":
            return -test.pvalue
        return test.F if self.by == "F" else 1 - test.wilks

    def admits(self, test: Partial) -> bool:
        """Whether a term may enter by its test."""
        return self.strength(test) >= (-self.enter if self.by == "p" else self.enter)

    def keeps(self, test: Partial) -> bool:
        """Whether a term may stay by its test."""
        return self.strength(test) >= (-self.stay if self.by == "p" else self.stay)

    def words(self) -> str:
        """The limits, as a note says them."""
        name = {"p": "p", "F": "F", "r2": "partial R2"}[self.by]
        within, beyond = ("<=", ">") if self.by == "p" else (">=", "<")
        words = f"Enters at {name} {within} {self.enter:g}, leaves at {name} {beyond} {self.stay:g}"
        words += "." if self.by == "F" else " (partial F)."
        if self.v_enter is not None:
            words += f" Adds at least {self.v_enter:g} to Rao's V."
        return words


class Choice(NamedTuple):
    """Where the steps ended: terms in the order in which they entered, and how they did.

    The trace, by (step, move), is what each step looked at, the best first. The last two give the terms that
    other moments of the candidates choose, where moments are enough, and the tables of each step.
    """

    terms: list[str]
    steps: pd.DataFrame
    note: str
    trace: pd.DataFrame | None = None
    by_moments: Walk | None = None
    tables: Callable[[], StepTables] | None = None


@dataclass(frozen=True, slots=True)
class StepwiseSearch:
    """How terms are chosen; as of `stepwise`, checked."""

    criterion: Criterion
    direction: Direction
    include: list[str]
    limits: Limits
    options: Mapping[str, Any]
    folds: int
    seed: int | None

    def choice(
        self,
        blocks: Blocks,
        moments: ClassMoments,
        parts: Mapping[str, Codes],
        fit: Callable[[Sequence[str]], ClassifierResults],
    ) -> Choice:
        """The choice by the rows that are complete in all candidates, whose terms have columns `parts`."""
        if self.criterion in ("aic", "bic"):
            return self._by_information(blocks, moments)
        if self.criterion == "cv":
            chance = 1 - float(moments.counts.max() / moments.total)
            return self._by_error(fit, list(parts), chance)
        return self._by_partial_f(blocks, moments, parts)

    def _by_partial_f(self, blocks: Blocks, moments: ClassMoments, parts: Mapping[str, Codes]) -> Choice:
        if self.direction == "backward":
            hint = 'name fewer columns in the formula, or pass direction="both"'
            reading.refuse_no_freedom(moments, blocks.terms, diagonal=False, hint=hint)
            collinear = dependencies(moments)
            if collinear:
                raise reading.collinear_error(collinear, blocks.terms, instead='pass direction="both"')
        walk = partial(_PartialFSteps, parts, self.criterion, self.direction, self.include, self.limits)
        path = walk(moments)
        note = self.limits.words()
        if blocks.constant:
            note += f" Left out, constant: {reading.listed(blocks.constant)}."
        if path.excluded:
            note += (
                " Left out, constant within classes or there a combination of those chosen: "
                f"{reading.listed(path.excluded)}."
            )
            constant = [each for each in dependencies(moments, diagonal=True) if each.separates]
            note += f" {reading.separation_sentence(constant, blocks.terms)}" if constant else ""
        if path.intolerable:
            least = f"{self.limits.tolerance:g}"
            note += f" Left out, with a tolerance below {least}: {reading.listed(path.intolerable)}."
        classes = pd.Index(list(blocks.design.levels))
        start = list(parts) if self.direction == "backward" else []
        moves = [term for _, term in path.taken]
        tables = partial(step_tables, moments, parts, self.criterion, start, moves, classes)
        chosen = partial(_chosen_by_moments, walk)
        return Choice(path.entered, path.table(classes), note, by_moments=chosen, tables=tables)

    def _by_error(
        self, fit: Callable[[Sequence[str]], ClassifierResults], terms: list[str], chance: float
    ) -> Choice:
        """Add or take back one term at a time, as long as the error falls; without terms it is chance."""
        include = self.include
        direction = self.direction
        known: dict[frozenset[str], tuple[float, float]] = {frozenset(): (chance, np.nan)}

        def error(chosen: Sequence[str]) -> tuple[float, float]:
            key = frozenset(chosen)
            if key not in known:
                # In the formula's order, so that the same terms are the same fit.
                results = fit([t for t in terms if t in key])
                row = results.error_rates(["cv"], folds=self.folds, seed=self.seed).iloc[0]
                known[key] = float(row["estimate"]), float(row["se"])
            return known[key]

        chosen = list(terms) if direction == "backward" else list(include)
        rows: list[dict[str, Any]] = []

        def enter_row(action: str, term: str) -> None:
            row = {"step": len(rows) + 1, "action": action, "term": term, "terms_in": len(chosen)}
            rows.append(row | dict(zip(("error", "se"), error(chosen), strict=True)))

        if chosen:
            enter_row("start", " + ".join(chosen))
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
                    # Of equal errors the fewer terms.
                    if value < lowest or (value == lowest and move[0] == "removed"):
                        best = move
                        lowest = value
                    progress(1)
            if best is None:
                break
            action, term, chosen = best
            enter_row(action, term)
        columns = ["step", "action", "term", "terms_in", "error", "se"]
        note = f"Error by {self.folds}-fold cross-validation; without terms that of the largest class."
        return Choice(chosen, pd.DataFrame(rows, columns=columns).set_index("step"), note)

    def _by_information(self, blocks: Blocks, moments: ClassMoments) -> Choice:
        """Add or take back one term of a logistic regression at a time, as long as AIC or BIC falls."""
        options = self.options
        other = [name for name, value in options.items() if name not in KNOWN and value is not None]
        if other:
            raise NotSupportedError(
                f"AIC and BIC need a maximum of the likelihood, which a fit with {reading.listed(other)} "
                "does not have.",
                hint='Leave the option out, or use criterion="cv".',
                options={"criterion": "cv"},
            )
        blocks, moments = without_collinear(
            blocks,
            moments,
            drop=options.get("collinear") == "drop",
            instead='pass verb=partial(logistic, collinear="drop")',
        )
        dropped = sorted(set(self.include) - set(parts_of(blocks)))
        if dropped:
            raise CollinearError(
                f"include= names {reading.listed(dropped)}, which was dropped as a combination of other "
                "terms.",
                hint="Leave it out.",
            )
        steps = _InformationSteps(
            _term_fits(blocks, moments, options), self.criterion, float(moments.counts.sum()), self.include
        )
        return steps.walk(self.direction)


def _chosen_by_moments(walk: Callable[[ClassMoments], _PartialFSteps], moments: ClassMoments) -> list[str]:
    return walk(moments).entered


class _PartialFSteps:
    """The steps of one choice by partial F of moments, taken until there is none.

    Terms are in the order in which they entered. Excluded are those that could not enter at the last step,
    because those chosen determine them within classes; intolerable are those that leave, or make leave,
    too small a tolerance.
    """

    def __init__(
        self,
        parts: Mapping[str, Codes],
        criterion: str,
        direction: Direction,
        include: list[str],
        limits: Limits,
        moments: ClassMoments,
    ) -> None:
        self._selected = SelectedColumns(moments)
        self._parts = parts
        self._criterion = criterion
        self._limits = limits
        self.entered: list[str] = []
        self._rows: list[dict[str, Any]] = []
        self.excluded: list[str] = []
        self.intolerable: list[str] = []
        self._walk(direction, include)

    @property
    def taken(self) -> list[tuple[str, str]]:
        """What was done with which term, step by step."""
        return [(row["action"], row["term"]) for row in self._rows]

    def table(self, classes: pd.Index) -> pd.DataFrame:
        """The steps, a row each."""
        columns = ["step", "action", "term", "terms_in", "partial_R2", "F", "df1", "df2", "p", "wilks"]
        columns += ["ascc"] if self._criterion == "wilks" else ["ascc", self._criterion]
        columns += ["change", "p_change"] if self._criterion == "rao" else []
        table = pd.DataFrame(self._rows, columns=[*columns, "pair"]).set_index("step")
        return with_pair(table, classes, self._criterion)

    def _walk(self, direction: Direction, include: list[str]) -> None:
        with Progress(0, "steps") as progress:
            for term in self._parts if direction == "backward" else ():
                self._refuse_intolerable(term, 'leave it out, or use direction="both"')
                self._move(term)
            for term in include if direction != "backward" else ():
                if self._selected.dependent(self._parts[term]):
                    raise CollinearError(
                        f"The term {term!r} is constant, or a combination of those before it, within "
                        "classes.",
                        hint="Leave it out of include=.",
                    )
                self._refuse_intolerable(term, "leave it out of include=")
                self._step("included", term)
            moved = True
            # Each pass changes the chosen set; a set that came back would go round for ever.
            visited = {frozenset(self.entered)}
            while moved:
                progress()
                moved = direction != "forward" and self._remove(include)
                if not moved and direction != "backward":
                    moved = self._add()
                state = frozenset(self.entered)
                if moved and state in visited:
                    break
                visited.add(state)

    def _tolerable(self, term: str) -> bool:
        least = self._limits.tolerance
        return least is None or self._selected.tolerances_with(self._parts[term])[1] >= least

    def _refuse_intolerable(self, term: str, way_out: str) -> None:
        if not self._tolerable(term):
            found = self._selected.tolerances_with(self._parts[term])[1]
            raise CollinearError(
                f"With the term {term!r} the smallest tolerance within classes is {found:.3g}, below "
                f"tolerance={self._limits.tolerance:g}.",
                hint=sentence(way_out),
            )

    def _remove(self, include: list[str]) -> bool:
        limits = self._limits
        tests = self._tests([term for term in self.entered if term not in include])
        weak = min(tests, key=lambda term: limits.strength(tests[term]), default=None)
        if weak is None or limits.keeps(tests[weak]):
            return False
        self._step("removed", weak)
        return True

    def _add(self) -> bool:
        chosen = {*self.entered}
        candidates = [term for term in self._parts if term not in chosen]
        dependent = {term for term in candidates if self._selected.dependent(self._parts[term])}
        self.excluded = [term for term in candidates if term in dependent]
        candidates = [term for term in candidates if term not in dependent]
        self.intolerable = [term for term in candidates if not self._tolerable(term)]
        tests = self._tests([term for term in candidates if term not in self.intolerable])
        ready = [term for term, test in tests.items() if test.df2 > 0 and self._limits.admits(test)]
        if self._criterion == "wilks":
            best = min(ready, key=lambda term: (tests[term].pvalue, -tests[term].F), default=None)
        else:
            best = self._best(ready)
        if best is None:
            return False
        self._step("entered", best)
        return True

    def _best(self, ready: list[str]) -> str | None:
        """The term that makes the criterion best, of those that add enough to Rao's V."""
        values = {term: self._selected.with_term(self._parts[term], self._criterion).value for term in ready}
        if self._limits.v_enter is not None:
            least = self._selected.value("rao").value + self._limits.v_enter
            values = {term: value for term, value in values.items() if value >= least}
        sign = -1 if self._criterion in LEAST else 1
        return max(values, key=lambda term: sign * values[term], default=None)

    def _tests(self, terms: list[str]) -> dict[str, Partial]:
        return dict(zip(terms, self._selected.partials([self._parts[term] for term in terms]), strict=True))

    def _step(self, action: str, term: str) -> None:
        test = self._tests([term])[term]
        selected = self._selected
        before = selected.value(self._criterion).value
        self._move(term)
        row = {"step": len(self._rows) + 1, "action": action, "term": term, "terms_in": len(self.entered)}
        row |= {"partial_R2": 1 - test.wilks, "F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
        row |= {"wilks": selected.value("wilks").value, "ascc": selected.pillai / (selected.n_classes - 1)}
        value, pair = selected.value(self._criterion)
        row |= {self._criterion: value, "pair": pair}
        if self._criterion == "rao":
            change = value - before
            df = (selected.n_classes - 1) * len(self._parts[term])
            row |= {"change": change, "p_change": np.nan if change < 0 else float(chi2_sf(change, df))}
        self._rows.append(row)

    def _move(self, term: str) -> None:
        self._selected.move(self._parts[term])
        if term in self.entered:
            self.entered.remove(term)
        else:
            self.entered.append(term)


KNOWN = ("reference", "bias_reduction", "tol", "maxiter", "prior", "separation", "collinear")
"""Options of the verb with which its candidates are fitted, or that make no difference to them."""

ALIKE = 1e-7
"""What a criterion has to fall by, beyond which rounding could go round for ever."""


def _term_fits(blocks: Blocks, moments: ClassMoments, options: Mapping[str, Any]) -> TermFits:
    reference = options.get("reference")
    reduced = options.get("bias_reduction", False)
    reading.check_flag("bias_reduction", reduced)
    limits = {name: options[name] for name in ("tol", "maxiter") if name in options}
    check_search(limits.get("tol", 0.5), limits.get("maxiter", 1))
    base = 0 if reference is None else class_code(reference, pd.Index(list(blocks.design.levels)))
    return TermFits(blocks, moments, reference=base, bias_reduction=bool(reduced), **limits)


class _InformationSteps:
    """The steps of one choice by AIC or BIC."""

    def __init__(self, fits: TermFits, criterion: str, total: float, include: list[str]) -> None:
        self._fits = fits
        self._name = criterion
        self._charge = 2.0 if criterion == "aic" else float(np.log(total))
        self._rows: list[dict[str, Any]] = []
        self._trace: list[dict[str, Any]] = []
        terms = fits.margins.terms
        # With those that they contain.
        self._include = [a for a in terms if a in include or any(terms[a] < terms[b] for b in include)]

    def _value(self, terms: list[str]) -> float:
        fit = self._fits.fit(terms)
        return fit.deviance + self._charge * fit.parameters

    def walk(self, direction: str) -> Choice:
        """From the terms that are in at the start to those that no step betters."""
        start = list(self._fits.margins.terms) if direction == "backward" else self._include
        chosen = list(start)
        self._enter_row("start", " + ".join(chosen) or "none", chosen, None)
        while True:
            best = self._best(chosen, direction)
            if best is None:
                break
            action, term, then = best
            self._enter_row(action, term, then, chosen)
            chosen = then
        columns = ["step", "action", "term", "terms_in", "df", "deviance", "change", self._name]
        steps = pd.DataFrame(self._rows, columns=columns).set_index("step")
        trace = pd.DataFrame(self._trace, columns=["step", "move", "df", "deviance", self._name])
        note = "The search stops where no step lowers the criterion."
        return Choice(chosen, steps, note, trace.set_index(["step", "move"]))

    def _best(self, chosen: list[str], direction: str) -> Move | None:
        """The move that lowers the criterion most; the trace keeps what was looked at."""
        margins = self._fits.margins
        step = len(self._rows) + 1
        moves: list[Move] = []
        if direction != "forward":
            removable = margins.removable(chosen, self._include)
            moves += [("removed", term, [each for each in chosen if each != term]) for term in removable]
        if direction != "backward":
            moves += [("entered", term, [*chosen, term]) for term in margins.addable(chosen)]
        now = self._value(chosen)
        values = [(now, "<none>", chosen)]
        best = None
        with Progress(len(moves), f"step {step}") as progress:
            lowest = now - ALIKE * max(1.0, abs(now))
            for action, term, then in moves:
                value = self._value(then)
                values.append((value, f"{'-' if action == 'removed' else '+'} {term}", then))
                if value < lowest:
                    best = (action, term, then)
                    lowest = value
                progress(1)
        before = self._fits.fit(chosen)
        for value, move, then in sorted(values, key=lambda each: each[0]):
            fit = self._fits.fit(then)
            df = abs(fit.parameters - before.parameters) if then is not chosen else np.nan
            self._trace.append(
                {"step": step, "move": move, "df": df, "deviance": fit.deviance, self._name: value}
            )
        return best

    def _enter_row(self, action: str, term: str, terms: list[str], before: list[str] | None) -> None:
        fit = self._fits.fit(terms)
        row: dict[str, Any] = {"step": len(self._rows) + 1, "action": action, "term": term}
        row |= {"terms_in": len(terms), "df": np.nan, "deviance": fit.deviance, "change": np.nan}
        if before is not None:
            last = self._fits.fit(before)
            row["df"] = abs(last.parameters - fit.parameters)
            row["change"] = abs(fit.deviance - last.deviance)
        self._rows.append(row | {self._name: self._value(terms)})


@dataclass(frozen=True, slots=True, eq=False)
class PriorRule:
    """The rule without a column: each row has the prior."""

    log_prior: Floats

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""
        return np.tile(self.log_prior, (len(x), 1))


# ---- by moments


def anew_by_moments(
    fit: FittedModel[Any], blocks: Blocks, parts: Mapping[str, Codes], walk: Walk, words: str
) -> FittedModel[Any] | None:
    """The fit on the candidates, whose refits to moments choose by a walk; None where it needs rows.

    It is made from the fit on the chosen columns, and from blocks of the rows that are complete in all
    candidates, with the columns of each term at the positions that `parts` says. The words say what is
    chosen.
    """
    refits = fit.refits
    required = refits.required_moments(fit)
    # Half of the rows, of two folds, have a scatter that is a root still.
    few = blocks.n_labelled - len(fit.classes) <= 2 * len(blocks.terms)
    if required not in ("pooled", "class") or few or refits.informative(fit) or refits.choice(fit):
        return None
    numbers: Any = fit.estimates
    if blocks.dropped != fit.dropped:
        keep = np.flatnonzero(np.isin(blocks.terms, fit.terms))
        moments = reading.class_moments(blocks, required).columns(keep)
        numbers = fit.estimates.refit(moments) or numbers
    refits_anew = _ChosenByMoments(refits, walk, dict(parts), words)
    return FittedModel(fit.spec, numbers, blocks, fit.prior, fit.options, refits_instead=refits_anew)


@dataclass(frozen=True, eq=False)
class _ChosenByMoments(Refits[Any]):
    """Refits to moments that choose columns again.

    Parameters
    ----------
    chosen_refits : Refits
        Refits of the fit on the chosen columns.
    walk : callable
        From moments of the candidates to the chosen terms.
    positions : mapping of str to (q,) int
        Positions of the columns of each term.
    words : str
        What is chosen.
    """

    chooses_columns = True

    chosen_refits: Refits[Any]
    walk: Walk
    positions: Mapping[str, Codes]
    words: str

    def required_moments(self, fit: FittedModel[Any]) -> Spread | None:
        """Return which moments a refit needs."""
        return self.chosen_refits.required_moments(fit)

    def choice(self, fit: FittedModel[Any]) -> str:
        """Describe what the rows were asked to choose."""
        return self.words

    def refit_to_moments(self, fit: FittedModel[Any], moments: ClassMoments) -> Rule | None:
        """Return the rule of the columns that moments choose; None if a covariance is singular."""
        if (moments.rows < 1).any() or moments.rows.sum() - moments.n_classes < moments.n_columns:
            return None
        try:
            chosen = self.walk(moments)
        except CollinearError:
            return None
        if not chosen:
            return PriorRule(fit.log_prior())
        keep = np.sort(np.concatenate([self.positions[term] for term in chosen]))
        rule = self.chosen_refits.refit_to_moments(replace(fit, refits_instead=None), moments.columns(keep))
        return None if rule is None else PartRule(rule, keep)

    def refit_with_fixed(self, fit: FittedModel[Any], rows: Blocks) -> Rule | None:
        """Return the rule of a refit to rows, which chooses columns again."""
        return self.refit_to_moments(fit, reading.class_moments(rows, self.required_moments(fit) or "pooled"))

    def leave_one_out(self, fit: FittedModel[Any]) -> LeftOut:
        """Return missing scores, so that each row is left out by a refit."""
        return scores_by_refits(fit, "chooses the columns anew without each row")


# ---- by calls


FitOnRows = Callable[[Codes], Any]
"""What fits rows of a table at some positions, or makes a choice of columns by them that has a fit."""


def anew_by_calls(fit: FittedModel[Any], blocks: Blocks, on_rows: FitOnRows, words: str) -> FittedModel[Any]:
    """The fit on the candidates, whose refits choose on some of the rows; as `anew_by_moments`."""
    refits = RefitsByCalls(fit.refits, blocks.table.data, on_rows, words, holds_prior=True)
    return replace(fit, design_rows=blocks, path=None, cache={}, selection=None, refits_instead=refits)


@dataclass(frozen=True, eq=False)
class RefitsByCalls(Refits[Any]):
    """Refits by a call with the rows that remain.

    Parameters
    ----------
    base : Refits
        Refits of the fit, which know its groups and why there may be no rule.
    data : table
    on_rows : callable
        Fits the rows of the table at some positions.
    words : str
        What the calls choose; empty if nothing.
    holds_prior : bool
        Whether calls are under the prior of the fit, and not each under its own.
    """

    by_calls = True
    chooses_columns = True

    base: Refits[Any]
    data: Any
    on_rows: FitOnRows
    words: str
    holds_prior: bool

    def required_moments(self, fit: FittedModel[Any]) -> None:
        """Return None: a refit needs the rows."""

    def choice(self, fit: FittedModel[Any]) -> str:
        """Describe what the calls choose; empty if nothing."""
        return self.words

    def refit(self, fit: FittedModel[Any], rows: Blocks, *, fixed: bool = False) -> Rule | None:
        """Return None: calls give scores, and no rule of the candidates."""
        return None

    def groups(self, fit: FittedModel[Any]) -> Codes | None:
        """Return the group (n,) of each row of the table, if folds leave out whole groups; else None."""
        return self.base.groups(fit)

    def why_no_rule(self, fit: FittedModel[Any], rows: Blocks) -> DiscrimError | None:
        """Return an error that says why a refit to these rows has no rule; None if this is not known."""
        return self.base.why_no_rule(fit, rows)

    def scores_by_call(self, fit: FittedModel[Any], train: Codes, test: Codes) -> Floats:
        """Return the scores (m, K) of rows at some positions (m,) by a call with others (n,)."""
        with catch_warnings():
            # That a column is constant, or rare, in some fold is no news of the fit.
            simplefilter("ignore", DiscrimWarning)
            results = self.on_rows(train)
            fitted: FittedModel[Any] | None = results._fit
            if not isinstance(fitted, FittedModel):
                # No term was chosen, and so there is no fit.
                fitted = getattr(fitted, "_fit", None)
            if fitted is None:
                return PriorRule(fit.log_prior()).scores(np.empty((len(test), 0)))
            prior = fit.prior if self.holds_prior else None
            method = getattr(results, "method", "plugin")
            return _scores_by(fitted, rows_of(self.data, test), fit.classes, prior, method)

    def leave_one_out(self, fit: FittedModel[Any]) -> Floats:
        """Return the scores (n, K) of the rows that the fit uses, by a call without each."""
        scores_by_refits(fit, "takes a call without each row")
        used = np.flatnonzero(used_codes(fit.rows("leave_one_out()")) >= 0)
        scores = []
        with Progress(len(used), "calls without a row") as progress:
            for i in range(len(used)):
                scores.append(self.scores_by_call(fit, np.delete(used, i), used[i : i + 1]))
                progress(1)
        return np.concatenate(scores)


def _scores_by(
    fit: FittedModel[Any], data: Any, classes: pd.Index, prior: Floats | None, method: str
) -> Floats:
    """Scores (m, K) of the rows of a table, by a fit that may lack some of the classes.

    Those of calibrated posteriors are such under the prior of the fit.
    """
    blocks = fit.new_rows(data, Gaps(unseen="missing"))
    there = classes.get_indexer(fit.classes)
    own = prior[there] if prior is not None and len(there) == len(classes) else None
    if method == "calibrated":
        rule: Rule = calibrated_rule(fit, own)
    else:
        rule = (fit if own is None or not fit.has_posteriors else fit.under(own)).rule_of(blocks)
    out = np.full((blocks.table.nrows, len(classes)), -np.inf)
    for place, scores in scored(blocks, rule, len(fit.classes)):
        out[place, there] = scores
    out[np.isnan(out).any(axis=1)] = np.nan
    return out


class StepTables(NamedTuple):
    """Tables by step and term, by step and term, by step, and by step and pair of classes."""

    in_analysis: pd.DataFrame
    not_in_analysis: pd.DataFrame
    overall: pd.DataFrame
    pairs: pd.DataFrame


def step_tables(
    moments: ClassMoments,
    parts: Mapping[str, Codes],
    criterion: str,
    start: Sequence[str],
    moves: Sequence[str],
    classes: pd.Index,
) -> StepTables:
    """The tables of a choice that began with some terms and moved others in and out, one at a step."""
    selected = SelectedColumns(moments)
    for term in start:
        selected.move(parts[term])
    chosen = list(start)
    inside = []
    outside = []
    overall = []
    pairs = []
    with Progress(len(moves) + 1, "steps") as progress:
        for step, move in enumerate(["", *moves]):
            if move:
                selected.move(parts[move])
                chosen = [term for term in chosen if term != move] + [move] * (move not in chosen)
            inside += _inside(selected, parts, criterion, step, chosen)
            left = [term for term in parts if term not in chosen]
            outside += _outside(selected, parts, criterion, step, left)
            if chosen:
                test = selected.overall()
                row: dict[str, Any] = {"step": step, "terms_in": len(chosen), "columns": len(selected.pivots)}
                row |= {"wilks": test.wilks, "F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
                overall.append(row)
                pairs.append(_pairs(selected, step, classes))
            progress(1)
    tests = ["F", "df1", "df2", "p"]
    value = [criterion, "pair"]
    within = _frame(inside, ["step", "term"], ["tolerance", *tests, *value])
    without = _frame(outside, ["step", "term"], ["tolerance", "min_tolerance", *tests, *value])
    every = _frame(overall, ["step"], ["terms_in", "columns", "wilks", *tests])
    none = pd.DataFrame(columns=["step", "class", "other", "D2", *tests])
    by_pair = (pd.concat(pairs) if pairs else none).set_index(["step", "class", "other"])
    return StepTables(
        with_pair(within, classes, criterion), with_pair(without, classes, criterion), every, by_pair
    )


def _frame(rows: list[dict[str, Any]], keys: list[str], columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[*keys, *columns]).set_index(keys)


def _inside(
    selected: SelectedColumns, parts: Mapping[str, Codes], criterion: str, step: int, terms: list[str]
) -> list[dict[str, Any]]:
    """Of each chosen term: tolerance, F to remove, and the criterion without it."""
    tolerances = dict(zip(selected.pivots, selected.tolerances().tolist(), strict=True)) if terms else {}
    rows = []
    for term, test in zip(terms, selected.partials([parts[term] for term in terms]), strict=True):
        row: dict[str, Any] = {"step": step, "term": term}
        row |= {"tolerance": min(tolerances[column] for column in parts[term].tolist())}
        row |= {"F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
        value = np.nan
        pair = None
        if len(terms) > 1:
            value, pair = selected.without_term(parts[term], criterion)
        rows.append(row | {criterion: value, "pair": pair})
    return rows


def _outside(
    selected: SelectedColumns, parts: Mapping[str, Codes], criterion: str, step: int, terms: list[str]
) -> list[dict[str, Any]]:
    """Of each term that is not in: tolerance, the least with it, F to enter, and the criterion with it."""
    able = [term for term in terms if not selected.dependent(parts[term])]
    tests = dict(zip(able, selected.partials([parts[term] for term in able]), strict=True))
    rows = []
    for term in terms:
        own, least = selected.tolerances_with(parts[term])
        row: dict[str, Any] = {"step": step, "term": term, "tolerance": own, "min_tolerance": least}
        row |= dict.fromkeys(["F", "df1", "df2", "p", criterion], np.nan)
        if term in tests:
            test = tests[term]
            row |= {"F": test.F, "df1": test.df1, "df2": test.df2, "p": test.pvalue}
            row[criterion], row["pair"] = selected.with_term(parts[term], criterion)
        rows.append(row)
    return rows


def _pairs(selected: SelectedColumns, step: int, classes: pd.Index) -> pd.DataFrame:
    """D2 of each pair of classes by the chosen columns, with Hotelling's F."""
    d2, f, df1, df2 = selected.pairs()
    i, j = np.triu_indices(len(classes), 1)
    columns = {"step": step, "class": classes[i], "other": classes[j], "D2": d2[i, j], "F": f[i, j]}
    return pd.DataFrame(columns | {"df1": df1, "df2": df2, "p": f_sf(f[i, j], df1, df2)})


def with_pair(table: pd.DataFrame, classes: pd.Index, criterion: str) -> pd.DataFrame:
    """The table with the two classes that its column `pair` has the positions of, where there are some."""
    pairs = table.pop("pair")
    if criterion in NEAREST:
        for at, name in enumerate(("class", "other")):
            labels = [classes[pair[at]] if isinstance(pair, tuple) else None for pair in pairs]
            table[name] = pd.Series(labels, index=table.index, dtype=object)
    return table


def printed_steps(table: pd.DataFrame) -> pd.DataFrame:
    """The table with each pair of classes as one text, for which a line has room."""
    if "other" in table:
        pairs = [_pair(*pair) for pair in zip(table["class"], table["other"], strict=True)]
        return table.drop(columns=["class", "other"]).assign(between=pairs)
    if "other" in table.index.names:
        keys = [(step, _pair(one, other)) for step, one, other in table.index]
        return table.set_axis(pd.MultiIndex.from_tuples(keys, names=["step", "between"]))
    return table


def _pair(one: Any, other: Any) -> str:
    return "" if other is None else f"{one}, {other}"
