"""Arithmetic of stepwise choice: which columns are nothing but their own rounding."""

from __future__ import annotations

import numpy as np
import pytest

from discrim.core.moments.moments import ClassMoments
from discrim.inference.selection import SelectedColumns

CODES = np.arange(300) % 3
LAST = np.random.default_rng(0).integers(-1, 2, len(CODES))


@pytest.mark.parametrize("size", [1e-9, 1.0, 3e12])
def test_a_column_that_varies_only_in_its_last_digit_is_constant(size: float) -> None:
    x = np.random.default_rng(1).standard_normal((len(CODES), 3)) + CODES[:, None]
    # The numbers next to 1.5 are eps away.
    x[:, 1] = size * (1.5 + LAST * np.finfo(float).eps)
    x[:, 2] = size * (1.5 + 1e-7 * x[:, 2])
    choice = SelectedColumns(ClassMoments.from_block(x, CODES, n_classes=3))
    assert [choice.is_dependent(np.array([j])) for j in range(3)] == [False, True, False]
