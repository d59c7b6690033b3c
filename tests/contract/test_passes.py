"""Passes over a source are never nested: a DuckDB connection does not allow that."""

from __future__ import annotations

import warnings

import pytest

import discrim
from tests.contract.test_sources import BY_PASSES, JUDGED, rows

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def relation():
    data = rows(120)
    connection = duckdb.connect()
    connection.register("given", data)
    # A connection that nobody holds is closed, and its relations with it.
    yield connection.sql("select * from given")
    connection.close()


OFTEN = ("lda", "rda chosen", "naive_bayes", "logistic")


@pytest.mark.parametrize(
    "case", [case if case in OFTEN else pytest.param(case, marks=pytest.mark.slow) for case in BY_PASSES]
)
def test_fit_reads_its_source_sequentially(case, relation):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = getattr(discrim, case.split()[0])("y ~ a + b + n", relation, **BY_PASSES[case])
        assert fit.summary().as_text()
        assert len(fit.predict()) == 120
        assert fit.confusion().to_numpy().sum() > 100


@pytest.mark.parametrize("what", JUDGED)
def test_evaluation_reads_its_source_sequentially(what, relation):
    JUDGED[what](discrim.lda("y ~ a + center(b) + g", relation, weights="w"))
