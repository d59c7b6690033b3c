"""Write fits as the version of discrim that is imported saves them, and what they predict.

    python -m tests.golden.saved.write_saved FOLDER [newest | options | kernels]

Run it in the checkout of the version whose files are wanted. A folder that is there is not written again:
that its files load, and predict what `predictions.json` says, is the promise of the format.

`before_37` is of the commit that added it: "kernels" writes fits by kernels, within principal axes, of
classes drawn at random, and with a map to calibrated posteriors.

`before_33` is of the commit that added it, in which files hold the arguments of the verb as they were given:
"options" writes a fit of each verb, with arguments of every form.

`before_20` is of the commit that added it, and holds what `before_17` has not: "newest" writes only that.

`before_17` is of the commit that added it, the first one with files of moments and of `nearest_centroid`.

`before_15` is of commit 56f22e4, the last one before a fit became one value.

`before_13` is of commit 363d1eb, the last one before fits kept `standardize`, the names of columns left out,
the dtype of labels, and the root of the covariance of Mahalanobis' distance. This script had fewer fits then,
and wrote `connect_*.fit` of connect_4 as well, in which every row sums to 12: that version did not find it,
and later ones refuse to fit such columns.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.covariance import LedoitWolf
from sklearn.cross_decomposition import PLSRegression

import discrim
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DiscrimError, NotSupportedError

IRIS = load_iris()
FEW = IRIS.iloc[::3].reset_index(drop=True)
PENGUINS = load_penguins().dropna().iloc[::4].reset_index(drop=True)
TWICE = FEW.assign(twice=lambda d: d["petal_width"] * 2 + d["sepal_width"])
FLAT = FEW.assign(flat=1.0)
PLANE = FEW[FEW["species"] != "virginica"].astype({"species": str})
WIDE = FEW[::3][["species"]].reset_index(drop=True)
WIDE = WIDE.join(pd.DataFrame(np.random.default_rng(0).normal(size=(len(WIDE), 20))).add_prefix("g"))
WHOLE = FEW.assign(species=pd.factorize(FEW["species"])[0], petal_length=FEW["petal_length"].round())
RANKED = FEW.assign(
    species=pd.Categorical(FEW["species"], ["virginica", "setosa", "versicolor"], ordered=True)
)
HOLES = WHOLE.astype({"species": "Int64"}).assign(petal_width=FEW["petal_width"].where(FEW.index % 7 != 3))
WEIGHTS = 1.0 + np.arange(len(FEW)) % 3


def half(x: Any) -> Any:
    """A function of the user's own, which a file knows by its name only."""
    return x / 2


FUNCTIONS = {"half": half}

Made = tuple[Callable[..., Any], str, pd.DataFrame, dict[str, Any]]


def fits() -> dict[str, Made]:
    """Verb, formula, table and options of each fit."""
    lda, qda, rda = discrim.lda, discrim.qda, discrim.rda
    nb, knn, logistic = discrim.naive_bayes, discrim.knn, discrim.logistic
    every = "species ~ ."
    made: dict[str, Made] = {
        "lda": (lda, every, FEW, {}),
        "lda_ncomp": (lda, every, FEW, {"ncomp": 1, "prior": [0.2, 0.3, 0.5]}),
        "lda_mle_weights": (lda, every, FEW, {"method": "mle", "weights": WEIGHTS}),
        "lda_drop": (lda, every, TWICE, {"collinear": "drop"}),
        "lda_formula": (
            lda,
            "species ~ bs(bill_length_mm, 4) + sex * island + standardize(body_mass_g)",
            PENGUINS,
            {"collinear": "drop"},
        ),
        "lda_whole_labels": (lda, every, WHOLE, {}),
        "lda_shrunk_flat": (lda, every, FLAT, {"covariance": "shrunk"}),
        "lda_wide": (lda, every, WIDE, {"covariance": "shrunk"}),
        "lda_estimator": (lda, every, FEW, {"covariance": LedoitWolf()}),
        "lda_t": (lda, every, FEW, {"method": "t"}),
        "lda_mcd": (lda, every, FEW, {"method": "mcd"}),
        "qda": (qda, every, FEW, {}),
        "lda_true_false": (lda, every, WHOLE.assign(species=WHOLE["species"] == 2), {}),
        "qda_t": (qda, every, FEW, {"method": "t"}),
        "qda_estimator": (qda, every, FEW, {"covariance": LedoitWolf()}),
        "qda_wide": (qda, every, WIDE, {"covariance": "shrunk"}),
        "rda": (rda, every, FEW, {"alpha": 0.3, "gamma": 0.6}),
        "rda_klar": (rda, every, FEW, {"alpha": 0.5, "gamma": 0.2, "parametrization": "klar"}),
        "rda_chosen": (rda, every, FEW, {"folds": "loo", "grid": [0.0, 0.5, 1.0]}),
        "rda_wide": (rda, every, WIDE, {"alpha": 0.3, "gamma": 0.6}),
        "naive_bayes": (nb, every, FEW, {}),
        "naive_bayes_smoothed_flat": (nb, every, FLAT, {"smoothing": 1e-3}),
        "naive_bayes_mixed": (
            nb,
            "species ~ bill_length_mm + island + sex",
            PENGUINS,
            {"kernel": ["bill_length_mm"], "laplace": 1.0},
        ),
        "naive_bayes_counts": (nb, every, WHOLE.round(), {"counts": True}),
        "naive_bayes_sides": (nb, "species ~ sex + bill_length_mm", PENGUINS, {"unseen": "missing"}),
        "shrunken_centroids": (discrim.shrunken_centroids, every, FEW, {"threshold": 1.0}),
        "shrunken_centroids_flat": (discrim.shrunken_centroids, every, FLAT, {"threshold": 1.0}),
        "indicator": (discrim.indicator, every, FEW, {}),
        "logistic": (logistic, "species ~ sepal_width", PLANE, {}),
        "logistic_three": (logistic, "species ~ sepal_width", FEW, {}),
        "logistic_bias_reduction": (logistic, every, FEW, {"bias_reduction": True}),
        "perceptron": (discrim.perceptron, every, PLANE, {"seed": 1}),
        "hyperplane": (discrim.hyperplane, every, PLANE, {}),
        "knn": (knn, every, FEW, {"k": 5}),
        "knn_mahalanobis": (knn, every, FEW, {"k": 5, "metric": "mahalanobis"}),
        "knn_hamming": (knn, "species ~ petal_length", WHOLE, {"k": 3, "metric": "hamming"}),
    }
    for covariance in ("diagonal", "spherical", "shrunk", "pinv"):
        made[f"lda_{covariance}"] = lda, every, TWICE, {"covariance": covariance}
        if covariance != "pinv":
            made[f"qda_{covariance}"] = qda, every, FEW, {"covariance": covariance}
    for shrinkage in ("ledoit-wolf", "loo", 0.3):
        made[f"lda_shrunk_{shrinkage}"] = lda, every, FEW, {"covariance": "shrunk", "shrinkage": shrinkage}
        made[f"qda_shrunk_{shrinkage}"] = qda, every, FEW, {"covariance": "shrunk", "shrinkage": shrinkage}
    return made | more_fits() | later_fits()


def more_fits() -> dict[str, Made]:
    """What `before_13` has not: options that came later, and those that it left to others of their kind."""
    lda, qda, rda = discrim.lda, discrim.qda, discrim.rda
    nb, knn, logistic = discrim.naive_bayes, discrim.knn, discrim.logistic
    every, grid = "species ~ .", {"grid": [0.0, 0.3, 1.0]}
    standardized = {"standardize": True, "weights": WEIGHTS}
    sphere = {"covariance": "shrunk", "shrinkage": "loo"} | standardized | grid
    variances = {"covariance": "diagonal", "shrinkage": "strimmer"}
    return {
        "lda_ranked_labels": (lda, every, RANKED, {}),
        "lda_nullable_labels": (lda, every, HOLES, {}),
        "lda_levels": (lda, every, FEW, {"levels": ["virginica", "setosa", "versicolor"], "prior": "equal"}),
        "lda_functions": (
            lda,
            "species ~ half(petal_width) + sepal_length",
            FEW,
            {"functions": FUNCTIONS},
        ),
        "lda_two_classes": (lda, every, PLANE, {}),
        "lda_flat": (lda, every, FLAT, {}),
        "lda_t_estimated": (lda, every, FEW, {"method": "t", "nu": None, "scatter": "scale"}),
        "lda_standardized": (lda, every, FEW, sphere),
        "qda_standardized": (qda, every, FEW, sphere),
        "lda_variances": (lda, every, WIDE, variances),
        "qda_variances": (qda, every, FEW, variances),
        "lda_variances_chosen": (lda, every, FEW, variances | {"shrinkage": "loo"} | grid),
        "qda_mle_weights": (qda, every, FEW, {"method": "mle", "weights": WEIGHTS, "prior": [0.2, 0.3, 0.5]}),
        "qda_mcd": (qda, every, FEW, {"method": "mcd", "support_fraction": 0.9}),
        "rda_friedman": (rda, every, FEW, {"alpha": 0.3, "gamma": 0.1, "parametrization": "friedman"}),
        "rda_weights": (
            rda,
            every,
            FEW,
            {"alpha": 0.3, "gamma": 0.6, "weights": WEIGHTS, "standardize": True},
        ),
        "rda_folds": (rda, every, FEW, {"seed": 1, "select": "1se"} | grid),
        "naive_bayes_kernel": (nb, every, FEW, {"kernel": True, "bandwidth": "nrd", "weights": WEIGHTS}),
        "naive_bayes_mle": (nb, every, FEW, {"method": "mle", "prior": "equal"}),
        "shrunken_centroids_chosen": (discrim.shrunken_centroids, every, WIDE, {"seed": 1}),
        "shrunken_centroids_offset": (
            discrim.shrunken_centroids,
            every,
            FEW,
            {"threshold": 0.5, "offset": 0.1, "weights": WEIGHTS},
        ),
        "indicator_weights": (discrim.indicator, every, FEW, {"weights": WEIGHTS}),
        "logistic_reference": (
            logistic,
            "species ~ sepal_width",
            FEW,
            {"reference": "virginica", "prior": "equal", "weights": WEIGHTS},
        ),
        "perceptron_three": (discrim.perceptron, every, FEW, {"maxiter": 20, "step": 0.5}),
        "hyperplane_true_false": (
            discrim.hyperplane,
            "species ~ petal_length",
            PLANE.assign(species=PLANE["species"] == "setosa"),
            {},
        ),
        "knn_chosen": (knn, every, FEW, {"prior": "equal"}),
        "knn_unscaled": (knn, every, FEW, {"k": 4, "scale": False, "metric": "cityblock"}),
        "knn_cosine": (knn, every, FEW, {"k": 4, "metric": "cosine"}),
        "knn_categories": (knn, "species ~ bill_length_mm + sex + island", PENGUINS, {"k": 3}),
        "knn_flat": (knn, every, FLAT, {"k": 3}),
    }


def later_fits() -> dict[str, Made]:
    """What `before_15` has not: a verb that came later, and fits of moments in the place of a table."""
    every = "species ~ ."
    return {
        "nearest_centroid": (discrim.nearest_centroid, every, FEW, {}),
        "nearest_centroid_prior": (discrim.nearest_centroid, every, FEW, {"prior": None, "weights": WEIGHTS}),
        "qda_of_moments": (of_moments(discrim.qda), every, FEW, {}),
        "rda_of_moments": (of_moments(discrim.rda, alpha=0.3, gamma=0.6), every, FEW, {}),
        "naive_bayes_of_moments": (
            of_moments(discrim.naive_bayes, laplace=1.0),
            "species ~ bill_length_mm + island + sex",
            PENGUINS,
            {"scatters": "diagonal"},
        ),
    }


def newest_fits() -> dict[str, Made]:
    """What `before_17` has not: the verbs of issue 19, and options that came between."""
    lda, qda, nb, logistic = discrim.lda, discrim.qda, discrim.naive_bayes, discrim.logistic
    mixture, density, pls, sparse = discrim.mixture, discrim.kernel_density, discrim.pls, discrim.sparse_lda
    every = "species ~ ."
    correlations = {"covariance": "correlation"}
    return {
        "lda_correlation": (lda, every, FEW, correlations),
        "lda_correlation_wide": (lda, every, WIDE, correlations),
        "qda_factor": (qda, every, FEW, {"covariance": "factor", "dimensions": 1}),
        "qda_factor_chosen": (
            qda,
            every,
            FEW,
            {"covariance": "factor", "dimensions": "bic", "method": "mle"},
        ),
        "lda_em": (lda, every, HOLES, {"missing": "em"}),
        "qda_em": (qda, every, HOLES, {"missing": "em"}),
        "naive_bayes_available": (nb, every, HOLES, {"missing": "available"}),
        "logistic_ridge": (logistic, every, FEW, {"penalty": "ridge", "strength": 0.1}),
        "logistic_lasso_two": (logistic, every, PLANE, {"penalty": "lasso", "strength": 0.05}),
        "mixture_edda": (mixture, every, FEW, {"components": 1, "covariance": "EEV"}),
        "mixture_pooled": (
            mixture,
            every,
            FEW,
            {"components": {"setosa": 1, "versicolor": 2, "virginica": 2}, "covariance": "pooled"},
        ),
        "mixture_chosen": (mixture, every, FEW, {"most": 2, "covariance": "diagonal", "weights": WEIGHTS}),
        "kernel_density": (density, every, FEW, {"bandwidth": 0.5}),
        "kernel_density_uniform": (
            density,
            every,
            FEW,
            {"kernel": "uniform", "bandwidth": 2.0, "covariance": "class", "prior": "equal"},
        ),
        "pls": (pls, every, FEW, {"components": 2}),
        "pls_wide": (pls, every, WIDE, {"components": 3, "rule": "max"}),
        "sparse_lda": (sparse, every, FEW, {"nonzero": 2}),
        "sparse_lda_wide": (sparse, every, WIDE, {"penalty": 0.1}),
    }


def fits_with_options() -> dict[str, Made]:
    """A fit of each verb whose file holds its arguments: numbers, words, lists, dicts, objects as text."""
    every, grid = "species ~ .", [0.0, 0.5, 1.0]
    sizes = {"setosa": 1, "versicolor": 2, "virginica": 2}
    loo = [([*range(k), *range(k + 1, len(FEW))], [k]) for k in range(len(FEW))]
    return {
        "lda": (discrim.lda, every, FEW, {"ncomp": 1, "prior": [0.2, 0.3, 0.5]}),
        "lda_estimator": (discrim.lda, every, FEW, {"covariance": LedoitWolf()}),
        "lda_grid": (
            discrim.lda,
            every,
            FEW,
            {"covariance": "shrunk", "shrinkage": "loo", "standardize": True, "grid": np.array(grid)},
        ),
        "lda_robust": (discrim.lda, every, FEW, {"method": "mcd", "support_fraction": 0.9}),
        "qda": (discrim.qda, every, FEW, {"covariance": "factor", "dimensions": sizes}),
        "rda": (discrim.rda, every, FEW, {"folds": loo, "grid": grid}),
        "naive_bayes": (
            discrim.naive_bayes,
            "species ~ bill_length_mm + island + sex",
            PENGUINS,
            {"kernel": ["bill_length_mm"], "bandwidth": {"bill_length_mm": 1.5}, "laplace": 1.0},
        ),
        "shrunken_centroids": (discrim.shrunken_centroids, every, WIDE, {"seed": 1}),
        "nearest_centroid": (discrim.nearest_centroid, every, FEW, {}),
        "knn": (discrim.knn, every, FEW, {"metric": "mahalanobis"}),
        "kernel_density": (discrim.kernel_density, every, FEW, {"bandwidth": dict.fromkeys(sizes, 1)}),
        "logistic": (discrim.logistic, "species ~ sepal_width", FEW, {"reference": "virginica"}),
        "logistic_lasso": (discrim.logistic, every, PLANE, {"penalty": "lasso", "strength": 0.05}),
        "indicator": (discrim.indicator, every, TWICE, {"collinear": "drop"}),
        "perceptron": (discrim.perceptron, every, PLANE, {"start": [0.0, 1.0, 0.0, 0.0, -1.0]}),
        "hyperplane": (discrim.hyperplane, every, PLANE, {}),
        "pls": (discrim.pls, every, FEW, {"rule": "max", "seed": 1}),
        "pls_engine": (discrim.pls, every, FEW, {"components": 2, "engine": PLSRegression()}),
        "sparse_lda": (discrim.sparse_lda, every, FEW, {"nonzero": [2, 1]}),
        "mixture": (
            discrim.mixture,
            every,
            FEW,
            {"components": sizes, "covariance": dict.fromkeys(sizes, "diagonal")},
        ),
    }


def fits_of_kernels() -> dict[str, Made]:
    """What `before_33` has not: kernels, principal axes, classes drawn at random, calibrated posteriors."""
    lda, qda, rda, plda, kernel = discrim.lda, discrim.qda, discrim.rda, discrim.plda, discrim.kernel_lda
    every, mixed = "species ~ .", "species ~ bill_length_mm + body_mass_g + sex + island"
    given = {"kernel": "gaussian", "scale": "sd", "width": 1.5, "ridge": 0.1}
    laplace = {"kernel": "laplace", "scale": "ranks", "width": 3.0, "ridge": 0.5, "calibrate": False}
    return {
        "kernel_lda": (kernel, every, FEW, {}),
        "kernel_lda_given": (kernel, every, FEW, given | {"weights": WEIGHTS, "prior": "equal"}),
        "kernel_lda_plain": (kernel, every, FEW, laplace | {"ncomp": 1}),
        "kernel_lda_mixed": (kernel, mixed, PENGUINS, {}),
        "kernel_lda_landmarks": (kernel, mixed, PENGUINS, {"components": 20}),
        "kernel_lda_random": (kernel, every, FEW, given | {"components": 30, "features": "random"}),
        "lda_axes": (lda, every, FEW, {"components": 2}),
        "lda_axes_wide": (lda, every, WIDE, {"components": 0.9, "covariance": "shrunk"}),
        "lda_axes_chosen": (lda, every, FEW, {"components": "loo", "standardize": True}),
        "qda_axes": (qda, every, FEW, {"components": 3, "weights": WEIGHTS}),
        "rda_axes": (rda, every, FEW, {"components": 2, "alpha": 0.3, "gamma": 0.6}),
        "plda": (plda, every, FEW, {}),
        "plda_unbalanced": (plda, every, FEW[:40], {"components": 1}),
        "plda_normalized": (plda, every, FEW, {"normalize": True}),
        "qda_calibrated": (calibrated(qda), every, FEW, {}),
        "perceptron_calibrated": (calibrated(discrim.perceptron), every, PLANE, {"seed": 1}),
    }


def fits_of_structures() -> dict[str, Made]:
    """Fits with covariates, separable covariances, axes of correspondence, the location model, parted PLS."""
    every, mixed = "species ~ .", "species ~ island + sex + bill_length_mm + body_mass_g"
    lda, qda, pls = discrim.lda, discrim.qda, discrim.pls
    return {
        "location": (discrim.location, mixed, PENGUINS, {"smoothing": 0.1}),
        "location_chosen": (discrim.location, mixed, PENGUINS, {}),
        "lda_covariates": (lda, "species ~ bill_length_mm + bill_depth_mm | body_mass_g + sex", PENGUINS, {}),
        "lda_separable": (lda, every, FEW, {"shape": (2, 2)}),
        "qda_separable": (qda, every, FEW, {"shape": (2, 2)}),
        "lda_correspondence": (lda, mixed, PENGUINS, {"components": 3, "correspondence": True}),
        "pls_orthogonal": (pls, every, FEW, {"orthogonal": 1}),
        "pls_sparse": (pls, every, FEW, {"ncomp": 2, "nonzero": [2, 3]}),
        "mixture_completed": (discrim.mixture, every, HOLES, {"components": 1, "missing": "em"}),
    }


def calibrated(verb: Callable[..., Any]) -> Callable[..., Any]:
    """A verb whose fits have learnt their map to calibrated posteriors."""

    def fitted(formula: str, data: pd.DataFrame, **options: Any) -> Any:
        fit = verb(formula, data, **options)
        fit.predict_proba(method="calibrated")
        return fit

    return fitted


def of_moments(verb: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A verb that is given the moments of a table."""

    def fitted(formula: str, data: pd.DataFrame, **about: Any) -> Any:
        return verb(moments=discrim.moments(formula, data, **about), **options)

    return fitted


def held() -> dict[str, tuple[Any, pd.DataFrame]]:
    """Moments, and the table that they are of."""
    every, mixed = "species ~ .", "species ~ bill_length_mm + C(island, Sum) + sex + log(body_mass_g)"
    whole = discrim.moments(every, FEW)
    return {
        "moments": (whole, FEW),
        "moments_pooled_weights": (
            discrim.moments(every, FEW, scatters="pooled", weights=WEIGHTS / 2),
            FEW,
        ),
        "moments_diagonal_wide": (discrim.moments(every, WIDE, scatters="diagonal"), WIDE),
        "moments_mixed": (discrim.moments(mixed, PENGUINS), PENGUINS),
        "moments_weights_by_name": (
            discrim.moments(every, FEW.assign(times=WEIGHTS), weights="times"),
            FEW.assign(times=WEIGHTS),
        ),
        "moments_dropped": (discrim.moments(every, HOLES), HOLES),
        "moments_levels": (
            discrim.moments(every, FEW, levels=["virginica", "none", "setosa", "versicolor"]),
            FEW,
        ),
        "moments_functions": (
            discrim.moments("species ~ half(petal_width) + sepal_length", FEW, functions=FUNCTIONS),
            FEW,
        ),
        "moments_less": (whole - whole.of(FEW[::5]), FEW),
        "moments_one_class": (discrim.moments(every, FEW[:10]), FEW),
    }


def write_moments(folder: Path) -> dict[str, Any]:
    """Write a file for each of the moments; posteriors are those of a fit to them and their table."""
    about: dict[str, Any] = {}
    for name, (moments, data) in held().items():
        moments.save(folder / f"{name}.moments")
        weights = {"weights": np.ones(len(data))} if name.endswith("weights") else {}
        fit = discrim.lda(moments=moments + moments.of(data, **weights), covariance=structure_of(name))
        rows = data.iloc[[0, len(data) // 2, -1]]
        about[name] = {
            "counts": moments.counts.tolist(),
            "means": moments.means.fillna(0.0).to_numpy().tolist(),
            "dropped": moments.dropped,
            "table": data.astype(object).where(data.notna(), None).to_dict("list"),
            "rows": rows.to_dict("list"),
            "log_proba": fit.predict_log_proba(rows).to_numpy().tolist(),
        }
    return about


def structure_of(name: str) -> Any:
    """What covariance the moments of a name hold enough for."""
    return "diagonal" if "diagonal" in name else "pooled"


def write_fits(folder: Path, made: dict[str, Made]) -> dict[str, Any]:
    """Write a file for each fit; their predictions for some rows of their tables."""
    about: dict[str, Any] = {}
    for name, (verb, formula, data, options) in made.items():
        try:
            fit = verb(formula, data, **options)
        except DiscrimError as error:
            raise SystemExit(f"{name}: {error}") from error
        fit.save(folder / f"{name}.fit")
        rows = data.iloc[[0, 1, len(data) // 2, len(data) // 2 + 1, -2, -1]]
        held: dict[str, Any] = {"rows": rows.to_dict("list"), "label": fit.predict(rows).tolist()}
        try:
            held["log_proba"] = fit.predict_log_proba(rows).clip(lower=-1e300).to_numpy().tolist()
        except NotSupportedError:
            held["decision"] = np.asarray(fit.decision_function(rows)).tolist()
        if name.endswith("_calibrated"):
            held["calibrated"] = fit.predict_proba(rows, method="calibrated").to_numpy().tolist()
        about[name] = held
    return about


def main(folder: Path, chosen: str) -> None:
    """Write all files of a folder, and what they are to say."""
    folder.mkdir()
    said = {"predictions.json": write_fits(folder, CHOSEN[chosen]())}
    if chosen == "all":
        said["moments.json"] = write_moments(folder)
    for name, about in said.items():
        (folder / name).write_text(json.dumps(about, indent=None, separators=(",", ":")) + "\n")


CHOSEN = {
    "all": fits, "newest": newest_fits, "options": fits_with_options, "kernels": fits_of_kernels,
    "structures": fits_of_structures,
}  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]), *(sys.argv[2:] or ["all"]))
