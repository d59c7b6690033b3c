"""The method `plot` of all results: kinds of plots, their options, the observations and columns drawn.

A plot is a function with the decorator `plot`, listed in the `plots.py` of the models that have it. Nothing
here imports matplotlib.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, SupportsFloat, TypeVar

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.rules import posteriors
from discrim.design.matrix import response_codes
from discrim.errors import DataError, NotSupportedError
from discrim.formula.factors import select_functions
from discrim.formula.grammar import expression
from discrim.models.base.available import list_names_in_docstring
from discrim.models.base.display import SummarizedModel
from discrim.models.base.reading import Data, Structure, check_flag, check_word, format_argument, join_labels
from discrim.models.base.scores import transform_scores
from discrim.models.registry import MODELS, PlotKind, plot_kinds

if TYPE_CHECKING:
    from discrim.core.moments.moments import ClassMoments
    from discrim.design.design_rows import DesignRows
    from discrim.formula.design import Design
    from discrim.models.base.fit import FittedModel
    from discrim.models.evaluation.assessment import CountingMethod
    from discrim.report.plots.interactive import Figure, InteractiveRows
    from discrim.report.plots.style import Axes, Colormap, Signs


@dataclass(frozen=True, slots=True)
class PlotOptions:
    """Options of the method `plot` as passed by the user; None means default. See `PlottableResults.plot`.

    `other`, the model to compare with, is an option of the method `plot` of cross-validation results only.
    `interactive` and `standardized` are None or True.
    """

    ax: Axes | None = None
    data: Any = None
    axes: Sequence[str] | None = None
    columns: Sequence[str] | str | None = None
    at: Any = None
    method: str | None = None
    level: float | None = None
    structure: str | None = None
    centred: bool | None = None
    classes: Sequence[Any] | None = None
    colors: Any = None
    title: str | None = None
    other: Any = None
    interactive: bool | None = None
    standardized: bool | None = None
    label: str | None = None
    threshold: Any = None

    def passed_options(self) -> list[str]:
        """Return the names of the options that are not None, except `ax` and `title`, which all kinds use."""
        return [
            field.name
            for field in fields(self)
            if field.name not in ("ax", "title") and getattr(self, field.name) is not None
        ]

    def signs(self, classes: Iterable[Any]) -> Signs:
        """Return the colours, markers and line styles of the classes, given their labels in order.

        Raises DataError if `colors=` does not fit the classes.
        """
        from discrim.report.plots.style import signs_of

        return signs_of(list(classes), self.colors)

    def colormap(self, plot_kind: str) -> Colormap | None:
        """Return the colormap in `colors=`, for kinds of plots whose colours represent numbers.

        Returns None if `colors=` was not passed, and raises DataError, which names the kind, if it is not a
        colormap.
        """
        from discrim.report.plots.style import colormap_of, is_colormap

        if self.colors is not None and not is_colormap(self.colors):
            raise DataError(
                f"colors= of kind={plot_kind!r} is not a colormap of matplotlib.",
                hint="Pass a colormap or its name, for example 'viridis'.",
            )
        return None if self.colors is None else colormap_of(self.colors)


P = ParamSpec("P")
R = TypeVar("R", covariant=True)

DefaultRule = Callable[[Any, Any, PlotOptions], bool]
"""Function of results, their fit and the options: whether a plot can be the default."""


@dataclass(frozen=True, slots=True)
class Plot(Generic[P, R]):
    """A kind of plot of some models, created by the decorator `plot`.

    Attributes
    ----------
    kind : str
        Name of the kind, for `plot(kind=)`.
    description : str
        Description of the plot in one line.
    draw : callable
        Function of results, their fit and `PlotOptions`; without the fit for results without a model.
    options : frozenset of str
        Options of the method `plot` that it uses, besides `ax` and `title`.
    default_if : callable or None
        Condition under which it can be the default; None if it always can.
    refits : bool
        Whether it fits the model again, at the cost of several fits; lists without `refits` omit it.
    """

    kind: str
    description: str
    draw: Callable[P, R]
    options: frozenset[str]
    default_if: DefaultRule | None
    refits: bool

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Draw the plot and return its axes, or a figure of plotly if the options request it."""
        return self.draw(*args, **kwargs)


def plot(
    kind: PlotKind,
    description: str,
    *,
    used_options: tuple[str, ...] = (),
    data: bool = True,
    colors: bool = True,
    default_if: DefaultRule | None = None,
    refits: bool = False,
) -> Callable[[Callable[P, R]], Plot[P, R]]:
    """Return a decorator that turns a drawing function into a `Plot`.

    Parameters
    ----------
    kind, description, default_if, refits
        Attributes of the `Plot`.
    used_options : tuple of str
        Options of the method `plot` that the function uses, besides `ax`, `title`, `data` and `colors`. Other
        options raise an error.
    data, colors : bool
        Whether the function uses `data` and `colors`.

    Returns
    -------
    callable
        Function of a drawing function, which becomes `draw` of the `Plot`.
    """
    common = {"data": data, "colors": colors}
    options = frozenset((*used_options, *(name for name, is_used in common.items() if is_used)))
    return lambda draw: Plot(kind, description, draw, options, default_if, refits)


def reads_two_columns(results: Any, fit: Any, options: PlotOptions) -> bool:
    """Return whether the formula reads exactly two columns, both numeric; a condition of `default_if`."""
    return bool(results._is_plane())


def has_tuned_option(results: Any, fit: FittedModel[Any], options: PlotOptions) -> bool:
    """Return whether the fit has a path of candidate values of an option; a condition of `default_if`."""
    return fit.path is not None


def has_no_rows(results: Any, fit: FittedModel[Any], options: PlotOptions) -> bool:
    """Return whether the fit lacks rows and `data=` was not passed; a condition of `default_if`."""
    return not fit.has_rows and options.data is None


def has_numeric_ranges(results: Any, fit: FittedModel[Any], options: PlotOptions) -> bool:
    """Return whether numeric columns exist whose range is known; a condition of `default_if`.

    Without rows of the fit or `data=`, ranges are known if the fit has moments of all numeric columns.
    """
    columns = numeric_columns(fit.design_rows.design)
    if not columns or fit.has_rows or options.data is not None:
        return bool(columns)
    moments = getattr(fit.estimates, "moments", None)
    return moments is not None and set(columns) <= set(fit.terms)


def available_plot_kinds(results: Any, *, refits: bool = True) -> tuple[str, ...]:
    """Return the kinds of plots that the model has, in order of preference as a default.

    Some may raise an error for this fit, because they require rows or two columns.

    With `refits=False`, kinds that fit the model again are left out.

    Examples
    --------
    >>> import discrim
    >>> available_plot_kinds(discrim.knn("species ~ .", data=discrim.datasets.load_iris()))[:2]
    ('regions', 'posteriors')
    """
    return tuple(plot.kind for plot in results._spec.plots() if refits or not plot.refits)


def check_names_option(option: str, option_value: Any) -> Any:
    """Validate an option that is a name, names or None; raise DataError otherwise.

    Parameters
    ----------
    option : str
        Name of the option for the message.
    option_value : object

    Returns
    -------
    str, list of str or None
        A name or None unchanged; other iterables of one or more names as a list.
    """
    if option_value is None or isinstance(option_value, str):
        return option_value
    names = list(option_value) if isinstance(option_value, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        problem = format_argument(next((name for name in names if not isinstance(name, str)), option_value))
        example = """ such as axes=["LD1", "LD2"]""" if option == "axes" else ""
        raise DataError(
            f"{option}= has the invalid value {problem}.", hint=f"Pass a name, or a list of names{example}."
        )
    return names


def check_classes_option(option_value: Any) -> list[Any] | None:
    """Return the labels in `classes=` as a list; raise DataError if it is empty or has a label twice.

    None is returned for None, and a single label becomes a list. Whether the labels exist is not checked.
    """
    if option_value is None:
        return None
    labels = (
        list(option_value)
        if isinstance(option_value, Iterable) and not isinstance(option_value, str)
        else [option_value]
    )
    repeated = [label for k, label in enumerate(labels) if label in labels[:k]]
    if repeated or not labels:
        problem = f"names {join_labels(repeated[:1])} twice" if repeated else "names no class"
        raise DataError(f"classes= {problem}.", hint="Name different classes, such as classes=['a', 'b'].")
    return labels


class PlottedRows(NamedTuple):
    """Rows to draw with their classes.

    Attributes
    ----------
    design_rows : DesignRows
        The rows.
    codes : (n,) int
        Position of the class of each row, -1 if its class is missing.
    labels : (n,) Series
        Class label of each row, missing if its class is, with the index of the table.
    """

    design_rows: DesignRows
    codes: Codes
    labels: pd.Series

    @property
    def weights(self) -> Floats:
        """Frequency weights (n,) of the rows, zero if missing; ones without weights."""
        weights = self.design_rows.weights
        return np.ones(len(self.codes)) if weights is None else np.nan_to_num(weights)

    def require_classes(self, plot_kind: str) -> None:
        """Raise DataError, which names the kind of plot, if the class of every row is missing."""
        if not (self.codes >= 0).any():
            raise DataError(
                f"kind={plot_kind!r} requires the classes of the rows, which are all missing.",
                hint="Pass rows with their response.",
            )

    def terms(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns of the design matrix for all rows of the table.

        Parameters
        ----------
        names : sequence of str
            Names of the columns.

        Returns
        -------
        DataFrame
            Rows by `names`; NaN in rows with a missing value.
        """
        all_terms = list(self.design_rows.terms)
        column_index = [all_terms.index(name) for name in names]
        out = np.full((len(column_index), self.design_rows.table.nrows), np.nan)
        for row_slice, x, missing in self.design_rows.iter_all_rows():
            out[:, row_slice] = x[:, column_index].T
            if missing is not None:
                out[:, row_slice.start + np.flatnonzero(missing)] = np.nan
        return pd.DataFrame(out.T, index=self.design_rows.table.index, columns=list(names))


def rows_to_draw(fit: FittedModel[Any], options: PlotOptions) -> PlottedRows | None:
    """Return the rows of `data=` or of the fit; None if the fit lacks rows and `data=` was not passed.

    Rows of `data=` without the response have codes of -1 and missing labels. Raises the error of
    `fit.require_rows_in_memory` if the rows of the fit are read in chunks or are on workers.
    """
    if options.data is not None:
        design_rows = fit.new_rows(options.data)
        design = design_rows.design
        functions = select_functions(design.functions, design_rows.functions)
        read = expression(design.response_code, frozenset(functions)).columns
        if read and not set(read) & set(design_rows.table.names):
            # The new rows lack a response.
            codes = np.full(design_rows.table.nrows, -1)
        else:
            codes = response_codes(design, design_rows.table, design_rows.functions)
        return PlottedRows(design_rows, codes, fit.to_labels(codes, design_rows.table.index))
    if not fit.has_rows:
        return None
    design_rows = fit.require_rows_in_memory()
    return PlottedRows(design_rows, design_rows.codes, fit.actual_labels(design_rows))


def hover_data(fit: FittedModel[Any], rows: PlottedRows | None, options: PlotOptions) -> InteractiveRows:
    """Collect the data that an interactive plot displays when the pointer is on a point.

    Parameters
    ----------
    fit : FittedModel
    rows : PlottedRows or None
        Rows that are drawn.
    options : PlotOptions

    Returns
    -------
    InteractiveRows
        Index, actual and predicted classes and posteriors of the rows (None for a model without posteriors);
        empty if `rows` is None.
    """
    from discrim.report.plots.interactive import InteractiveRows

    classes = list(fit.classes)
    signs = options.signs(fit.classes)
    no_codes = np.empty(0, dtype=np.intp)
    if rows is None:
        return InteractiveRows(pd.RangeIndex(0), no_codes, no_codes, classes, None, signs)
    design_rows = rows.design_rows
    probabilities = (
        transform_scores(design_rows, fit.rule(), len(classes), posteriors) if fit.has_posteriors else None
    )
    return InteractiveRows(
        design_rows.table.index, rows.codes, fit.predict_codes(design_rows), classes, probabilities, signs
    )


def require_rows_to_draw(fit: FittedModel[Any], options: PlotOptions, plot_kind: str) -> PlottedRows:
    """Return the rows to draw, for a kind of plot that consists of rows only.

    Raises NotSupportedError if the fit lacks rows and `data=` was not passed, and DataError if all classes
    are missing.

    Parameters
    ----------
    fit : FittedModel
    options : PlotOptions
    plot_kind : str
        Name of the kind in the error message.

    Returns
    -------
    PlottedRows
        Rows of `data=` or of the fit, one or more with a class.
    """
    rows = rows_to_draw(fit, options)
    if rows is None:
        raise NotSupportedError(
            f"kind={plot_kind!r} requires rows, which a fit that was loaded or computed from moments does "
            "not have.",
            hint="Pass them as data=.",
        )
    rows.require_classes(plot_kind)
    return rows


def empty_labels() -> pd.Series:
    """Return an empty Series of class labels, for plots without rows."""
    return pd.Series([], dtype=object)


def numeric_columns(design: Design) -> list[str]:
    """Return the columns of the table that the formula reads as numbers only, which can be axes of a plane.

    Boolean columns are not among them.
    """
    boolean_names = set(design.boolean_columns)
    if design.spec is None:
        return [name for name in design.columns if name not in boolean_names]
    function_names = frozenset(design.functions)
    read_as_numbers: set[str] = set()
    read_as_levels: set[str] = set()
    for factor in design.spec.factors:
        names = read_as_numbers if factor.levels is None else read_as_levels
        names.update(expression(factor.code, function_names).columns)
    column_types = design.kinds
    numeric_names = read_as_numbers - read_as_levels - boolean_names
    return [name for name in design.columns if name in numeric_names and column_types[name] == "numeric"]


def numeric_terms(design: Design, terms: Sequence[str]) -> list[str]:
    """Return the terms among `terms` (columns of the design) that are computed from numeric columns only.

    Levels of categories, products with them, and boolean columns are not among them.
    """
    boolean_names = set(design.boolean_columns)
    if design.spec is None:
        return [name for name in terms if name not in boolean_names]
    is_categorical = [factor.levels is not None for factor in design.spec.factors]
    numeric_names = set[str]()
    for term_index, product in design.spec.products_with_columns():
        if not any(is_categorical[factor] for factor, _ in product):
            numeric_names.update(design.terms[term_index])
    return [name for name in terms if name in numeric_names and name not in boolean_names]


def select_separating_columns(
    fit: FittedModel[Any],
    options: PlotOptions,
    names: Sequence[str],
    n_columns: int = 2,
    *,
    by_model_covariances: bool = False,
) -> list[str]:
    """Return the columns that separate the classes best.

    Two columns are the pair with the largest F (the smallest Wilks' lambda); more are the columns with the
    largest F one by one. Of more than `MAX_CROSS_PRODUCT_COLUMNS` candidates, only the ones with the largest
    F are paired. The first columns are returned if `names` has at most `n_columns`, or if neither the fit
    nor the rows have their moments.

    Parameters
    ----------
    fit : FittedModel
    options : PlotOptions
    names : sequence of str
        Candidates: columns of the table or of the design.
    n_columns : int
        Number of columns to return.
    by_model_covariances : bool
        Whether to use the within-class covariances of the model, which differ from the covariances of the
        rows if the model adds a ridge.

    Returns
    -------
    list of str
        `n_columns` of the names, or all if there are fewer.
    """
    from discrim.inference.manova import MAX_PAIRED_COLUMNS, most_separating_columns, most_separating_pair

    moments = None if len(names) <= n_columns else moments_of_columns(fit, options, names)
    if moments is None:
        return list(names[:n_columns])
    if by_model_covariances and has_ridge(fit) and set(names) <= set(fit.terms):
        # Scatter matrices that correspond to the ridged covariances of the model.
        estimates: Any = fit.estimates
        column_index = [list(fit.terms).index(name) for name in names]
        units = moments.scale / estimates.moments.scale[column_index]
        roots = [covariance.root[:, column_index] * units for covariance in estimates.covariances]
        dfs = np.maximum(moments.counts - 1, 0)
        scatters = np.stack([count * root.T @ root for count, root in zip(dfs, roots, strict=True)])
        moments = replace(moments, scatters=scatters, roots=None)
    if n_columns == 2 and len(names) > MAX_CROSS_PRODUCT_COLUMNS:
        return select_separating_columns(
            fit, options, [names[j] for j in most_separating_columns(moments, MAX_PAIRED_COLUMNS)]
        )
    return [
        names[j]
        for j in (
            most_separating_pair(moments) if n_columns == 2 else most_separating_columns(moments, n_columns)
        )
    ]


def has_ridge(fit: FittedModel[Any]) -> bool:
    """Return whether the model adds a ridge, a multiple of the identity, to its covariances."""
    return bool(getattr(fit.estimates, "ridged", False))


MAX_CROSS_PRODUCT_COLUMNS = 300
"""Largest number of columns whose full cross products are computed to choose the best pair."""


def moments_of_columns(
    fit: FittedModel[Any], options: PlotOptions, names: Sequence[str]
) -> ClassMoments | None:
    """Return the moments of some columns by class, from the fit or from the rows that are drawn.

    Moments of rows have pooled cross products, or only squares if there are more than
    `MAX_CROSS_PRODUCT_COLUMNS` columns.

    Parameters
    ----------
    fit : FittedModel
    options : PlotOptions
    names : sequence of str
        Columns of the design or of the table.

    Returns
    -------
    ClassMoments or None
        Columns in the order of `names`; None if the fit lacks them and no complete labelled rows are
        available.
    """
    from discrim.core.moments.moments import ClassMoments

    estimates: Any = fit.estimates
    terms = list(fit.terms)
    fit_moments: Any = getattr(estimates, "moments", None)
    has_moments = (
        set(names) <= set(terms)
        and isinstance(fit_moments, ClassMoments)
        and fit_moments.n_columns == len(terms)
    )
    if has_moments and (fit_moments.scatter_type != "diagonal" or not fit.has_rows):
        column_moments: ClassMoments = fit_moments.select_columns(
            np.array([terms.index(name) for name in names])
        )
        return column_moments
    rows = rows_to_draw(fit, options)
    if rows is None:
        return None
    table = rows.design_rows.table
    x = np.empty((table.nrows, len(names)))
    if set(names) <= set(table.names):
        table.fill(list(names), 0, table.nrows, x)
    else:
        x = rows.terms(names).to_numpy()
    weights = rows.weights
    used = (rows.codes >= 0) & np.isfinite(x).all(axis=1) & (weights > 0)
    if not used.any():
        return None
    required_moments: Any = "pooled" if len(names) <= MAX_CROSS_PRODUCT_COLUMNS else "diagonal"
    return ClassMoments.from_block(
        x[used],
        rows.codes[used],
        weights[used],
        n_classes=len(fit.classes),
        required_moments=required_moments,
    )


def describe_selection(options: PlotOptions, n_candidates: int, n_chosen: int = 2) -> str:
    """Describe for a title how columns were chosen, for example "pair of largest F of 6".

    Empty if the user chose the columns or all are drawn.

    Parameters
    ----------
    options : PlotOptions
        Of which only `columns` is used: not None if the user chose the columns.
    n_candidates : int
        Number of candidates.
    n_chosen : int
        Number of columns that were chosen.
    """
    from discrim.inference.manova import MAX_PAIRED_COLUMNS

    if options.columns is not None or n_candidates <= n_chosen:
        return ""
    candidates_text = (
        f"{n_candidates * (n_candidates - 1) // 2:,}"
        if n_candidates <= MAX_PAIRED_COLUMNS
        else f"{MAX_PAIRED_COLUMNS} columns of largest F"
    )
    return f"pair of largest F of {candidates_text}" if n_chosen == 2 else f"the {n_chosen} of largest F"


def check_columns_option(
    options: PlotOptions, candidates: Sequence[str], plot_kind: str, min_columns: int, max_columns: int
) -> list[str]:
    """Return the columns in `columns=` as a list, in the order of the user.

    Raises DataError if they are unknown, repeated, too few or too many.

    Parameters
    ----------
    options : PlotOptions
    candidates : sequence of str
        Columns that can be drawn.
    plot_kind : str
        Name of the kind in the error message.
    min_columns, max_columns : int
        Smallest and largest number of columns.
    """
    option_value = options.columns
    names = [option_value] if isinstance(option_value, str) else list(option_value or ())
    unknown = [name for name in names if name not in candidates]
    if unknown or len(set(names)) < len(names) or not min_columns <= len(names) <= max_columns:
        problem = f", and {format_argument(unknown[0])} is not one of them" if unknown else ""
        count_text = f"{min_columns} to {max_columns}" if min_columns < max_columns else min_columns
        raise DataError(
            f"columns={names}: kind={plot_kind!r} requires {count_text} different numeric columns{problem}.",
            hint=f"The columns are {join_labels(candidates, max_labels=20)}.",
            columns=unknown,
        )
    return names


def read_column_option(plot_kind: str, noun: str, candidates: Sequence[str], options: PlotOptions) -> str:
    """Return the column in `columns=`, by default the first candidate.

    Raises DataError if `candidates` is empty, the column is not among them, or more than one is passed.

    Parameters
    ----------
    plot_kind : str
        Name of the kind in error messages.
    noun : str
        What the columns contain, for the error message "requires a column of {noun}".
    candidates : sequence of str
        Columns that can be shown.
    options : PlotOptions
    """
    if not candidates:
        raise DataError(
            f"kind={plot_kind!r} requires a column of {noun}, and this fit has none.",
            hint="Use another kind of plot.",
        )
    option_value = options.columns
    if option_value is None:
        return candidates[0]
    name = (
        option_value if isinstance(option_value, str) else option_value[0] if len(option_value) == 1 else None
    )
    if name is None or name not in candidates:
        raise DataError(
            f"columns={format_argument(option_value)}: kind={plot_kind!r} requires one column of {noun}.",
            hint=f"Pass one of {join_labels(candidates)}.",
        )
    return name


MAX_PREVIEW_ROWS = 100_000
MAX_PREVIEW_COLUMNS = 100
MAX_PREVIEW_CLASSES = 20
"""Largest sizes of a fit whose picture is shown in a notebook, which then takes up to a second."""


class PlottableResults(SummarizedModel):
    """Base class of results with a method `plot`, whose docstrings list their public names by purpose."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Add the names to the docstring of a new subclass; see `list_names_in_docstring`."""
        super().__init_subclass__(**options)
        list_names_in_docstring(cls)

    def _repr_html_(self) -> str:
        """Return the short form and, if it can be drawn in about a second, the default picture below it.

        The picture is left out if it fits the model again or evaluates it on left-out observations, and for
        more than 100,000 observations, 100 columns or 20 classes.
        """
        html = super()._repr_html_()
        # A display must not fail, for example if matplotlib is not installed.
        with suppress(Exception):
            return "\n".join(filter(None, [html, self._preview()]))
        return html

    def _preview(self) -> str:
        """Return the default picture as HTML for a notebook, "" if it may be slow to draw."""
        from discrim.report.page.page import preview

        sizes = (getattr(self, "nobs", 0), len(getattr(self, "terms", ())), len(getattr(self, "classes", ())))
        limits = (MAX_PREVIEW_ROWS, MAX_PREVIEW_COLUMNS, MAX_PREVIEW_CLASSES)
        chosen = default_plot((self, self._subject()), self._spec.plots(), PlotOptions())
        is_slow = chosen.refits or "method" in chosen.options
        if is_slow or any(size > limit for size, limit in zip(sizes, limits, strict=True)):
            return ""
        return preview(self.plot, f"{chosen.description[:1].upper()}{chosen.description[1:]}.")

    def plot(
        self,
        kind: PlotKind | None = None,
        ax: Axes | None = None,
        *,
        data: Data | None = None,
        axes: Sequence[str] | None = None,
        columns: Sequence[str] | str | None = None,
        at: Any = None,
        method: CountingMethod | None = None,
        level: float | None = None,
        threshold: float | SupportsFloat | None = None,
        structure: Structure | None = None,
        centred: bool | None = None,
        classes: Sequence[Any] | None = None,
        colors: Any = None,
        title: str | None = None,
        interactive: bool = False,
        standardized: bool = False,
        label: str | None = None,
    ) -> Axes | Figure:
        """Draw a picture.

        Parameters
        ----------
        kind : str, optional
            The kind of picture. By default it is "regions" for a formula of two numeric columns, else the
            first kind that is suitable for the fit; an unknown name raises an error that lists the kinds of
            this model.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default a new figure. A picture with panels replaces them.
        data : table, optional
            New observations, with their response, instead of the data of the fit.
        axes : two names of discriminants, optional
            For kinds that draw a plane of discriminants: the two, such as ("LD1", "LD3"); by default the
            first two.
        columns : name or names of columns, optional
            For kinds that draw columns: the two of a plane, the only one, or one for each panel. The default
            are the columns that separate the classes best: the pair with the largest F (the smallest
            Wilks' lambda), and for more panels the single columns with the largest F, which the title states.
        at : mapping or Series of column to value, optional
            For kinds that draw regions: the values at which other columns are fixed, for example
            `data.mean()` of some. Columns without one are integrated out of the densities of the classes. If
            the model lacks densities, other numeric columns are predicted from the columns drawn, by linear
            regression over all rows, and categories are at their most frequent level.
        method : {"apparent", "loo", "cv"}, optional
            For kinds that evaluate the fit: how its rows are predicted. By default the rows are left out
            one by one ("loo") if that is fast, else by 10 folds ("cv"); the title states which. In
            both, options that the rows chose, such as a penalty, are fixed by default, and the title states
            this; an explicit "cv" chooses them again, at the cost of 10 fits. If neither can be done, the
            rule is evaluated on the rows that it was fitted to ("apparent").
        level : float, optional
            Level of the intervals, or share of a class that its ellipse contains if the class is normal. For
            kind "he", whose ellipse of the hypothesis shows the size of the effect by default: the level,
            such as 0.95, at which it extends outside the ellipse of the error if the means differ.
        threshold : float or result of `fit.threshold()`, optional
            For kinds "roc" and "precision_recall" of two classes: a posterior of the second class whose point
            on the curve is marked.
        structure : {"within", "total", "between"}, optional
            For kinds with structure correlations: within classes (the default), over all rows, or of the
            means.
        centred : bool, optional
            For kind "ellipses": whether all have one centre, to compare their shapes.
        classes : label or labels, optional
            The classes to show, for kinds that can show some of them. Curves of "roc" and "calibration" have
            bands if their classes are named here, or if there are at most three.
        colors : mapping, sequence, str or Colormap, optional
            Colours by class, in the order of the classes, or a colormap of matplotlib or its name.
        title : str, optional
            Title that replaces the default title; "" for none.
        interactive : bool, default False
            For kinds "scores", "regions", "posteriors", "pairs" and "simplex": whether to make a figure of
            plotly, in which each point shows its name, classes and posteriors, instead of a picture of
            matplotlib.
        standardized : bool, default False
            For kinds "forest" and "odds_ratios": whether they are for one standard deviation of a column over
            all rows, to compare columns, instead of one unit.
        label : str, optional
            For kinds "roc" and "precision_recall": name of the curves in the legend, for axes with curves of
            several fits. By default curves of several fits on the same axes have the names of their models.

        Returns
        -------
        Axes or plotly.graph_objects.Figure
            The axes drawn on. For a picture with panels they are the outer ones, whose `child_axes` are the
            panels. With `interactive`, a figure of plotly: it is displayed in a notebook, and its method
            `write_html` writes a page that needs no network.

        Raises
        ------
        DataError
            The kind is unknown, or an option does not fit the kind, the columns or the classes.
        NotSupportedError
            The kind needs something that the fit does not have: rows, posteriors, or two columns. Or
            `interactive` is set and plotly is not installed: ``pip install discrim[interactive]``.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> fit = discrim.lda("species ~ .", data=iris)
        >>> fit.plot("scores", title="Irises").get_title()
        'Irises'
        """
        check_word("structure", structure, Structure, optional=True)
        axes = check_names_option("axes", axes)
        columns = check_names_option("columns", columns)
        check_flag("interactive", interactive)
        check_flag("standardized", standardized)
        chosen = check_classes_option(classes)
        options = PlotOptions(
            ax, data, axes, columns, at, method, level, structure, centred, chosen, colors, title,
            interactive=interactive or None, standardized=standardized or None, label=label,
            threshold=threshold,
        )  # fmt: skip
        return draw_plot((self, self._subject()), self._spec.plots(), kind, options)

    @abstractmethod
    def _is_plane(self) -> bool:
        """Return whether the formula reads exactly two columns, both numeric."""


def default_plot(
    subjects: tuple[Any, ...], plots: Sequence[Plot[..., Any]], options: PlotOptions
) -> Plot[..., Any]:
    """Return the plot that is drawn without a kind: "regions" if the formula reads two numeric columns only.

    Otherwise, or if the model has no regions, it is the first plot whose `default_if` is true, or else the
    last. With `interactive`, only plots that support it are considered, if there are any.

    Parameters
    ----------
    subjects, plots, options
        Arguments of `draw_plot`.
    """
    suitable = [plot for plot in plots if not options.interactive or "interactive" in plot.options] or plots
    candidates = [
        plot
        for plot in suitable
        if plot.default_if is None or plot.default_if(subjects[0], subjects[-1], options)
    ]
    regions = [plot for plot in candidates if plot.kind == "regions" and subjects[0]._is_plane()]
    return [*regions, *candidates, suitable[-1]][0]


def draw_plot(
    subjects: tuple[Any, ...], plots: Sequence[Plot[..., Any]], kind: str | None, options: PlotOptions
) -> Axes | Figure:
    """Draw one of several plots, and fit its texts to the figure.

    Without a kind it is the `default_plot`.

    Parameters
    ----------
    subjects : tuple
        Arguments of the drawing function before the options: results, and their fit if they have a model.
    plots : sequence of Plot
        Plots that can be drawn.
    kind : str or None
        Kind to draw; by default the first suitable kind.
    options : PlotOptions
        Options of the method `plot`.

    Returns
    -------
    Axes or plotly.graph_objects.Figure
        The result of the drawing function: a figure of plotly with `interactive`, else axes.

    Raises
    ------
    DataError
        The kind is unknown, an option is not valid, or `interactive` is combined with `ax`.
    NotSupportedError
        An option was passed that the kind does not use.
    """
    from discrim.report.plots.interactive import replace_title
    from discrim.report.plots.points import reposition_labels
    from discrim.report.plots.style import fonts_for, set_title
    from discrim.report.plots.text_fit import fit_texts

    by_kind = {candidate.kind: candidate for candidate in plots}
    if isinstance(kind, str) and kind not in by_kind and hasattr(subjects[-1], "spec"):
        known_kinds = list(by_kind)
        verbs = dict.fromkeys(f"{row.verb}()" for row in MODELS if kind in plot_kinds(row))
        if verbs:
            raise DataError(
                f"kind={kind!r} is a plot of {', '.join(verbs)} and is not available for "
                f"{subjects[-1].spec.name}().",
                hint=f"Use one of {join_labels(known_kinds, len(known_kinds))}.",
            )
    check_word("kind", kind, tuple(by_kind), optional=True)
    chosen = default_plot(subjects, plots, options) if kind is None else by_kind[kind]
    if options.interactive and options.ax is not None:
        raise DataError(
            "interactive=True creates a new figure and cannot be combined with ax=.",
            hint="Leave out ax=.",
        )
    for name in ("title", "label"):
        text = getattr(options, name)
        if text is not None and not isinstance(text, str):
            raise DataError(f"{name}={format_argument(text)} is not valid.", hint="Pass a str.")
    for option in options.passed_options():
        if option not in chosen.options:
            other_kinds = [candidate.kind for candidate in plots if option in candidate.options]
            other_kinds_hint = f", or use kind {join_labels(other_kinds)}" if other_kinds else ""
            raise NotSupportedError(
                f"{option}= has no effect for kind={chosen.kind!r}.", hint=f"Leave it out{other_kinds_hint}."
            )
    names = [*getattr(subjects[0], "classes", ()), *getattr(subjects[0], "terms", ())]
    with fonts_for([*names, options.title or ""]):
        picture = chosen(*subjects, options)
        if options.title is not None:
            # Lone surrogates, which fonts cannot show, are written as escapes.
            text = options.title.encode("utf-8", "backslashreplace").decode("utf-8")
            (replace_title if options.interactive else set_title)(picture, text)
        if not options.interactive:
            fit_texts(picture, options.ax is None)
            for axes in (picture, *picture.child_axes):
                reposition_labels(axes)
    axes_or_figure: Axes | Figure = picture
    return axes_or_figure
