"""What a verb says of its table is what it takes."""

from __future__ import annotations

import inspect

import pytest

import discrim
from discrim.datasets import load_iris
from discrim.errors import NotSupportedError

IRIS = load_iris()
PARTS = [IRIS[:70], IRIS[70:]]
ASKED = {
    "fda": {"engine": None},
    "kernel_density": {"bandwidth": 1.0},
    "kernel_lda": {},
    "knn": {"k": 3},
    "hyperplane": {},
    "perceptron": {"maxiter": 5},
    "mixture": {"components": 1},
    "logistic": {"bias_reduction": True},
    "stepwise": {},
    "lda": {},
    "indicator": {},
    "nearest_centroid": {},
    "rda": {"alpha": 0.5, "gamma": 0.5},
    "pls": {"ncomp": 2},
    "sparse_lda": {"penalty": 0.1},
    "shrunken_centroids": {"threshold": 0.5},
}


@pytest.mark.parametrize("verb", ASKED)
@pytest.mark.parametrize("once", [False, True], ids=["function", "iterator"])
def test_a_source_is_refused_where_the_docstring_says_so(verb, once):
    called = getattr(discrim, verb)
    text = " ".join((inspect.getdoc(called) or "").split())
    refused = "read part by part, such as a file or a DataFrame of Dask, is refused" in text
    refused |= once and "so that such an iterator, or a stream, is refused" in text
    data = iter(PARTS) if once else lambda: iter(PARTS)
    if refused:
        with pytest.raises(NotSupportedError, match=r"part by part|only once"):
            called("species ~ .", data, **ASKED[verb])
    else:
        assert called("species ~ .", data, **ASKED[verb]) is not None
