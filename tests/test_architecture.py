"""Structure of the package: import directions, cycles, size of modules, and what an import loads.

The bounds of `MAX_METRICS` are computed by ``python -m tests.benchmarks.code_metrics``. If a metric has
fallen, lower its bound in the same commit.
"""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

import discrim
from discrim.models.base.fit import ModelSpec
from discrim.models.registry import BY_VERB, MODELS, MODULE_BY_NAME, SUMMARIES, resolve, spec_of
from tests.benchmarks import code_metrics
from tests.support import ROOT

PACKAGE = ROOT / "discrim"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Packages and modules of discrim that each package may import in addition to itself.
ALLOWED_IMPORTS = {
    "errors": set(),
    "docstrings": set(),
    "slips": {"errors"},
    "options": {"data", "errors"},
    "specification": {"options", "errors"},
    "covariance": {"specification", "options", "core", "errors"},
    "subspace": {"specification", "options", "errors"},
    "penalty": {"specification", "options", "errors"},
    "core": {"core.numerics", "errors"},
    "core.numerics": {"errors"},
    "data": {"core.numerics", "datasets", "errors"},
    "formula": {"data", "core.numerics", "errors"},
    "design": {"formula", "data", "core.numerics", "errors"},
    "inference": {"core", "core.numerics", "errors"},
    "report": {"core", "core.numerics", "errors", "slips"},
    "models": {
        "models.registry",
        "covariance",
        "subspace",
        "penalty",
        "specification",
        "options",
        "inference",
        "report",
        "design",
        "formula",
        "data",
        "core",
        "core.numerics",
        "errors",
        "slips",
    },
    "models.registry": set(),
    "sklearn": {
        "",
        "docstrings",
        "models",
        "models.registry",
        "covariance",
        "subspace",
        "penalty",
        "specification",
        "options",
        "design",
        "formula",
        "data",
        "core",
        "core.numerics",
        "errors",
        "slips",
    },
    "datasets": {"errors", "slips"},
    "cli": {
        "",
        "docstrings",
        "models",
        "models.registry",
        "covariance",
        "subspace",
        "penalty",
        "specification",
        "options",
        "report",
        "design",
        "formula",
        "data",
        "core.numerics",
        "datasets",
        "errors",
        "slips",
    },
    "__main__": {"cli"},
    "": {"models", "models.registry", "covariance", "subspace", "penalty", "datasets", "errors", "slips"},
}

# Packages within models. Each may import the listed packages and those that they may import.
FAMILIES = {"discriminant", "naive_bayes", "mixtures", "projections", "regression", "hyperplanes"}
FAMILIES |= {"neighbours", "kernels"}
ALLOWED_MODEL_IMPORTS = {
    "registry": set(),
    "base": {"registry"},
    "evaluation": {"base"},
    "plots": {"evaluation"},
    "report": {"plots"},
    "distributions": {"report"},
    "moments": {"base"},
    "results": {"evaluation", "distributions", "moments"},
    "discriminant": {"results"},
    "naive_bayes": {"discriminant"},
    "mixtures": {"discriminant"},
    "hyperplanes": {"results"},
    "projections": {"discriminant"},
    "neighbours": {"results"},
    "regression": FAMILIES - {"regression", "kernels"},
    "kernels": {"regression"},
    "store": FAMILIES,
    "linear_model": FAMILIES,
    "selection": {"linear_model"},
}

# Imports within models in the wrong direction that are still allowed.
ALLOWED_BACK_IMPORTS: set[str] = set()

# Number of imports inside functions that are part of an import cycle.
MAX_CYCLIC_IMPORTS = 0

# Modules that import a module whose name is computed: the registry, and the reader of compressed files.
DYNAMIC_IMPORTERS = {"models/registry.py", "cli/reading.py"}

# Modules besides the registry that name three or more models: the candidates of choose(), in the order of
# simplicity, and the hints for keywords that a verb does not have.
MODULES_NAMING_MODELS = {"models/selection/candidates.py", "slips.py"}

# Upper bounds of the metrics of `python -m tests.benchmarks.code_metrics`. A bound is lowered when its metric
# falls; a commit that has to raise one says why. The share of imports rises when other lines are deleted.
MAX_METRICS = {
    "files": 335,
    "lines of code, without docstrings": 84_750,
    "lines of imports over lines of other code, in percent": 8.4,
    "lda() on iris, files": 28,
    "lda() on iris, depth": 10,
    "lda().summary(), files": 55,
    "public names defined in more than one module": 27,
    "monkeypatch.setattr in tests": 69,
}

# Modules that may import a library; a path that ends in / is a package.
ALLOWED_IMPORTERS = {
    "patsy": ("formula/formula.py", "design/linear_model.py", "formula/transforms.py"),
    "matplotlib": ("report/plots/",),
    "plotly": ("report/plots/interactive.py",),
    "statsmodels.iolib": (),
    "dask": ("data/distributed.py",),
    "pandas": ("data/", "formula/", "design/", "models/", "inference/", "report/", "datasets/", "cli/"),
    "narwhals": ("data/", "formula/", "design/"),
    "duckdb": ("data/sources/sources.py",),
    "distributed": ("data/distributed.py",),
    "onnx": ("models/results/exported_onnx.py",),
    "polars": ("data/", "design/", "cli/", "models/results/for_marginaleffects.py"),
    "marginaleffects": ("models/results/for_marginaleffects.py",),
    "pyarrow": ("data/", "design/", "cli/"),
    "sklearn": ("sklearn/",),
    "pickle": (),
    "joblib": (),
    "threadpoolctl": ("core/numerics/threads.py",),
    "tqdm": ("core/numerics/progress.py",),
}


class Import(NamedTuple):
    """An import: name, line, and whether it is for type checkers only or inside a function."""

    name: str
    line: int
    typing_only: bool
    in_function: bool


class Statement(NamedTuple):
    """A statement, and whether it is for type checkers only or inside a function."""

    node: ast.stmt
    typing_only: bool
    in_function: bool


def statements(node: ast.AST, typing_only: bool = False, in_function: bool = False) -> Iterator[Statement]:
    """Yield all statements within a node, without descending into expressions."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            only = typing_only or (
                field == "body" and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            )
            inner = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if isinstance(child, ast.stmt):
                yield Statement(child, only, inner)
            yield from statements(child, only, inner)


def imports(tree: ast.Module, module: str, is_package: bool, text: str) -> Iterator[Import]:
    """Yield every import of a module with the given text: in the module, in functions, or by importlib."""
    for node, typing_only, in_function in statements(tree):
        for name in imported_names(node, module, is_package):
            yield Import(name, node.lineno, typing_only, in_function)
    if not re.search("import_module|__import__", text):
        return
    in_functions = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for name in imported_names(node, module, is_package):
                yield Import(name, node.lineno, False, id(node) in in_functions)


def imported_names(node: ast.AST, module: str, is_package: bool) -> list[str]:
    """Return absolute names that a node imports; ``a.b`` for ``from a import b``, as b may be a module."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        above = module.split(".")[: -node.level + is_package or None] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        return [f"{base}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and called_name(node).endswith(("import_module", "__import__")):
        return [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)]
    return []


def called_name(node: ast.Call) -> str:
    """Return the last part of the name of the called function, or "" if it has no name."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def module_name(path: Path) -> str:
    """Return the import name of a file of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


@cache
def imports_of(path: Path) -> list[Import]:
    return list(imports(tree_of(path), module_name(path), path.name == "__init__.py", text_of(path)))


def package_of(name: str) -> str:
    """Return the key of `ALLOWED_IMPORTS` for a module: "core" for ``core.moments``, "" for a public name."""
    for inner in ("models.registry", "core.numerics"):
        if is_within(name, f"discrim.{inner}"):
            return inner
    parts = [*name.split("."), ""]
    return parts[1] if parts[1] in ALLOWED_IMPORTS else ""


def is_within(name: str, library: str) -> bool:
    return name == library or name.startswith(f"{library}.")


def case(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_packages_are_imported_in_one_direction():
    wrong = [
        f"{case(path)}:{item.line}: {item.name}"
        for path in MODULES
        for item in imports_of(path)
        if is_within(item.name, "discrim")
        and package_of(item.name) not in {here := package_of(module_name(path)), *ALLOWED_IMPORTS[here]}
    ]
    assert wrong == []


def test_every_package_has_allowed_imports():
    entries = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    entries |= {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert entries <= set(ALLOWED_IMPORTS)


def test_libraries_are_imported_only_by_allowed_modules():
    # Imports for type checkers are free, except in core, which works on arrays only.
    wrong = [
        f"{case(path)}:{item.line}: {item.name} is reserved for {' '.join(importers) or 'no module'}"
        for path in MODULES
        for item in imports_of(path)
        for library, importers in ALLOWED_IMPORTERS.items()
        if is_within(item.name, library)
        and not any(
            case(path) == allowed or (allowed.endswith("/") and case(path).startswith(allowed))
            for allowed in importers
        )
        and (case(path).startswith("core/") or not item.typing_only)
    ]
    assert wrong == []


def test_every_form_of_import_is_detected():
    source = """
import patsy.desc as d
from .. import data
from ..data.table import Table
from . import moments
def f():
    from importlib import import_module
    import_module("pandas")
    __import__("pickle")
if TYPE_CHECKING:
    import matplotlib
"""
    items = list(imports(ast.parse(source), "discrim.core.rules", is_package=False, text=source))
    assert {item.name for item in items} == {
        "patsy.desc",
        "discrim.data",
        "discrim.data.table.Table",
        "discrim.core.moments",
        "importlib.import_module",
        "pandas",
        "pickle",
        "matplotlib",
    }
    assert [item.name for item in items if item.typing_only] == ["matplotlib"]
    assert {item.name for item in items if item.in_function} == {
        "importlib.import_module",
        "pandas",
        "pickle",
    }
    package = imports(ast.parse("from . import lda"), "discrim.models", is_package=True, text="")
    assert [item.name for item in package] == ["discrim.models.lda"]


def internal_imports(*, typing: bool = False) -> dict[tuple[str, str], bool]:
    """Return imports (importer, imported) within packages, and whether all of them are inside functions.

    Imports for type checkers are included only if `typing`.
    """
    files = {module_name(path) for path in MODULES}
    pairs: dict[tuple[str, str], bool] = {}
    for path in MODULES:
        here = module_name(path)
        for item in imports_of(path):
            # ``from a import b`` imports module a if b is not a module.
            target = item.name if item.name in files else item.name.rpartition(".")[0]
            same_package = target in files - {here} and package_of(target) == package_of(here)
            if same_package and (typing or not item.typing_only):
                pairs[here, target] = pairs.get((here, target), True) and item.in_function
    return pairs


def pairs_in_cycles(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the imports that are part of a cycle."""
    pairs = list(pairs)
    index = {name: k for k, name in enumerate(dict.fromkeys(name for pair in pairs for name in pair))}
    matrix = np.zeros((len(index), len(index)), dtype=bool)
    for start, end in pairs:
        matrix[index[start], index[end]] = True
    _, component = connected_components(matrix, connection="strong")
    return {(start, end) for start, end in pairs if component[index[start]] == component[index[end]]}


def format_imports(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return sorted(f"{start} -> {end}".replace("discrim.", "") for start, end in pairs)


def test_cycles_are_detected():
    assert pairs_in_cycles([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("f", "a")]) == {
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
    }
    assert pairs_in_cycles([("a", "b"), ("b", "c"), ("a", "c")]) == set()


def test_module_level_imports_have_no_cycle():
    assert (
        format_imports(
            pairs_in_cycles(pair for pair, in_function in internal_imports().items() if not in_function)
        )
        == []
    )


def test_import_cycles_are_only_the_listed_ones():
    pairs = internal_imports()
    cyclic = [pair for pair in pairs_in_cycles(pairs) if pairs[pair]]
    # Equality: the bound has to be lowered if cycles disappear.
    assert len(cyclic) == MAX_CYCLIC_IMPORTS, "\n".join(format_imports(cyclic))


def test_typing_cycles_are_between_a_model_and_its_summary():
    pairs = internal_imports(typing=True)
    added = pairs_in_cycles(pairs) - pairs_in_cycles(internal_imports())
    for start, end in sorted(added - internal_imports().keys()):
        assert start.endswith("_summary"), (start, end)
        assert start.rpartition(".")[0] == end.rpartition(".")[0], (start, end)


def model_package(name: str) -> str:
    return name.split(".")[2]


def importable_packages(start: str) -> set[str]:
    """Return the packages within models that one of them may import, directly or indirectly."""
    packages = {start}
    for package in ALLOWED_MODEL_IMPORTS[start]:
        packages |= importable_packages(package)
    return packages


def test_model_packages_are_imported_in_one_direction():
    files = {module_name(path) for path in MODULES if case(path).startswith("models/")} - {"discrim.models"}
    assert {model_package(name) for name in files} == set(ALLOWED_MODEL_IMPORTS)
    imported = [
        (here, item.name)
        for path in MODULES
        if (here := module_name(path)) in files
        for item in imports_of(path)
        if item.name.startswith("discrim.models.")
    ]
    back = {
        f"{here} -> {target if target in files else target.rpartition('.')[0]}".replace("discrim.models.", "")
        for here, target in imported
        if model_package(target) not in importable_packages(model_package(here))
    }
    assert back == ALLOWED_BACK_IMPORTS


def test_modules_are_imported_by_name_in_one_module_only():
    calls = [
        case(path)
        for path in MODULES
        if re.search("import_module|__import__", text_of(path))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and called_name(node).endswith(("import_module", "__import__"))
        and not isinstance(node.args[0], ast.Constant)
    ]
    assert sorted(calls) == sorted(DYNAMIC_IMPORTERS)


@pytest.mark.parametrize("model", MODELS, ids=[model.name for model in MODELS])
def test_registry_entries_agree_with_their_modules(model):
    verb = resolve(f"{model.module}:{model.verb}")
    results = resolve(f"{model.results_module}:{model.results}")
    assert (verb.__module__, verb.__name__) == (model.module, model.verb)
    assert (results.__module__, results.__name__) == (model.results_module, model.results)
    signature = inspect.signature(verb)
    first = BY_VERB[model.verb]
    assert signature.return_annotation == first.results
    assert issubclass(results, resolve(f"{first.results_module}:{first.results}"))
    assert ("prior" in signature.parameters) == model.posteriors
    assert ("weights" in signature.parameters) == model.weights
    spec = spec_of(model)
    assert {*spec.chosen_options, *spec.search_options} <= set(signature.parameters)
    for sections in spec.summary_sections():
        assert callable(sections) or all(callable(make) for make in sections.values())
    assert spec.plots()
    if model.estimator is not None:
        assert resolve(model.estimator).verb is verb


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_registry_entry_names_the_specification_of_its_model(model):
    spec = spec_of(model)
    assert isinstance(spec, ModelSpec)
    assert (spec.name, spec.verb) == (model.name, model.verb)
    assert spec.results_class.__name__ == model.results
    assert spec.can_be_saved == model.can_be_saved


@pytest.mark.parametrize("address", SUMMARIES.values())
def test_summary_functions_in_the_registry_exist(address):
    assert callable(resolve(address))


@pytest.mark.parametrize("name", MODULE_BY_NAME)
def test_public_names_are_defined_as_registered(name):
    value = resolve(f"{MODULE_BY_NAME[name]}:{name}")
    assert value is getattr(discrim, name)
    assert value.__module__ == MODULE_BY_NAME[name]


def models_in_strings(text: str) -> set[str]:
    """Return the verbs that a module names in string constants, directly or by their results class."""
    verb_of = {name: model.verb for model in MODELS for name in (model.verb, model.results)}
    quoted = {word.replace("-", "_") for word in re.findall(r"[\"']([\w-]+)[\"']", text)}
    if len({verb_of[word] for word in quoted & set(verb_of)}) < 3:
        # Parsing is needed only to tell constants from docstrings and comments.
        return set()
    texts = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
    texts = {text.replace("-", "_") for text in texts if isinstance(text, str)}
    return {verb_of[text] for text in texts & set(verb_of)}


def test_only_the_registry_lists_the_models():
    models_by_module = {case(path): models_in_strings(text_of(path)) for path in MODULES}
    listing = {name for name, models in models_by_module.items() if len(models) >= 3}
    assert listing == {"models/registry.py"} | MODULES_NAMING_MODELS


@pytest.mark.parametrize(
    "source",
    [
        "TABLE = {'lda': 1, 'qda': 2, 'knn': 3}",
        "def f():\n    return ['LDAResults', 'KNNResults', 'fda']",
        "f('naive-bayes')\nf('logistic')\nf('rda')",
        "match verb:\n    case 'lda' | 'qda': ...\n    case 'hyperplane': ...",
    ],
)
def test_lists_of_models_are_detected(source):
    assert len(models_in_strings(source)) == 3


def test_modules_are_short_and_documented():
    assert [case(path) for path in MODULES if not re.match('r?"""', text_of(path))] == []
    assert [
        case(path)
        for path in MODULES
        if text_of(path).count("\n") > 703 and code_metrics.code_lines(text_of(path), tree_of(path)) > 703
    ] == []
    long = [
        f"{case(path)}:{node.lineno}: {node.name}"
        for path in MODULES
        if has_distant_definitions(text_of(path))
        for node, _, _ in statements(tree_of(path))
        if isinstance(node, ast.FunctionDef) and code_lines(node) >= 70
    ]
    assert long == []


def has_distant_definitions(text: str) -> bool:
    """Return whether a function may have 70 lines; if not, the module need not be parsed."""
    lines = text.splitlines()
    starts = [
        (k, len(line) - len(line.lstrip()))
        for k, line in enumerate(lines)
        if re.match(r"\s*(async )?(def|class) ", line)
    ]
    for i, (start, indent) in enumerate(starts):
        ends = (k for k, other in starts[i + 1 :] if other <= indent)
        if next(ends, len(lines)) - start >= 70:
            return True
    return False


def code_lines(function: ast.FunctionDef) -> int:
    """Count the lines of a function without its docstring."""
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def test_source_has_no_assert_and_no_suppression():
    assert_statements = [
        f"{case(path)}:{node.lineno}"
        for path in MODULES
        if re.search(r"^\s*assert\b", text_of(path), re.MULTILINE)
        for node, _, _ in statements(tree_of(path))
        if isinstance(node, ast.Assert)
    ]
    assert assert_statements == []
    marks = r"type: ?ignore|noqa|TODO|FIXME|XXX"
    assert [f"{case(path)}: {mark}" for path in MODULES for mark in re.findall(marks, text_of(path))] == []
    annotated = "from __future__ import annotations"
    assert [case(path) for path in MODULES if annotated not in text_of(path) and tree_of(path).body[1:]] == []


def loaded_after(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has loaded after a statement."""
    code = f"import sys; {statement}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_pickle_contents_are_defined_by_reduce():
    """Python 3.11.0 to 3.11.2 ignores __getstate__ of dataclasses with slots."""
    assert not [
        path for path in (ROOT / "discrim").rglob("*.py") if "def __getstate__" in path.read_text("utf-8")
    ]


def test_import_discrim_loads_nothing_heavy():
    ours = loaded_after("import discrim, discrim.errors, discrim.datasets, discrim.cli")
    libraries = "numpy pandas scipy patsy statsmodels matplotlib narwhals threadpoolctl tqdm"
    assert ours & {*libraries.split()} == set()


@pytest.mark.slow
def test_first_fit_of_a_small_table_needs_no_module_of_scipy():
    fit = "import sys, discrim; discrim.lda('species ~ .', data=discrim.datasets.load_iris())"
    code = f"{fit}; assert not {{'scipy.sparse', 'scipy.special', 'scipy.linalg'}} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


READERS = {"dask", "distributed", "duckdb", "polars", "pyarrow"}
"""Libraries that are imported only for their own tables or for paths."""


@pytest.mark.slow
def test_verbs_import_only_required_modules():
    loaded = loaded_after("import discrim; discrim.lda, discrim.qda, discrim.naive_bayes")
    assert loaded & {"patsy", "matplotlib", "statsmodels", "sklearn", "IPython"} == set()
    # pandas itself imports pyarrow if it is installed.
    assert loaded & (READERS - {"pyarrow"}) == set()


@pytest.mark.slow
def test_fit_of_a_pandas_frame_imports_no_other_table_library():
    without = f"sys.modules.update(dict.fromkeys({sorted(READERS)}))"
    loaded_after(f"{without}; import discrim; discrim.lda('species ~ .', data=discrim.datasets.load_iris())")


def project_files() -> list[Path]:
    """Return the files of the project: those of git, or without git all files not created by tools."""
    if shutil.which("git") and (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return [ROOT / name for name in listed.split("\0") if (ROOT / name).is_file()]
    generated = {".git", ".venv", "build", "dist", "__pycache__", ".hypothesis", "PKG-INFO"}
    generated |= {f".{tool}_cache" for tool in ("mypy", "pytest", "ruff")}
    files = (path for path in ROOT.rglob("*") if path.is_file())
    return [
        path
        for path in files
        if not generated & set(path.relative_to(ROOT).parts) and ".egg-info" not in str(path)
    ]


MACHINE_PATH = re.compile(
    r"(?<![\w./~-])/(?:{})/[\w.]".format(
        "|".join(["home", "root", "Users", "tmp", "work", "mnt", "media", "opt"])
    )
    + r"|\b[A-Z]:\\\\?Users"
)


def test_no_file_contains_a_machine_path():
    files = project_files()
    assert len(files) > len(MODULES)
    hits = []
    for path in files:
        text = path.read_bytes().decode("utf-8", errors="replace")
        hits += [f"{path.relative_to(ROOT)}: {hit.group()}" for hit in MACHINE_PATH.finditer(text)]
    assert hits == []


@pytest.mark.parametrize("text", ["see /ho" + "me/ann/x.csv", '"/t' + 'mp/x"', "C:" + r"\Users\ann"])
def test_machine_paths_are_detected(text):
    assert MACHINE_PATH.search(text)


@pytest.mark.parametrize("text", ["https://host.org/home/page", "a/tmp/b", "../work/x", "$tmp/x", "m/opt/"])
def test_ordinary_paths_are_allowed(text):
    assert not MACHINE_PATH.search(text)


@pytest.mark.slow
def test_metrics_are_within_bounds():
    metrics = code_metrics.static_metrics(ROOT) | code_metrics.traced_metrics(ROOT)
    assert metrics.keys() == MAX_METRICS.keys()
    assert {name: value for name, value in metrics.items() if value > MAX_METRICS[name]} == {}
