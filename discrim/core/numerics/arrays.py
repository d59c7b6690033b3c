"""Array types, checks of values, and limits on memory, used by all packages.

`svd` accepts only finite values, because LAPACK may not terminate if one is infinite.

The memory of a large result is estimated before it is computed, and too large a result is refused: operating
systems grant more memory than they have, and then kill the process or swap for hours. A refusal is immediate
and its message suggests an alternative.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.errors import DataError, sentence

Array = NDArray[Any]
"""Values of any type."""

Floats = NDArray[np.float64]
"""Array of float64."""

Codes = NDArray[np.intp]
"""Array of integers: positions of rows or columns, classes of rows, or counts."""

Mask = NDArray[np.bool_]
"""Array of bool."""

NOT_STORED = {"stored": False}
"""Metadata of a dataclass field that is not saved and has its default value in a loaded fit."""

MAX_EXACT_INTEGER = 2.0**52
"""Default limit of integers in float64; float64 represents every integer up to twice this value."""

MAX_MEMORY_SHARE = 0.5
"""Fraction of the memory that one result may use; the table itself needs some."""

DEFAULT_MEMORY_BYTES = 2.0**33
"""Assumed memory in bytes if the system does not report it."""

EPS = float(np.finfo(np.float64).eps)
"""Relative spacing of float64 numbers."""

MIN_WIDTH_RATIO = 8
"""Ratio of columns to rows from which `svd` uses `lq`."""

MIN_ROW_RATIO = 1e-6
"""Relative norm of a rotated row up to which `lq` orthogonalizes it separately."""

GIB = 2.0**30
"""Bytes in a gibibyte."""

CONTAINER_LIMIT_FILES = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Files that contain the memory limit of a container (cgroup v2 and v1)."""


def slices(n: int, step: int) -> Iterator[slice]:
    """Yield slices of at most `step` positions that cover 0, ..., n - 1."""
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def sample_of_classes(codes: Codes, size: float, min_rows: int) -> Codes:
    """Return the positions of a random sample of rows, stratified by class; the same in each call.

    Parameters
    ----------
    codes : (n,) int
        Class of each row; rows with -1 are not sampled.
    size : float
        Number of rows of the sample, of which each class has its share, rounded up.
    min_rows : int
        Smallest number of rows of a class, or all of them.

    Returns
    -------
    (m,) int
        Ascending positions; all labelled rows if there are at most `size`.
    """
    order = np.random.default_rng(0).permutation(np.flatnonzero(codes >= 0))
    order = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes[order])
    rank_in_class = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    quotas = np.maximum(np.ceil(counts * (size / max(len(order), 1))), min_rows)
    return np.sort(order[rank_in_class < quotas[codes[order]]])


def min_class_rows(size: float, n_classes: int) -> int:
    """Return the `min_rows` of a sample of `size` rows: 100, or fewer if these would more than double it."""
    return max(min(100, int(size) // n_classes), 2)


def are_integers(values: Floats | float, minimum: float = 0.0, maximum: float = MAX_EXACT_INTEGER) -> bool:
    """Return whether all values are integers from `minimum` to `maximum`; true for an empty array.

    NaN and infinite values are not integers.
    """
    array = np.asarray(values)
    return bool(((array == np.round(array)) & (array >= minimum) & (array <= maximum)).all())


def are_flags(values: Floats | float) -> bool:
    """Return whether all values are 0 or 1; true for an empty array."""
    return are_integers(values, 0.0, 1.0)


def svd(matrix: Floats, **options: Any) -> Any:
    """Call `numpy.linalg.svd` for a matrix derived from class moments; raise DataError if it is not finite.

    Parameters
    ----------
    matrix : (m, n) float
        Matrix to decompose.
    **options
        Passed to `numpy.linalg.svd`.

    Returns
    -------
    SVDResult or array
        (U, S, Vh) as of `numpy.linalg.svd`; with compute_uv=False only the singular values S.

    Examples
    --------
    >>> svd(np.diag([3.0, 4.0]), compute_uv=False).tolist()
    [4.0, 3.0]
    """
    if not np.isfinite(matrix).all():
        raise DataError(
            "The ratio of the differences of the class means to the variation within classes is outside the "
            "range of double precision.",
            hint="Divide the column with extreme values by its typical size, or omit it.",
        )
    is_wide = matrix.shape[1] >= MIN_WIDTH_RATIO * matrix.shape[0] > 0
    if is_wide and options == {"full_matrices": False} and matrix.any():
        lower, basis = lq(matrix)
        left, singular_values, right = np.linalg.svd(lower)
        return left, singular_values, right @ basis
    return np.linalg.svd(matrix, **options)


def lq(matrix: Floats) -> tuple[Floats, Floats]:
    """Decompose a matrix with many more columns than rows into L Q, where Q has orthonormal rows.

    The eigenvectors of A A' make the rows of A nearly orthogonal, and a Cholesky factor of their scaled
    products removes the remainder. Rows that are nearly zero then are orthogonalized by a QR decomposition.
    These are products with n columns, which take a fraction of the time of a QR decomposition of A', and the
    digits of small singular values are kept. The computation uses A divided by a power of two, so that the
    products neither overflow nor underflow.

    Parameters
    ----------
    matrix : (m, n) float
        Finite matrix A with m <= n, not empty.

    Returns
    -------
    lower : (m, m) float
        L; not triangular.
    basis : (m, n) float
        Q.
    """
    exponent = np.frexp(np.abs(matrix).max())[1]
    scaled = np.ldexp(matrix, -exponent)
    rotation = np.linalg.eigh(scaled @ scaled.T)[1][:, ::-1]
    rows = rotation.T @ scaled
    sizes = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    max_size = float(sizes.max())
    r = int((sizes > MIN_ROW_RATIO * max_size).sum())
    unit = rows[:r] / sizes[:r, None]
    root = np.linalg.cholesky(unit @ unit.T)
    lower = np.zeros((len(rows), len(rows)))
    lower[:r, :r] = root * sizes[:r, None]
    basis = np.linalg.inv(root) @ unit
    if r < len(rows):
        # Below the rounding errors, but not zero, so that the basis is complete. A matrix of zeros does not
        # need it, because a QR decomposition of zeros has orthonormal columns.
        tiny = max_size * EPS**2
        vectors = rows[r:] + tiny * np.random.default_rng(0).standard_normal(rows[r:].shape)
        triangle = np.eye(len(rows) - r)
        # Rounding errors of a row that is nearly zero are not orthogonal to the basis after the first time.
        for _ in range(3):
            step = vectors @ basis.T
            lower[r:, :r] += triangle @ step
            vectors, factor = np.linalg.qr((vectors - step @ basis).T)
            vectors, triangle = vectors.T, triangle @ factor.T
        lower[r:, r:] = triangle
        basis = np.concatenate([basis, vectors])
    return np.ldexp(rotation @ lower, exponent), basis


@cache
def available_memory() -> float:
    """Return the total memory in bytes of the machine, or the limit of the container or process if lower.

    Memory that is in use is not subtracted. The value is cached.
    """
    return min(_memory_limits(), default=DEFAULT_MEMORY_BYTES)


def _memory_limits() -> Iterator[float]:
    """Yield the memory limits in bytes of the machine, the container and the process, those that are known.

    If the system does not report the memory of the machine, as Windows, it is `DEFAULT_MEMORY_BYTES`.
    """
    try:
        yield float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        # Windows has no sysconf.
        yield DEFAULT_MEMORY_BYTES
    for path in CONTAINER_LIMIT_FILES:
        try:
            yield float(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            yield float(soft)
    except (ImportError, OSError, ValueError):
        return


def check_memory(n_values: float, subject: str, hint: str) -> None:
    """Raise a DataError if a result would use more than `MAX_MEMORY_SHARE` of the memory.

    Parameters
    ----------
    n_values : float
        Number of float64 values of the result.
    subject : str
        Subject of the message, with a capital letter.
    hint : str
        What to do instead, as an imperative without a full stop.

    Examples
    --------
    >>> check_memory(1e3, "A table of 1,000 numbers", "Ask for fewer")
    """
    size = 8.0 * n_values
    if size > MAX_MEMORY_SHARE * available_memory():
        raise DataError(
            f"{subject} would take {_format_bytes(size)}, but at most half of the "
            f"{_format_bytes(available_memory())} of available memory is used.",
            hint=sentence(hint),
        )


def _format_bytes(bytes_: float) -> str:
    """Return a number of bytes as text in GiB, such as "1.5 GiB"."""
    return f"{bytes_ / GIB:,.1f} GiB" if bytes_ < 1e15 else f"{bytes_ / GIB:.1e} GiB"
