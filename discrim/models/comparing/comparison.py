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
from discrim.models.fits.arguments import check_word, folds_or_cv, is_whole
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
        Fitted objects.
    by : {"fit", "term", "pair"}, optional
        A row for each fit; or, of a linear discriminant analysis and a logistic regression, their log odds
        term by term; or, with `folds`, a row for each pair of fits. Without it, by pair with `folds`; else by
        term where there are just those two, of the same terms, whose likelihoods are not to be compared; else
        by fit.
    folds, repeats, groups, seed : optional
        As for `discrim.cross_validate`, by which all fits are judged on the same folds. The fits are of one
        table and response; formulas and verbs may differ.
    refit_prior : bool, optional
        As for `discrim.cross_validate`, of folds and of leave-one-out. By default models do what each of them
        does, and a logistic regression has another prior without a row than LDA; True treats all alike.
    cv : optional
        Another name of `folds`, taken with a warning.

    Returns
    -------
    DataFrame
        By pair (a, b), over the rows that both fits use and label (`rows`; `rows_one_only` are the others
        that either uses): error_a, error_b, their difference; se, low, high, t, df, p_t of the
        corrected resampled t test that its mean over folds is zero (where folds are unequal, that is not
        quite the difference over rows); only_a_wrong and only_b_wrong, rows of the first repeat on which one
        fit alone is wrong, with McNemar's p_exact by the binomial distribution, and with its
        continuity-corrected chi-square `mcnemar` and p_mcnemar; with `groups`, these three are of groups, as
        the rows of one are not independent. A row with a frequency weight is so many rows. Errors are
        weighted by a prior that both were given; else rows count as they are. For what these tests rest on,
        see `discrim.inference.paired_tests`. By term, see `comparing.hausman.log_odds_of_both`. Else a
        row for each fit: formula, nobs, what the likelihood is of, df, llf, AIC, BIC, llf_given_row, apparent
        and leave-one-out error (missing where the model has none), and with `folds` cross-validated error and
        its standard error.

    Raises
    ------
    DataError
        An argument is no fit; options that do not go together, or are none for `discrim.cross_validate`;
        fits of other rows, classes or weights, but that fits by pair may drop other rows of one table.
    NotSupportedError
        With `folds`, a fit was loaded, has no rule without some fold, or has weights that are not whole.

    Warns
    -----
    DiscrimWarning
        AIC and BIC are missing, with the reason, which is also in `attrs["note"]` of the table.

    Notes
    -----
    AIC is Akaike's (1974, IEEE Transactions on Automatic Control 19, 716-723), BIC Schwarz's (1978,
    Annals of Statistics 6, 461-464).

    A likelihood of class and row, as LDA's, holds densities in the units of the columns. It is comparable
    between models of the same columns, value by value, as LDA and QDA; with other columns, or the same in
    other units, it is on another scale, as is the likelihood of the class given the row that `logistic` has.
    AIC and BIC of class and row are missing then. `llf_given_row`, the sum of the logs of the posteriors of
    the rows' own classes, is comparable between all models on the same rows; it is the rows' own, and so
    favours models of more parameters.

    The differences of two fits by fold are drawn by
    ``cross_validate(fit).plot("differences", other=another_fit)``.

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
