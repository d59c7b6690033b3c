"""Shuffled labels: every labelling that a design allows, each as often, and no other."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from discrim.inference.resampling import LabelPermutation, find_mixed_unit, permutation_pvalue


def every_labelling(codes, blocks):
    """All labellings of units that keep the labels of each block, by brute force."""
    labellings = set()
    for order in permutations(range(len(codes))):
        permuted = np.array(order)
        if (blocks[permuted] == blocks).all():
            labellings.add(tuple(codes[permuted].tolist()))
    return labellings


@pytest.mark.parametrize(
    ("codes", "blocks"),
    [([0, 0, 1, 1, 2], [0] * 5), ([0, 1, 0, 1, 1, 0], [0, 0, 1, 1, 1, 1]), ([0, 1, 1, 1], [5, 5, 5, 2])],
)
def test_every_labelling_of_rows_is_equally_likely(codes, blocks):
    codes, blocks = np.array(codes), np.array(blocks)
    expected = every_labelling(codes, blocks)
    shuffle, rng = LabelPermutation.from_codes(codes, None, blocks), np.random.default_rng(1)
    assert np.exp(shuffle.log_n_labellings()) == pytest.approx(len(expected))
    labellings = [tuple(shuffle.random_codes(rng).tolist()) for _ in range(200 * len(expected))]
    counts = [labellings.count(each) for each in expected]
    assert set(labellings) == expected
    assert stats.chisquare(counts).pvalue > 1e-4


def test_whole_units_exchange_labels():
    units, codes = np.array([7, 3, 7, 5, 5, 9, 3]), np.array([0, 1, 0, 0, 0, 1, 1])
    shuffle, rng = LabelPermutation.from_codes(codes, units, None), np.random.default_rng(0)
    labellings = {tuple(shuffle.random_codes(rng).tolist()) for _ in range(300)}
    # Two of four units are of class 1.
    assert len(labellings) == 6 == round(np.exp(shuffle.log_n_labellings()))
    for labelling in labellings:
        of_units = {unit: {c for u, c in zip(units, labelling, strict=True) if u == unit} for unit in units}
        assert all(len(unit_labels) == 1 for unit_labels in of_units.values())
        assert sorted(min(unit_labels) for unit_labels in of_units.values()) == [0, 0, 1, 1]


def test_a_unit_with_two_codes_is_found():
    assert find_mixed_unit(np.array([0, 0, 1]), np.array([2, 2, 0])) is None
    assert find_mixed_unit(np.array([0, 4, 1, 3]), np.array([1, 1, 0, 0])) == (1, 0, 4)


def test_the_p_value_counts_the_observed_labels_and_ties():
    assert permutation_pvalue(0.5, np.array([0.5 - 1e-16, 0.1, 0.9])) == 3 / 4
    assert permutation_pvalue(1.0, np.zeros(999)) == 1 / 1000
