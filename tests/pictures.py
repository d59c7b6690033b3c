"""Compare pictures with reference pictures, and detect texts that are clipped or overlap.

``WRITE_PICTURES=1 python -m pytest tests/models/plots -k NAME`` writes the reference pictures of the selected
tests; look at each of them before you commit it.
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

from tests.support import is_older_than

BASELINE_FOLDER = Path(__file__).parent / "report" / "plots" / "baseline"
BASELINE_MATPLOTLIB = (3, 11)
"""Version of matplotlib that drew the reference pictures; earlier ones place ticks and titles differently."""

DPI = 60
BLUR_PIXELS = 15
"""Pixels over which pictures are averaged, because fonts may differ slightly and move the axes."""

MAX_PIXEL_DIFFERENCE = 22.0
"""Largest allowed difference of averaged pixels, of 255."""


def render(axes: plt.Axes) -> NDArray[np.uint8]:
    """Draw the figure of axes and return its pixels (height, width, 3)."""
    buffer = io.BytesIO()
    axes.figure.savefig(buffer, format="png", dpi=DPI)
    plt.close(axes.figure)
    buffer.seek(0)
    return np.asarray(Image.open(buffer).convert("RGB"))


def picture_difference(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """Return the largest difference of averaged pixels, or 255 for pictures of different sizes."""
    if np.abs(np.subtract(one.shape, other.shape)).max() > 4:
        return 255.0
    high, wide, _ = np.minimum(one.shape, other.shape)
    blurred = [
        uniform_filter(p[:high, :wide].astype(float), (BLUR_PIXELS, BLUR_PIXELS, 0)) for p in (one, other)
    ]
    return float(np.abs(blurred[0] - blurred[1]).max())


def assert_looks_like(axes: plt.Axes, name: str) -> None:
    """Fail if the picture of axes differs from the reference picture of the given name."""
    picture, path = render(axes), BASELINE_FOLDER / f"{name}.png"
    if os.environ.get("WRITE_PICTURES"):
        BASELINE_FOLDER.mkdir(exist_ok=True)
        # Few colours halve the file size; the difference is below the allowed one.
        Image.fromarray(picture).quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    if is_older_than(mpl, *BASELINE_MATPLOTLIB):
        pytest.skip(f"matplotlib {'.'.join(map(str, BASELINE_MATPLOTLIB))} drew the reference pictures")
    assert path.exists(), (
        f"There is no reference picture {name!r}: write it (see tests/pictures.py) and check it."
    )
    largest_difference = picture_difference(picture, np.asarray(Image.open(path).convert("RGB")))
    assert largest_difference <= MAX_PIXEL_DIFFERENCE, (
        f"{name} does not look as it did: pixels differ by {largest_difference:.0f} of 255"
    )


# ---- boxes of text

MIN_AXES_SHARE = 0.4
"""Smallest allowed proportion of the width and height of a figure that is covered by its axes."""


class DrawnText(NamedTuple):
    """A text as it is drawn.

    Attributes
    ----------
    text : str
    corners : (4, 2) ndarray
        Corners in pixels.
    em : float
        Font size in pixels.
    legend, axes : Legend or None, Axes or None
        Legend and axes that contain the text.
    clip : (4,) ndarray or None
        Box to which the text is clipped.
    """

    text: str
    corners: NDArray[np.float64]
    em: float
    legend: Legend | None
    axes: plt.Axes | None
    clip: NDArray[np.float64] | None

    def box(self) -> NDArray[np.float64]:
        """Return left, lower, right and upper end."""
        return np.concatenate([self.corners.min(axis=0), self.corners.max(axis=0)])


class GroupRecorder(RendererAgg):
    """Renderer that draws nothing and records the names of the groups that it is asked to draw."""

    def __init__(self, *size: float) -> None:
        super().__init__(*size)
        self.groups: set[str] = set()

    def open_group(self, s: str, gid: str | None = None) -> None:
        self.groups.add(str(gid))

    def _nothing(self, *args: Any, **options: Any) -> None:
        pass

    draw_path = draw_markers = draw_path_collection = draw_quad_mesh = draw_image = draw_text = _nothing


def text_faults(axes: plt.Axes) -> list[str]:
    """List the faults of the texts and legends of the figure of axes, one line each.

    The faults are texts that leave the figure, or overlap each other or another panel; legends that hide
    marks or texts; and axes that are too small. The boxes of the drawn objects are compared.
    """
    figure = axes.figure
    texts = drawn_texts(figure)
    wide, high = figure.bbox.width, figure.bbox.height
    faults = []
    for each in texts:
        left, low, right, top = each.box()
        if left < -1 or low < -1 or right > wide + 1 or top > high + 1:
            faults.append(f"{each.text!r} is clipped by the figure")
        elif each.clip is not None and (np.array([1, 1, -1, -1]) * (each.box() - each.clip) < -1).any():
            faults.append(f"{each.text!r} is clipped by its axes")
    for one, other in neighbouring_pairs(texts):
        if one.legend is other.legend and texts_overlap(one, other):
            faults.append(f"{one.text!r} and {other.text!r} overlap")
    all_axes = [each for each in figure.findobj(Axes) if each.get_visible()]
    framed = [each for each in all_axes if each.axison]
    for each in texts:
        for panel in framed if each.axes is not None and each.legend is None else ():
            if (
                each.axes in framed
                and are_separate(panel, each.axes)
                and boxes_overlap(each.box(), bounding_box(panel), 2.0)
            ):
                faults.append(f"{each.text!r} lies on a panel that is not its own")
    for legend in figure.findobj(Legend):
        if legend.get_visible():
            box = bounding_box(legend)
            faults += [f"a legend hides {mark}" for mark in hidden_marks(box, all_axes)]
            covered_texts = [
                t.text for t in texts if t.legend is not legend and boxes_overlap(t.box(), box, 1.0)
            ]
            faults += [f"a legend hides {text!r}" for text in covered_texts]
    boxes = np.array([bounding_box(each) for each in framed or all_axes])
    bounds = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    legends = [bounding_box(legend) for legend in figure.findobj(Legend) if legend.get_visible()]
    # A legend below the axes enlarges our figures, so that it does not reduce the axes.
    high -= max([box[3] - box[1] for box in legends if box[3] <= bounds[0][1]], default=0.0)
    for share, side in zip((bounds[1] - bounds[0]) / [wide, high], ("width", "height"), strict=True):
        if share < MIN_AXES_SHARE:
            faults.append(f"the axes have {100 * share:.0f} % of the {side} of the figure")
    return faults


def drawn_texts(figure: Any) -> list[DrawnText]:
    """Return the texts that are drawn in a figure."""
    texts_by_number: dict[int, Text] = {}
    # Drawing a figure may create texts such as tick labels, so it is drawn until there are no new ones.
    while len(texts_by_number) < len(texts := figure.findobj(Text)):
        texts_by_number = dict(enumerate(texts))
        for number, text in texts_by_number.items():
            text.set_gid(f"text {number}")
        recorder = GroupRecorder(figure.bbox.width, figure.bbox.height, figure.dpi)
        figure.draw(recorder)
        # A second layout could differ from that of a saved file.
        figure.set_layout_engine("none")
    legends_of_texts = {id(t): legend for legend in figure.findobj(Legend) for t in legend.findobj(Text)}
    axes_of_texts = {
        id(t): axes for axes in figure.findobj(Axes) for t in axes.findobj(Text) if t.axes is axes
    }
    visible_texts = [text for place, text in texts_by_number.items() if f"text {place}" in recorder.groups]
    return [
        DrawnText(
            text.get_text(),
            text_corners(text),
            text.get_fontsize() * figure.dpi / 72,
            legends_of_texts.get(id(text)),
            axes_of_texts.get(id(text)),
            np.array(text.get_clip_box().extents) if text.get_clip_on() and text.get_clip_box() else None,
        )
        for text in visible_texts
        if text.get_text().strip()
    ]


def text_corners(text: Text) -> NDArray[np.float64]:
    """Return the corners (4, 2) of the letters of a text: its rotated box without the space around them."""
    middle = np.array(text.get_window_extent().extents).reshape(2, 2).mean(axis=0)
    angle = np.deg2rad(text.get_rotation())
    rotation, mode = text.get_rotation(), text.get_rotation_mode()
    text.set_rotation(0)
    unrotated_box = Text.get_window_extent(text)
    text.set(rotation=rotation, rotation_mode=mode)
    em = text.get_fontsize() * text.figure.dpi / 72
    half_size = np.array([unrotated_box.width, max(unrotated_box.height - 0.3 * em, 1.0)]) / 2
    axis = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.asarray(middle + (np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half_size) @ axis)


def neighbouring_pairs(texts: list[DrawnText]) -> Iterator[tuple[DrawnText, DrawnText]]:
    """Yield the pairs of texts whose boxes are near each other."""
    if not texts:
        return
    boxes = np.array([each.box() for each in texts])
    low, high = boxes[:, :2] - 3, boxes[:, 2:] + 3
    are_near = ((low[:, None] < high) & (low < high[:, None])).all(axis=2)
    for i, j in np.argwhere(np.triu(are_near, 1)).tolist():
        yield texts[i], texts[j]


def texts_overlap(one: DrawnText, other: DrawnText) -> bool:
    """Return whether two texts overlap, or stand next to each other on a line with too small a gap."""
    for first, second in ((one, other), (other, one)):
        along, up = first.corners[1] - first.corners[0], first.corners[3] - first.corners[0]
        for axis, gap in ((along, 0.15 * min(one.em, other.em)), (up, -0.5)):
            axis = axis / max(float(np.hypot(*axis)), 1e-9)
            first_projection, second_projection = first.corners @ axis, second.corners @ axis
            if (
                first_projection.max() + gap <= second_projection.min()
                or second_projection.max() + gap <= first_projection.min()
            ):
                return False
    return True


def bounding_box(artist: Any) -> NDArray[np.float64]:
    """Return left, lower, right and upper end of an artist; for axes, without their labels."""
    return np.array(artist.get_window_extent().extents)


def boxes_overlap(one: NDArray[np.float64], other: NDArray[np.float64], margin: float) -> bool:
    """Return whether two boxes share more than `margin` pixels in both directions."""
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    return bool((high - low > margin).all())


def are_separate(one: plt.Axes, other: plt.Axes) -> bool:
    """Return whether axes lie next to others, and not in, on or around them."""
    return one is not other and not boxes_overlap(bounding_box(one), bounding_box(other), 2.0)


def hidden_marks(box: NDArray[np.float64], all_axes: list[plt.Axes]) -> list[str]:
    """Describe the points, lines and bars of axes that lie in a box; marks in the background do not count."""
    marks = []
    for axes in all_axes:
        frame = bounding_box(axes)
        inside = np.concatenate([np.maximum(box[:2], frame[:2]), np.minimum(box[2:], frame[2:])])
        if (inside[2:] <= inside[:2]).any():
            continue
        lines = [line for line in axes.lines if line.get_visible() and line.get_transform() == axes.transData]
        points = [
            interpolate_points(axes.transData.transform(li.get_xydata()))
            for li in lines
            if li.get_zorder() > 1
        ]
        for collection in axes.collections:
            if isinstance(collection, PathCollection):
                points.append(
                    collection.get_offset_transform().transform(
                        np.ma.filled(collection.get_offsets(), np.nan)
                    )
                )
            elif isinstance(collection, LineCollection) and collection.get_zorder() > 1:
                points += [
                    interpolate_points(collection.get_transform().transform(path.vertices))
                    for path in collection.get_paths()
                ]
        count = sum(int(((p > inside[:2]) & (p < inside[2:])).all(axis=1).sum()) for p in points if len(p))
        marks += [f"{count} points of marks"] if count else []
        bars = [bar for bar in axes.patches if isinstance(bar, Rectangle) and bar.get_visible()]
        count = sum(boxes_overlap(np.array(bar.get_window_extent().extents), inside, 1.0) for bar in bars)
        marks += [f"{count} bars"] if count else []
    return marks


def interpolate_points(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points (n, 2) in pixels with additional points between them."""
    if len(points) < 2 or len(points) > 1_000:
        return points
    share = np.linspace(0.0, 1.0, 40, endpoint=False)[:, None, None]
    return np.concatenate([((1 - share) * points[:-1] + share * points[1:]).reshape(-1, 2), points[-1:]])
