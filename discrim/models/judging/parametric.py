"""The error rates that the normal model itself implies for a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.normal.lda import LDAFit
from discrim.errors import NotSupportedError
from discrim.inference.error_rates import Rates
from discrim.inference.parametric_errors import many_classes, two_classes
from discrim.models.fits.fit import Fit

__all__ = ["parametric_rates"]


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
