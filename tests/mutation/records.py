"""Records of which test reaches which line, written once for each folder of tests."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from tests.mutation.mutants import Mutant

__all__ = ["MARKS", "Records", "folders_to_record", "record_coverage"]

MARKS = "not exhaustive"
"""Marker expression of the tests that are recorded and run: those of each change, and not the weekly ones."""


def folders_to_record(root: Path) -> list[str]:
    """Return the folders of tests that are recorded separately."""
    families = sorted(p.parent for p in (root / "tests" / "models").glob("*/__init__.py"))
    rooms = [root / "tests" / room for room in ("core", "inference", "contract", "sklearn")]
    return [path.relative_to(root).as_posix() for path in [*rooms, *families]]


def record_coverage(root: Path, folder: Path, test_folder: str, cases: int) -> None:
    """Run the tests of a folder with coverage, unless its record is up to date.

    Parameters
    ----------
    root : Path
        Top of the project.
    folder : Path
        Folder of the records.
    test_folder : str
        Folder of tests, relative to the project.
    cases : int
        Number of cases of a test with parameters.
    """
    target, digest = folder / test_folder.replace("/", "."), f"{cases} {MARKS} {_digest(root, test_folder)}"
    digest_file = target.with_suffix(target.suffix + ".digest")
    if digest_file.exists() and digest_file.read_text(encoding="utf-8") == digest:
        return
    print(f"recording {test_folder}, whose sources changed", flush=True)
    digest_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-m", MARKS, "-p", "no:cacheprovider"]
    command += ["-p", "tests.mutation.recorder", test_folder]
    environment = {**os.environ, "RECORD": str(target), "CASES": str(cases), "PYTHONPATH": str(root)}
    completed = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    # With exit status 1 some tests failed; their lines are not used.
    if completed.returncode > 1:
        raise SystemExit(
            f"{test_folder} cannot be recorded:\n{completed.stdout[-2000:]}{completed.stderr[-2000:]}"
        )
    digest_file.write_text(digest)


def _digest(root: Path, test_folder: str) -> str:
    text = hashlib.sha256()
    for path in sorted([*(root / "discrim").rglob("*.py"), *(root / test_folder).rglob("*.py")]):
        text.update(path.read_bytes())
    return text.hexdigest()


class Records:
    """The records in a folder."""

    def __init__(self, folder: Path) -> None:
        from coverage import CoverageData

        self._seconds: dict[str, float] = {}
        self._reached: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for times in sorted(folder.glob("*.seconds.json")):
            self._seconds |= json.loads(times.read_text(encoding="utf-8"))
            data = CoverageData(str(times)[: -len(".seconds.json")])
            data.read()
            for file in data.measured_files():
                path = file[file.rindex("/discrim/") + 1 :]
                for line, tests in data.contexts_by_lineno(file).items():
                    self._reached[path][line] |= set(tests)

    def select_tests(self, mutant: Mutant, source: str, seconds: float) -> list[str]:
        """Return tests that reach a change, about `seconds` of them: tests of its own folder first.

        They are followed by other tests of the same files, which may share fits made for the first ones.
        """
        lines = self._reached.get(mutant.path, {})
        lines_needed = mutant.reached or [
            i for i, line in enumerate(source.splitlines(), 1) if re.search(rf"\b{mutant.name}\b", line)
        ]
        reaching = {t for line in lines_needed for t in lines.get(line, ()) if t in self._seconds}
        if not reaching and not mutant.reached:
            reaching = {t for tests in lines.values() for t in tests if t in self._seconds}
        test_folder = "tests/" + "/".join(mutant.path.split("/")[1:-1])
        files = {test.split("::")[0] for test in reaching}
        other_tests = [t for t in self._seconds if t not in reaching and t.split("::")[0] in files]
        ranked = sorted(reaching, key=lambda t: (not t.startswith(test_folder), self._seconds[t], t))
        ranked += sorted(other_tests, key=lambda t: (self._seconds[t], t))
        chosen, total = [], 0.0
        for test in ranked:
            total += self._seconds[test]
            if chosen and total > seconds:
                break
            chosen.append(test)
        return chosen
