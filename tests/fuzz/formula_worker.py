"""Process that fits formulas to a small table and reports the outcome of each.

It reads a line of JSON and writes one, until its input ends. It is separate from the tests because a
formula may crash the interpreter or never end, which the tests detect.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
import warnings
from typing import Any

import numpy as np
import pandas as pd

import discrim
from discrim.errors import DiscrimError, DiscrimWarning
from discrim.formula.formula import Expansion, parse_sides
from discrim.formula.grammar import MAX_TERMS, scan
from tests.fuzz.processor_time import kill_after

MEMORY_BYTES = 3 * 2**30
SECONDS = 2.0
SECONDS_PER_CHARACTER = 1e-5
SECONDS_PER_TERM = 1e-4
"""A formula may have 50,000 terms (interactions of 300 columns); its time grows with their number."""
HANG_FACTOR = 3.0
"""Multiple of the time of the longest formula after which a fit is considered to hang."""
N_ROWS = 60
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.",
    "socket.",
    "shutil.",
    "os.remove",
    "ctypes.",
    "exec",
    "pickle.",
)

forbidden_events: list[str] = []


def record_forbidden_event(event: str, arguments: tuple[Any, ...]) -> None:
    """Record audit events that no formula may cause: running programs or code, connecting, writing files."""
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if writes or event.startswith(FORBIDDEN):
        forbidden_events.append(f"{event} {str(arguments)[:200]}")


def make_table() -> pd.DataFrame:
    """Return a table with a column of each type, under plain and odd names."""
    rng = np.random.default_rng(14)
    y = np.repeat(["a", "b", "c"], N_ROWS // 3)
    x = rng.normal(size=N_ROWS) + (y == "b")
    columns = {
        "y": y,
        "x": x,
        "z": np.where(np.arange(N_ROWS) % 17 == 5, np.nan, rng.exponential(size=N_ROWS)),
        "i": rng.integers(0, 9, N_ROWS),
        "g": pd.Categorical(rng.choice(["a", "b", "c"], N_ROWS)),
        "h": [f"level {j % 10}" for j in range(N_ROWS)],
        "b": rng.random(N_ROWS) < 0.5,
        "when": pd.date_range("2020-01-01", periods=N_ROWS),
        "k": 1.0,
        "v.1": rng.normal(size=N_ROWS) * 1e-9,
        "é": rng.normal(size=N_ROWS) * 1e9,
        "日本": rng.choice(["あ", "い"], N_ROWS),
    }
    for name in ("petal width", "a`b", "class", "1x", "x + z", "__x", "\n", "nan"):
        columns[name] = rng.normal(size=N_ROWS)
    return pd.DataFrame(columns)


def try_formula(verb: str, formula: str, data: pd.DataFrame) -> tuple[str, str]:
    """Fit a formula and predict; return the outcome and its details."""
    forbidden_events.clear()
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            flaw_text = find_flaw(getattr(discrim, verb)(formula, data), data)
            result = ("wrong", flaw_text) if flaw_text else ("fitted", "")
        except DiscrimError as error:
            message = str(error)
            # A message may contain faulty factors, which can have any length.
            short = 0 < len(message) < 10_000 + 12 * len(formula)
            result = ("refused", "") if short else ("message", f"{len(message)} characters")
        except MemoryError as error:
            result = ("memory", str(error))
        except Exception:
            result = ("error", traceback.format_exc(limit=-3))
    seconds = time.process_time() - start
    if result[0] not in ("fitted", "refused"):
        return result
    if forbidden_events:
        return "touched", "; ".join(forbidden_events)
    other_warnings = [str(w.message) for w in caught if not issubclass(w.category, DiscrimWarning)]
    if other_warnings:
        return "warning", f"{other_warnings[0]}"
    if seconds > SECONDS and seconds > time_limit(formula):
        return "slow", f"{seconds:.1f} s to be {result[0]}"
    return result


def find_flaw(fit: Any, data: pd.DataFrame) -> str:
    """Describe what is wrong with the predictions of a fit, or return an empty text."""
    posteriors = fit.predict_proba(data) if hasattr(fit, "predict_proba") else None
    labels = fit.predict(data)
    if posteriors is None:
        return ""
    has_label = labels.notna().to_numpy()
    values = posteriors.to_numpy()
    if not np.isfinite(values[has_label]).all():
        return "a row with a label has no posteriors"
    if has_label.sum() and np.abs(values[has_label].sum(axis=1) - 1).max() > 1e-9:
        return "posteriors do not sum to 1"
    alone = fit.predict_proba(data.iloc[::-7]).to_numpy()
    if not np.allclose(alone, values[::-7], rtol=1e-6, atol=1e-9, equal_nan=True):
        return f"posteriors depend on the other rows: {np.nanmax(np.abs(alone - values[::-7])):.3g}"
    return ""


def time_limit(formula: str) -> float:
    """Return the processor seconds that a formula may take."""
    return SECONDS + len(formula) * SECONDS_PER_CHARACTER + count_terms(formula) * SECONDS_PER_TERM


def hang_limit(formula: str) -> float:
    """Return the processor seconds after which a formula is considered to hang, whatever its terms."""
    return HANG_FACTOR * (SECONDS + len(formula) * SECONDS_PER_CHARACTER + MAX_TERMS * SECONDS_PER_TERM)


def count_terms(formula: str) -> int:
    """Count the expanded terms of the right side of a formula; 0 if it cannot be parsed."""
    try:
        source = scan(formula)
        return len(Expansion(source, expand_leaf).expand(parse_sides(source)[1]).terms)
    except DiscrimError:
        return 0


def expand_leaf(node: Any) -> dict[frozenset[str], tuple[str, ...]]:
    """Expand a leaf of a formula to itself: `.` counts as one term."""
    text = str(node.token.extra)
    return {frozenset({text}): (text,)}


def main() -> None:
    """Answer requests until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    data = make_table()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="ascii")
    sys.stdout = sys.stderr
    for verb in ("lda", "qda", "naive_bayes", "logistic", "knn", "indicator"):
        # Imports at first use would be recorded as forbidden events of a formula.
        try_formula(verb, "y ~ poly(x, 2) + bs(x, df=4) + cr(x, df=3) + C(g, Sum) + center(z)", data)
    sys.addaudithook(record_forbidden_event)
    answers.write('["ready", ""]\n')
    answers.flush()
    for line in sys.stdin:
        request = json.loads(line)
        with kill_after(hang_limit(request["formula"])):
            result = try_formula(request["verb"], request["formula"], data)
        answers.write(json.dumps(result) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
