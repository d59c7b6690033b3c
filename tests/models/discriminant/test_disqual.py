"""Discriminant analysis on axes of multiple correspondence (DISQUAL) against R (golden/disqual.json)."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import lda
from discrim.errors import DataError, NotSupportedError
from discrim.subspace import MultipleCorrespondence
from tests import support

WRITTEN = json.loads((support.GOLDEN / "disqual.json").read_text(encoding="utf-8"))
BIRDS = discrim.datasets.load_penguins().dropna()
BIRDS["mass"] = pd.cut(BIRDS["body_mass_g"], [0, 3500, 4250, 5000, 1e4], right=False, labels=list("abcd"))
BIRDS["flipper"] = pd.cut(BIRDS["flipper_length_mm"], [0, 190, 205, 1e3], right=False, labels=list("xyz"))
FORMULA = "species ~ island + sex + mass + flipper"


def fitted(components=3, formula=FORMULA, data=BIRDS, **options):
    return lda(formula, data, components=MultipleCorrespondence(components), **options)


@pytest.mark.parametrize("name", ["birds", "every"])
def test_posteriors_and_eigenvalues_equal_lda_on_mca(name):
    expected = WRITTEN[name]
    fit = fitted(expected["ncp"])
    np.testing.assert_allclose(fit.subspace.eigenvalues, expected["eigenvalues"], rtol=1e-10)
    np.testing.assert_allclose(fit.predict_proba(), expected["posterior"], rtol=1e-7, atol=1e-12)
    assert fit.subspace.eigenvalues.index[0] == "PC1"
    np.testing.assert_allclose(
        fit.subspace.shares.cumsum().iloc[-1], 1 if name == "every" else 0.66, atol=0.02
    )


def test_level_coordinates_agree_with_factominer():
    expected, fit = WRITTEN["birds"], fitted()
    names = [label[label.index("[") + 1 : -1] for label in fit.terms]
    # A level is written with its column where two columns have it, or might.
    assert names == [name.rpartition(".")[2] for name in expected["levels"]]
    coordinates, theirs = fit.subspace.level_coordinates(), np.array(expected["coordinates"])
    mine = coordinates.drop(columns="share").to_numpy()
    signs = np.sign((mine * theirs).sum(axis=0))
    np.testing.assert_allclose(mine * signs, theirs, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fit.subspace.loadings**2, expected["contributions"], rtol=1e-8, atol=1e-10)
    assert coordinates.loc["sex[male]", "share"] == pytest.approx((BIRDS["sex"] == "male").mean())


def test_cells_with_counts_equal_their_rows():
    cells = pd.DataFrame(WRITTEN["ship"]["cells"])
    fit = fitted(3, "Survived ~ Class + Sex + Age", cells, weights="Freq")
    np.testing.assert_allclose(fit.subspace.eigenvalues, WRITTEN["ship"]["eigenvalues"], rtol=1e-10)
    is_present = cells["Freq"] > 0
    expected = np.array(WRITTEN["ship"]["posterior"], dtype=float)[is_present]
    np.testing.assert_allclose(fit.predict_proba(cells[is_present]), expected, rtol=1e-8)


def test_mixed_columns_agree_with_factor_analysis_of_mixed_data():
    expected = WRITTEN["mixed"]
    fit = fitted(4, "species ~ island + sex + bill_length_mm + bill_depth_mm")
    np.testing.assert_allclose(4 * fit.subspace.eigenvalues, expected["eigenvalues"], rtol=1e-10)
    np.testing.assert_allclose(fit.predict_proba(), expected["posterior"], rtol=1e-7, atol=1e-12)


def test_all_axes_equal_lda_of_the_contrasts():
    reference_fit = lda(FORMULA, BIRDS)
    np.testing.assert_allclose(
        fitted(8).predict_proba(), reference_fit.predict_proba(), rtol=1e-9, atol=1e-14
    )


def test_classification_functions_refer_to_the_levels():
    fit = fitted()
    proportions = fit.subspace.level_coordinates()["share"]
    for prefix in ("island", "sex", "mass", "flipper"):
        level_terms = [term for term in fit.terms if term.startswith(prefix)]
        np.testing.assert_allclose(proportions[level_terms] @ fit.coef.loc[level_terms], 0, atol=1e-12)
    row = BIRDS.iloc[0]
    levels = [f"{name}[{row[name]}]" for name in ("island", "sex", "mass", "flipper")]
    scores = fit.coef.loc[levels].sum() + fit.intercept
    posterior = np.exp(scores - scores.max())
    np.testing.assert_allclose(
        posterior / posterior.sum(), fit.predict_proba(BIRDS.iloc[:1]).iloc[0], rtol=1e-9
    )


def test_leave_one_out_estimates_axes_again():
    subset = BIRDS.iloc[::12]
    fit = fitted(2, data=subset)
    left_out = fit.leave_one_out()[list(fit.classes)].to_numpy()
    for i in range(0, len(subset), 5):
        refit = fitted(2, data=subset.drop(index=subset.index[i]), prior=fit.prior)
        np.testing.assert_allclose(left_out[i], refit.predict_proba(subset.iloc[[i]]).iloc[0], rtol=1e-8)
    chosen = fitted("cv")
    assert (
        chosen.subspace.path["error"].min()
        == chosen.subspace.path["error"]
        .loc[chosen.subspace.path["components"] == chosen.subspace.n_components]
        .item()
    )


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [0, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_out_counts_levels_without_each_row_of_a_wide_table(weighted, numbers):
    rng = np.random.default_rng(2)
    y = np.arange(30) % 2
    codes = np.argsort(rng.random((30, 15)) + 0.15 * y[:, None], axis=0) % 3
    table = pd.DataFrame(np.array(list("uvw"))[codes]).add_prefix("f").assign(y=np.array(["a", "b"])[y])
    table[[f"x{j}" for j in range(numbers)]] = rng.standard_normal((30, numbers))
    weights = rng.integers(1, 4, 30) if weighted else np.ones(30, dtype=int)
    fit = fitted(3, "y ~ .", table, weights=weights)
    left_out = fit.leave_one_out()[list(fit.classes)].to_numpy()
    for i in range(0, 30, 4):
        remaining_weights = weights - (np.arange(30) == i)
        other = fitted(
            3,
            "y ~ .",
            table[remaining_weights > 0],
            weights=remaining_weights[remaining_weights > 0],
            prior=fit.prior,
        )
        np.testing.assert_allclose(left_out[i], other.predict_proba(table.iloc[[i]]).iloc[0], atol=1e-11)


def test_a_file_keeps_the_axes(tmp_path):
    fit = fitted()
    fit.save(tmp_path / "a.fit")
    again = discrim.load(tmp_path / "a.fit")
    pd.testing.assert_frame_equal(again.predict_proba(BIRDS), fit.predict_proba(BIRDS))
    pd.testing.assert_frame_equal(again.subspace.level_coordinates(), fit.subspace.level_coordinates())
    assert "Axes of correspondence" in again.summary().as_text()


def test_incompatible_options_are_named():
    with pytest.raises(DataError) as caught:
        fitted(9)
    assert "number" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        lda(moments=discrim.moments(FORMULA, BIRDS), components=MultipleCorrespondence(2))
    assert "formula" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        fitted(formula="species ~ island:sex")
    assert "multiplies" in str(caught.value)
    assert "categories" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        lda(FORMULA, BIRDS, components=2).subspace.level_coordinates()
    assert "level_coordinates" in str(caught.value)
