"""The range of data: values far from the class means are refused, in a fit and in new observations."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.core.moments.moments import ClassMoments
from discrim.errors import DataError, OutOfRangeError
from discrim.models.base.data_range import column_range


class LeastSquares:
    """A regression for fda()."""

    def fit(self, x, y):
        mean, unit = x.mean(axis=0), np.abs(x).max(axis=0)
        design = np.column_stack([np.ones(len(x)), (x - mean) / unit])
        coef = np.linalg.lstsq(design, y, rcond=None)[0]
        self.predict = lambda new: np.column_stack([np.ones(len(new)), (new - mean) / unit]) @ coef
        return self


# The perceptron does not converge on overlapping classes.
pytestmark = pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
MODELS = {
    "lda": (discrim.lda, {}),
    "lda with covariates": (discrim.lda, {}),
    "diagonal": (discrim.lda, {"covariance": "diagonal"}),
    "spherical": (discrim.lda, {"covariance": "spherical"}),
    "shrunk": (discrim.lda, {"covariance": "shrunk"}),
    "nonlinear": (discrim.lda, {"covariance": "nonlinear"}),
    "correlation": (discrim.lda, {"covariance": "correlation"}),
    "pinv": (discrim.lda, {"covariance": "pinv"}),
    "principal components": (discrim.lda, {"components": 2}),
    "qda": (discrim.qda, {}),
    "qda diagonal": (discrim.qda, {"covariance": "diagonal"}),
    "qda reduced": (discrim.qda, {"ncomp": 2}),
    "factor": (discrim.qda, {"covariance": "factor"}),
    "rda": (discrim.rda, {"alpha": 0.5, "gamma": 0.5}),
    "naive Bayes": (discrim.naive_bayes, {}),
    "naive Bayes by kernels": (discrim.naive_bayes, {"kernel": True}),
    "shrunken centroids": (discrim.shrunken_centroids, {"threshold": 0.1}),
    "pls": (discrim.pls, {"ncomp": 1}),
    "sparse": (discrim.sparse_lda, {"penalty": 0.1}),
    "nearest centroid": (discrim.nearest_centroid, {}),
    "plda": (discrim.plda, {}),
    "plda lengths": (discrim.plda, {"normalize": True}),
    "location": (discrim.location, {}),
    "mixture": (discrim.mixture, {"components": 2, "seed": 1}),
    "knn": (discrim.knn, {"k": 3}),
    "knn unscaled": (discrim.knn, {"k": 3, "scale": False}),
    "knn mahalanobis": (discrim.knn, {"k": 3, "metric": "mahalanobis"}),
    "kernel density": (discrim.kernel_density, {}),
    "kernel density euclidean": (discrim.kernel_density, {"metric": "euclidean"}),
    "kernel LDA": (discrim.kernel_lda, {}),
    "indicator": (discrim.indicator, {}),
    "logistic": (discrim.logistic, {}),
    "fda": (discrim.fda, {"engine": LeastSquares()}),
    "perceptron": (discrim.perceptron, {"maxiter": 5}),
    "hyperplane": (discrim.hyperplane, {}),
}
WITHOUT_POSTERIORS = ("indicator", "perceptron", "hyperplane")
# The sums of the perceptron, and the margin of the hyperplane, are in the units of the columns.
IN_COLUMN_UNITS = {"perceptron", "hyperplane"}


def table(name: str = "lda") -> pd.DataFrame:
    """Three normal classes of 30 rows; two separable ones for a hyperplane."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(90, 3)), columns=["x", "y", "z"])
    data["g"] = np.repeat(list("abc"), 30)
    data.loc[data["g"] == "b", "x"] += 9.0 if name == "hyperplane" else 1.5
    data.loc[data["g"] == "c", "y"] += 1.5
    return data[data["g"] != "c"] if name == "hyperplane" else data


def fitted(name: str, data: pd.DataFrame):
    verb, options = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return verb("g ~ x + y | z" if "covariates" in name else "g ~ x + y + z", data, **options)


@cache
def plain_fit(name: str):
    return fitted(name, table(name))


def collect_answers(name: str, fit, data: pd.DataFrame):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        if name in WITHOUT_POSTERIORS:
            return fit.decision_function(data)
        return fit.predict_log_proba(data)


def by_turns(names: Iterable[str], values: list[float]) -> list[tuple[str, float]]:
    """Return each name with one of the values, which take turns."""
    return [(name, values[k % len(values)]) for k, name in enumerate(names)]


@pytest.mark.parametrize(
    ("name", "factor"), by_turns(sorted(MODELS.keys() - IN_COLUMN_UNITS), [1e-160, 1e160])
)
def test_predictions_do_not_depend_on_the_unit(name, factor):
    data = table(name)
    scaled = data.assign(**{column: data[column] * factor for column in "xyz"})
    found = collect_answers(name, fitted(name, scaled), scaled)
    np.testing.assert_allclose(found, collect_answers(name, plain_fit(name), data), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("name", "value"), by_turns(MODELS, [1e130, -1e300, 1.7e308]))
def test_out_of_range_value_in_new_rows_raises(name, value):
    new = table(name).iloc[:6].set_index(pd.Index(list("uvwxyz")))
    new.loc["w", "y"] = value
    for method in ("predict", "decision_function"):
        predict = getattr(plain_fit(name), method)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            with pytest.raises(OutOfRangeError) as caught:
                predict(new)
        assert (caught.value.columns, caught.value.rows) == (("y",), ("w",))


@pytest.mark.parametrize(("name", "value"), by_turns(MODELS, [1e130, -1e300]))
def test_out_of_range_value_in_training_rows_raises(name, value):
    data = table(name)
    data.loc[7, "y"] = value
    with pytest.raises(OutOfRangeError) as caught:
        fitted(name, data)
    assert (caught.value.columns, caught.value.rows) == (("y",), (7,))


@pytest.mark.parametrize(("name", "gap"), by_turns(MODELS, [1e155, -1e200, 1e300]))
def test_class_out_of_range_raises(name, gap):
    data = table(name)
    data.loc[data["g"] == "b", "y"] += gap
    with pytest.raises(OutOfRangeError) as caught:
        fitted(name, data)
    (row,) = caught.value.rows
    assert caught.value.columns == ("y",)
    assert data["g"][row] == "b"


@pytest.mark.parametrize(("name", "distance"), by_turns(MODELS, [1e90, -1e99]))
def test_values_just_inside_the_range_have_finite_answers(name, distance):
    found = np.asarray(collect_answers(name, plain_fit(name), table(name).iloc[:1].assign(y=distance)))
    # None of the nearest rows may be of a class.
    assert not np.isnan(found).any() if name.startswith("knn") else np.isfinite(found).all()


@pytest.mark.parametrize("name", ["lda", "qda", "naive Bayes", "knn", "logistic"])
def test_the_limit_is_1e100_within_class_standard_deviations(name):
    fit, data = plain_fit(name), table(name)
    sd = data.groupby("g")["y"].std(ddof=0)
    new = data.iloc[:1].assign(y=0.99e100 * sd.min())
    assert fit.predict(new).notna().all()
    with pytest.raises(OutOfRangeError):
        fit.predict(new.assign(y=1.01e100 * sd.max()))


@pytest.mark.parametrize("name", MODELS)
def test_differences_above_the_largest_float_raise(name):
    data = table(name)
    data["y"] = np.where(data["y"] > 0, 1.7e308, -1.7e308)
    with pytest.raises(DataError) as caught:
        fitted(name, data)
    assert caught.value.columns == ("y",)


def test_range_is_defined_by_the_majority_of_rows():
    """Of a class far from the others the rows are refused that are fewer, in whatever unit."""
    data = table()
    for factor in (1e-180, 1.0, 1e30):
        scaled = data.assign(y=data["y"] * factor)
        scaled.loc[:20, "y"] = 1e125 * factor * (1 + np.arange(21))
        with pytest.raises(OutOfRangeError) as caught:
            discrim.lda("g ~ x + y", scaled)
        assert caught.value.rows == (0,)


@pytest.mark.parametrize("verb", ["qda", "naive_bayes", "mixture", "kernel_density"])
def test_class_variances_of_too_different_size_raise(verb):
    """Every row would be infinitely far from every class in double precision."""
    data = table()[["x", "y", "g"]][:60].assign(g=["a"] * 30 + ["b"] * 30)
    data.loc[data["g"] == "a", "x"] *= 1e-155
    data.loc[data["g"] == "b", "y"] *= 1e-155
    with pytest.raises(OutOfRangeError) as caught:
        getattr(discrim, verb)("g ~ x + y", data)
    assert (caught.value.columns, caught.value.rows) == (("x",), (30,))


def test_out_of_range_value_next_to_missing_values_raises():
    new = table().iloc[:6].copy()
    new.iloc[1, 0] = np.nan
    new.iloc[3, 1] = 1e200
    for verb in ("lda", "naive Bayes", "qda"):
        with pytest.raises(OutOfRangeError) as caught:
            plain_fit(verb).predict(new)
        assert caught.value.rows == (3,)


def test_computed_columns_are_named_by_term():
    data = table()
    fit = discrim.qda("g ~ exp(x) + x:y", data)
    with pytest.raises(OutOfRangeError) as caught:
        fit.predict(data.assign(x=np.where(data.index == 5, 400.0, data["x"])))
    assert (caught.value.columns, caught.value.rows) == (("exp(x)",), (5,))


@pytest.mark.parametrize("fill", [0.0, 1e200])
def test_sparse_rows_are_checked(fill):
    rng = np.random.default_rng(1)
    dense = pd.DataFrame(rng.poisson(0.02, size=(300, 40)).astype(float)).add_prefix("c")
    dense["g"] = list("abc") * 100
    names = dense.columns[:40]
    fit = discrim.lda("g ~ .", dense, covariance="diagonal")
    new = dense.iloc[:20].copy()
    sparse = new.astype({name: pd.SparseDtype(float, 0.0) for name in names})
    pd.testing.assert_series_equal(fit.predict(sparse), fit.predict(new))
    column = np.zeros(20)
    column[4] = 1e200
    if fill:
        column = np.where(column > 0, 0.0, fill)
    sparse["c3"] = pd.arrays.SparseArray(column, fill_value=fill)
    with pytest.raises(OutOfRangeError) as caught:
        fit.predict(sparse)
    assert (caught.value.columns, caught.value.rows) == (("c3",), (0 if fill else 4,))


def test_rows_of_a_source_are_checked(tmp_path):
    data = table()
    far = data.copy()
    far.loc[50, "y"] = 1e200
    with pytest.raises(OutOfRangeError) as caught:
        discrim.lda("g ~ x + y", lambda: iter([far[:40], far[40:]]))
    assert caught.value.columns == ("y",)
    fit = discrim.lda("g ~ x + y", data)
    with pytest.raises(OutOfRangeError):
        list(fit.predict(lambda: iter([far[:40], far[40:]])))


def test_a_loaded_fit_has_the_same_range(tmp_path):
    path = tmp_path / "fit"
    plain_fit("qda").save(path)
    fit = discrim.load(path)
    for name in ("low", "high"):
        found, expected = (getattr(each._fit.column_range, name) for each in (fit, plain_fit("qda")))
        np.testing.assert_array_equal(found, expected)


def test_means_of_moments_that_are_far_apart_name_the_column():
    covariance = pd.DataFrame(np.eye(2), index=["x", "y"], columns=["x", "y"])
    means = pd.DataFrame([[0.0, 0.0], [0.0, 1e120]], index=["a", "b"], columns=["x", "y"])
    with pytest.raises(OutOfRangeError) as caught:
        discrim.lda(moments=discrim.from_stats(means, covariance, pd.Series({"a": 10, "b": 12})))
    assert (caught.value.columns, caught.value.rows) == (("y",), ())


def test_a_column_without_variation_within_classes_has_a_range():
    x = np.array([[1.0, 5.0], [1.0, 5.0], [3.0, 5.0], [3.0, 5.0]])
    found = column_range(ClassMoments.from_block(x, np.array([0, 0, 1, 1]), n_classes=2))
    np.testing.assert_allclose(found.high, [1e100, 1e100])


def test_the_error_can_be_pickled():
    error = OutOfRangeError("far", columns=("x",), rows=(3,))
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.columns, copy.rows) == ("far", ("x",), (3,))
