"""Estimators of models with normal classes: discriminant analysis, naive Bayes and mixtures.

Models whose fit needs only the moments of the rows have `partial_fit`, because moments of batches add up.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

import discrim
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import Array, Floats
from discrim.core.numerics.threads import one_blas_thread
from discrim.covariance import MCD, Full, StudentT, read_regularized
from discrim.data.table import incomplete_rows, with_column
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimError,
    DiscrimWarning,
    DroppedRowsWarning,
    EmptyClassWarning,
    NotSupportedError,
    warn_user,
)
from discrim.formula.grammar import quote
from discrim.models.base.reading import check_word, format_argument, is_integer, join_labels, prior_vector
from discrim.models.discriminant.covariance_models import (
    LDA_COVARIANCES,
    QDA_COVARIANCES,
    read_covariance,
)
from discrim.models.moments.moments import Moments, moments, moments_of_fit
from discrim.models.results.results import ClassifierResults
from discrim.sklearn import base
from discrim.sklearn.base import LinearCoefficients, RefusedFit, SimplerFit, WeightedClassifier
from discrim.sklearn.signatures import estimator
from discrim.subspace import MultipleCorrespondence, read_subspace


class PartialClassifier(WeightedClassifier):
    """Estimator with `partial_fit`, whose verb accepts moments instead of a table.

    Attributes
    ----------
    moments_ : Moments
        The moments of all batches that were passed to `partial_fit`.
    """

    moments_: Moments
    _moments_of_fit: Moments | None
    _response: str
    _has_fixed_classes: bool

    @abstractmethod
    def _required_moments(self) -> ScatterType | None:
        """Return which second moments the model requires, such as "pooled"; None if it requires the rows."""

    def _can_use_moments(self) -> bool:
        """Return whether the model can be fitted to moments, so that `partial_fit` is available."""
        try:
            return self._required_moments() is not None
        except DiscrimError:
            # Invalid options are reported by the fit.
            return True

    @base.available_only_if(lambda self: self._can_use_moments())
    @one_blas_thread()
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows; the result equals `fit` to all rows so far at once.

        After `fit` it adds to the rows of that fit, while `fit` itself starts from scratch. A batch that is
        refused adds nothing.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows of the batch. Categories, and everything else that a verb learns from a table, are learnt
            from the first batch: declare their levels by a categorical dtype.
        y : (n,) array of class labels
            Classes of the rows; a batch may have rows of some classes, or of one.
        classes : (K,) array, optional
            All classes that will occur; another label is then an error. Later calls may omit them, or name
            more, which are added. If no call names them, an unseen label is a new class. `classes_` is always
            sorted.
        sample_weight : (n,) array, optional
            Frequency weights: a weight of 3 stands for three identical rows.

        Returns
        -------
        self
            Classes without rows have a posterior of zero. While fewer than two classes have rows, or a
            covariance is singular, a fit does not exist, and `predict` and other methods raise a DataError.

        Raises
        ------
        DataError
            A label is not among the named classes, or labels are partly numbers and partly text; or a value
            is missing.
        PriorError
            The prior of the estimator does not include a new class.
        """
        is_first_batch = not (hasattr(self, "moments_") or hasattr(self, "results_"))
        classes_are_fixed = classes is not None or (not is_first_batch and self._has_fixed_classes)
        known_classes = self._known_classes(classes, y, is_first_batch, classes_are_fixed)
        data = self._validate_rows(X, reset=is_first_batch)
        codes = _encode_labels(y, data, known_classes)
        response = base.response_name(y, self._column_names()) if is_first_batch else self._response
        table = with_column(data, self._column_names(), response, codes, known_classes.tolist())
        weights = None if sample_weight is None else np.asarray(sample_weight)
        earlier_moments = None if is_first_batch else self._moments_so_far()
        try:
            all_moments = self._add_batch(earlier_moments, table, response, weights, known_classes)
        except DiscrimError:
            self._raise_if_missing(table)
            raise
        # The moments are stored even if they cannot be fitted yet.
        results, self._why_no_fit = self._fit_to_moments(all_moments, known_classes)
        self.moments_ = all_moments
        self._response = response
        self._moments_of_fit = None
        self._has_fixed_classes = classes_are_fixed
        if results is None:
            self.classes_ = known_classes
            self.__dict__.pop("results_", None)
        else:
            self._store_results(results, known_classes, keep_all=True)
        return self

    def _known_classes(self, classes: Any, y: Any, is_first_batch: bool, are_fixed: bool) -> Array:
        """Return all classes so far, sorted.

        Parameters
        ----------
        classes : array or None
            Classes that this call names.
        y : (n,) array
            Labels of the batch.
        is_first_batch : bool
            Whether this is the first batch.
        are_fixed : bool
            Whether a call has named the classes; otherwise the labels of the batch are added.

        Returns
        -------
        (K,) array

        Raises
        ------
        DataError
            The first call names fewer than two classes, or labels are partly numbers and partly text.
        """
        if classes is None and are_fixed:
            return self.classes_
        batch_classes = np.unique(base.validate_labels(y) if classes is None else column_or_1d(classes))
        if is_first_batch:
            if are_fixed and len(batch_classes) < 2:
                raise DataError(
                    f"classes={batch_classes.tolist()!r}: a classifier requires at least two classes.",
                    hint="Pass all classes that will occur.",
                )
            return batch_classes
        numeric_flags = {labels.dtype.kind in base.NUMERIC_KINDS for labels in (batch_classes, self.classes_)}
        if len(numeric_flags) > 1:
            raise DataError(
                f"The labels {join_labels(batch_classes.tolist())} cannot be combined with those so far, "
                f"{join_labels(self.classes_.tolist())}, because some are numbers and some are text.",
                hint="Convert them to one type.",
            )
        return np.union1d(self.classes_, batch_classes)

    def _moments_so_far(self) -> Moments:
        """Return the moments of all batches so far, or of the rows of `fit`.

        Raises NotSupportedError if `fit` stored no moments, or moments of another type than is required now.
        """
        if hasattr(self, "moments_"):
            return self.moments_
        if self._moments_of_fit is None or self._moments_of_fit._scatters != self._required_scatter_type():
            raise NotSupportedError(
                "partial_fit() cannot add rows to this fit, because fit() was called with options for which "
                "it stores no moments, or other moments.",
                hint="Call partial_fit() for a clone of the estimator.",
            )
        return self._moments_of_fit

    def _add_batch(
        self, earlier_moments: Moments | None, table: Any, response: str, weights: Any, classes: Array
    ) -> Moments:
        """Return the moments of all batches so far and of a new batch.

        Parameters
        ----------
        earlier_moments : Moments or None
            Moments of the batches so far; None for the first batch.
        table : table
            The batch with its response.
        response : str
            Name of the response.
        weights : (n,) array or None
            Frequency weights of the batch.
        classes : (K,) array
            All classes so far, including classes of the new batch.

        Returns
        -------
        Moments
        """
        action = self._na_action()
        if earlier_moments is None:
            formula = f"{quote(response)} ~ {self._formula_right_side()}"
            return moments(
                formula, table, weights=weights, scatters=self._required_scatter_type(),
                levels=classes.tolist(), na_action=action,
            )  # fmt: skip
        if weights is None and earlier_moments._weighted:
            weights = np.ones(len(table))
        earlier_moments = earlier_moments._with_declared_classes(tuple(classes.tolist()))
        return earlier_moments + earlier_moments.of(table, weights=weights, na_action=action)

    def _required_scatter_type(self) -> Any:
        """Return `_required_moments()`, such as "pooled"; raise NotSupportedError if it is None."""
        required_moments = self._required_moments()
        if required_moments is None:
            raise NotSupportedError(
                f"{type(self).__name__} requires all rows at once with these options.", hint="Use fit()."
            )
        return required_moments

    def _na_action(self) -> Any:
        """Return the `na_action` of the verb: "raise", or "drop" to leave out rows with missing values."""
        return "raise"

    def _fit_to_moments(self, all_moments: Moments, classes: Array) -> tuple[Any, DiscrimError | None]:
        """Fit the verb to moments, if that is possible yet.

        Parameters
        ----------
        all_moments : Moments
            Moments of all batches so far.
        classes : (K,) array
            All classes so far.

        Returns
        -------
        results : ClassifierResults or None
            None if fewer than two classes have rows, or a covariance is singular.
        error : DiscrimError or None
            Why the results are missing.
        """
        present = (all_moments.counts > 0).to_numpy()
        if present.sum() < 2:
            problem = (
                f"only {classes[present].tolist()[0]!r} has rows" if present.any() else "no class has rows"
            )
            return None, DataError(f"{problem} so far.", hint="Pass a batch with rows of another class.")
        options = {**self.get_params(deep=False), "moments": all_moments}
        if "cv" in options:
            options["folds"] = options.pop("cv")
        if "prior" in options:
            options["prior"] = _prior_of_present_classes(options["prior"], classes.tolist(), present)
        with warnings.catch_warnings():
            # A class may get its rows in a later batch, hence no warning.
            warnings.simplefilter("ignore", EmptyClassWarning)
            try:
                return self._call_verb(None, None, options), None
            except CollinearError as error:
                return None, error

    def _fit_and_rows(self, X: Any) -> tuple[Any, Any]:
        """Return the results and the rows of X; raise a DataError if the batches do not allow a fit yet."""
        error = getattr(self, "_why_no_fit", None)
        if error:
            raise DataError(
                f"The rows of partial_fit do not suffice for a fit yet: {error.message}", hint=error.hint
            )
        return super()._fit_and_rows(X)

    def _store_row_statistics(self, results: ClassifierResults) -> None:
        """Store the moments of the rows of a fit, to which `partial_fit` can add batches.

        None is stored if the model requires the rows, or the moments cannot be computed.
        """
        fit = results._fit
        self._moments_of_fit = None
        if not self._can_use_moments():
            return
        own_moments = moments_of_fit(fit, self._required_scatter_type())
        if own_moments is None:
            design_rows = fit.require_rows("partial_fit")
            with warnings.catch_warnings(), suppress(DiscrimError):
                # The fit has issued the warnings of these rows.
                warnings.simplefilter("ignore", DiscrimWarning)
                own_moments = moments(
                    design_rows.design.formula,
                    design_rows.table.data,
                    weights=design_rows.weights,
                    scatters=self._required_scatter_type(),
                    levels=list(design_rows.design.levels),
                    na_action=self._na_action(),
                )
        self._moments_of_fit = own_moments

    def _fit_verb(self, X: Any, y: Any, extra_options: Mapping[str, Any]) -> Self:
        """Fit the verb to rows, and discard the batches of earlier calls of `partial_fit`.

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
        """
        fitted = super()._fit_verb(X, y, extra_options)
        self.__dict__.pop("moments_", None)
        self._why_no_fit = None
        self._has_fixed_classes = False
        self._response = self.results_._fit.design_rows.design.response
        return fitted


def _encode_labels(y: Any, rows: Any, classes: Array) -> NDArray[np.intp]:
    """Return the position of each label among the classes.

    Parameters
    ----------
    y : (n,) array
        Labels.
    rows : array or table of n rows
        Must have the length of `y`.
    classes : (K,) array

    Returns
    -------
    (n,) int array

    Raises
    ------
    DataError
        A label is not among the classes.
    """
    labels = base.validate_labels(y)
    check_consistent_length(rows, labels)
    position = {label: k for k, label in enumerate(classes.tolist())}
    codes = np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise DataError(
            f"y has {labels.tolist()[row]!r} at row {row}, which is not among the classes "
            f"{join_labels(classes.tolist())}.",
            hint="Pass all classes as classes= of the first call or of this one.",
            classes=classes.tolist(),
        )
    return codes


class MissingValuesClassifier(WeightedClassifier):
    """Estimator with the parameter `missing`, which determines whether rows may have missing values."""

    missing: str

    def _raise_if_missing(self, table: Any) -> None:
        """Raise a DataError if a value is missing and `missing="raise"`."""
        if self.missing == "raise":
            super()._raise_if_missing(table)

    def __sklearn_tags__(self) -> Any:
        """Return the tags, with missing values allowed unless `missing="raise"`."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "raise"
        return tags


class EMClassifier(MissingValuesClassifier):
    """Estimator whose verb estimates moments of rows with missing values by EM."""

    def _call_verb(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        """Call the verb with `missing="em"`, without a simpler fit if it fails, or with complete rows."""
        missing = options.pop("missing")
        check_word("missing", missing, ("raise", "em"))
        if missing == "em":
            options |= {"missing": "em", "na_action": "drop"}
            # EM requires all columns of the formula.
            options |= {"collinear": "raise"} if "collinear" in options else {}
            if self._fallback_option is not None:
                options[self._fallback_option[0]] = "raise"
        return super()._call_verb(formula, data, options)


@estimator
class LDAClassifier(LinearCoefficients, TransformerMixin, EMClassifier, PartialClassifier):
    """Linear discriminant analysis, as classifier and as projection on its discriminants; see `discrim.lda`.

    Parameters
    ----------
    covariates : sequence of str or int, optional
        Columns, by name or position, that the others are adjusted for, as after the `|` of a formula.
    collinear : {"drop", "raise"}
        "drop" leaves out columns that others determine within classes; if there are then still too few rows
        for a covariance, or none by a robust method, it fits with `covariance=Shrunk(standardize=True)`. Each
        issues a warning, and a search over models continues. "raise" raises the error of the verb, which is
        the verb's default.
    missing : {"raise", "em"}
        "raise" raises an error if values are missing. "em" estimates means and covariances from all observed
        values, like the verb, and predicts a row from the values that it has. It requires all rows at once,
        and `collinear` is "raise" then.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> LDAClassifier(ncomp=1).set_output(transform="pandas").fit(X, y).transform(X).shape
    (150, 1)
    """

    verb = staticmethod(discrim.lda)
    specifications = MappingProxyType(
        {"covariance": base.word_reader(LDA_COVARIANCES.classes_by_keyword), "components": read_subspace}
    )
    takes_sparse = True

    method: Any
    covariance: Any
    components: Any
    covariates: Sequence[Any] | None = None
    collinear: str = "drop"
    missing: str = "raise"

    def _formula_right_side(self) -> str:
        """Return the right-hand side of the formula, with the covariates after a bar."""
        if self.covariates is None:
            return "."
        names = list(self._column_names())
        chosen = []
        covariates: Any = self.covariates
        requested_covariates: list[Any] = (
            [covariates] if isinstance(covariates, str | int) else list(covariates)
        )
        for covariate in requested_covariates:
            name = (
                names[covariate]
                if is_integer(covariate) and -len(names) <= covariate < len(names)
                else covariate
            )
            if name not in names:
                raise DataError(
                    f"covariates= names {format_argument(covariate)}, which is not a column of X.",
                    hint=f"Use some of {join_labels(names)}, or their positions.",
                )
            chosen.append(quote(name))
        return f". | {' + '.join(chosen)}" if chosen else "."

    def _call_verb(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        """Call the verb without the option `covariates`, because the formula contains the covariates."""
        return super()._call_verb(formula, data, {k: v for k, v in options.items() if k != "covariates"})

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit LDA with a shrunk covariance if a full or robust covariance is singular.

        Return None with covariates, with collinear="raise", and for other covariances and errors.
        """
        options = dict(refused.options)
        requested_covariance = self._specification("covariance")
        has_fallback = options["collinear"] != "raise" and isinstance(
            requested_covariance, Full | StudentT | MCD
        )
        if (
            not isinstance(refused.error, CollinearError)
            or not has_fallback
            or self._formula_right_side() != "."
        ):
            return None
        shrunk_options = base.shrunk_options(options)
        description = f"with covariance={shrunk_options['covariance']}"
        return base.fit_with_warning(refused, description, discrim.lda, **shrunk_options)

    def _required_moments(self) -> ScatterType | None:
        """Return the second moments that the covariance requires; None if it requires the rows."""
        covariance_model = read_covariance(LDA_COVARIANCES, self.covariance, self.method, self.components)
        by_levels = isinstance(self.components, MultipleCorrespondence)
        needs_rows = covariance_model.needs_rows or by_levels or self.missing == "em"
        return None if needs_rows else covariance_model.required_moments("pooled")

    @one_blas_thread()
    def transform(self, X: Any) -> Floats:
        """Return scores (n, r) on the r discriminants, centred at the prior-weighted mean of the class means.

        Their variance within classes is one. The scores of a row with a missing value are NaN.

        Parameters
        ----------
        X : (n, p) array or frame
            Rows with the columns of the fit.
        """
        results, blocks = self._fit_and_rows(X)
        return np.asarray(results.transform(blocks).to_numpy())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the discriminants: LD1, LD2 and so on.

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
            passed_names = list(input_features)
            fitted_names = getattr(self, "feature_names_in_", None)
            if len(passed_names) != self.n_features_in_:
                raise DataError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(passed_names)}.",
                    hint="Pass one name for each.",
                )
            if fitted_names is not None and passed_names != fitted_names.tolist():
                raise DataError(
                    "input_features is not equal to feature_names_in_.",
                    hint=f"Pass {join_labels(fitted_names.tolist())}, or None.",
                )
        results: Any = self.results_
        return np.asarray(results.scaling.columns, dtype=object)


@estimator
class QDAClassifier(EMClassifier, PartialClassifier):
    """Quadratic discriminant analysis; see `discrim.qda`.

    Parameters
    ----------
    singular : {"shrink", "raise"}
        Behaviour if the covariance of a class is singular. "shrink" warns and fits
        `covariance=Shrunk(standardize=True)`, or `lda()` if even that fails. "raise" raises the error of the
        verb.
    missing : {"raise", "em"}
        "raise" raises an error if values are missing. "em" estimates means and covariances from all observed
        values, like the verb, and predicts a row from the values that it has. It requires all rows at once,
        and `singular` is "raise" then.
    """

    verb = staticmethod(discrim.qda)
    specifications = MappingProxyType(
        {"covariance": base.word_reader(QDA_COVARIANCES.classes_by_keyword), "components": read_subspace}
    )
    _fallback_option = ("singular", "shrink")

    method: Any
    covariance: Any
    components: Any
    singular: str = "shrink"
    missing: str = "raise"

    def _required_moments(self) -> ScatterType | None:
        """Return "class" for moments of each class, or None if the covariance requires the rows."""
        covariance_model = read_covariance(QDA_COVARIANCES, self.covariance, self.method, self.components)
        # If the covariance of a class does not exist, the covariance of other classes is used.
        return None if covariance_model.needs_rows or self.missing == "em" else "class"

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit QDA with shrunk covariances if a covariance is singular, or LDA if that fails too.

        The option `ncomp` is not kept, because it requires full covariances. Return None for other errors.
        """
        options = dict(refused.options)
        requested_covariance = self._specification("covariance")
        if not isinstance(refused.error, CollinearError) or requested_covariance is None:
            return None
        del options["ncomp"]  # It requires full covariances.
        shrunk_options = base.shrunk_options(options, requested_covariance)
        description = f"covariance={shrunk_options['covariance']}"
        try:
            return base.fit_with_warning(refused, f"with {description}", discrim.qda, **shrunk_options)
        except CollinearError as shrunk_error:
            shrunk_options["collinear"] = "drop"
            return base.fit_with_warning(
                refused._replace(error=shrunk_error),
                f"lda() with {description}",
                discrim.lda,
                **shrunk_options,
            )


@estimator
class LocationClassifier(WeightedClassifier):
    """The location model; see `discrim.location`.

    Parameters
    ----------
    singular : {"shrink", "raise"}
        Behaviour if the covariance within cells is singular. "shrink" fits
        `lda(covariance=Shrunk(standardize=True))` with a warning, and a search over models continues. "raise"
        raises the error of the verb.
    """

    verb = staticmethod(discrim.location)
    _fallback_option = ("singular", "shrink")

    singular: str = "shrink"

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit LDA with a shrunk covariance if the covariance is singular, else return None."""
        if not isinstance(refused.error, CollinearError):
            return None
        return base.fit_shrunk_lda(refused)


@estimator
class NaiveBayesClassifier(MissingValuesClassifier, PartialClassifier):
    """Naive Bayes; see `discrim.naive_bayes`.

    Parameters
    ----------
    singular : {"smooth", "raise"}
        Behaviour if a normal column is constant within a class. "smooth" fits with `smoothing=1e-9`, like
        scikit-learn, and without kernels, hence without a bandwidth. If a class has one row, it also sets
        `method="mle"`, or fits `lda(covariance="diagonal")` with variances common to all classes if all
        columns are normal and complete. Each issues a warning, and a search over models continues. "raise"
        raises the error of the verb.
    missing : {"raise", "integrate", "available"}
        "raise" raises an error if values are missing. "integrate" predicts a row from the values that it
        has, like the verb, and fits the complete rows, with a warning that counts the others. "available"
        also fits each column to the rows that have it.
    """

    verb = staticmethod(discrim.naive_bayes)
    takes_sparse = True
    _fallback_option = ("singular", "smooth")

    kernel: bool | Sequence[str]
    singular: str = "smooth"
    missing: str = "raise"

    def _call_verb(self, formula: Any, data: Any, options: dict[str, Any]) -> ClassifierResults:
        """Call the verb with the options for missing values.

        With missing="integrate" incomplete rows are left out of the fit, with a warning. With
        missing="available" each column is fitted to the rows in which it has a value.
        """
        missing = options.pop("missing")
        check_word("missing", missing, ("integrate", "available", "raise"))
        if missing == "available":
            options |= {"missing": missing, "na_action": "drop"}
        incomplete = incomplete_rows(data) if missing == "integrate" and data is not None else 0
        if incomplete:
            options["na_action"] = "drop"
            problem = (
                "row has missing values and is" if incomplete == 1 else "rows have missing values and are"
            )
            warn_user(f"{incomplete} {problem} left out of the fit.", DroppedRowsWarning)
        return super()._call_verb(formula, data, options)

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit with smoothing and without kernels, or a diagonal LDA if a class has one row and no kernels."""
        options = dict(refused.options)
        if not isinstance(refused.error, CollinearError):
            return None
        all_have_several_rows = base.class_sizes(refused.data, options).min() > 1
        if options["kernel"]:
            # A column without variance does not have a bandwidth either.
            options |= {"kernel": False, "bandwidth": "nrd0"}
            description = "with kernel=False, smoothing=1e-9"
        elif all_have_several_rows:
            if options["smoothing"] != 0:
                return None
            description = "with smoothing=1e-9"
        elif (
            self.missing == "raise"
            and not options["counts"]
            and self._has_only_numeric_columns(refused.data, options)
        ):
            names = ("prior", "weights", "method", "na_action", "moments")
            lda_options = {name: options.get(name) for name in names}
            lda_options |= {"covariance": "diagonal", "collinear": "drop"}
            return base.fit_with_warning(
                refused, 'lda() with covariance="diagonal"', discrim.lda, **lda_options
            )
        else:
            description = 'with method="mle", smoothing=1e-9'
        # The variance with divisor n - 1 does not exist for a class of one row.
        options |= {"smoothing": 1e-9} | ({} if all_have_several_rows else {"method": "mle"})
        return base.fit_with_warning(refused, description, discrim.naive_bayes, **options)

    def _has_only_numeric_columns(self, data: Any, options: Mapping[str, Any]) -> bool:
        """Return whether all columns of the data, or of the moments if `data` is None, are numeric."""
        if data is None:
            design = options["moments"]._design
            return design.is_plain and not design.boolean_columns
        return all(data[name].dtype.kind in base.NUMERIC_KINDS for name in self._column_names())

    def _required_moments(self) -> ScatterType | None:
        """Return "diagonal", or None with kernels or missing="available", which require the rows."""
        return None if self.kernel is not False or self.missing == "available" else "diagonal"

    def _na_action(self) -> Any:
        """Return "drop" if rows may have missing values, else "raise"."""
        return "raise" if self.missing == "raise" else "drop"


@estimator
class RDAClassifier(LinearCoefficients, PartialClassifier):
    """Regularized discriminant analysis; see `discrim.rda`.

    Parameters
    ----------
    singular : {"shrink", "raise"}
        Behaviour if a covariance is singular, or a class has too few rows for one, or too few to leave some
        out for a choice. "shrink" fits `lda(covariance=Shrunk(standardize=True))`, or `qda()` with these
        options if alpha=1, which means a covariance of each class. A warning is issued, and a search over
        models continues. "raise" raises the error of the verb.
    """

    verb = staticmethod(discrim.rda)
    specifications = MappingProxyType({"parametrization": read_regularized, "components": read_subspace})
    _fallback_option = ("singular", "shrink")

    alpha: float | Literal["1se"] | None
    gamma: float | Literal["1se"] | None
    components: Any
    seed: int | None = 0
    singular: str = "shrink"

    def _required_moments(self) -> ScatterType | None:
        """Return "class", or None if a parameter is chosen by cross-validation, which requires the rows."""
        subspace = self._specification("components")
        parameters = (self.alpha, self.gamma, getattr(subspace, "n", None))
        is_chosen_by_data = (
            self.alpha is None
            or self.gamma is None
            or any(isinstance(parameter, str) for parameter in parameters)
        )
        return None if is_chosen_by_data else "class"

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit QDA with shrunk covariances if alpha is 1 and no class is small, else LDA with a shrunk one.

        Return None unless the covariance is singular or a class has at most `base.MAX_SMALL_CLASS` rows.
        """
        options = dict(refused.options)
        has_small_class = base.class_sizes(refused.data, options).min() <= base.MAX_SMALL_CLASS
        if not (has_small_class or isinstance(refused.error, CollinearError)):
            return None
        if self.alpha == 1 and not has_small_class:
            qda_options = base.minimal_shrunk_options(options, "method")
            description = f"qda() with covariance={base.FALLBACK_COVARIANCE}"
            with suppress(CollinearError):
                return base.fit_with_warning(refused, description, discrim.qda, **qda_options)
        return base.fit_shrunk_lda(refused, "method")


@estimator
class PLDAClassifier(PartialClassifier):
    """Probabilistic linear discriminant analysis; see `discrim.plda`.

    Parameters
    ----------
    singular : {"shrink", "raise"}
        Behaviour if the covariance within classes is singular. "shrink" fits
        `lda(covariance=Shrunk(standardize=True))` with a warning, and a search over models continues. "raise"
        raises the error of the verb.
    """

    verb = staticmethod(discrim.plda)
    _fallback_option = ("singular", "shrink")

    normalize: bool
    singular: str = "shrink"

    def _required_moments(self) -> ScatterType | None:
        """Return "pooled", or None if rows are normalized."""
        return None if self.normalize else "pooled"

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit LDA with a shrunk covariance if the covariance is singular, else return None."""
        if not isinstance(refused.error, CollinearError):
            return None
        return base.fit_shrunk_lda(refused)


SIMPLER_MIXTURES = (
    {"components": 1, "covariance": "pooled"},
    {"components": 1, "covariance": "VII", "over": "class"},
    {"components": 1, "covariance": "EII"},
)
"""Options of simpler mixtures, which are tried in this order if the requested mixture is singular."""


@estimator
class MixtureClassifier(EMClassifier):
    """Mixture discriminant analysis; see `discrim.mixture`.

    Parameters
    ----------
    singular : {"simpler", "raise"}
        Behaviour if a component becomes singular, or there are fewer rows than components. "simpler" fits
        one component for each class, with a pooled or a spherical covariance and a warning, and a search over
        models continues. "raise" raises the error of the verb.
    missing : {"raise", "em"}
        "raise" raises an error if values are missing. "em" estimates means and covariances from all observed
        values, like the verb, and predicts a row from the values that it has. It requires all rows at once,
        and `singular` is "raise" then.
    """

    verb = staticmethod(discrim.mixture)
    positional = ("components",)
    _fallback_option = ("singular", "simpler")

    singular: str = "simpler"
    missing: str = "raise"

    def _fit_simpler(self, refused: RefusedFit) -> SimplerFit:
        """Fit the first mixture of `SIMPLER_MIXTURES` that is not singular, or return None if all are."""
        options = dict(refused.options)
        for simpler in SIMPLER_MIXTURES:
            with suppress(CollinearError):
                description = ", ".join(f"{name}={value!r}" for name, value in simpler.items())
                simpler_options = options | {"over": None} | simpler
                return base.fit_with_warning(refused, description, discrim.mixture, **simpler_options)
        return None


def _prior_of_present_classes(prior: Any, classes: Sequence[Any], kept_mask: NDArray[np.bool_]) -> Any:
    """Restrict a prior to the classes of a mask (K,), and rescale it to sum to one.

    Parameters
    ----------
    prior : object
        Prior of the estimator.
    classes : sequence
        Labels (K,).
    kept_mask : (K,) array of bool
        Classes to keep.

    Returns
    -------
    object
        The prior unchanged if it is a word or None, or all classes are kept; else a list, or "equal" if the
        prior of all kept classes is zero.
    """
    if prior is None or isinstance(prior, str) or kept_mask.all():
        return prior
    proportions = prior_vector(prior, classes, np.ones(len(classes)))[kept_mask]
    return (proportions / proportions.sum()).tolist() if proportions.sum() > 0 else "equal"
