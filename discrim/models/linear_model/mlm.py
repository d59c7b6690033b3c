"""Multivariate linear models: the verb `mlm` with its results, and the verb `manova`.

The estimates are computed in `discrim.inference.manova`. Canonical variates are in `term_model`, repeated
measures in `repeated`, permutation tests in `permuted_rows` and `permanova`, summaries and plots in
`mlm_summary`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from discrim.core.moments.row_sums import gather_root
from discrim.core.numerics.special import f_sf
from discrim.design.linear_model import (
    class_factor,
    exclude_from_dot,
    model_rows,
    move_responses_right,
    parse_equations,
)
from discrim.design.rows import read_rows
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.formula.factors import check_functions
from discrim.inference.distance_tests import Metric
from discrim.inference.effect_sizes import explained_variance_columns
from discrim.inference.manova import (
    Hypothesis,
    Statistic,
    hypothesis_row,
    hypothesis_table,
    least_squares,
    partial_etas,
    roy_critical_value,
    t_table,
)
from discrim.models.base import reading
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.reading import (
    Data,
    NaAction,
    check_test_type,
    check_word,
    format_argument,
    join_labels,
    warn_of_weights,
)
from discrim.models.discriminant.lda import lda
from discrim.models.linear_model.high_dimensional import MeanMethod, mean_test
from discrim.models.linear_model.marginal_means import CellWeights, MarginalMeansResults
from discrim.models.linear_model.mlm_summary import mlm_summary, plot_term_ellipses
from discrim.models.linear_model.permanova import permanova
from discrim.models.linear_model.permuted_rows import (
    PERMUTATIONS,
    PermutationDesign,
    insert_permutation_pvalues,
    read_rows_to_permute,
)
from discrim.models.linear_model.repeated import ProfileResults, RepeatedResults
from discrim.models.linear_model.term_model import (
    TermCanonicalResults,
    TermModel,
    columns_to_shift,
    scale_by_powers_of_two,
)

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Summary


class MLMResults(SummarizedResults):
    """A multivariate linear model.

    Attributes
    ----------
    formula : str
    terms : Index
        The model's terms, without the constant.
    responses : Index
    nobs : float
        Number of observations, or the sum of their weights.
    df_resid : float
        Residual degrees of freedom.
    params : DataFrame, "constant" and columns of the model by responses
        Coefficients. Factors are coded by sum-to-zero contrasts: the coefficient of the last level is minus
        the sum of the others and is not listed.
    cov_resid : DataFrame, responses by responses
        Covariance matrix of the residuals, with divisor `df_resid`.
    """

    _FIRST_SECTIONS = ("header", "tests")

    def __init__(self, model: TermModel) -> None:
        self._model = model
        self.formula: str = model.design_rows.design.formula
        self.terms = pd.Index(model.labels)
        self.responses = model.responses
        self.nobs = model.total
        self.df_resid = model.estimates.df

    @with_display_formats()
    def manova(self, term: str | None = None, type: int | str = 2) -> pd.DataFrame:
        """The four multivariate tests of each term.

        Parameters
        ----------
        term : str, optional
            One term to test, such as "species" or "species:sex"; by default all.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments. R's `anova` uses type I, R's
            `car::Anova` type II by default, SAS and SPSS type III.

        Returns
        -------
        DataFrame
            The columns of `discrim.manova`, by test for one term and by (term, test) for all.

        Raises
        ------
        DataError
            The term or the type is unknown.
        NotSupportedError
            Type III tests were requested although some cells are empty.
        CollinearError
            There are fewer residual degrees of freedom than responses.
        """
        if term is not None:
            return self._tests_table(self._hypothesis(term, type))
        self._model.require_terms()
        tables = {label: self._tests_table(self._hypothesis(label, type)) for label in self.terms}
        return pd.concat(tables, names=["term", "test"])

    @with_display_formats(eta2="share")
    def tests(self, test: Statistic = "pillai", type: int | str = 2) -> pd.DataFrame:
        """One multivariate test of each term, like R's `car::Anova`.

        Parameters
        ----------
        test : {"pillai", "wilks", "hotelling-lawley", "roy"}
            The multivariate statistic.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.

        Returns
        -------
        DataFrame by term
            df (of the term), statistic, F, df1, df2, p, F_is ("exact", "approximate", "upper bound" or "not
            defined"), and eta2, partial eta squared by this statistic.

        Raises
        ------
        CollinearError
            There are fewer residual degrees of freedom than responses.
        """
        check_word("test", test, Statistic)
        self._model.require_terms()
        self._model.require_error_df()
        estimates = self._model.estimates
        rows = {label: hypothesis_row(estimates, self._hypothesis(label, type), test) for label in self.terms}
        return pd.DataFrame.from_dict(rows, orient="index")

    @with_display_formats(every="share")
    def effect_sizes(self, type: int | str = 2) -> pd.DataFrame:
        """Partial eta squared of each term by each multivariate statistic, like R's heplots.

        They are V/s for Pillai's trace V, 1 - W^(1/s) for Wilks' lambda W, T/(T + s) for the trace T of
        Hotelling and Lawley, and r/(1 + r) for Roy's root r, with s the smaller one of the degrees of freedom
        of the term and the number of responses.

        Parameters
        ----------
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.

        Returns
        -------
        DataFrame by term
            pillai, wilks, hotelling-lawley and roy.

        Raises
        ------
        CollinearError
            There are fewer residual degrees of freedom than responses.
        """
        self._model.require_terms()
        self._model.require_error_df()
        estimates = self._model.estimates
        rows = {label: partial_etas(estimates, self._hypothesis(label, type)) for label in self.terms}
        return pd.DataFrame.from_dict(rows, orient="index")

    @with_display_formats()
    def anova(self, type: int | str = 2, level: float | None = None) -> pd.DataFrame:
        """Univariate F tests of each term for each response.

        Parameters
        ----------
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.
        level : float, optional
            Level of the intervals: 0.95 stands for 95 percent. Adds partial omega squared, which has less
            bias than partial eta squared (partial_R2), and confidence limits of the proportion of variation
            that both estimate.

        Returns
        -------
        DataFrame by (term, response)
            F, df1, df2, p, and partial_R2, the sum of squares of the term divided by its total with the
            residual sum of squares. With a level also omega2, low and high; the limits assume normal
            residuals with constant variance.
        """
        self._model.require_terms()
        error = (self._model.estimates.error_root**2).sum(axis=0)
        tables = {}
        for label in self.terms:
            hypothesis = self._hypothesis(label, type)
            squares = (hypothesis.projection**2).sum(axis=0)
            df1 = float(hypothesis.df) if hypothesis.df else np.nan
            f = squares / df1 / (error / self.df_resid)
            columns = {"F": f, "df1": df1, "df2": self.df_resid, "p": f_sf(f, df1, self.df_resid)}
            columns["partial_R2"] = squares / (squares + error)
            if level is not None:
                columns |= explained_variance_columns(f, df1, self.df_resid, self.nobs, level)
            tables[label] = pd.DataFrame(columns, index=self.responses)
        return pd.concat(tables, names=["term", "response"])

    def canonical(self, term: str | None = None, type: int | str = 2) -> TermCanonicalResults:
        """Canonical discriminant analysis of one term of the model, like R's `candisc`.

        Parameters
        ----------
        term : str, optional
            The term, such as "species:sex"; it may be left out if the model has only one.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.

        Returns
        -------
        TermCanonicalResults
            Eigenvalues, tests, coefficients and structure of the canonical variates of the term.

        Raises
        ------
        DataError
            The term is unknown, or none is named although there are several.
        CollinearError
            There are fewer residual degrees of freedom than responses.
        """
        position = self._model.position(term)
        self._model.require_error_df()
        return TermCanonicalResults(
            self._model, position, self._model.hypothesis(position, check_test_type(type))
        )

    def canonicals(self, type: int | str = 2) -> dict[str, TermCanonicalResults]:
        """Canonical discriminant analyses of all terms, like R's `candiscList`.

        Parameters
        ----------
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.

        Returns
        -------
        dict of str to TermCanonicalResults
            Results of `canonical` by term.
        """
        return {label: self.canonical(label, type) for label in self.terms}

    def profile(self, term: str | None = None, type: int | str = 2) -> ProfileResults:
        """Profile analysis: test whether the profiles of the means are parallel, at one level, and flat.

        The responses are measurements in the same unit, such as scores of several scales or one quantity at
        several times. Three hypotheses are tested. *Parallelism*: the differences between successive
        responses are the same at all levels of the term. *Level*: the mean of the responses is the same at
        all levels. *Flatness*: all responses have the same mean over all observations. Level and flatness are
        meaningful only for parallel profiles; otherwise a mean over responses or observations describes none
        of them.

        Parameters
        ----------
        term : str, optional
            The term, such as "species"; it may be left out if the model has only one.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments. With types 1 and 2, flatness refers
            to the mean over all observations; with type 3, like in SAS and SPSS, to the unweighted mean over
            the levels at covariates of zero.

        Returns
        -------
        ProfileResults
            `tests()`, `manova()`, `means()` and `plot()`.

        Raises
        ------
        DataError
            The term or type is unknown, no term is named although there are several, or the model has only
            one response.
        NotSupportedError
            Type III tests were requested although some cells are empty.
        CollinearError
            Differences of successive responses, or their mean, have a singular residual covariance matrix.

        Notes
        -----
        The tests follow Morrison (1976, Multivariate Statistical Methods, 2nd ed., sec. 4.6 and 5.6)
        and Johnson and Wichern (2007, Applied Multivariate Statistical Analysis, 6th ed., sec. 6.8), by
        tests of the terms on the successive differences and on the mean of the responses. They assume
        independent normal observations with a common covariance matrix of any form. F is exact for two
        classes, and for level and flatness.

        Examples
        --------
        >>> from discrim import mlm
        >>> from discrim.datasets import load_iris
        >>> mlm("species ~ sepal_length + petal_length", load_iris()).profile().tests()["F"].round(2)
        hypothesis
        parallelism     737.27
        level           529.03
        flatness       5663.86
        Name: F, dtype: float64
        """
        return ProfileResults(self._model, self._model.position(term), check_test_type(type))

    def repeated(self, within: Data, design: str | None = None) -> RepeatedResults:
        """Repeated measures analysis: the responses measure one quantity under several conditions.

        Parameters
        ----------
        within : table
            Within-subject design: a row for each response, in the order of the formula, and a column for each
            factor. Columns of any type are factors. If the index contains the names of the responses, rows
            are matched by name and not by order.
        design : str, optional
            Within-subject terms as a formula in the columns of `within`, such as "phase + hour"; by default
            all factors and all their interactions.

        Returns
        -------
        RepeatedResults
            Univariate tests with the corrections of Greenhouse and Geisser and of Huynh and Feldt
            (`univariate()`), Mauchly's test (`sphericity()`) and multivariate tests (`tests()`) of each
            between-subject term, each within-subject term, and their interactions.

        Raises
        ------
        FormulaError
            The design cannot be read, or names an unknown column.
        DataError
            `within` does not have one row for each response, a factor has only one level or a missing value,
            or combinations of levels have different numbers of responses.
        CollinearError
            The contrasts of a within-subject term have a singular residual covariance matrix.

        Notes
        -----
        Each row of the table is a subject with all its measurements. All tests assume independent subjects
        and normal measurements with a common covariance matrix. The univariate tests also assume sphericity,
        or correct for its violation. The arguments `idata` and `idesign` of R's `car::Anova` are `within` and
        `design`.

        The p-value of Mauchly's test is by Anderson's approximation. R's `mauchly.test`, which car uses, has
        the number of responses instead of the number of contrasts in one place of it; the difference matters
        in small samples.

        Examples
        --------
        >>> import pandas as pd
        >>> from discrim import mlm
        >>> from discrim.datasets import load_iris
        >>> within = pd.DataFrame({"part": ["sepal", "petal"] * 2, "size": ["length"] * 2 + ["width"] * 2})
        >>> fit = mlm("species ~ sepal_length + petal_length + sepal_width + petal_width", load_iris())
        >>> fit.repeated(within).univariate().loc["species:part:size", ["F", "df1", "df2"]].round(2).tolist()
        [7.6, 2.0, 147.0]
        """
        return RepeatedResults(self._model, within, design)

    def marginal_means(
        self,
        factors: str | Sequence[str],
        by: str | Sequence[str] | None = None,
        *,
        at: Mapping[str, float] | None = None,
        weights: CellWeights = "equal",
        level: float = 0.95,
    ) -> MarginalMeansResults:
        """Marginal means (least-squares means) of the levels of factors, like R's `emmeans`.

        A marginal mean is the mean of the fitted values over a reference grid: all combinations of levels of
        the other factors, with the covariates at their means. It does not depend on how many observations
        each combination has.

        Parameters
        ----------
        factors : str or sequence of str
            Factors whose levels have a mean, such as "species"; combinations of levels for several, which may
            be written "species:sex".
        by : str or sequence of str, optional
            Factors at each of whose levels the means are compared.
        at : dict of str to float, optional
            Values of covariates, by column of the table; by default their means over the observations.
        weights : {"equal", "proportional"}
            Weights of the levels of the other factors: all equal, or the proportions of the observations.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        MarginalMeansResults
            The means (`table`), differences of pairs (`pairs()`) and other contrasts (`contrasts()`) for each
            response, Hotelling's tests of contrasts (`tests()`), and a plot.

        Raises
        ------
        DataError
            A factor, covariate, value or option is unknown or not valid.
        NotSupportedError
            Proportional weights require a term that the model lacks, or means of covariates require rows that
            an unpickled model lacks.

        Notes
        -----
        Standard errors and intervals assume normal errors with equal covariance matrices. A mean that is not
        estimable, because it depends on an empty cell, is missing. See Searle, Speed and Milliken (1980, The
        American Statistician 34, 216-221).

        R's emmeans treats a covariate with only two values as a factor; here it has to be written ``C(x)``.

        Examples
        --------
        >>> from discrim import mlm
        >>> from discrim.datasets import load_penguins
        >>> fit = mlm("species * sex ~ bill_length_mm + bill_depth_mm", load_penguins())
        >>> means = fit.marginal_means("species")
        >>> means.table.xs("bill_length_mm", level="response")[["estimate", "se"]].round(3)
                   estimate     se
        species
        Adelie       38.824  0.192
        Chinstrap    48.834  0.281
        Gentoo       47.519  0.212
        """
        return MarginalMeansResults(self._model, factors, by, at, weights, level)

    def pairs(
        self,
        factors: str | Sequence[str],
        by: str | Sequence[str] | None = None,
        *,
        adjust: str = "tukey",
        at: Mapping[str, float] | None = None,
        weights: CellWeights = "equal",
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Differences between all pairs of marginal means for each response, with simultaneous intervals.

        Parameters
        ----------
        factors, by, at, weights, level
            See `marginal_means`.
        adjust : str
            Adjustment for several differences: "tukey", "scheffe", "sidak", "bonferroni", "holm", "none" and
            others; see `MarginalMeansResults.contrasts`.

        Returns
        -------
        DataFrame by (factors of `by`, contrast, response)
            estimate, se, t, df, p, p_adjusted (unless "none"), low and high.
            ``marginal_means(factors).tests()`` has the tests for all responses jointly.

        Raises
        ------
        DataError
            A factor, covariate, value or option is unknown or not valid, or there is only one mean.

        Examples
        --------
        >>> from discrim import mlm
        >>> from discrim.datasets import load_penguins
        >>> fit = mlm("species * sex ~ bill_length_mm + bill_depth_mm", load_penguins())
        >>> fit.pairs("species").xs("bill_depth_mm", level="response")[["estimate", "low", "high"]].round(3)
                            estimate    low   high
        contrast
        Adelie - Chinstrap    -0.073 -0.362  0.215
        Adelie - Gentoo        3.369  3.127  3.612
        Chinstrap - Gentoo     3.443  3.144  3.741
        """
        return self.marginal_means(factors, by, at=at, weights=weights, level=level).pairs(adjust=adjust)

    @with_display_formats()
    def linear_hypothesis(self, hypothesis: str) -> pd.DataFrame:
        """The four multivariate tests of linear equations in the coefficients, for all responses jointly.

        Parameters
        ----------
        hypothesis : str
            Homogeneous equations in the names of `params`, separated by commas:
            ``"species[S.Adelie] = species[S.Chinstrap]"``. The coefficient of the last level of a factor is
            minus the sum of the others.

        Returns
        -------
        DataFrame
            The columns of `manova` for one term.

        Raises
        ------
        FormulaError
            The hypothesis cannot be read.
        DataError
            An equation has a nonzero constant, is empty, or follows from the others.
        NotSupportedError
            Coefficients are not identified, because some cells are empty.
        CollinearError
            There are fewer residual degrees of freedom than responses.

        Examples
        --------
        >>> from discrim import mlm
        >>> from discrim.datasets import load_penguins
        >>> fit = mlm("species * sex ~ bill_length_mm + bill_depth_mm", load_penguins())
        >>> table = fit.linear_hypothesis("species[S.Adelie] = species[S.Chinstrap]")
        >>> float(table.loc["Pillai's trace", "F"].round(2))
        444.58
        """
        self._require_full_rank("linear_hypothesis()")
        combinations, right = parse_equations(hypothesis, list(self.params.index))
        if right.any():
            raise DataError(
                f"The hypothesis {hypothesis[:80]!r} has a nonzero constant.",
                hint=(
                    "Write equations that equate linear combinations of coefficients to zero or to each "
                    "other."
                ),
            )
        origin = self._model.origin[self._model.n_model - 1 :] / self._model.unit
        contrast = self._model.estimates.contrast_hypothesis(
            self._model.to_scaled_columns(combinations), origin
        )
        if contrast.df < contrast.columns:
            raise DataError(
                f"The hypothesis {hypothesis[:80]!r} has equations that are empty or follow from the others.",
                hint="Leave these equations out.",
            )
        return self._tests_table(contrast)

    @property
    def params(self) -> pd.DataFrame:
        """Coefficients of the constant and the columns of the model for each response, in their units.

        Raises
        ------
        NotSupportedError
            They are not identified, because a term has fewer degrees of freedom than columns.
        """
        self._require_full_rank(".params")
        model = self._model
        m = self._model.n_model
        coefficients = model.estimates.coefficients()
        coefficients[1:] /= model.model_unit[:, None]
        coefficients *= model.unit
        coefficients[0] += model.origin[m - 1 :] - model.origin[: m - 1] @ coefficients[1:]
        index = ["constant", *model.design_rows.terms[: m - 1]]
        return pd.DataFrame(coefficients, index=index, columns=self.responses)

    @property
    def cov_resid(self) -> pd.DataFrame:
        """Covariance matrix of the residuals; entries outside the range of float64 are infinite or zero."""
        error = self._model.estimates.error_root * (self._model.unit / np.sqrt(self.df_resid))
        with np.errstate(over="ignore", under="ignore"):
            return pd.DataFrame(error.T @ error, index=self.responses, columns=self.responses)

    def hypothesis_ellipse(
        self,
        term: str | None = None,
        *,
        size: Literal["evidence", "effect"] = "evidence",
        level: float = 0.95,
        type: int | str = 2,
    ) -> pd.DataFrame:
        """Matrix whose ellipse represents a term in a plot, in addition to the ellipse of `cov_resid`.

        Parameters
        ----------
        term : str, optional
            The term, such as "species:sex"; it may be left out if the model has only one.
        size : {"evidence", "effect"}
            With H the hypothesis matrix, v the residual degrees of freedom and lambda the critical value of
            Roy's test, "evidence" is H/(lambda v): its ellipse extends outside the ellipse of the residuals
            if and only if Roy's test is significant. "effect" is H/v, on the scale of `cov_resid`. Plots draw
            both, like R's heplots, at the radius sqrt(2 F), where F is the 0.68 quantile of the F
            distribution on 2 and v degrees of freedom.
        level : float
            1 minus the significance level of Roy's test.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.

        Returns
        -------
        DataFrame, responses by responses
            In squared units of the responses. Missing if the term has zero degrees of freedom and `size` is
            "evidence".
        """
        check_word("size", size, ("evidence", "effect"))
        hypothesis = self._hypothesis(term, type)
        scaled_root = hypothesis.projection * (self._model.unit / np.sqrt(self.df_resid))
        if size == "evidence":
            p = len(self.responses)
            q = hypothesis.df
            critical = roy_critical_value(p, q + 1, self.df_resid + q + 1, 1 - level) if q else np.nan
            scaled_root = scaled_root / np.sqrt(critical)
        return pd.DataFrame(scaled_root.T @ scaled_root, index=self.responses, columns=self.responses)

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """Coefficients with t tests and 95 % intervals, with the column names of R's broom.

        Returns
        -------
        DataFrame, one row for each response and column of the model
            response, term, estimate, std_error, statistic (t), p_value, conf_low, conf_high.
        """
        params = self.params
        level = 0.95
        m = self._model.n_model
        inverse = solve_triangular(self._model.estimates.x[:m], np.eye(m))
        inverse = self._model.to_scaled_columns(np.eye(m)) @ inverse
        norms = np.sqrt((inverse**2).sum(axis=1))
        sd = np.sqrt(np.diagonal(self.cov_resid))
        tables = []
        for j, name in enumerate(self.responses):
            table = t_table(params.iloc[:, j].to_numpy(), norms * sd[j], self.df_resid, params.index, level)
            table.columns = ["estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]
            table.insert(0, "term", params.index)
            table.insert(0, "response", name)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One row: observations, degrees of freedom, and log-likelihood, AIC and BIC for normal residuals.

        Returns
        -------
        DataFrame of one row
            nobs, responses (their number), df_model (rank of the model without the constant), df_resid, llf,
            aic and bic. The likelihood is at its maximum, with divisor nobs of the residual covariance, and
            is missing if there are fewer residual degrees of freedom than responses.
        """
        n = self.nobs
        p = len(self.responses)
        rank = self._model.estimates.rank
        if self._model.has_error_df:
            log_det = 2 * np.log(np.abs(np.diagonal(self._model.estimates.error_root))).sum()
        else:
            # The residual covariance matrix is singular, and the likelihood is unbounded.
            log_det = np.nan
        log_det += 2 * np.log(self._model.unit).sum() - p * np.log(n)
        llf = -n / 2 * (p * np.log(2 * np.pi) + log_det + p)
        df = p * rank + p * (p + 1) / 2
        row = {"nobs": n, "responses": p, "df_model": rank - 1, "df_resid": self.df_resid}
        row |= {"llf": llf, "aic": 2 * df - 2 * llf, "bic": np.log(n) * df - 2 * llf}
        return pd.DataFrame([row])

    def summary(self, sections: Sequence[str] | None = None, *, type: int | str = 2) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the tables to include, in order, such as "tests"; by default all.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.

        Returns
        -------
        Summary
        """
        return mlm_summary(self, sections, type)

    def plot(
        self,
        term: str | Sequence[str] | None = None,
        *,
        columns: Sequence[str] | None = None,
        size: Literal["evidence", "effect"] = "evidence",
        level: float = 0.95,
        type: int | str = 2,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Axes:
        """Plot the hypothesis and error ellipses in the plane of two responses, like R's `heplot`.

        Parameters
        ----------
        term : str or sequence of str, optional
            Terms to draw; by default all.
        columns : two of the responses, optional
            Responses that span the plane; by default the first two.
        size : {"evidence", "effect"}
            Size of the ellipses of the terms; see `hypothesis_ellipse`.
        level : float
            1 minus the significance level of Roy's test.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes
        """
        return plot_term_ellipses(self, term, columns, size, level, type, ax, title)

    def _hypothesis(self, term: str | None, type: int | str) -> Hypothesis:
        """Return the hypothesis that a term has no effect, by the sums of squares of a type.

        None selects the only term. Raises DataError if the term or the type is unknown, or `term` is None and
        there are several, and NotSupportedError for type 3 if some cells are empty.
        """
        test_type = check_test_type(type)
        return self._model.hypothesis(self._model.position(term), test_type)

    def _tests_table(self, hypothesis: Hypothesis) -> pd.DataFrame:
        """Return the table of the four tests of a hypothesis, with the columns of `discrim.manova`.

        Raises CollinearError if there are fewer residual degrees of freedom than responses.
        """
        self._model.require_error_df()
        return hypothesis_table(self._model.estimates, hypothesis)

    def _require_full_rank(self, requested: str) -> None:
        """Raise NotSupportedError if a term has fewer degrees of freedom than columns.

        The coefficients are then not identified. `requested` is the attribute or method for the message, such
        as ".params".
        """
        deficient_term = self._model.deficient_term()
        if deficient_term is not None:
            raise NotSupportedError(
                f"{self._model.describe_deficiency(deficient_term)}, so the coefficients are not identified "
                f"and {requested} is not available.",
                hint=f"Leave {self.terms[deficient_term]!r} out of the formula.",
            )


@reading.with_public_errors
def mlm(
    formula: str,
    data: Data,
    *,
    weights: Any = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> MLMResults:
    """A multivariate linear model: several responses on factors and covariates.

    Parameters
    ----------
    formula : str
        The model on the left, in the place of the class of a discriminant analysis, and the responses on the
        right: ``"species * sex ~ bill_length_mm + bill_depth_mm"``. R's ``cbind(y1, y2) ~ a * b`` is the same
        as ``a * b ~ y1 + y2``. Text, categorical and boolean columns are factors, and numeric columns are
        covariates. A single numeric column on the left is a factor, as in `lda`; ``I(age)`` is a covariate,
        and ``C(year)`` makes a factor of any column. ``"1 ~ y1 + y2"`` has no term, for repeated measures of
        a single group.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    MLMResults
        Tests of each term by `manova`, its canonical variates by `canonical`.

    Raises
    ------
    FormulaError
        The formula cannot be read, or has a response that is not a number.
    DataError
        A column is unknown, a value is infinite, or no row is complete.
    CollinearError
        The covariance matrix of the residuals is singular, or no residual degrees of freedom remain. If some
        remain, but fewer than responses, `anova()`, `repeated()` and the coefficients are available; only
        methods that need the covariance matrix of all responses raise the error.

    Notes
    -----
    Sums of squares of types I, II and III follow Searle (1987, Linear Models for Unbalanced Data) and
    Fox (2016, Applied Regression Analysis and Generalized Linear Models, sec. 8.2); the plots follow
    Friendly (2007, Journal of Computational and Graphical Statistics 16, 421-444).

    Factors are coded by sum-to-zero contrasts, also if `C()` names another contrast, because type III tests
    depend on the coding. R requires ``options(contrasts = c("contr.sum", "contr.poly"))`` for type III: with
    its default, treatment coding, factors in interactions are tested at the reference level of the other
    factors. If a covariate has interactions, type III tests the other terms at the value zero of the
    covariate. Write ``species * center(x)`` if zero is not a value of interest, or so far from the data that
    precision is lost. Types I and II do not depend on the coding or on the origin of covariates.

    The rows are read in one pass, and only the triangular factor of their QR factorization is kept.

    Examples
    --------
    >>> from discrim import mlm
    >>> from discrim.datasets import load_penguins
    >>> fit = mlm("species * sex ~ bill_length_mm + bill_depth_mm", load_penguins())
    >>> fit.tests(type=2)[["df", "statistic", "F"]].round(3)
                 df  statistic        F
    species       2      1.473  457.480
    sex           1      0.555  203.021
    species:sex   2      0.015    1.224
    """
    check_word("na_action", na_action, NaAction)
    design_rows, terms = model_rows(formula, data, weights=weights, functions=functions)
    n_model = 1 + sum(len(term.columns) for term in terms)
    if len(design_rows.terms) < n_model:
        raise DataError(f"The formula {formula!r} has no response.", hint="Name a column on its right side.")
    root = gather_root(design_rows, shifted=columns_to_shift(terms, len(design_rows.terms)))
    if design_rows.dropped and na_action == "raise":
        design_rows.raise_if_missing()
    if not root.total:
        raise DataError(
            f"No row is complete: each has a missing value in one of "
            f"{join_labels(design_rows.design.columns)}.",
            hint="Fill in values, or leave columns out.",
        )
    if design_rows.has_weights:
        warn_of_weights(root, are_integers=design_rows.rows.has_whole_weights())
    triangle, unit = scale_by_powers_of_two(root.triangle)
    rows = np.zeros((max(len(triangle), len(unit)), triangle.shape[1]))
    rows[: len(triangle)] = triangle
    groups = [[1 + column for column in term.columns] for term in terms]
    estimates = least_squares(rows, root.total, n_model, groups, [term.factors for term in terms])
    model = TermModel(
        design_rows, tuple(terms), estimates, unit[n_model:], unit[1:n_model], root.origin, root.total
    )
    model.raise_if_dependent_residuals()
    deficient_term = model.deficient_term()
    if deficient_term is not None:
        model.warn_of_deficiency(deficient_term)
    return MLMResults(model)


@reading.with_public_errors
@with_display_formats()
def manova(
    formula: str,
    data: Data,
    *,
    term: str | None = None,
    type: int | str = 2,
    method: MeanMethod | None = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
    permutations: int | None = None,
    within: Any = None,
    groups: Any = None,
    distance: Metric | Any = None,
    seed: int | None = None,
) -> pd.DataFrame:
    """The four multivariate tests that all classes have the same mean, or that a term has no effect.

    With `method=` it is a single test, which allows more variables than observations.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas. The class is on the left and
        the measurements are on the right. There may be several factors and covariates on the left, as in
        ``"species * sex ~ bill_length_mm + bill_depth_mm"``, which may also be written as in R:
        ``cbind(bill_length_mm, bill_depth_mm) ~ species * sex``. A single column is a factor; ``I(age)`` is a
        covariate. `discrim.mlm` also offers canonical variates, effect sizes and plots of such a model.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    term : str, optional
        With several factors, the only term to test, such as "sex" or "species:sex"; by default all.
    type : {1, 2, 3}
        Type of the sums of squares; see the page on shared arguments. With one factor all types are the same.
    method : {"srivastava", "chen-qin", "cai-liu-xia", "dempster"}, optional
        A single test of one factor, which does not require more observations than variables. "srivastava"
        sums the squared mean differences divided by the variances, and does not depend on the units of the
        variables. "chen-qin" and "dempster" sum the squared differences: use variables in the same unit. Only
        "chen-qin" allows unequal covariance matrices. "cai-liu-xia" uses the largest difference, and is
        powerful if few variables differ.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.
    permutations : int, optional
        Number of permutations of the rows, such as 999, for p-values that assume exchangeable observations
        instead of normal classes; if there are fewer distinct labellings, all are used. With a distance the
        default is 999.
    within : column name or (n,) array, optional
        Blocks of rows: rows, or groups, are permuted only within their block.
    groups : column name or (n,) array, optional
        Groups of rows, such as plots, that are permuted as wholes. All must have the same number of rows.
    distance : str, or table of distances, optional
        Test distances between rows instead of the multivariate statistics: a metric such as "euclidean" or
        "bray-curtis", or a square table; see `discrim.permanova`, which also tests the dispersion.
    seed : int, optional
        Seed of the permutations; by default one is drawn.

    Returns
    -------
    DataFrame
        Wilks, Pillai, Hotelling-Lawley by two approximations, and Roy: statistic, F, df1, df2, p, and whether
        F is exact, approximate or an upper bound; with permutations also p_permutation. For all terms of a
        model the rows are by (term, test). With a distance, the table of `permanova`. With `method=` one row:
        statistic, distribution (its name), df1 and df2 of an F distribution, p, and assumes (text on the
        assumptions).

    Raises
    ------
    CollinearError
        The covariance matrix within classes, or of the residuals, is singular.
    DataError
        The term or type is unknown; `levels` was passed with several factors; or an argument of the
        permutations or distances is invalid (see `permanova`).
    NotSupportedError
        Type III tests were requested although some cells are empty; or a method was requested for several
        factors or for fewer rows of a class than it requires.

    Notes
    -----
    The tests are due to Wilks (1932, Biometrika 24, 471-494), Pillai (1955, Annals of Mathematical
    Statistics 26, 117-121), Hotelling and Lawley, and Roy. Their F approximations follow Rencher (2002,
    Methods of Multivariate Analysis, ch. 6), and assume independent observations, normal within classes with
    a common covariance matrix.

    The tests for many variables are by Dempster (1958, Annals of Mathematical Statistics 29, 995-1010),
    Srivastava & Kubokawa (2013, Journal of Multivariate Analysis 115, 204-216; for two classes Srivastava &
    Du), Hu, Bai, Wang & Wang (2017, Annals of the Institute of Statistical Mathematics 69, 365-387; for two
    classes Chen & Qin), and Cai & Xia (2014, Journal of Multivariate Analysis 131, 174-196; for two classes
    Cai, Liu & Xia, without transformation by the precision matrix). Their p-values are one-sided, and are
    approximations for many variables and observations.

    A permutation p-value is (1 + b) / (1 + B), where b of the B permuted statistics are at least as large as
    the observed one. If the observations are exchangeable, it is exact for the hypothesis that no term has an
    effect, and approximate for one term if others have an effect.

    Examples
    --------
    >>> from discrim import manova
    >>> from discrim.datasets import load_iris, load_penguins
    >>> manova("species ~ .", load_iris())["F"].round(3).tolist()
    [199.145, 53.466, 580.532, 582.197, 1166.957]

    A test of one of two factors:

    >>> table = manova("species * sex ~ bill_length_mm + bill_depth_mm", load_penguins(), term="sex")
    >>> table["F"].round(3).tolist()
    [203.021, 203.021, 203.021, 203.021, 203.021]

    More variables than observations:

    >>> few = load_iris().groupby("species", observed=True).head(2)
    >>> manova("species ~ (.)**2", few, method="dempster")[["statistic", "df1", "df2"]].round(2)
                     statistic   df1   df2
    Dempster's test      19.09  2.92  4.37

    Permutation tests by the multivariate statistics, and by distances:

    >>> manova("species ~ .", load_iris(), permutations=99, seed=1)["p_permutation"].tolist()
    [0.01, 0.01, 0.01, 0.01, 0.01]
    >>> manova("species ~ .", load_iris(), distance="manhattan", seed=1)["p"].tolist()[0]
    0.001
    """
    test_type = check_test_type(type)
    formula = exclude_from_dot(formula, (within, groups))
    single_factor = class_factor(formula, check_functions(functions))
    if single_factor is None and method is not None:
        raise NotSupportedError(
            f"method={format_argument(method)} compares the classes of one factor.",
            hint="Name one on the left, or leave method= out.",
        )
    if single_factor is None and levels is not None:
        raise DataError(
            "levels= requires a single factor on the left.",
            hint="Convert the factors to categorical columns with ordered categories instead.",
        )
    names_single_factor = (
        isinstance(term, str)
        and single_factor is not None
        and term in (single_factor, single_factor.strip("`"))
    )
    if single_factor is not None and term is not None and not names_single_factor:
        raise DataError(
            f"term={format_argument(term)} is not a term: the left side has only {single_factor!r}.",
            hint="Leave term= out.",
        )
    _check_permutation_options(permutations, (within, groups, seed), method, distance, levels)
    row_options: dict[str, Any] = {"weights": weights, "na_action": na_action, "functions": functions}
    if distance is not None:
        n_permutations = PERMUTATIONS if permutations is None else permutations
        tested = permanova(
            formula, data, distance=distance, permutations=n_permutations, within=within, groups=groups,
            type=test_type, seed=seed, **row_options,
        )  # fmt: skip
        return tested.table if term is None else tested.table.loc[[tested._term_label(term)]]
    if single_factor is None:
        table = mlm(formula, data, **row_options).manova(term, test_type)
    else:
        table = _single_factor_tests(formula, data, method, levels, row_options)
    if permutations is None:
        return table
    permutation_design = PermutationDesign.read(permutations, seed, within, groups)
    permuted_rows = read_rows_to_permute(formula, data, **row_options)
    return insert_permutation_pvalues(
        table, permuted_rows, test_type, permutation_design, None if single_factor is not None else term
    )


def _check_permutation_options(
    permutations: Any, options: tuple[Any, ...], method: Any, distance: Any, levels: Any
) -> None:
    """Raise a DataError if arguments of `manova` cannot be combined with each other.

    These are a distance and levels, a method and a distance or permutations, and the other options of
    permutations without permutations or a distance.

    Parameters
    ----------
    permutations, method, distance, levels
        Arguments of `manova`; None if not passed.
    options : tuple
        The arguments `within`, `groups` and `seed`, which require permutations.
    """
    if distance is not None and levels is not None:
        raise DataError("levels= has no effect on a test of distances.", hint="Leave it out.")
    if method is not None and (distance is not None or permutations is not None):
        raise DataError(
            f"method={format_argument(method)} cannot be combined with permutations= or distance=.",
            hint="Leave out permutations= and distance=, or method=.",
        )
    if permutations is None and distance is None and any(option is not None for option in options):
        raise DataError(
            "within=, groups= and seed= apply only to permutation tests.",
            hint="Pass permutations=999 as well.",
            options={"permutations": 999},
        )


def _single_factor_tests(
    formula: str,
    data: Data,
    method: MeanMethod | None,
    levels: Sequence[Any] | None,
    row_options: dict[str, Any],
) -> pd.DataFrame:
    """Test whether the classes of a single factor have equal means.

    Parameters
    ----------
    formula, data, method, levels
        Arguments of `manova`.
    row_options : dict
        Arguments `weights`, `na_action` and `functions`.

    Returns
    -------
    DataFrame
        The four multivariate tests by `lda` if `method` is None: statistic, F, df1, df2, p, F_is. Else the
        row of `mean_test`: statistic, distribution, df1, df2, p, assumes.

    Raises
    ------
    CollinearError
        The covariance matrix within classes is singular; the hint names alternatives for a test.
    """
    text = move_responses_right(formula)
    if method is not None:
        read_options = {name: value for name, value in row_options.items() if name != "na_action"}
        return mean_test(
            read_rows(text, data, levels=levels, **read_options), method, row_options["na_action"]
        )
    try:
        lda_fit = lda(text, data, levels=levels, **row_options)
    except CollinearError as error:
        # The hints of lda() suggest arguments that a test does not have.
        if "covariance" in error.options:
            raise error.with_message(
                error.message,
                hint=(
                    'Name fewer columns in the formula, or pass method="srivastava" (or "chen-qin", '
                    '"cai-liu-xia", "dempster"), which allows more variables than observations.'
                ),
                options={"method": "srivastava"},
            ) from None
        if "collinear" in error.options:
            hint = f"Leave {join_labels(error.columns)} out of the formula."
            raise error.with_message(error.message, hint=hint, options={}) from None
        raise
    return lda_fit.manova()
