"""The permutation test of `cross_validate`: against refits of relabelled tables, and all labellings."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discrim
from discrim import cross_validate, lda
from discrim.covariance import Shrunk
from discrim.datasets import load_iris
from discrim.errors import DataError, NotSupportedError
from discrim.models.discriminant.qda import QDASpec
from discrim.models.evaluation.permuted import PermutationDesign, _permuted_hit_rate
from tests.support import classic_table

IRIS = load_iris()
TWO = IRIS[50:].astype({"species": str}).assign(place=np.arange(100) % 5)
FORMULA = "species ~ sepal_length + sepal_width"
LDA = lda(FORMULA, TWO)


def hit_rate(found):
    return 1 - found.table().loc["error", "estimate"]


VERBS = {
    "lda": (lda, {}),
    "lda, prior": (lda, {"prior": [0.7, 0.3]}),
    "lda, shrunk": (lda, {"covariance": Shrunk("ledoit-wolf")}),
    "qda": (discrim.qda, {}),
    "rda": (discrim.rda, {"alpha": 0.5, "gamma": 0.5}),
    "naive_bayes": (discrim.naive_bayes, {}),
    "shrunken_centroids": (discrim.shrunken_centroids, {"threshold": 0.5}),
    "nearest_centroid": (discrim.nearest_centroid, {}),
    "pls": (discrim.pls, {"ncomp": 2}),
    "knn": (discrim.knn, {"k": 5}),
    "logistic": (discrim.logistic, {}),
    "indicator": (discrim.indicator, {}),
    "perceptron": (discrim.perceptron, {"seed": 1, "maxiter": 20}),
}
MOMENTS = [*list(VERBS)[:8]]


# Verbs that take the same way through moments or refits as another one.
SIMILAR = {"lda, prior", "nearest_centroid", "indicator", "pls"}


@pytest.mark.filterwarnings("ignore::discrim.errors.UninformativeFitWarning")
@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] * (name in SIMILAR)) for name in VERBS]
)
def test_permutation_rates_equal_fits_to_relabelled_tables(name):
    verb, asked = VERBS[name]
    fit = verb(FORMULA, TWO, **asked)._fit
    codes = np.random.default_rng(3).permutation(fit.design_rows.codes)
    other = TWO.assign(species=np.array(fit.classes)[codes])
    for folds in ("place", 100) if name in MOMENTS else ("place",):
        validation = cross_validate(verb(FORMULA, other, **asked), folds, seed=1)
        given = validation._fold_ids[0] if folds == "place" else None
        how = PermutationDesign(given, validation._fold_labels, 1, None, None, 9, 1, True, None)
        rate = _permuted_hit_rate(fit, codes, None, how, np.random.default_rng(0))
        assert rate == pytest.approx(hit_rate(validation), abs=1e-12)


@pytest.mark.slow
def test_rates_match_all_labellings():
    """Six rows of two classes have twenty labellings; on folds that are given each has one rate."""
    x = np.array([0.1, 0.9, 1.8, 2.1, 3.3, 4.2])
    table = pd.DataFrame({"x": x, "y": list("aababb"), "fold": [1, 2, 3, 1, 2, 3]})
    expected = {}
    for chosen in combinations(range(6), 3):
        labels = np.where(np.isin(np.arange(6), chosen), "a", "b")
        expected[chosen] = hit_rate(cross_validate(lda("y ~ x", table.assign(y=labels)), "fold"))
    validation = cross_validate(lda("y ~ x", table), "fold", permutations=100, seed=1)
    test, rates = validation.permutations, np.array(list(expected.values()))
    assert test.labellings == 20
    assert test.min_pvalue == 1 / 20
    assert any("20 labellings" in note for note in test.notes())
    assert set(np.round(test.rates, 12)) <= set(np.round(rates, 12))
    proportion = (rates >= hit_rate(validation) - 1e-12).mean()
    assert stats.binomtest(round(test.pvalue * 101) - 1, 100, proportion).pvalue > 1e-3
    for rate in np.unique(np.round(rates, 12)):
        times = int(np.isclose(test.rates, rate).sum())
        assert stats.binomtest(times, 100, np.isclose(rates, rate).mean()).pvalue > 1e-4


def test_the_result_keeps_the_distribution_and_shows_it():
    validation = cross_validate(LDA, 5, seed=2, permutations=19)
    test = validation.permutations
    assert test.estimate == pytest.approx(hit_rate(validation))
    assert len(test.rates) == 19
    assert test.pvalue == (1 + (test.rates >= test.estimate - 1e-12).sum()) / 20
    assert test.min_pvalue == 1 / 20
    tables = validation.summary().tables
    pd.testing.assert_frame_equal(tables["permutations"], test.table)
    text = validation.summary().as_text()
    assert "Permutation test of the hit rate" in text
    assert "permuted among rows" in text
    axes = validation.plot("permutations")
    assert sum(bar.get_height() for bar in axes.patches) == 19
    assert axes.lines[0].get_xdata()[0] == test.estimate
    assert "permuted among rows" in axes.get_xlabel()
    plain = cross_validate(LDA, 5, seed=2)
    assert plain.permutations is None
    pd.testing.assert_frame_equal(plain.table(), validation.table())
    assert "permutations" not in plain.summary().tables
    with pytest.raises(DataError) as caught:
        plain.plot("permutations")
    assert "permutations=999" in str(caught.value)


def test_the_seed_repeats_and_more_permutations_go_on():
    one, two = (cross_validate(LDA, 5, seed=7, permutations=n).permutations.rates for n in (5, 8))
    pd.testing.assert_series_equal(one, two[:5])
    validation = cross_validate(LDA, "place", permutations=4)
    again = cross_validate(LDA, "place", permutations=4, seed=validation.permutations.seed)
    pd.testing.assert_series_equal(validation.permutations.rates, again.permutations.rates)
    assert validation.seed is None


def animals(rng, of_class, effect=0.0, rows=8):
    """Rows of animals that differ, each of one class, and each in both contexts."""
    n = len(of_class)
    own = rng.normal(size=(n, 2))
    table = pd.DataFrame({"animal": np.repeat(np.arange(n), rows)})
    table[["x", "z"]] = np.repeat(own, rows, axis=0) + 0.3 * rng.normal(size=(n * rows, 2))
    table["kind"] = np.repeat(np.array(of_class), rows)
    table["context"] = np.tile(["p", "q"], n * rows // 2)
    table["x"] += effect * (table["context"] == "p")
    return table


def test_nested_groups_exchange_labels_as_a_whole():
    table = animals(np.random.default_rng(0), list("aaaabbbb"))
    fit = lda("kind ~ x + z", table)
    validation = cross_validate(fit, 4, groups="animal", seed=1, permutations=30)
    assert validation.permutations.labellings == 70
    assert validation.permutations.permuted_units == "whole groups of 'animal'"
    single = cross_validate(fit, 4, seed=1, permutations=30).permutations
    assert single.rates.std() < validation.permutations.rates.std()


def test_labels_are_permuted_within_crossed_blocks():
    table = animals(np.random.default_rng(1), list("aabb"), effect=0.5)
    fit = lda("context ~ x + z", table)
    found = cross_validate(fit, 4, seed=1, permutations=9, within="animal").permutations
    assert found.labellings == 70**4
    assert found.permuted_units == "rows within 'animal'"
    both = cross_validate(fit, 4, groups="animal", seed=1, permutations=9, within="animal").permutations
    assert both.permuted_units == "rows within 'animal'"
    vector = cross_validate(fit, 4, seed=1, permutations=9, within=table["animal"].to_numpy()).permutations
    pd.testing.assert_series_equal(vector.rates, found.rates)
    table["site"] = table["animal"] % 2
    nested = cross_validate(lda("kind ~ x", table), 2, groups="animal", within="site", seed=1, permutations=9)
    assert nested.permutations.permuted_units == "whole groups of 'animal' within 'site'"
    assert nested.permutations.labellings == 4


@pytest.mark.parametrize(
    ("response", "asked", "said"),
    [
        ("context", {"groups": "animal"}, r"groups='animal' has rows of classes .*within="),
        ("kind", {"within": "animal"}, r"No permutation within 'animal' changes .*groups="),
        ("kind", {"groups": "animal", "within": "context"}, "has rows in two blocks of within='context'"),
        ("kind", {"folds": "animal"}, r"groups=.*folds=8"),
        ("context", {"within": "nobody"}, "nobody"),
        ("context", {"within": [1, 2]}, "within= has 2 values"),
    ],
)
def test_a_design_that_does_not_go_is_refused_with_the_one_that_does(response, asked, said):
    table = animals(np.random.default_rng(0), list("aaaabbbb"))
    fit = lda(f"{response} ~ x + z", table)
    with pytest.raises(DataError, match=said):
        cross_validate(fit, **({"folds": 4} | asked), seed=1, permutations=9)


@pytest.mark.parametrize("bad", [-1, 2.5, True, "9", None, 10**10])
def test_invalid_numbers_of_permutations_are_refused(bad):
    with pytest.raises(DataError) as caught:
        cross_validate(LDA, 5, permutations=bad)
    assert "permutations=" in str(caught.value)


def test_within_without_permutations_is_refused():
    with pytest.raises(DataError) as caught:
        cross_validate(LDA, 5, within="place")
    assert "permutations=999" in str(caught.value)


def test_a_missing_block_is_named():
    table = TWO.assign(block=TWO["place"].astype(float).where(TWO.index != 77))
    with pytest.raises(DataError) as caught:
        cross_validate(lda(FORMULA, table), 5, within="block", permutations=3)
    assert caught.value.rows == (77,)
    # One of a row that the fit does not use is not asked for.
    table.loc[77, "sepal_width"] = np.nan
    assert cross_validate(lda(FORMULA, table), 5, within="block", permutations=3).permutations is not None


class _WithoutRule(QDASpec):
    def refit_to_moments(self, fit, moments):
        return None


def test_permutations_without_a_fit_are_redrawn_and_counted():
    """Where class a gets two of the three equal values, it has no variance without the fold of another."""
    table = pd.DataFrame({"y": list("aaabbbbbb"), "x": [0.0, 1, 2, 5, 5, 5, 6, 7, 8]})
    fit = discrim.qda("y ~ x", table)
    found = cross_validate(fit, [1, 2, 3] * 3, permutations=10, seed=0).permutations
    assert found.n_redrawn > 0
    assert any("drawn again" in note for note in found.notes())
    broken = replace(fit._fit, spec=_WithoutRule())
    with pytest.raises(NotSupportedError) as caught:
        cross_validate(type(fit)(broken), 3, permutations=3)
    assert caught.value.classes == ("a",)


def test_models_that_cannot_fit_permuted_labels_suggest_others():
    fit = discrim.hyperplane("species ~ .", IRIS[:100].astype({"species": str}))
    with pytest.raises(NotSupportedError) as caught:
        cross_validate(fit, 3, permutations=1, seed=1)
    assert "lda()" in str(caught.value)


def test_weights_repeats_sources_and_learnt_transforms():
    weighted = TWO.assign(times=1.0 + np.arange(100) % 3)
    assert (
        len(cross_validate(lda(FORMULA, weighted, weights="times"), 4, permutations=3).permutations.rates)
        == 3
    )
    assert cross_validate(LDA, 4, repeats=3, permutations=3, seed=1).permutations.rates.between(0, 1).all()
    chunks = lda(FORMULA, lambda: (TWO[i : i + 40] for i in (0, 40, 80)))
    one, two = (cross_validate(fit, 4, permutations=3, seed=1).permutations.rates for fit in (chunks, LDA))
    np.testing.assert_allclose(one, two, atol=1e-12)
    learnt = lda("species ~ standardize(sepal_length) + sepal_width", TWO)
    same = cross_validate(learnt, 4, permutations=3, seed=1).permutations.rates
    np.testing.assert_allclose(same, two, atol=1e-12)


def test_crab_species_are_permuted_within_each_sex():
    crabs = classic_table("MASS_crabs")
    validation = cross_validate(
        lda("sp ~ FL + RW + CL + CW + BD", crabs), 200, permutations=99, within="sex", seed=1
    )
    assert validation.permutations.pvalue == 0.01
    assert 0.4 < validation.permutations.rates.mean() < 0.55


@pytest.mark.slow
def test_permutations_of_groups_keep_the_level():
    """Animals differ, and classes do not: whole animals exchange labels at the level asked for."""
    rng, runs = np.random.default_rng(5), 20
    groups, rows = 0, 0
    for run in range(runs):
        fit = lda("kind ~ x + z", animals(rng, list("aaaaabbbbb"), rows=4))
        nested = cross_validate(fit, 5, groups="animal", seed=run, permutations=9).permutations
        single = cross_validate(fit, 5, seed=run, permutations=9).permutations
        groups, rows = groups + (nested.pvalue <= 0.1), rows + (single.pvalue <= 0.1)
    assert stats.binomtest(groups, runs, 0.1, alternative="greater").pvalue > 1e-3
    assert rows > 0.4 * runs
