"""What a fit says of single rows, beyond their labels and posteriors: a parent of `ClassifierResults`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from discrim.frame.unseen import Unseen
from discrim.models.fits.arguments import check_word
from discrim.models.fits.gaps import Gaps, Missing
from discrim.models.results.by_parts import answered

if TYPE_CHECKING:
    from os import PathLike

    from discrim.models.judging.estimated_prior import PriorEstimate

__all__ = ["TYPICALITY", "NewRows", "Typicality"]

TYPICALITY = ("exact", "chi2", "relative", "conformal")
Typicality = Literal["exact", "chi2", "relative", "conformal"]


class NewRows:
    """How typical rows are of the classes, and how sure their posteriors."""

    def typicality(
        self: Any,
        data: Any = None,
        *,
        method: Typicality = "exact",
        calibration: Any = None,
        unseen: Unseen | None = None,
    ) -> pd.DataFrame:
        """Probability that a row of the class lies as far from it or farther, rows by classes.

        A row that is small in every class is like none of them; see `outlier=` of `predict`.

        Parameters
        ----------
        data : table, optional
            New rows. Without it, the rows of the fit, each judged by the others.
        method : {"exact", "chi2", "relative", "conformal"}
            What law the distance is held against. "exact": that of the distance of a new row, with means and
            covariances estimated, if classes are normal (an F). "chi2": its limit for many rows, which others
            print, and which calls too many rows untypical; also of robust fits, whose distances follow no
            other law. "conformal": none; the share of the rows of the class, the new one among them, whose
            own distance without them is as large, (1 + #)/(n_k + 1), which is at most a for at most about a
            share a of the rows of any law. "relative": the same of the relative distance, see
            `relative_distances`.
        calibration : table, or source of tables, optional
            For the last two: rows with their response, which the fit has not seen, in the place of those of
            the fit. The shares are then not about, but at most what they say. Loaded fits need them.
        unseen : optional
            As for `predict`, also of calibration rows.

        Returns
        -------
        DataFrame
            P(D2 >= d2 | class); missing where a row has a missing value.

        Raises
        ------
        NotSupportedError
            "exact" takes normal classes with full covariances, "chi2" these or robust ones, "relative"
            distances or densities; "conformal" any model, if its rows can be left out or there are others.

        Notes
        -----
        With "conformal", models with shrunken or regularized covariances of each class, and naive Bayes, have
        the density of the row in the class in the place of a distance; models without either, how strange the
        row is in the class by its log odds against the others (or, without posteriors, by its margin), which
        tells rows between classes and not those beyond them. Rows are left out as by `leave_one_out`: what
        was chosen, and what columns are standardized by, is held. A row whose distance without it has no
        closed form, as of a row alone in its class, counts as farther than any.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> fit = discrim.lda("species ~ .", data=iris)
        >>> rows = iris.iloc[[0, 106]]
        >>> for method in ("exact", "chi2", "conformal"):
        ...     print(method, fit.typicality(rows, method=method).max(axis=1).round(3).tolist())
        exact [0.991, 0.031]
        chi2 [0.99, 0.022]
        conformal [0.941, 0.176]
        """
        from discrim.models.judging.single_rows import typicality

        check_word("method", method, TYPICALITY)
        return typicality(self._fit, data, Gaps(unseen), method, calibration)

    def relative_distances(self: Any, data: Any = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Squared distance of rows to each class less that to one normal law of all rows, rows by classes.

        How much farther a row is from the class than from what all rows are like: a row that is unusual in
        directions in which all classes vary alike does not count as unlike them (Ren et al., 2021, A simple
        fix to Mahalanobis distance for improving near-OOD detection, arXiv:2106.09022). The least value of a
        row is the score by which they call it new.

        Parameters
        ----------
        data : table, optional
            New rows. Without it, the rows of the fit, each by means and covariances without it.
        unseen : optional
            As for `predict`.

        Returns
        -------
        DataFrame
            D2_k - D2_0, of covariances with the divisors N - K (or n_k - 1) and N - 1. Of models with a
            density for each class but no distance, minus twice its log is in the place of D2_k.

        Raises
        ------
        NotSupportedError
            The model has neither distances nor densities, or the columns no covariance over all rows.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> discrim.lda("species ~ .", data=iris).relative_distances(iris[:1]).round(2).to_numpy().tolist()
        [[-1.84, 96.75, 189.65]]
        """
        from discrim.models.judging.novelty import relative_distances

        return relative_distances(self._fit, data, Gaps(unseen))

    def predict_set(
        self: Any,
        data: Any = None,
        level: float = 0.95,
        *,
        by: Literal["class"] | None = None,
        method: Literal["loo", "cv", "split"] | None = None,
        calibration: Any = None,
        score: Literal["lac", "aps", "margin"] | None = None,
        smoothed: bool = False,
        empty: Literal["keep", "best"] = "keep",
        prior: Any = None,
        weights: Any = None,
        folds: int = 10,
        seed: int | None = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        out: str | PathLike[str] | None = None,
    ) -> pd.DataFrame:
        """Sets of classes that hold a row's class as often as the level says: conformal prediction sets.

        A class is in the set of a row where the row would be no stranger as one of it than all but the
        strangest, a share of one less the level, of the calibration rows are in their own classes.

        Parameters
        ----------
        data : table, or source of tables, optional
            As for `predict`. Without it, the rows of the fit, each by rules and calibration without it.
        level : float
        by : {"class"}, optional
            Keep the promise within each class (its rows are held against those of the class), and not over
            all rows alone. A class with too few calibration rows for the level is in every set; a warning
            says so.
        method : {"loo", "cv", "split"}, optional
            How the calibration rows are scored. "loo": the rows of the fit, each by the rule without it; by
            default, without `calibration`. "cv": by rules without folds of them. These keep the level closely
            in practice, and no law-free bound says so, as scores of new rows are by another rule. "split":
            the rows of `calibration`, which promises at least the level, and at most 1/(n + 1) more where
            scores do not tie, for rows that are exchangeable with them, whatever the law and however bad the
            model.
        calibration : table, or source of tables, optional
            Rows with their response that the fit has not seen. Loaded fits and those of moments need them.
        score : {"lac", "aps", "margin"}, optional
            How strange a row is in a class. "lac", the default: one less its posterior, ranked as log odds,
            so that posteriors that are 0 or 1 to the last digit do not tie; the smallest sets on average.
            "aps": the posteriors of the class and all more probable ones, summed; larger sets, which are as
            often right of hard rows as of easy ones. "margin": the best other score less its own, which
            models without posteriors have.
        smoothed : bool
            Break ties at random, and take a random share of the own posterior into "aps": the level is then
            exact, and not at least kept.
        empty : {"keep", "best"}
            An empty set says that the row is stranger in each class than the level lets pass; it counts as a
            miss in the promise. "best" puts the class that `predict` gives into it, which can only add hits.
        prior : optional
            As for `predict`. It moves the posteriors of calibration rows and new ones alike, and so changes
            which sets there are, not the promise, which is of rows in the mix of the calibration rows. Of
            another mix of classes, the promise of by="class" holds. A class of prior zero is in no set, and
            its calibration rows do not count.
        weights : column name, or vector, optional
            Frequencies of the rows of `calibration`; those of the fit count where the fit has them.
        folds : int
            Of "cv".
        seed : int, optional
            Of what is random: folds, and smoothed sets.
        unseen, missing, out : optional
            As for `predict`; the first two also of `calibration`. With missing="integrate" the promise is
            kept if calibration rows miss values as new ones do, which those of "loo" and "cv" do not.

        Returns
        -------
        DataFrame
            `set`: "empty", "single", "several" or "full" (each class that has a prior); then a column of
            truth values for each class. Missing where a row has a missing value, or no rule without it. What
            the sets promise, by which method and of how many calibration rows is in `attrs`. Of a source, and
            with `out`, as of `predict`.

        Raises
        ------
        NotSupportedError
            The fit has no rows, or no rules without them; the message says how to go on.
        DataError
            An option that is not known; calibration rows that cannot be read.

        Warns
        -----
        DiscrimWarning
            There are too few calibration rows for the level, or some that do not count.

        Notes
        -----
        See `discrim.inference.conformal` for sources. A calibration row without a rule counts as stranger
        than any other.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> fit = discrim.lda("species ~ .", data=iris)
        >>> sets = fit.predict_set(iris.iloc[[0, 70, 133]], level=0.99)
        >>> sets["set"].tolist()
        ['single', 'several', 'several']
        >>> sets.iloc[1, 1:].tolist()
        [False, True, True]
        >>> sets.attrs["promise"][:45]
        'Nearly 0.99 of rows like those of the fit hav'
        """
        from discrim.models.judging.prediction_sets import SetPlan, set_answer

        plan = SetPlan(
            level=level,
            by=by,
            method=method,
            calibration=calibration,
            score=score,
            smoothed=smoothed,
            empty=empty,
            prior=prior,
            weights=weights,
            folds=folds,
            seed=seed,
            gaps=Gaps(unseen, missing),
        )
        return answered(self, data, out, set_answer(self._fit, data, plan))

    def posterior_intervals(
        self: Any,
        data: Any = None,
        *,
        method: Literal["delta", "bootstrap"] = "delta",
        level: float = 0.95,
        replicates: int = 999,
        seed: int | None = None,
        unseen: Unseen | None = None,
    ) -> pd.DataFrame:
        """Posteriors of rows with intervals that show how well the sample determines them.

        Parameters
        ----------
        data : table, optional
            New rows; the rows of the fit by default.
        method : {"delta", "bootstrap"}
            Normal intervals on the logit scale, from the asymptotic variance under the model; or percentiles
            of posteriors under fits to rows drawn again within classes.
        level : float
        replicates, seed : int
            Of the bootstrap.
        unseen : optional
            As for `predict`.

        Returns
        -------
        DataFrame
            Columns (class, "posterior" | "low" | "high").
        """
        from discrim.models.judging.single_rows import posterior_intervals

        check_word("method", method, ("delta", "bootstrap"))
        return posterior_intervals(self._fit, data, method, level, replicates, seed, unseen)

    def estimate_prior(
        self: Any,
        data: Any,
        *,
        tol: float = 1e-10,
        maxiter: int = 200,
        level: float = 0.95,
        interval: Literal["wald", "profile", "bootstrap"] = "wald",
        replicates: int = 200,
        seed: int | None = None,
        weights: Any = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
    ) -> PriorEstimate:
        """Shares of the classes among rows whose classes are not known, by maximum likelihood.

        The rows within a class are taken to be as those of the fit, and the classes to come in another mix:
        what an unlabelled batch says of this mix is the prior that its rows are to be predicted with.

        Parameters
        ----------
        data : table, or source of tables
            The batch; a response in it is not read. Of a source the densities are held, rows by classes.
        tol : float
            The search ends where the slope of the mean log-likelihood along each share that is above zero is
            within this of its value at a maximum, and that along a share of zero above it by no more.
        maxiter : int
            Steps of EM (Saerens, Latinne & Decaestecker, 2002, Neural Computation 14, 21-41), of which the
            first are, and of Newton with the bound at zero, which follow.
        level : float
            Of the intervals.
        interval : {"wald", "profile", "bootstrap"}
            Normal on the logit scale; of the profile likelihood, which takes some searches for each class and
            has limits for shares of zero too; or percentiles, with standard errors, of fits to rows drawn
            again within classes on rows drawn again of the batch: these know that the fit is estimated.
        replicates, seed : int
            Of the bootstrap.
        weights : column name, or vector of length n, optional
            Frequencies of the rows; of a source a column.
        unseen, missing : optional
            As for `predict`.

        Returns
        -------
        PriorEstimate
            `prior`, `bse`, `table`, `test` (likelihood ratio against the fit's prior), `steps`, `converged`.
            Itself it may be passed as `prior=`, as in `predict(batch, prior=found)`.

        Raises
        ------
        DataError
            No row tells of the classes; an option is out of range; the densities are more than the memory.
        NotSupportedError
            The model has no posteriors; a bootstrap of a fit without rows, or of a source.

        Warns
        -----
        DiscrimWarning
            The search did not converge.

        Notes
        -----
        The likelihood is concave, so that no other maximum is missed; what certifies it is in
        `discrim.inference.class_shares`. Densities are those of the fit: that these are estimated is not in
        the standard errors, but of the bootstrap, and a model that is wrong of the classes is wrong of their
        shares. A class with a prior of zero in the fit is held at zero.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> fit = discrim.lda("species ~ .", data=iris)
        >>> found = fit.estimate_prior(iris[30:110])
        >>> found.prior.round(3).to_dict()
        {'setosa': 0.25, 'versicolor': 0.613, 'virginica': 0.137}
        >>> fit.predict(iris[30:110], prior=found).value_counts().tolist()
        [49, 20, 11]
        """
        from discrim.models.judging.estimated_prior import Search, estimated_prior

        return estimated_prior(
            self._fit,
            data,
            Search(tol, maxiter, level, interval, replicates, seed),
            Gaps(unseen, missing),
            weights,
        )
