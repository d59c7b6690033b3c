"""Tables, fits and other calls whose results are recorded.

In addition to the tables of the package, four tables of `../shared/data` are used: `fgl` has six classes,
two of
them small, columns that are mostly zero, and ties; `votes` has only categories, with missing values in half
of the
rows; `alon` has more columns than rows, of which 150 are used so that it does not take minutes; 6000 rows of
`stars` (HTRU2) are read in several blocks, unlike those of any other table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.covariance import LedoitWolf
from sklearn.linear_model import LinearRegression

import discrim
from discrim import datasets
from discrim.covariance import MCD, Diagonal, FactorAnalytic, Regularized, Shrunk, StudentT
from tests.support import TABLES

Options = dict[str, Any]
FittedModel = tuple[str, str, Options]
"""Name of the fitting function, formula, options."""


@cache
def tables() -> dict[str, pd.DataFrame]:
    """Return the tables by name, without tables of `../shared/data` if this folder does not exist."""
    iris = datasets.load_iris()
    result = {
        "iris": iris.assign(w=1.0 + np.arange(len(iris)) % 3),
        "counts": iris[["species"]].assign(
            length=iris["petal_length"] * 10 // 1, width=iris["petal_width"] * 10 // 1
        ),
        "pair": iris[iris["species"] != "setosa"].astype({"species": str}).reset_index(drop=True),
        "plane": iris[iris["species"] != "virginica"].astype({"species": str}).reset_index(drop=True),
        "penguins": datasets.load_penguins(),
        "wine": datasets.load_wine(),
        "breast_cancer": datasets.load_breast_cancer(),
    }
    if TABLES.exists():
        genes = np.load(TABLES / "genes" / "dma_alon.npz", allow_pickle=True)
        columns = pd.DataFrame(np.asarray(genes["X"], float)[:, :150]).add_prefix("g")
        result["fgl"] = pd.read_csv(TABLES / "classic" / "MASS_fgl.csv.gz")
        result["votes"] = pd.read_csv(TABLES / "classic" / "mlbench_HouseVotes84.csv.gz")
        stars = pd.read_parquet(TABLES / "large" / "htru2.parquet")[:6000]
        result["stars"] = stars.set_axis([*(f"x{j}" for j in range(8)), "pulsar"], axis=1)
        result["alon"] = columns.assign(tissue=[str(each) for each in genes["y"]])
    return result


RESPONSE = {"iris": "species", "wine": "cultivar", "fgl": "type"}

LOO: Options = {"covariance": Shrunk("loo")}
BIRDS = "bill_length_mm + bill_depth_mm + flipper_length_mm + body_mass_g"


def folds_option(verb: str, value: Any) -> Options:
    """Return the option for the number of folds, under the name that the fitting function has for it."""
    parameters = inspect.signature(getattr(discrim, verb)).parameters
    return {"folds" if "folds" in parameters else "cv": value}


def iris_fits() -> dict[str, FittedModel]:
    """Return fits of a small table with every option of every fitting function."""
    every = "species ~ . - w"
    fits: dict[str, FittedModel] = {
        "lda": ("lda", every, {}),
        "lda mle weights": ("lda", every, {"method": "mle", "weights": "w"}),
        "lda equal": ("lda", every, {"prior": "equal", "ncomp": 1}),
        "lda levels": ("lda", every, {"levels": ["virginica", "setosa", "versicolor"]}),
        "lda t": ("lda", every, {"covariance": "t"}),
        "lda t nu": ("lda", every, {"covariance": StudentT(nu=None, scatter="scale")}),
        "lda mcd": ("lda", every, {"covariance": MCD(0.8)}),
        "lda pinv": ("lda", "species ~ . - w + I(petal_width + sepal_width)", {"covariance": "pinv"}),
        "lda drop": ("lda", "species ~ . - w + I(petal_width + sepal_width)", {"collinear": "drop"}),
        "lda formula": ("lda", "species ~ log(petal_width) * sepal_length + poly(sepal_width, 2)", {}),
        "qda": ("qda", every, {}),
        "qda mle weights": ("qda", every, {"method": "mle", "weights": "w"}),
        "qda t": ("qda", every, {"covariance": "t"}),
        "qda mcd": ("qda", every, {"covariance": MCD(0.8)}),
        "rda": ("rda", every, {"alpha": 0.3, "gamma": 0.6}),
        "rda friedman": ("rda", every, {"alpha": 0.3, "gamma": 0.1, "parametrization": "friedman"}),
        "rda klar standardized": (
            "rda", every,
            {"alpha": 0.5, "gamma": 0.2, "parametrization": Regularized("klar", standardize=True)},
        ),
        "rda chosen": ("rda", every, folds_option("rda", 5) | {"seed": 1}),
        "rda chosen loo": ("rda", every, folds_option("rda", "loo") | {"grid": [0.0, 0.5, 1.0], "alpha":
        "1se"}),
        "naive_bayes": ("naive_bayes", every, {}),
        "naive_bayes kernel": ("naive_bayes", every, {"kernel": True}),
        "naive_bayes part kernel": ("naive_bayes", every, {"kernel": ["petal_width"], "bandwidth": "nrd"}),
        "naive_bayes weights": ("naive_bayes", every, {"weights": "w", "smoothing": 1e-3, "method": "mle"}),
        "shrunken_centroids": ("shrunken_centroids", every, {"threshold": 1.5, "weights": "w"}),
        "shrunken_centroids chosen": ("shrunken_centroids", every, {"seed": 1}),
        "indicator": ("indicator", every, {}),
        "fda": ("fda", every, {"engine": LinearRegression()}),
        "perceptron": ("perceptron", every, {"seed": 1, "maxiter": 50}),
        "logistic bias_reduction": ("logistic", every, {"bias_reduction": True}),
        "logistic separated": ("logistic", "species ~ petal_length", {"separation": "warn"}),
        "knn": ("knn", every, {"k": 5}),
        "knn chosen": ("knn", every, {"prior": "equal"}),
        "knn unscaled": ("knn", every, {"k": 4, "scale": False}),
    }  # fmt: skip
    for metric in ("mahalanobis", "cityblock", "chebyshev", "cosine", "canberra", "hamming"):
        fits[f"knn {metric}"] = "knn", every, {"grid": [1, 3, 8], "metric": metric}
    return fits | iris_covariance_fits()


def iris_covariance_fits() -> dict[str, FittedModel]:
    """Return fits with different specifications of `covariance=`."""
    every, grid = "species ~ . - w", (0.0, 0.1, 0.5, 1.0)
    fits: dict[str, FittedModel] = {}
    for covariance in ("diagonal", "shrunk", "spherical"):
        for verb in ("lda", "qda"):
            fits[f"{verb} {covariance}"] = verb, every, {"covariance": covariance}
    for form in ("AkjBkQkDk", "ABQkD", "AjBQD"):
        fits[f"qda factor {form}"] = "qda", every, {"covariance": FactorAnalytic(form=form)}
    shrinkages_by_class = {Shrunk: ("ledoit-wolf", "oas", "loo", 0.3), Diagonal: ("strimmer", "loo", 0.3)}
    for verb in ("lda", "qda"):
        for kind, shrinkages in shrinkages_by_class.items():
            for shrinkage in shrinkages:
                covariance = kind(shrinkage, grid=grid if shrinkage == "loo" else None)
                fits[f"{verb} {kind.word} {shrinkage}"] = verb, every, {"covariance": covariance}
    fits["lda correlation"] = "lda", every, {"covariance": "correlation"}
    for verb in ("lda", "qda"):
        fits[f"{verb} estimator"] = verb, every, {"covariance": LedoitWolf()}
        chosen = {"covariance": Shrunk("loo", grid=grid, standardize=True)}
        fits[f"{verb} shrunk standardized"] = verb, every, chosen | {"weights": "w"}
    return fits


def two_class_fits() -> dict[str, dict[str, FittedModel]]:
    """Return fits of two classes, one pair that overlaps and one that is separable."""
    every = "species ~ ."
    return {
        "counts": {"naive_bayes": ("naive_bayes", every, {"counts": True, "laplace": 1.0})},
        "pair": {
            "lda": ("lda", every, {}),
            "qda": ("qda", every, {}),
            "logistic": ("logistic", every, {}),
            "logistic reference": ("logistic", every, {"reference": "virginica", "prior": "equal"}),
            "logistic weights": ("logistic", every, {"weights": 1.0 + np.arange(100) % 3}),
            "indicator": ("indicator", every, {}),
            "perceptron": ("perceptron", every, {"seed": 2, "maxiter": 30}),
            "hyperplane": ("hyperplane", every, {}),
        },
        "plane": {
            "perceptron": ("perceptron", every, {"seed": 1, "step": 0.5}),
            "hyperplane": ("hyperplane", every, {}),
            "hyperplane two columns": ("hyperplane", "species ~ petal_length + sepal_width", {}),
            "logistic": ("logistic", every, {}),
        },
    }


def package_table_fits() -> dict[str, dict[str, FittedModel]]:
    """Return fits of the other tables of the package."""
    birds, mixed = f"species ~ {BIRDS}", f"species ~ {BIRDS} + sex + island"
    wine, cancer = "cultivar ~ .", "diagnosis ~ ."
    three_variables = "diagnosis ~ radius_mean + texture_mean + smoothness_mean"
    return {
        "penguins": {
            "lda": ("lda", f"species ~ {BIRDS} + sex", {}),
            "lda spline": ("lda", "species ~ bs(bill_length_mm, 4) + sex * log(body_mass_g)", {}),
            "lda dropped": ("lda", mixed, {"collinear": "drop"}),
            "lda refused": ("lda", mixed, {"na_action": "raise"}),
            "qda": ("qda", birds, {}),
            "rda chosen": ("rda", mixed, folds_option("rda", 4) | {"seed": 3, "grid": [0.0, 0.3, 1.0]}),
            "naive_bayes mixed": ("naive_bayes", mixed, {"kernel": ["body_mass_g"], "laplace": 1.0}),
            "naive_bayes unseen": ("naive_bayes", mixed, {"unseen": "missing", "laplace": 0.5}),
            "shrunken_centroids": ("shrunken_centroids", birds, {"seed": 2, "threshold": "1se"}),
            "logistic": ("logistic", "species ~ bill_length_mm + sex", {}),
            "logistic refused": ("logistic", birds, {}),
            "indicator": ("indicator", f"species ~ {BIRDS} + sex", {}),
            "perceptron": ("perceptron", birds, {"seed": 1, "maxiter": 20}),
            "knn chosen": ("knn", f"species ~ {BIRDS} + sex", {}),
        },
        "wine": {
            "lda": ("lda", wine, {}),
            "lda loo": ("lda", wine, LOO),
            "qda": ("qda", wine, {}),
            "qda loo": ("qda", wine, LOO),
            "rda chosen": ("rda", wine, {"seed": 1}),
            "naive_bayes": ("naive_bayes", wine, {}),
            "naive_bayes kernel": ("naive_bayes", wine, {"kernel": True}),
            "shrunken_centroids": ("shrunken_centroids", wine, {"seed": 1}),
            "logistic bias_reduction": ("logistic", "cultivar ~ alcohol + hue", {"bias_reduction": True}),
            "indicator": ("indicator", wine, {}),
            "perceptron": ("perceptron", wine, {"seed": 1, "maxiter": 50}),
            "knn chosen": ("knn", wine, {"metric": "minkowski"}),
        },
        "breast_cancer": {
            "lda": ("lda", cancer, {}),
            "lda strimmer": ("lda", cancer, {"covariance": Diagonal("strimmer")}),
            "qda": ("qda", cancer, {}),
            "qda shrunk": ("qda", cancer, {"covariance": Shrunk(standardize=True)}),
            "rda chosen": ("rda", cancer, folds_option("rda", 3) | {"seed": 1, "grid": [0.0, 0.5, 1.0]}),
            "naive_bayes": ("naive_bayes", cancer, {}),
            "shrunken_centroids": ("shrunken_centroids", cancer, {"seed": 1}),
            "logistic": ("logistic", three_variables, {}),
            "logistic refused": ("logistic", cancer, {}),
            "hyperplane": ("hyperplane", cancer, {}),
            "indicator": ("indicator", cancer, {}),
            "knn chosen": ("knn", cancer, {"grid": [1, 5, 15]}),
        },
    }


def external_table_fits() -> dict[str, dict[str, FittedModel]]:
    """Return fits of the tables of `../shared/data`."""
    glass = "type ~ ."
    return {
        "fgl": {
            "lda": ("lda", glass, {}),
            "qda": ("qda", glass, {}),
            "qda loo": ("qda", glass, LOO | {"standardize": True}),
            "rda chosen": (
                "rda",
                glass,
                folds_option("rda", 5) | {"seed": 1, "parametrization": Regularized(standardize=True)},
            ),
            "naive_bayes smoothed": ("naive_bayes", glass, {"smoothing": 1e-2}),
            "shrunken_centroids": ("shrunken_centroids", glass, {"seed": 1}),
            "logistic": ("logistic", "type ~ RI + Na + Al", {}),
            "indicator": ("indicator", glass, {}),
            "perceptron": ("perceptron", glass, {"seed": 1, "maxiter": 20}),
            "knn chosen": ("knn", glass, {}),
        },
        "votes": {
            "lda": ("lda", "Class ~ .", {}),
            "naive_bayes": ("naive_bayes", "Class ~ .", {"laplace": 1.0}),
            "logistic": ("logistic", "Class ~ V3 + V9", {}),
            "knn hamming": ("knn", "Class ~ .", {"metric": "hamming"}),
            "indicator": ("indicator", "Class ~ .", {}),
        },
        "stars": {
            "lda": ("lda", "pulsar ~ .", {}),
            "qda": ("qda", "pulsar ~ .", {}),
            "rda": ("rda", "pulsar ~ .", {"alpha": 0.5, "gamma": 0.5}),
            "naive_bayes": ("naive_bayes", "pulsar ~ .", {}),
            "shrunken_centroids": ("shrunken_centroids", "pulsar ~ .", {"seed": 1}),
            "indicator": ("indicator", "pulsar ~ .", {}),
            "logistic": ("logistic", "pulsar ~ .", {}),
        },
        "alon": {
            "lda refused": ("lda", "tissue ~ .", {}),
            "lda shrunk": ("lda", "tissue ~ .", {"covariance": "shrunk"}),
            "lda loo": ("lda", "tissue ~ .", LOO | {"grid": [0.1, 0.5, 0.9]}),
            "lda diagonal": ("lda", "tissue ~ .", {"covariance": Diagonal("strimmer")}),
            "qda shrunk": ("qda", "tissue ~ .", {"covariance": "shrunk"}),
            "rda": ("rda", "tissue ~ .", {"alpha": 0.3, "gamma": 0.6}),
            "rda chosen": ("rda", "tissue ~ .", folds_option("rda", 4) | {"seed": 1, "grid": [0.1, 0.9]}),
            "naive_bayes": ("naive_bayes", "tissue ~ .", {}),
            "shrunken_centroids": ("shrunken_centroids", "tissue ~ .", {"seed": 1}),
            "hyperplane": ("hyperplane", "tissue ~ .", {}),
            "knn": ("knn", "tissue ~ .", {"k": 3, "metric": "cosine"}),
        },
    }


def all_fits() -> Iterator[tuple[str, str, FittedModel]]:
    """Yield table, name and specification of all fits whose tables exist."""
    fits_by_table = {"iris": iris_fits()} | two_class_fits() | package_table_fits() | external_table_fits()
    for table, table_fits in fits_by_table.items():
        if table in tables():
            yield from ((table, name, fit) for name, fit in table_fits.items())


def known_distributions() -> dict[str, Callable[[], Any]]:
    """Return Bayes classifiers of known distributions: discrete, univariate and bivariate."""
    normal = stats.multivariate_normal
    points = pd.DataFrame([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]], index=["a", "b"], columns=["x", "y", "z"])
    return {
        "points": lambda: discrim.bayes({"a": 0.4, "b": 0.6}, points),
        "line": lambda: discrim.bayes([0.4, 0.6], {"a": stats.norm(0, 1), "b": stats.t(4, 1.5, 2)}),
        "plane": lambda: discrim.bayes(
            [0.3, 0.7],
            {"a": normal([0, 0], [[1, 0.5], [0.5, 2]]), "b": normal([1, 1], [[1, 0], [0, 1]])},
            draws=4096,
        ),
    }


def other_calls() -> dict[str, Callable[[], Any]]:
    """Return calls that combine fits, and calls that test or select."""
    all_tables = tables()
    iris, pair = all_tables["iris"].drop(columns="w"), all_tables["pair"]
    every, two = "species ~ .", "species ~ sepal_length + sepal_width"
    calls: dict[str, Callable[[], Any]] = {
        "lr_test": lambda: discrim.lr_test(discrim.lda(every, iris), discrim.qda(every, iris)),
        "lr_test bootstrap": lambda: discrim.lr_test(
            discrim.lda(every, iris), discrim.qda(every, iris), bootstrap=20, permutations=20, seed=1
        ),
        "hausman": lambda: discrim.hausman(discrim.lda(two, pair), discrim.logistic(two, pair)),
        "compare": lambda: discrim.compare(discrim.lda(every, iris), discrim.qda(every, iris)),
        "compare by term": lambda: discrim.compare(
            discrim.lda(two, pair), discrim.logistic(two, pair)
        ).log_odds(),
        "compare folds": lambda: discrim.compare(
            discrim.lda(every, iris), discrim.qda(every, iris), discrim.knn(every, iris, k=5), folds=4, seed=1
        ).pairs(),
        "compare pairs": lambda: discrim.compare(
            discrim.lda(every, iris), discrim.naive_bayes(every, iris), folds=4, repeats=2, seed=1
        ).pairs(),
        "from_stats": lambda: discrim.lda(
            moments=discrim.from_stats(iris.groupby("species").mean(), iris.iloc[:, :4].cov(), [50, 50, 50])
        ),
        "moments": lambda: discrim.moments(every, iris[:70]) + discrim.moments(every, iris[70:]),
        "lda of moments": lambda: discrim.lda(moments=discrim.moments(every, iris)),
        "qda of moments": lambda: discrim.qda(moments=discrim.moments(every, iris), prior="equal"),
    }
    return calls | formula_calls() | cross_validations()


def formula_calls() -> dict[str, Callable[[], Any]]:
    """Return calls that take a formula and do not return a classifier."""
    all_tables, calls = tables(), {}
    iris, birds, every = all_tables["iris"].drop(columns="w"), all_tables["penguins"], "species ~ ."
    for table in ("iris", "wine", "fgl", "penguins"):
        if table in all_tables:
            formula, data = f"{RESPONSE.get(table)} ~ .", all_tables[table]
            if table == "penguins":
                formula, data = f"species ~ {BIRDS}", birds
            for verb in ("box_m", "manova", "covariance_models"):
                calls[f"{verb} {table}"] = partial(getattr(discrim, verb), formula, data)
            for rule in ("wilks", "mahalanobis", "rao"):
                calls[f"stepwise {rule} {table}"] = partial(discrim.stepwise, formula, data, criterion=rule)
    calls["stepwise cv"] = lambda: discrim.stepwise(every, iris, criterion="cv", folds=4, seed=1)
    calls["stepwise cv knn"] = lambda: discrim.stepwise(
        every, iris, criterion="cv", verb=partial(discrim.knn, k=5), direction="forward", folds=4, seed=1
    )
    return calls


def cross_validations() -> dict[str, Callable[[], Any]]:
    """Return cross-validations of fits, some of which choose their parameters in each fold."""
    iris = tables()["iris"].drop(columns="w")
    options: dict[str, Options] = {
        "lda": {},
        "qda": LOO,
        "rda": {"seed": 1, "grid": [0.0, 0.5, 1.0]},
        "shrunken_centroids": {"seed": 1},
        "indicator": {},
        "logistic": {"bias_reduction": True},
        "knn": {},
    }

    def validate(verb: str) -> Any:
        fit = getattr(discrim, verb)("species ~ .", iris, **options[verb])
        return discrim.cross_validate(fit, 4, repeats=2, seed=1)

    return {f"cross_validate {verb}": partial(validate, verb) for verb in options}
