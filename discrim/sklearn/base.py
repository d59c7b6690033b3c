"""What the estimators share: arrays and frames to a verb's table, and its answers back to arrays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
import scipy
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from discrim.errors import CollinearError, DataError, DiscrimError, warn_user
from discrim.frame.arrays import array_table, refuse_missing, with_column
from discrim.frame.scan import quote
from discrim.frame.sparse import SparseFrame
from discrim.models.fits.arguments import check_word, listed
from discrim.models.fits.gaps import AS_FITTED, Gaps
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.sets import SetMethods

__all__ = [
    "FittedClassifier",
    "FrequencyClassifier",
    "PosteriorMethods",
    "VerbClassifier",
    "WeightedClassifier",
    "class_codes",
    "only_if",
    "refuse_constant",
    "response_name",
    "warn_instead",
]

Array = NDArray[Any]
Floats = NDArray[np.float64]

NUMBERS = "biuf"
"""Kinds of array that a verb reads as they stand."""


Method = TypeVar("Method", bound=Callable[..., Any])


def only_if(has: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """A method that is there where the estimator has it, as scikit-learn's `available_if`, with its type."""
    return cast("Callable[[Method], Method]", available_if(has))


def class_codes(y: Any, rows: Any, weights: Any) -> tuple[Array, NDArray[np.intp]]:
    """Classes, sorted, and the code of each row.

    Raises
    ------
    ValueError
        y is no column of class labels, or one is missing, or they are not as many as the rows.
    DataError
        The rows of positive weight are of one class.
    """
    if y is None:
        raise DataError("The estimator requires y to be passed, but the target y is None: pass the classes.")
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    if labels.dtype.kind not in "biuU":
        check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    check_consistent_length(rows, codes)
    weighed = classes
    if len(classes) > 1 and weights is not None and np.shape(weights) == codes.shape:
        weighed = classes[np.unique(codes[np.asarray(weights) > 0])]
    if len(weighed) == 1:
        raise DataError(
            f"y has one class only, {weighed.tolist()[0]!r}: a classifier needs two: pass rows of "
            "another class."
        )
    return classes, codes


class FittedClassifier(SetMethods, ClassifierMixin, BaseEstimator):
    """Labels and scores of new rows by `results_`, as arrays in the order of `classes_`.

    A child fits.
    """

    results_: ClassifierResults
    classes_: Array

    @abstractmethod
    def _table(self, X: Any) -> Any:
        """The rows of X as a table that `results_` can predict."""

    def _keep(self, results: ClassifierResults, classes: Array, *, every: bool = False) -> None:
        """Hold results, and their classes, sorted and with the dtype of y, or every class."""
        position = {label: k for k, label in enumerate(results.classes)}
        held = [every or label in position for label in classes.tolist()]
        self.results_ = results
        self.classes_ = classes[held]
        self.classes_.flags.writeable = False
        # -1 for a class that has no rows.
        self._order = np.array([position.get(label, -1) for label in self.classes_.tolist()], dtype=np.intp)

    def predict(self, X: Any) -> Array:
        """Class of each row.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows with the columns of the fit.

        Returns
        -------
        (n,) array of labels

        Raises
        ------
        DataError
            A value is missing or infinite; or a row has probability zero in every class, which naive Bayes
            can give.
        """
        results, blocks = self._asked(X)
        codes = results._fit.predicted_codes(blocks)
        if blocks.lost is not None:
            codes[blocks.lost] = int(np.argmax(results.prior.to_numpy()))
        if (codes < 0).any():
            row = blocks.table.label(int(np.argmax(codes < 0)))
            raise DataError(
                f"Row {row!r} has probability zero in every class, so that it has no label: fit with "
                "laplace=1, or a larger bandwidth."
            )
        return np.asarray(self.classes_[np.argsort(self._order)[(self._order < 0).sum() :][codes]])

    def _has_scores(self) -> bool:
        return True

    @only_if(lambda self: self._has_scores())
    def decision_function(self, X: Any) -> Floats:
        """Scores (n, K), largest for the predicted class; for two classes (n,), positive for the second.

        Nearest neighbours do not have this method: where all neighbours are of one class the log odds are
        infinite, which ROC curves and calibration do not accept. These use `predict_proba` instead.
        """
        if hasattr(self, "_order") and (self._order < 0).any():
            return self._posteriors(X, logs=True)
        results, blocks = self._asked(X)
        scores: Floats = results.decision_function(blocks).to_numpy(np.float64, copy=True)
        if blocks.lost is not None:
            logs = np.log(results.prior.to_numpy())
            scores[blocks.lost] = logs[1] - logs[0] if scores.ndim == 1 else logs
        if scores.ndim == 1:
            return scores if self._order[0] == 0 else -scores
        return np.ascontiguousarray(scores[:, self._order])

    def _asked(self, X: Any) -> tuple[Any, Any]:
        """The fit, and the rows of X read once, which all that it can be asked of takes in the place of X."""
        check_is_fitted(self)
        return self.results_, self.results_._fit.new_rows(self._table(X), self._gaps())

    def _gaps(self) -> Gaps:
        """What becomes of rows with a level that the fit has not seen, where that is an option."""
        return AS_FITTED

    def _posteriors(self, X: Any, *, logs: bool) -> Floats:
        results, blocks = self._asked(X)
        ask = results.predict_log_proba if logs else results.predict_proba
        found = ask(blocks).to_numpy(copy=blocks.lost is not None)
        if blocks.lost is not None:
            prior = results.prior.to_numpy()
            found[blocks.lost] = np.log(prior) if logs else prior
        if (self._order < 0).any():
            # A class without rows has the posterior zero.
            found = np.column_stack([found, np.full(len(found), -np.inf if logs else 0.0)])
        return np.asarray(found if (np.diff(self._order) == 1).all() else found[:, self._order])


class PosteriorMethods:
    """Posterior probabilities, of rules that have them."""

    def predict_proba(self: Any, X: Any) -> Floats:
        """Posterior probabilities (n, K) of the classes in the order of `classes_`.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows with the columns of the fit.
        """
        found: Floats = self._posteriors(X, logs=False)
        return found

    def predict_log_proba(self: Any, X: Any) -> Floats:
        """Logarithms of the posteriors (n, K), which are exact even where the posterior underflows.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows with the columns of the fit.
        """
        found: Floats = self._posteriors(X, logs=True)
        return found


class VerbClassifier(FittedClassifier):
    """An estimator over a verb: its constructor arguments are the keywords of the verb.

    Attributes
    ----------
    results_ : ClassifierResults
        What the verb returns, with `summary()` and the rest, without the rows of the table: what needs rows
        takes them as `data=`.
    classes_ : (K,) array
        Sorted labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : (p,) array of str
        Names of the columns, where X was a frame.
    """

    verb: ClassVar[Callable[..., Any]]
    takes_sparse: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.takes_sparse
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the verb to rows.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows to fit to. Sparse arrays of scipy are accepted where the estimator's tags say so.
        y : (n,) array of class labels
            Classes of the rows.

        Returns
        -------
        self

        Raises
        ------
        DiscrimError
            The errors of the verb; also where a value is missing.
        """
        return self._fitted(X, y, {})

    def _fitted(self, X: Any, y: Any, more: Mapping[str, Any]) -> Self:
        data = self._validated(X, reset=True)
        classes, codes = class_codes(y, data, more.get("weights"))
        self._refuse_classes(classes)
        names = self._names()
        response = response_name(y, names)
        table = with_column(data, names, response, codes, classes.tolist())
        options = {"na_action": "raise", **self.get_params(deep=False), **more}
        if "cv" in options:
            # The word of scikit-learn for what is folds in a verb.
            options["folds"] = options.pop("cv")
        formula = f"{quote(response)} ~ ."
        constant = options.pop("constant", "drop")
        check_word("constant", constant, ("drop", "raise"))
        if constant == "raise":
            refuse_constant(table, names)
        try:
            results = self._results(formula, table, options)
        except DiscrimError:
            self._refuse_missing(table)
            raise
        self._learn(results)
        self._keep(results._without_rows(), classes)
        return self

    def _learn(self, results: ClassifierResults) -> None:
        """Take from a fit what is asked of its rows later; an estimator does not keep them."""

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        """What the verb gives, or, with a warning, what a child turns to where there is no such fit."""
        results: ClassifierResults = type(self).verb(formula, data, **options)
        return results

    def _refuse_classes(self, classes: Array) -> None:
        """Raise a DataError for classes that the verb does not take."""

    def _names(self) -> Sequence[str]:
        named: Any = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if named is None else named.tolist()

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """X as a table with the columns of the fit: a frame as it is, an array as a view."""
        rules: dict[str, Any]
        if scipy.sparse.issparse(X) and self.takes_sparse:
            rules = {"accept_sparse": "csr", "dtype": None if X.dtype.kind in NUMBERS else np.float64}
            held = validate_data(self, X, reset=reset, ensure_all_finite=False, **rules)
            return SparseFrame(held, self._names())
        kind = getattr(getattr(X, "dtype", None), "kind", "O")
        rules = {
            "dtype": None if kind in NUMBERS else np.float64,
            "ensure_all_finite": False,
        }
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if hasattr(self, "feature_names_in_"):
                return X
            return array_table(check_array(X, **rules), self._names())
        return array_table(validate_data(self, X, reset=reset, **rules), self._names())

    def _table(self, X: Any) -> Any:
        table = self._validated(X, reset=False)
        self._refuse_missing(table)
        return table

    def _refuse_missing(self, table: Any) -> None:
        refuse_missing(table, self._names())


class FrequencyClassifier(VerbClassifier):
    """An estimator over a verb with weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the verb to rows.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows to fit to. Sparse arrays of scipy are accepted where the estimator's tags say so.
        y : (n,) array of class labels
            Classes of the rows.
        sample_weight : (n,) array, optional
            Frequency weights: a weight of 3 stands for three equal rows.

        Returns
        -------
        self

        Raises
        ------
        DiscrimError
            The errors of the verb; also where a value is missing.
        """
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return self._fitted(X, y, {"weights": weights})


class WeightedClassifier(PosteriorMethods, FrequencyClassifier):
    """An estimator over a verb with posteriors and weights."""


def refuse_constant(data: Any, names: Sequence[str]) -> None:
    """Raise a CollinearError that names numeric columns of one value, which a verb would leave out."""
    numbers = {name: data[name].to_numpy() for name in names if data[name].dtype.kind in NUMBERS}
    still = [name for name, values in numbers.items() if len(values) and (values == values[0]).all()]
    if still:
        raise CollinearError(
            f"{listed(still)} {'is' if len(still) == 1 else 'are'} constant: leave "
            f'{"it" if len(still) == 1 else "them"} out, or pass constant="drop".'
        )


def warn_instead(error: DiscrimError, instead: str) -> None:
    """Warn of what was fitted instead, and of the error that is why."""
    warn_user(f"Fitted {instead} instead. {error}")


def response_name(y: Any, names: Sequence[str]) -> str:
    """What the response is called in the summary: as y is, or "y", and like no column."""
    name = getattr(y, "name", None)
    name = name if isinstance(name, str) and name else "y"
    while name in names:
        name += "_"
    return name
