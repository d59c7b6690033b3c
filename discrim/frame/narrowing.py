"""A design without some of its columns: what a fit has left out is not read from new rows either."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from discrim.frame.design import Design, Product, Spec
from discrim.frame.grammar import expression
from discrim.frame.scan import quote

__all__ = ["narrowed_design"]


def narrowed_design(design: Design, keep: Collection[int]) -> tuple[Design, tuple[int, ...] | None]:
    """The design without the terms of which no column is kept, and which of its columns are.

    Parameters
    ----------
    design : Design
    keep : collection of int
        Positions of columns, one or more.

    Returns
    -------
    design : Design
    keep : tuple of int or None
        Positions in that design, None for all: a category of which some levels are kept stays whole.
    """
    spec = design.spec
    if spec is None:
        names = tuple(name for j, name in enumerate(design.columns) if j in keep)
        return replace(design, columns=names, terms=names), None
    products: list[Product] = []
    terms: list[str] = []
    kept: list[int] = []
    stop = 0
    for product in spec.products:
        start, stop = stop, stop + math.prod(spec.widths(product))
        own = [j for j in range(start, stop) if j in keep]
        if own:
            kept.extend(len(terms) + j - start for j in own)
            terms.extend(design.terms[start:stop])
            products.append(product)
    found = None if len(kept) == len(terms) else tuple(kept)
    return _of_products(design, spec, products, tuple(terms)), found


def _of_products(design: Design, spec: Spec, products: list[Product], terms: tuple[str, ...]) -> Design:
    """The design of some products, which reads no other columns."""
    functions = frozenset(design.functions)
    used = sorted({factor for product in products for factor, _ in product})
    factors = tuple(spec.factors[factor] for factor in used)
    read = {name for factor in factors for name in expression(factor.code, functions).columns}
    columns = tuple(name for name in design.columns if name in read)
    kind_of = dict(zip(design.columns, spec.kinds, strict=True))
    kinds = tuple(kind_of[name] for name in columns)
    numbers = [
        quote(name) for name, kind in zip(columns, kinds, strict=True) if kind in ("numeric", "boolean")
    ]
    position = {factor: place for place, factor in enumerate(used)}
    single = [factors[position[product[0][0]]].code for product in products if len(product) == 1]
    if len(single) == len(products) and single == numbers and terms == columns:
        return replace(design, columns=columns, terms=terms, plain=True, spec=None)
    moved = tuple(tuple((position[factor], coding) for factor, coding in product) for product in products)
    own = Spec(kinds, factors, spec.codings, moved)
    return replace(design, columns=columns, terms=terms, spec=own)
