"""A chosen cut-off on the posterior of the second of two classes, and what it achieves.

`Threshold` is the result of `ClassifierResults.threshold`. The functions at the end are the sections of its
summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats
from discrim.data.values import format_value
from discrim.inference import error_rates as measures
from discrim.inference.roc import ChosenCutOff, CutOffCriterion
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.evaluation.assessment import AssessedRows, choice_treatment
from discrim.models.registry import summary_of
from discrim.models.results.assessed import (
    ESTIMATE_COLUMNS,
    expected_cost,
    interval_headings,
    posterior_of_log_odds,
)
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Summary, summarize


class Threshold(SummarizedResults):
    """A cut-off on the posterior of the second of two classes, and what it achieves.

    Parameters
    ----------
    fit : FittedModel
    rows : AssessedRows
        How the observations were predicted, without their arrays.
    criterion : CutOffCriterion
        The criterion by which the cut-off was chosen.
    chosen : ChosenCutOff
    level : float
        Level of intervals.

    Attributes
    ----------
    classes : (2,) Index
        Class labels.
    threshold : float
        Smallest posterior of the second class at which it is predicted; also `float(...)` of the object.
    log_odds : float
        Log odds of this posterior, which `predict(threshold=)` uses.
    nobs : int or float
        Number of observations, or the sum of their weights.
    seed : int
        Seed of the random assignment of observations to folds, which repeats the choice.
    """

    def __init__(
        self,
        fit: FittedModel[Any],
        rows: AssessedRows,
        criterion: CutOffCriterion,
        chosen: ChosenCutOff,
        level: float,
        seed: int,
    ) -> None:
        self._formula, self._title, self._rows = fit.formula, fit.title_in_sentence, rows
        self._criterion, self._chosen, self._level = criterion, chosen, level
        is_fixed = rows.method != "new" and choice_treatment(fit, rows.method) == "fixed"
        self._fixed_choice = fit.choice_description if is_fixed else ""
        self.classes = fit.classes
        self.log_odds = chosen.log_odds
        self.seed = seed
        self.threshold = float(posterior_of_log_odds(np.array(chosen.log_odds)))
        total = float(chosen.counts.sum())
        self.nobs = total if rows.has_weights else round(total)

    def __float__(self) -> float:
        return self.threshold

    @property
    @with_display_formats(every="share")
    def measures(self) -> pd.DataFrame:
        """What the choice of a cut-off achieves on other observations, estimated by nested folds.

        Indexed by measure: "sensitivity", "specificity", "positive predictive value", "negative predictive
        value" and, for a choice by costs, "expected cost"; columns estimate, se, low and high. A cut-off is
        chosen without each fold and applied to the fold. Intervals are exact binomial ones (Clopper-Pearson);
        for predictive values under a prior they are normal on the logit scale, and for costs log-normal. They
        assume independent observations and do not include the variation of the cut-off.
        """
        return self._measures_of(self._chosen.nested_counts)

    @property
    @with_display_formats(every="share")
    def apparent(self) -> pd.DataFrame:
        """What the cut-off achieves on the observations that chose it, in the form of `measures`.

        The estimates are optimistic, and the intervals are not valid for other observations.
        """
        return self._measures_of(self._chosen.counts)

    @property
    def by_fold(self) -> pd.Series:
        """Cut-offs that were chosen without each fold, posteriors of the second class, by fold."""
        values = posterior_of_log_odds(self._chosen.fold_log_odds)
        return pd.Series(values, pd.RangeIndex(1, len(values) + 1, name="fold"), name="threshold")

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The unrounded tables of the summary: "header", "nested" and "apparent"."""
        return self.summary().tables

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The cut-off and what it achieves as a summary, which prints as text.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order: "header", "nested" and "apparent"; by default all.

        Returns
        -------
        Summary
            Its `tables` have the unrounded numbers.
        """
        summary: Summary = summary_of(self, sections)
        return summary

    def _measures_of(self, counts: Floats) -> pd.DataFrame:
        """Return the table of measures, with intervals, of counts (2, 2) of actual by assigned classes."""
        values = measures.class_measures(counts, self._rows.prior, self._level)[1]
        estimates = dict(zip(measures.MEASURES, values, strict=True))
        if self._criterion.costs is not None:
            estimates["expected cost"] = expected_cost(
                counts, self._rows.prior, self._criterion.costs, self._level
            )
        table = pd.DataFrame.from_dict(estimates, orient="index", columns=ESTIMATE_COLUMNS)
        return table.rename_axis("measure")


def threshold_summary(threshold: Threshold, sections: Sequence[str] | None = None) -> Summary:
    """Return the summary of a threshold; `sections` are "header", "nested" and "apparent", by default all."""
    return summarize(
        f"Threshold: {threshold._title}",
        {
            "header": lambda: _threshold_header(threshold),
            "nested": lambda: _measures_section(
                threshold,
                "On other observations (nested folds)",
                threshold.measures,
                ".measures",
                _nested_note(threshold),
            ),
            "apparent": lambda: _measures_section(
                threshold,
                "On the observations that chose the cut-off",
                threshold.apparent,
                ".apparent",
                "These estimates are optimistic.",
            ),
        },
        sections,
    )


def _nested_note(threshold: Threshold) -> str:
    """Return the note on the measures by nested folds and their intervals."""
    intervals = "exact (Clopper-Pearson)"
    if threshold._rows.prior is not None:
        intervals += ", of predictive values normal on the logit scale"
    if threshold._criterion.costs is not None:
        intervals += ", of the expected cost log-normal"
    sentences = [
        "A cut-off is chosen without each fold and applied to the fold.",
        f"Intervals assume independent observations and are {intervals}.",
        "They do not include the variation of the cut-off and can be too short, above all of the rate that "
        "is not the target.",
    ]
    if threshold._fixed_choice:
        sentences.append(
            f"The choice of {threshold._fixed_choice} by the same observations is not repeated in the folds."
        )
    return " ".join(sentences)


def _threshold_header(threshold: Threshold) -> Pairs:
    """Return the first section of a summary: the cut-off, its criterion and its range over the folds."""
    criterion = threshold._criterion
    first, second = (format_value(label) for label in threshold.classes)
    texts = {
        "sensitivity": f"largest specificity with a sensitivity of at least {criterion.target:g}",
        "specificity": f"largest sensitivity with a specificity of at least {criterion.target:g}",
        "youden": "largest sensitivity + specificity",
        "costs": "smallest expected cost",
    }
    if criterion.costs is not None:
        texts["costs"] += (
            f" (cost {criterion.costs[0, 1]:.4g} of {second} for {first}, {criterion.costs[1, 0]:.4g} of "
            f"{first} for {second})"
        )
    by_fold = threshold.by_fold
    items = [
        HeaderItem("Threshold (posterior)", threshold.threshold, f"{threshold.threshold:.4g}"),
        HeaderItem("Log odds", threshold.log_odds, f"{threshold.log_odds:.4g}"),
        HeaderItem(
            "Sum of weights" if threshold._rows.has_weights else "Observations",
            threshold.nobs,
            f"{threshold.nobs:.10g}",
        ),
        HeaderItem("Folds", len(by_fold)),
        HeaderItem("Seed of folds", threshold.seed),
    ]
    prior = threshold._rows.prior
    notes = [
        f"{second} is predicted if its posterior is at least the cut-off, else {first}.",
        f"Chosen for the {texts[criterion.measure]}, by {threshold._rows.method_description}.",
        f"Cut-offs chosen without each fold: {by_fold.min():.4g} to {by_fold.max():.4g}.",
    ]
    if prior is not None:
        notes.append(f"Figures are weighted by this prior: {first} {prior[0]:.4g}, {second} {prior[1]:.4g}.")
    return Pairs(threshold._formula, items, " ".join(notes))


def _measures_section(
    threshold: Threshold, title: str, table: pd.DataFrame, source: str, note: str
) -> Section:
    """Return a section of the measures of a threshold.

    Parameters
    ----------
    threshold : Threshold
        Its level determines the headings.
    title, source, note : str
        Texts of the `Section`.
    table : DataFrame
        `measures` or `apparent` of the threshold.
    """
    return Section(
        title,
        table.rename_axis(None),
        dict.fromkeys(table.columns, "share"),
        headings=interval_headings(threshold._level),
        note=note,
        source=source,
    )
