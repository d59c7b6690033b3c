"""Permutational multivariate analysis of variance: the verb `permanova`, its results and their summaries.

The verb reads the rows with `read_rows_to_permute`, and computes a `RowSpace` (the distances between rows)
from a metric or a table of distances. The functions of `discrim.inference.distance_tests` compute the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import f_sf, t_sf
from discrim.design.linear_model import exclude_from_dot, level_cells
from discrim.errors import DataError, NotSupportedError, warn_user
from discrim.inference import distance_tests
from discrim.inference.distance_tests import Centre, Metric, RowSpace
from discrim.inference.manova import TestType
from discrim.models.base import reading
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.fit import copy_with_rows
from discrim.models.base.reading import (
    Data,
    NaAction,
    check_flag,
    check_test_type,
    check_word,
    format_argument,
    join_labels,
)
from discrim.models.discriminant.normal_results import adjust_pvalues
from discrim.models.linear_model.mlm_summary import ROMAN_NUMERALS, TYPE_DESCRIPTIONS
from discrim.models.linear_model.permuted_rows import (
    PERMUTATIONS,
    ModelRows,
    PermutationDesign,
    read_rows_to_permute,
)
from discrim.models.linear_model.term_model import term_position
from discrim.report.grid import Format, HeaderItem, Pairs, Section
from discrim.report.plots.evaluation import draw_permutations
from discrim.report.plots.points import draw_strips_with_means
from discrim.report.plots.spaces import draw_scores
from discrim.report.plots.style import set_title, to_floats
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes


SYMMETRY_TOLERANCE = 1e-9
"""Largest accepted asymmetry of a table of distances, relative to its largest distance."""

CENTRE_NAMES = {"median": "spatial median", "centroid": "centroid"}
"""Names of the centres of classes in notes and plots, by the argument `centre`."""


def _multiply_by_squared_unit(squares: Any, unit: float) -> Floats:
    """Multiply sums of squares by the square of a unit; overflow is infinite, underflow zero."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(squares) * unit * unit


@dataclass(frozen=True, slots=True, eq=False)
class PermutationInputs:
    """Rows and distances of the tests, for methods that use them again; they are not pickled.

    Attributes
    ----------
    rows : ModelRows
        Rows of the linear model.
    space : RowSpace
        Distances between the n rows, divided by the unit that `_space_from_metric` returns.
    permutation_design : PermutationDesign
        Number and seed of the permutations, and the blocks and groups of rows.
    is_available : bool
        False in unpickled results, which lack the rows; the other attributes are then None.
    """

    rows: ModelRows
    space: RowSpace
    permutation_design: PermutationDesign
    is_available: bool = True

    def __reduce__(self) -> tuple[Any, ...]:
        # Rows are not pickled, because a pickle may leave the user's computer.
        return PermutationInputs, (None, None, None, False)

    def __deepcopy__(self, memo: dict[int, Any]) -> PermutationInputs:
        return copy_with_rows(self, memo)

    def require(self, caller: str) -> PermutationInputs:
        """Return the inputs; raise NotSupportedError if the results were unpickled without them.

        `caller` is the name of the method for the message, such as "plot()".
        """
        if not self.is_available:
            raise NotSupportedError(
                f"{caller} requires the rows, which unpickled results do not contain.",
                hint="Call permanova() again.",
            )
        return self


class PermanovaResults(SummarizedResults):
    """Permutation tests of the terms of a linear model by distances between rows.

    Attributes
    ----------
    formula : str
    distance : str
        Name of the metric, or "given" for a table of distances.
    terms : Index
        Terms of the model, without the constant.
    nobs : int
        Number of observations; a row of weight w counts w times.
    df_resid : int
        Residual degrees of freedom.
    table : DataFrame
        df, SS, R2 (SS divided by the total SS), F and p of each term, and df, SS and R2 of "residual" and
        "total". p is missing for a term that no permutation changes.
    permuted : DataFrame, permutations by terms
        F of each term for each permutation. Permutations are numbered from 1 and do not include the observed
        order.
    exact : bool
        Whether each labelling other than the observed one was used once, because there are at most
        `permutations` of them.
    labellings : float
        Number of distinct labellings (assignments of the rows to the cells of the model), including the
        observed one.
    shuffled : str
        Description of the units that were permuted, such as "rows within 'block'".
    seed : int
        Seed of the permutations.
    """

    _FIRST_SECTIONS = ("header", "tests")

    def __init__(
        self,
        rows: ModelRows,
        space: RowSpace,
        unit: float,
        distance: str,
        test_type: TestType,
        permutation_design: PermutationDesign,
    ) -> None:
        """Run the permutation tests.

        Parameters
        ----------
        rows : ModelRows
            Rows of the linear model.
        space : RowSpace
            Distances between the rows, divided by `unit`; not all zero.
        unit : float
            Unit of the distances, by which the results are multiplied.
        distance : str
            Name of the metric, or "given".
        test_type : {1, 2, 3}
            Type of the sums of squares.
        permutation_design : PermutationDesign
            Number and seed of the permutations, and the blocks and groups of rows.

        Raises
        ------
        DataError
            No residual degrees of freedom remain, blocks or groups are invalid, or no permutation changes the
            statistics.
        NotSupportedError
            The type is III, and a term has fewer degrees of freedom than columns.
        """
        self._inputs = PermutationInputs(rows, space, permutation_design)
        self._unit = unit
        self._test_type = test_type
        self._total = space.total
        self._dropped = rows.model.design_rows.dropped
        directions = rows.directions(test_type)
        row_shuffle, self.shuffled = rows.shuffle(directions.cells, permutation_design)
        self.formula: str = rows.model.design_rows.design.formula
        self.distance = distance
        self.seed = permutation_design.seed
        self.terms = pd.Index(rows.model.labels)
        self.nobs = len(rows.positions)
        self.df_resid = directions.df_resid
        self.labellings = row_shuffle.n_labellings()
        self.exact = self.labellings <= permutation_design.permutations + 1
        permuted_cells = row_shuffle.iter_cells(permutation_design.permutations, permutation_design.seed)
        self._tests = distance_tests.permutation_term_tests(
            space, directions, permuted_cells, permutation_design.permutations
        )
        self._df = [len(term_directions) for term_directions in directions.term_indices]
        self._is_unchanged = rows.unchanged_terms(row_shuffle)
        index = pd.RangeIndex(1, len(self._tests.permuted_f) + 1, name="permutation")
        self.permuted = pd.DataFrame(self._tests.permuted_f, index=index, columns=self.terms)

    @property
    @with_display_formats(SS="general", R2="share")
    def table(self) -> pd.DataFrame:
        """df, SS, R2, F and p of each term, and df, SS and R2 of "residual" and "total".

        p is missing for a term that no permutation changes. A sum of squares outside the range of float64 is
        infinite or zero. R2, F and p do not depend on the units of the responses.
        """
        tests = self._tests
        not_tested = [np.nan, np.nan]  # Residual and total.
        squares = np.append(tests.squares, self._total)
        pvalues = np.where(
            self._is_unchanged, np.nan, distance_tests.permutation_pvalues(tests.f, tests.permuted_f)
        )
        columns = {
            "df": [*self._df, self.df_resid, self.nobs - 1],
            "SS": _multiply_by_squared_unit(squares, self._unit),
            "R2": squares / self._total,
            "F": [*tests.f, *not_tested],
            "p": [*pvalues, *not_tested],
        }
        return pd.DataFrame(columns, index=[*self.terms, "residual", "total"])

    @with_display_formats(SS="general", R2="share")
    def pairs(self, term: str | None = None, *, adjust: str = "holm") -> pd.DataFrame:
        """Test each pair of classes of a factor by the same model and distances, in the rows of the two.

        Parameters
        ----------
        term : str, optional
            The factor. It can be omitted if the model has only one term.
        adjust : str
            Adjustment of the p-values for the number of pairs: a method of statsmodels' `multipletests`, such
            as "holm" or "bonferroni", or "none".

        Returns
        -------
        DataFrame by (a, b)
            df, SS, R2, F and p of the term, as in the table of `permanova` for these rows, and p_adjusted
            (unless "none"). p is missing for a pair that no permutation changes, and does not count.

        Raises
        ------
        DataError
            The term is unknown, lacks a factor or has several, or the rows of a pair cannot be tested; the
            error has the `classes` of the pair.
        NotSupportedError
            The type is III and the factor has interactions, or the results were unpickled.

        Notes
        -----
        These are the tests of R's pairwiseAdonis, whose distances may differ if they depend on all rows, such
        as Gower's. A test has few permutations if the two classes are small, and p cannot be small then.

        Examples
        --------
        >>> from discrim import permanova
        >>> from discrim.datasets import load_iris
        >>> permanova("species ~ .", load_iris(), seed=1).pairs()[["R2", "p_adjusted"]].round(3)
                                  R2  p_adjusted
        a          b
        setosa     versicolor  0.849       0.003
                   virginica   0.906       0.003
        versicolor virginica   0.470       0.003
        """
        inputs = self._inputs.require("pairs()")
        codes, class_names, label = self._classes_of_term(term, "pairs()")
        model = inputs.rows.model
        factors = model.terms[model.position(label)].factors
        if len(factors) > 1:
            raise DataError(
                f"The term {label!r} has several factors.", hint="Name a factor, whose classes are compared."
            )
        if self._test_type == 3 and any(factors < other.factors for other in model.terms):
            raise NotSupportedError(
                f"Type III tests of pairs of {label!r} depend on the coding of its interactions.",
                hint="Call permanova() with type=2.",
                options={"type": 2},
            )
        rows = {}
        for a, b in combinations(range(len(class_names)), 2):
            in_pair = np.isin(codes, [a, b])
            pair = class_names[a], class_names[b]
            pair_rows, space = inputs.rows.select(in_pair), inputs.space.select(in_pair)
            # Without interactions, types II and III are the same.
            pair_type: TestType = 1 if self._test_type == 1 else 2
            arguments = self._unit, self.distance, pair_type, inputs.permutation_design
            try:
                rows[pair] = PermanovaResults(pair_rows, space, *arguments).table.loc[label]
            except DataError as error:
                message = f"{format_argument(pair[0])} and {format_argument(pair[1])}: {error.message}"
                raise error.with_message(message, classes=pair) from None
        table = pd.DataFrame.from_dict(rows, orient="index")
        table.index = pd.MultiIndex.from_tuples(list(rows), names=["a", "b"])
        if adjust == "none":
            return table
        is_tested = table["p"].notna()
        return table.assign(p_adjusted=adjust_pvalues(table["p"][is_tested], adjust).reindex(table.index))

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """The table with the column names of R's broom: term, df, sumsq, R2, statistic, p_value.

        The last two rows have the terms "residual" and "total".
        """
        names = {"SS": "sumsq", "F": "statistic", "p": "p_value"}
        return self.table.rename(columns=names).rename_axis("term").reset_index()

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One row: nobs, df_resid, R2 of the whole model, permutations (their number) and exact."""
        row = {
            "nobs": self.nobs,
            "df_resid": self.df_resid,
            "R2": 1 - self._tests.squares[-1] / self._total,
            "permutations": len(self.permuted),
            "exact": self.exact,
        }
        return pd.DataFrame([row])

    def coordinates(self) -> pd.DataFrame:
        """Principal coordinates of the rows (classical multidimensional scaling of the distances).

        Returns
        -------
        DataFrame, rows by PCo1, PCo2, ...
            Axes of positive eigenvalues, in decreasing order, in the unit of the distances. Distances that
            are not Euclidean also have negative eigenvalues, whose axes are left out.

        Raises
        ------
        NotSupportedError
            The results were unpickled, and therefore lack the rows.
        """
        inputs = self._inputs.require("coordinates()")
        axes, eigenvalues = inputs.space.principal_coordinates()
        axes = axes[:, eigenvalues > 0] * self._unit
        names = [f"PCo{j + 1}" for j in range(axes.shape[1])]
        return pd.DataFrame(axes, index=inputs.rows.index, columns=names)

    def notes(self) -> list[str]:
        """Return five notes on the type of the tests, the permutations, and the meaning of the p-values.

        A further one names terms with degrees of freedom that no permutation changes, and another explains
        negative sums of squares, if there are any.
        """
        sampling = "All other labellings were used" if self.exact else "The permutations are random"
        approximate = ", and is approximate for one of several terms" if len(self.terms) > 1 else ""
        sentences = [
            f"Type {ROMAN_NUMERALS[self._test_type]}: each term {TYPE_DESCRIPTIONS[self._test_type]}.",
            f"Permuted: {self.shuffled}. {sampling}.",
            "p = (1 + number of permuted F as large as the observed F or larger) / (1 + "
            f"{len(self.permuted)}).",
            f"It assumes that the observations are exchangeable under the null hypothesis{approximate}.",
            "A small p may be due to differences in location, in dispersion or in both.",
        ]
        unchanged = self.terms[self._is_unchanged & (np.array(self._df) > 0)]
        if len(unchanged):
            sentences.append(
                f"No permutation changes the sum of squares of {join_labels(unchanged)}, which has no "
                "p-value."
            )
        if self._tests.squares.min() < 0:
            sentences.append("Sums of squares can be negative, because these distances are not Euclidean.")
        return sentences

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the tables to include, in order, such as "tests"; by default all.
        """
        section_builders: dict[str, Callable[[], Section | Pairs]] = {
            "header": self._header_section,
            "tests": lambda: Section(
                "Tests of the terms by permutation",
                self.table,
                {"df": "count", "SS": "general", "R2": "share", "F": "z", "p": "tail"},
                note=" ".join(self.notes()),
                source=".table, .tidy()",
            ),
        }
        return summarize("Permutation tests of distances", section_builders, pick=sections)

    def _header_section(self) -> Pairs:
        """Return the header of the summary: sizes, distance, and numbers of permutations and labellings."""
        labellings_text = f"{self.labellings:.0f}" if self.labellings < 1e9 else "more than 1e9"
        items: list[HeaderItem] = [
            HeaderItem("Observations", self.nobs),
            HeaderItem("Distance", self.distance),
            HeaderItem("Dropped, missing values", self._dropped),
            HeaderItem("Permutations", len(self.permuted)),
            HeaderItem("Residual df", self.df_resid),
            HeaderItem("Distinct labellings", self.labellings, labellings_text),
        ]
        return Pairs(self.formula, items)

    def dispersion(
        self, term: str | None = None, *, centre: Centre = "median", bias_adjust: bool = False
    ) -> Dispersion:
        """Test whether the classes of a term have equal dispersion, by distances from their centres.

        Parameters
        ----------
        term : str, optional
            Term whose levels, or combinations of levels, are the classes. It can be omitted if the model has
            only one term.
        centre : {"median", "centroid"}
            Centre of a class: the spatial median, which minimizes the sum of the distances, or the centroid.
        bias_adjust : bool
            Whether to multiply the distances by sqrt(n / (n - 1)), n being the number of rows of the class,
            because the rows of a small class are closer to a centre that is estimated from them.

        Returns
        -------
        Dispersion
            The tests of `betadisper` and `permutest` of R's vegan, including tests of pairs of classes.

        Raises
        ------
        DataError
            The term is unknown or lacks a factor, there is only one class, or no class has three rows.
        NotSupportedError
            The results were unpickled, and therefore lack the rows.

        Warns
        -----
        DiscrimWarning
            Squared distances are negative (and set to zero), or a class has only one row.

        Notes
        -----
        F compares the mean distances of the classes (Anderson, 2006, Biometrics 62, 245-253), which
        generalizes Levene's test to several variables. The permutations exchange the deviations of the
        distances from the means of their classes, within the same blocks as the rows, and assume that these
        deviations are exchangeable. The p-value of the F distribution assumes normal distances with equal
        variances.

        Examples
        --------
        >>> from discrim import permanova
        >>> from discrim.datasets import load_iris
        >>> dispersion = permanova("species ~ .", load_iris(), seed=1).dispersion(centre="centroid")
        >>> dispersion.groups["distance"].round(3).tolist()
        [0.482, 0.707, 0.819]
        """
        check_word("centre", centre, Centre)
        check_flag("bias_adjust", bias_adjust)
        codes, class_names, term_label = self._classes_of_term(term, "dispersion()")
        max_count = np.bincount(codes).max()
        if len(class_names) < 2 or max_count < 3:
            raise DataError(
                f"The dispersion of the classes of the term {term_label!r} cannot be compared: there are "
                f"{len(class_names)} classes and {len(codes)} rows, and no class has more than {max_count} "
                "rows.",
                hint=(
                    "Name a term with at least two classes, one of which has at least three rows. The two "
                    "rows of a class of two are equally far from its centre."
                ),
            )
        return Dispersion(self, codes, class_names, term_label, centre, bool(bias_adjust))

    def plot(
        self,
        kind: Literal["permutations", "coordinates"] = "permutations",
        *,
        term: str | None = None,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Axes:
        """Plot the permutation distribution of F, or the principal coordinates of the rows.

        Parameters
        ----------
        kind : {"permutations", "coordinates"}
            "permutations" draws the permuted F of a term and the observed F. "coordinates" draws the rows on
            the first two principal coordinates, with the centroids of the classes of a term.
        term : str, optional
            The term; by default the first.
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
            The term is unknown or lacks a factor ("coordinates"), or a permuted F is not finite.
        NotSupportedError
            The results were unpickled and lack the rows ("coordinates").
        """
        check_word("kind", kind, ("permutations", "coordinates"))
        term_label = self._term_label(self.terms[0] if term is None else term)
        if kind == "permutations":
            return self._plot_permuted_f(term_label, ax, title)
        return self._plot_coordinates(term_label, ax, title)

    def _plot_coordinates(self, term: str, ax: Axes | None, title: str | None) -> Axes:
        """Plot the rows on the first two principal coordinates, with the centroids of the classes of a term.

        Axis labels have the share of each axis in the total sum of squares, or in the positive eigenvalues if
        these exceed the total.

        Parameters
        ----------
        term : str
            Label of the term.
        ax : Axes or None
            Axes to draw on; None for a new figure.
        title : str or None
            Title; None for the default, "" for no title.

        Returns
        -------
        Axes
        """
        codes, class_names, _ = self._classes_of_term(term, 'plot("coordinates")')
        points = self.coordinates()
        squares = ((points / self._unit) ** 2).sum()
        total = self._total
        share_basis = " of all squares"
        if squares.sum() > total * (1 + 1e-9):
            # With negative eigenvalues (non-Euclidean distances), shares of the total could exceed 100 %.
            total = squares.sum()
            share_basis = " of the positive eigenvalues"
        points = points.iloc[:, :2]
        classes = pd.Index(class_names)
        labels = pd.Series(classes[codes], index=points.index)
        means = [points.to_numpy()[codes == code].mean(axis=0) for code in range(len(classes))]
        centroids = pd.DataFrame(means, index=classes, columns=points.columns)
        axes = draw_scores(
            points, labels, centroids, ax, level=None, proportions=squares / total, proportion_of=share_basis
        )
        set_title(axes, f"Principal coordinates of the rows, by {term}" if title is None else title)
        return axes

    def _plot_permuted_f(self, term: str, ax: Axes | None, title: str | None) -> Axes:
        """Plot the permutation distribution of the F of a term, with the observed F.

        Parameters
        ----------
        term : str
            Label of the term.
        ax : Axes or None
            Axes to draw on; None for a new figure.
        title : str or None
            Title; None for the default, "" for no title.

        Returns
        -------
        Axes

        Raises
        ------
        DataError
            A permuted F is not finite.
        """
        observed_f, p = (float(self.table[column].loc[term]) for column in ("F", "p"))
        permuted_f = self.permuted[term]
        if not np.isfinite(permuted_f).all() or not len(permuted_f):
            raise DataError(
                f"The permuted F of {term!r} are not finite and cannot be plotted.",
                hint="Leave out terms, or identical rows.",
            )
        names = (f"Pseudo-F, permuted: {self.shuffled}", f"F of {term} by permutation")
        axes = draw_permutations(permuted_f, observed_f, f"p {p:.2g}", names, ax=ax)
        if title is not None:
            set_title(axes, title)
        return axes

    def _term_label(self, term: str | None) -> str:
        """Return the label of a term, whose factors may be given in any order; None selects the only term.

        Raises DataError for an unknown term, or if `term` is None and there are several.
        """
        return str(self.terms[term_position(list(self.terms), term)])

    def _classes_of_term(self, term: str | None, caller: str) -> tuple[Codes, list[Any], str]:
        """Return the class of each row by the levels of a term.

        Parameters
        ----------
        term : str or None
            The term; None for the only one.
        caller : str
            Name of the public method for the error of unpickled results, which lack the rows.

        Returns
        -------
        codes : (n,) int
            Position of the class of each row in `class_names`.
        class_names : list
            Levels of a term of one factor; strings such as "Adelie:male" for a term of several factors. Only
            classes with rows; covariates of the term are ignored.
        label : str
            Label of the term.

        Raises
        ------
        DataError
            The term is unknown, or None although there are several, or lacks a categorical factor.
        NotSupportedError
            The results lack the rows.
        """
        model = self._inputs.require(caller).rows.model
        position = model.position(term)
        factors = model.terms[position].categories
        if not factors:
            raise DataError(
                f"The term {model.labels[position]!r} has no factor and therefore no classes.",
                hint="Name a term that has a factor.",
            )
        # The model stores the coded columns of the rows, not their levels. The cell of a row is the one with
        # the same coded values up to rounding.
        cells = level_cells(model.design_rows.design, factors)
        columns = list(cells.columns)
        without_constant = [1 + column for column in columns]
        coded_rows = model.estimates.x[:, without_constant] * model.model_unit[columns]
        nearest_cells = np.argmin(((coded_rows[:, None, :] - cells.values) ** 2).sum(axis=2), axis=1)
        occupied_cells, codes = np.unique(nearest_cells, return_inverse=True)
        cell_levels = [cells.labels[cell] for cell in occupied_cells.tolist()]
        class_names = [
            levels[0] if len(factors) == 1 else ":".join(map(str, levels)) for levels in cell_levels
        ]
        return codes, class_names, model.labels[position]


class Dispersion(SummarizedResults):
    """Tests that the classes of a term have equal dispersion.

    Attributes
    ----------
    term : str
        Label of the term.
    centre : str
        Centre of the classes: "median" or "centroid".
    distances : Series by row
        Distance of each row from the centre of its class, multiplied as `bias_adjust` requires.
    groups : DataFrame by class
        rows (their number) and distance (its mean).
    table : DataFrame
        df, SS, F, p of the F distribution and p_permutation. The rows are the term, between classes, and
        "residual", within classes, which has only df and SS.
    permuted : Series
        F for each permutation, numbered from 1.
    """

    def __init__(
        self,
        results: PermanovaResults,
        codes: Codes,
        class_names: list[Any],
        term: str,
        centre: Centre,
        bias_adjust: bool,
    ) -> None:
        """Compute the distances from the centres, and run the permutation tests.

        Parameters
        ----------
        results : PermanovaResults
            Results that have their rows.
        codes : (n,) int
            Position of the class of each row in `class_names`.
        class_names : list
            Labels of the classes.
        term : str
            Label of the term.
        centre : {"median", "centroid"}
            Centre of a class.
        bias_adjust : bool
            Whether to multiply the distances by sqrt(n / (n - 1)), n being the number of rows of the class.

        Warns
        -----
        DiscrimWarning
            Squared distances are negative (and set to zero), or a class has only one row.
        """
        rows = results._inputs.rows
        permutation_design = results._inputs.permutation_design
        distances, n_negative = distance_tests.distances_to_class_centres(
            results._inputs.space, codes, centre
        )
        if n_negative:
            warn_user(
                f"{n_negative} squared distances from the centres are negative and set to zero, because the "
                "distances are not Euclidean. Use their square roots, or another metric."
            )
        counts = np.bincount(codes)
        if (counts == 1).any():
            singletons = [class_names[code] for code in np.flatnonzero(counts == 1)]
            warn_user(
                f"Classes of one row have the distance zero from their centre: {join_labels(singletons)}. "
                "Leave them out."
            )
        if bias_adjust:
            distances = distances * np.sqrt(counts / np.maximum(counts - 1, 1))[codes]
        # Each row is its own cell, so that a permutation of the cells is an order of the rows.
        row_shuffle, _ = rows.shuffle(np.arange(len(distances)), permutation_design)
        orders = row_shuffle.iter_cells(permutation_design.permutations, permutation_design.seed)
        self._tests = distance_tests.permutation_dispersion_test(
            distances, codes, orders, permutation_design.permutations
        )
        self._codes = codes
        self._counts = counts
        self._classes = pd.Index(class_names, name=term)
        self._is_bias_adjusted = bias_adjust
        self._unit = results._unit
        self._scaled_distances = distances
        self.term = term
        self.centre = centre
        self.distances = pd.Series(distances * self._unit, index=rows.index, name="distance")
        index = pd.RangeIndex(1, len(self._tests.permuted_f) + 1, name="permutation")
        self.permuted = pd.Series(self._tests.permuted_f, index=index, name="F")

    @property
    @with_display_formats()
    def groups(self) -> pd.DataFrame:
        """Number of rows and mean distance from the centre, by class: columns rows and distance."""
        means = np.bincount(self._codes, self.distances) / self._counts
        return pd.DataFrame({"rows": self._counts, "distance": means}, index=self._classes)

    @property
    @with_display_formats(SS="general")
    def table(self) -> pd.DataFrame:
        """df, SS, F, p and p_permutation of the term (between classes), and df and SS of "residual"."""
        distances = self._scaled_distances
        means = np.bincount(self._codes, distances) / self._counts
        between = float((self._counts * (means - distances.mean()) ** 2).sum())
        within = float(((distances - means[self._codes]) ** 2).sum())
        df = [len(means) - 1, len(distances) - len(means)]
        p = float(f_sf(self._tests.f, *map(float, df)))
        columns = {
            "df": df,
            "SS": _multiply_by_squared_unit([between, within], self._unit),
            "F": [self._tests.f, np.nan],
            "p": [p, np.nan],
            "p_permutation": [self._tests.p, np.nan],
        }
        return pd.DataFrame(columns, index=[self.term, "residual"])

    @with_display_formats()
    def pairs(self) -> pd.DataFrame:
        """Tests of equal mean distances of each pair of classes; p-values are not adjusted for their number.

        Returns
        -------
        DataFrame by (a, b)
            difference of the mean distances (a minus b), t with the variance pooled over the two classes, df,
            p (two-sided) and p_permutation. p is missing for two classes of one row each.
        """
        a, b = self._tests.pairs.T
        means = self.groups["distance"].to_numpy()
        df = (self._counts[a] + self._counts[b] - 2).astype(np.float64)
        t = self._tests.t
        with np.errstate(invalid="ignore"):
            p = 2 * t_sf(np.abs(t), np.where(df > 0, df, np.nan))
        columns = {
            "difference": means[a] - means[b], "t": t, "df": df, "p": p, "p_permutation": self._tests.pair_p
        }  # fmt: skip
        index = pd.MultiIndex.from_arrays([self._classes[a], self._classes[b]], names=["a", "b"])
        return pd.DataFrame(columns, index=index)

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """The table with names of R's broom: term, df, sumsq, statistic (F), p_value, p_permutation."""
        names = {"SS": "sumsq", "F": "statistic", "p": "p_value"}
        return self.table.rename(columns=names).rename_axis("term").reset_index()

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the tables to include, in order, such as "tests"; by default all.
        """
        note = (
            f"Distances from the {CENTRE_NAMES[self.centre]} of the class"
            + (", times sqrt(n / (n - 1))" if self._is_bias_adjusted else "")
            + f". p_permutation is from {len(self.permuted)} permutations of the deviations of the distances "
            "from their class means. p assumes normal distances with equal variances."
        )
        p_formats: dict[Any, Format] = {"p": "tail", "p_permutation": "tail"}
        section_builders: dict[str, Callable[[], Section | Pairs]] = {
            "groups": lambda: Section(
                "Mean distances", self.groups, {"rows": "count"}, source=".groups, .distances"
            ),
            "tests": lambda: Section(
                "Test of equal mean distances",
                self.table,
                {**p_formats, "df": "count", "SS": "general", "F": "z"},
                note=note,
                source=".table, .tidy()",
            ),
            "pairs": lambda: Section(
                "Pairs of classes", self.pairs(), {**p_formats, "t": "z", "df": "count"}, source=".pairs()"
            ),
        }
        return summarize(f"Dispersion of the classes of {self.term}", section_builders, pick=sections)

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Plot the distances of the rows from the centres of their classes, class by class.

        Parameters
        ----------
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes
        """
        axes = draw_strips_with_means(
            to_floats(self.distances.to_frame())[:, 0],
            self._codes,
            list(self._classes),
            to_floats(self.groups)[:, 1],
            f"Distance from the {CENTRE_NAMES[self.centre]} of the class; the line is the mean",
            ax,
        )
        set_title(axes, f"Dispersion of the classes of {self.term}" if title is None else title)
        return axes


@reading.with_public_errors
def permanova(
    formula: str,
    data: Data,
    *,
    distance: Any = "euclidean",
    permutations: int = PERMUTATIONS,
    within: Any = None,
    groups: Any = None,
    type: int | str = 2,
    weights: Any = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
    seed: int | None = None,
) -> PermanovaResults:
    """Permutation tests of the terms of a model by distances between rows, like `adonis2` of R's vegan.

    Parameters
    ----------
    formula : str
        The model on the left, instead of the class of a discriminant analysis, and the responses on the
        right: ``"species * sex ~ bill_length_mm + bill_depth_mm"``. R's ``cbind(y1, y2) ~ a * b`` is the same
        as ``a * b ~ y1 + y2``. Text, categorical and boolean columns are factors, and numeric columns are
        covariates. A single numeric column on the left is a factor, as in `lda`; ``I(age)`` is a covariate,
        and ``C(year)`` makes a factor of any column. With a table of distances write 1 instead of responses.
    data : table
        A pandas DataFrame, or any other table in memory that narwhals supports. Sources that are read in
        chunks are not supported, because rows are exchanged: pass a sample of their rows as a DataFrame.
    distance : str, or table of distances
        Metric, or the distances themselves as a square DataFrame or array with a row and a column for each
        row of the table. For two rows x and y, with d = abs(x - y) in each column, the metrics are
        "euclidean"; "manhattan", sum d; "gower", the mean of d divided by the ranges of the columns;
        "cosine", 1 minus the cosine; and, for columns without negative values, "bray-curtis",
        B = sum d / sum (x + y); "jaccard", 2 B / (1 + B), which is Jaccard's index for zeros and ones;
        "canberra", the mean of d / (x + y) over columns that are not zero in both rows; "hellinger", the
        Euclidean distance between the square roots of the proportions within each row. A row of zeros has
        the distance 1 from any other row by "bray-curtis", "jaccard" and "canberra". The distance between two
        rows of zeros is undefined (0/0, as in vegan) and an error, as is any row of zeros by "hellinger" and
        "cosine".
    permutations : int
        Number of random permutations. If there are at most this many other labellings, each is used once.
    within : column name or (n,) array, optional
        Blocks of rows: rows, or groups, are permuted only within their block.
    groups : column name or (n,) array, optional
        Groups of rows, such as plots, that are permuted as a whole: the first row of one group replaces the
        first row of another, and so on. All groups must have the same number of rows.
    type : {1, 2, 3}
        Type of the sums of squares; see the page on shared arguments. Type 1 is ``by="terms"`` of R's
        `adonis2`. Its ``by="margin"`` is type 2, restricted to terms that no other term contains.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows. They must be whole numbers.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.
    seed : int, optional
        Seed of the permutations; by default a random one, which the results contain.

    Returns
    -------
    PermanovaResults
        `table` has df, SS, R2, F and p of each term.

    Raises
    ------
    DataError
        The metric is unknown, or not defined for a row; the table of distances is invalid or does not match
        the rows; all distances are zero; groups differ in size; no permutation changes the statistics; no
        residual degrees of freedom remain; or the distances do not fit in memory.
    FormulaError
        The formula cannot be read, or a response is not a number.
    NotSupportedError
        The table is a source that is read in chunks; weights are not whole numbers; or type III tests were
        requested although some cells are empty.

    Notes
    -----
    Let d_ij be the distances, A = (-d_ij^2 / 2), and G the matrix A with centred rows and columns. Then the
    sum of squares of a projection P is tr(P G), and pseudo-F = (SS / q) / (SS of the residuals / v), where
    q and v are the degrees of freedom of the term and of the residuals (Anderson, 2001, Austral Ecology 26,
    32-46; McArdle & Anderson, 2001, Ecology 82, 290-297). With Euclidean distances SS is the total over the
    responses of their univariate sums of squares.

    p = (1 + b) / (1 + B), where b of the B permuted F are at least as large as the observed one. It is exact
    under the hypothesis that no term has an effect, if rows, or whole groups, are exchangeable within the
    blocks `within`. It is approximate for one term if others have an effect, because rows and not residuals
    are permuted, as in vegan. The denominator of F is the residual variation of the rows, also if whole
    groups are permuted.

    A small p-value means that the classes differ in location, in dispersion or in both (Anderson & Walsh,
    2013, Ecological Monographs 83, 557-574); the method `dispersion` of the results tests dispersion alone.

    Examples
    --------
    >>> from discrim import permanova
    >>> from discrim.datasets import load_penguins
    >>> formula = "species + sex ~ bill_length_mm + bill_depth_mm"
    >>> results = permanova(formula, load_penguins(), distance="manhattan", seed=1)
    >>> results.table[["df", "R2", "F", "p"]].round(3)
               df     R2        F      p
    species     2  0.690  573.020  0.001
    sex         1  0.111  184.082  0.001
    residual  329  0.198      NaN    NaN
    total     332  1.000      NaN    NaN
    """
    check_word("na_action", na_action, NaAction)
    test_type = check_test_type(type)
    permutation_design = PermutationDesign.read(permutations, seed, within, groups)
    distance_table = None
    if isinstance(distance, str):
        check_word("distance", distance, Metric)
    else:
        distance_table = _as_square_array(distance)
    rows = read_rows_to_permute(
        exclude_from_dot(formula, (within, groups)),
        data,
        weights=weights,
        na_action=na_action,
        functions=functions,
        responses=distance_table is None,
    )
    deficient_term = rows.model.deficient_term()
    if deficient_term is not None and test_type != 3:
        rows.model.warn_of_deficiency(deficient_term)
    if distance_table is None:
        name = distance
        space, unit = _space_from_metric(rows, distance)
    else:
        name = "given"
        space, unit = _space_from_table(rows, distance, distance_table), 1.0
    if not space.total > 0:
        raise DataError(
            "All distances between rows are zero: there is no variation to explain.",
            hint="Name responses that differ between rows.",
        )
    return PermanovaResults(rows, space, unit, name, test_type, permutation_design)


def _space_from_metric(rows: ModelRows, metric: Metric) -> tuple[RowSpace, float]:
    """Compute the distances between rows.

    Parameters
    ----------
    rows : ModelRows
        Rows with responses.
    metric : str
        Name of the metric.

    Returns
    -------
    space : RowSpace
        Distances, divided by their unit.
    unit : float
        A power of two above the largest absolute response, by which distances are divided to avoid overflow;
        1 for metrics that do not depend on the units of the responses.

    Raises
    ------
    DataError
        The metric is not defined for a row, or the distances do not fit into memory.
    """
    y = rows.y
    names = rows.model.responses
    reason, is_invalid = distance_tests.find_undefined_distances(metric, y)
    if is_invalid.any():
        row, column = np.argwhere(is_invalid)[0]
        labels = [rows.label(position) for position in np.flatnonzero(is_invalid.any(axis=1)).tolist()]
        columns: tuple[Any, ...] = ()
        if y[row, column] < 0:
            problem = f"row {rows.label(row)!r} has {y[row, column]:g} in {names[column]!r}"
            columns = (names[column],)
        else:
            problem = f"{'row' if len(labels) == 1 else 'rows'} {join_labels(labels)}"
        raise DataError(
            f"distance={metric!r} is not defined if {reason}: {problem}.",
            hint="Leave such rows out, or use another metric.",
            columns=columns,
            rows=tuple(labels),
        )
    max_absolute = float(np.abs(y).max(initial=0.0))
    unit = float(np.ldexp(1.0, np.frexp(max_absolute)[1])) if max_absolute > 0 else 1.0
    space = RowSpace.from_metric(y / unit, metric)
    return space, unit if metric in ("euclidean", "manhattan") else 1.0


def _as_square_array(distance: Any) -> Floats:
    """Convert a table of distances to an array (n, n); raise DataError if it is not square or not numeric."""
    try:
        values = np.asarray(distance, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise DataError(
            f"distance={format_argument(distance)} is not valid.",
            hint=(
                f"Pass a metric, one of {join_labels(get_args(Metric), 20)}, or a square table of numbers "
                "with a row and a column for each row, such as the result of scipy's squareform()."
            ),
        )
    return values


def _space_from_table(rows: ModelRows, distance: Any, values: Floats) -> RowSpace:
    """Validate a square table of distances, and select the rows of the model from it.

    Parameters
    ----------
    rows : ModelRows
        Rows of the model, n of the N rows of the table.
    distance : DataFrame or array-like
        The argument of the user. Index and columns of a DataFrame must equal the index of the table.
    values : (N, N) float
        The values of `distance`.

    Returns
    -------
    RowSpace
        Distances between the n rows.

    Raises
    ------
    DataError
        Labels or size differ from the table, a distance between the n rows is missing, infinite, negative or
        asymmetric, or they do not fit into memory. Distances of other rows are not checked.
    """
    table = rows.table
    positions = rows.positions
    if isinstance(distance, pd.DataFrame) and not (
        distance.index.equals(table.index) and distance.columns.equals(table.index)
    ):
        raise DataError(
            "The index and columns of distance= differ from the index of the table, or are in another order.",
            hint="Align them, for example by distance.loc[data.index, data.index], or pass an array.",
        )
    if len(values) != table.nrows:
        raise DataError(
            f"distance= has {len(values):,} rows and columns, but the table has {table.nrows:,} rows.",
            hint="Pass a row and a column for each row of the table.",
        )
    distance_tests.check_distance_memory(len(positions))
    distances = values[np.ix_(positions, positions)]
    is_invalid = ~(distances >= 0) | np.isinf(distances)
    tolerance = SYMMETRY_TOLERANCE * float(np.max(distances, where=~is_invalid, initial=0.0))
    is_diagonal = np.eye(len(positions), dtype=bool)
    is_invalid |= (np.abs(distances - distances.T) > tolerance) | (is_diagonal & (distances > tolerance))
    if is_invalid.any():
        i, j = np.argwhere(is_invalid)[0]
        raise DataError(
            f"distance= has {distances[i, j]:g} for rows {rows.label(i)!r} and {rows.label(j)!r}, and "
            f"{distances[j, i]:g} in the opposite direction.",
            hint="Distances must be finite, symmetric, at least 0, and 0 from a row to itself.",
            rows=(rows.label(i),),
        )
    return RowSpace.from_distances(distances)
