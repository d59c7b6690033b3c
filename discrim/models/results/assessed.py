"""How good a fit is on rows that it did or did not see: figures of all classes, of each and of pairs.

The sections of the summary of an assessment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.map_reduce import StoredValue
from discrim.core.numerics.special import normal_isf
from discrim.core.rules.calibration import Calibrator, fit_calibrator
from discrim.data.values import shown
from discrim.errors import DataError
from discrim.inference import error_rates as measures
from discrim.inference.calibration import (
    JudgedRows,
    Recalibration,
    brier_parts,
    calibration_bins,
    judged_residuals,
    log_odds_against_rest,
    loss_rate,
    recalibrated,
    runner_up,
)
from discrim.inference.error_rates import Estimate, counts_of
from discrim.inference.resampling import dealt_codes
from discrim.inference.roc import Area, PairAreas, pair_areas, roc_area
from discrim.models.base.available import available_if
from discrim.models.base.displayed import Shown, displayed
from discrim.models.base.fit import CALIBRATOR, FittedModel
from discrim.models.base.labels import distinct
from discrim.models.base.reading import listed
from discrim.models.evaluation.absent_classes import absent_class_mask, absent_note
from discrim.models.evaluation.assessment import AssessedRows
from discrim.models.evaluation.calibrated import FOLDS, SEED, calibrator_of
from discrim.models.evaluation.classification import Classification
from discrim.models.plots.pictured import draw_kind
from discrim.models.registry import summary_of
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

COLUMNS = ["estimate", "se", "low", "high"]

MOST_PAIRED = 256
"""Classes up to which the mean area of pairs is among the figures of all classes; of more it takes long."""


class Assessment(Shown):
    """Performance of a fit on labelled rows.

    Attributes
    ----------
    nobs : int or float
        Number of evaluated rows, or the sum of their weights.
    unlabelled, unpredicted : int
        Numbers of rows that are left out: without a class, and with a class but without a prediction.
    absent : list
        Classes without evaluated rows.
    """

    def __init__(
        self,
        fit: FittedModel[Any],
        rows: StoredValue[AssessedRows],
        classify: Callable[..., Classification],
        level: float,
        bins: int,
    ) -> None:
        self._fit = fit
        self._level = level
        self._bins = bins
        self._classify: Any = classify
        self._figures = rows.map(partial(_Figures, level, bins))
        self._rows, self._confusion, total = self._figures.apply(_without_rows)
        self.classes = fit.classes
        self.unlabelled = self._rows.unlabelled
        self.unpredicted = self._rows.unpredicted
        self.nobs = total if self._rows.weighted else round(total)
        self._counts = self._confusion.astype(np.float64)
        self.absent = [label for label, n in zip(fit.classes, self._counts.sum(axis=1), strict=True) if not n]
        if self._rows.posteriors:
            # Raise an error for an invalid number of bins now, and not when a figure is first computed.
            calibration_bins(np.array([0.5]), np.array([True]), bins)

    # ---- figures

    @property
    def prior(self) -> pd.Series | None:
        """Shares of the classes by which the figures are weighted; None if rows are counted equally."""
        shares = self._rows.shares
        return None if shares is None else pd.Series(shares.copy(), self.classes, name="prior")

    @property
    @displayed(every="share")
    def overall(self) -> pd.DataFrame:
        """Figures of all classes together, by measure.

        estimate, se, low and high of accuracy, balanced accuracy, kappa, and AUC, for the
        second of two classes, or the mean over all pairs of more. Models with posteriors also have the log
        loss, Brier's score and the slope of a recalibration, for two classes with its intercept. The
        intervals of log loss and Brier's score are log-normal, with an upper limit that allows for errors of
        which the rows show none; it assumes that labels are not more often wrong if the rule is more certain.
        """
        shares = self._rows.shares
        level = self._level
        found: dict[str, Any] = {
            "accuracy": measures.accuracy(self._counts, shares, level),
            "balanced accuracy": measures.balanced_accuracy(self._counts, level),
            "kappa": measures.kappa(self._counts, shares, level),
        }
        if len(self.classes) <= MOST_PAIRED:
            found["AUC"] = _estimate(self._figures.apply(attrgetter("areas")).mean)
        if self._rows.posteriors:
            found |= self._figures.apply(attrgetter("losses"))
            slope, intercept = self._figures.apply(attrgetter("recalibration"))
            found["calibration slope"] = self._normal(slope)
            if intercept is not None:
                found["calibration intercept"] = self._normal(intercept)
        table = pd.DataFrame.from_dict(found, orient="index", columns=COLUMNS)
        return table.rename_axis("measure")

    @property
    @displayed(every="share")
    def by_class(self) -> pd.DataFrame:
        """Figures of each class against all others, by (class, measure).

        The same columns for sensitivity, specificity, both predictive values, and the area under the ROC
        curve of the class against the rest. ``by_class["estimate"].unstack()`` has a row for each class.
        """
        found: dict[Any, Any] = {}
        areas = self._figures.apply(attrgetter("against_rest"))
        for k, own in enumerate(measures.class_measures(self._counts, self._rows.shares, self._level)):
            label = self.classes[k]
            found |= {(label, name): value for name, value in zip(measures.MEASURES, own, strict=True)}
            found[label, "AUC"] = _estimate(areas[k])
        return self._indexed(found, ["class", "measure"], COLUMNS)

    @property
    @displayed(every="share")
    def pairs(self) -> pd.DataFrame:
        """Areas under the ROC curves of pairs of classes, by (a, b).

        auc, se, low, high: the measure A of Hand and Till for each pair of classes.
        """
        areas = self._figures.apply(attrgetter("areas"))
        found = {
            (self.classes[i], self.classes[j]): _estimate(area)
            for (i, j), area in zip(areas.pairs, areas.areas, strict=True)
        }
        return self._indexed(found, ["a", "b"], ["auc", "se", "low", "high"])

    @property
    @displayed(every="share")
    def brier(self) -> pd.DataFrame:
        """Brier's score by class, and its parts.

        Brier's score and its parts in bins of the class's probability, for models with posteriors. The last
        row, "total", is of all classes.
        """
        self._fit.need_posteriors("brier")
        table = pd.DataFrame(self._figures.apply(attrgetter("brier")), index=self.classes)
        whole = pd.DataFrame([table.sum()], index=[distinct("total", self.classes)]).astype(
            {"bins": np.int64}
        )
        return pd.DataFrame(pd.concat([table, whole]).rename_axis("class"))

    @property
    @displayed(every="share", rows="count")
    def calibration(self) -> pd.DataFrame:
        """Predicted probabilities and observed shares, by (class, bin), for `plot("calibration")`.

        For two classes they are the probabilities of the second.
        """
        self._fit.need_posteriors("calibration")
        parts = {}
        for k, found in self._figures.apply(_bins).items():
            names = ("predicted", "observed", "low", "high", "rows")
            table = pd.DataFrame({name: getattr(found, name) for name in names})
            parts[self.classes[k]] = table.set_axis(pd.RangeIndex(1, len(table) + 1))
        return pd.DataFrame(pd.concat(parts, names=["class", "bin"]))

    @property
    @displayed(every="share")
    def calibrated(self) -> pd.DataFrame:
        """Losses of the posteriors as they are, and of calibrated ones.

        Indexed by measure. Log loss and Brier's score of the posteriors as they are, `plugin`, and of
        calibrated ones, with the paired difference, its se and its limits.

        Rows of the fit that were left out calibrate each other, by the map of the other nine folds of them;
        for other rows the posteriors are from ``predict_proba(method="calibrated")``, and the fit has to
        have the map, or rows. Negative differences are in favour of the calibration. Standard errors assume
        independent rows and fixed maps.
        """
        judged_by_fit = self._rows.method in ("new", "apparent")
        calibrator = calibrator_of(self._fit) if judged_by_fit else None
        log_prior = self._fit.log_prior() if self._rows.posteriors else None
        found = self._figures.apply(partial(_calibrated, calibrator, log_prior))
        table = pd.DataFrame.from_dict(
            found, orient="index", columns=["plugin", "calibrated", "difference", "se"]
        )
        half = float(normal_isf((1 - self._level) / 2)) * table["se"]
        table = table.assign(low=table["difference"] - half, high=table["difference"] + half)
        return table.rename_axis("measure")

    @property
    @displayed(every="count")
    def confusion(self) -> pd.DataFrame:
        """Actual by predicted classes, counts or sums of weights."""
        actual = self.classes.rename("actual")
        predicted = self.classes.rename("predicted")
        return pd.DataFrame(self._confusion.copy(), index=actual, columns=predicted)

    @available_if(lambda self: self._rows.posteriors, "assess a model with posterior probabilities")
    @available_if(lambda self: self._classify is not None, "it was unpickled, without the observations")
    def classification(self) -> Classification:
        """Classification table, average posteriors and misclassified observations.

        The observations are predicted again.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_iris
        >>> found = lda("species ~ .", load_iris()).assess("loo").classification()
        >>> found.misclassified["predicted"].to_dict()
        {70: 'virginica', 83: 'virginica', 133: 'versicolor'}
        """
        method = "apparent" if self._rows.method == "new" else self._rows.method
        found: Classification = self._classify(method=method)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        # The table of the observations is not pickled.
        return _unpickled, (vars(self) | {"_classify": None},)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables of the summary by name, unrounded."""
        return self.summary().tables

    # ---- what they are made of

    def _assessed(self) -> AssessedRows:
        """The rows that are judged, for a picture of them."""
        rows: AssessedRows = self._figures.apply(attrgetter("rows"))
        return rows

    def _normal(self, found: tuple[float, float]) -> Estimate:
        """An estimate and its standard error with the normal interval."""
        half = float(normal_isf((1 - self._level) / 2)) * found[1]
        return Estimate(*found, found[0] - half, found[0] + half)

    def _indexed(self, found: dict[Any, Any], names: list[str], columns: list[str]) -> pd.DataFrame:
        index = pd.MultiIndex.from_tuples(list(found), names=names)
        return pd.DataFrame(list(found.values()), index=index, columns=columns)

    # ---- shown

    def plot(
        self,
        kind: Literal["confusion", "roc", "calibration"] | None = None,
        ax: Axes | None = None,
        *,
        classes: Sequence[Any] | None = None,
        colors: Any = None,
        title: str | None = None,
        label: str | None = None,
    ) -> Axes:
        """Draw a picture of the rows that were judged.

        Parameters
        ----------
        kind : {"confusion", "roc", "calibration"}, optional
            "confusion", the default, draws actual by predicted classes. "roc" draws ROC curves, and
            "calibration" predicted probabilities against observed shares; both have bands at the level of the
            assessment if the classes are at most three, or named.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default a new figure.
        classes : label or labels, optional
            Classes whose curves "roc" and "calibration" draw, with bands; by default all.
        colors : mapping, sequence, str or Colormap, optional
            Colours by class, in the order of the classes, or a colormap of matplotlib or its name.
        title : str, optional
            Title in place of the picture's own; "" for none.
        label : str, optional
            Name of the curves of "roc" in the legend, for axes with curves of several fits. By default curves
            of several fits on the same axes have the names of their models.
        """
        from discrim.models.plots.pictured import PictureOptions, checked_classes

        options = PictureOptions(
            ax, classes=checked_classes(classes), colors=colors, title=title, label=label
        )
        from discrim.models.plots.judged import ASSESSMENT_PLOTS

        return draw_kind((self,), ASSESSMENT_PLOTS, kind, options)

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The figures as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order; by default all.
        """
        summary: Summary = summary_of(self, sections)
        return summary


class _Figures:
    """Figures of the evaluated rows, which are computed on the workers that have the rows."""

    def __init__(self, level: float, bins: int, rows: AssessedRows) -> None:
        self.rows = rows
        self.level = level
        self.bins = bins

    @property
    def judged(self) -> JudgedRows:
        rows = self.rows
        return JudgedRows(rows.codes, rows.weights, rows.values.shape[1], rows.shares, None)

    @cached_property
    def proba(self) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + np.exp(-self.rows.values)))

    @cached_property
    def areas(self) -> PairAreas:
        rows = self.rows
        return pair_areas(rows.values, rows.codes, rows.weights, self.level)

    @cached_property
    def against_rest(self) -> list[Area]:
        rows = self.rows
        return [
            roc_area(rows.values[:, k], rows.codes == k, rows.weights, self.level)
            for k in range(rows.values.shape[1])
        ]

    @cached_property
    def losses(self) -> dict[str, Estimate]:
        rows = self.rows
        other = runner_up(self.rows.values)
        found = {
            name: Estimate(
                *loss_rate(
                    loss(rows.values, rows.codes),
                    self.judged,
                    self.level,
                    counts=False,
                    if_wrong=loss(rows.values, other),
                )
            )
            for name, loss in LOSSES.items()
        }
        # A single row, or rows that lose the same, say nothing of how losses vary.
        return {name: each if each.se > 0 else Estimate(each.estimate) for name, each in found.items()}

    @cached_property
    def recalibration(self) -> Recalibration:
        rows = self.rows
        return recalibrated(rows.values, rows.codes, rows.weights, sampled=rows.shares is None)

    @cached_property
    def brier(self) -> list[Any]:
        rows = self.rows
        shares = self.judged.shares()
        k = self.rows.values.shape[1]
        # Of two classes the parts of the second are those of the first.
        wanted = [1, 1] if k == 2 else range(k)
        return [brier_parts(self.proba[:, k], rows.codes == k, self.bins, shares) for k in wanted]


def _calibrated(
    calibrator: Calibrator | None, log_prior: Floats | None, figures: _Figures
) -> dict[str, tuple[float, ...]]:
    """Return the losses with and without calibration, their difference and its standard error, by measure.

    Parameters
    ----------
    calibrator : Calibrator or None
        None to calibrate each fold by the other folds.
    log_prior : (K,) float or None
    figures : _Figures
    """
    rows = figures.rows
    judged = figures.judged
    own = np.arange(len(figures.rows.codes))
    logs = rows.values if rows.posteriors or rows.values.shape[1] == 2 else None
    scores = rows.values if logs is None else -np.logaddexp(0.0, -logs)
    weights = judged.shares()
    if calibrator is not None:
        found = calibrator.scores(scores)
    else:
        # The rule without the only row of a class lacks the class and cannot be calibrated.
        lone = absent_class_mask(rows.codes, rows.weights, rows.values.shape[1])
        codes = np.where(lone, -1, rows.codes)
        kind = fit_calibrator(scores, codes, weights, log_prior=log_prior).kind
        found = np.empty_like(scores)
        dealt = dealt_codes(rows.codes, min(FOLDS, len(own)), SEED)
        for fold in range(int(dealt.max()) + 1):
            out = dealt == fold
            rest = scores[~out], codes[~out], weights[~out]
            found[out] = fit_calibrator(*rest, kind, log_prior=log_prior).scores(scores[out])
        found[lone, rows.codes[lone]] = -np.inf
    after = log_odds_against_rest(found)
    table = {}
    for name, loss in LOSSES.items():
        better = loss(after, rows.codes)
        plain = loss(rows.values, rows.codes) if rows.posteriors else np.full(len(own), np.nan)
        with np.errstate(invalid="ignore"):
            change = loss_rate(better - plain, judged, figures.level, counts=False)
        means = (loss_rate(each, judged, figures.level, counts=False)[0] for each in (plain, better))
        table[name] = (*means, *change[:2])
    return table


def _log_losses(values: Floats, codes: Codes) -> Floats:
    """Log loss (m,) of rows, from log odds (m, K) of each class against the rest."""
    return np.asarray(np.logaddexp(0.0, -values[np.arange(len(codes)), codes]))


def _brier_scores(values: Floats, codes: Codes) -> Floats:
    """Brier's score (m,) of rows, from log odds (m, K) of each class against the rest."""
    return np.asarray((judged_residuals(values, codes) ** 2).sum(axis=1))


LOSSES: dict[str, Callable[[Floats, Codes], Floats]] = {"log loss": _log_losses, "Brier": _brier_scores}
"""Loss functions of posteriors by the name of the measure."""


def _unpickled(state: dict[str, Any]) -> Assessment:
    """Return an assessment from its pickled attributes."""
    assessment = object.__new__(Assessment)
    vars(assessment).update(state)
    return assessment


def _without_rows(figures: _Figures) -> tuple[AssessedRows, NDArray[Any], float]:
    """Return the evaluated rows without their arrays, the confusion matrix (K, K), and the sum of weights."""
    rows = figures.rows
    counts = counts_of(
        rows.codes, rows.predicted, rows.values.shape[1], rows.weights if rows.weighted else None
    )
    bare = replace(
        rows, codes=rows.codes[:0], predicted=rows.codes[:0], values=rows.values[:0], weights=rows.weights[:0]
    )
    return bare, counts, float(rows.weights.sum())


def _bins(figures: _Figures) -> dict[int, Any]:
    """Return the calibration bins by class; for two classes only of the second."""
    rows = figures.rows
    k = figures.rows.values.shape[1]
    return {
        k: calibration_bins(figures.proba[:, k], rows.codes == k, figures.bins, rows.weights, figures.level)
        for k in ([1] if k == 2 else range(k))
    }


def _estimate(area: Area) -> Estimate:
    return Estimate(area.auc, area.se, area.low, area.high)


MOST_IN_FULL = 6
"""Classes up to which each figure of a class is shown with its interval."""


def summary(assessment: Assessment, sections: Sequence[str] | None = None) -> Summary:
    """Header, figures of all classes, of each, of pairs, Brier's score, confusion."""
    parts: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: _header(assessment),
        "overall": lambda: _overall(assessment),
        "classes": lambda: _classes(assessment),
    }
    if 2 < len(assessment.classes) <= MOST_PAIRED:
        parts["pairs"] = lambda: _pairs(assessment)
    if assessment._rows.posteriors:
        parts["brier"] = lambda: _brier_section(assessment)
    table = _calibrated_soon(assessment)
    if table is not None:
        parts["calibrated"] = partial(_calibrated_section, assessment, table)
    parts["confusion"] = lambda: Section(
        "Actual classes (rows) by predicted classes",
        assessment.confusion.rename_axis(index=None, columns=None),
        "count",
        source=".confusion",
    )
    return summarize(f"Assessment: {assessment._fit.title_in_sentence}", parts, sections)


def _header(assessment: Assessment) -> Pairs:
    rows = assessment._rows
    prior = "classes as the rows have them" if assessment.prior is None else "another, below"
    items: list[HeaderItem] = [
        HeaderItem(
            "Sum of weights" if rows.weighted else "Rows judged", assessment.nobs, f"{assessment.nobs:.10g}"
        ),
        HeaderItem("Rows without a class", assessment.unlabelled),
        HeaderItem("Rows without a prediction", assessment.unpredicted),
        HeaderItem("Weighted by the prior", prior),
    ]
    notes = [f"Judged: {rows.way}."]
    if rows.method in ("loo", "cv"):
        counts = assessment._counts.sum(axis=1)
        notes.append(absent_note(assessment.classes[(counts > 0) & (counts <= 1)]))
    if assessment.prior is not None and len(assessment.prior) <= MOST_IN_FULL:
        shares = ", ".join(f"{shown(label)} {share:.4g}" for label, share in assessment.prior.items())
        notes.append(f"Figures are weighted by this prior: {shares}.")
    elif assessment.prior is not None:
        notes.append("Figures are weighted by the prior: see .prior.")
    if len(assessment.classes) == 2:
        notes.append(f"The positive class is {shown(assessment.classes[1])}.")
    if assessment.absent:
        one = len(assessment.absent) == 1
        notes.append(
            f"No row is of class {listed(assessment.absent)}: its figures are missing, and means over "
            "classes leave it out."
            if one
            else f"No row is of the classes {listed(assessment.absent)}: their figures are missing, "
            "and means over classes leave them out."
        )
    return Pairs(assessment._fit.formula, items, " ".join(filter(None, notes)))


def _headings(assessment: Assessment) -> dict[str, str]:
    tail = (1 - assessment._level) / 2
    return {"se": "std err", "low": f"[{tail:.4g}", "high": f"{1 - tail:.4g}]"}


def _overall(assessment: Assessment) -> Section:
    table = assessment.overall
    notes = []
    if "AUC" in table.index:
        first, second = (shown(label) for label in assessment.classes[:2])
        of = (
            f"The area is that of {second} against {first} (DeLong)."
            if len(assessment.classes) == 2
            else "The area is the mean of those of all pairs of classes (Hand & Till, 2001)."
        )
        notes.append(of)
    if assessment._rows.posteriors:
        notes.append(
            "Brier's score is the sum over classes" + (", twice that of one." if _two(assessment) else ".")
        )
        if table["estimate"]["log loss"] == float("inf"):
            notes.append(
                "The log loss is infinite, because an observation has probability zero in its own class."
            )
        slope = table["estimate"]["calibration slope"]
        said = (
            "A slope below one means that probabilities are too extreme, above one that they are too cautious"
        )
        if pd.isna(slope):
            said += (
                "; it is missing, because probabilities separate the classes, some are zero, or "
                "classes lack rows"
            )
        notes.append(f"{said}.")
    return Section(
        "All classes",
        table.rename_axis(None),
        dict.fromkeys(table.columns, "share"),
        headings=_headings(assessment),
        note=" ".join(notes),
        source=".overall",
    )


MOST_CALIBRATED = 2**13
"""Rows by classes up to which a summary has calibrated posteriors."""


def _calibrated_soon(assessment: Assessment) -> pd.DataFrame | None:
    """Return the losses of calibrated posteriors if they are fast to compute, else None."""
    left_out = assessment._rows.method in ("loo", "cv")
    size = len(assessment.classes) * assessment._counts.sum()
    if size > MOST_CALIBRATED or not (left_out or CALIBRATOR in assessment._fit.cache):
        return None
    try:
        table: pd.DataFrame = assessment.calibrated
    except DataError:
        return None
    return table


def _calibrated_section(assessment: Assessment, table: pd.DataFrame) -> Section:
    how = (
        "by the map of the fit"
        if assessment._rows.method in ("new", "apparent")
        else "each by a map fitted to other rows"
    )
    return Section(
        "Posteriors as they are, and calibrated",
        table.rename_axis(None),
        dict.fromkeys(table.columns, "share"),
        headings=_headings(assessment),
        note=f'Calibrated, as by predict_proba(method="calibrated"), {how}. A negative difference is in '
        "favour of calibration. Standard errors assume independent observations.",
        source=".calibrated",
    )


def _two(assessment: Assessment) -> bool:
    return len(assessment.classes) == 2


def _classes(assessment: Assessment) -> Section:
    table = assessment.by_class
    given = "" if assessment.prior is None else " under that prior"
    note = (
        f"Predictive values are shares of the rows predicted to be in the class, or in another{given}; "
        "areas are for the class against the rest, in the proportions of the rows, with DeLong's standard "
        "errors."
    )
    if len(assessment.classes) > MOST_IN_FULL:
        measures = table.index.get_level_values("measure")[: len(table) // len(assessment.classes)]
        wide = table["estimate"].unstack(sort=False).loc[assessment.classes, list(measures)]
        return Section(
            "Each class against the rest",
            wide.rename_axis(index=None, columns=None),
            dict.fromkeys(wide.columns, "share"),
            headings={"positive predictive value": "PPV", "negative predictive value": "NPV"},
            note=f"{note} Standard errors and intervals: .by_class.",
            source=".by_class",
        )
    return Section(
        "Each class against the rest",
        table.rename_axis([None, None]),
        dict.fromkeys(table.columns, "share"),
        headings=_headings(assessment),
        note=note,
        source=".by_class",
    )


def _pairs(assessment: Assessment) -> Section:
    table = assessment.pairs
    return Section(
        "Areas under the ROC curves of pairs of classes",
        table.rename_axis([None, None]),
        dict.fromkeys(table.columns, "share"),
        headings=_headings(assessment),
        source=".pairs",
    )


def _brier_section(assessment: Assessment) -> Section:
    formats: dict[Any, Any] = dict.fromkeys(assessment.brier.columns, "share") | {"bins": "count"}
    return Section(
        "Brier's score and its parts",
        assessment.brier.rename_axis(None),
        formats,
        note=f"In at most {assessment._bins} bins of even counts: brier = reliability - resolution + "
        "uncertainty + within variance - within covariance, exactly (Murphy, 1973; Stephenson et al., 2008).",
        source=".brier",
    )
