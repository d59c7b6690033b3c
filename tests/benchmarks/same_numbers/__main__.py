"""Compute digests of the results of every verb, and compare them between two checkouts.

    python -m tests.benchmarks.same_numbers OUT.json [--against BEFORE.json] [--package FOLDER] [--only TEXT]

OUT.json contains the SHA-256 of the exact bytes of each result and the beginning of its text. With
`--against`, results that differ from BEFORE.json or are missing are printed, and the exit status is then 1;
new results are only counted. `--package` is the folder of another checkout whose `discrim` is used, `--only`
selects the fits whose name contains a text, and `--times` prints the seconds of the slowest. Compare only
runs on the same machine with the same NumPy, SciPy and BLAS, on which the last bit of a product depends. A
run uses one thread and takes about three minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ERRORS = ("apparent", "loo", "cv", "D", "DS", "O", "OS", "posterior", "posterior-stratified")


def record_fit(record: Any, key: str, fit: Any, data: Any) -> None:
    """All that is asked of one fit."""
    from tests.benchmarks.same_numbers.digests import is_result

    record.put(f"{key} type", type(fit).__name__)
    record.walk(key, fit)
    record.ask(f"{key} html", fit._repr_html_)
    first, last = fit.classes[0], fit.classes[-1]
    few = data.iloc[[0, len(data) // 2, -1]]
    arguments: dict[str, list[dict[str, Any]]] = {
        "predict": [{"data": few}, {"prior": "equal"}, {"reject": 0.8}, {"costs": 1 - _unit(fit)}],
        "predict_proba": [
            {"data": few}, {"prior": "equal"}, {"method": "predictive"}, {"method": "debiased"},
            {"convention": "MASS"},
        ],
        "confusion": [{"method": "loo"}, {"method": "cv", "folds": 5, "seed": 2}],
        "error_rates": [{"methods": [each], "folds": 5, "seed": 2} for each in ERRORS],
        "canonical": [{"convention": each} for each in ("mass", "stata", "sas", "spss", "sklearn")],
        "log_odds": [{"level": 0.9}, {"reference": last}, {"debiased": True}],
        "boundary": [{"a": first, "b": last}],
        "quadratic": [{"a": first, "b": last}],
        "conf_int": [{"level": 0.9}],
        "lr_test": [{"by": "term"}],
        "density": [{"term": str(fit.terms[0])}],
        "augment": [{"data": few}],
        "leave_one_out": [{"refit_prior": True}],
    }  # fmt: skip
    for name, each in arguments.items():
        for options in each:
            if not _has(fit, name):
                continue
            said = ", ".join(f"{option}={_short(value)}" for option, value in options.items())
            path = f"{key}.{name}({said})"
            part = record.ask(path, partial(getattr(fit, name), **options))
            if is_result(part):
                record.walk(path, part, 0)
    record_copies(record, key, fit, data)


def record_copies(record: Any, key: str, fit: Any, data: Any) -> None:
    """What a fit gives that was saved and loaded, or pickled."""
    import discrim

    record.ask(f"{key} saved", partial(fit.save, "fit"))
    copies = {"pickled": record.ask(f"{key} pickled", lambda: pickle.loads(pickle.dumps(fit)))}
    if Path("fit").exists():
        record.put(f"{key} file", Path("fit").read_bytes().hex())
        copies["loaded"] = record.ask(f"{key} loaded", partial(discrim.load, "fit"))
        Path("fit").unlink()
    for name, one in copies.items():
        if isinstance(one, BaseException):
            continue
        record.ask(f"{key} {name} repr", partial(repr, one))
        for method in ("predict", "predict_log_proba", "decision_function"):
            record.ask(f"{key} {name}.{method}(data)", partial(_call, one, method, data))
        record.ask(f"{key} {name}.glance()", one.glance)
        record.ask(f"{key} {name}.summary()", lambda one=one: str(one.summary()))


def _call(fit: Any, method: str, data: Any) -> Any:
    # Reading a method that the fit does not have raises its error.
    return getattr(fit, method)(data)


def _unit(fit: Any) -> Any:
    import numpy as np

    return np.eye(len(fit.classes))


def _short(value: Any) -> str:
    return type(value).__name__ if getattr(value, "ndim", 0) else str(value)


def _has(fit: Any, name: str) -> bool:
    return callable(getattr(fit, name, None))


def collect(only: str, times: bool) -> dict[str, list[str]]:
    """Every digest, or those of keys with a text in them."""
    import discrim
    from tests.benchmarks.same_numbers import cases, refusals
    from tests.benchmarks.same_numbers.digests import Record, is_result

    record = Record()
    spent: list[tuple[float, str]] = []
    start = time.perf_counter()

    def wanted(key: str) -> bool:
        nonlocal start
        spent.append((time.perf_counter() - start, key))
        start = time.perf_counter()
        return only in key

    for table, name, (verb, formula, options) in cases.fits():
        key, data = f"{table}: {name}", cases.tables()[table]
        if wanted(key):
            fit = record.ask(f"{key} fit", partial(getattr(discrim, verb), formula, data, **options))
            if not isinstance(fit, BaseException):
                record_fit(record, key, fit, data)
    for name, made in (cases.laws() | cases.verbs()).items():
        if wanted(name):
            held = record.ask(name, made)
            if is_result(held):
                record.walk(name, held)
    for name, made in refusals.refusals().items():
        if wanted(f"refused: {name}"):
            record.ask(f"refused: {name}", made)
    if not only:
        refusals.public_names(record)
        refusals.command_line(record)
        refusals.of_scikit_learn(record)
    wanted("")
    if times:
        before = [key for _, key in spent]
        for (seconds, _), key in sorted(zip(spent[1:], before, strict=False), reverse=True)[:25]:
            print(f"{seconds:7.2f} s  {key}")
    return record.held


def write(out: str, only: str, times: bool) -> None:
    """Collect in a folder of its own, so that files have the same names at both ends, and write."""
    import numpy as np
    import pandas as pd
    import scipy

    versions = {"python": platform.python_version(), "cpu": platform.machine()}
    versions |= {library.__name__: library.__version__ for library in (np, scipy, pd)}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        held = collect(only, times)
        os.chdir(Path(out).parent)
    Path(out).write_text(
        json.dumps({"versions": versions, "digests": held}, indent=0, ensure_ascii=False) + "\n"
    )
    print(f"{len(held)} digests")


def differences(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print what differs, and count it."""
    for library, version in before["versions"].items():
        other = after["versions"].get(library)
        if other != version:
            print(
                f"{library} {version} became {after['versions'].get(library)}: last bits may differ by that."
            )
    was, now = before["digests"], after["digests"]
    changed = [key for key in was if key not in now or now[key][0] != was[key][0]]
    for key in changed:
        print(f"{key}\n    before: {was[key][1]}\n    after:  {now[key][1] if key in now else 'not there'}")
    print(f"{len(changed)} of {len(was)} differ; {len(now.keys() - was.keys())} are new.")
    return len(changed)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.same_numbers")
    parser.add_argument("out", help="file for the digests")
    parser.add_argument("--against", help="digests to compare with")
    parser.add_argument("--package", default=".", help="folder of the checkout whose discrim is asked")
    parser.add_argument("--only", default="", help="take the fits whose name holds this text")
    parser.add_argument("--times", action="store_true", help="print the fits that take longest")
    asked = parser.parse_args()
    package, own = str(Path(asked.package).resolve()), str(Path(__file__).resolve().parents[3])
    out = str(Path(asked.out).resolve())
    # The package first, then the cases: the other checkout may have tests of the same names. It is a process
    # of its own, as threads are counted when numpy is imported.
    code = (
        f"import sys; sys.path[:0] = [{package!r}]; import discrim; sys.path[:0] = [{own!r}]; "
        "from tests.benchmarks.same_numbers.__main__ import write; "
        f"write({out!r}, {asked.only!r}, {asked.times!r})"
    )
    environment = os.environ | ONE_THREAD | {"PYTHONHASHSEED": "0"}
    ended = subprocess.run([sys.executable, "-P", "-c", code], env=environment, check=False)
    if ended.returncode:
        return ended.returncode
    if asked.against is None:
        return 0
    before, after = (json.loads(Path(file).read_text(encoding="utf-8")) for file in (asked.against, out))
    if asked.only:
        before["digests"] = {key: value for key, value in before["digests"].items() if asked.only in key}
    return min(1, differences(before, after))


if __name__ == "__main__":
    sys.exit(main())
