"""Regressions of the user's own as engines of a flexible discriminant analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.progress import late_bar
from discrim.core.regression.flexible import FlexibleFit, fit_flexible, starting_scores
from discrim.errors import DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import gathered_rows, repeated
from discrim.models.fits.reading import refuse_large
from discrim.models.normal.estimators import copied, text_of

__all__ = ["Engine", "regressed"]

Floats = NDArray[np.float64]

MOST = 1.0 - 1e-12
"""Squared canonical correlation from which the scores count as predicted without error."""


class Engine(Protocol):
    """A regression of several responses: fitted to rows (n, p) and scores (n, K - 1), it predicts scores."""

    def fit(self, rows: Any, scores: Any, /) -> Any:
        """Fit."""

    def predict(self, rows: Any, /) -> Any:
        """Fitted values of rows (m, p)."""


def regressed(
    engine: Any,
    blocks: Blocks,
    moments: ClassMoments,
    prior: Floats,
    *,
    ncomp: int | None,
    estimated_prior: bool,
) -> tuple[FlexibleFit, Any]:
    """The flexible fit of a copy of the engine, and that copy.

    Parameters
    ----------
    engine : object with fit and predict
        Copied, as scikit-learn's `clone` does where it has `get_params`, else deeply.
    blocks : Blocks
    moments : ClassMoments
    prior : (K,) float
    ncomp, estimated_prior
        As of `fit_flexible`.

    Raises
    ------
    DataError
        The engine cannot be copied or fitted, or predicts no scores; or predicts them without error.
    NotSupportedError
        Weights that are not whole numbers of rows; rows that do not fit in memory.
    """
    own, width = _copy_of(engine), moments.n_classes - 1
    refuse_large(
        blocks, "fda() gives the engine all rows", times=moments.total if blocks.weights is not None else 0
    )
    rows = gathered_rows(blocks)
    x, codes = rows.x, rows.codes
    if blocks.weights is not None:
        weights = blocks.weights[rows.positions]
        _refuse_fractions(engine, blocks, rows.positions, weights)
        x, codes = repeated(x, codes, weights)
    x = np.ascontiguousarray(x)
    scores = starting_scores(moments.counts)[codes]
    with late_bar(2, f"regression by {type(own).__name__}") as tell:
        _fit_engine(own, x, scores[:, 0] if width == 1 else scores, engine, width)
        tell(1)
        regress = _Regression(own, width)
        fitted = regress(x)
    sides = np.zeros((moments.n_classes, width))
    np.add.at(sides, codes, fitted)
    fit = fit_flexible(moments, prior, regress, sides, ncomp=ncomp, estimated_prior=estimated_prior)
    if fit.every_value[0] >= MOST:
        raise DataError(
            f"engine={text_of(engine)} predicts scores of the classes without error, or overshoots them, on "
            "the rows it was fitted to: the distances between classes are infinite. Use one that smooths."
        )
    if not len(fit.values):
        raise DataError(
            f"engine={text_of(engine)} predicts no score of the classes: there is no axis that tells them "
            "apart. Use another engine, or other columns."
        )
    return fit, own


def _fit_engine(own: Any, x: Floats, scores: Floats, engine: Any, width: int) -> None:
    try:
        own.fit(x, scores)
    except Exception as error:
        # An engine is the user's own code, which may raise anything.
        raise DataError(
            f"engine={text_of(engine)} cannot be fitted to {len(x)} rows with {width} "
            f"response{'s' if width > 1 else ''}: {error}. An engine has fit(X, Y) and predict(X); one of a "
            "single response may be wrapped in scikit-learn's MultiOutputRegressor."
        ) from error


def _copy_of(engine: Any) -> Any:
    if isinstance(engine, type) or not callable(getattr(engine, "fit", None)):
        given = f"the class {engine.__name__}" if isinstance(engine, type) else text_of(engine)
        raise DataError(
            f"engine={given} is no regression: give an object with fit(X, Y) and predict(X), such as "
            "scikit-learn's Ridge()."
        )
    try:
        return copied(engine)
    except Exception as error:
        raise DataError(
            f"engine={text_of(engine)} cannot be copied: {error}. Each fit needs an engine of its own: "
            "have it make what cannot be copied in fit(X, Y)."
        ) from error


def _refuse_fractions(engine: Any, blocks: Blocks, positions: NDArray[np.intp], weights: Floats) -> None:
    odd = weights != np.round(weights)
    if odd.any():
        row = blocks.table.label(int(positions[int(np.argmax(odd))]))
        raise NotSupportedError(
            f"engine={text_of(engine)} is fitted to rows: it takes weights that are whole numbers, and that "
            f"of row {row!r} is {weights[odd][0]:.6g}. Give such weights, or repeat rows."
        )


@dataclass(frozen=True, slots=True)
class _Regression:
    """What a fitted engine predicts, as finite numbers (m, width)."""

    engine: Any
    width: int

    def __call__(self, x: Floats) -> Floats:
        name, shape = text_of(self.engine), (len(x), self.width)
        try:
            found = np.asarray(self.engine.predict(x), dtype=np.float64)
        except Exception as error:
            raise DataError(
                f"engine={name} cannot predict {len(x)} rows: {error}. Use another engine."
            ) from error
        if found.shape != shape and not (self.width == 1 and found.shape == (len(x),)):
            raise DataError(
                f"engine={name} predicts an array of shape {found.shape}, where {shape} is asked for: use "
                "an engine of several responses."
            )
        lost = np.count_nonzero(~np.isfinite(found.reshape(shape)).all(axis=1))
        if lost:
            raise DataError(
                f"engine={name} predicts values that are not finite for {lost} of {len(x)} rows. Use an "
                "engine that predicts numbers, or columns of another scale."
            )
        return found.reshape(shape)
