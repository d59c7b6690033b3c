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

from discrim.core.numerics.arrays import Codes, Floats, refuse_beyond_memory
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import best_class
from discrim.data.table import Table
from discrim.data.values import shown
from discrim.design.blocks import Blocks
from discrim.design.rows import strata, used_codes
from discrim.errors import DataError, NotSupportedError
from discrim.inference import resampling
from discrim.inference.calibration import JudgedRows
from discrim.models.base.displayed import displayed
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import check_whole, class_moments, is_whole, told
from discrim.models.evaluation.assessment import row_weights
from discrim.models.evaluation.validation import fold_scores

MOST_REPEATS = 10**15
"""Upper bound of repeats in the estimate of memory."""


def shared_folds(blocks: Blocks, folds: Any, repeats: int, groups: Any, seed: int) -> tuple[Codes, list[Any]]:
    """Assign the labelled rows of a table to folds.

    Parameters
    ----------
    blocks : Blocks
    folds : int, column name or (n,) array
        Number of folds F, or the fold of each row.
    repeats : int
        Number of random partitions R.
    groups : column name, (n,) array or None
        Groups whose rows stay in one fold.
    seed : int

    Returns
    -------
    fold_ids : (R, n) int
        Fold of each row, -1 for rows without a class.
    labels : list of length F
        Names of the folds.
    """
    check_whole("repeats", repeats, 1)
    refuse_beyond_memory(
        float(min(repeats, MOST_REPEATS)) * blocks.table.nrows * (1 + len(blocks.design.levels)),
        f"So many repeats of {blocks.table.nrows:,} rows, {told(repeats)},",
        "Ask for fewer repeats",
    )
    # A generator would create different folds for the next model.
    if not is_whole(seed) or seed < 0:
        raise DataError(f"seed={seed!r} is not valid.", hint="Give a whole number from 0 on, or None.")
    rng = np.random.default_rng(seed)
    classes = strata(blocks)
    known = classes >= 0
    if not isinstance(folds, (int, float, np.number)):
        if repeats > 1 or groups is not None:
            raise DataError("folds= names the fold of each row.", hint="Leave out repeats= and groups=.")
        fold_of = numbered(folds, blocks.table, "folds", known)
        labels = _fold_labels(folds, blocks.table, fold_of)
        if len(labels) < 2:
            raise DataError("folds= has one fold only.", hint="Give two or more.")
        return np.where(known, fold_of, -1)[None], labels
    resampling.check_folds(folds, int((used_codes(blocks) >= 0).sum()))
    n_folds = int(folds)
    if groups is None:
        dealt = resampling.deal(classes, n_folds, repeats, rng)
    else:
        members = numbered(groups, blocks.table, "groups", known)
        there = len(np.unique(members[known]))
        if there < folds:
            raise DataError(
                f"groups= has {there} groups, too few for folds={folds}.", hint="Ask for fewer folds."
            )
        dealt = resampling.deal_groups(classes, members, n_folds, repeats, rng)
    return dealt, list(range(1, n_folds + 1))


def _values(vector: Any, table: Table, what: str) -> pd.Series:
    """Return a column or a vector as a Series; raise DataError if the length differs from the table.

    Parameters
    ----------
    vector : str, Series or sequence
    table : Table
    what : str
        Name of the option for error messages.
    """
    if isinstance(vector, str):
        return table.column(vector)
    if isinstance(vector, pd.Series) and not vector.index.equals(table.index):
        raise DataError(
            f"The index of {what}= differs from the table's.", hint="Align them, or pass an array."
        )
    if not hasattr(vector, "__len__"):
        # An iterator would be exhausted for the next model.
        raise TypeError(f"{what}= has no length")
    values = vector if isinstance(vector, pd.Series) else pd.Series(list(vector))
    if len(values) != table.nrows:
        raise DataError(
            f"{what}= has {len(values)} values; the table has {table.nrows} rows.",
            hint="Give a value for each row.",
        )
    return values


def numbered(vector: Any, table: Table, what: str, known: NDArray[np.bool_] | None = None) -> Codes:
    """Number the labels of a vector in the order of their first appearance.

    Parameters
    ----------
    vector : str, Series or sequence
        Column name, or a label for each row.
    table : Table
    what : str
        Name of the option for error messages.
    known : (n,) bool, optional
        Rows whose label must not be missing.

    Returns
    -------
    (n,) int
        -1 for missing labels.
    """
    try:
        values = _values(vector, table, what)
        codes = np.asarray(pd.factorize(values)[0], dtype=np.intp)
    except TypeError:
        raise DataError(
            f"{what}={shorten(vector)} is not valid.",
            hint="Give a column's name or a vector, a value for each row.",
        ) from None
    missing = (codes < 0) & (True if known is None else known)
    if known is not None and missing.any():
        row = table.label(int(np.argmax(missing)))
        raise DataError(f"{what}= is missing at row {row!r}.", hint="Fill it, or drop the row.", rows=(row,))
    return codes


def _fold_labels(vector: Any, table: Table, codes: Codes) -> list[Any]:
    """Return the labels of folds of the user, in the order of their codes (n,)."""
    values = _values(vector, table, "folds")
    return [values.iloc[int(np.argmax(codes == f))] for f in range(int(codes.max()) + 1)]


REDRAWN = 10
"""Largest number of failed permutations per requested permutation, above which an error is raised."""

MOST = 10**9
"""Largest number of permutations."""


@dataclass(frozen=True, slots=True, eq=False)
class Permuting:
    """Design of a permutation test of cross-validation.

    Attributes
    ----------
    folds : (n,) int or None
        Folds of the user; None for new random folds in each permutation.
    labels : list
        Names of the folds.
    repeats : int
        Number of random partitions.
    groups, within : column name, vector or None
        Groups that exchange labels as a whole, and blocks within which labels are permuted.
    permutations : int
    seed : int
    nested : bool
        Whether choices of the fit are repeated in each fold.
    refit_prior : bool or None
        Whether class proportions are estimated without each fold.
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
    """A permutation test of the cross-validated hit rate.

    Attributes
    ----------
    rates : Series of length P
        Hit rates of the shuffled labels.
    estimate : float
        Hit rate of the true labels.
    pvalue : float
        (1 + b) / (1 + P), with b the number of rates that are as large or larger.
    least : float
        Approximate lower bound of p: 1 / (1 + P), or one over the number of labellings if these are so few
        that the true one is often drawn. If m classes of equal size can exchange their names, m! labellings
        have the same hit rate, and p is at least m! times the bound.
    labellings : float
        Number of different labellings that a permutation can produce.
    shuffled : str
        Description of the units that exchanged labels.
    redrawn : int
        Number of shuffles that were drawn again, because the model could not be fitted without some fold.
    seed : int
        Seed of the shuffles.
    """

    rates: pd.Series
    estimate: float
    pvalue: float
    least: float
    labellings: float
    shuffled: str
    redrawn: int
    seed: int

    @property
    @displayed(every="share")
    def table(self) -> pd.DataFrame:
        """One row: hit rate, its mean and 95% quantile by chance, p, smallest p, number of permutations."""
        row = {
            "estimate": self.estimate,
            "by_chance": float(self.rates.mean()),
            "quantile_95": float(self.rates.quantile(0.95)),
            "p": self.pvalue,
            "least_p": self.least,
            "permutations": len(self.rates),
        }
        return pd.DataFrame([row], index=["hit rate"])

    def notes(self) -> list[str]:
        """Return sentences on the permuted units and the assumptions of the p-value."""
        few = self.least > 1 / (1 + len(self.rates))
        sentences = [f"Labels are shuffled among {self.shuffled}; folds are dealt and rules fitted anew."]
        if few:
            sentences.append(
                f"There are {self.labellings:.0f} labellings only: p is about {self.least:.2g} at least, and "
                "twice that where two classes of one size can exchange their names."
            )
        if self.redrawn:
            sentences.append(f"{self.redrawn} shuffles without a rule in some fold were drawn again.")
        sentences.append("p = (1 + as good or better) / (1 + permutations).")
        return sentences

    def __repr__(self) -> str:
        return (
            f"Permutation test of the hit rate: {self.estimate:.4g}, by chance {self.rates.mean():.4g}, "
            f"p {self.pvalue:.3g} ({len(self.rates)} permutations)\n" + "\n".join(self.notes())
        )


def check_permutations(permutations: Any, within: Any) -> None:
    """Raise DataError if the number of permutations is not valid, or `within` is passed without any."""
    check_whole("permutations", permutations, 0, MOST, also=", such as 999")
    if within is not None and not permutations:
        raise DataError(
            "within= says within what labels are shuffled, and no labels are shuffled.",
            hint="Pass permutations=999 too.",
            options={"permutations": 999},
        )


def permuted_hit_rates(fit: FittedModel[Any], seen: float, design: Permuting) -> Permutations:
    """Compute hit rates of permuted labels and the p-value of the observed one.

    Parameters
    ----------
    fit : FittedModel
    seen : float
        Hit rate of the true labels.
    design : Permuting

    Returns
    -------
    Permutations
    """
    blocks = fit.rows("permutations=")
    used = used_codes(blocks)
    shuffle, words = _shuffle(fit, used, design)
    logs = shuffle.log_labellings()
    members = None if design.groups is None else numbered(design.groups, blocks.table, "groups")
    # A separate random stream, on which the folds of the true labels do not depend.
    rng = np.random.default_rng([design.seed, 1])
    rates = np.empty(design.permutations)
    redrawn = 0
    with Progress(design.permutations, "permutations") as progress:
        for i in range(design.permutations):
            while True:
                codes = used.copy()
                codes[used >= 0] = shuffle.codes(rng)
                try:
                    rates[i] = _hit_rate(fit, codes, members, design, rng)
                    break
                except (NotSupportedError, DataError) as error:
                    redrawn += 1
                    if redrawn > REDRAWN * (design.permutations + 1):
                        raise NotSupportedError(
                            f"{redrawn} of {i + redrawn} shuffles leave no rule.",
                            hint=(
                                "Use a verb that has one for most labels, such as lda(). One of them "
                                f"says: {error}."
                            ),
                        ) from None
            progress(1)
    # The number of labellings is an integer, within the precision of its logarithm.
    labellings = float(np.exp(min(logs, 700.0)))
    labellings = round(labellings) if labellings < MOST else labellings
    least = max(1 / (1 + design.permutations), 1 / labellings)
    series = pd.Series(rates, pd.RangeIndex(1, len(rates) + 1, name="permutation"), name="hit_rate")
    pvalue = resampling.permutation_pvalue(seen, rates)
    return Permutations(series, seen, pvalue, least, labellings, words, redrawn, design.seed)


def _shuffle(fit: FittedModel[Any], used: Codes, design: Permuting) -> tuple[resampling.Shuffle, str]:
    """Return the permutation scheme that `groups` and `within` describe, and its description.

    Parameters
    ----------
    fit : FittedModel
    used : (n,) int
        Class of each row, -1 for rows that are not used.
    design : Permuting
    """
    table = fit.design_rows.table
    known = used >= 0
    codes = used[known]

    def of(vector: Any, what: str) -> Codes | None:
        return None if vector is None else numbered(vector, table, what, known)[known]

    groups = of(design.groups, "groups")
    within = of(design.within, "within")
    named = {what: called(vector) for what, vector in (("groups", design.groups), ("within", design.within))}
    if groups is None and within is None:
        _refuse_nested_folds(design, codes, known)
    mixed = None if groups is None else resampling.mixed_unit(codes, groups)
    units = groups
    if mixed is not None and groups is not None:
        if within is None or resampling.mixed_unit(groups, within) is not None:
            a, b = (shown(fit.classes[code]) for code in mixed[1:])
            row = table.label(int(np.flatnonzero(known)[np.argmax(groups == mixed[0])]))
            raise DataError(
                f"groups={named['groups']} has rows of classes {a} and {b} in one group (row {row!r}), "
                "so that it has no one label to exchange.",
                hint="Pass the same as within= to shuffle labels within each group.",
                rows=(row,),
            )
        units = None
    elif units is not None and within is not None and resampling.mixed_unit(within, units) is not None:
        raise DataError(
            f"A group of groups={named['groups']} has rows in two blocks of within={named['within']}: "
            "whole groups exchange labels within blocks.",
            hint="Leave out within=, or give each group one block.",
        )
    shuffle = resampling.Shuffle.of(codes, units, within)
    if shuffle.log_labellings() < np.log(1.5):
        where = "" if within is None else f" within {named['within']}"
        raise DataError(
            f"Every shuffle{where} gives the labels that were seen, because all there are of one class.",
            hint=(
                "Leave out within=, or, where whole groups are labelled, pass them as groups= in its place."
            ),
        )
    words = "rows" if units is None else f"whole groups of {named['groups']}"
    return shuffle, words if within is None else f"{words} within {named['within']}"


def called(vector: Any) -> str:
    """Return the quoted name of a vector for a message."""
    name = vector if isinstance(vector, str) else getattr(vector, "name", None)
    return repr(name) if isinstance(name, str) else "the vector given"


def _refuse_nested_folds(design: Permuting, codes: Codes, known: NDArray[np.bool_]) -> None:
    """Raise DataError if each fold of the user has rows of one class, because single rows are permuted.

    Parameters
    ----------
    design : Permuting
    codes : (m,) int
        Classes of the used rows.
    known : (n,) bool
        Which rows are used.
    """
    if design.folds is None:
        return
    folds = design.folds[known]
    if len(np.unique(folds)) < len(folds) and resampling.mixed_unit(codes, folds) is None:
        raise DataError(
            "Each fold that folds= gives has rows of one class only, as groups nested in classes are, "
            "and labels would be shuffled row by row.",
            hint=(
                f"Pass groups= in its place, with folds={len(design.labels)}, to shuffle whole groups; "
                "or within= to say what is alike."
            ),
        )


def _hit_rate(
    fit: FittedModel[Any], codes: Codes, members: Codes | None, design: Permuting, rng: np.random.Generator
) -> float:
    """Cross-validate permuted labels, on new folds, and return the hit rate.

    Parameters
    ----------
    fit : FittedModel
    codes : (n,) int
        Permuted classes, -1 for rows that are not used.
    members : (n,) int or None
        Groups whose rows stay in one fold.
    design : Permuting
    rng : numpy.random.Generator
    """
    blocks = fit.design_rows.with_codes(codes)
    used = codes >= 0
    refitted = replace(fit, design_rows=blocks, path=None, cache={})
    counts = np.bincount(codes[used], _weights(blocks)[used], len(fit.classes))
    if fit.estimates.estimated_prior and fit.prior_in_refits != "none":
        refitted = refitted.under(counts / counts.sum())
    dealt = _folds(fit, codes, members, design, rng)
    required = fit.refits.required_moments(fit)
    if len(design.labels) == int(used.sum()) and required is not None:
        # Leave-one-out has a closed form, which requires the estimates for these labels.
        numbers = fit.estimates.refit(class_moments(blocks, required))
        if numbers is not None:
            refitted = replace(refitted, estimates=replace(numbers, prior=refitted.prior))
    labels = design.labels
    nested = design.nested
    refit_prior = design.refit_prior
    predicted = []
    for fold_of in dealt:
        scores = fold_scores(
            refitted, fold_of, len(labels), nested=nested, labels=labels, refit_prior=refit_prior
        )
        predicted.append(best_class(scores))
    return _rate(refitted, codes, np.stack(predicted))


def _folds(
    fit: FittedModel[Any], codes: Codes, members: Codes | None, design: Permuting, rng: np.random.Generator
) -> Codes:
    """Return folds (R, n) for permuted labels, -1 for rows that are not used.

    Parameters
    ----------
    fit : FittedModel
    codes : (n,) int
        Permuted classes, -1 for rows that are not used.
    members : (n,) int or None
        Groups whose rows stay in one fold.
    design : Permuting
    rng : numpy.random.Generator
    """
    if design.folds is not None:
        return design.folds[None]
    classes = np.where(codes >= 0, codes, strata(fit.design_rows))
    n_folds = len(design.labels)
    if members is None:
        dealt = resampling.deal(classes, n_folds, design.repeats, rng)
    else:
        dealt = resampling.deal_groups(classes, members, n_folds, design.repeats, rng)
    return np.where(codes >= 0, dealt, -1)


def _weights(blocks: Blocks) -> Floats:
    """Return the weights (n,) of the rows, one by default."""
    weights = row_weights(blocks)
    return np.ones(len(blocks.codes)) if weights is None else weights


def _rate(fit: FittedModel[Any], codes: Codes, predicted: Codes) -> float:
    """Return the hit rate, averaged over repeats and weighted by a prior of the user.

    Parameters
    ----------
    fit : FittedModel
    codes : (n,) int
        Actual classes.
    predicted : (R, n) int
        Predicted classes in each repeat, -1 if missing.
    """
    judged = (codes >= 0) & (predicted >= 0).all(axis=0)
    prior = None if fit.estimates.estimated_prior else fit.prior_values()
    shares = JudgedRows(
        codes[judged], _weights(fit.design_rows)[judged], len(fit.classes), prior, None
    ).shares()
    right = (predicted[:, judged] == codes[judged]).mean(axis=0)
    return float(shares @ right / shares.sum()) if len(right) else np.nan
