"""Moments of tables that add up, and moments from published statistics, in the place of a table."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Shrunk, ShrunkCorrelation
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimWarning,
    DroppedColumnsWarning,
    EmptyClassWarning,
    FormulaError,
    NotSupportedError,
)

IRIS = load_iris()
TEXT = IRIS.astype({"species": str})
PENGUINS = load_penguins()
FORMULA = "species ~ ."


def in_chunks(data, size):
    return [data.iloc[start : start + size] for start in range(0, len(data), size)]


def assert_same_fit(ours, theirs, rtol=1e-9):
    np.testing.assert_allclose(ours.to_numpy(), theirs.to_numpy(), rtol=rtol, atol=1e-9)


@pytest.mark.parametrize(
    ("verb", "size"), [(discrim.lda, 1), (discrim.qda, 7), (discrim.lda, 60), (discrim.qda, 150)]
)
def test_a_sum_of_tables_is_fitted_as_their_rows_together(verb, size):
    # Text labels: most pieces hold one class, in the table's order, so that levels have to be joined.
    shuffled = TEXT.sample(frac=1, random_state=1)
    whole = sum(discrim.moments(FORMULA, chunk) for chunk in in_chunks(shuffled, size))
    ours, theirs = verb(moments=whole), verb(FORMULA, TEXT)
    assert (ours.formula, ours.nobs) == (theirs.formula, 150)
    pd.testing.assert_series_equal(ours.counts, theirs.counts)
    assert ours.llf == pytest.approx(theirs.llf, rel=1e-11)
    assert_same_fit(ours.predict_log_proba(TEXT), theirs.predict_log_proba(TEXT))


def test_addition_commutes_and_associates():
    a, b, c = (
        discrim.moments(FORMULA, chunk) for chunk in in_chunks(TEXT.sample(frac=1, random_state=2), 50)
    )
    for other in ((b + a) + c, a + (c + b), sum([c, b, a])):
        assert_same_fit((a + b + c).cov, other.cov, 1e-13)
        assert_same_fit((a + b + c).means, other.means, 1e-14)
    assert (a + b).counts.sum() == (a + b).nobs == 100


def test_digits_are_kept_far_from_zero_and_through_a_pickle():
    far = IRIS.assign(**{name: IRIS[name] + 1e8 for name in IRIS.columns[:4]})
    whole = sum(pickle.loads(pickle.dumps(discrim.moments(FORMULA, chunk))) for chunk in in_chunks(far, 13))
    assert_same_fit(discrim.lda(moments=whole).scaling, discrim.lda(FORMULA, far).scaling, 1e-13)


def test_means_and_covariances_equal_numpy():
    summed = discrim.moments(FORMULA, IRIS)
    for label, rows in IRIS.groupby("species", observed=True):
        x = rows.drop(columns="species").to_numpy()
        np.testing.assert_allclose(summed.means.loc[label], x.mean(axis=0), rtol=1e-14)
        np.testing.assert_allclose(summed.covs[label], np.cov(x.T), rtol=1e-12)
    pooled = discrim.moments(FORMULA, IRIS, scatters="pooled")
    assert_same_fit(pooled.cov, discrim.lda(FORMULA, IRIS).cov, 1e-12)
    assert_same_fit(summed.cov, pooled.cov, 1e-12)


def test_transforms_are_estimated_from_the_first_table():
    formula = "species ~ poly(bill_length_mm, 2) + sex + center(body_mass_g)"
    first, second = PENGUINS[::2], PENGUINS[1::2]
    summed = discrim.moments(formula, first)
    ours = discrim.lda(moments=summed + summed.of(second))
    # LDA does not change with the basis, which the whole table would have chosen otherwise.
    theirs = discrim.lda(formula, PENGUINS)
    assert ours.nobs == theirs.nobs
    assert (summed + summed.of(second)).dropped == PENGUINS[["sex", "bill_length_mm"]].isna().any(
        axis=1
    ).sum()
    assert_same_fit(
        ours.predict_log_proba(PENGUINS).dropna(), theirs.predict_log_proba(PENGUINS).dropna(), 1e-7
    )
    with pytest.raises(FormulaError) as caught:
        summed + discrim.moments(formula, second)
    assert "separately" in str(caught.value)


def test_weights_are_frequencies():
    weights = np.arange(150) % 3 + 1.0
    summed = discrim.moments(FORMULA, IRIS[:70], weights=weights[:70])
    ours = discrim.lda(moments=summed + summed.of(IRIS[70:], weights=weights[70:]))
    theirs = discrim.lda(FORMULA, IRIS.loc[IRIS.index.repeat(weights.astype(int))])
    assert ours.nobs == theirs.nobs
    assert_same_fit(ours.coef, theirs.coef, 1e-10)


OPTIONS = (
    {"method": "mle"},
    {"prior": "equal"},
    {"ncomp": 1},
    {"covariance": "diagonal"},
    {"covariance": "spherical"},
    {"covariance": "shrunk"},
    {"covariance": Shrunk(0.3)},
    {"covariance": ShrunkCorrelation(0.3, variance_shrinkage=0.1)},
)


def test_models_and_tests_need_no_rows():
    summed = discrim.moments(FORMULA, IRIS)
    for options in OPTIONS:
        ours, theirs = discrim.lda(moments=summed, **options), discrim.lda(FORMULA, IRIS, **options)
        assert_same_fit(ours.predict_log_proba(IRIS), theirs.predict_log_proba(IRIS), 1e-8)
    ours = discrim.lr_test(discrim.lda(moments=summed), discrim.qda(moments=summed))
    theirs = discrim.lr_test(discrim.lda(FORMULA, IRIS), discrim.qda(FORMULA, IRIS))
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-10)
    assert_same_fit(
        discrim.lda(moments=summed).canonical().dimension_tests,
        discrim.lda(FORMULA, IRIS).canonical().dimension_tests,
    )


def test_saved_fits_to_moments_raise_errors_for_methods_that_require_rows(tmp_path):
    fit = discrim.lda(moments=discrim.moments(FORMULA, IRIS))
    fit.save(tmp_path / "fit")
    assert discrim.load(tmp_path / "fit").predict(IRIS).equals(fit.predict(IRIS))
    assert fit.confusion(IRIS).to_numpy().trace() == 147
    for asked, way_out in (
        (lambda: fit.leave_one_out(), "Fit formula and data"),
        (fit.predict, "Pass data="),
        (fit.error_rates, "Pass data="),
        (fit.anova, "levene=None"),
        (lambda: fit.box_m(), r"use qda\(moments=\), which has box_m\(\)"),
    ):
        with pytest.raises(NotSupportedError, match=f"computed from moments.*{way_out}"):
            asked()


def test_covariances_of_classes_are_compared_without_rows(tmp_path):
    means, covs, counts = statistics(IRIS)
    fit = discrim.qda(moments=discrim.from_stats(means, covs, counts))
    fit.save(tmp_path / "fit")
    # M by hand of the published determinants.
    pooled = sum(covs[label] * 49 for label in covs) / 147
    m = 147 * np.linalg.slogdet(pooled)[1] - 49 * sum(np.linalg.slogdet(covs[label])[1] for label in covs)
    for each in (fit, discrim.load(tmp_path / "fit")):
        assert each.box_m().table.loc["Box's M", "statistic"] == pytest.approx(m, rel=1e-10)
        assert_same_fit(
            each.covariance_models().iloc[:, :3],
            discrim.qda(FORMULA, IRIS).covariance_models().iloc[:, :3],
            1e-6,
        )
    single = discrim.qda(moments=discrim.moments(FORMULA, IRIS), covariance="diagonal")
    with pytest.raises(NotSupportedError) as caught:
        single.box_m()
    assert "requires the rows" in str(caught.value)


def statistics(data, response="species"):
    groups = data.groupby(response, observed=True)
    covs = {label: rows.drop(columns=response).cov() for label, rows in groups}
    return groups.mean(), covs, groups.size()


def test_published_statistics_give_the_fit_of_the_rows():
    means, covs, counts = statistics(IRIS)
    given = discrim.from_stats(means, covs, counts)
    for verb in (discrim.lda, discrim.qda):
        ours, theirs = verb(moments=given), verb(FORMULA, IRIS)
        assert ours.llf == pytest.approx(theirs.llf, rel=1e-9)
        assert_same_fit(ours.predict_log_proba(IRIS), theirs.predict_log_proba(IRIS), 1e-7)
    pooled = sum(covs[label] * (counts[label] - 1) for label in covs) / 147
    alone = discrim.lda(moments=discrim.from_stats(means, pooled, counts))
    assert_same_fit(alone.coef, discrim.lda(FORMULA, IRIS).coef, 1e-9)
    mle = discrim.from_stats(means, [covs[label] * 49 / 50 for label in means.index], [50] * 3, method="mle")
    assert_same_fit(mle.cov, pooled, 1e-12)


def test_hotelling_and_distance_of_two_published_groups():
    # D2 = (m1 - m2)' S^-1 (m1 - m2), F = n1 n2 (n1 + n2 - p - 1) / ((n1 + n2 - 2)(n1 + n2) p) D2, by hand.
    means = pd.DataFrame([[0.0, 0.0], [3.0, 1.0]], index=["x", "y"], columns=["u", "v"])
    given = discrim.from_stats(means, [[4.0, 0.0], [0.0, 1.0]], {"y": 30, "x": 20})
    row = discrim.lda(moments=given).distances().loc[("x", "y")]
    assert row["D2"] == pytest.approx(9 / 4 + 1)
    assert row["F"] == pytest.approx(20 * 30 * 47 / (48 * 50 * 2) * 3.25)


def test_from_stats_matches_columns_by_name():
    means, covs, counts = statistics(IRIS)
    turned = {label: matrix.iloc[::-1, ::-1] for label, matrix in covs.items()}
    ours = discrim.from_stats(means, turned, dict(reversed(counts.to_dict().items())))
    assert_same_fit(ours.cov, discrim.from_stats(means, covs, counts).cov, 1e-15)


def test_a_class_without_rows_is_left_out_with_a_warning():
    removed = IRIS.assign(sepal_width=IRIS["sepal_width"].mask(IRIS["species"] == "virginica"))
    summed = discrim.moments(FORMULA, removed)
    with pytest.warns(EmptyClassWarning, match="virginica") as caught:
        fit = discrim.lda(moments=summed)
    assert fit.classes.tolist() == ["setosa", "versicolor"]
    assert caught[0].filename == __file__


MEANS, COVS, COUNTS = statistics(IRIS)
BAD_STATS = [
    ((MEANS.to_numpy(), COVS, COUNTS), "means is not a DataFrame"),
    ((MEANS, COVS, COUNTS.drop("setosa")), "class 'setosa'"),
    ((MEANS, COVS, [50, 50]), r"counts has shape \(2,\)"),
    ((MEANS, COVS, [50, 0, 50]), "Class 'versicolor' has 0 "),
    ((MEANS, {**COVS, "setosa": COVS["setosa"].iloc[:2, :2]}, COUNTS), "of 'setosa' has the columns"),
    ((MEANS, {**COVS, "setosa": -COVS["setosa"]}, COUNTS), "'setosa' has the variance -0.12"),
    ((MEANS, {**COVS, "rosa": COVS["setosa"]}, COUNTS), "'rosa'"),
    ((MEANS, [COVS["setosa"]] * 2, COUNTS), "one for each of the classes"),
    ((MEANS, 3.0, COUNTS), "one for each of the classes"),
    ((MEANS, np.triu(COVS["setosa"]), COUNTS), "not symmetric: .* 'sepal_length' and 'sepal_width'.*Pass"),
    ((MEANS, [COVS["setosa"]] * 3, [50, 1, 50]), "'versicolor' has one observation"),
    ((MEANS.set_axis(pd.MultiIndex.from_tuples([("a", i) for i in range(3)])), COVS, COUNTS), "MultiIndex"),
    ((MEANS, np.ones((4, 4)) * 2 - np.eye(4), COUNTS), "eigenvalue"),
    ((MEANS.mask(MEANS > 6), COVS, COUNTS), "means has a missing"),
    ((MEANS.rename(index={"setosa": "virginica"}), COVS, COUNTS), "unique"),
    ((MEANS, COVS["setosa"], [1, 1, 1]), "degrees of freedom"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "said"), BAD_STATS)
def test_statistics_that_do_not_fit_together(given, said):
    with pytest.raises(DataError, match=said):
        discrim.from_stats(*given)


def test_invalid_moments_are_refused():
    summed = discrim.moments(FORMULA, IRIS)
    pooled = discrim.moments(FORMULA, IRIS, scatters="pooled")
    with pytest.raises(DataError) as caught:
        discrim.lda(moments=summed, data=IRIS)
    assert "moments=" in str(caught.value)
    assert "data=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        discrim.lda(FORMULA)
    assert "table" in str(caught.value)
    with pytest.raises(DataError) as caught:
        discrim.qda(data=IRIS)
    assert "formula" in str(caught.value)
    with pytest.raises(DataError) as caught:
        discrim.lda(moments=FORMULA)
    assert "discrim" in str(caught.value)
    assert "moments" in str(caught.value)
    for options in ({"covariance": "t"}, {"covariance": Shrunk("loo")}):
        with pytest.raises(NotSupportedError) as caught:
            discrim.lda(moments=summed, **options)
        assert "observations" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        discrim.qda(moments=pooled)
    assert 'scatters="class"' in str(caught.value)
    with pytest.raises(DataError) as caught:
        summed + pooled
    assert "scatters=" in str(caught.value)
    with pytest.raises(FormulaError) as caught:
        summed + discrim.moments("species ~ sepal_length", IRIS)
    assert "'species ~ .'" in str(caught.value)
    with pytest.raises(TypeError):
        summed + 1
    with pytest.raises(DataError) as caught:
        discrim.lda(moments=discrim.moments(FORMULA, TEXT[:50]))
    assert caught.value.classes == ("setosa",)
    with pytest.raises(DataError) as caught:
        summed.of(IRIS.assign(sepal_width=IRIS["sepal_width"].mask(IRIS.index == 3)), na_action="raise")
    assert caught.value.columns == ("sepal_width",)
    assert caught.value.rows == (3,)
    with pytest.raises(DataError) as caught:
        discrim.moments(FORMULA, TEXT, levels=TEXT["species"].unique()).of(TEXT.assign(species="rosa"))
    assert caught.value.rows == (0,)
    nothing = discrim.moments(FORMULA, IRIS.assign(sepal_width=np.nan))
    with pytest.raises(DataError) as caught:
        discrim.lda(moments=nothing)
    assert "no observations" in str(caught.value)
    orders = [discrim.moments(FORMULA, TEXT, levels=["setosa", *rest]) for rest in
              (["versicolor", "virginica"], ["virginica", "versicolor"])]  # fmt: skip
    with pytest.raises(DataError) as caught:
        orders[0] + orders[1]
    assert "levels=" in str(caught.value)


WANTED = ["virginica", "setosa", "versicolor"]


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1, 12])
def test_declared_levels_keep_their_order_in_every_chunk(size):
    rows = TEXT[::5]
    declared = rows.assign(species=pd.Categorical(rows["species"], WANTED, ordered=True))
    for table, levels in ((declared, None), (rows, WANTED)):
        first, *rest = in_chunks(table, size)
        summed = discrim.moments(FORMULA, first, levels=levels)
        for whole in (
            sum([discrim.moments(FORMULA, chunk, levels=levels) for chunk in rest], start=summed),
            sum([summed.of(chunk) for chunk in rest], start=summed),
        ):
            assert whole.counts.to_dict() == dict.fromkeys(WANTED, 10)
            assert discrim.lda(moments=whole).classes.tolist() == WANTED


@pytest.mark.parametrize("predictor", ["island", 'C(island, levels=["Biscoe", "Dream", "Torgersen"])'])
def test_declared_categories_that_come_late(predictor):
    formula = f"species ~ {predictor} + body_mass_g"
    table = PENGUINS.sample(frac=1, random_state=3).sort_values("island", ascending=False, kind="stable")
    table["island"] = table["island"].astype(str if predictor[0] == "C" else "category")
    summed = discrim.moments(formula, table[:20])
    ours, theirs = discrim.lda(moments=summed + summed.of(table[20:])), discrim.lda(formula, table)
    assert_same_fit(ours.predict_log_proba(table).dropna(), theirs.predict_log_proba(table).dropna(), 1e-8)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_chunks_support_zero_weights_and_the_weights_column_of_the_first():
    weights = np.repeat([0.5, 0.0, 2.25, 1.0, 0.0], 30)
    weighted = TEXT.sample(frac=1, random_state=4).assign(w=weights)
    theirs = discrim.lda(FORMULA, weighted, weights="w")
    first, *rest = in_chunks(weighted, 30)
    summed = discrim.moments(FORMULA, first, weights="w")
    others = [discrim.moments(FORMULA, chunk, weights="w") for chunk in rest]
    for whole in (sum(map(summed.of, rest), start=summed), sum(others, start=summed)):
        ours = discrim.lda(moments=whole)
        assert ours.nobs == pytest.approx(theirs.nobs)
        assert_same_fit(ours.coef, theirs.coef, 1e-10)
    summed = discrim.moments(FORMULA, TEXT, weights=weights)
    with pytest.raises(DataError) as caught:
        summed.of(TEXT)
    assert "weights=" in str(caught.value)
    assert (summed + summed.of(TEXT, weights=np.ones(150))).nobs == weights.sum() + 150


def two_groups(covs, counts=(10, 10)):
    names = list("uvw")[: np.shape(covs)[-1]]
    means = pd.DataFrame(np.eye(2, len(names)), index=["x", "y"], columns=names)
    return discrim.from_stats(means, covs, counts)


# u = (v + w) / sqrt(2), or v = u; the first is -4e-9 below zero by its eight digits.
SINGULAR = [
    (np.array([[1, 0.70710679, 0.70710679], [0.70710679, 1, 0], [0.70710679, 0, 1]]), "w"),
    (np.array([[4.0, 2.0], [2.0, 1.0]]), "v"),
    (np.array([[1, 0.9, 0.9], [0.9, 1, 0.62], [0.9, 0.62, 1]]), "w"),
]


@pytest.mark.parametrize(("covs", "barren"), SINGULAR)
def test_a_published_covariance_without_an_inverse_names_the_column(covs, barren, tmp_path):
    given = two_groups(covs)
    with pytest.raises(CollinearError, match=f"singular: '{barren}' is a linear combination of 'u'"):
        discrim.lda(moments=given)
    with pytest.raises(CollinearError, match=f"'{barren}' .* in class 'x'"):
        discrim.qda(moments=two_groups([covs, covs]))
    with pytest.warns(DroppedColumnsWarning, match=f"Dropped '{barren}'"):
        fit = discrim.lda(moments=given, collinear="drop")
    kept = len(covs) - 1
    np.testing.assert_allclose(fit.cov, covs[:kept, :kept], rtol=1e-12)
    with pytest.warns(DiscrimWarning, match="pinv"):
        fit = discrim.lda(moments=given, covariance="pinv")
    expected = np.linalg.pinv(covs, rcond=1e-6, hermitian=True) @ given.means.to_numpy().T
    np.testing.assert_allclose(fit.coef["y"] - fit.coef["x"], expected[:, 1] - expected[:, 0], rtol=1e-6)
    fit.save(tmp_path / "fit")
    assert discrim.load(tmp_path / "fit").coef.equals(fit.coef)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_class_of_one_row_has_no_covariance():
    few = TEXT[:101]
    groups = few.groupby("species")
    summed = discrim.moments(FORMULA, few)
    for covs in (summed.covs, groups.cov()):
        given = discrim.from_stats(summed.means, covs, summed.counts)
        assert_same_fit(discrim.lda(moments=given).coef, discrim.lda(FORMULA, few).coef)
    with pytest.raises(CollinearError) as caught:
        discrim.qda(moments=given)
    assert "'virginica'" in str(caught.value)


def test_covariances_by_class_as_pandas_gives_them():
    groups = TEXT.groupby("species")
    given = discrim.from_stats(groups.mean(), groups.cov(), groups.size())
    assert_same_fit(given.cov, discrim.lda(FORMULA, TEXT).cov, 1e-12)
    assert_same_fit(discrim.lda(moments=given + discrim.moments(FORMULA, TEXT)).coef,
         discrim.lda(FORMULA, pd.concat([TEXT, TEXT])).coef)  # fmt: skip


def test_more_rows_than_can_be_counted():
    fit = discrim.lda(moments=two_groups(np.eye(2), (1e200, 3e200)))
    assert fit.prior.tolist() == [0.25, 0.75]
    np.testing.assert_allclose(fit.coef, [[1, 0], [0, 1]])


@pytest.mark.parametrize("unit", [1e-200, 1e-30, 1e140])
@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
def test_rows_one_by_one_in_extreme_units(verb, unit):
    rows = TEXT[::5]
    table = rows.assign(**{name: rows[name] * unit for name in rows.columns[:4]})
    table["petal_width"] /= unit
    fit = verb(moments=sum(discrim.moments(FORMULA, chunk) for chunk in in_chunks(table, 1)))
    assert_same_fit(fit.predict_log_proba(table), verb(FORMULA, rows).predict_log_proba(rows), 1e-8)


@pytest.mark.parametrize("named", ["formula", "type"])
def test_chunks_without_a_category_add_up_if_all_categories_are_declared(named):
    rng = np.random.default_rng(33)
    frame = pd.DataFrame({"y": rng.choice(list("ab"), 90), "x": rng.normal(size=90)})
    frame["kind"] = rng.choice(list("pqr"), 90)
    formula = "y ~ x + C(kind, levels=['p', 'q', 'r'])"
    if named == "type":
        formula = "y ~ x + kind"
        frame["kind"] = pd.Categorical(frame["kind"], categories=list("pqr"))
    lacks = frame["kind"] != "r"
    chunks = [frame[lacks][:30], frame[~lacks], frame[lacks][30:]]
    # No part sees another.
    together = sum(discrim.moments(formula, chunk, levels=["a", "b"]) for chunk in chunks)
    expected = discrim.lda(formula, frame).coef
    np.testing.assert_allclose(discrim.lda(moments=together).coef, expected, rtol=1e-10)
