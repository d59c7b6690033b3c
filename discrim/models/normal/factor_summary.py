"""What a summary says of covariances of a few large variances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.core.covariance.factor import common_axes
from discrim.models.normal.factor_results import found_label
from discrim.report.tables import Section

if TYPE_CHECKING:
    from discrim.models.normal.qda import QDAResults

__all__ = ["factor_items", "factors_section"]


def factor_items(fit: QDAResults) -> list[tuple[str, Any, str]]:
    """Lines of a header: the form, and the dimensions."""
    held = fit._fit.numbers.factors
    if held is None:
        return []
    low, high = int(held.dimensions.min()), int(held.dimensions.max())
    text = f"{low}" if low == high else f"{low} to {high}"
    return [
        ("Form", held.form, held.form),
        (f"Dimensions, {found_label(held)}", fit.dimensions.to_dict(), text),
    ]


def factors_section(fit: QDAResults) -> Section:
    """Dimensions, variances of signal and noise, and the share that the signal explains, by class."""
    held = fit._fit.numbers.factors
    table = fit.factors.rename_axis(index=None)
    table = table.rename(columns={"largest": "signal, largest", "smallest": "signal, smallest"})
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general")
    formats |= {"dimensions": "count", "explained": "share"}
    note = "One covariance for all classes." if held is not None and common_axes(held.form) else ""
    return Section(
        "Variances on the axes of the signal, and of the noise beyond them", table, formats, note=note,
        source="fit.factors",
    )  # fmt: skip
