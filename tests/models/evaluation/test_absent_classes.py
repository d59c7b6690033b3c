"""The only observation of a class, left out, against refits of the other classes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import discrim
from discrim.core.kernels.feature_lda import residuals_and_leverages
from discrim.covariance import Shrunk
from discrim.errors import NotSupportedError
from discrim.penalty import Ridge

RNG = np.random.default_rng(3)
DATA = pd.DataFrame(RNG.normal(size=(40, 3)), columns=["x", "w", "v"])
DATA["f"] = RNG.choice(list("pq"), 40)
# The class of one observation is the third of four in order.
DATA["y"] = ["a"] * 14 + ["b"] * 13 + ["c"] * 12 + ["bb"]
DATA["x"] += 1.2 * (DATA["y"] == "b")
DATA["w"] += 1.2 * (DATA["y"] == "c")
DATA["v"] += 1.5 * (DATA["y"] == "bb")
DATA = DATA.sample(frac=1, random_state=2).reset_index(drop=True)
ROW = int(np.flatnonzero(DATA["y"] == "bb")[0])


class LeastSquares:
    """A linear regression with a constant."""

    def fit(self, x, y):
        self.coef = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y, rcond=None)[0]
        return self

    def predict(self, x):
        return np.column_stack([np.ones(len(x)), x]) @ self.coef


KERNEL = {"kernel": "gaussian", "width": 1.5, "ridge": 0.1}
CASES = {
    "lda": ("lda", {}),
    "lda mle": ("lda", {"method": "mle"}),
    "lda mle shrunk": ("lda", {"method": "mle", "covariance": Shrunk(0.2)}),
    "lda mle spherical": ("lda", {"method": "mle", "covariance": "spherical"}),
    "lda mle diagonal": ("lda", {"method": "mle", "covariance": "diagonal"}),
    "lda mle correlation": ("lda", {"method": "mle", "covariance": "correlation"}),
    "lda shrunk": ("lda", {"covariance": Shrunk(0.3)}),
    "lda oas": ("lda", {"covariance": "shrunk"}),
    "lda ledoit-wolf": ("lda", {"covariance": Shrunk("ledoit-wolf")}),
    "lda correlation": ("lda", {"covariance": "correlation"}),
    "lda components": ("lda", {"components": 2}),
    "lda prior": ("lda", {"prior": "equal"}),
    "lda t": ("lda", {"covariance": "t"}),
    "naive_bayes": ("naive_bayes", {"method": "mle", "smoothing": 0.1, "laplace": 1}),
    "nearest_centroid": ("nearest_centroid", {"prior": "equal"}),
    "knn": ("knn", {"k": 3}),
    "location": ("location", {"smoothing": 0.2}),
    "plda": ("plda", {}),
    "plda normalize": ("plda", {"normalize": True}),
    "pls": ("pls", {"ncomp": 2}),
    "pls max": ("pls", {"ncomp": 2, "rule": "max"}),
    "sparse_lda": ("sparse_lda", {"penalty": 0.1}),
    "indicator": ("indicator", {}),
    "perceptron": ("perceptron", {"maxiter": 20}),
    "kernel_lda": ("kernel_lda", KERNEL),
    "kernel_lda normal": ("kernel_lda", {**KERNEL, "calibrate": False}),
    "kernel_density": ("kernel_density", {"bandwidth": 1.0}),
    "shrunken_centroids": ("shrunken_centroids", {"threshold": 0.3}),
    "logistic ridge": ("logistic", {"penalty": Ridge(0.1)}),
    "logistic": ("logistic", {"bias_reduction": True}),
    "mixture": ("mixture", {"components": 1, "covariance": "pooled"}),
    "fda": ("fda", {"engine": LeastSquares()}),
}


def _posteriors(results, *arguments):
    try:
        return results.predict_proba(*arguments)
    except NotSupportedError:
        return None


# Cases that differ from another of their verb in the estimates only.
SIMILAR = {
    "lda mle spherical", "lda mle correlation", "lda shrunk", "lda oas", "lda prior", "plda normalize",
    "pls max", "kernel_lda normal",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.exhaustive] * (case in SIMILAR)) for case in CASES]
)
def test_single_observations_of_a_class_are_predicted_by_refits_of_the_others(case):
    verb, options = CASES[case]
    formula = "y ~ x + f" if verb in ("naive_bayes", "location") else "y ~ x + w + v"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = getattr(discrim, verb)(formula, DATA, **options)
        other = getattr(discrim, verb)(formula, DATA.drop(index=ROW), **options)
    one = DATA.loc[[ROW]]
    label, expected = other.predict(one).item(), _posteriors(other, one)
    left_out, folds = fit.leave_one_out(), discrim.cross_validate(fit, np.arange(len(DATA)) % 10)
    assert left_out["label"][ROW] == label
    assert folds.labels.notna().all(axis=None)
    if expected is not None:
        found = left_out.loc[ROW, DATA["y"].unique().tolist()].astype(float)
        assert found["bb"] == 0
        np.testing.assert_allclose(found[expected.columns], expected.iloc[0], atol=1e-9)
        # Of the fold that has the row, the rule is that of the others outside the fold.
        rest = DATA[np.arange(len(DATA)) % 10 != ROW % 10]
        prior = None
        if folds.prior == "fixed":
            prior = fit.prior[expected.columns] / fit.prior[expected.columns].sum()
        if "prior" not in options and verb not in ("logistic", "fda", "kernel_lda", "knn", "indicator"):
            options |= {"prior": prior}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                without = getattr(discrim, verb)(formula, rest, **options)
            found = folds.posteriors().loc[ROW, expected.columns]
            np.testing.assert_allclose(found, without.predict_proba(one).iloc[0], atol=1e-9)
        assert folds.posteriors().loc[ROW, "bb"] == 0
    for method in ("loo", "cv"):
        table = fit.error_rates([method], seed=1, by_class=True)
        assert table["total"].item() == len(DATA)
        assert table["bb"].item() == 1
        assert "'bb'" in table.attrs["note"]
        confusion = fit.confusion(method=method, seed=1)
        assert confusion.loc["bb"].sum() == 1
        assert confusion.loc["bb", "bb"] == 0
        assessed = fit.assess(method=method, seed=1)
        assert (assessed.nobs, assessed.unpredicted) == (len(DATA), 0)


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
@pytest.mark.parametrize(
    ("verb", "options", "share"),
    [
        ("lda", {}, 0.25),
        ("lda", {"method": "mle"}, 0.5),
        ("lda", {"covariance": "diagonal"}, 0.25),
        ("lda", {"components": 2}, 0.5),
        ("nearest_centroid", {}, 0.25),
        ("plda", {}, 0.5),
        ("location", {"smoothing": 0.2}, 0.25),
    ],
)
def test_the_only_observation_of_a_class_may_weigh_less_than_one(verb, options, share):
    weights = np.where(DATA["y"] == "bb", share, 1.0)
    fit, other = (
        getattr(discrim, verb)("y ~ x + w", table, weights=own, **options)
        for table, own in ((DATA, weights), (DATA.drop(index=ROW), None))
    )
    expected = other.predict_proba(DATA.loc[[ROW]]).iloc[0]
    found = fit.leave_one_out().loc[ROW, expected.index].astype(float)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_fixed_features_keep_the_calibration_of_the_other_classes():
    fit = discrim.kernel_lda("y ~ x + w + v", DATA, components=20, **KERNEL)
    values = fit._fit.estimates
    # Each class has a ridge regression of its own, whose residuals without a row are known.
    x, codes = DATA[["x", "w", "v"]].to_numpy(), fit.classes.get_indexer(DATA["y"])
    y, residuals, left = residuals_and_leverages(values.indicators, x, codes, None)
    others = fit.classes != "bb"
    scores = (y - residuals / left[:, None])[ROW, others]
    leads = np.maximum(scores - scores.max(), -values.calibrator.ceiling)
    expected = softmax(values.calibrator.slope * leads + values.calibrator.intercepts[others])
    found = fit.leave_one_out().loc[ROW, fit.classes].astype(float)
    assert found["bb"] == 0
    np.testing.assert_allclose(found[others], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("n_classes", "is_last", "options"),
    [
        # Each number and place of classes with one kind of likelihood in turn.
        pytest.param(
            n_classes, is_last, options, marks=[pytest.mark.exhaustive] * ((i + j + is_last) % 3 > 0)
        )
        for i, n_classes in enumerate([2, 3, 4])
        for is_last in (False, True)
        for j, options in enumerate([{}, {"bias_reduction": True}, {"penalty": Ridge(0.1)}])
    ],
)
def test_logistic_is_refitted_without_a_class_of_one_observation(n_classes, is_last, options):
    labels = list("abcd")[:n_classes]
    lone = labels[-1 if is_last else 0]
    others = [label for label in labels if label != lone]
    data = pd.DataFrame(np.random.default_rng(n_classes).normal(size=(40, 3)), columns=["x", "w", "v"])
    data["y"] = [*np.resize(others, 39), lone]
    # In the middle of the others, so that the likelihood has a maximum.
    data.loc[39, ["x", "w", "v"]] = 0.1
    fold_ids = np.arange(40) % 5
    one = data[39:]
    references = [None] if "penalty" in options else [lone, others[-1]]
    for reference in references:
        base = {} if reference is None else {"reference": reference}
        fit = discrim.logistic("y ~ x + w + v", data, **options, **base)
        left_out = fit.leave_one_out()
        folds = discrim.cross_validate(fit, fold_ids, refit_prior=True)
        posteriors = (left_out.loc[39, labels].astype(float), folds.posteriors().loc[39, labels])
        for found, rows in zip(posteriors, (data[:39], data[fold_ids != 4]), strict=True):
            assert found[lone] == 0
            if n_classes == 2:
                assert found[others[0]] == 1
            else:
                other = discrim.logistic("y ~ x + w + v", rows, **options)
                expected = other.predict_proba(one).iloc[0]
                np.testing.assert_allclose(found[others], expected[others], atol=1e-7)
    for method in ("loo", "cv"):
        table = fit.error_rates([method], seed=1, folds=5, by_class=True)
        assert table["total"].item() == 40
        assert table[lone].item() == 1
        assert repr(lone) in table.attrs["note"]


def test_one_class_left_is_predicted():
    data = pd.DataFrame({"y": ["a"] * 9 + ["b"], "x": np.arange(10.0), "w": np.arange(10.0) ** 2 % 7})
    for fit in (discrim.plda("y ~ x + w", data), discrim.lda("y ~ x + w", data)):
        assert fit.leave_one_out()["label"].tolist()[-1] == "a"
        assert discrim.cross_validate(fit, 5, seed=1).labels.iloc[-1, 0] == "a"


def test_a_class_in_one_fold_counts_as_errors():
    iris = discrim.datasets.load_iris()
    for verb, options in (("lda", {}), ("pls", {"ncomp": 2}), ("knn", {"k": 5})):
        fit = getattr(discrim, verb)("species ~ .", iris, **options)
        validation = discrim.cross_validate(fit, iris["species"])
        assert validation.table().loc["error", "estimate"] == 1
        rest = iris[iris["species"] != "setosa"].astype({"species": str})
        other = getattr(discrim, verb)("species ~ .", rest, **options)
        assert validation.labels[1][:50].tolist() == other.predict(iris[:50]).tolist()
        assert "'setosa'" in validation.summary().as_text()


@pytest.mark.parametrize("verb", ["lda", "location", "pls"])
def test_calibration_gives_no_mass_to_a_class_of_one_observation(verb):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(81, 2)), columns=["x", "w"])
    data["y"] = ["a"] * 40 + ["b"] * 40 + ["c"]
    data.loc[40:79, "x"] += 2.5
    data.loc[80] = [6.0, 8.0, "c"]
    data = data.astype({"x": float, "w": float})
    options = {"prior": "equal"} | ({"ncomp": 2} if verb == "pls" else {})
    fit = getattr(discrim, verb)("y ~ x + w", data, **options)
    plain, calibrated = fit.predict_proba(data), fit.predict_proba(data, method="calibrated")
    between = plain["c"] < 1e-3
    assert between.sum() > 70
    assert calibrated.loc[between, "c"].max() < 0.02
    # Two classes alone are calibrated as well.
    two = getattr(discrim, verb)("y ~ x + w", data[:80], **options)
    expected = two.predict_proba(data[:80], method="calibrated")
    assert (calibrated.loc[:79, "a"] - expected["a"]).abs().mean() < 0.05
    assert np.isinf(fit.assess().calibrated.loc["log loss", "calibrated"])
