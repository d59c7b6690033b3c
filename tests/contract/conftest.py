"""The fast tests ask the contract of one verb for each kind of rule, and the slow tests of all others."""

from __future__ import annotations

import re

import pytest

import discrim

REPRESENTATIVES = {"lda", "qda", "naive_bayes", "logistic", "knn", "kernel_lda", "mixture"}
"""Verbs with a pooled covariance, covariances of classes, independent columns, an iterative fit, neighbours,
a kernel, and components."""

OTHERS = set(discrim.__all__) - REPRESENTATIVES


def verbs_of(item: pytest.Item) -> set[str]:
    """Return the first words of the string parameters of a case, such as "lda" of "lda, robust"."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return {re.split("[-, ]", value)[0] for value in parameters if isinstance(value, str)}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/contract/") and verbs_of(item) & OTHERS:
            item.add_marker(pytest.mark.slow)
