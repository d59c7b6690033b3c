"""Steps with the limits of SPSS and SAS, and what each step looked at, against R (golden/stepwise.json)."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import lda, stepwise
from discrim.errors import CollinearError, DataError, NotSupportedError
from tests import support

CASES = json.loads((support.GOLDEN / "stepwise.json").read_text(encoding="utf-8"))
IRIS = discrim.datasets.load_iris()
SPSS = {"by": "F", "enter": 3.84, "stay": 2.71}
TESTS = ["F", "df1", "df2"]


def title(case):
    return f"{case['table']}-{case['criterion']}-{case['tolerance']}"


def chosen_as(case, **options):
    data = getattr(discrim.datasets, f"load_{case['table']}")()
    right = " + ".join(case["columns"]) if case.get("columns") else "."
    return stepwise(f"{case['response']} ~ {right}", data, **options)


@pytest.mark.parametrize("case", CASES, ids=title)
def test_steps_and_their_tables_agree_with_r(case):
    result = chosen_as(case, **SPSS, criterion=case["criterion"], tolerance=case["tolerance"])
    steps = result.steps[["action", "term"]].to_dict("records")
    assert steps == case["moves"]
    for step, state in enumerate(case["states"], case["first"]):
        check_terms(result.in_analysis, step, state["within"], ["tolerance"], case["criterion"])
        sizes = ["tolerance", "min_tolerance"]
        check_terms(result.not_in_analysis, step, state["without"], sizes, case["criterion"])
        if "overall" in state:
            check_overall(result, step, state)


def check_terms(table, step, expected, sizes, criterion):
    if not expected:
        assert step not in table.index.get_level_values("step")
        return
    expected = pd.DataFrame(expected).set_index("term")
    got = table.loc[step]
    assert sorted(got.index) == sorted(expected.index)
    got = got.loc[expected.index]
    np.testing.assert_allclose(got[[*sizes, *TESTS]], expected[[*sizes, *TESTS]], rtol=1e-7)
    np.testing.assert_allclose(got["p"], expected["p"], rtol=1e-6)
    np.testing.assert_allclose(got[criterion], expected["value"].astype(float), rtol=1e-7)


def check_overall(result, step, state):
    expected, got = state["overall"], result.overall.loc[step]
    for name in ("wilks", "F", "df1", "df2"):
        assert got[name] == pytest.approx(expected[name], rel=1e-8)
    assert got["p"] == pytest.approx(expected["p"], rel=1e-6)
    if result.criterion == "rao" and step:
        assert result.steps.loc[step, "rao"] == pytest.approx(expected["rao"], rel=1e-8)
    pairs = result.pairs.loc[step]
    for row in state["pairs"]:
        mine = pairs.loc[(row["a"], row["b"])]
        assert mine["D2"] == pytest.approx(row["D2"], rel=1e-8)
        assert mine["F"] == pytest.approx(row["F"], rel=1e-8)
        assert mine["p"] == pytest.approx(row["p"], rel=1e-6)


def test_a_removed_term_is_not_in_the_analysis():
    case = next(case for case in CASES if case["table"] == "breast_cancer")
    result = chosen_as(case, **SPSS, tolerance=0.001)
    removed = result.steps.query("action == 'removed'")
    assert len(removed) == 1
    step, term = removed.index[0], removed["term"].iloc[0]
    assert term in result.in_analysis.loc[step - 1].index
    assert term in result.not_in_analysis.loc[step].index
    assert result.in_analysis.loc[(step - 1, term), "F"] < 2.71


@pytest.mark.parametrize("case", [case for case in CASES if "greedy" in case], ids=title)
def test_forward_selection_by_wilks_lambda_agrees_with_klar(case):
    expected = pd.DataFrame(case["greedy"])
    result = chosen_as(case, direction="forward", enter=0.01)
    assert result.selected.tolist() == expected["vars"].tolist()[: len(result.selected)]
    # The p-value of a partial F has one degree of freedom too many there, so that it may go on.
    expected = expected.iloc[: len(result.selected)]
    np.testing.assert_allclose(result.overall["wilks"], expected["Wilks.lambda"], rtol=1e-9)
    np.testing.assert_allclose(result.overall["F"], expected["F.statistics.overall"], rtol=1e-9)
    np.testing.assert_allclose(result.overall["p"], expected["p.value.overall"], rtol=1e-6)


def test_the_nearest_pair_is_named_and_the_change_of_v_tested():
    choice = stepwise("species ~ .", IRIS, criterion="mahalanobis")
    for step, row in choice.steps.iterrows():
        fit = lda(f"species ~ {' + '.join(choice.steps['term'].loc[:step])}", IRIS)
        assert (row["class"], row["other"]) == fit.distances()["D2"].idxmin()
    steps = stepwise("species ~ .", IRIS, criterion="rao").steps
    np.testing.assert_allclose(steps["change"].cumsum(), steps["rao"], rtol=1e-12)
    # The chi-squared law of two degrees of freedom.
    np.testing.assert_allclose(np.log(steps["p_change"].iloc[1:]), -steps["change"].iloc[1:] / 2, rtol=1e-9)


def test_terms_of_several_columns_have_their_smallest_tolerance():
    data = discrim.datasets.load_penguins().dropna()
    formula = "species ~ island + bill_length_mm + body_mass_g + sex"
    choice = stepwise(formula, data, by="F", enter=1.0, direction="forward")
    terms = list(choice.selected)
    x = pd.get_dummies(data[["island", "sex"]], drop_first=True).astype(float)
    x = pd.concat([x, data[["bill_length_mm", "body_mass_g"]]], axis=1)
    within = (x - x.groupby(data["species"]).transform("mean")).to_numpy()
    columns = {term: [i for i, name in enumerate(x) if name.startswith(term)] for term in terms}

    def tolerances(chosen):
        own = within[:, chosen]
        return dict(zip(chosen, 1 / np.diag(np.linalg.inv(np.corrcoef(own.T))), strict=True))

    for step in range(2, len(terms) + 1):
        chosen = [i for term in terms[:step] for i in columns[term]]
        now = tolerances(chosen)
        for term in terms[:step]:
            smallest = min(now[i] for i in columns[term])
            assert choice.in_analysis.loc[(step, term), "tolerance"] == pytest.approx(smallest, rel=1e-9)
        entering = choice.not_in_analysis.loc[(step - 1, terms[step - 1])]
        assert entering["min_tolerance"] == pytest.approx(min(now.values()), rel=1e-9)
        smallest = min(now[i] for i in columns[terms[step - 1]])
        assert entering["tolerance"] == pytest.approx(smallest, rel=1e-9)


def test_limits_of_partial_r2_agree_with_its_f():
    # One column's F is R2/(1 - R2) df2/df1, so that limits of R2 between the steps stop where F does.
    every = stepwise("species ~ .", IRIS, direction="forward", enter=1.0)
    smallest = every.steps["partial_R2"].iloc[2:].min()
    choice = stepwise("species ~ .", IRIS, by="r2", enter=smallest + 1e-9, stay=0.0)
    assert choice.selected.tolist() == every.selected.tolist()[:3]
    assert "Enters at partial R2 >= " in choice.summary().as_text()


def test_v_to_enter_is_what_a_term_adds_to_v():
    every = stepwise("species ~ .", IRIS, criterion="rao")
    third = every.steps["change"].iloc[2]
    for limit, count in ((0.999 * third, 4), (1.001 * third, 2)):
        assert len(stepwise("species ~ .", IRIS, criterion="rao", by="v", enter=limit).selected) == count


def test_a_repeated_choice_uses_the_same_limits():
    choice = stepwise("species ~ .", IRIS, **SPSS, tolerance=0.4)
    fold = np.arange(150) % 5
    wrong = 0
    for k in range(5):
        fit = stepwise("species ~ .", IRIS[fold != k], **SPSS, tolerance=0.4).fit
        labels = fit.predict(IRIS[fold == k])
        wrong += (labels != IRIS["species"].loc[labels.index]).sum()
    table = choice.cross_validate(folds=fold).table()
    assert round(table["estimate"]["error"] * 150) == wrong
    by_call = stepwise("species ~ .", IRIS, **SPSS, tolerance=0.4, verb="naive_bayes")
    assert by_call.error_rates(["cv"], folds=3, seed=1)["choice"].tolist() == ["repeated"]


def test_summary_sections_and_no_step():
    choice = stepwise("species ~ .", IRIS, **SPSS, criterion="maxminf")
    text = choice.summary("all").as_text()
    for message in ("Terms in the analysis", "Terms not in the analysis", "versicolor, virginica"):
        assert message in text
    assert "See summary" in choice.summary().as_text()
    none = stepwise("species ~ sepal_width", IRIS, by="F", enter=1e6, stay=1.0)
    assert [len(table) for table in (none.pairs, none.in_analysis, none.overall)] == [0, 0, 0]
    assert none.not_in_analysis.loc[(0, "sepal_width"), "F"] == pytest.approx(49.16, abs=0.005)
    assert "Pairs" in none.summary("all").as_text()
    backward = stepwise("species ~ .", IRIS, direction="backward", by="F", stay=10.0)
    assert backward.selected.tolist() == ["sepal_width", "petal_length", "petal_width"]
    assert len(backward.in_analysis.loc[0]) == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"by": "F", "enter": 3.84}, "stay= is missing"),
        ({"by": "r2", "stay": 0.1}, "enter= is missing"),
        ({"by": "F", "enter": 2.0, "stay": 3.0}, "stay=3.0 is above enter=2.0"),
        ({"enter": 0.2}, "stay=0.15 is below enter=0.2"),
        ({**SPSS, "criterion": "aic"}, 'by="F" applies to steps by the partial F'),
        ({"tolerance": 0.1, "criterion": "cv"}, "tolerance= applies to steps by the partial F"),
        ({"by": "v", "enter": 1.0}, 'criterion="rao"'),
        ({"by": "v", "criterion": "rao"}, "enter= is missing"),
        ({"by": "r2", "enter": 1.5, "stay": 0.1}, "enter=1.5"),
        ({"by": "F", "enter": -1, "stay": -2}, "enter=-1"),
        ({"by": "t"}, "by='t' is not known"),
        ({"tolerance": 1.0}, "tolerance=1.0"),
    ],
)
def test_incompatible_limits_are_named(options, says):
    with pytest.raises(DataError, match=says):
        stepwise("species ~ .", IRIS, **options)


def test_included_terms_must_be_tolerable():
    with pytest.raises(CollinearError) as caught:
        stepwise("species ~ .", IRIS, include=["sepal_length", "petal_length"], tolerance=0.5)
    assert "'petal_length'" in str(caught.value)
    assert "include=" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        stepwise("species ~ .", IRIS, direction="backward", tolerance=0.5)
    assert 'direction="both"' in str(caught.value)
    choice = stepwise("species ~ .", IRIS, **SPSS, tolerance=0.5)
    text = " ".join(choice.summary().as_text().split())
    assert "with a tolerance below 0.5: 'sepal_length'" in text


def test_other_choices_have_no_such_tables():
    chosen = stepwise("species ~ sepal_width", IRIS, criterion="cv", folds=3, seed=1)
    for name in ("in_analysis", "not_in_analysis", "overall", "pairs"):
        with pytest.raises(NotSupportedError) as caught:
            getattr(chosen, name)
        assert "tests" in str(caught.value)
        assert "terms" in str(caught.value)
