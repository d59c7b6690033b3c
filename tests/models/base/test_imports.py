"""Working with one model imports no other: what a model costs is its own files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import discrim
from discrim.datasets import load_iris
from discrim.models.registry import BY_VERB, MODELS

LDA = BY_VERB["lda"]
ROOM = LDA.module.rpartition(".")[0]

PROGRAMS = {
    "load and predict": "discrim.load({path!r}).predict(load_iris())",
    "save": 'discrim.lda("species ~ .", load_iris()).save({path!r} + ".new")',
    "summary": 'str(discrim.lda("species ~ .", load_iris()).summary())',
}


def imported_modules(programs: list[str], path: Path) -> list[set[str]]:
    """Return the modules of discrim that a fresh interpreter has imported after each program."""
    lines = ["import sys, discrim", "from discrim.datasets import load_iris"]
    for program in programs:
        lines += [
            program.format(path=str(path)),
            'print(*(name for name in sys.modules if name.startswith("discrim")))',
        ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True, timeout=120
    )
    return [set(line.split()) for line in done.stdout.splitlines()]


def others(modules: set[str]) -> list[str]:
    """Those that are of another model than LDA, or of comparisons of models."""
    rooms = {row.module.rpartition(".")[0] for row in MODELS} - {ROOM}
    rooms |= {room.replace("discrim.models", "discrim.core") for room in rooms} | {"discrim.models.selection"}
    own = {LDA.module, LDA.results_module}
    verbs = {name for row in MODELS for name in (row.module, row.results_module)} - own
    values = ROOM.replace("discrim.models", "discrim.core")
    return sorted(
        name
        for name in modules
        if name in verbs
        or any(name == room or name.startswith(f"{room}.") for room in rooms)
        or (name.startswith(f"{values}.") and not name.startswith(f"{values}.lda"))
    )


@pytest.mark.slow
def test_an_lda_imports_no_other_model(tmp_path: Path) -> None:
    path = tmp_path / "lda.fit"
    discrim.lda("species ~ .", load_iris()).save(path)
    qda = 'discrim.qda("species ~ .", load_iris())'
    *after_lda, after_qda = imported_modules([*PROGRAMS.values(), qda], path)
    for name, modules in zip(PROGRAMS, after_lda, strict=True):
        assert "discrim.core.discriminant.lda" in modules
        assert others(modules) == [], name
    # Another model is detected.
    assert {"discrim.models.discriminant.qda", "discrim.core.discriminant.qda"} <= set(others(after_qda))
