"""Reference grid of a linear model: combinations of its coefficients that are means of cells of factors.

A marginal mean is the mean of the fitted values over a grid of all levels of the factors, with the covariates
fixed at reference values. The columns of a design are products of factors, so the mean over the grid is
computed factor by factor, and the grid itself, which may be huge, is never built.
`models.linear_model.marginal_means` uses this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from discrim.core.numerics.arrays import Floats
from discrim.data.table import Table
from discrim.data.values import Scalar
from discrim.design.design_rows import DesignRows
from discrim.design.linear_model import contrast_matrix
from discrim.design.matrix import factor_values
from discrim.errors import NotSupportedError
from discrim.formula.design import Factor, Product, Spec
from discrim.formula.factors import RowRange, select_functions
from discrim.formula.grammar import expression, plain_name, quote


class ReferenceGrid:
    """Factors and covariates of the first columns of a design, the columns of a linear model.

    Parameters
    ----------
    design_rows : DesignRows
        Rows of the model columns, followed by the responses.
    n_columns : int
        Number of columns of the model, without the constant.

    Attributes
    ----------
    levels : dict of str to tuple
        Levels of each categorical factor, by its code.
    covariates : tuple of str
        Columns of the table that numeric factors of the model read.
    """

    def __init__(self, design_rows: DesignRows, n_columns: int) -> None:
        design = design_rows.design
        self._design_rows = design_rows
        self._spec = design.spec or Spec((), (), (), ())
        self._products = [
            (column_slice, factor_codings)
            for column_slice, factor_codings in self._spec.products_with_columns()
            if column_slice.stop <= n_columns
        ]
        positions = dict.fromkeys(factor for _, pairs in self._products for factor, _ in pairs)
        factors = {position: self._spec.factors[position] for position in positions}
        self._numeric = {position: factor for position, factor in factors.items() if factor.levels is None}
        self.levels = {factor.code: factor.levels for factor in factors.values() if factor.levels is not None}
        names = frozenset(design.functions)
        self.covariates = tuple(
            dict.fromkeys(
                name for factor in self._numeric.values() for name in expression(factor.code, names).columns
            )
        )

    def plain_columns(self) -> dict[str, int]:
        """Return the positions of the columns that are covariates without transformation, by name."""
        positions = {}
        for column_slice, pairs in self._products:
            factor, coding = pairs[0]
            name = plain_name(self._spec.factors[factor].code)
            if len(pairs) == 1 and coding < 0 and name is not None:
                positions[name] = column_slice.start
        return positions

    def combinations(
        self, codes: Sequence[str], covariates: Mapping[str, float], column_means: Floats | None
    ) -> tuple[list[tuple[Scalar, ...]], Floats]:
        """Return the combinations of coefficients that are the means of the cells of some factors.

        Parameters
        ----------
        codes : sequence of str
            Codes of the categorical factors of the cells; means are over the levels of the others.
        covariates : mapping of str to float
            Value of each column in `covariates`.
        column_means : (n_columns,) float, optional
            Means of the columns of the model over the rows, for means over the other factors in the
            proportions of the rows. By default all their levels have the same weight.

        Returns
        -------
        labels : list of tuple
            Levels of the factors in each of the q cells. The last factor varies fastest.
        combinations : (q, 1 + n_columns) float
            Weights of the coefficients, the constant first.

        Raises
        ------
        NotSupportedError
            `column_means` is passed, and the model lacks the term of factors that is averaged.
        """
        levels = [self.levels[code] for code in codes]
        grid = np.array(list(product(*(range(len(values)) for values in levels))), dtype=np.intp)
        values = self._numeric_values(covariates)
        blocks = [np.ones((len(grid), 1))]
        for _, pairs in self._products:
            # Axis 0 of the operands is the cell, axis i + 1 the columns of factor i of the product.
            operands: list[Any] = [np.ones(len(grid)), [0]]
            averaged = []
            for i, (factor, coding) in enumerate(pairs):
                code = self._spec.factors[factor].code
                if coding < 0:
                    operands += [values[factor], [i + 1]]
                elif code in codes:
                    matrix = contrast_matrix(self._spec.codings[coding], len(self.levels[code]))
                    operands += [matrix[grid[:, list(codes).index(code)]], [0, i + 1]]
                else:
                    averaged.append(i)
            operands += self._mean_operands(pairs, averaged, column_means)
            # The columns of the first factor run fastest.
            block = np.einsum(*operands, [0, *range(len(pairs), 0, -1)])
            blocks.append(block.reshape(len(grid), -1))
        labels = [tuple(levels[i][k] for i, k in enumerate(cell)) for cell in grid.tolist()]
        return labels, np.hstack(blocks)

    def _mean_operands(self, pairs: Product, averaged: list[int], column_means: Floats | None) -> list[Any]:
        """Return means of the coded factors at positions `averaged` of a product, as operands of einsum.

        Parameters
        ----------
        pairs : Product
        averaged : list of int
        column_means : (n_columns,) float or None
            See `combinations`.

        Returns
        -------
        list
            Arrays and their axes, alternating.
        """
        if column_means is None:
            operands: list[Any] = []
            for i in averaged:
                factor, coding = pairs[i]
                matrix = contrast_matrix(
                    self._spec.codings[coding], len(self._spec.factors[factor].levels or ())
                )
                operands += [matrix.mean(axis=0), [i + 1]]
            return operands
        if not averaged:
            return []
        averaged_pairs = tuple(pairs[i] for i in averaged)
        column_slice = next((columns for columns, others in self._products if others == averaged_pairs), None)
        if column_slice is None:
            functions = frozenset(self._design_rows.design.functions)
            codes = [self._spec.factors[factor].code for factor, _ in averaged_pairs]
            names = [name for code in codes for name in expression(code, functions).columns]
            raise NotSupportedError(
                f'weights="proportional" requires the term {":".join(names)!r} in the model.',
                hint='Add the term to the formula, or pass weights="equal".',
                options={"weights": "equal"},
                columns=names,
            )
        widths = self._spec.widths(averaged_pairs)
        return [column_means[column_slice].reshape(widths[::-1]), [i + 1 for i in reversed(averaged)]]

    def _numeric_values(self, covariates: Mapping[str, float]) -> dict[int, Floats]:
        """Return the values (width,) of the numeric factors, by position, at values of the covariates."""
        if not self._numeric:
            return {}
        design = self._design_rows.design
        table = Table({name: [float(covariates[name])] for name in self.covariates})
        functions = select_functions(design.functions, self._design_rows.functions)
        row = RowRange(table, 0, 1, kinds=dict.fromkeys(self.covariates, "numeric"))
        return {
            position: np.asarray(factor_values(factor, row, functions), dtype=np.float64)[0]
            for position, factor in self._numeric.items()
        }


def append_table_columns(design_rows: DesignRows, names: Sequence[str]) -> DesignRows:
    """Return the rows with numeric columns of the table, which the design reads, as further columns."""
    design = design_rows.design
    spec = design.spec or Spec((), (), (), ())
    factors = (*spec.factors, *(Factor(quote(name), 1, None, ()) for name in names))
    products = (*spec.products, *(((position, -1),) for position in range(len(spec.factors), len(factors))))
    terms = (*design.terms, *(f"column {name}" for name in names))
    extended = replace(design, spec=replace(spec, factors=factors, products=products), terms=terms)
    return replace(design_rows, design=extended)
