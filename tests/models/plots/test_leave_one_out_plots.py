"""Pictures that judge a fit: by default on rows left out, with curves of several fits told apart."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, roc_curve

import discrim
from discrim.models.evaluation.assessment import evaluation_methods, has_fast_leave_one_out
from discrim.penalty import Lasso

# Each test draws several pictures.
pytestmark = pytest.mark.slow

mpl.use("Agg")
IRIS = discrim.datasets.load_iris()
TWO = IRIS[IRIS["species"] != "setosa"].astype({"species": str}).reset_index(drop=True)
SEPALS = ["sepal_length", "sepal_width"]
FORMULA = "species ~ sepal_length + sepal_width"
FIT = discrim.lda(FORMULA, TWO)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def log_odds_without_each_row(table: pd.DataFrame, columns: list[str], label: str) -> np.ndarray:
    """Linear log odds of a class under equal priors, each from a pooled covariance without the row."""
    x, own = table[columns].to_numpy(), (table["species"] == label).to_numpy()
    out = np.empty(len(x))
    for i in range(len(x)):
        kept = np.arange(len(x)) != i
        means = [x[kept & (own == side)].mean(axis=0) for side in (False, True)]
        residuals = [x[kept & (own == side)] - means[side] for side in (False, True)]
        within = sum(each.T @ each for each in residuals) / (kept.sum() - 2)
        normal = np.linalg.solve(within, means[1] - means[0])
        out[i] = normal @ (x[i] - (means[0] + means[1]) / 2)
    return out


def test_default_roc_plot_is_leave_one_out():
    fit = discrim.lda(FORMULA, TWO, prior="equal")
    odds = log_odds_without_each_row(TWO, SEPALS, "virginica")
    expected = np.column_stack(roc_curve(TWO["species"] == "virginica", odds, drop_intermediate=False)[:2])
    axes = fit.plot("roc")
    drawn = np.column_stack(axes.lines[1].get_data())
    corners = {tuple(point) for point in expected.round(9)}
    assert {tuple(point) for point in drawn.round(9)} <= corners
    assert np.trapezoid(drawn[:, 1], drawn[:, 0]) == pytest.approx(
        np.trapezoid(expected[:, 1], expected[:, 0])
    )
    apparent = np.column_stack(fit.plot("roc", method="apparent").lines[1].get_data())
    assert not {tuple(point) for point in apparent.round(9)} <= corners
    assert axes.get_title().endswith("leave-one-out")


def test_default_confusion_plot_is_leave_one_out():
    fit = discrim.lda(FORMULA, TWO, prior="equal")
    predicted = np.where(log_odds_without_each_row(TWO, SEPALS, "virginica") > 0, "virginica", "versicolor")
    expected = confusion_matrix(TWO["species"], predicted, labels=list(fit.classes))
    assert (expected != fit.confusion().to_numpy()).any()
    axes = fit.plot("confusion")
    drawn = {text.get_position(): int(text.get_text().split("\n")[0]) for text in axes.texts}
    assert drawn == {(j, i): expected[i, j] for i in range(2) for j in range(2) if expected[i, j]}


def test_slow_leave_one_out_is_replaced_by_folds():
    fit = discrim.logistic(FORMULA, TWO)
    assert not has_fast_leave_one_out(fit._fit)
    axes = fit.plot("confusion")
    drawn = {text.get_position(): int(text.get_text().split("\n")[0]) for text in axes.texts}
    counts = fit.confusion("cv", seed=0).to_numpy()
    assert drawn == {(j, i): counts[i, j] for i in range(2) for j in range(2) if counts[i, j]}
    assert "10-fold cross-validation" in axes.get_title()


@pytest.mark.slow
def test_folds_fix_a_chosen_penalty_unless_requested():
    chosen = discrim.logistic(FORMULA, TWO, penalty=Lasso(folds=3, n_strengths=5, seed=1))
    held = discrim.logistic(FORMULA, TWO, penalty=Lasso(chosen.penalty.strength))
    default, expected, again = (
        np.column_stack(axes.lines[1].get_data())
        for axes in (chosen.plot("roc"), held.plot("roc", method="cv"), chosen.plot("roc", method="cv"))
    )
    np.testing.assert_allclose(default, expected)
    assert again.shape != expected.shape or not np.allclose(again, expected)
    titles = [chosen.plot("roc", method=method).get_title() for method in (None, "cv")]
    assert ["strength fixed" in title.replace("\n", " ") for title in titles] == [True, False]


def test_scores_of_folds_are_computed_once_for_all_pictures(monkeypatch):
    fit = discrim.logistic(FORMULA, TWO)
    fit.plot("confusion")

    def refit(*_, **__):
        raise AssertionError("a second picture fitted the folds again")

    monkeypatch.setattr("discrim.models.evaluation.validation.distributed_fold_scores", refit)
    for kind in ("roc", "calibration"):
        fit.plot(kind)


def test_folds_count_the_only_row_of_a_class_as_an_error():
    rare = pd.concat([TWO, TWO.iloc[:1].assign(species="rare", sepal_width=9.0)], ignore_index=True)
    with pytest.warns(discrim.errors.NoSeparationWarning):
        fit = discrim.perceptron(FORMULA, rare, maxiter=5)
    axes = fit.plot("confusion")
    assert "10-fold cross-validation" in axes.get_title()
    drawn = {text.get_position(): int(text.get_text().split("\n")[0]) for text in axes.texts}
    row = list(fit.classes).index("rare")
    assert sum(count for (_, i), count in drawn.items() if i == row) == 1
    assert (row, row) not in drawn


def test_rows_are_left_out_one_by_one_if_a_fold_has_no_rule():
    table = pd.DataFrame({"x": np.arange(60.0), "y": np.repeat(["a", "b"], 30)})
    # Without this row a threshold separates the classes, and the likelihood has no maximum.
    table.loc[40, "y"] = "a"
    fit = discrim.logistic("y ~ x", table)
    assert evaluation_methods(fit._fit)[0] == "cv"
    with pytest.warns(discrim.errors.MissingPredictionWarning):
        axes = fit.plot("confusion")
    assert "leave-one-out" in axes.get_title()


@pytest.mark.parametrize(
    ("kind", "options", "title"),
    [
        ("calibration", {}, "leave-one-out"),
        ("roc", {"method": "cv"}, "10-fold cross-validation"),
        ("confusion", {"method": "apparent"}, "resubstitution"),
        ("calibration", {"data": TWO.iloc[::2]}, "new rows"),
    ],
)
def test_titles_state_the_evaluation_method(kind, options, title):
    assert title in FIT.plot(kind, **options).get_title()


def test_titles_state_fixed_choices():
    fit = discrim.knn(FORMULA, TWO)
    assert "k fixed" in fit.plot("roc").get_title().replace("\n", " ")
    assert "fixed" not in fit.plot("roc", method="cv").get_title()
    assert "fixed" not in discrim.knn(FORMULA, TWO, k=5).plot("roc").get_title()


def test_columns_that_rows_chose_are_chosen_again_in_each_fold():
    chosen = discrim.stepwise("species ~ .", TWO)
    title = chosen.fit.plot("confusion").get_title()
    assert "10-fold cross-validation" in title
    errors = chosen.error_rates(methods=["cv"], seed=0)["wrong"].iloc[0]
    assert f"\n{errors:.0f} of 100 misclassified" in title


def legend_names(axes):
    return [text.get_text().split("  ")[0] for text in axes.get_legend().get_texts()]


def test_curves_of_several_fits_on_the_same_axes_have_different_names_and_looks():
    _, ax = plt.subplots()
    for verb in (discrim.lda, discrim.qda, discrim.knn, discrim.lda):
        verb(FORMULA, TWO).plot("roc", ax=ax)
    names = legend_names(ax)
    assert names == ["lda", "qda", "knn, k fixed", "lda (2)"]
    looks = [(line.get_color(), line.get_linestyle()) for line in ax.lines[1:]]
    assert len({colour for colour, _ in looks}) == len({style for _, style in looks}) == 4
    assert "leave-one-out" in ax.get_title()


def test_legends_state_different_evaluation_methods():
    _, ax = plt.subplots()
    FIT.plot("roc", ax=ax)
    FIT.plot("roc", ax=ax, method="apparent")
    assert legend_names(ax) == ["lda, leave-one-out", "lda, resubstitution"]
    assert "leave-one-out" not in ax.get_title()


def test_curves_of_several_classes_have_the_name_of_their_fit_too():
    _, ax = plt.subplots()
    discrim.lda(FORMULA, IRIS).plot("roc", ax=ax, label="linear")
    discrim.qda(FORMULA, IRIS).assess().plot("roc", ax=ax)
    names = legend_names(ax)
    assert names == [
        f"{fit}, {label}" for fit in ("linear", "qda") for label in discrim.lda(FORMULA, IRIS).classes
    ]


def test_a_label_names_the_curve_of_one_class():
    axes = FIT.plot("roc", label="sepals")
    assert legend_names(axes) == ["sepals"]
    with pytest.raises(discrim.errors.DataError) as caught:
        FIT.plot("roc", label=3)
    assert "label=" in str(caught.value)
    with pytest.raises(discrim.errors.NotSupportedError) as caught:
        FIT.plot("scores", label="sepals")
    assert "label=" in str(caught.value)


def test_cleared_axes_begin_again():
    _, ax = plt.subplots()
    discrim.lda(FORMULA, TWO).plot("roc", ax=ax)
    ax.clear()
    discrim.qda(FORMULA, TWO).plot("roc", ax=ax)
    assert legend_names(ax) == ["virginica"]


@pytest.mark.parametrize("verb", [discrim.lda, discrim.logistic])
def test_reports_and_plots_use_the_same_evaluation_method(verb):
    from discrim.models.report.report import evaluation_method

    fit = verb(FORMULA, TWO)
    assert evaluation_method(fit) == evaluation_methods(fit._fit)[0]
