"""What the summaries and pictures of linear, quadratic and regularized discriminant analysis share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.inference.result import TestResult
from discrim.models.fits.fit import Fit, beyond_doubles, covariance_frame
from discrim.models.judging.assessment import RowsJudged, takes_long
from discrim.models.normal.normal_fits import equal_covariance_tests
from discrim.models.results import headers
from discrim.report.grid import INTERVAL, Section
from discrim.report.numbers import clean, shorten, table_texts
from discrim.report.plots import style
from discrim.report.plots.points import draw_points
from discrim.report.plots.style import Signs
from discrim.report.tables import Parts, Sections

if TYPE_CHECKING:
    from discrim.core.scatter.covariance import Covariance
    from discrim.models.normal.lda import LDAResults
    from discrim.models.normal.qda import QDAResults
    from discrim.models.normal.rda import RDAResults
    from discrim.models.pictures.pictured import PictureOptions
    from discrim.report.plots.style import Axes

MOST_NAMED = 8
"""Flagged rows that a summary names."""


def flagged_section(results: LDAResults | QDAResults, fit: Fit[Any]) -> Section:
    """Rows beyond the cutoff by class, the farthest of them by name."""
    table = results.robust_distances()
    flagged = table[table["flagged"]].sort_values("distance", ascending=False, kind="stable")
    counted = pd.DataFrame(index=results.classes.rename(None))
    by_class = table.dropna(subset="distance").groupby("class", observed=False)
    counted["rows"] = by_class.size().reindex(counted.index, fill_value=0)
    counted["flagged"] = by_class["flagged"].sum().reindex(counted.index, fill_value=0)
    counted["share"] = counted["flagged"] / counted["rows"]
    counted["farthest"] = by_class["distance"].max().reindex(counted.index)
    cutoff = float(table["cutoff"].iloc[0])
    note = f"Farther from their class's mean than {cutoff:.4g}, beyond which 2.5 % of normal rows lie."
    if len(flagged):
        shown = [
            f"{shorten(clean(str(label)), 20)} ({distance:.3g})"
            for label, distance in zip(flagged.index[:MOST_NAMED], flagged["distance"], strict=False)
        ]
        more = f" and {len(flagged) - MOST_NAMED} more" if len(flagged) > MOST_NAMED else ""
        note += f" The farthest: {', '.join(shown)}{more}."
    formats: dict[Any, Any] = {"rows": "count", "flagged": "count", "share": "share", "farthest": "general"}
    return Section("Rows flagged", counted, formats, note=note, source="fit.robust_distances()")


MOST_LABELS = 12
"""Flagged rows that bear their names."""

LABEL_SIZE = (5.0, 10.0)
"""Width of a character and height of a line of the rows' labels, in points."""


def distances(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Robust distances of the rows against classical ones."""
    table, classical = results.robust_distances(), results._classical_distances()
    signs = options.signs(results.classes)
    return distance_distance(table, classical, list(results.classes), ax=options.ax, signs=signs)


def distance_distance(
    table: pd.DataFrame,
    classical: NDArray[np.float64],
    classes: Sequence[Any],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Robust distances of rows against classical ones (Rousseeuw & van Zomeren, 1990, JASA 85, 633-651).

    Parameters
    ----------
    table : DataFrame
        By row: class, distance, cutoff, flagged; the farthest of the flagged rows bear their labels, where
        these do not cover one another.
    classical : (n,) float
    """
    codes = style.label_codes(table["class"], classes)
    robust = table["distance"].to_numpy(dtype=np.float64)
    cutoff = float(table["cutoff"].iloc[0])
    axes, is_new = style.new_axes(ax)
    draw_points(axes, classical, robust, codes, list(classes), signs)
    edge: dict[str, Any] = {"color": style.faint(0.35), "linewidth": 1.0, "linestyle": "--", "zorder": 1}
    axes.axhline(cutoff, **edge)
    axes.axvline(cutoff, **edge)
    ends = np.array([0.0, np.nanmax(classical) * 1.05])
    axes.plot(ends, ends, color=style.faint(0.6), linewidth=0.8, zorder=1)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    flagged = np.flatnonzero(table["flagged"].to_numpy())
    farthest = flagged[np.argsort(-robust[flagged], kind="stable")]
    names = {i: shorten(clean(str(table.index[i])), 16) for i in farthest.tolist()}
    room = np.array([LABEL_SIZE[0] * (1 + max(map(len, names.values()), default=0)), LABEL_SIZE[1]])
    points = axes.transData.transform(np.column_stack([classical, robust])) * 72 / axes.figure.dpi
    for i in style.with_room(points, list(names), room)[:MOST_LABELS]:
        xy = (classical[i], robust[i])
        axes.annotate(names[i], xy, xytext=(4, 3), textcoords="offset points", fontsize=8)
    axes.set_xlabel("Distance by means and covariances of moments")
    axes.set_ylabel("Robust distance")
    axes.set_title("Distances to the own class; dashed: the cutoff")
    return style.add_legend(axes, is_new) if len(classes) <= style.MOST_IN_LEGEND else axes


def common_header(
    results: LDAResults | QDAResults, fit: Fit[Any], *, by_class: bool
) -> tuple[list[Any], list[Any]]:
    """The lines of a header that are those of linear and quadratic fits: left ones, right ones."""
    scatter, moments = fit.numbers.scatter, fit.numbers.moments
    covariances = fit.numbers.covariances if by_class else (fit.numbers.covariance,)
    words = scatter.described(by_class=by_class, mle=fit.numbers.method == "mle")
    left = [
        *headers.row_items(fit),
        ("Covariance", words, words),
        headers.criterion_item(results, "llf", scatter.likelihood_title),
    ]
    for label, value, text in scatter.items(moments, covariances):
        if isinstance(value, tuple):
            value = dict(zip(fit.classes, value, strict=True)) if by_class else value[0]
        left.append((label, value, text))
    right = [
        *headers.size_items(fit),
        headers.prior_item(fit),
        headers.criterion_item(results, "aic", "AIC"),
        headers.criterion_item(results, "bic", "BIC"),
    ]
    errors = [("apparent", "Error, apparent"), ("loo", headers.LEFT_OUT)]
    # Leaving out each row by a search, or a fit, is not for a summary.
    for method, label in errors[: 1 if scatter.refits_left_out else 2]:
        right.append(headers.error_item(results, fit, method, label))
    return left, right


def covariance_note(fit: Fit[Any]) -> str:
    """What the header says below its lines of the covariance."""
    note: str = fit.numbers.scatter.note(lambda text: shorten(clean(text), 90))
    return note


def shrinkage_path_section(results: LDAResults | QDAResults, fit: Fit[Any]) -> Section:
    """Errors of the shrinkages that leave-one-out chose among."""
    table = results.path.set_index("shrinkage").rename_axis(index=None)
    table.index = [f"{value:g}" for value in table.index]
    note = (
        "Missing where a covariance is singular without some row, or distances exceed double precision."
        if table["error"].isna().any()
        else ""
    )
    formats: dict[Any, Any] = {"error": "share", "se": "share"}
    title = "Leave-one-out error by shrinkage"
    return Section(title, table, formats, headings=INTERVAL, note=note, source="fit.path")


def logdets_section(results: QDAResults | RDAResults, fit: Fit[Any]) -> Section:
    """Prior, rows and log-determinant by class."""
    table = pd.DataFrame({"prior": results.prior, "rows": results.counts, "logdet": results.logdet})
    formats: dict[Any, Any] = {"prior": "share", "rows": "count", "logdet": "general"}
    scatter = getattr(fit.numbers, "scatter", None)
    for shrinkage in () if scatter is None else scatter.shrinkages:
        table["shrinkage"], formats["shrinkage"] = shrinkage.values, "general"
    return Section(
        "Classes, with the log-determinants of their covariances", table, formats, source="fit.logdet"
    )


def means_section(results: LDAResults | QDAResults | RDAResults, fit: Fit[Any]) -> Section:
    """Class means."""
    title = getattr(getattr(fit.numbers, "scatter", None), "means_title", "Means")
    return headers.instead_of(fit, title, "fit.means") or Section(
        title,
        results.means.rename_axis(index=None),
        column_errors=headers.mean_errors(fit),
        source="fit.means",
    )


brief_by_class: Sections = {"classes": logdets_section, "means": means_section}
"""The short form of what has a covariance for each class: classes and means."""


def covariance_section(
    fit: Fit[Any], held: Covariance, title: str, source: str, note: str = "", name: str = ""
) -> Section:
    """A covariance, as a triangle.

    Where its numbers are so unlike that they would stand in powers of ten, standard deviations and
    correlations are shown in its place, as the table "correlations" and the name.
    """
    scale, terms = fit.numbers.moments.scale, fit.terms
    note = f"{note} {beyond_doubles([held], scale, terms)}".strip()
    table = covariance_frame(held, scale, terms)
    section = Section(title, table, shared=True, triangle=True, note=note, source=source)
    sd = held.sd / scale
    plain = table.size and all(
        "e" not in text for column in table_texts(table.T.to_numpy().tolist()) for text in column
    )
    if plain or not (np.isfinite(sd) & (sd > 0)).all():
        return section
    matrix = held.matrix() / held.sd / held.sd[:, None]
    np.fill_diagonal(matrix, 1.0)
    spread = "sd" if "sd" not in terms else "standard deviation"
    correlations = pd.DataFrame(np.column_stack([sd, matrix]), index=terms, columns=[spread, *terms])
    formats: dict[Any, Any] = dict.fromkeys(terms, "share") | {spread: "general"}
    words = f"Standard deviations and correlations: {title[0].lower()}{title[1:]}"
    note = f"{note} The covariance: {source}.".strip()
    errors = np.full(correlations.shape, np.inf)
    shown = Section(words, correlations, formats, triangle=True, errors=errors, note=note, source=source)
    return replace(section, shown=(f"correlations {name}".strip(), shown))


def variances_section(fit: Fit[Any], held: Covariance, title: str, source: str, note: str = "") -> Section:
    """The diagonal of a covariance."""
    scale, terms = fit.numbers.moments.scale, fit.terms
    note = f"{note} {beyond_doubles([held], scale, terms)}".strip()
    with np.errstate(over="ignore", under="ignore"):
        table = pd.DataFrame([(held.sd / scale) ** 2], index=["variance"], columns=terms)
    return Section(title, table, note=note, source=source)


def thin_variances_section(fit: Fit[Any], held: Covariance, where: str, source: str) -> Section:
    """The diagonal of a covariance that is never formed whole unless it is asked for."""
    p = len(fit.terms)
    note = f"The whole {fit.numbers.scatter.word} covariance, {p} x {p}: {source}."
    return variances_section(fit, held, f"Variances {where}", source, note)


def with_equal_covariances(parts: Sections, fit: Fit[Any]) -> Parts:
    """The sections, with one on equal covariances where these can be tested."""
    whole = Parts(parts)
    if fit.numbers.has_distances and fit.has_rows:
        whole["equal_covariances"] = equal_covariances_section
        whole.shared.append(({"header", "equal_covariances"}, _read_rows_once))
    return whole


def _read_rows_once(_: Any, fit: Fit[Any]) -> None:
    """Errors for the header, and tests of covariances, from one reading of the rows; the fit keeps them."""
    if "apparent" not in fit.cache and not takes_long(fit):
        judged = RowsJudged(fit)
        equal_covariance_tests(fit, judged.watch)
        judged.keep()


def equal_covariances_section(results: LDAResults | QDAResults, fit: Fit[Any]) -> Section:
    """Raw likelihood ratio and Box's M of the rows of the fit, from one pass by class."""
    title = "Was one covariance enough? (LDA against QDA)"
    empty = pd.DataFrame(columns=["statistic", "df", "p"])
    found = equal_covariance_tests(fit)
    if isinstance(found, str):
        return Section(title, empty, "text", note=f"Not tested. {found}")
    ratio, box = found
    tests = pd.concat([ratio.table, box.table.drop(index="Box's M")])
    table = pd.DataFrame(
        {
            "statistic": tests["statistic"],
            "df": [f"{d:.6g}" for d in tests["df"]],
            "df2": ["" if np.isnan(d) else f"{d:.0f}" for d in tests["df2"]],
            "p": tests["p"],
        }
    )
    formats: dict[Any, Any] = {"statistic": "z", "df": "text", "df2": "text", "p": "tail"}
    return Section(title, table, formats, note=_verdict(fit, ratio, box), source="fit.box_m(), lr_test()")


def _verdict(fit: Fit[Any], ratio: TestResult, box: TestResult) -> str:
    rejected = [test.pvalue < 0.05 for test in (ratio, box)]
    if all(rejected):
        see = "qda() and covariance_models()" if fit.refits.spread == "pooled" else "covariance_models()"
        return f"One covariance is rejected at 5 %: see {see}."
    if not any(rejected):
        return "One covariance is not rejected at 5 %."
    return "The two tests disagree at 5 %; the likelihood ratio rejects too often in small samples."
