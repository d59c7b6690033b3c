"""What is shown of a probabilistic linear discriminant analysis: its summary, and its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.inference.verification import Costs
from discrim.models.results import headers
from discrim.report.grid import Pairs, Section
from discrim.report.plots.style import SIGNS, add_legend, new_axes, set_title
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.discriminant.plda import PLDAFit
    from discrim.models.base.fit import Fit
    from discrim.models.discriminant.plda import PLDAResults
    from discrim.models.plots.pictured import PictureOptions
    from discrim.report.plots.style import Axes

MOST_AXES = 12
"""Axes that the summary shows."""

BINS = 60
FARTHEST = 0.01
"""Bins of the histogram of trials, and the share of them that may lie farther left than it reaches."""


MOST_ROWS = 1000
"""Rows whose pairs are drawn; of more rows, those of some of the classes."""


def plda_sections(results: PLDAResults, fit: Fit[PLDAFit]) -> Sections:
    """Sections of a probabilistic linear discriminant analysis, in their order."""
    return {"header": _header, "classes": headers.classes_section, "columns": _columns, "axes": _axes}


def _header(results: PLDAResults, fit: Fit[PLDAFit]) -> Pairs:
    numbers = fit.numbers
    between, within = (float(np.trace(each)) for each in numbers.covariances())
    steps = "none: classes of one size" if not numbers.steps else f"{numbers.steps}"
    steps += "" if numbers.converged else ", not converged"
    items: list[headers.Item] = [
        *headers.row_items(fit),
        *headers.size_items(fit),
        headers.prior_item(fit),
        ("Rank of B", results.rank, str(results.rank)),
        ("Trace of B", between, f"{between:.5g}"),
        ("Trace of W", within, f"{within:.5g}"),
        ("Steps of EM", numbers.steps, steps),
        ("Log-lik. given the classes", results.llf_given, f"{results.llf_given:.2f}"),
        headers.criterion_item(results, "llf", "Log-likelihood"),
        headers.criterion_item(results, "aic", "AIC"),
        headers.criterion_item(results, "bic", "BIC"),
        headers.error_item(fit, "apparent"),
    ]
    note = f"B is estimated from {len(fit.classes):,} classes, however many rows there are."
    if numbers.normalize:
        note += " Rows are centred, whitened and scaled to one length; B, W and likelihoods are of these."
    return headers.header(fit, items, note)


def _columns(results: PLDAResults, fit: Fit[PLDAFit]) -> Section:
    table = results.tidy().set_index("term").rename_axis(index=None)
    formats: dict[Any, Any] = {"between": "general", "within": "general", "share": "share"}
    return Section(
        "Mean, and variances between and within classes",
        table,
        formats,
        note="share is the variance between classes, divided by the sum of both variances.",
        source="fit.mean, fit.between, fit.within",
        worth=headers.worth(fit.numbers.moments) if headers.are_many(fit.terms) else None,
    )


def _axes(results: PLDAResults, fit: Fit[PLDAFit]) -> Section:
    ratios = results.ratios
    table = pd.DataFrame({"ratio": ratios, "reliability": ratios / (1 + ratios)}).head(MOST_AXES)
    more = f" And {len(ratios) - MOST_AXES} more: fit.ratios." if len(ratios) > MOST_AXES else ""
    return Section(
        "Axes: variance between classes over that within",
        table,
        {"ratio": "general", "reliability": "share"},
        note=f"reliability is the correlation of two observations of one class on the axis.{more}",
        source="fit.ratios, fit.axes",
    )


plda_brief: Sections = {"axes": _axes}
"""The short form: the axes."""


def trials(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Histograms of the log likelihood ratios of pairs of one class and of two."""
    pairs = results._pairs(options.data, MOST_ROWS)
    whole = results._fit.new_rows(options.data).table.nrows <= MOST_ROWS
    axes, is_new = new_axes(options.ax)
    lowest = min(float(np.quantile(pairs.other, FARTHEST)), float(np.quantile(pairs.same, FARTHEST)))
    highest = float(max(pairs.same[-1], pairs.other[-1]))
    left = 0
    for place, (name, values) in enumerate({"two classes": pairs.other, "one class": pairs.same}.items()):
        left += int((values < lowest).sum())
        axes.hist(
            values, BINS, range=(lowest, highest), density=True, alpha=0.5, color=SIGNS.colour(place),
            label=f"{len(values):,} of {name}",
        )  # fmt: skip
    axes.axvline(0.0, color="0.35", linewidth=0.8)
    beyond = f"; {left:,} pairs lie farther left" if left else ""
    axes.set_xlabel(f"Log likelihood ratio of one class against two{beyond}")
    axes.set_ylabel("Density")
    eer = pairs.errors(Costs()).eer
    which = "rows of the fit" if options.data is None else "new rows"
    which += "" if whole else f" of {pairs.n_classes:,} classes, drawn by chance"
    set_title(axes, f"Pairs of rows, {which}: equal error rate {100 * eer:.1f} %")
    return add_legend(axes, is_new)
