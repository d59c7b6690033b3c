"""Prediction sets: MAPIE's, brute force by refits, the promise by simulation, and every way to ask."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discrim
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DataError, DiscrimWarning, DroppedRowsWarning, NotSupportedError, PriorError
from tests.support import GOLDEN

IRIS = load_iris()
PENGUINS = load_penguins().dropna(subset=["bill_depth_mm", "body_mass_g", "species"])
FEW = "species ~ bill_depth_mm + body_mass_g"
SETS = json.loads((GOLDEN / "prediction_sets.json").read_text(encoding="utf-8"))


def letters(sets):
    return ["".join(label[0] for label in sets.columns[1:] if row[label]) for _, row in sets.iterrows()]


@pytest.mark.parametrize("case", SETS)
def test_split_sets_equal_mapie(case):
    verb, level = case.split(", ")
    fit = getattr(discrim, verb)(FEW, PENGUINS[::3])
    sets = fit.predict_set(PENGUINS[2::3], float(level), calibration=PENGUINS[1::3])
    assert letters(sets) == SETS[case]


def brute_force(verb, table, new, level, by, prior=None):
    """Truth values (m, K) of new rows, and of the table's own by the others, by as many refits as rows."""
    fit = verb(FEW, table)
    codes = pd.Categorical(table["species"]).codes
    held = fit.prior.to_dict() if prior is None else prior
    values = np.array(
        [
            1 - verb(FEW, table.drop(index=i), prior=held).predict_proba(table.loc[[i]]).to_numpy()[0]
            for i in table.index
        ]
    )
    own = values[np.arange(len(codes)), codes]
    fresh = 1 - fit.predict_proba(new, prior=prior).to_numpy()

    def inside(score, k, skip=None):
        among = [i for i in range(len(own)) if i != skip and (by is None or codes[i] == k)]
        return (1 + sum(own[i] >= score for i in among)) > (1 - level) * (len(among) + 1) + 1e-9

    return (
        [[inside(row[k], k) for k in range(3)] for row in fresh],
        [[inside(row[k], k, i) for k in range(3)] for i, row in enumerate(values)],
    )


@pytest.mark.parametrize(
    ("by", "prior"), [(None, None), ("class", {"Adelie": 0.2, "Chinstrap": 0.5, "Gentoo": 0.3})]
)
def test_leave_one_out_sets_equal_sets_by_refits(by, prior):
    table, new = PENGUINS[::10], PENGUINS[1::9]
    expected, own = brute_force(discrim.qda, table, new, 0.8, by, prior)
    fit = discrim.qda(FEW, table)
    assert fit.predict_set(new, 0.8, by=by, prior=prior).iloc[:, 1:].to_numpy(bool).tolist() == expected
    assert fit.predict_set(level=0.8, by=by, prior=prior).iloc[:, 1:].to_numpy(bool).tolist() == own


def test_a_weight_is_so_many_rows():
    table = PENGUINS[::5].assign(w=lambda t: np.arange(len(t)) % 3 + 1)
    repeated = table.loc[table.index.repeat(table["w"])].reset_index(drop=True)
    new = PENGUINS[1::4]
    weighed = discrim.lda(FEW, table, weights="w")
    fit_lda = discrim.lda(FEW, repeated)
    for by in (None, "class"):
        pd.testing.assert_frame_equal(
            weighed.predict_set(new, 0.9, by=by), fit_lda.predict_set(new, 0.9, by=by)
        )
        sets = fit_lda.predict_set(level=0.9, by=by)[~table.index.repeat(table["w"]).duplicated()]
        pd.testing.assert_frame_equal(weighed.predict_set(level=0.9, by=by), sets.set_index(table.index))
    loaded = discrim.lda(FEW, PENGUINS[3::5])
    pd.testing.assert_frame_equal(
        loaded.predict_set(new, 0.9, calibration=table, weights="w"),
        loaded.predict_set(new, 0.9, calibration=repeated),
    )


def test_prediction_sets_have_sizes_missing_rows_and_notes():
    fit = discrim.lda(FEW, PENGUINS)
    new = PENGUINS[::10].copy()
    new.loc[new.index[3], "body_mass_g"] = np.nan
    for level in (0.3, 0.9, 0.999):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscrimWarning)
            sets = fit.predict_set(new, level)
        assert sets.index.equals(new.index)
        assert sets.iloc[3].isna().all()
        size = sets.iloc[:, 1:].drop(index=new.index[3]).sum(axis=1)
        message = sets["set"].drop(index=new.index[3])
        assert message.tolist() == [["empty", "single", "several", "full"][int(s)] for s in size]
    assert "0.999" in sets.attrs["promise"]
    assert "leave-one-out" in sets.attrs["promise"]
    assert sum(sets.attrs["calibration_rows"].values()) == len(PENGUINS)


def test_sets_grow_with_the_level_and_the_best_class_fills_empty_ones():
    fit = discrim.qda(FEW, PENGUINS[::2])
    new = PENGUINS[1::2]
    bare = fit.predict_set(new, 0.5)
    full = fit.predict_set(new, 0.5, empty="best")
    was_empty = bare["set"] == "empty"
    assert was_empty.any()
    assert (full["set"] != "empty").all()
    chosen = full.loc[was_empty, fit.classes].astype(bool)
    assert (chosen.idxmax(axis=1) == fit.predict(new)[was_empty]).all()
    assert chosen.sum(axis=1).eq(1).all()
    before = None
    for level in (0.2, 0.5, 0.8, 0.95):
        inside = fit.predict_set(new, level).iloc[:, 1:].to_numpy(bool)
        assert before is None or (inside >= before).all()
        before = inside


def test_classes_with_too_few_rows_are_in_every_set_with_a_warning():
    some = pd.concat(
        [PENGUINS[PENGUINS["species"] != "Chinstrap"], PENGUINS[PENGUINS["species"] == "Chinstrap"][:12]]
    )
    fit = discrim.lda(FEW, some)
    with pytest.warns(DiscrimWarning, match="'Chinstrap' has 12"):
        sets = fit.predict_set(PENGUINS[::9], by="class")
    assert sets["Chinstrap"].all()
    with pytest.warns(DiscrimWarning, match="requires 19 .*There are 10"):
        sets = fit.predict_set(PENGUINS[::9], calibration=PENGUINS[:10])
    assert (sets["set"] == "full").all()


def test_loaded_fits_and_fits_to_moments_accept_calibration_rows(tmp_path):
    fit = discrim.lda(FEW, PENGUINS[::3])
    fit.save(tmp_path / "fit.discrim")
    loaded = discrim.load(tmp_path / "fit.discrim")
    of_moments = discrim.lda(moments=discrim.moments(FEW, PENGUINS[::3]))
    expected = fit.predict_set(PENGUINS[2::3], 0.9, calibration=PENGUINS[1::3])
    for other in (loaded, of_moments):
        with pytest.raises(NotSupportedError) as caught:
            other.predict_set(PENGUINS)
        assert "calibration=" in str(caught.value)
        with pytest.raises(NotSupportedError) as caught:
            other.predict_set()
        assert "calibration=" in str(caught.value)
        with pytest.raises(NotSupportedError) as caught:
            other.predict_set(calibration=PENGUINS[1::3])
        assert "data=" in str(caught.value)
        pd.testing.assert_frame_equal(
            other.predict_set(PENGUINS[2::3], 0.9, calibration=PENGUINS[1::3]), expected
        )


def test_sources_are_predicted_and_calibrated_in_chunks(tmp_path):
    fit = discrim.qda(FEW, PENGUINS[::3])
    new, held = PENGUINS[2::3], PENGUINS[1::3]

    def parts(table):
        return lambda: (table[i : i + 40] for i in range(0, len(table), 40))

    expected = fit.predict_set(new, 0.9, calibration=held, smoothed=True, seed=4)
    sets = fit.predict_set(parts(new), 0.9, calibration=parts(held), smoothed=True, seed=4)
    pd.testing.assert_frame_equal(pd.concat(sets), expected, check_frame_type=False)
    fit_qda = discrim.qda(FEW, parts(PENGUINS[::3]))
    pd.testing.assert_frame_equal(
        pd.concat(fit_qda.predict_set(parts(new), 0.9)), fit.predict_set(new, 0.9), check_categorical=False
    )
    path = fit.predict_set(new, 0.9, out=tmp_path / "sets.parquet")
    assert pd.read_parquet(path)["set"].astype(str).tolist() == fit.predict_set(new, 0.9)["set"].tolist()


@pytest.mark.slow
def test_dask_frames_give_lazy_sets():
    dd = pytest.importorskip("dask.dataframe")
    fit = discrim.lda(FEW, PENGUINS)
    lazy = fit.predict_set(dd.from_pandas(PENGUINS, npartitions=3), 0.9)
    found = lazy.compute()
    assert letters(found) == letters(fit.predict_set(PENGUINS, 0.9))


def test_a_class_of_prior_zero_is_in_no_set():
    fit = discrim.lda(FEW, PENGUINS[::2])
    prior = {"Adelie": 0.5, "Chinstrap": 0.0, "Gentoo": 0.5}
    new = PENGUINS[1::2]
    for by in (None, "class"):
        for sets in (
            fit.predict_set(new, 0.9, by=by, prior=prior),
            fit.predict_set(level=0.9, by=by, prior=prior),
        ):
            assert not sets["Chinstrap"].any()
            assert sets.attrs["calibration_rows"]["Chinstrap"] == 0
    with pytest.raises(PriorError) as caught:
        discrim.lda(FEW, PENGUINS, prior=prior).predict_set(new, prior="equal")
    assert "calibration=" in str(caught.value)


def test_models_without_posteriors_have_sets_by_margins():
    fit = discrim.indicator("species ~ .", IRIS)
    sets = fit.predict_set(IRIS, 0.9)
    assert sets.attrs["score"] == "margin"
    with pytest.raises(NotSupportedError) as caught:
        fit.predict_set(IRIS, score="lac")
    assert "probabilities" in str(caught.value)


def test_a_model_without_rules_left_out_takes_folds_or_other_rows():
    fit = discrim.lda("species ~ .", IRIS, covariance="mcd")
    with pytest.raises(NotSupportedError) as caught:
        fit.predict_set(IRIS)
    assert 'method="cv"' in str(caught.value)
    assert "calibration=" in str(caught.value)
    assert len(fit.predict_set(IRIS, method="cv", folds=3, seed=1)) == 150
    assert len(fit.predict_set(IRIS, calibration=IRIS)) == 150


def test_labels_of_any_kind_and_unlabelled_rows():
    table = IRIS.assign(species=pd.Categorical(IRIS["species"]).codes > 0)
    sets = discrim.lda("species ~ sepal_width + sepal_length", table).predict_set(table)
    assert sets.columns.tolist() == ["set", False, True]
    numbered = IRIS.assign(species=pd.Categorical(IRIS["species"]).codes.astype(float))
    numbered.loc[::7, "species"] = np.nan
    fit = discrim.lda("species ~ .", numbered)
    assert fit.predict_set()["set"].isna().sum() == numbered["species"].isna().sum()
    with pytest.warns(DroppedRowsWarning):
        fit.predict_set(numbered, calibration=numbered)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": 1}, "level"),
        ({"by": "group"}, "by="),
        ({"method": "split"}, "calibration="),
        ({"method": "loo", "calibration": IRIS}, "calibration="),
        ({"weights": "w"}, "weights="),
        ({"empty": "drop"}, "empty="),
        ({"smoothed": 1}, "smoothed="),
        ({"score": "raps"}, "score="),
        ({"calibration": IRIS.assign(species="iris")}, "iris"),
        ({"calibration": IRIS.assign(species=None)}, "150 rows of calibration="),
        ({"calibration": IRIS.drop(columns="species")}, "species"),
    ],
)
def test_invalid_set_options_are_named(options, said):
    fit = discrim.lda("species ~ .", IRIS)
    with pytest.raises(DataError, match=said):
        fit.predict_set(IRIS, **options)


def test_rows_the_fit_has_seen_are_not_split():
    with pytest.raises(NotSupportedError) as caught:
        discrim.lda("species ~ .", IRIS).predict_set(calibration=IRIS)
    assert "data=" in caught.value.hint


def test_single_observations_of_a_class_have_infinite_nonconformity():
    alone = pd.DataFrame([[9.0] * 4 + ["other"]], columns=IRIS.columns)
    table = pd.concat([IRIS, alone])
    table = table.reset_index(drop=True)
    fit = discrim.lda("species ~ .", table)
    sets = fit.predict_set(level=0.5)
    assert not sets["other"].iloc[:150].any()
    with pytest.warns(DiscrimWarning, match="'other'"):
        assert fit.predict_set(IRIS, 0.9, by="class")["other"].all()


def drawn(rng, n):
    codes = rng.integers(0, 3, n)
    x = rng.standard_t(3, (n, 2)) + np.array([[0, 0], [1.5, 0], [0, 2.5]])[codes] * (1 + codes[:, None] / 3)
    return pd.DataFrame({"y": np.array(["a", "b", "c"])[codes], "u": x[:, 0], "v": x[:, 1]})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score", "by", "smoothed"),
    [("lac", None, False), ("lac", "class", False), ("aps", None, True), ("aps", "class", False)],
)
def test_the_level_is_kept_by_split_and_nearly_by_leave_one_out(score, by, smoothed):
    """Coverage over draws of calibration and new rows; classes are no normal ones."""
    rng = np.random.default_rng(11)
    hits = {"split": np.zeros(3), "loo": np.zeros(3)}
    rows = np.zeros(3)
    for _ in range(50):
        table, held, new = drawn(rng, 90), drawn(rng, 90), drawn(rng, 60)
        fit = discrim.lda("y ~ u + v", table)
        codes = pd.Categorical(new["y"]).codes
        rows += np.bincount(codes, minlength=3)
        for method, calibration in (("split", held), ("loo", None)):
            sets = fit.predict_set(
                new, 0.8, by=by, score=score, smoothed=smoothed, seed=1, calibration=calibration
            )
            inside = sets.iloc[:, 1:].to_numpy(bool)[np.arange(60), codes]
            hits[method] += np.bincount(codes[inside], minlength=3)
    # New rows of one draw share their calibration: of 90 rows this adds a variance of about .8 * .2 / 90.
    n = rows.sum()
    se = np.sqrt(0.16 / n + 0.16 / (90 * 50))
    over = hits["split"].sum() / n
    assert over > 0.8 - 4 * se
    if smoothed:
        assert over < 0.8 + 4 * se
    assert abs(hits["loo"].sum() / n - over) < 0.03
    if by == "class":
        own = np.sqrt(0.16 / rows + 0.16 / (30 * 50))
        assert (hits["split"] / rows > 0.8 - 4 * own).all()


def test_hits_on_the_other_half_of_a_table_are_within_a_binomial_bound():
    # As they come, the birds of a nest are beside each other, and of alternate sex.
    table = PENGUINS.sample(frac=1, random_state=0)
    sets = discrim.qda(FEW, table[::2]).predict_set(table[1::2], 0.9)
    codes = pd.Categorical(table[1::2]["species"]).codes
    hits = sets.iloc[:, 1:].to_numpy(bool)[np.arange(len(codes)), codes].sum()
    assert stats.binom.cdf(hits, len(codes), 0.9) > 1e-3
