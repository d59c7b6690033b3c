"""EM of mixtures of normals: mclust's and mda's numbers, and what it promises."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discrim.core.mixtures import em
from discrim.core.mixtures.em import (
    FORMS,
    ClassRows,
    Degenerate,
    covariances,
    form_parameters,
    is_axial,
    m_step,
    run_em,
)
from discrim.datasets import load_iris
from tests.support import ROOT

GOLDEN = json.loads((ROOT / "tests/golden/mixture.json").read_text(encoding="utf-8"))
IRIS = load_iris()
X = IRIS.iloc[:, :4].to_numpy()


@pytest.mark.parametrize("case", GOLDEN["within"], ids=lambda case: case["name"])
def test_em_from_a_partition_matches_mclust(case):
    x, form = X[IRIS.species == "virginica"], case["name"]
    z = np.ascontiguousarray((x - x.mean(axis=0)).T)
    upper = x[:, 0] > np.median(x[:, 0])
    rows = [ClassRows(z, np.ones(len(x)))]
    begun = m_step(rows, [np.array([~upper, upper], dtype=float)], form)
    found = run_em(begun, rows, form, tol=1e-14, maxiter=20_000)
    # Shares, means, and the covariances of the form.
    assert 1 + 2 * 4 + form_parameters(form, 2, 4) == case["df"]
    # mclust's search for common axes ends before.
    if form == "VVE":
        assert case["llf"] < found.llf < case["llf"] + 0.01
        return
    assert found.llf == pytest.approx(case["llf"], abs=1e-9)
    np.testing.assert_allclose(np.sort(found.mixing_proportions), case["share"], atol=5e-6)


def deviance(held, means, x, codes):
    """-2 times the log posteriors of the classes of rows, by scipy."""
    joint = np.zeros((len(x), len(means)))
    for k, at in enumerate(held.class_slices()):
        for g in range(at.start, at.stop):
            law = scipy.stats.multivariate_normal(means[k] + held.means[g], held.covariances[g].matrix())
            joint[:, k] += held.mixing_proportions[g] * law.pdf(x)
    return -2 * np.log((joint / joint.sum(axis=1, keepdims=True))[np.arange(len(x)), codes]).sum()


def test_pooled_covariance_follows_the_steps_of_mda():
    golden, codes = GOLDEN["started"], np.repeat([0, 1, 2], 50)
    own = [X[codes == k] for k in range(3)]
    means = [x.mean(axis=0) for x in own]
    rows = [ClassRows(np.ascontiguousarray((x - m).T), np.ones(50)) for x, m in zip(own, means, strict=True)]
    parts = [(np.arange(1, 4)[:, None] == np.array(part)).astype(float) for part in golden["parts"]]
    begun = m_step(rows, parts, "EEE")
    after_five = run_em(begun, rows, "EEE", tol=0.0, maxiter=4)
    assert deviance(after_five, means, X, codes) == pytest.approx(golden["deviance"], abs=1e-9)
    ended = run_em(begun, rows, "EEE", tol=1e-15, maxiter=20_000)
    assert deviance(ended, means, X, codes) == pytest.approx(golden["converged"], abs=1e-6)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(FORMS), st.integers(2, 3))
@example(540733, "VVE", 3)
def test_the_likelihood_never_falls(seed, form, size):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(3, 40)) + 3 * rng.integers(0, 2, 40)
    weights = rng.integers(1, 4, 40).astype(float)
    rows = [ClassRows(z, weights)]
    begun = m_step(rows, [rng.dirichlet(np.ones(size), 40).T * weights], form)
    assert not isinstance(begun, Degenerate)
    found = run_em(begun, rows, form, tol=0.0, maxiter=30)
    if not isinstance(found, Degenerate):
        steps = np.diff(found.path)
        assert (steps >= -1e-9 * (1 + np.abs(found.path[-1]))).all()


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from(FORMS))
def test_no_covariances_of_the_form_are_more_likely(seed, form):
    rng = np.random.default_rng(seed)
    counts = rng.uniform(5, 50, 2)
    roots = rng.normal(size=(2, 3, 6))
    scatters = roots @ roots.transpose(0, 2, 1) * counts[:, None, None]
    own = np.diagonal(scatters, axis1=1, axis2=2) if is_axial(form) else scatters
    found, _ = covariances(form, own, counts)
    full = np.array([np.diag(each) for each in found]) if is_axial(form) else found

    def criterion(matrices):
        return sum(
            n * np.linalg.slogdet(s)[1] + np.trace(np.linalg.solve(s, w))
            for n, s, w in zip(counts, matrices, scatters, strict=True)
        )

    least = criterion(full)
    # Volumes of all, in common or apart, are those of a form that has any.
    factors = rng.uniform(0.9, 1.1, 2) if form[0] == "V" else np.repeat(rng.uniform(0.9, 1.1), 2)
    assert criterion(full * factors[:, None, None]) >= least - 1e-9 * abs(least)
    if form[2] != "I":
        turn = scipy.linalg.expm(0.05 * (lambda a: a - a.T)(rng.normal(size=(3, 3))))
        assert criterion(turn @ full @ turn.T) >= least - 1e-9 * abs(least)
    fewest = form_parameters(form, 2, 3)
    assert form_parameters("EII", 2, 3) <= fewest <= form_parameters("VVV", 2, 3)


@pytest.mark.parametrize(("size", "thin", "what"), [(6, 1e-4, "narrow"), (6, 0.3, None), (30, 1e-4, None)])
def test_narrow_component_of_few_rows_is_rejected(size, thin, what):
    rng = np.random.default_rng(8)
    wide, flat = rng.normal(size=(60, 3)), rng.normal(size=(size, 3))
    flat[:, 0] += 4
    flat[:, 2] = flat[:, 0] - flat[:, 1] + thin * rng.normal(size=size)
    x = np.concatenate([wide, flat])
    rows = [ClassRows(np.ascontiguousarray((x - x.mean(axis=0)).T), np.ones(len(x)))]
    last = np.arange(len(x)) >= 60
    begun = m_step(rows, [np.array([~last, last], dtype=float)], "VVV")
    found = run_em(begun, rows, "VVV", tol=1e-9, maxiter=1000)
    assert (found.reason if isinstance(found, Degenerate) else None) == what


@pytest.mark.parametrize("form", ["VVV", "VVI"])
def test_e_step_sums_equal_direct_sums(form):
    rng = np.random.default_rng(5)
    # The second component is far from the mean of the class, narrow and nearly singular.
    x = np.concatenate([rng.normal(size=(400, 3)), 50 + 1e-3 * rng.normal(size=(200, 3))])
    x[400:, 2] = x[400:, 1] + 1e-6 * rng.normal(size=200)
    weights = rng.integers(1, 4, 600).astype(float)
    z = np.ascontiguousarray((x - weights @ x / weights.sum()).T)
    rows = [ClassRows(z, weights)]
    hard = (np.arange(600) >= 400).astype(float)
    start = m_step(rows, [np.array([0.9 - 0.8 * hard, 0.1 + 0.8 * hard]) * weights], form)
    step = em._class_e_step([start], slice(0, 2), rows[0], axial=is_axial(form))[0]
    densities = np.array(
        [
            share * scipy.stats.multivariate_normal(mean, cov.matrix()).pdf(z.T)
            for share, mean, cov in zip(start.mixing_proportions, start.means, start.covariances, strict=True)
        ]
    )
    posteriors = densities / densities.sum(axis=0) * weights
    direct = m_step(rows, [posteriors], form)
    following = em.MStep.of_rows(rows, (2,), form, em.min_component_variances(rows)).estimate(step.sums)
    assert step.llf == pytest.approx(weights @ np.log(densities.sum(axis=0)), rel=1e-10)
    np.testing.assert_allclose(following.mixing_proportions, direct.mixing_proportions, rtol=1e-9)
    np.testing.assert_allclose(following.means, direct.means, rtol=1e-9, atol=1e-9)
    for actual, expected in zip(following.covariances, direct.covariances, strict=True):
        np.testing.assert_allclose(actual.matrix(), expected.matrix(), rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_runs_together_equal_runs_apart(form, monkeypatch):
    monkeypatch.setattr(em, "MAX_BATCH_RUNS", 4)
    rng = np.random.default_rng(4)
    shapes = [(3, 70), (3, 50)]
    rows = [ClassRows(rng.normal(size=shape) ** 3, rng.integers(1, 3, shape[1]) * 1.0) for shape in shapes]
    starts = [
        m_step(
            rows,
            [
                rng.dirichlet(np.ones(size), row.z.shape[1]).T * row.weights
                for size, row in zip((3, 2), rows, strict=True)
            ],
            form,
        )
        for _ in range(em.MAX_BATCH_RUNS + 3)
    ]
    # A start that is degenerate, and one from which a component loses its rows.
    starts[2] = Degenerate(0, 1, "empty", 0.0)
    far = starts[5].means.copy()
    far[1] = 1e6
    starts[5] = replace(starts[5], means=far)
    options = {"tol": 1e-5, "maxiter": 40}
    together = em.run_em_from_starts(starts, rows, form, **options)
    assert together[2] is starts[2]
    assert isinstance(together[5], Degenerate)
    for start, result in zip(starts, together, strict=True):
        apart = start if isinstance(start, Degenerate) else run_em(start, rows, form, **options)
        assert type(result) is type(apart)
        if isinstance(apart, Degenerate):
            assert result == apart
            continue
        assert (len(result.path), result.sizes) == (len(apart.path), apart.sizes)
        np.testing.assert_allclose(result.path, apart.path, rtol=1e-11)
        np.testing.assert_allclose(result.means, apart.means, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(result.mixing_proportions, apart.mixing_proportions, rtol=1e-8)


@pytest.mark.parametrize("form", ["VVV", "EEE", "VEV", "EVE", "VVI"])
def test_extrapolated_steps_reach_the_same_maximum_sooner(form, monkeypatch):
    rng = np.random.default_rng(2)
    centres = np.array([[0, 0, 0], [1.8, 0, 0], [0, 2.2, 1]])
    n = 1000
    x = rng.normal(size=(n, 3)) + centres[rng.integers(0, 3, n)]
    z = np.ascontiguousarray((x - x.mean(axis=0)).T)
    rows = [ClassRows(z, np.ones(n))]
    nearest = ((x[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1) == np.arange(3)[:, None]
    start = m_step(rows, [nearest * 1.0], form)
    fits = []
    for largest in (n - 1, n):
        monkeypatch.setattr(em, "MAX_SMALL_CLASS", largest)
        fits.append(run_em(start, rows, form, tol=1e-14, maxiter=20_000))
    extrapolated, plain = fits
    assert extrapolated.converged
    assert (np.diff(extrapolated.path[:-1]) > 0).all()
    assert extrapolated.llf == pytest.approx(plain.llf, abs=1e-5)
    np.testing.assert_allclose(extrapolated.means, plain.means, atol=1e-3)
    assert len(extrapolated.path) < 0.6 * len(plain.path)
