"""The singular value decomposition, of finite numbers only: LAPACK's may never end where one is infinite."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.errors import DataError


def svd(matrix: NDArray[np.float64], **options: Any) -> Any:
    """As `numpy.linalg.svd`.

    Raises
    ------
    DataError
        A number is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> svd(np.diag([3.0, 4.0]), compute_uv=False).tolist()
    [4.0, 3.0]
    """
    if not np.isfinite(matrix).all():
        raise DataError(
            "How much the columns vary within classes, compared with the differences of their means, "
            "is beyond the range of doubles: divide a column by its size, or leave it out."
        )
    return np.linalg.svd(matrix, **options)
