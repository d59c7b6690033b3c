"""Flexible discriminant analysis against mda, LDA, and engines that fail.

``golden/indicator.json`` was written by ``golden/write_indicator.R``, which says how.
"""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from discrim import compare, fda, lda
from discrim.datasets import load as load_table
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DataError, EmptyClassWarning, NotSupportedError, PriorError
from tests import support

GOLDEN = json.loads((support.GOLDEN / "indicator.json").read_text(encoding="utf-8"))["cases"]
IRIS = load_iris()
RBF = KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1)
ENGINES = {
    "linear": LinearRegression(),
    "quadratic": make_pipeline(StandardScaler(), PolynomialFeatures(2), LinearRegression()),
    "ridge": Ridge(alpha=5.0),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", GOLDEN)
def test_variates_centroids_and_posteriors_agree_with_mda(name, engine):
    case = GOLDEN[name]
    theirs = case["fda"][engine]
    data = load_table(name).dropna(subset=case["columns"])
    fit = fda(f"{case['response']} ~ {' + '.join(case['columns'])}", data, engine=ENGINES[engine])
    np.testing.assert_allclose(fit.values, theirs["values"], rtol=1e-11)
    np.testing.assert_allclose(100 * fit.explained.cumsum(), theirs["explained"], rtol=1e-11)
    means = np.array(theirs["means"])
    signs = np.sign((means * fit.centroids.to_numpy()).sum(axis=0))
    np.testing.assert_allclose(fit.centroids * signs, means, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(fit.transform().iloc[::5] * signs, theirs["variates"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fit.predict_proba().iloc[::5], theirs["posteriors"], rtol=1e-8, atol=1e-13)
    assert (fit.predict() == np.array(theirs["predicted"])).all()


@pytest.mark.parametrize("prior", [None, "equal", [0.2, 0.3, 0.5]])
def test_least_squares_as_the_engine_is_lda_with_divisor_n(prior):
    fit = fda("species ~ .", IRIS, engine=LinearRegression(), prior=prior)
    theirs = lda("species ~ .", IRIS, method="mle", prior=prior)
    np.testing.assert_allclose(fit.predict_log_proba(), theirs.predict_log_proba(), rtol=1e-8, atol=1e-9)
    variates = fit.transform().to_numpy()
    codes = IRIS["species"].cat.codes if hasattr(IRIS["species"], "cat") else pd.factorize(IRIS["species"])[0]
    centred = variates - fit.centroids.to_numpy()[np.asarray(codes)]
    np.testing.assert_allclose(centred.T @ centred / len(centred), np.eye(2), atol=1e-10)
    scores = fit.scores.to_numpy()
    np.testing.assert_allclose(scores.T @ scores / 3, np.eye(2), atol=1e-12)


def test_two_classes_give_the_engine_one_column():
    two = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
    fit = fda("species ~ .", two, engine=SVR(gamma=0.1))
    values = fit.decision_function()
    assert isinstance(values, pd.Series)
    assert ((values > 0) == (fit.predict() == "virginica")).all()
    smallest = fda("species ~ .", two, engine=LinearRegression())
    theirs = lda("species ~ .", two, method="mle")
    np.testing.assert_allclose(smallest.decision_function(), theirs.decision_function(), rtol=1e-8, atol=1e-9)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_weights_equal_repeated_rows():
    data = IRIS.assign(w=np.arange(150) % 3)
    fit = fda("species ~ . - w", data, engine=RBF, weights="w")
    repeated = fda("species ~ . - w", data.loc[data.index.repeat(data["w"])], engine=RBF)
    np.testing.assert_allclose(fit.predict_proba(data), repeated.predict_proba(data), rtol=1e-7, atol=1e-12)
    pd.testing.assert_frame_equal(fit.glance(), repeated.glance())
    with pytest.raises(NotSupportedError) as caught:
        fda("species ~ . - w", data.assign(w=0.5), engine=RBF, weights="w")
    assert caught.value.rows == (0,)


@pytest.mark.slow
def test_rows_are_left_out_by_refits_and_the_engine_given_stays_unfitted():
    engine = Ridge(alpha=2.0)
    fit = fda("species ~ .", IRIS, engine=engine)
    assert not hasattr(engine, "coef_")
    assert hasattr(fit.engine, "coef_")
    remaining = fit.leave_one_out()
    for row in (3, 70, 133):
        other = fda("species ~ .", IRIS.drop(index=row), engine=engine, prior=fit.prior)
        expected = other.predict_proba(IRIS.iloc[[row]]).iloc[0]
        np.testing.assert_allclose(remaining.iloc[row, 1:].astype(float), expected, rtol=1e-8)
    rates = fit.error_rates(["apparent", "cv", "632+"], folds=4, replicates=3, seed=0)
    assert rates["estimate"].between(0, 0.3).all()


@pytest.mark.slow
def test_missing_rows_tables_plots_and_pickle():
    import matplotlib.pyplot as plt

    penguins = load_penguins()
    fit = fda("species ~ bill_length_mm + sex", penguins, engine=LinearRegression(), ncomp=1)
    gone = penguins[["bill_length_mm", "sex"]].isna().any(axis=1)
    assert fit.transform().columns.tolist() == ["LD1"]
    for values in (fit.transform(), fit.predict_proba()):
        assert values.isna().any(axis=1).equals(gone)
    again = pickle.loads(pickle.dumps(fit))
    pd.testing.assert_frame_equal(again.predict_proba(penguins), fit.predict_proba(), check_exact=True)
    summary = fit.summary()
    for text in (summary.as_text(), summary.as_html(), summary.as_latex(), summary.as_markdown(), repr(fit)):
        assert "LD1" in text
    assert "Engine: LinearRegression()" in summary.as_text()
    assert {"class", "axis", "score", "centroid"} == set(fit.tidy())
    other = lda("species ~ bill_length_mm", penguins[~gone])
    assert compare(fit, other)["error_apparent"].notna().all()
    plane = fda("species ~ petal_length + petal_width", IRIS, engine=RBF)
    for kind in ("scores", "regions", "posteriors"):
        plane.plot(kind)
    plt.close("all")


class Shifted:
    """An engine that misses the level of what it is fitted to."""

    def __init__(self, by):
        self.by = by

    def fit(self, x, y):
        self.least = LinearRegression().fit(x, y)
        return self

    def predict(self, x):
        return self.least.predict(x) + self.by


def test_centroids_are_the_class_means_of_the_variates_and_a_shift_changes_nothing_else():
    plain, shifted = (fda("species ~ .", IRIS, engine=Shifted(by)) for by in (0.0, np.array([3.0, -2.0])))
    np.testing.assert_allclose(shifted.predict_proba(), plain.predict_proba(), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(shifted.values, plain.values, rtol=1e-12)
    for engine in (Shifted(5.0), RBF, KNeighborsRegressor(40)):
        fit = fda("species ~ .", IRIS, engine=engine)
        means = fit.transform().groupby(IRIS["species"].to_numpy()).mean()
        np.testing.assert_allclose(fit.centroids, means, rtol=1e-10, atol=1e-10)


class Nested:
    """An engine without get_params whose fit changes a mapping that it holds."""

    def __init__(self):
        self.state = {}

    def fit(self, x, y):
        self.state["seen"] = len(x)
        self.state["least"] = LinearRegression().fit(x, y)
        return self

    def predict(self, x):
        return self.state["least"].predict(x)


def test_engines_are_copied_deeply_for_each_fit():
    engine = Nested()
    fit = fda("species ~ .", IRIS, engine=engine)
    before = fit.predict_proba(IRIS)
    rates = fit.error_rates(["cv"], seed=0)
    assert engine.state == {}
    assert fit.engine.state["seen"] == 150
    pd.testing.assert_frame_equal(fit.predict_proba(IRIS), before, check_exact=True)
    smallest = fda("species ~ .", IRIS, engine=LinearRegression()).error_rates(["cv"], seed=0)
    pd.testing.assert_frame_equal(rates, smallest)


def test_the_number_of_axes_may_come_from_numpy():
    for number in np.arange(1, 3):
        fit = fda("species ~ .", IRIS, engine=LinearRegression(), ncomp=number)
        assert fit.transform().shape[1] == number
        assert (
            lda("species ~ .", IRIS, ncomp=number)
            .glance()
            .equals(lda("species ~ .", IRIS, ncomp=int(number)).glance())
        )
    for verb in (lda, lambda *args, **options: fda(*args, engine=LinearRegression(), **options)):
        with pytest.raises(DataError) as caught:
            verb("species ~ .", IRIS, ncomp=True)
        assert "ncomp=True" in str(caught.value)


class Broken:
    """Raises in fit, in predict, or when copied."""

    def __init__(self, where):
        self.where = where

    def fit(self, x, y):
        if self.where == "fit":
            raise RuntimeError("out of luck")
        return self

    def predict(self, x):
        raise KeyError("no such thing")

    def __deepcopy__(self, memo):
        if self.where == "copy":
            raise TypeError("a lock")
        return self


class Constant:
    """Predicts what it is told to, whatever it was fitted to."""

    def __init__(self, value):
        self.value = value

    def fit(self, x, y):
        return self

    def predict(self, x):
        return np.full((len(x), 2), self.value) if np.isscalar(self.value) else self.value


BAD = {
    "no engine": (lambda: fda("species ~ .", IRIS, engine=object()), DataError, r"fit\(X, Y\)"),
    "one response": (lambda: fda("species ~ .", IRIS, engine=SVR()), DataError, "MultiOutputRegressor"),
    "interpolates": (
        lambda: fda("species ~ .", IRIS, engine=DecisionTreeRegressor()),
        DataError,
        "without error",
    ),
    "nothing": (lambda: fda("species ~ .", IRIS, engine=Constant(0.0)), DataError, "class scores"),
    "not finite": (lambda: fda("species ~ .", IRIS, engine=Constant(np.nan)), DataError, "not finite"),
    "shape": (
        lambda: fda("species ~ .", IRIS, engine=Constant(np.zeros(7))),
        DataError,
        r"shape \(7,\).*150",
    ),
    "raises": (
        lambda: fda("species ~ .", IRIS, engine=Broken("fit")),
        DataError,
        "cannot be fitted.*out of luck",
    ),
    "raises later": (
        lambda: fda("species ~ .", IRIS, engine=Broken("predict")),
        DataError,
        "cannot predict 150 rows.*no such thing",
    ),
    "not copied": (
        lambda: fda("species ~ .", IRIS, engine=Broken("copy")),
        DataError,
        "cannot be copied: a lock",
    ),
    "a class": (
        lambda: fda("species ~ .", IRIS, engine=Ridge),
        DataError,
        r"Ridge.*object",
    ),
    "rows by weights": (
        lambda: fda("species ~ .", IRIS, engine=Ridge(), weights=np.full(150, 1e12)),
        NotSupportedError,
        "150,000,000,000,000 rows",
    ),
    "part of a row": (
        lambda: fda("species ~ .", IRIS, engine=Ridge(), weights=np.r_[np.ones(7), 0.25, np.ones(142)]),
        NotSupportedError,
        "row 7 is 0.25",
    ),
    "ncomp": (lambda: fda("species ~ .", IRIS, engine=Ridge(), ncomp=3), DataError, "2 axes"),
    "prior": (lambda: fda("species ~ .", IRIS, engine=Ridge(), prior=[1, 1, 1]), PriorError, "sums to 3"),
    "save": (lambda: fda("species ~ .", IRIS, engine=Ridge()).save("fit"), NotSupportedError, "Pickle"),
    "llf": (lambda: fda("species ~ .", IRIS, engine=Ridge()).llf, NotSupportedError, "likelihood"),
    "debiased": (
        lambda: fda("species ~ .", IRIS, engine=Ridge()).predict_proba(method="debiased"),
        NotSupportedError,
        "debiased",
    ),
    "typicality": (
        lambda: fda("species ~ .", IRIS, engine=Ridge()).typicality(),
        NotSupportedError,
        "typicality",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_input_is_named(name):
    ask, error, match = BAD[name]
    with pytest.raises(error, match=match):
        ask()


def test_a_class_left_empty_is_left_out_with_a_warning():
    data = IRIS.assign(sepal_width=IRIS["sepal_width"].where(IRIS["species"] != "setosa"))
    with pytest.warns(EmptyClassWarning, match="setosa"):
        fit = fda("species ~ .", data, engine=Ridge())
    assert fit.classes.tolist() == ["versicolor", "virginica"]
