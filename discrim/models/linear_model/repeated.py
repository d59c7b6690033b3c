"""Repeated measures: responses that are one quantity under several conditions, and profiles of classes."""

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
from discrim.design.linear_model import within_terms
from discrim.errors import CollinearError, DataError
from discrim.inference.error_rates import check_level
from discrim.inference.manova import (
    Hypothesis,
    LeastSquares,
    Statistic,
    TestType,
    hypothesis_table,
    row_of_test,
)
from discrim.inference.repeated import (
    HuynhFeldt,
    contrasts_of,
    not_orthogonal,
    sphericity,
    univariate_row,
)
from discrim.models.base.displayed import Shown, displayed
from discrim.models.base.reading import check_test_type, check_word, listed, told
from discrim.models.linear_model.mlm_summary import profile_summary, profiles_of, repeated_summary
from discrim.models.linear_model.term_model import TermModel

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Summary


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """Contrasts (p, d) of the responses, and the model of the combinations that they are.

    The label is that of a term within rows, empty of the mean of all responses. The origin (d,) is what was
    taken from the combinations.
    """

    label: str
    model: TermModel
    contrasts: Floats
    estimates: LeastSquares
    origin: Floats

    @classmethod
    def of(cls, label: str, model: TermModel, contrasts: Floats) -> Stratum:
        """The stratum of some contrasts of the responses, in the unit of `unit_of`."""
        weights = contrasts * (model.unit / unit_of(model))[:, None]
        origin = model.origin[model.n_model - 1 :] / unit_of(model) @ contrasts
        numbers = model.estimates.combined(weights)
        if numbers.df >= len(numbers.error) and numbers.dependent():
            raise CollinearError(
                f"Given the model, contrasts of the responses{f' of {label!r}' if label else ''} are "
                "fitted exactly, or follow from others.",
                hint=f"Leave out responses that others determine ({listed(model.responses)}).",
            )
        return cls(label, model, contrasts, numbers, origin)

    def hypothesis(self, term: int | None, kind: TestType) -> Hypothesis:
        """That a term of the model, or its constant, makes no difference to the contrasts."""
        if term is None:
            return self.model.of_constant(self.estimates, self.origin, kind)
        if kind == 3:
            self.model.refuse_lacking()
        return self.estimates.hypothesis(term, kind)

    def terms(self, kind: TestType) -> Iterator[tuple[str, Hypothesis]]:
        """The hypothesis of the constant and of each term of the model, and what each is called."""
        yield self.label or "constant", self.hypothesis(None, kind)
        for j, label in enumerate(self.model.labels):
            yield f"{label}:{self.label}" if self.label else label, self.hypothesis(j, kind)


def unit_of(model: TermModel) -> float:
    """The power of two that combinations of all responses are in."""
    return float(model.unit.max())


class _WithMeans(Shown):
    """What profiles and repeated measures have alike: means of the responses by the cells of a term."""

    _model: TermModel

    def _shown_term(self, term: str | None) -> int:
        """Position of the term whose cells have means: of most factors, if none is named."""
        model = self._model
        if term is not None or len(model.terms) == 1:
            return model.position(term)
        at = [j for j in range(len(model.terms)) if len(model.cells(j)[1])]
        if not at:
            raise DataError("No term has cells.", hint=f"Name one of {listed(model.labels, 20)} in term=.")
        return max(at, key=lambda j: len(model.terms[j].categories))

    def _means(self, at: int, level: float) -> pd.DataFrame:
        check_level(level)
        model = self._model
        cells, counts, means = model.cells(at)
        if cells is None:
            raise DataError(
                f"The term {model.labels[at]!r} has no cells whose means the model knows.",
                hint="Name a term of factors, with all interactions between them in the model.",
            )
        one = len(model.terms[at].categories) == 1
        labels = [cell[0] if one else ":".join(map(str, cell)) for cell in cells.labels]
        sd = np.sqrt((model.estimates.error**2).sum(axis=0) / model.estimates.df) * model.unit
        with np.errstate(divide="ignore"):
            se = sd / np.sqrt(counts)[:, None]
        mean = model.in_units(means)
        half = t_isf((1 - level) / 2, model.estimates.df) * se
        index = pd.MultiIndex.from_product([labels, model.responses], names=[model.labels[at], "response"])
        columns = {"mean": mean, "se": se, "low": mean - half, "high": mean + half}
        table = pd.DataFrame({name: each.ravel() for name, each in columns.items()}, index=index)
        return table.dropna(subset="mean")


class ProfileResults(_WithMeans):
    """Profile analysis: what the classes, or the levels of a term, do to a row of responses in one unit.

    Attributes
    ----------
    formula : str
    term : str
        The term whose levels are compared.
    type : int
        Type of the sums of squares.
    responses : Index
        The responses, in the order in which they are joined to profiles.
    nobs : float
        Rows used, or the sum of their weights.
    df_resid : float
    """

    _FIRST_SECTIONS = ("header", "tests")

    def __init__(self, model: TermModel, at: int, kind: TestType) -> None:
        p = len(model.responses)
        if p < 2:
            raise DataError(
                f"A profile joins two responses or more, and the model has one, {model.responses[0]!r}.",
                hint="Name more on the right side of the formula.",
            )
        self._model = model
        self._at = at
        self._kind = kind
        self.formula: str = model.design_rows.design.formula
        self.term = model.labels[at]
        self.type = int(kind)
        self.responses = model.responses
        self.nobs = model.total
        self.df_resid = model.estimates.df
        steps = Stratum.of("", model, np.diff(np.eye(p), axis=0).T)
        mean = Stratum.of("", model, np.full((p, 1), 1 / p))
        self._tested = {
            "parallelism": (steps.estimates, steps.hypothesis(at, kind)),
            "level": (mean.estimates, mean.hypothesis(at, kind)),
            "flatness": (steps.estimates, steps.hypothesis(None, kind)),
        }

    @displayed(eta2="share")
    def tests(self, test: Statistic = "wilks") -> pd.DataFrame:
        """The three tests of a profile analysis, each by one multivariate statistic.

        Parameters
        ----------
        test : {"pillai", "wilks", "hotelling-lawley", "roy"}
            The multivariate statistic. For level and flatness, and of two classes for parallelism too, all
            four have one exact F, which is that of Hotelling's T2.

        Returns
        -------
        DataFrame by hypothesis
            parallelism, level and flatness: df, statistic, F, df1, df2, p, F_is, and partial eta squared.
        """
        check_word("test", test, Statistic)
        rows = {name: row_of_test(*pair, test) for name, pair in self._tested.items()}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="hypothesis")

    @displayed()
    def manova(self) -> pd.DataFrame:
        """All four multivariate statistics of each of the three hypotheses.

        Returns
        -------
        DataFrame by (hypothesis, test)
            The columns of `discrim.manova`.
        """
        tables = {name: hypothesis_table(*pair) for name, pair in self._tested.items()}
        return pd.concat(tables, names=["hypothesis", "test"])

    @displayed(mean="general")
    def means(self, level: float = 0.95) -> pd.DataFrame:
        """The profiles: the mean of each response in each class, as observed, with its interval.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent. Each is Student's t interval of one mean, with
            the variance of the residuals.

        Returns
        -------
        DataFrame by (class, response)
            mean, se, low, high. Cells without rows are left out.
        """
        return self._means(self._at, level)

    @displayed()
    def tidy(self, test: Statistic = "wilks") -> pd.DataFrame:
        """The three tests under broom's names.

        Parameters
        ----------
        test : {"pillai", "wilks", "hotelling-lawley", "roy"}
            The multivariate statistic.
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
        """The mean profiles of the classes, with an interval at each mean.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent. Each is that of one mean; see `means`.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes
        """
        return profiles_of(self.means(level), self.term, level, ax, title)


class RepeatedResults(_WithMeans):
    """Responses that are one quantity under several conditions: terms between rows by terms within them.

    Attributes
    ----------
    formula : str
    within : DataFrame by response
        The design within rows.
    terms : Index
        The terms within rows.
    responses : Index
    nobs : float
        Rows used, or the sum of their weights.
    df_resid : float
    """

    _FIRST_SECTIONS = ("header", "tests", "univariate")

    def __init__(self, model: TermModel, within: Any, design: str | None) -> None:
        self._model = model
        self.formula: str = model.design_rows.design.formula
        self.responses = model.responses
        self.nobs = model.total
        self.df_resid = model.estimates.df
        table = _design_table(within, model.responses)
        self.within = table.frame(list(table.names)).set_axis(model.responses, axis=0)
        taken = {"constant", *(label for each in model.labels for label in each.split(":"))}
        if twice := [name for name in table.names if name in taken]:
            raise DataError(
                f"Column {twice[0]!r} of within= has the name of a term between rows.",
                hint="Rename the column.",
                columns=(twice[0],),
            )
        contrasts = _contrasts(table, self.within, design)
        self.terms = pd.Index(list(contrasts)[1:])
        self._strata = [Stratum.of(label, model, each) for label, each in contrasts.items()]

    def _all(self, type: int | str) -> Iterator[tuple[str, Stratum, Hypothesis]]:
        """Each term, between rows and within them, with its stratum and its hypothesis."""
        kind = check_test_type(type)
        for stratum in self._strata:
            for label, hypothesis in stratum.terms(kind):
                yield label, stratum, hypothesis

    @displayed(eta2="share")
    def tests(self, test: Statistic = "pillai", type: int | str = 2) -> pd.DataFrame:
        """One multivariate test of each term, as a table of R's `car::Anova`; it needs no sphericity.

        Parameters
        ----------
        test : {"pillai", "wilks", "hotelling-lawley", "roy"}
            The multivariate statistic.
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments. A term within rows alone is that of
            the mean over all rows; by type 3, of the mean in which each level counts alike and covariates are
            zero.

        Returns
        -------
        DataFrame by term
            df, statistic, F, df1, df2, p, F_is, and the partial eta squared of that statistic.
        """
        check_word("test", test, Statistic)
        rows = {label: row_of_test(s.estimates, hypothesis, test) for label, s, hypothesis in self._all(type)}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="term")

    @displayed()
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
            label: hypothesis_table(s.estimates, hypothesis) for label, s, hypothesis in self._all(type)
        }
        return pd.concat(tables, names=["term", "test"])

    @displayed(GG="share", HF="share", eta2="share", eta2_generalized="share")
    def univariate(self, type: int | str = 2, *, huynh_feldt: HuynhFeldt = "lecoutre") -> pd.DataFrame:
        """The univariate test of each term, with the corrections of Greenhouse and Geisser, Huynh and Feldt.

        Parameters
        ----------
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.
        huynh_feldt : {"lecoutre", "1976"}
            The estimate of eps: as Lecoutre corrected it for several groups, as R's car, afex and newer SPSS
            have it, or that of the paper of 1976. For one group of rows the two are the same.

        Returns
        -------
        DataFrame by term
            SS, df1, SS_error, df2, F, then p without correction (it assumes sphericity), p_GG and p_HF,
            whose degrees of freedom are multiplied by GG and HF, the estimates of eps; partial and
            generalized eta squared. An HF above one is shown as it is, and p_HF is that of one.
        """
        check_word("huynh_feldt", huynh_feldt, HuynhFeldt)
        unit = unit_of(self._model)
        total = self._model.total
        rows = {
            label: univariate_row(stratum.estimates, hypothesis, total, huynh_feldt)
            for label, stratum, hypothesis in self._all(type)
        }
        table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="term")
        errors = sum(float((stratum.estimates.error**2).sum()) for stratum in self._strata)
        table["eta2_generalized"] = table["SS"] / (table["SS"] + errors)
        # One factor after the other: a square beyond the range of doubles is infinite, and no error.
        squares = ["SS", "SS_error"]
        table[squares] = table[squares] * unit * unit
        return table

    @displayed(mauchly="share", GG="share", HF="share", lowest="share")
    def sphericity(self, *, huynh_feldt: HuynhFeldt = "lecoutre") -> pd.DataFrame:
        """Mauchly's test of sphericity, and the estimates of eps, of each term within rows.

        Parameters
        ----------
        huynh_feldt : {"lecoutre", "1976"}
            The estimate of eps; see `univariate`.

        Returns
        -------
        DataFrame by term
            mauchly (W), p, GG, HF, and lowest, the least that eps can be. A term of one degree of freedom is
            spherical, and has no test.
        """
        check_word("huynh_feldt", huynh_feldt, HuynhFeldt)
        rows = {}
        for stratum in self._strata[1:]:
            found = sphericity(stratum.estimates, self._model.total, huynh_feldt)
            row = {"mauchly": found.mauchly, "p": found.p, "GG": found.gg, "HF": found.hf}
            rows[stratum.label] = row | {"lowest": 1 / stratum.contrasts.shape[1]}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="term")

    @displayed(mean="general")
    def means(self, term: str | None = None, level: float = 0.95) -> pd.DataFrame:
        """Mean of each response in each cell of a term between rows, as observed, with its interval.

        Parameters
        ----------
        term : str, optional
            The term, such as "treatment:gender"; by default the one of most factors.
        level : float
            Level of the intervals: 0.95 stands for 95 percent. Each is Student's t interval of one mean, with
            the variance of the residuals.

        Returns
        -------
        DataFrame by (cell, response)
            mean, se, low, high. Cells without rows are left out.
        """
        return self._means(self._shown_term(term), level)

    @displayed()
    def tidy(self, type: int | str = 2, *, huynh_feldt: HuynhFeldt = "lecoutre") -> pd.DataFrame:
        """The univariate tests under broom's names.

        Parameters
        ----------
        type : {1, 2, 3}
            Type of the sums of squares; see the page on shared arguments.
        huynh_feldt : {"lecoutre", "1976"}
            The estimate of eps; see `univariate`.
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
            The estimate of eps; see `univariate`.
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
        """The mean profiles of the cells of a term between rows, with an interval at each mean.

        Parameters
        ----------
        term : str, optional
            The term, such as "treatment:gender"; by default the one of most factors.
        level : float
            Level of the intervals: 0.95 stands for 95 percent. Each is that of one mean; see `means`.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes
        """
        at = self._shown_term(term)
        return profiles_of(self._means(at, level), self._model.labels[at], level, ax, title)


def _design_table(within: Any, responses: pd.Index) -> Table:
    """The design within rows, a row for each response in their order."""
    try:
        table = Table(within)
    except DataError:
        raise DataError(
            f"within= is of type {type(within).__name__}.",
            hint=(
                "Give a DataFrame, or a dict of columns, with a row for each response and a column for "
                "each factor within rows."
            ),
        ) from None
    if not table.names:
        raise DataError("within= has no column.", hint="Give a factor a column, and a row for each response.")
    if table.nrows != len(responses):
        raise DataError(
            f"within= has {table.nrows} rows for {len(responses)} responses ({listed(responses)}).",
            hint="Give a row for each response, in the order of the formula.",
        )
    index = table.index
    if set(index) == set(responses) and list(index) != list(responses):
        # Labels that are the responses say themselves which row is whose.
        return Table(table.frame(list(table.names)).set_axis(index, axis=0).loc[list(responses)])
    lacking = [each for each in responses if each not in set(index)]
    # Where no label is a response, as of 0, 1 and so on, they say nothing.
    if 0 < len(lacking) < len(responses):
        raise DataError(
            f"The rows of within= are labelled {listed(index)}, and {told(lacking[0])} has none.",
            hint=(
                "Label each row by its response, or pass within=within.reset_index(drop=True), in the "
                "order of the formula."
            ),
        )
    return table


def _contrasts(table: Table, frame: pd.DataFrame, design: str | None) -> dict[str, Floats]:
    """The contrasts of the mean, which has no label, and of each term within rows."""
    p = len(frame)
    levels = 1
    codes: dict[str, Codes] = {}
    for name in table.names:
        column = frame[name]
        if column.isna().any():
            raise DataError(
                f"Column {name!r} of within= has no value for {frame.index[column.isna()][0]!r}.",
                hint="Fill it.",
                columns=(name,),
            )
        codes[name], found = pd.factorize(column)
        if len(found) < 2:
            raise DataError(
                f"Column {name!r} of within= has one level, {told(found[0])}.",
                hint="Leave it out.",
                columns=(name,),
            )
        levels *= len(found)
    if design is None and levels > p:
        raise DataError(
            f"within= crosses {levels} cells and there are {p} responses, so that not all interactions "
            f"of {listed(codes)} can be tested.",
            hint=f"Name the terms in design=, such as {' + '.join(codes)!r}.",
        )
    every = [each for k in range(1, len(codes) + 1) for each in combinations(codes, k)]
    contrasts = {"": np.full((p, 1), p**-0.5)}
    for term in every if design is None else within_terms(design, table):
        label = ":".join(term)
        columns = contrasts_of([codes[name] for name in term])
        if columns is None:
            raise DataError(
                f"The term {label!r} has cells without a response.",
                hint="Leave it out of design=, or give a response for each combination of levels.",
            )
        contrasts[label] = columns
    if pair := not_orthogonal(list(contrasts.values())):
        first, second = (list(contrasts)[at] or "the mean" for at in pair)
        raise DataError(
            f"In within= {second!r} is not orthogonal to {first!r}, so that their tests would overlap.",
            hint="Give each combination of levels equally many responses, or leave a term out by design=.",
        )
    return contrasts
