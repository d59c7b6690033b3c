"""Refits of models: options of a verb for another call, options in files, and moments of folds.

A verb is a public function that fits a model, such as `lda`; its options are the arguments that do not
determine the rows. `refit_options` returns the keywords that repeat a fit, with parameters that the rows
chose fixed or chosen again; `to_json` and `read_options` convert options for files. `moments_outside_folds`
computes the moments of the rows outside each fold in one pass. `error_path` and `largest_acceptable` choose a
tuning parameter: the simplest model among those whose error is not larger than the smallest one.
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

from discrim.core.moments.moments import (
    ClassMoments,
    gather_parts,
    gather_wide,
    merge_rescaled,
    requires_roots,
    rescale_to_common,
)
from discrim.core.moments.row_sums import ScatterType, raise_if_sums_exceed_memory
from discrim.core.moments.sparse_rows import gather_sparse
from discrim.core.numerics.arrays import Codes
from discrim.covariance import COVARIANCES, Regularized
from discrim.design.design_rows import DesignRows
from discrim.errors import DiscrimError, NotSupportedError, sentence
from discrim.inference.error_rates import error_rates_of_rules, near_minimum_mask
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import (
    NON_OPTION_ARGUMENTS,
    UnsavedObject,
    copy_option,
    one_line_repr,
    used_sparse_rows,
    verb_options,
)
from discrim.models.registry import BY_MODEL, ModelEntry, resolve
from discrim.penalty import PENALTIES
from discrim.specification import Specification
from discrim.subspace import FEATURES, PLS, SUBSPACES

CHOICE_WORDS = ("bic", "auto", "cv", "loo", "1se")
"""Values of options with which the rows choose a parameter."""

MAX_NESTING_DEPTH = 4
"""Largest depth of nested lists and dicts in an option of a file."""

DamagedErrorFactory = Callable[[str], Exception]


def verb_name(results: Any) -> str:
    """Return the name of the verb that made results, such as "lda".

    Raises NotSupportedError if `results` are not the results of a verb that fits a classifier.
    """
    fit = getattr(results, "_fit", None)
    if not isinstance(fit, FittedModel) or type(results) is not fit.spec.results_class:
        raise NotSupportedError(
            f"{type(results).__name__} is not a fitted classifier.",
            hint="Pass the results of lda(), qda() or another verb.",
        )
    return fit.spec.verb


def refit_options(results: Any, *, rechoose: bool = False) -> dict[str, Any]:
    """Return the keywords with which the verb repeats a fit to the same rows.

    Parameters
    ----------
    results : ClassifierResults
    rechoose : bool
        Whether parameters that the rows chose, such as a threshold or k, are chosen again. By default their
        values are fixed and the options of the choice are omitted.

    Returns
    -------
    dict of str to object
        Options of the verb, with `prior` if the verb has it and `functions` if the formula uses any. The
        prior is None if it was estimated, else "equal" or a dict by class. Formula, data, weights, levels and
        na_action are not included.
    """
    fit = results._fit
    spec = fit.spec
    options = {
        name: value for name, value in fit.options.items() if rechoose or name not in spec.search_options
    }
    for name, number in () if rechoose else spec.chosen_options.items():
        options[name] = _option_with_chosen(options[name], getattr(fit.estimates, number), fit.classes)
    if "prior" in argument_defaults(BY_MODEL[spec.name]):
        prior = "equal" if len(set(fit.prior.tolist())) == 1 else results.prior.to_dict()
        options["prior"] = None if fit.estimates.estimated_prior else prior
    if fit.design_rows.functions:
        options["functions"] = dict(fit.design_rows.functions)
    return options


def _option_with_chosen(option: Any, chosen: Any, classes: pd.Index) -> Any:
    """Return an option of a verb with the chosen values instead of the request to choose them.

    Parameters
    ----------
    option : object
        The option as the user passed it.
    chosen : object
        The chosen value, or an array or tuple (K,) of values by class; for an option that accepts
        specifications, a dict of the chosen parameters, otherwise empty.
    classes : Index of length K
        Class labels.

    Returns
    -------
    object
        The chosen value; values by class become a dict. A specification becomes a copy with the chosen
        parameters; if the user passed a word or a number for one, the result is the one chosen parameter. Any
        other option is returned unchanged if it is neither None, nor one of `CHOICE_WORDS`, nor a dict with
        such a word.
    """
    if isinstance(option, Specification):
        return option.with_chosen(**chosen)
    if isinstance(chosen, dict):
        # A str or a number instead of a specification has one parameter that can be chosen.
        return next(iter(chosen.values()), option)
    option_values = list(option.values()) if isinstance(option, dict) else [option]
    if option is None or any(
        isinstance(option_value, str) and option_value in CHOICE_WORDS for option_value in option_values
    ):
        return _values_by_class(chosen, classes)
    return option


def _values_by_class(number: Any, classes: pd.Index) -> Any:
    """Return a chosen number unchanged, or an array or tuple (K,) of numbers as a dict by class."""
    if not isinstance(number, np.ndarray | tuple):
        return number
    return dict(zip(classes, copy_option(number), strict=True))


def argument_defaults(model: ModelEntry) -> dict[str, Any]:
    """Return the arguments of a verb with their defaults; `inspect.Parameter.empty` if one is required."""
    parameters = inspect.signature(resolve(f"{model.module}:{model.verb}")).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def default_options(model: ModelEntry) -> dict[str, Any]:
    """Return the options of a verb with their defaults: the arguments outside `NON_OPTION_ARGUMENTS`.

    The default of a required option is `inspect.Parameter.empty`.
    """
    return {
        name: value for name, value in argument_defaults(model).items() if name not in NON_OPTION_ARGUMENTS
    }


def to_json(value: Any) -> Any:
    """Convert an option to its form in a file, which `read_options` converts back.

    None, flags, text and finite numbers are unchanged, and lists are converted item by item. A dict becomes
    {"dict": list of pairs} and a specification {"specification": name, "parameters": dict}. Any other object,
    also a tuple or an infinite number, becomes {"text": its repr}, which is read as an `UnsavedObject`.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float) and math.isfinite(value):
        return value
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[to_json(key), to_json(item)] for key, item in value.items()]}
    if isinstance(value, Specification):
        parameters = {name: to_json(item) for name, item in verb_options(value.parameters()).items()}
        return {"specification": _specification_name(type(value)), "parameters": parameters}
    return {"text": one_line_repr(value)}


def _specification_name(specification_class: type[Specification]) -> str:
    """Return the name of a class of specifications in files, such as "covariance.Shrunk"."""
    return f"{specification_class.__module__.rpartition('.')[2]}.{specification_class.__name__}"


SPECIFICATIONS: dict[str, type[Specification]] = {
    _specification_name(kind): kind
    for kind in (*COVARIANCES, Regularized, *SUBSPACES, *FEATURES, *PLS, *PENALTIES.values())
}
"""Classes of specifications by their names in files."""


def read_options(model: str, stored_options: Any, make_error: DamagedErrorFactory) -> dict[str, Any]:
    """Read the options of a verb from a file.

    Their values are validated when the verb is called again.

    Parameters
    ----------
    model : str
        Name of the model, a key of `BY_MODEL`.
    stored_options : object
        Entry of the file: a dict of all options of the verb in the form of `to_json`.
    make_error : callable
        Function of a reason that returns the error to raise if an option is unknown, missing or malformed.

    Returns
    -------
    dict of str to object
        All options of the verb by name. An object that the file stores as text is an `UnsavedObject`.
    """
    if not isinstance(stored_options, dict):
        raise make_error("the arguments of its verb are not a dict")
    for name in sorted(set(stored_options) ^ set(default_options(BY_MODEL[model]))):
        raise make_error(
            f"the argument {name!r} of its verb is {'unknown' if name in stored_options else 'missing'}"
        )
    return {name: _from_json(name, value, make_error) for name, value in stored_options.items()}


def _from_json(name: str, value: Any, make_error: DamagedErrorFactory, depth: int = 0) -> Any:
    """Convert an option from its form in a file; see `to_json`.

    Parameters
    ----------
    name : str
        Name of the option for error messages.
    value : object
        Its form in the file, not deeper than `MAX_NESTING_DEPTH`.
    make_error : callable
        Function of a reason that returns the error to raise if the form is unknown.
    depth : int
        Number of lists and dicts around the value.

    Returns
    -------
    object
        Scalar, list, dict or `Specification`; an `UnsavedObject` for the form {"text": ...}.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth < MAX_NESTING_DEPTH and isinstance(value, list):
        return [_from_json(name, item, make_error, depth + 1) for item in value]
    if (
        depth < MAX_NESTING_DEPTH
        and isinstance(value, dict)
        and set(value) == {"specification", "parameters"}
    ):
        return _specification_from_json(name, value["specification"], value["parameters"], make_error)
    if depth < MAX_NESTING_DEPTH and isinstance(value, dict) and len(value) == 1:
        ((form, content),) = value.items()
        if form == "text" and isinstance(content, str):
            return UnsavedObject(content)
        if form == "dict" and isinstance(content, list) and all(map(_is_key_value_pair, content)):
            return {key: _from_json(name, item, make_error, depth + 1) for key, item in content}
    raise make_error(f"its argument {name!r} has an unknown form")


def _specification_from_json(
    name: str, class_name: Any, parameters: Any, make_error: DamagedErrorFactory
) -> Specification:
    """Create a specification from its form in a file; its class validates the parameters.

    Parameters
    ----------
    name : str
        Name of the option for error messages.
    class_name : object
        Name of the class, a key of `SPECIFICATIONS`.
    parameters : object
        Dict of its parameters in the form of a file.
    make_error : callable
        Function of a reason that returns the error to raise if the class is unknown or a parameter is unknown
        or not valid.
    """
    specification_class = SPECIFICATIONS.get(class_name) if isinstance(class_name, str) else None
    if specification_class is None or not isinstance(parameters, dict):
        raise make_error(f"its argument {name!r} is an unknown specification")
    if not {field.name for field in fields(specification_class)}.issuperset(parameters):
        raise make_error(f"its argument {name!r} has an unknown parameter of {class_name}")
    values = {parameter: _from_json(name, value, make_error, 1) for parameter, value in parameters.items()}
    try:
        return specification_class(**values)
    except (DiscrimError, TypeError) as error:
        raise make_error(f"its argument {name!r} is not valid: {str(error).rstrip('.')}") from None


def _is_key_value_pair(pair: Any) -> bool:
    """Return whether a value is a list [key, value] whose key is text, a number or None."""
    return isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str | int | float | None)


def moments_outside_folds(
    design_rows: DesignRows,
    fold_ids: Codes,
    folds: int,
    required_moments: ScatterType,
    *,
    with_roots: bool = True,
) -> list[ClassMoments]:
    """Compute the moments of the rows outside each fold in one pass.

    Parameters
    ----------
    design_rows : DesignRows
    fold_ids : (n,) int
        Fold of each row; -1 for rows that are not used, among them all rows without a class.
    folds : int
        Number of folds F, two or more.
    required_moments : ScatterType
        Which second moments are computed.
    with_roots : bool
        Whether roots of scatter matrices may be computed; see `gather_parts`.

    Returns
    -------
    list of F ClassMoments
        Moments of all classes, also those without rows outside the fold. Their scales may differ.
    """
    n_classes = len(design_rows.design.levels)
    fold_class_codes = np.where(fold_ids >= 0, fold_ids * n_classes + design_rows.codes, -1)
    recoded_rows = design_rows.with_codes(fold_class_codes)
    fold_moments = _fold_moments_of_sparse_rows(
        recoded_rows, folds, n_classes, required_moments, with_roots=with_roots
    )
    if fold_moments is None:
        shape = {"n_parts": folds, "n_classes": n_classes, "n_columns": len(design_rows.terms)}
        if design_rows.n_labelled < shape["n_columns"]:
            moments_outside = gather_wide(recoded_rows, **shape, required_moments=required_moments)
            if moments_outside is not None:
                return moments_outside
        fold_moments = gather_parts(
            recoded_rows, **shape, required_moments=required_moments, with_roots=with_roots
        )
    # Cumulative moments of the folds before and after each fold need 2 F merges instead of F^2. Extreme
    # values in a fold determine the scale of the folds that it is merged with only.
    on_same_scale = all(a is b for a, b in zip(fold_moments, rescale_to_common(fold_moments), strict=True))
    merge_two: Callable[[ClassMoments, ClassMoments], ClassMoments] = (
        ClassMoments.merge if on_same_scale else merge_rescaled
    )
    before = list(accumulate(fold_moments[:-1], merge_two))
    after = list(accumulate(fold_moments[:0:-1], lambda later, fold_part: merge_two(fold_part, later)))
    return [after[-1], *map(merge_two, before[:-1], after[-2::-1]), before[-1]]


def _fold_moments_of_sparse_rows(
    design_rows: DesignRows, folds: int, n_classes: int, required_moments: ScatterType, *, with_roots: bool
) -> list[ClassMoments] | None:
    """Compute the moments of each fold of sparse rows.

    Parameters
    ----------
    design_rows : DesignRows
        Rows with codes fold * K + class.
    folds, n_classes : int
        Numbers of folds and of classes.
    required_moments : ScatterType
        Which second moments are computed.
    with_roots : bool
        Whether roots of scatter matrices may be computed.

    Returns
    -------
    list of ClassMoments or None
        Moments of the rows in each fold. None if the rows are dense, or if the moments require dense rows.
    """
    sparse_rows = used_sparse_rows(design_rows) if required_moments in ("diagonal", "pooled") else None
    if sparse_rows is None:
        return None
    raise_if_sums_exceed_memory(n_classes, len(design_rows.terms), required_moments, folds)
    ((rows, codes, weights),) = sparse_rows
    fold_moments = []
    for fold in range(folds):
        fold_rows = np.flatnonzero(codes // n_classes == fold)
        fold_block = (
            rows.select_rows(fold_rows),
            codes[fold_rows] % n_classes,
            None if weights is None else weights[fold_rows],
        )
        moments = gather_sparse(
            [fold_block],
            n_classes=n_classes,
            n_columns=len(design_rows.terms),
            required_moments=required_moments,
        )
        if moments is None or (
            required_moments == "pooled" and requires_roots(moments, with_roots=with_roots)
        ):
            return None
        fold_moments.append(moments)
    return fold_moments


def error_path(
    name: str, candidates: Any, wrong: NDArray[Any], rows: NDArray[Any], prior: NDArray[Any], *, sampled: bool
) -> pd.DataFrame:
    """Return the errors of candidate values of a tuning parameter.

    Parameters
    ----------
    name : str
        Name of the parameter, which is the first column.
    candidates : (T,) array
        Candidate values.
    wrong : (T, K) float
        Number of misclassified rows, or the sum of their weights, by candidate and class.
    rows : (K,) float
        Number of rows, or the sum of their weights, of each class.
    prior : (K,) float
        Weights of the classes in the error; ignored if `sampled`.
    sampled : bool
        Whether the prior is the class proportions of the rows, whose sampling error counts in `se`.

    Returns
    -------
    DataFrame of T rows
        Columns `name` (the candidates), `error` (error rate) and `se` (its standard error), in the order of
        the candidates.
    """
    path = pd.DataFrame({name: candidates})
    path["error"], path["se"] = error_rates_of_rules(wrong, rows, prior, sampled=sampled)
    return path


def largest_acceptable(path: pd.DataFrame) -> Any:
    """Return the largest candidate whose error is the smallest up to rounding, as a Python scalar.

    Standard errors are ignored. `path` is a result of `error_path` for a parameter of which larger values
    mean simpler models: its first column contains the candidates.
    """
    return path.iloc[:, 0].to_numpy()[near_minimum_mask(path["error"].to_numpy())].max().item()


def stored_path(fit: FittedModel[Any], reason: str, hint: str, parameter: str = "") -> pd.DataFrame:
    """Return the table of candidates of a tuning parameter with their errors, which the fit stores.

    Parameters
    ----------
    fit : FittedModel
    reason : str
        Why the errors may be missing, for the error message.
    hint : str
        Hint of the error.
    parameter : str, optional
        Name of the chosen parameter, which has to be a column of the table.

    Returns
    -------
    DataFrame
        A copy of `fit.path`, as `error_path` or the verb returned it.

    Raises
    ------
    NotSupportedError
        The fit does not store a table, for example because it was loaded from a file, or the table lacks
        the column `parameter`.
    """
    if fit.path is None or (parameter and parameter not in fit.path):
        raise NotSupportedError(f"The path of the choice is not available, {reason}.", hint=sentence(hint))
    return fit.path.copy()
