"""Plots of discriminant scores, structure correlations, covariance ellipses and squared distances.

Each plot is a function with the decorator `plot`; `class_outlines` draws class outlines for `planes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.covariance.adjusted import ConditionalCovariance
from discrim.core.covariance.sliced import SAVECovariance
from discrim.core.covariance.student import squared_distances_to_own_means
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.rules import best_class, posteriors
from discrim.errors import DataError, NotSupportedError
from discrim.inference.manova import between_scatter, roy_critical_value
from discrim.inference.mean_differences import distance_quantiles
from discrim.models.base.labels import class_code, covariance_frame
from discrim.models.base.reading import format_argument, is_proportion, join_labels
from discrim.models.plots.plottable import (
    PlottedRows,
    check_columns_option,
    describe_selection,
    empty_labels,
    hover_data,
    numeric_terms,
    plot,
    require_rows_to_draw,
    rows_to_draw,
    select_separating_columns,
)
from discrim.report.plots import interactive, spaces
from discrim.report.plots.bars import draw_scree_bars, draw_structure
from discrim.report.plots.columns import draw_pairs, draw_quantiles
from discrim.report.plots.planes import PlaneRows, draw_along_variable, draw_plane
from discrim.report.plots.points import draw_points
from discrim.report.plots.spaces import axis_name, outline_radius
from discrim.report.plots.style import MAX_IN_LEGEND, add_legend, new_axes, set_title, shown_name

if TYPE_CHECKING:
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.interactive import Figure
    from discrim.report.plots.style import Axes, Signs

NO_DISCRIMINANT = "The class means do not differ. There is no discriminant to draw."
"""Message of the NotSupportedError of plots that require a discriminant."""

MAX_BARS = 30
"""Largest number of columns whose structure correlations are drawn."""


def read_axes_option(
    names: Sequence[str], options: PlotOptions, max_axes: int = 2, axis_term: str = "discriminant"
) -> list[str]:
    """Return the axes in `axes=`, by default the first `max_axes`; empty for a fit without axes.

    Raises DataError if an axis in `axes=` is unknown or named twice, or if it names none or too many.

    Parameters
    ----------
    names : sequence of str
        Axes that can be drawn, such as "LD1".
    options : PlotOptions
    max_axes : int
        Largest number of axes; fewer are returned if the fit or the user has fewer.
    axis_term : str
        Term for an axis in error messages.
    """
    if options.axes is None:
        return list(names[:max_axes])
    names_text = join_labels(list(names))
    requested = [options.axes] if isinstance(options.axes, str) else list(options.axes)
    if not 1 <= len(requested) <= max_axes or len(set(requested)) < len(requested):
        raise DataError(
            f"axes={format_argument(options.axes)} is not valid.",
            hint=f"Name one to {max_axes} of {names_text}, each once.",
        )
    for name in requested:
        if name not in names:
            raise DataError(
                f"axes={format_argument(options.axes)}: unknown {axis_term} {format_argument(name)}.",
                hint=f"Use one or more of {names_text}.",
            )
    return requested


def read_level_option(options: PlotOptions, default: float) -> float:
    """Return the option `level`, or a default if it was not passed.

    Raises DataError if it is not a proportion between 0 and 1, both excluded.
    """
    if options.level is None:
        return default
    if not is_proportion(options.level):
        raise DataError(
            f"level={format_argument(options.level)} is not valid.",
            hint="Pass a proportion between 0 and 1, such as level=0.5.",
        )
    return float(options.level)


@plot(
    "scores",
    "scores of the observations on the discriminants, by class, with outlines of the classes",
    used_options=("axes", "level", "interactive"),
)
def scores(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes | Figure:
    """Draw the scores of the rows on the discriminants, by class, with outlines of the classes.

    Parameters
    ----------
    results : ClassifierResults
        Results with discriminants: a method `_centroids`.
    fit : FittedModel
    options : PlotOptions
        `axes` are one or two discriminants; `level` is the share of a class within its outline (default 0.5);
        `interactive` draws a figure of plotly.
    """
    centroids: pd.DataFrame = results._centroids()
    names = read_axes_option(list(centroids.columns), options)
    return draw_discriminant_scores(
        results,
        fit,
        centroids[names],
        options,
        proportions=getattr(results, "explained", None),
        within_covariance=score_covariance(results, names),
    )


def draw_discriminant_scores(
    results: Any,
    fit: FittedModel[Any],
    centroids: pd.DataFrame,
    options: PlotOptions,
    **style_options: Any,
) -> Axes | Figure:
    """Draw the scores of the rows and the class means on one or two discriminants, by matplotlib or plotly.

    Without rows only the class means and outlines are drawn.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    centroids : DataFrame
        Scores of the class means, classes by discriminants that are drawn.
    options : PlotOptions
        `data` are new rows; `level` is the share of a class within its outline (default 0.5); `interactive`
        draws a figure of plotly.
    **style_options
        Other keyword arguments of `spaces.draw_scores` or `interactive.scores_figure`, such as `proportions`
        and `within_covariance`.
    """
    rows = rows_to_draw(fit, options)
    names = list(centroids.columns)
    no_scores = pd.DataFrame(columns=names, dtype=float)
    row_scores = no_scores if rows is None else results.transform(rows.design_rows)[names]
    style_options |= {"counts": fit.rows_by_class, "level": read_level_option(options, 0.5)}
    if options.interactive:
        return interactive.scores_figure(
            row_scores, hover_data(fit, rows, options), centroids, **style_options
        )
    labels = empty_labels() if rows is None else rows.labels
    signs = options.signs(fit.classes)
    return spaces.draw_scores(row_scores, labels, centroids, ax=options.ax, signs=signs, **style_options)


def score_covariance(results: Any, names: Sequence[str]) -> Floats | None:
    """Return the within-class covariance (q, q) of q named discriminants; None if it is the identity."""
    if not hasattr(results, "_scores_within"):
        return None
    within: pd.DataFrame = results._scores_within()
    return within.loc[list(names), list(names)].to_numpy(dtype=np.float64)


@plot(
    "biplot",
    "canonical scores, and the columns as arrows of their structure",
    used_options=("axes", "structure"),
)
def biplot(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw scores of the rows on one or two canonical axes, and columns as arrows of structure correlations.

    `options.structure` is "within" (default), "total" or "between".
    """
    return draw_canonical_biplot(results.canonical(), options)


def draw_canonical_biplot(canonical: Any, options: PlotOptions) -> Axes:
    """Draw the biplot of `CanonicalResults`, in the scaling convention of these results.

    `options.axes` are one or two axes, and `options.structure` is "within" (default), "total" or "between".
    Without rows only the class means and arrows are drawn.
    """
    fit = canonical._fit
    names = read_axes_option(list(canonical.centroids.columns), options)
    rows = rows_to_draw(fit, options)
    no_scores = pd.DataFrame(columns=names, dtype=float)
    row_scores = no_scores if rows is None else canonical.scores(rows.design_rows)[names]
    return spaces.draw_biplot(
        row_scores,
        empty_labels() if rows is None else rows.labels,
        canonical.centroids[names],
        canonical.structure(options.structure or "within")[names],
        fit.rows_by_class,
        ax=options.ax,
        signs=options.signs(fit.classes),
        proportions=canonical.proportion,
    )


@plot(
    "structure",
    "correlations of the columns with the discriminants, as bars",
    used_options=("axes", "structure"),
    data=False,
    colors=False,
)
def structure(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw structure correlations of the columns, a panel of bars for each of at most three discriminants.

    Columns are sorted by the discriminant with which they correlate most, then by the absolute value of this
    correlation; of more than `MAX_BARS` columns the ones with the largest are drawn. Raises NotSupportedError
    without a discriminant. Returns the outer axes.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
        `axes` are the discriminants; `structure` is "within" (default), "total" or "between".
    """
    canonical = results.canonical()
    names = read_axes_option(list(canonical.centroids.columns), options, max_axes=3)
    if not names:
        raise NotSupportedError(NO_DISCRIMINANT, hint="Use another kind of plot.")
    table = canonical.structure(options.structure or "within")[names]
    sizes = np.nan_to_num(np.abs(table.to_numpy()))
    longest = np.argsort(-sizes.max(axis=1), kind="stable")[:MAX_BARS]
    order = longest[np.argsort(sizes[longest].argmax(axis=1), kind="stable")]
    return draw_structure(table.iloc[order], len(table), canonical.proportion, ax=options.ax)


@plot("scree", "shares of the discriminants, with the tests of the dimensions", data=False, colors=False)
def scree(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw proportions of between-class variance by discriminant, with the p-values of the dimension tests.

    Raises NotSupportedError without a discriminant.
    """
    canonical = results.canonical()
    if not len(canonical.proportion):
        raise NotSupportedError(NO_DISCRIMINANT, hint="Use another kind of plot.")
    tests = canonical.dimension_tests["p"]
    return draw_scree_bars(canonical.proportion, canonical.eigenvalues, tests, ax=options.ax)


N_DEFAULT_PAIR_COLUMNS = 4
"""Default number of columns in the matrix of panels of "pairs"."""

N_DEFAULT_PANELS = 12
"""Default number of classes with a panel in "qq": the first ones."""

ELLIPSE_COVERAGE = 0.68
"""Default proportion of a normal class within its ellipse, equal to R's heplots."""

MAX_CLASSES_WITH_LARGE_OUTLINES = 6
SMALL_OUTLINE_COVERAGE = 0.2
"""Number of classes up to which ellipses over regions have this coverage, and the coverage for more."""


def read_columns_option(
    results: Any,
    fit: FittedModel[Any],
    options: PlotOptions,
    plot_kind: str,
    max_terms: int,
    n_default: int = 2,
) -> tuple[list[str], str]:
    """Return the terms to draw, and a phrase on how they were chosen, empty if the user chose them.

    Raises DataError if terms of the user are unknown, repeated, fewer than two or too many, and
    NotSupportedError if the fit has fewer than two.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
    plot_kind : str
        Kind of plot for error messages.
    max_terms : int
        Largest number of terms.
    n_default : int
        Default number of terms: the ones that separate the classes best.

    Returns
    -------
    names : list of str
        Terms of the fit; by default numeric ones, if there are two or more. For naive Bayes only terms with
        normal distributions.
    selection : str
        Phrase such as "pair of largest F of 6"; empty if the user chose the terms or all are drawn.
    """
    # For naive Bayes only normal columns: covariances of levels and counts are not defined.
    is_naive_bayes = hasattr(type(results), "normal_terms")
    all_terms = list(results.normal_terms if is_naive_bayes else results.terms)
    if options.columns is None:
        numeric_names = numeric_terms(fit.design_rows.design, all_terms)
        numeric_names = numeric_names if len(numeric_names) >= 2 else all_terms
        if len(numeric_names) < 2:
            noun = "normal columns" if is_naive_bayes else "columns"
            raise NotSupportedError(
                f"kind={plot_kind!r} draws 2 {noun}, and the fit has {len(all_terms)}.",
                hint="Draw another kind.",
            )
        return select_separating_columns(fit, options, numeric_names, n_default), describe_selection(
            options, len(numeric_names), n_default
        )
    return check_columns_option(options, all_terms, plot_kind, 2, max_terms), ""


@plot(
    "ellipses",
    "covariance ellipses of the classes and of the pooled covariance",
    used_options=("columns", "level", "centred"),
)
def ellipses(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw covariance ellipses of the classes and of the pooled covariance, in the plane of two columns.

    For more than two columns it draws `pairs`, which has the ellipses of the classes only, and returns its
    outer axes.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
        `columns` are two or more terms; `level` is the proportion of a normal class within its ellipse
        (default `ELLIPSE_COVERAGE`); `centred` moves all ellipses to one centre.
    """
    names, selection = read_columns_option(results, fit, options, "ellipses", len(fit.terms))
    if len(names) > 2:
        return pairs(results, fit, options)
    (means, covariances, pooled), row_options = _covariances_to_draw(results, fit, names, options, "ellipses")
    level = read_level_option(options, ELLIPSE_COVERAGE)
    centred = bool(options.centred)
    axes = spaces.draw_ellipses(
        means, covariances, pooled, outline_radius(level), is_centred=centred, **row_options
    )
    centre_text = ", at a common centre" if centred else ""
    heading = f"Covariances of the classes{centre_text}; {100 * level:.6g} % ellipses"
    set_title(axes, f"{heading}\n{selection}" if selection else heading)
    return axes


@plot(
    "pairs",
    "each pair of columns, with the outlines of the classes",
    used_options=("columns", "level", "interactive"),
)
def pairs(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes | Figure:
    """Draw each pair of columns, with the covariance ellipses of the classes; return the outer axes.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
        `columns` are by default the `N_DEFAULT_PAIR_COLUMNS` that separate the classes best; `level` is the
        proportion of a normal class within its ellipse (default `ELLIPSE_COVERAGE`); `interactive` draws a
        figure of plotly instead.
    """
    names, selection = read_columns_option(
        results, fit, options, "pairs", len(fit.terms), N_DEFAULT_PAIR_COLUMNS
    )
    (means, covariances, _), row_options = _covariances_to_draw(results, fit, names, options, "pairs")
    level = read_level_option(options, ELLIPSE_COVERAGE)
    selection_text = f" of {selection} of {len(results.terms)} columns" if selection else ""
    title = f"Pairs{selection_text}; {100 * level:.6g} % ellipses of normal classes"
    if options.interactive:
        rows = hover_data(fit, rows_to_draw(fit, options), options)
        points = row_options.get("points")
        return interactive.pairs_figure(means, covariances, outline_radius(level), points, rows, title)
    outer_axes = draw_pairs(means, covariances, outline_radius(level), **row_options)
    set_title(outer_axes, title)
    return outer_axes


@plot(
    "he",
    "ellipses of hypothesis and error, which test the means",
    used_options=("columns", "axes", "level"),
    data=False,
)
def he(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw ellipses of hypothesis and error, in the plane of two columns, or two discriminants (`axes=`).

    The error ellipse is of the unbiased within-class covariance. The hypothesis ellipse is of the scatter of
    the class means, divided by the degrees of freedom and, with `level=`, by Roy's critical value.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
        `level` is the level of Roy's test; by default the ellipse shows the size of the effect.

    Raises
    ------
    NotSupportedError
        The covariance is not full, the fit has covariates, or it has too few rows.
    DataError
        `axes` and `columns` are both passed, or not two are named.
    """
    results._require_full_covariance("kind='he'")
    fit.estimates.raise_if_covariates("kind='he'")
    moments = fit.estimates.moments
    counts = fit.rows_by_class.to_numpy(dtype=np.float64)
    df = moments.total - moments.n_classes
    level = None if options.level is None else 1 - read_level_option(options, 0.95)
    critical = 1.0
    if level is not None:
        critical = roy_critical_value(moments.n_columns, moments.n_classes, moments.total, level)
    if not df > 0 or np.isnan(critical):
        raise NotSupportedError(
            "kind='he' requires more observations than classes and columns.", hint="Fit more observations."
        )
    arrows = None
    selection = ""
    if options.axes is not None:
        if options.columns is not None:
            raise DataError("axes= cannot be combined with columns=.", hint="Leave out axes= or columns=.")
        canonical = results.canonical()
        discriminants = read_axes_option(list(canonical.centroids.columns), options)
        if len(discriminants) < 2:
            raise DataError(
                f"axes={format_argument(options.axes)} is not valid for kind='he', which draws a plane.",
                hint="Name two discriminants.",
            )
        means = canonical.centroids[discriminants]
        error = np.eye(2)
        arrows = canonical.structure()[discriminants]
        axis_names = (
            axis_name(discriminants[0], canonical.proportion),
            axis_name(discriminants[1], canonical.proportion, proportion_of=""),
        )
    else:
        names, selection = read_columns_option(results, fit, options, "he", 2)
        unbiased = results.cov * (fit.estimates.divisor / fit.estimates.residual_df)
        means = results.means[names]
        error = unbiased.loc[names, names].to_numpy()
        axis_names = shown_name(names[0]), shown_name(names[1])
    centre = counts @ means.to_numpy() / counts.sum()
    hypothesis = between_scatter(means.to_numpy(), counts) / (critical * df)
    # The ellipse of the error contains 68 % of the rows around their class means, like R's heplots.
    axes = spaces.draw_he(
        means,
        hypothesis,
        error,
        centre,
        outline_radius(ELLIPSE_COVERAGE),
        names=axis_names,
        arrows=arrows,
        equal_units=options.axes is not None,
        ax=options.ax,
        signs=options.signs(fit.classes),
    )
    heading = "Covariance of the class means and within classes"
    if level is not None:
        heading = f"Means differ if hypothesis exceeds error (Roy, {100 * level:.3g} %)"
    set_title(axes, f"{heading}\n{selection}" if selection else heading)
    return axes


@plot("qq", "squared distances by class against quantiles of their distribution", used_options=("classes",))
def qq(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw the squared distances of the rows of each class against the quantiles of their distribution.

    The distribution is beta for rows of the fit, F for new rows, and chi-square for robust fits. The
    pointwise limits (95%) assume normal classes, and for robust fits the true mean and covariance. Returns
    the outer axes of a panel for each class. Raises NotSupportedError without rows or full covariances.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
        `classes` are the classes with a panel; by default the first `N_DEFAULT_PANELS`.
    """
    estimates = fit.estimates
    is_robust = estimates.covariance_model.traits.is_robust
    if not is_robust:
        results._require_moment_estimates("kind='qq'")
    if not (is_robust or estimates.has_distances):
        raise NotSupportedError(
            "kind='qq' requires full covariances.",
            hint="Fit with the default covariance=, and without components= and ncomp=.",
        )
    rows = require_rows_to_draw(fit, options, "qq")
    distances, df = (estimates.distances(), None) if is_robust else estimates.unbiased_distances()
    covariances = distances.covariances
    squared = _squared_distances(rows, estimates.moments, covariances)
    classes = list(fit.classes)
    chosen = classes[:N_DEFAULT_PANELS] if options.classes is None else list(options.classes)
    class_codes = {label: class_code(label, fit.classes) for label in chosen}
    index = np.asarray(rows.design_rows.table.index)
    tables = {}
    for label, k in class_codes.items():
        members = np.flatnonzero((rows.codes == k) & np.isfinite(squared))
        fitted_count = None if options.data is None else float(fit.counts[k])
        table = distance_quantiles(
            squared[members], len(fit.terms), None if df is None else float(df[k]), n_fitted=fitted_count
        )
        tables[label] = table.set_axis(index[members[table["position"].astype(int)]], axis=0)
    distribution = "chi-square" if is_robust else "F" if options.data is not None else "beta"
    outer_axes = draw_quantiles(
        tables, class_codes, distribution, ax=options.ax, signs=options.signs(fit.classes)
    )
    first = "" if options.classes is not None else "the first "
    selection_text = (
        f" of {first}{len(chosen)} of {len(classes)} classes" if len(chosen) < len(classes) else ""
    )
    heading = "Robust squared distances" if is_robust else "Squared distances"
    set_title(outer_axes, f"{heading} to the class means{selection_text}, with pointwise limits at 95 %")
    return outer_axes


# ---- numbers


def outline_coverage(fit: FittedModel[Any]) -> float:
    """Return the proportion of a normal class within its ellipse over regions.

    It is smaller for more than `MAX_CLASSES_WITH_LARGE_OUTLINES` classes.
    """
    return ELLIPSE_COVERAGE if len(fit.classes) <= MAX_CLASSES_WITH_LARGE_OUTLINES else SMALL_OUTLINE_COVERAGE


def class_outlines(
    results: Any, fit: FittedModel[Any], names: tuple[str, str], signs: Signs
) -> tuple[Callable[[Axes], None], str] | None:
    """Return the function that draws outlines of the classes in a plane, and its description for a title.

    An outline is the ellipse (`outline_coverage`) of a class, or of each of its components, around the mean;
    only means are marked if the model lacks covariances. Returns None for a model that has neither class
    means nor components.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    names : (str, str)
        Terms on the axes.
    signs : Signs
        Colours and line styles of the classes.
    """
    classes = list(fit.classes)
    columns = list(names)
    results_class = type(results)
    level = outline_coverage(fit)
    sizes: Sequence[float | None] = [6.0] * len(classes)
    if hasattr(results_class, "component_means"):
        means = results.component_means[columns]
        keys = list(results.component_means.index)
        shapes = results.covs
        description = "of each component"
        sizes = spaces.component_marker_sizes(results.shares).tolist()
    elif hasattr(results_class, "means") and not hasattr(results_class, "sds"):
        means, shapes, _ = _class_covariances(results, fit, names, None)
        keys = [(label,) for label in classes]
        description = "ellipses" if shapes else ""
        shapes = {(label,): shape for label, shape in shapes.items()}
    else:
        return None

    def draw(axes: Axes) -> None:
        """Draw the mean of each class or component on `axes`, and its ellipse if it has a covariance."""
        for key, centre, marker_size in zip(keys, means.to_numpy(), sizes, strict=True):
            shape = shapes[key].loc[columns, columns].to_numpy() if key in shapes else None
            spaces.draw_class_outline(
                axes, centre, shape, outline_radius(level), signs, classes.index(key[0]), marker_size
            )

    return draw, f", {100 * level:g} % {description}" if description else ", class means marked"


ClassCovariances = tuple[pd.DataFrame, dict[Any, pd.DataFrame], pd.DataFrame | None]
"""Class means, covariances by class, and the pooled covariance or None; see `_class_covariances`."""


def _covariances_to_draw(
    results: Any, fit: FittedModel[Any], names: Sequence[str], options: PlotOptions, plot_kind: str
) -> tuple[ClassCovariances, dict[str, Any]]:
    """Return means and covariances of columns, and keyword arguments of drawing functions.

    Raises DataError if there are rows and all their classes are missing.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    names : sequence of str
        Columns of the design.
    options : PlotOptions
    plot_kind : str
        Kind of plot for error messages.

    Returns
    -------
    covariances : ClassCovariances
    row_options : dict
        "ax" and "signs", and if there are rows "points" (DataFrame of n rows by `names`) and "labels"
        (Series).
    """
    rows = rows_to_draw(fit, options)
    row_options: dict[str, Any] = {"ax": options.ax, "signs": options.signs(fit.classes)}
    if rows is not None:
        rows.require_classes(plot_kind)
        row_options |= {"points": rows.terms(names), "labels": rows.labels}
    return _class_covariances(results, fit, names, rows), row_options


def _mixture_covariance(results: Any, label: Any) -> pd.DataFrame:
    """Return the total covariance of a class that is a mixture, terms by terms.

    It is the weighted sum of the covariances of its components plus the covariance of their means.
    """
    proportions = results.shares.loc[label]
    means = results.component_means.loc[label]
    deviations = means - proportions @ means
    total: pd.DataFrame = deviations.T @ deviations.mul(proportions, axis=0)
    return sum((proportion * results.covs[label, k] for k, proportion in proportions.items()), total)


def _class_covariances(
    results: Any, fit: FittedModel[Any], names: Sequence[str], rows: PlottedRows | None
) -> ClassCovariances:
    """Return class means, covariances by class, and the pooled covariance, of the model or of the rows.

    Covariances of the model are used if it has one for each class, if it is robust, or if `rows` is None;
    a common covariance then stands for each class. They are in the units of the data and have the divisors of
    the model; covariances of rows have the divisor n - 1. Raises NotSupportedError for a model without
    means if `rows` is None.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    names : sequence of str
        Columns of the design.
    rows : PlottedRows or None
        Rows for models without covariances by class.

    Returns
    -------
    means : DataFrame
        Classes by `names`.
    covariances : dict of class to DataFrame
        `names` by `names`; a class without a covariance is left out.
    pooled : DataFrame or None
        `names` by `names`: the common covariance of the model, or the mean of its class covariances weighted
        by n_k - 1. None if a class has fewer than one row, or the model lacks a covariance of these columns.
    """
    columns = list(names)
    covs: dict[Any, pd.DataFrame] | None = None
    if hasattr(type(results), "sds"):
        sds = results.sds[columns]
        covs = {
            label: pd.DataFrame(np.diag(sds.iloc[k].to_numpy() ** 2), index=columns, columns=columns)
            for k, label in enumerate(results.classes)
        }
    elif hasattr(type(results), "component_means"):
        covs = {label: _mixture_covariance(results, label) for label in results.classes}
    elif isinstance(getattr(fit.estimates, "subspace_model", None), SAVECovariance):
        # The fit keeps only the covariances of its scores.
        estimates = fit.estimates
        inverse_scale = 1 / estimates.moments.scale
        with np.errstate(over="ignore", under="ignore"):
            values = (
                estimates.moments.scatters
                / estimates.divisors[:, None, None]
                * inverse_scale[:, None]
                * inverse_scale
            )
        frames = [
            pd.DataFrame(covariance_values, index=fit.terms, columns=fit.terms)
            for covariance_values in values
        ]
        covs = dict(zip(fit.classes, frames, strict=True))
    elif hasattr(type(results), "covs"):
        covs = results.covs
    class_covariances: dict[Any, pd.DataFrame] = {}
    pooled = None
    if covs is not None:
        class_covariances = {label: table.loc[columns, columns] for label, table in covs.items()}
        counts = results.counts.to_numpy(dtype=np.float64) - 1
        if counts.sum() > 0 and (counts >= 0).all():
            pooled_values = (
                sum(c * t.to_numpy() for c, t in zip(counts, class_covariances.values(), strict=True))
                / counts.sum()
            )
            pooled = pd.DataFrame(pooled_values, index=columns, columns=columns)
        return results.means[columns], class_covariances, pooled
    if hasattr(type(results), "cov"):
        covariance = getattr(fit.estimates, "covariance", None)
        if isinstance(covariance, ConditionalCovariance):
            cov = covariance_frame(covariance.joint_covariance, fit.estimates.moments.scale, fit.terms)
        else:
            cov = results.cov
        # A location model has a covariance for its numeric columns only.
        pooled = cov.loc[columns, columns] if set(columns) <= set(cov.index) else None
    covariance_model = getattr(fit.estimates, "covariance_model", None)
    is_robust = (
        covariance_model.traits.is_robust
        if covariance_model is not None
        else getattr(fit.estimates, "robust", None) is not None
    )
    if rows is None or is_robust:
        if not hasattr(type(results), "means"):
            raise NotSupportedError(
                "This plot requires the rows, which a loaded fit does not have.", hint="Pass them as data=."
            )
        # The model has a common covariance of all classes.
        common_covariances = {} if pooled is None else dict.fromkeys(results.classes, pooled)
        return results.means[columns], common_covariances, pooled
    means, class_covariances = _row_covariances(rows, list(results.classes), columns)
    return means, class_covariances, pooled


def _row_covariances(
    rows: PlottedRows, classes: list[Any], names: list[str]
) -> tuple[pd.DataFrame, dict[Any, pd.DataFrame]]:
    """Return the weighted means and covariances (divisor n - 1) of the complete rows of each class.

    Parameters
    ----------
    rows : PlottedRows
    classes : list
    names : list of str
        Columns of the design.

    Returns
    -------
    means : DataFrame
        Classes by `names`, NaN for a class without rows.
    covariances : dict of class to DataFrame
        `names` by `names`; a class with a sum of weights of at most one is left out.
    """
    x = rows.terms(names).to_numpy()
    is_complete = np.isfinite(x).all(axis=1)
    weights = rows.weights
    means = np.full((len(classes), len(names)), np.nan)
    covariances = {}
    for k, label in enumerate(classes):
        is_member = is_complete & (rows.codes == k) & (weights > 0)
        total = float(weights[is_member].sum())
        if not total > 0:
            continue
        member_weights = weights[is_member]
        means[k] = member_weights @ x[is_member] / total
        if total > 1:
            deviations = x[is_member] - means[k]
            values = deviations.T @ (deviations * member_weights[:, None]) / (total - 1)
            covariances[label] = pd.DataFrame(values, index=names, columns=names)
    return pd.DataFrame(means, index=pd.Index(classes), columns=names), covariances


def _squared_distances(rows: PlottedRows, moments: Any, covariances: Any) -> Floats:
    """Return squared distances (n,) of rows to the means of their classes.

    They are NaN for rows without a class or with a missing value.

    Parameters
    ----------
    rows : PlottedRows
    moments : ClassMoments
        Moments of the fit, with the class means.
    covariances : sequence of Covariance
        One for each class, or a common one, in whose metric distances are measured.
    """
    out = np.full(rows.design_rows.table.nrows, np.nan)
    for row_slice, x, missing in rows.design_rows.iter_all_rows():
        block_codes = rows.codes[row_slice]
        is_complete = block_codes >= 0 if missing is None else (block_codes >= 0) & ~missing
        positions = row_slice.start + np.flatnonzero(is_complete)
        out[positions] = squared_distances_to_own_means(
            moments, covariances, x[is_complete], block_codes[is_complete]
        )
    return out


TITLE = "Territorial map: regions of the classes among the discriminants"
"""First line of the title of "territory"."""


@plot("territory", "regions of the classes in the space of two discriminants", used_options=("axes",))
def territory(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw regions in the space of two discriminants, the others at zero, with labelled class means.

    Within classes discriminants have unit variance and, except for sparse ones, are uncorrelated. The score
    of class k is ln prior_k - |z - m_k|^2 / 2, with the distance in the metric of the covariance of the
    discriminants and m_k the class mean: with equal priors, a row belongs to the class of the nearest mean.
    SPSS prints this map in letters. For one discriminant the posteriors are drawn along it. Raises
    NotSupportedError without a discriminant.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
        `axes` are one or two discriminants; `data` are new rows to draw.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.lda("species ~ .", discrim.datasets.load_iris())
    >>> fit.plot("territory", axes=("LD1", "LD2")).get_ylabel()
    'LD2 (0.9 %)'
    """
    centroids = results._centroids()
    all_axes = list(centroids.columns)
    if not all_axes:
        raise NotSupportedError(NO_DISCRIMINANT, hint="Use another kind of plot.")
    names = read_axes_option(all_axes, options)
    axis_index = [all_axes.index(name) for name in names]
    means = centroids.to_numpy()
    log_prior = fit.log_prior()
    within = score_covariance(results, all_axes)
    whitening = None if within is None else np.linalg.inv(np.linalg.cholesky(within)).T

    def scores(points: Floats) -> Floats:
        """Return the scores (m, K) of points (m, q) on the drawn discriminants, the others at zero."""
        deviations = np.repeat(-means[None], len(points), axis=0)
        deviations[:, :, axis_index] += points[:, None, :]
        whitened = deviations if whitening is None else deviations @ whitening
        return np.asarray(log_prior - 0.5 * (whitened**2).sum(axis=2))

    rows = rows_to_draw(fit, options)
    points = np.empty((0, len(axis_index)))
    codes = np.empty(0, dtype=np.intp)
    if rows is not None:
        points = results.transform(rows.design_rows)[names].to_numpy()
        codes = rows.codes
    axis_limits = [_axis_limits(points[:, j], means[:, axis_index[j]]) for j in range(len(axis_index))]
    fixed_text = "" if len(names) == len(all_axes) else f"\nfixed: {_other_axes_text(all_axes, names)} = 0"
    common: dict[str, Any] = {
        "ax": options.ax,
        "signs": options.signs(fit.classes),
        "title": TITLE + fixed_text,
    }
    classes = list(fit.classes)
    proportions = getattr(results, "explained", None)
    axis_labels = [axis_name(name, proportions, *of) for name, of in zip(names, ((), ("",)), strict=False)]
    if len(axis_index) == 1:
        line = np.linspace(*axis_limits[0], 801)
        line_scores = scores(line[:, None])
        line_arguments = (
            line,
            posteriors(line_scores),
            best_class(line_scores),
            (names[0], "Posterior probability"),
            points[:, 0],
        )
        axes = draw_along_variable(*line_arguments, codes, classes, **common)
        axes.set_xlabel(axis_labels[0])
        return axes
    axes = draw_plane(
        lambda plane: best_class(scores(plane)),
        (axis_limits[0], axis_limits[1]),
        (names[0], names[1]),
        PlaneRows(points, codes, is_faint=bool(fixed_text)),
        classes,
        labels=means[:, axis_index],
        **common,
    )
    axes.set(xlabel=axis_labels[0], ylabel=axis_labels[1])
    return axes


@plot(
    "axes",
    "scores of the observations on two axes of ncomp=, by class, with the regions if there are only two",
    used_options=("axes",),
)
def subspace_axes(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw scores of the rows on one or two axes of `qda(..., ncomp=)`, centred at the mean of all rows.

    The rule depends on the scores on all axes. Regions, or posteriors along a single axis, are therefore
    drawn only if all axes are; one of several axes raises DataError. Raises NotSupportedError for other fits.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
        `axes` are one or two axes, such as "SAVE1"; `data` are new rows to draw.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.qda("species ~ .", discrim.datasets.load_iris(), ncomp=2)
    >>> fit.plot("axes").get_xlabel()
    'SAVE1'
    """
    if not isinstance(getattr(fit.estimates, "subspace_model", None), SAVECovariance):
        raise NotSupportedError("kind='axes' requires a reduced-rank fit.", hint="Fit qda() with ncomp=2.")
    all_axes = list(results.subspace.loadings)
    moments = fit.estimates.moments
    names = read_axes_option(all_axes, options, axis_term="axis")
    if len(names) == 1 < len(all_axes):
        raise DataError(
            f"axes={format_argument(options.axes)} is not valid.",
            hint=f"Name two of {join_labels(all_axes)}.",
        )
    loadings = results.subspace.loadings[names].to_numpy()
    spectrum = results.subspace._scores().spectrum
    centre = moments.counts @ moments.class_means / moments.total
    means = (moments.class_means - centre) @ loadings
    rows = rows_to_draw(fit, options)
    classes = [*fit.classes]
    points = np.empty((0, len(names)))
    codes = np.empty(0, dtype=np.intp)
    if rows is not None:
        points = (rows.terms(list(fit.terms)).to_numpy() - centre) @ loadings
        codes = rows.codes
    order = [names.index(name) for name in all_axes if name in names]

    def scores(plane: Floats) -> Floats:
        """Return the scores (m, K), by the rule of the fit, of points (m, q) on all axes as drawn."""
        return fit.rule().scores(centre + spectrum.columns_at(plane[:, order]) / moments.scale)

    axis_limits = [_axis_limits(points[:, j], means[:, j]) for j in range(len(names))]
    common: dict[str, Any] = {
        "ax": options.ax,
        "signs": options.signs(classes),
        "title": "Axes by SAVE, with the rule of the classes",
    }
    if len(names) < len(all_axes):
        title = f"Two of {len(all_axes)} axes by SAVE"
        return _draw_without_regions(points, codes, names, classes, options, title)
    if len(names) == 1:
        line = np.linspace(*axis_limits[0], 801)
        line_scores = scores(line[:, None])
        line_arguments = (
            line,
            posteriors(line_scores),
            best_class(line_scores),
            (names[0], "Posterior probability"),
            points[:, 0],
        )
        return draw_along_variable(*line_arguments, codes, classes, **common)
    pair = (axis_limits[0], axis_limits[1])
    plane = (names[0], names[1])
    plane_rows = PlaneRows(points, codes)
    return draw_plane(
        lambda plane_points: best_class(scores(plane_points)), pair, plane, plane_rows, classes, **common
    )


def _draw_without_regions(
    points: Floats,
    codes: Codes,
    names: Sequence[str],
    classes: Sequence[Any],
    options: PlotOptions,
    title: str,
) -> Axes:
    """Draw rows in the plane of two axes, without regions of the classes.

    Parameters
    ----------
    points : (n, 2) float
        Coordinates of the rows.
    codes : (n,) int
        Class of each row, -1 if missing.
    names : sequence of str
        Labels of the two axes.
    classes : sequence
        Labels of the classes.
    options : PlotOptions
        `ax` and `colors` are used.
    title : str
        Title of the plot.
    """
    axes, is_new = new_axes(options.ax)
    draw_points(axes, points[:, 0], points[:, 1], codes, classes, options.signs(classes))
    axes.set(xlabel=names[0], ylabel=names[1])
    set_title(axes, title)
    if len(classes) <= MAX_IN_LEGEND:
        add_legend(axes, is_new)
    return axes


def _axis_limits(values: Floats, means: Floats) -> tuple[float, float]:
    """Return the limits (low, high) of an axis that includes scores (n,) and class means (K,) with a margin.

    The means have a margin of 3 units without finite scores, else 0.5.
    """
    finite = values[np.isfinite(values)]
    low = min(float(finite.min(initial=np.inf)), float(means.min()) - (0.5 if len(finite) else 3.0))
    high = max(float(finite.max(initial=-np.inf)), float(means.max()) + (0.5 if len(finite) else 3.0))
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _other_axes_text(all_axes: list[str], names: list[str]) -> str:
    """Return the axes that are not drawn as text for a title: "LD3 = LD4", or "LD3 to LD7" for many."""
    others = [name for name in all_axes if name not in names]
    return f"{others[0]} to {others[-1]}" if len(others) > 3 else " = ".join(others)
