"""Script of a user that runs, has no type errors, and asserts the inferred types."""

from collections.abc import Iterator
from pathlib import Path
from typing import assert_type

import pandas as pd
import polars as pl

import discrim
from discrim import ClassifierResults, LDAResults, Moments, lda, load, logistic, moments, qda
from discrim.covariance import Shrunk
from discrim.datasets import load_iris
from discrim.penalty import Lasso
from discrim.sklearn import LDAClassifier

iris: pd.DataFrame = load_iris()
two = iris[iris["species"] != "setosa"].astype({"species": str})
folder = Path()


def chunks() -> Iterator[pd.DataFrame]:
    yield iris.iloc[:75]
    yield iris.iloc[75:]


def accuracy(fit: ClassifierResults, rows: pd.DataFrame) -> float:
    return float(fit.confusion(rows).to_numpy().trace()) / len(rows)


fit = lda("species ~ .", data=iris, prior="equal", covariance="pooled", na_action="raise")
assert_type(fit, LDAResults)
assert_type(fit.means, pd.DataFrame)
assert_type(fit.predict_proba(iris, prior={"setosa": 0.2, "versicolor": 0.3, "virginica": 0.5}), pd.DataFrame)
assert_type(fit.error_rates(methods=["apparent", "loo"], seed=1), pd.DataFrame)
assert_type(fit.canonical("sas").structure("total"), pd.DataFrame)
print(fit.summary().as_markdown(), accuracy(fit, iris), fit.wilks.pvalue)
fit.plot("scores", level=0.9).set_title("Irises")
fit.save(folder / "iris.fit")
moments("species ~ .", chunks).save(folder / "sums")
print(load(folder / "iris.fit").predict(pl.from_pandas(iris)).value_counts())
assert_type(load(folder / "iris.fit", LDAResults).scaling, pd.DataFrame)
assert_type(load("sums", Moments) + moments("species ~ .", chunks()), Moments)

plain = logistic("species ~ petal_width", two, weights=None)
assert_type(plain, discrim.LogisticResults)
assert_type(plain.marginal_effects(), pd.DataFrame)
lasso = logistic("species ~ .", two.to_dict("list"), penalty=Lasso(folds=5, seed=1))
assert_type(lasso, discrim.PenalizedLogisticResults)
print(lasso.selected.tolist(), lasso.penalty.strength, lasso.path.head(1))

two.to_csv("two.csv", index=False)
for source in ("two.csv", folder / "two.csv", [folder / "two.csv"]):
    print(qda("species ~ .", source, method="mle", prior=[0.4, 0.6]).predict(two).head(1))
lazy = discrim.naive_bayes("species ~ .", pl.scan_csv("two.csv"), prior=plain)
print(
    lazy.predict(two),
    discrim.compare(plain, lda("species ~ .", two)),
    discrim.knn("species ~ .", iris, metric="cityblock", k=5).error_rates(),
)
print(LDAClassifier(covariance=Shrunk(0.1)).fit(iris.iloc[:, :4], iris["species"]).predict(iris.iloc[:, :4]))
