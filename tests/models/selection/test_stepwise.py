"""Choice of variables: every step against refits of every candidate."""

from __future__ import annotations

from functools import partial

import mpmath
import numpy as np
import pandas as pd
import pytest

from discrim import lda, logistic, qda, stepwise
from discrim.core.covariance.covariance import UpdatedRoot
from discrim.datasets import load_iris, load_penguins, load_wine
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimError,
    DroppedColumnsWarning,
    FormulaError,
)

IRIS, WINE = load_iris(), load_wine()
COLUMNS = [c for c in WINE.columns if c != "cultivar"]


def fit_terms(terms: list[str]):
    return lda(f"cultivar ~ {' + '.join(terms)}", WINE)


def criterion_of_terms(terms: list[str], criterion: str) -> float:
    """Return the criterion of a fit to the terms, larger for better."""
    model = fit_terms(terms)
    if criterion == "wilks":
        return -model.manova().loc["Wilks' lambda", "statistic"]
    if criterion == "rao":
        return 175 * model.manova().loc["Hotelling-Lawley trace", "statistic"]
    return model.distances()["D2" if criterion == "mahalanobis" else "F"].min()


def partial_p(terms: list[str], term: str) -> float:
    return fit_terms(terms).partial_tests().loc[term, "p"]


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["wilks", "mahalanobis", "maxminf", "rao"])
def test_every_step_forward_is_the_best_of_all_refits(criterion):
    result = stepwise("cultivar ~ .", WINE, direction="forward", criterion=criterion, enter=0.01)
    chosen: list[str] = []
    for _, row in result.steps.iterrows():
        ready = [t for t in COLUMNS if t not in chosen and partial_p([*chosen, t], t) <= 0.01]
        assert row["term"] == max(ready, key=lambda t: criterion_of_terms([*chosen, t], criterion))
        chosen.append(row["term"])
        model = fit_terms(chosen)
        expected = model.partial_tests().loc[row["term"]]
        np.testing.assert_allclose(
            row[["F", "df1", "df2", "partial_R2"]].astype(float),
            expected[["F", "df1", "df2", "partial_R2"]],
            rtol=1e-8,
        )
        np.testing.assert_allclose(row["p"], expected["p"], rtol=1e-6)
        tests = model.manova()["statistic"]
        np.testing.assert_allclose(row["wilks"], tests["Wilks' lambda"], rtol=1e-8)
        np.testing.assert_allclose(row["ascc"], tests["Pillai's trace"] / 2, rtol=1e-8)
        if criterion != "wilks":
            np.testing.assert_allclose(row[criterion], criterion_of_terms(chosen, criterion), rtol=1e-8)
    remaining = [t for t in COLUMNS if t not in chosen]
    assert all(partial_p([*chosen, t], t) > 0.01 for t in remaining)
    assert result.selected.tolist() == chosen
    pd.testing.assert_frame_equal(result.fit.means, fit_terms(chosen).means)


def test_every_step_backward_removes_the_weakest_term():
    result = stepwise("cultivar ~ .", WINE, direction="backward", stay=0.01)
    chosen = list(COLUMNS)
    for _, row in result.steps.iterrows():
        tests = fit_terms(chosen).partial_tests()
        assert row["term"] == tests["p"].idxmax()
        np.testing.assert_allclose(
            row[["F", "df2"]].astype(float), tests.loc[row["term"], ["F", "df2"]], rtol=1e-7
        )
        chosen.remove(row["term"])
        np.testing.assert_allclose(row["wilks"], -criterion_of_terms(chosen, "wilks"), rtol=1e-8)
    assert (fit_terms(chosen).partial_tests()["p"] <= 0.01).all()
    assert sorted(result.selected) == sorted(chosen)


def test_direction_both_removes_redundant_terms():
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1], 300)
    a, b = rng.standard_normal((2, 600)) + codes
    data = pd.DataFrame({"sum": a + b + 0.7 * rng.standard_normal(600), "a": a, "b": b, "y": codes})
    result = stepwise("y ~ .", data, enter=0.05, stay=0.05)
    assert result.steps["action"].tolist() == ["entered", "entered", "entered", "removed"]
    assert result.steps["term"].iloc[[0, -1]].tolist() == ["sum", "sum"]
    assert set(result.selected) == {"a", "b"}


def test_entering_and_removing_columns_restores_the_matrix():
    rng = np.random.default_rng(0)
    root = np.linalg.qr(rng.normal(size=(30, 8)) @ rng.normal(size=(8, 8)), mode="r")
    fixed = UpdatedRoot(root)
    for column in (3, 5, 7, 0):
        fixed.add(column)
    fixed.drop(5)
    others = [3, 7, 0]
    triangle = fixed.triangle()
    assert not np.tril(triangle, -1).any()
    scatter = root.T @ root
    np.testing.assert_allclose(triangle.T @ triangle, scatter[np.ix_(others, others)], rtol=1e-12, atol=1e-11)
    basis = np.linalg.qr(root[:, others])[0]
    remaining = root - basis @ (basis.T @ root)
    np.testing.assert_allclose(fixed.squares(), (remaining**2).sum(axis=0), rtol=1e-11, atol=1e-11)
    for column in others:
        fixed.drop(column)
    np.testing.assert_allclose(fixed.squares(), np.diagonal(scatter), rtol=1e-12)
    assert fixed.pivots == []


def exact_partials(frame, response):
    """Partial F of each column given all others, and Wilks' lambda of all, from fractions of the doubles."""
    mpmath.mp.dps = 120
    x, labels = frame.drop(columns=response).to_numpy(), frame[response].to_numpy()
    n, p = x.shape
    rows = np.array([[mpmath.mpf(float(v)) for v in row] for row in x], dtype=object)

    def scatter(groups):
        full = np.zeros((p, p), dtype=object)
        for own in groups:
            d = rows[own] - rows[own].sum(axis=0) / len(own)
            full = full + d.T @ d
        return mpmath.matrix(full.tolist())

    classes = sorted(set(labels))
    within = scatter([np.flatnonzero(labels == c) for c in classes])
    total = scatter([np.arange(n)])
    inner, outer = within**-1, total**-1
    df, q = n - len(classes) - (p - 1), len(classes) - 1
    partials = [float((inner[j, j] / outer[j, j] - 1) * df / q) for j in range(p)]
    return np.array(partials), float(mpmath.det(within) / mpmath.det(total))


def curves(kind, n=48):
    """Smooth columns whose correlation is all but singular."""
    rng = np.random.default_rng(4)
    at = rng.uniform(1, 2, (n, 1)) if kind == "powers" else rng.uniform(0.2, 0.8, (n, 1))
    x = at ** np.arange(1, 8) if kind == "powers" else np.exp(-((np.linspace(0, 1, 6) - at) ** 2) / 2)
    x = x * (1 + 0.1 * rng.normal(size=(n, 1)))
    codes = np.arange(n) % 3
    x = x + 1e-3 * (codes[:, None] - 1) * np.linspace(0, 1, x.shape[1]) ** 2 * x.std(axis=0)
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]).assign(
        g=np.array(list("abc"))[codes]
    )


@pytest.mark.filterwarnings("ignore::discrim.errors.CollinearWarning")
@pytest.mark.parametrize("kind", ["powers", "bumps"])
def test_removing_collinear_columns_keeps_precision(kind):
    frame = curves(kind)
    steps = stepwise("g ~ .", frame, direction="backward", stay=1e-12).steps
    remaining = frame
    # The inherent loss: what a move of each number to a neighbour does to a partial F.
    rng = np.random.default_rng(0)
    for _, row in steps.iloc[:3].iterrows():
        want, _ = exact_partials(remaining, "g")
        x = remaining.drop(columns="g")
        shifted = x * (1 + np.finfo(float).eps * rng.choice([-1, 1], x.shape))
        loss = np.abs(exact_partials(shifted.assign(g=remaining["g"]), "g")[0] / want - 1).max()
        assert row["term"] == x.columns[np.argmin(want)]
        assert abs(row["F"] / want.min() - 1) <= 30 * loss + 1e-13
        remaining = remaining.drop(columns=row["term"])
        assert row["wilks"] == pytest.approx(exact_partials(remaining, "g")[1], rel=30 * loss + 1e-13)
    ahead = stepwise("g ~ .", frame, direction="forward", enter=1.0, stay=1.0)
    # Nothing of full rank is a combination of those chosen.
    assert "combination" not in ahead.summary().as_text()


def test_a_term_of_several_columns_enters_as_one():
    data = load_penguins().dropna()
    formula = "species ~ poly(bill_length_mm, 2) + sex:body_mass_g + log(flipper_length_mm) + sex"
    result = stepwise(formula, data, direction="forward", enter=0.9)
    assert set(result.selected) <= {
        "poly(bill_length_mm, 2)",
        "sex:body_mass_g",
        "log(flipper_length_mm)",
        "sex",
    }
    first = result.steps.iloc[0]
    alone = lda(f"species ~ {first['term']}", data).manova().loc["Wilks' lambda"]
    np.testing.assert_allclose(
        first[["F", "df1", "df2", "p"]].astype(float),
        alone[["F", "df1", "df2", "p"]].astype(float),
        rtol=1e-7,
    )
    for i in range(1, len(result.steps)):
        before, now = (
            lda(f"species ~ {' + '.join(result.steps['term'].iloc[:j])}", data) for j in (i, i + 1)
        )
        ratio = now.wilks.statistic / before.wilks.statistic
        assert 1 - result.steps["partial_R2"].iloc[i] == pytest.approx(ratio, rel=1e-6)
        assert result.steps["df1"].iloc[i] == 2 * (len(now.terms) - len(before.terms))


def test_included_terms_are_always_in():
    result = stepwise("cultivar ~ .", WINE, include=["ash", "hue"], enter=1e-6, stay=1e-6)
    assert result.selected[:2].tolist() == ["ash", "hue"]
    assert result.steps["action"].iloc[:2].tolist() == ["included", "included"]
    assert "removed" not in set(result.steps.loc[result.steps["term"].isin(["ash", "hue"]), "action"])
    back = stepwise("cultivar ~ .", WINE, direction="backward", include=["ash"], stay=1e-80)
    assert back.selected.tolist() == ["ash"]


@pytest.mark.parametrize(("verb", "direction"), [(lda, "forward"), (qda, "both"), (lda, "backward")])
def test_choice_by_cross_validated_error(verb, direction):
    data = WINE[["cultivar", "alcohol", "ash", "hue", "proline"]]
    result = stepwise("cultivar ~ .", data, criterion="cv", verb=verb, direction=direction, folds=5, seed=2)

    def error(terms):
        if not terms:
            return 1 - 71 / 178
        formula = f"cultivar ~ {' + '.join(t for t in data.columns if t in terms)}"
        return verb(formula, data).error_rates(["cv"], folds=5, seed=2)["estimate"].iloc[0]

    final = list(result.selected)
    if direction != "backward":
        assert all(error([*final, t]) >= error(final) for t in data.columns if t not in (*final, "cultivar"))
    if direction != "forward":
        assert all(error([c for c in final if c != t]) > error(final) for t in final)
    assert result.steps["error"].iloc[-1] == pytest.approx(error(final))
    assert type(result.fit).__name__.lower().startswith(verb.__name__)


def test_more_columns_than_degrees_of_freedom_go_forward_only():
    rng = np.random.default_rng(0)
    codes = np.repeat(["a", "b"], 10)
    x = rng.standard_normal((20, 40))
    x[:10, 7] += 4
    data = pd.DataFrame(x, columns=[f"x{j}" for j in range(40)]).assign(y=codes)
    result = stepwise("y ~ .", data, enter=0.001, stay=0.001)
    assert result.selected[0] == "x7"
    with pytest.raises(CollinearError) as caught:
        stepwise("y ~ .", data, direction="backward")
    assert "18" in str(caught.value)
    assert "degrees" in str(caught.value)


@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
def test_redundant_columns_are_left_out_and_named():
    data = IRIS.assign(twice=2 * IRIS["petal_width"], flat=1.0)
    result = stepwise("species ~ .", data)
    assert "'flat'" in result.summary().as_text()
    assert {"twice", "petal_width"} - set(result.selected)
    with pytest.raises(CollinearError) as caught:
        stepwise("species ~ . - flat", data, direction="backward")
    assert caught.value.columns == ("twice",)


def test_an_empty_choice_has_a_note():
    shuffled = IRIS.assign(species=IRIS["species"].sample(frac=1, random_state=0).to_numpy())
    result = stepwise("species ~ sepal_width", shuffled, enter=1e-9, stay=1e-9)
    assert result.selected.tolist() == []
    assert "none" in result.summary().as_text()
    with pytest.raises(DataError) as caught:
        _ = result.fit
    assert "term" in str(caught.value)
    assert "chosen" in str(caught.value)


def test_rows_complete_in_the_chosen_terms_only_are_fitted_and_counted():
    data = IRIS.assign(sepal_length=IRIS["sepal_length"].mask(np.arange(150) % 5 == 0))
    result = stepwise("species ~ .", data, enter=1e-6, stay=1e-6)
    assert "sepal_length" not in result.selected
    assert result.fit.nobs == 150
    assert (
        "Chosen with the 120 rows that are complete in all candidates; fitted to 150"
        in result.summary().as_text().replace("\n", " ")
    )
    complete = stepwise("species ~ .", data.dropna(), enter=1e-6, stay=1e-6)
    pd.testing.assert_frame_equal(result.steps, complete.steps)


def test_weights_levels_and_quoted_names_reach_the_fit():
    data = WINE.rename(columns={"hue": "the hue", "ash": "class"}).assign(w=1.0 + np.arange(178) % 3)
    shared = {"include": ["the hue"], "enter": 0.01, "stay": 0.01, "verb": partial(lda, prior="equal")}
    result = stepwise("cultivar ~ .", data, weights="w", **shared)
    repeated = data.loc[data.index.repeat(data["w"].astype(int))]
    other = stepwise("cultivar ~ . - w", repeated, **shared)
    assert result.selected.tolist() == other.selected.tolist()
    np.testing.assert_allclose(result.steps["F"], other.steps["F"], rtol=1e-9)
    assert result.fit.nobs == repeated.shape[0]
    assert result.selected[0] == "the hue"
    for written in (["`the hue`"], "`the hue`"):
        quoted = stepwise("cultivar ~ .", data, weights="w", **(shared | {"include": written}))
        assert quoted.selected.tolist() == result.selected.tolist()
    assert result.fit.prior.tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"criterion": "cp"}, "criterion='cp' is not known.*'rao', 'cv'"),
        ({"direction": "up"}, "direction='up' is not known"),
        ({"enter": 3.84}, "enter=3.84"),
        ({"stay": 0.0}, "stay=0.0"),
        ({"enter": 0.2, "stay": 0.1}, "stay=0.1 is below enter=0.2"),
        ({"include": ["petal"]}, "include=: 'petal'"),
    ],
)
def test_invalid_arguments_are_named(options, says):
    with pytest.raises(DataError, match=says):
        stepwise("species ~ .", IRIS, **options)


def test_invalid_tables_are_named():
    with pytest.raises(DiscrimError) as caught:
        stepwise("species ~ .", IRIS.iloc[:50].astype({"species": str}))
    assert caught.value.classes == ("setosa",)
    with pytest.raises(FormulaError):
        stepwise("species ~ nosuch", IRIS)


def test_a_verb_can_be_passed_by_name():
    data = load_wine()
    asked = {"criterion": "cv", "folds": 3, "seed": 1}
    named = stepwise("cultivar ~ alcohol + ash", data, verb="qda", **asked)
    assert named.steps.equals(stepwise("cultivar ~ alcohol + ash", data, verb=qda, **asked).steps)
    assert type(named.fit).__name__ == "QDAResults"
    chosen = stepwise("cultivar ~ alcohol + ash", data, verb="logistic", criterion="bic")
    assert type(chosen.fit).__name__ == "LogisticResults"
    with pytest.raises(DataError) as caught:
        stepwise("cultivar ~ .", data, verb="oracle")
    assert "verb='oracle'" in str(caught.value)
    assert "'lda'" in str(caught.value)


def test_hints_for_collinear_candidates_work():
    data = load_wine().assign(twice=lambda frame: 2 * frame["alcohol"])
    formula = "cultivar ~ alcohol + ash + twice"
    with pytest.raises(CollinearError) as caught:
        stepwise(formula, data, direction="backward")
    assert caught.value.columns == ("twice",)
    assert "twice" not in stepwise(formula, data, direction="both").selected
    with pytest.raises(CollinearError) as caught:
        stepwise(formula, data, criterion="aic")
    assert caught.value.columns == ("twice",)
    drops = partial(logistic, collinear="drop")
    with pytest.warns(DroppedColumnsWarning, match="'twice'"):
        assert "twice" not in stepwise(formula, data, criterion="aic", verb=drops).selected
    with pytest.warns(DroppedColumnsWarning), pytest.raises(CollinearError, match=r"include=.*'twice'"):
        stepwise(formula, data, criterion="aic", include=["twice"], verb=drops)
