"""Maps from scores to posteriors: those of scikit-learn and statsmodels, a known law, identities, errors."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.calibration import _SigmoidCalibration

from discrim.core.errors import CoreDataError, CoreNotSupportedError
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import calibration
from discrim.core.rules.calibration import KINDS, Calibrator, Kind, fit_calibrator
from discrim.core.rules.rules import CalibratedRule
from tests.support import is_older_than


def sample(n: int, k: int, spread: float = 2.0, seed: int = 0) -> tuple[Floats, Codes]:
    """Log posteriors (n, k) that are true, and classes drawn by them."""
    rng = np.random.default_rng(seed)
    logs = log_softmax(rng.normal(scale=spread, size=(n, k)), axis=1)
    return logs, (logs + rng.gumbel(size=logs.shape)).argmax(axis=1)


def log_loss(calibrator: Calibrator, scores: Floats, codes: Codes) -> float:
    logs = log_softmax(calibrator.scores(scores), axis=1)
    return -float(logs[np.arange(len(codes)), codes].mean())


def proba(calibrator: Calibrator, scores: Floats) -> Floats:
    return np.asarray(softmax(calibrator.scores(scores), axis=1))


# ---- equal to others, where there are no penalties


def test_vector_of_two_classes_is_statsmodels_logit_and_platts() -> None:
    logs, codes = sample(300, 2)
    lead = 3 * (logs[:, 1] - logs[:, 0])
    found = fit_calibrator(3 * logs, codes, kind="vector", penalized=False)
    logit = sm.Logit(codes, sm.add_constant(lead)).fit(disp=0, tol=1e-12, method="newton")
    assert [np.diff(found.intercepts)[0], found.slope] == pytest.approx(logit.params, rel=1e-7)
    # Platt's targets move the estimates of many rows by little.
    many, classes = sample(20_000, 2, seed=1)
    platt = _SigmoidCalibration().fit(many[:, 1] - many[:, 0], classes)
    near = fit_calibrator(many, classes, kind="vector")
    assert [-platt.a_, -platt.b_] == pytest.approx([near.slope, np.diff(near.intercepts)[0]], abs=0.01)


def test_temperature_is_scikit_learns() -> None:
    import sklearn

    if is_older_than(sklearn, 1, 8):
        pytest.skip("scikit-learn scales temperatures since 1.8")
    from sklearn.calibration import _TemperatureScaling

    logs, codes = sample(400, 3)
    theirs = _TemperatureScaling().fit(2.5 * logs, codes)
    found = fit_calibrator(2.5 * logs, codes, kind="temperature", penalized=False)
    assert found.slope == pytest.approx(theirs.beta_, rel=1e-4)


def test_multinomial_is_statsmodels_mnlogit() -> None:
    logs, codes = sample(500, 3, spread=1.0)
    found = fit_calibrator(logs, codes, kind="multinomial", penalized=False)
    centred = logs - logs.mean(axis=1, keepdims=True)
    fit = sm.MNLogit(codes, sm.add_constant(centred[:, :2])).fit(disp=0, method="newton", tol=1e-12)
    assert proba(found, logs) == pytest.approx(fit.predict(), abs=1e-7)


# ---- the penalties, by brute force


def penalized_temperature(leads: Floats, codes: Codes, weights: Floats) -> float:
    def loss(log_slope: Floats) -> float:
        logs = log_softmax(np.exp(log_slope[0]) * leads, axis=1)
        shares = np.exp(logs)
        mean = (shares * leads).sum(axis=1, keepdims=True)
        information = weights @ (shares * (leads - mean) ** 2).sum(axis=1)
        return float(-weights @ logs[np.arange(len(codes)), codes] - 0.5 * np.log(information))

    return float(np.exp(minimize(loss, [0.0], method="Nelder-Mead", options={"xatol": 1e-10}).x[0]))


def test_a_temperature_has_jeffreys_prior() -> None:
    logs, codes = sample(40, 3)
    weights = np.tile([1.0, 2.0], 20)
    found = fit_calibrator(logs, codes, weights, kind="temperature")
    assert found.slope == pytest.approx(penalized_temperature(logs, codes, weights), rel=1e-5)


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize(("n", "k", "seed"), [(12, 2, 0), (40, 3, 1), (100, 6, 2)])
def test_a_map_maximizes_its_penalized_likelihood(kind: Kind, n: int, k: int, seed: int) -> None:
    """The step from the maximum by the derivatives of a direct sum over rows is zero."""
    scores, codes = sample(n, k, seed=seed)
    codes[:k] = range(k)
    weights = np.random.default_rng(seed).integers(1, 4, n).astype(float)
    temperature = fit_calibrator(scores, codes, weights, "temperature")
    leads = np.maximum(scores - scores.max(axis=1, keepdims=True), -temperature.ceiling) * temperature.slope
    family = calibration._make_family(kind, temperature.intercepts, calibration._Rows(leads, codes, weights))
    params, inverse = family.maximize(penalized=True)
    design = family.design(leads)
    ridge = weights @ (design**2).max(axis=1) / weights.sum()

    def value(params: Floats) -> float:
        """Penalized log-likelihood at the parameters."""
        logs = log_softmax(design @ params, axis=1)
        llf = weights @ logs[np.arange(n), codes]
        proportions = weights[:, None] * np.exp(logs)
        means = np.einsum("nk,nkj->nj", np.exp(logs), design)
        deviations = (design - means[:, None]).reshape(n * k, -1)
        information = np.diag(ridge) + (deviations * proportions.reshape(-1, 1)).T @ deviations
        return float(
            llf + 0.5 * np.linalg.slogdet(information)[1] - 0.5 * ridge @ (params - family.centre) ** 2
        )

    units = np.sqrt(np.diagonal(inverse))
    steps = 1e-4 * np.diag(units)
    slopes = [(value(params + step) - value(params - step)) / 2e-4 for step in steps]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-6)


def test_correct_rows_count_as_half_an_error() -> None:
    leads = np.where(np.arange(2) == np.arange(100)[:, None] % 2, 50.0, 0.0)
    codes = np.arange(100) % 2
    found = fit_calibrator(leads, codes, kind="temperature")
    # Jeffreys' estimate of a share of none in a hundred.
    assert proba(found, leads)[np.arange(100), 1 - codes] == pytest.approx(0.5 / 101, rel=1e-9)
    for kind in KINDS:
        other = proba(fit_calibrator(leads, codes, kind=kind), leads)[np.arange(100), 1 - codes]
        assert 0.2 / 101 < other.min() <= other.max() < 2 / 101


@pytest.mark.parametrize("kind", KINDS)
def test_integer_weights_equal_repeated_rows(kind: Kind) -> None:
    logs, codes = sample(60, 3)
    weights = np.tile([1.0, 3.0, 2.0], 20)
    again = np.repeat(np.arange(60), weights.astype(int))
    found = fit_calibrator(logs, codes, weights, kind=kind)
    repeated = fit_calibrator(logs[again], codes[again], kind=kind)
    assert found.slope == pytest.approx(repeated.slope, rel=1e-7)
    assert proba(found, logs) == pytest.approx(proba(repeated, logs), abs=1e-7)
    assert fit_calibrator(logs, codes, weights).kind == fit_calibrator(logs[again], codes[again]).kind


# ---- a known law


@pytest.mark.parametrize("times", [0.3, 1.0, 4.0, 1e-200, 1e200])
def test_slope_corrects_overconfident_posteriors(times: float) -> None:
    logs, codes = sample(3000, 3)
    found = fit_calibrator(times * logs, codes)
    assert found.kind == "temperature"
    assert found.slope * times == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("k", [2, 4])
def test_shifted_classes_require_intercepts(k: int) -> None:
    logs, codes = sample(1500, k)
    shift = np.linspace(0.0, 2.0, k)
    found = fit_calibrator(logs - shift, codes)
    assert found.kind == "vector"
    assert found.intercepts - found.intercepts[0] == pytest.approx(shift, abs=0.25)


@pytest.mark.slow
def test_mixed_classes_require_a_matrix() -> None:
    logs, codes = sample(4000, 3)
    mixing = np.array([[1.0, 0.8, 0.0], [0.0, 1.0, 0.8], [0.8, 0.0, 1.0]])
    raw = np.linalg.solve(mixing, logs.T).T
    found = fit_calibrator(raw, codes)
    assert found.kind in ("multinomial", "dirichlet")
    new, classes = sample(4000, 3, seed=1)
    raw = np.linalg.solve(mixing, new.T).T
    best = -float(new[np.arange(4000), classes].mean())
    assert log_loss(found, raw, classes) < best + 0.01
    assert log_loss(fit_calibrator(raw, codes, kind="temperature"), raw, classes) > best + 0.05


def test_one_outlier_does_not_determine_the_map() -> None:
    logs, codes = sample(300, 2, spread=6.0)
    scores = logs.copy()
    wrong = int((logs[:, 1] - logs[:, 0]).argmax())
    scores[wrong, 0] = -5000.0
    codes[wrong] = 0
    found = fit_calibrator(scores, codes)
    assert found.ceiling < 100
    assert found.slope > 0.7


# ---- labels, and what is impossible


@pytest.mark.parametrize("kind", KINDS)
def test_row_constants_do_not_change_the_map(kind: Kind) -> None:
    logs, codes = sample(80, 3)
    found = fit_calibrator(logs, codes, kind=kind)
    assert proba(found, logs + 1000.0) == pytest.approx(proba(found, logs), abs=1e-11)


def test_a_temperature_keeps_labels() -> None:
    logs, codes = sample(200, 4)
    found = fit_calibrator(logs**3, codes, kind="temperature")
    assert (found.scores(logs**3).argmax(axis=1) == (logs**3).argmax(axis=1)).all()


@pytest.mark.parametrize("kind", [*KINDS, "auto"])
def test_scores_of_minus_infinity(kind: Kind) -> None:
    logs, codes = sample(200, 3)
    scores = np.column_stack([logs, np.full(200, -np.inf)])
    scores[:5, 0] = -np.inf
    scores[7] = -np.inf
    scores[8] = np.nan
    codes[:5] = [0, 0, 1, 2, 1]
    found = fit_calibrator(scores, codes, kind=kind)
    values = found.scores(scores)
    assert (values[:, 3] == -np.inf).all()
    assert np.isneginf(values[7]).all()
    assert np.isnan(values[8, :3]).all()
    rest = np.delete(np.arange(200), [7, 8])
    assert np.isfinite(values[rest, :3]).all()


@pytest.mark.parametrize("kind", [*KINDS, "auto"])
def test_uninformative_scores(kind: Kind) -> None:
    codes = np.repeat([0, 1, 2], [60, 30, 10])
    found = fit_calibrator(np.zeros((100, 3)), codes, kind=kind)
    expected = [1 / 3] * 3 if found.kind == "temperature" else [0.6, 0.3, 0.1]
    assert proba(found, np.zeros((1, 3)))[0] == pytest.approx(expected, abs=0.03)


def test_slope_of_log_densities_keeps_the_prior() -> None:
    rng = np.random.default_rng(0)
    log_prior = np.log([0.7, 0.2, 0.1])
    densities = rng.normal(size=(80, 3))
    codes = (densities + log_prior + rng.gumbel(size=(80, 3))).argmax(axis=1)
    scores = 3 * densities + log_prior

    def lost(log_slope: Floats) -> float:
        logs = log_softmax(np.exp(log_slope[0]) * 3 * densities + log_prior, axis=1)
        mean = (np.exp(logs) * densities).sum(axis=1, keepdims=True)
        information = (np.exp(logs) * (densities - mean) ** 2).sum()
        return float(-logs[np.arange(80), codes].sum() - 0.5 * np.log(information))

    slope = np.exp(minimize(lost, [0.0], method="Nelder-Mead", options={"xatol": 1e-10}).x[0])
    found = fit_calibrator(scores, codes, kind="temperature", log_prior=log_prior)
    expected = softmax(slope * 3 * densities + log_prior, axis=1)
    assert proba(found, scores) == pytest.approx(expected, abs=1e-6)
    # What says nothing of the classes leaves the prior alone.
    turned = fit_calibrator(log_prior - 3 * densities, codes, kind="temperature", log_prior=log_prior)
    assert proba(turned, scores) == pytest.approx(np.tile(np.exp(log_prior), (80, 1)))


def test_misleading_scores_get_zero_slope() -> None:
    logs, codes = sample(300, 2)
    assert fit_calibrator(logs[:, ::-1], codes, kind="temperature").slope == 0.0


def test_rule() -> None:
    logs, codes = sample(50, 2)

    class Same:
        def scores(self, x: Floats) -> Floats:
            return x

    calibrator = fit_calibrator(logs, codes)
    rule = CalibratedRule(Same(), calibrator, np.array([0.0, 1.0]))
    assert rule.scores(logs) == pytest.approx(calibrator.scores(logs) + np.array([0.0, 1.0]))
    assert not rule.has_impossible_rows


@pytest.mark.parametrize("seed", range(6))
def test_any_scores_have_finite_posteriors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 40)), int(rng.integers(2, 6))
    scores = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-300, 300)
    scores[rng.random((n, k)) < 0.1] = -np.inf
    scores[0] = np.arange(k)
    found = fit_calibrator(scores, rng.integers(k, size=n), rng.choice([0.5, 1.0, 1e6], size=n))
    possible = scores[:, found.intercepts > -np.inf].max(axis=1) > -np.inf
    shares = proba(found, scores[possible])
    assert np.isfinite(shares).all()
    assert shares.sum(axis=1) == pytest.approx(1.0)


# ---- what has no answer


def test_refusals() -> None:
    none = np.full((5, 2), np.nan)
    with pytest.raises(CoreDataError) as caught:
        fit_calibrator(none, np.zeros(5, dtype=np.intp))
    assert caught.value.reason == "nothing_to_calibrate"
    endless = np.array([[np.inf, 0.0], [1.0, 0.0]])
    with pytest.raises(CoreDataError) as caught:
        fit_calibrator(endless, np.array([0, 1]))
    assert caught.value.reason == "infinite_scores"
    assert caught.value.values == {"n_rows": 1}
    only = np.array([[-np.inf, 0.0], [-np.inf, 1.0]])
    with pytest.raises(CoreDataError) as caught:
        fit_calibrator(only, np.array([0, 0]))
    assert caught.value.reason == "impossible_rows"
    apart = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(CoreNotSupportedError) as caught:
        fit_calibrator(apart, np.array([1, 0]), penalized=False)
    assert caught.value.reason == "no_errors_to_calibrate"
    with pytest.raises(CoreNotSupportedError) as caught:
        fit_calibrator(*sample(100, 50), kind="dirichlet")
    assert caught.value.reason == "many_calibration_parameters"
    assert caught.value.values == {"kind": "dirichlet", "n_classes": 50, "n_parameters": 2550}
    assert get_args(Kind) == KINDS
