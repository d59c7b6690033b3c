"""What type checkers and editors know: two scripts of a user's, and the words that options may be."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import re
import subprocess
import sys
import typing
from functools import cache
from pathlib import Path

import pytest

import discrim
from discrim.core.neighbours.neighbours import BINARY_METRICS, METRICS, NORM_ORDERS
from discrim.models.plots import evaluation
from discrim.models.plots.plottable import Plot
from discrim.models.registry import MODELS, PlotKind, plot_kinds
from discrim.models.selection import choose, fold_plots, learning, planning, stepwise

HERE = Path(__file__).parent


SCRIPTS = [HERE / "user.py", HERE / "misuse.py"]


@cache
def mypy(root):
    """What mypy reports of the scripts: by script and line."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "setup.cfg", *map(str, SCRIPTS)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^(.+?):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    return {(root / name, int(line)): said for name, line, said in found}


@cache
def pyright(root):
    """As above, of pyright, or of basedpyright, which needs no node.js."""
    name = next((name for name in ("basedpyright", "pyright") if importlib.util.find_spec(name)), None)
    if name is None:
        pytest.skip("neither basedpyright nor pyright is installed")
    command = [sys.executable, "-m", name, "--level", "error", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*command, *map(str, SCRIPTS)], cwd=root, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == len(SCRIPTS)
    return {
        (Path(each["file"]), each["range"]["start"]["line"] + 1): each["message"]
        for each in found["generalDiagnostics"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_type_checkers_report_the_slips_of_a_user_and_nothing_else(root, checker):
    reported = checker(root)
    slips = {
        (script, n)
        for script in SCRIPTS
        for n, line in enumerate(script.read_text(encoding="utf-8").splitlines(), 1)
        if line.endswith("# wrong")
    }
    assert len(slips) > 30
    assert {place: said for place, said in reported.items() if place not in slips} == {}
    assert slips - reported.keys() == set()


@pytest.mark.slow
def test_the_script_of_a_user_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "user"}
    exec(compile((HERE / "user.py").read_text(encoding="utf-8"), "user.py", "exec"), namespace)
    assert (tmp_path / "iris.fit").exists()


def test_plot_kinds_are_in_the_literal_type():
    of_models = {kind for model in MODELS for kind in plot_kinds(model)}
    modules = (evaluation, choose, fold_plots, learning, planning, stepwise)
    others = {plot.kind for module in modules for plot in vars(module).values() if isinstance(plot, Plot)}
    assert of_models | others == {*typing.get_args(PlotKind)}


def test_metrics_are_in_the_literal_type():
    assert {*NORM_ORDERS, *BINARY_METRICS} <= {*METRICS}


def documented_words():
    """Options of public functions and methods whose docstring lists words: whose, name, words, annotation."""
    for name in discrim.__all__:
        value = getattr(discrim, name)
        functions = [value] if inspect.isfunction(value) else []
        if inspect.isclass(value):
            functions = [each for _, each in inspect.getmembers(value, inspect.isfunction)]
        for function in functions:
            if function.__name__.startswith("_") or not function.__module__.startswith("discrim"):
                continue
            parameters = (
                (inspect.getdoc(function) or "").partition("Parameters\n---")[2].partition("\n---")[0]
            )
            for option, words in re.findall(r"^(\w+) : \{(.*?)\}", parameters, re.MULTILINE):
                yield function, option, re.findall(r'"([^"]+)"', words)


def literals(annotation):
    """All words of the literals in an annotation."""
    if typing.get_origin(annotation) is typing.Literal:
        return [word for word in typing.get_args(annotation) if isinstance(word, str)]
    return [word for part in typing.get_args(annotation) for word in literals(part)]


@cache
def aliases():
    """Literals by name, of whichever module: some are imported for type checkers only."""
    for room in ("inference.conformal", "models.evaluation.assessment", "models.results.exported"):
        importlib.import_module(f"discrim.{room}")
    modules = [module for name, module in sys.modules.items() if name.startswith("discrim.")]
    everything = [item for module in modules for item in vars(module).items()]
    return {name: value for name, value in everything if typing.get_origin(value) is typing.Literal}


def annotation(function, option):
    """That of an option."""
    module = sys.modules[function.__module__]
    return eval(inspect.get_annotations(function)[option], vars(typing) | aliases() | vars(module))


def test_option_values_of_docstrings_are_in_the_literal_types():
    listed = {(function, option): words for function, option, words in documented_words() if words}
    assert len(listed) > 60
    wrong = {
        f"{function.__qualname__}({option}=)": (known, words)
        for (function, option), words in listed.items()
        if (known := {*literals(annotation(function, option))}) != {*words}
    }
    assert wrong == {}
