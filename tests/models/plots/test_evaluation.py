"""Pictures of how a fit judges rows: their numbers are those of the tables, and they look as they did."""

import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import discrim
from discrim.inference.calibration import calibration_bins
from discrim.report.plots.evaluation import ROC, CurveSource, draw_curves
from tests.pictures import assert_looks_like

# Each test draws pictures.
pytestmark = pytest.mark.slow

mpl.use("Agg")
IRIS = discrim.datasets.load_iris()
PENGUINS = discrim.datasets.load_penguins()
SEPALS = discrim.lda("species ~ sepal_length + sepal_width", IRIS)
SEXES = discrim.logistic("sex ~ bill_depth_mm + bill_length_mm", PENGUINS)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def letters(k: int, rows: int = 20) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(k), rows)
    frame = pd.DataFrame(2 * rng.normal(size=(k, 3))[y] + rng.normal(size=(len(y), 3)), columns=list("uvw"))
    return frame.assign(y=[f"class {i:02d}" for i in y])


MANY = discrim.lda("y ~ .", letters(26))


LOOKS = {"confusion_three", "roc_two", "roc_many", "calibration_three"}


@pytest.mark.parametrize(
    ("kind", "name", "fit"),
    [
        pytest.param(kind, name, fit, marks=[pytest.mark.exhaustive] * (f"{kind}_{name}" not in LOOKS))
        for kind in ("confusion", "roc", "calibration")
        for name, fit in {"two": SEXES, "three": SEPALS, "many": MANY}.items()
    ],
)
def test_looks(kind, name, fit):
    assert_looks_like(fit.plot(kind), f"{kind}_{name}")


@pytest.mark.parametrize("method", ["apparent", "loo"])
def test_cells_bear_the_counts(method):
    axes = SEPALS.plot("confusion", method=method)
    held = {text.get_position(): int(text.get_text().split("\n")[0]) for text in axes.texts}
    counts = SEPALS.confusion(method=method).to_numpy()
    assert held == {(j, i): counts[i, j] for i in range(3) for j in range(3) if counts[i, j]}


@pytest.mark.slow
@pytest.mark.parametrize(("fit", "size"), [(SEPALS, 16), (MANY, 6)])
def test_numbers_stay_in_their_cells(fit, size):
    with plt.rc_context({"font.size": size}):
        axes = fit.plot("confusion")
        axes.figure.canvas.draw()
    wide, high = np.diff(axes.transData.transform([[0, 0], [1, -1]]), axis=0)[0]
    for text in axes.texts:
        box, (x, y) = text.get_window_extent(), axes.transData.transform(text.get_position())
        assert max(x - box.x0, box.x1 - x) <= wide / 2
        assert max(y - box.y0, box.y1 - y) <= high / 2


def test_proportions_below_one_percent_are_not_shown_as_zero():
    from discrim.report.plots.evaluation import draw_confusion

    counts = np.diag([1_000] * 10) + np.eye(10, k=1, dtype=int)
    axes = draw_confusion(pd.DataFrame(counts, list("abcdefghij"), list("abcdefghij")), "Counts")
    message = {text.get_text().split("\n")[1] for text in axes.texts if text.get_text().startswith("1\n")}
    assert message <= {"0.1 %", "<1 %"}


def test_numbers_on_cells_can_be_read():
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            axes = SEPALS.plot("confusion")
            cells = np.asarray(axes.collections[0].get_array()).reshape(3, 3, 4)
            for text in axes.texts:
                j, i = text.get_position()
                apart = [
                    luminance(colour) for colour in (cells[i, j][:3], mpl.colors.to_rgb(text.get_color()))
                ]
                # The ratio that the Web Content Accessibility Guidelines ask of text.
                assert (max(apart) + 0.05) / (min(apart) + 0.05) >= 4.5


def luminance(rgb):
    rgb = np.asarray(rgb)
    return float(
        np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
    )


def test_many_classes_bear_no_zeros():
    shown = [text.get_text() for text in MANY.plot("confusion").texts]
    assert "0" not in shown
    assert len(shown) in (0, (MANY.confusion() > 0).to_numpy().sum())


def test_areas_in_the_legend_are_scikit_learns():
    new = PENGUINS.dropna().iloc[::3]
    axes = SEXES.plot("roc", data=new)
    expected = roc_auc_score(new["sex"] == "male", SEXES.decision_function(new))
    assert f"male  {expected:.3f} (" in axes.get_legend().get_texts()[0].get_text()
    assert "new rows" in axes.get_title()


def test_intervals_of_areas_in_the_legend_contain_the_estimate():
    rng = np.random.default_rng(1)
    for gap in 10.0 ** rng.uniform(-7, -1, size=10):
        low, high = 1 - gap * rng.uniform(1, 3), 1 - gap * rng.uniform(0, 1)
        areas = pd.DataFrame({"auc": [1 - gap], "low": [low], "high": [high]}, index=["a"])
        axes = draw_curves(ROC, {}, areas, CurveSource("", "lda", ""), class_positions=[0])
        shown = axes.get_legend().get_texts()[0].get_text()
        estimate, low, high = map(float, re.findall(r"\d\.\d+", shown))
        assert low <= estimate <= high
        plt.close(axes.figure)


def test_calibration_leaves_rows_out():
    axes = SEPALS.plot("calibration", method="loo")
    curve = axes.child_axes[0].get_lines()[1].get_xdata()
    p = SEPALS.leave_one_out()["setosa"].to_numpy(dtype=float)
    expected = calibration_bins(p, (IRIS["species"] == "setosa").to_numpy()).predicted
    np.testing.assert_allclose(np.asarray(curve, dtype=float), expected)


def test_errors_state_why_a_plot_is_not_available():
    with pytest.raises(discrim.errors.NotSupportedError) as caught:
        SEPALS.plot("roc", data=IRIS, method="loo")
    assert "leaves" in str(caught.value)
    with pytest.raises(discrim.errors.DataError) as caught:
        SEPALS.plot("confusion", method="leave")
    assert "method=" in str(caught.value)
    with pytest.raises(discrim.errors.DataError) as caught:
        SEPALS.plot("confusion", colors=["red", "green", "blue"])
    assert "colormap" in str(caught.value)
    with pytest.raises(discrim.errors.DataError) as caught:
        SEPALS.plot("roc", level=2)
    assert "level" in str(caught.value)
    with pytest.raises(discrim.errors.DataError) as caught:
        SEPALS.plot("roc", data=IRIS.assign(sepal_length=np.nan))
    assert "prediction" in str(caught.value)


def test_a_class_without_rows_is_named_as_such():
    axes = SEPALS.plot("roc", data=IRIS.iloc[:100])
    assert "virginica  no observations" in [text.get_text() for text in axes.get_legend().get_texts()]
    assert SEPALS.plot("confusion", data=IRIS.iloc[:100]).texts


@pytest.mark.parametrize("verb", ["perceptron", "hyperplane", "indicator"])
def test_planes_have_curves_too(verb):
    two = IRIS.iloc[:100].assign(species=lambda d: d["species"].astype(str))
    fit = getattr(discrim, verb)("species ~ petal_length + petal_width", two)
    assert "1.000" in fit.plot("roc").get_legend().get_texts()[0].get_text()
    assert "calibration" not in discrim.models.plots.plottable.available_plot_kinds(fit)


@pytest.mark.slow
def test_curves_of_named_classes_have_bands():
    named = ["class 07", "class 20"]
    axes = MANY.plot("roc", classes=named)
    assert len(axes.patches) == 2
    assert [text.get_text()[:8] for text in axes.get_legend().get_texts()] == named
    assert "2 of 26 classes" in axes.get_title()
    assert not MANY.plot("roc").patches
    calibrated = MANY.plot("calibration", classes=named).child_axes[0]
    assert calibrated.get_legend_handles_labels()[1] == named
    assert "against male" in SEXES.plot("roc", classes="female").get_title().replace("\n", " ")
    assert MANY.assess().plot("roc", classes="class 03").get_title().startswith("ROC curve of class 03")
    with pytest.raises(discrim.errors.DataError) as caught:
        MANY.plot("roc", classes="class 99")
    assert caught.value.classes == ("class 99",)


@pytest.mark.parametrize(("kind", "verb"), [("forest", discrim.lda), ("odds_ratios", discrim.logistic)])
def test_standardized_odds_equal_odds_of_standardized_columns(kind, verb):
    rows = PENGUINS.dropna()
    columns = ["bill_depth_mm", "bill_length_mm"]
    divided = rows.assign(**{name: rows[name] / rows[name].std() for name in columns})
    formula = "sex ~ bill_depth_mm + bill_length_mm"
    drawn = [
        [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2]
        for axes in (verb(formula, rows).plot(kind, standardized=True), verb(formula, divided).plot(kind))
    ]
    for ours, theirs in zip(*drawn, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    with pytest.raises(discrim.errors.DataError) as caught:
        SEXES.plot(kind, standardized="yes")
    assert "standardized=" in str(caught.value)
