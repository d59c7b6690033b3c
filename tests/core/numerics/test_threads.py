"""Loops over small matrices run with one thread of BLAS, and leave the number of threads as it was."""

from __future__ import annotations

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import discrim
from discrim.core.mixtures import em
from discrim.core.numerics.threads import one_blas_thread
from discrim.datasets import load_iris


def blas_threads():
    """Return the numbers of threads of the BLAS libraries that can have several."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS cannot have two threads")
        yield


def test_nested_blocks_restore_the_number_of_threads():
    with one_blas_thread():
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_an_error_restores_the_number_of_threads():
    with pytest.raises(ValueError, match="stop"), one_blas_thread():
        raise ValueError("stop")
    assert blas_threads() == {2}


def test_blocks_that_overlap_in_two_threads_restore_the_number_of_threads():
    entered, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        entered.wait(10)
        assert blas_threads() == {1}
    leave.set()
    thread.join(10)
    assert blas_threads() == {2}


def test_a_mixture_is_fitted_with_one_thread(monkeypatch):
    seen = set()
    iterate_em = em.iterate_em

    def observed(*arguments, **options):
        seen.update(blas_threads())
        return iterate_em(*arguments, **options)

    monkeypatch.setattr(em, "iterate_em", observed)
    discrim.mixture("species ~ .", load_iris(), components=2)
    assert seen == {1}
    assert blas_threads() == {2}
