"""Base class of the results of classifiers: predictions, error rates, plots and summaries.

`ClassifierResults` is the base of the results of every verb that fits a classifier; subclasses add the
estimates of their model as labelled tables. Rows, labels and estimates are stored in its `FittedModel`. If
the columns or the model were selected from the data, the summary has a note, and the cross-validated error of
a fit that repeats the selection in each fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats
from discrim.core.rules.rules import best_class, log_posteriors, posteriors
from discrim.design.levels import Unseen
from discrim.errors import DataError, DiscrimError
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import CALIBRATOR_KEY, FittedModel, Missing, MissingPolicy
from discrim.models.base.fitted_results import FittedResults, needs_rows
from discrim.models.base.labels import make_unique_name, value_or_nan
from discrim.models.base.reading import Data, Prior, check_word, format_argument, is_number, prior_vector
from discrim.models.base.refits import argument_defaults
from discrim.models.base.scores import (
    Decision,
    cost_matrix,
    posterior_frame,
    read_cut_off,
    require_two_classes,
)
from discrim.models.evaluation import assessment
from discrim.models.evaluation.assessment import EvaluationOptions, error_rates
from discrim.models.evaluation.validation import is_slow_to_evaluate, left_out_scores
from discrim.models.plots.plottable import numeric_columns
from discrim.models.registry import BY_MODEL
from discrim.models.report import ReportMethods
from discrim.models.results.headers import brief_facts
from discrim.models.results.new_rows import NewRowsMethods, Typicality, predict_by_chunks
from discrim.models.results.updating import UpdateMethods
from discrim.report.grid import HeaderItem

if TYPE_CHECKING:
    from os import PathLike

    from discrim.models.results.assessed import Assessment
    from discrim.models.results.thresholds import Threshold
    from discrim.report.grid import Pairs
    from discrim.report.tables import SectionFunctions, Summary

REPEATED_SELECTION_ERROR_LABEL = "Error, selection repeated"
"""Label of the header item with the cross-validated error of a selection that is repeated in each fold."""

N_SELECTION_FOLDS = 10
"""Number of folds of the cross-validated error of a repeated selection."""


def selection_note(fit: FittedModel[Any]) -> str:
    """Return a note for a fit whose columns or model were selected from its rows; "" without a selection."""
    if fit.selection is None:
        return ""
    return (
        f"The same observations chose the {fit.selection.target} ({fit.selection.description}). p-values, "
        "and resubstitution and leave-one-out errors, ignore this choice and tend to be too small."
    )


def _header_after_selection(build_header: Callable[[], Any], fit: FittedModel[Any]) -> Pairs:
    """Return the header of a summary with a note on a selection and the error of a repeated selection.

    Without the fit before the selection, or if the error would be slow to compute, only notes are added.

    Parameters
    ----------
    build_header : callable
        Function without arguments that returns the header of the model.
    fit : FittedModel
        Fit whose columns or model were selected.

    Returns
    -------
    Pairs
        The header of the model with a longer note and, if it was computed, one more item.
    """
    header: Pairs = build_header()
    items = list(header.items)
    notes = [header.note, selection_note(fit)]
    if fit.fit_before_selection() is not fit:
        error_item = _repeated_selection_item(fit)
        if error_item is None:
            notes.append('error_rates(["cv"]) repeats the choice in each fold.')
        else:
            items.append(error_item)
            notes.append(
                f"The error with the selection repeated is by {N_SELECTION_FOLDS} folds (seed 0): the "
                "columns are chosen and the model is fitted without each fold."
            )
    return replace(header, items=items, note=" ".join(filter(None, notes)))


def _repeated_selection_item(fit: FittedModel[Any]) -> HeaderItem | None:
    """Return the header item with the cross-validated error of a repeated selection.

    None without a selection, if it is not `is_quick` or its evaluation would be slow, or if a DiscrimError is
    raised.
    """
    if fit.selection is None or not fit.selection.is_quick or is_slow_to_evaluate(fit.fit_before_selection()):
        return None
    try:
        rate = error_rates(
            fit, ["cv"], None, EvaluationOptions(folds=N_SELECTION_FOLDS, seed=0), by_class=False
        ).iloc[0]
    except DiscrimError:
        return None
    text = f"{100 * rate['estimate']:.1f} %  ({rate['wrong']:.10g}/{rate['total']:.10g})"
    return HeaderItem(REPEATED_SELECTION_ERROR_LABEL, float(rate["estimate"]), text)


class ClassMeans(FittedResults):
    """Mixin of results with class means."""

    @property
    def means(self) -> pd.DataFrame:
        """Means of the classes, classes by columns of the design."""
        return self._fit.class_means()


def _require_leave_one_out(results: FittedResults) -> None:
    """Raise NotSupportedError if the fit lacks rows or its rows cannot be left out one by one."""
    needs_rows("leave_one_out()")(results)
    check = getattr(results._fit.estimates, "check_leave_one_out", None)
    if check is not None:
        check()


class EvaluationMethods(FittedResults):
    """Methods that evaluate a fit: leave-one-out predictions, confusion matrix, error rates, assessment."""

    @available_if(_require_leave_one_out)
    def leave_one_out(self, *, refit_prior: bool | None = None) -> pd.DataFrame:
        """Predicted label and posteriors of each row under the rule fitted without it.

        For models without posteriors, the columns are values of `decision_function`.

        Parameters
        ----------
        refit_prior : bool, optional
            Whether class proportions are estimated again in each fold; see the page on shared arguments.

        Returns
        -------
        DataFrame
            Column `label` (`label_` if a class has this name), then a column for each class, with the index
            of the fit's table. The values are missing for rows that the fit did not use, and for rows without
            which the model cannot be fitted.
        """
        index = self._fit.require_rows("leave_one_out()").table.index
        scores = left_out_scores(self._fit, refit_prior)
        values = posteriors(scores) if self._fit.has_posteriors else scores
        frame = pd.DataFrame(values, index=index, columns=self.classes, copy=values is scores)
        frame.insert(
            0, make_unique_name("label", self.classes), self._fit.to_labels(best_class(scores), index)
        )
        return frame.rename_axis(columns=None)

    @with_display_formats(every="count")
    def confusion(
        self,
        data: Data | None = None,
        method: assessment.CountingMethod = "apparent",
        *,
        costs: Any = None,
        folds: int = 10,
        seed: int | None = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        refit_prior: bool | None = None,
    ) -> pd.DataFrame:
        """Actual classes (rows) by predicted classes (columns).

        Parameters
        ----------
        data : table, optional
            New observations with their response. By default the data of the fit.
        method : {"apparent", "loo", "cv"}
            How the rows of the fit are predicted: by the rule itself ("apparent"), by rules fitted without
            each row ("loo"), or by rules fitted without each fold ("cv"). It can be the first argument, for
            example `confusion("loo")`.
        costs : DataFrame or (K, K) array, optional
            Cost of assigning an observation of one class (row) to another (column).
        folds : int
            Number of folds of "cv".
        seed : int, optional
            Seed of the random assignment of rows to folds.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments.
        refit_prior : bool, optional
            Whether class proportions are estimated again in each fold; see the page on shared arguments.

        Returns
        -------
        DataFrame
            Counts, or sums of weights, classes by classes. Rows without a class or a prediction are left out.
        """
        data, method = assessment.split_table_and_method(data, method)
        misclassification_costs = cost_matrix(costs, self.classes)
        missing_policy = MissingPolicy(unseen, missing)
        options = assessment.EvaluationOptions(
            misclassification_costs,
            folds=folds,
            seed=seed,
            refit_prior=refit_prior,
            missing_policy=missing_policy,
        )
        return assessment.confusion(self._fit, data, method, options)

    @with_display_formats(estimate="share", se="share", low="share", high="share")
    def error_rates(
        self,
        data: Data | None = None,
        methods: Sequence[assessment.ErrorMethod] | None = None,
        *,
        prior: Prior = None,
        costs: Any = None,
        level: float = 0.95,
        folds: int = 10,
        replicates: int = 200,
        seed: int | None = None,
        by_class: bool = False,
        weights: Any = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        refit_prior: bool | None = None,
    ) -> pd.DataFrame:
        """Estimates of the error rate, weighted by the prior.

        Parameters
        ----------
        data : table, optional
            New observations with their response, whose error is the row "new rows". Observations without a
            class, or with a missing value, are left out, and a warning counts them.
        methods : sequence of str, optional
            By default "apparent" and "loo", or with `data` only the error on its rows. "cv" replaces "loo" if
            the model does not support it, for example because it would refit each of more than 2,000 rows;
            `attrs["note"]` then states the reason and the seed, which is 0 by default.
            They can be the first argument, for example `error_rates(["cv"])`. "apparent" is the error on the
            data of the fit. "loo" leaves each row out and keeps selections and transforms. "cv" leaves folds
            out and repeats both.
            "632+" is Efron and Tibshirani's bootstrap. "D", "DS", "O" and "OS" (linear rule only) assume the
            normal model, "posterior" and "posterior-stratified" that the posteriors are correct.
        prior : optional
            Shares of the classes by which the errors within classes are weighted, in any form that a verb
            accepts. The rule does not change. By default they are the prior that was passed to the verb;
            without one, all rows count equally.
        costs : DataFrame or (K, K) array, optional
            Cost of assigning an observation of one class (row) to another (column). The estimates are then
            mean costs of the rule that minimizes the expected cost, including the costs of correct labels.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        folds : int
            Number of folds of "cv".
        replicates : int
            Number of bootstrap samples of "632+".
        seed : int, optional
            Seed of the folds of "cv" and of the samples of "632+", by default a random one. No other method
            is random.
        by_class : bool
            Whether to add a column for each class with the rate within it. If a class has the name of another
            column, its column is named in parentheses.
        weights : column name or vector, optional
            Frequencies of the rows of `data`.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments.
        refit_prior : bool, optional
            Whether class proportions are estimated again in each fold; see the page on shared arguments. It
            applies to "loo" and "cv". The bootstrap samples of "632+" are stratified by class.

        Returns
        -------
        DataFrame
            By method: estimate, se, low, high, wrong, total; and prior, which states whether "loo" and "cv"
            used a prior that was "fixed", "refitted" or "given". If a parameter such as a penalty was
            selected from the data, `choice` states whether a method kept the selected value ("fixed"), which
            the evaluated rows then influenced, or repeated the selection ("repeated"). Intervals are exact
            for counted errors on independent new observations, invalid for "apparent", and approximate for
            "loo" and "cv". For the other methods they are normal on the logit scale, for "632+" by the delta
            method of Efron and Tibshirani. Standard error and limits are missing for "posterior" and
            "posterior-stratified", because the rows to which the posteriors were fitted do not show their
            bias, and for "632+" with too few `replicates`. `attrs["note"]` explains this. It also names
            classes with one observation, which "loo" and "cv" always misclassify.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> fit = discrim.lda("species ~ .", data=iris[::2])
        >>> fit.error_rates(data=iris[1::2])[["estimate", "low", "high"]].round(4)
                  estimate     low    high
        method
        new rows      0.04  0.0083  0.1125
        """
        data, methods = assessment.split_table_and_methods(data, methods)
        misclassification_costs = cost_matrix(costs, self.classes)
        prior_values = None if prior is None else prior_vector(prior, self.classes, self._fit.counts)
        missing_policy = MissingPolicy(unseen, missing)
        options = assessment.EvaluationOptions(
            misclassification_costs,
            level,
            folds,
            replicates,
            seed,
            refit_prior,
            missing_policy,
            prior_values,
            weights,
        )
        return assessment.error_rates(self._fit, methods, data, options, by_class=by_class)

    def assess(
        self,
        data: Data | None = None,
        method: assessment.CountingMethod | None = None,
        *,
        prior: Prior = None,
        level: float = 0.95,
        bins: int = 10,
        folds: int = 10,
        seed: int | None = None,
        costs: Any = None,
        threshold: float | SupportsFloat | None = None,
        weights: Any = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        refit_prior: bool | None = None,
    ) -> Assessment:
        """Performance on labelled observations: accuracy, kappa, predictive values, areas, calibration.

        Parameters
        ----------
        data : table, optional
            New observations with their response. By default the data of the fit.
        method : {"loo", "cv", "apparent"}, optional
            How the rows of the fit are predicted: by rules fitted without each row ("loo"), the default if
            this does not require too many fits; by rules fitted without folds ("cv"), the default otherwise;
            or by the rule fitted to all of them ("apparent"), which is optimistic. It can be the first
            argument, for example `assess("cv")`.
        prior : optional
            Shares of the classes by which accuracy, kappa, losses and predictive values are weighted, in any
            form that a verb accepts. The rule does not change. By default they are the prior that was passed
            to the verb; without one, all rows count equally.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        bins : int
            Largest number of bins, of equal counts, for the calibration and the components of Brier's score.
        folds : int
            Number of folds of "cv".
        seed : int, optional
            Seed of the random assignment of rows to folds.
        costs : DataFrame or (K, K) array, optional
            Cost of assigning an observation of one class (row) to another (column). Predicted classes then
            minimize the expected cost, unless `threshold` is passed, and `overall` has the expected cost.
        threshold : float or result of `fit.threshold()`, optional
            Posterior at or above which the second of two classes is predicted.
        weights : column name or vector, optional
            Frequencies of the rows of `data`.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments.
        refit_prior : bool, optional
            Whether class proportions are estimated again in each fold; see the page on shared arguments.

        Returns
        -------
        Assessment
            It has `.overall`, `.by_class`, `.pairs`, `.brier`, `.confusion`, `.calibration`,
            `.average_precision`, for two classes `.thresholds()`, `.classification()` with the misclassified
            observations, and a `.plot()` of ROC and precision-recall curves, calibration and confusion. Rows
            without a class or a prediction are left out and counted. Intervals are for this rule, on
            independent observations from the same distribution.
            If a few rows account for nearly all of the log loss or of Brier's score, for example with well
            separated classes, the coverage of their intervals is below the level; see the page on
            sample-size planning.

        Raises
        ------
        DataError
            No row has a class and a prediction; a label is not one of the classes; or an option cannot be
            used.
        NotSupportedError
            The fit lacks rows, because it was loaded or computed from moments: pass `data`.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> assessment = discrim.lda("species ~ .", data=iris[::2]).assess(iris[1::2])
        >>> assessment.overall[["estimate", "low", "high"]].round(3).loc[["accuracy", "kappa", "AUC"]]
                  estimate    low   high
        measure
        accuracy     0.960  0.888  0.992
        kappa        0.940  0.823  0.980
        AUC          0.998  0.986  1.000
        >>> assessment.by_class["estimate"].unstack().round(2)["sensitivity"].to_dict()
        {'setosa': 1.0, 'versicolor': 0.96, 'virginica': 0.92}
        """
        from discrim.inference.resampling import seed_or_random
        from discrim.models.evaluation.assessment import assess_rows
        from discrim.models.evaluation.classification import classification
        from discrim.models.results.assessed import Assessment

        data, method = assessment.split_table_and_method(data, method)
        prior_values = None if prior is None else prior_vector(prior, self.classes, self._fit.counts)
        options = assessment.EvaluationOptions(
            cost_matrix(costs, self.classes),
            level=level,
            folds=folds,
            seed=seed_or_random(seed),
            refit_prior=refit_prior,
            missing_policy=MissingPolicy(unseen, missing),
            prior=prior_values,
            weights=weights,
            cut_off=read_cut_off(self._fit, threshold),
        )
        assessed_rows = assess_rows(self._fit, data, method, options)
        classify = partial(classification, self._fit, data, options=options)
        return Assessment(self._fit, assessed_rows, classify, level, bins)

    @available_if(lambda self: require_two_classes(self._fit, "threshold()"))
    def threshold(
        self,
        data: Data | None = None,
        *,
        sensitivity: float | None = None,
        specificity: float | None = None,
        costs: Any = None,
        youden: bool = False,
        method: Literal["loo", "cv"] | None = None,
        prior: Prior = None,
        level: float = 0.95,
        folds: int = 10,
        seed: int | None = None,
        weights: Any = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        refit_prior: bool | None = None,
    ) -> Threshold:
        """Choose the cut-off on the posterior of the second of two classes, for `predict(threshold=)`.

        One of `sensitivity`, `specificity`, `costs` and `youden` is the criterion.

        Parameters
        ----------
        data : table, optional
            New observations with their response, which choose the cut-off. By default the data of the fit,
            whose observations are predicted by rules fitted without them.
        sensitivity : float, optional
            Smallest proportion of the second class that is to be found; the specificity is maximized.
        specificity : float, optional
            Smallest proportion of the first class that is not to be assigned to the second; the sensitivity
            is maximized.
        costs : DataFrame or (2, 2) array, optional
            Cost of assigning an observation of one class (row) to the other (column); the expected cost is
            minimized. If posteriors are correct, `predict(costs=)`, which needs no cut-off, minimizes it too.
        youden : bool
            Whether to maximize Youden's index, sensitivity + specificity - 1.
        method : {"loo", "cv"}, optional
            How the rows of the fit are predicted: by rules fitted without each row ("loo"), the default if
            the model supports it, or without each fold ("cv").
        prior : optional
            Shares of the classes by which predictive values and expected costs are weighted, in any form that
            a verb accepts. By default they are the prior that was passed to the verb; without one, all rows
            count equally.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        folds : int
            Number of folds without which a cut-off is chosen again, to evaluate the choice; with "cv" the
            rules are fitted without the same folds.
        seed : int, optional
            Seed of the random assignment of rows to folds; by default 0, as for calibration.
        weights : column name or vector, optional
            Frequencies of the rows of `data`.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments.
        refit_prior : bool, optional
            Whether class proportions are estimated again in each fold; see the page on shared arguments.

        Returns
        -------
        Threshold
            `threshold`, the smallest posterior of the second class at which it is predicted; `measures`, the
            sensitivity, specificity and predictive values with their intervals by nested folds; and
            `apparent`, the same on the observations that chose the cut-off.

        Raises
        ------
        DataError
            No criterion or several are passed; the target is reached only by assigning all observations to
            one class; or a class has too few observations.
        NotSupportedError
            The fit has more than two classes, or no posteriors; or it lacks rows: pass `data`.

        Notes
        -----
        Candidates are the midpoints of adjacent posteriors. Their sensitivity on the observations that chose
        one of them is optimistic. For `measures` the observations are divided into folds; the cut-off for a
        fold is chosen from the left-out posteriors of the other folds. The posteriors themselves are computed
        once: the rules that predict the other folds were fitted with observations of the fold.

        Examples
        --------
        >>> import discrim
        >>> fit = discrim.lda("diagnosis ~ radius_mean + texture_mean", "breast_cancer")
        >>> cut_off = fit.threshold(sensitivity=0.95, seed=1)
        >>> round(cut_off.threshold, 3)
        0.116
        >>> cut_off.measures[["estimate", "low", "high"]].round(3)
                                   estimate    low   high
        measure
        sensitivity                   0.953  0.915  0.977
        specificity                   0.762  0.714  0.805
        positive predictive value     0.704  0.647  0.756
        negative predictive value     0.965  0.936  0.983
        >>> fit.predict(threshold=cut_off).value_counts().to_dict()
        {'malignant': 285, 'benign': 284}
        """
        from discrim.models.evaluation.calibrated import CALIBRATION_SEED
        from discrim.models.evaluation.thresholds import choose_threshold, read_criterion
        from discrim.models.evaluation.validation import assign_folds
        from discrim.models.results.thresholds import Threshold

        if data is None:
            self._fit.require_rows("threshold()", "pass data=")
        criterion = read_criterion(self.classes, sensitivity, specificity, costs, youden)
        check_word("method", method, ("loo", "cv"), optional=True)
        prior_values = None if prior is None else prior_vector(prior, self.classes, self._fit.counts)
        seed = CALIBRATION_SEED if seed is None else seed
        options = assessment.EvaluationOptions(
            level=level,
            folds=folds,
            seed=seed,
            refit_prior=refit_prior,
            missing_policy=MissingPolicy(unseen, missing),
            prior=prior_values,
            weights=weights,
        )
        rows = assessment.assess_rows(self._fit, data, method, options)
        fold_ids = None
        if data is None:
            fold_ids = assign_folds(self._fit.fit_before_selection(), folds, options.seed)
        chosen, evaluated = choose_threshold(rows, criterion, fold_ids, options, self.classes)
        return Threshold(self._fit, evaluated, criterion, chosen, level, seed)


ProbabilityMethod = Literal["plugin", "predictive", "debiased", "calibrated"]
"""Methods of `predict_proba`, which documents them."""


def _require_probabilities(method_name: str) -> Callable[[Any], None]:
    """Return a check for `available_if` of methods that require posteriors or calibrated scores.

    The check raises NotSupportedError if the model lacks posteriors and the fit has neither rows nor a stored
    calibrator; `method_name` is the name for its message.
    """

    def check(results: ClassifierResults) -> None:
        """Raise NotSupportedError if the results have neither posteriors nor rows nor a stored calibrator."""
        fit = results._fit
        if not fit.has_posteriors and not fit.has_rows and CALIBRATOR_KEY not in fit.cache:
            fit.require_rows(
                f'{method_name} with method="calibrated"',
                "call it on the fit that has rows before it is saved, or fit formula and data",
            )

    return check


class ClassifierResults(EvaluationMethods, NewRowsMethods, UpdateMethods, ReportMethods):
    """Base class of fitted classifiers."""

    # ---- likelihood

    @property
    @available_if()
    def llf(self) -> float:
        """Joint log-likelihood of class and row at maximum-likelihood estimates."""
        self._fit.require_posteriors("A likelihood")
        return float(self._fit.estimates.llf())

    @property
    @available_if()
    def df_model(self) -> int:
        """Number of free parameters."""
        return int(self._fit.estimates.df_model())

    @property
    @available_if()
    def aic(self) -> float:
        """Akaike's information criterion; smaller is better."""
        return 2 * self.df_model - 2 * self.llf

    @property
    @available_if()
    def bic(self) -> float:
        """Schwarz's Bayesian information criterion; smaller is better."""
        return float(self.df_model * np.log(self.nobs) - 2 * self.llf)

    def _sections(self) -> SectionFunctions:
        """Return the functions without arguments that compute the sections of the summary, by name.

        If columns or model were selected from the data, the function of "header" adds a note on the selection
        and the error of the repeated selection.
        """
        sections = super()._sections()
        if self._fit.selection is not None and "header" in sections:
            sections["header"] = partial(_header_after_selection, sections["header"], self._fit)
        return sections

    def _facts(self) -> dict[str, Any]:
        """Return {"facts": section}, the first section of the short form.

        It has sizes, error rate, and options that differ from their defaults; see `brief_facts`.
        """
        # Without rows, computing the header of the full summary does not start a pass over them.
        header: Any = self._section_functions(brief=False, subject=self._fit.without_rows())["header"]()
        return {"facts": brief_facts(self._fit, header, argument_defaults(BY_MODEL[self._spec.name]))}

    def _brief(self) -> Summary:
        """Return the short form of the summary, with a note if the columns or the model were selected."""
        brief = super()._brief()
        note = selection_note(self._fit)
        return brief.with_note(note) if note else brief

    def _is_plane(self) -> bool:
        """Return whether the formula reads two numeric columns only, so that a plot can show the rule."""
        design = self._fit.design_rows.design
        return len(design.columns) == 2 == len(numeric_columns(design))

    def _sizes(self) -> dict[str, Any]:
        """Return the numbers of observations, classes and terms, for `glance`."""
        return {"nobs": self.nobs, "classes": len(self.classes), "terms": len(self.terms)}

    def _glance(self) -> dict[str, Any]:
        """Return nobs, classes, terms, df_model, llf, aic and bic by name, for `glance`.

        A measure that the model does not have is NaN.
        """
        return self._sizes() | {name: value_or_nan(self, name) for name in ("df_model", "llf", "aic", "bic")}

    # ---- prediction

    def predict(
        self,
        data: Data | None = None,
        prior: Prior = None,
        *,
        costs: Any = None,
        reject: float | None = None,
        threshold: float | SupportsFloat | None = None,
        outlier: float | None = None,
        typicality: Typicality = "exact",
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        out: str | PathLike[str] | None = None,
    ) -> pd.Series:
        """Predicted class of each observation.

        Parameters
        ----------
        data : table or source of tables, optional
            New observations; by default the data of the fit. For a source of tables the result is an
            iterator.
        prior : optional
            Prior probabilities; by default the prior of the fit.
        costs : DataFrame or (K, K) array, optional
            Cost of assigning an observation of one class (row) to another (column).
        reject : float, optional
            Cost of leaving an observation without a class. If its smallest expected cost (without `costs`,
            one minus its largest posterior) is larger, its label is "rejected".
        threshold : float or result of `fit.threshold()`, optional
            Posterior at or above which the second of two classes is predicted, instead of the class with the
            larger posterior; it cannot be combined with `costs` and `reject`, nor a result with `prior`.
        outlier : float, optional
            An observation whose typicality is below this number in every class gets the label "unknown"; see
            `typicality`. Observations of the fit are treated like new ones. The typicality of a row with a
            missing value is missing: it keeps its label if the value is integrated out, and a warning counts
            such rows.
        typicality : {"exact", "chi2", "relative", "conformal"}
            The method of `typicality` that is compared with `outlier`.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments.
        out : path, optional
            File or folder to which the result is written; see the page on shared arguments.

        Returns
        -------
        Series
            Labels with the index of the data. The label of a row with a missing value is missing, unless the
            value is integrated out. For a polars DataFrame it is a polars Series, without an index, in which
            a missing label is null. For a source, an iterator of DataFrames with the labels as their only
            column; errors in rows that are read later are raised when their frame is requested.

        Raises
        ------
        DataError
            A column is missing, infinite or out of range (OutOfRangeError), or contains a category that the
            fit has not seen; the costs do not match the classes; or `out` is not a path, or belongs to the
            source.
        PriorError
            The prior is not a distribution over the classes.
        NotSupportedError
            The model lacks a density of rows from which missing columns can be integrated out.
        UnwritableFileError
            The folder of `out` does not exist, the disk is full, or another error of the operating system
            occurred. No file is written.

        Notes
        -----
        With missing="integrate" the density of a row in each class is the marginal density of its observed
        columns, by their mean and covariance under the fit; the posterior of a row without any value is the
        prior. This assumes that values are missing at random: given the observed values, whether a value is
        missing does not depend on it. The columns that are integrated out belong to the design and are
        assumed to be jointly normal. For a missing x they are all columns computed from it: log(x), I(x**2),
        x:z, or the columns of a categorical variable. With unseen="missing", they are the columns of the
        categorical variable whose level the fit has not seen.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> fit = discrim.lda("species ~ .", data=iris)
        >>> parts = fit.predict(lambda: (iris[start : start + 50] for start in (0, 50, 100)))
        >>> [len(labels) for labels in parts]
        [50, 50, 50]
        >>> petals = iris[:2].assign(sepal_length=float("nan"), sepal_width=float("nan"))
        >>> fit.predict(petals, missing="integrate").tolist()
        ['setosa', 'setosa']
        """
        if reject is not None and not (is_number(reject) and 0 <= reject < np.inf):
            raise DataError(
                f"reject={format_argument(reject)} is not valid.", hint="Pass a non-negative number."
            )
        if outlier is not None and not (is_number(outlier) and 0 <= outlier <= 1):
            raise DataError(
                f"outlier={format_argument(outlier)} is not valid.",
                hint="Pass a number from 0 to 1, such as 0.01.",
            )
        missing_policy = MissingPolicy(unseen, missing)
        if costs is not None or reject is not None:
            self._fit.require_posteriors("costs= and reject=")
        cut_off = read_cut_off(self._fit, threshold)
        if cut_off is not None and (costs is not None or reject is not None):
            raise DataError(
                "threshold= cannot be combined with costs= and reject=, which follow from the posteriors.",
                hint="Leave out threshold=, or choose it by the costs: fit.threshold(costs=...).",
            )
        if prior is not None and hasattr(threshold, "log_odds"):
            raise DataError(
                "A result of threshold() was chosen for the prior of the fit and cannot be combined with "
                "prior=.",
                hint="Leave out prior=, or pass a number as threshold=.",
            )
        decision = Decision(cost_matrix(costs, self.classes), reject, cut_off)
        check_word("typicality", typicality, Typicality)
        compute_typicality = None
        if outlier is not None:
            from discrim.models.evaluation.typicality import find_outliers, typicality_function

            compute_typicality = typicality_function(self._fit, typicality, outlier)

        def predict_chunk(results: ClassifierResults, rows: Any) -> pd.Series:
            """Return the labels of the rows of one table, with "rejected" and "unknown" as requested."""
            fit = results._fit
            design_rows = fit.new_rows(rows, missing_policy)
            codes = fit.predict_codes(design_rows, prior, decision)
            if compute_typicality is not None and outlier is not None:
                # `to_labels` converts this code to "unknown".
                unknown_code = len(results.classes) + 1
                codes[find_outliers(compute_typicality(fit, design_rows), codes, outlier)] = unknown_code
            return fit.to_labels(codes, design_rows.table.index)

        return predict_by_chunks(
            self, data, out, predict_chunk, allows_classless=reject is not None or outlier is not None
        )

    @available_if(_require_probabilities("predict_proba()"))
    def predict_proba(
        self,
        data: Data | None = None,
        prior: Prior = None,
        *,
        method: ProbabilityMethod = "plugin",
        convention: Literal["MASS"] | None = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        out: str | PathLike[str] | None = None,
    ) -> pd.DataFrame:
        """Posterior probabilities, rows by classes.

        Parameters
        ----------
        data : table or source of tables, optional
            New observations; by default the data of the fit. For a source of tables the result is an
            iterator.
        prior : optional
            Prior probabilities; by default the prior of the fit.
        method : {"plugin", "predictive", "debiased", "calibrated"}
            "plugin" uses the estimates as if they were true, "predictive" integrates over their uncertainty,
            "debiased" uses unbiased log densities, and "calibrated" fits posteriors to the scores of rows
            that were left out; see the Notes.
        convention : None or "MASS"
            "MASS" reproduces R's MASS for "predictive" and "debiased", which departs from theory.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments. Under
            "predictive" the missing columns are integrated out of the predictive density of all columns, and
            "debiased" uses the columns that are observed.
        out : path, optional
            File or folder to which the result is written; see the page on shared arguments.

        Returns
        -------
        DataFrame
            Each row sums to one, or is missing if the observation has a missing value that is not integrated
            out. For a source, an iterator of such DataFrames.

        Notes
        -----
        "calibrated" maps the scores of the rule by a slope, or a few more parameters, that maximize a
        penalized likelihood of the fit's observations, each scored by a rule without it or without its fold.
        It is available for every model. It reads the data of the fit once and is then stored with the fit,
        also in files. It assumes that new observations have the same distribution. `predict` still returns
        the labels of the rule.

        Examples
        --------
        >>> import discrim
        >>> fit = discrim.naive_bayes("species ~ .", "iris")
        >>> fit.predict_proba(method="calibrated").loc[133].round(2).tolist()
        [0.0, 0.62, 0.38]
        """
        missing_policy = MissingPolicy(unseen, missing)
        return self._posterior_frame(data, prior, method, convention, posteriors, missing_policy, out)

    @available_if(_require_probabilities("predict_log_proba()"))
    def predict_log_proba(
        self,
        data: Data | None = None,
        prior: Prior = None,
        *,
        method: ProbabilityMethod = "plugin",
        convention: Literal["MASS"] | None = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        out: str | PathLike[str] | None = None,
    ) -> pd.DataFrame:
        """Logarithms of the posterior probabilities, which are exact even if the posterior underflows.

        Parameters
        ----------
        data : table or source of tables, optional
            New observations; by default the data of the fit. For a source of tables the result is an
            iterator.
        prior : optional
            Prior probabilities; by default the prior of the fit.
        method : {"plugin", "predictive", "debiased", "calibrated"}
            "plugin" uses the estimates as if they were true, "predictive" integrates over their uncertainty,
            "debiased" uses unbiased log densities, and "calibrated" fits posteriors to the scores of rows
            that were left out; see the Notes of `predict_proba`.
        convention : None or "MASS"
            "MASS" reproduces R's MASS for "predictive" and "debiased", which departs from theory.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments.
        out : path, optional
            File or folder to which the result is written; see the page on shared arguments.

        Returns
        -------
        DataFrame, rows by classes
            Minus infinity for a posterior of zero; missing if the observation has a missing value that is not
            integrated out. For a source, an iterator of such DataFrames.
        """
        missing_policy = MissingPolicy(unseen, missing)
        return self._posterior_frame(data, prior, method, convention, log_posteriors, missing_policy, out)

    def decision_function(
        self,
        data: Data | None = None,
        *,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        out: str | PathLike[str] | None = None,
    ) -> pd.DataFrame | pd.Series:
        """Scores by which the rule decides, rows by classes: the class with the largest score is predicted.

        Parameters
        ----------
        data : table or source of tables, optional
            New observations; by default the data of the fit. For a source of tables the result is an
            iterator.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments.
        out : path, optional
            File or folder to which the result is written; see the page on shared arguments.

        Returns
        -------
        DataFrame, or Series for two classes
            Log posteriors. They differ from x'coef + intercept by a constant of each row, because the linear
            form would lose digits if the columns are far from zero. For models with a covariance for each
            class they are the scores ln prior_k - ln|S_k|/2 - D2_k/2, also up to a constant of each row if
            the classes share one covariance or distances overflow. For logistic regression they are log odds
            against the reference (or the first class with a positive prior). For models without posteriors
            they are the fitted values, or the values of the planes. For two classes it is the value of the
            second class minus the value of the first, such as the log odds: positive values mean the second
            class. For a source, an iterator of DataFrames.
        """
        missing_policy = MissingPolicy(unseen, missing)

        def values(results: ClassifierResults, rows: Any) -> pd.DataFrame | pd.Series:
            """Return the values of the rows of one table, as `FittedModel.decision_values` does."""
            return results._fit.decision_values(results._fit.new_rows(rows, missing_policy))

        return predict_by_chunks(self, data, out, values)

    def _posterior_frame(
        self,
        data: Any,
        prior: Any,
        method: str,
        convention: str | None,
        transform: Callable[[Floats], Floats],
        missing_policy: MissingPolicy,
        out: str | PathLike[str] | None = None,
    ) -> pd.DataFrame:
        """Implement `predict_proba` and `predict_log_proba`, which differ in the transform of the scores.

        Parameters
        ----------
        data, prior, method, convention, out
            Arguments of `predict_proba`.
        transform : callable
            `posteriors` or `log_posteriors`, a function of scores (m, K).
        missing_policy : MissingPolicy
            Options for unseen levels and missing values.

        Returns
        -------
        DataFrame, rows by classes
            Posteriors or their logarithms, missing for a row with a missing value that is not integrated out.
            For a source, or with `out`, the result of `predict_by_chunks`.
        """
        from discrim.models.evaluation.calibrated import posterior_rule

        check_word("method", method, ProbabilityMethod)
        check_word("convention", convention, ("MASS",), optional=True)
        name = "predict_proba()" if transform is posteriors else "predict_log_proba()"
        rule = posterior_rule(self._fit, name, prior, method, convention)

        def frame(results: ClassifierResults, rows: Any) -> pd.DataFrame:
            """Return the transformed scores of the rows of one table, rows by classes."""
            fit = results._fit
            design_rows = fit.new_rows(rows, missing_policy)
            chunk_rule = fit.integrate_missing(rule, design_rows, prior, method, convention)
            return posterior_frame(design_rows, chunk_rule, results.classes, transform)

        return predict_by_chunks(self, data, out, frame)

    def augment(
        self,
        data: Data | None = None,
        *,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        out: str | PathLike[str] | None = None,
    ) -> pd.DataFrame:
        """The table with each row's predicted label (`.fitted`) and posteriors (`.posterior.<class>`).

        For a model without posteriors the columns are its scores (`.score.<class>`). The result for a polars
        DataFrame is a polars DataFrame with the original columns unchanged.

        Parameters
        ----------
        data : table or source of tables, optional
            New observations; by default the data of the fit. For a source of tables the result is an
            iterator.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments.
        out : path, optional
            File or folder to which the result is written; see the page on shared arguments.

        Returns
        -------
        DataFrame
            The columns of the table, `.fitted`, and a column for each class; label and values are missing for
            a row with a missing value that is not integrated out. For a source, an iterator of such
            DataFrames.

        Raises
        ------
        DataError
            The table already has a column of one of these names.
        """
        missing_policy = MissingPolicy(unseen, missing)

        def augmented(results: ClassifierResults, rows: Any) -> pd.DataFrame:
            """Return one table with its predicted labels and values by class; see `_augmented`."""
            return results._augmented(missing_policy, rows)

        return predict_by_chunks(self, data, out, augmented, reads_all_columns=True)

    def _augmented(self, missing_policy: MissingPolicy, data: Any) -> pd.DataFrame:
        """Return the table with labels (`.fitted`) and posteriors (`.posterior.<class>`), for `augment`.

        `data` is None for the rows of the fit. DataError is raised if the table has one of these columns.
        """
        rows: Any = self._fit.new_rows(data, missing_policy)
        return self._fit.augment_table(rows, self.predict_proba(rows), "posterior")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fit to a file that `discrim.load` reads, without the rows of the table.

        The files of knn, kernel_density and kernel_lda contain the rows, because these are the estimates.

        Parameters
        ----------
        path : str or path
            The file to write; an existing file is replaced.

        Raises
        ------
        NotSupportedError
            The model cannot be saved, or the file could not be loaded again. An existing file is not changed.
        UnwritableFileError
            The folder does not exist, the disk is full, or another error of the operating system occurred.
        """
        from discrim.models.base.fit_file import save

        save(self._fit, path)
