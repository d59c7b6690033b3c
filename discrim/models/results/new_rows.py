"""Methods of `ClassifierResults` for single observations, in addition to labels and posteriors.

`NewRowsMethods` has typicality, casewise tables, prediction sets, posterior intervals, estimation of the
prior of unlabelled rows, and the export of the rule to SQL, ONNX and marginaleffects. The computations are
in `discrim.models.evaluation` and in the export modules next to this one. `predict_by_chunks` applies a
prediction function to a table or, chunk by chunk, to a source of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import pandas as pd

from discrim.data.sources.sinks import write_frames
from discrim.data.sources.sources import source_of_rows
from discrim.design.levels import Unseen
from discrim.design.source_tables import apply_to_chunks, apply_to_source
from discrim.errors import missing_package
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import Missing, MissingPolicy
from discrim.models.base.fitted_results import FittedResults, needs_rows
from discrim.models.base.reading import Data, Prior, check_word

if TYPE_CHECKING:
    from discrim.inference.conformal import SetScore
    from discrim.models.evaluation.estimated_prior import PriorEstimate
    from discrim.models.results.exported import Database, Output

T = TypeVar("T", pd.Series, pd.DataFrame, "pd.DataFrame | pd.Series")


def predict_by_chunks(
    results: Any,
    data: Any,
    out: str | PathLike[str] | None,
    predict: Callable[[Any, Any], T],
    *,
    reads_all_columns: bool = False,
    allows_classless: bool = False,
) -> T:
    """Apply a prediction function to a table, or chunk by chunk to a source of tables.

    Parameters
    ----------
    results : ClassifierResults
        Results that are passed to `predict`.
    data : table or source of tables
        Rows to predict.
    out : path or None
        File or folder to which the result is written.
    predict : callable
        Function of results and a table that returns a Series or DataFrame on the index of the table.
    reads_all_columns : bool
        Whether `predict` needs all columns of the table and not only the columns of the formula.
    allows_classless : bool
        Whether labels outside the classes are possible, such as the label of an outlier.

    Returns
    -------
    Series, DataFrame, iterator or path
        The result for a table, an iterator of results for a source (for a Dask DataFrame a lazy frame), or
        the path if `out` is passed. The annotation states the type for a table only, which is the usual case
        for type checkers.
    """
    source = source_of_rows(data)
    columns = None if reads_all_columns else results._fit.design_rows.design.columns
    if out is not None:
        frames = apply_to_chunks(source, columns, partial(predict, results))
        return cast("T", write_frames(frames, out, source=source))
    result: T = apply_to_source(
        source,
        columns,
        partial(predict, results),
        lambda: partial(predict, results._without_rows()),
        allows_unknown_labels=allows_classless,
    )
    return result


Typicality = Literal["exact", "chi2", "relative", "conformal"]


def _require_casewise(results: FittedResults) -> None:
    """Raise NotSupportedError, for `casewise`, unless the model has normal classes with full covariances."""
    from discrim.models.evaluation.classification import raise_if_no_distances

    raise_if_no_distances(results._fit)


def _require_relative_distances(results: FittedResults) -> None:
    """Raise NotSupportedError, for `relative_distances`, if the fit does not define them.

    They require distances or densities of the classes, a nonsingular total covariance, and no covariates.
    """
    from discrim.models.evaluation.typicality import typicality_measure

    typicality_measure(results._fit, relative=True)


def _require_exportable(results: FittedResults) -> None:
    """Raise NotSupportedError if the rule or a term of the formula cannot be written in SQL and ONNX."""
    from discrim.models.results.exported import export_rule

    export_rule(results._fit)


class NewRowsMethods(FittedResults):
    """Methods for single rows: typicality, prediction sets, intervals and export of the rule."""

    def typicality(
        self,
        data: Data | None = None,
        *,
        method: Typicality = "exact",
        calibration: Any = None,
        unseen: Unseen | None = None,
    ) -> pd.DataFrame:
        """Probability that a row of the class lies as far from it or farther, rows by classes.

        A row with small probabilities in every class is like none of them; see `outlier=` of `predict`.

        Parameters
        ----------
        data : table or source of tables, optional
            New rows. Without it, the rows of the fit, each judged by the others.
        method : {"exact", "chi2", "relative", "conformal"}
            How a distance becomes a probability. "exact" uses the F distribution of the distance of a new row
            from estimated means and covariances of normal classes. "chi2" is its limit for many rows: other
            programs print it, and it calls too many rows untypical. Robust fits have "chi2" instead of
            "exact", because the exact distribution of their distances is unknown. "conformal" makes no
            distributional assumption: it is the share (1 + #)/(n_k + 1) of rows of the class, including the
            new one, whose own distance without them is as large. For any distribution and any a, at most
            about a share a of rows has a value of at most a. "relative" is the same for the relative
            distance, see `relative_distances`.
        calibration : table or source of tables, optional
            For "conformal" and "relative": rows with their response that the fit has not seen, instead of
            the rows of the fit. The bound is then exact and not only approximate. Fits that were loaded need
            them.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments. It
            applies to calibration rows too.

        Returns
        -------
        DataFrame
            P(D2 >= d2 | class), on the index of the rows, with a column for each class; missing if the row
            has a missing value.

        Raises
        ------
        NotSupportedError
            "exact" needs normal classes with full covariances, "chi2" these or robust ones, and "relative"
            distances or densities. "conformal" works for any model whose rows can be left out, or with
            calibration rows.

        Notes
        -----
        With "conformal", models with shrunken or regularized covariances of each class, and naive Bayes, use
        the density of the row in the class instead of a distance. Models without either use the log odds of
        the class against the others or, without posteriors, the margin; these find rows
        between the classes, but not rows outside all of them. Rows are left out as in `leave_one_out`, which
        keeps chosen options and the scale by which columns are standardized. A row without a distance when
        it is left out, such as the only row of a class, counts as farther than any other.

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
        from discrim.models.evaluation.typicality import typicality

        check_word("method", method, Typicality)
        return typicality(self._fit, data, MissingPolicy(unseen), method, calibration)

    @available_if(_require_casewise)
    @with_display_formats(second_posterior="share", posterior="share", second_D2="z")
    def casewise(
        self,
        data: Data | None = None,
        method: Literal["apparent", "loo"] = "apparent",
        *,
        unseen: Unseen | None = None,
        refit_prior: bool | None = None,
    ) -> pd.DataFrame:
        """One row a case, as SPSS prints it: its class, the two most probable classes, distances and scores.

        Parameters
        ----------
        data : table, optional
            New observations, with or without the response. By default the data of the fit.
        method : {"apparent", "loo"}
            How the rows of the fit are judged: by the rule itself ("apparent"), or each by the rule, means
            and covariances without it ("loo"), which SPSS calls cross-validated. It may come first, for
            example `casewise("loo")`.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.
        refit_prior : bool, optional
            Whether class proportions are estimated again in each fold; see the page on shared arguments.

        Returns
        -------
        DataFrame
            On the index of the rows: `actual`, `predicted` and `misclassified`; of the predicted class `p`,
            the probability P(D2 > d2 | class) of a chi-square of `df` degrees of freedom, `posterior`, the
            probability of the class given the row, and `D2`, the squared Mahalanobis distance to its
            centroid; then `second`, the class of the second largest posterior, with the same; and for `lda`
            the discriminant scores LD1, LD2, ..., unless rows are left out. A row with a missing value has
            only its actual class, and a row without a class lacks `misclassified`.

        Raises
        ------
        NotSupportedError
            The model lacks distances to normal classes with full covariances: `augment` has labels and
            posteriors of any model. Or `data` is not passed and the fit was saved without rows; or
            method="loo" is combined with `data`, or with a robust fit, whose distances without a row are not
            available.

        Notes
        -----
        As in SPSS, `lda` measures distances by its canonical variates, of which there are `df`, and if
        rows are left out by all columns; `qda` measures them by all columns. Covariances have the divisor N -
        K, or n_k - 1, like `typicality`, which has the exact distribution instead of the chi-square. SPSS
        uses equal priors by default, which is prior="equal" here.

        Examples
        --------
        >>> import discrim
        >>> fit = discrim.lda("species ~ .", data=discrim.datasets.load_iris())
        >>> cases = fit.casewise()
        >>> cases.loc[cases["misclassified"], ["actual", "predicted", "posterior", "D2", "p"]].round(3)
                 actual   predicted  posterior     D2      p
        70   versicolor   virginica      0.747  4.554  0.103
        83   versicolor   virginica      0.857  3.596  0.166
        133   virginica  versicolor      0.729  4.007  0.135
        """
        from discrim.models.evaluation.assessment import split_table_and_method
        from discrim.models.evaluation.classification import casewise

        data, method = split_table_and_method(data, method)
        return casewise(self, data, method, MissingPolicy(unseen), refit_prior)

    @available_if(_require_relative_distances)
    def relative_distances(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Squared distance of rows to each class minus the distance to one normal distribution of all rows.

        The difference measures how much farther a row is from the class than from all rows together. A row
        that is unusual in directions in which all classes vary alike does not count as unlike them (Ren et
        al., 2021, A simple fix to Mahalanobis distance for improving near-OOD detection, arXiv:2106.09022).
        The smallest value of a row is the score by which these authors call it new.

        Parameters
        ----------
        data : table or source of tables, optional
            New rows. Without it, the rows of the fit, each by means and covariances without it.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame
            D2_k - D2_0, rows by classes, by covariances with the divisors N - K (or n_k - 1) and N - 1.
            Models that have a density for each class but no distance use minus twice the log density instead
            of D2_k.

        Raises
        ------
        NotSupportedError
            The model has neither distances nor densities, or the covariance over all rows is singular.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> discrim.lda("species ~ .", data=iris).relative_distances(iris[:1]).round(2).to_numpy().tolist()
        [[-1.84, 96.75, 189.65]]
        """
        from discrim.models.evaluation.typicality import relative_distances

        return relative_distances(self._fit, data, MissingPolicy(unseen))

    def predict_set(
        self,
        data: Data | None = None,
        level: float = 0.95,
        *,
        by: Literal["class"] | None = None,
        method: Literal["loo", "cv", "split"] | None = None,
        calibration: Any = None,
        score: SetScore | None = None,
        smoothed: bool = False,
        empty: Literal["keep", "best"] = "keep",
        prior: Prior = None,
        weights: Any = None,
        folds: int = 10,
        seed: int | None = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        out: str | PathLike[str] | None = None,
    ) -> pd.DataFrame:
        """Conformal prediction sets: sets of classes that contain a row's class as often as the level states.

        Every row has a nonconformity score for each class. A class is in the set of a row unless this score
        is larger than the scores that a share `level` of the calibration rows have in their own classes.

        Parameters
        ----------
        data : table or source of tables, optional
            New rows; the response need not be there. Without it, the rows of the fit, each by a rule and a
            calibration without it. For a source of tables the result is an iterator of DataFrames, one for
            each chunk, and for a Dask DataFrame a lazy one, which is computed on demand.
        level : float
            How often the set contains the class: 0.95 stands for 95 percent.
        by : {"class"}, optional
            "class" guarantees the level within each class, whose rows are compared with calibration rows of
            the class, and not only over all rows together. A class with too few calibration rows for the
            level is in every set, with a warning.
        method : {"loo", "cv", "split"}, optional
            How the calibration rows get their scores. "loo", the default without `calibration`,
            scores each row of the fit by the rule without it. "cv" scores them by rules without their fold.
            Both keep the level closely in practice, but it is not guaranteed for every distribution, because
            new rows are scored by another rule. "split" uses the rows of `calibration`. If new rows are
            exchangeable with these, it guarantees at least the level, and at most 1/(n + 1) more if scores do
            not tie, for any distribution and however bad the model.
        calibration : table or source of tables, optional
            Rows with their response that the fit has not seen. Fits that were loaded, and fits of moments,
            need them.
        score : {"lac", "aps", "margin"}, optional
            Nonconformity score of a row in a class. "lac", the default, is one minus its posterior; its sets
            are the smallest on average, and it is ranked by log odds, because posteriors that are 0 or 1 to
            the last digit would tie. "aps" is the sum of the posteriors of the class and of all more probable
            ones; its sets are larger, and as often right for hard rows as for easy ones. "margin" is the best
            score of the other classes minus the score of the class; models without posteriors use it.
        smoothed : bool
            Whether ties are broken at random, and "aps" adds a random share of the class's own posterior.
            The level is then kept exactly, and not just at least.
        empty : {"keep", "best"}
            An empty set means that the row is less typical of each class than the level allows, and counts as
            a miss in the guarantee. "best" puts the class that `predict` returns into it, which can only add
            hits.
        prior : optional
            Prior probabilities; by default the prior of the fit. The prior moves the posteriors of
            calibration rows and new ones alike. It changes the sets, but not the guarantee, which is for rows
            with the class shares of the calibration rows. For other shares the guarantee of by="class" is
            valid. A class of prior zero is in no set, and its calibration rows do not count.
        weights : column name or vector, optional
            Frequencies of the rows of `calibration`. The weights of the fit apply to the rows of the fit.
        folds : int
            Number of folds of "cv".
        seed : int, optional
            Seed of the folds and of smoothed sets.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments. It
            applies to calibration rows too.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments. It
            applies to calibration rows too. With "integrate" the guarantee requires calibration rows that
            miss values as often as new rows do; the calibration rows of "loo" and "cv" are complete.
        out : path, optional
            File or folder to which the result is written; see the page on shared arguments.

        Returns
        -------
        DataFrame
            `set`: "empty", "single", "several" or "full" (each class that has a prior); then a column of
            truth values for each class. A row is missing if it has a missing value, or if the rule without it
            does not exist. `attrs` has the guarantee of the sets, the method and the number of calibration
            rows. For a source, an iterator of such DataFrames.

        Raises
        ------
        NotSupportedError
            The fit lacks rows, or cannot leave them out; the message suggests an alternative.
        DataError
            An option is unknown, or the calibration rows cannot be read.

        Warns
        -----
        DiscrimWarning
            There are too few calibration rows for the level, or some that do not count.

        Notes
        -----
        The theory is from Vovk, Gammerman & Shafer (2005, Algorithmic Learning in a Random World), and from
        Barber et al. (2021, Annals of Statistics 49, 486-507). A calibration row that cannot be left out has
        a larger nonconformity score than any other.

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
        >>> sets.attrs["promise"][:58]
        'Nearly 0.99 of rows exchangeable with those of the fit hav'
        """
        from discrim.models.evaluation.prediction_sets import PredictionSetOptions, prediction_set_function

        plan = PredictionSetOptions(
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
            missing_policy=MissingPolicy(unseen, missing),
        )
        return predict_by_chunks(self, data, out, prediction_set_function(self._fit, data, plan))

    def posterior_intervals(
        self,
        data: Data | None = None,
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
            New observations. By default the data of the fit.
        method : {"delta", "bootstrap"}
            "delta": normal intervals on the logit scale, from the asymptotic variance under the model.
            "bootstrap": percentiles of the posteriors under fits to rows drawn again within classes.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        replicates : int
            Number of samples of the bootstrap.
        seed : int, optional
            Seed of the bootstrap.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame
            Columns (class, "posterior" | "low" | "high"), on the index of the rows: the posterior and the
            limits of its interval.

        Raises
        ------
        NotSupportedError
            "delta" is used with a model other than logistic regression or normal classes with full
            covariances, or "bootstrap" with a fit without rows.
        """
        from discrim.models.evaluation.posterior_intervals import posterior_intervals

        check_word("method", method, ("delta", "bootstrap"))
        return posterior_intervals(self._fit, data, method, level, replicates, seed, unseen)

    def estimate_prior(
        self,
        data: Data,
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
        """Proportions of the classes among unlabelled rows, by maximum likelihood.

        It is assumed that rows within a class have the same distribution as in the fit, while the proportions
        of the classes differ. The shares that a batch of unlabelled rows makes most likely are the prior with
        which these rows should be predicted.

        Parameters
        ----------
        data : table or source of tables
            The batch of rows; a response in it is not read. For a source the densities are kept in memory,
            rows by classes.
        tol : float
            The search ends when the slope of the mean log-likelihood along each share above zero is within
            this distance of its value at a maximum, and the slope along each share of zero is above it by no
            more.
        maxiter : int
            The largest number of steps: first steps of EM (Saerens, Latinne & Decaestecker, 2002, Neural
            Computation 14, 21-41), then steps of Newton's method with the bound at zero.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        interval : {"wald", "profile", "bootstrap"}
            "wald" is normal on the logit scale. "profile" is of the profile likelihood: it needs
            some searches for each class, and has limits for shares of zero too. "bootstrap" computes
            percentiles and standard errors from rows drawn again within the classes of the fit and rows drawn
            again from the batch, and for shares of zero the upper limit of "profile" if that is larger; it
            alone accounts for the estimation error of the fit. In simulations with 25 rows a class the 95%
            intervals of the other two covered the share in about three samples of four.
        replicates : int
            Number of samples of the bootstrap.
        seed : int, optional
            Seed of the bootstrap.
        weights : column name or vector of length n, optional
            Frequencies of the rows; for a source, the name of a column.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments.

        Returns
        -------
        PriorEstimate
            `prior`, `bse`, `table`, `test` (likelihood ratio against the fit's prior), `steps`, `converged`.
            It may itself be passed as `prior=`, for example `predict(batch, prior=found)`.

        Raises
        ------
        DataError
            No row is informative about the classes; an option is out of its range; or the densities do not
            fit into memory.
        NotSupportedError
            The model lacks posteriors; or interval="bootstrap" is used with a fit without rows, or a source.

        Warns
        -----
        DiscrimWarning
            The search did not converge.

        Notes
        -----
        The likelihood is concave and therefore has a single maximum, which the gradient certifies. The
        densities of the fit are used. Standard errors, except for the bootstrap, treat these densities as
        fixed, and a model that is wrong about the classes is wrong about their shares. A class with a prior
        of zero in the fit stays at zero.

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
        from discrim.models.evaluation.estimated_prior import PriorEstimateOptions, estimate_prior

        return estimate_prior(
            self._fit,
            data,
            PriorEstimateOptions(tol, maxiter, level, interval, replicates, seed),
            MissingPolicy(unseen, missing),
            weights,
        )

    @available_if(_require_exportable)
    def to_sql(
        self,
        dialect: Database = "duckdb",
        *,
        table: str | Sequence[str] = "data",
        output: Output | Sequence[Output] | None = None,
        keep: str | Sequence[str] = (),
        prior: Prior = None,
    ) -> str:
        """The rule as a SQL query that returns labels and posteriors of the rows of a table.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite", "mysql", "bigquery", "snowflake", "spark"}
            The language of the engine that is to run it. SQLite needs 3.35 or newer, built with its
            mathematical functions; MySQL needs 8.0.17, which can cast to double precision.
        table : str or sequence of str
            The table that is read: a name, or the names of database, schema and table.
        output : {"label", "proba", "log_proba", "decision"} or a sequence of them, optional
            Columns of the result: the column `label`, and for each class a column `proba_<class>`,
            `log_proba_<class>` or `decision_<class>`. The last are the values of `decision_function`, and of
            two classes the one column `decision`. By default the label and the posteriors, or the values of a
            model without posteriors. If two names differ only in case, an underscore follows the second,
            because some engines ignore case.
        keep : str or sequence of str
            Columns of the table that the query returns as well, such as a key: an engine is free to return
            the rows in any order.
        prior : optional
            Prior probabilities; by default the prior of the fit.

        Returns
        -------
        str
            One query without a semicolon, which may stand behind CREATE VIEW name AS.

        Raises
        ------
        NotSupportedError
            The rule is neither linear nor based on a normal distribution in each class, such as the rules of
            neighbours, kernel densities and mixtures; or the formula has splines, functions of `functions=`,
            `//`, `%` or categories that are computed. The message names it.
        DataError
            An option is unknown, or a name is not a str.

        Notes
        -----
        Numbers are in double precision, written with all their digits; posteriors are computed as here, from
        scores minus the largest, and agree with `predict_proba` to 12 digits or more. Linear rules other than
        `lda` are computed about one origin: if some classes lie more than a hundred standard deviations from
        a group of close classes, posteriors of the close classes have fewer digits.

        Names are quoted and have to match the names in the engine: Snowflake stores names that were typed
        without quotes in upper case, and Postgres in lower case. Postgres cuts names off after 63 bytes, and
        BigQuery refuses some characters in names of columns, which contain the labels of classes.

        In a row with a missing value in the formula all results are NULL, also for a model that integrates
        missing columns out. They are NULL, too, in a row for which `predict` raises an error (a level that
        the fit has not seen, an infinite value, a logarithm of zero) and in a row that lies some 1e100
        standard deviations away. A log posterior of minus infinity is NULL. Levels are compared exactly,
        including case and blanks. A posterior below 1e-307 is zero. MySQL converts text to the number that it
        begins with, or zero. If a product or a power within a term overflows, Postgres, MySQL and BigQuery
        stop with an error, and Postgres also if it underflows.

        Examples
        --------
        >>> import sqlite3
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> fit = discrim.lda("species ~ petal_length + log(petal_width)", data=iris)
        >>> engine = sqlite3.connect(":memory:")
        >>> iris[::50].to_sql("flowers", engine, index_label="id")
        3
        >>> query = fit.to_sql("sqlite", table="flowers", output="label", keep="id")
        >>> engine.execute(query).fetchall()
        [(0, 'setosa'), (50, 'versicolor'), (100, 'virginica')]
        """
        from discrim.models.results.exported import as_sql

        return as_sql(self._fit, dialect, table, output, keep, prior)

    @available_if(_require_exportable)
    def to_onnx(self, *, prior: Any = None) -> Any:
        """The rule as a model of ONNX, which runtimes of many languages compute.

        Needs the package onnx: ``pip install "discrim[onnx]"``.

        Parameters
        ----------
        prior : optional
            Prior probabilities; by default the prior of the fit.

        Returns
        -------
        onnx.ModelProto
            `onnx.save(model, path)` writes it. Each column of the table that the formula reads is an input of
            its name, rows by one: float64 for numbers and booleans, text or integers for categories. The
            outputs are `label` (rows) and `probabilities` (rows by classes), or for a model without
            posteriors `values`, the values of `decision_function`. The classes are in the metadata.

        Raises
        ------
        NotSupportedError
            onnx is not installed; or the rule or a term cannot be exported, see `to_sql`.

        Notes
        -----
        All is computed in double precision by operators of opset 19, and agrees with `predict_proba` to the
        last digits. In a row with a missing value (NaN), or one for which `to_sql` returns NULL, the
        probabilities are NaN, and the label is the empty string, NaN, or the smallest int64 if the classes
        are integers. Boolean classes are the integers 0 and 1.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> fit = discrim.lda("species ~ petal_length + log(petal_width)", data=iris)
        >>> model = fit.to_onnx()  # doctest: +SKIP
        >>> [each.name for each in model.graph.input]  # doctest: +SKIP
        ['petal_length', 'petal_width']
        """
        from discrim.models.results.exported_onnx import as_onnx

        return as_onnx(self._fit, prior)

    @available_if(lambda self: self._fit.require_posteriors("to_marginaleffects()"))
    @available_if(needs_rows("to_marginaleffects()"))
    def to_marginaleffects(self) -> Any:
        """The fit with its rows as a model of the package marginaleffects.

        Needs that package: ``pip install "discrim[marginaleffects]"``. Its functions
        accept the result of this method, but not the fit, because it wraps models of other packages in a
        class of its own.

        Returns
        -------
        marginaleffects.classes.ModelAbstract
            Argument of `avg_slopes`, `comparisons`, `predictions` and similar functions. Effects are on the
            posterior of the second of two classes, or on the posterior of each class (`group`).

        Raises
        ------
        NotSupportedError
            marginaleffects is not installed; or the fit lacks rows or posteriors, or reads its rows in
            chunks.

        Notes
        -----
        There are standard errors if the fit has `cov_params`: for `logistic` fits, including `robust` ones,
        and for `lda` fits. Others, for example penalized fits, have estimates only. Weights of the rows are
        used if they are named: ``avg_slopes(model, wts="weight")``. That package uses finite differences with
        the steps `eps` and `eps_vcov` instead of derivatives: `marginal_effects` has the exact derivatives.
        Its version 0.6 needs polars 1 if the formula has categories, and fails if a column has the name of
        one of its own columns, such as `type` and `group`.

        Examples
        --------
        >>> import discrim
        >>> two = discrim.datasets.load_iris()[50:].astype({"species": str})
        >>> model = discrim.lda("species ~ petal_width", data=two).to_marginaleffects()  # doctest: +SKIP
        >>> marginaleffects.avg_slopes(model)  # doctest: +SKIP
        """
        try:
            from discrim.models.results.for_marginaleffects import MarginalModel
        except ImportError as error:
            raise missing_package("to_marginaleffects()", "marginaleffects", "marginaleffects") from error
        return MarginalModel(self)
