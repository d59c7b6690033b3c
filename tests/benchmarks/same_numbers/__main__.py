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
    """Record the results of all methods of a fit."""
    from tests.benchmarks.same_numbers.digests import is_result

    record.add(f"{key} type", type(fit).__name__)
    record.add_public_names(key, fit)
    record.call(f"{key} html", fit._repr_html_)
    first, last = fit.classes[0], fit.classes[-1]
    three_rows = data.iloc[[0, len(data) // 2, -1]]
    arguments: dict[str, list[dict[str, Any]]] = {
        "predict": [{"data": three_rows}, {"prior": "equal"}, {"reject": 0.8}, {"costs": 1 - _identity(fit)}],
        "predict_proba": [
            {"data": three_rows}, {"prior": "equal"}, {"method": "predictive"}, {"method": "debiased"},
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
        "augment": [{"data": three_rows}],
        "leave_one_out": [{"refit_prior": True}],
    }  # fmt: skip
    for name, each in arguments.items():
        for options in each:
            if not _has_method(fit, name):
                continue
            option_text = ", ".join(f"{option}={_short_text(value)}" for option, value in options.items())
            path = f"{key}.{name}({option_text})"
            result = record.call(path, partial(getattr(fit, name), **options))
            if is_result(result):
                record.add_public_names(path, result, 0)
    record_copies(record, key, fit, data)


def record_copies(record: Any, key: str, fit: Any, data: Any) -> None:
    """Record results of copies of a fit that was saved and loaded, or pickled."""
    import discrim

    record.call(f"{key} saved", partial(fit.save, "fit"))
    copies = {"pickled": record.call(f"{key} pickled", lambda: pickle.loads(pickle.dumps(fit)))}
    if Path("fit").exists():
        record.add(f"{key} file", Path("fit").read_bytes().hex())
        copies["loaded"] = record.call(f"{key} loaded", partial(discrim.load, "fit"))
        Path("fit").unlink()
    for name, one in copies.items():
        if isinstance(one, BaseException):
            continue
        record.call(f"{key} {name} repr", partial(repr, one))
        for method in ("predict", "predict_log_proba", "decision_function"):
            record.call(f"{key} {name}.{method}(data)", partial(_call_method, one, method, data))
        record.call(f"{key} {name}.glance()", one.glance)
        record.call(f"{key} {name}.summary()", lambda one=one: str(one.summary()))


def _call_method(fit: Any, method: str, data: Any) -> Any:
    # Reading a method that the fit does not have raises its error.
    return getattr(fit, method)(data)


def _identity(fit: Any) -> Any:
    import numpy as np

    return np.eye(len(fit.classes))


def _short_text(value: Any) -> str:
    return type(value).__name__ if getattr(value, "ndim", 0) else str(value)


def _has_method(fit: Any, name: str) -> bool:
    return callable(getattr(fit, name, None))


def collect_digests(only: str, times: bool) -> dict[str, list[str]]:
    """Compute the digests of all results, or of those whose keys contain the text `only`."""
    import discrim
    from tests.benchmarks.same_numbers import cases, refusals
    from tests.benchmarks.same_numbers.digests import Record, is_result

    record = Record()
    starts: list[tuple[float, str]] = []
    start = time.perf_counter()

    def is_selected(key: str) -> bool:
        nonlocal start
        starts.append((time.perf_counter() - start, key))
        start = time.perf_counter()
        return only in key

    for table, name, (verb, formula, options) in cases.all_fits():
        key, data = f"{table}: {name}", cases.tables()[table]
        if is_selected(key):
            fit = record.call(f"{key} fit", partial(getattr(discrim, verb), formula, data, **options))
            if not isinstance(fit, BaseException):
                record_fit(record, key, fit, data)
    for name, call in (cases.known_distributions() | cases.other_calls()).items():
        if is_selected(name):
            result = record.call(name, call)
            if is_result(result):
                record.add_public_names(name, result)
    for name, call in refusals.refused_calls().items():
        if is_selected(f"refused: {name}"):
            record.call(f"refused: {name}", call)
    if not only:
        refusals.public_names(record)
        refusals.command_line(record)
        refusals.scikit_learn_results(record)
    is_selected("")
    if times:
        before = [key for _, key in starts]
        for (seconds, _), key in sorted(zip(starts[1:], before, strict=False), reverse=True)[:25]:
            print(f"{seconds:7.2f} s  {key}")
    return record.digests


def write_digests(out: str, only: str, times: bool) -> None:
    """Compute the digests in a temporary folder, so that relative file names agree, and write them."""
    import numpy as np
    import pandas as pd
    import scipy

    versions = {"python": platform.python_version(), "cpu": platform.machine()}
    versions |= {library.__name__: library.__version__ for library in (np, scipy, pd)}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        digests = collect_digests(only, times)
        os.chdir(Path(out).parent)
    Path(out).write_text(
        json.dumps({"versions": versions, "digests": digests}, indent=0, ensure_ascii=False) + "\n"
    )
    print(f"{len(digests)} digests")


def report_differences(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print the results that differ, and return their number."""
    for library, version in before["versions"].items():
        other = after["versions"].get(library)
        if other != version:
            print(
                f"{library} {version} became {after['versions'].get(library)}: the last bits may "
                "therefore differ."
            )
    was, now = before["digests"], after["digests"]
    changed = [key for key in was if key not in now or now[key][0] != was[key][0]]
    for key in changed:
        print(f"{key}\n    before: {was[key][1]}\n    after:  {now[key][1] if key in now else 'not there'}")
    print(f"{len(changed)} of {len(was)} results differ; {len(now.keys() - was.keys())} are new.")
    return len(changed)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.same_numbers")
    parser.add_argument("out", help="file for the digests")
    parser.add_argument("--against", help="digests to compare with")
    parser.add_argument("--package", default=".", help="folder of the checkout whose discrim is used")
    parser.add_argument("--only", default="", help="use the fits whose names contain this text")
    parser.add_argument("--times", action="store_true", help="print the seconds of the slowest fits")
    options = parser.parse_args()
    package, checkout = str(Path(options.package).resolve()), str(Path(__file__).resolve().parents[3])
    out = str(Path(options.out).resolve())
    # The package first, then the cases: the other checkout may have tests of the same names. It is a process
    # of its own, as threads are counted when numpy is imported.
    code = (
        f"import sys; sys.path[:0] = [{package!r}]; import discrim; sys.path[:0] = [{checkout!r}]; "
        "from tests.benchmarks.same_numbers.__main__ import write_digests; "
        f"write_digests({out!r}, {options.only!r}, {options.times!r})"
    )
    environment = os.environ | ONE_THREAD | {"PYTHONHASHSEED": "0"}
    completed = subprocess.run([sys.executable, "-P", "-c", code], env=environment, check=False)
    if completed.returncode:
        return completed.returncode
    if options.against is None:
        return 0
    before, after = (json.loads(Path(file).read_text(encoding="utf-8")) for file in (options.against, out))
    if options.only:
        before["digests"] = {key: value for key, value in before["digests"].items() if options.only in key}
    return min(1, report_differences(before, after))


if __name__ == "__main__":
    sys.exit(main())
