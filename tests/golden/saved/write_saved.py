"""Write a file of a fit of each model, and one of moments, in the current format.

    python -m tests.golden.saved.write_saved

`tests/models/base/test_golden_files.py` loads the files and compares what they predict with fits made
by the same calls. Write them again if the format of files changes, and only then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

import discrim
from discrim.covariance import Shrunk
from discrim.datasets import load_iris, load_penguins
from discrim.penalty import Ridge

FOLDER = Path(__file__).parent
IRIS = load_iris().iloc[::5].reset_index(drop=True)
TWO_SPECIES = IRIS[IRIS["species"] != "virginica"].astype({"species": str})
PENGUINS = load_penguins().dropna().iloc[::8].reset_index(drop=True)
EVERY = "species ~ ."
MIXED = "species ~ island + bill_length_mm + body_mass_g"

CALLS: dict[str, tuple[str, str, pd.DataFrame, dict[str, Any]]] = {
    "lda": ("lda", "species ~ sex * bill_length_mm + bs(bill_depth_mm, 4)", PENGUINS, {"prior": "equal"}),
    "qda": ("qda", "species ~ sepal_length + sepal_width", IRIS, {"covariance": Shrunk(0.1)}),
    "rda": ("rda", EVERY, IRIS, {"alpha": 0.3, "gamma": 0.6}),
    "plda": ("plda", EVERY, IRIS, {}),
    "location": ("location", MIXED, PENGUINS, {"smoothing": 0.1}),
    "naive_bayes": ("naive_bayes", MIXED, PENGUINS, {"kernel": ["body_mass_g"], "laplace": 1.0}),
    "shrunken_centroids": ("shrunken_centroids", EVERY, IRIS, {"threshold": 1.0}),
    "nearest_centroid": ("nearest_centroid", EVERY, IRIS, {}),
    "knn": ("knn", EVERY, IRIS, {"k": 5, "metric": "mahalanobis"}),
    "kernel_density": ("kernel_density", EVERY, IRIS, {"bandwidth": 0.5}),
    "logistic": ("logistic", "species ~ sepal_width", IRIS, {"reference": "virginica"}),
    "penalized_logistic": ("logistic", EVERY, IRIS, {"penalty": Ridge(0.1)}),
    "indicator": ("indicator", EVERY, IRIS, {}),
    "perceptron": ("perceptron", EVERY, TWO_SPECIES, {"seed": 1}),
    "hyperplane": ("hyperplane", EVERY, TWO_SPECIES, {}),
    "kernel_lda": ("kernel_lda", EVERY, IRIS, {"kernel": "gaussian", "width": 1.5, "ridge": 0.1}),
    "pls": ("pls", EVERY, IRIS, {"ncomp": 2}),
    "sparse_lda": ("sparse_lda", EVERY, IRIS, {"nonzero": 2}),
    "mixture": ("mixture", "species ~ petal_length + petal_width", IRIS, {"components": 2, "seed": 1}),
    "moments": ("moments", "species ~ sepal_length + log(petal_width)", IRIS, {}),
}
"""Function, formula, table and options by model."""


def fit_model(model: str) -> Any:
    """Return the fit, or the moments, that the file of a model contains."""
    verb, formula, data, options = CALLS[model]
    return getattr(discrim, verb)(formula, data, **options)


def file_path(model: str) -> Path:
    """Return the path of the file of a model."""
    return FOLDER / f"{model}.fit"


if __name__ == "__main__":
    for name in CALLS:
        fit_model(name).save(file_path(name))
