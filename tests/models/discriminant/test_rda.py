"""Regularized discriminant analysis: its formulas in plain NumPy, its corners, brute-force folds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discrim import lda, qda, rda
from discrim.covariance import Regularized
from discrim.datasets import load_iris, load_wine
from discrim.errors import CollinearError, DataError, NotSupportedError
from tests.turns import one_in

IRIS = load_iris()
UNEQUAL = IRIS.drop(index=[*range(10), *range(60, 85)])
UNITS = np.array([1.0, 1e3, 1e-4, 10.0])


def expected(data, alpha, gamma, parametrization, method="moment"):
    """Covariances by the formulas as they are written."""
    x, codes = data.iloc[:, :4].to_numpy(), data["species"].astype("category").cat.codes.to_numpy()
    class_rows = [x[codes == k] for k in range(3)]
    less = 1 if method == "moment" else 0
    divisors = np.array([len(chunk) - less for chunk in class_rows])
    sscp = [(chunk - chunk.mean(axis=0)).T @ (chunk - chunk.mean(axis=0)) for chunk in class_rows]
    pooled = sum(sscp) / divisors.sum()
    p, covariances = 4, [s / d for s, d in zip(sscp, divisors, strict=True)]
    if parametrization == "esl":
        sphere = np.trace(pooled) / p * np.eye(p)
        return [alpha * s + (1 - alpha) * (gamma * pooled + (1 - gamma) * sphere) for s in covariances]
    lam = 1 - alpha
    if parametrization == "klar":
        mixed = [(1 - lam) * s + lam * pooled for s in covariances]
    else:
        mixed = [
            ((1 - lam) * s + lam * sum(sscp)) / ((1 - lam) * d + lam * divisors.sum())
            for s, d in zip(sscp, divisors, strict=True)
        ]
    return [(1 - gamma) * m + gamma * np.trace(m) / p * np.eye(p) for m in mixed]


def normal_log(x, mean, cov):
    unit = np.sqrt(np.diag(cov))
    z, scaled = (x - mean) / unit, cov / unit / unit[:, None]
    size = np.linalg.slogdet(scaled)[1] + 2 * np.log(unit).sum() + x.shape[1] * np.log(2 * np.pi)
    return -0.5 * (size + (z * np.linalg.solve(scaled, z.T).T).sum(axis=1))


@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
@one_in(
    3,
    {
        "parametrization": ["esl", "friedman", "klar"],
        "method": ["moment", "mle"],
        "alpha, gamma": [(0.3, 0.2), (0.9, 0.7), (0.0, 0.4), (1.0, 0.4)],
        "units": [np.ones(4), UNITS],
    },
)
def test_covariances_and_posteriors_by_the_formulas(parametrization, method, alpha, gamma, units):
    data = UNEQUAL.copy()
    data.iloc[:, :4] = data.iloc[:, :4].to_numpy() * units
    fit = rda("species ~ .", data, alpha=alpha, gamma=gamma, parametrization=parametrization, method=method)
    reference = expected(data, alpha, gamma, parametrization, method)
    for cov, want in zip(fit.covs.values(), reference, strict=True):
        np.testing.assert_allclose(cov, want, rtol=1e-10, atol=1e-13 * np.abs(want).max())
    x = data.iloc[:, :4].to_numpy()
    logs = np.column_stack(
        [
            np.log(proportion) + normal_log(x, mean, cov)
            for proportion, mean, cov in zip(fit.prior, fit.means.to_numpy(), reference, strict=True)
        ]
    )
    own_scores = logs[np.arange(len(x)), fit.classes.get_indexer(data["species"])]
    assert fit.llf == pytest.approx(own_scores.sum(), rel=1e-9)
    logs -= np.logaddexp.reduce(logs, axis=1)[:, None]
    np.testing.assert_allclose(fit.predict_log_proba(), logs, rtol=1e-7, atol=1e-7)


@one_in(
    2,
    {"parametrization, plain": [("esl", 1.0), ("friedman", 0.0), ("klar", 0.0)], "method": ["moment", "mle"]},
)
def test_corners_are_lda_qda_and_the_nearest_centroid(parametrization, plain, method):
    options = {"parametrization": parametrization, "method": method}
    linear = rda("species ~ .", UNEQUAL, alpha=0.0, gamma=plain, **options)
    quadratic = rda("species ~ .", UNEQUAL, alpha=1.0, gamma=plain, **options)
    both = lda("species ~ .", UNEQUAL, method=method), qda("species ~ .", UNEQUAL, method=method)
    for ours, theirs in zip((linear, quadratic), both, strict=True):
        np.testing.assert_allclose(ours.predict_log_proba(), theirs.predict_log_proba(), rtol=1e-9, atol=1e-9)
    sphere = rda("species ~ .", UNEQUAL, alpha=0.0, gamma=1.0 - plain, prior="equal", **options)
    x = UNEQUAL.iloc[:, :4].to_numpy()
    differences = ((x[:, None] - sphere.means.to_numpy()) ** 2).sum(axis=2)
    assert (sphere.predict() == sphere.classes[differences.argmin(axis=1)]).all()


def test_choice_equals_separate_fits_of_the_folds():
    fit = rda("species ~ .", IRIS, grid=[0.0, 0.5, 1.0], folds=3, seed=3)
    from discrim.models.evaluation.validation import assign_folds

    fold_ids = assign_folds(fit._fit, 3, 3)
    for _, row in fit.path.iterrows():
        rates = []
        for fold in range(3):
            inside = IRIS[fold_ids != fold]
            outside = IRIS[fold_ids == fold]
            options = {"alpha": row["alpha"], "gamma": row["gamma"], "prior": fit.prior}
            chunk = rda("species ~ .", inside, **options)
            wrong = chunk.predict(outside).to_numpy() != outside["species"].to_numpy()
            rates.append(pd.Series(wrong).groupby(outside["species"].to_numpy()).mean() @ fit.prior)
        assert row["error"] == pytest.approx(np.mean(rates), abs=1e-12)
        assert row["se"] == pytest.approx(np.std(rates, ddof=1) / np.sqrt(3), abs=1e-12)
    min_error = fit.path["error"].min()
    tied = fit.path[fit.path["error"] <= min_error + 1e-12]
    assert fit.alpha == tied["alpha"].min()
    assert fit.gamma == tied[tied["alpha"] == fit.alpha]["gamma"].min()
    wider = rda("species ~ .", IRIS, grid=[0.0, 0.5, 1.0], folds=3, seed=3, alpha="1se")
    assert wider.alpha <= fit.alpha
    assert "path" in fit.summary().tables
    assert "3-fold cross-validation, 1 SE rule" in wider.summary().as_text()


def test_summary_states_what_its_errors_keep_fixed():
    data = IRIS.assign(w=2)
    note = "alpha and gamma were chosen from the same observations"
    chosen = rda("species ~ . - w", data, grid=[0.0, 0.5, 1.0], folds=5, seed=3).summary(["header"]).as_text()
    assert note in chosen
    assert "1 SE rule" not in chosen
    fixed_fit = rda("species ~ .", data, weights="w", alpha=0.5, gamma=0.5)
    text = fixed_fit.summary(["header"]).as_text()
    assert note not in text
    assert "Sum of weights" in text
    rates = fixed_fit.error_rates(["loo"]).loc["loo"]
    assert f"({rates['wrong']:g}/{rates['total']:g})" in text.split("Error, leave-one-out")[1]


@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
def test_more_columns_than_rows_of_a_class():
    wine = load_wine().groupby("cultivar").head(8)
    with pytest.raises(CollinearError) as caught:
        rda("cultivar ~ .", wine, alpha=1.0, gamma=1.0)
    assert "alpha=1" in str(caught.value)
    assert "gamma=1" in str(caught.value)
    fit = rda("cultivar ~ .", wine, alpha=0.5, gamma=0.9)
    assert (fit.predict() == wine["cultivar"]).mean() > 0.5
    assert np.isfinite(fit.predict_log_proba()).all(axis=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.2}, r"alpha=1\.2 is not valid\. Pass a number from 0 to 1"),
        ({"gamma": -0.1}, r"gamma=-0\.1"),
        ({"grid": []}, "grid="),
        ({"grid": [0.5, 2.0]}, r"2\.0 is outside"),
        ({"grid": 0.5}, r"grid=0\.5"),
        ({"grid": ["half"]}, "half"),
        ({"grid": {"lambda": [0.5]}}, "parameter 'lambda' in grid"),
        ({"alpha": "half"}, "alpha='half' is not valid. Pass a number"),
        ({"alpha": True}, "alpha=True is not valid. Pass a number"),
        ({"alpha": 0.5, "gamma": 0.5, "grid": [0.5]}, "cannot be combined.*Leave out grid="),
        ({"alpha": 0.5, "grid": {"alpha": [0.5]}}, "candidates for 'alpha', which is also set"),
        ({"seed": "a"}, "seed='a' is not valid. Pass a nonnegative whole number"),
        ({"seed": -1}, "seed=-1 is not valid. Pass a nonnegative whole number"),
        ({"folds": 1}, "folds=1 is not valid. Pass a number of folds, 2 or more"),
        ({"folds": 151}, "folds=151 .*2 to 150"),
        ({"folds": "all"}, "folds='all'"),
        ({"parametrization": "esm"}, "parametrization='esm'"),
        ({"alpha": "2se"}, "alpha='2se'"),
        ({"parametrization": Regularized(standardize=True), "components": 2}, "standardize=True"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(DataError, match=message):
        rda("species ~ .", IRIS, **options)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_a_class_of_one_row_is_named():
    data = IRIS.astype({"species": str})
    data.loc[0, "species"] = "alone"
    with pytest.raises(CollinearError) as caught:
        rda("species ~ .", data, alpha=0.5, gamma=0.5)
    assert "'alone'" in str(caught.value)
    data["w"] = np.where(data["species"] == "virginica", 0.015, 1.0)
    with pytest.raises(CollinearError) as caught:
        rda("species ~ . - w", data.iloc[1:], alpha=0.5, gamma=0.5, weights="w")
    assert "'virginica'" in str(caught.value)


def test_a_row_of_weight_two_is_two_rows():
    data = IRIS.astype({"species": str})
    data.loc[0, "species"] = "alone"
    twice = pd.concat([data, data.iloc[[0]]], ignore_index=True)
    weights = np.where(np.arange(150) == 0, 2.0, 1.0)
    for method in ("moment", "mle"):
        options = {"alpha": 0.5, "gamma": 0.5, "method": method}
        one, two = rda("species ~ .", data, weights=weights, **options), rda("species ~ .", twice, **options)
        np.testing.assert_allclose(one.predict_log_proba(data), two.predict_log_proba(data), rtol=1e-10)


def test_a_class_of_prior_zero_is_never_chosen():
    prior = {"setosa": 0.0, "versicolor": 0.5, "virginica": 0.5}
    for cv in (5, "loo"):
        fit = rda("species ~ .", IRIS, grid=[0.0, 0.5], folds=cv, prior=prior, seed=1)
        assert "setosa" not in set(fit.predict())


def test_the_path_is_drawn_with_the_pair_chosen():
    import matplotlib.pyplot as plt

    fit = rda("species ~ .", IRIS, grid=[0.0, 0.5, 1.0], folds=5, seed=3)
    axes = fit.plot("path")
    (mesh,) = axes.collections[:1]
    text = fit.path.pivot(index="alpha", columns="gamma", values="error").to_numpy()
    np.testing.assert_allclose(np.asarray(mesh.get_array()).ravel(), text.ravel())
    (chosen,) = axes.lines
    assert [axes.get_xticklabels()[int(chosen.get_xdata()[0])].get_text()] == [f"{fit.gamma:g}"]
    assert [axes.get_yticklabels()[int(chosen.get_ydata()[0])].get_text()] == [f"{fit.alpha:g}"]
    plt.close("all")
    with pytest.raises(NotSupportedError) as caught:
        rda("species ~ .", IRIS, alpha=0.5, gamma=0.5).plot("path")
    assert "path" in str(caught.value)


def test_unavailable_methods_are_refused():
    fit = rda("species ~ .", IRIS, alpha=0.5, gamma=0.5)
    for ask in (
        lambda: fit.aic,
        lambda: fit.path,
        lambda: fit.predict_proba(method="debiased"),
        lambda: fit.typicality(),
    ):
        with pytest.raises(NotSupportedError):
            ask()


def test_a_singular_covariance_names_the_columns_at_fault():
    data = IRIS.assign(twice=lambda d: 2 * d["petal_width"] + d["sepal_width"])
    with pytest.raises(CollinearError) as caught:
        rda("species ~ .", data, alpha=0.5, gamma=1.0)
    assert "gamma=1" in str(caught.value)
    assert "'twice'" in str(caught.value)
    alone = IRIS.assign(odd=lambda d: np.where(d["species"] == "setosa", 7.0, np.arange(150.0) % 7))
    with pytest.raises(CollinearError) as caught:
        rda("species ~ .", alone, alpha=1.0, gamma=1.0)
    assert "'setosa'" in str(caught.value)
    assert "'odd'" in str(caught.value)
    subset = IRIS.groupby("species").head(4)
    with pytest.raises(CollinearError) as caught:
        rda("species ~ .", subset, alpha=1.0, gamma=0.0)
    assert "degrees" in str(caught.value)
    assert "freedom" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        rda("species ~ .", alone, alpha=1.0, folds=3)
    assert "below" in str(caught.value)
    assert "alpha" in str(caught.value)


@one_in(
    2,
    {"method": ["moment", "mle"], "corner, verb": [((0.0, 1.0), lda), ((1.0, 1.0), qda), ((1.0, 0.3), qda)]},
)
def test_posteriors_are_predictive_without_mixing(corner, verb, method):
    alpha, gamma = corner
    fit = rda("species ~ .", IRIS, alpha=alpha, gamma=gamma, method=method)
    reference = verb("species ~ .", IRIS, method=method).predict_proba(method="predictive")
    assert fit.predict_proba(method="predictive").to_numpy() == pytest.approx(reference.to_numpy(), rel=1e-9)
    incomplete = IRIS.assign(sepal_width=np.nan)
    left_out, right = (
        model.predict_proba(incomplete, method="predictive", missing="integrate")
        for model in (fit, verb("species ~ .", IRIS, method=method))
    )
    assert left_out.to_numpy() == pytest.approx(right.to_numpy(), rel=1e-9)
    mixed = rda("species ~ .", IRIS, alpha=0.5, gamma=gamma)
    with pytest.raises(NotSupportedError) as caught:
        mixed.predict_proba(method="predictive")
    assert "mixed" in str(caught.value)
    assert "closed" in str(caught.value)
