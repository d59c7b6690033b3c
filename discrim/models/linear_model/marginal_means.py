"""Marginal means of a multivariate linear model, and comparisons of them.

`MLMResults.marginal_means` returns the results of this module. The estimates are computed in
`discrim.inference.marginal_means`, the reference grid in `discrim.design.reference_grid`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from discrim.core.moments.moments import gather
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.special import f_sf, t_isf, t_sf
from discrim.design.reference_grid import ReferenceGrid, append_table_columns
from discrim.errors import DataError, NotSupportedError
from discrim.formula.grammar import expression
from discrim.inference.effect_sizes import (
    Simultaneous,
    greatest_root_pvalues,
    simultaneous_method,
    simultaneous_pvalues,
    simultaneous_quantile,
)
from discrim.inference.error_rates import check_level
from discrim.inference.marginal_means import Combinations, ContrastName, named_contrasts
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.reading import check_word, format_argument, join_labels
from discrim.models.discriminant.normal_results import adjust_pvalues
from discrim.models.linear_model.term_model import TermModel
from discrim.report.grid import Section
from discrim.report.plots.bars import draw_profiles
from discrim.report.plots.style import set_title
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

CellWeights = Literal["equal", "proportional"]
"""Weights of the levels of the factors over which marginal means are averaged."""

ASSUMPTIONS = (
    "Standard errors and intervals assume normal errors with equal covariance matrices in all cells."
)


class MarginalMeansResults(SummarizedResults):
    """Marginal means (least-squares means) of the levels of factors, and contrasts between them.

    Attributes
    ----------
    formula : str
    factors : tuple of str
        Factors whose levels, or combinations of levels, have a mean.
    by : tuple of str
        Factors at each of whose levels the others are compared.
    responses : Index
    covariates : Series
        Values of the covariates, by column of the table.
    weights : str
        "equal" or "proportional", the weights of the levels of all other factors.
    level : float
        Level of the intervals.
    df_resid : float
        Residual degrees of freedom.
    """

    def __init__(
        self,
        model: TermModel,
        factors: str | Sequence[str],
        by: str | Sequence[str] | None,
        at: Mapping[str, float] | None,
        weights: CellWeights,
        level: float,
    ) -> None:
        """Compute the combinations of coefficients that are the means.

        The arguments are those of `MLMResults.marginal_means`, after the model.

        Raises
        ------
        DataError
            A factor, covariate, value or option is unknown or not valid.
        NotSupportedError
            Proportional weights require a term that the model lacks, or means of covariates require rows that
            an unpickled model lacks.
        """
        check_level(level)
        check_word("weights", weights, CellWeights)
        grid = ReferenceGrid(model.design_rows, model.n_model - 1)
        by_codes = [_factor_code(model, grid, name) for name in _factor_names(by)]
        own_codes = [_factor_code(model, grid, name) for name in _factor_names(factors)]
        codes = by_codes + own_codes
        if not own_codes or len(set(codes)) < len(codes):
            raise DataError(
                f"factors={format_argument(factors)} and by={format_argument(by)} do not name different "
                "factors.",
                hint=_factor_hint(model, grid),
            )
        self._model = model
        self.formula: str = model.design_rows.design.formula
        self.factors = tuple(map(model.factor_label, own_codes))
        self.by = tuple(map(model.factor_label, by_codes))
        self.responses = model.responses
        covariates = _covariate_values(model, grid, {} if at is None else at)
        self.covariates = pd.Series(covariates, dtype=np.float64)
        self.weights = weights
        self.level = level
        self.df_resid = model.estimates.df
        column_means = model.column_means() if weights == "proportional" else None
        self._cells, combinations = grid.combinations(codes, covariates, column_means)
        self._combinations = model.to_scaled_columns(combinations)
        self._groups = list(product(*(grid.levels[code] for code in by_codes)))
        own_cells = product(*(grid.levels[code] for code in own_codes))
        self._labels = [cell[0] if len(cell) == 1 else _join_levels(cell) for cell in own_cells]
        self._averaged = [model.factor_label(code) for code in grid.levels if code not in codes]
        self._interactions = [
            term.label
            for term in model.terms
            if term.factors.intersection(own_codes) and not term.factors.issubset(codes)
        ]
        squares = (model.estimates.error_root**2).sum(axis=0)
        self._residual_sd = np.sqrt(squares / model.estimates.df) * model.unit

    @property
    @with_display_formats(estimate="general")
    def table(self) -> pd.DataFrame:
        """Marginal means by factors of `by`, `factors` and response: estimate, se, df, low and high.

        Limits are by t, each for one mean. Means that are not estimable, because of empty cells, are missing.
        """
        estimate, se = self._estimates(self._combine(self._combinations))
        half_width = t_isf((1 - self.level) / 2, self.df_resid) * se
        columns = {"estimate": estimate, "se": se, "df": np.full(se.shape, self.df_resid)}
        columns |= {"low": estimate - half_width, "high": estimate + half_width}
        names = [*self.by, *self.factors, "response"]
        index = pd.MultiIndex.from_tuples(
            [(*cell, response) for cell in self._cells for response in self.responses], names=names
        )
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)

    def pairs(self, *, adjust: str = "tukey") -> pd.DataFrame:
        """Differences between all pairs of means for each response, with simultaneous intervals.

        Parameters
        ----------
        adjust : str
            See `contrasts`.

        Returns
        -------
        DataFrame by (factors of `by`, contrast, response)
            The columns of `contrasts`.
        """
        return self.contrasts("pairwise", adjust=adjust)

    @with_display_formats(estimate="general")
    def contrasts(
        self, contrasts: Any = "pairwise", *, adjust: str = "sidak", reference: Any = None
    ) -> pd.DataFrame:
        """Contrasts between the means for each response, with simultaneous intervals.

        Parameters
        ----------
        contrasts : str, dict or DataFrame
            "pairwise", all differences; "trt.vs.ctrl", differences from a reference; "consec", differences of
            successive means; "eff", differences from the average of the means; "poly", orthogonal polynomials
            for equidistant levels. Or coefficients: a dict with a sequence, in the order of the means, or a
            Series or dict by mean for each contrast; or a DataFrame or array, means by contrasts.
        adjust : str
            Family for which p-values and intervals are simultaneous; it consists of the contrasts within one
            response and one combination of levels of `by`. "tukey" for all differences of pairs; "scheffe"
            for all contrasts of the means; "roy" for all contrasts of all combinations of the responses;
            "bonferroni" and "sidak" for the contrasts in the table. A method of statsmodels' `multipletests`
            that adjusts p-values alone, such as "holm", is combined with the intervals of Bonferroni. "none"
            for each contrast on its own.
        reference : label, optional
            Reference of "trt.vs.ctrl", a level of the factor; by default the first.

        Returns
        -------
        DataFrame by (factors of `by`, contrast, response)
            estimate, se, t, df, p, p_adjusted (unless "none"), low and high. Contrasts that are not estimable
            are missing and do not count in the family.

        Raises
        ------
        DataError
            There is only one mean, or contrasts, `adjust` or `reference` are not valid.
        CollinearError
            "roy" is requested, and there are fewer residual degrees of freedom than responses.
        """
        coefs = self._read_contrasts(contrasts, reference)
        if adjust == "tukey" and not (isinstance(contrasts, str) and contrasts == "pairwise"):
            raise DataError(
                'adjust="tukey" requires the differences of all pairs of means.',
                hint='Pass adjust="sidak", or "scheffe" for contrasts that were chosen afterwards.',
                options={"adjust": "sidak"},
            )
        if adjust == "roy":
            self._model.require_error_df()
        combinations, index = self._combine_within_groups(coefs)
        estimate, se = self._estimates(combinations)
        t = estimate / se
        columns = {"estimate": estimate, "se": se, "t": t, "df": np.full(t.shape, self.df_resid)}
        columns["p"] = 2 * t_sf(np.abs(t), self.df_resid)
        quantile = np.full(t.shape, np.nan)
        adjusted = np.full(t.shape, np.nan)
        for start in range(0, len(t), len(coefs)):
            rows = start + np.flatnonzero(np.isfinite(t[start : start + len(coefs), 0]))
            if len(rows):
                family = t[rows], columns["p"][rows], combinations.directions[rows]
                adjusted[rows], quantile[rows] = self._adjust(*family, adjust)
        if adjust != "none":
            columns["p_adjusted"] = adjusted
        columns |= {"low": estimate - quantile * se, "high": estimate + quantile * se}
        by_response = [(*label, response) for label in index for response in self.responses]
        labels = pd.MultiIndex.from_tuples(by_response, names=[*index.names, "response"])
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=labels)

    @with_display_formats()
    def tests(
        self, contrasts: Any = "pairwise", *, adjust: str = "sidak", reference: Any = None
    ) -> pd.DataFrame:
        """Hotelling's tests of contrasts between the means, for all responses jointly.

        Parameters
        ----------
        contrasts, reference
            See the method `contrasts`.
        adjust : str
            Adjustment of the p-values for the contrasts within one combination of levels of `by`: "sidak";
            "roy" for all contrasts of the means, by the distribution of Roy's greatest root; a method of
            statsmodels' `multipletests`, such as "bonferroni" or "holm"; or "none".

        Returns
        -------
        DataFrame by (factors of `by`, contrast)
            T2, F, df1, df2, p, and p_adjusted (unless "none"). F is exact for normal errors with equal
            covariance matrices.

        Raises
        ------
        DataError
            There is only one mean, or contrasts, `adjust` or `reference` are not valid.
        CollinearError
            There are fewer residual degrees of freedom than responses.
        """
        self._model.require_error_df()
        coefs = self._read_contrasts(contrasts, reference)
        combinations, index = self._combine_within_groups(coefs)
        p, df = len(self.responses), self.df_resid
        t2 = combinations.hotelling(self._model.estimates)
        f = t2 * (df - p + 1) / (df * p)
        columns = {"T2": t2, "F": f, "df1": float(p), "df2": df - p + 1, "p": f_sf(f, p, df - p + 1)}
        table = pd.DataFrame(columns, index=index if self.by else index.get_level_values(0))
        if adjust == "none":
            return table
        adjusted = np.full(len(t2), np.nan)
        for start in range(0, len(t2), len(coefs)):
            rows = start + np.flatnonzero(np.isfinite(t2[start : start + len(coefs)]))
            if len(rows) and adjust == "roy":
                k = _rank(combinations.directions[rows]) + 1
                adjusted[rows] = greatest_root_pvalues(t2[rows] / df, p, k, df)
            elif len(rows):
                adjusted[rows] = adjust_pvalues(table["p"].iloc[rows], adjust, ("roy",))
        return table.assign(p_adjusted=adjusted)

    def _brief(self) -> Summary:
        """Return the summary of the means alone, without pairs."""
        return self.summary(["means"])

    def summary(self, sections: Sequence[str] | None = None, *, adjust: str = "tukey") -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the tables to include, in order: "means" and, for two means or more, "pairs"; by default
            all.
        adjust : str
            Adjustment of the pairs for their number; see `contrasts`.
        """
        names = ", ".join(self.factors) + (f" by {', '.join(self.by)}" if self.by else "")
        title = f"Marginal means of {names}, with {100 * self.level:.3g} % intervals"
        sections_by_name: dict[str, Callable[[], Section]] = {
            "means": lambda: Section(
                title,
                self._by_response(self.table),
                {"df": "general"},
                note=" ".join(self.notes()),
                source=".table",
            )
        }
        if len(self._labels) > 1:
            adjustment = "not adjusted" if adjust == "none" else f"adjusted by {adjust}"
            sections_by_name["pairs"] = lambda: Section(
                f"Differences of pairs, {adjustment}",
                self._by_response(self.pairs(adjust=adjust)),
                {"t": "z", "df": "general", "p": "tail", "p_adjusted": "tail"},
                headings={"p_adjusted": "p adjusted"},
                note=ASSUMPTIONS,
                source=f'.pairs(adjust="{adjust}")',
            )
        return summarize(f"Marginal means: {self.formula}", sections_by_name, pick=sections)

    def _by_response(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table in groups by response, with all other levels of the index in one label."""
        labels = [", ".join(map(str, label[:-1])) for label in table.index]
        index = pd.MultiIndex.from_arrays([table.index.get_level_values(-1), labels])
        return table.set_axis(index, axis=0).loc[list(self.responses)]

    def notes(self) -> list[str]:
        """Return sentences on the average over other factors, the covariates, and the assumptions."""
        sentences = []
        if self._averaged:
            weighting = "with equal weights" if self.weights == "equal" else "in the proportions of the rows"
            sentences.append(f"Averaged over the levels of {join_labels(self._averaged)} {weighting}.")
        if len(self.covariates):
            values = ", ".join(f"{name} = {value:.6g}" for name, value in self.covariates.items())
            sentences.append(f"At {values}.")
        if self._interactions:
            sentences.append(f"Differences depend on the rest of {join_labels(self._interactions)}.")
        sentences.append(ASSUMPTIONS)
        if self.table["estimate"].isna().any():
            sentences.append("Means that depend on empty cells are not estimable, and are missing.")
        return sentences

    def plot(self, response: str | None = None, *, ax: Axes | None = None, title: str | None = None) -> Axes:
        """Plot the means of one response with their intervals, as a line for each level of `by`.

        Parameters
        ----------
        response : str, optional
            The response; by default the first.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes

        Raises
        ------
        DataError
            The response is unknown.
        """
        response = self.responses[0] if response is None else response
        if response not in list(self.responses):
            raise DataError(
                f"Unknown response {format_argument(response)}.",
                hint=f"Name one of {join_labels(self.responses)}.",
                columns=(response,),
            )
        table = self.table[["estimate", "low", "high"]].set_axis(["mean", "low", "high"], axis=1)
        groups = [":".join(map(str, group)) or response for group in self._groups]
        drawn = table[table.index.get_level_values(-1) == response]
        drawn = drawn.set_axis(pd.MultiIndex.from_tuples(product(groups, self._labels)), axis=0)
        default_title = f"Marginal means of {response}, with {100 * self.level:.3g} % intervals"
        names = ":".join(self.by), default_title
        axes = draw_profiles(drawn, names, ax, axis_names=(":".join(self.factors), str(response)))
        if title is not None:
            set_title(axes, title)
        return axes

    def _combine(self, combinations: Floats) -> Combinations:
        """Estimate combinations (q, m) of the coefficients of the scaled columns."""
        model = self._model
        return Combinations.estimate(
            model.estimates, combinations, model.origin[model.n_model - 1 :] / model.unit
        )

    def _combine_within_groups(self, coefs: dict[str, Floats]) -> tuple[Combinations, pd.MultiIndex]:
        """Estimate contrasts of the means at each combination of levels of `by`.

        Parameters
        ----------
        coefs : dict of str to (k,) float
            Coefficients of the k means, by contrast.

        Returns
        -------
        Combinations
        MultiIndex
            Levels of `by`, and the contrast.
        """
        groups = self._combinations.reshape(len(self._groups), len(self._labels), -1)
        combinations = np.array(list(coefs.values())) @ groups
        index = pd.MultiIndex.from_tuples(
            [(*group, label) for group in self._groups for label in coefs], names=[*self.by, "contrast"]
        )
        return self._combine(combinations.reshape(-1, groups.shape[2])), index

    def _estimates(self, combinations: Combinations) -> tuple[Floats, Floats]:
        """Return estimates and standard errors (q, p) of combinations in the units of the responses."""
        return combinations.values * self._model.unit, np.outer(combinations.lengths, self._residual_sd)

    def _read_contrasts(self, contrasts: Any, reference: Any) -> dict[str, Floats]:
        """Return the coefficients (k,) of contrasts by their label; see the method `contrasts`."""
        labels = self._labels
        k = len(labels)
        if reference is not None and (reference not in labels or contrasts != "trt.vs.ctrl"):
            raise DataError(
                f"reference={format_argument(reference)} is not valid.",
                hint=f'Pass contrasts="trt.vs.ctrl" and one of {join_labels(labels)}.',
                classes=(reference,),
            )
        if isinstance(contrasts, str):
            check_word("contrasts", contrasts, ContrastName)
            if k < 2:
                raise DataError(
                    f"{':'.join(self.factors)!r} has only the level {format_argument(labels[0])}.",
                    hint="Name a factor with at least two levels.",
                    columns=self.factors,
                )
            position = 0 if reference is None else labels.index(reference)
            names: tuple[ContrastName, ...] = get_args(ContrastName)
            contrast_name = next(name for name in names if name == contrasts)
            return named_contrasts(contrast_name, [str(label) for label in labels], position)
        if isinstance(contrasts, np.ndarray) and contrasts.ndim == 2:
            contrasts = dict(enumerate(contrasts.T))
        try:
            table = pd.DataFrame(
                {name: _coefficients_in_order(values, labels) for name, values in contrasts.items()},
                dtype=np.float64,
            )
        except (AttributeError, ValueError, TypeError):
            table = pd.DataFrame()
        if len(table) != k or not table.size or not np.isfinite(table.to_numpy()).all():
            raise DataError(
                f"contrasts={format_argument(contrasts)} does not have a finite coefficient for each mean.",
                hint=(
                    f"Pass one of {join_labels(get_args(ContrastName))}, or a dict with {k} numbers for each "
                    f"contrast, in the order {join_labels(labels)}."
                ),
            )
        coefs = {str(name): column.to_numpy() for name, column in table.items()}
        for name, column in coefs.items():
            if not column.any():
                raise DataError(f"All coefficients of the contrast {name!r} are zero.", hint="Leave it out.")
        return coefs

    def _adjust(self, t: Floats, p: Floats, directions: Floats, adjust: str) -> tuple[Floats, float]:
        """Adjust p-values, and the quantile of intervals, for the contrasts of each response.

        Parameters
        ----------
        t, p : (c, responses) float
            Statistics and two-sided p-values of c estimable contrasts.
        directions : (c, r) float
            Their directions; see `Combinations`.
        adjust : str
            See the method `contrasts`.

        Returns
        -------
        adjusted : (c, responses) float
        quantile : float
            Half-width of the intervals in standard errors.
        """
        df = self.df_resid
        c, n_responses = t.shape
        if adjust == "none":
            return p, simultaneous_quantile(None, self.level, c, 2, 1, df)
        k = _rank(directions) + 1
        method = simultaneous_method(adjust)
        if method is None:
            columns = [
                adjust_pvalues(pd.Series(p[:, j]), adjust, get_args(Simultaneous)).to_numpy()
                for j in range(n_responses)
            ]
            # Methods of multipletests do not have intervals; Bonferroni's are valid for any of them.
            quantile = simultaneous_quantile("bonferroni", self.level, c, k, 1, df)
        else:
            columns = [
                simultaneous_pvalues(t[:, j], p[:, j], method, k, n_responses, df) for j in range(n_responses)
            ]
            quantile = simultaneous_quantile(method, self.level, c, k, n_responses, df)
        return np.column_stack(columns), quantile


def _factor_names(factors: Any) -> list[Any]:
    """Return a list of names of factors: "a", "a:b", a sequence of names, or None for none."""
    if factors is None:
        return []
    if isinstance(factors, str):
        return factors.split(":")
    return list(factors) if isinstance(factors, Iterable) else [factors]


def _coefficients_in_order(values: Any, labels: list[Any]) -> Any:
    """Return the coefficients of a contrast in the order of the means; those with labels are matched."""
    if not isinstance(values, Mapping | pd.Series):
        return values
    series = pd.Series(values)
    if len(series) != len(labels) or set(series.index) != set(labels):
        raise ValueError("The labels are not those of the means.")
    return series.loc[labels].to_numpy()


def _join_levels(levels: tuple[Any, ...]) -> str:
    """Return the label of a combination of levels; levels that contain a colon are in parentheses."""
    return ":".join(f"({level})" if ":" in str(level) else str(level) for level in levels)


def _factor_hint(model: TermModel, grid: ReferenceGrid) -> str:
    """Return the hint to name a factor of the model."""
    names = join_labels(map(model.factor_label, grid.levels))
    return f"Name some of {names}." if names else "The model has no factors; name one on the left side."


def _factor_code(model: TermModel, grid: ReferenceGrid, name: Any) -> str:
    """Return the code of a categorical factor; raise DataError for an unknown factor or a covariate."""
    functions = frozenset(model.design_rows.design.functions)
    for code in grid.levels:
        if name in (code, model.factor_label(code), expression(code, functions).category):
            return code
    hint = _factor_hint(model, grid)
    if name in grid.covariates:
        raise DataError(
            f"{format_argument(name)} is a covariate, which has no levels.",
            hint=f"{hint} Pass the value of a covariate in at=.",
            columns=(name,),
        )
    raise DataError(f"Unknown factor {format_argument(name)}.", hint=hint, columns=(name,))


def _covariate_values(model: TermModel, grid: ReferenceGrid, at: Mapping[str, float]) -> dict[str, float]:
    """Return the values of the covariates: those of `at`, else the means over the rows of the fit.

    Raises DataError if `at` has an unknown name or a value that is not a finite number, and NotSupportedError
    if means require rows that an unpickled model lacks.
    """
    names = grid.covariates
    if not isinstance(at, Mapping | pd.Series):
        raise DataError(
            f"at={format_argument(at)} is not a dict of values by covariate.",
            hint=f"Pass a value for some of {join_labels(names)}." if names else "Leave at= out.",
            columns=names,
        )
    column_means = model.column_means()
    values = {name: float(column_means[column]) for name, column in grid.plain_columns().items()}
    for name, value in at.items():
        if name not in names:
            raise DataError(
                f"at= names {format_argument(name)}, which is not a covariate of the model.",
                hint=f"Name some of {join_labels(names)}." if names else "Leave at= out.",
                columns=(name,),
            )
        if not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise DataError(
                f"at= has the value {format_argument(value)} for {name!r}.",
                hint="Pass a finite number.",
                columns=(name,),
            )
        values[name] = float(value)
    missing = [name for name in names if name not in values]
    if missing and not model.has_rows:
        raise NotSupportedError(
            f"The means of {join_labels(missing)} require the rows of the fit, which an unpickled model does "
            "not contain.",
            hint=f"Pass their values in at=, such as at={{{missing[0]!r}: 0}}.",
            columns=tuple(missing),
        )
    if missing:
        rows = append_table_columns(model.design_rows, missing)
        moments = gather(
            rows,
            n_classes=len(rows.design.levels),
            n_columns=len(rows.design.terms),
            required_moments="diagonal",
        )
        means = moments.counts @ moments.class_means / moments.total
        values |= dict(zip(missing, means[-len(missing) :].tolist(), strict=True))
    return {name: values[name] for name in names}


def _rank(directions: Floats) -> int:
    """Return the number of linearly independent rows."""
    return int(np.linalg.matrix_rank(directions))
