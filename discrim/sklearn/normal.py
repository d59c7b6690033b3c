"""Estimators over models of normal classes: discriminant analysis, naive Bayes and mixtures.

Those whose fit needs no more than the moments of the rows also learn from one batch of rows after another, as
moments add up.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

import discrim
from discrim.core.moments.row_sums import Spread
from discrim.core.numerics.arrays import Array, Floats
from discrim.core.scatter.robust import ROBUST
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimError,
    DiscrimWarning,
    NotSupportedError,
    warn_user,
)
from discrim.frame.grammar import quote
from discrim.frame.table import incomplete_rows, with_column
from discrim.models.fits.reading import check_word, is_whole, listed, prior_of_some, told
from discrim.models.judging.validation import Splits
from discrim.models.moments.moments import Moments, moments, of_fit
from discrim.models.normal.covariance_models import (
    LINEAR,
    QUADRATIC,
    QuadraticCovariance,
    read_covariance,
)
from discrim.models.results.results import ClassifierResults
from discrim.sklearn import base
from discrim.sklearn.base import LinearCoefficients, Simpler, WeightedClassifier


class PartialClassifier(WeightedClassifier):
    """An estimator over a verb that takes moments in place of a table.

    Attributes
    ----------
    moments_ : Moments
        The moments of all batches that `partial_fit` was given.
    """

    moments_: Moments
    _moments_of_fit: Moments | None
    _response: str
    _are_named: bool

    @abstractmethod
    def _spread(self) -> Spread | None:
        """What of the moments the model takes; None where it takes the rows."""

    def _adds_up(self) -> bool:
        try:
            return self._spread() is not None
        except DiscrimError:
            # What is wrong with the options is for the fit to say.
            return True

    @base.only_if(lambda self: self._adds_up())
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows; the fit is then the same as that of `fit` to all rows so far at once.

        After `fit` it adds to the rows of that fit, while `fit` itself begins anew. A batch that is refused
        adds nothing.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows of the batch. Categories, and whatever else a verb learns from a table, are those of the
            first batch: declare their levels by a categorical dtype.
        y : (n,) array of class labels
            Classes of the rows; a batch may have rows of some classes, or of one.
        classes : (K,) array, optional
            All classes that will come, so that another label is an error. Later calls may leave them out, or
            name more, which are added. If no call names them, a label that was not met before is a new class.
            `classes_` is sorted, whenever a class was met.
        sample_weight : (n,) array, optional
            Frequency weights: a weight of 3 stands for three identical rows.

        Returns
        -------
        self
            Classes without rows have no posterior. While fewer than two classes have rows, or a covariance is
            singular, there is no fit, and `predict` and other methods raise an error that says so.

        Raises
        ------
        DataError
            A label is not among the classes that were named, or is of another kind than they are, numbers or
            text; or a value is missing.
        PriorError
            The prior that was given does not name a class that is new.
        """
        begins = not (hasattr(self, "moments_") or hasattr(self, "results_"))
        named = classes is not None or (not begins and self._are_named)
        known = self._known_classes(classes, y, begins, named)
        data = self._validated(X, reset=begins)
        codes = _codes(y, data, known)
        response = base.response_name(y, self._names()) if begins else self._response
        table = with_column(data, self._names(), response, codes, known.tolist())
        weights = None if sample_weight is None else np.asarray(sample_weight)
        before = None if begins else self._moments_so_far()
        try:
            whole = self._added(before, table, response, weights, known)
        except DiscrimError:
            self._refuse_missing(table)
            raise
        # Of what cannot be fitted yet the moments are held all the same.
        results, self._why_no_fit = self._fitted_to(whole, known)
        self.moments_, self._response = whole, response
        self._moments_of_fit, self._are_named = None, named
        if results is None:
            self.classes_ = known
            self.__dict__.pop("results_", None)
        else:
            self._keep(results, known, every=True)
        return self

    def _known_classes(self, classes: Any, y: Any, begins: bool, named: bool) -> Array:
        """All classes, sorted: those so far, those that are named, and where none are those of the batch."""
        if classes is None and named:
            return self.classes_
        more = np.unique(base.given_labels(y) if classes is None else column_or_1d(classes))
        if begins:
            if named and len(more) < 2:
                raise DataError(
                    f"classes={more.tolist()!r}: a classifier needs two: name all that will come."
                )
            return more
        unlike = {each.dtype.kind in base.NUMBERS for each in (more, self.classes_)}
        if len(unlike) > 1:
            raise DataError(
                f"The labels {listed(more.tolist())} and those so far, {listed(self.classes_.tolist())}, are "
                "numbers and text: write them alike."
            )
        return np.union1d(self.classes_, more)

    def _moments_so_far(self) -> Moments:
        if hasattr(self, "moments_"):
            return self.moments_
        if self._moments_of_fit is None or self._moments_of_fit._scatters != self._scatters():
            raise NotSupportedError(
                "partial_fit goes on from the moments of fit(), which made none with the options that it "
                "had: begin anew with a clone of the estimator."
            )
        return self._moments_of_fit

    def _added(
        self, before: Moments | None, table: Any, response: str, weights: Any, classes: Array
    ) -> Moments:
        action = self._na_action()
        if before is None:
            formula = f"{quote(response)} ~ {self._right_side()}"
            return moments(
                formula, table, weights=weights, scatters=self._scatters(),
                levels=classes.tolist(), na_action=action,
            )  # fmt: skip
        if weights is None and before._weighted:
            weights = np.ones(len(table))
        before = before._with_classes(tuple(classes.tolist()))
        return before + before.of(table, weights=weights, na_action=action)

    def _scatters(self) -> Any:
        spread = self._spread()
        if spread is None:
            raise NotSupportedError(f"{type(self).__name__} takes the rows with these options: use fit().")
        return spread

    def _na_action(self) -> Any:
        return "raise"

    def _fitted_to(self, whole: Moments, classes: Array) -> tuple[Any, str]:
        """What the verb gives of moments, or None and why."""
        present = (whole.counts > 0).to_numpy()
        if present.sum() < 2:
            only = f"only {classes[present].tolist()[0]!r} has rows" if present.any() else "no class has rows"
            return None, f"{only} so far: give a batch with rows of another class."
        options = {**self.get_params(deep=False), "moments": whole}
        if "cv" in options:
            options["folds"] = options.pop("cv")
        if "prior" in options:
            options["prior"] = prior_of_some(options["prior"], classes.tolist(), present)
        with warnings.catch_warnings():
            # That a class has no rows yet is nothing to be warned of.
            warnings.filterwarnings("ignore", "No row is left in class", DiscrimWarning)
            try:
                return self._results(None, None, options), ""
            except CollinearError as error:
                return None, str(error)

    def _asked(self, X: Any) -> tuple[Any, Any]:
        why = getattr(self, "_why_no_fit", "")
        if why:
            raise DataError(f"There is no fit to the rows of partial_fit yet: {why}")
        return super()._asked(X)

    def _learn(self, results: ClassifierResults) -> None:
        fit, self._moments_of_fit = results._fit, None
        if not self._adds_up():
            return
        held = of_fit(fit, self._scatters())
        if held is None:
            blocks = fit.rows("partial_fit")
            with warnings.catch_warnings(), suppress(DiscrimError):
                # The fit has said what there is to say of these rows.
                warnings.simplefilter("ignore", DiscrimWarning)
                held = moments(
                    blocks.design.formula, blocks.table.data, weights=blocks.weights,
                    scatters=self._scatters(), levels=list(blocks.design.levels), na_action=self._na_action(),
                )  # fmt: skip
        self._moments_of_fit = held

    def _fitted(self, X: Any, y: Any, more: Mapping[str, Any]) -> Self:
        fitted = super()._fitted(X, y, more)
        self.__dict__.pop("moments_", None)
        self._why_no_fit, self._are_named = "", False
        self._response = self.results_._fit.blocks.design.response
        return fitted


def _codes(y: Any, rows: Any, classes: Array) -> NDArray[np.intp]:
    """Position of each label (n,) among the classes."""
    labels = base.given_labels(y)
    check_consistent_length(rows, labels)
    position = {label: k for k, label in enumerate(classes.tolist())}
    codes = np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise DataError(
            f"y has {labels.tolist()[row]!r} at row {row}, which is not among the classes "
            f"{listed(classes.tolist())}: name all that come, as classes= of the first call or of this one."
        )
    return codes


@base.estimator
class LDAClassifier(LinearCoefficients, TransformerMixin, PartialClassifier):
    """Linear discriminant analysis, as classifier and as projection on its discriminants; see `discrim.lda`.

    Parameters
    ----------
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    method : {"moment", "mle", "t", "mcd"}
        "moment" divides the covariance by N - K, "mle" by N. The other two are robust. "t" estimates the
        means and the covariance of multivariate t distributions by maximum likelihood. "mcd" uses the
        observations whose distance by the minimum covariance determinant is below its .975 quantile, as "mcd"
        of rrcov's Linda does.
    nu : float, optional
        Degrees of freedom of method="t". None takes their maximum likelihood estimate between 1 and 256.
    scatter : {"covariance", "scale"}
        Whether method="t" estimates the covariance by nu/(nu - 2) times the scale matrix, as R's MASS::lda
        does, or by the scale matrix itself, as R's MASS::qda does.
    support_fraction : float
        Share of the observations, from 0.5 to 1, from which method="mcd" estimates. A smaller share tolerates
        more outliers, and a larger one gives more precise estimates.
    covariance : "pooled", "diagonal", "shrunk", "correlation", "spherical", "pinv", "separable", an estimator
        "pooled" is the full covariance within classes and "diagonal" has its variances alone. "shrunk"
        shrinks it towards a sphere. "correlation" shrinks the correlations towards zero and the variances
        towards their median, as R's sda does. "spherical" has one variance for all columns. "pinv" is the
        full covariance with the inverse of Moore and Penrose. All but "pooled" also work with more columns
        than observations, and then take as many dimensions as there are observations. An estimator is an
        object with `fit(X)` and then `covariance_`, such as those of `sklearn.covariance`: a copy of it is
        fitted to the deviations from the class means, and its covariance is used unchanged.
    shrinkage : float, "oas", "ledoit-wolf", "loo" or "strimmer", optional
        How much is shrunk: a number from 0 (nothing) to 1, or the rule that chooses the number. For "shrunk"
        the rules are "oas" (the default) and "ledoit-wolf", computed as in scikit-learn from the deviations
        from the class means, and "loo", which takes the number with the smallest leave-one-out error (see
        `path`), and the largest of several such numbers. For "diagonal" the variances are shrunk towards
        their median by a number, by the rule of Opgen-Rhein and Strimmer ("strimmer"), or by "loo"; by
        default they are not shrunk. For "correlation" the correlations are shrunk by a number, or by the rule
        of Schaefer and Strimmer ("strimmer", the default).
    variance_shrinkage : float or "strimmer", optional
        How much covariance="correlation" shrinks the variances towards their median: a number from 0 to 1, or
        the rule of Opgen-Rhein and Strimmer (the default).
    grid : sequence of float, optional
        Numbers from which shrinkage="loo" chooses; by default 0, 0.001, 0.002, 0.005, ..., 0.1, 0.2, ..., 1.
    standardize : bool
        Whether the columns are divided by their standard deviations within classes before "shrunk" or
        "spherical" is applied, so that their units do not matter. By default they keep their units, as in
        scikit-learn, and a warning is given if their spreads differ greatly. Refits estimate the standard
        deviations again, also in folds; `leave_one_out()` keeps those of the fit. With `components` it
        applies to the principal axes, and `leave_one_out()` estimates them again with the axes.
    shape : (int, int), optional
        Numbers of rows and columns of a matrix, whose entries are the columns of the formula in order, row by
        row. The covariance is then "separable": that of the rows times that of the columns.
    components : int, float, "cv" or "loo", optional
        Principal axes within which the classes are compared: their number, or the smallest share of the total
        variance, between 0 and 1, that they have to explain. "cv" and "loo" choose the number of smallest
        error by ten folds or by leaving out each row, and the smallest of several such numbers (see `path`).
        The axes are those of all observations about their common mean, without regard to the classes, in the
        units of the columns or, with standardize=True, of columns divided by their overall standard
        deviations. Folds and refits compute them again.
    correspondence : bool
        Whether the axes of `components` are those of the multiple correspondence analysis of the categories:
        each level has a column of its own, divided by the square root of the level's share. Numbers are
        divided by their standard deviations.
    ncomp : int, optional
        Number of leading canonical axes (discriminants) that the rule and `transform` use; by default all.
    covariates : sequence of str or int, optional
        Columns, by name or position, that the others are adjusted for, as after the `|` of a formula.
    collinear : {"drop", "raise"}
        "drop" leaves out columns that others determine within classes; if there are then still too few rows
        for a covariance, or none by a robust method, it fits with `covariance="shrunk", standardize=True` and
        the method "moment" in place of a robust one. Each gives a warning, and a search over models goes on.
        "raise" refuses, as the verb does by default.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> LDAClassifier(ncomp=1).set_output(transform="pandas").fit(X, y).transform(X).shape
    (150, 1)
    """

    verb = staticmethod(discrim.lda)
    takes_sparse = True

    _: KW_ONLY
    prior: Any = None
    method: str = "moment"
    nu: float | None = 5
    scatter: str = "covariance"
    support_fraction: float = 0.5
    covariance: Any = "pooled"
    shrinkage: float | str | None = None
    variance_shrinkage: float | str | None = None
    grid: Sequence[float] | None = None
    standardize: bool = False
    shape: tuple[int, int] | None = None
    components: int | float | str | None = None
    correspondence: bool = False
    ncomp: int | None = None
    covariates: Sequence[Any] | None = None
    collinear: str = "drop"

    def _right_side(self) -> str:
        if self.covariates is None:
            return "."
        names, chosen = list(self._names()), []
        given: Any = self.covariates
        asked: list[Any] = [given] if isinstance(given, str | int) else list(given)
        for each in asked:
            name = names[each] if is_whole(each) and -len(names) <= each < len(names) else each
            if name not in names:
                raise DataError(
                    f"covariates= names {told(each)}, which is no column of X: name some of {listed(names)}, "
                    "or give their positions."
                )
            chosen.append(quote(name))
        return f". | {' + '.join(chosen)}" if chosen else "."

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        return super()._results(formula, data, {k: v for k, v in options.items() if k != "covariates"})

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        ways_on = options["collinear"] != "raise" and base.shrinkable(options, "pooled")
        if not isinstance(error, CollinearError) or not ways_on or self._right_side() != ".":
            return None
        words = f"with {base.words(options)}"
        return base.fitted_instead(error, words, discrim.lda, formula, data, **base.shrunk_options(options))

    def _spread(self) -> Spread | None:
        kind = read_covariance(LINEAR, self.covariance, self.method, self.components)
        by_rows = kind.needs_rows or self.method in ROBUST or self.correspondence
        return None if by_rows else kind.spread("pooled")

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


@base.estimator
class QDAClassifier(PartialClassifier):
    """Quadratic discriminant analysis; see `discrim.qda`.

    Parameters
    ----------
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    method : {"moment", "mle", "t", "mcd"}
        "moment" divides the covariance of each class by n_k - 1, "mle" by n_k. The other two are robust. "t"
        estimates the means and covariances of multivariate t distributions by maximum likelihood, with one nu
        for all classes. "mcd" uses the observations of each class whose distance by the minimum covariance
        determinant is below its .975 quantile, as rrcov's QdaCov does.
    nu : float, optional
        Degrees of freedom of method="t". None takes their maximum likelihood estimate between 1 and 256.
    scatter : {"covariance", "scale"}
        Whether method="t" estimates the covariance by nu/(nu - 2) times the scale matrix, as R's MASS::lda
        does, or by the scale matrix itself, as R's MASS::qda does.
    support_fraction : float
        Share of the observations, from 0.5 to 1, from which method="mcd" estimates. A smaller share tolerates
        more outliers, and a larger one gives more precise estimates.
    covariance : {"full", "diagonal", "shrunk", "spherical", "factor", "separable"} or an estimator
        "full" is the full covariance of each class and "diagonal" has its variances alone. "shrunk" shrinks
        it towards a sphere and works for classes of fewer observations than columns. "spherical" has one
        variance for each class. "factor" has a few large variances, on axes of their own, and one variance
        for all other directions; it also works for few observations and is known as high-dimensional
        discriminant analysis (Bouveyron, Girard & Schmid, 2007). An estimator is an object with `fit(X)` and
        then `covariance_`: a copy of it is fitted to the deviations of each class from its mean.
    dimensions : int, dict of class to int, or {"cattell", "bic"}
        Number of large variances under covariance="factor". "cattell" (the default) and "bic" choose the
        number for each class. "cattell" is the scree test: it takes the last dimension after which the
        eigenvalues fall by at least `threshold` times the largest fall. "bic" takes the dimension of smallest
        BIC of the observations of the class in the space that they span. Refits choose again.
    form : str
        What the classes do not share under covariance="factor", in the names of HDclassif; by default
        "AkjBkQkDk". A stands for the variances of the signal, by class (k) and dimension (j), B for the
        variance of the noise, Q for the axes and D for the number of dimensions; a part without its letter k
        or j is common. The other forms are AkBkQkDk, ABkQkDk, AkjBQkDk, AkBQkDk, ABQkDk, the same with D at
        the end, and AjBQD and ABQD, which have one covariance for all classes.
    threshold : float
        Share of the largest fall that counts for dimensions="cattell", between 0 and 1; by default 0.2.
    shrinkage : float, "oas", "ledoit-wolf", "loo" or "strimmer", optional
        How much is shrunk: a number from 0 (nothing) to 1, or the rule that chooses the number. For "shrunk"
        the rules are "oas" (the default) and "ledoit-wolf", computed as in scikit-learn from the deviations
        from the class means, and "loo", which takes the number with the smallest leave-one-out error (see
        `path`), and the largest of several such numbers. For "diagonal" the variances are shrunk towards
        their median by a number, by the rule of Opgen-Rhein and Strimmer ("strimmer"), or by "loo"; by
        default they are not shrunk. Each class has its own number by a rule, but "loo" chooses one number for
        all classes.
    grid : sequence of float, optional
        Numbers from which shrinkage="loo" chooses; by default 0, 0.001, 0.002, 0.005, ..., 0.1, 0.2, ..., 1.
    standardize : bool
        Whether the columns are divided by their standard deviations within classes before "shrunk" or
        "spherical" is applied, so that their units do not matter. By default they keep their units, as in
        scikit-learn, and a warning is given if their spreads differ greatly. Refits estimate the standard
        deviations again, also in folds; `leave_one_out()` keeps those of the fit. With `components` it
        applies to the principal axes, and `leave_one_out()` estimates them again with the axes.
    shape : (int, int), optional
        Numbers of rows and columns of a matrix, whose entries are the columns of the formula in order, row by
        row. The covariance is then "separable": that of the rows times that of the columns.
    components : int, float, "cv" or "loo", optional
        Principal axes within which the classes are compared: their number, or the smallest share of the total
        variance, between 0 and 1, that they have to explain. "cv" and "loo" choose the number of smallest
        error by ten folds or by leaving out each row, and the smallest of several such numbers (see `path`).
        The axes are those of all observations about their common mean, without regard to the classes, in the
        units of the columns or, with standardize=True, of columns divided by their overall standard
        deviations. Folds and refits compute them again.
    ncomp : int, optional
        Number of axes, found by sliced average variance estimation, on which the classes are compared.
        It needs full covariances. Folds and refits find the axes again.
    singular : {"shrink", "raise"}
        What to do if the covariance of a class is singular. "shrink" warns and fits covariance="shrunk" with
        standardize=True, or `lda()` if a class leaves nothing to shrink. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.qda)
    _goes_on = ("singular", "shrink")

    _: KW_ONLY
    prior: Any = None
    method: str = "moment"
    nu: float | None = 5
    scatter: str = "covariance"
    support_fraction: float = 0.5
    covariance: Any = "full"
    dimensions: int | Mapping[Any, int] | str | None = None
    form: str | None = None
    threshold: float | None = None
    shrinkage: float | str | None = None
    grid: Sequence[float] | None = None
    standardize: bool = False
    shape: tuple[int, int] | None = None
    components: int | float | str | None = None
    ncomp: int | None = None
    singular: str = "shrink"

    def _spread(self) -> Spread | None:
        kind = read_covariance(QUADRATIC, self.covariance, self.method, self.components)
        # Where a class has no covariance, those of all classes are turned to.
        return None if kind.needs_rows or self.method in ROBUST else "class"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        if not isinstance(error, CollinearError) or not base.shrinkable(
            options, *get_args(QuadraticCovariance)
        ):
            return None
        for name in ("dimensions", "form", "threshold", "ncomp"):  # Of "factor", and of full covariances.
            del options[name]
        words, other = base.words(options), base.shrunk_options(options)
        try:
            return base.fitted_instead(error, f"with {words}", discrim.qda, formula, data, **other)
        except CollinearError as why:
            other["collinear"] = "drop"
            return base.fitted_instead(why, f"lda() with {words}", discrim.lda, formula, data, **other)


@base.estimator
class LocationClassifier(WeightedClassifier):
    """The location model; see `discrim.location`.

    Parameters
    ----------
    smoothing : float, optional
        The weight L of a row in a cell that differs from its own in one column, above 0 and at most 1. In a
        cell that differs in d columns it is L^d. Near 0 each cell is estimated alone; at 1 the categories do
        not count. By default the L of least leave-one-out error is chosen from `grid`, and the largest of
        equal ones.
    grid : sequence of float, optional
        Smoothings to choose from; by default 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, ..., 1.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    singular : {"shrink", "raise"}
        What to do if the covariance within cells is singular. "shrink" fits
        `lda(covariance="shrunk", standardize=True)` with a warning, so that a search over models goes on.
        "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.location)
    _goes_on = ("singular", "shrink")

    _: KW_ONLY
    smoothing: float | None = None
    grid: Sequence[float] | None = None
    prior: Any = None
    singular: str = "shrink"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        if not isinstance(error, CollinearError):
            return None
        other = base.plainly_shrunk(options) | {"collinear": "drop"}
        return base.fitted_instead(error, f"lda() with {base.SHRUNK}", discrim.lda, formula, data, **other)


@base.estimator
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
        zero by default, so that a level that a class never had has probability zero in it.
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
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    singular : {"smooth", "raise"}
        What to do if a normal column is constant within a class. "smooth" fits with `smoothing=1e-9`, as
        scikit-learn does, and without kernels, which have no bandwidth there; if a class has one row it fits
        with `method="mle"` too or, if all columns are normal and complete, `lda(covariance="diagonal")`,
        whose variances are those of all classes. Each gives a warning, and a search over models goes on.
        "raise" refuses, as the verb does.
    missing : {"raise", "integrate", "available"}
        "raise" refuses missing values. "integrate" predicts a row from the values that it has, as the verb
        does, and fits the complete rows, with a warning that counts the others. "available" also fits each
        column to the rows that have it.
    """

    verb = staticmethod(discrim.naive_bayes)
    takes_sparse = True
    _goes_on = ("singular", "smooth")

    _: KW_ONLY
    kernel: bool | Sequence[str] = False
    bandwidth: str | float | Mapping[str, float] = "nrd0"
    counts: bool | Sequence[str] = False
    laplace: float = 0.0
    smoothing: float = 0.0
    method: str = "moment"
    unseen: str = "raise"
    prior: Any = None
    singular: str = "smooth"
    missing: str = "raise"

    def _results(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        missing = options.pop("missing")
        check_word("missing", missing, ("integrate", "available", "raise"))
        if missing == "available":
            options |= {"missing": missing, "na_action": "drop"}
        incomplete = incomplete_rows(data) if missing == "integrate" and data is not None else 0
        if incomplete:
            options["na_action"] = "drop"
            rows = "row misses" if incomplete == 1 else "rows miss"
            warn_user(f"{incomplete} {rows} a value: fitted without.")
        return super()._results(formula, data, options)

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        if not isinstance(error, CollinearError):
            return None
        several = base.class_sizes(data, options).min() > 1
        if options["kernel"]:
            # A column without a spread has no bandwidth either.
            options |= {"kernel": False, "bandwidth": "nrd0"}
            words = "with kernel=False, smoothing=1e-9"
        elif several:
            if options["smoothing"] != 0:
                return None
            words = "with smoothing=1e-9"
        elif self.missing == "raise" and not options["counts"] and self._is_plain(data, options):
            names = ("prior", "weights", "method", "na_action", "moments")
            other = {name: options.get(name) for name in names}
            other |= {"covariance": "diagonal", "collinear": "drop"}
            return base.fitted_instead(
                error, 'lda() with covariance="diagonal"', discrim.lda, formula, data, **other
            )
        else:
            words = 'with method="mle", smoothing=1e-9'
        # A class of one row has no variance of divisor n - 1.
        options |= {"smoothing": 1e-9} | ({} if several else {"method": "mle"})
        return base.fitted_instead(error, words, discrim.naive_bayes, formula, data, **options)

    def _is_plain(self, data: Any, options: Mapping[str, Any]) -> bool:
        """Whether all columns are numbers."""
        if data is None:
            design = options["moments"]._design
            return design.plain and not design.boolean_columns
        return all(data[name].dtype.kind in base.NUMBERS for name in self._names())

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


@base.estimator
class RDAClassifier(LinearCoefficients, PartialClassifier):
    """Regularized discriminant analysis; see `discrim.rda`.

    Parameters
    ----------
    alpha : float, optional
        Weight of each class's own covariance: 0 gives one covariance as in LDA, and 1 a covariance for each
        class as in QDA. The lambda of Friedman and klaR is 1 - alpha. By default it is chosen by
        cross-validation.
    gamma : float, optional
        Under "esl", 1 leaves the pooled covariance as it is and 0 replaces it by its average variance times
        the identity. Under "friedman" and "klar", 0 adds no ridge and 1 keeps only the average variance. By
        default it is chosen by cross-validation.
    parametrization : {"esl", "friedman", "klar"}
        Which covariances are mixed; see the Notes of `discrim.rda`.
    cv : int, "loo", or iterable of (train, test)
        Number of folds of the cross-validation that makes the choice, or "loo" for leave-one-out, which is
        exact and refits only for the few observations without which a covariance is nearly singular. Folds
        cost less if there are many observations. Or splits as in scikit-learn, which are positions of rows of
        the table; methods that judge the fit by folds then choose again on the same splits, without the rows
        of the fold. The choice keeps the prior of all rows, also if the splits are uneven by class.
    grid : sequence of float, or mapping of "alpha" and "gamma" to one, optional
        Values to try for alpha and gamma if they are not given; by default 0, 0.1, ..., 1.
    select : {"min", "1se"}
        "min" takes the pair of smallest error and, of equal errors, the simpler pair (smaller alpha, then
        more ridge). "1se" takes the simplest pair whose error is within one standard error of the smallest.
    seed : int, optional
        Seed by which the rows are dealt to folds: the same at each fit, unless it is None.
    standardize : bool
        Whether the columns are divided by their standard deviations within classes before the ridge is added,
        so that their units do not matter. By default they keep their units, as in the literature, and a
        warning is given if their spreads differ greatly. Refits estimate the standard deviations again, also
        in folds; `leave_one_out()` and the choice of a pair keep them. With `components` it applies to the
        principal axes, and all of these estimate them again with the axes.
    components : int, float, "cv" or "loo", optional
        Principal axes within which the classes are compared: their number, or the smallest share of the total
        variance, between 0 and 1, that they have to explain. "cv" and "loo" choose the number of smallest
        error by ten folds or by leaving out each row, and the smallest of several such numbers (see `path`);
        alpha and gamma have then to be given. The axes are those of all observations about their common mean,
        without regard to the classes, in the units of the columns or, with standardize=True, of columns
        divided by their overall standard deviations. Folds and refits compute them again, also where alpha
        and gamma are chosen by folds.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    method : {"moment", "mle"}
        "moment" divides the covariance of each class by n_k - 1, "mle" by n_k.
    singular : {"shrink", "raise"}
        What to do if a covariance is singular, or a class has too few rows for one, or too few to leave some
        out for a choice. "shrink" fits `lda(covariance="shrunk", standardize=True)`, or `qda()` with these
        options if alpha=1 asks for a covariance of each class. It gives a warning, and a search over models
        goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.rda)
    _goes_on = ("singular", "shrink")

    _: KW_ONLY
    alpha: float | None = None
    gamma: float | None = None
    parametrization: str = "esl"
    cv: int | Literal["loo"] | Splits = 10
    grid: Sequence[float] | Mapping[str, Sequence[float]] | None = None
    select: str = "min"
    seed: int | None = 0
    standardize: bool = False
    components: int | float | str | None = None
    prior: Any = None
    method: str = "moment"
    singular: str = "shrink"

    def _spread(self) -> Spread | None:
        chosen = self.alpha is None or self.gamma is None or isinstance(self.components, str)
        return None if chosen else "class"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        few = base.class_sizes(data, options).min() <= base.MOST_FEW
        if not (few or isinstance(error, CollinearError)):
            return None
        other, words = base.plainly_shrunk(options, "method"), f"with {base.SHRUNK}"
        if self.alpha == 1 and not few:
            with suppress(CollinearError):
                return base.fitted_instead(error, f"qda() {words}", discrim.qda, formula, data, **other)
        other["collinear"] = "drop"
        return base.fitted_instead(error, f"lda() {words}", discrim.lda, formula, data, **other)


@base.estimator
class PLDAClassifier(PartialClassifier):
    """Probabilistic linear discriminant analysis; see `discrim.plda`.

    Parameters
    ----------
    components : int, optional
        Rank of B: the number of dimensions in which the classes differ. By default it is free, up to the
        number of columns or of classes less one.
    normalize : bool
        Whether rows are centred, whitened by the covariance of all rows and brought to one length first, as
        is usual for embeddings of speakers (Garcia-Romero & Espy-Wilson, 2011). It takes another pass over
        the rows, so that moments do not allow it. Means and covariances are then those of such rows.
    tol : float
        EM ends when it can raise the log-likelihood by less than this for each row.
    maxiter : int
        The largest number of steps of EM. If all classes have one size, none is needed.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    singular : {"shrink", "raise"}
        What to do if the covariance within classes is singular. "shrink" fits
        `lda(covariance="shrunk", standardize=True)` with a warning, so that a search over models goes on.
        "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.plda)
    _goes_on = ("singular", "shrink")

    _: KW_ONLY
    components: int | None = None
    normalize: bool = False
    tol: float = 1e-9
    maxiter: int = 1000
    prior: Any = None
    singular: str = "shrink"

    def _spread(self) -> Spread | None:
        return None if self.normalize else "pooled"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        if not isinstance(error, CollinearError):
            return None
        other = base.plainly_shrunk(options) | {"collinear": "drop"}
        return base.fitted_instead(error, f"lda() with {base.SHRUNK}", discrim.lda, formula, data, **other)


SIMPLER = (
    {"components": 1, "covariance": "pooled"},
    {"components": 1, "covariance": "VII", "over": "class"},
    {"components": 1, "covariance": "EII"},
)
"""What is fitted where components become singular, the first that can be."""


@base.estimator
class MixtureClassifier(WeightedClassifier):
    """Mixture discriminant analysis; see `discrim.mixture`.

    Parameters
    ----------
    components : int, dict, or "bic"
        Number of components of each class; a dict gives it by class. "bic" tries 1 to `most`.
    covariance : str or dict
        "full" gives each component its own covariance, and "diagonal" does so without correlations. "pooled"
        has one covariance for all components of all classes, as in R's mda. Other names are those of mclust;
        see the Notes of `discrim.mixture`. "bic" tries all of these names. A dict gives names by class.
    over : {"class", "classes"}, optional
        Whether "equal" in the letters of a name means equal over the components of each class, or over those
        of all classes. By default it is over all classes if each has one component, and within each class
        otherwise.
    most : int
        The largest number of components that "bic" tries: no more than the largest class has rows, nor 1,000.
    starts : int
        Number of random partitions from which EM takes some steps, beside two of hierarchical clustering. It
        is continued from the best of them.
    seed : int
        Seed of the random partitions. The same seed and rows, in whatever order, give the same fit.
    tol : float
        EM ends when a step raises the log-likelihood by less than this for each row.
    maxiter : int
        The largest number of steps of EM.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the data.
    singular : {"simpler", "raise"}
        What to do if a component becomes singular, or there are fewer rows than components. "simpler" fits
        one component for each class, with a pooled or a spherical covariance and a warning, so that a search
        over models goes on. "raise" refuses, as the verb does.
    """

    verb = staticmethod(discrim.mixture)
    _goes_on = ("singular", "simpler")

    components: Any = "bic"
    _: KW_ONLY
    covariance: Any = "full"
    over: str | None = None
    most: int = 5
    starts: int = 10
    seed: int = 0
    tol: float = 1e-8
    maxiter: int = 1000
    prior: Any = None
    singular: str = "simpler"

    def _instead(self, error: DiscrimError, formula: Any, data: Any, options: dict[str, Any]) -> Simpler:
        for simpler in SIMPLER:
            with suppress(CollinearError):
                words = ", ".join(f"{name}={value!r}" for name, value in simpler.items())
                other = options | {"over": None} | simpler
                return base.fitted_instead(error, words, discrim.mixture, formula, data, **other)
        return None
