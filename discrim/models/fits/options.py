"""The options of a fit: as its verb was given them, with what its rows chose held, and as a file has them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from discrim.errors import NotSupportedError
from discrim.models.registry import BY_MODEL, BY_RESULTS, Row, resolve

NOT_OPTIONS = ("formula", "data", "moments", "prior", "weights", "levels", "na_action", "functions")
"""Arguments of a verb that say which rows are fitted, or that a fit holds in a form of its own."""

MOST_DEPTH = 4
"""Lists and dicts within each other that an option may be made of."""

Damaged = Callable[[str], Exception]


class LostObject:
    """An object of the user's, such as an estimator, of which a file keeps the text: a refit says so."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def fit(self, *rows: Any, **parameters: Any) -> NoReturn:
        """Not there: raises NotSupportedError."""
        raise NotSupportedError(
            f"A loaded fit keeps the text {self.text} and not the object: fit the verb anew."
        )

    set_params = fit


def text_of(value: Any) -> str:
    """What an object is called: its repr on one line."""
    text = " ".join(repr(value).split())
    return type(value).__name__ if text.startswith("<") else text


def verb_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The options among the arguments of a verb, which are its `locals()` where it begins.

    Arrays and tables are lists and dicts here, so that writing into what was given changes no later refit.
    """
    options = {name: _plain(value) for name, value in arguments.items() if name not in NOT_OPTIONS}
    for name in ("folds", "cv"):
        if not isinstance(options.get(name), int | str | None):
            # Positions of rows, many or to be read once, and of no use where the rows are not.
            options[name] = LostObject("splits of the rows")
    return options


def _plain(value: Any) -> Any:
    """Numbers, text, lists and dicts of an option, which share nothing with it; an object as it is."""
    if value is None or type(value) in (str, bool, int, float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping | pd.Series | pd.DataFrame):
        return {_plain(key): _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | pd.Index):
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Iterator | type):
        return value if hasattr(value, "fit") else [_plain(each) for each in value]
    return value


def verb_of(results: Any) -> str:
    """Name of the verb that made a fit.

    Raises
    ------
    NotSupportedError
        It is no fitted classifier of this package.
    """
    name = type(results).__name__
    model = BY_RESULTS.get(name)
    if model is None or model.estimator is None:
        raise NotSupportedError(
            f"{name} is no fitted classifier: pass what lda(), qda() or another verb returns."
        )
    return model.verb


def options_of(results: Any) -> dict[str, Any]:
    """Keywords that make the same fit of the same rows, but for the weights.

    What the rows chose is held, such as alpha and gamma, a threshold, or k; how it was chosen is left out.
    """
    fit, model = results._fit, BY_RESULTS[type(results).__name__]
    options = {name: value for name, value in fit.options.items() if name not in model.choosing}
    for name, number in model.chosen.items():
        if _is_left_to_rows(options[name]):
            options[name] = _held(getattr(fit.numbers, number), fit.classes)
    if model.posteriors:
        options["prior"] = None if fit.numbers.estimated_prior else results.prior.to_dict()
    if fit.blocks.functions:
        options["functions"] = dict(fit.blocks.functions)
    return options


def _is_left_to_rows(option: Any) -> bool:
    """Whether an option is left to the rows to choose, for a class at least."""
    return "bic" in option.values() if isinstance(option, dict) else option is None or option == "bic"


def _held(number: Any, classes: pd.Index) -> Any:
    """What was chosen: one value, or a dict of those of the classes."""
    if not isinstance(number, np.ndarray | tuple):
        return number
    return dict(zip(classes, _plain(number), strict=True))


def default_options(model: Row) -> dict[str, Any]:
    """The options of a verb, with their defaults."""
    parameters = inspect.signature(resolve(f"{model.module}:{model.verb}")).parameters
    return {name: each.default for name, each in parameters.items() if name not in NOT_OPTIONS}


def as_json(value: Any) -> Any:
    """An option in the form of a file: dicts as lists of pairs, and as its text what no file holds."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float) and math.isfinite(value):
        return value
    if isinstance(value, list):
        return [as_json(each) for each in value]
    if isinstance(value, dict):
        return {"dict": [[as_json(key), as_json(each)] for key, each in value.items()]}
    return {"text": text_of(value)}


def read_options(model: str, written: Any, damaged: Damaged) -> dict[str, Any]:
    """The options that a file has of a model, with the defaults of those that it has not.

    The verb itself checks their values, when it is called again.

    Raises
    ------
    DataError
        As `damaged` makes it of a reason: an option is unknown, or has a form that `save` does not write.
    """
    defaults = default_options(BY_MODEL[model])
    if not isinstance(written, dict):
        raise damaged("the arguments of its verb are no dict")
    for name in written:
        if name not in defaults:
            raise damaged(f"it has the argument {name!r}, which this version does not know")
    return defaults | {name: _of_json(name, value, damaged) for name, value in written.items()}


def _of_json(name: str, value: Any, damaged: Damaged, depth: int = 0) -> Any:
    """An option, from the form of a file."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth < MOST_DEPTH and isinstance(value, list):
        return [_of_json(name, each, damaged, depth + 1) for each in value]
    if depth < MOST_DEPTH and isinstance(value, dict) and len(value) == 1:
        ((form, held),) = value.items()
        if form == "text" and isinstance(held, str):
            return LostObject(held)
        if form == "dict" and isinstance(held, list) and all(map(_is_item, held)):
            return {key: _of_json(name, each, damaged, depth + 1) for key, each in held}
    raise damaged(f"its argument {name!r} has a form that no argument has")


def _is_item(pair: Any) -> bool:
    """Whether a list is of a key and a value."""
    return isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str | int | float | None)
