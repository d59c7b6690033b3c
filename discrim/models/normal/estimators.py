"""Covariances by an estimator of the user's own: an object with `fit(X)` and then `covariance_`.

That is what every estimator of `sklearn.covariance` is; nothing of scikit-learn is imported here.
"""

from __future__ import annotations

import copy
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.coordinates import from_class_means
from discrim.core.moments.moments import ClassMoments
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import gathered_rows, repeated

__all__ = ["CovarianceEstimator", "copied", "estimated", "text_of"]

Floats = NDArray[np.float64]

ASYMMETRY = 1e-8
"""Difference of two mirrored entries, relative to the standard deviations, that is taken for rounding."""


class CovarianceEstimator(Protocol):
    """An object that is fitted to rows (n, p) and then has `covariance_` (p, p)."""

    def fit(self, rows: Any, /) -> Any:
        """Estimate the covariance of the rows."""


def text_of(estimator: Any) -> str:
    """What an estimator is called: its repr on one line."""
    text = " ".join(repr(estimator).split())
    return type(estimator).__name__ if text.startswith("<") else text


def estimated(
    estimator: Any, blocks: Blocks, moments: ClassMoments, *, common: bool
) -> tuple[Covariance, ...]:
    """Covariance of the rows less their class's means, or of those of each class, in z.

    Parameters
    ----------
    estimator : object with fit
        Copied before each fit, as scikit-learn's `clone` does where it has `get_params`.
    blocks : Blocks
    moments : ClassMoments
        For means and scale.
    common : bool
        One covariance for all classes, or one for each.

    Raises
    ------
    DataError
        The estimator cannot be fitted, has no `covariance_` then, or one of the wrong shape or with values
        that are not finite or not symmetric.
    CollinearError
        A covariance is not positive definite.
    NotSupportedError
        Weights that are not whole numbers of rows.
    """
    rows = gathered_rows(blocks)
    weights = None if blocks.weights is None else blocks.weights[rows.positions]
    if weights is not None and (weights != np.round(weights)).any():
        raise NotSupportedError(
            f"{text_of(estimator)} is fitted to rows: give weights that are whole numbers."
        )
    x, codes = from_class_means(moments, rows.x, rows.codes).T / moments.scale, rows.codes
    if weights is not None:
        x, codes = repeated(x, codes, weights)
    if common:
        return (_covariance(estimator, x, moments.scale, "of the rows less their class's means"),)
    return tuple(
        _covariance(estimator, x[codes == k], moments.scale, f"of class {label!r}")
        for k, label in enumerate(blocks.design.levels)
    )


def _covariance(estimator: Any, x: Floats, scale: Floats, where: str) -> Covariance:
    own, name = copied(estimator), text_of(estimator)
    try:
        own.fit(x)
    except (ValueError, ArithmeticError) as error:
        raise DataError(
            f"{name} cannot be fitted to the {len(x)} rows {where}: {error}. Use another estimator, or "
            "fewer columns."
        ) from error
    try:
        held = np.asarray(own.covariance_, dtype=np.float64)
    except AttributeError:
        raise DataError(
            f"{name} has no covariance_ after fit(X): pass an estimator of a covariance, as those of "
            "sklearn.covariance."
        ) from None
    except (TypeError, ValueError):
        raise DataError(
            f"The covariance_ {where} of {name} is no matrix of numbers: use another estimator."
        ) from None
    p = x.shape[1]
    if held.shape != (p, p):
        raise DataError(
            f"The covariance_ {where} of {name} has shape {held.shape}, where {p, p} is asked for: "
            "use another estimator."
        )
    if not np.isfinite(held).all():
        raise DataError(
            f"The covariance_ {where} of {name} holds a value that is not finite: use another "
            "estimator, or columns of another scale."
        )
    singular = CollinearError(
        f"The covariance_ {where} of {name} is not positive definite: use an estimator that regularizes, or "
        "fewer columns."
    )
    if not (np.diagonal(held) > 0).all():
        raise singular
    sd = np.sqrt(np.diagonal(held))
    correlation = held / sd / sd[:, None]
    if not np.allclose(correlation, correlation.T, rtol=0.0, atol=ASYMMETRY):
        raise DataError(f"The covariance_ {where} of {name} is not symmetric: use another estimator.")
    try:
        root = scipy.linalg.cholesky((correlation + correlation.T) / 2, check_finite=False)
    except np.linalg.LinAlgError:
        raise singular from None
    if np.diagonal(root).min() ** 2 <= p * np.finfo(np.float64).eps:
        raise singular
    return Covariance.from_root(root * (sd * scale))


def copied(value: Any) -> Any:
    """An estimator with the same parameters and no fit; of one without parameters, a deep copy."""
    if isinstance(value, type) or not callable(getattr(value, "get_params", None)):
        # A shallow copy shares what its fit changes in place, and so do the fits of all folds then.
        return copy.deepcopy(value)
    parameters = value.get_params(deep=False)
    return type(value)(**{name: _parameter(held) for name, held in parameters.items()})


def _parameter(value: Any) -> Any:
    return copied(value) if hasattr(value, "get_params") else copy.deepcopy(value)
