"""Pictures against those that were looked at and kept, within what fonts and versions of matplotlib change.

`text_faults` measures what is written in a picture: what is clipped, and what lies on something else.

``WRITE_PICTURES=1 python -m pytest tests/models/plots -k NAME`` writes those that are asked for; look at
each before it is committed.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import uniform_filter

from tests.support import before

KEPT = Path(__file__).parent / "report" / "plots" / "baseline"
DRAWN_BY = (3, 11)
"""The version of matplotlib that drew those that are kept: earlier ones place ticks and titles otherwise."""

DPI = 60
BLUR = 15
"""Pixels over which a picture is averaged: names may be set a little wider, and move the axes by as much."""

MOST = 22.0
"""Of 255, by which a pixel may differ then."""


def seen(axes: plt.Axes) -> NDArray[np.uint8]:
    """The figure of axes as it is drawn, (height, width, 3)."""
    held = io.BytesIO()
    axes.figure.savefig(held, format="png", dpi=DPI)
    plt.close(axes.figure)
    held.seek(0)
    return np.asarray(Image.open(held).convert("RGB"))


def difference(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """Largest difference of the averaged pixels, of 255, which is also that of pictures of other sizes."""
    if np.abs(np.subtract(one.shape, other.shape)).max() > 4:
        return 255.0
    high, wide, _ = np.minimum(one.shape, other.shape)
    blurred = [uniform_filter(p[:high, :wide].astype(float), (BLUR, BLUR, 0)) for p in (one, other)]
    return float(np.abs(blurred[0] - blurred[1]).max())


def assert_looks_like(axes: plt.Axes, name: str) -> None:
    """Fail where a picture differs from the one that is kept under a name."""
    picture, path = seen(axes), KEPT / f"{name}.png"
    if os.environ.get("WRITE_PICTURES"):
        KEPT.mkdir(exist_ok=True)
        # Few colours: half of the size, and less than what is allowed apart.
        Image.fromarray(picture).quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    if before(mpl, *DRAWN_BY):
        pytest.skip(f"matplotlib {'.'.join(map(str, DRAWN_BY))} drew the pictures that are kept")
    assert path.exists(), f"No picture {name!r} is kept: write it as tests/pictures.py says, and look at it."
    apart = difference(picture, np.asarray(Image.open(path).convert("RGB")))
    assert apart <= MOST, f"{name} does not look as it did: pixels differ by {apart:.0f} of 255"


# ---- boxes of text

LEAST_SHARE = 0.4
"""Of the width and of the height of a figure, which all axes together take at least."""


class Written(NamedTuple):
    """A text as it is drawn: its corners (4, 2) in pixels, the size of its letters, and whose it is."""

    text: str
    corners: NDArray[np.float64]
    em: float
    legend: Legend | None
    axes: plt.Axes | None
    clip: NDArray[np.float64] | None

    def box(self) -> NDArray[np.float64]:
        """Left, lower, right and upper end."""
        return np.concatenate([self.corners.min(axis=0), self.corners.max(axis=0)])


class Recorder(RendererAgg):
    """Draws nothing, and keeps the names of the groups that it is to draw."""

    def __init__(self, *size: float) -> None:
        super().__init__(*size)
        self.groups: set[str] = set()

    def open_group(self, s: str, gid: str | None = None) -> None:
        self.groups.add(str(gid))

    def _nothing(self, *args: Any, **options: Any) -> None:
        pass

    draw_path = draw_markers = draw_path_collection = draw_quad_mesh = draw_image = draw_text = _nothing


def text_faults(axes: plt.Axes) -> list[str]:
    """What is wrong with the texts and legends of the figure of axes, a line each; none of a good picture.

    Texts that leave the figure, or lie on one another or on a panel that is not theirs; legends that hide
    marks or texts; axes that have hardly any room left. What is measured are the boxes of what is drawn.
    """
    figure = axes.figure
    texts = written(figure)
    wide, high = figure.bbox.width, figure.bbox.height
    faults = []
    for each in texts:
        left, low, right, top = each.box()
        if left < -1 or low < -1 or right > wide + 1 or top > high + 1:
            faults.append(f"{each.text!r} is clipped by the figure")
        elif each.clip is not None and (np.array([1, 1, -1, -1]) * (each.box() - each.clip) < -1).any():
            faults.append(f"{each.text!r} is clipped by its axes")
    for one, other in near(texts):
        if one.legend is other.legend and overlap(one, other):
            faults.append(f"{one.text!r} and {other.text!r} lie on one another")
    every = [each for each in figure.findobj(Axes) if each.get_visible()]
    framed = [each for each in every if each.axison]
    for each in texts:
        for panel in framed if each.axes is not None and each.legend is None else ():
            if each.axes in framed and apart(panel, each.axes) and meet(each.box(), box_of(panel), 2.0):
                faults.append(f"{each.text!r} lies on a panel that is not its own")
    for legend in figure.findobj(Legend):
        if legend.get_visible():
            box = box_of(legend)
            faults += [f"a legend hides {what}" for what in hidden(box, every)]
            under = [t.text for t in texts if t.legend is not legend and meet(t.box(), box, 1.0)]
            faults += [f"a legend hides {text!r}" for text in under]
    boxes = np.array([box_of(each) for each in framed or every])
    ends = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    legends = [box_of(legend) for legend in figure.findobj(Legend) if legend.get_visible()]
    # A figure of our own grows by a legend below its axes: that takes none of their room.
    high -= max([box[3] - box[1] for box in legends if box[3] <= ends[0][1]], default=0.0)
    for share, side in zip((ends[1] - ends[0]) / [wide, high], ("width", "height"), strict=True):
        if share < LEAST_SHARE:
            faults.append(f"the axes have {100 * share:.0f} % of the {side} of the figure")
    return faults


def written(figure: Any) -> list[Written]:
    """The texts that are drawn in a figure."""
    every: dict[int, Text] = {}
    # Texts may come into being as a figure is drawn, such as labels of ticks: it is drawn until none does.
    while len(every) < len(texts := figure.findobj(Text)):
        every = dict(enumerate(texts))
        for place, text in every.items():
            text.set_gid(f"text {place}")
        recorder = Recorder(figure.bbox.width, figure.bbox.height, figure.dpi)
        figure.draw(recorder)
        # Laid out a second time, it would not be what a file has.
        figure.set_layout_engine("none")
    owners = {id(t): legend for legend in figure.findobj(Legend) for t in legend.findobj(Text)}
    homes = {id(t): axes for axes in figure.findobj(Axes) for t in axes.findobj(Text) if t.axes is axes}
    drawn = [text for place, text in every.items() if f"text {place}" in recorder.groups]
    return [
        Written(
            text.get_text(),
            corners_of(text),
            text.get_fontsize() * figure.dpi / 72,
            owners.get(id(text)),
            homes.get(id(text)),
            np.array(text.get_clip_box().extents) if text.get_clip_on() and text.get_clip_box() else None,
        )
        for text in drawn
        if text.get_text().strip()
    ]


def corners_of(text: Text) -> NDArray[np.float64]:
    """Corners (4, 2) of the letters of a text: its box without what it leaves above and below, turned."""
    middle = np.array(text.get_window_extent().extents).reshape(2, 2).mean(axis=0)
    angle = np.deg2rad(text.get_rotation())
    turned, mode = text.get_rotation(), text.get_rotation_mode()
    text.set_rotation(0)
    level = Text.get_window_extent(text)
    text.set(rotation=turned, rotation_mode=mode)
    em = text.get_fontsize() * text.figure.dpi / 72
    half = np.array([level.width, max(level.height - 0.3 * em, 1.0)]) / 2
    axis = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.asarray(middle + (np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half) @ axis)


def near(texts: list[Written]) -> Iterator[tuple[Written, Written]]:
    """Pairs of texts whose boxes are near each other."""
    if not texts:
        return
    boxes = np.array([each.box() for each in texts])
    low, high = boxes[:, :2] - 3, boxes[:, 2:] + 3
    meets = ((low[:, None] < high) & (low < high[:, None])).all(axis=2)
    for i, j in np.argwhere(np.triu(meets, 1)).tolist():
        yield texts[i], texts[j]


def overlap(one: Written, other: Written) -> bool:
    """Whether two texts lie on one another, or, one beside the other on a line, have less than a gap."""
    for first, second in ((one, other), (other, one)):
        along, up = first.corners[1] - first.corners[0], first.corners[3] - first.corners[0]
        for axis, gap in ((along, 0.15 * min(one.em, other.em)), (up, -0.5)):
            axis = axis / max(float(np.hypot(*axis)), 1e-9)
            mine, others = first.corners @ axis, second.corners @ axis
            if mine.max() + gap <= others.min() or others.max() + gap <= mine.min():
                return False
    return True


def box_of(artist: Any) -> NDArray[np.float64]:
    """Left, lower, right and upper end of what an artist takes, without the names around axes."""
    return np.array(artist.get_window_extent().extents)


def meet(one: NDArray[np.float64], other: NDArray[np.float64], by: float) -> bool:
    """Whether two boxes have more than so many pixels in common, both ways."""
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    return bool((high - low > by).all())


def apart(one: plt.Axes, other: plt.Axes) -> bool:
    """Whether axes are beside others, and not in, on or about them."""
    return one is not other and not meet(box_of(one), box_of(other), 2.0)


def hidden(box: NDArray[np.float64], every: list[plt.Axes]) -> list[str]:
    """Marks of axes that lie in a box: points, lines and bars, but not what is drawn behind all of them."""
    out = []
    for axes in every:
        frame = box_of(axes)
        inside = np.concatenate([np.maximum(box[:2], frame[:2]), np.minimum(box[2:], frame[2:])])
        if (inside[2:] <= inside[:2]).any():
            continue
        lines = [line for line in axes.lines if line.get_visible() and line.get_transform() == axes.transData]
        points = [along(axes.transData.transform(li.get_xydata())) for li in lines if li.get_zorder() > 1]
        for held in axes.collections:
            if isinstance(held, PathCollection):
                points.append(held.get_offset_transform().transform(np.ma.filled(held.get_offsets(), np.nan)))
            elif isinstance(held, LineCollection) and held.get_zorder() > 1:
                points += [along(held.get_transform().transform(path.vertices)) for path in held.get_paths()]
        count = sum(int(((p > inside[:2]) & (p < inside[2:])).all(axis=1).sum()) for p in points if len(p))
        out += [f"{count} points of marks"] if count else []
        bars = [bar for bar in axes.patches if isinstance(bar, Rectangle) and bar.get_visible()]
        count = sum(meet(np.array(bar.get_window_extent().extents), inside, 1.0) for bar in bars)
        out += [f"{count} bars"] if count else []
    return out


def along(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places (n, 2) in pixels, with others between them where they are far apart."""
    if len(places) < 2 or len(places) > 1_000:
        return places
    share = np.linspace(0.0, 1.0, 40, endpoint=False)[:, None, None]
    return np.concatenate([((1 - share) * places[:-1] + share * places[1:]).reshape(-1, 2), places[-1:]])
