"""Save and load a fit, with no code in the file.

A file holds the design, the model's options, its moments and what the model keeps beside them. Reading trusts
nothing: the formula goes through the same check as one that is typed, and every shape and value is validated
before it is used. The layout is that of `discrim.models.saving.tensor_file`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.independent.naive_bayes_file import naive_bayes_buffers, naive_bayes_from_file
from discrim.core.independent.shrunken_centroids import fit_shrunken
from discrim.core.moments.moments import ClassMoments, Spread
from discrim.core.neighbours.knn import knn_from_file
from discrim.core.normal.lda_file import lda_from_file
from discrim.core.normal.qda import qda_from_file
from discrim.core.normal.rda import fit_rda
from discrim.core.planes.hyperplane import hyperplane_from_file
from discrim.core.planes.perceptron import perceptron_from_file
from discrim.core.regression.indicator import indicator_from_file
from discrim.core.regression.logistic import fit_from_search
from discrim.core.robust.robust import Robust, robust_numbers
from discrim.core.shrinkage.shrinkage import is_regular, spread_of
from discrim.errors import DataError, DiscrimError, FormulaError, NotSupportedError
from discrim.frame.blocks import without_rows
from discrim.frame.formula import Design
from discrim.models.saving.earlier_files import in_this_form, is_earlier, refuse_collinear
from discrim.models.saving.saved_description import check_description, check_values, names_left_out
from discrim.models.saving.saved_moments import checked_moments
from discrim.models.saving.saved_rule import without_score
from discrim.models.saving.tensor_file import DamagedFileError, check_finite, damaged, read_file, write_file
from discrim.models.saving.whole_file import target_of

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults

__all__ = ["load", "save"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Model:
    """How one model is written and read: its options with their kinds, its fit, its results."""

    options: Mapping[str, tuple[type, ...]]
    spread: Spread
    fit: Callable[..., Any]
    buffers: Callable[[Any], dict[str, Floats]] = lambda numbers: {}
    """What is kept of the fit beside its moments, and given to `fit` again by name."""
    shapes: Callable[[int, int], dict[str, tuple[int, ...]]] = lambda k, p: {}
    """The shapes that these have for K classes and p columns; a length of -1 may be any."""
    optional: Callable[[int, int], dict[str, tuple[int, ...]]] = lambda k, p: {}
    """Shapes of those that only some fits have; the fit says which go with its options."""


_NOTHING = type(None)

_BROKEN = (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""What reading parts that do not go together may raise."""


def _robust_or_not(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A fit that takes the numbers of a robust one, or none."""

    def fitted(moments: ClassMoments, prior: Floats, *, robust: Floats, method: str, **options: Any) -> Any:
        return fit(moments, prior, method=method, robust=Robust.from_numbers(method, robust), **options)

    return fitted


_MODELS = {
    "lda": _Model(
        {"method": (str,), "structure": (str,), "ncomp": (int, _NOTHING), "estimated_prior": (bool,)}
        | {"chosen": (str, _NOTHING), "estimator": (str, _NOTHING), "standardize": (bool,)},
        "pooled",
        _robust_or_not(lda_from_file),
        lambda numbers: robust_numbers(numbers) | numbers.buffers(),
        lambda k, p: {"robust": (-1,)},
        lambda k, p: {"shrinkage": (1,), "covariance_roots": (1, p, p)},
    ),
    "qda": _Model(
        {"method": (str,), "structure": (str,), "estimated_prior": (bool,)}
        | {"chosen": (str, _NOTHING), "estimator": (str, _NOTHING), "standardize": (bool,)},
        "class",
        _robust_or_not(qda_from_file),
        lambda numbers: robust_numbers(numbers) | numbers.buffers(),
        lambda k, p: {"robust": (-1,)},
        lambda k, p: {"shrinkage": (k,), "covariance_roots": (k, p, p)},
    ),
    "naive_bayes": _Model(
        {"method": (str,), "smoothing": (float,), "laplace": (float,), "bandwidth": (str,)}
        | {"unseen": (str,), "estimated_prior": (bool,)},
        "diagonal",
        naive_bayes_from_file,
        naive_bayes_buffers,
        lambda k, p: {"columns": (3, p), "tables": (k, -1), "sums": (k, -1), "points": (-1, 4)},
    ),
    "rda": _Model(
        {"alpha": (float,), "gamma": (float,), "parametrization": (str,), "method": (str,)}
        | {"estimated_prior": (bool,), "cv": (int, str, _NOTHING), "select": (str,)}
        | {"standardize": (bool,)},
        "class",
        fit_rda,
    ),
    "shrunken_centroids": _Model(
        {"threshold": (float,), "offset": (float, str), "estimated_prior": (bool,)},
        "diagonal",
        fit_shrunken,
    ),
    "indicator": _Model({}, "pooled", indicator_from_file),
    "logistic": _Model(
        {"reference": (int,), "estimated_prior": (bool,), "bias_reduction": (bool,)},
        "pooled",
        fit_from_search,
        lambda numbers: numbers.search(),
        lambda k, p: {"coef": (p + 1, k - 1), "information": ((k - 1) * (p + 1),) * 2, "course": (3,)},
    ),
    "perceptron": _Model(
        {"step": (float,), "seed": (int, _NOTHING)},
        "diagonal",
        perceptron_from_file,
        lambda numbers: numbers.ended(),
        lambda k, p: (
            {"coef": (p + 1, k - (k == 2)), "planes": (k - (k == 2), 7), "history": (-1, 4)}
            | {"most": (k - (k == 2),)}
        ),
    ),
    "hyperplane": _Model(
        {},
        "diagonal",
        hyperplane_from_file,
        lambda numbers: numbers.ended(),
        lambda k, p: {"origin": (p,), "coef": (p,), "support": (-1, 2), "found": (2,)},
    ),
    "knn": _Model(
        {"k": (int,), "metric": (str,), "scale": (bool,), "estimated_prior": (bool,)},
        "diagonal",
        knn_from_file,
        lambda numbers: numbers.buffers(),
        lambda k, p: {"points": (-1, p), "codes": (-1,), "origin": (p,), "unit": (p,), "slack": (1,)},
        lambda k, p: {"within_root": (p, p)},
    ),
}


def _results(model: str) -> Any:
    from discrim.models.independent.naive_bayes_results import NaiveBayesResults
    from discrim.models.independent.shrunken_centroids import ShrunkenCentroidsResults
    from discrim.models.neighbours.knn import KNNResults
    from discrim.models.normal.lda_results import LDAResults
    from discrim.models.normal.qda import QDAResults
    from discrim.models.normal.rda import RDAResults
    from discrim.models.planes.hyperplane import HyperplaneResults
    from discrim.models.planes.perceptron import PerceptronResults
    from discrim.models.regression.indicator import IndicatorResults
    from discrim.models.regression.logistic import LogisticResults

    results: dict[str, type[ClassifierResults]] = {
        "lda": LDAResults,
        "qda": QDAResults,
        "naive_bayes": NaiveBayesResults,
        "rda": RDAResults,
        "shrunken_centroids": ShrunkenCentroidsResults,
        "indicator": IndicatorResults,
        "logistic": LogisticResults,
        "perceptron": PerceptronResults,
        "hyperplane": HyperplaneResults,
        "knn": KNNResults,
    }
    return results[model]


def save(fit: ClassifierResults, path: str | os.PathLike[str]) -> None:
    """Write a fit to a file, whole or not at all, where the file can be loaded again.

    The rows of its table are not part of it, but those of `knn`, whose coordinates are the fit. A link stays
    a link, and the mode of a file that is replaced is kept. A process that is killed may leave a file
    `.discrim-*.tmp` in the folder, which the next save there removes.

    Raises
    ------
    NotSupportedError
        The model cannot be written, or what is written could not be loaded.
    OSError
        There is no such folder, the disk is full, and the like. What was there before is still there.
    """
    place = _path(path)
    name = next((m for m in _MODELS if type(fit) is _results(m)), None)
    if name is None:
        raise NotSupportedError(
            f"{fit.title} cannot be saved: pickle the fit, or keep the call that made it."
        )
    target_of(place)
    about, tensors = _parts(fit, name)
    try:
        json_of = json.loads(json.dumps(about))
        check_finite(place, tensors)
        _fit_of(place, json_of, dict(tensors), fit._blocks.functions)
    except Exception as error:
        reason = error.what if isinstance(error, DamagedFileError) else str(error).rstrip(".")
        raise NotSupportedError(
            f"{fit.title} cannot be saved, as its file could not be loaded: {reason}. Pickle the fit, or "
            "keep the call that made it."
        ) from error
    write_file(place, about, tensors)


def _parts(fit: ClassifierResults, name: str) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Description and buffers of a fit."""
    numbers = fit._fit
    options = {key: getattr(numbers, key) for key in _MODELS[name].options}
    blocks = fit._blocks
    about = {
        "model": name,
        "options": options,
        "design": blocks.design.to_dict(),
        "keep": None if blocks.keep is None else list(blocks.keep),
        "left_out": {"constant": list(blocks.constant), "collinear": list(blocks.collinear)},
        "dropped": fit._dropped,
        "weighted": blocks.weights is not None,
    }
    # Reading brings them within reach again.
    moments = getattr(numbers, "gathered", None) or numbers.moments
    tensors = {
        key: getattr(moments, key) for key in ("counts", "rows", "centres", "rests", "scale", "scatters")
    }
    if moments.roots is not None:
        tensors["roots"] = moments.roots
    tensors["prior"] = numbers.prior
    tensors |= _MODELS[name].buffers(numbers)
    return about, {key: np.ascontiguousarray(value, dtype=np.float64) for key, value in tensors.items()}


def _path(path: Any) -> Path:
    """The path of a file as it is given.

    Raises
    ------
    DataError
        It is no path, or no system takes it as one.
    """
    try:
        place = Path(os.fsdecode(path))
    except TypeError:
        raise DataError(f"A fit is saved to a file: give its path, not {type(path).__name__}.") from None
    if "\0" in str(place):
        raise DataError(f"{str(place)!r} is no path, as it holds a null character: name a file without it.")
    try:
        os.fsencode(place)
    except UnicodeEncodeError:
        raise DataError(
            f"{str(place)!a} is no path, as it holds half a character: name a file without it."
        ) from None
    return place


def load(path: str | os.PathLike[str], *, functions: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """Read a fit that `save` wrote.

    Parameters
    ----------
    path : str or path-like
    functions : dict of str to callable, optional
        The user's functions that the formula calls; a file holds none.

    Returns
    -------
    LDAResults, QDAResults, RDAResults, NaiveBayesResults, IndicatorResults, LogisticResults,
    PerceptronResults, HyperplaneResults or KNNResults
        It predicts what the saved one predicts. What needs the rows of the fit takes `data=` or says so.

    Raises
    ------
    DataError
        The file is not one of ours (NotAFitError), is damaged, or does not fit together.
    MissingFileError, UnreadableFileError
        There is no file, or it cannot be opened; each is a DataError and an OSError.
    FormulaError
        Its formula is not allowed.

    Examples
    --------
    >>> import tempfile
    >>> from discrim import lda, load
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lda("species ~ .", iris).save(f"{folder}/iris.fit")
    ...     load(f"{folder}/iris.fit").predict(iris.head(2)).tolist()
    ['setosa', 'setosa']
    """
    place = _path(path)
    about, tensors = read_file(place)
    return _fit_of(place, about, tensors, functions)


def _fit_of(
    path: Path,
    about: dict[str, Any],
    tensors: dict[str, Floats],
    functions: Mapping[str, Callable[..., Any]] | None,
) -> Any:
    """The fit that description and buffers are of, all of them checked."""
    check_values(path, about)
    earlier = is_earlier(about)
    about, tensors = in_this_form(about, tensors)
    try:
        model = _MODELS[about["model"]]
        design = Design.from_dict(about["design"])
        options, keep = about["options"], about["keep"]
        left_out = about["left_out"]
        dropped, weighted = about["dropped"], about["weighted"]
    except FormulaError:
        raise
    except _BROKEN as error:
        raise damaged(path, f"its description is incomplete ({error})") from None
    robust = "robust" in model.shapes(2, 1)
    check_description(path, options, model.options, design, keep, dropped, weighted, robust=robust)
    gone = names_left_out(path, left_out)
    missing = [name for name in design.functions if name not in (functions or {})]
    if missing:
        raise DataError(f"The formula calls {missing[0]!r}: pass functions={{{missing[0]!r}: ...}} to load.")
    p = len(design.terms) if keep is None else len(keep)
    # Regularized covariances take singular scatters, as shrunk ones do.
    structure = options.get("structure", "shrunk" if about["model"] == "rda" else "full")
    thin = "roots" in tensors and tensors["roots"].ndim == 3 and tensors["roots"].shape[1] < p
    spread = spread_of(structure, model.spread, thin=thin)
    own = _own_buffers(path, model, tensors, len(design.levels), p)
    constant = about["model"] in ("naive_bayes", "shrunken_centroids", "indicator", "knn")
    singular = is_regular(structure) or options.get("chosen") is not None or about["model"] == "indicator"
    moments = checked_moments(
        path, tensors, len(design.levels), p, spread, singular=singular, constant=constant,
        weighted=weighted,
    )  # fmt: skip
    prior = tensors["prior"]
    if prior.shape != moments.counts.shape or not (prior >= 0).all() or abs(prior.sum() - 1) > 1e-12:
        raise damaged(path, "its prior is no distribution over the classes")
    kept = None if keep is None else tuple(keep)
    blocks = without_rows(design, functions, weighted=weighted, keep=kept, left_out=gone, dropped=dropped)
    if earlier:
        refuse_collinear(path, about["model"], options, moments, blocks.terms)
    try:
        with np.errstate(all="ignore"):
            fit = model.fit(moments, prior, **options, **own)
        results = _results(about["model"])(fit, blocks, has_rows=False)
        wrong = without_score(results)
    except DiscrimError as error:
        raise damaged(path, str(error).rstrip(".")) from None
    except _BROKEN as error:
        raise damaged(path, f"its numbers do not go together ({type(error).__name__}: {error})") from None
    if wrong is not None:
        raise damaged(path, wrong)
    return results


def _own_buffers(path: Any, model: _Model, tensors: dict[str, Floats], k: int, p: int) -> dict[str, Floats]:
    """The model's own buffers, taken out of the others."""
    own = {}
    kept = {key: shape for key, shape in model.optional(k, p).items() if key in tensors}
    for key, shape in (model.shapes(k, p) | kept).items():
        found = tensors[key].shape if key in tensors else ()
        if (
            key not in tensors
            or len(found) != len(shape)
            or any(n not in (-1, m) for n, m in zip(shape, found, strict=True))
        ):
            raise damaged(path, f"{key!r} is not there in shape {shape}")
        own[key] = tensors.pop(key)
    return own
