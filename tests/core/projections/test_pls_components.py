"""Components of partial least squares: identities, and all rows' sums of products from few."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim.core.moments.moments import ClassMoments
from discrim.core.projections.latent import fit_latent
from discrim.core.projections.pls import fit_pls, small_tables


def tables(seed, n=12, p=5, q=3):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)), rng.normal(size=(n, q))
    return a - a.mean(axis=0), b - b.mean(axis=0)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["nipals", "simpls"]))
def test_identities(seed, algorithm):
    a, b = tables(seed)
    found = fit_latent(a, b, 4, algorithm)
    t = a @ found.rotations
    np.testing.assert_allclose(t.T @ t, np.diag(found.squares), atol=1e-8 * found.squares.max())
    np.testing.assert_allclose((found.weights**2).sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose((found.importance_by_n_components() ** 2).mean(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found.loadings.T @ found.rotations, np.eye(4), atol=1e-7)
    size = np.argmax(np.abs(found.weights), axis=0)
    assert (found.weights[size, np.arange(4)] > 0).all()
    x, y = found.explained()
    left = a - t @ found.loadings.T, b - t @ found.y_loadings.T
    assert x.sum() == pytest.approx(1 - (left[0] ** 2).sum() / (a**2).sum(), abs=1e-9)
    assert y.sum() == pytest.approx(1 - (left[1] ** 2).sum() / (b**2).sum(), abs=1e-9)


def test_all_components_are_least_squares_and_there_are_no_more():
    a, b = tables(3)
    for algorithm in ("nipals", "simpls"):
        found = fit_latent(a, b, 9, algorithm)
        assert found.n_components == 5
        slopes = found.rotations @ found.y_loadings.T
        np.testing.assert_allclose(slopes, np.linalg.lstsq(a, b)[0], atol=1e-9)
        doubled = fit_latent(np.c_[a, a[:, :2]], b, 9, algorithm)
        assert doubled.n_components == 5


def test_algorithms_agree_for_one_response():
    a, b = tables(4, q=1)
    one, other = fit_latent(a, b, 4), fit_latent(a, b, 4, "simpls")
    np.testing.assert_allclose(
        one.rotations @ one.y_loadings.T, other.rotations @ other.y_loadings.T, atol=1e-10
    )


@pytest.mark.parametrize("p", [4, 40])
def test_small_tables_have_the_products_of_all_rows(p):
    rng = np.random.default_rng(8)
    x, codes, w = rng.normal(size=(30, p)) + 50, np.arange(30) % 3, rng.integers(1, 4, 30).astype(float)
    moments = ClassMoments.from_block(
        x, codes, w, n_classes=3, required_moments="thin" if p > 30 else "pooled"
    )
    held = small_tables(moments, scale=True, indicator_scaling="scaled")
    x, y = np.repeat(x, w.astype(int), axis=0), np.eye(3)[np.repeat(codes, w.astype(int))]
    z, y = ((v - v.mean(axis=0)) / v.std(axis=0, ddof=1) for v in (x, y))
    np.testing.assert_allclose(held.columns.T @ held.columns, z.T @ z, atol=1e-9)
    np.testing.assert_allclose(held.columns.T @ held.indicators, z.T @ y, atol=1e-9)
    np.testing.assert_allclose(held.indicators.T @ held.indicators, y.T @ y, atol=1e-9)


def test_rules_by_component_match_separate_fits():
    rng = np.random.default_rng(9)
    x, codes = rng.normal(size=(30, 6)), np.arange(30) % 3
    x[:, :3] += 2 * np.eye(3)[codes]
    moments = ClassMoments.from_block(x, codes, n_classes=3)
    prior, log_prior = np.full(3, 1 / 3), np.log([0.2, 0.3, 0.5])
    for decides in ("lda", "max", "centroid"):
        fit = fit_pls(moments, prior, components=4, decides=decides)
        for count, (scores, fitted) in enumerate(fit.scores_by_component(x, log_prior), start=1):
            part = fit_pls(moments, prior, components=count, decides=decides)
            own = part.rule(log_prior).scores(x)
            np.testing.assert_allclose(np.diff(scores, axis=1), np.diff(own, axis=1), atol=1e-9)
            np.testing.assert_allclose(fitted, part.fitted_rule().scores(x), atol=1e-9)


@pytest.mark.parametrize(("n", "p", "q"), [(12, 5, 3), (14, 60, 1), (14, 60, 4), (30, 400, 3)])
def test_nipals_equals_explicit_deflation(n, p, q):
    a, b = tables(7, n, p, q)
    found = fit_latent(a, b, 5)
    deflated = a.copy()
    for j in range(5):
        w = np.linalg.svd(deflated.T @ b)[0][:, 0]
        w *= np.sign(w[np.argmax(np.abs(w))])
        t = deflated @ w
        loading = deflated.T @ t / (t @ t)
        deflated -= np.outer(t, loading)
        np.testing.assert_allclose(found.weights[:, j], w, atol=1e-9)
        np.testing.assert_allclose(found.loadings[:, j], loading, atol=1e-9)
        np.testing.assert_allclose(a @ found.rotations[:, j], t, atol=1e-9)
        np.testing.assert_allclose(found.squares[j], t @ t, rtol=1e-9)


def nipals_of_one_response(a, b, count):
    """Return the slopes (p, count) of one response with 1, 2, ... components in extended precision."""
    deflated, remaining = a.astype(np.longdouble), b.astype(np.longdouble)
    weights, loadings, slopes = [], [], []
    for _ in range(count):
        w = deflated.T @ remaining
        w = w / np.sqrt(w @ w)
        t = deflated @ w
        weights.append(w)
        loadings.append(deflated.T @ t / (t @ t))
        slopes.append(remaining @ t / (t @ t))
        deflated = deflated - np.outer(t, loadings[-1])
        remaining = remaining - slopes[-1] * t
    # Each rotation is the weight less its part in the span of the earlier rotations.
    rotations = []
    for w in weights:
        r = w.copy()
        for loading, rotation in zip(loadings, rotations, strict=False):
            r = r - (loading @ r) * rotation
        rotations.append(r)
    return np.cumsum(np.array(rotations).T * np.array(slopes), axis=1)


@pytest.mark.parametrize("noise", [1.0, 0.1, 0.03, 1e-2, 1e-4, 1e-6])
def test_components_of_columns_like_spectra_equal_extended_precision(noise):
    """With little noise, later components have so little variance that AA' has lost their digits.

    The tolerance is ten times the error of components that are computed from the columns.
    """
    rng = np.random.default_rng(5)
    wavelengths = np.linspace(0, 1, 200)
    peaks = np.exp(-((wavelengths - rng.random((8, 1))) ** 2) / 0.01)
    rows = rng.random((35, 8)) @ peaks + noise * rng.normal(size=(35, 200))
    a, new_rows = np.split(rows - rows[:30].mean(axis=0), [30])
    b = rng.permutation(np.arange(30) % 2 - 0.5)
    found = fit_latent(a, b[:, None], 14)
    fitted = new_rows @ np.cumsum(found.rotations * found.y_loadings[0], axis=1)
    np.testing.assert_allclose(
        fitted, new_rows @ nipals_of_one_response(a, b, 14), atol=1e-15 / min(noise, 0.1)
    )
