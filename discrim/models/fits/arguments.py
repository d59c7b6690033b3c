"""What a person passes to a verb, checked: words, numbers, priors, costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError, PriorError, warn_user
from discrim.frame.categories import shown
from discrim.inference.linear_terms import TestType

__all__ = [
    "asked_type",
    "check_flag",
    "check_word",
    "cost_matrix",
    "folds_or_cv",
    "is_number",
    "is_share",
    "is_whole",
    "listed",
    "prior_of_some",
    "prior_vector",
    "told",
]

Floats = NDArray[np.float64]

MOST = 10**308
"""The largest whole number that an option may be."""

PRIOR_SLACK = 1e-8
"""How far from one a prior may sum; it is then divided by its sum."""


TYPES: dict[Any, TestType] = {
    **{1: 1, 2: 2, 3: 3},
    **{"1": 1, "2": 2, "3": 3},
    **{"I": 1, "II": 2, "III": 3},
}
"""What a person writes for the type of a test."""


def asked_type(given: Any) -> TestType:
    """The type of the tests of terms: 1, 2 or 3, or I, II or III.

    Raises
    ------
    DataError
        It is another.
    """
    if isinstance(given, bool) or not isinstance(given, int | str | np.integer) or given not in TYPES:
        raise DataError(f"type={told(given)} is not known: use 1, 2 or 3 (or I, II or III).")
    return TYPES[given]


def listed(labels: Any, most: int = 6) -> str:
    """Labels as text for a message, the first few of them."""
    listed = list(labels)
    said = ", ".join(shown(label) for label in listed[:most])
    return said if len(listed) <= most else f"{said} and {len(listed) - most} more"


def told(value: Any) -> str:
    """What was given for an option, for a message: a scalar as it is, of anything else its type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and abs(value) > MOST:
        # More digits than can be read, or than Python writes.
        return f"a number beyond 1e{len(str(MOST)) - 1}"
    return (
        repr(value) if value is None or isinstance(value, str | int | float) else f"<{type(value).__name__}>"
    )


def check_word(name: str, value: Any, allowed: tuple[str, ...], *, optional: bool = False) -> None:
    """Raise a DataError where an option is not one of the allowed words, nor None where it is optional."""
    if optional and value is None:
        return
    if not (isinstance(value, str) and value in allowed):
        near = get_close_matches(value, allowed, n=1, cutoff=0.6) if isinstance(value, str) else []
        hint = f" Did you mean {near[0]!r}?" if near else ""
        if hasattr(value, "_fit"):
            hint = " To set fits side by side, see compare()."
        raise DataError(
            f"{name}={told(value)} is not known: use one of {listed(allowed, len(allowed))}.{hint}"
        )


def is_number(value: Any) -> bool:
    """Whether an option is a number, which a truth value and what no double can hold are not."""
    number = (int, float, np.integer, np.floating)
    large = isinstance(value, int) and abs(value) > MOST
    return isinstance(value, number) and not (isinstance(value, bool) or large)


def check_flag(name: str, value: Any) -> None:
    """Raise a DataError where an option is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise DataError(f"{name}={told(value)}: give True or False.")


def is_share(value: Any) -> bool:
    """Whether an option is a number between 0 and 1, as a level is."""
    return is_number(value) and 0 < value < 1


def is_whole(value: Any) -> bool:
    """Whether an option is a whole number, which a truth value is not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def prior_of_some(prior: Any, classes: Sequence[Any], keep: NDArray[np.bool_]) -> Any:
    """A prior over all classes, in any form that a verb takes, as one over some of them (K,)."""
    if prior is None or isinstance(prior, str) or keep.all():
        return prior
    shares = prior_vector(prior, pd.Index(list(classes)), np.ones(len(classes)))[keep]
    return (shares / shares.sum()).tolist() if shares.sum() > 0 else "equal"


def prior_vector(prior: Any, classes: pd.Index, counts: Floats) -> Floats:
    """Prior probabilities (K,) in the order of the classes.

    Parameters
    ----------
    prior : None, "equal", mapping or Series by class, or sequence in the order of the classes
        None: the class proportions. Of an object with such a Series as its `prior`, as an estimate of it
        or another fit has, that one.

    Raises
    ------
    PriorError
        A class is missing or unknown, a probability is negative or missing, or they do not sum to one.
    """
    k = len(classes)
    if prior is None:
        return np.asarray(counts / counts.sum())
    if isinstance(prior, str):
        if prior != "equal":
            raise PriorError(
                f"prior={prior!r} is not known: use None, 'equal', or a probability for each class."
            )
        return np.full(k, 1.0 / k)
    if not isinstance(prior, pd.Series | pd.DataFrame) and isinstance(
        getattr(prior, "prior", None), pd.Series
    ):
        prior = prior.prior
    if isinstance(prior, pd.Series):
        if prior.index.has_duplicates:
            raise PriorError(
                f"The prior names {listed(prior.index[prior.index.duplicated()])} more than once: "
                "name each once."
            )
        prior = prior.to_dict()
    if isinstance(prior, Mapping):
        missing, unknown = [c for c in classes if c not in prior], [c for c in prior if c not in set(classes)]
        if missing or unknown:
            said = [f"it misses {listed(missing)}"] * bool(missing) + [
                f"{listed(unknown)} is no class"
            ] * bool(unknown)
            if {str(c) for c in missing} & {str(c) for c in unknown}:
                said.append("write the keys as the classes are, numbers or text")
            raise PriorError(f"The prior does not fit the classes {listed(classes)}: {'; '.join(said)}.")
        prior = [prior[c] for c in classes]
    try:
        values = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PriorError(f"The prior {prior!r} is not a list of probabilities.") from None
    if values.shape != (k,):
        raise PriorError(
            f"The prior has {values.size} values for {k} classes: give one for each of {listed(classes)}."
        )
    bad = ~(values >= 0)
    if bad.any():
        raise PriorError(
            f"The prior of class {shown(classes[int(np.argmax(bad))])} is {values[bad][0]:g}: give 0 or more."
        )
    total = float(values.sum())
    if not abs(total - 1) <= PRIOR_SLACK:
        raise PriorError(
            f"The prior sums to {total:.10g}, not to one: divide it by its sum if that is meant."
        )
    return values / total


def cost_matrix(costs: Any, classes: pd.Index) -> Floats | None:
    """Costs (K, K) of calling a row of one class (row) another (column).

    Parameters
    ----------
    costs : None, DataFrame labelled by class, or (K, K) array in the order of the classes

    Raises
    ------
    DataError
        A wrong shape or label, a missing, infinite or negative cost, or no cost at all.
    """
    if costs is None:
        return None
    k = len(classes)
    if isinstance(costs, pd.DataFrame):
        for axis, what in ((costs.index, "rows"), (costs.columns, "columns")):
            if len(axis) != k or set(axis) != set(classes):
                raise DataError(
                    f"The {what} of costs are {listed(axis)}; the classes are {listed(classes)}: "
                    "give the same."
                )
        costs = costs.loc[classes, classes]
    try:
        values = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError("costs is not numeric: give the cost of calling each class each other one.") from None
    if values.shape != (k, k):
        raise DataError(
            f"costs has shape {values.shape}: for {k} classes give {(k, k)}, actual by predicted."
        )
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise DataError(
            f"The cost of calling {shown(classes[i])} a {shown(classes[j])} is {values[i, j]:g}: "
            "give 0 or more."
        )
    if not (values > 0).any():
        raise DataError("Every cost is zero: give the cost of some wrong label.")
    return values


def folds_or_cv(verb: str, folds: Any, cv: Any) -> Any:
    """Folds that may be given under the name that they had, or have elsewhere; a warning says so."""
    if cv is None:
        return folds
    warn_user(f"{verb}(cv=) means {verb}(folds=), the word of all verbs: pass folds={told(cv)}.")
    return cv
