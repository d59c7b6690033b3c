"""Error rates of a model choice: methods that repeat the choice without the rows that are left out.

`RepeatedChoice` is the base class of the results of `stepwise` and `choose`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import pandas as pd

from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.reading import Data, Prior, check_word
from discrim.models.evaluation.assessment import (
    CountingMethod,
    split_table_and_method,
    split_table_and_methods,
)
from discrim.models.results.results import EvaluationMethods

if TYPE_CHECKING:
    from discrim.models.results.assessed import Assessment
    from discrim.models.results.results import ClassifierResults
    from discrim.models.selection.cross_validation import CrossValidation

ChoiceMethod = Literal["apparent", "cv", "loo", "632+"]

CHOICE_METHODS: tuple[ChoiceMethod, ...] = get_args(ChoiceMethod)
"""Error rates that can repeat the choice; the other methods are available for the fit only."""


class RepeatedChoice(SummarizedResults):
    """Base class of the results of `stepwise` and `choose`: evaluates the choice together with its fit."""

    @property
    @abstractmethod
    def fit(self) -> ClassifierResults:
        """The fit of the chosen model."""

    def _evaluation_methods(self, method: str | None) -> EvaluationMethods:
        """Return the results whose `error_rates`, `confusion` and `assess` by `method` repeat the choice.

        These are the results of the fit, which repeat the choice in each fold and bootstrap sample, but not
        in leave-one-out. For "loo" they are the results of the model before the choice, whose refits without
        a row choose again. "apparent" does not repeat the choice.
        """
        return EvaluationMethods(self.fit._fit.fit_before_selection()) if method == "loo" else self.fit

    @with_display_formats(estimate="share", se="share", low="share", high="share")
    def error_rates(
        self,
        data: Data | None = None,
        methods: Sequence[ChoiceMethod] | None = None,
        *,
        prior: Prior = None,
        costs: Any = None,
        level: float = 0.95,
        folds: int = 10,
        replicates: int = 200,
        seed: int | None = None,
        by_class: bool = False,
        weights: Any = None,
        refit_prior: bool | None = None,
    ) -> pd.DataFrame:
        """Estimate the error rate of the choice and its fit, with the choice repeated on the remaining rows.

        Parameters
        ----------
        data : table, optional
            New rows with their response, whose error under the fit is the row "new rows".
        methods : sequence of str, optional
            By default "apparent" and "cv", or with `data` only the error on its rows. They may come
            first, for example `error_rates(["cv"])`. "apparent" is the error
            of the fit on its own rows. "cv" leaves folds out, "loo" each row, and "632+" is Efron and
            Tibshirani's bootstrap; all three repeat the choice each time.
        prior : optional
            Shares of the classes by which the errors within classes are weighted, in any form that a verb
            accepts. By default they are the prior passed to the verb; without one, rows are not reweighted.
        costs : DataFrame or (K, K) array, optional
            Cost of assigning an observation of one class (row) to another (column). The rate is then the mean
            cost of that rule, including the cost of correct labels.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        folds : int
            Number of folds of "cv".
        replicates : int
            Number of bootstrap samples of "632+".
        seed : int, optional
            Seed of the folds of "cv" and of the samples of "632+".
        by_class : bool
            Whether to add a column for each class with the rate within it.
        weights : column name or vector, optional
            Frequencies of the rows of `data`.
        refit_prior : bool, optional
            Whether class proportions are estimated again in each fold; see the page on shared arguments.

        Returns
        -------
        DataFrame
            By method, like `error_rates` of a fit; `choice` is "repeated" if the choice was repeated without
            the predicted rows, and "fixed" if the model was chosen with the rows that it predicts.

        Raises
        ------
        DataError
            Nothing was chosen; a method is unknown; or the rows are too few for the folds.
        NotSupportedError
            The model cannot be fitted without some fold, or the rows are read in chunks and a choice needs a
            call.
        """
        data, methods = split_table_and_methods(data, methods)
        if methods is None:
            methods = ("apparent", "cv") if data is None else ()
        is_list = isinstance(methods, Iterable) and not isinstance(methods, str)
        method_names: list[Any] = list(methods) if is_list else [methods]
        for method in method_names:
            check_word("methods", method, CHOICE_METHODS)
        shared: dict[str, Any] = {"prior": prior, "costs": costs, "level": level, "folds": folds}
        shared |= {"replicates": replicates, "seed": seed, "by_class": by_class, "refit_prior": refit_prior}
        tables = [self._evaluation_methods(method).error_rates([method], **shared) for method in method_names]
        if data is not None:
            tables.append(self.fit.error_rates(data=data, weights=weights, **shared))
        table = pd.concat(tables)
        # `concat` drops notes that not all tables have.
        notes = [rates.attrs["note"] for rates in tables if "note" in rates.attrs]
        if notes:
            table.attrs["note"] = " ".join(notes)
        return table

    @with_display_formats(every="count")
    def confusion(
        self,
        data: Data | None = None,
        method: CountingMethod | None = None,
        *,
        costs: Any = None,
        folds: int = 10,
        seed: int | None = None,
        refit_prior: bool | None = None,
    ) -> pd.DataFrame:
        """Cross-tabulate actual (rows) and predicted classes (columns), with the choice repeated.

        Parameters
        ----------
        data : table, optional
            New rows with their response, predicted by the fit. Without it, the rows of the choice.
        method : {"cv", "loo", "apparent"}, optional
            How the rows of the choice are predicted: by choices and fits without their fold ("cv", the
            default), without each row ("loo"), or by the fit itself ("apparent"). It may come first.
        costs : DataFrame or (K, K) array, optional
            Cost of assigning an observation of one class (row) to another (column).
        folds : int
            Number of folds of "cv".
        seed : int, optional
            Seed of the random assignment of rows to folds.
        refit_prior : bool, optional
            Whether class proportions are estimated again in each fold; see the page on shared arguments.

        Returns
        -------
        DataFrame
            Counts, or sums of weights. Rows without a class or a prediction are left out.
        """
        data, method = split_table_and_method(data, method)
        if data is not None:
            return self.fit.confusion(data, costs=costs)
        method = "cv" if method is None else method
        return self._evaluation_methods(method).confusion(
            method=method, costs=costs, folds=folds, seed=seed, refit_prior=refit_prior
        )

    def assess(
        self,
        data: Data | None = None,
        method: CountingMethod | None = None,
        *,
        prior: Prior = None,
        level: float = 0.95,
        bins: int = 10,
        folds: int = 10,
        seed: int | None = None,
        costs: Any = None,
        threshold: Any = None,
        weights: Any = None,
        refit_prior: bool | None = None,
    ) -> Assessment:
        """Accuracy, kappa, predictive values, areas and calibration, with the choice repeated.

        Parameters
        ----------
        data : table, optional
            New rows with their response, predicted by the fit. Without it, the rows of the choice.
        method : {"cv", "loo", "apparent"}, optional
            How the rows of the choice are predicted: by choices and fits without their fold ("cv", the
            default), without each row ("loo"), or by the fit itself ("apparent"). It may come first.
        prior : optional
            Shares of the classes by which figures are weighted, in any form that a verb accepts.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        bins : int
            The largest number of bins, of equal counts, for the calibration and the parts of Brier's score.
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
        refit_prior : bool, optional
            Whether class proportions are estimated again in each fold; see the page on shared arguments.

        Returns
        -------
        Assessment
            Measures of the predictions, with tables and plots; for new rows of the fit as it is.
        """
        data, method = split_table_and_method(data, method)
        if data is None and method is None:
            method = "cv"
        return self._evaluation_methods(method).assess(
            data, method, prior=prior, level=level, bins=bins, folds=folds, seed=seed, costs=costs,
            threshold=threshold, weights=weights, refit_prior=refit_prior,
        )  # fmt: skip

    def cross_validate(
        self,
        folds: Any = 10,
        repeats: int = 1,
        groups: Any = None,
        seed: int | None = None,
        *,
        refit_prior: bool | None = None,
        permutations: int = 0,
        within: Any = None,
    ) -> CrossValidation:
        """Cross-validate the choice and its fit: both are repeated without each fold.

        Parameters
        ----------
        folds : int, or column name or vector of length n
            Number of folds, or the fold of each row as a label of any kind.
        repeats : int
            How often the rows are assigned to folds.
        groups : column name or vector of length n, optional
            Groups whose rows remain in one fold, such as the observations of one patient.
        seed : int, optional
            Seed of the random assignment of rows to folds. By default one is drawn and stored.
        refit_prior : bool, optional
            Whether class proportions are estimated again in each fold; see the page on shared arguments.
        permutations : int
            How often the labels are shuffled and the cross-validation is repeated, for a permutation test of
            the hit rate. By default the test is omitted.
        within : column name or vector of length n, optional
            Blocks within which the labels are shuffled.

        Returns
        -------
        CrossValidation
            Labels, posteriors and errors of the rows that are complete in all candidates, as returned by
            `discrim.cross_validate`.

        Examples
        --------
        >>> from discrim import stepwise
        >>> from discrim.datasets import load_iris
        >>> found = stepwise("species ~ .", load_iris(), enter=0.01, stay=0.01)
        >>> found.cross_validate(seed=1).table()["estimate"].round(3).to_dict()
        {'error': 0.033, 'log loss': 0.055, 'Brier': 0.036}
        """
        from discrim.models.selection.cross_validation import cross_validate

        return cross_validate(
            self.fit, folds, repeats, groups, seed, refit_prior=refit_prior, permutations=permutations,
            within=within,
        )  # fmt: skip
