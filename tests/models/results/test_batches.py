"""A batch that is added to a fit gives the fit of all rows; moments that decay are weights that fall."""

import pickle

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    DataError,
    DroppedColumnsWarning,
    NotSupportedError,
    PriorError,
    WeightsWarning,
)

IRIS = load_iris().astype({"species": str}).sample(frac=1, random_state=3).reset_index(drop=True)
NEW = IRIS["species"] == "setosa"
BATCHES = [IRIS[~NEW], IRIS[NEW][:20], IRIS[NEW][20:]]
VERBS = [
    ("lda", {}),
    ("lda", {"method": "mle", "covariance": "shrunk", "prior": "equal"}),
    ("qda", {}),
    ("naive_bayes", {}),
    ("nearest_centroid", {}),
    ("shrunken_centroids", {"threshold": 2.0}),
    ("rda", {"alpha": 0.4, "gamma": 0.8}),
    ("indicator", {}),
    ("pls", {"ncomp": 2}),
    ("sparse_lda", {"penalty": 0.1}),
]


def same_fit(ours, theirs, data, rtol=1e-11):
    assert set(ours.classes) == set(theirs.classes)
    assert ours.nobs == theirs.nobs
    expected = theirs.decision_function(data)[ours.classes]
    pd.testing.assert_frame_equal(ours.decision_function(data), expected, rtol=rtol, atol=1e-10)
    pd.testing.assert_series_equal(ours.predict(data), theirs.predict(data))


@pytest.mark.parametrize(("verb", "options"), VERBS)
def test_batches_and_new_classes_give_the_fit_of_all_rows(verb, options):
    fit = made = getattr(discrim, verb)("species ~ .", BATCHES[0], **options)
    for batch in BATCHES[1:]:
        made = made.update(batch)
    assert made.classes.tolist() == ["versicolor", "virginica", "setosa"]
    same_fit(made, getattr(discrim, verb)("species ~ .", IRIS, **options), IRIS)
    # The fit that was added to stays as it was.
    assert fit.classes.tolist() == ["versicolor", "virginica"]
    ordered = fit.update(pd.concat(BATCHES[1:]), levels=sorted(IRIS["species"].unique()))
    assert ordered.classes.tolist() == ["setosa", "versicolor", "virginica"]
    same_fit(ordered, made, IRIS)


def test_a_batch_is_added_and_data_replaces(tmp_path):
    fit = discrim.lda("species ~ .", IRIS[:100])
    path = tmp_path / "batch.csv"
    IRIS[100:].to_csv(path, index=False)
    for added in (fit.update(IRIS[100:]), fit.update(batch=IRIS[100:]), fit.update(batch=str(path))):
        same_fit(added, discrim.lda("species ~ .", IRIS), IRIS)
    assert fit.update(data=IRIS[100:]).nobs == 50
    assert fit.update(batch=iter([IRIS[100:120], IRIS[120:]])).nobs == 150


def test_factors_missing_values_and_weights_of_a_batch():
    penguins = load_penguins().assign(w=lambda table: np.arange(len(table)) % 3 + 1.0)
    formula, first, last = "species ~ bill_length_mm + island", penguins[::2], penguins[1::2]
    for verb, options in (("lda", {}), ("naive_bayes", {"laplace": 1})):
        expected = getattr(discrim, verb)(formula, penguins, weights="w", **options)
        by_name = getattr(discrim, verb)(formula, first, weights="w", **options)
        same_fit(by_name.update(last), expected, penguins.dropna())
        vector, bare = first["w"].to_numpy(), first.drop(columns="w")
        by_vector = getattr(discrim, verb)(formula, bare, weights=vector, **options)
        again = by_vector.update(last[:50], weights="w").update(last[50:], weights="w")
        same_fit(again, expected, penguins.dropna())
        assert again._fit.dropped == expected._fit.dropped > 0
        with pytest.raises(DataError) as caught:
            by_vector.update(last)
        assert "weights=" in str(caught.value)
        with pytest.raises(DataError) as caught:
            by_name.update(last.assign(island="Mars"))
        assert caught.value.rows == (1,)


def test_batches_keep_the_dtype_of_categorical_levels():
    kind = pd.CategoricalDtype(["virginica", "setosa", "versicolor"])
    whole = IRIS.astype({"species": kind})
    with pytest.warns(DroppedColumnsWarning, match="'setosa'"):
        fit = discrim.lda("species ~ .", whole[~NEW])
    updated = fit.update(whole[NEW])
    assert updated.classes.tolist() == ["virginica", "versicolor", "setosa"]
    assert updated.predict(whole).dtype == kind
    same_fit(updated, discrim.lda("species ~ .", whole), whole)


def test_columns_that_did_not_vary_at_first_come_back():
    first = IRIS[:100].assign(petal_width=1.0)
    with pytest.warns(DroppedColumnsWarning):
        fit = discrim.lda("species ~ .", first)
    same_fit(fit.update(IRIS[100:]), discrim.lda("species ~ .", pd.concat([first, IRIS[100:]])), IRIS)


def test_loaded_and_pickled_fits_take_batches(tmp_path):
    fit = discrim.qda("species ~ .", IRIS[:100])
    fit.save(tmp_path / "fit")
    expected = discrim.qda("species ~ .", IRIS)
    for held in (discrim.load(tmp_path / "fit"), pickle.loads(pickle.dumps(fit.update(IRIS[100:110])))):
        same_fit(held.update(IRIS[held.nobs :]), expected, IRIS)
    with_factor = discrim.lda("species ~ bill_length_mm + island", load_penguins())
    with_factor.save(tmp_path / "factor")
    with pytest.raises(NotSupportedError) as caught:
        discrim.load(tmp_path / "factor").update(load_penguins())
    assert "moments()" in str(caught.value)


def test_invalid_batches_are_refused():
    fit = discrim.lda("species ~ .", BATCHES[0], prior={"versicolor": 0.3, "virginica": 0.7})
    with pytest.raises(PriorError) as caught:
        fit.update(BATCHES[1])
    assert "'setosa'" in str(caught.value)
    assert "prior=" in str(caught.value)
    updated = fit.update(BATCHES[1], prior=[0.2, 0.3, 0.5])
    assert updated.prior.to_dict() == {"versicolor": 0.2, "virginica": 0.3, "setosa": 0.5}
    assert fit.update(BATCHES[0]).prior.to_dict() == fit.prior.to_dict()
    with pytest.raises(DataError) as caught:
        fit.update(BATCHES[1], IRIS)
    assert "batch" in str(caught.value)
    assert "formula" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.update(BATCHES[1], levels=["setosa", "versicolor"])
    assert "levels=" in str(caught.value)
    assert "'virginica'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.update(BATCHES[1], levels=["setosa", "versicolor", "virginica", "setosa"])
    assert "twice" in str(caught.value)
    assert "twice" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.update(BATCHES[1].assign(species=7))
    assert "'virginica'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.update(BATCHES[1], functions={"f": abs})
    assert "functions=" in str(caught.value)
    with pytest.raises(TypeError, match=r"'priors': use prior="):
        fit.update(BATCHES[1], priors="equal")
    for other, why in [
        (discrim.knn("species ~ .", IRIS, k=3), r"knn\(\) is not fitted to moments"),
        (discrim.rda("species ~ .", IRIS, folds=3), r"choice of alpha and gamma|chosen"),
    ]:
        with pytest.raises(NotSupportedError, match=rf"{why}.*update\(data=pd\.concat"):
            other.update(IRIS)


SCATTERS = pytest.mark.parametrize("scatters", ["class", "pooled", "diagonal"])


@SCATTERS
def test_decayed_moments_equal_moments_with_decreasing_weights(scatters):
    age = np.repeat([3, 2, 1, 0], [40, 40, 40, 30])
    first = discrim.moments("species ~ .", IRIS[age == 3], scatters=scatters)
    total = first
    for back in (2, 1, 0):
        total = np.float64(0.9) * total + total.of(IRIS[age == back])
    weighted = discrim.moments("species ~ .", IRIS, weights=0.9**age, scatters=scatters)
    np.testing.assert_allclose(total.counts, weighted.counts, rtol=1e-14)
    np.testing.assert_allclose(total.means, weighted.means, rtol=1e-13)
    if scatters != "diagonal":
        np.testing.assert_allclose(total.cov, weighted.cov, rtol=1e-12)
    if scatters != "pooled":
        np.testing.assert_allclose(total.variances, weighted.variances, rtol=1e-12)
    # Weights that come from a table are asked what they mean; of a decay that is known.
    verb = discrim.lda if scatters == "pooled" else discrim.naive_bayes
    ours = verb(moments=total)
    with pytest.warns(WeightsWarning):
        theirs = verb(moments=weighted)
    assert ours.nobs == pytest.approx(30 + 40 * (0.9 + 0.81 + 0.729), rel=1e-14)
    np.testing.assert_allclose(ours.predict_log_proba(IRIS), theirs.predict_log_proba(IRIS), rtol=1e-9)
    assert ours.llf == pytest.approx(theirs.llf, rel=1e-12)


def test_decayed_moments_keep_their_attributes(tmp_path):
    summed = discrim.moments("species ~ .", IRIS)
    half = summed * 0.5
    assert summed.nobs == 150
    assert (half + half).counts.tolist() == summed.counts.tolist()
    assert "75 rows" in repr(half)
    half.save(tmp_path / "half")
    again = discrim.load(tmp_path / "half")
    same_fit(discrim.lda(moments=again), discrim.lda(moments=half), IRIS)
    # Rows that come later count one each, as those before did.
    assert (again + again.of(IRIS[:30])).nobs == 105
    third = (0.9 * summed) - 0.9 * summed.of(IRIS[:50])
    np.testing.assert_allclose(third.means, discrim.moments("species ~ .", IRIS[50:]).means, rtol=1e-12)
    fit = discrim.lda(moments=half)
    with pytest.warns(WeightsWarning):
        weighted = discrim.lda("species ~ .", IRIS, weights=np.full(150, 0.5))
    assert fit.bic == pytest.approx(weighted.bic, rel=1e-12)


@pytest.mark.parametrize("factor", [0, -0.5, np.inf, np.nan])
def test_invalid_decay_factors_are_refused(factor):
    with pytest.raises(DataError) as caught:
        factor * discrim.moments("species ~ .", IRIS)
    assert "positive" in str(caught.value)
    assert "number" in str(caught.value)


def test_factors_have_to_be_numbers():
    moments = discrim.moments("species ~ .", IRIS)
    for factor in (True, "2", None, moments):
        with pytest.raises(TypeError):
            factor * moments
    small = moments * 1e-150
    with pytest.raises(DataError) as caught:
        small * 1e-100
    assert caught.value.classes == ("setosa",)
