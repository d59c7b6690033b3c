"""Pictures: what is drawn, of ordinary and of unruly input."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from discrim import lda, qda
from discrim.datasets import load_wine
from discrim.report.grid import clean, display_width, shorten
from discrim.report.plots import columns as determinants
from discrim.report.plots import spaces as space
from discrim.report.plots.spaces import draw_biplot
from tests.report.support import (
    IRIS,
    NAMES,
    wide_fit,
)

# Each test draws pictures.
pytestmark = pytest.mark.slow

mpl.use("Agg")


# ---- pictures

MARKED = [r"$x_1$", r"$\nosuch{$", "_hidden", "100 % & #1", "a\nb", "花弁", "x" * 60]


def drawn(axes):
    """The axes, once drawn; a label taken for mathematics would raise."""
    axes.figure.canvas.draw()
    plt.close("all")
    return axes


def points(collection) -> np.ndarray:
    return np.asarray(collection.get_offsets())


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("p", [1, 3])
def test_labels_are_shown_and_not_typeset(p):
    axes = drawn(wide_fit(p, len(MARKED), MARKED.__getitem__).plot())
    texts = [text.get_text().lstrip("\u200a").replace(r"\$", "$") for text in axes.get_legend().get_texts()]
    assert texts == [shorten(clean(label), 30) for label in sorted(MARKED)]
    assert axes.get_xlabel().startswith("LD1 (")


@pytest.mark.slow
@pytest.mark.parametrize(("p", "k"), [(3, 2), (3, 40), (1, 40), (3, 100)])
def test_many_classes_have_no_legend(p, k):
    axes = drawn(wide_fit(p, k).plot())
    assert (axes.get_legend() is None) == (k > 12)
    labels = [*axes.texts, *axes.get_yticklabels()] if k > 12 else axes.get_legend().get_texts()
    assert {str(j) for j in range(k)} <= {text.get_text() for text in labels}


def test_scores_draws_the_rows_that_have_a_class_and_scores():
    scores = pd.DataFrame({"LD1": [0.0, 1, 2, np.nan], "LD2": [3.0, 4, 5, 6]}, index=list("wxyz"))
    labels = pd.Series(["a", None, "b", "b"], index=list("wxyz"), dtype="string")
    centroids = pd.DataFrame({"LD1": [0.0, 2], "LD2": [3.0, 5]}, index=["a", "b"])
    axes = drawn(space.draw_scores(scores, labels, centroids))
    first, second = (points(c)[np.isfinite(points(c)).all(axis=1)] for c in axes.collections[:2])
    assert first.tolist() == [[0, 3]]
    assert second.tolist() == [[2, 5]]
    one = drawn(space.draw_scores(scores[["LD1"]], labels, centroids[["LD1"]]))
    assert sum(p.get_path().vertices[:, 1].max() for p in one.patches) == 2
    none = drawn(space.draw_scores(scores[[]], labels, centroids[[]]))
    assert "no discriminant" in none.get_title()


def test_a_histogram_counts_each_row_once():
    two = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
    axes = drawn(lda("species ~ .", two).plot())
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["versicolor", "virginica"]
    for patch in axes.patches:
        x, y = patch.get_path().vertices.T
        (width,) = np.unique(np.diff(np.unique(x.round(9))).round(6))
        area = abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
        assert area / width == pytest.approx(50, rel=1e-5)


def test_misclassified_rows_are_hollow_among_posteriors():
    fit = qda("species ~ .", IRIS)
    axes = drawn(fit.plot("posteriors"))
    assert [label.get_text() for label in axes.get_yticklabels()] == list(fit.classes)
    confusion = fit.confusion().to_numpy()
    assert [len(points(c)) for c in axes.collections[::2]] == np.diag(confusion).tolist()
    wrong = (confusion.sum(axis=1) - np.diag(confusion)).tolist()
    assert [len(points(c)) for c in axes.collections[1::2]] == wrong
    assert sum(wrong) == 3


@pytest.mark.slow
def test_plots_use_the_given_axes():
    figure, given_axes = plt.subplots(1, 2)
    assert lda("species ~ .", IRIS).plot(ax=given_axes[0]) is given_axes[0]
    assert wide_fit(1, 100).plot(ax=given_axes[1]) is given_axes[1]
    ticks = [label.get_text() for label in drawn(given_axes[1]).get_yticklabels()]
    assert 10 < len(ticks) < 50
    assert figure.axes == list(given_axes)


@pytest.mark.slow
def test_sixty_four_classes_have_sixty_four_signs():
    axes = wide_fit(3, 64).plot()
    signs = {
        (tuple(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes()) for c in drawn(axes).collections
    }
    assert len(signs) == 64


# ---- the biplot and the log-determinants

STRUCTURE = pd.DataFrame(
    {"LD1": [0.8, -0.3, 0.0], "LD2": [0.1, 0.6, -0.2]}, index=["first", "second", "third"]
)


def few(axes: int, rows=(9, 4)):
    """Scores, labels, centroids and counts of two classes of so many rows, for a biplot."""
    labels = pd.Series(np.repeat(["a", "b"], rows))
    draws = np.random.default_rng(0).standard_normal((len(labels), axes))
    scores = pd.DataFrame(draws, columns=[f"LD{j + 1}" for j in range(axes)])
    return scores, labels, scores.groupby(labels).mean(), labels.value_counts().sort_index()


def arrows(axes) -> np.ndarray:
    """From where to where each arrow goes, (m, 2, 2); one that has no length is among them."""
    arrow_texts = [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    return np.array([[text.xyann, text.xy] for text in arrow_texts])


def boxes(axes, texts) -> np.ndarray:
    """Left, bottom, right and top of texts in the picture, in pixels."""
    axes.figure.canvas.draw()
    renderer = axes.figure.canvas.get_renderer()
    return np.array([mpl.text.Text.get_window_extent(text, renderer).extents for text in texts])


def overlaps(extents: np.ndarray) -> int:
    """Pairs of boxes that have more than a pixel in common, both ways."""
    low = np.maximum(extents[:, None, :2], extents[None, :, :2])
    high = np.minimum(extents[:, None, 2:], extents[None, :, 2:])
    return int(np.triu((high - low > 1).all(axis=2), 1).sum())


def test_circles_are_95_percent_confidence_regions_of_class_means():
    scores, labels, centroids, counts = few(2, (9, 4))
    axes = drawn(draw_biplot(scores, labels, centroids, STRUCTURE, counts))
    *circles, unit = axes.patches
    tips, correlations = arrows(axes)[:, 1], STRUCTURE.to_numpy()
    order = np.lexsort(correlations.T), np.lexsort(tips.T)
    np.testing.assert_allclose(tips[order[1]], unit.radius * correlations[order[0]], rtol=1e-9)
    for patch, mean, n in zip(circles, centroids.to_numpy(), (9, 4), strict=True):
        around = patch.get_xy() - mean
        radius = np.sqrt(stats.chi2.isf(0.05, 2) / n)
        assert np.hypot(*around.T) == pytest.approx(np.full(len(around), radius), rel=1e-9)
        assert np.unique(np.sign(around), axis=0).shape[0] >= 4
    assert axes.get_aspect() == 1


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_arrows_are_structure_correlations_on_one_scale(unit):
    scores, labels, centroids, counts = few(2)
    axes = drawn(draw_biplot(scores, labels, centroids, unit * STRUCTURE, counts))
    tails, tips = arrows(axes).swapaxes(0, 1)
    assert (tails == 0).all()
    names = [text.get_text() for text in axes.texts if text.get_text()]
    expected = STRUCTURE.loc[names].to_numpy()
    factor = tips[0, 0] / expected[0, 0]
    assert factor > 0
    assert tips == pytest.approx(factor * expected, rel=1e-12, abs=1e-12)
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
    assert ((low < tips) & (tips < high)).all()
    # They fill the picture: the longest is at least half as long as the farthest row is away.
    assert np.hypot(*tips.T).max() > 0.5 * np.hypot(*scores.to_numpy().T).max()


def test_arrows_without_length_are_drawn():
    scores, labels, centroids, counts = few(2)
    axes = drawn(draw_biplot(scores, labels, centroids, 0 * STRUCTURE, counts))
    assert {text.get_text() for text in axes.texts} >= set(STRUCTURE.index)
    assert (arrows(axes) == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("data", [IRIS, load_wine()], ids=["iris", "wine"])
def test_names_of_arrows_are_drawn_without_overlap(data):
    response = "species" if "species" in data else "cultivar"
    axes = lda(f"{response} ~ .", data).plot("biplot")
    names = [text for text in axes.texts if text.get_text()]
    assert len(names) == data.shape[1] - 1
    assert overlaps(boxes(axes, names)) == 0
    assert overlaps(np.tile(boxes(axes, names[:1]), (2, 1))) == 1
    drawn(axes)


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("k", [2, 3, 20])
def test_names_of_arrows_are_not_typeset(k):
    y = np.repeat(np.arange(k), 12)
    x = np.random.default_rng(1).standard_normal((len(y), len(MARKED))) + y[:, None] % 5
    fit = lda("y ~ .", pd.DataFrame(x, columns=MARKED).assign(y=[f"class {j}" for j in y]))
    texts = [text.get_text().lstrip("\u200a").replace(r"\$", "$") for text in drawn(fit.plot("biplot")).texts]
    texts = [text for text in texts if text and not text.startswith("class")]
    assert len(texts) == len(MARKED)
    short = [label for label in MARKED if len(label) < 15]
    assert {clean(label) for label in short} <= set(texts)
    assert max(map(display_width, texts)) <= 30


@pytest.mark.slow
def test_the_twenty_longest_arrows_are_named():
    scores, labels, centroids, counts = few(2)
    angle = np.arange(23) * 2.4
    arrow_lengths = np.random.default_rng(2).permutation(np.linspace(0.1, 0.9, 23))
    many_variables = pd.DataFrame(
        arrow_lengths[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), columns=scores.columns
    )
    many_variables.index = [f"x{j}" for j in range(23)]
    axes = drawn(draw_biplot(scores, labels, centroids, many_variables, counts))
    assert "20 longest of 23" in axes.get_title().replace("\n", " ")
    expected = {f"x{j}" for j in np.argsort(arrow_lengths)[3:]}
    assert {text.get_text() for text in axes.texts if text.get_text()} == expected


def test_arrows_of_a_single_axis_are_below_the_histograms():
    scores, labels, centroids, counts = few(1)
    axes = draw_biplot(scores, labels, centroids, STRUCTURE[["LD1"]], counts)
    assert overlaps(boxes(axes, [text for text in axes.texts if text.get_text()])) == 0
    tails, tips = arrows(axes).swapaxes(0, 1)
    names = [text.get_text() for text in axes.texts if text.get_text()]
    expected = STRUCTURE.loc[names, "LD1"].to_numpy()
    run = tips[:, 0] - tails[:, 0]
    assert run == pytest.approx(run[0] / expected[0] * expected, rel=1e-12, abs=1e-12)
    assert run[0] * expected[0] > 0
    assert (tips[:, 1] == tails[:, 1]).all()
    assert len(set(tips[:, 1])) == 3
    assert axes.get_ylim()[0] < tips[:, 1].min()
    assert tips[:, 1].max() < 0
    assert axes.get_ylim()[1] >= max(patch.get_path().vertices[:, 1].max() for patch in axes.patches)
    assert min(drawn(axes).get_yticks()) >= 0


def test_a_biplot_without_axes_is_empty():
    scores, labels, centroids, counts = few(0)
    axes = drawn(draw_biplot(scores, labels, centroids, STRUCTURE[[]], counts))
    assert "no discriminant" in axes.get_title()


def logdets(names) -> pd.DataFrame:
    """Estimates that a picture can be checked against; the raw ones would be seen off the scale."""
    m = np.arange(len(names), dtype=float)
    return pd.DataFrame({"logdet": 1e6, "debiased": m, "low": m - 2, "high": m + 1}, index=names)


def test_log_determinants_are_drawn_with_their_intervals():
    axes = drawn(determinants.draw_log_determinants(logdets(["a", "$b$", "pooled", "pooled"])))
    *lines, dashed = axes.lines
    assert [line.get_xydata().tolist() for line in lines] == [[[i - 2, i], [i + 1, i]] for i in range(4)]
    assert [points(c).tolist() for c in axes.collections] == [[[i, i]] for i in range(4)]
    # A class may be called "pooled" too: the covariance within classes is the last line.
    assert set(dashed.get_xdata()) == {3}
    assert dashed.get_linestyle() == "--"
    signs = [c.get_paths()[0].vertices.tobytes() for c in axes.collections]
    assert signs[0] == signs[1] == signs[2] != signs[3]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", r"\$b\$", "pooled", "pooled"]
    assert axes.yaxis_inverted()


@pytest.mark.parametrize("k", [3, 21, 66])
def test_lines_are_named_if_their_names_fit(k):
    figure, given_axes = plt.subplots(figsize=(4, 3))
    axes = determinants.draw_log_determinants(
        logdets([*(f"class {j}" for j in range(k)), "pooled"]), ax=given_axes
    )
    ticks = axes.get_yticklabels()
    names = [text.get_text() for text in ticks]
    positions = [text.get_position()[1] for text in ticks]
    assert names[-1] == "pooled"
    assert names[:-1] == [f"class {j}" for j in positions[:-1]]
    assert positions[-1] == k
    assert len(names) >= min(k + 1, 10)
    assert overlaps(boxes(axes, ticks)) == 0
    plt.close(figure)


@pytest.mark.slow
def test_given_axes_do_not_create_a_figure():
    figure, given_axes = plt.subplots(1, 3)
    before = plt.get_fignums()
    expected = [given_axes[0], given_axes[1], given_axes[2]]
    one, two = few(1), few(2)
    got = [
        draw_biplot(*two[:3], STRUCTURE, two[3], ax=given_axes[0]),
        draw_biplot(*one[:3], STRUCTURE[["LD1"]], one[3], ax=given_axes[1]),
        determinants.draw_log_determinants(logdets(["a", "pooled"]), ax=given_axes[2]),
    ]
    assert all(a is b for a, b in zip(got, expected, strict=True))
    assert plt.get_fignums() == before
    assert figure.axes == expected
    drawn(given_axes[0])


@pytest.mark.slow
def test_arrows_are_below_the_strips_of_many_classes():
    axes = wide_fit(1, 20).plot("biplot")
    boxes(axes, [])
    bottom, top = axes.get_ylim()
    tips = arrows(axes)[:, 1]
    # Lines of classes 0, 1, ..., 19 count from the top down.
    assert top < 0
    assert (tips[:, 1] > 19.5).all()
    assert (tips[:, 1] < bottom).all()
    assert len(drawn(axes).get_yticklabels()) == 20


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_long_names_of_arrows_stay_near_the_axes(k):
    axes = wide_fit(6, k, NAMES["sixty"]).plot("biplot")
    extents = boxes(axes, [text for text in axes.texts if text.get_text()])
    frame = axes.get_window_extent().extents
    slack = 0.05 * (frame[2] - frame[0])
    assert (extents[:, 0] > frame[0] - slack).all()
    assert (extents[:, 2] < frame[2] + slack).all()
    title = boxes(axes, [axes.title])[0]
    assert title[0] >= 0
    assert title[2] <= axes.figure.bbox.width
    drawn(axes)
