"""Choice of terms of a logistic regression by AIC or BIC.

What `stepwise` is asked for, checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.progress import late_bar
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.inference.selection import CRITERIA
from discrim.models.fits.fit import class_code
from discrim.models.fits.reading import check_flag, check_word, is_number, listed, told
from discrim.models.registry import BY_VERB, resolve
from discrim.models.regression.logistic_inference import check_search, parts_of, without_collinear
from discrim.models.regression.logistic_tests import TermFits

INFORMATION_CRITERIA = {"aic": "AIC", "bic": "BIC"}
"""Criteria that charge for each coefficient, and how tables name them."""

KNOWN = ("reference", "bias_reduction", "tol", "maxiter", "prior", "separation", "collinear")
"""Options of the verb with which its candidates are fitted, or that make no difference to them."""

ALIKE = 1e-7
"""What a criterion has to fall by, beyond which rounding could go round for ever."""


class Walk(NamedTuple):
    """Where the choice ended.

    Attributes
    ----------
    chosen : list of str
        Terms, in the order in which they entered.
    steps : DataFrame by step
    trace : DataFrame by (step, move)
        What each step looked at, the best first.
    """

    chosen: list[str]
    steps: pd.DataFrame
    trace: pd.DataFrame


def by_criterion(
    blocks: Blocks,
    moments: ClassMoments,
    criterion: str,
    include: list[str],
    direction: str,
    options: Mapping[str, Any],
) -> Walk:
    """Add or take back one term at a time, as long as the criterion falls.

    Parameters
    ----------
    blocks, moments
        The rows that are complete in all candidates.
    criterion : {"aic", "bic"}
    include : list of str
        Terms that are always in.
    direction : {"forward", "backward", "both"}
    options : mapping
        Of `discrim.logistic`.

    Raises
    ------
    CollinearError
        A column is a combination of others; or a term that is to be in was dropped as one.
    NotSupportedError
        An option with which there is no maximum of the likelihood.
    """
    other = [name for name, value in options.items() if name not in KNOWN and value is not None]
    if other:
        raise NotSupportedError(
            f"AIC and BIC need a maximum of the likelihood, which a fit with {listed(other)} does not "
            'have: leave the option out, or use criterion="cv".'
        )
    blocks, moments = without_collinear(
        blocks,
        moments,
        drop=options.get("collinear") == "drop",
        instead='pass options={"collinear": "drop"}',
    )
    gone = sorted(set(include) - set(parts_of(blocks)))
    if gone:
        raise CollinearError(
            f"include= names {listed(gone)}, which was dropped as a combination of other terms: leave it out."
        )
    return _Search(_fits(blocks, moments, options), criterion, float(moments.counts.sum())).walk(
        include, direction
    )


def _fits(blocks: Blocks, moments: ClassMoments, options: Mapping[str, Any]) -> TermFits:
    reference, reduced = options.get("reference"), options.get("bias_reduction", False)
    check_flag("bias_reduction", reduced)
    searched = {name: options[name] for name in ("tol", "maxiter") if name in options}
    check_search(searched.get("tol", 0.5), searched.get("maxiter", 1))
    classes = pd.Index(list(blocks.design.levels))
    base = 0 if reference is None else class_code(reference, classes)
    return TermFits(blocks, moments, reference=base, bias_reduction=bool(reduced), **searched)


class _Search:
    """The steps of one choice."""

    def __init__(self, fits: TermFits, criterion: str, total: float) -> None:
        self._fits, self._name = fits, INFORMATION_CRITERIA[criterion]
        self._charge = 2.0 if criterion == "aic" else float(np.log(total))
        self._rows: list[dict[str, Any]] = []
        self._trace: list[dict[str, Any]] = []

    def _value(self, terms: list[str]) -> float:
        found = self._fits.fit(terms)
        return found.deviance + self._charge * found.parameters

    def walk(self, include: list[str], direction: str) -> Walk:
        """From the terms that are in at the start to those that no step betters."""
        terms = list(self._fits.margins.terms)
        start = terms if direction == "backward" else self._with_margins(include)
        chosen = list(start)
        self._note("start", "", chosen, None)
        while True:
            moved = self._best(chosen, include, direction)
            if moved is None:
                break
            action, term, then = moved
            self._note(action, term, then, chosen)
            chosen = then
        columns = ["step", "action", "term", "terms_in", "df", "deviance", "change", self._name]
        steps = pd.DataFrame(self._rows, columns=columns).set_index("step")
        trace = pd.DataFrame(self._trace, columns=["step", "move", "df", "deviance", self._name])
        return Walk(chosen, steps, trace.set_index(["step", "move"]))

    def _with_margins(self, include: list[str]) -> list[str]:
        """Terms that are always in, with those they contain."""
        own = self._fits.margins.terms
        return [a for a in own if a in include or any(own[a] < own[b] for b in include)]

    def _best(
        self, chosen: list[str], include: list[str], direction: str
    ) -> tuple[str, str, list[str]] | None:
        margins, step = self._fits.margins, len(self._rows) + 1
        moves: list[tuple[str, str, list[str]]] = []
        if direction != "forward":
            gone = margins.removable(chosen, self._with_margins(include))
            moves += [("removed", term, [each for each in chosen if each != term]) for term in gone]
        if direction != "backward":
            moves += [("entered", term, [*chosen, term]) for term in margins.addable(chosen)]
        now = self._value(chosen)
        looked = [(now, "<none>", chosen)]
        best = None
        with late_bar(len(moves), f"step {step}") as tell:
            lowest = now - ALIKE * max(1.0, abs(now))
            for action, term, then in moves:
                value = self._value(then)
                looked.append((value, f"{'-' if action == 'removed' else '+'} {term}", then))
                if value < lowest:
                    best, lowest = (action, term, then), value
                tell(1)
        own = self._fits.fit(chosen)
        for value, move, then in sorted(looked, key=lambda each: each[0]):
            fit = self._fits.fit(then)
            df = abs(fit.parameters - own.parameters) if then is not chosen else np.nan
            self._trace.append(
                {"step": step, "move": move, "df": df, "deviance": fit.deviance, self._name: value}
            )
        return best

    def _note(self, action: str, term: str, terms: list[str], before: list[str] | None) -> None:
        found = self._fits.fit(terms)
        row: dict[str, Any] = {"step": len(self._rows) + 1, "action": action, "term": term}
        row |= {"terms_in": len(terms), "df": np.nan, "deviance": found.deviance, "change": np.nan}
        if before is not None:
            then = self._fits.fit(before)
            row["df"] = abs(then.parameters - found.parameters)
            row["change"] = abs(found.deviance - then.deviance)
        else:
            row["term"] = " + ".join(terms) or "none"
        row[self._name] = self._value(terms)
        self._rows.append(row)


GIVEN = ("formula", "data", "moments", "weights", "levels", "na_action", "functions")
"""Arguments of a verb that are those of `stepwise`, or made by it."""


def model_for(verb: Any, criterion: Any) -> Any:
    """The verb that is meant; of AIC and BIC one whose likelihood is of the classes given the row.

    A text is the name of a verb.
    """
    verb = verb_named(verb)
    if not isinstance(criterion, str) or criterion not in ("aic", "bic"):
        from discrim.models.normal.lda import lda

        return lda if verb is None else verb
    from discrim.models.regression.logistic import logistic

    if verb is not None and verb is not logistic:
        raise NotSupportedError(
            f"criterion={criterion!r} compares likelihoods of the classes given the row, which only "
            'logistic() has: leave verb= out, or use criterion="cv", which goes with any verb.'
        )
    return logistic


def verb_named(verb: Any, argument: str = "verb") -> Any:
    """The verb of a name, which is given as an argument; what is no text is returned."""
    if not isinstance(verb, str):
        return verb
    known = (name for name, model in BY_VERB.items() if model.estimator is not None)
    check_word(argument, verb, tuple(known))
    return resolve(f"{BY_VERB[verb].module}:{verb}")


def check_verb_options(
    direction: Any, criterion: Any, enter: Any, stay: Any, verb: Any, options: Any, own: Mapping[str, Any]
) -> None:
    """Raise a DataError for an option that is none; `own` are the arguments that `stepwise` gives a verb."""
    check_word("direction", direction, ("forward", "backward", "both"))
    check_word("criterion", criterion, (*CRITERIA, "cv", "aic", "bic"))
    for name, level in (("enter", enter), ("stay", stay)):
        if not (is_number(level) and 0 < level <= 1):
            raise DataError(f"{name}={told(level)}: give a level of significance, above 0 and up to 1.")
    if direction == "both" and stay < enter:
        raise DataError(f"stay={stay!r} is below enter={enter!r}: a term could enter and leave for ever.")
    if not callable(verb):
        raise DataError(f"verb={told(verb)}: give a verb, such as discrim.qda, or None for lda.")
    if options is not None and not isinstance(options, Mapping):
        raise DataError(f"options={told(options)}: give a dict of names and values, for the verb.")
    try:
        signature = inspect.signature(verb)
    except (TypeError, ValueError):
        return
    _refuse_unknown(verb, signature.parameters, options or {})
    try:
        signature.bind("formula", "data", **dict.fromkeys(own))
    except TypeError as error:
        raise DataError(
            f"verb={told(verb)} cannot be called with a formula, a table and {listed(own)} ({error}): "
            "give a verb, such as discrim.qda."
        ) from None


def _refuse_unknown(verb: Any, known: Mapping[str, inspect.Parameter], options: Mapping[Any, Any]) -> None:
    """Raise a DataError where an option is no argument of the verb, or one that `stepwise` gives it."""
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return
    name = getattr(verb, "__name__", "the verb")
    unknown = [option for option in options if option not in known or option in GIVEN]
    if unknown:
        free = [option for option in known if option not in GIVEN]
        raise DataError(
            f"options= names {listed(unknown)}, which {name}() does not know: give some of "
            f"{listed(free, most=20)}."
        )


def included(blocks: Blocks, include: str | Sequence[str]) -> list[str]:
    """Labels of the terms that are to be included, but for those that are constant."""
    labels = {part.text: part.label for part in blocks.design.parts()}
    if not isinstance(include, Iterable) or not all(isinstance(term, str) for term in include):
        raise DataError(f"include={told(include)}: give terms as the formula writes them, in a list.")
    wanted = [include] if isinstance(include, str) else [labels.get(term, term) for term in include]
    known = (*labels.values(), *blocks.constant)
    unknown = [term for term in wanted if term not in known]
    if unknown:
        raise DataError(f"include= names {listed(unknown)}, which is no term: use {listed(known)}.")
    constant = set(blocks.constant)
    return [term for term in wanted if term not in constant]
