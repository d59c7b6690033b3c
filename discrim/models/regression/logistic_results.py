"""What a logistic regression gives: log odds with their standard errors, tests, intervals."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.tails import chi2_sf, normal_sf
from discrim.core.regression.logistic import LogisticFit
from discrim.errors import NotSupportedError, warn_user
from discrim.inference.error_rates import check_level
from discrim.inference.result import TestResult, approximations
from discrim.models.fits.arguments import asked_type, check_word, listed
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit
from discrim.models.fits.labels import by_class_and_term, in_brooms_names
from discrim.models.planes.separation_certificate import Certificate
from discrim.models.regression import infinite_estimates
from discrim.models.regression.logistic_fits import MODEL, SAVED
from discrim.models.regression.logistic_inference import profile_intervals, to_statsmodels
from discrim.models.regression.logistic_methods import LogisticMethods
from discrim.models.regression.term_tests import likelihood_ratios_by_term
from discrim.models.results.equations import LogOddsEquations
from discrim.models.results.geometry import LinearGeometry
from discrim.models.results.results import ClassifierResults

__all__ = ["MODEL", "SAVED", "LogisticResults"]

Floats = NDArray[np.float64]


class LogisticResults(LogisticMethods, LogOddsEquations, LinearGeometry, ClassifierResults):
    """A fitted logistic regression.

    Attributes
    ----------
    params, bse, zvalues, pvalues : DataFrame, "constant" and terms by the classes but the reference
        Log odds against the reference, their standard errors from the inverse information, Wald's z, and
        two-sided p-values.
    llf, llnull : float
        Log-likelihood of the classes given the rows, and that of the class proportions alone.
    prsquared : float
        McFadden's pseudo R-squared, 1 - llf/llnull.
    df_model : int
        Number of free parameters.
    deviance, null_deviance : float
        Minus twice `llf` and `llnull`.
    cov_type : str
        How the standard errors are computed; see `robust`.
    reference : label
        The class against which the log odds are taken.
    """

    _fit: Fit[LogisticFit]

    def __init__(self, fit: Fit[LogisticFit]) -> None:
        super().__init__(fit)
        self.reference = self.classes[fit.numbers.reference]
        self._columns = pd.Index(["constant", *self.terms], name="term")

    @property
    def separation(self) -> Certificate:
        """Whether a hyperplane lies between classes, with the proof of it.

        A maximum that was found is itself the proof of overlap; for a penalized fit a linear program decides.
        """
        if "separation" not in self._fit.cache:
            blocks = self._fit.rows("separation")
            found = (
                infinite_estimates.certify(self._fit.numbers, blocks)
                if self._fit.numbers.bias_reduction
                else infinite_estimates.overlap_by_score(self._fit.numbers, blocks)
            )
            self._fit.cache["separation"] = found
        certificate: Certificate = self._fit.cache["separation"]
        return certificate

    # ---- estimates

    def _frame(self, values: Floats) -> pd.DataFrame:
        return pd.DataFrame(values, index=self._columns, columns=self.classes[self._fit.numbers.others])

    @property
    def params(self) -> pd.DataFrame:
        """Log odds of each class against the reference."""
        return self._frame(self._fit.numbers.params())

    @property
    def bse(self) -> pd.DataFrame:
        """Standard errors."""
        if "se" not in self._fit.cache:
            self._fit.cache["se"] = self._fit.numbers.standard_errors()
        held: Floats = self._fit.cache["se"]
        return self._frame(held.copy())

    @property
    def zvalues(self) -> pd.DataFrame:
        """Estimates divided by their standard errors."""
        return self.params / self.bse

    @property
    @displayed(every="tail")
    def pvalues(self) -> pd.DataFrame:
        """Two-sided p-values of Wald's test."""
        return self._frame(2 * normal_sf(np.abs(self.zvalues.to_numpy())))

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the estimates, by (class, term).

        Warns
        -----
        DiscrimWarning
            The units of a column make a variance too large or too small for a double.
        """
        logs = 2 * np.log2(self.bse.to_numpy())
        wild = ((logs >= 1023) | (logs < -1022)).any(axis=1)
        if wild.any():
            warn_user(
                f"In these units the variance of a coefficient of {listed(self._columns[wild])} is out of "
                "the range of double precision, so that it, or a covariance with it, shows as infinite or "
                "as zero: see bse, or give the columns in other units, as standardize() does."
            )
        index = by_class_and_term(self.classes[self._fit.numbers.others], self._columns)
        return pd.DataFrame(self._covariance(), index=index, columns=index, copy=True)

    def _covariance(self) -> Floats:
        if "covariance" not in self._fit.cache:
            self._fit.cache["covariance"] = self._fit.numbers.cov_params()
        held: Floats = self._fit.cache["covariance"]
        return held

    @displayed()
    def log_odds(self, level: float = 0.95) -> pd.DataFrame:
        """Estimates by (class, term): coef, se, z, p, low, high, as in `LDAResults.log_odds`.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        """
        half = check_level(level)
        parts = {"coef": self.params, "se": self.bse, "z": self.zvalues, "p": self.pvalues}
        table = pd.DataFrame(index=by_class_and_term(self.classes[self._fit.numbers.others], self._columns))
        for name, part in parts.items():
            table[name] = part.to_numpy().T.ravel()
        table["low"] = table["coef"] - half * table["se"]
        table["high"] = table["coef"] + half * table["se"]
        return table

    @displayed()
    def conf_int(self, level: float = 0.95, method: Literal["wald", "profile"] = "wald") -> pd.DataFrame:
        """Intervals of the coefficients.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        method : {"wald", "profile"}
            "wald" takes the estimate and its standard error. "profile" takes the values that a likelihood
            ratio does not reject (Venzon & Moolgavkar, 1988); for a penalized fit it is the ratio of the
            penalized likelihood (Heinze & Schemper, 2002).

        Returns
        -------
        DataFrame by (class, term)
            low and high, in the units of the coefficients.

        Raises
        ------
        DataError
            The method is another one, or a bound of a profile is not found.
        NotSupportedError
            A profile is asked of a fit that was loaded and has no rows, or with robust standard errors.

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
                f"A profile uses the likelihood, which does not know about {self.cov_type} standard "
                'errors: use method="wald", or the fit that robust("nonrobust") gives back.'
            )
        if method == "profile":
            return profile_intervals(self._fit, level, self.log_odds(level).index)
        return self.log_odds(level)[["low", "high"]]

    @displayed(every="ratio")
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
        """Log-likelihood of the class proportions alone."""
        return self._fit.numbers.llnull()

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R-squared."""
        return 1 - self.llf / self.llnull

    @overload
    def lr_test(self, by: None = None, type: int | str = 2) -> TestResult: ...

    @overload
    def lr_test(self, by: Literal["term"], type: int | str = 2) -> pd.DataFrame: ...

    @displayed()
    def lr_test(self, by: Literal["term"] | None = None, type: int | str = 2) -> TestResult | pd.DataFrame:
        """Likelihood ratio tests, by Wilks' chi-square.

        Parameters
        ----------
        by : None or "term"
            None tests the whole model against the constants alone. "term" tests each term of the formula,
            with all its columns, by leaving it out of a model. For a penalized fit these are penalized
            likelihood ratios: the coefficients are held at zero in the penalized likelihood of the whole
            model.
        type : {1, 2, 3}
            Which model a term is left out of. 1 tests each term after those before it, terms of fewer factors
            first, and 2 after all terms that do not contain it, as `a:b` contains `a`. 3 tests it after all
            others: the effects of a factor are averaged with equal weight over the levels of the other
            factors, and covariates that it is multiplied by are zero, so that the test of such a term changes
            where a covariate is measured from another origin. Without interactions 2 and 3 are the same.

        Returns
        -------
        TestResult, or with by="term" a DataFrame
            statistic, df and p, with a row for each term.

        Raises
        ------
        DataError
            `by` is another word, `type` another number, or the search without a term does not converge.
        NotSupportedError
            by="term" is asked of a fit that was loaded and has no rows; or type III where columns of the
            formula were left out.

        Notes
        -----
        Types II and III are those of R's `car::Anova`, III with contrasts that sum to zero (Fox, 2016,
        Applied Regression Analysis and Generalized Linear Models, ch. 15).

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
        kind = asked_type(type)
        if by is not None:
            check_word("by", by, ("term",))
            return likelihood_ratios_by_term(self._fit, kind)
        statistic = 2 * (self.llf - self.llnull)
        df = float(len(self.terms) * (len(self.classes) - 1))
        pvalue = float(chi2_sf(statistic, df))
        return TestResult(
            "Likelihood ratio",
            statistic,
            (df,),
            pvalue,
            "Large samples; under the hypothesis no column tells the classes apart.",
            approximations({"Likelihood ratio": (statistic, df, np.nan, pvalue)}),
        )

    def to_statsmodels(self) -> Any:
        """The results object of statsmodels at these estimates, for what this package does not compute.

        Returns
        -------
        LogitResults (two classes) or MultinomialResults of statsmodels
            Nothing is fitted again: parameters and covariance are those of this fit. The constant comes
            first, and so does the reference class; a prior plays no part.

        Raises
        ------
        NotSupportedError
            The fit has weights, which statsmodels' models do not take, is penalized, or was loaded.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ bill_depth_mm", load_penguins())
        >>> fit.to_statsmodels().get_margeff().margeff.round(4).tolist()
        [0.0908]
        """
        return to_statsmodels(self._fit)

    @displayed()
    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """One row a class and term, in broom's names.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        """
        return in_brooms_names(self.log_odds(level))

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        return pd.DataFrame([self._glance() | {"llnull": self.llnull, "prsquared": self.prsquared}])
