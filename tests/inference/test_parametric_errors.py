"""Error rates by the normal model under costs of every kind: against grids, simulation and definitions."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from discrim import LDAResults, lda, naive_bayes, qda
from discrim.datasets import load_iris, load_wine
from discrim.errors import DataError, MissingPredictionWarning
from discrim.inference.error_rates import confusion_counts
from discrim.inference.parametric_errors import multiclass_error_rate, two_class_error_rate

IRIS = load_iris()
TWO = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
NAMES = ["D", "DS", "O", "OS"]

COSTS_OF_TWO = {
    "on the diagonal": [[1, 3], [2, 0.5]],
    "above one": [[0, 50], [10, 0]],
    "one for an error": [[0, 1], [1, 0]],
    "all on the diagonal": [[2, 1], [1, 3]],
    "an error for free": [[0, 0], [1, 0]],
    "all alike": [[1, 1], [1, 1]],
    "one class always dearer": [[1, 0], [5, 5]],
    "errors rewarded": [[5, 1], [2, 4]],
}


@cache
def fine_grid(d: float, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return exp(-factor z^2 / 2) for normals at d and 0 on a grid, and their probabilities of its cells."""
    x = np.linspace(-9, 9 + d, 300_001)
    logs = np.stack([-((x - d) ** 2) / 2, -(x**2) / 2])
    return np.exp(factor * logs), np.exp(logs) / np.sqrt(2 * np.pi) * (x[1] - x[0])


def on_a_grid(d: float, prior: np.ndarray, costs: np.ndarray, factor: float = 1.0) -> np.ndarray:
    """Mean costs by class of the rule of least expected cost between normals at d and 0, on a fine grid."""
    densities, probabilities = fine_grid(d, factor)
    first, second = (prior * costs.T) @ densities
    mass = probabilities @ (first <= second)
    return costs[:, 0] * mass + costs[:, 1] * (probabilities.sum(axis=1) - mass)


@cache
def fit_two(prior: tuple[float, float], method: str) -> LDAResults:
    return lda("species ~ sepal_length + sepal_width", TWO, prior=list(prior), method=method)


@pytest.mark.parametrize("kind", COSTS_OF_TWO)
@pytest.mark.parametrize("prior", [(0.5, 0.5), (0.85, 0.15), (0.0, 1.0), (1.0, 0.0)])
def test_two_class_costs_agree_with_a_fine_grid(kind, prior):
    costs = np.array(COSTS_OF_TWO[kind], dtype=float)
    for method in ("moment", "mle"):
        fit = fit_two(prior, method)
        d = float(np.sqrt(fit.distances()["D2"].iloc[0]))
        got = fit.error_rates(["D", "DS"], costs=costs, by_class=True)
        for name, shrink in (("D", 1.0), ("DS", (98 - 3) / 98)):
            # The divisor N makes the rule's densities narrower than the truth.
            grid_costs = on_a_grid(
                d * np.sqrt(shrink), np.array(prior), costs, 100 / 98 if method == "mle" else 1.0
            )
            np.testing.assert_allclose(got.loc[name, list(fit.classes)].astype(float), grid_costs, atol=2e-4)
            assert got.loc[name, "estimate"] == pytest.approx(grid_costs @ prior, abs=2e-4)


@cache
def estimated_rules(gap: float, counts: tuple[float, float], nu: int) -> tuple[np.ndarray, np.ndarray]:
    """Return slope lengths (size,) of simulated rules, and scores of the true means (2, size) by them."""
    rng, size, p = np.random.default_rng(1), 20_000, 3
    truth = np.array([[gap, 0.0, 0.0], [0.0, 0.0, 0.0]])
    means = truth + rng.standard_normal((size, 2, p)) / np.sqrt(counts)[:, None]
    noise = rng.standard_normal((size, nu, p))
    within = np.swapaxes(noise, 1, 2) @ noise / nu
    slopes = np.linalg.solve(within, (means[:, 0] - means[:, 1])[..., None])[..., 0]
    centres = ((truth[:, None] - means.mean(axis=1)) * slopes).sum(axis=2)
    return np.linalg.norm(slopes, axis=1), centres


@pytest.mark.parametrize("kind", COSTS_OF_TWO)
def test_expected_costs_of_an_estimated_rule_agree_with_a_simulation(kind):
    costs, counts, p, nu, gap = np.array(COSTS_OF_TWO[kind], float), np.array([60.0, 40.0]), 3, 98, 1.8
    prior = np.array([0.7, 0.3])
    length, centres = estimated_rules(gap, tuple(counts), nu)
    regret = np.array([costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]])
    # The first class is called where pi_1 f_1 regret_1 > pi_2 f_2 regret_2, and in a tie.
    paid = np.empty(2)
    for k in (0, 1):
        if (regret > 0).all() or (regret < 0).all():
            cut = np.log(prior[1] * regret[1] / (prior[0] * regret[0]))
            first = stats.norm.sf((cut - centres[k]) / length)
            first = first if regret[0] > 0 else 1 - first
        else:
            first = np.full(len(length), float(regret[0] >= 0 and regret[1] <= 0))
        paid[k] = costs[k, 0] * first.mean() + costs[k, 1] * (1 - first.mean())
    with np.errstate(divide="ignore"):
        error_rate = two_class_error_rate(
            gap**2, counts, nu, p, np.log(prior), costs, 0.95, shrunk=False, expected=True
        )
    # The expansion leaves terms of second order of the probabilities.
    np.testing.assert_allclose(error_rate.by_class, paid, rtol=0, atol=6e-4 * costs.max())
    assert error_rate.estimate == pytest.approx(prior @ error_rate.by_class)


def test_mean_costs_above_one_have_intervals_and_class_costs():
    costs = np.array([[1, 3], [2, 0.5]])
    fit = lda("species ~ sepal_length + sepal_width", TWO)
    got = fit.error_rates([*NAMES, "apparent", "loo", "cv", "632+"], costs=costs, by_class=True, seed=0)
    # Costs on the diagonal are paid by whoever is right: the methods agree about what is estimated.
    assert got["estimate"].max() - got["estimate"].min() < 0.1
    assert (got["low"] < got["estimate"]).all()
    assert (got["estimate"] < got["high"]).all()
    by_class = got[list(fit.classes)]
    assert (by_class["versicolor"] > 1).all()
    assert (by_class.max(axis=0) - by_class.min(axis=0) < 0.3).all()
    dear = fit.error_rates([*NAMES, "632+"], costs=20 * costs, seed=0)
    assert dear["low"].between(5, dear["estimate"]).all()


COSTS_OF_THREE = [
    None,
    [[0, 1, 5], [2, 0, 1], [1, 8, 0]],
    [[1, 2, 3], [4, 1, 1], [2, 2, 2]],
    [[0, 0, 1], [0, 0, 1], [1, 1, 0]],
]


@cache
def simulated_posteriors(
    formula: str, prior: tuple[float, ...] | None
) -> tuple[LDAResults, list[np.ndarray]]:
    """Return a fit to the iris data, and its posteriors of rows that are drawn from each of its classes."""
    fit = lda(formula, IRIS, prior=prior)
    rng, n, root = np.random.default_rng(3), 60_000, np.linalg.cholesky(fit.cov)
    draws = [mean + rng.standard_normal((n, len(fit.terms))) @ root.T for mean in fit.means.to_numpy()]
    return fit, [fit.predict_proba(pd.DataFrame(x, columns=fit.terms)).to_numpy() for x in draws]


@pytest.mark.parametrize("costs", COSTS_OF_THREE)
@pytest.mark.parametrize("prior", [None, (0, 0.5, 0.5)])
@pytest.mark.parametrize(
    "formula", ["species ~ .", "species ~ sepal_length + sepal_width", "species ~ sepal_width"]
)
def test_three_class_rates_agree_with_simulated_rows(costs, prior, formula):
    fit, posteriors = simulated_posteriors(formula, prior)
    got = fit.error_rates(["D"], costs=costs, by_class=True).loc["D"]
    again = fit.error_rates(["D"], costs=costs, by_class=True).loc["D"]
    pd.testing.assert_series_equal(got, again)
    paid = 1 - np.eye(3) if costs is None else np.array(costs, dtype=float)
    for k, label in enumerate(fit.classes):
        row_costs = paid[k, (posteriors[k] @ paid).argmin(axis=1)]
        error = row_costs.std() / np.sqrt(len(row_costs))
        assert got[label] == pytest.approx(row_costs.mean(), abs=4.5 * error + 1e-4)
    assert got["estimate"] == pytest.approx(fit.prior @ got[list(fit.classes)].astype(float))


def test_collinear_means_are_exact_and_planar_means_nearly():
    # On a line the borders are the midpoints: each class errs on either side of it.
    means, counts = np.array([[0.0], [1.5], [4.0]]), np.full(3, 40.0)
    error_rate = multiclass_error_rate(
        means, counts, 117, np.log(np.full(3, 1 / 3)), None, 0.95, shrunk=False, density_factor=1.0
    )
    tail = stats.norm.sf
    expected = [tail(0.75), tail(0.75) + tail(1.25), tail(1.25)]
    np.testing.assert_allclose(error_rate.by_class, expected, rtol=1e-13)
    # At the corners of a triangle the region of a corner is a wedge, by symmetry that of the first.
    angle = 2 * np.pi * np.arange(3) / 3
    corners = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    error_rate = multiclass_error_rate(
        corners, counts, 117, np.log(np.full(3, 1 / 3)), None, 0.95, shrunk=False, density_factor=1.0
    )
    half = np.sqrt(12) / 2
    both = stats.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]]).cdf([half, half])
    np.testing.assert_allclose(error_rate.by_class, 1 - both, rtol=1e-6)


def test_four_classes_in_three_dimensions_agree_with_simulated_rows():
    wine = load_wine().assign(half=lambda t: t["cultivar"].astype(str) + (t.index % 2).astype(str))
    fit = lda("half ~ alcohol + ash + hue + proline", wine[wine["half"] != wine["half"].iloc[-1]])
    assert len(fit.classes) >= 4
    got = fit.error_rates(["D"]).loc["D"]
    rng, root, wrong = np.random.default_rng(0), np.linalg.cholesky(fit.cov), []
    for k, label in enumerate(fit.classes):
        x = fit.means.to_numpy()[k] + rng.standard_normal((40_000, 4)) @ root.T
        wrong.append((fit.predict(pd.DataFrame(x, columns=fit.terms)) != label).mean())
    assert got["estimate"] == pytest.approx(float(fit.prior @ wrong), abs=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize("costs", [None, [[0, 1, 5], [2, 0, 1], [1, 8, 0]]])
def test_the_standard_error_agrees_with_samples(costs):
    means, counts, nu = np.array([[0.0, 0.0], [2.0, 0.0], [0.5, 1.5]]), np.array([60.0, 50.0, 70.0]), 177
    costs = None if costs is None else np.array(costs, dtype=float)
    log_prior = np.log(counts / counts.sum())

    def rate(of):
        return multiclass_error_rate(of, counts, nu, log_prior, costs, 0.95, shrunk=False, density_factor=1.0)

    rng, estimates = np.random.default_rng(2), []
    for _ in range(40 if costs is not None else 60):
        noise = rng.standard_normal((nu, 2))
        root = np.linalg.cholesky(noise.T @ noise / nu)
        sampled_means = means + rng.standard_normal(means.shape) / np.sqrt(counts)[:, None]
        estimates.append(rate(np.linalg.solve(root, sampled_means.T).T).estimate)
    assert rate(means).se == pytest.approx(np.std(estimates, ddof=1), rel=0.25)


@pytest.mark.parametrize("costs", [None, [[0.0, 4.0], [1.0, 0.0]], [[1.0, 3.0], [2.0, 0.5]]])
def test_two_class_and_multiclass_rates_agree(costs):
    means, counts, log_prior = np.array([[1.7, 0.3], [0.0, 0.0]]), np.array([50.0, 30.0]), np.log([0.6, 0.4])
    costs = None if costs is None else np.array(costs)
    for shrunk in (False, True):
        closed = two_class_error_rate(
            1.7**2 + 0.3**2, counts, 78, 2, log_prior, costs, 0.95, shrunk=shrunk, expected=False
        )
        road = multiclass_error_rate(
            means, counts, 78, log_prior, costs, 0.95, shrunk=shrunk, density_factor=1.0
        )
        exact = costs is None
        np.testing.assert_allclose(road.by_class, closed.by_class, rtol=1e-12 if exact else 1e-3)
        # The cut by unequal shares moves with the distance, of which the best rule feels nothing.
        assert road.se == pytest.approx(closed.se, rel=1e-12 if exact else 5e-3)
        assert road.low == pytest.approx(closed.low, rel=1e-10 if exact else 5e-3)


# ------------------------------------------------------------------ rows without a label


def rare_levels() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "g": np.where(np.arange(40) == 7, "rare", rng.choice(list("uvw"), 40)),
            "h": np.where(np.arange(40) == 30, "odd", rng.choice(list("st"), 40)),
            "y": np.repeat(["a", "b"], 20),
        }
    )


@pytest.mark.slow
def test_632_plus_omits_rows_without_a_bootstrap_prediction():
    data = rare_levels()
    fit = naive_bayes("y ~ g + h", data, laplace=0)
    with pytest.warns(MissingPredictionWarning):
        got = fit.error_rates(["632+"], replicates=60, seed=5).loc["632+", "estimate"]
    rng, codes = np.random.default_rng(5), (data["y"] == "b").to_numpy().astype(int)
    losses, n_outside = np.zeros(40), np.zeros(40)
    for _ in range(60):
        draw_counts = np.zeros(40)
        for k in (0, 1):
            rows = np.flatnonzero(codes == k)
            draw_counts[rows] = np.bincount(rng.integers(20, size=20), minlength=20)
        sample = data.loc[data.index.repeat(draw_counts.astype(int))]
        tables = {
            c: pd.crosstab(sample[c], sample["y"], normalize="columns").reindex(data[c].unique()).fillna(0.0)
            for c in "gh"
        }
        chances = 0.5 * tables["g"].loc[data["g"]].to_numpy() * tables["h"].loc[data["h"]].to_numpy()
        out = (draw_counts == 0) & (chances.max(axis=1) > 0)
        losses[out] += (chances.argmax(axis=1) != codes)[out]
        n_outside[out] += 1
    outside = np.mean(losses[n_outside > 0] / n_outside[n_outside > 0])
    counts = fit.confusion().to_numpy()
    apparent = 1 - np.trace(counts) / counts.sum()
    gamma = 1 - float(counts.sum(axis=1) @ counts.sum(axis=0)) / counts.sum() ** 2
    relative = (min(outside, gamma) - apparent) / (gamma - apparent)
    weight = 0.632 / (1 - 0.368 * relative)
    assert n_outside[7] == n_outside[30] == 0
    # All shares of rows but those of the two that are never judged.
    assert got == pytest.approx((1 - weight) * apparent + weight * min(outside, gamma), rel=1e-9)


def test_invalid_class_codes_are_not_counted():
    actual, predicted = np.array([0, 1, 1, -1, 0, 1]), np.array([0, 1, -1, 0, 2, 3])
    assert confusion_counts(actual, predicted, 2).tolist() == [[1, 0], [0, 1]]


def test_the_level_is_validated_for_every_rate():
    for verb, method in product((lda, qda), ("apparent", "posterior")):
        with pytest.raises(DataError) as caught:
            verb("species ~ .", IRIS).error_rates([method], level=95)
        assert "level=95" in str(caught.value)
