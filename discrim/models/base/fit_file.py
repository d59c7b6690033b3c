"""Saving and loading of fits, in files without code.

A file contains the design, the arguments of the verb, the values and arrays of the estimates that the
`ModelSpec` lists, and the moments. Arguments that JSON cannot represent, such as an estimator, are stored as
text. Everything is validated when a file is read: the formula by the checks for formulas of users, and every
shape and value before it is used. Moments have to satisfy all conditions that moments of rows satisfy. Values
that are valid separately may still be inconsistent, such as counts that leave zero degrees of freedom; the
rule is therefore evaluated at points near the class means before a fit is returned. The layout of a file is
described in `discrim.models.base.tensor_file`. `moments.py` uses the functions on moments.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from discrim.core.covariance.covariance import is_positive_definite
from discrim.core.covariance.model import CovarianceModel, FullCovariance
from discrim.core.covariance.shrunk import ShrunkCovariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import Floats, are_flags
from discrim.core.numerics.atomic_write import validate_output_path
from discrim.core.rules.calibration import KINDS as CALIBRATIONS
from discrim.core.rules.calibration import MIXING_KINDS, Calibrator
from discrim.design.design_rows import design_without_rows
from discrim.errors import DamagedFileError, DataError, DiscrimError, FormulaError, NotSupportedError
from discrim.formula.design import Design
from discrim.models.base.fit import CALIBRATOR_KEY, FittedModel, ModelSpec, Selection
from discrim.models.base.refits import read_options, to_json
from discrim.models.base.stored import StoredEstimates, decode_arguments, stored_parameter_names
from discrim.models.base.tensor_file import check_finite, damaged_file_error, write_file
from discrim.models.registry import BY_MODEL, spec_of

ESTIMATE_PREFIX = "estimates."
"""Prefix of the names of arrays of one model; moments and prior exist for all models."""

MAX_CHECKED_CLASSES = 64
"""Number of class means at which the rule of a loaded fit is evaluated."""


def find_undefined_score(fit: FittedModel[Any], *, at_means: bool) -> str | None:
    """Evaluate the rule of a loaded fit near the class means, and describe the first undefined score.

    The points are the first `MAX_CHECKED_CLASSES` class means, and one pooled standard deviation below and
    above them; categories and counts are zero in them. A score is undefined if it is NaN or plus infinity. If
    all columns are numeric, minus infinity at the mean of the class itself is undefined too, unless its prior
    is zero. Inconsistent estimates may also raise one of `INCONSISTENCY_ERRORS`.

    Parameters
    ----------
    fit : FittedModel
    at_means : bool
        Whether the rule is evaluated at the points; otherwise it is only created, and degrees of freedom are
        checked.

    Returns
    -------
    str or None
        Description of the problem; None for valid input.
    """
    moments = fit.estimates.moments
    divisors = [getattr(fit.estimates, name, 1.0) for name in ("divisor", "divisors")]
    if not all((np.asarray(divisor) > 0).all() for divisor in divisors):
        return "its class counts leave no degrees of freedom for a covariance"
    with np.errstate(all="ignore"):
        means = moments.class_means[:MAX_CHECKED_CLASSES]
        # Divide before the sum over classes, which might overflow.
        sd = np.sqrt((moments.squares / moments.total).sum(axis=0)) / moments.scale
        rows = np.concatenate([means, means - sd, means + sd])
        column_plan = getattr(fit.estimates, "plan", None)
        if column_plan is not None:
            # Zero is a valid level and a valid count.
            rows[:, (column_plan.families == 1) | (column_plan.families == 3)] = 0.0
        rule = fit.rule()
        if not at_means:
            return None
        scores = rule.scores(rows)
    is_undefined = np.isnan(scores) | np.isposinf(scores)
    if column_plan is None:
        class_index = np.arange(len(means))
        # The score of a class with a positive prior is finite at its own mean.
        is_undefined[class_index, class_index] |= np.isneginf(scores[class_index, class_index]) & (
            fit.estimates.prior[class_index] > 0
        )
    if not is_undefined.any():
        return None
    row, k = np.argwhere(is_undefined)[0].tolist()
    nearest_class = fit.classes[row % len(means)]
    label = fit.classes[k]
    return f"the score of class {label!r} is undefined near the mean of class {nearest_class!r}"


MAX_DROPPED_ROWS = 2**53
"""Largest number of omitted rows in a file."""

MAX_DESCRIPTION_LENGTH = 200
"""Largest number of characters in the description of a choice of columns."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Lone surrogates, which are not valid Unicode."""

_ESTIMATE_RANGES = {
    **dict.fromkeys(("alpha", "gamma", "l1_ratio"), (0.0, 1.0)),
    **dict.fromkeys(("threshold", "smoothing", "strength", "offset", "seed"), (0.0, math.inf)),
    "cv": (2, math.inf),
    "components": (1, math.inf),
    "step": (1e-300, 1e200),
}
"""Smallest and largest valid values of numbers among the estimates, by name."""


def check_values(path: Any, description: Any) -> None:
    """Raise DamagedFileError if a description from a file has a number or text that `save` cannot write.

    JSON may contain infinite numbers, integers of any length and lone surrogates.
    """
    remaining = [description]
    while remaining:
        value = remaining.pop()
        if isinstance(value, dict):
            remaining.extend(value)
            remaining.extend(value.values())
        elif isinstance(value, list):
            if not _has_only_valid_values(value):
                remaining.extend(value)
        elif isinstance(value, str):
            if _LONE_SURROGATE.search(value):
                raise damaged_file_error(path, f"{value[:40]!r} is not valid Unicode")
        elif isinstance(value, float) and not math.isfinite(value):
            raise damaged_file_error(path, f"its description has the value {value}, which is not finite")
        elif isinstance(value, int) and abs(value) >= 2**1023:
            raise damaged_file_error(
                path, "its description has an integer out of the range of double precision"
            )


def _has_only_valid_values(values: list[Any]) -> bool:
    """Return whether a list has only valid names or numbers, by a fast test; False if it is inconclusive.

    It covers lists of ASCII text, of integers below 2**53 or of finite floats, and nested lists of these.
    """
    kinds = set(map(type, values))
    # Flatten pairs of numbers and lists of such pairs.
    for _ in range(2):
        if kinds == {list}:
            values = list(chain.from_iterable(values))
            kinds = set(map(type, values))
    if kinds == {str}:
        return all(map(str.isascii, values))
    if kinds == {int}:
        return bool(-(2**53) < min(values) <= max(values) < 2**53)
    return kinds == {float} and all(map(math.isfinite, values))


def check_description(path: Any, design: Design, keep: Any, dropped: Any, weighted: Any) -> None:
    """Raise DamagedFileError if columns, counts or classes in a description are not valid.

    Parameters
    ----------
    path : path
        The file, for error messages.
    design : Design
    keep : object
        Valid are None for all columns, and the increasing positions of the columns in the model.
    dropped : object
        Valid is the number of rows with missing values, at most `MAX_DROPPED_ROWS`.
    weighted : object
        Valid is a bool: whether the fit has weights.
    """
    if keep is not None:
        is_index_list = isinstance(keep, list) and keep and all(type(j) is int for j in keep)
        if not is_index_list or sorted(set(keep)) != keep or not 0 <= keep[0] <= keep[-1] < len(design.terms):
            raise damaged_file_error(path, "the columns that it keeps are not columns of its design")
    if type(dropped) is not int or not 0 <= dropped <= MAX_DROPPED_ROWS or type(weighted) is not bool:
        raise damaged_file_error(path, "its numbers of rows are not valid")
    if len(design.levels) < 2:
        raise damaged_file_error(path, f"it has {len(design.levels)} classes instead of two or more")


def _check_ranges(path: Any, arguments: Mapping[str, Any], n_classes: int) -> None:
    """Raise DamagedFileError if a number in the estimates is outside the range for its name.

    The ranges are in `_ESTIMATE_RANGES`; other names, and values that are not numbers, are not checked.

    Parameters
    ----------
    path : path
        The file, for error messages.
    arguments : mapping
        Estimates by name.
    n_classes : int
    """
    ranges = _ESTIMATE_RANGES | {"reference": (0, n_classes - 1), "ncomp": (1, n_classes - 1)}
    for name, (low, high) in ranges.items():
        value = arguments.get(name)
        if isinstance(value, int | float) and not low <= value <= high:
            raise damaged_file_error(path, f"its {name} is {_short_repr(value)}")


def read_selection(path: Any, stored: Any) -> Selection | None:
    """Read the description of a choice of columns or model from its entry in a file.

    None stands for no choice and is returned for None. Raises DamagedFileError unless another entry has
    "kind" ("columns" or "model") and "words", a printable text of 1 to `MAX_DESCRIPTION_LENGTH` characters.
    """
    if stored is None:
        return None
    match stored:
        case {"kind": "columns" | "model" as kind, "words": str() as words}:
            if 0 < len(words) <= MAX_DESCRIPTION_LENGTH and words.isprintable():
                return Selection(kind, words)
    raise damaged_file_error(path, f"its choice of columns is {_short_repr(stored)}")


def _short_repr(value: Any) -> str:
    """Return the text of a value, at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def read_dropped_names(path: Any, left_out: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the names of the columns that a fit dropped: constant ones, and collinear ones.

    Raises DamagedFileError if `left_out` is not a dict of the lists "constant" and "collinear".
    """
    is_valid = isinstance(left_out, dict) and set(left_out) == {"constant", "collinear"}
    lists = list(left_out.values()) if is_valid else []
    if not is_valid or not all(isinstance(x, list) and all(isinstance(t, str) for t in x) for x in lists):
        raise damaged_file_error(path, "its dropped columns are not lists of names")
    return tuple(left_out["constant"]), tuple(left_out["collinear"])


INCONSISTENCY_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Exceptions that inconsistent parts of a file may cause."""


def _spec_by_file_name(name: Any) -> ModelSpec[Any] | None:
    """Return the specification of a model by its name in a file.

    None if the name is not the name of a model, or if files cannot store the model.
    """
    row = BY_MODEL.get(name) if isinstance(name, str) else None
    if row is None or not row.can_be_saved:
        return None
    spec: ModelSpec[Any] = spec_of(row)
    return spec


def save(fit: FittedModel[Any], path: str | os.PathLike[str]) -> None:
    """Write a fit to a file atomically, after a check that the file can be loaded.

    The rows of its table are not stored, except for `knn`, `kernel_density` and `kernel_lda`, whose estimates
    are the rows. A symbolic link and the mode of an existing file are kept. A process that is killed may
    leave a file `.discrim-*.tmp` in the folder. If an error is raised, an existing file is unchanged.
    NotSupportedError is raised if the model cannot be saved or the file could not be loaded again, and
    UnwritableFileError if the operating system does not write it.
    """
    if not fit.spec.can_be_saved:
        raise NotSupportedError(
            f"{fit.title} cannot be saved.", hint="Pickle the fit, or store the call that creates it."
        )
    about, tensors = _description_and_arrays(fit)
    read = partial(fit_from_file, functions=fit.design_rows.functions)
    refusal = f"{fit.title} cannot be saved, because its file could not be loaded"
    write_loadable(path, about, tensors, read, refusal, "Pickle the fit, or store the call that creates it.")


def write_loadable(
    path: str | os.PathLike[str],
    description: dict[str, Any],
    tensors: dict[str, Floats],
    read: Callable[[Path, dict[str, Any], dict[str, Floats]], Any],
    message: str,
    hint: str,
) -> None:
    """Write description and arrays to a file, after a test that `read` accepts them.

    Parameters
    ----------
    path : path
        The file to write.
    description : dict
        Description, which is written as JSON.
    tensors : dict of str to array
        Arrays to write, by name.
    read : callable
        Function of path, description and arrays that loads the file.
    message, hint : str
        Message and hint of the NotSupportedError.

    Raises
    ------
    NotSupportedError
        An array has a value that is not finite, or `read` raises any exception, whose reason is appended to
        `message`. Nothing is written.
    DataError, UnwritableFileError
        `path` is not a path, or the file cannot be written.
    """
    output_path = validate_output_path(path)
    try:
        check_finite(output_path, tensors)
        read(output_path, json.loads(json.dumps(description)), dict(tensors))
    except Exception as error:
        reason = error.reason if isinstance(error, DamagedFileError) else str(error).rstrip(".")
        raise NotSupportedError(f"{message}: {reason}.", hint=hint) from error
    write_file(output_path, description, tensors)


def _description_and_arrays(fit: FittedModel[Any]) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Return the description and the arrays of a fit in the form that `fit_from_file` reads.

    The description has the keys "model" (name), "arguments" (of the verb), "estimates" (values that are not
    arguments), "design", "keep" (positions of the kept columns, or None), "left_out" (names of dropped
    columns), "dropped" (number of rows) and "weighted" (bool), and if present "selection" and "calibration".

    The arrays are "prior", the arrays of `moment_arrays`, the ones of the model with the prefix
    `ESTIMATE_PREFIX`, and "calibration" if the fit has a calibrator.
    """
    estimates = fit.estimates
    design_rows = fit.design_rows
    stored = fit.spec.to_arrays(estimates)
    arguments = {name: to_json(value) for name, value in fit.options.items()}
    about = {
        "model": fit.spec.name,
        "arguments": arguments,
        "estimates": {name: v for name, v in stored.values.items() if not _is_argument(name, v, arguments)},
        "design": design_rows.design.to_dict(),
        "keep": None if design_rows.kept_columns is None else list(design_rows.kept_columns),
        "left_out": {
            "constant": list(design_rows.constant_terms),
            "collinear": list(design_rows.collinear_terms),
        },
        "dropped": fit.dropped,
        "weighted": design_rows.has_weights,
    }
    if fit.selection is not None:
        about["selection"] = {"kind": fit.selection.target, "words": fit.selection.description}
    # Loading rescales the moments again.
    moments = getattr(estimates, "unscaled", None) or estimates.moments
    tensors = moment_arrays(moments) | {"prior": estimates.prior}
    tensors |= {ESTIMATE_PREFIX + name: array for name, array in stored.arrays.items()}
    if CALIBRATOR_KEY in fit.cache:
        about["calibration"], tensors["calibration"] = _encode_calibrator(fit.cache[CALIBRATOR_KEY])
    return about, {key: np.ascontiguousarray(value, dtype=np.float64) for key, value in tensors.items()}


def _is_argument(name: str, value: Any, arguments: Mapping[str, Any]) -> bool:
    """Return whether an estimate equals an argument of the verb and need not be stored twice.

    Lists and dicts are always stored.

    Parameters
    ----------
    name : str
        Name of the estimate and of the argument.
    value : object
        Value of the estimate.
    arguments : mapping
        Arguments of the verb in the form of `to_json`.
    """
    argument = arguments.get(name, value)
    is_equal = name in arguments and type(argument) is type(value) and argument == value
    return is_equal and not isinstance(value, dict | list)


def fit_from_file(
    path: Path,
    description: dict[str, Any],
    tensors: dict[str, Floats],
    functions: Mapping[str, Callable[..., Any]] | None,
) -> FittedModel[Any]:
    """Create a fit from the contents of a file, with validation of every value.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    description : dict
        Description in the file.
    tensors : dict of str to array
        Arrays in the file.
    functions : mapping or None
        Functions that the formula calls, by name.

    Returns
    -------
    FittedModel
        Without rows, and with `is_loaded` True.

    Raises
    ------
    DamagedFileError
        A value is missing, invalid or inconsistent with others.
    FormulaError
        The formula is not allowed.
    DataError
        The formula calls a function that is not in `functions`.
    """
    check_values(path, description)
    tensors = dict(tensors)
    try:
        name = description["model"]
        spec = _spec_by_file_name(name)
        design = Design.from_dict(description["design"])
        values = description["estimates"]
        keep = description["keep"]
        left_out = description["left_out"]
        stored_arguments = description["arguments"]
        dropped = description["dropped"]
        weighted = description["weighted"]
        selection = read_selection(path, description.get("selection"))
        calibrator = _read_calibrator(path, description.get("calibration"), tensors, len(design.levels))
    except FormulaError:
        raise
    except INCONSISTENCY_ERRORS as error:
        raise damaged_file_error(path, f"its description is incomplete ({error})") from None
    if spec is None:
        raise damaged_file_error(path, f"its description is incomplete ({name!r})")
    arguments = read_options(name, stored_arguments, partial(damaged_file_error, path))
    check_description(path, design, keep, dropped, weighted)
    names = read_dropped_names(path, left_out)
    raise_if_missing_functions(design, functions)
    k = len(design.levels)
    p = len(design.terms) if keep is None else len(keep)
    model_arrays = {
        key.removeprefix(ESTIMATE_PREFIX): tensors.pop(key)
        for key in list(tensors)
        if key.startswith(ESTIMATE_PREFIX)
    }
    try:
        _check_shapes_of_model(path, spec.array_shapes(k, p), model_arrays)
        values = _add_argument_values(spec, stored_arguments, values, model_arrays)
        restored = decode_arguments(spec.constructor, StoredEstimates(values, model_arrays))
        _check_ranges(path, restored, k)
        moments = _read_moments(path, spec, restored, tensors, (k, p), weighted=weighted)
        prior = tensors["prior"]
        if prior.shape != moments.counts.shape or not (prior >= 0).all() or abs(prior.sum() - 1) > 1e-12:
            raise damaged_file_error(path, "its prior is not a probability distribution over the classes")
        kept_columns = None if keep is None else tuple(keep)
        design_rows = design_without_rows(
            design, functions, weighted=weighted, kept_columns=kept_columns, dropped_terms=names,
            n_dropped_rows=dropped,
        )  # fmt: skip
        with np.errstate(all="ignore"):
            estimates = spec.from_arrays(moments, prior, restored)
        fit = replace(spec.fit(estimates, design_rows, arguments, has_rows=False), is_loaded=True)
        wrong = find_undefined_score(fit, at_means=spec.scores_class_means)
    except DamagedFileError:
        raise
    except DiscrimError as error:
        raise damaged_file_error(path, str(error).rstrip(".")) from None
    except INCONSISTENCY_ERRORS as error:
        raise damaged_file_error(
            path, f"its values are inconsistent ({type(error).__name__}: {error})"
        ) from None
    if wrong is not None:
        raise damaged_file_error(path, wrong)
    if calibrator is not None:
        fit.cache[CALIBRATOR_KEY] = calibrator
    return replace(fit, selection=selection)


def _encode_calibrator(calibrator: Calibrator) -> tuple[dict[str, Any], Floats]:
    """Convert a calibrator to a description and an array (2, K), or (K + 2, K) if it mixes classes.

    The description is a dict of "kind" (str), "slope" and "ceiling" (float). The rows of the array are the
    mixing matrix, if there is one, the intercepts, with zero for minus infinity, and flags of finite
    intercepts (one or zero).
    """
    is_finite = calibrator.intercepts > -np.inf
    lines = [np.where(is_finite, calibrator.intercepts, 0.0), is_finite.astype(np.float64)]
    if calibrator.mixes_classes:
        lines = [*calibrator.mixing, *lines]
    about = {"kind": calibrator.kind, "slope": calibrator.slope, "ceiling": calibrator.ceiling}
    return about, np.stack(lines)


def _read_calibrator(path: Any, description: Any, tensors: dict[str, Floats], k: int) -> Calibrator | None:
    """Create a calibrator from its description and array, which is removed from `tensors`.

    None without a description; raises DamagedFileError if description or array are not valid.

    Parameters
    ----------
    path : path
        The file, for error messages.
    description : object
        Description from `_encode_calibrator`, or None without a calibrator.
    tensors : dict of str to array
        Arrays of the file by name; the array of the calibrator is "calibration".
    k : int
        Number of classes.
    """
    if description is None:
        return None
    is_complete = isinstance(description, dict) and set(description) == {"kind", "slope", "ceiling"}
    parameters = [description["slope"], description["ceiling"]] if is_complete else []
    if (
        not is_complete
        or description["kind"] not in CALIBRATIONS
        or not all(type(parameter) is float for parameter in parameters)
    ):
        raise damaged_file_error(path, f"its calibration is {_short_repr(description)}")
    calibration_type, slope, ceiling = description["kind"], *parameters
    lines = tensors.pop("calibration", np.empty(0))
    shape = (k + 2 if calibration_type in MIXING_KINDS else 2, k)
    if lines.shape != shape or not ceiling > 0 or not are_flags(lines[-1]) or not lines[-1].any():
        raise damaged_file_error(path, "the numbers of its calibration are inconsistent")
    mixing = lines[:-2] if calibration_type in MIXING_KINDS else np.eye(k)
    return Calibrator(calibration_type, slope, ceiling, mixing, np.where(lines[-1] > 0, lines[-2], -np.inf))


def raise_if_missing_functions(design: Design, functions: Mapping[str, Callable[..., Any]] | None) -> None:
    """Raise DataError if the formula in a file calls a function that was not passed."""
    missing = [name for name in design.functions if name not in (functions or {})]
    if missing:
        raise DataError(
            f"The formula calls the function {missing[0]!r}.",
            hint=f"Pass functions={{{missing[0]!r}: ...}} to load().",
        )


def _add_argument_values(
    spec: ModelSpec[Any], arguments: Mapping[str, Any], values: Any, arrays: Mapping[str, Floats]
) -> dict[str, Any]:
    """Return the values of the estimates in a file, including the ones stored only as arguments of the verb.

    An estimate that is stored itself has precedence over the argument of the same name.

    Parameters
    ----------
    spec : ModelSpec
    arguments : mapping
        Arguments of the verb, as the file stores them.
    values : mapping
        Stored values of the estimates.
    arrays : mapping of str to array
        Arrays of the estimates.

    Returns
    -------
    dict of str to object
        JSON values by the name of the parameter of the constructor, without arrays.
    """
    names = stored_parameter_names(spec.constructor)
    shared = {name: arguments[name] for name in names if name in arguments and name not in arrays}
    return {name: v for name, v in shared.items() if not isinstance(v, dict | list)} | dict(values)


def _check_shapes_of_model(
    path: Any, shapes: Mapping[str, tuple[int, ...]], arrays: Mapping[str, Floats]
) -> None:
    """Raise DamagedFileError if the shape of an array differs from the shape that the model expects.

    Parameters
    ----------
    path : path
        The file, for error messages.
    shapes : mapping of str to tuple of int
        Expected shapes by name; -1 stands for any length. Arrays that are not listed are not checked, and
        listed arrays may be absent.
    arrays : mapping of str to array
        Arrays of the file by name.
    """
    for key, shape in shapes.items():
        if key in arrays:
            actual = arrays[key].shape
            if len(actual) != len(shape) or any(n not in (-1, m) for n, m in zip(shape, actual, strict=True)):
                raise damaged_file_error(path, f"{key!r} has shape {actual} instead of {shape}")


def _read_moments(
    path: Any,
    spec: ModelSpec[Any],
    arguments: Mapping[str, Any],
    tensors: Mapping[str, Floats],
    shape: tuple[int, int],
    *,
    weighted: bool,
) -> ClassMoments:
    """Return the moments in a file, which `validated_moments` checks for the model and its covariance model.

    Parameters
    ----------
    path : path
        The file, for error messages.
    spec : ModelSpec
    arguments : mapping
        Values of the estimates.
    tensors : mapping of str to array
        Arrays by name: counts, rows, centres, rests, scale, scatters, roots if stored, and prior.
    shape : (int, int)
        Numbers of classes K and columns p.
    weighted : bool
        Whether counts are sums of weights.

    Returns
    -------
    ClassMoments
        With the second moments that the covariance model requires; an invalid array raises DamagedFileError.
    """
    k, p = shape
    default = ShrunkCovariance() if spec.allows_few_rows else FullCovariance()
    model: CovarianceModel = arguments.get("covariance_model") or arguments.get("subspace_model") or default
    thin = "roots" in tensors and tensors["roots"].ndim == 3 and tensors["roots"].shape[1] < p
    return validated_moments(
        path,
        tensors,
        k,
        p,
        model.required_moments(spec.file_moments, thin=thin),
        singular=model.traits.is_regular or bool(model.shrinkages) or spec.allows_singular,
        constant=spec.allows_constant,
        weighted=weighted,
    )


MAX_CLASS_ROWS = 2.0**52
"""Largest number of rows in a class; up to twice this number float64 represents every integer."""

MAX_SIZE = 1e300
"""Upper bound of sums of weights, and of scaled means."""

MAX_SD = 1e150
"""Bound of scaled standard deviations and of their inverse: their squares do not overflow."""

MIN_ROOT_NORM = 1e-140
"""Norm of columns of a root below which their products underflow."""

MAX_RELATIVE_ROUNDING = 1e-3
"""Largest relative rounding error of a mean."""

SCATTER_TOLERANCE = 1e-6
"""Tolerance for the relative difference of a scatter matrix and the square of its root."""


def moment_arrays(moments: ClassMoments) -> dict[str, Floats]:
    """Return the arrays of moments by their names in a file, as contiguous float64.

    The names are attributes of `ClassMoments`: counts, rows, centres, rests, scale, scatters, and roots if
    the moments have them.
    """
    names = ("counts", "rows", "centres", "rests", "scale", "scatters")
    tensors = {key: getattr(moments, key) for key in names}
    if moments.roots is not None:
        tensors["roots"] = moments.roots
    return {key: np.ascontiguousarray(value, dtype=np.float64) for key, value in tensors.items()}


def validated_moments(
    path: Any,
    tensors: Mapping[str, Floats],
    k: int,
    p: int,
    required_moments: ScatterType,
    *,
    singular: bool,
    constant: bool,
    weighted: bool,
    is_partial: bool = False,
) -> ClassMoments:
    """Create moments from arrays, with validation of shapes and ranges.

    Parameters
    ----------
    path : path
        The file, for error messages.
    tensors : mapping of str to array
        Arrays by name: counts, rows, centres, rests, scale, scatters, roots if stored, and prior.
    k, p : int
        Numbers of classes and columns.
    required_moments : ScatterType
        Which second moments are expected.
    singular : bool
        Whether scatter matrices may be singular; columns except one may then be constant.
    constant : bool
        Whether all columns may be constant.
    weighted : bool
        Whether counts are sums of weights; otherwise they have to equal the numbers of rows.
    is_partial : bool
        Whether the moments are of a part of a table, which may lack rows of classes. "prior" must then be
        absent.

    Returns
    -------
    ClassMoments
        With the roots of the scatter matrices if the file has them.

    Raises
    ------
    DamagedFileError
        An array is missing, unknown or not valid. Values have to be finite already; see `read_file`.
    """
    _check_shapes(path, tensors, k, p, required_moments, is_partial=is_partial)
    counts, rows, scale, scatters = (tensors[key] for key in ("counts", "rows", "scale", "scatters"))
    roots = tensors.get("roots")
    with np.errstate(all="ignore"):
        _check_counts(path, counts, rows, weighted=weighted, is_partial=is_partial)
        if is_partial:
            _check_empty_classes(path, tensors, by_class=required_moments != "pooled")
        _check_means_and_sds(path, tensors)
        _check_variation(path, tensors, singular=singular, constant=constant)
        if roots is not None:
            is_triangular = singular or np.diagonal(roots, axis1=1, axis2=2).all()
            if np.tril(roots, -1).any() or not is_triangular:
                raise damaged_file_error(path, "its roots are not triangular or are singular")
            # Squares of columns with far smaller units may underflow.
            min_norm = MIN_ROOT_NORM if singular and not is_partial else 0.0
            if not all(
                _is_scatter_of_root(scatter, root, min_norm)
                for scatter, root in zip(scatters, roots, strict=True)
            ):
                raise damaged_file_error(path, "its scatters are not the squares of its roots")
        elif required_moments != "diagonal":
            for matrix in scatters:
                _check_definite(path, matrix, singular=singular)
    return ClassMoments(
        counts, rows.astype(np.int64), tensors["centres"], tensors["rests"], scale, scatters, roots
    )


def _check_shapes(
    path: Any,
    tensors: Mapping[str, Floats],
    k: int,
    p: int,
    required_moments: ScatterType,
    *,
    is_partial: bool,
) -> None:
    """Raise DamagedFileError if names or shapes of arrays are not valid; see `validated_moments`.

    Parameters
    ----------
    path : path
        The file, for error messages.
    tensors : mapping of str to array
        Arrays by name: the ones of `moment_arrays` and "prior". "roots" may be missing, and must be missing
        for "diagonal" moments.
    k, p : int
        Numbers of classes and columns.
    required_moments : ScatterType
        Which second moments are expected.
    is_partial : bool
        Whether the moments are of a part of the rows, without a prior and with any number of classes.
    """
    matrix_shape: tuple[int, ...] = (p, p) if required_moments in ("pooled", "class") else (p,)
    scatter = (1 if required_moments in ("pooled", "thin") else k, *matrix_shape)
    shapes: dict[str, tuple[int, ...]] = {
        "counts": (k,), "rows": (k,), "centres": (k, p), "rests": (k, p), "scale": (p,), "scatters": scatter,
    }  # fmt: skip
    if not is_partial:
        shapes["prior"] = (k,)
    if "roots" in tensors and required_moments != "diagonal":
        root_shape = tensors["roots"].shape
        thin = (scatter[0], root_shape[1] if len(root_shape) == 3 else 0, p)
        shapes["roots"] = scatter if len(scatter) == 3 else thin
    if set(tensors) != set(shapes):
        raise damaged_file_error(path, f"its arrays are {sorted(tensors)} instead of {sorted(shapes)}")
    for key, shape in shapes.items():
        if tensors[key].shape != shape:
            raise damaged_file_error(path, f"{key!r} has shape {tensors[key].shape} instead of {shape}")
    if k < (0 if is_partial else 2) or not p:
        raise damaged_file_error(path, f"it has {k} classes and {p} columns")


def _check_counts(path: Any, counts: Floats, rows: Floats, *, weighted: bool, is_partial: bool) -> None:
    """Raise DamagedFileError if the counts of classes are not valid.

    Numbers of rows are whole, at least one and at most `MAX_CLASS_ROWS`; counts are positive, with a sum of
    at most `MAX_SIZE`. With `is_partial`, both may be zero in a class.

    Parameters
    ----------
    path : path
        The file, for error messages.
    counts, rows : (K,) float
        Sums of weights and numbers of rows.
    weighted : bool
        Whether counts are sums of weights; otherwise they have to equal the numbers of rows.
    is_partial : bool
        Whether the moments are of a part of the rows, which may lack rows of classes.
    """
    if not ((rows >= (0 if is_partial else 1)) & (rows == np.round(rows)) & (rows <= MAX_CLASS_ROWS)).all():
        raise damaged_file_error(path, "its numbers of rows by class are not valid")
    if not (((counts > 0) | (is_partial & (rows == 0) & (counts == 0))).all() and counts.sum() <= MAX_SIZE):
        raise damaged_file_error(path, "its class counts are not positive, or their sum is out of range")
    if not weighted and (np.minimum(counts, MAX_CLASS_ROWS) != rows).any():
        raise damaged_file_error(path, "its class counts differ from its numbers of rows by class")


def _check_empty_classes(path: Any, tensors: Mapping[str, Floats], *, by_class: bool) -> None:
    """Raise DamagedFileError if moments of a class without rows are not zero.

    Parameters
    ----------
    path : path
        The file, for error messages.
    tensors : mapping of str to array
        Arrays by name: counts, rows, centres, rests, scale, scatters, roots if stored, and prior.
    by_class : bool
        Whether scatter matrices are stored by class.
    """
    empty = tensors["rows"] == 0
    names = ("counts", "centres", "rests", *(("scatters", "roots") if by_class else ()))
    if any(tensors[key][empty].any() for key in names if key in tensors):
        raise damaged_file_error(path, "a class without rows has moments")
    if empty.all() and tensors["scatters"].any():
        raise damaged_file_error(path, "it has moments without rows")


def _check_means_and_sds(path: Any, tensors: Mapping[str, Floats]) -> None:
    """Raise DamagedFileError if scales, variances, means or their rounding errors are out of range.

    `tensors` are the arrays of `moment_arrays`.
    """
    centres, rounding_errors, scale, scatters = (
        tensors[key] for key in ("centres", "rests", "scale", "scatters")
    )
    if not ((scale > 0) & (np.frexp(scale)[0] == 0.5)).all():
        raise damaged_file_error(path, "its scales are not powers of two")
    squares = scatters if scatters.ndim == 2 else np.diagonal(scatters, axis1=1, axis2=2)
    if not (squares >= 0).all():
        raise damaged_file_error(path, "a sum of squares is negative")
    total = float(tensors["counts"].sum())
    # Divide before the sum over classes, which might overflow; the total of empty moments is zero.
    sd = np.sqrt((squares / (total or 1.0)).sum(axis=0))
    size = np.abs(centres).max(axis=0, initial=0.0) * scale
    in_range = (sd == 0) | ((sd >= 1 / MAX_SD) & (sd <= MAX_SD))
    if not (in_range & (size <= MAX_SIZE)).all():
        raise damaged_file_error(path, "its class means or standard deviations are out of range")
    if not (np.abs(rounding_errors) <= MAX_RELATIVE_ROUNDING * (size + sd)).all():
        raise damaged_file_error(path, "the rounding errors of its class means are too large")


def _check_variation(path: Any, tensors: Mapping[str, Floats], *, singular: bool, constant: bool) -> None:
    """Raise DamagedFileError if a column is constant and the model does not support it.

    Parameters
    ----------
    path : path
        The file, for error messages.
    tensors : mapping of str to array
        Arrays by name: counts, rows, centres, rests, scale, scatters, roots if stored, and prior.
    singular : bool
        Whether only one column has to vary, within classes. Otherwise every column has to vary, within or
        between classes.
    constant : bool
        Whether all columns may be constant.
    """
    scatters = tensors["scatters"]
    squares = scatters if scatters.ndim == 2 else np.diagonal(scatters, axis1=1, axis2=2)
    varies = squares.sum(axis=0) + np.ptp(tensors["centres"], axis=0) > 0
    if not (constant or (squares.any() if singular else varies.all())):
        raise damaged_file_error(path, "one of its columns is constant")


def _is_scatter_of_root(scatter: Floats, root: Floats, min_norm: float) -> bool:
    """Return whether a scatter matrix is R'R within `SCATTER_TOLERANCE`.

    Errors are relative to the product of the norms of the two columns of R.

    Parameters
    ----------
    scatter : (p, p) or (p,) float
        Scatter matrix, or only its diagonal, for which the off-diagonal elements of R'R are not compared.
    root : (m, p) float
        R.
    min_norm : float
        Norm of columns of R at which squares underflow: off-diagonal elements of columns with this norm or
        a smaller one are not compared, and `min_norm` is also the absolute tolerance for the roots of
        diagonal elements. Zero compares all columns that are not zero.
    """
    largest = np.abs(root).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    norms = largest * np.sqrt(((root / unit) ** 2).sum(axis=0))
    deviations = np.sqrt(scatter if scatter.ndim == 1 else np.diagonal(scatter))
    if not (np.abs(deviations - norms) <= SCATTER_TOLERANCE * norms + min_norm).all():
        return False
    if scatter.ndim == 1:
        return True
    size = np.where(norms > 0, norms, 1.0)
    differences = np.abs(scatter / size / size[:, None] - (root / size).T @ (root / size))
    return bool((differences[np.minimum.outer(norms, norms) > min_norm] <= SCATTER_TOLERANCE).all())


def _check_definite(path: Any, matrix: Floats, *, singular: bool) -> None:
    """Raise DamagedFileError if a scatter matrix is not symmetric positive (semi)definite.

    Parameters
    ----------
    path : path
        The file, for error messages.
    matrix : (p, p) float
    singular : bool
        Whether the matrix may be singular: the smallest eigenvalue of its correlations may then be zero up to
        rounding errors (1e-10).
    """
    sd = np.sqrt(np.diagonal(matrix))
    unit = 1 / np.where(sd > 0, sd, 1.0)
    correlation = matrix * unit * unit[:, None]
    min_eigenvalue = -1e-10 if singular else 0.0
    is_symmetric = np.isfinite(correlation).all() and not (matrix != matrix.T).any()
    if not is_symmetric or not (
        is_positive_definite(correlation) or np.linalg.eigvalsh(correlation)[0] > min_eigenvalue
    ):
        raise damaged_file_error(path, "one of its scatter matrices is not positive definite")
