"""Methods `update` and `learning_curve` of fitted classifiers.

`update` refits with another formula, other rows or options, or adds a batch of new rows to the moments of the
fit. `learning_curve` refits to subsets of the rows, see `discrim.models.selection.learning`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, Self, cast

from discrim.core.moments.row_sums import ScatterType
from discrim.errors import DataError, DiscrimWarning, EmptyClassWarning, NotSupportedError, PriorError
from discrim.formula.grammar import update_formula
from discrim.models.base.available import available_if
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import FittedResults, needs_rows
from discrim.models.base.reading import Data, join_labels
from discrim.models.base.refits import argument_defaults, refit_options
from discrim.models.moments.moments import Moments, Scatters, moments, moments_of_fit
from discrim.models.registry import BY_MODEL, ModelEntry, resolve

MOMENTS_CACHE_KEY = "moments"
"""Key in the cache of a fit of the `Moments` of its rows and of all batches added by `update(batch)`."""

SCATTERS: dict[ScatterType, Scatters] = {
    "pooled": "pooled", "thin": "pooled", "class": "class", "thin class": "class", "diagonal": "diagonal",
}  # fmt: skip
"""Option `scatters` of `moments` by the kind of scatter matrices in a fit."""


class UpdateMethods(FittedResults):
    """Mixin of results with `update` and `learning_curve`."""

    def update(
        self,
        formula: str | Data | None = None,
        data: Data | None = None,
        *,
        batch: Data | None = None,
        **changes: Any,
    ) -> Self:
        """Refit with a batch of new rows added, or with another formula, other rows or other options.

        `update(batch)` adds: the result is a fit to all rows so far, and rows of the batch may be of new
        classes. `update(formula, data=rows)` replaces, like `update` in R: the verb is called again with
        these arguments changed.

        Parameters
        ----------
        formula : str, or a batch, optional
            Another formula, in which `.` stands for that side of the formula of the fit: `". ~ . - x"`.
            Without a response it has the response of the fit. A table passed here is a batch.
        data : table, optional
            Other rows to fit instead of the rows of the fit.
        batch : table or source of tables, optional
            New rows, to be added to the rows of the fit; a path to a file has to be passed by this keyword,
            because a positional str is a formula. Cannot be combined with a formula or `data`.
        **changes
            Arguments of the verb to change. The others keep the values of the fit, except `na_action`;
            options that were chosen by the rows, such as a tuning parameter, are chosen again. With a batch,
            `weights` and `na_action` apply to its rows, and `levels` is the order of all classes.

        Returns
        -------
        ClassifierResults
            Results of the verb. After a batch they contain moments but no rows: methods that need rows
            require `data=`.

        Raises
        ------
        DataError
            The fit has weights, and other rows come without; or the batch has a level of a category that the
            fit has not seen.
        PriorError
            The batch has a new class that is not in the prior of the fit: pass `prior`.
        NotSupportedError
            The fit lacks rows, because it was loaded or made of moments: pass `data`. Or a batch is added to
            a model that is not a function of moments, or to a fit that does not contain all of its moments.
        DiscrimError, TypeError
            Errors of the verb.

        Notes
        -----
        A batch is added by the moments of `discrim.moments`. The fit therefore equals a fit to all rows at
        once up to rounding, in any order of the batches, at a cost that does not depend on the number of
        earlier rows: streaming linear discriminant analysis (Hayes & Kanan, 2020, CVPR Workshops) with every
        covariance exact. Values that the formula learned from the first rows, such as the centre of
        `center(x)`, do not change. New classes follow the classes of the fit, sorted or in the order of their
        categories. Class proportions are computed from all rows, and equal priors stay equal. For classes
        that drift, `0.99 * moments` forgets: see `Moments`.

        Examples
        --------
        >>> import discrim
        >>> fit = discrim.lda("species ~ .", "iris")
        >>> less = fit.update(". ~ . - petal_width", prior="equal")
        >>> less.formula, less.terms.tolist()
        ('species ~ . - petal_width', ['sepal_length', 'sepal_width', 'petal_length'])

        Two species, and a third that comes later:

        >>> iris = discrim.datasets.load_iris()
        >>> two = discrim.lda("species ~ .", iris[:100].astype({"species": str}))
        >>> three = two.update(iris[100:])
        >>> three.counts.to_dict()
        {'setosa': 50, 'versicolor': 50, 'virginica': 50}
        >>> bool(abs(three.means - fit.means).max(axis=None) < 1e-12)
        True
        """
        results: Any = self
        if batch is not None or not isinstance(formula, str | int | float | None):
            batches = [argument for argument in (formula, data, batch) if argument is not None]
            if len(batches) > 1:
                raise DataError(
                    "update() with a batch cannot be combined with a formula or other rows.",
                    hint="Call update() twice.",
                )
            return cast("Self", _refit_with_batch(results, batches[0], changes))
        fit = results._fit
        options = refit_options(results, rechoose=True)
        if formula is None or str(formula).lstrip()[:1] in (".", "~"):
            design = fit.design_rows.design
            categories = None if design.labels is None else design.labels.categories
            natural: list[Any] = sorted(
                design.levels, key=None if categories is None else list(categories).index
            )
            if natural != list(design.levels):
                options["levels"] = list(design.levels)
        if data is None:
            design_rows = fit.require_rows("update()", "pass data=")
            rows = design_rows.table.data if design_rows.rows.source_description else design_rows.table
            if design_rows.has_weights:
                column = design_rows.rows.weight_column(
                    (*design_rows.design.columns, *design_rows.design.response_columns)
                )
                options["weights"] = column or design_rows.weights
        elif fit.design_rows.has_weights and "weights" not in changes:
            raise DataError(
                "The fit has weights, and the new rows have none.",
                hint="Pass weights= of these rows, or weights=None.",
            )
        else:
            rows = data
        text = fit.formula if formula is None else update_formula(formula, fit.formula)
        row = BY_MODEL[results._spec.name]
        verb = resolve(f"{row.module}:{row.verb}")
        refitted = verb(text, rows, **options | changes)
        if data is None and fit.selection is not None:
            refitted._fit = replace(refitted._fit, selection=replace(fit.selection, unselected_fit=None))
        return cast("Self", refitted)

    @available_if(needs_rows("learning_curve()"))
    def learning_curve(
        self,
        sizes: Sequence[float] | None = None,
        repeats: int = 10,
        groups: Any = None,
        seed: int | None = None,
        *,
        nested: bool = True,
        level: float = 0.95,
    ) -> Any:
        """Held-out error by the size of the training set, with a fitted power law.

        Parameters
        ----------
        sizes : sequence of float, optional
            Approximate shares of the rows to which rules are fitted: 1/J is one of J equal parts, and 1 - 1/J
            is all parts except one. By default from 1/10 to 9/10.
        repeats : int
            Number of random partitions of the rows.
        groups : column name or vector of length n, optional
            Groups whose rows stay in one part, for example the rows of one patient.
        seed : int, optional
            Seed of the partitions. By default one is drawn and stored as `seed` of the result.
        nested : bool
            Whether choices of the fit, such as a tuning parameter, are repeated for each rule. A fixed choice
            has already used the rows on which the rule is evaluated.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        LearningCurve
            `table` has the errors, `params` the parameters of a + b n^-c, `predict(rows)` the error expected
            for other numbers of rows, `rows_for(error)` the number of rows needed for an error.

        Raises
        ------
        DataError
            Sizes, repeats, groups or the seed cannot be used.
        NotSupportedError
            The fit lacks rows, or rules can be fitted to fewer than three of the sizes.

        Notes
        -----
        Parts are stratified by class. The power law follows Mukherjee et al. (2003, Journal of
        Computational Biology 10, 119-142) and Figueroa et al. (2012, BMC Medical Informatics and Decision
        Making 12, 8), by least squares with the weights 1/se^2; a and b are not negative, and c is from 0.05
        to 4. Intervals are from 200 bootstrap samples of the held-out rows, or of their groups, for
        fixed rules. Extrapolation to more rows assumes that the errors follow the law; for LDA and normal
        classes it is about right with c = 1.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_iris
        >>> curve = lda("species ~ .", load_iris()).learning_curve(repeats=3, seed=1)
        >>> curve.table.index.tolist()
        [15, 30, 50, 75, 100, 120, 135]
        """
        make: Any = resolve("discrim.models.selection.learning:learning_curve")
        return make(self._fit, sizes, repeats, groups, seed, level, nested=nested)


def _refit_with_batch(results: Any, batch: Data, changes: Mapping[str, Any]) -> Any:
    """Fit the verb again to the moments of the rows of a fit and of a batch.

    Parameters
    ----------
    results : ClassifierResults
        The fit to which rows are added.
    batch : table or source of tables
        New rows with their response.
    changes : mapping of str to object
        Arguments of the verb that differ from the arguments of the fit.

    Returns
    -------
    ClassifierResults
        Results of the verb, without rows; the moments are kept in their cache for the next batch.

    Raises
    ------
    NotSupportedError
        The model is not fitted to moments, or the moments of the fit are not available.
    PriorError
        The batch has new classes that the prior of the fit lacks.
    DataError
        `moments` or `functions` is among the changes, or the classes do not match; see `_moments_with_batch`.
    """
    row = BY_MODEL[results._spec.name]
    verb = resolve(f"{row.module}:{row.verb}")
    changes = dict(changes)
    if MOMENTS_CACHE_KEY not in argument_defaults(row):
        _raise_batch_not_supported(f"{row.verb}() is not fitted to moments")
    for name in (MOMENTS_CACHE_KEY, "functions"):
        if name in changes:
            raise DataError(
                f"update(batch) cannot be combined with {name}=, which are taken from the fit.",
                hint=f"Leave out {name}=.",
            )
    total = _moments_with_batch(
        results._fit, row, batch, changes.pop("levels", None),
        weights=changes.pop("weights", None), na_action=changes.pop("na_action", "drop"),
    )  # fmt: skip
    options = refit_options(results, rechoose=True) | changes
    options.pop("functions", None)
    try:
        refitted = verb(moments=total, **options)
    except PriorError as error:
        if "prior" in changes or set(total.classes) <= set(results.classes):
            raise
        raise PriorError(
            f"{error} The batch has new classes.",
            hint="Pass prior= to update(), with a probability for each class.",
        ) from None
    except NotSupportedError as error:
        _raise_batch_not_supported(error.message.removesuffix("."))
    refitted._fit.cache[MOMENTS_CACHE_KEY] = total
    return refitted


def _moments_with_batch(
    fit: FittedModel[Any], row: ModelEntry, batch: Data, levels: Sequence[Any] | None, **reading: Any
) -> Moments:
    """Add the moments of a batch to the moments of a fit, over the classes of both.

    Parameters
    ----------
    fit : FittedModel
    row : ModelEntry
        Entry of the model in the registry.
    batch : table or source of tables
        New rows with their response.
    levels : sequence or None
        Order of all classes; by default the classes of the fit, followed by the new ones.
    **reading
        `weights` and `na_action` of the batch.

    Returns
    -------
    Moments
        Moments of the rows of both, whose classes are declared in the order of `levels`.

    Raises
    ------
    DataError
        Classes of the fit and new ones are of different types, or `levels` lacks a class or repeats one.
    """
    fit_moments = replace(_moments_of_fit(fit, row), _levels_given=False)
    with warnings.catch_warnings():
        # A batch may lack rows of some classes.
        warnings.simplefilter("ignore", EmptyClassWarning)
        batch_moments = fit_moments.of(batch, **reading)
    fit_levels = list(fit_moments._design.levels)
    order = fit_levels + [label for label in batch_moments._design.levels if label not in set(fit_levels)]
    if len({isinstance(label, str) for label in order}) > 1:
        raise DataError(
            f"The classes of the fit, {join_labels(fit_levels)}, and the new classes, "
            f"{join_labels(order[len(fit_levels) :])}, have different types, text and numbers.",
            hint="Convert them to one type.",
        )
    if levels is not None:
        missing = [label for label in order if label not in set(levels)]
        if missing:
            raise DataError(
                f"levels= lacks the classes {join_labels(missing)}.",
                hint="Name all classes in their order.",
                classes=missing,
            )
        order = list(levels)
        if len(set(order)) < len(order):
            raise DataError(f"levels= has a level twice: {order}.", hint="Name each level once.")
    return fit_moments._with_declared_classes(tuple(order)) + batch_moments._with_declared_classes(
        tuple(order)
    )


def _moments_of_fit(fit: FittedModel[Any], row: ModelEntry) -> Moments:
    """Return the `Moments` of the rows of a fit.

    They come from the cache after an earlier batch, from the estimates if the fit does not have its rows, or
    else from a pass over the rows. NotSupportedError is raised if the estimates lack dropped columns or
    categories. `row` is the entry of the model in the registry, whose verb the message names.
    """
    if MOMENTS_CACHE_KEY in fit.cache:
        stored: Moments = fit.cache[MOMENTS_CACHE_KEY]
        return stored
    scatters = SCATTERS[fit.estimates.moments.scatter_type]
    design_rows = fit.design_rows
    if not fit.has_rows:
        fit_moments = moments_of_fit(fit, scatters)
        if fit_moments is None:
            raise NotSupportedError(
                "update(batch) requires the moments of all columns. This fit, which was loaded, unpickled, "
                "made by an estimator or computed from moments, lacks them for dropped columns or "
                "categories.",
                hint=(
                    f"Store discrim.moments() of the rows, and fit {row.verb}(moments=total + "
                    "total.of(batch))."
                ),
            )
        return fit_moments
    design_rows = fit.require_rows("update()")
    column = design_rows.rows.weight_column(
        (*design_rows.design.columns, *design_rows.design.response_columns)
    )
    rows: Any = design_rows.table.data if design_rows.rows.source_description else design_rows.table
    with warnings.catch_warnings():
        # The fit has already issued the warnings about these rows.
        warnings.simplefilter("ignore", DiscrimWarning)
        return moments(
            fit.formula,
            rows,
            weights=(column or design_rows.weights) if design_rows.has_weights else None,
            scatters=scatters,
            levels=list(design_rows.design.levels),
            functions=dict(design_rows.functions),
        )


def _raise_batch_not_supported(reason: str) -> NoReturn:
    """Raise NotSupportedError for a model to which a batch cannot be added.

    `reason` is a sentence without full stop.
    """
    raise NotSupportedError(
        f"{reason}. update(batch) requires a model that is fitted to moments.",
        hint=(
            "Pass all rows: fit.update(data=pd.concat([table, batch])), or use options that do not choose "
            "parameters from the rows."
        ),
    ) from None
