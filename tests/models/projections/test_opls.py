"""Orthogonal components of partial least squares against ropls, against K-OPLS and by identities.

``golden/opls.json`` was written by ``golden/write_opls.R``.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import pls
from discrim.datasets import load_breast_cancer, load_iris, load_wine
from discrim.errors import CollinearError, DataError, DiscrimWarning, NotSupportedError
from discrim.subspace import OrthogonalPLS, PrincipalComponents, SparsePLS
from tests.turns import one_in

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "opls.json").read_text(encoding="utf-8"))
WINE, TUMOURS = load_wine(), load_breast_cancer().iloc[:90]
TABLES = {
    "wine": ("cultivar ~ .", WINE[WINE["cultivar"] != "grignolino"].reset_index(drop=True)),
    "breast_cancer": ("diagnosis ~ .", TUMOURS),
}
tables = pytest.mark.parametrize("name", TABLES)


def fitted(name, **options):
    formula, data = TABLES[name]
    return pls(formula, data, **({"algorithm": OrthogonalPLS(GOLDEN[name]["orthogonal"])} | options))


def near(result, fixed, tol=1e-10):
    np.testing.assert_allclose(np.asarray(result), np.asarray(fixed), rtol=tol, atol=tol)


@tables
def test_estimates_agree_with_ropls(name):
    fit, fixed = fitted(name), GOLDEN[name]
    for of in ("weights", "loadings"):
        near(getattr(fit, of), fixed[of])
    near(fit.transform(), fixed["scores"])
    near(fit.predict_indicators().iloc[:, 1], fixed["fitted"])
    near(fit.vip()[fit.terms], fixed["vip"])
    near(fit.vip(part="orthogonal")[fit.terms], fixed["orthogonal_vip"])
    row = fit.glance().iloc[0]
    for ours, theirs in {"R2X": "R2X", "R2": "R2Y", "RMSEE": "RMSEE"}.items():
        # It gives three digits.
        assert float(f"{row[ours]:.3g}") == fixed["rounded"][theirs]


@tables
def test_q2_agrees_with_its_fits_without_each_fold(name):
    fit, fixed = fitted(name), GOLDEN[name]["folds"]
    fold = np.arange(fit.nobs) % fixed["folds"]
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(fixed["folds"])]
    table = fit.q2(splits)
    assert table["orthogonal"].tolist() == list(range(1, fit.orthogonal + 1))
    near(table["Q2"], fixed["Q2"])


@one_in(2, {"name": TABLES, "rule": ["lda", "max"]})
def test_two_classes_agree_with_ordinary_components(name, rule):
    fit = fitted(name, rule=rule)
    plain = fitted(name, rule=rule, algorithm="nipals", ncomp=1 + fit.orthogonal)
    near(fit.predict_indicators(), plain.predict_indicators())
    near(fit.coef, plain.coef)
    rates = fit.error_rates(["apparent", "loo", "cv"], seed=3)
    pd.testing.assert_frame_equal(rates, plain.error_rates(["apparent", "loo", "cv"], seed=3))
    if rule == "lda":
        near(fit.predict_proba(), plain.predict_proba())
        near(fit.leave_one_out().iloc[:, 1:].astype(float), plain.leave_one_out().iloc[:, 1:].astype(float))
    near(fit.q2(4, 1)["Q2"], plain.q2(4, 1)["Q2"][1:])
    near(fit.permutation_test(3, 4, 1).table, plain.permutation_test(3, 4, 1).table)


@pytest.mark.parametrize(
    ("formula", "data", "scale"),
    [("cultivar ~ .", WINE, True), ("species ~ .", load_iris(), True), ("species ~ .", load_iris(), False)],
)
def test_scores_agree_with_kopls(formula, data, scale):
    """K-OPLS has products of rows where this has products of columns (Bylesjo and others, 2008)."""
    fit = pls(formula, data, algorithm=OrthogonalPLS(2), scale="columns" if scale else False, rule="max")
    x = data[list(fit.terms)].to_numpy()
    z = (x - x.mean(axis=0)) / fit.sd.to_numpy()
    y = np.equal(data[formula.split()[0]].to_numpy()[:, None], fit.classes.to_numpy()) * 1.0
    centred = y - y.mean(axis=0)
    first = kernel = z @ z.T
    values, vectors = np.linalg.eigh(centred.T @ kernel @ centred)
    u, sizes = centred @ vectors[:, :0:-1], values[:0:-1]
    for name in ("O1", "O2"):
        # Columns that orthogonal scores were taken out of stand at the left, all of them at the right.
        t = kernel @ u / np.sqrt(sizes)
        remaining = kernel - t @ t.T
        own, result = np.linalg.eigh(t.T @ remaining @ t)
        s = remaining @ t @ result[:, -1] / np.sqrt(own[-1])
        ours = fit.transform()[name].to_numpy()
        near(ours * np.sign(ours @ s), s, 1e-8)
        away = np.eye(len(s)) - np.outer(s, s) / (s @ s)
        kernel = away @ kernel @ away
    t = kernel @ u / np.sqrt(sizes)
    near(y.mean(axis=0) + t @ np.linalg.lstsq(t, centred, rcond=None)[0], fit.predict_indicators(), 1e-8)
    explained = np.trace(t @ np.linalg.lstsq(t, first, rcond=None)[0]) / np.trace(first)
    near(fit.explained[["P1", "P2"]].sum(), explained, 1e-8)


def test_orthogonal_scores_are_uncorrelated_with_the_classes():
    fit = pls("cultivar ~ .", WINE, algorithm=OrthogonalPLS(3))
    scores = fit.transform()
    assert scores.columns.tolist() == ["P1", "P2", "O1", "O2", "O3"]
    near(scores.filter(like="O").groupby(WINE["cultivar"]).mean(), 0.0)
    near(scores.cov() - np.diag(scores.var()), 0.0)
    x = WINE[list(fit.terms)]
    z = (x - x.mean()) / x.std()
    near(z.to_numpy() @ fit.rotations.to_numpy(), scores)
    near(fit.r2()["x"], scores.pow(2).sum() * fit.loadings.pow(2).sum() / z.pow(2).sum().sum())


def test_an_s_plot_has_covariances_and_correlations_with_the_scores():
    for scale in (True, False):
        fit = fitted("breast_cancer", scale=scale)
        x = TUMOURS[list(fit.terms)]
        scores = fit.transform()
        for number, name in enumerate(scores, start=1):
            table = fit.s_plot(number, "own")
            covariances = np.array([np.cov(x[each], scores[name])[0, 1] for each in x])
            near(table["covariance"], covariances, 1e-9)
            near(fit.s_plot(number)["covariance"], covariances / np.sqrt(x.std()), 1e-9)
            near(table["correlation"], x.corrwith(scores[name]), 1e-9)


@pytest.mark.parametrize("rule", ["lda", "max", "centroid"])
def test_held_out_rows_are_predicted_by_fits_to_the_others(rule):
    data = WINE.iloc[::6].reset_index(drop=True)
    fit = pls(
        "cultivar ~ .", data, algorithm=OrthogonalPLS(2), rule=rule, prior="equal" if rule == "lda" else None
    )
    result = fit.leave_one_out()
    for i in (0, 11, 20):
        other = fit.update(data=data.drop(index=i))
        assert other.orthogonal == 2
        assert result.iloc[i, 0] == other.predict(data.iloc[[i]]).iloc[0]


def test_a_choice_has_the_errors_of_fits_with_fixed_numbers():
    fit = pls("cultivar ~ .", WINE, algorithm=OrthogonalPLS(), grid=[1, 2, 4], folds=4, seed=1)
    assert fit.path["orthogonal"].tolist() == [1, 2, 4]
    near(pls("cultivar ~ .", WINE, algorithm=OrthogonalPLS(4)).q2(4, 1).iloc[[0, 1, 3]], fit.path)
    for number, error in zip(fit.path["orthogonal"], fit.path["error"], strict=True):
        arguments = pls("cultivar ~ .", WINE, algorithm=OrthogonalPLS(number))
        near(arguments.error_rates(["cv"], folds=4, seed=1)["estimate"], error)
    assert fit.orthogonal == fit.path["orthogonal"][fit.path["error"].idxmin()]
    fixed = fit.update()
    assert (fixed.orthogonal, fixed.ncomp) == (fit.orthogonal, fit.ncomp)
    near(fixed.loadings, fit.loadings)


def test_a_file_and_moments_have_the_same_fit(tmp_path):
    fit = pls("cultivar ~ .", WINE, algorithm=OrthogonalPLS(2))
    fit.save(tmp_path / "opls.fit")
    of_moments = pls(moments=discrim.moments("cultivar ~ .", WINE), algorithm=OrthogonalPLS(2))
    for other in (discrim.load(tmp_path / "opls.fit"), of_moments):
        assert (other.orthogonal, other.ncomp) == (2, 2)
        near(other.loadings, fit.loadings)
        near(other.predict_proba(WINE), fit.predict_proba())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": OrthogonalPLS(1), "ncomp": "1se"}, "choice of ncomp"),
        ({"algorithm": OrthogonalPLS}, "is a class"),
        ({"algorithm": PrincipalComponents(2)}, "is not supported here"),
        ({"algorithm": "orthogonal"}, "algorithm='orthogonal' is not known"),
        ({"algorithm": OrthogonalPLS(1), "ncomp": 1}, "here 2. Leave ncomp= out"),
        ({"algorithm": OrthogonalPLS(40), "rule": "max"}, "Use OrthogonalPLS.11., fewer"),
    ],
)
def test_invalid_requests_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        pls("cultivar ~ .", WINE, **options)


def test_errors_have_hints():
    with pytest.raises(DataError) as caught:
        pls("cultivar ~ alcohol + proline", WINE, algorithm=OrthogonalPLS(1))
    assert "algorithm=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        pls("cultivar ~ .", WINE, ncomp=2).vip(part="orthogonal")
    assert "OrthogonalPLS" in str(caught.value)
    with pytest.raises(DataError) as caught:
        pls("cultivar ~ .", WINE, algorithm=OrthogonalPLS(1)).vip(1)
    assert "Leave it out" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        pls(moments=discrim.moments("cultivar ~ .", WINE), algorithm=OrthogonalPLS())
    assert "OrthogonalPLS" in str(caught.value)
    assert "number" in str(caught.value)
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(8, 20))).add_prefix("x")
    with pytest.raises(CollinearError) as caught:
        pls("y ~ .", wide.assign(y=list("aabbaabb")), algorithm=OrthogonalPLS(6))
    assert "algorithm=OrthogonalPLS" in str(caught.value)


def test_an_estimator_fits_as_many_as_there_are():
    classifier = pytest.importorskip("discrim.sklearn").PLSClassifier
    x, y = load_iris().drop(columns="species"), load_iris()["species"]
    for algorithm, message in ((OrthogonalPLS(9), "2 orthogonal"), (SparsePLS([2] * 5), "4 components")):
        with pytest.warns(DiscrimWarning, match=message):
            classifier(rule="max", algorithm=algorithm).fit(x, y)
        with pytest.raises(DataError):
            classifier(rule="max", algorithm=algorithm, few="raise").fit(x, y)
