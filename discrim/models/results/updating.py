"""A fit made again: of other columns, rows or options, or of its rows and a batch of new ones."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, Self, cast

from discrim.core.moments.row_sums import Spread
from discrim.errors import DataError, DiscrimWarning, EmptyClassWarning, NotSupportedError, PriorError
from discrim.formula.grammar import updated
from discrim.models.base.available import available_if
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import FittedResults, needs_rows
from discrim.models.base.reading import Data, listed
from discrim.models.base.refits import argument_defaults, options_of
from discrim.models.moments.moments import Moments, Scatters, moments, of_fit
from discrim.models.registry import BY_MODEL, ModelEntry, resolve

MOMENTS = "moments"
"""Where the cache of a fit has the moments that it was made of by a batch."""

SCATTERS: dict[Spread, Scatters] = {
    "pooled": "pooled", "thin": "pooled", "class": "class", "thin class": "class", "diagonal": "diagonal",
}  # fmt: skip
"""What moments hold of what a fit holds of the scatter."""


class Updating(FittedResults):
    """A fit that is made again of other columns, rows or options, or of more rows."""

    def update(
        self,
        formula: str | Data | None = None,
        data: Data | None = None,
        *,
        batch: Data | None = None,
        **changes: Any,
    ) -> Self:
        """The fit with a batch of new rows added; or with another formula, other rows or other options.

        `update(batch)` adds: the fit is then that of all rows so far, and those of the batch may be of new
        classes. `update(formula, data=rows)` replaces, as R's `update`: the verb is called again with what
        is said here.

        Parameters
        ----------
        formula : str, or a batch, optional
            Another formula, in which `.` stands for what the fit has on that side, as in `". ~ . - x"`.
            Without a response it has that of the fit. A table in its place is a batch.
        data : table, optional
            Other rows, as of the verb, in the place of those of the fit. Without it, the rows of the fit.
        batch : table or source of tables, optional
            New rows, to be added to those of the fit; a path to a file has to be named so, as any text
            without a name is a formula. It goes with no formula and no `data`.
        **changes
            Arguments of the verb. What is not among them stays as it was given, but for `na_action`; what the
            rows chose, such as a tuning parameter, is chosen anew. With a batch, `weights` and `na_action`
            are of its rows, and `levels` is the order of all classes.

        Returns
        -------
        ClassifierResults
            Those of the verb. After a batch they hold moments and no rows, so that what needs rows takes them
            as `data=`.

        Raises
        ------
        DataError
            The fit has weights, and other rows come without; or the batch has a level of a category that the
            fit has not seen.
        PriorError
            The batch has a new class, and the prior that was given does not name it: pass `prior`.
        NotSupportedError
            The fit has no rows, because it was loaded or made of moments: pass `data`. Or a batch is for a
            model that is no function of moments, or for a fit that does not hold all of its moments.
        DiscrimError, TypeError
            Those of the verb.

        Notes
        -----
        A batch is added by the moments of `discrim.moments`, so that the fit is that of all rows at once but
        for rounding, whatever the order in which they come, and costs no more for the rows that went before:
        streaming linear discriminant analysis (Hayes & Kanan, 2020, CVPR Workshops) with every covariance
        exact. What the formula learnt of the first rows, such as the centre of `center(x)`, stays. Classes
        have the order of the fit, and after them those that are new, sorted or in the order of their
        categories. Class proportions are those of all rows, and equal priors stay equal, in whatever form
        they were given. For classes that drift, `0.99 * moments` forgets: see `Moments`.

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
            batches = [each for each in (formula, data, batch) if each is not None]
            if len(batches) > 1:
                raise DataError(
                    "update() adds a batch, or takes a formula or other rows in the place of the fit's.",
                    hint="Do one after the other.",
                )
            return cast("Self", _with_batch(results, batches[0], changes))
        fit = results._fit
        given = options_of(results, anew=True)
        if formula is None or str(formula).lstrip()[:1] in (".", "~"):
            design = fit.design_rows.design
            categories = None if design.labels is None else design.labels.categories
            natural: list[Any] = sorted(
                design.levels, key=None if categories is None else list(categories).index
            )
            if natural != list(design.levels):
                given["levels"] = list(design.levels)
        if data is None:
            blocks = fit.rows("update()", "pass data=")
            rows = blocks.table.data if blocks.rows.read_from else blocks.table
            if blocks.weighted:
                column = blocks.rows.weight_column((*blocks.design.columns, *blocks.design.response_columns))
                given["weights"] = column or blocks.weights
        elif fit.design_rows.weighted and "weights" not in changes:
            raise DataError(
                "The fit has weights.", hint="Pass weights= of these rows as well, or weights=None."
            )
        else:
            rows = data
        text = fit.formula if formula is None else updated(formula, fit.formula)
        row = BY_MODEL[results._spec.name]
        verb = resolve(f"{row.module}:{row.verb}")
        made = verb(text, rows, **given | changes)
        if data is None and fit.selection is not None:
            made._fit = replace(made._fit, selection=replace(fit.selection, anew=None))
        return cast("Self", made)

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
        """Errors of rows left out by the number of rows that are fitted, and their law.

        Parameters
        ----------
        sizes : sequence of float, optional
            Shares of the rows to which rules are fitted, about: 1/J of them are one of J equal parts, and 1 -
            1/J all parts but one. By default from 1/10 to 9/10.
        repeats : int
            How often the rows are dealt to parts.
        groups : column name or vector of length n, optional
            Groups whose rows stay in one part, as the rows of one patient have to.
        seed : int, optional
            Seed by which the rows are dealt. If it is not given, one is drawn and kept as `seed` of the
            result.
        nested : bool
            Whether what the fit has chosen is chosen anew for each rule. A choice that is held has seen the
            rows on which it is judged.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        LearningCurve
            `table` has the errors, `params` the law a + b n^-c, `predict(rows)` what it says of other numbers
            of rows, `rows_for(error)` how many rows an error takes.

        Raises
        ------
        DataError
            Sizes, repeats, groups or the seed cannot be used.
        NotSupportedError
            The fit has no rows, or rules can be fitted to fewer than three of the sizes.

        Notes
        -----
        Each class has its share of each part. The law is that of Mukherjee et al. (2003, Journal of
        Computational Biology 10, 119-142) and Figueroa et al. (2012, BMC Medical Informatics and Decision
        Making 12, 8), by least squares with the weights 1/se^2; a and b are not negative, and c is from 0.05
        to 4. Intervals are those of 200 samples of the judged rows, or of their groups, with replacement, for
        rules as they are. That errors follow the law beyond the rows there are is an assumption, which holds
        for normal classes and LDA about as c = 1.

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


def _with_batch(results: Any, batch: Data, changes: Mapping[str, Any]) -> Any:
    """What the verb gives of the rows of a fit and those of a batch, by their moments."""
    row = BY_MODEL[results._spec.name]
    verb = resolve(f"{row.module}:{row.verb}")
    changes = dict(changes)
    if MOMENTS not in argument_defaults(row):
        _refuse_without_rows(f"{row.verb}() is no function of moments")
    for name in (MOMENTS, "functions"):
        if name in changes:
            raise DataError(
                f"update(batch) has no {name}=: those of the fit are added to.", hint="Leave it out."
            )
    whole = _added(
        results._fit, row, batch, changes.pop("levels", None),
        weights=changes.pop("weights", None), na_action=changes.pop("na_action", "drop"),
    )  # fmt: skip
    given = options_of(results, anew=True) | changes
    given.pop("functions", None)
    try:
        made = verb(moments=whole, **given)
    except PriorError as error:
        if "prior" in changes or set(whole.classes) <= set(results.classes):
            raise
        raise PriorError(
            f"{error} The batch has new classes.",
            hint="Pass prior= to update(), with a probability for each class.",
        ) from None
    except NotSupportedError as error:
        _refuse_without_rows(error.message.removesuffix("."))
    made._fit.cache[MOMENTS] = whole
    return made


def _added(
    fit: FittedModel[Any], row: ModelEntry, batch: Data, levels: Sequence[Any] | None, **reading: Any
) -> Moments:
    """The moments of the rows of a fit and those of a batch, with the classes of both in order."""
    before = replace(_moments_so_far(fit, row), _levels_given=False)
    with warnings.catch_warnings():
        # That a batch has no rows of some classes is nothing to be warned of.
        warnings.simplefilter("ignore", EmptyClassWarning)
        more = before.of(batch, **reading)
    known = list(before._design.levels)
    order = known + [label for label in more._design.levels if label not in set(known)]
    if len({isinstance(label, str) for label in order}) > 1:
        raise DataError(
            f"The classes of the fit, {listed(known)}, and those that are new, "
            f"{listed(order[len(known) :])}, are text and numbers.",
            hint="Write them alike.",
        )
    if levels is not None:
        missing = [label for label in order if label not in set(levels)]
        if missing:
            raise DataError(
                f"levels= does not name {listed(missing)}.", hint="Name all classes in their order."
            )
        order = list(levels)
        if len(set(order)) < len(order):
            raise DataError(f"levels= names a level twice: {order}.", hint="Name each once.")
    return before._with_classes(tuple(order)) + more._with_classes(tuple(order))


def _moments_so_far(fit: FittedModel[Any], row: ModelEntry) -> Moments:
    """The moments that a fit is of: held since the last batch, its numbers, or of a pass over its rows."""
    if MOMENTS in fit.cache:
        held: Moments = fit.cache[MOMENTS]
        return held
    scatters = SCATTERS[fit.estimates.moments.spread]
    blocks = fit.design_rows
    if not fit.has_rows:
        found = of_fit(fit, scatters)
        if found is None:
            raise NotSupportedError(
                "update(batch) adds rows to moments, and this fit, which was loaded, unpickled, made by "
                "an estimator or made of moments, does not hold those of columns that were left out or "
                "made of categories.",
                hint=(
                    f"Keep discrim.moments() of the rows, and fit {row.verb}(moments=total + "
                    "total.of(batch))."
                ),
            )
        return found
    blocks = fit.rows("update()")
    column = blocks.rows.weight_column((*blocks.design.columns, *blocks.design.response_columns))
    rows: Any = blocks.table.data if blocks.rows.read_from else blocks.table
    with warnings.catch_warnings():
        # The fit has said what there is to say of these rows.
        warnings.simplefilter("ignore", DiscrimWarning)
        return moments(
            fit.formula,
            rows,
            weights=(column or blocks.weights) if blocks.weighted else None,
            scatters=scatters,
            levels=list(blocks.design.levels),
            functions=dict(blocks.functions),
        )


def _refuse_without_rows(why: str) -> NoReturn:
    """Raise the error of a model to which no batch can be added."""
    raise NotSupportedError(
        f"{why}. update(batch) adds the moments of rows.",
        hint=(
            "Give all rows, as fit.update(data=pd.concat([table, batch])), or options with which the "
            "rows choose nothing."
        ),
    ) from None
