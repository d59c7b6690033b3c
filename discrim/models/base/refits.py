"""How models are fitted again: by the options of their verb, to other rows or moments, outside folds.

The options are those that a verb was given, with what its rows chose held, and in the form that a file has.
A refit takes the columns that the verb would take of its rows. The moments of the rows outside each fold
come from one pass. A choice among values of a tuning parameter has a path of errors, from which the simplest
of those as good as the best is taken.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import fields
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, asks_for_roots, gather_parts, merged, on_one_scale
from discrim.core.moments.row_sums import Spread, refuse_wide
from discrim.core.moments.sparse_rows import gather_sparse
from discrim.core.numerics.arrays import Codes
from discrim.covariance import COVARIANCES, Regularized
from discrim.design.blocks import Blocks
from discrim.errors import DiscrimError, NotSupportedError, sentence
from discrim.inference.error_rates import as_good, rates_along
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import (
    NOT_OPTIONS,
    LostObject,
    plain_option,
    text_of,
    used_sparse_rows,
    verb_options,
)
from discrim.models.registry import BY_MODEL, ModelEntry, resolve
from discrim.penalty import PENALTIES
from discrim.specification import Specification
from discrim.subspace import FEATURES, PLS, SUBSPACES

TO_BE_CHOSEN = ("bic", "auto", "cv", "loo", "1se")
"""Words that leave an option to the rows."""

MOST_DEPTH = 4
"""Lists and dicts within each other that an option may be made of."""

Damaged = Callable[[str], Exception]


def verb_of(results: Any) -> str:
    """Name of the verb that made a fit; a NotSupportedError of what is no classifier of this package."""
    fit = getattr(results, "_fit", None)
    if not isinstance(fit, FittedModel) or type(results) is not fit.spec.results_class:
        raise NotSupportedError(
            f"{type(results).__name__} is no fitted classifier.",
            hint="Pass what lda(), qda() or another verb returns.",
        )
    return fit.spec.verb


def options_of(results: Any, *, anew: bool = False) -> dict[str, Any]:
    """Keywords that make the same fit of the same rows, but for the weights.

    What the rows chose is held, such as alpha and gamma, a threshold, or k, and how it was chosen is left
    out; unless it is to be chosen `anew`.
    """
    fit = results._fit
    spec = fit.spec
    options = {name: value for name, value in fit.options.items() if anew or name not in spec.search_options}
    for name, number in () if anew else spec.chosen_options.items():
        options[name] = _with_chosen(options[name], getattr(fit.estimates, number), fit.classes)
    if "prior" in argument_defaults(BY_MODEL[spec.name]):
        shares = "equal" if len(set(fit.prior.tolist())) == 1 else results.prior.to_dict()
        options["prior"] = None if fit.estimates.estimated_prior else shares
    if fit.design_rows.functions:
        options["functions"] = dict(fit.design_rows.functions)
    return options


def _with_chosen(option: Any, chosen: Any, classes: pd.Index) -> Any:
    """Return an option with the values that the rows chose.

    Parameters
    ----------
    option : object
        The option as the verb was given it.
    chosen : object
        What the numbers of the fit say: of an option that takes specifications, a dict of the chosen
        parameters, empty if nothing was chosen; of another option, its value.
    classes : Index of length K
    """
    if isinstance(option, Specification):
        return option.with_chosen(**chosen)
    if isinstance(chosen, dict):
        # A word or a number in place of a specification has one parameter that can be chosen.
        return next(iter(chosen.values()), option)
    given = list(option.values()) if isinstance(option, dict) else [option]
    if option is None or any(isinstance(each, str) and each in TO_BE_CHOSEN for each in given):
        return _held(chosen, classes)
    return option


def _held(number: Any, classes: pd.Index) -> Any:
    """What was chosen: one value, or a dict of those of the classes."""
    if not isinstance(number, np.ndarray | tuple):
        return number
    return dict(zip(classes, plain_option(number), strict=True))


def argument_defaults(model: ModelEntry) -> dict[str, Any]:
    """The arguments of a verb, with their defaults."""
    parameters = inspect.signature(resolve(f"{model.module}:{model.verb}")).parameters
    return {name: each.default for name, each in parameters.items()}


def default_options(model: ModelEntry) -> dict[str, Any]:
    """The options of a verb, with their defaults."""
    return {name: value for name, value in argument_defaults(model).items() if name not in NOT_OPTIONS}


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
    if isinstance(value, Specification):
        parameters = {name: as_json(each) for name, each in verb_options(value.parameters()).items()}
        return {"specification": _name_of(type(value)), "parameters": parameters}
    return {"text": text_of(value)}


def _name_of(kind: type[Specification]) -> str:
    """Return the name of a class of specifications in files, such as "covariance.Shrunk"."""
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"


SPECIFICATIONS: dict[str, type[Specification]] = {
    _name_of(kind): kind
    for kind in (*COVARIANCES, Regularized, *SUBSPACES, *FEATURES, *PLS, *PENALTIES.values())
}
"""Classes of specifications by their names in files."""


def read_options(model: str, written: Any, damaged: Damaged) -> dict[str, Any]:
    """Return the options of a model's verb that a file contains.

    The verb itself checks their values when it is called again. `damaged` makes the error to raise of a
    reason: an option is unknown, is missing, or has a form that `save` does not write.
    """
    if not isinstance(written, dict):
        raise damaged("the arguments of its verb are no dict")
    for name in sorted(set(written) ^ set(default_options(BY_MODEL[model]))):
        raise damaged(f"the argument {name!r} of its verb is {'unknown' if name in written else 'missing'}")
    return {name: _of_json(name, value, damaged) for name, value in written.items()}


def _of_json(name: str, value: Any, damaged: Damaged, depth: int = 0) -> Any:
    """An option, from the form of a file."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth < MOST_DEPTH and isinstance(value, list):
        return [_of_json(name, each, damaged, depth + 1) for each in value]
    if depth < MOST_DEPTH and isinstance(value, dict) and set(value) == {"specification", "parameters"}:
        return _specification_of(name, value["specification"], value["parameters"], damaged)
    if depth < MOST_DEPTH and isinstance(value, dict) and len(value) == 1:
        ((form, held),) = value.items()
        if form == "text" and isinstance(held, str):
            return LostObject(held)
        if form == "dict" and isinstance(held, list) and all(map(_is_item, held)):
            return {key: _of_json(name, each, damaged, depth + 1) for key, each in held}
    raise damaged(f"its argument {name!r} has a form that no argument has")


def _specification_of(name: str, kind: Any, parameters: Any, damaged: Damaged) -> Specification:
    """Return a specification from the form of a file; its class validates the parameters."""
    known = SPECIFICATIONS.get(kind) if isinstance(kind, str) else None
    if known is None or not isinstance(parameters, dict):
        raise damaged(f"its argument {name!r} is not a specification that this version knows")
    if not {field.name for field in fields(known)}.issuperset(parameters):
        raise damaged(f"its argument {name!r} has a parameter that {kind} does not have")
    values = {each: _of_json(name, value, damaged, 1) for each, value in parameters.items()}
    try:
        return known(**values)
    except (DiscrimError, TypeError) as error:
        raise damaged(f"its argument {name!r} is not valid: {str(error).rstrip('.')}") from None


def _is_item(pair: Any) -> bool:
    """Whether a list is of a key and a value."""
    return isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str | int | float | None)


def moment_folds(
    blocks: Blocks, dealt: Codes, folds: int, spread: Spread, *, rooted: bool = True
) -> list[ClassMoments]:
    """Moments of the rows outside each fold, all from one pass; as of `gather_parts`."""
    n_classes = len(blocks.design.levels)
    both = np.where(dealt >= 0, dealt * n_classes + blocks.codes, -1)
    own = blocks.with_codes(both)
    parts = _parts_of_stored(own, folds, n_classes, spread, rooted=rooted)
    if parts is None:
        shape = {"n_parts": folds, "n_classes": n_classes, "n_columns": len(blocks.terms)}
        parts = gather_parts(own, **shape, spread=spread, rooted=rooted)
    # Of the folds before and after each one, so that folds merge in 2 F steps, not F^2. What is extreme in
    # one fold sets the scale of those that it is merged with only.
    same = all(a is b for a, b in zip(parts, on_one_scale(parts), strict=True))
    join: Callable[[ClassMoments, ClassMoments], ClassMoments] = ClassMoments.merge if same else merged
    before = list(accumulate(parts[:-1], join))
    after = list(accumulate(parts[:0:-1], lambda later, part: join(part, later)))
    return [after[-1], *map(join, before[:-1], after[-2::-1]), before[-1]]


def _parts_of_stored(
    blocks: Blocks, folds: int, n_classes: int, spread: Spread, *, rooted: bool
) -> list[ClassMoments] | None:
    """Moments of each fold of sparse rows; None where they are not sparse, or ask for more."""
    stored = used_sparse_rows(blocks) if spread in ("diagonal", "pooled") else None
    if stored is None:
        return None
    refuse_wide(n_classes, len(blocks.terms), spread, folds)
    ((rows, codes, weights),) = stored
    parts = []
    for fold in range(folds):
        own = np.flatnonzero(codes // n_classes == fold)
        part = rows.rows(own), codes[own] % n_classes, None if weights is None else weights[own]
        found = gather_sparse([part], n_classes=n_classes, n_columns=len(blocks.terms), spread=spread)
        if found is None or (spread == "pooled" and asks_for_roots(found, rooted=rooted)):
            return None
        parts.append(found)
    return parts


def error_path(
    name: str, tried: Any, wrong: NDArray[Any], rows: NDArray[Any], prior: NDArray[Any], *, sampled: bool
) -> pd.DataFrame:
    """What was tried, under its name, with error and se; the other parameters are those of `rates_along`."""
    path = pd.DataFrame({name: tried})
    path["error"], path["se"] = rates_along(wrong, rows, prior, sampled=sampled)
    return path


def largest_as_good(path: pd.DataFrame) -> Any:
    """The largest of what was tried, and so the simplest model, of those as good as the best."""
    return path.iloc[:, 0].to_numpy()[as_good(path["error"].to_numpy())].max().item()


def held_path(fit: FittedModel[Any], why: str, way_out: str, chosen: str = "") -> pd.DataFrame:
    """Return the errors of a choice that a fit keeps.

    Parameters
    ----------
    fit : FittedModel
    why : str
        Why there may be none, for the error.
    way_out : str
        What to fit instead, for the error.
    chosen : str, optional
        Name of what was chosen, which is a column of the table. Errors of another choice are not returned.

    Raises
    ------
    NotSupportedError
        The fit keeps no such errors.
    """
    if fit.path is None or (chosen and chosen not in fit.path):
        raise NotSupportedError(f"There is no path, {why}.", hint=sentence(way_out))
    return fit.path.copy()
