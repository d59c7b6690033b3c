"""Write the pages of the API reference, one for each verb and its results, from the public names.

A page begins with lines that run and what they print. Attributes and methods are grouped by purpose
(estimates, prediction, evaluation, tests, plots, export), each with a line that opens; then come the
parameters in groups, and the notes.
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
from discrim.models.base.available import ConditionalAttribute
from discrim.models.registry import MODELS, plot_kinds, resolve
from discrim.models.results.results import ClassifierResults
from discrim.report.result_table import ResultTable

sys.path.insert(0, str(Path(__file__).parent))
import docstrings as docs
from docstrings import block, boxed, described, fold, section, titled
from first_lines import first_lines, printed

FOLDER = "reference"
GALLERY = Path(__file__).parents[1] / "gallery.md"
README = Path(__file__).parents[2] / "README.md"
FIT = "fit"
"""Name of a fit whose class does not matter."""

CALLED = {
    "Assessment": "assessment",
    "BayesResults": "law",
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
"""Names of what is no fit, in calls of its methods."""

GIVEN = (
    "models.selection.comparison:Comparison",
    "models.results.canonical:CanonicalResults",
    "models.results.assessed:Assessment",
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
    "models.linear_model.repeated:ProfileResults",
    "models.linear_model.repeated:RepeatedResults",
    "models.linear_model.permanova:Dispersion",
    "models.selection.learning:LearningCurve",
)
"""Classes of what methods give, which nobody makes."""

ESTIMATES = "Estimates"
PURPOSES = {
    ESTIMATES: (
        "scaling", "svd", "explained", "covariance_model", "subspace", "covariate_model",
    ),
    "Prediction": (
        "predict", "predict_proba", "predict_log_proba", "predict_set", "predict_indicators",
        "decision_function", "transform", "values", "votes", "component_posteriors", "density",
        "log_densities", "densities", "sample", "posterior_intervals", "typicality", "casewise",
        "relative_distances", "centroid_distances", "boundary", "distance", "foot", "estimate_prior",
    ),
    "Evaluation": (
        "error_rates", "error_rate", "error_bound", "error_method", "confusion", "assess", "leave_one_out",
        "classification", "cross_validate", "learning_curve", "risk", "bounds", "robust_distances",
        "leverage", "influence", "dfbetas", "residuals", "masked",
    ),
    "Tests": (
        "wilks", "manova", "tests", "anova", "partial_tests", "ranking", "slopes", "adjusted_means",
        "separability_test", "distances", "differences", "generalized_distances", "box_m",
        "covariance_models", "lr_test", "wald_test", "linear_hypothesis", "drop1", "permutation_test",
        "effect_sizes", "q2", "llf", "llf_given", "llf_rows", "llnull", "deviance", "null_deviance",
        "prsquared", "df_model", "df_resid", "aic", "bic", "pairs",
    ),
    "Plots": ("plot",),
    "Export": (
        "summary", "to_excel", "report", "tidy", "glance", "augment", "table", "to_list", "to_sql", "to_onnx",
        "to_marginaleffects", "to_statsmodels", "save", "update",
    ),
}  # fmt: skip
"""Purposes of attributes and methods, in their order; any other name is an estimate."""

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
ONLY = {
    "typicality": ("LDAResults", "QDAResults"),
    "casewise": ("LDAResults", "QDAResults"),
    "relative_distances": ("LDAResults", "QDAResults"),
    "posterior_intervals": ("LDAResults", "QDAResults", "LogisticResults"),
    **dict.fromkeys(POSTERIORS, WITH_POSTERIORS),
    **dict.fromkeys(("aic", "bic"), WITH_CRITERIA),
    "llf": (*WITH_CRITERIA, "RDAResults"),
    "df_model": (*WITH_CRITERIA, "IndicatorResults", "PerceptronResults", "HyperplaneResults"),
}
"""Which fits answer what not every fit does."""

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
"""Parameters as they are grouped, each in the first group that has it; others are the model's."""

NEEDS = {
    "Tuning and cross-validation": "folds",
}
"""Groups of those verbs only that have a parameter."""

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
"""Titles of pages that are of no verb."""
OTHERS = {"PenalizedLogisticResults": "Penalized fits"}
"""Titles of what a second class answers, otherwise than the first of its verb."""

LINES = {
    "fits": "Prediction, error rates, plots and export: methods that all fits have in common.",
    "given": "Objects returned by methods of fits: canonical variates, assessments, tests, summaries.",
}
"""What pages are that have no docstring."""


def unwrapped(held: Any) -> Any:
    """Return the function of a method or property, with or without a condition."""
    held = getattr(held, "fget", None) or getattr(held, "__func__", held)
    return held.function if isinstance(held, ConditionalAttribute) else held


def members(kind: type, base: type) -> Iterator[str]:
    """Public methods and properties of this package with a docstring, but those that a base has."""
    for name in dir(kind):
        held = inspect.getattr_static(kind, name)
        function = unwrapped(held)
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        if function.__module__.startswith("discrim") and inspect.getattr_static(base, name, None) is not held:
            yield name


def listed_attributes(kind: type) -> dict[str, tuple[str, str]]:
    """Types and descriptions of the attributes in the docstring of a class, by name."""
    listed = {}
    for each in docs.parsed(kind)["Attributes"]:
        names = [name.strip() for name in each.name.split(",")]
        said = " ".join(line.strip() for line in each.desc if line.strip())
        # What is said of several together is said of each by its own docstring.
        listed |= dict.fromkeys(names, (each.type, said if len(names) == 1 else ""))
    return listed


def entry(owner: str, kind: type, name: str, listed: Mapping[str, tuple[str, str]]) -> str:
    """A method or attribute: its line, which opens where there is more."""
    held = inspect.getattr_static(kind, name, None)
    function = unwrapped(held)
    if inspect.isfunction(function) and not isinstance(held, property):
        line = docs.summary(docs.parsed(function))
        called = "estimator" if owner.endswith("Classifier") else CALLED.get(owner, FIT)
        return block(f"py:method:: {owner}.{name}()", fold(line, docs.rest(f"{called}.{name}", function)))
    doc = docs.parsed(function if isinstance(held, property) else None)
    form, said = listed.get(name, ("", ""))
    line = " ".join(filter(None, [said or docs.summary(doc), form and f"*{form}*"]))
    more = "\n".join(doc["Extended Summary"]) + "\n\n" + docs.notes(doc)
    return block(f"py:attribute:: {owner}.{name}", fold(line, more + section("Examples", docs.examples(doc))))


def is_method(name: str) -> bool:
    """Whether a name of every fit is a method."""
    return not isinstance(inspect.getattr_static(ClassifierResults, name), property)


def row(left: str, right: str) -> str:
    """A line that does not open, and is no description of a name."""
    return block("container:: answer", f"{left}\n\n{right}")


def elsewhere(name: str) -> str:
    """The line of what every fit answers, with a link to where it is described."""
    held = inspect.getattr_static(ClassifierResults, name)
    line = docs.summary(docs.parsed(unwrapped(held)))
    return row(f":py:obj:`{name}{'()' if is_method(name) else ''} <{FIT}.{name}>`", line)


def is_refused(kind: type, base: type, name: str) -> bool:
    """Whether a class stands in for a name of its base only to say that there is no such thing."""
    said = getattr(kind, name).__doc__ or ""
    return said.startswith("Refused") or said == getattr(getattr(base, name, None), "__doc__", None)


def is_model(kind: type) -> bool:
    """Whether a class is of the fits of one model."""
    return issubclass(kind, ClassifierResults) and kind is not ClassifierResults


def own_names(kind: type) -> list[str]:
    """What a class has of its own: listed attributes first, then what else has a docstring."""
    base = (
        ClassifierResults if kind is not ClassifierResults and issubclass(kind, ClassifierResults) else object
    )
    return list(dict.fromkeys([*listed_attributes(kind), *members(kind, base)]))


def shared_names(kind: type) -> list[str]:
    """What a class has as every fit does."""
    if not is_model(kind):
        return []
    own, every = own_names(kind), members(ClassifierResults, object)
    return [n for n in every if n not in own and (n not in ONLY or kind.__name__ in ONLY[n])]


def more_of(purpose: str, kind: type, shared: Iterable[str]) -> str:
    """What a purpose has beside its names: attributes of every fit, or the kinds of plots."""
    if purpose == "Plots":
        kinds = [each for model in MODELS if model.results == kind.__name__ for each in plot_kinds(model)]
        there = set(re.findall(r"^### (\w+)$", GALLERY.read_text(encoding="utf-8"), re.MULTILINE))
        words = ", ".join(
            f"`{each} <../gallery.html#{each.replace('_', '-')}>`__" if each in there else f"``{each}``"
            for each in kinds
        )
        return row("Kinds", f"{words}; see the :doc:`gallery </gallery>`.") if kinds else ""
    names = [name for name in shared if name not in ANSWERS]
    links = ", ".join(f":py:obj:`{name} <{FIT}.{name}>`" for name in names)
    return row("Common to all fits", links) if purpose == ESTIMATES and names else ""


def answers(owner: str, kind: type) -> str:
    """Attributes and methods of a class, by purpose."""
    shared = shared_names(kind)
    return by_purpose(owner, kind, own_names(kind), shared, "-")


def by_purpose(owner: str, kind: type, own: list[str], shared: list[str], under: str) -> str:
    """Names of a class and of every fit under the purposes that they serve."""
    text, listed = "", listed_attributes(kind)
    for purpose, order in PURPOSES.items():
        others = [name for name in own if name not in ANSWERS] if purpose == ESTIMATES else []
        lines = "".join(
            entry(owner, kind, name, listed) if name in own else elsewhere(name)
            for name in [*others, *order]
            if name in own or name in shared
        )
        lines += more_of(purpose, kind, shared)
        if lines:
            text += titled(purpose, under) + block("container:: answers", lines)
    return text


def otherwise(name: str, kind: type, beside: type) -> str:
    """What a class answers otherwise than one that stands before it, and what it refuses."""
    own = [n for n in own_names(kind) if getattr(kind, n, None) is not getattr(beside, n, None)]
    refused = [n for n in own if is_refused(kind, beside, n)]
    text = titled(OTHERS[name], "-") + of_class(name, kind)
    text += block("container:: answers", row("Refused", ", ".join(f"``{n}``" for n in sorted(refused))))
    return text + by_purpose(name, kind, [n for n in own if n not in refused], [], "~")


def prose(doc: Any) -> str:
    """What is said before the parameters."""
    return f"{docs.summary(doc)}\n\n" + "\n".join(doc["Extended Summary"]) + "\n\n"


def of_class(name: str, kind: type) -> str:
    """What a class is, without what it answers."""
    doc = docs.parsed(kind)
    return block(f"py:class:: {name}", prose(doc) + docs.notes(doc) + section("Examples", docs.examples(doc)))


def grouped(parts: Iterable[Any], *, of_model: bool) -> dict[str, list[Any]]:
    """Parameters by group; those of what is no model are in no group where a model's would be in its own."""
    parts = list(parts)
    names = [part.name for part in parts]
    groups: dict[str, list[Any]] = {group: [] for group in ("", *GROUPS)}
    for part in parts:
        there = (g for g, each in GROUPS.items() if part.name in each and NEEDS.get(g, part.name) in names)
        group = next(there, MODEL)
        groups[group if of_model or group == LAST else ""].append(part)
    for group in (COMPUTED, LAST):
        if len(groups[group]) == 1:
            groups[MODEL if of_model else ""] += groups.pop(group)
    return {group: each for group, each in groups.items() if each}


def parameters(verb: str, function: Any) -> str:
    """The parameters of a verb, of a model by group, with its signature and what it raises."""
    doc, values = docs.parsed(function), docs.defaults(function)
    text = titled("Parameters", "-")
    text += boxed("Signature with all defaults", docs.python(docs.call(verb, function)))
    for group, parts in grouped(doc["Parameters"], of_model=verb in VERBS).items():
        words, content = ", ".join(f"``{part.name}``" for part in parts), described(parts, values)
        if group in ("", TABLE, MODEL):
            text += (titled(group, "~") if group else "") + content
        else:
            text += boxed(f"{group}: {words}", content)
    returned = described(part for part in doc["Returns"] if part.desc)
    text += titled("Returns", "-") + returned if returned else ""
    return text + boxed("Errors and warnings", described([*doc["Raises"], *doc["Warns"]]))


def taught() -> dict[str, str]:
    """Where each verb is taught, by the table of the README."""
    places = {}
    for row in README.read_text(encoding="utf-8").splitlines():
        cells = row.split(" | ")
        if row.startswith("| `") and len(cells) == 3:
            links = re.findall(r"\[([^]]+)\]\(vignettes/([\w-]+)\.md\)", cells[2])
            text = ", ".join(f":doc:`{title} </{page}>`" for title, page in links)
            places |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), f"See {text}.\n\n")
    return places


def of_verb(verb: str, kinds: Mapping[str, type], place: str, shown: Callable[[str], str]) -> str:
    """The page of a verb, with the classes of what it gives and where it is taught."""
    function, code = getattr(discrim, verb), first_lines(verb)
    doc = docs.parsed(function)
    text = titled(verb) + block("py:currentmodule:: discrim")
    text += block(f"py:function:: {verb}({docs.first_parameters(function)})", prose(doc) + place)
    text += docs.python(code) + block("code-block:: text", shown(code), ":class: printed")
    first = next(iter(kinds), "")
    for name, kind in kinds.items():
        if name == first:
            text += of_class(name, kind) + answers(name, kind)
        else:
            text += otherwise(name, kind, beside=kinds[first])
    text += parameters(verb, function)
    said = docs.notes(doc)
    text += titled("Notes", "-") + said if said else ""
    return text + boxed("More examples", docs.examples(doc))


def of_name(name: str, thing: Any) -> str:
    """A function or class in a line that opens; nothing of a constant."""
    if inspect.isfunction(thing):
        return block(
            f"py:function:: {name}()", fold(docs.summary(docs.parsed(thing)), docs.rest(name, thing))
        )
    if not inspect.isclass(thing):
        return ""
    kind = "exception" if issubclass(thing, Exception) else "class"
    return block(f"py:{kind}:: {name}", fold(docs.summary(docs.parsed(thing)), of_kind(name, thing)))


def of_module(module: Any) -> str:
    """The functions and then the classes of a module, each a line that opens."""
    names = sorted(module.__all__, key=lambda name: inspect.isclass(getattr(module, name)))
    text = "".join(of_name(name, getattr(module, name)) for name in names)
    said = block(f"py:currentmodule:: {module.__name__}") + prose(docs.parsed(module))
    return said + block("container:: answers", text)


def of_kind(name: str, kind: type) -> str:
    """A class with its parameters, attributes and methods."""
    doc, listed = docs.parsed(kind), listed_attributes(kind)
    text = "\n".join(doc["Extended Summary"]) + "\n\n"
    if doc["Parameters"]:
        text = docs.python(docs.call(name, kind)) + text
        text += section("Parameters", described(doc["Parameters"], docs.defaults(kind)))
    # What a table has of pandas is no news, nor is what an error has.
    base = ResultTable if issubclass(kind, ResultTable) else Exception
    own = dict.fromkeys([*listed, *members(kind, base)])
    lines = "".join(entry(name, kind, each, listed) for each in own)
    text += block("container:: answers", lines) if lines else ""
    return text + section("Notes", docs.notes(doc)) + section("Examples", docs.examples(doc))


def classes_by_verb() -> dict[str, dict[str, type]]:
    """The public classes of what each verb gives, each at the first verb that gives it."""
    kinds = {name: getattr(discrim, name) for name in discrim.__all__}
    # What every fit is has a page of its own.
    kinds = {n: kind for n, kind in kinds.items() if inspect.isclass(kind) and kind is not ClassifierResults}
    given: dict[str, dict[str, type]] = {}
    for verb in filter(lambda name: inspect.isfunction(getattr(discrim, name)), discrim.__all__):
        names = [model.results for model in MODELS if model.verb == verb]
        names += re.findall(r"\w+", str(inspect.signature(getattr(discrim, verb)).return_annotation))
        given[verb] = {name: kinds.pop(name) for name in dict.fromkeys(names) if name in kinds}
    if kinds:
        raise LookupError(f"No verb gives {', '.join(kinds)}.")
    return given


def pages(shown: Callable[[str], str] = printed) -> dict[str, str]:
    """The text of each page by its name: each public name once; `shown` gives what lines of code print."""
    given, places = classes_by_verb(), taught()
    written = {verb: of_verb(verb, kinds, places.get(verb, ""), shown) for verb, kinds in given.items()}
    # The names of a fit below it belong to no module.
    base = block("py:currentmodule:: discrim")
    base += block("py:class:: ClassifierResults", docs.summary(docs.parsed(ClassifierResults)))
    base += block("py:currentmodule:: None")
    every = LINES["fits"] + "\n\n" + block("container:: answers", base) + answers(FIT, ClassifierResults)
    written["fits"] = titled(TITLES["fits"]) + every
    given = "".join(of_name(kind.__name__, kind) for kind in (resolve(f"discrim.{each}") for each in GIVEN))
    written["given"] = titled(TITLES["given"]) + LINES["given"] + "\n\n" + block("container:: answers", given)
    for name, module in MODULES.items():
        written[name] = titled(TITLES[name]) + of_module(module)
    written["index"] = index()
    return written


def index() -> str:
    """The list of the pages, each with what it is in a line."""
    text = titled("Reference")
    for caption, names in CAPTIONS.items():
        lines = ""
        for name in names:
            thing = MODULES.get(name) or getattr(discrim, name, None)
            said = docs.summary(docs.parsed(thing)) if thing else LINES[name]
            link = f":doc:`{TITLES[name]} <{name}>`" if name in TITLES else f":doc:`{name}`"
            lines += block("container:: answer", f"{link}\n\n{said}")
        text += titled(caption, "-") + block("container:: answers", lines)
        text += block("toctree::", "\n".join(names), ":hidden:")
    return text


def write_pages(app: Sphinx) -> None:
    """Write them into a folder beside the others, with an index."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    written = pages()
    for name, text in written.items():
        file = folder / f"{name}.rst"
        # A page that is as it was is not read again.
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for old in set(folder.glob("*.rst")) - {folder / f"{name}.rst" for name in written}:
        old.unlink()


def keep_quotes(app: Sphinx, page: str, source: list[str]) -> None:
    """Quotes of docstrings stand around words of code, and stay as they are typed."""
    app.config.smartquotes = not page.startswith(f"{FOLDER}/")


def without_owner(app: Sphinx, tree: nodes.document) -> None:
    """What a class or a module answers has its name above it."""
    for box in tree.findall(lambda node: "answers" in getattr(node, "attributes", {}).get("classes", ())):
        for name in [*box.findall(addnodes.desc_addname), *box.findall(addnodes.desc_annotation)]:
            name.parent.remove(name)


def linked(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, said: nodes.Element
) -> nodes.Node | None:
    """A link from a name in a docstring: to what a class on the same page has, or every fit."""
    known, page = env.domains.python_domain.objects, node["refdoc"]
    name = str(node.get("reftarget", "")).removesuffix("()").removeprefix("ClassifierResults.")
    owners = [full.rpartition(".")[0] for full, each in known.items() if each.docname == page]
    for owner in dict.fromkeys([*owners, FIT, "discrim"]):
        there = known.get(f"{owner}.{name}")
        if there is not None:
            return make_refnode(app.builder, page, there.docname, there.node_id, said, name)
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before any is read."""
    app.setup_extension("folded")
    app.connect("builder-inited", write_pages)
    app.connect("source-read", keep_quotes)
    app.connect("doctree-read", without_owner)
    app.connect("missing-reference", linked)
    app.add_css_file("reference.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
