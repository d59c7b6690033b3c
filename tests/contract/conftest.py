"""In long modules, the fast tests ask one verb for each kind of rule, and the slow tests all others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discrim

REPRESENTATIVES = {"lda", "qda", "naive_bayes", "logistic", "knn", "kernel_lda", "mixture", "hyperplane"}
"""Verbs with a pooled covariance, covariances of classes, independent columns, an iterative fit, neighbours,
a kernel, components, and a plane without posteriors."""

OTHERS = set(discrim.__all__) - REPRESENTATIVES

LONG_MODULES = {
    "test_attributes.py", "test_available.py", "test_contract.py", "test_hyperplane_contract.py",
    "test_options.py", "test_ownership.py", "test_pickles_and_files.py", "test_result_tables.py",
    "test_sources.py", "test_summary_lines.py", "test_unused_rows.py",
}  # fmt: skip
"""Modules whose cases of the other verbs take more than half a second together."""


def verbs_of(item: pytest.Item) -> set[str]:
    """Return the first words of the string parameters of a case, such as "lda" of "lda, robust"."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return {re.split("[-, ]", value)[0] for value in parameters if isinstance(value, str)}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        is_long = item.path.parent == Path(__file__).parent and item.path.name in LONG_MODULES
        if is_long and verbs_of(item) & OTHERS:
            item.add_marker(pytest.mark.slow)
