"""Discriminant analysis by partial least squares: few directions that covary with the classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.projections.latent import Algorithm
from discrim.core.projections.pls import Decides, Indicators, PLSFit, fit_pls
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import CollinearError, DataError
from discrim.frame.asked_rows import read
from discrim.frame.blocks import Blocks
from discrim.inference.folds import drawn_seed
from discrim.models.fits.arguments import (
    check_flag,
    check_word,
    folds_or_cv,
    is_number,
    is_whole,
    prior_vector,
    told,
)
from discrim.models.fits.fit import Fit, Model, as_scored
from discrim.models.fits.reading import NaAction, class_moments, is_wide, usable_rows
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.judging.splits import Splits, read_splits
from discrim.models.moments.given import given_sample, table_given
from discrim.models.moments.moments import Moments
from discrim.models.moments.once import by_moments
from discrim.models.projections.pls_choice import Search, chosen_from, component_path, counts_of
from discrim.models.projections.pls_results import PLSResults
from discrim.models.saving.saved import Saved

__all__ = ["pls", "pls_fit"]

CHOSEN_FROM_ROWS = "Components are chosen by the rows and not by their moments: give components="

Floats = NDArray[np.float64]


@by_moments("pooled")
def pls(
    formula: str | None = None,
    data: Any = None,
    *,
    moments: Moments | None = None,
    components: int | None = None,
    rule: Decides = "lda",
    scale: bool = True,
    indicators: Indicators = "scaled",
    algorithm: Algorithm = "nipals",
    folds: int | Splits = 10,
    select: Literal["min", "1se"] = "min",
    grid: Sequence[int] | None = None,
    seed: int | None = None,
    prior: Any = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
    cv: Any = None,
) -> PLSResults:
    """Discriminant analysis by partial least squares (PLS-DA).

    The indicators of the classes are regressed on the columns by way of a few scores, each the combination
    of columns that covaries most with the classes. Columns may be collinear, and far more than rows.

    Parameters
    ----------
    formula, data, moments, weights, levels, na_action, functions
        As for `discrim.lda`. Of moments the number of components is to be given, as the choice needs the
        rows.
    components : int, optional
        How many. Chosen by cross-validation where it is not given.
    rule : {"lda", "max", "centroid"}
        Linear discriminant analysis of the scores, which has posteriors; the largest fitted indicator, as
        mixOmics' "max.dist"; or the nearest centroid of the scores, as its "centroids.dist".
    scale : bool
        Divide columns by their standard deviations over all rows (divisor N - 1), or take them as they are.
    indicators : {"scaled", "centred"}
        Divide the indicators of the classes by theirs too, which gives small classes as much say as large
        ones, as scikit-learn, mixOmics and SIMCA do; or not, as R's pls and mdatools. Of two classes it
        makes no difference.
    algorithm : {"nipals", "simpls"}
        How the columns are deflated; see Notes.
    folds : int, or iterable of (train, test)
        Folds, for the choice; or splits, as in scikit-learn: positions of rows of the table; what judges the
        fit by folds chooses anew on the same splits, without the rows of the fold.
    select : {"min", "1se"}
        The fewest components of least error; or the fewest whose error is within one standard error of it.
    grid : sequence of int, optional
        Numbers of components to try; without it 1 to 10, or to as many as there are.
    seed : int, optional
        Deals the rows to folds.
    prior : optional
        As for `discrim.lda`, of rule="lda"; the other rules have none.
    cv : optional
        Another name of `folds`, taken with a warning.

    Returns
    -------
    PLSResults

    Raises
    ------
    FormulaError, DataError, PriorError
        As for `discrim.lda`; more components than there are, an empty grid, too few rows for the folds, a
        class of one row where components are to be chosen.
    CollinearError
        The scores do not vary within classes, so that rule="lda" has no covariance of them.

    Notes
    -----
    "nipals" is PLS2 by Wold's algorithm, with X deflated, the numbers of scikit-learn's PLSRegression and of
    R's pls (oscorespls, kernelpls); "simpls" is that of de Jong, of mdatools and R's simpls. Of two classes
    they are one. In each component the largest weight in absolute value is positive.

    Programs differ in the rule as well: mixOmics offers three and favours "max.dist", mdatools calls a row
    of every class whose fitted indicator (of -1 and 1) is above 0, SIMCA cuts fitted indicators at 0.5. The
    largest fitted indicator masks a class that lies between others, as `discrim.indicator` does, and fitted
    indicators are no probabilities; LDA of the scores does not mask, has posteriors, and takes a prior. With
    as many components as columns it is `discrim.lda`, and "max" is `discrim.indicator`. Barker & Rayens
    (2003), Journal of Chemometrics 17, 166-173; Brereton & Lloyd (2014), Journal of Chemometrics 28, 213-225.

    `leave_one_out` holds the number of components; folds and bootstrap samples, of `error_rates` and
    `discrim.cross_validate`, choose it anew where it was chosen. All else is that of the rows that are left.

    Examples
    --------
    >>> from discrim import pls
    >>> from discrim.datasets import load_wine
    >>> fit = pls("cultivar ~ .", load_wine(), components=2)
    >>> fit.confusion().to_numpy().tolist()
    [[48, 0, 0], [0, 59, 0], [0, 1, 70]]
    >>> fit.vip().head(3).round(3).to_dict()
    {'proline': 1.394, 'flavanoids': 1.311, 'color_intensity': 1.253}
    """
    folds = folds_or_cv("pls", folds, cv)
    _check_options(components, rule, scale, indicators, algorithm, select)
    if prior is not None and rule != "lda":
        raise DataError(f'prior= has no part in rule="{rule}": leave it out, or pass rule="lda".')
    if moments is None:
        asked_of = table_given("pls", formula, data)
        blocks = read(*asked_of, weights=weights, levels=levels, functions=functions)
        blocks, held = usable_rows(blocks, "thin" if is_wide(blocks) else "pooled", na_action)
    else:
        blocks, held = given_sample(
            moments, "pooled", why_rows=CHOSEN_FROM_ROWS if components is None else "",
            formula=formula, data=data, weights=weights, levels=levels, functions=functions,
        )  # fmt: skip
    if held.total <= held.n_classes:
        raise CollinearError(
            f"{held.total:g} rows in {held.n_classes} classes leave nothing to tell the spread "
            "within classes by: a class has to have two rows, and weights have to count rows."
        )
    shares = prior_vector(prior, pd.Index(list(blocks.design.levels)), held.counts)
    fitted = partial(
        fit_pls, held, shares, algorithm=algorithm, scale=bool(scale), indicators=indicators, decides=rule,
        estimated_prior=prior is None,
    )  # fmt: skip
    path = search = None
    if components is None:
        # Choices in folds are made by the same seed, so that they can be made again.
        splits = () if is_number(folds) else read_splits(folds, blocks, "a number of folds")
        count: Any = len(splits) or folds
        search = Search(grid, count, drawn_seed(seed), select, splits)
        fit, path = _chosen(blocks, fitted(components=max(counts_of(search))), search)
    else:
        fit = fitted(components=int(components))
        _refuse_few(fit, int(components))
    return PLSResults(pls_fit(fit, blocks, has_rows=moments is None, search=search, path=path))


def _chosen(blocks: Blocks, fit: PLSFit, search: Search) -> tuple[PLSFit, pd.DataFrame]:
    """The fit with the components that folds choose, of one with as many as are tried."""
    _refuse_few(fit, 1)
    able = fit.components if fit.decides != "lda" else fit.spread_components()
    fit = fit.with_components(max(able, 1))
    _refuse_few(fit, 1)
    count, path = chosen_from(component_path(blocks, fit, search), search)
    return fit.with_components(count), path


def _check_options(
    components: Any, rule: Any, scale: Any, indicators: Any, algorithm: Any, select: Any
) -> None:
    """Raise a DataError for an option that is none."""
    if components is not None and not (is_whole(components) and components >= 1):
        raise DataError(f"components={told(components)}: give a number from 1 on, or None to have it chosen.")
    check_word("rule", rule, ("lda", "max", "centroid"))
    check_flag("scale", scale)
    check_word("indicators", indicators, ("scaled", "centred"))
    check_word("algorithm", algorithm, ("nipals", "simpls"))
    check_word("select", select, ("min", "1se"))


def _refuse_few(fit: PLSFit, asked: int) -> None:
    """Raise where there are fewer components than asked for, or their scores do not vary within classes."""
    if not fit.components:
        raise DataError(
            "The class means do not differ in any column, so that there is no component: name columns whose "
            "means differ in the formula."
        )
    if fit.components < asked:
        raise DataError(
            f"components={told(asked)}: these rows have {fit.components}, beyond which nothing of the "
            f"columns covaries with the classes. Give 1 to {fit.components}, or None to have it chosen."
        )
    if fit.decides == "lda" and fit.spread_components() < asked:
        able = fit.spread_components()
        fewer = f"Give components={able} or fewer, or" if able else "Pass"
        raise CollinearError(
            f"Within classes the scores of {asked} components vary along {able} directions only, so that "
            f'linear discriminant analysis of them has no covariance. {fewer} rule="max" or "centroid".'
        )


def _model(decides: Decides) -> Model:
    """What is particular to the model, by its rule."""
    no_fit = ("a class has no row, or fewer components are left", "fewer components")
    title = "Partial least squares discriminant analysis"
    if decides == "lda":
        return Model("pls", title, likelihood_of="none", no_fit=no_fit)
    return Model(
        "pls",
        title,
        likelihood_of="none",
        prior_without="none",
        no_fit=no_fit,
        instead='see fitted_values() and decision_function(), or pass rule="lda"',
        decision=as_scored,
    )


def pls_fit(
    numbers: PLSFit,
    blocks: Blocks,
    *,
    has_rows: bool = True,
    search: Search | None = None,
    path: pd.DataFrame | None = None,
) -> Fit[PLSFit]:
    """Partial least squares as one value; `search` and `path` are those of a choice of components."""
    refits = replace(moment_refits(numbers.moments.spread), left_out=_left_out)
    if search is not None:
        rule = partial(_chosen_rule, search)
        refits = replace(refits, spread=None, of_rows=rule, chosen="the number of components")
    cache = {} if path is None else {"path": path}
    return Fit(_model(numbers.decides), numbers, blocks, numbers.prior, refits, has_rows, cache)


def _chosen_rule(search: Search, fit: Fit[PLSFit], blocks: Blocks) -> Rule | None:
    moments = class_moments(blocks, fit.numbers.moments.spread)
    if (moments.rows < 1).any() or moments.total <= moments.n_classes:
        return None
    refit = fit.numbers.refit_up_to(moments, max(counts_of(search)))
    if refit is None:
        return None
    try:
        chosen, _ = _chosen(blocks, refit, search)
    except (CollinearError, DataError):
        return None
    return chosen.rule(fit.log_prior())


def _left_out(fit: Fit[PLSFit]) -> LeftOut:
    return left_out_by_refits(fit, "takes a fit a row")


def _from_file(moments: ClassMoments, prior: Floats, *, components: int, **options: Any) -> PLSFit:
    """The fit that a file's moments are of.

    Raises
    ------
    DataError
        The moments have fewer components.
    """
    check_word("algorithm", options["algorithm"], ("nipals", "simpls"))
    check_word("decides", options["decides"], ("lda", "max", "centroid"))
    check_word("indicators", options["indicators"], ("scaled", "centred"))
    if not 1 <= components <= moments.n_columns or moments.total <= moments.n_classes:
        raise DataError(f"{components} components are not those of {moments.n_columns} columns")
    fit = fit_pls(moments, prior, components=components, **options)
    _refuse_few(fit, components)
    return fit


SAVED = Saved(
    {
        "components": (int,),
        "algorithm": (str,),
        "scale": (bool,),
        "indicators": (str,),
        "decides": (str,),
        "estimated_prior": (bool,),
    },
    "pooled",
    _from_file,
    pls_fit,
    constant=True,
    structure="pinv",
    singular=True,
)
