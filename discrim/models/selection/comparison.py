"""The verb `compare`: fits side by side, pair by pair on the same folds, or on the rows of another table.

Error rates on folds are compared by McNemar's test and by the corrected resampled t test. The plot of
differences by fold and the command line use the functions of this module too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from inspect import signature
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.errors import DataError, NotComparableWarning, NotSupportedError, warn_user
from discrim.inference.calibration import EvaluatedRows, fold_means
from discrim.inference.error_rates import check_level, error_rate_from_labels, exact_interval
from discrim.inference.resampling import corrected_t, grouped_mcnemar, mcnemar, seed_or_random
from discrim.models.base.display import with_display_formats
from discrim.models.base.labels import value_or_nan
from discrim.models.base.reading import Data, is_integer, join_labels, with_public_errors
from discrim.models.evaluation.assessment import CountingMethod, EvaluationOptions, evaluate_predictions
from discrim.models.evaluation.labelled_scores import codes_against_rest
from discrim.models.evaluation.validation import is_slow_to_evaluate
from discrim.models.plots.plottable import PlotOptions, check_classes_option, draw_plot
from discrim.models.registry import COMPARISON_PLOTS, resolve
from discrim.models.selection import comparable
from discrim.models.selection.covariance_tests import compare_log_odds, find_lda_and_logistic
from discrim.models.selection.cross_validation import CrossValidation, cross_validate_fit, warn_unlabelled
from discrim.models.selection.roc_comparison import AreaTest, ComparedFits, compare_areas
from discrim.report.result_table import ResultTable

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults
    from discrim.report.plots.style import Axes


def cross_validate_fits(
    fits: Sequence[ClassifierResults],
    folds: Any,
    repeats: int,
    groups: Any,
    seed: int | None,
    refit_prior: bool | None = None,
) -> list[CrossValidation]:
    """Cross-validate several fits on the same folds.

    Parameters
    ----------
    fits : sequence of ClassifierResults
    folds, repeats, groups, seed, refit_prior : see `compare`

    Returns
    -------
    list of CrossValidation
        One for each fit. A warning counts the rows that a fit does not predict.

    Raises
    ------
    DataError
        The fits use tables with different rows, or differ in the class, fold, weight or values of a row that
        both use.
    NotSupportedError
        A fit lacks rows, or cannot be refitted without some fold.
    """
    comparable.require_rows(fits, "compare(folds=)")
    seed = seed_or_random(seed)
    for fit_number, fit in enumerate(fits[1:], start=2):
        if not fit._fit.design_rows.table.index.equals(fits[0]._fit.design_rows.table.index):
            raise DataError(
                f"Fit {fit_number} uses other rows than the first.",
                hint="Fit both to the same table; each may drop rows with missing values.",
            )
    validations = []
    for fit_number, fit in enumerate(fits, start=1):
        try:
            validations.append(
                cross_validate_fit(fit._fit, folds, repeats, groups, seed, refit_prior=refit_prior)
            )
        except NotSupportedError as error:
            raise error.with_message(f"Fit {fit_number}: {error.message}") from None
        warn_unlabelled(validations[-1], f"Fit {fit_number}: ")
    for fit_number, validation in enumerate(validations[1:], start=2):
        require_same_folds(validations[0], validation, fit_number)
        comparable.raise_if_values_differ(fits[0], fits[fit_number - 1], fit_number, "compare(folds=)")
    return validations


def require_same_folds(first: CrossValidation, second: CrossValidation, fit_number: int) -> None:
    """Raise a DataError if two fits differ in the class, fold or weight of a row that both use.

    Parameters
    ----------
    first, second : CrossValidation
    fit_number : int
        Number of the second fit, for the message.
    """
    both = np.flatnonzero((first._actual >= 0) & (second._actual >= 0))
    labels = [
        validation._fit.classes.to_numpy(dtype=object)[validation._actual[both]]
        for validation in (first, second)
    ]
    checks = {
        "class": labels[0] != labels[1],
        "fold": (first._fold_ids[:, both] != second._fold_ids[:, both]).any(axis=0),
        "weight": first._weights[both] != second._weights[both],
    }
    for quantity, is_different in checks.items():
        if is_different.any():
            row = first._index[both[int(np.argmax(is_different))]]
            raise DataError(
                f"Fit {fit_number} has another {quantity} at row {row!r} than the first.",
                hint="Compare fits of one table, one response and the same weights.",
                rows=(row,),
            )


def _errors_on_shared_rows(
    a: CrossValidation, b: CrossValidation
) -> tuple[NDArray[np.bool_], tuple[Floats, Floats], EvaluatedRows]:
    """Return the misclassifications by two fits of the rows that both predict.

    Parameters
    ----------
    a, b : CrossValidation

    Returns
    -------
    both : (n,) bool
        The m of the n rows of the table that both fits use and predict in each repeat.
    wrong : two arrays (R, m) of float
        1 for rows that the first fit, and the second, misclassify in each of R repeats, else 0.
    rows : EvaluatedRows
        Classes (as positions in the classes of `a`) and weights of these rows; the prior if the user passed
        the same one to both fits; no groups.

    Raises
    ------
    DataError
        No row is used and predicted by both fits.
    """
    both = a._is_evaluated & b._is_evaluated
    if not both.any():
        raise DataError(
            "The fits have no rows in common and cannot be compared row by row.",
            hint="Fit both to the same table.",
        )
    wrong = tuple(
        (validation._predicted[:, both] != validation._actual[both]).astype(np.float64)
        for validation in (a, b)
    )
    # Unless the user passed the same prior to both fits, rows are not reweighted.
    prior, other = (validation._evaluated_rows().prior for validation in (a, b))
    if (
        prior is None
        or other is None
        or set(a._fit.classes) != set(b._fit.classes)
        or not np.array_equal(prior, other[b._fit.classes.get_indexer(a._fit.classes)])
    ):
        prior = None
    rows = EvaluatedRows(a._actual[both], a._weights[both], len(a._fit.classes), prior, None)
    return both, (wrong[0], wrong[1]), rows


def _fold_differences(a: CrossValidation, b: CrossValidation) -> Floats:
    """Return the mean differences (R, F) of errors, the first minus the second, in F folds of R repeats.

    The means are over the rows that both fits predict, weighted by `EvaluatedRows.row_weights`. They are NaN
    for a fold without such rows.
    """
    both, wrong, rows = _errors_on_shared_rows(a, b)
    by_repeat = zip(*wrong, a._fold_ids[:, both], strict=True)
    n_folds = len(a._fold_labels)
    row_weights = rows.row_weights()
    return np.stack(
        [
            fold_means(errors - others, row_weights, fold_ids, n_folds)
            for errors, others, fold_ids in by_repeat
        ]
    )


def compare_pairs(validations: Sequence[CrossValidation], names: Sequence[str]) -> pd.DataFrame:
    """Return a table by (a, b), the names of a pair of fits, with the columns of `Comparison.pairs`.

    It has one row for each pair of `validations`, which must have the same folds.
    """
    rows = [_pair_items(validations[i], validations[j]) for i, j in combinations(range(len(validations)), 2)]
    index = pd.MultiIndex.from_tuples(list(combinations(names, 2)), names=["a", "b"])
    return pd.DataFrame(rows, index=index)


def _pair_items(a: CrossValidation, b: CrossValidation) -> dict[str, float]:
    """Compare the errors of two fits on the same folds.

    Parameters
    ----------
    a, b : CrossValidation
        Cross-validations of the two fits with the same folds.

    Returns
    -------
    dict of str to float
        rows, rows_one_only, error_a, error_b, difference, se, low, high, t, df, p_t, only_a_wrong,
        only_b_wrong, p_exact, mcnemar and p_mcnemar: the columns of `Comparison.pairs`.
    """
    both, wrong, rows = _errors_on_shared_rows(a, b)
    weights = rows.weights
    row_weights = rows.row_weights()
    by_fold = _fold_differences(a, b).ravel()
    test = corrected_t(by_fold[~np.isnan(by_fold)], len(a._fold_labels))
    errors = [
        float(row_weights @ errors_by_repeat.mean(axis=0)) / float(row_weights.sum())
        for errors_by_repeat in wrong
    ]
    total = float(weights.sum()) if a._has_weights else len(weights)
    low, high = test.low, test.high
    if not test.se > 0:
        # Folds that do not differ do not determine an interval. The difference is at most the proportion of
        # rows on which just one of the rules is wrong, which has an exact limit.
        discordance = float(row_weights @ np.abs(wrong[0] - wrong[1]).mean(axis=0)) / float(row_weights.sum())
        units = total if a._clusters is None else len(np.unique(a._clusters[both]))
        high = exact_interval(discordance * units, units, 0.95)[1]
        low = -high
    return {
        "rows": total,
        "rows_one_only": int(((a._actual >= 0) | (b._actual >= 0)).sum() - both.sum()),
        "error_a": errors[0],
        "error_b": errors[1],
        "difference": errors[0] - errors[1],
        "se": test.se,
        "low": low,
        "high": high,
        "t": test.statistic,
        "df": test.df,
        "p_t": test.pvalue,
    } | _mcnemar_items(a, both, [errors_by_repeat[0] for errors_by_repeat in wrong])


def _mcnemar_items(a: CrossValidation, both: NDArray[np.bool_], wrong: Sequence[Floats]) -> dict[str, float]:
    """Compute McNemar's test of two fits, by groups if rows were assigned to folds in groups.

    Parameters
    ----------
    a : CrossValidation
        The first fit, for weights and groups.
    both : (n,) bool
        The m of n rows that both fits predict.
    wrong : two arrays (m,) of float
        1 for rows that the first fit, and the second, misclassify.

    Returns
    -------
    dict of str to float
        only_a_wrong and only_b_wrong, the sums of weights of the rows that only one fit misclassifies, even
        if there are groups; p_exact, the p-value of the exact test; mcnemar and p_mcnemar, the chi-square
        statistic and its p-value.

    Raises
    ------
    NotSupportedError
        Weights are not whole numbers.
    """
    weights = a._weights[both]
    if (weights != np.round(weights)).any():
        raise NotSupportedError(
            "McNemar's test requires weights that are whole numbers.",
            hint="Pass frequency weights, or use cross_validate() of each fit.",
        )
    alone = [float(weights @ (one * (1 - other))) for one, other in (wrong, wrong[::-1])]
    if a._clusters is None:
        test = mcnemar(*alone)
    else:
        differences = np.bincount(a._clusters[both], weights * (wrong[0] - wrong[1]))
        test = grouped_mcnemar(differences.astype(np.float64))
    names = ("p_exact", "mcnemar", "p_mcnemar")
    return {"only_a_wrong": alone[0], "only_b_wrong": alone[1]} | dict(zip(names, test, strict=True))


class Comparison(ResultTable):
    """Table of fits, a row for each, as returned by `discrim.compare`.

    A selection of its rows or columns is a plain DataFrame.
    """

    _compared: ComparedFits

    def _with_fits(self, compared: ComparedFits) -> Self:
        """Store the fits, which the methods need, in a private attribute, and return this table."""
        # Bypass pandas, which treats attributes as columns; copies and pickles are plain tables.
        object.__setattr__(self, "_compared", compared)
        return self

    @with_display_formats()
    def pairs(self) -> pd.DataFrame:
        """The errors of each pair of fits on the same folds, compared by two tests.

        Returns
        -------
        DataFrame by (a, b)
            Over the rows that both fits use and label: `rows`, and `rows_one_only`, the other rows that one
            of them uses; error_a, error_b and their difference; se, low, high, t, df and p_t of the corrected
            resampled t test that the mean of the difference over folds is zero (with unequal folds that is
            not quite the difference over rows); only_a_wrong and only_b_wrong, rows of the first repeat on
            which one fit alone is wrong, with McNemar's p_exact by the binomial distribution, and with his
            continuity-corrected chi-square, `mcnemar` and p_mcnemar. With `groups` McNemar's test
            compares whole groups, because the rows of one are not independent. A row with a frequency weight
            stands for so many rows. Errors are weighted by the prior of the user if both fits have the same
            one; otherwise rows are not reweighted. The t test assumes that the differences of folds are
            equally correlated, by the share of rows that fits have in common; McNemar's test assumes
            independent rows (or groups), conditional on the fits. If all folds have the same difference, se
            is zero, and low and high are minus and plus the exact upper limit of the share of rows (or
            groups) on which one fit alone is wrong.

        Raises
        ------
        DataError
            The fits were compared without folds, or there is only one fit.
        """
        fits, names, validations = self._compared
        if validations is None:
            raise DataError(
                "pairs() requires cross-validated errors.", hint="Call compare(..., folds=10).pairs()."
            )
        if len(fits) < 2:
            raise DataError(
                "pairs() requires at least two fits.", hint="See cross_validate() for a single fit."
            )
        return compare_pairs(validations, names)

    @with_display_formats()
    def log_odds(self) -> pd.DataFrame:
        """Compare the log odds of a linear discriminant analysis and of a logistic regression.

        Returns
        -------
        DataFrame by (class, term)
            LDA, LDA_se, logistic, logistic_se and their difference (LDA minus logistic), against the logistic
            regression's reference; statistic, df and p of Hausman's chi-square of the difference, missing
            unless LDA's standard error is the smaller one. The last row, ("all", "slopes"), has the joint
            test, with as many df as there are directions in which LDA is more precise.

        Raises
        ------
        NotSupportedError
            The fits are not one of `lda` and one of `logistic`.
        """
        pair = find_lda_and_logistic(self._compared.fits)
        if pair is None:
            raise NotSupportedError(
                "log_odds() requires one fit of lda() and one fit of logistic().", hint="Compare such a pair."
            )
        return compare_log_odds(*pair)

    @with_public_errors
    @with_display_formats()
    def roc_test(
        self,
        data: Data | None = None,
        *,
        method: CountingMethod | None = None,
        test: AreaTest = "delong",
        classes: Any = None,
        level: float = 0.95,
        replicates: int = 2000,
        seed: int | None = None,
    ) -> pd.DataFrame:
        """Test the differences of the areas under the ROC curves of each pair of fits.

        Parameters
        ----------
        data : table, optional
            New observations with their classes. By default the observations of the fits are used, and of
            these the ones that all fits predict.
        method : {"apparent", "loo", "cv"}, optional
            How the observations of the fits are predicted. By default by the folds of the comparison (of the
            first repeat), and without folds as in the method `plot` of a fit: without the observation itself
            or its fold if the model supports it.
        test : {"delong", "bootstrap"}
            Test of paired areas of DeLong, DeLong & Clarke-Pearson (1988), or the bootstrap of observations
            within the class and within the rest.
        classes : label or labels, optional
            Classes to compare with the rest. By default the second of two classes, or all of several.
        level : float
            Level of the intervals.
        replicates : int
            Number of bootstrap samples.
        seed : int, optional
            Seed of the bootstrap samples.

        Returns
        -------
        DataFrame by (a, b), or by (a, b, class) for several classes
            rows, the number of observations; area_a, area_b and their difference with its standard error se
            and its interval, low and high; z, the difference divided by se, and its two-sided p-value p. The
            limits are normal for "delong", and quantiles of the samples for "bootstrap". z and p are missing
            if se is zero although the areas differ, because the variance cannot be estimated then.
            `attrs["note"]` states how the observations were predicted if that differs between fits, for
            example because only folds repeat the choice of columns; `method` or folds make it equal.

        Raises
        ------
        DataError
            There is only one fit, an option is not valid, the fits use different tables and `data` was not
            passed, or no observation is predicted by all fits.
        NotSupportedError
            A fit does not support the method, or was loaded and `data` was not passed; or the bootstrap has
            weights that are not whole numbers.

        Notes
        -----
        Both tests assume independent observations and a normal difference, which is reasonable for about 20
        observations in the class and in the rest. They treat the predictions as given. P-values of several
        pairs or classes are not adjusted.

        Examples
        --------
        >>> from discrim import compare, lda, qda
        >>> from discrim.datasets import load_breast_cancer
        >>> tumours = load_breast_cancer()
        >>> formula = "diagnosis ~ radius_mean + texture_mean"
        >>> compared = compare(linear=lda(formula, tumours), quadratic=qda(formula, tumours))
        >>> compared.roc_test()[["area_a", "area_b", "p"]].round(3).iloc[0].tolist()
        [0.95, 0.951, 0.721]
        """
        compared = self._compared
        if len(compared.fits) < 2:
            raise DataError(
                "roc_test() requires at least two fits.", hint="See assess() for the areas of a single fit."
            )
        check_level(level)
        codes = codes_against_rest(compared.fits[0].classes, check_classes_option(classes))
        scores = compared.shared_scores(data, method, level)
        return compare_areas(compared.names, scores, codes, test, replicates, seed)

    @with_public_errors
    def plot(
        self,
        kind: Literal["roc", "precision_recall"] = "roc",
        ax: Axes | None = None,
        *,
        data: Data | None = None,
        method: CountingMethod | None = None,
        level: float | None = None,
        classes: Any = None,
        colors: Any = None,
        title: str | None = None,
    ) -> Axes:
        """Plot the ROC or precision-recall curves of all fits on the same observations.

        Each curve is labelled by the name of its fit, and by its class if there are several. To plot the
        columns of the table use a copy, as in ``pd.DataFrame(table).plot()``.

        Parameters
        ----------
        kind : {"roc", "precision_recall"}
            Kind of curves.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        data, method, classes
            As in `roc_test`.
        level : float, optional
            Level of the intervals of the areas; 0.95 by default.
        colors : mapping, sequence, str or Colormap, optional
            Colours by class, in the order of the classes.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes

        Raises
        ------
        DataError, NotSupportedError
            As in `roc_test`; a single fit is allowed.

        Examples
        --------
        >>> from discrim import compare, lda, qda
        >>> from discrim.datasets import load_breast_cancer
        >>> tumours = load_breast_cancer()
        >>> formula = "diagnosis ~ radius_mean + texture_mean"
        >>> axes = compare(linear=lda(formula, tumours), quadratic=qda(formula, tumours)).plot()
        >>> [text.get_text().split()[0] for text in axes.get_legend().get_texts()]
        ['linear', 'quadratic']
        """
        options = PlotOptions(
            ax, data, method=method, level=level, classes=check_classes_option(classes), colors=colors,
            title=title,
        )  # fmt: skip
        return draw_plot((self._compared,), resolve(COMPARISON_PLOTS), kind, options)


@with_public_errors
@with_display_formats(se_cv="share")
def compare(
    *fits: Any,
    folds: int | str | Any = None,
    repeats: int = 1,
    groups: Any = None,
    seed: int | None = None,
    refit_prior: bool | None = None,
    **named_fits: Any,
) -> Comparison:
    """Compare fits side by side.

    Parameters
    ----------
    *fits
        Fits of any verbs, as separate arguments; the rows of the table have the names of their models.
    folds : int, or column name or vector of length n, optional
        Number of folds, or the fold of each row as a label of any kind. All fits are evaluated on the same
        folds. They must have the same table and response, while formulas and verbs may differ. By default
        fits are not cross-validated.
    repeats : int
        How often the rows are assigned to folds.
    groups : column name or vector of length n, optional
        Groups whose rows remain in one fold, such as the observations of one patient.
    seed : int, optional
        Seed of the random assignment of rows to folds.
    refit_prior : bool, optional
        Whether class proportions are estimated again in each fold; see the page on shared arguments. It
        applies to folds and to leave-one-out. By default, therefore, a logistic regression has another prior
        without a row than LDA; True treats all fits alike.
    **named_fits
        More fits with names of the user, as in ``compare(first=fit, second=other)``.

    Returns
    -------
    Comparison
        A DataFrame with a row for each fit: formula, nobs, likelihood ("class and row" or "class given row"),
        df, llf, aic, bic, llf_given_row, apparent and leave-one-out error (missing if the model does not have
        one, and with `folds` if it requires a fit for each of many rows), and with `folds` the
        cross-validated error and its standard error. With folds its method `pairs()` compares the errors
        pair by pair; for one linear discriminant analysis and one logistic regression `log_odds()` sets their
        log odds side by side. `plot("roc")` draws the ROC curves, and `roc_test()` compares their areas.

    Raises
    ------
    DataError
        An argument is not a fit; options cannot be combined, or `discrim.cross_validate` rejects them; or the
        fits have other rows, classes or weights. With `folds`, fits may drop different rows of one table.
    NotSupportedError
        With `folds`, a fit was loaded, cannot be refitted without some fold, or has weights that are not
        whole numbers.

    Warns
    -----
    DiscrimWarning
        aic and bic are missing, and `folds` is not used; the reason is in `attrs["note"]` of the table with
        and without folds. Or the columns of a fit were chosen from the same rows, by `discrim.stepwise`,
        which makes its figures optimistic.

    Notes
    -----
    AIC is Akaike's (1974, IEEE Transactions on Automatic Control 19, 716-723) and BIC is Schwarz's (1978,
    Annals of Statistics 6, 461-464). With a likelihood of class and row they evaluate how well the model
    describes the rows, and not how well it predicts their classes.

    A likelihood of class and row, such as the likelihood of LDA, contains densities in the units of the
    columns. It can be compared between models of the same columns, value by value, such as LDA and QDA. With
    other columns, or the same in other units, it is on another scale, and so is the likelihood of the class
    conditional on the row, which `logistic` has. AIC and BIC of class and row are missing then.
    `llf_given_row`, the sum of the logarithms of the posteriors of the rows' own classes, can be compared
    between all models on the same rows. It evaluates the rule on the rows of its own fit and therefore
    favours models with more parameters.

    ``cross_validate(fit).plot("differences", other=another_fit)`` draws the differences of two fits by fold.

    Examples
    --------
    >>> from discrim import compare, lda, qda
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> compare(lda("species ~ .", iris), qda("species ~ .", iris)).loc[:, ["df", "aic"]].round(2)
         df     aic
    LDA  24  574.41
    QDA  44  464.75
    >>> two = lda("species ~ .", iris), lda("species ~ sepal_length + sepal_width", iris)
    >>> found = compare(*two, folds=10, seed=1).pairs()
    >>> found[["error_a", "error_b", "p_t"]].round(4).iloc[0].tolist()
    [0.02, 0.2067, 0.0056]
    """
    _raise_if_misspelled(named_fits)
    names = [*_model_names(fits), *named_fits]
    fits = (*fits, *named_fits.values())
    comparable.require_fits(fits, "compare()")
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise DataError(
            f"Two fits of compare() have the name {duplicates[0]!r}.",
            hint=f"Use another keyword than {duplicates[0]}=, or name all fits.",
        )
    if folds is None and (
        not (is_integer(repeats) and repeats == 1) or groups is not None or seed is not None
    ):
        raise DataError("repeats=, groups= and seed= require folds=.", hint="Pass the number of folds.")
    validations = None
    if folds is not None:
        validations = cross_validate_fits(fits, folds, repeats, groups, seed, refit_prior)
    return _comparison_table(fits, names, refit_prior, validations)


def _raise_if_misspelled(named_fits: dict[str, Any]) -> None:
    """Raise a TypeError for a keyword of `compare` whose value does not resemble a fit, such as `fold=10`."""
    for name, value in named_fits.items():
        # The results of `stepwise` have a fit; `require_fits` explains how to pass it.
        if not (hasattr(value, "predict") or hasattr(value, "fit")):
            # Imported here, because calls without a mistake do not need it.
            from discrim.slips import raise_unknown_keyword

            keywords = [key for key in signature(compare).parameters if key not in ("fits", "named_fits")]
            raise_unknown_keyword("compare", name, keywords)


def _model_names(fits: Sequence[Any]) -> list[str]:
    """Return the name of the model of each fit, such as "LDA".

    If the name occurs several times, the position of the fit among all fits is added: "LDA (2)".
    """
    names = [type(fit).__name__.removesuffix("Results") for fit in fits]
    return [f"{name} ({i})" if names.count(name) > 1 else name for i, name in enumerate(names, start=1)]


def _comparison_table(
    fits: Sequence[Any],
    names: list[str],
    refit_prior: bool | None,
    validations: list[CrossValidation] | None,
) -> Comparison:
    """Build the table of `compare`.

    Parameters
    ----------
    fits : sequence of ClassifierResults
    names : list of str
        Labels of the rows.
    refit_prior : bool or None
        Whether leave-one-out estimates class proportions again.
    validations : list of CrossValidation or None
        Cross-validation of each fit, with `folds=`.

    Returns
    -------
    Comparison
        Likelihoods that cannot be compared are missing, with the reason in `attrs["note"]`.
    """
    other_rows = ""
    try:
        comparable.raise_if_rows_differ(fits, "compare()")
    except DataError as error:
        if validations is None:
            raise
        other_rows = (
            f"{error} Therefore likelihoods, resubstitution errors and leave-one-out errors are missing; "
            "error_cv refers to the rows of each fit, and pairs() to the rows that both fits use."
        )
    selected_names = [name for name, fit in zip(names, fits, strict=True) if fit._fit.selection is not None]
    if selected_names:
        warn_user(
            f"The columns of {join_labels(selected_names)} were selected from the same rows. Likelihoods, "
            "AIC, BIC, and resubstitution and leave-one-out errors ignore the selection and are too "
            "optimistic. With folds= the selection is repeated in each fold."
        )
    rows = []
    for fit in fits:
        row = {"formula": fit.formula, "nobs": fit.nobs, "likelihood": fit._fit.likelihood_of}
        row["df"] = value_or_nan(fit, "df_model")
        for name in ("llf", "aic", "bic"):
            row[name] = value_or_nan(fit, name)
        row["llf_given_row"] = comparable.llf_given_row(fit)
        for method in ("apparent", "loo"):
            if method == "loo" and validations is not None and is_slow_to_evaluate(fit._fit):
                row["error_loo"] = np.nan
                continue
            refit = None if fit._fit.prior_in_refits == "none" else refit_prior
            try:
                row[f"error_{method}"] = fit.error_rates([method], refit_prior=refit)["estimate"].iloc[0]
            except NotSupportedError:
                row[f"error_{method}"] = np.nan
        rows.append(row)
    table = Comparison(rows, index=pd.Index(names))._with_fits(ComparedFits(fits, names, validations))
    if validations is not None:
        errors = [validation.table().loc["error", ["estimate", "se"]] for validation in validations]
        table[["error_cv", "se_cv"]] = np.array(errors, dtype=np.float64)
    note = other_rows or _incomparable_reason(fits, names, table)
    if other_rows:
        table.loc[:, "llf":"error_loo"] = np.nan
    elif note:
        table.loc[table["likelihood"] == "class and row", ["aic", "bic"]] = np.nan
    if note:
        table.attrs["note"] = note
        # With folds the user wants the errors, which can be compared nevertheless.
        if other_rows or validations is None:
            warn_user(note, NotComparableWarning)
    return table


def _incomparable_reason(fits: Sequence[Any], names: list[str], table: pd.DataFrame) -> str:
    """Return why the likelihoods of class and row cannot be compared; empty if they can.

    Parameters
    ----------
    fits : sequence of ClassifierResults
    names : list of str
    table : DataFrame
        Table of `compare`, for the likelihoods.

    Returns
    -------
    str
        A sentence: the fits have different columns, or one likelihood is conditional on the rows.
    """
    has_likelihood = table["llf"].notna().to_numpy()
    joint, given_row = (
        np.flatnonzero(has_likelihood & (table["likelihood"] == likelihood).to_numpy()).tolist()
        for likelihood in ("class and row", "class given row")
    )
    consequence = "so AIC and BIC of joint likelihoods are missing. See llf_given_row and the error rates."
    if len(joint) > 1:
        has_same_columns = comparable.has_same_columns([fits[i] for i in joint])
        if not all(has_same_columns):
            other_name = names[joint[has_same_columns.index(False)]]
            return (
                f"Joint likelihoods of class and row depend on the units of the columns, and {other_name} "
                f"has other columns or values than {names[joint[0]]}, {consequence}"
            )
    if len(joint) and len(given_row):
        return (
            f"The likelihood of {names[joint[0]]} is the joint likelihood of class and row, and the "
            f"likelihood of {names[given_row[0]]} is conditional on the row, {consequence}"
        )
    return ""


def compare_on_table(
    fits: Sequence[Any], names: Sequence[str], tables: Iterable[Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare the errors of fits on the rows of another table.

    Parameters
    ----------
    fits : sequence of ClassifierResults
    names : sequence of str
        Labels of the fits.
    tables : iterable of tables
        Chunks of the table.

    Returns
    -------
    DataFrame by fit
        formula; `rows` with a class and a prediction; `wrong` rows; `error` with its standard error `se` and
        its exact 95% confidence interval, `low` and `high`.
    DataFrame by (a, b)
        For each pair: `rows` that both predict; `only_a_wrong` and `only_b_wrong`, the rows on which one
        alone is wrong; and `p_exact`, McNemar's exact p-value. Empty for a single fit.

    Raises
    ------
    DataError
        An argument is not a fit, or the fits have different responses.

    Examples
    --------
    >>> from discrim import lda, qda
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> fits = lda("species ~ .", iris[::2]), qda("species ~ .", iris[::2])
    >>> compare_on_table(fits, ["lda", "qda"], [iris[1::2]])[0]["wrong"].to_dict()
    {'lda': 3, 'qda': 3}
    """
    comparable.require_fits(fits, "compare()")
    responses = [fit._fit.design_rows.design.response_code for fit in fits]
    for name, response in zip(names, responses, strict=True):
        if response != responses[0]:
            raise DataError(
                f"{name} predicts {response!r}, but {names[0]} predicts {responses[0]!r}.",
                hint="Compare fits of the same response.",
            )
    chunks = [
        [evaluate_predictions(fit._fit, table, "apparent", EvaluationOptions())[:2] for fit in fits]
        for table in tables
    ]
    labels_by_fit = [
        (
            np.concatenate([actual for actual, _ in codes]),
            np.concatenate([predicted for _, predicted in codes]),
        )
        for codes in zip(*chunks, strict=True)
    ]
    rates = {
        name: _error_items(fit, *codes) for name, fit, codes in zip(names, fits, labels_by_fit, strict=True)
    }
    pairs = {
        (names[i], names[j]): _table_pair_items(labels_by_fit[i], labels_by_fit[j])
        for i, j in combinations(range(len(fits)), 2)
    }
    by_pair = pd.DataFrame.from_dict(pairs, orient="index")
    by_pair.index = pd.MultiIndex.from_tuples(list(pairs), names=["a", "b"])
    return pd.DataFrame.from_dict(rates, orient="index"), by_pair


def _error_items(fit: Any, actual: Codes, predicted: Codes) -> dict[str, Any]:
    """Return the error of one fit on the rows of a table that have a class and a prediction.

    Parameters
    ----------
    fit : ClassifierResults
    actual, predicted : (n,) int
        Codes of the classes of n rows; -1 if missing.

    Returns
    -------
    dict of str to value
        formula; rows (their number) and wrong, integers; error, se, and the exact 95% limits low and high.
    """
    k = len(fit.classes)
    rate = error_rate_from_labels(actual, predicted, np.full(k, 1 / k), None, 0.95, sampled=True)
    counts = {"formula": fit.formula, "rows": int(rate.total), "wrong": int(rate.wrong)}
    return counts | {"error": rate.estimate, "se": rate.se, "low": rate.low, "high": rate.high}


def _table_pair_items(one: tuple[Codes, Codes], other: tuple[Codes, Codes]) -> dict[str, Any]:
    """Compare the errors of a pair of fits on the rows of a table that both predict, without weights.

    Parameters
    ----------
    one, other : tuple of two (n,) int
        Codes of the actual and predicted classes of n rows by each fit; -1 if missing.

    Returns
    -------
    dict of str to value
        rows (their number), only_a_wrong and only_b_wrong, integers; p_exact, McNemar's exact p-value.
    """
    both = np.logical_and.reduce([codes >= 0 for codes in (*one, *other)])
    a, b = (actual != predicted for actual, predicted in (one, other))
    alone = int((both & a & ~b).sum()), int((both & b & ~a).sum())
    counts = {"rows": int(both.sum()), "only_a_wrong": alone[0], "only_b_wrong": alone[1]}
    return counts | {"p_exact": mcnemar(*alone)[0]}


def cross_validate_on_same_folds(cv: CrossValidation, other: Any) -> CrossValidation:
    """Return the cross-validation of another fit, or stepwise choice, on the folds of an existing one.

    `other` is a fit, or the results of `stepwise`, whose `fit` is used. The folds are made again from the
    seed and the groups of `cv`; its `nested` and `refit_prior` apply too. Raises a DataError if the user
    passed the folds.
    """
    if cv.seed is None:
        raise DataError(
            "The folds were passed by the user and cannot be reproduced from a seed.",
            hint="Pass other=cross_validate(fit, folds=...) with the same folds.",
        )
    other_fit = other.fit._fit if hasattr(other, "cross_validate") else other._fit
    return cross_validate_fit(
        other_fit, len(cv._fold_labels), len(cv._fold_ids), cv._clusters, cv.seed,
        nested=cv.nested, refit_prior=cv._refit_prior,
    )  # fmt: skip


def fold_differences(a: CrossValidation, b: CrossValidation) -> pd.Series:
    """Return the error of the first fit minus the error of the second in each fold, by (repeat, fold).

    Only rows that both predict count; a fold without such rows has NaN. Raise a DataError if rows, folds or
    repeats differ.
    """
    if a._fold_ids.shape != b._fold_ids.shape or not a._index.equals(b._index):
        raise DataError(
            "other= has other rows, folds or repeats.",
            hint="Cross-validate both with the same folds=, repeats= and seed=.",
        )
    require_same_folds(a, b, 2)
    return pd.Series(_fold_differences(a, b).ravel(), index=a.by_fold.index, name="difference")
