"""What a fit says of single rows, beyond their labels and posteriors: a parent of `ClassifierResults`.

Answers for the rows of a source come frame by frame, or stand in a file; the rule goes where other rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import pandas as pd

from discrim.data.sources.sinks import write_frames
from discrim.data.sources.sources import rows_given
from discrim.design.levels import Unseen
from discrim.design.source_tables import answered_frames, answers
from discrim.errors import missing_package
from discrim.models.base.available import available_if
from discrim.models.base.displayed import displayed
from discrim.models.base.fit import Gaps, Missing
from discrim.models.base.fitted_results import FittedResults, needs_rows
from discrim.models.base.reading import Data, Prior, check_word

if TYPE_CHECKING:
    from discrim.inference.conformal import SetScore
    from discrim.models.evaluation.estimated_prior import PriorEstimate
    from discrim.models.results.exported import Answer, Database

T = TypeVar("T", pd.Series, pd.DataFrame, "pd.DataFrame | pd.Series")


def answered(
    results: Any,
    data: Any,
    out: str | PathLike[str] | None,
    answer: Callable[[Any, Any], T],
    *,
    whole: bool = False,
    beyond: bool = False,
) -> T:
    """What a fit says of the rows of a table; of a source an iterator of frames; a path where it is written.

    Type checkers are told the type of a table's answer, which what comes back for sources and files is not.
    The answer is made of the results and a table: labels or scores of its rows. Where it is `whole` it has
    the table's columns too, and rows `beyond` may have labels that are none of the classes.
    """
    source = rows_given(data)
    columns = None if whole else results._fit.design_rows.design.columns
    if out is not None:
        frames = answered_frames(source, columns, partial(answer, results))
        return cast("T", write_frames(frames, out, source=source))
    found: T = answers(
        source,
        columns,
        partial(answer, results),
        lambda: partial(answer, results._without_rows()),
        beyond=beyond,
    )
    return found


Typicality = Literal["exact", "chi2", "relative", "conformal"]


def _has_casewise(results: FittedResults) -> None:
    """Raise NotSupportedError if the fit has no distances to the classes with a known distribution."""
    from discrim.models.evaluation.classification import check_distances

    check_distances(results._fit)


def _has_relative_distances(results: FittedResults) -> None:
    """Raise NotSupportedError if the fit has no distances to the classes and to all observations."""
    from discrim.models.evaluation.single_rows import distance_measure

    distance_measure(results._fit, relative=True)


def _is_exportable(results: FittedResults) -> None:
    """Raise NotSupportedError if the rule or a term of the formula has no form in SQL or ONNX."""
    from discrim.models.results.exported import exported

    exported(results._fit)


class NewRows(FittedResults):
    """How typical rows are of the classes, and how sure their posteriors."""

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
            How a distance becomes a probability. "exact" takes the law of the distance of a new row from
            estimated means and covariances of normal classes, an F. "chi2" is its limit for many rows: other
            programs print it, and it calls too many rows untypical. Robust fits have "chi2" in place of
            "exact", because the exact law of their distances is not known. "conformal" assumes no law: it is
            the share (1 + #)/(n_k + 1) of rows of the class, including the new one, whose own distance
            without them is as large. For any share a, at most about a share a of rows, of whatever law, has a
            value of at most a. "relative" is the same for the relative distance, see `relative_distances`.
        calibration : table or source of tables, optional
            For "conformal" and "relative": rows with their response that the fit has not seen, in place of
            those of the fit. The bound then holds exactly, and not just about. Fits that were loaded need
            them.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments. It
            applies to calibration rows too.

        Returns
        -------
        DataFrame
            P(D2 >= d2 | class); missing where a row has a missing value.

        Raises
        ------
        NotSupportedError
            "exact" needs normal classes with full covariances, "chi2" these or robust ones, and "relative"
            distances or densities. "conformal" works for any model whose rows can be left out, or with
            calibration rows.

        Notes
        -----
        With "conformal", models with shrunken or regularized covariances of each class, and naive Bayes, use
        the density of the row in the class in place of a distance. Models without either use the log odds of
        the class against the others or, without posteriors, the margin; these tell rows between the classes,
        but not rows beyond them. Rows are left out as in `leave_one_out`, which holds what was chosen and
        what columns are standardized by. A row whose distance without it has no closed form, such as the only
        row of a class, counts as farther than any other.

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
        from discrim.models.evaluation.single_rows import typicality

        check_word("method", method, Typicality)
        return typicality(self._fit, data, Gaps(unseen), method, calibration)

    @available_if(_has_casewise)
    @displayed(second_posterior="share", posterior="share", second_D2="z")
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
            and covariances without it ("loo"), which SPSS calls cross-validated. It may come first, as in
            `casewise("loo")`.
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
            only its actual class, and one without a class has no `misclassified`.

        Raises
        ------
        NotSupportedError
            The model has no distances to normal classes with full covariances: `augment` has labels and
            posteriors of any model. Or rows of a fit that has none are asked for; or rows are to be left out
            with `data`, or of a robust fit, whose distances without a row are not known.

        Notes
        -----
        As in SPSS, `lda` measures distances by its canonical variates, of which there are `df`, and where
        rows are left out by all columns; `qda` measures them by all columns. Covariances have the divisor N -
        K, or n_k - 1, as in `typicality`, which has the exact law in place of the chi-square. SPSS takes
        equal priors by default, as prior="equal" does.

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
        from discrim.models.evaluation.assessment import table_and_method
        from discrim.models.evaluation.classification import casewise

        data, method = table_and_method(data, method)
        return casewise(self, data, method, Gaps(unseen), refit_prior)

    @available_if(_has_relative_distances)
    def relative_distances(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Squared distance of rows to each class less that to one normal law of all rows, rows by classes.

        It says how much farther a row is from the class than from all rows together. A row that is unusual in
        directions in which all classes vary alike does not count as unlike them (Ren et al., 2021, A simple
        fix to Mahalanobis distance for improving near-OOD detection, arXiv:2106.09022). The smallest value of
        a row is the score by which these authors call it new.

        Parameters
        ----------
        data : table or source of tables, optional
            New rows. Without it, the rows of the fit, each by means and covariances without it.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame
            D2_k - D2_0, by covariances with the divisors N - K (or n_k - 1) and N - 1. Models that have a
            density for each class but no distance use minus twice the log density in place of D2_k.

        Raises
        ------
        NotSupportedError
            The model has neither distances nor densities, or the columns have no covariance over all rows.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> discrim.lda("species ~ .", data=iris).relative_distances(iris[:1]).round(2).to_numpy().tolist()
        [[-1.84, 96.75, 189.65]]
        """
        from discrim.models.evaluation.single_rows import relative_distances

        return relative_distances(self._fit, data, Gaps(unseen))

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
        """Sets of classes that contain a row's class as often as the level says: conformal prediction sets.

        Every row has a score for each class that says how strange it would be there. A class is in the set of
        a row unless the row would be stranger in it than a share `level` of the calibration rows are in their
        own classes.

        Parameters
        ----------
        data : table or source of tables, optional
            New rows; the response need not be there. Without it, the rows of the fit, each by a rule and a
            calibration without it. A source of tables gives an iterator of DataFrames, one for each part, and
            a DataFrame of Dask gives a lazy one, which is computed when it is asked for.
        level : float
            How often the set contains the class: 0.95 stands for 95 percent.
        by : {"class"}, optional
            "class" keeps the promise within each class, whose rows are compared with those of the class, and
            not just over all rows together. A class with too few calibration rows for the level is in every
            set; a warning says so.
        method : {"loo", "cv", "split"}, optional
            How the calibration rows get their scores. "loo", the default without `calibration`, takes the
            rows of the fit, each by the rule without it. "cv" takes them by rules without folds. Both keep
            the level closely in practice, but no bound says so for every law, because new rows are scored by
            another rule. "split" takes the rows of `calibration`. If new rows are exchangeable with these, it
            promises at least the level, and at most 1/(n + 1) more where scores do not tie, whatever the law
            and however bad the model.
        calibration : table or source of tables, optional
            Rows with their response that the fit has not seen. Fits that were loaded, and fits of moments,
            need them.
        score : {"lac", "aps", "margin"}, optional
            How strange a row is in a class. "lac", the default, is one less its posterior; it gives the
            smallest sets on average, and is ranked by log odds, so that posteriors that are 0 or 1 to the
            last digit do not tie. "aps" is the sum of the posteriors of the class and of all more probable
            ones; its sets are larger, and as often right for hard rows as for easy ones. "margin" is the best
            score of the other classes less that of the class, and is what models without posteriors have.
        smoothed : bool
            Whether ties are broken at random, and "aps" takes a random share of the class's own posterior.
            The level is then kept exactly, and not just at least.
        empty : {"keep", "best"}
            An empty set says that the row is stranger in each class than the level allows, and counts as a
            miss in the promise. "best" puts the class that `predict` gives into it, which can only add hits.
        prior : optional
            Prior probabilities; by default those of the fit. The prior moves the posteriors of calibration
            rows and new ones alike. It changes the sets, and not the promise, which is for rows with the
            class shares of the calibration rows. For other shares the promise of by="class" holds. A class of
            prior zero is in no set, and its calibration rows do not count.
        weights : column name or vector, optional
            Frequencies of the rows of `calibration`. Where the fit has weights, those of its rows count.
        folds : int
            Number of folds of "cv".
        seed : int, optional
            Seed of the folds and of smoothed sets.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments. It
            applies to calibration rows too.
        missing : {"drop", "integrate"}, optional
            Whether observations with a missing value are predicted; see the page on shared arguments. It
            applies to calibration rows too. With "integrate" the promise is kept if calibration rows miss
            values as new rows do; those of "loo" and "cv" miss none.
        out : path, optional
            File or folder to which the result is written; see the page on shared arguments.

        Returns
        -------
        DataFrame
            `set`: "empty", "single", "several" or "full" (each class that has a prior); then a column of
            truth values for each class. A row is missing where it has a missing value, or where there is no
            rule without it. `attrs` says what the sets promise, by which method and from how many calibration
            rows. For a source, an iterator of such DataFrames.

        Raises
        ------
        NotSupportedError
            The fit has no rows, or no rules without them; the message says how to go on.
        DataError
            An option is not known, or the calibration rows cannot be read.

        Warns
        -----
        DiscrimWarning
            There are too few calibration rows for the level, or some that do not count.

        Notes
        -----
        The theory is that of Vovk, Gammerman & Shafer (2005, Algorithmic Learning in a Random World), and of
        Barber et al. (2021, Annals of Statistics 49, 486-507). A calibration row without a rule is stranger
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
        >>> sets.attrs["promise"][:58]
        'Nearly 0.99 of rows exchangeable with those of the fit hav'
        """
        from discrim.models.evaluation.single_rows import SetPlan, set_answer

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
            "delta" gives normal intervals on the logit scale, from the asymptotic variance under the model.
            "bootstrap" gives percentiles of the posteriors under fits to rows drawn again within classes.
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
            Columns (class, "posterior" | "low" | "high").
        """
        from discrim.models.evaluation.single_rows import posterior_intervals

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
        """Shares of the classes among rows whose classes are not known, by maximum likelihood.

        It is assumed that rows within a class are like those of the fit, while the classes come in other
        shares. The shares that a batch of unlabelled rows makes most likely are the prior with which these
        rows should be predicted.

        Parameters
        ----------
        data : table or source of tables
            The batch of rows; a response in it is not read. For a source the densities are held in memory,
            rows by classes.
        tol : float
            The search ends where the slope of the mean log-likelihood along each share above zero is within
            this distance of its value at a maximum, and the slope along each share of zero is above it by no
            more.
        maxiter : int
            The largest number of steps: first steps of EM (Saerens, Latinne & Decaestecker, 2002, Neural
            Computation 14, 21-41), then steps of Newton's method with the bound at zero.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        interval : {"wald", "profile", "bootstrap"}
            "wald" is normal on the logit scale. "profile" is of the profile likelihood: it takes some
            searches for each class, and has limits for shares of zero too. "bootstrap" takes percentiles, and
            standard errors, from rows drawn again within the classes of the fit and rows drawn again from the
            batch, and for shares of zero the upper limit of "profile" if that is larger; it alone takes
            account of the fit being an estimate. In simulations with 25 rows a class
            the other two, at 95 percent, held the share in about three samples of four.
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
            It may itself be passed as `prior=`, as in `predict(batch, prior=found)`.

        Raises
        ------
        DataError
            No row tells anything of the classes; an option is out of its range; or the densities need more
            than the memory.
        NotSupportedError
            The model has no posteriors; or a bootstrap is asked of a fit without rows, or of a source.

        Warns
        -----
        DiscrimWarning
            The search did not converge.

        Notes
        -----
        The likelihood is concave, so that there is no other maximum, and the gradient certifies
        it. The densities are those of the fit. Standard errors, except those of the bootstrap, do
        not take account of their being estimates, and a model that is wrong about the classes is wrong about
        their shares. A class with a prior of zero in the fit is held at zero.

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
        from discrim.models.evaluation.estimated_prior import SharesSearch, estimated_prior

        return estimated_prior(
            self._fit,
            data,
            SharesSearch(tol, maxiter, level, interval, replicates, seed),
            Gaps(unseen, missing),
            weights,
        )

    @available_if(_is_exportable)
    def to_sql(
        self,
        dialect: Database = "duckdb",
        *,
        table: str | Sequence[str] = "data",
        output: Answer | Sequence[Answer] | None = None,
        keep: str | Sequence[str] = (),
        prior: Prior = None,
    ) -> str:
        """The rule as a query of SQL, which gives rows of a table their labels and posteriors.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite", "mysql", "bigquery", "snowflake", "spark"}
            The language of the engine that is to run it. SQLite needs its mathematical functions, which it
            has since 3.35 where it was built with them; MySQL needs 8.0.17, which casts to doubles.
        table : str or sequence of str
            The table that is read: a name, or the names of database, schema and table.
        output : {"label", "proba", "log_proba", "decision"} or a sequence of them, optional
            What the query gives: the column `label`, and for each class a column `proba_<class>`,
            `log_proba_<class>` or `decision_<class>`. The last are the values of `decision_function`, and of
            two classes the one column `decision`. By default the label and the posteriors, or the values of a
            model that has none. Where engines that make no difference between capital and small letters
            would have two columns of one name, an underscore follows the second.
        keep : str or sequence of str
            Columns of the table that the query gives as well, such as a key: an engine is free to give the
            rows in any order.
        prior : optional
            Prior probabilities; by default those of the fit.

        Returns
        -------
        str
            One query without a semicolon, which may stand behind CREATE VIEW name AS.

        Raises
        ------
        NotSupportedError
            The rule is neither linear nor that of a normal law in each class, such as those of neighbours,
            kernel densities and mixtures; or the formula has splines, functions of `functions=`, `//`, `%` or
            categories that are computed. The message names it.
        DataError
            An option is not known, or a name is no text.

        Notes
        -----
        Numbers are doubles, written with all their digits; posteriors are computed as here, from scores less
        the largest, and agree with `predict_proba` to the twelfth digit and beyond. Other linear rules than
        that of `lda` are computed about one origin: where some classes lie more than a hundred standard
        deviations from others that lie close together, posteriors of the latter have fewer digits.

        Names are quoted, and so stand as the engine holds them: Snowflake holds names that were typed without
        quotes in capital letters, and Postgres in small ones. Postgres cuts names off after 63 bytes, and
        BigQuery refuses some signs in those of columns, which the labels of classes are part of.

        In a row that misses a value of the formula all answers are NULL, also of a model that integrates
        missing columns out. So they are in a row of which `predict` raises an error: with a level that the
        fit has not seen, a value that is infinite, a logarithm of zero; and in one that lies some 1e100
        standard deviations away. A log posterior of minus infinity is NULL. Levels are compared as they
        stand, with capital letters and blanks. A posterior below 1e-307 is zero. MySQL takes text for the
        number that it begins with, or zero. Where a product or a power within a term is beyond all doubles,
        Postgres, MySQL and BigQuery stop with an error, and Postgres also where it underflows.

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

    @available_if(_is_exportable)
    def to_onnx(self, *, prior: Any = None) -> Any:
        """The rule as a model of ONNX, which runtimes of many languages compute.

        Needs the package onnx: ``pip install "discrim[onnx]"``.

        Parameters
        ----------
        prior : optional
            Prior probabilities; by default those of the fit.

        Returns
        -------
        onnx.ModelProto
            `onnx.save(model, path)` writes it. Each column of the table that the formula reads is an input of
            its name, rows by one: doubles for numbers and truth values, text or whole numbers where it has
            categories. The outputs are `label` (rows) and `probabilities` (rows by classes), or `values`,
            those of `decision_function`, of a model without posteriors. The classes are in the metadata.

        Raises
        ------
        NotSupportedError
            onnx is not installed; or the rule or a term has no form outside Python, as for `to_sql`.

        Notes
        -----
        All is computed in doubles by operators of opset 19, and agrees with `predict_proba` to the last
        digits. In a row with a missing value (NaN), or one of which `to_sql` says nothing, the
        probabilities are NaN, and the label is the empty text, NaN, or the smallest of all whole numbers
        where classes are whole numbers. Classes that are truth values are the whole numbers 0 and 1.

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

    @available_if(lambda self: self._fit.need_posteriors("to_marginaleffects()"))
    @available_if(needs_rows("to_marginaleffects()"))
    def to_marginaleffects(self) -> Any:
        """The fit as the package marginaleffects takes a model, with the rows of the fit.

        Needs that package: ``pip install "discrim[marginaleffects]"``. It knows models of other packages by
        a class of its own only, so that its functions take what this method returns and not the fit.

        Returns
        -------
        marginaleffects.classes.ModelAbstract
            `avg_slopes`, `comparisons`, `predictions` and their kin take it. Effects are those on the
            posterior of the second of two classes, or on the posterior of each class (`group`).

        Raises
        ------
        NotSupportedError
            marginaleffects is not installed; or the fit has no rows, no posteriors, or rows that are read
            part by part.

        Notes
        -----
        There are standard errors where the fit has `cov_params`: of `logistic` fits, of `robust` ones too,
        and of `lda` fits. Others, as those with a penalty, have estimates only. Weights of the rows are taken
        where they are named, as in ``avg_slopes(model, wts="weight")``. That package takes differences in the
        place of derivatives, by steps of `eps` and of `eps_vcov`: `marginal_effects` has the exact ones. Its
        version 0.6 needs a polars before 2 where the formula has categories, and no column named as its own
        columns are, such as `type` and `group`.

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
