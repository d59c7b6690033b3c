"""The verb `cross_validate`: every row judged by rules that did not see it, on folds that models share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.progress import late_bar
from discrim.errors import DataError, warn_user
from discrim.frame.used_rows import used_codes
from discrim.inference.folds import drawn_seed
from discrim.models.comparing.cross_validation_results import CrossValidation
from discrim.models.comparing.fitted import need_rows
from discrim.models.comparing.permuted import Permuting, check_permutations, permuted
from discrim.models.comparing.shared_folds import numbered, refuse_gone, shared_folds
from discrim.models.fits.fit import Fit
from discrim.models.judging.validation import fold_scores

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults

__all__ = ["cross_validate", "validated", "warn_unlabelled"]

Floats = NDArray[np.float64]


def cross_validate(
    fit: ClassifierResults,
    folds: Any = 10,
    repeats: int = 1,
    groups: Any = None,
    seed: int | None = None,
    *,
    nested: bool = True,
    refit_prior: bool | None = None,
    permutations: int = 0,
    within: Any = None,
) -> CrossValidation:
    """Cross-validate a fit: labels, posteriors and errors of rows under rules that did not see them.

    Parameters
    ----------
    fit : ClassifierResults
        A fit of any verb, with its rows.
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
        Whether what the fit has chosen (such as alpha and gamma of `rda`, a threshold, or a shrinkage by
        leave-one-out) is chosen anew without each fold. A choice that is held has seen the rows on which it
        is judged.
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

    Returns
    -------
    CrossValidation

    Raises
    ------
    DataError
        Folds, repeats, groups or the seed cannot be used; a class has no rows outside a fold; or the labels
        cannot be shuffled as asked for.
    NotSupportedError
        The fit was loaded, or cannot be made without some fold.

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

    Two kinds of calls, both made by all animals: do they differ in pitch?

    >>> import pandas as pd
    >>> calls = pd.DataFrame({"pitch": [1.0, 3.1, 2.2, 4.0, 1.7, 3.9, 2.5, 4.4, 1.2, 3.3, 1.9, 3.6]})
    >>> calls["call"], calls["animal"] = ["alarm", "food"] * 6, [k for k in "abc" for _ in range(4)]
    >>> fit = lda("call ~ pitch", calls)
    >>> print(cross_validate(fit, 3, seed=1, permutations=99, within="animal").permutations)
    Permutation test of the hit rate: 1, by chance 0.5, p 0.01 (99 permutations)
    Labels are shuffled among rows within 'animal'; folds are dealt and rules fitted anew.
    p = (1 + as good or better) / (1 + permutations).
    """
    need_rows([fit], "cross_validate()")
    if not isinstance(nested, bool):
        raise DataError(f"nested={nested!r}: give True or False.")
    check_permutations(permutations, within)
    seed = drawn_seed(seed)
    found = validated(fit._fit, folds, repeats, groups, seed, nested=nested, refit_prior=refit_prior)
    warn_unlabelled(found)
    if permutations:
        given = None if found.seed is not None else found._dealt[0]
        asked = Permuting(
            given, found._fold_labels, repeats, groups, within, permutations, seed, nested, refit_prior
        )
        found.permutations = permuted(fit._fit, 1.0 - float(found.table()["estimate"]["error"]), asked)
    return found


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
