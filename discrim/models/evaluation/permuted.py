"""Folds that several models of a table share, and a permutation test of the cross-validated hit rate.

`shared_folds` assigns rows to folds at random or by group, or reads folds of the user. `permuted_hit_rates`
estimates the distribution of the hit rate by chance from permuted labels, within blocks or whole groups if
rows depend on one another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from reprlib import repr as shorten
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats, check_memory
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import best_class
from discrim.data.table import Table
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.design.rows import response_codes_of_all_rows, used_codes
from discrim.errors import DataError, NotSupportedError
from discrim.inference import resampling
from discrim.inference.calibration import EvaluatedRows
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import check_integer, class_moments, format_argument, is_integer
from discrim.models.evaluation.assessment import row_weights
from discrim.models.evaluation.validation import fold_scores

MAX_REPEATS = 10**15
"""Upper bound of repeats in the estimate of memory."""


def shared_folds(
    design_rows: DesignRows, folds: Any, repeats: int, groups: Any, seed: int
) -> tuple[Codes, list[Any]]:
    """Assign the labelled rows of a table to folds at random, or read folds that the user specified.

    Parameters
    ----------
    design_rows : DesignRows
    folds : int, column name or (n,) array
        Number of folds F, or the label of the fold of each row.
    repeats : int
        Number of random partitions into folds, R; 1 if `folds` has labels.
    groups : column name, (n,) array or None
        Groups whose rows stay in one fold; only with a number of folds.
    seed : int
        Non-negative seed; a generator is refused.

    Returns
    -------
    fold_ids : (R, n) int
        Fold of each row, from 0, -1 for rows without a class. Rows with a missing value in another column
        have a fold, too.
    labels : list of length F
        Names of the folds: the labels of the user, by first appearance, or the numbers 1 to F.

    Raises
    ------
    DataError
        An argument is not valid, a labelled row lacks a fold or group, or the rows or groups are too few.
    """
    check_integer("repeats", repeats, 1)
    check_memory(
        float(min(repeats, MAX_REPEATS)) * design_rows.table.nrows * (1 + len(design_rows.design.levels)),
        f"repeats={format_argument(repeats)} of {design_rows.table.nrows:,} rows",
        "Use fewer repeats",
    )
    # A generator would create different folds for the next model.
    if not is_integer(seed) or seed < 0:
        raise DataError(f"seed={seed!r} is not valid.", hint="Pass a non-negative integer, or None.")
    rng = np.random.default_rng(seed)
    classes = response_codes_of_all_rows(design_rows)
    is_labelled = classes >= 0
    if not isinstance(folds, (int, float, np.number)):
        if repeats > 1 or groups is not None:
            raise DataError(
                "folds= with the fold of each row cannot be combined with repeats= or groups=.",
                hint="Leave out repeats= and groups=.",
            )
        row_fold_ids = number_labels(folds, design_rows.table, "folds", is_labelled)
        labels = _fold_labels(folds, design_rows.table, row_fold_ids)
        if len(labels) < 2:
            raise DataError("folds= has one fold only.", hint="Pass two or more folds.")
        return np.where(is_labelled, row_fold_ids, -1)[None], labels
    resampling.check_folds(folds, int((used_codes(design_rows) >= 0).sum()))
    n_folds = int(folds)
    if groups is None:
        fold_ids = resampling.assign_folds(classes, n_folds, repeats, rng)
    else:
        members = number_labels(groups, design_rows.table, "groups", is_labelled)
        n_groups = len(np.unique(members[is_labelled]))
        if n_groups < folds:
            raise DataError(
                f"groups= has {n_groups} groups, too few for folds={folds}.", hint="Use fewer folds."
            )
        fold_ids = resampling.assign_group_folds(classes, members, n_folds, repeats, rng)
    return fold_ids, list(range(1, n_folds + 1))


def _option_values(vector: Any, table: Table, option: str) -> pd.Series:
    """Return the values of an option with one value for each row, such as `groups=`, as a Series.

    Raises DataError if the length or the index differs from the table, and TypeError for an iterator.

    Parameters
    ----------
    vector : str, Series or sequence
        Name of a column of the table, or the values.
    table : Table
    option : str
        Name of the option for error messages.
    """
    if isinstance(vector, str):
        return table.column(vector)
    if isinstance(vector, pd.Series) and not vector.index.equals(table.index):
        raise DataError(
            f"The index of {option}= differs from the index of the table.",
            hint="Align them, or pass an array.",
        )
    if not hasattr(vector, "__len__"):
        # An iterator would be exhausted for the next model.
        raise TypeError(f"{option}= has no length")
    values = vector if isinstance(vector, pd.Series) else pd.Series(list(vector))
    if len(values) != table.nrows:
        raise DataError(
            f"{option}= has {len(values)} values; the table has {table.nrows} rows.",
            hint="Pass one value for each row.",
        )
    return values


def number_labels(
    vector: Any, table: Table, option: str, is_labelled: NDArray[np.bool_] | None = None
) -> Codes:
    """Number the labels of a vector from 0 in the order of their first appearance.

    Raises DataError if the vector does not have one value for each row.

    Parameters
    ----------
    vector : str, Series or sequence
        Column name, or a label for each row.
    table : Table
    option : str
        Name of the option for error messages.
    is_labelled : (n,) bool, optional
        Rows whose label must not be missing (DataError); by default any label may be.

    Returns
    -------
    (n,) int
        -1 for missing labels.
    """
    try:
        values = _option_values(vector, table, option)
        codes = np.asarray(pd.factorize(values)[0], dtype=np.intp)
    except TypeError:
        raise DataError(
            f"{option}={shorten(vector)} is not valid.",
            hint="Pass the name of a column, or a vector with one value for each row.",
        ) from None
    missing = (codes < 0) & (True if is_labelled is None else is_labelled)
    if is_labelled is not None and missing.any():
        row = table.label(int(np.argmax(missing)))
        raise DataError(
            f"{option}= has a missing value at row {row!r}.", hint="Fill it in or drop the row.", rows=(row,)
        )
    return codes


def _fold_labels(vector: Any, table: Table, codes: Codes) -> list[Any]:
    """Return the labels of folds of the user, in the order of their codes (n,) from `number_labels`.

    `vector` is the argument `folds` of `shared_folds`.
    """
    values = _option_values(vector, table, "folds")
    return [values.iloc[int(np.argmax(codes == f))] for f in range(int(codes.max()) + 1)]


MAX_REDRAWS_PER_PERMUTATION = 10
"""Largest number of failed permutations per requested permutation, above which an error is raised."""

MAX_PERMUTATIONS = 10**9
"""Largest number of permutations."""


@dataclass(frozen=True, slots=True, eq=False)
class PermutationDesign:
    """Design of a permutation test of cross-validation.

    Attributes
    ----------
    folds : (n,) int or None
        Folds of the user; None for new random folds in each permutation.
    labels : list of length F
        Names of the F folds; their number is used for random folds, too.
    repeats : int
        Number R of random partitions in each permutation.
    groups, within : column name, vector or None
        Groups that exchange labels as a whole and stay in one fold, and blocks within which labels are
        permuted. If groups have rows of several classes, each block must be part of one group: rows are then
        permuted within the blocks.
    permutations : int
        Number of permutations.
    seed : int
        Seed of the permutations and of their folds.
    nested : bool
        Whether choices of the fit are repeated in each fold.
    refit_prior : bool or None
        Whether class proportions are estimated without each fold; None for the model's default.
    """

    folds: Codes | None
    labels: list[Any]
    repeats: int
    groups: Any
    within: Any
    permutations: int
    seed: int
    nested: bool
    refit_prior: bool | None


@dataclass(frozen=True, slots=True, eq=False)
class Permutations:
    """Result of a permutation test of the cross-validated hit rate.

    Attributes
    ----------
    rates : Series of length P
        Hit rates of the P permutations of the labels, numbered from 1.
    estimate : float
        Hit rate of the true labels: the proportion of correct predictions, averaged over repeats.
    pvalue : float
        (1 + b) / (1 + P), with b the number of rates that are as large as `estimate` or larger.
    min_pvalue : float
        Approximate lower bound of the p-value: 1 / (1 + P), or one over the number of labellings if these are
        so few that the true one is often drawn. If m classes of equal size can exchange their names, m!
        labellings have the same hit rate, and p is at least m! times the bound.
    labellings : float
        Number of different labellings that a permutation can produce, rounded to an integer below 1e9.
    permuted_units : str
        Phrase for the units that exchanged labels, such as "rows within 'subject'".
    n_redrawn : int
        Number of permutations that were drawn again, because the model could not be fitted without some fold.
    seed : int
        Seed of the permutations.
    """

    rates: pd.Series
    estimate: float
    pvalue: float
    min_pvalue: float
    labellings: float
    permuted_units: str
    n_redrawn: int
    seed: int

    @property
    @with_display_formats(every="share")
    def table(self) -> pd.DataFrame:
        """Test in one row, "hit rate".

        Columns estimate, by_chance and quantile_95 (mean and 95% quantile of `rates`), p, least_p
        (`min_pvalue`) and permutations (their number).
        """
        row = {
            "estimate": self.estimate,
            "by_chance": float(self.rates.mean()),
            "quantile_95": float(self.rates.quantile(0.95)),
            "p": self.pvalue,
            "least_p": self.min_pvalue,
            "permutations": len(self.rates),
        }
        return pd.DataFrame([row], index=["hit rate"])

    def notes(self) -> list[str]:
        """Return sentences on the permuted units and the formula of the p-value.

        There are also sentences on the number of labellings, if it limits the p-value more than the number of
        permutations does, and on permutations that were drawn again, if any were.
        """
        is_limited = self.min_pvalue > 1 / (1 + len(self.rates))
        sentences = [
            f"Labels are permuted among {self.permuted_units}. Each permutation has new folds and new fits."
        ]
        if is_limited:
            sentences.append(
                f"There are only {self.labellings:.0f} labellings: p is at least about "
                f"{self.min_pvalue:.2g}, or twice that if two classes of equal size can exchange their "
                "labels."
            )
        if self.n_redrawn:
            sentences.append(
                f"{self.n_redrawn} permutations for which the model could not be fitted in some fold were "
                "drawn again."
            )
        sentences.append("p = (1 + as good or better) / (1 + permutations).")
        return sentences

    def __repr__(self) -> str:
        return (
            f"Permutation test of the hit rate: {self.estimate:.4g}, by chance {self.rates.mean():.4g}, "
            f"p {self.pvalue:.3g} ({len(self.rates)} permutations)\n" + "\n".join(self.notes())
        )


def check_permutations(permutations: Any, within: Any) -> None:
    """Raise DataError if the number of permutations is not valid, or `within` is passed without any."""
    check_integer("permutations", permutations, 0, MAX_PERMUTATIONS, also=", such as 999")
    if within is not None and not permutations:
        raise DataError(
            "within= requires a permutation test.",
            hint="Pass permutations=999 too.",
            options={"permutations": 999},
        )


def permuted_hit_rates(fit: FittedModel[Any], observed: float, design: PermutationDesign) -> Permutations:
    """Compute hit rates of permuted labels and the p-value of the observed one.

    A permutation to which the model cannot be fitted is drawn again.

    Parameters
    ----------
    fit : FittedModel
    observed : float
        Hit rate of the true labels.
    design : PermutationDesign

    Returns
    -------
    Permutations
        Hit rates in the order of the permutations; failed ones are counted in `n_redrawn` only.

    Raises
    ------
    NotSupportedError
        The fit lacks rows, or too many permutations failed (`MAX_REDRAWS_PER_PERMUTATION`).
    DataError
        A group has rows of several classes or blocks, folds of the user have rows of one class each, or no
        permutation changes the labels.
    """
    design_rows = fit.require_rows("permutations=")
    used = used_codes(design_rows)
    shuffle, units = _permutation_scheme(fit, used, design)
    log_labellings = shuffle.log_n_labellings()
    group_codes = None if design.groups is None else number_labels(design.groups, design_rows.table, "groups")
    # A separate random stream, on which the folds of the true labels do not depend.
    rng = np.random.default_rng([design.seed, 1])
    rates = np.empty(design.permutations)
    redrawn = 0
    with Progress(design.permutations, "permutations") as progress:
        for i in range(design.permutations):
            while True:
                codes = used.copy()
                codes[used >= 0] = shuffle.random_codes(rng)
                try:
                    rates[i] = _permuted_hit_rate(fit, codes, group_codes, design, rng)
                    break
                except (NotSupportedError, DataError) as error:
                    redrawn += 1
                    if redrawn > MAX_REDRAWS_PER_PERMUTATION * (design.permutations + 1):
                        raise NotSupportedError(
                            f"The model could not be fitted to {redrawn} of {i + redrawn} permutations.",
                            hint=(
                                "Use a verb that can be fitted to most labellings, such as lda(). One of the "
                                f"errors is: {error}."
                            ),
                        ) from None
            progress(1)
    # The number of labellings is an integer, within the precision of its logarithm.
    labellings = float(np.exp(min(log_labellings, 700.0)))
    labellings = round(labellings) if labellings < MAX_PERMUTATIONS else labellings
    min_pvalue = max(1 / (1 + design.permutations), 1 / labellings)
    series = pd.Series(rates, pd.RangeIndex(1, len(rates) + 1, name="permutation"), name="hit_rate")
    pvalue = resampling.permutation_pvalue(observed, rates)
    return Permutations(series, observed, pvalue, min_pvalue, labellings, units, redrawn, design.seed)


def _permutation_scheme(
    fit: FittedModel[Any], row_codes: Codes, design: PermutationDesign
) -> tuple[resampling.LabelPermutation, str]:
    """Return the permutation scheme of the used rows, and a phrase for the units that it permutes.

    Raises DataError if a group has rows of several classes or blocks, if groups that are nested in classes
    are folds, or if no permutation changes the labels.

    Parameters
    ----------
    fit : FittedModel
    row_codes : (n,) int
        Class of each row, -1 for rows that are not used.
    design : PermutationDesign

    Returns
    -------
    scheme : LabelPermutation
        Permutes the labels of whole groups or of single rows, within the blocks of `within` if it is passed.
    permuted_units : str
        "rows" or "whole groups of ...", followed by "within ..." with blocks; see `Permutations`.
    """
    table = fit.design_rows.table
    is_used = row_codes >= 0
    codes = row_codes[is_used]

    def label_codes(vector: Any, option: str) -> Codes | None:
        """Return codes (m,) of the labels of the used rows, or None if `vector` is None.

        `vector` is a column name or a label for each row of the table, and `option` its name for messages;
        see `number_labels`.
        """
        return None if vector is None else number_labels(vector, table, option, is_used)[is_used]

    groups = label_codes(design.groups, "groups")
    within = label_codes(design.within, "within")
    names = {
        name: quoted_name(vector) for name, vector in (("groups", design.groups), ("within", design.within))
    }
    if groups is None and within is None:
        _raise_if_nested_folds(design, codes, is_used)
    mixed = None if groups is None else resampling.find_mixed_unit(codes, groups)
    exchanged_groups = groups
    if mixed is not None and groups is not None:
        if within is None or resampling.find_mixed_unit(groups, within) is not None:
            a, b = (format_value(fit.classes[code]) for code in mixed[1:])
            row = table.label(int(np.flatnonzero(is_used)[np.argmax(groups == mixed[0])]))
            raise DataError(
                f"groups={names['groups']} has rows of classes {a} and {b} in one group (row {row!r}), "
                "which therefore cannot exchange one label.",
                hint="Pass them as within= to permute labels within each group.",
                rows=(row,),
            )
        exchanged_groups = None
    elif (
        exchanged_groups is not None
        and within is not None
        and resampling.find_mixed_unit(within, exchanged_groups) is not None
    ):
        raise DataError(
            f"A group of groups={names['groups']} has rows in two blocks of within={names['within']}: "
            "whole groups exchange labels within blocks.",
            hint="Leave out within=, or assign each group to one block.",
        )
    shuffle = resampling.LabelPermutation.from_codes(codes, exchanged_groups, within)
    if shuffle.log_n_labellings() < np.log(1.5):
        where = "" if within is None else f" within {names['within']}"
        raise DataError(
            f"No permutation{where} changes the labels: all exchangeable rows have the same class.",
            hint="Leave out within=, or, if whole groups have one label each, pass them as groups= instead.",
        )
    description = "rows" if exchanged_groups is None else f"whole groups of {names['groups']}"
    return shuffle, description if within is None else f"{description} within {names['within']}"


def quoted_name(vector: Any) -> str:
    """Return the quoted name of a column or Series for a message, or "the vector" for an unnamed one."""
    name = vector if isinstance(vector, str) else getattr(vector, "name", None)
    return repr(name) if isinstance(name, str) else "the vector"


def _raise_if_nested_folds(design: PermutationDesign, codes: Codes, is_used: NDArray[np.bool_]) -> None:
    """Raise DataError if each fold of the user has rows of one class, because single rows are permuted.

    Folds of one row each are valid.

    Parameters
    ----------
    design : PermutationDesign
    codes : (m,) int
        Classes of the used rows.
    is_used : (n,) bool
        Which rows are used.
    """
    if design.folds is None:
        return
    folds = design.folds[is_used]
    if len(np.unique(folds)) < len(folds) and resampling.find_mixed_unit(codes, folds) is None:
        raise DataError(
            "Each fold of folds= has rows of one class only, for example because groups are nested in "
            "classes, but labels would be permuted row by row.",
            hint=(
                f"Pass groups= instead, with folds={len(design.labels)}, to permute whole groups, or within= "
                "for the exchangeable rows."
            ),
        )


def _permuted_hit_rate(
    fit: FittedModel[Any],
    codes: Codes,
    group_codes: Codes | None,
    design: PermutationDesign,
    rng: np.random.Generator,
) -> float:
    """Cross-validate permuted labels, on new folds unless the user specified them, and return the hit rate.

    Class proportions are estimated from the permuted labels, unless the user specified the prior. Raises
    NotSupportedError or DataError if the model cannot be fitted.

    Parameters
    ----------
    fit : FittedModel
    codes : (n,) int
        Permuted classes, -1 for rows that are not used.
    group_codes : (n,) int or None
        Groups whose rows stay in one fold; None without groups.
    design : PermutationDesign
    rng : numpy.random.Generator
        Generator of the folds.
    """
    design_rows = fit.design_rows.with_codes(codes)
    used = codes >= 0
    refitted = replace(fit, design_rows=design_rows, path=None, cache={})
    counts = np.bincount(codes[used], _row_weights_or_ones(design_rows)[used], len(fit.classes))
    if fit.estimates.estimated_prior and fit.prior_in_refits != "none":
        refitted = refitted.with_prior(counts / counts.sum())
    partitions = _permuted_folds(fit, codes, group_codes, design, rng)
    required = fit.refits.required_moments(fit)
    if len(design.labels) == int(used.sum()) and required is not None:
        # Leave-one-out has a closed form, which requires the estimates for these labels.
        estimates = fit.estimates.refit(class_moments(design_rows, required))
        if estimates is not None:
            refitted = replace(refitted, estimates=replace(estimates, prior=refitted.prior))
    labels = design.labels
    nested = design.nested
    refit_prior = design.refit_prior
    predicted = []
    for fold_ids in partitions:
        scores = fold_scores(
            refitted, fold_ids, len(labels), nested=nested, labels=labels, refit_prior=refit_prior
        )
        predicted.append(best_class(scores))
    return _mean_hit_rate(refitted, codes, np.stack(predicted))


def _permuted_folds(
    fit: FittedModel[Any],
    codes: Codes,
    group_codes: Codes | None,
    design: PermutationDesign,
    rng: np.random.Generator,
) -> Codes:
    """Return folds (R, n) with similar proportions of the permuted labels, -1 for rows that are not used.

    Folds of the user are returned unchanged, with R = 1.

    Parameters
    ----------
    fit : FittedModel
    codes : (n,) int
        Permuted classes, -1 for rows that are not used.
    group_codes : (n,) int or None
        Groups whose rows stay in one fold.
    design : PermutationDesign
    rng : numpy.random.Generator
    """
    if design.folds is not None:
        return design.folds[None]
    classes = np.where(codes >= 0, codes, response_codes_of_all_rows(fit.design_rows))
    n_folds = len(design.labels)
    if group_codes is None:
        fold_ids = resampling.assign_folds(classes, n_folds, design.repeats, rng)
    else:
        fold_ids = resampling.assign_group_folds(classes, group_codes, n_folds, design.repeats, rng)
    return np.where(codes >= 0, fold_ids, -1)


def _row_weights_or_ones(design_rows: DesignRows) -> Floats:
    """Return the weights (n,) of the rows, or ones if the rows are not weighted."""
    weights = row_weights(design_rows)
    return np.ones(len(design_rows.codes)) if weights is None else weights


def _mean_hit_rate(fit: FittedModel[Any], codes: Codes, predicted: Codes) -> float:
    """Return the hit rate, averaged over repeats and weighted by the prior if the user specified one.

    Rows are weighted by their frequency weights. Rows without a prediction in some repeat are left out; NaN
    if none remains.

    Parameters
    ----------
    fit : FittedModel
    codes : (n,) int
        Actual classes, -1 for rows that are not used.
    predicted : (R, n) int
        Predicted classes in each of R repeats, -1 if missing.
    """
    is_evaluated = (codes >= 0) & (predicted >= 0).all(axis=0)
    prior = None if fit.estimates.estimated_prior else fit.prior_values()
    row_shares = EvaluatedRows(
        codes[is_evaluated],
        _row_weights_or_ones(fit.design_rows)[is_evaluated],
        len(fit.classes),
        prior,
        None,
    ).row_weights()
    hit_rates = (predicted[:, is_evaluated] == codes[is_evaluated]).mean(axis=0)
    return float(row_shares @ hit_rates / row_shares.sum()) if len(hit_rates) else np.nan
