"""Estimates in the form of a file: what is written comes back, and other types are refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import pytest

from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.model import CovarianceModel, FullCovariance
from discrim.core.covariance.shrinkage import Shrinkage
from discrim.core.covariance.shrunk import ShrunkCovariance
from discrim.core.errors import InvalidStateError
from discrim.core.numerics.arrays import NOT_STORED, Codes, Floats
from discrim.models.base.stored import StoredEstimates, decode_arguments, encode_estimates


class Pair(NamedTuple):
    low: float
    high: float


@dataclass
class Part:
    values: Floats
    name: str
    weights: Floats | None = None


@dataclass
class Whole:
    count: int
    share: float | None
    by: Literal["rows", "columns"]
    wanted: int | float | str
    codes: Codes
    pair: Pair
    parts: tuple[Part, ...]
    covariances: tuple[Covariance, ...]
    covariance_model: CovarianceModel
    labels: tuple[tuple[int, ...], ...] = ()
    cache: object = field(default=None, metadata=NOT_STORED)


def whole() -> Whole:
    chunks = (Part(np.arange(6.0).reshape(2, 3), "a"), Part(np.ones(2), "b", np.array([0.5, 2.0])))
    roots = (np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([1.0, 2.0]))
    model = ShrunkCovariance(Shrinkage("loo", (0.25,), (0.0, 0.25)))
    return Whole(
        3, None, "rows", 0.9, np.array([0, 2, 1]), Pair(0.0, 1.0), chunks,
        tuple(Covariance.from_root(root) for root in roots), model, ((0, 1), ()), cache=object(),
    )  # fmt: skip


def with_fields(**changes) -> StoredEstimates:
    stored = encode_estimates(Whole, whole())
    arrays = {name: changes.pop(name, array) for name, array in stored.arrays.items()}
    return StoredEstimates(stored.values | changes, arrays)


def test_all_types_come_back():
    before = whole()
    after = Whole(**decode_arguments(Whole, encode_estimates(Whole, before)))
    for name in ("count", "share", "by", "wanted", "pair", "labels"):
        assert getattr(after, name) == getattr(before, name)
    assert isinstance(after.pair, Pair)
    assert after.cache is None
    np.testing.assert_array_equal(after.codes, before.codes)
    assert after.codes.dtype == np.intp
    for chunk, expected in zip(after.parts, before.parts, strict=True):
        np.testing.assert_array_equal(chunk.values, expected.values)
        assert chunk.name == expected.name
    assert after.parts[0].weights is None
    np.testing.assert_array_equal(after.parts[1].weights, before.parts[1].weights)
    for covariance, expected in zip(after.covariances, before.covariances, strict=True):
        np.testing.assert_array_equal(covariance.root, expected.root)
    assert after.covariance_model == ShrunkCovariance(Shrinkage("loo", (0.25,)))


def test_unknown_covariance_models_are_refused():
    stored = with_fields(covariance_model={"class": "FullCovariance"})
    assert decode_arguments(Whole, stored)["covariance_model"] == FullCovariance()


@pytest.mark.parametrize(
    "changes",
    [
        {"count": 3.0},
        {"count": True},
        {"count": None},
        {"share": "0.5"},
        {"by": "cells"},
        {"wanted": None},
        {"codes": np.array([0.5, 1.0, 2.0])},
        {"pair": [0.0, 1.0]},
        {"pair": {"low": 0.0}},
        {"labels": [[0, 1.5]]},
        {"labels": {"items": [], "shapes": {}, "more": 1}},
        {"covariance_model": {"class": "StandardizedTargetUnits"}},
        {"covariance_model": {"class": "os.system"}},
        {"covariance_model": {}},
        {"covariance_model": {"class": "FullCovariance", "rank": 2}},
        {"covariances": np.zeros(6)},
        {"parts.values": np.zeros(7)},
        {"unknown": 1},
    ],
)
def test_other_types_are_refused(changes):
    with pytest.raises(InvalidStateError):
        decode_arguments(Whole, with_fields(**changes))


@pytest.mark.parametrize("name", ["codes", "parts.values", "covariances"])
def test_a_missing_array_is_refused(name):
    stored = encode_estimates(Whole, whole())
    del stored.arrays[name]
    with pytest.raises(InvalidStateError):
        decode_arguments(Whole, stored)


def test_additional_arrays_are_refused():
    stored = encode_estimates(Whole, whole())
    stored.arrays["more"] = np.zeros(2)
    with pytest.raises(InvalidStateError):
        decode_arguments(Whole, stored)
