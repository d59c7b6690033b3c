"""How often a fit is right, of rows that it did or did not see: a parent of `ClassifierResults`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.core.rules.rules import best_class, posteriors
from discrim.frame.unseen import Unseen
from discrim.models.fits.arguments import cost_matrix, prior_vector
from discrim.models.fits.displayed import displayed
from discrim.models.fits.gaps import Gaps, Missing
from discrim.models.judging import assessment
from discrim.models.judging.validation import left_out_scores

if TYPE_CHECKING:
    from discrim.models.judging.classification import Classification
    from discrim.models.results.assessed import Assessment

__all__ = ["Judging"]


class Judging:
    """Leave-one-out, confusions and error rates."""

    def leave_one_out(self: Any, *, refit_prior: bool | None = None) -> pd.DataFrame:
        """Label and posteriors, or values where there are none, of each row under the rule fitted without it.

        Parameters
        ----------
        refit_prior : bool, optional
            Whether a prior of class proportions is estimated without the row, too. Held, it counts the row
            among its class. By default models of the rows within classes hold it, as R's MASS does;
            `logistic`, whose constants it is in, and `knn` do not. A prior that was given is held; models
            without posteriors have none.

        Returns
        -------
        DataFrame
            Column `label`, then a column for each class, on the index of the fit's table. Rows the fit
            did not use are missing; so are rows without which the rule does not exist.
        """
        index = self._fit.rows("leave_one_out()").table.index
        scores = left_out_scores(self._fit, refit_prior)
        values = scores if self._fit.model.instead else posteriors(scores)
        frame = pd.DataFrame(values, index=index, columns=self.classes, copy=False)
        frame.insert(0, "label", self._fit.labelled(best_class(scores), index), allow_duplicates=True)
        return frame.rename_axis(columns=None)

    @displayed(every="count")
    def confusion(
        self: Any,
        data: Any = None,
        method: assessment.Counting = "apparent",
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
            New rows with their response. Without it, the rows of the fit.
        method : {"apparent", "loo", "cv"}
            For the rows of the fit: by the rule itself, leaving each row out, or leaving out folds. It may
            come first, as in `confusion("loo")`.
        costs : optional
            As for `predict`.
        folds, seed : int
            Number of folds, and the seed that deals the rows to them.
        unseen, missing : optional
            As for `predict`, of new rows.
        refit_prior : bool, optional
            Whether a prior of class proportions is estimated without the rows left out, too; see
            `leave_one_out`.

        Returns
        -------
        DataFrame
            Counts, or sums of weights. Rows without a class or a prediction are left out.
        """
        data, method = assessment.asked(data, method)
        paid = cost_matrix(costs, self.classes)
        gaps = Gaps(unseen, missing)
        plan = assessment.Plan(paid, folds=folds, seed=seed, refit_prior=refit_prior, gaps=gaps)
        return assessment.confusion(self._fit, data, method, plan)

    @displayed(estimate="share", se="share", low="share", high="share")
    def error_rates(
        self: Any,
        methods: Sequence[assessment.ErrorMethod] | None = None,
        data: Any = None,
        *,
        prior: Any = None,
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
        methods : sequence of str, optional
            By default "apparent" and "loo", or with `data` none but the error on its rows. "apparent": on the
            rows of the fit. "loo": each row left out, choices and transforms held. "cv": folds left out, both
            made anew. "632+", Efron & Tibshirani's: in bootstraps. "D", "DS", "O", "OS": by the normal model
            (linear rule only). "posterior", "posterior-stratified": by posteriors.
        data : table, optional
            New rows with their response, whose error is the row "new rows". It may come first, as in
            `error_rates(test)`. Rows without a class, or with a missing value, are left out, and a warning
            counts them.
        prior : optional
            Shares of the classes, in any form that a verb takes, that the errors within classes are weighted
            by; the rule stays that of the fit. By default a prior that was given to the verb; else rows count
            as they are.
        costs : optional
            As for `predict`: the rate is then the mean cost of the rule of least expected cost, what a right
            label costs included.
        level : float
            Of the intervals.
        folds, replicates, seed : int
            Folds of "cv"; bootstrap samples of "632+"; the seed of both. No other method is random.
        by_class : bool
            Add a column for each class, the rate within it.
        weights : column name or vector, optional
            Frequencies of the rows of `data`.
        unseen, missing : optional
            As for `predict`, of the rows of `data`.
        refit_prior : bool, optional
            Whether "loo" and "cv" estimate a prior of class proportions without the rows left out, too; see
            `leave_one_out`. The samples of "632+" have the classes in proportion.

        Returns
        -------
        DataFrame
            method -> estimate, se, low, high (see `discrim.inference.error_rates`), wrong, total; prior:
            what "loo" and "cv" did with it, "held", "refitted" or "given".

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
        methods, data = assessment.methods_or_data(methods, data)
        paid = cost_matrix(costs, self.classes)
        shares = None if prior is None else prior_vector(prior, self.classes, self._fit.counts)
        gaps = Gaps(unseen, missing)
        plan = assessment.Plan(paid, level, folds, replicates, seed, refit_prior, gaps, shares, weights)
        return assessment.error_rates(self._fit, methods, data, plan, by_class=by_class)

    def assess(
        self: Any,
        data: Any = None,
        method: assessment.Counting | None = None,
        *,
        prior: Any = None,
        level: float = 0.95,
        bins: int = 10,
        folds: int = 10,
        seed: int | None = None,
        weights: Any = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        refit_prior: bool | None = None,
    ) -> Assessment:
        """What rows of known class say of the fit: accuracy, kappa, predictive values, areas, calibration.

        Parameters
        ----------
        data : table, optional
            New rows with their response. Without it, the rows of the fit.
        method : {"loo", "cv", "apparent"}, optional
            For the rows of the fit: leaving each row out, the default where that does not take too many fits;
            else leaving out folds; or by the rule that they made, which is too good. It may come first, as in
            `assess("cv")`.
        prior : optional
            Shares of the classes, in any form that a verb takes, that the figures are for: accuracy, kappa,
            losses and predictive values are weighted by them. The rule stays that of the fit. By default a
            prior that was given to the verb; else rows count as they are.
        level : float
            Of the intervals.
        bins : int
            Of even counts, at most, of the calibration and the parts of Brier's score.
        folds, seed : int
            Number of folds of "cv", and the seed that deals the rows to them.
        weights : column name or vector, optional
            Frequencies of the rows of `data`.
        unseen, missing : optional
            As for `predict`, of new rows.
        refit_prior : bool, optional
            As for `leave_one_out`.

        Returns
        -------
        Assessment
            `.overall`, `.by_class`, `.pairs`, `.brier`, `.confusion`, `.calibration`, and `.plot()` of ROC
            curves, calibration and confusion. Rows without a class or a prediction are left out and counted.

        Raises
        ------
        DataError
            No row has a class and a prediction; a label is none of the classes; options that are none.
        NotSupportedError
            The fit has no rows, as one that was loaded: pass `data`.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> found = discrim.lda("species ~ .", data=iris[::2]).assess(iris[1::2])
        >>> found.overall[["estimate", "low", "high"]].round(3).loc[["accuracy", "kappa", "AUC"]]
                  estimate    low   high
        measure
        accuracy     0.960  0.888  0.992
        kappa        0.940  0.873  1.007
        AUC          0.998  0.986  1.000
        >>> found.by_class["estimate"].unstack().round(2)["sensitivity"].to_dict()
        {'setosa': 1.0, 'versicolor': 0.96, 'virginica': 0.92}
        """
        from discrim.models.judging.assessed import assessed
        from discrim.models.results.assessed import Assessment

        data, method = assessment.asked(data, method)
        shares = None if prior is None else prior_vector(prior, self.classes, self._fit.counts)
        plan = assessment.Plan(
            level=level,
            folds=folds,
            seed=seed,
            refit_prior=refit_prior,
            gaps=Gaps(unseen, missing),
            prior=shares,
            weights=weights,
        )
        return Assessment(self._fit, assessed(self._fit, data, method, plan), level, bins)

    def classification(
        self: Any,
        data: Any = None,
        method: assessment.Counting = "apparent",
        *,
        folds: int = 10,
        seed: int | None = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        refit_prior: bool | None = None,
    ) -> Classification:
        """The rows beside their predictions: classification table, average posteriors, misclassified rows.

        Parameters
        ----------
        data, method, folds, seed, refit_prior, unseen, missing
            As for `confusion`.
        """
        from discrim.models.judging.classification import classification

        data, method = assessment.asked(data, method)
        plan = assessment.Plan(folds=folds, seed=seed, refit_prior=refit_prior, gaps=Gaps(unseen, missing))
        return classification(self._fit, data, method, plan)
