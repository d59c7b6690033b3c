"""The summary of a quadratic discriminant analysis: which tables, under which words.

What a summary says of covariances of a few large variances.

The picture of the eigenvalues that covariances of a few large variances are of.

The summary of a regularized discriminant analysis: which tables, under which words.

The picture of the choice of alpha and gamma.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from discrim.core.scatter.scatter import Sphere
from discrim.errors import DataError
from discrim.models.normal import gaussian_shown
from discrim.models.normal.rda import chosen_by
from discrim.models.results.headers import error_items, header, prior_item, row_items, size_items
from discrim.report.grid import Pairs, Section
from discrim.report.plots.bars import heat_map
from discrim.report.plots.style import set_title
from discrim.report.tables import Parts, Sections

if TYPE_CHECKING:
    from discrim.core.normal.qda import QDAFit
    from discrim.core.normal.rda import RDAFit
    from discrim.models.fits.fit import Fit
    from discrim.models.normal.qda import QDAResults
    from discrim.models.normal.rda import RDAResults
    from discrim.models.pictures.pictured import PictureOptions
    from discrim.report.plots.style import Axes


def factors_section(results: QDAResults, fit: Fit[QDAFit]) -> Section:
    """Dimensions, variances of signal and noise, and the share that the signal explains, by class."""
    table = results.factors.rename_axis(index=None)
    table = table.rename(columns={"largest": "signal, largest", "smallest": "signal, smallest"})
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general")
    formats |= {"dimensions": "count", "explained": "share"}
    note = "One covariance for all classes." if fit.numbers.scatter.is_one_for_all else ""
    return Section(
        "Variances on the axes of the signal, and of the noise beyond them",
        table,
        formats,
        note=note,
        source="fit.factors",
    )


MOST_COVARIANCES = 6
"""Classes whose covariances a summary prints."""

qda_brief = gaussian_shown.brief_by_class


def qda_sections(results: QDAResults, fit: Fit[QDAFit]) -> Parts:
    """Sections of a quadratic discriminant analysis, in their order."""
    parts: Sections = {
        "header": _quadratic_header,
        "classes": gaussian_shown.logdets_section,
        **({"factors": factors_section} if "factors" in fit.numbers.scatter.sections else {}),
        "means": gaussian_shown.means_section,
    }
    most = 1 if fit.numbers.scatter.is_one_for_all else MOST_COVARIANCES
    for label in results.classes[:most]:
        parts["covariance" if most == 1 else f"covariance {label}"] = partial(_class_covariance, label=label)
    if "flagged" in fit.numbers.scatter.sections and fit.has_rows:
        parts["flagged"] = gaussian_shown.flagged_section
    if fit.path is not None:
        parts["path"] = gaussian_shown.shrinkage_path_section
    return gaussian_shown.with_equal_covariances(parts, fit)


def _quadratic_header(results: QDAResults, fit: Fit[QDAFit]) -> Pairs:
    left, right = gaussian_shown.common_header(results, fit, by_class=True)
    return header(fit, [*left, *right], gaussian_shown.covariance_note(fit))


def _class_covariance(results: QDAResults, fit: Fit[QDAFit], label: Any) -> Section:
    divisor = "n" if fit.numbers.method == "mle" else "n-1"
    scatter = fit.numbers.scatter
    common = scatter.is_one_for_all
    if common:
        divisor = "N" if divisor == "n" else "N-K"
    where = "within classes" if common else f"in {label}"
    left_out = len(results.classes) - MOST_COVARIANCES
    note = (
        f"{left_out} more {'class' if left_out == 1 else 'classes'}: fit.covs."
        if left_out > 0 and not common and label == results.classes[MOST_COVARIANCES - 1]
        else ""
    )
    source = f"fit.covs[{label!r}]"
    held = fit.numbers.covariances[list(results.classes).index(label)]
    if fit.numbers.is_diagonal:
        return gaussian_shown.variances_section(
            fit, held, f"Variances {where}, divisor {divisor}", source, note
        )
    if fit.numbers.moments.spread == "thin class":
        return gaussian_shown.thin_variances_section(fit, held, f"{where}, divisor {divisor}", source)
    title = scatter.title(where, divisor, by_class=True)
    return gaussian_shown.covariance_section(fit, held, title, source, note, str(label))


def scree(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Eigenvalues by class, those of the signal filled, and the level of the noise."""
    from discrim.report.plots.spaces import draw_scree as draw

    table, noise = results.scree(), results.factors["noise"]
    labels = list(table.index.unique(level=0))
    noise = noise.iloc[: len(labels)].set_axis(labels)
    axes = draw(table, noise, ax=options.ax, signs=options.signs(labels))
    scatter = fit.numbers.scatter
    signal = f"filled: signal ({scatter.found_label})"
    set_title(axes, f"Eigenvalues, {scatter.wanted.form}; {signal}; lines: noise")
    return axes


rda_brief = gaussian_shown.brief_by_class


def rda_sections(results: RDAResults, fit: Fit[RDAFit]) -> Sections:
    """Sections of a regularized discriminant analysis, in their order."""
    parts: Sections = {
        "header": _regularized_header,
        "classes": gaussian_shown.logdets_section,
        "means": gaussian_shown.means_section,
    }
    if fit.path is not None:
        parts["path"] = _path
    return parts


def _regularized_header(results: RDAResults, fit: Fit[RDAFit]) -> Pairs:
    numbers, chosen = fit.numbers, chosen_by(fit)
    divisors = "n, N" if numbers.method == "mle" else "n-1, N-K"
    chosen += ", 1 SE rule" if numbers.cv is not None and numbers.select == "1se" else ""
    note = (
        "These errors keep alpha and gamma, which the same rows chose; error_rates(['cv']) chooses them anew."
        if numbers.cv is not None
        else ""
    )
    items = [
        *row_items(fit),
        *size_items(fit),
        ("Alpha", results.alpha, f"{results.alpha:g}"),
        ("Gamma", results.gamma, f"{results.gamma:g}"),
        ("Parametrization", numbers.parametrization, numbers.parametrization),
        ("Ridge", *Sphere(numbers.standardize).item[1:]),
        ("Divisors, by class and pooled", divisors, divisors),
        ("Chosen by", chosen, chosen),
        prior_item(fit),
        ("Log-likelihood", results.llf, f"{results.llf:.2f}"),
        *error_items(results, fit),
    ]
    return header(fit, items, note)


def _path(results: RDAResults, fit: Fit[RDAFit]) -> Section:
    table = results.path.pivot(index="alpha", columns="gamma", values="error")
    table.index = [f"{value:g}" for value in table.index]
    table.columns = [f"{value:g}" for value in table.columns]
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share")
    title = f"Error by {chosen_by(fit)}, alpha (rows) by gamma"
    without = "row" if fit.numbers.cv == "loo" else "fold"
    note = (
        f"Missing where a covariance is singular without some {without}."
        if table.isna().any(axis=None)
        else ""
    )
    return Section(title, table, formats, note=note, source="fit.path")


def path(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Errors of the choice by alpha and gamma, with the pair chosen."""
    errors = results.path.pivot(index="alpha", columns="gamma", values="error")
    title = f"Error by {chosen_by(fit)}"
    if options.colors is not None and not isinstance(options.colors, str):
        raise DataError("colors= of kind='path' is the name of a colormap of matplotlib, as 'viridis'.")
    options.signs(results.classes)
    return heat_map(errors, (results.alpha, results.gamma), title, ax=options.ax, colormap=options.colors)
