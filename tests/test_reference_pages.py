"""Sources of the reference pages: each public name is described once, and links lead to pages."""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter

import pytest

import discrim
from discrim.datasets import load_iris, load_penguins, load_wine
from discrim.errors import DiscrimError
from discrim.models.registry import MODELS
from discrim.models.results.results import ClassifierResults
from tests.support import ROOT

pytest.importorskip("sphinx")
pytest.importorskip("numpydoc")
sys.path.insert(0, str(ROOT / "vignettes" / "_ext"))
import first_lines
import reference

SECTIONS = (
    ":Parameters:",
    ":Returns:",
    ":Raises:",
    ".. seealso::",
    ".. rubric:: Examples",
    ".. rubric:: Notes",
)
TABLES = (load_iris, load_penguins, load_wine)


@pytest.fixture(scope="module")
def pages():
    return reference.reference_pages(lambda code: "printed by the example")


def described(text):
    """Return the names that directives of a page describe."""
    return re.findall(r"^ *\.\. py:(?!currentmodule|module)\w+:: ([\w.]+)", text, re.MULTILINE)


def test_page_of_a_function_has_the_sections_of_its_docstring_in_order(pages):
    page = pages["lda"]
    positions = [page.index(section) for section in SECTIONS]
    assert positions == sorted(positions)
    assert described(page) == ["lda"]
    assert ":py:obj:`LDAResults <discrim.LDAResults>`" in page[positions[1] : positions[2]]
    assert ":obj:`qda`" in page[positions[3] : positions[4]]
    assert "printed by the example" in page[positions[4] : positions[5]]


def test_each_parameter_of_a_function_is_described_once(pages):
    for name in reference.FUNCTIONS:
        section = pages[name].partition(":Parameters:")[2].partition("\n   :")[0]
        terms = re.findall(r"^ {7}\*\*(.+?)\*\*(?: :|$)", section, re.MULTILINE)
        documented = [each.strip("\\* ") for term in terms for each in term.split(",")]
        assert sorted(documented) == sorted(inspect.signature(getattr(discrim, name)).parameters), name


def test_each_public_name_is_described_once(pages):
    names = Counter(name for page in pages.values() for name in described(page))
    public = [*reference.FUNCTIONS, *reference.RESULTS]
    for module in reference.MODULES.values():
        public += [name for name in module.__all__ if callable(getattr(module, name))]
    # discrim.load and discrim.datasets.load have the same name.
    assert {name: names[name] for name in public if names[name] != 1} == {"load": 2}
    for name, kind in reference.RESULTS.items():
        page = pages[reference.page_name(name)]
        assert all(names[f"{name}.{member}"] == 1 for member in reference.own_members(kind)), name
        for member in reference.inherited_members(kind):
            assert f" <ClassifierResults.{member}>`" in page, (name, member)


def test_each_page_is_in_a_table_of_contents(pages):
    listed = [
        name
        for page in pages.values()
        for toctree in re.findall(r"^\.\. toctree::\n   :hidden:\n\n((?:   .+\n)+)", page, re.MULTILINE)
        for name in toctree.split()
    ]
    assert sorted(listed) == sorted(pages.keys() - {"index"})
    lowercase_names = Counter(name.lower() for name in pages)
    assert max(lowercase_names.values()) == 1


def test_no_page_shows_private_modules(pages):
    for name, page in pages.items():
        assert not re.search(r"discrim\.(models|core|report|frame|inference)\.", page), name


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.results)
def test_all_public_names_of_a_fit_are_listed(model):
    kind = getattr(discrim, model.results)
    listed = {*reference.own_members(kind), *reference.own_members(ClassifierResults)}
    unlisted = {name for name in dir(kind) if not name.startswith("_")} - listed
    assert all(inspect.getdoc(getattr(kind, name)).startswith("Not available") for name in unlisted)


@pytest.mark.slow
@pytest.mark.parametrize("model", [m for m in MODELS if m.verb != "bayes"], ids=lambda model: model.results)
def test_page_lists_the_methods_that_a_fit_has(model):
    scope = {"discrim": discrim}
    code = first_lines.example_code(model.verb).replace("print(fit)", "")
    if model.results == "PenalizedLogisticResults":
        code = code.replace("data=", "penalty=discrim.penalty.Lasso(0.01), data=")
    exec(code, scope)
    fit, kind = scope["fit"], getattr(discrim, model.results)
    assert type(fit) is kind
    rows = next((load() for load in TABLES if load.__name__ in code), None)
    inherited = reference.inherited_members(kind)
    for name in reference.CLASSES_WITH_MEMBER.keys() - set(reference.own_members(kind)):
        try:
            answer = getattr(fit, name)
            if callable(answer):
                answer(rows) if name == "estimate_prior" else answer()
        except DiscrimError:
            assert name not in inherited, name
        else:
            assert name in inherited, name


def test_parameters_are_literals_and_names_are_links():
    doc = reference.parse_docstring(ClassifierResults.augment)
    assert "(``.fitted``)" in reference.summary_line(doc)
    _, text = reference.member_text(ClassifierResults, "predict")
    assert "``outlier``" in text
    assert "`typicality`" in text
