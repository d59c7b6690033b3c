"""What is fitted instead where a verb refuses, so that a search over models goes on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from discrim.core.robust.robust import ROBUST
from discrim.errors import DiscrimWarning
from discrim.frame.arrays import last_column
from discrim.models.results.results import ClassifierResults

__all__ = ["MOST_FEW", "SHRUNK", "again", "class_sizes", "shrinkable", "shrunk", "words"]

SHRUNK = 'covariance="shrunk", standardize=True'
"""What is fitted where a covariance does not exist: units of columns are nobody's choice there."""


PLAIN = {"method": "moment", "nu": 5, "scatter": "covariance", "support_fraction": 0.5}
"""The method in the place of a robust one, whose own options are as if they were not given."""


MOST_FEW = 2
"""Rows of a class up to which leaving one out may leave too few."""


def class_sizes(data: Any, options: Mapping[str, Any]) -> Any:
    """Rows of each class, or the sum of their weights; the response is the last column of the table."""
    if data is None:
        sizes = options["moments"].counts
        return sizes[sizes > 0]
    labels, weights = last_column(data), options.get("weights")
    if weights is None:
        counts = labels.value_counts()
        return counts[counts > 0]
    if np.shape(weights) != (len(labels),):
        # The verb has said so, and nothing else is the matter.
        return labels.value_counts() + np.inf
    table = labels.to_frame("label").assign(weight=np.asarray(weights, dtype=np.float64))
    counts = table.groupby("label", observed=True)["weight"].sum()
    return counts[counts > 0]


def again(verb: Callable[..., Any], *arguments: Any, **options: Any) -> ClassifierResults:
    """What a verb gives that was asked before, without a second warning of constant columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Left out", DiscrimWarning)
        results: ClassifierResults = verb(*arguments, **options)
        return results


def shrinkable(options: Mapping[str, Any], *structures: str) -> bool:
    """Whether the covariance asked for is one of these, by its name."""
    asked = options["covariance"]
    return isinstance(asked, str) and asked in structures


def shrunk(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with a shrunk covariance, shrunk as was asked for if it was."""
    own = options["covariance"] == "shrunk"
    # A robust covariance that does not exist is shrunk by no rule.
    plain = PLAIN if options.get("method") in ROBUST else {}
    return {
        **options,
        "covariance": "shrunk",
        "standardize": True,
        **({} if own else {"shrinkage": None, "grid": None}),
        **plain,
    }


def words(options: Mapping[str, Any]) -> str:
    """What `shrunk` of these options fits, in words."""
    return f'method="moment", {SHRUNK}' if options.get("method") in ROBUST else SHRUNK
