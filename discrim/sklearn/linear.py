"""Coefficients by feature, of estimators whose rule may be linear: what selections of features look at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.rules.rules import LinearRule
from discrim.models.fits.arguments import listed

__all__ = ["LinearCoefficients"]

Floats = NDArray[np.float64]


class LinearCoefficients:
    """The planes of a linear rule under scikit-learn's names, for `RFE`, `SelectFromModel` and the like.

    Where the rule is not linear, or the formula makes several columns of one feature of a frame, there are no
    such attributes, and `hasattr` is false.
    """

    @property
    def coef_(self: Any) -> Floats:
        """Coefficients (K, p) by class and feature, or (1, p) for two classes.

        `X @ coef_.T + intercept_` is the decision function for two classes, and for models without
        posteriors. Otherwise it differs from it by a number that all classes of a row share, which is chosen
        so that the coefficients of a feature sum to zero. A feature that was dropped has zeros. Where
        features lie far from zero in their own units, `decision_function` has digits that the product does
        not have.
        """
        return _planes(self)[0]

    @property
    def intercept_(self: Any) -> Floats:
        """Constants (K,), or (1,) for two classes.

        The constant of a class without rows, or with a prior of zero, is minus infinity.
        """
        return _planes(self)[1]


def _planes(estimator: Any) -> tuple[Floats, Floats]:
    """Coefficients (K, p) and constants (K,) on features as they come, in the order of `classes_`.

    Raises
    ------
    AttributeError
        The estimator is not fitted, or the fit has no coefficients by feature.
    """
    if not hasattr(estimator, "results_"):
        raise AttributeError(f"{type(estimator).__name__} is not fitted yet: call fit first.")
    fit = estimator.results_._fit
    rule, names = fit.rule(), list(estimator._names())
    if not isinstance(rule, LinearRule):
        raise AttributeError(
            f"{type(estimator).__name__} as it was fitted has no linear rule, and so no coefficients: see "
            "sklearn.inspection.permutation_importance."
        )
    position = {name: j for j, name in enumerate(names)}
    strange = [term for term in fit.terms if term not in position]
    if strange:
        raise AttributeError(
            f"{listed(strange)} of the design are no features, so that features do not have one "
            "coefficient each: see results_.terms, and its tables by term."
        )
    slopes = rule.coef * rule.scale[:, None]
    coef, constants = np.zeros((len(fit.classes), len(names))), rule.intercept - rule.origin @ slopes
    coef[:, [position[term] for term in fit.terms]] = slopes.T
    order = estimator._order
    known = order >= 0
    out, level = np.zeros((len(order), len(names))), np.full(len(order), -np.inf)
    out[known], level[known] = coef[order[known]], constants[order[known]]
    if len(order) == 2:
        return np.diff(out, axis=0), np.diff(level)
    there = np.isfinite(level)
    if not fit.model.instead:
        out[known] -= out[there].mean(axis=0)
        level[known] -= level[there].mean()
    return out, level
