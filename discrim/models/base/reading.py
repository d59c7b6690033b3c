"""First steps of every verb: validate the arguments, compute the moments of the classes, check the rows.

A verb is a public function that fits a model, such as `lda`. The arguments validated here are priors and
options by class; `discrim.options` validates words and numbers. `usable_rows` computes the moments and drops
empty classes and constant columns. The functions after it check whether columns are collinear and whether
there are enough observations, and raise the errors that name the columns and classes.
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
from discrim.core.moments.derived_moments import divide_columns, within_sd
from discrim.core.moments.moments import MIN_EXCESS_WEIGHT, ClassMoments, gather, gather_wide, requires_roots
from discrim.core.moments.row_sums import LeastSquaresRoot, ScatterType
from discrim.core.moments.sparse_rows import SparseBlock, SparseRows, gather_sparse
from discrim.core.numerics.arrays import Floats, available_memory
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.threads import one_blas_thread
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
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
from discrim.errors import format_argument as format_argument
from discrim.inference.manova import TestType
from discrim.models.base.core_errors import public_error
from discrim.models.base.data_range import check_data_range
from discrim.models.registry import PROPORTIONAL_PRIOR_WORDS, Proportional
from discrim.options import check_flag as check_flag
from discrim.options import check_grid as check_grid
from discrim.options import check_integer as check_integer
from discrim.options import check_number as check_number
from discrim.options import check_word as check_word
from discrim.options import describe_range as describe_range
from discrim.options import in_range as in_range
from discrim.options import is_integer as is_integer
from discrim.options import is_number as is_number
from discrim.options import is_proportion as is_proportion
from discrim.options import join_labels as join_labels

P = ParamSpec("P")
T = TypeVar("T")


def with_public_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a verb or a method of results to raise public errors only, and to use one BLAS thread.

    An error of the core becomes a public error; `named_errors` converts it earlier, with the names of columns
    and classes. A TypeError for an unknown keyword is replaced by a TypeError that suggests the valid
    keyword. Passes over large tables use all threads; see `discrim.core.numerics.threads`.
    """

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function; raise its CoreError as a public error, and name unknown keywords."""
        try:
            with one_blas_thread():
                return function(*args, **kwargs)
        except CoreError as error:
            raise public_error(error) from error.__cause__
        except TypeError:
            # Imported here, because calls without a mistake do not need it.
            from discrim.slips import raise_if_unknown_keyword

            raise_if_unknown_keyword(function, kwargs)
            raise

    return wrapper


class Tabular(Protocol):
    """Eager or lazy table of pandas, polars, Arrow, narwhals or Dask, or relation of DuckDB."""

    @property
    def columns(self) -> Any:
        """Names of the columns, or the columns."""

    def join(self, *others: Any, **how: Any) -> Any:
        """Return the join of this table with others."""


class ArrowStream(Protocol):
    """Table with the Arrow PyCapsule interface for streams."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class ArrowDataset(Protocol):
    """Dataset of `pyarrow.dataset`, which is read in batches."""

    def to_batches(self, *options: Any, **more: Any) -> Any:
        """Iterate over the rows in batches."""


class HasPrior(Protocol):
    """Object whose attribute `prior` can be passed as `prior=`: a fit or an estimate of a prior."""

    @property
    def prior(self) -> pd.Series:
        """Prior probability of each class."""


Paths: TypeAlias = str | PathLike[str] | Sequence[str] | Sequence[PathLike[str]]
Sources: TypeAlias = ArrowStream | ArrowDataset | Paths | Iterator[Any] | Callable[[], Iterable[Any]]
Data: TypeAlias = Tabular | dict[Any, Any] | Sources
"""Types of data from which verbs and fits read rows: a table in memory, or a source of tables."""

PriorWord = Literal["equal", Proportional]
Prior: TypeAlias = (
    PriorWord | Mapping[Any, float] | pd.Series | Sequence[float] | NDArray[Any] | HasPrior | None
)
"""Types that `prior=` accepts."""

NaAction = Literal["drop", "raise"]
Collinear = Literal["raise", "drop"]
Separation = Literal["raise", "warn"]
Divisor = Literal["moment", "mle"]
SelectRule = Literal["min", "1se"]
Structure = Literal["within", "total", "between"]

MAX_PRIOR_SUM_ERROR = 1e-8
"""Largest deviation of the sum of a prior from one; the prior is divided by its sum."""

NON_OPTION_ARGUMENTS = ("formula", "data", "moments", "prior", "weights", "levels", "na_action", "functions")
"""Arguments of a verb that determine the rows, or that a fit stores in another form."""


class UnsavedObject:
    """Text that a file stores instead of an object of the user, such as an estimator."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def fit(self, *rows: Any, **parameters: Any) -> NoReturn:
        """Raise NotSupportedError, because the object itself was not saved."""
        raise NotSupportedError(
            f"A loaded fit contains only the text {self.text} and not the object.",
            hint="Fit the model again.",
        )

    set_params = fit


def one_line_repr(value: Any) -> str:
    """Return the repr of an object on one line, or its class if it has only the default repr."""
    text = " ".join(repr(value).split())
    return type(value).__name__ if text.startswith("<") else text


def verb_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options among the arguments of a verb, which passes its `locals()` at its beginning.

    The arguments of `NON_OPTION_ARGUMENTS` are left out. Arrays and tables become lists and dicts: if the
    user later changes the array, refits do not change. Splits of the rows passed as `folds` or `cv` become an
    `UnsavedObject`.
    """
    options = {
        name: copy_option(value) for name, value in arguments.items() if name not in NON_OPTION_ARGUMENTS
    }
    for name in ("folds", "cv"):
        if not isinstance(options.get(name), int | str | None):
            # Splits may be many or an iterator, and are of no use without the rows.
            options[name] = UnsavedObject("splits of the rows")
    return options


def copy_option(value: Any) -> Any:
    """Convert an option to Python scalars, lists and dicts, as a copy.

    A DataFrame becomes a dict of dicts by column, and a tuple or another iterable a list. Iterators, classes,
    bytes and objects with a method `fit` or without iteration are returned unchanged.
    """
    if value is None or type(value) in (str, bool, int, float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping | pd.Series | pd.DataFrame):
        return {copy_option(key): copy_option(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | pd.Index):
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Iterator | type):
        return value if hasattr(value, "fit") else [copy_option(item) for item in value]
    return value


TEST_TYPES: dict[Any, TestType] = {
    **{1: 1, 2: 2, 3: 3},
    **{"1": 1, "2": 2, "3": 3},
    **{"I": 1, "II": 2, "III": 3},
}
"""Values of the option `type=`, and the types of tests of terms."""


def check_test_type(test_type: Any) -> TestType:
    """Convert the option `type=` of tests of terms to 1, 2 or 3; raise DataError if it is not valid."""
    if (
        isinstance(test_type, bool)
        or not isinstance(test_type, int | str | np.integer)
        or test_type not in TEST_TYPES
    ):
        raise DataError(
            f"type={format_argument(test_type)} is not valid.", hint="Use 1, 2 or 3 (or I, II or III)."
        )
    return TEST_TYPES[test_type]


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

    Returns
    -------
    list of length K
        Results of `check`, one for each class.

    Raises
    ------
    DataError
        A class is unknown or lacks a value.
    """
    if isinstance(value, pd.Series):
        value = value.to_dict()
    if not isinstance(value, Mapping):
        return [check(value)] * len(classes)
    unknown = [label for label in value if label not in classes]
    if unknown:
        raise DataError(
            f"Unknown class {format_argument(unknown[0])} in {name}=.",
            hint=f"The classes are {join_labels(classes)}.",
            classes=unknown,
        )
    missing = [label for label in classes if label not in value]
    if missing:
        raise DataError(
            f"{name}= has no value for class {format_argument(missing[0])}.",
            hint="Pass a value for each class.",
            classes=(missing[0],),
        )
    return [check(value[label]) for label in classes]


def is_proportional(prior: Any) -> bool:
    """Return whether a prior stands for the class proportions: None, "proportional" or "size"."""
    return prior is None or (isinstance(prior, str) and prior in PROPORTIONAL_PRIOR_WORDS)


def prior_vector(prior: Any, classes: Sequence[Any] | pd.Index, counts: Floats) -> Floats:
    """Return prior probabilities in the order of the classes.

    Parameters
    ----------
    prior : None, str, dict or Series by class, sequence, or object with such a Series as its `prior`
        Value of `prior=`. None, "proportional" and "size" stand for the class proportions. A sequence is in
        the order of the classes.
    classes : (K,) sequence
        Labels of the classes.
    counts : (K,) float
        Numbers of observations or sums of weights, from which class proportions are computed.

    Returns
    -------
    (K,) float
        Probabilities with the sum one.

    Raises
    ------
    PriorError
        A class is missing, unknown or named twice, a probability is negative or missing, their number is
        wrong, or they do not sum to one up to `MAX_PRIOR_SUM_ERROR`.
    """
    k = len(classes)
    if is_proportional(prior):
        return np.asarray(counts / counts.sum())
    if isinstance(prior, str):
        if prior != "equal":
            raise PriorError(
                f"prior={prior!r} is not valid.",
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
                f"The prior names {join_labels(prior.index[prior.index.duplicated()])} more than once.",
                hint="Name each class once.",
            )
        prior = prior.to_dict()
    if isinstance(prior, Mapping):
        class_labels = set(classes)
        missing = [c for c in classes if c not in prior]
        unknown = [c for c in prior if c not in class_labels]
        if missing or unknown:
            problems = [f"missing: {join_labels(missing)}"] if missing else []
            if unknown:
                problems.append(f"unknown: {join_labels(unknown)}")
            hint = "Pass a probability for each class, and for no other."
            if {str(c) for c in missing} & {str(c) for c in unknown}:
                hint = "Use keys of the same type as the classes, numbers or text."
            raise PriorError(
                f"The prior does not match the classes {join_labels(classes)} ({'; '.join(problems)}).",
                hint=hint,
                classes=(*missing, *unknown),
            )
        prior = [prior[c] for c in classes]
    try:
        values = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PriorError(
            f"The prior {prior!r} is not a list of probabilities.", hint="Pass a number for each class."
        ) from None
    if values.shape != (k,):
        raise PriorError(
            f"The prior has {values.size} values for {k} classes.",
            hint=f"Pass one value for each of {join_labels(classes)}.",
        )
    is_invalid = ~(values >= 0)
    if is_invalid.any():
        raise PriorError(
            f"The prior of class {format_value(classes[int(np.argmax(is_invalid))])} is "
            f"{values[is_invalid][0]:g}.",
            hint="Pass non-negative probabilities.",
            classes=(classes[int(np.argmax(is_invalid))],),
        )
    total = float(values.sum())
    if not abs(total - 1) <= MAX_PRIOR_SUM_ERROR:
        raise PriorError(
            f"The prior sums to {total:.10g}, not to one.", hint="Divide it by its sum if you intend that."
        )
    return values / total


def read_prior(prior: Any, classes: Sequence[Any] | pd.Index, counts: Floats) -> tuple[Floats, bool]:
    """Return the prior (K,) of the argument `prior=` of a verb, and whether it is the class proportions.

    `classes` are the K class labels, and `counts` (K,) their numbers of observations.
    """
    return prior_vector(prior, classes, counts), is_proportional(prior)


def all_sparse_rows(design_rows: DesignRows) -> tuple[SparseRows, NDArray[np.bool_]] | None:
    """Return all rows as `SparseRows` and a mask (n,) of rows with missing values; None for dense columns."""
    stored = stored_rows(design_rows)
    return None if stored is None else (SparseRows(stored.base, stored.steps), stored.missing)


def used_sparse_rows(design_rows: DesignRows) -> list[SparseBlock] | None:
    """Return the complete rows that have a class as a list of one block; None for dense columns.

    The block has the members rows (`SparseRows`), codes (m,), and weights (m,) or None. Rows with a missing
    weight are left out, and rows of weight zero are included. Also sets `design_rows.dropped`, the number of
    rows that are left out (see `DesignRows.count_dropped`).
    """
    all_rows = all_sparse_rows(design_rows)
    if all_rows is None:
        return None
    rows, missing = all_rows
    is_used = (design_rows.codes >= 0) & ~missing
    if design_rows.weights is not None:
        is_used &= ~np.isnan(design_rows.weights)
    design_rows.dropped = design_rows.count_dropped(is_used)
    if is_used.all():
        return [(rows, design_rows.codes, design_rows.weights)]
    weights = None if design_rows.weights is None else design_rows.weights[is_used]
    return [(rows.select_rows(is_used), design_rows.codes[is_used], weights)]


WrapBlocks = Callable[[Any], Iterable[Any]]
"""Wraps blocks, of arrays or of sparse rows, in an iterable that also passes each to another computation."""

MAX_MEAN_WEIGHT_DEVIATION = 1e-2
"""Largest deviation from one of the mean of non-integer weights that count as frequencies."""


def usable_rows(
    design_rows: DesignRows,
    required_moments: ScatterType,
    na_action: NaAction,
    wrap: WrapBlocks | None = None,
    *,
    with_roots: bool = True,
    keep: Sequence[int] = (),
) -> tuple[DesignRows, ClassMoments]:
    """Compute the moments of the complete rows; drop empty classes and constant columns with a warning.

    Another warning follows if the weights are not frequencies; see `warn_of_weights`.

    Parameters
    ----------
    design_rows : DesignRows
        Rows of the table; the number of rows with a missing value is stored in its attribute `dropped`.
    required_moments : ScatterType
        Second moments that the model requires.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are left out, or are an error.
    wrap : callable, optional
        Wraps the blocks in an iterable that also passes them to another computation, to save a pass.
    with_roots : bool
        Whether roots of the scatter are computed if its columns are nearly collinear; see `gather`.
    keep : sequence of int
        Positions of columns that are not dropped if they are constant.

    Returns
    -------
    DesignRows
        The rows with the remaining classes and columns.
    ClassMoments
        Moments of these classes and columns.

    Raises
    ------
    DataError
        The formula lacks a predictor, a value is missing and `na_action="raise"`, no complete row remains, a
        value is out of range (see `check_data_range`), or there is only one class.
    CollinearError
        Every column is constant.
    """
    check_word("na_action", na_action, NaAction)
    if not design_rows.terms:
        raise DataError(
            f"The formula {design_rows.design.formula!r} has no predictor.",
            hint="Name a column on the right side of the formula.",
        )
    moments = class_moments(design_rows, required_moments, wrap, with_roots=with_roots)
    if design_rows.dropped and na_action == "raise":
        design_rows.raise_if_missing()
    if not moments.total:
        _raise_no_complete_rows(design_rows)
    check_data_range(moments, design_rows)
    if design_rows.has_weights:
        warn_of_weights(moments, are_integers=design_rows.rows.has_whole_weights())
    return drop_constant_columns(*drop_empty_classes(design_rows, moments), with_roots=with_roots, keep=keep)


def drop_constant_columns(
    design_rows: DesignRows, moments: ClassMoments, *, with_roots: bool = True, keep: Sequence[int] = ()
) -> tuple[DesignRows, ClassMoments]:
    """Drop the columns that are constant over all rows, with a warning that names them.

    Their names are appended to the attribute `constant_terms` of the returned rows.

    Parameters
    ----------
    design_rows : DesignRows
    moments : ClassMoments
        Moments of these rows.
    with_roots : bool
        Whether roots of the scatter are computed if moments are computed again; see `gather`.
    keep : sequence of int
        Positions of columns that are not dropped if they are constant.

    Returns
    -------
    DesignRows, ClassMoments
        Rows and moments of the remaining columns.

    Raises
    ------
    CollinearError
        Every column is constant.
    """
    exempt = set(keep)
    constant = [j for j in constant_columns(moments) if j not in exempt]
    if not constant:
        return design_rows, moments
    terms = design_rows.terms
    if len(constant) == len(terms):
        _raise_all_columns_constant(terms, "over all rows")
    is_single = len(constant) == 1
    warn_user(
        f"Left out {join_labels((terms[j] for j in constant), max_labels=20)}: constant over all rows, so "
        f"that {'it does' if is_single else 'they do'} not separate classes.",
        DroppedColumnsWarning,
    )
    remaining_rows = replace(
        design_rows, constant_terms=(*design_rows.constant_terms, *(terms[j] for j in constant))
    )
    return _drop_columns_by_position(remaining_rows, moments, constant, with_roots=with_roots)


def _drop_columns_by_position(
    design_rows: DesignRows, moments: ClassMoments, dropped: Iterable[int], *, with_roots: bool = True
) -> tuple[DesignRows, ClassMoments]:
    """Drop columns by position, and compute the moments again if this may make more rows complete.

    This is the case if rows with a missing value were left out and the table is in memory.

    Parameters
    ----------
    design_rows : DesignRows
    moments : ClassMoments
        Moments of all columns.
    dropped : iterable of int
        Positions of the columns that are dropped.
    with_roots : bool
        Whether roots of the scatter matrices are computed if necessary.

    Returns
    -------
    DesignRows, ClassMoments
        Rows and moments of the remaining columns.
    """
    dropped_positions = set(dropped)
    kept_positions = np.array(
        [j for j in range(len(design_rows.terms)) if j not in dropped_positions], dtype=np.intp
    )
    remaining_rows = design_rows.select_columns(kept_positions.tolist())
    if design_rows.dropped and design_rows.table.nrows:
        return remaining_rows, class_moments(remaining_rows, moments.scatter_type, with_roots=with_roots)
    return remaining_rows, moments.select_columns(kept_positions)


def _raise_no_complete_rows(design_rows: DesignRows) -> NoReturn:
    """Raise DataError for a table without complete rows.

    The message names the columns without any value or, if each has a value, all columns of the formula.
    """
    table = design_rows.table
    columns = design_rows.design.columns
    empty_columns = [name for name in columns if not table.column(name).notna().any()]
    if empty_columns:
        verb = "has" if len(empty_columns) == 1 else "have"
        raise DataError(
            f"There are no complete rows: {join_labels(empty_columns)} {verb} only missing values in the "
            f"{table.nrows} rows.",
            hint="Drop these columns from the formula.",
            columns=empty_columns,
        )
    raise DataError(
        f"There are no complete rows: each of the {table.nrows} rows has a missing value in "
        f"{join_labels(columns)} or in the response {design_rows.design.response!r}.",
        hint="Fill in values, or drop columns from the formula.",
        columns=columns,
    )


def _raise_all_columns_constant(terms: tuple[str, ...], where: str) -> None:
    """Raise CollinearError because every column is constant in the rows described by `where`."""
    verb = "is" if len(terms) == 1 else "are"
    raise CollinearError(
        f"There is no column to fit: {join_labels(terms)} {verb} constant {where}.",
        hint="Name other columns in the formula.",
        columns=terms,
    )


def warn_of_weights(moments: ClassMoments | LeastSquaresRoot, *, are_integers: bool) -> None:
    """Issue a WeightsWarning if the weights are not frequencies, as which inference treats them.

    Weights are accepted as frequencies if they are integers (`are_integers`) or if the mean of the positive
    ones differs from one by at most `MAX_MEAN_WEIGHT_DEVIATION`.
    """
    total = moments.total
    rows = int(np.sum(moments.rows))
    if are_integers or abs(total - rows) <= MAX_MEAN_WEIGHT_DEVIATION * rows:
        return
    warn_user(
        f"The weights of {rows} observations sum to {total:g} and are not counts. Weights are frequencies: "
        f"standard errors, tests, likelihoods and intervals are for {total:g} observations. Divide the "
        "weights by their mean if they are only relative.",
        WeightsWarning,
    )


def drop_empty_classes(design_rows: DesignRows, moments: ClassMoments) -> tuple[DesignRows, ClassMoments]:
    """Drop classes without rows of positive weight, with an EmptyClassWarning.

    The order of the others is kept. Raises DataError if only one class is left.
    """
    present = np.flatnonzero(moments.rows > 0)
    if len(present) < moments.n_classes:
        present_codes = set(present.tolist())
        empty = [label for k, label in enumerate(design_rows.design.levels) if k not in present_codes]
        classes = "class" if len(empty) == 1 else "classes"
        warn_user(f"Dropped {classes} {join_labels(empty)}, without complete rows.", EmptyClassWarning)
        design_rows = design_rows.select_classes(present)
        moments = moments.select_classes(present)
    if moments.n_classes < 2:
        (only,) = design_rows.design.levels
        raise DataError(
            f"The response {design_rows.design.response!r} has only one class, {only!r} ({moments.rows[0]} "
            "observations). Discriminant analysis requires two or more.",
            hint="Add observations of another class.",
            classes=(only,),
        )
    return design_rows, moments


def class_moments(
    design_rows: DesignRows,
    required_moments: ScatterType,
    wrap: WrapBlocks | None = None,
    *,
    with_roots: bool = True,
) -> ClassMoments:
    """Compute the moments of the complete rows with a class, from sparse rows if the columns are sparse.

    The number of rows with a missing value is stored in `design_rows.dropped`.

    Parameters
    ----------
    design_rows : DesignRows
    required_moments : ScatterType
        Second moments that are computed.
    wrap : callable, optional
        Wraps the blocks in an iterable that also passes them to another computation.
    with_roots : bool
        Whether roots of the scatter are computed if its columns are nearly collinear; see `gather`.

    Returns
    -------
    ClassMoments
        Moments of all classes and columns of the design, also of classes without rows.
    """
    shape = {"n_classes": len(design_rows.design.levels), "n_columns": len(design_rows.terms)}
    sparse = used_sparse_rows(design_rows) if required_moments in ("diagonal", "pooled") else None
    if sparse is not None:
        rows: Any = sparse if wrap is None else wrap(sparse)
        moments = gather_sparse(rows, **shape, required_moments=required_moments)
        if moments is not None and not (
            required_moments == "pooled" and requires_roots(moments, with_roots=with_roots)
        ):
            return moments
    with Progress(0, "moments of the rows"):
        if is_wide(design_rows) and wrap is None:
            gathered = gather_wide(design_rows, **shape, required_moments=required_moments)
            if gathered is not None:
                return gathered[0]
        return gather(
            design_rows if wrap is None else wrap(design_rows),
            **shape,
            required_moments=required_moments,
            with_roots=with_roots,
        )


def standardize_within_classes(
    design_rows: DesignRows, moments: ClassMoments
) -> tuple[DesignRows, ClassMoments]:
    """Return rows and moments with the columns divided by their standard deviations within classes.

    The standard deviations are from `within_sd`: their divisor is N - K.
    """
    unit = within_sd(moments)
    return replace(design_rows, column_units=unit), divide_columns(moments, unit)


def collinear_error(
    collinear_columns: list[Dependency],
    terms: tuple[str, ...],
    where: str = "within classes",
    *,
    alternative: str = "",
    separation_hint: str = "",
    can_drop: bool = False,
) -> CollinearError:
    """Return, without raising it, the error that names dependent columns and the columns that determine them.

    Parameters
    ----------
    collinear_columns : list of Dependency
        The dependent columns, not empty; the message names at most four of them.
    terms : tuple of str
        Names of all columns.
    where : str
        Rows in which the columns are dependent: "within classes", "over all rows" or, for example, "in class
        'a'".
    alternative : str
        Alternative to leaving the columns out of the formula, for the hint, without capital and full stop;
        ignored if `can_drop`.
    separation_hint : str
        Sentence on how the verb can use columns that vary only between classes; "" if it cannot.
    can_drop : bool
        Whether the verb has the option collinear=, which is then the alternative and in `error.options`.

    Returns
    -------
    CollinearError
        Its `columns` are the dependent columns, and its `options` are {"collinear": "drop"} if `can_drop`.
    """
    options = {"collinear": "drop"} if can_drop else {}
    if can_drop:
        alternative = 'pass collinear="drop"'
    descriptions = []
    for dependency in collinear_columns[:4]:
        name = repr(terms[dependency.column])
        others = join_labels(terms[j] for j in dependency.predictors)
        descriptions.append(
            f"{name} is {f'a linear combination of {others}' if dependency.predictors else 'constant'} "
            f"{where}"
        )
    more = f" (and {len(collinear_columns) - 4} more)" if len(collinear_columns) > 4 else ""
    problem = "columns are collinear" if where == "over all rows" else "covariance is singular"
    separating = [dependency for dependency in collinear_columns if dependency.separates_classes]
    message = f"The {problem}: {'; '.join(descriptions)}{more}."
    if where == "within classes" and separating and separation_hint:
        hint = f"{separation_sentence(separating, terms)} {separation_hint}"
    else:
        hint = (
            f"Drop {'it' if len(collinear_columns) == 1 else 'them'} from the "
            f"formula{alternative and f', or {alternative}'}."
        )
    columns = [terms[dependency.column] for dependency in collinear_columns]
    return CollinearError(message, hint=hint, columns=columns, options=options)


def separation_note(moments: ClassMoments, terms: tuple[str, ...]) -> str:
    """Return " " and a sentence on the columns that vary only between classes; "" without such columns.

    Moments with thin roots, of fewer rows than columns, are not searched.
    """
    if moments.scatter_type in ("thin", "thin class"):
        return ""
    collinear_columns = dependencies(moments, diagonal=moments.scatter_type == "diagonal")
    separating = [dependency for dependency in collinear_columns if dependency.separates_classes]
    return f" {separation_sentence(separating, terms)}" if separating else ""


def separation_sentence(collinear_columns: list[Dependency], terms: tuple[str, ...]) -> str:
    """Return a sentence that the given columns, which vary only between classes, separate them perfectly.

    If some columns are constant within classes, the sentence names only these; otherwise it is about the
    residuals of the columns on their predictors. `terms` are the names of all columns.
    """
    constant = [terms[dependency.column] for dependency in collinear_columns if not dependency.predictors]
    if constant:
        differs, pronoun = ("differs", "it") if len(constant) == 1 else ("differ", "them")
        subject = f"{join_labels(constant)} {differs} between classes"
    else:
        names = [terms[dependency.column] for dependency in collinear_columns]
        pronoun = "it" if len(names) == 1 else "them"
        subject = f"The residual of {join_labels(names)} on the other columns differs between classes"
    return f"{subject}: classes that differ in {pronoun} are separated without error."


def warn_of_near_dependencies(
    moments: ClassMoments, terms: tuple[str, ...], where: str = "within classes", k: int | None = None
) -> None:
    """Issue a CollinearWarning that names columns that are nearly linear combinations of others.

    Coefficients of such columns are huge. Without such columns the function does nothing.

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
    near_collinear = near_dependencies(moments, k)
    if not near_collinear:
        return
    descriptions = [
        f"{terms[dependency.column]!r} is a linear combination of "
        f"{join_labels(terms[j] for j in dependency.predictors)} except for {dependency.residual_ratio:.1e} "
        "of its standard deviation"
        for dependency in near_collinear[:4]
    ]
    more = f" (and {len(near_collinear) - 4} more)" if len(near_collinear) > 4 else ""
    is_single = len(near_collinear) == 1
    warn_user(
        f"Columns are nearly collinear {where}: {'; '.join(descriptions)}{more}. Their coefficients may be "
        f"{1 / min(dependency.residual_ratio for dependency in near_collinear):.0e} times the coefficients "
        f"of single columns and nearly cancel. Drop {'it' if is_single else 'them'} from the formula, or "
        f"replace {'it' if is_single else 'them'} by the residual, such as the difference of two columns.",
        CollinearWarning,
    )


def drop_collinear_columns(
    design_rows: DesignRows,
    moments: ClassMoments,
    collinear_columns: list[Dependency],
    where: str = "within classes",
) -> tuple[DesignRows, ClassMoments]:
    """Drop the dependent columns, with a warning that names them.

    Their names are appended to the attribute `collinear_terms` of the returned rows.

    Parameters
    ----------
    design_rows : DesignRows
    moments : ClassMoments
        Moments of these rows.
    collinear_columns : list of Dependency
    where : str
        Rows in which the columns are dependent, for the message; see `collinear_error`.

    Returns
    -------
    DesignRows, ClassMoments
        Rows and moments of the remaining columns.

    Raises
    ------
    CollinearError
        No column remains.
    """
    dropped = {dependency.column for dependency in collinear_columns}
    terms = design_rows.terms
    if len(dropped) == len(terms):
        _raise_all_columns_constant(terms, where)
    separating = [dependency for dependency in collinear_columns if dependency.separates_classes]
    separation_text = ""
    if where == "within classes" and separating:
        separation_text = (
            f" {separation_sentence(separating, terms)} The fit without "
            f"{'it' if len(dropped) == 1 else 'them'} ignores this. To use it, pass "
            "covariance=discrim.covariance.Shrunk(1e-6)."
        )
    warn_user(
        f"Dropped {join_labels((terms[j] for j in sorted(dropped)), max_labels=20)}: constant or a linear "
        f"combination of other columns {where}.{separation_text}",
        DroppedColumnsWarning,
    )
    left_out = (*design_rows.collinear_terms, *(terms[j] for j in sorted(dropped)))
    return _drop_columns_by_position(replace(design_rows, collinear_terms=left_out), moments, dropped)


def drop_constant_columns_if_wide(design_rows: DesignRows) -> DesignRows:
    """Drop constant columns, with a warning, if a pooled covariance of all columns would have too few rows.

    That is the case if labelled rows minus classes are fewer than columns. Otherwise, and without
    labelled or complete rows, the rows are returned unchanged. Verbs call this before they check the number
    of columns and read the rows.
    """
    n_rows = design_rows.n_labelled
    p = len(design_rows.terms)
    if not n_rows or n_rows - len(design_rows.design.levels) >= p:
        return design_rows
    moments = class_moments(design_rows, "diagonal")
    return drop_constant_columns(design_rows, moments)[0] if moments.total else design_rows


def is_wide(design_rows: DesignRows) -> bool:
    """Return whether there are fewer labelled rows than columns of the design."""
    return design_rows.n_labelled < len(design_rows.terms)


def few_rows_hint(rows: int) -> str:
    """Return the hint of lda() for too few rows for its columns, without capital and full stop.

    Other verbs are suggested for ten rows or more, which their ten folds require.
    """
    other_verbs = ", or use rda() or shrunken_centroids()" if rows >= 10 else ""
    covariance_hint = 'covariance="shrunk" (or "diagonal", "pinv")'
    return (
        f"name fewer columns in the formula, {'' if other_verbs else 'or '}pass "
        f"{covariance_hint}{other_verbs}"
    )


def raise_if_few_rows(design_rows: DesignRows, hint: str | None = None) -> None:
    """Raise CollinearError if rows minus classes are fewer than columns, so that no pooled covariance exists.

    This check precedes the computation of moments. It does not read the values of a source, whose number of
    labelled rows may be an upper bound; `raise_if_too_few_df` checks the moments. Without labelled rows
    nothing is raised.

    Parameters
    ----------
    design_rows : DesignRows
    hint : str, optional
        Hint of alternatives; by default the alternatives of lda().
    """
    n_rows = design_rows.n_labelled
    p = len(design_rows.terms)
    k = len(design_rows.design.levels)
    if n_rows and n_rows - k < p:
        _raise_too_few_rows(n_rows, k, design_rows.terms, hint)


def raise_if_too_few_df(
    moments: ClassMoments, terms: tuple[str, ...], *, diagonal: bool, hint: str | None = None
) -> None:
    """Raise CollinearError if rows minus classes, the degrees of freedom, are too few for a covariance.

    They must be at least one if `diagonal`, else at least the number of columns. Rows are counted, not
    weights.

    Parameters
    ----------
    moments : ClassMoments
    terms : tuple of str
        Names of the columns.
    diagonal : bool
        Whether only variances are estimated, which need only one degree of freedom.
    hint : str, optional
        Hint of alternatives; by default the alternatives of lda().
    """
    rows = int(moments.rows.sum())
    k = moments.n_classes
    if rows - k < (1 if diagonal else len(terms)):
        _raise_too_few_rows(rows, k, terms, hint)


def raise_if_no_within_variance(moments: ClassMoments) -> None:
    """Raise CollinearError if the total weight does not exceed the number of classes, the number of means."""
    if moments.total <= moments.n_classes:
        raise CollinearError(
            f"{moments.total:g} observations in {moments.n_classes} classes are too few to estimate "
            "variances within classes.",
            hint="Add observations, so that some class has two, and use frequency weights.",
        )


def _raise_too_few_rows(rows: int, n_classes: int, terms: tuple[str, ...], hint: str | None) -> None:
    """Raise CollinearError because there are too few rows for a covariance within classes.

    Parameters
    ----------
    rows, n_classes : int
        Numbers of rows and of classes.
    terms : tuple of str
        Columns of the design.
    hint : str or None
        Hint of the error; by default the alternatives of lda(). Ignored if `rows` is at most
        `n_classes`.
    """
    if rows <= n_classes:
        raise CollinearError(
            f"{rows} observations in {n_classes} classes leave no degrees of freedom for a covariance within "
            "classes.",
            hint="Add observations, so that some class has two.",
        )
    raise CollinearError(
        f"{rows} observations in {n_classes} classes leave {rows - n_classes} degrees of freedom within "
        f"classes, which are too few for the covariance of {len(terms)} columns ({join_labels(terms)}).",
        hint=sentence(few_rows_hint(rows) if hint is None else hint),
        options={"covariance": "shrunk"},
        columns=terms,
    )


def raise_if_small_class_weight(
    counts: Floats, classes: Sequence[Any] | pd.Index, min_weight: int, method_name: str
) -> None:
    """Raise NotSupportedError unless the weight of each class exceeds a minimum.

    It has to be larger than `min_weight` times 1 + `MIN_EXCESS_WEIGHT`. The message names the first class
    whose weight is too small.

    Parameters
    ----------
    counts : (K,) float
        Weights of the classes.
    classes : (K,) sequence
        Labels of the classes.
    min_weight : int
        Weight that each class must exceed, such as the number of columns.
    method_name : str
        Name of the method in the message.
    """
    light_classes = np.flatnonzero(counts <= min_weight * (1 + MIN_EXCESS_WEIGHT))
    if len(light_classes):
        raise NotSupportedError(
            f"{method_name} requires more than {min_weight} observations, or sums of weights, in each class. "
            f"Class {format_value(classes[light_classes[0]])} has {counts[light_classes[0]]:g}.",
            hint="Use fewer columns, merge the class with another one, or pass frequency weights.",
            classes=(classes[light_classes[0]],),
        )


def raise_if_small_total_weight(weight: float, n_means: int, subject: str = "The observations") -> None:
    """Raise DataError unless the sum of the weights exceeds the number of estimated means.

    It has to be larger than `n_means` times 1 + `MIN_EXCESS_WEIGHT`.

    Parameters
    ----------
    weight : float
        Sum of the weights.
    n_means : int
        Number of estimated means: the weight minus this number is the divisor of the covariance.
    subject : str
        Subject of the message.
    """
    if weight <= n_means * (1 + MIN_EXCESS_WEIGHT):
        raise DataError(
            f"{subject} have weights that sum to {weight:g}. A covariance is divided by this sum minus "
            f"{n_means}.",
            hint=(
                'Pass frequency weights, for example the weights divided by their mean, or method="mle", '
                "which divides by the sum."
            ),
        )


def raise_if_large(design_rows: DesignRows, reason: str, n_repeated_rows: float = 0.0) -> None:
    """Raise NotSupportedError if three copies of all rows as float64 exceed the available memory.

    Parameters
    ----------
    design_rows : DesignRows
    reason : str
        Why the rows have to be in memory: a sentence that the message completes with "in memory: ...".
    n_repeated_rows : float
        Number of rows if they are repeated by their weights, which counts if it exceeds the number of rows of
        the table; 0 if they are not.
    """
    rows = max(design_rows.table.nrows, n_repeated_rows)
    columns = len(design_rows.terms)
    required_bytes = 3 * 8 * rows * columns
    available_bytes = available_memory()
    if required_bytes > available_bytes:
        raise NotSupportedError(
            f"{reason} in memory: {rows:,.0f} rows of {columns:,} columns require "
            f"{required_bytes / 2**30:.1f} GiB while they are read, and {available_bytes / 2**30:.1f} GiB "
            "are available.",
            hint=(
                "Use a sample of the rows or fewer columns, or lda(), qda() or logistic(), which read the "
                "rows block by block."
            ),
        )


def warn_of_tied_axes(
    option: str, count: int, tie: tuple[int, int] | None, *, owner: str = "", max_axes: int | None = None
) -> None:
    """Issue a TiedAxesWarning if kept and dropped axes have equal eigenvalues: the choice is then arbitrary.

    Parameters
    ----------
    option : str
        Option for the number of axes, such as "components".
    count : int
        Number of axes that are kept.
    tie : (int, int) or None
        Numbers, from one, of the first and the last of the axes with equal eigenvalues, from `tied_axes`.
        None if the last kept axis is not tied; there is then no warning.
    owner : str
        Owner of the axes, such as "class 'a'"; "" if all classes share them.
    max_axes : int, optional
        Largest number that the option may have.
    """
    if tie is None:
        return
    first, last = tie
    where = f" of {owner}" if owner else ""
    untied_counts = [first - 1] * (first > 1) + [last] * (max_axes is None or last <= max_axes)
    hint = f"Choose {' or '.join(f'{option}={other}' for other in untied_counts)}." if untied_counts else ""
    warn_user(
        f"{option}={count} keeps axis {count}{where} and drops axis {count + 1}, but axes {first} to "
        f"{last} have equal eigenvalues. Which of their directions are kept is arbitrary, and the posteriors "
        f"depend on it, for example on the order of the rows. {hint}".rstrip(),
        TiedAxesWarning,
    )
