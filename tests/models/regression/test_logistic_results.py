"""What users of logistic regression ask of a fit, against R, statsmodels, brute force and repeated rows."""

from __future__ import annotations

import json
from functools import cache, partial
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import logistic, lr_test, stepwise
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DataError, FormulaError, NotSupportedError
from discrim.penalty import Ridge
from tests import support
from tests.turns import one_in

GOLDEN = json.loads((support.GOLDEN / "logistic_users.json").read_text(encoding="utf-8"))
TWO, FIRTH, STEPS, MANY = GOLDEN["two"], GOLDEN["firth"], GOLDEN["steps"], GOLDEN["many"]
PENGUINS = load_penguins().dropna().reset_index(drop=True)
ROWS = np.arange(1, len(PENGUINS) + 1)
WEIGHTS = 1.0 + ROWS % 3
GROUPS = ROWS % 20
IRIS = load_iris()
SEPARATED = IRIS.replace({"species": {"virginica": "versicolor"}})
THREE = "island ~ bill_depth_mm + bill_length_mm"
TWO_OR_MANY = ["sex ~ bill_depth_mm + body_mass_g", "island ~ bill_depth_mm + body_mass_g"]


@cache
def two_class_fit(*, weighted: bool = False) -> Any:
    return logistic(TWO["formula"], PENGUINS, weights=WEIGHTS if weighted else None)


@cache
def three_class_fit() -> Any:
    scaled = PENGUINS.copy()
    for column in MANY["scaled"]:
        scaled[column] = (scaled[column] - scaled[column].mean()) / scaled[column].std()
    return logistic(MANY["formula"], scaled)


@cache
def bias_reduced_fit() -> Any:
    return logistic(FIRTH["formula"], PENGUINS, bias_reduction=True)


def in_rs_order(values: pd.DataFrame) -> Any:
    """Columns or rows of coefficients as R names them, interactions last."""
    names = ["constant", *two_class_fit().terms]
    place = [names.index(name) for name in names if ":" not in name] + [
        i for i, name in enumerate(names) if ":" in name
    ]
    theirs = [name.replace("(Intercept)", "constant") for name in TWO["coefficients"]]
    ours = [names[i].replace("[T.", "").replace("]", "") for i in place]
    order = [place[ours.index(name)] for name in theirs]
    return values.to_numpy()[order] if len(values) == len(names) else values.to_numpy()[:, order]


# ------------------------------------------------------------------ rows


@pytest.mark.parametrize("case", ["plain", "weighted"])
def test_residuals_and_influence_agree_with_glm(case):
    golden, fit = TWO[case], two_class_fit(weighted=case == "weighted")
    assert fit.deviance == pytest.approx(golden["deviance"], rel=1e-12)
    assert fit.null_deviance == pytest.approx(golden["null_deviance"], rel=1e-12)
    for kind, values in golden["residuals"].items():
        np.testing.assert_allclose(fit.residuals(kind)[: len(values)], values, rtol=1e-8, err_msg=kind)
    count = len(golden["cook"])
    table = fit.influence().iloc[:count]
    for name, theirs in {
        "leverage": "leverage",
        "cooks_distance": "cook",
        "studentized_pearson": "pearson",
        "studentized_deviance": "studentized",
    }.items():
        np.testing.assert_allclose(table[name], golden[theirs], rtol=1e-7, err_msg=name)
    moves = fit.dfbetas(scaled=False).iloc[:count]
    np.testing.assert_allclose(in_rs_order(moves), golden["dfbeta"], rtol=1e-6)
    np.testing.assert_allclose(fit.dfbetas().iloc[:count] * fit.bse.T.to_numpy(), moves, rtol=1e-12)


def expected(fit: Any) -> tuple[Any, ...]:
    """Design, indicators and probabilities of the classes but the first, and the information."""
    z = np.column_stack([np.ones(fit.nobs), fit._fit.design_rows.table.data[list(fit.terms)]])
    labels = fit._fit.design_rows.table.data[fit.classes.name].to_numpy()
    y = (labels[:, None] == fit.classes.to_numpy()[1:]).astype(float)
    p = fit.predict_proba().to_numpy()[:, 1:]
    spread = p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])
    rows = np.einsum("mab,mi,mj->maibj", spread, z, z).reshape(len(z), p.shape[1] * z.shape[1], -1)
    return z, y, p, spread, rows


def test_influence_of_many_classes_is_one_step_of_newton_without_the_row():
    fit = logistic(THREE, PENGUINS)
    z, y, p, spread, rows = expected(fit)
    information = rows.sum(axis=0)
    table, moves = fit.influence(), fit.dfbetas(scaled=False).to_numpy()
    assert table["leverage"].sum() == pytest.approx(fit.df_model, rel=1e-10)
    for i in range(0, 333, 16):
        score = ((y - p)[i][:, None] * z[i]).ravel()
        step = np.linalg.solve(information - rows[i], score)
        np.testing.assert_allclose(moves[i], step, rtol=1e-5, atol=1e-8 * np.abs(step).max())
        cook = step @ information @ step / fit.df_model
        assert table["cooks_distance"][i] == pytest.approx(cook, rel=1e-5)
        leverage = np.trace(np.linalg.solve(information, rows[i]))
        assert table["leverage"][i] == pytest.approx(leverage, rel=1e-6)
        block = np.einsum("aibj,i,j->ab", np.linalg.inv(information).reshape(2, 3, 2, 3), z[i], z[i])
        remaining = spread[i] - spread[i] @ block @ spread[i]
        square = (y - p)[i] @ np.linalg.solve(remaining, (y - p)[i])
        assert table["studentized_pearson"][i] == pytest.approx(np.sqrt(square), rel=1e-5)


def test_residuals_of_many_classes():
    fit = logistic(THREE, PENGUINS)
    response, p = fit.residuals("response"), fit.predict_proba()
    own = np.eye(3)[PENGUINS["island"].map({label: k for k, label in enumerate(fit.classes)})]
    np.testing.assert_allclose(response, own - p, atol=1e-13)
    np.testing.assert_allclose(fit.residuals("pearson"), (own - p) / np.sqrt(p * (1 - p)), rtol=1e-6)
    assert (fit.residuals() ** 2).sum() == pytest.approx(fit.deviance, rel=1e-12)
    working = np.linalg.solve(
        p.to_numpy()[:, 1:, None] * (np.eye(2) - p.to_numpy()[:, None, 1:]), (own - p).to_numpy()[:, 1:, None]
    )[:, :, 0]
    np.testing.assert_allclose(fit.residuals("working"), working, rtol=1e-5, atol=1e-6)


def test_residuals_of_sure_rows_keep_their_digits():
    table = pd.DataFrame({"y": [0, 0, 1, 0, 1, 1, 1], "x": [-3.0, -1, -0.5, 0.5, 1, 3, 40]})
    fit = logistic("y ~ x", table)
    a, b = (mpmath.mpf(float(each)) for each in fit.params[1])
    eta = a + b * 40
    lack = 1 / (1 + mpmath.exp(eta))
    assert fit.residuals("response")[6] == pytest.approx(float(lack), rel=1e-12)
    deviance = float(mpmath.sqrt(-2 * mpmath.log1p(-lack)))
    assert fit.residuals("deviance")[6] == pytest.approx(deviance, rel=1e-12)
    pearson = mpmath.sqrt(lack / (1 - lack))
    assert fit.residuals("pearson")[6] == pytest.approx(float(pearson), rel=1e-12)
    assert fit.residuals("response")[6] < 1e-15


def test_rows_that_are_not_used_are_missing():
    table = load_penguins()
    fit = logistic("sex ~ bill_depth_mm", table)
    used = table[["sex", "bill_depth_mm"]].notna().all(axis=1)
    for values in (fit.residuals(), fit.leverage(), fit.influence()["cooks_distance"]):
        assert values.index.equals(table.index)
        assert (values.notna() == used).all()


# ------------------------------------------------------------------ tests


@pytest.mark.parametrize("case", ["drop1", "drop1_weighted"])
def test_terms_are_dropped_as_by_drop1(case):
    golden = TWO[case]
    table = two_class_fit(weighted=case.endswith("weighted")).drop1()
    assert [name.replace("np.", "") for name in table.index] == golden["terms"]
    for name in ("df", "deviance", "AIC", "LRT", "p"):
        theirs = [np.nan if value is None else value for value in golden[name]]
        np.testing.assert_allclose(table[name if name != "AIC" else "aic"], theirs, rtol=1e-8, err_msg=name)


def test_terms_of_a_reduced_fit_agree_with_brglm2():
    fit = bias_reduced_fit()
    table = fit.drop1()
    for term, deviance in FIRTH["drop1"].items():
        assert table.loc[term, "deviance"] == pytest.approx(deviance, rel=1e-9)
    assert table.loc["<none>", "aic"] == pytest.approx(FIRTH["AIC"], rel=1e-9)
    np.testing.assert_allclose(table["LRT"][1:], fit.lr_test(by="term")["statistic"], rtol=1e-12)
    np.testing.assert_allclose(fit.leverage()[: len(FIRTH["leverage"])], FIRTH["leverage"], rtol=1e-6)


def test_many_classes_agree_with_multinom():
    table = three_class_fit().drop1()
    assert table.loc["<none>", "deviance"] == pytest.approx(MANY["deviance"], rel=1e-10)
    np.testing.assert_allclose(table["deviance"][1:], MANY["dropped"], rtol=1e-9)
    assert (table["df"][1:] == 2).all()


def test_nested_fits():
    small = logistic("sex ~ bill_depth_mm + island", PENGUINS)
    result = lr_test(small, two_class_fit())
    assert [result.statistic, result.df, result.pvalue] == pytest.approx(TWO["lrtest"], rel=1e-8)
    # The same columns in another basis and under other names.
    line = logistic("sex ~ bill_depth_mm", PENGUINS)
    curve = logistic("sex ~ poly(bill_depth_mm, 3)", PENGUINS)
    assert lr_test(line, curve).statistic == pytest.approx(line.deviance - curve.deviance, rel=1e-9)
    raw = logistic("sex ~ bill_depth_mm + I(bill_depth_mm**2) + I(bill_depth_mm**3)", PENGUINS)
    assert lr_test(line, raw).statistic == pytest.approx(lr_test(line, curve).statistic, rel=1e-7)


def test_nested_reduced_fits_are_compared_in_the_penalized_likelihood_of_the_larger():
    small = logistic("sex ~ island", PENGUINS, bias_reduction=True)
    by_term = bias_reduced_fit().lr_test(by="term")
    assert lr_test(small, bias_reduced_fit()).statistic == pytest.approx(
        by_term.loc["bill_depth_mm", "statistic"], rel=1e-8
    )


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("sex ~ bill_length_mm", "sex ~ bill_depth_mm", "not nested.*'bill_length_mm'"),
        ("sex ~ bill_depth_mm + island", "sex ~ bill_depth_mm", "not nested.*smaller fit first"),
        ("sex ~ bill_depth_mm", "sex ~ bill_depth_mm", "no columns in addition"),
        ("sex ~ bill_depth_mm", "island ~ bill_depth_mm + year", "classes"),
    ],
)
def test_fits_that_are_not_nested_are_refused(first, second, message):
    fits = [logistic(formula, PENGUINS) for formula in (first, second)]
    with pytest.raises(DataError, match=message):
        lr_test(*fits)


def test_fits_of_other_rows_or_kinds_are_refused():
    small = logistic("sex ~ bill_depth_mm", PENGUINS.iloc[1:])
    with pytest.raises(DataError) as caught:
        lr_test(small, logistic("sex ~ bill_depth_mm + island", PENGUINS))
    assert "rows" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        lr_test(logistic("sex ~ island", PENGUINS), bias_reduced_fit())
    assert "bias_reduction" in str(caught.value)


def test_a_fit_with_a_penalty_is_no_maximum_of_the_likelihood():
    fits = [logistic("sex ~ island", PENGUINS, penalty=Ridge(strength)) for strength in (0.1, 0.2)]
    with pytest.raises(NotSupportedError) as caught:
        lr_test(*fits)
    assert "penalty=" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        stepwise("sex ~ year", PENGUINS, criterion="aic", verb=partial(logistic, penalty=Ridge(0.1)))
    assert "'penalty'" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        fits[0].robust()
    assert "shrinks" in str(caught.value)
    assert "estimates" in str(caught.value)


def test_a_term_within_another_is_not_dropped():
    assert two_class_fit().drop1().index.tolist() == ["<none>", "log(body_mass_g)", "bill_depth_mm:island"]


# ------------------------------------------------------------------ choice of terms


@pytest.mark.parametrize("case", [name for name in STEPS if "_" in name])
def test_steps_agree_with_r(case):
    direction, criterion = case.split("_")
    golden = STEPS[case]
    choice = stepwise(STEPS["formula"], PENGUINS, criterion=criterion, direction=direction)
    table = choice.steps
    signs = {"entered": "+ ", "removed": "- "}
    assert [signs[row.action] + row.term for row in table[1:].itertuples()] == golden["steps"][1:]
    np.testing.assert_allclose(table[criterion], golden["AIC"], rtol=1e-9)
    np.testing.assert_allclose(table["deviance"], golden["deviance"], rtol=1e-9)
    assert set(choice.selected) == set(golden["final"])
    np.testing.assert_allclose(getattr(choice.fit, criterion), golden["AIC"][-1], rtol=1e-9)
    last = choice.trace.loc[choice.trace.index.get_level_values("step")[-1]]
    assert last.index[0] == "<none>"


def test_steps_of_many_classes_agree_with_r():
    choice = stepwise(
        MANY["formula"], three_class_fit()._fit.design_rows.table.data, criterion="aic", direction="backward"
    )
    assert choice.steps["term"].tolist()[1:] == ["year"]
    # The table of R's step has the last fit of multinom first.
    np.testing.assert_allclose(sorted(choice.steps["aic"]), sorted(MANY["AIC"]), rtol=1e-9)


def test_a_choice_of_what_has_no_such_criterion_is_refused():
    with pytest.raises(NotSupportedError) as caught:
        stepwise("species ~ .", IRIS, criterion="aic", verb=discrim.lda)
    assert "classes" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        _ = stepwise("species ~ .", IRIS).trace
    assert "trace" in str(caught.value)
    assert "trace" in str(caught.value)
    with pytest.raises(DataError) as caught:
        stepwise("species ~ petal_width + sepal_width", SEPARATED, criterion="aic")
    assert "bias_reduction=True" in str(caught.value)


def test_included_terms_stay_with_those_they_contain():
    choice = stepwise(
        "sex ~ year * island + bill_depth_mm", PENGUINS, criterion="aic", include=["year:island"]
    )
    assert {"year", "island", "year:island"} <= set(choice.selected)


# ------------------------------------------------------------------ covariances and hypotheses


def test_robust_errors_agree_with_sandwich():
    fit = two_class_fit()
    for kind in ("HC0", "HC1", "cluster"):
        robust = fit.robust(kind, GROUPS if kind == "cluster" else None)
        np.testing.assert_allclose(in_rs_order(robust.bse)[:, 0], TWO["robust"][kind], rtol=1e-7)
        assert robust.cov_type == kind
        assert robust.llf == fit.llf
        np.testing.assert_allclose(np.sqrt(np.diag(robust.cov_params())), robust.bse.T.to_numpy().ravel())
        assert kind in str(robust.summary()) or "groups" in str(robust.summary())
    np.testing.assert_array_equal(fit.robust("HC1").robust("nonrobust").bse, fit.bse)
    smaller = bias_reduced_fit()
    np.testing.assert_allclose(smaller.robust("HC0").bse["male"], FIRTH["HC0"], rtol=1e-6)
    np.testing.assert_allclose(smaller.robust("cluster", GROUPS).bse["male"], FIRTH["cluster"], rtol=1e-6)


def test_robust_errors_of_weights_agree_with_repeated_rows():
    fit = two_class_fit(weighted=True)
    for kind in ("HC0", "HC1", "cluster"):
        robust = fit.robust(kind, GROUPS if kind == "cluster" else None)
        np.testing.assert_allclose(in_rs_order(robust.bse)[:, 0], TWO["robust_weighted"][kind], rtol=1e-7)


@pytest.mark.filterwarnings("ignore:Keyword arguments have been passed to the optimizer:FutureWarning")
@pytest.mark.parametrize("formula", TWO_OR_MANY)
def test_robust_errors_agree_with_statsmodels(formula):
    from statsmodels.discrete.discrete_model import Logit, MNLogit

    fit = logistic(formula, PENGUINS)
    model = fit.to_statsmodels().model
    again = (Logit if len(fit.classes) == 2 else MNLogit)(model.endog, model.exog)
    for kind, options in {"HC0": {}, "HC1": {}, "cluster": {"groups": GROUPS}}.items():
        theirs = again.fit(disp=0, method="newton", cov_type=kind, cov_kwds=options)
        groups = GROUPS if kind == "cluster" else None
        ours = fit.robust(kind, groups, convention="statsmodels").bse
        bse = np.reshape(theirs.bse, (-1, ours.shape[1]), order="F")
        np.testing.assert_allclose(ours, bse, rtol=1e-5, err_msg=kind)


def test_hypotheses_agree_with_car():
    fit = two_class_fit()
    text = "bill_depth_mm = 2, island[T.Dream] = island[T.Torgersen]"
    result = fit.wald_test(text)
    assert result.statistic == pytest.approx(TWO["wald"], rel=1e-8)
    assert result.df == TWO["wald_df"]
    assert fit.robust("HC1").wald_test(text).statistic == pytest.approx(TWO["wald_HC1"], rel=1e-7)
    names = ["constant", *fit.terms]
    matrix = pd.DataFrame(0.0, index=[0, 1], columns=names)
    matrix.loc[0, "bill_depth_mm"], matrix.loc[1, ["island[T.Dream]", "island[T.Torgersen]"]] = 1, [1, -1]
    for arguments in (matrix, matrix.to_numpy()):
        assert fit.wald_test(arguments, [2, 0]).statistic == pytest.approx(result.statistic, rel=1e-12)
        assert fit.wald_test((arguments, [2, 0])).statistic == pytest.approx(result.statistic, rel=1e-12)
    one = fit.wald_test("bill_depth_mm")
    assert one.statistic == pytest.approx(fit.zvalues.loc["bill_depth_mm", "male"] ** 2, rel=1e-12)


def test_hypotheses_on_many_classes():
    fit = logistic(THREE, PENGUINS)
    covariance, params = fit.cov_params().to_numpy(), fit.params.T.to_numpy().ravel()
    both = [1, 4]
    block = params[both] @ np.linalg.solve(covariance[np.ix_(both, both)], params[both])
    assert fit.wald_test("bill_depth_mm").statistic == pytest.approx(block, rel=1e-8)
    assert fit.wald_test("bill_depth_mm = 0").statistic == pytest.approx(block, rel=1e-8)
    gap = params[1] - params[4]
    variance = covariance[1, 1] + covariance[4, 4] - 2 * covariance[1, 4]
    result = fit.wald_test("Dream:bill_depth_mm = Torgersen:bill_depth_mm")
    assert result.statistic == pytest.approx(gap**2 / variance, rel=1e-8)


@pytest.mark.parametrize(
    ("hypothesis", "error", "message"),
    [
        ("beak = 0", FormulaError, "cannot be read.*bill_depth_mm"),
        ("bill_depth_mm = bill_depth_mm", FormulaError, "no variables"),
        (np.zeros((1, 4)), DataError, "no coefficient"),
        (["island", "island[T.Dream]"], DataError, "follows from those before"),
        (np.ones((1, 3)), DataError, "column for each"),
        ("bill_depth_mm * island[T.Dream] = 0", FormulaError, "cannot be read"),
        ("__import__('os')", FormulaError, "cannot be read"),
        ("", FormulaError, "cannot be read"),
        (None, DataError, "terms"),
    ],
)
def test_hypotheses_that_are_none_are_refused(hypothesis, error, message):
    with pytest.raises(error, match=message):
        bias_reduced_fit().wald_test(hypothesis)


def test_what_robust_errors_cannot_do_is_refused():
    fit = bias_reduced_fit()
    with pytest.raises(DataError) as caught:
        fit.robust("cluster")
    assert "groups=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.robust("HC9")
    assert "cov_type='HC9'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.robust("cluster", np.zeros(len(PENGUINS)))
    assert "group" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.robust("cluster", pd.Series(GROUPS, dtype=float).where(ROWS != 6))
    assert caught.value.rows == (5,)
    with pytest.raises(DataError) as caught:
        fit.robust("cluster", [1, 2, 3])
    assert "333" in str(caught.value)
    few = two_class_fit().robust("cluster", "year")
    with pytest.raises(NotSupportedError) as caught:
        few.wald_test(["bill_depth_mm", "log(body_mass_g)", "island"])
    assert "rank" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        few.conf_int(method="profile")
    assert "Profile" in str(caught.value)
    fit = logistic("sex ~ bill_depth_mm", PENGUINS)
    with pytest.raises(NotSupportedError) as caught:
        discrim.hausman(discrim.lda("sex ~ bill_depth_mm", PENGUINS), fit.robust())
    assert "nonrobust" in str(caught.value)


def test_each_row_a_group_of_its_own_is_no_group():
    fit = logistic("island ~ bill_depth_mm + sex", PENGUINS)
    n = len(PENGUINS)
    clustered, plain = fit.robust("cluster", np.arange(n)), fit.robust("HC0")
    np.testing.assert_allclose(clustered.cov_params() * (n - 1) / n, plain.cov_params(), rtol=1e-9)


# ------------------------------------------------------------------ marginal effects


@pytest.mark.parametrize("case", ["slopes", "slopes_weighted"])
def test_marginal_effects_agree_with_numeric_differences_of_glm(case):
    table = two_class_fit(weighted=case.endswith("weighted")).marginal_effects()
    for column, (estimate, se) in TWO[case].items():
        result = table.loc[("male", column, "dy/dx")]
        assert result["estimate"] == pytest.approx(estimate, rel=1e-6)
        assert result["se"] == pytest.approx(se, rel=1e-5)


def test_effects_of_categories_are_differences():
    table = two_class_fit().marginal_effects(columns="island")
    for level, (estimate, se) in TWO["island"].items():
        result = table.loc[("male", "island", f"{level} - Biscoe")]
        assert result["estimate"] == pytest.approx(estimate, rel=1e-8)
        assert result["se"] == pytest.approx(se, rel=1e-5)


def test_effects_of_many_classes():
    table = three_class_fit().marginal_effects()
    for k, label in enumerate(MANY["classes"]):
        slope = table.loc[(label, "bill_length_mm", "dy/dx"), "estimate"]
        assert slope == pytest.approx(MANY["slopes"]["bill_length_mm"][k], abs=1e-7)
        change = table.loc[(label, "sex", "male - female"), "estimate"]
        assert change == pytest.approx(MANY["sex"][k], abs=1e-6)
    # What one class gains the others lose.
    total = table["estimate"].groupby(level=["column", "change"]).sum()
    np.testing.assert_allclose(total, 0, atol=1e-14)


@pytest.mark.parametrize("formula", TWO_OR_MANY)
@pytest.mark.parametrize("at", ["overall", "mean"])
def test_effects_agree_with_statsmodels(formula, at):
    fit = logistic(formula, PENGUINS)
    theirs = fit.to_statsmodels().get_margeff(at=at)
    ours = fit.marginal_effects(at)
    for name, values in {"estimate": theirs.margeff, "se": theirs.margeff_se}.items():
        np.testing.assert_allclose(ours[name], np.ravel(values, order="F"), rtol=1e-6, err_msg=name)


def test_effects_of_dummies_agree_with_statsmodels():
    table = PENGUINS.assign(late=(PENGUINS["year"] > 2007).astype(int))
    fit = logistic("sex ~ bill_depth_mm + late", table)
    theirs = fit.to_statsmodels().get_margeff(dummy=True)
    ours = fit.marginal_effects()
    assert ours.index[1] == ("male", "late", "1 - 0")
    np.testing.assert_allclose(ours["estimate"], theirs.margeff, rtol=1e-8)
    np.testing.assert_allclose(ours["se"], theirs.margeff_se, rtol=1e-6)
    truths = logistic("sex ~ bill_depth_mm + late", table.astype({"late": bool})).marginal_effects()
    np.testing.assert_allclose(truths["estimate"], ours["estimate"], rtol=1e-10)
    slopes = fit.marginal_effects(dummy=False)
    np.testing.assert_allclose(slopes["estimate"], fit.to_statsmodels().get_margeff().margeff, rtol=1e-8)


WRITTEN = (
    "sex ~ poly(bill_depth_mm, 3) * island + log(body_mass_g) + bs(flipper_length_mm, df=5) + C(year)"
    " + cr(bill_length_mm, df=3, constraints='center') + standardize(sqrt(bill_length_mm)):species"
    " + I((body_mass_g / 1000) ** 2 - 2 * abs(body_mass_g - 4000) / 1000)"
)


@pytest.mark.parametrize(
    ("column", "step"),
    [("bill_depth_mm", 1e-4), ("body_mass_g", 1e-2), ("flipper_length_mm", 1e-4), ("bill_length_mm", 1e-4)],
)
def test_effects_go_through_whatever_the_formula_writes(column, step):
    fit = _written()
    values = PENGUINS[column]
    inner = PENGUINS[values.between(values.min() + 1, values.max() - 1) & (PENGUINS["body_mass_g"] != 4000)]
    shifted = [inner.assign(**{column: inner[column] + sign * step}) for sign in (1, -1)]
    up, down = (fit.predict_proba(table)["male"] for table in shifted)
    result = fit.marginal_effects(data=inner, columns=column)["estimate"].item()
    assert result == pytest.approx(float((up - down).mean() / (2 * step)), rel=1e-5)


@cache
def _written() -> Any:
    return logistic(WRITTEN, PENGUINS, bias_reduction=True)


def test_effects_on_new_rows():
    fit = logistic("sex ~ log(body_mass_g) + island", PENGUINS)
    table = load_penguins()
    complete = fit.marginal_effects(data=table.dropna(subset=["body_mass_g"]))
    pd.testing.assert_frame_equal(fit.marginal_effects(data=table), complete)
    strange = pd.concat([PENGUINS, PENGUINS.head(1).assign(island="Mars")])
    with pytest.raises(DataError) as caught:
        fit.marginal_effects(data=strange)
    assert caught.value.rows == (0,)
    with pytest.warns(discrim.errors.UnseenLevelWarning, match="Mars"):
        result = fit.marginal_effects(data=strange, unseen="missing")
    pd.testing.assert_frame_equal(result, fit.marginal_effects())
    with pytest.raises(DataError) as caught:
        fit.marginal_effects(data=table[table["body_mass_g"].isna()])
    assert "data=" in str(caught.value)


def test_effects_are_under_the_prior_of_the_fit():
    fit = logistic("sex ~ bill_depth_mm + island", PENGUINS, prior={"female": 0.9, "male": 0.1})
    shifted = [PENGUINS.assign(bill_depth_mm=PENGUINS["bill_depth_mm"] + step) for step in (1e-5, -1e-5)]
    up, down = (fit.predict_proba(table)["male"] for table in shifted)
    result = fit.marginal_effects(columns="bill_depth_mm")["estimate"].item()
    assert result == pytest.approx(float((up - down).mean() / 2e-5), rel=1e-7)


def test_effects_of_what_has_no_derivative_are_refused():
    fit = logistic("sex ~ half(bill_depth_mm) + island", PENGUINS, functions={"half": lambda x: x / 2})
    with pytest.raises(NotSupportedError) as caught:
        fit.marginal_effects()
    assert "half()" in str(caught.value)
    assert len(fit.marginal_effects(columns=["island"])) == 2
    with pytest.raises(DataError) as caught:
        fit.marginal_effects(columns=["year"])
    assert "'year'" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        logistic("sex ~ I(bill_depth_mm // 2)", PENGUINS).marginal_effects()
    assert "'bill_depth_mm'" in str(caught.value)
    assert "step function" in caught.value.hint


# ------------------------------------------------------------------ digits, weights, sources


OFFSETS = [(1.0, 0.0), (1.0, 1e8), (2.0**-30, 0.0), (2.0**30, 0.0)]


@one_in(2, {"unit, offset": OFFSETS[1:], "response": ["sex", "island"]})
def test_digits_do_not_depend_on_offsets_and_units(unit, offset, response):
    columns = ["bill_length_mm", "bill_depth_mm"]
    exact = PENGUINS.assign(**{name: (PENGUINS[name] * 64).round() / 64 for name in columns})
    other = exact.assign(**{name: exact[name] * unit + offset for name in columns})
    formula = f"{response} ~ {' + '.join(columns)}"
    first, then = (logistic(formula, table) for table in (exact, other))
    np.testing.assert_allclose(then.influence(), first.influence(), rtol=1e-7)
    np.testing.assert_allclose(then.residuals("working"), first.residuals("working"), rtol=1e-7)
    slopes = [j for j, (_, term) in enumerate(first.dfbetas().columns) if term != "constant"]
    moves = [fit.dfbetas().iloc[:, slopes] for fit in (then, first)]
    np.testing.assert_allclose(*moves, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(then.drop1(), first.drop1(), rtol=1e-9)
    for kind, groups in (("nonrobust", None), ("HC1", None), ("cluster", GROUPS)):
        one, two_ = (fit.robust(kind, groups) for fit in (first, then))
        np.testing.assert_allclose(two_.zvalues.iloc[1:], one.zvalues.iloc[1:], rtol=1e-8)
        statistics = [fit.wald_test("bill_length_mm = bill_depth_mm").statistic for fit in (one, two_)]
        assert statistics[1] == pytest.approx(statistics[0], rel=1e-8)
    for at in ("overall", "mean"):
        np.testing.assert_allclose(then.marginal_effects(at)["z"], first.marginal_effects(at)["z"], rtol=1e-7)


@one_in(
    2,
    {
        "smaller": [False, True],
        "formula": ["sex ~ bill_depth_mm + island", "island ~ bill_depth_mm + sex"],
    },
)
def test_weights_equal_repeated_rows(formula, smaller):
    row_counts = WEIGHTS.astype(int)
    long = PENGUINS.loc[PENGUINS.index.repeat(row_counts)].reset_index(drop=True)
    short = logistic(formula, PENGUINS, weights=WEIGHTS, bias_reduction=smaller)
    fits = short, logistic(formula, long, bias_reduction=smaller)
    for kind, groups in (("HC1", [None, None]), ("cluster", [GROUPS, np.repeat(GROUPS, row_counts)])):
        one, other = (fit.robust(kind, own) for fit, own in zip(fits, groups, strict=True))
        np.testing.assert_allclose(one.bse, other.bse, rtol=1e-7)
        np.testing.assert_allclose(one.marginal_effects(), other.marginal_effects(), rtol=1e-5, atol=1e-12)
        tests = [fit.wald_test("bill_depth_mm").statistic for fit in (one, other)]
        np.testing.assert_allclose(*tests)
    np.testing.assert_allclose(fits[0].drop1(), fits[1].drop1(), rtol=1e-7)
    assert fits[0].leverage().sum() == pytest.approx(fits[1].leverage().sum())
    first = np.cumsum(row_counts) - row_counts
    np.testing.assert_allclose(
        fits[0].leverage(), row_counts * fits[1].leverage()[first].to_numpy(), rtol=1e-7
    )


def test_rows_of_a_source_agree_with_a_table(tmp_path):
    path = tmp_path / "penguins.csv"
    PENGUINS.to_csv(path, index=False)
    ours, theirs = (logistic(TWO_OR_MANY[0], data) for data in (PENGUINS, path))
    np.testing.assert_allclose(theirs.influence(), ours.influence(), rtol=1e-9)
    np.testing.assert_allclose(theirs.robust().bse, ours.robust().bse, rtol=1e-9)
    clustered = [fit.robust("cluster", GROUPS).bse for fit in (ours, theirs)]
    np.testing.assert_allclose(*clustered, rtol=1e-9)
    np.testing.assert_allclose(theirs.marginal_effects(), ours.marginal_effects(), rtol=1e-6)
    np.testing.assert_allclose(theirs.drop1(), ours.drop1(), rtol=1e-9)
    with pytest.raises(NotSupportedError) as caught:
        theirs.robust("cluster", "year")
    assert "part" in str(caught.value)


def test_loaded_fits_say_what_they_have_not(tmp_path):
    fit = bias_reduced_fit()
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    assert loaded.wald_test("island").statistic == pytest.approx(fit.wald_test("island").statistic)
    np.testing.assert_allclose(loaded.marginal_effects(data=PENGUINS), fit.marginal_effects(), rtol=1e-8)
    for ask in ("residuals", "influence", "drop1", "robust", "marginal_effects", "leverage", "dfbetas"):
        with pytest.raises(NotSupportedError) as caught:
            getattr(loaded, ask)()
        assert "loaded" in str(caught.value)


def test_a_file_holds_robust_errors(tmp_path):
    fit = logistic("island ~ bill_depth_mm + sex", PENGUINS)
    for kind, groups in (("HC1", None), ("cluster", GROUPS)):
        robust = fit.robust(kind, groups)
        robust.save(tmp_path / "robust")
        loaded = discrim.load(tmp_path / "robust")
        assert loaded.cov_type == kind
        np.testing.assert_allclose(loaded.bse, robust.bse, rtol=1e-12)
        np.testing.assert_allclose(loaded.robust("nonrobust").bse, fit.bse, rtol=1e-12)
        assert ("20 groups" in str(loaded.summary())) == (kind == "cluster")


def test_another_reference_is_the_same_model():
    first = logistic("island ~ bill_depth_mm + sex", PENGUINS).robust("HC1")
    other = logistic("island ~ bill_depth_mm + sex", PENGUINS, reference="Dream").robust("HC1")
    np.testing.assert_allclose(first.influence(), other.influence(), rtol=1e-6)
    np.testing.assert_allclose(first.marginal_effects(), other.marginal_effects(), rtol=1e-6, atol=1e-10)
    rotated = first._fit.estimates.with_reference(1)
    np.testing.assert_allclose(rotated.standard_errors(), other._fit.estimates.standard_errors(), rtol=1e-6)
