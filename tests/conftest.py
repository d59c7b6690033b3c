"""What every test may use."""

from __future__ import annotations

import os
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers share the cores, so that a product of matrices has one; it is read where numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return Path(__file__).resolve().parent.parent
