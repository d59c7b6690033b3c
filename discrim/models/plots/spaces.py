"""Plots of discriminant scores, structure correlations, covariance ellipses and squared distances.

Each plot is a function with the decorator `plot`; `outlines_of` draws class outlines for `planes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.covariance.adjusted import ConditionalCovariance
from discrim.core.covariance.sliced import SAVECovariance
from discrim.core.covariance.student import own_distances
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.rules import best_class, posteriors
from discrim.errors import DataError, NotSupportedError
from discrim.inference.manova import roy_critical, scatter_between
from discrim.inference.mean_differences import distance_quantiles
from discrim.models.base.labels import class_code, covariance_frame
from discrim.models.base.reading import is_share, listed, told
from discrim.models.plots.pictured import (
    DrawnRows,
    drawn_rows,
    named_columns,
    needed_rows,
    no_labels,
    numeric_terms,
    plot,
    pointed_rows,
    said_choice,
    telling,
)
from discrim.report.plots import interactive, spaces
from discrim.report.plots.bars import draw_scree_bars, draw_structure
from discrim.report.plots.columns import draw_pairs, quantiles
from discrim.report.plots.planes import PlaneRows, draw_line, draw_plane
from discrim.report.plots.points import draw_points
from discrim.report.plots.spaces import axis_name, outline_radius
from discrim.report.plots.style import MOST_IN_LEGEND, add_legend, new_axes, set_title, shown_name

if TYPE_CHECKING:
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.pictured import PictureOptions
    from discrim.report.plots.interactive import Figure
    from discrim.report.plots.style import Axes, Signs

NO_DISCRIMINANT = "The class means do not differ, so that there is no discriminant."

MOST_BARS = 30
"""Largest number of columns whose structure correlations are drawn."""


def chosen_axes(
    names: Sequence[str], options: PictureOptions, most: int = 2, called: str = "discriminant"
) -> list[str]:
    """Return the axes in `axes=`, by default the first; raise DataError if they are not valid.

    Parameters
    ----------
    names : sequence of str
        Axes that can be drawn.
    options : PictureOptions
    most : int
        Largest number of axes.
    called : str
        Term for an axis in error messages.
    """
    if options.axes is None:
        return list(names[:most])
    known = listed(list(names))
    given = [options.axes] if isinstance(options.axes, str) else list(options.axes)
    if not 1 <= len(given) <= most or len(set(given)) < len(given):
        raise DataError(
            f"axes={told(options.axes)} is not valid.", hint=f"Name one to {most} of {known}, each once."
        )
    for name in given:
        if name not in names:
            raise DataError(
                f"axes={told(options.axes)}: {told(name)} is no {called}.", hint=f"Name some of {known}."
            )
    return given


def level_of(options: PictureOptions, default: float) -> float:
    """Return the option `level`; raise DataError if it is not between 0 and 1."""
    if options.level is None:
        return default
    if not is_share(options.level):
        raise DataError(
            f"level={told(options.level)} is not valid.", hint="Give a share between 0 and 1, as level=0.5."
        )
    return float(options.level)


@plot(
    "scores",
    "scores of the rows on the discriminants, by class, with outlines of the classes",
    takes=("axes", "level", "interactive"),
)
def scores(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes | Figure:
    """Draw the scores of the rows on the discriminants, by class, with outlines of the classes."""
    centroids: pd.DataFrame = results._centroids()
    names = chosen_axes(list(centroids.columns), options)
    return draw_scores_of(
        results,
        fit,
        centroids[names],
        options,
        shares=getattr(results, "explained", None),
        within=scores_within(results, names),
    )


def draw_scores_of(
    results: Any, fit: FittedModel[Any], centroids: pd.DataFrame, options: PictureOptions, **look: Any
) -> Axes | Figure:
    """Draw the scores of the rows on the axes of the class means, with matplotlib or plotly.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    centroids : DataFrame
        Class means, classes by axes.
    options : PictureOptions
    **look
        Options of `spaces.draw_scores`.
    """
    rows = drawn_rows(fit, options)
    names = list(centroids.columns)
    none = pd.DataFrame(columns=names, dtype=float)
    found = none if rows is None else results.transform(rows.blocks)[names]
    look |= {"counts": fit.rows_by_class, "level": level_of(options, 0.5)}
    if options.interactive:
        return interactive.scores_figure(found, pointed_rows(fit, rows, options), centroids, **look)
    labels = no_labels() if rows is None else rows.labels
    signs = options.signs(fit.classes)
    return spaces.draw_scores(found, labels, centroids, ax=options.ax, signs=signs, **look)


def scores_within(results: Any, names: Sequence[str]) -> Floats | None:
    """Return the within-class covariance (q, q) of discriminants; None if it is the identity."""
    if not hasattr(results, "_scores_within"):
        return None
    within: pd.DataFrame = results._scores_within()
    return within.loc[list(names), list(names)].to_numpy(dtype=np.float64)


@plot("biplot", "canonical scores, and the columns as arrows of their structure", takes=("axes", "structure"))
def biplot(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw canonical scores, and columns as arrows of their structure correlations."""
    return biplot_of(results.canonical(), options)


def biplot_of(canonical: Any, options: PictureOptions) -> Axes:
    """Draw the biplot of canonical axes, under any scaling convention."""
    fit = canonical._fit
    names = chosen_axes(list(canonical.centroids.columns), options)
    rows = drawn_rows(fit, options)
    none = pd.DataFrame(columns=names, dtype=float)
    found = none if rows is None else canonical.scores(rows.blocks)[names]
    return spaces.draw_biplot(
        found,
        no_labels() if rows is None else rows.labels,
        canonical.centroids[names],
        canonical.structure(options.structure or "within")[names],
        fit.rows_by_class,
        ax=options.ax,
        signs=options.signs(fit.classes),
        shares=canonical.proportion,
    )


@plot(
    "structure",
    "correlations of the columns with the discriminants, as bars",
    takes=("axes", "structure"),
    data=False,
    colors=False,
)
def structure(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw structure correlations of the columns, a panel of bars for each discriminant.

    Columns are sorted by the discriminant with which they correlate most, then by this correlation.
    """
    canonical = results.canonical()
    names = chosen_axes(list(canonical.centroids.columns), options, most=3)
    if not names:
        raise NotSupportedError(NO_DISCRIMINANT, hint="Use another kind of plot.")
    table = canonical.structure(options.structure or "within")[names]
    sizes = np.nan_to_num(np.abs(table.to_numpy()))
    longest = np.argsort(-sizes.max(axis=1), kind="stable")[:MOST_BARS]
    order = longest[np.argsort(sizes[longest].argmax(axis=1), kind="stable")]
    return draw_structure(table.iloc[order], len(table), canonical.proportion, ax=options.ax)


@plot("scree", "shares of the discriminants, with the tests of the dimensions", data=False, colors=False)
def scree(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw proportions of between-class variance by discriminant, with the tests of the dimensions."""
    canonical = results.canonical()
    if not len(canonical.proportion):
        raise NotSupportedError(NO_DISCRIMINANT, hint="Use another kind of plot.")
    tests = canonical.dimension_tests["p"]
    return draw_scree_bars(canonical.proportion, canonical.eigenvalues, tests, ax=options.ax)


MOST_PAIRS = 4
"""Default number of columns in a matrix of panels."""

MOST_PANELS = 12
"""Default number of classes with a panel."""

LEVEL = 0.68
"""Default coverage of the ellipse of a normal class, equal to R's heplots."""

MOST_LARGE = 6
SMALL = 0.2
"""Number of classes up to which ellipses over regions have this coverage, and the coverage for more."""


def chosen_terms(
    results: Any, fit: FittedModel[Any], options: PictureOptions, kind: str, most: int, shown: int = 2
) -> tuple[list[str], str]:
    """Return the terms to draw, and a description of how they were chosen.

    Raises DataError if terms of the user are unknown, repeated, too few or too many.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PictureOptions
    kind : str
        Kind of plot for error messages.
    most : int
        Largest number of terms.
    shown : int
        Default number of terms: the ones that separate the classes best.
    """
    # For naive Bayes only normal columns: covariances of levels and counts are not defined.
    normal = hasattr(type(results), "normal_terms")
    every = list(results.normal_terms if normal else results.terms)
    if options.columns is None:
        numbers = numeric_terms(fit.design_rows.design, every)
        numbers = numbers if len(numbers) >= 2 else every
        if len(numbers) < 2:
            which = "normal columns" if normal else "columns"
            raise NotSupportedError(
                f"kind={kind!r} draws 2 {which}, and the fit has {len(every)}.", hint="Draw another kind."
            )
        return telling(fit, options, numbers, shown), said_choice(options, len(numbers), shown)
    return named_columns(options, every, kind, 2, most), ""


@plot(
    "ellipses",
    "ellipses of the classes' covariances beside the pooled one",
    takes=("columns", "level", "centred"),
)
def ellipses(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw covariance ellipses of the classes and the pooled one, for all pairs of columns if several."""
    names, chosen = chosen_terms(results, fit, options, "ellipses", len(fit.terms))
    if len(names) > 2:
        return pairs(results, fit, options)
    (means, covariances, pooled), shown = _drawn_spreads(results, fit, names, options, "ellipses")
    level = level_of(options, LEVEL)
    centred = bool(options.centred)
    axes = spaces.draw_ellipses(means, covariances, pooled, outline_radius(level), centred=centred, **shown)
    about = ", about one centre" if centred else ""
    said = f"Covariances of the classes{about}; outlines hold {100 * level:.6g} %"
    set_title(axes, f"{said}\n{chosen}" if chosen else said)
    return axes


@plot(
    "pairs",
    "each pair of columns, with the outlines of the classes",
    takes=("columns", "level", "interactive"),
)
def pairs(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes | Figure:
    """Draw each pair of columns, with the outlines of the classes."""
    names, chosen = chosen_terms(results, fit, options, "pairs", len(fit.terms), MOST_PAIRS)
    (means, covariances, _), shown = _drawn_spreads(results, fit, names, options, "pairs")
    level = level_of(options, LEVEL)
    some = f" of {chosen} of {len(results.terms)} columns" if chosen else ""
    title = f"Pairs{some}; outlines hold {100 * level:.6g} % of a normal class"
    if options.interactive:
        rows = pointed_rows(fit, drawn_rows(fit, options), options)
        points = shown.get("points")
        return interactive.pairs_figure(means, covariances, outline_radius(level), points, rows, title)
    outer = draw_pairs(means, covariances, outline_radius(level), **shown)
    set_title(outer, title)
    return outer


@plot(
    "he",
    "ellipses of hypothesis and error, which test the means",
    takes=("columns", "axes", "level"),
    data=False,
)
def he(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw ellipses of hypothesis and error, in the plane of two columns, or two discriminants (`axes=`)."""
    results._need_full("kind='he'")
    fit.estimates.refuse_covariates("kind='he'")
    moments = fit.estimates.moments
    counts = fit.rows_by_class.to_numpy(dtype=np.float64)
    free = moments.total - moments.n_classes
    level = None if options.level is None else 1 - level_of(options, 0.95)
    critical = 1.0
    if level is not None:
        critical = roy_critical(moments.n_columns, moments.n_classes, moments.total, level)
    if not free > 0 or np.isnan(critical):
        raise NotSupportedError("kind='he' needs more rows than classes and columns.", hint="Fit more rows.")
    arrows = None
    chosen = ""
    if options.axes is not None:
        if options.columns is not None:
            raise DataError("axes= and columns= name two planes.", hint="Give one of them.")
        canonical = results.canonical()
        axis = chosen_axes(list(canonical.centroids.columns), options)
        if len(axis) < 2:
            raise DataError(
                f"axes={told(options.axes)}: kind='he' draws a plane.", hint="Name two discriminants."
            )
        means = canonical.centroids[axis]
        error = np.eye(2)
        arrows = canonical.structure()[axis]
        shown = axis_name(axis[0], canonical.proportion), axis_name(axis[1], canonical.proportion, of="")
    else:
        names, chosen = chosen_terms(results, fit, options, "he", 2)
        unbiased = results.cov * (fit.estimates.divisor / fit.estimates.residual_df)
        means = results.means[names]
        error = unbiased.loc[names, names].to_numpy()
        shown = shown_name(names[0]), shown_name(names[1])
    centre = counts @ means.to_numpy() / counts.sum()
    hypothesis = scatter_between(means.to_numpy(), counts) / (critical * free)
    # The ellipse of the error contains 68 % of the rows around their class means, like R's heplots.
    axes = spaces.draw_he(
        means,
        hypothesis,
        error,
        centre,
        outline_radius(LEVEL),
        names=shown,
        arrows=arrows,
        equal=options.axes is not None,
        ax=options.ax,
        signs=options.signs(fit.classes),
    )
    said = "Spread of the class means, and within classes"
    if level is not None:
        said = f"Means differ if hypothesis exceeds error (Roy, {100 * level:.3g} %)"
    set_title(axes, f"{said}\n{chosen}" if chosen else said)
    return axes


@plot("qq", "squared distances by class against quantiles of their distribution", takes=("classes",))
def qq(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw the squared distances of the rows of each class against the quantiles of their distribution.

    The pointwise limits assume normal classes, and for robust fits the true mean and covariance.
    """
    estimates = fit.estimates
    robust = estimates.covariance_model.traits.is_robust
    if not robust:
        results._need_moments("kind='qq'")
    if not (robust or estimates.has_distances):
        raise NotSupportedError(
            "kind='qq' needs full covariances.",
            hint="Fit with the default covariance=, and without components= and ncomp=.",
        )
    rows = needed_rows(fit, options, "qq")
    held, free = (estimates.distances(), None) if robust else estimates.unbiased_distances()
    covariances = held.covariances
    squared = _own_squared(rows, estimates.moments, covariances)
    classes = list(fit.classes)
    chosen = classes[:MOST_PANELS] if options.classes is None else list(options.classes)
    places = {label: class_code(label, fit.classes) for label in chosen}
    index = np.asarray(rows.blocks.table.index)
    tables = {}
    for label, k in places.items():
        own = np.flatnonzero((rows.codes == k) & np.isfinite(squared))
        fitted = None if options.data is None else float(fit.counts[k])
        table = distance_quantiles(
            squared[own], len(fit.terms), None if free is None else float(free[k]), fitted=fitted
        )
        tables[label] = table.set_axis(index[own[table["position"].astype(int)]], axis=0)
    law = "chi-square" if robust else "F" if options.data is not None else "beta"
    outer = quantiles(tables, places, law, ax=options.ax, signs=options.signs(fit.classes))
    first = "" if options.classes is not None else "the first "
    some = f" of {first}{len(chosen)} of {len(classes)} classes" if len(chosen) < len(classes) else ""
    kind = "RobustCovariance squared distances" if robust else "Squared distances"
    set_title(outer, f"{kind} to the class means{some}, with pointwise limits at 95 %")
    return outer


# ---- numbers


def outline_share(fit: FittedModel[Any]) -> float:
    """Return the coverage of class ellipses over regions, smaller for many classes, which overlap."""
    return LEVEL if len(fit.classes) <= MOST_LARGE else SMALL


def outlines_of(
    results: Any, fit: FittedModel[Any], names: tuple[str, str], signs: Signs
) -> tuple[Callable[[Axes], None], str] | None:
    """Return the function that draws outlines of the classes in a plane, and its description for a title.

    Returns None for a model that has neither class means nor components.

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
    held = list(names)
    kind = type(results)
    level = outline_share(fit)
    sizes: Sequence[float | None] = [6.0] * len(classes)
    if hasattr(kind, "component_means"):
        means = results.component_means[held]
        keys = list(results.component_means.index)
        shapes = results.covs
        said = "of each component"
        sizes = spaces.component_sizes(results.shares).tolist()
    elif hasattr(kind, "means") and not hasattr(kind, "sds"):
        means, shapes, _ = _spreads(results, fit, names, None)
        keys = [(label,) for label in classes]
        said = "ellipses" if shapes else ""
        shapes = {(label,): shape for label, shape in shapes.items()}
    else:
        return None

    def draw(axes: Axes) -> None:
        for key, place, size in zip(keys, means.to_numpy(), sizes, strict=True):
            shape = shapes[key].loc[held, held].to_numpy() if key in shapes else None
            spaces.draw_class(axes, place, shape, outline_radius(level), signs, classes.index(key[0]), size)

    return draw, f", {100 * level:g} % {said}" if said else ", class means marked"


Spreads = tuple[pd.DataFrame, dict[Any, pd.DataFrame], pd.DataFrame | None]


def _drawn_spreads(
    results: Any, fit: FittedModel[Any], names: Sequence[str], options: PictureOptions, kind: str
) -> tuple[Spreads, dict[str, Any]]:
    """Return means and covariances of columns, and keyword arguments with the rows for drawing functions.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    names : sequence of str
        Columns of the design.
    options : PictureOptions
    kind : str
        Kind of plot for error messages.
    """
    rows = drawn_rows(fit, options)
    shown: dict[str, Any] = {"ax": options.ax, "signs": options.signs(fit.classes)}
    if rows is not None:
        rows.need_classes(kind)
        shown |= {"points": rows.terms(names), "labels": rows.labels}
    return _spreads(results, fit, names, rows), shown


def _total(results: Any, label: Any) -> pd.DataFrame:
    """Return the covariance of a class that is a mixture: within its components and between their means."""
    shares = results.shares.loc[label]
    means = results.component_means.loc[label]
    deviations = means - shares @ means
    total: pd.DataFrame = deviations.T @ deviations.mul(shares, axis=0)
    return sum((share * results.covs[label, k] for k, share in shares.items()), total)


def _spreads(results: Any, fit: FittedModel[Any], names: Sequence[str], rows: DrawnRows | None) -> Spreads:
    """Return class means, covariances by class, and the pooled covariance, of the model or of the rows.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    names : sequence of str
        Columns of the design.
    rows : DrawnRows or None
        Rows for models without covariances by class.

    Returns
    -------
    means : DataFrame
        Classes by `names`.
    covariances : dict of class to DataFrame
    pooled : DataFrame or None
    """
    held = list(names)
    covs: dict[Any, pd.DataFrame] | None = None
    if hasattr(type(results), "sds"):
        spread = results.sds[held]
        covs = {
            label: pd.DataFrame(np.diag(spread.iloc[k].to_numpy() ** 2), index=held, columns=held)
            for k, label in enumerate(results.classes)
        }
    elif hasattr(type(results), "component_means"):
        covs = {label: _total(results, label) for label in results.classes}
    elif isinstance(getattr(fit.estimates, "within_axes", None), SAVECovariance):
        # The fit keeps only the covariances of its scores.
        estimates = fit.estimates
        unit = 1 / estimates.moments.scale
        with np.errstate(over="ignore", under="ignore"):
            values = estimates.moments.scatters / estimates.divisors[:, None, None] * unit[:, None] * unit
        frames = [pd.DataFrame(each, index=fit.terms, columns=fit.terms) for each in values]
        covs = dict(zip(fit.classes, frames, strict=True))
    elif hasattr(type(results), "covs"):
        covs = results.covs
    found: dict[Any, pd.DataFrame] = {}
    pooled = None
    if covs is not None:
        found = {label: table.loc[held, held] for label, table in covs.items()}
        counts = results.counts.to_numpy(dtype=np.float64) - 1
        if counts.sum() > 0 and (counts >= 0).all():
            mixed = sum(c * t.to_numpy() for c, t in zip(counts, found.values(), strict=True)) / counts.sum()
            pooled = pd.DataFrame(mixed, index=held, columns=held)
        return results.means[held], found, pooled
    if hasattr(type(results), "cov"):
        covariance = getattr(fit.estimates, "covariance", None)
        if isinstance(covariance, ConditionalCovariance):
            cov = covariance_frame(covariance.whole, fit.estimates.moments.scale, fit.terms)
        else:
            cov = results.cov
        # A location model has a covariance for its numeric columns only.
        pooled = cov.loc[held, held] if set(held) <= set(cov.index) else None
    covariance_model = getattr(fit.estimates, "covariance_model", None)
    robust = (
        covariance_model.traits.is_robust
        if covariance_model is not None
        else getattr(fit.estimates, "robust", None) is not None
    )
    if rows is None or robust:
        if not hasattr(type(results), "means"):
            raise NotSupportedError(
                "This kind draws rows, which a loaded fit does not have.", hint="Give them as data=."
            )
        # The model has a common covariance of all classes.
        shared = {} if pooled is None else dict.fromkeys(results.classes, pooled)
        return results.means[held], shared, pooled
    means, found = _of_rows(rows, list(results.classes), held)
    return means, found, pooled


def _of_rows(
    rows: DrawnRows, classes: list[Any], names: list[str]
) -> tuple[pd.DataFrame, dict[Any, pd.DataFrame]]:
    """Return the means and covariances (divisor n - 1) of the rows of each class.

    Parameters
    ----------
    rows : DrawnRows
    classes : list
    names : list of str
        Columns of the design.

    Returns
    -------
    means : DataFrame
        Classes by `names`, NaN for a class without rows.
    covariances : dict of class to DataFrame
    """
    x = rows.terms(names).to_numpy()
    known = np.isfinite(x).all(axis=1)
    weights = rows.weights
    means = np.full((len(classes), len(names)), np.nan)
    found = {}
    for k, label in enumerate(classes):
        own = known & (rows.codes == k) & (weights > 0)
        total = float(weights[own].sum())
        if not total > 0:
            continue
        share = weights[own]
        means[k] = share @ x[own] / total
        if total > 1:
            gaps = x[own] - means[k]
            table = gaps.T @ (gaps * share[:, None]) / (total - 1)
            found[label] = pd.DataFrame(table, index=names, columns=names)
    return pd.DataFrame(means, index=pd.Index(classes), columns=names), found


def _own_squared(rows: DrawnRows, moments: Any, covariances: Any) -> Floats:
    """Return squared distances (n,) of rows to the means of their classes, NaN if undefined.

    Parameters
    ----------
    rows : DrawnRows
    moments : ClassMoments
    covariances : sequence of Covariance
        One for each class, or a common one.
    """
    out = np.full(rows.blocks.table.nrows, np.nan)
    for place, x, missing in rows.blocks.every_row():
        own = rows.codes[place]
        known = own >= 0 if missing is None else (own >= 0) & ~missing
        at = place.start + np.flatnonzero(known)
        out[at] = own_distances(moments, covariances, x[known], own[known])
    return out


TITLE = "Territorial map: regions of the classes among the discriminants"


@plot("territory", "regions of the classes in the space of two discriminants", takes=("axes",))
def territory(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw regions in the space of two discriminants, the others at zero, with labelled class means.

    Within classes discriminants have unit variance and, except for sparse ones, are uncorrelated. The score
    of class k is ln prior_k - |z - m_k|^2 / 2, with the distance in the metric of the covariance of the
    discriminants: with equal priors, a row belongs to the class of the nearest mean. SPSS prints this map
    in letters.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.lda("species ~ .", discrim.datasets.load_iris())
    >>> fit.plot("territory", axes=("LD1", "LD2")).get_ylabel()
    'LD2 (0.9 %)'
    """
    centroids = results._centroids()
    every = list(centroids.columns)
    if not every:
        raise NotSupportedError(NO_DISCRIMINANT, hint="Use another kind of plot.")
    names = chosen_axes(every, options)
    at = [every.index(name) for name in names]
    means = centroids.to_numpy()
    log_prior = fit.log_prior()
    within = scores_within(results, every)
    turn = None if within is None else np.linalg.inv(np.linalg.cholesky(within)).T

    def scores(points: Floats) -> Floats:
        gap = np.repeat(-means[None], len(points), axis=0)
        gap[:, :, at] += points[:, None, :]
        white = gap if turn is None else gap @ turn
        return np.asarray(log_prior - 0.5 * (white**2).sum(axis=2))

    rows = drawn_rows(fit, options)
    points = np.empty((0, len(at)))
    codes = np.empty(0, dtype=np.intp)
    if rows is not None:
        points = results.transform(rows.blocks)[names].to_numpy()
        codes = rows.codes
    limits = [_limits(points[:, j], means[:, at[j]]) for j in range(len(at))]
    held = "" if len(names) == len(every) else f"\nheld: {_told(every, names)} = 0"
    common: dict[str, Any] = {"ax": options.ax, "signs": options.signs(fit.classes), "title": TITLE + held}
    classes = list(fit.classes)
    shares = getattr(results, "explained", None)
    said = [axis_name(name, shares, *of) for name, of in zip(names, ((), ("",)), strict=False)]
    if len(at) == 1:
        line = np.linspace(*limits[0], 801)
        found = scores(line[:, None])
        place = line, posteriors(found), best_class(found), (names[0], "Posterior probability"), points[:, 0]
        axes = draw_line(*place, codes, classes, **common)
        axes.set_xlabel(said[0])
        return axes
    axes = draw_plane(
        lambda plane: best_class(scores(plane)),
        (limits[0], limits[1]),
        (names[0], names[1]),
        PlaneRows(points, codes, weak=bool(held)),
        classes,
        labels=means[:, at],
        **common,
    )
    axes.set(xlabel=said[0], ylabel=said[1])
    return axes


@plot(
    "axes",
    "scores of the rows on two axes of ncomp=, by class, with the regions where these are all",
    takes=("axes",),
)
def save_axes(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw scores of the rows on one or two axes of `ncomp=`, centred at the mean of all rows.

    The rule depends on the scores on all axes. Regions, or posteriors along a single axis, are therefore
    drawn only if all axes are.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.qda("species ~ .", discrim.datasets.load_iris(), ncomp=2)
    >>> fit.plot("axes").get_xlabel()
    'SAVE1'
    """
    if not isinstance(getattr(fit.estimates, "within_axes", None), SAVECovariance):
        raise NotSupportedError("kind='axes' draws the axes of ncomp=.", hint="Fit qda() with ncomp=2.")
    every = list(results.subspace.loadings)
    moments = fit.estimates.moments
    names = chosen_axes(every, options, called="axis")
    if len(names) == 1 < len(every):
        raise DataError(f"axes={told(options.axes)} is not valid.", hint=f"Name two of {listed(every)}.")
    loadings = results.subspace.loadings[names].to_numpy()
    spectrum = results.subspace._scores().spectrum
    centre = moments.counts @ moments.class_means / moments.total
    means = (moments.class_means - centre) @ loadings
    rows = drawn_rows(fit, options)
    classes = [*fit.classes]
    points = np.empty((0, len(names)))
    codes = np.empty(0, dtype=np.intp)
    if rows is not None:
        points = (rows.terms(list(fit.terms)).to_numpy() - centre) @ loadings
        codes = rows.codes
    order = [names.index(name) for name in every if name in names]

    def scores(plane: Floats) -> Floats:
        return fit.rule().scores(centre + spectrum.columns_at(plane[:, order]) / moments.scale)

    limits = [_limits(points[:, j], means[:, j]) for j in range(len(names))]
    common: dict[str, Any] = {
        "ax": options.ax,
        "signs": options.signs(classes),
        "title": "Axes by SAVE, with the rule of the classes",
    }
    if len(names) < len(every):
        title = f"Two of {len(every)} axes by SAVE"
        return _without_regions(points, codes, names, classes, options, title)
    if len(names) == 1:
        line = np.linspace(*limits[0], 801)
        found = scores(line[:, None])
        place = line, posteriors(found), best_class(found), (names[0], "Posterior probability"), points[:, 0]
        return draw_line(*place, codes, classes, **common)
    pair = (limits[0], limits[1])
    plane = (names[0], names[1])
    plane_rows = PlaneRows(points, codes)
    return draw_plane(lambda each: best_class(scores(each)), pair, plane, plane_rows, classes, **common)


def _without_regions(
    points: Floats,
    codes: Codes,
    names: Sequence[str],
    classes: Sequence[Any],
    options: PictureOptions,
    title: str,
) -> Axes:
    """Draw rows in the plane of two axes.

    Parameters
    ----------
    points : (n, 2) float
    codes : (n,) int
        Class of each row.
    names : sequence of str
        Labels of the axes.
    classes : sequence
    options : PictureOptions
    title : str
    """
    axes, is_new = new_axes(options.ax)
    draw_points(axes, points[:, 0], points[:, 1], codes, classes, options.signs(classes))
    axes.set(xlabel=names[0], ylabel=names[1])
    set_title(axes, title)
    if len(classes) <= MOST_IN_LEGEND:
        add_legend(axes, is_new)
    return axes


def _limits(values: Floats, means: Floats) -> tuple[float, float]:
    """Return the limits of an axis, which include scores (n,) and class means (K,) with a margin."""
    known = values[np.isfinite(values)]
    low = min(float(known.min(initial=np.inf)), float(means.min()) - (0.5 if len(known) else 3.0))
    high = max(float(known.max(initial=-np.inf)), float(means.max()) + (0.5 if len(known) else 3.0))
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _told(every: list[str], names: list[str]) -> str:
    """Return the list of the axes that are not drawn, for a title."""
    others = [name for name in every if name not in names]
    return f"{others[0]} to {others[-1]}" if len(others) > 3 else " = ".join(others)
