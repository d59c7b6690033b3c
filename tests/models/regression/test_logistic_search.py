"""The search of logistic regression and separated classes, on data that nothing was tuned on."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special

from discrim import compare, hausman, lda, load, logistic
from discrim.core.hyperplanes.separation import decide_separation, standardize_rows
from discrim.datasets import load_iris, load_wine
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimWarning,
    NotSupportedError,
    SeparationError,
    SeparationWarning,
)
from tests import support
from tests.turns import one_in


def table(file: str) -> pd.DataFrame:
    return support.classic_table(file)


# ------------------------------------------------------------------ bias reduction

CIRCLING = pd.DataFrame(
    [
        *[("n", 1, 0), ("y", 0, 0), ("y", 1, 0), ("y", 1, 0), ("y", 1, 1), ("n", 1, 1), ("y", 1, 0)],
        *[("y", 1, 1), ("y", 1, 1)],
    ],
    columns=["answer", "a", "b"],
)
"""Nine rows of which the penalty's own curvature exceeds the information."""


def penalized(b: np.ndarray, z: np.ndarray, y: np.ndarray) -> float:
    """Minus Firth's penalized log-likelihood of two classes, by its definition."""
    p = special.expit(z @ b)
    information = (z * (p * (1 - p))[:, None]).T @ z
    return -float(
        special.log_expit(np.where(y, 1, -1) * (z @ b)).sum() + np.linalg.slogdet(information)[1] / 2
    )


def test_the_firth_search_does_not_oscillate():
    fit = logistic("answer ~ a + b", CIRCLING, bias_reduction=True)
    z = np.column_stack([np.ones(9), CIRCLING[["a", "b"]]])
    y = (CIRCLING["answer"] == "y").to_numpy()
    best = optimize.minimize(
        penalized, np.zeros(3), (z, y), method="BFGS", jac="3-point", options={"gtol": 1e-9}
    )
    np.testing.assert_allclose(fit.params.to_numpy()[:, 0], best.x, atol=1e-7)
    # R 4.2.2: coef(glm(answer ~ a + b, binomial, method = brglm2::brglmFit, type = "AS_mean")).
    np.testing.assert_allclose(fit.params.to_numpy()[:, 0], [1.09861228867, -0.251314428281, 0.0], atol=1e-10)


def test_separated_classes_have_firth_estimates():
    glass = table("MASS_fgl")
    fit = logistic("type ~ .", glass, bias_reduction=True)
    assert fit.separation.kind == "quasi"
    x = glass[list(fit.terms)].to_numpy()
    z = np.column_stack([np.ones(len(x)), (x - x.mean(axis=0)) / x.std(axis=0)])
    y = np.eye(6)[fit.classes.get_indexer(glass["type"])]

    def value(flat: np.ndarray) -> float:
        eta = np.column_stack([np.zeros(len(z)), z @ flat.reshape(10, 5)])
        p = special.softmax(eta, axis=1)[:, 1:]
        blocks = [[z.T @ (z * (p[:, k] * ((k == m) - p[:, m]))[:, None]) for m in range(5)] for k in range(5)]
        return float(
            (y * special.log_softmax(eta, axis=1)).sum() + np.linalg.slogdet(np.block(blocks))[1] / 2
        )

    best = fit.params.to_numpy()
    best = np.vstack([best[0] + x.mean(axis=0) @ best[1:], best[1:] * x.std(axis=0)[:, None]]).ravel()
    slope = [(value(best + e) - value(best - e)) / 2e-4 for e in 1e-4 * np.eye(50)]
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)


# ------------------------------------------------------------------ separation


def lone(n: int, rows: int) -> pd.DataFrame:
    """Two classes of which the first rows, all of the second, have an indicator of their own."""
    rng = np.random.default_rng(0)
    first = np.arange(n) < rows
    return pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "own": first.astype(float),
            "y": np.where(first | (rng.random(n) < 0.5), "b", "a"),
        }
    )


@pytest.mark.parametrize("tol", [0.9, 0.1, 1e-3, 1e-6, 1e-12])
def test_separation_is_detected_at_any_tolerance(tol):
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ x + own", lone(400, 5), tol=tol)
    assert "'own'" in str(caught.value)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
@pytest.mark.parametrize("total", [1e-8, 1e-3, 1e8])
def test_separation_is_detected_with_any_weights(total):
    data = lone(200, 5)
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ x + own", data, weights=np.full(200, total / 200))
    assert "'own'" in str(caught.value)
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ x + own", data, weights=np.where(data["own"] == 1, total, 1.0))
    assert "'own'" in str(caught.value)


@pytest.mark.slow
def test_one_row_among_many_of_a_rare_class_is_found_separated():
    data = lone(300_000, 1)
    data["y"] = np.where(data.index < 300_000 - 3, "a", "b")
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ own", data)
    assert "'own'" in str(caught.value)


@one_in(2, {"smaller": [False, True], "tol": [1e-300, 1e-16, 0.999]})
def test_a_tolerance_below_rounding_error_is_raised(tol, smaller):
    data = lone(400, 0).drop(columns="own")
    fit, usual = (logistic("y ~ x", data, tol=t, bias_reduction=smaller) for t in (tol, 1e-8))
    off = (fit.params - usual.params).abs() / usual.bse
    assert (off < max(1e-9, tol)).all(axis=None)


@pytest.mark.parametrize("options", [{"tol": "small"}, {"tol": np.nan}, {"maxiter": True}, {"maxiter": 2.5}])
def test_steps_and_tolerances_are_numbers(options):
    with pytest.raises(DataError, match=f"{next(iter(options))}="):
        logistic("y ~ x", lone(40, 0), **options)


def test_steps_may_be_numpy_s_integer():
    assert logistic("y ~ x", lone(40, 0), maxiter=np.int64(20)).nobs == 40


# ------------------------------------------------------------------ beside LDA


def log_odds_of(*fits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        return compare(*fits).log_odds()


def test_hausman_requires_fits_to_the_same_rows():
    data = lone(400, 0).drop(columns="own")
    linear, logit = lda("y ~ x", data), logistic("y ~ x", data)
    with pytest.raises(DataError) as caught:
        hausman(logit, linear)
    assert "order" in str(caught.value)
    fewer = logistic("y ~ x", data.iloc[:300])
    with pytest.raises(DataError) as caught:
        hausman(linear, fewer)
    assert "differ" in str(caught.value)
    with pytest.raises(DataError) as caught:
        log_odds_of(linear, fewer)
    assert "300" in str(caught.value)
    assert "400" in str(caught.value)


def test_infinite_estimates_are_not_compared():
    data = load_wine()
    formula = "cultivar ~ ."
    with pytest.warns(SeparationWarning):
        logit = logistic(formula, data, separation="warn")
    for judge in (hausman, log_odds_of):
        with pytest.raises(NotSupportedError) as caught:
            judge(lda(formula, data), logit)
        assert "bias_reduction=True" in str(caught.value)


# ------------------------------------------------------------------ the linear program


@pytest.mark.parametrize("seed", range(3))
def test_the_starting_point_does_not_decide_separation(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, size=(40, 2)).astype(float)
    codes = (x @ rng.normal(size=(2, 3)) + 0.3 * (seed % 3) * rng.gumbel(size=(40, 3))).argmax(axis=1)
    codes = np.unique(codes, return_inverse=True)[1]
    k = int(codes.max()) + 1
    columns = standardize_rows(x).columns
    without = decide_separation(columns, codes, k)
    for _ in range(5):
        result = decide_separation(columns, codes, k, rng.normal(size=(3, k)))
        assert result.separation_type == without.separation_type
        np.testing.assert_array_equal(result.on_plane, without.on_plane)


# ------------------------------------------------------------------ where a search stops, what is dropped


def test_a_search_of_separated_classes_stops_near_the_supremum():
    # Setosa is apart from the others, whose own likelihood has a maximum: the supremum of all three.
    iris = load_iris()
    with pytest.warns(SeparationWarning):
        fit = logistic("species ~ .", iris, separation="warn")
    others = logistic("species ~ .", iris[50:].astype({"species": str}))
    assert fit.llf == pytest.approx(others.llf, abs=1e-5)
    np.testing.assert_array_equal(fit.predict()[50:], others.predict())
    assert (fit.predict()[:50] == "setosa").all()


def test_a_search_does_not_start_from_slopes_that_rounding_made():
    # Within classes the columns are collinear, so that the slopes of LDA are of the size of 1/eps.
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.random((9, 6)).repeat(3, axis=0)).add_prefix("x")
    data["y"] = np.repeat(list("abc"), 9)
    with pytest.warns(SeparationWarning):
        fit = logistic("y ~ .", data, separation="warn")
    assert fit.params.abs().to_numpy().max() < 1e6
    assert (fit.predict() == data["y"]).all()


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
@one_in(2, {"seed": [2, 3], "exponent": [9.5, 11, 12, 12.5, 13.5, 14, 14.5]})
def test_weights_of_any_size_have_the_estimates_of_one(seed, exponent):
    # Beside the maximum a sum of such weights moves by rounding, and no step leads up by it.
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((200, 4))
    odds = x @ rng.standard_normal((4, 4)) + rng.gumbel(size=(200, 4))
    data = pd.DataFrame(x, columns=list("abcd")).assign(y=odds.argmax(axis=1).astype(str))
    plain, heavy = (logistic("y ~ .", data, weights=np.full(200, w)) for w in (1.0, 10.0**exponent))
    assert ((plain.params - heavy.params).abs() / plain.bse).to_numpy().max() < 1e-8
    assert heavy.llf / 10.0**exponent == pytest.approx(plain.llf, rel=1e-10)


@pytest.mark.parametrize("maxiter", range(1, 18, 2))
def test_unconverged_fits_are_refused(maxiter):
    # By symmetry the line goes through zero; the search gives up near a separation, and goes on after it.
    x = np.r_[np.linspace(-1, -0.1, 50), 1e-6, -1e-6, np.linspace(0.1, 1, 50)]
    data = pd.DataFrame({"x": x, "y": np.repeat(["a", "b"], 51)})
    with pytest.raises(DataError, match=rf"not converged in {maxiter} step.*Increase maxiter=\."):
        logistic("y ~ x", data, maxiter=maxiter)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_rounding_failures_are_reported():
    # The heavy rows are separated by one step, which leaves the light ones far out, where they tell nothing.
    rng = np.random.default_rng(103)
    k, p, n = int(rng.integers(2, 7)), int(rng.integers(1, 9)), int(rng.integers(12, 60))
    y = np.arange(n) % k
    x = rng.standard_normal((n, p)) + (rng.standard_normal((k, p)) * rng.choice([0, 1, 3, 10]))[y]
    weights = rng.choice([1, 1, 1, 1e-3, 1e3], size=n)
    data = pd.DataFrame(x).add_prefix("x").assign(y=y.astype(str))
    assert logistic("y ~ .", data)._fit.estimates.newton.converged
    with pytest.raises(DataError) as caught:
        logistic("y ~ .", data, weights=weights)
    assert "rounding" in str(caught.value)
    assert "weights" in str(caught.value)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
@pytest.mark.parametrize("seed", range(6))
def test_separated_rows_of_unlike_weights_have_their_labels(seed):
    rng = np.random.default_rng(seed)
    n, k = 30 + seed % 3 * 20, 2 + seed % 4
    p = int(0.8 * n) if seed % 2 else n + 5
    data = pd.DataFrame(rng.standard_normal((n, p))).add_prefix("x").assign(y=(np.arange(n) % k).astype(str))
    with pytest.warns(SeparationWarning):
        fit = logistic(
            "y ~ .", data, weights=10 ** rng.uniform(-3, 3, n), separation="warn", collinear="drop"
        )
    assert (fit.predict() == data["y"]).all()


@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
def test_collinear_columns_are_dropped_as_by_the_formula_without_them(tmp_path):
    iris = load_iris()[50:].astype({"species": str})
    twice = iris.assign(sum=iris["sepal_width"] + iris["petal_width"], none=0.0)
    with pytest.raises(CollinearError) as caught:
        logistic("species ~ .", twice)
    assert caught.value.columns == ("sum",)
    with pytest.warns(DiscrimWarning) as message:
        fit = logistic("species ~ .", twice, collinear="drop")
    assert [str(each.message).split(":")[0] for each in message] == ["Left out 'none'", "Dropped 'sum'"]
    plain = logistic("species ~ .", iris)
    pd.testing.assert_frame_equal(fit.params, plain.params)
    pd.testing.assert_frame_equal(fit.lr_test(by="term"), plain.lr_test(by="term"))
    printed = " ".join(str(fit.summary()).split())
    assert "Dropped, collinear over all rows: 'sum'." in printed
    assert "Dropped, constant 'none'" in printed
    fit.save(tmp_path / "fit")
    np.testing.assert_allclose(load(tmp_path / "fit").predict_proba(twice), plain.predict_proba(), rtol=1e-10)


def test_more_columns_than_rows_keep_as_many_as_separate():
    rng = np.random.default_rng(3)
    data = pd.DataFrame(rng.normal(size=(12, 20))).add_prefix("x").assign(y=list("abc") * 4)
    with pytest.raises(CollinearError) as caught:
        logistic("y ~ .", data, separation="warn")
    assert "12" in str(caught.value)
    with pytest.warns(DiscrimWarning) as message:
        fit = logistic("y ~ .", data, separation="warn", collinear="drop")
    assert [str(each.message).split()[0] for each in message] == ["Dropped", "A"]
    assert fit.terms.tolist() == [f"x{j}" for j in range(11)]
    assert fit.llf == pytest.approx(0, abs=1e-5)
    assert (fit.predict() == data["y"]).all()


def rare_marks(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two columns that all but separate four classes, two of them rare, and marks that few rows have."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(4, 400, p=[0.5, 0.42, 0.06, 0.02])
    codes[:4] = np.arange(4)
    near = rng.normal(size=(400, 2)) * [1.0, 0.3] + 3 * rng.normal(size=(4, 2))[codes]
    marks = [rng.random(400) < proportion for proportion in (0.003, 0.01, 0.01, 0.02, 0.3)]
    return np.column_stack([near, *marks]).astype(float), codes


def penalized_by_definition(coef: np.ndarray, x: np.ndarray, codes: np.ndarray) -> float:
    """The log-likelihood and half the log-determinant of the information, of (p + 1, K - 1) coefficients."""
    z = np.column_stack([np.ones(len(x)), x])
    odds = np.column_stack([np.zeros(len(x)), z @ coef])
    logs = odds - np.logaddexp.reduce(odds, axis=1, keepdims=True)
    p = np.exp(logs)[:, 1:]
    spread = np.einsum("ia,ab->iab", p, np.eye(p.shape[1])) - np.einsum("ia,ib->iab", p, p)
    information = np.einsum("iab,ij,ik->ajbk", spread, z, z).reshape(coef.size, coef.size)
    return float(logs[np.arange(len(x)), codes].sum() + 0.5 * np.linalg.slogdet(information)[1])


@pytest.mark.parametrize("seed", [1, 3, 4, 9])
def test_the_firth_search_converges_for_rare_indicators(seed):
    """Its steps lost the information: LinAlgError, or not converged in 2 or 3 steps of 1,000."""
    x, codes = rare_marks(seed)
    frame = pd.DataFrame(x, columns=list("abcdefg")).assign(y=codes)
    fit = logistic("y ~ .", frame, bias_reduction=True, collinear="drop")
    used, coef = frame[list(fit.terms)].to_numpy(), fit.params.to_numpy()
    top, error = penalized_by_definition(coef, used, codes), fit.bse.to_numpy()
    for j, k in np.ndindex(coef.shape):
        step = np.zeros_like(coef)
        step[j, k] = 1e-4 * error[j, k]
        up = penalized_by_definition(coef + step, used, codes) - top
        down = penalized_by_definition(coef - step, used, codes) - top
        # A slope of less than 1e-5 in standard errors, and a curvature that goes down.
        assert abs(up - down) < 2e-8
        assert up + down < 0
