"""Kernel densities: direct sums by scipy and mpmath, identities, refits, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import mpmath
import numpy as np
import pandas as pd
import pytest
import scipy
from sklearn.neighbors import KernelDensity

from discrim import KernelDensityResults, kernel_density, knn, lda, load
from discrim.core.neighbours import kernel_density as core
from discrim.core.neighbours.kernel_density import BOUNDED_KERNEL_POWERS, log_constant, normal_reference_radii
from discrim.datasets import load_iris, load_penguins
from discrim.design.rows import gather_weighted_rows
from discrim.errors import (
    CollinearError,
    DataError,
    MissingPredictionWarning,
    NotSupportedError,
)
from discrim.models.evaluation import validation
from discrim.models.neighbours import kernel_density as models_kernel_density
from discrim.models.results import headers
from tests.benchmarks.timing import simulate_classes
from tests.turns import one_in

IRIS = load_iris()
X = IRIS.iloc[:, :4].to_numpy()
ALL = ("normal", *BOUNDED_KERNEL_POWERS)
SKLEARN = {"normal": "gaussian", "epanechnikov": "epanechnikov", "uniform": "tophat"}


def direct(fit, x, kernel, radii, covariances):
    """Densities (m, K) by sums over rows, one by one."""
    actual = np.zeros((len(x), len(fit.classes)))
    for k, (label, r, v) in enumerate(zip(fit.classes, radii, covariances, strict=True)):
        rows = X[IRIS.species == label]
        for row in rows:
            gap = x - row
            u = np.einsum("ij,jk,ik->i", gap, np.linalg.inv(v), gap) / r**2
            value = (
                np.exp(-u / 2)
                if kernel == "normal"
                else np.where(u <= 1, (1 - u) ** BOUNDED_KERNEL_POWERS[kernel], 0.0)
            )
            actual[:, k] += value / len(rows) / r**4 / np.sqrt(np.linalg.det(v))
    return actual * np.exp(log_constant(kernel, 4))


def of_class(divisor=1):
    return [
        np.cov(X[IRIS.species == label].T, ddof=divisor) for label in ("setosa", "versicolor", "virginica")
    ]


@one_in(2, {"kernel": ALL, "covariance": ["pooled", "class"]})
def test_densities_are_direct_sums(kernel, covariance):
    radii = [1.2, 1.5, 1.8]
    radii_by_class = dict(zip(("setosa", "versicolor", "virginica"), radii, strict=True))
    fit = kernel_density("species ~ .", IRIS, kernel=kernel, covariance=covariance, bandwidth=radii_by_class)
    class_covariances = of_class()
    covariances = (
        class_covariances if covariance == "class" else [sum(49 * v for v in class_covariances) / 147] * 3
    )
    expected = direct(fit, X, kernel, radii, covariances)
    with np.errstate(divide="ignore"):
        logs = np.log(expected)
    np.testing.assert_allclose(fit.log_densities(), logs, rtol=1e-9, atol=1e-9)
    joint = expected * fit.prior.to_numpy()
    np.testing.assert_allclose(fit.predict_proba(), joint / joint.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("kernel", SKLEARN)
def test_euclidean_densities_agree_with_scikit_learn(kernel):
    fit = kernel_density("species ~ .", IRIS, kernel=kernel, metric="euclidean", bandwidth=0.8)
    for label in fit.classes:
        peer = KernelDensity(bandwidth=0.8, kernel=SKLEARN[kernel]).fit(X[IRIS.species == label])
        np.testing.assert_allclose(fit.log_densities()[label], peer.score_samples(X), rtol=1e-9, atol=1e-9)


def test_densities_with_scott_factor_agree_with_scipy():
    fit = kernel_density("species ~ .", IRIS, covariance="class", bandwidth=50 ** (-1 / 8))
    for label in fit.classes:
        peer = scipy.stats.gaussian_kde(X[IRIS.species == label].T)
        np.testing.assert_allclose(fit.log_densities()[label], peer.logpdf(X.T), rtol=1e-8, atol=1e-8)


def test_rows_far_away_keep_their_posteriors_as_in_exact_arithmetic():
    data = pd.DataFrame({"x": [0.0, 1.0, 3.0, 4.0, 6.0, 9.0], "y": list("aaabbb")})
    fit = kernel_density("y ~ x", data, metric="euclidean", bandwidth=0.01)
    new = pd.DataFrame({"x": [3.5, 20.0, -15.0, 1000.0]})
    with mpmath.workdps(60):
        logs = []
        for value in new.x:
            sums = [
                mpmath.fsum(
                    mpmath.exp(-(((mpmath.mpf(value) - row) / mpmath.mpf(0.01)) ** 2) / 2) for row in rows
                )
                for rows in (data.x[:3], data.x[3:])
            ]
            logs.append([float(mpmath.log(density / mpmath.fsum(sums))) for density in sums])
    np.testing.assert_allclose(fit.predict_log_proba(new), logs, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::discrim.errors.MissingPredictionWarning")
@one_in(
    2,
    {
        "metric": ["mahalanobis", "diagonal", "euclidean"],
        "covariance": ["pooled", "class"],
        "bandwidth": [0.9, "normal"],
    },
)
def test_leave_one_out_equals_a_fit_without_the_row(metric, covariance, bandwidth):
    options = {"metric": metric, "covariance": covariance, "bandwidth": bandwidth, "kernel": "triweight"}
    if bandwidth == 0.9:
        options["kernel"] = "normal"
    fit = kernel_density("species ~ .", IRIS, **options)
    left_out = fit.leave_one_out()
    for i in (41, 70, 134):
        without = kernel_density("species ~ .", IRIS.drop(index=i), prior=fit.prior, **options)
        expected = without.predict_proba(IRIS.loc[[i]]).to_numpy()[0]
        np.testing.assert_allclose(left_out.iloc[i, 1:].to_numpy(float), expected, rtol=1e-8, atol=1e-12)


def test_a_uniform_kernel_counts_the_rows_within_its_radius():
    fit = kernel_density("species ~ .", IRIS, kernel="uniform", metric="euclidean", bandwidth=1.03)
    nearby = scipy.spatial.distance.cdist(X, X) <= 1.03
    votes = np.array([nearby[:, IRIS.species == label].sum(axis=1) for label in fit.classes]).T
    np.testing.assert_allclose(fit.predict_proba(), votes / votes.sum(axis=1, keepdims=True), atol=1e-12)
    # A row that lies on the radius is within it.
    grid = pd.DataFrame({"x": [0.1 * i for i in range(8)], "y": list("aabbaabb")})
    on = kernel_density("y ~ x", grid, kernel="uniform", metric="euclidean", bandwidth=0.1)
    assert np.isfinite(on.log_densities().loc[[1, 2, 3, 4, 5, 6]]).all(axis=None)
    assert knn("species ~ .", IRIS, k=5).classes.tolist() == fit.classes.tolist()


@pytest.mark.parametrize("kernel", ALL)
@pytest.mark.parametrize("p", [1, 2, 3, 7])
def test_constants_and_normal_bandwidths_agree_with_quadrature(kernel, p):
    # Over the radius, with the surface of the unit sphere.
    surface = 2 * np.pi ** (p / 2) / scipy.special.gamma(p / 2)

    def shape(t):
        return np.exp(-(t**2) / 2) if kernel == "normal" else (1 - t**2) ** BOUNDED_KERNEL_POWERS[kernel]

    maximum = 40.0 if kernel == "normal" else 1.0
    c = np.exp(log_constant(kernel, p))

    def over(power, of):
        return surface * scipy.integrate.quad(lambda t: t ** (p - 1) * of(t) * t**power, 0, maximum)[0]

    assert c * over(0, shape) == pytest.approx(1, rel=1e-9)
    rough, variance = c**2 * over(0, lambda t: shape(t) ** 2), c * over(2, shape) / p
    curvature = (2 * np.sqrt(np.pi)) ** -p * (p / 2 + p**2 / 4)
    expected = (p * rough / (variance**2 * curvature * 50)) ** (1 / (p + 4))
    assert normal_reference_radii(kernel, p, np.array([50.0]))[0] == pytest.approx(expected, rel=1e-9)
    if p == 1 and kernel == "normal":
        assert expected == pytest.approx((4 / 3 / 50) ** 0.2, rel=1e-12)


def test_bandwidth_maximizes_likelihood_or_minimizes_error():
    table = IRIS.drop_duplicates(["petal_length", "petal_width"])
    fit = kernel_density("species ~ petal_length + petal_width", table, grid=[0.2, 0.5, 1.0])
    path = fit.path
    for _, row in path.iterrows():
        fixed_fit = kernel_density("species ~ petal_length + petal_width", table, bandwidth=row["bandwidth"])
        rates = fixed_fit.error_rates(["loo"])
        assert row["error"] == pytest.approx(rates["estimate"].iloc[0])
    assert path.attrs["equal_rows"] == 0
    assert fit.bandwidth.iloc[0] == path["bandwidth"][path["llf"].idxmax()]
    by_error = kernel_density("species ~ petal_length + petal_width", table, select="error")
    assert by_error.path["error"].min() == by_error.error_rates(["loo"])["estimate"].iloc[0]
    assert "Left-out error and likelihood" in str(by_error.summary())
    assert by_error.plot("path").get_xlabel() == "Bandwidth"


def test_files_weights_offsets_and_units(tmp_path):
    data = load_penguins().dropna()
    formula = "species ~ bill_length_mm + bill_depth_mm + body_mass_g"
    fit = kernel_density(formula, data, covariance="class")
    fit.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    np.testing.assert_array_equal(again.predict_log_proba(data), fit.predict_log_proba(data))
    weights = pd.Series(np.tile([1, 2, 3], len(data))[: len(data)], index=data.index)
    weighted = kernel_density(formula, data, bandwidth=0.5, weights=weights)
    repeated = kernel_density(formula, data.loc[data.index.repeat(weights)], bandwidth=0.5)
    np.testing.assert_allclose(weighted.predict_proba(data), repeated.predict_proba(data), atol=1e-10)
    shifted = data.assign(
        bill_length_mm=(data.bill_length_mm + 2.0**30) - 2.0**30, body_mass_g=data.body_mass_g * 2.0**-900
    )
    distant = shifted.assign(bill_length_mm=shifted.bill_length_mm + 2.0**30)
    nearby = kernel_density(formula, shifted, bandwidth=0.5)
    np.testing.assert_allclose(
        kernel_density(formula, distant, bandwidth=0.5).predict_log_proba(),
        nearby.predict_log_proba(),
        rtol=1e-9,
    )


def test_errors_name_classes_and_columns_that_cannot_be_fitted():
    twins = IRIS.assign(twin=IRIS.petal_length + IRIS.petal_width)
    with pytest.raises(CollinearError) as caught:
        kernel_density("species ~ .", twins)
    assert "'twin'" in str(caught.value)
    assert kernel_density("species ~ .", twins, metric="euclidean").nobs == 150
    one = pd.concat([IRIS[IRIS.species != "virginica"], IRIS[IRIS.species == "virginica"].head(1)])
    with pytest.raises(CollinearError) as caught:
        kernel_density("species ~ .", one, covariance="class", bandwidth=1.0)
    assert "'virginica'" in str(caught.value)
    for wrong in (0, -1.0, np.inf, "wide", {"setosa": 1.0}, {"rose": 1.0}):
        with pytest.raises(DataError) as caught:
            kernel_density("species ~ .", IRIS, bandwidth=wrong)
        assert "bandwidth" in str(caught.value)
    with pytest.raises(DataError) as caught:
        kernel_density("species ~ .", IRIS, bandwidth=1.0, grid=[1.0])
    assert "bandwidth=" in str(caught.value)
    assert "grid=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        kernel_density("species ~ .", IRIS, kernel="uniform", grid=[0.01])
    assert 'select="error"' in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        _ = kernel_density("species ~ .", IRIS, bandwidth=1.0).path
    assert "path" in str(caught.value)


@pytest.mark.filterwarnings("ignore::discrim.errors.MissingPredictionWarning")
def test_rows_that_no_kernel_reaches_have_no_class_and_cause_a_warning():
    fit = kernel_density("species ~ .", IRIS, kernel="uniform", bandwidth=1.0)
    distant = IRIS.iloc[[0, 1]].copy()
    distant.iloc[1, :4] = 1e5
    with pytest.warns(MissingPredictionWarning):
        assert fit.predict_proba(distant).iloc[1].isna().all()
    label = fit.predict(distant)
    assert label.iloc[0] == "setosa"
    assert pd.isna(label.iloc[1])


def test_a_class_of_one_row_has_the_covariance_of_all_classes():
    """With a pooled covariance one row is a class: a kernel about it, as in a direct sum."""
    table = IRIS.iloc[[0, *range(50, 150)]]
    fit = kernel_density("species ~ .", table, bandwidth=1.0)
    groups = [X[[0]], X[50:100], X[100:]]
    within = sum((rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0)) for rows in groups) / (101 - 3)
    rows = X[[0, 60, 120]]
    expected = [
        [scipy.stats.multivariate_normal(x, within).pdf(group).mean() for group in groups] for x in rows
    ]
    np.testing.assert_allclose(np.exp(fit.log_densities(table.loc[[0, 60, 120]])), expected, rtol=1e-9)
    assert fit.leave_one_out()["setosa"][0] == 0
    assert fit.error_rates(["loo"], by_class=True)["setosa"].item() == 1


def test_a_class_of_one_row_has_no_left_out_likelihood():
    table = IRIS.iloc[[0, *range(50, 150)]]
    with pytest.raises(DataError) as caught:
        kernel_density("species ~ .", table)
    assert caught.value.classes == ("setosa",)
    path = kernel_density("species ~ .", table, select="error").path
    # The row is wrong at each bandwidth, as no rule is left for it.
    assert path["error"].min() >= 1 / 101


def rounded_table(seed=8, n=60):
    """Rows of two classes on a grid of halves, many of them equal, some with equals in the other class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n)
    x = np.round(2 * (rng.normal(size=(n, 2)) + codes[:, None])) / 2
    return pd.DataFrame(x, columns=["a", "b"]).assign(y=np.array(["u", "v"])[codes])


@pytest.mark.parametrize("kernel", ["normal", "epanechnikov"])
def test_a_choice_leaves_equal_rows_out_together(kernel):
    table, grid = rounded_table(), [0.3, 0.8, 2.5, 6.0]
    x, y = table[["a", "b"]].to_numpy(), table["y"].to_numpy()
    path = kernel_density("y ~ .", table, grid=grid, metric="euclidean", kernel=kernel, select="error").path
    for h, (error, llf) in zip(grid, path[["error", "llf"]].to_numpy(), strict=True):
        logs, wrong = 0.0, 0
        for i, row in enumerate(x):
            u = ((x - row) ** 2).sum(axis=1) / h**2
            values = np.exp(-u / 2) / (2 * np.pi) if kernel == "normal" else np.maximum(1 - u, 0) * 2 / np.pi
            apart = (x != row).any(axis=1)
            class_rows = [values[apart & (y == k)].mean() / h**2 for k in ("u", "v")]
            joint = [class_rows[j] * (y == k).mean() for j, k in enumerate(("u", "v"))]
            with np.errstate(divide="ignore"):
                logs += np.log(class_rows[int(y[i] == "v")])
            wrong += not max(joint) > 0 or "uv"[int(np.argmax(joint))] != y[i]
        assert llf == pytest.approx(logs, rel=1e-10)
        assert error == pytest.approx(wrong / len(x))
    equal = table.duplicated(["a", "b"], keep=False).sum()
    assert path.attrs["equal_rows"] == equal > 20


def test_weights_equal_repeated_rows_in_the_choice_of_a_bandwidth():
    table = rounded_table().assign(w=np.arange(60) % 3 + 1)
    weighted = kernel_density("y ~ a + b", table, weights="w")
    repeated = kernel_density("y ~ a + b", table.loc[table.index.repeat(table.w)])
    pd.testing.assert_frame_equal(weighted.path, repeated.path, rtol=1e-9)
    assert weighted.path.attrs == repeated.path.attrs
    assert "equal rows are left out together" in str(weighted.summary())


@pytest.mark.parametrize("select", ["likelihood", "error"])
def test_a_table_written_twice_has_nearly_its_bandwidth(select):
    rng = np.random.default_rng(4)
    once = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc")).assign(y=np.repeat([0, 1], 40))
    once.loc[once.y == 1, "a"] += 1.5
    grid = np.geomspace(0.1, 4, 25)
    chosen = [
        kernel_density("y ~ .", pd.concat([once] * repetitions), grid=grid, select=select).bandwidth.iloc[0]
        for repetitions in (1, 2, 5)
    ]
    # The metric of more copies has more degrees of freedom, and no more than that.
    np.testing.assert_allclose(chosen, chosen[0], rtol=0.2)


def test_rounding_does_not_make_a_bandwidth_collapse():
    rng = np.random.default_rng(12)

    def draw(n):
        codes = rng.integers(0, 2, n)
        x = np.round(rng.normal(size=(n, 2)) * [1.5, 2.0] + codes[:, None])
        return pd.DataFrame(x, columns=["a", "b"]).assign(y=codes)

    def loss(fit):
        chances = fit.predict_proba(new).to_numpy()
        return -np.log(chances[np.arange(len(new)), new.y]).mean()

    table, new = draw(300), draw(3000)
    chosen = kernel_density("y ~ .", table)
    assert chosen.bandwidth.iloc[0] > kernel_density("y ~ .", table, bandwidth="normal").bandwidth.iloc[0] / 2
    assert loss(chosen) < loss(lda("y ~ .", table)) + 0.03


def test_a_class_of_equal_rows_has_no_left_out_likelihood():
    table = rounded_table()
    table.loc[table.y == "u", ["a", "b"]] = 0.1
    with pytest.raises(DataError) as caught:
        kernel_density("y ~ .", table)
    assert caught.value.classes == ("u",)
    assert kernel_density("y ~ .", table, select="error").bandwidth.iloc[0] > 0
    assert kernel_density("y ~ .", table, bandwidth=0.5).nobs == 60


@pytest.mark.parametrize("kernel", ALL)
def test_bandwidths_far_from_all_distances(kernel, tmp_path):
    table = rounded_table()
    larger = table["y"].mode()[0]
    for huge in (1e100,):
        fit = kernel_density("y ~ .", table, bandwidth=huge, kernel=kernel)
        assert (fit.predict() == larger).all()
        np.testing.assert_allclose(fit.predict_proba(), np.tile(fit.prior, (60, 1)), rtol=1e-12)
        assert np.isfinite(fit.leave_one_out().iloc[:, -1]).all()
        assert kernel_density("y ~ .", table, grid=[huge], kernel=kernel).bandwidth.iloc[0] == huge
        fit.save(tmp_path / "huge")
        assert (load(tmp_path / "huge").predict(table) == larger).all()
    for tiny in (5e-324, 1e-165, 1e-12):
        for options in ({"bandwidth": tiny}, {"grid": [tiny, 1.0]}, {"bandwidth": {"u": 1.0, "v": tiny}}):
            with pytest.raises(DataError) as caught:
                kernel_density("y ~ .", table, kernel=kernel, **options)
            assert "small" in str(caught.value)
            assert "distances" in str(caught.value)


def test_files_with_a_bandwidth_below_rounding_are_refused(tmp_path):
    fit = kernel_density("y ~ .", rounded_table(), bandwidth=1.0)
    estimates = replace(fit._fit.estimates, radii=np.array([1e-200, 1.0]))
    with pytest.raises(NotSupportedError) as caught:
        KernelDensityResults(replace(fit._fit, estimates=estimates)).save(tmp_path / "tiny")
    assert "could" in str(caught.value)
    assert "rounding" in str(caught.value)


@pytest.mark.parametrize("unit", [2.0**-900, 2.0**-400, 2.0**-60, 2.0**10, 2.0**400, 2.0**900])
def test_a_choice_in_the_units_of_the_columns_follows_them(unit):
    table = rounded_table()
    shifted = table.assign(a=table.a * unit, b=table.b * unit)
    once, again = (kernel_density("y ~ .", each, metric="euclidean") for each in (table, shifted))
    np.testing.assert_allclose(again.bandwidth, once.bandwidth * unit, rtol=1e-9)
    assert (again.predict() == once.predict()).all()


@pytest.mark.filterwarnings("ignore::discrim.errors.MissingPredictionWarning")
@one_in(2, {"kernel": ["normal", "biweight"], "exponent": [-900, 700, 990]})
def test_squares_of_values_may_be_out_of_range(kernel, exponent, tmp_path):
    """Another unit of all columns leaves posteriors as they are, and moves densities by its power."""
    table, unit = rounded_table(), 2.0**exponent
    shifted = table.assign(a=table.a * unit, b=table.b * unit)
    options = {"metric": "euclidean", "kernel": kernel}
    fit = kernel_density("y ~ .", table, bandwidth=0.7, **options)
    distant = kernel_density("y ~ .", shifted, bandwidth=0.7 * unit, **options)
    distant.save(tmp_path / "far")
    for other in (distant, load(tmp_path / "far")):
        np.testing.assert_allclose(other.predict_proba(shifted), fit.predict_proba(table), rtol=1e-10)
    np.testing.assert_allclose(
        distant.log_densities(), fit.log_densities() - 2 * exponent * np.log(2), rtol=1e-12
    )
    np.testing.assert_allclose(
        distant.leave_one_out().iloc[:, -2:], fit.leave_one_out().iloc[:, -2:], rtol=1e-9
    )


@pytest.mark.parametrize("metric", ["mahalanobis", "diagonal", "euclidean"])
def test_columns_of_normal_kernels_are_integrated_out(metric):
    iris = load_iris()
    fit = kernel_density("species ~ .", iris, bandwidth=0.4, metric=metric)
    pair, x = ["petal_width", "sepal_width"], iris.drop(columns="species")
    differences = x - x.groupby(iris["species"], observed=True).transform("mean")
    within = (differences.T @ differences / 147).loc[pair, pair].to_numpy()
    shape = {"mahalanobis": within, "diagonal": np.diag(np.diag(within)), "euclidean": np.eye(2)}[metric]
    new = x[pair].iloc[::13]
    expected = []
    for label in fit.classes:
        rows = x.loc[iris["species"] == label, pair].to_numpy()
        expected.append(
            np.mean(
                [scipy.stats.multivariate_normal(row, 0.16 * shape).pdf(new.to_numpy()) for row in rows],
                axis=0,
            )
        )
    expected = np.array(expected).T
    actual = fit.predict_proba(new.reindex(columns=x.columns), missing="integrate")
    np.testing.assert_allclose(actual, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)
    ends = kernel_density("species ~ .", iris, bandwidth=2, kernel="epanechnikov")
    with pytest.raises(NotSupportedError) as caught:
        ends.predict(new.reindex(columns=x.columns), missing="integrate")
    assert "integrate" in str(caught.value)


def test_bandwidth_of_many_rows_is_chosen_by_a_sample_of_left_out_rows(monkeypatch):
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"y": np.repeat(list("abc"), [900, 300, 20])})
    table["u"] = np.exp(rng.standard_normal(len(table))) + (table["y"] == "b")
    table["v"] = rng.standard_normal(len(table)) + (table["y"] == "c")
    complete = kernel_density("y ~ .", table)
    assert complete.path.attrs["sample"] == 0
    monkeypatch.setattr(core, "MAX_SEARCH_PAIRS", 400 * len(table))
    monkeypatch.setattr(core, "MIN_SEARCH_ROWS", 100)
    fit = kernel_density("y ~ .", table)
    path, left_out = fit.path, complete.path
    n_sampled = path.attrs["sample"]
    # The smallest class is sampled completely, and of the second class 100 random rows are added.
    assert 440 <= n_sampled <= 442
    assert f"from a sample of {n_sampled} rows" in " ".join(str(fit.summary()).split())
    pd.testing.assert_frame_equal(path, kernel_density("y ~ .", table).path)
    best = np.flatnonzero(left_out["bandwidth"] == fit.bandwidth.iloc[0])[0]
    assert left_out["llf"].max() - left_out["llf"][best] < 2
    np.testing.assert_allclose(path["error"], left_out["error"], atol=4 * path["se"].max())
    # The estimate is the sum over all rows of a stratum if all of its rows are left out.
    positions, strata = core.search_rows(complete._fit.estimates, complete._fit.design_rows.codes)
    counts, totals = np.bincount(strata[positions], minlength=6), np.bincount(strata, minlength=6)
    np.testing.assert_array_equal(counts[1::2], totals[1::2])
    scores = dict(zip(*_left_out_densities(complete, path["bandwidth"][10], positions), strict=True))
    codes = complete._fit.design_rows.codes
    expected = sum(scores[i] * totals[strata[i]] / counts[strata[i]] for i in positions)
    np.testing.assert_allclose(path["llf"][10], expected, rtol=1e-12)
    np.testing.assert_array_equal(np.bincount(codes[positions])[2], 20)


def _left_out_densities(fit, bandwidth, positions):
    """Return positions, and the log density of the own class at these rows, each by a fit without the row."""
    estimates = fit._fit.estimates.with_radii(np.full(3, bandwidth), "given")
    x, codes, _ = gather_weighted_rows(fit._fit.design_rows)
    scores = estimates.leave_one_out_scores(np.zeros(3), x, codes)
    sampled = estimates.leave_one_out_scores(np.zeros(3), x, codes, positions)
    np.testing.assert_allclose(sampled, scores[positions], rtol=1e-12)
    return positions, scores[positions, codes[positions]]


@pytest.mark.parametrize("verb", [kernel_density, knn])
def test_summary_of_many_rows_shows_the_errors_of_a_stated_sample(verb, monkeypatch):
    table = simulate_classes(600, 3, 2)[2]
    fit = verb("y ~ .", table)
    complete = fit.error_rates()["estimate"]
    monkeypatch.setattr(headers, "MAX_SUMMARY_PAIRS", 200 * 600)
    monkeypatch.setattr(headers, "MIN_SUMMARY_ROWS", 100)
    sampled = verb("y ~ .", table)
    text = " ".join(str(sampled.summary()).split())
    assert "from a random sample of 202 observations" in text
    for method in ("apparent", "loo"):
        rate = headers.sampled_error_rate(sampled._fit, method)
        assert rate.total == 202
        assert abs(rate.estimate - complete[method]) < 4 * max(rate.se, 0.01)
    assert "of a sample" in repr(sampled)
    pd.testing.assert_series_equal(sampled.error_rates()["estimate"], complete)


def test_sample_of_a_summary_has_all_rows_of_small_classes(monkeypatch):
    table = simulate_classes(900, 3, 3)[2].assign(y=np.repeat(list("abc"), [540, 351, 9]))
    table["x0"] += 2.0 * (table["y"] == "b") + 1.0 * (table["y"] == "c")
    monkeypatch.setattr(headers, "MAX_SUMMARY_PAIRS", 900)
    monkeypatch.setattr(headers, "MIN_SUMMARY_ROWS", 300)
    fit = knn("y ~ .", table, k=5, prior=[0.2, 0.3, 0.5])
    rates = fit.error_rates(["loo"], by_class=True)
    sampled = headers.sampled_error_rate(fit._fit, "loo")
    assert sampled.total == 180 + 117 + 9
    assert sampled.by_class[2] == pytest.approx(rates.loc["loo", "c"])
    assert abs(sampled.estimate - rates.loc["loo", "estimate"]) < 4 * sampled.se


def test_sample_of_a_summary_is_at_most_half_of_the_rows_that_are_used(monkeypatch):
    table = simulate_classes(600, 3, 2)[2]
    monkeypatch.setattr(headers, "MAX_SUMMARY_PAIRS", 600)
    monkeypatch.setattr(headers, "MIN_SUMMARY_ROWS", 200)
    fit = knn("y ~ .", table, k=5)._fit
    assert headers.sampled_error_rate(fit, "loo").total == 202
    unlabelled = table.astype({"y": object})
    unlabelled.loc[unlabelled.index[::2], "y"] = None
    fit = knn("y ~ .", unlabelled, k=5)._fit
    with monkeypatch.context() as context:
        context.setattr(type(fit.spec), "leave_one_out_of_rows", None)
        assert headers.sampled_error_rate(fit, "loo") is None


def test_note_on_the_sample_is_about_the_rates_that_the_summary_shows(monkeypatch):
    table = simulate_classes(600, 3, 2)[2]
    monkeypatch.setattr(headers, "MAX_SUMMARY_PAIRS", 600)
    monkeypatch.setattr(headers, "MIN_SUMMARY_ROWS", 200)
    # Leave-one-out is not supported if k is the number of rows.
    text = " ".join(str(knn("y ~ .", table, k=600).summary()).split())
    assert "Error, leave-one-out not available" in text
    assert "The resubstitution error is estimated from a random sample of 202 observations" in text
    monkeypatch.setattr(validation, "MAX_SUMMARY_OPERATIONS", 1.0)
    for k in (5, 600):
        text = " ".join(str(knn("y ~ .", table, k=k).summary()).split())
        assert text.count("see error_rates()") == 2
        assert "random sample" not in text


def test_interrupted_summary_does_not_change_the_next_one(monkeypatch):
    table = simulate_classes(600, 3, 2)[2]
    monkeypatch.setattr(headers, "MAX_SUMMARY_PAIRS", 600)
    monkeypatch.setattr(headers, "MIN_SUMMARY_ROWS", 200)
    expected = str(knn("y ~ .", table, k=5).summary())
    fit = knn("y ~ .", table, k=5)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(type(fit._fit.spec), "leave_one_out_of_rows", interrupt)
        with pytest.raises(KeyboardInterrupt):
            str(fit.summary())
    assert str(fit.summary()) == expected


def test_plane_of_many_rows_draws_kernels_of_a_stated_sample(monkeypatch):
    table = simulate_classes(600, 3, 2)[2]
    fit = kernel_density("y ~ .", table)
    assert "from a sample" not in fit.plot("regions").get_title()
    monkeypatch.setattr(models_kernel_density, "MAX_PLANE_KERNELS", 300)
    title = " ".join(fit.plot("regions").get_title().split())
    estimates = fit._fit.estimates.sampled(300, 20)
    sizes = np.array([len(class_points.weights) for class_points in estimates.points_by_class])
    assert f"densities from a sample of {sizes.sum()} rows" in title
    np.testing.assert_allclose(sizes, fit.counts / 2, atol=2)
    # The weights stand for all rows, and the densities are about the same.
    weights = [class_points.weights.sum() for class_points in estimates.points_by_class]
    np.testing.assert_allclose(weights, fit.counts, rtol=1e-12)
    x = table[["x0", "x1", "x2"]].to_numpy()
    sampled, complete = (e.rule(np.zeros(2)).scores(x) for e in (estimates, fit._fit.estimates))
    np.testing.assert_array_less(np.quantile(np.abs(sampled - complete), [0.5, 0.9]), [0.25, 0.6])
    assert fit._fit.estimates.sampled(600, 100) is fit._fit.estimates
