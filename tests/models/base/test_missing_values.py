"""Rows with missing values, of which normal models integrate the missing columns out."""

from __future__ import annotations

import warnings

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal
from sklearn.linear_model import LinearRegression

import discrim
from discrim.cli import main
from discrim.covariance import MCD, FactorAnalytic, Shrunk, ShrunkCorrelation
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    DataError,
    DiscrimWarning,
    MissingPredictionWarning,
    NotSupportedError,
    UnseenLevelWarning,
)

IRIS = load_iris()
NUMBERS = list(IRIS.columns[:4])
RNG = np.random.default_rng(0)
HOLES = RNG.random((150, 4)) < 0.3
HOLES[0] = True
GAPS = IRIS.assign(**{name: IRIS[name].mask(HOLES[:, j]) for j, name in enumerate(NUMBERS)})
COMPLETE = ~HOLES.any(axis=1)


def posteriors_from_logs(logs):
    values = np.exp(logs - logs.max(axis=1, keepdims=True))
    return values / values.sum(axis=1, keepdims=True)


def posteriors_by_density(means, covs, prior, x):
    """Return posteriors of rows with missing values, by SciPy's normal density of the observed columns."""
    logs = np.tile(np.log(prior), (len(x), 1))
    for i, row in enumerate(x):
        o = ~np.isnan(row)
        for k in range(len(prior) if o.any() else 0):
            logs[i, k] += multivariate_normal(means[k, o], covs[k][np.ix_(o, o)]).logpdf(row[o])
    return posteriors_from_logs(logs)


FITS = {
    "lda": lambda: discrim.lda("species ~ .", IRIS),
    "lda, t": lambda: discrim.lda("species ~ .", IRIS, covariance="t", prior=[0.2, 0.3, 0.5]),
    "lda, diagonal": lambda: discrim.lda("species ~ .", IRIS, covariance="diagonal"),
    "lda, shrunk": lambda: discrim.lda("species ~ .", IRIS, covariance=Shrunk(standardize=True)),
    "lda, spherical": lambda: discrim.lda("species ~ .", IRIS, covariance="spherical"),
    "lda, correlation": lambda: discrim.lda("species ~ .", IRIS, covariance="correlation"),
    "lda, pinv": lambda: discrim.lda("species ~ .", IRIS, covariance="pinv"),
    "qda": lambda: discrim.qda("species ~ .", IRIS, prior=[0.2, 0.3, 0.5]),
    "qda, mcd": lambda: discrim.qda("species ~ .", IRIS, covariance=MCD(0.8)),
    "qda, shrunk": lambda: discrim.qda("species ~ .", IRIS, covariance="shrunk"),
    "qda, factor": lambda: discrim.qda("species ~ .", IRIS, covariance=FactorAnalytic(2)),
    "rda": lambda: discrim.rda("species ~ .", IRIS, alpha=0.3, gamma=0.6),
    "rda, common": lambda: discrim.rda("species ~ .", IRIS, alpha=0, gamma=0.6),
    "naive_bayes": lambda: discrim.naive_bayes("species ~ .", IRIS),
}


# Covariances of the same form as those of another fit.
SIMILAR = {"lda, t", "lda, correlation", "lda, pinv", "qda, mcd", "qda, shrunk"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] * (name in SIMILAR)) for name in FITS]
)
def test_missing_columns_are_integrated_out_by_the_density_of_the_others(name):
    fit = FITS[name]()
    covs = [fit.cov] * 3 if name.startswith("lda") else list(fit.covs.values())
    gaps, complete = GAPS[::4], COMPLETE[::4]
    expected = posteriors_by_density(
        fit.means.to_numpy(), [c.to_numpy() for c in covs], fit.prior.to_numpy(), gaps[NUMBERS].to_numpy()
    )
    proba = fit.predict_proba(gaps, missing="integrate")
    np.testing.assert_allclose(proba, expected, rtol=1e-9, atol=1e-13)
    plain = fit.predict_proba(IRIS[::4])
    np.testing.assert_array_equal(proba[complete], plain[complete])
    dropped = fit.predict_proba(gaps, missing="drop")
    assert dropped[~complete].isna().all(axis=None)
    np.testing.assert_array_equal(dropped[complete], plain[complete])
    np.testing.assert_allclose(np.exp(fit.predict_log_proba(gaps, missing="integrate")), proba, rtol=1e-12)
    values = fit.decision_function(gaps, missing="integrate").to_numpy()
    np.testing.assert_allclose(posteriors_from_logs(values), proba, rtol=1e-9, atol=1e-13)
    labels = fit.predict(gaps, missing="integrate")
    assert (labels.to_numpy() == fit.classes.to_numpy()[expected.argmax(axis=1)])[1:].all()
    assert fit.confusion(gaps, missing="integrate").to_numpy().sum() == len(gaps)
    assert (fit.augment(gaps, missing="integrate")[".fitted"] == labels).all()


def test_reduced_rank_rules_integrate_over_the_plane_of_the_means():
    fit = discrim.lda("species ~ .", IRIS, ncomp=1)
    centre = fit.prior.to_numpy() @ fit.means.to_numpy()
    axis, cov = fit.scaling.iloc[:, :1].to_numpy(), fit.cov.to_numpy()
    means = centre + (fit.means.to_numpy() - centre) @ axis @ axis.T @ cov
    plain = posteriors_by_density(means, [cov] * 3, fit.prior.to_numpy(), IRIS[NUMBERS].to_numpy())
    np.testing.assert_allclose(fit.predict_proba(IRIS), plain, rtol=1e-8, atol=1e-13)
    expected = posteriors_by_density(means, [cov] * 3, fit.prior.to_numpy(), GAPS[NUMBERS].to_numpy())
    np.testing.assert_allclose(fit.predict_proba(GAPS, missing="integrate"), expected, rtol=1e-8, atol=1e-13)


def test_centroids_are_the_nearest_in_the_columns_that_there_are():
    fit = discrim.nearest_centroid("species ~ .", IRIS)
    x, means = GAPS[NUMBERS].to_numpy(), fit.means.to_numpy()
    squares = np.nansum((x[:, None] - means) ** 2, axis=2)
    expected = posteriors_from_logs(np.log(fit.prior.to_numpy()) - squares / (2 * fit.sd**2))
    np.testing.assert_allclose(fit.predict_proba(GAPS, missing="integrate"), expected, rtol=1e-10, atol=1e-14)
    fit = discrim.shrunken_centroids("species ~ .", IRIS, threshold=3.0)
    values = fit._fit.estimates
    gaps = (x[:, None] - fit.centroids.to_numpy()) / (values.sd + values.added)
    expected = posteriors_from_logs(np.log(fit.prior.to_numpy()) - np.nansum(gaps**2, axis=2) / 2)
    np.testing.assert_allclose(fit.predict_proba(GAPS, missing="integrate"), expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("verb", ["lda", "qda"])
def test_predictive_densities_integrate_over_missing_columns(verb):
    data = IRIS[["species", *NUMBERS[:2]]][::6]
    fit = getattr(discrim, verb)("species ~ .", data)
    at = 5.9
    new = pd.DataFrame({NUMBERS[0]: [at], NUMBERS[1]: [np.nan]})
    m, n = fit.means.to_numpy(), fit.counts.to_numpy()
    nu = n.sum() - 3

    def log_density(k, y):
        gap = np.array([at, y]) - m[k]
        if verb == "lda":
            d2 = gap @ np.linalg.solve(fit.cov.to_numpy(), gap)
            return np.log(n[k] / (n[k] + 1)) - (nu + 1) / 2 * np.log1p(n[k] * d2 / ((n[k] + 1) * nu))
        cov = list(fit.covs.values())[k].to_numpy()
        d2 = gap @ np.linalg.solve(cov, gap)
        gammas = mpmath.loggamma(n[k] / 2) - mpmath.loggamma((n[k] - 2) / 2)
        size = np.linalg.slogdet((n[k] - 1) * cov)[1] / 2
        return (
            float(gammas)
            - size
            + np.log(n[k] / (n[k] + 1))
            - n[k] / 2 * np.log1p(n[k] * d2 / (n[k] ** 2 - 1))
        )

    mass = np.array(
        [quad(lambda y, k=k: np.exp(log_density(k, y)), -60, 60, points=[m[k, 1]])[0] for k in range(3)]
    )
    expected = mass * fit.prior.to_numpy() / (mass @ fit.prior.to_numpy())
    values = fit.predict_proba(new, method="predictive", missing="integrate").to_numpy()[0]
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    # The unbiased log density of some columns is that of a fit to these.
    alone = getattr(discrim, verb)(f"species ~ {NUMBERS[0]}", data)
    np.testing.assert_allclose(
        fit.predict_proba(new, method="debiased", missing="integrate"),
        alone.predict_proba(new, method="debiased"),
        rtol=1e-12,
    )
    with pytest.raises(NotSupportedError) as caught:
        fit.predict_proba(new, method="predictive", convention="MASS", missing="integrate")
    assert 'convention="MASS"' in str(caught.value)
    assert 'missing="drop"' in str(caught.value)


@pytest.mark.parametrize("verb", ["lda", "qda"])
def test_integration_keeps_the_precision_of_complete_rows(verb):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(60, 4))
    z[:, 1] = z[:, 0] + 1e-5 * z[:, 1]
    x = 1e2 + z * [1e-3, 1e-3, 1e4, 1.0]
    codes = np.repeat([0, 1, 2], 20)
    x[:, 2] += 1e7 * codes
    names = list("abcd")
    data = pd.DataFrame(x, columns=names).assign(y=codes)
    fit = getattr(discrim, verb)("y ~ .", data, method="mle")
    new = data[names].iloc[[0, 25]].copy()
    new["c"] = [np.nan, 1e9]
    new["d"] = [1e2 + 3e3, np.nan]
    values = fit.predict_log_proba(new, missing="integrate").to_numpy()
    with mpmath.workdps(60):
        rows = [[mpmath.mpf(v) for v in row] for row in x.tolist()]
        for i, keep in enumerate(([0, 1, 3], [0, 1, 2])):
            logs, scatters, means = [], [], []
            for k in range(3):
                own = [row for row, c in zip(rows, codes, strict=True) if c == k]
                means.append([sum(row[j] for row in own) / 20 for j in keep])
                gaps = [mpmath.matrix([row[j] - means[k][a] for a, j in enumerate(keep)]) for row in own]
                scatters.append(sum((g * g.T for g in gaps[1:]), gaps[0] * gaps[0].T))
            for k in range(3):
                cov = scatters[k] / 20 if verb == "qda" else (scatters[0] + scatters[1] + scatters[2]) / 60
                at = [mpmath.mpf(float(new.iloc[i, j])) for j in keep]
                gap = mpmath.matrix([value - mean for value, mean in zip(at, means[k], strict=True)])
                d2 = (gap.T * mpmath.lu_solve(cov, gap))[0]
                logs.append(-d2 / 2 - (mpmath.log(mpmath.det(cov)) / 2 if verb == "qda" else 0))
            most = max(logs)
            total = mpmath.log(sum(mpmath.exp(v - most) for v in logs))
            expected = [float(v - most - total) for v in logs]
            np.testing.assert_allclose(values[i], expected, rtol=1e-7, atol=1e-9)


def test_terms_of_a_missing_column_are_integrated_out():
    penguins = load_penguins().dropna()
    formula = "species ~ log(bill_length_mm) + bill_depth_mm + I(bill_depth_mm**2) + sex + sex:body_mass_g"
    fit = discrim.lda(formula, penguins)
    covs, means = fit.cov.to_numpy(), fit.means.to_numpy()
    new = penguins.iloc[[0, 100, 200]].copy()
    new["bill_length_mm"] = [np.nan, 50.0, 45.0]
    new["bill_depth_mm"] = [18.0, np.nan, 14.0]
    new["sex"] = new["sex"].astype(object).where([True, True, False])
    filled = new.fillna({"bill_length_mm": 40.0, "bill_depth_mm": 17.0, "sex": "male"})
    terms = list(fit.terms)
    x = np.stack([discrim_row(filled.iloc[i], terms) for i in range(3)])
    for i, name in enumerate(("bill_length_mm", "bill_depth_mm", "sex")):
        x[i, [name in term for term in terms]] = np.nan
    expected = posteriors_by_density(means, [covs] * 3, fit.prior.to_numpy(), x)
    proba = fit.predict_proba(new, missing="integrate")
    # A depth and its square are nearly collinear, which costs the expected values some digits.
    np.testing.assert_allclose(proba, expected, rtol=1e-6, atol=1e-13)


def discrim_row(row, terms):
    values = {
        "log(bill_length_mm)": np.log(row["bill_length_mm"]),
        "bill_depth_mm": row["bill_depth_mm"],
        "I(bill_depth_mm ** 2)": row["bill_depth_mm"] ** 2,
        "sex[T.male]": float(row["sex"] == "male"),
        "sex[female]:body_mass_g": (row["sex"] == "female") * row["body_mass_g"],
        "sex[male]:body_mass_g": (row["sex"] == "male") * row["body_mass_g"],
    }
    return np.array([values[term] for term in terms])


@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
def test_only_the_column_of_an_unseen_level_is_integrated_out(tmp_path, capsys):
    penguins = load_penguins().dropna()
    torn = (penguins["island"] == "Torgersen").to_numpy()
    fit = discrim.qda(
        "species ~ C(island) + bill_length_mm + flipper_length_mm", penguins[~torn], covariance="shrunk"
    )
    less = penguins.assign(island=penguins["island"].astype(object).mask(torn))
    expected = fit.predict_proba(less, missing="integrate")
    assert expected.notna().all(axis=None)
    with pytest.warns(UnseenLevelWarning):
        proba = fit.predict_proba(penguins, unseen="missing", missing="integrate")
    np.testing.assert_array_equal(proba, expected)
    with pytest.warns(UnseenLevelWarning):
        chunks = list(
            fit.predict_proba(
                lambda: (penguins[i : i + 100] for i in range(0, 333, 100)),
                unseen="missing",
                missing="integrate",
            )
        )
    np.testing.assert_allclose(pd.concat(chunks), expected, rtol=1e-12)
    with pytest.raises(DataError) as caught:
        fit.predict(penguins, missing="integrate")
    assert caught.value.rows == (0,)
    for missing, lost in (("integrate", 0), (None, 47)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscrimWarning)
            count = fit.confusion(penguins, unseen="missing", missing=missing).to_numpy().sum()
        assert count == 333 - lost
    fit.save(tmp_path / "fit")
    penguins.to_csv(tmp_path / "new.csv", index=False)
    where = ["predict", str(tmp_path / "fit"), str(tmp_path / "new.csv"), "--unseen", "missing"]
    for more, empty in (([], 47), (["--missing", "integrate"], 0)):
        assert main([*where, *more]) == 0
        shown = capsys.readouterr().out.splitlines()
        assert len(shown) == 334
        assert sum(line in ("", '""') for line in shown) == empty
    assert main([*where, "--missing", "integrate", "--proba"]) == 0
    shown = pd.read_csv(pd.io.common.StringIO(capsys.readouterr().out))
    np.testing.assert_allclose(shown[list(map(str, fit.classes))], expected, rtol=1e-10)


@pytest.mark.parametrize("apart", [Shrunk(0.3), ShrunkCorrelation(0.3), "pinv"], ids=repr)
def test_more_columns_than_rows(apart):
    rng = np.random.default_rng(2)
    codes = np.repeat([0, 1], 6)
    x = rng.normal(size=(12, 30)) + codes[:, None]
    data = pd.DataFrame(x, columns=[f"x{j}" for j in range(30)]).assign(y=codes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = discrim.lda("y ~ .", data, covariance=apart)
    cov, means = fit.cov.to_numpy(), fit.means.to_numpy()
    new = data.iloc[[0, 7]].copy()
    new.iloc[0, :20] = np.nan
    new.iloc[1, 5:] = np.nan
    logs = []
    for row in new.iloc[:, :30].to_numpy(dtype=float):
        o = ~np.isnan(row)
        gaps = row[o] - means[:, o]
        logs.append(
            -0.5 * np.einsum("ij,jk,ik->i", gaps, np.linalg.pinv(cov[np.ix_(o, o)], rcond=1e-9), gaps)
        )
    expected = posteriors_from_logs(np.log(fit.prior.to_numpy()) + np.array(logs))
    proba = fit.predict_proba(new, missing="integrate")
    np.testing.assert_allclose(proba, expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("knn", {"k": 3}),
        ("logistic", {"bias_reduction": True}),
        ("perceptron", {"maxiter": 5}),
        ("indicator", {}),
        ("fda", {"engine": LinearRegression()}),
        ("kernel_lda", {"kernel": "linear", "ridge": 0.1}),
    ],
)
def test_models_without_densities_of_columns_refuse(verb, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = getattr(discrim, verb)("species ~ .", IRIS, **options)
    with pytest.raises(NotSupportedError, match=rf"{verb}\(\) does not have\. Fill in the values.*fit lda"):
        fit.predict(GAPS, missing="integrate")
    assert fit.predict(GAPS, missing="drop").isna().sum() == (~COMPLETE).sum()
    with pytest.raises(DataError) as caught:
        fit.predict(GAPS, missing="fill")
    assert "missing='fill'" in str(caught.value)
    assert "'drop'" in str(caught.value)


def test_rows_far_away_and_classes_without_a_prior():
    fit = discrim.lda("species ~ .", IRIS)
    new = pd.DataFrame([[np.nan, 1e90, 2e90, np.nan], [np.nan] * 4], columns=NUMBERS)
    for prior in (None, [0.0, 0.5, 0.5]):
        values = fit.predict_proba(new, prior, missing="integrate").to_numpy()
        assert np.isfinite(values).all()
        np.testing.assert_allclose(values[1], fit.prior if prior is None else prior)
        assert fit.predict(new, prior, missing="integrate").notna().all()
    assert len(fit.predict(new[:0], missing="integrate")) == 0


def test_an_outlier_that_misses_a_value_is_counted():
    fit = discrim.lda("species ~ .", IRIS)
    far = GAPS.assign(petal_length=GAPS["petal_length"] + 100.0)
    with pytest.warns(MissingPredictionWarning, match=f" {int((~COMPLETE).sum())} "):
        labels = fit.predict(far, missing="integrate", outlier=0.01)
    assert (labels[COMPLETE] == "unknown").all()
    assert not (labels[~COMPLETE] == "unknown").any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit.predict(far, outlier=0.01).isna().to_numpy().tolist() == (~COMPLETE).tolist()
