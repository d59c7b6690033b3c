"""Loops over small matrices run with one thread of BLAS, and leave the number of threads as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

import discrim
from discrim.core.mixtures import em
from discrim.core.numerics.threads import MIN_WORK_FOR_THREADS, all_blas_threads, one_blas_thread
from discrim.datasets import load_iris
from discrim.design.design_rows import DesignRows


def blas_threads():
    """Return the numbers of threads of the BLAS libraries that can have several."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    assert scipy.linalg.blas  # SciPy has a BLAS of its own, which a later import would load.
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


THREADS_ONE_AFTER_THE_OTHER = """
import threading
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from discrim.core.numerics.threads import MIN_WORK_FOR_THREADS, all_blas_threads, one_blas_thread

def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

def other():
    with one_blas_thread():
        print(*blas_threads())
    with threadpool_limits(1, user_api="blas"):
        print(*blas_threads())

print(*blas_threads())
with one_blas_thread(), all_blas_threads(MIN_WORK_FOR_THREADS):
    print(*blas_threads())
for _ in range(2):
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
print(*blas_threads())
"""


def test_a_thread_that_used_the_limit_lets_others_set_theirs():
    """threadpoolctl obeys one thread of Python at a time."""
    process = subprocess.run(
        [sys.executable, "-c", THREADS_ONE_AFTER_THE_OTHER],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    if not process.stdout.startswith("2"):
        pytest.skip("this BLAS cannot have two threads")
    assert process.stdout.split() == ["2", "2", *"1111", "2"]


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


def threads_of_passes(monkeypatch, n, p):
    """Return the numbers of threads during the passes of a fit of n simulated rows with p columns."""
    seen = set()
    iter_blocks = DesignRows._iter_chunk_blocks

    def observed(design_rows, *arguments, **options):
        for block in iter_blocks(design_rows, *arguments, **options):
            seen.update(blas_threads())
            yield block

    monkeypatch.setattr(DesignRows, "_iter_chunk_blocks", observed)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((n, p))).rename(columns="x{}".format)
    discrim.lda("y ~ .", table.assign(y=np.arange(n) % 2))
    return seen


def test_threads_of_a_pass_depend_on_its_size(monkeypatch):
    assert threads_of_passes(monkeypatch, 500, 50) == {1}
    assert threads_of_passes(monkeypatch, 1_700, 250) == {2}
    assert blas_threads() == {2}


def test_a_large_block_uses_all_threads_within_the_limit():
    with one_blas_thread():
        with all_blas_threads(MIN_WORK_FOR_THREADS):
            assert blas_threads() == {2}
            with all_blas_threads(MIN_WORK_FOR_THREADS):
                assert blas_threads() == {2}
            assert blas_threads() == {2}
        assert blas_threads() == {1}
        with all_blas_threads(MIN_WORK_FOR_THREADS / 2):
            assert blas_threads() == {1}
    with all_blas_threads(MIN_WORK_FOR_THREADS / 2):
        assert blas_threads() == {2}


def test_an_iterator_that_is_abandoned_sets_no_limit():
    def blocks():
        for _ in range(2):
            with all_blas_threads(MIN_WORK_FOR_THREADS):
                yield blas_threads()

    with one_blas_thread():
        iterator = blocks()
        assert next(iterator) == {2}
    iterator.close()
    assert blas_threads() == {2}


def test_an_iterator_that_is_abandoned_within_the_limit_restores_it():
    def blocks():
        with all_blas_threads(MIN_WORK_FOR_THREADS):
            yield blas_threads()

    with one_blas_thread():
        iterator = blocks()
        next(iterator)
        iterator.close()
        assert blas_threads() == {1}
    assert blas_threads() == {2}
