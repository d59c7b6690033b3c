"""Marginal effects: what the probabilities of classes change by where a column of the table does."""

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
from discrim.core.rules.rules import logs_of_prior
from discrim.design.blocks import Blocks
from discrim.design.levels import Unseen
from discrim.design.rows import used_codes
from discrim.design.slopes import Changing, category_of
from discrim.errors import DataError
from discrim.formula.factors import RowRange, recall_functions
from discrim.inference.error_rates import check_level
from discrim.inference.log_odds import lengths
from discrim.models.base.fit import FittedModel, Gaps
from discrim.models.base.reading import check_flag, check_word, listed, told
from discrim.models.regression.logistic_search import refuse_no_maximum

AveragedAt = Literal["overall", "mean"]
SLOPE = "dy/dx"
"""What the effect of a column of numbers is called."""

ROWS = 4096
"""Rows of a formula's columns that are made at once."""


class Change(NamedTuple):
    """One line of the table: a column, and the values between which it changes; None of a slope."""

    column: str
    first: Any = None
    then: Any = None

    @property
    def words(self) -> str:
        """As the table names it."""
        return SLOPE if self.then is None else f"{self.then} - {self.first}"


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
    """Marginal effects with standard errors; see `LogisticResults.marginal_effects`."""
    values = dict(at) if isinstance(at, Mapping | pd.Series) else None
    if values is None:
        check_word("at", at, AveragedAt)
    check_flag("dummy", dummy)
    half = check_level(level)
    refuse_no_maximum(fit, "marginal_effects()")
    rows = _AveragedRows(fit, data, unseen, values)
    wanted = _wanted(columns, rows.names)
    survey = rows.survey()
    changes = [change for name in wanted for change in rows.changes(name, survey, dummy=dummy)]
    # What a given prior moves the log odds of the classes by, (K,).
    estimates = fit.estimates
    shift = np.zeros(len(fit.classes))
    if not estimates.estimated_prior:
        shift = logs_of_prior(fit.prior_values()) - np.log(estimates.counts / estimates.counts.sum())
    if isinstance(at, str) and at == "mean":
        return _table(fit, changes, rows.at_means(changes, survey, shift), 1.0, half)
    return _table(fit, changes, rows.overall(changes, shift), survey.total, half)


def _table(
    fit: FittedModel[LogisticFit], changes: list[Change], effects: list[Effect], total: float, half: float
) -> pd.DataFrame:
    estimates = fit.estimates
    root = estimates.root_in_frame()
    known = estimates.constants_known()
    p1 = len(estimates.newton.coef)
    # Of two classes one is what the other lacks.
    classes = estimates.others if len(fit.classes) == 2 else list(range(len(fit.classes)))
    lines = []
    index = []
    for k in classes:
        for change, effect in zip(changes, effects, strict=True):
            jacobian = effect.jacobian[k] / total
            variance = float(lengths((root @ jacobian)[:, None])[0]) ** 2
            constants = jacobian[::p1]
            variance += float(constants @ known @ constants)
            lines.append((effect.total[k] / total, np.sqrt(max(variance, 0.0))))
            index.append((fit.classes[k], change.column, change.words))
    labels = pd.MultiIndex.from_tuples(index, names=["class", "column", "change"])
    table = pd.DataFrame(lines, index=labels, columns=["estimate", "se"])
    with np.errstate(divide="ignore", invalid="ignore"):
        table["z"] = table["estimate"] / table["se"]
    table["p"] = 2 * normal_sf(table["z"].abs())
    table["low"] = table["estimate"] - half * table["se"]
    table["high"] = table["estimate"] + half * table["se"]
    return table


def _wanted(columns: Any, names: list[str]) -> list[str]:
    if columns is None:
        return names
    wanted = [columns] if isinstance(columns, str) else columns
    if not isinstance(wanted, Sequence | pd.Index) or not len(wanted):
        raise DataError(
            f"columns={told(columns)} is not valid.",
            hint="Give names of columns, in a list, or None for all.",
        )
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise DataError(
            f"columns= names {listed(unknown)}, which the formula does not read.",
            hint=f"Name some of {listed(names)}.",
        )
    return list(dict.fromkeys(wanted))


def _with_values(fit: FittedModel[LogisticFit], blocks: Blocks, values: dict[Any, Any], gaps: Gaps) -> Blocks:
    """The rows with one value in each of some columns."""
    names = list(blocks.design.columns)
    unknown = [name for name in values if name not in names]
    if unknown or not values:
        what = f"names {listed(unknown)}, which the formula does not read" if unknown else "names no column"
        raise DataError(f"at= {what}.", hint=f"Give values of some of {listed(names)}.")
    blocks.rows.need_table(
        "marginal_effects() at given values needs a table in memory, and ",
        " is read part by part.",
        hint="Pass data= with some of the rows.",
    )
    table = blocks.table.frame(names)
    for name, value in values.items():
        if not pd.api.types.is_scalar(value) or pd.isna(value):
            raise DataError(
                f"at= gives {told(value)} for {name!r}.", hint="Give one value, and no missing one."
            )
        table[name] = value
    return fit.new_rows(table, gaps)


class _Survey(NamedTuple):
    """What a first pass tells of the rows: weight, columns of numbers, those of 0 and 1, and categories."""

    total: float
    means: dict[str, float]
    binary: set[str]
    shares: dict[int, Floats]


class _AveragedRows:
    """The rows over which effects are averaged: those of the fit, or of another table."""

    def __init__(
        self, fit: FittedModel[LogisticFit], data: Any, unseen: Unseen | None, values: dict[Any, Any] | None
    ) -> None:
        self._fit = fit
        self._numbers = fit.estimates
        self._of_fit = data is None
        if data is None:
            blocks = fit.rows("marginal_effects()", "pass data=")
        else:
            blocks = fit.new_rows(data, Gaps(unseen))
        # Which rows count, and how often, is told by those before values are put in their columns.
        self._counted = blocks
        self._blocks = blocks if values is None else _with_values(fit, blocks, values, Gaps(unseen))
        self._plain = blocks.design.spec is None
        self._functions = recall_functions(blocks.design.functions, blocks.functions)
        self.names = list(blocks.terms if self._plain else blocks.design.columns)
        if not self._plain:
            blocks.rows.need_table(
                "marginal_effects() of a formula that makes columns needs a table in memory, and ",
                " is read part by part.",
                hint="Pass data= with some of the rows.",
            )

    def _pieces(self) -> Iterator[tuple[Any, Floats]]:
        """Rows x (m, p) of a plain design, or those that a formula reads, and weights, piece by piece."""
        if self._plain:
            yield from self._plain_pieces()
            return
        blocks = self._blocks
        known = self._blocks.design.label_kinds
        used, weights = self._used()
        for start in range(0, blocks.table.nrows, ROWS):
            stop = min(start + ROWS, blocks.table.nrows)
            here = used[start:stop]
            if here.any():
                rows = RowRange(blocks.table, start, stop, None if here.all() else here, known)
                yield rows, weights[start:stop][here]

    def _used(self) -> tuple[Any, Floats]:
        """Which rows (n,) of the table count, and their weights."""
        blocks = self._blocks
        counted = self._counted
        if self._of_fit:
            weights = np.ones(counted.table.nrows) if counted.weights is None else counted.weights
            return used_codes(counted) >= 0, weights
        used = np.ones(blocks.table.nrows, dtype=bool)
        for place, _, missing in blocks.every_row():
            if missing is not None:
                used[place] = ~missing
        return used, np.ones(blocks.table.nrows)

    def _plain_pieces(self) -> Iterator[tuple[Any, Floats]]:
        k = len(self._fit.classes)
        q = len(self._numbers.others)
        m = max(marginal.PIECE // (k * q + len(self.names) + 1), 64)
        blocks = self._blocks
        counted = self._counted
        codes, weights = (used_codes(counted), counted.weights) if self._of_fit else (None, None)
        for place, x, missing in blocks.every_row():
            used = np.ones(len(x), dtype=bool) if missing is None else ~missing
            used = used if codes is None else used & (codes[place] >= 0)
            times = np.ones(len(x)) if weights is None else weights[place]
            if not used.all():
                x = x[used]
                times = times[used]
            for start in range(0, len(x), m):
                yield x[start : start + m], times[start : start + m]

    def survey(self) -> _Survey:
        """What a first pass tells."""
        total = 0.0
        sums = dict.fromkeys(self.names, 0.0)
        binary = set(self.names)
        centres: dict[str, float] = {}
        shares: dict[int, Floats] = {}
        for rows, weights in self._pieces():
            total += float(weights.sum())
            for j, name in enumerate(self.names):
                if not self._plain and rows.kind(name) not in {"numeric", "boolean"}:
                    binary.discard(name)
                    continue
                values = rows[:, j] if self._plain else rows.numbers(name)
                # From a value of their own, so that an offset costs no digits.
                first = centres.setdefault(name, float(values[0]))
                sums[name] += float((values - first) @ weights)
                if name in binary and not ((values == 0) | (values == 1)).all():
                    binary.discard(name)
            if not self._plain:
                sizes = Changing(self._blocks.design, rows, self._functions).category_shares(weights)
                shares = {i: shares.get(i, 0.0) + size for i, size in sizes.items()}
        if not total > 0:
            raise DataError(
                "No row of data= is complete, so there is nothing to average over.", hint="Give rows."
            )
        means = {name: first + sums[name] / total for name, first in centres.items()}
        return _Survey(total, means, binary, {i: size / total for i, size in shares.items()})

    def changes(self, name: str, survey: _Survey, *, dummy: bool) -> list[Change]:
        """How a column is made to change."""
        design = self._blocks.design
        levels = category_of(design, self._functions, name)
        if levels is not None:
            return [Change(name, levels[0], level) for level in levels[1:]]
        if name in design.boolean_columns:
            return [Change(name, False, True)]
        if dummy and name in survey.binary:
            return [Change(name, 0, 1)]
        return [Change(name)]

    def overall(self, changes: list[Change], shift: Floats) -> list[Effect]:
        """The effects summed over the rows."""
        sums: list[Effect] = []
        with Progress(0, "marginal effects") as progress:
            for rows, weights in self._pieces():
                effects = list(self._of_piece(rows, changes, shift, weights))
                sums = [a.plus(b) for a, b in zip(sums, effects, strict=True)] if sums else effects
                progress(len(weights))
        return sums

    def _of_piece(self, rows: Any, changes: list[Change], shift: Floats, weights: Floats) -> Iterator[Effect]:
        if not self._plain:
            changing = Changing(self._blocks.design, rows, self._functions)
            return self._of_changing(changing, changes, shift, weights)
        frame = self._numbers.frame

        def moved(j: int, value: float) -> Floats:
            """The rows in the frame, with one value in a column."""
            others = np.array(rows)
            others[:, j] = value
            return frame.columns(others)

        return self._of_plain(frame.columns(rows), moved, changes, shift, weights)

    def _of_plain(
        self,
        z: Floats,
        moved: Callable[[int, float], Floats],
        changes: list[Change],
        shift: Floats,
        weights: Floats,
    ) -> Iterator[Effect]:
        """Effects of columns as they stand in the table; z are rows in the frame, where they may be moved."""
        for change in changes:
            j = self.names.index(change.column)
            if change.then is None:
                yield marginal.slope(self._numbers, z, self._unit(j), shift, weights)
            else:
                first = moved(j, float(change.first))
                then = moved(j, float(change.then))
                yield marginal.difference(self._numbers, first, then, shift, weights)

    def _of_changing(
        self, changing: Changing, changes: list[Change], shift: Floats, weights: Floats
    ) -> Iterator[Effect]:
        fit = self._numbers
        frame = self._numbers.frame
        keep = slice(None) if self._blocks.keep is None else list(self._blocks.keep)
        z = frame.columns(changing.at({})[:, keep])
        levels: dict[tuple[str, Any], Effect] = {}
        for change in changes:
            if change.then is None:
                slopes = changing.slope(change.column)[:, keep]
                turned = frame.covariance.whiten((slopes * frame.scale).T)
                yield marginal.slope(fit, z, turned, shift, weights)
                continue
            for value in (change.first, change.then):
                if (change.column, value) not in levels:
                    moved = frame.columns(changing.at({change.column: value})[:, keep])
                    levels[change.column, value] = marginal.level(fit, moved, shift, weights)
            yield levels[change.column, change.then].less(levels[change.column, change.first])

    def _unit(self, j: int) -> Floats:
        """What a row of the frame changes by, (p, 1), for one unit of a column."""
        frame = self._numbers.frame
        unit = np.zeros((len(frame.scale), 1))
        unit[j] = frame.scale[j]
        return np.asarray(frame.covariance.whiten(unit))

    def at_means(self, changes: list[Change], survey: _Survey, shift: Floats) -> list[Effect]:
        """The effects on a row whose columns are at their means."""
        one = np.ones(1)
        if not self._plain:
            nothing = RowRange(self._blocks.table, 0, 0)
            changing = Changing(
                self._blocks.design, nothing, self._functions, means=survey.means, shares=survey.shares
            )
            return list(self._of_changing(changing, changes, shift, one))
        means = np.array([survey.means[name] for name in self.names])
        z = np.zeros((len(means) + 1, 1))
        z[0] = 1.0
        if not self._of_fit:
            z = self._numbers.frame.columns(means[None, :])

        def moved(j: int, value: float) -> Floats:
            """The row of means in the frame, with one value in a column."""
            other = z.copy()
            other[1:] += (value - means[j]) * self._unit(j)
            return other

        return list(self._of_plain(z, moved, changes, shift, one))
