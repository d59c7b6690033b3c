"""What `stepwise` is asked for, checked."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.inference.selection import CRITERIA
from discrim.models.fits.arguments import check_word, is_number, listed, told
from discrim.models.registry import BY_VERB, resolve

__all__ = ["check_options", "included", "model_for", "verb_of"]

GIVEN = ("formula", "data", "moments", "weights", "levels", "na_action", "functions")
"""Arguments of a verb that are those of `stepwise`, or made by it."""


def model_for(verb: Any, criterion: Any) -> Any:
    """The verb that is meant; of AIC and BIC one whose likelihood is of the classes given the row.

    A text is the name of a verb.
    """
    verb = verb_of(verb)
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


def verb_of(verb: Any, argument: str = "verb") -> Any:
    """The verb of a name, which is given as an argument; what is no text is returned."""
    if not isinstance(verb, str):
        return verb
    known = (name for name, model in BY_VERB.items() if model.estimator is not None)
    check_word(argument, verb, tuple(known))
    return resolve(f"{BY_VERB[verb].module}:{verb}")


def check_options(
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
