"""Arrays by what they hold: the names that annotations have for them, once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Values of any type."""

Floats = NDArray[np.float64]
"""Real numbers in double precision."""

Codes = NDArray[np.intp]
"""Places: of rows, of columns, of a row's class among the classes; or counts."""

Mask = NDArray[np.bool_]
"""What is true of each entry."""
