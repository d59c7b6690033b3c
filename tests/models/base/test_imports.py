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
    "save": 'discrim.lda("species ~ .", load_iris()).save({path!r} + ".new")',
    "load and predict": "discrim.load({path!r}).predict(load_iris())",
    "summary": 'str(discrim.lda("species ~ .", load_iris()).summary())',
}


def imported(program: str, path: Path) -> set[str]:
    """Modules of discrim in the memory of a fresh interpreter that has run a program."""
    lines = [
        "import sys, discrim",
        "from discrim.datasets import load_iris",
        program.format(path=str(path)),
        'print(*(name for name in sys.modules if name.startswith("discrim")))',
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split())


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
@pytest.mark.parametrize("what", list(PROGRAMS))
def test_an_lda_imports_no_other_model(what: str, tmp_path: Path) -> None:
    path = tmp_path / "lda.fit"
    discrim.lda("species ~ .", load_iris()).save(path)
    modules = imported(PROGRAMS[what], path)
    assert "discrim.core.discriminant.lda" in modules
    assert others(modules) == []


@pytest.mark.slow
def test_another_model_would_be_seen(tmp_path: Path) -> None:
    path = tmp_path / "lda.fit"
    discrim.lda("species ~ .", load_iris()).save(path)
    modules = imported('discrim.qda("species ~ .", load_iris())', path)
    assert {"discrim.models.discriminant.qda", "discrim.core.discriminant.qda"} <= set(others(modules))
