"""Bad input: a clear error that names the culprit, or the stated result."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from discrim import box_m, indicator, lda, logistic, perceptron, qda
from discrim.datasets import load_iris
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimError,
    DroppedColumnsWarning,
    EmptyClassWarning,
    FormulaError,
    LabelWarning,
    NotSupportedError,
    PriorError,
)

IRIS = load_iris()
FIT = lda("species ~ .", IRIS)
both = pytest.mark.parametrize("verb", [lda, qda], ids=["lda", "qda"])


def with_value(column: str, row: int, value: object) -> pd.DataFrame:
    data = IRIS.astype({column: object}) if isinstance(value, str) else IRIS.copy()
    data.loc[row, column] = value
    return data


BAD = {
    "unknown column": (lambda v: v("species ~ sepal_widht", IRIS), FormulaError, r"sepal_widht.*sepal_width"),
    "unknown response": (lambda v: v("specie ~ .", IRIS), FormulaError, r"specie.*species"),
    "response on the right": (lambda v: v("species ~ species + sepal_width", IRIS), FormulaError, "species"),
    "one class": (lambda v: v("species ~ .", IRIS.head(50)), DataError, r"one class.*setosa"),
    "empty table": (lambda v: v("species ~ .", IRIS.head(0)), DataError, "no rows"),
    "no row left": (
        lambda v: v("species ~ .", IRIS.assign(sepal_width=np.nan)),
        DataError,
        r"There are no complete rows.*sepal_width",
    ),
    "duplicate names": (
        lambda v: v("species ~ .", pd.concat([IRIS, IRIS["sepal_width"]], axis=1)),
        DataError,
        r"Duplicate.*sepal_width",
    ),
    "text among numbers": (
        lambda v: v("species ~ .", with_value("sepal_width", 17, "wide")),
        DataError,
        r"sepal_width.*'wide' at row 17",
    ),
    "infinite": (
        lambda v: v("species ~ .", with_value("petal_width", 5, np.inf)),
        DataError,
        r"petal_width.*row 5",
    ),
    "prior sums to two": (lambda v: v("species ~ .", IRIS, prior=[1, 0.5, 0.5]), PriorError, "sums to 2"),
    "prior misses a class": (
        lambda v: v("species ~ .", IRIS, prior={"setosa": 0.5, "virginica": 0.5}),
        PriorError,
        "versicolor",
    ),
    "prior of no class": (
        lambda v: v(
            "species ~ .", IRIS, prior={"setosa": 0.5, "virginica": 0.2, "versicolor": 0.2, "rosa": 0.1}
        ),
        PriorError,
        "rosa",
    ),
    "negative prior": (lambda v: v("species ~ .", IRIS, prior=[0.5, -0.5, 1]), PriorError, "versicolor"),
    "prior of the wrong length": (
        lambda v: v("species ~ .", IRIS, prior=[0.5, 0.5]),
        PriorError,
        "3 classes",
    ),
    "unknown prior": (lambda v: v("species ~ .", IRIS, prior="uniform"), PriorError, "uniform"),
    "negative weight": (
        lambda v: v("species ~ .", IRIS, weights=np.where(np.arange(150) == 9, -1, 1)),
        DataError,
        r"negative at row 9",
    ),
    "weights of the wrong length": (lambda v: v("species ~ .", IRIS, weights=[1, 2]), DataError, "150 rows"),
    "all weights zero": (lambda v: v("species ~ .", IRIS, weights=np.zeros(150)), DataError, "all zero"),
    "constant columns alone": (
        lambda v: v("species ~ one", IRIS.assign(one=1.0)),
        CollinearError,
        r"'one' is constant",
    ),
    "constant within classes": (
        lambda v: v("species ~ .", IRIS.assign(code=pd.factorize(IRIS["species"])[0])),
        CollinearError,
        r"'code' is constant",
    ),
    "exact collinearity": (
        lambda v: v("species ~ .", IRIS.assign(total=IRIS["sepal_width"] + IRIS["petal_width"])),
        CollinearError,
        r"'total'.*'sepal_width', 'petal_width'",
    ),
    "missing, refused": (
        lambda v: v("species ~ .", with_value("petal_width", 5, np.nan), na_action="raise"),
        DataError,
        r"petal_width.*row 5",
    ),
    "no predictor": (lambda v: v("species ~ 1", IRIS), DiscrimError, "predictor"),
    "unknown method": (lambda v: v("species ~ .", IRIS, method="ml"), DataError, r"method='ml'"),
    "not a table": (lambda v: v("species ~ .", 3), DataError, "not a table"),
    "X and y, of pandas": (
        lambda v: v(IRIS.drop(columns="species"), IRIS["species"]),
        DataError,
        r"a Series, not a table.*X and y see the estimators in discrim\.sklearn",
    ),
    "X and y, of NumPy": (
        lambda v: v(IRIS.drop(columns="species").to_numpy(), IRIS["species"].to_numpy()),
        DataError,
        r"not a table.*X and y see the estimators in discrim\.sklearn",
    ),
    "keys of text for classes that are numbers": (
        lambda v: v("y ~ x", {"y": [0, 0, 1, 1], "x": [1.0, 2, 4, 6]}, prior={"0": 0.5, "1": 0.5}),
        DiscrimError,
        "Use keys of the same type as the classes",
    ),
    "code": (lambda v: v("species ~ __import__('os')", IRIS), FormulaError, "__import__"),
}


@both
@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_culprit(verb, case):
    run, error, message = BAD[case]
    with pytest.raises(error, match=f"(?s){message}"):
        run(verb)


def test_every_error_is_a_value_error():
    assert issubclass(DiscrimError, ValueError)


def test_fewer_observations_than_variables_raise():
    few = IRIS.iloc[[0, 1, 60, 61, 120]]
    with pytest.raises(CollinearError) as caught:
        lda("species ~ .", few)
    assert "'sepal_length'" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        qda("species ~ .", few)
    assert "'setosa'" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        qda("species ~ .", IRIS.iloc[[*range(50), 50, 51, 52, 53, *range(100, 150)]])
    assert "'versicolor'" in str(caught.value)


def test_collinear_columns_are_dropped_on_request():
    data = IRIS.assign(total=IRIS["sepal_width"] + IRIS["petal_width"])
    with pytest.warns(DroppedColumnsWarning, match="'total'"):
        fit = lda("species ~ .", data, collinear="drop")
    assert list(fit.terms) == list(IRIS.columns[:4])
    np.testing.assert_allclose(fit.predict_log_proba(), FIT.predict_log_proba(), rtol=1e-9, atol=1e-9)
    assert "'total'" in fit.summary(["header"]).as_text()


def test_unused_levels_are_dropped_with_a_warning():
    levels = ["virginica", "none", "setosa", "versicolor"]
    data = IRIS.assign(species=pd.Categorical(IRIS["species"], categories=levels))
    with pytest.warns(DroppedColumnsWarning, match="'none'"):
        fit = lda("species ~ .", data)
    assert fit.classes.tolist() == ["virginica", "setosa", "versicolor"]


def test_class_without_complete_rows_is_dropped_with_a_warning():
    data = IRIS.copy()
    data.loc[data["species"] == "setosa", "petal_width"] = np.nan
    with pytest.warns(EmptyClassWarning, match="'setosa'"):
        fit = lda("species ~ .", data)
    assert fit.classes.tolist() == ["versicolor", "virginica"]
    np.testing.assert_allclose(fit.coef, lda("species ~ .", data.iloc[50:]).coef, rtol=1e-12)


def with_labels(labels: list[object]) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = 30 * len(labels)
    return pd.DataFrame({"x": rng.standard_normal(rows), "y": labels * 30})


@pytest.mark.parametrize("as_category", [False, True])
@pytest.mark.parametrize("verb", [lda, qda, logistic, box_m], ids=lambda verb: verb.__name__)
def test_labels_that_differ_by_case_or_blanks_are_classes_with_a_warning(verb, as_category):
    data = with_labels(["Yes", "yes ", "no", " YES", "none at  all", "None at all"])
    data = data.astype({"y": "category"}) if as_category else data
    with pytest.warns(LabelWarning, match=r"'y'.*' YES'.*'yes '.*'none at  all'") as seen:
        fit = verb("y ~ x", data)
    assert [each.filename for each in seen] == [__file__]
    if verb is not box_m:
        assert sorted(fit.classes) == [" YES", "None at all", "Yes", "no", "none at  all", "yes "]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The way out that the warning gives, and levels that the user lists.
        verb("y ~ x", data.assign(y=data["y"].str.split().str.join(" ").str.casefold()))
        verb("y ~ x", data, levels=data["y"].unique().tolist())
        verb(f"C(y, levels={data['y'].unique().tolist()}) ~ x", data)


@pytest.mark.parametrize("labels", [[0, 1], [False, True], [1.5, 2.5], ["no", "yes"], ["ab", "a b"]])
def test_other_labels_do_not_warn(labels):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lda("y ~ x", with_labels(labels))


def test_unused_label_does_not_count_as_a_similar_label():
    data = with_labels(["no", "yes"])
    data["y"] = pd.Categorical(data["y"], categories=["no", "yes", "Yes"])
    with pytest.warns(DroppedColumnsWarning) as seen:
        lda("y ~ x", data)
    assert len(seen) == 1
    assert "no rows of 'Yes'" in str(seen[0].message)


def test_new_rows():
    with pytest.raises(DataError) as caught:
        FIT.predict(IRIS.drop(columns="petal_width"))
    assert "petal_width" in str(caught.value)
    with pytest.raises(DataError) as caught:
        FIT.predict(with_value("sepal_width", 7, np.inf))
    assert caught.value.columns == ("sepal_width",)
    assert caught.value.rows == (7,)
    with pytest.raises(DataError) as caught:
        FIT.predict(IRIS.assign(sepal_width="wide"))
    assert "sepal_width" in str(caught.value)
    with pytest.raises(DataError) as caught:
        FIT.confusion(IRIS.assign(species="rosa"))
    assert caught.value.rows == (0,)


@pytest.mark.parametrize(
    "name",
    [
        "Intercept",
        "Q",
        "class",
        "sepal length",
        "a.b",
        "it's",
        'say "x"',
        "two\nlines",
        "длина",
        "宽度",
        "C(x)",
        "1",
        "~",
        "`",
    ],
)
def test_any_name_of_a_column_will_do(name):
    data = IRIS.rename(columns={"sepal_width": name})
    fit = lda("species ~ .", data)
    assert name in fit.terms
    np.testing.assert_array_equal(fit.predict_log_proba(), FIT.predict_log_proba())
    assert len(fit.summary().as_text()) > 1000
    if "`" not in name:
        alone = lda(f"species ~ `{name}`", data)
        np.testing.assert_array_equal(
            alone.predict_log_proba(), lda("species ~ sepal_width", IRIS).predict_log_proba()
        )


def test_questions_a_fit_cannot_answer():
    with pytest.raises(DataError) as caught:
        FIT.boundary("setosa", "rosa")
    assert "rosa" in str(caught.value)
    with pytest.raises(DataError) as caught:
        FIT.log_odds("rosa")
    assert "rosa" in str(caught.value)
    with pytest.raises(DataError) as caught:
        lda("species ~ .", IRIS, ncomp=3)
    assert "ncomp=3" in str(caught.value)
    with pytest.raises(DataError) as caught:
        FIT.summary(["headings"])
    assert "header" in str(caught.value)
    assert "classes" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        lda("species ~ .", IRIS, ncomp=1).leave_one_out()
    assert "ncomp" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        box_m("species ~ .", IRIS.iloc[[0, 1, *range(50, 150)]])
    assert "setosa" in str(caught.value)


def test_a_class_of_prior_zero_is_never_predicted_and_its_log_odds_are_infinite():
    fit = lda("species ~ .", IRIS, prior=[0, 0.5, 0.5])
    assert "setosa" not in set(fit.predict())
    assert (fit.predict_proba()["setosa"] == 0).all()
    assert fit.log_odds().loc[("versicolor", "constant"), "coef"] == np.inf
    assert np.isfinite(fit.log_odds("virginica").loc["versicolor"]).all(axis=None)


def test_boundary_has_equal_scores_of_two_classes():
    plane = FIT.boundary("versicolor", "virginica")
    normal, offset, midpoint = plane.normal, plane.offset, plane.midpoint
    on = midpoint.to_frame().T - normal.to_numpy() * (normal @ midpoint + offset) / (normal @ normal)
    proba = FIT.predict_log_proba(on).iloc[0]
    assert abs(proba["versicolor"] - proba["virginica"]) < 1e-9
    assert FIT.boundary("versicolor", "virginica").c == pytest.approx(normal @ midpoint)


@pytest.mark.parametrize("verb", [lda, qda, logistic, perceptron])
def test_continuous_response_raises(verb):
    data = load_iris().assign(weight=np.random.default_rng(0).normal(70, 9, 150)).drop(columns="species")
    with pytest.raises(DataError) as caught:
        verb("weight ~ .", data)
    assert "'weight'" in str(caught.value)


def test_few_fractional_numbers_are_classes():
    data = load_iris().drop(columns="species").assign(dose=np.repeat([0.5, 1.5, 2.25], 50))
    assert lda("dose ~ .", data).classes.tolist() == [0.5, 1.5, 2.25]


MPG = "21 21 22.8 21.4 18.7 18.1 14.3 24.4 22.8 19.2 17.8 16.4 17.3 15.2 10.4 10.4 14.7 32.4 30.4 33.9 15.2"
"""Miles a gallon of 21 of Henderson and Velleman's cars (1981, Biometrics 37, 391-411)."""


@pytest.mark.parametrize(
    "values",
    [
        np.array(MPG.split(), dtype=float),
        np.array(
            [110, 93, 175, 105, 245, 62, 95, 123, 180, 205, 215, 230, 66, 52, 65, 97, 150, 91, 113, 110, 110]
        ),
        np.random.default_rng(0).integers(18, 90, 200),
        np.arange(360) % 62 + 18,
        np.arange(4000) % 73 + 17,
        np.round(np.random.default_rng(0).normal(5, 1, 2000), 1),
        pd.array([*range(0, 300, 3), 3, 6, None], dtype="Int64"),
    ],
    ids=["mpg", "horsepower", "ages", "all ages", "many rows", "one decimal", "nullable"],
)
def test_numeric_labels_that_look_continuous_warn(values):
    data = pd.DataFrame({"y": values, "x": np.random.default_rng(1).normal(size=len(values))})
    with pytest.warns(LabelWarning, match="'y'"):
        fit = lda("y ~ x", data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lda("y ~ x", data, levels=fit.classes.tolist())
        lda("y ~ x", data.assign(y=data["y"].astype("category")))


@pytest.mark.parametrize(
    "values",
    [
        np.repeat(np.arange(26), 10),
        np.repeat(np.arange(100), 5),
        np.repeat(np.arange(1, 41), 3),
        np.repeat(np.arange(15) * 7, 6),
        np.repeat([0.5, 1.5, 2.25], 50),
        np.repeat(np.arange(10) / 10, 3),
        np.repeat([str(k / 7) for k in range(20)], 3),
        np.repeat(np.arange(26.0), 10),
        np.repeat(np.arange(65, 91), 3),
        np.repeat(np.arange(60) * 13 + 1001, 6),
    ],
    ids=[
        "letters",
        "hundred",
        "faces",
        "codes with gaps",
        "doses",
        "ten doses",
        "text",
        "letters as floats",
        "ASCII",
        "ids",
    ],
)
def test_integer_class_codes_do_not_warn(values):
    data = pd.DataFrame({"y": values, "x": np.random.default_rng(1).normal(size=len(values))})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lda("y ~ x", data)


@pytest.mark.parametrize("total", [1.0, 2.9, 3.0])
@pytest.mark.parametrize("covariance", [{}, {"covariance": "shrunk"}, {"covariance": "diagonal"}])
@both
@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_weights_with_a_nonpositive_divisor_raise(verb, covariance, total):
    light = np.full(150, total / 150)
    with pytest.raises(DataError) as caught:
        verb("species ~ .", IRIS, weights=light, **covariance)
    assert f"sum to {total / 3 if verb is qda else total:g}" in caught.value.message
    assert ("class 'setosa'" in caught.value.message) == (verb is qda)
    assert "frequency weights" in caught.value.hint
    share = verb("species ~ .", IRIS, weights=light, method="mle", **covariance)
    whole = verb("species ~ .", IRIS, method="mle", **covariance)
    if not covariance:
        np.testing.assert_array_equal(share.predict(), whole.predict())
    assert share.predict().notna().all()


@pytest.mark.parametrize("verb", [lda, indicator, logistic])
def test_columns_are_not_dropped_to_the_last(verb):
    data = IRIS.assign(one=1.0, two=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CollinearError) as caught:
            verb("species ~ one + two", data, collinear="drop")
        assert "'one'" in str(caught.value)
        assert "'two'" in str(caught.value)
