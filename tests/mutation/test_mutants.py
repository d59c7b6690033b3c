"""Tests of the mutation tool: what is changed, what is not, and that the project itself is not touched."""

from __future__ import annotations

import difflib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.mutation.mutants import FOLDERS, draw_mutants, find_mutants
from tests.support import ROOT

SOURCE = '''"""Doc 1 < 2."""

from typing import TYPE_CHECKING

__all__ = ["f"]

LIMIT = 2


def f(a: int | None, b: float = 0.5, *, c: bool = True) -> "int | None":
    """1 + 1."""
    if not (a < b and a != LIMIT):  # 1 - 1
        raise ValueError(f"{a + 1} is not" + "1" * 2)
    é = "é", a.min(axis=0) + -b
    return [x for x in (é, é[1:]) if x is c]
'''


def find_changes() -> set[tuple[str, str]]:
    return {(m.before, m.after) for m in find_mutants("m.py", SOURCE)}


def test_each_type_of_mutation_is_generated():
    head = 'def f(a: int | None, b: float = 0.5, *, c: bool = True) -> "int | None":'
    line, here = "if not (a < b and a != LIMIT):  # 1 - 1", 'é = "é", a.min(axis=0) + -b'
    assert find_changes() == {
        ("LIMIT = 2", "LIMIT = 3"),
        (head, head.replace("0.5", "1.0")),
        (head, head.replace("True", "False")),
        (line, "if (not (not (a < b and a != LIMIT))):  # 1 - 1"),
        (line, "if False:  # 1 - 1"),
        (line, "if True:  # 1 - 1"),
        (line, line.replace("not ", " ")),
        (line, line.replace(" < ", " <= ")),
        (line, line.replace("and", "or")),
        (line, line.replace("!=", "==")),
        (here, here.replace("min", "max")),
        (here, here.replace("0", "1")),
        (here, here.replace("+", "-")),
        (here, here.replace("-b", "b")),
        ("return [x for x in (é, é[1:]) if x is c]", "return [x for x in (é, é[2:]) if x is c]"),
    }


def test_lines_executed_by_a_test_are_recorded():
    reached = {m.after: (list(m.reached), m.name) for m in find_mutants("m.py", SOURCE)}
    assert reached["LIMIT = 3"] == ([], "LIMIT")
    default = next(lines for after, (lines, _) in reached.items() if "c: bool = False" in after)
    assert default == list(range(11, 16))
    assert reached["if False:  # 1 - 1"][0] == [12]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["core/covariance/shrunk.py", "inference/selection.py", "core/distributions/densities.py"]
)
def test_mutation_is_one_span_of_a_module_that_compiles(name):
    source = (ROOT / "discrim" / name).read_text("utf-8")
    mutants = list(find_mutants(name, source))
    assert len(mutants) > 100
    for mutant in mutants[::7]:
        changed = mutant.apply(source)
        compile(changed, name, "exec")
        assert changed != source
        assert changed[: mutant.start] == source[: mutant.start]
        assert changed[mutant.start + len(mutant.text) :] == source[mutant.end :]
        here, there = source.splitlines(), changed.splitlines()
        edits = [
            e for e in difflib.SequenceMatcher(None, here, there, False).get_opcodes() if e[0] != "equal"
        ]
        assert len(edits) == 1
        assert edits[0][1] == mutant.line - 1


def test_the_same_seed_draws_the_same_and_other_files_do_not_move_it(tmp_path):
    folder = tmp_path / "discrim" / "core"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text(SOURCE, "utf-8")
    first = draw_mutants(tmp_path, 0, 9)
    assert draw_mutants(tmp_path, 0, 9) == first
    assert draw_mutants(tmp_path, 0, 5) == first[:5]
    assert draw_mutants(tmp_path, 1, 9) != first
    (folder / "b.py").write_text(SOURCE.replace("LIMIT", "MOST"), "utf-8")
    both = draw_mutants(tmp_path, 0, 1000)
    assert [m for m in both if m.path.endswith("a.py")][:9] == first


def test_equivalent_mutations_have_a_module_and_a_reason():
    known = tomllib.loads(Path(__file__).with_name("equivalent.toml").read_text("utf-8"))["mutant"]
    assert len({(m["path"], m["before"], m["after"]) for m in known}) == len(known)
    for entry in known:
        assert entry.keys() == {"path", "before", "after", "why"}
        assert entry["before"] != entry["after"]
        assert entry["path"].startswith(FOLDERS)
        assert len(entry["why"]) > 10


TRIAL = """
import sys
from pathlib import Path
from tests.mutation.mutants import find_mutants
from tests.mutation.trial import try_mutant

tree = Path(sys.argv[1])
path = "discrim/core/a.py"
source = (tree / path).read_text(encoding="utf-8")
for number, mutant in enumerate(find_mutants(path, source)):
    verdict = try_mutant(tree, mutant, ["tests/test_a.py::test_a"], number, -6.0)
    print(mutant.after, "|", verdict.outcome)
    assert (tree / path).read_text(encoding="utf-8") == source
"""


@pytest.mark.slow
def test_mutations_are_detected_survive_or_time_out_and_are_reverted(tmp_path):
    package, tests = tmp_path / "discrim", tmp_path / "tests"
    for folder in (package, package / "core", tests):
        folder.mkdir()
        (folder / "__init__.py").write_text("")
    body = "def f(n):\n    while n > 0:\n        n -= 1\n    return n\n\n\nNOBODY = 1\n"
    (package / "core" / "a.py").write_text(body.replace("\\\n", "\n"))
    (tests / "test_a.py").write_text(
        "from discrim.core.a import f\n\n\ndef test_a():\n    assert f(3) == 0\n".replace("\\\n", "\n")
    )
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\nmarkers =\n    slow: a\n".replace("\\\n", "\n"))
    done = subprocess.run(
        [sys.executable, "-c", TRIAL, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = dict(line.rsplit(" | ", 1) for line in done.stdout.splitlines())
    assert found["NOBODY = 2"] == "survived"
    assert found["while False:"] == "caught"
    assert found["while n >= 0:"] == "caught"
    assert found["while n > 1:"] == "caught"
    assert found["n -= 2"] == "caught"
    assert found["while (not (n > 0)):"] == "caught"
