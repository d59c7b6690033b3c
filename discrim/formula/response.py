"""The response of a formula: the classes and the class of each row.

Warnings name classes that look the same to a reader: labels that differ by case, by blanks, or by similar
characters. They also name numeric responses that look like a measurement.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Mask
from discrim.data.table import Table
from discrim.data.values import (
    LabelType,
    Scalar,
    coded_levels,
    encode,
    find_levels,
    format_value,
    label_type,
    occurring_labels,
)
from discrim.errors import DataError, EmptyClassWarning, FormulaError, LabelWarning, warn_user
from discrim.formula.design import Design
from discrim.formula.factors import CallStates, Categories, Functions, RowRange, evaluate
from discrim.formula.grammar import Column, Expression, expression

_CYRILLIC = {
    "А": "A", "В": "B", "С": "C", "Е": "E", "Ԍ": "G", "Н": "H", "І": "I", "Ӏ": "I", "Ј": "J", "К": "K",
    "М": "M", "О": "O", "Р": "P", "Ԛ": "Q", "Ѕ": "S", "Т": "T", "Ѵ": "V", "Ԝ": "W", "Х": "X", "У": "Y",
    "Ү": "Y", "а": "a", "Ь": "b", "с": "c", "ԁ": "d", "е": "e", "ҽ": "e", "һ": "h", "і": "i", "ӏ": "i",
    "ј": "j", "о": "o", "р": "p", "ԛ": "q", "г": "r", "ѕ": "s", "ѵ": "v", "ԝ": "w", "ѡ": "w", "х": "x",
    "у": "y", "ү": "y",
}  # fmt: skip
_GREEK = {
    "Α": "A", "Β": "B", "Ϲ": "C", "Ε": "E", "Ϝ": "F", "Η": "H", "Ι": "I", "Ϳ": "J", "Κ": "K", "Μ": "M",
    "Ϻ": "M", "Ν": "N", "Ο": "O", "Ρ": "P", "Τ": "T", "Χ": "X", "Υ": "Y", "Ζ": "Z", "α": "a", "ϲ": "c",
    "ι": "i", "ϳ": "j", "ο": "o", "ρ": "p", "σ": "o", "υ": "u", "ν": "v", "γ": "y",
}  # fmt: skip
_MARKS = {
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "−": "-", "’": "'", "‘": "'", "ʼ": "'", "′": "'", "“": '"',
    "”": '"', "ʹ": "'",
}  # fmt: skip

_LOOKALIKES = str.maketrans(_CYRILLIC | _GREEK | _MARKS)
"""Characters and the Latin letters that they resemble.

The letters belong to the blocks Greek and Coptic, Cyrillic, and Cyrillic Supplement that confusables.txt
of Unicode Technical Standard 39 (in the edition of 2021) takes for one Latin letter, except forms that NFKD
converts to letters of this table; and Ԛ, which it lacks. The marks are a few of its hyphens and quotation
marks. It also equates I, l and 1, and 0 and O, which is not done here: too many codes differ by them.
"""

_INVISIBLE_CHARACTERS = {
    "\u034f",
    "\u115f",
    "\u1160",
    "\u17b4",
    "\u17b5",
    "\u3164",
    "\uffa0",
    *map(chr, range(0xFE00, 0xFE10)),
}
"""Invisible characters that are not format controls (Unicode: Default_Ignorable_Code_Point)."""


def labels_differing_by_case(labels: Sequence[str]) -> list[list[str]]:
    """Return groups of labels that differ only by case or blanks.

    Examples
    --------
    >>> labels_differing_by_case(["b", "a", "A ", "c"])
    [['a', 'A ']]
    """
    return _group_by_key(labels, [" ".join(label.split()).casefold() for label in labels])


def labels_that_look_alike(labels: Sequence[str]) -> list[list[str]]:
    """Return groups of labels that look the same on a screen, except groups of `labels_differing_by_case`.

    They differ by the composition of an accent, by characters without width, by compatibility forms such as
    wide letters, or by Cyrillic and Greek letters instead of Latin ones.

    Examples
    --------
    >>> [len(group) for group in labels_that_look_alike(["caf\u00e9", "cafe\u0301", "cafe"])]
    [2]
    """
    groups = _group_by_key(labels, list(map(_skeleton, labels)))
    groups_by_case = [set(group) for group in labels_differing_by_case(labels)] if groups else []
    return [
        group
        for group in groups
        if not any(set(group) <= labels_by_case for labels_by_case in groups_by_case)
    ]


def _skeleton(label: str) -> str:
    """Return a text that is equal for labels that look alike (the skeleton of Unicode UTS 39).

    It maps Cyrillic and Greek letters to similar Latin ones, and ignores case and repeated blanks.
    """
    if label.isascii() and label.isprintable():
        return " ".join(label.split()).casefold()
    # NFKD converts the lunate sigma, which looks like c, to sigma, and wide letters to letters of the table.
    shapes = unicodedata.normalize("NFKD", label.translate(_LOOKALIKES)).translate(_LOOKALIKES)
    # Controls are dropped as well: a screen does not show them.
    seen = (
        " " if c.isspace() else c
        for c in shapes
        if c.isspace() or not (unicodedata.category(c) in ("Cf", "Cc") or c in _INVISIBLE_CHARACTERS)
    )
    # Case is folded last: a small gamma looks like y, but a capital gamma resembles no Latin letter.
    return " ".join("".join(seen).split()).casefold()


def _group_by_key(labels: Sequence[str], keys: Sequence[str]) -> list[list[str]]:
    """Group labels by their keys; return the groups of two or more."""
    alike: dict[str, list[str]] = {}
    for label, key in zip(labels, keys, strict=True):
        alike.setdefault(key, []).append(label)
    return [group for group in alike.values() if len(group) > 1]


MAX_FRACTIONAL_CLASSES = 50
"""Largest number of distinct fractional numbers that count as classes for any number of rows."""

MAX_NUMERIC_CLASSES = 10
"""Largest number of distinct numbers that are accepted as classes without a warning."""

MIN_ROWS_PER_CLASS = 5
"""Smallest average number of rows per class if classes are integers that are not consecutive."""

MAX_CODE_CLASSES = 40
"""Largest number of close integers that count as codes although they begin at neither 0 nor 1."""


def classes_and_codes(
    response: Expression,
    table: Table,
    functions: Functions,
    levels: Sequence[Any] | None,
    *,
    rows: int | None = None,
    used: Mask | None = None,
) -> tuple[tuple[Scalar, ...], Codes, LabelType | None]:
    """Return the classes of a table, the class of each row, and the dtype of the labels.

    Warnings name similar labels and numbers that look like a measurement, unless the user lists the classes.

    Parameters
    ----------
    response : Expression
    table : Table
    functions : mapping of str to callable
        Functions of the user that the formula may call.
    levels : sequence, optional
        The classes in order, from the user.
    rows : int, optional
        Number of rows of the full data, if the table is a chunk of it.
    used : (n,) bool, optional
        Rows that are used, such as those with a positive weight. The others count as rows without a label.

    Returns
    -------
    classes : tuple
        Labels of the K classes in order.
    codes : (n,) int
        Class of each row as a position in `classes`; -1 if it is missing.
    label_type : LabelType or None
        Type in which predicted labels are returned; None if it is unknown.

    Raises
    ------
    DataError
        The response does not contain values, is a measurement with many different numbers, or has a label
        that is not in `levels`.
    """
    column = response.root.name if isinstance(response.root, Column) else None
    factorized = None if column is None or levels is not None else table.factorized(column)
    if column is not None and factorized is not None:
        requested_levels = None
        declared = table.column_type(column) == "categorical"
        if used is not None and not declared:
            all_labels = factorized[1]
            factorized = occurring_labels(*factorized, used)
            kept_labels = set(factorized[1])
            _warn_of_unweighted([label for label in all_labels if label not in kept_labels], table, response)
        keep = factorized[0] >= 0 if used is None else (factorized[0] >= 0) & used
        used_codes = factorized[0] if keep.all() else factorized[0][keep]
        classes, codes = coded_levels(
            used_codes,
            factorized[1],
            _describe_response(response),
            is_declared=declared,
            keep_unused=table.is_chunk,
        )
        dtype = table.dtype(column)
    else:
        values, keep = used_labels(response, table, functions, used)
        requested_levels = values.levels if levels is None else _validate_levels(levels)
        classes, codes = find_levels(
            values.values, _describe_response(response), requested_levels, keep_unused=table.is_chunk
        )
        declared = isinstance(values.values.dtype, pd.CategoricalDtype)
        if used is not None and requested_levels is None and not declared:
            labelled = response_labels(response, table, functions)[0].values
            kept_labels = set(classes)
            dropped_labels = [label for label in labelled.unique().tolist() if label not in kept_labels]
            _warn_of_unweighted(dropped_labels, table, response)
        dtype = values.values.dtype if column is None else table.dtype(column)
    if not classes:
        raise DataError(
            f"{_describe_response(response)} has only missing values.",
            hint="Fill it in, or use another column.",
        )
    if requested_levels is None:
        _warn_of_similar_labels(classes, response)
        _raise_if_measurement(classes, rows or len(codes), response)
        if not (table.is_chunk or declared):
            _warn_of_measurement(classes, rows or len(codes), response)
    # Labels of dtype object that are numbers or booleans are returned as such.
    has_no_label_type = dtype is None or (str(dtype) == "object" and not isinstance(classes[0], str))
    return classes, _expand_codes(codes, keep), None if has_no_label_type else label_type(dtype)


def encode_response(
    response: Expression,
    table: Table,
    functions: Functions,
    levels: Sequence[Scalar],
    used: Mask | None = None,
) -> Codes:
    """Return the class of each row as a position among some levels.

    Parameters
    ----------
    response : Expression
    table : Table
    functions : mapping of str to callable
        Functions of the user.
    levels : sequence
        The classes.
    used : (n,) bool array, optional
        Rows to use; all by default.

    Returns
    -------
    (n,) int array
        -1 if the response is missing or the row is not used.

    Raises
    ------
    DataError
        A label is not among the levels.
    """
    if isinstance(response.root, Column):
        factorized = table.factorized(response.root.name)
        if factorized is not None and set(factorized[1]) <= set(levels):
            position = {label: k for k, label in enumerate(levels)}
            positions: Codes = np.array([*(position[text] for text in factorized[1]), -1], dtype=np.intp)
            codes = np.asarray(positions[factorized[0]])
            return codes if used is None else np.where(used, codes, -1)
    values, keep = used_labels(response, table, functions, used)
    return _expand_codes(encode(values.values, levels, _describe_response(response)), keep)


def with_new_classes(design: Design, table: Table, functions: Functions, used: Mask | None = None) -> Design:
    """Return the design with the classes of a table instead of its own, if the table has other classes.

    Parameters
    ----------
    design : Design
    table : Table
    functions : mapping of str to callable
        Functions of the user.
    used : (n,) bool, optional
        Rows whose classes count; all by default.

    Returns
    -------
    Design
        `design` itself if it has all classes of the table.
    """
    response = expression(design.response_code, frozenset(functions))
    if not used_labels(response, table, functions, used)[1].any():
        return design
    classes, _, type_of_labels = classes_and_codes(response, table, functions, None, used=used)
    if set(classes) <= set(design.levels):
        return design
    return replace(design, levels=classes, labels=type_of_labels)


def codes_by_first_appearance(code: str, table: Table, functions: Functions) -> Codes:
    """Return the class (n,) of each row, numbered by first appearance; -1 if the response is missing.

    `code` is the response as text, see `Design.response_code`.
    The numbers do not depend on the order of the levels, nor on classes that a model drops.
    """
    response = expression(code, frozenset(functions))
    values, keep = response_labels(response, table, functions)
    return _expand_codes(pd.factorize(values.values)[0].astype(np.intp), keep)


def _validate_levels(levels: Any) -> list[Any]:
    """Return `levels=` as a list; raise DataError for a set, a string, an empty list or a non-iterable."""
    if isinstance(levels, set | frozenset):
        raise DataError(
            f"levels= is a {type(levels).__name__}, which has no order.",
            hint="Pass a list, for example sorted(levels).",
        )
    if isinstance(levels, str | bytes) or not isinstance(levels, Iterable):
        raise DataError(f"levels={levels!r} is not valid.", hint="Pass a list of the classes in order.")
    listed = list(levels)
    if not listed:
        raise DataError("levels= is empty.", hint="Pass a list of the classes in order.")
    return listed


def _warn_of_unweighted(labels: Sequence[Any], table: Table, response: Expression) -> None:
    """Warn of labels without a row of positive weight (EmptyClassWarning), unless the table is a chunk."""
    if labels and not table.is_chunk:
        listed = ", ".join(map(format_value, labels[:8])) + (
            f" and {len(labels) - 8} more" if labels[8:] else ""
        )
        warn_user(
            f"Class {listed} of {response.label!r} has no observations with a weight above 0.",
            EmptyClassWarning,
        )


def _warn_of_similar_labels(classes: Sequence[Scalar], response: Expression) -> None:
    """Warn of text labels that differ only by case or blanks, or look alike but have different characters."""
    texts = [label for label in classes if isinstance(label, str)]
    if case_variants := labels_differing_by_case(texts):
        warn_user(
            f"{_describe_response(response)} has labels that differ only by case or blanks: "
            f"{_format_groups(case_variants, repr)}. Each is a separate class. If they are one class, "
            "correct the labels first, for example with .str.split().str.join(' ').str.casefold(); "
            "if not, list them in levels=.",
            LabelWarning,
        )
    if lookalikes := labels_that_look_alike(texts):
        warn_user(
            f"{_describe_response(response)} has labels that look alike but have different characters: "
            f"{_format_groups(lookalikes, ascii)}. Each is a separate class. If they are one "
            "class, correct the labels first, with .str.normalize('NFKC') for accents and wide "
            "letters, or with .replace({label: other}); if not, list them in levels=.",
            LabelWarning,
        )


def _format_groups(groups: Sequence[Sequence[str]], show: Callable[[str], str]) -> str:
    """Format the first three groups of similar labels for a message; `show` formats one label."""
    group_text = " and ".join(", ".join(map(show, labels)) for labels in groups[:3])
    return f"{group_text} (and {len(groups) - 3} more such groups)" if len(groups) > 3 else group_text


def _raise_if_measurement(classes: Sequence[Scalar], rows: int, response: Expression) -> None:
    """Raise a DataError if there are so many fractional numbers that the response is a measurement.

    Parameters
    ----------
    classes : sequence
        Distinct labels, sorted.
    rows : int
        Number of labelled rows.
    response : Expression
    """
    fractions = sum(isinstance(label, float) and not label.is_integer() for label in classes)
    if fractions and len(classes) > max(MAX_FRACTIONAL_CLASSES, rows / 10):
        raise DataError(
            f"{_describe_response(response)} has {len(classes):,} different numbers in {rows:,} rows, for "
            f"example {classes[0]!r} and {classes[1]!r}. It is a measurement and not a class.",
            hint="Convert it to classes with pd.cut, or list the classes in levels=.",
        )


def _warn_of_measurement(classes: Sequence[Scalar], rows: int, response: Expression) -> None:
    """Warn of more than a few fractional numbers, or of integers that do not look like codes.

    Codes of classes are integers, and either have enough rows or are consecutive. Very many numbers that are
    close together and do not begin at 0 or 1 are probably ages or years.

    Parameters
    ----------
    classes : sequence
        Distinct labels, sorted.
    rows : int
        Number of labelled rows.
    response : Expression
    """
    numeric_labels = [label for label in classes if not isinstance(label, str | bool)]
    if len(numeric_labels) < len(classes) or len(classes) <= MAX_NUMERIC_CLASSES:
        return
    span = max(numeric_labels) - min(numeric_labels) + 1
    is_dense_range = (
        len(numeric_labels) > MAX_CODE_CLASSES
        and min(numeric_labels) not in (0, 1)
        and span < 2 * len(numeric_labels)
    )
    are_codes = not is_dense_range and (
        rows >= MIN_ROWS_PER_CLASS * len(numeric_labels) or span <= len(numeric_labels)
    )
    if are_codes and all(float(label).is_integer() for label in numeric_labels):
        return
    warn_user(
        f"{_describe_response(response)} has {len(classes):,} different numbers in {rows:,} rows, for "
        f"example {classes[0]!r} and {classes[1]!r}, and each is a separate class. If it is a measurement, "
        "convert it to classes with pd.cut, or fit a regression; if the numbers are classes, list them in "
        "levels=.",
        LabelWarning,
    )


def _describe_response(response: Expression) -> str:
    """Return the name of the response for messages."""
    return f"The response {response.label!r}"


def _expand_codes(codes: Codes, row_mask: NDArray[np.bool_]) -> Codes:
    """Return codes (n,) of all rows from the codes of the rows in `row_mask` (n,); -1 for the other rows."""
    if row_mask.all():
        return codes
    all_codes = np.full(len(row_mask), -1, dtype=np.intp)
    all_codes[row_mask] = codes
    return all_codes


def used_labels(
    response: Expression, table: Table, functions: Functions, used: Mask | None
) -> tuple[Categories, NDArray[np.bool_]]:
    """Return the result of `response_labels` for the rows of the mask `used` (n,); None for all rows."""
    values, keep = response_labels(response, table, functions)
    if used is None or used[keep].all():
        return values, keep
    return replace(values, values=values.values[used[keep]]), keep & used


def response_labels(
    response: Expression, table: Table, functions: Functions
) -> tuple[Categories, NDArray[np.bool_]]:
    """Return the labels of the rows that have a response.

    Parameters
    ----------
    response : Expression
    table : Table
    functions : mapping of str to callable
        Functions of the user.

    Returns
    -------
    labels : Categories (m,)
        Labels of the m rows that have a response, with the levels that a ``C()`` lists.
    keep : (n,) bool array
        Which rows have a response.

    Raises
    ------
    FormulaError
        The response learns from the rows, has a contrast, or has several columns.
    """
    if isinstance(response.root, Column) and table.column_type(response.root.name) == "text":
        values = table.labels(response.root.name, 0, table.nrows)
        keep = values.notna().to_numpy()
        return Categories(values if keep.all() else values[keep]), keep
    rows, keep = RowRange(table, 0, table.nrows).select_complete(response.columns)
    if isinstance(response.root, Column):
        return Categories(rows.series(response.root.name)), keep
    if response.stateful:
        raise FormulaError(
            f"The response {response.code!r} must be a class, but {response.stateful[0]}() learns "
            "from the rows.",
            hint="Transform the column first.",
            columns=(response.code,),
        )
    value = evaluate(response, rows, CallStates(), functions)
    if isinstance(value, Categories) and value.contrast is not None:
        raise FormulaError(
            f"The response {response.code!r} is a class and cannot have a contrast.",
            hint="Remove the contrast.",
            columns=(response.code,),
        )
    if isinstance(value, Categories):
        has_category = value.values.notna().to_numpy()
        if response.functions and not has_category.all():
            keep = keep.copy()
            keep[keep] = has_category
            value = replace(value, values=value.values[has_category])
        return value, keep
    if value.ndim > 1:
        raise FormulaError(
            f"The response {response.code!r} has {value.shape[1]} columns; a response must have one.",
            hint="Use a single column.",
            columns=(response.code,),
        )
    return Categories(pd.Series(value, index=rows.index)), keep
