"""Write the pages of the API reference: one for each function, class of results and public class.

The page of a function or class follows its numpydoc docstring: signature, parameters, return values, errors,
related functions, examples and notes. The page of a class then lists its attributes and methods by purpose
and describes each of them. Members of `ClassifierResults` are described on its page, to which the tables of
its subclasses link; `objects.inv` lists them under each subclass that has them.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.python import PythonDomain
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

import discrim
import discrim.sklearn
from discrim import covariance, datasets, errors, penalty, subspace
from discrim.models.base.available import ESTIMATES, PURPOSES, ConditionalAttribute
from discrim.models.registry import MODELS, plot_kinds, resolve
from discrim.models.results.results import ClassifierResults
from discrim.report.result_table import ResultTable

sys.path.insert(0, str(Path(__file__).parent))
import docstrings as docs
from docstrings import block, heading, parse_docstring, signature_text, summary_line
from first_lines import example_code, printed_output

FOLDER = "reference"
MEMBER_TYPES = ("method", "property", "attribute")
GALLERY = Path(__file__).parents[1] / "gallery.md"

RETURNED_CLASSES = (
    "models.selection.comparison:Comparison",
    "models.results.canonical:CanonicalResults",
    "models.results.assessed:Assessment",
    "models.results.thresholds:Threshold",
    "models.evaluation.classification:Classification",
    "inference.result:TestResult",
    "report.tables:Summary",
    "models.results.geometry:Boundary",
    "models.discriminant.covariance_results:ShrunkModel",
    "models.discriminant.covariance_results:ShrunkCorrelationModel",
    "models.discriminant.robust:RobustModel",
    "models.discriminant.covariance_results:SeparableModel",
    "models.discriminant.covariance_results:NonlinearModel",
    "models.discriminant.covariance_results:FactorModel",
    "models.discriminant.components:Subspace",
    "models.discriminant.components:CorrespondenceSubspace",
    "models.discriminant.components:SlicedSubspace",
    "models.discriminant.covariates:CovariateModel",
    "models.results.geometry:Quadratic",
    "models.linear_model.term_model:TermCanonicalResults",
    "models.linear_model.marginal_means:MarginalMeansResults",
    "models.linear_model.repeated:ProfileResults",
    "models.linear_model.repeated:RepeatedResults",
    "models.linear_model.permanova:Dispersion",
    "models.selection.learning:LearningCurve",
)
"""Classes of results that are returned by methods and not created by users."""

POSTERIORS = ("predict_proba", "predict_log_proba", "estimate_prior")
WITH_POSTERIORS = tuple(model.results for model in MODELS if model.posteriors)
WITH_CRITERIA = (
    "LDAResults",
    "QDAResults",
    "NaiveBayesResults",
    "NearestCentroidResults",
    "LogisticResults",
    "MixtureResults",
)
CLASSES_WITH_MEMBER = {
    "typicality": ("LDAResults", "QDAResults"),
    "casewise": ("LDAResults", "QDAResults"),
    "relative_distances": ("LDAResults", "QDAResults"),
    "posterior_intervals": ("LDAResults", "QDAResults", "LogisticResults"),
    **dict.fromkeys(POSTERIORS, WITH_POSTERIORS),
    **dict.fromkeys(("aic", "bic"), WITH_CRITERIA),
    "llf": (*WITH_CRITERIA, "RDAResults"),
    "df_model": (*WITH_CRITERIA, "IndicatorResults", "PerceptronResults", "HyperplaneResults"),
}
"""Fits that have a member of `ClassifierResults` that not every fit has."""

MODULES = {
    "covariance": covariance,
    "subspace": subspace,
    "penalty": penalty,
    "estimators": discrim.sklearn,
    "datasets": datasets,
    "errors": errors,
}
"""Modules by the name of their page."""

TITLES = {
    "results": "Results of fits and methods",
    "covariance": "Covariance estimators",
    "subspace": "Subspaces",
    "penalty": "Penalties",
    "estimators": "scikit-learn estimators",
    "datasets": "Datasets",
    "errors": "Errors and warnings",
}
"""Titles of pages of several functions or classes."""

CAPTIONS = {
    "Discriminant analysis": ("lda", "qda", "rda", "nearest_centroid", "mixture", "plda", "location"),
    "Naive Bayes and shrunken centroids": ("naive_bayes", "shrunken_centroids"),
    "Nearest neighbours and kernel densities": ("knn", "kernel_density"),
    "Regression-based classifiers": ("logistic", "indicator", "fda", "kernel_lda"),
    "Separating hyperplanes": ("perceptron", "hyperplane"),
    "Projections": ("pls", "sparse_lda"),
    "Bayes classifier": ("bayes",),
    "Model selection": ("compare", "cross_validate", "stepwise", "choose", "lr_test", "hausman"),
    "Multivariate tests": ("manova", "mlm", "permanova", "box_m", "covariance_models", "sphericity_test"),
    "Sample-size planning": ("plan",),
    "Moments and saved files": ("moments", "from_stats", "load"),
    "Results": ("ClassifierResults", "results"),
    "Specifications": ("covariance", "subspace", "penalty"),
    "Estimators, datasets, errors": ("estimators", "datasets", "errors"),
}
"""Pages by caption of the index."""

TUTORIALS = {
    "lda": ("lda-step-by-step", "iris", "canonical-variates"),
    "qda": ("equal-covariances",),
    "rda": ("regularized-discriminant-analysis", "tuning"),
    "nearest_centroid": ("gene-expression",),
    "mixture": ("mixture-discriminant-analysis",),
    "plda": ("verification",),
    "location": ("naive-bayes",),
    "naive_bayes": ("naive-bayes",),
    "shrunken_centroids": ("gene-expression", "gene-selection"),
    "knn": ("nearest-neighbours",),
    "kernel_density": ("kernel-densities",),
    "logistic": ("logistic-regression", "lda-or-logistic"),
    "indicator": ("indicator-regression",),
    "fda": ("flexible-discriminant-analysis",),
    "kernel_lda": ("kernel-discriminant-analysis",),
    "perceptron": ("perceptron",),
    "hyperplane": ("optimal-hyperplane",),
    "pls": ("partial-least-squares",),
    "sparse_lda": ("gene-expression",),
    "bayes": ("bayes-classifier",),
    "compare": ("comparing-models",),
    "cross_validate": ("error-rates",),
    "stepwise": ("variable-selection", "selection-bias"),
    "choose": ("model-selection",),
    "lr_test": ("equal-covariances",),
    "hausman": ("lda-or-logistic",),
    "manova": ("factorial-designs",),
    "mlm": ("factorial-designs", "covariates", "repeated-measures"),
    "permanova": ("high-dimensional-tests",),
    "box_m": ("equal-covariances",),
    "covariance_models": ("equal-covariances",),
    "sphericity_test": ("high-dimensional-tests",),
    "plan": ("sample-size",),
    "moments": ("large-tables",),
    "from_stats": ("published-results",),
    "load": ("from-notebook-to-production",),
}
"""Pages of the book that teach a function."""

FUNCTIONS = [name for name in discrim.__all__ if inspect.isfunction(getattr(discrim, name))]
RESULTS_SUMMARY = "Objects that functions and methods return."
RESULTS = {
    **{name: getattr(discrim, name) for name in discrim.__all__ if inspect.isclass(getattr(discrim, name))},
    **{path.rpartition(":")[2]: resolve(f"discrim.{path}") for path in RETURNED_CLASSES},
}
"""Classes of results by name."""

LINKED_TYPES = {
    **{name: f"discrim.{name}" if name in discrim.__all__ else name for name in RESULTS},
    **{name: f"discrim.errors.{name}" for name in errors.__all__},
}
"""Full names of the classes that are links if a docstring names them as types."""


def page_name(name: str) -> str:
    """Return the name of the page of a function or class; names of files differ in more than case."""
    is_taken = name not in FUNCTIONS and name.lower() in (*FUNCTIONS, *MODULES)
    return f"{name}-class" if is_taken else name


@cache
def returned_classes(function_name: str) -> tuple[str, ...]:
    """Return the names of the classes of results that a function returns."""
    names = [model.results for model in MODELS if model.verb == function_name]
    annotation = str(inspect.signature(getattr(discrim, function_name)).return_annotation)
    return tuple(dict.fromkeys(name for name in [*names, *re.findall(r"\w+", annotation)] if name in RESULTS))


def unwrap(attribute: Any) -> Any:
    """Return the function of a method or property, with or without a condition."""
    attribute = getattr(attribute, "fget", None) or getattr(attribute, "__func__", attribute)
    return attribute.function if isinstance(attribute, ConditionalAttribute) else attribute


def base_class(kind: type) -> type:
    """Return the base whose members are not described on the page of a class."""
    bases = (ClassifierResults, ResultTable, errors.DiscrimError, Exception)
    return next((base for base in bases if kind is not base and issubclass(kind, base)), object)


def public_members(kind: type) -> Iterator[str]:
    """Yield the documented public methods and properties of a class that differ from those of its base."""
    for name in dir(kind):
        attribute = inspect.getattr_static(kind, name)
        function = unwrap(attribute)
        if (
            not name.startswith("_")
            and inspect.isfunction(function)
            and function.__module__.startswith("discrim")
            and not isinstance(attribute, staticmethod)
            and not (inspect.getdoc(getattr(kind, name)) or "Not available").startswith("Not available")
            and inspect.getattr_static(base_class(kind), name, None) is not attribute
        ):
            yield name


@cache
def listed_attributes(kind: type) -> dict[str, tuple[str, str]]:
    """Return types and descriptions of the attributes in the docstring of a class, by name."""
    listed = {}
    for each in parse_docstring(kind)["Attributes"]:
        names = [name.strip() for name in each.name.split(",")]
        description = " ".join(line.strip() for line in each.desc if line.strip())
        # Attributes that are described together also have docstrings of their own.
        listed |= dict.fromkeys(names, (each.type, description if len(names) == 1 else ""))
    return listed


@cache
def own_members(kind: type) -> list[str]:
    """Return the members that are described on the page of a class: listed attributes first."""
    return list(dict.fromkeys([*listed_attributes(kind), *public_members(kind)]))


def inherited_members(kind: type) -> list[str]:
    """Return the members of the results of a model that are described on the page of `ClassifierResults`."""
    if base_class(kind) is not ClassifierResults:
        return []
    return [
        name
        for name in set(own_members(ClassifierResults)).difference(own_members(kind))
        if kind.__name__ in CLASSES_WITH_MEMBER.get(name, [kind.__name__])
    ]


def group_members(kind: type, names: Iterable[str]) -> dict[str, list[str]]:
    """Group members by purpose, or into attributes and methods for a class without purposes."""
    names = sorted(names)
    if getattr(discrim, kind.__name__, None) is not kind:
        methods = [name for name in names if is_method(kind, name)]
        return {"Attributes": [name for name in names if name not in methods], "Methods": methods}
    with_purpose = {name for each in PURPOSES.values() for name in each}
    groups = {ESTIMATES: [name for name in names if name not in with_purpose]}
    for purpose, order in PURPOSES.items():
        groups.setdefault(purpose, []).extend(name for name in order if name in names)
    return groups


def is_method(kind: type, name: str) -> bool:
    """Return whether a member of a class is a method."""
    attribute = inspect.getattr_static(kind, name, None)
    return inspect.isfunction(unwrap(attribute)) and not isinstance(attribute, property)


def member_directive(owner: str, kind: type, name: str) -> str:
    """Return the directive that describes a member of a class, without content."""
    attribute = inspect.getattr_static(kind, name, None)
    if is_method(kind, name):
        return f"py:method:: {owner}.{name}{signature_text(unwrap(attribute))}"
    return f"py:{'property' if isinstance(attribute, property) else 'attribute'}:: {owner}.{name}"


@cache
def member_text(kind: type, name: str) -> tuple[str, str]:
    """Return the summary of a member of a class and its whole description."""
    form, description = listed_attributes(kind).get(name, ("", ""))
    function = unwrap(inspect.getattr_static(kind, name, None))
    summary = text = description
    if inspect.isfunction(function):
        doc = parse_docstring(function)
        docs.link_types(doc, LINKED_TYPES)
        summary, text = summary_line(doc), str(doc).strip()
    if form and " ".join(text.split()) == summary:
        summary = text = f"{summary} *{form}*".strip()
    return summary, text


def has_details(kind: type, name: str) -> bool:
    """Return whether the description of a member is longer than its row in the table."""
    summary, text = member_text(kind, name)
    return " ".join(text.split()) != summary


def member_row(owner: str, kind: type, name: str) -> str:
    """Format a member in the table of a class: its description, or its summary and a link to that."""
    classes = "member"
    if name not in own_members(kind):
        # The search finds the description and not the tables of all subclasses.
        owner, kind, classes = ClassifierResults.__name__, ClassifierResults, "member no-search"
    elif not has_details(kind, name):
        return block(member_directive(owner, kind, name), member_text(kind, name)[0], ":no-contents-entry:")
    label = f"{name}()" if is_method(kind, name) else name
    return block(
        f"container:: {classes}", f":py:obj:`{label} <{owner}.{name}>`\n\n{member_text(kind, name)[0]}"
    )


def plots_row(kind: type) -> str:
    """Format a row with the kinds of plots of a fit, with links to the gallery."""
    kinds = [each for model in MODELS if model.results == kind.__name__ for each in plot_kinds(model)]
    documented = set(re.findall(r"^### (\w+)$", GALLERY.read_text(encoding="utf-8"), re.MULTILINE))
    links = ", ".join(
        f"`{each} <../gallery.html#{each.replace('_', '-')}>`__" if each in documented else f"``{each}``"
        for each in kinds
    )
    return block("container:: member", f"Kinds\n\n{links}") if kinds else ""


def members_text(owner: str, kind: type) -> str:
    """Format the tables of the members of a class, and then the longer descriptions."""
    text, entries = "", ""
    for title, names in group_members(kind, [*own_members(kind), *inherited_members(kind)]).items():
        rows = "".join(member_row(owner, kind, name) for name in names)
        rows += plots_row(kind) if title == "Plots" else ""
        text += heading(title, "-") + block("container:: members", rows) if rows else ""
        entries += "".join(
            block(member_directive(owner, kind, name), member_text(kind, name)[1])
            for name in names
            if name in own_members(kind) and has_details(kind, name)
        )
    return text + (heading("Details", "-") + entries if entries else "")


def related(*names: str) -> list[Any]:
    """Return the entries of a section "See Also" for functions of the package, with their summaries."""
    return [([(name, None)], [summary_of(getattr(discrim, name))]) for name in names]


def object_text(name: str, thing: Any, see_also: Iterable[Any] = (), examples: str = "") -> str:
    """Format a function or class by its docstring.

    Parameters
    ----------
    name : str
        Its public name.
    thing : function or type
    see_also : iterable of tuple
        Entries of the section "See Also"; see `related`.
    examples : str
        Text at the beginning of the examples.
    """
    doc = parse_docstring(thing)
    docs.link_types(doc, LINKED_TYPES)
    if name in RESULTS:
        doc["Parameters"] = []  # Users do not call the constructor.
    doc["See Also"] = list(see_also)
    doc["Examples"] = [*examples.splitlines(), *doc["Examples"]]
    kind = "function"
    if inspect.isclass(thing):
        kind = "exception" if issubclass(thing, Exception) else "class"
    signature = signature_text(thing) if kind == "function" or doc["Parameters"] else ""
    return block(f"py:{kind}:: {name}{signature}", str(doc))


def function_page(name: str, run_code: Callable[[str], str]) -> str:
    """Return the page of a function; `run_code` returns what code prints."""
    code = example_code(name)
    examples = block("code-block:: python", code) + block("code-block:: text", run_code(code))
    others = next(names for names in CAPTIONS.values() if name in names)
    see_also = [([(f"/{page}", "doc") for page in TUTORIALS[name]], [])]
    see_also += related(*(other for other in others if other != name))
    module = block("py:currentmodule:: discrim")
    return heading(name) + module + object_text(name, getattr(discrim, name), see_also, examples)


def class_page(name: str, kind: type, module: str = "discrim") -> str:
    """Return the page of a class in a public module, or of a class that methods return."""
    module = "None" if name in RESULTS and name not in discrim.__all__ else module
    see_also = related(*(function for function in FUNCTIONS if name in returned_classes(function)))
    see_also += related(ClassifierResults.__name__) if inherited_members(kind) else []
    # Estimators repeat the text of functions. Only their names are in the search.
    text = ":no-search:\n\n" if module == discrim.sklearn.__name__ else ""
    text += heading(name) + block(f"py:currentmodule:: {module}")
    return text + object_text(name, kind, see_also) + members_text(name, kind)


@cache
def summary_of(thing: Any) -> str:
    """Return the summary of the docstring of a function, class or module."""
    return summary_line(parse_docstring(thing))


def has_page(thing: Any) -> bool:
    """Return whether something has a page; a short row describes an exception without attributes."""
    is_exception = inspect.isclass(thing) and issubclass(thing, Exception)
    return not is_exception or bool(own_members(thing))


def page_list(things: Mapping[str, Any]) -> str:
    """Format a table of functions, classes and modules with their summaries, and a table of contents."""
    rows, pages = "", []
    for name, thing in things.items():
        if has_page(thing):
            pages.append(name if name in TITLES else page_name(name))
            summary = RESULTS_SUMMARY if name == "results" else summary_of(thing)
            rows += block("container:: member", f":doc:`{TITLES.get(name, name)} <{pages[-1]}>`\n\n{summary}")
        else:
            rows += block(f"py:exception:: {name}", str(parse_docstring(thing)), ":no-contents-entry:")
    return block("container:: members", rows) + block("toctree::", "\n".join(pages), ":hidden:")


def module_pages(page: str, module: Any) -> dict[str, str]:
    """Return the page of a module, with its functions, and a page for each of its classes."""
    classes = {
        name: thing for name, thing in inspect.getmembers(module, inspect.isclass) if name in module.__all__
    }
    text = heading(TITLES[page]) + block(f"py:module:: {module.__name__}") + f"{parse_docstring(module)}\n\n"
    text += page_list(classes) if classes else ""
    for name, function in inspect.getmembers(module, inspect.isfunction):
        text += object_text(name, function) if name in module.__all__ else ""
    kinds = {name: kind for name, kind in classes.items() if has_page(kind)}
    return {
        page: text,
        **{page_name(name): class_page(name, kind, module.__name__) for name, kind in kinds.items()},
    }


def reference_pages(run_code: Callable[[str], str] = printed_output) -> dict[str, str]:
    """Return the text of each page by name; `run_code` returns what code prints."""
    pages = {name: function_page(name, run_code) for name in FUNCTIONS}
    pages |= {page_name(name): class_page(name, kind) for name, kind in RESULTS.items()}
    for page, module in MODULES.items():
        pages |= module_pages(page, module)
    returned = {name: kind for name, kind in RESULTS.items() if kind is not ClassifierResults}
    pages["results"] = heading(TITLES["results"])
    for title, public in (("Returned by functions", True), ("Returned by methods", False)):
        kinds = {name: kind for name, kind in returned.items() if (name in discrim.__all__) == public}
        pages["results"] += heading(title, "-") + page_list(kinds)
    pages["index"] = heading("Reference")
    for caption, names in CAPTIONS.items():
        things = {name: MODULES.get(name) or getattr(discrim, name, None) for name in names}
        pages["index"] += heading(caption, "-") + page_list(things)
    return pages


def write_pages(app: Sphinx) -> None:
    """Write the pages into the folder of the reference, and delete pages that no longer exist."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    written = reference_pages()
    for name, text in written.items():
        file = folder / f"{name}.rst"
        # An unchanged file is not read again by Sphinx.
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for old in set(folder.glob("*.rst")) - {folder / f"{name}.rst" for name in written}:
        old.unlink()


def keep_quotes(app: Sphinx, page: str, source: list[str]) -> None:
    """Turn off smart quotes on reference pages, whose quotes belong to code."""
    app.config.smartquotes = not page.startswith(f"{FOLDER}/")


def remove_owner_names(app: Sphinx, tree: nodes.document) -> None:
    """Remove the name of the class from the names of its members, which are on its page."""
    for description in tree.findall(addnodes.desc):
        if description["objtype"] in MEMBER_TYPES:
            for name in [*description[0].findall(addnodes.desc_addname)]:
                name.parent.remove(name)


class ReferenceDomain(PythonDomain):
    """Python domain in which the search ranks members of classes below functions, classes and pages."""

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        """Yield the objects; members have priority 2, and inherited members are not in the search."""
        for *entry, kind, page, anchor, priority in super().get_objects():
            rank = 2 if kind in MEMBER_TYPES and priority == 1 else priority
            yield (*entry, kind, page, anchor, rank)


def add_inherited_members(app: Sphinx, env: BuildEnvironment) -> None:
    """Add names such as `discrim.LDAResults.predict`, which refer to the page of `ClassifierResults`."""
    objects = env.domains["py"].objects
    for name, kind in RESULTS.items():
        for member in inherited_members(kind):
            described = objects[f"discrim.{ClassifierResults.__name__}.{member}"]
            objects[f"discrim.{name}.{member}"] = described._replace(aliased=True)


def resolve_link(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.Element
) -> nodes.Node | None:
    """Resolve a name to a member of the class of a page or of the results of a function, or of every fit."""
    page = node["refdoc"].removeprefix(f"{FOLDER}/")
    classes = returned_classes(page) if page in FUNCTIONS else (page.removesuffix("-class"),)
    owners = [LINKED_TYPES.get(each, each) for each in (*classes, ClassifierResults.__name__)]
    name = str(node.get("reftarget", "")).removesuffix("()").removeprefix("fit.")
    for owner in (*owners, "discrim"):
        target = env.domains["py"].objects.get(f"{owner}.{name}")
        if target is not None:
            return make_refnode(app.builder, node["refdoc"], target.docname, target.node_id, content, name)
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the writing of the pages and the resolution of links."""
    app.add_domain(ReferenceDomain, override=True)
    app.connect("builder-inited", write_pages)
    app.connect("source-read", keep_quotes)
    app.connect("doctree-read", remove_owner_names)
    app.connect("env-updated", add_inherited_members)
    app.connect("missing-reference", resolve_link)
    app.add_css_file("reference.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
