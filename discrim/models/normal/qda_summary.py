"""The summary of a quadratic discriminant analysis: which tables, under which words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from discrim.core.covariance.factor import common_axes
from discrim.models.normal.factor_summary import factor_items, factors_section
from discrim.models.normal.gaussian_summary import (
    brief_by_class,
    common_header,
    covariance_note,
    covariance_section,
    logdets_section,
    means_section,
    shrinkage_path_section,
    sphere_items,
    thin_variances_section,
    variances_section,
    with_equal_covariances,
)
from discrim.models.normal.normal_fits import shrinkage_label
from discrim.models.normal.robust_summary import estimate_text, flagged_section
from discrim.models.results.headers import header
from discrim.report.tables import Pairs, Parts, Section

if TYPE_CHECKING:
    from discrim.models.normal.qda import QDAResults

__all__ = ["qda_brief", "qda_sections"]

MOST_COVARIANCES = 6
"""Classes whose covariances a summary prints."""

qda_brief = brief_by_class


def qda_sections(fit: QDAResults) -> Parts:
    """Sections of a quadratic discriminant analysis, in their order."""
    parts: dict[str, Callable[[], Section | Pairs]] = {
        "header": partial(_quadratic_header, fit),
        "classes": partial(logdets_section, fit),
        **({} if fit._fit.numbers.factors is None else {"factors": partial(factors_section, fit)}),
        "means": partial(means_section, fit),
    }
    most = 1 if _is_common(fit) else MOST_COVARIANCES
    for label in fit.classes[:most]:
        parts["covariance" if most == 1 else f"covariance {label}"] = partial(_class_covariance, fit, label)
    if fit._fit.numbers.robust is not None and fit._fit.has_rows:
        parts["flagged"] = partial(flagged_section, fit)
    if "path" in fit._fit.cache:
        parts["path"] = partial(shrinkage_path_section, fit)
    return with_equal_covariances(parts, fit)


def _quadratic_header(fit: QDAResults) -> Pairs:
    mle = fit._fit.numbers.method == "mle"
    kind = "by class" if fit._fit.numbers.structure == "full" else f"{fit._fit.numbers.structure} by class"
    divisor = f"{kind}, {estimate_text(fit) or ('1/n' if mle else '1/(n-1)')}"
    if _is_common(fit):
        divisor = f"factor, common, {'1/N' if mle else '1/(N-K)'}"
    left, right = common_header(
        fit, divisor if fit._fit.numbers.estimator is None else "by class, an estimator's"
    )
    if fit._fit.numbers.shrinkage is not None:
        low, high = fit.shrinkage.min(), fit.shrinkage.max()
        text = f"{low:.4g}" if low == high else f"{low:.3g} to {high:.3g}"
        left.append((shrinkage_label(fit._fit.numbers.chosen), fit.shrinkage.to_dict(), text))
    left += factor_items(fit)
    left += sphere_items(fit)
    return header(fit, [*left, *right], covariance_note(fit))


def _is_common(fit: QDAResults) -> bool:
    """Whether the form of the covariances is one for all classes."""
    form = fit._fit.numbers.form
    return form is not None and common_axes(form)


def _class_covariance(fit: QDAResults, label: Any) -> Section:
    divisor = "n" if fit._fit.numbers.method == "mle" else "n-1"
    common = _is_common(fit)
    if common:
        divisor = "N" if divisor == "n" else "N-K"
    where = "within classes" if common else f"in {label}"
    left_out = len(fit.classes) - MOST_COVARIANCES
    note = (
        f"{left_out} more {'class' if left_out == 1 else 'classes'}: fit.covs."
        if left_out > 0 and not common and label == fit.classes[MOST_COVARIANCES - 1]
        else ""
    )
    source = f"fit.covs[{label!r}]"
    held = fit._fit.numbers.covariances[list(fit.classes).index(label)]
    if fit._fit.numbers.is_diagonal:
        return variances_section(fit, held, f"Variances {where}, divisor {divisor}", source, note)
    if fit._fit.numbers.moments.spread == "thin class":
        return thin_variances_section(fit, held, f"{where}, divisor {divisor}", source)
    title = f"Covariance {where}, {_divisor_words(fit, divisor)}"
    if fit._fit.numbers.robust is not None:
        title = f"Robust covariance in {label} ({estimate_text(fit)})"
    return covariance_section(fit, held, title, source, note, str(label))


def _divisor_words(fit: QDAResults, divisor: str) -> str:
    return f"divisor {divisor}" if fit._fit.numbers.estimator is None else "as the estimator has it"
