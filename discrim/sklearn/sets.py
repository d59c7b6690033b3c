"""Prediction sets of estimators."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from discrim.errors import DataError
from discrim.frame.arrays import with_column
from discrim.models.fits.arguments import listed

__all__ = ["SetMethods"]


class SetMethods:
    """Conformal prediction sets, for children of `FittedClassifier`."""

    def predict_set(
        self: Any,
        X: Any,
        level: float = 0.95,
        *,
        by: Literal["class"] | None = None,
        method: Literal["loo", "cv", "split"] | None = None,
        calibration: tuple[Any, Any] | None = None,
        score: Literal["lac", "aps", "margin"] | None = None,
        smoothed: bool = False,
        seed: int | None = None,
    ) -> NDArray[np.bool_]:
        """Sets of classes that hold the class of a row as often as the level says.

        Parameters
        ----------
        X : (n, p) array, or frame
        level : float
        by, method, score, smoothed, seed : optional
            As of `predict_set` of what the verb gives, which says what each promises.
        calibration : tuple of X (m, p) and y (m,), optional
            Rows that the estimator has not seen, with their classes: it then promises the level for rows like
            these. Needed after `partial_fit`, which holds no rows.

        Returns
        -------
        (n, K) array of bool
            Whether the class is in the set, in the order of `classes_`. A class without rows is in none.

        Raises
        ------
        DataError
            A value is missing; a class of `calibration` is none of `classes_`.
        NotSupportedError
            There are no rows to leave out, or no rules without them: pass `calibration`.

        Examples
        --------
        >>> from discrim.sklearn import LDAClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> LDAClassifier().fit(X, y).predict_set(X[[0, 70, 133]], level=0.99).astype(int).tolist()
        [[1, 0, 0], [0, 1, 1], [0, 1, 1]]
        """
        results, blocks = self._asked(X)
        held = None if calibration is None else self._calibration(calibration)
        frame = results.predict_set(
            blocks, level, by=by, method=method, calibration=held, score=score, smoothed=smoothed, seed=seed
        )
        # A row with a level that the fit has not seen may be of any class.
        inside = frame.iloc[:, 1:].fillna(True).to_numpy(bool)
        found = np.zeros((len(inside), len(self._order)), dtype=bool)
        found[:, self._order >= 0] = inside[:, self._order[self._order >= 0]]
        return found

    def _calibration(self: Any, calibration: Any) -> Any:
        """X and y as a table with the response of the fit."""
        if not (isinstance(calibration, (tuple, list)) and len(calibration) == 2):
            raise DataError("calibration= is of rows and their classes: give a tuple (X, y).")
        design = self.results_._fit.blocks.design
        if design.response_columns != (design.response,):
            raise DataError(
                f"The response of the formula, {design.response!r}, is made of others: pass calibration= as "
                "a table to results_.predict_set()."
            )
        X, y = calibration
        labels = column_or_1d(y)
        check_consistent_length(X, labels)
        position = {label: k for k, label in enumerate(design.levels)}
        unknown = sorted({str(label) for label in labels.tolist() if label not in position})
        if unknown:
            raise DataError(
                f"calibration= has classes that the estimator has no rows of: {listed(unknown)}. It knows "
                f"{listed(design.levels)}: leave the others out."
            )
        codes = np.array([position[label] for label in labels.tolist()], dtype=np.intp)
        return with_column(self._table(X), design.columns, design.response, codes, list(design.levels))
