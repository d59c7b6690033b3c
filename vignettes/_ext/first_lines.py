"""Example code at the beginning of each reference page, and its output."""

from __future__ import annotations

import io
import re
from contextlib import chdir, redirect_stdout
from tempfile import TemporaryDirectory

import discrim

FIRST_LINES = {
    "lda": """
fit = lda("species ~ .", data=load_iris())""",
    "qda": """
fit = qda("species ~ .", data=load_iris())""",
    "rda": """
fit = rda("species ~ .", data=load_iris(), seed=1)""",
    "naive_bayes": """
fit = naive_bayes("species ~ .", data=load_penguins())""",
    "shrunken_centroids": """
fit = shrunken_centroids("cultivar ~ .", data=load_wine(), seed=1)""",
    "nearest_centroid": """
fit = nearest_centroid("species ~ .", data=load_iris())""",
    "location": """
fit = location("species ~ sex + island + bill_length_mm", data=load_penguins())""",
    "plda": """
fit = plda("cultivar ~ .", data=load_wine())
print(fit.verify_all(load_wine()[:4], load_wine()[100:103]).round(2))""",
    "knn": """
fit = knn("species ~ .", data=load_iris())""",
    "kernel_density": """
fit = kernel_density("species ~ petal_length + petal_width", data=load_iris())""",
    "logistic": """
fit = logistic("sex ~ body_mass_g + bill_depth_mm", data=load_penguins())""",
    "indicator": """
fit = indicator("species ~ .", data=load_iris())""",
    "perceptron": """
two = load_iris().query("species != 'virginica'")
fit = perceptron("species ~ petal_length + petal_width", data=two)""",
    "hyperplane": """
fit = hyperplane("diagnosis ~ .", data=load_breast_cancer())""",
    "fda": """from sklearn.kernel_ridge import KernelRidge

fit = fda("species ~ .", data=load_iris(), engine=KernelRidge(kernel="rbf", gamma=0.1))""",
    "kernel_lda": """
fit = kernel_lda("species ~ .", data=load_iris())""",
    "pls": """
fit = pls("cultivar ~ .", data=load_wine(), ncomp=2)""",
    "sparse_lda": """
fit = sparse_lda("cultivar ~ .", data=load_wine(), nonzero=3)""",
    "mixture": """
fit = mixture("species ~ .", data=load_iris(), components=2)""",
    "bayes": """from scipy.stats import norm

law = bayes({"a": 0.3, "b": 0.7}, {"a": norm(0, 1), "b": norm(2, 1)})
print(law)""",
    "box_m": """
print(box_m("species ~ .", data=load_iris()))""",
    "compare": """
iris = load_iris()
print(compare(lda("species ~ .", iris), qda("species ~ .", iris)).T)""",
    "covariance_models": """
print(covariance_models("species ~ .", data=load_iris()).iloc[:, :4].round(2))""",
    "cross_validate": """
fit = lda("species ~ .", data=load_iris())
print(cross_validate(fit, folds=10, seed=1))""",
    "from_stats": """
groups = load_iris().groupby("species")
covs = {label: rows.cov(numeric_only=True) for label, rows in groups}
given = from_stats(groups.mean(), covs, groups.size())
print(lda(moments=given).scaling.round(3))""",
    "hausman": """
formula, penguins = "sex ~ body_mass_g + bill_depth_mm", load_penguins()
print(hausman(lda(formula, penguins), logistic(formula, penguins)))""",
    "load": """
lda("species ~ .", data=load_iris()).save("iris.fit")
print(load("iris.fit").predict(load_iris().head(3)))""",
    "lr_test": """
iris = load_iris()
print(lr_test(lda("species ~ .", iris), qda("species ~ .", iris)))""",
    "manova": """
print(manova("species ~ .", data=load_iris()))""",
    "mlm": """
fit = mlm("species * sex ~ bill_length_mm + bill_depth_mm", data=load_penguins())""",
    "moments": """
iris = load_iris()
whole = moments("species ~ .", iris[:70]) + moments("species ~ .", iris[70:])
print(lda(moments=whole).scaling.round(3))""",
    "plan": """
print(plan(distance=2, p=10, error=0.2))""",
    "sphericity_test": """
print(sphericity_test("species ~ .", data=load_iris()))""",
    "choose": """
print(choose("species ~ .", data=load_iris(), seed=1))""",
    "permanova": """
fit = permanova("species + sex ~ bill_length_mm + bill_depth_mm", data=load_penguins(), seed=1)""",
    "stepwise": """
print(stepwise("species ~ .", data=load_iris()))""",
}
"""Code by function, after the imports; the fit is printed if nothing else is."""


def example_code(verb: str) -> str:
    """Return the example code of a function with its imports."""
    code = FIRST_LINES[verb] + ("" if "print(" in FIRST_LINES[verb] else "\nprint(fit)")
    verbs = set(re.findall(r"\b(\w+)\(", code)) & set(discrim.__all__)
    tables = set(re.findall(r"\bload_\w+", code))
    lines = [f"from discrim import {', '.join(sorted(verbs))}"]
    lines += [f"from discrim.datasets import {', '.join(sorted(tables))}"] if tables else []
    return "\n".join([*lines, code])


def printed_output(code: str) -> str:
    """Run code in a temporary folder and return what it prints."""
    output = io.StringIO()
    with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(output):
        exec(compile(code, "lines", "exec"), {})
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())
