"""How often a fit is right, of rows that it did or did not see: a parent of `ClassifierResults`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.core.rules.rules import best_class, posteriors
from discrim.frame.levels import Unseen
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Gaps, Missing, distinct
from discrim.models.fits.reading import cost_matrix, prior_vector
from discrim.models.judging import assessment
from discrim.models.judging.validation import left_out_scores

if TYPE_CHECKING:
    from discrim.models.judging.assessment import Classification
    from discrim.models.results.assessed import Assessment


class Judging:
    """Leave-one-out, confusions and error rates."""

    def leave_one_out(self: Any, *, refit_prior: bool | None = None) -> pd.DataFrame:
        """Label and posteriors of each row under the rule fitted without it.

        Models without posteriors give their values instead.

        Parameters
        ----------
        refit_prior : bool, optional
            Whether a prior of class proportions is estimated again without the rows left out. By default
            models of the rows within classes hold it, as R's MASS does, while `logistic`, whose constants
            contain it, and `knn` estimate it again. A prior that was given is always held.

        Returns
        -------
        DataFrame
            Column `label` (`label_`, should a class have this name), then a column for each class, on the
            index of the fit's table. Rows that the fit did not use are missing, and so are rows without which
            the rule does not exist.
        """
        index = self._fit.rows("leave_one_out()").table.index
        scores = left_out_scores(self._fit, refit_prior)
        values = scores if self._fit.model.instead else posteriors(scores)
        frame = pd.DataFrame(values, index=index, columns=self.classes, copy=False)
        frame.insert(0, distinct("label", self.classes), self._fit.labelled(best_class(scores), index))
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
            How the rows of the fit are predicted: by the rule itself ("apparent"), by rules fitted without
            each row ("loo"), or by rules fitted without folds ("cv"). It may come first, as in
            `confusion("loo")`.
        costs : DataFrame or (K, K) array, optional
            Cost of giving a row of one class (row) the label of another (column). The label of least expected
            cost is then given.
        folds : int
            Number of folds of "cv".
        seed : int, optional
            Seed by which the rows are dealt to folds. Without it each call deals them differently.
        unseen : {"raise", "missing"}, optional
            What to do with rows that have a level which the fit has not seen: raise an error, or treat them
            as rows with a missing value, with a warning that counts them. An error is the default, except for
            fits of `naive_bayes(unseen="missing")`.
        missing : {"drop", "integrate"}, optional
            What to say of a row with a missing value: nothing ("drop"); or what its other columns tell, with
            the missing ones integrated out, which models of normal classes and naive Bayes can do (see the
            Notes of `predict`). "drop" is the default, except for fits of `naive_bayes` or with missing="em".
        refit_prior : bool, optional
            Whether a prior of class proportions is estimated again without the rows left out. By default
            models of the rows within classes hold it, as R's MASS does, while `logistic`, whose constants
            contain it, and `knn` estimate it again. A prior that was given is always held.

        Returns
        -------
        DataFrame
            Counts, or sums of weights. Rows without a class or a prediction are left out.
        """
        data, method = assessment.table_and_method(data, method)
        paid = cost_matrix(costs, self.classes)
        gaps = Gaps(unseen, missing)
        plan = assessment.JudgingPlan(paid, folds=folds, seed=seed, refit_prior=refit_prior, gaps=gaps)
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
            By default "apparent" and "loo", or with `data` only the error on its rows. "apparent" is the
            error on the rows of the fit. "loo" leaves each row out and holds choices and transforms. "cv"
            leaves folds out and makes both anew. "632+" is Efron and Tibshirani's bootstrap. "D", "DS", "O"
            and "OS" follow from the normal model (linear rule only). "posterior" and "posterior-stratified"
            follow from the posteriors.
        data : table, optional
            New rows with their response, whose error is the row "new rows". It may come first, as in
            `error_rates(test)`. Rows without a class, or with a missing value, are left out, and a warning
            counts them.
        prior : optional
            Shares of the classes by which the errors within classes are weighted, in any form that a verb
            takes. The rule stays that of the fit. By default they are a prior that was given to the verb;
            without one, rows count as they are.
        costs : DataFrame or (K, K) array, optional
            Cost of giving a row of one class (row) the label of another (column). The label of least expected
            cost is then given. The rate is then the mean cost of the rule of least expected cost, including
            what a right label costs.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        folds : int
            Number of folds of "cv".
        replicates : int
            Number of bootstrap samples of "632+".
        seed : int, optional
            Seed of the folds of "cv" and of the samples of "632+". No other method is random.
        by_class : bool
            Whether to add a column for each class with the rate within it. Where a class bears the name of
            another column, that column's stands in parentheses.
        weights : column name or vector, optional
            Frequencies of the rows of `data`.
        unseen : {"raise", "missing"}, optional
            What to do with rows that have a level which the fit has not seen: raise an error, or treat them
            as rows with a missing value, with a warning that counts them. An error is the default, except for
            fits of `naive_bayes(unseen="missing")`.
        missing : {"drop", "integrate"}, optional
            What to say of a row with a missing value: nothing ("drop"); or what its other columns tell, with
            the missing ones integrated out, which models of normal classes and naive Bayes can do (see the
            Notes of `predict`). "drop" is the default, except for fits of `naive_bayes` or with missing="em".
        refit_prior : bool, optional
            Whether a prior of class proportions is estimated again without the rows left out. By default
            models of the rows within classes hold it, as R's MASS does, while `logistic`, whose constants
            contain it, and `knn` estimate it again. A prior that was given is always held. It applies to
            "loo" and "cv". The samples of "632+" have the classes in proportion.

        Returns
        -------
        DataFrame
            By method: estimate, se, low, high (see `discrim.inference.error_rates`), wrong, total; and prior,
            which says whether "loo" and "cv" used a prior that was "held", "refitted" or "given". Where the
            rows chose something of the fit, such as its columns or a penalty, `choice` says whether a method
            held it, so that the rows that are judged have made it, or made it "anew". Intervals
            are exact for counted errors, and normal on the logit scale for the others: for "632+" by the
            delta method of Efron and Tibshirani. Standard error and limits are missing for "posterior" and
            "posterior-stratified", whose rows have made the posteriors and do not show how far these are off;
            and for "632+" where `replicates` are too few for them; `attrs["note"]` of the table says so. The
            page on error rates says how often each interval covers the error of the rule.

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
        plan = assessment.JudgingPlan(
            paid, level, folds, replicates, seed, refit_prior, gaps, shares, weights
        )
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
        """How good the fit is on rows of known class: accuracy, kappa, predictive values, areas, calibration.

        Parameters
        ----------
        data : table, optional
            New rows with their response. Without it, the rows of the fit.
        method : {"loo", "cv", "apparent"}, optional
            How the rows of the fit are predicted: by rules fitted without each row ("loo"), which is the
            default where it does not take too many fits; by rules fitted without folds ("cv"), which is the
            default elsewhere; or by the rule that they made ("apparent"), which looks too good. It may come
            first, as in `assess("cv")`.
        prior : optional
            Shares of the classes by which accuracy, kappa, losses and predictive values are weighted, in any
            form that a verb takes. The rule stays that of the fit. By default they are a prior that was given
            to the verb; without one, rows count as they are.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        bins : int
            The largest number of bins, of even counts, for the calibration and the parts of Brier's score.
        folds : int
            Number of folds of "cv".
        seed : int, optional
            Seed by which the rows are dealt to folds. Without it each call deals them differently.
        weights : column name or vector, optional
            Frequencies of the rows of `data`.
        unseen : {"raise", "missing"}, optional
            What to do with rows that have a level which the fit has not seen: raise an error, or treat them
            as rows with a missing value, with a warning that counts them. An error is the default, except for
            fits of `naive_bayes(unseen="missing")`.
        missing : {"drop", "integrate"}, optional
            What to say of a row with a missing value: nothing ("drop"); or what its other columns tell, with
            the missing ones integrated out, which models of normal classes and naive Bayes can do (see the
            Notes of `predict`). "drop" is the default, except for fits of `naive_bayes` or with missing="em".
        refit_prior : bool, optional
            Whether a prior of class proportions is estimated again without the rows left out. By default
            models of the rows within classes hold it, as R's MASS does, while `logistic`, whose constants
            contain it, and `knn` estimate it again. A prior that was given is always held.

        Returns
        -------
        Assessment
            It has `.overall`, `.by_class`, `.pairs`, `.brier`, `.confusion`, `.calibration`, and a `.plot()`
            of ROC curves, calibration and confusion. Rows without a class or a prediction are left out and
            counted. Intervals are for the rule as it is, on other rows of its law. Where a few rows have
            nearly all of the log loss or of Brier's score, as of classes far apart, theirs hold less often
            than they say; the page on error rates has the figures.

        Raises
        ------
        DataError
            No row has a class and a prediction; a label is none of the classes; or an option cannot be used.
        NotSupportedError
            The fit has no rows, because it was loaded or made of moments: pass `data`.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> found = discrim.lda("species ~ .", data=iris[::2]).assess(iris[1::2])
        >>> found.overall[["estimate", "low", "high"]].round(3).loc[["accuracy", "kappa", "AUC"]]
                  estimate    low   high
        measure
        accuracy     0.960  0.888  0.992
        kappa        0.940  0.823  0.980
        AUC          0.998  0.986  1.000
        >>> found.by_class["estimate"].unstack().round(2)["sensitivity"].to_dict()
        {'setosa': 1.0, 'versicolor': 0.96, 'virginica': 0.92}
        """
        from discrim.models.judging.assessment import assessed
        from discrim.models.results.assessed import Assessment

        data, method = assessment.table_and_method(data, method)
        shares = None if prior is None else prior_vector(prior, self.classes, self._fit.counts)
        plan = assessment.JudgingPlan(
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
        data : table, optional
            New rows with their response. Without it, the rows of the fit.
        method : {"apparent", "loo", "cv"}
            How the rows of the fit are predicted: by the rule itself ("apparent"), by rules fitted without
            each row ("loo"), or by rules fitted without folds ("cv").
        folds : int
            Number of folds of "cv".
        seed : int, optional
            Seed by which the rows are dealt to folds. Without it each call deals them differently.
        unseen : {"raise", "missing"}, optional
            What to do with rows that have a level which the fit has not seen: raise an error, or treat them
            as rows with a missing value, with a warning that counts them. An error is the default, except for
            fits of `naive_bayes(unseen="missing")`.
        missing : {"drop", "integrate"}, optional
            What to say of a row with a missing value: nothing ("drop"); or what its other columns tell, with
            the missing ones integrated out, which models of normal classes and naive Bayes can do (see the
            Notes of `predict`). "drop" is the default, except for fits of `naive_bayes` or with missing="em".
        refit_prior : bool, optional
            Whether a prior of class proportions is estimated again without the rows left out. By default
            models of the rows within classes hold it, as R's MASS does, while `logistic`, whose constants
            contain it, and `knn` estimate it again. A prior that was given is always held.
        """
        from discrim.models.judging.assessment import classification

        data, method = assessment.table_and_method(data, method)
        plan = assessment.JudgingPlan(
            folds=folds, seed=seed, refit_prior=refit_prior, gaps=Gaps(unseen, missing)
        )
        return classification(self._fit, data, method, plan)
