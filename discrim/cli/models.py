"""Read models in the value of an option, such as "knn(k=5)" or "lda, qda(covariance=shrunk(0.1))"."""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

from discrim.cli.parsing import choices_hint
from discrim.cli.values import annotations_of, specification_of, value_kind_of
from discrim.errors import DataError, DiscrimError
from discrim.formula.calls import LiteralCall, read_calls
from discrim.models.registry import BY_VERB, MODULE_BY_NAME, resolve
from discrim.slips import raise_if_unknown_keyword


class TypedModel(NamedTuple):
    """A model that was typed as the value of an option.

    Attributes
    ----------
    verb : str
        The public name of the verb.
    options : dict of str to object
        Its keyword arguments.
    typed : str
        The model as it was typed, with underscores in the name of the verb.
    """

    verb: str
    options: dict[str, Any]
    typed: str


def read_models(text: str) -> list[TypedModel]:
    """Read models that are separated by commas; raise DataError or FormulaError if the text is not valid.

    Examples
    --------
    >>> [(model.verb, model.options) for model in read_models("lda, rda(grid=[0, 0.5])")]
    [('lda', {}), ('rda', {'grid': [0, 0.5]})]
    """
    if not text.strip():
        raise DataError("The name of a model is empty.", hint="Write one, such as lda.")
    # Verbs of the command line contain hyphens, which would be minus signs in a call.
    hyphened = [verb.replace("_", "-") for verb in BY_VERB if "_" in verb]
    code = re.sub("|".join(hyphened), lambda found: found[0].replace("-", "_"), text)
    return [_model_of_call(call) for call in read_calls(code)]


def read_model(text: str) -> TypedModel:
    """Read one model; raise DataError if there are several, and the errors of `read_models`."""
    models = read_models(text)
    if len(models) > 1:
        raise DataError(f"{text!r} names {len(models)} models.", hint="Write one.")
    return models[0]


def _model_of_call(call: LiteralCall) -> TypedModel:
    """Convert a parsed call to a model.

    Raises a FormulaError for an unknown verb or keyword, and for positional arguments; values are validated
    by the verb, except specifications, which are built here.
    """
    known_verbs = [verb for verb, row in BY_VERB.items() if row.command is not None and row.can_be_saved]
    if call.name not in known_verbs:
        raise call.error(
            f"{call.name!r} is not a model that can be fitted here.",
            hint=choices_hint(call.name, known_verbs),
        )
    if call.args:
        raise call.error(
            f"{call.name} does not accept options by position.",
            hint="Write each by its name, for example knn(k=5).",
        )
    function = resolve(f"{MODULE_BY_NAME[call.name]}:{call.name}")
    annotations = annotations_of(function)
    options: dict[str, Any] = {}
    for name, value in call.kwargs.items():
        try:
            raise_if_unknown_keyword(function, {name: value})
        except TypeError as error:
            raise call.error(str(error), name, hint="Correct the name, or leave the option out.") from None
        options[name] = value
        specifications = value_kind_of(annotations[name]).specifications
        if isinstance(value, LiteralCall) and specifications:
            options[name] = specification_of(value, specifications)
        elif isinstance(value, LiteralCall):
            raise call.error(
                f"{name}= cannot be a call.", name, hint="Write a number, a text in quotes or a list."
            )
    return TypedModel(call.name, options, call.text[call.start : call.end])


def fit_model(model: TypedModel, formula: str, data: Any, options: dict[str, Any]) -> Any:
    """Fit a model; a DiscrimError keeps its class, and its message begins with the model.

    Parameters
    ----------
    model : TypedModel
        Verb and its own options.
    formula : str
    data : table or Source
    options : dict
        Options of the command, which are arguments of the verb too.

    Returns
    -------
    object
        Results of the verb.
    """
    import discrim

    verb = getattr(discrim, model.verb)
    check_options_of_verb(model.verb, options)
    try:
        return verb(formula, data=data, **options, **model.options)
    except DiscrimError as error:
        # The class of the error is kept: the caller retries a NotSupportedError with the rows in memory.
        raise error.with_message(f"{model.typed}: {error.message}") from error


def check_options_of_verb(verb: str, options: dict[str, Any]) -> None:
    """Raise a DataError if a public function lacks a parameter for one of the options."""
    parameters = inspect.signature(resolve(f"{MODULE_BY_NAME[verb]}:{verb}")).parameters
    for name in options:
        if name not in parameters:
            option = "--" + name.replace("_", "-")
            raise DataError(f"{verb} has no option {option}.", hint="Leave it out, or use another verb.")


def read_engine(text: str) -> Any:
    """Return a regression of scikit-learn from a text such as "Ridge(alpha=2)"; not fitted.

    Raises a DataError if scikit-learn is not installed.
    """
    try:
        make_engine = resolve("discrim.sklearn.regressions:engine_of")
    except ImportError:
        raise DataError(
            "The engine of fda requires scikit-learn.", hint="Install it with pip install scikit-learn."
        ) from None
    return make_engine(text)
