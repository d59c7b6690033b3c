"""Every public function, method and estimator describes each of its parameters in its docstring.

An editor shows a docstring as it stands in the source: an argument described elsewhere is hidden there.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

import discrim
import discrim.sklearn
from discrim.models.base.available import ConditionalAttribute
from discrim.models.base.fitted_results import FitComponent
from discrim.models.results.geometry import Boundary

POINTING = re.compile(r"\bAs (for|of|in|by) [`\w]")
"""A description that is to be looked up elsewhere."""


def functions() -> dict[str, Callable[..., Any]]:
    """The public functions, by name."""
    found = {name: getattr(discrim, name) for name in discrim.__all__}
    return {name: value for name, value in found.items() if inspect.isfunction(value)}


def estimators() -> dict[str, Any]:
    """The estimators, by name; their docstrings describe the arguments of their constructors."""
    found = {name: getattr(discrim.sklearn, name) for name in discrim.sklearn.__all__}
    return {name: value for name, value in found.items() if inspect.isclass(value)}


def owners() -> Iterator[type]:
    """Classes of results, moments and estimators, and what they inherit from."""
    for module in pkgutil.walk_packages(discrim.__path__, "discrim."):
        # The last has the package marginaleffects, which need not be installed, and no results of ours.
        if not module.name.startswith(("discrim.models.", "discrim.sklearn.")) or module.name.endswith(
            ".for_marginaleffects"
        ):
            continue
        for name, owner in vars(importlib.import_module(module.name)).items():
            is_public = name == "Moments" or name.endswith(
                ("Results", "Classifier", "Posteriors", "CrossValidation", "Assessment")
            )
            if not inspect.isclass(owner) or owner.__module__ != module.name:
                continue
            if is_public or issubclass(owner, (FitComponent, Boundary)):
                yield from (kind for kind in owner.__mro__ if kind.__module__.startswith("discrim."))


@cache
def methods() -> dict[str, Callable[..., Any]]:
    """Public methods that take arguments, by class and name."""
    return {
        f"{owner.__name__}.{name}": method
        for owner in owners()
        for name, held in vars(owner).items()
        for method in [held.function if isinstance(held, ConditionalAttribute) else held]
        if inspect.isfunction(method) and not name.startswith("_") and arguments(method)
    }


def arguments(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def described(function: Callable[..., Any]) -> dict[str, str]:
    """What a docstring says of each parameter, its lines joined."""
    text = inspect.getdoc(function) or ""
    section = re.search(r"Parameters\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", text, re.DOTALL)
    entries = re.findall(r"^(\S.*)\n?((?:(?: .*)?\n?)*)", section[1], re.MULTILINE) if section else []
    return {
        name.strip().lstrip("*"): " ".join(said.split())
        for names, said in entries
        for name in names.split(" : ")[0].split(",")
    }


CALLED = {**functions(), **estimators(), **methods()}


def test_public_methods_are_collected():
    assert {"LDAResults.transform", "ClassifierResults.predict", "Moments.save"} <= set(methods())
    assert {"NewRowsMethods.predict_set", "PlottableResults.plot", "LDAClassifier", "qda"} <= set(CALLED)


def test_a_description_is_read():
    said = described(discrim.lr_test)
    assert list(said) == ["lda_fit", "qda_fit", "bootstrap", "permutations", "seed"]
    assert said["seed"] == "Seed of the bootstrap and of the permutations."


@pytest.mark.parametrize("name", sorted(CALLED))
def test_each_argument_is_documented_in_its_function(name):
    said = described(CALLED[name])
    assert [argument for argument in arguments(CALLED[name]) if not said.get(argument)] == []
    assert [argument for argument, text in said.items() if POINTING.search(text)] == []
