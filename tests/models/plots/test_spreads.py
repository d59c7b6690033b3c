"""Pictures of spreads: what lies where is recomputed from rows, covariances and confusions."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discrim
from discrim.errors import DataError, NotSupportedError
from discrim.inference.mean_differences import distance_quantiles
from discrim.models.plots.plottable import available_plot_kinds
from discrim.report.plots.planes import CORNERS
from discrim.report.plots.planes import draw_simplex as draw_simplex

mpl.use("Agg")
IRIS, PENGUINS = discrim.datasets.load_iris(), discrim.datasets.load_penguins()
LDA = discrim.lda("species ~ .", IRIS)
BILL = "species ~ bill_length_mm + bill_depth_mm"


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def outlines(axes) -> list[np.ndarray]:
    """Points of the outlines, those of the classes before the pooled one."""
    return [line.get_xydata() for line in axes.lines if len(line.get_xydata()) > 100]


def squared(points: np.ndarray, mean, covariance) -> np.ndarray:
    gaps = points - np.asarray(mean)
    return np.einsum("ij,ij->i", gaps, np.linalg.solve(np.asarray(covariance), gaps.T).T)


@pytest.mark.slow
def test_a_half_of_normal_rows_lies_in_the_outlines_of_scores():
    rng = np.random.default_rng(5)
    y = np.repeat(["a", "b", "c"], 3000)
    x = rng.standard_normal((9000, 3)) @ rng.standard_normal((3, 3)) + 2 * np.repeat(np.eye(3), 3000, axis=0)
    fit = discrim.lda("y ~ .", pd.DataFrame(x, columns=["u", "v", "w"]).assign(y=y))
    scores = fit.transform().to_numpy()
    for ring, label in zip(outlines(fit.plot("scores")), "abc", strict=True):
        middle, own = (ring.min(axis=0) + ring.max(axis=0)) / 2, scores[y == label]
        # The median of chi-square on two degrees of freedom is 2 ln 2.
        assert ((ring - middle) ** 2).sum(axis=1) == pytest.approx(2 * np.log(2), rel=1e-3)
        assert (np.hypot(*(own - middle).T) ** 2 < 2 * np.log(2)).mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda], ids=["lda", "qda"])
def test_ellipses_show_the_covariances_of_the_rows(verb):
    names = ["petal_width", "sepal_length"]
    *own, pooled = outlines(verb("species ~ .", IRIS).plot("ellipses", columns=names, level=0.9))
    radius = stats.chi2.ppf(0.9, 2)
    within = np.zeros((2, 2))
    for ring, (_, rows) in zip(own, IRIS.groupby("species"), strict=True):
        assert squared(ring, rows[names].mean(), rows[names].cov()) == pytest.approx(radius, rel=1e-9)
        within += 49 * rows[names].cov().to_numpy() / 147
    middle = (pooled.min(axis=0) + pooled.max(axis=0)) / 2
    assert squared(pooled, middle, within) == pytest.approx(radius, rel=1e-2)


@pytest.mark.slow
def test_a_class_without_rows_leaves_the_pooled_ellipse():
    with_two = LDA.plot("ellipses", data=IRIS[50:])
    assert len(outlines(with_two)) == 3


@pytest.mark.slow
def test_ellipses_of_robust_fits_are_robust():
    linear = discrim.lda(BILL, PENGUINS, covariance="t")
    names = list(linear.terms)
    rings = outlines(linear.plot("ellipses"))[:3]
    for ring, mean in zip(rings, linear.means.to_numpy(), strict=True):
        assert squared(ring, mean, linear.cov) == pytest.approx(stats.chi2.ppf(0.68, 2), rel=1e-9)
    quadratic = discrim.qda(BILL, PENGUINS, covariance="t")
    for ring, label in zip(outlines(quadratic.plot("ellipses"))[:3], quadratic.classes, strict=True):
        held = squared(ring, quadratic.means.loc[label], quadratic.covs[label].loc[names, names])
        assert held == pytest.approx(stats.chi2.ppf(0.68, 2), rel=1e-9)


@pytest.mark.slow
def test_ellipses_of_naive_bayes_are_parallel_to_the_axes():
    fit = discrim.naive_bayes("species ~ island + bill_length_mm + sex + bill_depth_mm", PENGUINS, laplace=1)
    axes = fit.plot("ellipses")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("bill_length_mm", "bill_depth_mm")
    for ring, label in zip(outlines(axes)[:3], fit.classes, strict=True):
        z = (ring - fit.means.loc[label].to_numpy()) / fit.sds.loc[label].to_numpy()
        assert (z**2).sum(axis=1) == pytest.approx(stats.chi2.ppf(0.68, 2), rel=1e-9)
    with pytest.raises(DataError) as caught:
        fit.plot("ellipses", columns=("island", "bill_length_mm"))
    assert "island" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        discrim.naive_bayes("species ~ island + sex", PENGUINS, laplace=1).plot("ellipses")
    assert "normal" in str(caught.value)
    assert "columns" in str(caught.value)


@pytest.mark.slow
def test_error_and_hypothesis_lie_about_the_mean_of_all_rows():
    rows = IRIS.iloc[20:140]
    fit, names = discrim.lda("species ~ .", rows), ["sepal_width", "petal_length"]
    error, hypothesis = outlines(fit.plot("he", columns=names, level=0.95))
    groups = rows.groupby("species", observed=True)[names]
    gaps = rows[names] - groups.transform("mean")
    middle = rows[names].mean()
    assert squared(error, middle, gaps.T @ gaps / (len(rows) - 3)) == pytest.approx(stats.chi2.ppf(0.68, 2))
    # By turns: the sum of squares between classes along a line is that of its one-way analysis of variance.
    critical = 4 / (117 - 4 + 2) * stats.f.isf(0.05, 4, 117 - 4 + 2)
    between = groups.transform("mean") - middle
    expected = between.T @ between / (critical * 117)
    assert squared(hypothesis, middle, expected) == pytest.approx(stats.chi2.ppf(0.68, 2))
    # Of the size of the effect, by default, it is that between over what the rows leave free.
    error, effect = outlines(fit.plot("he", columns=names))
    assert squared(error, middle, gaps.T @ gaps / (len(rows) - 3)) == pytest.approx(stats.chi2.ppf(0.68, 2))
    assert squared(effect, middle, between.T @ between / 117) == pytest.approx(stats.chi2.ppf(0.68, 2))


@pytest.mark.slow
def test_the_canonical_one_has_the_unit_circle_as_its_error():
    wines = discrim.lda("cultivar ~ .", discrim.datasets.load_wine())
    axes = wines.plot("he", axes=("LD1", "LD2"))
    error, hypothesis = outlines(axes)
    assert (error**2).sum(axis=1) == pytest.approx(stats.chi2.ppf(0.68, 2), rel=1e-9)
    # Eigenvalues of W^-1 B over Roy's critical value are the squared half axes.
    half = hypothesis.max(axis=0) ** 2 / stats.chi2.ppf(0.68, 2)
    assert half[0] / half[1] == pytest.approx(np.divide(*wines.canonical().eigenvalues), rel=1e-3)


@pytest.mark.slow
def test_he_takes_names_that_look_like_mathematics():
    odd = IRIS.rename(columns={"sepal_length": "$\\nosuch{$", "sepal_width": "_$x$"})
    axes = discrim.lda("species ~ .", odd).plot("he", columns=list(odd.columns[:2]))
    axes.figure.canvas.draw()
    assert axes.get_xlabel().replace("\\$", "$") == "$\\nosuch{$"


@pytest.mark.parametrize("kind", ["he", "structure", "scree"])
def test_plots_without_rows_refuse_new_rows(kind):
    with pytest.raises(NotSupportedError) as caught:
        LDA.plot(kind, data=IRIS)
    assert "data=" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["t", "mcd"])
def test_quantiles_of_robust_fits_are_of_robust_distances(covariance):
    fit = discrim.qda(BILL, PENGUINS[::3], covariance=covariance)
    table = fit.covariance_model.robust_distances()
    outer = fit.plot("qq")
    assert "Robust" in outer.get_title()
    for panel, label in zip(outer.child_axes, fit.classes, strict=True):
        x, y = np.asarray(panel.collections[-1].get_offsets()).T
        own = table.loc[table["class"] == label, "distance"].dropna()
        assert y == pytest.approx(np.sort(own**2), rel=1e-12)
        assert x == pytest.approx(stats.chi2.ppf((np.arange(len(y)) + 0.5) / len(y), 2), rel=1e-12)


def test_quantiles_are_of_full_covariances():
    assert "qq" not in available_plot_kinds(discrim.rda("species ~ .", IRIS, alpha=0.5, gamma=0.5))
    with pytest.raises(NotSupportedError) as caught:
        discrim.lda("species ~ .", IRIS, covariance="diagonal").plot("qq")
    assert "covariance=" in str(caught.value)


@pytest.mark.slow
def test_of_many_rows_some_ranks_have_the_quantiles_of_all():
    squared = np.random.default_rng(2).chisquare(3, 9000)
    table = distance_quantiles(squared, 3, None)
    rank = np.argsort(np.argsort(squared))[table["position"].astype(int)]
    assert len(table) == 4000
    assert table["squared"].tolist() == np.sort(squared)[rank].tolist()
    assert table["quantile"].to_numpy() == pytest.approx(stats.chi2.ppf((rank + 0.5) / 9000, 3), rel=1e-12)
    assert (rank[-2000:] == np.arange(7000, 9000)).all()
    assert rank[0] == 0
    assert np.diff(rank).max() <= 4


@pytest.mark.slow
def test_labels_of_distant_rows_do_not_overlap():
    outer = LDA.plot("qq")
    outer.figure.canvas.draw()
    named = [text for panel in outer.child_axes for text in panel.texts]
    assert named
    boxes = np.array([text.get_window_extent().extents for text in named])
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    assert not np.triu((high - low > 1).all(axis=2), 1).any()


def test_corners_of_a_simplex_are_certain_rows():
    sure = pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
    axes = draw_simplex(sure, pd.Series(["a", "b", "a"]))
    assert axes.collections[0].get_offsets().tolist() == CORNERS[[0, 2]].tolist()
    assert axes.collections[1].get_offsets().tolist() == CORNERS[[1]].tolist()
    assert axes.collections[-1].get_offsets().tolist() == CORNERS[[2]].tolist()
    assert np.hypot(*(CORNERS - CORNERS[[1, 2, 0]]).T) == pytest.approx(np.ones(3))


@pytest.mark.slow
def test_hollow_rows_of_a_simplex_are_the_errors_of_the_confusion():
    axes = LDA.plot("simplex")
    confusion = LDA.confusion().to_numpy()
    hollow = [len(c.get_offsets()) for c in axes.collections if (c.get_facecolor() == 1).all()]
    assert sum(hollow) == confusion.sum() - np.trace(confusion)
    assert f"{sum(hollow)} of 150" in axes.get_title()


@pytest.mark.slow
def test_with_one_discriminant_lines_of_means_stay_above_the_arrows():
    axes = discrim.lda("species ~ .", IRIS[50:].astype({"species": str})).plot("biplot")
    means = [line.get_ydata() for line in axes.lines if line.get_xdata()[0] == line.get_xdata()[-1]]
    assert len(means) == 2
    assert min(map(min, means)) == 0
    assert axes.get_ylim()[0] < 0
