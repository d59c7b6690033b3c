"""Type checkers accept a user's script and report its mistakes, and literal types list all option values."""

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

FOLDER = Path(__file__).parent


SCRIPTS = [FOLDER / "user.py", FOLDER / "misuse.py"]


@cache
def mypy_errors(root):
    """Return the errors of mypy by script and line."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "setup.cfg", *map(str, SCRIPTS)]
    completed = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert completed.returncode in (0, 1), completed.stdout + completed.stderr
    errors = re.findall(r"^(.+?):(\d+): error: (.*)$", completed.stdout, re.MULTILINE)
    return {(root / name, int(line)): message for name, line, message in errors}


@cache
def pyright_errors(root):
    """Return the errors of pyright, or of basedpyright, which does not need node.js, by script and line."""
    name = next((name for name in ("basedpyright", "pyright") if importlib.util.find_spec(name)), None)
    if name is None:
        pytest.skip("neither basedpyright nor pyright is installed")
    command = [sys.executable, "-m", name, "--level", "error", "--outputjson", "--pythonpath", sys.executable]
    completed = subprocess.run([*command, *map(str, SCRIPTS)], cwd=root, capture_output=True, text=True)
    report = json.loads(completed.stdout)
    assert report["summary"]["filesAnalyzed"] == len(SCRIPTS)
    return {
        (Path(each["file"]), each["range"]["start"]["line"] + 1): each["message"]
        for each in report["generalDiagnostics"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("checker", [mypy_errors, pyright_errors])
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
@pytest.mark.filterwarnings("ignore::discrim.errors.NotComparableWarning")
def test_the_script_of_a_user_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "user"}
    exec(compile((FOLDER / "user.py").read_text(encoding="utf-8"), "user.py", "exec"), namespace)
    assert (tmp_path / "iris.fit").exists()


def test_plot_kinds_are_in_the_literal_type():
    model_kinds = {kind for model in MODELS for kind in plot_kinds(model)}
    modules = (evaluation, choose, fold_plots, learning, planning, stepwise)
    other_kinds = {
        plot.kind for module in modules for plot in vars(module).values() if isinstance(plot, Plot)
    }
    assert model_kinds | other_kinds == {*typing.get_args(PlotKind)}


def test_metrics_are_in_the_literal_type():
    assert {*NORM_ORDERS, *BINARY_METRICS} <= {*METRICS}


def documented_options():
    """Yield function, option and values for each public option whose docstring lists its values."""
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


def literal_values(annotation):
    """Return all strings of the literals in an annotation."""
    if typing.get_origin(annotation) is typing.Literal:
        return [word for word in typing.get_args(annotation) if isinstance(word, str)]
    return [word for part in typing.get_args(annotation) for word in literal_values(part)]


@cache
def literal_aliases():
    """Return the literal types of all modules by name; some are imported only for type checking."""
    for module in ("inference.conformal", "models.evaluation.assessment", "models.results.exported"):
        importlib.import_module(f"discrim.{module}")
    modules = [module for name, module in sys.modules.items() if name.startswith("discrim.")]
    everything = [item for module in modules for item in vars(module).items()]
    return {name: value for name, value in everything if typing.get_origin(value) is typing.Literal}


def option_annotation(function, option):
    """Return the evaluated annotation of an option."""
    module = sys.modules[function.__module__]
    return eval(inspect.get_annotations(function)[option], vars(typing) | literal_aliases() | vars(module))


def test_option_values_of_docstrings_are_in_the_literal_types():
    listed = {(function, option): words for function, option, words in documented_options() if words}
    assert len(listed) > 60
    wrong = {
        f"{function.__qualname__}({option}=)": (known, words)
        for (function, option), words in listed.items()
        if (known := {*literal_values(option_annotation(function, option))}) != {*words}
    }
    assert wrong == {}
