"""Base classes and helpers of the scikit-learn estimators.

A verb is a function of this package that fits a model, such as `discrim.lda`. An estimator converts an array
or frame to a table for its verb, and the results of the fit back to arrays in the order of `classes_`:
labels, scores, posteriors, prediction sets and, if the rule is linear, coefficients by feature. If the verb
raises an error for the rows, an estimator may fit a simpler model with a warning, because a grid search
should not stop at one combination of parameters.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, NoReturn, Self, TypeAlias, TypeVar, cast

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

import discrim
from discrim.core.numerics.arrays import Array, Floats
from discrim.core.numerics.threads import one_blas_thread
from discrim.core.rules.rules import LinearRule, Rule, log_posteriors, posteriors
from discrim.covariance import Shrunk
from discrim.data.sparse import SparseFrame
from discrim.data.table import Table, array_table, last_column, raise_if_missing, with_column
from discrim.design.design_rows import DesignRows
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimError,
    DroppedColumnsWarning,
    FallbackWarning,
    NotSupportedError,
    SeparationError,
    warn_user,
)
from discrim.formula.grammar import quote
from discrim.models.base.fit import AS_FITTED, MissingPolicy
from discrim.models.base.labels import make_unique_name
from discrim.models.base.reading import check_word, join_labels
from discrim.models.base.scores import Decision, predict_codes, transform_scores
from discrim.models.results.results import ClassifierResults
from discrim.specification import Specification


class SetMethods:
    """Mixin with conformal prediction sets, for estimators that are fitted by a verb.

    Attributes
    ----------
    results_ : ClassifierResults
        Results of the fit.
    _order : (K,) int array
        Position of each of `classes_` among the classes of the results; -1 for a class without rows.
    """

    results_: ClassifierResults
    _order: NDArray[np.intp]

    @abstractmethod
    def _fit_and_rows(self, X: Any) -> tuple[Any, Any]:
        """Return the results of the fit, and the rows of X as `DesignRows`, which their methods accept."""

    @abstractmethod
    def _table(self, X: Any) -> Table:
        """Return the rows of X as a table that `results_` can predict."""

    @one_blas_thread()
    def predict_set(
        self,
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
        """Return for each row a set of classes that contains the class of the row with probability `level`.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows with the columns of the fit.
        level : float
            Probability with which the set contains the class: 0.95 stands for 95 percent.
        by : {"class"}, optional
            "class" guarantees the level within each class, and not just over all rows together: rows are
            compared with the calibration rows of the class. A class with too few of these for the level is
            in every set, with a warning.
        method : {"loo", "cv", "split"}, optional
            How the calibration rows are scored. "split" uses the rows of `calibration`. If new rows are
            exchangeable with these, the coverage is at least the level, and at most 1/(n + 1) more if scores
            do not tie, for any distribution and any model. "loo" uses the rows of the fit, each scored by
            the rule without it, and "cv" scores them by rules without their folds. Both are close to the
            level in practice, but are not guaranteed for every distribution, because new rows are scored by
            another rule. They need the rows of the fit, which only estimators made by `as_estimator` keep.
        calibration : tuple of X (m, p) and y (m,), optional
            Rows that the estimator has not seen, with their classes, for which the level is then promised.
            They are needed because estimators keep no rows, except if made by `as_estimator`.
        score : {"lac", "aps", "margin"}, optional
            Nonconformity of a row with a class. "lac", the default, is one minus its posterior; its sets are
            the smallest on average. It is ranked by log odds, otherwise posteriors that round to 0 or 1 would
            tie. "aps" is the sum of the posteriors of the class and of all more probable ones; its sets are
            larger, and as often right for hard rows as for easy ones. "margin" is the best score of the other
            classes minus the score of the class; it is the only one for models without posteriors.
        smoothed : bool
            Whether ties are broken at random, and "aps" includes a random share of the class's own
            posterior. The coverage is then exactly the level, and not just at least.
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
            `calibration` is None, and the fit has not kept its rows or lacks leave-one-out rules.

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
        results, blocks = self._fit_and_rows(X)
        calibration_table = None if calibration is None else self._calibration_table(calibration)
        frame = results.predict_set(
            blocks,
            level,
            by=by,
            method=method,
            calibration=calibration_table,
            score=score,
            smoothed=smoothed,
            seed=seed,
        )
        # A row with an unseen level of a factor may be of any class.
        in_set = frame.iloc[:, 1:].fillna(True).to_numpy(bool)
        set_mask = np.zeros((len(in_set), len(self._order)), dtype=bool)
        set_mask[:, self._order >= 0] = in_set[:, self._order[self._order >= 0]]
        return set_mask

    def _calibration_table(self, calibration: Any) -> Any:
        """Convert the tuple (X, y) of `calibration=` to a table with the columns and response of the fit.

        Raises a DataError for unknown classes, and if the response of the fit is not a single column.
        """
        if not (isinstance(calibration, (tuple, list)) and len(calibration) == 2):
            raise DataError("calibration= must be rows and their classes.", hint="Pass a tuple (X, y).")
        design = self.results_._fit.design_rows.design
        if design.response_columns != (design.response,):
            raise DataError(
                f"The response of the formula, {design.response!r}, is computed from other columns.",
                hint="Pass calibration= as a table to results_.predict_set().",
            )
        X, y = calibration
        labels = column_or_1d(y)
        check_consistent_length(X, labels)
        position = {label: k for k, label in enumerate(design.levels)}
        unknown = sorted({str(label) for label in labels.tolist() if label not in position})
        if unknown:
            raise DataError(
                f"calibration= has unknown classes: {join_labels(unknown)}. The "
                f"classes are {join_labels(design.levels)}.",
                hint="Leave out rows of unknown classes.",
            )
        codes = np.array([position[label] for label in labels.tolist()], dtype=np.intp)
        return with_column(self._table(X).data, design.columns, design.response, codes, list(design.levels))


SimplerFit: TypeAlias = ClassifierResults | None
"""A simpler fit instead of one that a verb has refused; None if the error is to be raised."""


class RefusedFit(NamedTuple):
    """A call of a verb that has raised an error.

    Attributes
    ----------
    error : DiscrimError
        Error of the verb.
    formula : str or None
        Formula of the call; None if `options` contains moments.
    data : table or None
        Table of the call; None if `options` contains moments.
    options : dict
        Keyword arguments of the call.
    """

    error: DiscrimError
    formula: Any
    data: Any
    options: dict[str, Any]


NUMERIC_KINDS = "biuf"
"""Kinds of NumPy dtype that a verb reads without conversion."""


Method = TypeVar("Method", bound=Callable[..., Any])


def available_only_if(has: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Make a method available only if `has(estimator)` is true.

    It is scikit-learn's `available_if` with type annotations that preserve the signature of the method.
    """
    return cast("Callable[[Method], Method]", available_if(has))


def validate_labels(y: Any) -> Array:
    """Return the labels (n,) of rows; raise a DataError for None, and a ValueError for a missing label."""
    if y is None:
        raise DataError(
            "The estimator requires y to be passed, but the target y is None.", hint="Pass the classes."
        )
    labels: Array = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    return labels


def encode_classes(y: Any, rows: Any, weights: Any) -> tuple[Array, NDArray[np.intp]]:
    """Encode labels, and check that rows of positive weight belong to at least two classes.

    Parameters
    ----------
    y : (n,) array
        Labels.
    rows : array or table of n rows
        Its length must equal the length of `y`.
    weights : (n,) array or None
        Frequency weights.

    Returns
    -------
    classes : (K,) array
        Sorted labels.
    codes : (n,) array of int
        Position of each label in `classes`.

    Raises
    ------
    DataError
        Only one class has rows of positive weight.
    ValueError
        Labels are missing or are measurements, or the lengths differ.
    """
    labels = validate_labels(y)
    if labels.dtype.kind not in "biuU":
        check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    check_consistent_length(rows, codes)
    weighted_classes = classes
    if len(classes) > 1 and weights is not None and np.shape(weights) == codes.shape:
        weighted_classes = classes[np.unique(codes[np.asarray(weights) > 0])]
    if len(weighted_classes) == 1:
        raise DataError(
            f"y has one class only, {weighted_classes.tolist()[0]!r}: a classifier requires two.",
            hint="Pass rows of another class.",
        )
    return classes, codes


class FittedClassifier(SetMethods, ClassifierMixin, BaseEstimator):
    """Base class that predicts labels and scores of new rows by `results_`, in the order of `classes_`.

    Subclasses implement the fit.
    """

    classes_: Array

    def _store_results(self, results: ClassifierResults, classes: Array, *, keep_all: bool = False) -> None:
        """Store the results of a fit and its classes, from which new rows are predicted.

        Sets `results_`, `classes_` (read-only) and `_order`.

        Parameters
        ----------
        results : ClassifierResults
        classes : (K,) array
            Sorted labels, with the dtype of y.
        keep_all : bool
            Whether `classes_` includes classes without rows, which the results do not have; otherwise they
            are left out.
        """
        position = {label: k for k, label in enumerate(results.classes)}
        is_kept = [keep_all or label in position for label in classes.tolist()]
        self.results_ = results
        self.classes_ = classes[is_kept]
        self.classes_.flags.writeable = False
        # The position of a class without rows is -1.
        self._order = np.array([position.get(label, -1) for label in self.classes_.tolist()], dtype=np.intp)

    @one_blas_thread()
    def predict(self, X: Any) -> Array:
        """Return the predicted class of each row.

        A row with an unseen level, if such levels are missing values, has the class of largest prior.

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
            A value is missing or infinite; or a row has probability zero in every class, which is possible in
            naive Bayes.
        """
        results, blocks = self._fit_and_rows(X)
        codes = predict_codes(blocks, self._rule_of(results, blocks), len(results._fit.prior), Decision())
        if blocks.rows.excluded is not None:
            codes[blocks.rows.excluded] = int(np.argmax(results.prior.to_numpy()))
        if (codes < 0).any():
            row = blocks.table.label(int(np.argmax(codes < 0)))
            raise DataError(
                f"Row {row!r} has probability zero in every class, so no label can be predicted.",
                hint="Fit naive Bayes with laplace=1, or kernel densities with a larger bandwidth.",
                rows=(row,),
            )
        return np.asarray(self.classes_[np.argsort(self._order)[(self._order < 0).sum() :][codes]])

    def _has_scores(self) -> bool:
        """Return whether the estimator has `decision_function`."""
        return True

    @available_only_if(lambda self: self._has_scores())
    @one_blas_thread()
    def decision_function(self, X: Any) -> Floats:
        """Return scores (n, K), largest for the predicted class, or (n,) for two, positive for the second.

        Nearest neighbours do not have this method: if all neighbours are of one class the log odds are
        infinite, which ROC curves and calibration do not accept. Those use `predict_proba` instead. If
        `classes_` includes classes without rows, the scores are the log posteriors (n, K).

        Parameters
        ----------
        X : (n, p) array or frame
            Rows with the columns of the fit.

        Returns
        -------
        (n, K) or (n,) float array
        """
        if hasattr(self, "_order") and (self._order < 0).any():
            return self._posteriors(X, logs=True)
        results, blocks = self._fit_and_rows(X)
        scores: Floats = results.decision_function(blocks).to_numpy(np.float64, copy=True)
        if blocks.rows.excluded is not None:
            logs = np.log(results.prior.to_numpy())
            scores[blocks.rows.excluded] = logs[1] - logs[0] if scores.ndim == 1 else logs
        if scores.ndim == 1:
            return scores if self._order[0] == 0 else -scores
        return np.ascontiguousarray(scores[:, self._order])

    def _fit_and_rows(self, X: Any) -> tuple[Any, Any]:
        """Return the results of the fit, and the rows of X as `DesignRows`, which their methods accept."""
        check_is_fitted(self)
        return self.results_, self.results_._fit.new_rows(self._table(X), self._missing_policy())

    def _rule_of(self, results: ClassifierResults, design_rows: DesignRows) -> Rule:
        """Return the rule that computes labels and posteriors of new rows.

        Parameters
        ----------
        results : ClassifierResults
        design_rows : DesignRows
            The new rows, because the rule of some models depends on them, for example on missing values.

        Returns
        -------
        Rule
        """
        return results._fit.rule_for(design_rows)

    def _missing_policy(self) -> MissingPolicy:
        """Return the treatment of new rows with missing values or unseen levels of factors."""
        return AS_FITTED

    def _posteriors(self, X: Any, *, logs: bool) -> Floats:
        """Return posteriors (n, K) or their logarithms, in the order of `classes_`.

        They are 0 (or -inf) for a class without rows, and the prior for a row with an unseen level.
        """
        results, blocks = self._fit_and_rows(X)
        results._fit.require_posteriors("predict_log_proba()" if logs else "predict_proba()")
        finish = log_posteriors if logs else posteriors
        values = transform_scores(blocks, self._rule_of(results, blocks), len(results._fit.prior), finish)
        if blocks.rows.excluded is not None:
            prior = results.prior.to_numpy()
            values[blocks.rows.excluded] = np.log(prior) if logs else prior
        if (self._order < 0).any():
            # A class without rows has the posterior zero.
            values = np.column_stack([values, np.full(len(values), -np.inf if logs else 0.0)])
        return np.asarray(values if (np.diff(self._order) == 1).all() else values[:, self._order])


class PosteriorMethods(FittedClassifier):
    """Base class of estimators whose rules have posterior probabilities."""

    def _has_posteriors(self) -> bool:
        """Return whether the estimator has `predict_proba` and `predict_log_proba`."""
        return True

    @available_only_if(lambda self: self._has_posteriors())
    @one_blas_thread()
    def predict_proba(self, X: Any) -> Floats:
        """Return the posterior probabilities (n, K) of the classes in the order of `classes_`.

        Rules without posteriors, such as the perceptron, do not have this method.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows with the columns of the fit.
        """
        return self._posteriors(X, logs=False)

    @available_only_if(lambda self: self._has_posteriors())
    @one_blas_thread()
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the posteriors (n, K), which are exact even if the posterior underflows.

        Rules without posteriors, such as the perceptron, do not have this method.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows with the columns of the fit.
        """
        return self._posteriors(X, logs=True)


class VerbClassifier(FittedClassifier):
    """An estimator that calls a verb: its constructor arguments are the keywords of the verb.

    Attributes
    ----------
    results_ : ClassifierResults
        Results of the verb, with `summary()` and all other methods, but without the rows of the table:
        methods that need rows have an argument `data=`.
    classes_ : (K,) array
        Sorted labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : (p,) array of str
        Names of the columns, if X was a frame.
    """

    verb: ClassVar[Callable[..., Any]]
    not_supported: ClassVar[tuple[str, ...]] = ()
    """Options of the verb that the estimator does not have."""
    positional: ClassVar[tuple[str, ...]] = ()
    """Parameters that may be passed by position."""
    specifications: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """For each parameter, a function from a word or a number to its specification."""
    takes_sparse: ClassVar[bool] = False
    """Whether `fit` accepts sparse arrays of scipy."""
    _fallback_option: ClassVar[tuple[str, str] | None] = None
    """Parameter that controls what happens if the verb fails, and its value for fitting a simpler model.

    The other value of the parameter is "raise". None if the estimator lacks the parameter.
    """

    if TYPE_CHECKING:
        # The decorator `estimator` builds the constructor from the signature of the verb.
        def __init__(self, *args: Any, **options: Any) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.takes_sparse
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Whether the parameters of specifications and of estimators, such as `covariance__shrinkage`, are
            included.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = super().get_params(deep)
        if deep:
            for name in self._get_param_names():
                specification = self._specification(name)
                nested = {} if specification is None else specification.parameters()
                params |= {f"{name}__{key}": value for key, value in nested.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including parameters of specifications and of estimators.

        A specification is replaced by one with the new values, which is validated.

        Parameters
        ----------
        **params
            Parameters by name, such as `covariance` or `covariance__shrinkage`. If `covariance` is a word,
            such as "shrunk", `covariance__shrinkage` changes the specification that it stands for.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            The parameter does not exist.
        DataError
            A specification does not allow the value.
        """
        own_params = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**own_params)
        changes: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for key in params.keys() - own_params.keys():
            name, _, nested = key.partition("__")
            changes[name][nested] = params[key]
        for name, values in changes.items():
            specification = self._specification(name) if name in self._get_param_names() else None
            if specification is None:
                if name in self._get_param_names() and not hasattr(getattr(self, name), "set_params"):
                    self._raise_nested(name, values, [])
                super().set_params(**{f"{name}__{key}": value for key, value in values.items()})
                continue
            current = specification.parameters()
            if values.keys() - current.keys():
                self._raise_nested(name, values, current)
            if any(value is not current[key] for key, value in values.items()):
                setattr(self, name, replace(specification, **values))
        return self

    def _raise_nested(self, name: str, values: Iterable[str], valid: Iterable[str]) -> NoReturn:
        """Raise scikit-learn's ValueError for a parameter that a specification does not have.

        Parameters
        ----------
        name : str
            Parameter of the estimator, whose value is the specification.
        values : iterable of str
            Nested parameters that were passed.
        valid : iterable of str
            Nested parameters that exist.
        """
        valid = list(valid)
        unknown = next(parameter for parameter in values if parameter not in valid)
        raise ValueError(
            f"Invalid parameter {unknown!r} for {name}={getattr(self, name)!r} of {self}. Valid parameters "
            f"are: {valid!r}. Use one of these."
        )

    def _specification(self, name: str) -> Specification | None:
        """Return the value of a parameter as a specification; None if it is not one or is invalid."""
        value = getattr(self, name)
        if name in self.specifications:
            try:
                value = self.specifications[name](value)
            except DiscrimError:
                # An invalid value is reported by fit().
                return None
        return value if isinstance(value, Specification) else None

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the verb to rows.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows to fit to. Sparse arrays of scipy are accepted if the tag `input_tags.sparse` is set.
        y : (n,) array of class labels
            Classes of the rows.

        Returns
        -------
        self

        Raises
        ------
        DiscrimError
            The errors of the verb; also if a value is missing.
        """
        return self._fit_verb(X, y, {})

    def _fit_verb(self, X: Any, y: Any, extra_options: Mapping[str, Any]) -> Self:
        """Validate X and y, fit the verb to them, and store the results without the rows.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows to fit to.
        y : (n,) array
            Classes of the rows.
        extra_options : mapping
            Arguments of the verb in addition to the parameters, such as weights.

        Returns
        -------
        self

        Raises
        ------
        DiscrimError
            A value is missing, `classes_` are not accepted, or the verb refuses rows and the class lacks a
            fallback.
        """
        data = self._validate_rows(X, reset=True)
        classes, codes = encode_classes(y, data, extra_options.get("weights"))
        self._check_classes(classes)
        names = self._column_names()
        response = response_name(y, names)
        table = with_column(data, names, response, codes, classes.tolist())
        options = {"na_action": "raise", **self.get_params(deep=False), **extra_options}
        if "cv" in options:
            # scikit-learn's name of the parameter `folds` of verbs.
            options["folds"] = options.pop("cv")
        formula = f"{quote(response)} ~ {self._formula_right_side()}"
        constant = options.pop("constant", "drop")
        check_word("constant", constant, ("drop", "raise"))
        if constant == "raise":
            check_no_constant_columns(table, names)
        try:
            results = self._call_verb(formula, table, options)
        except DiscrimError:
            self._raise_if_missing(table)
            raise
        self._store_row_statistics(results)
        self._store_results(results._without_rows(), classes)
        return self

    def _formula_right_side(self) -> str:
        """Return the right-hand side of the formula."""
        return "."

    def _store_row_statistics(self, results: ClassifierResults) -> None:
        """Store quantities that later calls need from the rows of a fit, which are not kept; here none."""

    def _call_verb(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        """Call the verb; if it fails, fit a simpler model with a warning or raise the error of the verb.

        Parameters
        ----------
        formula : str or None
            None if `options` contains moments.
        data : table or None
            None if `options` contains moments.
        options : dict
            Keyword arguments of the verb, and the fallback parameter, which is removed from it.

        Returns
        -------
        ClassifierResults
        """
        fallback = None
        if self._fallback_option is not None:
            name, word = self._fallback_option
            fallback = options.pop(name)
            check_word(name, fallback, (word, "raise"))
        try:
            results: ClassifierResults = type(self).verb(formula, data, **options)
        except (CollinearError, DataError, SeparationError) as error:
            # No variable refers to the error, because its traceback refers to this frame and the table.
            simpler = (
                None if fallback == "raise" else self._fit_simpler(RefusedFit(error, formula, data, options))
            )
            if simpler is None:
                raise
            return simpler
        return results

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit a simpler model and issue a warning, after the verb has raised an error.

        This class does not define a simpler model. Subclasses override the method.

        Parameters
        ----------
        refused : RefusedFit
            The call of the verb, and its error.

        Returns
        -------
        ClassifierResults or None
            None if no simpler model solves the problem; the caller then raises the error again.
        """
        return None

    def _check_classes(self, classes: Array) -> None:
        """Raise a DataError if the verb does not accept these classes; here it accepts all."""

    def _column_names(self) -> Sequence[str]:
        """Return the names of the columns of X in the fit: the names of a frame, or x0, x1 and so on."""
        feature_names: Any = getattr(self, "feature_names_in_", None)
        return (
            [f"x{j}" for j in range(self.n_features_in_)] if feature_names is None else feature_names.tolist()
        )

    def _validate_rows(self, X: Any, *, reset: bool) -> Any:
        """Validate X and return it as a table with the columns of the fit.

        A frame whose column names are text is returned as it is. Missing values are not checked.

        Parameters
        ----------
        X : (n, p) array, sparse array or frame
        reset : bool
            Whether the names and the number of the columns are stored, or compared with the fit.

        Returns
        -------
        DataFrame, SparseFrame or other frame
        """
        check_options: dict[str, Any]
        if scipy.sparse.issparse(X) and self.takes_sparse:
            check_options = {
                "accept_sparse": "csr",
                "dtype": None if X.dtype.kind in NUMERIC_KINDS else np.float64,
            }
            matrix = validate_data(self, X, reset=reset, ensure_all_finite=False, **check_options)
            return SparseFrame(matrix, self._column_names())
        dtype_kind = getattr(getattr(X, "dtype", None), "kind", "O")
        check_options = {
            "dtype": None if dtype_kind in NUMERIC_KINDS else np.float64,
            "ensure_all_finite": False,
        }
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if hasattr(self, "feature_names_in_"):
                return X
            return array_table(check_array(X, **check_options), self._column_names())
        return array_table(validate_data(self, X, reset=reset, **check_options), self._column_names())

    def _table(self, X: Any) -> Table:
        """Return new rows as a `Table`; raise a DataError if a value is missing that the model cannot use."""
        table = Table(self._validate_rows(X, reset=False))
        self._raise_if_missing(table)
        return table

    def _raise_if_missing(self, table: Any) -> None:
        """Raise a DataError if a value is missing."""
        raise_if_missing(table, self._column_names())

    def onnx_shape_calculator(self) -> Callable[[Any], None]:
        """Return the function with which skl2onnx sets the types of the outputs (labels and posteriors)."""
        return partial(set_onnx_output_types, self)

    def onnx_converter(self) -> Callable[[Any, Any, Any], None]:
        """Return the function with which skl2onnx adds the nodes of the rule to a graph.

        Because of this method ``skl2onnx.to_onnx(pipeline, X[:1])`` supports pipelines with the estimator, if
        the rule can be exported to ONNX (see `ClassifierResults.to_onnx`). Posteriors are an (n, K) array.
        """
        return partial(write_onnx_nodes, self)


def set_onnx_output_types(fitted: VerbClassifier, operator: Any) -> None:
    """Set the types of the two outputs of an operator of skl2onnx: labels and posteriors.

    Labels are text, int64 or float64, like `classes_`; posteriors are float64.
    """
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    tensor_types = {"i": Int64TensorType, "u": Int64TensorType, "b": Int64TensorType, "f": DoubleTensorType}
    operator.outputs[0].set_type(tensor_types.get(fitted.classes_.dtype.kind, StringTensorType)([None]))
    operator.outputs[1].set_type(DoubleTensorType([None, len(fitted.classes_)]))


def write_onnx_nodes(fitted: VerbClassifier, scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a rule between the inputs and the outputs of an operator of skl2onnx.

    Parameters
    ----------
    fitted : VerbClassifier
        Fitted estimator.
    scope : skl2onnx scope
        Source of unique names of variables.
    operator : skl2onnx operator
        Operator of the estimator, whose inputs and outputs exist.
    container : skl2onnx container
        Receives nodes and constants.

    Raises
    ------
    NotSupportedError
        A class is empty, the rule cannot be exported, or there are neither one input nor one per column.
    """
    from skl2onnx.proto import TensorProto

    model = fitted.results_.to_onnx()
    columns = list(fitted._column_names())
    if len(fitted.results_.classes) < len(fitted.classes_):
        raise NotSupportedError(
            "ONNX models cannot contain a class without rows.", hint="Fit to rows of every class."
        )
    names = {}
    for graph_item in (*model.graph.initializer, *model.graph.node):
        for name in getattr(graph_item, "output", None) or [graph_item.name]:
            names[name] = scope.get_unique_variable_name("rule")
    for operator_output, model_output in zip(operator.outputs, model.graph.output, strict=True):
        names[model_output.name] = operator_output.full_name
    input_names = [model_input.full_name for model_input in operator.inputs]
    if len(input_names) not in (1, len(columns)):
        raise NotSupportedError(
            f"{len(input_names)} inputs for {len(columns)} columns.",
            hint="Use one input for all columns, or one for each.",
        )
    for model_input in model.graph.input:
        j = columns.index(model_input.name)
        names[model_input.name] = scope.get_unique_variable_name("column")
        column = input_names[min(j, len(input_names) - 1)]
        if len(input_names) < len(columns):
            index_name, column = (scope.get_unique_variable_name("column") for _ in range(2))
            container.add_initializer(index_name, TensorProto.INT64, [1], [j])
            container.add_node("Gather", [input_names[0], index_name], column, axis=1)
        container.add_node("Cast", column, names[model_input.name], to=model_input.type.tensor_type.elem_type)
    for tensor in model.graph.initializer:
        tensor.name = names[tensor.name]
        container.initializers.append(tensor)
    for node in model.graph.node:
        options = {
            model_input.name: list(model_input.ints) or model_input.i for model_input in node.attribute
        }
        inputs, outputs = ([names[name] for name in model_input] for model_input in (node.input, node.output))
        container.add_node(node.op_type, inputs, outputs, **options)


class FrequencyClassifier(VerbClassifier):
    """Estimator whose verb accepts weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the verb to rows.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows to fit to. Sparse arrays of scipy are accepted if the tag `input_tags.sparse` is set.
        y : (n,) array of class labels
            Classes of the rows.
        sample_weight : (n,) array, optional
            Frequency weights: a weight of 3 stands for three identical rows.

        Returns
        -------
        self

        Raises
        ------
        DiscrimError
            The errors of the verb; also if a value is missing.
        """
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return self._fit_verb(X, y, {"weights": weights})


class WeightedClassifier(PosteriorMethods, FrequencyClassifier):
    """Estimator whose verb accepts weights and has posteriors."""


def check_no_constant_columns(data: Any, names: Sequence[str]) -> None:
    """Raise a CollinearError with the names of constant numeric columns among `names`, if there are any."""
    numeric_columns = {
        name: data[name].to_numpy() for name in names if data[name].dtype.kind in NUMERIC_KINDS
    }
    constant_names = [
        name for name, values in numeric_columns.items() if len(values) and (values == values[0]).all()
    ]
    if constant_names:
        raise CollinearError(
            f"{join_labels(constant_names)} {'is' if len(constant_names) == 1 else 'are'} constant.",
            hint=f'Leave {"it" if len(constant_names) == 1 else "them"} out, or pass constant="drop".',
        )


def response_name(y: Any, names: Sequence[str]) -> str:
    """Return a name for the response: the name of y, or "y", changed if a column of `names` has it."""
    name = getattr(y, "name", None)
    return make_unique_name(name if isinstance(name, str) and name else "y", names)


FALLBACK_COVARIANCE = Shrunk(standardize=True)
"""Covariance to fit if the requested one does not exist; standardized, because columns may have any units."""


MAX_SMALL_CLASS = 2
"""Largest number of rows of a class that may be too small for leave-one-out or cross-validation."""


def class_sizes(data: Any, options: Mapping[str, Any]) -> Any:
    """Return the number of rows of each class, or the sum of their weights.

    Parameters
    ----------
    data : DataFrame or None
        Table whose last column is the response; None if `options` contains moments.
    options : mapping
        Keyword arguments of the verb.

    Returns
    -------
    Series (K,)
        Sizes of the classes that have rows, by label; infinite if the weights have the wrong length.
    """
    if data is None:
        sizes = options["moments"].counts
        return sizes[sizes > 0]
    labels = last_column(data)
    weights = options.get("weights")
    if weights is None:
        counts = labels.value_counts()
        return counts[counts > 0]
    if np.shape(weights) != (len(labels),):
        # The verb has raised an error for these weights already; infinite sizes exclude other reasons.
        return labels.value_counts() + np.inf
    table = labels.to_frame("label").assign(weight=np.asarray(weights, dtype=np.float64))
    counts = table.groupby("label", observed=True)["weight"].sum()
    return counts[counts > 0]


def fit_with_warning(
    refused: RefusedFit, description: str, verb: Callable[..., Any], **options: Any
) -> ClassifierResults:
    """Fit a simpler model, and issue a FallbackWarning with its description and the reason.

    Parameters
    ----------
    refused : RefusedFit
        The call that failed, whose formula and data are used, and whose error is the reason.
    description : str
        Description of the simpler model, which completes "Fitted ... instead."
    verb : callable
        Verb of the simpler model.
    **options
        Keyword arguments of the verb; the keywords of the refused call are not used.

    Returns
    -------
    ClassifierResults

    Raises
    ------
    DiscrimError
        The error of `verb`, without a warning, if it refuses the rows too.
    """
    with warnings.catch_warnings():
        # The refused fit has issued these warnings.
        warnings.simplefilter("ignore", DroppedColumnsWarning)
        results: ClassifierResults = verb(refused.formula, refused.data, **options)
    warn_user(f"Fitted {description} instead. {refused.error}", FallbackWarning)
    return results


def shrunk_options(options: Mapping[str, Any], covariance: Specification | None = None) -> dict[str, Any]:
    """Return the keyword arguments of a verb with a shrunk covariance instead of the requested one.

    Parameters
    ----------
    options : mapping
        Keyword arguments of a verb, with `components`.
    covariance : Specification, optional
        The requested covariance. If it is `Shrunk`, its shrinkage is kept; otherwise `Shrunk()` is used.

    Returns
    -------
    dict
        A copy. The columns are standardized unless `components` is set, because components have an option of
        their own for this.
    """
    shrunk = covariance if isinstance(covariance, Shrunk) else Shrunk()
    if options.get("components") is None:
        shrunk = replace(shrunk, standardize=True)
    return {**options, "covariance": shrunk}


def minimal_shrunk_options(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return keyword arguments of `lda` or `qda`: a shrunk covariance, and options of another verb to keep.

    Parameters
    ----------
    options : mapping
        Keyword arguments of the verb that failed.
    *names : str
        Options to keep in addition to prior, weights, na_action and moments.

    Returns
    -------
    dict
    """
    kept_names = ("prior", "weights", "na_action", "moments", *names)
    return {name: options[name] for name in kept_names if name in options} | {
        "covariance": FALLBACK_COVARIANCE
    }


def fit_shrunk_lda(refused: RefusedFit, *names: str) -> ClassifierResults:
    """Fit `lda()` with a shrunk covariance and a warning.

    Parameters
    ----------
    refused : RefusedFit
        The call that failed.
    *names : str
        Options to keep in addition to prior, weights, na_action and moments.

    Returns
    -------
    ClassifierResults
    """
    lda_options = minimal_shrunk_options(refused.options, *names) | {"collinear": "drop"}
    return fit_with_warning(
        refused, f"lda() with covariance={FALLBACK_COVARIANCE}", discrim.lda, **lda_options
    )


def word_reader(specification_by_word: Mapping[str, Callable[[], Specification]]) -> Callable[[Any], Any]:
    """Return a function that replaces a word by its specification, and returns other values unchanged.

    Parameters
    ----------
    specification_by_word : mapping of str to callable
        For each word, a function that builds the specification with its defaults.

    Returns
    -------
    callable
        Used for `VerbClassifier.specifications`.
    """

    def read(value: Any) -> Any:
        """Return the specification of a known word, or any other value unchanged."""
        return (
            specification_by_word[value]()
            if isinstance(value, str) and value in specification_by_word
            else value
        )

    return read


class LinearCoefficients:
    """Coefficients of a linear rule under scikit-learn's names, for `RFE`, `SelectFromModel` and the like.

    If the rule is not linear, or the formula computes several columns from one feature of a frame, the
    attributes do not exist, and `hasattr` returns False.
    """

    @property
    def coef_(self) -> Floats:
        """Coefficients (K, p) by class and feature; for two classes (1, p), of the second minus the first.

        `X @ coef_.T + intercept_` is the decision function for two classes, and for models without
        posteriors. Otherwise the two differ by a number for each row, the same for all classes, because the
        coefficients of a feature are centred to sum to zero. The coefficients of a dropped feature are zero.
        If the values of features are large relative to their variation, `decision_function` is more precise
        than the product.
        """
        return _coefficients_by_feature(self)[0]

    @property
    def intercept_(self) -> Floats:
        """Constants (K,), or (1,) for two classes.

        The constant of a class without rows, or with a prior of zero, is minus infinity.
        """
        return _coefficients_by_feature(self)[1]


def _coefficients_by_feature(estimator: Any) -> tuple[Floats, Floats]:
    """Compute the coefficients of a linear rule for the features of X, in the order of `classes_`.

    Parameters
    ----------
    estimator : VerbClassifier
        A fitted estimator.

    Returns
    -------
    coef : (K, p) or (1, p) array
    intercept : (K,) or (1,) array

    Raises
    ------
    AttributeError
        The estimator is not fitted, the rule is not linear, or a term of the design is not a feature of X,
        such as a level of a factor.
    """
    if not hasattr(estimator, "results_"):
        raise AttributeError(f"{type(estimator).__name__} is not fitted yet: call fit first.")
    fit = estimator.results_._fit
    rule = fit.rule()
    names = list(estimator._column_names())
    if not isinstance(rule, LinearRule):
        raise AttributeError(
            f"{type(estimator).__name__} has no coefficients, because its rule is not linear; see "
            "sklearn.inspection.permutation_importance."
        )
    position = {name: j for j, name in enumerate(names)}
    terms_without_feature = [term for term in fit.terms if term not in position]
    if terms_without_feature:
        raise AttributeError(
            f"{join_labels(terms_without_feature)} of the design are not features, so features do not have "
            "one coefficient each; see results_.terms and its tables by term."
        )
    slopes = rule.coef * rule.scale[:, None]
    coef = np.zeros((len(fit.classes), len(names)))
    constants = rule.intercept - rule.origin @ slopes
    coef[:, [position[term] for term in fit.terms]] = slopes.T
    order = estimator._order
    has_rows = order >= 0
    coef_in_order = np.zeros((len(order), len(names)))
    intercepts = np.full(len(order), -np.inf)
    coef_in_order[has_rows], intercepts[has_rows] = coef[order[has_rows]], constants[order[has_rows]]
    if len(order) == 2:
        return np.diff(coef_in_order, axis=0), np.diff(intercepts)
    is_finite = np.isfinite(intercepts)
    if fit.has_posteriors:
        coef_in_order[has_rows] -= coef_in_order[is_finite].mean(axis=0)
        intercepts[has_rows] -= intercepts[is_finite].mean()
    return coef_in_order, intercepts
