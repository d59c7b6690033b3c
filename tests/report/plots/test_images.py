"""Images of a page: drawn once where the night follows from the day, and short without being others."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from discrim.report.plots import points
from discrim.report.plots.points import DARK, LIGHT, draw_points, image_of
from discrim.report.plots.style import add_legend, faint, ink, new_axes, set_title

mpl.use("Agg")


def picture(shaded: bool = False) -> Any:
    axes, is_new = new_axes(None)
    rng = np.random.default_rng(0)
    draw_points(axes, *rng.normal(size=(2, 90)), np.arange(90) % 9, list("abcdefghi"))
    axes.axhline(0.0, color=faint(0.35))
    axes.axvline(0.0, color=ink())
    axes.grid()
    if shaded:
        axes.imshow(rng.random((4, 4, 4)), extent=(-1, 1, -1, 1))
    set_title(add_legend(axes, is_new), "A title so long that it does not stand in one line above such axes")
    return axes


def texts(shaded: bool = False) -> list[str]:
    image = image_of(lambda: picture(shaded))
    found = [unquote(each) for each in image[:2]]
    assert all(each.startswith("data:image/svg+xml,<svg ") for each in found)
    return [each.partition(",")[2] for each in found]


def test_the_night_is_what_would_be_drawn_in_its_colours():
    day, night = texts()
    drawn, *_ = points._drawn(picture, DARK)
    assert isinstance(drawn, str)
    assert points.COLOUR.sub("", drawn) == points.COLOUR.sub("", night) == points.COLOUR.sub("", day)
    colours = [
        np.array([[int(each[i : i + 2], 16) for i in (1, 3, 5)] for each in points.COLOUR.findall(text)])
        for text in (night, drawn)
    ]
    assert np.abs(colours[0] - colours[1]).max() <= 1
    assert LIGHT.ink in day
    assert LIGHT.ink not in night


@pytest.mark.parametrize(("shaded", "times"), [(False, 1), (True, 2)])
def test_a_picture_is_drawn_again_only_where_its_colours_are_not_known(shaded, times):
    drawn: list[Any] = []
    before = plt.get_fignums()
    image_of(lambda: drawn.append(1) or picture(shaded))
    assert len(drawn) == times
    assert plt.get_fignums() == before


@pytest.mark.parametrize("shaded", [False, True])
def test_a_short_image_has_all_that_it_refers_to_and_is_well_formed(shaded):
    for text in texts(shaded):
        root = ElementTree.fromstring(text)
        names = [each.get("id") for each in root.iter() if each.get("id")]
        referred = {a or b for a, b in re.findall(r"href='#([^']*)'|url\(#([^)]*)\)", text)}
        assert referred == set(names)
        assert len(set(names)) == len(names)
        styles = {each.get("class") for each in root.iter() if each.get("class")}
        assert all(f".{name}{{" in text for name in styles)


def test_a_short_image_has_the_numbers_of_the_long_one():
    axes = picture()
    held = points.io.BytesIO()
    axes.figure.savefig(held, format="svg")
    plt.close(axes.figure)
    long = held.getvalue().decode()
    short = points._shortened(long, (0.0, 0.0, 1.0, 1.0))
    assert len(short) < 0.7 * len(long)
    places = [
        np.array(re.findall(r"""<use [^>]*x=["']([-\d.]+)["'] y=["']([-\d.]+)["']""", text), dtype=float)
        for text in (long, short)
    ]
    assert len(places[0]) > 90
    np.testing.assert_allclose(places[0], places[1], atol=0.0501)


def test_an_image_is_the_same_whether_a_reader_saves_text_as_text():
    expected = image_of(picture)
    with mpl.rc_context({"svg.fonttype": "none"}):
        assert image_of(picture) == expected
