"""Many rows on a plane: no class hides the others, and a rare one is seen."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from discrim.report.plots.points import (
    MAX_HOLLOW,
    draw_labels,
    draw_misclassified,
    draw_points,
    draw_strips,
    hollow_description,
)
from discrim.report.plots.style import Signs, add_legend, new_axes
from tests.pictures import render


@pytest.fixture(autouse=True)
def _figures_are_closed():
    yield
    plt.close("all")


def picture(n: int, shares: list[float]) -> np.ndarray:
    rng = np.random.default_rng(0)
    codes = rng.choice(len(shares), n, p=shares)
    x, y = rng.standard_normal((2, n))
    axes, _ = new_axes(None)
    draw_points(axes, x, y, codes, list("abc")[: len(shares)])
    axes.set_axis_off()
    return render(axes).astype(int).reshape(-1, 3)


@pytest.mark.parametrize("n", [6_000, 60_000])
def test_the_last_class_does_not_hide_the_first(n):
    colour = picture(n, [0.5, 0.5])
    colour = colour[colour.sum(axis=1) < 700]
    red, blue = colour[:, 0].mean(), colour[:, 2].mean()
    other = picture(n, [0.999, 0.001])
    other = other[other.sum(axis=1) < 700]
    # Of two classes in one place, as much blue is left as of orange; of one alone there is no orange.
    assert abs(red - blue) < 60
    assert other[:, 2].mean() - other[:, 0].mean() > 60


def test_a_rare_class_is_drawn_as_points():
    n = 50_000
    rng = np.random.default_rng(0)
    codes = np.where(np.arange(n) < 20, 1, 0)
    axes, is_new = new_axes(None)
    draw_points(axes, *rng.standard_normal((2, n)), codes, ["many", "few"])
    sizes_by_label = {c.get_label(): len(c.get_offsets()) for c in axes.collections}
    assert sizes_by_label == {"many": 0, "few": 20}
    assert len(axes.images) == 1
    names = [text.get_text() for text in add_legend(axes, is_new).get_legend().get_texts()]
    assert names == ["many", "few"]


def test_every_row_of_a_medium_table_is_a_point():
    rng = np.random.default_rng(0)
    codes = rng.choice(3, 7_000, p=[0.6, 0.39, 0.01])
    axes, _ = new_axes(None)
    draw_points(axes, *rng.standard_normal((2, 7_000)), codes, list("abc"))
    positions = np.concatenate([np.asarray(c.get_offsets()) for c in axes.collections])
    assert len(np.unique(positions, axis=0)) == 7_000
    strips, _ = new_axes(None)
    draw_strips(strips, rng.random(7_000), codes, list("abc"))
    assert [len(c.get_offsets()) for c in strips.collections] == [
        3_000,
        (codes == 1).sum(),
        (codes == 2).sum(),
    ]


def test_thinned_strips_keep_the_error_rate_and_have_a_note():
    rng = np.random.default_rng(2)
    values, wrong = rng.random(50_000), rng.random(50_000) < 0.04
    axes, _ = new_axes(None)
    draw_strips(axes, values, np.zeros(50_000, dtype=np.intp), ["a"], wrong_mask=wrong)
    right, hollow = (len(c.get_offsets()) for c in axes.collections)
    rows = right + hollow
    assert hollow / rows == pytest.approx(wrong.mean(), abs=0.012)
    assert f"{rows:,}" in axes.texts[0].get_text()


def test_hollow_points_over_shades_are_limited_per_class():
    rng = np.random.default_rng(3)
    points, codes = rng.random((60_000, 2)), rng.integers(0, 2, 60_000)
    axes, _ = new_axes(None)
    draw_misclassified(axes, points, codes, rng.random(60_000) < 0.3, Signs())
    sizes = [len(c.get_offsets()) for c in axes.collections]
    assert len(sizes) == 2
    assert all(MAX_HOLLOW / 2 < count <= MAX_HOLLOW for count in sizes)
    assert f"{MAX_HOLLOW}" in hollow_description(60_000)
    assert not any(letter.isdigit() for letter in hollow_description(100))


def test_labels_at_the_edge_stay_inside_the_axes():
    axes, _ = new_axes(None)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    draw_labels(axes, np.array([[0.5, 1.0], [0.0, 0.0]]), ["upper edge", "corner"])
    box = axes.get_window_extent()
    for text in axes.texts:
        label_box = text.get_window_extent()
        assert (label_box.min >= box.min - 1).all()
        assert (label_box.max <= box.max + 1).all()
