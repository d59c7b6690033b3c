"""Sparse components of partial least squares against mixOmics, and by brute force.

``golden/splsda.json`` was written by ``golden/write_splsda.R``.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import discrim
from discrim import pls
from discrim.core.projections.latent import fit_sparse_latent
from discrim.datasets import load_breast_cancer, load_iris, load_wine
from discrim.errors import DataError, NotSupportedError
from discrim.subspace import SparsePLS

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "splsda.json").read_text(encoding="utf-8"))
WINE = load_wine()
TABLES = {
    "iris": ("species ~ .", load_iris()),
    "wine": ("cultivar ~ .", WINE.iloc[30:].reset_index(drop=True)),
    "breast_cancer": ("diagnosis ~ .", load_breast_cancer().iloc[:120].reset_index(drop=True)),
}


def near(result, fixed, tol=1e-9):
    np.testing.assert_allclose(np.asarray(result), np.asarray(fixed), rtol=tol, atol=tol)


@pytest.mark.parametrize("name", TABLES)
def test_estimates_agree_with_mixomics(name):
    fixed = GOLDEN[name]
    formula, data = TABLES[name]
    fit = pls(formula, data, algorithm=SparsePLS(fixed["keep"]))
    assert (fit.weights != 0).sum().tolist() == fixed["keep"]
    assert not np.signbit(fit.weights.to_numpy()[fit.weights == 0]).any()
    near(fit.weights, fixed["weights"])
    near(fit.transform(), fixed["scores"])
    near(fit.explained, fixed["explained"])
    near(fit.predict_indicators(), fixed["fitted"])
    for count in range(1, fit.ncomp + 1):
        near(fit.vip(count)[fit.terms], np.array(fixed["vip"])[:, count - 1])
    for rule in ("max", "centroid"):
        assert fit.update(rule=rule).predict().tolist() == fixed[rule]


def test_a_sparse_direction_is_a_fixed_point():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(30, 12)), rng.normal(size=(30, 4))
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    result = fit_sparse_latent(a, b, [5, 12, 3])
    remaining = a.copy()
    for j, count in enumerate([5, 12, 3]):
        w, product = result.weights[:, j], remaining.T @ b
        along = product @ (product.T @ w)
        cut = np.sort(np.abs(along))[-count - 1] if count < 12 else 0.0
        fixed = np.sign(along) * np.maximum(np.abs(along) - cut, 0)
        near(w, fixed / np.linalg.norm(fixed))
        t = remaining @ w
        near(remaining.T @ t / (t @ t), result.loadings[:, j])
        near(a @ result.rotations[:, j], t)
        remaining = remaining - np.outer(t, t @ remaining) / (t @ t)


def test_a_limit_of_all_columns_has_no_effect():
    plain = pls("cultivar ~ .", WINE, ncomp=3)
    near(pls("cultivar ~ .", WINE, ncomp=3, algorithm=SparsePLS(13)).weights, plain.weights)
    near(pls("cultivar ~ .", WINE, ncomp=3, algorithm=SparsePLS(99)).coef, plain.coef)


def test_columns_that_are_equal_are_kept_together():
    data = WINE.assign(again=WINE["flavanoids"], inverted=-WINE["flavanoids"])
    fit = pls("cultivar ~ .", data, ncomp=1, algorithm=SparsePLS(1))
    assert set(fit.selected) == {"flavanoids", "again", "inverted"}
    near(fit.weights.loc[["flavanoids", "again", "inverted"], "PLS1"], np.array([1, 1, -1]) / 3**0.5)


def test_held_out_rows_are_predicted_by_fits_to_the_others():
    data = WINE.iloc[::6].reset_index(drop=True)
    fit = pls("cultivar ~ .", data, algorithm=SparsePLS([3, 4]), prior="equal")
    result = fit.leave_one_out()
    for i in (0, 11, 20):
        other = fit.update(data=data.drop(index=i))
        near(result.iloc[i, 1:].astype(float), other.predict_proba(data.iloc[[i]]).iloc[0], 1e-12)


def test_a_choice_has_the_errors_of_fits_with_fixed_numbers():
    fit = pls("cultivar ~ .", WINE, algorithm=SparsePLS(3), grid=[1, 2, 3], folds=4, seed=1)
    for number, error in zip(fit.path["components"], fit.path["error"], strict=True):
        arguments = pls("cultivar ~ .", WINE, ncomp=number, algorithm=SparsePLS(3))
        near(arguments.error_rates(["cv"], folds=4, seed=1)["estimate"], error)
    assert (fit.update().ncomp, len(fit.error_rates(["cv"], folds=3, seed=1))) == (fit.ncomp, 1)


def test_q2_of_shuffles_agrees_with_fits_outside_the_folds():
    for p in (3, 30):
        rng = np.random.default_rng(p)
        data = load_iris().iloc[::5].reset_index(drop=True)
        data[[f"noise{j}" for j in range(p)]] = rng.normal(size=(len(data), p))
        fit = pls("species ~ .", data, algorithm=SparsePLS([3, 2]))
        seen = fit.permutation_test(1, 3, seed=5)
        fold_ids = np.random.default_rng(5).permutation(len(data)) % 3
        splits = [(np.flatnonzero(fold_ids != f), np.flatnonzero(fold_ids == f)) for f in range(3)]
        near(fit.q2(splits)["Q2"].iloc[-1], seen.statistic)


def test_stability_counts_the_fits_that_select_a_column():
    data = WINE.iloc[::3].reset_index(drop=True)
    fit = pls("cultivar ~ .", data, algorithm=SparsePLS([3, 2]))
    table = fit.stability(folds=4, repeats=2, seed=3)
    assert table.columns.tolist() == ["any", "PLS1", "PLS2"]
    near(table.sum()[["PLS1", "PLS2"]], [3, 2])
    assert table["any"].is_monotonic_decreasing
    assert table["any"].between(1 / 8, 1).all()
    near(table * 8, (table * 8).round())
    assert (table["any"] >= table[["PLS1", "PLS2"]].max(axis=1)).all()
    # What one deal of the rows gives is that of cross-validation with the same seed.
    fixed = pls("cultivar ~ .", data, ncomp=1, algorithm=SparsePLS(1)).stability(folds=4, repeats=1, seed=3)
    near(fixed.sum(), [1, 1])


def test_a_file_and_moments_have_the_same_fit(tmp_path):
    fit = pls("cultivar ~ .", WINE, algorithm=SparsePLS([3, 2]))
    fit.save(tmp_path / "sparse.fit")
    of_moments = pls(moments=discrim.moments("cultivar ~ .", WINE), algorithm=SparsePLS([3, 2]))
    for other in (discrim.load(tmp_path / "sparse.fit"), of_moments):
        near(other.weights, fit.weights)
        assert other.selected.tolist() == fit.selected.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": SparsePLS([3, 2]), "ncomp": "1se"}, "choice of ncomp"),
        ({"algorithm": SparsePLS([3, 2]), "ncomp": 3}, "2 numbers of columns.* ncomp=3"),
        ({"algorithm": SparsePLS([13] * 14), "rule": "max"}, "14 components.* 13"),
    ],
)
def test_invalid_requests_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        pls("cultivar ~ .", WINE, **options)


def test_stability_requires_a_selection():
    with pytest.raises(NotSupportedError) as caught:
        pls("cultivar ~ .", WINE, ncomp=2).stability()
    assert "SparsePLS" in str(caught.value)
