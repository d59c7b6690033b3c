"""The verb `compare`: fits side by side, where they may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.errors import DataError, NotSupportedError, warn_user
from discrim.models.comparing.comparable import llf_given_row, refuse_other_rows, same_columns
from discrim.models.comparing.cross_comparison import cross_validated, paired
from discrim.models.comparing.fitted import need_fits
from discrim.models.comparing.hausman import lda_beside_logistic, log_odds_of_both
from discrim.models.fits.arguments import check_word, folds_or_cv, is_whole, listed
from discrim.models.fits.displayed import displayed
from discrim.models.fits.labels import missing_if_refused

__all__ = ["compare"]


@displayed()
def compare(
    *fits: Any,
    by: Literal["fit", "term", "pair"] | None = None,
    folds: Any = None,
    repeats: int = 1,
    groups: Any = None,
    seed: int | None = None,
    refit_prior: bool | None = None,
    cv: Any = None,
) -> pd.DataFrame:
    """Fits side by side.

    Parameters
    ----------
    *fits
        Fits of any verbs, as separate arguments.
    by : {"fit", "term", "pair"}, optional
        What a row of the table is: "fit", a fit; "pair", a pair of fits, which needs `folds`; or "term", a
        term of the log odds of a linear discriminant analysis and of a logistic regression. By default it is
        "pair" with `folds`; else "term" for just two such fits that have the same terms and likelihoods that
        cannot be compared; else "fit".
    folds : int, or column name or vector of length n, optional
        Number of folds, or the fold of each row as a label of any kind. All fits are judged on the same
        folds. They have to be of one table and response, while formulas and verbs may differ. By default
        there is no cross-validation.
    repeats : int
        How often the rows are dealt to folds.
    groups : column name or vector of length n, optional
        Groups whose rows stay in one fold, as the rows of one patient have to.
    seed : int, optional
        Seed by which the rows are dealt to folds. Without it each call deals them differently.
    refit_prior : bool, optional
        Whether a prior of class proportions is estimated again without the rows left out. By default models
        of the rows within classes hold it, as R's MASS does, while `logistic`, whose constants contain it,
        and `knn` estimate it again. A prior that was given is always held. It applies to folds and to
        leave-one-out. By default, therefore, a logistic regression has another prior without a row than LDA;
        True treats all fits alike.
    cv : optional
        Another name of `folds`; it is accepted with a warning.

    Returns
    -------
    DataFrame
        By fit, a row for each: formula, nobs, what the likelihood is of, df, llf, AIC, BIC, llf_given_row,
        apparent and leave-one-out error (missing where the model has none), and with `folds` the
        cross-validated error and its standard error.

        By pair (a, b), over the rows that both fits use and label: `rows`, and `rows_one_only`, the other
        rows that one of them uses; error_a, error_b and their difference; se, low, high, t, df and p_t of the
        corrected resampled t test that the mean of the difference over folds is zero (with unequal folds that
        is not quite the difference over rows); only_a_wrong and only_b_wrong, rows of the first repeat on
        which one fit alone is wrong, with McNemar's p_exact by the binomial distribution, and with his
        continuity-corrected chi-square, `mcnemar` and p_mcnemar. With `groups` these are counts of groups,
        because the rows of one are not independent. A row with a frequency weight stands for so many rows.
        Errors are weighted by a prior that both fits were given; else rows count as they are.
        The t test takes the differences of folds for equally correlated, by the share of rows that fits have
        in common; McNemar's takes rows for independent, given the fits.

        By term (class, term): LDA, LDA_se, logistic, logistic_se and their difference (LDA less logistic),
        against the logistic regression's reference; statistic, df and p of Hausman's chi-square of the
        difference, missing where LDA's standard error is not the smaller one. The last row, ("all",
        "slopes"), has the joint test, with as many df as there are directions in which LDA is more precise.

    Raises
    ------
    DataError
        An argument is no fit; options do not go together, or `discrim.cross_validate` does not take them; or
        the fits have other rows, classes or weights. By pair, fits may drop different rows of one table.
    NotSupportedError
        With `folds`, a fit was loaded, has no rule without some fold, or has weights that are not whole
        numbers.

    Warns
    -----
    DiscrimWarning
        AIC and BIC are missing; the reason is also in `attrs["note"]` of the table. Or the rows of a fit
        chose its columns, by `discrim.stepwise`, so that its figures look too good.

    Notes
    -----
    AIC is Akaike's (1974, IEEE Transactions on Automatic Control 19, 716-723) and BIC is Schwarz's (1978,
    Annals of Statistics 6, 461-464).

    A likelihood of class and row, such as that of LDA, contains densities in the units of the columns. It can
    be compared between models of the same columns, value by value, such as LDA and QDA. With other columns,
    or the same in other units, it is on another scale, and so is the likelihood of the class given the row,
    which `logistic` has. AIC and BIC of class and row are missing then. `llf_given_row`, the sum of the
    logarithms of the posteriors of the rows' own classes, can be compared between all models on the same
    rows. The rows of the fit are judged by the rule that they made, so that it favours models with more
    parameters.

    ``cross_validate(fit).plot("differences", other=another_fit)`` draws the differences of two fits by fold.

    Examples
    --------
    >>> from discrim import compare, lda, qda
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> compare(lda("species ~ .", iris), qda("species ~ .", iris)).loc[:, ["df", "AIC"]].round(2)
         df     AIC
    LDA  24  574.41
    QDA  44  464.75
    >>> two = lda("species ~ .", iris), lda("species ~ sepal_length + sepal_width", iris)
    >>> found = compare(*two, folds=10, seed=1)
    >>> found[["error_a", "error_b", "p_t"]].round(4).iloc[0].tolist()
    [0.02, 0.2067, 0.0056]
    """
    check_word("by", by, ("fit", "term", "pair"), optional=True)
    need_fits(fits, "compare()")
    names = _names(fits)
    folds = folds_or_cv("compare", folds, cv)
    _refuse_options(fits, by, folds, repeats, groups, seed)
    if folds is not None:
        found = cross_validated(fits, folds, repeats, groups, seed, refit_prior)
        if by != "fit":
            return paired(found, names)
        errors = pd.DataFrame([each.table().loc["error", ["estimate", "se"]] for each in found])
        return _by_fit(fits, names, refit_prior).assign(
            error_cv=errors["estimate"].to_numpy(), se_cv=errors["se"].to_numpy()
        )
    pair = lda_beside_logistic(fits)
    if by == "term" and pair is None:
        raise NotSupportedError('by="term" compares one fit of lda() with one of logistic().')
    if pair is not None and (by == "term" or (by is None and pair[0].terms.equals(pair[1].terms))):
        return log_odds_of_both(*pair)
    return _by_fit(fits, names, refit_prior)


def _refuse_options(
    fits: Sequence[Any], by: str | None, folds: Any, repeats: int, groups: Any, seed: int | None
) -> None:
    """Raise where options of `compare` do not go together."""
    if folds is None:
        if by == "pair" or not (is_whole(repeats) and repeats == 1) or groups is not None or seed is not None:
            raise DataError('by="pair", repeats=, groups= and seed= go with folds=: pass a number of them.')
    elif by == "term":
        raise DataError('by="term" compares log odds: leave out folds=.')
    elif len(fits) < 2 and by != "fit":
        raise DataError("compare(folds=) takes two fits or more; see cross_validate() for one.")


def _names(fits: Sequence[Any]) -> list[str]:
    """Models' names; fits of one model are told apart by their place."""
    names = [type(fit).__name__.removesuffix("Results") for fit in fits]
    return [f"{name} ({i})" if names.count(name) > 1 else name for i, name in enumerate(names, start=1)]


def _by_fit(fits: Sequence[Any], names: list[str], refit_prior: bool | None) -> pd.DataFrame:
    refuse_other_rows(fits, "compare()")
    chose = [name for name, fit in zip(names, fits, strict=True) if fit._fit.selection is not None]
    if chose:
        warn_user(
            f"The rows chose the columns of {listed(chose)}: likelihoods, AIC and BIC, and apparent and "
            "leave-one-out errors, take the columns as given and look too good. With folds= they are chosen "
            "anew in each fold."
        )
    rows = []
    for fit in fits:
        row = {"formula": fit.formula, "nobs": fit.nobs, "likelihood": fit.likelihood_of}
        row["df"] = missing_if_refused(fit, "df_model")
        for name, of in (("llf", "llf"), ("AIC", "aic"), ("BIC", "bic")):
            row[name] = missing_if_refused(fit, of)
        row["llf_given_row"] = llf_given_row(fit)
        for method in ("apparent", "loo"):
            asked = None if fit._fit.model.prior_without == "none" else refit_prior
            try:
                row[f"error_{method}"] = fit.error_rates([method], refit_prior=asked)["estimate"].iloc[0]
            except NotSupportedError:
                row[f"error_{method}"] = np.nan
        rows.append(row)
    table = pd.DataFrame(rows, index=pd.Index(names))
    note = _other_scales(fits, names, table)
    if note:
        table.loc[table["likelihood"] == "class and row", ["AIC", "BIC"]] = np.nan
        table.attrs["note"] = note
        warn_user(note)
    return table


def _other_scales(fits: Sequence[Any], names: list[str], table: pd.DataFrame) -> str:
    """Why the likelihoods of class and row are not to be compared; empty where they are."""
    there = table["llf"].notna().to_numpy()
    joint, given = (
        np.flatnonzero(there & (table["likelihood"] == of).to_numpy()).tolist()
        for of in ("class and row", "class given row")
    )
    say = "so AIC and BIC of class and row are missing: see llf_given_row and the error rates."
    if len(joint) > 1:
        same = same_columns([fits[i] for i in joint])
        if not all(same):
            other = names[joint[same.index(False)]]
            return (
                f"Likelihoods of class and row are in the units of the columns, and {other} has other "
                f"columns, or other values in them, than {names[joint[0]]}, {say}"
            )
    if len(joint) and len(given):
        return (
            f"The likelihood of {names[joint[0]]} is of class and row, that of {names[given[0]]} of the "
            f"class given the row, {say}"
        )
    return ""
