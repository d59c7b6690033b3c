"""What users of logistic regression ask of a fit: residuals, influence, tests, other covariances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, overload

import pandas as pd

from discrim.errors import DataError
from discrim.frame.unseen import Unseen
from discrim.models.fits.arguments import asked_type, check_word
from discrim.models.fits.displayed import displayed

if TYPE_CHECKING:
    from discrim.inference.result import TestResult

__all__ = ["LogisticMethods"]


class LogisticMethods:
    """Deviance, residuals, influence, tests, robust covariances, marginal effects; of `LogisticResults`."""

    @property
    def deviance(self: Any) -> float:
        """Minus twice the log-likelihood, of rows that are not grouped."""
        return -2 * float(self.llf)

    @property
    def null_deviance(self: Any) -> float:
        """Minus twice the log-likelihood of the class proportions alone."""
        return -2 * float(self.llnull)

    def residuals(self: Any, kind: Literal["deviance", "pearson", "response", "working"] = "deviance") -> Any:
        """Residuals of the rows of the fit, on the index of its table.

        Parameters
        ----------
        kind : {"deviance", "pearson", "response", "working"}
            "response" is 1 for the row's own class and 0 for others, less the fitted probabilities. "pearson"
            divides these by their standard deviation. "deviance" is the root of the row's part of the
            deviance. "working" are those of the last step of weighted least squares, in units of log odds.

        Returns
        -------
        Series for two classes, else DataFrame
            For two classes they are those of the class that is not the reference, as R's glm has them. For
            more classes there is a column for each; "working" has none for the reference, and "deviance" is a
            Series without signs. Rows that the fit did not use are missing. Probabilities are those of the
            model, whatever prior was given.

        Raises
        ------
        DataError
            The kind is another one.
        NotSupportedError
            The fit was loaded and has no rows, or classes are separated.

        Notes
        -----
        A row of weight w stands for w equal rows: its "pearson" and "deviance" residuals are those of one
        such row times the root of w, as in R's glm. Rows are not grouped, so that the deviance is no test of
        fit.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ bill_depth_mm", load_penguins())
        >>> fit.residuals().round(3).iloc[:2].tolist()
        [0.912, -1.226]
        """
        from discrim.models.regression.logistic_rows import residuals

        return residuals(self._fit, kind)

    def leverage(self: Any) -> pd.Series:
        """Leverage of the rows of the fit: their share in their own fitted values.

        Returns
        -------
        Series on the index of the table
            The diagonal of the hat matrix of weighted least squares (Pregibon, 1981); for more than two
            classes the trace of a row's block (Lesaffre & Albert, 1989). The leverages sum to the number of
            coefficients. A row of weight w has the leverage of w rows together.

        Raises
        ------
        NotSupportedError
            The fit was loaded and has no rows, or classes are separated.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> float(logistic("sex ~ bill_depth_mm", load_penguins()).leverage().sum().round(6))
        2.0
        """
        from discrim.models.regression.logistic_rows import leverage

        return leverage(self._fit)

    @displayed(every="share")
    def influence(self: Any) -> pd.DataFrame:
        """What each row does to the estimates, by one step of Newton's method without it.

        Returns
        -------
        DataFrame on the index of the table
            leverage, as in `leverage`. cooks_distance says how far all coefficients move together: in the
            metric of the information, divided by their number. studentized_pearson and, for two classes,
            studentized_deviance are residuals divided by sqrt(1 - leverage), which have variance one (R's
            `rstandard`). For more classes the first is the root of a quadratic form in the row's residuals
            and has no sign. Rows that the fit did not use are missing.

        Raises
        ------
        NotSupportedError
            The fit was loaded and has no rows, or classes are separated.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> table = logistic("sex ~ bill_depth_mm", load_penguins()).influence()
        >>> table["cooks_distance"].idxmax()
        114
        """
        from discrim.models.regression.logistic_rows import influence

        return influence(self._fit)

    def dfbetas(self: Any, *, scaled: bool = True) -> pd.DataFrame:
        """How much each coefficient changes without a row, by one step of Newton's method.

        Parameters
        ----------
        scaled : bool
            Whether the changes are in standard errors, those of `bse` (Pregibon, 1981; SAS and statsmodels),
            or in units of the coefficients. R's `dfbeta` of a glm uses deviance residuals in place of
            Pearson's, and its `dfbetas` also divides by an estimate of the dispersion, which is one here.

        Returns
        -------
        DataFrame on the index of the table, by (class, term)

        Raises
        ------
        NotSupportedError
            The fit was loaded and has no rows, or classes are separated.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> logistic("sex ~ bill_depth_mm", load_penguins()).dfbetas().shape
        (344, 2)
        """
        from discrim.models.regression.logistic_rows import dfbetas

        return dfbetas(self._fit, scaled, self.bse.to_numpy())

    @displayed(deviance="z", LRT="z")
    def drop1(self: Any) -> pd.DataFrame:
        """Each term of the formula removed in turn, as R's `drop1(test="Chisq")` does.

        A term that another one contains, such as `a` where there is `a:b`, is not removed.

        Returns
        -------
        DataFrame by term
            Deviance and AIC of the fit without the term, the likelihood ratio against the whole model (LRT),
            df and p. The first row, `<none>`, is the whole model; terms of fewer factors come first. For a
            penalized fit, deviance and AIC are those of the penalized fit without the term, and LRT is the
            penalized likelihood ratio of `lr_test(by="term")`, which is not their difference.

        Raises
        ------
        DataError
            The fit without some term has not converged.
        NotSupportedError
            The fit was loaded and has no rows, or classes are separated.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ bill_depth_mm + island", load_penguins())
        >>> fit.drop1().round(2)["AIC"].to_dict()
        {'<none>': 378.25, 'bill_depth_mm': 467.55, 'island': 416.89}
        """
        from discrim.models.regression.term_fits import drop1

        return drop1(self._fit)

    @overload
    def wald_test(
        self: Any, hypothesis: Any, value: Any = None, *, by: None = None, type: int | str = 2
    ) -> TestResult: ...

    @overload
    def wald_test(self: Any, *, by: Literal["term"], type: int | str = 2) -> pd.DataFrame: ...

    @displayed()
    def wald_test(
        self: Any,
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
            A term of the formula or a column of the design says that its coefficients are zero, in all
            classes. Equations are written as statsmodels takes them, "a = b, 2 * c = 1", with names of
            columns and "constant"; for more than two classes they hold for each class, or name coefficients
            as "class:column". A matrix has a column for each coefficient in the order of `cov_params`; a
            DataFrame may name some, by (class, term).
        value : float or sequence, optional
            Right side of the equations, in place of their own; by default zero.
        by : None or "term"
            "term" tests each term of the formula, and then there is no hypothesis. A hypothesis that names a
            term is on the coefficients of the whole model; where another term contains it, as `a:b` contains
            `a`, these are its effects where the other factor is at its reference or at zero.
        type : {1, 2, 3}
            With by="term", what else may differ from zero where a term is tested: see `lr_test`.

        Returns
        -------
        TestResult, or with by="term" a DataFrame by term
            Chi-square, df and p, by the covariance that the fit has; see `robust`.

        Raises
        ------
        DataError
            A hypothesis has the wrong shape, or follows from the others; there is none, or one with by=; or
            `type` is another number.
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
        ((2.0,), 0.918)
        """
        from discrim.models.regression.term_tests import wald_by_term
        from discrim.models.regression.wald import wald_test

        kind = asked_type(type)
        if by is not None:
            check_word("by", by, ("term",))
            if hypothesis is not None or value is not None:
                raise DataError('by="term" tests each term by itself: leave the hypothesis out, or by=.')
            return wald_by_term(self._fit, kind)
        return wald_test(self._fit, hypothesis, value)

    @property
    def cov_type(self: Any) -> str:
        """How the standard errors are computed: "nonrobust", "HC0", "HC1" or "cluster"; see `robust`."""
        robust = self._fit.numbers.robust
        return "nonrobust" if robust is None else str(robust.kind)

    def robust(
        self,
        cov_type: Literal["HC0", "HC1", "cluster", "nonrobust"] = "HC1",
        groups: Any = None,
        *,
        convention: Literal["statsmodels"] | None = None,
    ) -> Self:
        """The same fit with standard errors that are robust, or of groups of rows.

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
            Factors for small samples. None stands for those above, which R's sandwich has (and Stata, for
            groups). "statsmodels" stands for those of its `Logit` and `MNLogit`: none for "HC1", and for
            "cluster" also (n - 1)/(n - k).

        Returns
        -------
        LogisticResults
            Estimates, predictions and likelihood are those of this fit. Standard errors, z, p, intervals,
            `cov_params`, `wald_test`, `marginal_effects` and intervals of posteriors use the new covariance,
            and the summary says which it is. A weight stands for so many equal rows.

        Raises
        ------
        DataError
            A word is not known; groups are given without "cluster", or not given with it; a row of the fit
            has no group; or there is only one group.
        NotSupportedError
            The fit was loaded and has no rows, or classes are separated; or "HC1" is asked for with no more
            rows than coefficients.

        Notes
        -----
        For a fit with bias reduction the scores are those of the likelihood, at its estimates.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ bill_depth_mm", load_penguins()).robust("cluster", "island")
        >>> fit.bse.round(3)["male"].tolist()
        [2.725, 0.133]
        """
        from discrim.models.regression.robust_covariance import with_covariance

        own: Any = self
        fit: Self = type(own)(with_covariance(own._fit, cov_type, groups, convention))
        return fit

    @displayed()
    def marginal_effects(
        self: Any,
        at: Literal["overall", "mean"] = "overall",
        data: Any = None,
        *,
        columns: Any = None,
        dummy: bool = True,
        level: float = 0.95,
        unseen: Unseen | None = None,
    ) -> pd.DataFrame:
        """How much the probabilities of the classes change when a column of the table does.

        Parameters
        ----------
        at : {"overall", "mean"}
            "overall" is the mean of the effects over the rows. "mean" is the effect on one row whose columns
            of numbers are at their means, and whose categories are in the proportions of the rows.
        data : table, optional
            Rows to average over, each counted once. By default those of the fit, with their weights.
        columns : str or list of str, optional
            Columns of the table that the formula reads; by default all.
        dummy : bool
            Whether a column of numbers that contains only 0 and 1 changes from 0 to 1, and not by a small
            part of a unit. Truth values and categories always change from one value to another: from the
            first level to each of the others.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        unseen : {"raise", "missing"}, optional
            What to do with rows that have a level which the fit has not seen: raise an error, or treat them
            as rows with a missing value, with a warning that counts them. An error is the default, except for
            fits of `naive_bayes(unseen="missing")`.

        Returns
        -------
        DataFrame by (class, column, change)
            estimate, se by the delta method, z, p, low, high. A column of numbers has the change "dy/dx": the
            derivative of the probability through all terms that contain the column. With two classes only the
            one that is not the reference is shown. Probabilities are those of `predict_proba`, under the
            fit's prior; standard errors use the covariance that the fit has, see `robust`.

        Raises
        ------
        DataError
            A word is not known; the formula does not read a column; or the data have no complete row.
        NotSupportedError
            A column is within a function of your own, or its category is computed in the formula; the fit was
            loaded and no data are given; classes are separated; or the formula makes columns of a table that
            is read part by part.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ log(body_mass_g) + island", load_penguins())
        >>> fit.marginal_effects()["estimate"].round(5).tolist()
        [0.00047, 0.35996, 0.35704]
        """
        from discrim.models.regression.marginal_effects import marginal_effects

        return marginal_effects(self._fit, at, data, columns, dummy=dummy, level=level, unseen=unseen)
