"""Moments of the columns of a formula by class, which can be added over tables.

The verb `moments` computes them from a table, and `moments_of_fit` from a fit; most models of normal classes
can be fitted to them without rows. Addition and subtraction check that two objects have the same design and
that subtracted rows are part of the total. `Moments.save` writes the file format of fits, and
`moments_from_file` validates every value that it reads.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from discrim.core.moments.derived_moments import Remainder, extend_to_classes, subtract_moments
from discrim.core.moments.level_counts import CountedBlocks, LevelCounts
from discrim.core.moments.moments import ClassMoments, merge_rescaled, requires_roots
from discrim.core.numerics.arrays import Floats, are_integers
from discrim.data.sources.base import Source, no_rows_error
from discrim.data.sources.sources import source_of_rows
from discrim.data.table import Table
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows, TableRows, learning_row_mask, read_weights
from discrim.design.levels import append_level_positions, constant_values_by_class
from discrim.design.matrix import response_codes
from discrim.design.rows import read_rows
from discrim.design.source_tables import chunk_tables, table_chunks
from discrim.errors import DataError, FormulaError, NotSupportedError, add_path_to_errors
from discrim.formula.design import Design
from discrim.formula.factors import Functions, RowRange, check_functions
from discrim.formula.formula import parse_adjusted_formula
from discrim.formula.response import with_new_classes
from discrim.models.base import fit_file, reading
from discrim.models.base.fit import FittedModel
from discrim.models.base.labels import whole_counts
from discrim.models.base.reading import Data, NaAction, check_word, class_moments, join_labels
from discrim.models.base.tensor_file import damaged_file_error
from discrim.report.result_table import returning_result_table

Scatters = Literal["class", "pooled", "diagonal"]
"""Second moments: a scatter matrix of each class, one common matrix, or sums of squares by class."""

MOMENTS_NAME = "moments"
"""Entry of a file of moments in the field for the name of the model."""

MIN_CLASS_WEIGHT = 1e-200
"""Smallest sum of weights of a class, and the inverse of the largest, which keep sums of squares in range."""

FILE_KEYS = ("decayed", "design", "dropped", "levels_given", "model", "scatters", "weighted", "weights")
"""Keys of the description in a file of moments."""


@reading.with_public_errors
def moments(
    formula: str,
    data: Data,
    *,
    weights: Any = None,
    scatters: Scatters = "class",
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Functions | None = None,
) -> Moments:
    """Counts, means and covariances of classes for the columns of a formula, to be added up and fitted.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    scatters : {"class", "pooled", "diagonal"}
        Which sums are computed. "class": sums of squares and products by class, to which every verb with
        `moments=` can be fitted. "pooled": one sum over all classes, which is enough for `lda` and
        `indicator` and needs K times less memory. "diagonal": sums of squares by class, which are enough
        for `naive_bayes`, `shrunken_centroids`, `nearest_centroid` and diagonal covariances, even with
        thousands of columns. Counts of levels, for `naive_bayes`, are always included.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted. Classes without rows are
        allowed.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    Moments
        `a + b` are the moments of the rows of both, and `lda(moments=a + b)` is the fit to them.

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row is left. The rows may all be of one class.
    NotSupportedError
        The source can be read only once, and the formula has a transform that is estimated from all rows.

    Notes
    -----
    Values that a formula learns from a table (the levels of a category, the centre of `center(x)`, the basis
    of `poly(x, 2)`) have to be the same for all moments that are added: `first.of(data)` uses the values of
    the first table. Levels that come later have to be declared, by the type of the column or by `C(x,
    levels=["a", "b"])`. `lda`, `qda`, `rda`, `naive_bayes`, `shrunken_centroids`, `nearest_centroid`, `pls`,
    `sparse_lda` and `indicator` accept `moments=`. Moments are merged after Chan, Golub & LeVeque (1983), The
    American Statistician 37, 242-247.

    Examples
    --------
    >>> import discrim
    >>> iris = discrim.datasets.load_iris()
    >>> whole = sum(discrim.moments("species ~ .", iris[start : start + 30]) for start in range(0, 150, 30))
    >>> whole
    Moments of 'species ~ .': 150 rows of 3 classes, 4 columns
    >>> discrim.lda(moments=whole).explained.round(4).tolist()
    [0.9912, 0.0088]
    """
    check_word("scatters", scatters, Scatters)
    source = source_of_rows(data)
    chunks: Iterator[tuple[Any, str | None]] = iter([(data, None)])
    columns: list[str] = []
    if source.is_single_pass:
        columns = _required_columns(formula, source, weights, functions)
        chunks = chunk_tables(source, columns)
    chunk = next(chunks, None)
    if chunk is None:
        raise no_rows_error(source)
    first, where = chunk
    skipped = 0
    if source.is_single_pass and na_action == "drop":
        (first, where), skipped = _first_table_with_complete_rows(chunk, chunks, columns)
    with add_path_to_errors(where):
        design_rows = read_rows(
            formula, first, weights=weights, levels=levels, functions=functions, is_chunk=True,
            parser=parse_adjusted_formula,
        )  # fmt: skip
        if not design_rows.terms:
            raise DataError(
                f"The formula {formula!r} has no predictor.",
                hint="Name a column on the right side of the formula.",
            )
        total = moments_of_rows(
            design_rows, na_action, scatters=scatters, levels_given=levels is not None, weights=weights
        )
    total.dropped += skipped
    for chunk, where in chunks:
        with add_path_to_errors(where):
            total = total + total.of(chunk, na_action=na_action)
    return total


def _first_table_with_complete_rows(
    chunk: tuple[Table, str | None], chunks: Iterator[tuple[Table, str | None]], columns: Sequence[str]
) -> tuple[tuple[Table, str | None], int]:
    """Skip the tables at the beginning of a source that lack a complete row.

    Parameters
    ----------
    chunk : (Table, str or None)
        First table of the source and its file name.
    chunks : iterator of (Table, str or None)
        Following tables with their file names, of which as many are consumed as needed.
    columns : sequence of str
        Columns that have to be complete.

    Returns
    -------
    chunk : (Table, str or None)
        First table with a complete row and its file name; without one, the last table.
    skipped : int
        Number of rows before it.
    """
    skipped = 0
    table = chunk[0]
    while not RowRange(table, 0, table.nrows).select_complete(columns)[1].any():
        following = next(chunks, None)
        if following is None:
            break
        skipped += table.nrows
        chunk = following
        table = following[0]
    return chunk, skipped


def _required_columns(formula: str, source: Source, weights: Any, functions: Functions | None) -> list[str]:
    """Return the columns that the formula and the weights read, for a source that can be read only once.

    Nothing is read. Raises NotSupportedError if the formula has a transform that is estimated from all rows,
    such as `center`.

    Parameters
    ----------
    formula : str
    source : Source
    weights : str or None
        Column of weights.
    functions : dict or None
        Functions that the formula may call, by name.

    Returns
    -------
    list of str
        Names of the columns of the predictors, the response and the weights, each once.
    """
    source.check_weights_are_column(weights)
    names = Table(pd.DataFrame(columns=list(source.names)))
    parsed = parse_adjusted_formula(
        formula, names, check_functions(functions), () if weights is None else (weights,)
    )
    learns = [factor.code for factor in parsed.expressions.values() if factor.stateful]
    if learns:
        raise NotSupportedError(
            f"{learns[0]} is estimated from all rows, and {source.description} can be read only once.",
            hint="Pass a function that creates the source again, or transform the column in the tables.",
        )
    return list(dict.fromkeys((*parsed.columns, *parsed.other_columns)))


@dataclass(slots=True, eq=False)
class Moments:
    """Counts, means and covariances of classes, for the columns of a formula; created by `discrim.moments`.

    The sum (`+`) of the moments of two tables is the moments of all their rows, in any order of addition,
    and `-` removes rows again. A product with a number, for example `0.99 * moments`, reduces the weight of
    each row: old rows are gradually forgotten, which suits classes that drift. All operations return new
    moments; only `update` changes the object that it is called on.

    Attributes
    ----------
    formula : str
    classes : Index of length K
        Classes of the rows that were added so far.
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
        Covariance of each class, terms by terms, divisor n_k - 1; missing for a class of one row.
    variances : DataFrame, classes by terms
        Variances of each class, divisor n_k - 1.
    dropped : int
        Number of rows that are left out because a value is missing.

    Notes
    -----
    If moments are multiplied by d and added to the moments of b new rows again and again, their count
    approaches N = b / (1 - d) rows. They are sums with weights, which fits treat as frequency weights:
    degrees of freedom, standard errors and tests correspond to N equally weighted rows. The means have the
    precision of N (1 + d) independent rows (Kish, 1965, Survey Sampling, sec. 11.7). Without drift, tests of
    the means are therefore conservative.
    """

    __array_ufunc__ = None  # NumPy scalars leave the product to `__rmul__`.

    _design: Design
    _moments: ClassMoments
    _level_counts: LevelCounts
    _scatters: Scatters
    _levels_given: bool
    dropped: int = 0
    _weighted: bool = False
    _weights: str | None = None
    _functions: Functions = field(default_factory=dict)
    _decayed: bool = False

    @property
    def formula(self) -> str:
        """The formula as passed by the user."""
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
        """Rows by class, or sums of their weights; integers if all are whole."""
        return pd.Series(whole_counts(self._moments.counts), index=self.classes, name="rows")

    @property
    def nobs(self) -> int | float:
        """Rows used, or the sum of their weights; an int if it is whole."""
        total = float(self._moments.counts.sum())
        return int(total) if total == round(total) else total

    @property
    @returning_result_table
    def means(self) -> pd.DataFrame:
        """Means of the classes, classes by terms; NaN for a class without rows."""
        means = np.where(self._moments.counts[:, None] > 0, self._moments.class_means, np.nan)
        return pd.DataFrame(means, index=self.classes, columns=self.terms)

    @property
    @returning_result_table
    def cov(self) -> pd.DataFrame:
        """Covariance within classes, terms by terms, divisor N - K; K counts the classes with rows.

        Raises NotSupportedError for `scatters="diagonal"`.
        """
        self._require_scatters("cov", "pooled")
        sums = self._moments
        return self._covariance_frame(sums.scatters.sum(axis=0), sums.total - np.count_nonzero(sums.counts))

    @property
    @returning_result_table
    def covs(self) -> dict[Any, pd.DataFrame]:
        """Covariance of each class, terms by terms, divisor n_k - 1; NaN for n_k <= 1.

        Raises NotSupportedError unless `scatters` is "class".
        """
        self._require_scatters("covs", "class")
        class_scatters = zip(self.classes, self._moments.scatters, self._moments.counts, strict=True)
        return {label: self._covariance_frame(scatter, count - 1) for label, scatter, count in class_scatters}

    @property
    @returning_result_table
    def variances(self) -> pd.DataFrame:
        """Variances of each class, classes by terms, divisor n_k - 1; NaN for n_k <= 1.

        Raises NotSupportedError for `scatters="pooled"`.
        """
        self._require_scatters("variances", "diagonal")
        sums = self._moments
        df = self._moments.counts[:, None] - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = np.where(df > 0, sums.squares / sums.scale / sums.scale / df, np.nan)
        return pd.DataFrame(variances, index=self.classes, columns=self.terms)

    def _covariance_frame(self, scatter: Floats, divisor: float) -> pd.DataFrame:
        """Return a scatter matrix (p, p) of the scaled columns divided, in the units of the data.

        Rows and columns are the terms. All elements are NaN for a divisor <= 0.
        """
        unit = 1 / self._moments.scale
        matrix = scatter * unit[:, None] * unit / divisor if divisor > 0 else np.full_like(scatter, np.nan)
        return pd.DataFrame(matrix, index=self.terms, columns=self.terms)

    def _require_scatters(self, name: str, required_scatters: str) -> None:
        """Raise NotSupportedError if the option `scatters` of these moments does not suffice.

        Parameters
        ----------
        name : str
            Attribute or model that requires the scatter matrices, for the message.
        required_scatters : {"class", "pooled", "diagonal"}
            Moments with exactly this option suffice, and moments with "class"; "pooled" moments do not
            suffice for "diagonal".
        """
        if self._scatters in ("class", required_scatters):
            return
        if self._scatters == "diagonal":
            raise NotSupportedError(
                f"{name} requires covariances, and these moments have variances only.",
                hint=f'Compute the moments with scatters="{required_scatters}".',
            )
        noun = "variances" if required_scatters == "diagonal" else "the covariance"
        raise NotSupportedError(
            f"{name} requires {noun} of each class, and these moments have one common covariance matrix.",
            hint=(
                f'Compute the moments with scatters="{required_scatters}", or use from_stats() with a '
                "covariance for each class."
            ),
        )

    def of(self, data: Data, *, weights: Any = None, na_action: NaAction = "drop") -> Moments:
        """Moments of the rows of another table, with the design of the first table.

        Parameters
        ----------
        data : table or source of tables
            A table with the same columns. Levels of categories, centres and other values of the formula are
            not estimated again.
        weights : column name or (n,) array, optional
            Frequency weights: a weight of 3 stands for three identical rows. By default the column
            that was named for the first table.
        na_action : {"drop", "raise"}
            Whether rows with a missing value are dropped and counted, or are an error.

        Returns
        -------
        Moments
            Moments of the new rows only. New classes are added, unless `levels=` declared the classes.

        Raises
        ------
        DataError
            A column is missing; the first table did not have a category; a class is not among `levels=`; or
            weights are missing, and the first table had an array of weights.
        """
        source = source_of_rows(data)
        design = self._design
        total = None
        column = self._weights if weights is None else weights
        source.check_weights_are_column(column)
        names = (*design.response_columns, *design.columns, *([column] if isinstance(column, str) else ()))
        for chunk, where in table_chunks(source, list(dict.fromkeys(names))):
            with add_path_to_errors(where):
                table = chunk if isinstance(chunk, Table) else Table(chunk, is_chunk=True)
                moments = self._moments_of_table(table, column, na_action)
            total = moments if total is None else total + moments
        if total is None:
            raise no_rows_error(source)
        return total

    def _moments_of_table(self, table: Table, weights: Any, na_action: NaAction) -> Moments:
        """Compute the moments of a table with the design of these moments.

        New classes extend the design, unless the classes were declared by `levels=`. Raises DataError if the
        first table has weights and this one lacks them.

        Parameters
        ----------
        table : Table
        weights : str, (n,) array or None
            Column of frequency weights, or the weights.
        na_action : {"drop", "raise"}
            Whether rows with a missing value are dropped and counted, or are an error.

        Returns
        -------
        Moments
            Moments of the rows of this table only, with the option `scatters` of these moments.
        """
        design = self._design
        if weights is None and self._weighted:
            raise DataError(
                "The first table has weights, and this one has none.",
                hint="Pass weights=, for example np.ones(len(data)).",
            )
        counts = read_weights(weights, table)
        positive = learning_row_mask(counts, table)
        if not self._levels_given:
            design = with_new_classes(design, table, self._functions, positive)
        codes = response_codes(design, table, self._functions, positive)
        rows = TableRows(table, codes, counts, is_training=True)
        design_rows = DesignRows(design, rows, self._functions)
        return moments_of_rows(
            design_rows, na_action, scatters=self._scatters, levels_given=self._levels_given, weights=weights
        )

    def update(self, data: Data, *, weights: Any = None, na_action: NaAction = "drop") -> None:
        """Add the rows of another table to these moments, in place. Nothing is returned.

        `moments + moments.of(data)` returns the same sum as a new object. If an error is raised, the moments
        are unchanged. The method `update` of a fit returns another fit.

        Parameters
        ----------
        data : table or source of tables
            A table with the same columns. Levels of categories, centres and other values of the formula are
            not estimated again.
        weights : column name or (n,) array, optional
            Frequency weights: a weight of 3 stands for three identical rows. By default the column
            that was named for the first table.
        na_action : {"drop", "raise"}
            Whether rows with a missing value are dropped and counted, or are an error.

        Raises
        ------
        DataError
            A column is missing; the first table did not have a category; a class is not among `levels=`; or
            weights are missing, and the first table had an array of weights.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> total = discrim.moments("species ~ .", iris[:120])
        >>> total.update(iris[120:])
        >>> total
        Moments of 'species ~ .': 150 rows of 3 classes, 4 columns
        """
        total = self + self.of(data, weights=weights, na_action=na_action)
        for dataclass_field in fields(self):
            setattr(self, dataclass_field.name, getattr(total, dataclass_field.name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to a file, whole or not at all; `discrim.load` reads it.

        Parameters
        ----------
        path : str or path
            The file to write; a file that is already there is replaced.

        Raises
        ------
        UnwritableFileError
            The folder does not exist, the disk is full, or another error of the operating system occurred.
            An existing file is not changed.

        Examples
        --------
        >>> import tempfile, discrim
        >>> iris = discrim.datasets.load_iris()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     discrim.moments("species ~ .", iris[:100]).save(f"{folder}/monday")
        ...     discrim.load(f"{folder}/monday")
        Moments of 'species ~ .': 100 rows of 2 classes, 4 columns
        """
        counts = self._level_counts
        about = {
            "model": MOMENTS_NAME,
            "design": self._design.to_dict(),
            "scatters": self._scatters,
            "levels_given": self._levels_given,
            "dropped": self.dropped,
            "weighted": self._weighted,
            "weights": self._weights,
            "decayed": self._decayed,
        }
        buffers = fit_file.moment_arrays(self._moments) | {
            "tables": np.concatenate([np.zeros((len(self._design.levels), 0)), *counts.tables], axis=1),
            "sizes": np.array([table.shape[1] for table in counts.tables], dtype=np.float64),
            "negative": counts.negative.astype(np.float64),
        }
        read = partial(moments_from_file, functions=self._functions)
        refusal = "The moments cannot be saved, because their file could not be loaded"
        fit_file.write_loadable(path, about, buffers, read, refusal, "Pickle them, or store the tables.")

    def __add__(self, other: Any) -> Moments:
        """Moments of the rows of both, over the classes of both.

        Raises
        ------
        DataError, FormulaError
            The moments have different options or designs, or the order of their classes is ambiguous.
        """
        if not isinstance(other, Moments):
            return NotImplemented
        self._raise_if_other_scatters(other)
        levels = _common_levels(self._design, other._design)
        labels = self._design.labels if self._design.labels == other._design.labels else None
        a = self._extend_to_classes(levels)
        b = other._extend_to_classes(levels)
        return replace(
            self,
            _design=replace(self._design, levels=levels, labels=labels),
            _moments=merge_rescaled(a._moments, b._moments),
            _level_counts=a._level_counts.merge(b._level_counts),
            dropped=self.dropped + other.dropped,
            _levels_given=self._levels_given or other._levels_given,
            _weighted=self._weighted or other._weighted,
            _decayed=self._decayed or other._decayed,
        )

    def __mul__(self, factor: Any) -> Moments:
        """Moments with the weight of each row multiplied by a positive number; means do not change.

        Raises
        ------
        DataError
            The factor is not a positive number, or the weight of a class would underflow or overflow.
        """
        if not isinstance(factor, numbers.Real) or isinstance(factor, bool | np.bool_):
            return NotImplemented
        weight = float(factor)
        if not 0 < weight < np.inf:
            raise DataError(
                f"Moments cannot be multiplied by {weight:g}.",
                hint="Use a positive number, such as 0.99 * moments.",
            )
        if weight == 1:
            return self
        sums = self._moments.multiply_weights(weight)
        tables = tuple(weight * table for table in self._level_counts.tables)
        is_out_of_range = (sums.rows > 0) & ~(
            (sums.counts >= MIN_CLASS_WEIGHT) & (sums.counts < 1 / MIN_CLASS_WEIGHT)
        )
        if is_out_of_range.any():
            k = int(np.argmax(is_out_of_range))
            raise DataError(
                f"After multiplication by {weight:g}, class {format_value(self._design.levels[k])} would "
                f"have the sum of weights {sums.counts[k]:g}, which is out of range.",
                hint="Subtract the rows of the class with -, or compute the moments again.",
                classes=(self._design.levels[k],),
            )
        counts = replace(self._level_counts, tables=tables)
        return replace(self, _moments=sums, _level_counts=counts, _decayed=True)

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Moments:
        """Moments without the rows of other moments, which were added before, for example of one day.

        The absolute error of a remaining sum of squares is about 4e-15 W (1 + sqrt(n_2/n_1)), for a total sum
        of squares W, n_2 removed rows and n_1 remaining rows. Classes without remaining rows are dropped,
        unless they were declared by `levels=` or by a categorical response.

        Raises
        ------
        DataError
            The other moments have rows, weights or a class that are not part of these moments, or another
            option `scatters`.
        FormulaError
            The moments have different designs.
        NotSupportedError
            A remaining variance is lost in rounding errors; the message names class and column.
        """
        if not isinstance(other, Moments):
            return NotImplemented
        self._raise_if_other_scatters(other)
        _raise_if_different_designs(self._design, other._design)
        subtracted = other._without_empty_classes()
        levels = self._design.levels
        unknown = [label for label in subtracted._design.levels if label not in levels]
        if unknown:
            raise DataError(
                f"Unknown class {join_labels(unknown)} in the subtracted moments. The classes are "
                f"{join_labels(levels)}.",
                hint="Subtract only moments that were added.",
                classes=unknown,
            )
        if other.dropped > self.dropped:
            raise DataError(
                f"The subtracted moments have {other.dropped} dropped rows, and the total has only "
                f"{self.dropped}.",
                hint="Subtract only moments that were added.",
            )
        subtracted = subtracted._extend_to_classes(levels)
        counts = self._level_counts.subtract(subtracted._level_counts)
        remainder = subtract_moments(
            self._moments, subtracted._moments, constant_values_by_class(self._design, counts.tables)
        )
        sums = _validated_remainder(remainder, counts, self._design)
        less = replace(self, _moments=sums, _level_counts=counts, dropped=self.dropped - other.dropped)
        labels = self._design.labels
        # The classes of a text response are the observed ones: classes without remaining rows are dropped.
        return less if self._levels_given or (labels and labels.categories) else less._without_empty_classes()

    def __radd__(self, other: Any) -> Moments:
        # sum() starts at 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _raise_if_other_scatters(self, other: Moments) -> None:
        """Raise DataError if other moments were computed with another option `scatters`."""
        if self._scatters != other._scatters:
            raise DataError(
                f'The moments have different options scatters="{self._scatters}" and "{other._scatters}".',
                hint="Compute both with the same scatters=.",
            )

    def _extend_to_classes(self, levels: tuple[Any, ...]) -> Moments:
        """Return the moments over the classes `levels`, in this order, which have to include all present.

        A class that was not present has zero rows. The moments are returned unchanged for their own classes.
        """
        if levels == self._design.levels:
            return self
        position = np.array([levels.index(label) for label in self._design.levels], dtype=np.intp)
        by_class = self._scatters != "pooled"
        return replace(
            self,
            _design=replace(self._design, levels=levels),
            _moments=extend_to_classes(self._moments, position, len(levels), by_class=by_class),
            _level_counts=self._level_counts.extend_to_classes(position, len(levels)),
        )

    def _without_empty_classes(self) -> Moments:
        """Return the moments of the classes with rows; unchanged if all classes are empty."""
        keep = np.flatnonzero(self._moments.rows > 0)
        if len(keep) in (0, len(self._design.levels)):
            return self
        return replace(
            self,
            _design=replace(self._design, levels=tuple(self._design.levels[k] for k in keep)),
            _moments=self._moments.select_classes(keep),
            _level_counts=self._level_counts.select_classes(keep),
        )

    def _with_declared_classes(self, levels: tuple[Any, ...]) -> Moments:
        """Return the moments over the classes `levels`, as if `levels=` had declared them.

        Tables that are added later cannot have other classes. `levels` has to include all present classes.
        """
        expanded = self._extend_to_classes(levels)
        return replace(expanded, _design=_complete_label_categories(expanded._design), _levels_given=True)

    @property
    def _has_weighted_counts(self) -> bool:
        """Whether the counts are sums of weights instead of numbers of rows."""
        return self._weighted or self._decayed

    def __repr__(self) -> str:
        rows = f"{round(self.nobs, 2):,} rows of {len(self.classes)} classes" if self.nobs else "no rows"
        return f"Moments of {self.formula!r}: {rows}, {len(self.terms)} column{'s' * (len(self.terms) > 1)}"

    def _repr_html_(self) -> str:
        from discrim.report.grid import Section
        from discrim.report.tables import Summary

        sections = {
            "counts": Section("Rows by class", self.counts.to_frame(), "count", source=".counts"),
            "means": Section("Means", self.means.rename_axis(index=None), source=".means"),
        }
        return Summary(repr(self), sections).shortened().as_html()


def _raise_if_different_designs(a: Design, b: Design) -> None:
    """Raise FormulaError, which names the difference, unless two designs have equal columns and transforms.

    Classes, the text of the formula, and the dtype of the labels may differ.
    """
    bare_a, bare_b = (
        replace(design, levels=(), formula="", labels=None, plain_booleans=()) for design in (a, b)
    )
    if bare_a != bare_b:
        if a.response != b.response or (a.formula != b.formula and {*a.terms} != {*b.terms}):
            reason = f"their formulas are {a.formula!r} and {b.formula!r}"
        elif a.terms != b.terms:
            other = sorted({*a.terms} ^ {*b.terms}) or ["the same columns in another order"]
            reason = f"their columns differ: {join_labels(other)}"
        else:
            reason = "categories or transforms were estimated separately from each table"
        raise FormulaError(
            f"These moments cannot be combined: {reason}.",
            hint="Compute the second from the first: first.of(data).",
        )


def _common_levels(a: Design, b: Design) -> tuple[Any, ...]:
    """Return the classes of two designs in a common order.

    It is the order of the design with more classes if this contains the others in the same order, else
    ascending if both designs are sorted. Raises FormulaError if the designs differ otherwise, and DataError
    if the common order is ambiguous.
    """
    _raise_if_different_designs(a, b)
    short, long = sorted((a.levels, b.levels), key=len)
    if tuple(label for label in long if label in short) == short:
        return long
    try:
        if all(list(levels) == sorted(levels) for levels in (a.levels, b.levels)):
            return tuple(sorted({*a.levels, *b.levels}))
    except TypeError:
        pass
    raise DataError(
        f"The common order of the classes {join_labels(a.levels)} of the first and {join_labels(b.levels)} "
        "of the second moments is ambiguous.",
        hint="Pass levels= for both.",
    )


def _complete_label_categories(design: Design) -> Design:
    """Return a design whose label dtype, if it is categorical, has a category for each class.

    Missing categories are added at the end.
    """
    labels = design.labels
    if labels is None or labels.categories is None or set(design.levels) <= set(labels.categories):
        return design
    more = (level for level in design.levels if level not in labels.categories)
    return replace(design, labels=replace(labels, categories=(*labels.categories, *more)))


def _validated_remainder(remainder: Remainder, counts: LevelCounts, design: Design) -> ClassMoments:
    """Return the moments that remain after a subtraction.

    Raises DataError if the subtracted rows are not a subset, and NotSupportedError if a variance is lost in
    rounding errors.

    Parameters
    ----------
    remainder : Remainder
        Result of the subtraction: the moments, or the problem with its class and column.
    counts : LevelCounts
        Remaining counts of levels, which must not be negative (DataError).
    design : Design
        Names of classes and columns for messages.

    Returns
    -------
    ClassMoments
        `remainder.moments`.
    """
    k, j = remainder.position
    class_text = f"class {format_value(design.levels[k])}" if k >= 0 else "all classes"
    column = repr(design.terms[j]) if j >= 0 else ""
    match remainder.fault:
        case "rows":
            raise DataError(
                f"The subtracted moments have more rows of {class_text} than the total.",
                hint="Subtract only moments that were added.",
            )
        case "weights":
            raise DataError(
                f"The numbers of rows and the weights of {class_text} do not match: rows without weight, "
                "or weight without rows, would remain.",
                hint="Subtract only moments that were added, or compute the moments of the remaining rows.",
            )
        case "means" | "squares":
            problem = "another mean" if remainder.fault == "means" else "larger squares"
            raise DataError(
                f"The subtracted rows of {class_text} are not part of the total: column {column} has "
                f"{problem} than possible.",
                hint="Subtract only moments that were added.",
            )
        case "digits":
            raise NotSupportedError(
                f"The remaining variance of column {column} in {class_text} is lost in rounding errors, "
                "because it is small compared with the subtracted rows.",
                hint="Compute the moments of the remaining rows.",
            )
    if remainder.moments is None or any((np.asarray(table) < 0).any() for table in counts.tables):
        raise DataError(
            "The subtracted moments have more rows of a level than the total.",
            hint="Subtract only moments that were added.",
        )
    return remainder.moments


def moments_of_rows(
    design_rows: DesignRows, na_action: NaAction, *, scatters: Scatters, levels_given: bool, weights: Any
) -> Moments:
    """Compute `Moments` of rows, including the counts of levels, in one pass.

    Parameters
    ----------
    design_rows : DesignRows
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    scatters : {"class", "pooled", "diagonal"}
        Which scatter matrices are computed.
    levels_given : bool
        Whether the user declared the classes by `levels=`.
    weights : str, array or None
        Argument of the user; if it is the name of a column, `Moments` stores it for later tables. The values
        of the weights are in `design_rows`.

    Returns
    -------
    Moments
        Its attribute `dropped` is the number of rows with a missing value. If there are any,
        `na_action="raise"` raises DataError.
    """
    check_word("na_action", na_action, NaAction)
    design_rows = replace(design_rows, design=_complete_label_categories(design_rows.design))
    design, factor_positions, sizes = append_level_positions(design_rows.design)
    blocks_with_positions = replace(design_rows, design=design)
    counted_blocks = CountedBlocks(
        blocks_with_positions, len(design.levels), len(design_rows.terms), factor_positions, sizes
    )

    def wrap(rows: Any) -> CountedBlocks:
        """Return the blocks of `design_rows`, or sparse blocks, which are counted during the pass."""
        # A pass over sparse rows passes its own blocks.
        counted_blocks.blocks = blocks_with_positions if rows is design_rows else rows
        return counted_blocks

    sums = class_moments(design_rows, scatters, wrap)
    dropped = blocks_with_positions.dropped or design_rows.dropped
    if dropped and na_action == "raise":
        design_rows.raise_if_missing()
    return Moments(
        design_rows.design, sums, counted_blocks.counts, scatters, levels_given, dropped,
        design_rows.has_weights,
        weights if isinstance(weights, str) else None, design_rows.functions,
    )  # fmt: skip


def moments_of_fit(fit: FittedModel[Any], scatters: Scatters) -> Moments | None:
    """Convert the moments in the estimates of a fit to `Moments`, without computing them again.

    The rows of the fit, if it has them, are read once to find columns with negative values.

    Parameters
    ----------
    fit : FittedModel
    scatters : {"class", "pooled", "diagonal"}
        Which scatter matrices are required.

    Returns
    -------
    Moments or None
        None if the estimates contain moments of another kind, if columns were dropped, divided by units or
        computed by the formula (for example from categories, whose levels have to be counted), or if a fit
        with rows dropped some of them or lacks the roots that nearly collinear columns require. The classes
        are declared, as by `levels=`.
    """
    design_rows = fit.design_rows
    estimates = fit.estimates
    sums = getattr(estimates, "unscaled", None) or estimates.moments
    if (
        not (design_rows.design.is_plain and isinstance(sums, ClassMoments) and sums.scatter_type == scatters)
        or design_rows.constant_terms
        or design_rows.collinear_terms
        or design_rows.column_units is not None
        or (fit.has_rows and design_rows.dropped)
        or (fit.has_rows and scatters != "diagonal" and sums.roots is None and requires_roots(sums))
    ):
        return None
    counted_blocks = CountedBlocks(
        design_rows, len(design_rows.design.levels), len(design_rows.terms), (), ()
    )
    counted_blocks.blocks = reading.used_sparse_rows(design_rows) or design_rows
    for _ in counted_blocks:
        pass
    return Moments(
        _complete_label_categories(design_rows.design), sums, counted_blocks.counts, scatters, True,
        design_rows.dropped, design_rows.has_weights, None, design_rows.functions,
    )  # fmt: skip


def moments_from_file(
    path: Path, description: dict[str, Any], tensors: dict[str, Floats], functions: Functions | None
) -> Moments:
    """Create the `Moments` from the contents of a file, with validation of every value.

    Raises DamagedFileError if a value is not valid or missing, and FormulaError if the formula is not
    allowed.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    description : dict of str to object
        Description in the file.
    tensors : dict of str to array
        Arrays in the file; the counts of levels are removed from it.
    functions : dict or None
        Functions that the formula calls, by name; a missing one raises DataError.
    """
    fit_file.check_values(path, description)
    if tuple(sorted(description)) != FILE_KEYS:
        unknown = sorted(set(description) ^ set(FILE_KEYS))
        raise damaged_file_error(
            path,
            f"parts of its description are unknown or missing: {', '.join(map(repr, unknown[:4]))}",
            "Compute the moments again.",
        )
    try:
        design = Design.from_dict(description["design"])
    except FormulaError:
        raise
    except fit_file.INCONSISTENCY_ERRORS as error:
        raise damaged_file_error(path, f"its description is incomplete ({error})") from None
    scatters = description["scatters"]
    weights = description["weights"]
    dropped = description["dropped"]
    decayed = description["decayed"]
    flags = {type(flag) for flag in (description["levels_given"], description["weighted"], decayed)}
    if scatters not in get_args(Scatters) or flags != {bool}:
        raise damaged_file_error(path, "its description is not a description of moments")
    if type(dropped) is not int or not 0 <= dropped <= fit_file.MAX_DROPPED_ROWS:
        raise damaged_file_error(path, "its number of dropped rows is not valid")
    if not (weights is None or (isinstance(weights, str) and description["weighted"])):
        raise damaged_file_error(path, "its weights are not the name of a column")
    fit_file.raise_if_missing_functions(design, functions)
    counts = _read_level_counts(path, tensors, design)
    sums = fit_file.validated_moments(
        path, tensors, len(design.levels), len(design.terms), scatters, singular=True, constant=True,
        weighted=description["weighted"] or decayed, is_partial=True,
    )  # fmt: skip
    for table in counts.tables:
        if not np.allclose(table.sum(axis=1), sums.counts, rtol=1e-9):
            raise damaged_file_error(path, "its counts of levels do not match its rows")
    return Moments(
        design, sums, counts, scatters, description["levels_given"], dropped, description["weighted"],
        weights,
        dict(functions or {}), decayed,
    )  # fmt: skip


def _read_level_counts(path: Path, tensors: dict[str, Floats], design: Design) -> LevelCounts:
    """Create and validate the counts of levels; their arrays are removed from `tensors`.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    tensors : dict of str to array
        Arrays "tables" (K, sum of sizes: counts of the levels of all factors side by side), "sizes" (numbers
        of levels, one for each factor) and "negative" (p, 0 or 1: columns with a negative value), among
        others.
    design : Design

    Returns
    -------
    LevelCounts
        Without tables for moments of published statistics, which lack counts of levels.

    Raises
    ------
    DamagedFileError
        An array is missing, or its shape or values do not match the design.
    """
    try:
        tables, sizes, negative = (tensors.pop(key) for key in ("tables", "sizes", "negative"))
        _, _, level_sizes = append_level_positions(design)
    except (*fit_file.INCONSISTENCY_ERRORS, DataError, FormulaError) as error:
        raise damaged_file_error(path, f"its counts of levels are incomplete ({error})") from None
    is_valid = negative.shape == (len(design.terms),) and are_integers(negative, 0, 1)
    # Moments of published statistics lack counts of levels.
    if not is_valid or sizes.ndim != 1 or tuple(sizes.tolist()) not in ((), tuple(map(float, level_sizes))):
        raise damaged_file_error(path, "its counts of levels do not match its columns")
    if tables.shape != (len(design.levels), int(sizes.sum())) or not (tables >= 0).all():
        raise damaged_file_error(path, "its counts of levels are not valid")
    level_tables = np.split(tables, np.cumsum(sizes.astype(np.intp)), axis=1)[: len(sizes)]
    return LevelCounts(tuple(map(np.ascontiguousarray, level_tables)), negative.astype(bool))
