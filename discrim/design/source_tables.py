"""Parts of a source as tables, and the design that a formula learns from them in one pass or none.

A part is not kept when the next one is read. Levels and transforms are learnt as from a table in memory: a
pass over the columns that determine them collects the first row of each level and, for transforms, all
complete rows of their columns, and the formula learns from these rows. If all terms are numeric columns, and
the type of the response or the user states the classes, the first part suffices.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Mask, refuse_beyond_memory
from discrim.core.numerics.progress import Progress
from discrim.data.sources.parts import DistributedSource, PartWork, Source, TableSource, no_rows
from discrim.data.table import Table
from discrim.data.values import Kind, label_type
from discrim.design.blocks import positive_weights
from discrim.errors import DataError, kept_warnings, naming_file
from discrim.formula.design import Design
from discrim.formula.factors import Categories, Functions, Memory, RowRange, check_functions, evaluate
from discrim.formula.formula import FormulaParser, FullDataSummary, ParsedFormula, learn_design, parse_formula
from discrim.formula.grammar import Column, Expression
from discrim.formula.response import classes_and_codes, used_labels


def tables(
    source: Source, columns: Sequence[str] | None = None, kinds: Mapping[str, Kind] | None = None
) -> Iterator[tuple[Table, str | None]]:
    """Iterate over the parts with rows, as tables with consecutive row numbers.

    Parameters
    ----------
    source : Source
    columns : sequence of str, optional
        Columns to read; all by default.
    kinds : mapping of str to Kind, optional
        Kinds of the columns in other parts, for columns without values in a part.

    Yields
    ------
    table : Table
    where : str or None
        Path of its file.
    """
    start = 0
    with Progress(source.nrows or 0, "rows read") as progress:
        for data, where, coded in source.parts(columns):
            with naming_file(where):
                table = part_table(data, kinds, start, coded)
            if table is not None:
                yield table, where
                start += table.nrows
                progress(table.nrows)


def given_parts(source: Source, columns: Sequence[str] | None = None) -> Iterator[tuple[Any, str | None]]:
    """Iterate over the parts as `tables` does; a table in memory is one part."""
    if isinstance(source, TableSource):
        return iter([(source.data, None)])
    return tables(source, columns)


def answers(
    source: Source,
    columns: Sequence[str] | None,
    answer: Callable[[Any], Any],
    sent: Callable[[], Callable[[Any], Any]],
    *,
    beyond: bool = False,
) -> Any:
    """Apply a function to a table at once, to parts one after another, or on workers to their parts.

    Parameters
    ----------
    source : Source
    columns : sequence of str or None
        Columns that the function reads; all if None.
    answer : callable
        Function of a table or part that returns a Series or DataFrame.
    sent : callable
        Function without arguments that returns `answer` in the form for workers.
    beyond : bool
        Whether labels may be outside the classes.

    Returns
    -------
    Series or DataFrame, iterator of DataFrame, or lazy frame of Dask
    """
    if isinstance(source, TableSource):
        return in_its_library(answer(source.data), source.data)
    if isinstance(source, DistributedSource):
        return source.lazily(source.names if columns is None else columns, sent(), beyond=beyond)
    return answered_frames(source, columns, answer)


def in_its_library(answer: Any, data: Any) -> Any:
    """Convert a Series or DataFrame to polars if the table is a DataFrame of polars; else return it.

    Columns of the table itself are unchanged. Missing values become null, and class labels text as column
    names.
    """
    # Whoever has such a table has imported its library.
    pl = sys.modules.get("polars")
    if pl is None or not isinstance(data, pl.DataFrame):
        return answer
    if isinstance(answer, pd.Series):
        return _in_polars(answer, pl)
    told = answer.iloc[:, data.width :] if list(answer)[: data.width] == data.columns else answer
    columns = [_in_polars(told.iloc[:, j], pl) for j in range(told.shape[1])]
    return pl.DataFrame(columns) if told is answer else data.hstack(columns)


def _in_polars(column: pd.Series, pl: Any) -> Any:
    """Convert a column to a Series of polars."""
    name = "" if column.name is None else str(column.name)
    if column.dtype.kind == "f" and isinstance(column.dtype, np.dtype):
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    values = [None if missing else value for value, missing in zip(column, column.isna(), strict=True)]
    texts = isinstance(column.dtype, pd.CategoricalDtype) and column.cat.categories.inferred_type == "string"
    return pl.Series(name, values, pl.Enum(list(column.cat.categories)) if texts else None)


def answered_frames(
    source: Source, columns: Sequence[str] | None, answer: Callable[[Any], Any]
) -> Iterator[pd.DataFrame]:
    """Apply a function to each part, and yield its results as frames.

    Parameters
    ----------
    source : Source
    columns : sequence of str or None
        Columns to read; all if None.
    answer : callable
        Function of a part that returns a Series or DataFrame.

    Yields
    ------
    DataFrame
    """
    with Progress(source.nrows or 0, "rows predicted") as progress:
        for part, where in given_parts(source, columns):
            with naming_file(where):
                said = answer(part)
            progress(len(said))
            with progress.paused():
                yield said.to_frame() if isinstance(said, pd.Series) else said


def part_table(
    data: Any, kinds: Mapping[str, Kind] | None = None, before: int = 0, coded: Sequence[str] = ()
) -> Table | None:
    """Return a part of the rows as a table.

    Parameters
    ----------
    data : table
    kinds : mapping of str to Kind, optional
        Kinds of the columns in other parts, for columns without values.
    before : int
        Number of rows before the part.
    coded : sequence of str
        Text columns that are stored as dictionary codes.

    Returns
    -------
    Table or None
        None if the part is empty.
    """
    table = Table(data, part=True, learnt_from=True, before=before, coded=coded)
    # Columns of numbers that have no value in this part.
    numeric = ("numeric", "boolean")
    bare = [
        name
        for name, kind in (kinds or {}).items()
        if kind in numeric and table.kind(name) not in numeric and not table.has_values(name)
    ]
    if bare and table.nrows:
        frame = table.frame(table.names).assign(**dict.fromkeys(bare, np.nan))
        table = Table(frame, part=True, learnt_from=True)
    return table if table.nrows else None


class SourceTable(Table):
    """Stand-in for a table if rows come from a source: a column is read when it is needed.

    The first part with rows determines the kinds of the columns.
    """

    __slots__ = ("_first", "_rows", "_source")

    def __init__(self, source: Source, data: Any, first: Table) -> None:
        super().__init__(pd.DataFrame(columns=list(source.names)))
        self.data = data
        self.learnt_from = True
        self._source = source
        self._first = first
        self._rows = source.nrows

    def __reduce__(self) -> tuple[Any, ...]:
        return SourceTable, (self._source, self.data, self._first)

    @property
    def source(self) -> Source:
        """The source of the rows."""
        return self._source

    @property
    def nrows(self) -> int:
        """Number of rows, counted by a pass over one column if the source does not state it."""
        if self._rows is None and isinstance(self._source, DistributedSource):
            self._rows = sum(self._source.lengths)
        if self._rows is None:
            self._rows = sum(table.nrows for table, _ in tables(self._source, self.names[:1]))
        return self._rows

    @property
    def index(self) -> pd.Index:
        """Row numbers as labels."""
        return pd.RangeIndex(self.nrows)

    def counted(self, rows: int) -> None:
        """Store the number of rows that a pass has found."""
        self._rows = rows

    def kind(self, name: str) -> Kind:
        """Return the kind of a column in the first part."""
        return self._sample(name).kind(name)

    def dtype(self, name: str) -> Any:
        """Return the dtype of a column in the first part."""
        return self._sample(name).dtype(name)

    def holds_integers(self, name: str) -> bool:
        """Return whether the dtype of a column in the first part is integer."""
        return self._sample(name).holds_integers(name)

    def _sample(self, name: str) -> Table:
        """Return the first part with rows, with a column of this name."""
        if name not in self._first.names:
            self.position(name)
            self._first = next(table for table, _ in tables(self._source))
        return self._first

    def take_fingerprint(self, names: Sequence[str]) -> None:
        """Do nothing, because values are read again and the source checks the number of rows."""

    def refuse_changes(self) -> None:
        """Do nothing; see `take_fingerprint`."""

    def view(self, names: Sequence[str]) -> NDArray[np.float64] | None:
        """Return None, because the columns are not in memory."""
        return None

    def native(self, name: str, *, as_codes: bool = False) -> pd.Series:
        """Return a column of all rows, if the memory suffices."""
        self.position(name)
        refuse_beyond_memory(
            4.0 * self.nrows,
            f"Column {name!r} of {self.nrows:,} rows at once",
            "Give a part of the rows, as a table in memory",
        )
        kinds = {name: self.kind(name)}
        parts = [table.column(name) for table, _ in tables(self._source, [name], kinds)]
        if all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts):
            return pd.Series(pd.api.types.union_categoricals(parts), name=name)
        return pd.concat(parts, ignore_index=True)

    def _array(self, name: str) -> NDArray[Any] | None:
        return None


def discovered(
    formula: str,
    data: Any,
    source: Source,
    functions: Mapping[str, Callable[..., Any]] | None,
    levels: Sequence[Any] | None,
    weights: str | None,
    parser: FormulaParser = parse_formula,
    *,
    incomplete: bool = False,
) -> tuple[Design, SourceTable]:
    """Learn the design of a formula from the rows of a source.

    Parameters
    ----------
    formula : str
    data : object
        The argument of the user.
    source : Source
        The source of its rows.
    functions : mapping of str to callable, or None
    levels : sequence or None
        The classes.
    weights : str or None
        Column of weights.
    parser : FormulaParser
    incomplete : bool
        Whether levels are learnt from incomplete rows too.

    Returns
    -------
    design : Design
    table : SourceTable
        Stand-in for the table of the source.
    """
    called = check_functions(functions)
    names = Table(pd.DataFrame(columns=list(source.names)))
    parsed = parser(formula, names, called, (weights,) if weights else ())
    columns = list(dict.fromkeys((*parsed.columns, *parsed.beside)))
    seen = None
    has_kinds = True
    if isinstance(source, DistributedSource):
        first = Table(source.meta, part=True, learnt_from=True)
        learns = not parsed.is_plain(first)
    else:
        first = first_table(source, columns)
        used = positive_weights(weights, first)
        complete = RowRange(first, 0, first.nrows, used=used).complete(columns)[0].size > 0
        learns = not complete or any(_learns(each, first) for each in parsed.expressions.values())
        has_kinds = bool(complete) or all(map(first.has_values, columns))
    if learns:
        labels = _labels_alone(parsed, called, first, source, levels, weights) if has_kinds else None
        look = _Look(parsed, called, tuple(columns), levels, weights, incomplete)
        seen = _seen(look, source, labels)
        shown = seen.table()
        if isinstance(source, DistributedSource):
            shown = first = _with_types(shown, source.meta)
        elif not has_kinds:
            first = shown
        design = learn_design(parsed, shown, called, levels, seen.whole(), incomplete=incomplete)[0]
    elif levels is not None or (
        # A categorical column declares its classes.
        isinstance(parsed.response.root, Column)
        and isinstance(first.data, pd.DataFrame)
        and isinstance(first.dtype(parsed.response.root.name), pd.CategoricalDtype)
    ):
        positive = positive_weights(weights, first)
        design = learn_design(parsed, first, called, levels, positive=positive)[0]
    else:
        # If all columns are numeric, only the classes are learnt.
        seen = _seen(_Look(parsed, called, parsed.beside, None, weights), source)
        classes, _, kind = classes_and_codes(parsed.response, seen.table(), called, None, rows=seen.rows)
        positive = positive_weights(weights, first)
        design = learn_design(parsed, first, called, classes, positive=positive)[0]
        design = replace(design, labels=kind)
    table = SourceTable(source, data, first)
    if seen is not None:
        table.counted(seen.rows)
    if design.response_columns == (design.response,):
        # A pass collects numbers as Python objects; restore the dtype of the column.
        dtype = table.dtype(design.response)
        if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
            design = replace(design, labels=label_type(dtype))
    return design, table


def first_table(source: Source, columns: Sequence[str] | None = None) -> Table:
    """Return the first part with rows; raise DataError if there is none."""
    for table, _ in tables(source, columns):
        return table
    raise no_rows(source)


def _seen(look: _Look, source: Source, labels: _Seen | None = None) -> _Seen:
    """Make a pass over some columns, on workers if the source is distributed.

    Parameters
    ----------
    look : _Look
        Columns and purpose of the pass.
    source : Source
    labels : _Seen, optional
        All labels, from an earlier pass. When these have been seen in complete rows, the pass stops.

    Returns
    -------
    _Seen
    """
    if isinstance(source, DistributedSource):
        of_workers = source.map_reduce(PartWork(list(look.columns), partial(_look, look), _Seen.joined))
        if of_workers is None:
            raise no_rows(source)
        return of_workers
    seen = _Seen(look)
    with Progress(source.nrows or 0, "levels and transforms") as progress:
        for part, where in tables(source, look.columns):
            with naming_file(where):
                seen.look(part)
            progress(part.nrows)
            if labels is not None and seen.shows(labels):
                seen.rows = labels.rows
                break
    return seen


def _labels_alone(
    parsed: ParsedFormula,
    functions: Functions,
    first: Table,
    source: Source,
    levels: Sequence[Any] | None,
    weights: str | None,
) -> _Seen | None:
    """Make a pass over the columns of labels only.

    Parameters
    ----------
    parsed : ParsedFormula
    functions : mapping of str to callable
    first : Table
        The first part.
    source : Source
    levels : sequence or None
        The classes.
    weights : str or None
        Column of weights.

    Returns
    -------
    _Seen or None
        None if more than labels has to be learnt.
    """
    learning = {code: each for code, each in parsed.expressions.items() if _learns(each, first)}
    plain = all(isinstance(each.root, Column) for each in learning.values())
    if source.once or isinstance(source, DistributedSource) or not (learning and plain):
        return None
    alone = parsed._replace(expressions=learning)
    columns = tuple(dict.fromkeys((*alone.columns, *alone.beside)))
    return _seen(_Look(alone, functions, columns, levels, weights), source)


def _look(look: _Look, data: Any, given: None) -> _Seen | None:
    """Scan one part of a distributed source; return None if the part is empty."""
    part = part_table(data)
    if part is None:
        return None
    seen = _Seen(look)
    with kept_warnings():
        seen.look(part)
    return seen


def _with_types(shown: Table, meta: pd.DataFrame) -> Table:
    """Return rows from workers together with columns without values, of which only the types are needed."""
    columns = {}
    for label in meta.columns:
        name = str(label)
        dtype = meta[label].dtype
        if name in shown.names:
            columns[name] = shown.native(name)
        elif isinstance(dtype, np.dtype) and dtype.kind in "biuf":
            columns[name] = pd.Series(np.zeros(shown.nrows, dtype))
        else:
            columns[name] = meta[label].reset_index(drop=True).reindex(range(shown.nrows))
    return Table(pd.DataFrame(columns), learnt_from=True)


def _learns(each: Expression, first: Table) -> bool:
    """Return whether the columns of a factor depend on the values in the rows."""
    if each.stateful or each.functions or each.is_coded:
        return True
    return any(first.kind(name) not in ("numeric", "boolean") for name in each.columns)


@dataclass(frozen=True, slots=True)
class _Look:
    """Settings of a pass that learns levels and transforms.

    Attributes
    ----------
    parsed : ParsedFormula
    functions : mapping of str to callable
    columns : tuple of str
        The columns that the pass reads.
    levels : sequence or None
        The classes, if the user lists them; other labels are errors.
    weights : str or None
        The column of weights. Rows without a positive weight are skipped.
    incomplete : bool
        Whether incomplete rows contribute the levels of factors whose columns they have.
    """

    parsed: ParsedFormula
    functions: Functions
    columns: tuple[str, ...]
    levels: Sequence[Any] | None = None
    weights: str | None = None
    incomplete: bool = False


class _Seen:
    """Rows that a pass has collected so far: the first row of each level, and all rows for transforms."""

    def __init__(self, look: _Look) -> None:
        self._look = look
        self._parsed = look.parsed
        self._functions = look.functions
        self._columns = look.columns
        stateful = [each for each in look.parsed.expressions.values() if each.stateful]
        self._learning = list(dict.fromkeys(name for each in stateful for name in each.columns))
        self._known: dict[str, set[Any]] = {}
        self._frames: list[pd.DataFrame] = []
        self._learnt: list[pd.DataFrame] = []
        self._has_complete_row = False
        self.rows = 0

    def joined(self, other: _Seen) -> _Seen:
        """Merge two results, this one first."""
        both = _Seen(replace(self._look, levels=None))
        both._known = {code: set(labels) for code, labels in self._known.items()}
        both._frames = list(self._frames)
        both._has_complete_row = self._has_complete_row
        for frame in other._frames:
            # The rows collected by the other pass contain all of its levels; collect the new ones.
            both.look(Table(frame, part=True, learnt_from=True))
        both._learnt = [*self._learnt, *other._learnt]
        both.rows = self.rows + other.rows
        return both

    def shows(self, other: _Seen) -> bool:
        """Return whether the other result contains nothing new."""
        known = self._known
        return all(labels and labels <= known.get(code, set()) for code, labels in other._known.items())

    def look(self, part: Table) -> None:
        """Collect the rows of a part that contain something new."""
        self.rows += part.nrows
        used = positive_weights(self._look.weights, part)
        new = [self._new_classes(part, used)]
        if self._look.levels is not None and len(new[0]):
            # Validate labels now, because the collected rows do not have their positions any more.
            classes_and_codes(self._parsed.response, part, self._functions, self._look.levels, used=used)
        if set(self._parsed.columns) <= set(self._columns):
            new.extend(self._of_complete(part, RowRange(part, 0, part.nrows, used=used)))
        at = np.unique(np.concatenate(new))
        if len(at):
            self._frames.append(_native(part, self._columns, at))

    def _new_classes(self, part: Table, used: Mask | None) -> Codes:
        """Return the rows of a part with the first occurrence of a class."""
        root = self._parsed.response.root
        texts = part.factorized(root.name) if isinstance(root, Column) else None
        if texts is not None:
            codes, labels = texts
            return self._first_of("", codes if used is None else np.where(used, codes, -1), labels)
        values, labelled = used_labels(self._parsed.response, part, self._functions, used)
        return np.flatnonzero(labelled)[self._first_of_values("", values.values)]

    def _of_complete(self, part: Table, rows: RowRange) -> list[Codes]:
        """Return the complete rows with the first occurrence of a level of a factor."""
        parsed = self._parsed
        new = list[Codes]()
        complete, at = _complete(rows, (*parsed.columns, *parsed.beside))
        for code, each in parsed.expressions.items():
            if each.stateful or not _learns(each, part):
                continue
            own = complete
            places = at
            if self._look.incomplete:
                own, places = _complete(rows, (*each.columns, *parsed.beside))
            if own.size:
                new.append(places[self._first_of_factor(code, each, own)])
        if len(at) and not self._has_complete_row:
            self._has_complete_row = True
            new.append(at[:1])
        if len(at) and self._learning:
            refuse_beyond_memory(
                float(self.rows * len(self._learning)),
                f"What transforms learn from ({self._learning[0]!r} and others, of {self.rows:,} rows)",
                "Transform these columns in the source, or leave the transforms out of the formula",
            )
            self._learnt.append(part.frame(self._learning).iloc[at].astype(np.float64))
        return new

    def _first_of_factor(self, code: str, each: Expression, rows: RowRange) -> Codes:
        """Return the rows with the first occurrences of levels of a factor."""
        coded = rows.coded(each.root.name) if isinstance(each.root, Column) else None
        if coded is not None:
            return self._first_of(code, *coded)
        value = evaluate(each, rows, Memory(), self._functions)
        if isinstance(value, Categories):
            return self._first_of_values(code, value.values)
        return np.zeros(0, dtype=np.intp)

    def _first_of_values(self, code: str, values: pd.Series) -> Codes:
        """Return the rows with the first occurrences of values."""
        if isinstance(values.dtype, pd.CategoricalDtype):
            # Use the codes, because declared categories without rows are not levels.
            return self._first_of(code, values.cat.codes.to_numpy(), values.cat.categories)
        return self._first_of(code, *pd.factorize(values))

    def _first_of(self, code: str, codes: NDArray[Any], labels: Any) -> Codes:
        """Return the rows with the first occurrence of each new label.

        Parameters
        ----------
        code : str
            Code of the factor, "" for the response.
        codes : (m,) int array
            Position of the label of each row, -1 if missing.
        labels : sequence

        Returns
        -------
        int array
        """
        known = self._known.setdefault(code, set())
        used = np.flatnonzero(np.bincount(codes + 1, minlength=1)[1:]).tolist()
        new = [label for label in used if labels[label] not in known]
        known.update(labels[label] for label in new)
        return np.array([int(np.argmax(codes == label)) for label in new], dtype=np.intp)

    def table(self) -> Table:
        """Return the collected rows, which contain every level."""
        if not self._frames:
            names = ", ".join(map(repr, self._columns))
            raise DataError(
                f"No row of the source has a value in any of {names}.", hint="Give rows that have."
            )
        joined = {name: _joined([frame[name] for frame in self._frames]) for name in self._columns}
        return Table(pd.DataFrame(joined), learnt_from=True)

    def whole(self) -> FullDataSummary:
        """Return the summary of all rows."""
        learning = Table(pd.concat(self._learnt, ignore_index=True)) if self._learnt else None
        return FullDataSummary(self.rows, learning)


def _complete(rows: RowRange, columns: Sequence[str]) -> tuple[RowRange, Codes]:
    """Return the rows without a missing value in some columns, and their positions in the table."""
    complete, _ = rows.complete(columns)
    at = np.arange(rows.table.nrows) if complete.keep is None else np.flatnonzero(complete.keep)
    return complete, at


def _native(part: Table, columns: Sequence[str], at: Codes) -> pd.DataFrame:
    """Return some rows of a part in their original dtypes.

    Parameters
    ----------
    part : Table
    columns : sequence of str
    at : (m,) int array
        Positions of the rows.

    Returns
    -------
    DataFrame (m, columns)
    """
    if isinstance(part.data, pd.DataFrame):
        rows = part.data.iloc[at]
        return pd.DataFrame({name: rows.iloc[:, part.position(name)] for name in columns})
    some = part.rows(at)
    # Categories may be ordered by the values of the whole part, hence the full column is read.
    frame = pd.DataFrame(
        {
            name: part.column(name).iloc[at] if part.kind(name) == "categorical" else some.column(name)
            for name in columns
        }
    )
    exact = [name for name in columns if part.kind(name) == "boolean" or part.holds_integers(name)]
    return frame.assign(**{name: _labels(part, name, at).set_axis(frame.index) for name in exact})


def _labels(part: Table, name: str, at: Codes) -> pd.Series:
    """Return values of an integer or boolean column, unchanged also with missing values.

    Parameters
    ----------
    part : Table
    name : str
    at : (m,) int array
        Positions of the rows.

    Returns
    -------
    Series (m,)
    """
    values = part.native(name)[at.tolist()].to_list()
    known = [value for value in values if value is not None]
    if part.kind(name) == "boolean":
        # Like for a table in memory, missing values must not change the type of the labels.
        dtype = "object"
        plain = "bool"
    elif all(-(2**63) <= value < 2**63 for value in known):
        dtype = "Int64"
        plain = "int64"
    else:
        return pd.Series(values, dtype=object)
    return pd.Series(values, dtype=plain if len(known) == len(values) else dtype)


def _joined(values: list[pd.Series]) -> pd.Series:
    """Concatenate columns; the categories are the union, in the order of first declaration."""
    if not all(isinstance(each.dtype, pd.CategoricalDtype) for each in values):
        return pd.concat(values, ignore_index=True)
    declared = list(dict.fromkeys(label for each in values for label in each.cat.categories))
    ordered = all(each.cat.ordered for each in values)
    dtype = pd.CategoricalDtype(declared, ordered=ordered)
    return pd.concat([each.astype(dtype) for each in values], ignore_index=True)
