"""Stand-in."""

from __future__ import annotations

from typing import Any


def write_frames(frames: Any, out: Any, *, source: Any = None) -> Any:
    """Stand-in."""
