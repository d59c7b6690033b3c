"""Categories as positions of their levels, one column each, in the place of contrasts.

For models that count levels and do not compute with them: the design of a formula, its categorical terms
turned into columns of 0, 1, ..., L - 1. They are filled, left out where missing, saved and read back as any
other column of the design.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discrim.errors import DataError, NotSupportedError
from discrim.frame.categories import Scalar
from discrim.frame.design import Coding, Design, Product
from discrim.frame.scan import quote
from discrim.frame.table import Table

__all__ = [
    "boolean_terms",
    "codes_are_positions",
    "level_design",
    "mark_unseen",
    "refuse_values",
    "term_levels",
]


def level_design(design: Design) -> Design:
    """The design with a column of positions for each categorical term.

    Raises
    ------
    NotSupportedError
        A category is multiplied with another factor; the message names the term.
    """
    spec = design.spec
    if spec is None:
        return design
    names = {quote(name): name for name in design.columns}
    terms: list[str] = []
    products: list[Product] = []
    codings, start = list(spec.codings), 0
    for product in spec.products:
        width = int(np.prod(spec.widths(product)))
        own, start = design.terms[start : start + width], start + width
        categorical = [spec.factors[factor] for factor, coding in product if coding >= 0]
        if not categorical:
            terms.extend(own)
            products.append(product)
            continue
        if len(product) > 1:
            text = ":".join(spec.factors[factor].code for factor, _ in product)
            raise NotSupportedError(
                f"The term {text!r} multiplies the categories {categorical[0].code!r} with another column; "
                "a model of independent columns takes categories as they stand: write them as a term of "
                "their own, or make one column of the combined levels."
            )
        terms.append(names.get(categorical[0].code, categorical[0].code))
        products.append(((product[0][0], len(codings)),))
        codings.append(Coding(None, tuple((float(j),) for j in range(len(categorical[0].levels or ())))))
    spec = replace(spec, codings=tuple(codings), products=tuple(products))
    return replace(design, terms=tuple(terms), spec=spec)


def term_levels(design: Design) -> tuple[tuple[Scalar, ...] | None, ...]:
    """Levels of each term of a `level_design`, None for numbers."""
    if design.spec is None:
        return (None,) * len(design.terms)
    found: list[tuple[Scalar, ...] | None] = []
    for product in design.spec.products:
        levels = design.spec.factors[product[0][0]].levels if len(product) == 1 else None
        found.extend([levels] * int(np.prod(design.spec.widths(product))))
    return tuple(found)


def codes_are_positions(design: Design) -> bool:
    """Whether a design codes each categorical term as `level_design` does."""
    spec = design.spec
    if spec is None:
        return True
    for product in spec.products:
        for factor, coding in product:
            positions = tuple((float(j),) for j in range(len(spec.factors[factor].levels or ())))
            if coding >= 0 and (len(product) > 1 or spec.codings[coding].matrix != positions):
                return False
    return True


def boolean_terms(design: Design, table: Table) -> tuple[str, ...]:
    """Terms that are a column of truth values, which the design holds as 0 and 1."""
    alone = design.columns
    if design.spec is not None:
        names = {quote(name): name for name in design.columns}
        single = [product[0][0] for product in design.spec.products if len(product) == 1]
        codes = [design.spec.factors[factor].code for factor in single]
        alone = tuple(names[code] for code in codes if code in names)
    terms = set(design.terms)
    return tuple(name for name in alone if name in terms and table.kind(name) == "boolean")


def refuse_values(table: Table, names: Sequence[str], *, counts: bool) -> None:
    """Raise where a column holds what is no truth value, or no count.

    Parameters
    ----------
    table : Table
    names : sequence of str
        Columns; those that the table does not have, or that are no numbers, are left to others.
    counts : bool
        Counts are wanted: numbers from 0 on.

    Raises
    ------
    DataError
        The message names column, row and value.
    """
    if not names:
        return
    fine = counts and table.sparse is not None and not table.sparse.has_beyond(0.0, np.inf)
    there = set(table.names)
    for name in names:
        if name not in there or table.kind(name) != "numeric" or (fine and table.is_sparse(name)):
            continue
        values = table.column(name).to_numpy(dtype=np.float64)
        bad = values < 0 if counts else ~(np.isnan(values) | (values == 0) | (values == 1))
        if bad.any():
            row = int(bad.argmax())
            what = "a count, which is 0 or more" if counts else "true or false, as it was at the fit"
            raise DataError(
                f"Column {name!r} is {values[row]:g} at row {table.label(row)!r}, and not {what}: correct "
                "the value, or make it missing."
            )


def mark_unseen(design: Design, table: Table) -> Table:
    """The table with levels that the fit has not seen made missing.

    In terms that are a column, or C() of one that no other term is made of.
    """
    changed = {}
    factors = () if design.spec is None else design.spec.factors
    names = {quote(name): name for name in design.columns}
    for name in design.columns:
        if sum(quote(name) in factor.code for factor in factors) == 1:
            names[f"C({quote(name)})"] = name
    for factor in factors:
        name = names.get(factor.code, "")
        if factor.levels is None or name not in table.names:
            continue
        values = table.column(name)
        unseen = values.notna() & ~values.isin(list(factor.levels))
        if unseen.any():
            changed[name] = values.mask(unseen)
    if not changed:
        return table
    return Table(table.frame(table.names).assign(**changed))
