"""The verb `cross_validate`: every row judged by rules that did not see it, on folds that models share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.progress import late_bar
from discrim.errors import DataError, NotSupportedError, warn_user
from discrim.frame.filled import response_codes
from discrim.frame.given import rows_of
from discrim.frame.used_rows import used_codes
from discrim.inference.folds import drawn_seed
from discrim.models.comparing.cross_validation_results import CrossValidation
from discrim.models.comparing.fitted import HasFit, need_fits, need_rows
from discrim.models.comparing.permuted import Permuting, check_permutations, permuted
from discrim.models.comparing.shared_folds import numbered, refuse_gone, shared_folds
from discrim.models.comparing.stepwise_anew import calling
from discrim.models.comparing.stepwise_options import verb_of
from discrim.models.fits.fit import Fit
from discrim.models.judging.validation import fold_scores
from discrim.models.registry import BY_VERB

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults

__all__ = ["cross_validate", "validated", "warn_unlabelled"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def cross_validate(
    fit: ClassifierResults | HasFit | Callable[..., Any] | str,
    folds: Any = 10,
    repeats: int = 1,
    groups: Any = None,
    seed: int | None = None,
    *,
    nested: bool = True,
    refit_prior: bool | None = None,
    permutations: int = 0,
    within: Any = None,
    formula: str | None = None,
    data: Any = None,
    options: Mapping[str, Any] | None = None,
) -> CrossValidation:
    """Cross-validate a fit: labels, posteriors and errors of rows under rules that did not see them.

    Parameters
    ----------
    fit : ClassifierResults, StepwiseResults, callable or str
        A fit of any verb, with its rows; a choice of columns by `discrim.stepwise`, which is made anew in
        each fold; a verb, or its name, with `formula` and `data`; or a function of a table that gives a fit,
        with `data`, which is called with the rows outside each fold.
    folds : int, or column name or vector of length n
        Number of folds, or the fold of each row as a label of any kind.
    repeats : int
        How often the rows are dealt to folds.
    groups : column name or vector of length n, optional
        Groups whose rows stay in one fold, as the rows of one patient have to.
    seed : int, optional
        Seed by which the rows are dealt to folds. Where it is not given, one is drawn and kept as `seed` of
        the result.
    nested : bool
        Whether what the fit has chosen (such as alpha and gamma of `rda`, a threshold, a shrinkage by
        leave-one-out, or the columns by `stepwise`) is chosen anew without each fold. A choice that is held
        has seen the rows on which it is judged.
    refit_prior : bool, optional
        Whether a prior of class proportions is estimated again without the rows left out. By default models
        of the rows within classes hold it, as R's MASS does, while `logistic`, whose constants contain it,
        and `knn` estimate it again. A prior that was given is always held. Held class proportions know the
        rows that are left out, which matters where folds are uneven by class: the summary says so.
    permutations : int
        How often the labels are shuffled and all of this is done again, for a permutation test of the hit
        rate (see Notes). By default there is no test; 999 is usual.
    within : column name or vector of length n, optional
        Blocks within which the labels are shuffled. They do not deal the folds, as `groups` does.
    formula : str, optional
        Formula of a verb.
    data : table, optional
        Table of a verb or a function. Of a function it has to be in memory, and its rows are those that are
        judged, in their order.
    options : mapping, optional
        Arguments of a verb, by name.

    Returns
    -------
    CrossValidation

    Raises
    ------
    DataError
        Folds, repeats, groups or the seed cannot be used; a class has no rows outside a fold; the labels
        cannot be shuffled as asked for; or `formula`, `data` and `options` do not go with what is judged.
    NotSupportedError
        The fit was loaded, or cannot be made without some fold; or the labels are to be shuffled of what
        takes a call in each fold.

    Warns
    -----
    DiscrimWarning
        Some rows are impossible in every class and get no label.

    Notes
    -----
    The method is that of Stone (1974, Journal of the Royal Statistical Society B 36, 111-147).

    The same rows, classes, folds, repeats, groups and seed give the same folds for every verb and formula,
    because the rows are dealt before a model drops those that miss a value. Without groups each class is
    dealt in turn. With groups each fold gets as even a share of each class as the groups allow. A row with a
    frequency weight stands for so many rows, all in one fold.

    What transforms of the formula learn from the columns (the means of `standardize`, the knots of `bs`) is
    learnt again without each fold. The levels of categories and the ends of splines are held over all folds,
    and so is the prior where `refit_prior` says so.

    A function may do what no formula says: choose columns, fill values, leave rows out. Whatever it learns
    from the rows, it learns from those outside the fold, and its fit predicts the rows of the fold as they
    are in `data`, so that new columns belong into the formula. The prior is that of each fit. A choice of
    columns that is made outside, by a person who has looked at the rows or by another program, is held
    unnoticed.

    The permutation test asks how often shuffled labels are predicted as well as the true ones. It is exact
    where the labels are shuffled as chance may have dealt them. Rows that depend on one another, such as
    calls of one animal or samples of one patient, come in two designs (Mundry & Sommer, 2007, Animal
    Behaviour 74, 965-976):

    - nested, where each animal has one class, such as a species or a sex: use ``groups="animal"``. Whole
      animals then exchange labels and stay in one fold; with ``within="site"`` they exchange labels with
      animals of the same site.
    - crossed, where each animal has rows of several classes, such as contexts: use ``within="animal"``.
      Labels are then shuffled among the rows of an animal. With ``groups="animal"`` too, rules are judged on
      animals that they did not see.

    With neither of the two, single rows exchange labels, which takes them for independent; a row with a
    weight counts as one. Unless the folds were given, they are dealt anew for the shuffled labels, and the
    prior is that of these labels, so that the same is done as for the true labels. As many folds as rows are
    leave-one-out, which models of moments have in closed form. Under `nested` the choices are made anew for
    each shuffle.

    Examples
    --------
    >>> from discrim import cross_validate, lda
    >>> from discrim.datasets import load_iris
    >>> found = cross_validate(lda("species ~ .", load_iris()), folds=5, repeats=2, seed=1)
    >>> found.table()[["estimate", "se"]].round(4)
              estimate      se
    measure
    error       0.0200   0.0114
    log loss    0.0519   0.0215
    Brier       0.0327   0.0157

    Of forty columns of noise, those that differ most are chosen, within each fold:

    >>> import numpy as np
    >>> import pandas as pd
    >>> noise = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 40))).rename(columns="x{}".format)
    >>> noise["y"] = ["a", "b"] * 30
    >>> def best(table):
    ...     means = table.groupby("y").mean()
    ...     apart = (means.loc["a"] - means.loc["b"]).abs().nlargest(3).index
    ...     return lda(f"y ~ {' + '.join(apart)}", table)
    >>> best(noise).error_rates()["estimate"].round(2).to_dict()
    {'apparent': 0.33, 'loo': 0.37}
    >>> float(cross_validate(best, data=noise, seed=1).table()["estimate"]["error"].round(2))
    0.58

    Two kinds of calls, both made by all animals: do they differ in pitch?

    >>> calls = pd.DataFrame({"pitch": [1.0, 3.1, 2.2, 4.0, 1.7, 3.9, 2.5, 4.4, 1.2, 3.3, 1.9, 3.6]})
    >>> calls["call"], calls["animal"] = ["alarm", "food"] * 6, [k for k in "abc" for _ in range(4)]
    >>> fit = lda("call ~ pitch", calls)
    >>> print(cross_validate(fit, 3, seed=1, permutations=99, within="animal").permutations)
    Permutation test of the hit rate: 1, by chance 0.5, p 0.01 (99 permutations)
    Labels are shuffled among rows within 'animal'; folds are dealt and rules fitted anew.
    p = (1 + as good or better) / (1 + permutations).
    """
    if not isinstance(nested, bool):
        raise DataError(f"nested={nested!r}: give True or False.")
    check_permutations(permutations, within)
    judged, refit_prior = _judged(fit, formula, data, options, nested, refit_prior)
    if permutations and judged.refits.called is not None:
        raise NotSupportedError(
            "permutations= shuffles the labels of a fit, and this takes a call with the table in each fold: "
            "shuffle the column of the classes yourself, and call cross_validate() with each table."
        )
    seed = drawn_seed(seed)
    found = validated(judged, folds, repeats, groups, seed, nested=nested, refit_prior=refit_prior)
    warn_unlabelled(found)
    if permutations:
        given = None if found.seed is not None else found._dealt[0]
        asked = Permuting(
            given, found._fold_labels, repeats, groups, within, permutations, seed, nested, refit_prior
        )
        found.permutations = permuted(judged, 1.0 - float(found.table()["estimate"]["error"]), asked)
    return found


def _judged(
    fit: Any, formula: Any, data: Any, options: Any, nested: bool, refit_prior: bool | None
) -> tuple[Fit[Any], bool | None]:
    """What is cross-validated, as a fit that says how it is fitted again, and what becomes of its prior.

    Raises
    ------
    DataError
        It is none, or the arguments do not go together.
    """
    whole = fit
    if not (callable(fit) or isinstance(fit, str)):
        if not (formula is None and data is None and options is None):
            raise DataError("formula=, data= and options= go with a verb: leave them out of a fit.")
    elif data is None:
        raise DataError("A verb or function needs a table: pass data=, and the formula= of a verb.")
    elif formula is not None or isinstance(fit, str):
        whole = verb_of(fit, "fit")(formula, data, **dict(options or {}))
    elif getattr(fit, "__name__", None) in BY_VERB and fit is verb_of(fit.__name__, "fit"):
        raise DataError(f"{fit.__name__}() needs a formula beside the table: pass formula=, as in 'y ~ .'.")
    elif options is not None:
        raise DataError(
            "options= go with a verb and formula=: leave them out, and bind them in the function."
        )
    else:
        if refit_prior is not None or not nested:
            raise DataError(
                "A function does all anew with the rows that are left: leave out nested= and refit_prior=."
            )
        whole = fit(data)
    if hasattr(whole, "cross_validate"):
        whole = whole.fit
    need_rows([whole], "cross_validate()")
    if not callable(fit) or formula is not None:
        own: Fit[Any] = whole._fit
        return own.choosing_anew() if nested else own, refit_prior
    return _called(fit, data, whole._fit), True


@dataclass(frozen=True, slots=True)
class _Called:
    """A function and the table that it is called with.

    Attributes
    ----------
    function : callable
    data : table
    """

    function: Callable[[Any], Any]
    data: Any

    def __call__(self, rows: Codes) -> Any:
        """The fit of the function to rows at some positions."""
        found = self.function(rows_of(self.data, rows))
        if not hasattr(found, "cross_validate"):
            need_fits([found], "cross_validate()")
        return found


def _called(function: Callable[[Any], Any], data: Any, whole: Fit[Any]) -> Fit[Any]:
    """The fit of a function to all rows of a table, judged on them, whose refits call the function.

    Raises
    ------
    DataError
        The rows have weights, and the function left some out.
    """
    blocks = whole.new_rows(data)
    weights = whole.blocks.weights
    if weights is not None and len(weights) != blocks.table.nrows:
        raise DataError(
            "The function's fit has weights, and not the rows of data=: let it keep all rows, or fit without "
            "weights=."
        )
    codes = response_codes(blocks.design, blocks.table, blocks.functions)
    own = replace(blocks, held_codes=codes, held_weights=weights)
    refits = calling(whole.refits, _Called(function, data), "", held_prior=False)
    return replace(whole, blocks=own, refits=refits, selection=None, cache={})


def validated(
    fit: Fit[Any],
    folds: Any,
    repeats: int,
    groups: Any,
    seed: int,
    *,
    nested: bool = True,
    refit_prior: bool | None = None,
) -> CrossValidation:
    """As `cross_validate`, of a seed that was drawn."""
    fit = fit.choosing_anew() if nested else fit
    blocks = fit.rows("cross_validate()")
    dealt, labels = shared_folds(blocks, folds, repeats, groups, seed)
    used = used_codes(blocks)
    dealt = np.where(used >= 0, dealt, -1)
    refuse_gone(fit, dealt, used, labels, grouped=groups is not None)
    scores = np.empty((len(dealt), len(used), len(fit.classes)))
    with late_bar(len(dealt) * len(labels), "cross-validation") as tell:
        for own, out in zip(dealt, scores, strict=True):
            out[:] = fold_scores(
                fit, own, len(labels), tell=tell, nested=nested, labels=labels, refit_prior=refit_prior
            )
    clusters = None if groups is None else numbered(groups, blocks.table, "groups")
    # Folds that were given are dealt by no seed.
    kept = seed if isinstance(folds, (int, np.integer)) else None
    return CrossValidation(
        fit, scores, dealt, labels, clusters, seed=kept, nested=nested, refit_prior=refit_prior
    )


def warn_unlabelled(found: CrossValidation, who: str = "") -> None:
    """Warn of rows that have no label."""
    if found.unlabelled:
        row = int(np.argmax((found._actual >= 0) & ~found._judged))
        first = found._fit.blocks.table.label(row)
        warn_user(
            f"{who}{found.unlabelled} row{'s have' if found.unlabelled > 1 else ' has'} no label in some "
            f"repeat (first of them {first!r}), and no figure counts them: each class is impossible there "
            "(fit with laplace=1, for example), or no row of another fold has a level of theirs (merge it "
            "with another)."
        )
