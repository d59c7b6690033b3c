"""A script that fits every verb on irises and asks each fit for all it does: run in a browser, or anywhere.

It stands by itself, so that it runs where there is neither pytest nor the rest of the tests.
"""

from __future__ import annotations

import os
import tempfile
import warnings

import matplotlib as mpl

mpl.use("agg")

import discrim
from discrim.models.registry import MODELS

NEEDS = {"pls": {"ncomp": 2}, "knn": {"k": 5}, "rda": {"alpha": 0.5, "gamma": 0.1}}
NEEDS |= {"logistic": {"bias_reduction": True}, "perceptron": {"maxiter": 20}}
TWO = ("hyperplane",)


def every_verb() -> None:
    """Fit, print, predict, judge, draw, save, load and report with each verb of a table."""
    iris = discrim.datasets.load_iris()[::3]
    folder = tempfile.mkdtemp()
    for verb in dict.fromkeys(model.verb for model in MODELS):
        if verb in ("bayes", "fda", "mlm"):
            continue
        data = iris[iris["species"] != "virginica"] if verb in TWO else iris
        fit = getattr(discrim, verb)("species ~ .", data=data, **NEEDS.get(verb, {}))
        text = fit.summary().as_text()
        labels = fit.predict(data)
        if not text or len(labels) != len(data):
            raise AssertionError(verb)
        fit.confusion()
        fit.plot()
        path = os.path.join(folder, verb)
        fit.save(path)
        if not (discrim.load(path).predict(data) == labels).all():
            raise AssertionError(f"{verb}: a fit that was loaded predicts otherwise")
        fit.report(f"{path}.html")
        print(verb)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    every_verb()
