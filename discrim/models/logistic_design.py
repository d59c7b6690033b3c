"""Designs that a logistic regression refuses, before or after a first pass over the rows."""

from __future__ import annotations

import math

from discrim.core.covariance import dependencies
from discrim.core.moments import ClassMoments
from discrim.errors import CollinearError, DataError
from discrim.frame.blocks import Blocks
from discrim.models.sample import named

__all__ = ["refuse_collinear", "refuse_many_levels", "refuse_wide"]

MOST_CODED = 2000
"""Coefficients of categories up to which they are fitted: their information grows by the square."""


def refuse_wide(rows: int, terms: tuple[str, ...]) -> None:
    """Raise where there are too few rows for a constant and the columns."""
    p = len(terms)
    if 0 < rows <= p:
        raise CollinearError(
            f"{rows} rows are too few for a constant and {p} columns ({named(terms)}): name fewer columns."
        )


def refuse_many_levels(blocks: Blocks) -> None:
    """Raise, before a product of columns is formed, where categories make too many of them."""
    spec, n_classes = blocks.design.spec, len(blocks.design.levels)
    if spec is None:
        return
    coded = {
        ":".join(spec.factors[factor].code for factor, _ in parts): math.prod(spec.widths(parts))
        for parts in spec.products
        if any(coding >= 0 for _, coding in parts)
    }
    coefficients = sum(coded.values()) * (n_classes - 1)
    if coefficients > MOST_CODED:
        widest = max(coded, key=lambda code: coded[code])
        raise DataError(
            f"Categories have {coefficients:,} coefficients for {n_classes} classes, and {widest!r} most of "
            f"them with {coded[widest]:,} columns. logistic() takes {MOST_CODED:,}: beyond, a fit takes "
            f"minutes and gigabytes. Merge rare levels, or leave the predictor out, as in `. - {widest}`."
        )


def refuse_collinear(moments: ClassMoments, terms: tuple[str, ...]) -> None:
    """Raise where a column is constant over all rows, or a combination of others."""
    found = dependencies(moments.as_one())
    if found:
        said = [
            f"{terms[d.column]!r} is "
            + (f"a linear combination of {named(terms[j] for j in d.on)}" if d.on else "constant")
            for d in found[:4]
        ]
        raise CollinearError(f"The design is singular: {'; '.join(said)}. Drop it from the formula.")
