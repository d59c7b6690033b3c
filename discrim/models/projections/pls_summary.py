"""Sections of the summary of partial least squares (`PLSResults.summary`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results import headers
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.projections.pls import PLSFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.projections.pls import PLSResults

MAX_COLUMNS = 20
"""Largest number of columns that the summary shows."""

MAX_COLUMNS_BRIEF = 10
"""Largest number of columns that the short summary shows."""

MAX_LEAVE_ONE_OUT_SIZE = 2**19
"""Rows times components above which the summary omits the leave-one-out error (a fit for each row)."""

MAX_COMPONENTS = 6
"""Largest number of components whose weights are shown next to the importance of the columns."""

RULE_DESCRIPTIONS = {
    "lda": "LDA of the scores",
    "max": "largest fitted indicator",
    "centroid": "nearest centroid of the scores",
}
"""Texts of the rules (`PLSFit.decides`) in the header of the summary."""

ALGORITHM_NAMES = {"nipals": "NIPALS", "simpls": "SIMPLS", "engine": "an engine"}
"""Texts of the algorithms (`PLSFit.algorithm`) in the header of the summary."""


def pls_sections(results: PLSResults, fit: FittedModel[PLSFit]) -> Sections:
    """Return the section functions of the full summary, by name, in their order.

    The names are "header", "classes", "components", "path", "centroids" and "columns"; each function accepts
    `results` and `fit` and returns a section. "path" is left out if the fit does not store the errors of a
    choice.
    """
    section_builders: Sections = {
        "header": _header_section,
        "classes": headers.classes_section,
        "components": _components_section,
    }
    section_builders |= {"path": _path_section, "centroids": _centroids_section, "columns": _columns_section}
    if fit.path is None:
        del section_builders["path"]
    return section_builders


def _header_section(results: PLSResults, fit: FittedModel[PLSFit]) -> Pairs:
    """Return the header of the summary: rows, components, rule, algorithm, scales, prior and errors.

    The prior is left out unless the rule is "lda". The leave-one-out error is left out if the number of rows
    times the number of (predictive) components is above `MAX_LEAVE_ONE_OUT_SIZE`.
    """
    estimates = fit.estimates
    units = "divided by SD, 1/(N-1)" if estimates.scale else "original"
    responses = "divided by SD" if estimates.indicators == "scaled" else "original"
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        HeaderItem(
            "Components",
            results.ncomp,
            _component_counts_text(results),
            brief="components",
            options=("orthogonal",),
        ),
        headers.chosen_item(fit, "cross-validation"),
        HeaderItem("Rule", estimates.decides, RULE_DESCRIPTIONS[estimates.decides]),
        HeaderItem(
            "Algorithm",
            estimates.algorithm,
            "O2PLS" if results.orthogonal else ALGORITHM_NAMES[estimates.algorithm],
        ),
        HeaderItem("Scale of columns", units),
        HeaderItem("Scale of indicators", responses),
        *headers.size_items(fit),
    ]
    if estimates.nonzero:
        counts = ", ".join(map(str, estimates.nonzero))
        items.append(HeaderItem("Columns of components", counts))
    if fit.options["within"] is not None:
        items.append(HeaderItem("Deviations within", fit.options["within"]))
    if estimates.decides == "lda":
        items.append(headers.prior_item(fit))
    items.append(headers.error_item(fit, "apparent"))
    if fit.has_rows and fit.design_rows.table.nrows * results.ncomp > MAX_LEAVE_ONE_OUT_SIZE:
        items.append(headers.skipped_error_item())
    else:
        items.append(headers.error_item(fit, "loo"))
    within = fit.options["within"]
    note = headers.fixed_choice_note(fit)
    if within is not None and fit.has_rows:
        note = f"{note} Each row is left out together with all rows of the same {within}.".lstrip()
    return headers.header(fit, items, note)


def _component_counts_text(results: PLSResults) -> str:
    """Return the number of components as text, such as "2", or "1 predictive, 2 orthogonal"."""
    if not results.orthogonal:
        return str(results.ncomp)
    return f"{results.ncomp} predictive, {results.orthogonal} orthogonal"


def _components_section(results: PLSResults, fit: FittedModel[PLSFit]) -> Section:
    """Return the section of `r2()`: shares of squares of columns and indicators, single and cumulative."""
    table = results.r2()
    headings = {"x": "columns", "y": "indicators", "x_cumulative": "so far", "y_cumulative": "so far "}
    return Section(
        "Shares of the squares of columns and of indicators that components explain",
        table,
        "share",
        headings=headings,
        source="fit.r2()",
    )


def _path_section(results: PLSResults, fit: FittedModel[PLSFit]) -> Section:
    """Return the section of the candidate numbers of components, with error, R2X, R2 and Q2.

    "*" marks the chosen number.
    """
    path = results.path
    table = path.set_index(path.columns[0]).rename_axis(index=None)
    table["chosen"] = np.where(path.iloc[:, 0] == (results.orthogonal or results.ncomp), "*", "")
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"chosen": "text"}
    return Section(
        f"Cross-validated error, R2 and Q2 by number of {component_adjective(results)}components",
        table,
        formats,
        headings=SHARED_HEADINGS,
        note="R2X and R2 use all rows; Q2 is the R2 of the indicators of left-out rows.",
        source="fit.path",
    )


def component_adjective(results: PLSResults) -> str:
    """Return "orthogonal " (with a space) if the fit has orthogonal components, else the empty string."""
    return "orthogonal " if results.orthogonal else ""


def _centroids_section(results: PLSResults, fit: FittedModel[PLSFit]) -> Section:
    """Return the section of the class means of the scores, classes by predictive components."""
    # Class means of orthogonal scores are zero and are omitted.
    table = results.centroids.iloc[:, : results.ncomp].rename_axis(index=None)
    return Section("Means of the scores by class", table, "general", source="fit.centroids")


def _columns_section(
    results: PLSResults, fit: FittedModel[PLSFit], max_columns: int = MAX_COLUMNS
) -> Section:
    """Return the section of the importance and the weights of the columns, the most important first.

    Columns are vip, orthogonal (the importance for orthogonal components, if there are any) and the weights
    of the first `MAX_COMPONENTS` components. In sparse fits rows are left out whose importance is zero.

    Parameters
    ----------
    results : PLSResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    max_columns : int
        Largest number of columns to show; a note contains the number of the others.

    Returns
    -------
    Section
    """
    importance = results.vip()
    orthogonal_columns = [results.vip(part="orthogonal").rename("orthogonal")] if results.orthogonal else []
    weights = results.weights.loc[importance.index].iloc[:, :MAX_COMPONENTS]
    table = pd.concat([importance, *orthogonal_columns, weights], axis=1).head(max_columns)
    if fit.estimates.nonzero:
        importance = importance[importance > 0]
        table = table.loc[importance.index[:max_columns]]
    n_more = len(importance) - max_columns
    more = f" And {n_more} more: fit.vip(), fit.weights." if n_more > 0 else ""
    n_more_components = results.ncomp + results.orthogonal - MAX_COMPONENTS
    others = f" Components after {MAX_COMPONENTS}: fit.weights." if n_more_components > 0 else ""
    note = (
        "A column with a VIP above one contributes more than average. In each component the weight that "
        f"is largest in absolute value is positive.{others}{more}"
    )
    return Section(
        "Importance of the columns (VIP), the largest first, and their weights",
        table.rename_axis(index=None),
        "share",
        headings={"vip": "VIP", "orthogonal": "of O1..."},
        note=note,
        source="fit.vip(), fit.weights",
    )


pls_brief: Sections = {
    "components": _components_section,
    "columns": partial(_columns_section, max_columns=MAX_COLUMNS_BRIEF),
}
"""Sections of the short summary: components, and the first columns."""
