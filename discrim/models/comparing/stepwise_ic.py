"""Choice of terms of a logistic regression by AIC or BIC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.progress import late_bar
from discrim.errors import CollinearError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.models.fits.arguments import check_flag, listed
from discrim.models.fits.labels import class_code
from discrim.models.regression.logistic_design import check_search, without_collinear
from discrim.models.regression.logistic_inference import parts_of
from discrim.models.regression.term_fits import TermFits

__all__ = ["CRITERIA", "Walk", "by_criterion"]

CRITERIA = {"aic": "AIC", "bic": "BIC"}
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
        self._fits, self._name = fits, CRITERIA[criterion]
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
