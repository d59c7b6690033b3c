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
from discrim.sklearn.instead import again, class_sizes, shrinkable, shrunk, words
from discrim.sklearn.linear import LinearCoefficients
from discrim.sklearn.partial import PartialClassifier

__all__ = ["LDAClassifier", "NaiveBayesClassifier", "QDAClassifier"]

Floats = NDArray[np.float64]


class LDAClassifier(LinearCoefficients, TransformerMixin, PartialClassifier):
    """Linear discriminant analysis, as classifier and as projection on its discriminants; see `discrim.lda`.

    Parameters
    ----------
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    method : {"moment", "mle", "t", "mcd"}
        "moment" divides the covariance by N - K, "mle" by N. The other two are robust. "t" estimates the
        means and the covariance of multivariate t distributions by maximum likelihood. "mcd" takes the rows
        whose distance by the minimum covariance determinant is within its .975 quantile, as "mcd" of rrcov's
        Linda does.
    nu : float, optional
        Degrees of freedom of method="t". None chooses those of largest likelihood, from 1 to 256.
    scatter : {"covariance", "scale"}
        Whether method="t" takes nu/(nu - 2) times the scale matrix for the covariance, as R's MASS::lda does,
        or the scale matrix itself, as R's MASS::qda does.
    support_fraction : float
        Share of the rows, from 0.5 to 1, that method="mcd" rests on. A smaller share tolerates more outliers,
        and a larger one gives more precise estimates.
    covariance : {"pooled", "diagonal", "shrunk", "correlation", "spherical", "pinv"}, or an estimator
        "pooled" is the full covariance within classes and "diagonal" has its variances alone. "shrunk"
        shrinks it towards a sphere. "correlation" shrinks the correlations towards zero and the variances
        towards their median, as R's sda does. "spherical" has one variance for all columns. "pinv" is the
        full covariance with the inverse of Moore and Penrose. All but "pooled" also work with more columns
        than rows, in as many dimensions as there are rows. An estimator is an object with `fit(X)` and then
        `covariance_`, such as those of `sklearn.covariance`: a copy of it is fitted to the rows less their
        class means, and its covariance is taken as it is.
    shrinkage : float, "oas", "ledoit-wolf", "loo" or "strimmer", optional
        How much is shrunk: a number from 0, nothing, to 1, or the rule that chooses the number. For "shrunk"
        the rules are "oas" (the default) and "ledoit-wolf", computed as in scikit-learn from the rows less
        their class means, and "loo", which takes the number of least leave-one-out error (see `path`) and of
        equal errors the largest number. For "diagonal" the variances are shrunk towards their median by a
        number, by the rule of Opgen-Rhein and Strimmer ("strimmer"), or by "loo"; by default they are not
        shrunk. For "correlation" the correlations are shrunk by a number, or by the rule of Schaefer and
        Strimmer ("strimmer", the default).
    variance_shrinkage : float or "strimmer", optional
        How much covariance="correlation" shrinks the variances towards their median: a number from 0 to 1, or
        the rule of Opgen-Rhein and Strimmer (the default).
    grid : sequence of float, optional
        Numbers that shrinkage="loo" chooses from; by default 0, 0.001, 0.002, 0.005, ..., 0.1, 0.2, ..., 1.
    standardize : bool
        Whether the sphere of "shrunk" and "spherical" is meant for columns divided by their standard
        deviations within classes, so that the units of the columns do not matter. By default it is meant in
        the units of the columns, as in scikit-learn, and a warning is given where these differ by much.
        Refits learn the standard deviations anew, also in folds; `leave_one_out()` holds them.
    ncomp : int, optional
        Number of leading canonical axes that the rule and `transform` use; by default all.
    collinear : {"drop", "raise"}
        "drop" leaves out columns that others determine within classes; where there are then still too few
        rows for a covariance, or none by a robust method, it fits with `covariance="shrunk",
        standardize=True` and the method "moment" in the place of a robust one. Each gives a warning, and
        a search over models goes on. "raise" refuses, as the verb does by default.

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
            warn_instead(error, f"with {words(options)}")
            return results

    def _spread(self) -> Spread | None:
        asked = read_shrinking(self.covariance, self.shrinkage, self.grid, self.method, OF_LDA)
        asked = with_variances(asked, self.variance_shrinkage)
        needs_rows = asked.needs_rows or self.method in ROBUST
        return None if needs_rows else spread_of(asked.structure, "pooled")

    def transform(self, X: Any) -> Floats:
        """Discriminant scores (n, r) of rows, with unit variance within classes and centred at the mean.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows with the columns of the fit.
        """
        results, blocks = self._asked(X)
        return np.asarray(results.transform(blocks).to_numpy())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the discriminants, LD1, LD2, ...

        Parameters
        ----------
        input_features : sequence of str, optional
            Names that are compared with the columns of the fit, and not used otherwise.

        Raises
        ------
        DataError
            The names are not the columns of the fit.
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
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    method : {"moment", "mle", "t", "mcd"}
        "moment" divides the covariance of each class by n_k - 1, "mle" by n_k. The other two are robust. "t"
        estimates the means and covariances of multivariate t distributions by maximum likelihood, with one nu
        for all classes. "mcd" takes the rows of each class whose distance by the minimum covariance
        determinant is within its .975 quantile, as rrcov's QdaCov does.
    nu : float, optional
        Degrees of freedom of method="t". None chooses those of largest likelihood, from 1 to 256.
    scatter : {"covariance", "scale"}
        Whether method="t" takes nu/(nu - 2) times the scale matrix for the covariance, as R's MASS::lda does,
        or the scale matrix itself, as R's MASS::qda does.
    support_fraction : float
        Share of the rows, from 0.5 to 1, that method="mcd" rests on. A smaller share tolerates more outliers,
        and a larger one gives more precise estimates.
    covariance : {"full", "diagonal", "shrunk", "spherical", "factor"}, or an estimator
        "full" is the full covariance of each class and "diagonal" has its variances alone. "shrunk" shrinks
        it towards a sphere and works for classes of fewer rows than columns. "spherical" has one variance for
        each class. "factor" has a few large variances, on axes of their own, and one variance for all other
        directions; it works for few rows too and is known as high-dimensional discriminant analysis
        (Bouveyron, Girard & Schmid, 2007). An estimator is an object with `fit(X)` and then `covariance_`: a
        copy of it is fitted to the rows of each class less their mean.
    dimensions : int, dict of class to int, or {"cattell", "bic"}
        How many variances covariance="factor" takes for large. "cattell" (the default) and "bic" choose the
        number for each class. "cattell" is the scree test: it takes the last dimension after which the
        eigenvalues fall by at least `threshold` times the largest fall. "bic" takes the dimension of least
        BIC of the rows of the class in the space that they span. Refits choose anew.
    form : str
        What the classes do not share under covariance="factor", in the names of HDclassif; by default
        "AkjBkQkDk". A stands for the variances of the signal, by class (k) and dimension (j), B for the
        variance of the noise, Q for the axes and D for the number of dimensions; a part without its letter k
        or j is common. The other forms are AkBkQkDk, ABkQkDk, AkjBQkDk, AkBQkDk, ABQkDk, the same with D at
        the end, and AjBQD and ABQD, which have one covariance for all classes.
    threshold : float
        Share of the largest fall that counts for dimensions="cattell", between 0 and 1; by default 0.2.
    shrinkage : float, "oas", "ledoit-wolf", "loo" or "strimmer", optional
        How much is shrunk: a number from 0, nothing, to 1, or the rule that chooses the number. For "shrunk"
        the rules are "oas" (the default) and "ledoit-wolf", computed as in scikit-learn from the rows less
        their class means, and "loo", which takes the number of least leave-one-out error (see `path`) and of
        equal errors the largest number. For "diagonal" the variances are shrunk towards their median by a
        number, by the rule of Opgen-Rhein and Strimmer ("strimmer"), or by "loo"; by default they are not
        shrunk. Each class has its own number by a rule, but "loo" chooses one number for all classes.
    grid : sequence of float, optional
        Numbers that shrinkage="loo" chooses from; by default 0, 0.001, 0.002, 0.005, ..., 0.1, 0.2, ..., 1.
    standardize : bool
        Whether the sphere of "shrunk" and "spherical" is meant for columns divided by their standard
        deviations within classes, so that the units of the columns do not matter. By default it is meant in
        the units of the columns, as in scikit-learn, and a warning is given where these differ by much.
        Refits learn the standard deviations anew, also in folds; `leave_one_out()` holds them.
    singular : {"shrink", "raise"}
        What to do where the covariance of a class is singular. "shrink" fits with `covariance="shrunk",
        standardize=True`, and the method "moment" in the place of a robust one; where a class has no
        covariance to shrink, because its rows are one or equal, it fits `lda()` with these options. Each
        gives a warning, and a search over models goes on. "raise" refuses, as the verb does.
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
            if singular == "raise" or not shrinkable(options, *OF_QDA):
                raise
            why = error
        for name in ("dimensions", "form", "threshold"):
            # Of a covariance that this class has not.
            options.pop(name)
        results: ClassifierResults
        try:
            results, instead = again(qda, formula, data, **shrunk(options)), f"with {words(options)}"
        except CollinearError as error:
            results = again(lda, formula, data, collinear="drop", **shrunk(options))
            instead = f"lda() with {words(options)}"
            why = error
        warn_instead(why, instead)
        return results


class NaiveBayesClassifier(PartialClassifier):
    """Naive Bayes; see `discrim.naive_bayes`.

    Parameters
    ----------
    kernel : bool or list of str
        Columns whose density within a class is the mean of normal kernels about the rows of the class; True
        stands for every numeric column. The sum is exact to rounding, and not taken on a grid as in R's
        density() and klaR's NaiveBayes. The columns of an array are named x0, x1, ...
    bandwidth : {"nrd0", "nrd"}, float, or dict of column to float
        Standard deviation of the kernels. "nrd0" is Silverman's rule of thumb, as R's bw.nrd0, and "nrd" is
        Scott's, as R's bw.nrd; both are applied by class and column. A number is used for all columns. A dict
        gives numbers for the columns that it names, and the others follow "nrd0".
    counts : bool or list of str
        Columns of counts, such as the words of a text; True stands for every numeric column. Given their sum,
        all of them together follow one multinomial distribution in each class.
    laplace : float
        Number that is added to each count of a table and of the multinomial: (n_kl + laplace) / (n_k +
        laplace L), where L is the number of levels in the rows of the fit, or of columns of counts. It is
        zero by default, so that a class gives probability zero to what it never had.
    smoothing : float
        This share of the largest variance of a normal column (over all rows, divisor N) is added to each
        variance of each class, as scikit-learn's `var_smoothing` does, where it is 1e-9. It depends on the
        units of the columns. It is zero by default.
    method : {"moment", "mle"}
        Divisor of the variances within a class: n_k - 1 for "moment", as in R's e1071, or n_k for "mle", as
        in scikit-learn.
    unseen : {"raise", "missing"}
        What to do with new rows that have a level which the fit has not seen: raise an error, or treat the
        value as missing. "missing" is possible for a column, or for C() of a column that no other term is
        made of.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    singular : {"smooth", "raise"}
        What to do where a normal column is constant within a class. "smooth" fits with `smoothing=1e-9`, as
        scikit-learn does, and without kernels, which have no bandwidth there; where a class has one row it
        fits with `method="mle"` too or, if all columns are normal and complete, `lda(covariance="diagonal")`,
        whose variances are those of all classes. Each gives a warning, and a search over models goes on.
        "raise" refuses, as the verb does.
    missing : {"raise", "integrate", "available"}
        "raise" refuses missing values. "integrate" predicts a row from what it has, as the verb does, and
        fits the complete rows, with a warning that counts the others. "available" also fits each column to
        the rows that have it.
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
            smooth = options["smoothing"] != 0 and class_sizes(data, options).min() > 1
            if singular == "raise" or (smooth and not options["kernel"]):
                raise
            if options["kernel"]:
                # A column without a spread has no bandwidth either.
                options |= {"kernel": False, "bandwidth": "nrd0"}
                results = self._smoothed(formula, data, options)
                warn_instead(error, "with kernel=False, smoothing=1e-9")
                return results
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
            results = self._smoothed(formula, data, options)
            warn_instead(error, 'with method="mle", smoothing=1e-9')
            return results

    def _smoothed(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        """Normal densities whose variances are above zero, whatever the classes have."""
        few = {"method": "mle"} if class_sizes(data, options).min() <= 1 else {}
        return again(naive_bayes, formula, data, **options | {"smoothing": 1e-9} | few)

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
