"""Every public method that takes arguments says in its docstring what each of them is."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import discrim


@cache
def methods() -> dict[str, str]:
    """Methods of results, moments and estimators, each with the arguments that its docstring leaves out."""
    found = {}
    for module in pkgutil.walk_packages(discrim.__path__, "discrim."):
        if not module.name.startswith(("discrim.models.", "discrim.sklearn.")):
            continue
        for name, owner in vars(importlib.import_module(module.name)).items():
            is_public = name == "Moments" or name.endswith(
                ("Results", "Classifier", "Posteriors", "CrossValidation")
            )
            if not (inspect.isclass(owner) and owner.__module__ == module.name and is_public):
                continue
            for own, method in vars(owner).items():
                if inspect.isfunction(method) and not own.startswith("_"):
                    found[f"{name}.{own}"] = unsaid(method)
    return found


def unsaid(method: Callable[..., Any]) -> str:
    """Arguments of a method that no line of its Parameters names."""
    names = [name for name in inspect.signature(method).parameters if name not in ("self", "cls")]
    text = inspect.getdoc(method) or ""
    section = re.search(r"Parameters\n-+\n(.*?)(?=\n\n?\w+\n-+\n|\Z)", text, re.DOTALL)
    lines = re.findall(r"^(\S.*)$", section[1], re.MULTILINE) if section else []
    said = {name.strip().lstrip("*") for line in lines for name in line.split(" : ")[0].split(",")}
    return ", ".join(name for name in names if name not in said)


def test_methods_are_found():
    assert {"LDAResults.transform", "ClassifierResults.predict", "Moments.save"} <= set(methods())


@pytest.mark.parametrize("method", sorted(methods()))
def test_each_argument_is_described(method):
    assert methods()[method] == ""
