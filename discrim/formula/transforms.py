"""Stateful transformations: center, standardize, poly, bs, cr.

`learn` computes the `State` of a call that depends on all rows, such as ``bs(x, df=4)``: the same call with
all values that depend on the rows written out. `apply` then computes a row independently of the other rows
passed with it. States are plain data that can be saved. patsy lacks orthogonal polynomials, and its states
cannot be saved; its B-spline and cubic regression bases are used with all knots specified.

A state from a file is rejected unless `learn` could have written it: splines are computed by native code that
trusts its arguments, and the other states contain divisors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as shorten
from typing import Any, NamedTuple

import numpy as np

from discrim.core.numerics.arrays import Floats
from discrim.errors import FormulaError, PrecisionWarning, warn_user
from discrim.formula.grammar import MAX_BASIS, MAX_COLUMNS, Value

MAX_DEGREE = 19
"""Largest degree of a B-spline: FITPACK's splev has a buffer of 20 numbers, and would overrun it silently."""


MAX_ORTHOGONALITY_ERROR = 1e-10
"""Largest deviation from orthogonality of the columns of poly() that is accepted without a warning."""

MAX_USABLE_ORTHOGONALITY_ERROR = 1e-3
"""Largest deviation from orthogonality of the columns of poly() that causes only a warning, not an error."""


@dataclass(frozen=True, slots=True)
class State:
    """A stateful call, such as ``bs(x, df=4)``, with the values learnt from the rows.

    Attributes
    ----------
    function : str
        Name of the function.
    values : tuple of (str, value)
        Learnt values and options, such as the knots and the degree, sorted by name.
    """

    function: str
    values: tuple[tuple[str, Any], ...]


def learn(function: str, x: Floats, options: Mapping[str, Value]) -> State:
    """Learn the state of a call from complete rows.

    Parameters
    ----------
    function : str
        Name of the function, one of `grammar.STATEFUL_FUNCTIONS`.
    x : (n,) or (n, k) float array
        Values of the argument of the call. Only center, scale and standardize accept k > 1 columns.
    options : mapping of str to value
        Literal options of the call.

    Returns
    -------
    State

    Examples
    --------
    >>> learn("center", np.array([1.0, 2.0, 6.0]), {}).values
    (('mean', (3.0,)),)
    """
    learnt = _TRANSFORMS[function].learn(x, dict(options))
    return State(function, tuple(sorted((name, _to_tuples(value)) for name, value in learnt.items())))


def apply(state: State, x: Floats) -> Floats:
    """Apply a learnt call to rows x, (m,) or (m, k), of complete values.

    The result of center, scale and standardize has the shape of x, any other (m, q) with the q columns of
    `state_width`. It is NaN outside the boundary knots of a B-spline.
    """
    return _TRANSFORMS[state.function].apply(x, dict(state.values))


def spline_bounds(state: State) -> dict[str, Value]:
    """Return the boundary knots of a spline as options of its call; empty for other calls."""
    return {name: value for name, value in state.values if name in ("lower_bound", "upper_bound")}


def _to_tuples(value: Any) -> Any:
    """Convert a value to numbers and nested tuples."""
    array = np.asarray(value)
    if array.ndim == 0:
        return array.item()
    return tuple(_to_tuples(row) for row in array) if array.ndim > 1 else tuple(array.tolist())


def _boolean_option(function: str, options: Mapping[str, Value], name: str, default: bool) -> bool:
    """Return an option that is True or False; raise a FormulaError for any other value."""
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise FormulaError(
            f"{function}({name}=) must be True or False, not {shorten(value)}.", hint="Write True or False."
        )
    return value


def _integer_option(
    function: str,
    options: Mapping[str, Value],
    name: str,
    default: int | None,
    minimum: int,
    maximum: int = MAX_BASIS,
) -> int:
    """Return an integer option.

    Parameters
    ----------
    function : str
        Name of the function, for messages.
    options : mapping of str to value
        Options of the call.
    name : str
        Name of the option.
    default : int or None
        Value if the call does not have the option; None makes the option required.
    minimum, maximum : int
        Smallest and largest allowed value.

    Returns
    -------
    int

    Raises
    ------
    FormulaError
        The value is not an integer in the range.
    """
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise FormulaError(
            f"{function}({name}=) is a whole number from {minimum} to {maximum}, not {shorten(value)}.",
            hint=f"Write an integer from {minimum} to {maximum}.",
        )
    return value


def _float_option(function: str, options: Mapping[str, Value], name: str, default: float) -> float:
    """Return a numeric option as a float, or the default if it is None; raise a FormulaError for others."""
    value = options.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormulaError(
            f"{function}({name}=) must be a number, not {shorten(value)}.", hint="Write a number."
        )
    return float(value)


def _as_vector(function: str, x: Floats) -> Floats:
    """Return x as a vector (n,); raise a FormulaError if it has several columns."""
    if x.ndim == 2 and x.shape[1] == 1:
        x = x[:, 0]
    if x.ndim != 1:
        raise FormulaError(
            f"{function}() requires one column, not a matrix of {x.shape[1]}.",
            hint="Pass one column at a time.",
        )
    return x


def _learn_center(x: Floats, options: dict[str, Value]) -> dict[str, Any]:
    """Learn the means of x, (n,) or (n, k), under the key "mean"."""
    return {"mean": np.atleast_1d(_mean(x))}


def _apply_center(x: Floats, values: dict[str, Any]) -> Floats:
    """Subtract the learnt means from x, (m,) or (m, k)."""
    mean = _learnt_means("center", x, values)
    return x - (mean if x.ndim == 2 else mean[0])


def _learnt_means(function: str, x: Floats, values: Mapping[str, Any]) -> Floats:
    """Return the learnt means (k,); raise a FormulaError if x, (m,) or (m, k), has other than k columns."""
    mean = np.asarray(values["mean"], dtype=np.float64)
    columns = x.shape[1] if x.ndim == 2 else 1
    if len(mean) != columns:
        raise FormulaError(
            f"{function}() learnt the means of {len(mean)} columns, but there are {columns} now.",
            hint="Fit the model again.",
        )
    return mean


def _mean(x: Floats) -> Floats:
    """Return the mean of x, (n,) or (n, k), over its rows."""
    # Adding the mean of the residuals corrects the rounding error of the first mean.
    first = x.mean(axis=0)
    return np.asarray(first + (x - first).mean(axis=0))


def _learn_standardize(x: Floats, options: dict[str, Value]) -> dict[str, Any]:
    """Learn means and standard deviations of x, (n,) or (n, k), under the keys "mean" and "sd".

    The divisor of the variance is n - ddof, by default n. ``center=False`` replaces the means by 0, and
    ``rescale=False`` the standard deviations by 1. Raises a FormulaError for a constant column.
    """
    ddof = _integer_option("standardize", options, "ddof", 0, 0)
    if len(x) <= ddof:
        raise FormulaError(
            f"standardize(ddof={ddof}) requires more than {ddof} complete rows.",
            hint="Pass more rows, or use a smaller ddof=.",
        )
    mean = np.atleast_1d(_mean(x))
    residuals = x.reshape(len(x), -1) - mean
    # Scaled by a power of two, otherwise squares could overflow or underflow.
    unit = np.exp2(np.floor(np.log2(np.maximum(np.abs(residuals).max(axis=0), np.finfo(np.float64).tiny))))
    deviation = unit * np.sqrt(((residuals / unit) ** 2).sum(axis=0) / (len(x) - ddof))
    centred = _boolean_option("standardize", options, "center", True)
    rescaled = _boolean_option("standardize", options, "rescale", True)
    if rescaled and not np.all(deviation > 0):
        raise FormulaError(
            "standardize() cannot be applied to a constant column.", hint="Leave the column out."
        )
    return {
        "mean": mean if centred else np.zeros_like(mean),
        "sd": deviation if rescaled else np.ones_like(mean),
    }


def _apply_standardize(x: Floats, values: dict[str, Any]) -> Floats:
    """Subtract the learnt means from x, (m,) or (m, k), and divide by the learnt standard deviations."""
    mean = _learnt_means("standardize", x, values)
    deviation: Floats = np.asarray(values["sd"])
    return (x - mean) / deviation if x.ndim == 2 else (x - mean[0]) / deviation[0]


def _learn_poly(x: Floats, options: dict[str, Value]) -> dict[str, Any]:
    """Compute the centres a_j and squared norms of the recurrence of orthogonal polynomials of x (n,).

    The result has the keys "middle" and "spread" (centre and half range of x, by which it is scaled),
    "centres", and "norms" (squared norms from degree 0). For raw polynomials it only has "raw_degree".

    The coefficients follow the Stieltjes procedure (Gautschi, Orthogonal Polynomials, 2004, section 2.2):
    a_j = <x p_j, p_j> / <p_j, p_j>, b_j = <p_j, p_j> / <p_(j-1), p_(j-1)>.
    """
    x = _as_vector("poly", x)
    degree = _integer_option("poly", options, "degree", 1, 1)
    if _boolean_option("poly", options, "raw", False):
        return {"raw_degree": degree}
    if len(np.unique(x)) <= degree:
        raise FormulaError(
            f"poly(degree={degree}) requires more than {degree} different values in the column.",
            hint="Write a smaller degree=.",
        )
    centre = _mean(x)
    half_range = float(np.abs(x - centre).max())
    scaled = (x - centre) / half_range
    previous = np.zeros_like(scaled)
    current = np.ones_like(scaled)
    centres = []
    norms = [np.float64(1.0), np.float64(len(x))]
    # Norms that underflow lead to NaN, which is checked at the end.
    with np.errstate(all="ignore"):
        for _ in range(degree):
            centres.append(scaled @ current**2 / norms[-1])
            previous, current = current, (scaled - centres[-1]) * current - norms[-1] / norms[-2] * previous
            norms.append(np.float64(current @ current))
        learnt = {"middle": centre, "spread": half_range, "centres": centres, "norms": norms[1:]}
        _check_orthogonality(x, learnt)
    return learnt


def _check_orthogonality(x: Floats, learnt: dict[str, Any]) -> None:
    """Warn (PrecisionWarning), or raise a FormulaError, if rounding has destroyed the orthogonality.

    The limits are `MAX_ORTHOGONALITY_ERROR` and `MAX_USABLE_ORTHOGONALITY_ERROR`, for columns of norm 1.

    The recurrence amplifies rounding errors if a few values are far from the others, for example in a skewed
    column.
    """
    columns = np.column_stack([np.full(len(x), 1 / np.sqrt(len(x))), _apply_poly(x, learnt)])
    orthogonality_errors = np.abs(columns.T @ columns - np.eye(columns.shape[1]))
    orthogonality_errors = np.maximum.accumulate(
        np.fmax(
            np.tril(np.where(np.isfinite(orthogonality_errors), orthogonality_errors, np.inf)).max(axis=1),
            0.0,
        )
    )
    if orthogonality_errors[-1] <= MAX_ORTHOGONALITY_ERROR:
        return
    degree = len(orthogonality_errors) - 1
    n_accurate = int((orthogonality_errors <= MAX_ORTHOGONALITY_ERROR).sum()) - 1
    problem = f"poly(degree={degree}) is inaccurate, because the values are very unevenly distributed: "
    problem += (
        "only the first of its columns is accurate"
        if n_accurate == 1
        else f"only the first {n_accurate} of its columns are accurate"
    )
    hint = (
        f"Write a degree up to {max(n_accurate, 1)}, apply log() to a skewed column first, or use bs() or "
        "cr()."
    )
    if not orthogonality_errors[-1] <= MAX_USABLE_ORTHOGONALITY_ERROR:
        raise FormulaError(f"{problem}.", hint=hint)
    warn_user(
        f"{problem}; the others are orthogonal up to {orthogonality_errors[-1]:.0e}. {hint}", PrecisionWarning
    )


def _apply_poly(x: Floats, values: dict[str, Any]) -> Floats:
    """Evaluate the polynomials that `_learn_poly` returned (`values`) at x (m,), as columns (m, degree)."""
    x = _as_vector("poly", x)
    if "raw_degree" in values:
        return np.column_stack([x**power for power in range(1, values["raw_degree"] + 1)])
    scaled = (x - values["middle"]) / values["spread"]
    norms = (1.0, *values["norms"])
    out = np.empty((len(x), len(values["centres"])))
    previous = np.zeros_like(scaled)
    current = np.ones_like(scaled)
    for j, centre in enumerate(values["centres"]):
        previous, current = current, (scaled - centre) * current - norms[j + 1] / norms[j] * previous
        out[:, j] = current / np.sqrt(norms[j + 2])
    return out


def _boundary_knots(function: str, x: Floats, options: Mapping[str, Value]) -> tuple[float, float]:
    """Return the boundary knots of a spline, which are by default the extremes of x.

    Parameters
    ----------
    function : {"bs", "cr"}
    x : (n,) float array
    options : mapping of str to value

    Returns
    -------
    tuple of float
        The lower and the upper boundary knot.

    Raises
    ------
    FormulaError
        The bounds are not increasing, or ``bs`` has values outside.
    """
    lower = _float_option(function, options, "lower_bound", float(x.min()))
    upper = _float_option(function, options, "upper_bound", float(x.max()))
    if not lower < upper:
        raise FormulaError(
            f"{function}() requires lower_bound < upper_bound; they are {lower} and {upper}.",
            hint="Use other bounds, or leave out a constant column.",
        )
    if function == "bs" and not (lower <= x.min() and x.max() <= upper):
        raise FormulaError(
            f"bs() has values outside its bounds {lower} and {upper}.", hint="Widen the bounds."
        )
    return lower, upper


def _inner_knots(
    function: str, x: Floats, options: Mapping[str, Value], bounds: tuple[float, float], extra_df: int
) -> Floats:
    """Return the inner knots of a spline: those in the options, or quantiles.

    Parameters
    ----------
    function : {"bs", "cr"}
    x : (n,) float array
    options : mapping of str to value
    bounds : tuple of float
        Boundary knots.
    extra_df : int
        Degrees of freedom in addition to the inner knots.

    Returns
    -------
    (q,) float array, increasing

    Raises
    ------
    FormulaError
        The options are missing or contradict each other, or knots are outside the bounds.
    """
    requested_knots = options.get("knots")
    if requested_knots is None and options.get("df") is None:
        raise FormulaError(
            f"{function}() requires df= or knots=.", hint=f"Write {function}(x, df=4), for example."
        )
    count = None
    if options.get("df") is not None:
        count = _integer_option(function, options, "df", None, max(extra_df, 1)) - extra_df
    if requested_knots is None:
        return np.atleast_1d(np.quantile(x, np.linspace(0, 1, (count or 0) + 2)[1:-1]))
    values = requested_knots if isinstance(requested_knots, tuple) else (requested_knots,)
    if not all(isinstance(knot, int | float) and not isinstance(knot, bool) for knot in values):
        raise FormulaError(
            f"{function}(knots=) must be a list of numbers, not {shorten(requested_knots)}.",
            hint="Pass a list of numbers.",
        )
    knots = np.sort(np.array(values, dtype=np.float64))
    if len(knots) > MAX_BASIS or (count is not None and count != len(knots)):
        raise FormulaError(
            f"{function}(): df= requires {count} inner knots, but knots= has {len(knots)}.",
            hint="Use only one of the two.",
        )
    outside = knots[~((bounds[0] <= knots) & (knots <= bounds[1]))]
    if len(outside):
        raise FormulaError(
            f"{function}(): {len(outside)} of the knots, such as {outside[0]}, are outside the bounds "
            f"{bounds[0]} and {bounds[1]}.",
            hint="Use knots within the bounds.",
        )
    return knots


def _learn_bs(x: Floats, options: dict[str, Value]) -> dict[str, Any]:
    """Learn the knots of a B-spline of x (n,).

    The keys are "knots" (inner knots), "lower_bound", "upper_bound", "degree" and "include_intercept".
    """
    x = _as_vector("bs", x)
    degree = _integer_option("bs", options, "degree", 3, 0, MAX_DEGREE)
    intercept = _boolean_option("bs", options, "include_intercept", False)
    lower, upper = bounds = _boundary_knots("bs", x, options)
    knots = _inner_knots("bs", x, options, bounds, degree + intercept)
    ends = {"lower_bound": lower, "upper_bound": upper}
    return {"degree": degree, "include_intercept": intercept, "knots": knots} | ends


def _apply_bs(x: Floats, values: dict[str, Any]) -> Floats:
    """Evaluate a B-spline basis at x (m,); rows outside the bounds are NaN."""
    x = _as_vector("bs", x)
    inside = (values["lower_bound"] <= x) & (x <= values["upper_bound"])
    width = len(values["knots"]) + values["degree"] + values["include_intercept"]
    out = np.full((len(x), width), np.nan)
    if inside.any():
        out[inside] = _spline_basis("bs", x[inside], values)
    return out


def _learn_cr(x: Floats, options: dict[str, Value]) -> dict[str, Any]:
    """Learn the knots of a cubic regression spline of x (n,), and the means of its basis if it is centred.

    The keys are "knots" (inner knots), "lower_bound", "upper_bound" and, for the means, "centre".
    """
    x = _as_vector("cr", x)
    constraint = options.get("constraints")
    if constraint not in (None, "center"):
        raise FormulaError(
            f"cr(constraints=) must be None or 'center', not {shorten(constraint)}.",
            hint="Use one of the two.",
        )
    bounds = _boundary_knots("cr", x, options)
    within = np.unique(x[(bounds[0] <= x) & (x <= bounds[1])])
    knots = _inner_knots("cr", within, options, bounds, 2 - (constraint == "center"))
    every = np.unique(np.concatenate([[bounds[0]], knots, [bounds[1]]]))
    if len(every) < len(knots) + 2:
        raise FormulaError("cr() has equal knots.", hint="Use a smaller df, or pass knots=.")
    if len(every) < 3:
        raise FormulaError(
            "cr() has no interior knots and reduces to a straight line.",
            hint=f"Pass df={3 - (constraint == 'center')} or more, knots=, or the column without cr().",
        )
    values = {"knots": every[1:-1], "lower_bound": bounds[0], "upper_bound": bounds[1]}
    if constraint == "center":
        return {**values, "centre": _spline_basis("cr", x, values).mean(axis=0)}
    return values


def _apply_cr(x: Floats, values: dict[str, Any]) -> Floats:
    """Evaluate a cubic regression spline basis at x (m,), as columns (m, q); extrapolate outside its bounds.

    A centred basis has one column less. The key "centre" is removed from `values`.
    """
    x = _as_vector("cr", x)
    centre = values.pop("centre", None)
    basis = _spline_basis("cr", x, values)
    if centre is None:
        return basis
    # Combinations of the basis with mean zero on the training rows. Summed column by column, because a matrix
    # product rounds a row differently depending on the number of rows.
    null_space = np.linalg.qr(np.array(centre)[:, None], mode="complete").Q[:, 1:]
    out = np.zeros((len(x), null_space.shape[1]))
    for j, row in enumerate(null_space):
        out += basis[:, j, None] * row
    return out


def _spline_basis(function: str, x: Floats, values: Mapping[str, Any]) -> Floats:
    """Evaluate the basis (m, q) of patsy's `bs` or `cr` at x (m,), with the values of a state as options."""
    import patsy

    options = {
        name: np.asarray(value) if isinstance(value, tuple) else value for name, value in values.items()
    }
    return np.asarray(getattr(patsy, function)(x, **options), dtype=np.float64)


MAX_FLOAT = sys.float_info.max

_OPTIONS = frozenset({"degree", "raw_degree", "include_intercept"})
"""Values of a state that are integers or booleans."""


def check_state(function: str, values: Sequence[Any]) -> State:
    """Return a state of (name, value) pairs from a file; raise a FormulaError if it is not valid.

    Examples
    --------
    >>> check_state("center", [["mean", [3.0]]])
    State(function='center', values=(('mean', (3.0,)),))
    """
    pairs = all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in values)
    learnt = {str(name): _read_state_value(str(name), value) for name, value in values} if pairs else {}
    transform = _TRANSFORMS.get(function)
    if transform is None or set(learnt) not in transform.value_names or not transform.is_valid(learnt):
        raise FormulaError(
            f"The state of {function!r} in this saved design is not valid.", hint="Fit the model again."
        )
    return State(function, tuple(sorted(learnt.items())))


def state_width(state: State) -> int:
    """Return the number of columns that a state produces.

    Examples
    --------
    >>> state_width(State("poly", (("raw_degree", 3),)))
    3
    """
    learnt = dict(state.values)
    match state.function:
        case "poly":
            return int(learnt["raw_degree"]) if "raw_degree" in learnt else len(learnt["centres"])
        case "bs":
            return len(learnt["knots"]) + int(learnt["degree"]) + int(learnt["include_intercept"])
        case "cr":
            return len(learnt["knots"]) + 2 - ("centre" in learnt)
    return len(learnt["mean"])


def _read_state_value(name: str, value: Any) -> Any:
    """Return a value of a state as a float or a tuple of floats, or as an integer if it is an option."""
    if name in _OPTIONS:
        if isinstance(value, int):
            return value
    elif isinstance(value, list | tuple) and len(value) <= MAX_COLUMNS:
        return tuple(_read_float(element) for element in value)
    return _read_float(value)


def _read_float(value: Any) -> float:
    """Return a value as a float; raise a FormulaError if it is not a finite number."""
    # A JSON integer may have any number of digits; NumPy would convert a long one to an object.
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_FLOAT:
        return float(value)
    raise FormulaError(f"This saved design has {value!r} instead of a number.", hint="Fit the model again.")


def _is_integer_between(value: Any, minimum: int, maximum: int) -> bool:
    """Return whether a value is an integer in a range, including its ends; booleans are not integers."""
    return isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= maximum


def _is_tuple_of_length(value: Any, min_length: int, max_length: int = MAX_BASIS + 2) -> bool:
    """Return whether a value is a tuple with a length in a range, including its ends."""
    return isinstance(value, tuple) and min_length <= len(value) <= max_length


def _is_center_state(learnt: Mapping[str, Any]) -> bool:
    """Return whether values are a valid state of center()."""
    return _is_tuple_of_length(learnt["mean"], 1, MAX_COLUMNS)


def _is_standardize_state(learnt: Mapping[str, Any]) -> bool:
    """Return whether values are a valid state of standardize()."""
    mean = learnt["mean"]
    sd = learnt["sd"]
    return (
        _is_tuple_of_length(mean, 1, MAX_COLUMNS)
        and _is_tuple_of_length(sd, len(mean), len(mean))
        and all(deviation > 0 for deviation in sd)
    )


def _is_poly_state(learnt: Mapping[str, Any]) -> bool:
    """Return whether values are a valid state of poly()."""
    if "raw_degree" in learnt:
        return _is_integer_between(learnt["raw_degree"], 1, MAX_BASIS)
    centres = learnt["centres"]
    norms = learnt["norms"]
    return (
        not isinstance(learnt["middle"], tuple)
        and not isinstance(learnt["spread"], tuple)
        and learnt["spread"] > 0
        and _is_tuple_of_length(centres, 1, MAX_BASIS)
        and _is_tuple_of_length(norms, len(centres) + 1, len(centres) + 1)
        and all(norm > 0 for norm in norms)
    )


def _has_knots(learnt: Mapping[str, Any]) -> bool:
    """Return whether the knots of a spline state are increasing and lie within its bounds."""
    ends = (learnt["lower_bound"], learnt["upper_bound"])
    if any(isinstance(end, tuple) for end in ends) or not _is_tuple_of_length(learnt["knots"], 0, MAX_BASIS):
        return False
    every = [ends[0], *learnt["knots"], ends[1]]
    return ends[0] < ends[1] and every == sorted(every)


def _is_bs_state(learnt: Mapping[str, Any]) -> bool:
    """Return whether values are a valid state of bs()."""
    degree = learnt["degree"]
    intercept = learnt["include_intercept"]
    return _has_knots(learnt) and _is_integer_between(degree, 0, MAX_DEGREE) and isinstance(intercept, bool)


def _is_cr_state(learnt: Mapping[str, Any]) -> bool:
    """Return whether values are a valid state of cr()."""
    if not _has_knots(learnt):
        return False
    knots = (learnt["lower_bound"], *learnt["knots"], learnt["upper_bound"])
    # patsy's basis requires at least three knots.
    if not 3 <= len(set(knots)) == len(knots):
        return False
    return "centre" not in learnt or (
        _is_tuple_of_length(learnt["centre"], len(knots), len(knots)) and any(learnt["centre"])
    )


class _Transform(NamedTuple):
    """A stateful function: how it learns and is applied, and which states are valid.

    Attributes
    ----------
    learn : callable
        Function from x and options to the values of a state.
    apply : callable
        Function from x and the values of a state to columns.
    value_names : tuple of set of str
        Possible names of the values of a state.
    is_valid : callable
        Function that returns whether the values of a state are valid.
    """

    learn: Callable[[Floats, dict[str, Value]], dict[str, Any]]
    apply: Callable[[Floats, dict[str, Any]], Floats]
    value_names: tuple[set[str], ...]
    is_valid: Callable[[Mapping[str, Any]], bool]


_KNOT_NAMES = {"knots", "lower_bound", "upper_bound"}
_STANDARDIZE = _Transform(_learn_standardize, _apply_standardize, ({"mean", "sd"},), _is_standardize_state)
_TRANSFORMS: Mapping[str, _Transform] = {
    "center": _Transform(_learn_center, _apply_center, ({"mean"},), _is_center_state),
    "scale": _STANDARDIZE,
    "standardize": _STANDARDIZE,
    "poly": _Transform(
        _learn_poly, _apply_poly, ({"raw_degree"}, {"middle", "spread", "centres", "norms"}), _is_poly_state
    ),
    "bs": _Transform(_learn_bs, _apply_bs, (_KNOT_NAMES | {"degree", "include_intercept"},), _is_bs_state),
    "cr": _Transform(_learn_cr, _apply_cr, (_KNOT_NAMES, _KNOT_NAMES | {"centre"}), _is_cr_state),
}
