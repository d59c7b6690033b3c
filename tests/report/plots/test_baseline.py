"""What is compared with kept pictures notices what a person would, and not what a font changes."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from discrim.report.plots.style import new_axes
from tests.pictures import MAX_PIXEL_DIFFERENCE, picture_difference, render

mpl.use("Agg")


def picture(colour: str = "#0072B2", size: float = 10.0, legend: bool = True, rows: int = 80) -> np.ndarray:
    axes, _ = new_axes(None)
    x, y = np.random.default_rng(1).standard_normal((2, 80))
    axes.scatter(x[:rows], y[:rows], color=colour, label="a")
    axes.scatter(x + 3, y, color="#D55E00", label="b")
    axes.set_title("Two classes", fontsize=1.2 * size)
    axes.set_xlabel("one", fontsize=size)
    if legend:
        axes.legend()
    return render(axes)


def test_a_font_a_little_larger_is_the_same_picture():
    assert picture_difference(picture(), picture(size=10.5)) <= MAX_PIXEL_DIFFERENCE


@pytest.mark.parametrize("change", [{"colour": "#009E73"}, {"legend": False}, {"rows": 70}])
def test_different_pictures_are_distinguished(change):
    assert picture_difference(picture(), picture(**change)) > MAX_PIXEL_DIFFERENCE


def test_figures_are_closed_and_sizes_compared():
    others = plt.get_fignums()
    assert picture_difference(picture(), picture()[:-20]) == 255.0
    assert plt.get_fignums() == others
