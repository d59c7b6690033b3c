"""Estimators over discriminant analysis: rules of the means and covariances of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discrim.errors import CollinearError, DataError, warn_user
from discrim.models.judging.splits import Splits
from discrim.models.lda import lda
from discrim.models.naive_bayes import naive_bayes
from discrim.models.qda import qda
from discrim.models.rda import rda
from discrim.models.results import ClassifierResults
from discrim.models.sample import choice, named
from discrim.models.shrunken_centroids import shrunken_centroids
from discrim.sklearn.base import WeightedClassifier, warn_instead, without_constant

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
    prior, method, nu, scatter, support_fraction, covariance, shrinkage, grid, ncomp
        As for `discrim.lda`.
    collinear : {"drop", "raise"}
        Drop columns that others determine within classes, and where there are too few rows for a covariance
        of those that are left, fit with `covariance="shrunk"`, so that a search over models goes on, each
        with a warning; or refuse, as the verb does by default. Shrinkage is in the units of the columns, so
        that it takes columns of like units, as StandardScaler makes them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> LDAClassifier(ncomp=1).set_output(transform="pandas").fit(X, y).transform(X).shape
    (150, 1)
    """

    verb = staticmethod(lda)

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
        self.ncomp = ncomp
        self.collinear = collinear

    def _results(self, formula: str, data: Any, options: dict[str, Any]) -> ClassifierResults:
        try:
            return lda(formula, data, **options)
        except CollinearError as error:
            if options["collinear"] == "raise" or not _shrinkable(options, "pooled"):
                raise
            results = lda(formula, data, **_shrunk(options))
            warn_instead(error, f'with covariance="shrunk"{IN_UNITS}')
            return results

    def transform(self, X: Any) -> Floats:
        """Discriminant scores (n, r) of rows; unit variance within classes, centred at the mean."""
        results, blocks = self._asked(X)
        return np.asarray(results.transform(blocks.table.data).to_numpy())

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
                    f"input_features is not equal to feature_names_in_: pass {named(held.tolist())}, or None."
                )
        results: Any = self.results_
        return np.asarray(results.scaling.columns, dtype=object)


IN_UNITS = " (towards a sphere in the columns' units: scale them first, as StandardScaler does)"
"""What a warning says of a shrunk covariance."""


def _shrinkable(options: Mapping[str, Any], *structures: str) -> bool:
    """Whether the covariance asked for is one of these, by a method that a shrunk one has, too."""
    asked = options["covariance"]
    return isinstance(asked, str) and asked in structures and options["method"] in ("moment", "mle")


def _shrunk(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with a shrunk covariance, shrunk as was asked for if it was."""
    own = options["covariance"] == "shrunk"
    return {**options, "covariance": "shrunk", **({} if own else {"shrinkage": None, "grid": None})}


class QDAClassifier(WeightedClassifier):
    """Quadratic discriminant analysis; see `discrim.qda`.

    Parameters
    ----------
    prior, method, nu, scatter, support_fraction, covariance, shrinkage, grid
        As for `discrim.qda`.
    singular : {"shrink", "raise"}
        Where the covariance of a class is singular, leave out columns that are constant over all rows; where
        that is not enough fit with `covariance="shrunk"`, and where a class has none at all to shrink (its
        rows are one or equal) `lda(covariance="shrunk")`, so that a search over models goes on, each with a
        warning; or refuse, as the verb does. Shrinkage is in the units of the columns, so that it takes
        columns of like units, as StandardScaler makes them.
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
        self.singular = singular

    def _results(self, formula: str, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular = options.pop("singular")
        choice("singular", singular, ("shrink", "raise"))
        try:
            return qda(formula, data, **options)
        except CollinearError as error:
            if singular == "raise" or not _shrinkable(options, "full", "diagonal", "shrunk"):
                raise
            why = error
        less = without_constant(formula, data, self._names(), options.get("weights"))
        if less != formula:
            formula = less
            try:
                return qda(formula, data, **options)
            except CollinearError as error:
                why = error
        results: ClassifierResults
        try:
            results, instead = qda(formula, data, **_shrunk(options)), 'with covariance="shrunk"'
        except CollinearError as error:
            results = lda(formula, data, collinear="drop", **_shrunk(options))
            instead = 'lda() with covariance="shrunk"'
            why = error
        warn_instead(why, instead + IN_UNITS)
        return results


class RDAClassifier(WeightedClassifier):
    """Regularized discriminant analysis; see `discrim.rda`.

    Parameters
    ----------
    alpha, gamma, parametrization, cv, grid, select, seed, prior, method
        As for `discrim.rda`, which chooses what of alpha and gamma is None, without a refit for each pair;
        but that rows are dealt to folds the same way at each fit, unless `seed` is None.
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
        prior: Any = None,
        method: str = "moment",
    ) -> None:
        self.alpha = alpha
        self.gamma = gamma
        self.parametrization = parametrization
        self.cv = cv
        self.grid = grid
        self.select = select
        self.seed = seed
        self.prior = prior
        self.method = method


class NaiveBayesClassifier(WeightedClassifier):
    """Naive Bayes; see `discrim.naive_bayes`.

    Parameters
    ----------
    kernel, bandwidth, counts, laplace, smoothing, method, unseen, prior
        As for `discrim.naive_bayes`. Columns of an array are named x0, x1, ...
    singular : {"smooth", "raise"}
        Where a normal column is constant within a class, fit with `smoothing=1e-9`, scikit-learn's, so that
        a search over models goes on, with a warning; or refuse, as the verb does.
    missing : {"raise", "integrate"}
        Refuse missing values; or predict a row from what it has, as the verb does, and fit the complete rows,
        with a warning that counts the others.
    """

    verb = staticmethod(naive_bayes)

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
        choice("singular", singular, ("smooth", "raise"))
        choice("missing", missing, ("integrate", "raise"))
        incomplete = int(data.isna().any(axis=1).sum()) if missing == "integrate" else 0
        if incomplete:
            options["na_action"] = "drop"
            rows = "row misses" if incomplete == 1 else "rows miss"
            warn_user(f"{incomplete} {rows} a value: fitted without.")
        try:
            return naive_bayes(formula, data, **options)
        except CollinearError as error:
            if singular == "raise" or options["smoothing"] != 0:
                raise
            results = naive_bayes(formula, data, **options | {"smoothing": 1e-9})
            warn_instead(error, "with smoothing=1e-9")
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
    """

    verb = staticmethod(shrunken_centroids)

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
    ) -> None:
        self.threshold = threshold
        self.offset = offset
        self.cv = cv
        self.select = select
        self.grid = grid
        self.n_thresholds = n_thresholds
        self.seed = seed
        self.prior = prior
