"""Results of a logistic regression: log odds with standard errors, tests, marginal effects and summary.

`LogisticSpec` defines how fits are refitted, scored and saved. The computations are in the other modules of
this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import normal_sf
from discrim.core.regression.logistic import LogisticFit, logistic_from_search
from discrim.core.regression.row_diagnostics import left_out_scores
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import Rule, log_odds_against
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.design.rows import gather_used_rows
from discrim.errors import DataError, NotSupportedError, PrecisionWarning, warn_user
from discrim.inference.error_rates import check_level
from discrim.inference.result import TestResult, chi_square_test
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel, ModelSpec, PriorInRefits, refit_scorer
from discrim.models.base.fitted_results import needs_rows
from discrim.models.base.labels import class_term_index, to_broom_names
from discrim.models.base.reading import Data, check_test_type, check_word, join_labels
from discrim.models.base.stored import StoredEstimates
from discrim.models.hyperplanes.hyperplane import Certificate
from discrim.models.regression import logistic_search, logistic_tests
from discrim.models.regression.logistic_influence import RowInfluence, has_maximum_of_rows
from discrim.models.regression.logistic_search import columns_of_terms
from discrim.models.regression.logistic_tests import estimator_note, type_note
from discrim.models.regression.marginal_effects import AveragedAt, marginal_effects
from discrim.models.results import headers
from discrim.models.results.geometry import LinearGeometry, LogOddsEquations
from discrim.models.results.results import ClassifierResults
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section, format_pvalue
from discrim.report.tables import Sections


class LogisticResults(RowInfluence, LogOddsEquations, LinearGeometry, ClassifierResults):
    """A fitted logistic regression.

    Attributes
    ----------
    llf, llnull : float
        Log-likelihood of the classes conditional on the rows, and log-likelihood of a model with only
        constants. With bias reduction `llf` is the likelihood without the penalty.
    df_model : int
        Number of free parameters, (p + 1)(K - 1) for p columns and K classes.
    reference : label
        The class in the denominator of the odds.
    """

    _fit: FittedModel[LogisticFit]

    def __init__(self, fit: FittedModel[LogisticFit]) -> None:
        """Wrap a fit and store the label of its reference class and the names of the coefficients."""
        super().__init__(fit)
        self.reference = self.classes[fit.estimates.reference]
        self._columns = pd.Index(["constant", *self.terms], name="term")

    @property
    @available_if(lambda self: "separation" in self._fit.cache or needs_rows("separation")(self))
    def separation(self) -> Certificate:
        """Whether a hyperplane separates classes, with a proof.

        If the likelihood has a maximum, its fitted probabilities prove that the classes overlap; for a fit
        with bias reduction a linear program decides. It is computed at the first access.
        """
        if "separation" not in self._fit.cache:
            design_rows = self._fit.require_rows("separation")
            estimates = self._fit.estimates
            if estimates.bias_reduction:
                proof, _ = logistic_search.certify(estimates, design_rows)
            else:
                proof = logistic_search.overlap_by_score(estimates, design_rows)
            self._fit.cache["separation"] = proof
        certificate: Certificate = self._fit.cache["separation"]
        return certificate

    # ---- estimates

    def _coefficient_frame(self, values: Floats) -> pd.DataFrame:
        """Label an array (p + 1, K - 1): "constant" and terms by the classes except the reference."""
        return pd.DataFrame(values, index=self._columns, columns=self.classes[self._fit.estimates.others])

    @property
    def params(self) -> pd.DataFrame:
        """Coefficients of the log odds of each class against the reference, in units of the data.

        Shape: "constant" and terms by the classes except the reference.
        """
        return self._coefficient_frame(self._fit.estimates.params())

    @property
    @available_if()
    def bse(self) -> pd.DataFrame:
        """Standard errors of `params`, of the type `cov_type`, in the same shape.

        They are NaN if classes are separated and the information matrix is singular.
        """
        if "se" not in self._fit.cache:
            self._fit.cache["se"] = self._fit.estimates.standard_errors()
        errors: Floats = self._fit.cache["se"]
        return self._coefficient_frame(errors.copy())

    @property
    @available_if()
    def zvalues(self) -> pd.DataFrame:
        """Estimates divided by their standard errors `bse`.

        Shape: "constant" and terms by the classes except the reference.
        """
        return self.params / self.bse

    @property
    @available_if()
    @with_display_formats(every="tail")
    def pvalues(self) -> pd.DataFrame:
        """Two-sided normal p-values of `zvalues`, in the same shape."""
        return self._coefficient_frame(2 * normal_sf(np.abs(self.zvalues.to_numpy())))

    def cov_params(self) -> pd.DataFrame:
        """Covariance matrix of the estimates, of the type `cov_type`.

        Returns
        -------
        DataFrame, (class, term) by (class, term)
            For the classes except the reference; the first term of each class is "constant".

        Warns
        -----
        PrecisionWarning
            The units of a column make a variance too large or too small for double precision.
        """
        logs = 2 * np.log2(self.bse.to_numpy())
        wild = ((logs >= 1023) | (logs < -1022)).any(axis=1)
        if wild.any():
            warn_user(
                f"The variance of a coefficient of {join_labels(self._columns[wild])} is out of the range "
                "of double precision, so variances and covariances are infinite or zero. See bse, or "
                "convert the columns to other units, for example by standardize().",
                PrecisionWarning,
            )
        index = class_term_index(self.classes[self._fit.estimates.others], self._columns)
        return pd.DataFrame(self._covariance(), index=index, columns=index, copy=True)

    def _covariance(self) -> Floats:
        """Return the covariance matrix of the estimates in the order of `cov_params`, as a cached array."""
        if "covariance" not in self._fit.cache:
            self._fit.cache["covariance"] = self._fit.estimates.cov_params()
        covariance: Floats = self._fit.cache["covariance"]
        return covariance

    @with_display_formats()
    def log_odds(self, level: float = 0.95) -> pd.DataFrame:
        """Estimates by (class, term) for the classes except the reference: coef, se, z, p, low, high.

        p is two-sided. Compare `LDAResults.log_odds`.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        """
        quantile = check_level(level)
        statistics = {"coef": self.params, "se": self.bse, "z": self.zvalues, "p": self.pvalues}
        table = pd.DataFrame(index=class_term_index(self.classes[self._fit.estimates.others], self._columns))
        for name, by_term in statistics.items():
            table[name] = by_term.to_numpy().T.ravel()
        table["low"] = table["coef"] - quantile * table["se"]
        table["high"] = table["coef"] + quantile * table["se"]
        return table

    @with_display_formats()
    def conf_int(self, level: float = 0.95, method: Literal["wald", "profile"] = "wald") -> pd.DataFrame:
        """Intervals of the coefficients.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        method : {"wald", "profile"}
            "wald" uses the estimate and its standard error. "profile" contains the values that a likelihood
            ratio test does not reject (Venzon & Moolgavkar, 1988); for a fit with bias reduction it uses
            Firth's likelihood (Heinze & Schemper, 2002).

        Returns
        -------
        DataFrame by (class, term)
            low and high, in the units of the coefficients.

        Raises
        ------
        DataError
            The method is unknown, or a bound of a profile is not found.
        NotSupportedError
            A profile is requested for a fit that was loaded without its rows, or with robust standard errors.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ bill_depth_mm", load_penguins())
        >>> fit.conf_int(method="profile").round(3).loc[("male", "bill_depth_mm")].tolist()
        [0.297, 0.554]
        """
        check_word("method", method, ("wald", "profile"))
        if method == "profile" and self.cov_type != "nonrobust":
            raise NotSupportedError(
                f"Profile intervals use the likelihood and cannot be combined with {self.cov_type} standard "
                "errors.",
                hint='Use method="wald", or the fit that robust("nonrobust") returns.',
            )
        if method == "profile":
            return logistic_search.profile_intervals(self._fit, level, self.log_odds(level).index)
        return self.log_odds(level)[["low", "high"]]

    @with_display_formats(every="ratio")
    def odds_ratios(self, level: float = 0.95) -> pd.DataFrame:
        """Factors of the odds for one unit of each column, by (class, term): ratio, low, high.

        Constants are left out.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        """
        table = self.log_odds(level).drop("constant", level="term")
        with np.errstate(over="ignore"):
            ratios = np.exp(table[["coef", "low", "high"]].to_numpy())
        return pd.DataFrame(ratios, index=table.index, columns=["ratio", "low", "high"])

    @property
    def llnull(self) -> float:
        """Log-likelihood of a model with only constants, whose probabilities are the class proportions."""
        return self._fit.estimates.llnull()

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R-squared, 1 - llf/llnull."""
        return 1 - self.llf / self.llnull

    @overload
    def lr_test(self, by: None = None, type: int | str = 2) -> TestResult: ...

    @overload
    def lr_test(self, by: Literal["term"], type: int | str = 2) -> pd.DataFrame: ...

    @with_display_formats()
    def lr_test(self, by: Literal["term"] | None = None, type: int | str = 2) -> TestResult | pd.DataFrame:
        """Likelihood ratio tests, by Wilks' chi-square.

        Parameters
        ----------
        by : None or "term"
            None tests the whole model against the constants alone. "term" tests each term of the formula,
            with all its columns, by leaving it out of a model. For a fit with bias reduction these are ratios
            of Firth's likelihood: the coefficients are fixed at zero in the bias-reduced likelihood of the
            whole model.
        type : {1, 2, 3}
            Type of the test. Type 1 tests each term after the terms before it, terms of fewer factors first,
            and type 2 after all terms that do not contain it (`a:b` contains `a`). Type 3 tests it after all
            others: the effects of a factor are averaged with equal weight over the levels of the other
            factors, and covariates that it is multiplied by are zero; the test of such a term therefore
            depends on the origin of a covariate. Without interactions 2 and 3 are the same.

        Returns
        -------
        TestResult, or with by="term" a DataFrame by term
            statistic (chi-square), df and p.

        Raises
        ------
        DataError
            `by` or `type` is unknown, or the search without a term does not converge.
        NotSupportedError
            by="term" is requested for a fit that was loaded without its rows; or type III, but columns of the
            formula were left out.

        Notes
        -----
        Types II and III agree with R's `car::Anova`, III with contrasts that sum to zero (Fox, 2016, Applied
        Regression Analysis and Generalized Linear Models, ch. 15).

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> logistic("island ~ bill_length_mm + sex", load_penguins()).lr_test(by="term").round(2)
                        statistic   df     p
        term
        bill_length_mm      59.06  2.0  0.00
        sex                  5.62  2.0  0.06
        """
        test_type = check_test_type(type)
        if by is not None:
            check_word("by", by, ("term",))
            return logistic_tests.likelihood_ratios_by_term(self._fit, test_type)
        statistic = 2 * (self.llf - self.llnull)
        df = float(len(self.terms) * (len(self.classes) - 1))
        assumes = "Large samples; under the hypothesis no column has an effect."
        return chi_square_test("Likelihood ratio", statistic, df, assumes)

    @available_if(lambda self: logistic_search.check_statsmodels(self._fit))
    def to_statsmodels(self) -> Any:
        """The results object of statsmodels at these estimates, for methods that this package does not have.

        Returns
        -------
        LogitResults (two classes) or MultinomialResults of statsmodels
            Nothing is fitted again: parameters and covariance are copied from this fit. The constant comes
            first, and so does the reference class; a prior is ignored.

        Raises
        ------
        NotSupportedError
            The fit has weights or bias reduction, which statsmodels' models do not support, has a penalty, or
            was loaded.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ bill_depth_mm", load_penguins())
        >>> fit.to_statsmodels().get_margeff().margeff.round(4).tolist()
        [0.0908]
        """
        return logistic_search.to_statsmodels(self._fit)

    # ---- rows, tests, other covariances

    @property
    def deviance(self) -> float:
        """Minus twice the log-likelihood of the rows, which are not grouped."""
        return -2 * float(self.llf)

    @property
    def null_deviance(self) -> float:
        """Minus twice the log-likelihood of a model with only constants."""
        return -2 * float(self.llnull)

    @available_if(has_maximum_of_rows("drop1()"))
    @with_display_formats(deviance="z", LRT="z")
    def drop1(self) -> pd.DataFrame:
        """Remove each term of the formula in turn, like R's `drop1(test="Chisq")`.

        A term that another one contains, such as `a` in a formula with `a:b`, is not removed.

        Returns
        -------
        DataFrame by term
            df, deviance and aic of the fit without the term, the likelihood ratio against the whole model
            (LRT), and p. The first row, `<none>`, is the whole model, with deviance and aic only; terms of
            fewer factors come first. For a
            fit with bias reduction, deviance and aic belong to the fit without the term, and LRT is the
            ratio of Firth's likelihood of `lr_test(by="term")`, which is not the difference of the deviances.

        Raises
        ------
        DataError
            The fit without some term has not converged.
        NotSupportedError
            The fit was loaded without its rows, or classes are separated.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ bill_depth_mm + island", load_penguins())
        >>> fit.drop1().round(2)["aic"].to_dict()
        {'<none>': 378.25, 'bill_depth_mm': 467.55, 'island': 416.89}
        """
        return logistic_tests.drop1(self._fit)

    @overload
    def wald_test(
        self, hypothesis: Any, value: Any = None, *, by: None = None, type: int | str = 2
    ) -> TestResult: ...

    @overload
    def wald_test(self, *, by: Literal["term"], type: int | str = 2) -> pd.DataFrame: ...

    @with_display_formats()
    def wald_test(
        self,
        hypothesis: Any = None,
        value: Any = None,
        *,
        by: Literal["term"] | None = None,
        type: int | str = 2,
    ) -> TestResult | pd.DataFrame:
        """Wald's test of linear hypotheses on the coefficients, all together, or of each term.

        Parameters
        ----------
        hypothesis : str, list of str, array, DataFrame, or (array, value)
            The name of a term of the formula or of a column of the design stands for the hypothesis that its
            coefficients are zero, in all classes. Equations are written as in statsmodels, "a = b, 2 * c =
            1", with names of columns and "constant"; for more than two classes they apply to each class, or
            name coefficients as "class:column". A matrix has a column for each coefficient in the order of
            `cov_params`; a DataFrame may name some, by (class, term).
        value : float or sequence, optional
            Right side of the equations, which replaces their own; by default zero.
        by : None or "term"
            "term" tests each term of the formula, without a hypothesis. A hypothesis that names a term is on
            the coefficients of the whole model; if another term contains it (`a:b` contains `a`), these are
            its effects at the reference level, or at zero, of the other factor.
        type : {1, 2, 3}
            With by="term", type of the test, which determines the terms that a term is adjusted for: see
            `lr_test`.

        Returns
        -------
        TestResult, or with by="term" a DataFrame by term
            statistic (chi-square), df and p, by the covariance that the fit has; see `robust`.

        Raises
        ------
        DataError
            A hypothesis has the wrong shape, or follows from the others; it is missing, or combined with by=;
            or `type` is unknown.
        FormulaError
            The equations cannot be read.
        NotSupportedError
            Classes are separated; or the covariance comes from fewer groups than there are equations.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ bill_depth_mm + bill_length_mm + island", load_penguins())
        >>> fit.wald_test("island").df, round(fit.wald_test("bill_depth_mm = 4 * bill_length_mm").pvalue, 3)
        (2.0, 0.918)
        """
        test_type = check_test_type(type)
        if by is not None:
            check_word("by", by, ("term",))
            if hypothesis is not None or value is not None:
                raise DataError(
                    'by="term" cannot be combined with a hypothesis.',
                    hint="Leave out the hypothesis, or by=.",
                )
            return logistic_tests.wald_by_term(self._fit, test_type)
        return logistic_tests.wald_test(self._fit, hypothesis, value)

    @property
    def cov_type(self) -> str:
        """Type of the standard errors: "nonrobust", "HC0", "HC1" or "cluster"; see `robust`."""
        robust = self._fit.estimates.robust
        return "nonrobust" if robust is None else str(robust.covariance_type)

    def _clustered_by(self) -> str | None:
        """Return the name of the grouping column of robust standard errors; None if they are not by group."""
        robust = self._fit.estimates.robust
        return None if robust is None else robust.grouped_by or None

    @available_if(lambda self: self._fit.estimates.robust is not None or needs_rows("robust()")(self))
    def robust(
        self,
        cov_type: logistic_tests.CovType = "HC1",
        groups: Any = None,
        *,
        convention: Literal["statsmodels"] | None = None,
    ) -> Self:
        """Return a copy of the fit with robust standard errors, by row or by group of rows.

        Parameters
        ----------
        cov_type : {"HC0", "HC1", "cluster", "nonrobust"}
            "HC0" is the sandwich of the inverse information and the squares of the rows' scores (Huber,
            White). "HC1" multiplies it by n/(n - k), where n counts the rows, or their weights, and k all
            coefficients. "cluster" sums the scores by group (Liang & Zeger, 1986) and multiplies by G/(G - 1)
            for G groups. "nonrobust" is the inverse information again.
        groups : str or vector, optional
            For "cluster": a column of the table, or a value for each of its rows.
        convention : {None, "statsmodels"}
            Factors for small samples. None stands for the factors above, which R's sandwich uses (and Stata,
            for groups). "statsmodels" stands for the factors of its `Logit` and `MNLogit`: none for "HC1",
            and for "cluster" also (n - 1)/(n - k).

        Returns
        -------
        LogisticResults
            Estimates, predictions and likelihood do not change. Standard errors, z, p, intervals,
            `cov_params`, `wald_test`, `marginal_effects` and intervals of posteriors use the new covariance,
            which the summary names. A weight stands for so many equal rows.

        Raises
        ------
        DataError
            An option is unknown; groups are combined with another word than "cluster", or missing with it; a
            row of the fit has a missing group; or there is only one group.
        NotSupportedError
            The fit was loaded without its rows, or classes are separated; or "HC1" is requested with at most
            as many rows as coefficients.

        Notes
        -----
        For a fit with bias reduction the scores are derivatives of the likelihood without penalty, at its
        estimates.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ bill_depth_mm", load_penguins()).robust("cluster", "island")
        >>> fit.bse.round(3)["male"].tolist()
        [2.725, 0.133]
        """
        return type(self)(logistic_tests.with_covariance(self._fit, cov_type, groups, convention))

    @with_display_formats()
    def marginal_effects(
        self,
        at: AveragedAt | Mapping[Any, Any] | pd.Series = "overall",
        data: Data | None = None,
        *,
        columns: Any = None,
        dummy: bool = True,
        level: float = 0.95,
        unseen: Unseen | None = None,
    ) -> pd.DataFrame:
        """Change of the class probabilities when a column of the table changes.

        Parameters
        ----------
        at : {"overall", "mean"}, or mapping or Series of column to value
            "overall" is the mean of the effects over the rows. "mean" is the effect on one row whose columns
            of numbers are at their means, and whose categories are in the proportions of the rows. Values of
            some columns, such as ``{"island": "Dream"}``, replace the values in every row, and the effects
            are averaged over the other columns.
        data : table, optional
            Rows to average over, each counted once. By default the rows of the fit, with their weights.
        columns : str or list of str, optional
            Columns of the table that the formula reads; by default all.
        dummy : bool
            Whether a column of numbers that contains only 0 and 1 changes from 0 to 1, and not by a small
            part of a unit. Truth values and categories always change from one value to another: from the
            first level to each of the others.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame by (class, column, change)
            estimate, se by the delta method, z, p, low, high. A column of numbers has the change "dy/dx": the
            derivative of the probability through all terms that contain the column. With two classes only the
            one that is not the reference is shown. Probabilities are computed like `predict_proba`, under the
            fit's prior; standard errors use the covariance of the fit, see `robust`.

        Raises
        ------
        DataError
            An option is unknown; the formula does not use a column; or all rows of the data are incomplete.
        NotSupportedError
            A column is within a function of your own, or its category is computed in the formula; the fit was
            loaded and `data` is None; classes are separated; or the formula computes columns of a table that
            is read in chunks.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ log(body_mass_g) + island", load_penguins())
        >>> fit.marginal_effects()["estimate"].round(5).tolist()
        [0.00047, 0.35996, 0.35704]
        """
        return marginal_effects(self._fit, at, data, columns, dummy=dummy, level=level, unseen=unseen)

    # ---- tables

    @with_display_formats()
    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """One row for each class and term: the log odds, with the column names of R's broom.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame
            class, term, estimate, std_error, statistic (z), p_value, conf_low, conf_high.
        """
        return to_broom_names(self.log_odds(level))

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One row: nobs, classes, terms (their numbers), df_model, llf, aic, bic, llnull and prsquared."""
        return pd.DataFrame([self._glance() | {"llnull": self.llnull, "prsquared": self.prsquared}])


class LogisticSpec(ModelSpec[Any]):
    """Logistic regression: how it is refitted, scored and saved."""

    name = "logistic"
    title = "Logistic regression"
    results_class = LogisticResults
    constructor: ClassVar[Callable[..., Any]] = staticmethod(logistic_from_search)
    # Leave-one-out needs several passes over all rows for each row.
    leave_one_out_cost = 1000
    left_out_prior_is_fixed = True

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `logistic_sections` and `logistic_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return logistic_sections, logistic_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        In addition to `shared.WITH_POSTERIORS`, they are "forest" and "odds_ratios".
        """
        from discrim.models.regression.plots import LOGISTIC_PLOTS

        return LOGISTIC_PLOTS

    def likelihood_of(self, fit: FittedModel[Any]) -> str:
        """Return "class given row": `llf` is conditional on the rows."""
        return "class given row"

    def prior_in_refits(self, fit: FittedModel[Any]) -> PriorInRefits:
        """Return "refitted": refits estimate a prior of class proportions again."""
        return "refitted"

    def shows_log_posteriors(self, fit: FittedModel[Any]) -> bool:
        """Return False: `decision_function` returns the values of `decision`."""
        return False

    def decision(self, fit: FittedModel[Any], scores: Floats) -> Floats:
        """Return the values of `decision_function`.

        Parameters
        ----------
        fit : FittedModel
            The fitted model.
        scores : (n, K) float64
            Scores of the rule.

        Returns
        -------
        (n, K) float64
            For two classes the scores, unchanged; else log odds against the reference, or against the first
            class with a positive prior if the prior of the reference is zero. The prior of the fit applies.
        """
        if scores.shape[1] == 2:
            return scores
        prior = fit.prior_values()
        reference = fit.estimates.reference
        return log_odds_against(scores, reference if prior[reference] > 0 else int(np.argmax(prior > 0)))

    def required_moments(self, fit: FittedModel[Any]) -> None:
        """Return None: a refit needs the rows."""

    def refit_with_fixed(self, fit: FittedModel[Any], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit to rows that keeps the prior and the options of the fit.

        None if a class is empty, or the search does not converge, for example because classes are separated.
        """
        refit = logistic_search.refit_to_rows(fit.estimates, tuple(fit.terms), rows)
        return None if refit is None else refit.rule(fit.log_prior())

    def leave_one_out(self, fit: FittedModel[Any]) -> LeaveOneOutScorer | Floats:
        """Return the scores (n, K) of the used rows, each by the estimates without it.

        They are computed by `left_out_scores`, and are NaN for rows that need a refit. With a penalty,
        dropped columns or separated classes the result is a function whose scores are all NaN, so that each
        row is refitted. Raises NotSupportedError for more than 2,000 rows (`MAX_REFITS`).
        """
        scorer = refit_scorer(fit, f"of a {fit.title_in_sentence} takes a refit for each row")
        design_rows = fit.require_rows("leave_one_out()")
        estimates = fit.estimates
        is_maximum = isinstance(estimates, LogisticFit) and estimates.newton.converged
        if not is_maximum or self.drops_columns(fit) or not design_rows.is_local:
            return scorer
        rows = gather_used_rows(design_rows)
        with Progress(len(rows.x), "rows left out") as progress:
            return left_out_scores(estimates, (rows.x, rows.codes, rows.weights), fit.log_prior(), progress)

    def drops_columns(self, fit: FittedModel[Any]) -> bool:
        """Return True for collinear="drop": each refit then drops collinear columns again."""
        return bool(fit.options["collinear"] == "drop")

    def to_arrays(self, estimates: Any) -> StoredEstimates:
        """Return the estimates as stored in a file; raise NotSupportedError if classes are separated."""
        if isinstance(estimates, LogisticFit) and not estimates.newton.converged:
            raise NotSupportedError(
                "A fit of separated classes has no finite estimates and cannot be saved.",
                hint="Leave out columns.",
            )
        return super().to_arrays(estimates)

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays in a file of k classes and p columns, by name.

        The names are "newton.coef", "newton.information" and "robust.root".
        """
        size = (k - 1) * (p + 1)
        squares = dict.fromkeys(("newton.information", "robust.root"), (size, size))
        return {"newton.coef": (p + 1, k - 1), **squares}


MAX_TESTED_TERMS = 12
"""Largest number of terms for which a summary contains tests by term."""


def logistic_sections(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Sections:
    """Return the section functions of the summary, by name, in their order.

    The names are "header", "classes", "log_odds", "odds_ratios" and "lr_terms"; each function accepts
    `results` and `fit` and returns a section. Tests by term ("lr_terms") are included for 2 to
    `MAX_TESTED_TERMS` terms, if the fit has rows and finite estimates.
    """
    section_builders: Sections = {
        "header": _header_section,
        "classes": headers.classes_section,
        "log_odds": _log_odds_section,
        "odds_ratios": _odds_ratios_section,
    }
    # For one term the test of the whole model is in the header; many terms need too many searches.
    if (
        fit.has_rows
        and fit.estimates.newton.converged
        and 1 < len(columns_of_terms(fit.design_rows)) <= MAX_TESTED_TERMS
    ):
        section_builders["lr_terms"] = _lr_terms_section
    return section_builders


def _params_section(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Section:
    """Return the section of the coefficients, as log odds against the reference."""
    params = results.params.rename_axis(index=None, columns=None)
    errors = headers.coefficient_errors(headers.score_sizes(fit.estimates.moments), headers.MAX_SCORE_ERROR)
    return Section(f"Log odds against {results.reference}", params, errors=errors, source="fit.params")


logistic_brief: Sections = {"classes": headers.classes_section, "params": _params_section}
"""Sections of the short summary: classes and coefficients."""


def _header_section(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Pairs:
    """Return the header of the summary: rows, likelihoods, tests, estimation method and apparent error.

    It has an item on standard errors if they are robust, and a note on the separation if classes are
    separated.
    """
    test = results.lr_test()
    estimates = fit.estimates
    method = "bias reduced (Firth)" if estimates.bias_reduction else "maximum likelihood"
    robust = []
    if results.cov_type != "nonrobust":
        robust = [HeaderItem("Standard errors", results.cov_type, estimator_note(estimates.robust))]
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        HeaderItem("Log-likelihood", results.llf, f"{results.llf:.2f}"),
        HeaderItem("Log-likelihood, null", results.llnull, f"{results.llnull:.2f}"),
        HeaderItem(
            "Pseudo R-squared",
            results.prsquared,
            f"{results.prsquared:.4f}",
            "pseudo_r_squared",
            "pseudo R-squared",
        ),
        HeaderItem(f"LR chi-square({test.df:.0f})", test.statistic, f"{test.statistic:.2f}"),
        HeaderItem("P > chi-square", test.pvalue, format_pvalue(test.pvalue)),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem("AIC", results.aic, f"{results.aic:.2f}"),
        HeaderItem("BIC", results.bic, f"{results.bic:.2f}"),
        HeaderItem("Estimates", method),
        HeaderItem("Iterations", estimates.newton.steps),
        *robust,
        headers.error_item(fit, "apparent"),
    ]
    note = "" if estimates.newton.converged else results.separation.message
    return Pairs(results.formula, items, f"{headers.dropped_note(fit, 'over all rows')} {note}".strip())


def _log_odds_section(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Section:
    """Return the section of the log odds against the reference class, with z tests and 95 % intervals."""
    table = results.log_odds()
    sizes = headers.score_sizes(fit.estimates.moments)
    return Section(
        f"Log odds against {results.reference}",
        table,
        {"z": "z", "p": "p"},
        headings=SHARED_HEADINGS | {"p": "P>|z|"},
        errors=np.tile(headers.coefficient_errors(sizes, headers.MAX_SCORE_ERROR), len(table) // len(sizes)),
        note=headers.precision_note("log odds", results.params, sizes, headers.MAX_SCORE_ERROR),
        source="fit.log_odds()",
    )


def _lr_terms_section(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Section:
    """Return the section of the likelihood ratio tests by term, type II.

    If a test fails, the table is empty and the note states the reason.
    """
    firth_note = "Ratios of Firth's bias-reduced likelihood. " if fit.estimates.bias_reduction else ""
    note = f"{firth_note}{type_note(fit.design_rows)}"
    if results.cov_type != "nonrobust":
        note += f' They do not use {results.cov_type} standard errors: see wald_test(by="term").'
    formats: dict[Any, Any] = {"statistic": "z", "df": "count", "p": "tail"}
    try:
        table = results.lr_test(by="term")
    except DataError as error:
        # If a test fails, the summary still shows the rest of the fit.
        table = pd.DataFrame(columns=list(formats))
        note = f"Not tested. {error}"
    return Section("Likelihood ratio by term", table, formats, note=note, source='fit.lr_test(by="term")')


def _odds_ratios_section(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Section:
    """Return the section of the odds ratios, with 95 % intervals."""
    title = "Odds ratios for one unit of a column"
    return Section(
        title, results.odds_ratios(), "ratio", headings=SHARED_HEADINGS, source="fit.odds_ratios()"
    )
