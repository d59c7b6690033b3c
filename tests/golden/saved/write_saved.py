"""Write fits as the version of discrim that is imported saves them, and what they predict.

    python tests/golden/saved/write_saved.py FOLDER ../shared/data/hard/connect_4.tsv.gz

Run it in the checkout of the version whose files are wanted. Those of `before_13` are of commit 363d1eb, the
last one before fits kept `standardize`, the names of columns left out, the dtype of labels, and the root of
the covariance of Mahalanobis' distance. In connect_4 every row sums to 12, which it did not find.
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

import discrim
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DiscrimError, NotSupportedError

IRIS = load_iris()
FEW = IRIS.iloc[::3].reset_index(drop=True)
PENGUINS = load_penguins().dropna().iloc[::4].reset_index(drop=True)
TWICE = FEW.assign(twice=lambda d: d["petal_width"] * 2 + d["sepal_width"])
FLAT = FEW.assign(flat=1.0)
PLANE = FEW[FEW["species"] != "virginica"].astype({"species": str})
WIDE = FEW[["species"]].join(pd.DataFrame(np.random.default_rng(0).normal(size=(50, 60))).add_prefix("g"))
WHOLE = FEW.assign(species=pd.factorize(FEW["species"])[0], petal_length=FEW["petal_length"].round())
WEIGHTS = 1.0 + np.arange(len(FEW)) % 3

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
        "rda_chosen": (rda, every, FEW, {"cv": "loo", "grid": [0.0, 0.5, 1.0]}),
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
    return made


def main(folder: Path) -> None:
    """Write a file for each fit, and their predictions for some rows of their tables."""
    folder.mkdir(exist_ok=True)
    about: dict[str, Any] = {}
    for name, (verb, formula, data, options) in fits().items():
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
        about[name] = held
    (folder / "predictions.json").write_text(json.dumps(about, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
    connect = pd.read_csv(sys.argv[2], sep="\t")
    connect_fits = {
        "lda": discrim.lda("target ~ .", connect),
        "indicator": discrim.indicator("target ~ .", connect),
        "rda": discrim.rda("target ~ .", connect, alpha=0.0, gamma=1.0),
    }
    for name, fit in connect_fits.items():
        fit.save(Path(sys.argv[1]) / f"connect_{name}.fit")
