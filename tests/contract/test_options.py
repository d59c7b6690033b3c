"""What a verb was asked for is kept: by the fit, its pickle, its file, and the estimator made of it."""

from __future__ import annotations

import pickle
from collections import deque

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import LedoitWolf
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import Ridge

import discrim
from discrim.covariance import (
    MCD,
    Diagonal,
    FactorAnalytic,
    NonlinearShrinkage,
    Shrunk,
    ShrunkCorrelation,
    StudentT,
)
from discrim.datasets import load_iris, load_wine
from discrim.errors import DataError, DiscrimError
from discrim.models.base.tensor_file import read_file, write_file
from discrim.penalty import Lasso
from discrim.sklearn import as_estimator
from discrim.specification import Specification
from discrim.subspace import OrthogonalPLS, RandomFeatures, SparsePLS

pytestmark = pytest.mark.filterwarnings(
    "ignore::discrim.errors.DroppedColumnsWarning", "ignore::discrim.errors.NoSeparationWarning"
)
IRIS = load_iris()
WINE = load_wine()
TWO = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
TWICE = IRIS.assign(twice=IRIS["petal_length"] * 2)
EVERY, PETALS, CULTIVAR = "species ~ .", "species ~ petal_length + petal_width", "cultivar ~ ."
BY_CLASS = {"setosa": 0.3, "versicolor": 0.5, "virginica": 0.4}

CASES = {
    "lda": ("lda", EVERY, IRIS, {}),
    "lda, mle": ("lda", EVERY, IRIS, {"method": "mle", "prior": "equal", "ncomp": 1}),
    "lda, t": ("lda", EVERY, IRIS, {"covariance": StudentT(nu=None, scatter="scale")}),
    "lda, mcd": ("lda", PETALS, IRIS, {"covariance": MCD(0.75)}),
    "lda, loo": (
        "lda",
        EVERY,
        IRIS,
        {"covariance": Shrunk("loo", grid=np.array([0, 0.5]))},
    ),
    "lda, oas": ("lda", EVERY, IRIS, {"covariance": Shrunk(standardize=True)}),
    "lda, nonlinear": ("lda", EVERY, IRIS, {"covariance": NonlinearShrinkage(standardize=True)}),
    "lda, correlation": ("lda", EVERY, IRIS, {"covariance": ShrunkCorrelation(variance_shrinkage=0.1)}),
    "lda, collinear": ("lda", EVERY, TWICE, {"collinear": "drop"}),
    "qda": ("qda", EVERY, IRIS, {"covariance": Diagonal(0.3)}),
    "qda, factor": ("qda", EVERY, IRIS, {"covariance": FactorAnalytic("cattell", threshold=0.1)}),
    "qda, ncomp": ("qda", EVERY, IRIS, {"ncomp": 2, "method": "mle"}),
    "qda, by class": ("qda", EVERY, IRIS, {"covariance": FactorAnalytic(dict.fromkeys(BY_CLASS, 2))}),
    "rda": ("rda", EVERY, IRIS, {"alpha": 0.5, "folds": 3, "seed": 2, "grid": (0, 0.5, 1)}),
    "naive_bayes": (
        "naive_bayes",
        EVERY,
        IRIS,
        {"kernel": ["petal_width"], "bandwidth": {"petal_width": 0.3}},
    ),
    "shrunken": ("shrunken_centroids", CULTIVAR, WINE, {"folds": 4, "seed": 1, "offset": 0.5}),
    "nearest_centroid": ("nearest_centroid", EVERY, IRIS, {"prior": None}),
    "location": ("location", EVERY, IRIS, {"grid": [0.1, 0.5], "prior": "equal"}),
    "plda": ("plda", EVERY, IRIS, {"components": 1, "normalize": True, "tol": 1e-8}),
    "knn": ("knn", EVERY, IRIS, {"grid": [1, 5], "metric": "mahalanobis"}),
    "kernel": (
        "kernel_density",
        PETALS,
        IRIS,
        {"select": "error", "grid": [0.2, 0.5], "metric": "euclidean"},
    ),
    "kernel, given": (
        "kernel_density",
        PETALS,
        IRIS,
        {"bandwidth": pd.Series(BY_CLASS), "covariance": "class"},
    ),
    "logistic": ("logistic", PETALS, TWO, {"reference": "virginica", "tol": 1e-7}),
    "logistic, lasso": (
        "logistic",
        EVERY,
        IRIS,
        {"penalty": Lasso(folds=3, seed=1, n_strengths=20)},
    ),
    "indicator": ("indicator", EVERY, TWICE, {"collinear": "drop"}),
    "perceptron": ("perceptron", PETALS, IRIS, {"step": 0.5, "maxiter": 30, "seed": 1}),
    "perceptron, start": ("perceptron", PETALS, TWO, {"start": np.array([1.0, 2.0, 3.0]), "maxiter": 20}),
    "hyperplane": ("hyperplane", PETALS, IRIS[IRIS["species"] != "virginica"].astype({"species": str}), {}),
    "kernel_lda, features": (
        "kernel_lda",
        EVERY,
        IRIS,
        {"kernel": "gaussian", "scale": "none", "width": 2.0, "components": RandomFeatures(40)},
    ),
    "kernel_lda": (
        "kernel_lda",
        EVERY,
        IRIS,
        {"kernel": "gaussian", "scale": "ranks", "width": 2.0, "ncomp": 1, "select": "error"},
    ),
    "fda": ("fda", EVERY, IRIS, {"engine": Ridge(alpha=2), "ncomp": 1}),
    "pls": ("pls", CULTIVAR, WINE, {"grid": [1, 2, 3], "folds": 3, "seed": 2, "rule": "centroid"}),
    "pls, nonzero": ("pls", CULTIVAR, WINE, {"algorithm": SparsePLS((3, 4))}),
    "pls, orthogonal": ("pls", CULTIVAR, WINE, {"algorithm": OrthogonalPLS(2), "rule": "max"}),
    "sparse_lda": ("sparse_lda", CULTIVAR, WINE, {"grid": [0.1, 0.3], "folds": 3, "seed": 1}),
    "sparse_lda, nonzero": ("sparse_lda", CULTIVAR, WINE, {"nonzero": (3, 4), "ridge": 0.01}),
    "mixture": (
        "mixture",
        PETALS,
        IRIS,
        {"components": {**dict.fromkeys(BY_CLASS, 1), "setosa": "bic"}, "most": 2},
    ),
}


@pytest.fixture(scope="module", params=list(CASES))
def made(request):
    """A fit, and the call that made it."""
    verb, formula, table, options = CASES[request.param]
    return getattr(discrim, verb)(formula, table, **options), (verb, table, options)


def refitted(fit, table):
    """The fit by the estimator made of one, and its options."""
    model = as_estimator(fit)
    again = type(model)(model.formula, model.verb, model.options, model.columns)
    return again.fit(table, table[fit.formula.split(" ~")[0]]).results_, model.options


@pytest.fixture(scope="module")
def made_again(made):
    """The fit by the estimator made of the fit, and its options."""
    fit, (_, table, _) = made
    return refitted(fit, table)


def chosen_parameters(fit, name):
    """Return the parameters of a specification that the rows chose."""
    attribute = fit._fit.spec.chosen_options.get(name)
    return {} if attribute is None else getattr(fit._fit.estimates, attribute)


def loaded(fit, folder):
    fit.save(folder / "fit")
    return discrim.load(folder / "fit")


def test_estimator_built_from_a_fit_reproduces_it(made, made_again):
    fit, (_, table, _) = made
    again, options = made_again
    assert again.predict(table).astype(str).tolist() == fit.predict(table).astype(str).tolist()
    assert as_estimator(again).options == options


def test_options_equal_the_passed_arguments(made):
    fit, (_, _, given) = made
    options = as_estimator(fit).options
    for name in set(given) - {"prior", "grid", "folds", "seed", "select", "most"}:
        value = given[name]
        plain = value.tolist() if isinstance(value, np.ndarray) else value
        plain = (
            plain.to_dict()
            if isinstance(plain, pd.Series)
            else list(plain)
            if isinstance(plain, tuple)
            else plain
        )
        if isinstance(plain, Specification):
            plain = plain.with_chosen(**chosen_parameters(fit, name))
        if "bic" not in (plain if isinstance(plain, dict) else {}).values():
            assert options[name] == plain, name


def test_a_pickled_fit_has_the_same_options(made, made_again):
    fit, (_, table, _) = made
    again = pickle.loads(pickle.dumps(fit))
    assert str(as_estimator(again).options) == str(as_estimator(fit).options)
    assert refitted(again, table)[0].predict(table).equals(made_again[0].predict(table))


def test_a_loaded_fit_has_the_same_options_and_its_file_is_the_same_again(made, made_again, tmp_path):
    fit, (verb, table, _) = made
    if verb == "fda":
        pytest.skip("no file holds its engine")
    again = loaded(fit, tmp_path)
    assert as_estimator(again).options == as_estimator(fit).options
    assert refitted(again, table)[0].predict(table).equals(made_again[0].predict(table))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "fit").read_bytes()


@pytest.mark.parametrize(
    ("verb", "formula", "table", "options"),
    [
        ("lda", EVERY, IRIS, {"covariance": LedoitWolf()}),
        ("pls", CULTIVAR, WINE, {"ncomp": 2, "algorithm": PLSRegression(n_components=3)}),
    ],
)
def test_object_options_are_replaced_by_a_placeholder_in_files(verb, formula, table, options, tmp_path):
    fit = getattr(discrim, verb)(formula, table, **options)
    again = loaded(fit, tmp_path)
    assert again.predict(table).equals(fit.predict(table))
    with pytest.raises(DiscrimError) as caught:
        refitted(again, table)
    # The error names the object that the file could not store.
    lost = list(options.values())[-1]
    assert type(lost).__name__ in str(caught.value)


def test_options_are_not_stored_by_reference():
    grid = [0.0, 0.5]
    fit = discrim.lda(EVERY, IRIS, covariance=Shrunk("loo", grid=grid))
    grid.append(7.0)
    assert fit._fit.options["covariance"] == Shrunk("loo", grid=[0.0, 0.5])


@pytest.mark.parametrize("verb", ["lda", "qda"])
@pytest.mark.parametrize("kind", [iter, deque, pd.array, lambda grid: dict.fromkeys(grid).keys()])
def test_iterators_and_other_sequences_as_options_can_be_refitted(verb, kind, tmp_path):
    grid = [0.1, 0.4]
    fit = getattr(discrim, verb)(EVERY, IRIS, covariance=Shrunk("loo", grid=kind(grid)))
    for each in (fit, loaded(fit, tmp_path), pickle.loads(pickle.dumps(fit))):
        assert each._fit.options["covariance"] == Shrunk("loo", grid=grid)
        assert refitted(each, IRIS)[0].predict(IRIS).tolist() == fit.predict(IRIS).tolist()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"covarience": "pooled"}, "argument 'covarience' .* unknown"),
        ({"ncomp": {"list": [1]}}, "its argument 'ncomp' has an unknown form"),
        ({"ncomp": [[[[[1]]]]]}, "its argument 'ncomp' has an unknown form"),
        ({"ncomp": {"dict": [[[1], 2]]}}, "its argument 'ncomp' has an unknown form"),
        ("pooled", "the arguments of its verb are not a dict"),
    ],
)
def test_arguments_of_another_form_are_damage(change, said, tmp_path):
    discrim.lda(EVERY, IRIS).save(tmp_path / "fit")
    about, tensors = read_file(tmp_path / "fit")
    about["arguments"] = about["arguments"] | change if isinstance(change, dict) else change
    write_file(tmp_path / "fit", about, tensors)
    with pytest.raises(DataError, match=said):
        discrim.load(tmp_path / "fit")
