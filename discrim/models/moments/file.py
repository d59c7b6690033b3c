"""Moments as a file, and back, in the layout of a saved fit and as little trusted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.level_counts import LevelCounts
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.file_numbers import are_whole
from discrim.errors import DataError, FormulaError, NotSupportedError
from discrim.frame.design import Design
from discrim.frame.level_codes import with_positions
from discrim.models.saving.fit_file import BROKEN, check_functions_given, file_of
from discrim.models.saving.saved_description import MOST_ROWS, check_values
from discrim.models.saving.saved_moments import checked_moments, moment_buffers
from discrim.models.saving.tensor_file import DamagedFileError, check_finite, damaged, write_file

__all__ = ["NAME", "Contents", "Scatters", "contents_of", "write_moments"]

Floats = NDArray[np.float64]
Functions = Mapping[str, Callable[..., Any]]
Scatters = Literal["class", "pooled", "diagonal"]

NAME = "moments"
"""What a file of moments has in the place of the name of a model."""

WRITTEN = ("design", "dropped", "levels_given", "model", "scatters", "weighted", "weights")
"""The parts of its description."""


class Contents(NamedTuple):
    """What moments are made of.

    Attributes
    ----------
    design : Design
    held : ClassMoments
    level_counts : LevelCounts
    scatters : {"class", "pooled", "diagonal"}
    levels_given : bool
        Whether the classes were given, and no others may come.
    dropped : int
        Rows with a missing value.
    weighted : bool
    weights : str or None
        The column of the weights.
    functions : mapping of str to callable
        The user's own that the formula calls; a file holds none.
    """

    design: Design
    held: ClassMoments
    level_counts: LevelCounts
    scatters: Scatters
    levels_given: bool
    dropped: int
    weighted: bool
    weights: str | None
    functions: Functions


def write_moments(path: str | os.PathLike[str], contents: Contents) -> None:
    """Write moments to a file, whole or not at all, where the file can be read again.

    Raises
    ------
    NotSupportedError
        What is written could not be read.
    UnwritableFileError
        There is no such folder, and the like.
    """
    place = file_of(path)
    about = {
        "model": NAME,
        "design": contents.design.to_dict(),
        "scatters": contents.scatters,
        "levels_given": contents.levels_given,
        "dropped": contents.dropped,
        "weighted": contents.weighted,
        "weights": contents.weights,
    }
    counts = contents.level_counts
    tensors = moment_buffers(contents.held) | {
        "tables": np.concatenate([np.zeros((contents.held.n_classes, 0)), *counts.tables], axis=1),
        "sizes": np.array([table.shape[1] for table in counts.tables], dtype=np.float64),
        "negative": counts.negative.astype(np.float64),
    }
    try:
        check_finite(place, tensors)
        contents_of(place, json.loads(json.dumps(about)), dict(tensors), contents.functions)
    except Exception as error:
        reason = error.what if isinstance(error, DamagedFileError) else str(error).rstrip(".")
        raise NotSupportedError(
            f"The moments cannot be saved, as their file could not be loaded: {reason}. Pickle them, or "
            "keep the tables."
        ) from error
    write_file(place, about, tensors)


def contents_of(
    path: Path, about: dict[str, Any], tensors: dict[str, Floats], functions: Functions | None
) -> Contents:
    """The moments that description and buffers are of, all of them checked.

    Raises
    ------
    DataError
        They are damaged, or a function of the formula is missing.
    FormulaError
        The formula is not allowed.
    """
    check_values(path, about)
    if tuple(sorted(about)) != WRITTEN:
        unknown = sorted(set(about) ^ set(WRITTEN))
        raise damaged(
            path,
            f"its description has other parts than this version knows ({', '.join(map(repr, unknown[:4]))})",
            "Update discrim if a later version wrote it, or gather the moments again",
        )
    try:
        design = Design.from_dict(about["design"])
    except FormulaError:
        raise
    except BROKEN as error:
        raise damaged(path, f"its description is incomplete ({error})") from None
    scatters, weights, dropped = about["scatters"], about["weights"], about["dropped"]
    right = isinstance(scatters, str) and scatters in get_args(Scatters)
    if not right or not all(type(about[key]) is bool for key in ("levels_given", "weighted")):
        raise damaged(path, "its description is not that of moments")
    if type(dropped) is not int or not 0 <= dropped <= MOST_ROWS:
        raise damaged(path, "its count of rows left out is no count")
    if not (weights is None or (isinstance(weights, str) and about["weighted"])):
        raise damaged(path, "its weights are no name of a column")
    check_functions_given(design, functions)
    counts = _level_counts(path, tensors, design)
    held = checked_moments(
        path, tensors, len(design.levels), len(design.terms), scatters, singular=True, constant=True,
        weighted=about["weighted"], part=True,
    )  # fmt: skip
    for table in counts.tables:
        if not np.allclose(table.sum(axis=1), held.counts, rtol=1e-9):
            raise damaged(path, "its counts of levels are not those of its rows")
    return Contents(
        design, held, counts, scatters, about["levels_given"], dropped, about["weighted"], weights,
        dict(functions or {}),
    )  # fmt: skip


def _level_counts(path: Path, tensors: dict[str, Floats], design: Design) -> LevelCounts:
    """The counts of levels, their buffers taken out of the others."""
    try:
        tables, sizes, negative = (tensors.pop(key) for key in ("tables", "sizes", "negative"))
        _, _, known = with_positions(design)
    except (*BROKEN, DataError, FormulaError) as error:
        raise damaged(path, f"its counts of levels are incomplete ({error})") from None
    right = negative.shape == (len(design.terms),) and are_whole(negative, 0, 1)
    # Of published statistics there are none.
    if not right or sizes.ndim != 1 or tuple(sizes.tolist()) not in ((), tuple(map(float, known))):
        raise damaged(path, "its counts of levels are not of its columns")
    if tables.shape != (len(design.levels), int(sizes.sum())) or not (tables >= 0).all():
        raise damaged(path, "its counts of levels are no counts")
    parts = np.split(tables, np.cumsum(sizes.astype(np.intp)), axis=1)[: len(sizes)]
    return LevelCounts(tuple(map(np.ascontiguousarray, parts)), negative.astype(bool))
