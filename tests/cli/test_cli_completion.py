"""What a shell is answered that asks for completions."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from discrim import datasets
from discrim.cli.verbs import VERBS
from tests.support import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="the shells are those of other systems"),
]


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("argcomplete")
    for name in ("irises.csv", "measured.csv"):
        (tmp_path / name).touch()
    (tmp_path / "days").mkdir()
    return tmp_path


def completions(folder, line):
    """Answer to a line of a shell whose cursor is at its end."""
    answer = folder.with_name(f"{folder.name} answer")
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
    }
    asked |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9"}
    asked["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "discrim"]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **asked}, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    found = answer.read_text(encoding="utf-8").splitlines()
    answer.unlink()
    return {word.strip() for word in found}


def test_prefixes_of_tables_and_options_are_completed(folder):
    assert completions(folder, "discrim lda 'species ~ .' iri") == {"iris", "irises.csv"}
    assert completions(folder, "discrim lda 'species ~ .' iris --cov") == {"--covariance"}
    assert completions(folder, "discrim predict m") == {"measured.csv"}


def test_verbs_tables_files_and_values_are_completed(folder):
    assert completions(folder, "discrim ") == set(VERBS)
    assert completions(folder, "discrim lda 'species ~ .' ") == {
        *datasets.names(),
        "irises.csv",
        "measured.csv",
        "days/",
    }
    assert completions(folder, "discrim lda 'species ~ .' iris --method ") == {"moment", "mle"}


def test_commands_run_without_argcomplete():
    code = "import sys; sys.modules['argcomplete'] = None; from discrim.cli import main; main(sys.argv[1:])"
    environment = {**os.environ, "_ARGCOMPLETE": "1"}
    command = [sys.executable, "-c", code, "datasets", "iris"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    assert done.stdout.decode().replace("\r\n", "\n") == datasets.text("iris")
