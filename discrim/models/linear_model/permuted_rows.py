"""Rows of a linear model in memory for permutation tests, and permutation p-values for `manova`.

`permanova` and `manova` read their rows here and validate the arguments of the permutations. The statistics
are computed in `discrim.inference.distance_tests`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
from discrim.inference.distance_tests import DesignPermutation, Directions
from discrim.inference.manova import MCKEON, STATISTICS, LeastSquares, TestType, orthonormal_bases
from discrim.inference.resampling import find_mixed_unit, seed_or_random
from discrim.models.base import reading
from discrim.models.base.reading import (
    NaAction,
    check_integer,
    format_argument,
    join_labels,
)
from discrim.models.evaluation.permuted import MAX_PERMUTATIONS, number_labels, quoted_name
from discrim.models.linear_model.term_model import TermModel, columns_to_shift, scale_by_powers_of_two

PERMUTATIONS = 999
"""Default number of permutations."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelRows:
    """The n rows of a linear model in memory.

    A row with weight w occurs w times.

    Attributes
    ----------
    model : TermModel
        The model, without responses. `model.estimates.x` is the full design matrix (n, m) and not a
        triangular factor; its columns are shifted and scaled, the constant first.
    y : (n, p) float
        Responses in their original units; p is 0 for a model of given distances.
    positions : (n,) int
        Positions of the rows in the table, repeated by weight.
    """

    model: TermModel
    y: Floats
    positions: Codes

    @property
    def table(self) -> Table:
        """Table from which the rows were read."""
        table: Table = self.model.design_rows.table
        return table

    @property
    def index(self) -> pd.Index:
        """Labels (n,) of the rows in the index of the table."""
        return self.table.index[self.positions]

    def label(self, row: int) -> Any:
        """Return the label of a row in the index of the table."""
        return self.table.label(int(self.positions[row]))

    def select(self, mask: Mask) -> ModelRows:
        """Return the rows of a mask (n,), with the same columns of the design."""
        x = self.model.estimates.x[mask]
        rank = sum(basis.shape[1] for basis in orthonormal_bases(x, [range(x.shape[1])]))
        estimates = replace(
            self.model.estimates, x=x, y=self.model.estimates.y[mask], df=float(len(x) - rank), rank=rank
        )
        model = replace(self.model, estimates=estimates, total=float(len(x)))
        return ModelRows(model, self.y[mask], self.positions[mask])

    def directions(self, test_type: TestType) -> Directions:
        """Return orthonormal directions of the terms, adjusted for other terms as the type requires.

        They belong to the design matrix and have the residual degrees of freedom and the cells of the rows.

        Raises
        ------
        NotSupportedError
            A term has fewer degrees of freedom than columns, and the type is III.
        DataError
            The model has no terms, or the residual degrees of freedom are zero.
        """
        self.model.require_terms()
        estimates = self.model.estimates
        for term in range(len(estimates.groups)) if test_type == 3 else ():
            self.model.hypothesis(term, test_type)
        directions = Directions.from_design(estimates.x, estimates.groups, estimates.factors, test_type)
        if directions.df_resid < 1:
            raise DataError(
                f"{len(self.positions)} rows and a model of {len(directions.model_index) + 1} columns leave "
                "no degrees of freedom for the residuals.",
                hint="Leave out terms.",
            )
        return directions

    def label_codes(self, vector: Any, option: str) -> Codes | None:
        """Return the codes (n,) of the blocks or groups of the rows; None if the option was not passed.

        Parameters
        ----------
        vector : column name, array or None
            Value of the option `within` or `groups`.
        option : str
            Name of the option, for messages.

        Returns
        -------
        (n,) int or None
            Codes from 0, without gaps.

        Raises
        ------
        DataError
            The column is unknown, the array does not have one value for each row of the table, or the value
            of a row of the model is missing.
        """
        if vector is None:
            return None
        is_used = np.zeros(self.table.nrows, dtype=bool)
        is_used[self.positions] = True
        codes = number_labels(vector, self.table, option, is_used)[self.positions]
        return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.intp)

    def shuffle(self, cells: Codes, permutation_design: PermutationDesign) -> tuple[DesignPermutation, str]:
        """Return the permutations of the rows, and a description of the permuted units.

        Parameters
        ----------
        cells : (n,) int
            Code of each row; rows with the same code have the same row of the design matrix.
        permutation_design : PermutationDesign
            Blocks and groups of the permutations.

        Returns
        -------
        row_shuffle : DesignPermutation
            Generator of the permutations, with the number of distinct labellings.
        description : str
            The permuted units, such as "whole groups of 'plot' within 'site'".

        Raises
        ------
        DataError
            Groups extend over several blocks or differ in size, or no permutation changes the statistics.
        """
        groups = permutation_design.groups
        within = permutation_design.within
        units = self.label_codes(groups, "groups")
        blocks = self.label_codes(within, "within")
        if units is not None and blocks is not None and find_mixed_unit(blocks, units) is not None:
            raise DataError(
                f"A group of groups={quoted_name(groups)} has rows in more than one block of "
                f"within={quoted_name(within)}, but whole groups are permuted within blocks.",
                hint="Leave out within=, or assign each group to one block.",
            )
        if units is not None:
            self._require_equal_sizes(units, groups)
        row_shuffle = DesignPermutation.from_cells(cells, units, blocks)
        if row_shuffle.n_labellings() < 2:
            block_label = "" if within is None else f" within {quoted_name(within)}"
            raise DataError(
                f"No permutation{block_label} changes the statistic: all exchangeable rows have the same "
                "design.",
                hint=(
                    "Leave out within=. If the model is constant within whole groups, pass them as groups= "
                    "instead."
                ),
            )
        unit_label = "rows" if units is None else f"whole groups of {quoted_name(groups)}"
        return row_shuffle, unit_label if within is None else f"{unit_label} within {quoted_name(within)}"

    def unchanged_terms(self, shuffle: DesignPermutation) -> Mask:
        """Return a mask (t,) of the t terms whose columns no permutation changes; they lack a p-value."""
        return shuffle.invariant_term_mask(self.model.estimates.x, self.model.estimates.groups)

    def _require_equal_sizes(self, units: Codes, groups: Any) -> None:
        """Raise DataError if the groups differ in their number of rows.

        `units` (n,) are their codes, and `groups` is the argument of the user, for the message.
        """
        sizes = np.bincount(units)
        if len(set(sizes.tolist())) > 1:
            smallest = int(sizes.argmin())
            largest = int(sizes.argmax())
            rows = [self.label(int(np.argmax(units == unit))) for unit in (smallest, largest)]
            raise DataError(
                f"The groups of groups={quoted_name(groups)} have different numbers of rows: "
                f"{sizes[smallest]} in the group of row {rows[0]!r}, and {sizes[largest]} in the group of "
                f"row {rows[1]!r}.",
                hint="Use groups of equal size, or a table with one row, such as the mean, for each group.",
                rows=(rows[0], rows[1]),
            )


def read_rows_to_permute(
    formula: str,
    data: Any,
    *,
    weights: Any,
    na_action: NaAction,
    functions: Mapping[str, Callable[..., Any]] | None,
    responses: bool = True,
) -> ModelRows:
    """Read the rows of a linear model into memory, and repeat each row by its weight.

    Parameters
    ----------
    formula, data, weights, na_action, functions
        Arguments of `permanova`.
    responses : bool
        Whether the formula names responses; False for a model of given distances.

    Returns
    -------
    ModelRows
        The complete rows, each repeated by its weight.

    Raises
    ------
    DataError
        A response is missing although `responses` is true, there are fewer than two complete rows, or a value
        is missing and `na_action="raise"`.
    NotSupportedError
        The table is read in chunks or too large, or a weight is not a whole number.
    """
    reason = "Permutations exchange rows in memory, and"
    design_rows, terms = model_rows(
        formula,
        data,
        weights=weights,
        functions=functions,
        responses=responses,
        in_memory=reason,
    )
    n_model_columns = sum(len(term.columns) for term in terms)
    if responses and len(design_rows.terms) <= n_model_columns:
        raise DataError(
            f"The formula {formula!r} has no response.",
            hint="Name a column on the right side, or pass a table of distances as distance=.",
        )
    total_weight = 0.0 if design_rows.weights is None else float(np.nansum(design_rows.weights))
    reading.raise_if_large(design_rows, "Permutations exchange rows", n_repeated_rows=total_weight)
    if design_rows.has_weights and not design_rows.rows.has_whole_weights():
        raise NotSupportedError(
            "Permutation tests require weights that are whole numbers.",
            hint="Pass frequency weights: a weight of 3 stands for three identical rows.",
        )
    chunks = [np.zeros((0, len(design_rows.terms)))]
    for rows, _, row_weights in design_rows:
        # The number of dropped rows is complete only after the last block.
        chunks.append(
            rows.copy() if row_weights is None else np.repeat(rows, row_weights.astype(np.intp), axis=0)
        )
    if design_rows.dropped and na_action == "raise":
        design_rows.raise_if_missing()
    x = np.concatenate(chunks)
    positions = np.flatnonzero(used_codes(design_rows) >= 0)
    if design_rows.weights is not None:
        positions = np.repeat(positions, design_rows.weights[positions].astype(np.intp))
    if len(x) < 2:
        raise DataError(
            f"A permutation test requires at least two rows, but only {len(x)} have no missing value in "
            f"{join_labels(design_rows.design.columns)}.",
            hint="Fill in values, or leave columns out.",
        )
    shifted = columns_to_shift(terms, len(design_rows.terms))[:n_model_columns]
    origin = np.where(shifted, x[:, :n_model_columns].mean(axis=0), 0.0)
    scaled_x, unit = scale_by_powers_of_two(
        np.hstack([np.ones((len(x), 1)), x[:, :n_model_columns] - origin])
    )
    groups = tuple(tuple(1 + column for column in term.columns) for term in terms)
    no_triangle = np.zeros((0, 0))
    rank = sum(basis.shape[1] for basis in orthonormal_bases(scaled_x, [range(n_model_columns + 1)]))
    factors = tuple(term.factors for term in terms)
    estimates = LeastSquares(
        scaled_x, np.zeros((len(x), 0)), groups, factors, no_triangle, float(len(x) - rank), rank
    )
    model = TermModel(design_rows, tuple(terms), estimates, np.zeros(0), unit[1:], origin, float(len(x)))
    return ModelRows(model, x[:, n_model_columns:], positions)


@dataclass(frozen=True, slots=True, eq=False)
class PermutationDesign:
    """Options of permutation tests.

    Attributes
    ----------
    permutations : int
        Number of random permutations; each other labelling is used once if there are at most this many.
    seed : int
        Seed of the permutations.
    within : column name, (n,) array or None
        Blocks within which rows or groups are permuted.
    groups : column name, (n,) array or None
        Groups of rows that are permuted as wholes.
    """

    permutations: int
    seed: int
    within: Any
    groups: Any

    @classmethod
    def read(cls, permutations: Any, seed: Any, within: Any, groups: Any) -> PermutationDesign:
        """Validate number and seed of the permutations; a seed of None is replaced by a random one.

        Raises DataError if `permutations` is not an integer from 1 to `MAX_PERMUTATIONS`, or `seed` is
        neither None nor a nonnegative integer. `within` and `groups` are not validated before
        `ModelRows.shuffle` uses them.
        """
        check_integer("permutations", permutations, 1, MAX_PERMUTATIONS, also=", such as 999")
        if not (seed is None or (reading.is_integer(seed) and seed >= 0)):
            raise DataError(
                f"seed={format_argument(seed)} is not valid.",
                hint="Pass a nonnegative whole number, or None.",
            )
        return cls(int(permutations), seed_or_random(seed), within, groups)


STATISTIC_OF_ROW = {label: name for name, label in STATISTICS.items()} | {MCKEON: "hotelling-lawley"}
"""Names of the statistics, by the row labels of the table of `manova`; two rows have "hotelling-lawley"."""


def insert_permutation_pvalues(
    table: pd.DataFrame,
    rows: ModelRows,
    test_type: TestType,
    permutation_design: PermutationDesign,
    term: str | None,
) -> pd.DataFrame:
    """Insert the column `p_permutation`, permutation p-values, after the column p of a table of tests.

    Constant responses are left out of the statistics.

    Parameters
    ----------
    table : DataFrame
        Rows of the four statistics (labelled as by `discrim.manova`) for one term, or by (term, statistic)
        for all terms. It is changed in place.
    rows : ModelRows
        Rows that are permuted.
    test_type : {1, 2, 3}
        Type of the sums of squares.
    permutation_design : PermutationDesign
    term : str or None
        The term of a table of one term; None for the only term.

    Returns
    -------
    DataFrame
        `table`. The p-values of a term that no permutation changes are missing.

    Raises
    ------
    DataError
        No residual degrees of freedom remain, blocks or groups are invalid, or no permutation changes the
        statistics.
    NotSupportedError
        The type is III, and a term has fewer degrees of freedom than columns.
    """
    directions = rows.directions(test_type)
    row_shuffle, _ = rows.shuffle(directions.cells, permutation_design)
    orders = row_shuffle.iter_cells(permutation_design.permutations, permutation_design.seed)
    # The tests without permutations leave out constant responses as well.
    shape = {"n_classes": 1, "n_columns": rows.y.shape[1]}
    moments = gather(
        [(rows.y, np.zeros(len(rows.y), dtype=np.intp), None)], **shape, required_moments="diagonal"
    )
    varying = np.delete(rows.y, constant_columns(moments), axis=1)
    p = core.permutation_statistics_pvalues(varying, directions, orders, permutation_design.permutations)
    p[rows.unchanged_terms(row_shuffle)] = np.nan
    by_term = pd.DataFrame(p, index=rows.model.labels, columns=list(core.STATISTICS))
    statistics = [STATISTIC_OF_ROW[row] for row in table.index.get_level_values(-1)]
    if table.index.nlevels == 2:
        terms = list(table.index.get_level_values(0))
    else:
        terms = [rows.model.labels[rows.model.position(term)]] * len(table)
    p_permutation = [by_term.loc[label, name] for label, name in zip(terms, statistics, strict=True)]
    table.insert(list(table.columns).index("p") + 1, "p_permutation", p_permutation)
    return table
