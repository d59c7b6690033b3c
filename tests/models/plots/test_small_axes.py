"""Pictures on small axes that are given: nothing outside, nothing over another, no silent omissions."""

import re
import warnings
from functools import cache

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

import discrim
from discrim.report.plots.style import POINT_OPACITY, Signs
from discrim.subspace import OrthogonalPLS
from tests.pictures import text_faults

# Each test draws several pictures.
pytestmark = pytest.mark.slow

mpl.use("Agg")
SMALL, LARGE = (3.35, 2.8), (8, 6)


def table(n_classes: int) -> pd.DataFrame:
    rng = np.random.default_rng(n_classes)
    codes = np.repeat(np.arange(n_classes), 30)
    x = 1.6 * rng.normal(size=(n_classes, 4))[codes] + rng.normal(size=(len(codes), 4))
    names = [f"variety {chr(97 + k) * 3}" for k in range(n_classes)]
    columns = ["petal_length", "petal_width", "sepal_length", "sepal_width"]
    return pd.DataFrame(x, columns=columns).assign(y=np.array(names)[codes])


FITS = {k: discrim.lda("y ~ .", table(k)) for k in (2, 3, 10, 26)}
WINE = discrim.datasets.load_wine()
SETOSA = discrim.datasets.load_iris().iloc[:100].astype({"species": str})
OTHERS = {
    "s_plot": lambda: discrim.pls(
        "cultivar ~ .", WINE[WINE["cultivar"] != "grignolino"], algorithm=OrthogonalPLS(2)
    ),
    "updates": lambda: discrim.perceptron("species ~ sepal_length + sepal_width", SETOSA),
}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def faults_on_given_axes(fit, kind, size):
    """Return the axes, and the faults of the texts and warnings; a small share of the figure is no fault."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, ax = plt.subplots(figsize=size, layout="constrained")
        faults = text_faults(fit.plot(kind, ax=ax))
    faults = [each for each in faults if "axes have" not in each]
    return ax, faults + [str(each.message) for each in caught]


@cache
def draw(n_classes, kind, size):
    """Draw a plot of one of the fits once for all tests."""
    return faults_on_given_axes(FITS[n_classes], kind, size)


SAMPLE = {("roc", 10), ("forest", 10), ("confusion", 26), ("scores", 10), ("structure", 3), ("scree", 2)}
"""Kinds of plots and numbers of classes that are not left to the exhaustive tests."""


@pytest.mark.parametrize(
    ("kind", "n_classes"),
    [
        pytest.param(kind, n_classes, marks=[pytest.mark.exhaustive] * ((kind, n_classes) not in SAMPLE))
        for kind in ("roc", "forest", "structure", "scree", "scores", "confusion")
        for n_classes in FITS
        # Twenty-five classes by four terms are more than the lines of a forest that are drawn.
        if (kind, n_classes) != ("forest", 26)
    ],
)
def test_texts_on_small_existing_axes_do_not_overlap(kind, n_classes):
    assert not draw(n_classes, kind, SMALL)[1]


@pytest.mark.parametrize(("kind", "size"), [("s_plot", SMALL), ("updates", LARGE)])
def test_texts_of_other_plots_on_existing_axes_do_not_overlap(kind, size):
    assert not faults_on_given_axes(OTHERS[kind](), kind, size)[1]


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_names_in_an_s_plot_do_not_lie_on_points(size):
    _, ax = plt.subplots(figsize=size, layout="constrained")
    OTHERS["s_plot"]().plot("s_plot", ax=ax)
    ax.figure.canvas.draw()
    points = ax.transData.transform(ax.collections[0].get_offsets())
    assert len(ax.texts) >= 3
    assert f"({len(ax.texts)} of {len(points)} columns named)" in ax.get_title()
    assert not any(text.get_window_extent().count_contains(points) for text in ax.texts)


def test_a_forest_of_ten_classes_names_every_term():
    written = [text.get_text() for text in draw(10, "forest", SMALL)[0].get_yticklabels()]
    assert written == list(FITS[10].terms)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_names_that_have_no_room_are_counted(size):
    ax = draw(26, "confusion", size)[0]
    written = [text.get_text() for text in ax.get_yticklabels() if text.get_text()]
    notes = [text.get_text() for text in ax.texts if "named" in text.get_text()]
    expected = [] if len(written) == 26 else [f"{len(written)} of 26 named"]
    assert notes == expected
    columns = [text.get_text() for text in ax.get_xticklabels() if text.get_text()]
    assert (f"({len(columns)} of 26 named)" in ax.get_xlabel().replace("\n", " ")) == (len(columns) < 26)


def test_a_legend_without_room_counts_the_rest():
    ax = draw(10, "roc", SMALL)[0]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    more = re.fullmatch(r"and (\d+) more", names[-1])
    assert more is not None
    assert len(names) - 1 + int(more[1]) == 10


def contrast(one, other):
    codes = np.array([to_rgb(one), to_rgb(other)])
    linear = np.where(codes <= 0.04045, codes / 12.92, ((codes + 0.055) / 1.055) ** 2.4)
    light = linear @ [0.2126, 0.7152, 0.0722]
    return (light.max() + 0.05) / (light.min() + 0.05)


@pytest.mark.parametrize("look", ["default", "dark_background"])
def test_outlines_are_seen_on_the_points_of_their_class(look):
    with plt.style.context(look):
        paper = np.array(to_rgb(plt.rcParams["axes.facecolor"]))
        signs = Signs()
        for k in range(20):
            points = POINT_OPACITY * np.array(to_rgb(signs.colour(k))) + (1 - POINT_OPACITY) * paper
            # What the Web Content Accessibility Guidelines ask of graphical objects.
            assert contrast(signs.outline(k), points) >= 3.0


def test_outlines_of_scores_have_the_colour_that_is_seen():
    axes = FITS[3].plot("scores")
    drawn = [line.get_color() for line in axes.lines if len(line.get_xdata()) > 100]
    assert drawn == [Signs().outline(k) for k in range(3)]


@pytest.mark.parametrize("n_classes", [2, 10])
def test_texts_above_bars_lie_within_the_axes_and_not_below_the_legend(n_classes):
    _, ax = plt.subplots(figsize=SMALL)
    FITS[n_classes].plot("scree", ax=ax)
    ax.figure.canvas.draw()
    frame, legend = ax.get_window_extent(), ax.get_legend().get_window_extent()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == min(n_classes - 1, 4)
    assert max(box.y1 for box in boxes) < frame.y1
    assert not legend.count_overlaps(boxes)


@pytest.mark.filterwarnings("error")
def test_curves_of_two_fits_of_many_classes_leave_small_axes_their_room():
    _, ax = plt.subplots(figsize=SMALL, layout="constrained")
    FITS[10].plot("roc", ax=ax)
    discrim.qda("y ~ .", table(10)).plot("roc", ax=ax)
    ax.figure.canvas.draw()
    assert ax.get_window_extent().height > 0.3 * ax.figure.bbox.height
