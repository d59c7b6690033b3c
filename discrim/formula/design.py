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

from discrim.data.values import KNOWN, Kind, LabelType, Scalar, holds
from discrim.errors import FormulaError
from discrim.formula import grammar
from discrim.formula.grammar import Call
from discrim.formula.transforms import State, check_state, width_of

MOST_CODED = 2.0**52
"""Largest absolute value in a contrast matrix from a file; larger ones would cost the columns digits."""

Product = tuple[tuple[int, int], ...]
"""A product of factors: for each, its position and the position of its coding, -1 for numbers."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of the right-hand side, with its levels and the parameters of its transforms.

    Attributes
    ----------
    code : str
        Its text, which `grammar.expression` parses.
    width : int
        Number of its columns, 0 for categories.
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
    """How categories become columns.

    Attributes
    ----------
    picks : tuple of int or None
        Indicator coding: column j is 1 for level ``picks[j]``, else 0. None if there is a matrix.
    matrix : tuple of tuple of float, (levels, columns), or None
        Contrast matrix.
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
    kinds : tuple of str
        Kind of values of each of `Design.columns` when the design was created.
    factors : tuple of Factor
    codings : tuple of Coding
    products : tuple of Product
        The columns of a product are all products of the columns of its factors; the index of the first factor
        varies fastest.
    """

    kinds: tuple[Kind, ...]
    factors: tuple[Factor, ...]
    codings: tuple[Coding, ...]
    products: tuple[Product, ...]

    def widths(self, product: Product) -> tuple[int, ...]:
        """Return the number of columns of each factor of a product."""
        return tuple(
            self.factors[factor].width if coding < 0 else self.codings[coding].width
            for factor, coding in product
        )

    def placed(self) -> Iterator[tuple[slice, Product]]:
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
        Name of the column, or `text`.
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
    plain : bool
        Whether the terms are exactly `columns`, numbers or booleans that are copied unchanged.
    spec : Spec or None
        How the columns are computed; None if `plain`.
    functions : tuple of str
        Names of the user's functions that the formula calls; they have to be passed again to read new rows.
    labels : LabelType or None
        The dtype of the response, in which predicted labels are returned; None if it is unknown.
    truths : tuple of str
        Boolean columns, if `plain`.
    covariates : tuple of str
        The first of `terms`, if these are covariates of the others.
    """

    formula: str
    response: str
    response_columns: tuple[str, ...]
    columns: tuple[str, ...]
    terms: tuple[str, ...]
    levels: tuple[Scalar, ...]
    plain: bool
    spec: Spec | None
    functions: tuple[str, ...]
    labels: LabelType | None = None
    truths: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kind of values of each column when the design was created; "numeric" if it is plain."""
        if self.spec is None:
            return dict.fromkeys(self.columns, "numeric")
        return dict(zip(self.columns, self.spec.kinds, strict=True))

    @property
    def label_kinds(self) -> dict[str, Kind]:
        """Kinds of the columns with categories or text."""
        return {name: kind for name, kind in self.kinds.items() if kind in {"categorical", "text"}}

    @property
    def boolean_columns(self) -> tuple[str, ...]:
        """Columns that were boolean when the design was created."""
        if self.spec is None:
            return tuple(name for name in self.columns if name in self.truths)
        return tuple(name for name, kind in self.kinds.items() if kind == "boolean")

    @property
    def response_code(self) -> str:
        """The left side as text that `grammar.expression` parses."""
        return grammar.quote(self.response) if (self.response,) == self.response_columns else self.response

    def parts(self) -> tuple[DesignTerm, ...]:
        """Return the terms of the right side, each with its columns."""
        names = {grammar.quote(name): name for name in self.columns}
        if self.spec is None:
            return tuple(DesignTerm(name, grammar.quote(name), (j,)) for j, name in enumerate(self.terms))
        columns: dict[str, tuple[int, ...]] = {}
        for places, product in self.spec.placed():
            text = ":".join(self.spec.factors[factor].code for factor, _ in product)
            columns[text] = columns.get(text, ()) + tuple(range(places.start, places.stop))
        return tuple(DesignTerm(names.get(text, text), text, own) for text, own in columns.items())

    def to_dict(self) -> dict[str, Any]:
        """Return the design as dicts, lists, text and numbers, for JSON."""
        values: dict[str, Any] = _listed(self)
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


def _listed(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [each if type(each) in _SCALARS else _listed(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: _listed(getattr(value, name)) for name in _names(type(value))}
    return value


def _check(right: bool, what: str) -> None:
    if not right:
        raise FormulaError(f"This saved design is damaged: {what}.", hint="Fit the model again.")


@lru_cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def _fields(values: Any, kind: type) -> list[Any]:
    names = _names(kind)
    right = isinstance(values, Mapping) and set(values) == set(names)
    _check(right, f"{kind.__name__} does not have the parts {list(names)}")
    return [values[name] for name in names]


def _texts(values: Any, what: str) -> tuple[str, ...]:
    right = isinstance(values, list | tuple) and all(isinstance(each, str) for each in values)
    _check(right, f"{what} is not a list of text")
    return tuple(values)


def _levels(values: Any) -> tuple[Scalar, ...]:
    right = isinstance(values, list | tuple) and all(
        type(each) in (str, int, bool) or (isinstance(each, float) and math.isfinite(each)) for each in values
    )
    _check(right and len(set(values)) == len(values), "levels are not a list of different scalars")
    return tuple(values)


def _whole(value: Any, least: int, below: int) -> int:
    """Return an integer in a range; raise a FormulaError for any other value."""
    _check(type(value) is int and least <= value < below, f"{value!r} is not a position or a count")
    return int(value)


def _read_design(values: Mapping[str, Any]) -> Design:
    """Return the design of a saved mapping; raise a FormulaError if it is invalid or contradicts itself."""
    formula, response, sources, columns, terms, levels, plain, spec, *more = _fields(values, Design)
    functions, labels, truths, covariates = more
    _check(isinstance(formula, str) and len(formula) <= grammar.MAX_TEXT, "the formula is not text")
    _check(isinstance(response, str), "the response is not text")
    _check(isinstance(plain, bool) and plain == (spec is None), "plain and spec disagree")
    names = _texts(functions, "functions")
    design = Design(
        formula, response, _texts(sources, "response_columns"), _texts(columns, "columns"),
        _texts(terms, "terms"), _levels(levels), plain, None if plain else _read_spec(spec, names), names,
        labels=None if labels is None else _read_labels(labels, _levels(levels)),
        truths=_texts(truths, "truths"),
        covariates=_texts(covariates, "covariates"),
    )  # fmt: skip
    grammar.scan(formula)
    left = grammar.expression(design.response_code, frozenset(names))
    _check(left.columns == design.response_columns, "the response reads other columns")
    _check(len(set(design.terms)) == len(design.terms) > 0, "terms repeat or are missing")
    first = design.terms[: len(design.covariates)]
    _check(design.covariates == first != design.terms, "covariates are not the first of the terms")
    if design.spec is None:
        _check(design.terms == design.columns, "plain terms are not the columns")
        return design
    read = {
        name
        for each in design.spec.factors
        for name in grammar.expression(each.code, frozenset(names)).columns
    }
    _check(read == set(design.columns), "the factors read other columns")
    _check(len(design.spec.kinds) == len(design.columns), "kinds do not match the columns")
    total = sum(math.prod(design.spec.widths(product)) for product in design.spec.products)
    _check(total == len(design.terms), "the terms do not match the products of factors")
    return design


def _read_labels(values: Any, levels: tuple[Scalar, ...]) -> LabelType:
    """Return the type of labels of a saved mapping; raise a FormulaError if the levels do not have it."""
    dtype, categories, ordered = _fields(values, LabelType)
    _check(isinstance(dtype, str) and KNOWN.fullmatch(dtype) is not None, "labels have no known dtype")
    _check(isinstance(ordered, bool), "labels are neither ordered nor not")
    known = levels if categories is None else _levels(categories)
    _check(holds(dtype, known), "the levels are no values of the labels' dtype")
    if categories is None:
        return LabelType(dtype)
    _check(set(levels) <= set(known), "the levels are not among the categories")
    return LabelType(dtype, known, ordered)


def _read_spec(values: Any, functions: tuple[str, ...]) -> Spec:
    """Return the spec of a saved mapping; raise a FormulaError if it is invalid."""
    kinds, factors, codings, products = _fields(values, Spec)
    known = {"numeric", "boolean", "categorical", "text"}
    _check(set(_texts(kinds, "kinds")) <= known, f"kinds are not of {sorted(known)}")
    for each in (factors, codings, products):
        right = isinstance(each, list | tuple) and len(each) <= 2 * grammar.MAX_COLUMNS
        _check(right, "factors, codings or products are not lists, or longer than those of any formula")
    # Calls that are longer than any formula would take minutes to parse. The factor allows for added blanks.
    calls = [each.get("code") for each in factors if isinstance(each, Mapping)]
    length = sum(len(code) for code in calls if isinstance(code, str) and grammar.plain_name(code) is None)
    _check(length <= 3 * grammar.MAX_TEXT, f"its calls have {length:,} characters")
    read = tuple(_read_factor(each, functions) for each in factors)
    codes = tuple(_read_coding(each) for each in codings)
    last = [-1 if each.picks is None else max(each.picks, default=0) for each in codes]
    made = tuple(_read_product(each, read, codes, last) for each in products)
    return Spec(tuple(kinds), read, codes, made)


def _read_factor(values: Any, functions: tuple[str, ...]) -> Factor:
    """Return the factor of a saved mapping; raise a FormulaError if it is invalid."""
    code, width, levels, states = _fields(values, Factor)
    _check(isinstance(code, str), "a factor is not text")
    read = grammar.expression(code, frozenset(functions))
    categories = None if levels is None else _levels(levels)
    _check(categories != (), "a factor has no category")
    _whole(width, int(categories is None), grammar.MAX_COLUMNS + 1)
    right = isinstance(states, list | tuple) and len(states) == len(read.stateful)
    _check(right, "the states are not those of the factor's calls")
    learnt = []
    for each in states:
        function, arguments = _fields(each, State)
        _check(isinstance(function, str) and isinstance(arguments, list | tuple), "a state is not readable")
        learnt.append(check_state(function, arguments))
    found = tuple(each.function for each in learnt)
    _check(found == read.stateful, "the states are not those of the factor's calls")
    # The outermost call is the last one.
    outer = isinstance(read.root, Call) and found and read.root.function == found[-1]
    _check(not outer or width_of(learnt[-1]) == width, "a state makes other columns than its factor has")
    return Factor(code, width, categories, tuple(learnt))


def _read_coding(values: Any) -> Coding:
    """Return the coding of a saved mapping; raise a FormulaError if it is invalid."""
    picks, matrix = _fields(values, Coding)
    _check((picks is None) != (matrix is None), "a coding is neither indicators nor a matrix")
    if picks is not None:
        right = isinstance(picks, list | tuple) and len(picks) <= grammar.MAX_COLUMNS
        _check(right, "picks are not a list, or longer than a design is wide")
        return Coding(tuple(_whole(each, 0, grammar.MAX_COLUMNS * 2) for each in picks), None)
    _check(isinstance(matrix, list | tuple) and len(matrix) > 0, "a coding's matrix is not a list")
    rows = []
    for row in matrix:
        _check(isinstance(row, list | tuple) and len(row) == len(matrix[0]), "a coding's rows differ")
        right = all(type(x) in (float, int, bool) and abs(x) <= MOST_CODED for x in row)
        _check(right, "a coding is not numbers, or not of a size that contrasts have")
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
        Largest level that each coding refers to.

    Returns
    -------
    Product
    """
    right = isinstance(values, list | tuple) and 0 < len(values) <= grammar.MAX_EXPONENT
    _check(right, f"a product has no factors, or more than {grammar.MAX_EXPONENT}")
    pairs = []
    for pair in values:
        _check(isinstance(pair, list | tuple) and len(pair) == 2, "a product holds no pairs")
        factor = factors[_whole(pair[0], 0, len(factors))]
        number = _whole(pair[1], -1, len(codings))
        _check((number < 0) == (factor.levels is None), "numbers have a coding, or categories none")
        if factor.levels is not None:
            coding = codings[number]
            count = len(factor.levels)
            rows = len(coding.matrix) if coding.matrix is not None else count
            _check(last[number] < count == rows, "a coding does not fit its categories")
        pairs.append((pair[0], number))
    return tuple(pairs)
