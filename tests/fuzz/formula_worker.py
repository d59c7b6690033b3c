"""A process that fits formulas to a small table, and says of each what came of it.

It reads a line of JSON and writes one, until its input ends. It runs apart from the tests since a formula
may end the interpreter, or never end; who asks notices both.
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
from tests.fuzz.processor_time import ends_after

MEMORY = 3 * 2**30
SECONDS = 2.0
SECONDS_PER_CHARACTER = 1e-5
SECONDS_PER_TERM = 1e-4
"""A formula may have 50,000 terms, as the interactions of 300 columns: time may grow as terms do."""
HANG = 3.0
"""Of the time that the longest formula may take, what none needs."""
ROWS = 60
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

touched: list[str] = []


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what no formula may do: run programs or code, open a connection, write to a file."""
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if writes or event.startswith(FORBIDDEN):
        touched.append(f"{event} {str(arguments)[:200]}")


def table() -> pd.DataFrame:
    """Make a table with a column of each kind, under plain and odd names."""
    rng = np.random.default_rng(14)
    y = np.repeat(["a", "b", "c"], ROWS // 3)
    x = rng.normal(size=ROWS) + (y == "b")
    columns = {
        "y": y,
        "x": x,
        "z": np.where(np.arange(ROWS) % 17 == 5, np.nan, rng.exponential(size=ROWS)),
        "i": rng.integers(0, 9, ROWS),
        "g": pd.Categorical(rng.choice(["a", "b", "c"], ROWS)),
        "h": [f"level {j % 10}" for j in range(ROWS)],
        "b": rng.random(ROWS) < 0.5,
        "when": pd.date_range("2020-01-01", periods=ROWS),
        "k": 1.0,
        "v.1": rng.normal(size=ROWS) * 1e-9,
        "é": rng.normal(size=ROWS) * 1e9,
        "日本": rng.choice(["あ", "い"], ROWS),
    }
    for name in ("petal width", "a`b", "class", "1x", "x + z", "__x", "\n", "nan"):
        columns[name] = rng.normal(size=ROWS)
    return pd.DataFrame(columns)


def outcome(verb: str, formula: str, data: pd.DataFrame) -> tuple[str, str]:
    """Fit, predict, and give what came of it, and what is wrong with it."""
    touched.clear()
    start = time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            wrong = flaw(getattr(discrim, verb)(formula, data), data)
            found = ("wrong", wrong) if wrong else ("fitted", "")
        except DiscrimError as error:
            message = str(error)
            # A message may name some factors that are at fault, which are as long as one likes.
            short = 0 < len(message) < 10_000 + 12 * len(formula)
            found = ("refused", "") if short else ("message", f"{len(message)} characters")
        except MemoryError as error:
            found = ("memory", str(error))
        except Exception:
            found = ("error", traceback.format_exc(limit=-3))
    seconds = time.process_time() - start
    if found[0] not in ("fitted", "refused"):
        return found
    if touched:
        return "touched", "; ".join(touched)
    foreign = [str(w.message) for w in said if not issubclass(w.category, DiscrimWarning)]
    if foreign:
        return "warning", f"{foreign[0]}"
    if seconds > SECONDS and seconds > limit(formula):
        return "slow", f"{seconds:.1f} s to be {found[0]}"
    return found


def flaw(fit: Any, data: pd.DataFrame) -> str:
    """Say what is wrong with a fit: rows of it have posteriors, and these are of the row alone."""
    posteriors = fit.predict_proba(data) if hasattr(fit, "predict_proba") else None
    labels = fit.predict(data)
    if posteriors is None:
        return ""
    known = labels.notna().to_numpy()
    values = posteriors.to_numpy()
    if not np.isfinite(values[known]).all():
        return "a row with a label has no posteriors"
    if known.sum() and np.abs(values[known].sum(axis=1) - 1).max() > 1e-9:
        return "posteriors do not sum to 1"
    part = fit.predict_proba(data.iloc[::-7]).to_numpy()
    if not np.allclose(part, values[::-7], rtol=1e-6, atol=1e-9, equal_nan=True):
        return f"rows alone have other posteriors: {np.nanmax(np.abs(part - values[::-7])):.3g}"
    return ""


def limit(formula: str) -> float:
    """Give the seconds of processor time that a formula may take."""
    return SECONDS + len(formula) * SECONDS_PER_CHARACTER + terms(formula) * SECONDS_PER_TERM


def longest(formula: str) -> float:
    """Give the seconds of it after which a fit is taken for one that never ends, whatever its terms."""
    return HANG * (SECONDS + len(formula) * SECONDS_PER_CHARACTER + MAX_TERMS * SECONDS_PER_TERM)


def terms(formula: str) -> int:
    """Count the terms of the right side of a formula, written out; 0 for one that cannot be read."""
    try:
        source = scan(formula)
        return len(Expansion(source, leaf).expand(parse_sides(source)[1]).terms)
    except DiscrimError:
        return 0


def leaf(node: Any) -> dict[frozenset[str], tuple[str, ...]]:
    """Give what stands in a formula as it is written: `.` counts as one term."""
    text = str(node.token.extra)
    return {frozenset({text}): (text,)}


def main() -> None:
    """Answer until there are no more questions."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    data = table()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="ascii")
    sys.stdout = sys.stderr
    for verb in ("lda", "qda", "naive_bayes", "logistic", "knn", "indicator"):
        # What is imported where it is first used is no deed of a formula.
        outcome(verb, "y ~ poly(x, 2) + bs(x, df=4) + cr(x, df=3) + C(g, Sum) + center(z)", data)
    sys.addaudithook(watch)
    answers.write('["ready", ""]\n')
    answers.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        with ends_after(longest(asked["formula"])):
            found = outcome(asked["verb"], asked["formula"], data)
        answers.write(json.dumps(found) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
