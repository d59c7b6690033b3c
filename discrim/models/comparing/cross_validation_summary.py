"""The sections of the summary of a cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.frame.categories import shown
from discrim.report.tables import INTERVAL, Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.comparing.cross_validation_results import CrossValidation
    from discrim.models.comparing.permuted import Permutations

__all__ = ["summary"]


def summary(found: CrossValidation) -> Summary:
    """Header, measures, errors by class, confusion, errors by fold."""
    title = f"Cross-validation: {found._fit.title.lower()}"
    test = {} if found.permutations is None else {"permutations": _permutations(found.permutations)}
    return Summary(
        title,
        {
            "header": _header(found),
            "measures": _measures(found),
            **test,
            "classes": _classes(found),
            "confusion": _confusion(found),
            "folds": _folds(found),
        },
    )


def _header(found: CrossValidation) -> Pairs:
    fit, judged = found._fit, found._rows()
    total = float(judged.weights.sum())
    folds, repeats = len(found._fold_labels), len(found._dealt)
    prior = {"held": "class proportions, held", "refitted": "class proportions, refitted", "": "none"}.get(
        found.prior, "given, held"
    )
    rows = "Sum of weights" if found._weighted else "Rows judged"
    items: list[tuple[str, Any, str]] = [
        (rows, total, f"{total:.6g}"),
        ("Rows dropped, missing", fit.dropped, str(fit.dropped)),
        ("Rows without a label", found.unlabelled, str(found.unlabelled)),
        ("Prior", prior, prior),
        ("Folds", folds, str(folds)),
        ("Repeats", repeats, str(repeats)),
        ("Seed", found.seed, "none, folds given" if found.seed is None else str(found.seed)),
    ]
    if judged.clusters is not None:
        groups = len(set(judged.clusters.tolist()))
        items.insert(6, ("Groups, each in one fold", groups, str(groups)))
    return Pairs(
        fit.formula, items, " ".join(note for note in (_choice_note(found), uneven_note(found)) if note)
    )


def uneven_note(found: CrossValidation) -> str:
    """What is said of folds that are uneven by class while the prior of all rows is held."""
    place = found._uneven() if found.prior == "held" else None
    if place is None:
        return ""
    (repeat, fold), code = place
    share, prior = (
        float(found.class_shares().loc[(repeat, fold)].iloc[code]),
        float(found._fit.prior[code]),
    )
    where = f"fold {shown(fold)}" + (f" of repeat {repeat}" if len(found._dealt) > 1 else "")
    return (
        f"The folds are uneven by class: of the rows outside {where}, {share:.3g} are of class "
        f"{shown(found._fit.classes[code])}, and of all rows {prior:.3g}. The prior that is held is "
        "that of all rows, and knows of those left out: refit_prior=True estimates it without each fold."
    )


def _choice_note(found: CrossValidation) -> str:
    chosen, refits = found._fit.chosen, found._fit.refits
    if refits.called is not None and not chosen:
        return "The function is called with the rows outside each fold, and its fit judges those of the fold."
    if not chosen:
        return ""
    if found.nested:
        return f"The choice of {chosen} is made anew in each fold."
    return f"The choice of {chosen} is held, and the same rows made it: the figures look too good."


def _measures(found: CrossValidation) -> Section:
    table = found.table()
    rows = "groups" if found._clusters is not None else "rows"
    return Section(
        "Losses of rows under rules that did not see them",
        table.rename_axis(None),
        dict.fromkeys(table.columns, "share"),
        headings=INTERVAL | {"se_folds": "of folds", "se_corrected": "corrected"},
        note=(
            f"Standard error and interval are of the {rows}, for the rules as they are. The standard "
            "error of folds is too small, because folds share training rows; the corrected one has "
            "1/J + n2/n1 in place of 1/J (Nadeau & Bengio, 2003). No estimate of it is unbiased."
        ),
        source=".table()",
    )


def _permutations(test: Permutations) -> Section:
    formats: dict[Any, Any] = dict.fromkeys(test.table.columns, "share")
    formats |= {"p": "tail", "least_p": "tail", "permutations": "count"}
    return Section(
        "Is the hit rate more than chance?",
        test.table,
        formats,
        headings={"by_chance": "by chance", "quantile_95": "95 % of chance", "least_p": "least p"},
        note=" ".join(test.notes()),
        source=".permutations.table",
    )


def _classes(found: CrossValidation) -> Section:
    table = found.by_class
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"rows": "count", "wrong": "count"}
    return Section("Errors by class", table, formats, headings=INTERVAL, source=".by_class")


def _confusion(found: CrossValidation) -> Section:
    mean = ", mean over repeats" if len(found._dealt) > 1 else ""
    table = found.confusion.rename_axis(index=None, columns=None)
    return Section(f"Actual classes (rows) by predicted classes{mean}", table, "count", source=".confusion")


def _folds(found: CrossValidation) -> Section:
    table = found.by_fold
    if len(found._dealt) == 1:
        table = table.droplevel("repeat")
    else:
        table = table.rename(index=lambda repeat: f"repeat {repeat}", level="repeat")
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"rows": "count", "wrong": "count"}
    return Section(
        "Errors by fold",
        table.rename_axis(None) if table.index.nlevels == 1 else table,
        formats,
        source=".by_fold",
    )
