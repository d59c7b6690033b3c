"""Permutation tests of a linear model by distances: the verb `permanova`, its results and their summaries.

The rows that are permuted are read in `permuted_rows`; the statistics are computed in
`discrim.inference.distance_tests`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import f_sf, t_sf
from discrim.design.linear_model import cells_of, dot_without
from discrim.errors import DataError, NotSupportedError, warn_user
from discrim.inference import distance_tests as core
from discrim.inference.distance_tests import Centre, Metric, RowSpace
from discrim.inference.manova import TestType
from discrim.models.base import reading
from discrim.models.base.displayed import Shown, displayed
from discrim.models.base.fit import with_rows_copied
from discrim.models.base.reading import (
    Data,
    NaAction,
    check_flag,
    check_test_type,
    check_word,
    listed,
    told,
)
from discrim.models.linear_model.mlm_summary import EACH, ROMAN
from discrim.models.linear_model.permuted_rows import PERMUTATIONS, Exchange, ModelRows, rows_to_permute
from discrim.models.linear_model.term_model import term_position
from discrim.report.grid import Format, HeaderItem, Pairs, Section
from discrim.report.plots.judged import draw_permuted
from discrim.report.plots.points import draw_spread
from discrim.report.plots.spaces import draw_scores
from discrim.report.plots.style import numbers, set_title
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes


SYMMETRIC = 1e-9
"""Share of the largest distance by which a table of distances may differ from its transpose."""


def in_square_units(squares: Any, unit: float) -> Floats:
    """Return squares times the square of a unit; infinite or zero outside the range of float64."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(squares) * unit * unit


@dataclass(frozen=True, slots=True, eq=False)
class TestedRows:
    """Rows, distances and permutations of tests; a pickle leaves them behind.

    Attributes
    ----------
    rows : ModelRows
    space : RowSpace
        Distances of the rows.
    exchange : Exchange
    is_available : bool
        False in results that were unpickled, which have no rows.
    """

    rows: ModelRows
    space: RowSpace
    exchange: Exchange
    is_available: bool = True

    def __reduce__(self) -> tuple[Any, ...]:
        return TestedRows, (None, None, None, False)

    def __deepcopy__(self, memo: dict[int, Any]) -> TestedRows:
        return with_rows_copied(self, memo)

    def require(self, what: str) -> TestedRows:
        """Return the rows; raise NotSupportedError if the results were unpickled without them."""
        if not self.is_available:
            raise NotSupportedError(
                f"{what} needs the rows, which a result that was unpickled does not have.",
                hint="Call permanova() again.",
            )
        return self


class PermanovaResults(Shown):
    """Tests of the terms of a linear model by distances between rows, whose p-values are by permutation.

    Attributes
    ----------
    formula : str
    distance : str
        Name of the metric, or "given".
    terms : Index
        The model's terms, without the constant.
    nobs : int
        Rows used, each as often as its weight says.
    df_resid : int
    table : DataFrame
        df, SS, R2, F and p of each term, and the sums of squares of "residual" and "total".
    permuted : DataFrame
        The F of each term by permutation.
    exact : bool
        Whether all labellings were tried, because there are no more than the permutations asked for.
    labellings : float
        Number of different labellings.
    shuffled : str
        What exchanged places, in words.
    seed : int
        Seed of the permutations.
    """

    _FIRST_SECTIONS = ("header", "tests")

    def __init__(
        self, rows: ModelRows, space: RowSpace, unit: float, distance: str, kind: TestType, exchange: Exchange
    ) -> None:
        self._tested_rows = TestedRows(rows, space, exchange)
        self._unit = unit
        self._kind = kind
        self._total = space.total
        self._dropped = rows.model.design_rows.dropped
        directions = rows.directions(kind)
        found, self.shuffled = rows.shuffle(directions.cells, exchange)
        self.formula: str = rows.model.design_rows.design.formula
        self.distance = distance
        self.seed = exchange.seed
        self.terms = pd.Index(rows.model.labels)
        self.nobs = len(rows.positions)
        self.df_resid = directions.df
        self.labellings = found.labellings()
        self.exact = self.labellings <= exchange.permutations + 1
        orders = found.drawn(exchange.permutations, exchange.seed)
        self._tests = core.permuted_terms(space, directions, orders, exchange.permutations)
        self._df = [len(at) for at in directions.terms]
        self._fixed = rows.unchanged_terms(found)
        index = pd.RangeIndex(1, len(self._tests.drawn) + 1, name="permutation")
        self.permuted = pd.DataFrame(self._tests.drawn, index=index, columns=self.terms)

    @property
    @displayed(SS="general", R2="share")
    def table(self) -> pd.DataFrame:
        """df, SS, R2, F and p of each term, of the residuals and of all.

        A sum of squares outside the range of float64 is infinite or zero; R2, F and p hold in any units.
        """
        tests = self._tests
        none = [np.nan, np.nan]
        squares = np.append(tests.squares, self._total)
        columns = {
            "df": [*self._df, self.df_resid, self.nobs - 1],
            "SS": in_square_units(squares, self._unit),
            "R2": squares / self._total,
            "F": [*tests.f, *none],
            "p": [*np.where(self._fixed, np.nan, core.pvalues(tests.f, tests.drawn)), *none],
        }
        return pd.DataFrame(columns, index=[*self.terms, "residual", "total"])

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """The table with broom's names: term, df, sumsq, R2, statistic, p_value."""
        names = {"SS": "sumsq", "F": "statistic", "p": "p_value"}
        return self.table.rename(columns=names).rename_axis("term").reset_index()

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row: rows, residual degrees of freedom, R2 of the model, permutations."""
        explained = 1 - self._tests.squares[-1] / self._total
        row = {"nobs": self.nobs, "df_resid": self.df_resid, "R2": explained}
        return pd.DataFrame([row | {"permutations": len(self.permuted), "exact": self.exact}])

    def coordinates(self) -> pd.DataFrame:
        """Principal coordinates of the rows, in which their distances are those of the test.

        Returns
        -------
        DataFrame, rows by PCo1, PCo2, ...
            Those with positive eigenvalues, the largest first. If the distances are not Euclidean, there are
            negative eigenvalues too, and their coordinates are left out.

        Raises
        ------
        NotSupportedError
            The result was unpickled, which leaves the rows behind.
        """
        tested = self._tested_rows.require("coordinates()")
        axes, values = tested.space.axes()
        axes = axes[:, values > 0] * self._unit
        names = [f"PCo{j + 1}" for j in range(axes.shape[1])]
        return pd.DataFrame(axes, index=tested.rows.index, columns=names)

    def notes(self) -> list[str]:
        """What was exchanged, how each term was tested, and what the p-values are, as sentences."""
        tried = "Each other labelling was tried once" if self.exact else "Permutations are random"
        sentences = [
            f"Type {ROMAN[self._kind]}: each term {EACH[self._kind]}.",
            f"Places were exchanged among {self.shuffled}. {tried}: p = (1 + as large or larger) / (1 + "
            f"{len(self.permuted)}).",
        ]
        sentences.append(
            "p assumes that rows are exchangeable under the hypothesis"
            + (", and is approximate for one of several terms. " if len(self.terms) > 1 else ". ")
            + "It is small if classes differ in location, in spread or in both."
        )
        fixed = self.terms[self._fixed & (np.array(self._df) > 0)]
        if len(fixed):
            sentences.append(f"No exchange changes what {listed(fixed)} explains, so that it has no p-value.")
        if self._tests.squares.min() < 0:
            sentences.append("Negative sums of squares arise because these distances are not Euclidean.")
        return sentences

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the tables wanted, in order, such as "tests"; by default all.
        """
        return permanova_summary(self, sections)

    def dispersion(
        self, term: str | None = None, *, centre: Centre = "median", bias_adjust: bool = False
    ) -> Dispersion:
        """Whether the classes of a term are equally spread: distances of rows from their classes' centres.

        Parameters
        ----------
        term : str, optional
            The term whose levels, or combinations of levels, are the classes; it may be left out if the model
            has only one.
        centre : {"median", "centroid"}
            The spatial median of a class, the point of least summed distance, or its centroid.
        bias_adjust : bool
            Multiply the distances by sqrt(n / (n - 1)), n being the rows of the class: those of a small class
            are nearer to their own centre.

        Returns
        -------
        Dispersion
            The tests of `betadisper` and `permutest` of R's vegan, with those of the pairs.

        Raises
        ------
        DataError
            There is no such term, it has no factor, or no class has three rows.

        Notes
        -----
        F compares the mean distances of the classes (Anderson, 2006, Biometrics 62, 245-253): Levene's test
        for many columns. The permutations exchange the distances less the means of their classes, within the
        same blocks as the rows, and assume that these are exchangeable; the p of F assumes normal distances
        of one variance.

        Examples
        --------
        >>> from discrim import permanova
        >>> from discrim.datasets import load_iris
        >>> spread = permanova("species ~ .", load_iris(), seed=1).dispersion(centre="centroid")
        >>> spread.groups["distance"].round(3).tolist()
        [0.482, 0.707, 0.819]
        """
        check_word("centre", centre, Centre)
        check_flag("bias_adjust", bias_adjust)
        codes, labels, name = self._labels(term)
        if len(labels) < 2 or np.bincount(codes).max() < 3:
            raise DataError(
                f"The term {name!r} makes {len(labels)} classes of {len(codes)} rows, of which no two "
                "can be compared by their spread.",
                hint=(
                    "Name a term with two or more classes, one of which has three rows, as the rows of a "
                    "class of two are equally far from its centre."
                ),
            )
        return Dispersion(self, codes, labels, name, centre, bool(bias_adjust))

    def plot(
        self,
        kind: Literal["permutations", "coordinates"] = "permutations",
        *,
        term: str | None = None,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Axes:
        """Draw a picture.

        Parameters
        ----------
        kind : {"permutations", "coordinates"}
            "permutations" draws the F of a term by permutation and the one that was seen; "coordinates" the
            rows in the plane of the first two principal coordinates, which show the distances best, with the
            centroids of a term's classes.
        term : str, optional
            The term; by default the first.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes
        """
        check_word("kind", kind, ("permutations", "coordinates"))
        named = self._term(self.terms[0] if term is None else term)
        if kind == "permutations":
            return self._null(named, ax, title)
        codes, labels, _ = self._labels(named)
        points = self.coordinates()
        squares = ((points / self._unit) ** 2).sum()
        total = self._total
        of = " of all squares"
        if squares.sum() > total * (1 + 1e-9):
            # Negative eigenvalues, of distances that are not Euclidean, would make shares of more than 100 %.
            total = squares.sum()
            of = " of the positive eigenvalues"
        points = points.iloc[:, :2]
        named_cells = pd.Index(labels)
        shown = pd.Series(named_cells[codes], index=points.index)
        means = [points.to_numpy()[codes == code].mean(axis=0) for code in range(len(labels))]
        centroids = pd.DataFrame(means, index=named_cells, columns=points.columns)
        axes = draw_scores(points, shown, centroids, ax, level=None, shares=squares / total, of=of)
        set_title(axes, f"Principal coordinates of the rows, by {named}" if title is None else title)
        return axes

    def _null(self, term: str, ax: Axes | None, title: str | None) -> Axes:
        f, p = (float(self.table[column].loc[term]) for column in ("F", "p"))
        drawn = self.permuted[term]
        if not np.isfinite(drawn).all() or not len(drawn):
            raise DataError(
                f"The F of {term!r} by permutation are not finite, so that they cannot be drawn.",
                hint="Leave out terms, or rows that are the same.",
            )
        names = (f"Pseudo-F, places exchanged among {self.shuffled}", f"F of {term} by permutation")
        axes = draw_permuted(drawn, f, f"p {p:.2g}", names, ax=ax)
        if title is not None:
            set_title(axes, title)
        return axes

    def _term(self, named: str | None) -> str:
        """The name of a term, in which factors may be named in any order."""
        return str(self.terms[term_position(list(self.terms), named)])

    def _labels(self, term: str | None) -> tuple[Codes, list[Any], str]:
        """The cell (n,) of a term that each row is in, the labels of the cells that have rows, its name."""
        model = self._tested_rows.require("dispersion()").rows.model
        at = model.position(term)
        codes = model.terms[at].categories
        if not codes:
            raise DataError(
                f"The term {model.labels[at]!r} has no factor, so that it makes no classes.",
                hint="Name a term that has one.",
            )
        cells = cells_of(model.design_rows.design, codes)
        columns = list(cells.columns)
        own = model.estimates.x[:, [1 + column for column in columns]] * model.model_unit[columns]
        found = np.argmin(((own[:, None, :] - cells.values) ** 2).sum(axis=2), axis=1)
        there, numbered_cells = np.unique(found, return_inverse=True)
        labels = [cells.labels[cell] for cell in there.tolist()]
        named = [each[0] if len(codes) == 1 else ":".join(map(str, each)) for each in labels]
        return numbered_cells.reshape(-1), named, model.labels[at]


class Dispersion(Shown):
    """Tests that the classes of a term are equally spread.

    Attributes
    ----------
    term : str
    centre : str
        What distances are from: "median" or "centroid".
    distances : Series
        Distance of each row from the centre of its class.
    groups : DataFrame by class
        rows, and the mean distance.
    table : DataFrame
        df, SS, F, p of the F distribution and p_permutation, between and within classes.
    permuted : Series
        The F by permutation.
    """

    def __init__(
        self,
        tested: PermanovaResults,
        codes: Codes,
        labels: list[Any],
        term: str,
        centre: Centre,
        adjust: bool,
    ) -> None:
        rows = tested._tested_rows.rows
        exchange = tested._tested_rows.exchange
        z, negative = core.class_distances(tested._tested_rows.space, codes, centre)
        if negative:
            warn_user(
                f"{negative} squared distances are negative, as no Euclidean space has these distances, and "
                "count as zero: take the roots of the distances, or another metric."
            )
        counts = np.bincount(codes)
        if (counts == 1).any():
            alone = [labels[code] for code in np.flatnonzero(counts == 1)]
            warn_user(
                f"The distance of the one row of {listed(alone)} is zero, however it spreads: leave "
                "classes of one row out."
            )
        if adjust:
            z = z * np.sqrt(counts / np.maximum(counts - 1, 1))[codes]
        found, _ = rows.shuffle(np.arange(len(z)), exchange)
        orders = found.drawn(exchange.permutations, exchange.seed)
        self._tests = core.permuted_spread(z, codes, orders, exchange.permutations)
        self._codes, self._counts, self._labels = codes, counts, pd.Index(labels, name=term)
        self._adjusted = adjust
        self._unit = tested._unit
        self._z = z
        self.term = term
        self.centre = centre
        self.distances = pd.Series(z * self._unit, index=rows.index, name="distance")
        index = pd.RangeIndex(1, len(self._tests.drawn) + 1, name="permutation")
        self.permuted = pd.Series(self._tests.drawn, index=index, name="F")

    @property
    @displayed()
    def groups(self) -> pd.DataFrame:
        """Rows of each class, and their mean distance from its centre."""
        means = np.bincount(self._codes, self.distances) / self._counts
        return pd.DataFrame({"rows": self._counts, "distance": means}, index=self._labels)

    @property
    @displayed(SS="general")
    def table(self) -> pd.DataFrame:
        """df, SS, F, p and p_permutation of the distances, between and within classes."""
        z = self._z
        means = np.bincount(self._codes, z) / self._counts
        between = float((self._counts * (means - z.mean()) ** 2).sum())
        within = float(((z - means[self._codes]) ** 2).sum())
        df = [len(means) - 1, len(z) - len(means)]
        p = float(f_sf(self._tests.f, *map(float, df)))
        squares = in_square_units([between, within], self._unit)
        columns = {"df": df, "SS": squares, "F": [self._tests.f, np.nan], "p": [p, np.nan]}
        columns["p_permutation"] = [self._tests.p, np.nan]
        return pd.DataFrame(columns, index=[self.term, "residual"])

    @displayed()
    def pairs(self) -> pd.DataFrame:
        """Each two classes: the difference of their mean distances, t, df, p and p_permutation.

        The p are those of each pair alone, not adjusted for their number.
        """
        a, b = self._tests.pairs.T
        means = self.groups["distance"].to_numpy()
        df = (self._counts[a] + self._counts[b] - 2).astype(np.float64)
        t = self._tests.t
        with np.errstate(invalid="ignore"):
            p = 2 * t_sf(np.abs(t), np.where(df > 0, df, np.nan))
        columns = {"difference": means[a] - means[b], "t": t, "df": df, "p": p}
        columns["p_permutation"] = self._tests.pair_p
        index = pd.MultiIndex.from_arrays([self._labels[a], self._labels[b]], names=["a", "b"])
        return pd.DataFrame(columns, index=index)

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """The test with broom's names: term, df, sumsq, statistic, p_value, p_permutation."""
        names = {"SS": "sumsq", "F": "statistic", "p": "p_value"}
        return self.table.rename(columns=names).rename_axis("term").reset_index()

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the tables wanted, in order, such as "tests"; by default all.
        """
        return dispersion_summary(self, sections)

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the distances of the rows from the centres of their classes, class by class.

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
        centre = "spatial median" if self.centre == "median" else "centroid"
        axes = draw_spread(
            numbers(self.distances.to_frame())[:, 0],
            self._codes,
            list(self._labels),
            numbers(self.groups)[:, 1],
            f"Distance from the {centre} of the class; the line is the mean",
            ax,
        )
        set_title(axes, f"Spread of the classes of {self.term}" if title is None else title)
        return axes


def permanova_summary(results: Any, sections: Sequence[str] | None = None) -> Summary:
    """Header and tests of the terms."""
    parts: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: _permanova_header(results),
        "tests": lambda: Section(
            "Tests of the terms by permutation",
            results.table,
            {"df": "count", "SS": "general", "R2": "share", "F": "z", "p": "tail"},
            note=" ".join(results.notes()),
            source=".table, .tidy()",
        ),
    }
    return summarize("Permutation tests of distances", parts, pick=sections)


def dispersion_summary(results: Any, sections: Sequence[str] | None = None) -> Summary:
    """Mean distances, their test, and the pairs of classes."""
    centre = "spatial median" if results.centre == "median" else "centroid"
    note = (
        f"Distances from the {centre} of the class"
        + (", times sqrt(n / (n - 1))" if results._adjusted else "")
        + f". p_permutation exchanges the distances from the class means {len(results.permuted)} times; p "
        "assumes that the distances are normal with one variance."
    )
    p: dict[Any, Format] = {"p": "tail", "p_permutation": "tail"}
    parts: dict[str, Callable[[], Section | Pairs]] = {
        "groups": lambda: Section(
            "Mean distances", results.groups, {"rows": "count"}, source=".groups, .distances"
        ),
        "tests": lambda: Section(
            "Test that they are equal",
            results.table,
            {**p, "df": "count", "SS": "general", "F": "z"},
            note=note,
            source=".table, .tidy()",
        ),
        "pairs": lambda: Section(
            "Pairs of classes", results.pairs(), {**p, "t": "z", "df": "count"}, source=".pairs()"
        ),
    }
    return summarize(f"Spread of the classes of {results.term}", parts, pick=sections)


def _permanova_header(results: Any) -> Pairs:
    dropped = results._dropped
    few = f"{results.labellings:.0f}" if results.labellings < 1e9 else "more than 1e9"
    items: list[HeaderItem] = [
        HeaderItem("Rows used", results.nobs),
        HeaderItem("Distance", results.distance),
        HeaderItem("Rows dropped, missing", dropped),
        HeaderItem("Permutations", len(results.permuted)),
        HeaderItem("Residual df", results.df_resid),
        HeaderItem("Labellings", results.labellings, few),
    ]
    return Pairs(results.formula, items)


@reading.with_keyword_hints
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
    """Permutation tests of the terms of a model by distances between rows; as `adonis2` of R's vegan.

    Parameters
    ----------
    formula : str
        The model on the left, where the class of a discriminant analysis stands, and the responses on the
        right: ``"species * sex ~ bill_length_mm + bill_depth_mm"``. R's ``cbind(y1, y2) ~ a * b`` is the same
        as ``a * b ~ y1 + y2``. Text, categories and truth values are factors, and numbers are covariates; but
        a single column of numbers on the left is a factor as in `lda`, and ``C(year)`` makes a factor of any
        column. With a table of distances there are no responses, and 1 stands in their place.
    data : table
        A DataFrame of pandas, or any other table in memory that narwhals knows. Rows exchange places, so that
        a source that is read part by part is refused: pass a sample of its rows as a DataFrame.
    distance : str, or table of distances
        Distance of two rows x and y, d being the size of x - y in a column. "euclidean"; "manhattan", sum d;
        "gower", the mean of d over the ranges of the columns; "cosine", one less the cosine; and for columns
        without negative values "bray-curtis", sum d / sum (x + y); "jaccard", 2 B / (1 + B) with B that of
        Bray and Curtis, which for zeros and ones is Jaccard's; "canberra", the mean of d / (x + y) over
        columns that are not both zero; "hellinger", Euclidean between the roots of the shares in each row's
        sum. A row of zeros has the distance 1 from any other by "bray-curtis", "jaccard" and "canberra", and
        none from a second row of zeros (0/0, as in vegan), which is refused; by "hellinger" and "cosine" it
        has none. Or a square DataFrame or array with a row and a column for each row of the table.
    permutations : int
        Number of random permutations. If there are no more different labellings than that, each is taken
        once.
    within : column name or (n,) array, optional
        Blocks of rows: rows, or groups, are permuted only within their block.
    groups : column name or (n,) array, optional
        Groups of rows, such as plots, that exchange places whole, the first row of one with the first of the
        other. They have equal numbers of rows.
    type : {1, 2, 3}
        Type of the sums of squares; see the page on shared arguments. R's `adonis2` has type 1 with
        ``by="terms"``, and type 2 of terms that no other contains with ``by="margin"``.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows. Neither are those of `within` and
        `groups`; weights are whole numbers.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.
    seed : int, optional
        Seed of the permutations; by default one is drawn, which the result holds.

    Returns
    -------
    PermanovaResults
        `table` has df, SS, R2, F and p of each term.

    Raises
    ------
    DataError
        A metric is not known or gives a row no distance; a table of distances has other rows, or is none;
        groups differ in size, or no shuffle changes anything; the distances do not fit in memory.
    FormulaError
        The formula cannot be read, or has no factor on the left.
    NotSupportedError
        The table is a source that is read part by part, weights are not whole numbers, or type III is asked
        for and some cells have no rows.

    Notes
    -----
    With d_ij the distances, A = (-d_ij^2 / 2) and G that matrix with rows and columns centred, the sum of
    squares of a projection P is tr(P G), and pseudo-F = (SS / q) / (SS of the residuals / v) (Anderson, 2001,
    Austral Ecology 26, 32-46; McArdle & Anderson, 2001, Ecology 82, 290-297). Euclidean distances give the
    sums of squares of the responses, added up.

    p = (1 + b) / (1 + B), where b of the B permuted F are at least as large as the observed one. It is exact
    if rows, or whole groups, are exchangeable within the blocks that `within` names under the hypothesis that
    no term has an effect. It is approximate for one term if others have an effect, because the rows are
    permuted and not their residuals, as in vegan. F has the rows' residuals in its denominator even if whole
    groups exchange places.

    A small p-value says that the classes differ in location, in spread or in both (Anderson & Walsh, 2013,
    Ecological Monographs 83, 557-574); `dispersion` of the result tests the spread alone.

    Examples
    --------
    >>> from discrim import permanova
    >>> from discrim.datasets import load_penguins
    >>> formula = "species + sex ~ bill_length_mm + bill_depth_mm"
    >>> found = permanova(formula, load_penguins(), distance="manhattan", seed=1)
    >>> found.table[["df", "R2", "F", "p"]].round(3)
               df     R2        F      p
    species     2  0.690  573.020  0.001
    sex         1  0.111  184.082  0.001
    residual  329  0.198      NaN    NaN
    total     332  1.000      NaN    NaN
    """
    check_word("na_action", na_action, NaAction)
    kind = check_test_type(type)
    exchange = Exchange.read(permutations, seed, within, groups)
    named = isinstance(distance, str)
    given = np.zeros((0, 0)) if named else _square(distance)
    if named:
        check_word("distance", distance, Metric)
    rows = rows_to_permute(
        dot_without(formula, (within, groups)),
        data,
        weights=weights,
        na_action=na_action,
        functions=functions,
        responses=named,
    )
    lacking = rows.model.lacking()
    if lacking is not None and kind != 3:
        rows.model.warn_of(lacking)
    space, unit = _by_metric(rows, distance) if named else (_by_table(rows, distance, given), 1.0)
    if not space.total > 0:
        raise DataError(
            "All rows have the distance zero from each other, so that there is nothing to explain.",
            hint="Name responses that differ between rows.",
        )
    return PermanovaResults(rows, space, unit, distance if named else "given", kind, exchange)


def _by_metric(rows: ModelRows, metric: Metric) -> tuple[RowSpace, float]:
    """The rows as a metric sees them, and the unit of its distances."""
    y = rows.y
    names = rows.model.responses
    why, where = core.refused(metric, y)
    if where.any():
        row, column = np.argwhere(where)[0]
        if y[row, column] < 0:
            found = f"row {rows.label(row)!r} has {y[row, column]:g} in {names[column]!r}"
        else:
            labels = [rows.label(each) for each in np.flatnonzero(where.any(axis=1)).tolist()]
            found = f"{'row' if len(labels) == 1 else 'rows'} {listed(labels)}"
        raise DataError(
            f"distance={metric!r} gives no distance where {why}: {found}.",
            hint="Leave such rows out, or take another metric.",
        )
    size = float(np.abs(y).max(initial=0.0))
    unit = float(np.ldexp(1.0, np.frexp(size)[1])) if size > 0 else 1.0
    space = RowSpace.by_metric(y / unit, metric)
    return space, unit if metric in ("euclidean", "manhattan") else 1.0


def _square(distance: Any) -> Floats:
    """A table of distances as an array (n, n)."""
    try:
        values = np.asarray(distance, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise DataError(
            f"distance={told(distance)} is not valid.",
            hint=(
                f"Give a metric, one of {listed(get_args(Metric), 20)}, or a square table of numbers "
                "with a row and a column for each row, as of scipy's squareform()."
            ),
        )
    return values


def _by_table(rows: ModelRows, distance: Any, values: Floats) -> RowSpace:
    """The rows as a square table of their distances sees them."""
    table = rows.table
    positions = rows.positions
    if isinstance(distance, pd.DataFrame) and not (
        distance.index.equals(table.index) and distance.columns.equals(table.index)
    ):
        raise DataError(
            "The rows or columns of distance= are named differently from the rows of the table, or stand "
            "in another order.",
            hint="Align them, as by distance.loc[data.index, data.index], or pass an array.",
        )
    if len(values) != table.nrows:
        raise DataError(
            f"distance= has {len(values):,} rows and columns, and the table has {table.nrows:,} rows.",
            hint="Give a row and a column for each.",
        )
    core.refuse_square(len(positions))
    between = values[np.ix_(positions, positions)]
    bad = ~(between >= 0) | np.isinf(between)
    slack = SYMMETRIC * float(np.max(between, where=~bad, initial=0.0))
    bad |= (np.abs(between - between.T) > slack) | (np.eye(len(positions), dtype=bool) & (between > slack))
    if bad.any():
        a, b = np.argwhere(bad)[0]
        raise DataError(
            f"distance= has {between[a, b]:g} for rows {rows.label(a)!r} and {rows.label(b)!r}, and "
            f"{between[b, a]:g} the other way.",
            hint="Give distances of 0 or more, the same both ways, and 0 from a row to itself.",
            rows=(rows.label(a),),
        )
    return RowSpace.of_distances(between)
