"""Tests of a logistic regression's terms against R's car, and identities that types of tests keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discrim import logistic, lr_test
from discrim.datasets import load_penguins
from discrim.errors import DataError, DroppedColumnsWarning, NotSupportedError

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "golden" / "logistic_terms.json").read_text(encoding="utf-8")
)
CASES = {**GOLDEN["two"], **GOLDEN["many"]}
LISTED = [(name, kind) for name, case in CASES.items() for kind in case["lr"]]


def births() -> pd.DataFrame:
    table = pd.DataFrame(GOLDEN["births"])
    return table.astype(dict.fromkeys(("race", "smoke", "ht"), "category"))


def fit_of(name: str, **options: Any) -> Any:
    if name in GOLDEN["two"]:
        return logistic(CASES[name]["formula"], births(), **options)
    data = load_penguins().dropna()
    numbers = ["bill_depth_mm", "bill_length_mm", "body_mass_g"]
    data[numbers] = (data[numbers] - data[numbers].mean()) / data[numbers].std()
    return logistic(CASES[name]["formula"], data, **options)


def check(result: pd.DataFrame, expected: dict[str, Any], rtol: float) -> None:
    """The table of some terms against that of R, which may order factors and terms in another way."""
    theirs = pd.DataFrame(expected)
    theirs.index = pd.Index([frozenset(term.split(":")) for term in theirs.pop("terms")])
    ours = result.set_axis([frozenset(term.split(":")) for term in result.index])
    assert set(ours.index) == set(theirs.index)
    theirs = theirs.loc[list(ours.index)]
    assert ours["df"].tolist() == theirs["df"].tolist()
    np.testing.assert_allclose(ours["statistic"], theirs["statistic"], rtol=rtol, atol=1e-8)
    np.testing.assert_allclose(ours["p"], theirs["p"], rtol=100 * rtol)


@pytest.mark.parametrize(("name", "kind"), LISTED)
def test_likelihood_ratios_agree_with_anova(name, kind):
    # multinom's search, by BFGS, ends at some digits less than glm's.
    rtol = 1e-7 if name in GOLDEN["two"] else 1e-5
    check(fit_of(name).lr_test(by="term", type=kind), CASES[name]["lr"][kind], rtol)


@pytest.mark.parametrize("kind", ["2", "3"])
@pytest.mark.parametrize("name", GOLDEN["two"])
def test_wald_tests_agree_with_anova(name, kind):
    check(fit_of(name).wald_test(by="term", type=kind), CASES[name]["wald"][kind], 1e-6)


# ------------------------------------------------------------------ identities


def test_type_two_does_not_depend_on_the_origin_of_a_covariate():
    here = births()
    mask = here.assign(lwt=here["lwt"] - 1300.5, age=here["age"] + 77)
    one, other = (logistic("low ~ age * lwt + race * age", data) for data in (here, mask))
    for test in ("lr_test", "wald_test"):
        for kind in (1, 2):
            result = [getattr(fit, test)(by="term", type=kind)["statistic"] for fit in (one, other)]
            np.testing.assert_allclose(result[0], result[1], rtol=1e-6, atol=1e-9)


def test_type_ii_compares_models_without_containing_terms():
    data = births()
    result = logistic("low ~ age * lwt * smoke + race", data).lr_test(by="term")
    large = logistic("low ~ age + lwt + smoke + race + lwt:smoke", data)
    small = logistic("low ~ lwt + smoke + race + lwt:smoke", data)
    assert result.loc["age", "statistic"] == pytest.approx(lr_test(small, large).statistic, rel=1e-8)
    large = logistic("low ~ (age + lwt + smoke)**2 + race", data)
    small = logistic("low ~ (age + lwt + smoke)**2 + race - age:smoke", data)
    assert result.loc["age:smoke", "statistic"] == pytest.approx(lr_test(small, large).statistic, rel=1e-8)


def test_type_one_adds_up_to_the_whole_model():
    fit = logistic("low ~ race:lwt + smoke * race + lwt", births())
    assert fit.lr_test(by="term", type=1)["statistic"].sum() == pytest.approx(
        fit.lr_test().statistic, rel=1e-9
    )


def test_type_three_does_not_depend_on_the_reference_of_a_factor():
    data = births()
    rotated = data.assign(
        race=data["race"].cat.reorder_categories(
            [*data["race"].cat.categories[1:], data["race"].cat.categories[0]]
        ),
        smoke=data["smoke"].cat.reorder_categories(data["smoke"].cat.categories[::-1]),
    )
    formula = "low ~ lwt * race * smoke"
    for test in ("lr_test", "wald_test"):
        result = [getattr(logistic(formula, each), test)(by="term", type="III") for each in (data, rotated)]
        np.testing.assert_allclose(result[0]["statistic"], result[1]["statistic"], rtol=1e-6)
        assert result[0]["df"].tolist() == result[1]["df"].tolist()


def test_without_interactions_types_two_and_three_leave_a_term_out():
    fit = logistic("low ~ lwt + race + smoke", births())
    pd.testing.assert_frame_equal(fit.lr_test(by="term"), fit.lr_test(by="term", type=3))
    for term in ("lwt", "race", "smoke"):
        got, want = fit.wald_test(by="term").loc[term], fit.wald_test(term)
        assert (got["statistic"], got["df"]) == pytest.approx((want.statistic, want.df), rel=1e-9)
    assert fit.summary().tables["lr_terms"]["statistic"].equals(fit.lr_test(by="term")["statistic"])


def test_wald_statistics_are_close_to_likelihood_ratios_in_large_samples():
    rng = np.random.default_rng(5)
    x, g = rng.normal(size=(20_000, 2)), rng.integers(3, size=20_000)
    eta = 0.1 * x[:, 0] + 0.05 * (g == 1) * x[:, 1]
    data = pd.DataFrame({"y": rng.random(20_000) < 1 / (1 + np.exp(-eta)), "a": x[:, 0], "b": x[:, 1]})
    data["g"] = pd.Series(list("uvw"))[g].to_numpy()
    fit = logistic("y ~ a * g + b * g", data)
    for kind in (1, 2, 3):
        ratios, wald = (test(by="term", type=kind)["statistic"] for test in (fit.lr_test, fit.wald_test))
        np.testing.assert_allclose(wald, ratios, rtol=0.01, atol=0.1)
    robust = fit.robust("HC0").wald_test(by="term")["statistic"] / fit.wald_test(by="term")["statistic"]
    assert robust.between(0.8, 1.25).all()


def test_bias_reduced_fits_respect_marginality():
    data = births()
    centred = data.assign(age=data["age"] - data["age"].mean(), lwt=data["lwt"] - 130)
    result = [
        logistic("low ~ age * lwt", each, bias_reduction=True).lr_test(by="term") for each in (data, centred)
    ]
    np.testing.assert_allclose(result[0]["statistic"], result[1]["statistic"], rtol=1e-5)


# ------------------------------------------------------------------ what is said


def test_the_summary_names_the_type():
    text = logistic("low ~ age * lwt", births()).summary().as_text()
    assert "Type II: each term after all terms that do not contain it." in text
    assert "Type II" not in logistic("low ~ age + lwt", births()).summary().as_text()


def test_invalid_arguments_are_refused():
    fit = logistic("low ~ age * lwt", births())
    for bad in (0, 4, True, "two", None):
        for test in (fit.lr_test, fit.wald_test):
            with pytest.raises(DataError) as caught:
                test(by="term", type=bad)
            assert "Use 1, 2 or 3" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.wald_test("age", by="term")
    assert "hypothesis" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.wald_test(by="row")
    assert "by=" in str(caught.value)
    with pytest.raises(DataError):
        fit.wald_test()
    data = births()
    empty = data[(data["race"].astype(str) != "2") | (data["smoke"].astype(str) != "1")]
    with pytest.warns(DroppedColumnsWarning):
        fit = logistic("low ~ lwt + race * smoke", empty, collinear="drop")
    with pytest.raises(NotSupportedError) as caught:
        fit.lr_test(by="term", type=3)
    assert "type=2" in str(caught.value)
