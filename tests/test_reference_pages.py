"""Pages of reference, before Sphinx reads them: whole, each name once, and lines that run."""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections import Counter

import pytest

import discrim
from discrim import sklearn
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

VERBS = [name for name in discrim.__all__ if inspect.isfunction(getattr(discrim, name))]


@pytest.fixture(scope="module")
def written():
    return reference.reference_pages(lambda code: "...")


def described(text, *kinds):
    """Names that directives of a page describe."""
    return re.findall(rf"^ *\.\. py:(?:{'|'.join(kinds)}):: ([\w.]+)", text, re.MULTILINE)


def test_functions_link_to_the_pages_that_the_readme_lists():
    links = reference.tutorial_links()
    assert ":doc:`The iris data </iris>`" in links["lda"]
    assert ":doc:`Naive Bayes </naive-bayes>`" in links["location"]
    for page in re.findall(r"</([^>]+)>", "".join(links.values())):
        assert (ROOT / "vignettes" / f"{page}.md").exists()


def test_a_page_groups_the_results_of_a_verb_by_six_purposes():
    page = reference.verb_page("lda", {"LDAResults": discrim.LDAResults}, "", lambda code: "...")
    assert described(page, "function", "class") == ["lda", "LDAResults"]
    titles = re.findall(r"^(.+)\n-+$", page, re.MULTILINE)
    assert titles == [*reference.PURPOSES, "Parameters", "Notes"]
    for name in ("means", "scaling", "wilks", "log_odds()", "manova()", "box_m()", "tidy()"):
        assert re.search(
            rf"^ +\.\. py:(method|attribute):: LDAResults\.{re.escape(name)}$", page, re.MULTILINE
        )
    for name in ("predict", "error_rates", "plot", "report", "typicality"):
        assert f":py:obj:`{name}() <fit.{name}>`" in page


@pytest.mark.slow
def test_each_public_name_is_on_one_page(written):
    pages = [page for name, page in written.items() if name not in reference.MODULES]
    names = Counter(name for page in pages for name in described(page, "function", "class"))
    for name in set(discrim.__all__) - set(reference.MODULES):
        assert names[name] == 1, name


@pytest.mark.slow
def test_members_of_a_class_are_on_its_page_once(written):
    pages = "\n".join(written.values())
    rows = Counter(described(pages, "method", "attribute"))
    assert max(rows.values()) == 1
    for name in ("LDAResults", "QDAResults", "LogisticResults", "MLMResults", "Moments", "CrossValidation"):
        kind = getattr(discrim, name)
        base = ClassifierResults if issubclass(kind, ClassifierResults) else object
        for member in reference.public_members(kind, base):
            assert rows[f"{name}.{member}"] == 1, (name, member)
    for member in reference.public_members(ClassifierResults, object):
        assert rows[f"fit.{member}"] == 1, member


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.results)
def test_every_public_name_of_a_fit_serves_a_purpose(model):
    kind = getattr(discrim, model.results)
    described = {*reference.own_members(kind), *reference.own_members(ClassifierResults)}
    public = {name for name in dir(kind) if not name.startswith("_")}
    refused = {
        name for name in public - described if reference.is_refused(kind, discrim.LogisticResults, name)
    }
    assert public - described - refused == set()
    # All other names are estimates, which have to stay a list that can be read.
    assert sum(name not in reference.ANSWERS for name in reference.own_members(kind)) <= 22


@pytest.mark.slow
def test_no_page_shows_private_modules(written):
    for name, page in written.items():
        assert not re.search(r"discrim\.(models|core|report|frame|inference)\.", page), name


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_each_parameter_is_described_once(written, verb):
    page = written[verb][written[verb].index("\nParameters\n---") :]
    terms = re.findall(r"^( *)(``.+``)(?: : .*)?\n\1   \S", page, re.MULTILINE)
    names = Counter(name for _, term in terms for name in re.findall(r"``\*{0,2}(\w+)(?:=[^`]*)?``", term))
    for name in inspect.signature(getattr(discrim, verb)).parameters:
        assert names[name] == 1, name


@pytest.mark.slow
def test_each_page_is_in_the_index(written):
    listed = [name for names in reference.CAPTIONS.values() for name in names]
    assert sorted(listed) == sorted(written.keys() - {"index"})


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_the_first_lines_run_and_print(verb):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = first_lines.printed_output(first_lines.example_code(verb))
    assert len(said.splitlines()) > 1


TABLES = (load_iris, load_penguins, load_wine)


@pytest.mark.slow
@pytest.mark.parametrize("model", [m for m in MODELS if m.verb != "bayes"], ids=lambda model: model.results)
def test_page_lists_the_methods_of_its_results(model):
    scope = {"discrim": discrim}
    code = first_lines.example_code(model.verb).replace("print(fit)", "")
    if model.results == "PenalizedLogisticResults":
        code = code.replace("data=", "penalty=discrim.penalty.Lasso(0.01), data=")
    exec(code, scope)
    fit, kind = scope["fit"], getattr(discrim, model.results)
    assert type(fit) is kind
    rows = next((load() for load in TABLES if load.__name__ in code), None)
    shown = reference.shared_members(kind)
    for name in reference.CLASSES_WITH_MEMBER.keys() - set(reference.own_members(kind)):
        try:
            answer = getattr(fit, name)
            if callable(answer):
                answer(rows) if name == "estimate_prior" else answer()
        except DiscrimError:
            assert name not in shown, name
        else:
            assert name in shown, name


def test_return_values_of_methods_are_described():
    page = "".join(
        reference.name_entry(each.rpartition(":")[2], reference.resolve(f"discrim.{each}"))
        for each in reference.RESULT_CLASSES
    )
    for name in (
        "CanonicalResults.structure()",
        "Assessment.plot()",
        "TestResult.pvalue",
        "Boundary.normal",
        "Comparison.pairs()",
    ):
        assert re.search(rf"^ +\.\. py:(method|attribute):: {re.escape(name)}$", page, re.MULTILINE), name
    assert "variates.structure(" in page


def test_estimators_are_called_by_their_own_name():
    text = reference.class_details("KNNClassifier", sklearn.KNNClassifier)
    assert "estimator.fit(X, y" in text
    assert "fit.fit(" not in text


def test_parameters_are_literals_and_names_are_links():
    doc = reference.docs.parse_docstring(ClassifierResults.augment)
    assert "(``.fitted``)" in reference.docs.summary_line(doc)
    assert "``level``" not in reference.docs.format_details("fit.predict", ClassifierResults.predict)
    assert "``outlier``" in reference.docs.format_details("fit.predict", ClassifierResults.predict)
