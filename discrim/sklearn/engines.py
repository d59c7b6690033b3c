"""Regressions of scikit-learn by their names, as text that is data and never code."""

from __future__ import annotations

import ast
from difflib import get_close_matches
from typing import Any

from sklearn.utils import all_estimators

from discrim.errors import DataError

__all__ = ["engine_of"]


def engine_of(text: str) -> Any:
    """A regression of scikit-learn as text has it: a name, with options in parentheses.

    Parameters
    ----------
    text : str
        Such as ``Ridge`` or ``KernelRidge(kernel='rbf', gamma=0.1)``. Options are literals: numbers, texts,
        True, False, None, and tuples, lists or dicts of these.

    Returns
    -------
    estimator
        One that takes a single response is wrapped in `MultiOutputRegressor`.

    Raises
    ------
    DataError
        The name is of no regression, the options are none of it, or the text is something else.

    Examples
    --------
    >>> engine_of("Ridge(alpha=2.0)")
    Ridge(alpha=2.0)
    """
    try:
        tree: ast.expr = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _unread(text) from None
    called = isinstance(tree, ast.Call)
    name = tree.func if isinstance(tree, ast.Call) else tree
    if not isinstance(name, ast.Name) or (isinstance(tree, ast.Call) and tree.args):
        raise _unread(text)
    options: dict[str, Any] = {}
    for word in tree.keywords if isinstance(tree, ast.Call) and called else ():
        if word.arg is None:
            raise _unread(text)
        try:
            options[word.arg] = ast.literal_eval(word.value)
        except (ValueError, TypeError, RecursionError):
            raise DataError(
                f"engine={text!r}: {word.arg}= is no literal: give a number, a text in quotes, True, False, "
                "None, or a list of these."
            ) from None
    return _made(text, name.id, options)


def _made(text: str, name: str, options: dict[str, Any]) -> Any:
    known = dict(all_estimators(type_filter="regressor"))
    if name not in known:
        near = get_close_matches(name, known, n=1)
        way_out = f"Did you mean {near[0]}?" if near else "Give one, such as Ridge or KernelRidge."
        raise DataError(f"engine={text!r}: {name} is no regression of scikit-learn. {way_out}")
    try:
        made = known[name](**options)
    except TypeError as error:
        raise DataError(f"engine={text!r} cannot be made: {error}. Give options that {name} has.") from error
    tags = made.__sklearn_tags__().target_tags
    if tags is not None and not tags.multi_output:
        from sklearn.multioutput import MultiOutputRegressor

        return MultiOutputRegressor(made)
    return made


def _unread(text: str) -> DataError:
    return DataError(
        f"engine={text!r} cannot be read: give the name of a regression of scikit-learn, with options by "
        "name, as \"KernelRidge(kernel='rbf', gamma=0.1)\"."
    )
