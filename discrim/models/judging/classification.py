"""Rows beside their predictions: the tables that SAS and Stata print of a classification."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.rules.rules import best_class, posteriors
from discrim.frame.label_type import LabelType
from discrim.inference.error_rates import confusion_table
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit
from discrim.models.fits.labels import distinct, labelled
from discrim.models.fits.shown import Shown
from discrim.models.judging.assessment import Counting, Plan, judged_scores
from discrim.models.judging.refitted_prior import prior_of_rest

if TYPE_CHECKING:
    from discrim.report.tables import Pairs, Section, Summary

__all__ = ["Classification", "classification"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

WAYS = {"apparent": "by the rule itself", "loo": "leaving each row out", "cv": "leaving out folds"}


def classification(fit: Fit[Any], data: Any, method: Counting, plan: Plan) -> Classification:
    """Judge rows of known class; see `ClassifierResults.classification`."""
    fit.need_posteriors("classification()")
    actual, scores, weights, index = judged_scores(fit, data, method, plan)
    prior = pd.Series(fit.prior_values(), index=fit.classes)
    way = WAYS[method] if data is None else "new rows"
    if method != "apparent":
        way += f", prior {prior_of_rest(fit, plan.refit_prior)}"
    labels = fit.blocks.design.labels
    return Classification(actual, posteriors(scores), weights, prior, index, way, labels)


class Classification(Shown):
    """Rows of known class beside their posteriors.

    Attributes
    ----------
    confusion : DataFrame, actual by predicted
        Counts, or sums of weights.
    table : DataFrame by (actual, "rows" | "percent")
        Counts with totals, and percentages of each actual class. The priors are in the last row.
    average_posteriors : DataFrame, actual by predicted
        Mean posterior of the predicted class among the rows of each cell; missing where a cell has no rows.
    misclassified : DataFrame
        Rows whose predicted class is not their own: actual, predicted, and the posteriors.
    """

    SHOWN_FIRST = ("classification", "average posteriors")

    def __init__(
        self,
        actual: Codes,
        proba: Floats,
        weights: Floats | None,
        prior: pd.Series,
        index: pd.Index,
        way: str,
        labels: LabelType | None,
    ) -> None:
        self._actual, self._proba, self._weights = actual, proba, weights
        self._predicted = best_class(proba)
        self._prior, self._index, self._way, self._labels = prior, index, way, labels

    @property
    @displayed(every="count")
    def confusion(self) -> pd.DataFrame:
        """Actual by predicted, counts or sums of weights."""
        return confusion_table(self._actual, self._predicted, self._prior.index, self._weights)

    @property
    @displayed({"rows": "count", "percent": "z", "share": "share"})
    def table(self) -> pd.DataFrame:
        """Counts with totals, row percentages, and the priors."""
        counts = self.confusion
        total = distinct("total", counts.index)
        prior, whole = distinct("prior", counts.index), [*counts.index, total]
        numbers = np.vstack([counts, counts.sum(axis=0)]).astype(np.float64)
        numbers = np.column_stack([numbers, numbers.sum(axis=1)])
        with np.errstate(invalid="ignore"):
            percent = 100 * numbers / numbers[:, -1:]
        lines = np.stack([numbers, percent], axis=1).reshape(-1, len(whole))
        labels = [(label, kind) for label in whole for kind in ("rows", "percent")]
        index = pd.MultiIndex.from_tuples([*labels, (prior, "share")], names=["actual", None])
        priors = np.append(self._prior, self._prior.sum())
        return pd.DataFrame(
            np.vstack([lines, priors]), index=index, columns=pd.Index(whole, name="predicted")
        )

    @property
    def average_posteriors(self) -> pd.DataFrame:
        """Mean posterior of the predicted class, actual by predicted."""
        known = (self._actual >= 0) & (self._predicted >= 0)
        k = len(self._prior)
        own = self._proba[known].max(axis=1)
        weights = np.ones(len(own)) if self._weights is None else self._weights[known]
        cells = self._actual[known] * k + self._predicted[known]
        sums, counts = np.bincount(cells, weights * own, k * k), np.bincount(cells, weights, k * k)
        mean = np.divide(sums, counts, out=np.full(k * k, np.nan), where=counts > 0)
        return self.confusion.astype(np.float64).mask(lambda frame: frame.notna(), mean.reshape(k, k))

    @property
    def misclassified(self) -> pd.DataFrame:
        """Actual and predicted class, and posteriors, of the rows whose predicted class is not their own."""
        wrong = (self._actual >= 0) & (self._predicted >= 0) & (self._actual != self._predicted)
        classes, index = self._prior.index, self._index[wrong]
        frame = pd.DataFrame(
            {
                distinct(word, classes): labelled(codes[wrong], classes, index, self._labels)
                for word, codes in (("actual", self._actual), ("predicted", self._predicted))
            },
            index=index,
        )
        proba = pd.DataFrame(self._proba[wrong], index=index, columns=classes).rename_axis(columns=None)
        return pd.concat([frame, proba], axis=1)

    def summary(self) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook."""
        from discrim.report.tables import Section, summarize

        wrong = self.misclassified
        formats: dict[Any, Any] = dict.fromkeys(wrong.columns, "share")
        formats |= dict.fromkeys(wrong.columns[:2], "text")
        kinds: dict[str, Any] = {"rows": "count", "percent": "z", "share": "share"}
        lines: dict[Any, Any] = {label: kinds[label[1]] for label in self.table.index}
        parts: dict[str, Callable[[], Section | Pairs]] = {
            "classification": lambda: Section(
                "Actual classes (rows) by predicted classes",
                self.table,
                row_formats=lines,
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
                "Misclassified rows",
                wrong,
                formats,
                note="" if len(wrong) else "None.",
                source=".misclassified",
            ),
        }
        return summarize(f"Classification, {self._way}", parts)
