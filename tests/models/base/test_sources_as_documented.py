"""What a verb says of its table is what it takes."""

from __future__ import annotations

import inspect
import re

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


IN_MEMORY = {"fda", "kernel_density", "kernel_lda", "knn", "hyperplane", "perceptron"}
"""Verbs that compare single rows. `kernel_lda` takes sources with `components=` only."""

READ_AGAIN = {"mixture", "logistic", "stepwise"}
"""Verbs that read the rows more than once."""


@pytest.mark.parametrize("verb", ASKED)
@pytest.mark.parametrize("once", [False, True], ids=["function", "iterator"])
def test_a_source_is_read_or_refused_as_documented(verb, once):
    called = getattr(discrim, verb)
    data = iter(PARTS) if once else lambda: iter(PARTS)
    if verb in IN_MEMORY or (once and verb in READ_AGAIN):
        with pytest.raises(NotSupportedError, match=r"part by part|in chunks|only once"):
            called("species ~ .", data, **ASKED[verb])
    else:
        assert called("species ~ .", data, **ASKED[verb]) is not None


@pytest.mark.parametrize("verb", ASKED)
def test_the_docstring_names_the_sources_that_a_verb_takes(verb):
    entry = re.search(r"\ndata : ([^\n]*)\n((?: [^\n]*\n)+)", inspect.getdoc(getattr(discrim, verb)) or "")
    takes_sources = verb not in IN_MEMORY
    assert ("source of tables" in entry[1]) == takes_sources
    if takes_sources:
        assert ("more than once" in " ".join(entry[2].split())) == (verb in READ_AGAIN)
