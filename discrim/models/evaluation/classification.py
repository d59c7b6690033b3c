"""Tables of rows next to their predictions: classification as in SAS and Stata, casewise as in SPSS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.discriminant.lda import LDAFit
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import chi2_sf
from discrim.core.rules.rules import best_class, posteriors
from discrim.data.values import LabelType
from discrim.design.design_rows import DesignRows
from discrim.design.matrix import response_codes
from discrim.errors import NotSupportedError
from discrim.inference.error_rates import confusion_table
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy
from discrim.models.base.labels import codes_to_labels, make_unique_name
from discrim.models.base.reading import check_word
from discrim.models.base.scores import Decision, score_chunks
from discrim.models.evaluation.assessment import CountingMethod, EvaluationOptions, evaluate_scores
from discrim.models.evaluation.typicality import has_distance_distribution, typicality_blocks
from discrim.models.evaluation.validation import raise_if_many_scores, refit_prior_source

if TYPE_CHECKING:
    from discrim.report.grid import Pairs, Section
    from discrim.report.tables import Summary

METHOD_TITLES = {"apparent": "resubstitution", "loo": "leave-one-out", "cv": "cross-validation"}
"""Description of a counting method of `assessment` in the title of a classification."""


def classification(
    fit: FittedModel[Any], data: Any, method: CountingMethod, options: EvaluationOptions
) -> Classification:
    """Predict labelled rows and return them with their posteriors; see `Assessment.classification`.

    Raises NotSupportedError if the model lacks posteriors.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows with their response; None for the rows of the fit.
    method : {"apparent", "loo", "cv"}
        How the rows of the fit are predicted.
    options : EvaluationOptions
        `level` and `prior` are not used.

    Returns
    -------
    Classification
        All rows, including rows without a class or a prediction. Its `prior` is the prior of the fit.
    """
    fit.require_posteriors("classification()")
    actual, scores, weights, index = evaluate_scores(fit, data, method, options)
    prior = pd.Series(fit.prior_values(), index=fit.classes)
    title = METHOD_TITLES[method] if data is None else "new rows"
    if method != "apparent":
        title += f", prior {refit_prior_source(fit, options.refit_prior)}"
    labels = fit.design_rows.design.labels
    predicted = Decision(options.costs, cut_off=options.cut_off).codes(scores)
    return Classification(actual, predicted, posteriors(scores), weights, prior, index, title, labels)


class Classification(SummarizedResults):
    """Labelled rows with their predicted classes and posteriors.

    Parameters
    ----------
    actual : (n,) int
        Class of each row, -1 if missing.
    predicted : (n,) int
        Predicted class of each row, by the costs or the threshold of the assessment; -1 if missing.
    proba : (n, K) float
        Posteriors, NaN if missing.
    weights : (n,) float or None
        Frequency weights.
    prior : Series of float by class
        Prior of the fit; its index has the labels of the K classes.
    index : Index of length n
        Index of the table.
    title : str
        Description of how the rows were predicted.
    labels : LabelType or None
        Dtype of the response for labels that are returned; None for the dtype of the index of `prior`.
    """

    _FIRST_SECTIONS = ("classification", "average posteriors")

    def __init__(
        self,
        actual: Codes,
        predicted: Codes,
        proba: Floats,
        weights: Floats | None,
        prior: pd.Series,
        index: pd.Index,
        title: str,
        labels: LabelType | None,
    ) -> None:
        self._actual = actual
        self._proba = proba
        self._weights = weights
        self._predicted = predicted
        self._prior = prior
        self._index = index
        self._title = title
        self._labels = labels

    @property
    @with_display_formats(every="count")
    def confusion(self) -> pd.DataFrame:
        """Actual (rows) by predicted classes, K by K: counts or sums of weights."""
        return confusion_table(self._actual, self._predicted, self._prior.index, self._weights)

    @property
    @with_display_formats({"rows": "count", "percent": "z", "share": "share"})
    def table(self) -> pd.DataFrame:
        """Counts with totals, row percentages, and the priors.

        The index has pairs (actual class or "total", "rows" or "percent"): counts or sums of weights, and
        their percentages of the row. The last row, ("prior", "share"), has the priors. The columns are the
        predicted classes and "total". The names "total" and "prior" get underscores if a class has them.
        Percentages are NaN for a class without rows.
        """
        counts = self.confusion
        total = make_unique_name("total", counts.index)
        prior = make_unique_name("prior", counts.index)
        labels_with_total = [*counts.index, total]
        counts_with_total = np.vstack([counts, counts.sum(axis=0)]).astype(np.float64)
        counts_with_total = np.column_stack([counts_with_total, counts_with_total.sum(axis=1)])
        with np.errstate(invalid="ignore"):
            percent = 100 * counts_with_total / counts_with_total[:, -1:]
        table_rows = np.stack([counts_with_total, percent], axis=1).reshape(-1, len(labels_with_total))
        labels = [(label, line_type) for label in labels_with_total for line_type in ("rows", "percent")]
        index = pd.MultiIndex.from_tuples([*labels, (prior, "share")], names=["actual", None])
        priors = np.append(self._prior, self._prior.sum())
        return pd.DataFrame(
            np.vstack([table_rows, priors]),
            index=index,
            columns=pd.Index(labels_with_total, name="predicted"),
        )

    @property
    def average_posteriors(self) -> pd.DataFrame:
        """Weighted mean posterior of the predicted class in each cell of `confusion`; NaN for empty cells."""
        is_predicted = (self._actual >= 0) & (self._predicted >= 0)
        k = len(self._prior)
        posterior = self._proba[is_predicted, self._predicted[is_predicted]]
        weights = np.ones(len(posterior)) if self._weights is None else self._weights[is_predicted]
        cells = self._actual[is_predicted] * k + self._predicted[is_predicted]
        sums = np.bincount(cells, weights * posterior, k * k)
        counts = np.bincount(cells, weights, k * k)
        mean = np.divide(sums, counts, out=np.full(k * k, np.nan), where=counts > 0)
        return self.confusion.astype(np.float64).mask(lambda frame: frame.notna(), mean.reshape(k, k))

    @property
    def misclassified(self) -> pd.DataFrame:
        """Misclassified observations: columns "actual", "predicted" and the posterior of each class.

        The index is the index of the table. If a class is named "actual" or "predicted", the column of this
        name gets an underscore.
        """
        wrong = (self._actual >= 0) & (self._predicted >= 0) & (self._actual != self._predicted)
        classes = self._prior.index
        index = self._index[wrong]
        frame = pd.DataFrame(
            {
                make_unique_name(word, classes): codes_to_labels(codes[wrong], classes, index, self._labels)
                for word, codes in (("actual", self._actual), ("predicted", self._predicted))
            },
            index=index,
        )
        proba = pd.DataFrame(self._proba[wrong], index=index, columns=classes).rename_axis(columns=None)
        return pd.concat([frame, proba], axis=1)

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys among "classification", "average posteriors" and "misclassified", in the order wanted, or
            "all"; by default all.
        """
        from discrim.report.grid import Section
        from discrim.report.tables import summarize

        wrong = self.misclassified
        formats: dict[Any, Any] = dict.fromkeys(wrong.columns, "share")
        formats |= dict.fromkeys(wrong.columns[:2], "text")
        line_formats: dict[str, Any] = {"rows": "count", "percent": "z", "share": "share"}
        row_formats: dict[Any, Any] = {label: line_formats[label[1]] for label in self.table.index}
        section_functions: dict[str, Callable[[], Section | Pairs]] = {
            "classification": lambda: Section(
                "Actual classes (rows) by predicted classes",
                self.table,
                row_formats=row_formats,
                note="Percentages are of the actual class.",
                source=".table",
            ),
            "average posteriors": lambda: Section(
                "Average posterior of the predicted class",
                self.average_posteriors.rename_axis(index=None, columns=None),
                dict.fromkeys(self._prior.index, "share"),
                source=".average_posteriors",
            ),
            "misclassified": lambda: Section(
                "Misclassified observations",
                wrong,
                formats,
                note="" if len(wrong) else "None.",
                source=".misclassified",
            ),
        }
        return summarize(f"Classification, {self._title}", section_functions, sections)


def raise_if_no_distances(fit: FittedModel[Any]) -> None:
    """Raise NotSupportedError, which names `casewise()`, unless distances to the classes have a distribution.

    They are compared with chi-square, which `has_distance_distribution` supports for normal classes with
    full covariances in closed form and for robust covariances.
    """
    if not has_distance_distribution(fit, "chi2"):
        raise NotSupportedError(
            "casewise() requires normal classes with full covariances, which this "
            f"{fit.title_in_sentence} does not have.",
            hint="Use augment(), or fit lda() or qda() with full covariances.",
        )


def casewise(
    results: Any, data: Any, method: Any, missing_policy: MissingPolicy, refit_prior: bool | None
) -> pd.DataFrame:
    """Return a casewise table of new rows, or of the rows of the fit.

    Parameters
    ----------
    results : ClassifierResults
    data : table or None
        New rows with their response; None for the rows of the fit.
    method : {"apparent", "loo"}
        Whether the rows of the fit are scored by the rule of the fit, or each by the rule without it.
    missing_policy : MissingPolicy
        Options for missing values and unseen levels.
    refit_prior : bool or None
        Whether class proportions are estimated without the left-out rows; None for the model's default.

    Returns
    -------
    DataFrame of n rows
        Columns "actual", "predicted", "misclassified", "p", "df", "posterior", "D2", "second", "second_p",
        "second_posterior" and "second_D2" (see `_casewise_table`), and for a linear discriminant analysis
        with `method="apparent"` the canonical scores. In rows with a missing value all columns except
        "actual" and "df" are missing.

    Raises
    ------
    NotSupportedError
        `method` is "loo" and the covariance is robust or `data` is passed; or the fit lacks rows.
    """
    fit: FittedModel[Any] = results._fit
    check_word("method", method, ("apparent", "loo"))
    left_out = method == "loo"
    if left_out and not fit.estimates.has_distances:
        raise NotSupportedError(
            'method="loo" has no closed form for the distances under a robust covariance.',
            hint='Use leave_one_out(), which has the posteriors, or method="apparent".',
        )
    if data is None:
        design_rows = fit.require_rows("casewise()", "pass data=")
        actual, scores = evaluate_scores(fit, None, method, EvaluationOptions(refit_prior=refit_prior))[:2]
    elif left_out:
        raise NotSupportedError(
            'method="loo" leaves out rows of the fit and cannot be combined with data=.',
            hint="Leave out method= or data=.",
        )
    else:
        design_rows = fit.new_rows(data, missing_policy)
        actual, scores = _score_new_rows(fit, design_rows)
    axes = results.transform(design_rows) if isinstance(fit.estimates, LDAFit) and not left_out else None
    return _casewise_table(fit, design_rows, actual, scores, axes, left_out=left_out)


def _score_new_rows(fit: FittedModel[Any], design_rows: DesignRows) -> tuple[Codes, Floats]:
    """Return the actual classes of new rows, and their scores under the rule of the fit.

    Returns
    -------
    actual : (n,) int
        -1 if the class is missing or the table lacks the response.
    scores : (n, K) float
        NaN for rows with missing values.
    """
    n = design_rows.table.nrows
    k = len(fit.classes)
    raise_if_many_scores(n, k, "A casewise table")
    actual = np.full(n, -1)
    scores = np.full((n, k), np.nan)
    if set(design_rows.design.response_columns) <= set(design_rows.table.names):
        actual = response_codes(design_rows.design, design_rows.table, design_rows.functions)
    for row_slice, values in score_chunks(design_rows, fit.rule_for(design_rows), k):
        scores[row_slice] = values
    return actual, scores


def _squared_distances(
    fit: FittedModel[Any], design_rows: DesignRows, axes: pd.DataFrame | None, *, left_out: bool
) -> Floats:
    """Return squared distances (n, K) of rows to the class centroids, NaN for incomplete rows.

    They are in units of the unbiased covariance (divisor N - K or n_k - 1), or of a robust one.

    Parameters
    ----------
    fit : FittedModel
    design_rows : DesignRows
    axes : DataFrame (n, q) or None
        Scores on q canonical axes, in whose space distances are measured; None for the space of all columns.
    left_out : bool
        Whether the rows are rows of the fit, each left out of the centroids; ignored with `axes`.
    """
    d2 = np.full((design_rows.table.nrows, len(fit.classes)), np.nan)
    estimates = fit.estimates
    if axes is None:
        for row_slice, values in typicality_blocks(
            fit, design_rows, lambda d2, *_: d2, are_fit_rows=left_out
        ):
            d2[row_slice] = values.T
        return d2
    # The axes have unit variance by the divisor of the fit, and distances are by N - K.
    unit = estimates.residual_df / estimates.divisor if estimates.has_distances else 1.0
    for k, centroid in enumerate(estimates.axes().scores[:, : axes.shape[1]]):
        d2[:, k] = unit * ((axes.to_numpy() - centroid) ** 2).sum(axis=1)
    return d2


def _casewise_table(
    fit: FittedModel[Any],
    design_rows: DesignRows,
    actual: Codes,
    scores: Floats,
    axes: pd.DataFrame | None,
    *,
    left_out: bool,
) -> pd.DataFrame:
    """Return the casewise table of scored rows.

    Parameters
    ----------
    fit : FittedModel
    design_rows : DesignRows
    actual : (n,) int
        Actual classes, -1 if missing.
    scores : (n, K) float
        Scores of the rule.
    axes : DataFrame (n, q) or None
        Canonical scores, which are appended.
    left_out : bool
        Whether the rows are rows of the fit, each left out.

    Returns
    -------
    DataFrame of n rows
        Columns actual, predicted, misclassified (nullable boolean); of the predicted class p (upper tail of
        chi-square with df degrees of freedom), df (number of columns or axes), posterior, D2 (squared
        distance); second, second_p, second_posterior, second_D2 of the class with the second largest
        posterior; and the columns of `axes`.
    """
    d2 = _squared_distances(fit, design_rows, axes, left_out=left_out)
    p = posteriors(scores)
    df = len(fit.terms) if axes is None else axes.shape[1]
    index = design_rows.table.index
    row_index = np.arange(len(scores))
    predicted = best_class(scores)
    second = np.where(predicted < 0, -1, np.argsort(-scores, axis=1, kind="stable")[:, 1])

    def select_class(codes: Codes, values: Floats) -> Floats:
        """Return the value of the class codes[i] in each row i of values (n, K), NaN if it is -1."""
        return np.where(codes < 0, np.nan, values[row_index, codes])

    columns = {
        "actual": fit.to_labels(actual, index),
        "predicted": fit.to_labels(predicted, index),
        "misclassified": pd.arrays.BooleanArray(
            actual != predicted, np.asarray((actual < 0) | (predicted < 0))
        ),
        "p": chi2_sf(select_class(predicted, d2), df),
        "df": df,
        "posterior": select_class(predicted, p),
        "D2": select_class(predicted, d2),
        "second": fit.to_labels(second, index),
        "second_p": chi2_sf(select_class(second, d2), df),
        "second_posterior": select_class(second, p),
        "second_D2": select_class(second, d2),
    }
    frame = pd.DataFrame(columns, index=index)
    return frame if axes is None else frame.join(axes)
