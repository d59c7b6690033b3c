"""Estimators over discriminant analysis: rules of the means and covariances of classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discrim.errors import CollinearError, DataError, DiscrimWarning, warn_user
from discrim.frame.arrays import incomplete_rows, last_column
from discrim.models.fits.arguments import check_word, listed
from discrim.models.independent.naive_bayes import naive_bayes
from discrim.models.independent.shrunken_centroids import shrunken_centroids
from discrim.models.judging.splits import Splits
from discrim.models.normal.lda import lda
from discrim.models.normal.qda import qda
from discrim.models.normal.rda import rda
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import NUMBERS, WeightedClassifier, warn_instead

__all__ = [
    "LDAClassifier",
    "NaiveBayesClassifier",
    "QDAClassifier",
    "RDAClassifier",
    "ShrunkenCentroidsClassifier",
]

Floats = NDArray[np.float64]


class LDAClassifier(TransformerMixin, WeightedClassifier):
    """Linear discriminant analysis, as classifier and as projection on its discriminants; see `discrim.lda`.

    Parameters
    ----------
    prior, method, nu, scatter, support_fraction, covariance, shrinkage, grid, standardize, ncomp
        As for `discrim.lda`.
    collinear : {"drop", "raise"}
        Drop columns that others determine within classes, and where there are too few rows for a covariance
        of those that are left, fit with `covariance="shrunk", standardize=True`, so that a search over models
        goes on, each with a warning; or refuse, as the verb does by default.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> LDAClassifier(ncomp=1).set_output(transform="pandas").fit(X, y).transform(X).shape
    (150, 1)
    """

    verb = staticmethod(lda)
    takes_sparse = True

    def __init__(
        self,
        *,
        prior: Any = None,
        method: str = "moment",
        nu: float | None = 5,
        scatter: str = "covariance",
        support_fraction: float = 0.5,
        covariance: Any = "pooled",
        shrinkage: float | str | None = None,
        grid: Sequence[float] | None = None,
        standardize: bool = False,
        ncomp: int | None = None,
        collinear: str = "drop",
    ) -> None:
        self.prior = prior
        self.method = method
        self.nu = nu
        self.scatter = scatter
        self.support_fraction = support_fraction
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.grid = grid
        self.standardize = standardize
        self.ncomp = ncomp
        self.collinear = collinear

    def _results(self, formula: str, data: Any, options: dict[str, Any]) -> ClassifierResults:
        try:
            return lda(formula, data, **options)
        except CollinearError as error:
            if options["collinear"] == "raise" or not _shrinkable(options, "pooled"):
                raise
            results = _again(lda, formula, data, **_shrunk(options))
            warn_instead(error, f"with {SHRUNK}")
            return results

    def transform(self, X: Any) -> Floats:
        """Discriminant scores (n, r) of rows; unit variance within classes, centred at the mean."""
        results, blocks = self._asked(X)
        return np.asarray(results.transform(blocks).to_numpy())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the discriminants, LD1, LD2, ...

        Parameters
        ----------
        input_features : sequence of str, optional
            Checked against the columns of the fit, and not used.

        Raises
        ------
        DataError
            These are not the columns of the fit.
        """
        check_is_fitted(self)
        if input_features is not None:
            given, held = list(input_features), getattr(self, "feature_names_in_", None)
            if len(given) != self.n_features_in_:
                raise DataError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(given)}: pass one name for each."
                )
            if held is not None and given != held.tolist():
                raise DataError(
                    "input_features is not equal to feature_names_in_: pass "
                    f"{listed(held.tolist())}, or None."
                )
        results: Any = self.results_
        return np.asarray(results.scaling.columns, dtype=object)


SHRUNK = 'covariance="shrunk", standardize=True'
"""What is fitted where a covariance does not exist: units of columns are nobody's choice there."""


MOST_FEW = 2
"""Rows of a class up to which leaving one out may leave too few."""


def _counts(data: Any, options: Mapping[str, Any]) -> Any:
    """Rows of each class, or the sum of their weights; the response is the last column of the table."""
    labels, weights = last_column(data), options.get("weights")
    if weights is None:
        counts = labels.value_counts()
        return counts[counts > 0]
    if np.shape(weights) != (len(labels),):
        # The verb has said so, and nothing else is the matter.
        return labels.value_counts() + np.inf
    table = labels.to_frame("label").assign(weight=np.asarray(weights, dtype=np.float64))
    counts = table.groupby("label", observed=True)["weight"].sum()
    return counts[counts > 0]


def _again(verb: Callable[..., Any], *arguments: Any, **options: Any) -> ClassifierResults:
    """What a verb gives that was asked before, without a second warning of constant columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Left out", DiscrimWarning)
        results: ClassifierResults = verb(*arguments, **options)
        return results


def _shrinkable(options: Mapping[str, Any], *structures: str) -> bool:
    """Whether the covariance asked for is one of these, by a method that a shrunk one has, too."""
    asked = options["covariance"]
    return isinstance(asked, str) and asked in structures and options["method"] in ("moment", "mle")


def _shrunk(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with a shrunk covariance, shrunk as was asked for if it was."""
    own = options["covariance"] == "shrunk"
    return {
        **options,
        "covariance": "shrunk",
        "standardize": True,
        **({} if own else {"shrinkage": None, "grid": None}),
    }


class QDAClassifier(WeightedClassifier):
    """Quadratic discriminant analysis; see `discrim.qda`.

    Parameters
    ----------
    prior, method, nu, scatter, support_fraction, covariance, shrinkage, grid, standardize
        As for `discrim.qda`.
    singular : {"shrink", "raise"}
        Where the covariance of a class is singular, fit with `covariance="shrunk", standardize=True`, and
        where a class has none at all to shrink (its rows are one or equal) `lda()` with these, so that a
        search over models goes on, each with a warning; or refuse, as the verb does.
    """

    verb = staticmethod(qda)

    def __init__(
        self,
        *,
        prior: Any = None,
        method: str = "moment",
        nu: float | None = 5,
        scatter: str = "covariance",
        support_fraction: float = 0.5,
        covariance: Any = "full",
        shrinkage: float | str | None = None,
        grid: Sequence[float] | None = None,
        standardize: bool = False,
        singular: str = "shrink",
    ) -> None:
        self.prior = prior
        self.method = method
        self.nu = nu
        self.scatter = scatter
        self.support_fraction = support_fraction
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.grid = grid
        self.standardize = standardize
        self.singular = singular

    def _results(self, formula: str, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular = options.pop("singular")
        check_word("singular", singular, ("shrink", "raise"))
        try:
            return qda(formula, data, **options)
        except CollinearError as error:
            if singular == "raise" or not _shrinkable(options, "full", "diagonal", "shrunk"):
                raise
            why = error
        results: ClassifierResults
        try:
            results, instead = _again(qda, formula, data, **_shrunk(options)), f"with {SHRUNK}"
        except CollinearError as error:
            results = _again(lda, formula, data, collinear="drop", **_shrunk(options))
            instead = f"lda() with {SHRUNK}"
            why = error
        warn_instead(why, instead)
        return results


class RDAClassifier(WeightedClassifier):
    """Regularized discriminant analysis; see `discrim.rda`.

    Parameters
    ----------
    alpha, gamma, parametrization, cv, grid, select, seed, standardize, prior, method
        As for `discrim.rda`, which chooses what of alpha and gamma is None, without a refit for each pair;
        but that rows are dealt to folds the same way at each fit, unless `seed` is None.
    singular : {"shrink", "raise"}
        Where a class has too few rows for a covariance, or to choose by leaving some out, fit
        `lda(covariance="shrunk", standardize=True)`, so that a search over models goes on, with a warning; or
        refuse, as the verb does.
    """

    verb = staticmethod(rda)

    def __init__(
        self,
        *,
        alpha: float | None = None,
        gamma: float | None = None,
        parametrization: str = "esl",
        cv: int | Literal["loo"] | Splits = 10,
        grid: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
        select: str = "min",
        seed: int | None = 0,
        standardize: bool = False,
        prior: Any = None,
        method: str = "moment",
        singular: str = "shrink",
    ) -> None:
        self.alpha = alpha
        self.gamma = gamma
        self.parametrization = parametrization
        self.cv = cv
        self.grid = grid
        self.select = select
        self.seed = seed
        self.standardize = standardize
        self.prior = prior
        self.method = method
        self.singular = singular

    def _results(self, formula: str, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular = options.pop("singular")
        check_word("singular", singular, ("shrink", "raise"))
        try:
            return rda(formula, data, **options)
        except (CollinearError, DataError) as error:
            if singular == "raise" or _counts(data, options).min() > MOST_FEW:
                raise
            held: dict[str, Any] = {
                name: options.get(name) for name in ("prior", "weights", "method", "na_action")
            }
            results = _again(lda, formula, data, collinear="drop", **_shrunk(held | {"covariance": None}))
            warn_instead(error, f"lda() with {SHRUNK}")
            return results


class NaiveBayesClassifier(WeightedClassifier):
    """Naive Bayes; see `discrim.naive_bayes`.

    Parameters
    ----------
    kernel, bandwidth, counts, laplace, smoothing, method, unseen, prior
        As for `discrim.naive_bayes`. Columns of an array are named x0, x1, ...
    singular : {"smooth", "raise"}
        Where a normal column is constant within a class, fit with `smoothing=1e-9`, scikit-learn's, and where
        a class has one row with `method="mle"` too, or, if all columns are normal and complete,
        `lda(covariance="diagonal")`, whose variances are of all classes; so that a search over models goes
        on, with a warning. Or refuse, as the verb does.
    missing : {"raise", "integrate"}
        Refuse missing values; or predict a row from what it has, as the verb does, and fit the complete rows,
        with a warning that counts the others.
    """

    verb = staticmethod(naive_bayes)
    takes_sparse = True

    def __init__(
        self,
        *,
        kernel: bool | Sequence[str] = False,
        bandwidth: str | float | Mapping[str, float] = "nrd0",
        counts: bool | Sequence[str] = False,
        laplace: float = 0.0,
        smoothing: float = 0.0,
        method: str = "moment",
        unseen: str = "raise",
        prior: Any = None,
        singular: str = "smooth",
        missing: str = "raise",
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.counts = counts
        self.laplace = laplace
        self.smoothing = smoothing
        self.method = method
        self.unseen = unseen
        self.prior = prior
        self.singular = singular
        self.missing = missing

    def _results(self, formula: str, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular, missing = options.pop("singular"), options.pop("missing")
        check_word("singular", singular, ("smooth", "raise"))
        check_word("missing", missing, ("integrate", "raise"))
        incomplete = incomplete_rows(data) if missing == "integrate" else 0
        if incomplete:
            options["na_action"] = "drop"
            rows = "row misses" if incomplete == 1 else "rows miss"
            warn_user(f"{incomplete} {rows} a value: fitted without.")
        try:
            return naive_bayes(formula, data, **options)
        except CollinearError as error:
            if singular == "raise" or (options["smoothing"] != 0 and _counts(data, options).min() > 1):
                raise
            if _counts(data, options).min() > 1:
                results = _again(naive_bayes, formula, data, **options | {"smoothing": 1e-9})
                warn_instead(error, "with smoothing=1e-9")
                return results
            plain = all(data[name].dtype.kind in NUMBERS for name in self._names())
            if plain and missing == "raise" and not options["kernel"] and not options["counts"]:
                held: dict[str, Any] = {
                    name: options.get(name) for name in ("prior", "weights", "method", "na_action")
                }
                pooled: ClassifierResults = _again(
                    lda, formula, data, covariance="diagonal", collinear="drop", **held
                )
                warn_instead(error, 'lda() with covariance="diagonal"')
                return pooled
            results = _again(naive_bayes, formula, data, **options | {"smoothing": 1e-9, "method": "mle"})
            warn_instead(error, 'with method="mle", smoothing=1e-9')
            return results

    def _refuse_missing(self, table: Any) -> None:
        if self.missing == "raise":
            super()._refuse_missing(table)

    def __sklearn_tags__(self) -> Any:
        """Missing values, where they are asked for."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "integrate"
        return tags


class ShrunkenCentroidsClassifier(WeightedClassifier):
    """Nearest shrunken centroids; see `discrim.shrunken_centroids`.

    Parameters
    ----------
    threshold, offset, cv, select, grid, n_thresholds, seed, prior
        As for `discrim.shrunken_centroids`, which chooses a threshold of None by folds; but that rows are
        dealt to folds the same way at each fit, unless `seed` is None.
    single : {"warn", "raise"}
        Where a class has one row, without which no fold knows it, choose a threshold of None by the rows of
        the other classes (none where these are fewer than two), with a warning; or refuse, as the verb does.
    """

    verb = staticmethod(shrunken_centroids)
    takes_sparse = True

    def __init__(
        self,
        *,
        threshold: float | None = None,
        offset: float | str = "median",
        cv: int | Splits = 10,
        select: str = "min",
        grid: Sequence[float] | None = None,
        n_thresholds: int = 30,
        seed: int | None = 0,
        prior: Any = None,
        single: str = "warn",
    ) -> None:
        self.threshold = threshold
        self.offset = offset
        self.cv = cv
        self.select = select
        self.grid = grid
        self.n_thresholds = n_thresholds
        self.seed = seed
        self.prior = prior
        self.single = single

    def _results(self, formula: str, data: Any, options: dict[str, Any]) -> ClassifierResults:
        single = options.pop("single")
        check_word("single", single, ("warn", "raise"))
        try:
            return shrunken_centroids(formula, data, **options)
        except (CollinearError, DataError) as error:
            counts = _counts(data, options)
            if single == "raise" or options["threshold"] is not None or counts.min() > MOST_FEW:
                raise
            some = last_column(data).isin(counts.index[counts > MOST_FEW]).to_numpy()
            threshold = 0.0
            if (counts > MOST_FEW).sum() > 1:
                threshold = self._threshold(formula, data, some, options)
            results = _again(shrunken_centroids, formula, data, **options | {"threshold": threshold})
            warn_instead(error, f"with threshold={threshold:.4g}, by the classes of more rows,")
            return results

    def _threshold(self, formula: str, data: Any, some: NDArray[np.bool_], options: dict[str, Any]) -> float:
        """The threshold that some of the rows choose."""
        weights = options.get("weights")
        own = options | {"weights": None if weights is None else weights[some], "prior": None}
        with warnings.catch_warnings():
            # That classes have no row is why these are asked.
            warnings.simplefilter("ignore", DiscrimWarning)
            return float(shrunken_centroids(formula, data[some], **own).threshold)
