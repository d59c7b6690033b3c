"""Who computes by the numbers of a summary decides as the fit does: rows by what is printed."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim import hyperplane, indicator, lda, logistic, nearest_centroid, perceptron
from discrim.datasets import load_iris, load_penguins, load_wine
from discrim.errors import NoSeparationWarning
from tests.report.support import html_cells

IRIS = load_iris()
TWO = IRIS[IRIS["species"] != "virginica"].assign(species=lambda d: d["species"].astype(str))
PENGUINS = load_penguins().dropna()
BIRDS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "year"]
FAR = "up to 6 standard deviations from a class mean"


def simulate_classes(k: int, p: int, n: int, seed: int, units=1.0, offsets=0.0) -> pd.DataFrame:
    """Classes a, b, ... of n rows each, in columns of units and offsets."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(k), n)
    x = rng.standard_normal((len(y), p)) + 1.5 * rng.standard_normal((k, p))[y]
    frame = pd.DataFrame((x + offsets) * units, columns=[f"x{j}" for j in range(p)])
    return frame.assign(y=[chr(97 + j) for j in y])


def in_units(units) -> pd.DataFrame:
    data = IRIS.copy()
    data[data.columns[:4]] *= units
    return data


TABLES = {
    "iris": ("species ~ .", IRIS),
    "wine": ("cultivar ~ .", load_wine()),
    "penguins": (f"species ~ {' + '.join(BIRDS)}", PENGUINS),
    "penguins, sex": (f"sex ~ {' + '.join(BIRDS)}", PENGUINS),
    "units of 1e-9": ("species ~ .", in_units(1e-9)),
    "units of 1e9": ("species ~ .", in_units(1e9)),
    "units of 1e-120": ("species ~ .", in_units(1e-120)),
    "unlike units": ("species ~ .", in_units([1e-9, 1.0, 1e9, 1e-3])),
    "years": ("y ~ .", simulate_classes(3, 2, 60, 1, offsets=2000.0)),
    "microseconds": ("y ~ .", simulate_classes(3, 2, 60, 2, units=3e13, offsets=50.0)),
    "26 classes": ("y ~ .", simulate_classes(26, 6, 30, 3, units=[1, 10, 1e3, 1e-3, 1, 1])),
    "40 columns": ("y ~ .", simulate_classes(3, 39, 60, 4)),
}


def printed_cells(summary) -> list[list[list[str]]]:
    """Return the numbers in the rows of a table, from the text and from the HTML."""
    lines = summary.as_text(10_000).splitlines()[5:-1]
    matches = [re.match(r"\s*\S.*?(?=((?:\s{2,}<?-?[\d.]+(?:e[+-]\d+)?)+)\s*$)", line) for line in lines]
    in_text = [match[1].split() for match in matches if match]
    in_html = [row[1:] for row in html_cells(summary)[0][1:]]
    return [[row for row in rows if row and row[0]] for rows in (in_text, in_html)]


def functions_section(fit) -> str:
    """Return the section of functions as one line."""
    return " ".join(fit.summary(["functions"]).as_text().split())


def printed_coefficients(fit, section: str, column: int | None = None) -> list[np.ndarray]:
    """Return printed coefficients, constant first, terms by classes; of a long table, one column."""
    found = []
    for rows in printed_cells(fit.summary(sections=[section])):
        rows = [row for row in rows if re.match(r"-?\d", row[0])]
        if column is None:
            values = np.array([[float(text) for text in row] for row in rows[: 1 + len(fit.terms)]])
        else:
            values = np.array([float(row[column]) for row in rows]).reshape(-1, 1 + len(fit.terms)).T
        found.append(values)
    assert len(found[0]) == 1 + len(fit.terms)
    assert (found[0] == found[1]).all()
    return found


def function_values(coef: np.ndarray, fit, data: pd.DataFrame) -> np.ndarray:
    return coef[0] + data[list(fit.terms)].to_numpy(dtype=float) @ coef[1:]


def assert_decides(scores: np.ndarray, exact: np.ndarray, within: float) -> None:
    """Differences of scores are right within the statement, and so is the class where they are larger."""
    assert np.abs((scores - scores[:, :1]) - (exact - exact[:, :1])).max() <= 2 * within
    first, second = -np.sort(-exact, axis=1)[:, :2].T
    clear = first - second > 2 * within
    assert (scores.argmax(axis=1) == exact.argmax(axis=1))[clear].all()
    assert clear.mean() > 0.95


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_classified_by_the_printed_functions_as_by_the_fit(name):
    formula, data = TABLES[name]
    fit = lda(formula, data)
    assert f"within 0.001, {FAR}" in functions_section(fit)
    for coef in printed_coefficients(fit, "functions"):
        scores = function_values(coef, fit, data)
        assert_decides(scores, fit.predict_log_proba().to_numpy(), 0.001)
        assert (fit.classes.to_numpy()[scores.argmax(axis=1)] == fit.predict().to_numpy()).all()


def test_functions_of_penguins_were_useless_with_one_number_of_decimals():
    """By functions rounded to hundredths, 67 of 333 rows are wrong; the fit has one wrong."""
    fit = lda("species ~ .", PENGUINS)
    columns = pd.get_dummies(PENGUINS, columns=["island", "sex"]).rename(
        columns={"island_Dream": "island[T.Dream]", "island_Torgersen": "island[T.Torgersen]"}
    )
    columns = columns.rename(columns={"sex_male": "sex[T.male]"})
    truth = PENGUINS["species"].to_numpy()

    def wrong(coef):
        return (fit.classes.to_numpy()[function_values(coef, fit, columns).argmax(axis=1)] != truth).sum()

    exact = np.vstack([fit.intercept, fit.coef])
    assert (wrong(exact), wrong(exact.round(2))) == (1, 67)
    assert [wrong(coef) for coef in printed_coefficients(fit, "functions")] == [1, 1]


@settings(max_examples=25)
@given(
    st.integers(0, 1000),
    st.lists(st.tuples(st.integers(-12, 12), st.floats(-300, 300)), min_size=1, max_size=4),
    st.integers(2, 6),
)
def test_functions_of_any_units_and_offsets_decide_as_the_fit(seed, columns, k):
    exponents, offsets = zip(*columns, strict=True)
    data = simulate_classes(k, len(columns), 12, seed, 10.0 ** np.array(exponents), np.array(offsets))
    fit = lda("y ~ .", data)
    for coef in printed_coefficients(fit, "functions"):
        scores, exact = function_values(coef, fit, data), fit.predict_log_proba().to_numpy()
        assert np.abs((scores - scores[:, :1]) - (exact - exact[:, :1])).max() <= 0.002


def test_summaries_note_insufficient_digits_and_the_hint_works():
    near, far = simulate_classes(3, 2, 60, 5, offsets=3e6), simulate_classes(3, 2, 60, 5, offsets=1e9)
    text = functions_section(lda("y ~ .", near))
    bound = float(re.search(r"determine the functions only within ([^\s:]+): use predict\(\)", text)[1])
    assert 0.001 < bound < 1
    for coef in printed_coefficients(lda("y ~ .", near), "functions"):
        fit = lda("y ~ .", near)
        scores, exact = function_values(coef, fit, near), fit.predict_log_proba().to_numpy()
        assert np.abs((scores - scores[:, :1]) - (exact - exact[:, :1])).max() < 2 * bound
    assert "do not determine the functions" in functions_section(lda("y ~ .", far))
    assert "within 0.001" in functions_section(lda("y ~ I(x0 - 1e9) + I(x1 - 1e9)", far))
    digits = re.findall(r"\d[\d.]{9,}", text)
    assert digits
    assert max(len(number.replace(".", "")) for number in digits) == 15


@pytest.mark.parametrize("name", ["iris", "penguins", "unlike units", "years"])
def test_rows_are_classified_by_the_printed_log_odds(name):
    formula, data = TABLES[name]
    fit = lda(formula, data)
    for coef in printed_coefficients(fit, "log_odds", 0):
        odds = np.column_stack([np.zeros(len(data)), function_values(coef, fit, data)])
        assert_decides(odds, fit.predict_log_proba().to_numpy(), 0.025)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_rows_are_classified_by_a_printed_logistic_regression(unit):
    data = PENGUINS.assign(body_mass_g=unit * PENGUINS["body_mass_g"])
    fit = logistic("sex ~ body_mass_g + year", data)
    for coef in printed_coefficients(fit, "log_odds", 0):
        odds = np.column_stack([np.zeros(len(data)), function_values(coef, fit, data)])
        assert_decides(odds, fit.predict_log_proba().to_numpy(), 0.001)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_rows_are_classified_by_printed_regressions_of_indicators(unit):
    data = PENGUINS.assign(body_mass_g=unit * PENGUINS["body_mass_g"])
    fit = indicator("species ~ bill_length_mm + body_mass_g + year", data)
    for coef in printed_coefficients(fit, "coefficients", 0):
        assert np.abs(function_values(coef, fit, data) - fit.fitted.to_numpy()).max() <= 1e-4


@pytest.mark.filterwarnings("ignore::discrim.errors.ConvergenceWarning")
@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_rows_lie_on_their_side_of_printed_planes(unit):
    data = TWO.assign(petal_length=unit * TWO["petal_length"])
    for fit in (hyperplane("species ~ .", data), perceptron("species ~ .", data)):
        for coef in printed_coefficients(fit, "coefficients"):
            value = function_values(coef[:, :1], fit, data)[:, 0]
            assert (np.where(value > 0, *fit.classes[::-1]) == fit.predict().to_numpy()).all()
    plane = hyperplane("species ~ .", data)
    for coef in printed_coefficients(plane, "coefficients"):
        value = function_values(coef, plane, data)
        assert (plane.predict() == data["species"]).all()
        assert np.abs(value[:, 0] - plane.decision_function()).max() <= 0.001
        assert np.abs(value[:, 1] - plane.distance()).max() <= 0.001 * plane.margin


def test_a_perceptron_of_several_classes_decides_by_its_printed_planes():
    with pytest.warns(NoSeparationWarning):
        fit = perceptron("species ~ .", IRIS)
    for coef in printed_coefficients(fit, "coefficients"):
        labels = fit.classes.to_numpy()[function_values(coef, fit, IRIS).argmax(axis=1)]
        assert (labels == fit.predict().to_numpy()).all()


def test_printed_coefficients_reproduce_canonical_scores():
    fit = lda(f"species ~ {' + '.join(BIRDS)}", PENGUINS)
    result = fit.canonical()
    cells = html_cells(result.summary())[2]
    assert cells[1][0] == "constant"
    coef = np.array([[float(text) for text in row[1:]] for row in cells[1:]])
    scores = function_values(coef, fit, PENGUINS)
    assert np.abs(scores - result.scores(PENGUINS).to_numpy()).max() <= 0.001


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_nearest_printed_mean_is_the_nearest_mean(offset):
    data = simulate_classes(4, 3, 40, 6, offsets=offset)
    fit = nearest_centroid("y ~ .", data)
    text, page = printed_cells(fit.summary(sections=["means"]))
    means = np.array([[float(x) for x in row] for row in page])
    assert [[float(x) for x in row] for row in text] == means.tolist()
    gaps = ((data[list(fit.terms)].to_numpy()[:, None] - means) ** 2).sum(axis=2)
    assert (fit.classes.to_numpy()[gaps.argmin(axis=1)] == fit.predict().to_numpy()).mean() > 0.99
