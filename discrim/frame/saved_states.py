"""What stateful calls learnt, as it is read from a file: refused where `transforms.learn` never writes it.

Splines are computed by native code that trusts its arguments, and the other states divide by what they hold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discrim.errors import FormulaError
from discrim.frame.grammar import MAX_BASIS, MAX_COLUMNS
from discrim.frame.transforms import MAX_DEGREE, State

__all__ = ["check_state", "width_of"]

LARGEST = sys.float_info.max

_OPTIONS = frozenset({"degree", "raw_degree", "include_intercept"})
"""Parts of a state that are whole numbers, or True or False."""


def check_state(function: str, values: Sequence[Any]) -> State:
    """Build a state from (name, value) pairs that came from a file, refusing what `learn` never writes.

    Parameters
    ----------
    function : str
    values : sequence of (str, value)

    Raises
    ------
    FormulaError
        An unknown function, a part that is missing or extra, or of another type, length or range than `learn`
        gives it.

    Examples
    --------
    >>> check_state("center", [["mean", [3.0]]])
    State(function='center', values=(('mean', (3.0,)),))
    """
    pairs = all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in values)
    learnt = {str(name): _plain(str(name), value) for name, value in values} if pairs else {}
    parts, fits = _CHECKS.get(function, ((), _never))
    if set(learnt) not in parts or not fits(learnt):
        raise FormulaError(f"This saved design holds no readable state of {function!r}: fit the model again.")
    return State(function, tuple(sorted(learnt.items())))


def width_of(state: State) -> int:
    """Columns that a state makes.

    Parameters
    ----------
    state : State
        One that `check_state` read.

    Examples
    --------
    >>> width_of(State("poly", (("raw_degree", 3),)))
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


def _plain(name: str, value: Any) -> Any:
    """A number or a tuple of numbers: doubles, but for what a function counts or is told."""
    if name in _OPTIONS:
        if isinstance(value, int):
            return value
    elif isinstance(value, list | tuple) and len(value) <= MAX_COLUMNS:
        return tuple(_double(each) for each in value)
    return _double(value)


def _double(value: Any) -> float:
    # An integer of JSON has any number of digits: NumPy makes an object of a long one, not a number.
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST:
        return float(value)
    raise FormulaError(f"This saved design holds {value!r} where a number belongs: fit the model again.")


def _whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _list(value: Any, least: int, most: int = MAX_BASIS + 2) -> bool:
    return isinstance(value, tuple) and least <= len(value) <= most


def _never(learnt: Mapping[str, Any]) -> bool:
    return False


def _fits_center(learnt: Mapping[str, Any]) -> bool:
    return _list(learnt["mean"], 1, MAX_COLUMNS)


def _fits_standardize(learnt: Mapping[str, Any]) -> bool:
    mean, deviation = learnt["mean"], learnt["sd"]
    return (
        _list(mean, 1, MAX_COLUMNS)
        and _list(deviation, len(mean), len(mean))
        and all(each > 0 for each in deviation)
    )


def _fits_poly(learnt: Mapping[str, Any]) -> bool:
    if "raw_degree" in learnt:
        return _whole(learnt["raw_degree"], 1, MAX_BASIS)
    centres, norms = learnt["centres"], learnt["norms"]
    return (
        not isinstance(learnt["middle"], tuple)
        and not isinstance(learnt["spread"], tuple)
        and learnt["spread"] > 0
        and _list(centres, 1, MAX_BASIS)
        and _list(norms, len(centres) + 1, len(centres) + 1)
        and all(each > 0 for each in norms)
    )


def _has_knots(learnt: Mapping[str, Any]) -> bool:
    ends = (learnt["lower_bound"], learnt["upper_bound"])
    if any(isinstance(end, tuple) for end in ends) or not _list(learnt["knots"], 0, MAX_BASIS):
        return False
    every = [ends[0], *learnt["knots"], ends[1]]
    return ends[0] < ends[1] and every == sorted(every)


def _fits_bs(learnt: Mapping[str, Any]) -> bool:
    return (
        _has_knots(learnt)
        and _whole(learnt["degree"], 0, MAX_DEGREE)
        and isinstance(learnt["include_intercept"], bool)
    )


def _fits_cr(learnt: Mapping[str, Any]) -> bool:
    if not _has_knots(learnt):
        return False
    knots = (learnt["lower_bound"], *learnt["knots"], learnt["upper_bound"])
    # Between two knots patsy has no basis.
    if not 3 <= len(set(knots)) == len(knots):
        return False
    return "centre" not in learnt or (
        _list(learnt["centre"], len(knots), len(knots)) and any(learnt["centre"])
    )


_Fits = Callable[[Mapping[str, Any]], bool]
_KNOTS = {"knots", "lower_bound", "upper_bound"}
_CHECKS: Mapping[str, tuple[tuple[set[str], ...], _Fits]] = {
    "center": (({"mean"},), _fits_center),
    "scale": (({"mean", "sd"},), _fits_standardize),
    "standardize": (({"mean", "sd"},), _fits_standardize),
    "poly": (({"raw_degree"}, {"middle", "spread", "centres", "norms"}), _fits_poly),
    "bs": ((_KNOTS | {"degree", "include_intercept"},), _fits_bs),
    "cr": ((_KNOTS, _KNOTS | {"centre"}), _fits_cr),
}
