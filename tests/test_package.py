"""What is installed: public names, version, typing marker; and that README and the checks say the same."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import tomllib
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import module_from_spec, spec_from_file_location

import pytest

import discrim
from tests.test_architecture import project_files

PUBLIC = sorted(discrim.__all__)


FUNCTIONS = [name for name in PUBLIC if inspect.isfunction(getattr(discrim, name))]


def metadata(root):
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"load"}))
def test_every_verb_names_its_source(name):
    """An author and a year, as in (Fisher, 1936, ...) or Fisher (1936, ...)."""
    assert re.search(r"[A-Z][a-z]+('s)?,?\s+\(?(18|19|20)\d\d\b", getattr(discrim, name).__doc__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_verb_has_an_example(name):
    assert doctest.DocTestParser().get_examples(getattr(discrim, name).__doc__)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_exists_and_is_documented(name):
    value = getattr(discrim, name)
    assert value.__doc__
    assert name in dir(discrim)
    assert vars(discrim)[name] is value


def test_names_for_type_checkers_equal_runtime_names(root):
    tree = ast.parse((root / "discrim" / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: (node.module, alias.name)
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(seen) == PUBLIC
    for name, (module, original) in seen.items():
        assert name == original
        if module != "discrim":
            assert getattr(import_module(module), name) is getattr(discrim, name)


def test_unknown_name_raises_attribute_error():
    name = "lad"
    with pytest.raises(AttributeError, match="no attribute 'lad'"):
        getattr(discrim, name)


def test_star_import_brings_the_public_names():
    namespace = {}
    exec("from discrim import *", namespace)
    assert set(PUBLIC) <= set(namespace)


def test_version_is_stated_once_and_read_from_the_metadata(root):
    stated = metadata(root)["project"]["version"]
    try:
        assert discrim.__version__ == version("discrim") == stated
    except PackageNotFoundError:
        assert discrim.__version__ == "0+unknown"
    assert stated not in (root / "setup.cfg").read_text(encoding="utf-8")


def lower_bounds(root):
    """The lowest version of each library that the package or its tests ask for."""
    project = metadata(root)["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(each for name in extras if name != "dev" for each in extras[name])]
    found = (re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", each) for each in asked)
    return {match[1]: match[2] for match in found if match}


def test_the_lowest_versions_that_are_tested_are_the_lower_bounds(root):
    lines = (root / ".ci" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    assert pinned == lower_bounds(root)
    assert list(pinned) == sorted(pinned)


def test_conda_runs_it_with_the_same_versions(root):
    recipe = (root / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = re.findall(r"- ([\w-]+) >=([\d.]+)", recipe.partition("  run:\n")[2])
    project = metadata(root)["project"]
    named = {"matplotlib": "matplotlib-base"}
    needed = [tuple(each.split(">=")) for each in project["dependencies"]]
    needed = [("python", project["requires-python"].removeprefix(">=")), *needed]
    assert run == [(named.get(name, name), bound) for name, bound in needed]
    assert f"license: {project['license']}" in recipe


def of_the_build(root):
    """The module setup.py, which says nothing to setuptools when it is imported."""
    found = spec_from_file_location("setup", root / "setup.py")
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


LINK = re.compile(r"!?\[[^\]]*\]\(([^)]*)\)")


def test_readme_links_are_absolute_on_the_index_page(root):
    readme = (root / "README.md").read_text(encoding="utf-8")
    targets, place = LINK.findall(readme), "https://example.org/discrim"
    assert [each for each in targets if not (root / each).exists()] == []
    page = of_the_build(root).index_page(readme, place, "1.2")
    assert LINK.findall(page) == [
        f"{place}/{'raw' if each.endswith('.png') else 'blob'}/v1.2/{each}" for each in targets
    ]


def test_index_page_has_no_broken_links_without_a_repository(root):
    build = of_the_build(root)
    page = build.index_page((root / "README.md").read_text(encoding="utf-8"), "", "1.2")
    assert LINK.findall(page) == []
    assert (
        "| Quadratic discriminant analysis: a covariance matrix for each class | Are the covariance matrices"
        " equal? |" in page
    )
    assert build.addresses("", "") == {}
    assert set(build.addresses("https://a.org/b", "https://a.org/c").values()) >= {
        "https://a.org/b",
        "https://a.org/c",
    }


def test_sdist_manifest_covers_all_tracked_files(root):
    """Files at the top and folders are named one by one, so that a new one is not forgotten."""
    manifest = (root / "MANIFEST.in").read_text(encoding="utf-8")
    named = {each for line in manifest.splitlines() for each in line.split()[1:]}
    named |= {"MANIFEST.in", "discrim", *metadata(root)["project"]["license-files"]}
    top = {path.relative_to(root).parts[0] for path in project_files()}
    assert top - {"PKG-INFO"} <= named


def test_package_is_marked_as_typed(root):
    assert (root / "discrim" / "py.typed").exists()
    assert metadata(root)["tool"]["setuptools"]["package-data"]["discrim"] == ["py.typed"]


def test_each_tool_is_configured_in_one_file(root):
    assert not {"pytest", "mypy", "coverage"} & set(metadata(root)["tool"])
    assert "ruff" not in (root / "setup.cfg").read_text(encoding="utf-8")


def test_readme_has_two_one_line_commands(root):
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert commands[0].endswith('discrim lda "species ~ ." iris')
    assert commands[1].endswith("-m pytest -n auto")


@pytest.mark.parametrize(
    ("page", "least"),
    [("README.md", 4), ("vignettes/formulas-and-conventions.md", 0)],
)
def test_examples_of_pages_that_are_not_executed_run(root, page, least):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    done = doctest.testfile(str(root / page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert done.attempted >= least
    assert done.failed == 0


def test_readme_links_exist(root):
    text = (root / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (root / link).exists()] == []


def test_make_explains_every_target(root):
    text = (root / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE).group(1).split()
    explained = re.findall(r"^([a-z]+):.*## .+$", text, re.MULTILINE)
    assert sorted(phony) == sorted(explained)
    assert {"setup", "test", "lint", "bench", "book"} <= set(explained)
