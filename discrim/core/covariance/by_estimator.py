"""Covariances by an estimator of the user's own: an object with `fit(X)` and then `covariance_`.

That is what every estimator of `sklearn.covariance` is; nothing of scikit-learn is imported here.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import scipy

from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
)
from discrim.core.errors import (
    CoreCollinearError,
    CoreDataError,
    CoreNotSupportedError,
    InvalidStateError,
    positions,
)
from discrim.core.moments.moments import ClassMoments, from_class_means
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import NOT_STORED, Floats
from discrim.core.rules.leave_one_out import LeftOut

ASYMMETRY = 1e-8
"""Difference of two mirrored entries, relative to the standard deviations, that is taken for rounding."""


class CovarianceEstimator(Protocol):
    """An object that is fitted to rows (n, p) and then has `covariance_` (p, p)."""

    def fit(self, rows: Any, /) -> Any:
        """Estimate the covariance of the rows."""


@dataclass(frozen=True, slots=True)
class EstimatorCovariance(CovarianceModel):
    """The covariances that copies of an estimator have of the rows less the means of their classes.

    They are in z, one or one for each class, and none before the rows are read. A loaded fit has no estimator
    but the text that it was called by.
    """

    estimator: Any = field(default=None, metadata=NOT_STORED)
    text: str = ""
    covariances: tuple[Covariance, ...] = ()

    name = "estimator"
    traits = CovarianceTraits(is_regular=True, needs_products=False, needs_rows=True, has_own_divisor=True)

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Raise InvalidStateError unless there is a covariance of all columns for all classes or for each."""
        shapes = [covariance.root.shape for covariance in self.covariances]
        if shapes != [(n_columns, n_columns)] * n_covariances:
            raise InvalidStateError("its covariances by an estimator are not those of its columns")

    def unfitted(self) -> EstimatorCovariance:
        """The estimator, not fitted."""
        return replace(self, covariances=())

    def fit_to_rows(self, rows: RowBlocks, moments: ClassMoments, divisors: Floats) -> EstimatorCovariance:
        """With the covariances of copies that are fitted to the rows."""
        common = len(divisors) == 1
        return replace(self, covariances=estimated(self.estimator, self.text, rows, moments, common=common))

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """The covariances that the estimator has, with divisors of its own."""
        return CovarianceEstimates(self, moments, self.covariances)

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Not there: raises NotSupportedError."""
        raise CoreNotSupportedError("estimator_leave_one_out", estimator=self.text)


def estimated(
    estimator: Any, text: str, rows: RowBlocks, moments: ClassMoments, *, common: bool
) -> tuple[Covariance, ...]:
    """Covariance of the rows less their class's means, or of those of each class, in z.

    The estimator is copied before each fit, as scikit-learn's `clone` does where it has `get_params`. A
    DataError says that it cannot be fitted, or that what it has as `covariance_` is no covariance of the
    columns; a CollinearError, that this is not positive definite; a NotSupportedError, that weights are no
    whole numbers.
    """
    parts = [(x.copy(), codes.copy(), weights) for x, codes, weights in rows]
    x, codes = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    times = None if parts[0][2] is None else np.concatenate([np.asarray(part[2]) for part in parts])
    x = from_class_means(moments, x, codes).T / moments.scale
    if times is not None:
        if (times != np.round(times)).any():
            raise CoreNotSupportedError("estimator_of_rows", estimator=text)
        x, codes = (np.repeat(values, times.astype(np.intp), axis=0) for values in (x, codes))
    if common:
        return (_covariance(estimator, text, x, moments.scale, None),)
    return tuple(
        _covariance(estimator, text, x[codes == k], moments.scale, k) for k in range(moments.n_classes)
    )


def _covariance(estimator: Any, name: str, x: Floats, scale: Floats, k: int | None) -> Covariance:
    faulty = positions(k)
    own = copied(estimator)
    try:
        own.fit(x)
    except (ValueError, ArithmeticError) as error:
        raise CoreDataError(
            "estimator_fails",
            name=name,
            n_rows=len(x),
            class_positions=faulty,
            error=str(error).rstrip("."),
        ) from error
    try:
        matrix = np.asarray(own.covariance_, dtype=np.float64)
    except AttributeError:
        raise CoreDataError("no_estimator", name=name) from None
    except (TypeError, ValueError):
        raise CoreDataError("estimator_not_numeric", class_positions=faulty, name=name) from None
    p = x.shape[1]
    if matrix.shape != (p, p):
        raise CoreDataError(
            "estimator_shape", class_positions=faulty, name=name, shape=matrix.shape, expected=(p, p)
        )
    if not np.isfinite(matrix).all():
        raise CoreDataError("estimator_not_finite", class_positions=faulty, name=name)
    singular = CoreCollinearError("estimator_not_definite", class_positions=faulty, name=name)
    if not (np.diagonal(matrix) > 0).all():
        raise singular
    sd = np.sqrt(np.diagonal(matrix))
    correlation = matrix / sd / sd[:, None]
    if not np.allclose(correlation, correlation.T, rtol=0.0, atol=ASYMMETRY):
        raise CoreDataError("estimator_not_symmetric", class_positions=faulty, name=name)
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
    return type(value)(**{name: copied(parameter) for name, parameter in parameters.items()})
