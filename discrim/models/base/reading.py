"""First steps of every verb: validate the arguments, compute the moments of the classes, check the rows.

The arguments validated here are priors and options by class; `discrim.options` validates words and numbers.
`usable_rows` computes the moments and drops empty classes and constant columns. The functions after it check
whether columns are collinear and whether there are enough observations, and raise the errors that name the
columns and classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from os import PathLike
from typing import Any, Literal, NoReturn, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Dependency, constant_columns, dependencies, near_dependencies
from discrim.core.errors import CoreError
from discrim.core.moments.derived_moments import in_units, within_sd
from discrim.core.moments.moments import LIGHT, ClassMoments, asks_for_roots, gather
from discrim.core.moments.row_sums import RowRoot, Spread
from discrim.core.moments.sparse_rows import SparseBlock, SparseRows, gather_sparse
from discrim.core.numerics.arrays import Floats, at_hand
from discrim.core.numerics.progress import Progress
from discrim.data.values import shown
from discrim.design.blocks import Blocks
from discrim.design.rows import stored_rows
from discrim.errors import (
    CollinearError,
    CollinearWarning,
    DataError,
    DroppedColumnsWarning,
    EmptyClassWarning,
    NotSupportedError,
    PriorError,
    TiedAxesWarning,
    WeightsWarning,
    sentence,
    warn_user,
)
from discrim.errors import told as told
from discrim.inference.manova import TestType
from discrim.models.base.core_errors import public_error
from discrim.models.base.data_range import check_data_range
from discrim.models.registry import PROPORTIONAL, Proportional
from discrim.options import check_flag as check_flag
from discrim.options import check_grid as check_grid
from discrim.options import check_number as check_number
from discrim.options import check_whole as check_whole
from discrim.options import check_word as check_word
from discrim.options import in_range as in_range
from discrim.options import is_number as is_number
from discrim.options import is_share as is_share
from discrim.options import is_whole as is_whole
from discrim.options import listed as listed
from discrim.options import range_words as range_words

P = ParamSpec("P")
T = TypeVar("T")


def with_keyword_hints(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a verb or a method of results, so that its errors are public and suggest keywords.

    For an unknown keyword it raises an error that suggests the right one. An error of the core becomes a
    public one; `named_errors` does so earlier, with the names of columns and classes.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except CoreError as error:
            raise public_error(error) from error.__cause__
        except TypeError:
            # Imported here, because calls without a mistake do not need it.
            from discrim.slips import refuse_keyword

            refuse_keyword(function, kwargs)
            raise

    return called


class Tabular(Protocol):
    """A table of pandas, polars, Arrow or narwhals, lazy ones too, and a relation of DuckDB."""

    @property
    def columns(self) -> Any:
        """Names of the columns, or the columns."""

    def join(self, *others: Any, **how: Any) -> Any:
        """Another such table."""


class ArrowStream(Protocol):
    """A table that any library can read as a stream of Arrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class ArrowDataset(Protocol):
    """A dataset of Arrow, in files."""

    def to_batches(self, *options: Any, **more: Any) -> Any:
        """Iterate over the rows in batches."""


class HasPrior(Protocol):
    """A fit, or an estimate of a prior."""

    @property
    def prior(self) -> pd.Series:
        """Prior probability of each class."""


Paths: TypeAlias = str | PathLike[str] | Sequence[str] | Sequence[PathLike[str]]
Sources: TypeAlias = ArrowStream | ArrowDataset | Paths | Iterator[Any] | Callable[[], Iterable[Any]]
Data: TypeAlias = Tabular | dict[Any, Any] | Sources
"""What verbs and fits read rows from: a table in memory, or a source of tables."""

PriorWord = Literal["equal", Proportional]
Prior: TypeAlias = (
    PriorWord | Mapping[Any, float] | pd.Series | Sequence[float] | NDArray[Any] | HasPrior | None
)
"""What `prior=` takes."""

NaAction = Literal["drop", "raise"]
Collinear = Literal["raise", "drop"]
Separation = Literal["raise", "warn"]
Divisor = Literal["moment", "mle"]
SelectRule = Literal["min", "1se"]
Structure = Literal["within", "total", "between"]

PRIOR_SLACK = 1e-8
"""Largest deviation of the sum of a prior from one; the prior is divided by its sum."""

NOT_OPTIONS = ("formula", "data", "moments", "prior", "weights", "levels", "na_action", "functions")
"""Arguments of a verb that say which rows are fitted, or that a fit stores in a form of its own."""


class LostObject:
    """Text that a file stores instead of an object of the user, such as an estimator."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def fit(self, *rows: Any, **parameters: Any) -> NoReturn:
        """Raise NotSupportedError."""
        raise NotSupportedError(
            f"A loaded fit keeps the text {self.text} and not the object.", hint="Fit the verb again."
        )

    set_params = fit


def text_of(value: Any) -> str:
    """Return the repr of an object on one line, or its class if it has only the default repr."""
    text = " ".join(repr(value).split())
    return type(value).__name__ if text.startswith("<") else text


def verb_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options among the arguments of a verb, which passes its `locals()` at its beginning.

    Arrays and tables become lists and dicts. If the user later changes the array, refits do not change.
    """
    options = {name: plain_option(value) for name, value in arguments.items() if name not in NOT_OPTIONS}
    for name in ("folds", "cv"):
        if not isinstance(options.get(name), int | str | None):
            # Splits may be many or an iterator, and are of no use without the rows.
            options[name] = LostObject("splits of the rows")
    return options


def plain_option(value: Any) -> Any:
    """Return a copy of an option in numbers, text, lists and dicts; other objects are not copied."""
    if value is None or type(value) in (str, bool, int, float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping | pd.Series | pd.DataFrame):
        return {plain_option(key): plain_option(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | pd.Index):
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Iterator | type):
        return value if hasattr(value, "fit") else [plain_option(each) for each in value]
    return value


TYPES: dict[Any, TestType] = {
    **{1: 1, 2: 2, 3: 3},
    **{"1": 1, "2": 2, "3": 3},
    **{"I": 1, "II": 2, "III": 3},
}
"""Values of `type=` for tests of terms."""


def check_test_type(given: Any) -> TestType:
    """Return the type of tests of terms, 1, 2 or 3 (or I, II or III), as a number."""
    if isinstance(given, bool) or not isinstance(given, int | str | np.integer) or given not in TYPES:
        raise DataError(f"type={told(given)} is not known.", hint="Use 1, 2 or 3 (or I, II or III).")
    return TYPES[given]


def option_by_class(name: str, value: Any, classes: pd.Index, check: Callable[[Any], Any]) -> list[Any]:
    """Return the validated values of an option in the order of the classes.

    Parameters
    ----------
    name : str
        Name of the option, for messages.
    value : object, dict or Series by class
        One value for all classes, or a value for each.
    classes : (K,) Index
    check : callable
        Validates one value and returns it.
    """
    if isinstance(value, pd.Series):
        value = value.to_dict()
    if not isinstance(value, Mapping):
        return [check(value)] * len(classes)
    unknown = [label for label in value if label not in classes]
    if unknown:
        raise DataError(
            f"Unknown class {told(unknown[0])} in {name}=.",
            hint=f"The classes are {listed(classes)}.",
            classes=unknown,
        )
    missing = [label for label in classes if label not in value]
    if missing:
        raise DataError(
            f"{name}= gives nothing for class {told(missing[0])}.",
            hint="Give each class a value.",
            classes=(missing[0],),
        )
    return [check(value[label]) for label in classes]


def is_proportional(prior: Any) -> bool:
    """Return whether a prior stands for the class proportions."""
    return prior is None or (isinstance(prior, str) and prior in PROPORTIONAL)


def prior_vector(prior: Any, classes: Sequence[Any] | pd.Index, counts: Floats) -> Floats:
    """Return prior probabilities in the order of the classes.

    Parameters
    ----------
    prior : None, str, dict or Series by class, sequence, or object with such a Series as its `prior`
        Value of `prior=`. None stands for the class proportions.
    classes : (K,) sequence
        Labels of the classes.
    counts : (K,) float
        Numbers of observations.

    Returns
    -------
    (K,) float

    Raises
    ------
    PriorError
        A class is missing or unknown, a probability is negative or missing, or they do not sum to one.
    """
    k = len(classes)
    if is_proportional(prior):
        return np.asarray(counts / counts.sum())
    if isinstance(prior, str):
        if prior != "equal":
            raise PriorError(
                f"prior={prior!r} is not known.",
                hint="Use None, 'equal', 'proportional', or a probability for each class.",
            )
        return np.full(k, 1.0 / k)
    if not isinstance(prior, pd.Series | pd.DataFrame) and isinstance(
        getattr(prior, "prior", None), pd.Series
    ):
        prior = prior.prior
    if isinstance(prior, pd.Series):
        if prior.index.has_duplicates:
            raise PriorError(
                f"The prior names {listed(prior.index[prior.index.duplicated()])} more than once.",
                hint="Name each once.",
            )
        prior = prior.to_dict()
    if isinstance(prior, Mapping):
        known = set(classes)
        missing = [c for c in classes if c not in prior]
        unknown = [c for c in prior if c not in known]
        if missing or unknown:
            problems = [f"missing: {listed(missing)}"] if missing else []
            if unknown:
                problems.append(f"unknown: {listed(unknown)}")
            hint = "Give a probability for each class, and for no other."
            if {str(c) for c in missing} & {str(c) for c in unknown}:
                hint = "Write the keys as the classes are, numbers or text."
            raise PriorError(
                f"The prior does not match the classes {listed(classes)} ({'; '.join(problems)}).",
                hint=hint,
                classes=(*missing, *unknown),
            )
        prior = [prior[c] for c in classes]
    try:
        values = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PriorError(
            f"The prior {prior!r} is not a list of probabilities.", hint="Give a number for each class."
        ) from None
    if values.shape != (k,):
        raise PriorError(
            f"The prior has {values.size} values for {k} classes.",
            hint=f"Give one for each of {listed(classes)}.",
        )
    bad = ~(values >= 0)
    if bad.any():
        raise PriorError(
            f"The prior of class {shown(classes[int(np.argmax(bad))])} is {values[bad][0]:g}.",
            hint="Give 0 or more.",
            classes=(classes[int(np.argmax(bad))],),
        )
    total = float(values.sum())
    if not abs(total - 1) <= PRIOR_SLACK:
        raise PriorError(
            f"The prior sums to {total:.10g}, not to one.", hint="Divide it by its sum if that is meant."
        )
    return values / total


def read_prior(prior: Any, classes: Sequence[Any] | pd.Index, counts: Floats) -> tuple[Floats, bool]:
    """Return the prior (K,) of a verb, and whether it is estimated by the class proportions."""
    return prior_vector(prior, classes, counts), is_proportional(prior)


def every_sparse_row(blocks: Blocks) -> tuple[SparseRows, NDArray[np.bool_]] | None:
    """Return all rows and a mask (n,) of those with a missing value; None if the columns are not sparse."""
    held = stored_rows(blocks)
    return None if held is None else (SparseRows(held.base, held.steps), held.missing)


def used_sparse_rows(blocks: Blocks) -> list[SparseBlock] | None:
    """Return the complete rows as a list of one block; None if the columns are not sparse."""
    found = every_sparse_row(blocks)
    if found is None:
        return None
    rows, missing = found
    kept = (blocks.codes >= 0) & ~missing
    if blocks.weights is not None:
        kept &= ~np.isnan(blocks.weights)
    blocks.dropped = blocks.n_dropped(kept)
    if kept.all():
        return [(rows, blocks.codes, blocks.weights)]
    weights = None if blocks.weights is None else blocks.weights[kept]
    return [(rows.rows(kept), blocks.codes[kept], weights)]


WrapBlocks = Callable[[Any], Iterable[Any]]
"""Wraps blocks, of arrays or of sparse rows, in an iterable that also passes each to another computation."""

EVEN = 1e-2
"""Largest deviation from one of the mean of weights that are not whole numbers but count as frequencies."""


def usable_rows(
    blocks: Blocks,
    spread: Spread,
    na_action: NaAction,
    wrap: WrapBlocks | None = None,
    *,
    rooted: bool = True,
    keep: Sequence[int] = (),
) -> tuple[Blocks, ClassMoments]:
    """Compute the moments of the complete rows; drop empty classes and constant columns with a warning.

    Parameters
    ----------
    blocks : Blocks
        Rows of the table.
    spread : Spread
        Second moments that the model needs.
    na_action : {"drop", "raise"}
    wrap : callable, optional
        Wraps the blocks in an iterable that also passes them to another computation, to save a pass.
    rooted : bool
        Whether roots of the scatter are computed if its columns are nearly collinear; see `gather`.
    keep : sequence of int
        Positions of columns that stay although they are constant.

    Returns
    -------
    Blocks
        The rows with the remaining classes and columns.
    ClassMoments

    Raises
    ------
    DataError
        A value is missing and `na_action="raise"`, no row is left, or there is one class only.
    CollinearError
        Every column is constant.
    """
    check_word("na_action", na_action, NaAction)
    if not blocks.terms:
        raise DataError(
            f"The formula {blocks.design.formula!r} has no predictor.",
            hint="Name a column on its right side.",
        )
    moments = class_moments(blocks, spread, wrap, rooted=rooted)
    if blocks.dropped and na_action == "raise":
        blocks.refuse_missing()
    if not moments.total:
        _refuse_no_row(blocks)
    check_data_range(moments, blocks)
    if blocks.weighted:
        warn_of_weights(moments, whole=blocks.rows.has_whole_weights())
    return without_constants(*present_classes(blocks, moments), rooted=rooted, keep=keep)


def without_constants(
    blocks: Blocks, moments: ClassMoments, *, rooted: bool = True, keep: Sequence[int] = ()
) -> tuple[Blocks, ClassMoments]:
    """Drop the columns that are constant over all rows, with a warning that names them.

    Parameters
    ----------
    blocks : Blocks
    moments : ClassMoments
        Moments of these rows.
    rooted : bool
        See `gather`.
    keep : sequence of int
        Positions of columns that stay although they are constant.

    Raises
    ------
    CollinearError
        Every column is constant.
    """
    kept = set(keep)
    still = [j for j in constant_columns(moments) if j not in kept]
    if not still:
        return blocks, moments
    terms = blocks.terms
    if len(still) == len(terms):
        _refuse_all(terms, "over all rows")
    one = len(still) == 1
    warn_user(
        f"Left out {listed((terms[j] for j in still), most=20)}: constant over all rows, so that "
        f"{'it does' if one else 'they do'} not separate classes.",
        DroppedColumnsWarning,
    )
    less = replace(blocks, constant=(*blocks.constant, *(terms[j] for j in still)))
    return _without_columns(less, moments, still, rooted=rooted)


def _without_columns(
    blocks: Blocks, moments: ClassMoments, gone: Iterable[int], *, rooted: bool = True
) -> tuple[Blocks, ClassMoments]:
    """Drop columns by position. Rows in which only these values were missing are then used."""
    without = set(gone)
    keep = np.array([j for j in range(len(blocks.terms)) if j not in without], dtype=np.intp)
    less = blocks.columns(keep.tolist())
    if blocks.dropped and blocks.table.nrows:
        return less, class_moments(less, moments.spread, rooted=rooted)
    return less, moments.columns(keep)


def _refuse_no_row(blocks: Blocks) -> NoReturn:
    """Raise a DataError that names the columns without any value, or all columns if each has some."""
    table = blocks.table
    columns = blocks.design.columns
    bare = [name for name in columns if not table.column(name).notna().any()]
    if bare:
        be = "has" if len(bare) == 1 else "have"
        raise DataError(
            f"No row is left: {listed(bare)} {be} no value in any of the {table.nrows} rows.",
            hint="Leave out such columns.",
            columns=bare,
        )
    raise DataError(
        f"No row is left: each of the {table.nrows} rows misses a value in {listed(columns)} or in the "
        f"response {blocks.design.response!r}.",
        hint="Fill values, or leave columns out.",
        columns=columns,
    )


def _refuse_all(terms: tuple[str, ...], where: str) -> None:
    verb = "is" if len(terms) == 1 else "are"
    raise CollinearError(
        f"No column is left to fit: {listed(terms)} {verb} constant {where}.",
        hint="Name others in the formula.",
        columns=terms,
    )


def warn_of_weights(sums: ClassMoments | RowRoot, *, whole: bool) -> None:
    """Warn if weights are not frequencies, because inference uses them as such.

    Weights count as frequencies if they are whole numbers, or if their mean is within `EVEN` of one.
    """
    total = sums.total
    rows = int(np.sum(sums.rows))
    if whole or abs(total - rows) <= EVEN * rows:
        return
    warn_user(
        f"The weights of {rows} rows sum to {total:g} and are not counts. A weight stands for so many "
        f"identical rows: standard errors, tests, likelihoods and intervals are for {total:g} rows. Divide "
        "the weights by their mean if they are only relative.",
        WeightsWarning,
    )


def present_classes(blocks: Blocks, moments: ClassMoments) -> tuple[Blocks, ClassMoments]:
    """Drop classes without rows, with a warning; raise DataError if only one class is left."""
    present = np.flatnonzero(moments.rows > 0)
    if len(present) < moments.n_classes:
        present_codes = set(present.tolist())
        empty = [label for k, label in enumerate(blocks.design.levels) if k not in present_codes]
        classes = "class" if len(empty) == 1 else "classes"
        warn_user(f"No row is left in {classes} {listed(empty)}: left out of the fit.", EmptyClassWarning)
        blocks = blocks.classes(present)
        moments = moments.classes(present)
    if moments.n_classes < 2:
        (only,) = blocks.design.levels
        raise DataError(
            f"The response {blocks.design.response!r} has one class only, {only!r} ({moments.rows[0]} "
            "rows): a discriminant analysis needs two.",
            hint="Give rows of another class.",
            classes=(only,),
        )
    return blocks, moments


def class_moments(
    blocks: Blocks, spread: Spread, wrap: WrapBlocks | None = None, *, rooted: bool = True
) -> ClassMoments:
    """Compute the moments of the complete rows. The parameters are those of `usable_rows`."""
    shape = {"n_classes": len(blocks.design.levels), "n_columns": len(blocks.terms)}
    sparse = used_sparse_rows(blocks) if spread in ("diagonal", "pooled") else None
    if sparse is not None:
        rows: Any = sparse if wrap is None else wrap(sparse)
        found = gather_sparse(rows, **shape, spread=spread)
        if found is not None and not (spread == "pooled" and asks_for_roots(found, rooted=rooted)):
            return found
    with Progress(0, "moments of the rows"):
        return gather(blocks if wrap is None else wrap(blocks), **shape, spread=spread, rooted=rooted)


def in_own_units(blocks: Blocks, moments: ClassMoments) -> tuple[Blocks, ClassMoments]:
    """Divide the columns by their standard deviations within classes."""
    unit = within_sd(moments)
    return replace(blocks, unit=unit), in_units(moments, unit)


def collinear_error(
    found: list[Dependency],
    terms: tuple[str, ...],
    where: str = "within classes",
    *,
    instead: str = "",
    separation_hint: str = "",
    can_drop: bool = False,
) -> CollinearError:
    """Return the error that names dependent columns and the columns that determine them.

    Parameters
    ----------
    found : list of Dependency
    terms : tuple of str
        Names of the columns.
    where : str
        Rows in which the columns are dependent: "within classes", "over all rows" or in one class.
    instead : str
        Alternative to leaving the columns out of the formula, for the hint.
    separation_hint : str
        How the verb makes use of columns that vary between classes only; empty if it cannot.
    can_drop : bool
        Whether the verb has the option collinear=.

    Returns
    -------
    CollinearError
    """
    options = {"collinear": "drop"} if can_drop else {}
    if can_drop:
        instead = 'pass collinear="drop"'
    said = []
    for dependency in found[:4]:
        name = repr(terms[dependency.column])
        others = listed(terms[j] for j in dependency.on)
        said.append(
            f"{name} is {f'a linear combination of {others}' if dependency.on else 'constant'} {where}"
        )
    more = f" (and {len(found) - 4} more)" if len(found) > 4 else ""
    what = "columns are collinear" if where == "over all rows" else "covariance is singular"
    separating = [dependency for dependency in found if dependency.separates]
    message = f"The {what}: {'; '.join(said)}{more}."
    if where == "within classes" and separating and separation_hint:
        hint = f"{separation_sentence(separating, terms)} {separation_hint}"
    else:
        hint = f"Drop {'it' if len(found) == 1 else 'them'} from the formula{instead and f', or {instead}'}."
    columns = [terms[each.column] for each in found]
    return CollinearError(message, hint=hint, columns=columns, options=options)


def separation_note(moments: ClassMoments, terms: tuple[str, ...]) -> str:
    """Return a sentence, after a blank, on columns that vary only between classes; "" if there are none."""
    if moments.spread in ("thin", "thin class"):
        return ""
    found = dependencies(moments, diagonal=moments.spread == "diagonal")
    separating = [dependency for dependency in found if dependency.separates]
    return f" {separation_sentence(separating, terms)}" if separating else ""


def separation_sentence(found: list[Dependency], terms: tuple[str, ...]) -> str:
    """Return the sentence that columns without variance within classes separate the classes completely."""
    constant = [terms[dependency.column] for dependency in found if not dependency.on]
    if constant:
        differs, it = ("differs", "it") if len(constant) == 1 else ("differ", "them")
        what = f"{listed(constant)} {differs} between classes"
    else:
        names = [terms[dependency.column] for dependency in found]
        has, it = ("has", "it") if len(names) == 1 else ("have", "them")
        what = f"What {listed(names)} {has} beyond the other columns differs between classes"
    return f"{what}: classes that differ in {it} are told apart without error."


def warn_of_near_dependencies(
    moments: ClassMoments, terms: tuple[str, ...], where: str = "within classes", k: int | None = None
) -> None:
    """Warn of columns that are nearly linear combinations of others, which makes their coefficients huge.

    Parameters
    ----------
    moments : ClassMoments
        Moments of columns that are linearly independent up to rounding.
    terms : tuple of str
        Names of the columns.
    where : str
        Rows in which they are nearly dependent, for the message.
    k : int, optional
        Position of the class; by default all classes together.
    """
    found = near_dependencies(moments, k)
    if not found:
        return
    said = [
        f"{terms[each.column]!r} is a linear combination of {listed(terms[j] for j in each.on)} but for "
        f"{each.left:.1e} of its standard deviation"
        for each in found[:4]
    ]
    more = f" (and {len(found) - 4} more)" if len(found) > 4 else ""
    one = len(found) == 1
    warn_user(
        f"Columns are nearly collinear {where}: {'; '.join(said)}{more}. Their coefficients may be "
        f"{1 / min(each.left for each in found):.0e} times those of a column alone, and nearly cancel. Leave "
        f"{'it' if one else 'them'} out of the formula, or put in {'its' if one else 'their'} place what "
        "is left, such as the difference of two columns.",
        CollinearWarning,
    )


def drop_columns(
    blocks: Blocks, moments: ClassMoments, found: list[Dependency], where: str = "within classes"
) -> tuple[Blocks, ClassMoments]:
    """Drop the dependent columns, with a warning that names them.

    Parameters
    ----------
    blocks : Blocks
    moments : ClassMoments
        Moments of these rows.
    found : list of Dependency
    where : str
        Rows in which the columns are dependent, for the message.
    """
    gone = {dependency.column for dependency in found}
    terms = blocks.terms
    if len(gone) == len(terms):
        _refuse_all(terms, where)
    separating = [dependency for dependency in found if dependency.separates]
    lost = ""
    if where == "within classes" and separating:
        lost = (
            f" {separation_sentence(separating, terms)} The fit without "
            f"{'it' if len(gone) == 1 else 'them'} does not know this: "
            "covariance=discrim.covariance.Shrunk(1e-6) uses it."
        )
    warn_user(
        f"Dropped {listed((terms[j] for j in sorted(gone)), most=20)}: constant or a linear combination of "
        f"other columns {where}.{lost}",
        DroppedColumnsWarning,
    )
    left_out = (*blocks.collinear, *(terms[j] for j in sorted(gone)))
    return _without_columns(replace(blocks, collinear=left_out), moments, gone)


def without_constants_if_wide(blocks: Blocks) -> Blocks:
    """Drop constant columns if there are too few rows for the columns.

    For checks of the number of columns before the rows are read.
    """
    n_rows = blocks.n_labelled
    p = len(blocks.terms)
    if not n_rows or n_rows - len(blocks.design.levels) >= p:
        return blocks
    moments = class_moments(blocks, "diagonal")
    return without_constants(blocks, moments)[0] if moments.total else blocks


def is_wide(blocks: Blocks) -> bool:
    """Return whether there are fewer rows than columns."""
    return blocks.n_labelled < len(blocks.terms)


def few_rows_hint(rows: int) -> str:
    """Return the hint of lda() for fewer rows than columns. Other verbs need ten rows for their folds."""
    others = ", or use rda() or shrunken_centroids()" if rows >= 10 else ""
    shrunk = 'covariance="shrunk" (or "diagonal", "pinv")'
    return f"name fewer columns in the formula, {'' if others else 'or '}pass {shrunk}{others}"


def refuse_few_rows(blocks: Blocks, hint: str | None = None) -> None:
    """Raise a CollinearError, before any product is formed, if a pooled covariance has too few rows.

    Parameters
    ----------
    blocks : Blocks
    hint : str, optional
        Hint of alternatives; by default the alternatives of lda().
    """
    n_rows = blocks.n_labelled
    p = len(blocks.terms)
    k = len(blocks.design.levels)
    if n_rows and n_rows - k < p:
        _refuse_wide(n_rows, k, blocks.terms, hint)


def refuse_no_freedom(
    moments: ClassMoments, terms: tuple[str, ...], *, diagonal: bool, hint: str | None = None
) -> None:
    """Raise an error if the rows have too few degrees of freedom within classes.

    Parameters
    ----------
    moments : ClassMoments
    terms : tuple of str
        Names of the columns.
    diagonal : bool
        Whether only variances are estimated, which need only one degree of freedom.
    hint : str, optional
        As in `refuse_few_rows`.
    """
    rows = int(moments.rows.sum())
    k = moments.n_classes
    if rows - k < (1 if diagonal else len(terms)):
        _refuse_wide(rows, k, terms, hint)


def refuse_no_spread(moments: ClassMoments) -> None:
    """Raise an error if the total weight does not exceed the number of classes."""
    if moments.total <= moments.n_classes:
        raise CollinearError(
            f"{moments.total:g} rows in {moments.n_classes} classes leave nothing from which to estimate "
            "the spread within classes.",
            hint="Give some class two rows, and weights that count rows.",
        )


def _refuse_wide(rows: int, n_classes: int, terms: tuple[str, ...], hint: str | None) -> None:
    if rows <= n_classes:
        raise CollinearError(
            f"{rows} rows in {n_classes} classes leave no degree of freedom within classes for a covariance.",
            hint="Give more rows, so that some class has two.",
        )
    raise CollinearError(
        f"{rows} rows in {n_classes} classes leave {rows - n_classes} degrees of freedom within "
        f"classes, too few for the covariance of {len(terms)} columns ({listed(terms)}).",
        hint=sentence(few_rows_hint(rows) if hint is None else hint),
        options={"covariance": "shrunk"},
        columns=terms,
    )


def refuse_little_weight(counts: Floats, classes: Sequence[Any] | pd.Index, least: int, what: str) -> None:
    """Raise an error if the weight of a class does not exceed `least`.

    Parameters
    ----------
    counts : (K,) float
        Weights of the classes.
    classes : (K,) sequence
        Labels of the classes.
    least : int
    what : str
        Name of the method in the message.
    """
    few = np.flatnonzero(counts <= least * (1 + LIGHT))
    if len(few):
        raise NotSupportedError(
            f"{what} needs more than {least} rows, or as much weight, in each class; "
            f"{shown(classes[few[0]])} has {counts[few[0]]:g}.",
            hint="Use fewer columns, merge the class with another, or pass weights that count rows.",
        )


def refuse_light_weights(weight: float, taken: int, who: str = "The rows") -> None:
    """Raise an error if the sum of the weights does not exceed the number of estimated means."""
    if weight <= taken * (1 + LIGHT):
        raise DataError(
            f"{who} have weights that sum to {weight:g}, and a covariance divides by the sum less {taken}.",
            hint=(
                'Pass weights that count rows, for example divided by their mean, or method="mle", which '
                "divides by the sum."
            ),
        )


def refuse_large(blocks: Blocks, why: str, times: float = 0.0) -> None:
    """Raise NotSupportedError if three copies of the rows exceed the memory.

    Parameters
    ----------
    blocks : Blocks
    why : str
        Reason that the rows are in memory, the beginning of a sentence.
    times : float
        Number of rows if they are repeated by their weights.
    """
    rows = max(blocks.table.nrows, times)
    columns = len(blocks.terms)
    needed = 3 * 8 * rows * columns
    there = at_hand()
    if needed > there:
        raise NotSupportedError(
            f"{why} in memory: {rows:,.0f} rows of {columns:,} columns take {needed / 2**30:.1f} GiB "
            f"while they are read, and this machine has {there / 2**30:.1f} GiB.",
            hint=(
                "Take a sample of the rows or fewer columns, or lda(), qda() or logistic(), which read "
                "them block by block."
            ),
        )


def warn_of_tied_axes(
    option: str, count: int, tie: tuple[int, int] | None, *, owner: str = "", most: int | None = None
) -> None:
    """Warn that the axes that are kept are arbitrary, if there is a tie.

    Parameters
    ----------
    option : str
        Option for the number of axes, such as "components".
    count : int
        Number of axes that are kept.
    tie : (int, int) or None
        Numbers of the first and the last of the axes whose eigenvalues are equal, from `tied_axes`.
    owner : str
        Owner of the axes, such as "class 'a'".
    most : int, optional
        Largest number that the option may have.
    """
    if tie is None:
        return
    first, last = tie
    where = f" of {owner}" if owner else ""
    others = [first - 1] * (first > 1) + [last] * (most is None or last <= most)
    hint = f"Choose {' or '.join(f'{option}={other}' for other in others)}." if others else ""
    warn_user(
        f"{option}={count} keeps axis {count}{where} and leaves out axis {count + 1}, but axes {first} to "
        f"{last} have equal eigenvalues. Which of their directions are kept is arbitrary, and the posteriors "
        f"depend on it, for example on the order of the rows. {hint}".rstrip(),
        TiedAxesWarning,
    )
