"""Which test reaches which line: recorded once, a folder of tests at a time, and read for each change."""

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

__all__ = ["ANY", "Records", "parts_of", "record"]

ANY = "slow or not slow"
"""Marks of the tests that are recorded and run."""


def parts_of(root: Path) -> list[str]:
    """The folders of tests that are recorded, each by itself."""
    families = sorted(p.parent for p in (root / "tests" / "models").glob("*/__init__.py"))
    rooms = [root / "tests" / room for room in ("core", "inference", "contract", "sklearn")]
    return [path.relative_to(root).as_posix() for path in [*rooms, *families]]


def record(root: Path, folder: Path, part: str, cases: int) -> None:
    """Run a part's tests under a tracer, some `cases` of each, unless that was done of these sources."""
    target, digest = folder / part.replace("/", "."), f"{cases} {_digest(root, part)}"
    told = target.with_suffix(target.suffix + ".digest")
    if told.exists() and told.read_text(encoding="utf-8") == digest:
        return
    print(f"recording {part}, whose sources changed", flush=True)
    told.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-m", ANY, "-p", "no:cacheprovider"]
    command += ["-p", "tests.mutation.recorder", part]
    given = {**os.environ, "RECORD": str(target), "CASES": str(cases), "PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=root, env=given, capture_output=True, text=True, check=False)
    # Exit status 1: tests failed, whose lines are not used.
    if done.returncode > 1:
        raise SystemExit(f"{part} cannot be recorded:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    told.write_text(digest)


def _digest(root: Path, part: str) -> str:
    text = hashlib.sha256()
    for path in sorted([*(root / "discrim").rglob("*.py"), *(root / part).rglob("*.py")]):
        text.update(path.read_bytes())
    return text.hexdigest()


class Records:
    """What a folder's records say, whatever their number."""

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

    def tests_of(self, mutant: Mutant, source: str, seconds: float) -> list[str]:
        """Tests that read a change, some `seconds` of them: those of its own room first, the quickest first.

        After them the other tests of the same files, which may share a fit that was made for the first.
        """
        lines = self._reached.get(mutant.path, {})
        wanted = mutant.reached or [
            i for i, line in enumerate(source.splitlines(), 1) if re.search(rf"\b{mutant.name}\b", line)
        ]
        reaching = {t for line in wanted for t in lines.get(line, ()) if t in self._seconds}
        if not reaching and not mutant.reached:
            reaching = {t for tests in lines.values() for t in tests if t in self._seconds}
        room = "tests/" + "/".join(mutant.path.split("/")[1:-1])
        files = {test.split("::")[0] for test in reaching}
        beside = [t for t in self._seconds if t not in reaching and t.split("::")[0] in files]
        ranked = sorted(reaching, key=lambda t: (not t.startswith(room), self._seconds[t], t))
        ranked += sorted(beside, key=lambda t: (self._seconds[t], t))
        chosen, total = [], 0.0
        for test in ranked:
            total += self._seconds[test]
            if chosen and total > seconds:
                break
            chosen.append(test)
        return chosen
