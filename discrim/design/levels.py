"""Levels of categories: as positions or indicators instead of contrasts, in new rows, and in some rows.

Models that count levels use a column of 0, 1, ..., L - 1 for each categorical term, which is written, dropped
if missing, saved and read like any other column of the design. Levels of new rows that are not in the fit are
detected and reported. Cross-validation refits each fold with the transforms and levels of the rows outside
the fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Mask
from discrim.data.table import Table
from discrim.data.values import Scalar, format_value
from discrim.errors import DataError, DiscrimWarning, NotSupportedError, UnseenLevelWarning, warn_user
from discrim.formula.design import Coding, Design, Factor, Product, Spec
from discrim.formula.factors import CallStates, Categories, Functions, RowRange, evaluate, select_functions
from discrim.formula.formula import learn_spec
from discrim.formula.grammar import expression, quote


def level_design(design: Design) -> Design:
    """Code each categorical term as one column with the positions of its levels: 0, 1, 2, ...

    The column has the name of the term. Numeric and boolean terms are unchanged. Raises a NotSupportedError
    if a categorical term is multiplied with another.
    """

    def positions(name: str, levels: Sequence[Scalar]) -> tuple[Coding, list[str]]:
        """Return the coding by positions of the levels, and the name of its column."""
        return Coding(None, tuple((float(j),) for j in range(len(levels)))), [name]

    return _recode_terms(
        design, positions, "a model of independent columns cannot use products of categories"
    )


def indicator_design(design: Design) -> tuple[Design, frozenset[str]]:
    """Return the design with an indicator of every level of each categorical term, and their names.

    The names are ``term[level]``. Numeric and boolean terms are unchanged. Raises NotSupportedError for a
    categorical term in a product.
    """
    indicator_names: set[str] = set()

    def indicators(name: str, levels: Sequence[Scalar]) -> tuple[Coding, list[str]]:
        """Return the coding by indicators of all levels, and the names of its columns."""
        names = [f"{name}[{level}]" for level in levels]
        indicator_names.update(names)
        return Coding(tuple(range(len(levels))), None), names

    design = _recode_terms(
        design, indicators, "multiple correspondence analysis cannot use products of categories"
    )
    return design, frozenset(indicator_names)


def _recode_terms(
    design: Design, code_levels: Callable[[str, Sequence[Scalar]], tuple[Coding, list[str]]], reason: str
) -> Design:
    """Replace the coding of each categorical term.

    Parameters
    ----------
    design : Design
    code_levels : callable
        Function from the name and the levels of a term to its coding and the names of its columns.
    reason : str
        Reason that products of categories are not supported, for the error.

    Returns
    -------
    Design
    """
    spec = design.spec
    if spec is None:
        return design
    names = {quote(name): name for name in design.columns}
    terms: list[str] = []
    products: list[Product] = []
    codings = list(spec.codings)
    for column_slice, product in spec.products_with_columns():
        categorical = [spec.factors[factor] for factor, coding in product if coding >= 0]
        if not categorical:
            terms.extend(design.terms[column_slice])
            products.append(product)
            continue
        if len(product) > 1:
            text = ":".join(spec.factors[factor].code for factor, _ in product)
            raise NotSupportedError(
                f"The term {text!r} multiplies the categories {categorical[0].code!r} with another "
                f"column; {reason}.",
                hint="Write the categories as a separate term, or create a column of the combined levels.",
            )
        name = names.get(categorical[0].code, categorical[0].code)
        coding, labels = code_levels(name, categorical[0].levels or ())
        terms.extend(labels)
        products.append(((product[0][0], len(codings)),))
        codings.append(coding)
    spec = replace(spec, codings=tuple(codings), products=tuple(products))
    return replace(design, terms=tuple(terms), spec=spec)


def term_levels(design: Design) -> tuple[tuple[Scalar, ...] | None, ...]:
    """Return for each column of a `level_design` the levels of its term; None for numbers and booleans."""
    if design.spec is None:
        return (None,) * len(design.terms)
    levels_of: list[tuple[Scalar, ...] | None] = []
    for column_slice, product in design.spec.products_with_columns():
        levels = design.spec.factors[product[0][0]].levels if len(product) == 1 else None
        levels_of.extend([levels] * (column_slice.stop - column_slice.start))
    return tuple(levels_of)


def codes_are_positions(design: Design) -> bool:
    """Return whether a design codes each categorical term as `level_design` does; True without such terms."""
    spec = design.spec
    if spec is None:
        return True
    for product in spec.products:
        for factor, coding in product:
            positions = tuple((float(j),) for j in range(len(spec.factors[factor].levels or ())))
            if coding >= 0 and (len(product) > 1 or spec.codings[coding].matrix != positions):
                return False
    return True


def boolean_terms(design: Design) -> tuple[str, ...]:
    """Return the terms that are boolean columns, which the design codes as 0 and 1, in design order."""
    single_columns = design.columns
    if design.spec is not None:
        names = {quote(name): name for name in design.columns}
        single_factors = [product[0][0] for product in design.spec.products if len(product) == 1]
        codes = [design.spec.factors[factor].code for factor in single_factors]
        single_columns = tuple(names[code] for code in codes if code in names)
    terms = set(design.terms)
    boolean_columns = set(design.boolean_columns)
    return tuple(name for name in single_columns if name in terms and name in boolean_columns)


def level_terms(design: Design) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the terms of a `level_design` that are categories or booleans, and their numbers of levels.

    A boolean has 2 levels.
    """
    booleans = set(boolean_terms(design))
    sizes = [
        2 if term in booleans else len(levels or ())
        for term, levels in zip(design.terms, term_levels(design), strict=True)
    ]
    pairs = [(term, size) for term, size in zip(design.terms, sizes, strict=True) if size]
    return tuple(term for term, _ in pairs), tuple(size for _, size in pairs)


def append_level_positions(design: Design) -> tuple[Design, tuple[int, ...], tuple[int, ...]]:
    """Append to a design, for each categorical term, a column with the positions of its levels.

    These are the `level_terms` of the `level_design`. Booleans are columns of the design already.

    Parameters
    ----------
    design : Design

    Returns
    -------
    design : Design
        Unchanged if a category is multiplied with another factor.
    columns : tuple of int
        Positions in the design of the columns of level positions and of booleans; empty if a category is
        multiplied with another factor.
    sizes : tuple of int
        Number of levels of each of these columns.
    """
    try:
        coded = level_design(design)
    except NotSupportedError:
        return design, (), ()
    names, sizes = level_terms(coded)
    if design.spec is None or coded.spec is None:
        return design, tuple(design.terms.index(name) for name in names), sizes
    booleans = boolean_terms(coded)
    n_codings = len(design.spec.codings)
    products = tuple(p for p in coded.spec.products if len(p) == 1 and p[0][1] >= n_codings)
    added = tuple(name for name in names if name not in booleans)
    # The null character makes the name different from all terms of a formula.
    terms = (*design.terms, *(f"levels of {name}\0" for name in added))
    spec = replace(coded.spec, products=(*design.spec.products, *products))
    position_by_name = {name: len(design.terms) + i for i, name in enumerate(added)}
    position_by_name |= {name: design.terms.index(name) for name in names if name in booleans}
    return replace(design, terms=terms, spec=spec), tuple(position_by_name[name] for name in names), sizes


def constant_values_by_class(design: Design, tables: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the values of the columns of categorical and boolean terms that are constant within a class.

    Parameters
    ----------
    design : Design
        With K classes and p columns.
    tables : sequence of (K, L) float arrays
        Counts, or sums of weights, of each of the `level_terms` by class and by its L levels; empty if the
        counts are unknown.

    Returns
    -------
    (K, p) float array
        Value of the column in the class. NaN if it varies, the class is empty, the counts are unknown, or
        the column is not one of a single categorical or boolean term.
    """
    values = np.full((len(design.levels), len(design.terms)), np.nan)
    for (columns, coded), table in zip(_level_columns(design) if tables else [], tables, strict=True):
        occurs = (table > 0)[:, :, None]
        low = np.where(occurs, coded, np.inf).min(axis=1)
        high = np.where(occurs, coded, -np.inf).max(axis=1)
        values[:, columns] = np.where(low == high, low, np.nan)
    return values


def _level_columns(design: Design) -> list[tuple[list[int], NDArray[np.float64]]]:
    """Return the columns of each of the `level_terms`, and their coded values for each level (L, width)."""
    booleans = set(boolean_terms(level_design(design)))
    boolean_values = np.array([[0.0], [1.0]])
    spec = design.spec
    if spec is None:
        return [([j], boolean_values) for j, term in enumerate(design.terms) if term in booleans]
    columns: list[tuple[list[int], NDArray[np.float64]]] = []
    for column_slice, product in spec.products_with_columns():
        columns_of_term, (factor, coding) = list(range(column_slice.start, column_slice.stop)), product[0]
        if len(product) > 1 or coding < 0:
            columns.extend(([j], boolean_values) for j in columns_of_term if design.terms[j] in booleans)
            continue
        picks = spec.codings[coding].picks
        matrix = spec.codings[coding].matrix
        levels = np.arange(len(spec.factors[factor].levels or ()))[:, None]
        coded = (
            np.array(matrix) if picks is None else (levels == np.array(picks, dtype=np.intp)).astype(float)
        )
        columns.append((columns_of_term, coded))
    return columns


def check_booleans_or_counts(table: Table, names: Sequence[str], *, counts: bool) -> None:
    """Raise a DataError if a column has a value that is not a boolean or not a count.

    Parameters
    ----------
    table : Table
    names : sequence of str
        Columns; those that do not exist or are not numeric are ignored.
    counts : bool
        Whether values have to be counts (0 or more, not necessarily whole) instead of booleans (0 or 1).
        Missing values are accepted.
    """
    if not names:
        return
    if counts and table.sparse is not None and not table.sparse.has_value_outside(0.0, np.inf):
        names = [name for name in names if name not in table.sparse.column_types]
    table_columns = set(table.names)
    for name in names:
        if name not in table_columns or table.column_type(name) != "numeric":
            continue
        values = table.column(name).to_numpy(dtype=np.float64)
        invalid = values < 0 if counts else ~(np.isnan(values) | (values == 0) | (values == 1))
        if invalid.any():
            row = int(invalid.argmax())
            expected = "a count (0 or more)" if counts else "true or false, like in the training data"
            raise DataError(
                f"Column {name!r} is {values[row]:g} at row {table.label(row)!r}; it must be {expected}.",
                hint="Correct the value, or make it missing.",
                columns=(name,),
                rows=(table.label(row),),
            )


Unseen = Literal["raise", "missing"]
"""Treatment of levels that the fit has not seen: an error, or missing values."""


class _Category(NamedTuple):
    """A categorical factor of a design, with its values in a table.

    Attributes
    ----------
    label : str
        Name of the factor.
    levels : tuple
        Its levels in the design.
    values : Series (m,)
        Labels of the rows that are complete in the columns of the factor.
    rows : (m,) int
        Positions of these rows in the table.
    """

    label: str
    levels: tuple[Scalar, ...]
    values: pd.Series
    rows: NDArray[np.intp]


def unseen_level_mask(
    design: Design, table: Table, functions: Functions | None = None, *, partial: bool = False
) -> Mask | None:
    """Return the mask of rows with a level that is not in the fit, with an UnseenLevelWarning.

    A missing label is not an unseen level.

    Parameters
    ----------
    design : Design
    table : Table
    functions : mapping of str to callable, optional
    partial : bool
        Whether such rows are predicted from their other columns, for the warning.

    Returns
    -------
    (n,) bool array, or None if all levels are in the fit
    """
    unseen = np.zeros(table.nrows, dtype=bool)
    descriptions: list[str] = []
    for label, levels, values, positions in _iter_categories(design, table, functions):
        is_unseen = values.notna().to_numpy() & ~values.isin(list(levels)).to_numpy()
        if is_unseen.any():
            first = int(np.argmax(is_unseen))
            descriptions.append(
                f"{label} is {format_value(values.iloc[first])} at row "
                f"{format_value(table.label(int(positions[first])))}"
            )
            unseen[positions[is_unseen]] = True
    if not descriptions:
        return None
    count = int(unseen.sum())
    others = len(descriptions) - 2
    more = f" and in {others} more {'column' if others == 1 else 'columns'}" if others > 0 else ""
    consequence = "predicted from the other columns" if partial else "predictions are missing"
    warn_user(
        f"{count} {'row has' if count == 1 else 'rows have'} a level that the fit has not seen "
        f"({', '.join(descriptions[:2])}{more}): {consequence}.",
        UnseenLevelWarning,
    )
    return unseen


def has_absent_level(design: Design, table: Table, keep: Mask, functions: Functions | None = None) -> bool:
    """Return whether some level of a category does not occur in the rows of the mask `keep` (n,).

    For each factor, only rows that are complete in its own columns count.
    """
    categories = _iter_categories(design, table, functions)
    return any(values[keep[positions]].nunique() < len(levels) for _, levels, values, positions in categories)


def unique_level_mask(design: Design, table: Table, keep: Mask, functions: Functions | None = None) -> Mask:
    """Return the mask (n,) of the rows of `keep` (n,) with a level that no other row of `keep` has."""
    is_unique = np.zeros(table.nrows, dtype=bool)
    for _, _, values, positions in _iter_categories(design, table, functions):
        is_unique[positions[keep[positions]]] |= ~values[keep[positions]].duplicated(keep=False).to_numpy()
    return is_unique


def _iter_categories(design: Design, table: Table, functions: Functions | None) -> Iterator[_Category]:
    """Yield the categorical factors of a design with their values in a table, which may have new levels."""
    if design.spec is None:
        return
    functions = select_functions(design.functions, functions)
    for factor in design.spec.factors:
        if factor.levels is None:
            continue
        expr = expression(factor.code, frozenset(functions))
        rows, keep = RowRange(table, 0, table.nrows, kinds=design.label_kinds).select_complete(expr.columns)
        value = evaluate(expr, rows, CallStates(factor.states), functions)
        if isinstance(value, Categories):
            yield _Category(expr.label, factor.levels, value.values, np.flatnonzero(keep))


def has_learnt_transform(design: Design) -> bool:
    """Return whether a numeric factor of the formula has a transform that learns from the rows."""
    return design.spec is not None and any(map(_is_learnt, design.spec.factors))


def has_level_in_one_fold(
    design: Design, table: Table, fold_ids: NDArray[np.intp], n_folds: int, functions: Functions | None = None
) -> bool:
    """Return whether some level occurs in the used rows of one fold only, or in none.

    Parameters
    ----------
    design : Design
    table : Table
    fold_ids : (n,) int array
        Fold of each row, -1 if it is not used.
    n_folds : int
        Number of folds.
    functions : mapping of str to callable, optional

    Returns
    -------
    bool
    """
    if design.spec is None or all(factor.levels is None for factor in design.spec.factors):
        return False
    training_masks = ((fold_ids >= 0) & (fold_ids != fold) for fold in range(n_folds))
    return any(has_absent_level(design, table, keep, functions) for keep in training_masks)


def rows_with_dropped_levels(
    design: Design, table: Table, functions: Functions | None = None
) -> NDArray[np.bool_] | None:
    """Return the mask (n,) of rows with a level that the design lacks, without a warning.

    None without such a row. `design` was relearnt from some rows of `table`, for example outside a fold.
    `functions` are the user's functions that the formula calls.
    """
    with warnings.catch_warnings():
        # The warning for all folds together is issued by the caller.
        warnings.simplefilter("ignore", DiscrimWarning)
        return unseen_level_mask(design, table, functions)


def _is_learnt(factor: Factor) -> bool:
    """Return whether the numeric values of a factor depend on the rows from which it is learnt."""
    # Categories of learnt numbers, such as C(center(x)), would change if they were learnt again.
    return bool(factor.states) and factor.levels is None


def relearn_design(
    design: Design,
    table: Table,
    keep: NDArray[np.bool_],
    functions: Functions | None = None,
    *,
    uses_incomplete_rows: bool = False,
) -> Design:
    """Return the design with transforms and levels that are learnt from some rows only.

    The boundary knots of splines are kept. Levels without a row among these rows are dropped. Transforms
    within categories, such as ``C(center(x))``, are not learnt again. A plain design is returned unchanged.

    Parameters
    ----------
    design : Design
    table : Table
    keep : (n,) bool
        Rows from which transforms learn.
    functions : mapping of str to callable, optional
        Functions of the user that the formula calls.
    uses_incomplete_rows : bool
        Whether the fit also uses rows with missing values, and learns levels from them.

    Returns
    -------
    Design

    Raises
    ------
    FormulaError
        The rows do not support a transform.
    """
    if design.spec is None:
        return design
    relearnt = (
        _relearn_transforms(design, design.spec, table, keep, functions)
        if has_learnt_transform(design)
        else design
    )
    if has_absent_level(relearnt, table, keep, functions):
        return _drop_absent_levels(
            relearnt, table, keep, functions, uses_incomplete_rows=uses_incomplete_rows
        )
    return relearnt


def _drop_absent_levels(
    design: Design,
    table: Table,
    keep: NDArray[np.bool_],
    functions: Functions | None,
    *,
    uses_incomplete_rows: bool,
) -> Design:
    """Return the design with only the levels that occur in some rows, and otherwise unchanged.

    Parameters
    ----------
    design : Design
    table : Table
    keep : (n,) bool array
        Rows whose levels are kept.
    functions : mapping of str to callable or None
    uses_incomplete_rows : bool
        Whether the fit uses incomplete rows.

    Returns
    -------
    Design
    """
    checked_functions = select_functions(design.functions, functions)
    spec = design.spec
    if spec is None:
        return design
    codes = [factor.code for factor in spec.factors]
    expressions = {code: expression(code, frozenset(checked_functions)) for code in codes}
    terms = list(dict.fromkeys(tuple(codes[factor] for factor, _ in product) for product in spec.products))
    kept_rows = Table(table.frame(design.columns)[keep])
    with warnings.catch_warnings():
        # Levels without rows are dropped on purpose here, hence no warning.
        warnings.simplefilter("ignore", DiscrimWarning)
        names, coded = learn_spec(
            expressions,
            terms,
            design.columns,
            (),
            kept_rows,
            checked_functions,
            uses_incomplete_rows=uses_incomplete_rows,
        )
    numeric = {factor.code: factor for factor in spec.factors if factor.levels is None}
    factors = tuple(numeric.get(factor.code, factor) for factor in coded.factors)
    relearnt = replace(design, terms=names, spec=replace(coded, kinds=spec.kinds, factors=factors))
    return replace(relearnt, covariates=_relearnt_covariates(relearnt, design))


def _relearnt_covariates(relearnt: Design, design: Design) -> tuple[str, ...]:
    """Return the columns of a relearnt design whose factors are all factors of the original covariates."""
    if not design.covariates:
        return ()
    n_covariates = len(design.covariates)
    of_covariates = {
        code
        for column_slice, codes in _product_factor_codes(design)
        if column_slice.stop <= n_covariates
        for code in codes
    }
    return tuple(
        name
        for column_slice, codes in _product_factor_codes(relearnt)
        if of_covariates.issuperset(codes)
        for name in relearnt.terms[column_slice]
    )


def _product_factor_codes(design: Design) -> list[tuple[slice, list[str]]]:
    """Return the columns of each product of factors in a design, with the code of each factor."""
    spec = design.spec
    if spec is None:
        return []
    return [
        (column_slice, [spec.factors[factor].code for factor, _ in product])
        for column_slice, product in spec.products_with_columns()
    ]


def levels_of_factors(design: Design) -> dict[str, tuple[Scalar, ...] | None]:
    """Return the levels of each factor of a design by its code; None for numbers."""
    return {} if design.spec is None else {factor.code: factor.levels for factor in design.spec.factors}


def _relearn_transforms(
    design: Design, spec: Spec, table: Table, keep: NDArray[np.bool_], functions: Functions | None
) -> Design:
    """Return the design with transforms that are learnt from some rows.

    Parameters
    ----------
    design : Design
    spec : Spec
    table : Table
    keep : (n,) bool array
        Rows to learn from.
    functions : mapping of str to callable or None

    Returns
    -------
    Design
    """
    functions = select_functions(design.functions, functions)
    rows = RowRange(table, 0, table.nrows, keep, design.kinds)
    factors = []
    for factor in spec.factors:
        if _is_learnt(factor):
            memory = CallStates(factor.states, learning=True)
            evaluate(expression(factor.code, frozenset(functions)), rows, memory, functions)
            factor = replace(factor, states=tuple(memory.states))
        factors.append(factor)
    return replace(design, spec=replace(spec, factors=tuple(factors)))
