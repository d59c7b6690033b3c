"""Constructors and documentation of estimators are derived from verbs."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from discrim.docstrings import parameter_entries
from discrim.sklearn.base import VerbClassifier
from discrim.sklearn.signatures import estimator


def toy(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    k: int = 3,
    metric: str = "euclidean",
    folds: int = 10,
    seed: int | None = None,
    groups: Any = None,
) -> None:
    """Fit nothing.

    Parameters
    ----------
    formula : str
        Response and predictors.
    k : int
        Number of neighbours.

        See the Notes.
    metric : str
        Name of a distance.
    folds : int
        Number of folds; with `folds` of 2 they are halves.
    seed : int, optional
        Seed of the folds.
    groups : column name
        Groups of rows.

    Notes
    -----
    There are none.
    """


@estimator
class ToyClassifier(VerbClassifier):
    """Nothing, as an estimator.

    Parameters
    ----------
    metric : str
        Another text.
    singular : {"drop", "raise"}
        What to do.

    Examples
    --------
    >>> ToyClassifier()
    ToyClassifier()
    """

    verb = staticmethod(toy)
    not_supported = ("groups",)
    positional = ("metric",)

    k: int
    seed: int | None = 0
    singular: str = "drop"


def test_the_signature_is_that_of_the_verb_with_the_parameters_of_the_class():
    parameters = inspect.signature(ToyClassifier).parameters
    assert {each.name: each.default for each in parameters.values()} == {
        "metric": "euclidean", "k": 3, "cv": 10, "seed": 0, "singular": "drop"
    }  # fmt: skip
    assert next(iter(parameters)) == "metric"
    assert {each.name for each in parameters.values() if each.kind is not each.KEYWORD_ONLY} == {"metric"}
    assert parameters["k"].annotation == "int"
    model = ToyClassifier("cosine", k=4, cv=2)
    assert model.get_params() == {"metric": "cosine", "k": 4, "cv": 2, "seed": 0, "singular": "drop"}
    assert repr(model) == "ToyClassifier(cv=2, k=4, metric='cosine')"
    assert not hasattr(ToyClassifier, "singular")


def test_parameters_are_documented_once_each_by_the_class_or_by_the_verb():
    text = ToyClassifier.__doc__
    entries = parameter_entries(text)
    assert list(entries) == list(inspect.signature(ToyClassifier).parameters)
    assert entries["k"] == "k : int\n    Number of neighbours.\n\n    See the Notes."
    assert entries["cv"] == "cv : int\n    Number of folds; with `cv` of 2 they are halves."
    assert entries["metric"].endswith("Another text.")
    assert "another assignment at each fit" in entries["seed"]
    assert text.startswith("Nothing, as an estimator.\n\nParameters\n")
    assert text.endswith(">>> ToyClassifier()\nToyClassifier()")
    assert text.count("Parameters\n---") == text.count("Examples\n---") == 1


def test_wrong_arguments_are_type_errors_that_name_the_estimator():
    with pytest.raises(TypeError, match=r"ToyClassifier\(\) has no keyword 'metrc': use metric="):
        ToyClassifier(metrc="cosine")
    with pytest.raises(TypeError, match=r"ToyClassifier\(\): too many positional arguments"):
        ToyClassifier("cosine", 4)
    with pytest.raises(TypeError, match="multiple values"):
        ToyClassifier("cosine", metric="cosine")
