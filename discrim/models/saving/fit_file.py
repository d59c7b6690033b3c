"""A fit as a file, and back, with no code in the file.

A file holds the design, the model's options, its moments and what the model keeps beside them. Reading trusts
nothing: the formula goes through the same check as one that is typed, and every shape and value is validated
before it is used. The layout is that of `discrim.models.saving.tensor_file`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from errno import EISDIR
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.whole_file import names_folder, possible_path, target_of
from discrim.core.shrinkage.shrinkage import is_regular, spread_of
from discrim.errors import DataError, DiscrimError, FolderGivenError, FormulaError, NotSupportedError
from discrim.frame.blocks import without_rows
from discrim.frame.formula import Design
from discrim.models.fits.fit import Fit
from discrim.models.registry import BY_MODEL, resolve
from discrim.models.saving.earlier_files import in_this_form, is_earlier, refuse_collinear
from discrim.models.saving.saved import Saved
from discrim.models.saving.saved_description import (
    check_description,
    check_values,
    names_left_out,
    selection_of,
)
from discrim.models.saving.saved_moments import checked_moments, moment_buffers
from discrim.models.saving.saved_rule import without_score
from discrim.models.saving.tensor_file import DamagedFileError, check_finite, damaged, write_file

__all__ = ["BROKEN", "check_functions_given", "file_of", "fit_of", "path_of", "save"]

Floats = NDArray[np.float64]

BROKEN = (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""What reading parts that do not go together may raise."""


def saved_of(name: str) -> Saved | None:
    """How a model is saved, by the name of its verb; None for one that is not."""
    row = BY_MODEL.get(name) if isinstance(name, str) else None
    if row is None or not row.can_be_saved:
        return None
    saved: Saved = resolve(f"{row.results_module}:SAVED")
    return saved


def save(fit: Fit[Any], path: str | os.PathLike[str]) -> None:
    """Write a fit to a file, whole or not at all, where the file can be loaded again.

    The rows of its table are not part of it, but those of `knn`, whose coordinates are the fit. A link stays
    a link, and the mode of a file that is replaced is kept. A process that is killed may leave a file
    `.discrim-*.tmp` in the folder, which the next save there removes.

    Raises
    ------
    NotSupportedError
        The model cannot be written, or what is written could not be loaded.
    UnwritableFileError
        There is no such folder, the disk is full, and the like. What was there before is still there.
    """
    path_of(path)
    saved = saved_of(fit.model.name)
    if saved is None:
        raise NotSupportedError(
            f"{fit.title} cannot be saved: pickle the fit, or keep the call that made it."
        )
    place = file_of(path)
    about, tensors = _parts(fit, saved)
    try:
        json_of = json.loads(json.dumps(about))
        check_finite(place, tensors)
        fit_of(place, json_of, dict(tensors), fit.blocks.functions)
    except Exception as error:
        reason = error.what if isinstance(error, DamagedFileError) else str(error).rstrip(".")
        raise NotSupportedError(
            f"{fit.title} cannot be saved, as its file could not be loaded: {reason}. Pickle the fit, or "
            "keep the call that made it."
        ) from error
    write_file(place, about, tensors)


def _parts(fit: Fit[Any], saved: Saved) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Description and buffers of a fit."""
    numbers = fit.numbers
    options = {key: getattr(numbers, key) for key in saved.options}
    blocks = fit.blocks
    about = {
        "model": fit.model.name,
        "options": options,
        "design": blocks.design.to_dict(),
        "keep": None if blocks.keep is None else list(blocks.keep),
        "left_out": {"constant": list(blocks.constant), "collinear": list(blocks.collinear)},
        "dropped": fit.dropped,
        "weighted": blocks.weighted,
    }
    if fit.selection is not None:
        about["selection"] = fit.selection.words
    # Reading brings them within reach again.
    moments = getattr(numbers, "gathered", None) or numbers.moments
    tensors = moment_buffers(moments) | {"prior": numbers.prior} | saved.buffers(numbers)
    return about, {key: np.ascontiguousarray(value, dtype=np.float64) for key, value in tensors.items()}


def file_of(path: Any) -> Path:
    """The path of a file that can be written, as it is given.

    Raises
    ------
    DataError
        It is no path, or no system takes it as one.
    UnwritableFileError
        It is a folder, a device or read-only, or its folder is missing.
    """
    place = path_of(path)
    if names_folder(os.fsdecode(path)):
        raise FolderGivenError(EISDIR, "This is a folder: name a file in it", os.fsdecode(path))
    target_of(place)
    return place


def path_of(path: Any) -> Path:
    """The path of a file as it is given.

    Raises
    ------
    DataError
        It is no path, or no system takes it as one.
    """
    try:
        return possible_path(path)
    except TypeError:
        raise DataError(f"A fit is saved to a file: give its path, not {type(path).__name__}.") from None


def fit_of(
    path: Path,
    about: dict[str, Any],
    tensors: dict[str, Floats],
    functions: Mapping[str, Callable[..., Any]] | None,
) -> Fit[Any]:
    """The fit that description and buffers are of, all of them checked."""
    check_values(path, about)
    earlier = is_earlier(about)
    about, tensors = in_this_form(about, tensors)
    try:
        name = about["model"]
        model = saved_of(name)
        design = Design.from_dict(about["design"])
        options, keep = about["options"], about["keep"]
        left_out = about["left_out"]
        dropped, weighted = about["dropped"], about["weighted"]
        selection = selection_of(path, about.get("selection"))
    except FormulaError:
        raise
    except BROKEN as error:
        raise damaged(path, f"its description is incomplete ({error})") from None
    if model is None:
        raise damaged(path, f"its description is incomplete ({name!r})")
    robust = "robust" in model.shapes(2, 1)
    check_description(path, options, model.options, design, keep, dropped, weighted, robust=robust)
    gone = names_left_out(path, left_out)
    check_functions_given(design, functions)
    p = len(design.terms) if keep is None else len(keep)
    structure = options.get("structure", model.structure)
    thin = "roots" in tensors and tensors["roots"].ndim == 3 and tensors["roots"].shape[1] < p
    spread = spread_of(structure, model.spread, thin=thin)
    own = _own_buffers(path, model, tensors, len(design.levels), p)
    singular = is_regular(structure) or options.get("chosen") is not None or model.singular
    moments = checked_moments(
        path, tensors, len(design.levels), p, spread, singular=singular, constant=model.constant,
        weighted=weighted,
    )  # fmt: skip
    prior = tensors["prior"]
    if prior.shape != moments.counts.shape or not (prior >= 0).all() or abs(prior.sum() - 1) > 1e-12:
        raise damaged(path, "its prior is no distribution over the classes")
    kept = None if keep is None else tuple(keep)
    blocks = without_rows(design, functions, weighted=weighted, keep=kept, left_out=gone, dropped=dropped)
    if earlier:
        refuse_collinear(path, name, options, moments, blocks.terms)
    try:
        with np.errstate(all="ignore"):
            numbers = model.numbers(moments, prior, **options, **own)
        fit = replace(model.fit(numbers, blocks, has_rows=False), loaded=True)
        wrong = without_score(fit, at_means=model.scored_at_means)
    except DiscrimError as error:
        raise damaged(path, str(error).rstrip(".")) from None
    except BROKEN as error:
        raise damaged(path, f"its numbers contradict each other ({type(error).__name__}: {error})") from None
    if wrong is not None:
        raise damaged(path, wrong)
    return replace(fit, selection=selection)


def check_functions_given(design: Design, functions: Mapping[str, Callable[..., Any]] | None) -> None:
    """Raise a DataError where the formula of a file calls a function that was not given."""
    missing = [name for name in design.functions if name not in (functions or {})]
    if missing:
        raise DataError(f"The formula calls {missing[0]!r}: pass functions={{{missing[0]!r}: ...}} to load.")


def _own_buffers(path: Any, model: Saved, tensors: dict[str, Floats], k: int, p: int) -> dict[str, Floats]:
    """The model's own buffers, taken out of the others."""
    own = {}
    kept = {key: shape for key, shape in model.optional(k, p).items() if key in tensors}
    for key, shape in (model.shapes(k, p) | kept).items():
        found = tensors[key].shape if key in tensors else ()
        if (
            key not in tensors
            or len(found) != len(shape)
            or any(n not in (-1, m) for n, m in zip(shape, found, strict=True))
        ):
            raise damaged(path, f"{key!r} is not there in shape {shape}")
        own[key] = tensors.pop(key)
    return own
