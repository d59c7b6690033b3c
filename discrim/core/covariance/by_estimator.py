"""Covariances by an estimator of the user: an object with a method `fit(X)` and an attribute `covariance_`.

All estimators of `sklearn.covariance` qualify; scikit-learn is not imported here.
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
    positions_at_fault,
)
from discrim.core.moments.moments import ClassMoments, deviations_from_class_means
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import NOT_STORED, Floats
from discrim.core.rules.leave_one_out import LeaveOneOutScorer

MAX_ASYMMETRY = 1e-8
"""Difference of symmetric entries of a correlation matrix up to which it counts as rounding error."""


class CovarianceEstimator(Protocol):
    """An object that is fitted to rows (n, p) and then has an attribute `covariance_` (p, p)."""

    def fit(self, rows: Any, /) -> Any:
        """Estimate the covariance of rows (n, p) and store it in `covariance_`."""


@dataclass(frozen=True, slots=True)
class EstimatorCovariance(CovarianceModel):
    """Covariances that copies of an estimator compute from rows less the means of their classes.

    Attributes
    ----------
    estimator : CovarianceEstimator
        Unfitted estimator; None in a loaded fit.
    text : str
        Name of the estimator in messages and files.
    covariances : tuple of Covariance
        In the coordinates z of the moments, one or one for each class; empty before `fit_to_rows`.
    """

    estimator: Any = field(default=None, metadata=NOT_STORED)
    text: str = ""
    covariances: tuple[Covariance, ...] = ()

    name = "estimator"
    traits = CovarianceTraits(is_regular=True, needs_products=False, needs_rows=True, has_own_divisor=True)

    def check_restored(self, n_covariances: int, n_columns: int) -> None:
        """Raise InvalidStateError unless there are `n_covariances` covariances of `n_columns` columns."""
        shapes = [covariance.root.shape for covariance in self.covariances]
        if shapes != [(n_columns, n_columns)] * n_covariances:
            raise InvalidStateError("its covariances by an estimator do not match its columns")

    def unfitted(self) -> EstimatorCovariance:
        """Return a copy without estimated covariances."""
        return replace(self, covariances=())

    def fit_to_rows(self, rows: RowBlocks, moments: ClassMoments, divisors: Floats) -> EstimatorCovariance:
        """Return a copy with the covariances that copies of the estimator compute from the rows.

        Parameters
        ----------
        rows : iterable of blocks
            Blocks (x, codes, weights) of the rows.
        moments : ClassMoments
            Counts, means and scatters of the classes.
        divisors : (1,) or (K,) float
            Only their number is used: one covariance, or one for each class.

        Raises
        ------
        CoreDataError
            The estimator fails, or its `covariance_` is missing or not a symmetric finite matrix of the
            columns.
        CoreCollinearError
            Its `covariance_` is not positive definite.
        CoreNotSupportedError
            Weights are not integers.
        """
        common = len(divisors) == 1
        return replace(
            self, covariances=fit_estimators(self.estimator, self.text, rows, moments, common=common)
        )

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Return the covariances that `fit_to_rows` computed, with the model and the moments unchanged.

        The divisors are not used.
        """
        return CovarianceEstimates(self, moments, self.covariances)

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Raise CoreNotSupportedError, because the estimator has to be refitted without each row."""
        raise CoreNotSupportedError("estimator_leave_one_out", estimator=self.text)


def fit_estimators(
    estimator: Any, text: str, rows: RowBlocks, moments: ClassMoments, *, common: bool
) -> tuple[Covariance, ...]:
    """Fit copies of an estimator to rows less the means of their classes, in the units of the data.

    Estimators with `get_params` are copied in the same way as by scikit-learn's `clone`. A row of integer
    weight w is repeated w times.

    Parameters
    ----------
    estimator : CovarianceEstimator
        Unfitted estimator.
    text : str
        Name of the estimator in messages.
    rows : iterable of blocks
        Blocks (x, codes, weights) of the rows.
    moments : ClassMoments
        Moments of the rows.
    common : bool
        Whether there is one covariance for all classes, instead of one for each.

    Returns
    -------
    tuple of Covariance
        One, or one for each class, in the coordinates z of the moments.

    Raises
    ------
    CoreDataError
        The estimator raises a ValueError or ArithmeticError, or its `covariance_` is missing or is not a
        symmetric finite matrix of the size of the columns.
    CoreCollinearError
        Its `covariance_` is not positive definite, up to rounding.
    CoreNotSupportedError
        Weights are not integers.
    """
    blocks = [(x.copy(), codes.copy(), weights) for x, codes, weights in rows]
    x, codes = (np.concatenate([block[i] for block in blocks]) for i in (0, 1))
    frequencies = None if blocks[0][2] is None else np.concatenate([np.asarray(block[2]) for block in blocks])
    x = deviations_from_class_means(moments, x, codes).T / moments.scale
    if frequencies is not None:
        if (frequencies != np.round(frequencies)).any():
            raise CoreNotSupportedError("estimator_of_rows", estimator=text)
        x, codes = (np.repeat(values, frequencies.astype(np.intp), axis=0) for values in (x, codes))
    if common:
        return (_fit_estimator(estimator, text, x, moments.scale, None),)
    return tuple(
        _fit_estimator(estimator, text, x[codes == k], moments.scale, k) for k in range(moments.n_classes)
    )


def _fit_estimator(estimator: Any, name: str, x: Floats, scale: Floats, k: int | None) -> Covariance:
    """Fit a copy of the estimator to the rows of one class, or of all, and check the result.

    Parameters
    ----------
    estimator : object
        Unfitted estimator.
    name : str
        Name of the estimator in messages.
    x : (n, p) float
        Rows less the means of their classes, in the units of the data; not scaled.
    scale : (p,) float
        Factors by which columns are multiplied to obtain z.
    k : int or None
        Position of the class in messages; None for all classes.

    Returns
    -------
    Covariance
        In z.

    Raises
    ------
    CoreDataError
        The estimator raises a ValueError or ArithmeticError, or its `covariance_` is missing, not numeric,
        not finite, not symmetric or not (p, p).
    CoreCollinearError
        Its `covariance_` is not positive definite, up to rounding.
    """
    class_positions = positions_at_fault(k)
    fitted = clone_estimator(estimator)
    try:
        fitted.fit(x)
    except (ValueError, ArithmeticError) as error:
        raise CoreDataError(
            "estimator_fails",
            name=name,
            n_rows=len(x),
            class_positions=class_positions,
            error=str(error).rstrip("."),
        ) from error
    try:
        matrix = np.asarray(fitted.covariance_, dtype=np.float64)
    except AttributeError:
        raise CoreDataError("no_estimator", name=name) from None
    except (TypeError, ValueError):
        raise CoreDataError("estimator_not_numeric", class_positions=class_positions, name=name) from None
    p = x.shape[1]
    if matrix.shape != (p, p):
        raise CoreDataError(
            "estimator_shape", class_positions=class_positions, name=name, shape=matrix.shape, expected=(p, p)
        )
    if not np.isfinite(matrix).all():
        raise CoreDataError("estimator_not_finite", class_positions=class_positions, name=name)
    singular = CoreCollinearError("estimator_not_definite", class_positions=class_positions, name=name)
    if not (np.diagonal(matrix) > 0).all():
        raise singular
    sd = np.sqrt(np.diagonal(matrix))
    correlation = matrix / sd / sd[:, None]
    if not np.allclose(correlation, correlation.T, rtol=0.0, atol=MAX_ASYMMETRY):
        raise CoreDataError("estimator_not_symmetric", class_positions=class_positions, name=name)
    try:
        root = scipy.linalg.cholesky((correlation + correlation.T) / 2, check_finite=False)
    except np.linalg.LinAlgError:
        raise singular from None
    if np.diagonal(root).min() ** 2 <= p * np.finfo(np.float64).eps:
        raise singular
    return Covariance.from_root(root * (sd * scale))


def clone_estimator(estimator: Any) -> Any:
    """Return an unfitted estimator with the same parameters, or a deep copy if it lacks `get_params`.

    Estimators among its parameters are cloned as well; other parameters are deep copies.
    """
    if isinstance(estimator, type) or not callable(getattr(estimator, "get_params", None)):
        # Fits of shallow copies, such as one for each fold, would share state that is changed in place.
        return copy.deepcopy(estimator)
    parameters = estimator.get_params(deep=False)
    return type(estimator)(**{name: clone_estimator(parameter) for name, parameter in parameters.items()})
