"""Regularized rules of more columns than rows, beside the p x p matrices they do without."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from discrim import load, rda
from discrim.core.discriminant.rda import needs_roots
from discrim.errors import CollinearError

CODES = np.repeat([0, 1, 2], [7, 8, 9])
ALL = ("esl", "friedman", "klar")


def simulate_rows(p: int = 40, units: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((24, p)) @ rng.standard_normal((p, p)) + 2 * rng.standard_normal((3, p))[CODES]
    return pd.DataFrame(units * (x + 5), columns=[f"g{j}" for j in range(p)]).assign(y=CODES)


def covariances(x, codes, alpha, gamma, parametrization):
    """As the formulas are written."""
    parts, p = [x[codes == k] for k in range(3)], x.shape[1]
    divisors = [len(part) - 1 for part in parts]
    sscp = [(part - part.mean(axis=0)).T @ (part - part.mean(axis=0)) for part in parts]
    pooled, lam = sum(sscp) / sum(divisors), 1 - alpha
    own = [s / d for s, d in zip(sscp, divisors, strict=True)]
    if parametrization == "esl":
        inner = gamma * pooled + (1 - gamma) * np.trace(pooled) / p * np.eye(p)
        return [alpha * s + (1 - alpha) * inner for s in own]
    if parametrization == "klar":
        mixed = [(1 - lam) * s + lam * pooled for s in own]
    else:
        mixed = [
            ((1 - lam) * s + lam * sum(sscp)) / ((1 - lam) * d + lam * sum(divisors))
            for s, d in zip(sscp, divisors, strict=True)
        ]
    return [(1 - gamma) * m + gamma * np.trace(m) / p * np.eye(p) for m in mixed]


def log_joint(rows, x, codes, prior, alpha, gamma, parametrization):
    out = np.empty((len(rows), 3))
    for k, cov in enumerate(covariances(x, codes, alpha, gamma, parametrization)):
        gap = rows - x[codes == k].mean(axis=0)
        size = np.linalg.slogdet(cov)[1] + x.shape[1] * np.log(2 * np.pi)
        out[:, k] = np.log(prior[k]) - 0.5 * (size + (gap * np.linalg.solve(cov, gap.T).T).sum(axis=1))
    return out


@pytest.mark.parametrize("parametrization", ALL)
@pytest.mark.parametrize("pair", [(0.3, 0.4), (0.0, 0.5), (0.7, 0.2)])
@pytest.mark.parametrize("units", [1.0, 1e-90, 1e150])
def test_posteriors_covariances_likelihood_and_leave_one_out(parametrization, pair, units):
    data = simulate_rows(units=units)
    x, options = data.iloc[:, :-1].to_numpy() / units, (*pair, parametrization)
    fit = rda("y ~ .", data, alpha=pair[0], gamma=pair[1], parametrization=parametrization)
    rows = np.random.default_rng(5).standard_normal((10, 40)) * 6 + 5
    logs = log_joint(rows, x, CODES, fit.prior.to_numpy(), *options)
    found = fit.predict_log_proba(pd.DataFrame(rows * units, columns=fit.terms))
    np.testing.assert_allclose(found, logs - np.logaddexp.reduce(logs, axis=1)[:, None], rtol=1e-9, atol=1e-9)
    joint = log_joint(x, x, CODES, fit.prior.to_numpy(), *options)[np.arange(24), CODES].sum()
    assert fit.llf == pytest.approx(joint - 24 * 40 * np.log(units), rel=1e-10)
    if units == 1:
        for cov, wanted in zip(fit.covs.values(), covariances(x, CODES, *options), strict=True):
            np.testing.assert_allclose(cov, wanted, atol=1e-10)
    wanted = np.empty((24, 3))
    for i in range(24):
        left = np.arange(24) != i
        logs = log_joint(x[[i]], x[left], CODES[left], fit.prior.to_numpy(), *options)[0]
        wanted[i] = logs - np.logaddexp.reduce(logs)
    scores = fit._fit.refits.leave_one_out(fit._fit)(x * units, CODES.astype(np.intp), None)
    scores = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
    np.testing.assert_allclose(scores, wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("parametrization", ALL)
def test_joint_choices_match_single_fits(parametrization):
    data = simulate_rows()
    options = {"parametrization": parametrization, "grid": [0.0, 0.6, 1.0]}
    left_out = rda("y ~ .", data, folds="loo", **options).path
    folded = rda("y ~ .", data, folds=4, seed=1, **options)
    from discrim.models.evaluation.validation import assign_folds

    dealt = assign_folds(folded._fit, 4, 1)
    # Without a ridge there is no rule.
    ridge = (
        (left_out["alpha"] < 1) & (left_out["gamma"] < 1)
        if parametrization == "esl"
        else left_out["gamma"] > 0
    )
    for path in (left_out, folded.path):
        assert (path["error"].notna() == ridge).all()
    for alpha, gamma, error, _ in left_out[ridge].to_numpy():
        part = rda("y ~ .", data, alpha=alpha, gamma=gamma, parametrization=parametrization)
        assert error == pytest.approx(part.error_rates(["loo"]).loc["loo", "estimate"], abs=1e-12)
    x = data.iloc[:, :-1].to_numpy()
    for alpha, gamma, error, _ in folded.path[ridge].to_numpy():
        rates = []
        for fold in range(4):
            inside, outside = dealt != fold, dealt == fold
            logs = log_joint(
                x[outside], x[inside], CODES[inside], folded.prior.to_numpy(), alpha, gamma, parametrization
            )
            wrong = pd.Series(logs.argmax(axis=1) != CODES[outside]).groupby(CODES[outside]).mean()
            rates.append(wrong @ folded.prior[wrong.index] / folded.prior[wrong.index].sum())
        assert error == pytest.approx(np.mean(rates), abs=1e-12)


def test_no_full_matrix_is_formed_and_the_file_restores_the_fit(tmp_path):
    rng = np.random.default_rng(8)
    p = 2000
    x = rng.standard_normal((30, p)) + 0.5 * rng.standard_normal((2, p))[np.arange(30) % 2]
    data = pd.DataFrame(x, columns=[f"g{j}" for j in range(p)]).assign(y=np.arange(30) % 2)
    tracemalloc.start()
    fit = rda("y ~ .", data, folds="loo", grid=[0.0, 0.5])
    posteriors = fit.predict_log_proba()
    fit.summary().as_text()
    fit.leave_one_out()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 8 * p * p
    fit.save(tmp_path / "fit.safetensors")
    held = load(tmp_path / "fit.safetensors").predict_log_proba(data)
    np.testing.assert_allclose(held, posteriors, rtol=1e-12)


def test_error_without_a_ridge_has_a_hint():
    with pytest.raises(CollinearError) as caught:
        rda("y ~ .", simulate_rows(), alpha=0.5, gamma=1.0)
    assert "alpha=0.5" in str(caught.value)
    assert "gamma=1" in str(caught.value)


@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
def test_saved_fit_with_few_rows_and_constant_columns(tmp_path):
    rng = np.random.default_rng(2)
    n = 6000
    codes = rng.integers(0, 2, n)
    x = rng.standard_normal((n, 60)) + 0.3 * codes[:, None]
    x[:, 7], x[:, 9] = 3.0, x[:, 8]
    data = pd.DataFrame(x, columns=[f"g{j}" for j in range(60)]).assign(y=codes)
    for part in (data, data.groupby("y").head(40)):
        fit = rda("y ~ .", part, alpha=0.5, gamma=0.5)
        fit.save(tmp_path / "fit.safetensors")
        held = load(tmp_path / "fit.safetensors").predict_log_proba(part)
        np.testing.assert_allclose(held, fit.predict_log_proba(), rtol=1e-12)


def test_scatters_match_roots_with_a_ridge():
    """Ill-conditioned columns ask for roots, but not where the ridge makes them regular."""
    from discrim.core.discriminant.leave_one_out_rda import Regularization
    from discrim.core.discriminant.rda import fit_rda
    from discrim.core.moments.moments import ClassMoments, gather

    rng = np.random.default_rng(2)
    n, p = 8000, 50
    codes = rng.integers(0, 2, n)
    x = rng.standard_normal((n, p)) + 0.3 * codes[:, None]
    x[:, 1] = x[:, 0] + 1e-9 * x[:, 1]
    x[:, 2] = 4.0
    rooted = ClassMoments.from_block(x, codes, n_classes=2, required_moments="class")
    plain = gather([(x, codes, None)], n_classes=2, n_columns=p, required_moments="class", with_roots=False)
    assert rooted.roots is not None
    assert plain.roots is None
    for parametrization, gamma in (("esl", 0.9), ("friedman", 0.1), ("klar", 0.1)):
        assert not needs_roots([Regularization(0.5, gamma)], parametrization)
        options = {"alpha": 0.5, "gamma": gamma, "parametrization": parametrization}
        one, two = (fit_rda(held, np.array([0.5, 0.5]), **options) for held in (rooted, plain))
        a, b = (fit.rule(np.log(fit.prior)).scores(x[:100]) for fit in (one, two))
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
        assert one.llf() == pytest.approx(two.llf(), rel=1e-12)
    for parametrization, gamma in (("esl", 1.0), ("friedman", 0.0), ("klar", 0.0)):
        assert needs_roots([Regularization(0.5, 0.5), Regularization(0.5, gamma)], parametrization)
