"""Images of a page: drawn once where the night follows from the day, and short without being others."""

from __future__ import annotations

import re
from base64 import b64decode
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from discrim.report.plots import points
from discrim.report.plots.evaluation import draw_confusion
from discrim.report.plots.points import DARK, LIGHT, draw_points, draw_strips, image_of
from discrim.report.plots.style import add_legend, faint_ink, ink, new_axes, set_title

# Each test draws pictures.
pytestmark = pytest.mark.slow

mpl.use("Agg")


def picture(shaded: bool = False) -> Any:
    axes, is_new = new_axes(None)
    rng = np.random.default_rng(0)
    draw_points(axes, *rng.normal(size=(2, 90)), np.arange(90) % 9, list("abcdefghi"))
    axes.axhline(0.0, color=faint_ink(0.35))
    axes.axvline(0.0, color=ink())
    axes.grid()
    if shaded:
        axes.imshow(rng.random((4, 4, 4)), extent=(-1, 1, -1, 1))
    set_title(add_legend(axes, is_new), "A title so long that it does not stand in one line above such axes")
    return axes


def shown(text: str, night: bool = False) -> str:
    """Vectors with the colours that a browser gives their variables, by day or by night."""
    blocks = re.findall(r"#g0\{(--[^}]*)\}", text)
    values = dict(each.split(":") for each in blocks[night].split(";")) if blocks else {}
    text = re.sub(r"#g0\{--[^}]*\}@media screen[^{]*\{#g0\{[^}]*\}\}", "", text)
    return re.sub(r"var\((--\w+)\)", lambda match: values[match[1]], text)


def test_colour_variables_belong_to_an_existing_element():
    (text,) = texts()
    root = ElementTree.fromstring(text)
    ruled = set(re.findall(r"#([\w-]+)\{--", text))
    assert ruled == {root.get("id")}


@pytest.mark.parametrize("strips", [False, True])
def test_the_tooltip_of_a_point_describes_its_row(strips):
    rng = np.random.default_rng(3)
    x, y, codes = rng.normal(size=60), rng.normal(size=60), np.arange(60) % 3
    x[7] = np.nan
    tooltips = [f"row &amp; {i} #{i:06d} style='x'" for i in range(60)]

    def draw() -> Any:
        axes, is_new = new_axes(None)
        if strips:
            draw_strips(axes, x, codes, list("abc"), wrong_mask=x > 1.5)
        else:
            draw_points(axes, x, y, codes, list("abc"))
        # Some rows lie beyond the axes, and some beyond the figure.
        axes.set_xlim(-0.5, 0.5)
        return add_legend(axes, is_new)

    root = ElementTree.fromstring(image_of(draw, "g0", tooltips).light)
    uses = [use for use in root.iter() if use.tag.endswith("use") and len(use)]
    rows = [int(re.match(r"row & (\d+) ", use[0].text or "")[1]) for use in uses]
    assert 7 not in rows
    assert len(set(rows)) == len(rows) > 30
    assert all(
        (use[0].text or "").endswith(f"#{row:06d} style='x'") for use, row in zip(uses, rows, strict=True)
    )
    for side, values in (("x", x), ("y", -y))[: 1 if strips else 2]:
        seen = np.array([float(use.get(side, "nan")) for use in uses])
        slope, constant = np.polyfit(values[rows], seen, 1)
        assert slope > 0
        np.testing.assert_allclose(slope * values[rows] + constant, seen, atol=0.08)
    assert "<title>" not in image_of(draw, "g0").light + image_of(draw, "g0", tooltips[:-1]).light


def texts(shaded: bool = False) -> list[str]:
    image = image_of(lambda: picture(shaded))
    svg_texts = [each for each in image[:2] if each]
    assert all(each.startswith("<svg ") for each in svg_texts)
    return svg_texts


@pytest.mark.slow
def test_the_dark_image_equals_a_drawing_in_dark_colours():
    (text,) = texts()
    assert not points.COLOUR.search(re.sub(r"<style.*?</style>", "", text))
    day, night = shown(text), shown(text, night=True)
    drawn, area, _ = points._draw_in_colours(picture, DARK)
    assert isinstance(drawn, str)
    drawn = points._shorten_svg(drawn, area, "g0")
    styles = [
        [rules[name] for name in re.findall("class='([^']*)'", each)]
        for each in (night, drawn)
        for rules in [dict(re.findall(r"\.(\w+)\{([^}]*)\}", each))]
    ]
    assert [points.COLOUR.sub("", style) for style in styles[0]] == [
        points.COLOUR.sub("", style) for style in styles[1]
    ]
    colours = [
        np.array(
            [[int(each[i : i + 2], 16) for i in (1, 3, 5)] for each in points.COLOUR.findall(" ".join(style))]
        )
        for style in styles
    ]
    assert np.abs(colours[0] - colours[1]).max() <= 1
    assert LIGHT.ink in day
    assert LIGHT.ink not in night


def test_unknown_colours_are_drawn_again_and_stored_once():
    def draw(colours: dict[str, str]) -> Any:
        axes, _ = new_axes(None)
        axes.text(0.5, 0.5, "12", color=colours[ink()])
        axes.axhline(0.0, color="white")
        return axes

    light, dark, *_ = image_of(lambda: draw({LIGHT.ink: "#123456", DARK.ink: "#654321"}))
    assert not dark
    day, night = (shown(light, by_night) for by_night in (False, True))
    assert "fill:#123456" in day
    assert "fill:#654321" not in day
    assert "fill:#654321" in night
    assert "fill:#123456" not in night
    # The paper was white, and is not: what else was white still is.
    assert f"fill:{DARK.paper}" in night
    assert "stroke:#ffffff" in night


def test_a_confusion_matrix_is_drawn_once_for_both_modes():
    counts = pd.DataFrame([[50, 0, 0], [1, 49, 3], [9, 9, 9]], list("abc"), list("abc"))
    svg_sizes: list[Any] = []
    image = image_of(lambda: svg_sizes.append(1) or draw_confusion(counts, "Counts"))
    assert len(svg_sizes) == 1
    picture, area, _ = points._draw_in_colours(lambda: draw_confusion(counts, "Counts"), DARK)
    assert isinstance(picture, str)
    rows = []
    for text in (shown(image.light, night=True), points._shorten_svg(picture, area, "g0")):
        rules = dict(re.findall(r"\.(\w+)\{([^}]*)\}", text))
        used = " ".join(
            rules[name] for name in re.findall("class='([^']*)'", text) if "stroke-width:0.5" in rules[name]
        )
        rows.append([[int(each[i : i + 2], 16) for i in (1, 3, 5)] for each in points.COLOUR.findall(used)])
    assert len(rows[0]) >= 18
    np.testing.assert_allclose(*rows, atol=2)


def test_bitmaps_with_other_dark_colours_are_stored_twice():
    def draw() -> Any:
        axes, _ = new_axes(None)
        axes.imshow(np.full((4, 4, 3), 0.5 if ink() == LIGHT.ink else 0.25))
        return axes

    images = image_of(draw)
    names = [set(re.findall(r" id='([^']*)'", each)) for each in images[:2]]
    assert all(names)
    assert not names[0] & names[1]


def test_images_in_class_colours_are_drawn_once():
    drawings: list[Any] = []

    def draw(share: float) -> Any:
        axes, _ = new_axes(None)
        drawings.append(1)
        shades = np.zeros((4, 4, 4))
        shades[..., 2], shades[..., 3] = 0xB2 / 255, 0.2
        shades[..., 1] = share * 0x72 / 255
        axes.imshow(shades)
        return axes

    assert not image_of(lambda: draw(1.0)).dark
    assert len(drawings) == 1
    image_of(lambda: draw(0.5))
    assert len(drawings) == 3


def test_bitmaps_with_ink_are_duplicated_for_dark_mode():
    drawings: list[Any] = []

    def draw() -> Any:
        axes, _ = new_axes(None)
        drawings.append(1)
        axes.imshow(np.dstack([np.full((4, 4, 3), [int(ink()[i : i + 2], 16) / 255 for i in (1, 3, 5)]),
                               np.ones((4, 4))]))  # fmt: skip
        return axes

    image = image_of(draw)
    assert len(drawings) == 1
    assert not image.dark
    groups = re.findall(r"<g class='g0(day|night)'><image href='data:image/png;base64,([^']*)'", image.light)
    expected = {"day": LIGHT.ink, "night": DARK.ink}
    assert [time for time, _ in groups] == [*expected]
    for time, text in groups:
        cells = Image.open(BytesIO(b64decode(text))).convert("RGB").getcolors()
        assert {f"#{bytes(colour).hex()}" for _, colour in cells} == {expected[time]}
    assert ".g0night{display:none}" in image.light.partition("@media")[0]


@pytest.mark.parametrize(("shaded", "times"), [(False, 1), (True, 2)])
def test_a_picture_is_drawn_again_only_for_unknown_colours(shaded, times):
    drawings: list[Any] = []
    before = plt.get_fignums()
    image_of(lambda: drawings.append(1) or picture(shaded))
    assert len(drawings) == times
    assert plt.get_fignums() == before


@pytest.mark.parametrize("shaded", [False, True])
def test_a_shortened_image_is_complete_and_well_formed(shaded):
    for text in texts(shaded):
        root = ElementTree.fromstring(text)
        names = [each.get("id") for each in root.iter() if each.get("id")]
        referred = {a or b for a, b in re.findall(r"href='#([^']*)'|url\(#([^)]*)\)", text)}
        assert referred | {"g0"} == set(names)
        assert len(set(names)) == len(names)
        styles = {each.get("class") for each in root.iter() if each.get("class")}
        assert all(f".{name}{{" in text for name in styles)


def test_a_shortened_image_has_the_numbers_of_the_original():
    axes = picture()
    buffer = points.io.BytesIO()
    axes.figure.savefig(buffer, format="svg")
    plt.close(axes.figure)
    long = buffer.getvalue().decode()
    short = points._shorten_svg(long, (0.0, 0.0, 1.0, 1.0), "g0")
    assert len(short) < 0.7 * len(long)
    drawn_positions = [
        np.array(re.findall(r"""<use [^>]*x=["']([-\d.]+)["'] y=["']([-\d.]+)["']""", text), dtype=float)
        for text in (long, short)
    ]
    assert len(drawn_positions[0]) > 90
    np.testing.assert_allclose(drawn_positions[0], drawn_positions[1], atol=0.0501)


def test_line_caps_and_joins_are_those_of_matplotlib():
    axes = picture()
    buffer = points.io.BytesIO()
    axes.figure.savefig(buffer, format="svg")
    plt.close(axes.figure)
    # The rule is of each shape alone: one that a whole picture had would come to shapes through their uses.
    rule = re.search(r"<style[^>]*>(\*\{.*?\})", buffer.getvalue().decode())
    (text,) = texts()
    assert rule
    assert f">{rule[1].replace(': ', ':')}" in text.replace(": ", ":")


def test_an_image_does_not_depend_on_the_font_setting_of_svg():
    expected = image_of(picture)
    with mpl.rc_context({"svg.fonttype": "none"}):
        assert image_of(picture) == expected


def test_cached_ticks_give_the_extents_of_matplotlib():
    axes = picture()
    boxes = []
    # Ticks are found anew where the axes have changed.
    for limit in (3.0, 5000.0):
        axes.set_ylim(0.0, limit)
        boxes += [axes.get_tightbbox().get_points(), mpl.axes.Axes.get_tightbbox(axes).get_points()]
    assert not any("_update_ticks" in vars(side) for side in (axes.xaxis, axes.yaxis))
    plt.close(axes.figure)
    np.testing.assert_array_equal(boxes[0], boxes[1])
    np.testing.assert_array_equal(boxes[2], boxes[3])
    assert (boxes[0] != boxes[2]).any()
