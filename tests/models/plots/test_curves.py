"""Forest plots, steps, folds, and a perceptron on its way: their numbers and their looks."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import discrim
from discrim.core.hyperplanes.perceptron import first_updates, run_perceptron
from tests.pictures import assert_looks_like

mpl.use("Agg")
IRIS = discrim.datasets.load_iris()
PENGUINS = discrim.datasets.load_penguins()
LINEAR = discrim.lda("species ~ .", IRIS)
SEXES = discrim.logistic("sex ~ bill_depth_mm + bill_length_mm + island", PENGUINS)
VALIDATED = discrim.cross_validate(LINEAR, folds=5, repeats=3, seed=1)
SETOSA = IRIS.assign(setosa=IRIS["species"] == "setosa").drop(columns="species")
RULE = discrim.perceptron("setosa ~ petal_length + petal_width", SETOSA)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


DRAWN = {
    "forest": lambda: LINEAR.plot("forest"),
    "odds_ratios": lambda: SEXES.plot("odds_ratios", level=0.9),
    "steps": lambda: discrim.stepwise("species ~ .", IRIS).plot(),
    "folds": lambda: VALIDATED.plot(),
    "differences": lambda: VALIDATED.plot("differences", other=discrim.lda("species ~ sepal_length", IRIS)),
    "updates": lambda: RULE.plot("updates"),
    "history": lambda: RULE.plot("history"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_looks(name):
    assert_looks_like(DRAWN[name](), name)


def test_plotted_ratios_equal_the_table():
    axes = SEXES.plot("odds_ratios")
    ends = [line.get_xdata() for line in axes.get_lines() if len(line.get_xdata()) == 2][1:]
    np.testing.assert_allclose(ends, SEXES.odds_ratios()[["low", "high"]].to_numpy())
    assert axes.get_xscale() == "log"
    assert "against female" in axes.get_title()


@pytest.mark.slow
def test_plotted_differences_equal_compare():
    other = discrim.qda("species ~ .", IRIS)
    axes = VALIDATED.plot("differences", other=other)
    pair = discrim.compare(LINEAR, other, folds=5, repeats=3, seed=1).pairs().iloc[0]
    mean = axes.collections[-1].get_offsets()[0, 0]
    assert mean == pytest.approx(pair["difference"], abs=1e-12)
    again = VALIDATED.plot("differences", other=discrim.cross_validate(other, folds=5, repeats=3, seed=1))
    assert again.collections[-1].get_offsets()[0, 0] == mean
    choice = discrim.stepwise("species ~ .", IRIS)
    chosen = VALIDATED.plot("differences", other=choice).collections[-1].get_offsets()[0, 0]
    anew = discrim.cross_validate(choice, folds=5, repeats=3, seed=1).by_fold["error"]
    assert chosen == pytest.approx((VALIDATED.by_fold["error"] - anew).mean(), abs=1e-12)
    with pytest.raises(discrim.errors.DataError) as caught:
        VALIDATED.plot("differences")
    assert "other=" in caught.value.hint
    with pytest.raises(discrim.errors.DataError) as caught:
        VALIDATED.plot("differences", other=discrim.cross_validate(other, folds=4, seed=1))
    assert "same folds=" in str(caught.value)
    with pytest.raises(discrim.errors.DataError) as caught:
        VALIDATED.plot("path")
    assert "kind='path'" in str(caught.value)


def test_the_stop_of_the_steps_is_the_last_line():
    found = discrim.stepwise("species ~ .", IRIS)
    axes = found.plot()
    assert axes.collections[0].get_offsets()[0].tolist() == [found.steps["wilks"].iloc[-1], 3.0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == [f"+ {term}" for term in found.selected]


@pytest.mark.parametrize("seed", [None, 3])
def test_plotted_updates_are_those_of_the_fit(seed):
    x = IRIS[["sepal_length", "petal_length"]].to_numpy()
    positive = (IRIS["species"] == "setosa").to_numpy()
    found = run_perceptron(x, positive, step=0.5, passes=1000, seed=seed)
    rows, after = first_updates(x, positive, step=0.5, seed=seed, max_updates=10**6)
    assert found.converged
    assert len(rows) == found.history[:, 0].sum()
    assert after[-1].tolist() == found.coef.tolist()
    # Each row that moves the plane is on the wrong side of the plane before it, or on it.
    signed = np.where(positive, 1.0, -1.0)[:, None] * np.column_stack([np.ones(len(x)), x])
    assert (np.einsum("ij,ij->i", signed[rows[1:]], after[:-1]) <= 0).all()
    np.testing.assert_allclose(np.diff(after, axis=0), 0.5 * signed[rows[1:]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
def test_the_pass_of_the_plane_kept_is_marked():
    fit = discrim.perceptron("sex ~ bill_depth_mm + bill_length_mm", PENGUINS)
    axes = fit.plot("history")
    (star,) = [line for line in axes.get_lines() if line.get_marker() == "*"]
    assert star.get_ydata()[0] == fit.planes["errors"].iloc[0]
    number = int(star.get_xdata()[0])
    # A run that is stopped at that pass ends with the same plane, and one stopped before it does not.
    for most, same in ((number, True), (number - 1, False)):
        shorter = discrim.perceptron("sex ~ bill_depth_mm + bill_length_mm", PENGUINS, maxiter=most)
        assert (shorter.coef == fit.coef).all(axis=None) == same


def test_loaded_perceptrons_report_the_errors_of_their_plane(tmp_path):
    RULE.save(tmp_path / "rule")
    axes = discrim.load(tmp_path / "rule").plot("history")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["kept: 0 wrong"]


@pytest.mark.slow
def test_only_the_largest_of_many_coefficients_are_drawn():
    rng = np.random.default_rng(1)
    data = IRIS[["species"]].copy()
    for i in range(30):
        data[f"x{i}"] = rng.standard_normal(150)
    axes = discrim.lda("species ~ .", data).plot("forest")
    assert "the 40 of 60 with the largest |z|" in axes.get_title()


def test_plots_refuse_unsupported_options():
    with pytest.raises(discrim.errors.NotSupportedError) as caught:
        LINEAR.plot("forest", data=IRIS)
    assert "data=" in str(caught.value)
    with pytest.raises(discrim.errors.NotSupportedError) as caught:
        discrim.perceptron("setosa ~ .", SETOSA).plot("updates")
    assert "kind='history'" in str(caught.value)


def test_new_tables_replace_the_rows_of_the_fit():
    few = IRIS.iloc[::10]
    for kind in ("posteriors",):
        axes = LINEAR.plot(kind, data=few)
        assert max(len(held.get_offsets()) for held in axes.collections) <= 5
    axes = RULE.plot("distances", data=SETOSA.iloc[::10])
    assert max(len(held.get_offsets()) for held in axes.collections) <= 10
