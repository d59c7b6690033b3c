"""The options that a fit was made with, from its results: what a refit by the same verb takes."""

from __future__ import annotations

from typing import Any

from discrim.errors import NotSupportedError
from discrim.models.registry import BY_RESULTS, resolve

__all__ = ["options_of", "verb_of"]


def verb_of(fit: Any) -> str:
    """Name of the verb that made a fit.

    Raises
    ------
    NotSupportedError
        It is no fitted classifier of this package.
    """
    name = type(fit).__name__
    model = BY_RESULTS.get(name)
    if model is None or model.estimator is None:
        raise NotSupportedError(
            f"{name} is no fitted classifier: pass what lda(), qda() or another verb returns."
        )
    return model.verb


def options_of(fit: Any) -> dict[str, Any]:
    """Keywords that make the same fit of the same rows, but for the weights.

    What the fit chose by itself is held: alpha and gamma, a threshold, or k.
    """
    model = BY_RESULTS[type(fit).__name__]
    options = {name: getattr(fit._fit.numbers, name) for name in model.held}
    if model.options is not None:
        options |= resolve(model.options)(fit)
    if model.posteriors:
        options["prior"] = None if fit._fit.numbers.estimated_prior else fit.prior.to_dict()
    if fit._fit.blocks.functions:
        options["functions"] = dict(fit._fit.blocks.functions)
    return options
