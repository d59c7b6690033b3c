"""Linear models of several responses: the verb `mlm`, what it gives, and the verb `manova`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from discrim.core.moments.row_sums import gather_root
from discrim.core.numerics.special import f_sf
from discrim.design.linear_model import dot_without, equations, model_rows, one_class, responses_right
from discrim.design.rows import read_rows
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.inference.distance_tests import Metric
from discrim.inference.effect_sizes import shares_explained
from discrim.inference.manova import (
    Hypothesis,
    Statistic,
    hypothesis_table,
    least_squares,
    partial_etas,
    row_of_test,
    roy_critical,
    t_table,
)
from discrim.models.base import reading
from discrim.models.base.displayed import Shown, displayed
from discrim.models.base.reading import (
    Data,
    NaAction,
    check_test_type,
    check_word,
    listed,
    told,
    warn_of_weights,
)
from discrim.models.discriminant.lda import lda
from discrim.models.linear_model.high_dimensional import MeanMethod, mean_test
from discrim.models.linear_model.mlm_summary import he_of_terms, mlm_summary
from discrim.models.linear_model.permanova import permanova
from discrim.models.linear_model.permuted_rows import (
    PERMUTATIONS,
    Exchange,
    rows_to_permute,
    with_permutations,
)
from discrim.models.linear_model.repeated import ProfileResults, RepeatedResults
from discrim.models.linear_model.term_model import (
    TermCanonicalResults,
    TermModel,
    over_units,
    shifted_columns,
)

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Summary


class MLMResults(Shown):
    """A multivariate linear model.

    Attributes
    ----------
    formula : str
    terms : Index
        The model's terms, without the constant.
    responses : Index
    nobs : float
        Rows used, or the sum of their weights.
    df_resid : float
    params : DataFrame, columns of the model by responses
        Coefficients. Factors are coded by contrasts that sum to zero, so that the last level has no
        coefficient of its own.
    cov_resid : DataFrame, responses by responses
        Covariance of the residuals, divisor `df_resid`.
    """

    _FIRST_SECTIONS = ("header", "tests")

    def __init__(self, model: TermModel) -> None:
        self._model = model
        self.formula: str = model.design_rows.design.formula
        self.terms = pd.Index(model.labels)
        self.responses = model.responses
        self.nobs = model.total
        self.df_resid = model.estimates.df

    @displayed()
    def manova(self, term: str | None = None, type: int | str = 2) -> pd.DataFrame:
        """The four multivariate tests of each term.

        Parameters
        ----------
        term : str, optional
            One term to test, such as "species" or "species:sex"; by default all.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments. R's `anova` has type I, R's
            `car::Anova` type II by default, and SAS and SPSS have type III.

        Returns
        -------
        DataFrame
            The columns of `discrim.manova`, by test for one term and by (term, test) for all.

        Raises
        ------
        DataError
            There is no such term or type.
        NotSupportedError
            Type III is asked for and some cells have no rows.
        """
        if term is not None:
            return self._table(self._hypothesis(term, type))
        tables = {label: self._table(self._hypothesis(label, type)) for label in self.terms}
        return pd.concat(tables, names=["term", "test"])

    @displayed(eta2="share")
    def tests(self, test: Statistic = "pillai", type: int | str = 2) -> pd.DataFrame:
        """One multivariate test of each term, as a table of R's `car::Anova`.

        Parameters
        ----------
        test : {"pillai", "wilks", "hotelling-lawley", "roy"}
            The multivariate statistic.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.

        Returns
        -------
        DataFrame by term
            df, statistic, F, df1, df2, p, F_is, and the partial eta squared of that statistic.
        """
        check_word("test", test, Statistic)
        self._model.need_error()
        numbers = self._model.estimates
        rows = {label: row_of_test(numbers, self._hypothesis(label, type), test) for label in self.terms}
        return pd.DataFrame.from_dict(rows, orient="index")

    @displayed(every="share")
    def effect_sizes(self, type: int | str = 2) -> pd.DataFrame:
        """Partial eta squared of each term, by each multivariate statistic, as R's heplots has it.

        Pillai's V/s, 1 - Wilks^(1/s), Hotelling and Lawley's T/(T + s), Roy's root/(1 + root), where s is the
        smaller of the degrees of freedom and the number of responses.

        Parameters
        ----------
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.
        """
        self._model.need_error()
        numbers = self._model.estimates
        rows = {label: partial_etas(numbers, self._hypothesis(label, type)) for label in self.terms}
        return pd.DataFrame.from_dict(rows, orient="index")

    @displayed()
    def anova(self, type: int | str = 2, level: float | None = None) -> pd.DataFrame:
        """Each response alone: F of each term.

        Parameters
        ----------
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.
        level : float, optional
            Level of the intervals: 0.95 stands for 95 percent. Adds partial omega squared and the limits of
            the share that it estimates: that of the term in the variation of the term and the residuals. It
            has less bias than partial_R2 (partial eta squared).

        Returns
        -------
        DataFrame by (term, response)
            F, df1, df2, p, partial_R2: the term's share in its own and the residual sum of squares. With a
            level also omega2, low and high, whose limits assume normal residuals of one variance.
        """
        error = (self._model.estimates.error**2).sum(axis=0)
        tables = {}
        for label in self.terms:
            hypothesis = self._hypothesis(label, type)
            squares = (hypothesis.part**2).sum(axis=0)
            df1 = float(hypothesis.df) if hypothesis.df else np.nan
            f = squares / df1 / (error / self.df_resid)
            columns = {"F": f, "df1": df1, "df2": self.df_resid, "p": f_sf(f, df1, self.df_resid)}
            columns["partial_R2"] = squares / (squares + error)
            if level is not None:
                columns |= shares_explained(f, df1, self.df_resid, self.nobs, level)
            tables[label] = pd.DataFrame(columns, index=self.responses)
        return pd.concat(tables, names=["term", "response"])

    def canonical(self, term: str | None = None, type: int | str = 2) -> TermCanonicalResults:
        """Canonical discriminant analysis of one term, within the model; as R's `candisc`.

        Parameters
        ----------
        term : str, optional
            The term, such as "species:sex"; it may be left out if the model has only one.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.

        Raises
        ------
        DataError
            There is no such term, or none is named and there are several.
        """
        at = self._model.position(term)
        self._model.need_error()
        return TermCanonicalResults(self._model, at, self._model.hypothesis(at, check_test_type(type)))

    def canonicals(self, type: int | str = 2) -> dict[str, TermCanonicalResults]:
        """The canonical discriminant analysis of each term, by its name; as R's `candiscList`.

        Parameters
        ----------
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.

        Returns
        -------
        dict
            A result of `canonical` by the name of each term.
        """
        return {label: self.canonical(label, type) for label in self.terms}

    def profile(self, term: str | None = None, type: int | str = 2) -> ProfileResults:
        """Profile analysis: whether the responses' means have parallel, equal and flat profiles.

        The responses are one quantity in one unit, such as scores of several scales or one measure at several
        times. Three hypotheses are tested. *Parallelism*: the differences between neighbouring responses are
        the same at all levels of the term. *Level*: the mean of the responses is the same. *Flatness*: all
        responses have the same mean, over all rows. Level and flatness are of use only for parallel profiles:
        if the profiles are not parallel, a mean over the responses, or over the rows, describes none of them.

        Parameters
        ----------
        term : str, optional
            The term, such as "species"; it may be left out if the model has only one.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments. Flatness is that of the mean over
            all rows; by type 3, of the mean in which each level counts alike and covariates are zero, as in
            SAS and SPSS.

        Returns
        -------
        ProfileResults
            `tests()`, `manova()`, `means()` and `plot()`.

        Raises
        ------
        DataError
            There is no such term or type, none is named and there are several, or the model has one response.

        Notes
        -----
        The tests are those of Morrison (1976, Multivariate Statistical Methods, 2nd ed., sec. 4.6 and 5.6)
        and of Johnson and Wichern (2007, Applied Multivariate Statistical Analysis, 6th ed., sec. 6.8), by
        the tests of terms on successive differences and on the mean of the responses. They assume independent
        rows, normal with one covariance of any form. F is exact for two classes, for level and for flatness.

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
        """Repeated measures: the responses are one quantity under the conditions of a design within rows.

        Parameters
        ----------
        within : table
            The design within rows: a row for each response in the order of the formula, and a column for each
            factor. Every column is a factor, whatever it holds. If its rows are labelled by the responses,
            the labels and not the order say which row belongs to which.
        design : str, optional
            The terms within rows as a formula in the columns of `within`, such as "phase + hour"; by default
            all factors and all their interactions.

        Returns
        -------
        RepeatedResults
            `univariate()` with the corrections of Greenhouse and Geisser, Huynh and Feldt, `sphericity()`
            with Mauchly's test, and the multivariate `tests()`, of each term between rows by each term within
            them.

        Raises
        ------
        FormulaError
            The design cannot be read, or names no column of `within`.
        DataError
            The design within rows does not have a row for each response, a factor has one level or a missing
            value, or combinations of levels have different numbers of responses.

        Notes
        -----
        Each row of the table is a subject with all its measurements. All tests assume independent subjects,
        normal with one covariance; the univariate ones also assume sphericity, or correct for the lack of it,
        and the multivariate ones do not. In R's `car::Anova`, `idata` is `within` and `idesign` is `design`.

        Mauchly's p-value is Anderson's. In it R's `mauchly.test`, and therefore car, puts the number of
        responses for one of the numbers of contrasts, so that the two differ in small samples.

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

    @displayed()
    def linear_hypothesis(self, hypothesis: str) -> pd.DataFrame:
        """The four multivariate tests of equations in the coefficients, of all responses at once.

        Parameters
        ----------
        hypothesis : str
            Equations between the names of `params`, separated by commas, with zero on their right:
            ``"species[S.Adelie] = species[S.Chinstrap]"``. The coefficient of a last level is minus the sum
            of the others.

        Returns
        -------
        DataFrame
            The columns of `manova` for one term.

        Raises
        ------
        FormulaError
            The text cannot be read.
        DataError
            The right side is not zero, or an equation says nothing.
        NotSupportedError
            Cells without rows leave coefficients undetermined.

        Examples
        --------
        >>> from discrim import mlm
        >>> from discrim.datasets import load_penguins
        >>> fit = mlm("species * sex ~ bill_length_mm + bill_depth_mm", load_penguins())
        >>> table = fit.linear_hypothesis("species[S.Adelie] = species[S.Chinstrap]")
        >>> float(table.loc["Pillai's trace", "F"].round(2))
        444.58
        """
        self._need_full_rank("linear_hypothesis()")
        combinations, right = equations(hypothesis, list(self.params.index))
        if right.any():
            raise DataError(
                f"The hypothesis {hypothesis[:80]!r} has a right side that is not zero.",
                hint="Write equations whose right side is zero for every response.",
            )
        origin = self._model.origin[self._model.n_model - 1 :] / self._model.unit
        contrast = self._model.estimates.contrast(self._model.shifted_back(combinations), origin)
        if contrast.df < contrast.columns:
            raise DataError(
                f"The hypothesis {hypothesis[:80]!r} has equations that follow from others, or from none.",
                hint="Leave them out.",
            )
        return self._table(contrast)

    @property
    def params(self) -> pd.DataFrame:
        """Coefficients of the columns of the model, by response."""
        self._need_full_rank(".params")
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
        """Covariance of the residuals, divisor `df_resid`; infinite or zero outside the range of float64."""
        error = self._model.estimates.error * (self._model.unit / np.sqrt(self.df_resid))
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
        """The covariance whose ellipse stands for a term in a picture, beside that of `cov_resid`.

        Parameters
        ----------
        term : str, optional
            The term, such as "species:sex"; it may be left out if the model has only one.
        size : {"evidence", "effect"}
            "evidence" is H/(lambda v), which reaches beyond the ellipse of the residuals exactly where Roy's
            test is significant. "effect" is H/v, the size of the effect in the units of the residuals'
            covariance. R's heplots draws both at the radius sqrt(2 F), where F is the quantile .68 of the F
            distribution on 2 and v degrees of freedom.
        level : float
            One less the significance level of Roy's test.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.
        """
        check_word("size", size, ("evidence", "effect"))
        hypothesis = self._hypothesis(term, type)
        part = hypothesis.part * (self._model.unit / np.sqrt(self.df_resid))
        if size == "evidence":
            p = len(self.responses)
            q = hypothesis.df
            critical = roy_critical(p, q + 1, self.df_resid + q + 1, 1 - level) if q else np.nan
            part = part / np.sqrt(critical)
        return pd.DataFrame(part.T @ part, index=self.responses, columns=self.responses)

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """Coefficients with t tests of each response, as broom's `tidy`."""
        params = self.params
        level = 0.95
        m = self._model.n_model
        inverse = solve_triangular(self._model.estimates.x[:m], np.eye(m))
        inverse = self._model.shifted_back(np.eye(m)) @ inverse
        length = np.sqrt((inverse**2).sum(axis=1))
        sd = np.sqrt(np.diagonal(self.cov_resid))
        tables = []
        for j, name in enumerate(self.responses):
            table = t_table(params.iloc[:, j].to_numpy(), length * sd[j], self.df_resid, params.index, level)
            table.columns = ["estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]
            table.insert(0, "term", params.index)
            table.insert(0, "response", name)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row: rows, degrees of freedom, log-likelihood, AIC and BIC of normal residuals."""
        n = self.nobs
        p = len(self.responses)
        rank = self._model.estimates.rank
        if self._model.has_error:
            log_det = 2 * np.log(np.abs(np.diagonal(self._model.estimates.error))).sum()
        else:
            # The likelihood has no maximum.
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
            Keys of the tables wanted, in order, such as "tests"; by default all.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.
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
        """Ellipses of hypothesis and error in the plane of two responses; as R's `heplot`.

        Parameters
        ----------
        term : str or sequence of str, optional
            Terms to draw; by default all.
        columns : two of the responses, optional
            Responses that span the plane; by default the first two.
        size : {"evidence", "effect"}
            Size of the ellipses of the terms; see `hypothesis_ellipse`.
        level : float
            One less the significance level of Roy's test.
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
        return he_of_terms(self, term, columns, size, level, type, ax, title)

    def _hypothesis(self, term: str | None, type: int | str) -> Hypothesis:
        kind = check_test_type(type)
        return self._model.hypothesis(self._model.position(term), kind)

    def _table(self, hypothesis: Hypothesis) -> pd.DataFrame:
        self._model.need_error()
        return hypothesis_table(self._model.estimates, hypothesis)

    def _need_full_rank(self, what: str) -> None:
        lacking = self._model.lacking()
        if lacking is not None:
            raise NotSupportedError(
                f"{self._model.lacking_said(lacking)}, so that the coefficients are not determined and "
                f"{what} is not there.",
                hint=f"Leave {self.terms[lacking]!r} out of the formula.",
            )


@reading.with_keyword_hints
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
        The model on the left, where the class of a discriminant analysis stands, and the responses on the
        right: ``"species * sex ~ bill_length_mm + bill_depth_mm"``. R's ``cbind(y1, y2) ~ a * b`` is the same
        as ``a * b ~ y1 + y2``. Text, categories and truth values are factors, and numbers are covariates; but
        a single column of numbers on the left is a factor as in `lda`, and ``C(year)`` makes a factor of any
        column.
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
        The formula cannot be read, has no factor on the left, or has a response that is not a number.
    DataError
        A column is unknown, a value is infinite, or no row is left.
    CollinearError
        The covariance of the residuals is singular, or no degree of freedom is left. If some are left but
        fewer than there are responses, `anova()`, `repeated()` and coefficients are available, and only what
        needs the covariance of all responses raises the error.

    Notes
    -----
    Sums of squares of types I, II and III are those of Searle (1987, Linear Models for Unbalanced Data) and
    Fox (2016, Applied Regression Analysis and Generalized Linear Models, sec. 8.2); the pictures are those of
    Friendly (2007, Journal of Computational and Graphical Statistics 16, 421-444).

    Factors are coded by contrasts that sum to zero over the levels, whatever contrast `C()` names, so that
    tests of type III do not depend on the coding. R needs ``options(contrasts = c("contr.sum",
    "contr.poly"))`` for type III: under its default, treatment coding, the tests of factors within
    interactions are those at the reference level of the other factors. If a covariate has interactions, type
    III tests the other terms at the value zero of the covariate. Write ``species * center(x)`` if zero is not
    a value of interest, or so far from the data that digits are lost. Types I and II depend on neither.

    The rows are read in one pass, which leaves the triangle of their QR factorization.

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
    blocks, terms = model_rows(formula, data, weights=weights, functions=functions)
    n_model = 1 + sum(len(term.columns) for term in terms)
    if len(blocks.terms) < n_model:
        raise DataError(f"The formula {formula!r} has no response.", hint="Name a column on its right side.")
    root = gather_root(blocks, shifted=shifted_columns(terms, len(blocks.terms)))
    if blocks.dropped and na_action == "raise":
        blocks.refuse_missing()
    if not root.total:
        raise DataError(
            f"No row is left: each misses a value in one of {listed(blocks.design.columns)}.",
            hint="Fill values, or leave columns out.",
        )
    if blocks.weighted:
        warn_of_weights(root, whole=blocks.rows.has_whole_weights())
    triangle, unit = over_units(root.triangle)
    rows = np.zeros((max(len(triangle), len(unit)), triangle.shape[1]))
    rows[: len(triangle)] = triangle
    groups = [[1 + column for column in term.columns] for term in terms]
    numbers = least_squares(rows, root.total, n_model, groups, [term.factors for term in terms])
    model = TermModel(blocks, tuple(terms), numbers, unit[n_model:], unit[1:n_model], root.origin, root.total)
    model.refuse_dependent()
    lacking = model.lacking()
    if lacking is not None:
        model.warn_of(lacking)
    return MLMResults(model)


@reading.with_keyword_hints
@displayed()
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

    With `method=` it is a single test, which also works with more columns than rows.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas. The class is on the left and
        the measurements are on the right. There may be several factors and covariates on the left, as in
        ``"species * sex ~ bill_length_mm + bill_depth_mm"``, which may also be written as in R:
        ``cbind(bill_length_mm, bill_depth_mm) ~ species * sex``. `discrim.mlm` also has canonical variates,
        effect sizes and pictures of such a model.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    term : str, optional
        With several factors, the only term to test, such as "sex" or "species:sex"; by default all.
    type : {1, 2, 3}
        Type of the sums of squares; see the page on shared arguments. With one factor all types are the same.
    method : {"srivastava", "chen-qin", "cai-liu-xia", "dempster"}, optional
        One test of one factor, which does not need more rows than columns. "srivastava" adds up the squared
        differences of the columns in units of their variances, and does not depend on the columns' units.
        "chen-qin" and "dempster" add them up as they are: give columns in one unit. Only "chen-qin" allows
        unequal covariances. "cai-liu-xia" uses the largest difference, for few columns that differ.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.
    permutations : int, optional
        Number of permutations of the rows, such as 999, for p-values that do not assume normal classes but
        exchangeable rows; if there are no more labellings, all are used. With a distance the default is 999.
    within : column name or (n,) array, optional
        Blocks of rows: rows, or groups, are permuted only within their block.
    groups : column name or (n,) array, optional
        Groups of rows, such as plots, that are permuted as wholes. All must have the same number of rows.
    distance : str, or table of distances, optional
        Test distances between rows instead of the multivariate statistics: a metric such as "euclidean" or
        "bray-curtis", or a square table; see `discrim.permanova`, which also has a test of the spread.
    seed : int, optional
        Seed of the permutations; by default one is drawn.

    Returns
    -------
    DataFrame
        Wilks, Pillai, Hotelling-Lawley by two approximations, and Roy: statistic, F, df1, df2, p, and whether
        the F is exact, approximate or an upper bound; and p_permutation where permutations are asked for. For
        all terms of a model the rows are by (term, test). With a distance, the table of `permanova`. With
        `method=` one row: statistic, the law that it is compared with, df1 and df2 where that is F, p, and
        what p assumes.

    Raises
    ------
    CollinearError
        The covariance within classes, or that of the residuals, is singular.
    DataError
        There is no such term or type; or `levels` is given with several factors; or what `permanova` refuses.
    NotSupportedError
        Type III is asked for and some cells of the factors have no rows; or a method is asked for with
        several factors, or takes more rows of a class than there are.

    Notes
    -----
    The tests are those of Wilks (1932, Biometrika 24, 471-494), Pillai (1955, Annals of Mathematical
    Statistics 26, 117-121), Hotelling and Lawley, and Roy. Their F approximations are those of Rencher (2002,
    Methods of Multivariate Analysis, ch. 6), and assume independent rows, normal within classes with one
    covariance.

    Those for many columns are Dempster's (1958, Annals of Mathematical Statistics 29, 995-1010), Srivastava &
    Kubokawa's (2013, Journal of Multivariate Analysis 115, 204-216; of two classes Srivastava & Du's), that
    of Hu, Bai, Wang & Wang (2017, Annals of the Institute of Statistical Mathematics 69, 365-387; of two
    classes Chen & Qin's), and Cai & Xia's (2014, Journal of Multivariate Analysis 131, 174-196; of two
    classes Cai, Liu & Xia's), of columns as they are, without their precision matrix. Their p-values are
    approximations for many columns and rows, and one-sided.

    A permutation p is (1 + b) / (1 + B), where b of the B statistics of permuted rows are at least as large
    as the observed one. If rows are exchangeable, it is exact for the hypothesis that no term has an effect,
    and approximate for one term if others have an effect.

    Examples
    --------
    >>> from discrim import manova
    >>> from discrim.datasets import load_iris, load_penguins
    >>> manova("species ~ .", load_iris())["F"].round(3).tolist()
    [199.145, 53.466, 580.532, 582.197, 1166.957]

    A factor beside another:

    >>> table = manova("species * sex ~ bill_length_mm + bill_depth_mm", load_penguins(), term="sex")
    >>> table["F"].round(3).tolist()
    [203.021, 203.021, 203.021, 203.021, 203.021]

    More columns than rows:

    >>> few = load_iris().groupby("species", observed=True).head(2)
    >>> manova("species ~ (.)**2", few, method="dempster")[["statistic", "df1", "df2"]].round(2)
                     statistic   df1   df2
    Dempster's test      19.09  2.92  4.37

    Without normal classes, and with distances in the place of covariances:

    >>> manova("species ~ .", load_iris(), permutations=99, seed=1)["p_permutation"].tolist()
    [0.01, 0.01, 0.01, 0.01, 0.01]
    >>> manova("species ~ .", load_iris(), distance="manhattan", seed=1)["p"].tolist()[0]
    0.001
    """
    kind = check_test_type(type)
    formula = dot_without(formula, (within, groups))
    alone = one_class(formula)
    if alone is None and method is not None:
        raise NotSupportedError(
            f"method={told(method)} compares the classes of one factor.",
            hint="Name one on the left, or leave method= out.",
        )
    if alone is None and levels is not None:
        raise DataError(
            "levels= goes with one class on the left.", hint="Give several factors as ordered categories."
        )
    named = isinstance(term, str) and alone is not None and term in (alone, alone.strip("`"))
    if alone is not None and term is not None and not named:
        raise DataError(
            f"term={told(term)} is not a term: the left side has only {alone!r}.", hint="Leave term= out."
        )
    _check_permuted(permutations, (within, groups, seed), method, distance, levels)
    rows: dict[str, Any] = {"weights": weights, "na_action": na_action, "functions": functions}
    if distance is not None:
        times = PERMUTATIONS if permutations is None else permutations
        tested = permanova(
            formula, data, distance=distance, permutations=times, within=within, groups=groups, type=kind,
            seed=seed, **rows,
        )  # fmt: skip
        return tested.table if term is None else tested.table.loc[[tested._term(term)]]
    if alone is None:
        table = mlm(formula, data, **rows).manova(term, kind)
    else:
        table = _of_one_class(formula, data, method, levels, rows)
    if permutations is None:
        return table
    exchange = Exchange.read(permutations, seed, within, groups)
    permuted = rows_to_permute(formula, data, **rows)
    return with_permutations(table, permuted, kind, exchange, None if alone is not None else term)


def _check_permuted(
    permutations: Any, options: tuple[Any, ...], method: Any, distance: Any, levels: Any
) -> None:
    """Raise a DataError for options that do not go together with permutations, or without them."""
    if distance is not None and levels is not None:
        raise DataError("levels= changes nothing of a test of distances.", hint="Leave it out.")
    if method is not None and (distance is not None or permutations is not None):
        raise DataError(
            f"method={told(method)} has a law of its own.",
            hint="Leave out permutations= and distance=, or method=.",
        )
    if permutations is None and distance is None and any(each is not None for each in options):
        raise DataError(
            "within=, groups= and seed= are of permutations, and none are asked for.",
            hint="Pass permutations=999 too.",
            options={"permutations": 999},
        )


def _of_one_class(
    formula: str, data: Data, method: MeanMethod | None, levels: Sequence[Any] | None, rows: dict[str, Any]
) -> pd.DataFrame:
    """The tests that the classes of one factor have one mean."""
    text = responses_right(formula)
    if method is not None:
        given = {name: value for name, value in rows.items() if name != "na_action"}
        return mean_test(read_rows(text, data, levels=levels, **given), method, rows["na_action"])
    try:
        line = lda(text, data, levels=levels, **rows)
    except CollinearError as error:
        # The hints of lda() suggest arguments that a test does not have.
        if "covariance" in error.options:
            raise error.with_message(
                error.message,
                hint=(
                    'Name fewer columns in the formula, or pass method="srivastava" (or "chen-qin", '
                    '"cai-liu-xia", "dempster"), which takes more columns than rows.'
                ),
                options={"method": "srivastava"},
            ) from None
        if "collinear" in error.options:
            hint = f"Leave {listed(error.columns)} out of the formula."
            raise error.with_message(error.message, hint=hint, options={}) from None
        raise
    return line.manova()
