"""Rows of a linear model that are permuted, and permutation tests of the statistics of `manova`.

Rows exchange places as `within=` and `groups=` state; see `discrim.inference.distance_tests`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import constant_columns
from discrim.core.moments.moments import gather
from discrim.core.numerics.arrays import Codes, Floats, Mask
from discrim.data.table import Table
from discrim.design.linear_model import model_rows
from discrim.design.rows import used_codes
from discrim.errors import DataError, NotSupportedError
from discrim.inference import distance_tests as core
from discrim.inference.distance_tests import Directions, RowShuffle
from discrim.inference.manova import MCKEON, STATISTICS, LeastSquares, TestType, spans
from discrim.inference.resampling import drawn_seed, mixed_unit
from discrim.models.base import reading
from discrim.models.base.reading import (
    NaAction,
    check_whole,
    listed,
    told,
)
from discrim.models.evaluation.permuted import MOST, called, numbered
from discrim.models.linear_model.term_model import TermModel, over_units, shifted_columns

PERMUTATIONS = 999
"""Default number of permutations."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelRows:
    """Rows of a linear model that are permuted.

    Attributes
    ----------
    model : TermModel
        The model, without responses. Its estimates contain the rows x (n, m), with the constant first.
    y : (n, p) float
        Responses.
    positions : (n,) int
        Positions of the rows in the table.
    """

    model: TermModel
    y: Floats
    positions: Codes

    @property
    def table(self) -> Table:
        """The table that the rows were read from."""
        table: Table = self.model.design_rows.table
        return table

    @property
    def index(self) -> pd.Index:
        """Labels (n,) of the rows."""
        return self.table.index[self.positions]

    def label(self, row: int) -> Any:
        """Label of a row in the table."""
        return self.table.label(int(self.positions[row]))

    def directions(self, kind: TestType) -> Directions:
        """Return the directions of the terms; raise NotSupportedError for type III and cells without rows."""
        numbers = self.model.estimates
        for term in range(len(numbers.groups)) if kind == 3 else ():
            self.model.hypothesis(term, kind)
        found = Directions.of(numbers.x, numbers.groups, numbers.factors, kind)
        if found.df < 1:
            raise DataError(
                f"{len(self.positions)} rows and a model of {len(found.whole) + 1} columns leave no degrees "
                "of freedom for the residuals.",
                hint="Leave out terms.",
            )
        return found

    def label_codes(self, vector: Any, option: str) -> Codes | None:
        """Return a code (n,) for the label that each row has in an option; None if it was not passed."""
        if vector is None:
            return None
        is_used = np.zeros(self.table.nrows, dtype=bool)
        is_used[self.positions] = True
        codes = numbered(vector, self.table, option, is_used)[self.positions]
        return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.intp)

    def shuffle(self, cells: Codes, exchange: Exchange) -> tuple[RowShuffle, str]:
        """Return the permutations of the rows, and their description.

        Parameters
        ----------
        cells : (n,) int
            Rows of one cell have equal rows of the design.
        exchange : Exchange
            Blocks and groups of the permutations.
        """
        groups = exchange.groups
        within = exchange.within
        units = self.label_codes(groups, "groups")
        blocks = self.label_codes(within, "within")
        if units is not None and blocks is not None and mixed_unit(blocks, units) is not None:
            raise DataError(
                f"A group of groups={called(groups)} has rows in two blocks of within={called(within)}: "
                "whole groups exchange places within blocks.",
                hint="Leave out within=, or give each group one block.",
            )
        if units is not None:
            self._need_equal(units, groups)
        found = RowShuffle.of(cells, units, blocks)
        if found.labellings() < 2:
            where = "" if within is None else f" within {called(within)}"
            raise DataError(
                f"Every shuffle{where} gives the rows that were seen, because the model does not tell "
                "apart what is exchanged.",
                hint=(
                    "Leave out within=, or, where whole groups are alike, pass them as groups= in its place."
                ),
            )
        words = "rows" if units is None else f"whole groups of {called(groups)}"
        return found, words if within is None else f"{words} within {called(within)}"

    def unchanged_terms(self, shuffle: RowShuffle) -> Mask:
        """Return which terms (t,) no permutation changes."""
        return shuffle.fixed(self.model.estimates.x, self.model.estimates.groups)

    def _need_equal(self, units: Codes, groups: Any) -> None:
        sizes = np.bincount(units)
        if len(set(sizes.tolist())) > 1:
            small = int(sizes.argmin())
            large = int(sizes.argmax())
            rows = [self.label(int(np.argmax(units == unit))) for unit in (small, large)]
            raise DataError(
                f"The groups of groups={called(groups)} have different numbers of rows, {sizes[small]} "
                f"with row {rows[0]!r} and {sizes[large]} with row {rows[1]!r}, so that they cannot "
                "exchange places.",
                hint="Give groups of one size, or a table with one row, such as the mean, for each group.",
                rows=(rows[0], rows[1]),
            )


def rows_to_permute(
    formula: str,
    data: Any,
    *,
    weights: Any,
    na_action: NaAction,
    functions: Mapping[str, Callable[..., Any]] | None,
    responses: bool = True,
) -> ModelRows:
    """Read the rows of a linear model into memory, each as often as its weight says.

    Parameters
    ----------
    formula, data, weights, na_action, functions
        As in `permanova`.
    responses : bool
        Whether the formula names responses; a model of distances has none.
    """
    why = "Permutations exchange rows in memory, and"
    blocks, terms = model_rows(
        formula,
        data,
        weights=weights,
        functions=functions,
        responses=responses,
        in_memory=why,
    )
    m = sum(len(term.columns) for term in terms)
    if responses and len(blocks.terms) <= m:
        raise DataError(
            f"The formula {formula!r} has no response.",
            hint="Name a column on its right side, or pass a table of distances as distance=.",
        )
    times = 0.0 if blocks.weights is None else float(np.nansum(blocks.weights))
    reading.refuse_large(blocks, "Permutations exchange rows", times=times)
    if blocks.weighted and not blocks.rows.has_whole_weights():
        raise NotSupportedError(
            "Permutations exchange rows.",
            hint="Give weights that are whole numbers, which stand for so many rows.",
        )
    parts = [np.zeros((0, len(blocks.terms)))]
    for rows, _, own in blocks:
        # After the last block it is known how many rows miss a value.
        parts.append(rows.copy() if own is None else np.repeat(rows, own.astype(np.intp), axis=0))
    if blocks.dropped and na_action == "raise":
        blocks.refuse_missing()
    x = np.concatenate(parts)
    at = np.flatnonzero(used_codes(blocks) >= 0)
    if blocks.weights is not None:
        at = np.repeat(at, blocks.weights[at].astype(np.intp))
    if len(x) < 2:
        raise DataError(
            f"{len(x)} rows are left without those that miss a value in one of "
            f"{listed(blocks.design.columns)}, so that none can exchange places.",
            hint="Fill values, or leave columns out.",
        )
    shifted = shifted_columns(terms, len(blocks.terms))[:m]
    origin = np.where(shifted, x[:, :m].mean(axis=0), 0.0)
    own_x, unit = over_units(np.hstack([np.ones((len(x), 1)), x[:, :m] - origin]))
    groups = tuple(tuple(1 + column for column in term.columns) for term in terms)
    none = np.zeros((0, 0))
    rank = sum(basis.shape[1] for basis in spans(own_x, [range(m + 1)]))
    factors = tuple(term.factors for term in terms)
    numbers = LeastSquares(own_x, np.zeros((len(x), 0)), groups, factors, none, float(len(x) - rank), rank)
    model = TermModel(blocks, tuple(terms), numbers, np.zeros(0), unit[1:], origin, float(len(x)))
    return ModelRows(model, x[:, m:], at)


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """How rows are permuted.

    Attributes
    ----------
    permutations : int
        Largest number of permutations.
    seed : int
    within, groups : column name or (n,) array, optional
        Blocks within which rows are permuted, and groups of rows that are permuted as a whole.
    """

    permutations: int
    seed: int
    within: Any
    groups: Any

    @classmethod
    def read(cls, permutations: Any, seed: Any, within: Any, groups: Any) -> Exchange:
        """Validate the options of a verb."""
        check_whole("permutations", permutations, 1, MOST, also=", such as 999")
        if not (seed is None or (reading.is_whole(seed) and seed >= 0)):
            raise DataError(
                f"seed={told(seed)} is not valid.", hint="Give a whole number from 0 on, or None."
            )
        return cls(int(permutations), drawn_seed(seed), within, groups)


STATISTIC_OF_ROW = {label: name for name, label in STATISTICS.items()} | {MCKEON: "hotelling-lawley"}
"""Names of the statistics, by the labels of rows of `manova_table`."""


def with_permutations(
    table: pd.DataFrame, rows: ModelRows, kind: TestType, exchange: Exchange, term: str | None
) -> pd.DataFrame:
    """Add p-values by permutation to a table of multivariate tests.

    Parameters
    ----------
    table : DataFrame
        The four statistics, of one term or of all terms.
    rows : ModelRows
    kind : {1, 2, 3}
        Type of the sums of squares.
    exchange : Exchange
    term : str or None
        The term of a table of one term.
    """
    directions = rows.directions(kind)
    found, _ = rows.shuffle(directions.cells, exchange)
    orders = found.drawn(exchange.permutations, exchange.seed)
    # The tests without permutations leave out constant responses, too.
    shape = {"n_classes": 1, "n_columns": rows.y.shape[1]}
    moments = gather([(rows.y, np.zeros(len(rows.y), dtype=np.intp), None)], **shape, spread="diagonal")
    varying = np.delete(rows.y, constant_columns(moments), axis=1)
    p = core.permuted_statistics(varying, directions, orders, exchange.permutations)
    p[rows.unchanged_terms(found)] = np.nan
    by_term = pd.DataFrame(p, index=rows.model.labels, columns=list(core.STATISTICS))
    statistic = [STATISTIC_OF_ROW[row] for row in table.index.get_level_values(-1)]
    if table.index.nlevels == 2:
        terms = list(table.index.get_level_values(0))
    else:
        terms = [rows.model.labels[rows.model.position(term)]] * len(table)
    added = [by_term.loc[each, name] for each, name in zip(terms, statistic, strict=True)]
    table.insert(list(table.columns).index("p") + 1, "p_permutation", added)
    return table
