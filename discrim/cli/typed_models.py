"""Models as they are typed in the value of an option: a verb, with options of its own behind it."""

from __future__ import annotations

import argparse
import inspect
import shlex
from typing import Any, NamedTuple

from discrim.cli.hints import with_options
from discrim.cli.parser import Parser, one_of
from discrim.errors import DataError, DiscrimError
from discrim.models.registry import BY_VERB, resolve

__all__ = ["TypedModel", "fitted", "model_of", "models_of"]


class TypedModel(NamedTuple):
    """A model that is to be fitted.

    Attributes
    ----------
    verb : str
        Its public name.
    options : dict of str to object
        Arguments of the verb.
    typed : str
        As a person wrote it.
    parser : Parser
        Of its options.
    """

    verb: str
    options: dict[str, Any]
    typed: str
    parser: Parser


def models_of(typed: str) -> list[TypedModel]:
    """Models set apart by commas.

    Raises
    ------
    DataError
        A verb is none of a model that a formula and a table are enough for, or the text cannot be read.

    Examples
    --------
    >>> [(model.verb, model.options) for model in models_of("lda, rda --grid 0,0.5")]
    [('lda', {}), ('rda', {'grid': [0.0, 0.5]})]
    """
    known = {name.replace("_", "-") for name in BY_VERB}
    items: list[str] = []
    for piece in typed.split(","):
        first = piece.split()[0] if piece.split() else ""
        # What follows a comma may be the rest of an option's value.
        if items and "--" in items[-1] and first not in known:
            items[-1] += f",{piece}"
        else:
            items.append(piece.strip())
    return [model_of(item) for item in items]


def model_of(typed: str) -> TypedModel:
    """One model."""
    try:
        words = shlex.split(typed)
    except ValueError as error:
        raise DataError(f"{typed!r} cannot be read as a verb: {error}. Put the closing sign") from None
    if not words:
        raise DataError("the name of a model is empty: give one, such as lda, and no comma without one")
    verb = _verb_named(words[0])
    row = BY_VERB[verb]
    parser = Parser(prog=f"discrim {words[0]}", verb=words[0], argument_default=argparse.SUPPRESS)
    if row.arguments is not None:
        resolve(row.arguments)(parser)
    return TypedModel(verb, vars(parser.parse_args(words[1:])), typed, parser)


def _verb_named(word: str) -> str:
    """The public name of the verb of a model, as it is typed."""
    known = {
        name.replace("_", "-"): name
        for name, row in BY_VERB.items()
        if row.command is not None and row.can_be_saved
    }
    found = known.get(word.replace("_", "-"))
    if found is None:
        way_out = one_of(word, list(known))
        raise DataError(f"{word!r} is no verb of a model that can be fitted here{way_out}")
    return found


def fitted(model: TypedModel, formula: str, data: Any, options: dict[str, Any]) -> Any:
    """Fit a model, with options that it shares with others.

    Raises
    ------
    DiscrimError
        The model does not take a shared option, or cannot be fitted; the message names the model.
    """
    import discrim

    verb = getattr(discrim, model.verb)
    taken = inspect.signature(verb).parameters
    for name in options:
        if name not in taken:
            raise DataError(f"{model.verb} takes no --{name}: leave out --{name}, or that verb")
    try:
        return verb(formula, data=data, **options, **model.options)
    except DiscrimError as error:
        said = with_options(error, model.parser, model.options)
        raise DiscrimError(f"{model.typed}: {said}") from error
