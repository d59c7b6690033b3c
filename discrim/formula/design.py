"""The design: a formula resolved against the columns of a table, as plain data.

`discrim.formula.formula.learn_design` creates a `Design`; `discrim.design.matrix` computes rows from it. It
contains no object of patsy, no function and no row, and can be pickled, compared and stored as JSON. A design
that is read from JSON is validated, because files may come from strangers.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from discrim.data.values import LABEL_DTYPES, ColumnType, LabelType, Scalar, dtype_represents
from discrim.errors import FormulaError
from discrim.formula import grammar
from discrim.formula.grammar import Call
from discrim.formula.transforms import State, check_state, state_width

MAX_CONTRAST_VALUE = 2.0**52
"""Largest absolute value in a contrast matrix from a file; larger ones would cost the columns digits."""

Product = tuple[tuple[int, int], ...]
"""A product of factors: for each, positions in `Spec.factors` and `Spec.codings`; -1 for numeric factors."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of the right-hand side, with its levels and the parameters of its transforms.

    Attributes
    ----------
    code : str
        Text of the factor, which `grammar.expression` parses.
    width : int
        Number of its columns; 0 for categories, whose columns depend on the coding.
    levels : tuple or None
        Its categories in order; None for numbers.
    states : tuple of State
        Estimated parameters of its stateful transforms, in the order of their evaluation.
    """

    code: str
    width: int
    levels: tuple[Scalar, ...] | None
    states: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class Coding:
    """Coding of the levels of a categorical factor as columns, by indicators or by a contrast matrix.

    Attributes
    ----------
    picks : tuple of int or None
        Indicator coding: column j is 1 for the level at position ``picks[j]``, else 0. None if there is a
        matrix.
    matrix : tuple of tuple of float, (levels, columns), or None
        Contrast matrix: the values of the columns for each level.
    """

    picks: tuple[int, ...] | None
    matrix: tuple[tuple[float, ...], ...] | None

    @property
    def width(self) -> int:
        """Number of columns."""
        if self.picks is not None:
            return len(self.picks)
        return len(self.matrix[0]) if self.matrix else 0


@dataclass(frozen=True, slots=True)
class Spec:
    """How the columns of a design matrix are computed from the columns of a table.

    Attributes
    ----------
    kinds : tuple of ColumnType
        Type ("numeric", "boolean", "categorical" or "text") of each of `Design.columns` when the design was
        created.
    factors : tuple of Factor
    codings : tuple of Coding
    products : tuple of Product
        The columns of a product are all products of the columns of its factors; the index of the first factor
        varies fastest.
    """

    kinds: tuple[ColumnType, ...]
    factors: tuple[Factor, ...]
    codings: tuple[Coding, ...]
    products: tuple[Product, ...]

    def widths(self, product: Product) -> tuple[int, ...]:
        """Return the number of columns of each factor of a product."""
        return tuple(
            self.factors[factor].width if coding < 0 else self.codings[coding].width
            for factor, coding in product
        )

    def products_with_columns(self) -> Iterator[tuple[slice, Product]]:
        """Iterate over the products, each with the slice of its columns in the design."""
        stop = 0
        for product in self.products:
            start, stop = stop, stop + math.prod(self.widths(product))
            yield slice(start, stop), product


@dataclass(frozen=True, slots=True)
class DesignTerm:
    """One term of the right side.

    Attributes
    ----------
    label : str
        Name for tables: the name of the column if the term is a plain column, else `text`.
    text : str
        The term in the syntax of formulas.
    columns : tuple of int
        Positions of its columns in the design. A formula with only some of the terms has the same columns for
        these, up to the coding of categories.
    """

    label: str
    text: str
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Design:
    """A formula resolved against the columns of a table.

    Attributes
    ----------
    formula : str
        The formula as the user wrote it.
    response : str
        The left side: the name of a column, or the expression as the user wrote it.
    response_columns : tuple of str
        Columns of the table from which the response is computed.
    columns : tuple of str
        Columns of the table from which the right side is computed, in order.
    terms : tuple of str, length p
        Names of the columns of the design, without an intercept.
    levels : tuple of str, int, float or bool, length K
        Class labels in order.
    is_plain : bool
        Whether the terms are exactly `columns`, numbers or booleans that are copied unchanged.
    spec : Spec or None
        How the columns are computed; None if `is_plain`.
    functions : tuple of str
        Names of the user's functions that the formula calls; they have to be passed again to read new rows.
    labels : LabelType or None
        The dtype of the response, in which predicted labels are returned; None if it is unknown.
    plain_booleans : tuple of str
        Boolean columns, if `is_plain`.
    covariates : tuple of str
        The first of `terms`, if these are covariates of the others.
    """

    formula: str
    response: str
    response_columns: tuple[str, ...]
    columns: tuple[str, ...]
    terms: tuple[str, ...]
    levels: tuple[Scalar, ...]
    is_plain: bool
    spec: Spec | None
    functions: tuple[str, ...]
    labels: LabelType | None = None
    plain_booleans: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()

    @property
    def kinds(self) -> dict[str, ColumnType]:
        """Type of each column when the design was created; "numeric" for all columns of a plain design.

        For the booleans of a plain design see `plain_booleans`.
        """
        if self.spec is None:
            return dict.fromkeys(self.columns, "numeric")
        return dict(zip(self.columns, self.spec.kinds, strict=True))

    @property
    def label_kinds(self) -> dict[str, ColumnType]:
        """Types of the columns that contain categories or text."""
        return {
            name: column_type
            for name, column_type in self.kinds.items()
            if column_type in {"categorical", "text"}
        }

    @property
    def boolean_columns(self) -> tuple[str, ...]:
        """Columns that were boolean when the design was created."""
        if self.spec is None:
            return tuple(name for name in self.columns if name in self.plain_booleans)
        return tuple(name for name, column_type in self.kinds.items() if column_type == "boolean")

    @property
    def response_code(self) -> str:
        """The left side as text that `grammar.expression` parses."""
        return grammar.quote(self.response) if (self.response,) == self.response_columns else self.response

    def design_terms(self) -> tuple[DesignTerm, ...]:
        """Return the terms of the right side, each with its columns; products of the same factors are one."""
        names = {grammar.quote(name): name for name in self.columns}
        if self.spec is None:
            return tuple(DesignTerm(name, grammar.quote(name), (j,)) for j, name in enumerate(self.terms))
        columns: dict[str, tuple[int, ...]] = {}
        for column_slice, product in self.spec.products_with_columns():
            text = ":".join(self.spec.factors[factor].code for factor, _ in product)
            columns[text] = columns.get(text, ()) + tuple(range(column_slice.start, column_slice.stop))
        return tuple(
            DesignTerm(names.get(text, text), text, positions) for text, positions in columns.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the design as dicts, lists, text and numbers, for JSON."""
        values: dict[str, Any] = _to_plain(self)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Design:
        """Return the design that `to_dict` wrote, and validate every part.

        Raises
        ------
        FormulaError
            A part is missing, of the wrong type, inconsistent, or not allowed in a formula.
        """
        return _read_design(values)


_SCALARS = (float, str, int, bool)


def _to_plain(value: Any) -> Any:
    """Convert nested dataclasses to dicts and tuples to lists, as JSON requires."""
    if isinstance(value, tuple | list):
        return [item if type(item) in _SCALARS else _to_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: _to_plain(getattr(value, name)) for name in _field_names(type(value))}
    return value


def _check_saved(is_valid: bool, problem: str) -> None:
    """Raise a FormulaError with a description of the problem if a saved design is invalid."""
    if not is_valid:
        raise FormulaError(f"This saved design is damaged: {problem}.", hint="Fit the model again.")


@lru_cache
def _field_names(record_class: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass, in order."""
    return tuple(field.name for field in dataclasses.fields(record_class))


def _read_fields(values: Any, record_class: type) -> list[Any]:
    """Return the values of a saved mapping in the order of the fields of a dataclass.

    Raises FormulaError if its keys are not exactly the fields.
    """
    names = _field_names(record_class)
    is_valid = isinstance(values, Mapping) and set(values) == set(names)
    _check_saved(is_valid, f"{record_class.__name__} does not have the parts {list(names)}")
    return [values[name] for name in names]


def _read_texts(values: Any, description: str) -> tuple[str, ...]:
    """Return a saved list of text as a tuple; the FormulaError for other values begins with `description`."""
    is_valid = isinstance(values, list | tuple) and all(isinstance(text, str) for text in values)
    _check_saved(is_valid, f"{description} is not a list of text")
    return tuple(values)


def _read_levels(values: Any) -> tuple[Scalar, ...]:
    """Return the levels of a saved list as a tuple; raise a FormulaError if two levels are equal."""
    is_valid = isinstance(values, list | tuple) and all(
        type(level) in (str, int, bool) or (isinstance(level, float) and math.isfinite(level))
        for level in values
    )
    _check_saved(is_valid and len(set(values)) == len(values), "levels are not a list of different scalars")
    return tuple(values)


def _read_integer(value: Any, minimum: int, upper_bound: int) -> int:
    """Return an integer with minimum <= value < upper_bound; raise a FormulaError for any other value."""
    _check_saved(
        type(value) is int and minimum <= value < upper_bound, f"{value!r} is not a position or a count"
    )
    return int(value)


def _read_design(values: Mapping[str, Any]) -> Design:
    """Return the design of a saved mapping; raise a FormulaError if it is invalid or contradicts itself."""
    formula, response, sources, columns, terms, levels, plain, spec, *other_values = _read_fields(
        values, Design
    )
    functions, labels, plain_booleans, covariates = other_values
    _check_saved(isinstance(formula, str) and len(formula) <= grammar.MAX_TEXT, "the formula is not text")
    _check_saved(isinstance(response, str), "the response is not text")
    _check_saved(isinstance(plain, bool) and plain == (spec is None), "plain and spec disagree")
    names = _read_texts(functions, "functions")
    design = Design(
        formula, response, _read_texts(sources, "response_columns"), _read_texts(columns, "columns"),
        _read_texts(terms, "terms"), _read_levels(levels), plain, None if plain else _read_spec(spec, names),
        names,
        labels=None if labels is None else _read_label_type(labels, _read_levels(levels)),
        plain_booleans=_read_texts(plain_booleans, "plain_booleans"),
        covariates=_read_texts(covariates, "covariates"),
    )  # fmt: skip
    grammar.scan(formula)
    response_expression = grammar.expression(design.response_code, frozenset(names))
    _check_saved(response_expression.columns == design.response_columns, "the response reads other columns")
    _check_saved(len(set(design.terms)) == len(design.terms) > 0, "terms repeat or are missing")
    first = design.terms[: len(design.covariates)]
    _check_saved(design.covariates == first != design.terms, "covariates are not the first of the terms")
    if design.spec is None:
        _check_saved(design.terms == design.columns, "plain terms are not the columns")
        return design
    columns_read = {
        name
        for factor in design.spec.factors
        for name in grammar.expression(factor.code, frozenset(names)).columns
    }
    _check_saved(columns_read == set(design.columns), "the factors read other columns")
    _check_saved(len(design.spec.kinds) == len(design.columns), "kinds do not match the columns")
    total = sum(math.prod(design.spec.widths(product)) for product in design.spec.products)
    _check_saved(total == len(design.terms), "the terms do not match the products of factors")
    return design


def _read_label_type(values: Any, levels: tuple[Scalar, ...]) -> LabelType:
    """Return the type of labels of a saved mapping; raise a FormulaError if the levels do not have it."""
    dtype, categories, ordered = _read_fields(values, LabelType)
    _check_saved(
        isinstance(dtype, str) and LABEL_DTYPES.fullmatch(dtype) is not None, "labels have no known dtype"
    )
    _check_saved(isinstance(ordered, bool), "the order of labels is not a boolean")
    all_labels = levels if categories is None else _read_levels(categories)
    _check_saved(dtype_represents(dtype, all_labels), "the levels are not values of the dtype of the labels")
    if categories is None:
        return LabelType(dtype)
    _check_saved(set(levels) <= set(all_labels), "the levels are not among the categories")
    return LabelType(dtype, all_labels, ordered)


def _read_spec(values: Any, functions: tuple[str, ...]) -> Spec:
    """Return the spec of a saved mapping; raise a FormulaError if it is invalid."""
    kinds, factors, codings, products = _read_fields(values, Spec)
    column_types = {"numeric", "boolean", "categorical", "text"}
    _check_saved(set(_read_texts(kinds, "kinds")) <= column_types, f"kinds are not of {sorted(column_types)}")
    for record in (factors, codings, products):
        is_valid = isinstance(record, list | tuple) and len(record) <= 2 * grammar.MAX_COLUMNS
        _check_saved(is_valid, "factors, codings or products are not lists, or too long")
    # Calls that are longer than any formula would take minutes to parse. The factor allows for added blanks.
    calls = [record.get("code") for record in factors if isinstance(record, Mapping)]
    length = sum(len(code) for code in calls if isinstance(code, str) and grammar.plain_name(code) is None)
    _check_saved(length <= 3 * grammar.MAX_TEXT, f"its calls have {length:,} characters")
    read_factors = tuple(_read_factor(record, functions) for record in factors)
    read_codings = tuple(_read_coding(record) for record in codings)
    last_levels = [-1 if record.picks is None else max(record.picks, default=0) for record in read_codings]
    read_products = tuple(
        _read_product(record, read_factors, read_codings, last_levels) for record in products
    )
    return Spec(tuple(kinds), read_factors, read_codings, read_products)


def _read_factor(values: Any, functions: tuple[str, ...]) -> Factor:
    """Return the factor of a saved mapping; raise a FormulaError if it is invalid."""
    code, width, levels, states = _read_fields(values, Factor)
    _check_saved(isinstance(code, str), "a factor is not text")
    factor_expression = grammar.expression(code, frozenset(functions))
    categories = None if levels is None else _read_levels(levels)
    _check_saved(categories != (), "a factor has no category")
    _read_integer(width, int(categories is None), grammar.MAX_COLUMNS + 1)
    is_valid = isinstance(states, list | tuple) and len(states) == len(factor_expression.stateful)
    _check_saved(is_valid, "the states are not those of the factor's calls")
    read_states = []
    for state in states:
        function, arguments = _read_fields(state, State)
        _check_saved(
            isinstance(function, str) and isinstance(arguments, list | tuple), "a state is not readable"
        )
        read_states.append(check_state(function, arguments))
    state_functions = tuple(state.function for state in read_states)
    _check_saved(
        state_functions == factor_expression.stateful, "the states are not those of the factor's calls"
    )
    # The outermost call is the last one.
    is_outer_stateful = (
        isinstance(factor_expression.root, Call)
        and state_functions
        and factor_expression.root.function == state_functions[-1]
    )
    _check_saved(
        not is_outer_stateful or state_width(read_states[-1]) == width,
        "the columns of a state and of its factor differ",
    )
    return Factor(code, width, categories, tuple(read_states))


def _read_coding(values: Any) -> Coding:
    """Return the coding of a saved mapping; raise a FormulaError if it is invalid."""
    picks, matrix = _read_fields(values, Coding)
    _check_saved((picks is None) != (matrix is None), "a coding is neither indicators nor a matrix")
    if picks is not None:
        is_valid = isinstance(picks, list | tuple) and len(picks) <= grammar.MAX_COLUMNS
        _check_saved(is_valid, "picks are not a list, or too long")
        return Coding(tuple(_read_integer(pick, 0, grammar.MAX_COLUMNS * 2) for pick in picks), None)
    _check_saved(isinstance(matrix, list | tuple) and len(matrix) > 0, "a coding's matrix is not a list")
    rows = []
    for row in matrix:
        _check_saved(isinstance(row, list | tuple) and len(row) == len(matrix[0]), "a coding's rows differ")
        is_valid = all(type(x) in (float, int, bool) and abs(x) <= MAX_CONTRAST_VALUE for x in row)
        _check_saved(is_valid, "a coding contains values that are not numbers or are too large")
        rows.append(tuple(map(float, row)))
    return Coding(None, tuple(rows))


def _read_product(
    values: Any, factors: tuple[Factor, ...], codings: tuple[Coding, ...], last: list[int]
) -> Product:
    """Read a product of factors from a saved design; raise a FormulaError if it is invalid.

    Parameters
    ----------
    values : list of pairs
        Positions of a factor and of its coding, -1 for numbers.
    factors : tuple of Factor
    codings : tuple of Coding
    last : list of int
        Largest position of a level in `picks` of each coding; -1 for a matrix.

    Returns
    -------
    Product
    """
    is_valid = isinstance(values, list | tuple) and 0 < len(values) <= grammar.MAX_EXPONENT
    _check_saved(is_valid, f"a product has no factors, or more than {grammar.MAX_EXPONENT}")
    pairs = []
    for pair in values:
        _check_saved(isinstance(pair, list | tuple) and len(pair) == 2, "a product does not consist of pairs")
        factor = factors[_read_integer(pair[0], 0, len(factors))]
        coding_index = _read_integer(pair[1], -1, len(codings))
        _check_saved(
            (coding_index < 0) == (factor.levels is None),
            "a numeric factor has a coding, or a categorical factor has none",
        )
        if factor.levels is not None:
            coding = codings[coding_index]
            count = len(factor.levels)
            rows = len(coding.matrix) if coding.matrix is not None else count
            _check_saved(last[coding_index] < count == rows, "a coding does not match its categories")
        pairs.append((pair[0], coding_index))
    return tuple(pairs)
