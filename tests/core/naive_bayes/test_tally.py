"""Tallies of blocks with and without weights."""

from __future__ import annotations

import numpy as np

from discrim.core.naive_bayes.tally import ColumnPlan, Tally


def test_blocks_without_weights_count_once_next_to_weighted_blocks():
    plan = ColumnPlan(np.array([2]), np.zeros(1, dtype=np.intp), np.zeros(1))
    tally = Tally(plan, 2)
    tally.add_block(np.array([[1.0], [2.0]]), np.array([0, 1]), np.array([0.5, 2.0]))
    tally.add_block(np.array([[3.0], [4.0], [5.0]]), np.array([1, 0, 0]), None)
    ((first, second),) = tally.values_by_class()
    assert (first[0].tolist(), first[1].tolist()) == ([1.0, 4.0, 5.0], [0.5, 1.0, 1.0])
    assert (second[0].tolist(), second[1].tolist()) == ([2.0, 3.0], [2.0, 1.0])
