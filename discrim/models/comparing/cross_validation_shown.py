"""What is shown of a cross-validation: its summary, and pictures of errors by fold and of shuffled labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.errors import DataError
from discrim.frame.categories import shown
from discrim.models.comparing.comparison import errors_apart, paired, refuse_other_folds
from discrim.models.comparing.cross_validation import CrossValidation, validated
from discrim.models.fits.reading import told
from discrim.report.grid import INTERVAL, Pairs, Section
from discrim.report.tables import Summary

if TYPE_CHECKING:
    from discrim.models.comparing.permuted import Permutations
    from discrim.models.pictures.pictured import PictureOptions
    from discrim.models.results.results import ClassifierResults
    from discrim.report.plots.style import Axes


def cross_validation_summary(cv: CrossValidation) -> Summary:
    """Header, measures, errors by class, confusion, errors by fold."""
    title = f"Cross-validation: {cv._fit.title.lower()}"
    test = {} if cv.permutations is None else {"permutations": _permutations(cv.permutations)}
    return Summary(
        title,
        {
            "header": _header(cv),
            "measures": _measures(cv),
            **test,
            "classes": _classes(cv),
            "confusion": _confusion(cv),
            "folds": _folds(cv),
        },
    )


def _header(cv: CrossValidation) -> Pairs:
    fit, judged = cv._fit, cv._rows()
    total = float(judged.weights.sum())
    folds, repeats = len(cv._fold_labels), len(cv._dealt)
    prior = {"held": "class proportions, held", "refitted": "class proportions, refitted", "": "none"}.get(
        cv.prior, "given, held"
    )
    rows = "Sum of weights" if cv._weighted else "Rows judged"
    items: list[tuple[str, Any, str]] = [
        (rows, total, f"{total:.6g}"),
        ("Rows dropped, missing", fit.dropped, str(fit.dropped)),
        ("Rows without a label", cv.unlabelled, str(cv.unlabelled)),
        ("Prior", prior, prior),
        ("Folds", folds, str(folds)),
        ("Repeats", repeats, str(repeats)),
        ("Seed", cv.seed, "none, folds given" if cv.seed is None else str(cv.seed)),
    ]
    if judged.clusters is not None:
        groups = len(set(judged.clusters.tolist()))
        items.insert(6, ("Groups, each in one fold", groups, str(groups)))
    return Pairs(fit.formula, items, " ".join(note for note in (_choice_note(cv), uneven_note(cv)) if note))


def uneven_note(cv: CrossValidation) -> str:
    """What is said of folds that are uneven by class while the prior of all rows is held."""
    place = cv._uneven() if cv.prior == "held" else None
    if place is None:
        return ""
    (repeat, fold), code = place
    share, prior = (float(cv.class_shares().loc[(repeat, fold)].iloc[code]), float(cv._fit.prior[code]))
    where = f"fold {shown(fold)}" + (f" of repeat {repeat}" if len(cv._dealt) > 1 else "")
    return (
        f"The folds are uneven by class: of the rows outside {where}, {share:.3g} are of class "
        f"{shown(cv._fit.classes[code])}, and of all rows {prior:.3g}. The prior that is held is "
        "that of all rows, and knows of those left out: refit_prior=True estimates it without each fold."
    )


def _choice_note(cv: CrossValidation) -> str:
    chosen, refits = cv._fit.choice, cv._fit.refits
    if refits.called is not None and not chosen:
        return "The function is called with the rows outside each fold, and its fit judges those of the fold."
    if not chosen:
        return ""
    if cv.nested:
        return f"The choice of {chosen} is made anew in each fold."
    return f"The choice of {chosen} is held, and the same rows made it: the figures look too good."


def _measures(cv: CrossValidation) -> Section:
    table = cv.table()
    rows = "groups" if cv._clusters is not None else "rows"
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


def _classes(cv: CrossValidation) -> Section:
    table = cv.by_class
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"rows": "count", "wrong": "count"}
    return Section("Errors by class", table, formats, headings=INTERVAL, source=".by_class")


def _confusion(cv: CrossValidation) -> Section:
    mean = ", mean over repeats" if len(cv._dealt) > 1 else ""
    table = cv.confusion.rename_axis(index=None, columns=None)
    return Section(f"Actual classes (rows) by predicted classes{mean}", table, "count", source=".confusion")


def _folds(cv: CrossValidation) -> Section:
    table = cv.by_fold
    if len(cv._dealt) == 1:
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


def folds_picture(cv: Any, options: PictureOptions) -> Axes:
    """Error of each fold, and the mean."""
    from discrim.report.plots.judged import by_fold as draw

    row = cv.table().loc["error"]
    mean = float(row["estimate"]), float(row["low"]), float(row["high"])
    names = ("Error; the mean with its 95 % interval", f"Cross-validated error of {_called(cv)}, by fold")
    signs = options.signs([_called(cv)])
    return draw(cv.by_fold["error"], mean, names, ax=options.ax, signs=signs)


def confusion_picture(cv: Any, options: PictureOptions) -> Axes:
    """Actual by predicted classes, the mean over repeats."""
    from discrim.models.pictures.judged import draw_confusion_of

    return draw_confusion_of(cv.confusion, "cross-validated", options)


def permutations_picture(cv: Any, options: PictureOptions) -> Axes:
    """Hit rates of shuffled labels, and that of the labels seen."""
    from discrim.report.plots.judged import draw_permuted as draw

    test = cv.permutations
    if test is None:
        raise DataError(
            "kind='permutations' draws a permutation test, and none was made: pass permutations=999 to "
            "cross_validate()."
        )
    title = f"Hit rates of {_called(cv)} by chance, and of the true labels"
    names = (f"Cross-validated hit rate, labels shuffled among {test.shuffled}", title)
    pvalue = f"p {test.pvalue:.2g}"
    return draw(test.rates, test.estimate, pvalue, names, ax=options.ax, signs=options.signs([_called(cv)]))


def differences_picture(cv: Any, options: PictureOptions) -> Axes:
    """Error less that of another model, fold by fold."""
    from discrim.report.plots.judged import by_fold as draw

    other = options.other
    if other is None:
        raise DataError("kind='differences' compares with another model: pass other=, a fit.")
    if hasattr(other, "_fit") and not hasattr(other, "by_fold"):
        other = on_same_folds(cv, other)
    if not hasattr(other, "by_fold"):
        raise DataError(f"other={told(other)}: pass a fit, or what cross_validate() gives of one.")
    values = fold_differences(cv, other)
    test = paired([cv, other], ["a", "b"]).iloc[0]
    mean = float(values.mean()), float(test["low"]), float(test["high"])
    a, b = _called(cv), _called(other)
    a, b = (f"{a} (1)", f"{b} (2)") if a == b else (a, b)
    names = (
        f"Error of {a} less that of {b}",
        f"Differences by fold of {a} and {b}; the mean with its corrected 95 % interval",
    )
    return draw(values, mean, names, ax=options.ax, signs=options.signs([a]), zero=True)


def _called(cv: Any) -> str:
    name: str = cv._fit.model.name
    return name


def on_same_folds(cv: CrossValidation, other: ClassifierResults) -> CrossValidation:
    """Another fit, cross-validated on the folds of one that was."""
    if cv.seed is None:
        raise DataError(
            "The folds were given, and not dealt by a seed: pass other=cross_validate(fit, folds=...) with "
            "them."
        )
    count = len(cv._fold_labels)
    groups = cv._clusters
    return validated(other._fit, count, len(cv._dealt), groups, cv.seed, nested=cv.nested)


def fold_differences(a: CrossValidation, b: CrossValidation) -> pd.Series:
    """Error of the first less that of the second, over the rows that both judge, by (repeat, fold)."""
    if a._dealt.shape != b._dealt.shape or not a._index.equals(b._index):
        raise DataError(
            "other= has other rows, folds or repeats: cross-validate both with the same folds=, "
            "repeats= and seed=."
        )
    refuse_other_folds(a, b, 2)
    both = a._judged & b._judged
    if not both.any():
        raise DataError("There is no row that both fits use: they cannot be compared row by row.")
    return pd.Series(errors_apart(a, b, both).ravel(), index=a.by_fold.index, name="difference")
