"""Cross-validation against refits by hand; tests of pairs against statsmodels, formulas, simulation."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

import discrim
from discrim import (
    compare,
    cross_validate,
    lda,
    logistic,
    naive_bayes,
    perceptron,
    qda,
    rda,
    shrunken_centroids,
    sparse_lda,
)
from discrim.covariance import Shrunk
from discrim.datasets import load_iris, load_penguins, load_wine
from discrim.errors import DataError, NotSupportedError
from discrim.inference.calibration import EvaluatedRows, mean_loss_interval
from discrim.inference.resampling import assign_folds, assign_group_folds, corrected_t, mcnemar

IRIS, PENGUINS, WINE = load_iris(), load_penguins(), load_wine()
SETOSA = IRIS.assign(setosa=IRIS["species"] == "setosa").drop(columns="species")


# ------------------------------------------------------------------ folds


@pytest.mark.slow
def test_folds_are_the_same_for_every_verb_formula_and_order_of_levels():
    with pytest.warns(discrim.errors.NoSeparationWarning):
        line = perceptron("species ~ standardize(bill_depth_mm) + sex", PENGUINS, maxiter=5)
    fits = [
        line,
        lda("species ~ bill_length_mm", PENGUINS),
        qda("species ~ bill_length_mm + sex", PENGUINS, levels=["Gentoo", "Adelie", "Chinstrap"]),
        naive_bayes("species ~ log(body_mass_g)", PENGUINS),
        logistic("species ~ bill_length_mm + flipper_length_mm", PENGUINS, bias_reduction=True),
        shrunken_centroids("species ~ standardize(bill_depth_mm)", PENGUINS, threshold=0.1),
        rda("species ~ bill_depth_mm + sex", PENGUINS, alpha=0.5, gamma=0.5),
    ]
    for options in ({}, {"groups": np.arange(len(PENGUINS)) // 3}):
        folds = [cross_validate(fit, 5, 2, seed=3, **options).folds for fit in fits]
        for one in folds[1:]:
            both = folds[0].notna() & one.notna()
            assert (one.where(both) == folds[0].where(both))[both].all(axis=None)
            assert both.all(axis=1).sum() >= 333
        assert (folds[0][1] != folds[0][2]).any()


def test_a_dropped_class_does_not_change_the_folds():
    data = PENGUINS.assign(x=PENGUINS["bill_depth_mm"].where(PENGUINS["species"] != "Chinstrap"))
    with pytest.warns(discrim.errors.EmptyClassWarning, match="Chinstrap"):
        without = lda("species ~ x", data)
    ours = cross_validate(without, 4, seed=0).folds[1]
    theirs = cross_validate(lda("species ~ bill_depth_mm", data), 4, seed=0).folds[1]
    assert ours.isna().sum() == theirs.isna().sum() + 68
    assert (ours.dropna() == theirs[ours.notna()]).all()


def test_folds_are_stratified_and_the_first_repeat_is_reproducible():
    codes = np.repeat([2, -1, 0, 1], [31, 5, 44, 18])
    fold_ids = assign_folds(codes, 7, 3, np.random.default_rng(5))
    assert (fold_ids[:, codes < 0] == -1).all()
    for own in fold_ids:
        for k in range(3):
            rows = np.bincount(own[codes == k], minlength=7)
            assert rows.max() - rows.min() <= 1
        full = np.bincount(own[codes >= 0])
        assert full.max() - full.min() <= 1
    assert (assign_folds(codes, 7, 1, np.random.default_rng(5))[0] == fold_ids[0]).all()
    renumbered = np.array([7, 3, 5, -1])[codes]
    assert (assign_folds(renumbered, 7, 3, np.random.default_rng(5)) == fold_ids).all()


def test_a_group_is_never_split_and_classes_keep_their_proportion():
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 9, size=120)
    groups = np.repeat(np.arange(120), sizes)
    codes = np.where(
        rng.random(len(groups)) < 0.8, (groups % 4 == 0).astype(int), rng.integers(0, 2, len(groups))
    )
    for own in assign_group_folds(codes, groups, 5, 4, np.random.default_rng(1)):
        assert pd.Series(own).groupby(groups).nunique().eq(1).all()
        rows = np.bincount(own, minlength=5)
        assert rows.max() - rows.min() <= 8
        proportions = np.array([np.bincount(codes[own == f], minlength=2) for f in range(5)]) / np.bincount(
            codes
        )
        assert np.abs(proportions - 0.2).max() < 0.03
    again = assign_group_folds(codes, groups, 5, 4, np.random.default_rng(1))
    assert (again == assign_group_folds(1 - codes, groups, 5, 4, np.random.default_rng(1))).all()
    data = pd.DataFrame({"x": rng.standard_normal(len(codes)), "y": codes, "g": groups})
    by_name = cross_validate(lda("y ~ x", data), 5, groups="g", seed=1).folds
    pd.testing.assert_frame_equal(by_name, cross_validate(lda("y ~ x", data), 5, groups=groups, seed=1).folds)
    assert by_name[1].groupby(groups).nunique().eq(1).all()


# ------------------------------------------------------------------ refits


REFITS = {
    "lda": (lda, "species ~ .", IRIS, {}),
    "qda": (qda, "species ~ .", IRIS, {"prior": [0.2, 0.5, 0.3]}),
    "missing": (lda, "species ~ bill_length_mm + sex", PENGUINS, {}),
    "naive_bayes": (naive_bayes, "species ~ bill_length_mm + island", PENGUINS, {"laplace": 1}),
    "logistic": (logistic, "island ~ bill_length_mm + sex", PENGUINS, {}),
    "lda-loo": (
        lda,
        "cultivar ~ .",
        WINE,
        {"covariance": Shrunk("loo", grid=[0.0, 0.1, 0.6])},
    ),
    "rda": (rda, "cultivar ~ .", WINE, {"grid": [0.0, 0.4, 1.0], "folds": 4, "seed": 5}),
    "rda-loo": (rda, "species ~ .", IRIS, {"grid": [0.0, 0.4, 1.0], "folds": "loo", "alpha": "1se"}),
    "shrunken": (shrunken_centroids, "cultivar ~ .", WINE, {"n_thresholds": 9, "folds": 4, "seed": 5}),
    "sparse": (sparse_lda, "species ~ .", IRIS, {"n_penalties": 2, "folds": 2, "seed": 5}),
}


@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
@pytest.mark.parametrize("case", REFITS)
def test_labels_and_posteriors_agree_with_refits_that_repeat_the_choice(case):
    verb, formula, data, options = REFITS[case]
    fit = verb(formula, data, **options)
    cv = cross_validate(fit, 3, 2, seed=2)
    # A logistic regression has its class proportions in its constants, and estimates them anew.
    fixed, chosen = options | ({} if verb is logistic else {"prior": fit.prior}), set()
    for repeat, fold in ((1, 1), (1, 3), (2, 2)):
        at = (cv.folds[repeat] == fold).fillna(False).to_numpy(dtype=bool)
        refit = verb(formula, data[~at & cv.folds[repeat].notna()], **fixed)
        names = [n for n in ("alpha", "gamma", "shrinkage_threshold") if hasattr(refit, n)]
        chosen.add(tuple(np.ravel([getattr(refit, n) for n in names])))
        proba = cv.posteriors(repeat)[at]
        np.testing.assert_allclose(proba, refit.predict_proba(data[at]), rtol=1e-6, atol=1e-9)
        assert (cv.labels[repeat][at].astype(object) == refit.predict(data[at]).astype(object)).all()
    if choice := fit._fit.choice_description:
        assert f"The choice of {choice} is repeated in each fold." in repr(cv)
        note = fit.summary(["header"]).as_text().replace("\n", " ")
        assert choice in note
        assert re.search(
            r"error_rates\(\['cv'\]\) (chooses (it|them) again|repeats this choice) in each fold", note
        )
    if case == "rda":
        assert len(chosen) > 1


@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
@pytest.mark.parametrize(
    ("case", "names"), [("rda", ["alpha", "gamma"]), ("shrunken", ["threshold"]), ("lda-loo", ["shrinkage"])]
)
def test_choices_are_kept_without_nesting(case, names):
    verb, formula, data, options = REFITS[case]
    fit = verb(formula, data, **options)
    attributes = {"threshold": "shrinkage_threshold"}
    chosen = {name: getattr(fit, attributes.get(name, name)) for name in names}
    arguments = verb(formula, data, **({"covariance": Shrunk(**chosen)} if case == "lda-loo" else chosen))
    fixed = cross_validate(fit, 5, seed=4, nested=False)
    np.testing.assert_allclose(
        fixed.posteriors(), cross_validate(arguments, 5, seed=4).posteriors(), rtol=1e-7, atol=1e-12
    )
    assert f"The choice of {fit._fit.choice_description} was made with the same rows" in repr(fixed)


def test_the_bootstrap_repeats_the_choice_as_folds_do():
    options = {"grid": [0.0, 1.0], "folds": 3, "seed": 5}
    fit = rda("cultivar ~ .", WINE, **options)
    codes = fit._fit.design_rows.codes
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(codes == k) for k in range(3)]
    weights = np.zeros(len(WINE))
    for rows in members:
        weights[rows] = np.bincount(rng.integers(len(rows), size=len(rows)), minlength=len(rows))

    rule = fit._fit.refits.refit_to_rows(fit._fit, fit._fit.design_rows.with_weights(weights))
    refit = rda("cultivar ~ .", WINE, weights=weights, prior=fit.prior, **options)
    x = fit._fit.design_rows.rows_at_positions(np.array([7]))
    np.testing.assert_allclose(rule.scores(x), refit._fit.rule(fit.prior.to_numpy()).scores(x), rtol=1e-9)


# ------------------------------------------------------------------ figures


def test_measures_equal_their_definitions():
    fit = qda("species ~ bill_length_mm + bill_depth_mm", PENGUINS)
    cv = cross_validate(fit, 4, 3, seed=1)
    used = cv.folds.notna().all(axis=1)
    actual = PENGUINS["species"][used].astype(object)
    wrong = cv.labels[used].astype(object).ne(actual, axis=0)
    logs, brier = [], []
    for repeat in (1, 2, 3):
        proba = cv.posteriors(repeat)[used]
        own = proba.to_numpy()[np.arange(len(proba)), fit.classes.get_indexer(actual)]
        logs.append(-np.log(own))
        brier.append(
            ((proba - pd.get_dummies(actual).astype(float)[proba.columns]) ** 2).sum(axis=1).to_numpy()
        )
    table, by_fold = cv.table(), cv.by_fold
    values = {"error": wrong.to_numpy().T.astype(float), "log loss": np.array(logs), "Brier": np.array(brier)}
    for measure, column in (("error", "error"), ("log loss", "log_loss"), ("Brier", "brier")):
        rows = values[measure].mean(axis=0)
        assert table.loc[measure, "estimate"] == pytest.approx(rows.mean(), rel=1e-10)
        means = [
            values[measure][r - 1][(cv.folds[r][used] == f).to_numpy(dtype=bool)].mean()
            for r in (1, 2, 3)
            for f in range(1, 5)
        ]
        np.testing.assert_allclose(by_fold[column], means, rtol=1e-10)
        spread = np.std(means, ddof=1)
        assert table.loc[measure, "se_folds"] == pytest.approx(spread / np.sqrt(12))
        assert table.loc[measure, "se_corrected"] == pytest.approx(spread * np.sqrt(1 / 12 + 1 / 3))
        if measure != "error":
            assert table.loc[measure, "se"] == pytest.approx(rows.std() / np.sqrt(len(rows)), rel=1e-9)
    np.testing.assert_allclose(cv.confusion.sum(axis=1), fit.counts)
    assert cv.by_class["wrong"].sum() == pytest.approx(wrong.to_numpy().sum() / 3)
    assert by_fold["rows"].groupby("repeat").sum().eq(fit.nobs).all()


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_confusion_is_the_mean_of_a_crosstab_of_each_repeat(repeats, weighted):
    weights = np.random.default_rng(4).integers(1, 4, len(IRIS)) if weighted else None
    cv = cross_validate(lda("species ~ sepal_width", IRIS, weights=weights), 4, repeats, seed=2)
    tables = [
        pd.crosstab(IRIS["species"], cv.labels[repeat], weights, aggfunc="sum" if weighted else None)
        for repeat in cv.labels
    ]
    expected = sum(table.fillna(0.0) for table in tables) / repeats
    np.testing.assert_allclose(cv.confusion, expected, rtol=1e-14)
    assert (cv.confusion.index.name, cv.confusion.columns.name) == ("actual", "predicted")


def test_a_given_prior_weights_the_classes():
    prior = pd.Series({"Adelie": 0.1, "Chinstrap": 0.6, "Gentoo": 0.3})
    fit = qda("species ~ body_mass_g", PENGUINS, prior=prior)
    cv = cross_validate(fit, 5, seed=0)
    assert cv.table().loc["error", "estimate"] == pytest.approx(float(prior @ cv.by_class["error"]))
    rates = fit.error_rates(["cv"], folds=5, seed=0).loc["cv"]
    for name in ("estimate", "se", "low", "high"):
        assert cv.table().loc["error", name] == pytest.approx(rates[name])


def test_weights_equal_repeated_rows_that_stay_together():
    weights = 1 + np.arange(len(IRIS)) % 3
    repeated = IRIS.loc[IRIS.index.repeat(weights)].reset_index(drop=True)
    folds = np.arange(len(IRIS)) % 5
    rows = np.repeat(folds, weights)
    formula = "species ~ sepal_length + sepal_width"
    one = cross_validate(qda(formula, IRIS, weights=weights), folds=folds)
    two = cross_validate(qda(formula, repeated), folds=rows)
    pd.testing.assert_frame_equal(one.table(), two.table(), rtol=1e-9)
    pd.testing.assert_frame_equal(one.by_fold, two.by_fold.astype(one.by_fold.dtypes), rtol=1e-9)
    np.testing.assert_allclose(one.by_class, two.by_class)
    pairs = []
    for data, more, own in ((IRIS, {"weights": weights}, folds), (repeated, {}, rows)):
        pairs.append(
            compare(
                lda(formula, data, **more), qda("species ~ sepal_length", data, **more), folds=own
            ).pairs()
        )
    pd.testing.assert_frame_equal(
        *[each.drop(columns="rows_one_only").astype(float) for each in pairs], rtol=1e-9
    )


def test_given_folds_keep_their_labels():
    years = cross_validate(lda("species ~ bill_length_mm + bill_depth_mm", PENGUINS), folds="year")
    assert sorted(years.by_fold.index.get_level_values("fold")) == [2007, 2008, 2009]
    assert years.seed is None
    assert "none, folds by user" in repr(years)
    assert (years.folds[1].dropna() == PENGUINS["year"][years.folds[1].notna()]).all()


def test_rows_of_a_group_make_the_standard_error():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(40), 5)
    codes = np.repeat(np.arange(40) % 2, 5)
    losses = np.repeat((rng.random(40) < 0.3).astype(float), 5)
    rows = EvaluatedRows(codes, np.ones(200), 2, None, groups)
    mean, error, low, high = mean_loss_interval(losses, rows, 0.95, is_zero_one=True)
    full = mean_loss_interval(
        losses[::5], EvaluatedRows(codes[::5], np.ones(40), 2, None, None), 0.95, is_zero_one=True
    )
    assert mean == pytest.approx(full[0])
    assert error == pytest.approx(full[1] * np.sqrt(40 / 39))
    assert low < full[2]
    assert high > full[3]
    alone = EvaluatedRows(codes, np.ones(200), 2, None, np.zeros(200, dtype=int))
    assert np.isnan(mean_loss_interval(losses, alone, 0.95, is_zero_one=True)[1:]).all()


def test_rows_without_a_label_are_counted_and_an_impossible_class_costs_infinitely_much():
    data = pd.DataFrame({"y": np.tile(["a", "b"], 30), "x": np.repeat(["u", "v", "w"], 20)})
    folds = np.arange(60) // 2 % 3
    alone = data.assign(x=data["x"].where(data.index > 1, "odd"), z=np.tile(["s", "t", "t"], 20))
    with pytest.warns(discrim.errors.MissingPredictionWarning):
        cv = cross_validate(naive_bayes("y ~ x", alone), folds)
    with pytest.warns(discrim.errors.MissingPredictionWarning) as message:
        pair = compare(
            naive_bayes("y ~ z", alone), naive_bayes("y ~ x", alone, laplace=1), folds=folds
        ).pairs()
    assert [one.filename for one in message] == [__file__]
    assert pair[["rows", "rows_one_only"]].iloc[0].tolist() == [58, 2]
    assert cv.unlabelled == 2
    assert cv.by_fold["rows"].sum() == cv.confusion.to_numpy().sum() == 58
    assert cv.labels[1].index[cv.labels[1].isna()].tolist() == [0, 1]
    apart = data.assign(x=data["x"].where(~data.index.isin([0, 3]), "odd"))
    cv = cross_validate(naive_bayes("y ~ x", apart), folds)
    assert cv.unlabelled == 0
    table = cv.table()
    assert np.isinf(table.loc["log loss", "estimate"])
    assert table.loc["log loss", ["se", "se_folds", "se_corrected"]].isna().all()
    assert "inf" in repr(cv)


def test_a_choice_without_a_seed_is_repeated_in_folds():
    for fit in (rda("cultivar ~ .", WINE, grid=[0.0, 0.4, 1.0]), shrunken_centroids("cultivar ~ .", WINE)):
        one, two = (cross_validate(fit, 3, seed=0).posteriors() for _ in range(2))
        pd.testing.assert_frame_equal(one, two)


# ------------------------------------------------------------------ tests of pairs


@pytest.mark.parametrize(("b", "c"), [(0, 1), (3, 0), (2, 11), (17, 9), (120, 90)])
def test_mcnemar_is_statsmodels(b, c):
    table = [[50, b], [c, 20]]
    ours = mcnemar(b, c)
    assert ours.exact == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue, rel=1e-12)
    theirs = statsmodels_mcnemar(table, exact=False, correction=True)
    assert (ours.statistic, ours.pvalue) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue))


def test_rules_with_equal_discordant_errors_do_not_differ():
    assert mcnemar(4, 4) == (1.0, 0.0, 1.0)
    assert mcnemar(0, 0) == (1.0, 0.0, 1.0)
    assert corrected_t(np.zeros(10), 10)[2:5] == (0.0, 9.0, 1.0)


def test_the_corrected_t_statistic_equals_its_formula():
    d = np.array([0.1, 0.0, -0.05, 0.2, 0.15, 0.1])
    result = corrected_t(d, folds=3)
    mean, s2 = 0.5 / 6, sum((x - 0.5 / 6) ** 2 for x in d) / 5
    t = mean / np.sqrt((1 / 6 + 1 / 2) * s2)
    assert result.statistic == pytest.approx(t)
    assert result.pvalue == pytest.approx(2 * stats.t.cdf(-t, 5))
    plain = stats.ttest_1samp(d, 0).statistic
    assert result.statistic == pytest.approx(plain * np.sqrt((1 / 6) / (1 / 6 + 1 / 2)))


@pytest.mark.filterwarnings("ignore::discrim.errors.NotComparableWarning")
def test_a_comparison_agrees_with_its_cross_validations():
    fits = [
        lda("species ~ bill_length_mm", PENGUINS),
        qda("species ~ bill_depth_mm + sex", PENGUINS),
        naive_bayes("species ~ flipper_length_mm", PENGUINS),
    ]
    result = compare(*fits, folds=5, repeats=2, seed=3).pairs()
    assert result.index.tolist() == [("LDA", "QDA"), ("LDA", "NaiveBayes"), ("QDA", "NaiveBayes")]
    one, two = (cross_validate(fit, 5, 2, seed=3) for fit in fits[:2])
    both = (one.folds[1].notna() & two.folds[1].notna()).to_numpy()
    actual = PENGUINS["species"].astype(object)[both]
    wrong = [each.labels[both].astype(object).ne(actual, axis=0).astype(float) for each in (one, two)]
    row = result.loc[("LDA", "QDA")]
    assert (row["rows"], row["rows_one_only"]) == (333, 9)
    assert row["error_a"] == pytest.approx(wrong[0].to_numpy().mean())
    assert row["difference"] == pytest.approx((wrong[0] - wrong[1]).to_numpy().mean())
    d = np.concatenate([(wrong[0] - wrong[1])[r].groupby(one.folds[r][both]).mean() for r in (1, 2)])
    t = d.mean() / np.sqrt((1 / 10 + 1 / 4) * d.var(ddof=1))
    assert (row["t"], row["df"]) == (pytest.approx(t), 9)
    first = [each[1].astype(bool) for each in wrong]
    b, c = int((first[0] & ~first[1]).sum()), int((first[1] & ~first[0]).sum())
    assert (row["only_a_wrong"], row["only_b_wrong"]) == (b, c)
    table = [[0, b], [c, 0]]
    assert row["p_exact"] == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue)
    assert row["p_mcnemar"] == pytest.approx(statsmodels_mcnemar(table, exact=False).pvalue)
    swapped = compare(*fits[1::-1], folds=5, repeats=2, seed=3).pairs().iloc[0]
    assert swapped["t"] == pytest.approx(-row["t"])
    by_fit = compare(
        fits[0], discrim.knn("species ~ bill_length_mm", PENGUINS, k=5), folds=5, repeats=2, seed=3
    )
    assert by_fit.loc["LDA", "error_cv"] == pytest.approx(one.table().loc["error", "estimate"])


@pytest.mark.parametrize(("verb", "rows", "value"), [(lda, 17_000, 1e90), (qda, 400, 1e90)])
def test_an_outlier_does_not_affect_rules_without_its_fold(verb, rows, value):
    # Of so many rows lda takes no roots.
    rng = np.random.default_rng(8)
    labels = np.arange(rows) % 2
    x = rng.normal(size=(rows, 32 if verb is lda else 4)) + 0.2 * labels[:, None]
    table = pd.DataFrame(x).add_prefix("x").assign(y=np.where(labels, "b", "a"))
    table.loc[4, "x0"] = value
    inside = np.arange(rows) % 3 == 1
    evaluated = cross_validate(verb("y ~ .", table, prior="equal"), np.arange(rows) % 3)
    without = verb("y ~ .", table[~inside], prior="equal").predict_proba(table[inside])
    np.testing.assert_allclose(evaluated.posteriors()[inside], without, rtol=1e-9, atol=1e-300)
    assert evaluated.unlabelled == 0


@pytest.mark.filterwarnings("ignore::discrim.errors.NotComparableWarning")
def test_groups_make_mcnemars_test_and_leave_t():
    fits = lda("species ~ bill_length_mm + sex", PENGUINS), lda("species ~ bill_depth_mm", PENGUINS)
    row = compare(*fits, folds=5, groups=np.arange(len(PENGUINS)) // 2, seed=0).pairs().iloc[0]
    result = [cross_validate(fit, 5, groups=np.arange(len(PENGUINS)) // 2, seed=0).labels[1] for fit in fits]
    both = result[0].notna() & result[1].notna()
    wrong = [one.astype(object).ne(PENGUINS["species"].astype(object)) & both for one in result]
    d = (wrong[0].astype(int) - wrong[1].astype(int)).groupby(np.arange(len(PENGUINS)) // 2).sum()
    assert row["mcnemar"] == pytest.approx((abs(d.sum()) - 1) ** 2 / (d**2).sum())
    arguments = cross_validate(fits[1], 5, groups=np.arange(len(PENGUINS)) // 2, seed=0).folds[1]
    again = compare(*fits, folds=arguments.fillna(1).astype(int)).pairs().iloc[0]
    assert row["t"] == pytest.approx(again["t"])
    assert (row["only_a_wrong"], row["only_b_wrong"]) == (again["only_a_wrong"], again["only_b_wrong"])
    assert {-2, 2} & set(d)


@pytest.mark.slow
def test_equal_rules_rarely_differ_significantly():
    """Two columns of the same worth: of 40 tests at 5 % the corrected t rejects few, the naive one more."""
    rng = np.random.default_rng(12)
    p_exact, p_t, naive = [], [], []
    for _ in range(40):
        y = np.repeat(["a", "b"], 50)
        data = pd.DataFrame({"y": y, "u": rng.standard_normal(100), "v": rng.standard_normal(100)})
        data.loc[y == "b", ["u", "v"]] += 1.0
        row = compare(lda("y ~ u", data), lda("y ~ v", data), folds=5, repeats=2, seed=1).pairs().iloc[0]
        p_exact.append(row["p_exact"])
        p_t.append(row["p_t"])
        t = row["t"] * np.sqrt((1 / 10 + 1 / 4) / (1 / 10))
        naive.append(2 * stats.t.sf(abs(t), 9))
    rejected = [np.mean(np.array(p) < 0.05) for p in (p_exact, p_t, naive)]
    # Binomial(40, .05) is 8 or more once in 1,000 times.
    assert max(rejected[:2]) <= 7 / 40
    assert rejected[2] > 2 * rejected[1]


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"folds": 1}, "folds=1 is not valid. Pass a whole number from 2 to 150"),
        ({"folds": 151}, "folds=151"),
        ({"folds": 2.5}, "folds=2.5"),
        ({"folds": True}, "folds=True"),
        ({"folds": "fold"}, "No column 'fold'"),
        ({"folds": [1, 2]}, "folds= has 2 values; the table has 150 rows"),
        ({"folds": np.zeros(150)}, "one fold only"),
        ({"folds": np.arange(150) % 3, "repeats": 2}, "repeats="),
        ({"repeats": 0}, "repeats=0"),
        ({"seed": -1}, "seed=-1"),
        ({"nested": 1}, "nested=1"),
        ({"groups": "patient"}, "No column 'patient'"),
        ({"groups": [["a"]] * 150}, "groups="),
        ({"groups": np.arange(150) % 4}, "4 groups, too few for folds=10"),
        ({"groups": [None, *range(149)]}, "groups= has a missing value at row 0"),
        ({"groups": 3}, "groups=3"),
        ({"groups": pd.Series(range(150), index=range(1, 151))}, "index of groups="),
    ],
)
def test_invalid_options_are_named(options, says):
    with pytest.raises(DataError, match=says):
        cross_validate(lda("species ~ .", IRIS), **options)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_unavailable_results_have_a_reason(tmp_path):
    fit = lda("species ~ .", IRIS)
    fit.save(tmp_path / "fit")
    with pytest.raises(NotSupportedError) as caught:
        cross_validate(discrim.load(tmp_path / "fit"))
    assert "cross_validate()" in str(caught.value)
    line = cross_validate(perceptron("setosa ~ .", SETOSA), 5, seed=0)
    assert line.table().index.tolist() == ["error"]
    with pytest.raises(NotSupportedError) as caught:
        line.posteriors()
    assert "probabilities" in str(caught.value)
    with pytest.raises(DataError) as caught:
        line.posteriors(2)
    assert "repeat=2" in str(caught.value)
    with pytest.raises(DataError) as caught:
        compare(fit, folds=5).pairs()
    assert "fits" in str(caught.value)
    for options in ({"repeats": 2}, {"groups": "species"}, {"seed": 0}):
        with pytest.raises(DataError) as caught:
            compare(fit, fit, **options)
        assert "folds=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        compare(fit, lda("species ~ .", IRIS[:-1]), folds=5)
    assert "Fit 2 uses other rows" in str(caught.value)
    with pytest.raises(DataError) as caught:
        compare(
            fit, lda("species ~ .", IRIS.assign(species=IRIS["species"].to_numpy()[::-1])), folds=5, seed=0
        )
    assert caught.value.rows == (0,)
    with pytest.raises(DataError) as caught:
        compare(fit, lda("species ~ .", IRIS, weights=np.full(150, 2.0)), folds=5, seed=0)
    assert caught.value.rows == (0,)
    part = [lda(f"species ~ {x}", IRIS, weights=np.full(150, 1.5)) for x in ("sepal_length", "sepal_width")]
    with pytest.raises(NotSupportedError) as caught:
        compare(*part, folds=5, seed=0).pairs()
    assert "whole" in str(caught.value)
    assert "numbers" in str(caught.value)


def test_a_random_seed_is_stored():
    cv = cross_validate(lda("species ~ .", IRIS), 5)
    again = cross_validate(lda("species ~ .", IRIS), 5, seed=cv.seed)
    pd.testing.assert_frame_equal(cv.folds, again.folds)
