"""Every covariance model answers through the methods of `CovarianceModel`, and has a name and traits."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import discrim.core
from discrim.core.covariance.model import CovarianceModel, CovarianceTraits


def models(cls: type[CovarianceModel] = CovarianceModel) -> Iterator[type[CovarianceModel]]:
    for module in pkgutil.walk_packages(discrim.core.__path__, "discrim.core."):
        importlib.import_module(module.name)
    for subclass in cls.__subclasses__():
        yield subclass
        yield from models(subclass)


@pytest.mark.parametrize("model", sorted(set(models()), key=str), ids=lambda model: model.__name__)
def test_covariance_models_have_name_and_traits(model):
    assert model.name or model.__subclasses__()
    assert isinstance(model.traits, CovarianceTraits)
