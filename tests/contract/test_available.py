"""`dir()` of a fit lists the attributes that apply to it; any other attribute raises a NotSupportedError."""

from __future__ import annotations

import inspect
import re
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Diagonal, FactorAnalytic, Separable, Shrunk
from discrim.datasets import load_iris, load_penguins
from discrim.errors import NotSupportedError
from discrim.models.base.available import COMPONENTS, PublicAttributes, conditional_attributes
from discrim.subspace import MultipleCorrespondence, SparsePLS
from tests.contract.fits import FITS, MODELLED, fitted

IRIS, PENGUINS = load_iris(), load_penguins()
HOLES = IRIS.assign(sepal_width=IRIS["sepal_width"].where(np.arange(150) % 7 > 0))
BILLS = "species ~ bill_length_mm + bill_depth_mm"
SPECIES = "species ~ ."

OPTIONS: dict[str, Any] = {
    "lda, two classes": lambda: discrim.lda(SPECIES, IRIS[50:].astype({"species": str})),
    "lda, ncomp": lambda: discrim.lda(SPECIES, IRIS, ncomp=1),
    "lda, shrunk": lambda: discrim.lda(SPECIES, IRIS, covariance="shrunk"),
    "lda, diagonal": lambda: discrim.lda(SPECIES, IRIS, covariance="diagonal"),
    "lda, shrunk diagonal": lambda: discrim.lda(SPECIES, IRIS, covariance=Diagonal(0.1)),
    "lda, correlation": lambda: discrim.lda(SPECIES, IRIS, covariance="correlation"),
    "lda, nonlinear": lambda: discrim.lda(SPECIES, IRIS, covariance="nonlinear"),
    "lda, spherical": lambda: discrim.lda(SPECIES, IRIS, covariance="spherical"),
    "lda, pinv": lambda: discrim.lda(SPECIES, IRIS, covariance="pinv"),
    "lda, mcd": lambda: discrim.lda(BILLS, PENGUINS, covariance="mcd"),
    "lda, separable": lambda: discrim.lda(SPECIES, IRIS, covariance=Separable(2, 2)),
    "lda, components": lambda: discrim.lda(SPECIES, IRIS, components=2),
    "lda, components chosen": lambda: discrim.lda(SPECIES, IRIS, components="loo"),
    "lda, correspondence": lambda: discrim.lda(
        "species ~ island + sex", PENGUINS, components=MultipleCorrespondence(2)
    ),
    "lda, covariates": lambda: discrim.lda(f"{BILLS} | body_mass_g", PENGUINS),
    "lda, moments": lambda: discrim.lda(moments=discrim.moments(SPECIES, IRIS)),
    "lda, em": lambda: discrim.lda(SPECIES, HOLES, missing="em"),
    "qda, shrunk": lambda: discrim.qda(SPECIES, IRIS, covariance=Shrunk("loo", grid=[0.1, 0.5])),
    "qda, nonlinear": lambda: discrim.qda(SPECIES, IRIS, covariance="nonlinear"),
    "qda, diagonal": lambda: discrim.qda(SPECIES, IRIS, covariance="diagonal"),
    "qda, factor": lambda: discrim.qda(SPECIES, IRIS, covariance="factor"),
    "qda, common factor": lambda: discrim.qda(SPECIES, IRIS, covariance=FactorAnalytic(1, form="ABQD")),
    "qda, t": lambda: discrim.qda(SPECIES, IRIS, covariance="t"),
    "qda, mcd": lambda: discrim.qda(BILLS, PENGUINS, covariance="mcd"),
    "qda, separable": lambda: discrim.qda(SPECIES, IRIS, covariance=Separable(2, 2)),
    "qda, components": lambda: discrim.qda(SPECIES, IRIS, components=2),
    "qda, ncomp": lambda: discrim.qda(SPECIES, IRIS, ncomp=2),
    "qda, moments": lambda: discrim.qda(moments=discrim.moments(SPECIES, IRIS)),
    "qda, em": lambda: discrim.qda(SPECIES, HOLES, missing="em"),
    "rda, components": lambda: discrim.rda(SPECIES, IRIS, alpha=0.5, gamma=0.1, components=2),
    "naive_bayes, mixed": lambda: discrim.naive_bayes("species ~ bill_length_mm + sex", PENGUINS),
    "mixture, em": lambda: discrim.mixture(SPECIES, HOLES, components=1, missing="em"),
    "location, mixed": lambda: discrim.location("species ~ bill_length_mm + sex", PENGUINS),
    "logistic, separated": lambda: discrim.logistic(SPECIES, IRIS, bias_reduction=True),
    "pls, sparse": lambda: discrim.pls(SPECIES, IRIS, ncomp=1, algorithm=SparsePLS(2)),
    "knn, k": lambda: discrim.knn(SPECIES, IRIS, k=5),
}
"""Fits with options that add or remove attributes."""

UNSAVED = ("bayes", "fda")
CALLS_LEFT_OUT = ("plot", "update", "learning_curve", "posterior_intervals", "permutation_test", "q2")
"""Methods that draw, fit again, or take long."""


@cache
def fit_of_model(name: str) -> Any:
    return OPTIONS[name]() if name in OPTIONS else fitted(name)


def loaded(name: str, folder: Any) -> Any:
    fit_of_model(name).save(folder / "fit")
    return discrim.load(folder / "fit")


def public_names(fit: Any) -> list[str]:
    return [name for name in dir(fit) if not name.startswith("_")]


def check_attributes(fit: Any) -> None:
    """All listed attributes can be read; the others of the class raise a NotSupportedError with a hint."""
    listed = dir(fit)
    for name in listed:
        getattr(fit, name)
    for name in set(conditional_attributes(type(fit))) - set(listed):
        assert not hasattr(fit, name)
        with pytest.raises(NotSupportedError) as caught:
            getattr(fit, name)
        assert isinstance(caught.value, AttributeError)
        assert len(str(caught.value)) > 30
    for name in COMPONENTS:
        if name in listed:
            check_attributes(getattr(fit, name))


@pytest.mark.parametrize("name", [*FITS, *OPTIONS])
def test_all_listed_attributes_can_be_read(name):
    fit = fit_of_model(name)
    if isinstance(fit, PublicAttributes):
        check_attributes(fit)


@pytest.mark.parametrize("name", [name for name in (*MODELLED, *OPTIONS) if name not in UNSAVED])
def test_all_listed_attributes_of_a_loaded_fit_can_be_read(name, tmp_path):
    check_attributes(loaded(name, tmp_path))


def check_methods(fit: Any) -> None:
    """Methods that need no argument can be called."""
    for name in public_names(fit):
        method = getattr(fit, name)
        if name in CALLS_LEFT_OUT or not inspect.ismethod(method):
            continue
        parameters = inspect.signature(method).parameters.values()
        if any(each.default is each.empty or each.name == "data" for each in parameters):
            continue
        options = {"levene": None} if name == "anova" else {}
        try:
            method(**options)
        except NotSupportedError as error:
            raise AssertionError(f"{name}() is listed, and refused: {error}") from error
        except ValueError:
            # An argument that only some fits need, such as the classes of a boundary, or a missing package.
            continue
    for name in COMPONENTS:
        if hasattr(fit, name):
            check_methods(getattr(fit, name))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MODELLED, *OPTIONS])
def test_listed_methods_do_not_raise(name):
    check_methods(fit_of_model(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in (*MODELLED, *OPTIONS) if name not in UNSAVED])
def test_listed_methods_of_a_loaded_fit_do_not_raise(name, tmp_path):
    check_methods(loaded(name, tmp_path))


@pytest.mark.parametrize("name", ["lda", *(name for name in OPTIONS if name.startswith("lda"))])
def test_a_linear_fit_has_at_most_65_public_names(name):
    # threshold() is for two classes only.
    assert len({*public_names(fit_of_model(name))} - {"threshold"}) <= 65


@cache
def names_of_components() -> frozenset[str]:
    """Return the public names of the parts that some options add to a fit."""
    fits = [fit_of_model(name) for name in OPTIONS]
    parts = [getattr(fit, kind) for fit in fits for kind in COMPONENTS if hasattr(fit, kind)]
    return frozenset(name for part in parts for name in public_names(part))


@pytest.mark.parametrize("name", ["lda", "qda", *(name for name in OPTIONS if name[:3] in ("lda", "qda"))])
def test_a_suggested_attribute_exists(name):
    fit = fit_of_model(name)
    for attribute in names_of_components() - set(dir(fit)):
        with pytest.raises(NotSupportedError) as caught:
            getattr(fit, attribute)
        suggestion = re.search(r"Use ([\w.]+)(\(\))?\.$", str(caught.value))
        assert suggestion is None or attrgetter(suggestion[1])(fit) is not None
        assert "See dir()" not in str(caught.value)


def test_attributes_of_one_option_are_reached_through_one_attribute():
    found = {name: [each for each in COMPONENTS if hasattr(fit_of_model(name), each)] for name in OPTIONS}
    assert found["lda, shrunk"] == found["lda, mcd"] == found["qda, factor"] == ["covariance_model"]
    assert found["lda, components"] == found["qda, ncomp"] == found["rda, components"] == ["subspace"]
    assert found["lda, covariates"] == ["covariate_model"]
    assert found["lda, moments"] == found["lda, diagonal"] == found["lda, em"] == []
    assert hasattr(fit_of_model("lda, em"), "em")
    assert "path" in dir(fit_of_model("lda, components chosen").subspace)
    assert "path" not in dir(fit_of_model("lda, components").subspace)
    assert isinstance(fit_of_model("qda, shrunk").shrinkage, pd.Series)
    assert fit_of_model("qda, shrunk").covariance_model.shrinkage.equals(
        fit_of_model("qda, shrunk").shrinkage
    )
    assert "dimensions" in repr(fit_of_model("qda, factor").covariance_model)


@pytest.mark.parametrize(
    ("name", "attribute", "hint"),
    [
        ("lda, components", "loadings", "subspace.loadings"),
        ("lda, components", "component_shares", "subspace.shares"),
        ("lda, mcd", "robust_distances", "covariance_model.robust_distances()"),
        ("lda, separable", "row_cov", "covariance_model.row_cov"),
        ("qda, factor", "scree", "covariance_model.scree()"),
        ("lda, covariates", "slopes", "covariate_model.slopes()"),
        ("lda", "adjusted_means", "covariate_model.adjusted_means()"),
        ("lda", "distance", "boundary().distance()"),
        ("lda", "classification", "assess().classification()"),
        ("lda, shrunk", "path", "covariance_model.path"),
        ("rda, components", "components", "subspace.n_components"),
    ],
)
def test_error_for_a_component_attribute_names_the_component(name, attribute, hint):
    with pytest.raises(NotSupportedError) as caught:
        getattr(fit_of_model(name), attribute)
    assert hint in str(caught.value)
