"""Write class_shares.json: class proportions of unlabelled batches by QuaPy's EMQ and by SciPy.

    python tests/golden/write_class_shares.py

QuaPy (0.2.3) stops if the proportions change by less than 1e-4 on average: its result is "stopped", and
with a tolerance of 1e-15 "emq". It does not recalibrate by default. "direct" maximizes the likelihood by
SLSQP from several starts, without EM.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from quapy.method.aggregative import EMQ
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

EMQ.MAX_ITER = 10**6


def maximize_likelihood(posteriors: np.ndarray, prior: np.ndarray) -> list[float]:
    """Return the class proportions of largest likelihood, by SLSQP from several starts."""
    ratios = posteriors / prior
    k = len(prior)

    def loss(shares: np.ndarray) -> tuple[float, np.ndarray]:
        mixture = np.maximum(ratios @ shares, 1e-300)
        return -np.log(mixture).mean(), -(ratios / mixture[:, None]).mean(axis=0)

    ends = [
        minimize(
            loss,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0, 1)] * k,
            constraints={"type": "eq", "fun": lambda shares: shares.sum() - 1, "jac": lambda _: np.ones(k)},
            options={"ftol": 1e-16, "maxiter": 1000},
        )
        for start in np.random.default_rng(0).dirichlet(np.ones(k), 5)
    ]
    return min(ends, key=lambda end: end.fun).x.tolist()


def class_share_case(load, model, rows: slice) -> dict[str, list[float]]:
    """Return the proportions of a batch (a slice of rows) by each method, for a model fitted to all rows."""
    x, y = load(return_X_y=True)
    fit = model.fit(x, y)
    proba = fit.predict_proba(x[rows])
    emq, _ = EMQ.EM(fit.priors_, proba, epsilon=1e-15)
    stopped, _ = EMQ.EM(fit.priors_, proba)
    return {
        "emq": emq.tolist(),
        "stopped": stopped.tolist(),
        "direct": maximize_likelihood(proba, fit.priors_),
    }


cases = {
    "iris, lda, 30:110": class_share_case(load_iris, LinearDiscriminantAnalysis(), slice(30, 110)),
    "iris, lda, 0:90": class_share_case(load_iris, LinearDiscriminantAnalysis(), slice(0, 90)),
    "iris, qda, 60:150": class_share_case(load_iris, QuadraticDiscriminantAnalysis(), slice(60, 150)),
    "wine, lda, 20:130": class_share_case(load_wine, LinearDiscriminantAnalysis(), slice(20, 130)),
    "breast_cancer, lda, 0:200": class_share_case(
        load_breast_cancer, LinearDiscriminantAnalysis(), slice(0, 200)
    ),
}
path = Path(__file__).with_suffix("").with_name("class_shares.json")
path.write_text(json.dumps(cases, indent=1) + "\n")
