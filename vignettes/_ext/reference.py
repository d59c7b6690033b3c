"""Write the pages of the API reference, one for each function and its results.

A page begins with example code and its output. Attributes and methods are grouped by purpose (estimates,
prediction, evaluation, tests, plots, export); each has a line that opens on a click. The parameters, in
groups, and the notes follow.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
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
from docstrings import block, boxed_block, description_list, fold_block, heading, rubric_section
from first_lines import example_code, printed_output

FOLDER = "reference"
GALLERY = Path(__file__).parents[1] / "gallery.md"
README = Path(__file__).parents[2] / "README.md"
FIT = "fit"
"""Name of a fit in the calls of methods that all fits have."""

INSTANCE_NAMES = {
    "Assessment": "assessment",
    "BayesResults": "law",
    "Threshold": "cut_off",
    "Boundary": "plane",
    "ChooseResults": "choice",
    "CanonicalResults": "variates",
    "Comparison": "comparison",
    "CovariateModel": "fit.covariate_model",
    "CrossValidation": "validation",
    "CorrespondenceSubspace": "fit.subspace",
    "Dispersion": "spread",
    "FactorModel": "fit.covariance_model",
    "LearningCurve": "curve",
    "MarginalMeansResults": "means",
    "Moments": "whole",
    "ProfileResults": "profile",
    "RepeatedResults": "measures",
    "RobustModel": "fit.covariance_model",
    "SeparableModel": "fit.covariance_model",
    "NonlinearModel": "fit.covariance_model",
    "ShrunkCorrelationModel": "fit.covariance_model",
    "ShrunkModel": "fit.covariance_model",
    "SlicedSubspace": "fit.subspace",
    "StepwiseResults": "choice",
    "Subspace": "fit.subspace",
    "Summary": "summary",
    "TermCanonicalResults": "variates",
    "TestResult": "test",
}
"""Names of instances that are not fits, in the calls of their methods."""

RESULT_CLASSES = (
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

TABLE = "Formula, table and prior"
MODEL = "Model"
GROUPS = {
    TABLE: ("formula", "data", "moments", "weights", "prior"),
    MODEL: (),
    "Tuning and cross-validation": (
        "folds", "select", "grid", "n_thresholds", "n_penalties", "repeats", "groups",
        "nested", "within", "refit_prior", "seed",
    ),
    "Computation": ("tol", "maxiter", "starts", "draws", "seed"),
    "Data handling": ("levels", "na_action", "missing", "unseen", "collinear", "functions"),
}  # fmt: skip
"""Parameters by group; a parameter is in the first group that lists it, or else in that of the model."""

REQUIRED_PARAMETERS = {
    "Tuning and cross-validation": "folds",
}
"""Groups that are used only if the function has the given parameter."""

CAPTIONS = {
    "Discriminant analysis": ("lda", "qda", "rda", "nearest_centroid", "mixture", "plda", "location"),
    "Naive Bayes and shrunken centroids": ("naive_bayes", "shrunken_centroids"),
    "Nearest neighbours and kernel densities": ("knn", "kernel_density"),
    "Regression-based classifiers": ("logistic", "indicator", "fda", "kernel_lda"),
    "Separating hyperplanes": ("perceptron", "hyperplane"),
    "Projections": ("pls", "sparse_lda"),
    "Bayes classifier": ("bayes",),
    "Result objects": ("fits", "given"),
    "Model selection": ("compare", "cross_validate", "stepwise", "choose", "lr_test", "hausman"),
    "Multivariate tests": ("manova", "mlm", "permanova", "box_m", "covariance_models", "sphericity_test"),
    "Sample-size planning": ("plan",),
    "Moments and saved files": ("moments", "from_stats", "load"),
    "Specifications": ("covariance", "subspace", "penalty"),
    "Estimators, datasets, errors": ("estimators", "datasets", "errors"),
}
"""The pages, as the index has them."""

ANSWERS = {name for names in PURPOSES.values() for name in names}
COMPUTED, LAST = [*GROUPS][-2:]
VERBS = {model.verb for model in MODELS}
MODULES = {
    "covariance": covariance,
    "subspace": subspace,
    "penalty": penalty,
    "estimators": discrim.sklearn,
    "datasets": datasets,
    "errors": errors,
}
TITLES = {
    "fits": "Methods of all fits",
    "given": "Result objects",
    "covariance": "Covariance estimators",
    "subspace": "Subspaces",
    "penalty": "Penalties",
    "estimators": "scikit-learn estimators",
    "datasets": "Datasets",
    "errors": "Errors and warnings",
}
"""Titles of pages that do not describe a function."""
SECOND_CLASS_TITLES = {"PenalizedLogisticResults": "Penalized fits"}
"""Titles of the sections of a second result class of a function."""

PAGE_DESCRIPTIONS = {
    "fits": "Prediction, error rates, plots and export: methods that all fits have in common.",
    "given": "Objects returned by methods of fits: canonical variates, assessments, tests, summaries.",
}
"""Descriptions of pages without a docstring."""


def unwrap(attribute: Any) -> Any:
    """Return the function of a method or property, with or without a condition."""
    attribute = getattr(attribute, "fget", None) or getattr(attribute, "__func__", attribute)
    return attribute.function if isinstance(attribute, ConditionalAttribute) else attribute


def public_members(kind: type, base: type) -> Iterator[str]:
    """Yield the documented public methods and properties of a class that differ from those of a base."""
    for name in dir(kind):
        attribute = inspect.getattr_static(kind, name)
        function = unwrap(attribute)
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        if (
            function.__module__.startswith("discrim")
            and inspect.getattr_static(base, name, None) is not attribute
        ):
            yield name


def listed_attributes(kind: type) -> dict[str, tuple[str, str]]:
    """Types and descriptions of the attributes in the docstring of a class, by name."""
    listed = {}
    for each in docs.parse_docstring(kind)["Attributes"]:
        names = [name.strip() for name in each.name.split(",")]
        description = " ".join(line.strip() for line in each.desc if line.strip())
        # Attributes that are described together also have docstrings of their own.
        listed |= dict.fromkeys(names, (each.type, description if len(names) == 1 else ""))
    return listed


def member_entry(owner: str, kind: type, name: str, listed: Mapping[str, tuple[str, str]]) -> str:
    """Format a method or attribute: a line that opens if there is more."""
    attribute = inspect.getattr_static(kind, name, None)
    function = unwrap(attribute)
    if inspect.isfunction(function) and not isinstance(attribute, property):
        line = docs.summary_line(docs.parse_docstring(function))
        called = "estimator" if owner.endswith("Classifier") else INSTANCE_NAMES.get(owner, FIT)
        return block(
            f"py:method:: {owner}.{name}()",
            fold_block(line, docs.format_details(f"{called}.{name}", function)),
        )
    doc = docs.parse_docstring(function if isinstance(attribute, property) else None)
    form, description = listed.get(name, ("", ""))
    line = " ".join(filter(None, [description or docs.summary_line(doc), form and f"*{form}*"]))
    more = "\n".join(doc["Extended Summary"]) + "\n\n" + docs.format_notes(doc)
    return block(
        f"py:attribute:: {owner}.{name}",
        fold_block(line, more + rubric_section("Examples", docs.format_examples(doc))),
    )


def is_method(name: str) -> bool:
    """Return whether a name of `ClassifierResults` is a method."""
    return not isinstance(inspect.getattr_static(ClassifierResults, name), property)


def plain_row(left: str, right: str) -> str:
    """Format a line that does not open and does not define a name."""
    return block("container:: answer", f"{left}\n\n{right}")


def shared_entry(name: str) -> str:
    """Format the line of a member that all fits have, with a link to its description."""
    attribute = inspect.getattr_static(ClassifierResults, name)
    line = docs.summary_line(docs.parse_docstring(unwrap(attribute)))
    return plain_row(f":py:obj:`{name}{'()' if is_method(name) else ''} <{FIT}.{name}>`", line)


def is_refused(kind: type, base: type, name: str) -> bool:
    """Return whether a class overrides a member of its base only to refuse it."""
    doc = getattr(kind, name).__doc__ or ""
    return doc.startswith("Not available") or doc == getattr(getattr(base, name, None), "__doc__", None)


def is_model(kind: type) -> bool:
    """Return whether a class is the result class of one model."""
    return issubclass(kind, ClassifierResults) and kind is not ClassifierResults


def own_members(kind: type) -> list[str]:
    """Return the members of a class that not every fit has: listed attributes first."""
    base = (
        ClassifierResults if kind is not ClassifierResults and issubclass(kind, ClassifierResults) else object
    )
    return list(dict.fromkeys([*listed_attributes(kind), *public_members(kind, base)]))


def shared_members(kind: type) -> list[str]:
    """Return the members of a fit that every fit has."""
    if not is_model(kind):
        return []
    own, every = own_members(kind), public_members(ClassifierResults, object)
    return [
        n
        for n in every
        if n not in own and (n not in CLASSES_WITH_MEMBER or kind.__name__ in CLASSES_WITH_MEMBER[n])
    ]


def extra_row(purpose: str, kind: type, shared: Iterable[str]) -> str:
    """Format an additional row of a purpose: the attributes of all fits, or the kinds of plots."""
    if purpose == "Plots":
        kinds = [each for model in MODELS if model.results == kind.__name__ for each in plot_kinds(model)]
        documented = set(re.findall(r"^### (\w+)$", GALLERY.read_text(encoding="utf-8"), re.MULTILINE))
        links = ", ".join(
            f"`{each} <../gallery.html#{each.replace('_', '-')}>`__" if each in documented else f"``{each}``"
            for each in kinds
        )
        return plain_row("Kinds", f"{links}; see the :doc:`gallery </gallery>`.") if kinds else ""
    names = [name for name in shared if name not in ANSWERS]
    links = ", ".join(f":py:obj:`{name} <{FIT}.{name}>`" for name in names)
    return plain_row("Common to all fits", links) if purpose == ESTIMATES and names else ""


def member_sections(owner: str, kind: type) -> str:
    """Format the attributes and methods of a class by purpose."""
    shared = shared_members(kind)
    return sections_by_purpose(owner, kind, own_members(kind), shared, "-")


def sections_by_purpose(owner: str, kind: type, own: list[str], shared: list[str], character: str) -> str:
    """Format members of a class, and shared members, under headings of their purposes."""
    text, listed = "", listed_attributes(kind)
    for purpose, order in PURPOSES.items():
        others = [name for name in own if name not in ANSWERS] if purpose == ESTIMATES else []
        lines = "".join(
            member_entry(owner, kind, name, listed) if name in own else shared_entry(name)
            for name in [*others, *order]
            if name in own or name in shared
        )
        lines += extra_row(purpose, kind, shared)
        if lines:
            text += heading(purpose, character) + block("container:: answers", lines)
    return text


def second_class_section(name: str, kind: type, first_kind: type) -> str:
    """Format how a second result class of a function differs from the first: refused and own members."""
    own = [n for n in own_members(kind) if getattr(kind, n, None) is not getattr(first_kind, n, None)]
    refused = [n for n in own if is_refused(kind, first_kind, n)]
    text = heading(SECOND_CLASS_TITLES[name], "-") + class_section(name, kind)
    unavailable = ", ".join(f"``{n}``" for n in sorted(refused))
    text += block("container:: answers", plain_row("Not available", unavailable))
    return text + sections_by_purpose(name, kind, [n for n in own if n not in refused], [], "~")


def description_text(doc: Any) -> str:
    """Format the summary and the extended summary of a docstring."""
    return f"{docs.summary_line(doc)}\n\n" + "\n".join(doc["Extended Summary"]) + "\n\n"


def class_section(name: str, kind: type) -> str:
    """Format the description of a class without its members."""
    doc = docs.parse_docstring(kind)
    return block(
        f"py:class:: {name}",
        description_text(doc)
        + docs.format_notes(doc)
        + rubric_section("Examples", docs.format_examples(doc)),
    )


def group_parameters(parts: Iterable[Any], *, of_model: bool) -> dict[str, list[Any]]:
    """Group parameters; functions that do not fit models have only the last group."""
    parts = list(parts)
    names = [part.name for part in parts]
    groups: dict[str, list[Any]] = {group: [] for group in ("", *GROUPS)}
    for part in parts:
        groups_of_part = (
            g
            for g, each in GROUPS.items()
            if part.name in each and REQUIRED_PARAMETERS.get(g, part.name) in names
        )
        group = next(groups_of_part, MODEL)
        groups[group if of_model or group == LAST else ""].append(part)
    for group in (COMPUTED, LAST):
        if len(groups[group]) == 1:
            groups[MODEL if of_model else ""] += groups.pop(group)
    return {group: each for group, each in groups.items() if each}


def parameters_section(verb: str, function: Any) -> str:
    """Format the parameters of a function by group, with its signature, return value and errors."""
    doc, values = docs.parse_docstring(function), docs.default_values(function)
    text = heading("Parameters", "-")
    text += boxed_block("Signature with all defaults", docs.code_block(docs.format_signature(verb, function)))
    for group, parts in group_parameters(doc["Parameters"], of_model=verb in VERBS).items():
        names, content = ", ".join(f"``{part.name}``" for part in parts), description_list(parts, values)
        if group in ("", TABLE, MODEL):
            text += (heading(group, "~") if group else "") + content
        else:
            text += boxed_block(f"{group}: {names}", content)
    returned = description_list(part for part in doc["Returns"] if part.desc)
    text += heading("Returns", "-") + returned if returned else ""
    return text + boxed_block("Errors and warnings", description_list([*doc["Raises"], *doc["Warns"]]))


def tutorial_links() -> dict[str, str]:
    """Return links to the pages that explain each function, from the table of the README."""
    places = {}
    for row in README.read_text(encoding="utf-8").splitlines():
        links = re.findall(r"\[([^]]+)\]\(vignettes/(?:notebooks/)?([\w-]+)\.\w+\)", row)
        if row.startswith("| `") and links:
            text = ", ".join(f":doc:`{title} </{page}>`" for title, page in links)
            names = row.partition(" | ")[0]
            places |= dict.fromkeys(re.findall(r"`(\w+)`", names), f"See {text}.\n\n")
    return places


def verb_page(verb: str, kinds: Mapping[str, type], links: str, run_code: Callable[[str], str]) -> str:
    """Return the page of a function with its result classes.

    Parameters
    ----------
    verb : str
        Name of the function.
    kinds : dict of str to type
        Result classes described on this page.
    links : str
        Links to pages that explain the function.
    run_code : callable
        Returns what code prints.
    """
    function, code = getattr(discrim, verb), example_code(verb)
    doc = docs.parse_docstring(function)
    text = heading(verb) + block("py:currentmodule:: discrim")
    text += block(
        f"py:function:: {verb}({docs.positional_parameters(function)})", description_text(doc) + links
    )
    text += docs.code_block(code) + block("code-block:: text", run_code(code), ":class: printed")
    first = next(iter(kinds), "")
    for name, kind in kinds.items():
        if name == first:
            text += class_section(name, kind) + member_sections(name, kind)
        else:
            text += second_class_section(name, kind, first_kind=kinds[first])
    text += parameters_section(verb, function)
    notes = docs.format_notes(doc)
    text += heading("Notes", "-") + notes if notes else ""
    return text + boxed_block("More examples", docs.format_examples(doc))


def name_entry(name: str, thing: Any) -> str:
    """Format a function or class as a line that opens; empty for a constant."""
    if inspect.isfunction(thing):
        return block(
            f"py:function:: {name}()",
            fold_block(docs.summary_line(docs.parse_docstring(thing)), docs.format_details(name, thing)),
        )
    if not inspect.isclass(thing):
        return ""
    kind = "exception" if issubclass(thing, Exception) else "class"
    return block(
        f"py:{kind}:: {name}",
        fold_block(docs.summary_line(docs.parse_docstring(thing)), class_details(name, thing)),
    )


def module_section(module: Any) -> str:
    """Format the functions and then the classes of a module, each as a line that opens."""
    names = sorted(module.__all__, key=lambda name: inspect.isclass(getattr(module, name)))
    text = "".join(name_entry(name, getattr(module, name)) for name in names)
    head = block(f"py:currentmodule:: {module.__name__}") + description_text(docs.parse_docstring(module))
    return head + block("container:: answers", text)


def class_details(name: str, kind: type) -> str:
    """Format a class with its parameters, attributes and methods."""
    doc, listed = docs.parse_docstring(kind), listed_attributes(kind)
    text = "\n".join(doc["Extended Summary"]) + "\n\n"
    if doc["Parameters"]:
        text = docs.code_block(docs.format_signature(name, kind)) + text
        text += rubric_section("Parameters", description_list(doc["Parameters"], docs.default_values(kind)))
    # Members inherited from pandas or Exception are not listed.
    base = ResultTable if issubclass(kind, ResultTable) else Exception
    own = dict.fromkeys([*listed, *public_members(kind, base)])
    lines = "".join(member_entry(name, kind, each, listed) for each in own)
    text += block("container:: answers", lines) if lines else ""
    return (
        text
        + rubric_section("Notes", docs.format_notes(doc))
        + rubric_section("Examples", docs.format_examples(doc))
    )


def classes_by_verb() -> dict[str, dict[str, type]]:
    """Return the public result classes by function, each at the first function that returns it."""
    kinds = {name: getattr(discrim, name) for name in discrim.__all__}
    # ClassifierResults has its own page.
    kinds = {n: kind for n, kind in kinds.items() if inspect.isclass(kind) and kind is not ClassifierResults}
    classes: dict[str, dict[str, type]] = {}
    for verb in filter(lambda name: inspect.isfunction(getattr(discrim, name)), discrim.__all__):
        names = [model.results for model in MODELS if model.verb == verb]
        names += re.findall(r"\w+", str(inspect.signature(getattr(discrim, verb)).return_annotation))
        classes[verb] = {name: kinds.pop(name) for name in dict.fromkeys(names) if name in kinds}
    if kinds:
        raise LookupError(f"No function returns {', '.join(kinds)}.")
    return classes


def reference_pages(run_code: Callable[[str], str] = printed_output) -> dict[str, str]:
    """Return the text of each page by name; `run_code` returns what code prints."""
    result_classes, links = classes_by_verb(), tutorial_links()
    texts = {
        verb: verb_page(verb, kinds, links.get(verb, ""), run_code) for verb, kinds in result_classes.items()
    }
    # The members of a fit below do not belong to a module.
    base = block("py:currentmodule:: discrim")
    base += block("py:class:: ClassifierResults", docs.summary_line(docs.parse_docstring(ClassifierResults)))
    base += block("py:currentmodule:: None")
    every = (
        PAGE_DESCRIPTIONS["fits"]
        + "\n\n"
        + block("container:: answers", base)
        + member_sections(FIT, ClassifierResults)
    )
    texts["fits"] = heading(TITLES["fits"]) + every
    result_classes = "".join(
        name_entry(kind.__name__, kind) for kind in (resolve(f"discrim.{each}") for each in RESULT_CLASSES)
    )
    texts["given"] = (
        heading(TITLES["given"])
        + PAGE_DESCRIPTIONS["given"]
        + "\n\n"
        + block("container:: answers", result_classes)
    )
    for name, module in MODULES.items():
        texts[name] = heading(TITLES[name]) + module_section(module)
    texts["index"] = index_page()
    return texts


def index_page() -> str:
    """Return the list of the pages with their descriptions."""
    text = heading("Reference")
    for caption, names in CAPTIONS.items():
        lines = ""
        for name in names:
            thing = MODULES.get(name) or getattr(discrim, name, None)
            description = docs.summary_line(docs.parse_docstring(thing)) if thing else PAGE_DESCRIPTIONS[name]
            link = f":doc:`{TITLES[name]} <{name}>`" if name in TITLES else f":doc:`{name}`"
            lines += block("container:: answer", f"{link}\n\n{description}")
        text += heading(caption, "-") + block("container:: answers", lines)
        text += block("toctree::", "\n".join(names), ":hidden:")
    return text


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
    """Remove the name of the class or module from the names of its members."""
    for box in tree.findall(lambda node: "answers" in getattr(node, "attributes", {}).get("classes", ())):
        for name in [*box.findall(addnodes.desc_addname), *box.findall(addnodes.desc_annotation)]:
            name.parent.remove(name)


def resolve_link(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.Element
) -> nodes.Node | None:
    """Resolve a name in a docstring to a member of a class on the same page, or of every fit."""
    objects, page = env.domains.python_domain.objects, node["refdoc"]
    name = str(node.get("reftarget", "")).removesuffix("()").removeprefix("ClassifierResults.")
    owners = [full.rpartition(".")[0] for full, each in objects.items() if each.docname == page]
    for owner in dict.fromkeys([*owners, FIT, "discrim"]):
        target = objects.get(f"{owner}.{name}")
        if target is not None:
            return make_refnode(app.builder, page, target.docname, target.node_id, content, name)
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the writing of the pages and the resolution of links."""
    app.setup_extension("folded")
    app.connect("builder-inited", write_pages)
    app.connect("source-read", keep_quotes)
    app.connect("doctree-read", remove_owner_names)
    app.connect("missing-reference", resolve_link)
    app.add_css_file("reference.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
