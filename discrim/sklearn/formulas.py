"""Estimator that is specified by a formula, and conversion of a fit to an estimator."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

import discrim
from discrim.data.table import Table, array_table, raise_if_missing, with_column
from discrim.design.levels import Unseen
from discrim.errors import DataError, DiscrimError, FormulaError, NotSupportedError
from discrim.formula.grammar import quote
from discrim.models.base.fit import MissingPolicy
from discrim.models.base.reading import check_word, format_argument, join_labels, with_public_errors
from discrim.models.base.refits import refit_options, verb_name
from discrim.models.registry import MODELS
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import FittedClassifier, PosteriorMethods, encode_classes

VERBS = tuple(sorted({model.verb for model in MODELS if model.estimator is not None}))
"""Verbs that `FormulaClassifier` can fit."""

WITHOUT_POSTERIORS = tuple(model.verb for model in MODELS if not model.posteriors)
"""Verbs whose fits never have posteriors."""

WITHOUT_WEIGHTS = tuple(model.verb for model in MODELS if not model.weights)
"""Verbs that do not accept weights."""

_FORMULA_SIDES = re.compile(r"(?P<left>(?:[^`~]|`(?:[^`]|``)*`)*)~(?P<right>.*)", re.DOTALL)
"""The two sides of a formula; a name in backticks may contain a ~."""

_COLUMN_NAME = re.compile(r"`(?P<quoted>(?:[^`]|``)*)`|(?P<plain>[^\W\d]\w*)\b(?!\s*\()")
"""A column in the left side; a name before a bracket is a function."""


class FormulaClassifier(PosteriorMethods, FittedClassifier):
    """Estimator for a verb and a formula, which selects and transforms the columns of a frame.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas. The left side only names the
        classes, which come from y.
    verb : callable or str
        Verb that is fitted, such as `discrim.lda`, or its name.
    options : mapping, optional
        Arguments of the verb, by name. With `missing="em"` or "available" rows may have missing values.
    columns : sequence of str, optional
        The columns of X that the estimator reads, and that ``.`` stands for; by default all.
    unseen : {"raise", "missing"}
        Treatment of rows with a level that the fit has not seen. "raise" raises an error. "missing" predicts
        them without their values: the posteriors are the prior and the label is the class of largest prior,
        with a warning that counts the rows. A search over models then continues.

    Attributes
    ----------
    results_ : ClassifierResults
        Results of the verb, without the rows of the table.
    classes_ : (K,) array
        Sorted labels.
    feature_names_in_ : (q,) array of str
        Columns that the formula reads. X may have others, in any order.
    n_features_in_ : int
        Number of these columns.

    Examples
    --------
    >>> import discrim
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> model = FormulaClassifier("species ~ log(petal_width) + petal_length", discrim.qda)
    >>> model.fit(iris, iris["species"]).predict(iris[:1]).tolist()
    ['setosa']
    """

    @with_public_errors
    def __init__(
        self,
        formula: str,
        verb: Callable[..., Any] | str = "lda",
        options: Mapping[str, Any] | None = None,
        columns: Sequence[str] | None = None,
        unseen: Unseen = "raise",
    ) -> None:
        self.formula = formula
        self.verb = verb
        self.options = options
        self.columns = columns
        self.unseen = unseen

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the formula to the rows of a frame.

        Parameters
        ----------
        X : frame
            Rows with the columns of the formula's right side. A column with the name of the response is
            ignored.
        y : (n,) array of class labels
            Classes of the rows.
        sample_weight : (n,) array, optional
            Frequency weights: a weight of 3 stands for three identical rows. The perceptron and the
            hyperplane do not accept weights.

        Returns
        -------
        self

        Raises
        ------
        DiscrimError
            The errors of the verb; also if a value is missing.
        """
        verb_name = self._verb_name()
        check_word("verb", verb_name, VERBS)
        if not isinstance(self.options, Mapping | None):
            raise DataError(
                f"options={format_argument(self.options)} is not a mapping.",
                hint='Pass the arguments of the verb by name, such as options={"prior": "equal"}.',
            )
        check_word("unseen", self.unseen, ("raise", "missing"))
        classes, codes = encode_classes(y, X, sample_weight)
        response, names, formula = self._split_formula(self._columns(X))
        if sample_weight is not None and verb_name in WITHOUT_WEIGHTS:
            raise NotSupportedError(
                f"{verb_name} does not support sample_weight.",
                hint="Leave it out.",
            )
        weights = {} if sample_weight is None else {"weights": np.asarray(sample_weight)}
        action = "drop" if self._uses_incomplete_rows() else "raise"
        options = {"na_action": action, **(self.options or {}), **weights}
        verb: Callable[..., Any] = getattr(discrim, verb_name)
        try:
            results = verb(formula, with_column(X, names, response, codes, classes.tolist()), **options)
        except DiscrimError:
            if options["na_action"] == "raise":
                raise_if_missing(X, names)
            raise
        self._store_fit(results._without_rows(), classes)
        return self

    def _store_fit(self, results: ClassifierResults, classes: Any) -> None:
        """Store the results of a fit, its classes (K,) and the columns that it reads."""
        self._store_results(results, classes)
        self.feature_names_in_ = np.array(results._fit.design_rows.design.columns, dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)

    def _verb_name(self) -> Any:
        """Return the name of the verb; for another function its module and name, for the message."""
        name = getattr(self.verb, "__name__", None)
        if name is None or not callable(self.verb):
            return self.verb
        is_verb = name in VERBS and getattr(discrim, name) is self.verb
        return name if is_verb else f"{self.verb.__module__}.{name}"

    def _uses_incomplete_rows(self) -> bool:
        """Return whether the verb fits and predicts rows with missing values."""
        return isinstance(self.options, Mapping) and self.options.get("missing") in ("em", "available")

    def __sklearn_tags__(self) -> Any:
        """Return the tags, with missing values allowed if the verb uses incomplete rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._uses_incomplete_rows()
        return tags

    def _columns(self, X: Any) -> list[str]:
        """Return the names of the columns of X that the formula may use.

        Raise a DataError if X is not a frame, or does not have a column of `columns`.
        """
        if not hasattr(X, "columns"):
            raise DataError(
                f"The formula {self.formula!r} requires named columns, but X is a {type(X).__name__}.",
                hint="Pass a frame, or use estimators such as discrim.sklearn.LDAClassifier for arrays.",
            )
        table = Table(X)
        if self.columns is None:
            return list(table.names)
        for name in self.columns:
            table.position(name)
        return list(self.columns)

    def _split_formula(self, names: Sequence[str]) -> tuple[str, list[str], str]:
        """Replace the left side of the formula by a name for y that no predictor has.

        Parameters
        ----------
        names : sequence of str
            Columns of X.

        Returns
        -------
        response : str
            The name of y: the left side if it is one column name, else "y". Underscores are appended if a
            predictor has this name.
        predictors : list of str
            Columns of X that do not occur in the left side; ``.`` stands for these.
        formula : str
            The formula with `response` as its left side.

        Raises
        ------
        FormulaError
            The formula lacks a ``~``.
        """
        sides = _FORMULA_SIDES.fullmatch(self.formula)
        if sides is None:
            raise FormulaError(
                f"A formula is 'response ~ terms'; {self.formula!r} has no ~.", hint="Add the ~."
            )
        left_side = sides["left"].strip()
        names_on_left = list(_COLUMN_NAME.finditer(left_side))
        response_columns = {match["plain"] or match["quoted"].replace("``", "`") for match in names_on_left}
        response = "y"
        if len(names_on_left) == 1 and names_on_left[0].group() == left_side:
            (response,) = response_columns
        predictors = [name for name in names if name not in response_columns]
        while response in predictors:
            response += "_"
        return response, predictors, f"{quote(response)} ~{sides['right']}"

    def _table(self, X: Any) -> Table:
        """Return new rows as a `Table`; raise a DataError if a value that the fit reads is missing.

        An array has exactly the columns `feature_names_in_`, in this order.
        """
        check_is_fitted(self)
        names = self.feature_names_in_.tolist()
        if not hasattr(X, "columns"):
            rows = np.asarray(X)
            if rows.ndim != 2 or rows.shape[1] != len(names):
                raise DataError(
                    f"X has shape {rows.shape}; the formula {self.formula!r} reads {len(names)} columns "
                    f"({join_labels(names)}).",
                    hint="Pass a frame, or an array of these columns in this order.",
                )
            X = array_table(rows, names)
        table = Table(X)
        if not self._uses_incomplete_rows():
            raise_if_missing(table, names)
        return table

    def _missing_policy(self) -> MissingPolicy:
        """Return the treatment of new rows with unseen levels."""
        return MissingPolicy("missing" if self.unseen == "missing" else None)

    def _has_scores(self) -> bool:
        return bool(self._verb_name() != "knn")

    def _has_posteriors(self) -> bool:
        """Return whether the model of the verb has posteriors."""
        # Partial least squares has posteriors only with rule="lda".
        rule_has_posteriors = (
            not isinstance(self.options, Mapping) or self.options.get("rule", "lda") == "lda"
        )
        return self._verb_name() not in WITHOUT_POSTERIORS and rule_has_posteriors


def as_estimator(fit: Any) -> FormulaClassifier:
    """Return a fitted estimator that predicts like a fit.

    Parameters
    ----------
    fit : ClassifierResults
        The results that a verb returned.

    Returns
    -------
    FormulaClassifier
        A fitted estimator, for displays, calibration (in `sklearn.frozen.FrozenEstimator`) and permutation
        importance. A clone of it is not fitted. `fit` refits the formula with the options of the fit: a
        chosen alpha and gamma, or threshold, are kept, a shrinkage by "loo" is chosen again, and weights have
        to be passed to it. The fit may have been loaded from a file. Files do not contain estimators or
        functions that were passed as options, so a loaded fit with one of these cannot be refitted.

    Raises
    ------
    NotSupportedError
        The argument is not a fit of a classifier.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> model = as_estimator(lda("species ~ log(petal_width) + petal_length", iris))
    >>> round(model.score(iris, iris["species"]), 3)
    0.967
    """
    verb = verb_name(fit)
    columns = list(fit._fit.design_rows.design.columns)
    model = FormulaClassifier(fit.formula, verb=verb, options=refit_options(fit), columns=columns)
    model._store_fit(fit, np.unique(np.array(fit.classes.tolist())))
    return model
