"""Mixtures of normals: mclust's and mda's numbers, direct sums, and what EM promises."""

from __future__ import annotations

import json
import pickle

import mpmath
import numpy as np
import pandas as pd
import pytest
import scipy

from discrim import lda, load, mixture, qda
from discrim.core.mixtures import mixture as core
from discrim.core.mixtures.em import FORMS
from discrim.core.mixtures.mixture import leave_one_out_scorer as left_out_by_em
from discrim.datasets import load_iris, load_penguins, load_wine
from discrim.design.rows import gather_weighted_rows
from discrim.errors import CollinearError, ConvergenceWarning, DataError, NotSupportedError
from tests.support import ROOT

GOLDEN = json.loads((ROOT / "tests/golden/mixture.json").read_text(encoding="utf-8"))
IRIS = load_iris()
X = IRIS.iloc[:, :4].to_numpy()


def density(fit, x):
    """Of rows in each class, by scipy and the numbers that the results show."""
    actual = np.zeros((len(x), len(fit.classes)))
    for (label, number), cov in fit.covs.items():
        distribution = scipy.stats.multivariate_normal(fit.component_means.loc[(label, number)], cov)
        actual[:, fit.classes.get_loc(label)] += fit.shares[(label, number)] * distribution.pdf(x)
    return actual


# ---- against R


@pytest.mark.parametrize("form", FORMS)
def test_one_component_for_each_class_agrees_with_edda_of_mclust(form):
    fit, golden = mixture("species ~ .", IRIS, components=1, covariance=form), GOLDEN["edda"][form]
    assert fit._fit.estimates.df_given() == golden["df"]
    assert fit.df_model == golden["df"] + 2
    # mclust's search for common axes ends earlier, and may end elsewhere.
    if form == "VVE":
        assert fit.llf_rows > golden["llf"]
        return
    assert fit.llf_rows == pytest.approx(golden["llf"], abs=1e-5 if form == "EVE" else 2e-6)
    np.testing.assert_allclose(
        fit.predict_proba().iloc[[70, 83, 133]], golden["prob"], atol=2e-6 if form == "EVE" else 2e-7
    )


def test_bic_of_mclust_does_not_count_class_proportions():
    fit, golden = mixture("species ~ .", IRIS, components=1, covariance="VEV"), GOLDEN["edda"]["VEV"]
    assert (golden["df"], round(golden["bic"], 2)) == (36, -555.80)
    own_bic = fit.df_model * np.log(150) - 2 * fit.llf_rows
    assert -golden["bic"] == pytest.approx(own_bic - 2 * np.log(150), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["VVI", "VVV", "VEV"])
def test_maximum_is_not_below_mclust(form):
    log_likelihoods = [
        pd.DataFrame(case["x"]).add_prefix("x").assign(y=f"table {i}")
        for i, case in enumerate(GOLDEN["bent"])
    ]
    golden = sum(case["llf"][form] for case in GOLDEN["bent"])
    for seed in (0, 1):
        fit = mixture("y ~ .", pd.concat(log_likelihoods), components=2, covariance=form, seed=seed, starts=3)
        assert fit.llf_given > golden - 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("table", ["bent", "rounded"])
def test_the_order_of_rows_does_not_matter_to_the_last_bit(table):
    rng = np.random.default_rng(7)
    if table == "bent":
        data = pd.DataFrame(GOLDEN["bent"][0]["x"] + GOLDEN["bent"][1]["x"], columns=list("abcd"))
        data = data.assign(y=np.repeat(["one", "two"], 80))
    else:
        # Ties, repeated rows and weights, in a class of more rows than are clustered.
        data = pd.DataFrame(rng.normal(size=(2600, 2)).round(1), columns=["a", "b"])
        data = data.assign(y=np.where(np.arange(2600) < 2300, "one", "two"), w=rng.integers(1, 4, 2600))
    weights = "w" if "w" in data else None
    options = {"components": 3, "covariance": "VVI", "weights": weights, "starts": 3, "tol": 1e-5}
    fit = mixture("y ~ .", data, **options)
    for seed in range(2):
        again = mixture("y ~ .", data.sample(frac=1, random_state=seed), **options)
        assert again.llf_given == fit.llf_given
        pd.testing.assert_frame_equal(again.tidy(), fit.tidy(), check_exact=True)
        np.testing.assert_array_equal(again.predict_log_proba(data), fit.predict_log_proba(data))


def test_runs_count_starts_that_agree(tmp_path):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 9, rng.normal(size=(120, 2))])
    data = pd.DataFrame(x, columns=["a", "b"]).assign(y=np.repeat(["two", "one"], 120))
    fit = mixture("y ~ .", data, components={"two": 2, "one": 1})
    assert fit.runs.loc["one"].tolist() == [1, 1]
    assert fit.runs.loc["two"].tolist() == [5, 5]
    assert "disagree" not in str(fit.summary())
    bent = pd.DataFrame(GOLDEN["bent"][0]["x"], columns=list("abcd"))
    data = pd.concat([bent.assign(y="bent"), (bent + 1).assign(y="too")])
    fit = mixture("y ~ .", data, components=4, covariance="VVI")
    assert (fit.runs["reached"] < fit.runs["runs"]).any()
    assert "Runs of EM from different starts" in str(fit.summary())
    fit.save(tmp_path / "fit")
    pd.testing.assert_frame_equal(load(tmp_path / "fit").runs, fit.runs)


def near_collinear(noise, seed=5):
    """Rows whose second column is the first but for noise, in classes of different sizes."""
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2], [40, 60, 50])
    x = rng.normal(size=150) + codes
    y = x + noise * (rng.normal(size=150) * (1 + codes) + codes)
    return pd.DataFrame({"x": x, "y": y, "z": rng.normal(size=150) + 0.3 * x, "c": codes})


def exact_scores(data, form):
    """Log posteriors and log-likelihood of one component a class, in 60 digits."""
    with mpmath.workdps(60):
        x, codes = (
            [[mpmath.mpf(v) for v in row] for row in data[["x", "y", "z"]].to_numpy()],
            data["c"].to_numpy(),
        )
        n, p = len(x), 3
        means, scatters, counts = [], [], []
        for k in range(3):
            class_rows = [row for row, code in zip(x, codes, strict=True) if code == k]
            mean = [mpmath.fsum(row[j] for row in class_rows) / len(class_rows) for j in range(p)]
            differences = mpmath.matrix([[row[j] - mean[j] for j in range(p)] for row in class_rows])
            means.append(mean)
            counts.append(len(class_rows))
            scatters.append(differences.T * differences)
        covs = [w / c for w, c in zip(scatters, counts, strict=True)]
        if form == "EEE":
            covs = [(scatters[0] + scatters[1] + scatters[2]) / n] * 3
        if form == "EVV":
            roots = [mpmath.det(w) ** (mpmath.mpf(1) / p) for w in scatters]
            covs = [w / root * (mpmath.fsum(roots) / n) for w, root in zip(scatters, roots, strict=True)]
        if form == "EEV":
            eigensystems = [mpmath.eigsy(w) for w in scatters]
            shape = mpmath.diag([mpmath.fsum(chunk[0][j] for chunk in eigensystems) / n for j in range(p)])
            covs = [chunk[1] * shape * chunk[1].T for chunk in eigensystems]
        inverses, dets = [mpmath.inverse(s) for s in covs], [mpmath.det(s) for s in covs]
        actual, llf = np.empty((n, 3)), mpmath.mpf(0)
        for i, row in enumerate(x):
            scores = []
            for k in range(3):
                gap = mpmath.matrix([row[j] - means[k][j] for j in range(p)])
                square = (gap.T * inverses[k] * gap)[0]
                density = -(square + mpmath.log(dets[k]) + p * mpmath.log(2 * mpmath.pi)) / 2
                scores.append(density + mpmath.log(mpmath.mpf(counts[k]) / n))
            total = mpmath.log(mpmath.fsum(mpmath.exp(score) for score in scores))
            actual[i] = [float(score - total) for score in scores]
            llf += scores[codes[i]]
        return actual, float(llf)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1e-5, 1e-6])
@pytest.mark.parametrize("form", ["EEE", "VVV", "EVV", "EEV"])
def test_nearly_collinear_columns_are_precise(form, noise):
    data = near_collinear(noise)
    exact, llf = exact_scores(data, form)
    fit = mixture("c ~ .", data, components=1, covariance=form)
    # Means are rounded as the rows are, and noise is to rounding as 1e-6 to 2e-16.
    np.testing.assert_allclose(fit.predict_log_proba(), exact, atol=2e-15 / noise * 5)
    assert fit.llf == pytest.approx(llf, abs=1e-13 / noise * 5)
    verb = {"EEE": lda, "VVV": qda}.get(form)
    if verb is not None:
        other = verb("c ~ .", data, method="mle").predict_log_proba()
        assert (
            np.abs(fit.predict_log_proba() - exact).to_numpy().max()
            < 3 * np.abs(other - exact).to_numpy().max()
        )


@pytest.mark.parametrize("form", FORMS)
def test_leave_one_out_equals_a_refit_for_each_form(form):
    data, rows = IRIS.iloc[::3].reset_index(drop=True), [0, 27]
    fit = mixture("species ~ .", data, components=1, covariance=form)
    left_out = fit.leave_one_out().iloc[rows]
    for row, (_, actual) in zip(rows, left_out.iterrows(), strict=True):
        again = mixture(
            "species ~ .", data.drop(index=row), components=1, covariance=form, prior=fit.prior.to_dict()
        )
        np.testing.assert_allclose(
            actual[list(fit.classes)].astype(float), again.predict_proba(data.iloc[[row]]).iloc[0], atol=1e-12
        )


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_of_equal_rows_the_one_of_the_weight_is_left_out():
    data = IRIS.iloc[[*range(0, 150, 3), 0, 45, 120]].reset_index(drop=True)
    w = np.ones(len(data))
    twins = [0, 50, 15, 51, 40, 52]
    w[twins] = [0.25, 3.0, 2.0, 0.5, 0.75, 0.125]
    fit = mixture("species ~ .", data, components=1, weights=w)
    left_out = fit.leave_one_out()
    for row in twins:
        less = w.copy()
        less[row] -= min(1.0, less[row])
        again = mixture("species ~ .", data, components=1, weights=less, prior=fit.prior.to_dict())
        actual = left_out.loc[row, list(fit.classes)].astype(float)
        np.testing.assert_allclose(actual, again.predict_proba(data.iloc[[row]]).iloc[0], atol=1e-12)
    scores = left_out_by_em(
        fit._fit.estimates, fit._fit.log_prior(), *gather_weighted_rows(fit._fit.design_rows)
    )
    x, codes = data.iloc[[0], :4].to_numpy(), np.zeros(1, dtype=np.intp)
    with pytest.raises(DataError) as caught:
        scores(x, codes, np.array([0.26]))
    assert "is not a row of the fit" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("case", GOLDEN["chosen"], ids=lambda case: case["table"])
def test_bic_chooses_in_each_class_as_mclust_does(case):
    columns = "bill_length_mm + bill_depth_mm + flipper_length_mm + body_mass_g"
    cases = {"iris": ("species ~ .", IRIS), "penguins": (f"species ~ {columns}", load_penguins())}
    options = {"components": "bic", "covariance": "bic", "over": "class", "most": 2, "starts": 5}
    fit = mixture(*cases[case["table"]], tol=1e-10, **options)
    path = fit.path
    apart = {"Chinstrap"} if case["table"] == "penguins" else set()
    for label, class_path in path.groupby("class"):
        best, golden = class_path.loc[class_path["bic"].idxmin()], case["classes"][label]
        assert best["chosen"]
        assert (best["components"], best["covariance"]) == (fit.components[label], fit.covariance[label])
        if label in apart:
            # From other partitions than its own, mclust's EM ends at this larger maximum as well.
            assert (best["components"], best["covariance"]) == (2, "EEE")
            assert best["llf"] == pytest.approx(GOLDEN["from_kmeans"], abs=1e-5)
            continue
        assert (best["components"], best["covariance"]) == (golden["components"], golden["covariance"])
        assert best["llf"] == pytest.approx(golden["llf"], abs=1e-5)
    rows = path[path["chosen"]]
    assert rows["llf"].sum() == pytest.approx(fit.llf_given, abs=1e-4)
    assert rows["df"].sum() == fit._fit.estimates.df_given()
    if not apart:
        assert fit.llf_rows == pytest.approx(case["llf_rows"], abs=1e-5)
        assert fit._fit.estimates.df_given() == case["df"]
    assert "Choice by BIC" in str(fit.summary())


# ---- identities


def test_forms_over_all_classes_equal_lda_and_qda():
    for form, verb in (("EEE", lda), ("VVV", qda)):
        fit, other = (
            mixture("species ~ .", IRIS, components=1, covariance=form),
            verb("species ~ .", IRIS, method="mle"),
        )
        assert fit.llf == pytest.approx(other.llf, abs=1e-9)
        assert fit.df_model == other.df_model
        np.testing.assert_allclose(fit.predict_log_proba(), other.predict_log_proba(), rtol=1e-9)


def test_posteriors_and_likelihoods_equal_those_of_the_densities():
    fit = mixture("species ~ .", IRIS, components={"setosa": 1, "versicolor": 2, "virginica": 3})
    joint = density(fit, X) * fit.prior.to_numpy()
    codes = fit.classes.get_indexer(IRIS.species)
    np.testing.assert_allclose(
        fit.predict_proba(), joint / joint.sum(axis=1, keepdims=True), rtol=1e-8, atol=1e-300
    )
    assert fit.llf == pytest.approx(np.log(joint[np.arange(150), codes]).sum(), abs=1e-9)
    assert fit.llf_rows == pytest.approx(np.log(joint.sum(axis=1)).sum(), abs=1e-9)
    assert fit.llf_given == pytest.approx(fit.llf - 150 * np.log(1 / 3), abs=1e-9)
    component_posteriors = fit.component_posteriors()
    np.testing.assert_allclose(
        component_posteriors.T.groupby(level=0).sum().T, fit.predict_proba(), atol=1e-14
    )


def test_missing_columns_are_integrated_out():
    fit = mixture("species ~ .", IRIS, components=2)
    new = IRIS.iloc[[0, 70, 120]].copy()
    new.loc[new.index[1], "petal_length"] = np.nan
    keep = [0, 1, 3]
    joint = np.zeros(3)
    for (label, number), cov in fit.covs.items():
        mean = fit.component_means.loc[(label, number)].iloc[keep]
        distribution = scipy.stats.multivariate_normal(mean, cov.iloc[keep, keep])
        joint[fit.classes.get_loc(label)] += fit.shares[(label, number)] * distribution.pdf(X[70, keep])
    actual = fit.predict_proba(new, missing="integrate").iloc[1]
    np.testing.assert_allclose(actual, joint / joint.sum(), rtol=1e-9)


@pytest.mark.slow
def test_a_file_a_source_and_repeated_rows_give_the_same(tmp_path):
    weights = pd.Series(np.tile([1, 2, 3], 50), index=IRIS.index, name="w")
    options = {"components": 2, "covariance": "pooled", "starts": 3}
    fit = mixture("species ~ .", IRIS, weights=weights, **options)
    twice = mixture("species ~ .", IRIS.loc[IRIS.index.repeat(weights)].reset_index(drop=True), **options)
    np.testing.assert_allclose(fit.predict_proba(IRIS), twice.predict_proba(IRIS), atol=1e-6)
    fit.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    np.testing.assert_array_equal(again.predict_log_proba(IRIS), fit.predict_log_proba(IRIS))
    pd.testing.assert_frame_equal(again.tidy(), fit.tidy())
    assert (again.llf, again.llf_rows, again.df_model) == (fit.llf, fit.llf_rows, fit.df_model)


@pytest.mark.parametrize("form", ["VVV", "EVE", "EEI", "VEV"])
def test_offsets_and_units_do_not_reduce_precision(form):
    options = {"components": 1, "covariance": form}
    fit = mixture("species ~ .", IRIS, **options)
    shifted = IRIS.copy()
    shifted.iloc[:, :4] = IRIS.iloc[:, :4] + 2.0**26
    rounded = shifted.copy()
    rounded.iloc[:, :4] = shifted.iloc[:, :4] - 2.0**26
    exact = mixture("species ~ .", rounded, **options)
    distant = mixture("species ~ .", shifted, **options)
    assert distant.llf == pytest.approx(exact.llf, abs=1e-9)
    small = IRIS.copy()
    small.iloc[:, :4] = IRIS.iloc[:, :4] * 2.0**-900
    tiny = mixture("species ~ .", small, **options)
    assert tiny.llf == pytest.approx(fit.llf + 600 * 900 * np.log(2), rel=1e-13)


# ---- choice, refusals, tables


def test_errors_name_classes_and_columns_that_cannot_be_fitted():
    short = load_wine().groupby("cultivar").head(8)
    with pytest.raises(CollinearError) as caught:
        mixture("cultivar ~ .", short, components=1, over="class")
    assert "'nonflavanoid_phenols'" in str(caught.value)
    assert "'barbera'" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        mixture("cultivar ~ alcohol + ash", short, components=4, covariance="full")
    assert "'barbera'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        mixture("cultivar ~ alcohol + ash", short, components=9)
    assert "fewer" in str(caught.value)
    assert "components" in str(caught.value)
    twins = IRIS.assign(twin=IRIS.petal_length + IRIS.petal_width)
    with pytest.raises(CollinearError) as caught:
        mixture("species ~ .", twins, components=1)
    assert caught.value.columns == ("twin",)
    for wrong in (0, 2.5, "two", {"setosa": 1}, {"rose": 2}):
        with pytest.raises(DataError) as caught:
            mixture("species ~ .", IRIS, components=wrong)
        assert "components" in str(caught.value)
    for wrong in ("VXV", 3, {"setosa": "VVV"}):
        with pytest.raises(DataError) as caught:
            mixture("species ~ .", IRIS, covariance=wrong)
        assert "covariance" in str(caught.value)
    with pytest.raises(DataError) as caught:
        mixture(
            "species ~ .", IRIS, components={"setosa": 1, "versicolor": "bic", "virginica": 1}, over="classes"
        )
    assert 'over="classes"' in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        _ = mixture("species ~ .", IRIS, components=1).path
    assert "path" in str(caught.value)
    with pytest.warns(ConvergenceWarning):
        mixture("species ~ .", IRIS, components=3, covariance="pooled", maxiter=2)


@pytest.mark.parametrize("label", IRIS["species"].unique())
def test_errors_name_the_class_if_all_are_estimated_together(label):
    table = IRIS.assign(flat=IRIS["sepal_width"].where(IRIS["species"] != label, 3.0))
    with pytest.raises(CollinearError, match=f"'flat' is constant within class '{label}'"):
        mixture("species ~ sepal_length + flat", table, components=1)


@pytest.mark.slow
def test_plots():
    fit = mixture("species ~ .", IRIS, most=2, starts=2)
    # The pair of least Wilks' lambda.
    assert fit.plot("components").get_xlabel() == "sepal_width"
    assert fit.plot("components", columns=["petal_length", "petal_width"]).get_ylabel() == "petal_width"
    assert fit.plot("path").get_xlabel() == "Components"
    assert (
        mixture("species ~ .", IRIS, components=1, covariance="bic").plot("path").get_xlabel() == "Covariance"
    )


@pytest.mark.slow
def test_refits_to_a_subset_keep_components_and_forms():
    fit = mixture("species ~ .", IRIS, most=2, starts=2)
    panels = fit.plot("partition", columns=["sepal_length", "petal_length"]).child_axes
    sizes = dict(zip(fit.classes, fit.shares.groupby(level=0, observed=True).size(), strict=True))
    # Of one component, a form has the letter X where others have E or V.
    chosen = fit.path[fit.path["chosen"]].set_index("class")["covariance"]
    forms = chosen.str.replace("X", "V").to_dict()
    pair = mixture(
        "species ~ sepal_length + petal_length", IRIS, components=sizes, covariance=forms, starts=2
    )
    wrong = float((pair.predict() != IRIS["species"]).mean())
    assert [panel.get_title() for panel in panels] == [f"error rate {wrong:.3f}"]


@pytest.mark.slow
def test_waveform_errors_agree_with_the_book():
    # Hastie, Tibshirani & Friedman (2009), table 12.4: mean test errors of 10 samples.
    rng = np.random.default_rng(3)
    positions = np.arange(1, 22)
    h = [np.maximum(6 - np.abs(positions - centre), 0) for centre in (11, 15, 7)]
    pairs = [(h[0], h[1]), (h[0], h[2]), (h[1], h[2])]

    def sample(n):
        codes = rng.integers(0, 3, n)
        u = rng.random((n, 1))
        first, second = (np.array([pairs[c][i] for c in codes]) for i in (0, 1))
        x = u * first + (1 - u) * second + rng.normal(size=(n, 21))
        return pd.DataFrame(x).add_prefix("x").assign(y=codes)

    # What is known of a row is where it stands on the segment: the law's density is an integral over u.
    u = (np.arange(200) + 0.5) / 200
    segments = [u[:, None] * first + (1 - u)[:, None] * second for first, second in pairs]

    def by_the_law(test):
        rows = test.iloc[:, :21].to_numpy()
        logs = [
            scipy.special.logsumexp(rows @ class_means.T - 0.5 * (class_means**2).sum(axis=1), axis=1)
            for class_means in segments
        ]
        return np.argmax(logs, axis=0)

    wrong = {"mixture": [], "lda": [], "qda": [], "law": []}
    for _ in range(10):
        train, test = sample(300), sample(500)
        for name, fit in (
            ("mixture", mixture("y ~ .", train, components=3, covariance="pooled")),
            ("lda", lda("y ~ .", train)),
            ("qda", qda("y ~ .", train)),
        ):
            wrong[name].append((fit.predict(test) != test.y).mean())
        wrong["law"].append((by_the_law(test) != test.y).mean())
    means = {name: np.mean(each) for name, each in wrong.items()}
    # The book's are of ten samples too, so that the difference of two means has this standard error.
    errors = {name: np.std(each, ddof=1) / np.sqrt(5) for name, each in wrong.items()}
    for name, printed in (("mixture", 0.169), ("lda", 0.191), ("qda", 0.205), ("law", 0.140)):
        assert abs(means[name] - printed) < 3 * errors[name]
    assert means["law"] < means["mixture"] < means["lda"] < means["qda"]


@pytest.mark.slow
def test_no_component_is_much_narrower_than_another():
    fit = mixture("species ~ .", IRIS, components=3, covariance="VVE")
    covs = [cov for (label, _), cov in fit.covs.items() if label == "virginica"]
    subset = fit.shares["virginica"].to_numpy() * 50 <= 10
    ratios = [
        scipy.linalg.eigvalsh(a, b)[0] for a, small in zip(covs, subset, strict=True) if small for b in covs
    ]
    assert min(ratios, default=1.0) > 1e-4


@pytest.mark.parametrize("covariance", ["full", "pooled"])
def test_errors_name_collinear_columns_with_several_components(covariance):
    table = IRIS[["petal_width", "sepal_width", "species"]].assign(twin=2 * IRIS.petal_width)
    options = {"components": 2, "starts": 2}
    with pytest.raises(CollinearError) as message:
        mixture("species ~ petal_width + twin + sepal_width", table, covariance=covariance, **options)
    assert message.value.columns == ("twin",)
    assert "pooled" not in str(message.value)
    assert mixture("species ~ petal_width + twin + sepal_width", table, covariance="EII", **options).df_model


def test_candidates_do_not_exceed_the_number_of_rows():
    data = load_iris().iloc[::10]
    with pytest.raises(DataError) as caught:
        mixture("species ~ sepal_width", data, most=900)
    assert "most=900" in str(caught.value)
    assert "'setosa'" in str(caught.value)
    assert mixture("species ~ sepal_width", data, components=1, most=900).components.eq(1).all()


# ---- large classes


def two_clusters(n, seed=4):
    """Return a class of two clusters of n rows in total, and a normal class of 500 rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n + 500, 2))
    x[: n // 2, 0] += 4
    return pd.DataFrame(x, columns=["a", "b"]).assign(y=np.where(np.arange(n + 500) < n, "two", "one"))


def test_components_of_large_classes_are_chosen_from_a_stated_sample():
    data = two_clusters(12_000)
    fit = mixture("y ~ .", data, most=2, starts=3)
    assert fit.components.to_dict() == {"one": 1, "two": 2}
    assert "a sample of 5,000 observations of each larger class" in " ".join(str(fit.summary()).split())
    assert fit.path.attrs["sample"] == 5000
    assert pickle.loads(pickle.dumps(fit)).path.attrs["sample"] == 5000
    chosen = fit.path[fit.path["chosen"]].set_index("class")
    # The candidates of the large class refer to 5,000 rows, and all estimates to all rows.
    assert chosen.loc["two", "bic"] == pytest.approx(11 * np.log(5000) - 2 * chosen.loc["two", "llf"])
    direct = mixture("y ~ .", data, components={"one": 1, "two": 2}, starts=3)
    assert fit.llf_given == pytest.approx(direct.llf_given, abs=1e-3)
    np.testing.assert_allclose(fit.component_means, direct.component_means, atol=1e-3)
    assert fit.llf == pytest.approx(
        np.log(density(fit, data[["a", "b"]].to_numpy()) * fit.prior.to_numpy())[
            np.arange(len(data)), (data.y == "two").astype(int)
        ].sum(),
        rel=1e-12,
    )
    again = mixture("y ~ .", data.sample(frac=1, random_state=1), most=2, starts=3)
    pd.testing.assert_frame_equal(again.tidy(), fit.tidy(), check_exact=True)
    pd.testing.assert_frame_equal(again.path, fit.path, check_exact=True)
    assert "sample of" not in str(mixture("y ~ .", data.iloc[10_000:], most=1).summary())


def test_sample_of_repeated_rows_is_the_sample_of_weighted_rows():
    data = two_clusters(6_000)
    weights = np.random.default_rng(0).integers(1, 4, len(data)).astype(float)
    x, codes = data[["a", "b"]].to_numpy(), (data.y == "two").to_numpy().astype(int)
    repeats = weights.astype(int)
    weighted = core.sample_large_classes(*core.sort_rows(x, codes, weights, 2))
    repeated = core.sample_large_classes(
        *core.sort_rows(np.repeat(x, repeats, axis=0), np.repeat(codes, repeats), None, 2)
    )
    large = weighted[2] == 1
    assert large.sum() == core.max_search_rows(2) == (repeated[2] == 1).sum()
    np.testing.assert_array_equal(weighted[1][large], repeated[1][repeated[2] == 1])
    assert (weighted[3][large] == 1).all()
    assert weighted[3][~large].sum() == weights[codes == 0].sum()
    assert core.sample_large_classes(*core.sort_rows(x[:3000], codes[:3000], None, 2)) is None


@pytest.mark.parametrize("has_missing", [False, True])
def test_large_weights_of_few_distinct_rows_are_not_sampled(has_missing):
    data = two_clusters(100)
    x, codes = data[["a", "b"]].to_numpy(copy=True), (data.y == "two").to_numpy().astype(int)
    if has_missing:
        x[::9, 1] = np.nan
        x[4::9, 0] = np.nan
    weighted = core.sort_rows(x, codes, np.full(len(data), 200.0), 2)
    repeated = core.sort_rows(np.repeat(x, 200, axis=0), np.repeat(codes, 200), None, 2)
    assert weighted[0].counts.max() > core.max_search_rows(2)
    assert core.sample_large_classes(*weighted) is None
    assert core.sample_large_classes(*repeated) is None


def test_choice_uses_all_rows_if_the_sample_is_singular():
    data = two_clusters(12_000)
    # The first row of the large class, which is sorted by this column, is not sampled.
    first = data["a"][data.y == "two"].idxmin()
    rare = pd.Series(data.index.isin([first, *data.index[-5:]]))
    fit = mixture("y ~ .", data.assign(rare=rare.astype(float)), most=1)
    n = (data.y == "two").sum()
    assert fit.path.loc[1, "bic"] == pytest.approx(9 * np.log(n) - 2 * fit.path.loc[1, "llf"])
    assert "sample of" not in str(fit.summary())
