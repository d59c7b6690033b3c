"""Estimators over discriminant analysis: rules of the means and covariances of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discrim.core.moments.row_sums import Spread
from discrim.core.robust.robust import ROBUST
from discrim.core.shrinkage.shrinkage import spread_of
from discrim.errors import CollinearError, DataError, warn_user
from discrim.frame.arrays import incomplete_rows
from discrim.models.fits.arguments import check_word, listed
from discrim.models.independent.naive_bayes import naive_bayes
from discrim.models.normal.covariance_options import read_shrinking, with_variances
from discrim.models.normal.lda import STRUCTURES as OF_LDA
from discrim.models.normal.lda import lda
from discrim.models.normal.qda import STRUCTURES as OF_QDA
from discrim.models.normal.qda import qda
from discrim.models.results.results import ClassifierResults
from discrim.sklearn.base import NUMBERS, warn_instead
from discrim.sklearn.instead import SHRUNK, again, class_sizes, shrinkable, shrunk
from discrim.sklearn.linear import LinearCoefficients
from discrim.sklearn.partial import PartialClassifier

__all__ = ["LDAClassifier", "NaiveBayesClassifier", "QDAClassifier"]

Floats = NDArray[np.float64]


class LDAClassifier(LinearCoefficients, TransformerMixin, PartialClassifier):
    """Linear discriminant analysis, as classifier and as projection on its discriminants; see `discrim.lda`.

    Parameters
    ----------
    prior, method, nu, scatter, support_fraction, covariance, shrinkage, variance_shrinkage, grid
        As for `discrim.lda`.
    standardize, ncomp
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
        variance_shrinkage: float | str | None = None,
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
        self.variance_shrinkage = variance_shrinkage
        self.grid = grid
        self.standardize = standardize
        self.ncomp = ncomp
        self.collinear = collinear

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        try:
            return lda(formula, data, **options)
        except CollinearError as error:
            if options["collinear"] == "raise" or not shrinkable(options, "pooled"):
                raise
            results = again(lda, formula, data, **shrunk(options))
            warn_instead(error, f"with {SHRUNK}")
            return results

    def _spread(self) -> Spread | None:
        asked = read_shrinking(self.covariance, self.shrinkage, self.grid, self.method, OF_LDA)
        asked = with_variances(asked, self.variance_shrinkage)
        needs_rows = asked.needs_rows or self.method in ROBUST
        return None if needs_rows else spread_of(asked.structure, "pooled")

    def transform(self, X: Any) -> Floats:
        """Discriminant scores (n, r) of rows; unit variance within classes, centred at the mean.

        Parameters
        ----------
        X : table or (n, p) array
            Rows with the columns of the fit.
        """
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


class QDAClassifier(PartialClassifier):
    """Quadratic discriminant analysis; see `discrim.qda`.

    Parameters
    ----------
    prior, method, nu, scatter, support_fraction, covariance, dimensions, form, threshold, shrinkage, grid, \
    standardize
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
        dimensions: int | Mapping[Any, int] | str | None = None,
        form: str | None = None,
        threshold: float | None = None,
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
        self.dimensions = dimensions
        self.form = form
        self.threshold = threshold
        self.shrinkage = shrinkage
        self.grid = grid
        self.standardize = standardize
        self.singular = singular

    def _spread(self) -> Spread | None:
        asked = read_shrinking(self.covariance, self.shrinkage, self.grid, self.method, OF_QDA)
        # Where a class has no covariance, those of all classes are turned to.
        return None if asked.needs_rows or self.method in ROBUST else "class"

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular = options.pop("singular")
        check_word("singular", singular, ("shrink", "raise"))
        try:
            return qda(formula, data, **options)
        except CollinearError as error:
            if singular == "raise" or not shrinkable(options, "full", "diagonal", "shrunk", "factor"):
                raise
            why = error
        for name in ("dimensions", "form", "threshold"):
            # Of a covariance that this class has not.
            options.pop(name)
        results: ClassifierResults
        try:
            results, instead = again(qda, formula, data, **shrunk(options)), f"with {SHRUNK}"
        except CollinearError as error:
            results = again(lda, formula, data, collinear="drop", **shrunk(options))
            instead = f"lda() with {SHRUNK}"
            why = error
        warn_instead(why, instead)
        return results


class NaiveBayesClassifier(PartialClassifier):
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
    missing : {"raise", "integrate", "available"}
        Refuse missing values; or predict a row from what it has, as the verb does, and fit the complete rows,
        with a warning that counts the others; or fit each column to the rows that have it, too.
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

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        singular, missing = options.pop("singular"), options.pop("missing")
        check_word("singular", singular, ("smooth", "raise"))
        check_word("missing", missing, ("integrate", "available", "raise"))
        if missing == "available":
            options |= {"missing": missing, "na_action": "drop"}
        incomplete = incomplete_rows(data) if missing == "integrate" and data is not None else 0
        if incomplete:
            options["na_action"] = "drop"
            rows = "row misses" if incomplete == 1 else "rows miss"
            warn_user(f"{incomplete} {rows} a value: fitted without.")
        try:
            return naive_bayes(formula, data, **options)
        except CollinearError as error:
            if singular == "raise" or (options["smoothing"] != 0 and class_sizes(data, options).min() > 1):
                raise
            if class_sizes(data, options).min() > 1:
                results = again(naive_bayes, formula, data, **options | {"smoothing": 1e-9})
                warn_instead(error, "with smoothing=1e-9")
                return results
            if (
                self._is_plain(data, options)
                and missing == "raise"
                and not options["kernel"]
                and not options["counts"]
            ):
                held: dict[str, Any] = {
                    name: options.get(name) for name in ("prior", "weights", "method", "na_action", "moments")
                }
                pooled: ClassifierResults = again(
                    lda, formula, data, covariance="diagonal", collinear="drop", **held
                )
                warn_instead(error, 'lda() with covariance="diagonal"')
                return pooled
            results = again(naive_bayes, formula, data, **options | {"smoothing": 1e-9, "method": "mle"})
            warn_instead(error, 'with method="mle", smoothing=1e-9')
            return results

    def _is_plain(self, data: Any, options: Mapping[str, Any]) -> bool:
        """Whether all columns are numbers."""
        if data is None:
            design = options["moments"]._design
            return design.plain and not design.boolean_columns
        return all(data[name].dtype.kind in NUMBERS for name in self._names())

    def _spread(self) -> Spread | None:
        return None if self.kernel is not False or self.missing == "available" else "diagonal"

    def _na_action(self) -> Any:
        return "raise" if self.missing == "raise" else "drop"

    def _refuse_missing(self, table: Any) -> None:
        if self.missing == "raise":
            super()._refuse_missing(table)

    def __sklearn_tags__(self) -> Any:
        """Missing values, where they are asked for."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "raise"
        return tags
