"""One thing has one name: arguments of functions, attributes of fits and names of modules."""

from __future__ import annotations

import importlib
import inspect

import pytest

import discrim
from discrim.models.registry import BY_VERB
from tests.contract.fits import FITS, fitted

FOLDS = {"cv", "n_folds", "nfolds", "kfold", "k_folds", "random_state", "confidence", "conf_level"}
"""Other names of folds=, seed= and level=."""


def test_every_model_has_a_fit():
    assert set(BY_VERB) <= set(FITS)


def test_arguments_use_one_name_per_concept():
    wrong = []
    verbs = {
        name: getattr(discrim, name)
        for name in discrim.__all__
        if not inspect.ismodule(getattr(discrim, name))
    }
    for name, verb in verbs.items():
        parts = inspect.getmembers(verb, inspect.isfunction) if inspect.isclass(verb) else [("", verb)]
        for part, function in parts:
            if not part.startswith("_"):
                asked = FOLDS & set(inspect.signature(function).parameters)
                wrong += [(name, part, argument) for argument in asked]
    assert wrong == []


@pytest.mark.parametrize("module", ["discrim", "discrim.errors", "discrim.datasets", "discrim.sklearn"])
def test_dir_of_a_module_lists_its_public_names(module):
    imported = importlib.import_module(module)
    assert set(dir(imported)) - {"__all__", "__version__"} == set(imported.__all__)
    for name in ("Any", "TYPE_CHECKING", "annotations", "warn_user", "kept_warnings"):
        assert name not in dir(imported)


@pytest.mark.parametrize("name", ["lda", "mlm", "lda, robust"])
def test_public_attributes_are_lower_case(name):
    assert [each for each in dir(fitted(name)) if each[0].isupper()] == []


def test_renderings_keep_the_headings_of_statsmodels():
    text = fitted("lda").summary(["log_odds"]).as_text()
    assert all(heading in text for heading in ("std err", "P>|z|", "[0.025", "0.975]"))
    assert "std err" in fitted("lda").summary(["log_odds"]).as_markdown()
