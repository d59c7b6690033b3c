"""Marginal effects: change of the class probabilities when a column of the table changes.

`LogisticResults.marginal_effects` uses this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import normal_sf
from discrim.core.regression import row_diagnostics as marginal
from discrim.core.regression.logistic import LogisticFit
from discrim.core.regression.row_diagnostics import Effect
from discrim.core.rules.rules import log_of_prior
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.design.rows import used_codes
from discrim.design.slopes import ChangedDesign, category_levels
from discrim.errors import DataError
from discrim.formula.factors import RowRange, select_functions
from discrim.inference.error_rates import check_level
from discrim.inference.log_odds import column_norms
from discrim.models.base.fit import FittedModel, MissingPolicy
from discrim.models.base.reading import check_flag, check_word, format_argument, join_labels
from discrim.models.regression.logistic_search import raise_if_no_maximum

AveragedAt = Literal["overall", "mean"]
"""Whether effects are averaged over rows or computed at the means; see `LogisticResults.marginal_effects`."""

SLOPE_LABEL = "dy/dx"
"""Name of the effect of a column of numbers, a derivative."""

MAX_CHUNK_ROWS = 4096
"""Largest number of rows for which the columns of a formula are computed at once."""


class Change(NamedTuple):
    """A change of a column, one row of the table of marginal effects.

    Attributes
    ----------
    column : str
        Name of the column.
    first, second : object
        Values from and to which the column changes; None for a derivative.
    """

    column: str
    first: Any = None
    second: Any = None

    @property
    def label(self) -> str:
        """Label of the change in the table: "second - first", or `SLOPE_LABEL`."""
        return SLOPE_LABEL if self.second is None else f"{self.second} - {self.first}"


def marginal_effects(
    fit: FittedModel[LogisticFit],
    at: AveragedAt | Mapping[Any, Any] | pd.Series,
    data: Any,
    columns: Any,
    *,
    dummy: bool,
    level: float,
    unseen: Unseen | None,
) -> pd.DataFrame:
    """Table of marginal effects with standard errors; see `LogisticResults.marginal_effects`.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    at : {"overall", "mean"}, mapping or Series
        Rows or values at which the effects are computed.
    data : table or None
        Rows to average over; None for the rows of the fit.
    columns : str, list of str or None
        Columns that change; None for all.
    dummy : bool
        Whether columns of 0 and 1 change from 0 to 1.
    level : float
        Level of the intervals.
    unseen : {"raise", "missing"} or None
        Treatment of unseen levels.

    Returns
    -------
    DataFrame by (class, column, change)
        estimate, se, z, p, low, high; for two classes only the class that is not the reference.

    Raises
    ------
    DataError
        An option is not valid, the formula does not read a column, or no row is complete.
    NotSupportedError
        The fit lacks finite estimates, it lacks rows and `data` is None, a column cannot be changed in the
        formula, or the table is read in chunks although the formula computes columns or `at` has values.
    """
    values = dict(at) if isinstance(at, Mapping | pd.Series) else None
    if values is None:
        check_word("at", at, AveragedAt)
    check_flag("dummy", dummy)
    quantile = check_level(level)
    raise_if_no_maximum(fit, "marginal_effects()")
    rows = _AveragedRows(fit, data, unseen, values)
    names = _read_columns(columns, rows.names)
    statistics = rows.statistics()
    changes = [change for name in names for change in rows.changes(name, statistics, dummy=dummy)]
    # Shift (K,) of the log odds due to a prior other than the class proportions.
    estimates = fit.estimates
    shift = np.zeros(len(fit.classes))
    if not estimates.estimated_prior:
        shift = log_of_prior(fit.prior_values()) - np.log(estimates.counts / estimates.counts.sum())
    if isinstance(at, str) and at == "mean":
        return _effects_table(fit, changes, rows.effects_at_means(changes, statistics, shift), 1.0, quantile)
    return _effects_table(fit, changes, rows.summed_effects(changes, shift), statistics.total, quantile)


def _effects_table(
    fit: FittedModel[LogisticFit], changes: list[Change], effects: list[Effect], total: float, quantile: float
) -> pd.DataFrame:
    """Return the table of marginal effects with standard errors by the delta method.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    changes : list of Change
        The changes.
    effects : list of Effect
        Effect and Jacobian of each change, summed over the rows.
    total : float
        Weight of the rows, by which the sums are divided; 1 for the effects at the means.
    quantile : float
        Normal quantile of the level of the intervals.

    Returns
    -------
    DataFrame by (class, column, change)
        estimate, se, z, p (two-sided), low, high; for two classes only the class that is not the reference.
    """
    estimates = fit.estimates
    root = estimates.root_in_frame()
    constants_covariance = estimates.intercept_reduction()
    p1 = len(estimates.newton.coef)
    # With two classes the effects on one are the negative of the effects on the other.
    classes = estimates.others if len(fit.classes) == 2 else list(range(len(fit.classes)))
    estimate_rows = []
    index = []
    for k in classes:
        for change, effect in zip(changes, effects, strict=True):
            jacobian = effect.jacobian[k] / total
            variance = float(column_norms((root @ jacobian)[:, None])[0]) ** 2
            constants = jacobian[::p1]
            variance += float(constants @ constants_covariance @ constants)
            estimate_rows.append((effect.total[k] / total, np.sqrt(max(variance, 0.0))))
            index.append((fit.classes[k], change.column, change.label))
    labels = pd.MultiIndex.from_tuples(index, names=["class", "column", "change"])
    table = pd.DataFrame(estimate_rows, index=labels, columns=["estimate", "se"])
    with np.errstate(divide="ignore", invalid="ignore"):
        table["z"] = table["estimate"] / table["se"]
    table["p"] = 2 * normal_sf(table["z"].abs())
    table["low"] = table["estimate"] - quantile * table["se"]
    table["high"] = table["estimate"] + quantile * table["se"]
    return table


def _read_columns(columns: Any, existing_names: list[str]) -> list[str]:
    """Return the names of the columns that change, without repetition; None stands for all existing names.

    Raises DataError if `columns` is not a name or a nonempty list of existing names.
    """
    if columns is None:
        return existing_names
    requested = [columns] if isinstance(columns, str) else columns
    if not isinstance(requested, Sequence | pd.Index) or not len(requested):
        raise DataError(
            f"columns={format_argument(columns)} is not valid.",
            hint="Pass a list of column names, or None for all.",
        )
    unknown = [name for name in requested if name not in existing_names]
    if unknown:
        raise DataError(
            f"Unknown columns in columns=: {join_labels(unknown)}.",
            hint=f"Name some of {join_labels(existing_names)}.",
        )
    return list(dict.fromkeys(requested))


def _rows_with_values(
    fit: FittedModel[LogisticFit],
    design_rows: DesignRows,
    values: dict[Any, Any],
    missing_policy: MissingPolicy,
) -> DesignRows:
    """Return all rows of the table with fixed values in some columns, which also replace missing values.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    design_rows : DesignRows
        The rows.
    values : dict
        Value of each column that is replaced.
    missing_policy : MissingPolicy
        Treatment of unseen levels.

    Returns
    -------
    DesignRows
        The rows of the changed table, read by the design of the fit.

    Raises
    ------
    DataError
        `values` is empty, names a column that the formula does not read, or has a value that is missing or
        not a scalar.
    NotSupportedError
        The table is read in chunks.
    """
    names = list(design_rows.design.columns)
    unknown = [name for name in values if name not in names]
    if unknown or not values:
        problem = (
            f"names {join_labels(unknown)}, which the formula does not read" if unknown else "names no column"
        )
        raise DataError(f"at= {problem}.", hint=f"Pass values of some of {join_labels(names)}.")
    design_rows.rows.require_table(
        "marginal_effects() at given values needs a table in memory, and ",
        " is read part by part.",
        hint="Pass data= with some of the rows.",
    )
    table = design_rows.table.frame(names)
    for name, value in values.items():
        if not pd.api.types.is_scalar(value) or pd.isna(value):
            raise DataError(
                f"at= has an invalid value for {name!r}: {format_argument(value)}.",
                hint="Pass a single, nonmissing value.",
            )
        table[name] = value
    return fit.new_rows(table, missing_policy)


class _RowStatistics(NamedTuple):
    """Statistics of the rows from a first pass.

    Attributes
    ----------
    total : float
        Sum of the weights.
    means : dict of str to float
        Weighted means of the columns of numbers and truth values.
    binary : set of str
        Columns of numbers or truth values that contain only 0 and 1.
    level_proportions : dict of int to (levels,) float64
        Weighted proportions of the levels, by position of the categorical factor in `Spec.factors`; empty for
        a plain design.
    """

    total: float
    means: dict[str, float]
    binary: set[str]
    level_proportions: dict[int, Floats]


class _AveragedRows:
    """Rows over which effects are averaged, and the effects on them.

    A design without a `Spec`, whose columns are columns of the table, is called plain.

    Attributes
    ----------
    names : list of str
        Columns of the table that the formula reads.
    """

    def __init__(
        self, fit: FittedModel[LogisticFit], data: Any, unseen: Unseen | None, values: dict[Any, Any] | None
    ) -> None:
        """Read the rows.

        Parameters
        ----------
        fit : FittedModel
            The fitted model.
        data : table or None
            Rows to average over; None for the rows of the fit.
        unseen : {"raise", "missing"} or None
            Treatment of unseen levels.
        values : dict or None
            Values that replace columns in all rows.

        Raises
        ------
        DataError
            `values` is invalid.
        NotSupportedError
            The fit lacks rows and `data` is None, or a table is read in chunks although the design is not
            plain or `values` was passed.
        """
        self._fit = fit
        self._estimates = fit.estimates
        self._uses_fit_rows = data is None
        if data is None:
            design_rows = fit.require_rows("marginal_effects()", "pass data=")
        else:
            design_rows = fit.new_rows(data, MissingPolicy(unseen))
        # Weights and missing values are taken from the original rows, before columns are replaced.
        self._original_blocks = design_rows
        self._blocks = (
            design_rows
            if values is None
            else _rows_with_values(fit, design_rows, values, MissingPolicy(unseen))
        )
        self._is_plain = design_rows.design.spec is None
        self._functions = select_functions(design_rows.design.functions, design_rows.functions)
        self.names = list(design_rows.terms if self._is_plain else design_rows.design.columns)
        if not self._is_plain:
            design_rows.rows.require_table(
                "marginal_effects() of a formula that makes columns needs a table in memory, and ",
                " is read part by part.",
                hint="Pass data= with some of the rows.",
            )

    def _chunks(self) -> Iterator[tuple[Any, Floats]]:
        """Yield the averaged rows in pieces, with their weights (m,).

        The rows are arrays x (m, p) for a plain design, else a RowRange of the table.
        """
        if self._is_plain:
            yield from self._plain_chunks()
            return
        design_rows = self._blocks
        label_kinds = self._blocks.design.label_kinds
        used, weights = self._used_mask_and_weights()
        for start in range(0, design_rows.table.nrows, MAX_CHUNK_ROWS):
            stop = min(start + MAX_CHUNK_ROWS, design_rows.table.nrows)
            is_used = used[start:stop]
            if is_used.any():
                rows = RowRange(
                    design_rows.table, start, stop, None if is_used.all() else is_used, label_kinds
                )
                yield rows, weights[start:stop][is_used]

    def _used_mask_and_weights(self) -> tuple[Any, Floats]:
        """Return a mask (n,) of the rows of the table that are averaged, and their weights (n,).

        They are the rows that the fit used, or the complete rows of `data`, each with weight one.
        """
        design_rows = self._blocks
        counted = self._original_blocks
        if self._uses_fit_rows:
            weights = np.ones(counted.table.nrows) if counted.weights is None else counted.weights
            return used_codes(counted) >= 0, weights
        is_used = np.ones(design_rows.table.nrows, dtype=bool)
        for row_slice, _, missing in design_rows.iter_all_rows():
            if missing is not None:
                is_used[row_slice] = ~missing
        return is_used, np.ones(design_rows.table.nrows)

    def _plain_chunks(self) -> Iterator[tuple[Any, Floats]]:
        """Yield the rows x (m, p) of a plain design that are averaged, with their weights (m,).

        Rows of new data have weight one.
        """
        k = len(self._fit.classes)
        q = len(self._estimates.others)
        m = max(marginal.MAX_CHUNK_ELEMENTS // (k * q + len(self.names) + 1), 64)
        design_rows = self._blocks
        counted = self._original_blocks
        codes, weights = (used_codes(counted), counted.weights) if self._uses_fit_rows else (None, None)
        for row_slice, x, missing in design_rows.iter_all_rows():
            is_used = np.ones(len(x), dtype=bool) if missing is None else ~missing
            is_used = is_used if codes is None else is_used & (codes[row_slice] >= 0)
            row_weights = np.ones(len(x)) if weights is None else weights[row_slice]
            if not is_used.all():
                x = x[is_used]
                row_weights = row_weights[is_used]
            for start in range(0, len(x), m):
                yield x[start : start + m], row_weights[start : start + m]

    def statistics(self) -> _RowStatistics:
        """Collect weights, means, binary columns and proportions of levels in a first pass.

        Raises DataError if no row is complete.
        """
        total = 0.0
        sums = dict.fromkeys(self.names, 0.0)
        binary = set(self.names)
        centres: dict[str, float] = {}
        level_proportions: dict[int, Floats] = {}
        for rows, weights in self._chunks():
            total += float(weights.sum())
            for j, name in enumerate(self.names):
                if not self._is_plain and rows.column_type(name) not in {"numeric", "boolean"}:
                    binary.discard(name)
                    continue
                values = rows[:, j] if self._is_plain else rows.numbers(name)
                # Sum differences from the first value; a large offset would lose precision.
                first = centres.setdefault(name, float(values[0]))
                sums[name] += float((values - first) @ weights)
                if name in binary and not ((values == 0) | (values == 1)).all():
                    binary.discard(name)
            if not self._is_plain:
                sizes = ChangedDesign(self._blocks.design, rows, self._functions).level_weights(weights)
                level_proportions = {i: level_proportions.get(i, 0.0) + size for i, size in sizes.items()}
        if not total > 0:
            raise DataError(
                "No row of data= is complete, so averages are not defined.",
                hint="Pass rows without missing values.",
            )
        means = {name: first + sums[name] / total for name, first in centres.items()}
        return _RowStatistics(
            total, means, binary, {i: size / total for i, size in level_proportions.items()}
        )

    def changes(self, name: str, statistics: _RowStatistics, *, dummy: bool) -> list[Change]:
        """Return the changes of a column.

        Parameters
        ----------
        name : str
            The column.
        statistics : _RowStatistics
            Statistics of the rows.
        dummy : bool
            Whether columns of 0 and 1 change from 0 to 1.

        Returns
        -------
        list of Change
            For a category one from the first level to each other level; for truth values the change from
            False to True; for columns of 0 and 1, if `dummy` is true, the change from 0 to 1; else a
            derivative, whose `first` and `second` are None.
        """
        design = self._blocks.design
        levels = category_levels(design, self._functions, name)
        if levels is not None:
            return [Change(name, levels[0], level) for level in levels[1:]]
        if name in design.boolean_columns:
            return [Change(name, False, True)]
        if dummy and name in statistics.binary:
            return [Change(name, 0, 1)]
        return [Change(name)]

    def summed_effects(self, changes: list[Change], shift: Floats) -> list[Effect]:
        """Compute the effects of changes on the class probabilities, as weighted sums over the rows.

        Parameters
        ----------
        changes : list of Change
            Changes of one column each.
        shift : (K,) float64
            Amount added to the log odds of each class for the prior; zero for the class proportions.

        Returns
        -------
        list of Effect
            Sums for each change; divided by the total weight they are average effects.
        """
        sums: list[Effect] = []
        with Progress(0, "marginal effects") as progress:
            for rows, weights in self._chunks():
                effects = list(self._chunk_effects(rows, changes, shift, weights))
                sums = [a.add(b) for a, b in zip(sums, effects, strict=True)] if sums else effects
                progress(len(weights))
        return sums

    def _chunk_effects(
        self, rows: Any, changes: list[Change], shift: Floats, weights: Floats
    ) -> Iterator[Effect]:
        """Compute the effects of the changes, summed over a piece of the rows.

        Parameters
        ----------
        rows : (m, p) float64 or RowRange
            The rows, as `_chunks` yields them.
        changes : list of Change
            The changes.
        shift : (K,) float64
            Shift of the log odds due to the prior.
        weights : (m,) float64
            Weights of the rows.

        Returns
        -------
        iterator of Effect
            One for each change.
        """
        if not self._is_plain:
            changing = ChangedDesign(self._blocks.design, rows, self._functions)
            return self._formula_effects(changing, changes, shift, weights)
        frame = self._estimates.frame

        def with_value(j: int, value: float) -> Floats:
            """Return the rows in standard coordinates (p + 1, m), with the column j set to `value`."""
            others = np.array(rows)
            others[:, j] = value
            return frame.transform(others)

        return self._plain_effects(frame.transform(rows), with_value, changes, shift, weights)

    def _plain_effects(
        self,
        z: Floats,
        with_value: Callable[[int, float], Floats],
        changes: list[Change],
        shift: Floats,
        weights: Floats,
    ) -> Iterator[Effect]:
        """Compute the effects of columns that the formula uses without transformation.

        Parameters
        ----------
        z : (p + 1, m) float64
            Rows in the standard coordinates of `LogisticFit.frame`, the constant first.
        with_value : callable
            Function of a column and a value that returns z with this value in the column.
        changes : list of Change
            The changes.
        shift : (K,) float64
            Shift of the log odds due to the prior.
        weights : (m,) float64
            Weights of the rows.

        Yields
        ------
        Effect
            Summed over the rows, one for each change.
        """
        for change in changes:
            j = self.names.index(change.column)
            if change.second is None:
                yield marginal.slope_effect(self._estimates, z, self._unit_change(j), shift, weights)
            else:
                first = with_value(j, float(change.first))
                then = with_value(j, float(change.second))
                yield marginal.change_effect(self._estimates, first, then, shift, weights)

    def _formula_effects(
        self, changing: ChangedDesign, changes: list[Change], shift: Floats, weights: Floats
    ) -> Iterator[Effect]:
        """Compute the effects of columns through the terms of a formula.

        Parameters
        ----------
        changing : ChangedDesign
            Computes the columns of the formula for changed values.
        changes : list of Change
            The changes.
        shift : (K,) float64
            Shift of the log odds due to the prior.
        weights : (m,) float64
            Weights of the rows.

        Yields
        ------
        Effect
            Summed over the rows, one for each change.
        """
        fit = self._estimates
        frame = self._estimates.frame
        keep = slice(None) if self._blocks.kept_columns is None else list(self._blocks.kept_columns)
        z = frame.transform(changing.values_at({})[:, keep])
        levels: dict[tuple[str, Any], Effect] = {}
        for change in changes:
            if change.second is None:
                slopes = changing.slope(change.column)[:, keep]
                whitened_slopes = frame.covariance.whiten((slopes * frame.scale).T)
                yield marginal.slope_effect(fit, z, whitened_slopes, shift, weights)
                continue
            for value in (change.first, change.second):
                if (change.column, value) not in levels:
                    changed_columns = frame.transform(changing.values_at({change.column: value})[:, keep])
                    levels[change.column, value] = marginal.level_effect(fit, changed_columns, shift, weights)
            yield levels[change.column, change.second].subtract(levels[change.column, change.first])

    def _unit_change(self, j: int) -> Floats:
        """Return the change (p, 1) of a row in standard coordinates for one unit of column j."""
        frame = self._estimates.frame
        unit = np.zeros((len(frame.scale), 1))
        unit[j] = frame.scale[j]
        return np.asarray(frame.covariance.whiten(unit))

    def effects_at_means(
        self, changes: list[Change], statistics: _RowStatistics, shift: Floats
    ) -> list[Effect]:
        """Compute the effects on one row at the means of numbers and the proportions of categories.

        Parameters
        ----------
        changes : list of Change
            The changes.
        statistics : _RowStatistics
            Means and proportions.
        shift : (K,) float64
            Shift of the log odds due to the prior.

        Returns
        -------
        list of Effect
            One for each change, of weight one.
        """
        unit_weight = np.ones(1)
        if not self._is_plain:
            no_rows = RowRange(self._blocks.table, 0, 0)
            changing = ChangedDesign(
                self._blocks.design,
                no_rows,
                self._functions,
                means=statistics.means,
                level_proportions=statistics.level_proportions,
            )
            return list(self._formula_effects(changing, changes, shift, unit_weight))
        means = np.array([statistics.means[name] for name in self.names])
        z = np.zeros((len(means) + 1, 1))
        z[0] = 1.0
        if not self._uses_fit_rows:
            z = self._estimates.frame.transform(means[None, :])

        def with_value(j: int, value: float) -> Floats:
            """Return the row of means in standard coordinates (p + 1, 1), with column j set to `value`."""
            other = z.copy()
            other[1:] += (value - means[j]) * self._unit_change(j)
            return other

        return list(self._plain_effects(z, with_value, changes, shift, unit_weight))
