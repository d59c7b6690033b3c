"""Results of profile analyses and of repeated measures analyses.

`MLMResults.profile` and `MLMResults.repeated` return them. Both test the terms of a linear model on contrasts
of the responses; the statistics are in `discrim.inference.manova` and `discrim.inference.repeated`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import t_isf
from discrim.data.table import Table
from discrim.design.linear_model import parse_within_terms
from discrim.errors import CollinearError, DataError
from discrim.inference.error_rates import check_level
from discrim.inference.manova import (
    Hypothesis,
    LeastSquares,
    Statistic,
    TestType,
    hypothesis_row,
    hypothesis_table,
)
from discrim.inference.repeated import (
    HuynhFeldt,
    find_nonorthogonal,
    interaction_contrasts,
    sphericity,
    univariate_row,
)
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.reading import check_test_type, check_word, format_argument, join_labels
from discrim.models.linear_model.mlm_summary import plot_profiles, profile_summary, repeated_summary
from discrim.models.linear_model.term_model import TermModel

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Summary


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """Contrasts of the responses that belong to one within-subject term, with their linear model.

    Attributes
    ----------
    label : str
        Label of the within-subject term; empty for the mean of all responses, and in a profile analysis.
    model : TermModel
        Linear model of the p responses.
    contrasts : (p, d) float
        Coefficients of the d contrasts, in columns.
    estimates : LeastSquares
        Estimates of the linear model of the contrasts of the shifted responses, divided by `common_unit`.
    origin : (d,) float
        Values of the contrasts at the origin of the shifted responses, divided by `common_unit`.
    """

    label: str
    model: TermModel
    contrasts: Floats
    estimates: LeastSquares
    origin: Floats

    @classmethod
    def from_contrasts(cls, label: str, model: TermModel, contrasts: Floats) -> Stratum:
        """Fit the linear model of contrasts of the responses, divided by `common_unit`.

        Parameters
        ----------
        label : str
            Label of the within-subject term; empty without one.
        model : TermModel
        contrasts : (p, d) float

        Returns
        -------
        Stratum
            With estimates for the contrasts.

        Raises
        ------
        CollinearError
            The contrasts have a singular residual covariance matrix. It is not checked if there are fewer
            residual degrees of freedom than contrasts.
        """
        weights = contrasts * (model.unit / common_unit(model))[:, None]
        origin = model.origin[model.n_model - 1 :] / common_unit(model) @ contrasts
        estimates = model.estimates.for_response_combinations(weights)
        if estimates.df >= len(estimates.error_root) and estimates.dependent_responses():
            raise CollinearError(
                f"Contrasts of the responses{f' for {label!r}' if label else ''} are fitted exactly by the "
                "model, or are linear combinations of other contrasts.",
                hint=f"Leave out responses that others determine ({join_labels(model.responses)}).",
            )
        return cls(label, model, contrasts, estimates, origin)

    def hypothesis(self, term: int | None, test_type: TestType) -> Hypothesis:
        """Return the hypothesis that a term has no effect on the contrasts.

        Parameters
        ----------
        term : int or None
            Position of the between-subject term; None for the constant, the hypothesis that the means of the
            contrasts are zero.
        test_type : {1, 2, 3}

        Returns
        -------
        Hypothesis
            For tests with `estimates`.

        Raises
        ------
        NotSupportedError
            The type is III, and a term has fewer degrees of freedom than columns.
        """
        if term is None:
            return self.model.constant_hypothesis(self.estimates, self.origin, test_type)
        if test_type == 3:
            self.model.raise_if_deficient_terms()
        return self.estimates.term_hypothesis(term, test_type)

    def term_hypotheses(self, test_type: TestType) -> Iterator[tuple[str, Hypothesis]]:
        """Yield label and hypothesis of the constant and of each between-subject term.

        Labels are "w" and "a:w" for the stratum "w" and the term "a", and "constant" and "a" without a label.
        """
        yield self.label or "constant", self.hypothesis(None, test_type)
        for j, label in enumerate(self.model.labels):
            yield f"{label}:{self.label}" if self.label else label, self.hypothesis(j, test_type)


def common_unit(model: TermModel) -> float:
    """Return the largest of the powers of two in `TermModel.unit`, by which contrasts are divided."""
    return float(model.unit.max())


class _CellMeansResults(SummarizedResults):
    """Base class of results with means of the responses by cell of a between-subject term.

    Subclasses set `_model`, the linear model of the responses.
    """

    _model: TermModel

    def _position_with_cells(self, term: str | None) -> int | None:
        """Return the position of a term; None selects the only term, or else a term with cells.

        Of several terms with cells it is the first with the largest number of categorical factors. For a
        model without terms the result is None. Raises DataError for an unknown term, or if `term` is None,
        there are several, and none has cells.
        """
        model = self._model
        if term is None and not model.terms:
            return None
        if term is not None or len(model.terms) == 1:
            return model.position(term)
        positions = [j for j in range(len(model.terms)) if len(model.cells(j)[1])]
        if not positions:
            raise DataError(
                "No term of the model has cells.",
                hint=f"Name one of {join_labels(model.labels, 20)} in term=.",
            )
        return max(positions, key=lambda j: len(model.terms[j].categories))

    def _means(self, position: int | None, level: float) -> pd.DataFrame:
        """Return means of the responses by cell of a term, with standard errors and confidence intervals.

        Parameters
        ----------
        position : int or None
            Position of the term; None for the means of all observations, a single cell "all".
        level : float
            Level of the confidence intervals.

        Returns
        -------
        DataFrame by (cell, response)
            mean (as observed), se, low, high, in the units of the responses; without empty cells. se is the
            residual standard deviation divided by the square root of the size of the cell; limits are by t.

        Raises
        ------
        DataError
            The level is invalid, or the term lacks cells (see `TermModel.cells`).
        """
        check_level(level)
        model = self._model
        labels: list[Any] = ["all"]
        counts, means = np.array([model.total]), model.mean()[None, :]
        if position is not None:
            cells, counts, means = model.cells(position)
            if cells is None:
                raise DataError(
                    f"The means by cell of the term {model.labels[position]!r} are not available.",
                    hint="Name a term of factors whose interactions are all in the model.",
                )
            is_single_factor = len(model.terms[position].categories) == 1
            labels = [cell[0] if is_single_factor else ":".join(map(str, cell)) for cell in cells.labels]
        sd = np.sqrt((model.estimates.error_root**2).sum(axis=0) / model.estimates.df) * model.unit
        with np.errstate(divide="ignore"):
            se = sd / np.sqrt(counts)[:, None]
        mean = model.to_response_units(means)
        half_width = t_isf((1 - level) / 2, model.estimates.df) * se
        index = pd.MultiIndex.from_product(
            [labels, model.responses], names=[self._term_of_means(position), "response"]
        )
        columns = {"mean": mean, "se": se, "low": mean - half_width, "high": mean + half_width}
        table = pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)
        return table.dropna(subset="mean")

    def _term_of_means(self, position: int | None) -> str:
        """Return the label of the term at a position; "observations" for the means of all."""
        return "observations" if position is None else self._model.labels[position]


class ProfileResults(_CellMeansResults):
    """Profile analysis: comparison of the profiles of mean responses of the levels of a term.

    Attributes
    ----------
    formula : str
    term : str
        The term whose levels are compared.
    type : int
        Type of the sums of squares.
    responses : Index
        The responses, in their order along the profiles.
    nobs : float
        Number of observations, or the sum of their weights.
    df_resid : float
        Residual degrees of freedom.
    """

    _FIRST_SECTIONS = ("header", "tests")

    def __init__(self, model: TermModel, position: int, test_type: TestType) -> None:
        """Test parallelism, level and flatness.

        Parameters
        ----------
        model : TermModel
            Linear model of at least two responses.
        position : int
            Position of the term whose levels are compared.
        test_type : {1, 2, 3}
            Type of the sums of squares.

        Raises
        ------
        DataError
            There is only one response.
        CollinearError
            Differences of successive responses, or their mean, have a singular residual covariance matrix.
        NotSupportedError
            The type is III, and a term has fewer degrees of freedom than columns.
        """
        p = len(model.responses)
        if p < 2:
            raise DataError(
                f"A profile analysis requires at least two responses, but the model has only "
                f"{model.responses[0]!r}.",
                hint="Name more responses on the right side of the formula.",
            )
        self._model = model
        self._position = position
        self._test_type = test_type
        self.formula: str = model.design_rows.design.formula
        self.term = model.labels[position]
        self.type = int(test_type)
        self.responses = model.responses
        self.nobs = model.total
        self.df_resid = model.estimates.df
        differences = Stratum.from_contrasts("", model, np.diff(np.eye(p), axis=0).T)
        mean = Stratum.from_contrasts("", model, np.full((p, 1), 1 / p))
        self._hypotheses = {
            "parallelism": (differences.estimates, differences.hypothesis(position, test_type)),
            "level": (mean.estimates, mean.hypothesis(position, test_type)),
            "flatness": (differences.estimates, differences.hypothesis(None, test_type)),
        }

    @with_display_formats(eta2="share")
    def tests(self, test: Statistic = "wilks") -> pd.DataFrame:
        """The three tests of a profile analysis, each by one multivariate statistic.

        Parameters
        ----------
        test : {"pillai", "wilks", "hotelling-lawley", "roy"}
            The multivariate statistic. For level and flatness, and for parallelism of two classes, all four
            have the same exact F as Hotelling's T2.

        Returns
        -------
        DataFrame by hypothesis
            For parallelism, level and flatness: df, statistic, F, df1, df2, p, F_is ("exact", "approximate",
            "upper bound" or "not defined"), and eta2, partial eta squared.
        """
        check_word("test", test, Statistic)
        rows = {name: hypothesis_row(*pair, test) for name, pair in self._hypotheses.items()}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="hypothesis")

    @with_display_formats()
    def manova(self) -> pd.DataFrame:
        """All four multivariate statistics of parallelism, level and flatness.

        Returns
        -------
        DataFrame by (hypothesis, test)
            The columns of `discrim.manova`.
        """
        tables = {name: hypothesis_table(*pair) for name, pair in self._hypotheses.items()}
        return pd.concat(tables, names=["hypothesis", "test"])

    @with_display_formats(mean="general")
    def means(self, level: float = 0.95) -> pd.DataFrame:
        """Profiles: observed mean of each response in each class, with confidence interval.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent. They are t intervals of single means by the
            residual variance.

        Returns
        -------
        DataFrame by (class, response)
            mean, se, low, high. Cells without rows are left out.

        Raises
        ------
        DataError
            `level` is invalid, or the term lacks cells, for example a covariate.
        """
        return self._means(self._position, level)

    @with_display_formats()
    def tidy(self, test: Statistic = "wilks") -> pd.DataFrame:
        """The three tests with the column names of R's broom.

        Parameters
        ----------
        test : {"pillai", "wilks", "hotelling-lawley", "roy"}
            The multivariate statistic.

        Returns
        -------
        DataFrame
            term (the hypothesis), df, the statistic under its name ("hotelling_lawley"), statistic (F),
            num_df, den_df, p_value.
        """
        table = self.tests(test).reset_index()
        names = {"hypothesis": "term", "statistic": test.replace("-", "_"), "F": "statistic"}
        names |= {"df1": "num_df", "df2": "den_df", "p": "p_value"}
        return table.rename(columns=names).drop(columns=["F_is", "eta2"])

    def summary(self, sections: Any = None) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the tables wanted, in order, such as "tests"; by default all.
        """
        return profile_summary(self, sections)

    def plot(self, *, level: float = 0.95, ax: Axes | None = None, title: str | None = None) -> Axes:
        """Plot the mean profiles of the classes, with confidence intervals of the means.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent; see `means`.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes
        """
        return plot_profiles(self.means(level), self.term, level, ax, title)


class RepeatedResults(_CellMeansResults):
    """Repeated measures analysis: tests of between-subject terms, within-subject terms and interactions.

    Each row of the table is a subject, and the responses are its measurements.

    Attributes
    ----------
    formula : str
    within : DataFrame, responses by within-subject factors
        Within-subject design.
    terms : Index
        Within-subject terms, without their interactions with between-subject terms.
    responses : Index
    nobs : float
        Number of observations (subjects), or the sum of their weights.
    df_resid : float
        Residual degrees of freedom.
    """

    _FIRST_SECTIONS = ("header", "tests", "univariate")

    def __init__(self, model: TermModel, within: Any, design: str | None) -> None:
        """Fit the linear model of the contrasts of each within-subject term.

        Parameters
        ----------
        model : TermModel
            Linear model of the responses.
        within : table
            Within-subject design.
        design : str or None
            Within-subject terms as a formula; None for all factors and interactions.

        Raises
        ------
        DataError
            The design is invalid, or a factor has the name of a between-subject factor or "constant".
        FormulaError
            `design` cannot be read.
        CollinearError
            The contrasts of a term have a singular residual covariance matrix.
        """
        self._model = model
        self.formula: str = model.design_rows.design.formula
        self.responses = model.responses
        self.nobs = model.total
        self.df_resid = model.estimates.df
        table = _within_table(within, model.responses)
        self.within = table.frame(list(table.names)).set_axis(model.responses, axis=0)
        between_names = {"constant", *(label for basis in model.labels for label in basis.split(":"))}
        if repeated_names := [name for name in table.names if name in between_names]:
            raise DataError(
                f"Column {repeated_names[0]!r} of within= has the name of a between-subject term.",
                hint="Rename the column.",
                columns=(repeated_names[0],),
            )
        contrasts = _within_contrasts(table, self.within, design)
        self.terms = pd.Index(list(contrasts)[1:])
        self._strata = [Stratum.from_contrasts(label, model, basis) for label, basis in contrasts.items()]

    def _term_hypotheses(self, type: int | str) -> Iterator[tuple[str, Stratum, Hypothesis]]:
        """Yield (label, stratum, hypothesis) of each between- or within-subject term and interaction.

        The first label is "constant", the test that the mean of all responses is zero. Raises DataError if
        `type` is invalid, and NotSupportedError for type 3 if a term has fewer degrees of freedom than
        columns.
        """
        test_type = check_test_type(type)
        for stratum in self._strata:
            for label, hypothesis in stratum.term_hypotheses(test_type):
                yield label, stratum, hypothesis

    @with_display_formats(eta2="share")
    def tests(self, test: Statistic = "pillai", type: int | str = 2) -> pd.DataFrame:
        """One multivariate test of each term, like R's `car::Anova`; it does not assume sphericity.

        Parameters
        ----------
        test : {"pillai", "wilks", "hotelling-lawley", "roy"}
            The multivariate statistic.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments. With types 1 and 2, a
            within-subject term refers to the mean over all subjects; with type 3, to the unweighted mean over
            the levels at covariates of zero.

        Returns
        -------
        DataFrame by term
            df, statistic, F, df1, df2, p, F_is ("exact", "approximate", "upper bound" or "not defined"), and
            eta2, partial eta squared by this statistic. The term "constant" tests that the mean of all
            responses is zero.
        """
        check_word("test", test, Statistic)
        rows = {
            label: hypothesis_row(s.estimates, hypothesis, test)
            for label, s, hypothesis in self._term_hypotheses(type)
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="term")

    @with_display_formats()
    def manova(self, type: int | str = 2) -> pd.DataFrame:
        """All four multivariate statistics of each term.

        Parameters
        ----------
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.

        Returns
        -------
        DataFrame by (term, test)
            The columns of `discrim.manova`.
        """
        tables = {
            label: hypothesis_table(s.estimates, hypothesis)
            for label, s, hypothesis in self._term_hypotheses(type)
        }
        return pd.concat(tables, names=["term", "test"])

    @with_display_formats(GG="share", HF="share", eta2="share", eta2_generalized="share")
    def univariate(self, type: int | str = 2, *, huynh_feldt: HuynhFeldt = "lecoutre") -> pd.DataFrame:
        """Univariate test of each term, with the corrections of Greenhouse and Geisser and Huynh and Feldt.

        Parameters
        ----------
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.
        huynh_feldt : {"lecoutre", "1976"}
            Estimate of epsilon by Huynh and Feldt: with Lecoutre's correction for several groups, like R's
            car and afex and newer versions of SPSS, or without it, as published in 1976. They agree for a
            single group of subjects.

        Returns
        -------
        DataFrame by term
            SS, df1, SS_error, df2, F, p (which assumes sphericity), p_GG and p_HF (with degrees of freedom
            multiplied by GG and HF, the estimates of epsilon), GG, HF, eta2 (partial, SS / (SS + SS_error))
            and eta2_generalized, which has the error sums of squares of all strata in the denominator. HF may
            exceed 1; p_HF then uses 1.
        """
        check_word("huynh_feldt", huynh_feldt, HuynhFeldt)
        unit = common_unit(self._model)
        total = self._model.total
        rows = {
            label: univariate_row(stratum.estimates, hypothesis, total, huynh_feldt)
            for label, stratum, hypothesis in self._term_hypotheses(type)
        }
        table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="term")
        errors = sum(float((stratum.estimates.error_root**2).sum()) for stratum in self._strata)
        table["eta2_generalized"] = table["SS"] / (table["SS"] + errors)
        # Multiply twice: the square of the unit alone could overflow although the result does not.
        squares = ["SS", "SS_error"]
        table[squares] = table[squares] * unit * unit
        return table

    @with_display_formats(mauchly="share", GG="share", HF="share", lowest="share")
    def sphericity(self, *, huynh_feldt: HuynhFeldt = "lecoutre") -> pd.DataFrame:
        """Mauchly's test of sphericity and the estimates of epsilon for each within-subject term.

        Parameters
        ----------
        huynh_feldt : {"lecoutre", "1976"}
            Estimate of epsilon; see `univariate`.

        Returns
        -------
        DataFrame by term
            mauchly (W), p, GG, HF, and lowest, the lower bound of epsilon. A term with one degree of freedom
            is always spherical, and W and p are missing.
        """
        check_word("huynh_feldt", huynh_feldt, HuynhFeldt)
        rows = {}
        for stratum in self._strata[1:]:
            sphericity_result = sphericity(stratum.estimates, self._model.total, huynh_feldt)
            row = {
                "mauchly": sphericity_result.mauchly,
                "p": sphericity_result.p,
                "GG": sphericity_result.gg,
                "HF": sphericity_result.hf,
            }
            rows[stratum.label] = row | {"lowest": 1 / stratum.contrasts.shape[1]}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="term")

    @with_display_formats(mean="general")
    def means(self, term: str | None = None, level: float = 0.95) -> pd.DataFrame:
        """Observed mean of each response in each cell of a between-subject term, with confidence interval.

        Parameters
        ----------
        term : str, optional
            The term, such as "treatment:gender"; by default the one with most factors. Without any term, the
            means are over all observations, a cell "all".
        level : float
            Level of the intervals: 0.95 stands for 95 percent. They are t intervals of single means by the
            residual variance.

        Returns
        -------
        DataFrame by (cell, response)
            mean, se, low, high. Cells without rows are left out.

        Raises
        ------
        DataError
            `level` is invalid, the term is unknown, or no term, or not this one, has cells.
        """
        return self._means(self._position_with_cells(term), level)

    @with_display_formats()
    def tidy(self, type: int | str = 2, *, huynh_feldt: HuynhFeldt = "lecoutre") -> pd.DataFrame:
        """The univariate tests with the column names of R's broom.

        Parameters
        ----------
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.
        huynh_feldt : {"lecoutre", "1976"}
            Estimate of epsilon; see `univariate`.

        Returns
        -------
        DataFrame
            The columns of `univariate`: term, sumsq, num_df, sumsq_error, den_df, statistic (F), p_value,
            p_value_gg, p_value_hf; the others keep their names.
        """
        names = {"SS": "sumsq", "df1": "num_df", "SS_error": "sumsq_error", "df2": "den_df"}
        names |= {"F": "statistic", "p": "p_value", "p_GG": "p_value_gg", "p_HF": "p_value_hf"}
        return self.univariate(type, huynh_feldt=huynh_feldt).rename(columns=names).reset_index()

    def summary(
        self, sections: Any = None, *, type: int | str = 2, huynh_feldt: HuynhFeldt = "lecoutre"
    ) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the tables wanted, in order, such as "tests"; by default all.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.
        huynh_feldt : {"lecoutre", "1976"}
            Estimate of epsilon; see `univariate`.
        """
        return repeated_summary(self, sections, type, huynh_feldt)

    def plot(
        self,
        term: str | None = None,
        *,
        level: float = 0.95,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Axes:
        """Plot the mean profiles of the cells of a between-subject term, with confidence intervals.

        Parameters
        ----------
        term : str, optional
            The term, such as "treatment:gender"; by default the one with most factors.
        level : float
            Level of the intervals: 0.95 stands for 95 percent; see `means`.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes
        """
        position = self._position_with_cells(term)
        return plot_profiles(self._means(position, level), self._term_of_means(position), level, ax, title)


def _within_table(within: Any, responses: pd.Index) -> Table:
    """Return the within-subject design as a table with a row for each response, in their order.

    Parameters
    ----------
    within : table
        The argument of the user. Rows are matched by name if the index contains all responses; an index
        without any response is ignored.
    responses : Index

    Returns
    -------
    Table
        Its rows are in the order of the responses.

    Raises
    ------
    DataError
        It is not a table, lacks columns or has another number of rows, or its index contains only some
        responses.
    """
    try:
        table = Table(within)
    except DataError:
        raise DataError(
            f"within= is not a table (type {type(within).__name__}).",
            hint=(
                "Pass a DataFrame, or a dict of columns, with a row for each response and a column for each "
                "within-subject factor."
            ),
        ) from None
    if not table.names:
        raise DataError(
            "within= has no columns.", hint="Pass a column for each factor and a row for each response."
        )
    if table.nrows != len(responses):
        raise DataError(
            f"within= has {table.nrows} rows, but there are {len(responses)} responses "
            f"({join_labels(responses)}).",
            hint="Pass one row for each response, in the order of the formula.",
        )
    index = table.index
    if set(index) == set(responses) and list(index) != list(responses):
        # The index contains the names of the responses: match rows by name.
        return Table(table.frame(list(table.names)).set_axis(index, axis=0).loc[list(responses)])
    unlabelled = [response for response in responses if response not in set(index)]
    # An index without any response, such as 0, 1, ..., is ignored.
    if 0 < len(unlabelled) < len(responses):
        raise DataError(
            f"The index of within= is {join_labels(index)} and lacks the response "
            f"{format_argument(unlabelled[0])}.",
            hint=(
                "Label each row by its response, or pass within=within.reset_index(drop=True) with rows in "
                "the order of the formula."
            ),
        )
    return table


def _within_contrasts(table: Table, frame: pd.DataFrame, design: str | None) -> dict[str, Floats]:
    """Return orthonormal contrasts of the mean and of each within-subject term.

    Parameters
    ----------
    table : Table
        Within-subject design.
    frame : DataFrame, responses by factors
        The same design, indexed by response.
    design : str or None
        Within-subject terms as a formula; None for all factors and interactions.

    Returns
    -------
    dict of str to (p, d) float
        Contrasts by label of the term such as "phase:hour", in columns of unit length. The mean of all
        responses comes first and has the label "".

    Raises
    ------
    DataError
        A factor has a missing value or only one level, a term has combinations of levels without a response,
        contrasts of two terms are not orthogonal, or there are too few responses for all interactions.
    FormulaError
        `design` cannot be read.
    """
    p = len(frame)
    levels = 1
    codes: dict[str, Codes] = {}
    for name in table.names:
        column = frame[name]
        if column.isna().any():
            raise DataError(
                f"Column {name!r} of within= has a missing value for {frame.index[column.isna()][0]!r}.",
                hint="Fill it in.",
                columns=(name,),
            )
        codes[name], factor_levels = pd.factorize(column)
        if len(factor_levels) < 2:
            raise DataError(
                f"Column {name!r} of within= has only one level, {format_argument(factor_levels[0])}.",
                hint="Leave it out.",
                columns=(name,),
            )
        levels *= len(factor_levels)
    if design is None and levels > p:
        raise DataError(
            f"The factors {join_labels(codes)} of within= have {levels} combinations of levels, but there "
            f"are only {p} responses, so not all interactions can be tested.",
            hint=f"Name the terms to test in design=, such as {' + '.join(codes)!r}.",
        )
    all_terms = [names for k in range(1, len(codes) + 1) for names in combinations(codes, k)]
    contrasts = {"": np.full((p, 1), p**-0.5)}
    for term in all_terms if design is None else parse_within_terms(design, table):
        label = ":".join(term)
        columns = interaction_contrasts([codes[name] for name in term])
        if columns is None:
            raise DataError(
                f"The term {label!r} of within= has combinations of levels without a response.",
                hint="Leave the term out of design=, or add a response for each combination of levels.",
            )
        contrasts[label] = columns
    if pair := find_nonorthogonal(list(contrasts.values())):
        first, second = (list(contrasts)[position] or "the mean" for position in pair)
        raise DataError(
            f"In within=, {second!r} is not orthogonal to {first!r}, and their tests would not be separate.",
            hint=(
                "Use the same number of responses for each combination of levels, or leave a term out of "
                "design=."
            ),
        )
    return contrasts
