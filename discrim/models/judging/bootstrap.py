"""Rows drawn again within classes, and the rules that are fitted to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discrim.core.rules.rules import Rule
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import used_codes
from discrim.inference.folds import generator
from discrim.models.fits.fit import Fit
from discrim.models.fits.refits import rule_of_rows

__all__ = ["BootstrapSamples"]

Floats = NDArray[np.float64]

T = TypeVar("T")


class BootstrapSamples:
    """Samples of the rows of a fit, drawn with replacement within classes, as weights of the rows.

    Attributes
    ----------
    codes : (n,) int
        Class of each row of the table, -1 for rows that are not used.
    rng : Generator

    Raises
    ------
    DataError
        Fewer than two replicates.
    NotSupportedError
        Weights that are not whole numbers of rows.
    """

    def __init__(self, blocks: Blocks, replicates: int, seed: int | None) -> None:
        if not (isinstance(replicates, int) and replicates >= 2):
            raise DataError(f"replicates={replicates!r}: give a number of bootstrap samples, 2 or more.")
        weights = blocks.weights
        if weights is not None and (np.nan_to_num(weights) != np.round(np.nan_to_num(weights))).any():
            raise NotSupportedError(
                'A bootstrap draws rows: give weights that are whole numbers, or use "cv".'
            )
        self.codes = used_codes(blocks)
        self.rng = generator(seed)
        self._blocks = blocks
        self._members = [np.flatnonzero(self.codes == k) for k in range(len(blocks.design.levels))]

    def draw(self) -> Floats:
        """Times (n,) that each row is in the next sample."""
        drawn = np.zeros(len(self.codes))
        for rows in self._members:
            if self._blocks.weights is None:
                drawn[rows] = np.bincount(self.rng.integers(len(rows), size=len(rows)), minlength=len(rows))
            else:
                weights = self._blocks.weights[rows]
                drawn[rows] = self.rng.multinomial(round(weights.sum()), weights / weights.sum())
        return drawn

    def rule(self, fit: Fit[Any]) -> tuple[Rule, Floats]:
        """The rule of the next sample that has one, and the sample."""
        return self.fitted(partial(rule_of_rows, fit))

    def fitted(self, fit: Callable[[Blocks], T | None]) -> tuple[T, Floats]:
        """What a function fits to the next sample for which it is not None, and the sample.

        Raises
        ------
        NotSupportedError
            It is None for twenty samples in a row.
        """
        for _ in range(20):
            weights = self.draw()
            found = fit(replace(self._blocks, held_weights=weights))
            if found is not None:
                return found, weights
        raise NotSupportedError(
            "The model has no fit to bootstrap samples of these rows (a covariance is singular, or classes "
            f"are separated): there are too few rows for {len(self._blocks.terms)} columns."
        )
