"""Plots of lda, qda, rda, plda, location and nearest_centroid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discrim.errors import DataError, NotSupportedError
from discrim.inference.verification import Costs
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import join_labels
from discrim.models.discriminant.covariance_models import FactorAnalyticDescription, describe
from discrim.models.discriminant.normal_summary import MAX_PATH_ROWS, choice_description
from discrim.models.plots import evaluation, spaces
from discrim.models.plots.plottable import check_columns_option, plot, require_rows_to_draw
from discrim.models.plots.shared import DISCRIMINANT_PLOTS, WITH_POSTERIORS
from discrim.report.grid import clean, shorten
from discrim.report.plots import style
from discrim.report.plots.bars import draw_bar_strips, draw_errors, draw_heat_map
from discrim.report.plots.points import draw_points
from discrim.report.plots.spaces import draw_scree
from discrim.report.plots.style import SIGNS, add_legend, new_axes, set_title
from discrim.report.plots.text_fit import fit_texts, select_separated

if TYPE_CHECKING:
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.style import Axes


MAX_RANKED_COLUMNS = 30
"""Largest number of ranked columns in a plot."""


MAX_LABELS = 12
"""Largest number of flagged rows with labels."""


LABEL_SIZE = (5.0, 10.0)
"""Width of a character and height of a line of the rows' labels, in points."""


@plot("ranking", "the first columns of the ranking, with their scores by class", data=False)
def ranking(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the first columns of the ranking, at most `MAX_RANKED_COLUMNS`, with their scores by class.

    Parameters
    ----------
    results : FittedResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    table = results.ranking(top=min(MAX_RANKED_COLUMNS, len(results.terms)))
    scores = table.iloc[:, -len(results.classes) :]
    classes = list(results.classes)
    name = "t-scores" if fit.estimates.covariance.is_diagonal else "Cat scores"
    count_text = f" ({len(table)} of {len(results.terms)})" if len(table) < len(results.terms) else ""
    title = f"{name} of the classes against the common mean{count_text}"
    return draw_bar_strips(scores, classes, title, ax=options.ax, signs=options.signs(classes))


@plot("slopes", "a column against a covariate, with the lines of the classes", used_options=("columns",))
def slopes(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot a column against a covariate, with the lines of the classes and other covariates at their means.

    By default it is the column with the largest proportion of variance explained by the covariates, against
    the first covariate. `options.columns` names a column and a covariate, in any order; others raise
    DataError. NotSupportedError is raised if the fit lacks rows and `data=` was not passed.

    Parameters
    ----------
    results : FittedResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`. `data` has the rows to draw; by default the rows of the fit.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    slope_estimates = results.covariate_model._slope_estimates()
    q = fit.estimates.covariates
    terms = list(fit.terms)
    pair = [terms[q + int(slope_estimates.explained.argmax())], terms[0]]
    if options.columns is not None:
        pair = check_columns_option(options, terms, "slopes", 2, 2)
    j, i = sorted(map(terms.index, pair), reverse=True)
    if not i < q <= j:
        raise DataError(
            f"kind='slopes' requires a column and a covariate; columns={pair} are not.",
            hint=f"Pass one of {join_labels(terms[q:])} and one of {join_labels(terms[:q])}.",
        )
    rows = require_rows_to_draw(fit, options, "slopes")
    x, y = rows.terms([terms[i], terms[j]]).to_numpy().T
    classes = list(fit.classes)
    signs = options.signs(fit.classes)
    axes, is_new = style.new_axes(options.ax)
    draw_points(axes, x, y, rows.codes, classes, signs)
    moments = fit.estimates.moments
    centre = float(moments.counts @ moments.class_means[:, i]) / moments.total
    for k in range(len(classes)):
        class_x = x[rows.codes == k]
        ends = (
            np.array([np.nanmin(class_x), np.nanmax(class_x)]) if np.isfinite(class_x).any() else np.empty(0)
        )
        line = slope_estimates.means[k, j - q] + slope_estimates.coef[i, j - q] * (ends - centre)
        axes.plot(ends, line, color=signs.colour(k), linestyle=signs.line(k), zorder=3)
    axes.set(xlabel=style.shown_name(terms[i], 45), ylabel=style.shown_name(terms[j], 45))
    explained_text = (
        f"covariates explain {slope_estimates.explained[j - q]:.0%} of its variance within classes"
    )
    style.set_title(axes, f"Common slopes on a covariate\n{explained_text}")
    if len(classes) <= style.MAX_IN_LEGEND:
        style.add_legend(axes, is_new)
    fit_texts(axes, is_new)
    return axes


@plot(
    "scree",
    'eigenvalues of the classes\' covariances, with the signal and the noise of covariance="factor"',
    data=False,
)
def eigenvalues(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot eigenvalues by class, filled if they belong to the signal, and the noise variance.

    Raises NotSupportedError unless the fit has a factor analytic covariance.

    Parameters
    ----------
    results : FittedResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    if "factors" not in describe(fit.estimates.covariance_model).sections:
        raise NotSupportedError(
            'kind="scree" requires covariances with a few large variances.',
            hint='Fit qda(covariance="factor").',
        )
    model = results.covariance_model
    table = model.scree()
    noise = model.factors["noise"]
    labels = list(table.index.unique(level=0))
    noise = noise.iloc[: len(labels)].set_axis(labels)
    axes = draw_scree(table, noise, ax=options.ax, signs=options.signs(labels))
    signal = f"filled: signal ({FactorAnalyticDescription(fit.estimates.covariance_model).dimension_rule})"
    style.set_title(axes, f"Eigenvalues of the covariances; {signal}; lines: noise")
    return axes


@plot(
    "path", "errors of the choice of a shrinkage, or of a number of principal axes", data=False, colors=False
)
def choice_path(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the errors of the candidate shrinkages or numbers of principal axes, and mark the chosen value.

    Bars show one standard error. Raises NotSupportedError if the fit did not choose such a parameter.

    Parameters
    ----------
    results : FittedResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    if fit.path is None:
        raise NotSupportedError(
            'kind="path" requires a fit that chose a tuning parameter.',
            hint='Fit with covariance=discrim.covariance.Shrunk("loo") or components="cv".',
        )
    chooses_axes = "components" in fit.path
    path = results.subspace.path if chooses_axes else results.covariance_model.path
    chosen = (
        results.subspace.n_components
        if chooses_axes
        else fit.estimates.covariance_model.shrinkages[0].values[0]
    )
    axes, _ = style.new_axes(options.ax)
    draw_errors(axes, path.iloc[:, :3], chosen, is_log=chooses_axes and len(path) > MAX_PATH_ROWS)
    axes.set_xlabel("Principal axes" if chooses_axes else "Shrinkage")
    axes.set_ylabel("Error, ± one standard error")
    axes.legend()
    candidate_name = "number of principal axes" if chooses_axes else "shrinkage"
    style.set_title(axes, f"Error of left-out rows by {candidate_name}")
    return axes


@plot("path", "errors of the choice by alpha and gamma", data=False)
def rda_path(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the errors of the candidate pairs of alpha and gamma as a heat map, and mark the chosen pair.

    For a fit that chose the number of axes it is the plot of `choice_path`.

    Parameters
    ----------
    results : FittedResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    if fit.path is not None and "components" in fit.path:
        return choice_path(results, fit, options)
    errors = results.path.pivot(index="alpha", columns="gamma", values="error")
    pair = (results.alpha, results.gamma)
    title = f"Error by {choice_description(fit)}"
    return draw_heat_map(errors, pair, title, ax=options.ax, colormap=options.colormap("path"))


@plot("distances", "robust distances of the rows against classical ones, of robust fits", data=False)
def robust_distances(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot robust against classical distances (Rousseeuw & van Zomeren, 1990, JASA 85, 633-651).

    The distances of the rows from their own class means are not squared. Up to `MAX_LABELS` of the most
    distant flagged rows have labels, if these do not overlap. Raises NotSupportedError unless the fit is
    robust.

    Parameters
    ----------
    results : FittedResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    if not fit.estimates.covariance_model.traits.is_robust:
        raise NotSupportedError(
            'kind="distances" requires a robust covariance.', hint='Fit with covariance="t" or "mcd".'
        )
    model = results.covariance_model
    table = model.robust_distances()
    classical = model._classical_distances()
    classes = list(results.classes)
    signs = options.signs(results.classes)
    codes = style.label_codes(table["class"], classes)
    robust = table["distance"].to_numpy(dtype=np.float64)
    cutoff = float(table["cutoff"].iloc[0])
    axes, is_new = style.new_axes(options.ax)
    draw_points(axes, classical, robust, codes, classes, signs)
    cutoff_style: dict[str, Any] = {
        "color": style.faint_ink(0.35),
        "linewidth": 1.0,
        "linestyle": "--",
        "zorder": 1,
    }
    axes.axhline(cutoff, **cutoff_style)
    axes.axvline(cutoff, **cutoff_style)
    ends = np.array([0.0, np.nanmax(classical) * 1.05])
    axes.plot(ends, ends, color=style.faint_ink(0.6), linewidth=0.8, zorder=1)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="Classical Mahalanobis distance", ylabel="Robust distance")
    style.set_title(axes, "Distances to own class means; dashed: cutoff")
    if len(classes) <= style.MAX_IN_LEGEND:
        style.add_legend(axes, is_new)
    fit_texts(axes, is_new)
    flagged = np.flatnonzero(table["flagged"].to_numpy())
    farthest = flagged[np.argsort(-robust[flagged], kind="stable")]
    names = {i: shorten(clean(str(table.index[i])), 16) for i in farthest.tolist()}
    size = np.array([LABEL_SIZE[0] * (1 + max(map(len, names.values()), default=0)), LABEL_SIZE[1]])
    points = axes.transData.transform(np.column_stack([classical, robust])) * 72 / axes.figure.dpi
    for i in select_separated(points, list(names), size)[:MAX_LABELS]:
        # The label is left of its mark, because the axes end right of the most distant row.
        annotation_style: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "fontsize": 8}
        axes.annotate(names[i], (classical[i], robust[i]), (-4, 3), **annotation_style)
    return axes


N_BINS = 60
"""Number of bins of the histograms of log likelihood ratios."""


MAX_SHARE_OUTSIDE = 0.01
"""Largest share of the trials below the range of the histogram."""


MAX_PAIRED_ROWS = 1000
"""Largest number of rows whose pairs are drawn; of more rows, classes and their rows are sampled."""


@plot("trials", "log likelihood ratios of pairs of one class and of two, with errors at each threshold")
def trials(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot histograms of the log likelihood ratios of pairs of the same class and of different classes.

    The lowest `MAX_SHARE_OUTSIDE` of the ratios of each kind may be below the range. More than
    `MAX_PAIRED_ROWS` rows are replaced by a random sample of classes, or of their rows if the classes are few
    (`_score_pairs`), which the title states.

    Parameters
    ----------
    results : FittedResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    pairs, sample_text = results._score_pairs(options.data, MAX_PAIRED_ROWS)
    axes, is_new = new_axes(options.ax)
    lowest = min(
        float(np.quantile(pairs.other, MAX_SHARE_OUTSIDE)), float(np.quantile(pairs.same, MAX_SHARE_OUTSIDE))
    )
    highest = float(max(pairs.same[-1], pairs.other[-1]))
    n_outside = 0
    for position, (name, values) in enumerate({"two classes": pairs.other, "one class": pairs.same}.items()):
        n_outside += int((values < lowest).sum())
        axes.hist(
            values, N_BINS, range=(lowest, highest), density=True, alpha=0.5, color=SIGNS.colour(position),
            label=f"{len(values):,} of {name}",
        )  # fmt: skip
    axes.axvline(0.0, color="0.35", linewidth=0.8)
    outside_text = f"; {n_outside:,} pairs are below the range" if n_outside else ""
    axes.set_xlabel(f"Log likelihood ratio of one class against two{outside_text}")
    axes.set_ylabel("Density")
    eer = pairs.error_measures(Costs()).eer
    rows_text = "rows of the fit" if options.data is None else "new rows"
    set_title(axes, f"Pairs of rows, {rows_text}{sample_text}: equal error rate {100 * eer:.1f} %")
    return add_legend(axes, is_new)


LDA_PLOTS = (
    *DISCRIMINANT_PLOTS,
    spaces.ellipses,
    spaces.qq,
    *WITH_POSTERIORS,
    evaluation.forest,
    evaluation.odds_ratios,
    ranking,
    slopes,
    robust_distances,
    choice_path,
)
"""Plots of `lda`, in the order in which a default is chosen."""

QDA_PLOTS = (
    *WITH_POSTERIORS,
    spaces.ellipses,
    spaces.qq,
    evaluation.log_determinants,
    robust_distances,
    eigenvalues,
    choice_path,
    spaces.subspace_axes,
)
"""Plots of `qda`, in the order in which a default is chosen."""

RDA_PLOTS = (*WITH_POSTERIORS, spaces.ellipses, rda_path)
"""Plots of `rda`, in the order in which a default is chosen."""

PLDA_PLOTS = (trials, *WITH_POSTERIORS)
"""Plots of `plda`, in the order in which a default is chosen."""

LOCATION_PLOTS = WITH_POSTERIORS
"""Plots of `location`, in the order in which a default is chosen."""

NEAREST_CENTROID_PLOTS = WITH_POSTERIORS
"""Plots of `nearest_centroid`, in the order in which a default is chosen."""
