"""Moments of a formula's columns by class, which add up over tables and are all that many verbs need.

Moments that are added have to belong together, and those that are taken out to be a part of the others. They
are saved in the layout of a fit's file, and read back with as little trust.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from discrim.core.moments.given_moments import Remainder, among_classes, moments_without
from discrim.core.moments.level_counts import LevelCounts, Watched
from discrim.core.moments.moments import ClassMoments, asks_for_roots, merged
from discrim.core.numerics.arrays import Floats, are_whole
from discrim.errors import DataError, FormulaError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.categories import shown
from discrim.frame.design import Design
from discrim.frame.levels import known_values, with_positions
from discrim.frame.matrix import response_codes
from discrim.frame.response import with_new_classes
from discrim.frame.row_parts import TableRows
from discrim.frame.sources.parts import no_rows
from discrim.frame.sources.rows import given_parts, named
from discrim.frame.sources.sources import rows_given
from discrim.frame.table import Table, weight_vector
from discrim.models.fits.fit import Fit
from discrim.models.fits.reading import NaAction, check_word, class_moments, listed, used_sparse_rows
from discrim.models.saving.fit_file import BROKEN, MOST_ROWS, check_functions_given, check_values, file_of
from discrim.models.saving.saved_moments import checked_moments, moment_buffers
from discrim.models.saving.tensor_file import DamagedFileError, check_finite, damaged, write_file


def refuse_unlike(a: Design, b: Design) -> None:
    """Raise a FormulaError where designs differ by more than their levels."""
    if replace(a, levels=(), formula="", labels=None, truths=()) != replace(
        b, levels=(), formula="", labels=None, truths=()
    ):
        if a.response != b.response or (a.formula != b.formula and {*a.terms} != {*b.terms}):
            why = f"one is of {a.formula!r}, one of {b.formula!r}"
        elif a.terms != b.terms:
            other = sorted({*a.terms} ^ {*b.terms}) or ["the same ones in another order"]
            why = f"their columns differ: {listed(other)}"
        else:
            why = "a category, a centre or a basis was learnt of each table anew"
        raise FormulaError(
            f"These moments do not belong together: {why}. Take the second from the first: first.of(data)."
        )


def common_levels(a: Design, b: Design) -> tuple[Any, ...]:
    """The levels of both designs, which are the same but for these.

    Raises
    ------
    FormulaError
        They are not.
    DataError
        The order of the levels is not clear.
    """
    refuse_unlike(a, b)
    short, long = sorted((a.levels, b.levels), key=len)
    if tuple(label for label in long if label in short) == short:
        return long
    union = {*a.levels, *b.levels}
    try:
        if all(list(levels) == sorted(levels) for levels in (a.levels, b.levels)):
            return tuple(sorted(union))
    except TypeError:
        pass
    raise DataError(
        f"The classes of the first are {listed(a.levels)} and of the second {listed(b.levels)}, and "
        "it is not clear in which order all of them stand: pass levels= to both."
    )


def with_all_labels(design: Design) -> Design:
    """The design with each level a category of its labels, as one of `levels=` need not be."""
    labels = design.labels
    if labels is None or labels.categories is None or set(design.levels) <= set(labels.categories):
        return design
    more = (level for level in design.levels if level not in labels.categories)
    return replace(design, labels=replace(labels, categories=(*labels.categories, *more)))


def remainder(left: Remainder, counts: LevelCounts, design: Design) -> ClassMoments:
    """The moments of what is left.

    Raises
    ------
    DataError
        The rows that were to go are no part of the others.
    NotSupportedError
        Rounding leaves no digit of a variance, or of what the weights sum to.
    """
    k, j = left.at
    who = f"class {shown(design.levels[k])}" if k >= 0 else "all classes"
    column = repr(design.terms[j]) if j >= 0 else ""
    match left.fault:
        case "rows":
            raise DataError(
                f"More rows of {who} are to be taken out than there are. Take out only what was added."
            )
        case "weights":
            raise DataError(
                f"The rows and the weights of {who} do not match: rows would be left without weight, "
                "or weight without rows. Take out only what was added, or gather the moments of the "
                "rows that are left from the rows themselves."
            )
        case "means" | "squares":
            has = "another mean" if left.fault == "means" else "larger squares"
            raise DataError(
                f"The rows to be taken out of {who} are not a part of its rows: column {column} has "
                f"{has} in them than it can have. Take out only what was added."
            )
        case "digits":
            raise NotSupportedError(
                f"What is left of column {column} in {who} varies so little, compared with the rows "
                "that are taken out, that rounding leaves no digit of its variance. Gather the "
                "moments of the rows that are left from the rows themselves."
            )
    if left.moments is None or any((np.asarray(table) < 0).any() for table in counts.tables):
        raise DataError(
            "More rows of a level are to be taken out than there are. Take out only what was added."
        )
    return left.moments


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
    scatters : {"class", "pooled", "diagonal"}
    levels_given : bool
        Whether the classes were given, and no others may come.
    dropped : int
        Rows with a missing value.
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


@dataclass(slots=True, eq=False)
class Moments:
    """Rows, means and covariances of classes, for the columns of a formula; made by `discrim.moments`.

    The sum (`+`) of the moments of two tables gives the moments of all their rows, in whatever order they are
    added, and `-` takes rows out again. Both give new moments; only `update` changes the moments that it is
    called on.

    Attributes
    ----------
    formula : str
    classes : Index of length K
        Classes met so far.
    terms : Index of length p
        Names of the columns of the design.
    counts : Series by class
        Number of rows, or sum of their weights.
    nobs : int or float
        Number of rows used, or the sum of their weights.
    means : DataFrame, classes by terms
        Class means.
    cov : DataFrame, terms by terms
        Covariance within classes, divisor N - K.
    covs : dict of class to DataFrame
        Covariance of each class, divisor n_k - 1; missing for a class of one row.
    variances : DataFrame, classes by terms
        Variances of each class, divisor n_k - 1.
    dropped : int
        Number of rows that are left out because a value is missing.
    """

    _design: Design
    _held: ClassMoments
    _level_counts: LevelCounts
    _scatters: Scatters
    _levels_given: bool
    dropped: int = 0
    _weighted: bool = False
    _weights: str | None = None
    _functions: Functions = field(default_factory=dict)

    @property
    def formula(self) -> str:
        """The formula as it was given."""
        return self._design.formula

    @property
    def classes(self) -> pd.Index:
        """Class labels, in order."""
        return pd.Index(list(self._design.levels), name=self._design.response)

    @property
    def terms(self) -> pd.Index:
        """Names of the columns of the design."""
        return pd.Index(list(self._design.terms))

    @property
    def counts(self) -> pd.Series:
        """Rows by class, or sums of their weights."""
        counts = self._held.counts
        whole = counts.astype(np.int64) if (counts == np.round(counts)).all() else counts
        return pd.Series(whole, index=self.classes, name="rows")

    @property
    def nobs(self) -> int | float:
        """Rows used, or the sum of their weights."""
        total = float(self._held.counts.sum())
        return int(total) if total == round(total) else total

    @property
    def means(self) -> pd.DataFrame:
        """Class means."""
        shown = np.where(self._held.counts[:, None] > 0, self._held.class_means, np.nan)
        return pd.DataFrame(shown, index=self.classes, columns=self.terms)

    @property
    def cov(self) -> pd.DataFrame:
        """Covariance within classes, divisor N - K; K counts the classes with rows."""
        self._need("cov", "pooled")
        held = self._held
        return self._frame(held.scatters.sum(axis=0), held.total - np.count_nonzero(held.counts))

    @property
    def covs(self) -> dict[Any, pd.DataFrame]:
        """Covariance of each class, divisor n_k - 1."""
        self._need("covs", "class")
        each = zip(self.classes, self._held.scatters, self._held.counts, strict=True)
        return {label: self._frame(scatter, count - 1) for label, scatter, count in each}

    @property
    def variances(self) -> pd.DataFrame:
        """Variances of each class, divisor n_k - 1."""
        self._need("variances", "diagonal")
        free = self._held.counts[:, None] - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            shown = np.where(
                free > 0, self._held.squares / self._held.scale / self._held.scale / free, np.nan
            )
        return pd.DataFrame(shown, index=self.classes, columns=self.terms)

    def _frame(self, scatter: Floats, divisor: float) -> pd.DataFrame:
        unit = 1 / self._held.scale
        matrix = scatter * unit[:, None] * unit / divisor if divisor > 0 else np.full_like(scatter, np.nan)
        return pd.DataFrame(matrix, index=self.terms, columns=self.terms)

    def _need(self, what: str, spread: str) -> None:
        """Raise where what is held of the scatters is not enough: pooled, by class, or squares by class."""
        if self._scatters in ("class", spread):
            return
        if self._scatters == "diagonal":
            raise NotSupportedError(
                f"{what} needs covariances, and these moments hold variances alone: make them with "
                f'scatters="{spread}".'
            )
        needed = "variances" if spread == "diagonal" else "the covariance"
        raise NotSupportedError(
            f"{what} needs {needed} of each class, and these moments hold one covariance for all: "
            f'make them with scatters="{spread}", or from_stats with a covariance for each class.'
        )

    def of(self, data: Any, *, weights: Any = None, na_action: NaAction = "drop") -> Moments:
        """Moments of the rows of another table, by the same formula and what it learnt from the first table.

        Parameters
        ----------
        data : table or source of tables
            A table with the same columns. Levels of categories, centres and the like are those of the first
            table.
        weights : column name or (n,) array, optional
            Frequency weights: a weight of 3 stands for three equal rows. By default they are the column that
            was named for the first table.
        na_action : {"drop", "raise"}
            Whether rows with a missing value are dropped, and counted, or refused.

        Returns
        -------
        Moments

        Raises
        ------
        DataError
            A column is missing; the first table did not have a category; a class is not among `levels=`; or
            there are no weights, and those of the first table were an array.
        """
        source, design, found = rows_given(data), self._design, None
        column = self._weights if weights is None else weights
        source.refuse_vector(column)
        names = (*design.response_columns, *design.columns, *([column] if isinstance(column, str) else ()))
        for part, where in given_parts(source, list(dict.fromkeys(names))):
            with named(where):
                table = part if isinstance(part, Table) else Table(part, part=True)
                moments = self._of_table(table, weights, na_action)
            found = moments if found is None else found + moments
        if found is None:
            raise no_rows(source)
        return found

    def _of_table(self, table: Table, weights: Any, na_action: NaAction) -> Moments:
        design = self._design
        weights = self._weights if weights is None else weights
        if weights is None and self._weighted:
            raise DataError(
                "The first table had weights: pass weights= for this one too, np.ones(len(data)) if each of "
                "its rows stands for itself."
            )
        if not self._levels_given:
            design = with_new_classes(design, table, self._functions)
        rows = TableRows(table, response_codes(design, table, self._functions), weight_vector(weights, table))
        blocks = Blocks(design, rows, self._functions)
        return moments_of_blocks(
            blocks, na_action, scatters=self._scatters, levels_given=self._levels_given, weights=weights
        )

    def update(self, data: Any, *, weights: Any = None, na_action: NaAction = "drop") -> None:
        """Add the rows of another table to these moments, in place. Nothing is returned.

        `moments + moments.of(data)` gives the same as new moments and leaves these as they are. Where an
        error is raised, nothing was added.

        Parameters
        ----------
        data : table or source of tables
            A table with the same columns. Levels of categories, centres and the like are those of the first
            table.
        weights : column name or (n,) array, optional
            Frequency weights: a weight of 3 stands for three equal rows. By default they are the column that
            was named for the first table.
        na_action : {"drop", "raise"}
            Whether rows with a missing value are dropped, and counted, or refused.

        Raises
        ------
        DataError
            A column is missing; the first table did not have a category; a class is not among `levels=`; or
            there are no weights, and those of the first table were an array.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> held = discrim.moments("species ~ .", iris[:120])
        >>> held.update(iris[120:])
        >>> held
        Moments of 'species ~ .': 150 rows of 3 classes, 4 columns
        """
        whole = self + self.of(data, weights=weights, na_action=na_action)
        for each in fields(self):
            setattr(self, each.name, getattr(whole, each.name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to a file, whole or not at all; `discrim.load` reads it.

        Parameters
        ----------
        path : str or path
            The file to write; a file that is already there is replaced.

        Raises
        ------
        UnwritableFileError
            The folder does not exist, the disk is full, or the like. A file that was there before is still
            there.

        Examples
        --------
        >>> import tempfile, discrim
        >>> iris = discrim.datasets.load_iris()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     discrim.moments("species ~ .", iris[:100]).save(f"{folder}/monday")
        ...     discrim.load(f"{folder}/monday")
        Moments of 'species ~ .': 100 rows of 2 classes, 4 columns
        """
        write_moments(path, self._contents())

    def __add__(self, other: Any) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        self._refuse_other_scatters(other)
        levels = common_levels(self._design, other._design)
        labels = self._design.labels if self._design.labels == other._design.labels else None
        a, b = self._among(levels), other._among(levels)
        return replace(
            self,
            _design=replace(self._design, levels=levels, labels=labels),
            _held=merged(a._held, b._held),
            _level_counts=a._level_counts.merge(b._level_counts),
            dropped=self.dropped + other.dropped,
            _levels_given=self._levels_given or other._levels_given,
            _weighted=self._weighted or other._weighted,
        )

    def __sub__(self, other: Any) -> Moments:
        """Moments without the rows of others that are among them: a day or a hospital taken out again.

        What is left of a sum of squares W is known to within about 16 roundings, 4e-15, times W times
        1 + sqrt(n_2/n_1), for n_2 rows that go and n_1 that are left.

        Raises
        ------
        DataError
            Rows, weights or a class that are not there; rows that are no part of these.
        NotSupportedError
            Rounding leaves no digit of a variance; the message names class and column.
        """
        if not isinstance(other, Moments):
            return NotImplemented
        self._refuse_other_scatters(other)
        refuse_unlike(self._design, other._design)
        part, levels = other._with_rows(), self._design.levels
        unknown = [label for label in part._design.levels if label not in levels]
        if unknown:
            raise DataError(
                f"There is no class {listed(unknown)} to take rows out of; the classes are "
                f"{listed(levels)}. Take out only what was added."
            )
        if other.dropped > self.dropped:
            raise DataError(
                f"{other.dropped} rows were left out of what is to be taken out, and only "
                f"{self.dropped} of all: it was not added. Take out only what was added."
            )
        part = part._among(levels)
        counts = self._level_counts.without(part._level_counts)
        left = moments_without(self._held, part._held, known_values(self._design, counts.tables))
        held = remainder(left, counts, self._design)
        less = replace(self, _held=held, _level_counts=counts, dropped=self.dropped - other.dropped)
        labels = self._design.labels
        # Of text the classes are those met, and the ones whose rows are gone are no more among them.
        return less if self._levels_given or (labels and labels.categories) else less._with_rows()

    def __radd__(self, other: Any) -> Moments:
        # sum() starts at 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _refuse_other_scatters(self, other: Moments) -> None:
        if self._scatters != other._scatters:
            raise DataError(
                f'One of the moments has scatters="{self._scatters}" and one "{other._scatters}": make '
                "both alike."
            )

    def _among(self, levels: tuple[Any, ...]) -> Moments:
        """The same with these classes, which hold its own."""
        if levels == self._design.levels:
            return self
        position = np.array([levels.index(label) for label in self._design.levels], dtype=np.intp)
        by_class = self._scatters != "pooled"
        return replace(
            self,
            _design=replace(self._design, levels=levels),
            _held=among_classes(self._held, position, len(levels), by_class=by_class),
            _level_counts=self._level_counts.among(position, len(levels)),
        )

    def _with_rows(self) -> Moments:
        """The same without the classes that have no rows, unless none has."""
        keep = np.flatnonzero(self._held.rows > 0)
        if len(keep) in (0, len(self._design.levels)):
            return self
        return replace(
            self,
            _design=replace(self._design, levels=tuple(self._design.levels[k] for k in keep)),
            _held=self._held.classes(keep),
            _level_counts=self._level_counts.classes(keep),
        )

    def _contents(self) -> Contents:
        return Contents(
            self._design, self._held, self._level_counts, self._scatters, self._levels_given, self.dropped,
            self._weighted, self._weights, self._functions,
        )  # fmt: skip

    def __repr__(self) -> str:
        rows = f"{self.nobs:,} rows of {len(self.classes)} classes" if self.nobs else "no rows"
        columns = f"{len(self.terms)} column{'s' if len(self.terms) > 1 else ''}"
        return f"Moments of {self.formula!r}: {rows}, {columns}"

    def _repr_html_(self) -> str:
        from discrim.report.grid import Section
        from discrim.report.tables import Summary

        parts = {
            "counts": Section("Rows by class", self.counts.to_frame(), "count", source=".counts"),
            "means": Section("Means", self.means.rename_axis(index=None), source=".means"),
        }
        return Summary(repr(self), parts).shortened().as_html()


def moments_of_blocks(
    blocks: Blocks, na_action: NaAction, *, scatters: Scatters, levels_given: bool, weights: Any
) -> Moments:
    """Moments of the rows of blocks, and counts of their levels, by one pass."""
    check_word("na_action", na_action, ("drop", "raise"))
    blocks = replace(blocks, design=with_all_labels(blocks.design))
    design, places, sizes = with_positions(blocks.design)
    wider = replace(blocks, design=design)
    watched = Watched(wider, len(design.levels), len(blocks.terms), places, sizes)

    def watch(rows: Any) -> Watched:
        # Sparse rows come as they are stored.
        watched.blocks = wider if rows is blocks else rows
        return watched

    held = class_moments(blocks, scatters, watch)
    dropped = wider.dropped or blocks.dropped
    if dropped and na_action == "raise":
        blocks.refuse_missing()
    return Moments(
        blocks.design, held, watched.counts, scatters, levels_given, dropped, blocks.weighted,
        weights if isinstance(weights, str) else None, blocks.functions,
    )  # fmt: skip


def of_fit(fit: Fit[Any], scatters: Scatters) -> Moments | None:
    """The moments that a fit to a table in memory has made; None where they are of other columns or rows.

    They are of others where columns are left out, in units of their own, or made of categories, whose levels
    a pass has to count.
    """
    blocks, numbers = fit.blocks, fit.numbers
    held = getattr(numbers, "unscaled", None) or numbers.moments
    if (
        not (blocks.design.plain and isinstance(held, ClassMoments) and held.spread == scatters)
        or blocks.constant
        or blocks.collinear
        or blocks.dropped
        or blocks.unit is not None
        or (scatters != "diagonal" and held.roots is None and asks_for_roots(held))
    ):
        return None
    watched = Watched(blocks, len(blocks.design.levels), len(blocks.terms), (), ())
    watched.blocks = used_sparse_rows(blocks) or blocks
    for _ in watched:
        pass
    return Moments(
        with_all_labels(blocks.design), held, watched.counts, scatters, True, 0, blocks.weighted, None,
        blocks.functions,
    )  # fmt: skip


def of_contents(contents: Contents) -> Moments:
    """Moments that were read from a file."""
    return Moments(*contents)
