"""A choice of columns is judged by choices that did not see the rows: against loops written out."""

from __future__ import annotations

import hashlib
import json
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import compare, cross_validate, lda, logistic, naive_bayes, qda, stepwise
from discrim.core.rules.rules import best_class
from discrim.datasets import load_penguins, load_wine
from discrim.errors import DataError, DiscrimWarning, NotSupportedError

WINE = load_wine()
STRICT = {"enter": 0.001, "stay": 0.001}
PENGUINS = load_penguins()
BILLS = "species ~ bill_depth_mm + bill_length_mm + body_mass_g + island"


def noise(seed: int, rows: int = 60, columns: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(rows, columns))).rename(columns="x{}".format)
    return table.assign(y=rng.permutation(["a", "b"] * (rows // 2)))


def labels_by_hand(result, choice, formula: str, data: pd.DataFrame, **options) -> pd.Series:
    """Labels of each fold by a call of stepwise without it, the prior that of all rows."""
    folds, full = result.folds[1], choice.fit.prior
    out = pd.Series(index=data.index, dtype=object)
    for fold in folds.dropna().unique():
        out[folds == fold] = stepwise(formula, data[folds != fold], **options).fit.predict(
            data[folds == fold], prior=full if options.get("verb") is not logistic else None
        )
    return out


@pytest.mark.parametrize(
    ("criterion", "verb", "direction"),
    [
        ("wilks", lda, "both"),
        ("mahalanobis", lda, "forward"),
        ("maxminf", qda, "both"),
        ("rao", lda, "backward"),
    ],
)
def test_a_choice_by_moments_agrees_with_a_call_without_each_fold(criterion, verb, direction):
    options = {"criterion": criterion, "verb": verb, "direction": direction, **STRICT}
    choice = stepwise("cultivar ~ .", WINE, **options)
    assert not choice.fit._fit.selection.unselected_fit.refits.refits_by_function
    cv = cross_validate(choice, folds=3, seed=3)
    expected = labels_by_hand(cv, choice, "cultivar ~ .", WINE, **options)
    assert cv.labels[1].astype(object).equals(expected)
    assert "cultivar ~ ." in str(cv.summary())
    assert "choice of the columns (stepwise by" in str(cv.summary())


@pytest.mark.parametrize("verb", [naive_bayes, lda])
def test_a_choice_by_calls_agrees_with_a_call_without_each_fold(verb):
    options = {"verb": partial(lda, covariance="diagonal") if verb is lda else verb, **STRICT}
    data = PENGUINS.dropna()
    choice = stepwise(BILLS, data, **options)
    assert choice.fit._fit.selection.unselected_fit.refits.refits_by_function
    cv = choice.cross_validate(3, seed=3)
    assert cv.labels[1].astype(object).equals(labels_by_hand(cv, choice, BILLS, data, **options))


def test_posteriors_by_moments_agree_with_calls():
    choice = stepwise("cultivar ~ .", WINE, **STRICT)
    by_calls = cross_validate(lambda table: stepwise("cultivar ~ .", table, **STRICT), 3, seed=2, data=WINE)
    by_moments = cross_validate(choice, 3, seed=2, refit_prior=True)
    np.testing.assert_allclose(by_moments.posteriors(), by_calls.posteriors(), atol=1e-9)


def test_transforms_and_categories_are_learned_again_in_each_fold():
    formula = "species ~ poly(bill_depth_mm, 2) + standardize(bill_length_mm) + island + body_mass_g"
    data, strict = PENGUINS.dropna(), {"enter": 1e-6, "stay": 1e-6}
    choice = stepwise(formula, data, **strict)
    assert not choice.fit._fit.selection.unselected_fit.refits.refits_by_function
    by_moments = cross_validate(choice, 2, seed=2, refit_prior=True)
    by_calls = cross_validate(lambda table: stepwise(formula, table, **strict), 2, seed=2, data=data)
    np.testing.assert_allclose(by_moments.posteriors(), by_calls.posteriors(), atol=1e-8)


def test_a_source_is_predicted_by_moments_and_refused_for_calls():
    chunks = [WINE[:60], WINE[60:]]
    choice = stepwise("cultivar ~ .", lambda: iter(chunks), **STRICT)
    expected = stepwise("cultivar ~ .", WINE, **STRICT).cross_validate(4, seed=1)
    assert (
        choice.cross_validate(4, seed=1)
        .table()["estimate"]
        .round(9)
        .equals(expected.table()["estimate"].round(9))
    )
    by_calls = stepwise("cultivar ~ .", lambda: iter(chunks), verb=naive_bayes, **STRICT)
    with pytest.raises(NotSupportedError) as caught:
        by_calls.cross_validate(4)
    assert "DataFrame" in caught.value.hint


def test_weights_stay_with_their_rows():
    data = WINE.assign(times=np.arange(178) % 3 + 1)
    for verb in (lda, naive_bayes):
        named = stepwise("cultivar ~ .", data, weights="times", verb=verb, **STRICT)
        arguments = stepwise("cultivar ~ .", WINE, weights=data["times"].to_numpy(), verb=verb, **STRICT)
        rates = [each.error_rates(["cv"], folds=2, seed=1) for each in (named, arguments)]
        pd.testing.assert_frame_equal(*rates)
        assert rates[0]["total"].item() == data["times"].sum()


@pytest.mark.slow
def test_leave_one_out_repeats_the_choice_without_each_row():
    data = WINE.iloc[::6].reset_index(drop=True)
    columns = "cultivar ~ flavanoids + hue + proline + alcohol + malic_acid"
    choice = stepwise(columns, data, enter=0.05, stay=0.05)
    wrong = 0
    for row in data.index:
        own = stepwise(columns, data.drop(row), enter=0.05, stay=0.05).fit
        wrong += own.predict(data.loc[[row]], prior=choice.fit.prior).iloc[0] != data["cultivar"][row]
    rates = choice.error_rates(["loo"])
    assert rates.loc["loo", "wrong"] == wrong
    assert rates.loc["loo", "choice"] == "repeated"
    assert choice.fit.error_rates(["loo"]).loc["loo", "choice"] == "fixed"
    assert choice.confusion("loo").to_numpy().trace() == len(data) - wrong


@pytest.mark.slow
def test_the_bootstrap_repeats_the_choice_in_each_sample():
    choice = stepwise("y ~ .", noise(1, 60, 12), enter=0.3, stay=0.3)
    fixed, refit = lda(choice.fit.formula, noise(1, 60, 12)), choice
    arguments = {"replicates": 50, "seed": 1}
    assert (
        refit.error_rates(["632+"], **arguments)["estimate"].item()
        > fixed.error_rates(["632+"], **arguments)["estimate"].item()
    )


@pytest.mark.slow
def test_nested_errors_on_noise_agree_with_chance():
    """Six tables of the same kind as the smallest that a reader may try."""
    fixed, refit = [], []
    for seed in range(6):
        choice = stepwise("y ~ .", noise(seed + 100, 60, 28))
        rates = choice.fit.error_rates(["loo", "cv"], seed=1)
        fixed.append(rates.loc["loo", "estimate"])
        refit.append(rates.loc["cv", "estimate"])
        assert choice.error_rates(["cv"], seed=1)["estimate"].item() == refit[-1]
    assert np.mean(fixed) < 0.38
    assert abs(np.mean(refit) - 0.5) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"criterion": "mahalanobis"}, marks=pytest.mark.exhaustive),
        pytest.param({"verb": "qda"}, marks=pytest.mark.exhaustive),
        {"verb": "naive_bayes"},
        {"criterion": "bic"},
        {"criterion": "cv", "direction": "forward", "folds": 4, "seed": 1},
    ],
    ids=str,
)
def test_each_choice_on_noise_has_the_error_of_chance(options):
    """Labels at random: errors of 6 tables of 60 rows have a mean of 1/2."""
    width = 6 if options.get("criterion") in ("bic", "cv") else 30
    result = []
    for seed in range(6):
        data = noise(seed + 500, 60, width)
        try:
            choice = stepwise("y ~ .", data, **({"include": ["x0"]} | options))
        except DataError:
            continue
        result.append(choice.error_rates(["cv"], folds=5, seed=1)["estimate"].item())
    assert len(result) >= 4
    # Of balanced classes a fold that lacks a class a little has the other as its guess.
    assert abs(np.mean(result) - 0.5) < 0.02 + 3 * np.std(result) / np.sqrt(len(result))


# ------------------------------------------------------------------ what is said of it


def summary_text(summary) -> str:
    return " ".join(str(summary).split())


@pytest.mark.filterwarnings("ignore::discrim.errors.NotComparableWarning")
@pytest.mark.slow
def test_the_summary_notes_that_columns_were_selected_from_the_same_rows(tmp_path):
    choice = stepwise("cultivar ~ .", WINE, **STRICT)
    fit = choice.fit
    message = "The same observations chose the columns (stepwise by wilks, of 13 terms)"
    for printed in (fit.summary(), fit.summary(["header"]), repr(fit)):
        assert message in summary_text(printed)
    assert "p-values" in summary_text(fit.summary())
    error = fit.summary().tables["header"].loc["Error, selection repeated", "value"]
    assert error == choice.error_rates(["cv"], seed=0)["estimate"].item()
    assert message not in summary_text(lda(fit.formula, WINE).summary())
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    for printed in (loaded.summary(), repr(loaded)):
        assert message in summary_text(printed)
    loaded.save(tmp_path / "again")
    assert message in summary_text(discrim.load(tmp_path / "again").summary())
    fit.report(tmp_path / "page.html", pictures=[])
    assert "the columns (stepwise by wilks, of 13 terms)" in summary_text(
        (tmp_path / "page.html").read_text(encoding="utf-8")
    )
    with pytest.warns(DiscrimWarning, match=r"columns of 'LDA \(1\)' were selected"):
        compare(fit, lda("cultivar ~ hue", WINE))
    assert "choice of the columns (stepwise by wilks, of 13 terms) is repeated" in summary_text(
        choice.assess(seed=1).summary()
    )


def test_errors_without_a_repeated_choice_have_a_note():
    choice = stepwise("cultivar ~ .", WINE, **STRICT)
    cv = cross_validate(choice.fit, 4, seed=1, nested=False)
    assert "was made with the same rows and is kept, so the estimates are optimistic" in summary_text(
        cv.summary()
    )
    assert cv.labels.equals(cross_validate(lda(choice.fit.formula, WINE), 4, seed=1).labels)


def test_a_logistic_regression_points_to_the_folds():
    choice = stepwise("sex ~ bill_depth_mm + island + year", PENGUINS, criterion="aic")
    assert 'error_rates(["cv"]) repeats the choice in each fold' in summary_text(choice.fit.summary())


STRANGE_WORDS = [{"kind": "columns", "words": words} for words in (7, "", "stepwise\n", "by wilks " * 40)]


@pytest.mark.parametrize("stored", [*STRANGE_WORDS, {"kind": "rows", "words": "stepwise"}, {}, ["wilks"]])
def test_a_file_with_a_strange_choice_is_refused(tmp_path, stored):
    stepwise("cultivar ~ .", WINE, **STRICT).fit.save(tmp_path / "fit")
    content = (tmp_path / "fit").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + length]), content[8 + length :]
    fixed = header["__metadata__"]
    fixed["fit"] = json.dumps(json.loads(fixed["fit"]) | {"selection": stored})
    fixed["sha256"] = hashlib.sha256(fixed["fit"].encode() + b"\0" + body).hexdigest()
    text = json.dumps(header).encode()
    (tmp_path / "fit").write_bytes(len(text).to_bytes(8, "little") + text + body)
    with pytest.raises(DataError) as caught:
        discrim.load(tmp_path / "fit")
    assert "choice" in str(caught.value)
    assert "columns" in str(caught.value)


def test_a_choice_can_be_pickled():
    choice = stepwise("species ~ bill_depth_mm + bill_length_mm", PENGUINS, verb="naive_bayes")
    raw = pickle.dumps(choice)
    again = pickle.loads(raw)
    assert list(again.selected) == list(choice.selected)
    assert "chose the columns" in again.fit.summary().as_text()
    # Rows stay in their process, those of all candidates among them.
    with pytest.raises(NotSupportedError) as caught:
        again.error_rates(seed=1)
    assert "requires the rows" in str(caught.value)
    assert caught.value.hint == "Pass data=."
    for name in ("bill_depth_mm", "bill_length_mm"):
        values = PENGUINS[name].dropna().to_numpy(float)
        assert not any(values[i : i + 2].tobytes() in raw for i in range(len(values) - 1))


def test_rows_with_missing_candidates_are_not_predicted():
    data = WINE.copy()
    data.loc[[3, 70], "magnesium"] = np.nan
    choice = stepwise("cultivar ~ .", data, **STRICT)
    assert "magnesium" not in choice.selected
    cv = choice.cross_validate(4, seed=1)
    assert cv.folds[1].isna().to_numpy().nonzero()[0].tolist() == [3, 70]
    assert choice.error_rates(["cv"], seed=1)["total"].item() == 176


def test_groups_repeats_and_permutations_are_passed_on():
    choice = stepwise("y ~ .", noise(3, 80, 6), include=["x0"])
    groups = np.arange(80) // 4
    cv = choice.cross_validate(5, 2, groups=groups, seed=1)
    assert cv.folds.groupby(groups).nunique().to_numpy().tolist() == [[1, 1]] * 20
    tested = choice.cross_validate(5, seed=1, permutations=19).permutations
    assert len(tested.rates) == 19
    assert tested.pvalue > 0.05


def test_default_methods_show_errors_with_and_without_the_choice():
    choice = stepwise("cultivar ~ .", WINE, **STRICT)
    rates = choice.error_rates(seed=1)
    assert rates.index.tolist() == ["apparent", "cv"]
    assert rates["choice"].tolist() == ["fixed", "repeated"]
    assert choice.confusion(seed=1).to_numpy().trace() == 178 - rates.loc["cv", "wrong"]


def test_errors_of_fixed_terms_agree_with_the_fit():
    choice = stepwise("cultivar ~ .", WINE, **STRICT)
    for methods in (["posterior"], ["D"], ["none"], 3, slice(None)):
        with pytest.raises(DataError) as caught:
            choice.error_rates(methods=methods)
        assert "methods=" in str(caught.value)
    for evaluated in (choice.confusion, choice.assess):
        with pytest.raises(DataError) as caught:
            evaluated(method=WINE)
        assert "method=" in str(caught.value)
    nothing = stepwise("y ~ .", noise(4, 40, 2), enter=1e-9, stay=1e-9)
    with pytest.raises(DataError) as caught:
        nothing.error_rates()
    assert "term" in str(caught.value)
    assert "chosen" in str(caught.value)


def test_new_rows_are_predicted_by_the_fit():
    choice = stepwise("cultivar ~ .", WINE[::2], **STRICT)
    rates = choice.error_rates(WINE[1::2])
    assert rates.index.tolist() == ["new rows"]
    assert rates["estimate"].item() == choice.fit.error_rates(WINE[1::2])["estimate"].item()
    assert choice.confusion(WINE[1::2]).equals(choice.fit.confusion(WINE[1::2]))


# ------------------------------------------------------------------ verbs and functions


def test_a_verb_with_formula_and_data_is_its_fit():
    for verb in (qda, "qda"):
        cv = cross_validate(verb, 5, seed=1, formula="cultivar ~ .", data=WINE, options={"prior": "equal"})
        expected = cross_validate(qda("cultivar ~ .", WINE, prior="equal"), 5, seed=1)
        assert cv.table().equals(expected.table())


def best_three(table: pd.DataFrame):
    means = table.groupby("y").mean()
    apart = (means.loc["a"] - means.loc["b"]).abs().nlargest(3).index
    return lda(f"y ~ {' + '.join(apart)}", table)


def test_a_function_is_called_without_each_fold():
    data = noise(7, 60, 30)
    cv = cross_validate(best_three, 3, 2, seed=1, data=data)
    for repeat in (1, 2):
        folds = cv.folds[repeat]
        for fold in range(1, 4):
            own = best_three(data[folds != fold])
            at = folds == fold
            assert cv.labels[repeat][at].astype(object).equals(own.predict(data[at]).astype(object))
            np.testing.assert_allclose(cv.posteriors(repeat)[at], own.predict_proba(data[at]), atol=1e-12)
    assert cv.prior == "refitted"
    assert "called with the rows outside each fold" in summary_text(cv.summary())
    assert abs(cv.table()["estimate"]["error"] - 0.5) < 0.2


def test_rows_that_a_function_drops_are_predicted():
    data = WINE[["cultivar", "hue", "alcohol"]]

    def trimmed(table):
        return lda("cultivar ~ .", table[table["hue"] < table["hue"].quantile(0.9)])

    cv = cross_validate(trimmed, 5, seed=1, data=data)
    assert cv.labels[1].notna().all()
    fold = cv.folds[1] == 2
    assert cv.labels[1][fold].tolist() == trimmed(data[~fold]).predict(data[fold]).tolist()


def test_a_function_may_lack_a_class_in_a_fold():
    """A fit without a class never predicts it, and its other scores are in their places."""
    data = WINE[["cultivar", "hue", "alcohol"]].copy()

    def two_classes_now_and_then(table):
        return lda("cultivar ~ .", table if len(table) == len(data) else table[table["cultivar"] != "barolo"])

    cv = cross_validate(two_classes_now_and_then, 5, seed=1, data=data)
    assert "barolo" not in set(cv.labels[1])
    assert (cv.posteriors()["barolo"] == 0).all()
    assert set(best_class(cv._scores[0].value()).tolist()) == {0, 2}


def test_a_function_without_chosen_terms_predicts_the_prior():
    data = noise(5, 40, 3)

    def strict_later(table):
        level = 0.99 if len(table) == len(data) else 1e-9
        return stepwise("y ~ .", table, enter=level, stay=level)

    cv = cross_validate(strict_later, 4, seed=1, data=data)
    for fold in range(1, 5):
        at = cv.folds[1] == fold
        proportion = (data["y"][~at] == "a").mean()
        np.testing.assert_allclose(cv.posteriors()["a"][at], proportion)


def test_invalid_arguments_with_a_function_are_refused():
    data = WINE[["cultivar", "hue", "alcohol"]]

    def fitted(table):
        return lda("cultivar ~ .", table)

    with pytest.raises(NotSupportedError) as caught:
        cross_validate(fitted, data=data, permutations=9)
    assert "permutations=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        cross_validate(fitted, data=data, nested=False)
    assert "nested=" in str(caught.value)
    assert "refit_prior=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        cross_validate(fitted)
    assert "data=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        cross_validate(fitted, data=data, options={"prior": "equal"})
    assert "options=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        cross_validate(len, data=data)
    assert "is not a fit" in str(caught.value)
    with pytest.raises(DataError) as caught:
        cross_validate(fitted(data), data=data)
    assert "formula=, data= and options=" in str(caught.value)


def test_notes_on_missing_intervals_are_kept():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(12, 4)), columns=list("abcd")).assign(y=["u", "v"] * 6)
    data["a"] += (data["y"] == "u") * 1.5
    result = stepwise("y ~ .", data).error_rates(["apparent", "632+"], replicates=2, seed=0)
    assert np.isnan(result.loc["632+", "se"])
    assert "replicates=" in result.attrs["note"]


@pytest.mark.parametrize(
    ("fit", "options", "message"),
    [
        (lda, {}, "lda.. requires a formula.*formula="),
        ("ldaa", {"formula": "cultivar ~ ."}, "fit='ldaa' is not known.*Did you mean 'lda'"),
    ],
)
def test_a_verb_without_formula_and_an_unknown_verb_are_refused(fit, options, message):
    with pytest.raises(DataError, match=message):
        cross_validate(fit, 5, seed=1, data=WINE, **options)
