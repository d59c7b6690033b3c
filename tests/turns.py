"""Parametrize a test by a sample of the combinations of several factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import pytest

__all__ = ["one_in"]


def one_in(m: int, factors: Mapping[str, Iterable[Any]]) -> pytest.MarkDecorator:
    """Parametrize by one of m combinations of the factors; the other combinations are marked exhaustive.

    A combination is in the sample if the sum of its positions is a multiple of m. Each two levels of two
    factors are in the sample together if the other factors have m levels or more.

    Parameters
    ----------
    m : int
        Size of the product relative to the sample.
    factors : mapping
        Levels of each factor by the name of its argument. A name such as "n, p" has tuples as levels.

    Returns
    -------
    pytest.MarkDecorator
    """
    cases = []
    for levels in product(*(enumerate(levels) for levels in factors.values())):
        values = [
            level if "," in name else (level,) for name, (_, level) in zip(factors, levels, strict=True)
        ]
        marks = [pytest.mark.exhaustive] if sum(position for position, _ in levels) % m else []
        cases.append(pytest.param(*(value for part in values for value in part), marks=marks))
    return pytest.mark.parametrize(", ".join(factors), cases)
