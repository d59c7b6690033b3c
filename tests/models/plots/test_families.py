"""Pictures of single families, as they were when they were looked at."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

import discrim
from tests.pictures import assert_looks_like

mpl.use("Agg")
IRIS, PENGUINS, WINE = (getattr(discrim.datasets, f"load_{name}")() for name in ("iris", "penguins", "wine"))


def islands():
    return discrim.naive_bayes("species ~ bill_depth_mm + island", data=PENGUINS)


def law():
    normal = {"low": stats.norm(0, 1), "high": stats.norm(2.5, 1.5)}
    return discrim.bayes({"low": 0.6, "high": 0.4}, normal)


PICTURES = {
    "centroids": lambda: discrim.shrunken_centroids("cultivar ~ .", WINE, threshold=3.0).plot("centroids"),
    "densities": lambda: law().plot("densities"),
    "density": lambda: islands().plot("density"),
    "table": lambda: islands().plot("table"),
    "distances": lambda: discrim.lda("species ~ .", IRIS, covariance="t").plot("distances"),
    "ranking": lambda: discrim.lda("species ~ .", IRIS, covariance="correlation").plot("ranking"),
    "fitted": lambda: discrim.indicator("species ~ petal_length", IRIS).plot("fitted"),
    "log_determinants": lambda: discrim.qda("species ~ .", IRIS).plot("log_determinants"),
    "path": lambda: discrim.knn("cultivar ~ .", WINE).plot("path"),
    "posteriors": lambda: discrim.lda("species ~ .", IRIS).plot("posteriors"),
}


# Their numbers have tests of their own.
SLOW = {"path", "posteriors", "log_determinants", "fitted"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in PICTURES]
)
def test_pictures_equal_their_references(name):
    try:
        assert_looks_like(PICTURES[name](), name)
    finally:
        plt.close("all")


def test_bars_of_a_ranking_have_a_scale():
    fit = discrim.lda("species ~ .", IRIS, covariance="correlation")
    axes = fit.plot("ranking")
    scores = fit.ranking().iloc[:, -3:].to_numpy()
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], scores.T.ravel(), rtol=1e-12)
    (scale,) = (line for line in axes.lines if line.get_marker() == "|")
    length = np.ptp(scale.get_xdata())
    assert axes.texts[0].get_text() == f"{length:g}"
    assert np.abs(scores).max() / 2.5 <= length <= np.abs(scores).max()
    plt.close("all")


def test_marks_below_densities_are_the_rows():
    axes = discrim.naive_bayes("species ~ .", IRIS).plot("density", columns="petal_length")
    rows = IRIS.groupby("species", observed=True)["petal_length"]
    for marks, (_, own) in zip(axes.collections, rows, strict=True):
        ends = np.array([segment[:, 0] for segment in marks.get_segments()])
        assert ends[:, 0].tolist() == ends[:, 1].tolist() == sorted(own)
        assert np.max([segment[:, 1] for segment in marks.get_segments()]) < 0
    assert min(axes.get_yticks()) == 0
    plt.close("all")
