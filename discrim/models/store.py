"""The public function `load`, which reads a saved fit or saved moments."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from discrim.core.numerics.atomic_write import validate_path
from discrim.errors import DataError
from discrim.models.base.fit_file import fit_from_file
from discrim.models.base.reading import format_argument, with_public_errors
from discrim.models.base.tensor_file import read_file
from discrim.models.moments.moments import MOMENTS_NAME, moments_from_file
from discrim.models.results.results import ClassifierResults

Loaded = TypeVar("Loaded")


@overload
def load(
    path: str | os.PathLike[str], *, functions: Mapping[str, Callable[..., Any]] | None = None
) -> ClassifierResults: ...


@overload
def load(
    path: str | os.PathLike[str],
    results: type[Loaded],
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Loaded: ...


@with_public_errors
def load(
    path: str | os.PathLike[str],
    results: type[Any] | None = None,
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """Read a fit, or moments, that `save` wrote.

    Parameters
    ----------
    path : str or path
        The file to read.
    results : class, optional
        Expected class, such as `LDAResults` or `Moments`; other contents raise an error. It also determines
        the return type for editors and type checkers, which is otherwise `ClassifierResults`.
    functions : dict of str to callable, optional
        Your own functions that the formula calls, by name; a file does not contain code.

    Returns
    -------
    ClassifierResults or Moments
        The results of the verb that made the fit, such as `LDAResults`, or the moments. Its
        predictions equal the predictions of the saved fit. Methods that need the rows of the fit accept
        `data=`, or raise an error with a hint.

    Raises
    ------
    DataError
        The file was not written by `save` (NotAFitError), is damaged or contradicts itself
        (DamagedFileError), or contains another class than `results`. Or its formula calls a function that is
        not in `functions`.
    MissingFileError, UnreadableFileError
        The file does not exist, or cannot be opened; each is a DataError and an OSError.
    FormulaError
        Its formula is not allowed.

    Examples
    --------
    >>> import tempfile
    >>> from discrim import LDAResults, lda, load
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lda("species ~ .", iris).save(f"{folder}/iris.fit")
    ...     load(f"{folder}/iris.fit", LDAResults).predict(iris.head(2)).tolist()
    ['setosa', 'setosa']
    """
    if results is not None and not isinstance(results, type):
        raise DataError(
            f"results={format_argument(results)} is not valid.",
            hint="Pass the class of the contents, such as LDAResults.",
        )
    file_path = validate_path(path)
    about, tensors = read_file(file_path)
    if about.get("model") == MOMENTS_NAME:
        contents: Any = moments_from_file(file_path, about, tensors, functions)
    else:
        fit = fit_from_file(file_path, about, tensors, functions)
        contents = fit.spec.results_class(fit)
    if results is not None and not isinstance(contents, results):
        raise DataError(
            f"{file_path} contains {type(contents).__name__}, not {results.__name__}.",
            hint="Pass that class as results=, or leave out results=.",
        )
    return contents
