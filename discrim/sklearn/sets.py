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
        """Sets of classes that contain the class of a row as often as the level says.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows with the columns of the fit.
        level : float
            How often the set contains the class: 0.95 stands for 95 percent.
        by : {"class"}, optional
            "class" keeps the promise within each class, whose rows are compared with those of the class, and
            not just over all rows together. A class with too few calibration rows for the level is in every
            set; a warning says so.
        method : {"loo", "cv", "split"}, optional
            How the calibration rows get their scores. "split" takes the rows of `calibration`. If new rows
            are exchangeable with these, it promises at least the level, and at most 1/(n + 1) more where
            scores do not tie, whatever the law and however bad the model. "loo" takes the rows of the fit,
            each by the rule without it, and "cv" takes them by rules without folds. Both keep the level
            closely in practice, but no bound says so for every law, because new rows are scored by another
            rule. They need the rows of the fit, which estimators do not keep: only those that `as_estimator`
            makes of a fit have them.
        calibration : tuple of X (m, p) and y (m,), optional
            Rows that the estimator has not seen, with their classes, for which the level is then promised.
            They are needed, as estimators keep no rows; only those of `as_estimator` do without.
        score : {"lac", "aps", "margin"}, optional
            How strange a row is in a class. "lac", the default, is one less its posterior; it gives the
            smallest sets on average, and is ranked by log odds, so that posteriors that are 0 or 1 to the
            last digit do not tie. "aps" is the sum of the posteriors of the class and of all more probable
            ones; its sets are larger, and as often right for hard rows as for easy ones. "margin" is the best
            score of the other classes less that of the class, and is what models without posteriors have.
        smoothed : bool
            Whether ties are broken at random, and "aps" takes a random share of the class's own posterior.
            The level is then kept exactly, and not just at least.
        seed : int, optional
            Seed of the folds and of smoothed sets.

        Returns
        -------
        (n, K) array of bool
            Whether the class is in the set, in the order of `classes_`. A class without rows is in none.

        Raises
        ------
        DataError
            A value is missing, or a class of `calibration` is not among `classes_`.
        NotSupportedError
            There is no `calibration`, and there are no rows to leave out, or no rules without them.

        Examples
        --------
        >>> from discrim.sklearn import LDAClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LDAClassifier().fit(X[::2], y[::2])
        >>> sets = model.predict_set(X[[0, 70, 133]], level=0.98, calibration=(X[1::2], y[1::2]))
        >>> sets.astype(int).tolist()
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
            raise DataError("calibration= takes rows and their classes: give a tuple (X, y).")
        design = self.results_._fit.blocks.design
        if design.response_columns != (design.response,):
            raise DataError(
                f"The response of the formula, {design.response!r}, is computed from other columns: "
                "pass calibration= as a table to results_.predict_set()."
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
