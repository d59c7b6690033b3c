"""Random formulas are fitted, or refused by an error of the package, within seconds."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.fuzz.formulas import random_formula
from tests.fuzz.processor_time import MAX_WAIT_SECONDS, was_killed
from tests.support import ROOT

VERBS = ["lda", "lda", "lda", "lda", "qda", "naive_bayes", "logistic", "knn", "indicator"]


class Worker:
    """The process that fits formulas; it is restarted if it dies or hangs."""

    def __init__(self, limit: float = MAX_WAIT_SECONDS) -> None:
        self._limit = limit
        self._process: subprocess.Popen[bytes] | None = None

    def fit(self, verb: str, formula: str) -> tuple[str, str]:
        """Return the outcome of a fit and its details."""
        if self._process is None:
            self.start()
        question = json.dumps({"verb": verb, "formula": formula}) + "\n"
        answer = self._send(question.encode("ascii"), self._limit)
        if answer is not None:
            outcome, detail = json.loads(answer)
            return outcome, detail
        return self._describe_exit()

    def start(self) -> None:
        """Start the process, and wait until it has imported what it needs."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.formula_worker"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        ready = self._send(b"", 120.0)
        if ready is None:
            pytest.fail(f"the worker does not start: {self._describe_exit()}")

    def _send(self, question: bytes, limit: float) -> bytes | None:
        """Send a line and return the answer, or None if there is none in time."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(question)
            process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], limit)
        return process.stdout.readline() or None if ready else None

    def _describe_exit(self) -> tuple[str, str]:
        """Kill the process if it still runs; return how it ended."""
        process, self._process = self._process, None
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2.0)
        status = process.poll()
        if status is None:
            process.kill()
        errors = process.communicate()[1].decode(errors="replace")[-1500:]
        if status is None:
            return "hang", f"waits for {self._limit:.0f} s"
        if was_killed(status):
            return "hang", f"too much processor time: {errors}"
        return "crash", f"status {status}: {errors}"

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@pytest.fixture
def worker() -> Iterator[Worker]:
    if os.name == "nt":
        pytest.skip("Windows has no limits of processes")
    worker = Worker()
    worker.start()
    yield worker
    worker.close()


@pytest.mark.slow
def test_formula_is_fitted_or_raises_a_discrim_error(fuzz, worker):
    for rng in fuzz:
        formula, verb = random_formula(rng), rng.choice(VERBS)
        outcome, detail = worker.fit(verb, formula)
        fuzz.count(outcome)
        if outcome not in {"fitted", "refused"}:
            shown = formula if len(formula) <= 500 else f"{formula[:400]} ... of {len(formula)}"
            fuzz.report(f"{outcome} of {verb}({shown!r}): {detail}")
