"""Pictures against those that were looked at and kept, within what fonts and versions of matplotlib change.

``WRITE_PICTURES=1 python -m pytest tests/report/plots -k NAME`` writes those that are asked for; look at
each before it is committed.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import uniform_filter

KEPT = Path(__file__).parent / "report" / "plots" / "baseline"
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
    assert path.exists(), f"No picture {name!r} is kept: write it as tests/pictures.py says, and look at it."
    apart = difference(picture, np.asarray(Image.open(path).convert("RGB")))
    assert apart <= MOST, f"{name} does not look as it did: pixels differ by {apart:.0f} of 255"
