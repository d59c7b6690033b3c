"""What a person asks of a picture beside its kind.

Which rows a picture shows: those of the fit, those of `data=`, or none where the fit has none.

Which columns a picture shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes
from discrim.errors import DataError, NotSupportedError
from discrim.frame.grammar import expression
from discrim.frame.matrix import response_codes
from discrim.frame.own_functions import recall_functions
from discrim.models.fits.reading import listed, told
from discrim.report.plots.style import Signs, signs_of

if TYPE_CHECKING:
    from discrim.frame.blocks import Blocks
    from discrim.models.fits.fit import Fit
    from discrim.report.plots.style import Axes


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """The options of `plot`, as they were given.

    Attributes
    ----------
    ax : Axes or None
        To draw on.
    data : table or None
        Rows to draw in the place of those of the fit.
    axes, columns, at, method, level, structure, centred, classes, colors, title, other : optional
        See `discrim.models.pictures.pictured.Pictured.plot`.
    """

    ax: Axes | None = None
    data: Any = None
    axes: Sequence[str] | None = None
    columns: Sequence[str] | str | None = None
    at: Any = None
    method: str | None = None
    level: float | None = None
    structure: str | None = None
    centred: bool | None = None
    classes: Sequence[Any] | None = None
    colors: Any = None
    title: str | None = None
    other: Any = None

    def given(self) -> list[str]:
        """Names of the options beside `ax` and `title` that were given."""
        return [
            field.name
            for field in fields(self)
            if field.name not in ("ax", "title") and getattr(self, field.name) is not None
        ]

    def signs(self, classes: Iterable[Any]) -> Signs:
        """Colours, markers and lines of the classes."""
        return signs_of(list(classes), self.colors)


def asked_names(option: str, given: Any) -> Any:
    """Names as they were given: a text, a sequence of texts, or None.

    Raises
    ------
    DataError
        They are something else, or none.
    """
    if given is None or isinstance(given, str):
        return given
    names = list(given) if isinstance(given, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        found = told(next((name for name in names if not isinstance(name, str)), given))
        such = """ such as axes=["LD1", "LD2"]""" if option == "axes" else ""
        raise DataError(f"{option}= holds {found}: give a name, or a list of names{such}.")
    return names


def asked_classes(given: Any) -> list[Any] | None:
    """Labels of classes, of which a single one needs no list.

    Raises
    ------
    DataError
        There is none, or one is named twice.
    """
    if given is None:
        return None
    labels = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    twice = [label for k, label in enumerate(labels) if label in labels[:k]]
    if twice or not labels:
        what = f"names {listed(twice[:1])} twice" if twice else "names no class"
        raise DataError(f"classes= {what}: name different classes, as classes=['a', 'b'].")
    return labels


class DrawnRows(NamedTuple):
    """Rows with their classes.

    Attributes
    ----------
    codes : (n,) int
        Position of the class, -1 where there is none.
    labels : Series of length n
    """

    blocks: Blocks
    codes: Codes
    labels: pd.Series

    def need_classes(self, kind: str) -> None:
        """Raise DataError where no row has a class."""
        if not (self.codes >= 0).any():
            raise DataError(
                f"kind={kind!r} draws rows by their class, and no row has one: give rows with their response."
            )

    def terms(self, names: Sequence[str]) -> pd.DataFrame:
        """Some columns of the design, rows by names; missing where a row has a missing value."""
        every = list(self.blocks.terms)
        places = [every.index(name) for name in names]
        out = np.full((len(places), self.blocks.table.nrows), np.nan)
        for place, x, missing in self.blocks.every_row():
            out[:, place] = x[:, places].T
            if missing is not None:
                out[:, place.start + np.flatnonzero(missing)] = np.nan
        return pd.DataFrame(out.T, index=self.blocks.table.index, columns=list(names))


def drawn_rows(fit: Fit[Any], asked: PictureOptions) -> DrawnRows | None:
    """The rows to draw, or None where a fit was loaded or made of moments, and no `data=` is given."""
    if asked.data is not None:
        blocks = fit.new_rows(asked.data)
        codes = _codes_of(blocks)
        return DrawnRows(blocks, codes, fit.labelled(codes, blocks.table.index))
    if not fit.has_rows:
        return None
    blocks = fit.drawn_rows()
    return DrawnRows(blocks, blocks.codes, fit.labels_of(blocks))


def _codes_of(blocks: Blocks) -> Codes:
    """Codes of the classes of new rows; -1 where the table has no column of the response's."""
    design = blocks.design
    functions = recall_functions(design.functions, blocks.functions)
    read = expression(design.response_code, frozenset(functions)).columns
    if read and not set(read) & set(blocks.table.names):
        return np.full(blocks.table.nrows, -1)
    return response_codes(design, blocks.table, blocks.functions)


def needed_rows(fit: Fit[Any], asked: PictureOptions, kind: str) -> DrawnRows:
    """The rows to draw, of a kind that draws nothing else.

    Raises
    ------
    NotSupportedError
        There are none.
    DataError
        None of them has a class.
    """
    rows = drawn_rows(fit, asked)
    if rows is None:
        raise NotSupportedError(
            f"kind={kind!r} draws rows, which a fit that was loaded or made of moments does not have: "
            "give them as data=."
        )
    rows.need_classes(kind)
    return rows


def refuse_rows(asked: PictureOptions, kind: str) -> None:
    """Raise NotSupportedError where rows are given to a kind that draws the numbers of a fit alone."""
    if asked.data is not None:
        raise NotSupportedError(
            f"data= does nothing for kind={kind!r}, which draws numbers of the fit and no rows: leave it out."
        )


def no_labels() -> pd.Series:
    """Labels of no rows."""
    return pd.Series([], dtype=object)


def one_column(kind: str, shown: str, names: Sequence[str], asked: PictureOptions) -> str:
    """The column asked for, the first by default.

    Parameters
    ----------
    kind, shown : str
        Of the picture, and what the columns hold, for messages.
    names : sequence of str
        Columns that can be shown.

    Raises
    ------
    DataError
        There is none, the one asked for is not among them, or more than one is.
    """
    if not names:
        raise DataError(f"kind={kind!r} shows a column of {shown}, and this fit has none: draw another kind.")
    given = asked.columns
    if given is None:
        return names[0]
    one = given if isinstance(given, str) else given[0] if len(given) == 1 else None
    if one is None or one not in names:
        raise DataError(
            f"columns={told(given)}: kind={kind!r} shows one column of {shown}: give one of {listed(names)}."
        )
    return one
