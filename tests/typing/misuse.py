"""Mistakes of a user: type checkers report each line that ends in "# wrong", and no other."""

import pandas as pd

import discrim
from discrim import lda, load, logistic
from discrim.datasets import load_iris

iris = load_iris()
lda("species ~ .", data=150)  # wrong
lda("species ~ .", iris, prior="eqaul")  # wrong
lda("species ~ .", iris, prior=0.5)  # wrong
lda("species ~ .", iris, method="mvee")  # wrong
lda("species ~ .", iris, covariance="poled")  # wrong
lda("species ~ .", iris, na_action="omit")  # wrong
lda("species ~ .", iris, CV=True)  # wrong
lda("species ~ .", iris, collinear="ignore")  # wrong
discrim.qda("species ~ .", iris, covariance="pooled")  # wrong
discrim.knn("species ~ .", iris, metric="manhattan")  # wrong
discrim.kernel_density("species ~ .", iris, kernel="gaussian")  # wrong
discrim.pls("species ~ .", iris, ncomp="max")  # wrong
discrim.rda("species ~ .", iris, folds="LOO")  # wrong
discrim.mixture("species ~ .", iris, covariance="fulll")  # wrong
print(discrim.plsda)  # wrong
logistic("species ~ .", iris, penalty="l1")  # wrong
logistic("species ~ .", iris, strength=0.1)  # wrong
logistic("species ~ .", iris, penalty="ridge", bias_reduction=True)  # wrong
print(logistic("species ~ .", iris).penalty)  # wrong
print(logistic("species ~ .", iris, penalty="ridge").separated)  # wrong

fit = lda("species ~ .", iris)
fit.plot("score")  # wrong
fit.plot("roc", method="LOO")  # wrong
print(fit.posterior)  # wrong
fit.predict(iris, "mle")  # wrong
fit.predict_proba(iris, method="bayes")  # wrong
fit.predict(iris, unseen="ignore")  # wrong
fit.confusion(method="holdout")  # wrong
fit.error_rates(methods=["apparent", "LOO"])  # wrong
fit.canonical("SAS")  # wrong
fit.canonical().structure("pooled")  # wrong
fit.log_odds(level="95%")  # wrong
load("iris.fit").predit(iris)  # wrong
print(load("iris.fit", discrim.QDAResults).scaling)  # wrong
table: pd.Series = fit.predict_proba(iris)  # wrong
number: int = fit.tidy()  # wrong
