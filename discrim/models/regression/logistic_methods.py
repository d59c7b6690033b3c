"""What users of logistic regression ask of a fit: residuals, influence, tests, other covariances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import pandas as pd

from discrim.frame.unseen import Unseen
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
            "response": 1 for the row's own class and 0 for others, less the fitted probabilities. "pearson":
            these over their standard deviation. "deviance": the root of the row's part of the deviance.
            "working": those of the last step of weighted least squares, in units of log odds.

        Returns
        -------
        Series of two classes, else DataFrame
            Of two classes those of the class that is not the reference, as R's glm. Of more a column a class,
            for "working" but the reference, and for "deviance" a Series that has no sign. Rows the fit did
            not use are missing. Probabilities are those of the model, whatever prior was given.

        Raises
        ------
        DataError
            Another kind.
        NotSupportedError
            A loaded fit, which has not its rows; one of separated classes.

        Notes
        -----
        A row of weight w stands for w equal rows: its "pearson" and "deviance" are those of one times the
        root of w, as R's glm has them. Rows are not grouped: the deviance of single rows is no test of fit.

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
            The diagonal of the hat matrix of weighted least squares (Pregibon, 1981); of more than two
            classes the trace of a row's block (Lesaffre & Albert, 1989). They sum to the number of
            coefficients. A row of weight w counts as w rows together.

        Raises
        ------
        NotSupportedError
            As of `residuals`.

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
            leverage, as of `leverage`. cooks_distance: how far all coefficients move together, in the metric
            of the information, over their number. studentized_pearson and, of two classes,
            studentized_deviance: residuals over sqrt(1 - leverage), which have variance one (R:
            `rstandard`); of more classes the first is the root of a quadratic form in the row's residuals
            and has no sign. Rows the fit did not use are missing.

        Raises
        ------
        NotSupportedError
            As of `residuals`.

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
        """What each coefficient loses without a row, by one step of Newton's method.

        Parameters
        ----------
        scaled : bool
            In standard errors, those of `bse` (Pregibon, 1981; SAS and statsmodels), or in units of
            the coefficients. R's `dfbeta` of a glm has deviance residuals in the place of Pearson's, and
            `dfbetas` divides by an estimate of the dispersion as well, which is one here.

        Returns
        -------
        DataFrame on the index of the table, by (class, term)

        Raises
        ------
        NotSupportedError
            As of `residuals`.

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
        """Each term of the formula removed in turn, as R's `drop1(test="Chisq")`.

        A term that another contains, as `a` where there is `a:b`, is not removed.

        Returns
        -------
        DataFrame by term
            Deviance and AIC of the fit without the term, the likelihood ratio against the whole model (LRT),
            df and p; first `<none>`, the whole model. Terms of fewer factors come first. Of a penalized fit
            deviance and AIC are those of the penalized fit without the term, and LRT is the penalized
            likelihood ratio of `lr_test(by="term")`, which is not their difference.

        Raises
        ------
        DataError
            A fit without a term has not converged.
        NotSupportedError
            As of `residuals`.

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

    def wald_test(self: Any, hypothesis: Any, value: Any = None) -> TestResult:
        """Wald's test of linear hypotheses on the coefficients, all together.

        Parameters
        ----------
        hypothesis : str, list of str, array, DataFrame, or (array, value)
            A term of the formula or a column of the design: its coefficients are zero, in all classes.
            Equations as statsmodels takes them, "a = b, 2 * c = 1", in names of columns and "constant"; of
            more than two classes they hold for each, or name coefficients as "class:column". A matrix has a
            column for each coefficient in the order of `cov_params`; a DataFrame may name some, by (class,
            term).
        value : float or sequence, optional
            Right side of the equations, in the place of theirs; zero by default.

        Returns
        -------
        TestResult
            Chi-square, with the covariance that the fit has: see `robust`.

        Raises
        ------
        DataError
            A hypothesis of the wrong shape, or one that follows from the others.
        FormulaError
            Equations that cannot be read.
        NotSupportedError
            A fit of separated classes; a covariance of fewer groups than equations.

        Examples
        --------
        >>> from discrim import logistic
        >>> from discrim.datasets import load_penguins
        >>> fit = logistic("sex ~ bill_depth_mm + bill_length_mm + island", load_penguins())
        >>> fit.wald_test("island").df, round(fit.wald_test("bill_depth_mm = 4 * bill_length_mm").pvalue, 3)
        ((2.0,), 0.918)
        """
        from discrim.models.regression.wald import wald_test

        return wald_test(self._fit, hypothesis, value)

    @property
    def cov_type(self: Any) -> str:
        """What the standard errors are by: "nonrobust", "HC0", "HC1" or "cluster"; see `robust`."""
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
            "HC0": the sandwich of the inverse information and the squares of the rows' scores (Huber, White).
            "HC1": times n/(n - k), n the rows, or their weights, and k all coefficients. "cluster": of scores
            summed by group (Liang & Zeger, 1986), times G/(G - 1) for G groups. "nonrobust": the inverse
            information again.
        groups : str or vector, optional
            For "cluster": a column of the table, or a value for each of its rows.
        convention : {None, "statsmodels"}
            Factors for small samples: these, which are those of R's sandwich (and of Stata for groups), or
            those of statsmodels' `Logit` and `MNLogit`, which for "HC1" have none, and for "cluster" (n -
            1)/(n - k) beside the other.

        Returns
        -------
        LogisticResults
            Estimates, predictions and likelihood are those of the fit. Standard errors, z, p, intervals,
            `cov_params`, `wald_test`, `marginal_effects` and intervals of posteriors go by the new
            covariance, and the summary says which. A weight counts equal rows.

        Raises
        ------
        DataError
            Another word; groups without "cluster" or the reverse; a group that is missing at a row of the
            fit; one group only.
        NotSupportedError
            As of `residuals`; HC1 with no more rows than coefficients.

        Notes
        -----
        Of a fit with bias reduction the scores are those of the likelihood, at its estimates.

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
        """What the probabilities of classes change by where a column of the table does.

        Parameters
        ----------
        at : {"overall", "mean"}
            The mean of the effects over the rows; or the effect on one row whose columns of numbers are at
            their means, and whose categories are in the proportions of the rows.
        data : table, optional
            Rows to average over, each once; those of the fit by default, by their weights.
        columns : str or list of str, optional
            Columns of the table that the formula reads; all by default.
        dummy : bool
            Whether a column of numbers that holds 0 and 1 alone changes from 0 to 1, or by a small part of a
            unit. Truth values and categories always change from one value to another, the first level to
            each.
        level : float
            Of the intervals.
        unseen : optional
            As for `predict`, of new rows.

        Returns
        -------
        DataFrame by (class, column, change)
            estimate, se by the delta method, z, p, low, high. A column of numbers has the change "dy/dx": the
            derivative of the probability, through all terms that the column is in. Of two classes the one
            that is not the reference. Probabilities are those of `predict_proba`, under the fit's prior;
            standard errors go by the covariance that the fit has, see `robust`.

        Raises
        ------
        DataError
            Another word; a column that the formula does not read; data without a complete row.
        NotSupportedError
            A column within a function of one's own, or whose category is computed in the formula; a loaded
            fit without data; separated classes; a formula that makes columns of a table read part by part.

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
