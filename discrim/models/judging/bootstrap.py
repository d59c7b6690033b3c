"""Rows drawn again within classes, and the rules that are fitted to them.

The error rates that the normal model itself implies for a fit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discrim.core.normal.lda import LDAFit
from discrim.core.numerics.arrays import Floats
from discrim.core.rules.rules import Rule
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.rows import used_codes
from discrim.inference.error_rates import Rates
from discrim.inference.parametric_errors import many_classes, two_classes
from discrim.inference.resampling import generator
from discrim.models.fits.fit import Fit
from discrim.models.fits.refits import rule_of_rows

T = TypeVar("T")


class BootstrapSamples:
    """Samples of the rows of a fit, drawn with replacement within classes, as weights of the rows.

    Attributes
    ----------
    codes : (n,) int
        Class of each row of the table, -1 for rows that are not used.

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
            found = fit(self._blocks.with_weights(weights))
            if found is not None:
                return found, weights
        raise NotSupportedError(
            "The model has no fit to bootstrap samples of these rows (a covariance is singular, or classes "
            f"are separated): there are too few rows for {len(self._blocks.terms)} columns."
        )


def parametric_rates(
    results: Fit[Any], method: str, costs: NDArray[np.float64] | None, level: float
) -> Rates:
    """D, DS, O or OS of a linear discriminant analysis.

    Raises
    ------
    NotSupportedError
        Another model, a diagonal covariance, reduced axes, or O and OS for more than two classes.
    """
    fit = results.numbers
    if not (isinstance(fit, LDAFit) and fit.has_distances and fit.reduced() is None):
        raise NotSupportedError(
            f'method="{method}" is computed from normal classes with one full covariance: fit lda() '
            'with all its axes, or use "cv".'
        )
    shrunk, expected = method in ("DS", "OS"), method in ("O", "OS")
    moments, nu = fit.moments, fit.residual_df
    whitened = fit.unbiased().whiten(moments.means.T).T
    # A covariance with divisor N makes the rule's log odds N/(N - K) times those of the unbiased one.
    stretch = fit.divisor / nu
    log_prior = results.log_prior()
    if moments.n_classes > 2:
        if expected:
            raise NotSupportedError(
                f'method="{method}" is for two classes; this fit has {moments.n_classes}. Use "DS" or "cv".'
            )
        return many_classes(
            whitened,
            moments.counts,
            nu,
            log_prior,
            costs,
            level,
            shrunk=shrunk,
            stretch=stretch,
        )
    gap = whitened[0] - whitened[1]
    return two_classes(
        float(gap @ gap),
        moments.counts,
        nu,
        moments.n_columns,
        log_prior,
        costs,
        level,
        shrunk=shrunk,
        expected=expected,
        stretch=stretch,
    )
