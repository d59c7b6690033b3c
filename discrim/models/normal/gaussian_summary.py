"""The sections of the summaries: which tables, under which words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.shrinkage.shrinkage import is_regular
from discrim.errors import CollinearError, NotSupportedError
from discrim.inference.result import TestResult
from discrim.models.fits.arguments import listed
from discrim.models.fits.labels import beyond_doubles, covariance_frame, missing_if_refused
from discrim.models.normal.equal_covariances import equal_covariance_tests
from discrim.models.normal.normal_fits import shrinkage_label
from discrim.models.normal.rda_choice import chosen_by
from discrim.models.normal.robust_summary import estimate_text, flagged_section, robust_pairs
from discrim.models.results.headers import (
    dropped_note,
    error_item,
    header,
    prior_item,
    row_items,
    size_items,
    title,
)
from discrim.report.numbers import p_text
from discrim.report.tables import INTERVAL, Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.core.covariance.covariance import Covariance
    from discrim.models.normal.lda_results import LDAResults
    from discrim.models.normal.qda import QDAResults
    from discrim.models.normal.rda import RDAResults

__all__ = [
    "lda_brief",
    "lda_sections",
    "qda_brief",
    "qda_sections",
    "rda_brief",
    "rda_sections",
]

MOST_COVARIANCES = 6
"""Classes whose covariances a summary of QDA prints."""

Parts = dict[str, Callable[[], Section | Pairs]]


def lda_sections(fit: LDAResults) -> Parts:
    """Sections of a linear discriminant analysis, in their order."""
    parts: Parts = {
        "header": partial(_linear_header, fit),
        "classes": partial(_classes, fit),
        "means": partial(_means, fit),
        "covariance": partial(_covariance, fit),
        "discriminants": partial(_discriminants, fit),
        "functions": partial(_functions, fit),
    }
    if fit._fit.numbers.robust is not None and fit._fit.has_rows:
        parts["flagged"] = partial(flagged_section, fit)
    plain = fit._fit.numbers.robust is None and fit._fit.numbers.shrinkage is None
    if plain and fit._fit.numbers.reduced() is None and not is_regular(fit._fit.numbers.structure):
        parts["log_odds"] = partial(_log_odds, fit)
    if "path" in fit._fit.cache:
        parts["path"] = partial(_shrinkage_path, fit)
    if fit._fit.numbers.has_distances and fit._fit.has_rows:
        parts["equal_covariances"] = partial(_equal_covariances, fit)
    return parts


def qda_sections(fit: QDAResults) -> Parts:
    """Sections of a quadratic discriminant analysis, in their order."""
    parts: Parts = {
        "header": partial(_quadratic_header, fit),
        "classes": partial(_quadratic_classes, fit),
        "means": partial(_means, fit),
    }
    for label in fit.classes[:MOST_COVARIANCES]:
        parts[f"covariance {label}"] = partial(_class_covariance, fit, label)
    if fit._fit.numbers.robust is not None and fit._fit.has_rows:
        parts["flagged"] = partial(flagged_section, fit)
    if "path" in fit._fit.cache:
        parts["path"] = partial(_shrinkage_path, fit)
    if fit._fit.numbers.has_distances and fit._fit.has_rows:
        parts["equal_covariances"] = partial(_equal_covariances, fit)
    return parts


def rda_sections(fit: RDAResults) -> Parts:
    """Sections of a regularized discriminant analysis, in their order."""
    parts: Parts = {
        "header": partial(_regularized_header, fit),
        "classes": partial(_quadratic_classes, fit),
        "means": partial(_means, fit),
    }
    if "path" in fit._fit.cache:
        parts["path"] = partial(_path, fit)
    return parts


def lda_brief(fit: LDAResults) -> Summary:
    """The short form: classes, means, discriminants."""
    parts = {"classes": _classes(fit), "means": _means(fit), "discriminants": _discriminants(fit)}
    return Summary(title(fit), parts)


def qda_brief(fit: QDAResults | RDAResults) -> Summary:
    """The short form: classes and means."""
    return Summary(title(fit), {"classes": _quadratic_classes(fit), "means": _means(fit)})


rda_brief = qda_brief


def _common_header(fit: LDAResults | QDAResults, divisor: str) -> tuple[list[Any], list[Any]]:
    left = [
        *row_items(fit),
        ("Covariance", divisor, divisor),
        _criterion(fit, "llf", "Log-likelihood"),
    ]
    right = [
        *size_items(fit),
        prior_item(fit),
        _criterion(fit, "aic", "AIC"),
        _criterion(fit, "bic", "BIC"),
    ]
    left += robust_pairs(fit)
    errors = [("apparent", "Error, apparent"), ("loo", "Error, leave-one-out")]
    # Leaving out each row takes a search a row: not for a summary.
    for method, label in errors[: 1 if fit._fit.numbers.robust is not None else 2]:
        right.append(error_item(fit, method, label))
    return left, right


def _criterion(fit: LDAResults | QDAResults, name: str, label: str) -> tuple[str, float, str]:
    value = missing_if_refused(fit, name)
    return label, value, "not available" if np.isnan(value) else f"{value:.2f}"


def _linear_header(fit: LDAResults) -> Pairs:
    mle = fit._fit.numbers.method == "mle"
    kind = "pooled" if fit._fit.numbers.structure == "full" else fit._fit.numbers.structure
    divisor = f"{kind}, {estimate_text(fit) or ('1/N' if mle else '1/(N-K)')}"
    left, right = _common_header(
        fit, divisor if fit._fit.numbers.estimator is None else "pooled, an estimator's"
    )
    if fit._fit.numbers.shrinkage is not None:
        left.append((shrinkage_label(fit._fit.numbers.chosen), fit.shrinkage, f"{fit.shrinkage:.4g}"))
    left += _sphere(fit)
    if fit._fit.numbers.structure == "pinv":
        rank, p = fit._fit.numbers.ignored()[0], len(fit.terms)
        left.append(("Rank of the covariance", rank, f"{rank} of {p}"))
    if fit._fit.numbers.has_distances:
        test = fit.wilks
        f = float(test.table["statistic"].iloc[0])
        df1, df2 = (f"{d:.6g}" for d in test.df)
        left.append(("Wilks' lambda", test.statistic, f"{test.statistic:.4g}"))
        if np.isnan(f):
            left.append(("Rao's F", f, "not available"))
        else:
            shown = f"{f:.2f}" if f < 1e6 else f"{f:.4e}"
            left += [(f"F({df1}, {df2})", f, shown), ("P > F", test.pvalue, p_text(test.pvalue))]
    note = ""
    if fit._fit.numbers.reduced() is not None:
        m = fit._fit.numbers.ncomp
        first = "first canonical axis" if m == 1 else f"first {m} canonical axes"
        note = f"The rule uses the {first} only (ncomp={m})."
    note = f"{note} {dropped_note(fit, 'within classes')} {_covariance_note(fit)}"
    return header(fit, [*left, *right], note.strip())


def _quadratic_header(fit: QDAResults) -> Pairs:
    mle = fit._fit.numbers.method == "mle"
    kind = "by class" if fit._fit.numbers.structure == "full" else f"{fit._fit.numbers.structure} by class"
    divisor = f"{kind}, {estimate_text(fit) or ('1/n' if mle else '1/(n-1)')}"
    left, right = _common_header(
        fit, divisor if fit._fit.numbers.estimator is None else "by class, an estimator's"
    )
    if fit._fit.numbers.shrinkage is not None:
        low, high = fit.shrinkage.min(), fit.shrinkage.max()
        text = f"{low:.4g}" if low == high else f"{low:.3g} to {high:.3g}"
        left.append((shrinkage_label(fit._fit.numbers.chosen), fit.shrinkage.to_dict(), text))
    left += _sphere(fit)
    return header(fit, [*left, *right], _covariance_note(fit))


def units_text(standardize: bool) -> str:
    """In which units a sphere is one."""
    return "of standardized columns" if standardize else "in columns' units"


def _sphere(fit: LDAResults | QDAResults) -> list[tuple[str, Any, str]]:
    if fit._fit.numbers.structure not in ("shrunk", "spherical"):
        return []
    text = units_text(fit._fit.numbers.standardize)
    return [("Sphere", text, text)]


def _covariance_note(fit: LDAResults | QDAResults) -> str:
    """What the header says of an estimator, and of a shrinkage that leave-one-out chose."""
    if fit._fit.numbers.estimator is not None:
        from discrim.report.numbers import clean, shorten

        return f"Covariance by {shorten(clean(fit._fit.numbers.estimator), 90)}, with its own divisor."
    if fit._fit.numbers.chosen == "loo":
        return (
            "The leave-one-out error is the least one, that chose the shrinkage; error_rates(['cv']) chooses "
            "anew in each fold."
        )
    return ""


def _regularized_header(fit: RDAResults) -> Pairs:
    numbers, chosen = fit._fit.numbers, chosen_by(fit._fit)
    divisors = "n, N" if numbers.method == "mle" else "n-1, N-K"
    chosen += ", 1 SE rule" if numbers.cv is not None and numbers.select == "1se" else ""
    note = (
        "The errors hold alpha and gamma, which the same rows have chosen: error_rates(['cv']) chooses anew."
        if numbers.cv is not None
        else ""
    )
    items = [
        *row_items(fit),
        *size_items(fit),
        ("Alpha", fit.alpha, f"{fit.alpha:g}"),
        ("Gamma", fit.gamma, f"{fit.gamma:g}"),
        ("Parametrization", numbers.parametrization, numbers.parametrization),
        ("Ridge", units_text(numbers.standardize), units_text(numbers.standardize)),
        ("Divisors, by class and pooled", divisors, divisors),
        ("Chosen by", chosen, chosen),
        prior_item(fit),
        ("Log-likelihood", fit.llf, f"{fit.llf:.2f}"),
        error_item(fit, "apparent", "Error, apparent"),
        error_item(fit, "loo", "Error, leave-one-out"),
    ]
    return header(fit, items, note)


def _path(fit: RDAResults) -> Section:
    table = fit.path.pivot(index="alpha", columns="gamma", values="error")
    table.index = [f"{value:g}" for value in table.index]
    table.columns = [f"{value:g}" for value in table.columns]
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share")
    title = f"Error by {chosen_by(fit._fit)}, alpha (rows) by gamma"
    without = "row" if fit._fit.numbers.cv == "loo" else "fold"
    note = (
        f"Missing where a covariance is singular without some {without}."
        if table.isna().any(axis=None)
        else ""
    )
    return Section(title, table, formats, note=note, source="fit.path")


def _shrinkage_path(fit: LDAResults | QDAResults) -> Section:
    table = fit.path.set_index("shrinkage").rename_axis(index=None)
    table.index = [f"{value:g}" for value in table.index]
    note = (
        "Missing where a covariance is singular without some row, or distances are no doubles."
        if table["error"].isna().any()
        else ""
    )
    formats: dict[Any, Any] = {"error": "share", "se": "share"}
    title = "Leave-one-out error by shrinkage"
    return Section(title, table, formats, headings=INTERVAL, note=note, source="fit.path")


def _classes(fit: LDAResults | QDAResults) -> Section:
    table = pd.DataFrame({"prior": fit.prior, "rows": fit.counts})
    return Section("Classes", table, {"prior": "share", "rows": "count"}, source="fit.prior, fit.counts")


def _quadratic_classes(fit: QDAResults | RDAResults) -> Section:
    from discrim.models.normal.qda import QDAResults

    table = pd.DataFrame({"prior": fit.prior, "rows": fit.counts, "logdet": fit.logdet})
    formats: dict[Any, Any] = {"prior": "share", "rows": "count", "logdet": "general"}
    if isinstance(fit, QDAResults) and fit._fit.numbers.shrinkage is not None:
        table["shrinkage"], formats["shrinkage"] = fit.shrinkage, "general"
    return Section(
        "Classes, with the log-determinants of their covariances", table, formats, source="fit.logdet"
    )


def _means(fit: LDAResults | QDAResults | RDAResults) -> Section:
    title = "Robust means" if getattr(fit._fit.numbers, "robust", None) is not None else "Means"
    return Section(title, fit.means.rename_axis(index=None), source="fit.means")


def _covariance(fit: LDAResults) -> Section:
    held, divisor = fit._fit.numbers.covariance, "N" if fit._fit.numbers.method == "mle" else "N-K"
    kind = "Pooled c" if fit._fit.numbers.has_distances else "Pooled and shrunk c"
    title = f"{kind}ovariance within classes, divisor {divisor}"
    if fit._fit.numbers.robust is not None:
        title = f"Robust covariance within classes ({estimate_text(fit)})"
    elif held.is_diagonal:
        title = f"Variances ({fit._fit.numbers.structure} covariance within classes, divisor {divisor})"
        return _variances(fit, held, title, "fit.cov")
    elif fit._fit.numbers.moments.spread == "thin":
        return _thin_variances(fit, held, f"within classes, divisor {divisor}", "fit.cov")
    elif fit._fit.numbers.estimator is not None:
        title = "Covariance within classes, as the estimator has it"
    return _matrix(fit, held, title, "fit.cov")


def _matrix(
    fit: LDAResults | QDAResults, held: Covariance, title: str, source: str, note: str = ""
) -> Section:
    scale, terms = fit._fit.numbers.moments.scale, fit.terms
    note = f"{note} {beyond_doubles([held], scale, terms)}".strip()
    table = covariance_frame(held, scale, terms)
    return Section(title, table, shared=True, triangle=True, note=note, source=source)


def _variances(
    fit: LDAResults | QDAResults, held: Covariance, title: str, source: str, note: str = ""
) -> Section:
    """The diagonal of a covariance."""
    scale, terms = fit._fit.numbers.moments.scale, fit.terms
    note = f"{note} {beyond_doubles([held], scale, terms)}".strip()
    with np.errstate(over="ignore", under="ignore"):
        table = pd.DataFrame([(held.sd / scale) ** 2], index=["variance"], columns=terms)
    return Section(title, table, note=note, source=source)


def _thin_variances(fit: LDAResults | QDAResults, held: Covariance, where: str, source: str) -> Section:
    """The diagonal of a covariance that is never formed whole unless it is asked for."""
    p = len(fit.terms)
    note = f"The whole {fit._fit.numbers.structure} covariance, {p} x {p}: {source}."
    return _variances(fit, held, f"Variances {where}", source, note)


def _class_covariance(fit: QDAResults, label: Any) -> Section:
    divisor = "n" if fit._fit.numbers.method == "mle" else "n-1"
    left_out = len(fit.classes) - MOST_COVARIANCES
    note = (
        f"{left_out} more {'class' if left_out == 1 else 'classes'}: fit.covs."
        if left_out > 0 and label == fit.classes[MOST_COVARIANCES - 1]
        else ""
    )
    source = f"fit.covs[{label!r}]"
    held = fit._fit.numbers.covariances[list(fit.classes).index(label)]
    if fit._fit.numbers.is_diagonal:
        return _variances(fit, held, f"Variances in {label}, divisor {divisor}", source, note)
    if fit._fit.numbers.moments.spread == "thin class":
        return _thin_variances(fit, held, f"in {label}, divisor {divisor}", source)
    title = f"Covariance in {label}, {_divisor_words(fit, divisor)}"
    if fit._fit.numbers.robust is not None:
        title = f"Robust covariance in {label} ({estimate_text(fit)})"
    return _matrix(fit, held, title, source, note)


def _divisor_words(fit: QDAResults, divisor: str) -> str:
    return f"divisor {divisor}" if fit._fit.numbers.estimator is None else "as the estimator has it"


def _discriminants(fit: LDAResults) -> Section:
    table = pd.concat([fit.scaling, fit.explained.to_frame("Share of trace").T])
    note = "In each column the largest coefficient times its standard deviation within classes is positive."
    return Section(
        "Discriminants (unit variance within classes)",
        table,
        row_formats={"Share of trace": "share"},
        shared=True,
        note=note if table.shape[1] else "The class means do not differ: there is no discriminant.",
        source="fit.scaling",
    )


def _functions(fit: LDAResults) -> Section:
    table = pd.concat([fit.intercept.to_frame("constant").T, fit.coef])
    note = "A row belongs to the class whose function is largest; the constants contain ln(prior)."
    return Section("Classification functions", table, note=note, source="fit.coef, fit.intercept")


def _log_odds(fit: LDAResults) -> Section:
    table = fit.log_odds()
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general") | {"z": "z", "p": "p"}
    title = f"Log odds against {fit.classes[0]} (asymptotic standard errors under the model)"
    headings = INTERVAL | {"p": "P>|z|"}
    none = fit.classes[fit.prior.to_numpy() == 0]
    note = f"No finite constant: {listed(none)} with a prior of zero." if len(none) else ""
    return Section(title, table, formats, headings=headings, note=note, source="fit.log_odds()")


def _equal_covariances(fit: LDAResults | QDAResults) -> Section:
    """Raw likelihood ratio and Box's M of the rows of the fit, from one pass by class."""
    title = "Was one covariance enough? (LDA against QDA)"
    empty = pd.DataFrame(columns=["statistic", "df", "p"])
    try:
        ratio, box = equal_covariance_tests(fit._fit)
    except (CollinearError, NotSupportedError) as error:
        return Section(title, empty, "text", note=f"Not tested. {error}")
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


def _verdict(fit: LDAResults | QDAResults, ratio: TestResult, box: TestResult) -> str:
    rejected = [test.pvalue < 0.05 for test in (ratio, box)]
    if all(rejected):
        see = "qda() and covariance_models()" if fit._fit.refits.spread == "pooled" else "covariance_models()"
        return f"One covariance is rejected at 5 %: see {see}."
    if not any(rejected):
        return "One covariance is not rejected at 5 %."
    return "The two tests disagree at 5 %; the likelihood ratio rejects too often in small samples."
